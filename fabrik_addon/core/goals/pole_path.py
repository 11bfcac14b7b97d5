# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pole for a chain in motion: where it bends at every moment, at a steady distance, and on where it doesn't bend."""

from __future__ import annotations

import math

import numpy as np

from ..math.operations import SCALAR, Array, Vector
from ..math.quaternions import Quaternion, multiply, rotate, x_axis
from ..math.vectors import dot, first_direction, perpendicular, rejection
from ..problem import Pose
from .pole import bend_direction, turn_pole

STRAIGHT = 3e-5
"""Height of the bend over the chain's length below which its direction is single precision's noise."""

BESIDE = 0.1
"""Distance of a pole from the chain, over its length, below which it is in the chain's way."""


def steady_poles(poses: Pose, pole: Array, distance: float, pole_angle: float = 0.0) -> Array:
    """Return a pole for every pose, toward which the chain already bends.

    Args:
        poses: of a plain chain, positions (F, J, 3) and rotations (F, J, 4), in order of time.
        pole: (3,) where the pole is at the first of them: it stays as far from the chain.
        distance: from the line root-tip beyond the chain's farthest joint, over the chain's length, for a pole that is
            right beside the chain.
        pole_angle: the chain's pole angle, radians.

    Returns:
        (F, 3) in the poses' space.
    """
    length = float(np.linalg.norm(np.diff(poses.positions[0], axis=0), axis=1).sum())
    frames = [tuple(row) for row in poses.rotations[:, 0].tolist()]
    shapes = [((joints - joints[0]) / length).tolist() for joints in poses.positions]
    seen = [_bend_of(points) for points in shapes]
    # Before it bends for the first time it is on the side to which it will.
    first = next((number for number, (_, bend) in enumerate(seen) if bend is not None), None)
    side = x_axis(frames[0])
    if first is not None and (bend := seen[first][1]) is not None:
        side = _carried(bend, frames[first], frames[0])
    poles = np.empty((len(shapes), 3))
    for number, (points, (along, bend)) in enumerate(zip(shapes, seen, strict=True)):
        frame = frames[number]
        if number > 0:
            side = _carried(side, frames[number - 1], frame)
        side = perpendicular(SCALAR, along, [bend or side, x_axis(frame)])
        root = poses.positions[number, 0]
        height = max(dot(tuple(point), side) for point in points)
        if number == 0:
            off = rejection(tuple(((np.asarray(pole) - root) / length).tolist()), along)
            own = math.sqrt(dot(off, off)) - height
            distance = own if own > BESIDE else distance
        inner = points[1:-1] or points
        middle = sum(dot(tuple(point), along) for point in inner) / len(inner)
        x, y, z = (middle * a + (height + distance) * s for a, s in zip(along, side, strict=True))
        poles[number] = root + length * np.array(turn_pole(SCALAR, (x, y, z), along, -pole_angle))
    return poles


def _bend_of(points: list[list[float]]) -> tuple[Vector, Vector | None]:
    """Return the unit vector from root to tip, and how far the chain bends off it, if it does."""
    along = first_direction(SCALAR, [tuple(points[-1]), tuple(points[1])])  # type: ignore[list-item]
    columns = tuple(list(component) for component in zip(*points, strict=True))
    bend = bend_direction(SCALAR, columns, along)  # type: ignore[arg-type]
    return along, bend if math.sqrt(dot(bend, bend)) > STRAIGHT else None


def _carried(side: Vector, before: Quaternion, after: Quaternion) -> Vector:
    """Return a direction that turns with a bone from one frame to another."""
    w, x, y, z = before
    return rotate(multiply(after, (w, -x, -y, -z)), side)
