# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: chains as Blender's own IK constraints. The chains are switched off, and stay."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...core import FabrikError
from ...core.goals.pole_angle import from_blender, is_straight, to_blender
from ..animation.carried_animation import (
    carry_curve,
    carry_driver,
    carry_inverted_driver,
    driver_of,
    mute_curve,
    mute_driver,
)
from ..rig.chain_bones import bones_of_chain
from ..rig.properties import FabrikChain, settings_of
from ..rig.targets import armature_to_world, position_in_world
from .to_chains import Conversion, is_same, moved_bones, start_of

if TYPE_CHECKING:
    from bpy.types import KinematicConstraint, Object, ViewLayer


_SAME_ANGLE = 1e-3
"""Radians between pole angles that are taken for the same."""


_IMPRECISION = 1e-2
"""Distance over a bone's length by which Blender's own IK misses, and then some."""


def chains_to_constraints(view_layer: ViewLayer, armature: Object, chains: Sequence[FabrikChain]) -> Conversion:
    """Give the tip bone of each chain an IK constraint, and switch the chain off.

    A muted constraint with the same bones, target and pole is taken again, with what animates and drives it.

    Args:
        view_layer: the armature's.
        armature: object with the chains.
        chains: to be converted.

    Raises:
        FabrikError: there are none, or none of them can be a constraint; then nothing has changed.
    """
    view_layer.update()
    if not chains:
        raise FabrikError(f"'{armature.name}' has no chain to convert: its constraints do their work already")
    result = Conversion()
    before = {bone.name: bone.matrix.copy() for bone in armature.pose.bones}
    for chain in chains:
        reason = _why_not(armature, chain)
        if reason:
            result.not_carried.append(f"Chain '{chain.name}' stays as it is: {reason}")
            continue
        used = _constraint_for(armature, chain)
        constraint = used or armature.pose.bones[chain.tip].constraints.new('IK')
        _set(armature, chain, constraint, is_new=used is None)
        result.converted.append(chain.name)
        result.not_carried += [f"Chain '{chain.name}': {what}" for what in _losses(armature, chain)]
        lost = _switch_over(armature, chain, constraint)
        result.not_carried += [f"Chain '{chain.name}': {what}" for what in lost]
    if not result.converted:
        raise FabrikError("; ".join(result.not_carried))
    view_layer.update()
    result.not_carried += moved_bones(armature, before, _IMPRECISION)
    return result


def chains_to_convert(armature: Object) -> list[FabrikChain]:
    """Return the chains of an armature but those that are switched off and whose constraints are at work."""
    return [chain for chain in settings_of(armature).chains if chain.enabled or not _is_done(armature, chain)]


def _is_done(armature: Object, chain: FabrikChain) -> bool:
    bone = armature.pose.bones.get(chain.tip)
    return bone is not None and any(
        by.type == 'IK' and not by.mute and is_same(chain, bone, by) for by in bone.constraints
    )


def _why_not(armature: Object, chain: FabrikChain) -> str:
    """Say why a chain can't be a constraint; empty where it can."""
    if chain.use_pin:
        return "it is pinned, and a constraint goes where its target is"
    if chain.target is None:
        return "it has no target, and a constraint does nothing without"
    try:
        start_of(armature, chain.tip, chain.chain_count, chain.use_tail)
        if chain.pole_target is not None:
            armature_to_world(armature)
            position_in_world(chain.pole_target, chain.pole_subtarget, "pole")
    except FabrikError as error:
        return str(error)
    return ""


def _constraint_for(armature: Object, chain: FabrikChain) -> KinematicConstraint | None:
    """Return the muted constraint that means the same, if there is one."""
    bone = armature.pose.bones[chain.tip]
    for constraint in bone.constraints:
        if constraint.type == 'IK' and constraint.mute and is_same(chain, bone, constraint):
            return constraint
    return None


