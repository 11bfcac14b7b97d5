# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The list of chains and the bones: a row selects its bone, + makes a chain for each selected bone and both sides."""

from __future__ import annotations

from typing import Any

import bpy
import pytest
from bpy.types import Object
from mathutils import Matrix

from tests.blender.rigs import (
    activate,
    add_chain,
    error_of,
    everything,
    leave_mode,
    make_tail,
    metarig,
    update,
)

add: Any = bpy.ops.pose.fabrik_chain_add


def human() -> Object:
    armature = metarig("human_metarig")
    select(armature)
    return armature


def select(armature: Object, *names: str) -> None:
    for bone in armature.pose.bones:
        bone.select = bone.name in names
    if names:
        activate(armature, names[-1])


def selected(armature: Object) -> set[str]:
    return {bone.name for bone in armature.pose.bones if bone.select}


def tips(armature: Object) -> list[str]:
    return [chain.tip for chain in armature.fabrik.chains]


def test_a_row_selects_its_bone_alone_and_makes_it_active() -> None:
    armature = human()
    for tip in ("hand.L", "foot.R"):
        add_chain(armature, tip, 2)
    select(armature, "spine", "hand.L")
    armature.fabrik.list_index = 1
    assert armature.fabrik.active_index == armature.fabrik.list_index == 1
    assert selected(armature) == {"foot.R"} and armature.data.bones.active.name == "foot.R"
    armature.fabrik.list_index = 0
    assert selected(armature) == {"hand.L"} and bpy.context.active_pose_bone.name == "hand.L"


@pytest.mark.parametrize("is_solo", [False, True])
def test_a_row_shows_a_bone_that_is_hidden_by_itself_or_with_its_collections(is_solo: bool) -> None:
    armature = human()
    add_chain(armature, "hand.L", 2)
    hand = armature.pose.bones["hand.L"]
    hand.hide = True
    outer = armature.data.collections.new("outer")
    inner = armature.data.collections.new("inner", parent=outer)
    for collection in list(hand.bone.collections):
        collection.unassign(hand.bone)
    inner.assign(hand.bone)
    outer.is_visible = inner.is_visible = False
    other = armature.data.collections.new("other")
    other.is_solo = is_solo
    armature.fabrik.list_index = 0
    update()
    assert not hand.hide and inner.is_visible_effectively and other.is_solo == is_solo


def test_out_of_pose_mode_and_without_its_bone_a_row_only_becomes_active() -> None:
    armature = make_tail(3)
    for tip in ("bone2", "bone1"):
        add_chain(armature, tip, 1)
    armature.fabrik.chains[0].tip = "gone"
    before = selected(armature)
    armature.fabrik.list_index = 0
    assert armature.fabrik.active_index == 0 and selected(armature) == before
    leave_mode()
    armature.fabrik.list_index = 1
    assert armature.fabrik.active_index == 1 and selected(armature) == before


def test_scripts_set_the_active_chain_without_selecting() -> None:
    armature = human()
    for tip in ("hand.L", "foot.R"):
        add_chain(armature, tip, 2)
    select(armature, "spine")
    armature.fabrik.active_index = 0
    assert selected(armature) == {"spine"}


def test_each_selected_bone_gets_a_chain_and_that_of_the_active_bone_is_active() -> None:
    armature = human()
    wanted = ["hand.L", "foot.L", "foot.R", "hand.R"]
    select(armature, *wanted)
    before = [bone.matrix.copy() for bone in armature.pose.bones]
    assert add(use_selected=True) == {"FINISHED"}
    assert sorted(tips(armature)) == sorted(wanted) and armature.fabrik.active_index == tips(armature).index("hand.R")
    assert len({chain.target.name for chain in armature.fabrik.chains}) == 4
    update()
    worst = max(abs(x) for bone, old in zip(armature.pose.bones, before, strict=True) for x in _flat(bone.matrix - old))
    assert worst < 1e-6
    assert selected(armature) == set(wanted)


def _flat(matrix: Matrix) -> list[float]:
    return [x for row in matrix for x in row]


def test_of_bones_in_a_line_the_last_one_gets_the_chain() -> None:
    armature = human()
    select(armature, "upper_arm.L", "forearm.L", "hand.L", "foot.R")
    add(use_selected=True, chain_count=3)
    assert sorted(tips(armature)) == ["foot.R", "hand.L"]


