# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""From Blender's own IK constraints to chains and back: the same meaning, and nothing jumps."""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from bpy.types import Object
from mathutils import Euler, Matrix, Vector

from fabrik_addon.blender.rig.library_items import LOST_DRIVERS
from tests.blender.rigs import (
    Bone,
    clear_scene,
    edit_without_key,
    enter_pose_mode,
    error_of,
    generated_rig,
    joints_of,
    leave_mode,
    link_action,
    make_armature,
    make_empty,
    make_tail,
    metarig,
    overridden,
    pose_of,
    set_chain,
    tweak_another_action,
    update,
    warnings_in,
)

TARGETS = [(0.3, -0.5, 0.8), (-0.4, -0.9, 0.5), (0.2, 0.9, 0.3), (0.9, 0.1, 0.6)]


def make_leg(roll: float = 0.3, bend: float = -0.1) -> Object:
    """A thigh and a shin that hang down from (0, 0, 1.8), bent a little, with a foot."""
    knee = (0.05, bend, 0.9)
    return make_armature(
        [
            Bone("hip", (0, 0, 2), (0, 0, 1.8)),
            Bone("thigh", (0, 0, 1.8), knee, "hip", roll=roll),
            Bone("shin", knee, (0, 0, 0), "thigh", connected=True, roll=0.7 * roll),
            Bone("foot", (0, 0, 0), (0, -0.3, 0), "shin"),
        ]
    )


def constrain(
    armature: Object,
    tip: str = "shin",
    count: int = 2,
    target: Object | None = None,
    pole: Object | None = None,
    pole_angle: float = 0.0,
) -> Any:
    constraint = armature.pose.bones[tip].constraints.new("IK")
    constraint.target, constraint.pole_target, constraint.pole_angle = target, pole, pole_angle
    constraint.chain_count = count
    update()
    return constraint


def heads(armature: Object) -> np.ndarray:
    update()
    return np.array([[*bone.head, *bone.tail] for bone in armature.pose.bones])


def turns(armature: Object) -> list[Any]:
    return [bone.matrix.to_quaternion() for bone in armature.pose.bones]


def notes(capfd: pytest.CaptureFixture[str]) -> str:
    ctypes.CDLL(None).fflush(None)
    return capfd.readouterr().out


@pytest.mark.parametrize("roll", [0.0, 0.3, -2.0, 3.1])
@pytest.mark.parametrize("pole_angle", [0.0, 1.0, -math.pi / 2, 3.0])
def test_nothing_jumps_and_the_chain_means_the_same(roll: float, pole_angle: float) -> None:
    armature = make_leg(roll)
    target, pole = make_empty("target", TARGETS[0]), make_empty("pole", (0.7, -3.0, 1.0))
    constraint = constrain(armature, target=target, pole=pole, pole_angle=pole_angle)
    theirs = []
    for place in TARGETS:
        target.location = place
        theirs.append((heads(armature), turns(armature)))
    target.location = TARGETS[0]
    before = heads(armature)
    bpy.ops.pose.fabrik_constraints_to_chains()
    assert constraint.mute
    assert np.abs(heads(armature) - before).max() <= 1e-6 * 1.8
    (chain,) = armature.fabrik.chains
    assert (chain.tip, chain.chain_count, chain.use_tail, chain.target, chain.pole_target) == (
        "shin",
        2,
        True,
        target,
        pole,
    )
    for place, (there, turned) in zip(TARGETS, theirs, strict=True):
        target.location = place
        bpy.ops.pose.fabrik_solve()
        assert np.abs(heads(armature) - there).max() <= 2e-3
        for bone, desired in zip(armature.pose.bones, turned, strict=True):
            assert abs(bone.matrix.to_quaternion().dot(desired)) > 1.0 - 2e-5, bone.name


@pytest.mark.parametrize("roll", [0.0, 0.3, -2.0])
@pytest.mark.parametrize("pole_angle", [0.0, 1.0, -2.5])
def test_a_chain_becomes_a_constraint_that_means_the_same(roll: float, pole_angle: float) -> None:
    armature = make_leg(roll)
    target, pole = make_empty("target", TARGETS[0]), make_empty("pole", (0.7, -3.0, 1.0))
    chain = set_chain(armature, "shin", 2, target, pole)
    chain.pole_angle = pole_angle
    bpy.ops.pose.fabrik_solve()
    before = heads(armature)
    bpy.ops.pose.fabrik_chains_to_constraints()
    assert np.abs(heads(armature) - before).max() <= 1e-3
    assert not chain.enabled
    (constraint,) = armature.pose.bones["shin"].constraints
    theirs = []
    for place in TARGETS:
        target.location = place
        theirs.append(heads(armature))
    constraint.mute, chain.enabled = True, True
    for place, there in zip(TARGETS, theirs, strict=True):
        target.location = place
        bpy.ops.pose.fabrik_solve()
        assert np.abs(heads(armature) - there).max() <= 2e-3


def test_a_chain_that_is_not_solved_is_what_a_constraint_moves(capfd: pytest.CaptureFixture[str]) -> None:
    armature = make_leg()
    target = make_empty("target", TARGETS[0])
    chain = set_chain(armature, "shin", 2, target)
    bpy.ops.pose.fabrik_solve()
    target.location = TARGETS[1]
    update()
    bpy.ops.pose.fabrik_chains_to_constraints()
    tip = armature.pose.bones["shin"].tail - target.location
    assert tip.length < 1e-3
    (line,) = warnings_in(capfd)
    assert f"Chain '{chain.name}': its tip was " in line and line.endswith("the constraint moves it")
    assert "other constraints" not in line


def test_joint_limits_that_blenders_ik_exceeds_are_among_the_reasons(capfd: pytest.CaptureFixture[str]) -> None:
    armature = metarig("human_metarig")
    bpy.ops.pose.fabrik_body_add()
    target = make_empty("target", armature.pose.bones["forearm.L"].tail + Vector((-0.15, -0.1, 0.1)))
    pole = make_empty("pole", (0.4, -1.0, 2.5))
    enter_pose_mode(armature)
    set_chain(armature, "forearm.L", 2, target, pole)
    bpy.ops.pose.fabrik_solve()
    notes(capfd)
    bpy.ops.pose.fabrik_chains_to_constraints()
    assert "of its length: joint limits, other constraints or drivers act" in notes(capfd)


def test_there_and_back_again_uses_what_is_there() -> None:
    armature = make_leg()
    target, pole = make_empty("target", TARGETS[0]), make_empty("pole", (0.7, -3.0, 1.0))
    set_chain(armature, "shin", 2, target, pole)
    bpy.ops.pose.fabrik_solve()
    before = heads(armature)
    bpy.ops.pose.fabrik_chains_to_constraints()
    (constraint,) = armature.pose.bones["shin"].constraints
    angle = constraint.pole_angle
    for _ in range(3):
        bpy.ops.pose.fabrik_constraints_to_chains()
        assert constraint.mute and armature.fabrik.chains[0].enabled
        bpy.ops.pose.fabrik_chains_to_constraints()
        assert not constraint.mute and not armature.fabrik.chains[0].enabled
    assert len(armature.fabrik.chains) == 1 and len(armature.pose.bones["shin"].constraints) == 1
    assert constraint.pole_angle == pytest.approx(angle, abs=2e-3)
    assert np.abs(heads(armature) - before).max() <= 1e-3
    bpy.ops.pose.fabrik_constraints_to_chains()
    assert "no IK constraint to convert" in error_of(bpy.ops.pose.fabrik_constraints_to_chains)


