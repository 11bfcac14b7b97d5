# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pinned handles that follow objects."""

from __future__ import annotations

import ctypes
import math
from itertools import pairwise
from typing import Any

import bpy
import numpy as np
import pytest
from bpy.types import Object
from mathutils import Euler, Vector

from fabrik_addon.blender.solving.stored_values import curves_of
from fabrik_addon.core.math.quaternion_arrays import angle_between
from tests.blender.rigs import edit_without_key, error_of, make_empty, metarig, printed, update

ops: Any = bpy.ops.pose


@pytest.fixture
def human() -> Object:
    """Rigify's human with a body, moved and turned."""
    armature = metarig("human_metarig")
    armature.location, armature.rotation_euler = (1.0, 2.0, 0.5), (0.0, 0.0, 0.7)
    update()
    assert ops.fabrik_body_add() == {"FINISHED"}
    return armature


@pytest.fixture
def prop(human: Object) -> Object:
    """An object near the left hand, which the pinned hand follows."""
    empty = make_empty("Cup", human.matrix_world @ Vector((0.6, -0.3, 1.2)))
    update()
    human.fabrik.body.handles["Hand.L"].target = empty
    return empty


def hand(armature: Object) -> Any:
    return armature.pose.bones["hand.L"]


def test_a_handle_is_pinned_where_it_is_and_no_bone_moves(human: Object, prop: Object) -> None:
    heads = {bone.name: bone.head.copy() for bone in human.pose.bones}
    assert human.fabrik.body.handles["Hand.L"].use_pin
    assert ops.fabrik_body_follow() == {"FINISHED"}
    update()
    assert max((bone.head - heads[bone.name]).length for bone in human.pose.bones) < 1e-4


def test_a_hand_stays_where_it_followed_a_prop_from_that_was_scaled_to_nothing(human: Object, prop: Object) -> None:
    """A prop that pops in has no size at first: the hand was sent 70000 km away."""
    place = hand(human).head.copy()
    prop.scale = (0.0, 0.0, 0.0)
    update()
    human.fabrik.body.handles["Hand.L"].target = prop
    prop.scale = (1.0, 1.0, 1.0)
    update()
    assert ops.fabrik_body_follow() == {"FINISHED"}
    update()
    assert (hand(human).head - place).length < 1e-4


def test_an_object_out_of_reach_is_the_target_of_its_handle(
    human: Object, prop: Object, capfd: pytest.CaptureFixture[str]
) -> None:
    """The hand was said to be away from where it was pinned."""
    prop.location.z += 3.0
    update()
    printed(capfd)
    assert ops.fabrik_body_follow() == {"FINISHED"}
    said, _, _ = printed(capfd).partition("\n")
    assert said.startswith("Warning: A handle doesn't reach its object: out of reach, the tip is ")
    assert " from its target: " in said


def test_it_follows_place_and_rotation(human: Object, prop: Object) -> None:
    start = human.matrix_world @ hand(human).matrix
    prop.location += Vector((-0.05, -0.1, 0.1))
    prop.rotation_euler = Euler((0.0, math.radians(15.0), 0.0))
    update()
    assert ops.fabrik_body_follow() == {"FINISHED"}
    update()
    found = human.matrix_world @ hand(human).matrix
    offset = start.translation - Vector(human.matrix_world @ Vector((0.6, -0.3, 1.2)))
    expected = prop.matrix_world.translation + prop.rotation_euler.to_matrix() @ offset
    assert (found.translation - expected).length < 2e-4
    turned = found.to_quaternion() @ start.to_quaternion().conjugated()
    assert abs(math.degrees(turned.angle) - 15.0) < 0.1


