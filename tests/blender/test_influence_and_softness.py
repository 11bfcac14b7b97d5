# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Taking part of a solve, and easing into full extension."""

from __future__ import annotations

import bpy
import pytest

from tests.blender.rigs import distance_left, make_empty, make_tail, rotation_of, set_chain, update, warnings_in


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
    assert "softness holds it back from 80 % of the reach on" in warning
    assert chain.status == 'OUT_OF_REACH'
    assert chain.error == pytest.approx(distance_left(armature, chain), abs=1e-5)
    assert 0.01 < chain.error < 0.2
