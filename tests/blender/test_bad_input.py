# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can't be used is refused in words, and nothing has changed: pose, objects, keys, chains."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import bpy
import pytest
from bpy.types import Object

from fabrik_addon.blender.rig.modifier_inputs import set_input
from fabrik_addon.blender.rig.wording import length_text
from fabrik_addon.blender.solving.solve_chains import solve_chains
from fabrik_addon.core import FabrikError
from tests.blender.rigs import (
    activate,
    add_chain,
    bones_of,
    collect,
    distance_left,
    enter_pose_mode,
    error_of,
    everything,
    joints_of,
    leave_mode,
    links_of,
    make_armature,
    make_empty,
    make_tail,
    tail_bones,
    update,
    warnings_in,
)

Spoil = Callable[[Object, Any], None]


@pytest.fixture
def rig() -> Object:
    """Two chains with animated poses: one that stays good, so that half a solve would show."""
    armature = make_armature([*tail_bones(3, "good"), *tail_bones(3, "bad", (3.0, 0.0, 0.0))])
    for name in ("good1", "bad1"):
        armature.pose.bones[name].keyframe_insert("rotation_quaternion", frame=1)
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    add_chain(armature, "good2", 3, (1.0, 0.5, 1.0))
    add_chain(armature, "bad2", 3, (4.0, 0.5, 1.0))
    update()
    return armature


def refusal(armature: Object, spoil: Spoil) -> str:
    """Spoil the second chain; return what every button says of it."""
    spoil(armature, armature.fabrik.chains[1])
    messages = {
        error_of(bpy.ops.pose.fabrik_solve),
        error_of(bpy.ops.pose.fabrik_solve, only_active=True),
        error_of(bpy.ops.pose.fabrik_snap_target),
        error_of(bpy.ops.pose.fabrik_bake, frame_start=1, frame_end=2),
    }
    (message,) = messages
    return message


def test_the_rig_is_good_before_it_is_spoiled(rig: Object) -> None:
    before = everything()
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    assert [chain.status for chain in rig.fabrik.chains] == ["REACHED", "REACHED"]
    assert everything()["keys"] != before["keys"]


# Bones


def test_a_missing_bone(rig: Object) -> None:
    message = refusal(rig, lambda _, chain: setattr(chain, "tip", "elbow"))
    assert message == "Chain 'bad2': there is no bone 'elbow' in 'Rig'"


def test_a_bone_that_was_deleted(rig: Object) -> None:
    def delete(armature: Object, _: Any) -> None:
        bpy.ops.object.mode_set(mode="EDIT")
        armature.data.edit_bones.remove(armature.data.edit_bones["bad2"])
        bpy.ops.object.mode_set(mode="POSE")

    assert refusal(rig, delete) == "Chain 'bad2': there is no bone 'bad2' in 'Rig'"


def test_no_tip(rig: Object) -> None:
    assert refusal(rig, lambda _, chain: setattr(chain, "tip", "")) == "Chain 'bad2': no tip bone is set"


def test_a_chain_longer_than_its_parents(rig: Object) -> None:
    message = refusal(rig, lambda _, chain: setattr(chain, "chain_count", 4))
    assert message == "Chain 'bad2': it should have 4 bones, but from 'bad2' up to the root 'bad0' there are only 3"


def test_a_root_bone_whose_head_is_the_end(rig: Object) -> None:
    def spoil(_: Object, chain: Any) -> None:
        chain.tip, chain.chain_count, chain.use_tail = "bad0", 0, False

    assert "'bad0' has no parent, so no chain ends at its head" in refusal(rig, spoil)


def test_all_rotation_locked(rig: Object) -> None:
    def spoil(armature: Object, chain: Any) -> None:
        for bone in bones_of(armature, chain):
            bone.lock_rotation = (True, True, True)
            bone.lock_rotation_w = True

    assert refusal(rig, spoil) == "Chain 'bad2': the rotation of all its bones is locked: unlock one of them"


def limit_rotation(armature: Object, least: float, most: float) -> Any:
    limit = armature.pose.bones["bad1"].constraints.new("LIMIT_ROTATION")
    limit.owner_space = "LOCAL"
    limit.use_limit_x, limit.min_x, limit.max_x = True, math.radians(least), math.radians(most)
    return limit


@pytest.mark.parametrize("kind", ["range", "lock", "constraint"])
@pytest.mark.parametrize("is_hinge", [False, True])
def test_limits_that_no_angle_meets(rig: Object, kind: str, is_hinge: bool) -> None:
    def spoil(armature: Object, _: Any) -> None:
        bone = armature.pose.bones["bad1"]
        bone.lock_ik_y = bone.lock_ik_z = is_hinge
        limit_rotation(armature, 20.0, 40.0)
        if kind == "range":
            bone.use_ik_limit_x, bone.ik_min_x, bone.ik_max_x = True, -0.5, 0.0
        elif kind == "lock":
            bone.lock_ik_x = True
        else:
            limit_rotation(armature, -30.0, 0.0)

    message = refusal(rig, spoil)
    assert message == (
        "Chain 'bad2': the limits of bone 'bad1' about X contradict each other: at least 20°, at most 0°"
    )
    bpy.ops.object.mode_set(mode="POSE")
    assert "bone 'bad1' about X contradict each other" in error_of(bpy.ops.pose.fabrik_bake, frame_start=1, frame_end=2)


