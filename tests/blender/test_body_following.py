# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which bones of a body follow a pull, and the pull of the other side with X-axis mirror."""

from __future__ import annotations

from typing import Any

import bpy
import pytest
from bpy.types import Object
from mathutils import Quaternion, Vector

from fabrik_addon.blender.drag.body_drag import BodyDrag
from tests.blender.rigs import error_of, generated_rig, metarig, pose_of, update

ops: Any = bpy.ops.pose

NEAR = 1e-4
"""Distance from its target at which a handle counts as there, in metres."""


def place(armature: Object, name: str) -> Vector:
    one = armature.fabrik.body.handles[name]
    bone = armature.pose.bones[one.bone]
    return armature.matrix_world @ (bone.tail if one.use_tail else bone.head)


def pull(armature: Object, name: str, by: tuple[float, float, float], **options: Any) -> Vector:
    target = place(armature, name) + Vector(by)
    assert ops.fabrik_body_pull(handle=name, position=target, **options) == {"FINISHED"}
    update()
    return target


def changed(armature: Object, before: dict[str, Any]) -> set[str]:
    """The bones whose channels are not those of before, to the last bit."""
    return {name for name, channels in pose_of(armature).items() if channels != before[name]}


ARM = {"upper_arm.L", "forearm.L", "hand.L"}
LEG = {"thigh.L", "shin.L", "foot.L", "toe.L"}


@pytest.mark.parametrize(
    ("handle", "by", "follows", "allowed"),
    [
        ("Hand.L", (-0.1, -0.4, 0.2), "LIMB", ARM),
        ("Elbow.L", (0.0, 0.1, 0.05), "LIMB", ARM),
        ("Foot.L", (0.0, -0.2, 0.2), "LIMB", LEG),
        ("Foot.L", (0.0, -0.2, 0.2), "UPPER", LEG),
        ("Knee.R", (-0.1, -0.2, 0.1), "LIMB", {name.replace(".L", ".R") for name in LEG}),
        ("Head", (0.1, 0.0, 0.0), "LIMB", {"spine.004", "spine.005", "spine.006"}),
    ],
)
def test_no_other_bone_moves(human: Object, handle: str, by: Any, follows: str, allowed: set[str]) -> None:
    before = pose_of(human)
    pull(human, handle, by, follows=follows)
    moved = changed(human, before)
    assert moved and moved <= allowed, moved - allowed


def test_a_limb_reaches_what_is_within_its_reach(human: Object) -> None:
    target = pull(human, "Hand.L", (-0.1, -0.2, 0.1), follows="LIMB")
    assert (place(human, "Hand.L") - target).length < NEAR


def test_the_upper_body_leans_and_the_legs_stay(human: Object) -> None:
    before = pose_of(human)
    human.fabrik.body.handles["Hand.R"].use_pin = True
    pinned = place(human, "Hand.R")
    target = pull(human, "Hand.L", (-0.25, -0.45, -0.1), follows="UPPER")
    moved = changed(human, before)
    assert (place(human, "Hand.L") - target).length < NEAR
    assert (place(human, "Hand.R") - pinned).length < NEAR, "a pin of the upper body holds"
    assert "spine.003" in moved
    assert not moved & {"spine", "thigh.L", "thigh.R", "shin.L", "shin.R", "foot.L", "foot.R"}


def legs(armature: Object) -> dict[str, Vector]:
    """Where hips and legs are, by their parts."""
    roles = {"HIPS", "THIGH", "SHIN", "FOOT", "TOE"}
    parts = [part for part in armature.fabrik.body.parts if part.role in roles and part.bone]
    return {part.name: armature.pose.bones[part.bone].head.copy() for part in parts}


@pytest.mark.parametrize("follows", ["UPPER", "LIMB"])
@pytest.mark.parametrize("kind", ["wolf", "generated"])
def test_legs_that_hang_on_the_spine_stay(kind: str, follows: str) -> None:
    armature = metarig("wolf_metarig") if kind == "wolf" else generated_rig("basic_human_metarig")
    assert ops.fabrik_body_add() == {"FINISHED"}
    update()
    before = legs(armature)
    for handle in ("Chest",) if follows == "LIMB" else ("Chest", "Head", "Hand.L"):
        target = pull(armature, handle, (0.03, 0.0, -0.01), follows=follows)
        assert (place(armature, handle) - target).length < 0.02
        now = legs(armature)
        assert max((now[name] - before[name]).length for name in before) < NEAR


def test_a_handle_that_none_of_those_that_follow_moves_is_named() -> None:
    metarig("bird_metarig")
    assert ops.fabrik_body_add() == {"FINISHED"}
    told = error_of(ops.fabrik_body_pull, handle="Chest", position=(0.0, 0.0, 0.5), follows="UPPER")
    assert told == "Handle 'Chest': none of the bones that follow moves it: let the whole body follow"


def test_a_held_handle_that_none_of_those_that_follow_moves_refuses_no_pull() -> None:
    bird = metarig("bird_metarig")
    assert ops.fabrik_body_add() == {"FINISHED"}
    update()
    pull(bird, "Chest", (0.0, 0.02, 0.02))
    chest = place(bird, "Chest")
    target = pull(bird, "Elbow.L", (0.01, 0.01, 0.01), follows="UPPER")
    assert (place(bird, "Elbow.L") - target).length < NEAR
    assert place(bird, "Chest") == chest


def test_hips_alone_take_the_legs_along_and_the_feet_stay(human: Object) -> None:
    before = pose_of(human)
    feet = [place(human, name) for name in ("Foot.L", "Foot.R")]
    target = pull(human, "Hips", (0.0, 0.0, -0.1), follows="LIMB")
    assert (place(human, "Hips") - target).length < NEAR
    assert max((place(human, f"Foot.{side}") - foot).length for side, foot in zip("LR", feet, strict=True)) < NEAR
    assert not changed(human, before) & {"spine.001", "spine.003", "spine.006", "upper_arm.L", "shoulder.R"}


