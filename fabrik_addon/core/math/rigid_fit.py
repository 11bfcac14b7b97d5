# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rotation that fits a rigid body to given points best (Wahba's problem).

The rotation R that minimises ``sum w_i |R o_i - t_i|^2`` maximises ``trace(R^T A)`` with ``A = sum w_i t_i o_i^T``: o_i
are the offsets of the body's points from its pivot, t_i the desired offsets, w_i weights (Wahba 1965). The iteration of
Mueller, Bender, Chentanez and Macklin ("A robust method to extract the rotational part of deformations", 2016) rotates
R by the vector

    omega = (sum over the axes k: r_k x a_k) / |sum over the axes k: r_k . a_k|

where r_k and a_k are the columns of R and of A. Points on one line through the pivot leave the rotation about that line
undetermined: the iteration doesn't change it, whereas singular vectors of A would give an arbitrary one.
"""

import math
from collections.abc import Sequence

from .operations import TINY, Component, Vector
from .quaternions import Quaternion, multiply
from .vectors import onward

MOST_ITERATIONS = 4
"""Bound on the iterations of one fit."""

LAST_ANGLE = 1e-3
"""Angle |omega| (radians) after which the iteration ends: the error left is below its square, 1e-6."""


def fit_frame(
    frame: Quaternion, offsets: Sequence[Vector], desired: Sequence[Vector], weights: Sequence[Component]
) -> Quaternion:
    """Return the frame, near to a body's present one, that brings its points nearest to their desired places.

    The arguments are R before, o_i in the body's frame, t_i in the space of R, and w_i.
    """
    columns: list[Vector] = []
    for axis in range(3):
        column: Vector = (0.0, 0.0, 0.0)
        for offset, place, weight in zip(offsets, desired, weights, strict=True):
            column = onward(column, weight * offset[axis], place)
        columns.append(column)
    (ax, ay, az), (bx, by, bz), (cx, cy, cz) = columns
    for _ in range(MOST_ITERATIONS):
        (px, py, pz), (qx, qy, qz), (rx, ry, rz) = axes_of(frame)
        along = px * ax + py * ay + pz * az + qx * bx + qy * by + qz * bz + rx * cx + ry * cy + rz * cz
        size = abs(along) + TINY
        x = (py * az - pz * ay + qy * bz - qz * by + ry * cz - rz * cy) / size
        y = (pz * ax - px * az + qz * bx - qx * bz + rz * cx - rx * cz) / size
        z = (px * ay - py * ax + qx * by - qy * bx + rx * cy - ry * cx) / size
        frame = turned_by(frame, (x, y, z))
        if x * x + y * y + z * z < LAST_ANGLE * LAST_ANGLE:
            break
    return frame


def axes_of(frame: Quaternion) -> tuple[Vector, Vector, Vector]:
    """Return the x, y and z axes of a frame: the columns of its rotation matrix."""
    w, x, y, z = frame
    xx, yy, zz = x * x, y * y, z * z
    xy, xz, yz, wx, wy, wz = x * y, x * z, y * z, w * x, w * y, w * z
    return (
        (1.0 - 2.0 * (yy + zz), 2.0 * (xy + wz), 2.0 * (xz - wy)),
        (2.0 * (xy - wz), 1.0 - 2.0 * (xx + zz), 2.0 * (yz + wx)),
        (2.0 * (xz + wy), 2.0 * (yz - wx), 1.0 - 2.0 * (xx + yy)),
    )


def turned_by(frame: Quaternion, rotation: Vector) -> Quaternion:
    """Return ``exp(omega / 2) q``: a frame q rotated by a rotation vector omega (radians).

    The components of omega are along the axes of the space in which q is given, not along the frame's own axes.
    """
    x, y, z = rotation
    angle = math.sqrt(x * x + y * y + z * z) + TINY
    share = math.sin(0.5 * angle) / angle
    w, qx, qy, qz = multiply((math.cos(0.5 * angle), x * share, y * share, z * share), frame)
    # Normalised, because rounding errors of the length add up over many products.
    size = 1.0 / math.sqrt(w * w + qx * qx + qy * qy + qz * qz)
    return w * size, qx * size, qy * size, qz * size
