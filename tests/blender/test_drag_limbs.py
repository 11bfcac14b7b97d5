# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Drag Bone on limbs: the limb's bones rotate, a hand or foot is taken by wrist or ankle and keeps its direction."""

from __future__ import annotations

import math
from typing import Any

import bpy
import pytest
from bpy.types import Object
from mathutils import Vector

from fabrik_addon.blender.rig.limb import limb_of
from tests.blender.rigs import Bone, activate, everything, make_armature, metarig, pose_of, update

drag: Any = bpy.ops.pose.fabrik_drag

HUMAN = {"hand.L": (2, True), "foot.R": (2, True), "forearm.L": (2, False), "shin.L": (2, False)}
HUMAN |= {"upper_arm.R": (1, False), "thigh.L": (1, False), "spine.006": (3, False), "spine.003": (3, False)}
FINGERS = {"f_middle.03.L": (4, False), "thumb.02.R": (2, False), "toe.L": (1, False)}
LIMBS = {
    "basic_human": HUMAN,
    "human": HUMAN | FINGERS,
    "basic_quadruped": {
        "foot.L": (2, True),
        "front_foot.R": (2, True),
        "front_shin.L": (2, False),
        "spine": (4, False),
    },
    "wolf": {"foot.R": (2, True), "front_foot.L": (2, True), "f_middle.03.L": (4, False), "chin.L": (7, False)},
    "cat": {"foot.R": (2, True), "hand.L": (2, True), "tail.004": (4, False), "r_toe.L": (1, False)},
    "horse": {"hind_foot.L": (2, True), "forefoot.R": (2, True), "tail.005": (5, False), "r_hoof.L": (2, False)},
    "bird": {"foot.L": (2, True), "Wing.002.L": (4, False)},
    "shark": {"spine": (3, False), "spine.007": (2, False)},
}
"""Bones of Rigify's metarigs, how many rotate when they are dragged, and whether they are hands or feet."""


def matrix_of(armature: Object, bone: str) -> Any:
    update()
    return armature.matrix_world @ armature.pose.bones[bone].matrix


@pytest.mark.parametrize("name", LIMBS)
def test_the_limb_of_a_bone(name: str) -> None:
    armature = metarig(f"{name}_metarig")
    for bone, expected in LIMBS[name].items():
        limb = limb_of(armature, bone)
        assert (limb.chain_count, limb.is_hand_or_foot) == expected, bone


TRUNK = {"spine": "Hips", "spine.001": "Spine", "spine.003": "Chest", "spine.004": "Neck", "spine.006": "Head"}
CONVENTIONS = {
    "VRChat": "{side} shoulder, {side} arm, {side} elbow, {side} wrist, {side} leg, {side} knee, {side} ankle",
    "Auto-Rig Pro": "shoulder.{l}, arm_stretch.{l}, forearm_stretch.{l}, hand.{l}, thigh_stretch.{l}, leg_stretch.{l}, "
    "foot.{l}",
    "OptiTrack": "{s}Shoulder, {s}UArm, {s}FArm, {s}Hand, {s}Thigh, {s}Shin, {s}Foot",
    "MMD": "肩.{s}, 腕.{s}, ひじ.{s}, 手首.{s}, 足.{s}, ひざ.{s}, 足首.{s}",
}
"""Names of the bones of ``LIMB``, on each side."""
LIMB = ("shoulder", "upper_arm", "forearm", "hand", "thigh", "shin", "foot")


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_limbs_are_those_that_make_body_recognises_whatever_their_names(convention: str) -> None:
    armature = metarig("basic_human_metarig")
    renamed = dict(TRUNK)
    for s, side in (("L", "Left"), ("R", "Right")):
        names = CONVENTIONS[convention].format(s=s, l=s.lower(), side=side).split(", ")
        renamed |= zip((f"{bone}.{s}" for bone in LIMB), names, strict=True)
    for bone, name in renamed.items():
        armature.data.bones[bone].name = name
    for bone in renamed.keys() & HUMAN.keys():
        limb = limb_of(armature, renamed[bone])
        assert (limb.chain_count, limb.is_hand_or_foot) == HUMAN[bone], renamed[bone]


