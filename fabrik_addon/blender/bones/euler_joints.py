# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: bones of a tree whose locks and Limit Rotation constraint are ranges of Euler angles (``core.euler_joint``)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from .bone_limits import NO_ANGLE, UNLIMITED, EulerOrder, Limits, euler_limits_of, limits_of, order_of, resting_locks
from .overrides import is_limit
from .rotation_channel import rotation_locks, rotation_of

if TYPE_CHECKING:
    from bpy.types import LimitRotationConstraint, PoseBone

_MOST_ANGLES = 1.5 * math.pi
"""Largest sum of a constraint's angles (radians, without signs) at which Blender reads them as they are. Of the two
sets of angles of a rotation it reads the one with the smaller sum, which is at most this."""

_FREE = -math.inf, math.inf


class EulerJoint(NamedTuple):
    """The Euler angles that a bone may have."""

    limits: Limits
    order: EulerOrder


def euler_joint_of(bone: PoseBone, use_limits: bool) -> EulerJoint | None:
    """Return the ranges of a bone's Euler angles where its locks, or its constraint, are these and nothing else.

    None where nothing limits it, where IK limits or IK locks limit swing and twist as well, where there are several
    constraints, where locks and constraint count in different orders, where a locked angle is outside the constraint's
    range, and where two locks at 0 leave a hinge within limits: its angle is that of a swing or a twist.
    """
    locks = rotation_locks(bone)
    limiting = [constraint for constraint in bone.constraints if is_limit(constraint)] if use_limits else []
    constraints = euler_limits_of(bone) if use_limits else []
    if len(limiting) > 1 or limiting != constraints or not (any(locks) or constraints):
        return None
    if use_limits and (
        limits_of(bone, with_locks=False, with_constraints=False) != UNLIMITED
        or (not constraints and len(resting_locks(bone)) == 2)
    ):
        return None
    order = order_of(bone)
    ranges = [_FREE] * 3
    if constraints:
        own_order, order = order, order_of(bone, constraints[0])
        found = _ranges_of(constraints[0])
        if found is None or (any(locks) and own_order != order):
            return None
        ranges = found
    if any(locks):
        angles = bone.rotation_euler[:] if bone.rotation_mode == order else rotation_of(bone).to_euler(order)[:]
        for axis, is_locked in enumerate(locks):
            low, high = ranges[axis]
            if is_locked and not low - NO_ANGLE <= angles[axis] <= high + NO_ANGLE:
                return None
            if is_locked:
                angle = min(max(angles[axis], low), high)
                ranges[axis] = angle, angle
    (ax, bx), (ay, by), (az, bz) = ranges
    return EulerJoint(((ax, ay, az), (bx, by, bz)), order)


def _ranges_of(constraint: LimitRotationConstraint) -> list[tuple[float, float]] | None:
    """Return the ranges of a constraint's angles; None where Blender may read another set of angles than these.

    An angle without a range counts as 90 degrees: it is seldom larger, and what Blender reads then is projected onto
    the constraint (``feasible_channels``).
    """
    ranges = [_FREE] * 3
    for axis, name in enumerate("xyz"):
        low, high = getattr(constraint, f"min_{name}"), getattr(constraint, f"max_{name}")
        if getattr(constraint, f"use_limit_{name}") and high - low < math.tau - NO_ANGLE:
            ranges[axis] = low, max(low, high)
    largest = [max(abs(low), abs(high)) for low, high in ranges if math.isfinite(high - low)]
    if not largest or max(largest) > math.pi + NO_ANGLE:
        return None
    return ranges if sum(largest) + 0.5 * math.pi * (3 - len(largest)) <= _MOST_ANGLES + NO_ANGLE else None
