# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Baking chains whose settings change in the course of time, and scenes whose time is stretched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bpy
import numpy as np
import pytest
from bpy.types import Object
from mathutils import Quaternion

from fabrik_addon.blender.solving.stored_values import curves_of
from tests.blender.rigs import clear_scene, error_of, everything, make_empty, make_tail, set_chain
from tests.blender.test_bake import animated_tail, bake, change_by_bake, go_to, key_path, shapes

FRAMES = [float(frame) for frame in range(1, 25)]


def key(armature: Object, setting: str, *keys: tuple[int, Any], chain: int = 0) -> None:
    for frame, value in keys:
        setattr(armature.fabrik.chains[chain], setting, value)
        armature.keyframe_insert(f"fabrik.chains[{chain}].{setting}", frame=frame)


def switched_off_between(armature: Object, _chain: Any) -> None:
    key(armature, "enabled", (1, True), (8, False), (16, True))


def switched_on_between(armature: Object, _chain: Any) -> None:
    key(armature, "enabled", (1, False), (8, True), (16, False))


def switched_by_a_driver(armature: Object, _chain: Any) -> None:
    driver = armature.driver_add("fabrik.chains[0].enabled").driver
    driver.type, driver.expression = "SCRIPTED", "frame > 10"


def second_chain(armature: Object, chain: Any, tip: str = "bone1", count: int = 2) -> Any:
    chain.pole_target = None
    second = set_chain(armature, tip, count, make_empty("middle", (0.5, 0.5, 1.5)))
    second.name = "second"
    return second


def one_of_a_tree_is_switched(armature: Object, chain: Any) -> None:
    second_chain(armature, chain)
    key(armature, "enabled", (1, False), (10, True), (20, False), chain=1)


def one_of_a_tree_has_influence_at_times(armature: Object, chain: Any) -> None:
    second_chain(armature, chain)
    key(armature, "influence", (1, 0.0), (5, 0.0), (10, 1.0), (20, 1.0), (24, 0.0), chain=1)


def one_chain_or_the_other(armature: Object, chain: Any) -> None:
    second_chain(armature, chain, "bone2", 3)
    key(armature, "enabled", (1, False), (10, True), (20, False), chain=1)
    key(armature, "enabled", (1, True), (10, False), (20, True))


def far(chain: Any) -> None:
    key_path(chain.target, [(1.0, 1.0, 1.5), (-4.0, 0.5, 1.8), (0.2, -1.2, 2.0), (1.0, 0.0, 0.9)])


def stretches_while_switched_on(armature: Object, chain: Any) -> None:
    chain.use_stretch = True
    far(chain)
    key(armature, "enabled", (1, True), (6, False), (15, True))


def stretches_at_times(armature: Object, chain: Any) -> None:
    far(chain)
    key(armature, "use_stretch", (1, False), (6, True), (15, False))


def root_follows_at_times(armature: Object, chain: Any) -> None:
    far(chain)
    key(armature, "root_motion", (1, "FIXED"), (6, "TRANSLATE"), (15, "FIXED"))


def length_changes(armature: Object, _chain: Any) -> None:
    key(armature, "chain_count", (1, 2), (6, 3), (15, 1))


def locked_at_times(armature: Object, _chain: Any) -> None:
    bone = armature.pose.bones["bone1"]
    for frame, lock in ((1, True), (6, False), (15, True)):
        bone.lock_rotation = (lock, lock, lock)
        bone.keyframe_insert("lock_rotation", frame=frame)


@pytest.mark.parametrize(
    "change",
    [
        switched_off_between,
        switched_on_between,
        switched_by_a_driver,
        one_of_a_tree_is_switched,
        one_of_a_tree_has_influence_at_times,
        one_chain_or_the_other,
        stretches_while_switched_on,
        stretches_at_times,
        root_follows_at_times,
        length_changes,
        locked_at_times,
    ],
)
def test_a_baked_frame_is_that_frame_solved_with_the_settings_it_has(change: Callable[[Object, Any], None]) -> None:
    armature, chain = animated_tail()
    change(armature, chain)
    go_to(1)
    assert change_by_bake(armature, FRAMES).max() / 3.0 <= 2.5e-6


def test_frames_at_which_a_chain_is_disabled_are_not_reported() -> None:
    armature, chain = animated_tail()
    far(chain)
    key(armature, "enabled", (1, True), (5, False), (16, True))
    go_to(1)
    bake()
    assert chain.status == "REACHED"  # its target is out of reach around frame 9 alone


