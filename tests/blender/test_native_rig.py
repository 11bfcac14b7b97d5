# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Native rigs: the core's answer without us, in rigs that move, and gone without a trace."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Quaternion, Vector

from fabrik_addon.blender.native.custom_properties import MADE, MARK
from fabrik_addon.blender.native.find_rigs import solvers_of
from fabrik_addon.blender.rig.modifier_inputs import group_inputs, input_path, input_value, set_input
from fabrik_addon.blender.rig.pole_shape_text import read_pole_shape
from fabrik_addon.core import Goals, Options, Pose, plain_chain, solve

from . import rigs

BLOCKS = ("objects", "node_groups", "collections", "hair_curves", "armatures", "actions", "meshes")

BARE_BLENDER = Path(__file__).with_name("bare_blender.py")


def make_chain(count: int, shape: str) -> Any:
    """An armature of one chain, straight or bent every which way, whose bones have rolls."""
    rng = np.random.default_rng(count)
    heading, point = Vector((0.1, 0.2, 1.0)).normalized(), Vector()
    bones = []
    for i in range(count):
        end = point + heading * (1.0 + (0.3 * (i % 3) if shape != "straight" else 0.0))
        bones.append(rigs.Bone(f"b{i}", point, end, f"b{i - 1}" if i else None, roll=0.7 * i, connected=i > 0))
        point = end
        if shape != "straight":
            heading = (heading + 0.4 * rigs.random_direction(rng)).normalized()
    return rigs.make_armature(bones)


def rest_problem(armature: Any) -> tuple[Any, Pose]:
    bones = armature.data.bones
    joints = np.array([*(bone.head_local[:] for bone in bones), bones[-1].tail_local[:]])
    frames = [bone.matrix_local.to_quaternion()[:] for bone in bones]
    return plain_chain(np.linalg.norm(np.diff(joints, axis=0), axis=1)), Pose(joints, np.array([*frames, frames[-1]]))


def problem_of(armature: Any, chain: Any) -> tuple[Any, Pose]:
    """The problem at rest, with the pole shape of the chain."""
    problem, rest = rest_problem(armature)
    return replace(problem, pole_shape=read_pole_shape(chain.pole_shape)), rest


def angles_of(chain: Any) -> np.ndarray:
    return np.array([chain.pole_angle])


def set_native(armature: Any, chain_name: str, **inputs: Any) -> None:
    solver = solvers_of(armature)[chain_name]
    for socket in group_inputs(solver.modifiers[0]):
        if socket.name in inputs:
            set_input(solver.modifiers[0], socket.identifier, inputs[socket.name])
    solver.update_tag()
    rigs.update()


def make_native(armature: Any, tip: str, count: int, **options: Any) -> Any:
    chain = rigs.add_chain(armature, tip, count, **options)
    chain.use_limits = False
    assert bpy.ops.pose.fabrik_rig_add(only_active=True) == {"FINISHED"}
    return chain


def count_blocks() -> dict[str, int]:
    return {name: len(getattr(bpy.data, name)) for name in BLOCKS}


@pytest.mark.parametrize("shape", ["straight", "bent"])
@pytest.mark.parametrize(("count", "pole"), [(1, False), (1, True), (2, True), (3, True), (6, True)])
def test_same_answer_as_the_core_from_the_rest_pose(count: int, shape: str, pole: bool) -> None:
    armature = make_chain(count, shape)
    chain = make_native(armature, f"b{count - 1}", count, create_pole=pole)
    problem, rest = problem_of(armature, chain)
    rng = np.random.default_rng(7)
    length = problem.total_length
    if pole:
        chain.pole_target.location = (2.0 * length, -1.5 * length, 0.3 * length)
    for reach in np.linspace(0.2, 1.35, 12):
        target = rigs.random_direction(rng) * reach * length
        chain.target.location = target
        rigs.update()
        poles = np.array([chain.pole_target.location[:]]) if pole else None
        wanted = solve(problem, rest, Goals(np.array([target[:]]), poles=poles, pole_angles=angles_of(chain)))
        assert rigs.joints_of(armature, chain) == pytest.approx(wanted.pose.positions, abs=1e-4 * length)
        for bone, frame in zip(armature.pose.bones, wanted.pose.rotations, strict=False):
            frame = frame if np.dot(frame, bone.matrix.to_quaternion()) > 0.0 else -frame
            assert bone.matrix.to_quaternion()[:] == pytest.approx(frame, abs=1e-3)


@pytest.mark.parametrize("shape", ["straight", "bent"])
@pytest.mark.parametrize("count", [2, 3, 6, 12])
def test_without_a_pole_the_rest_pose_is_one_of_its_poses(count: int, shape: str) -> None:
    """And its bend plane is carried along by the shortest rotation of the target's direction."""
    armature = make_chain(count, shape)
    chain = make_native(armature, f"b{count - 1}", count)
    problem, rest = rest_problem(armature)
    length, tip = problem.total_length, Vector(rest.positions[-1])
    chain.target.location = tip
    rigs.update()
    assert rigs.joints_of(armature, chain) == pytest.approx(rest.positions, abs=1e-3 * length)
    rng = np.random.default_rng(7)
    for _ in range(5):
        target = rigs.random_direction(rng) * tip.length
        chain.target.location = target
        rigs.update()
        turn = np.array(tip.rotation_difference(target).to_matrix())
        assert rigs.joints_of(armature, chain) == pytest.approx(rest.positions @ turn.T, abs=1e-3 * length)
    for reach in (*np.linspace(0.2, 0.99, 20), 0.999, 1.0, 1.3):
        target = rigs.random_direction(rng) * reach * length
        chain.target.location = target
        rigs.update()
        wanted = target.normalized() * min(reach, 1.0) * length
        assert (Vector(rigs.joints_of(armature, chain)[-1]) - wanted).length < 1e-4 * length


@pytest.mark.parametrize("count", [4, 9])
def test_without_a_pole_the_tip_is_at_its_target_from_near_the_root_to_full_reach(count: int) -> None:
    """Near the root the line from root to tip turns by more than half a turn against the first bone."""
    armature = make_chain(count, "bent")
    chain = make_native(armature, f"b{count - 1}", count)
    length = rest_problem(armature)[0].total_length
    for reach in np.linspace(0.1, 0.95, 171):
        chain.target.location = Vector((0.3, -0.2, 0.9)).normalized() * reach * length
        rigs.update()
        assert rigs.distance_left(armature, chain) < 1e-4, reach


def largest_turns(armature: Any, chain: Any, path: Any) -> np.ndarray:
    """The largest turn of a bone's own rotation in every step of a closed path of the target."""
    poses = []
    for target in path:
        chain.target.location = target
        rigs.update()
        poses.append([local_rotation(armature, bone.name) for bone in armature.pose.bones])
    steps = zip(poses, [*poses[1:], poses[0]], strict=True)
    return np.array([max(angle_between(a, b) for a, b in zip(*step, strict=True)) for step in steps])


