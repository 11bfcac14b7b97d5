# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A body looks at an object or a place: head, neck and chest, and the eyes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import bpy
import pytest
from bpy.types import Object
from mathutils import Matrix, Quaternion, Vector

from fabrik_addon.blender.bodies.body_look_at import EYE_CONE, look_of
from fabrik_addon.blender.drag.body_drag import BodyDrag
from fabrik_addon.blender.overlay.read_body import read_gaze
from tests.blender.rigs import (
    Bone,
    enter_pose_mode,
    error_of,
    leave_mode,
    make_armature,
    make_empty,
    metarig,
    overridden,
    printed,
    update,
)
from tests.blender.test_body import PIN_ANGLE, PIN_DISTANCE, angle, frame, height, own_rotations, place, turned

ops: Any = bpy.ops.pose


@pytest.fixture
def human() -> Object:
    """Rigify's human with a body, moved and turned."""
    armature = metarig("human_metarig")
    armature.location, armature.rotation_euler = (1.0, 2.0, 0.5), (0.0, 0.0, 0.7)
    update()
    assert ops.fabrik_body_add() == {"FINISHED"}
    update()
    return armature


def around(armature: Object, azimuth: float, elevation: float = 0.0, distance: float = 2.0) -> Vector:
    """A place around the head of Rigify's human, azimuth to its left, in the world."""
    a, e = math.radians(azimuth), math.radians(elevation)
    eyes = Vector((0.0, -0.12, 1.89))
    way = Vector((math.sin(a) * math.cos(e), -math.cos(a) * math.cos(e), math.sin(e)))
    return armature.matrix_world @ (eyes + distance * way)


def look(armature: Object, place: Vector, **options: Any) -> set[str]:
    found = ops.fabrik_body_look(location=place, **options)
    update()
    return found


def head_off(armature: Object) -> float:
    """Angle (degrees) between where the face points and the way to what is looked at."""
    found = look_of(bpy.context.view_layer, armature)
    assert found is not None
    now = found.head.matrix.to_quaternion()
    return math.degrees((now @ found.forward).angle(found.point - found.head.head - now @ found.start))


def head_rotation(armature: Object) -> Quaternion:
    return armature.pose.bones["spine.006"].matrix.to_quaternion()


def eye_off(armature: Object, side: str, at: Vector) -> float:
    eye = armature.pose.bones[f"eye.{side}"]
    way = armature.matrix_world.inverted() @ at - eye.head
    return math.degrees((eye.tail - eye.head).angle(way))


@pytest.mark.parametrize(("azimuth", "elevation"), [(40.0, 0.0), (-70.0, 15.0), (0.0, -35.0), (25.0, 40.0)])
def test_head_and_eyes_look_at_a_place(human: Object, azimuth: float, elevation: float) -> None:
    before = own_rotations(human)
    at = around(human, azimuth, elevation)
    assert look(human, at) == {"FINISHED"}
    assert head_off(human) < 0.5
    assert max(eye_off(human, side, at) for side in "LR") < 0.05
    by = turned(human, before)
    neck = by["spine.004"] + by["spine.005"] + by["spine.006"]
    chest = by["spine.001"] + by["spine.002"] + by["spine.003"]
    assert chest > 1.0 and 0.6 < neck / (neck + chest) < 0.95
    still = {name for name, turn in by.items() if turn < 1e-3}
    assert {"spine", "thigh.L", "shin.R", "upper_arm.L", "hand.R"} <= still, (
        "legs, hips and arms turn not in themselves"
    )


def test_it_looks_at_an_object_and_holds_that_while_others_are_pulled(human: Object) -> None:
    target = make_empty("Lamp", around(human, -50.0, 10.0))
    update()
    assert ops.fabrik_body_look(target="Lamp") == {"FINISHED"}
    body = human.fabrik.body
    assert body.use_look_at and body.look_target == target
    toes = {name: human.pose.bones[name].head.copy() for name in ("toe.L", "toe.R")}
    for handle, by in (("Chest", (0.1, -0.15, -0.1)), ("Hips", (-0.1, 0.0, -0.2)), ("Hand.L", (0.3, -0.3, 0.3))):
        assert ops.fabrik_body_pull(handle=handle, position=place(human, handle) + Vector(by)) == {"FINISHED"}
        update()
        assert head_off(human) < 4.0, handle
        assert max(eye_off(human, side, target.location) for side in "LR") < 0.05
    for name, before in toes.items():
        assert (human.pose.bones[name].head - before).length < PIN_DISTANCE * height(human)