def without_chain(armature: Object) -> None:
    """Remove the second chain; its target stays."""
    armature.fabrik.chains.remove(1)
    activate(armature, "bad2")


def with_constraint(armature: Object) -> None:
    target = armature.fabrik.chains[1].target
    without_chain(armature)
    constraint = armature.pose.bones["bad2"].constraints.new("IK")
    constraint.target, constraint.chain_count = target, 3


def as_it_is(_: Object) -> None:
    pass


ENTRIES: tuple[tuple[str, dict[str, Any], Callable[[Object], None]], ...] = (
    ("fabrik_bake", {"frame_start": 1, "frame_end": 2}, as_it_is),
    ("fabrik_key_targets", {"frame_start": 1, "frame_end": 2}, as_it_is),
    ("fabrik_compare", {}, as_it_is),
    ("fabrik_rig_add", {}, as_it_is),
    ("fabrik_drag", {"bone": "bad2", "position": (4.0, 0.5, 1.0)}, as_it_is),
    ("fabrik_pole_add", {}, as_it_is),
    ("fabrik_chains_to_constraints", {"only_active": True}, as_it_is),
    ("fabrik_chain_add", {"chain_count": 3}, without_chain),
    ("fabrik_chain_add", {"chain_count": 3, "create_pole": True}, without_chain),
    ("fabrik_constraints_to_chains", {}, with_constraint),
)


@pytest.mark.parametrize(("name", "options", "prepare"), ENTRIES)
def test_every_way_in_refuses_limits_that_no_angle_meets(
    rig: Object, name: str, options: dict[str, Any], prepare: Callable[[Object], None]
) -> None:
    """Add Pole failed when the pole was there already, and Chains to IK Constraints converted."""
    limit_rotation(rig, -30.0, 0.0)
    limit_rotation(rig, 20.0, 40.0)
    prepare(rig)
    rig.fabrik.active_index = len(rig.fabrik.chains) - 1
    before = [(by.type, by.mute) for bone in rig.pose.bones for by in bone.constraints]
    message = error_of(getattr(bpy.ops.pose, name), **options)
    assert "the limits of bone 'bad1' about X contradict each other: at least 20°, at most 0°" in message
    assert "bad2" in message
    assert [(by.type, by.mute) for bone in rig.pose.bones for by in bone.constraints] == before


def test_limits_that_no_angle_meets_are_no_reason_where_limits_do_not_count(rig: Object) -> None:
    limit_rotation(rig, -30.0, 0.0)
    limit_rotation(rig, 20.0, 40.0)
    rig.fabrik.chains[1].use_limits = False
    assert bpy.ops.pose.fabrik_pole_add() == {"FINISHED"}
    assert bpy.ops.pose.fabrik_chains_to_constraints(only_active=True) == {"FINISHED"}


@pytest.mark.parametrize("second", [0.0, 20.0, 20.00001])
def test_limits_that_meet_in_one_angle_hold_the_bone_there(rig: Object, second: float) -> None:
    """IK ranges always hold 0, so the second range is another constraint's."""
    limit_rotation(rig, -30.0, 20.0)
    limit_rotation(rig, second, 40.0)
    update()
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}


def test_a_range_that_ends_before_it_begins_holds_the_bone_at_its_smallest_angle_as_in_blender(rig: Object) -> None:
    bone = rig.pose.bones["bad1"]
    bone.lock_ik_y = bone.lock_ik_z = True
    limit_rotation(rig, 30.0, 10.0)
    update()
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    assert bone.rotation_quaternion.to_euler().x == pytest.approx(math.radians(30.0), abs=1e-5)
    assert distance_left(rig, rig.fabrik.chains[1]) < 1e-4


def test_blender_keeps_rest_within_ik_ranges(rig: Object) -> None:
    bone = rig.pose.bones["bad1"]
    bone.ik_min_x, bone.ik_max_x = 0.5, -0.5
    assert (bone.ik_min_x, bone.ik_max_x) == (0.0, 0.0)


@pytest.mark.parametrize("scale", [(0.0, 0.0, 0.0), (1.0, 0.0, 1.0)])
def test_a_bone_scaled_to_nothing(rig: Object, scale: tuple[float, ...]) -> None:
    message = refusal(rig, lambda armature, _: setattr(armature.pose.bones["bad2"], "scale", scale))
    assert message == "Chain 'bad2': bone 'bad2' has no length: its tail is at its head"


