# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""FK to IK over a range of frames: targets and poles that give the FK motion back."""

from __future__ import annotations

import math
from typing import Any

import bpy
import numpy as np
import pytest
from bpy.types import Object
from mathutils import Euler, Vector

from tests.blender.rigs import (
    Bone,
    edit_without_key,
    error_of,
    everything,
    keys_of,
    leave_mode,
    make_armature,
    make_empty,
    set_chain,
    tweak_strip_below_another,
    update,
)
from tests.blender.test_bake import go_to, shapes

LAST = 48
FRAMES = [*map(float, range(1, LAST + 1))]


def walker() -> tuple[Object, list[Any]]:
    """Two legs that walk: hips that travel and turn, thighs that swing, knees that bend and come all but straight."""
    bones = [Bone("hips", (0, 0, 1), (0, 0, 1.2), roll=0.2)]
    for side, x in (("L", 0.1), ("R", -0.1)):
        knee, ankle = (x, -0.03, 0.52), (x, 0.0, 0.08)
        bones.append(Bone(f"thigh.{side}", (x, 0, 0.95), knee, "hips", roll=0.5))
        bones.append(Bone(f"shin.{side}", knee, ankle, f"thigh.{side}", connected=True, roll=-0.3))
        bones.append(Bone(f"foot.{side}", ankle, (x, -0.15, 0.02), f"shin.{side}"))
    armature = make_armature(bones)
    pose = armature.pose.bones
    hinges = {side: pose[f"shin.{side}"].bone.matrix_local.to_3x3().inverted() @ Vector((1, 0, 0)) for side in "LR"}
    for frame in range(1, LAST + 1):
        phase = math.tau * frame / 24
        pose["hips"].location = (0.05 * math.sin(phase), 0.02 * math.sin(2 * phase), 0.06 * frame)
        pose["hips"].rotation_quaternion = Euler((0.05 * math.sin(phase), 0.3 * math.sin(phase), 0.02)).to_quaternion()
        for side, shift in (("L", 0.0), ("R", math.pi)):
            swing = Euler((0.5 * math.sin(phase + shift), 0.1, 0.05 * math.cos(phase))).to_quaternion()
            pose[f"thigh.{side}"].rotation_quaternion = swing
            bend = 0.45 - 0.51 * math.cos(phase + shift + 0.8)
            pose[f"shin.{side}"].rotation_quaternion = (
                math.cos(bend / 2),
                *(math.sin(bend / 2) * hinges[side]),
            )
            for part in ("thigh", "shin"):
                pose[f"{part}.{side}"].keyframe_insert("rotation_quaternion", frame=frame)
        pose["hips"].keyframe_insert("location", frame=frame)
        pose["hips"].keyframe_insert("rotation_quaternion", frame=frame)
    chains = []
    for side in "LR":
        target, pole = make_empty(f"ankle {side}"), make_empty(f"knee {side}", (0.0, -1.5, 0.5))
        chain = set_chain(armature, f"shin.{side}", 2, target, pole)
        chains.append(chain)
    go_to(1)
    return armature, chains


def snap(**options: Any) -> None:
    assert bpy.ops.pose.fabrik_key_targets(frame_start=1, frame_end=LAST, **options) == {"FINISHED"}


def refusal() -> str:
    """Return what *Key Targets* says against the targets; nothing changes."""
    before = everything()
    message = error_of(bpy.ops.pose.fabrik_key_targets, frame_start=1, frame_end=LAST)
    assert everything() == before
    return message


def bake() -> None:
    assert bpy.ops.pose.fabrik_bake(frame_start=1, frame_end=LAST) == {"FINISHED"}


def spoil(armature: Object) -> None:
    """Take the motion out of the legs, so that only targets and poles have it."""
    for side in "LR":
        for part in ("thigh", "shin"):
            bone = armature.pose.bones[f"{part}.{side}"]
            for frame in range(1, LAST + 1):
                bone.keyframe_delete("rotation_quaternion", frame=frame)
            bone.rotation_quaternion = (1.0, 0.0, 0.0, 0.0)
            bone.keyframe_insert("rotation_quaternion", frame=1)


def places(obj: Object) -> np.ndarray:
    found = []
    for frame in FRAMES:
        go_to(frame)
        found.append(obj.matrix_world.translation[:])
    return np.array(found)


