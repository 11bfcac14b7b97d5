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
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from mathutils import Quaternion

from ...core.model.joint_limits import ROUNDED_ANGLE, JointLimits, clamp_rotation, joint_limits, outside_by
from .bone_limits import UNLIMITED, Limits, euler_limits_of, limits_in_other_poses, within_euler_limits
from .rotation_channel import Channel, LockableChannel

if TYPE_CHECKING:
    from bpy.types import LimitRotationConstraint, PoseBone

_ALTERNATIONS = 4
"""Projections onto limits and locks in turn, at most."""

_BISECTED = 5e-5
"""Angle (radians) at which the bisection of the rotation from the present one to the desired one ends: after 16 rounds
for half a turn, after 5 for the finite differences of a Jacobian."""


_SAME_COMPONENTS = 1e-4
"""Difference of two quaternions' components that is the rounding of Euler angles."""


def rotations_differ(a: Quaternion, b: Quaternion) -> bool:
    """Tell whether two rotations differ by more than rounding."""
    sign = -1.0 if a.dot(b) < 0.0 else 1.0
    (aw, ax, ay, az), (bw, bx, by, bz) = a[:], b[:]
    differences = abs(aw - sign * bw), abs(ax - sign * bx), abs(ay - sign * by), abs(az - sign * bz)
    return max(differences) > _SAME_COMPONENTS


@dataclass(frozen=True)
class BoneConstraints:
    """What a bone's locks, limits and Limit Rotation constraints allow, read once for many rotations."""

    bone: PoseBone
    limits: JointLimits | None
    """Of swing and twist; None where they don't count. Without the locks, which ``limits_of`` counts as limits of swing
    and twist: clamped to those, a rotation that is feasible would change, and the Jacobian's columns would not be those
    of the bone. Without the constraints too where their Euler angles are no range of swing and twist."""
    euler_limits: Sequence[LimitRotationConstraint]
    has_locks: bool
    own_channel: LockableChannel
    """The bone's, with its present values."""

    @property
    def allows_all(self) -> bool:
        """Whether no rotation is changed."""
        return self.limits is None and not self.euler_limits and not self.has_locks

    def rotation(self, rotation: Quaternion, present: Quaternion) -> Quaternion:
        """Return the rotation that ``channel`` gives; without the rounding of a channel where limits alone count."""
        if self.limits is not None and not self.euler_limits and not self.has_locks:
            return self._clamped(rotation)
        return self.channel(rotation, present)[1]

    def channel(self, rotation: Quaternion, present: Quaternion) -> tuple[Channel, Quaternion]:
        """Return the channel for a rotation, or for one near to it that is feasible, and the rotation it gives.

        Args:
            rotation: the bone's own rotation as desired.
            present: its own rotation as it is: with the locked values, and feasible if the pose is.
        """
        if self.limits is None:
            return self._locked(rotation)
        if not self.euler_limits:
            rotation = self._clamped(rotation)
            if not self.has_locks:
                return self._locked(rotation)
        channel, given = self._locked(rotation)
        return (channel, given) if self._is_within(given) else self._within_both(given, present)

    def _within_both(self, rotation: Quaternion, present: Quaternion) -> tuple[Channel, Quaternion]:
        """Return the channel for a rotation within limits and locks, by alternating projections, then by bisection."""
        tried = []
        for _ in range(_ALTERNATIONS):
            tried.append(self._locked(self._clamped(rotation)))
            rotation = tried[-1][1]
            if self._is_within(rotation):
                return tried[-1]
        tried.append(self._locked(present))
        low, high = 0.0, 1.0
        angle = 2.0 * min((present - rotation).magnitude, (present + rotation).magnitude)  # its chord
        while (high - low) * angle > _BISECTED:
            middle = 0.5 * (low + high)
            part = self._locked(present.slerp(rotation, middle))
            if self._is_within(part[1]):
                low = middle
                tried.append(part)
            else:
                high = middle
        feasible = [one for one in tried if self._is_within(one[1])]
        return feasible[-1] if feasible else min(tried, key=lambda one: self._outside(one[1]))

    def _locked(self, rotation: Quaternion) -> tuple[Channel, Quaternion]:
        if self.euler_limits:
            rotation = within_euler_limits(self.bone, self.euler_limits, rotation)
        channel = self.own_channel.nearest(rotation)
        return channel, self.own_channel.rotation(channel)

    def _clamped(self, q: Quaternion) -> Quaternion:
        assert self.limits is not None  # called where there are limits only
        clamped = clamp_rotation(self.limits, (q.w, q.x, q.y, q.z))
        return Quaternion(cast("tuple[float, float, float, float]", clamped))

    def _outside(self, q: Quaternion) -> float:
        assert self.limits is not None  # called where there are limits only
        return outside_by(self.limits, (q.w, q.x, q.y, q.z))

    def _is_within(self, q: Quaternion) -> bool:
        return self._outside(q) <= ROUNDED_ANGLE


def constraints_of(bone: PoseBone, limits: Limits | None, own: LockableChannel) -> BoneConstraints:
    """Return what constrains a bone.

    Args:
        bone: the bone.
        limits: its smallest and largest angles, as ``limits_of`` gives them; None where they don't count.
        own: its rotation channel with its present values.
    """
    euler_limits = euler_limits_of(bone) if limits is not None else []
    if limits is not None and (euler_limits or own.has_locks):
        limits = limits_in_other_poses(bone, limits, with_constraints=not euler_limits)
    if limits == UNLIMITED:
        limits = None  # swing and twist of a rotation by nearly half a turn have lost four of its digits
    allowed = None if limits is None else joint_limits(*limits)
    return BoneConstraints(bone, allowed, euler_limits, own.has_locks, own)


def feasible_channels(
    constraints: Sequence[BoneConstraints], rotations: Sequence[Quaternion], present: Sequence[Quaternion]
) -> tuple[list[Channel], list[Quaternion]]:
    """Return bones' channels and the rotations these give (``BoneConstraints.channel``)."""
    found = [one.channel(*pair) for one, *pair in zip(constraints, rotations, present, strict=True)]
    return [channel for channel, _ in found], [given for _, given in found]