@pytest.mark.parametrize("edit", ["apply", "roll"])
def test_rest_poses_that_are_edited_leave_the_direction_in_which_the_body_looks(human: Object, edit: str) -> None:
    """An imported armature lies on its back in its own space, and its rotation is applied after Make Body."""
    at = around(human, 40.0, 10.0)
    assert look(human, at) == {"FINISHED"}
    turned_head = (human.matrix_world @ human.pose.bones["spine.006"].matrix).to_quaternion()
    assert ops.fabrik_body_look_clear() == {"FINISHED"}
    ops.transforms_clear()
    assert ops.fabrik_body_remove() == {"FINISHED"}
    leave_mode()
    if edit == "apply":
        human.data.transform(Matrix.Rotation(-math.pi / 2.0, 4, "X") @ Matrix.Scale(100.0, 4))
        human.rotation_euler, human.scale = (math.pi / 2.0, 0.0, 0.7), (0.01, 0.01, 0.01)
    enter_pose_mode(human)
    assert ops.fabrik_body_add() == {"FINISHED"}
    if edit == "apply":
        leave_mode()
        human.select_set(True)
        assert bpy.ops.object.transform_apply() == {"FINISHED"}
        enter_pose_mode(human)
    else:
        bpy.ops.object.mode_set(mode="EDIT")
        human.data.edit_bones["spine.006"].roll += 1.0
        bpy.ops.object.mode_set(mode="POSE")
    assert look(human, at) == {"FINISHED"}
    head = (human.matrix_world @ human.pose.bones["spine.006"].matrix).to_quaternion()
    if edit == "roll":
        head = head @ Quaternion((0.0, 1.0, 0.0), -1.0)
    assert math.degrees(head.rotation_difference(turned_head).angle) < 1.0


def test_the_gaze_stays_where_an_object_was_that_is_deleted(human: Object) -> None:
    target = make_empty("Lamp", around(human, -30.0, 10.0))
    update()
    human.fabrik.body.look_target = target
    target.location = around(human, -50.0, 10.0)
    update()
    assert ops.fabrik_body_look() == {"FINISHED"}
    bpy.data.objects.remove(target)
    update()
    before = head_rotation(human)
    there = place(human, "Hand.R") + Vector((0.0, -0.1, 0.05))
    assert ops.fabrik_body_pull(handle="Hand.R", position=there) == {"FINISHED"}
    update()
    assert math.degrees(before.rotation_difference(head_rotation(human)).angle) < 1.0


def test_an_object_that_was_moved_is_followed_like_those_of_pins(human: Object) -> None:
    target = make_empty("Lamp", around(human, 30.0))
    update()
    human.fabrik.body.look_target = target
    assert human.fabrik.body.use_look_at
    assert ops.fabrik_body_look() == {"FINISHED"}
    target.location = around(human, -40.0, 20.0)
    update()
    assert ops.fabrik_body_follow() == {"FINISHED"}
    update()
    assert head_off(human) < 0.5


def test_a_drag_holds_the_gaze_and_its_cancel_restores_the_eyes(human: Object) -> None:
    at = around(human, 30.0, 10.0)
    look(human, at)
    names = ("eye.L", "eye.R", "spine.006", "spine.003")
    bits = {name: human.pose.bones[name].rotation_quaternion[:] for name in names}
    session = BodyDrag(bpy.context.view_layer, human, "spine.003")
    for step in range(1, 6):
        session.move(bpy.context.view_layer, session.start_position + step * Vector((0.03, 0.02, -0.03)))
        assert max(eye_off(human, side, at) for side in "LR") < 0.05
        assert head_off(human) < 2.0
    session.cancel(bpy.context.view_layer)
    assert {name: human.pose.bones[name].rotation_quaternion[:] for name in bits} == bits


def test_the_overlay_has_a_line_from_the_head_to_what_it_looks_at(human: Object) -> None:
    assert read_gaze(human).shape == (0, 3)
    at = around(human, 40.0)
    look(human, at)
    start, end = read_gaze(human)
    assert (Vector(end) - at).length < 1e-5
    head = human.pose.bones["spine.006"]
    assert (Vector(start) - human.matrix_world @ head.center).length < 1e-5
    target = make_empty("Lamp", around(human, -20.0))
    human.fabrik.body.look_target = target
    assert (Vector(read_gaze(human)[1]) - target.location).length < 1e-5


