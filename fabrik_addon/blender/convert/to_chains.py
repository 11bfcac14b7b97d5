# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: Blender's IK constraints as chains with the same meaning. The constraints are muted, and no bone moves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from bpy.types import Bone
from mathutils import Matrix, Vector

from ...core import FabrikError, Pose
from ...core.goals.pole_angle import from_blender
from ..animation.carried_animation import (
    carry_curve,
    carry_driver,
    carry_inverted_driver,
    curve_of,
    driver_of,
    mute_curve,
    mute_driver,
)
from ..rig.bone_kinematics import basis_of, pose_matrices
from ..rig.chain_bones import read_bones, read_pose
from ..rig.last_results import forget_result
from ..rig.overrides import is_active
from ..rig.properties import FabrikChain, settings_of
from ..rig.rotation_channel import Channel, channel_for, has_locks, rotation_from
from ..rig.snapshot import take_snapshot
from ..solving.chain_groups import solve_group, take_groups
from ..solving.write_channels import restore_channels, write_channels

if TYPE_CHECKING:
    from bpy.types import KinematicConstraint, Object, PoseBone, ViewLayer

MOVED = 1e-6
"""Distance over a bone's length that counts as moved."""

_FLAT = 1e-3
"""Distance of joints from a plane, over the chain's length, that makes no difference to see."""

_TURNS_NOTHING = {'COPY_LOCATION', 'LIMIT_LOCATION', 'LIMIT_DISTANCE', 'COPY_SCALE', 'LIMIT_SCALE', 'MAINTAIN_VOLUME'}
"""Constraints that leave a bone's rotation alone, whenever they come."""

_SEEN = math.radians(1.0)
"""Turn of a bone that can be seen, and is more than the imprecision of Blender's own IK."""

DEFAULT_ITERATIONS = 500
"""Of a new IK constraint: it says nothing of what somebody wanted."""


@dataclass
class Conversion:
    """What became of it."""

    converted: list[str] = field(default_factory=list)
    """Names of the chains."""
    not_carried: list[str] = field(default_factory=list)
    """What the other side can't do, in words."""
    changed: list[tuple[PoseBone, str]] = field(default_factory=list)
    """Bones that were posed as the constraints had them, with their channels."""


def constraints_to_chains(
    view_layer: ViewLayer, armature: Object, bones: Sequence[PoseBone] | None = None
) -> Conversion:
    """Make a chain of every IK constraint, and mute the constraint.

    Args:
        view_layer: the armature's.
        armature: object with the bones.
        bones: with the constraints; None is all of the armature.

    Raises:
        FabrikError: there is nothing to convert, or nothing that can be; then nothing has changed.
    """
    view_layer.update()
    owners = armature.pose.bones if bones is None else bones
    found = constraints_to_convert(owners)
    if not found:
        raise FabrikError(f"'{armature.name}' has no IK constraint to convert, or none on the bones that are selected")
    result = Conversion()
    before = {bone.name: bone.matrix.copy() for bone in armature.pose.bones}
    held: dict[str, PoseBone] = {}
    made = []
    for bone, constraint in found:
        name = f"Constraint '{constraint.name}' of bone '{bone.name}'"
        turned = _turned(bone, constraint)
        locks = _unlock(turned)
        reason = _why_not(armature, bone, constraint)
        if reason:
            restore_channels(locks)
            result.not_carried.append(f"{name} stays as it is: {reason}")
            continue
        if locks:
            names = ", ".join(f"'{link.name}'" for link in dict.fromkeys(link for link, _ in locks))
            result.not_carried.append(f"{name}: Blender's IK passes over the locked rotation of {names}: unlocked")
        if is_active(constraint):
            held |= {link.name: link for link in turned}
        chain = _add_chain(armature, bone, constraint, len(turned))
        result.converted.append(chain.name)
        result.not_carried += [f"{name}: {what}" for what in _losses(armature, bone, constraint, turned)]
        result.not_carried += [f"{name}: {what}" for what in _switch_over(armature, constraint, chain)]
        made.append((name, chain.name))
    if not made:
        raise FabrikError("; ".join(result.not_carried))
    result.changed = _hold(armature, list(held.values()), before)
    view_layer.update()
    result.not_carried += moved_bones(armature, before, 1e-4)
    result.not_carried += _unusable(view_layer, armature, made)
    result.not_carried += _still_to_turn(view_layer, armature, dict(reversed(pair) for pair in made))
    return result