def test_without_names_lengths_and_branches_say_which_bones_are_a_limb() -> None:
    armature = metarig("human_metarig")
    limbs = {armature.data.bones[bone]: expected for bone, expected in (HUMAN | FINGERS).items()}
    for number, bone in enumerate(armature.data.bones):
        bone.name = f"Bone.{number:03d}"
    for bone, expected in limbs.items():
        limb = limb_of(armature, bone.name)
        assert (limb.chain_count, limb.is_hand_or_foot) == expected


def test_a_bodys_roles_come_before_names_and_lengths() -> None:
    names = [f"Bone.{number:03d}" for number in range(7)]
    bones = [Bone(name, (i, 0, 0), (i + 1, 0, 0), names[i - 1] if i else None) for i, name in enumerate(names)]
    armature = make_armature(bones)
    assert limb_of(armature, names[5]).chain_count == 6
    roles = ("CHEST", "CLAVICLE", "UPPER_ARM", "FOREARM", "FOREARM", "HAND", "FINGER")
    for name, role in zip(names, roles, strict=True):
        part = armature.fabrik.body.parts.add()
        part.role, part.bone = role, name
    found = [limb_of(armature, name) for name in names]
    assert [limb.chain_count for limb in found] == [1, 1, 1, 2, 3, 3, 1]
    assert [limb.is_hand_or_foot for limb in found] == [False] * 5 + [True, False]


@pytest.mark.parametrize("is_body", [True, False])
def test_bones_for_twist_do_not_end_a_limb_and_do_not_rotate(is_body: bool) -> None:
    names = ["shoulder.L", "upper_arm.L", "arm_twist.L", "forearm.L", "forearm_twist.L", "hand.L"]
    roles = {"shoulder.L": "CLAVICLE", "upper_arm.L": "UPPER_ARM", "forearm.L": "FOREARM", "hand.L": "HAND"}
    bones = [
        Bone(name, (i, 0.2 * abs(i - 3), 0), (i + 1, 0.2 * abs(i - 2), 0), names[i - 1] if i else None)
        for i, name in enumerate(names)
    ]
    armature = make_armature(bones)
    for name, role in roles.items() if is_body else ():
        part = armature.fabrik.body.parts.add()
        part.role, part.bone = role, name
    assert [limb_of(armature, name).chain_count for name in ("upper_arm.L", "forearm.L", "hand.L")] == [1, 3, 4]
    activate(armature, "hand.L")
    before, place = pose_of(armature), matrix_of(armature, "hand.L").translation + Vector((-1.0, 0.5, 0.3))
    assert drag(follows="LIMB", position=place) == {"FINISHED"}
    after = pose_of(armature)
    assert (matrix_of(armature, "hand.L").translation - place).length < 1e-3
    assert {name for name in after if after[name] != before[name]} == {"upper_arm.L", "forearm.L", "hand.L"}


def test_parts_of_several_bones_count_whole_and_twist_bones_at_the_side_do_not() -> None:
    names = ["chest", "clavicle", "upperarm01", "upperarm02", "lowerarm01", "lowerarm02", "hand", "finger"]
    bones = [
        Bone(name, (i, 0.1 * (i == 4), 0), (i + 1, 0, 0), names[i - 1] if i else None) for i, name in enumerate(names)
    ]
    twists = [Bone(f"{name}_twist", (i, 0, 0), (i, 0, 1), name) for i, name in enumerate(names[2:6], 2)]
    armature = make_armature([*bones, *twists])
    found = {name: limb_of(armature, name) for name in names}
    assert (found["hand"].chain_count, found["hand"].is_hand_or_foot) == (4, True)
    assert [found[name].chain_count for name in names[2:6]] == [1, 2, 3, 4]
    assert found["finger"].chain_count == 1


