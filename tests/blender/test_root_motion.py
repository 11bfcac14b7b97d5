# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A root that follows when the tip can't reach its target."""

from __future__ import annotations

from typing import Any

import bpy
import pytest
from mathutils import Euler, Vector

from tests.blender.rigs import (
    Bone,
    distance_left,
    error_of,
    links_of,
    make_armature,
    make_empty,
    make_tail,
    pose_of,
    printed,
    set_chain,
    update,
)


def far_chain(place: tuple[float, float, float] = (1.0, 2.0, 4.0)):  # type: ignore[no-untyped-def]
    armature = make_tail(3)
    armature.location, armature.rotation_euler, armature.scale = (1.0, 0.5, 0.2), (0.3, 0.9, -0.4), (1.5, 1.5, 1.5)
    chain = set_chain(armature, "bone2", 3, make_empty("target", place))
    chain.root_motion = 'TRANSLATE'
    update()
    return armature, chain


def test_the_tip_reaches_and_the_root_moves_no_more_than_it_must() -> None:
    armature, chain = far_chain((3.0, 4.0, 7.0))
    root = armature.pose.bones["bone0"]
    head, target = armature.matrix_world @ root.head, chain.target.matrix_world.translation
    missing = (target - head).length - 1.5 * links_of(armature, chain).sum()
    assert missing > 0.5
    bpy.ops.pose.fabrik_solve()
    update()
    assert chain.status == 'REACHED' and distance_left(armature, chain) < 1e-4
    assert (armature.matrix_world @ root.head - head).length == pytest.approx(missing, rel=1e-4)


def test_a_target_within_reach_leaves_the_root_alone() -> None:
    armature, chain = far_chain((1.2, 1.0, 2.0))
    before = tuple(armature.pose.bones["bone0"].location)
    bpy.ops.pose.fabrik_solve()
    assert chain.status == 'REACHED' and tuple(armature.pose.bones["bone0"].location) == before


def test_limits_keep_the_pose_and_the_root_makes_up_for_them() -> None:
    armature, chain = far_chain()
    for bone in armature.pose.bones:
        for name in "xyz":
            setattr(bone, f"lock_ik_{name}", name != "x")
        bone.use_ik_limit_x, bone.ik_min_x, bone.ik_max_x = True, 0.0, 0.3
    bpy.ops.pose.fabrik_solve()
    update()
    assert chain.status == 'REACHED' and distance_left(armature, chain) < 1e-4
    for bone in armature.pose.bones:
        assert -1e-4 <= bone.rotation_quaternion.to_euler().x <= 0.3001


@pytest.mark.parametrize("stretches", [False, True])
@pytest.mark.parametrize("locked", [False, True])
def test_a_soft_chain_whose_root_follows_does_not_creep(locked: bool, stretches: bool) -> None:
    """With stretch each press translated the root again, and bent the chain by up to 22 degrees."""
    armature, chain = far_chain((2.0, 3.0, 5.0) if stretches else (1.0, 2.0, 4.0))
    chain.softness, chain.use_stretch, chain.stretch_max = 0.3, stretches, 1.2
    bone = armature.pose.bones["bone1"]
    bone.rotation_mode, bone.lock_rotation[1] = "XYZ", locked
    bpy.ops.pose.fabrik_solve()
    update()
    assert chain.status == 'REACHED' and distance_left(armature, chain) < 1e-4
    before = [bone.matrix.translation.copy() for bone in armature.pose.bones]
    bpy.ops.pose.fabrik_solve()
    update()
    assert max((bone.head - head).length for bone, head in zip(armature.pose.bones, before, strict=True)) < 1e-4


def test_the_location_is_keyed_too() -> None:
    armature, _ = far_chain((3.0, 4.0, 7.0))
    edit = bpy.context.preferences.edit
    edit.use_auto_keyframe_insert_needed = edit.use_keyframe_insert_available = edit.use_visual_keying = False
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    bpy.ops.pose.fabrik_solve()
    curves = armature.animation_data.action.layers[0].strips[0].channelbags[0].fcurves
    paths = {curve.data_path for curve in curves}
    assert 'pose.bones["bone0"].location' in paths and 'pose.bones["bone0"].rotation_quaternion' in paths
    assert 'pose.bones["bone1"].location' not in paths


@pytest.mark.parametrize("why", ["locked", "connected"])
def test_a_root_that_can_not_move_is_refused(why: str) -> None:
    armature, chain = far_chain()
    chain.chain_count = 2
    root = armature.pose.bones["bone1"]
    if why == "locked":
        chain.chain_count = 3
        root = armature.pose.bones["bone0"]
        root.lock_location[1] = True
    else:
        bpy.ops.object.mode_set(mode='EDIT')
        armature.data.edit_bones["bone1"].use_connect = True
        bpy.ops.object.mode_set(mode='POSE')
    before = [tuple(bone.location) + tuple(bone.rotation_quaternion) for bone in armature.pose.bones]
    with pytest.raises(RuntimeError, match=why):
        bpy.ops.pose.fabrik_solve()
    assert [tuple(bone.location) + tuple(bone.rotation_quaternion) for bone in armature.pose.bones] == before


LOWER = Bone("lower", (0.0, -0.1, 1.0), (0.0, 0.0, 2.0), "upper", True)


