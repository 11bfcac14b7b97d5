# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Targets and poles for chains that exist, as empties or as bones, and the panel while one of them is active."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
import pytest
from bpy.types import Object
from mathutils import Euler, Vector

from fabrik_addon.blender.drag import ChainDrag, Grab
from fabrik_addon.blender.rig.properties import shown_armature
from tests.blender.rigs import (
    activate,
    add_chain,
    change_animated,
    edit_without_key,
    end_of,
    enter_pose_mode,
    error_of,
    everything,
    head_of,
    leave_mode,
    make_empty,
    make_tail,
    pose_of,
    set_chain,
    set_rotation,
    update,
)

add: Any = bpy.ops.pose.fabrik_chain_add
create_target: Any = bpy.ops.pose.fabrik_target_add
create_pole: Any = bpy.ops.pose.fabrik_pole_add


def bend(armature: Object) -> None:
    for bone in armature.pose.bones:
        set_rotation(bone, Euler((0.2, 0.1, 0.3)).to_quaternion())
    update()


def old_matrices(armature: Object, names: list[str]) -> np.ndarray:
    update()
    return np.array([armature.pose.bones[name].matrix for name in names])


@pytest.mark.parametrize("as_bones", [False, True])
def test_a_chain_gets_a_target_and_a_pole_later(as_bones: bool) -> None:
    armature = make_tail(4)
    bend(armature)
    chain = set_chain(armature, "bone3", 2, None)
    names = [bone.name for bone in armature.pose.bones]
    before, end = old_matrices(armature, names), end_of(armature, chain).copy()
    assert create_target(as_bones=as_bones) == {"FINISHED"}
    assert create_pole(as_bones=as_bones) == {"FINISHED"}
    chain = armature.fabrik.chains[0]
    assert (chain.target == armature) == (chain.pole_target == armature) == as_bones
    place = head_of(armature, chain.subtarget) if as_bones else chain.target.matrix_world.translation
    assert (place - end).length < 1e-5
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    assert chain.status == "REACHED"
    assert np.abs(old_matrices(armature, names) - before).max() < 2e-4
    for operator in (create_target, create_pole):
        state = everything()
        assert "Chain 'bone3' already has a" in error_of(operator, as_bones=as_bones)
        assert everything() == state


def test_a_target_and_a_pole_that_were_deleted_are_made_anew() -> None:
    """The chain was said to have them already, and Solve that they were deleted."""
    armature = make_tail(4)
    chain = set_chain(armature, "bone3", 2, make_empty("target", (0.5, 0.5, 2.0)), make_empty("pole", (0, -3, 2)))
    for goal in (chain.target, chain.pole_target):
        bpy.context.scene.collection.objects.unlink(goal)
    enter_pose_mode(armature)
    assert create_target() == {"FINISHED"} and create_pole() == {"FINISHED"}
    assert chain.target.users_scene and chain.pole_target.users_scene
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}


def test_a_goal_needs_a_chain_and_its_bones() -> None:
    armature = make_tail(2)
    assert "Add a chain first" in error_of(create_target)
    set_chain(armature, "no such bone", 2, None)
    assert "there is no bone 'no such bone'" in error_of(create_pole)


def test_a_chain_that_ends_at_a_head_gets_its_target_there() -> None:
    armature = make_tail(4)
    chain = set_chain(armature, "bone3", 2, None)
    chain.use_tail = False
    create_target()
    assert (chain.target.matrix_world.translation - head_of(armature, "bone3")).length < 1e-5


def test_targets_as_bones_have_a_collection_and_shapes_of_their_own_and_move_no_bone() -> None:
    armature = make_tail(4)
    bend(armature)
    armature.location, armature.rotation_euler, armature.scale = (1.0, 2.0, 0.5), (0.3, 0.2, 0.1), (2.0, 2.0, 2.0)
    names = [bone.name for bone in armature.pose.bones]
    before, objects = old_matrices(armature, names), set(bpy.context.scene.objects)
    for bone in armature.pose.bones:
        bone.select = bone.name in {"bone1", "bone3"}
    activate(armature, "bone3")
    assert add(chain_count=2, create_pole=True, as_bones=True) == {"FINISHED"}
    (chain,) = armature.fabrik.chains
    assert bpy.context.mode == "POSE" and set(bpy.context.scene.objects) == objects
    assert {bone.name for bone in armature.pose.bones if bone.select} == {"bone1", "bone3"}
    assert armature.data.bones.active.name == "bone3"
    assert np.abs(old_matrices(armature, names) - before).max() < 1e-6
    made = [armature.pose.bones[name] for name in (chain.subtarget, chain.pole_subtarget)]
    assert [bone.name for bone in made] == ["target bone3", "pole bone3"]
    for bone in made:
        assert not bone.bone.use_deform and bone.parent is None and bone.custom_shape is not None
        assert [collection.name for collection in bone.bone.collections] == ["FABRIK Targets"]
    assert made[0].custom_shape != made[1].custom_shape
    assert (head_of(armature, chain.subtarget) - end_of(armature, chain)).length < 1e-5
    activate(armature, "bone1")
    add(chain_count=1, as_bones=True)
    assert [c.name for c in armature.data.collections_all].count("FABRIK Targets") == 1
    assert len(armature.data.collections_all["FABRIK Targets"].bones) == 3
    shapes = {bone.custom_shape.name for bone in armature.pose.bones if bone.custom_shape}
    assert shapes == {"FABRIK Target Shape", "FABRIK Pole Shape"}


