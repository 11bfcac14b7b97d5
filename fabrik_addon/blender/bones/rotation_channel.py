# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: a pose bone's rotation channel and its locks, and the values of it that give another rotation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from mathutils import Euler, Matrix, Quaternion, Vector

if TYPE_CHECKING:
    from bpy.types import Bone, Object, PoseBone

Channel = tuple[str, tuple[float, ...]]
"""Property of a pose bone and its values."""

Values: TypeAlias = tuple[float, ...] | str
"""Values of a channel, or the item of an enum property."""

Setting = tuple["PoseBone | Bone", tuple[str, Values]]
"""A pose bone and its channel, or a bone and its mode of Inherit Scale: anything that a solve writes."""

_CHANNEL_NAMES = {'QUATERNION': "rotation_quaternion", 'AXIS_ANGLE': "rotation_axis_angle"}
"""Property of a rotation mode; that of all others is "rotation_euler"."""


def rotation_of(bone: PoseBone | Object) -> Quaternion:
    """Return a pose bone's own rotation, or an object's, whatever its rotation mode."""
    mode = bone.rotation_mode
    return rotation_in(mode, getattr(bone, _CHANNEL_NAMES.get(mode, "rotation_euler")))


def angle_between(a: Quaternion, b: Quaternion) -> float:
    """Return the angle between two rotations, radians; they needn't be of length 1.

    Not ``Quaternion.angle``: in single precision its arc cosine makes 0 of angles below 5e-4.
    """
    w, *vector = (a.conjugated() @ b)[:]
    return 2.0 * math.atan2(math.hypot(*vector), abs(w))


def is_finite(matrix: Matrix) -> bool:
    """Tell whether all numbers of a matrix are finite."""
    return math.isfinite(sum(sum(row[:]) for row in matrix.row))


def rotation_in_armature(armature: Object, target: Object, bone_name: str) -> Quaternion:
    """Return the rotation of an object or one of its bones in an armature's space; of neither's scale.

    That of a matrix that isn't finite isn't finite either: Blender gives the identity.
    """
    bone = target.pose.bones.get(bone_name) if bone_name and target.type == 'ARMATURE' else None
    matrix = target.matrix_world if bone is None else target.matrix_world @ bone.matrix
    if not is_finite(matrix):
        return Quaternion((math.nan,) * 4)
    return (armature.matrix_world.inverted_safe() @ matrix).to_quaternion()


def channel_name(bone: PoseBone | Object) -> str:
    """Return the name of the property that a pose bone's or an object's rotation mode uses."""
    return _CHANNEL_NAMES.get(bone.rotation_mode, "rotation_euler")


def present_channel(bone: PoseBone) -> Channel:
    """Return the rotation channel of a bone as it is."""
    name = channel_name(bone)
    return name, tuple(getattr(bone, name))


def is_locked(bone: PoseBone) -> bool:
    """Tell whether all of a bone's rotation is locked."""
    return all(bone.lock_rotation) and (not _has_4d_locks(bone) or bone.lock_rotation_w)


def has_locks(bone: PoseBone | Object) -> bool:
    """Tell whether any of a bone's rotation is locked, or of an object's."""
    return any(bone.lock_rotation) or (_has_4d_locks(bone) and bone.lock_rotation_w)


def rotation_locks(bone: PoseBone) -> tuple[bool, ...]:
    """Return which Euler angles of a bone are locked; locks of quaternion components lock none."""
    return (False,) * 3 if _has_4d_locks(bone) else tuple(bone.lock_rotation)


def _has_4d_locks(bone: PoseBone | Object) -> bool:
    return bone.lock_rotations_4d and bone.rotation_mode in {'QUATERNION', 'AXIS_ANGLE'}


def channel_for(bone: PoseBone, rotation: Quaternion) -> Channel:
    """Return the channel values nearest to a bone's present ones that give a rotation."""
    name, present = present_channel(bone)
    return name, nearest_values(bone.rotation_mode, rotation, present)


def nearest_values(mode: str, rotation: Quaternion, old: Sequence[float]) -> tuple[float, ...]:
    """Return the channel values nearest to old ones that give a rotation in a rotation mode."""
    if mode == 'QUATERNION':
        nearest = rotation.copy()
        nearest.make_compatible(Quaternion(old))
        return nearest[:]
    if mode == 'AXIS_ANGLE':
        return _nearest_axis_angle(rotation, old)
    return rotation.to_euler(mode, Euler(old, mode))[:]  # type: ignore[arg-type]  # what is left are the orders


