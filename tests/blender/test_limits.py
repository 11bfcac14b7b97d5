# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Joint limits that riggers set on bones are kept to in the pose that Blender evaluates, and targets are reached."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import bpy
import numpy as np
import pytest
from bpy.types import Object, PoseBone
from hypothesis import given
from hypothesis import strategies as st
from mathutils import Euler, Quaternion, Vector

from fabrik_addon.blender.bones.bone_limits import left_by
from scripts.benchmark.limit_sets import turn_by, violation
from tests.blender.rigs import (
    ROTATION_MODES,
    Bone,
    bones_of,
    clear_scene,
    distance_left,
    examples,
    links_of,
    make_armature,
    make_empty,
    metarig,
    pose_of,
    random_direction,
    random_rotation,
    rotation_of,
    set_chain,
    set_rotation,
    tail_bones,
    update,
    warnings_in,
)

Range = tuple[float, float]
"""Degrees."""

Joint = tuple[Range | None, Range | None, Range | None]
"""About x, y and z; None is free."""

LOCKED: Range = (0.0, 0.0)
BALL: Joint = ((-60.0, 60.0), (-45.0, 45.0), (-60.0, 60.0))
KNEE: Joint = ((0.0, 140.0), LOCKED, LOCKED)
LEGLESS: Joint = (LOCKED, LOCKED, LOCKED)
LOCKS = [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (0, 0, 0)]
EDGE = 1e-4
"""Radians outside a limit that single precision may make of none."""

seeds = st.integers(0, 2**32 - 1)
balls = st.tuples(
    st.floats(-90, -5), st.floats(5, 90), st.floats(-60, -5), st.floats(5, 60), st.floats(-90, -5), st.floats(5, 90)
).map(lambda a: ((a[0], a[1]), (a[2], a[3]), (a[4], a[5])))
hinges = st.tuples(st.sampled_from([0, 2]), st.floats(-30.0, 0.0), st.floats(30.0, 150.0)).map(
    lambda a: tuple((a[1], a[2]) if axis == a[0] else LOCKED for axis in range(3))
)
pivots = st.floats(10.0, 90.0).map(lambda a: (LOCKED, (-a, a), LOCKED))
joints = st.one_of(balls, hinges, hinges, pivots, st.just((None, None, None)), st.just(((-40.0, 40.0), None, LOCKED)))


def make_constrained_chain(ranges: Sequence[Joint], rolls: Sequence[float] | None = None) -> tuple[Object, Any]:
    """Bones end to end, half long, upward and a little aside, each with its limits; a target at the tip."""
    count = len(ranges)
    points = [Vector((0.1 * (i % 2), 0.05 * i, 0.5 * i)) for i in range(count + 1)]
    made = [
        Bone(f"bone{i}", points[i], points[i + 1], f"bone{i - 1}" if i else None, i > 0, rolls[i] if rolls else 0.0)
        for i in range(count)
    ]
    armature = make_armature(made)
    for bone, joint in zip(armature.pose.bones, ranges, strict=True):
        limit(bone, joint)
    chain = set_chain(armature, f"bone{count - 1}", count, make_empty("target", points[-1]))
    update()
    return armature, chain


def limit(bone: PoseBone, joint: Joint) -> None:
    """Set a bone's limits as in its properties under Inverse Kinematics."""
    for axis, ends in zip("xyz", joint, strict=True):
        if ends == LOCKED:
            setattr(bone, f"lock_ik_{axis}", True)
        elif ends is not None:
            setattr(bone, f"use_ik_limit_{axis}", True)
            setattr(bone, f"ik_min_{axis}", math.radians(ends[0]))
            setattr(bone, f"ik_max_{axis}", math.radians(ends[1]))


def ends_of(joint: Joint) -> tuple[np.ndarray, np.ndarray]:
    ends = [(-math.inf, math.inf) if axis is None else (math.radians(axis[0]), math.radians(axis[1])) for axis in joint]
    return np.array([low for low, _ in ends]), np.array([high for _, high in ends])


def evaluated_turn(bone: PoseBone) -> Quaternion:
    """How a bone is turned from its rest in its parent's, by where both are in the evaluated pose."""
    if bone.parent is None:
        rest, parent = bone.bone.matrix_local, bone.id_data.matrix_world.inverted() @ bone.id_data.matrix_world
    else:
        rest, parent = bone.parent.bone.matrix_local.inverted() @ bone.bone.matrix_local, bone.parent.matrix
    return (parent @ rest).to_quaternion().inverted() @ bone.matrix.to_quaternion()


def outside(bones: Sequence[PoseBone], ranges: Sequence[Joint]) -> float:
    """By how many radians the worst bone is outside its limits."""
    update()
    worst = 0.0
    for bone, joint in zip(bones, ranges, strict=True):
        lower, upper = ends_of(joint)
        worst = max(worst, float(violation(lower, upper, np.array(evaluated_turn(bone)))))
    return worst