def test_fk_to_targets_to_ik_gives_the_fk_motion_back() -> None:
    armature, _chains = walker()
    before = shapes(armature, FRAMES)
    snap()
    bake()
    assert np.abs(shapes(armature, FRAMES) - before).max() <= 1e-4 * 0.87


def test_targets_and_poles_alone_give_the_tips_and_knees_back() -> None:
    armature, _chains = walker()
    names = [bone.name for bone in armature.pose.bones]
    before = shapes(armature, FRAMES)[:, :, :3, 3]
    snap()
    spoil(armature)
    bake()
    after = shapes(armature, FRAMES)[:, :, :3, 3]
    off = np.linalg.norm(after - before, axis=2).max(axis=0)
    for side in "LR":
        assert off[names.index(f"foot.{side}")] <= 1e-4 * 0.87
        assert off[names.index(f"shin.{side}")] <= 1e-4 * 0.87


def test_poles_are_steady() -> None:
    armature, chains = walker()
    snap()
    for chain in chains:
        poles, roots = places(chain.pole_target), []
        knees = []
        for frame in FRAMES:
            go_to(frame)
            shin = armature.pose.bones[chain.tip]
            knees.append((armature.matrix_world @ shin.head)[:])
            roots.append((armature.matrix_world @ shin.parent.head)[:])
        away = poles - np.array(knees)
        steps = np.linalg.norm(np.diff(poles - np.array(roots), axis=0), axis=1)
        assert steps.max() < 0.35, steps.max()
        distances = np.linalg.norm(away, axis=1)
        assert distances.min() > 0.5 and distances.max() / distances.min() < 1.5
        turns = (away[1:] * away[:-1]).sum(axis=1) / distances[1:] / distances[:-1]
        assert turns.min() > 0.8


def test_a_pole_stays_on_its_side_while_the_chain_is_straight() -> None:
    armature = make_armature(
        [Bone("upper", (0, 0, 2), (0, 0, 1)), Bone("lower", (0, 0, 1), (0, 0, 0), "upper", connected=True)]
    )
    upper, lower = armature.pose.bones
    for frame in range(1, LAST + 1):
        upper.rotation_quaternion = Euler((0.3, 0.0, 0.04 * frame)).to_quaternion()
        lower.rotation_quaternion = Euler((max(0.0, math.sin(frame / 6)), 0.0, 0.0)).to_quaternion()
        upper.keyframe_insert("rotation_quaternion", frame=frame)
        lower.keyframe_insert("rotation_quaternion", frame=frame)
    chain = set_chain(armature, "lower", 2, make_empty("target"), make_empty("pole", (0.0, 3.0, 1.0)))
    before = shapes(armature, FRAMES)
    go_to(1)
    snap()
    poles = places(chain.pole_target)
    assert np.linalg.norm(np.diff(poles, axis=0), axis=1).max() < 0.3
    bake()
    assert np.abs(shapes(armature, FRAMES) - before).max() <= 1e-4 * 2.0


@pytest.mark.parametrize("mode", ["QUATERNION", "XYZ"])
def test_targets_on_bones_parented_and_turned(mode: str) -> None:
    armature, chains = walker()
    control = make_armature(
        [
            Bone("root", (0, 0, 0), (0, 1, 0.2)),
            Bone("ankle", (0.1, 0, 0.1), (0.1, 0.2, 0.1), "root", roll=0.4),
            Bone("knee", (0.1, -1, 0.5), (0.1, -1.2, 0.5), "ankle"),
        ],
        "Control",
    )
    control.location, control.rotation_euler, control.scale = (1.0, 0.2, 0.1), (0.1, 0.2, 0.7), (2.0, 2.0, 2.0)
    for bone in control.pose.bones:
        bone.rotation_mode = mode
    control.pose.bones["root"].keyframe_insert("location", frame=1)
    control.pose.bones["root"].location.x = 1.0
    control.pose.bones["root"].keyframe_insert("location", frame=LAST)
    leave_mode()
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="POSE")
    chains[0].target = chains[0].pole_target = control
    chains[0].subtarget, chains[0].pole_subtarget = "ankle", "knee"
    parent = make_empty("parent", (3.0, 0.0, 0.0))
    parent.rotation_euler, parent.scale = (0.3, 0.1, 1.0), (0.5, 0.5, 0.5)
    chains[1].target.parent = chains[1].pole_target.parent = parent
    update()
    go_to(1)
    chains[0].use_rotation = True
    before = shapes(armature, FRAMES)
    snap()
    bake()
    assert np.abs(shapes(armature, FRAMES) - before).max() <= 2e-4
    go_to(20)
    keys = keys_of(control.animation_data.action)
    assert len(keys['pose.bones["root"].location', 0]) == 2
    assert len(keys['pose.bones["ankle"].location', 0]) == LAST


