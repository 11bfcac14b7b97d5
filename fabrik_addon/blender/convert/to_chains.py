# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: Blender's IK constraints as chains with the same meaning. The constraints are muted, and no bone moves.

1. Each constraint that a chain can replace: the rotations of its bones are unlocked, because Blender's IK ignores
   locks and a chain keeps to them; its settings, keys and drivers are copied to a chain; it is muted.
2. A constraint changes the evaluated pose and not the channels; a solve writes channels. So the evaluated pose of the
   bones that the constraints rotated is written into their channels (``constrained_pose``).
3. What can't be the same is reported: settings without a counterpart, bones that have moved, chains that can't be
   solved, and chains whose first solve rotates a bone visibly.
4. The old locks and channels are stored with each chain (``conversion_record``).
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from bpy.types import KinematicConstraint
from mathutils import Matrix, Vector

from ...core import FabrikError, Pose
from ...core.goals.pole_angle import from_blender
from ..animation.animated_settings import animated_paths, switched_constraints
from ..animation.carried_animation import (
    can_carry_switch,
    carry_curve,
    carry_driver,
    carry_inverted_driver,
    check_own_curves,
    curve_of,
    driver_of,
    is_in_nla,
    mute_curve,
    mute_driver,
)
from ..bones.armature_bones import ArmatureBones
from ..bones.bone_kinematics import pose_matrices, rotates_rigidly
from ..bones.overrides import Acts, is_active
from ..bones.rotation_channel import channel_name, has_locks
from ..rig.chain_bones import ChainSpec, armature_of, read_bones, read_pose
from ..rig.dependencies import followed_bones, in_words
from ..rig.keep_bend import keep_shape
from ..rig.last_results import forget_result
from ..rig.library_items import LOST_DRIVERS, loses_drivers
from ..rig.properties import FabrikChain, settings_of
from ..rig.snapshot import take_snapshot
from ..rig.targets_and_poles import check_independent, target_position
from ..rig.wording import listed, plain
from ..solving.chain_groups import take_groups
from ..solving.solve_chains import solve_group
from ..solving.stored_values import kept_values
from ..solving.write_channels import restore_channels
from .constrained_pose import write_pose
from .conversion_record import Lock, carry_influence, record_of, store_record

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone, ViewLayer

Goal: TypeAlias = "tuple[str, Object, str]"
"""Target or pole: its role, "target" or "pole", the object, and the name of the bone."""

_CHANGED_POSE = 1e-4
"""Distance over a bone's length above which a conversion is reported to have moved the bone."""

_VISIBLE_ROTATION = math.radians(1.0)
"""Rotation of a bone that is visible, and more than the imprecision of Blender's own IK."""

SWITCHED = "NLA strips or modifiers of F-curves switch it on and off, which can't be carried over"
"""Why a constraint or a chain stays as it is: converted, it would be switched on again beside what was made of it."""

INFLUENCE_IN_NLA = "NLA strips animate its influence, which stays as it is now"

_DEFAULT_ITERATIONS = 500
"""Iterations of a new IK constraint: only another number is a choice of the rig's author."""


@dataclass
class Conversion:
    """The result of a conversion."""

    converted: list[str] = field(default_factory=list)
    """Names of the chains."""
    not_carried: list[str] = field(default_factory=list)
    """One message for each setting without a counterpart, and for each motion that the conversion has caused."""
    changed: list[tuple[PoseBone, str]] = field(default_factory=list)
    """Bones with the names of their channels that were written."""


