# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: joint limits from a bone's settings: IK limits, locks and stiffness, rotation locks, Limit Rotation.

IK limits are angles of swing and twist (``core.model.joint_limits``). Limit Rotation constraints limit Euler angles,
which are the same only where a bone rotates about one axis: ``left_by`` computes what Blender makes of a rotation, and
``within_euler_limits`` a rotation that Blender leaves as it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from bpy.types import LimitRotationConstraint
from mathutils import Euler, Quaternion

from ...core import FabrikError
from ...core.model.joint_limits import widened
from .overrides import is_active, is_limit
from .rotation_channel import rotation_locks, rotation_of

if TYPE_CHECKING:
    from bpy.types import PoseBone

Angles: TypeAlias = tuple[float, float, float]
"""About a bone's own x, y and z (radians)."""

Limits: TypeAlias = tuple[Angles, Angles]
"""A bone's smallest and largest angles."""

UNLIMITED: Limits = ((-math.inf,) * 3, (math.inf,) * 3)
"""Of a bone that may rotate any way."""

EulerOrder: TypeAlias = Literal['XYZ', 'XZY', 'YXZ', 'YZX', 'ZXY', 'ZYX']
"""Order of Euler angles."""

_IK_CHANNELS = [(f"lock_ik_{axis}", f"use_ik_limit_{axis}", f"ik_min_{axis}", f"ik_max_{axis}") for axis in "xyz"]

NO_ANGLE = 1e-6
"""Angle (radians) that is rounding."""

_STACK_ROUNDS = 4
"""Times that a rotation goes through a bone's constraints, at most."""

_STEPS_INWARD = 8
"""Steps from the end of a range to its middle, for a rotation whose other set of Euler angles is outside."""


def limits_of(bone: PoseBone, with_locks: bool = True, with_constraints: bool = True) -> tuple[Angles, Angles]:
    """Return the smallest and largest angles (radians) of a bone's own rotation about x, y, z; infinite where free.

    Where its IK settings and its constraints have no angle in common the smallest is above the largest
    (``check_limits``).

    Args:
        with_locks: whether rotation locks of a bone at rest, or of a hinge, count, as limits of 0 about the same axes.
        with_constraints: whether Limit Rotation constraints count, as limits about the same axes.
    """
    lower, upper = [-math.inf] * 3, [math.inf] * 3

    def narrow(axis: int, low: float, high: float) -> None:
        lower[axis], upper[axis] = max(lower[axis], low), min(upper[axis], high)

    for axis, (lock, use_limit, low_end, high_end) in enumerate(_IK_CHANNELS):
        if getattr(bone, lock):
            narrow(axis, 0.0, 0.0)
        elif getattr(bone, use_limit):
            narrow(axis, getattr(bone, low_end), getattr(bone, high_end))
    for constraint in bone.constraints if with_constraints else ():
        if is_limit(constraint):
            for axis, name in enumerate("xyz"):
                low, high = getattr(constraint, f"min_{name}"), getattr(constraint, f"max_{name}")
                if getattr(constraint, f"use_limit_{name}") and high - low < math.tau:
                    narrow(axis, low, max(low, high))
    for axis in range(3):
        if lower[axis] - upper[axis] < NO_ANGLE:
            lower[axis] = min(lower[axis], upper[axis])  # one range begins where the other ends
    for axis in resting_locks(bone) if with_locks else ():
        lower[axis] = upper[axis] = min(0.0, upper[axis])
    return (lower[0], lower[1], lower[2]), (upper[0], upper[1], upper[2])


def limits_with_pose(bone: PoseBone, limits: Limits) -> Limits:
    """Return a bone's limits, widened to hold its own rotation as it is: those of a body in a captured pose, say.

    Clamped to the limits instead, the hips of a captured kick turned by 40 degrees when a hand was pulled by 3 cm.
    A bone that Blender itself clamps, by a Limit Rotation constraint, has its limits.
    """
    lower, upper = limits
    is_clamped = any(is_limit(constraint) and is_active(constraint) for constraint in bone.constraints)
    if is_clamped or any(low > high for low, high in zip(lower, upper, strict=True)):
        return limits
    q = rotation_of(bone)
    return widened(lower, upper, (q.w, q.x, q.y, q.z))


def limits_in_other_poses(bone: PoseBone, limits: Limits, with_constraints: bool = True) -> Limits:
    """Return limits of a bone without those that its rotation locks are in the pose at hand.

    Args:
        bone: the bone.
        limits: with its locks, and perhaps widened (``limits_with_pose``): what these allow is allowed.
        with_constraints: as in ``limits_of``.
    """
    (ax, ay, az), (bx, by, bz) = limits
    (cx, cy, cz), (dx, dy, dz) = limits_of(bone, with_locks=False, with_constraints=with_constraints)
    return (min(ax, cx), min(ay, cy), min(az, cz)), (max(bx, dx), max(by, dy), max(bz, dz))


def check_limits(bone: PoseBone, limits: Limits) -> None:
    """Refuse limits of a bone that no angle meets.

    Raises:
        FabrikError: its IK settings and its Limit Rotation constraints have no angle in common about an axis.
    """
    for axis, low, high in zip("XYZ", *limits, strict=True):
        if low > high:
            ends = f"at least {math.degrees(low):.4g}°, at most {math.degrees(high):.4g}°"
            raise FabrikError(f"the limits of bone '{bone.name}' about {axis} contradict each other: {ends}")