def test_both_hands_hold_one_box_that_is_carried_and_tilted(human: Object) -> None:
    """The hands are brought to the sides of a box first: they, the arms, the chest and the box are a closed loop."""
    box = make_empty("Box", human.matrix_world @ Vector((0.0, -0.45, 1.1)))
    update()
    to_box = box.matrix_world.inverted()
    for side, x in (("L", 0.18), ("R", -0.18)):
        place = human.matrix_world @ Vector((x, -0.4, 1.1))
        assert ops.fabrik_body_pull(handle=f"Hand.{side}", position=place) == {"FINISHED"}
        update()
        human.fabrik.body.handles[f"Hand.{side}"].target = box
    held = {side: to_box @ human.matrix_world @ human.pose.bones[f"hand.{side}"].matrix for side in "LR"}
    for way, angle in ((Vector((0.05, -0.05, 0.25)), 10.0), (Vector((-0.1, 0.0, -0.45)), -15.0)):
        box.location += way
        box.rotation_euler.y = math.radians(angle)
        update()
        assert ops.fabrik_body_follow() == {"FINISHED"}
        update()
        for side, before in held.items():
            now = box.matrix_world.inverted() @ human.matrix_world @ human.pose.bones[f"hand.{side}"].matrix
            assert (now.translation - before.translation).length < 4e-4, (side, angle)
            turned = now.to_quaternion() @ before.to_quaternion().conjugated()
            assert abs(math.degrees(turned.angle)) < 0.2 or abs(math.degrees(turned.angle) - 360.0) < 0.2


def test_it_comes_along_whenever_another_handle_is_pulled(human: Object, prop: Object) -> None:
    before = human.matrix_world @ hand(human).head
    prop.location.z += 0.1
    update()
    place = human.matrix_world @ human.pose.bones["hand.R"].head
    assert ops.fabrik_body_pull(handle="Hand.R", position=place + Vector((0.0, 0.0, 0.2))) == {"FINISHED"}
    update()
    assert (human.matrix_world @ hand(human).head - before - Vector((0.0, 0.0, 0.1))).length < 2e-4


def test_find_again_keeps_the_object(human: Object, prop: Object) -> None:
    handle = human.fabrik.body.handles["Hand.L"]
    offset = list(handle.target_offset)
    prop.location.x += 1.0
    update()
    assert ops.fabrik_body_find() == {"FINISHED"}
    handle = human.fabrik.body.handles["Hand.L"]
    assert handle.target == prop and list(handle.target_offset) == offset and handle.use_pin


def test_a_deleted_object_leaves_a_pin(human: Object, prop: Object) -> None:
    bpy.data.objects.remove(prop)
    handle = human.fabrik.body.handles["Hand.L"]
    assert handle.target is None and handle.use_pin
    assert "No pinned handle follows an object" in error_of(ops.fabrik_body_follow)


def test_a_pin_that_is_not_held_is_named(human: Object, prop: Object, capfd: pytest.CaptureFixture[str]) -> None:
    prop.location += Vector((3.0, 0.0, 0.0))
    update()
    there = human.matrix_world @ human.pose.bones["hand.R"].head
    for pulled in (
        lambda: ops.fabrik_body_pull(handle="Hand.R", position=there),
        lambda: ops.fabrik_body_turn(handle="Hand.R", angle=0.2),
        lambda: ops.fabrik_drag(handle="Hand.R", position=there + Vector((0.0, 0.0, 0.05))),
    ):
        assert pulled() == {"FINISHED"}
        ctypes.CDLL(None).fflush(None)  # C buffers what goes to a file
        assert "Warning: Handle 'Hand.L': out of reach" in capfd.readouterr().out


def test_an_object_that_follows_the_body_is_refused(human: Object, prop: Object) -> None:
    prop.parent, prop.parent_type, prop.parent_bone = human, "BONE", "hand.R"
    update()
    message = error_of(ops.fabrik_body_follow)
    assert "Handle 'Hand.L' follows 'Cup', which follows bone 'hand.R'" in message


@pytest.mark.parametrize("scale", [(0.0, 0.0, 0.0), (1.0, 1.5, 0.7), (0.0, 1.0, 2.0)], ids=repr)
def test_the_scale_of_an_object_rotates_no_handle(human: Object, prop: Object, scale: tuple[float, ...]) -> None:
    """By its whole matrix an object of scale 0 turned the hand by 145 degrees, a squashed one by up to 30."""
    prop.rotation_euler = (0.3, -0.8, 0.5)
    update()
    handle: Any = human.fabrik.body.handles["Hand.L"]
    handle.target = None
    handle.target = prop
    before = (human.matrix_world @ hand(human).matrix).to_quaternion()
    prop.scale = scale
    update()
    assert ops.fabrik_body_follow() == {"FINISHED"}
    assert (human.matrix_world @ hand(human).matrix).to_quaternion().rotation_difference(before).angle < 1e-3


