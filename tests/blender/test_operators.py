# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What people do with the buttons: add, solve, snap, remove, undo, key, link and override."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import bpy
import pytest
from bpy.types import Context, KeyingSet, Object
from mathutils import Matrix, Vector

import fabrik_addon
from fabrik_addon.blender.rig.item_animation import revive_drivers
from fabrik_addon.blender.solving.auto_key import auto_key
from tests.blender.rigs import (
    activate,
    add_chain,
    bones_of,
    change_animated,
    channels_of,
    collect,
    distance_left,
    end_of,
    enter_pose_mode,
    error_of,
    everything,
    joints_of,
    keys_of,
    leave_mode,
    link_action,
    links_of,
    make_armature,
    make_empty,
    make_tail,
    matrices_of,
    overridden,
    pose_of,
    printed,
    set_chain,
    stop_tweaking,
    tail_bones,
    tweak_another_action,
    update,
)


def bend(armature: Object) -> None:
    """A pose that isn't rest, bent in one plane, its object somewhere else and askew."""
    for number, bone in enumerate(armature.pose.bones):
        bone.rotation_mode = "XYZ"
        bone.rotation_euler.x = -0.2 - 0.1 * (number % 3)
    armature.location, armature.rotation_euler, armature.scale = (1.0, 2.0, 3.0), (0.3, 0.4, 0.5), (2.0, 2.0, 2.0)
    update()


# Adding


@pytest.mark.parametrize("create_pole", [False, True])
@pytest.mark.parametrize("count", [1, 2, 3, 6])
def test_adding_a_chain_moves_no_bone_and_neither_does_solving_it(count: int, create_pole: bool) -> None:
    armature = make_tail(6)
    bend(armature)
    before = matrices_of(armature)
    chain = add_chain(armature, "bone5", count, create_target=True, create_pole=create_pole)
    assert abs(matrices_of(armature) - before).max() <= 1e-6
    assert (chain.target.matrix_world.translation - end_of(armature, chain)).length <= 1e-5
    for _ in range(2):
        bpy.ops.pose.fabrik_solve()
        assert chain.status == "REACHED"
        assert abs(matrices_of(armature) - before).max() <= 2e-6


def test_what_adding_makes() -> None:
    armature = make_tail(3)
    bend(armature)
    chain = add_chain(armature, "bone2", 2, create_target=True, create_pole=True)
    assert (chain.name, chain.tip, chain.chain_count, chain.use_tail) == ("bone2", "bone2", 2, True)
    assert (chain.target.name, chain.pole_target.name) == ("bone2 target", "bone2 pole")
    (collection,) = bpy.context.scene.collection.children
    assert collection.name == "FABRIK Targets"
    assert set(collection.objects) == {chain.target, chain.pole_target}
    for empty in collection.objects:
        assert empty.users_collection == (collection,)
        assert empty.type == "EMPTY"
        assert empty.show_in_front
        assert 0.02 < empty.empty_display_size / (2.0 * links_of(armature, chain).sum()) < 0.5
    assert chain.target.empty_display_type != chain.pole_target.empty_display_type
    world = (armature.matrix_world @ armature.pose.bones["bone2"].matrix).to_quaternion()
    assert world.rotation_difference(chain.target.matrix_world.to_quaternion()).angle < 1e-3
    second = add_chain(armature, "bone1", 2, create_target=True)
    assert second.target.name in collection.objects
    assert list(bpy.context.scene.collection.children) == [collection]


def layer_of(collection: Any) -> Any:
    layers = bpy.context.view_layer.layer_collection.children
    return next(layer for layer in layers if layer.collection == collection)


@pytest.mark.parametrize("how", ["excluded", "hidden", "disabled", "another name", "a number too short"])
def test_targets_go_where_they_can_be_seen(how: str) -> None:
    armature = make_tail(3)
    name = {"another name": "FABRIK Targets.old", "a number too short": "FABRIK Targets.1"}.get(how, "FABRIK Targets")
    first = collect(name)
    if how == "excluded":
        layer_of(first).exclude = True
    elif how == "hidden":
        layer_of(first).hide_viewport = True
    first.hide_viewport = how == "disabled"
    chain = add_chain(armature, "bone2", 3, (0.4, 0.9, 1.1), create_pole=True)
    (second,) = chain.target.users_collection
    assert second != first
    assert not first.objects
    assert second.name.startswith("FABRIK Targets")
    assert chain.pole_target.users_collection == (second,)
    assert chain.target.visible_get()
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    assert distance_left(armature, chain) < 1e-4
    assert add_chain(armature, "bone1", 1).target.users_collection == (second,)


def test_without_a_target_it_makes_only_the_chain() -> None:
    armature = make_tail(3)
    objects = set(bpy.data.objects)
    chain = add_chain(armature, "bone2", 2, create_target=False, create_pole=False)
    assert chain.target is None
    assert chain.pole_target is None
    assert set(bpy.data.objects) == objects
    assert not bpy.context.scene.collection.children
    assert error_of(bpy.ops.pose.fabrik_solve) == "Chain 'bone2': it has no target: choose an object in its settings"


def test_names_are_unique_and_the_new_chain_is_active() -> None:
    armature = make_tail(4)
    for number, tip in enumerate(("bone3", "bone2", "bone1")):
        add_chain(armature, tip, 1)
        assert armature.fabrik.active_index == number
        armature.fabrik.chains[number].name = "bone0"
    chain = add_chain(armature, "bone0", 1)
    names = [chain.name for chain in armature.fabrik.chains]
    assert len(set(names)) == len(names)
    assert armature.fabrik.active_index == 3
    assert chain.tip == "bone0"


def test_a_chain_count_of_0_goes_up_to_the_root() -> None:
    armature = make_tail(7)
    chain = add_chain(armature, "bone6", 0, (0.0, 3.0, 2.0))
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    assert len(bones_of(armature, chain)) == 7
    assert distance_left(armature, chain) < 1e-4
    assert bones_of(armature, chain)[0].matrix_basis != Matrix()


def test_without_use_tail_the_chain_ends_at_the_tips_head() -> None:
    armature = make_tail(4)
    chain = add_chain(armature, "bone3", 2, (0.5, 1.5, 2.0))
    chain.use_tail = False
    update()
    before = channels_of(armature.pose.bones["bone3"])
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    assert distance_left(armature, chain) < 1e-4
    assert (armature.matrix_world @ armature.pose.bones["bone3"].head - chain.target.location).length < 1e-4
    assert channels_of(armature.pose.bones["bone3"]) == before
    assert armature.pose.bones["bone0"].matrix_basis == Matrix()
    assert armature.pose.bones["bone1"].matrix_basis != Matrix()


def test_bones_with_constraints_stay_where_they_are_when_a_chain_is_added() -> None:
    armature = make_tail(3)
    armature.pose.bones["bone1"].constraints.new("LIMIT_ROTATION").use_limit_x = True
    bend(armature)
    before = matrices_of(armature)
    add_chain(armature, "bone2", 3, create_pole=True)
    assert abs(matrices_of(armature) - before).max() <= 1e-6


def test_a_pose_that_is_animated_and_then_changed_stays_when_a_chain_is_added() -> None:
    """New objects make Blender rebuild its dependencies; the change that isn't keyed must survive it."""
    armature = make_tail(3)
    change_animated(armature.pose.bones["bone1"])
    before = matrices_of(armature)
    chain = add_chain(armature, "bone2", 3)
    assert abs(matrices_of(armature) - before).max() <= 1e-6
    bpy.ops.pose.fabrik_solve()
    assert abs(matrices_of(armature) - before).max() <= 1e-6
    assert chain.status == "REACHED"


