# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: where targets and poles are, the goals of a chain from its settings, and the bones on which they depend."""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from mathutils import Matrix, Quaternion, Vector

from ...core import Array, FabrikError, Goals
from ..bones.overrides import Acts, is_active, overrides_of
from ..bones.rotation_channel import is_finite, is_locked, rotation_in_armature
from .chain_bones import ChainBones, ChainSettings, bones_of_chain
from .dependencies import followed_bones, in_words
from .posed_chain import PosedChain

if TYPE_CHECKING:
    from bpy.types import LayerCollection, Object, PoseBone, ViewLayer


_SINGULAR_VOLUME = 1e-6
"""Volume, over that of a box with the same edges, below which a matrix counts as singular (single precision)."""

_SMALLEST_VOLUME = 1e-30
"""Determinant below which single precision can't invert a matrix."""


@dataclass(frozen=True)
class ReadGoals:
    """A chain's goals, and the bones of its armature on which they depend."""

    goals: Goals
    followed: frozenset[str]
    """Names of the bones that the target or the pole follows; none that move with the chain."""
    target_bone: str = ""
    """Name of the bone of the same armature whose head is the target."""
    followed_otherwise: frozenset[str] = frozenset()
    """The bones of ``followed`` without the target bone and its parents, where these may move with the chain
    (``_supporting_bones_that_may_move``)."""


def read_goals(
    view_layer: ViewLayer,
    armature: Object,
    settings: ChainSettings,
    posed: PosedChain,
    moving: frozenset[str],
    acts: Acts = is_active,
) -> ReadGoals:
    """Return a chain's goals.

    Args:
        view_layer: evaluated, with nothing changed since.
        posed: the chain; if it is pinned, its target is where its end is.
        moving: names of the bones that move when the chain does.
        acts: which constraints count.

    Raises:
        FabrikError: the armature isn't evaluated, there is no target, target or pole have no finite position, or one
            of them follows a bone that moves with the chain and isn't a parent of a target bone.
    """
    if settings.target is None and not settings.use_pin:
        raise FabrikError("it has no target: choose an object in its settings")
    # Errors of the armature come before those of targets that hang on it.
    check_evaluated(view_layer, armature, f"the object '{armature.name}'")
    to_armature = armature_to_world(armature).inverted()
    roles = [] if settings.use_pin else [("target", settings.target, settings.subtarget)]
    if settings.pole_target is not None:
        roles.append(("pole", settings.pole_target, settings.pole_subtarget))
        if not math.isfinite(settings.pole_angle):
            raise FabrikError("its pole angle is not a finite number")
    positions_world: dict[str, Vector] = {}
    followed: set[str] = set()
    followed_otherwise: set[str] = set()
    target_bone = ""
    for role, obj, bone_name in roles:
        positions_world[role] = target_position(view_layer, obj, bone_name, role)
        follows = followed_bones(obj, bone_name, armature, acts)
        supporting: set[str] = set()
        if role == "target" and obj == armature and bone_name:
            target_bone = bone_name
            supporting = _supporting_bones_that_may_move(armature, bone_name, posed.bones)
        check_independent(role, in_words(obj, bone_name), follows, moving - supporting)
        followed |= follows.keys()
        followed_otherwise |= follows.keys() - supporting
    pole = positions_world.get("pole")
    goals = goals_at(to_armature, positions_world.get("target", Vector()), pole, settings.pole_angle)
    if settings.use_pin:
        goals = replace(goals, targets=posed.joints[-1:])
    if settings.use_rotation:
        goals = replace(goals, rotations=_desired_rotation(armature, settings))
    return ReadGoals(goals, frozenset(followed - moving), target_bone, frozenset(followed_otherwise - moving))


