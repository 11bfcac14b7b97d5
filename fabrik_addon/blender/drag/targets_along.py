# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The chains that end at a dragged bone: their targets and poles come along, so that a later Solve changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ...core import FabrikError
from ..bones.rotation_channel import channel_name
from ..rig.properties import settings_of
from ..rig.snapshot import Snapshot, take_snapshot
from .pose_mirror import opposite_of

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone, ViewLayer

    from ..rig.properties import FabrikChain


def chains_ending_at(armature: Object, bone_name: str, use_tail: bool) -> list[FabrikChain]:
    """Return the enabled chains with a target, and without a pin, whose end is dragged with a bone.

    With X-axis mirror on they are joined by those of the bone on the other side.

    Args:
        bone_name: of the dragged bone.
        use_tail: whether its tail is dragged; else its head, where a chain of its parent may end.
    """
    bone = armature.pose.bones[bone_name]
    other = opposite_of(armature, bone) if armature.pose.use_mirror_x else None
    bones = [one for one in (bone, other) if one is not None]
    tips = {one.name for one in bones}
    parents = {one.parent.name for one in bones if one.parent is not None and not use_tail}
    return [
        chain
        for chain in settings_of(armature).chains
        if chain.enabled
        and chain.target is not None
        and not chain.use_pin
        and (chain.tip in tips or (chain.tip in parents and chain.use_tail))
    ]


def solved_as_chain(
    view_layer: ViewLayer, armature: Object, dragged: Snapshot, chains: Sequence[FabrikChain]
) -> Snapshot:
    """Return the first chain with a pole and with the bones that are dragged, or what is dragged if there is none.

    A chain with a pole bends in one plane, so the pose of a drag without that pole isn't the pose that Solve
    finds: with three bones of length 1 joints moved by 0.76 at the next Solve.

    Args:
        view_layer: evaluated, with nothing changed since.
        dragged: the bones that are dragged, read as a chain without settings.
        chains: that end at the dragged bone.
    """
    names = [bone.name for bone in dragged.bones.bones]
    for chain in chains:
        if chain.pole_target is None or chain.use_tail != dragged.bones.use_tail:
            continue
        try:
            snapshot = take_snapshot(view_layer, armature, chain)
        except FabrikError:
            continue  # the drag's report says why the target stays behind
        if [bone.name for bone in snapshot.bones.bones] == names and snapshot.target_bone not in snapshot.moving:
            # The target comes along with the chain's end, whatever the chain's influence.
            return replace(snapshot, influence=1.0, target_bone="")
    return dragged


def channels_of_goals(chain: FabrikChain) -> Iterator[tuple[Object | PoseBone, str]]:
    """Yield the channels of a chain's target and pole that change when they come along: their owners and names."""
    target = _owner(chain.target, chain.subtarget)
    if target is not None:
        yield target, "location"
        if chain.use_rotation:
            yield target, channel_name(target)
    pole = _owner(chain.pole_target, chain.pole_subtarget)
    if pole is not None:
        yield pole, "location"


def _owner(obj: Object | None, bone_name: str) -> Object | PoseBone | None:
    """Return an object, or its bone; None where there is none or it is linked, so that it can't change."""
    if obj is None or obj.library is not None:
        return None
    return obj.pose.bones.get(bone_name) if bone_name and obj.type == 'ARMATURE' else obj
