# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Drag Bone on a generated Rigify rig: controls move, switched-off bones say so, others lead to their control."""

from __future__ import annotations

import math
from typing import Any

import bpy
import pytest
from bpy.types import Object
from mathutils import Vector

from fabrik_addon.blender.bones.control_bones import control_of, is_free_control
from fabrik_addon.blender.bones.influences import switch_of
from fabrik_addon.blender.drag import ChainDrag, Grab
from fabrik_addon.blender.drag.bone_move import BoneMove
from fabrik_addon.blender.rig.limb import limb_of
from fabrik_addon.core import FabrikError
from tests.blender.rigs import (
    Bone,
    activate,
    error_of,
    everything,
    generated_rig,
    head_of,
    keys_of,
    leave_mode,
    make_armature,
    make_tail,
    metarig,
    pose_of,
    update,
)

drag: Any = bpy.ops.pose.fabrik_drag
IK, FK = 0.0, 1.0


def generated(switch: float = IK) -> Object:
    armature = generated_rig("basic_human_metarig", switch)
    for collection in armature.data.collections_all:
        collection.is_visible = True  # those of deform and mechanism bones are hidden
    update()
    return armature


def changed(before: Any, armature: Object) -> set[str]:
    after = pose_of(armature)
    return {name for name in after if after[name] != before[name]}


def test_ik_controls_are_moved_and_the_limb_follows() -> None:
    armature = generated()
    armature.location, armature.rotation_euler = (0.5, -1.0, 0.2), (0.0, 0.1, 0.6)
    update()
    for control, follower in (("hand_ik.L", "DEF-hand.L"), ("foot_ik.R", "DEF-foot.R")):
        activate(armature, control)
        before = pose_of(armature)
        place = head_of(armature, control) + Vector((0.03, -0.12, 0.15))
        frame = armature.pose.bones[follower].matrix.to_quaternion()
        assert drag(grab="BONE", position=place) == {"FINISHED"}
        assert (head_of(armature, control) - place).length < 1e-5
        assert (head_of(armature, follower) - place).length < 5e-3
        assert math.degrees(frame.rotation_difference(armature.pose.bones[follower].matrix.to_quaternion()).angle) < 0.5
        assert changed(before, armature) == {control}


def test_torso_chest_and_tweaks_are_moved_but_heads_shoulders_and_fk_bones_rotate() -> None:
    armature = generated(FK)
    moved = ("hand_ik.L", "foot_ik.L", "torso", "chest", "hips", "root", "forearm_tweak.L", "upper_arm_ik_target.L")
    rotated = ("head", "neck", "shoulder.L", "upper_arm_fk.L", "forearm_fk.L", "hand_fk.L", "spine_fk.002", "toe_ik.L")
    assert [name for name in moved if not is_free_control(armature, name)] == []
    assert [name for name in rotated if is_free_control(armature, name)] == []


def test_fk_hands_keep_their_direction_and_what_hangs_on_mechanism_bones_is_no_hand() -> None:
    armature = generated_rig("human_metarig")
    assert limb_of(armature, "hand_fk.L").is_hand_or_foot and limb_of(armature, "foot_fk.R").is_hand_or_foot
    for bone in ("f_index.01.L", "thumb.01.L", "palm.L", "f_index.03.L"):
        limb = limb_of(armature, bone)
        assert not limb.is_hand_or_foot, bone
        session = ChainDrag(bpy.context.view_layer, armature, Grab(bone), limb.chain_count)
        session.move(bpy.context.view_layer, session.start_position + Vector((0.0, -0.01, -0.01)))
        assert session.is_moved, bone
        session.cancel(bpy.context.view_layer)


def test_no_bone_of_a_metarig_or_of_a_plain_chain_is_moved() -> None:
    tail = make_tail(4)
    assert not any(is_free_control(tail, f"bone{i}") for i in range(4))
    leave_mode()
    armature = metarig("human_metarig")
    assert [bone.name for bone in armature.pose.bones if is_free_control(armature, bone.name)] == []
    assert all(control_of(armature, bone.name) == bone.name for bone in armature.pose.bones)
    assert not any(switch_of(armature, [bone.name]) for bone in list(armature.pose.bones)[::7])


