# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tip bone takes the target's rotation."""

from __future__ import annotations

import math

import bpy
import numpy as np
import pytest
from mathutils import Euler, Quaternion, Vector

from fabrik_addon.core.math.quaternion_arrays import angle_between
from tests.blender.rigs import (
    activate,
    add_chain,
    bones_of,
    distance_left,
    links_of,
    make_empty,
    make_tail,
    metarig,
    random_direction,
    set_chain,
    update,
    warnings_in,
)


def test_switching_it_on_changes_nothing_and_then_the_tip_turns_with_the_target() -> None:
    armature = make_tail(4)
    armature.rotation_euler = (0.4, -0.7, 1.1)
    for name in ("bone1", "bone2"):
        armature.pose.bones[name].rotation_quaternion = Euler((1.3, 0.3, 0.2)).to_quaternion()
    update()
    target = make_empty("target", armature.matrix_world @ armature.pose.bones["bone3"].tail)
    target.rotation_euler = (1.0, 2.0, 3.0)
    chain = set_chain(armature, "bone3", 4, target)
    update()
    chain.use_rotation = True
    before = [bone.matrix.copy() for bone in armature.pose.bones]
    bpy.ops.pose.fabrik_solve()
    update()
    for bone, matrix in zip(armature.pose.bones, before, strict=True):
        assert (
            max(abs(a - b) for row, old in zip(bone.matrix, matrix, strict=True) for a, b in zip(row, old, strict=True))
            < 1e-5
        )

    tip = armature.pose.bones["bone3"]
    turned_before = (armature.matrix_world @ tip.matrix).to_quaternion()
    turn = Quaternion((0.3, 1.0, -0.5), math.radians(40.0))
    target.rotation_euler = (turn @ target.rotation_euler.to_quaternion()).to_euler()
    update()
    bpy.ops.pose.fabrik_solve()
    update()
    assert chain.status == 'REACHED' and distance_left(armature, chain) < 1e-4
    turned = (armature.matrix_world @ tip.matrix).to_quaternion()
    assert (turn @ turned_before).rotation_difference(turned).angle % math.tau == pytest.approx(0.0, abs=0.01)


def test_where_there_is_no_room_position_comes_first_and_it_is_said(capfd: pytest.CaptureFixture[str]) -> None:
    armature = make_tail(3)
    target = make_empty("target", (0.0, 0.0, 2.9))
    chain = set_chain(armature, "bone2", 3, target)
    update()
    chain.use_rotation = True
    target.rotation_euler = (math.pi, 0.0, 0.0)
    update()
    warnings_in(capfd)
    bpy.ops.pose.fabrik_solve()
    update()
    assert chain.status == 'REACHED' and distance_left(armature, chain) < 1e-4
    (warning,) = warnings_in(capfd)
    assert "degrees from the target's rotation" in warning


def test_a_chain_that_ends_at_a_head_refuses_it() -> None:
    armature = make_tail(3)
    chain = set_chain(armature, "bone2", 2, make_empty("target", (0.5, 0.5, 0.5)))
    chain.use_tail = False
    chain.use_rotation = True
    update()
    with pytest.raises(RuntimeError, match="enable Use Tail"):
        bpy.ops.pose.fabrik_solve()


def test_a_second_press_leaves_an_arm_that_limits_keep_off_its_rotation_and_pole() -> None:
    """Hand, forearm and upper arm with usual limits, and the clavicle: bones rotated by 5.4 degrees before."""
    armature = metarig("human_metarig")
    bones = armature.pose.bones
    joints = {"shoulder.L": "CLAVICLE", "upper_arm.L": "SHOULDER", "forearm.L": "ELBOW", "hand.L": "WRIST"}
    for name, joint in joints.items():
        for bone in bones:
            bone.select = bone.name == name
        activate(armature, name)
        assert bpy.ops.pose.fabrik_limits_set(joint=joint) == {"FINISHED"}
    chain = add_chain(armature, "hand.L", 4, create_pole=True)
    chain.use_rotation = True
    update()
    chain.target.location += Vector((-0.3, -0.2, 0.3))
    chain.pole_target.location += Vector((0.1, 0.1, -0.1))
    update()
    poses = []
    for _ in range(2):
        assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
        assert chain.status == "REACHED"
        poses.append(np.array([bones[name].matrix.to_quaternion()[:] for name in joints]))
    assert np.degrees(angle_between(*poses).max()) < 0.1


@pytest.mark.parametrize("as_bones", [False, True])
def test_targets_are_snapped_where_an_uneven_scale_shears_the_armature(as_bones: bool) -> None:
    """The rotation was not found in five rounds, and the message named constraints and drivers that weren't there."""
    armature = make_tail(3)
    parent = make_empty("parent", (1.0, -2.0, 0.5))
    parent.rotation_euler, parent.scale = (0.3, 0.2, 1.0), (1.0, 1.6, 0.8)
    armature.parent, armature.rotation_euler = parent, (0.5, -0.8, 0.4)
    update()
    chain = add_chain(armature, "bone2", 3, as_bones=as_bones)
    chain.use_rotation = True
    for name, angles in (("bone0", (0.5, 0.1, -0.3)), ("bone1", (0.7, -0.2, 0.4)), ("bone2", (-0.3, 0.6, 0.5))):
        armature.pose.bones[name].rotation_quaternion = Euler(angles).to_quaternion()
    update()
    before = [bone.matrix.copy() for bone in armature.pose.bones[:3]]
    assert bpy.ops.pose.fabrik_snap_target() == {"FINISHED"}
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    update()
    for bone, matrix in zip(armature.pose.bones[:3], before, strict=True):
        assert np.abs(np.array(bone.matrix) - np.array(matrix)).max() < 1e-3


@pytest.mark.parametrize(("tip", "seed"), [("forearm.L", 118), ("forearm.L", 65), ("hand.L", 76), ("hand.L", 75)])
def test_a_second_solve_within_limits_keeps_pole_and_rotation(tip: str, seed: int) -> None:
    """The posture task kept the first solve from pole and rotation, and the second one rotated bones by 20 to 57
    degrees."""
    armature = metarig("human_metarig")
    assert bpy.ops.pose.fabrik_body_add() == {"FINISHED"}
    chain = add_chain(armature, tip, 3, create_pole=True)
    chain.use_rotation = True
    rng, bones, length = np.random.default_rng(seed), bones_of(armature, chain), float(links_of(armature, chain).sum())
    chain.target.location += Vector(random_direction(rng)) * rng.uniform(0.1, 0.8) * length
    chain.pole_target.location += Vector(random_direction(rng)) * rng.uniform(0.0, 1.0) * length
    update()
    poses = []
    for _ in range(2):
        assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
        assert chain.status == "REACHED"
        update()
        poses.append(np.array([bone.matrix.to_quaternion()[:] for bone in bones]))
    assert np.degrees(angle_between(*poses).max()) < 2.0