def test_a_handle_that_is_pulled_keeps_its_new_place_beside_its_object(human: Object, prop: Object) -> None:
    """The next pull of another handle brought it back."""
    pulled = human.matrix_world @ hand(human).head + Vector((0.0, -0.1, 0.1))
    assert ops.fabrik_body_pull(handle="Hand.L", position=pulled) == {"FINISHED"}
    there = human.matrix_world @ hand(human).head
    assert ops.fabrik_body_follow() == {"FINISHED"}
    assert (human.matrix_world @ hand(human).head - there).length < 1e-4
    prop.location.z += 0.05
    update()
    assert ops.fabrik_body_follow() == {"FINISHED"}
    assert (human.matrix_world @ hand(human).head - there - Vector((0.0, 0.0, 0.05))).length < 1e-4


@pytest.mark.parametrize("channel", ["location", "rotation_euler", "scale"])
def test_an_object_that_is_nowhere_is_named(human: Object, prop: Object, channel: str) -> None:
    getattr(prop, channel).x = math.nan
    wanted = "Handle 'Hand.L': its object 'Cup' has a position that is not a finite number"
    assert error_of(ops.fabrik_body_follow) == wanted
    assert error_of(ops.fabrik_body_pull, handle="Hand.R", position=(0.0, 0.0, 1.0)) == wanted


@pytest.mark.parametrize("kind", ["disabled", "deleted"])
def test_an_object_that_is_not_evaluated_is_refused(human: Object, prop: Object, kind: str) -> None:
    """Its place is where it was long ago: the hand would be there at all frames."""
    prop.keyframe_insert("location", frame=1)
    if kind == "disabled":
        prop.hide_viewport = True
    else:
        bpy.context.scene.collection.objects.unlink(prop)
    reason = "is disabled in viewports" if kind == "disabled" else "is in no scene"
    for operator, options in (
        (ops.fabrik_body_follow, {}),
        (ops.fabrik_body_pull, {"handle": "Hand.R", "position": human.pose.bones["hand.R"].head}),
        (ops.fabrik_body_bake, {"frame_start": 1, "frame_end": 3}),
    ):
        assert f"Handle 'Hand.L': its object 'Cup' {reason}" in error_of(operator, **options)
    prop.hide_viewport, human.fabrik.body.handles["Hand.L"].use_pin = True, False
    assert ops.fabrik_body_pull(handle="Hand.R", position=human.pose.bones["hand.R"].head) == {"FINISHED"}


def test_a_body_is_baked_over_frames(human: Object, prop: Object) -> None:
    """The hand is in the cup's hand at every frame, and the feet stay."""
    start = human.matrix_world @ hand(human).head - prop.location
    prop.keyframe_insert("location", frame=1)
    prop.location += Vector((-0.05, -0.1, 0.2))
    prop.keyframe_insert("location", frame=9)
    scene = bpy.context.scene
    scene.frame_set(1)
    feet = [human.pose.bones[name].head.copy() for name in ("foot.L", "foot.R")]
    assert ops.fabrik_body_bake(frame_start=1, frame_end=9, step=2) == {"FINISHED"}
    for frame in (9, 3, 7, 1):
        scene.frame_set(frame)
        assert (human.matrix_world @ hand(human).head - prop.location - start).length < 3e-4
        now = [human.pose.bones[name].head for name in ("foot.L", "foot.R")]
        assert max((a - b).length for a, b in zip(feet, now, strict=True)) < 2e-4
    curves = human.animation_data.action.layers[0].strips[0].channelbags[0].fcurves
    assert {len(curve.keyframe_points) for curve in curves} == {5}


def bake_along(human: Object, paths: dict[str, tuple[Vector, Vector, Vector]], last: int) -> np.ndarray:
    """Bake a body whose handles follow objects on closed paths; return the largest rotation of a bone at each step.

    An object is ``(1 - cos a) / 2 f + sin a s + sin 2a t`` from its start, armature space, with the angle a of a frame.
    The last step is from the last frame to the first.
    """
    bones, followed = human.pose.bones, []
    for name, (far, sideways, twice) in paths.items():
        handle = human.fabrik.body.handles[name]
        place = bones[handle.bone].tail if handle.use_tail else bones[handle.bone].head
        start, led = place.copy(), make_empty(f"Led {name}", human.matrix_world @ place)
        update()
        handle.target = led
        followed.append((handle, led))
        for frame in range(1, last + 1):
            a = math.tau * (frame - 1) / (last - 1)
            way = far * (0.5 * (1.0 - math.cos(a))) + sideways * math.sin(a) + twice * math.sin(2.0 * a)
            led.location = human.matrix_world @ (start + way)
            led.keyframe_insert("location", frame=frame)
    scene = bpy.context.scene
    scene.frame_set(1)
    assert ops.fabrik_body_bake(frame_start=1, frame_end=last) == {"FINISHED"}
    names, poses = [part.bone for part in human.fabrik.body.parts if part.bone], []
    for frame in (*range(1, last + 1), 1):
        scene.frame_set(frame)
        poses.append(np.array([bones[name].matrix.to_quaternion() for name in names]))
    return np.array([angle_between(before, now).max() for before, now in pairwise(poses)])


