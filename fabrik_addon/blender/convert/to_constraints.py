# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: chains as Blender's own IK constraints. The chains are disabled, and not removed."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from bpy.types import KinematicConstraint

from ...core import FabrikError
from ...core.goals.pole_angle import from_blender, is_straight, to_blender
from ..animation.animated_settings import animated_paths
from ..animation.carried_animation import (
    can_carry_switch,
    carry_curve,
    carry_driver,
    carry_inverted_driver,
    check_own_curves,
    driver_of,
    is_in_nla,
    mute_curve,
    mute_driver,
)
from ..bones.overrides import is_posed_by_native_rig
from ..rig.chain_bones import bones_of_chain, bones_of_chains, spec_of
from ..rig.library_items import LOST_DRIVERS, loses_drivers
from ..rig.properties import FabrikChain, chosen_chains, settings_of
from ..rig.targets_and_poles import armature_to_world, position_in_world
from ..rig.wording import plain
from ..solving.stored_values import kept_values
from .conversion_record import SHARED_SETTINGS, carry_influence, record_of, undo_conversion
from .to_chains import (
    INFLUENCE_IN_NLA,
    SWITCHED,
    Conversion,
    check_goals,
    goals_of,
    is_same,
    motion_messages,
    start_of,
)

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone, ViewLayer

_MOST_OFF_TAIL = 0.01
"""Distance from the last bone's tail to the tip's head, over the chain's length, up to which a chain is converted."""

_SAME_POLE_ANGLE = 1e-3
"""Difference in radians below which two pole angles are the same."""

_BLENDER_IK_ERROR = 1e-2
"""Distance over a bone's length above which a bone is reported as moved: Blender's own IK is less precise than that."""


def chains_to_constraints(view_layer: ViewLayer, armature: Object, chains: Sequence[FabrikChain]) -> Conversion:
    """Give the tip bone of each chain an IK constraint, and disable the chain.

    A constraint with the same bones, target and pole is used again, with its animation and its drivers.

    Raises:
        FabrikError: there are no chains, or none of them can be a constraint; then nothing has changed.
    """
    view_layer.update()
    if not chains:
        raise FabrikError(f"'{armature.name}' has no chain to convert: all of them are converted already")
    result = Conversion()
    before = {bone.name: bone.matrix.copy() for bone in armature.pose.bones}
    keyed = animated_paths(armature)
    unsolved = []
    with kept_values(view_layer):
        for chain in chains:
            reason = _reason_against(view_layer, armature, chain)
            if reason:
                result.not_carried.append(f"Chain '{chain.name}' stays as it is: {reason}")
                continue
            unsolved += _distance_messages(armature, chain) if chain.enabled else []
            used = _constraint_for(armature, chain)
            constraint = used or armature.pose.bones[chain.tip].constraints.new('IK')
            _write_settings(armature, chain, constraint, keyed, is_new=used is None)
            result.converted.append(chain.name)
            messages = _unsupported(armature, chain) + _activate_constraint(armature, chain, constraint)
            result.not_carried += [f"Chain '{chain.name}': {message}" for message in messages]
    if not result.converted:
        raise FabrikError("; ".join(result.not_carried))
    converted = [settings_of(armature).chains[name] for name in result.converted]
    others = (chain for chain in settings_of(armature).chains if chain.enabled)
    undo_conversion(armature, converted, bones_of_chains(armature, others))
    view_layer.update()
    rotated = [bone for each in converted for bone in bones_of_chain(armature, each)]
    moved = motion_messages(armature, before, _BLENDER_IK_ERROR, rotated)
    result.not_carried += unsolved if moved and unsolved else moved
    return result


def chains_to_convert(armature: Object, only_active: bool = False) -> list[FabrikChain]:
    """Return the chains of an armature that aren't converted yet: all but disabled chains with an active constraint.

    Args:
        only_active: the active chain alone.

    Raises:
        FabrikError: there is no active chain.
    """
    chains = chosen_chains(armature, only_active=True) if only_active else settings_of(armature).chains
    return [chain for chain in chains if chain.enabled or not _is_converted(armature, chain)]