def test_the_next_pull_leaves_the_head_on_what_it_looks_at(human: Object) -> None:
    look(human, around(human, 20.0))
    before = frame(human, "spine.006")
    assert ops.fabrik_body_pull(handle="Hand.R", position=place(human, "Hand.R") + Vector((0, 0, 0.05))) == {"FINISHED"}
    update()
    assert angle(before, frame(human, "spine.006")) < 1.0
    assert head_off(human) < 0.5


@pytest.mark.parametrize("at", [(0.0, 0.0, 0.0), (0.0, 3.0, 1.8), (2.0, 1.5, 0.2)])
def test_a_pull_leaves_the_torso_though_the_gaze_is_beyond_the_necks_reach(at: tuple[float, float, float]) -> None:
    human = metarig("human_metarig")
    assert ops.fabrik_body_add() == {"FINISHED"}
    assert look(human, Vector(at)) == {"FINISHED"}
    before = frame(human, "spine.003")
    for _ in range(3):
        assert ops.fabrik_body_pull(handle="Hand.L", position=place(human, "Hand.L")) == {"FINISHED"}
        update()
    assert angle(before, frame(human, "spine.003")) < 0.5


def test_follow_objects_pressed_again_leaves_the_pose(human: Object) -> None:
    lamp = make_empty("Lamp", around(human, 165.0))
    cup = make_empty("Cup", place(human, "Hand.L"))
    update()
    assert ops.fabrik_body_look(target="Lamp") == {"FINISHED"}
    hand = human.fabrik.body.handles["Hand.L"]
    hand.use_pin, hand.target = True, cup
    held = place(human, "Hand.L")
    cup.location.z += 0.1
    lamp.location.z += 0.1
    update()
    assert ops.fabrik_body_follow() == {"FINISHED"}
    update()
    assert (place(human, "Hand.L") - held - Vector((0.0, 0.0, 0.1))).length < 1e-3
    before = own_rotations(human)
    assert ops.fabrik_body_follow() == {"FINISHED"}
    update()
    assert max(turned(human, before).values()) < 0.01


def test_a_pinned_head_keeps_its_rotation_and_the_eyes_look(human: Object) -> None:
    human.fabrik.body.handles["Head"].use_pin = True
    before = frame(human, "spine.006")
    at = around(human, 20.0)
    assert look(human, at) == {"FINISHED"}
    assert angle(before, frame(human, "spine.006")) < PIN_ANGLE
    assert max(eye_off(human, side, at) for side in "LR") < 0.05


def test_without_eyes_only_the_head_turns(human: Object) -> None:
    at = around(human, 40.0, 0.0, 0.5)
    look(human, at, use_eyes=False)
    eye = human.pose.bones["eye.L"]
    assert eye.matrix_basis.to_quaternion().angle < 1e-6
    assert head_off(human) < 0.5


def test_behind_the_back_neck_and_eyes_stop_at_their_limits(human: Object) -> None:
    assert look(human, around(human, 165.0)) == {"FINISHED"}
    assert 30.0 < head_off(human) < 90.0
    for side in "LR":
        eye = human.pose.bones[f"eye.{side}"]
        assert eye.matrix_basis.to_quaternion().angle == pytest.approx(EYE_CONE, abs=1e-3)
    by = {name: own.angle for name, own in own_rotations(human).items()}
    neck = [math.degrees(by[name]) for name in ("spine.004", "spine.005", "spine.006")]
    assert max(neck) < 25.0, "60 degrees to each side are shared by the three bones of the neck, with a little swing"


def test_what_keeps_the_head_from_the_point_is_named(human: Object, capfd: pytest.CaptureFixture[str]) -> None:
    assert look(human, around(human, 165.0)) == {"FINISHED"}
    assert "degrees away: the neck is at its limits" in printed(capfd)
    constraint = human.pose.bones["spine.006"].constraints.new("COPY_ROTATION")
    constraint.target = make_empty("World")
    assert look(human, around(human, 90.0)) == {"FINISHED"}
    assert "degrees away: constraint 'Copy Rotation' moves the head" in printed(capfd)
    human.fabrik.body.handles["Head"].use_pin = True
    assert look(human, around(human, 90.0)) == {"FINISHED"}
    assert "degrees away: the head is pinned" in printed(capfd)


def test_from_front_to_behind_bones_turn_evenly(human: Object) -> None:
    steps, last = [], None
    for azimuth in range(0, 179, 3):
        look(human, around(human, azimuth))
        now = own_rotations(human)
        if last is not None:
            steps.append(max(angle(last[name], now[name]) for name in now if not name.startswith("eye")))
        last = now
    reached = sorted(steps[:25])
    assert max(steps) <= 3.0 * reached[12], (max(steps), reached[12])