def feasible_rotation(rng: np.random.Generator, joint: Joint, share: float = 0.9) -> Quaternion:
    lower, upper = (np.clip(ends, -1.5, 1.5) for ends in ends_of(joint))
    while True:
        angles = rng.uniform(share * lower, share * upper)
        q = turn_by(np.sin(0.5 * angles[0]), angles[1], np.sin(0.5 * angles[2]))
        if violation(*ends_of(joint), q) <= 0.0:
            return Quaternion(q.tolist())


def reachable(rng: np.random.Generator, armature: Object, chain: Any, ranges: Sequence[Joint]) -> Vector:
    """Where the tip is in some feasible pose, in the world; the pose is put back."""
    bones = bones_of(armature, chain)
    before = [rotation_of(bone) for bone in bones]
    for bone, joint in zip(bones, ranges, strict=True):
        set_rotation(bone, feasible_rotation(rng, joint))
    update()
    place = armature.matrix_world @ bones[-1].tail
    for bone, rotation in zip(bones, before, strict=True):
        set_rotation(bone, rotation)
    update()
    return place


# Limits as riggers set them


@examples(60)
@given(st.lists(joints, min_size=2, max_size=5), seeds)
def test_feasible_targets_are_reached_and_no_limit_is_broken(ranges: list[Joint], seed: int) -> None:
    clear_scene()
    rng = np.random.default_rng(seed)
    armature, chain = make_constrained_chain(ranges, rng.uniform(-3.0, 3.0, len(ranges)).tolist())
    bones = bones_of(armature, chain)
    for bone in bones:
        bone.rotation_mode = str(rng.choice(ROTATION_MODES))
    links = links_of(armature, chain)
    chain.target.location = reachable(rng, armature, chain, ranges)
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    assert distance_left(armature, chain) < 1e-3
    assert outside(bones, ranges) <= EDGE
    np.testing.assert_allclose(links_of(armature, chain), links, rtol=1e-5)


@examples(40)
@given(st.lists(joints, min_size=2, max_size=5), seeds, st.booleans())
def test_no_limit_is_broken_wherever_the_target_and_the_pole_are(
    ranges: list[Joint], seed: int, with_pole: bool
) -> None:
    clear_scene()
    rng = np.random.default_rng(seed)
    armature, chain = make_constrained_chain(ranges, rng.uniform(-3.0, 3.0, len(ranges)).tolist())
    bones = bones_of(armature, chain)
    if with_pole:
        chain.pole_target = make_empty("pole", 3.0 * random_direction(rng))
    for bone in bones:  # from a pose that limits don't allow, too
        set_rotation(bone, random_rotation(rng, 1.0))
    chain.target.location = rng.uniform(0.1, 1.3) * 0.5 * len(ranges) * random_direction(rng)
    bpy.ops.pose.fabrik_solve()
    assert outside(bones, ranges) <= EDGE
    assert chain.status in {"REACHED", "LIMITED", "OUT_OF_REACH"}
    assert (chain.status == "REACHED") == (chain.error <= chain.tolerance)
    assert chain.error == pytest.approx(distance_left(armature, chain), abs=2e-6)


@pytest.mark.parametrize("mode", ROTATION_MODES)
def test_every_rotation_mode_keeps_to_the_limits(mode: str) -> None:
    ranges = [BALL, KNEE, ((-20.0, 20.0), LOCKED, (-20.0, 20.0))]
    armature, chain = make_constrained_chain(ranges, [0.3, -1.0, 2.0])
    bones = bones_of(armature, chain)
    for bone in bones:
        bone.rotation_mode = mode
    rng = np.random.default_rng(1)
    for _ in range(6):
        chain.target.location = reachable(rng, armature, chain, ranges)
        bpy.ops.pose.fabrik_solve()
        assert chain.status == "REACHED"
        assert outside(bones, ranges) <= EDGE
        assert all(bone.rotation_mode == mode for bone in bones)


def test_a_solved_pose_stays() -> None:
    ranges = [BALL, KNEE, KNEE]
    armature, chain = make_constrained_chain(ranges)
    rng = np.random.default_rng(2)
    for _ in range(6):
        chain.target.location = reachable(rng, armature, chain, ranges)
        bpy.ops.pose.fabrik_solve()
        before = [bone.matrix.copy() for bone in armature.pose.bones]
        bpy.ops.pose.fabrik_solve()
        update()
        for bone, old in zip(armature.pose.bones, before, strict=True):
            np.testing.assert_allclose(bone.matrix, old, atol=1e-6)


def test_limits_can_be_ignored() -> None:
    armature, chain = make_constrained_chain([BALL, KNEE])
    chain.target.location = (0.0, 0.0, -0.7)
    bpy.ops.pose.fabrik_solve()
    assert chain.status == "LIMITED"
    chain.use_limits = False
    bpy.ops.pose.fabrik_solve()
    assert chain.status == "REACHED"
    assert outside(bones_of(armature, chain), [BALL, KNEE]) > 0.1


def test_a_limit_that_is_switched_off_is_none() -> None:
    armature, chain = make_constrained_chain([BALL, KNEE])
    for bone in armature.pose.bones:
        for axis in "xyz":
            setattr(bone, f"use_ik_limit_{axis}", False)
            setattr(bone, f"lock_ik_{axis}", False)
    chain.target.location = (0.0, 0.0, -0.7)
    bpy.ops.pose.fabrik_solve()
    assert chain.status == "REACHED"