def test_a_bone_scaled_so_that_its_childs_head_is_at_its_own(rig: Object) -> None:
    message = refusal(rig, lambda armature, _: setattr(armature.pose.bones["bad1"], "scale", (1.0, 0.0, 1.0)))
    assert message == "Chain 'bad2': bone 'bad1' has no length: the head of 'bad2' is at its head"


NAN = math.nan


@pytest.mark.parametrize(
    ("bone", "channel", "values"),
    [
        ("bad0", "location", (NAN, 0.0, 0.0)),
        ("bad0", "rotation_quaternion", (NAN, 0.0, 0.0, 0.0)),
        ("bad0", "scale", (1.0, NAN, 1.0)),
        ("bad2", "rotation_quaternion", (1.0, 0.0, NAN, 0.0)),
        ("bad2", "scale", (1.0, NAN, 1.0)),
    ],
)
def test_a_number_that_is_none_in_a_channel(rig: Object, bone: str, channel: str, values: tuple[float, ...]) -> None:
    message = refusal(rig, lambda armature, _: setattr(armature.pose.bones[bone], channel, values))
    assert message.startswith("Chain 'bad2': the ")
    assert message.endswith("is not a finite number")


# Targets


@pytest.mark.parametrize("channel", ["rotation_euler", "scale"])
def test_a_target_whose_rotation_is_no_number(rig: Object, channel: str) -> None:
    def spoil(_: Object, chain: Any) -> None:
        chain.use_rotation = True
        getattr(chain.target, channel).x = NAN

    message = refusal(rig, spoil)
    assert message == "Chain 'bad2': its target 'bad2 target' has a rotation that is not a finite number"


def test_rotation_enabled_without_a_rotation_of_the_target_keeps_the_offset(rig: Object) -> None:
    chain = rig.fabrik.chains[1]
    chain.target.rotation_euler.x = NAN
    update()
    chain.use_rotation = True
    assert chain.rotation_offset[:] == (1.0, 0.0, 0.0, 0.0)


def test_no_target(rig: Object) -> None:
    message = refusal(rig, lambda _, chain: setattr(chain, "target", None))
    assert message == "Chain 'bad2': it has no target: choose an object in its settings"


def test_a_target_removed_from_the_file(rig: Object) -> None:
    message = refusal(rig, lambda _, chain: bpy.data.objects.remove(chain.target))
    assert "it has no target" in message


@pytest.mark.parametrize("role", ["target", "pole_target"])
def test_a_target_deleted_as_people_delete_it(rig: Object, role: str) -> None:
    def spoil(armature: Object, chain: Any) -> None:
        setattr(chain, role, make_empty("gone"))
        leave_mode()
        bpy.ops.object.select_all(action="DESELECT")
        getattr(chain, role).select_set(True)
        bpy.ops.object.delete()
        assert getattr(chain, role) is not None  # only the chain still holds it
        enter_pose_mode(armature)

    word = "target" if role == "target" else "pole"
    assert (
        refusal(rig, spoil) == f"Chain 'bad2': its {word} 'gone' is in no scene: it was deleted, or isn't linked there"
    )


def test_a_target_in_an_excluded_collection(rig: Object) -> None:
    def spoil(_: Object, chain: Any) -> None:
        chain.target = make_empty("away")
        collect("elsewhere", chain.target)
        bpy.context.scene.collection.objects.unlink(chain.target)
        bpy.context.view_layer.layer_collection.children["elsewhere"].exclude = True

    assert refusal(rig, spoil) == "Chain 'bad2': its target 'away' is not in the view layer 'ViewLayer'"


@pytest.mark.parametrize("what", ["object", "collection"])
def test_a_target_disabled_in_viewports_is_not_where_it_says(rig: Object, what: str) -> None:
    def spoil(_: Object, chain: Any) -> None:
        if what == "collection":
            bpy.data.collections["FABRIK Targets"].hide_viewport = True
            rig.fabrik.chains[0].target = make_empty("seen", (1.0, 0.5, 1.0))
        else:
            chain.target.hide_viewport = True
        update()
        chain.target.location = (3.5, 0.5, 1.5)

    assert "its target 'bad2 target' is disabled in viewports" in refusal(rig, spoil)


def disable(armature: Object, how: str) -> None:
    """Disable an armature in viewports, or take it out of the view layer."""
    collection = collect("rigs", armature)
    bpy.context.scene.collection.objects.unlink(armature)
    if how == "excluded":
        bpy.context.view_layer.layer_collection.children["rigs"].exclude = True
    else:
        (armature if how == "object" else collection).hide_viewport = True


REFUSALS = {"object": "disabled in viewports", "collection": "disabled in viewports", "excluded": "not in the view"}