def test_a_chain_that_is_never_switched_on_is_not_baked() -> None:
    armature, chain = animated_tail()
    chain.enabled = False
    driver = armature.driver_add("fabrik.chains[0].enabled")
    driver.mute = True
    assert "disabled" in error_of(bpy.ops.pose.fabrik_bake, frame_start=1, frame_end=24)


def test_an_animated_rotation_mode_is_refused() -> None:
    armature, _chain = animated_tail()
    bone = armature.pose.bones["bone1"]
    for frame, mode in ((1, "QUATERNION"), (12, "XYZ")):
        bone.rotation_mode = mode
        bone.keyframe_insert("rotation_mode", frame=frame)
    go_to(1)
    message = error_of(bpy.ops.pose.fabrik_bake, frame_start=1, frame_end=24)
    assert message == "The rotation mode of 'bone1' is animated: keys can be made for one mode only"


@pytest.mark.parametrize("hidden", ("armature", "target", "pole"))
@pytest.mark.parametrize("has_locks", (False, True))
def test_frames_at_which_something_is_not_evaluated_are_refused(hidden: str, has_locks: bool) -> None:
    """They were keyed from where Blender had it last."""
    armature, chain = animated_tail()
    chain.pole_target = make_empty("pole", (0.0, -5.0, 1.0))
    armature.pose.bones["bone1"].lock_rotation[1] = has_locks
    obj = {"armature": armature, "target": chain.target, "pole": chain.pole_target}[hidden]
    for frame in (1, 8, 16):
        obj.hide_viewport = frame == 8
        obj.keyframe_insert("hide_viewport", frame=frame)
    go_to(1)
    before = everything()
    message = error_of(bpy.ops.pose.fabrik_bake, frame_start=1, frame_end=24)
    assert message.startswith("Frame 8: ") and f"'{obj.name}' is disabled in viewports" in message
    assert everything() == before
    if hidden == "armature":
        return
    # A target that isn't in use may be hidden.
    for frame, influence in ((1, 1.0), (8, 0.0), (16, 1.0)):
        chain.influence = influence
        chain.keyframe_insert("influence", frame=frame)
    for curve in curves_of(armature):
        if curve.data_path.endswith("influence"):
            for point in curve.keyframe_points:
                point.interpolation = "CONSTANT"
    go_to(1)
    assert bpy.ops.pose.fabrik_bake(frame_start=1, frame_end=24) == {"FINISHED"}


def test_a_track_that_is_shown_alone_is_named() -> None:
    armature, _chain = animated_tail()
    animation = armature.animation_data
    track = animation.nla_tracks.new()
    track.strips.new("strip", 1, animation.action).action_slot = animation.action_slot
    animation.action = None
    track.is_solo = True
    go_to(1)
    assert f"shows track '{track.name}' alone" in error_of(bpy.ops.pose.fabrik_bake, frame_start=1, frame_end=24)


# Time Stretching


@pytest.mark.parametrize(("old", "new"), [(100, 50), (50, 100), (30, 24)])
def test_keys_are_where_a_scene_whose_time_is_stretched_looks_for_them(old: int, new: int) -> None:
    armature, _chain = animated_tail()
    render = bpy.context.scene.render
    render.frame_map_old, render.frame_map_new = old, new
    go_to(1)
    assert change_by_bake(armature, FRAMES).max() / 3.0 <= 2.5e-6


def test_a_tweaked_strip_in_a_scene_whose_time_is_stretched() -> None:
    armature, _chain = animated_tail()
    render = bpy.context.scene.render
    render.frame_map_old, render.frame_map_new = 100, 50
    animation = armature.animation_data
    track = animation.nla_tracks.new()
    strip = track.strips.new("strip", 1, animation.action)
    strip.action_slot = animation.action_slot
    animation.action = None
    strip.scale, strip.frame_start = 2.0, 3.0
    go_to(1)
    animation.nla_tracks.active, strip.select = track, True
    animation.use_tweak_mode = True
    go_to(1)
    assert change_by_bake(armature, FRAMES).max() / 3.0 <= 1e-5