@pytest.mark.parametrize("stiff", [0, 1, 2])
def test_a_stiff_bone_turns_less(stiff: int) -> None:
    """It leaves most of a small move to the others."""
    armature, chain = make_constrained_chain([BALL] * 3)
    bones = bones_of(armature, chain)
    rng = np.random.default_rng(3)
    turned = np.zeros(2)
    for _ in range(8):
        start = [feasible_rotation(rng, BALL, 0.5) for _ in bones]
        move = 0.05 * random_direction(rng)
        for which, stiffness in enumerate((0.0, 0.95)):
            for axis in "xyz":
                setattr(bones[stiff], f"ik_stiffness_{axis}", stiffness)
            for bone, rotation in zip(bones, start, strict=True):
                set_rotation(bone, rotation)
            update()
            chain.target.location = bones[-1].tail + move
            bpy.ops.pose.fabrik_solve()
            assert chain.status == "REACHED"
            update()
            turned[which] += 2.0 * math.acos(min(abs((start[stiff].inverted() @ evaluated_turn(bones[stiff])).w), 1.0))
    assert turned[1] < 0.75 * turned[0]


# Rotation locks and constraints are limits too


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("mode", ["XYZ", "ZYX"])
def test_rotation_locks_at_rest_are_limits(axis: int, mode: str) -> None:
    """A knee whose other two angles are locked is a hinge that ends where its limit says."""
    free = [LOCKED, LOCKED, LOCKED]
    free[axis] = (-140.0, 140.0)
    ranges: list[Joint] = [BALL, (free[0], free[1], free[2])]
    armature, chain = make_constrained_chain([BALL, (None, None, None)])
    knee = armature.pose.bones["bone1"]
    knee.rotation_mode = mode
    knee.lock_rotation = [each != axis for each in range(3)]
    limit(knee, (free[0] if axis == 0 else None, free[1] if axis == 1 else None, free[2] if axis == 2 else None))
    rng = np.random.default_rng(4)
    for _ in range(6):
        chain.target.location = reachable(rng, armature, chain, ranges)
        bpy.ops.pose.fabrik_solve()
        assert distance_left(armature, chain) < 1e-3
        assert outside(bones_of(armature, chain), ranges) <= EDGE
        values = knee.rotation_euler[:]
        assert all(value == 0.0 for each, value in enumerate(values) if each != axis)


def limit_rotation(bone: PoseBone, ends: Joint, space: str = "LOCAL") -> Any:
    constraint = bone.constraints.new("LIMIT_ROTATION")
    constraint.owner_space = space
    for axis, one in zip("xyz", ends, strict=True):
        if one is not None:
            setattr(constraint, f"use_limit_{axis}", True)
            setattr(constraint, f"min_{axis}", math.radians(one[0]))
            setattr(constraint, f"max_{axis}", math.radians(one[1]))
    return constraint


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("ends", [(5.0, 150.0), (-150.0, -5.0), (-30.0, 60.0)])
def test_limit_rotation_on_a_hinge_is_a_limit(axis: int, ends: Range) -> None:
    """5 to 150 degrees, which Blender's own IK settings can't say; and nothing is overridden by it."""
    hinge = [LOCKED, LOCKED, LOCKED]
    hinge[axis] = ends
    joint: Joint = (hinge[0], hinge[1], hinge[2])
    armature, chain = make_constrained_chain([BALL, (None, None, None), (None, LOCKED, None)])
    ranges: list[Joint] = [BALL, joint, (None, LOCKED, None)]
    bones = bones_of(armature, chain)
    constraint = limit_rotation(bones[1], joint)
    rng = np.random.default_rng(5)
    for _ in range(6):
        chain.target.location = reachable(rng, armature, chain, ranges)
        bpy.ops.pose.fabrik_solve()
        assert chain.status == "REACHED"
        assert distance_left(armature, chain) < 1e-3
        assert outside(bones, ranges) <= EDGE
        shown = evaluated_turn(bones[1])
        constraint.mute = True
        update()
        assert shown.rotation_difference(evaluated_turn(bones[1])).angle < 1e-3  # the channel itself is feasible
        constraint.mute = False
        update()