@pytest.mark.parametrize("pole", [False, True])
@pytest.mark.parametrize("shape", ["straight", "bent"])
@pytest.mark.parametrize("count", [2, 3, 6, 12])
def test_bones_turn_smoothly_along_a_smooth_path(count: int, shape: str, pole: bool) -> None:
    armature = make_chain(count, shape)
    chain = make_native(armature, f"b{count - 1}", count, create_pole=pole)
    length = rest_problem(armature)[0].total_length
    if pole:
        chain.pole_target.location = (0.0, -2.0 * length, 0.5 * length)
    t = np.linspace(0.0, math.tau, 120, endpoint=False)
    path = length * np.column_stack([0.35 * np.cos(t), 0.25 * np.sin(t) + 0.1, 0.55 + 0.25 * np.sin(2.0 * t)])
    turns = largest_turns(armature, chain, path)
    assert turns.max() < 3.0 * np.median(turns)


@pytest.mark.parametrize("is_native", [False, True])
def test_the_tip_s_rotation_rolls_no_bone_where_it_passes_its_pole(is_native: bool) -> None:
    """The rotation fixes the first of two links, and one link has no bend that could be rotated to the pole."""
    elbow = (0.0, -0.2, 1.0)
    upper, lower = rigs.Bone("upper", (0.0, 0.0, 0.0), elbow), rigs.Bone("lower", elbow, (0.0, 0.0, 2.0), "upper")
    armature = rigs.make_armature([upper, lower])
    chain = rigs.add_chain(armature, "lower", 2, create_pole=True)
    chain.pole_target.location = (0.0, -3.0, 3.0)
    rigs.update()
    chain.use_rotation, chain.use_limits = True, False
    if is_native:
        bpy.ops.pose.fabrik_rig_add()
    largest, before = 0.0, None
    for height in np.linspace(2.0, 0.6, 101):
        chain.target.location = (0.0, 0.0, height)
        rigs.update()
        if not is_native:
            bpy.ops.pose.fabrik_solve()
            rigs.update()
        pose = [local_rotation(armature, bone.name) for bone in armature.pose.bones]
        if before is not None:
            largest = max(largest, *(angle_between(a, b) for a, b in zip(before, pose, strict=True)))
        before = pose
    assert math.radians(0.5) < largest < math.radians(6.0)


@pytest.mark.parametrize("lengths", [(0.4, 1.7, 0.5), (1.0, 0.3, 0.8, 0.6), (0.5,) * 8])
def test_a_chain_with_a_pole_is_the_core_s_over_its_whole_reach(lengths: tuple[float, ...]) -> None:
    """From folded, where the longest link points back, to full extension, and seen from anywhere."""
    bones, heading, point = [], Vector((0.1, 0.2, 1.0)).normalized(), Vector()
    for i, length in enumerate(lengths):
        end = point + heading * length
        bones.append(rigs.Bone(f"b{i}", point, end, f"b{i - 1}" if i else None, roll=0.4 * i, connected=i > 0))
        point, heading = end, (heading + Vector((0.2, 0.05 * i, 0.0))).normalized()
    armature = rigs.make_armature(bones)
    chain = make_native(armature, f"b{len(lengths) - 1}", len(lengths), create_pole=True)
    problem, rest = problem_of(armature, chain)
    total = problem.total_length
    chain.pole_target.location = (3.0 * total, -1.0 * total, 0.5 * total)
    shortest = max(2.0 * max(lengths) - total, 0.0) / total
    rng = np.random.default_rng(5)
    for reach in [shortest + 1e-3, *np.linspace(shortest + 0.02, 0.98, 60), 0.999, 0.9999, 1.001]:
        target = rigs.random_direction(rng) * reach * total
        chain.target.location = target
        rigs.update()
        poles = np.array([chain.pole_target.location[:]])
        wanted = solve(problem, rest, Goals(np.array([target[:]]), poles=poles, pole_angles=angles_of(chain)))
        wanted = wanted.pose.positions
        found = rigs.joints_of(armature, chain)
        # Next to the root a chain of unequal links jumps with its target, and where it does that is a matter of digits.
        if reach > max(0.2, shortest + 0.01):
            assert found == pytest.approx(wanted, abs=1e-4 * total)
        assert found[-1] == pytest.approx(wanted[-1], abs=1e-4 * total)


def test_copies_of_a_character_share_their_node_groups() -> None:
    """Also a chain that differs in one length has a group of its own, and removing one leaves the others theirs."""
    groups = []
    for length in (1.0, 1.0, 1.1):
        armature = rigs.make_armature(
            [
                rigs.Bone("a", (0, 0, 0), (0, 0.1, 1)),
                rigs.Bone("b", (0, 0.1, 1), (0, 0, 1.0 + length), "a", connected=True),
            ]
        )
        make_native(armature, "b", 2, create_pole=True)
        (solver,) = solvers_of(armature).values()
        groups.append(solver.modifiers[0].node_group)
    assert groups[0] == groups[1] != groups[2]
    assert bpy.ops.pose.fabrik_rig_remove() == {"FINISHED"}
    assert groups[0].users == 2
    assert groups[0].name in bpy.data.node_groups


@pytest.mark.parametrize("count", [3, 10])
def test_tip_is_at_the_target_near_full_extension(count: int) -> None:
    armature = make_chain(count, "bent")
    chain = make_native(armature, f"b{count - 1}", count)
    length = rest_problem(armature)[0].total_length
    rng = np.random.default_rng(3)
    for reach in np.linspace(0.97, 0.999, 10):
        chain.target.location = rigs.random_direction(rng) * reach * length
        assert rigs.distance_left(armature, chain) < 1e-4


def test_a_straight_chain_bends_when_its_target_comes_down_its_own_line() -> None:
    armature = make_chain(4, "straight")
    chain = make_native(armature, "b3", 4)
    chain.target.location = Vector((0.1, 0.2, 1.0)).normalized() * 2.5
    assert rigs.distance_left(armature, chain) < 1e-4


def rotated_goal(target: Any, rotation: Any, pole: Any) -> Goals:
    poles = None if pole is None else np.array([pole])
    return Goals(np.array([target[:]]), rotations=np.array([rotation[:]]), poles=poles)


