# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Poles for an animated chain: for every frame a pole on the side to which the chain bends, at a constant distance.

A chain that is solved with these poles keeps its poses.

The side of a frame is the direction of its bend (``goals.pole.bend_direction``). In frames where the chain is straight
the side of the frame before is carried along with the first bone. Frames before the first bend take the side of that
bend, carried back to the first frame; if the chain is straight in all frames, the side is the pole's own in the first
frame: a straight chain says nothing against it. Where the pole is on the chain's line, too, it is the +X axis of the
first bone.
"""

from collections.abc import Sequence

import numpy as np

from ..math.operations import SCALAR, Array, Vector
from ..math.quaternions import Quaternion, conjugate, multiply, rotate, x_axis
from ..math.vectors import combination, dot, first_direction, norm, perpendicular, rejection
from ..problem import Pose
from .pole import bend_direction, joints_from_root, rotate_pole

BEND_NOISE = 3e-5
"""Length of the bend, over the chain's length, up to which its direction is rounding noise of single precision."""

LEAST_POLE_DISTANCE = 0.1
"""Distance of a pole beyond the chain's farthest joint, over the chain's length, up to which a default replaces it."""


def steady_poles(poses: Pose, pole: Array, distance: float, pole_angles: Sequence[float]) -> Array:
    """Return a pole for every pose that leaves the pose as it is.

    Args:
        poses: of a plain chain, positions (F, J, 3) and rotations (F, J, 4), in order of time.
        pole: (3,) place of the pole in the first pose. Its distance from the line root-tip, less that of the joint
            farthest to its side, is kept in all poses.
        distance: default of that distance, over the chain's length, where it is at most ``LEAST_POLE_DISTANCE``.
        pole_angles: (F,) angle in each pose, radians, by which its pole is rotated back about the line root-tip: the
            chain's pole angle, and with a pole shape the angle from there to its bend.

    Returns:
        (F, 3) in the poses' space.
    """
    frames = [tuple(row) for row in poses.rotations[:, 0].tolist()]
    shapes, (length, *_) = zip(*map(joints_from_root, poses.positions), strict=True)
    bends = [_line_and_bend(points) for points in shapes]
    first = next(((number, bend) for number, (_, bend) in enumerate(bends) if bend is not None), None)
    seen = tuple(((np.asarray(pole) - poses.positions[0, 0]) / length).tolist())
    if first is not None:
        side = _carried(first[1], frames[first[0]], frames[0])
    else:
        side = rotate_pole(SCALAR, rejection(seen, bends[0][0]), bends[0][0], pole_angles[0])
    poles = np.empty((len(shapes), 3))
    for number, (points, (along, bend)) in enumerate(zip(shapes, bends, strict=True)):
        frame = frames[number]
        if number > 0:
            side = _carried(side, frames[number - 1], frame)
        side = perpendicular(SCALAR, along, [bend or side, x_axis(frame)])
        root = poses.positions[number, 0]
        inner = points[1:-1] or points
        height = max(float(dot(joint, side)) for joint in inner)
        if number == 0:
            own = float(norm(SCALAR, rejection(seen, along))) - height
            distance = own if own > LEAST_POLE_DISTANCE else distance
        middle = sum(dot(joint, along) for joint in inner) / len(inner)
        beside = combination(middle, along, height + distance, side)
        beside = rotate_pole(SCALAR, beside, along, -pole_angles[number])
        poles[number] = root + length * np.array(beside)
    return poles


def pole_for(pose: Pose, distance: float, pole_angle: float = 0.0, pole: Array | None = None) -> Array:
    """Return a pole (3,) that leaves one pose as it is: in the plane of its bend, on the side to which it bends.

    The distance is as of ``steady_poles``, the pole angle in radians; a pole that there is already keeps its distance,
    and of a straight chain its side.
    """
    poses = Pose(pose.positions[None], pose.rotations[None])
    return steady_poles(poses, pose.positions[0] if pole is None else pole, distance, [pole_angle])[0]


def _line_and_bend(points: Sequence[Vector]) -> tuple[Vector, Vector | None]:
    """Return the unit vector from root to tip, and the bend, or None where the chain is straight."""
    along = first_direction(SCALAR, [points[-1], points[1]])
    bend = bend_direction(SCALAR, points, along)
    return along, bend if norm(SCALAR, bend) > BEND_NOISE else None


def _carried(side: Vector, before: Quaternion, after: Quaternion) -> Vector:
    """Return a direction rotated with a bone from its frame before to its frame after."""
    return rotate(multiply(after, conjugate(before)), side)