@pytest.mark.parametrize("mode", ["QUATERNION", "XYZ", "ZXY"])
@pytest.mark.parametrize(
    "ends",
    [
        ((-40.0, 40.0), (-30.0, 30.0), (-40.0, 40.0)),
        ((-60.0, 60.0), LOCKED, (-60.0, 60.0)),
        ((5.0, 150.0), LOCKED, (-20.0, 20.0)),
    ],
)
def test_limit_rotation_about_several_axes_limits_euler_angles(
    mode: str, ends: Joint, capfd: pytest.CaptureFixture[str]
) -> None:
    """The constraint leaves alone what is solved, and of ten targets of feasible poses nine at least are reached."""
    armature, chain = make_constrained_chain([(None, None, None)] * 3)
    bones = bones_of(armature, chain)
    constraints = [limit_rotation(bone, ends) for bone in bones]
    for bone in bones:
        bone.rotation_mode = mode
    rng, reached = np.random.default_rng(11), 0
    for _ in range(10):
        for bone in bones:
            angles = [math.radians(rng.uniform(*one)) for one in ends if one is not None]
            turn = Euler(angles, mode if mode != "QUATERNION" else "XYZ").to_quaternion()
            set_rotation(bone, turn)
        update()
        chain.target.location = bones[-1].tail
        for bone in bones:
            set_rotation(bone, Quaternion())
        update()
        bpy.ops.pose.fabrik_solve()
        assert (chain.status == "REACHED") == (distance_left(armature, chain) <= chain.tolerance)
        reached += chain.status == "REACHED"
        before = [bone.matrix.copy() for bone in bones]
        for constraint in constraints:
            constraint.mute = True
        update()
        np.testing.assert_allclose([bone.matrix for bone in bones], before, atol=1e-4)
        for constraint in constraints:
            constraint.mute = False
    assert reached >= 9
    assert all("overridden" not in line for line in warnings_in(capfd))


@examples(60)
@given(seeds)
def test_limit_rotation_is_read_as_blender_evaluates_it(seed: int) -> None:
    """Ranges go round and may end before they begin; old files clamp as they always did."""
    clear_scene()
    rng = np.random.default_rng(seed)
    armature = make_armature([Bone("b", (0, 0, 0), (0, 0.3, 1), roll=0.4)])
    bone = armature.pose.bones["b"]
    for _ in range(12):
        while bone.constraints:
            bone.constraints.remove(bone.constraints[0])
        bone.rotation_mode = str(rng.choice(ROTATION_MODES))
        constraint = bone.constraints.new("LIMIT_ROTATION")
        constraint.owner_space = "LOCAL"
        constraint.euler_order = str(rng.choice(["AUTO", "XYZ", "ZXY"]))
        constraint.use_legacy_behavior = bool(rng.integers(2))
        for axis in "xyz":
            low = rng.uniform(-6.0, 6.0) if rng.integers(2) else rng.uniform(-2.0, 2.0)
            setattr(constraint, f"use_limit_{axis}", bool(rng.integers(2)))
            setattr(constraint, f"min_{axis}", low)
            setattr(constraint, f"max_{axis}", low + rng.uniform(-0.5, 4.0))
        set_rotation(bone, random_rotation(rng))
        update()
        found = left_by(bone, [constraint], rotation_of(bone))
        assert abs(found.dot(evaluated_turn(bone))) > math.cos(1e-3)


@examples(40)
@given(seeds)
def test_whatever_limit_rotation_allows_the_pose_shown_is_the_pose_found(seed: int) -> None:
    """Ranges of more than a quarter of a turn: what a constraint leaves of one set of Euler angles may be another's."""
    clear_scene()
    rng = np.random.default_rng(seed)
    armature, chain = make_constrained_chain([BALL, (None, None, None), (None, None, None)])
    for bone in bones_of(armature, chain)[1:]:
        bone.rotation_mode = str(rng.choice(ROTATION_MODES))
        constraint = bone.constraints.new("LIMIT_ROTATION")
        constraint.owner_space = "LOCAL"
        for axis in "xyz":
            low = rng.uniform(-3.0, 1.0)
            setattr(constraint, f"use_limit_{axis}", bool(rng.integers(2)))
            setattr(constraint, f"min_{axis}", low)
            setattr(constraint, f"max_{axis}", low + rng.uniform(-0.2, 3.0))
    chain.target.location = random_direction(rng) * rng.uniform(0.2, 1.4)
    update()
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    update()
    for bone in bones_of(armature, chain):
        assert abs(rotation_of(bone).dot(evaluated_turn(bone))) > math.cos(1e-3), bone.name


def test_limit_rotation_narrows_what_the_bone_says(capfd: pytest.CaptureFixture[str]) -> None:
    armature, chain = make_constrained_chain([BALL, KNEE])
    knee = armature.pose.bones["bone1"]
    limit_rotation(knee, ((20.0, 60.0), None, None))
    chain.target.location = 0.9 * (armature.pose.bones["bone1"].tail - Vector()) + Vector((0.2, 0.0, 0.0))
    bpy.ops.pose.fabrik_solve()
    assert outside(bones_of(armature, chain), [BALL, ((20.0, 60.0), LOCKED, LOCKED)]) <= EDGE
    assert all("constraint" not in line for line in warnings_in(capfd))


@pytest.mark.parametrize("space", ["WORLD", "POSE"])
def test_limit_rotation_in_another_space_is_no_limit_of_the_joint(space: str) -> None:
    armature, chain = make_constrained_chain([(None, None, None)] * 2)
    constraint = limit_rotation(armature.pose.bones["bone1"], ((0.0, 0.1), LOCKED, LOCKED), space)
    constraint.influence = 0.0
    chain.target.location = (0.0, 0.4, 0.3)
    bpy.ops.pose.fabrik_solve()
    assert chain.status == "REACHED"


