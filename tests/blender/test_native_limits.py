# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Native rigs within joint limits: kept to in every pose, reached where a feasible pose reaches, else refused."""

from __future__ import annotations

import math
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Vector

from fabrik_addon.blender.bones.bone_limits import limits_of
from fabrik_addon.core import Goals, Options, Pose, plain_chain, solve
from fabrik_addon.core.math.operations import SCALAR
from fabrik_addon.core.model.joint_limits import clamp, joint_limits, outside_by, rotation_of

from . import rigs
from .test_limits import LOCKED, limit
from .test_native_rig import count_blocks, largest_turns, local_rotation, make_chain, rest_problem

HIP = ((-70.0, 60.0), (-30.0, 40.0), (-40.0, 50.0))
FREE_TWIST = ((-60.0, 60.0), None, (-60.0, 60.0))
NO_TWIST = ((-60.0, 60.0), LOCKED, (-60.0, 60.0))
KNEE = ((0.0, 150.0), LOCKED, LOCKED)
SIDEWAYS = (LOCKED, LOCKED, (-140.0, 20.0))
TWISTING = ((0.0, 120.0), (-60.0, 60.0), LOCKED)
EDGE = ((0.0, 80.0), (-20.0, 20.0), (-50.0, 50.0))
NECK = ((-30.0, 30.0), (-20.0, 20.0), (-30.0, 30.0))
FREE = (None, None, None)

CONSTRAINED_CHAINS = {
    "leg": (HIP, KNEE),
    "leg with a free hip": (FREE, SIDEWAYS),
    "leg without twist": (NO_TWIST, KNEE),
    "arm": (FREE_TWIST, TWISTING, NECK),
    "finger": (TWISTING, KNEE, KNEE),
    "edges at rest": (EDGE, KNEE, NECK),
    "spine": (NECK,) * 6,
}

LEAST_REACHED = 26
"""Of 30 targets."""

MOST_OUTSIDE = math.radians(1e-3)


def set_limits(bones: Any, constrained_chain: Any) -> None:
    for bone, joint in zip(bones, constrained_chain, strict=True):
        limit(bone, joint)


def feasible_tip(armature: Any, limits: Any, rng: np.random.Generator) -> Vector:
    """Where the tip is in some pose within the limits; the bones are put back to rest."""
    for bone, each in zip(armature.pose.bones, limits, strict=True):
        turn = tuple(
            rng.uniform(*((low, high) if math.isfinite(high - low) else (-math.pi, math.pi)))
            for low, high in zip(each.lower, each.upper, strict=True)
        )
        bone.rotation_mode = "QUATERNION"
        x, twist, z = turn
        short = 1.0 / max(1.0, math.hypot(x, z))
        bone.rotation_quaternion = rotation_of(SCALAR, clamp(SCALAR, each, (x * short, twist, z * short)))
    rigs.update()
    tip = armature.pose.bones[-1].tail.copy()
    for bone in armature.pose.bones:
        bone.rotation_quaternion = (1.0, 0.0, 0.0, 0.0)
    return tip


def worst_outside(armature: Any, limits: Any) -> float:
    turns = [local_rotation(armature, bone.name) for bone in armature.pose.bones]
    return max(outside_by(each, tuple(turn)) for each, turn in zip(limits, turns, strict=True))


def make_constrained_chain(constrained_chain: Any, shape: str, pole: bool = False) -> tuple[Any, Any, Any]:
    armature = make_chain(len(constrained_chain), shape)
    set_limits(armature.pose.bones, constrained_chain)
    chain = rigs.add_chain(armature, f"b{len(constrained_chain) - 1}", len(constrained_chain), create_pole=pole)
    return armature, chain, [joint_limits(*limits_of(bone)) for bone in armature.pose.bones]


@pytest.mark.parametrize("pole", [False, True])
@pytest.mark.parametrize("shape", ["straight", "bent"])
@pytest.mark.parametrize("name", CONSTRAINED_CHAINS)
def test_limits_are_kept_and_feasible_targets_reached(name: str, shape: str, pole: bool) -> None:
    armature, chain, limits = make_constrained_chain(CONSTRAINED_CHAINS[name], shape, pole)
    length = rest_problem(armature)[0].total_length
    rng = np.random.default_rng(3)
    targets = [feasible_tip(armature, limits, rng) for _ in range(30)]
    if pole:
        chain.pole_target.location, chain.pole_angle = (2.0 * length, -1.5 * length, 0.3 * length), 0.0
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    errors = []
    for target in targets:
        chain.target.location = target
        rigs.update()
        errors.append((armature.pose.bones[-1].tail - target).length / length)
        assert worst_outside(armature, limits) < MOST_OUTSIDE
    assert np.sum(np.array(errors) < 1e-3) >= LEAST_REACHED
    for reach in (0.05, 0.5, 0.98, 1.0, 1.4):  # wherever the target is
        chain.target.location = rigs.random_direction(rng) * reach * length
        rigs.update()
        assert worst_outside(armature, limits) < MOST_OUTSIDE
        assert np.isfinite(rigs.joints_of(armature, chain)).all()