# Removing


def test_removing_takes_the_active_chain_and_leaves_its_objects() -> None:
    armature = make_tail(4)
    for tip in ("bone1", "bone2", "bone3"):
        add_chain(armature, tip, 2)
    objects, before = set(bpy.data.objects), pose_of(armature)
    armature.fabrik.active_index = 1
    assert bpy.ops.pose.fabrik_chain_remove() == {"FINISHED"}
    assert [chain.tip for chain in armature.fabrik.chains] == ["bone1", "bone3"]
    assert armature.fabrik.active_index == 1
    assert bpy.ops.pose.fabrik_chain_remove() == {"FINISHED"}
    assert armature.fabrik.active_index == 0
    assert bpy.ops.pose.fabrik_chain_remove() == {"FINISHED"}
    assert not armature.fabrik.chains
    assert armature.fabrik.active_index == 0
    assert set(bpy.data.objects) == objects
    assert pose_of(armature) == before
    assert error_of(bpy.ops.pose.fabrik_chain_remove).endswith("Add a chain first")


def animated_chains() -> Any:
    """Three chains, each with a curve in the action, one in an NLA strip and a driver."""
    armature = make_tail(4)
    for number, tip in enumerate(("bone1", "bone2", "bone3")):
        chain = add_chain(armature, tip, 2)
        for frame in (1, 20):
            chain.weight = 1.0 + number + frame
            chain.keyframe_insert("weight", frame=frame)
        chain.driver_add("softness").driver.expression = f"0.1 * {number}"
    animation = armature.animation_data
    track = animation.nla_tracks.new()
    for start in (1, 100):  # two strips of one action: its curves are changed once
        track.strips.new("below", start, animation.action)
    animation.action = None
    for number, chain in enumerate(armature.fabrik.chains):
        for frame in (1, 20):
            chain.influence = 0.1 * (1 + number)
            chain.keyframe_insert("influence", frame=frame)
    return armature


def animation_of(armature: Any) -> dict[str, tuple[float, ...]]:
    bpy.context.scene.frame_set(20)
    chains = armature.fabrik.chains
    return {chain.name: tuple(round(v, 4) for v in (chain.weight, chain.influence, chain.softness)) for chain in chains}


@pytest.mark.parametrize("index", [0, 1, 2])
def test_the_other_chains_keep_their_animation_and_that_of_a_removed_one_goes(index: int) -> None:
    """Blender finds the animated settings of a chain by its place in the list."""
    armature = animated_chains()
    before = animation_of(armature)
    assert list(before.values()) == [(21.0, 0.1, 0.0), (22.0, 0.2, 0.1), (23.0, 0.3, 0.2)]
    armature.fabrik.active_index = index
    assert bpy.ops.pose.fabrik_chain_remove() == {"FINISHED"}
    del before[f"bone{index + 1}"]
    assert animation_of(armature) == before
    for _ in range(2):
        assert bpy.ops.pose.fabrik_chain_remove() == {"FINISHED"}
    add_chain(armature, "bone3", 2)
    assert animation_of(armature) == {"bone3": (1.0, 1.0, 0.0)}


def put_away(armature: Object, how: str) -> Any:
    """Let an object's action not be the one at hand; return how it comes back."""
    animation: Any = armature.animation_data
    if how == "tweaked":
        tweak_another_action(armature)
        return stop_tweaking
    action, slot = animation.action, animation.action_slot
    animation.action = bpy.data.actions.new("other")

    def assign() -> None:
        animation.action, animation.action_slot = action, slot

    return assign


@pytest.mark.parametrize("how", ["tweaked", "unassigned"])
def test_chains_keep_their_animation_in_an_action_that_isnt_at_hand(how: str) -> None:
    """While another strip of the NLA is tweaked, and while another action is assigned."""
    armature = animated_chains()
    before = animation_of(armature)
    bring_back = put_away(armature, how)
    armature.fabrik.active_index = 0
    assert bpy.ops.pose.fabrik_chain_remove() == {"FINISHED"}
    bring_back()
    del before["bone1"]
    assert animation_of(armature) == before


def test_curves_that_may_be_those_of_another_objects_chains_stay() -> None:
    """Nothing tells whose an action is that no object uses."""
    armature = animated_chains()
    action = armature.animation_data.action
    before = keys_of(action)
    put_away(armature, "unassigned")
    add_chain(make_tail(2), "bone1", 2)
    enter_pose_mode(armature)
    assert bpy.ops.pose.fabrik_chain_remove() == {"FINISHED"}
    assert keys_of(action) == before


def test_an_action_that_another_object_has_while_a_strip_is_tweaked_is_named() -> None:
    """Blender doesn't count it as a user then."""
    armature = animated_chains()
    tracks = armature.animation_data.nla_tracks
    tracks.remove(tracks[0])
    twin = armature.copy()
    bpy.context.scene.collection.objects.link(twin)
    enter_pose_mode(twin)
    tweak_another_action(twin)
    enter_pose_mode(armature)
    assert f"animates '{twin.name}' too" in error_of(bpy.ops.pose.fabrik_chain_remove)
    assert len(armature.fabrik.chains) == 3


@pytest.mark.parametrize("index", [0, 1, 2])
def test_drivers_that_read_settings_of_chains_read_those_of_the_same_chains(index: int) -> None:
    """Of objects, of materials' nodes and of the armature itself; those that read a removed chain fail."""
    armature = make_tail(4)
    material = bpy.data.materials.new("material")
    empties = [make_empty(f"empty {number}") for number in range(3)]
    owners = [
        (empties[0], "location", 0),
        (empties[1], "location", 1),
        (empties[2], "location", 2),
        (material.node_tree.nodes[0].inputs[0], "default_value", 2),
        (armature.pose.bones[0], "scale", 2),
    ]
    curves = []
    for number, tip in enumerate(("bone1", "bone2", "bone3")):
        add_chain(armature, tip, 2).influence = 0.1 + 0.1 * number
    for owner, path, number in owners:
        curve = owner.driver_add(path, *(() if isinstance(getattr(owner, path), float) else (0,)))
        source = curve.driver.variables.new().targets[0]
        source.id, source.data_path = armature, f"fabrik.chains[{number}].influence"
        curve.driver.type = "SUM"
        curves.append((curve, source, number))
    update()
    armature.fabrik.active_index = index
    assert bpy.ops.pose.fabrik_chain_remove() == {"FINISHED"}
    armature.update_tag()
    update()
    for curve, source, number in curves:
        if number == index:
            with pytest.raises(ValueError, match="could not be resolved"):
                armature.path_resolve(source.data_path)
        else:
            assert armature.path_resolve(source.data_path) == pytest.approx(0.1 + 0.1 * number)
            assert curve.driver.is_valid