def check_independent(role: str, name: str, follows: Mapping[str, str], moving: Set[str]) -> None:
    """Check that a target or pole follows no bone that moves with its chain.

    Args:
        role: "target" or "pole".
        name: of the target or pole, in words.
        follows: the bones of the chain's armature on which it depends, as ``followed_bones`` returns them.
        moving: names of the bones that move with the chain.

    Raises:
        FabrikError: it does, and which bone it follows.
    """
    hit = next((follows[bone] for bone in follows if bone in moving), None)
    if hit is not None:
        raise FabrikError(f"its {role} {name} depends on the chain itself: it follows {hit}")


def shown_goals(view_layer: ViewLayer, armature: Object, settings: ChainSettings, goals: Goals) -> Goals:
    """Return the goals of a chain that were read before, with its target and its pole where they are now.

    A pinned chain holds its end where it was.

    Raises:
        FabrikError: target or pole have no finite position any more.
    """
    to_armature = armature_to_world(armature).inverted()
    if not settings.use_pin:
        target = target_position(view_layer, settings.target, settings.subtarget, "target")
        goals = replace(goals, targets=np.array([(to_armature @ target)[:]]))
        if settings.use_rotation:
            goals = replace(goals, rotations=_desired_rotation(armature, settings))
    if settings.pole_target is not None:
        pole = target_position(view_layer, settings.pole_target, settings.pole_subtarget, "pole")
        goals = replace(goals, poles=np.array([(to_armature @ pole)[:]]))
    return goals


def goals_at(
    to_armature: Matrix, target_world: Vector, pole_world: Vector | None = None, pole_angle: float = 0.0
) -> Goals:
    """Return a chain's goals, from its target and pole in the world and the matrix to armature space."""
    targets = np.array([(to_armature @ target_world)[:]])
    if pole_world is None:
        return Goals(targets)
    return Goals(targets, poles=np.array([(to_armature @ pole_world)[:]]), pole_angles=np.array([pole_angle]))


def _desired_rotation(armature: Object, settings: ChainSettings) -> Array:
    """Return the frame (1, 4) in armature space that the tip bone should take."""
    tip = armature.pose.bones[settings.tip]
    if not settings.use_tail:
        raise FabrikError("it can't take the target's rotation while it ends at a head: enable Use Tail")
    if is_locked(tip):
        raise FabrikError(f"it can't take the target's rotation: that of bone '{settings.tip}' is locked")
    if settings.use_pin:
        return np.array([tip.matrix.to_quaternion()[:]])
    rotation = offset_rotation(armature, settings)
    if not math.isfinite(rotation.w):
        target = in_words(settings.target, settings.subtarget)
        raise FabrikError(f"its target {target} has a rotation that is not a finite number")
    return np.array([rotation[:]])


def offset_rotation(armature: Object, settings: ChainSettings) -> Quaternion:
    """Return the rotation of a chain's target in armature space, with the chain's offset; not finite if it isn't."""
    target = rotation_in_armature(armature, settings.target, settings.subtarget)
    return target @ Quaternion(settings.rotation_offset[:]).normalized()


def _supporting_bones_that_may_move(armature: Object, bone_name: str, bones: ChainBones) -> set[str]:
    """Return a target bone and its parents if they may move with the chain: then it is met where it comes to be.

    They may not if the chain's end carries it, for then no pose brings the end nearer; if it isn't a bone of a chain;
    or if a constraint or driver comes after its channels, because then no solver can compute where it moves.
    """
    bone = armature.pose.bones.get(bone_name)
    if bone is None:
        return set()
    line = [bone, *bone.parent_recursive]
    is_at_end = bones.bones[-1] in line
    if is_at_end or not _is_of_a_chain(armature, bone, bones) or overrides_of(armature, line, use_limits=True):
        return set()
    return {link.name for link in line}