@pytest.mark.parametrize("how", REFUSALS)
def test_an_armature_that_blender_doesnt_evaluate_is_not_where_it_says(rig: Object, how: str) -> None:
    chain = rig.fabrik.chains[1]
    leave_mode()
    bpy.context.view_layer.objects.active = chain.target
    disable(rig, how)
    rig.location, chain.target.location = (2.0, 0.0, 0.0), (6.0, 0.5, 1.5)
    update()
    before = everything()
    with pytest.raises(FabrikError, match=REFUSALS[how]) as refused:
        solve_chains(bpy.context.view_layer, rig, [chain])
    assert str(refused.value).startswith("Chain 'bad2': the object 'Rig' is")
    if how != "excluded":  # then the target is in no chain that the interface finds
        assert error_of(bpy.ops.pose.fabrik_solve, only_active=True).startswith("Chain 'bad2': the object 'Rig' is")
    assert everything() == before


@pytest.mark.parametrize("what", ["object", "collection"])
def test_a_target_hidden_by_the_eye_is_as_good_as_any(rig: Object, what: str) -> None:
    (_, chain) = rig.fabrik.chains
    if what == "object":
        chain.target.hide_set(True)
    else:
        bpy.context.view_layer.layer_collection.children["FABRIK Targets"].hide_viewport = True
    update()
    chain.target.location = (3.5, 0.5, 1.5)
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    assert distance_left(rig, chain) < 1e-4


def test_a_missing_subtarget(rig: Object) -> None:
    def spoil(_: Object, chain: Any) -> None:
        chain.target, chain.subtarget = rig, "nose"

    assert refusal(rig, spoil) == "Chain 'bad2': its target 'Rig' has no bone 'nose'"


def test_a_subtarget_of_what_has_no_bones(rig: Object) -> None:
    message = refusal(rig, lambda _, chain: setattr(chain, "subtarget", "nose"))
    assert message == "Chain 'bad2': its target 'bad2 target' is not an armature, so it has no bone 'nose'"


@pytest.mark.parametrize("role", ["target", "pole_target"])
def test_a_target_that_is_nowhere(rig: Object, role: str) -> None:
    def spoil(_: Object, chain: Any) -> None:
        setattr(chain, role, make_empty("nowhere", (NAN, 0.0, 0.0)))

    word = "target" if role == "target" else "pole"
    assert refusal(rig, spoil) == f"Chain 'bad2': its {word} 'nowhere' has a position that is not a finite number"


def test_a_target_bone_that_is_nowhere(rig: Object) -> None:
    def spoil(armature: Object, chain: Any) -> None:
        chain.target, chain.subtarget = make_tail(2, "Other", "other"), "other finger"
        chain.target.pose.bones["other0"].location.z = NAN
        enter_pose_mode(armature)

    message = "Chain 'bad2': its target bone 'other finger' of 'Other' has a position that is not a finite number"
    assert refusal(rig, spoil) == message


def test_a_pole_angle_that_is_none(rig: Object) -> None:
    def spoil(_: Object, chain: Any) -> None:
        chain.pole_target, chain.pole_angle = make_empty("pole"), NAN

    assert refusal(rig, spoil) == "Chain 'bad2': its pole angle is not a finite number"


def test_an_influence_that_is_none(rig: Object) -> None:
    message = refusal(rig, lambda _, chain: setattr(chain, "influence", NAN))
    assert message == "Chain 'bad2': its influence is not a finite number"


def test_a_target_that_is_somewhere_but_turned_by_no_number_can_not_be_snapped_as_a_child(rig: Object) -> None:
    target = rig.fabrik.chains[1].target
    target.rotation_euler.x = NAN
    target.constraints.new("CHILD_OF").target = make_empty("parent")
    message = "Chain 'bad2': its target 'bad2 target' can't move: its rotation or scale"
    assert error_of(bpy.ops.pose.fabrik_snap_target).startswith(message)


# Targets that depend on the chain


def _subtarget(bone: str) -> Spoil:
    def spoil(armature: Object, chain: Any) -> None:
        chain.target, chain.subtarget = armature, bone

    return spoil


def _bone_parent(armature: Object, chain: Any) -> None:
    chain.target.parent, chain.target.parent_type, chain.target.parent_bone = armature, "BONE", "bad1"


def _constraint(kind: str, bone: str = "bad1") -> Spoil:
    def spoil(armature: Object, chain: Any) -> None:
        constraint = chain.target.constraints.new(kind)
        if kind == "ARMATURE":
            constraint = constraint.targets.new()
        constraint.target, constraint.subtarget = armature, bone

    return spoil


def _through_another(armature: Object, chain: Any) -> None:
    between = make_empty("between")
    between.constraints.new("COPY_LOCATION").target = armature
    between.constraints[0].subtarget = "bad finger"
    chain.target.parent = between


def _driver(kind: str) -> Spoil:
    def spoil(armature: Object, chain: Any) -> None:
        driver = chain.target.driver_add("location", 0).driver
        variable = driver.variables.new()
        variable.type = kind
        variable.targets[0].id = armature
        if kind == "TRANSFORMS":
            variable.targets[0].bone_target = "bad1"
        else:
            variable.targets[0].data_path = 'pose.bones["bad1"].rotation_quaternion[1]'
        driver.expression = variable.name

    return spoil


