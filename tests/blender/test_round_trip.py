# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read, solve, write, read again: on any armature the tip is where the solver says, and nothing else has changed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import bpy
import numpy as np
import pytest
from bpy.types import Object, PoseBone
from hypothesis import given
from hypothesis import strategies as st
from mathutils import Matrix, Quaternion, Vector

from fabrik_addon.blender.rig.snapshot import take_snapshot
from fabrik_addon.core import solve
from tests.blender.rigs import (
    ROTATION_MODES,
    Bone,
    bones_of,
    channels_of,
    clear_scene,
    distance_left,
    end_of,
    examples,
    joints_of,
    links_of,
    make_armature,
    make_empty,
    make_tail,
    other_channels_of,
    pose_of,
    random_direction,
    random_rotation,
    rotation_channel,
    rotation_of,
    set_chain,
    set_rotation,
    update,
)

REACHED = 1e-4
INHERIT_SCALE = ("FULL", "FIX_SHEAR", "ALIGNED", "AVERAGE", "NONE", "NONE_LEGACY")

seeds = st.integers(0, 2**32 - 1)
any_inheritance = st.sampled_from(INHERIT_SCALE)


@dataclass(frozen=True)
class Shape:
    """What kind of bones a random armature has; lists have one entry per bone of the line the chain is on."""

    seed: int
    depth: int
    chain_count: int
    use_tail: bool
    modes: list[str]
    connected: list[bool]
    inherits_rotation: list[bool]
    local_location: list[bool]
    turns: list[int]
    inherit_scale: list[str] = field(default_factory=list)
    scales: list[tuple[float, float, float]] = field(default_factory=list)


@st.composite
def shapes(
    draw: st.DrawFn,
    scales: st.SearchStrategy[tuple[float, float, float]] | None = None,
    inherit_scale: st.SearchStrategy[str] = any_inheritance,
    most: int = 12,
) -> Shape:
    depth = draw(st.integers(2, most))

    def each(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=depth, max_size=depth))

    use_tail = draw(st.sampled_from([True, True, False])) or depth < 3
    longest = depth if use_tail else depth - 1
    return Shape(
        seed=draw(seeds),
        depth=depth,
        chain_count=draw(st.sampled_from([0, *range(2, longest + 1)])),
        use_tail=use_tail,
        modes=each(st.sampled_from(ROTATION_MODES)),
        connected=each(st.booleans()),
        inherits_rotation=each(st.sampled_from([True, True, True, False])),
        local_location=each(st.sampled_from([True, True, False])),
        turns=each(st.sampled_from([0, 0, 1, -1])),
        inherit_scale=[] if scales is None else each(inherit_scale),
        scales=[] if scales is None else each(scales),
    )


def build(shape: Shape) -> tuple[Object, Any]:
    """Make an armature: a line of bones with branches, posed at random, its object moved, turned, scaled, parented."""
    clear_scene()
    rng = np.random.default_rng(shape.seed)
    bones, point, heading = [], Vector(rng.normal(size=3)), random_direction(rng)
    for i in range(shape.depth):
        connected = shape.connected[i] and i > 0
        if not connected:
            point = point + 0.4 * rng.uniform() * random_direction(rng)
        heading = (heading + 0.6 * random_direction(rng)).normalized()
        tail = point + rng.uniform(0.4, 1.2) * heading
        parent = f"line{i - 1}" if i else None
        bones.append(Bone(f"line{i}", point, tail, parent, connected, rng.uniform(-3.0, 3.0)))
        if rng.uniform() < 0.4:
            start = tail + 0.2 * random_direction(rng)
            bones.append(Bone(f"branch{i}", start, start + random_direction(rng), f"line{i}", False, 1.0))
        point = tail
    armature = make_armature(bones)
    place(armature, rng)
    for i in range(shape.depth):
        bone = armature.pose.bones[f"line{i}"]
        bone.rotation_mode = shape.modes[i]
        bone.bone.use_inherit_rotation = shape.inherits_rotation[i]
        bone.bone.use_local_location = shape.local_location[i]
        set_rotation(bone, random_rotation(rng, 1.0), shape.turns[i])
        bone.location = 0.2 * rng.normal(size=3)
        if shape.scales:
            bone.bone.inherit_scale = shape.inherit_scale[i]
            bone.scale = shape.scales[i]
        else:
            bone.scale = (rng.uniform(0.7, 1.4),) * 3
    update()
    chain = set_chain(armature, f"line{shape.depth - 1}", shape.chain_count, make_empty("target"))
    chain.use_tail = shape.use_tail
    return armature, chain