def _is_of_a_chain(armature: Object, bone: PoseBone, bones: ChainBones) -> bool:
    """Tell whether a bone belongs to a chain with these bones, or to another enabled chain of the armature.

    To an enabled chain belong also its tip bone, and the bones that start at the tail at which the chain ends.
    """
    if bone in bones.line:
        return True
    for other in armature.fabrik.chains:  # type: ignore[attr-defined]
        try:
            rotating = bones_of_chain(armature, other)
        except FabrikError:
            continue
        starts_at_end = other.use_tail and bone.parent is not None and bone.parent.name == other.tip
        if other.enabled and (bone in rotating or bone.name == other.tip or starts_at_end):
            return True
    return False


def armature_to_world(armature: Object) -> Matrix:
    """Return the matrix from an armature's space to the world, checked to have an inverse.

    Raises:
        FabrikError: the object's matrix isn't finite, or is singular (a scale of 0): it has no inverse.
    """
    matrix = armature.matrix_world
    if not is_finite(matrix):
        raise FabrikError(f"the object '{armature.name}' has a position that is not a finite number")
    edges = math.prod(column.length for column in matrix.to_3x3().col)
    if abs(matrix.determinant()) <= max(_SINGULAR_VOLUME * edges, _SMALLEST_VOLUME):
        raise FabrikError(f"the object '{armature.name}' has a scale of 0")
    return matrix


def check_evaluated(view_layer: ViewLayer, obj: Object, named: str) -> None:
    """Check that Blender evaluates an object: otherwise its matrix and its bones are where they were long ago.

    Args:
        view_layer: the one that was evaluated last.
        obj: also as it is evaluated at a frame.
        named: the object in the message.

    Raises:
        FabrikError: it doesn't, and why.
    """
    # Objects from different files may have the same name.
    known: Object = obj.original  # type: ignore[assignment]  # the stub has the base class of all data-blocks
    if view_layer.objects.get(known.name) != known and known not in view_layer.objects.values():
        if not obj.users_scene:
            raise FabrikError(f"{named} is in no scene: it was deleted, or isn't linked there")
        raise FabrikError(f"{named} is not in the view layer '{view_layer.name}'")
    is_there = known.visible_get(view_layer=view_layer) or _is_evaluated(known, view_layer.layer_collection)
    if not is_there or obj.hide_viewport:
        raise FabrikError(
            f"{named} is disabled in viewports, so Blender doesn't compute where it is: "
            "enable it, or its collection, and hide it with the eye"
        )


def target_position(view_layer: ViewLayer, target: Object, bone_name: str, role: str) -> Vector:
    """Return where an object, or the head of one of its bones, is in the world.

    Args:
        view_layer: the one that was evaluated last.
        target: an object.
        bone_name: of a bone, if the object is an armature; empty for the object itself.
        role: "target" or "pole", for messages.

    Raises:
        FabrikError: the object is deleted or not evaluated, it has no such bone, or its position isn't finite.
    """
    check_evaluated(view_layer, target, f"its {role} '{target.name}'")
    position = position_in_world(target, bone_name, role)
    if not math.isfinite(sum(position[:])):
        raise FabrikError(f"its {role} {in_words(target, bone_name)} has a position that is not a finite number")
    return position


def position_in_world(target: Object, bone_name: str, role: str) -> Vector:
    """Return where an object, or the head of one of its bones, is; the arguments are those of ``target_position``."""
    if not bone_name:
        return target.matrix_world.translation.copy()
    if target.type != 'ARMATURE':
        raise FabrikError(f"its {role} '{target.name}' is not an armature, so it has no bone '{bone_name}'")
    bone = target.pose.bones.get(bone_name)
    if bone is None:
        raise FabrikError(f"its {role} '{target.name}' has no bone '{bone_name}'")
    return target.matrix_world @ bone.matrix.translation


def _is_evaluated(obj: Object, layer_collection: LayerCollection) -> bool:
    """Tell whether Blender evaluates an object: also if it is hidden, but not if it is disabled in viewports."""
    collection = layer_collection.collection
    if layer_collection.exclude or collection.hide_viewport or obj.hide_viewport:
        return False
    return obj in collection.objects.values() or any(_is_evaluated(obj, child) for child in layer_collection.children)