@pytest.mark.parametrize("bone", ["hand.L", "foot.R"])
@pytest.mark.parametrize("grab", ["AUTO", "BONE"])
def test_a_hand_or_foot_keeps_its_direction_and_its_wrist_or_ankle_is_dragged(bone: str, grab: str) -> None:
    armature = metarig("human_metarig")
    armature.rotation_euler, armature.location = (0.3, 0.2, 1.1), (1.0, -2.0, 0.4)
    limb = [armature.pose.bones[bone].parent.name, armature.pose.bones[bone].parent.parent.name]
    before, start = pose_of(armature), matrix_of(armature, bone)
    root = matrix_of(armature, limb[1]).translation
    place = root.lerp(start.translation, 0.75) + armature.matrix_world.to_3x3() @ Vector((0.05, -0.1, 0.06))
    activate(armature, bone)
    assert drag(grab=grab, position=place) == {"FINISHED"}
    after = matrix_of(armature, bone)
    assert (after.translation - place).length < 1e-3
    turned = start.to_quaternion().rotation_difference(after.to_quaternion()).angle
    assert math.degrees(turned) < 0.1
    pose = pose_of(armature)
    assert {name for name in pose if pose[name] != before[name]} == {bone, *limb}


def test_the_number_of_bones_is_that_of_the_limb_whatever_was_dragged_before() -> None:
    armature = metarig("human_metarig")
    activate(armature, "spine.006")
    head = matrix_of(armature, "spine.006") @ Vector((0.0, armature.pose.bones["spine.006"].length, 0.0))
    drag(chain_count=5, position=head + Vector((0.05, -0.05, -0.02)))
    before = pose_of(armature)
    activate(armature, "hand.L")
    drag(position=matrix_of(armature, "hand.L").translation + Vector((-0.05, -0.05, 0.02)))
    after = pose_of(armature)
    assert {name for name in after if after[name] != before[name]} == {"hand.L", "forearm.L", "upper_arm.L"}


def test_a_hand_keeps_its_direction_as_nearly_as_its_limits_allow() -> None:
    armature = metarig("human_metarig")
    hand = armature.pose.bones["hand.L"]
    for axis in "xyz":
        setattr(hand, f"use_ik_limit_{axis}", True)
        setattr(hand, f"ik_min_{axis}", -0.05)
        setattr(hand, f"ik_max_{axis}", 0.05)
    activate(armature, "hand.L")
    start = matrix_of(armature, "hand.L")
    place = matrix_of(armature, "upper_arm.L").translation + Vector((0.2, -0.3, 0.1))
    drag(position=place)
    after = matrix_of(armature, "hand.L")
    assert (after.translation - place).length < 1e-3
    assert math.degrees(start.to_quaternion().rotation_difference(after.to_quaternion()).angle) > 10.0
    own = hand.matrix_basis.to_quaternion()
    assert max(abs(2.0 * math.asin(part)) for part in (own.x, own.y, own.z)) < 0.0501


def test_a_script_may_say_which_end_of_the_bone_is_dragged() -> None:
    armature = metarig("human_metarig")
    activate(armature, "hand.L")
    hand = armature.pose.bones["hand.L"]
    place = matrix_of(armature, "hand.L").translation + Vector((-0.1, -0.1, 0.05))
    drag(grab="TIP", chain_count=3, position=place)
    assert (matrix_of(armature, "hand.L") @ Vector((0.0, hand.length, 0.0)) - place).length < 1e-3
    frame = matrix_of(armature, "forearm.L").to_quaternion()
    activate(armature, "forearm.L")
    place = matrix_of(armature, "forearm.L").translation + Vector((0.0, -0.05, 0.0))
    drag(grab="HEAD", chain_count=2, position=place)
    after = matrix_of(armature, "forearm.L")
    assert (after.translation - place).length < 1e-3
    assert frame.rotation_difference(after.to_quaternion()).angle < 2e-3


def test_x_mirror_keeps_the_direction_of_the_other_hand_too() -> None:
    armature = metarig("human_metarig")
    armature.pose.use_mirror_x = True
    activate(armature, "hand.L")
    starts = {side: matrix_of(armature, f"hand.{side}").to_quaternion() for side in "LR"}
    drag(position=matrix_of(armature, "hand.L").translation + Vector((-0.1, -0.15, 0.2)))
    for side in "LR":
        after = matrix_of(armature, f"hand.{side}").to_quaternion()
        assert math.degrees(starts[side].rotation_difference(after).angle) < 0.2, side


def test_without_a_move_nothing_changes() -> None:
    armature = metarig("human_metarig")
    activate(armature, "hand.L")
    before = everything()
    assert drag() == {"CANCELLED"}
    assert drag(position=matrix_of(armature, "hand.L").translation) == {"CANCELLED"}
    assert everything() == before
