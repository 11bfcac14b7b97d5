# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Unit quaternions (w, x, y, z) over components: floats for one pose, arrays (B,) for B poses."""

from __future__ import annotations

from typing import TypeAlias

from .operations import TINY, Component, Operations, Vector
from .vectors import norm, perpendicular, scale

Quaternion: TypeAlias = tuple[Component, Component, Component, Component]
"""w, x, y, z of one unit quaternion."""


IDENTITY: Quaternion = (1.0, 0.0, 0.0, 0.0)


def multiply(a: Quaternion, b: Quaternion) -> Quaternion:
    """Return the turn b followed by the turn a."""
    aw, ax, ay, az = a
    bw, bx, by, bz = b
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


def rotate(q: Quaternion, a: Vector) -> Vector:
    """Return the vector turned by a unit quaternion."""
    w, x, y, z = q
    ax, ay, az = a
    tx, ty, tz = 2.0 * (y * az - z * ay), 2.0 * (z * ax - x * az), 2.0 * (x * ay - y * ax)
    return ax + w * tx + y * tz - z * ty, ay + w * ty + z * tx - x * tz, az + w * tz + x * ty - y * tx


def from_to(ops: Operations, a: Vector, b: Vector, hint: Vector) -> Quaternion:
    """Return the shortest turn that takes direction a to direction b; neither needs to be a unit vector.

    Args:
        ops: the lanes' operations.
        a: direction before.
        b: direction after.
        hint: where b is opposite to a every axis perpendicular to it is as short: the one nearest to this is taken.
    """
    ax, ay, az = a
    bx, by, bz = b
    x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    size = ops.sqrt((ax * ax + ay * ay + az * az) * (bx * bx + by * by + bz * bz))
    w = size + ax * bx + ay * by + az * bz
    length = ops.sqrt(w * w + x * x + y * y + z * z)
    # Rounding leaves w near 1e-16 for opposite vectors: the axis would be noise.
    opposite = length <= 1e-7 * size
    if ops.any(opposite):
        axis = perpendicular(ops, scale(a, 1.0 / (norm(ops, a) + TINY)), [hint])
        w, x, y, z, length = ops.choose(opposite, [0.0 * w, *axis, 0.0 * w + 1.0], [w, x, y, z, length])
    return w / length, x / length, y / length, z / length


def x_axis(q: Quaternion) -> Vector:
    """Return the x axis of a frame."""
    w, x, y, z = q
    return 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)