@pytest.mark.parametrize("softness", [0.0, 0.1])
@pytest.mark.parametrize("pole", [False, True])
@pytest.mark.parametrize("shape", ["straight", "bent"])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 6])
def test_tip_takes_the_targets_rotation_as_the_core_does(count: int, shape: str, pole: bool, softness: float) -> None:
    armature = make_chain(count, shape)
    chain = rigs.add_chain(armature, f"b{count - 1}", count, create_pole=pole)
    chain.use_limits, chain.use_rotation, chain.softness = False, True, softness
    rng = np.random.default_rng(8)
    offset = rigs.random_rotation(rng, 2.0)
    chain.rotation_offset = offset
    problem, rest = problem_of(armature, chain)
    length = problem.total_length
    place = (2.0 * length, -1.5 * length, 0.3 * length) if pole else None
    if pole:
        chain.pole_target.location = place
    chain.target.rotation_mode = "QUATERNION"
    assert bpy.ops.pose.fabrik_rig_add(only_active=True) == {"FINISHED"}
    apart, turned = [], []
    for reach in np.linspace(0.2, 1.25, 30):
        target, rotation = rigs.random_direction(rng) * reach * length, rigs.random_rotation(rng, 2.5)
        chain.target.location, chain.target.rotation_quaternion = target, rotation
        rigs.update()
        goals = replace(rotated_goal(target, rotation @ offset, place), pole_angles=angles_of(chain))
        wanted = solve(problem, rest, goals, Options(softness=softness))
        joints = rigs.joints_of(armature, chain)
        assert np.linalg.norm(joints[-1] - target) < (wanted.error[0] + 1e-4) * length
        found = [bone.matrix.to_quaternion() for bone in armature.pose.bones]
        missed = [angle_between(each[-1], rotation @ offset) for each in (found, wanted.pose.rotations)]
        # Where softness keeps the rotation out of reach, the pose is that without it: not the core's without a pole.
        if pole or count < 3 or not softness or missed[1] < 1e-3:
            assert missed[0] < missed[1] + 5e-3
        if count > 2 and not pole:
            continue  # the core bends the bones otherwise
        apart.append(np.abs(joints - wanted.pose.positions).max() / length)
        turned.append(max(angle_between(a, b) for a, b in zip(found, wanted.pose.rotations, strict=False)))
    assert max(apart, default=0.0) < 2e-4
    assert max(turned, default=0.0) < 5e-3


def angle_between(a: Any, b: Any) -> float:
    """Angle of the turn from one rotation to another."""
    w, *axis = Quaternion(a[:]).rotation_difference(Quaternion(b[:]))
    return 2.0 * math.atan2(math.hypot(*axis), abs(w))


def test_tip_takes_the_rotation_of_a_bone_in_a_rig_that_moves(capfd: pytest.CaptureFixture[str]) -> None:
    armature = rigs.make_armature(
        [
            rigs.Bone("hips", (0, 0, 0), (0, 0.5, 0)),
            rigs.Bone("upper", (0, 0.5, 0.2), (0, 0.6, 1.2), "hips", roll=0.4),
            rigs.Bone("lower", (0, 0.6, 1.2), (0.1, 0.4, 2.2), "upper", connected=True, roll=-0.7),
            rigs.Bone("hand", (0, 0.3, 2.4), (0, 0.5, 2.9), "lower", roll=1.1),
            rigs.Bone("goal", (0.5, 0.9, 1.5), (0.5, 1.2, 1.9), roll=2.0),
        ]
    )
    chain = rigs.set_chain(armature, "hand", 3, armature)
    chain.subtarget, chain.use_limits = "goal", False
    chain.use_rotation = True
    hips, goal, hand = (armature.pose.bones[name] for name in ("hips", "goal", "hand"))
    offset = Quaternion(chain.rotation_offset[:])
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    rng = np.random.default_rng(2)
    armature.rotation_mode = "QUATERNION"
    for number in range(6):
        hips.rotation_quaternion = rigs.random_rotation(rng, 0.5)
        hips.location = (0.1 * number, 0.0, -0.05 * number)
        goal.location = (0.05 * number, -0.05 * number, 0.1)
        goal.rotation_quaternion = rigs.random_rotation(rng, 0.4)
        armature.scale = (1.0 + number,) * 3
        armature.rotation_quaternion = rigs.random_rotation(rng, 2.0)
        assert rigs.distance_left(armature, chain) < 1e-4
        wanted = goal.matrix.to_quaternion() @ offset
        assert angle_between(hand.matrix.to_quaternion(), wanted) < 2e-3
    assert "ycle" not in capfd.readouterr().out
    set_native(armature, "hand", **{"Rotation Offset": (Quaternion((0, 1, 0), 0.3) @ offset).to_euler()[:]})
    wanted = goal.matrix.to_quaternion() @ Quaternion((0, 1, 0), 0.3) @ offset
    assert angle_between(hand.matrix.to_quaternion(), wanted) < 2e-3


@pytest.mark.parametrize("rotation", [False, True])
@pytest.mark.parametrize("softness", [0.0, 0.1])
@pytest.mark.parametrize("pole", [False, True])
@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_bones_stretch_as_in_the_core(count: int, pole: bool, softness: float, rotation: bool) -> None:
    armature = make_chain(count, "bent")
    chain = rigs.add_chain(armature, f"b{count - 1}", count, create_pole=pole)
    chain.use_limits, chain.softness, chain.use_rotation = False, softness, rotation
    chain.use_stretch, chain.stretch_max = True, 1.3
    chain.rotation_offset = (1.0, 0.0, 0.0, 0.0)
    chain.target.rotation_mode = "QUATERNION"
    problem, rest = problem_of(armature, chain)
    length = problem.total_length
    place = (2.0 * length, -1.5 * length, 0.3 * length) if pole else None
    if pole:
        chain.pole_target.location = place
    assert bpy.ops.pose.fabrik_rig_add(only_active=True) == {"FINISHED"}
    rng = np.random.default_rng(4)
    for reach in np.linspace(0.25, 1.6, 18):  # not at full extension itself, where single precision bends
        target, turn = rigs.random_direction(rng) * reach * length, rigs.random_rotation(rng, 0.6)
        turn = turn @ armature.data.bones[-1].matrix_local.to_quaternion()
        chain.target.location, chain.target.rotation_quaternion = target, turn
        rigs.update()
        goals = replace(rotated_goal(target, turn, place), pole_angles=angles_of(chain))
        goals = goals if rotation else replace(goals, rotations=None)
        wanted = solve(problem, rest, goals, Options(softness=softness, stretch_max=1.3))
        joints = rigs.joints_of(armature, chain)
        assert np.linalg.norm(joints[-1] - target) < (wanted.error[0] + 1e-3) * length
        if rotation and softness and reach > 1.25:
            continue  # beyond what the links can lengthen the core has several poses that are as near
        for bone in armature.pose.bones:
            assert bone.matrix.to_scale()[:] == pytest.approx((1.0, wanted.stretch[0], 1.0), abs=1e-3)
        if count > 1 and not pole:
            continue  # the core bends the bones otherwise
        # The core stretches nothing for a tip that is within the tolerance.
        assert joints == pytest.approx(wanted.pose.positions, abs=1e-3 * length)
        for bone, frame in zip(armature.pose.bones, wanted.pose.rotations, strict=False):
            assert angle_between(bone.matrix.to_quaternion(), frame) < 2e-2


