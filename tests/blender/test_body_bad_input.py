# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What bodies refuse, with the way out, and nothing half done: bones that are gone, linked bodies, locked bones."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from bpy.types import Object
from mathutils import Vector

from fabrik_addon.blender.interface.body_tool import FabrikBodyPose, body_handles
from fabrik_addon.blender.interface.chain_panel import VIEW3D_PT_fabrik
from tests.blender.rigs import (
    activate,
    error_of,
    linked,
    make_armature,
    make_empty,
    make_tail,
    pose_of,
    printed,
    update,
)
from tests.blender.test_panel import Drawing

ops: Any = bpy.ops.pose


def edit(armature: Object, change: Any) -> None:
    """Change the armature's bones in Edit mode."""
    bpy.ops.object.mode_set(mode="EDIT")
    change(armature.data.edit_bones)
    bpy.ops.object.mode_set(mode="POSE")
    update()


PULLS: tuple[tuple[Any, dict[str, Any]], ...] = (
    (ops.fabrik_body_pull, {"handle": "Hand.R", "position": (-0.5, -0.4, 1.2)}),
    (ops.fabrik_drag, {"handle": "Hand.R", "position": (-0.5, -0.4, 1.2)}),
    (ops.fabrik_drag, {"bone": "hand.R", "grab": "BONE", "position": (-0.5, -0.4, 1.2)}),
    (ops.fabrik_body_turn, {"handle": "Hand.R", "angle": 0.3}),
    (ops.fabrik_handle_add, {"bone": "upper_arm.R"}),
)


@pytest.mark.parametrize(("operator", "options"), PULLS)
def test_a_deleted_bone_of_a_part_is_named(human: Object, operator: Any, options: dict[str, Any]) -> None:
    edit(human, lambda bones: bones.remove(bones["forearm.L"]))
    message = error_of(operator, **options)
    assert "there is no bone 'forearm.L' in 'metarig' any more" in message
    assert "choose another bone, or press Find Again" in message
    assert ops.fabrik_body_find() in ({"FINISHED"}, {"CANCELLED"})
    assert operator(**options) == {"FINISHED"}, "the way out leads out"


def make_anew(armature: Object, bone: str, name: str) -> None:
    """Give a bone another name, and no key: as if it had been deleted and another one made at its place."""
    armature.data.bones[bone].name = name
    armature.pose.bones[name].fabrik_key = 0  # type: ignore[attr-defined]
    update()


@pytest.mark.parametrize(("operator", "options"), PULLS)
def test_renamed_bones_of_parts_and_handles_are_followed(human: Object, operator: Any, options: dict[str, Any]) -> None:
    new = {"shin.L": "lower_leg.L", "hand.R": "palm.R", "hand.L": "palm.L"}
    for old, name in new.items():
        human.data.bones[old].name = name
    update()
    parts, handles = human.fabrik.body.parts, human.fabrik.body.handles
    assert [parts[name].bone for name in ("Shin.L", "Hand.R", "Hand.L")] == [*new.values()]
    assert (handles["Hand.R"].bone, handles["Hand.L"].bone) == ("palm.R", "palm.L")
    assert not any(part.is_corrected for part in parts)
    options = {name: new.get(value, value) if isinstance(value, str) else value for name, value in options.items()}
    assert operator(**options) == {"FINISHED"}


@pytest.mark.parametrize(("operator", "options"), PULLS)
def test_a_part_whose_bone_was_made_anew_by_another_name_is_named(
    human: Object, operator: Any, options: dict[str, Any]
) -> None:
    make_anew(human, "shin.L", "lower_leg.L")
    assert "there is no bone 'shin.L'" in error_of(operator, **options)
    parts = human.fabrik.body.parts
    next(part for part in parts if part.bone == "shin.L").bone = "lower_leg.L"
    assert operator(**options) == {"FINISHED"}


@pytest.mark.parametrize("mirror", [False, True])
@pytest.mark.parametrize(("operator", "options"), [*PULLS[:2], PULLS[3]])
def test_a_handle_whose_own_bone_was_made_anew_by_another_name_is_named(
    human: Object, operator: Any, options: dict[str, Any], mirror: bool
) -> None:
    human.pose.use_mirror_x = mirror
    make_anew(human, "hand.R", "palm.R")
    before = pose_of(human)
    message = error_of(operator, **options)
    assert "Handle 'Hand.R': there is no bone 'hand.R' in 'metarig' any more" in message and "Traceback" not in message
    assert pose_of(human) == before
    human.fabrik.body.parts["Hand.R"].bone = "palm.R"
    assert operator(**options) == {"FINISHED"}