def locked_channel_for(bone: PoseBone, rotation: Quaternion) -> Channel:
    """Return ``channel_for`` a rotation, with the bone's present values where they are locked."""
    return read_lockable_channel(bone).nearest(rotation)


class LockableChannel(NamedTuple):
    """A bone's rotation channel and its locks, read once for many rotations."""

    mode: str
    name: str
    present: tuple[float, ...]
    locks: tuple[bool, ...] | None
    """Of the channel's values; None where none is locked."""
    euler_locks: tuple[bool, ...] | None
    """Of the XYZ Euler angles of a quaternion or an axis-angle; None where none is locked."""

    @property
    def channel(self) -> Channel:
        """The present values with their property."""
        return self.name, self.present

    @property
    def has_locks(self) -> bool:
        """Whether any of the rotation is locked."""
        return self.locks is not None or self.euler_locks is not None

    def nearest(self, rotation: Quaternion) -> Channel:
        """Return the values nearest to the present ones that give a rotation, the present ones where they are locked.

        Locks work as in Blender's own transform: without 4D locks, quaternions and axis-angles are locked as XYZ Euler.
        """
        if self.euler_locks is not None:
            old = rotation_in(self.mode, self.present).to_euler('XYZ')
            angles = _keep_locked(self.euler_locks, old[:], rotation.to_euler('XYZ', old)[:])
            rotation = Euler(angles, 'XYZ').to_quaternion()
        values = nearest_values(self.mode, rotation, self.present)
        return self.name, values if self.locks is None else _keep_locked(self.locks, self.present, values)

    def rotation(self, channel: Channel) -> Quaternion:
        """Return the rotation that values of the channel give."""
        return rotation_in(self.mode, channel[1])


def read_lockable_channel(bone: PoseBone) -> LockableChannel:
    """Return a bone's rotation channel and its locks."""
    mode, (name, present) = bone.rotation_mode, present_channel(bone)
    if not has_locks(bone):
        return LockableChannel(mode, name, present, None, None)
    if _has_4d_locks(bone):
        return LockableChannel(mode, name, present, (bone.lock_rotation_w, *bone.lock_rotation), None)
    locks = tuple(bone.lock_rotation)
    if mode in {'QUATERNION', 'AXIS_ANGLE'}:
        return LockableChannel(mode, name, present, None, locks)
    return LockableChannel(mode, name, present, locks, None)


def rotation_from(bone: PoseBone, channel: Channel) -> Quaternion:
    """Return the rotation that channel values give."""
    return rotation_in(bone.rotation_mode, channel[1])


def rotation_in(mode: str, values: Sequence[float]) -> Quaternion:
    """Return the rotation that channel values give in a rotation mode."""
    if mode == 'QUATERNION':
        return Quaternion(values).normalized()
    if mode == 'AXIS_ANGLE':
        return Quaternion(values[1:], values[0])
    return Euler(values, mode).to_quaternion()


def _keep_locked(locks: Sequence[bool], old: Sequence[float], new: Sequence[float]) -> tuple[float, ...]:
    """Return new values with the old ones where they are locked."""
    return tuple(before if lock else after for lock, before, after in zip(locks, old, new, strict=True))


def _nearest_axis_angle(rotation: Quaternion, old: Sequence[float]) -> tuple[float, ...]:
    """Return angle and axis of a rotation: of all that give it, the ones nearest to the old."""
    old_angle, old_axis = old[0], Vector(old[1:4])
    axis = Vector((rotation.x, rotation.y, rotation.z))
    # Not Quaternion.to_axis_angle: in single precision its arc cosine makes 0 of angles below 5e-4.
    angle = 2.0 * math.atan2(axis.length, rotation.w)
    if axis.length > 0.0:
        axis.normalize()
    elif old_axis.length > 0.0:
        axis = old_axis  # a rotation by 0 is one about any axis
    else:
        axis = Vector((0.0, 1.0, 0.0))
    if axis.dot(old_axis) < 0.0:
        axis, angle = -axis, -angle
    return (angle + math.tau * round((old_angle - angle) / math.tau), axis.x, axis.y, axis.z)