def make_arm() -> Any:
    """An arm with a hand, and a twig half way along, whose bones inherit scale in different ways."""
    armature = rigs.make_armature(
        [
            rigs.Bone("shoulder", (0, 0, 0), (0, 0.3, 0)),
            rigs.Bone("upper", (0, 0.3, 0), (0, 0.5, 1), "shoulder", connected=True, roll=0.3),
            rigs.Bone("lower", (0, 0.5, 1), (0, 0.3, 2), "upper", connected=True, roll=-0.8),
            rigs.Bone("hand", (0, 0.3, 2), (0, 0.6, 2.3), "lower", connected=True, roll=1.2),
            rigs.Bone("twig", (0, 0.4, 0.5), (0.3, 0.4, 0.5), "upper"),
            rigs.Bone("leaf", (0.2, 0.4, 1.5), (0.5, 0.4, 1.5), "lower"),
        ]
    )
    armature.data.bones["twig"].inherit_scale = "AVERAGE"
    armature.data.bones["leaf"].inherit_scale = "NONE"
    armature.pose.bones["hand"].scale = (1.1, 0.9, 1.3)
    return armature


def sizes(armature: Any) -> dict[str, tuple[float, ...]]:
    rigs.update()
    return {bone.name: bone.matrix.to_scale()[:] for bone in armature.pose.bones}


def shear_of(bone: Any) -> float:
    x, y, z = (column.normalized() for column in bone.matrix.to_3x3().col)
    return max(abs(x.dot(y)), abs(y.dot(z)), abs(z.dot(x)))


@pytest.mark.parametrize("mode", ["FULL", "FIX_SHEAR", "ALIGNED", "AVERAGE", "NONE"])
@pytest.mark.parametrize("influence", [1.0, 0.4])
def test_what_hangs_on_a_stretched_chain_keeps_its_size(mode: str, influence: float) -> None:
    armature = make_arm()
    armature.data.bones["lower"].inherit_scale = mode
    chain = rigs.add_chain(armature, "lower", 2, target=(0.2, 1.9, 1.5))
    chain.use_limits, chain.use_stretch, chain.influence = False, True, influence
    rigs.update()
    before = sizes(armature)
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    after = sizes(armature)
    factor = after["upper"][1]
    assert factor > 1.02
    for name, size in before.items():
        stretch = factor if name in {"upper", "lower"} else 1.0
        assert after[name] == pytest.approx((size[0], size[1] * stretch, size[2]), abs=1e-4)
    assert max(shear_of(bone) for bone in armature.pose.bones) < 1e-4
    if influence == 1.0:
        assert rigs.distance_left(armature, chain) < 1e-4
    # What is animated in the hand stays its own business.
    armature.pose.bones["hand"].scale = (0.5, 0.7, 2.0)
    assert sizes(armature)["hand"] == pytest.approx((0.5, 0.7, 2.0), abs=1e-4)


def test_stretch_removed_is_as_before_or_as_it_looks() -> None:
    armature = make_arm()
    chain = rigs.add_chain(armature, "lower", 2, target=(0.2, 1.9, 1.5), create_pole=True)
    chain.use_limits, chain.use_stretch = False, True
    rigs.update()
    before, blocks = rigs.everything(), count_blocks()
    inherited = {bone.name: bone.inherit_scale for bone in armature.data.bones}
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}  # again
    rigs.update()
    looks = {bone.name: bone.matrix.copy() for bone in armature.pose.bones}
    assert bpy.ops.pose.fabrik_rig_remove(keep_pose=False) == {"FINISHED"}
    rigs.update()
    assert rigs.everything() == before
    assert count_blocks() == blocks
    assert {bone.name: bone.inherit_scale for bone in armature.data.bones} == inherited
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    assert bpy.ops.pose.fabrik_rig_remove(keep_pose=True) == {"FINISHED"}
    rigs.update()
    for bone in armature.pose.bones:
        assert np.array(bone.matrix) == pytest.approx(np.array(looks[bone.name]), abs=1e-4)
    # Made from stretched bones it is the same rig, and no one is stretched twice.
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    rigs.update()
    for bone in armature.pose.bones:
        assert np.array(bone.matrix) == pytest.approx(np.array(looks[bone.name]), abs=1e-4)
    chain.target.location = (0.2, 0.9, 0.8)
    assert rigs.distance_left(armature, chain) < 1e-4
    assert sizes(armature)["lower"] == pytest.approx((1.0, 1.0, 1.0), abs=1e-4)


def test_stretch_of_one_object_is_removed_and_the_bones_of_another_with_the_same_armature_stay() -> None:
    armature = rigs.make_tail(3)
    chain = rigs.add_chain(armature, "bone2", 3, target=(0.4, 3.4, 1.2))
    chain.use_limits, chain.use_stretch = False, True
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    twin = armature.copy()
    bpy.context.scene.collection.objects.link(twin)
    rigs.update()
    before = rigs.matrices_of(armature)
    for obj, mode in ((twin, "ALIGNED"), (armature, "FULL")):
        rigs.enter_pose_mode(obj)
        assert bpy.ops.pose.fabrik_rig_remove(keep_pose=False) == {"FINISHED"}
        assert armature.data.bones["bone1"].inherit_scale == mode
        if obj == twin:
            assert rigs.matrices_of(armature) == pytest.approx(before, abs=1e-6)


def test_stretch_of_chains_of_two_objects_with_the_same_armature_is_removed_chain_by_chain() -> None:
    """A chain that no object stretches any more inherits scale as before, though another is still stretched."""
    armature = rigs.make_armature([*rigs.tail_bones(3, "a"), *rigs.tail_bones(3, "b")])
    for name in ("a2", "b2"):
        chain = rigs.add_chain(armature, name, 3, target=(0.4, 3.4, 1.2))
        chain.use_limits, chain.use_stretch = False, True
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    twin = armature.copy()
    bpy.context.scene.collection.objects.link(twin)
    rigs.update()
    for chain, mode in (("b2", "FULL"), ("a2", "FULL")):
        for obj in (twin, armature):
            rigs.enter_pose_mode(obj)
            obj.fabrik.active_index = obj.fabrik.chains.find(chain)
            modes = {bone.name: bone.inherit_scale for bone in armature.data.bones}
            assert modes["a1"] == "ALIGNED" and modes[f"{chain[0]}1"] == "ALIGNED"
            assert bpy.ops.pose.fabrik_rig_remove(only_active=True, keep_pose=False) == {"FINISHED"}
        assert armature.data.bones[f"{chain[0]}1"].inherit_scale == mode


