# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bones that stretch: evenly, along Y, no further than they must; and nothing else changes its size or shape."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from bpy.types import Object, PoseBone
from hypothesis import given
from hypothesis import strategies as st
from mathutils import Euler, Matrix, Quaternion, Vector

from fabrik_addon.blender.drag import ChainDrag, Grab
from fabrik_addon.blender.rig.wording import length_text
from tests.blender.rigs import (
    Bone,
    add_chain,
    bones_of,
    clear_scene,
    collect,
    distance_left,
    enter_pose_mode,
    error_of,
    everything,
    examples,
    generated_rig,
    joints_of,
    keys_of,
    layer,
    leave_mode,
    links_of,
    make_armature,
    make_empty,
    make_tail,
    matrices_of,
    metarig,
    pose_of,
    random_direction,
    rotation_of,
    set_chain,
    tail_bones,
    update,
    warnings_in,
)
from tests.blender.test_round_trip import Shape, build, shapes, to_world

SAME = 1e-5
"""Relative difference of a length, or cosine of an angle, that single precision may make of none."""

Sizes = dict[str, np.ndarray]


def sizes_of(armature: Object) -> Sizes:
    """Lengths (3,) of every bone's axes."""
    return {bone.name: np.array([column.length for column in bone.matrix.to_3x3().col]) for bone in armature.pose.bones}


def skew_of(bone: PoseBone) -> float:
    """The largest cosine between a bone's axes, beyond what Blender's rest matrices have of their own."""
    return max(0.0, _skew(bone.matrix) - _skew(bone.bone.matrix_local))


def _skew(matrix: Matrix) -> float:
    x, y, z = (np.array(column.normalized()) for column in matrix.to_3x3().col)
    return float(max(abs(x @ y), abs(x @ z), abs(y @ z)))


def seats_of(armature: Object, chain: Any) -> dict[str, np.ndarray]:
    """Where the heads of all that hangs on a chain's bones are, in their parents' spaces."""
    names = {bone.name for bone in bones_of(armature, chain)}
    return {
        child.name: np.array(bone.matrix.inverted() @ child.head)
        for bone in bones_of(armature, chain)
        for child in bone.children
        if child.name not in names
    }


def inheritance_of(armature: Object) -> dict[str, str]:
    return {bone.name: bone.inherit_scale for bone in armature.data.bones}


def far_point(armature: Object, chain: Any, rng: np.random.Generator, reach: float) -> Vector:
    joints = joints_of(armature, chain)
    return to_world(armature, joints[0] + reach * links_of(armature, chain).sum() * np.array(random_direction(rng)))


def check_stretched(armature: Object, chain: Any, sizes: Sizes, links: np.ndarray, seats: dict[str, Any]) -> float:
    """The laws that hold however far a chain is stretched; return the factor."""
    update()
    factors = links_of(armature, chain) / links
    np.testing.assert_allclose(factors, factors[0], rtol=2e-5)
    after, chained = sizes_of(armature), {bone.name for bone in bones_of(armature, chain)}
    for bone in armature.pose.bones:
        assert skew_of(bone) < SAME
        kept = [0, 2] if bone.name in chained else [0, 1, 2]
        np.testing.assert_allclose(after[bone.name][kept], sizes[bone.name][kept], rtol=SAME)
    for name, seat in seats_of(armature, chain).items():
        np.testing.assert_allclose(seat, seats[name], atol=2e-5)
    return float(factors.mean())


def solve() -> None:
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    update()


uniform = st.floats(0.5, 2.0).map(lambda scale: (scale,) * 3)


def try_stretch(shape: Shape, softness: float = 0.0) -> None:
    """Solve a random rig in reach, beyond it, farther than it goes, and in reach again."""
    armature, chain = build(shape)
    rng = np.random.default_rng(shape.seed + 1)
    chain.use_stretch, chain.softness = True, softness
    chain.target.location = far_point(armature, chain, rng, 0.6)
    update()
    sizes, links, seats = sizes_of(armature), links_of(armature, chain), seats_of(armature, chain)
    try:
        solve()
    except RuntimeError as refusal:
        assert "it can't stretch: bone" in str(refusal) and "doesn't point toward" in str(refusal)
        return
    inheritance, scales = inheritance_of(armature), {bone.name: tuple(bone.scale) for bone in armature.pose.bones}
    rest = far_point(armature, chain, rng, 0.6)
    assert chain.status in {"REACHED", "OUT_OF_REACH"}  # out of reach is too near
    for reach in (1.3, 1.05, 2.0):
        np.testing.assert_allclose(links_of(armature, chain), links, rtol=2e-5)
        chain.target.location = far_point(armature, chain, rng, reach)
        update()
        solve()
        factor = check_stretched(armature, chain, sizes, links, seats)
        if reach < 1.5:
            assert chain.status == "REACHED" and distance_left(armature, chain) < 1e-4
            assert factor == pytest.approx(reach, rel=1e-4) if softness == 0.0 else factor > reach
        else:
            assert chain.status == "OUT_OF_REACH" and factor == pytest.approx(1.5, rel=1e-5)
            assert chain.error == pytest.approx(0.5, rel=1e-3 if softness == 0.0 else 0.01)
        stretched = joints_of(armature, chain)
        solve()
        # Where it is eased so far that it is all but straight, rounding of the tip is more of a joint.
        assert np.abs(joints_of(armature, chain) - stretched).max() < (4e-6 if softness == 0.0 else 2e-5) * links.sum()
        chain.target.location = rest
        update()
        solve()
        assert check_stretched(armature, chain, sizes, links, seats) == pytest.approx(1.0, abs=1e-5)
    for bone in armature.pose.bones:
        np.testing.assert_allclose(bone.scale, scales[bone.name], rtol=2e-6)
    for name, mode in inheritance_of(armature).items():
        assert mode == inheritance[name] or (mode == "ALIGNED" and inheritance[name] in {"FULL", "FIX_SHEAR"})


