# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The location channel with which an object, or a bone's head, is at a position in the world, and its own rotation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mathutils import Matrix, Quaternion, Vector

from ...core import FabrikError
from ..bones.overrides import is_active
from ..bones.rotation_channel import angle_between, has_locks, rotation_in_armature, rotation_of
from ..rig.dependencies import moved_by
from ..rig.targets_and_poles import position_in_world

if TYPE_CHECKING:
    from bpy.types import Constraint, Object, PoseBone

AT_GOAL = 1e-4
"""Distance over chain length, and angle in radians, within which a target has its desired position and rotation."""

_ROTATION_ROUNDS = 40
"""Bound on the rounds of the fixed-point iteration for a target's own rotation: with an armature whose parent's scales
differ by a factor of 3 it took up to 25 where it converged."""

_ROTATION_FOUND = 2e-6
"""Angle (radians) that is left, below which the iteration has converged."""

_CARRYING = {'FOLLOW_PATH', 'CLAMP_TO', 'ARMATURE', 'OBJECT_SOLVER', 'FOLLOW_TRACK'}
"""Constraints that rotate and scale the way by which their owner is moved, as a parent does."""

_LIMITING = {'LIMIT_LOCATION', 'LIMIT_DISTANCE', 'FLOOR'}
"""Constraints that leave their owner where it is, up to a limit."""

_CARRYING_BEFORE = {'COPY_TRANSFORMS', 'ACTION'}
"""Those that do where they are mixed in before the owner's own transform."""


@dataclass(frozen=True)
class MovedGoal:
    """A target or pole of a chain that is to be moved."""

    what: str
    """Name of the target or pole in messages, such as "Chain 'arm': its target"."""
    obj: Object
    bone_name: str
    """Of the target's bone; empty where the object itself is the target."""
    length: float
    """Of the chain, in the world."""

    @property
    def owner(self) -> Object | PoseBone:
        """The object or bone that is moved."""
        return self.obj.pose.bones[self.bone_name] if self.bone_name else self.obj

    def is_at(self, obj: Object, position: Vector) -> bool:
        """Tell whether the target is at a position in the world, to ``AT_GOAL``.

        Args:
            obj: its object, as it is evaluated.
            position: in the world.
        """
        return (position_in_world(obj, self.bone_name, "target") - position).length <= AT_GOAL * self.length

    def is_rotated(self, obj: Object, rotation: Quaternion, armature: Object, left: float = 0.0) -> bool:
        """Tell whether the target has a rotation, to ``AT_GOAL``.

        Args:
            obj: its object, as it is evaluated.
            rotation: in the armature's space.
            armature: evaluated.
            left: angle (radians) by which ``rotation_at`` came only near to the rotation.
        """
        return angle_between(rotation_in_armature(armature, obj, self.bone_name), rotation) <= AT_GOAL + left


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
    place: Vector
    """Where it was then, in the world; without the limits of its constraints, where it has no others that move it."""
    unconstrained: Matrix
    """A bone's matrix then, in armature space, without its constraints; the unit matrix of an object."""
    to_own: Matrix
    """From a way in the world to that in the space of an object's basis matrix, or of an armature: 3 by 3, without what
    constraints do to it."""

    def location_at(self, position: Vector) -> Vector:
        """Return the location channel for a position in the world; that which was read where the position is the same.

        Raises:
            FabrikError: there is none, because a matrix is singular or not finite.
        """
        way = self.to_own @ (position - self.place)
        if not any(way[:]):
            return self.before
        if self.bone_name:
            matrix = self.unconstrained.copy()
            matrix.translation += way
            bone = self.obj.pose.bones[self.bone_name]
            new = self.obj.convert_space(pose_bone=bone, matrix=matrix, from_space='POSE', to_space='LOCAL').translation
        else:
            new = self.before + way
        if not math.isfinite(sum(new[:])):
            name = self.bone_name or self.obj.name
            reason = "its rotation or scale, or its parent's, is not a finite number"
            raise FabrikError(f"{self.what} '{name}' can't move: {reason}")
        return new


def movable(what: str, obj: Object, bone_name: str, armature: Object | None = None) -> Movable:
    """READ: an object or a bone that is to be moved.

    Args:
        what: it is, for messages.
        obj: object, evaluated since it was changed.
        bone_name: of one of its bones, or empty.
        armature: whose chain's target or pole it is; one with which the armature moves never comes nearer to the chain.

    Raises:
        FabrikError: it can't move, or it is the armature itself or something that the armature follows.
    """
    if armature is not None and (obj, bone_name) in moved_by(armature):
        raise FabrikError(f"{what} '{bone_name or obj.name}' can't move: '{armature.name}' moves with it")
    bone = obj.pose.bones[bone_name] if bone_name else None
    moved: Object | PoseBone = obj if bone is None else bone
    name = bone_name or obj.name
    if obj.library is not None:
        raise FabrikError(f"{what} '{name}' can't move: it is linked")
    if any(moved.lock_location):
        raise FabrikError(f"{what} '{name}' can't move: its location is locked")
    if bone is not None and bone.bone.use_connect:
        raise FabrikError(f"{what} '{name}' can't move: it is connected")
    active = [constraint for constraint in moved.constraints if is_active(constraint)]
    own, outer = _outside_of(obj, bone, bool(active))
    place, world = outer @ own.translation, obj.matrix_world if bone is None else obj.matrix_world @ bone.matrix
    if any(_carries(constraint) for constraint in active):
        outer = world @ own.inverted_safe()
    elif any(constraint.type in _LIMITING for constraint in active):
        world = Matrix.Translation(place)
    unconstrained = Matrix() if bone is None else own
    to_own = outer.to_3x3().inverted_safe()
    return Movable(what, moved, moved.location.copy(), obj, bone_name, world.to_translation(), unconstrained, to_own)