def test_a_chain_that_hangs_on_a_stretched_one_is_refused() -> None:
    armature = make_arm()
    chain = rigs.add_chain(armature, "lower", 2)
    chain.use_limits, chain.use_stretch = False, True
    finger = rigs.add_chain(armature, "hand", 1)
    finger.use_limits = False
    for _ in range(2):
        message = rigs.error_of(bpy.ops.pose.fabrik_rig_add)
        assert "'hand'" in message
        assert "'lower' stretches" in message
        armature.fabrik.active_index = 0
        if not solvers_of(armature):
            assert bpy.ops.pose.fabrik_rig_add(only_active=True) == {"FINISHED"}
        armature.fabrik.active_index = 1


def test_links_beside_their_bones_are_not_stretched() -> None:
    armature = rigs.make_armature(
        [rigs.Bone("a", (0, 0, 0), (0.2, 0, 0.9)), rigs.Bone("b", (0, 0.1, 1.0), (0.1, 0.2, 2.0), "a")]
    )
    chain = rigs.add_chain(armature, "b", 2)
    chain.use_limits, chain.use_stretch = False, True
    message = rigs.error_of(bpy.ops.pose.fabrik_rig_add)
    assert "'a'" in message
    assert "can't stretch" in message


def test_made_and_removed_is_as_before() -> None:
    armature = rigs.make_tail(4)
    chain = rigs.add_chain(armature, "bone3", 4, target=(1.0, 0.3, 2.0), create_pole=True)
    armature.pose.bones["bone1"].rotation_quaternion = (0.9, 0.1, 0.2, 0.3)
    chain.use_limits = False
    rigs.update()
    before, blocks = rigs.everything(), count_blocks()
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    assert rigs.distance_left(armature, chain) < 1e-4
    assert bpy.ops.pose.fabrik_rig_remove(keep_pose=False) == {"FINISHED"}
    rigs.update()
    assert rigs.everything() == before
    assert count_blocks() == blocks
    assert armature.animation_data is None
    assert not any(bone.constraints for bone in armature.pose.bones)


def test_removing_leaves_the_pose_as_it_looks_and_keys_it_if_asked() -> None:
    armature = rigs.make_tail(4)
    make_native(armature, "bone3", 4, target=(1.0, 0.3, 2.0))
    rigs.update()
    looks = [bone.matrix.copy() for bone in armature.pose.bones]
    assert bpy.ops.pose.fabrik_rig_remove(insert_keys=True) == {"FINISHED"}
    rigs.update()
    for bone, matrix in zip(armature.pose.bones, looks, strict=True):
        assert (bone.head - matrix.translation).length < 1e-5
    paths = {curve.data_path for action in bpy.data.actions for curve in armature_curves(action)}
    assert paths == {armature.pose.bones[f"bone{i}"].path_from_id("rotation_quaternion") for i in range(4)}


@pytest.mark.parametrize("insert_keys", [False, True])
def test_bones_that_are_keyed_otherwise_keep_the_pose_too(insert_keys: bool) -> None:
    armature = rigs.make_tail(4)
    for bone in armature.pose.bones:
        bone.keyframe_insert("rotation_quaternion", frame=1)
        bone.keyframe_insert("rotation_quaternion", frame=20)
    make_native(armature, "bone3", 3, target=(1.0, 0.3, 2.0))
    bpy.context.scene.frame_set(10, subframe=0.5)
    looks = rigs.matrices_of(armature)
    assert bpy.ops.pose.fabrik_rig_remove(insert_keys=insert_keys) == {"FINISHED"}
    assert rigs.matrices_of(armature) == pytest.approx(looks, abs=1e-5)
    bpy.context.scene.frame_set(11)
    bpy.context.scene.frame_set(10, subframe=0.5)
    assert (abs(rigs.matrices_of(armature) - looks).max() < 1e-5) == insert_keys


def test_animated_settings_of_a_chain_are_named(capfd: pytest.CaptureFixture[str]) -> None:
    """The rig had the influence of the frame at which it was made, and nothing was said."""
    armature = rigs.make_tail(3)
    chain = rigs.set_chain(armature, "bone2", 3, rigs.make_empty("target", (1.0, 0.5, 1.8)))
    for frame, influence in ((1, 0.0), (20, 1.0)):
        chain.influence = influence
        chain.keyframe_insert("influence", frame=frame)
    chain.driver_add("softness").driver.expression = "0.1"
    bpy.context.scene.frame_set(5)
    rigs.printed(capfd)
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    said = rigs.printed(capfd)
    assert "its setting 'Influence' is animated, but its rig keeps what it is now" in said
    assert "its setting 'Softness' is animated" in said and "'Weight'" not in said


