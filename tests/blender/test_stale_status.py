# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A status belongs to a pose and its goals: once either is another one, the status is gone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bpy
import pytest

from fabrik_addon.blender.rig.last_results import Result, keep_result, result_of
from tests.blender.rigs import add_chain, make_empty, make_tail, set_chain, update
from tests.blender.test_panel import draw, labels

REACHED = (0.4, 0.9, 1.1)


def solved(target: tuple[float, float, float] = REACHED, **options: Any) -> tuple[Any, Any]:
    armature = make_tail(3)
    chain = add_chain(armature, "bone2", 3, target, **options)
    update()
    bpy.ops.pose.fabrik_solve()
    return armature, chain


def turn(armature: Any, chain: Any) -> None:
    bone = armature.pose.bones["bone1"]
    bone.rotation_mode = "XYZ"
    bone.rotation_euler.x += 0.3


def move_target(armature: Any, chain: Any) -> None:
    chain.target.location.x += 0.01


def move_pole(armature: Any, chain: Any) -> None:
    chain.pole_target.location.x += 0.5


def move_armature(armature: Any, chain: Any) -> None:
    armature.location.y += 0.2


def delete_target(armature: Any, chain: Any) -> None:
    bpy.data.objects.remove(chain.target)


def unlink_target(armature: Any, chain: Any) -> None:
    """As Delete in the viewport: the chain still uses the object, which is in no scene."""
    for collection in chain.target.users_collection:
        collection.objects.unlink(chain.target)
    assert chain.target is not None


def other_target(armature: Any, chain: Any) -> None:
    chain.target = make_empty("another", chain.target.location)


def pin(armature: Any, chain: Any) -> None:
    chain.use_pin = True


def other_length(armature: Any, chain: Any) -> None:
    chain.chain_count = 2


def broken_tip(armature: Any, chain: Any) -> None:
    chain.tip = "elbow"


def constrain(armature: Any, chain: Any) -> None:
    armature.pose.bones["bone1"].constraints.new("LIMIT_SCALE")


def lengthen_tip(armature: Any, chain: Any) -> None:
    """The bone's matrix stays, and its tail is farther away."""
    bpy.ops.object.mode_set(mode="EDIT")
    armature.data.edit_bones["bone2"].length *= 1.5
    bpy.ops.object.mode_set(mode="POSE")


def limit(armature: Any, chain: Any) -> None:
    armature.pose.bones["bone1"].use_ik_limit_x = True


def lock(armature: Any, chain: Any) -> None:
    armature.pose.bones["bone1"].lock_rotation[0] = True


def other_tolerance(armature: Any, chain: Any) -> None:
    chain.tolerance = 1e-6


def allow_stretch(armature: Any, chain: Any) -> None:
    chain.use_stretch = True


def soften(armature: Any, chain: Any) -> None:
    chain.softness = 0.2


def other_solver(armature: Any, chain: Any) -> None:
    chain.solver = "CCD"


def rename_bone(armature: Any, chain: Any) -> None:
    """Messages name bones."""
    armature.data.bones["bone1"].name = "elbow"


CHANGES = (
    turn,
    lengthen_tip,
    limit,
    lock,
    other_tolerance,
    allow_stretch,
    soften,
    other_solver,
    rename_bone,
    move_target,
    move_pole,
    move_armature,
    delete_target,
    unlink_target,
    other_target,
    pin,
    other_length,
    broken_tip,
    constrain,
)


@pytest.mark.parametrize("change", CHANGES)
def test_the_status_goes_with_its_pose_and_its_goals(change: Callable[[Any, Any], None]) -> None:
    armature, chain = solved(create_pole=True)
    assert chain.status == "REACHED" and chain.iterations_used > 0
    change(armature, chain)
    update()
    assert (chain.status, chain.error, chain.iterations_used) == ("NONE", 0.0, 0)
    assert "Reached" not in labels(draw()["FABRIK IK"])


def drive(armature: Any) -> None:
    driver = armature.pose.bones["bone1"].driver_add("rotation_quaternion", 1).driver
    driver.type, driver.expression = "SCRIPTED", "0.3"


def remove_driver(armature: Any) -> None:
    armature.pose.bones["bone1"].driver_remove("rotation_quaternion", 1)


def copy_rotation(armature: Any) -> None:
    armature.pose.bones["bone1"].constraints.new("COPY_ROTATION").target = make_empty("other")