def place(armature: Object, rng: np.random.Generator) -> None:
    """Put an armature object anywhere, unevenly scaled, under a parent that is too."""
    parent = make_empty("parent", rng.normal(size=3))
    for obj in (parent, armature):
        obj.rotation_euler = rng.uniform(-3.0, 3.0, 3)
        obj.scale = rng.uniform(0.5, 2.0, 3)
    armature.location = rng.normal(size=3)
    armature.parent = parent


def to_world(armature: Object, point: np.ndarray) -> Vector:
    return armature.matrix_world @ Vector(point.tolist())


def reachable_point(armature: Object, chain: Any, rng: np.random.Generator) -> Vector:
    """A place that a chain of rigid links can reach, in a random direction from its root."""
    joints, links = joints_of(armature, chain), links_of(armature, chain)
    nearest = max(0.0, 2.0 * links.max() - links.sum())
    distance = nearest + (links.sum() - nearest) * rng.uniform(0.2, 0.95)
    return to_world(armature, joints[0] + distance * np.array(random_direction(rng)))


def place_reached_by(armature: Object, chain: Any, rng: np.random.Generator, most: float) -> Vector:
    """Where the chain's end is when its bones are turned at random: whatever their space, it can be reached."""
    bones = bones_of(armature, chain)
    before = [rotation_channel(bone) for bone in bones]
    for bone in bones:
        set_rotation(bone, rotation_of(bone) @ random_rotation(rng, most))
    update()
    place = end_of(armature, chain)
    for bone, values in zip(bones, before, strict=True):
        name = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}
        setattr(bone, name.get(bone.rotation_mode, "rotation_euler"), values)
    update()
    return place


def check_only_rotations_changed(armature: Object, chain: Any, before: dict[str, Any], others: dict[str, Any]) -> None:
    """Outside the chain no channel changes; inside only the one that the rotation mode uses."""
    chained = {bone.name for bone in bones_of(armature, chain)}
    for bone in armature.pose.bones:
        if bone.name in chained:
            assert other_channels_of(bone) == others[bone.name]
        else:
            assert channels_of(bone) == before[bone.name]


def check_continuous(bone: PoseBone, old: tuple[float, ...]) -> None:
    """The new values are those nearest to the old of all that give the same rotation."""
    new = rotation_channel(bone)
    if bone.rotation_mode == "QUATERNION":
        assert np.dot(new, old) >= -1e-6
    elif bone.rotation_mode == "AXIS_ANGLE":
        assert abs(new[0] - old[0]) <= math.pi + 1e-4
        assert np.dot(new[1:], old[1:]) >= -1e-4
    else:
        assert max(abs(a - b) for a, b in zip(new, old, strict=True)) <= math.pi + 1e-4


def solve_and_check(armature: Object, chain: Any) -> None:
    """The laws that hold for every solve of a reachable target."""
    update()
    before, others = pose_of(armature), {bone.name: other_channels_of(bone) for bone in armature.pose.bones}
    old = {bone.name: rotation_channel(bone) for bone in bones_of(armature, chain)}
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    assert distance_left(armature, chain) < REACHED
    assert chain.status == "REACHED"
    assert chain.error <= chain.tolerance
    check_only_rotations_changed(armature, chain, before, others)
    for bone in bones_of(armature, chain):
        check_continuous(bone, old[bone.name])