@pytest.mark.parametrize("roll", [0.0, 0.3, -2.0])
def test_a_chain_that_is_stretched_out_isnt_twisted(roll: float) -> None:
    armature = make_leg(roll)
    target, pole = make_empty("target", (0.3, -4.0, 0.8)), make_empty("pole", (0.7, -3.0, 1.0))  # out of reach
    set_chain(armature, "shin", 2, target, pole)
    bpy.ops.pose.fabrik_solve()
    before = heads(armature)
    bpy.ops.pose.fabrik_chains_to_constraints()
    assert np.abs(heads(armature) - before).max() <= 1e-2  # the foot too, which a twist would turn


@pytest.mark.parametrize("roll", [0.0, 0.3, -2.0])
@pytest.mark.parametrize("pole_angle", [0.0, 1.0, -2.5])
def test_a_leg_that_is_converted_stretched_out_bends_as_it_would_have(roll: float, pole_angle: float) -> None:
    armature = make_leg(roll)
    target, pole = make_empty("target", TARGETS[0]), make_empty("pole", (0.7, -3.0, 1.0))
    constrain(armature, target=target, pole=pole, pole_angle=pole_angle)
    there = heads(armature)
    target.location = (0.3, -4.0, 0.8)
    update()
    bpy.ops.pose.fabrik_constraints_to_chains()
    bpy.ops.pose.fabrik_solve()
    target.location = TARGETS[0]
    bpy.ops.pose.fabrik_solve()
    assert np.abs(heads(armature) - there).max() <= 2e-3


@pytest.mark.parametrize("pole_angle", [0.0, 1.0, -2.5])
def test_a_riggers_pole_angle_outlasts_a_leg_that_is_stretched_out(pole_angle: float) -> None:
    armature = make_leg()
    target, pole = make_empty("target", (0.3, -4.0, 0.8)), make_empty("pole", (0.7, -3.0, 1.0))
    constraint = constrain(armature, target=target, pole=pole, pole_angle=pole_angle)
    bpy.ops.pose.fabrik_constraints_to_chains()
    bpy.ops.pose.fabrik_solve()
    bpy.ops.pose.fabrik_chains_to_constraints()
    assert not constraint.mute and constraint.pole_angle == pytest.approx(pole_angle)


def test_what_is_converted_back_already_is_left_alone() -> None:
    armature = make_tail(3)
    chain = set_chain(armature, "bone2", 3, make_empty("target", (0.5, 0.5, 2.0)))
    bpy.ops.pose.fabrik_chains_to_constraints()
    assert "no chain to convert" in error_of(bpy.ops.pose.fabrik_chains_to_constraints)
    (constraint,) = armature.pose.bones["bone2"].constraints
    assert not constraint.mute and not chain.enabled


@pytest.mark.parametrize("side", [0.0, 0.3])
def test_bends_to_both_sides_and_in_two_planes_are_kept(side: float, capfd: pytest.CaptureFixture[str]) -> None:
    points = [(0.0, 0.0, 0.0), (0.0, -0.2, 1.0), (side, 0.1, 2.0), (0.0, 0.0, 2.8)]
    armature = make_armature(
        [Bone(f"bone{i}", points[i], points[i + 1], f"bone{i - 1}" if i else None, True) for i in range(3)]
    )
    pole = make_empty("pole", (0.0, -3.0, 1.0))
    constrain(armature, "bone2", 3, make_empty("target", (0.0, 0.0, 2.6)), pole, -math.pi / 2)
    notes(capfd)
    bpy.ops.pose.fabrik_constraints_to_chains()
    assert "solving rotates" not in notes(capfd)
    assert armature.fabrik.chains[0].pole_shape
    before = heads(armature)
    bpy.ops.pose.fabrik_solve()
    assert armature.fabrik.chains[0].status == "REACHED"
    # Blender's own IK leaves the tip 1e-4 and more off its target.
    assert np.abs(heads(armature) - before).max() <= 2e-3


@pytest.mark.parametrize("use_tail", [True, False])
@pytest.mark.parametrize("count", [0, 1, 2, 9])
def test_chain_length_and_tail(use_tail: bool, count: int) -> None:
    armature = make_tail(4)
    target = make_empty("target", (0.6, 1.2, 2.0))
    constraint = constrain(armature, "bone3", count, target)
    constraint.use_tail = use_tail
    update()
    before = heads(armature)
    bpy.ops.pose.fabrik_constraints_to_chains()
    assert np.abs(heads(armature) - before).max() <= 4e-6
    (chain,) = armature.fabrik.chains
    there = 4 if use_tail else 3
    assert len(joints_of(armature, chain)) - 1 == (min(count, there) if count else there)
    bpy.ops.pose.fabrik_solve()
    assert np.abs(heads(armature) - before).max() <= 5e-3


def test_a_target_bone_its_rotation_and_a_scaled_turned_armature() -> None:
    armature = make_leg()
    armature.scale, armature.rotation_euler, armature.location = (1.5, 1.5, 1.5), (0.3, -0.4, 1.0), (1.0, 2.0, 3.0)
    thigh, shin = armature.pose.bones["thigh"], armature.pose.bones["shin"]
    thigh.rotation_quaternion, shin.rotation_quaternion = Euler((0.9, 0.1, -0.2)).to_quaternion(), (0.9, -0.4, 0.1, 0.0)
    update()
    to_world = armature.matrix_world
    desired = [heads(armature), shin.matrix.to_quaternion()]
    at_tail = to_world @ Matrix.LocRotScale(shin.tail, shin.matrix.to_quaternion(), None)
    thigh.rotation_quaternion = shin.rotation_quaternion = (1.0, 0.0, 0.0, 0.0)
    control = make_armature([Bone("hand", (0, 0, 0), (0, 1, 0))], "Control")
    control.matrix_world = at_tail
    leave_mode()
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="POSE")
    constraint = constrain(armature, target=control)
    constraint.subtarget, constraint.use_rotation = "hand", True
    update()
    before = heads(armature)
    assert np.abs(before - desired[0]).max() < 1e-2  # Blender's own IK finds the pose
    bpy.ops.pose.fabrik_constraints_to_chains()
    (chain,) = armature.fabrik.chains
    assert chain.use_rotation and chain.subtarget == "hand"
    assert np.abs(heads(armature) - before).max() <= 4e-6
    bpy.ops.pose.fabrik_solve()
    assert chain.status == "REACHED"
    assert np.abs(heads(armature) - desired[0]).max() <= 1e-3
    assert abs(shin.matrix.to_quaternion().dot(desired[1])) > 1.0 - 1e-6


@pytest.mark.parametrize("stretched", [(0,), (1,), (0, 2)], ids=repr)
def test_bones_without_stretch_keep_their_size_below_stretched_ones(stretched: tuple[int, ...]) -> None:
    """Their scale wasn't written, and what hangs on them moved by up to their length."""
    armature = make_tail(3)
    for number in stretched:
        armature.pose.bones[f"bone{number}"].ik_stretch = 0.3
    constraint: Any = armature.pose.bones["bone2"].constraints.new("IK")
    constraint.target, constraint.chain_count = make_empty("target", (0.8, 1.2, 2.3)), 3
    update()
    before = np.array([bone.matrix for bone in armature.pose.bones])
    assert bpy.ops.pose.fabrik_constraints_to_chains() == {"FINISHED"}
    update()
    assert np.abs(np.array([bone.matrix for bone in armature.pose.bones]) - before).max() < 1e-4


def test_stretch_is_held_and_carried() -> None:
    armature = make_leg()
    for bone in armature.pose.bones:
        bone.ik_stretch = 0.5
    constrain(armature, target=make_empty("target", (0.0, -1.5, -0.6)))
    before = heads(armature)
    bpy.ops.pose.fabrik_constraints_to_chains()
    assert armature.fabrik.chains[0].use_stretch
    assert np.abs(heads(armature)[:3] - before[:3]).max() <= 1e-4