def _bone_of_another_armature(armature: Object, chain: Any) -> None:
    other = make_tail(2, "Other", "other")
    constraint = other.pose.bones["other1"].constraints.new("COPY_ROTATION")
    constraint.target, constraint.subtarget = armature, "bad2"
    enter_pose_mode(armature)
    chain.target, chain.subtarget = other, "other finger"


def _mesh(armature: Object, deform: str) -> Object:
    """A mesh with a vertex group, deformed by an armature or parented to one of its bones."""
    mesh = bpy.data.meshes.new("Skin")
    mesh.from_pydata([(4.0, 0.5, 1.0), (5.0, 0.5, 1.0), (4.0, 1.5, 1.0)], [], [(0, 1, 2)])
    skin = bpy.data.objects.new("Skin", mesh)
    bpy.context.scene.collection.objects.link(skin)
    skin.vertex_groups.new(name="bad1").add([0, 1, 2], 1.0, "REPLACE")
    if deform == "bone":
        skin.parent, skin.parent_type, skin.parent_bone = armature, "BONE", "bad1"
    elif deform == "ARMATURE":
        skin.modifiers.new("Armature", "ARMATURE").object = armature
    elif deform == "HOOK":
        hook = skin.modifiers.new("Hook", "HOOK")
        hook.object, hook.subtarget = armature, "bad1"
    elif deform == "parent":
        skin.parent, skin.parent_type = armature, "ARMATURE"
    elif deform == "NODES":
        _add_nodes(skin, make_empty("read"), armature)
    return skin


def _add_nodes(skin: Object, read: Object, armature: Object) -> None:
    """Add geometry nodes with an object that a bone carries as an input, in a panel."""
    read.parent, read.parent_type, read.parent_bone = armature, "BONE", "bad1"
    group: Any = bpy.data.node_groups.new("Reading", "GeometryNodeTree")
    for way in ("INPUT", "OUTPUT"):
        group.interface.new_socket("Geometry", in_out=way, socket_type="NodeSocketGeometry")
    panel = group.interface.new_panel("Panel")
    item = group.interface.new_socket("Object", in_out="INPUT", socket_type="NodeSocketObject", parent=panel)
    modifier: Any = skin.modifiers.new("Reading", "NODES")
    modifier.node_group = group
    set_input(modifier, item.identifier, read)


def _on_mesh(kind: str, deform: str) -> Spoil:
    def spoil(armature: Object, chain: Any) -> None:
        skin = _mesh(armature, deform)
        if kind == "VERTEX":
            chain.target.parent, chain.target.parent_type = skin, "VERTEX"
            return
        constraint = chain.target.constraints.new(kind)
        constraint.target = skin
        if kind == "COPY_LOCATION":
            constraint.subtarget = "bad1"

    return spoil


DEPENDENT = {
    "the tip bone": _subtarget("bad2"),
    "a child of the chain": _subtarget("bad finger"),
    "a child of the root bone": _subtarget("bad twig"),
    "a bone's child object": _bone_parent,
    "Copy Location": _constraint("COPY_LOCATION"),
    "Child Of": _constraint("CHILD_OF", "bad finger"),
    "Armature": _constraint("ARMATURE"),
    "through another object": _through_another,
    "a driver by transform": _driver("TRANSFORMS"),
    "a driver by property": _driver("SINGLE_PROP"),
    "a bone of another armature": _bone_of_another_armature,
    "a vertex group of a deformed mesh": _on_mesh("COPY_LOCATION", "ARMATURE"),
    "a vertex group of a mesh with a hook": _on_mesh("COPY_LOCATION", "HOOK"),
    "a vertex group of a bone's mesh": _on_mesh("COPY_LOCATION", "bone"),
    "a vertex group of a mesh deformed by its parent": _on_mesh("COPY_LOCATION", "parent"),
    "a vertex of a deformed mesh": _on_mesh("VERTEX", "ARMATURE"),
    "the surface of a deformed mesh": _on_mesh("SHRINKWRAP", "ARMATURE"),
    "the surface of a mesh whose nodes read an object": _on_mesh("SHRINKWRAP", "NODES"),
}


@pytest.mark.parametrize("case", DEPENDENT)
def test_a_target_that_depends_on_the_chain(rig: Object, case: str) -> None:
    message = refusal(rig, DEPENDENT[case])
    assert message.startswith("Chain 'bad2': its target ")
    assert " depends on the chain itself: it follows " in message
    assert "bone 'bad" in message


def test_a_pole_that_depends_on_the_chain(rig: Object) -> None:
    def spoil(armature: Object, chain: Any) -> None:
        chain.pole_target, chain.pole_subtarget = armature, "bad finger"

    expected = "Chain 'bad2': its pole bone 'bad finger' of 'Rig' depends on the chain itself: it follows"
    assert refusal(rig, spoil).startswith(expected)


def test_the_message_says_through_what(rig: Object) -> None:
    message = refusal(rig, _through_another)
    assert message.endswith("it follows 'between', which follows bone 'bad finger'")