def test_a_baked_body_comes_to_another_way_to_bend_in_several_frames(human: Object) -> None:
    """Hands are led so far forward that knees which bend give way to straight ones: a thigh rotated by 38 degrees from
    a frame to the next, 4.2 times what bones rotate by in the median frame."""
    paths = {
        f"Hand.{side}": (Vector((0.0, -0.7, 0.0)), Vector((outward, 0.0, 0.0)), Vector((0.0, 0.0, 0.3)))
        for side, outward in (("L", 0.1), ("R", -0.1))
    }
    rotations = bake_along(human, paths, last=41)
    for side in "LR":
        led = bpy.data.objects[f"Led Hand.{side}"]
        for frame in range(1, 42, 5):
            bpy.context.scene.frame_set(frame)
            at = human.matrix_world @ human.pose.bones[f"hand.{side}"].head
            assert (at - led.matrix_world.translation).length < 1e-4
    assert rotations.max() < 3.0 * np.median(rotations)


def test_a_closed_path_closes_the_pose_of_a_baked_body(human: Object) -> None:
    """The bound of rotations held the last frames back, by 33 degrees. The frames before lead to the pose at the end
    within bounds: in steps of 28 and 36 degrees they did not."""
    paths = {
        "Foot.L": (Vector((0.48, 0.62, 0.24)), Vector((0.13, 0.3, 0.12)), Vector()),
        "Head": (Vector((-0.2, -0.27, 0.22)), Vector((0.08, -0.15, -0.12)), Vector()),
    }
    rotations = bake_along(human, paths, last=41)
    assert math.degrees(rotations[-1]) < 0.5
    # The last step leaves straight knees at the edge of their reach.
    assert rotations[-8:-2].max() < 2.0 * np.median(rotations)


def test_locks_that_are_keyed_take_bones_out_of_a_baked_body(human: Object, prop: Object) -> None:
    """It ended in an error in Python: the frame before had another bone."""
    arm: Any = human.pose.bones["upper_arm.L"]
    arm.lock_rotations_4d = True
    for frame, is_locked in ((1, False), (3, False), (4, True), (6, True)):
        arm.lock_rotation, arm.lock_rotation_w = (is_locked,) * 3, is_locked
        arm.keyframe_insert("lock_rotation", frame=frame)
        arm.keyframe_insert("lock_rotation_w", frame=frame)
    assert ops.fabrik_body_bake(frame_start=1, frame_end=6) == {"FINISHED"}


@pytest.mark.parametrize("is_tweaked", [True, False], ids=["strip", "layer"])
def test_a_body_is_baked_into_actions_that_the_nla_blends(human: Object, prop: Object, is_tweaked: bool) -> None:
    """Keys are those with which the blended pose has the hand at the cup: in a strip, and in a layer upon one."""
    start = human.matrix_world @ hand(human).head - prop.location
    for frame in (1, 10):
        for bone in human.pose.bones:
            bone.keyframe_insert("rotation_quaternion", frame=frame)
    data: Any = human.animation_data
    track = data.nla_tracks.new()
    strip = track.strips.new("Walk", 1, data.action)
    data.action = None
    if is_tweaked:
        track.select = strip.select = True
        data.use_tweak_mode = True
    else:
        data.action, data.action_blend_type = bpy.data.actions.new("Layer"), 'COMBINE'
    prop.location += Vector((0.0, -0.1, 0.2))
    assert ops.fabrik_body_bake(frame_start=1, frame_end=3) == {"FINISHED"}
    if is_tweaked:
        data.use_tweak_mode = False
    for frame in (1, 2, 3):
        bpy.context.scene.frame_set(frame)
        assert (human.matrix_world @ hand(human).head - prop.location - start).length < 1e-3