@pytest.mark.parametrize(
    ("switch", "bone", "owner"),
    [
        (IK, "hand_fk.L", "upper_arm_parent.L"),
        (IK, "forearm_fk.R", "upper_arm_parent.R"),
        (IK, "upper_arm_fk.L", "upper_arm_parent.L"),
        (IK, "shin_fk.R", "thigh_parent.R"),
        (FK, "hand_ik.L", "upper_arm_parent.L"),
        (FK, "foot_ik.R", "thigh_parent.R"),
    ],
)
def test_a_bone_without_effect_names_the_switch_and_nothing_changes(switch: float, bone: str, owner: str) -> None:
    armature = generated(switch)
    activate(armature, bone)
    before = everything()
    said = error_of(drag, grab="BONE", position=head_of(armature, bone) + Vector((0.0, -0.1, 0.1)))
    assert f"Bone '{bone}' has no effect: property 'IK_FK' of bone '{owner}' is {switch:.0f}" in said
    assert everything() == before
    armature.pose.bones[owner]["IK_FK"] = 0.5
    armature.update_tag()
    update()
    assert switch_of(armature, [bone]) == ""


def test_a_constraint_without_a_driver_is_named_itself() -> None:
    armature = make_armature(
        [
            Bone("control", (0, 0, 0), (0, 0, 1)),
            Bone("deform", (0, 0, 0), (0, 0, 1)),
            Bone("other", (1, 0, 0), (1, 0, 1)),
        ]
    )
    armature.data.bones["control"].use_deform = armature.data.bones["other"].use_deform = False
    constraint = armature.pose.bones["deform"].constraints.new("COPY_TRANSFORMS")
    constraint.target, constraint.subtarget = armature, "control"
    update()
    assert switch_of(armature, ["control"]) == ""
    constraint.mute = True
    update()
    assert "constraint 'Copy Transforms' of bone 'deform'" in switch_of(armature, ["control"])
    # No deforming bone ever follows this one: nothing is switched off.
    assert switch_of(armature, ["other"]) == ""
    constraint.mute = False
    driver = constraint.driver_add("influence").driver
    driver.type, target = "AVERAGE", driver.variables.new().targets[0]
    target.id, target.data_path = armature, '["switch"]'
    constraint.influence = 0.0
    for value in (None, "a text", [0.0, 1.0]):  # the property is missing, or is no number
        if value is not None:
            armature["switch"] = value
        armature.update_tag()
        update()
        assert "constraint 'Copy Transforms' of bone 'deform'" in switch_of(armature, ["control"])


@pytest.mark.parametrize(
    ("switch", "bone", "control"),
    [
        (IK, "DEF-hand.L", "hand_ik.L"),
        (FK, "DEF-hand.L", "hand_fk.L"),
        (IK, "ORG-hand.R", "hand_ik.R"),
        (FK, "ORG-forearm.L", "forearm_fk.L"),
        (IK, "DEF-shoulder.L", "shoulder.L"),
        (IK, "DEF-spine.006", "head"),
        (IK, "ORG-spine.003", "spine_fk.003"),
        (IK, "hand_tweak.L", "hand_tweak.L"),
    ],
)
def test_deform_and_original_bones_lead_to_the_control_that_drives_them(switch: float, bone: str, control: str) -> None:
    armature = generated(switch)
    assert control_of(armature, bone) == control


def test_a_deform_bone_is_dragged_by_its_control(capfd: pytest.CaptureFixture[str]) -> None:
    for switch, expected in ((IK, {"hand_ik.L"}), (FK, {"hand_fk.L", "forearm_fk.L", "upper_arm_fk.L"})):
        armature = generated(switch)
        activate(armature, "DEF-hand.L")
        before, start = pose_of(armature), head_of(armature, "DEF-hand.L")
        frame = armature.pose.bones["DEF-hand.L"].matrix.to_quaternion()
        assert drag(grab="BONE", position=start + Vector((-0.05, -0.1, 0.05))) == {"FINISHED"}
        assert changed(before, armature) == expected
        assert (head_of(armature, "DEF-hand.L") - start - Vector((-0.05, -0.1, 0.05))).length < 5e-3
        after = armature.pose.bones["DEF-hand.L"].matrix.to_quaternion()
        assert math.degrees(frame.rotation_difference(after).angle) < 0.5
        assert "which 'DEF-hand.L' follows" in capfd.readouterr().out
        bpy.ops.wm.read_factory_settings(use_empty=True)