def constraints_to_convert(bones: Iterable[PoseBone]) -> list[tuple[PoseBone, Any]]:
    """Return the IK constraints of bones that aren't converted yet, each with its bone."""
    found: list[tuple[PoseBone, Any]] = [(bone, by) for bone in bones for by in bone.constraints if by.type == 'IK']
    return [(bone, by) for bone, by in found if not _is_done(bone, by)]


def is_same(chain: FabrikChain, bone: PoseBone, constraint: KinematicConstraint) -> bool:
    """Tell whether a chain and a constraint turn the same bones toward the same things."""
    turned = len(_turned(bone, constraint)) if constraint.chain_count else 0
    return (
        chain.tip == bone.name
        and chain.use_tail == constraint.use_tail
        and chain.chain_count == turned
        and chain.target == constraint.target
        and chain.subtarget == constraint.subtarget
        and chain.pole_target == constraint.pole_target
        and (chain.pole_target is None or chain.pole_subtarget == constraint.pole_subtarget)
    )


def start_of(armature: Object, tip: str, chain_count: int, use_tail: bool) -> Pose:
    """Return the pose from which a chain would be solved: as its bones' channels say.

    Raises:
        FabrikError: there are no such bones, or they have no length.
    """
    bones = read_bones(armature, tip, tip, chain_count, use_tail)
    matrices = pose_matrices(bones.line, [bone.matrix_basis for bone in bones.line])
    return read_pose(bones, matrices, bones.rotations)[1]


def _is_done(bone: PoseBone, constraint: KinematicConstraint) -> bool:
    chains = settings_of(bone.id_data).chains  # type: ignore[arg-type]
    return constraint.mute and any(is_same(chain, bone, constraint) for chain in chains)


def _turned(bone: PoseBone, constraint: KinematicConstraint) -> list[PoseBone]:
    """Return the bones that a constraint turns, tip first."""
    walk = [bone, *bone.parent_recursive] if constraint.use_tail else list(bone.parent_recursive)
    return walk[: constraint.chain_count or None]


def _unlock(bones: Sequence[PoseBone]) -> list[tuple[PoseBone, tuple[str, Any]]]:
    """Take the locks from bones' rotations, which chains keep to; return what they were."""
    locks: list[tuple[PoseBone, tuple[str, Any]]] = []
    for bone in bones:
        if has_locks(bone):
            locks += [
                (bone, ("lock_rotation", bone.lock_rotation[:])),
                (bone, ("lock_rotation_w", bone.lock_rotation_w)),
            ]
            bone.lock_rotation, bone.lock_rotation_w = (False, False, False), False
    return locks


def _why_not(armature: Object, bone: PoseBone, constraint: KinematicConstraint) -> str:
    """Say why a constraint can't be a chain; empty where it can."""
    if constraint.target is None:
        return "it has no target"
    if constraint.ik_type != 'COPY_POSE':
        return "it keeps a distance (IK type 'Distance'), and chains reach for points"
    if not constraint.use_location:
        return "it takes the target's rotation alone, and chains reach for a place first"
    for role, obj, name in (
        ("target", constraint.target, constraint.subtarget),
        ("pole", constraint.pole_target, constraint.pole_subtarget),
    ):
        if obj is not None and name and obj.type != 'ARMATURE':
            return f"its {role} is a vertex group of '{obj.name}': parent an empty to its vertices instead"
    try:
        start_of(armature, bone.name, len(_turned(bone, constraint)), constraint.use_tail)
    except FabrikError as error:
        return str(error)
    return ""