def test_a_bake_of_a_body_says_what_keeps_a_handle_from_its_object(
    human: Object, prop: Object, capfd: pytest.CaptureFixture[str]
) -> None:
    """An IK constraint poses the arm after its channels are keyed: the bake said nothing."""
    constraint: Any = human.pose.bones["forearm.L"].constraints.new('IK')
    constraint.target, constraint.chain_count = make_empty("Elsewhere", human.matrix_world @ Vector((1.0, 0.0, 1.0))), 2
    prop.location.z += 0.2
    update()
    printed(capfd)
    assert ops.fabrik_body_bake(frame_start=1, frame_end=2) == {"FINISHED"}
    said = printed(capfd)
    assert "At 2 of 2 frames a handle doesn't reach its object" in said
    assert "overridden on bone 'forearm.L' (constraint 'IK' of bone 'forearm.L')" in said


def key_pin(handle: Any, pinned: dict[int, bool]) -> None:
    for frame, use_pin in pinned.items():
        handle.use_pin = use_pin
        assert handle.keyframe_insert("use_pin", frame=frame)


@pytest.mark.parametrize("other_hand", [False, True])
@pytest.mark.parametrize("frame", [1, 9])
def test_a_pin_may_be_keyed(human: Object, prop: Object, frame: int, other_hand: bool) -> None:
    """The hand follows from frame 5 on, from whatever frame the bake is started; until then it does what is keyed."""
    scene, arm = bpy.context.scene, human.pose.bones["upper_arm.L"]
    start = human.matrix_world @ hand(human).head - prop.location
    key_pin(human.fabrik.body.handles["Hand.L"], {1: False, 5: True, 8: True, 9: False})
    if other_hand:
        human.fabrik.body.handles["Hand.R"].target = make_empty("Ball", human.matrix_world @ Vector((-0.6, -0.3, 1.2)))
    for number, x in ((1, 0.0), (9, 0.1)):
        arm.rotation_quaternion.x = x
        arm.keyframe_insert("rotation_quaternion", frame=number)
        prop.keyframe_insert("location", frame=number)
        prop.location += Vector((-0.05, -0.1, 0.1))
    expected = {}
    for number in (1, 3, 4, 9):
        scene.frame_set(number)
        expected[number] = arm.rotation_quaternion.copy()
    scene.frame_set(frame)
    assert ops.fabrik_body_bake(frame_start=1, frame_end=9) == {"FINISHED"}
    for number in range(5, 9):
        scene.frame_set(number)
        assert (human.matrix_world @ hand(human).head - prop.location - start).length < 3e-4
    for number, rotation in expected.items():
        scene.frame_set(number)
        if not other_hand:  # a body that is solved may share what the animation has of it differently
            assert arm.rotation_quaternion.rotation_difference(rotation).angle < 1e-3, number
    curves = human.animation_data.action.layers[0].strips[0].channelbags[0].fcurves
    assert {len(curve.keyframe_points) for curve in curves if "use_pin" not in curve.data_path} == {9}


def test_a_bake_makes_up_for_a_constraint_on_the_forearm(human: Object, prop: Object) -> None:
    constraint = human.pose.bones["forearm.L"].constraints.new("COPY_ROTATION")
    constraint.target = make_empty("World")
    update()
    offset = human.matrix_world @ hand(human).head - prop.matrix_world.translation
    human.fabrik.body.handles["Hand.L"].target = prop
    prop.location += Vector((0.0, -0.1, 0.1))
    update()
    left = []
    for _ in range(2):
        assert ops.fabrik_body_bake(frame_start=1, frame_end=2) == {"FINISHED"}
        update()
        left.append((human.matrix_world @ hand(human).head - prop.matrix_world.translation - offset).length)
    assert left[0] < 0.1 and left[1] < 0.06  # 0.076 and 0.046; 0.17 without the correction


@pytest.mark.parametrize("scale", ((1.1, 1.0, 0.95), (1.2, 1.0, 0.9), (1.0, 1.2, 1.0)))
def test_a_bake_of_a_body_with_a_scaled_chest_reaches(
    human: Object, prop: Object, scale: tuple[float, float, float], capfd: pytest.CaptureFixture[str]
) -> None:
    """A hand was up to 90 mm from its object, and nothing was said."""
    human.pose.bones["spine.003"].scale = scale
    update()
    human.fabrik.body.handles["Hand.L"].target = prop
    start, offset = prop.location.copy(), human.matrix_world @ hand(human).head - prop.location
    for frame in range(1, 25):
        angle = math.tau * (frame - 1) / 23
        back = 0.16 * (1.0 - math.cos(angle))
        aside = Vector((-back, -0.2 * math.sin(angle) - back, 0.24 * math.sin(angle)))
        prop.location = start + human.matrix_world.to_quaternion() @ aside
        prop.keyframe_insert("location", frame=frame)
    bpy.context.scene.frame_set(1)
    printed(capfd)
    assert ops.fabrik_body_bake(frame_start=1, frame_end=24) == {"FINISHED"}
    assert "doesn't reach" not in printed(capfd)
    for frame in range(1, 25):
        bpy.context.scene.frame_set(frame)
        off = human.matrix_world @ hand(human).head - prop.matrix_world.translation - offset
        assert off.length < 1e-4