@pytest.mark.parametrize("follows", ["LIMB", "UPPER"])
@pytest.mark.parametrize("handle", ["Hand.L", "Head", "Chest"])
def test_a_limb_that_keeps_no_place_is_turned(human: Object, handle: str, follows: str) -> None:
    bone = human.pose.bones[human.fabrik.body.handles[handle].bone]
    rotation = Quaternion((0.0, 0.0, 1.0), 0.2) @ bone.matrix.to_quaternion()
    assert ops.fabrik_body_pull(handle=handle, rotation=rotation, follows=follows) == {"FINISHED"}
    update()
    assert bone.matrix.to_quaternion().rotation_difference(rotation).angle < 1e-3


@pytest.mark.parametrize("follows", ["BODY", "LIMB"])
def test_hips_of_a_body_that_keeps_nothing_are_pulled_and_turned(human: Object, follows: str) -> None:
    for handle in human.fabrik.body.handles:
        assert ops.fabrik_handle_release(handle=handle.name) == {"FINISHED"}
    hips, before = human.pose.bones["spine"], pose_of(human)
    target = pull(human, "Hips", (0.1, 0.0, 0.2), follows=follows)
    assert (place(human, "Hips") - target).length < NEAR
    assert changed(human, before) == {"spine"}
    human.fabrik.body.handles["Hips"].use_position = False
    rotation = Quaternion((0.0, 0.0, 1.0), 0.2) @ hips.matrix.to_quaternion()
    assert ops.fabrik_body_pull(handle="Hips", rotation=rotation, follows=follows) == {"FINISHED"}
    update()
    assert hips.matrix.to_quaternion().rotation_difference(rotation).angle < 1e-3


def test_a_drag_keeps_to_what_follows(human: Object) -> None:
    before = pose_of(human)
    drag = BodyDrag(bpy.context.view_layer, human, "Hand.L", follows="LIMB")
    for step in range(1, 6):
        drag.move(bpy.context.view_layer, drag.start_position + Vector((-0.1, -0.3, 0.1)) * step)
    moved = changed(human, before)
    assert moved and moved <= ARM
    drag.cancel(bpy.context.view_layer)
    assert not changed(human, before)


def mirrored(place: Vector) -> Vector:
    return Vector((-place.x, place.y, place.z))


def test_with_mirror_a_pinned_handle_on_the_other_side_stays(human: Object) -> None:
    human.pose.use_mirror_x = True
    human.fabrik.body.handles["Hand.R"].use_pin = True
    before = place(human, "Hand.R")
    assert bpy.ops.pose.fabrik_body_pull(handle="Hand.L", position=place(human, "Hand.L") + Vector((0.1, -0.2, 0.1)))
    assert (place(human, "Hand.R") - before).length < NEAR


def test_with_mirror_the_other_side_is_pulled_alike(human: Object) -> None:
    human.pose.use_mirror_x = True
    human.fabrik.body.use_balance = False  # both hands so far in front of the feet would stay 0.4 mm behind
    for by in ((-0.1, -0.4, 0.2), (-0.2, -0.5, -0.5)):
        target = pull(human, "Hand.L", by)
        assert (place(human, "Hand.L") - target).length < NEAR
        assert (place(human, "Hand.R") - mirrored(target)).length < NEAR
        assert (place(human, "Elbow.R") - mirrored(place(human, "Elbow.L"))).length < 1e-3
        assert human.fabrik.body.handles["Hand.R"].use_position


@pytest.mark.parametrize("name", ["mixamorig:{side}_{bone}", "J_Bip_{s}_{bone}", "{mark}{bone}", "{bone}.{s}_{number}"])
@pytest.mark.parametrize(("handle", "by"), [("Hand", (-0.1, -0.4, 0.2)), ("Elbow", (0.05, 0.1, 0.05))])
def test_with_mirror_the_other_side_is_that_of_the_body_whatever_the_names(
    human: Object, name: str, handle: str, by: tuple[float, float, float]
) -> None:
    for number, bone in enumerate(human.data.bones):
        base, _, s = bone.name.rpartition(".")
        if s in {"L", "R"}:
            side, mark = ("Left", "左") if s == "L" else ("Right", "右")
            bone.name = name.format(bone=base.replace(".", ""), s=s, side=side, mark=mark, number=number)
    human.pose.use_mirror_x = True
    human.fabrik.body.use_balance = False
    target = pull(human, f"{handle}.L", by)
    assert (place(human, f"{handle}.R") - mirrored(target)).length < NEAR


def test_with_relative_mirror_the_difference_is_kept(human: Object) -> None:
    other = pull(human, "Hand.R", (0.1, -0.2, 0.1))
    human.pose.use_mirror_x = human.pose.use_mirror_relative = True
    pull(human, "Hand.L", (-0.05, -0.1, 0.1))
    assert (place(human, "Hand.R") - other - Vector((0.05, -0.1, 0.1))).length < NEAR


def test_a_mirrored_drag_is_cancelled_to_the_last_bit(human: Object) -> None:
    human.pose.use_mirror_x = True
    before = pose_of(human)
    drag = BodyDrag(bpy.context.view_layer, human, "hand.L")
    target = drag.start_position + Vector((-0.1, -0.3, 0.2))
    drag.move(bpy.context.view_layer, target)
    assert (place(human, "Hand.R") - mirrored(target)).length < NEAR
    drag.cancel(bpy.context.view_layer)
    assert not changed(human, before)
