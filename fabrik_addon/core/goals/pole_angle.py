# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pole angles of ours and of Blender's own IK, one from the other.

Ours is the turn of the bend away from the pole, about the line from the root to the target. Blender's IK points a fixed
direction of the first bone at the pole, its X axis turned by the pole angle toward its Z axis, as seen along that line
(IK_QJacobianSolver::ConstrainPoleVector). So they differ by the angle between that direction and the bend, which a
chain keeps as it is turned.
"""

from __future__ import annotations

import math

import numpy as np

from ..math.operations import SCALAR, Array
from ..math.quaternions import rotate, x_axis
from ..math.vectors import PARALLEL, first_direction, perpendicular
from ..problem import Pose
from .pole import bend_direction

STRAIGHT = 1e-3
"""Distance of joints from the line between root and tip, over the chain's length."""


def from_blender(pose: Pose, blender_angle: float) -> float:
    """Return our pole angle (radians, from -pi to pi) that bends a chain as Blender's does.

    Args:
        pose: of a plain chain, one lane, that both would start from.
        blender_angle: pole angle of the constraint, radians.
    """
    along, bend, x, z = _seen_along(pose)
    up = math.cos(blender_angle) * x + math.sin(blender_angle) * z
    if bend is None or np.linalg.norm(up) <= PARALLEL:
        return 0.0
    return _angle(up, bend, along)


def to_blender(pose: Pose, pole_angle: float, pole: Array) -> float:
    """Return Blender's pole angle (radians, from -pi to pi) that bends a chain as ours does; see ``from_blender``.

    Args:
        pose: of a plain chain, one lane.
        pole_angle: ours, radians.
        pole: (3,) where it is. A chain that is straight is to have no turn about its line for it.
    """
    along, bend, x, z = _seen_along(pose)
    if bend is not None and not is_straight(pose):
        # The direction that has to point at the pole is the bend, turned back.
        desired = math.cos(pole_angle) * bend - math.sin(pole_angle) * np.cross(along, bend)
    else:
        desired = pole - pose.positions[0]
        desired = desired - along * (along @ desired)
    if np.linalg.norm(desired) <= PARALLEL:
        return 0.0
    angle = math.atan2(-float(np.cross(x, desired) @ along), float(np.cross(z, desired) @ along))
    if (math.cos(angle) * x + math.sin(angle) * z) @ desired < 0.0:
        angle -= math.copysign(math.pi, angle)
    return angle


def is_straight(pose: Pose) -> bool:
    """Tell whether a chain is as straight as Blender's own IK makes one: to which side it bends says nothing then."""
    links = np.diff(pose.positions, axis=0)
    chord = pose.positions[-1] - pose.positions[0]
    along = chord / (np.linalg.norm(chord) + 1e-300)
    points = pose.positions - pose.positions[0]
    off = np.linalg.norm(points - np.outer(points @ along, along), axis=1).max()
    return bool(off <= STRAIGHT * np.linalg.norm(links, axis=1).sum())


def _seen_along(pose: Pose) -> tuple[Array, Array | None, Array, Array]:
    """Return the unit vector from root to tip and, seen along it, the bend, if any, and the first bone's X and Z."""
    length = float(np.linalg.norm(np.diff(pose.positions, axis=0), axis=1).sum())
    points = ((pose.positions - pose.positions[0]) / length).tolist()
    along = first_direction(SCALAR, [tuple(points[-1]), tuple(points[1])])
    columns = tuple(list(component) for component in zip(*points, strict=True))
    bend = bend_direction(SCALAR, columns, along)  # type: ignore[arg-type]
    frame = tuple(pose.rotations[0].tolist())
    line, x, z = np.array(along), np.array(x_axis(frame)), np.array(rotate(frame, (0.0, 0.0, 1.0)))
    flat = [axis - line * (axis @ line) for axis in (x, z)]
    is_bent = float(np.linalg.norm(bend)) > PARALLEL
    side = np.array(perpendicular(SCALAR, along, [bend])) if is_bent else None
    return line, side, flat[0], flat[1]


def _angle(a: Array, b: Array, axis: Array) -> float:
    return math.atan2(float(np.cross(a, b) @ axis), float(a @ b))
