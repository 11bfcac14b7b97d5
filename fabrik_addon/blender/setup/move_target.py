# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The location channel with which an object, or a bone's head, is at a position in the world."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mathutils import Matrix, Vector

from ...core import FabrikError

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone


@dataclass(frozen=True)
class Movable:
    """An object or a bone that can be moved, and the transforms between its location channel and the world."""

    what: str
    """Name of the object or bone in messages, such as "Chain 'arm': its target"."""
    moved: Object | PoseBone
    before: Vector
    """The location channel when the object or bone was read."""
    obj: Object
    """The object, or the armature of the bone."""
    bone_name: str
    """Empty for an object."""
    basis: Vector
    """The translation of the object's basis matrix: its location and its delta location."""
    to_outer: Matrix
    """From the world into the space of the object's basis matrix (parent and parent inverse), or of the armature."""

    def location_at(self, position: Vector) -> Vector:
        """Return the location channel for a position in the world.

        Raises:
            FabrikError: there is none, because a matrix is singular or not finite.
        """
        if self.bone_name:
            matrix = self.obj.pose.bones[self.bone_name].matrix.copy()
            matrix.translation = self.to_outer @ position
            bone = self.obj.pose.bones[self.bone_name]
            new = self.obj.convert_space(pose_bone=bone, matrix=matrix, from_space='POSE', to_space='LOCAL').translation
        else:
            new = self.before + (self.to_outer @ position - self.basis)
        if not math.isfinite(sum(new[:])):
            name = self.bone_name or self.obj.name
            reason = "its rotation or scale, or its parent's, is not a finite number"
            raise FabrikError(f"{self.what} '{name}' can't move: {reason}")
        return new


def movable(what: str, obj: Object, bone_name: str) -> Movable:
    """READ: an object or a bone that is to be moved.

    Args:
        what: it is, for messages.
        obj: object, evaluated since it was changed.
        bone_name: of one of its bones, or empty.

    Raises:
        FabrikError: it can't move.
    """
    bone = obj.pose.bones[bone_name] if bone_name else None
    moved: Object | PoseBone = obj if bone is None else bone
    name = bone_name or obj.name
    if obj.library is not None:
        raise FabrikError(f"{what} '{name}' can't move: it is linked")
    if any(moved.lock_location):
        raise FabrikError(f"{what} '{name}' can't move: its location is locked")
    if bone is not None and bone.bone.use_connect and bone.parent is not None:
        raise FabrikError(f"{what} '{name}' can't move: it is connected to its parent")
    outer = obj.matrix_world if bone is not None else obj.matrix_world @ obj.matrix_basis.inverted_safe()
    basis = obj.matrix_basis.translation.copy()
    return Movable(what, moved, moved.location.copy(), obj, bone_name, basis, outer.inverted_safe())


def move_to(what: str, obj: Object, bone_name: str, position: Vector) -> tuple[Object | PoseBone, Vector]:
    """WRITE: move an object or a bone's head to a position in the world; return what was moved, and its old location.

    Raises:
        FabrikError: it can't move; then nothing has changed.
    """
    found = movable(what, obj, bone_name)
    found.moved.location = found.location_at(position)
    return found.moved, found.before


def scale_of(matrix: Matrix) -> float:
    """Return the mean scale of a matrix: the cube root of the factor by which it changes volumes."""
    return abs(matrix.determinant()) ** (1.0 / 3.0)