def _add_chain(armature: Object, bone: PoseBone, constraint: KinematicConstraint, count: int) -> FabrikChain:
    settings = settings_of(armature)
    chain = next((chain for chain in settings.chains if is_same(chain, bone, constraint)), None)
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
    chain.use_stretch = constraint.use_stretch and any(link.ik_stretch > 0.0 for link in _turned(bone, constraint))
    chain.use_rotation = constraint.use_rotation and constraint.use_tail
    chain.rotation_offset = (1.0, 0.0, 0.0, 0.0)
    if constraint.pole_target is not None:
        start = start_of(armature, bone.name, count, constraint.use_tail)
        chain.pole_angle = from_blender(start, constraint.pole_angle)
    settings.active_index = len(settings.chains) - 1
    return chain


def _losses(armature: Object, bone: PoseBone, constraint: KinematicConstraint, turned: Sequence[PoseBone]) -> list[str]:
    """Say what a chain can't do of what a constraint is set to."""
    losses = []
    if constraint.use_rotation and not constraint.use_tail:
        losses.append("the rotation of its target is not taken, because it ends at a head")
    elif constraint.use_rotation and constraint.orient_weight != 1.0:
        losses.append(f"the rotation's weight of {constraint.orient_weight:.3g}: a chain puts position first")
    if constraint.iterations != DEFAULT_ITERATIONS:
        losses.append(f"{constraint.iterations} iterations: a chain stops by its tolerance")
    if armature.pose.ik_solver != 'LEGACY':
        losses.append(f"the settings of the solver '{armature.pose.ik_solver}'")
    if constraint.use_stretch and any(link.ik_stretch > 0.0 for link in turned):
        losses.append("how much each bone stretches (IK Stretch): a chain's bones stretch by the same factor")
    end = bone.tail if constraint.use_tail else bone.head
    if constraint.pole_target is not None and _off_plane(turned, end) > _FLAT:
        losses.append("its bend in more than one plane: with a pole a chain lies in the plane of its pole")
    if constraint.influence < 1.0:
        losses.append("influence blends the target there, and the bones' rotations here")
    others = {
        f"'{by.name}' of bone '{link.name}'"
        for link in turned
        for by in link.constraints
        if by.type != 'IK' and is_active(by) and by.type != 'LIMIT_ROTATION'
    }
    losses += [f"constraint {other} comes after the chain, and came before the constraint" for other in sorted(others)]
    return losses


def _off_plane(turned: Sequence[PoseBone], end: Vector) -> float:
    """Return how far joints lie off the plane that fits them best, over the length of their chain."""
    joints = np.array([end[:], *(bone.head[:] for bone in turned)])
    links = np.linalg.norm(np.diff(joints, axis=0), axis=1)
    flatness = np.linalg.svd(joints - joints.mean(axis=0), compute_uv=False)
    return float(flatness[2] / links.sum()) if len(flatness) > 2 else 0.0


def _switch_over(armature: Object, constraint: KinematicConstraint, chain: FabrikChain) -> list[str]:
    """Mute a constraint and let what animates or drives it do so to the chain; say what can't be."""
    lost = []
    theirs, ours = constraint.path_from_id(), chain.path_from_id()
    for name in ("influence", "pole_angle"):
        if name == "pole_angle":
            if driver_of(armature, f"{theirs}.{name}") or curve_of(armature, f"{theirs}.{name}"):
                lost.append("its pole angle is animated: the chain has that of this frame")
            continue
        carry_driver(armature, f"{theirs}.{name}", f"{ours}.{name}")
        carry_curve(armature, f"{theirs}.{name}", f"{ours}.{name}")
    # Both are the same switch, one of them the other way round.
    for name, is_inverted in (("mute", True), ("enabled", False)):
        path = f"{theirs}.{name}"
        carry_curve(armature, path, f"{ours}.enabled", is_inverted)
        mute_curve(armature, path)  # or it would unmute what is muted here
        if driver_of(armature, path) is not None:
            carry = carry_inverted_driver if is_inverted else carry_driver
            if not carry(armature, path, f"{ours}.enabled"):
                lost.append("the driver that mutes it: the chain is as it is now")
            mute_driver(armature, path, True)
    constraint.mute = True
    return lost