def test_drivers_work_after_the_extension_was_disabled_and_enabled() -> None:
    """Blender passes over a driver that has failed."""
    armature = make_tail(3)
    chain, empty = add_chain(armature, "bone2", 2), make_empty("empty")
    armature["softness"] = 0.2
    for owner, path, source_path in (
        (chain, ("softness",), '["softness"]'),
        (empty, ("location", 0), "fabrik.chains[0].softness"),
    ):
        driver = owner.driver_add(*path).driver
        source = driver.variables.new().targets[0]
        source.id, source.data_path, driver.type = armature, source_path, "SUM"
    update()
    assert empty.location.x == pytest.approx(0.2)
    fabrik_addon.unregister()
    try:
        for obj in (armature, empty):
            obj.update_tag()
        update()
        assert empty.location.x == 0.0
    finally:
        fabrik_addon.register()
    assert bpy.app.timers.is_registered(revive_drivers)
    revive_drivers()  # in the background no timer runs
    armature["softness"] = 0.3
    armature.update_tag()
    update()
    assert armature.fabrik.chains[0].softness == pytest.approx(0.3)
    assert empty.location.x == pytest.approx(0.3)


def test_a_chain_whose_animation_others_have_too_is_not_removed() -> None:
    armature = animated_chains()
    add_chain(armature, "bone0", 1)
    other = armature.copy()
    assert bpy.ops.pose.fabrik_chain_remove() == {"FINISHED"}, "it is the last one, and not animated"
    armature.fabrik.active_index = 0
    said = error_of(bpy.ops.pose.fabrik_chain_remove)
    assert "' of 'Rig' animates 'Rig.001' too: give the object one of its own" in said
    bpy.data.objects.remove(other)
    assert bpy.ops.pose.fabrik_chain_remove() == {"FINISHED"}


def test_a_chain_added_again_has_not_been_solved() -> None:
    armature = make_tail(3)
    assert add_chain(armature, "bone2", 2).status == "NONE"
    bpy.ops.pose.fabrik_solve()
    assert armature.fabrik.chains[0].status == "REACHED"
    bpy.ops.pose.fabrik_chain_remove()
    assert add_chain(armature, "bone2", 2).status == "NONE"


# Solving


@pytest.fixture
def arms() -> Object:
    """A spine of three bones and two arms of two that hang on it; the arms are first in the list of chains."""
    bones = tail_bones(3, "spine")
    for side, x in (("left", 1.0), ("right", -1.0)):
        bones += [
            type(bones[0])(f"{side} upper", (0.3 * x, 0.0, 2.8), (1.1 * x, 0.1, 2.8), "spine2"),
            type(bones[0])(f"{side} lower", (1.1 * x, 0.1, 2.8), (1.9 * x, 0.0, 2.8), f"{side} upper", True),
        ]
    armature = make_armature(bones)
    add_chain(armature, "left lower", 2, (1.2, -0.6, 2.4))
    add_chain(armature, "right lower", 2, (-0.9, -0.5, 2.0))
    add_chain(armature, "spine2", 3, (0.3, -0.9, 2.5))
    return armature


def test_chains_that_hang_on_another_are_solved_after_it(arms: Object) -> None:
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    for chain in arms.fabrik.chains:
        assert chain.status == "REACHED"
        assert distance_left(arms, chain) < 1e-4


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 2, 0), (2, 1, 0)])
def test_the_order_of_the_list_does_not_matter(arms: Object, order: tuple[int, ...]) -> None:
    bpy.ops.pose.fabrik_solve()
    expected = matrices_of(arms)
    for bone in arms.pose.bones:
        bone.matrix_basis = Matrix()
    names = [arms.fabrik.chains[i].name for i in order]
    for position, name in enumerate(names):
        arms.fabrik.chains.move(arms.fabrik.chains.find(name), position)
    bpy.ops.pose.fabrik_solve()
    assert abs(matrices_of(arms) - expected).max() < 1e-6


def test_a_hand_that_reaches_for_the_other_hand(arms: Object) -> None:
    """The chain whose target another chain moves comes after it, though both are as deep."""
    for side, other in (("left", "right"), ("right", "left")):
        follower, leader = arms.fabrik.chains[f"{side} lower"], arms.fabrik.chains[f"{other} lower"]
        palm = make_empty("palm")
        palm.parent, palm.parent_type, palm.parent_bone = arms, "BONE", f"{other} lower"
        follower.target = palm
        leader.target = make_empty("front", (0.1, -1.2, 2.4))
        update()
        assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
        assert distance_left(arms, leader) < 1e-4
        assert distance_left(arms, follower) < 1e-4
        assert (follower.status, leader.status) == ("REACHED", "REACHED")


def test_only_active_solves_one_chain_even_if_it_is_switched_off(arms: Object) -> None:
    arms.fabrik.active_index = 1
    arms.fabrik.chains[1].enabled = False
    update()
    before = pose_of(arms)
    assert bpy.ops.pose.fabrik_solve(only_active=True) == {"FINISHED"}
    assert [chain.status for chain in arms.fabrik.chains] == ["NONE", "REACHED", "NONE"]
    changed = {name for name, channels in pose_of(arms).items() if channels != before[name]}
    assert changed == {"right upper", "right lower"}


def test_a_chain_that_is_switched_off_is_left_alone(arms: Object) -> None:
    arms.fabrik.chains[0].enabled = False
    bpy.ops.pose.fabrik_solve()
    assert [chain.status for chain in arms.fabrik.chains] == ["NONE", "REACHED", "REACHED"]


def test_two_armatures_and_a_bone_of_one_as_the_others_target() -> None:
    other = make_tail(2, "Other", "other", (2.0, 0.0, 0.0))
    other.rotation_euler = (0.1, 0.2, 0.3)
    armature = make_tail(3)
    chain = add_chain(armature, "bone2", 3)
    chain.target, chain.subtarget = other, "other1"
    chain.pole_target, chain.pole_subtarget = other, "other twig"
    update()
    before = pose_of(other)
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    assert distance_left(armature, chain) < 1e-4
    assert pose_of(other) == before
    enter_pose_mode(other)
    add_chain(other, "other1", 2, (1.5, 0.3, 1.4))
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    assert distance_left(armature, chain) > 1e-2  # its target has moved, and nothing follows by itself
    enter_pose_mode(armature)
    bpy.ops.pose.fabrik_solve()
    assert distance_left(armature, chain) < 1e-4


def test_a_bone_of_the_same_armature_outside_the_chain_as_target() -> None:
    armature = make_armature([*tail_bones(3), *tail_bones(1, "ctrl", (1.0, 0.5, 1.0))])
    chain = set_chain(armature, "bone2", 3, armature)
    chain.subtarget = "ctrl0"
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    assert distance_left(armature, chain) < 1e-4


def test_objects_of_one_name_from_two_files(tmp_path: Path) -> None:
    path = str(tmp_path / "library.blend")
    bpy.data.libraries.write(path, {make_empty("target", (0.5, 0.5, 1.5))})
    armature = make_tail(3)
    with bpy.data.libraries.load(path, link=True) as (source, into):
        into.objects = list(source.objects)
    (linked,) = into.objects
    bpy.context.scene.collection.objects.link(linked)
    assert linked.name == bpy.data.objects["target"].name
    for target in (linked, bpy.data.objects["target", None]):
        armature.fabrik.chains.clear()
        chain = set_chain(armature, "bone2", 3, target)
        assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
        assert distance_left(armature, chain) < 1e-4


def test_the_result_can_be_read_and_not_be_written() -> None:
    armature = make_tail(3)
    chain = add_chain(armature, "bone2", 3, (0.4, 0.9, 1.1))
    assert (chain.status, chain.error, chain.iterations_used) == ("NONE", 0.0, 0)
    bpy.ops.pose.fabrik_solve()
    assert chain.status == "REACHED"
    assert 0.0 <= chain.error <= chain.tolerance
    assert chain.iterations_used >= 1
    for name, value in (("status", "REACHED"), ("error", 0.0), ("iterations_used", 0)):
        assert chain.is_property_readonly(name)
        with pytest.raises(AttributeError):
            setattr(chain, name, value)


