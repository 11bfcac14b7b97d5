# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Taking part of a solve, and easing into full extension."""

from __future__ import annotations

import math

import bpy
import numpy as np
import pytest
from mathutils import Vector

from tests.blender.rigs import (
    Bone,
    distance_left,
    joints_of,
    links_of,
    make_armature,
    make_empty,
    make_tail,
    rotation_of,
    set_chain,
    update,
    warnings_in,
)


@pytest.mark.parametrize("influence", [0.0, 0.25, 0.5, 1.0])
def test_influence_blends_the_bones_own_rotations(influence: float) -> None:
    def solved(share: float) -> list:
        bpy.ops.wm.read_factory_settings(use_empty=True)
        armature = make_tail(3)
        chain = set_chain(armature, "bone2", 3, make_empty("target", (1.0, 0.7, 1.2)))
        chain.influence = share
        update()
        bpy.ops.pose.fabrik_solve()
        assert chain.status == 'REACHED'
        return [rotation_of(bone) for bone in armature.pose.bones]

    rest, full = solved(0.0), solved(1.0)
    for before, after, found in zip(rest, full, solved(influence), strict=True):
        assert abs(before.slerp(after, influence).dot(found)) > 1.0 - 1e-6


def test_no_influence_changes_nothing() -> None:
    armature = make_tail(3)
    chain = set_chain(armature, "bone2", 3, make_empty("target", (1.0, 0.7, 1.2)))
    chain.influence = 0.0
    update()
    before = [tuple(bone.rotation_quaternion) for bone in armature.pose.bones]
    bpy.ops.pose.fabrik_solve()
    assert [tuple(bone.rotation_quaternion) for bone in armature.pose.bones] == before


def test_softness_holds_the_tip_back_and_says_so(capfd: pytest.CaptureFixture[str]) -> None:
    armature = make_tail(3)
    chain = set_chain(armature, "bone2", 3, make_empty("target", (0.0, 2.95, 0.0)))
    chain.softness = 0.2
    update()
    warnings_in(capfd)
    bpy.ops.pose.fabrik_solve()
    update()
    (warning,) = warnings_in(capfd)
    assert "softness keeps the tip from its target beyond 80 % of the reach" in warning
    assert chain.status == 'OUT_OF_REACH'
    assert chain.error == pytest.approx(distance_left(armature, chain), abs=1e-5)
    assert 0.01 < chain.error < 0.2


@pytest.mark.parametrize("mode", ["XYZ", "ZYX", "AXIS_ANGLE", "QUATERNION"])
@pytest.mark.parametrize("has_locks", [False, True])
def test_influence_goes_the_shortest_way_in_every_rotation_mode(mode: str, has_locks: bool) -> None:
    def solved(share: float) -> list:
        bpy.ops.wm.read_factory_settings(use_empty=True)
        armature = make_tail(3)
        for bone in armature.pose.bones:
            bone.rotation_mode = mode
        if has_locks:
            armature.pose.bones["bone1"].lock_rotation[2] = True
        chain = set_chain(armature, "bone2", 3, make_empty("target", (0.9, 0.6, 1.4)))
        chain.influence = share
        update()
        bpy.ops.pose.fabrik_solve()
        return [rotation_of(armature.pose.bones[f"bone{i}"]) for i in range(3)]

    rest, full, third = solved(0.0), solved(1.0), solved(1.0 / 3.0)
    for before, after, found in zip(rest, full, third, strict=True):
        assert before.rotation_difference(after).angle % math.tau > 0.01
        # A locked axis keeps its value, so that a share of the way may be a little beside it.
        assert before.slerp(after, 1.0 / 3.0).rotation_difference(found).angle % math.tau < (0.2 if has_locks else 2e-3)


@pytest.mark.parametrize("softness", [0.05, 0.2])
def test_a_soft_knee_does_not_pop_as_its_target_moves_out(softness: float) -> None:
    armature = make_armature(
        [Bone("thigh", (0, 0, 1), (0, -0.05, 0.5)), Bone("shin", (0, -0.05, 0.5), (0, 0, 0), "thigh", True)]
    )
    chain = set_chain(armature, "shin", 2, make_empty("target"))
    chain.softness = softness
    length = links_of(armature, chain).sum()

    def knee(reach: float) -> float:
        for bone in armature.pose.bones:
            bone.rotation_quaternion = (1.0, 0.0, 0.0, 0.0)
        chain.target.location = (0.0, 0.0, 1.0 - reach * length)
        update()
        bpy.ops.pose.fabrik_solve()
        update()
        upper, lower = np.diff(joints_of(armature, chain), axis=0)
        return math.degrees(Vector(upper).angle(Vector(lower)))

    path = np.arange(0.98 - softness, 1.05, 0.0005)
    assert np.abs(np.diff([knee(reach) for reach in path])).max() < 0.5
    chain.softness = 0.0
    assert np.abs(np.diff([knee(reach) for reach in np.arange(0.99, 1.005, 0.0005)])).max() > 2.0
