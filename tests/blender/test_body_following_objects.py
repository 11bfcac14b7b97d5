# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pinned handles that follow objects."""

from __future__ import annotations

import math
from typing import Any

import bpy
import pytest
from bpy.types import Object
from mathutils import Euler, Vector

from tests.blender.rigs import error_of, make_empty, metarig, update

ops: Any = bpy.ops.pose


@pytest.fixture
def human() -> Object:
    """Rigify's human with a body, moved and turned."""
    armature = metarig("human_metarig")
    armature.location, armature.rotation_euler = (1.0, 2.0, 0.5), (0.0, 0.0, 0.7)
    update()
    assert ops.fabrik_body_add() == {"FINISHED"}
    return armature


@pytest.fixture
def prop(human: Object) -> Object:
    """An object near the left hand, which the pinned hand follows."""
    empty = make_empty("Cup", human.matrix_world @ Vector((0.6, -0.3, 1.2)))
    update()
    human.fabrik.body.handles["Hand.L"].target = empty
    return empty


def hand(armature: Object) -> Any:
    return armature.pose.bones["hand.L"]


def test_a_handle_is_pinned_where_it_is_and_no_bone_moves(human: Object, prop: Object) -> None:
    heads = {bone.name: bone.head.copy() for bone in human.pose.bones}
    assert human.fabrik.body.handles["Hand.L"].use_pin
    assert ops.fabrik_body_follow() == {"FINISHED"}
    update()
    assert max((bone.head - heads[bone.name]).length for bone in human.pose.bones) < 1e-4


def test_it_follows_place_and_rotation(human: Object, prop: Object) -> None:
    start = human.matrix_world @ hand(human).matrix
    prop.location += Vector((-0.05, -0.1, 0.1))
    prop.rotation_euler = Euler((0.0, math.radians(15.0), 0.0))
    update()
    assert ops.fabrik_body_follow() == {"FINISHED"}
    update()
    found = human.matrix_world @ hand(human).matrix
    offset = start.translation - Vector(human.matrix_world @ Vector((0.6, -0.3, 1.2)))
    expected = prop.matrix_world.translation + prop.rotation_euler.to_matrix() @ offset
    assert (found.translation - expected).length < 2e-4
    turned = found.to_quaternion() @ start.to_quaternion().conjugated()
    assert abs(math.degrees(turned.angle) - 15.0) < 0.1


def test_it_comes_along_whenever_another_handle_is_pulled(human: Object, prop: Object) -> None:
    before = human.matrix_world @ hand(human).head
    prop.location.z += 0.1
    update()
    place = human.matrix_world @ human.pose.bones["hand.R"].head
    assert ops.fabrik_body_pull(handle="Hand.R", position=place + Vector((0.0, 0.0, 0.2))) == {"FINISHED"}
    update()
    assert (human.matrix_world @ hand(human).head - before - Vector((0.0, 0.0, 0.1))).length < 2e-4


def test_find_again_keeps_the_object(human: Object, prop: Object) -> None:
    handle = human.fabrik.body.handles["Hand.L"]
    offset = list(handle.target_offset)
    prop.location.x += 1.0
    update()
    assert ops.fabrik_body_find() == {"FINISHED"}
    handle = human.fabrik.body.handles["Hand.L"]
    assert handle.target == prop and list(handle.target_offset) == offset and handle.use_pin


def test_a_deleted_object_leaves_a_pin(human: Object, prop: Object) -> None:
    bpy.data.objects.remove(prop)
    handle = human.fabrik.body.handles["Hand.L"]
    assert handle.target is None and handle.use_pin
    assert "No pinned handle follows an object" in error_of(ops.fabrik_body_follow)


def test_an_object_that_follows_the_body_is_refused(human: Object, prop: Object) -> None:
    prop.parent, prop.parent_type, prop.parent_bone = human, "BONE", "hand.R"
    update()
    message = error_of(ops.fabrik_body_follow)
    assert "Handle 'Hand.L' follows 'Cup', which follows bone 'hand.R'" in message