def test_a_point_that_comes_back_leaves_the_pose_as_it_was(human: Object) -> None:
    look(human, around(human, 0.0, 0.0))
    before = own_rotations(human)
    for azimuth in (60.0, 150.0, -120.0, -30.0, 0.0):
        look(human, around(human, azimuth))
    assert max(turned(human, before).values()) < 0.01
    look(human, around(human, 0.0))
    assert max(turned(human, before).values()) < 0.01, "and pressed again nothing changes"


def test_a_horse_looks_to_its_side() -> None:
    horse = metarig("horse_metarig")
    assert ops.fabrik_body_add() == {"FINISHED"}
    update()
    planted = [one.name for one in horse.fabrik.body.handles if one.use_position]
    assert len(planted) == 4
    before = {name: place(horse, name) for name in planted}
    at = horse.pose.bones["head"].head + Vector((3.0, -1.5, 0.3))
    assert look(horse, at) == {"FINISHED"}
    assert head_off(horse) < 0.5
    by = {name: math.degrees(own.angle) for name, own in own_rotations(horse).items()}
    assert min(by[f"neck.00{number}"] for number in (1, 2, 3, 4)) > 2.0 and by["head"] > 2.0
    for name in planted:
        assert (place(horse, name) - before[name]).length < PIN_DISTANCE * height(horse), name


def test_one_undo_step_and_a_redo(human: Object) -> None:
    bpy.ops.ed.undo_push(message="before")
    before = own_rotations(human)
    look(human, around(human, 40.0))
    after = own_rotations(human)
    bpy.ops.ed.undo_push(message="Look At")
    bpy.ops.ed.undo()
    assert not bpy.context.object.fabrik.body.use_look_at
    assert max(turned(bpy.context.object, before).values()) < 1e-4
    bpy.ops.ed.redo()
    assert max(turned(bpy.context.object, after).values()) < 1e-4


def test_auto_keying_keys_head_and_eyes_in_their_modes(human: Object) -> None:
    human.pose.bones["eye.L"].rotation_mode = "XYZ"
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    bpy.context.preferences.edit.use_keyframe_insert_available = False
    look(human, around(human, 40.0))
    curves = human.animation_data.action.layers[0].strips[0].channelbags[0].fcurves
    paths = {curve.data_path for curve in curves}
    assert 'pose.bones["spine.006"].rotation_quaternion' in paths
    assert 'pose.bones["eye.L"].rotation_euler' in paths and 'pose.bones["eye.R"].rotation_quaternion' in paths
    assert not any("thigh" in path or "location" in path for path in paths)


def test_a_bake_holds_head_and_eyes_on_an_object_that_moves(human: Object) -> None:
    lamp = make_empty("Lamp", around(human, 40.0, 10.0))
    lamp.keyframe_insert("location", frame=1)
    lamp.location = around(human, -50.0, -10.0)
    lamp.keyframe_insert("location", frame=13)
    scene = bpy.context.scene
    scene.frame_set(1)
    assert ops.fabrik_body_look(target="Lamp") == {"FINISHED"}
    assert ops.fabrik_body_bake(frame_start=1, frame_end=13) == {"FINISHED"}
    for number in (13, 4, 8, 1):
        scene.frame_set(number)
        assert head_off(human) < 0.5, number
        assert max(eye_off(human, side, lamp.location) for side in "LR") < 0.1, number


def test_a_look_may_be_keyed(human: Object) -> None:
    """The head looks from frame 5 on; until then it and the eyes are where the animation has them."""
    lamp = make_empty("Lamp", around(human, 40.0, 10.0))
    assert ops.fabrik_body_look(target="Lamp") == {"FINISHED"}
    for bone in human.pose.bones:
        bone.matrix_basis.identity()
    body = human.fabrik.body
    for number, use_look_at in ((1, False), (5, True)):
        body.use_look_at = use_look_at
        assert body.keyframe_insert("use_look_at", frame=number)
    scene = bpy.context.scene
    scene.frame_set(1)
    update()
    rest = head_rotation(human)
    assert ops.fabrik_body_bake(frame_start=1, frame_end=8) == {"FINISHED"}
    for number in (8, 5):
        scene.frame_set(number)
        assert head_off(human) < 0.5, number
        assert max(eye_off(human, side, lamp.location) for side in "LR") < 0.1, number
    for number in (4, 1):
        scene.frame_set(number)
        assert head_rotation(human).rotation_difference(rest).angle < 1e-3, number