@examples(60)
@given(shapes(most=6))
def test_bones_stretch_and_what_hangs_on_them_keeps_its_size_and_shape(shape: Shape) -> None:
    try_stretch(shape)


@examples(60)
@given(shapes(scales=uniform, most=6))
def test_so_they_do_however_they_take_over_scales(shape: Shape) -> None:
    try_stretch(shape)


@examples(20)
@given(shapes(scales=uniform, most=5))
def test_so_they_do_when_they_ease_into_it(shape: Shape) -> None:
    try_stretch(shape, softness=0.2)


@examples(40)
@given(shapes(scales=uniform, most=6), st.floats(0.1, 0.98))
def test_within_reach_nothing_is_touched(shape: Shape, reach: float) -> None:
    poses = []
    for use_stretch in (False, True):
        armature, chain = build(shape)
        chain.use_stretch = use_stretch
        chain.target.location = far_point(armature, chain, np.random.default_rng(shape.seed + 1), reach)
        update()
        inheritance = inheritance_of(armature)
        try:
            solve()
        except RuntimeError as refusal:
            assert use_stretch and "it can't stretch" in str(refusal)
            return
        assert inheritance_of(armature) == inheritance
        poses.append(pose_of(armature))
    assert poses[0] == poses[1]


# A tail, with a finger at its tip and a twig at its root


def make_elastic_tail(place: tuple[float, float, float] = (0.4, 3.4, 1.2)) -> tuple[Object, Any]:
    """A tail of three that is posed, with a grandchild on its finger; its target is out of reach."""
    armature = make_tail(3)
    leave_mode()
    enter_pose_mode(armature)
    for name, angles in (("bone1", (0.6, 0.2, 0.3)), ("bone finger", (0.5, 0.4, -0.9)), ("bone twig", (1.0, 0.0, 0.7))):
        armature.pose.bones[name].rotation_quaternion = Euler(angles).to_quaternion()
    armature.pose.bones["bone finger"].scale = (1.1, 1.3, 0.8)
    chain = set_chain(armature, "bone2", 3, make_empty("target", place))
    chain.use_stretch = True
    update()
    return armature, chain


def test_the_first_bone_takes_the_stretch_and_the_next_ones_take_it_over() -> None:
    armature, chain = make_elastic_tail()
    solve()
    factor = links_of(armature, chain)[1] / 1.0
    assert factor > 1.1
    bones = armature.pose.bones
    assert bones["bone0"].scale.y == pytest.approx(factor, rel=1e-5)
    for name in ("bone1", "bone2"):
        assert tuple(bones[name].scale) == (1.0, 1.0, 1.0) and bones[name].bone.inherit_scale == "ALIGNED"
    for name, height in (("bone finger", 1.3), ("bone twig", 1.0)):
        assert bones[name].scale.y == pytest.approx(height / factor, rel=1e-5)
        assert bones[name].bone.inherit_scale == "ALIGNED"


def test_undo_puts_all_back() -> None:
    armature, _ = make_elastic_tail()
    bpy.ops.ed.undo_push(message="before")
    before, inheritance = pose_of(armature), inheritance_of(armature)
    solve()
    bpy.ops.ed.undo_push(message="after")
    after, taken_over = pose_of(armature), inheritance_of(armature)
    assert taken_over != inheritance
    bpy.ops.ed.undo()
    armature = bpy.data.objects["Rig"]
    assert inheritance_of(armature) == inheritance and pose_of(armature) == before
    bpy.ops.ed.redo()
    armature = bpy.data.objects["Rig"]
    assert inheritance_of(armature) == taken_over and pose_of(armature) == after


def test_a_drag_that_is_cancelled_puts_all_back() -> None:
    armature, chain = make_elastic_tail((0.4, 1.0, 1.2))
    solve()
    before, inheritance = pose_of(armature), inheritance_of(armature)
    session = ChainDrag(bpy.context.view_layer, armature, Grab("bone2", chain.name))
    for place in ((0.0, 4.0, 1.0), (0.5, 1.0, 1.0), (1.0, 3.0, 3.0)):
        session.move(bpy.context.view_layer, Vector(place))
    assert session.result is not None and session.result.status == "REACHED"
    assert armature.pose.bones["bone0"].scale.y > 1.1
    session.cancel(bpy.context.view_layer)
    assert pose_of(armature) == before and inheritance_of(armature) == inheritance


