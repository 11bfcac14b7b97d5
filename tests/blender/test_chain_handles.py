# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The handles of targets and poles, and the drag of a pole. With the mouse: tests/gui."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Vector

from fabrik_addon.blender.drag import ChainDrag, Grab
from fabrik_addon.blender.interface.chain_handles import VIEW3D_GGT_fabrik_chains, chain_handles
from tests.blender.rigs import (
    Bone,
    add_chain,
    distance_left,
    end_of,
    error_of,
    everything,
    joints_of,
    keys_of,
    layer,
    leave_mode,
    make_armature,
    make_empty,
    make_tail,
    matrices_of,
    pose_of,
    set_chain,
    tail_bones,
    update,
)

drag: Any = bpy.ops.pose.fabrik_drag_target


def points(armature: Any) -> list[tuple[str, str]]:
    return [(handle.options["chain"], handle.options["point"]) for handle in chain_handles(armature)]


def test_each_target_and_pole_has_a_handle_where_it_is() -> None:
    armature = make_tail(4)
    chain = add_chain(armature, "bone3", 2, (0.5, 0.4, 3.0), create_pole=True)
    other = set_chain(armature, "bone1", 2, armature)
    other.subtarget = "bone twig"
    armature.location = (1.0, 2.0, 3.0)
    update()
    found = chain_handles(armature)
    assert points(armature) == [("bone3", "TARGET"), ("bone3", "POLE"), ("bone1", "TARGET")]
    assert found[0].position == chain.target.matrix_world.translation
    assert found[1].position == chain.pole_target.matrix_world.translation
    assert (found[2].position - armature.matrix_world @ armature.pose.bones["bone twig"].head).length < 1e-6
    assert len({handle.shape for handle in found}) == len({handle.color for handle in found}) == 2


def test_pins_disabled_chains_and_missing_bones_have_none_and_a_shared_target_has_one() -> None:
    armature = make_tail(4)
    target = make_empty("shared", (0.0, 1.0, 2.0))
    for tip in ("bone3", "bone2", "bone1"):
        set_chain(armature, tip, 1, target)
    assert points(armature) == [("bone3", "TARGET")]
    first, second, third = armature.fabrik.chains
    first.enabled, second.use_pin = False, True
    second.pole_target = make_empty("pole")
    assert points(armature) == [("bone2", "POLE"), ("bone1", "TARGET")]
    third.target, third.subtarget = armature, "no such bone"
    assert points(armature) == [("bone2", "POLE")]


def test_handles_are_for_pose_mode_and_can_be_switched_off() -> None:
    armature = make_tail(3)
    assert not VIEW3D_GGT_fabrik_chains.poll(bpy.context)
    chain = add_chain(armature, "bone2", 2)
    assert VIEW3D_GGT_fabrik_chains.poll(bpy.context)
    armature.fabrik.show_handles = False
    assert not VIEW3D_GGT_fabrik_chains.poll(bpy.context)
    armature.fabrik.show_handles = True
    chain.enabled = False
    assert not VIEW3D_GGT_fabrik_chains.poll(bpy.context)
    chain.enabled = True
    leave_mode()
    assert not VIEW3D_GGT_fabrik_chains.poll(bpy.context)


def bend_direction(armature: Any) -> np.ndarray:
    root, middle = (np.array(armature.pose.bones[name].head) for name in ("bone2", "bone3"))
    end = np.array(armature.pose.bones["bone3"].tail)
    along = (end - root) / np.linalg.norm(end - root)
    off = middle - root
    return off - along * (off @ along)


def test_a_pole_is_dragged_and_the_chain_bends_toward_it() -> None:
    armature = make_tail(4)
    chain = add_chain(armature, "bone3", 2, create_pole=True)
    chain.target.location.z -= 0.5
    bpy.ops.pose.fabrik_solve()
    before, target = everything(), end_of(armature, chain).copy()
    session = ChainDrag(layer(), armature, Grab("bone3", chain.name, is_pole=True))
    assert everything() == before
    for place in (Vector((2.0, 0.5, 3.0)), Vector((-2.0, -0.5, 3.0)), Vector((0.0, 2.0, 3.0))):
        session.move(layer(), place)
        assert (chain.pole_target.matrix_world.translation - place).length < 1e-5
        assert (end_of(armature, chain) - target).length < 1e-3
        assert session.distance_left < 1e-3 and session.result is not None and session.result.status == "REACHED"
        root = np.array(armature.pose.bones["bone2"].head)
        along = (np.array(target) - root) / np.linalg.norm(np.array(target) - root)
        wanted = np.array(place) - root
        wanted -= along * (wanted @ along)
        bend = bend_direction(armature)
        cosine = wanted @ bend / np.linalg.norm(wanted) / np.linalg.norm(bend)
        assert cosine > 0.999
    session.move(layer(), session.start_position)
    assert everything() == before
    session.move(layer(), Vector((2.0, 0.5, 3.0)))
    session.cancel(layer())
    assert everything() == before


