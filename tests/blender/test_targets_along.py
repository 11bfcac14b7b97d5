# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Drag Bone on the end of a chain: its target and pole come along, or the report says why they don't."""

from __future__ import annotations

from typing import Any

import bpy
import pytest
from mathutils import Vector

from fabrik_addon.blender.drag import ChainDrag, Grab
from tests.blender.rigs import (
    activate,
    add_chain,
    end_of,
    everything,
    keys_of,
    layer,
    make_empty,
    make_tail,
    metarig,
    pose_of,
    update,
)

drag: Any = bpy.ops.pose.fabrik_drag
PLACE = Vector((0.8, 0.5, 1.9))


@pytest.mark.parametrize("use_rotation", [False, True])
@pytest.mark.parametrize("create_pole", [False, True])
@pytest.mark.parametrize("count", [2, 3, 4])
def test_the_target_comes_along_so_that_solve_changes_nothing(
    use_rotation: bool, create_pole: bool, count: int
) -> None:
    armature = make_tail(4)
    chain = add_chain(armature, "bone3", count, create_pole=create_pole)
    chain.use_rotation = use_rotation
    place = end_of(armature, chain) + Vector((0.5, 0.4, -0.3))
    assert drag(grab="BONE", chain_count=count, position=place) == {"FINISHED"}
    update()
    assert (chain.target.matrix_world.translation - place).length < 1e-3
    assert (chain.target.matrix_world.translation - end_of(armature, chain)).length < 1e-5
    before = [[*bone.matrix.translation, *bone.matrix.to_quaternion()] for bone in armature.pose.bones]
    bpy.ops.pose.fabrik_solve()
    after = [[*bone.matrix.translation, *bone.matrix.to_quaternion()] for bone in armature.pose.bones]
    assert max(abs(a - b) for one, two in zip(before, after, strict=True) for a, b in zip(one, two, strict=True)) < 2e-4


def test_out_of_reach_the_target_is_where_the_end_is() -> None:
    armature = make_tail(3)
    chain = add_chain(armature, "bone2", 3)
    drag(grab="BONE", position=(0.0, 0.0, 30.0))
    update()
    assert (chain.target.matrix_world.translation - end_of(armature, chain)).length < 1e-5


def test_cancel_and_the_start_position_restore_every_bit() -> None:
    armature = make_tail(4)
    parent = make_empty("parent", (1.0, 2.0, 3.0))
    parent.rotation_euler, parent.scale = (0.3, 0.2, 1.0), (2.0, 2.0, 2.0)
    chain = add_chain(armature, "bone3", 3, create_pole=True)
    chain.target.parent, chain.use_rotation = parent, True
    update()
    before = everything()
    session = ChainDrag(layer(), armature, Grab("bone3"), 3)
    session.move(layer(), PLACE)
    moved = everything()
    assert moved != before and (chain.target.matrix_world.translation - PLACE).length < 1e-3
    session.move(layer(), session.start_position)
    assert everything() == before
    session.move(layer(), PLACE + Vector((0.1, 0.1, -0.4)))
    session.move(layer(), PLACE)
    assert everything() == moved
    session.cancel(layer())
    assert everything() == before


def test_a_chain_that_ends_at_the_wrist_follows_a_hand() -> None:
    armature = metarig("human_metarig")
    armature.pose.use_mirror_x = True
    add_chain(armature, "forearm.L", 2)  # and that of the other side
    chains = list(armature.fabrik.chains)
    assert len(chains) == 2
    activate(armature, "hand.L")
    wrist = armature.pose.bones["hand.L"].head.copy()
    drag(grab="BONE", position=wrist + Vector((-0.1, -0.1, 0.1)))
    update()
    for chain in chains:
        end = end_of(armature, chain)
        assert (chain.target.matrix_world.translation - end).length < 1e-5
        assert abs(abs(end.x) - abs(wrist.x) + 0.1) < 1e-3, chain.name


def test_auto_keying_keys_the_target_and_the_pole() -> None:
    armature = make_tail(3)
    chain = add_chain(armature, "bone2", 3, create_pole=True)
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    bpy.context.preferences.edit.use_keyframe_insert_available = False
    drag(grab="BONE", chain_count=2, position=PLACE)  # the bend leaves the pole's plane
    for obj in (chain.target, chain.pole_target):
        assert {path for path, _ in keys_of(obj.animation_data.action)} == {"location"}


def test_one_undo_takes_the_target_back() -> None:
    armature = make_tail(3)
    chain = add_chain(armature, "bone2", 3)
    name, before = chain.target.name, tuple(chain.target.location)
    bpy.ops.ed.undo_push(message="before")
    drag(grab="BONE", position=PLACE)
    assert tuple(bpy.data.objects[name].location) != before
    bpy.ops.ed.undo_push(message="dragged")
    bpy.ops.ed.undo()
    assert tuple(bpy.data.objects[name].location) == before


@pytest.mark.parametrize("is_pole", [False, True])
def test_a_target_that_can_not_move_is_named(is_pole: bool, capfd: pytest.CaptureFixture[str]) -> None:
    armature = make_tail(3)
    chain = add_chain(armature, "bone2", 3, create_pole=True)
    held = chain.pole_target if is_pole else chain.target
    held.lock_location[0] = True
    before = {obj.name: tuple(obj.location) for obj in (chain.target, chain.pole_target)}
    pose = pose_of(armature)
    assert drag(grab="BONE", position=PLACE) == {"FINISHED"}
    assert pose_of(armature) != pose
    assert {obj.name: tuple(obj.location) for obj in (chain.target, chain.pole_target)} == before
    said = capfd.readouterr().out
    assert "The target stays behind" in said and held.name in said and "locked" in said


def test_targets_of_other_chains_and_of_pinned_ones_stay() -> None:
    armature = make_tail(4)
    other = add_chain(armature, "bone1", 2)
    pinned = add_chain(armature, "bone3", 3)
    pinned.use_pin = True
    before = [tuple(chain.target.location) for chain in (other, pinned)]
    drag(grab="BONE", chain_count=2, position=PLACE)
    assert [tuple(chain.target.location) for chain in (other, pinned)] == before