def fade_constraint(armature: Any) -> None:
    armature.pose.bones["bone1"].constraints[0].influence = 0.0


def add_second_chain(armature: Any) -> None:
    armature.fabrik.chains[0].target.location.y = 1.5
    set_chain(armature, "bone1", 2, make_empty("far", (-9.0, 0.0, 0.0))).weight = 10.0


def remove_second_chain(armature: Any) -> None:
    armature.fabrik.chains.remove(1)


def disable_second_chain(armature: Any) -> None:
    armature.fabrik.chains[1].enabled = False


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (drive, remove_driver),
        (copy_rotation, fade_constraint),
        (add_second_chain, remove_second_chain),
        (add_second_chain, disable_second_chain),
    ],
)
def test_the_status_goes_with_what_its_reason_names(
    before: Callable[[Any], None], after: Callable[[Any], None]
) -> None:
    armature, chain = solved()
    before(armature)
    bpy.context.view_layer.objects.active = armature
    update()
    bpy.ops.pose.fabrik_solve()
    message = result_of(armature, chain.name).message
    assert "overridden" in message or "'bone1'" in message
    after(armature)
    update()
    assert chain.status == "NONE"


def test_what_is_neither_pose_nor_goal_leaves_it() -> None:
    armature, chain = solved()
    chain.name = chain.name  # an update of the settings
    armature.fabrik.show_overlay = True
    armature.pose.bones["bone0"].select = True
    chain.target.hide_set(True)
    make_empty("elsewhere", (5.0, 5.0, 5.0))
    for _ in range(3):
        update()
    assert chain.status == "REACHED"


def test_it_comes_back_with_the_pose() -> None:
    """Undo and redo: what was true of a pose is true of it again."""
    _armature, chain = solved()
    before = chain.target.location.copy()
    chain.target.location.x += 0.5
    update()
    assert chain.status == "NONE"
    chain.target.location = before
    update()
    assert chain.status == "REACHED"


def test_undo_takes_it_away() -> None:
    armature = make_tail(3)
    add_chain(armature, "bone2", 3, REACHED)
    update()
    bpy.ops.ed.undo_push(message="before")
    bpy.ops.pose.fabrik_solve()
    bpy.ops.ed.undo_push(message="after")
    assert bpy.context.object.fabrik.chains[0].status == "REACHED"
    bpy.ops.ed.undo()
    assert bpy.context.object.fabrik.chains[0].status == "NONE"


def test_a_native_rig_that_is_removed_overrides_nothing_any_more() -> None:
    _armature, chain = solved()
    bpy.ops.pose.fabrik_rig_add()
    update()
    bpy.ops.pose.fabrik_solve()
    assert "verridden" in labels(draw()["FABRIK IK"])
    bpy.ops.pose.fabrik_rig_remove()
    update()
    assert chain.status == "NONE" and "verridden" not in labels(draw()["FABRIK IK"])


def test_a_bake_is_told_of_at_the_frame_where_it_ended() -> None:
    _armature, chain = solved()
    for frame, x in ((1, 0.4), (10, 9.0)):
        chain.target.location.x = x
        chain.target.keyframe_insert("location", frame=frame)
    bpy.context.scene.frame_set(1)
    bpy.ops.pose.fabrik_bake(frame_start=1, frame_end=10)
    assert "of 10 frames" in " ".join(labels(draw()["FABRIK IK"]).split())
    bpy.context.scene.frame_set(10)
    assert "of 10 frames" not in labels(draw()["FABRIK IK"])


def test_the_box_keeps_its_height() -> None:
    """Else buttons move away under the pointer."""
    armature, chain = solved()
    heights = set()
    for target in (None, REACHED, (9.0, 0.0, 0.0)):
        if target is not None:
            chain.target.location = target
            update()
            bpy.ops.pose.fabrik_solve()
        else:
            turn(armature, chain)
            update()
        drawn = draw()["FABRIK IK"]
        heights.add(len([what for what, _ in drawn if what == "label"]))
    keep_result(
        armature, chain.name, Result("LIMITED", 0.5, 3, "limited: " + "a bone with a long name is locked, " * 9)
    )
    drawn = draw()["FABRIK IK"]
    assert "\N{HORIZONTAL ELLIPSIS}" in labels(drawn)
    heights.add(len([what for what, _ in drawn if what == "label"]))
    assert len(heights) == 1, heights