# Where an armature is


@examples(25)
@given(seeds)
def test_an_armature_that_is_moved_scaled_and_parented_keeps_its_limits(seed: int) -> None:
    clear_scene()
    rng = np.random.default_rng(seed)
    ranges = [BALL, KNEE, KNEE]
    armature, chain = make_constrained_chain(ranges, rng.uniform(-3.0, 3.0, 3).tolist())
    parent = make_empty("parent", rng.normal(size=3))
    parent.rotation_euler, parent.scale = rng.uniform(-3.0, 3.0, 3), [rng.uniform(0.1, 5.0)] * 3
    armature.parent = parent
    armature.location, armature.rotation_euler = rng.normal(size=3), rng.uniform(-3.0, 3.0, 3)
    armature.scale = [rng.uniform(0.2, 3.0)] * 3
    update()
    chain.target.location = reachable(rng, armature, chain, ranges)
    bpy.ops.pose.fabrik_solve()
    assert chain.status == "REACHED"
    assert distance_left(armature, chain) < 1e-3
    assert outside(bones_of(armature, chain), ranges) <= EDGE


def test_limits_count_from_a_parent_that_is_posed() -> None:
    ranges: list[Joint] = [(None, None, None), BALL, KNEE, KNEE]
    armature, chain = make_constrained_chain(ranges)
    chain.chain_count = 3
    rng = np.random.default_rng(6)
    bones = bones_of(armature, chain)
    for _ in range(8):
        set_rotation(armature.pose.bones["bone0"], random_rotation(rng))
        update()
        chain.target.location = reachable(rng, armature, chain, ranges[1:])
        before = pose_of(armature)["bone0"]
        bpy.ops.pose.fabrik_solve()
        assert distance_left(armature, chain) < 1e-3
        assert outside(bones, ranges[1:]) <= EDGE
        assert pose_of(armature)["bone0"] == before


@pytest.mark.parametrize("which", [1, 2])
def test_a_bone_that_does_not_turn_with_its_parent_keeps_its_limits(which: int) -> None:
    ranges = [BALL, BALL, BALL]
    armature, chain = make_constrained_chain(ranges)
    bones = bones_of(armature, chain)
    bones[which].bone.use_inherit_rotation = False
    update()
    rng = np.random.default_rng(7)
    for _ in range(6):
        chain.target.location = reachable(rng, armature, chain, ranges)
        bpy.ops.pose.fabrik_solve()
        assert chain.status == "REACHED"
        assert distance_left(armature, chain) < 1e-3
        for bone, joint in zip(bones, ranges, strict=True):
            lower, upper = ends_of(joint)
            assert violation(lower, upper, np.array(rotation_of(bone))) <= EDGE


# What is said


def test_what_limits_keep_away_is_said_with_the_bones_at_their_limit(capfd: pytest.CaptureFixture[str]) -> None:
    _, chain = make_constrained_chain([((-30.0, 30.0), LOCKED, LOCKED), ((-140.0, 140.0), LOCKED, LOCKED)])
    chain.target.location = (0.05, -0.6, -0.3)
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    assert chain.status == "LIMITED"
    (warning,) = warnings_in(capfd)
    assert warning.startswith("Chain 'bone1': limited, the tip is ")
    assert "'bone0'" in warning
    assert "X" in warning
    assert "'bone1'" not in warning.partition("limited")[2]


def test_a_target_at_just_the_length_is_not_said_to_be_too_near(capfd: pytest.CaptureFixture[str]) -> None:
    """To rounding it is neither nearer nor farther: the message said that the bones reach at least -1 m."""
    armature = make_armature(tail_bones(3))
    limit(armature.pose.bones["bone1"], ((0.0, 0.6), LOCKED, LOCKED))
    chain = set_chain(armature, "bone2", 3, make_empty("target"))
    length = float(links_of(armature, chain).sum())
    for seed in (51, 89, 137):
        for bone in armature.pose.bones:
            bone.rotation_quaternion = (1.0, 0.0, 0.0, 0.0)
        chain.target.location = length * random_direction(np.random.default_rng(seed))
        assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    warnings = warnings_in(capfd)
    assert any("out of reach" in warning for warning in warnings)
    assert not any("at least" in warning for warning in warnings)


def test_locked_bones_are_named_as_locked(capfd: pytest.CaptureFixture[str]) -> None:
    armature, chain = make_constrained_chain([(None, None, None)] * 2)
    for bone in armature.pose.bones:
        bone.rotation_mode, bone.lock_rotation = "XYZ", (False, True, True)
    chain.target.location = (0.6, 0.2, 0.3)
    bpy.ops.pose.fabrik_solve()
    assert chain.status == "LIMITED"
    (warning,) = warnings_in(capfd)
    assert "'bone0'" in warning
    assert "'bone1'" in warning