@pytest.mark.parametrize("is_linked", [False, True], ids=["locked curves", "a linked action"])
def test_bones_that_are_to_be_keyed_and_can_not_be_are_named(
    is_linked: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    armature = rigs.make_tail(3)
    armature.pose.bones["bone2"].keyframe_insert("rotation_quaternion", frame=1)
    make_native(armature, "bone2", 3, target=(1.0, 0.3, 2.0))
    if is_linked:
        rigs.link_action(armature, tmp_path / "library.blend")
    else:
        armature_curves(armature.animation_data.action)[0].lock = True
    assert bpy.ops.pose.fabrik_rig_remove(insert_keys=True) == {"FINISHED"}
    names = "'bone0', 'bone1', 'bone2'" if is_linked else "'bone2'"
    assert f"Not keyed: {names}: an action is linked, or its curves are locked" in rigs.printed(capfd)


def test_poses_without_keys_outlast_making_making_again_and_removing() -> None:
    neighbour, armature = rigs.make_tail(3, "Neighbour", "other"), rigs.make_tail(6)
    for bone in (*armature.pose.bones, *neighbour.pose.bones):
        bone.keyframe_insert("rotation_quaternion", frame=1)
    action = armature.animation_data.action
    neighbour.animation_data.action, neighbour.animation_data.action_slot = action, action.slots.new("OBJECT", "other")
    rigs.update()
    posed = [armature.pose.bones["bone0"], armature.pose.bones["bone5"], neighbour.pose.bones["other1"]]
    for bone in posed:
        bone.rotation_quaternion = (0.8, 0.6, 0.0, 0.0)
    make_native(armature, "bone3", 3, target=(1.0, 0.3, 2.0))
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    assert bpy.ops.pose.fabrik_rig_remove() == {"FINISHED"}
    rigs.update()
    for bone in posed:
        assert bone.rotation_quaternion[:] == pytest.approx((0.8, 0.6, 0.0, 0.0))


@pytest.mark.parametrize("keep_pose", [False, True])
def test_unkeyed_edits_of_keyed_properties_stay_with_native_rigs(keep_pose: bool) -> None:
    """Also where the solver's empty at a target bone goes, and one that somebody keyed."""
    goal = rigs.make_armature([rigs.Bone("goal", (1.0, 0.3, 2.0), (1.0, 0.3, 3.0))], "Goal")
    armature = rigs.make_tail(3)
    edits = rigs.edit_without_key(armature, "bone twig")
    chain = rigs.set_chain(armature, "bone2", 3, goal)
    chain.subtarget, chain.use_limits = "goal", False
    rigs.enter_pose_mode(armature)
    for _ in range(2):
        assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
        assert edits.are_kept()
        bpy.data.objects["FABRIK Rig bone2 target"].keyframe_insert("scale", frame=1)
    assert bpy.ops.pose.fabrik_rig_remove(keep_pose=keep_pose) == {"FINISHED"}
    assert edits.are_kept()


def armature_curves(action: Any) -> list[Any]:
    return [
        curve for layer in action.layers for strip in layer.strips for bag in strip.channelbags for curve in bag.fcurves
    ]


def test_making_again_replaces_and_shares_groups() -> None:
    armature = rigs.make_tail(4)
    make_native(armature, "bone3", 4)
    blocks = count_blocks()
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    assert count_blocks() == blocks
    assert all(len(bone.constraints) == (bone.name in {f"bone{i}" for i in range(4)}) for bone in armature.pose.bones)


def test_making_again_a_chain_whose_target_is_a_bone() -> None:
    """Its solver's empty at the bone is removed on the way."""
    goal = rigs.make_armature([rigs.Bone("goal", (1.0, 0.3, 2.0), (1.0, 0.3, 3.0))], "Goal")
    armature = rigs.make_tail(3)
    chain = rigs.set_chain(armature, "bone2", 3, goal)
    chain.subtarget, chain.use_limits = "goal", False
    rigs.enter_pose_mode(armature)
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    blocks = count_blocks()
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    assert count_blocks() == blocks
    assert rigs.distance_left(armature, chain) < 1e-4


def native_inputs(armature: Any, chain_name: str) -> dict[str, Any]:
    modifier = solvers_of(armature)[chain_name].modifiers[0]
    return {item.name: input_value(modifier, item.identifier) for item in group_inputs(modifier)[1:]}


def input_paths(armature: Any, chain_name: str) -> dict[str, str]:
    modifier = solvers_of(armature)[chain_name].modifiers[0]
    return {item.name: input_path(modifier, item.identifier) for item in group_inputs(modifier)}


@pytest.mark.parametrize("gets_pole", [False, True])
def test_keys_drivers_and_changed_inputs_outlast_making_again(gets_pole: bool) -> None:
    armature, other = rigs.make_tail(4), rigs.make_empty("other", (1.0, 0.0, 2.0))
    chain = rigs.set_chain(armature, "bone3", 3, rigs.make_empty("target", (1.0, 0.3, 2.0)))
    chain.use_rotation, chain.use_limits = True, False
    rigs.enter_pose_mode(armature)
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    solver = solvers_of(armature)["bone3"]
    paths = input_paths(armature, "bone3")
    for frame, value in ((1, 0.0), (21, 1.0)):
        set_native(armature, "bone3", Influence=value)
        solver.keyframe_insert(paths["Influence"], frame=frame)
    solver.driver_add(paths["Softness"]).driver.expression = "0.125"
    set_native(armature, "bone3", Target=other, **{"Rotation Offset": (0.1, 0.2, 0.3)})
    bpy.context.scene.frame_set(21)
    if gets_pole:
        chain.pole_target = rigs.make_empty("pole", (0.0, -5.0, 1.0))
    rigs.enter_pose_mode(armature)
    for _ in range(2):
        assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
        rigs.update()
        found = native_inputs(armature, "bone3")
        assert found["Influence"] == 1.0 and found["Softness"] == 0.125 and found["Target"] == other
        assert found["Rotation Offset"] == pytest.approx((0.1, 0.2, 0.3))
        assert found.get("Pole") == chain.pole_target
    bpy.context.scene.frame_set(1)
    assert native_inputs(armature, "bone3")["Influence"] == 0.0


def animate_as_before_version_4(solver: Any) -> None:
    """Give a solver a group whose inputs are numbered without gaps, with keys of Influence and a driver of Softness."""
    solver[MARK] = 3
    del solver[MADE]
    modifier = solver.modifiers[0]
    old = bpy.data.node_groups.new("old", "GeometryNodeTree")
    for name, kind in (("Target", "Object"), ("Influence", "Float"), ("Softness", "Float"), ("Extra", "Float")):
        old.interface.new_socket(name, in_out="INPUT", socket_type=f"NodeSocket{kind}")
    old[MARK], modifier.node_group = "3 old", old
    paths = {item.name: input_path(modifier, item.identifier) for item in group_inputs(modifier)}
    for frame, value in ((1, 0.25), (21, 1.0)):
        set_input(modifier, group_inputs(modifier)[1].identifier, value)
        solver.keyframe_insert(paths["Influence"], frame=frame)
    solver.keyframe_insert(paths["Extra"], frame=1)
    solver.driver_add(paths["Softness"]).driver.expression = "0.125"


@pytest.mark.parametrize("gets_pole", [False, True])
def test_keys_and_drivers_of_a_rig_of_an_earlier_version_go_with_their_inputs(gets_pole: bool) -> None:
    armature = rigs.make_tail(4)
    chain = make_native(armature, "bone3", 3, target=(1.0, 0.3, 2.0))
    solver = solvers_of(armature)["bone3"]
    animate_as_before_version_4(solver)
    if gets_pole:
        chain.pole_target = rigs.make_empty("pole", (0.0, -5.0, 1.0))
        rigs.enter_pose_mode(armature)
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    assert solvers_of(armature)["bone3"] == solver
    for frame, value in ((1, 0.25), (21, 1.0)):
        bpy.context.scene.frame_set(frame)
        found = native_inputs(armature, "bone3")
        assert found["Influence"] == value and found["Softness"] == 0.125
    # An input that there is no more leaves no keys to the one that has its identifier now.
    assert [curve.data_path for curve in armature_curves(solver.animation_data.action)] == [
        input_paths(armature, "bone3")["Influence"]
    ]


def test_keys_of_a_rig_of_an_earlier_version_that_another_object_has_too_are_not_moved() -> None:
    armature, other = rigs.make_tail(4), rigs.make_empty("other", (1.0, 0.0, 2.0))
    make_native(armature, "bone3", 3, target=(1.0, 0.3, 2.0))
    solver = solvers_of(armature)["bone3"]
    animate_as_before_version_4(solver)
    animation = other.animation_data_create()
    animation.action, animation.action_slot = solver.animation_data.action, solver.animation_data.action_slot
    assert f"of '{solver.name}' animates 'other' too" in rigs.error_of(bpy.ops.pose.fabrik_rig_add)


def test_a_setting_that_is_changed_too_is_that_of_the_chain() -> None:
    armature, other = rigs.make_tail(4), rigs.make_empty("other", (1.0, 0.0, 2.0))
    chain = make_native(armature, "bone3", 3, target=(1.0, 0.3, 2.0))
    set_native(armature, "bone3", Softness=0.3, Target=other)
    chain.softness, chain.target = 0.1, rigs.make_empty("newer", (1.0, 0.3, 1.0))
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    found = native_inputs(armature, "bone3")
    assert found["Softness"] == pytest.approx(0.1) and found["Target"] == chain.target


def test_follows_an_animated_root_a_moved_object_and_bones_of_its_own_armature(
    capfd: pytest.CaptureFixture[str],
) -> None:
    armature = rigs.make_armature(
        [
            rigs.Bone("hips", (0, 0, 0), (0, 0.5, 0)),
            rigs.Bone("upper", (0, 0.5, 0.2), (0, 0.6, 1.2), "hips"),
            rigs.Bone("middle", (0, 0.6, 1.2), (0.1, 0.4, 2.2), "upper", connected=True),
            rigs.Bone("lower", (0, 0.3, 2.4), (0, 0.3, 3.2), "middle"),
            rigs.Bone("goal", (0.5, 1.5, 1.5), (0.5, 1.5, 2.0)),
            rigs.Bone("knee", (0.5, 3.5, 1.5), (0.5, 3.5, 2.0)),
        ]
    )
    outer = rigs.make_empty("outer")
    armature.parent = outer
    chain = rigs.set_chain(armature, "lower", 3, armature, armature)
    chain.subtarget, chain.pole_subtarget, chain.use_limits = "goal", "knee", False
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    assert rigs.distance_left(armature, chain) < 1e-4
    hips, goal = armature.pose.bones["hips"], armature.pose.bones["goal"]
    for number in range(6):
        hips.rotation_quaternion = (1.0, 0.1 * number, -0.1 * number, 0.2)
        hips.location = (0.1 * number, 0.0, -0.05 * number)
        goal.location = (0.2 * number, -0.1 * number, 0.1)
        armature.scale = (1.0 + number,) * 3
        armature.rotation_euler = (0.2 * number, 0.1, 0.3)
        outer.location.x = number
        outer.rotation_euler.z = 0.5 * number
        assert rigs.distance_left(armature, chain) < 1e-4
    assert "ycle" not in capfd.readouterr().out


def test_a_root_bone_that_moves_by_itself_is_followed() -> None:
    armature = rigs.make_tail(3)
    chain = make_native(armature, "bone2", 3, target=(0.6, 0.5, 1.5))
    armature.pose.bones["bone0"].location = (0.3, -0.4, 0.2)
    assert rigs.distance_left(armature, chain) < 1e-4


@pytest.mark.parametrize("influence", [0.0, 0.3, 1.0])
def test_influence_blends_with_the_bones_own_rotations(influence: float) -> None:
    armature = rigs.make_tail(3)
    make_native(armature, "bone2", 3, target=(1.0, 0.5, 1.5))
    own = {f"bone{i}": rigs.random_rotation(np.random.default_rng(i), 1.0) for i in range(3)}
    for name, rotation in own.items():
        armature.pose.bones[name].rotation_quaternion = rotation
    rigs.update()
    solved = {name: local_rotation(armature, name) for name in own}
    set_native(armature, "bone2", Influence=influence)
    for name, rotation in own.items():
        wanted = rotation.slerp(solved[name], influence)
        assert local_rotation(armature, name).rotation_difference(wanted).angle < 2e-3


def local_rotation(armature: Any, name: str) -> Any:
    bone = armature.pose.bones[name]
    local = armature.convert_space(pose_bone=bone, matrix=bone.matrix, from_space="POSE", to_space="LOCAL")
    return local.to_quaternion()


def test_influence_can_be_keyed() -> None:
    armature = rigs.make_tail(3)
    chain = make_native(armature, "bone2", 3, target=(1.0, 0.5, 1.5))
    solver = solvers_of(armature)["bone2"]
    modifier = solver.modifiers[0]
    (socket,) = (socket for socket in group_inputs(modifier) if socket.name == "Influence")
    for frame, value in ((1, 0.0), (11, 1.0)):
        set_input(modifier, socket.identifier, value)
        assert solver.keyframe_insert(input_path(modifier, socket.identifier), frame=frame)
    ends = []
    for frame in (1, 6, 11):
        bpy.context.scene.frame_set(frame)
        ends.append(rigs.distance_left(armature, chain))
    assert ends[0] > ends[1] > 0.01
    assert ends[2] < 1e-4


def test_no_pop_with_softness() -> None:
    armature = make_chain(2, "straight")
    chain = rigs.add_chain(armature, "b1", 2, create_pole=True)
    chain.softness, chain.use_limits = 0.1, False
    chain.pole_target.location = (2.0, 0.0, 0.5)
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    before = None
    for step in range(400):
        chain.target.location = Vector((0.3, 1.0, 0.2)).normalized() * 2.0 * (0.9 + 0.0005 * step)
        rigs.update()
        rotations = [local_rotation(armature, f"b{i}") for i in range(2)]
        if before is not None:
            turns = [a.rotation_difference(b).angle for a, b in zip(before, rotations, strict=True)]
            assert max(turns) < math.radians(0.5)
        before = rotations


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"use_stretch": True, "root_motion": "TRANSLATE"}, "root that follows"),
        ({"solver": "CCD"}, "only FABRIK"),
    ],
)
def test_what_cannot_be_carried_is_refused_by_name(settings: dict[str, Any], reason: str) -> None:
    armature = rigs.make_tail(3)
    chain = rigs.add_chain(armature, "bone2", 3)
    for name, value in settings.items():
        setattr(chain, name, value)
    message = rigs.error_of(bpy.ops.pose.fabrik_rig_add)
    assert "'bone2'" in message
    assert reason in message