def test_the_operator_drags_the_pole_of_a_named_chain_and_keys_it() -> None:
    armature = make_tail(4)
    first = add_chain(armature, "bone3", 2, create_pole=True)
    add_chain(armature, "bone1", 2)
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    bpy.context.preferences.edit.use_keyframe_insert_available = False
    place = Vector((1.5, 0.3, 2.8))
    pose = pose_of(armature)
    assert drag(chain="bone3", point="POLE", position=place) == {"FINISHED"}
    assert (first.pole_target.matrix_world.translation - place).length < 1e-5 and pose_of(armature) != pose
    assert {path for path, _ in keys_of(first.pole_target.animation_data.action)} == {"location"}
    assert first.target.animation_data is None
    assert drag(chain="bone3", position=Vector((0.4, 0.2, 3.0))) == {"FINISHED"}
    assert (first.target.matrix_world.translation - Vector((0.4, 0.2, 3.0))).length < 1e-5


def test_all_chains_that_share_a_target_follow_it() -> None:
    armature = make_armature([*tail_bones(3, "left"), *tail_bones(3, "right", (1.5, 0.0, 0.0))])
    prop = make_empty("prop", (0.8, 0.3, 2.2))
    for tip in ("left2", "right2"):
        set_chain(armature, tip, 3, prop)
    bpy.ops.pose.fabrik_solve()
    before = everything()
    session = ChainDrag(layer(), armature, Grab("left2", "left2"))
    place = Vector((0.6, 0.8, 1.6))
    session.move(layer(), place)
    for chain in armature.fabrik.chains:
        assert (end_of(armature, chain) - place).length < 1e-3, chain.name
    assert session.others_off == 0
    session.cancel(layer())
    assert everything() == before
    session = ChainDrag(layer(), armature, Grab("right2", "right2"))
    session.move(layer(), place)
    assert all((end_of(armature, chain) - place).length < 1e-3 for chain in armature.fabrik.chains)
    session.confirm()
    assert [chain.status for chain in armature.fabrik.chains] == ["REACHED", "REACHED"]
    session = ChainDrag(layer(), armature, Grab("right2", "right2"))
    session.move(layer(), Vector((-2.4, 0.0, 0.2)))
    session.confirm()
    assert [chain.status for chain in armature.fabrik.chains] == ["REACHED", "OUT_OF_REACH"]


def two_tails_with_a_follower(way: str) -> tuple[Any, Any, Any]:
    """Two arms: the left one's target is dragged, the right one's follows it; the armature, both chains."""
    armature = make_armature(
        [
            *tail_bones(3, "left"),
            *tail_bones(3, "right", (1.5, 0.0, 0.0)),
            Bone("control", (0.2, -0.4, 2.6), (0.2, -0.4, 3.0)),
            Bone("child", (1.3, -0.4, 2.6), (1.3, -0.4, 3.0), "control"),
        ]
    )
    if way == "bone child":
        targets = [(armature, "control"), (armature, "child")]
    elif way == "bone parent":
        empty = make_empty("follower", (0.6, -0.4, 0.0))
        empty.parent, empty.parent_type, empty.parent_bone = armature, "BONE", "control"
        targets = [(armature, "control"), (empty, "")]
    else:
        empty, control = make_empty("follower", (1.3, -0.4, 2.6)), make_empty("control", (0.2, -0.4, 2.6))
        targets = [(control, ""), (empty, "")]
        if way == "object parent":
            empty.parent, empty.matrix_parent_inverse = control, control.matrix_world.inverted()
        else:
            constraint = empty.constraints.new("COPY_LOCATION")
            constraint.target, constraint.use_offset = control, True
            empty.location = (1.1, 0.0, 0.0)
    chains = []
    for tip, (target, bone) in zip(("left2", "right2"), targets, strict=True):
        chains.append(set_chain(armature, tip, 3, target))
        chains[-1].subtarget = bone
    bpy.ops.pose.fabrik_solve()
    update()
    return armature, armature.fabrik.chains["left2"], armature.fabrik.chains["right2"]


@pytest.mark.parametrize("way", ["bone child", "bone parent", "object parent", "constraint"])
def test_chains_whose_targets_follow_the_dragged_one_are_solved_along(way: str) -> None:
    armature, left, right = two_tails_with_a_follower(way)
    before = everything()
    place = Vector((0.4, 0.6, 2.2))
    session = ChainDrag(layer(), armature, Grab("left2", "left2"))
    for share in (0.4, 1.0):
        session.move(layer(), session.start_position.lerp(place, share))
        assert [distance_left(armature, chain) < 1e-4 for chain in (left, right)] == [True, True]
    assert session.others_off == 0
    session.cancel(layer())
    assert everything() == before
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    bpy.context.preferences.edit.use_keyframe_insert_available = False
    assert drag(chain="left2", position=place) == {"FINISHED"}
    assert [distance_left(armature, chain) < 1e-4 for chain in (left, right)] == [True, True]
    keyed = {path.split('"')[1] for path, _ in keys_of(armature.animation_data.action)}
    assert {f"{side}{i}" for side in ("left", "right") for i in range(3)} <= keyed
    assert right.status == "REACHED"