def test_influence_its_keys_and_its_driver_come_along() -> None:
    armature = make_leg()
    first = constrain(armature, target=make_empty("target", TARGETS[0]))
    for frame, value in ((1, 0.2), (11, 0.8)):
        first.influence = value
        first.keyframe_insert("influence", frame=frame)
    armature["blend"] = 0.25
    second = constrain(armature, "foot", 1, make_empty("toe", (0.0, -0.5, 0.4)))
    curve = second.driver_add("influence")
    variable = curve.driver.variables.new()
    variable.targets[0].id, variable.targets[0].data_path = armature, '["blend"]'
    curve.driver.expression = "var"
    bpy.context.scene.frame_set(1)
    bpy.ops.pose.fabrik_constraints_to_chains()
    shin, foot = armature.fabrik.chains["shin"], armature.fabrik.chains["foot"]
    bpy.context.scene.frame_set(6)
    assert shin.influence == pytest.approx(0.5)
    assert foot.influence == pytest.approx(0.25)
    armature["blend"] = 0.75
    armature.update_tag()
    bpy.context.scene.frame_set(7)
    assert foot.influence == pytest.approx(0.75)


def key_rotations(armature: Object, frame: int = 1) -> None:
    for bone in armature.pose.bones:
        bone.keyframe_insert("rotation_quaternion", frame=frame)
    update()


@pytest.mark.parametrize("what", ["influence keyed", "influence driven", "mute keyed"])
def test_keyed_bones_stay_where_a_constraint_with_an_animated_setting_had_them(
    what: str, capfd: pytest.CaptureFixture[str]
) -> None:
    armature = make_tail(6)
    constraint = constrain(armature, "bone3", 3, make_empty("target", (0.5, 0.0, 2.5)))
    key_rotations(armature)
    if what == "influence driven":
        constraint.driver_add("influence").driver.expression = "1.0"
    else:
        constraint.keyframe_insert(what.partition(" ")[0], frame=1)
    update()
    unkeyed = armature.pose.bones["bone5"]
    unkeyed.rotation_quaternion = (0.8, 0.6, 0.0, 0.0)
    enter_pose_mode(armature)
    before = heads(armature)
    bpy.ops.pose.fabrik_constraints_to_chains()
    assert heads(armature) == pytest.approx(before, abs=1e-5)
    assert unkeyed.rotation_quaternion[:] == pytest.approx((0.8, 0.6, 0.0, 0.0))
    assert "has moved" not in notes(capfd)
    bpy.ops.pose.fabrik_chains_to_constraints()
    assert heads(armature) == pytest.approx(before, abs=1e-5)


def test_unkeyed_edits_of_keyed_properties_stay_in_conversions() -> None:
    """Where the constraint's influence is keyed, edited without a key too."""
    armature = make_tail(4)
    constraint = constrain(armature, "bone2", 3, make_empty("target", (0.5, 0.0, 2.0)))
    constraint.keyframe_insert("influence", frame=1)
    edits = edit_without_key(armature, "bone twig")
    constraint.influence = 0.4
    update()
    before = heads(armature)
    enter_pose_mode(armature)
    bpy.ops.pose.fabrik_constraints_to_chains()
    assert edits.are_kept() and armature.fabrik.chains[0].influence == pytest.approx(0.4)
    assert heads(armature) == pytest.approx(before, abs=1e-5)
    armature.fabrik.chains[0].influence = 0.3
    bpy.ops.pose.fabrik_chains_to_constraints()
    assert edits.are_kept() and constraint.influence == pytest.approx(0.3)


def test_a_solved_pose_without_keys_stays_on_the_way_to_constraints() -> None:
    armature = make_tail(4)
    chain = set_chain(armature, "bone3", 3, make_empty("target", (0.5, 0.0, 2.5)))
    key_rotations(armature)
    chain.keyframe_insert("influence", frame=1)
    update()
    enter_pose_mode(armature)
    bpy.ops.pose.fabrik_solve()
    before = heads(armature)
    bpy.ops.pose.fabrik_chains_to_constraints()
    assert heads(armature) == pytest.approx(before, abs=1e-3)


def curves(armature: Object) -> Any:
    return armature.animation_data.action.layers[0].strips[0].channelbags[0].fcurves


def push_down(armature: Object) -> None:
    """Put the action into a strip of the NLA."""
    animation = armature.animation_data
    action, slot = animation.action, animation.action_slot
    strip = animation.nla_tracks.new().strips.new("strip", 1, action)
    strip.action_slot, animation.action = slot, None
    update()


def values(owner: Any, name: str) -> list[float]:
    found = []
    for frame in range(1, 40, 3):
        bpy.context.scene.frame_set(frame)
        found.append(float(getattr(owner, name)))
    return found


def test_modifiers_of_a_curve_come_along_there_and_back() -> None:
    armature = make_leg()
    constraint = constrain(armature, target=make_empty("target", TARGETS[0]))
    for name, first, second in (("influence", 0.2, 0.8), ("mute", False, True)):
        for frame, value in ((1, first), (6, second), (11, first)):
            setattr(constraint, name, value)
            constraint.keyframe_insert(name, frame=frame)
    for curve in curves(armature):
        curve.modifiers.new("CYCLES")
    expected = [values(constraint, name) for name in ("influence", "mute")]
    bpy.ops.pose.fabrik_constraints_to_chains()
    (chain,) = armature.fabrik.chains
    assert values(chain, "influence") == pytest.approx(expected[0])
    assert values(chain, "enabled") == [1.0 - value for value in expected[1]]
    bpy.ops.pose.fabrik_chains_to_constraints()
    assert values(constraint, "influence") == pytest.approx(expected[0])
    assert values(constraint, "mute") == expected[1]


def stash(armature: Object) -> None:
    """Put the action into a muted strip of the NLA, as *Stash* does."""
    push_down(armature)
    armature.animation_data.nla_tracks[0].mute = True
    update()


def add_noise(armature: Object) -> None:
    for curve in curves(armature):
        curve.modifiers.new("NOISE")


def key_in_a_strip_too(armature: Object) -> None:
    """Have the curves in a strip, and copies of them in the action at hand: muted, these would let the strip's show."""
    action = armature.animation_data.action
    push_down(armature)
    armature.animation_data.action = action.copy()
    armature.animation_data.action_slot = armature.animation_data.action.slots[0]
    update()


@pytest.mark.parametrize("how", [push_down, stash, tweak_another_action, key_in_a_strip_too, add_noise])
def test_a_switch_that_cant_be_carried_keeps_its_constraint_or_chain(how: Callable[[Object], None]) -> None:
    armature = make_leg()
    target = make_empty("target", TARGETS[0])
    constraint = constrain(armature, target=target)
    chain = set_chain(armature, "foot", 1, target)
    enter_pose_mode(armature)
    constraint.keyframe_insert("mute", frame=1)
    chain.keyframe_insert("enabled", frame=1)
    how(armature)
    assert "switch it on and off" in error_of(bpy.ops.pose.fabrik_constraints_to_chains)
    assert "switch it on and off" in error_of(bpy.ops.pose.fabrik_chains_to_constraints)
    assert not constraint.mute and chain.enabled and len(armature.fabrik.chains) == 1


def remove_influence(owner: Any) -> None:
    """Remove the keys of an influence, which stays as it is."""
    curves(owner.id_data).remove(curves(owner.id_data).find(owner.path_from_id("influence")))
    update()