def test_a_tapering_chain_with_limits_is_limited_not_stalled() -> None:
    """Bones that don't keep their shape when they turn go another way; what they say is the same."""
    armature, chain = make_constrained_chain([BALL, KNEE])
    armature.pose.bones["bone0"].scale = (1.0, 1.4, 1.0)
    update()
    chain.target.location = (0.0, 0.0, -0.7)
    bpy.ops.pose.fabrik_solve()
    assert chain.status == "LIMITED"
    for bone, joint in zip(bones_of(armature, chain), [BALL, KNEE], strict=True):
        lower, upper = ends_of(joint)
        assert violation(lower, upper, np.array(rotation_of(bone))) <= EDGE


# A person


HUMAN: dict[str, Joint] = {
    "upper_arm": ((-90.0, 90.0), (-60.0, 60.0), (-90.0, 90.0)),
    "thigh": ((-110.0, 60.0), (-45.0, 45.0), (-50.0, 50.0)),
}


def hinge_axis(bone: PoseBone, child: PoseBone) -> tuple[int, float]:
    """The axis of a knee or elbow that is most across the bend it has at rest, and to which side it bends."""
    across = np.cross(bone.bone.vector, child.bone.vector)
    own = np.array(child.bone.matrix_local.to_3x3()).T @ across
    axis = int(np.argmax(np.abs(own[[0, 2]]))) * 2
    return axis, float(np.sign(own[axis]))


@pytest.mark.parametrize("side", ["L", "R"])
@pytest.mark.parametrize(("upper", "lower"), [("upper_arm", "forearm"), ("thigh", "shin")])
def test_rigifys_human_bends_as_people_do(upper: str, lower: str, side: str) -> None:
    armature = metarig("human_metarig")
    bones = [armature.pose.bones[f"{upper}.{side}"], armature.pose.bones[f"{lower}.{side}"]]
    axis, sign = hinge_axis(*bones)
    hinge: list[Range | None] = [LOCKED, LOCKED, LOCKED]
    hinge[axis] = (-5.0, 140.0) if sign > 0.0 else (-140.0, 5.0)
    ranges: list[Joint] = [HUMAN[upper], (hinge[0], hinge[1], hinge[2])]
    for bone, joint in zip(bones, ranges, strict=True):
        limit(bone, joint)
    chain = set_chain(armature, bones[1].name, 2, make_empty("target"))
    update()
    rng = np.random.default_rng(8)
    others = {name: state for name, state in pose_of(armature).items() if name not in {bone.name for bone in bones}}
    for _ in range(8):
        chain.target.location = reachable(rng, armature, chain, ranges)
        bpy.ops.pose.fabrik_solve()
        assert distance_left(armature, chain) < 1e-3
        assert outside(bones, ranges) <= EDGE
    for name, state in others.items():
        assert pose_of(armature)[name] == state


# Beyond what Blender's own IK settings can say, and together with everything else


def test_a_twist_may_have_a_range_beyond_half_a_turn(capfd: pytest.CaptureFixture[str]) -> None:
    """Limit Rotation with "90 to 270 degrees" about Y: a bone that is turned over."""
    armature, chain = make_constrained_chain([BALL, (None, None, None)])
    bone = armature.pose.bones["bone1"]
    limit_rotation(bone, ((-40.0, 40.0), (90.0, 270.0), (-40.0, 40.0)))
    set_rotation(bone, Quaternion((0.0, 1.0, 0.0), math.radians(200.0)))
    update()
    warnings_in(capfd)
    rng = np.random.default_rng(2)
    for _ in range(6):
        feasible = Quaternion((rng.normal(), 0.0, rng.normal()), 0.5) @ Quaternion(
            (0.0, 1.0, 0.0), rng.uniform(1.7, 4.6)
        )
        before = rotation_of(bone)
        set_rotation(bone, feasible)
        update()
        chain.target.location = bone.tail
        set_rotation(bone, before)
        update()
        bpy.ops.pose.fabrik_solve()
        assert chain.status == "REACHED" and distance_left(armature, chain) < 1e-3
        own = rotation_of(bone)
        twist = math.degrees(2.0 * math.atan2(own.y, own.w)) % 360.0
        assert 90.0 - 0.01 <= twist <= 270.0 + 0.01
    assert not warnings_in(capfd)


@pytest.mark.parametrize("use_pole", [False, True])
def test_a_limited_pose_solved_again_gets_no_worse_and_does_not_wander(use_pole: bool) -> None:
    rng = np.random.default_rng(11)
    for ranges in ([BALL, KNEE], [KNEE, KNEE, KNEE], [BALL, KNEE, BALL]):
        armature, chain = make_constrained_chain(ranges)
        if use_pole:
            chain.pole_target = make_empty("pole", (1.0, -2.0, 0.5))
        for _ in range(6):
            chain.target.location = 0.6 * len(ranges) * rng.uniform(0.2, 1.2) * random_direction(rng)
            update()
            errors, poses = [], []
            for _ in range(3):
                bpy.ops.pose.fabrik_solve()
                update()
                errors.append(distance_left(armature, chain))
                poses.append([bone.matrix.to_quaternion() for bone in bones_of(armature, chain)])
                assert outside(bones_of(armature, chain), ranges) <= EDGE
            assert errors[1] <= max(errors[0] + 2e-6, chain.tolerance)
            assert errors[2] <= max(errors[1] + 2e-6, chain.tolerance)