def _set(armature: Object, chain: FabrikChain, constraint: KinematicConstraint, is_new: bool) -> None:
    constraint.target, constraint.subtarget = chain.target, chain.subtarget
    constraint.use_tail = chain.use_tail
    constraint.chain_count = chain.chain_count
    constraint.use_rotation = chain.use_rotation
    constraint.influence = chain.influence
    constraint.use_stretch = chain.use_stretch
    constraint.weight = min(chain.weight, 1.0)
    constraint.pole_target, constraint.pole_subtarget = chain.pole_target, chain.pole_subtarget
    if chain.pole_target is not None:
        start = start_of(armature, chain.tip, chain.chain_count, chain.use_tail)
        # An angle that means the same is the rigger's own: it isn't worn down by conversions there and back. Whether
        # it does can't be told while the chain is straight.
        off = math.remainder(from_blender(start, constraint.pole_angle) - chain.pole_angle, math.tau)
        if is_new or (abs(off) > _SAME_ANGLE and not is_straight(start)):
            pole_world = position_in_world(chain.pole_target, chain.pole_subtarget, "pole")
            pole = np.array((armature_to_world(armature).inverted() @ pole_world)[:])
            constraint.pole_angle = to_blender(start, chain.pole_angle, pole)


def _losses(armature: Object, chain: FabrikChain) -> list[str]:
    """Say what a constraint can't do of what a chain is set to."""
    losses = []
    if chain.solver != 'FABRIK':
        losses.append("its solver")
    if chain.weight > 1.0:
        losses.append(f"its weight of {chain.weight:.3g}: a constraint has 1 at most")
    if chain.softness > 0.0:
        losses.append("its softness")
    if chain.root_motion != 'FIXED':
        losses.append("its root, which stays where it is")
    if chain.use_rotation and abs(chain.rotation_offset[0]) < 1.0 - 1e-6:
        losses.append("the rotation's offset: the tip turns as the target does")
    bones = bones_of_chain(armature, chain.tip, chain.chain_count, chain.use_tail)
    if chain.use_stretch:
        losses.append("its own bound for stretching: bones stretch by their IK Stretch")
    has_limits = any(
        getattr(bone, f"use_ik_limit_{axis}") or getattr(bone, f"lock_ik_{axis}") for bone in bones for axis in "xyz"
    )
    if not chain.use_limits and has_limits:
        losses.append("that it leaves joint limits out: the constraint keeps to them")
    if chain.use_limits and has_limits and chain.pole_target is not None:
        losses.append("its keeping to joint limits: with a pole Blender's IK can leave them")
    limits = {by.name for bone in bones for by in bone.constraints if by.type == 'LIMIT_ROTATION' and not by.mute}
    if chain.use_limits and limits:
        losses.append(f"its keeping to {', '.join(sorted(limits))}: Blender's IK comes after")
    return losses


def _switch_over(armature: Object, chain: FabrikChain, constraint: KinematicConstraint) -> list[str]:
    """Switch the chain off and the constraint on, with what animates and drives them; say what can't be."""
    theirs, ours = constraint.path_from_id(), chain.path_from_id()
    if driver_of(armature, f"{theirs}.influence") is None:
        carry_driver(armature, f"{ours}.influence", f"{theirs}.influence")
    carry_curve(armature, f"{ours}.influence", f"{theirs}.influence")
    switch, mute = f"{ours}.enabled", f"{theirs}.mute"
    lost = []
    if carry_curve(armature, switch, mute, is_inverted=True):
        mute_curve(armature, switch)  # or it would switch on what is switched off here
    if driver_of(armature, mute) is not None:
        mute_driver(armature, mute, False)
    elif driver_of(armature, switch) is not None and not carry_inverted_driver(armature, switch, mute):
        lost.append("the driver that switches it: the constraint is as the chain is now")
    constraint.mute = not chain.enabled
    driver = driver_of(armature, switch)
    if driver is not None:
        armature.animation_data.drivers.remove(driver)
    chain.enabled = False
    return lost