def test_the_result_is_not_saved(tmp_path: Path) -> None:
    armature = make_tail(3)
    add_chain(armature, "bone2", 3, (9.0, 0.0, 0.0))
    bpy.ops.pose.fabrik_solve()
    assert armature.fabrik.chains[0].status == "OUT_OF_REACH"
    path = str(tmp_path / "rig.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    assert bpy.data.objects["Rig"].fabrik.chains[0].status == "OUT_OF_REACH"
    bpy.ops.wm.open_mainfile(filepath=path)
    chain = bpy.data.objects["Rig"].fabrik.chains[0]
    assert (chain.status, chain.error, chain.iterations_used) == ("NONE", 0.0, 0)
    assert (chain.tip, chain.chain_count, chain.target.name) == ("bone2", 3, "bone2 target")


# Snapping


@pytest.fixture
def posed() -> Object:
    """A planar tail with target and pole elsewhere."""
    armature = make_tail(4)
    bend(armature)
    chain = add_chain(armature, "bone3", 4, create_pole=True)
    chain.target.location, chain.pole_target.location = (9.0, 9.0, 9.0), (-5.0, 3.0, 2.0)
    update()
    return armature


def check_snapped(armature: Object, most: float = 1e-5) -> None:
    before = matrices_of(armature)
    assert bpy.ops.pose.fabrik_snap_target() == {"FINISHED"}
    (chain,) = armature.fabrik.chains
    assert distance_left(armature, chain) < 1e-5
    assert abs(matrices_of(armature) - before).max() <= 1e-6
    bpy.ops.pose.fabrik_solve()
    assert chain.status == "REACHED"
    assert abs(matrices_of(armature) - before).max() <= most


@pytest.mark.parametrize("as_bones", [False, True])
def test_snapping_leaves_a_pole_where_its_chain_bends_toward_it(as_bones: bool) -> None:
    armature = make_tail(2)
    armature.location, armature.rotation_euler = (0.3, 0.2, 0.1), (0.3, 0.2, 1.0)
    update()
    chain = add_chain(armature, "bone1", 2, create_pole=True, as_bones=as_bones)
    pole = armature.pose.bones[chain.pole_subtarget] if as_bones else chain.pole_target
    chord = armature.pose.bones["bone1"].tail - armature.pose.bones["bone0"].head
    axes = pole.bone.matrix_local.to_3x3().inverted() if as_bones else armature.matrix_world.to_3x3()
    for share in (0.0, -0.4, 0.9):
        pole.location += axes @ (share * chord)
        place = pole.location[:]
        check_snapped(armature)
        assert pole.location[:] == place


@pytest.mark.parametrize("pole_angle", [0.0, 2.0])
@pytest.mark.parametrize("how", ["snap", "drag"])
def test_a_pole_stays_on_its_side_of_a_chain_that_is_stretched_straight(how: str, pole_angle: float) -> None:
    """It went to the side of the first bone's X axis, and the elbow bent the other way as the target came back."""
    armature = make_tail(2)
    chain = add_chain(armature, "bone1", 2, create_pole=True)
    pole = Vector((0.3, -1.5, 0.8))
    chain.pole_target.location, chain.pole_angle = pole, pole_angle
    elbow = armature.pose.bones["bone1"]
    for target in ((0.3, 0.2, 1.4), (1.0, 1.0, 4.0)):
        chain.target.location = target
        update()
        assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
        if chain.status == "REACHED":
            bent = elbow.head.copy()
    if how == "snap":
        assert bpy.ops.pose.fabrik_snap_target() == {"FINISHED"}
    else:
        assert bpy.ops.pose.fabrik_drag(bone="bone1", position=(1.5, 1.0, 4.0)) == {"FINISHED"}
    assert (chain.pole_target.matrix_world.translation - pole).length < 1e-4
    chain.target.location = (0.3, 0.2, 1.4)
    update()
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    assert chain.status == "REACHED" and (elbow.head - bent).length < 1e-4


@pytest.mark.parametrize("role", ["target", "pole"])
@pytest.mark.parametrize("how", ["itself", "parent", "constraint"])
def test_a_goal_with_which_the_armature_moves_is_not_moved(posed: Object, role: str, how: str) -> None:
    """The armature was moved, and its chain was as far from the target as before."""
    (chain,) = posed.fabrik.chains
    goal = posed
    if how != "itself":
        goal = make_empty("root", (0.5, 0.5, 1.0))
    if how == "parent":
        posed.parent = goal
    elif how == "constraint":
        posed.constraints.new("COPY_LOCATION").target = goal
    setattr(chain, "target" if role == "target" else "pole_target", goal)
    enter_pose_mode(posed)
    update()
    wanted = f"Chain 'bone3': its {role} '{goal.name}' can't move: 'Rig' moves with it"
    for refused in (
        error_of(bpy.ops.pose.fabrik_snap_target),
        error_of(bpy.ops.pose.fabrik_key_targets, frame_start=1, frame_end=2),
        error_of(bpy.ops.pose.fabrik_drag_target, chain="bone3", point=role.upper(), position=(1.0, 1.0, 1.0)),
    ):
        assert refused == wanted
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}


def test_a_target_whose_property_drives_the_influence_of_its_chain_is_moved(posed: Object) -> None:
    """A switch on the control is usual: the armature doesn't move with it."""
    (chain,) = posed.fabrik.chains
    chain.target["ik"] = 1.0
    variable = chain.driver_add("influence").driver.variables.new()
    variable.targets[0].id, variable.targets[0].data_path = chain.target, '["ik"]'
    check_snapped(posed)


def test_snapping_moves_targets_to_the_pose_and_solving_changes_nothing(posed: Object) -> None:
    check_snapped(posed)


@pytest.mark.parametrize("angle", [-2.0, 0.5, math.pi])
def test_snapping_heeds_the_pole_angle(posed: Object, angle: float) -> None:
    posed.fabrik.chains[0].pole_angle = angle
    check_snapped(posed)


def test_snapping_targets_with_parents(posed: Object) -> None:
    (chain,) = posed.fabrik.chains
    for empty in (chain.target, chain.pole_target):
        empty.parent = make_empty("parent", (1.0, -2.0, 0.5))
        empty.parent.rotation_euler, empty.parent.scale = (0.3, 0.2, 1.0), (1.0, 2.0, 0.5)
        empty.matrix_parent_inverse = Matrix.Translation((3.0, 2.0, 1.0))
        empty.delta_location = (0.1, 0.2, 0.3)
    update()
    check_snapped(posed)


def test_snapping_a_pole_that_is_the_targets_child(posed: Object) -> None:
    (chain,) = posed.fabrik.chains
    chain.pole_target.parent = chain.target
    update()
    check_snapped(posed)


def test_snapping_bones(posed: Object) -> None:
    (chain,) = posed.fabrik.chains
    other = make_tail(2, "Controls", "control", (4.0, 0.0, 0.0))
    other.rotation_euler, other.scale = (0.5, 0.1, 0.2), (1.5, 1.5, 1.5)
    other.pose.bones["control0"].rotation_quaternion = (1.0, 0.2, 0.3, 0.1)
    enter_pose_mode(posed)
    chain.target, chain.subtarget = other, "control finger"
    chain.pole_target, chain.pole_subtarget = other, "control twig"
    update()
    check_snapped(posed)


