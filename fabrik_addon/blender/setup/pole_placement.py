# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""COMPUTE: where a new pole goes: in front of the knee or behind the elbow, by the direction in which that joint bends.

The sum of all bends of a limb isn't the direction of its knee: of thigh, shin and foot the ankle bends by 64 degrees to
the back and the knee by 10 degrees to the front (Rigify's human), and a pole by the sum bends the knee backward. So one
joint is chosen, the joint of the bend, and the pole goes to the side to which this joint lies off the line through its
neighbours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from mathutils import Matrix, Vector

from ...core import Array, Pose, pole_for
from ...core.body.part import Recognition
from ..bones.bone_limits import limits_of
from ..rig.body_properties import roles_of
from ..rig.chain_bones import ChainBones, armature_of
from ..rig.limb_roles import limb_roles, points_when_straight, recognise_all
from .usual_limits import ACROSS

_SHORT_LINK = 0.5
"""Length of a link, over the longest, up to which it is a hand, a foot or a clavicle."""

_STRAIGHT_JOINT = math.radians(1.0)
"""Angle between two links below which their joint has no direction of bend."""

_X, _Z = 0, 2


@dataclass(frozen=True)
class PolePlacement:
    """Where a new pole goes."""

    position: Array
    """(3,) in armature space."""
    is_tip_opposite: bool
    """Whether the last bone bends away from the pole, as a foot does: a pole would rotate the foot over."""


def place_pole(bones: ChainBones, pose: Pose, distance: float) -> PolePlacement:
    """Return where a pole goes for a chain in a pose.

    Args:
        pose: of the chain before constraints, in armature space.
        distance: of the pole from the joint of the bend, over the chain's length.
    """
    recognition = recognise_all(armature_of(bones.end))
    joint = _joint_of_bend(bones, pose, recognition)
    side = None if joint is None else _bend_at(bones, pose, joint, recognition)
    if joint is None or side is None:
        return PolePlacement(pole_for(pose, distance), False)
    joints = pose.positions
    last = len(joints) - 2
    tip_bend = _present_bend(joints[last - 1 :]) if last > joint else None
    is_tip_opposite = tip_bend is not None and float(tip_bend @ side) < 0.0
    end = joints[last] if is_tip_opposite else joints[-1]
    outward = _rejection(side, end - joints[0])
    length = float(np.linalg.norm(np.diff(joints, axis=0), axis=1).sum())
    return PolePlacement(joints[joint] + distance * length * outward / np.linalg.norm(outward), is_tip_opposite)


def _joint_of_bend(bones: ChainBones, pose: Pose, recognition: Recognition) -> int | None:
    """Return the number of the joint whose bend the pole is for; None where no joint is more so than the others.

    In this order: the first joint at which a shin or forearm begins, a joint that is a hinge, the only inner joint, the
    only joint that has no short link.
    """
    inner = range(1, len(pose.positions) - 1)
    links = np.linalg.norm(np.diff(pose.positions, axis=0), axis=1)
    shorter = {joint: float(min(links[joint - 1], links[joint])) for joint in inner}
    armature = armature_of(bones.end)
    roles = limb_roles(armature, recognition) | roles_of(armature)
    lower = [joint for joint in inner if roles.get(bones.bones[bones.free[joint]].name) in {'FOREARM', 'SHIN'}]
    if lower:
        return lower[0]
    hinges = [joint for joint in inner if _hinge_at(bones, joint) is not None]
    if hinges:
        return max(hinges, key=lambda joint: shorter[joint])
    long = [joint for joint in inner if shorter[joint] > _SHORT_LINK * max(shorter.values())]
    return long[0] if len(long) == 1 else None


def _bend_at(bones: ChainBones, pose: Pose, joint: int, recognition: Recognition) -> Array | None:
    """Return the direction (3,) in which a joint bends; None if in none.

    It is told by the joint's hinge, the present pose, the rest pose, or the body whose straight knee or elbow it is.
    """
    hinge = _hinge_at(bones, joint)
    around = pose.positions[joint - 1 : joint + 2]
    if hinge is not None:
        # The link rotates toward s a x y about its axis a: the joint lies off the line d on the other side, -s a x d.
        axis, sign = hinge
        bone = bones.bones[bones.free[joint]]
        return _unit(-sign * np.cross(np.array(bone.matrix.to_3x3().col[axis][:]), around[2] - around[0]))
    present = _present_bend(around)
    if present is not None:
        return present
    joints_at_rest = _rest_joints(bones)[joint - 1 : joint + 2]
    at_rest = _present_bend(joints_at_rest)
    if at_rest is None:
        at_rest = _bend_of_body(bones, joint, joints_at_rest, recognition)
    if at_rest is None:
        return None
    # The parent's rotation from its rest pose brings the direction into the present pose.
    parent = bones.bones[bones.free[joint - 1]]
    turned: Matrix = parent.matrix.to_quaternion().to_matrix() @ parent.bone.matrix_local.to_3x3().transposed()
    return _unit(_rejection(np.array((turned @ Vector(at_rest.tolist()))[:]), around[2] - around[0]))


def _bend_of_body(bones: ChainBones, joint: int, joints_at_rest: Array, recognition: Recognition) -> Array | None:
    """Return the direction (3,) at rest in which a straight knee or elbow of a body bends; None of other joints.

    Without it the knee of a straight leg bent aside, and that of a leg with its foot, whose ankle bends, backward.
    """
    number = armature_of(bones.end).pose.bones.find(bones.bones[bones.free[joint]].name)
    direction = points_when_straight(recognition, number)
    if direction is None:
        return None
    line = _unit(joints_at_rest[2] - joints_at_rest[0])
    is_across = np.linalg.norm(np.cross(line, direction)) > ACROSS
    return _unit(_rejection(direction, line)) if is_across else None


def _hinge_at(bones: ChainBones, joint: int) -> tuple[int, float] | None:
    """Return the axis of a joint that rotates about the bone's x or z axis alone, and the sign of its wider range."""
    lower, upper = limits_of(bones.bones[bones.free[joint]])
    free = [axis for axis in range(3) if lower[axis] < upper[axis]]
    if len(free) != 1 or free[0] not in (_X, _Z):
        return None
    middle = lower[free[0]] + upper[free[0]]
    # Not a number for a range without bounds, which has no side either.
    return (free[0], math.copysign(1.0, middle)) if abs(middle) > _STRAIGHT_JOINT else None


def _present_bend(joints: Array) -> Array | None:
    """Return the direction in which the middle one of three joints (3, 3) is off the line through the others."""
    before, after = joints[1] - joints[0], joints[2] - joints[1]
    sine = np.linalg.norm(np.cross(before, after))
    if math.atan2(sine, float(before @ after)) < _STRAIGHT_JOINT:
        return None
    return _unit(_rejection(before, joints[2] - joints[0]))


def _rest_joints(bones: ChainBones) -> Array:
    """Return the joints (J, 3) of a chain in its rest pose."""
    end = bones.end.bone
    points = [bones.bones[i].bone.head_local[:] for i in bones.free]
    return np.array([*points, (end.tail_local if bones.use_tail else end.head_local)[:]])


def _rejection(vector: Array, line: Array) -> Array:
    """Return the part of a vector across a line; the vector itself where it is along the line."""
    along = line / (np.linalg.norm(line) + 1e-300)
    across: Array = vector - along * (vector @ along)
    return across if np.linalg.norm(across) > 1e-6 * np.linalg.norm(vector) else vector


def _unit(vector: Array) -> Array:
    return vector / (np.linalg.norm(vector) + 1e-300)