@pytest.mark.parametrize(("count", "pole"), [(2, False), (2, True), (4, False)])
def test_a_pose_within_limits_is_the_one_without(count: int, pole: bool) -> None:
    wide = ((-150.0, 150.0), (-120.0, 120.0), (-150.0, 150.0))
    armature, chain, limits = make_constrained_chain(
        (wide, *[((-110.0, 110.0), (-60.0, 60.0), (-110.0, 110.0))] * (count - 1)), "bent", pole
    )
    length = rest_problem(armature)[0].total_length
    if pole:
        chain.pole_target.location = (2.0 * length, -1.5 * length, 0.3 * length)
    rng = np.random.default_rng(6)
    targets = [rigs.random_direction(rng) * reach * length for reach in np.linspace(0.3, 0.95, 40)]
    poses = []
    for use_limits in (False, True):
        chain.use_limits = use_limits
        assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
        poses.append([pose_at(armature, chain, target, limits) for target in targets])
    feasible = [(free, kept) for (free, outside), (kept, _) in zip(*poses, strict=True) if outside == 0.0]
    assert len(feasible) > 5
    for free, kept in feasible:
        assert kept == pytest.approx(free, abs=1e-4 * length)


def pose_at(armature: Any, chain: Any, target: Vector, limits: Any) -> tuple[np.ndarray, float]:
    """The joints with the target at a point, and how far bones are outside their limits."""
    chain.target.location = target
    rigs.update()
    return rigs.joints_of(armature, chain), worst_outside(armature, limits)


@pytest.mark.parametrize("name", ["leg", "arm", "spine"])
def test_bones_turn_smoothly_within_limits(name: str) -> None:
    armature, chain, limits = make_constrained_chain(CONSTRAINED_CHAINS[name], "bent")
    path = []
    for step in np.linspace(0.0, math.tau, 120, endpoint=False):
        for number, (bone, each) in enumerate(zip(armature.pose.bones, limits, strict=True)):
            share = 0.5 + 0.25 * np.sin(step + number + np.arange(3.0)) + 0.15 * np.sin(2.0 * step - number)
            ends = [
                (low, high) if math.isfinite(high - low) else (-0.4, 0.4)
                for low, high in zip(each.lower, each.upper, strict=True)
            ]
            x, twist, z = (low + s * (high - low) for (low, high), s in zip(ends, share, strict=True))
            bone.rotation_quaternion = rotation_of(SCALAR, clamp(SCALAR, each, (x, twist, z)))
        rigs.update()
        path.append(armature.pose.bones[-1].tail.copy())
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    turns = largest_turns(armature, chain, path)
    assert turns.max() < 3.0 * np.median(turns)
    assert rigs.distance_left(armature, chain) < 1e-3


def test_as_many_feasible_targets_are_reached_as_by_the_core() -> None:
    constrained_chain = (HIP, KNEE)
    armature, chain, limits = make_constrained_chain(constrained_chain, "bent")
    problem, rest = rest_problem(armature)
    bones = armature.data.bones
    frames = [bone.matrix_local.to_quaternion() for bone in bones]
    rests = [frames[0], frames[0].conjugated() @ frames[1]]
    lower, upper = (
        np.array([limits_of(b)[end] for b in (*armature.pose.bones, armature.pose.bones[-1])]) for end in (0, 1)
    )
    limited = plain_chain(problem.links, rest=np.array([r[:] for r in (*rests, rests[-1])]), limits=(lower, upper))
    start = Pose(rest.positions, rest.rotations, np.array(frames[0][:]))
    rng = np.random.default_rng(9)
    targets = [feasible_tip(armature, limits, rng) for _ in range(60)]
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    ours, core = 0, 0
    for target in targets:
        chain.target.location = target
        rigs.update()
        ours += (armature.pose.bones[-1].tail - target).length < 1e-3 * problem.total_length
        core += solve(limited, start, Goals(np.array([target[:]])), Options()).error[0] < 1e-3
    assert core >= 58
    assert ours >= core - 3