@pytest.mark.parametrize("is_relative", [False, True])
def test_with_x_axis_mirror_the_other_side_stretches_too_and_what_hangs_on_it_keeps_its_size(is_relative: bool) -> None:
    bones = []
    for side, sign in (("L", 1.0), ("R", -1.0)):
        for bone in tail_bones(3):
            head, tail = ((sign * (end[0] + 1.0), *end[1:]) for end in (bone.head, bone.tail))
            parent = bone.parent and f"{bone.parent}.{side}"
            bones.append(Bone(f"{bone.name}.{side}", head, tail, parent, bone.connected))
    armature: Any = make_armature(bones)
    armature.pose.use_mirror_x, armature.pose.use_mirror_relative = True, is_relative
    chain = add_chain(armature, "bone2.L", 3)
    chain.use_stretch, chain.stretch_max = True, 2.0
    update()
    before = everything()
    modes = [bone.inherit_scale for bone in armature.data.bones]
    session = ChainDrag(layer(), armature, Grab("bone2.L", chain.name))
    session.move(layer(), Vector((1.2, 0.5, 4.2)))
    pose = armature.pose.bones
    assert (pose["bone2.R"].tail - Vector((-1.2, 0.5, 4.2))).length < 1e-3
    for side in "LR":
        sizes = [column.length for column in pose[f"bone finger.{side}"].matrix.to_3x3().col]
        assert sizes == pytest.approx([1.0, 1.0, 1.0], abs=1e-5), side
        assert pose[f"bone1.{side}"].matrix.to_3x3().col[1].length > 1.2
    session.cancel(layer())
    assert everything() == before and [bone.inherit_scale for bone in armature.data.bones] == modes


def test_a_chain_that_can_not_be_solved_puts_all_back() -> None:
    armature, _ = make_elastic_tail()
    other = set_chain(armature, "bone twig", 1, make_empty("other", (1.0, 1.0, 1.0)))
    other.use_rotation = True
    other.rotation_offset = (math.nan, 0.0, 0.0, 0.0)
    update()
    inheritance = inheritance_of(armature)
    error_of(bpy.ops.pose.fabrik_solve)
    assert inheritance_of(armature) == inheritance


def test_auto_key_keys_the_scales_that_changed_and_frames_give_them_back() -> None:
    armature, chain = make_elastic_tail()
    scene, edit = bpy.context.scene, bpy.context.preferences.edit
    edit.use_auto_keyframe_insert_needed = edit.use_keyframe_insert_available = edit.use_visual_keying = False
    scene.tool_settings.use_keyframe_insert_auto = True
    shown = {}
    for frame, place in ((1, (0.4, 3.4, 1.2)), (10, (0.4, 0.9, 1.2)), (20, (1.0, 1.0, 3.8))):
        scene.frame_set(frame)
        chain.target.location = place
        update()
        solve()
        shown[frame] = [np.array(bone.matrix) for bone in armature.pose.bones]
    paths = {path for path, _ in keys_of(armature.animation_data.action)}
    for name in ("bone0", "bone finger", "bone twig"):
        assert f'pose.bones["{name}"].scale' in paths
    assert 'pose.bones["bone1"].scale' not in paths and 'pose.bones["bone finger"].rotation_quaternion' not in paths
    for frame, matrices in shown.items():
        scene.frame_set(frame)
        for bone, matrix in zip(armature.pose.bones, matrices, strict=True):
            np.testing.assert_allclose(np.array(bone.matrix), matrix, atol=1e-5)


def test_the_same_target_gives_the_same_pose_whatever_the_bones_were_stretched_to_before() -> None:
    found = []
    for first in ((0.4, 0.9, 1.2), (1.0, 1.0, 4.0), (3.0, 3.0, 3.0)):
        bpy.ops.wm.read_factory_settings(use_empty=True)
        armature, chain = make_elastic_tail(first)
        rest = [rotation_of(bone) for bone in armature.pose.bones]
        solve()
        for bone, rotation in zip(armature.pose.bones, rest, strict=True):
            bone.rotation_quaternion = rotation
        chain.target.location = (1.4, 3.0, 1.0)
        update()
        solve()
        found.append([np.array(bone.matrix) for bone in armature.pose.bones])
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], atol=2e-6)


def test_snapping_leaves_a_stretched_pose_alone() -> None:
    armature, chain = make_elastic_tail()
    chain.pole_target = make_empty("pole", (3.0, 0.0, 0.0))
    solve()
    before = joints_of(armature, chain)
    chain.target.location = (0.0, 0.0, 0.0)
    bpy.ops.pose.fabrik_snap_target()
    update()
    assert (chain.target.matrix_world.translation - Vector(before[-1])).length < 1e-5
    solve()
    np.testing.assert_allclose(joints_of(armature, chain), before, atol=1e-5)


