# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: the chains of a handle, from the body's root: that of its position and that of its rotation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from mathutils import Quaternion

from ...core import FabrikError, Goals, Options
from ...core.body.posture import FLAT_BOUND, FLAT_WEIGHT, HELD, HELD_WEIGHT, PINNED, PULLED
from ..bones.ancestors import with_ancestors
from ..bones.armature_bones import ArmatureBones
from ..bones.overrides import overrides_of
from ..bones.rotation_channel import is_locked
from ..bones.shared_joints import one_bone_per_joint
from ..rig.chain_bones import ChainBones, ChainSpec, all_locked, read_bones
from ..rig.posed_chain import posed_chain
from ..rig.snapshot import Snapshot
from ..rig.targets_and_poles import armature_to_world
from .handles import AddedHandle, Pull
from .planted_feet import upward

if TYPE_CHECKING:
    from bpy.types import PoseBone

    from ..rig.body_properties import FabrikHandle


@dataclass(frozen=True)
class BodyBones:
    """The bones of a body for one pull."""

    all_bones: ArmatureBones
    root: PoseBone
    turning: set[str]
    """Names of the bones that rotate."""
    holder: str
    """What holds the root, in words; empty if nothing does."""


def rotation_name(handle: str) -> str:
    """Return the name of the chain that has the rotation of a handle."""
    return f"{handle} (rotation)"


def snapshots_of_handle(
    body: BodyBones, handle: FabrikHandle | AddedHandle, pull: Pull, priority: int
) -> list[Snapshot]:
    """Return the chain of a handle's position and that of its rotation, whichever the handle has.

    A position at a bone's head is one of the chain that ends there, in which the bone doesn't turn.
    """
    armature = body.all_bones.armature
    bone = armature.pose.bones[handle.bone]
    found = []
    if pull.position is not None:
        # A chain of the root bone alone that ends at its head has no link: it is read with the tail as its end.
        is_at_root = bone == body.root and not handle.use_tail
        bones = _bones(body, handle.name, bone, handle.use_tail or is_at_root)
        has_slack = handle.slack > 0.0 and priority != PULLED
        slack = np.array([handle.slack / armature_to_world(armature).median_scale]) if has_slack else None
        goals = Goals(np.array([pull.position[:]]), slack=slack)
        snapshot = _snapshot(body, bones, goals)
        found.append(replace(snapshot, bones=replace(bones, use_tail=False)) if is_at_root else snapshot)
    if pull.rotation is not None:
        carrier = _carrier(body, bone)
        for one in (bone, carrier):
            if is_locked(one):
                raise FabrikError(f"the rotation of bone '{one.name}' is locked: unlock it, or switch its Rotation off")
        name = rotation_name(handle.name)
        rotation = carried_rotation(pull.rotation, bone, carrier)
        goals = Goals(np.array([carrier.tail[:]]), rotations=np.array([rotation[:]]))
        snapshot = _snapshot(body, _bones(body, name, carrier, True), goals)
        found.append(replace(snapshot, has_position=False, weight=HELD_WEIGHT if priority == HELD else 1.0))
    return [replace(one, priority=priority, is_pinned=priority == PINNED) for one in found]


def planted_by_toes(body: BodyBones, handle: FabrikHandle, toes: PoseBone) -> list[Snapshot]:
    """Return the chains of a planted foot: its toes stay, and its heel lifts where the leg is too short otherwise.

    Pinned are the place and the rotation of the toes and the axis about which the heel lifts. The rotation of the foot
    comes after the handle that is pulled. That the heel doesn't sink is a row of the floor task (``read_floor``).
    """
    armature = body.all_bones.armature
    foot = armature.pose.bones[handle.bone]
    along, rotation = toes.head - foot.head, foot.matrix.to_quaternion()
    axis = rotation.inverted() @ upward(armature).cross(along).normalized()
    place = Pull(handle.name, toes.head.copy(), toes.matrix.to_quaternion())
    ball = AddedHandle(f"{handle.name} (toes)", toes.name, use_tail=False, slack=handle.slack)
    found = snapshots_of_handle(body, ball, place, PINNED)
    (flat,) = snapshots_of_handle(body, handle, Pull(handle.name, rotation=rotation), HELD)
    sideways = replace(flat, bones=replace(flat.bones, chain_name=f"{handle.name} (axis)"), is_pinned=True)
    goals = replace(flat.goals, rotation_axes=np.array([axis[:]]))
    bounded = replace(flat.goals, rotation_bounds=np.array([FLAT_BOUND]))
    return [
        *found,
        replace(flat, goals=bounded, weight=FLAT_WEIGHT),
        replace(sideways, goals=goals, priority=PINNED),
    ]