def test_limits_hold_while_the_tip_takes_a_rotation_as_far_as_they_allow() -> None:
    ranges = [BALL, KNEE, BALL]
    armature, chain = make_constrained_chain(ranges)
    bones = bones_of(armature, chain)
    chain.use_rotation = True
    chain.rotation_offset = (1.0, 0.0, 0.0, 0.0)
    chain.target.rotation_mode = "QUATERNION"
    rng = np.random.default_rng(6)
    for _ in range(8):
        chain.target.location = reachable(rng, armature, chain, ranges)
        chain.target.rotation_quaternion = random_rotation(rng)
        update()
        bpy.ops.pose.fabrik_solve()
        assert distance_left(armature, chain) < 1e-3  # position first
        assert outside(bones, ranges) <= EDGE


def test_ignored_limits_are_ignored_with_a_pole_and_a_rotation_too() -> None:
    armature, chain = make_constrained_chain([LEGLESS, LEGLESS])
    chain.use_limits = False
    chain.pole_target = make_empty("pole", (0.0, 2.0, 0.5))
    chain.target.location = (0.4, 0.3, 0.5)
    update()
    bpy.ops.pose.fabrik_solve()
    assert chain.status == "REACHED" and distance_left(armature, chain) < 1e-4


# Limits together with what else changes a pose


@examples(40)
@given(st.lists(joints, min_size=2, max_size=5), seeds, st.floats(0.05, 0.95))
def test_the_share_of_a_solve_that_is_taken_keeps_to_the_limits_too(
    ranges: list[Joint], seed: int, influence: float
) -> None:
    clear_scene()
    rng = np.random.default_rng(seed)
    armature, chain = make_constrained_chain(ranges, rng.uniform(-3.0, 3.0, len(ranges)).tolist())
    bones = bones_of(armature, chain)
    for bone, joint in zip(bones, ranges, strict=True):
        set_rotation(bone, feasible_rotation(rng, joint))
    chain.influence = influence
    chain.target.location = rng.uniform(0.1, 1.3) * 0.5 * len(ranges) * random_direction(rng)
    bpy.ops.pose.fabrik_solve()
    assert outside(bones, ranges) <= EDGE


@examples(40)
@given(st.lists(joints, min_size=2, max_size=5), seeds, st.data())
def test_limits_and_locked_angles_hold_together(ranges: list[Joint], seed: int, data: Any) -> None:
    clear_scene()
    rng = np.random.default_rng(seed)
    armature, chain = make_constrained_chain(ranges, rng.uniform(-3.0, 3.0, len(ranges)).tolist())
    bones = bones_of(armature, chain)
    locks = [data.draw(st.sampled_from(LOCKS)) for _ in bones]
    for bone, joint, locked in zip(bones, ranges, locks, strict=True):
        bone.rotation_mode = str(rng.choice(ROTATION_MODES[2:]))
        set_rotation(bone, feasible_rotation(rng, joint))
        bone.lock_rotation = [bool(lock) for lock in locked]
    before = [tuple(bone.rotation_euler) for bone in bones]
    chain.target.location = rng.uniform(0.1, 1.3) * 0.5 * len(ranges) * random_direction(rng)
    bpy.ops.pose.fabrik_solve()
    assert outside(bones, ranges) <= EDGE
    for bone, old, locked in zip(bones, before, locks, strict=True):
        assert all(now == was for now, was, lock in zip(bone.rotation_euler, old, locked, strict=True) if lock)


def test_what_keeps_a_chain_away_is_named_though_only_a_share_of_it_is_taken(
    capfd: pytest.CaptureFixture[str],
) -> None:
    _, chain = make_constrained_chain([KNEE, KNEE])
    chain.target.location = (0.0, 0.9, -0.1)
    bpy.ops.pose.fabrik_solve()
    whole = warnings_in(capfd)[0].partition("target: ")[2]
    assert "at their limit are" in whole
    for bone in chain.id_data.pose.bones:
        bone.rotation_quaternion = (1.0, 0.0, 0.0, 0.0)
    chain.influence = 0.5
    bpy.ops.pose.fabrik_solve()
    assert warnings_in(capfd)[0].partition("target: ")[2] == whole