def _is_converted(armature: Object, chain: FabrikChain) -> bool:
    return any(not by.mute for by in _constraints_like(armature, chain))


def _constraints_like(armature: Object, chain: FabrikChain) -> list[KinematicConstraint]:
    """Return the IK constraints of a chain's tip bone with the same bones, target and pole."""
    bone = armature.pose.bones.get(chain.tip)
    if bone is None:
        return []
    return [by for by in bone.constraints if isinstance(by, KinematicConstraint) and is_same(chain, bone, by)]


def _reason_against(view_layer: ViewLayer, armature: Object, chain: FabrikChain) -> str:
    """Return why a chain can't be a constraint; empty where it can."""
    if chain.use_pin:
        return "it is pinned, and a constraint needs a target"
    if chain.target is None:
        return "it has no target, and a constraint needs one"
    if not can_carry_switch(armature, chain.path_from_id("enabled")):
        return SWITCHED
    try:
        start_of(armature, spec_of(chain))
        used = _constraint_for(armature, chain)
        theirs = [used.path_from_id("influence")] if used is not None and record_of(chain).keyed_in else []
        check_own_curves(armature, [*theirs, *(chain.path_from_id(name) for name in ("influence", "enabled"))])
        armature_to_world(armature)
        bones = bones_of_chain(armature, chain)
        if used is None and not chain.use_tail and not _ends_at_a_tail(armature, chain, bones):
            return f"Blender's IK would end at the tail of '{bones[-1].name}', not at the head of '{chain.tip}'"
        if any(map(is_posed_by_native_rig, bones)):
            return "a native rig poses its bones: remove the rig first"
        check_goals(view_layer, bones[0], goals_of(chain))
    except FabrikError as error:
        return str(error)
    return ""


def _ends_at_a_tail(armature: Object, chain: FabrikChain, bones: Sequence[PoseBone]) -> bool:
    """Tell whether the tail of a chain's last bone is where the chain ends, at the head of its tip.

    Without *Use Tail* Blender's IK brings the tail of the tip's parent to the target. Where bones point across a limb
    that is another place: limbs rotated by up to 180 degrees.
    """
    line = [*(bone.bone for bone in bones), armature.data.bones[chain.tip]]
    length = sum((after.head_local - bone.head_local).length for bone, after in pairwise(line))
    return (line[-1].head_local - line[-2].tail_local).length <= _MOST_OFF_TAIL * length


def _distance_messages(armature: Object, chain: FabrikChain) -> list[str]:
    """Return a message if a chain's tip isn't at its target in the pose at hand: the constraint finds another pose."""
    tip = armature.pose.bones[chain.tip]
    bones = bones_of_chain(armature, chain)
    target = armature_to_world(armature).inverted() @ position_in_world(chain.target, chain.subtarget, "target")
    distance = ((tip.tail if chain.use_tail else tip.head) - target).length / sum(bone.length for bone in bones)
    if distance <= _BLENDER_IK_ERROR:
        return []
    off = plain(100.0 * distance)
    return [f"Chain '{chain.name}': its tip was {off} % of its length from the target, and the constraint moves it"]


def _constraint_for(armature: Object, chain: FabrikChain) -> KinematicConstraint | None:
    """Return the constraint with the same bones, target and pole, of several one that is muted, or None."""
    return min(_constraints_like(armature, chain), key=lambda by: not by.mute, default=None)