def test_the_message_says_through_which_mesh(rig: Object) -> None:
    message = refusal(rig, _on_mesh("COPY_LOCATION", "bone"))
    assert message.endswith("it follows 'Skin', which follows bone 'bad1'")


@pytest.mark.parametrize(
    "how", ["the object alone", "deformed by its parent", "a modifier that is off", "not deformed"]
)
def test_a_mesh_that_only_seems_to_depend_on_the_chain(rig: Object, how: str) -> None:
    chain = rig.fabrik.chains[1]
    deform = {"deformed by its parent": "parent", "not deformed": ""}.get(how, "ARMATURE")
    constraint = chain.target.constraints.new("COPY_LOCATION")
    constraint.target = _mesh(rig, deform)
    if how == "a modifier that is off":
        constraint.target.modifiers[0].show_viewport = False
    if how in {"a modifier that is off", "not deformed"}:
        constraint.subtarget = "bad1"
    update()
    before = chain.target.matrix_world.translation.copy()
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    assert (chain.target.matrix_world.translation - before).length == 0.0
    assert distance_left(rig, chain) < 1e-4


@pytest.mark.parametrize("kind", ["muted", "without influence", "of another bone", "of the armature object"])
def test_a_target_that_only_seems_to_depend_on_the_chain(rig: Object, kind: str) -> None:
    chain = rig.fabrik.chains[1]
    if kind == "of the armature object":
        chain.target.parent = rig
    else:
        constraint = chain.target.constraints.new("COPY_LOCATION")
        constraint.target, constraint.subtarget = rig, "bad1"
        constraint.mute = kind == "muted"
        constraint.influence = 0.0 if kind == "without influence" else 1.0
        if kind == "of another bone":
            constraint.subtarget = "good finger"
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}


def test_chains_that_reach_for_each_other_by_roundabout_ways(rig: Object) -> None:
    for chain, other in zip(rig.fabrik.chains, ("bad2", "good2"), strict=True):
        constraint = chain.target.constraints.new("COPY_LOCATION")
        constraint.target, constraint.subtarget = rig, other
    assert error_of(bpy.ops.pose.fabrik_solve).startswith("Chains 'good2' and 'bad2' depend on each other")


# The whole


def refusals_of_all(armature: Object) -> tuple[set[str], str]:
    """What solving and snapping say of a rig with unusable objects, and what adding another chain says."""
    update()
    activate(armature, "bad1")
    solving = {error_of(bpy.ops.pose.fabrik_solve), error_of(bpy.ops.pose.fabrik_snap_target)}
    return solving, error_of(bpy.ops.pose.fabrik_chain_add, chain_count=2, create_pole=True)


@pytest.mark.parametrize("scale", [(0.0, 0.0, 0.0), (1.0, 0.0, 1.0)])
@pytest.mark.parametrize("of_parent", [False, True])
def test_an_object_scaled_to_nothing(rig: Object, scale: tuple[float, ...], of_parent: bool) -> None:
    rig.rotation_euler = (0.3, 0.4, 0.5)
    if of_parent:
        rig.parent = make_empty("parent")
        rig.parent.rotation_euler = (1.0, 0.2, 0.4)
    (rig.parent or rig).scale = scale
    nothing = "the object 'Rig' has a scale of 0"
    assert refusals_of_all(rig) == ({f"Chain 'good2': {nothing}"}, f"Can't add a chain at bone 'bad1': {nothing}")


@pytest.mark.parametrize("channel", ["location", "rotation_euler", "scale"])
def test_an_object_that_is_nowhere(rig: Object, channel: str) -> None:
    getattr(rig, channel)[1] = NAN
    rig.fabrik.chains[0].target.parent = rig  # which isn't to blame
    nowhere = "the object 'Rig' has a position that is not a finite number"
    assert refusals_of_all(rig) == ({f"Chain 'good2': {nowhere}"}, f"Can't add a chain at bone 'bad1': {nowhere}")


def test_an_object_that_is_small_is_not_scaled_to_nothing(rig: Object) -> None:
    rig.scale = (1e-6, 2e-6, 1e-7)
    update()
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}


def test_all_chains_switched_off(rig: Object) -> None:
    for chain in rig.fabrik.chains:
        chain.enabled = False
    assert error_of(bpy.ops.pose.fabrik_solve) == "All chains of 'Rig' are disabled: enable one in the list"
    assert bpy.ops.pose.fabrik_solve(only_active=True) == {"FINISHED"}


def test_no_chain_is_active(rig: Object) -> None:
    rig.fabrik.active_index = 7
    message = "No chain of 'Rig' is active: choose one in the list"
    assert error_of(bpy.ops.pose.fabrik_solve, only_active=True) == message
    assert error_of(bpy.ops.pose.fabrik_chain_remove) == message


def test_a_chain_that_is_there_already(rig: Object) -> None:
    activate(rig, "bad2")
    assert error_of(bpy.ops.pose.fabrik_chain_add) == "Chain 'bad2' already ends at bone 'bad2'"