def test_a_bake_of_a_share_keeps_to_the_limits_at_every_frame() -> None:
    ranges = [((-40.0, 40.0), None, LOCKED), BALL, ((-40.0, 40.0), None, LOCKED)]
    for seed in range(4):
        clear_scene()
        rng = np.random.default_rng(seed)
        armature, chain = make_constrained_chain(ranges, rng.uniform(-3.0, 3.0, 3).tolist())
        bones = bones_of(armature, chain)
        for bone, joint in zip(bones, ranges, strict=True):
            set_rotation(bone, feasible_rotation(rng, joint))
        chain.influence = 0.5
        for frame in range(1, 9):
            chain.target.location = rng.uniform(0.3, 1.3) * 1.5 * random_direction(rng)
            chain.target.keyframe_insert("location", frame=frame)
        bpy.ops.pose.fabrik_bake(frame_start=1, frame_end=8)
        for frame in range(1, 9):
            bpy.context.scene.frame_set(frame)
            assert outside(bones, ranges) <= EDGE


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("seed", [2, 3, 4, 6])
def test_a_bake_takes_the_rotations_that_limits_allow(seed: int, keyed: bool) -> None:
    """Solved from the pose at hand at each frame they were up to 10 to 26 degrees off."""
    ranges = [((-20.0, 20.0),) * 3, BALL, KNEE]
    armature, chain = make_constrained_chain(ranges)
    bones, rng = bones_of(armature, chain), np.random.default_rng(seed)
    ends = [[feasible_rotation(rng, joint, 0.6) for joint in ranges] for _ in range(2)]
    chain.use_rotation, chain.rotation_offset = True, (1.0, 0.0, 0.0, 0.0)
    chain.target.rotation_mode = "QUATERNION"
    for frame in range(40, 0, -1):
        for bone, first, last in zip(bones, *ends, strict=True):
            set_rotation(bone, first.slerp(last, (frame - 1) / 39))
        update()
        chain.target.location, chain.target.rotation_quaternion = bones[-1].tail, bones[-1].matrix.to_quaternion()
        for path in ("location", "rotation_quaternion"):
            chain.target.keyframe_insert(path, frame=frame)
    if keyed:
        chain.keyframe_insert("influence", frame=1)
    bpy.ops.pose.fabrik_bake(frame_start=1, frame_end=40)
    turns = []
    for frame in range(1, 41):
        bpy.context.scene.frame_set(frame)
        assert outside(bones, ranges) <= EDGE and distance_left(armature, chain) <= 1e-3
        off = bones[-1].matrix.to_quaternion().rotation_difference(chain.target.matrix_world.to_quaternion()).angle
        assert min(off, 2.0 * math.pi - off) <= math.radians(0.1)
        turns.append([evaluated_turn(bone) for bone in bones])
    steps = [
        max(2.0 * math.acos(min(1.0, abs(a.dot(b)))) for a, b in zip(*pair, strict=True)) for pair in pairwise(turns)
    ]
    assert max(steps) <= 3.0 * float(np.median(steps))


@pytest.mark.parametrize("seed", [2, 19, 21])
def test_a_chain_that_is_led_just_out_of_reach_does_not_turn_about_its_own_line(seed: int) -> None:
    """It rotated by 153 degrees: poses with nearly equal errors didn't count as equal, as these errors are small."""
    rng = np.random.default_rng(seed)
    armature = make_armature(tail_bones(5))
    chain = set_chain(armature, "bone4", 5, make_empty("target", armature.pose.bones["bone4"].tail))
    for bone in bones_of(armature, chain)[1:]:
        for axis, most in zip("xyz", (0.25, 0.2, 0.2), strict=True):
            setattr(bone, f"use_ik_limit_{axis}", True)
            setattr(bone, f"ik_min_{axis}", -most)
            setattr(bone, f"ik_max_{axis}", 0.5 if axis == "x" else most)
    update()
    end = chain.target.location.copy()
    along = end.normalized() + 0.6 * random_direction(rng)
    chain.target.location = end + along.normalized() * float(links_of(armature, chain).sum()) * rng.uniform(0.02, 0.15)
    bones = bones_of(armature, chain)
    before = [bone.matrix.to_quaternion() for bone in bones]
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    update()
    assert chain.status == "OUT_OF_REACH"
    for bone, rotation in zip(bones, before, strict=True):
        assert rotation.rotation_difference(bone.matrix.to_quaternion()).angle < math.radians(45.0)


@pytest.mark.parametrize(("count", "seed"), [(3, 253), (3, 87), (4, 138), (4, 13), (5, 140), (5, 212)])
def test_a_second_solve_keeps_how_a_chain_within_limits_bends_to_its_pole(count: int, seed: int) -> None:
    """The first solve left the bend up to 172 degrees from the pole, and the second one turned it by up to 171."""
    rng = np.random.default_rng(seed)
    armature = make_armature(tail_bones(count))
    chain = set_chain(armature, f"bone{count - 1}", count, make_empty("target"), make_empty("pole"))
    for bone in bones_of(armature, chain):
        for axis in "xyz":
            setattr(bone, f"use_ik_limit_{axis}", True)
            setattr(bone, f"ik_min_{axis}", -rng.uniform(0.2, 1.5))
            setattr(bone, f"ik_max_{axis}", rng.uniform(0.2, 1.5))
    chain.pole_target.location = random_direction(rng) * count
    chain.target.location = random_direction(rng) * rng.uniform(0.5, 1.2) * count
    chain.target.location.z = abs(chain.target.location.z)
    update()
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    assert chain.status == "REACHED"
    update()
    before = [bone.matrix.to_quaternion() for bone in bones_of(armature, chain)]
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    update()
    for bone, rotation in zip(bones_of(armature, chain), before, strict=True):
        assert rotation.rotation_difference(bone.matrix.to_quaternion()).angle < math.radians(1.0)