@pytest.mark.parametrize("influence", [0.0, 0.3, 1.0])
def test_influence_takes_a_share_of_the_stretch(influence: float) -> None:
    armature, chain = make_elastic_tail()
    sizes, links, seats = sizes_of(armature), links_of(armature, chain), seats_of(armature, chain)
    inheritance, before = inheritance_of(armature), pose_of(armature)
    reach = (chain.target.location - armature.pose.bones["bone0"].head).length / links.sum()
    chain.influence = influence
    solve()
    factor = check_stretched(armature, chain, sizes, links, seats)
    assert factor == pytest.approx(1.0 + influence * (reach - 1.0), rel=1e-5)
    if influence == 0.0:
        assert pose_of(armature) == before and inheritance_of(armature) == inheritance


def test_a_target_that_is_too_far_even_so_is_said_with_the_length(capfd: pytest.CaptureFixture[str]) -> None:
    armature, chain = make_elastic_tail((0.0, 0.0, 6.0))
    chain.stretch_max = 1.25
    longest = 1.25 * links_of(armature, chain).sum()
    warnings_in(capfd)
    solve()
    (warning,) = warnings_in(capfd)
    units = bpy.context.scene.unit_settings
    assert f"these bones reach at most {length_text(units, longest)}, stretched to 125 %" in warning


def test_what_was_stretched_by_hand_goes_back_where_the_target_is_in_reach() -> None:
    armature, chain = make_elastic_tail((0.4, 0.9, 1.2))
    links = links_of(armature, chain)
    armature.pose.bones["bone0"].scale = (1.0, 1.4, 1.0)
    update()
    solve()
    np.testing.assert_allclose(links_of(armature, chain), links, rtol=1e-5)
    assert tuple(armature.pose.bones["bone0"].scale) == (1.0, 1.0, 1.0)
    assert chain.status == "REACHED" and distance_left(armature, chain) < 1e-4


@pytest.mark.parametrize("scale", [(-1.0, 1.0, 1.0), (1.0, -1.2, 0.9), (-0.7, -0.7, -0.7)])
def test_children_that_are_mirrored_keep_their_size_too(scale: tuple[float, ...]) -> None:
    armature, chain = make_elastic_tail()
    bone = armature.pose.bones["bone finger"]
    bone.scale = scale
    update()
    before = [column.length for column in bone.matrix.to_3x3().col]
    for _ in range(2):
        solve()
        update()
        assert chain.status == "REACHED" and distance_left(armature, chain) < 1e-4
        np.testing.assert_allclose([column.length for column in bone.matrix.to_3x3().col], before, rtol=1e-4)
        assert bone.matrix.determinant() * np.prod(scale) > 0.0
    chain.target.location = (0.3, 0.8, 1.0)
    update()
    solve()
    update()
    np.testing.assert_allclose(bone.scale, scale, rtol=1e-4)


def test_bones_that_are_larger_on_all_axes_are_not_stretched() -> None:
    armature, chain = make_elastic_tail((0.4, 0.9, 1.2))
    for bone in bones_of(armature, chain):
        bone.scale = (1.3, 1.3, 1.3)
    update()
    links = links_of(armature, chain)
    solve()
    np.testing.assert_allclose(links_of(armature, chain), links, rtol=1e-6)
    assert all(tuple(bone.scale) == (pytest.approx(1.3),) * 3 for bone in bones_of(armature, chain))


@pytest.mark.parametrize("width", [0.7, 1.3])
def test_bones_that_are_thicker_or_thinner_keep_their_length_and_thicker_ones_come_back_to_it(width: float) -> None:
    armature, chain = make_elastic_tail((0.4, 0.9, 1.2))
    for name in ("bone0", "bone1"):
        armature.pose.bones[name].scale = (width, 1.0, width)
        armature.pose.bones[name].bone.inherit_scale = "ALIGNED"
    for name in ("bone2", "bone finger", "bone twig"):
        armature.pose.bones[name].bone.inherit_scale = "ALIGNED"
    update()
    sizes, links = sizes_of(armature), links_of(armature, chain)
    scales = {bone.name: tuple(bone.scale) for bone in armature.pose.bones}
    solve()
    assert {bone.name: tuple(bone.scale) for bone in armature.pose.bones} == scales
    if width < 1.0:
        return  # stretched it would look like one that was smaller on all axes
    chain.target.location = (0.0, 1.2 * links.sum(), 0.0)
    update()
    for _ in range(2):
        solve()
        np.testing.assert_allclose(links_of(armature, chain) / links, 1.2, rtol=1e-5)
        assert chain.status == "REACHED"
    chain.target.location = (0.4, 0.9, 1.2)
    update()
    solve()
    np.testing.assert_allclose(links_of(armature, chain), links, rtol=1e-5)
    for name, size in sizes_of(armature).items():
        np.testing.assert_allclose(size, sizes[name], rtol=SAME)


# Together with everything else