def constraints_to_chains(
    view_layer: ViewLayer, armature: Object, bones: Sequence[PoseBone] | None = None
) -> Conversion:
    """Make a chain of every IK constraint, and mute the constraint.

    Args:
        bones: whose constraints are converted; None is all of the armature.

    Raises:
        FabrikError: there is no constraint, or none that can be converted; then nothing has changed.
    """
    view_layer.update()
    owners = armature.pose.bones if bones is None else bones
    found = constraints_to_convert(owners)
    if not found:
        raise FabrikError(f"'{armature.name}' has no IK constraint to convert, or none on the bones that are selected")
    result = Conversion()
    before = {bone.name: bone.matrix.copy() for bone in armature.pose.bones}
    keyed, is_switched = animated_paths(armature), switched_constraints()
    posed: dict[str, PoseBone] = {}
    stretched: set[str] = set()
    made = []
    unlocked: dict[str, tuple[list[PoseBone], list[Lock]]] = {}
    with kept_values(view_layer):
        for bone, constraint in found:
            name = f"Constraint '{constraint.name}' of bone '{bone.name}'"
            rotated = _rotated_bones(bone, constraint)
            locks = _unlock(rotated)
            reason = _reason_against(view_layer, armature, bone, constraint)
            if reason:
                restore_channels(locks)
                result.not_carried.append(f"{name} stays as it is: {reason}")
                continue
            if locks:
                names = ", ".join(f"'{link.name}'" for link in dict.fromkeys(link for link, _ in locks))
                result.not_carried.append(
                    f"{name}: the rotation of {names} was locked, which Blender's IK ignores: unlocked"
                )
            if is_active(constraint):
                posed |= {link.name: link for link in rotated}
                if _is_stretching(constraint, rotated):
                    stretched |= {link.name for link in rotated}
            chain = _add_chain(armature, bone, constraint, len(rotated))
            result.converted.append(chain.name)
            result.not_carried += [
                f"{name}: {what}" for what in _unsupported(armature, bone, constraint, rotated, keyed, is_switched)
            ]
            result.not_carried += [f"{name}: {what}" for what in _activate_chain(armature, constraint, chain)]
            made.append((name, chain.name))
            unlocked[chain.name] = rotated, locks
    if not made:
        raise FabrikError("; ".join(result.not_carried))
    old_channels = write_pose(view_layer, list(posed.values()), stretched, before)
    result.changed = [(bone, name) for bone, (name, _) in old_channels]
    result.not_carried += motion_messages(armature, before, _CHANGED_POSE, posed.values())
    result.not_carried += _make_solvable(view_layer, armature, made)
    result.not_carried += _rotation_messages(view_layer, armature, dict(reversed(pair) for pair in made))
    old_values = {(bone.name, name): old for bone, (name, old) in old_channels}
    for chain_name, (rotated, locks) in unlocked.items():
        store_record(settings_of(armature).chains[chain_name], rotated, locks, old_values)
    return result


def constraints_to_convert(bones: Iterable[PoseBone]) -> list[tuple[PoseBone, KinematicConstraint]]:
    """Return the IK constraints of bones that aren't converted yet, each with its bone."""
    found = [(bone, by) for bone in bones for by in bone.constraints if isinstance(by, KinematicConstraint)]
    return [(bone, by) for bone, by in found if not _is_converted(bone, by)]


def is_same(chain: FabrikChain, bone: PoseBone, constraint: KinematicConstraint) -> bool:
    """Tell whether a chain and a constraint of a bone rotate the same bones, with the same target and pole."""
    count = len(_rotated_bones(bone, constraint)) if constraint.chain_count else 0
    return (
        chain.tip == bone.name
        and chain.use_tail == constraint.use_tail
        and chain.chain_count == count
        and chain.target == constraint.target
        and chain.subtarget == constraint.subtarget
        and chain.pole_target == constraint.pole_target
        and (chain.pole_target is None or chain.pole_subtarget == constraint.pole_subtarget)
    )


def goals_of(owner: FabrikChain | KinematicConstraint) -> list[Goal]:
    """Return the target and the pole of a chain or a constraint, those that it has."""
    goals = (("target", owner.target, owner.subtarget), ("pole", owner.pole_target, owner.pole_subtarget))
    return [(role, obj, name) for role, obj, name in goals if obj is not None]


def check_goals(view_layer: ViewLayer, root: PoseBone, goals: Iterable[Goal]) -> None:
    """Check that targets and poles have positions, and follow no bone that moves with the first one of a chain.

    Raises:
        FabrikError: one of them has none, or follows such a bone.
    """
    armature = armature_of(root)
    moving = ArmatureBones(armature).moving_with(root)
    for role, obj, name in goals:
        target_position(view_layer, obj, name, role)
        check_independent(role, in_words(obj, name), followed_bones(obj, name, armature), moving)