def _hold(armature: Object, bones: Sequence[PoseBone], before: dict[str, Matrix]) -> list[tuple[PoseBone, str]]:
    """Write what constraints had made of bones into their channels; return what has changed."""
    desired: list[tuple[PoseBone, Channel]] = []
    for bone in bones:
        others = {by.type for by in bone.constraints if is_active(by)} - {'IK', 'LIMIT_ROTATION'}
        if not others <= _TURNS_NOTHING:
            continue  # what comes after its channels would come twice
        basis = basis_of(bone, before[bone.name], before[bone.parent.name] if bone.parent else None)
        location, rotation, scale = basis.decompose()
        desired.append((bone, channel_for(bone, rotation)))
        if others:
            continue
        # Stretching moves and lengthens bones; where nothing does these are noise.
        if (location - bone.matrix_basis.translation).length > MOVED * bone.length and not bone.bone.use_connect:
            desired.append((bone, ("location", location[:])))
        if (scale - bone.scale).length > 1e-5:
            desired.append((bone, ("scale", scale[:])))
    return [(bone, name) for bone, (name, _) in write_channels(desired) if not isinstance(bone, Bone)]


def moved_bones(armature: Object, before: dict[str, Matrix], most: float) -> list[str]:
    """Name the bone that has moved farthest, if that is more than some share of its length."""
    off = {
        bone.name: (bone.matrix.translation - before[bone.name].translation).length / bone.bone.length
        for bone in armature.pose.bones
    }
    worst = max(off, key=lambda name: off[name])
    if off[worst] <= most:
        return []
    return [f"Bone '{worst}' has moved by {100.0 * off[worst]:.3g} % of its length: other constraints or drivers act"]


def _unusable(view_layer: ViewLayer, armature: Object, made: Sequence[tuple[str, str]]) -> list[str]:
    """Take from chains what keeps them from being solved; say what that is, and what can't be taken."""
    said = []
    for name, chain_name in made:
        chain = settings_of(armature).chains[chain_name]
        for _ in range(2):
            try:
                take_snapshot(view_layer, armature, chain)
                break
            except FabrikError as error:
                reason = str(error).partition("': ")[2]
                said.append(f"{name}: {reason}")
                if not chain.use_stretch:
                    break
                chain.use_stretch = False
    return said


def _still_to_turn(view_layer: ViewLayer, armature: Object, made: Mapping[str, str]) -> list[str]:
    """Say which chains that are switched on don't stay as they are when they are solved, and by how much they turn.

    Args:
        view_layer: evaluated.
        armature: object with the chains.
        made: names of the chains, each with what it was.
    """
    said = []
    try:
        groups = take_groups(view_layer, armature, [chain for chain in settings_of(armature).chains if chain.enabled])
    except FabrikError:
        return []  # what can't be solved was named
    for group in groups:
        for solved in solve_group(group):
            bones = solved.snapshot.bones
            turns = {
                bone.name: 2.0 * math.acos(min(1.0, abs(bones.rotations[i].dot(rotation_from(bone, channel)))))
                for i, (bone, channel) in zip(bones.free, solved.channels, strict=True)
            }
            worst = max(turns, key=lambda name: turns[name])
            if solved.snapshot.name in made and turns[worst] > _SEEN:
                reason = (
                    ", because with a pole every joint bends toward it"
                    if solved.snapshot.goals.poles is not None
                    else ""
                )
                name = made[solved.snapshot.name]
                said.append(f"{name}: solving turns bone '{worst}' by {math.degrees(turns[worst]):.2g} degrees{reason}")
    return said
