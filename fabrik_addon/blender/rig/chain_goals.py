# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: the goals of a chain from its settings, and the bones on which they depend."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from mathutils import Matrix, Quaternion, Vector

from ...core import Array, FabrikError, Goals
from .chain_bones import ChainBones, bones_of_chain
from .dependencies import followed_bones, in_words
from .overrides import overrides_of
from .rotation_channel import is_locked
from .stretched_pose import shown_positions
from .targets_and_poles import armature_to_world, rotation_in_armature, target_position

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone, ViewLayer

    from .properties import FabrikChain


@dataclass(frozen=True)
class ReadGoals:
    """A chain's goals, and the bones of its armature on which they depend."""

    goals: Goals
    followed: frozenset[str]
    """Names of the bones that the target or the pole follows; none that move with the chain."""
    target_bone: str = ""
    """Name of the bone of the same armature whose head is the target."""
    followed_otherwise: frozenset[str] = frozenset()
    """The bones of ``followed`` without those that are followed for carrying the target bone only."""


def read_goals(
    view_layer: ViewLayer,
    armature: Object,
    settings: FabrikChain,
    bones: ChainBones,
    positions: Array,
    moving: frozenset[str],
) -> ReadGoals:
    """Return a chain's goals.

    Args:
        view_layer: evaluated, with nothing changed since.
        armature: object with the chain.
        settings: the chain's.
        bones: the chain's.
        positions: its joints (J, 3) without stretch; a pinned chain's target is where its end is.
        moving: names of the bones that move when the chain does.

    Raises:
        FabrikError: there is no target, it or the pole is nowhere, or one of them follows a bone that moves with the
            chain and isn't a parent of a target bone.
    """
    if settings.target is None and not settings.use_pin:
        raise FabrikError("it has no target: choose an object in its settings")
    to_armature = armature_to_world(armature).inverted()  # its error comes before those of targets that hang on it
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
        follows = followed_bones(obj, bone_name, armature)
        carriers: set[str] = set()
        if role == "target" and obj == armature and bone_name:
            target_bone = bone_name
            carriers = _carriers_that_may_move(armature, bone_name, bones)
        hit = next((follows[bone] for bone in follows if bone in moving - carriers), None)
        if hit is not None:
            name = in_words(obj, bone_name)
            raise FabrikError(f"its {role} {name} depends on the chain itself: it follows {hit}")
        followed |= follows.keys()
        followed_otherwise |= follows.keys() - carriers
    pole = positions_world.get("pole")
    goals = goals_at(to_armature, positions_world.get("target", Vector()), pole, settings.pole_angle)
    if settings.use_pin:
        goals = replace(goals, targets=shown_positions(bones, positions)[-1:])
    if settings.use_rotation:
        goals = replace(goals, rotations=_desired_rotation(armature, settings))
    return ReadGoals(goals, frozenset(followed - moving), target_bone, frozenset(followed_otherwise - moving))


def goals_at(
    to_armature: Matrix, target_world: Vector, pole_world: Vector | None = None, pole_angle: float = 0.0
) -> Goals:
    """Return a chain's goals, from its target and pole in the world and the matrix to armature space."""
    targets = np.array([(to_armature @ target_world)[:]])
    if pole_world is None:
        return Goals(targets)
    return Goals(targets, poles=np.array([(to_armature @ pole_world)[:]]), pole_angles=np.array([pole_angle]))


def _desired_rotation(armature: Object, settings: FabrikChain) -> Array:
    """Return the frame (1, 4) in armature space that the tip bone should take."""
    tip = armature.pose.bones[settings.tip]
    if not settings.use_tail:
        raise FabrikError("it can't take the target's rotation while it ends at a head: switch Use Tail on")
    if is_locked(tip):
        raise FabrikError(f"it can't take the target's rotation: that of bone '{settings.tip}' is locked")
    if settings.use_pin:
        return np.array([tip.matrix.to_quaternion()[:]])
    rotation = rotation_in_armature(armature, settings.target, settings.subtarget)
    return np.array([(rotation @ Quaternion(settings.rotation_offset[:]).normalized())[:]])


def _carriers_that_may_move(armature: Object, bone_name: str, bones: ChainBones) -> set[str]:
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
    """Tell whether a bone is one of a chain's own, or of another one's that is on, or starts where that one ends."""
    if bone in bones.line:
        return True
    for other in armature.fabrik.chains:  # type: ignore[attr-defined]
        try:
            turning = bones_of_chain(armature, other.tip, other.chain_count, other.use_tail)
        except FabrikError:
            continue
        starts_at_end = other.use_tail and bone.parent is not None and bone.parent.name == other.tip
        if other.enabled and (bone in turning or bone.name == other.tip or starts_at_end):
            return True
    return False
