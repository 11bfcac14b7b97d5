# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The drag as scripts and the redo panel call it: complete without a mouse. With one: tests/gui."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import bpy
import pytest
from mathutils import Vector

from fabrik_addon.blender.drag import ChainDrag, Grab
from fabrik_addon.blender.drag.drag_events import DragEvents
from fabrik_addon.blender.interface.drag_operator import POSE_OT_fabrik_drag
from tests.blender.rigs import (
    activate,
    add_chain,
    end_of,
    enter_pose_mode,
    error_of,
    everything,
    keys_of,
    leave_mode,
    make_armature,
    make_tail,
    pose_of,
    tail_bones,
    update,
)
from tests.blender.test_panel import Drawing

drag: Any = bpy.ops.pose.fabrik_drag


def tail_of(armature: Any, name: str) -> Vector:
    update()
    return armature.matrix_world @ armature.pose.bones[name].tail


def test_a_bone_goes_to_a_position_without_any_set_up() -> None:
    armature = make_tail(4)
    activate(armature, "bone3")
    before = pose_of(armature)
    assert drag(chain_count=3, position=(1.0, 0.4, 2.2)) == {"FINISHED"}
    assert (tail_of(armature, "bone3") - Vector((1.0, 0.4, 2.2))).length < 1e-3
    after = pose_of(armature)
    assert {name for name in after if after[name] != before[name]} <= {"bone1", "bone2", "bone3"}
    assert len(armature.fabrik.chains) == 0


def test_the_limb_follows_where_nothing_else_is_said_and_0_is_all() -> None:
    limb = {"upper_arm.L", "forearm.L"}
    for options, most in (({}, limb), ({"chain_count": 0}, {"bone0", "bone1", *limb})):
        armature = make_tail(4)
        armature.data.bones["bone2"].name, armature.data.bones["bone3"].name = "upper_arm.L", "forearm.L"
        activate(armature, "forearm.L")
        before = pose_of(armature)
        drag(position=(0.6, 0.9, 2.4), **options)
        after = pose_of(armature)
        assert {name for name in after if after[name] != before[name]} == most


def test_without_a_position_nothing_changes_and_there_is_nothing_to_undo() -> None:
    armature = make_tail(3)
    activate(armature, "bone2")
    before = everything()
    assert drag() == {"CANCELLED"}
    assert everything() == before
    assert drag(position=tail_of(armature, "bone2")) == {"CANCELLED"}
    assert everything() == before


def test_a_chain_that_ends_at_the_active_bone_is_dragged_by_its_target() -> None:
    armature = make_tail(3)
    chain = add_chain(armature, "bone2", 3)
    place = Vector((0.8, 0.5, 1.9))
    assert drag(position=place) == {"FINISHED"}
    assert (chain.target.matrix_world.translation - place).length < 1e-5
    assert (end_of(armature, chain) - place).length < 1e-3 and chain.status == "REACHED"


def test_the_bone_itself_can_be_dragged_though_it_ends_a_chain() -> None:
    armature = make_tail(3)
    chain = add_chain(armature, "bone2", 3)
    place = Vector((0.8, 0.5, 1.9))
    assert drag(grab="TIP", chain_count=3, position=place) == {"FINISHED"}
    assert (end_of(armature, chain) - place).length < 1e-3


def test_the_target_is_that_of_the_chain_in_the_list_whatever_bone_is_active() -> None:
    armature = make_tail(4)
    chain = add_chain(armature, "bone3", 4)
    activate(armature, "bone0")
    drag(grab="TARGET", position=(1.0, 1.0, 2.0))
    assert (end_of(armature, chain) - Vector((1.0, 1.0, 2.0))).length < 1e-3


def test_drag_target_is_an_operator_of_its_own() -> None:
    armature = make_tail(4)
    activate(armature, "bone0")
    with pytest.raises(RuntimeError, match="Add a chain first"):
        bpy.ops.pose.fabrik_drag_target()
    chain = add_chain(armature, "bone3", 4)
    assert bpy.ops.pose.fabrik_drag_target(position=(1.0, 1.0, 2.0)) == {"FINISHED"}
    assert (chain.target.matrix_world.translation - Vector((1.0, 1.0, 2.0))).length < 1e-5
    assert (end_of(armature, chain) - Vector((1.0, 1.0, 2.0))).length < 1e-3 and chain.status == "REACHED"
    chain.use_pin = True
    assert "is pinned" in error_of(bpy.ops.pose.fabrik_drag_target)


def test_other_ends_hold_still_if_asked() -> None:
    armature = make_tail(3)
    bpy.ops.object.mode_set(mode="EDIT")
    for number in range(3):
        bone = armature.data.edit_bones.new(f"branch{number}")
        bone.head, bone.tail = (number + 0.2, 0.1 * (number % 2), 3.0), (number + 1.2, 0.1 * (1 - number % 2), 3.0)
        bone.parent = armature.data.edit_bones[f"branch{number - 1}" if number else "bone2"]
    bpy.ops.object.mode_set(mode="POSE")
    chain = add_chain(armature, "branch2", 3)
    held = end_of(armature, chain).copy()
    activate(armature, "bone2")
    place = tail_of(armature, "bone2") + Vector((0.3, 0.3, -0.1))
    drag(grab="TIP", chain_count=3, pins="ALL", position=place)
    assert (tail_of(armature, "bone2") - place).length < 1e-3
    assert (end_of(armature, chain) - held).length < 1e-3


