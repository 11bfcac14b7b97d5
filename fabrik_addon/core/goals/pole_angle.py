# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pole angles: conversion between a chain's pole angle and that of Blender's own IK constraint.

Both are angles about the line from the root to the target, whose unit vector is u. A chain's pole angle is the angle
from the direction of the pole to the bend. Blender's IK rotates the chain about the line until the direction ``h(a) =
cos(a) x + sin(a) z`` of the first bone points at the pole, where a is Blender's pole angle and x, z are the first
bone's axes without their components along the line (``IK_QJacobianSolver::ConstrainPoleVector``). Both solvers find the
same pose if the chain's pole angle is the angle from h(a) to the bend. Rotations of the whole chain about the line
don't change that angle, so that it can be measured in the pose at hand.
"""

import math

import numpy as np

from ..math.operations import SCALAR, TINY, Array
from ..math.quaternions import rotate, x_axis
from ..math.vectors import NO_DIRECTION, first_direction, norm, perpendicular
from ..problem import Pose
from .pole import bend_direction, joints_from_root

STRAIGHT_FOR_BLENDER = 1e-3
"""Distance of the joints from the line root-tip, over the chain's length, up to which a chain is straight: Blender's
own IK stops this near to full extension."""


def from_blender(pose: Pose, blender_angle: float) -> float:
    """Return the chain's pole angle (radians, -pi to pi) that gives the bend of Blender's pole angle.

    0 where the chain is straight, or where Blender's direction is along the line root-tip. The pose is that of a plain
    chain, without batch axes, from which both solvers start.
    """
    along, bend, x, z = _bend_and_axes(pose)
    up = math.cos(blender_angle) * x + math.sin(blender_angle) * z
    if bend is None or np.linalg.norm(up) <= NO_DIRECTION:
        return 0.0
    return math.atan2(float(np.cross(up, bend) @ along), float(up @ bend))


def to_blender(pose: Pose, pole_angle: float, pole: Array) -> float:
    """Return Blender's pole angle (radians, -pi to pi) that gives the bend of the chain's pole angle.

    For the direction g that has to point at the pole the angle a solves ``u . cross(h(a), g) = 0``, which gives
    ``a = atan2(-u . cross(x, g), u . cross(z, g))`` or the angle 180 degrees from it: the one with ``h(a) . g > 0``.

    For a straight chain g is the direction of the pole (3,) from the line root-tip, so that Blender's IK doesn't rotate
    the chain about that line.
    """
    along, bend, x, z = _bend_and_axes(pose)
    if bend is not None and not is_straight(pose):
        # The bend rotated back by the pole angle.
        desired = math.cos(pole_angle) * bend - math.sin(pole_angle) * np.cross(along, bend)
    else:
        desired = pole - pose.positions[0]
        desired = desired - along * (along @ desired)
    if np.linalg.norm(desired) <= NO_DIRECTION:
        return 0.0
    angle = math.atan2(-float(np.cross(x, desired) @ along), float(np.cross(z, desired) @ along))
    if (math.cos(angle) * x + math.sin(angle) * z) @ desired < 0.0:
        angle -= math.copysign(math.pi, angle)
    return angle


def is_straight(pose: Pose) -> bool:
    """Tell whether a chain is as straight as Blender's own IK leaves one, so that its bend has no certain direction."""
    points = np.array(joints_from_root(pose.positions)[0])
    along = points[-1] / (np.linalg.norm(points[-1]) + TINY)
    off = np.linalg.norm(points - np.outer(points @ along, along), axis=1).max()
    return bool(off <= STRAIGHT_FOR_BLENDER)


def _bend_and_axes(pose: Pose) -> tuple[Array, Array | None, Array, Array]:
    """Return the line root-tip and, perpendicular to it, the bend and the first bone's x and z axes, all (3,).

    Line and bend are unit vectors; the bend is None where the chain is straight.
    """
    points, _ = joints_from_root(pose.positions)
    along = first_direction(SCALAR, [points[-1], points[1]])
    bend = bend_direction(SCALAR, points, along)
    frame = tuple(pose.rotations[0].tolist())
    line, x, z = np.array(along), np.array(x_axis(frame)), np.array(rotate(frame, (0.0, 0.0, 1.0)))
    flat = [axis - line * (axis @ line) for axis in (x, z)]
    is_bent = norm(SCALAR, bend) > NO_DIRECTION
    side = np.array(perpendicular(SCALAR, along, [bend])) if is_bent else None
    return line, side, flat[0], flat[1]