def test_nothing_pops_while_a_target_moves_out_and_the_tip_stays_on_it() -> None:
    armature = make_armature(
        [Bone("upper", (0, 0, 0), (0, -0.1, 0.5)), Bone("lower", (0, -0.1, 0.5), (0, 0, 1), "upper", True)]
    )
    chain = set_chain(armature, "lower", 2, make_empty("target", (0.0, 0.0, 0.8)))
    chain.use_stretch, chain.softness, chain.stretch_max = True, 0.2, 2.0
    length = links_of(armature, chain).sum()
    rest = [tuple(bone.rotation_quaternion) for bone in armature.pose.bones]
    knees, ratios = [], []
    for reach in np.arange(0.75, 1.3, 0.0005):
        for bone, rotation in zip(armature.pose.bones, rest, strict=True):
            bone.rotation_quaternion = rotation
        chain.target.location = (0.0, 0.0, reach * length)
        update()
        solve()
        assert distance_left(armature, chain) < 1.01e-4
        joints = joints_of(armature, chain)
        upper, lower = np.diff(joints, axis=0)
        knees.append(math.degrees(Vector(upper).angle(Vector(lower))))
        ratios.append(links_of(armature, chain).sum() / length)
    assert np.abs(np.diff(knees)).max() < 0.5
    assert np.diff(ratios).min() > -1e-6 and np.diff(ratios).max() < 1e-3


def test_a_tip_that_takes_a_rotation_is_read_well_from_a_stretched_pose() -> None:
    place = Vector((1.0, 1.0, 2.3))
    armature, chain = make_elastic_tail(place[:])
    chain.use_rotation, chain.softness = True, 0.5
    desired = Quaternion((0.2, 1.0, 0.4), 0.5) @ place.to_track_quat("Y", "Z")
    chain.rotation_offset = desired
    for _ in range(2):
        solve()
        assert chain.status == "REACHED" and distance_left(armature, chain) < 1e-4
        assert links_of(armature, chain)[1] > 1.02
        found = armature.pose.bones["bone2"].matrix.to_quaternion()
        assert found.rotation_difference(desired).angle % math.tau == pytest.approx(0.0, abs=0.01)


def test_a_pole_is_pointed_at() -> None:
    armature, chain = make_elastic_tail((0.0, 2.4, 1.2))
    chain.pole_target, chain.softness = make_empty("pole", (3.0, 1.0, 0.5)), 0.3
    solve()
    assert chain.status == "REACHED" and links_of(armature, chain)[1] > 1.0
    root, *inner, tip = joints_of(armature, chain)
    along = (tip - root) / np.linalg.norm(tip - root)
    pole = np.array((3.0, 1.0, 0.5)) - root
    for joint in inner:
        offset, desired = (v - along * (v @ along) for v in (joint - root, pole))
        assert offset @ desired / np.linalg.norm(offset) / np.linalg.norm(desired) > 1.0 - 1e-6


@pytest.mark.parametrize("kind", ["limit", "constraint", "lock"])
def test_limits_and_locks_hold_and_the_bones_stretch_by_what_they_take(kind: str) -> None:
    armature, chain = make_elastic_tail((0.0, 0.6, 3.0))
    least = math.radians(30.0)
    for name in ("bone1", "bone2"):
        bone = armature.pose.bones[name]
        bone.rotation_mode = "XYZ"
        bone.rotation_euler = (least, 0.0, 0.0)
        if kind == "lock":
            bone.lock_rotation = (name == "bone1", True, True)
            bone.rotation_euler.y = 0.05
        elif kind == "limit":
            bone.lock_ik_y = bone.lock_ik_z = True
            bone.use_ik_limit_x, bone.ik_min_x, bone.ik_max_x = True, 0.0, 2.0
        if kind != "lock":
            limit = bone.constraints.new("LIMIT_ROTATION")
            limit.owner_space = "LOCAL"
            limit.use_limit_x, limit.min_x, limit.max_x = True, least, 2.0
            for axis in "yz":
                setattr(limit, f"use_limit_{axis}", True)
    update()
    links = links_of(armature, chain)
    solve()
    assert chain.status == "REACHED" and distance_left(armature, chain) < 1e-4
    factors = links_of(armature, chain) / links
    np.testing.assert_allclose(factors, factors[0], rtol=1e-5)
    assert factors[0] > 1.02
    for name in ("bone1", "bone2"):
        bone = armature.pose.bones[name]
        if kind == "lock":
            assert bone.rotation_euler.y == pytest.approx(0.05) and bone.rotation_euler.z == 0.0
        else:
            assert bone.rotation_euler.x >= least - 1e-4 and abs(bone.rotation_euler.y) < 1e-4