@examples(120)
@given(shapes())
def test_rigid_chains_reach_and_agree_with_the_solver(shape: Shape) -> None:
    armature, chain = build(shape)
    rng = np.random.default_rng(shape.seed + 1)
    chain.target.location = reachable_point(armature, chain, rng)
    update()
    links = links_of(armature, chain)
    snapshot = take_snapshot(bpy.context.view_layer, armature, chain)
    wanted = solve(snapshot.chain, snapshot.pose, snapshot.goals, snapshot.options).pose.positions

    solve_and_check(armature, chain)

    np.testing.assert_allclose(links_of(armature, chain), links, rtol=1e-5)
    np.testing.assert_allclose(joints_of(armature, chain), wanted, atol=1e-5 * links.sum())


def angles_off_pole_side(joints: np.ndarray, pole: np.ndarray) -> list[float]:
    """Angle of every joint's offset from its neighbours' line to the pole's side; straight joints left out."""
    length = np.linalg.norm(np.diff(joints, axis=0), axis=1).sum()
    line = (joints[-1] - joints[0]) / length
    normal = Vector(np.cross(line, (pole - joints[0]) / length))
    if normal.length < 0.05 * np.linalg.norm(line) or np.linalg.norm(line) < 0.01:
        return []
    angles = []
    for before, joint, after in zip(joints, joints[1:], joints[2:], strict=False):
        axis = Vector(after - before)
        offset = Vector(joint - before)
        if axis.length < 0.01 * length:
            continue
        offset -= offset.project(axis)
        if offset.length > 0.01 * length:
            angles.append(offset.angle(normal.cross(axis)))
    return angles


@examples(80)
@given(shapes(), st.booleans())
def test_with_a_pole_every_joint_bends_to_its_side(shape: Shape, is_near: bool) -> None:
    armature, chain = build(shape)
    rng = np.random.default_rng(shape.seed + 1)
    chain.target.location = reachable_point(armature, chain, rng)
    joints, links = joints_of(armature, chain), links_of(armature, chain)
    distance = rng.uniform(0.3, 0.6) if is_near else rng.uniform(1.0, 3.0)
    pole = joints[0] + distance * links.sum() * np.array(random_direction(rng))
    chain.pole_target = make_empty("pole", to_world(armature, pole))

    solve_and_check(armature, chain)

    np.testing.assert_allclose(links_of(armature, chain), links, rtol=1e-5)
    assert max(angles_off_pole_side(joints_of(armature, chain), pole), default=0.0) < 1e-3


uneven = st.tuples(*[st.floats(0.5, 2.0)] * 3)
mirrored = st.tuples(*[st.sampled_from([1.0, 1.0, 1.3, -1.0, -0.8])] * 3)
keeps_shape = st.sampled_from(["ALIGNED", "AVERAGE", "NONE", "NONE_LEGACY"])


def check_reaches_what_is_feasible(shape: Shape, most: float = 1.0) -> None:
    armature, chain = build(shape)
    chain.target.location = place_reached_by(armature, chain, np.random.default_rng(shape.seed + 1), most)
    solve_and_check(armature, chain)


@examples(60)
@given(shapes(uneven, keeps_shape, most=8))
def test_uneven_scales_that_are_not_handed_down_whole(shape: Shape) -> None:
    check_reaches_what_is_feasible(shape)


@examples(60)
@given(shapes(mirrored, most=8))
def test_mirrored_bones(shape: Shape) -> None:
    check_reaches_what_is_feasible(shape)


@examples(60)
@given(shapes(uneven, most=8))
def test_sheared_bones_reach_what_is_near(shape: Shape) -> None:
    check_reaches_what_is_feasible(shape, 0.4)


@examples(80)
@given(shapes(uneven, most=8))
def test_a_sheared_chain_ends_where_the_result_has_it(shape: Shape) -> None:
    """Reached or not: the error is that of the pose that Blender shows, and only rotations have changed."""
    armature, chain = build(shape)
    chain.target.location = place_reached_by(armature, chain, np.random.default_rng(shape.seed + 1), 1.5)
    before, others = pose_of(armature), {bone.name: other_channels_of(bone) for bone in armature.pose.bones}
    bpy.ops.pose.fabrik_solve()
    assert chain.error == pytest.approx(distance_left(armature, chain), abs=5e-6)
    assert (chain.status == "REACHED") == (chain.error <= chain.tolerance)
    check_only_rotations_changed(armature, chain, before, others)