def test_targets_as_bones_leave_what_was_edited_without_a_key_on_all_armatures_in_pose_mode() -> None:
    others = make_tail(2, "Other", "other", (3.0, 0.0, 0.0))
    armature = make_tail(4)
    leave_mode()
    for obj in (others, armature):
        obj.select_set(True)
    bpy.ops.object.mode_set(mode="POSE")
    poses = []
    for obj in (others, armature):
        for bone in obj.pose.bones:
            bone.keyframe_insert("rotation_quaternion", frame=1)
    edits = [edit_without_key(others, "other1"), edit_without_key(armature, "bone3")]
    for obj in (others, armature):
        bend(obj)
        poses.append(pose_of(obj))
    activate(armature, "bone3")
    assert add(chain_count=2, create_pole=True, as_bones=True) == {"FINISHED"}
    update()
    assert others.mode == armature.mode == "POSE" and all(one.are_kept() for one in edits)
    for obj, pose in zip((others, armature), poses, strict=True):
        assert pose.items() <= pose_of(obj).items()


def test_a_target_bone_is_solved_for_and_dragged() -> None:
    armature = make_tail(4)
    activate(armature, "bone3")
    add(chain_count=3, create_pole=True, as_bones=True)
    (chain,) = armature.fabrik.chains
    target = armature.pose.bones[chain.subtarget]
    target.location.z -= 0.6
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    assert chain.status == "REACHED" and (head_of(armature, target.name) - end_of(armature, chain)).length < 1e-3
    before = everything()
    session = ChainDrag(bpy.context.view_layer, armature, Grab("bone3", chain.name))
    place = session.start_position + Vector((0.4, 0.2, -0.2))
    session.move(bpy.context.view_layer, place)
    assert (head_of(armature, target.name) - place).length < 1e-5
    assert (end_of(armature, chain) - place).length < 1e-3
    session.cancel(bpy.context.view_layer)
    assert everything() == before
    # Drag Bone on the target's bone is the drag of the target.
    activate(armature, target.name)
    assert bpy.ops.pose.fabrik_drag(grab="BONE", position=place) == {"FINISHED"}
    assert (head_of(armature, target.name) - place).length < 1e-5
    assert (end_of(armature, chain) - place).length < 1e-3


def test_an_animated_pose_that_was_changed_stays_when_bones_are_added() -> None:
    armature = make_tail(3)
    change_animated(armature.pose.bones["bone1"])
    names = [bone.name for bone in armature.pose.bones]
    before = old_matrices(armature, names)
    activate(armature, "bone2")
    add(chain_count=3, as_bones=True)
    assert np.abs(old_matrices(armature, names) - before).max() < 1e-6


def test_several_chains_get_bones_at_once() -> None:
    armature = make_tail(4)
    for bone in armature.pose.bones:
        bone.select = bone.name in {"bone finger", "bone twig"}
    activate(armature, "bone finger")
    add(use_selected=True, chain_count=1, as_bones=True)
    assert [chain.subtarget for chain in armature.fabrik.chains] == ["target bone finger", "target bone twig"]


def test_linked_bones_are_refused_and_nothing_changes(tmp_path: Any) -> None:
    armature = make_tail(3)
    bpy.data.libraries.write(str(tmp_path / "rig.blend"), {armature})
    bpy.ops.wm.read_factory_settings(use_empty=True)
    with bpy.data.libraries.load(str(tmp_path / "rig.blend"), link=True) as (_, data):
        data.objects = ["Rig"]
    bpy.context.scene.collection.objects.link(bpy.data.objects["Rig"])
    armature = bpy.data.objects["Rig"].override_create(remap_local_usages=True)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="POSE")
    bpy.context.view_layer.update()
    for bone in armature.pose.bones:
        bone.select = bone.name == "bone2"
    armature.data.bones.active = armature.data.bones["bone2"]
    set_chain(armature, "bone0", 1, None)
    before = everything()
    assert "are linked: make targets and poles as empties" in error_of(add, as_bones=True)
    assert everything() == before
    assert add(as_bones=False) == {"FINISHED"}


# The panel and Solve while a target is active


def make_active(obj: Object) -> None:
    leave_mode()
    bpy.context.view_layer.objects.active = obj


def test_the_armature_of_an_active_target_or_pole_is_shown() -> None:
    armature = make_tail(3)
    chain = add_chain(armature, "bone2", 2, create_pole=True)
    other = make_empty("other")
    assert shown_armature(bpy.context) == armature
    for obj, expected in ((chain.target, armature), (chain.pole_target, armature), (other, None)):
        make_active(obj)
        assert shown_armature(bpy.context) == expected


def test_a_target_that_is_active_can_be_solved_for_and_snapped() -> None:
    armature = make_tail(4)
    chain = add_chain(armature, "bone3", 3)
    make_active(chain.target)
    chain.target.location += Vector((0.4, 0.3, -0.5))
    update()
    before = pose_of(armature)
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    assert chain.status == "REACHED" and pose_of(armature) != before
    chain.target.location.x += 5.0
    update()
    assert bpy.ops.pose.fabrik_snap_target() == {"FINISHED"}
    assert (chain.target.matrix_world.translation - end_of(armature, chain)).length < 1e-4
    make_active(make_empty("other"))
    assert "Select an armature" in error_of(bpy.ops.pose.fabrik_solve)
    make_active(armature)
    assert "Switch to Pose Mode" in error_of(bpy.ops.pose.fabrik_solve)


def test_what_is_needed_elsewhere_is_said_while_a_target_is_active() -> None:
    armature = make_tail(3)
    chain = add_chain(armature, "bone2", 2)
    make_active(chain.target)
    assert "Select an armature" in error_of(bpy.ops.pose.fabrik_drag_target)
    armature.data.pose_position = "REST"
    assert "Rest Position" in error_of(bpy.ops.pose.fabrik_solve)