def test_a_pole_that_is_a_child_of_the_dragged_target_bends_its_chain() -> None:
    armature, left, right = two_tails_with_a_follower("object parent")
    right.pole_target, right.target = right.target, make_empty("own", (1.6, 0.2, 2.4))
    bpy.ops.pose.fabrik_solve()
    drag(chain="left2", position=Vector((-1.5, 0.6, 1.2)))
    dragged = matrices_of(armature)
    bpy.ops.pose.fabrik_solve()
    assert abs(matrices_of(armature) - dragged).max() < 1e-4
    assert [chain.status for chain in (left, right)] == ["REACHED", "REACHED"]


def test_a_chain_that_follows_the_dragged_target_changes_nothing_about_held_chains() -> None:
    """Held chains that share bones with the dragged one had the weight of targets, not of pins."""
    bones = [Bone("spine", (0, 0, 0), (0, 0, 1)), *tail_bones(2, "other", (0.0, 1.5, 0.0))]
    for side, x in (("left", 1.0), ("right", -1.0)):
        bones += [Bone(f"{side} arm", (0, 0, 1), (x, 0.1, 1.2), "spine", connected=True)]
        bones += [Bone(f"{side} hand", (x, 0.1, 1.2), (1.8 * x, 0, 1), f"{side} arm", connected=True)]
    armature = make_armature(bones)
    for tip, count in (("left hand", 3), ("right hand", 3), ("other1", 2)):
        add_chain(armature, tip, count)
    left, right, other = armature.fabrik.chains
    other.target.parent, other.target.matrix_parent_inverse = left.target, left.target.matrix_world.inverted()
    update()
    found = []
    for other.enabled in (False, True):
        session = ChainDrag(layer(), armature, Grab("left hand", left.name), pins="ALL")
        session.move(layer(), Vector((3.5, 0.5, 1.5)))
        found.append((distance_left(armature, left), distance_left(armature, right)))
        session.cancel(layer())
    assert found[0] == pytest.approx(found[1], abs=1e-4) and found[0][1] < 0.1 * found[0][0]


def make_arms() -> Any:
    """Both arms of a person, bent a little, with X-axis mirror on."""
    sides = [Bone(f"arm.{side}", (x, 0, 0), (2 * x, 0, 1)) for side, x in (("L", 1.0), ("R", -1.0))]
    sides += [
        Bone(f"hand.{side}", (2 * x, 0, 1), (3 * x, 0.2, 1), f"arm.{side}", connected=True)
        for side, x in (("L", 1.0), ("R", -1.0))
    ]
    armature = make_armature(sides)
    armature.pose.use_mirror_x = True
    return armature


def test_with_x_mirror_the_target_of_the_other_side_comes_along() -> None:
    armature = make_arms()
    add_chain(armature, "hand.L", 2)
    left, right = armature.fabrik.chains
    place = Vector((2.2, 0.5, 1.3))
    assert drag(chain="hand.L", position=place) == {"FINISHED"}
    assert (end_of(armature, left) - place).length < 1e-3
    assert (right.target.matrix_world.translation - Vector((-2.2, 0.5, 1.3))).length < 1e-3
    assert (right.target.matrix_world.translation - end_of(armature, right)).length < 1e-4


def test_with_x_mirror_the_pole_of_the_other_side_is_mirrored() -> None:
    armature = make_arms()
    add_chain(armature, "hand.L", 2, create_pole=True)
    left, right = armature.fabrik.chains
    armature.location, armature.rotation_euler = (0.3, -0.2, 0.1), (0.2, 0.1, 0.5)
    update()
    place = Vector((1.2, -1.5, 2.3))
    assert drag(chain="hand.L", point="POLE", position=armature.matrix_world @ place) == {"FINISHED"}
    own, other = (armature.matrix_world.inverted() @ one.pole_target.matrix_world.translation for one in (left, right))
    assert (own - place).length < 1e-5 and (other - Vector((-1.2, -1.5, 2.3))).length < 1e-5
    before = joints_of(armature, right)
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    assert abs(joints_of(armature, right) - before).max() < 1e-5


@pytest.mark.parametrize("chain", ["bone1", "no such chain"])
def test_what_is_missing_is_said(chain: str) -> None:
    armature = make_tail(4)
    add_chain(armature, "bone1", 2)
    before = everything()
    said = error_of(drag, chain=chain, point="POLE")
    assert ("has no pole to drag" if chain == "bone1" else "has no chain 'no such chain'") in said
    assert everything() == before


def test_a_pole_that_can_not_move_is_refused() -> None:
    armature = make_tail(4)
    chain = add_chain(armature, "bone3", 2, create_pole=True)
    chain.pole_target.lock_location[1] = True
    assert "its pole" in error_of(drag, point="POLE") and "locked" in error_of(drag, point="POLE")