def test_the_same_again_is_the_same_to_the_bit() -> None:
    """As the redo panel does: undo, then execute with the same properties."""
    armature = make_tail(4)
    activate(armature, "bone3")
    start = {bone.name: bone.rotation_quaternion.copy() for bone in armature.pose.bones}
    drag(chain_count=3, position=(1.0, 0.4, 2.2))
    first = pose_of(armature)
    for name, rotation in start.items():
        armature.pose.bones[name].rotation_quaternion = rotation
    update()
    drag(chain_count=3, position=(1.0, 0.4, 2.2))
    assert pose_of(armature) == first


def test_the_redo_panel_drags_the_target_that_was_dragged_whichever_chain_is_active() -> None:
    armature: Any = make_armature([*tail_bones(2, "a"), *tail_bones(2, "b", (3.0, 0.0, 0.0))])
    add_chain(armature, "a1", 2)
    add_chain(armature, "b1", 2)
    activate(armature, "a1")
    place = Vector((0.3, 0.6, 1.5))
    assert drag("EXEC_DEFAULT", True, position=place) == {"FINISHED"}
    first, second = armature.fabrik.chains
    assert armature.fabrik.active_index == 1 and (first.target.matrix_world.translation - place).length < 1e-5
    there = second.target.location.copy()
    last = bpy.context.window_manager.operators[-1].properties
    names = [one.identifier for one in last.bl_rna.properties if last.is_property_set(one.identifier)]
    kept = {name: getattr(last, name) for name in names if name not in {"rna_type", "position"}}
    place = Vector((-0.3, 0.6, 1.4))
    assert drag(**kept, position=place) == {"FINISHED"}
    assert (first.target.matrix_world.translation - place).length < 1e-5 and second.target.location == there


def test_what_was_dragged_before_says_nothing_of_the_next_drag() -> None:
    armature = make_tail(4)
    chain = add_chain(armature, "bone3", 2)
    assert drag("EXEC_DEFAULT", True, position=(0.3, 0.6, 3.5)) == {"FINISHED"}
    target = chain.target.location.copy()
    activate(armature, "bone1")
    assert drag("EXEC_DEFAULT", True, position=(0.4, 0.3, 1.8)) == {"FINISHED"}
    assert bpy.context.window_manager.operators[-1].properties.grab == "TIP" and chain.target.location == target


def test_auto_keying_keys_what_turned_and_the_target() -> None:
    armature = make_tail(3)
    chain = add_chain(armature, "bone2", 2)
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    bpy.context.preferences.edit.use_keyframe_insert_available = False
    drag(position=(0.5, 0.5, 2.2))
    paths = {path for path, _ in keys_of(armature.animation_data.action)}
    assert paths == {f'pose.bones["bone{i}"].rotation_quaternion' for i in (1, 2)}
    assert {path for path, _ in keys_of(chain.target.animation_data.action)} == {"location"}


def test_out_of_reach_is_a_warning_and_the_best_pose(capfd: pytest.CaptureFixture[str]) -> None:
    armature = make_tail(3)
    activate(armature, "bone2")
    assert drag(chain_count=3, position=(0.0, 0.0, 30.0)) == {"FINISHED"}
    assert tail_of(armature, "bone2").z > 2.99
    assert "'bone2': out of reach" in capfd.readouterr().out


def test_what_can_not_be_dragged_is_refused() -> None:
    armature = make_tail(3)
    activate(armature, "bone2")
    assert "No chain of 'Rig' is active" in error_of(drag, grab="TARGET")
    bone = armature.pose.bones["bone2"]
    bone.lock_rotation, bone.lock_rotation_w = (True, True, True), True
    assert "Bone 'bone2': the rotation of bone 'bone2' is locked: unlock it" in error_of(drag, chain_count=1)
    bone.lock_rotation = (False, False, False)
    armature.scale = (0.0, 0.0, 0.0)
    assert "has a scale of 0" in error_of(drag, position=(1.0, 0.0, 0.0))
    armature.scale = (1.0, 1.0, 1.0)
    chain = add_chain(armature, "bone2", 2)
    chain.target = None
    assert "no target to drag" in error_of(drag, grab="TARGET")


def test_the_reason_is_said_where_it_can_not_be_used() -> None:
    armature: Any = make_tail(2)
    leave_mode()
    with pytest.raises(RuntimeError, match="Switch to Pose Mode"):
        drag()
    enter_pose_mode(armature)
    armature.data.bones.active = None
    with pytest.raises(RuntimeError, match="Select the bone to drag"):
        drag()
    armature.fabrik.body.parts.add()  # with a body a handle can be dragged
    assert error_of(drag) == "Select the bone to drag"