def test_bones_with_names_of_attributes() -> None:
    armature = rigs.make_armature(
        [
            rigs.Bone("position", (0, 0, 0), (0, 0.2, 1)),
            rigs.Bone("radius", (0, 0.2, 1), (0, 0, 2), "position", connected=True),
        ]
    )
    chain = make_native(armature, "radius", 2, target=(0.8, 0.3, 0.9))
    assert rigs.distance_left(armature, chain) < 1e-4


def test_a_bone_cannot_follow_two_chains() -> None:
    armature = rigs.make_tail(4)
    make_native(armature, "bone3", 4)
    chain = rigs.add_chain(armature, "bone2", 2)
    chain.use_limits = False
    message = rigs.error_of(bpy.ops.pose.fabrik_rig_add, only_active=True)
    assert "'bone2'" in message
    assert "share bones" in message


def test_removing_needs_a_rig() -> None:
    armature = rigs.make_tail(3)
    rigs.add_chain(armature, "bone2", 3)
    with pytest.raises(RuntimeError, match="no native rig"):
        bpy.ops.pose.fabrik_rig_remove()


def test_links_that_leave_their_bones_and_locked_bones() -> None:
    armature = rigs.make_armature(
        [
            rigs.Bone("a", (0, 0, 0), (0.5, 0, 0.8), roll=0.4),
            rigs.Bone("b", (0, 0.2, 1.0), (0.3, 0.2, 1.5), "a", roll=-0.6),
            rigs.Bone("c", (0.2, 0.0, 2.0), (0.2, 0.3, 2.4), "b"),
            rigs.Bone("d", (0.3, 0.1, 3.0), (0.3, 0.1, 3.8), "c", roll=1.0),
        ]
    )
    armature.pose.bones["c"].lock_rotation = (True, True, True)
    armature.pose.bones["c"].lock_rotation_w = True
    chain = make_native(armature, "d", 4, target=(1.0, 0.7, 1.6))
    assert rigs.distance_left(armature, chain) < 1e-4
    assert not armature.pose.bones["c"].constraints


