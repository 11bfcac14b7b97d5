# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tip bone takes the target's rotation."""

from __future__ import annotations

import math

import bpy
import pytest
from mathutils import Euler, Quaternion

from tests.blender.rigs import distance_left, make_empty, make_tail, set_chain, update, warnings_in


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