def start_of(armature: Object, spec: ChainSpec) -> Pose:
    """Return the pose that a chain's bones have from their channels alone, without constraints.

    Raises:
        FabrikError: there are no such bones, a bone's length is zero, or its limits contradict each other.
    """
    bones = read_bones(armature, spec)
    matrices = pose_matrices(bones.line, [bone.matrix_basis for bone in bones.line])
    return read_pose(bones, matrices, bones.rotations)[1]


def _is_converted(bone: PoseBone, constraint: KinematicConstraint) -> bool:
    return constraint.mute and _chain_of(bone, constraint) is not None


def _chain_of(bone: PoseBone, constraint: KinematicConstraint) -> FabrikChain | None:
    """Return the chain with the same bones, target and pole as a bone's constraint, or None."""
    chains = settings_of(armature_of(bone)).chains
    return next((chain for chain in chains if is_same(chain, bone, constraint)), None)


def _rotated_bones(bone: PoseBone, constraint: KinematicConstraint) -> list[PoseBone]:
    """Return the bones that a constraint rotates, tip first."""
    line = [bone, *bone.parent_recursive] if constraint.use_tail else list(bone.parent_recursive)
    return line[: constraint.chain_count or None]


def _is_stretching(constraint: KinematicConstraint, rotated: Iterable[PoseBone]) -> bool:
    """Tell whether a constraint may stretch the bones that it rotates."""
    return constraint.use_stretch and any(link.ik_stretch > 0.0 for link in rotated)


def _spec_of(bone: PoseBone, constraint: KinematicConstraint) -> ChainSpec:
    """Return which bones the chain of a bone's constraint has, which keep to their limits as Blender's IK does."""
    return ChainSpec(bone.name, bone.name, len(_rotated_bones(bone, constraint)), constraint.use_tail, use_limits=True)


def _unlock(bones: Sequence[PoseBone]) -> list[Lock]:
    """WRITE: unlock bones' rotations; return the locks. A chain keeps to them, where Blender's IK ignores them."""
    locks: list[Lock] = []
    for bone in bones:
        if has_locks(bone):
            locks += [
                (bone, ("lock_rotation", bone.lock_rotation[:])),
                (bone, ("lock_rotation_w", bone.lock_rotation_w)),
            ]
            bone.lock_rotation, bone.lock_rotation_w = (False, False, False), False
    return locks


def _reason_against(view_layer: ViewLayer, armature: Object, bone: PoseBone, constraint: KinematicConstraint) -> str:
    """Return why a constraint can't be a chain; empty where it can."""
    if constraint.target is None:
        return "it has no target"
    if constraint.ik_type != 'COPY_POSE':
        return "it keeps a distance (IK type 'Distance'), which a chain can't"
    if not constraint.use_location:
        return "it takes the target's rotation only, and a chain always takes its position"
    if not all(can_carry_switch(armature, constraint.path_from_id(name)) for name in ("mute", "enabled")):
        return SWITCHED
    goals = goals_of(constraint)
    for role, obj, name in goals:
        if name and obj.type != 'ARMATURE':
            return f"its {role} is a vertex group of '{obj.name}': parent an empty to its vertices instead"
    chain = _chain_of(bone, constraint)
    ours = [chain.path_from_id("influence")] if chain is not None and record_of(chain).keyed_in else []
    try:
        check_own_curves(
            armature, [*ours, *(constraint.path_from_id(name) for name in ("influence", "mute", "enabled"))]
        )
        start_of(armature, _spec_of(bone, constraint))
        check_goals(view_layer, _rotated_bones(bone, constraint)[-1], goals)
    except FabrikError as error:
        return str(error)
    return ""