def test_adding_a_chain_longer_than_its_parents(rig: Object) -> None:
    activate(rig, "bad1")
    message = error_of(bpy.ops.pose.fabrik_chain_add, chain_count=3, create_pole=True)
    assert message.startswith("Can't add a chain at bone 'bad1': it should have 3 bones")


OPERATORS = ("fabrik_chain_add", "fabrik_chain_remove", "fabrik_solve", "fabrik_snap_target")


@pytest.mark.parametrize("name", OPERATORS)
def test_a_button_that_is_grey_says_what_to_do(name: str) -> None:
    operator = getattr(bpy.ops.pose, name)
    make_empty("nothing")
    assert error_of(operator).endswith("Select an armature")
    armature = make_tail()
    leave_mode()
    assert error_of(operator).endswith("Switch to Pose Mode")
    bpy.ops.object.mode_set(mode="POSE")
    armature.data.bones.active = None
    needs = "Select the last bone of the chain" if name == "fabrik_chain_add" else "Add a chain first"
    assert error_of(operator).endswith(needs)
    armature.data.pose_position = "REST"
    assert error_of(operator).endswith("The armature is in Rest Position: switch to Pose Position")


# Done, but


def check_warning(rig: Object, capfd: pytest.CaptureFixture[str], *parts: str) -> None:
    update()
    warnings_in(capfd)
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    (warning,) = warnings_in(capfd)
    assert warning.startswith("Chain 'bad2': ") and "overridden on " in warning
    assert all(part in warning for part in parts), warning


@pytest.mark.parametrize("kind", ["COPY_ROTATION", "LIMIT_ROTATION"])
def test_bones_with_constraints_are_named(rig: Object, kind: str, capfd: pytest.CaptureFixture[str]) -> None:
    constraint = rig.pose.bones["bad1"].constraints.new(kind)
    if kind == "COPY_ROTATION":
        constraint.target, constraint.subtarget = rig, "good finger"
    check_warning(rig, capfd, "bone 'bad1'", f"constraint '{constraint.name}'")


@pytest.mark.parametrize("count", [0, 2])
def test_bones_that_another_bones_ik_turns_are_named(
    rig: Object, count: int, capfd: pytest.CaptureFixture[str]
) -> None:
    constraint = rig.pose.bones["bad finger"].constraints.new("IK")
    constraint.target, constraint.chain_count = make_empty("ik", (4.0, 1.0, 2.0)), count
    check_warning(rig, capfd, "bone 'bad2'", "constraint 'IK' of bone 'bad finger'")


def test_bones_with_driven_rotation_are_named(rig: Object, capfd: pytest.CaptureFixture[str]) -> None:
    rig.pose.bones["bad1"].rotation_mode = "XYZ"
    rig.pose.bones["bad1"].driver_add("rotation_euler", 0).driver.expression = "0.3"
    check_warning(rig, capfd, "bone 'bad1' (driver)")


def test_constraints_that_need_no_target_are_named(rig: Object, capfd: pytest.CaptureFixture[str]) -> None:
    rig.pose.bones["bad1"].constraints.new("PIVOT")
    check_warning(rig, capfd, "bone 'bad1' (constraint 'Pivot')")