def test_find_again_chooses_anew_where_the_bone_of_a_correction_is_gone(human: Object) -> None:
    human.fabrik.body.parts["Hand.L"].bone = "nonsense"
    assert "there is no bone 'nonsense'" in error_of(ops.fabrik_body_pull, handle="Head", position=(0.0, -0.1, 1.5))
    assert ops.fabrik_body_find() == {"FINISHED"}
    assert human.fabrik.body.parts["Hand.L"].bone == "hand.L"


def test_a_handle_whose_part_was_set_to_no_bone_keeps_nothing(human: Object) -> None:
    human.fabrik.body.parts["Foot.L"].bone = ""
    assert not human.fabrik.body.handles["Foot.L"].bone
    place = human.pose.bones["hand.R"].head + Vector((0.0, -0.1, 0.1))
    assert ops.fabrik_body_pull(handle="Hand.R", position=place) == {"FINISHED"}
    update()
    assert (human.pose.bones["hand.R"].head - place).length < 1e-4
    human.data.bones.active = None
    assert error_of(ops.fabrik_body_pull, position=place) == "Select a bone with a handle"
    assert error_of(ops.fabrik_handle_pin) == "Select a bone with a handle"


def test_a_rig_of_locked_bones_is_refused_with_the_reason(human: Object) -> None:
    assert ops.fabrik_body_remove() == {"FINISHED"}
    for bone in human.pose.bones:
        bone.lock_rotation, bone.lock_rotations_4d, bone.lock_rotation_w = (True,) * 3, True, True
    assert "all of them have locked rotations" in error_of(ops.fabrik_body_add)


def test_a_rig_without_bones_is_not_said_to_have_locked_ones() -> None:
    make_armature([])
    assert error_of(ops.fabrik_body_add).endswith("among the bones that can be posed")


def test_constraints_are_named_where_they_move_all_bones_and_none_deforms() -> None:
    armature = make_tail(2)
    target = make_empty("target")
    activate(armature, "bone0")
    for bone in armature.pose.bones:
        bone.bone.use_deform = False
        bone.constraints.new("COPY_ROTATION").target = target
    update()
    message = error_of(ops.fabrik_body_add)
    assert "constraints or drivers move 'bone0' (constraint 'Copy Rotation')" in message and "locked" not in message


def test_a_handle_whose_bone_is_gone_is_not_shown_and_can_be_removed(human: Object) -> None:
    count = len(human.fabrik.body.handles)
    edit(human, lambda bones: bones.remove(bones["hand.L"]))
    assert len(body_handles(human)) == count - 1
    assert ops.fabrik_handle_pin(handle="Hand.L") == {"FINISHED"}
    assert "Part 'Hand.L': there is no bone 'hand.L'" in error_of(
        ops.fabrik_body_pull, handle="Head", position=(0.0, -0.1, 1.5)
    )
    assert ops.fabrik_handle_remove(handle="Hand.L") == {"FINISHED"}


def test_locked_bones_stay_and_are_named_where_nothing_else_could_turn(human: Object) -> None:
    for name in ("upper_arm.L", "upper_arm.L.001", "forearm.L", "forearm.L.001"):
        if name in human.pose.bones:
            human.pose.bones[name].lock_rotation = (True,) * 3
            human.pose.bones[name].lock_rotations_4d = human.pose.bones[name].lock_rotation_w = True
    place = human.matrix_world @ human.pose.bones["hand.L"].head
    message = error_of(ops.fabrik_body_pull, handle="Hand.L", position=place + Vector((0.0, -0.2, 0.0)), follows="LIMB")
    assert message.startswith("Handle 'Hand.L'") and "locked" in message and "unlock" in message
    before = pose_of(human)
    assert ops.fabrik_body_pull(handle="Hand.L", position=place + Vector((0.0, -0.2, 0.0))) == {"FINISHED"}
    after = pose_of(human)
    assert after["upper_arm.L"] == before["upper_arm.L"] and after["forearm.L"] == before["forearm.L"]


