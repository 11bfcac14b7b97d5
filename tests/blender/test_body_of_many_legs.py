# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies without hips: a spider whose bones have names that say nothing, where a leg is pulled and the rest holds; a
tentacle, a snake, arms alone."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import bpy
import pytest
from bpy.types import Object
from mathutils import Vector

from fabrik_addon.blender.drag.body_drag import BodyDrag
from tests.blender.rigs import Bone, keys_of, make_armature, make_empty, pose_of, update

ops: Any = bpy.ops.pose

SIZE = 2.3
"""From the end of a leg to that of the opposite one."""


@pytest.fixture
def spider() -> Object:
    bones = [
        Bone("Bone", (0.0, 0.15, 0.5), (0.0, -0.15, 0.5)),
        Bone("Abdomen", (0.0, 0.15, 0.5), (0.0, 0.65, 0.6), "Bone"),
    ]
    for leg in range(8):
        angle = math.radians(35.0 + 36.0 * (leg % 4)) * (1.0 if leg < 4 else -1.0)
        steps = zip((0.12, 0.35, 0.75, 1.15), (0.5, 0.75, 0.8, 0.0), strict=True)
        points = [(share * math.sin(angle), -share * math.cos(angle), height) for share, height in steps]
        parent = "Bone"
        for number, (head, tail) in enumerate(pairwise(points)):
            bones.append(Bone(f"Bone.{leg}{number}", head, tail, parent))
            parent = bones[-1].name
    armature = make_armature(bones, "Spider")
    assert ops.fabrik_body_add() == {"FINISHED"}
    update()
    return armature


def ends(armature: Object) -> dict[str, Vector]:
    """The ends of the legs, by handle."""
    found = {}
    for handle in armature.fabrik.body.handles:
        bone = armature.pose.bones[handle.bone]
        if not handle.part:
            continue  # that of the bone on which the legs hang
        found[handle.name] = (bone.tail if handle.use_tail else bone.head).copy()
    return found


def test_all_legs_are_planted(spider: Object) -> None:
    handles = spider.fabrik.body.handles
    assert [handle.use_position for handle in handles if handle.part] == [True] * 8


def test_the_bone_on_which_the_legs_hang_has_a_handle(spider: Object) -> None:
    for _ in range(2):
        (hub,) = (handle for handle in spider.fabrik.body.handles if not handle.part)
        assert (hub.name, hub.bone, hub.use_position) == ("Body", "Bone", False)
        assert ops.fabrik_body_find() == {"FINISHED"}


@pytest.mark.parametrize("leg", ["Bone.02", "Bone.32", "Bone.61"])
def test_a_leg_is_pulled_and_the_rest_holds(spider: Object, leg: str) -> None:
    before = ends(spider)
    name = next(handle.name for handle in spider.fabrik.body.handles if handle.bone[:-1] == leg[:-1])
    place = before[name] + Vector((0.0, 0.0, 0.4)) + 0.1 * before[name].normalized()
    assert ops.fabrik_body_pull(handle=name, position=place) == {"FINISHED"}
    update()
    now = ends(spider)
    assert (now[name] - place).length < 1e-4 * SIZE
    assert max((now[other] - before[other]).length for other in now if other != name) < 1e-4 * SIZE
    assert (spider.pose.bones["Bone"].head - spider.data.bones["Bone"].head_local).length < 0.02 * SIZE