@pytest.mark.parametrize("mode", ["QUATERNION", "AXIS_ANGLE", "ZXY"])
@pytest.mark.parametrize("on", ["an object", "an object under an uneven parent", "a bone"])
def test_snapping_turns_the_target_of_a_chain_that_takes_its_rotation(posed: Object, on: str, mode: str) -> None:
    (chain,) = posed.fabrik.chains
    chain.pole_target = None
    owner: Any = chain.target
    if on == "a bone":
        other = make_tail(2, "Controls", "control", (4.0, 0.0, 0.0))
        other.rotation_euler, other.scale = (0.5, 0.1, 0.2), (1.5, 1.5, 1.5)
        enter_pose_mode(posed)
        chain.target, chain.subtarget = other, "control finger"
        owner = other.pose.bones["control finger"]
    elif on == "an object under an uneven parent":
        owner.parent = make_empty("parent", (1.0, -2.0, 0.5))
        owner.parent.rotation_euler, owner.parent.scale = (0.3, 0.2, 1.0), (1.0, 1.2, 0.9)
    owner.rotation_mode = mode
    update()
    chain.use_rotation = True
    posed.pose.bones["bone3"].rotation_euler = (0.5, -0.7, 0.3)
    update()
    # Under an uneven scale several rounds come as near as the target's tolerance.
    check_snapped(posed, 3e-4 if "uneven" in on else 1e-5)


def test_snapping_only_the_active_chain() -> None:
    armature = make_armature([*tail_bones(2, "a"), *tail_bones(2, "b", (3.0, 0.0, 0.0))])
    add_chain(armature, "a1", 2, (5.0, 5.0, 5.0))
    add_chain(armature, "b1", 2, (6.0, 6.0, 6.0))
    update()
    armature.fabrik.active_index = 0
    assert bpy.ops.pose.fabrik_snap_target(only_active=True) == {"FINISHED"}
    first, second = armature.fabrik.chains
    assert distance_left(armature, first) < 1e-5
    assert tuple(second.target.location) == (6.0, 6.0, 6.0)


@pytest.mark.parametrize("kind", ["COPY_LOCATION", "LIMIT_LOCATION", "a driver", "a lock", "a connected bone"])
def test_what_can_not_be_snapped_is_said_and_nothing_moves(posed: Object, kind: str) -> None:
    (chain,) = posed.fabrik.chains
    pole = chain.pole_target
    if kind == "COPY_LOCATION":
        pole.constraints.new(kind).target = make_empty("magnet", (1.0, 1.0, 1.0))
    elif kind == "LIMIT_LOCATION":
        limit = pole.constraints.new(kind)
        limit.use_max_x, limit.max_x, limit.use_min_x, limit.min_x = True, -50.0, True, -50.0
    elif kind == "a driver":
        pole.driver_add("location", 1).driver.expression = "frame * 7.0"
    elif kind == "a lock":
        pole.lock_location[2] = True
    else:
        other = make_tail(2, "Controls", "control", (4.0, 0.0, 0.0))
        enter_pose_mode(posed)
        chain.pole_target, chain.pole_subtarget = other, "control1"
    message = error_of(bpy.ops.pose.fabrik_snap_target)
    name = "control1" if kind == "a connected bone" else "bone3 pole"
    assert message.startswith(f"Chain 'bone3': its pole '{name}' ")
    reason = {"a lock": "location is locked", "a connected bone": "it is connected"}
    assert message.endswith(reason.get(kind, "moved elsewhere by its constraints or drivers, or by another chain"))


@pytest.mark.parametrize("on", ["an object", "a bone"])
def test_a_target_whose_rotation_is_locked_is_not_rotated(posed: Object, on: str) -> None:
    (chain,) = posed.fabrik.chains
    chain.pole_target, owner = None, chain.target
    if on == "a bone":
        other = make_tail(2, "Controls", "control", (4.0, 0.0, 0.0))
        enter_pose_mode(posed)
        chain.target, chain.subtarget = other, "control finger"
        owner = other.pose.bones["control finger"]
    update()
    chain.use_rotation, owner.lock_rotation[1] = True, True
    posed.pose.bones["bone3"].rotation_euler = (0.5, -0.7, 0.3)
    update()
    message = f"Chain 'bone3': its target '{owner.name}' can't rotate: its rotation is locked"
    assert error_of(bpy.ops.pose.fabrik_snap_target) == message
    assert error_of(bpy.ops.pose.fabrik_key_targets, frame_start=1, frame_end=2) == message
    owner.lock_rotation[1] = False
    assert bpy.ops.pose.fabrik_snap_target() == {"FINISHED"}
    owner.lock_rotation[1] = True
    posed.pose.bones["bone0"].location.x += 0.5
    update()
    assert bpy.ops.pose.fabrik_snap_target() == {"FINISHED"}, "it has its rotation already"


# Undo and redo


def undo_push(message: str) -> None:
    bpy.ops.ed.undo_push(message=message)


@pytest.mark.parametrize("name", ["fabrik_chain_add", "fabrik_solve", "fabrik_snap_target", "fabrik_chain_remove"])
def test_undo_is_one_step(name: str) -> None:
    armature = make_tail(3)
    add_chain(armature, "bone1", 2, (0.3, 0.8, 0.9), create_pole=True)
    activate(armature, "bone2")
    update()
    undo_push("before")
    before = everything()
    assert getattr(bpy.ops.pose, name)() == {"FINISHED"}
    undo_push("after")  # in the background operators that are called don't push themselves
    after = everything()
    assert after != before
    bpy.ops.ed.undo()
    undone = everything()
    for state in (before, undone):
        for chain in state["Rig"]["chains"]:
            chain[:] = [(key, value) for key, value in chain if key not in {"status", "error", "iterations_used"}]
    assert undone == before
    bpy.ops.ed.redo()
    assert everything() == after


def test_operators_are_complete_without_a_mouse() -> None:
    """What the redo panel and scripts call is execute; the options that it repeats are remembered properties."""
    for name in ("fabrik_chain_add", "fabrik_chain_remove", "fabrik_solve", "fabrik_snap_target"):
        operator = getattr(bpy.types, f"POSE_OT_{name}")
        assert {"REGISTER", "UNDO"} <= set(operator.bl_options)
        assert not hasattr(operator, "invoke")
        tooltip = getattr(bpy.ops.pose, name).get_rna_type().description
        assert tooltip
        assert not tooltip.endswith(".")


def test_the_same_call_from_the_same_state_gives_the_same_bits() -> None:
    """Which is what redo does: undo, then execute again."""
    armature = make_tail(5)
    chain = add_chain(armature, "bone4", 5, (1.0, 2.0, 1.5), create_pole=True)
    results = []
    for _ in range(2):
        for bone in armature.pose.bones:
            bone.matrix_basis = Matrix()
        bpy.ops.pose.fabrik_solve()
        results.append((pose_of(armature), chain.error, chain.iterations_used))
    assert results[0] == results[1]


# Keys


