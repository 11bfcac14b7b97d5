# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The location channel that brings an object, or a bone's head, to a place in the world."""

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
    """An object or a bone that can be moved, and what stands between its location and the world."""

    what: str
    moved: Object | PoseBone
    before: Vector
    """Its location when it was read."""
    obj: Object
    bone_name: str
    basis: Vector
    to_outer: Matrix
    """From the world to where an object's own location counts: parents, and what they were inverted with."""

    def location_at(self, position: Vector) -> Vector:
        """Return the location that brings it to a position in the world.

        Raises:
            FabrikError: there is none.
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
    """Read what it takes to move an object or a bone.

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
    """Write the location that brings an object or a bone's head to a position; return it and its location before.

    Raises:
        FabrikError: it can't move; then nothing has changed.
    """
    found = movable(what, obj, bone_name)
    found.moved.location = found.location_at(position)
    return found.moved, found.before