def test_at_another_frame_it_goes_on_and_cancel_gives_that_frames_pose() -> None:
    armature = make_tail(4)
    activate(armature, "bone3")
    bone, scene = armature.pose.bones["bone1"], bpy.context.scene
    for frame, turn in ((1, 0.0), (10, 0.5)):
        bone.rotation_quaternion = (1.0, turn, 0.0, 0.0)
        bone.keyframe_insert("rotation_quaternion", frame=frame)
    poses = {}
    for frame in (5, 1):
        scene.frame_set(frame)
        poses[frame] = pose_of(armature)
    session = ChainDrag(bpy.context.view_layer, armature, Grab("bone3"), 3)
    place = session.start_position + Vector((0.4, 0.2, -0.5))
    session.move(bpy.context.view_layer, place)
    scene.frame_set(5)
    session.restart(scene, bpy.context.view_layer)
    assert (session.tip_position - place).length < 1e-3
    session.cancel(bpy.context.view_layer)
    assert pose_of(armature) == poses[5]
    scene.frame_set(1)
    assert pose_of(armature) == poses[1]
    # At once, where the mode or the editor changes after the frame.
    session = ChainDrag(bpy.context.view_layer, armature, Grab("bone3"), 3)
    session.move(bpy.context.view_layer, place)
    scene.frame_set(5)
    session.cancel(bpy.context.view_layer)
    assert pose_of(armature) == poses[5]


def press(region: Any, kind: str, x: int, y: int) -> Any:
    """A key or button that is pressed at a pixel of a region."""
    keys = {"ctrl": False, "shift": False, "alt": False}
    return SimpleNamespace(type=kind, value="PRESS", mouse_x=region.x + x, mouse_y=region.y + y, **keys)


@pytest.mark.parametrize("kind", ["ESC", "LEFTMOUSE"])
def test_a_drag_that_waits_for_its_click_takes_the_frame_of_the_click(kind: str) -> None:
    """An animation may be played between the button and the click."""
    armature = make_tail(4)
    bone, scene = armature.pose.bones["bone1"], bpy.context.scene
    for frame, turn in ((1, 0.0), (10, 0.5)):
        bone.rotation_quaternion = (1.0, turn, 0.0, 0.0)
        bone.keyframe_insert("rotation_quaternion", frame=frame)
    scene.frame_set(1)
    (window,) = bpy.context.window_manager.windows
    area = next(area for area in window.screen.areas if area.type == "VIEW_3D")
    region = next(region for region in area.regions if region.type == "WINDOW")
    with bpy.context.temp_override(window=window, area=area, region=region):
        session = ChainDrag(bpy.context.view_layer, armature, Grab("bone3"), 3)
        events = DragEvents(bpy.context, press(region, "LEFTMOUSE", -50, -50), session)
        scene.frame_set(10)
        pose, end = pose_of(armature), tail_of(armature, "bone3")
        result = events.handle(bpy.context, press(region, kind, region.width // 2, region.height // 2))
        assert (result == "CANCELLED") == (kind == "ESC")
        assert (session.start_position - end).length < 1e-6 and (session.position - end).length < 1e-6
        assert pose_of(armature) == pose
        session.cancel(bpy.context.view_layer)
    assert pose_of(armature) == pose


@pytest.mark.parametrize(
    ("handle", "grab", "has_body", "wanted"),
    [
        ("Hand.L", "BONE", True, ["position", "follows"]),
        ("", "BONE", True, ["position", "grab", "follows"]),
        ("", "TIP", True, ["position", "grab", "chain_count", "pins"]),
        ("", "BONE", False, ["position", "grab", "chain_count", "pins"]),
        ("", "TARGET", False, ["position", "grab", "pins"]),
        ("", "MOVE", False, ["position", "grab"]),
    ],
)
def test_the_redo_panel_shows_what_has_an_effect(handle: str, grab: str, has_body: bool, wanted: list[str]) -> None:
    armature: Any = make_tail(4)
    activate(armature, "bone3")
    if has_body:
        armature.fabrik.body.parts.add()
    drawn: list[tuple[str, str]] = []
    panel: Any = Drawing(POSE_OT_fabrik_drag, drawn)  # type: ignore[arg-type]
    panel.handle, panel.grab, panel.bl_rna = handle, grab, drag.get_rna_type()
    panel.draw(bpy.context)
    assert [name for _, name in drawn] == wanted


def test_the_tooltip_of_a_handle_names_it_and_its_keys() -> None:
    properties: Any = bpy.context.window_manager.operator_properties_last("pose.fabrik_drag")
    properties.handle = ""
    assert POSE_OT_fabrik_drag.description(bpy.context, properties) == ""
    properties.handle = "Hand.L"
    said = POSE_OT_fabrik_drag.description(bpy.context, properties)
    assert all(word in said for word in ("'Hand.L'", "R turns", "Ctrl click pins", "Alt click releases"))
    properties.handle = ""