@pytest.fixture
def keyed() -> Object:
    """A tail of three with auto-keying on and a chain of its last two; the target is off the pose."""
    armature = make_tail(3)
    for bone in armature.pose.bones:
        bone.rotation_mode = "XYZ" if bone.name == "bone1" else "QUATERNION"
    add_chain(armature, "bone2", 2, (0.4, 0.6, 1.6))
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    edit = bpy.context.preferences.edit
    edit.use_auto_keyframe_insert_needed = edit.use_keyframe_insert_available = edit.use_visual_keying = False
    bpy.context.scene.frame_set(7)
    return armature


def curves_of(obj: Object) -> dict[tuple[str, int], list[tuple[float, float]]]:
    return keys_of(obj.animation_data.action) if obj.animation_data and obj.animation_data.action else {}


EVERY_CURVE = {
    *(('pose.bones["bone1"].rotation_euler', index) for index in range(3)),
    *(('pose.bones["bone2"].rotation_quaternion', index) for index in range(4)),
}


def test_auto_key_keys_the_rotation_of_every_bone_that_changed(keyed: Object) -> None:
    bpy.ops.pose.fabrik_solve()
    curves = curves_of(keyed)
    assert set(curves) == EVERY_CURVE
    for (path, index), keys in curves.items():
        value = keyed.path_resolve(path)[index]
        assert keys == [(7.0, pytest.approx(value, abs=1e-6))]
    bpy.context.scene.frame_set(8)
    bpy.context.scene.frame_set(7)
    assert distance_left(keyed, keyed.fabrik.chains[0]) < 1e-4


@pytest.mark.parametrize("with_set", [False, True])
def test_auto_key_keys_between_two_frames_where_the_scene_is_there(keyed: Object, with_set: bool) -> None:
    tools, sets = bpy.context.scene.tool_settings, bpy.context.scene.keying_sets_all
    tools.use_keyframe_insert_keyingset = with_set
    sets.active = next(entry for entry in sets if entry.bl_idname == "WholeCharacter")
    bpy.context.scene.frame_set(7, subframe=0.5)
    bpy.ops.pose.fabrik_solve()
    assert {frame for keys in curves_of(keyed).values() for frame, _ in keys} == {7.5}


def test_a_solve_that_changes_nothing_makes_no_keys(keyed: Object) -> None:
    bpy.ops.pose.fabrik_snap_target()
    bpy.ops.pose.fabrik_solve()
    assert curves_of(keyed) == {}


def test_auto_key_off_makes_no_keys_even_with_a_keying_set(keyed: Object) -> None:
    tools = bpy.context.scene.tool_settings
    tools.use_keyframe_insert_auto, tools.use_keyframe_insert_keyingset = False, True
    sets = bpy.context.scene.keying_sets_all
    sets.active = next(entry for entry in sets if entry.bl_idname == "WholeCharacter")
    bpy.ops.pose.fabrik_solve()
    bpy.ops.pose.fabrik_snap_target()
    assert curves_of(keyed) == {}
    assert curves_of(keyed.fabrik.chains[0].target) == {}


def test_auto_key_with_a_keying_set_keys_what_it_holds(keyed: Object) -> None:
    bpy.context.scene.tool_settings.use_keyframe_insert_keyingset = True
    sets = bpy.context.scene.keying_sets_all
    sets.active = next(entry for entry in sets if entry.bl_idname == "WholeCharacter")
    bpy.ops.pose.fabrik_solve()
    assert set(curves_of(keyed)) == EVERY_CURVE


@pytest.mark.parametrize("selected", ["", "bone2", "bone0"])
@pytest.mark.parametrize("name", ["Rotation", "BUILTIN_KSI_LocRot", "WholeCharacterSelected"])
def test_auto_key_with_a_keying_set_of_what_is_selected_keys_what_changed(
    keyed: Object, name: str, selected: str
) -> None:
    bpy.context.scene.tool_settings.use_keyframe_insert_keyingset = True
    sets = bpy.context.scene.keying_sets_all
    sets.active = next(entry for entry in sets if entry.bl_idname == name)
    for bone in keyed.pose.bones:
        bone.select = bone.name == selected
    window = bpy.context.window_manager.windows[0]
    with bpy.context.temp_override(window=window, area=window.screen.areas[0]):  # keying sets read the area's type
        assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
        assert set(curves_of(keyed)) == EVERY_CURVE
        keyed.fabrik.chains[0].target.location.z += 0.3
        assert bpy.ops.pose.fabrik_snap_target() == {"FINISHED"}
    has_location = name == "BUILTIN_KSI_LocRot"
    wanted = {("location", index) for index in range(3)} if has_location else set()
    assert set(curves_of(keyed.fabrik.chains[0].target)) == wanted
    assert [bone.name for bone in keyed.pose.bones if bone.select] == ([selected] if selected else [])


@pytest.mark.parametrize("name", ["Rotation", "BUILTIN_KSI_LocRot", "WholeCharacter", "WholeCharacterSelected"])
def test_auto_key_with_a_keying_set_keys_bones_in_object_mode_too(keyed: Object, name: str) -> None:
    bpy.context.scene.tool_settings.use_keyframe_insert_keyingset = True
    sets = bpy.context.scene.keying_sets_all
    sets.active = next(entry for entry in sets if entry.bl_idname == name)
    leave_mode()
    bpy.context.view_layer.objects.active = keyed.fabrik.chains[0].target
    window = bpy.context.window_manager.windows[0]
    with bpy.context.temp_override(window=window, area=window.screen.areas[0]):
        assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    assert set(curves_of(keyed)) == EVERY_CURVE


class KeyingSetOfObjects(bpy.types.KeyingSetInfo):
    """A keying set as an add-on may have it, whose script takes no bones."""

    bl_idname = "TEST_objects"
    bl_label = "Objects"

    def poll(self, _context: Context) -> bool:
        return True

    def iterator(self, context: Context, keying_set: KeyingSet) -> None:
        for obj in context.selected_objects:
            self.generate(context, keying_set, obj)

    def generate(self, _context: Context, keying_set: KeyingSet, data: Any) -> None:
        keying_set.paths.add(data, "location")


def test_auto_key_with_a_keying_set_that_takes_no_bones_keys_none_in_object_mode(keyed: Object) -> None:
    """Its script raised a TypeError after the bones had changed."""
    bpy.utils.register_class(KeyingSetOfObjects)
    try:
        bpy.context.scene.tool_settings.use_keyframe_insert_keyingset = True
        sets = bpy.context.scene.keying_sets_all
        sets.active = next(entry for entry in sets if entry.bl_idname == KeyingSetOfObjects.bl_idname)
        leave_mode()
        bpy.context.view_layer.objects.active = keyed.fabrik.chains[0].target
        window = bpy.context.window_manager.windows[0]
        with bpy.context.temp_override(window=window, area=window.screen.areas[0]):
            assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    finally:
        bpy.utils.unregister_class(KeyingSetOfObjects)
    assert keyed.fabrik.chains[0].status == "REACHED" and curves_of(keyed) == {}


def test_auto_key_with_a_keying_set_of_something_else_keys_nothing(keyed: Object) -> None:
    bpy.context.scene.tool_settings.use_keyframe_insert_keyingset = True
    sets = bpy.context.scene.keying_sets_all
    sets.active = next(entry for entry in sets if entry.bl_idname == "BUILTIN_KSI_DeltaLocation")
    window = bpy.context.window_manager.windows[0]
    with bpy.context.temp_override(window=window, area=window.screen.areas[0]):
        assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    assert keyed.fabrik.chains[0].status == "REACHED" and curves_of(keyed) == {}