def test_a_hand_comes_to_its_place_although_a_constraint_turns_the_forearm(human: Object) -> None:
    constraint = human.pose.bones["forearm.L"].constraints.new("COPY_ROTATION")
    constraint.target = make_empty("World")
    update()
    for by in (Vector((0.0, -0.2, 0.2)), Vector((0.0, 0.05, -0.2))):
        target = human.matrix_world @ human.pose.bones["hand.L"].head + by
        assert ops.fabrik_body_pull(handle="Hand.L", position=target) == {"FINISHED"}
        update()
        # It was 0.45 away: the solver knows no constraints.
        assert (human.matrix_world @ human.pose.bones["hand.L"].head - target).length < 2e-4


@pytest.mark.parametrize("kind", ["COPY_TRANSFORMS", "COPY_LOCATION", "COPY_ROTATION", "driver"])
def test_hips_that_the_rig_holds_stay_and_the_feet_too(human: Object, kind: str) -> None:
    hips, toes = human.pose.bones["spine"], [human.pose.bones[f"toe.{side}"] for side in "LR"]
    if kind == "driver":
        hips.driver_add("location", 1).driver.expression = "0.05"
        holder = "a driver"
    else:
        constraint = hips.constraints.new(kind)
        constraint.target = make_empty("Holder")
        constraint.target.matrix_world = human.matrix_world @ hips.matrix
        holder = f"constraint '{constraint.name}'"
    update()
    told = error_of(ops.fabrik_body_pull, handle="Hips", position=(0.0, 0.0, 0.5))
    assert told == f"Handle 'Hips': {holder} holds bone 'spine', from which the body starts: mute it"
    before, places = pose_of(human)["spine"], [bone.head.copy() for bone in toes]
    target = human.matrix_world @ human.pose.bones["hand.L"].head + Vector((0.2, -0.4, -0.2))
    assert ops.fabrik_body_pull(handle="Hand.L", position=target) == {"FINISHED"}
    update()
    assert pose_of(human)["spine"] == before
    assert max((bone.head - place).length for bone, place in zip(toes, places, strict=True)) < 1e-4
    assert (human.matrix_world @ human.pose.bones["hand.L"].head - target).length < 0.3


def test_a_linked_body_says_that_it_needs_an_override(human: Object, tmp_path: Path) -> None:
    rig = linked(tmp_path, "metarig")
    assert rig.library is not None and rig.fabrik.body.parts
    drawn: list[tuple[str, str]] = []
    layout: Any = Drawing(FabrikBodyPose, drawn).layout
    FabrikBodyPose.draw_settings(bpy.context, layout, None)
    assert any("make a library override first" in text for _, text in drawn)
    assert bpy.context.mode == "OBJECT"  # Blender lets no linked armature into Pose mode
    with pytest.raises(RuntimeError, match="make a library override first"):
        ops.fabrik_body_pull(handle="Hand.L", position=(0.0, 0.0, 0.0))
    panel: list[tuple[str, str]] = []
    VIEW3D_PT_fabrik.draw(Drawing(VIEW3D_PT_fabrik, panel), bpy.context)
    shown = " ".join(text for kind, text in panel if kind == "label")
    assert "make a library override first" in shown and "Switch to Pose Mode" not in shown


def test_an_override_of_a_linked_body_is_posed(human: Object, tmp_path: Path) -> None:
    rig = linked(tmp_path, "metarig").override_create(remap_local_usages=True)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="POSE")
    activate(rig, "hand.L")
    target = rig.matrix_world @ rig.pose.bones["hand.L"].head + Vector((-0.1, -0.2, 0.1))
    assert ops.fabrik_body_pull(handle="Hand.L", position=target) == {"FINISHED"}
    update()
    assert (rig.matrix_world @ rig.pose.bones["hand.L"].head - target).length < 1e-4
    assert ops.fabrik_handle_pin(handle="Hand.R") == {"FINISHED"} and rig.fabrik.body.handles["Hand.R"].use_pin