def _add_chain(armature: Object, bone: PoseBone, constraint: KinematicConstraint, count: int) -> FabrikChain:
    """WRITE: the settings of a constraint into its chain, which is made where there is none.

    Args:
        bone: with the constraint.
        constraint: to be converted.
        count: of the bones that it rotates.
    """
    settings = settings_of(armature)
    chain = _chain_of(bone, constraint)
    if chain is None:
        chain = settings.chains.add()
        several = sum(other.type == 'IK' for other in bone.constraints) > 1
        chain.name = f"{bone.name} {constraint.name}" if several else bone.name
    forget_result(armature, chain.name)
    chain.tip, chain.use_tail = bone.name, constraint.use_tail
    chain.chain_count = count if constraint.chain_count else 0
    chain.target, chain.subtarget = constraint.target, constraint.subtarget
    chain.pole_target, chain.pole_subtarget = constraint.pole_target, constraint.pole_subtarget
    chain.influence = constraint.influence
    chain.weight = constraint.weight
    chain.use_pin = False
    chain.enabled = constraint.enabled
    chain.use_stretch = _is_stretching(constraint, _rotated_bones(bone, constraint))
    chain.use_rotation = constraint.use_rotation and constraint.use_tail
    chain.rotation_offset = (1.0, 0.0, 0.0, 0.0)
    if constraint.pole_target is not None:
        start = start_of(armature, _spec_of(bone, constraint))
        chain.pole_angle = from_blender(start, constraint.pole_angle)
    if chain.enabled:
        settings.active_index = settings.chains.find(chain.name)
    return chain


def _unsupported(
    armature: Object,
    bone: PoseBone,
    constraint: KinematicConstraint,
    rotated: Sequence[PoseBone],
    keyed: Container[str],
    is_switched: Acts,
) -> list[str]:
    """Return messages for the settings of a constraint that a chain has no counterpart for.

    Args:
        bone: with the constraint.
        constraint: to be converted.
        rotated: the bones that it rotates, tip first.
        keyed: data paths of the armature's animated properties.
        is_switched: as ``switched_constraints`` returns it.
    """
    messages = []
    if constraint.use_rotation and not constraint.use_tail:
        messages.append("the rotation of its target is not taken, because it ends at a head")
    elif constraint.use_rotation and constraint.orient_weight != 1.0:
        messages.append(f"the rotation's weight of {constraint.orient_weight:.3g}: a chain puts position first")
    if constraint.iterations != _DEFAULT_ITERATIONS:
        messages.append(f"{constraint.iterations} iterations: a chain stops by its tolerance")
    if armature.pose.ik_solver != 'LEGACY':
        messages.append(f"the settings of the solver '{armature.pose.ik_solver}'")
    if _is_stretching(constraint, rotated):
        messages.append("how much each bone stretches (IK Stretch): a chain's bones stretch by the same factor")
    if constraint.influence < 1.0:
        messages.append("influence blends the target there, and the bones' rotations here")
    unkeyed = [link for link in rotated if link.path_from_id(channel_name(link)) not in keyed]
    if unkeyed and is_active(constraint) and is_switched(constraint):
        names = listed([f"'{link.name}'" for link in unkeyed])
        messages.append(f"where it has no influence, rotations without keys stay those of this frame: {names}")
    others = {
        f"'{by.name}' of bone '{link.name}'"
        for link in rotated
        for by in link.constraints
        if by.type != 'IK' and is_active(by) and by.type != 'LIMIT_ROTATION'
    }
    messages += [
        f"constraint {other} comes after the chain, and came before the constraint" for other in sorted(others)
    ]
    return messages


def _activate_chain(armature: Object, constraint: KinematicConstraint, chain: FabrikChain) -> list[str]:
    """WRITE: mute a constraint, and copy its animation and drivers to the chain; return messages for what can't be."""
    messages = []
    theirs, ours = constraint.path_from_id(), chain.path_from_id()
    influence, pole_angle = f"{theirs}.influence", f"{theirs}.pole_angle"
    carry_driver(armature, influence, f"{ours}.influence")
    carry_influence(armature, chain, constraint, chain)
    if is_in_nla(armature, influence):
        messages.append(INFLUENCE_IN_NLA)
    if driver_of(armature, pole_angle) or curve_of(armature, pole_angle) or is_in_nla(armature, pole_angle):
        messages.append("its pole angle is animated: the chain has that of this frame")
    # A constraint has two properties: "mute" is the inverse of the chain's "enabled".
    for name, is_inverted in (("mute", True), ("enabled", False)):
        path = f"{theirs}.{name}"
        carry_curve(armature, path, f"{ours}.enabled", is_inverted)
        mute_curve(armature, path)  # unmuted it would unmute the constraint at another frame
        if driver_of(armature, path) is not None:
            carry = carry_inverted_driver if is_inverted else carry_driver
            if not carry(armature, path, f"{ours}.enabled"):
                messages.append("the driver that mutes it: the chain is as it is now")
            mute_driver(armature, path, True)
    constraint.mute = True
    is_driven = any(driver_of(armature, f"{ours}.{name}") is not None for name in ("influence", "enabled"))
    return [*messages, LOST_DRIVERS] if is_driven and loses_drivers(armature) else messages