def test_a_dragged_leg_moves_without_jumps_and_cancels(spider: Object) -> None:
    layer, before = bpy.context.view_layer, pose_of(spider)
    drag = BodyDrag(layer, spider, "Bone.12")
    start, turned, last = drag.start_position.copy(), [], None
    for step in range(1, 31):
        drag.move(layer, start + step / 30.0 * Vector((0.3, 0.1, 0.5)))
        pose = [bone.matrix_basis.to_quaternion() for bone in spider.pose.bones]
        if last is not None:
            turned.append(max(a.rotation_difference(b).angle for a, b in zip(last, pose, strict=True)))
        last = pose
    assert max(turned) <= 3.0 * sorted(turned)[len(turned) // 2]
    drag.cancel(layer)
    assert pose_of(spider) == before


def test_the_body_is_lowered_over_planted_legs(spider: Object) -> None:
    before = ends(spider)
    place = spider.pose.bones["Bone"].head - Vector((0.0, 0.0, 0.2))
    assert ops.fabrik_body_pull(handle="Body", position=place) == {"FINISHED"}
    update()
    assert (spider.pose.bones["Bone"].head - place).length < 1e-3 * SIZE
    now = ends(spider)
    assert max((now[name] - end).length for name, end in before.items()) < 1e-4 * SIZE


def test_settings_stay_with_their_leg_after_another_one_is_gone(spider: Object) -> None:
    """The handles of the legs have other numbers then."""
    body = spider.fabrik.body
    crate = make_empty("Crate", (1.0, 0.0, 0.5))
    handle = next(one for one in body.handles if one.bone == "Bone.22")
    handle.target, handle.slack, name = crate, 0.1, handle.name
    handle.keyframe_insert("use_pin", frame=1)
    bpy.ops.object.mode_set(mode="EDIT")
    for number in range(3):
        spider.data.edit_bones.remove(spider.data.edit_bones[f"Bone.0{number}"])
    bpy.ops.object.mode_set(mode="POSE")
    assert ops.fabrik_body_find() == {"FINISHED"}
    (pinned,) = (one for one in body.handles if one.use_pin)
    assert pinned.name != name
    assert (pinned.bone, pinned.target, round(pinned.slack, 3)) == ("Bone.22", crate, 0.1)
    ((path, _),) = keys_of(spider.animation_data.action)
    assert spider.path_resolve(path.rpartition(".")[0]) == pinned


def test_a_leg_that_follows_alone_bends_as_a_whole(spider: Object) -> None:
    before = pose_of(spider)
    name = next(handle.name for handle in spider.fabrik.body.handles if handle.bone == "Bone.02")
    place = ends(spider)[name] + Vector((0.1, -0.1, 0.3))
    assert ops.fabrik_body_pull(handle=name, position=place, follows="LIMB") == {"FINISHED"}
    update()
    assert (ends(spider)[name] - place).length < 1e-4 * SIZE
    changed = {name for name, channels in pose_of(spider).items() if channels != before[name]}
    assert changed == {"Bone.00", "Bone.01", "Bone.02"}


@pytest.mark.parametrize("follows", ["BODY", "LIMB"])
def test_bones_that_are_not_connected_stay_together(follows: str) -> None:
    poses = []
    for connected in (True, False):
        points = [(0.0, -0.1 * (number % 2), float(number)) for number in range(6)]
        bones = [
            Bone(f"Bone.{number}", *ends, f"Bone.{number - 1}" if number else None, connected and number > 0)
            for number, ends in enumerate(pairwise(points))
        ]
        tentacle = make_armature(bones, f"Tentacle {connected}")
        assert ops.fabrik_body_add() == {"FINISHED"}
        (handle,) = tentacle.fabrik.body.handles
        place = Vector((0.5, -0.2, 4.4))
        assert ops.fabrik_body_pull(handle=handle.name, position=place, follows=follows) == {"FINISHED"}
        update()
        assert (tentacle.pose.bones["Bone.4"].tail - place).length < 1e-3
        poses.append(pose_of(tentacle))
    assert poses[0] == poses[1]


def test_a_snake_that_lies_flat_is_pulled() -> None:
    """It has no height."""
    bones = [
        Bone(f"spine{number}", (0.0, 0.3 * number, 0.1), (0.0, 0.3 * (number + 1), 0.1), f"spine{number - 1}", True)
        for number in range(1, 8)
    ]
    snake = make_armature([Bone("spine0", (0.0, 0.0, 0.1), (0.0, 0.3, 0.1)), *bones], "Snake")
    assert ops.fabrik_body_add() == {"FINISHED"}
    place = Vector((0.3, 2.0, 0.3))
    (handle,) = snake.fabrik.body.handles
    assert ops.fabrik_body_pull(handle=handle.name, position=place) == {"FINISHED"}
    update()
    assert (snake.pose.bones["spine7"].tail - place).length < 1e-3


def test_hands_of_arms_without_legs_are_not_planted() -> None:
    """They are the lowest bones; a hand was taken for a foot on which the other one balances."""
    bones = [Bone("root", (0.0, 0.0, 1.2), (0.0, 0.2, 1.2))]
    for side, sign in (("L", 1.0), ("R", -1.0)):
        points = [(0.05, 0.0, 1.4), (0.2, 0.0, 1.4), (0.35, -0.03, 1.15), (0.5, -0.08, 0.9), (0.55, -0.1, 0.8)]
        names = [f"{name}.{side}" for name in ("shoulder", "upper_arm", "forearm", "hand")]
        for number, (head, tail) in enumerate(pairwise((sign * x, y, z) for x, y, z in points)):
            bones.append(Bone(names[number], head, tail, names[number - 1] if number else "root"))
    arms = make_armature(bones, "Arms")
    assert ops.fabrik_body_add() == {"FINISHED"}
    body = arms.fabrik.body
    hands = {handle.name for handle in body.handles if handle.bone in ("hand.L", "hand.R")}
    assert hands == {"Hand.L", "Hand.R"}
    assert not any(handle.use_position for handle in body.handles)
    place = arms.pose.bones["hand.L"].head + Vector((0.05, -0.1, 0.1))
    assert ops.fabrik_body_pull(handle="Hand.L", position=place) == {"FINISHED"}
    update()
    assert (arms.pose.bones["hand.L"].head - place).length < 1e-4