def without_task(body: BodyBones, name: str, bone: PoseBone) -> Snapshot:
    """Return the chain from the body's root to a bone that should be nowhere."""
    snapshot = _snapshot(body, _bones(body, name, bone, True), Goals(np.array([bone.tail[:]])))
    return replace(snapshot, has_position=False)


def carried_rotation(rotation: Quaternion, bone: PoseBone, carrier: PoseBone) -> Quaternion:
    """Return the rotation of a carrier with which a bone that is rigid with it has a rotation, in armature space.

    ``C' = B' B^-1 C``, with B and C the rotations of the bone and of its carrier that are shown.
    """
    if carrier == bone:
        return rotation
    return rotation @ bone.matrix.to_quaternion().inverted() @ carrier.matrix.to_quaternion()


def _carrier(body: BodyBones, bone: PoseBone) -> PoseBone:
    """Return the bone with which another one rotates: itself, or the last one above it that turns.

    A bone that divides a shin, say, is rigid with the shin. With the desired rotation of such a bone taken for that of
    the one above it planted feet rotated by 59 degrees, and hips that were pulled down by 2 cm fell by 25.
    """
    return next((one for one in line_to_root(body, bone) if one.name in body.turning), bone)


def line_to_root(body: BodyBones, bone: PoseBone) -> list[PoseBone]:
    """Return a bone and its ancestors up to a body's root.

    Raises:
        FabrikError: it doesn't move with the root.
    """
    line = with_ancestors(bone)
    if body.root not in line:
        raise FabrikError(f"bone '{bone.name}' doesn't move with bone '{body.root.name}', from which the body starts")
    return line[: line.index(body.root) + 1]


def _bones(body: BodyBones, name: str, bone: PoseBone, use_tail: bool) -> ChainBones:
    """Return the bones of a chain from a body's root to a bone; those without a role don't turn."""
    bones = tuple(reversed(line_to_root(body, bone)[0 if use_tail else 1 :]))
    spec = ChainSpec(name, bone.name, len(bones), use_tail, use_limits=True)
    found = read_bones(body.all_bones.armature, spec, body.all_bones, bones)
    turning = [i for i, one in enumerate(found.bones) if one.name in body.turning]
    if not turning and body.holder:
        raise FabrikError(f"{body.holder} holds bone '{body.root.name}', from which the body starts: mute it")
    if not turning:
        raise FabrikError("none of the bones that follow moves it: let the whole body follow")
    free = tuple(i for i in turning if not is_locked(found.bones[i]))
    if not free:
        raise all_locked([found.bones[i] for i in turning])
    return replace(found, free=free)


def _snapshot(body: BodyBones, bones: ChainBones, goals: Goals) -> Snapshot:
    # The chain alone has one bone only of those that start at the same place; the body's tree has all of them.
    names = {bone.name for bone in bones.bones}
    first = {bone.name for bone in one_bone_per_joint([bones.bones[i] for i in bones.free], names)}
    posed = posed_chain(replace(bones, free=tuple(i for i in bones.free if bones.bones[i].name in first)))
    _ = posed.chain  # raises what is wrong with the bones
    overridden: tuple[str, ...] = ()
    if bones.is_constrained:
        rotating = body.all_bones.chain_constraints
        overridden = overrides_of(body.all_bones.armature, bones.line, use_limits=True, rotating=rotating)
    return Snapshot(
        bones=bones,
        posed=posed,
        goals=goals,
        options=Options(moves_root=True),
        influence=1.0,
        overridden=overridden,
        moving=body.all_bones.moving_with(bones.bones[0]),
        followed=frozenset(),
    )
