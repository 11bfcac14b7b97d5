# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The turn that lays a rigid body's points nearest to where they should be (Wahba's problem).

By repeated small turns from the body's present frame (Mueller, Bender, Chentanez, Macklin 2016), not by eigenvectors:
where the points leave a turn open, as two points do, the body keeps the one it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .operations import TINY, Component, Operations, Vector
from .quaternions import Quaternion, multiply
from .vectors import choose_parts

TURNS = 4
"""Small turns from one frame at most."""

SMALL = 1e-3
"""Turn (radians) after which what is left is less than its square."""


def fit_frame(
    ops: Operations,
    frame: Quaternion,
    offsets: Sequence[Vector],
    places: Sequence[Vector],
    weights: Sequence[Component],
) -> Quaternion:
    """Return the frame nearest to a body's own in which its points are nearest to some places.

    Args:
        ops: the lanes' operations.
        frame: of the body before.
        offsets: of its points from its pivot, in its frame.
        places: where they should be, from the pivot.
        weights: of the points.
    """
    columns: list[Any] = []
    for axis in range(3):
        x: Component = 0.0
        y: Component = 0.0
        z: Component = 0.0
        for offset, place, weight in zip(offsets, places, weights, strict=True):
            share = weight * offset[axis]
            x, y, z = x + share * place[0], y + share * place[1], z + share * place[2]
        columns.append((x, y, z))
    (ax, ay, az), (bx, by, bz), (cx, cy, cz) = columns
    going: Component = frame[0] == frame[0]
    for _ in range(TURNS):
        (px, py, pz), (qx, qy, qz), (rx, ry, rz) = _axes(frame)
        along = px * ax + py * ay + pz * az + qx * bx + qy * by + qz * bz + rx * cx + ry * cy + rz * cz
        size = ops.maximum(along, -along) + TINY
        x = (py * az - pz * ay + qy * bz - qz * by + ry * cz - rz * cy) / size
        y = (pz * ax - px * az + qz * bx - qx * bz + rz * cx - rx * cz) / size
        z = (px * ay - py * ax + qx * by - qy * bx + rx * cy - ry * cx) / size
        w, x, y, z, square = (*turned_by(ops, frame, (x, y, z)), x * x + y * y + z * z)
        frame = choose_parts(ops, going, (w, x, y, z), frame)
        going = going & (square >= SMALL * SMALL)
        if not ops.any(going):
            break
    return frame


def _axes(frame: Quaternion) -> tuple[Vector, Vector, Vector]:
    w, x, y, z = frame
    xx, yy, zz = x * x, y * y, z * z
    xy, xz, yz, wx, wy, wz = x * y, x * z, y * z, w * x, w * y, w * z
    return (
        (1.0 - 2.0 * (yy + zz), 2.0 * (xy + wz), 2.0 * (xz - wy)),
        (2.0 * (xy - wz), 1.0 - 2.0 * (xx + zz), 2.0 * (yz + wx)),
        (2.0 * (xz + wy), 2.0 * (yz - wx), 1.0 - 2.0 * (xx + yy)),
    )


def turned_by(ops: Operations, frame: Quaternion, turn: Vector) -> Quaternion:
    """Return a frame turned by a rotation vector (radians), in the space the frame is in."""
    x, y, z = turn
    angle = ops.sqrt(x * x + y * y + z * z) + TINY
    share = ops.sin(0.5 * angle) / angle
    w, qx, qy, qz = multiply((ops.cos(0.5 * angle), x * share, y * share, z * share), frame)
    # Rounding adds up over many turns.
    size = 1.0 / ops.sqrt(w * w + qx * qx + qy * qy + qz * qz)
    return w * size, qx * size, qy * size, qz * size