@pytest.mark.parametrize("uneven", ["the target's parent", "the armature"])
def test_a_target_is_turned_under_an_uneven_scale(uneven: str) -> None:
    armature, (chain, _other) = walker()
    parent = make_empty("parent", (1.0, -2.0, 0.5))
    parent.rotation_euler = (0.3, 0.2, 1.0)
    (parent if uneven == "the target's parent" else armature).scale = (1.0, 1.2, 0.9)
    chain.target.parent, chain.pole_target = parent, None
    chain.target.rotation_mode, chain.target.delta_rotation_euler = "ZXY", (0.2, 0.1, 0.5)
    update()
    go_to(1)
    chain.use_rotation = True
    before = shapes(armature, FRAMES)
    snap(only_active=True)
    bpy.ops.pose.fabrik_bake(frame_start=1, frame_end=LAST, only_active=True)
    off = np.abs(shapes(armature, FRAMES) - before).max(axis=(1, 2, 3))
    # What Blender reads as the rotation of sheared axes jumps in between: nothing is exact there.
    assert np.quantile(off, 0.8) <= 2e-4 and off.max() <= 0.03


def test_keys_of_targets_outside_the_range_and_unkeyed_things_stay() -> None:
    armature, chains = walker()
    target = chains[0].target
    for frame, x in ((-5, 1.0), (60, 2.0)):
        target.location.x = x
        target.keyframe_insert("location", frame=frame)
    target.keyframe_insert("scale", frame=3)
    go_to(7)
    snap(step=2)
    keys = keys_of(target.animation_data.action)
    times = [frame for frame, _ in keys["location", 0]]
    assert times == [-5.0, *map(float, range(1, LAST + 1, 2)), 60.0]
    assert len(keys["scale", 0]) == 1
    assert bpy.context.scene.frame_current == 7
    assert [scene.name for scene in bpy.data.scenes] == ["Scene"]
    assert armature.animation_data.action is not None


def test_unkeyed_edits_of_keyed_channels_and_properties_stay() -> None:
    armature, chains = walker()
    target, pole = chains[0].target, chains[0].pole_target
    for obj in (target, pole):
        obj.keyframe_insert("rotation_euler", frame=1)
        obj.rotation_euler.x = 0.5
    edits = edit_without_key(armature, "foot.L")
    snap()
    assert edits.are_kept()
    assert target.rotation_euler.x == pole.rotation_euler.x == 0.5


def test_a_target_that_something_holds_is_named_and_nothing_changes() -> None:
    _armature, chains = walker()
    chains[1].target.constraints.new("LIMIT_LOCATION").use_max_z = True
    assert "its target 'ankle R' is moved elsewhere at frame 1" in refusal()
    chains[1].target.constraints.remove(chains[1].target.constraints[0])
    chains[1].target.lock_location[2] = True
    assert "locked" in error_of(bpy.ops.pose.fabrik_key_targets, frame_start=1, frame_end=LAST)


@pytest.mark.parametrize("held_by", ("driver", "DAMPED_TRACK", "COPY_ROTATION"))
def test_a_target_whose_rotation_something_holds_is_named_and_nothing_changes(held_by: str) -> None:
    """The bake from such targets rotated the tip bone by up to 86 degrees away from the motion."""
    _armature, chains = walker()
    chains[0].use_rotation, target = True, chains[0].target
    if held_by == "driver":
        target.driver_add("rotation_euler", 1).driver.expression = "1.0"
    else:
        target.constraints.new(held_by).target = make_empty("other", (3.0, 3.0, 3.0))
    go_to(1)
    assert "its target 'ankle L' is moved elsewhere at frame " in refusal()


def test_a_target_that_is_held_at_some_frames_is_named_with_the_first() -> None:
    _armature, chains = walker()
    target = chains[1].target
    limit = target.constraints.new("LIMIT_LOCATION")
    limit.use_min_x, limit.min_x = True, 5.0
    for frame, influence in ((1, 0.0), (10, 0.0), (11, 1.0), (12, 0.0)):
        limit.influence = influence
        limit.keyframe_insert("influence", frame=frame)
    go_to(1)
    assert "its target 'ankle R' is moved elsewhere at frame 11, " in refusal()