@examples(60)
@given(shapes(), st.booleans())
def test_solving_a_solved_pose_again_moves_nothing(shape: Shape, has_pole: bool) -> None:
    armature, chain = build(shape)
    rng = np.random.default_rng(shape.seed + 1)
    chain.target.location = reachable_point(armature, chain, rng)
    if has_pole:
        chain.pole_target = make_empty("pole", to_world(armature, 9.0 * np.array(random_direction(rng))))
    update()
    bpy.ops.pose.fabrik_solve()
    update()
    joints, length = joints_of(armature, chain), links_of(armature, chain).sum()
    bpy.ops.pose.fabrik_solve()
    update()
    np.testing.assert_allclose(joints_of(armature, chain), joints, atol=2e-6 * length)


def test_a_planar_chain_bends_about_one_axis_of_its_bones() -> None:
    """A hinge stays a hinge: with a pole, frames turn with the plane of the bend."""
    armature = make_tail(2)
    pole = make_empty("pole", (0.0, -5.0, 1.0))
    chain = set_chain(armature, "bone1", 2, make_empty("target"), pole)
    knee = armature.pose.bones["bone1"]
    update()
    hinge = Vector((1.0, 0.0, 0.0))
    for place in ((0.0, 0.4, 1.2), (0.8, -0.6, 0.9), (-0.5, 0.2, -1.1)):
        chain.target.location = place
        bpy.ops.pose.fabrik_solve()
        update()
        axis, angle = knee.rotation_quaternion.to_axis_angle()
        assert abs(angle) > 0.1
        assert abs(axis.dot(hinge)) == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("angle", [-2.5, -math.pi / 2, 0.3, math.pi])
def test_the_pole_angle_turns_the_bend_about_the_line_from_root_to_target(angle: float) -> None:
    armature = make_tail(4)
    pole = make_empty("pole", (0.0, -5.0, 1.0))
    target = make_empty("target", (1.0, 0.5, 2.0))
    chain = set_chain(armature, "bone3", 4, target, pole)
    update()
    bpy.ops.pose.fabrik_solve()
    update()
    straight = joints_of(armature, chain)
    chain.pole_angle = angle
    bpy.ops.pose.fabrik_solve()
    update()
    root = Vector(straight[0])
    turn = Matrix.Rotation(angle, 3, (target.location - root).normalized())
    expected = [root + turn @ (Vector(joint) - root) for joint in straight]
    np.testing.assert_allclose(joints_of(armature, chain), expected, atol=1e-3)


def turn_between(a: Quaternion, b: Quaternion) -> float:
    return 2.0 * math.acos(min(1.0, abs(a.dot(b))))


@pytest.mark.parametrize("mode", ROTATION_MODES)
def test_small_steps_of_the_target_are_small_steps_of_the_channels(mode: str) -> None:
    """Over a whole turn about the root no channel jumps: what a bake or a drag needs."""
    armature = make_tail(3)
    for bone in armature.pose.bones:
        bone.rotation_mode = mode
    chain = set_chain(armature, "bone2", 3, make_empty("target"))
    jumps = []
    old: dict[str, Quaternion] = {}
    for step in range(73):
        turned = math.radians(5 * step)
        chain.target.location = (0.3, 1.8 * math.sin(turned), 1.8 * math.cos(turned))
        bpy.ops.pose.fabrik_solve()
        assert chain.status == "REACHED"
        new = {bone.name: rotation_of(bone) for bone in bones_of(armature, chain)}
        if old:
            jumps.append(max(turn_between(old[name], new[name]) for name in new))
        old = new
    assert max(jumps[1:]) < math.radians(25)