def _write_settings(
    armature: Object, chain: FabrikChain, constraint: KinematicConstraint, keyed: Container[str], is_new: bool
) -> None:
    """WRITE: the settings of a chain into a constraint.

    Args:
        constraint: of the chain's tip bone.
        keyed: data paths of the armature's animated properties.
        is_new: whether the constraint's pole angle is meaningless, because it was made for this chain.
    """
    # A setting that nobody has changed since the constraint was converted is as it was there, even where the chain has
    # no counterpart: a constraint's stretch without a bone that stretches.
    record = record_of(chain)
    for name in SHARED_SETTINGS:
        if name != "pole_angle" and (is_new or not record.is_unchanged(chain, name)):
            setattr(constraint, name, min(chain.weight, 1.0) if name == "weight" else getattr(chain, name))
    constraint.target, constraint.subtarget = chain.target, chain.subtarget
    constraint.pole_target, constraint.pole_subtarget = chain.pole_target, chain.pole_subtarget
    root = bones_of_chain(armature, chain)[0]
    if chain.pole_target is not None and (is_new or not record.is_pole_angle_unchanged(chain, root, keyed)):
        start = start_of(armature, spec_of(chain))
        # A pole angle with the same meaning is kept: repeated conversions would add up rounding errors. While the chain
        # is straight its pole has no direction to compare, so the constraint's angle is kept then, too.
        off = math.remainder(from_blender(start, constraint.pole_angle) - chain.pole_angle, math.tau)
        if is_new or (abs(off) > _SAME_POLE_ANGLE and not is_straight(start)):
            pole_world = position_in_world(chain.pole_target, chain.pole_subtarget, "pole")
            pole = np.array((armature_to_world(armature).inverted() @ pole_world)[:])
            constraint.pole_angle = to_blender(start, chain.pole_angle, pole)


def _unsupported(armature: Object, chain: FabrikChain) -> list[str]:
    """Return messages for the settings of a chain that a constraint has no counterpart for."""
    messages = []
    if chain.solver != 'FABRIK':
        messages.append("its solver")
    if chain.weight > 1.0:
        messages.append(f"its weight of {chain.weight:.3g}: a constraint has 1 at most")
    if chain.softness > 0.0:
        messages.append("its softness")
    if chain.root_motion != 'FIXED':
        messages.append("its root motion: the root of a constraint's chain is fixed")
    if chain.use_rotation and abs(chain.rotation_offset[0]) < 1.0 - 1e-6:
        messages.append("the rotation's offset: the tip rotates as the target does")
    bones = bones_of_chain(armature, chain)
    if chain.use_stretch:
        messages.append("its own bound for stretching: bones stretch by their IK Stretch")
    has_limits = any(
        getattr(bone, f"use_ik_limit_{axis}") or getattr(bone, f"lock_ik_{axis}") for bone in bones for axis in "xyz"
    )
    if not chain.use_limits and has_limits:
        messages.append("its disabled Joint Limits: the constraint keeps to the bones' limits")
    if chain.use_limits and has_limits and chain.pole_target is not None:
        messages.append("its joint limits: with a pole Blender's IK can exceed them")
    limits = {by.name for bone in bones for by in bone.constraints if by.type == 'LIMIT_ROTATION' and not by.mute}
    if chain.use_limits and limits:
        messages.append(f"its limits by {', '.join(sorted(limits))}: Blender's IK is evaluated after these")
    return messages


def _activate_constraint(armature: Object, chain: FabrikChain, constraint: KinematicConstraint) -> list[str]:
    """WRITE: unmute a constraint, disable its chain, and copy animation and drivers; return messages for what can't."""
    theirs, ours = constraint.path_from_id(), chain.path_from_id()
    is_driven = driver_of(armature, f"{theirs}.influence") is None and carry_driver(
        armature, f"{ours}.influence", f"{theirs}.influence"
    )
    carry_influence(armature, chain, chain, constraint)
    messages = [INFLUENCE_IN_NLA] if is_in_nla(armature, f"{ours}.influence") else []
    enabled, mute = f"{ours}.enabled", f"{theirs}.mute"
    if carry_curve(armature, enabled, mute, is_inverted=True):
        mute_curve(armature, enabled)  # unmuted it would enable the chain at another frame
    if driver_of(armature, mute) is not None:
        mute_driver(armature, mute, False)
    elif driver_of(armature, enabled) is not None:
        is_carried = carry_inverted_driver(armature, enabled, mute)
        is_driven |= is_carried
        if not is_carried:
            messages.append("the driver that enables it: the constraint is as the chain is now")
    constraint.mute = not chain.enabled
    driver = driver_of(armature, enabled)
    if driver is not None:
        armature.animation_data.drivers.remove(driver)
    chain.enabled = False
    return [*messages, LOST_DRIVERS] if is_driven and loses_drivers(armature) else messages
