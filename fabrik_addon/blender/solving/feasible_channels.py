# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A bone's channels for a rotation, within its limits and with what is locked as it is. Computes, writes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mathutils import Quaternion

from ...core.model.joint_limits import JointLimits, clamp_rotation, joint_limits, outside_by
from ..rig.bone_limits import Angles, euler_limits_of, limits_of, within_euler_limits
from ..rig.rotation_channel import Channel, channel_for, has_locks, locked_channel_for, rotation_from

if TYPE_CHECKING:
    from bpy.types import LimitRotationConstraint, PoseBone

_EDGE = 1e-5
"""Radians outside a limit that single precision makes of none."""

_TURNS = 4
"""Times that a rotation goes to and fro between limits and locks."""

_HALVINGS = 16
"""Of the way back to the present rotation, which is within both."""


def feasible_channel(
    bone: PoseBone, rotation: Quaternion, limits: tuple[Angles, Angles] | None, present: Quaternion
) -> tuple[Channel, Quaternion]:
    """Return the channel for a rotation and what it really gives: within limits, and with locks as they are.

    Args:
        bone: the bone.
        rotation: that it should take.
        limits: its smallest and largest angles; None where they are to be ignored.
        present: the rotation that it has.
    """
    allowed = None if limits is None else joint_limits(*limits)
    boxes = euler_limits_of(bone) if limits is not None else []
    if boxes:
        # What the constraints allow is no range of swing and twist: those only advise, the rest of the limits hold.
        apart = joint_limits(*limits_of(bone, with_locks=False, with_constraints=False))
        channel, given = _locked(bone, rotation, boxes)
        if _outside(apart, given) <= _EDGE:
            return channel, given
        return _within_both(bone, apart, boxes, given, present)
    if not has_locks(bone):
        channel = channel_for(bone, rotation if allowed is None else _clamped(allowed, rotation))
        return channel, rotation_from(bone, channel)
    if allowed is None:
        return _locked(bone, rotation)
    # A lock is about an Euler angle, and is kept. It is no limit of the swing and twist as well: what is legal already
    # has to stay as it is, or there would be no telling how the tip moves with it.
    apart = joint_limits(*limits_of(bone, with_locks=False))
    channel, given = _locked(bone, _clamped(apart, rotation))
    if _outside(apart, given) <= _EDGE:
        return channel, given
    return _within_both(bone, apart, [], given, present)


def _within_both(
    bone: PoseBone,
    limits: JointLimits,
    boxes: list[LimitRotationConstraint],
    rotation: Quaternion,
    present: Quaternion,
) -> tuple[Channel, Quaternion]:
    """Return the channel for a rotation that limits and locks allow, where what the one leaves the other doesn't."""
    tried = []
    for _ in range(_TURNS):
        tried.append(_locked(bone, _clamped(limits, rotation), boxes))
        rotation = tried[-1][1]
        if _outside(limits, rotation) <= _EDGE:
            return tried[-1]
    # The present rotation is locked as it is: some part of the way from there is legal if it is legal itself.
    tried.append(_locked(bone, present, boxes))
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        part = _locked(bone, present.slerp(rotation, middle), boxes)
        if _outside(limits, part[1]) <= _EDGE:
            low = middle
            tried.append(part)
        else:
            high = middle
    feasible = [one for one in tried if _outside(limits, one[1]) <= _EDGE]
    return feasible[-1] if feasible else min(tried, key=lambda one: _outside(limits, one[1]))


def _locked(
    bone: PoseBone, rotation: Quaternion, boxes: Sequence[LimitRotationConstraint] = ()
) -> tuple[Channel, Quaternion]:
    channel = locked_channel_for(bone, within_euler_limits(bone, boxes, rotation))
    return channel, rotation_from(bone, channel)


def _clamped(limits: JointLimits, q: Quaternion) -> Quaternion:
    return Quaternion(clamp_rotation(limits, (q.w, q.x, q.y, q.z)))


def _outside(limits: JointLimits, q: Quaternion) -> float:
    return outside_by(limits, (q.w, q.x, q.y, q.z))