def motion_messages(
    armature: Object, before: Mapping[str, Matrix], most: float, rotated: Iterable[PoseBone] = ()
) -> list[str]:
    """Return a message with the bone whose head or tail has moved farthest, if that is more than a share of its length.

    Args:
        armature: object of the bones, evaluated.
        before: earlier matrices of all bones in armature space, by name.
        most: distance over a bone's length that isn't reported.
        rotated: bones that Blender's IK rotates, before or now.
    """
    off = {}
    for bone in armature.pose.bones:
        ends = (Vector(), Vector((0.0, bone.bone.length, 0.0)))
        moved = (bone.matrix @ end - before[bone.name] @ end for end in ends)
        off[bone.name] = max(vector.length for vector in moved) / bone.bone.length
    worst = max(off, key=lambda name: off[name])
    if off[worst] <= most:
        return []
    share = plain(100.0 * off[worst])
    for bone in rotated:
        if bone.parent and not rotates_rigidly(bone, before[bone.parent.name]):
            return [
                f"Bone '{worst}' has moved by {share} % of its length: bone '{bone.name}' inherits an uneven scale, "
                "with which Blender's IK rotates bones otherwise"
            ]
    return [f"Bone '{worst}' has moved by {share} % of its length: joint limits, other constraints or drivers act"]


def _make_solvable(view_layer: ViewLayer, armature: Object, made: Sequence[tuple[str, str]]) -> list[str]:
    """WRITE: disable stretch for chains that can't be solved with it, and keep the bends of those with a pole.

    Args:
        view_layer: evaluated.
        armature: object with the chains.
        made: for each chain the words that name its constraint, and its name.

    Returns:
        the reasons why chains can't be solved.
    """
    messages = []
    for name, chain_name in made:
        chain = settings_of(armature).chains[chain_name]
        for _ in range(2):
            try:
                take_snapshot(view_layer, armature, chain)
                break
            except FabrikError as error:
                reason = str(error).partition("': ")[2]
                messages.append(f"{name}: {reason}")
                if not chain.use_stretch:
                    break
                chain.use_stretch = False
        if chain.pole_target is not None:
            with suppress(FabrikError):  # a chain that can't be read: its reason is among the messages
                keep_shape(view_layer, armature, chain)
    return messages


def _rotation_messages(view_layer: ViewLayer, armature: Object, made: Mapping[str, str]) -> list[str]:
    """Return a message for each enabled chain whose first solve rotates a bone visibly: by how much, and why.

    Args:
        view_layer: evaluated.
        armature: object with the chains.
        made: names of the chains, each with the words that name its constraint.
    """
    messages = []
    try:
        groups = take_groups(view_layer, armature, [chain for chain in settings_of(armature).chains if chain.enabled])
        found = [solved for group in groups for solved in solve_group(group)]
    except FabrikError:
        return []  # _make_solvable has named the chains that can't be solved
    for solved in found:
        angles = solved.rotated_by
        worst = max(angles, key=angles.__getitem__)
        if solved.snapshot.name in made and angles[worst] > _VISIBLE_ROTATION:
            name, angle = made[solved.snapshot.name], math.degrees(angles[worst])
            has_pole = solved.snapshot.goals.poles is not None
            reason = ", because with a pole every joint bends toward it" if has_pole else ""
            messages.append(f"{name}: solving rotates bone '{worst}' by {plain(angle)} degrees{reason}")
    return messages