@pytest.mark.parametrize("offset", [0.1, 0.3])
@pytest.mark.parametrize("kind", ["lock", "constraint"])
def test_bones_with_locks_stretch_to_the_target_where_they_do_not_touch(kind: str, offset: float) -> None:
    """The tip stayed off by up to 1.3 % of the length: stretch rotates links beside which the bones lie."""
    first, second = Bone("a", (0, 0, 0), (0, 0, 1)), Bone("b", (offset, 0, 1), (offset, 0.2, 2), "a")
    third = Bone("c", (offset, 0.2 + offset, 2), (offset, offset, 3), "b")
    armature = make_armature([first, second, third])
    middle = armature.pose.bones["b"]
    if kind == "lock":
        middle.rotation_mode, middle.lock_rotation = "XYZ", (False, True, False)
    else:
        limit = middle.constraints.new("LIMIT_ROTATION")
        limit.owner_space = "LOCAL"
        for axis in "xyz":
            for name, value in (("use_limit", True), ("min", -0.5), ("max", 0.6)):
                setattr(limit, f"{name}_{axis}", value)
    chain = set_chain(armature, "c", 3, make_empty("Target", (1.5, 1.0, 3.0)))
    chain.use_stretch, chain.stretch_max = True, 2.0
    update()
    for _ in range(2):
        solve()
        assert chain.status == "REACHED" and distance_left(armature, chain) < 1e-4


def make_locked_arm(seed: int, with_pole: bool) -> tuple[Object, Any]:
    """An arm of four bones, three with a locked axis, whose target is beyond its reach but not beyond its stretch."""
    rng = np.random.default_rng(seed)
    points = [Vector()]
    for _ in range(4):
        points.append(points[-1] + (Vector((0.0, 0.0, 1.0)) + 0.4 * random_direction(rng)).normalized())
    armature = make_armature(
        [Bone(f"b{i}", *each, f"b{i - 1}" if i else None) for i, each in enumerate(pairwise(points))]
    )
    for i, bone in enumerate(armature.pose.bones):
        bone.rotation_mode, bone.rotation_euler = "XYZ", rng.uniform(-0.3, 0.3, 3)
        bone.lock_rotation[i % 3] = i > 0
    update()
    target = make_empty("target", random_direction(rng) * float(rng.uniform(4.1, 5.0)))
    pole = make_empty("pole", random_direction(rng) * 8.0) if with_pole else None
    chain = set_chain(armature, "b3", 4, target, pole)
    chain.use_stretch, chain.stretch_max = True, 2.0
    return armature, chain


@pytest.mark.parametrize(("with_pole", "most"), [(False, 1), (True, 10)])
def test_a_second_solve_of_a_stretched_chain_with_locks_changes_nothing(with_pole: bool, most: int) -> None:
    """It changed 19 of these 20, each to another pose at the target; with a pole it may still bend nearer to it."""
    changed = 0
    for seed in range(20):
        clear_scene()
        armature, chain = make_locked_arm(seed, with_pole)
        solve()
        is_reached, before = chain.status == "REACHED", matrices_of(armature)
        solve()
        changed += is_reached and bool(abs(matrices_of(armature) - before).max() > 1e-3)
        assert not is_reached or chain.status == "REACHED"
    assert changed <= most, changed


def test_a_root_that_may_follow_does_so_when_the_bones_are_as_long_as_they_may_be() -> None:
    armature, chain = make_elastic_tail((0.0, 0.0, 4.0))
    chain.root_motion = "TRANSLATE"
    links = links_of(armature, chain)
    solve()
    assert tuple(armature.pose.bones["bone0"].location) == (0.0, 0.0, 0.0)
    chain.target.location = (0.0, 0.0, 6.0)
    update()
    solve()
    assert chain.status == "REACHED" and distance_left(armature, chain) < 1e-4
    np.testing.assert_allclose(links_of(armature, chain) / links, 1.5, rtol=1e-5)
    assert armature.pose.bones["bone0"].head.length == pytest.approx(6.0 - 1.5 * links.sum(), rel=1e-3)


def test_arms_on_a_spine_keep_their_length_when_it_stretches_and_stretch_by_themselves() -> None:
    bones = [Bone("spine0", (0, 0, 0), (0, 0.1, 1)), Bone("spine1", (0, 0.1, 1), (0, 0, 2), "spine0", True)]
    for side, x in (("L", 1.0), ("R", -1.0)):
        bones.append(Bone(f"upper{side}", (0.2 * x, 0, 1.9), (x, 0.1, 1.8), "spine1", roll=0.5))
        bones.append(Bone(f"lower{side}", (x, 0.1, 1.8), (1.8 * x, 0, 1.9), f"upper{side}", True, roll=1.0))
    armature = make_armature(bones)
    spine = set_chain(armature, "spine1", 2, make_empty("chest", (0.5, 0.2, 2.5)))
    left = set_chain(armature, "lowerL", 2, make_empty("left", (1.4, 0.2, 2.0)))
    right = set_chain(armature, "lowerR", 2, make_empty("right", (-2.1, 0.3, 2.3)))
    chains = (left, right, spine)
    update()
    links = {chain.name: links_of(armature, chain) for chain in chains}
    for chain in chains:
        chain.use_stretch = True
    for _ in range(2):
        solve()
        for chain in chains:
            assert chain.status == "REACHED" and distance_left(armature, chain) < 1e-4
        factors = {name: (links_of(armature, armature.fabrik.chains[name]) / links[name]) for name in links}
        assert factors["spine1"].min() > 1.1 and factors["lowerR"].min() > 1.1
        np.testing.assert_allclose(factors["lowerL"], 1.0, rtol=1e-5)
        for bone in armature.pose.bones:
            assert skew_of(bone) < SAME


