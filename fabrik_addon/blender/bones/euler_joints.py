# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: bones of a tree whose locks and Limit Rotation constraint are ranges of Euler angles (``core.euler_joint``)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from .bone_limits import UNLIMITED, EulerOrder, Limits, euler_limits_of, limits_of, order_of, resting_locks
from .overrides import is_limit
from .rotation_channel import rotation_locks, rotation_of

if TYPE_CHECKING:
    from bpy.types import LimitRotationConstraint, PoseBone

_MOST_SECOND = 0.5 * math.pi - 1e-3
"""Largest second angle (radians) of a constraint's order: beyond it Blender reads the other set of angles, and clamps
these."""

_FREE = -math.inf, math.inf


class EulerJoint(NamedTuple):
    """The Euler angles that a bone may have."""

    limits: Limits
    order: EulerOrder


def euler_joint_of(bone: PoseBone, use_limits: bool) -> EulerJoint | None:
    """Return the ranges of a bone's Euler angles where its locks, or its constraint, are these and nothing else.

    None where nothing limits it, where its IK settings limit swing and twist as well, where locks and constraint count
    in different orders, and where locks leave a hinge, whose angle is that of a swing or a twist.
    """
    locks = rotation_locks(bone)
    limiting = [constraint for constraint in bone.constraints if is_limit(constraint)] if use_limits else []
    constraints = euler_limits_of(bone) if use_limits else []
    if len(limiting) > 1 or limiting != [*constraints] or not (any(locks) or constraints):
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
        found = _ranges_of(constraints[0], order)
        if found is None or (any(locks) and own_order != order):
            return None
        ranges = found
    angles = bone.rotation_euler[:] if bone.rotation_mode == order else rotation_of(bone).to_euler(order)[:]
    for axis, is_locked in enumerate(locks):
        if is_locked:
            low, high = ranges[axis]
            if not low <= angles[axis] <= high:
                return None
            ranges[axis] = angles[axis], angles[axis]
    (ax, bx), (ay, by), (az, bz) = ranges
    return EulerJoint(((ax, ay, az), (bx, by, bz)), order)


def _ranges_of(constraint: LimitRotationConstraint, order: EulerOrder) -> list[tuple[float, float]] | None:
    """Return the ranges of a constraint's angles; None where they aren't ranges of one set of angles."""
    ranges = []
    for axis in "xyz":
        low, high = _FREE
        if getattr(constraint, f"use_limit_{axis}"):
            low, high = getattr(constraint, f"min_{axis}"), getattr(constraint, f"max_{axis}")
            high = max(low, high)
        if axis.upper() == order[1]:
            low, high = max(low, -_MOST_SECOND), min(high, _MOST_SECOND)
        if low > high or (math.isfinite(high - low) and not -math.pi <= low <= high <= math.pi):
            return None
        ranges.append((low, high))
    return ranges