def test_what_several_bones_or_a_solver_pose_is_said_with_what_can_be_dragged() -> None:
    armature = generated()
    for bone, expected in {
        "upper_arm_ik.L": "Bone 'upper_arm_ik.L' is posed by constraint 'IK': drag 'hand_ik.L'",
        "ORG-forearm.L": "follows bone 'MCH-forearm_ik.L', which is posed by constraint 'IK': drag 'hand_ik.L'",
        "DEF-forearm.L": "by constraints 'Copy Transforms' and 'Stretch To': drag 'forearm_tweak.L' or 'forearm_twe",
    }.items():
        activate(armature, bone)
        before = everything()
        assert expected in error_of(drag, grab="BONE")
        assert everything() == before


def test_of_a_leg_that_a_solver_poses_the_control_that_moves_it_is_named() -> None:
    """Not the heel, which only rotates, and no mechanism bone."""
    armature = generated_rig("wolf_metarig", IK)
    for bone, control in {"ORG-thigh.L": "foot_ik.L", "ORG-front_shin.R": "front_foot_ik.R"}.items():
        with pytest.raises(FabrikError, match=f"posed by constraint 'IK': drag '{control}'"):
            control_of(armature, bone)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    with pytest.raises(FabrikError, match=r"drag 'foot_spin_ik\.L'"):
        control_of(generated(), "MCH-thigh_tweak.L")


def test_a_bone_that_follows_another_armature_names_it() -> None:
    other = make_tail(2, name="Controls")
    leave_mode()
    armature = make_tail(3)
    constraint = armature.pose.bones["bone2"].constraints.new("COPY_TRANSFORMS")
    constraint.target, constraint.subtarget = other, "bone0"
    update()
    with pytest.raises(FabrikError, match="posed by constraint 'Copy Transforms': it follows 'Controls'"):
        control_of(armature, "bone2")
    constraint.mute = True
    update()
    assert control_of(armature, "bone2") == "bone2"


def test_bones_that_follow_each_other_end_the_search() -> None:
    armature = make_tail(3)
    for name, source in (("bone2", "bone finger"), ("bone finger", "bone2")):
        for _ in range(2):
            constraint = armature.pose.bones[name].constraints.new("COPY_TRANSFORMS")
            constraint.target, constraint.subtarget = armature, source
    assert control_of(armature, "bone2") == "bone2"
    constraint = armature.pose.bones["bone2"].constraints.new("COPY_ROTATION")
    constraint.target, constraint.subtarget = armature, "bone finger"
    with pytest.raises(FabrikError, match="drag"):
        control_of(armature, "bone2")


def test_cancel_mirror_keys_and_redo_of_a_moved_control() -> None:
    armature = generated()
    layer = bpy.context.view_layer
    before = everything()
    session = BoneMove(layer, armature, "hand_ik.L")
    place = session.start_position + Vector((-0.1, -0.1, 0.1))
    session.move(layer, place)
    moved = everything()
    session.move(layer, session.start_position)
    assert everything() == before and session.confirm() == []
    session.move(layer, place)
    assert everything() == moved
    session.cancel(layer)
    assert everything() == before
    armature.pose.use_mirror_x = True
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    bpy.context.preferences.edit.use_keyframe_insert_available = False
    activate(armature, "hand_ik.L")
    assert drag(grab="BONE", position=place) == {"FINISHED"}
    left, right = head_of(armature, "hand_ik.L"), head_of(armature, "hand_ik.R")
    assert (Vector((-left.x, left.y, left.z)) - right).length < 1e-4
    paths = {path for path, _ in keys_of(armature.animation_data.action)}
    assert paths == {f'pose.bones["hand_ik.{side}"].location' for side in "LR"}
    pose = pose_of(armature)
    assert drag(grab="MOVE", position=place + Vector((0.1, 0.0, 0.0))) == {"FINISHED"}
    assert drag(grab="MOVE", position=place) == {"FINISHED"}
    assert pose_of(armature).keys() == pose.keys() and (head_of(armature, "hand_ik.L") - left).length < 1e-6


def test_a_bone_that_can_not_move_is_refused() -> None:
    armature = make_tail(3)
    with pytest.raises(FabrikError, match="connected"):
        BoneMove(bpy.context.view_layer, armature, "bone1")