@pytest.mark.parametrize("is_other_ours", (False, True))
def test_a_target_whose_action_animates_another_object_is_refused(is_other_ours: bool) -> None:
    """As Duplicate Linked makes it; targets of both legs kept the keys of the first, after an error too."""
    _armature, chains = walker()
    target, other = chains[0].target, chains[1].target if is_other_ours else make_empty("other")
    for frame, x in ((1, 0.0), (10, 1.0)):
        target.location.x = x
        target.keyframe_insert("location", frame=frame)
    action = other.animation_data_create().action = target.animation_data.action
    other.animation_data.action_slot = target.animation_data.action_slot
    go_to(1)
    shared = f"Action '{action.name}' of 'ankle L' animates '{other.name}' too"
    assert refusal() == f"{shared}: give the object one of its own"
    other.animation_data.action = action.copy()
    snap()


def test_a_target_whose_rotation_mode_is_animated_is_refused() -> None:
    _armature, chains = walker()
    chains[0].use_rotation, target = True, chains[0].target
    for frame, mode in ((1, "XYZ"), (10, "QUATERNION")):
        target.rotation_mode = mode
        target.keyframe_insert("rotation_mode", frame=frame)
    go_to(1)
    assert refusal() == "The rotation mode of 'ankle L' is animated: keys can be made for one mode only"


def test_a_target_with_a_curve_of_samples_is_named_and_keeps_them() -> None:
    _armature, chains = walker()
    target = chains[0].target
    for frame in (1, LAST):
        target.keyframe_insert("location", index=1, frame=frame)
    (curve,) = target.animation_data.action.layers[0].strips[0].channelbags[0].fcurves
    curve.convert_to_samples(1, LAST)
    message = error_of(bpy.ops.pose.fabrik_key_targets, frame_start=10, frame_end=20)
    assert "location[1]" in message and "samples" in message
    assert len(curve.sampled_points) and not curve.keyframe_points


def strip_below(obj: Object, blend_type: str) -> None:
    """Put the object's keys into a strip of the NLA, and a new action above, as a layer."""
    data: Any = obj.animation_data
    strip = data.nla_tracks.new().strips.new("Below", 1, data.action)
    strip.frame_end = LAST
    data.action, data.action_blend_type = bpy.data.actions.new("Layer"), blend_type


@pytest.mark.parametrize("blend_type", ["ADD", "COMBINE"])
def test_targets_in_layers_of_the_nla_get_the_keys_that_bring_them_to_the_tips(blend_type: str) -> None:
    """An object with its rotation, and a bone: both have strips below that move them elsewhere."""
    armature, chains = walker()
    target = chains[0].target
    chains[0].use_rotation = True
    for frame, x in ((1, 0.3), (LAST, 2.0)):
        target.location.x = target.rotation_euler.z = x
        target.keyframe_insert("location", frame=frame)
        target.keyframe_insert("rotation_euler", frame=frame)
    controls = make_armature([Bone("control", (1, 0, 0), (1, 0, 1))], "Controls")
    control = controls.pose.bones["control"]
    for frame, x in ((1, 0.5), (LAST, -1.0)):
        control.location.x = x
        control.keyframe_insert("location", frame=frame)
    chains[1].target, chains[1].subtarget = controls, "control"
    leave_mode()
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="POSE")
    for obj in (target, controls):
        strip_below(obj, blend_type)
    snap()
    for frame in FRAMES:
        go_to(frame)
        tips = [armature.matrix_world @ armature.pose.bones[f"shin.{side}"].tail for side in "LR"]
        assert (target.matrix_world.translation - tips[0]).length < 1e-4
        assert (controls.matrix_world @ control.head - tips[1]).length < 1e-4
        foot = (armature.matrix_world @ armature.pose.bones["shin.L"].matrix).to_quaternion()
        turned = target.matrix_world.to_quaternion() @ chains[0].rotation_offset
        assert foot.rotation_difference(turned).angle < 1e-3


def test_a_target_whose_strips_override_its_keys_is_named_and_nothing_changes() -> None:
    _armature, chains = walker()
    target = chains[0].target
    target.keyframe_insert("location", frame=1)
    target.keyframe_insert("location", frame=LAST)
    tweak_strip_below_another(target)
    before = everything()
    message = error_of(bpy.ops.pose.fabrik_key_targets, frame_start=2, frame_end=LAST)
    assert "its target 'ankle L' can't be keyed at frame 2: NLA strips above override it" in message
    assert everything() == before