# What is in the way is said, and nothing changes


def message_after(change: Any) -> str:
    armature, _chain = make_elastic_tail((0.4, 0.9, 1.2))
    change(armature)
    update()
    inheritance = inheritance_of(armature)
    message = error_of(bpy.ops.pose.fabrik_solve)
    assert inheritance_of(armature) == inheritance
    return message


def test_a_locked_scale() -> None:
    def lock(armature: Object) -> None:
        armature.pose.bones["bone1"].lock_scale[1] = True

    assert message_after(lock) == "Chain 'bone2': it can't stretch: the Y scale of bone 'bone1' is locked"


def test_a_child_whose_scale_is_locked() -> None:
    def lock(armature: Object) -> None:
        armature.pose.bones["bone finger"].lock_scale[1] = True

    message = message_after(lock)
    assert message == (
        "Chain 'bone2': it can't stretch: bone 'bone finger' would be stretched along with 'bone2', because its scale "
        "is locked. Unlock it, or set its Inherit Scale to None"
    )
    bpy.data.objects["Rig"].data.bones["bone finger"].inherit_scale = "NONE"
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}


def test_uneven_and_mirrored_bones() -> None:
    def mirror(armature: Object) -> None:
        armature.pose.bones["bone1"].scale.x = -1.0

    assert message_after(mirror) == "Chain 'bone2': it can't stretch: bone 'bone1' is mirrored or has no size"


def test_a_chain_that_hangs_on_an_uneven_bone() -> None:
    armature, chain = make_elastic_tail((0.4, 0.9, 1.2))
    chain.chain_count = 2
    armature.pose.bones["bone0"].scale = (1.5, 1.0, 1.0)
    update()
    message = error_of(bpy.ops.pose.fabrik_solve)
    assert message.endswith("it can't stretch: bone 'bone1' is mirrored, sheared or unevenly scaled")
    chain.use_stretch = False
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}


def test_a_bone_that_does_not_lie_along_its_link() -> None:
    clear_scene()
    armature = make_armature(
        [Bone("hip", (0, 0, 0), (0, 0, 1)), Bone("leg", (0.5, 0, 0.1), (0.5, 0, -1), "hip")],
    )
    chain = set_chain(armature, "leg", 2, make_empty("target", (0.3, 0.3, -0.5)))
    chain.use_stretch = True
    assert error_of(bpy.ops.pose.fabrik_solve) == (
        "Chain 'leg': it can't stretch: bone 'hip' doesn't point toward 'leg'"
    )


def test_a_linked_armature_says_what_to_set(tmp_path: Path) -> None:
    armature, chain = make_elastic_tail()
    leave_mode()
    collect("Character", armature, chain.target)
    path = str(tmp_path / "character.blend")
    for mode in ("FULL", "ALIGNED"):
        for bone in armature.data.bones:
            bone.inherit_scale = mode
        bpy.ops.wm.save_as_mainfile(filepath=path)
        bpy.ops.wm.read_factory_settings(use_empty=True)
        with bpy.data.libraries.load(path, link=True) as (_, into):
            into.collections = ["Character"]
        bpy.context.scene.collection.children.link(into.collections[0])
        made = into.collections[0].override_hierarchy_create(bpy.context.scene, bpy.context.view_layer)
        for obj in made.all_objects:
            obj.override_library.is_system_override = False
        (linked,) = (obj for obj in made.all_objects if obj.type == "ARMATURE")
        enter_pose_mode(linked)
        update()
        if mode == "FULL":
            message = error_of(bpy.ops.pose.fabrik_solve)
            assert message == (
                "Chain 'bone2': it can't stretch: bone 'bone1' would be skewed, and the armature 'Rig' is linked. Set "
                "the bone's Inherit Scale to Aligned in the file that it comes from"
            )
        else:
            assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
            assert linked.fabrik.chains[0].status == "REACHED" and linked.pose.bones["bone0"].scale.y > 1.1
        bpy.ops.wm.open_mainfile(filepath=path)
        armature = bpy.data.objects["Rig"]


def test_an_armature_that_is_that_of_another_object_too_says_what_to_set() -> None:
    armature, chain = make_elastic_tail()
    twin = armature.copy()
    bpy.context.scene.collection.objects.link(twin)
    twin.pose.bones["bone0"].scale = (1.0, 1.6, 1.0)
    update()
    before = matrices_of(twin)
    for operator in (bpy.ops.pose.fabrik_solve, bpy.ops.pose.fabrik_bake, bpy.ops.pose.fabrik_rig_add):
        assert error_of(operator).endswith(
            "it can't stretch: bone 'bone1' would be skewed, and the armature 'Rig' is that of 'Rig.001' too. Set the "
            "bone's Inherit Scale to Aligned, or make the armature single-user"
        )
    np.testing.assert_array_equal(matrices_of(twin), before)
    for bone in armature.data.bones:
        bone.inherit_scale = "ALIGNED"
    update()
    before = matrices_of(twin)
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"} and chain.status == "REACHED"
    np.testing.assert_array_equal(matrices_of(twin), before)