def test_bones_that_end_a_chain_already_are_left_out() -> None:
    armature = human()
    add_chain(armature, "hand.L", 2)
    select(armature, "hand.R", "hand.L")
    assert add(use_selected=True) == {"FINISHED"}
    assert tips(armature) == ["hand.L", "hand.R"]
    assert "already ends at bone 'hand.L'" in error_of(add, use_selected=True)


def test_with_x_mirror_both_sides_get_a_chain() -> None:
    armature = human()
    armature.pose.use_mirror_x = True
    select(armature, "hand.L")
    assert add(create_pole=True) == {"FINISHED"}
    assert tips(armature) == ["hand.L", "hand.R"] and armature.fabrik.active_index == 0
    left, right = armature.fabrik.chains
    for one, other in ((left.target, right.target), (left.pole_target, right.pole_target)):
        x, y, z = one.matrix_world.translation
        assert (other.matrix_world.translation - one.matrix_world.translation).x == pytest.approx(-2.0 * x, abs=1e-4)
        assert tuple(other.matrix_world.translation)[1:] == pytest.approx((y, z), abs=1e-4)
    select(armature, "spine.006")
    add()
    assert tips(armature)[2:] == ["spine.006"]


def test_a_bone_that_can_not_end_a_chain_leaves_everything_as_it_is() -> None:
    armature = human()
    select(armature, "hand.L", "spine")
    before = everything()
    assert "Can't add a chain at bone 'spine'" in error_of(add, use_selected=True, chain_count=3)
    assert everything() == before


def two_tails() -> tuple[Object, Object]:
    """Two armatures in Pose Mode, the first one active, with an end of three bones selected on each."""
    armatures = make_tail(3, "A"), make_tail(3, "B", "other", (3.0, 0.0, 0.0))
    leave_mode()
    for armature in armatures:
        armature.select_set(True)
    bpy.context.view_layer.objects.active = armatures[0]
    bpy.ops.object.mode_set(mode="POSE")
    for armature, name in zip(armatures, ("bone2", "other2"), strict=True):
        select(armature, name)
    return armatures


@pytest.mark.parametrize("as_bones", [False, True])
def test_the_selected_bones_of_every_armature_in_pose_mode_get_a_chain(as_bones: bool) -> None:
    armatures = two_tails()
    for armature, name in zip(armatures, ("bone1", "other1"), strict=True):
        armature.pose.bones[name].keyframe_insert("rotation_quaternion", frame=1)
        armature.pose.bones[name].rotation_quaternion = (0.8, 0.6, 0.0, 0.0)  # not keyed
    update()
    before = [[bone.matrix.copy() for bone in list(armature.pose.bones)[:5]] for armature in armatures]
    assert add(use_selected=True, as_bones=as_bones, create_pole=True) == {"FINISHED"}
    assert [tips(armature) for armature in armatures] == [["bone2"], ["other2"]]
    assert [selected(armature) for armature in armatures] == [{"bone2"}, {"other2"}]
    assert bpy.context.object == armatures[0]
    for armature, old in zip(armatures, before, strict=True):
        (chain,) = armature.fabrik.chains
        assert (chain.target == armature) == as_bones and chain.pole_target is not None
        bpy.context.view_layer.objects.active = armature
        assert bpy.ops.pose.fabrik_solve() == {"FINISHED"} and chain.status == "REACHED"
        bones = list(armature.pose.bones)[:5]
        assert max(abs(x) for bone, one in zip(bones, old, strict=True) for x in _flat(bone.matrix - one)) < 1e-5


def test_what_one_of_several_armatures_refuses_changes_none() -> None:
    first, second = two_tails()
    select(second, "other1")
    assert "Can't add a chain at bone 'other1'" in error_of(add, use_selected=True, chain_count=3)
    second.data.pose_position = "REST"
    assert "'B' is in Rest Position" in error_of(add, use_selected=True)
    select(second)
    assert add(use_selected=True) == {"FINISHED"}
    assert tips(first) == ["bone2"] and not tips(second)


def test_a_script_gets_the_chain_of_the_active_bone_alone() -> None:
    armature = human()
    select(armature, "hand.R", "foot.L", "hand.L")
    add()
    assert tips(armature) == ["hand.L"]