@pytest.mark.parametrize("with_set", [False, True])
def test_auto_key_that_replaces_keys_makes_none_where_there_are_none(keyed: Object, with_set: bool) -> None:
    tools = bpy.context.scene.tool_settings
    tools.auto_keying_mode, tools.use_keyframe_insert_keyingset = "REPLACE_KEYS", with_set
    sets = bpy.context.scene.keying_sets_all
    sets.active = next(entry for entry in sets if entry.bl_idname == "WholeCharacter")
    bpy.ops.pose.fabrik_solve()
    bpy.ops.pose.fabrik_snap_target()
    assert not bpy.data.actions
    path = 'pose.bones["bone2"].rotation_quaternion'
    keyed.keyframe_insert(path, frame=7)
    keyed.fabrik.chains[0].target.location = (0.6, -0.5, 1.4)
    bpy.ops.pose.fabrik_solve()
    rotation = keyed.pose.bones["bone2"].rotation_quaternion
    assert [keys[0][1] for curve, keys in sorted(curves_of(keyed).items()) if curve[0] == path] == list(rotation)
    bpy.context.scene.frame_set(9)
    before = curves_of(keyed)
    keyed.fabrik.chains[0].target.location = (0.4, 0.6, 1.6)
    bpy.ops.pose.fabrik_solve()
    assert curves_of(keyed) == before