def test_only_keyed_frames_are_frames_of_the_scene() -> None:
    armature, _chain = animated_tail()
    render = bpy.context.scene.render
    render.frame_map_old, render.frame_map_new = 100, 50
    go_to(1)
    bake(only_keyed=True)
    curve = (
        armature.animation_data.action.layers[0]
        .strips[0]
        .channelbags[0]
        .fcurves.find('pose.bones["bone0"].rotation_quaternion', index=0)
    )
    assert [key.co.x for key in curve.keyframe_points] == [1.0, 9.0, 16.0, 24.0]
    assert [key.type for key in curve.keyframe_points] == ["KEYFRAME", *["GENERATED"] * 3]  # time 1 is frame 0.5


def test_targets_keyed_from_a_pose_in_a_scene_whose_time_is_stretched() -> None:
    armature, chain = animated_tail()
    chain.pole_target = None
    render = bpy.context.scene.render
    render.frame_map_old, render.frame_map_new = 100, 50
    go_to(1)
    desired = shapes(armature, FRAMES)
    bpy.ops.pose.fabrik_key_targets(frame_start=1, frame_end=24)
    bake()
    tail = list(armature.pose.bones.keys()).index("bone finger")
    assert np.abs(shapes(armature, FRAMES)[:, tail, :3, 3] - desired[:, tail, :3, 3]).max() <= 1e-5


def keyed_tail(interpolation: str, last: int) -> Object:
    """A chain whose first bone is keyed at the first frame, the last one, and in the middle."""
    armature = make_tail(3)
    set_chain(armature, "bone2", 3, make_empty("target", (1.0, 0.5, 1.5)))
    bone = armature.pose.bones["bone0"]
    for frame, angle in ((1, 0.0), (last // 2, 0.3), (last, 1.2)):
        bone.rotation_quaternion = Quaternion((1.0, 0.0, 0.0), angle)
        bone.keyframe_insert("rotation_quaternion", frame=frame)
    for curve in curves_of(armature):
        for point in curve.keyframe_points:
            point.interpolation = interpolation
    return armature


def angle_at(armature: Object, frame: int) -> float:
    go_to(frame)
    return float(armature.pose.bones["bone0"].rotation_quaternion.angle)


@pytest.mark.parametrize("smart", [False, True])
def test_frames_after_the_range_hold_where_they_held(smart: bool) -> None:
    """The last new key was linear, or a curve: poses that were blocked with held keys drifted from there on."""
    clear_scene()
    armature = keyed_tail("CONSTANT", 40)
    assert bpy.ops.pose.fabrik_bake(frame_start=1, frame_end=20, smart=smart) == {"FINISHED"}
    held = angle_at(armature, 20)
    assert [angle_at(armature, frame) for frame in (25, 39)] == pytest.approx([held, held])
    assert angle_at(armature, 40) == pytest.approx(1.2, abs=1e-5)


def cycling_tail() -> Object:
    clear_scene()
    armature = keyed_tail("BEZIER", 24)
    for curve in curves_of(armature):
        curve.modifiers.new("CYCLES")
    return armature


@pytest.mark.parametrize(("first", "last", "step"), [(100, 110, 1), (10, 30, 1), (1, 40, 1), (1, 24, 4)])
def test_keys_that_change_the_length_of_a_cycle_are_refused(first: int, last: int, step: int) -> None:
    """They made one long cycle of it: a walk was changed at all its other frames."""
    armature = cycling_tail()
    before = [angle_at(armature, frame) for frame in (12, 35, 58, 105)]
    message = error_of(bpy.ops.pose.fabrik_bake, frame_start=first, frame_end=last, step=step)
    assert "'CYCLES' on the curve 'bone0 rotation_quaternion[0]'" in message and "the length of the cycle" in message
    assert [angle_at(armature, frame) for frame in (12, 35, 58, 105)] == before


def test_keys_beyond_a_cycle_that_repeats_to_no_side_are_no_fault() -> None:
    armature = cycling_tail()
    for curve in curves_of(armature):
        curve.modifiers[0].mode_before = curve.modifiers[0].mode_after = "NONE"
    assert bpy.ops.pose.fabrik_bake(frame_start=100, frame_end=110) == {"FINISHED"}


@pytest.mark.parametrize(("first", "last", "step"), [(1, 24, 1), (6, 20, 1), (6, 20, 3)])
def test_keys_within_a_cycle_are_repeated(first: int, last: int, step: int) -> None:
    armature = cycling_tail()
    assert bpy.ops.pose.fabrik_bake(frame_start=first, frame_end=last, step=step) == {"FINISHED"}
    assert angle_at(armature, 35) == pytest.approx(angle_at(armature, 12), abs=1e-5)