def test_a_body_baked_again_is_the_same(human: Object, prop: Object) -> None:
    prop.keyframe_insert("location", frame=1)
    prop.location.z += 0.2
    prop.keyframe_insert("location", frame=5)
    poses = []
    for _ in range(2):
        assert ops.fabrik_body_bake(frame_start=1, frame_end=5) == {"FINISHED"}
        bpy.context.scene.frame_set(4)
        poses.append([bone.matrix.copy() for bone in human.pose.bones])
    for first, second in zip(*poses, strict=True):
        assert (first.translation - second.translation).length < 1e-3


def test_a_body_that_can_not_be_baked_is_left_as_it_is(human: Object, prop: Object) -> None:
    human.fabrik.body.handles["Hand.L"].target = None
    before = [bone.matrix_basis.copy() for bone in human.pose.bones]
    assert "No pinned handle follows an object" in error_of(ops.fabrik_body_bake, frame_start=1, frame_end=3)
    human.fabrik.body.handles["Hand.L"].target = prop
    assert "before the start frame" in error_of(ops.fabrik_body_bake, frame_start=3, frame_end=1)
    assert [bone.matrix_basis for bone in human.pose.bones] == before
    assert human.animation_data is None or human.animation_data.action is None


def test_frames_at_which_something_of_a_body_is_not_evaluated_are_refused(human: Object, prop: Object) -> None:
    for hidden in (human, prop):
        for frame in (1, 2):
            hidden.hide_viewport = frame == 2
            hidden.keyframe_insert("hide_viewport", frame=frame)
        bpy.context.scene.frame_set(1)
        message = error_of(ops.fabrik_body_bake, frame_start=1, frame_end=3)
        assert message.startswith("Frame 2: ") and f"'{hidden.name}' is disabled in viewports" in message
        hidden.animation_data_clear()
        hidden.hide_viewport = False
    bone = human.pose.bones["forearm.L"]
    bone.keyframe_insert("rotation_mode", frame=1)
    message = error_of(ops.fabrik_body_bake, frame_start=1, frame_end=3)
    assert message == "The rotation mode of 'forearm.L' is animated: keys can be made for one mode only"
    assert not any(curve.data_path.endswith("rotation_quaternion") for curve in curves_of(human))


def test_a_bake_leaves_what_was_edited_without_a_key(human: Object, prop: Object) -> None:
    edits = edit_without_key(human, "hand.R")
    assert ops.fabrik_body_bake(frame_start=1, frame_end=2) == {"FINISHED"}
    assert edits.are_kept()


def test_a_curve_of_samples_is_named_and_keeps_them(human: Object, prop: Object) -> None:
    for frame in (1, 9):
        human.pose.bones["forearm.L"].keyframe_insert("rotation_quaternion", frame=frame)
    curves = human.animation_data.action.layers[0].strips[0].channelbags[0].fcurves
    for curve in curves:
        curve.convert_to_samples(1, 9)
    message = error_of(ops.fabrik_body_bake, frame_start=3, frame_end=5)
    assert "'forearm.L rotation_quaternion[0]'" in message and "samples" in message
    assert all(curve.sampled_points and not curve.keyframe_points for curve in curves)


def test_a_curve_modifier_that_changes_the_keys_is_named(human: Object, prop: Object) -> None:
    human.pose.bones["forearm.L"].keyframe_insert("rotation_quaternion", frame=1)
    for curve in human.animation_data.action.layers[0].strips[0].channelbags[0].fcurves:
        curve.modifiers.new("NOISE")
    message = error_of(ops.fabrik_body_bake, frame_start=1, frame_end=5)
    assert "'NOISE' on the curve 'forearm.L rotation_quaternion[0]'" in message