def _outside_of(obj: Object, bone: PoseBone | None, is_constrained: bool) -> tuple[Matrix, Matrix]:
    """Return the matrix of an object's or a bone's own channels, and the one from its space to the world.

    Neither has what constraints do. An object's space is that of its parent and its parent inverse, a bone's that of
    the armature, where its own matrix has its parents and its rest pose.
    """
    if bone is not None:
        own = obj.convert_space(pose_bone=bone, matrix=bone.matrix_basis, from_space='LOCAL', to_space='POSE')
        return own, obj.matrix_world
    own, world = obj.matrix_basis, obj.matrix_world
    if obj.parent is None:
        return own, Matrix()
    if not is_constrained:
        return own, world @ own.inverted_safe()
    # The local matrix has the constraints too, so they cancel; but not what deforms a parent's vertices or path.
    return own, world @ obj.matrix_local.inverted_safe() @ obj.matrix_parent_inverse


def _carries(constraint: Constraint) -> bool:
    """Tell whether an active constraint rotates and scales the way by which its owner is moved.

    These are the ones that Blender's own move operator takes account of. One that rotates its owner where it is, as
    Copy Rotation and Track To do, says nothing of where it goes.
    """
    if constraint.type == 'CHILD_OF':
        return all(getattr(constraint, f"use_location_{axis}") for axis in "xyz")
    if constraint.type in _CARRYING_BEFORE:
        return constraint.mix_mode in {'BEFORE', 'BEFORE_FULL'}  # type: ignore[attr-defined]
    return constraint.type in _CARRYING


def move_to(what: str, obj: Object, bone_name: str, position: Vector) -> tuple[Object | PoseBone, Vector]:
    """WRITE: move an object or a bone's head to a position in the world; return what was moved, and its old location.

    Raises:
        FabrikError: it can't move; then nothing has changed.
    """
    found = movable(what, obj, bone_name)
    found.moved.location = found.location_at(position)
    return found.moved, found.before


def check_rotates(what: str, owner: Object | PoseBone) -> None:
    """Check that an object or a bone may be rotated: a lock keeps its values, and auto-keying leaves them out.

    Raises:
        FabrikError: some of its rotation is locked.
    """
    if has_locks(owner):
        raise FabrikError(f"{what} '{owner.name}' can't rotate: its rotation is locked")


def rotation_at(obj: Object, bone_name: str, to_armature: Matrix, desired: Quaternion) -> tuple[Quaternion, float]:
    """Return the own rotation with which an object or a bone has a desired rotation in an armature's space.

    With it comes the angle (radians) that is left to the desired one.

    With ``A`` what acts before the own rotation ``q`` (parents, constraints of the parents), ``D`` an object's delta
    rotation and ``S`` its scale, the rotation in the armature's space is that of the matrix ``A D q S``. Where ``A``
    scales evenly one round ``q <- q rotation(A D q S)^-1 desired`` solves it. Under an uneven scale the rotation of a
    sheared matrix isn't a product of rotations: the rounds are then a fixed-point iteration. For some desired rotations
    there is no fixed point: the rotation that Blender reads from sheared axes jumps. The best round is returned.

    Args:
        obj: evaluated since it was changed.
        bone_name: of one of its bones, or empty.
        to_armature: from the world into the armature's space.
        desired: in the armature's space.
    """
    bone = obj.pose.bones[bone_name] if bone_name else None
    owner = obj if bone is None else bone
    own = rotation_of(owner)
    basis, matrix = owner.matrix_basis, obj.matrix_world if bone is None else obj.matrix_world @ bone.matrix
    outer = (to_armature @ matrix @ basis.inverted_safe()).to_3x3()
    delta, scale = basis.to_quaternion() @ own.conjugated(), Matrix.Diagonal(basis.to_scale())
    best, least = own, math.inf
    for _ in range(_ROTATION_ROUNDS):
        # The quaternion that Blender reads from sheared axes isn't of length 1: the rounds ended 3e-3 off.
        found = (outer @ (delta @ own).to_matrix() @ scale).to_quaternion().normalized()
        off = angle_between(found, desired)
        if off < least:
            best, least = own, off
        if off < _ROTATION_FOUND:
            break
        own = (own @ found.conjugated() @ desired).normalized()
    return best, least


def scale_of(matrix: Matrix) -> float:
    """Return the mean scale of a matrix: the cube root of the factor by which it changes volumes."""
    return abs(matrix.determinant()) ** (1.0 / 3.0)
