# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rotation channels that are feasible: within a bone's limits, and with its locked values as they are. Computes.

Limits are of the swing and twist of a rotation, locks and Limit Rotation constraints of its Euler angles. A projection
onto both sets at once has no closed form, so a rotation is projected onto one set after the other (alternating
projections). Where that ends outside one of them, the rotation is ``slerp(present, desired, t)`` with the largest t,
found by bisection, that is in both: the present rotation has the locked values, and is within limits in a feasible
pose. Where it isn't either, the projection that is least outside the limits is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from mathutils import Quaternion

from ...core.model.joint_limits import JointLimits, clamp_rotation, joint_limits, outside_by
from ..rig.bone_limits import Limits, euler_limits_of, limits_of, within_euler_limits
from ..rig.rotation_channel import Channel, channel_for, has_locks, locked_channel_for, rotation_from

if TYPE_CHECKING:
    from bpy.types import LimitRotationConstraint, PoseBone

_OUTSIDE_BY_ROUNDING = 1e-5
"""Radians outside a limit that are single precision's rounding."""

_ALTERNATIONS = 4
"""Projections onto limits and locks in turn, at most."""

_BISECTIONS = 16
"""Bisections of the rotation from the present one to the desired one, by at most pi: to ``2^-16 pi``, 5e-5 radians."""


def feasible_channels(
    bones: Sequence[PoseBone],
    rotations: Sequence[Quaternion],
    limits: Sequence[Limits | None],
    present: Sequence[Quaternion],
) -> tuple[list[Channel], list[Quaternion]]:
    """Return bones' channels and the rotations these give; the arguments are those of ``feasible_channel``, by bone."""
    found = [feasible_channel(*one) for one in zip(bones, rotations, limits, present, strict=True)]
    return [channel for channel, _ in found], [given for _, given in found]


def feasible_channel(
    bone: PoseBone, rotation: Quaternion, limits: Limits | None, present: Quaternion
) -> tuple[Channel, Quaternion]:
    """Return a bone's channel for a rotation, or for one near to it that is feasible, and the rotation it gives.

    Args:
        bone: the bone.
        rotation: its own rotation as desired.
        limits: its smallest and largest angles; None where they don't count.
        present: its own rotation as it is: with the locked values, and feasible if the pose is.
    """
    allowed = None if limits is None else joint_limits(*limits)
    euler_limits = euler_limits_of(bone) if limits is not None else []
    if euler_limits:
        # The Euler angles that the constraints allow are no range of swing and twist: only the other limits are.
        swing_twist_limits = joint_limits(*limits_of(bone, with_locks=False, with_constraints=False))
        channel, given = _locked(bone, rotation, euler_limits)
        if _outside(swing_twist_limits, given) <= _OUTSIDE_BY_ROUNDING:
            return channel, given
        return _within_both(bone, swing_twist_limits, euler_limits, given, present)
    if not has_locks(bone):
        channel = channel_for(bone, rotation if allowed is None else _clamped(allowed, rotation))
        return channel, rotation_from(bone, channel)
    if allowed is None:
        return _locked(bone, rotation)
    # Without the locks, which limits_of counts as limits of swing and twist: clamped to those, a rotation that is
    # feasible would change, and the tip's response to it would not be that of the bone.
    swing_twist_limits = joint_limits(*limits_of(bone, with_locks=False))
    channel, given = _locked(bone, _clamped(swing_twist_limits, rotation))
    if _outside(swing_twist_limits, given) <= _OUTSIDE_BY_ROUNDING:
        return channel, given
    return _within_both(bone, swing_twist_limits, [], given, present)


def _within_both(
    bone: PoseBone,
    limits: JointLimits,
    euler_limits: list[LimitRotationConstraint],
    rotation: Quaternion,
    present: Quaternion,
) -> tuple[Channel, Quaternion]:
    """Return the channel for a rotation within limits and locks, by alternating projections, then by bisection."""
    tried = []
    for _ in range(_ALTERNATIONS):
        tried.append(_locked(bone, _clamped(limits, rotation), euler_limits))
        rotation = tried[-1][1]
        if _outside(limits, rotation) <= _OUTSIDE_BY_ROUNDING:
            return tried[-1]
    tried.append(_locked(bone, present, euler_limits))
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        part = _locked(bone, present.slerp(rotation, middle), euler_limits)
        if _outside(limits, part[1]) <= _OUTSIDE_BY_ROUNDING:
            low = middle
            tried.append(part)
        else:
            high = middle
    feasible = [one for one in tried if _outside(limits, one[1]) <= _OUTSIDE_BY_ROUNDING]
    return feasible[-1] if feasible else min(tried, key=lambda one: _outside(limits, one[1]))


def _locked(
    bone: PoseBone, rotation: Quaternion, euler_limits: Sequence[LimitRotationConstraint] = ()
) -> tuple[Channel, Quaternion]:
    channel = locked_channel_for(bone, within_euler_limits(bone, euler_limits, rotation))
    return channel, rotation_from(bone, channel)


def _clamped(limits: JointLimits, q: Quaternion) -> Quaternion:
    clamped = clamp_rotation(limits, (q.w, q.x, q.y, q.z))
    return Quaternion(cast("tuple[float, float, float, float]", clamped))


def _outside(limits: JointLimits, q: Quaternion) -> float:
    return outside_by(limits, (q.w, q.x, q.y, q.z))