def euler_limits_of(bone: PoseBone) -> list[LimitRotationConstraint]:
    """Return the Limit Rotation constraints of a bone whose Euler angles aren't its angles of swing and twist.

    Where a bone rotates about one axis only, by no more than half a turn, they are, and the list is empty.
    """
    found = [
        one for one in bone.constraints if isinstance(one, LimitRotationConstraint) and is_limit(one) and is_active(one)
    ]
    if not found:
        return []
    ends = [abs(getattr(one, f"{end}_{axis}")) for one in found for axis in "xyz" for end in ("min", "max")]
    locked = sum(low == high == 0.0 for low, high in zip(*limits_of(bone), strict=True))
    return [] if locked >= 2 and max(ends) <= math.pi + NO_ANGLE else found


def within_euler_limits(
    bone: PoseBone, constraints: Sequence[LimitRotationConstraint], rotation: Quaternion
) -> Quaternion:
    """Return a bone's own rotation, changed until Limit Rotation constraints leave it as it is.

    A rotation has two sets of Euler angles, and Blender may read the other one of a rotation that it has clamped: then
    it clamps again. Where that doesn't end, the rotation goes step by step to the middle of the ranges.
    """
    for _ in range(_STACK_ROUNDS):
        before, rotation = rotation, left_by(bone, constraints, rotation)
        if rotation == before:
            return rotation
    for step in range(1, _STEPS_INWARD + 1):
        inner = _toward_middle(bone, constraints[-1], rotation, step / _STEPS_INWARD)
        if left_by(bone, constraints, inner) == inner:
            return inner
    return rotation


def left_by(bone: PoseBone, constraints: Sequence[LimitRotationConstraint], rotation: Quaternion) -> Quaternion:
    """Return a bone's own rotation after Limit Rotation constraints, one after another, as Blender computes them."""
    for constraint in constraints:
        order = order_of(bone, constraint)
        angles = rotation.to_euler(order)[:]
        clamped = [
            _clamped(constraint, axis, angle) if getattr(constraint, f"use_limit_{axis}") else angle
            for axis, angle in zip("xyz", angles, strict=True)
        ]
        if any(abs(after - angle) > NO_ANGLE for after, angle in zip(clamped, angles, strict=True)):
            rotation = Euler(clamped, order).to_quaternion()
    return rotation


def _toward_middle(
    bone: PoseBone, constraint: LimitRotationConstraint, rotation: Quaternion, share: float
) -> Quaternion:
    """Return a rotation some share of the way to where all of its Euler angles are in the middle of their ranges."""
    order = order_of(bone, constraint)
    angles = []
    for axis, angle in zip("xyz", rotation.to_euler(order)[:], strict=True):
        low, high = getattr(constraint, f"min_{axis}"), getattr(constraint, f"max_{axis}")
        middle = 0.5 * (low + max(low, high)) if getattr(constraint, f"use_limit_{axis}") else 0.0
        angles.append(angle + share * (middle - angle))
    return Euler(angles, order).to_quaternion()


def order_of(bone: PoseBone, constraint: LimitRotationConstraint | None = None) -> EulerOrder:
    """Return the order in which a bone's Euler angles are locked, or that of a constraint's angles."""
    if constraint is not None and constraint.euler_order != 'AUTO':
        return constraint.euler_order
    mode = bone.rotation_mode
    return 'XYZ' if mode == 'QUATERNION' or mode == 'AXIS_ANGLE' else mode


def _clamped(constraint: LimitRotationConstraint, axis: str, angle: float) -> float:
    """Return an Euler angle after a constraint: the nearest end of its range, measured around the circle.

    Of a range whose largest angle is below its smallest that is the smallest (measured in Blender 5.0 and 5.2).
    """
    low, high = getattr(constraint, f"min_{axis}"), getattr(constraint, f"max_{axis}")
    if constraint.use_legacy_behavior:
        return high if angle > high else max(angle, low)
    if high <= low:
        return low
    from_middle = math.remainder(angle - 0.5 * (low + high), math.tau)
    if abs(from_middle) <= 0.5 * (high - low):
        return angle
    return high if from_middle > 0.0 else low


def stiffness_of(bone: PoseBone) -> Angles:
    """Return how stiff a bone is about its x, y and z, 0 to 0.99."""
    return bone.ik_stiffness_x, bone.ik_stiffness_y, bone.ik_stiffness_z


def resting_locks(bone: PoseBone) -> list[int]:
    """Return the axes that are locked, of a bone at rest, or of a hinge: of two axes that are locked at 0.

    Elsewhere an Euler angle is no angle about one axis.
    """
    locked = [axis for axis, is_locked in enumerate(rotation_locks(bone)) if is_locked]
    angles = rotation_of(bone).to_euler('XYZ')
    at_zero = locked if len(locked) == 2 else range(3)
    if locked and any(abs(angles[axis]) > NO_ANGLE for axis in at_zero):
        return []
    return locked


def is_hinge_by_locks(bone: PoseBone, limits: Limits) -> bool:
    """Tell whether a bone's rotation locks leave a hinge, as its limits say (``limits_of``).

    One locked Euler angle alone isn't the same as a limit about that axis.
    """
    locks = rotation_locks(bone)
    still = [low == high == 0.0 for low, high in zip(*limits, strict=True)]
    return sum(locks) == 2 and all(is_still for is_still, is_locked in zip(still, locks, strict=True) if is_locked)