@pytest.mark.parametrize("space", ["WORLD", "LOCAL"])
def test_constraints_of_locked_bones_between_are_named_where_they_move_the_tip(
    rig: Object, space: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """The neck of a rig that Rigify generates hangs on a locked bone that copies rotations in the world."""
    bone = rig.pose.bones["bad1"]
    bone.lock_rotation, bone.lock_rotation_w, bone.lock_rotations_4d = (True,) * 3, True, True
    constraint = bone.constraints.new("COPY_ROTATION")
    constraint.target, constraint.subtarget = rig, "good twig"
    for name in ("owner_space", "target_space"):
        setattr(constraint, name, space)
    if space == "WORLD":
        check_warning(rig, capfd, "bone 'bad1' (constraint 'Copy Rotation')")
        assert distance_left(rig, rig.fabrik.chains[1]) > 0.1
    else:
        update()
        warnings_in(capfd)
        assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
        assert warnings_in(capfd) == []
        assert distance_left(rig, rig.fabrik.chains[1]) < 1e-4


@pytest.mark.parametrize("kind", ["COPY_ROTATION", "IK", "ARMATURE", "CHILD_OF", "ACTION"])
@pytest.mark.parametrize("deleted", [False, True])
def test_constraints_without_a_target_are_not_named(
    rig: Object, kind: str, deleted: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    constraint = rig.pose.bones["bad2"].constraints.new(kind)
    if deleted:
        target = make_tail(1, "Other", "other") if kind == "ARMATURE" else make_empty("magnet")
        enter_pose_mode(rig)
        (constraint.targets.new() if kind == "ARMATURE" else constraint).target = target
        update()
        bpy.data.objects.remove(target)
    update()
    warnings_in(capfd)
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    assert warnings_in(capfd) == []
    assert distance_left(rig, rig.fabrik.chains[1]) < 1e-4


@pytest.mark.parametrize("how", ["muted", "without influence", "too short an IK", "a driver of its location"])
def test_what_overrides_nothing_is_not_named(rig: Object, how: str, capfd: pytest.CaptureFixture[str]) -> None:
    if how == "too short an IK":
        constraint = rig.pose.bones["bad finger"].constraints.new("IK")
        constraint.target, constraint.chain_count = make_empty("ik", (4.0, 1.0, 2.0)), 1
    elif how == "a driver of its location":
        rig.pose.bones["bad0"].driver_add("location", 0).driver.expression = "0.1"
    else:
        constraint = rig.pose.bones["bad1"].constraints.new("LIMIT_ROTATION")
        constraint.mute = how == "muted"
        constraint.influence = 0.0 if how == "without influence" else 1.0
    update()
    warnings_in(capfd)
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    assert warnings_in(capfd) == []


def test_a_constraint_that_only_moves_its_bone_still_lets_the_chain_reach_without_it(rig: Object) -> None:
    """What is solved is the pose before constraints: disable them, and the tip is at its target."""
    constraint = rig.pose.bones["bad1"].constraints.new("LIMIT_ROTATION")
    constraint.use_limit_x = True
    chain = rig.fabrik.chains[1]
    bpy.ops.pose.fabrik_solve()
    assert chain.status == "LIMITED"  # that is where Blender shows the tip
    constraint.mute = True
    update()
    assert distance_left(rig, chain) < 1e-4


@pytest.mark.parametrize("system", ["METRIC", "IMPERIAL", "NONE"])
@pytest.mark.parametrize("far", [1.2, 5.0])
def test_out_of_reach_is_the_best_pose_and_a_warning_in_the_scenes_units(
    rig: Object, far: float, system: str, capfd: pytest.CaptureFixture[str]
) -> None:
    units = bpy.context.scene.unit_settings
    units.system, units.scale_length = system, 0.1
    chain = rig.fabrik.chains[1]
    length = links_of(rig, chain).sum()
    chain.target.location = (3.0 + far * length, 0.0, 0.0)
    update()
    warnings_in(capfd)
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    (warning,) = warnings_in(capfd)
    assert warning.startswith("Chain 'bad2': out of reach, the tip is ")
    assert f"is {length_text(units, (far - 1.0) * length)} from its target" in warning
    assert f"{length_text(units, far * length)} from the root" in warning
    assert f"reach at most {length_text(units, length)}" in warning
    assert "m from the root" in warning or system != "METRIC"
    assert chain.status == "OUT_OF_REACH"
    assert distance_left(rig, chain) == pytest.approx(far - 1.0, abs=1e-5)
    assert abs(joints_of(rig, chain)[:, 1:]).max() < 1e-4  # straight toward it


@pytest.mark.parametrize("scale", [(3.0, 1.0, 1.0), (1.0, 3.0, 2.0)])
def test_the_reach_of_an_unevenly_scaled_object_is_that_toward_the_target(
    rig: Object, scale: tuple[float, float, float], capfd: pytest.CaptureFixture[str]
) -> None:
    """With the mean of the scales the message said 3.071 m from the root, and a reach of 3.364 m."""
    chain = rig.fabrik.chains[1]
    length, root = links_of(rig, chain).sum(), joints_of(rig, chain)[0]
    rig.scale = scale
    chain.target.location = (scale[0] * (root[0] + 1.2 * length), 0.0, 0.0)
    update()
    warnings_in(capfd)
    bpy.ops.pose.fabrik_solve()
    (warning,) = warnings_in(capfd)
    units = bpy.context.scene.unit_settings
    assert f"{length_text(units, 1.2 * scale[0] * length)} from the root" in warning
    assert f"reach at most {length_text(units, scale[0] * length)}" in warning


def test_a_target_farther_than_single_precision_squares_is_at_a_finite_distance(
    rig: Object, capfd: pytest.CaptureFixture[str]
) -> None:
    chain = rig.fabrik.chains[1]
    chain.target.location = (1e25, 0.0, 0.0)
    update()
    warnings_in(capfd)
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    (warning,) = warnings_in(capfd)
    assert "inf" not in warning
    assert chain.error == pytest.approx(1e25 / links_of(rig, chain).sum(), rel=1e-4)


@pytest.mark.parametrize("text", ["[", "[[1.0, 0.0]]", "[[0.0, 0.0, 0.0]]", '["abc"]', "7"])
def test_a_pole_shape_that_is_none_is_named(text: str, capfd: pytest.CaptureFixture[str]) -> None:
    armature = make_tail(3)
    chain = add_chain(armature, "bone2", 3, create_target=True, create_pole=True)
    chain.pole_shape = text
    before = [bone.matrix.copy() for bone in armature.pose.bones]
    with pytest.raises(RuntimeError, match="its pole shape isn't a list of directions"):
        bpy.ops.pose.fabrik_solve()
    assert [bone.matrix for bone in armature.pose.bones] == before