def test_a_driven_scale_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    armature, _ = make_elastic_tail((0.4, 0.9, 1.2))
    armature.pose.bones["bone1"].driver_add("scale", 1).driver.expression = "1.0"
    update()
    warnings_in(capfd)
    solve()
    (warning,) = warnings_in(capfd)
    assert "overridden on bone 'bone1' (driver)" in warning


# Real rigs


def test_rigifys_human_stretches_its_arms_and_legs_and_nothing_else() -> None:
    armature = metarig("human_metarig")
    armature.scale = (1.5, 1.5, 1.5)
    rng = np.random.default_rng(3)
    for bone in armature.pose.bones:  # fists and toes that are bent, so that what is skewed shows
        if bone.name.startswith(("f_", "thumb", "toe", "hand", "foot")):
            bone.rotation_mode = "QUATERNION"
            bone.rotation_quaternion = Quaternion(random_direction(rng), rng.uniform(0.2, 0.8))
    armature.pose.bones["spine"].scale = (1.2, 1.2, 1.2)
    update()
    tips = [f"{name}.{side}" for name in ("forearm", "shin") for side in "LR"]
    for tip in tips:
        chain = set_chain(armature, tip, 2, make_empty(f"{tip} target"))
        chain.use_stretch = True
        joints = joints_of(armature, chain)
        chain.target.location = to_world(armature, joints[0] + 1.25 * (joints[-1] - joints[0]))
    update()
    sizes, head = sizes_of(armature), armature.pose.bones["spine.006"].tail.copy()
    links = {tip: links_of(armature, armature.fabrik.chains[tip]) for tip in tips}
    seats = {tip: seats_of(armature, armature.fabrik.chains[tip]) for tip in tips}
    solve()
    for tip in tips:
        chain = armature.fabrik.chains[tip]
        assert chain.status == "REACHED" and distance_left(armature, chain) < 1e-4
        np.testing.assert_allclose(links_of(armature, chain) / links[tip], 1.25, rtol=0.02)
        for name, seat in seats_of(armature, chain).items():
            np.testing.assert_allclose(seat, seats[tip][name], atol=1e-5)
    chained = {bone.name for tip in tips for bone in bones_of(armature, armature.fabrik.chains[tip])}
    after = sizes_of(armature)
    for bone in armature.pose.bones:
        assert skew_of(bone) < SAME
        kept = [0, 2] if bone.name in chained else [0, 1, 2]
        np.testing.assert_allclose(after[bone.name][kept], sizes[bone.name][kept], rtol=SAME)
    assert (armature.pose.bones["spine.006"].tail - head).length < 1e-6


def test_the_chains_of_a_generated_rig_stretch_as_its_author_meant_them_to() -> None:
    armature = generated_rig("human_metarig")
    inheritance, hand = inheritance_of(armature), sizes_of(armature)["hand_fk.L"]
    chains = [set_chain(armature, tip, 2, make_empty(tip)) for tip in ("forearm_fk.L", "shin_fk.L")]
    links = []
    for chain in armature.fabrik.chains:
        chain.use_stretch = True
        joints = joints_of(armature, chain)
        links.append(links_of(armature, chain))
        chain.target.location = to_world(armature, joints[0] + 1.2 * (joints[-1] - joints[0]))
    update()
    solve()
    for chain, before in zip(armature.fabrik.chains, links, strict=True):
        assert chain.status == "REACHED" and distance_left(armature, chain) < 1e-4
        np.testing.assert_allclose(links_of(armature, chain) / before, 1.2, rtol=0.03)
    # Rigify itself lets forearms and shins be Aligned, so that no bone of the rig has to be set.
    assert len(chains) == 2 and inheritance_of(armature) == inheritance
    np.testing.assert_allclose(sizes_of(armature)["hand_fk.L"], hand, rtol=SAME)


# Baked


def test_a_bake_keys_the_scales_and_what_hangs_on_the_chain_keeps_its_size_at_every_frame() -> None:
    armature, chain = make_elastic_tail((0.4, 0.9, 1.2))
    bones = [armature.pose.bones[name] for name in ("bone finger", "bone twig")]
    sizes = sizes_of(armature)
    for frame, place in ((1, (0.4, 0.9, 1.2)), (15, (0.4, 3.4, 1.2)), (30, (1.0, 0.5, 2.0))):
        chain.target.location = place
        chain.target.keyframe_insert("location", frame=frame)
    links = links_of(armature, chain)
    assert bpy.ops.pose.fabrik_bake(frame_start=1, frame_end=30) == {"FINISHED"}
    factors = []
    for frame in range(1, 31):
        bpy.context.scene.frame_set(frame)
        assert distance_left(armature, chain) < 2e-4
        factors.append((links_of(armature, chain) / links).mean())
        for bone in bones:
            assert skew_of(bone) < SAME
            np.testing.assert_allclose(sizes_of(armature)[bone.name], sizes[bone.name], rtol=SAME)
    assert max(factors) > 1.1 and factors[0] == pytest.approx(1.0) and factors[-1] == pytest.approx(1.0)