@pytest.mark.parametrize("how", ["a linked action", "locked curves", "a locked group", "a keying set without it"])
def test_what_auto_key_can_not_key_is_said(
    keyed: Object, how: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    keyed.pose.bones["bone2"].keyframe_insert("rotation_quaternion", frame=1)
    bag = keyed.animation_data.action.layers[0].strips[0].channelbags[0]
    names = {"'bone2'"}
    if how == "locked curves":
        bag.fcurves[0].lock = True
    elif how == "a locked group":
        bag.groups[0].lock = True
    else:
        link_action(keyed, tmp_path / "library.blend")
        names = {"'bone1'", "'bone2'"}
    if how == "a keying set without it":
        bpy.context.scene.tool_settings.use_keyframe_insert_keyingset = True
        made = bpy.context.scene.keying_sets.new(idname="mine", name="mine")
        made.paths.add(keyed, 'pose.bones["bone2"].location')
        bpy.context.scene.keying_sets.active, names = made, set()
    keyed.fabrik.chains[0].target.location = (0.4, 0.6, 1.6)
    printed(capfd)
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    said = [line for line in printed(capfd).splitlines() if "Not keyed: " in line]
    assert len(said) == bool(names) and all(name in said[0] for name in names)


def test_auto_key_with_a_keying_set_of_absolute_paths(keyed: Object) -> None:
    bpy.context.scene.tool_settings.use_keyframe_insert_keyingset = True
    made = bpy.context.scene.keying_sets.new(idname="mine", name="mine")
    made.paths.add(keyed, 'pose.bones["bone2"].rotation_quaternion')
    made.paths.add(keyed, 'pose.bones["bone0"].rotation_quaternion')
    made.paths.add(keyed, 'pose.bones["bone1"].rotation_euler', index=2, group_method="NAMED", group_name="Twist")
    bpy.context.scene.keying_sets.active = made
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    one_axis = ('pose.bones["bone1"].rotation_euler', 2)
    assert set(curves_of(keyed)) == {curve for curve in EVERY_CURVE if "bone2" in curve[0]} | {one_axis}
    ((bag,),) = ([*strip.channelbags] for strip in keyed.animation_data.action.layers[0].strips)
    assert bag.fcurves.find(one_axis[0], index=2).group.name == "Twist"


@pytest.mark.parametrize("with_set", [False, True])
def test_auto_key_only_where_needed(keyed: Object, with_set: bool) -> None:
    """As Blender has it, which with a keying set heeds the preference for keys that are inserted by hand."""
    tools, edit = bpy.context.scene.tool_settings, bpy.context.preferences.edit
    tools.use_keyframe_insert_keyingset, sets = with_set, bpy.context.scene.keying_sets_all
    sets.active = next(entry for entry in sets if entry.bl_idname == "WholeCharacter")
    bpy.ops.pose.fabrik_solve()
    before = curves_of(keyed)
    edit.use_auto_keyframe_insert_needed, edit.use_keyframe_insert_needed = not with_set, with_set
    bpy.context.scene.frame_set(20)
    bpy.ops.pose.fabrik_solve()
    assert curves_of(keyed) == before
    bone = keyed.pose.bones["bone1"]
    bone.rotation_euler.y += 0.1
    auto_key(bpy.context, [(bone, "rotation_euler")])
    keys = {index: len(found) for (path, index), found in curves_of(keyed).items() if "bone1" in path}
    assert keys == {0: 1, 1: 2, 2: 1}
    edit.use_auto_keyframe_insert_needed, edit.use_keyframe_insert_needed = with_set, not with_set
    bpy.context.scene.frame_set(30)
    bone.rotation_euler.y += 0.1
    auto_key(bpy.context, [(bone, "rotation_euler")])
    keys = {index: len(found) for (path, index), found in curves_of(keyed).items() if "bone1" in path}
    assert keys == {0: 2, 1: 3, 2: 2}


@pytest.mark.parametrize("with_set", [False, True])
def test_auto_key_keys_what_is_seen_where_the_preferences_say_so(keyed: Object, with_set: bool) -> None:
    tools, edit = bpy.context.scene.tool_settings, bpy.context.preferences.edit
    tools.use_keyframe_insert_keyingset, sets = with_set, bpy.context.scene.keying_sets_all
    sets.active = next(entry for entry in sets if entry.bl_idname == "WholeCharacter")
    edit.use_visual_keying, bone = True, keyed.pose.bones["bone1"]
    limit = bone.constraints.new("LIMIT_ROTATION")
    limit.use_limit_x, limit.owner_space = True, "LOCAL"
    bone.rotation_euler = (0.5, 0.0, 0.0)
    update()
    auto_key(bpy.context, [(bone, "rotation_euler")])
    assert abs(curves_of(keyed)['pose.bones["bone1"].rotation_euler', 0][0][1]) < 1e-6


def test_auto_key_only_where_there_are_curves(keyed: Object) -> None:
    bpy.context.preferences.edit.use_keyframe_insert_available = True
    keyed.pose.bones["bone2"].keyframe_insert("rotation_quaternion", index=1, frame=1)
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    assert set(curves_of(keyed)) == {('pose.bones["bone2"].rotation_quaternion', 1)}


def test_auto_key_leaves_locked_channels_alone(keyed: Object) -> None:
    keyed.pose.bones["bone1"].lock_rotation[1] = True
    bpy.ops.pose.fabrik_solve()
    assert set(curves_of(keyed)) == EVERY_CURVE - {('pose.bones["bone1"].rotation_euler', 1)}


def test_snapping_keys_the_location_of_what_it_moved(keyed: Object) -> None:
    bpy.ops.pose.fabrik_snap_target()
    assert set(curves_of(keyed.fabrik.chains[0].target)) == {("location", index) for index in range(3)}
    assert curves_of(keyed) == {}


def test_an_animated_pose_is_solved_from_where_it_is(keyed: Object) -> None:
    bone = keyed.pose.bones["bone1"]
    for frame, angle in ((1, 0.0), (20, 1.0)):
        bone.rotation_euler.x = angle
        bone.keyframe_insert("rotation_euler", frame=frame)
    (chain,) = keyed.fabrik.chains
    for frame in (1, 10, 20):
        bpy.context.scene.frame_set(frame)
        assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    for frame in (20, 1, 10):
        bpy.context.scene.frame_set(frame)
        assert distance_left(keyed, chain) < 1e-4


# Linked rigs


@pytest.fixture
def library(tmp_path: Path) -> str:
    """A file with a collection: a tail with a chain, and the chain's target."""
    armature = make_tail(3)
    chain = add_chain(armature, "bone2", 2, (0.4, 0.6, 1.6))
    leave_mode()
    collect("Character", armature, chain.target)
    path = str(tmp_path / "character.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    return path


def link_character(path: str) -> Any:
    with bpy.data.libraries.load(path, link=True) as (_, into):
        into.collections = ["Character"]
    bpy.context.scene.collection.children.link(into.collections[0])
    return into.collections[0]


def override_character(path: str) -> Object:
    made = link_character(path).override_hierarchy_create(bpy.context.scene, bpy.context.view_layer)
    for obj in made.all_objects:
        obj.override_library.is_system_override = False
    (armature,) = (obj for obj in made.all_objects if obj.type == "ARMATURE")
    return armature


def test_a_linked_armature_is_not_for_posing(library: str) -> None:
    (armature,) = (obj for obj in link_character(library).all_objects if obj.type == "ARMATURE")
    bpy.context.view_layer.objects.active = armature
    with bpy.context.temp_override(object=armature, active_object=armature, mode="POSE"):
        assert not bpy.ops.pose.fabrik_solve.poll()


def test_a_library_override_can_be_posed_and_changed_and_saved(library: str, tmp_path: Path) -> None:
    armature = override_character(library)
    enter_pose_mode(armature)
    (chain,) = armature.fabrik.chains
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    assert distance_left(armature, chain) < 1e-4
    for name, value in (
        ("chain_count", 3),
        ("iterations", 77),
        ("tolerance", 1e-5),
        ("enabled", False),
        ("pole_angle", 0.5),
    ):
        setattr(chain, name, value)
    mine = add_chain(armature, "bone1", 2, (0.2, 0.9, 1.1), create_pole=True)
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    assert mine.status == "REACHED"

    path = str(tmp_path / "shot.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    (armature,) = (obj for obj in bpy.data.objects if obj.type == "ARMATURE" and obj.override_library)
    theirs, mine = armature.fabrik.chains
    assert (theirs.tip, theirs.chain_count, theirs.iterations, theirs.enabled) == ("bone2", 3, 77, False)
    assert theirs.tolerance == pytest.approx(1e-5)
    assert (mine.tip, mine.target.name, mine.pole_target.name) == ("bone1", "bone1 target", "bone1 pole")
    update()
    assert distance_left(armature, mine) < 1e-4
    enter_pose_mode(armature)
    mine.target.location = (0.5, -0.5, 1.2)
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    assert distance_left(armature, mine) < 1e-4


def test_a_chain_of_the_library_with_the_name_of_an_overrides_own_chain_is_kept(tmp_path: Path) -> None:
    """As Blender does with constraints, the override's own is numbered."""
    make_tail(3)
    armature = overridden(tmp_path)
    add_chain(armature, "bone1", 2).name = "arm"
    leave_mode()
    shot, library = str(tmp_path / "shot.blend"), str(tmp_path / "library.blend")
    bpy.ops.wm.save_as_mainfile(filepath=shot)
    bpy.ops.wm.open_mainfile(filepath=library)
    armature = bpy.data.objects["Rig"]
    enter_pose_mode(armature)
    add_chain(armature, "bone2", 3).name = "arm"
    leave_mode()
    bpy.ops.wm.save_mainfile()
    for _ in range(3):
        bpy.ops.wm.open_mainfile(filepath=shot)
        armature = next(obj for obj in bpy.data.objects if obj.override_library)
        chains = {chain.name: (chain.tip, chain.target.name) for chain in armature.fabrik.chains}
        assert chains == {"arm.001": ("bone1", "bone1 target"), "arm": ("bone2", "bone2 target")}
        bpy.ops.wm.save_mainfile()


def test_keys_on_a_library_override(library: str) -> None:
    armature = override_character(library)
    enter_pose_mode(armature)
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    bpy.context.preferences.edit.use_keyframe_insert_available = False
    armature.fabrik.chains[0].target.location += Vector((0.1, 0.2, -0.3))
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    assert {path for path, _ in curves_of(armature)} == {
        'pose.bones["bone1"].rotation_quaternion',
        'pose.bones["bone2"].rotation_quaternion',
    }


@pytest.mark.parametrize("override", [False, True])
def test_targets_do_not_go_into_another_files_collection(tmp_path: Path, override: bool) -> None:
    add_chain(make_tail(3), "bone2", 2)
    path = str(tmp_path / "library.blend")
    bpy.data.libraries.write(path, {bpy.data.collections["FABRIK Targets"]})
    bpy.ops.wm.read_factory_settings(use_empty=True)
    with bpy.data.libraries.load(path, link=True) as (_, into):
        into.collections = ["FABRIK Targets"]
    (theirs,) = into.collections
    bpy.context.scene.collection.children.link(theirs)
    if override:
        theirs = theirs.override_hierarchy_create(bpy.context.scene, bpy.context.view_layer)
        assert theirs.name == "FABRIK Targets"
    before = set(theirs.objects)
    chain = add_chain(make_tail(3), "bone2", 3, (0.4, 0.9, 1.1))
    (mine,) = chain.target.users_collection
    assert mine.library is None
    assert mine.override_library is None
    assert set(theirs.objects) == before
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}


@pytest.mark.parametrize("bone", ["", "bone finger"])
def test_what_is_linked_is_not_snapped(library: str, bone: str) -> None:
    objects = {obj.type: obj for obj in link_character(library).all_objects}
    armature = make_tail(3, "Mine", "mine", (2.0, 0.0, 0.0))
    chain = set_chain(armature, "mine2", 3, objects["ARMATURE" if bone else "EMPTY"])
    chain.subtarget = bone
    message = f"Chain 'mine2': its target '{bone or chain.target.name}' can't move: it is linked"
    assert error_of(bpy.ops.pose.fabrik_snap_target) == message


def test_what_is_overridden_is_snapped(library: str) -> None:
    theirs = override_character(library)
    armature = make_tail(3, "Mine", "mine", (2.0, 0.0, 0.0))
    set_chain(armature, "mine2", 3, theirs).subtarget = "bone finger"
    check_snapped(armature)


def test_the_joints_of_a_duplicated_armature_are_its_own() -> None:
    armature = make_tail(3)
    add_chain(armature, "bone2", 3, (0.4, 0.9, 1.1))
    bpy.ops.pose.fabrik_solve()
    leave_mode()
    before = joints_of(armature, armature.fabrik.chains[0])
    bpy.ops.object.select_all(action="DESELECT")
    armature.select_set(True)
    bpy.ops.object.duplicate()
    twin = bpy.context.object
    assert twin != armature
    assert twin.fabrik.chains[0].status == "NONE"
    enter_pose_mode(twin)
    twin.fabrik.chains[0].target = make_empty("other", (0.2, -0.9, 1.5))
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    assert distance_left(twin, twin.fabrik.chains[0]) < 1e-4
    assert abs(joints_of(armature, armature.fabrik.chains[0]) - before).max() == 0.0