def test_overridden_armature(tmp_path: Path) -> None:
    armature = rigs.make_tail(3)
    rigs.add_chain(armature, "bone2", 3)
    library = tmp_path / "library.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(library))
    bpy.ops.wm.read_factory_settings(use_empty=True)
    with bpy.data.libraries.load(str(library), link=True) as (_, wanted):
        wanted.objects = ["Rig"]
    linked = wanted.objects[0]
    bpy.context.scene.collection.objects.link(linked)
    mine = linked.override_create(remap_local_usages=True)
    mine.override_library.is_system_override = False
    rigs.enter_pose_mode(mine)
    target = rigs.make_empty("goal", (1.0, 0.4, 1.2))
    chain = mine.fabrik.chains[0]
    chain.target, chain.use_limits = target, False
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    assert rigs.distance_left(mine, chain) < 1e-4
    target.location = (-1.0, 0.4, 1.7)
    assert rigs.distance_left(mine, chain) < 1e-4
    assert bpy.ops.pose.fabrik_rig_remove() == {"FINISHED"}
    assert not any(bone.constraints for bone in mine.pose.bones)


def test_saved_file_follows_its_target_where_we_are_not_installed(tmp_path: Path) -> None:
    armature = rigs.make_tail(4)
    chain = make_native(armature, "bone3", 4, create_pole=True)
    armature.matrix_world = Matrix.Translation((0.3, 0.1, 0.0)) @ Matrix.Scale(0.5, 4)
    for frame in range(1, 25):
        angle = 0.25 * frame
        chain.target.location = (0.3 + 1.2 * math.cos(angle), 0.1 + 1.1 * math.sin(angle), 0.8)
        chain.target.keyframe_insert("location", frame=frame)
    file = tmp_path / "native.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(file))
    environment = {**os.environ, "BLENDER_USER_RESOURCES": str(tmp_path / "user")}
    command = [sys.executable, str(BARE_BLENDER), str(file), "Rig", "bone3", chain.target.name]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ycle" not in done.stdout
    errors = [float(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("error ")]
    assert len(errors) >= 24  # and once more when the render has ended
    assert max(errors) < 1e-4


@pytest.mark.parametrize(("tip", "count"), [("hand.L", 4), ("forearm.R", 3), ("toe.L", 4)])
def test_a_limb_that_bends_both_ways_is_the_core_s_over_its_whole_reach(tip: str, count: int) -> None:
    bpy.ops.preferences.addon_enable(module="rigify")
    bpy.ops.object.armature_human_metarig_add()
    armature = bpy.context.object
    rigs.enter_pose_mode(armature)
    rest = np.array([bone.matrix for bone in armature.pose.bones])
    chain = rigs.add_chain(armature, tip, count, create_target=True, create_pole=True)
    assert chain.pole_shape
    root = armature.pose.bones[tip]
    for _ in range(count - 1):
        root = root.parent
    start = chain.target.location.copy()
    positions = [start]
    rng = np.random.default_rng(1)
    for reach in rng.uniform(0.2, 1.05, 8).tolist():
        direction = (start - root.head).normalized() + 0.5 * Vector(rng.normal(size=3))
        positions.append(root.head + reach * (start - root.head).length * direction.normalized())
    solved = []
    for position in positions:
        chain.target.location = position
        bpy.ops.pose.fabrik_solve()
        solved.append([bone.matrix.copy() for bone in armature.pose.bones])
        bpy.ops.pose.select_all(action="SELECT")
        bpy.ops.pose.rot_clear()
    bpy.ops.pose.fabrik_rig_add()
    for number, position in enumerate(positions):
        chain.target.location = position
        rigs.update()
        found = np.array([bone.matrix for bone in armature.pose.bones])
        # Linear interpolation in the table leaves 0.2 degrees at the shape itself.
        np.testing.assert_allclose(found, np.array(solved[number]), atol=4e-3, err_msg=str(number))
        if number == 0:
            np.testing.assert_allclose(found, rest, atol=4e-3)


@pytest.mark.parametrize("use_stretch", [False, True])
def test_solve_and_drag_leave_channels_that_the_rig_hides_and_make_no_keys_there(use_stretch: bool) -> None:
    armature = rigs.make_tail(5)
    chain = rigs.add_chain(armature, "bone4", 3)
    chain.use_stretch = use_stretch
    bpy.ops.pose.fabrik_rig_add()
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    bpy.context.preferences.edit.use_keyframe_insert_available = False
    before = rigs.pose_of(armature)
    place = rigs.head_of(armature, "bone2") + Vector((1.2, 0.9, 0.9))
    assert bpy.ops.pose.fabrik_drag_target(position=place) == {"FINISHED"}
    assert (rigs.end_of(armature, chain) - place).length < 1e-3
    chain.target.location.x -= 0.3
    bpy.ops.pose.fabrik_solve()
    assert rigs.pose_of(armature) == before and rigs.distance_left(armature, chain) < 1e-3
    action = armature.animation_data.action
    assert action is None or not rigs.keys_of(action)
    assert {path for path, _ in rigs.keys_of(chain.target.animation_data.action)} == {"location"}
    # At influence 0 the bones have their own channels, which are posed and keyed as without the rig.
    set_native(armature, "bone4", Influence=0.0)
    bpy.ops.pose.fabrik_solve()
    assert rigs.distance_left(armature, chain) < 1e-3
    assert rigs.pose_of(armature) != before and rigs.keys_of(armature.animation_data.action)


def test_a_bone_above_a_native_rig_is_posed_with_the_tree() -> None:
    armature = rigs.make_tail(5)
    rigs.add_chain(armature, "bone4", 2)
    bpy.ops.pose.fabrik_rig_add()
    before = rigs.pose_of(armature)
    bpy.ops.pose.fabrik_drag(grab="TIP", chain_count=4, position=Vector((1.5, 0.3, 3.0)))
    after = rigs.pose_of(armature)
    changed = {name for name in before if before[name] != after[name]}
    assert changed and changed.isdisjoint({"bone3", "bone4"})
