# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""How far a chain's bend is off its pole, and its last bone off the target's rotation, as the bones rotate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import numpy as np
from mathutils import Quaternion

from ...core import Array, Goals
from ...core.fabrik.pole_shape import NEARLY_STRAIGHT, reach_in_shape
from ...core.goals.pole import rotate_pole
from ...core.math.operations import SCALAR, TINY
from ...core.math.vectors import first_direction
from ...core.within_limits.bend_toward_pole import angle_to_pole
from ..rig.chain_bones import ChainBones, bone_matrices
from .feasible_pose import AXIS_VECTORS, DIFFERENCE, FeasiblePose, joints_of


def angle_off(bones: ChainBones, goals: Goals, rotations: Sequence[Quaternion]) -> float:
    """Return the root of the sum of the squared angles (radians) that bend and last bone are off."""
    return math.hypot(*angles_off(bones, goals, rotations))


def angles_off(bones: ChainBones, goals: Goals, rotations: Sequence[Quaternion]) -> list[float]:
    """Return the angle (radians) that the bend is off the pole, and the rotation vector that the last bone is off."""
    off = [] if goals.poles is None else [_angle_to_pole(bones, goals, rotations)]
    if goals.rotations is not None:
        shown = bone_matrices(bones, rotations)[-1].to_quaternion()
        off += _rotation_vector(Quaternion(goals.rotations[0].tolist()) @ shown.inverted())
    return off


def _angle_to_pole(bones: ChainBones, goals: Goals, rotations: Sequence[Quaternion]) -> float:
    """Return the angle (radians) from the pole to the bend, about the line from the root to the end of the bend.

    The bend is that of all links; with a rotation, which the last bone takes, that of the links before it, if there are
    two or more.
    """
    assert goals.poles is not None  # called for goals with a pole only
    positions, length = joints_of(bones, rotations)
    points = (np.vstack([positions, goals.poles]) - positions[0]) / length
    *joints, pole = [(x, y, z) for x, y, z in points.tolist()]
    if goals.rotations is not None and len(joints) > 3:
        joints.pop()
    if goals.pole_angles is not None:
        along = first_direction(SCALAR, [joints[-1], joints[1]])
        pole = rotate_pole(SCALAR, pole, along, float(goals.pole_angles[0]))
    shape, shaped = bones.pole_shape, []
    if shape and len(shape) == len(joints) - 1:
        links = list(map(math.dist, joints, joints[1:]))
        total = sum(links)
        lengths, away = [link / total for link in links], math.hypot(*joints[-1]) / total
        shaped = reach_in_shape(SCALAR, shape, lengths, min(away, NEARLY_STRAIGHT))
    return float(cast(float, angle_to_pole(SCALAR, joints, joints[-1], pole, shaped)))


def angles_jacobian(bones: ChainBones, goals: Goals, pose: FeasiblePose, off: Array) -> Array:
    """Return the Jacobian (A, 3 F) of the A angles off, by the rotations of ``jacobians``, toward smaller angles."""
    if not off.size:
        return np.empty((0, 3 * len(bones.free)))
    columns = []
    for i, constraints in zip(bones.free, bones.tree.constraints, strict=True):
        own, rotations = pose.rotations[i], list(pose.rotations)
        for axis in AXIS_VECTORS:
            for probe in (DIFFERENCE, -DIFFERENCE):
                rotations[i] = constraints.rotation(own @ Quaternion(axis, probe), own)
                column = (np.array(angles_off(bones, goals, rotations)) - off) / probe
                if constraints.allows_all or probe * (column @ off) < 0.0:
                    break
            columns.append(column)
    return np.array(columns).T


def rotation_vectors(bones: ChainBones, rotations: Sequence[Quaternion], others: Sequence[Quaternion]) -> Array:
    """Return the rotation vectors (3 F,) from own rotations to others, about each bone's own x, y and z."""
    return np.array([part for i in bones.free for part in _rotation_vector(rotations[i].inverted() @ others[i])])


def _rotation_vector(q: Quaternion) -> list[float]:
    """Return the rotation vector (radians) of a rotation, at most half a turn long."""
    w, *vector = q[:]
    sine = math.hypot(*vector)
    angle = math.copysign(2.0 * math.atan2(sine, abs(w)), w)
    return [angle * part / max(sine, TINY) for part in vector]