def make_branch(connected: bool, local_location: bool = True) -> Any:
    """A chain of two on a bone that is turned and scaled, not at its tail; its root may follow."""
    armature = make_armature(
        [
            Bone("hip", (0.0, 0.0, 0.0), (0.2, 0.1, 1.0), roll=0.7),
            Bone("upper", (0.2, 0.1, 1.0) if connected else (0.7, 0.2, 0.8), (1.0, 0.2, 1.6), "hip", connected, 1.0),
            Bone("lower", (1.0, 0.2, 1.6), (1.6, 0.1, 1.5), "upper", True, -0.5),
        ]
    )
    hip = armature.pose.bones["hip"]
    hip.rotation_quaternion = Euler((0.4, 1.0, -0.3)).to_quaternion()
    hip.scale = (1.3, 1.3, 1.3)
    armature.data.bones["upper"].use_local_location = local_location
    armature.pose.bones["upper"].location = (0.0, 0.0, 0.0) if connected else (0.1, -0.2, 0.05)
    armature.location, armature.rotation_euler, armature.scale = (1.0, 2.0, 0.5), (0.3, -0.8, 0.5), (0.7, 0.7, 0.7)
    chain = set_chain(armature, "lower", 2, make_empty("target"))
    chain.root_motion = 'TRANSLATE'
    update()
    return chain


@pytest.mark.parametrize("local_location", [True, False])
@pytest.mark.parametrize("influence", [1.0, 0.4])
def test_a_root_with_a_parent_follows_by_what_is_missing(local_location: bool, influence: float) -> None:
    chain = make_branch(connected=False, local_location=local_location)
    armature = chain.id_data
    upper, hip = armature.pose.bones["upper"], armature.pose.bones["hip"]
    length, old, above = float(links_of(armature, chain).sum()), upper.head.copy(), hip.matrix.copy()
    direction = Vector((0.3, -0.5, 0.8)).normalized()
    chain.target.location = armature.matrix_world @ (old + 1.7 * length * direction)
    chain.influence = influence
    update()
    bpy.ops.pose.fabrik_solve()
    update()
    assert (upper.head - (old + influence * 0.7 * length * direction)).length < 2e-5
    assert hip.matrix == above
    if influence == 1.0:
        assert chain.status == 'REACHED' and distance_left(armature, chain) < 1e-4
        # Back in reach it stays where it went: a root that follows is not pulled back.
        chain.target.location = armature.matrix_world @ (upper.head + 0.6 * length * direction)
        update()
        before = upper.head.copy()
        bpy.ops.pose.fabrik_solve()
        update()
        assert (upper.head - before).length < 1e-6 and distance_left(armature, chain) < 1e-4


def test_a_root_that_is_connected_to_its_parent_is_refused_and_nothing_moves() -> None:
    make_branch(connected=True)
    message = error_of(bpy.ops.pose.fabrik_solve)
    assert message == "Chain 'lower': its root can't follow: bone 'upper' is connected"


@pytest.mark.parametrize("operator", ["fabrik_solve", "fabrik_drag_target"])
def test_the_location_of_a_root_that_is_connected_to_nothing_is_not_written(operator: str) -> None:
    """Blender ignores it, as that of any connected bone: importers and scripts leave such bones."""
    armature = make_armature([Bone("upper", (0.0, 0.0, 0.0), (0.0, -0.1, 1.0), None, True), LOWER])
    chain = set_chain(armature, "lower", 2, make_empty("target", (2.0, 2.0, 2.0)))
    chain.root_motion = 'TRANSLATE'
    upper = armature.pose.bones["upper"]
    head = upper.head.copy()
    upper.location = (0.3, 0.0, 0.0)
    update()
    assert upper.bone.use_connect and upper.head == head
    upper.location = (0.0, 0.0, 0.0)
    arguments = {"position": (0.4, 2.0, 2.0)} if operator == "fabrik_drag_target" else {}
    message = error_of(lambda: getattr(bpy.ops.pose, operator)(**arguments))
    assert message.endswith("its root can't follow: bone 'upper' is connected")
    assert upper.location.length == 0.0


def test_undo_puts_the_root_back() -> None:
    chain = make_branch(connected=False)
    armature = chain.id_data
    chain.target.location = (5.0, 5.0, 5.0)
    update()
    bpy.ops.ed.undo_push(message="before")
    before = pose_of(armature)
    bpy.ops.pose.fabrik_solve()
    assert pose_of(armature) != before
    bpy.ops.ed.undo_push(message="after")
    bpy.ops.ed.undo()
    assert pose_of(bpy.data.objects["Rig"]) == before


def test_a_driver_of_the_roots_location_is_named_by_solve_and_bake(capfd: pytest.CaptureFixture[str]) -> None:
    """Solve blamed single precision for 74 cm, and Bake said nothing of 15 percent of the length."""
    armature = make_tail(3)
    chain = set_chain(armature, "bone2", 3, make_empty("target", (3.0, 2.0, 2.0)))
    chain.root_motion = "TRANSLATE"
    armature.pose.bones["bone0"].driver_add("location", 0).driver.expression = "0.1"
    update()
    printed(capfd)
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    assert "overridden on bone 'bone0' (driver)" in printed(capfd)
    assert bpy.ops.pose.fabrik_bake(frame_start=1, frame_end=3) == {"FINISHED"}
    assert "3 of 3 frames not reached" in printed(capfd)