@pytest.mark.parametrize(
    ("operator", "options"), [*PULLS[:4], (ops.fabrik_body_bake, {"frame_start": 1, "frame_end": 2})]
)
def test_limits_that_no_angle_meets_are_named(human: Object, operator: Any, options: dict[str, Any]) -> None:
    constraint: Any = human.pose.bones["forearm.R"].constraints.new("LIMIT_ROTATION")
    constraint.owner_space, constraint.use_limit_x = "LOCAL", True
    constraint.min_x = constraint.max_x = -1.0
    handle = human.fabrik.body.handles["Hand.R"]
    handle.use_pin, handle.target = True, make_empty("Wall", (-0.5, -0.4, 1.2))
    assert "the limits of bone 'forearm.R' about X contradict each other" in error_of(operator, **options)


@pytest.mark.parametrize(
    ("operator", "options"), [*PULLS[:4], (ops.fabrik_body_bake, {"frame_start": 1, "frame_end": 2})]
)
def test_a_body_that_blender_doesnt_evaluate_is_left(human: Object, operator: Any, options: dict[str, Any]) -> None:
    handle = human.fabrik.body.handles["Hand.R"]
    handle.use_pin, handle.target = True, make_empty("Wall", (-0.5, -0.4, 1.2))
    human.hide_viewport = True
    assert error_of(operator, **options).startswith("'metarig' is disabled in viewports")


def test_a_floor_whose_height_is_no_number_is_named(human: Object) -> None:
    body = human.fabrik.body
    body.use_floor, body.floor_height = True, math.nan
    message = error_of(ops.fabrik_body_pull, handle="Hand.R", position=(-0.5, -0.4, 1.2))
    assert message == "the height of the floor is not a finite number"


def test_a_body_whose_swings_are_limited_to_half_turns_is_pulled(human: Object) -> None:
    """Blender's limits are half turns where nobody has set others: there the half-sine of a swing stands still."""
    pose_bones: Any = human.pose.bones
    for bone in pose_bones:
        for axis in "xyz":
            setattr(bone, f"use_ik_limit_{axis}", True)
            setattr(bone, f"ik_min_{axis}", -math.pi)
            setattr(bone, f"ik_max_{axis}", math.pi)
    for place in ((0.9, -0.5, 1.7), (-0.5, -0.4, 0.4), (0.2, 0.6, 1.9), (0.4, -0.4, 1.2)):
        assert ops.fabrik_body_pull(handle="Hand.R", position=place) == {"FINISHED"}
        update()
    assert (human.pose.bones["hand.R"].head - Vector(place)).length < 0.3


def lock_rotation(armature: Object, name: str) -> None:
    bone = armature.pose.bones[name]
    bone.lock_rotation, bone.lock_rotation_w = (True, True, True), True


def test_a_planted_foot_that_is_locked_is_named_with_its_handle(human: Object) -> None:
    lock_rotation(human, "foot.L")
    message = error_of(ops.fabrik_body_pull, handle="Hand.R", position=(-0.5, -0.4, 1.2))
    assert "Handle 'Foot.L': the rotation of bone 'foot.L' is locked: unlock it, or switch its Rotation off" in message
    human.fabrik.body.handles["Foot.L"].use_rotation = False
    assert ops.fabrik_body_pull(handle="Hand.R", position=(-0.5, -0.4, 1.2)) == {"FINISHED"}, "the way out leads out"


def test_a_planted_foot_whose_toes_are_locked_is_rigid_with_them(human: Object) -> None:
    lock_rotation(human, "toe.L")
    before = [human.pose.bones[name].matrix.copy() for name in ("foot.L", "toe.L")]
    assert ops.fabrik_body_pull(handle="Hips", position=human.pose.bones["spine"].head + Vector((0.0, -0.3, -0.3)))
    update()
    for name, matrix in zip(("foot.L", "toe.L"), before, strict=True):
        differences = np.array(human.pose.bones[name].matrix) - np.array(matrix)
        assert np.abs(differences).max() < 1e-3, name


def test_a_place_too_far_for_single_precision_is_out_of_reach(human: Object, capfd: pytest.CaptureFixture[str]) -> None:
    """Nothing was said: the cost, a sum of squares, is infinite."""
    printed(capfd)
    assert ops.fabrik_body_pull(handle="Hand.R", position=(1e25, -0.4, 1.2)) == {"FINISHED"}
    assert "Handle 'Hand.R': out of reach, the tip is " in printed(capfd)
