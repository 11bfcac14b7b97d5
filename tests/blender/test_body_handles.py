# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The handles of a body in the tool Body Pose: how they look, and the operators on them. With the mouse: tests/gui."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
from bpy.types import Object

from fabrik_addon.blender.interface import body_tool
from fabrik_addon.blender.interface.body_tool import body_handles
from fabrik_addon.blender.interface.handle_gizmos import Handle
from scripts import tool_icon
from tests.blender.rigs import activate, error_of, metarig, pose_of

ops: Any = bpy.ops.pose


def shown(armature: Object, name: str) -> Handle:
    """The handle as the tool shows it."""
    there = armature.fabrik.body.handles
    names = [one.name for one in there if one.bone in armature.pose.bones]
    return body_handles(armature)[names.index(name)]


def test_elbows_and_knees_are_pale_until_they_are_used(human: Object) -> None:
    pale = {one.name for one in human.fabrik.body.handles if shown(human, one.name).is_pale}
    assert pale == {"Elbow.L", "Elbow.R", "Knee.L", "Knee.R"}
    human.fabrik.body.handles["Elbow.L"].use_position = True
    assert not shown(human, "Elbow.L").is_pale


def test_a_pin_has_a_shape_and_a_color_of_its_own(human: Object) -> None:
    free, held = shown(human, "Hand.L"), shown(human, "Foot.L")
    assert held.is_held and not free.is_held and held.shape == free.shape
    assert ops.fabrik_handle_pin(handle="Hand.L") == {"FINISHED"}
    pinned = shown(human, "Hand.L")
    assert pinned.shape != free.shape and pinned.color != free.color and pinned.key != held.key


def test_pins_are_set_and_unset_and_no_bone_moves(human: Object) -> None:
    before = pose_of(human)
    hand = human.fabrik.body.handles["Hand.L"]
    states = []
    for action in ("TOGGLE", "TOGGLE", "PIN", "PIN", "UNPIN", "UNPIN"):
        assert ops.fabrik_handle_pin(handle="hand.L", action=action) == {"FINISHED"}
        states.append(hand.use_pin)
    assert states == [True, False, True, True, False, False]
    assert pose_of(human) == before


def test_a_handle_that_is_let_go_keeps_nothing(human: Object) -> None:
    activate(human, "foot.L")
    assert ops.fabrik_handle_release() == {"FINISHED"}
    foot = human.fabrik.body.handles["Foot.L"]
    assert not (foot.use_pin or foot.use_position or foot.use_rotation)
    assert human.fabrik.body.handles["Foot.R"].use_position


def test_a_handle_is_selected_with_its_bone_and_in_the_panel(human: Object) -> None:
    activate(human, "foot.L")
    before = pose_of(human)
    assert ops.fabrik_handle_select(handle="Hand.L") == {"FINISHED"}
    assert [bone.name for bone in human.pose.bones if bone.select] == ["hand.L"]
    assert human.data.bones.active.name == "hand.L"
    body = human.fabrik.body
    assert body.handles[body.active_handle].name == "Hand.L" and pose_of(human) == before


def test_an_added_handle_is_pulled_and_removed(human: Object) -> None:
    count = len(human.fabrik.body.handles)
    assert ops.fabrik_handle_add(bone="upper_arm.L", use_tail=True) == {"FINISHED"}
    handle = human.fabrik.body.handles[-1]
    assert (handle.bone, handle.use_tail, handle.use_position) == ("upper_arm.L", True, False)
    name = handle.name
    place = human.matrix_world @ human.pose.bones["upper_arm.L"].tail
    place.z += 0.05
    assert ops.fabrik_body_pull(handle=name, position=place) == {"FINISHED"}
    assert (human.matrix_world @ human.pose.bones["upper_arm.L"].tail - place).length < 1e-4
    assert ops.fabrik_handle_remove(handle=name) == {"FINISHED"}
    assert len(human.fabrik.body.handles) == count


def test_of_two_handles_at_a_bone_the_one_that_is_pressed_is_pulled(human: Object) -> None:
    assert ops.fabrik_handle_add(bone="forearm.L", use_tail=True) == {"FINISHED"}
    name = human.fabrik.body.handles[-1].name
    assert shown(human, name).options == {"handle": name, "follows": "BODY"}
    place = human.matrix_world @ human.pose.bones["forearm.L"].tail
    place.z += 0.05
    assert ops.fabrik_drag(**shown(human, name).options, position=place) == {"FINISHED"}
    assert (human.matrix_world @ human.pose.bones["forearm.L"].tail - place).length < 1e-4
    assert human.fabrik.body.handles[name].use_position and not human.fabrik.body.handles["Elbow.L"].use_position


def test_what_can_not_get_a_handle_is_named(human: Object) -> None:
    handles = human.fabrik.body.handles
    before = [one.name for one in handles]
    assert "no bone 'none'" in error_of(ops.fabrik_handle_add, bone="none")
    assert "'pelvis.L' is no part of the body" in error_of(ops.fabrik_handle_add, bone="pelvis.L")
    assert ops.fabrik_handle_add(bone="forearm.L", use_tail=True) == {"FINISHED"}
    assert "is there already" in error_of(ops.fabrik_handle_add, bone="forearm.L", use_tail=True)
    assert [one.name for one in handles][: len(before)] == before and len(handles) == len(before) + 1


def test_an_unknown_handle_and_no_bone_are_named(human: Object) -> None:
    assert "has no handle 'nothing'" in error_of(ops.fabrik_handle_pin, handle="nothing")
    human.data.bones.active = None
    assert "Select a bone with a handle" in error_of(ops.fabrik_handle_release)
    assert "Select the bone that gets a handle" in error_of(ops.fabrik_handle_add)


def test_without_a_body_the_operators_say_what_to_do() -> None:
    metarig("human_metarig")
    for operator in (ops.fabrik_handle_pin, ops.fabrik_handle_release, ops.fabrik_handle_add, ops.fabrik_handle_remove):
        assert "Press Make Body first" in error_of(operator)


def test_the_icon_is_the_one_that_its_script_makes() -> None:
    icon = Path(body_tool.FabrikBodyPose.bl_icon + ".dat")
    assert icon.read_bytes() == tool_icon.icon()
    assert bpy.app.icons.new_triangles_from_file(str(icon)) > 0


def test_no_pull_is_of_the_handle_of_the_one_before() -> None:
    for operator in (ops.fabrik_body_pull, ops.fabrik_body_turn, ops.fabrik_handle_pin):
        assert operator.get_rna_type().properties["handle"].is_skip_save