@pytest.mark.parametrize("is_other_action", [False, True], ids=["there and back", "back in another action"])
@pytest.mark.parametrize("is_of_chain", [False, True], ids=["of the constraint", "of the chain"])
def test_keys_of_an_influence_that_were_removed_after_a_conversion_stay_away(
    is_of_chain: bool, is_other_action: bool
) -> None:
    """What is converted keeps its keys. Those in an action that was not at hand then are nobody's copy, and stay."""
    armature = make_leg()
    target = make_empty("target", TARGETS[0])
    convert = bpy.ops.pose.fabrik_constraints_to_chains, bpy.ops.pose.fabrik_chains_to_constraints
    owner: Any
    if is_of_chain:
        owner, convert = set_chain(armature, "shin", 2, target), (convert[1], convert[0])
    else:
        owner = constrain(armature, target=target)
    for frame, owner.influence in ((1, 0.0), (40, 0.3)):
        owner.keyframe_insert("influence", frame=frame)
    keyed = values(owner, "influence")
    animation: Any = armature.animation_data
    other = animation.action.copy()
    enter_pose_mode(armature)
    assert convert[0]() == {"FINISHED"}
    copy = armature.pose.bones["shin"].constraints[0] if is_of_chain else armature.fabrik.chains[0]
    assert values(copy, "influence") == pytest.approx(keyed)
    if is_other_action:
        animation.action, animation.action_slot = other, other.slots[0]
    else:
        remove_influence(copy)
    bpy.context.scene.frame_set(10)
    assert convert[1]() == {"FINISHED"}
    expected = keyed if is_other_action else [keyed[-1]] * len(keyed)
    assert values(owner, "influence") == pytest.approx(expected)
    if not is_other_action:
        assert convert[0]() == {"FINISHED"}, "once more"
        assert values(copy, "influence") == pytest.approx(expected)