def test_a_chain_whose_inner_joints_are_all_locked_turns_at_its_root() -> None:
    armature = rigs.make_tail(3)
    for name in ("bone1", "bone2"):
        limit(armature.pose.bones[name], (LOCKED, LOCKED, LOCKED))
    chain = rigs.add_chain(armature, "bone2", 3)
    rest = np.linalg.norm(rigs.joints_of(armature, chain)[-1])
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    for direction in ((1.0, 0.3, 0.2), (-0.5, 0.4, 1.0)):
        target = Vector(direction).normalized() * rest
        chain.target.location = target
        rigs.update()
        assert (Vector(rigs.joints_of(armature, chain)[-1]) - target).length < 1e-4
    chain.target.location = 0.5 * target
    rigs.update()
    assert (Vector(rigs.joints_of(armature, chain)[-1]) - target).length < 1e-4


def test_rotation_locks_that_leave_a_hinge_are_limits() -> None:
    armature = rigs.make_tail(3)
    for bone in armature.pose.bones:
        bone.rotation_mode = "XYZ"
    armature.pose.bones["bone1"].lock_rotation = (False, True, True)
    chain = rigs.add_chain(armature, "bone2", 3, target=(0.5, 0.9, 1.8))
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    assert rigs.distance_left(armature, chain) < 1e-3
    turn = local_rotation(armature, "bone1")
    assert abs(turn.y) + abs(turn.z) < 1e-6


def test_the_tip_turns_with_its_target_within_limits() -> None:
    armature, chain, limits = make_constrained_chain((HIP, KNEE, NECK), "bent")
    chain.use_rotation = True
    rng = np.random.default_rng(5)
    targets = [feasible_tip(armature, limits, rng) for _ in range(20)]
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    chain.target.rotation_mode = "QUATERNION"
    length = rest_problem(armature)[0].total_length
    reached = 0
    for target in targets:
        chain.target.location = target
        chain.target.rotation_quaternion = rigs.random_rotation(rng, 1.0)
        rigs.update()
        assert worst_outside(armature, limits) < MOST_OUTSIDE
        reached += (armature.pose.bones[-1].tail - target).length < 1e-3 * length
    assert reached >= 18


def test_made_and_removed_is_as_before() -> None:
    make_constrained_chain((HIP, KNEE, NECK), "bent")
    rigs.update()
    before, blocks = rigs.everything(), count_blocks()
    for _ in range(2):
        assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    assert bpy.ops.pose.fabrik_rig_remove(keep_pose=False) == {"FINISHED"}
    rigs.update()
    assert rigs.everything() == before
    assert count_blocks() == blocks


def test_without_limits_there_are_no_more_nodes() -> None:
    armature = make_chain(3, "bent")
    for bone in armature.pose.bones:
        bone.use_ik_limit_y = True  # all the way round is no limit
        bone.ik_min_y, bone.ik_max_y = -math.pi, math.pi
    chain = rigs.add_chain(armature, "b2", 3)
    chain.use_limits = False
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    assert not any("limits" in tree.name for tree in bpy.data.node_groups)


def refused(settings: dict[str, Any], **chain_settings: Any) -> str:
    armature = rigs.make_tail(3)
    chain = rigs.add_chain(armature, "bone2", 3)
    for name, value in chain_settings.items():
        setattr(chain, name, value)
    for name, value in settings.items():
        setattr(armature.pose.bones["bone1"], name, value)
    message = rigs.error_of(bpy.ops.pose.fabrik_rig_add)
    assert "'bone2'" in message
    assert "'bone1'" in message
    return message


def test_what_is_not_carried_is_refused_with_its_bone() -> None:
    assert "stiffness" in refused({"ik_stiffness_y": 0.5})
    assert "locked" in refused({"rotation_mode": "XYZ", "lock_rotation": (True, False, False)})
    assert "locked" in refused({"lock_rotations_4d": True, "lock_rotation": (True, False, False)})
    assert "locked" in refused({"lock_rotation": (True, True, False)}, use_limits=False)
    assert "Stretch" in refused({"use_ik_limit_x": True}, use_stretch=True)


def test_euler_limits_about_several_axes_are_refused() -> None:
    armature = rigs.make_tail(3)
    rigs.add_chain(armature, "bone2", 3)
    constraint = armature.pose.bones["bone1"].constraints.new("LIMIT_ROTATION")
    constraint.owner_space = "LOCAL"
    constraint.use_limit_x = constraint.use_limit_z = True
    constraint.max_x = constraint.max_z = 1.0
    message = rigs.error_of(bpy.ops.pose.fabrik_rig_add)
    assert "'bone1'" in message
    assert "Limit Rotation" in message