def test_look_nowhere_leaves_the_pose_and_frees_the_head(human: Object) -> None:
    look(human, around(human, 40.0))
    now = own_rotations(human)
    assert ops.fabrik_body_look_clear() == {"FINISHED"}
    assert not human.fabrik.body.use_look_at and look_of(bpy.context.view_layer, human) is None
    assert max(turned(human, now).values()) == 0.0
    assert "The head looks at nothing" in error_of(ops.fabrik_body_look_clear)


def test_removed_with_the_body(human: Object) -> None:
    look(human, around(human, 40.0))
    assert ops.fabrik_body_remove() == {"FINISHED"}
    body = human.fabrik.body
    assert not body.use_look_at and not body.turned_by_look and Vector(body.forward).length == 0.0


def refused(armature: Object, message: str, **options: Any) -> None:
    """Look is refused with a message, and nothing is changed."""
    before = own_rotations(armature)
    body = armature.fabrik.body
    kept = body.use_look_at, body.look_target, body.look_location[:], body.use_eyes, body.turned_by_look
    found = error_of(lambda: ops.fabrik_body_look(**options))
    assert message in found, found
    assert max(turned(armature, before).values()) == 0.0
    assert (body.use_look_at, body.look_target, body.look_location[:], body.use_eyes, body.turned_by_look) == kept


def test_bad_input_is_named_and_changes_nothing(human: Object) -> None:
    refused(human, "There is nothing to look at")
    refused(human, "There is no object 'Sun' in the scene", target="Sun")
    inside = make_empty("Pin", around(human, 0.0, 0.0, 0.01))
    held = make_empty("Cup", (0.0, 0.0, 0.0))
    held.parent, held.parent_type, held.parent_bone = human, "BONE", "hand.R"
    enter_pose_mode(human)
    update()
    refused(human, "'Pin' is inside the head, bone 'spine.006'", target=inside.name)
    refused(human, "The head looks at 'Cup', which follows bone 'hand.R'", target="Cup")
    refused(human, "follows the armature itself", target=human.name)
    held.parent, held.hide_viewport = None, True
    refused(human, "'Cup' is disabled in viewports", target="Cup")
    refused(human, "The place has a position that is not a finite number", location=(math.nan, 0.0, 0.0))
    head = human.pose.bones["spine.006"]
    head.lock_rotation, head.lock_rotation_w = (True, True, True), True
    refused(human, "The rotation of bone 'spine.006' is locked", location=around(human, 20.0))


def test_a_body_without_a_head_is_named() -> None:
    bones = [Bone(f"leg{n}", (n, 0, 1), (n + 1, 0, 0)) for n in range(2)]
    armature = make_armature(bones, "Stool")
    part = armature.fabrik.body.parts.add()
    part.role, part.bone = "LIMB", "leg0"
    message = "The body of 'Stool' has no head that could look"
    assert error_of(ops.fabrik_body_look, location=(1.0, 0.0, 0.0)) == message, "there is no row in Skeleton to choose"
    armature.fabrik.body.parts.add().role = "HEAD"
    refused(armature, f"{message}: choose its bone in Skeleton", location=(1.0, 0.0, 0.0))


def test_a_head_on_a_neck_alone_looks() -> None:
    """Both were a limb, and the message named a row for a head that the panel Skeleton didn't have."""
    make_armature([Bone("neck", (0, 0, 0), (0, 0, 1)), Bone("head", (0, 0, 1), (0, -0.1, 1.6), "neck")])
    assert ops.fabrik_body_add() == {"FINISHED"}
    assert ops.fabrik_body_look(location=(1.0, -3.0, 2.0)) == {"FINISHED"}


def test_the_look_of_a_library_override_is_kept(tmp_path: Path) -> None:
    rig = metarig("human_metarig")
    rig.name = "Rig"
    shot = str(tmp_path / "shot.blend")
    rig = overridden(tmp_path)
    assert ops.fabrik_body_add() == {"FINISHED"}
    make_empty("Lamp", (0.6, -2.0, 1.9))
    enter_pose_mode(rig)
    update()
    assert ops.fabrik_body_look(target="Lamp", use_eyes=False) == {"FINISHED"}
    update()
    assert head_off(rig) < 0.5
    for _ in range(2):
        bpy.ops.wm.save_as_mainfile(filepath=shot)
        bpy.ops.wm.open_mainfile(filepath=shot)
    body = bpy.data.objects["Rig"].fabrik.body
    assert body.use_look_at and body.look_target.name == "Lamp" and not body.use_eyes