def test_bones_without_keys_whose_constraint_has_no_influence_at_times_are_named(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Their own pose, which showed where the constraint has no influence, is gone after the conversion."""
    armature = make_leg()
    constraint = constrain(armature, target=make_empty("target", TARGETS[0]))
    for frame, influence in ((1, 1.0), (10, 0.0)):
        constraint.influence = influence
        constraint.keyframe_insert("influence", frame=frame)
    armature.pose.bones["thigh"].keyframe_insert("rotation_quaternion", frame=1)
    bpy.context.scene.frame_set(1)
    assert bpy.ops.pose.fabrik_constraints_to_chains() == {"FINISHED"}
    assert "where it has no influence, rotations without keys stay those of this frame: 'shin'" in notes(capfd)


@pytest.mark.parametrize("how", [push_down, stash, tweak_another_action])
def test_an_influence_in_the_nla_is_listed(how: Callable[[Object], None], capfd: pytest.CaptureFixture[str]) -> None:
    armature = make_leg()
    constraint = constrain(armature, target=make_empty("target", TARGETS[0]))
    constraint.keyframe_insert("influence", frame=1)
    how(armature)
    assert bpy.ops.pose.fabrik_constraints_to_chains() == {"FINISHED"}
    assert "NLA strips animate its influence" in notes(capfd)


@pytest.mark.parametrize(("theirs", "ours"), [("mute", "enabled"), ("influence", "influence")])
@pytest.mark.parametrize("is_linked", [False, True])
def test_an_action_that_others_have_too_keeps_its_constraints_and_chains(
    theirs: str, ours: str, is_linked: bool, tmp_path: Path
) -> None:
    """Copied and muted curves would be those of the other object too, or be gone when the file is loaded again."""
    armature = make_leg()
    constraint = constrain(armature, target=make_empty("target", TARGETS[0]))
    chain = set_chain(armature, "foot", 1, constraint.target)
    constraint.keyframe_insert(theirs, frame=1)
    chain.keyframe_insert(ours, frame=1)
    if is_linked:
        link_action(armature, tmp_path / "library.blend")
    else:
        twin = armature.copy()
        bpy.context.scene.collection.objects.link(twin)
    enter_pose_mode(armature)
    reason = "is linked" if is_linked else f"animates '{armature.name}.001' too"
    for convert in (bpy.ops.pose.fabrik_constraints_to_chains, bpy.ops.pose.fabrik_chains_to_constraints):
        assert f"stays as it is: Action '{armature.name}Action' of '{armature.name}' {reason}" in error_of(convert)
    # Curves that aren't carried are no reason.
    armature.animation_data.action = None
    armature.keyframe_insert("location", frame=1)
    if is_linked:
        link_action(armature, tmp_path / "other.blend")
    else:
        twin.animation_data.action = armature.animation_data.action
        twin.animation_data.action_slot = armature.animation_data.action_slot
    assert bpy.ops.pose.fabrik_constraints_to_chains() == {"FINISHED"} and constraint.mute
    assert bpy.ops.pose.fabrik_chains_to_constraints() == {"FINISHED"} and not chain.enabled


@pytest.mark.parametrize("name", ["mute", "enabled"])
def test_a_switch_that_is_keyed_comes_along_there_and_back(name: str) -> None:
    armature = make_leg()
    constraint = constrain(armature, target=make_empty("target", TARGETS[0]))
    for frame, is_on in ((1, True), (6, False), (11, True)):
        setattr(constraint, name, is_on == (name == "enabled"))
        constraint.keyframe_insert(name, frame=frame)
    for bone in armature.pose.bones:
        bone.keyframe_insert("rotation_quaternion", frame=1)
    theirs = []
    for frame in range(1, 13):
        bpy.context.scene.frame_set(frame)
        theirs.append((constraint.mute, heads(armature)))
    assert {mute for mute, _ in theirs} == {False, True}
    bpy.context.scene.frame_set(3)
    bpy.ops.pose.fabrik_constraints_to_chains()
    (chain,) = armature.fabrik.chains
    for frame, (mute, _) in enumerate(theirs, 1):
        bpy.context.scene.frame_set(frame)
        assert constraint.mute and chain.enabled != mute, frame
    bpy.context.scene.frame_set(1)
    action = armature.animation_data.action.copy()
    bpy.ops.pose.fabrik_bake(frame_start=1, frame_end=12)
    for frame, (_, there) in enumerate(theirs, 1):
        bpy.context.scene.frame_set(frame)
        tip = list(armature.pose.bones.keys()).index("shin")
        assert np.abs(heads(armature) - there)[tip, 3:].max() <= 2e-3, frame  # without a pole knees may differ
    armature.animation_data.action = action
    armature.animation_data.action_slot = action.slots[0]
    bpy.context.scene.frame_set(8)  # where it is disabled
    bpy.ops.pose.fabrik_chains_to_constraints()
    for frame, (mute, there) in enumerate(theirs, 1):
        bpy.context.scene.frame_set(frame)
        assert constraint.mute == mute and not chain.enabled, frame
        assert np.abs(heads(armature) - there).max() <= 1e-4, frame


def test_a_chains_own_driver_switches_its_constraint() -> None:
    armature = make_leg()
    chain = set_chain(armature, "shin", 2, make_empty("target", TARGETS[0]))
    driver = armature.driver_add("fabrik.chains[0].enabled").driver
    driver.type, driver.expression = "SCRIPTED", "frame > 5"
    bpy.context.scene.frame_set(8)
    bpy.ops.pose.fabrik_chains_to_constraints()
    (constraint,) = armature.pose.bones["shin"].constraints
    for frame in (2, 9, 3):
        bpy.context.scene.frame_set(frame)
        assert constraint.mute == (frame <= 5) and not chain.enabled


@pytest.mark.parametrize("is_animated", [False, True])
def test_drivers_that_are_lost_with_the_next_loading_are_named(
    is_animated: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Blender saves drivers that are added to an override, but not where its library has animation data."""
    armature = make_leg()
    if is_animated:
        armature["animated"] = 0.0
        armature.driver_add('["animated"]').driver.expression = "1.0"
    armature = overridden(tmp_path)
    constraint = constrain(armature, target=make_empty("target", TARGETS[0]))
    constraint.driver_add("influence").driver.expression = "0.5"
    notes(capfd)
    for convert in (bpy.ops.pose.fabrik_constraints_to_chains, bpy.ops.pose.fabrik_chains_to_constraints):
        if constraint.mute:  # the way back makes another constraint
            armature.pose.bones["shin"].constraints.remove(constraint)
        assert convert() == {"FINISHED"}
        assert (LOST_DRIVERS in notes(capfd)) == is_animated
    leave_mode()
    file = str(tmp_path / "shot.blend")
    bpy.ops.wm.save_as_mainfile(filepath=file)
    bpy.ops.wm.open_mainfile(filepath=file)
    armature = next(obj for obj in bpy.data.objects if obj.override_library and obj.type == "ARMATURE")
    drivers = [curve.data_path for curve in armature.animation_data.drivers]
    assert any("constraints" in path for path in drivers) != is_animated


def test_what_cant_be_a_chain_is_named_and_stays() -> None:
    armature = make_leg()
    reasons = {}
    for number, change in enumerate(("no target", "distance", "rotation alone", "vertex group")):
        constraint = constrain(armature, target=make_empty(f"target{number}", TARGETS[0]))
        if change == "no target":
            constraint.target = None
        elif change == "distance":
            constraint.ik_type = "DISTANCE"
        elif change == "rotation alone":
            constraint.use_rotation, constraint.use_location = True, False
        else:
            mesh = bpy.data.objects.new("mesh", bpy.data.meshes.new("mesh"))
            bpy.context.scene.collection.objects.link(mesh)
            constraint.target, constraint.subtarget = mesh, "group"
        reasons[change] = error_of(bpy.ops.pose.fabrik_constraints_to_chains)
        assert not constraint.mute and not armature.fabrik.chains
        armature.pose.bones["shin"].constraints.remove(constraint)
    assert "has no target" in reasons["no target"]
    assert "distance" in reasons["distance"]
    assert "rotation only" in reasons["rotation alone"]
    assert "vertex group of 'mesh'" in reasons["vertex group"]


@pytest.mark.parametrize("role", ["target", "pole"])
def test_a_constraint_whose_goal_was_deleted_stays_and_the_others_are_converted(
    role: str, capfd: pytest.CaptureFixture[str]
) -> None:
    armature = make_tail(6)
    goals = {name: make_empty(name, (0.5, -1.0, 2.0)) for name in ("target", "pole")}
    first = constrain(armature, "bone2", 3, make_empty("other", (0.5, 0.0, 2.0)))
    second = constrain(armature, "bone5", 3, goals["target"], goals["pole"])
    bpy.context.scene.collection.objects.unlink(goals[role])  # as Delete in the viewport does
    update()
    enter_pose_mode(armature)
    assert bpy.ops.pose.fabrik_constraints_to_chains() == {"FINISHED"}
    assert f"Constraint 'IK' of bone 'bone5' stays as it is: its {role} '{role}' is in no scene" in notes(capfd)
    assert first.mute and not second.mute
    assert [chain.tip for chain in armature.fabrik.chains] == ["bone2"]
    assert armature.fabrik.chains[0].conversion


def test_a_chain_whose_target_bone_is_gone_stays_and_the_others_are_converted(
    capfd: pytest.CaptureFixture[str],
) -> None:
    other = make_tail(2, "Other", "other")
    armature = make_tail(6)
    first = set_chain(armature, "bone2", 2, make_empty("target", (0.5, 0.0, 2.0)))
    second = set_chain(armature, "bone5", 2, other)
    second.subtarget = "gone"
    enter_pose_mode(armature)
    assert bpy.ops.pose.fabrik_chains_to_constraints() == {"FINISHED"}
    assert "Chain 'bone5' stays as it is: its target 'Other' has no bone 'gone'" in notes(capfd)
    assert not first.enabled and second.enabled
    assert [bone.name for bone in armature.pose.bones if bone.constraints] == ["bone2"]


@pytest.mark.parametrize("role", ["target", "pole"])
@pytest.mark.parametrize("how", ["is in no scene", "is disabled in viewports", "is not a finite number"])
def test_a_chain_whose_goal_is_nowhere_stays(role: str, how: str) -> None:
    armature = make_tail(4)
    goals = {name: make_empty(name, (0.5, -1.0, 2.0)) for name in ("target", "pole")}
    set_chain(armature, "bone3", 3, goals["target"], goals["pole"])
    if how == "is in no scene":
        bpy.context.scene.collection.objects.unlink(goals[role])  # as Delete in the viewport does
    elif how == "is disabled in viewports":
        goals[role].hide_viewport = True
    else:
        goals[role].location.x = math.nan
    enter_pose_mode(armature)
    message = error_of(bpy.ops.pose.fabrik_chains_to_constraints)
    assert message.startswith(f"Chain 'bone3' stays as it is: its {role} '{role}'") and how in message


def test_a_chain_that_ends_at_no_tail_stays() -> None:
    """Blender's IK brings the tail of the tip's parent to the target: limbs of bones that point across rotated by 180
    degrees, and the message named joint limits and drivers."""
    armature = make_armature(
        [Bone(f"bone{i}", (0.0, -0.1 * (i % 2), i), (0.0, 0.5, i), f"bone{i - 1}" if i else None) for i in range(3)]
    )
    chain = set_chain(armature, "bone2", 2, make_empty("target", (0.0, -0.5, 1.8)))
    chain.use_tail = False
    enter_pose_mode(armature)
    error = error_of(bpy.ops.pose.fabrik_chains_to_constraints)
    assert "Blender's IK would end at the tail of 'bone1', not at the head of 'bone2'" in error
    assert chain.enabled and not armature.pose.bones["bone2"].constraints


def test_a_constraint_that_ends_at_no_tail_is_taken_again() -> None:
    armature = make_armature(
        [Bone(f"bone{i}", (0.0, -0.1 * (i % 2), i), (0.0, 0.5, i), f"bone{i - 1}" if i else None) for i in range(3)]
    )
    constraint = constrain(armature, "bone2", 2, make_empty("target", (0.0, -0.5, 1.8)))
    constraint.use_tail = False
    enter_pose_mode(armature)
    assert bpy.ops.pose.fabrik_constraints_to_chains() == {"FINISHED"}
    assert bpy.ops.pose.fabrik_chains_to_constraints() == {"FINISHED"}
    assert not constraint.mute


@pytest.mark.parametrize("role", ["target", "pole"])
def test_a_chain_whose_goal_follows_its_own_bones_stays(role: str) -> None:
    armature = make_tail(4)
    goals = {name: make_empty(name, (0.5, -1.0, 2.0)) for name in ("target", "pole")}
    goals[role].parent, goals[role].parent_type, goals[role].parent_bone = armature, "BONE", "bone2"
    enter_pose_mode(armature)
    set_chain(armature, "bone3", 3, goals["target"], goals["pole"])
    assert f"its {role} '{role}' depends on the chain itself" in error_of(bpy.ops.pose.fabrik_chains_to_constraints)
    assert not armature.pose.bones["bone3"].constraints


@pytest.mark.parametrize("role", ["target", "pole"])
def test_a_constraint_whose_goal_follows_its_own_bones_stays(role: str) -> None:
    """Its chain could neither be solved nor converted back."""
    armature = make_leg()
    goals = {name: make_empty(name, (0.5, -1.0, 0.5)) for name in ("target", "pole")}
    goals[role].parent, goals[role].parent_type, goals[role].parent_bone = armature, "BONE", "thigh"
    constraint = constrain(armature, target=goals["target"], pole=goals["pole"])
    assert f"its {role} '{role}' depends on the chain itself" in error_of(bpy.ops.pose.fabrik_constraints_to_chains)
    assert not constraint.mute and not armature.fabrik.chains


def test_a_chain_that_is_a_native_rig_stays() -> None:
    """Both posed the bones, and the influence of the constraint did nothing."""
    armature = make_tail(4)
    enter_pose_mode(armature)
    set_chain(armature, "bone3", 3, make_empty("target", (0.8, -1.2, 3.0)), make_empty("pole", (0.0, -4.0, 2.0)))
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    assert error_of(bpy.ops.pose.fabrik_chains_to_constraints).endswith("remove the rig first")
    assert bpy.ops.pose.fabrik_rig_remove() == {"FINISHED"}
    assert bpy.ops.pose.fabrik_chains_to_constraints() == {"FINISHED"}


@pytest.mark.parametrize("is_disabled", [False, True])
def test_a_constraint_that_was_unmuted_by_hand_is_converted_as_the_first_time(is_disabled: bool) -> None:
    """Its bones were unlocked then, and stayed so; where the chain was enabled, a second constraint was added."""
    armature = make_leg()
    constraint = constrain(armature, target=make_empty("target", TARGETS[0]))
    shin = armature.pose.bones["shin"]
    shin.lock_rotation = (True, False, True)
    before = pose_of(armature)
    assert bpy.ops.pose.fabrik_constraints_to_chains() == {"FINISHED"}
    constraint.mute, armature.fabrik.chains[0].enabled = False, not is_disabled
    update()
    if is_disabled:
        assert bpy.ops.pose.fabrik_constraints_to_chains() == {"FINISHED"}
    assert bpy.ops.pose.fabrik_chains_to_constraints() == {"FINISHED"}
    assert [*shin.constraints] == [constraint] and not constraint.mute
    assert tuple(shin.lock_rotation) == (True, False, True) and pose_of(armature) == before


def test_the_constraints_of_selected_bones_alone() -> None:
    armature = make_leg()
    shin = constrain(armature, target=make_empty("target", TARGETS[0]))
    foot = constrain(armature, "foot", 1, make_empty("toe", (0.0, -0.5, 0.4)))
    for bone in armature.pose.bones:
        bone.select = bone.name == "foot"
    bpy.ops.pose.fabrik_constraints_to_chains(only_selected=True)
    assert foot.mute and not shin.mute
    assert [chain.tip for chain in armature.fabrik.chains] == ["foot"]


def test_what_a_chain_cant_do_is_listed(capfd: pytest.CaptureFixture[str]) -> None:
    armature = make_leg()
    constraint = constrain(armature, target=make_empty("target", TARGETS[0]))
    constraint.iterations, constraint.use_rotation, constraint.orient_weight = 50, True, 0.3
    notes(capfd)
    bpy.ops.pose.fabrik_constraints_to_chains()
    messages = notes(capfd)
    assert "50 iterations" in messages and "rotation's weight of 0.3" in messages
    chain = armature.fabrik.chains[0]
    chain.softness, chain.root_motion = 0.1, "TRANSLATE"
    bpy.ops.pose.fabrik_chains_to_constraints()
    messages = notes(capfd)
    assert "its softness" in messages and "its root" in messages
    assert not warnings_in(capfd)


@pytest.mark.parametrize("locked", [(True, True, True), (False, True, True)])
def test_locks_that_blenders_ik_passes_over_are_taken_and_listed(
    locked: tuple[bool, bool, bool], capfd: pytest.CaptureFixture[str]
) -> None:
    armature = make_leg()
    constrain(armature, target=make_empty("target", TARGETS[1]))
    for name in ("thigh", "shin", "hip"):
        armature.pose.bones[name].lock_rotation = locked
    before = heads(armature)
    notes(capfd)
    bpy.ops.pose.fabrik_constraints_to_chains()
    assert "the rotation of 'shin', 'thigh' was locked, which Blender's IK ignores: unlocked" in notes(capfd)
    assert np.abs(heads(armature) - before).max() <= 4e-6
    bpy.ops.pose.fabrik_solve()
    assert np.abs(heads(armature) - before).max() <= 2e-3
    assert tuple(armature.pose.bones["hip"].lock_rotation) == locked


def test_locks_stay_where_a_constraint_does(capfd: pytest.CaptureFixture[str]) -> None:
    armature = make_leg()
    constrain(armature)  # without a target
    armature.pose.bones["shin"].lock_rotation = (True, False, True)
    assert "has no target" in error_of(bpy.ops.pose.fabrik_constraints_to_chains)
    assert tuple(armature.pose.bones["shin"].lock_rotation) == (True, False, True)


def test_a_bone_whose_scale_is_constrained_is_held(capfd: pytest.CaptureFixture[str]) -> None:
    armature = make_leg()
    constrain(armature, target=make_empty("target", TARGETS[1]))
    copy = armature.pose.bones["thigh"].constraints.new("COPY_SCALE")
    copy.target, copy.subtarget = armature, "hip"
    update()
    before = heads(armature)
    bpy.ops.pose.fabrik_constraints_to_chains()
    assert np.abs(heads(armature) - before).max() <= 4e-6
    assert "has moved" not in notes(capfd)


@pytest.mark.parametrize("scaled", ["bone1", "bone3"])
def test_sheared_bones_point_where_they_did_and_keep_their_scale(
    scaled: str, capfd: pytest.CaptureFixture[str]
) -> None:
    armature = make_tail(5)
    constrain(armature, "bone4", 3, make_empty("target", (1.0, 0.3, 3.0)))
    armature.pose.bones[scaled].scale = (1.0, 1.5, 0.7)
    update()
    scales = [bone.scale.copy() for bone in armature.pose.bones]
    tails = {bone.name: bone.tail.copy() for bone in armature.pose.bones}
    enter_pose_mode(armature)
    bpy.ops.pose.fabrik_constraints_to_chains()
    update()
    assert [bone.scale for bone in armature.pose.bones] == scales
    for name in ("bone2", "bone3", "bone4"):
        bone = armature.pose.bones[name]
        assert bone.vector.angle(tails[name] - bone.head) < 1e-3
    found = notes(capfd)
    assert "inherits an uneven scale" in found and "other constraints" not in found


def test_a_last_bone_whose_tail_alone_has_moved_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    """Its head stays: the bone above it is scaled unevenly, and Blender's IK rotates it otherwise than Solve."""
    knee = (0.0, -0.1, 1.5)
    bones = [
        Bone("hip", (0.0, 0.0, 0.0), (0.0, 0.0, 0.5)),
        Bone("thigh", (0.0, 0.0, 0.5), knee, "hip", connected=True),
        Bone("shin", knee, (0.0, 0.0, 2.5), "thigh", connected=True),
    ]
    armature = make_armature(bones)
    armature.pose.bones["thigh"].scale = (1.0, 1.5, 1.0)
    constrain(armature, "shin", 1, make_empty("target", (1.0, 0.3, 2.2)))
    update()
    tip = armature.pose.bones["shin"]
    head, tail = tip.head.copy(), tip.tail.copy()
    enter_pose_mode(armature)
    bpy.ops.pose.fabrik_constraints_to_chains()
    update()
    share = 100.0 * (tip.tail - tail).length / tip.bone.length
    assert (tip.head - head).length < 1e-5 and share > 5.0
    found = re.search(r"Bone 'shin' has moved by ([\d.]+) % of its length", notes(capfd))
    assert found and float(found[1]) == pytest.approx(share, rel=0.01)


@pytest.mark.parametrize("scale", [(-1.0, 1.0, 1.0), (1.0, -1.0, 1.0), (2.0, 2.0, 2.0)])
def test_mirrored_and_scaled_bones_stay_where_they_are(scale: tuple[float, float, float]) -> None:
    armature = make_tail(5)
    armature.pose.bones["bone2"].scale = scale
    constrain(armature, "bone4", 3, make_empty("target", (1.0, 0.3, 2.0)))
    before = [bone.matrix.copy() for bone in armature.pose.bones]
    enter_pose_mode(armature)
    bpy.ops.pose.fabrik_constraints_to_chains()
    update()
    for bone, matrix in zip(armature.pose.bones, before, strict=True):
        assert np.array(bone.matrix) == pytest.approx(np.array(matrix), abs=1e-4)
    assert armature.pose.bones["bone2"].scale[:] == pytest.approx(scale)


def test_chains_that_turn_when_they_are_solved_are_listed(capfd: pytest.CaptureFixture[str]) -> None:
    # Folded to both sides, so that no family of poses passes through the pose.
    points = [(0.0, 0.0, 0.0), (0.0, 0.0, 0.9), (0.0, 0.675, -0.269), (0.0, 0.675, 0.481)]
    armature = make_armature(
        [Bone(f"bone{i}", points[i], points[i + 1], f"bone{i - 1}" if i else None, True) for i in range(3)]
    )
    pole = make_empty("pole", (0.0, 5.0, 2.0))
    constrain(armature, "bone2", 3, make_empty("target", points[-1]), pole, 0.4)
    notes(capfd)
    bpy.ops.pose.fabrik_constraints_to_chains()
    messages = [line for line in notes(capfd).splitlines() if "solving rotates" in line]
    (line,) = messages
    assert not armature.fabrik.chains[0].pole_shape
    assert line.startswith("Warning: Constraint 'IK' of bone 'bone2': solving rotates bone 'bone")
    assert line.endswith("degrees, because with a pole every joint bends toward it")
    clear_scene()
    leg = make_leg()
    constrain(leg, target=make_empty("target", TARGETS[0]), pole=make_empty("pole", (0.7, -3.0, 1.0)))
    bpy.ops.pose.fabrik_constraints_to_chains()
    assert "solving rotates" not in notes(capfd)


# Rigify's own rigs


@pytest.mark.parametrize("torso", [(0.0, 0.0, 0.0), (0.02, -0.05, -0.08), (-0.04, 0.03, -0.15)])
def test_rigifys_quadruped_is_converted_whole_and_stays_where_it_is(torso: tuple[float, float, float]) -> None:
    armature = generated_rig("basic_quadruped_metarig", ik_fk=0.0)
    basis = armature.pose.bones["torso"].bone.matrix_local.to_3x3()
    armature.pose.bones["torso"].location = basis.inverted() @ Vector(torso)  # down: the legs bend
    found = [by for bone in armature.pose.bones for by in bone.constraints if by.type == "IK"]
    before = heads(armature)
    bpy.ops.pose.fabrik_constraints_to_chains()
    assert len(found) == 18 and all(by.mute for by in found) and len(armature.fabrik.chains) == 18
    assert np.abs(heads(armature) - before).max() <= 1e-5
    bpy.ops.pose.fabrik_solve()
    assert np.abs(heads(armature) - before).max() <= (1e-5 if torso == (0.0, 0.0, 0.0) else 5e-3)
    assert not {chain.status for chain in armature.fabrik.chains if chain.enabled} & {"STALLED", "NONE"}


# There and straight back


def saved_state(armature: Object) -> dict[tuple[str, str], Any]:
    """Channels, locks and constraint settings of all bones."""
    state: dict[tuple[str, str], Any] = {}
    names = ("location", "rotation_quaternion", "rotation_axis_angle", "rotation_euler", "scale", "lock_rotation")
    for bone in armature.pose.bones:
        state |= {(bone.name, name): tuple(getattr(bone, name)) for name in names}
        state[bone.name, "lock_rotation_w"] = bone.lock_rotation_w
        for constraint in bone.constraints:
            if constraint.type == "IK":
                # "enabled" is the inverse of "mute"; the errors are those of the last evaluation.
                for name in ("mute", "chain_count", "use_tail", "use_rotation", "use_stretch", "weight", "iterations"):
                    state[bone.name, f"{constraint.name} {name}"] = getattr(constraint, name)
                for name in ("influence", "pole_angle", "orient_weight"):
                    state[bone.name, f"{constraint.name} {name}"] = getattr(constraint, name)
    return state


def pose_rig(armature: Object) -> None:
    places = {"hand_ik.L": (0.0, -0.1, 0.15), "foot_ik.R": (0.05, 0.2, -0.1), "torso": (0.0, 0.0, -0.05)}
    places |= {"foot_ik.L": (0.02, 0.05, 0.04), "front_foot_ik.L": (0.01, 0.05, 0.05)}
    for name, place in places.items():
        if name in armature.pose.bones:
            armature.pose.bones[name].location = place
    update()


@pytest.mark.parametrize("is_posed", [False, True])
@pytest.mark.parametrize("name", ["human", "wolf"])
def test_there_and_straight_back_is_as_it_was(name: str, is_posed: bool) -> None:
    armature = generated_rig(f"{name}_metarig", ik_fk=0.0)
    if is_posed:
        pose_rig(armature)
    before, state = heads(armature), saved_state(armature)
    for _ in range(2):  # muted constraints aren't converted, and their chains of the first time are
        bpy.ops.pose.fabrik_constraints_to_chains()
        assert armature.fabrik.chains
        bpy.ops.pose.fabrik_chains_to_constraints()
        update()
        after = saved_state(armature)
        assert {key: (old, after[key]) for key, old in state.items() if after[key] != old} == {}
        assert off(armature, before) <= 1e-4


@pytest.mark.parametrize("name", ["human", "wolf", "cat", "horse", "bird", "basic_quadruped"])
def test_a_posed_rig_stays_where_it_is_on_the_way_there(name: str) -> None:
    armature = generated_rig(f"{name}_metarig", ik_fk=0.0)
    pose_rig(armature)
    before, lengths = heads(armature), np.array([bone.bone.length for bone in armature.pose.bones])
    bpy.ops.pose.fabrik_constraints_to_chains()
    update()
    moved = np.linalg.norm(heads(armature) - before, axis=-1) / lengths
    assert moved.max() <= 1e-4, armature.pose.bones[int(moved.argmax())].name


def test_what_was_edited_in_between_stays_edited() -> None:
    armature = make_leg()
    target = make_empty("target", TARGETS[0])
    constraint = constrain(armature, target=target)
    thigh, shin = (armature.pose.bones[name] for name in ("thigh", "shin"))
    thigh.lock_rotation = shin.lock_rotation = (True, False, True)
    bpy.ops.pose.fabrik_constraints_to_chains()
    chain = armature.fabrik.chains[0]
    posed = tuple(thigh.rotation_quaternion)
    chain.influence = 0.5
    shin.lock_rotation = (False, True, False)
    shin.rotation_quaternion = edited = (1.0, 0.5, 0.0, 0.0)
    bpy.ops.pose.fabrik_chains_to_constraints()
    assert constraint.influence == 0.5
    assert tuple(thigh.lock_rotation) == (True, False, True) and tuple(shin.lock_rotation) == (False, True, False)
    # The channels of a chain are restored together or not at all.
    assert tuple(thigh.rotation_quaternion) == posed and tuple(shin.rotation_quaternion) == edited


def test_bones_that_were_renamed_get_their_locks_and_channels_back() -> None:
    """Also where they have exchanged their names."""
    armature = make_leg()
    bones = armature.pose.bones
    bones["thigh"].lock_rotation, bones["shin"].lock_rotation = (True, False, False), (False, True, True)
    bones["shin"].rotation_quaternion = (0.9, 0.3, 0.2, 0.1)
    constrain(armature, target=make_empty("target", TARGETS[1]))
    before = heads(armature)
    channels = pose_of(armature)
    assert bpy.ops.pose.fabrik_constraints_to_chains() == {"FINISHED"}
    assert pose_of(armature) != channels
    for old, new in (("thigh", "x"), ("shin", "thigh"), ("x", "shin")):
        armature.data.bones[old].name = new
    update()
    assert bpy.ops.pose.fabrik_chains_to_constraints() == {"FINISHED"}
    assert [tuple(bones[name].lock_rotation) for name in ("shin", "thigh")] == [
        (True, False, False),
        (False, True, True),
    ]
    assert pose_of(armature) == channels | {"shin": channels["thigh"], "thigh": channels["shin"]}
    assert np.abs(heads(armature) - before).max() < 1e-3


@pytest.mark.parametrize("edit", ["roll", "rest pose"])
def test_a_pole_angle_means_the_same_after_the_bones_were_edited(edit: str) -> None:
    """Blender counts it from the first bone at rest, a chain from the bend."""
    armature = make_leg()
    pole = make_empty("pole", (0.3, -2.0, 1.0))
    constrain(armature, target=make_empty("target", TARGETS[0]), pole=pole, pole_angle=0.4)
    assert bpy.ops.pose.fabrik_constraints_to_chains() == {"FINISHED"}
    if edit == "roll":
        bpy.ops.object.mode_set(mode="EDIT")
        armature.data.edit_bones["thigh"].roll += 1.0
        bpy.ops.object.mode_set(mode="POSE")
    else:
        assert bpy.ops.pose.armature_apply() == {"FINISHED"}
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    before = heads(armature)
    assert bpy.ops.pose.fabrik_chains_to_constraints() == {"FINISHED"}
    assert np.abs(heads(armature) - before).max() < 1e-4


@pytest.mark.parametrize("roll", [0.0, 0.3, -2.0])
@pytest.mark.parametrize("has_pole", [False, True])
def test_a_solved_pose_stays_on_the_way_back(has_pole: bool, roll: float) -> None:
    """Blender's IK starts from the solved channels now, from which its old pole angle means another one."""
    armature = make_leg(roll)
    target = make_empty("target", TARGETS[0])
    pole = make_empty("pole", (0.7, -3.0, 1.0)) if has_pole else None
    constrain(armature, target=target, pole=pole, pole_angle=0.4)
    bpy.ops.pose.fabrik_constraints_to_chains()
    target.location = TARGETS[2]
    bpy.ops.pose.fabrik_solve()
    before = heads(armature)
    bpy.ops.pose.fabrik_chains_to_constraints()
    assert np.abs(heads(armature) - before).max() <= (1e-4 if has_pole else 1e-3)


def test_a_riggers_pole_angle_outlasts_keys_of_the_bones() -> None:
    """At another frame they have other channels than at that of the conversion."""
    armature = make_leg()
    pole = make_empty("pole", (0.7, -3.0, 1.0))
    constraint = constrain(armature, target=make_empty("target", TARGETS[0]), pole=pole, pole_angle=0.4)
    for frame in (1, 10):
        armature.pose.bones["shin"].rotation_quaternion = (1.0, 0.02 * frame, 0.0, 0.0)
        key_rotations(armature, frame)
    bpy.context.scene.frame_set(1)
    assert bpy.ops.pose.fabrik_constraints_to_chains() == {"FINISHED"}
    bpy.context.scene.frame_set(10)
    assert bpy.ops.pose.fabrik_chains_to_constraints() == {"FINISHED"}
    assert constraint.pole_angle == pytest.approx(0.4)


def test_the_active_chain_that_is_converted_already_is_left_alone() -> None:
    armature = make_leg()
    constraint = constrain(armature, target=make_empty("target", TARGETS[0]))
    assert bpy.ops.pose.fabrik_constraints_to_chains() == {"FINISHED"}
    assert bpy.ops.pose.fabrik_chains_to_constraints() == {"FINISHED"}
    message = error_of(bpy.ops.pose.fabrik_chains_to_constraints, only_active=True)
    assert "converted already" in message
    assert [*armature.pose.bones["shin"].constraints] == [constraint] and not constraint.mute


def test_a_bone_that_another_chain_still_moves_keeps_its_pose() -> None:
    armature = make_leg()
    constrain(armature, target=make_empty("target", TARGETS[0]))
    constrain(armature, "foot", 3, make_empty("toe", (0.3, -0.8, 0.8)))
    bpy.ops.pose.fabrik_constraints_to_chains()
    assert len(armature.fabrik.chains) == 2
    shin = armature.pose.bones["shin"]
    posed = tuple(shin.rotation_quaternion)
    armature.fabrik.active_index = 0
    bpy.ops.pose.fabrik_chains_to_constraints(only_active=True)
    assert tuple(shin.rotation_quaternion) == posed


@pytest.fixture
def human() -> Object:
    return generated_rig("basic_human_metarig", ik_fk=0.0)


def off(armature: Object, before: np.ndarray) -> float:
    lengths = np.array([bone.bone.length for bone in armature.pose.bones])
    return float((np.abs(heads(armature) - before).max(axis=1) / lengths).max())


def test_rigifys_human_is_converted_whole_and_stays_where_it_is(human: Object) -> None:
    found = [by for bone in human.pose.bones for by in bone.constraints if by.type == "IK"]
    assert len(found) == 8 and len(human.animation_data.drivers) == 89
    before = heads(human)
    bpy.ops.pose.fabrik_constraints_to_chains()
    assert off(human, before) <= 1e-4
    assert len(human.fabrik.chains) == 8 and all(by.mute for by in found)
    assert sum(chain.enabled for chain in human.fabrik.chains) == 4
    bpy.ops.pose.fabrik_solve()
    assert off(human, before) <= 1e-4
    assert {chain.status for chain in human.fabrik.chains if chain.enabled} == {"REACHED"}
    bpy.context.scene.frame_set(2)
    assert all(by.mute for by in found)  # no driver has unmuted one


def test_rigifys_pole_switch_switches_the_chains(human: Object) -> None:
    before = heads(human)
    bpy.ops.pose.fabrik_constraints_to_chains()
    for name in ("thigh_parent.L", "thigh_parent.R", "upper_arm_parent.L", "upper_arm_parent.R"):
        human.pose.bones[name]["pole_vector"] = True
    human.update_tag()
    bpy.context.scene.frame_set(3)
    enabled = [chain for chain in human.fabrik.chains if chain.enabled]
    assert len(enabled) == 4 and all(chain.pole_target for chain in enabled)
    bpy.ops.pose.fabrik_solve()
    assert off(human, before) <= 2e-3


@pytest.mark.parametrize("with_poles", [False, True])
def test_rigifys_human_posed_and_back(human: Object, with_poles: bool) -> None:
    for name in ("thigh_parent.L", "thigh_parent.R", "upper_arm_parent.L", "upper_arm_parent.R"):
        human.pose.bones[name]["pole_vector"] = with_poles
    human.pose.bones["hand_ik.L"].location = (0.0, -0.1, 0.15)
    human.pose.bones["foot_ik.R"].location = (0.05, 0.2, -0.1)
    human.pose.bones["torso"].location = (0.0, 0.0, -0.05)
    human.update_tag()
    bpy.context.scene.frame_set(2)
    before = heads(human)
    bpy.ops.pose.fabrik_constraints_to_chains()
    assert off(human, before) <= 1e-4
    bpy.ops.pose.fabrik_solve()
    assert off(human, before) <= 2e-2
    bpy.ops.pose.fabrik_chains_to_constraints()
    assert sum(not by.mute for bone in human.pose.bones for by in bone.constraints if by.type == "IK") == 4
    assert off(human, before) <= 2e-2


def test_a_converted_leg_can_be_baked(human: Object) -> None:
    foot = human.pose.bones["foot_ik.L"]
    for frame, place in ((1, (0, 0, 0)), (10, (0.0, 0.2, -0.2))):
        foot.location = place
        foot.keyframe_insert("location", frame=frame)
    bpy.context.scene.frame_set(10)
    shin = human.pose.bones["DEF-shin.L"]
    there = Vector(shin.head)
    bpy.ops.pose.fabrik_constraints_to_chains()
    bpy.ops.pose.fabrik_bake(frame_start=1, frame_end=10)
    bpy.context.scene.frame_set(1)
    bpy.context.scene.frame_set(10)
    assert (shin.head - there).length < 5e-3
