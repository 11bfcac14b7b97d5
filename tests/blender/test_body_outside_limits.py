# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies in poses outside their limits, as captured ones are: nothing jumps, and nothing goes farther outside."""

from __future__ import annotations

import math
from typing import Any

import bpy
import pytest
from bpy.types import Object
from mathutils import Euler, Vector

from fabrik_addon.blender.bones.bone_limits import limits_of
from fabrik_addon.blender.bones.rotation_channel import rotation_of
from fabrik_addon.blender.drag.body_drag import BodyDrag
from fabrik_addon.core.model.joint_limits import joint_limits, outside_by
from scripts.benchmark.body_reconstruction_rows import MOTION, Motion
from tests.blender.rigs import metarig, update
from tests.blender.test_body import height, make_body, own_rotations, place, pull, turned


@pytest.fixture
def jump() -> Motion:
    """Captured motion with a body; its elbows are twisted by up to 48 degrees, and are hinges within the limits."""
    return Motion(MOTION)


@pytest.fixture
def human() -> Object:
    """Rigify's human with a body, a leg and the head outside their limits."""
    bpy.ops.preferences.addon_enable(module="rigify")
    armature = metarig("human_metarig")
    make_body(armature)
    for name, angles in (("thigh.R", (0.9, 0.2, 0.1)), ("spine.006", (-1.0, 0.0, 0.3)), ("forearm.L", (0.4, 0.3, 0.1))):
        armature.pose.bones[name].rotation_mode = 'XYZ'
        armature.pose.bones[name].rotation_euler = Euler(angles)
    update()
    return armature


def outside(armature: Object) -> dict[str, float]:
    """Angle (degrees) by which each bone is outside its limits."""
    found = {}
    for bone in armature.pose.bones:
        q = rotation_of(bone)
        found[bone.name] = math.degrees(outside_by(joint_limits(*limits_of(bone)), (q.w, q.x, q.y, q.z)))
    return found


@pytest.mark.parametrize("frame", [0, 30, 60])
def test_a_short_pull_of_a_captured_pose_rotates_no_bone_far(jump: Motion, frame: int) -> None:
    """Clamped to its limits a forearm turned by 49 degrees."""
    armature: Any = jump.rig
    for bone in armature.pose.bones:
        bone.matrix_basis.identity()
    for bone in [bone for bone in armature.pose.bones if bone.name in jump.roles]:
        update()
        bone.matrix = jump.poses[frame].matrices[bone.name]
    update()
    assert max(outside(armature).values()) > 10.0
    before = own_rotations(armature)
    pull(armature, "Hand.L", (0.0, 0.0, 0.018 * jump.height))
    assert max(turned(armature, before).values()) < 8.0


@pytest.mark.parametrize("lock", [False, True], ids=["free", "a locked axis"])
def test_a_pull_to_where_the_hand_is_leaves_bones_outside_their_limits(human: Object, lock: bool) -> None:
    human.pose.bones["spine.006"].lock_rotation[1] = lock
    assert min(outside(human)[name] for name in ("thigh.R", "spine.006", "forearm.L")) > 5.0
    before = own_rotations(human)
    pull(human, "Hand.R", (0.0, 0.0, 0.0))
    assert max(turned(human, before).values()) < 0.01


def test_the_first_move_of_a_drag_is_as_small_as_the_others(human: Object) -> None:
    """Bones that were clamped to their limits turned by 44 degrees in it."""
    drag = BodyDrag(bpy.context.view_layer, human, "hand.R")
    start, turns = place(human, "Hand.R"), []
    for step in range(1, 16):
        before = own_rotations(human)
        drag.move(bpy.context.view_layer, start + step * 0.005 * height(human) * Vector((0.3, -1.0, 0.2)))
        turns.append(max(turned(human, before).values()))
    drag.cancel(bpy.context.view_layer)
    assert max(turns) < 3.0 * sorted(turns)[len(turns) // 2]


@pytest.mark.parametrize("handle", ["Hand.R", "Head", "Hips", "Foot.R"])
def test_bones_outside_their_limits_go_hardly_farther_outside(human: Object, handle: str) -> None:
    """By what a quarter ellipse through a swing about two axes is longer along one of them; others not at all."""
    before = outside(human)
    for by in ((0.3, -0.5, 0.4), (-0.4, 0.3, -0.5)):
        pull(human, handle, by)
        after = outside(human)
        assert max(after[name] - before[name] for name in before) < 12.0
        assert max(after[name] for name in before if before[name] < 1e-3) < 1e-3
