# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bakes where curves switch constraints and inheritance: what is baked doesn't depend on the frame that is shown."""

from __future__ import annotations

from collections.abc import Callable

import bpy
import pytest
from bpy.types import Constraint, Driver, Object
from mathutils import Quaternion

from fabrik_addon.blender.animation.animated_settings import switched_constraints
from tests.blender.rigs import (
    Bone,
    clear_scene,
    distance_left,
    enter_pose_mode,
    error_of,
    make_armature,
    make_empty,
    make_tail,
    printed,
    set_chain,
    update,
)

LAST = 12
SWITCHED = 7
"""From this frame on a constraint has an influence."""


@pytest.fixture(autouse=True)
def _empty() -> None:
    clear_scene()


def switch_on(owner: Object, constraint: Constraint) -> None:
    for frame, influence in ((1, 0.0), (SWITCHED - 1, 0.0), (SWITCHED, 1.0)):
        constraint.influence = influence
        owner.keyframe_insert(constraint.path_from_id("influence"), frame=frame)


def lead(target: Object, way: tuple[tuple[float, float, float], ...]) -> None:
    for frame, place in zip((1, LAST), way, strict=True):
        target.location = place
        target.keyframe_insert("location", frame=frame)


def bake(frame: int) -> None:
    bpy.context.scene.frame_set(frame)
    assert bpy.ops.pose.fabrik_bake(frame_start=1, frame_end=LAST) == {"FINISHED"}


def off_at(armature: Object, *chains: object) -> list[int]:
    """Frames at which the tip of a chain isn't at its target."""
    found = []
    for frame in range(1, LAST + 1):
        bpy.context.scene.frame_set(frame)
        if max(distance_left(armature, chain) for chain in chains) > 1e-3:
            found.append(frame)
    return found


def spine_and_arm() -> tuple[Object, object, object, Constraint, Object]:
    """A spine led over the frames, and an arm whose target follows the chest from a frame on."""
    armature = make_armature(
        [
            Bone("spine", (0, 0, 0), (0, 0.05, 0.4)),
            Bone("back", (0, 0.05, 0.4), (0, 0.05, 0.8), "spine", True),
            Bone("chest", (0, 0.05, 0.8), (0, 0, 1.2), "back", True),
            Bone("arm", (0.3, 0, 1.1), (0.5, 0.1, 0.7), "chest"),
            Bone("forearm", (0.5, 0.1, 0.7), (0.5, -0.1, 0.3), "arm", True),
        ]
    )
    spine = set_chain(armature, "chest", 3, make_empty("over", (0, 0, 1.2)))
    hand = make_empty("hand", (0.45, -0.4, 0.5))
    arm = set_chain(armature, "forearm", 2, hand)
    lead(spine.target, ((0.0, 0.0, 1.2), (0.35, -0.5, 0.95)))
    bpy.context.scene.frame_set(1)
    update()
    follow = hand.constraints.new("CHILD_OF")
    follow.target, follow.subtarget = armature, "chest"
    follow.inverse_matrix = (armature.matrix_world @ armature.pose.bones["chest"].matrix).inverted()
    switch_on(hand, follow)
    enter_pose_mode(armature)
    return armature, spine, arm, follow, hand


@pytest.mark.parametrize("frame", [1, LAST])
def test_a_target_that_follows_another_chain_at_some_frames_is_baked_after_it(frame: int) -> None:
    """From frame 1 the hand was baked before the spine, and was off by 54 % of its length from ``SWITCHED`` on."""
    armature, spine, arm, *_ = spine_and_arm()
    bake(frame)
    assert off_at(armature, spine, arm) == []


@pytest.mark.parametrize("frame", [1, LAST])
def test_keys_of_what_a_target_follows_at_some_frames_count_as_keyed(frame: int) -> None:
    armature, *_ = spine_and_arm()
    bpy.context.scene.frame_set(frame)
    turned = armature.pose.bones["chest"]
    turned.keyframe_insert("rotation_quaternion", frame=9)
    assert bpy.ops.pose.fabrik_bake(frame_start=1, frame_end=LAST, only_keyed=True) == {"FINISHED"}
    keys = armature.animation_data.action.layers[0].strips[0].channelbags[0].fcurves
    arm = [curve for curve in keys if curve.data_path == 'pose.bones["arm"].rotation_quaternion']
    assert [point.co.x for point in arm[0].keyframe_points] == [1, SWITCHED - 1, SWITCHED, 9, LAST]


@pytest.mark.parametrize("is_keyed", [False, True])
def test_a_switch_that_a_property_drives_counts_where_the_property_is_animated(is_keyed: bool) -> None:
    """It is the usual switch of a rig: else it says the same at all frames."""
    armature, spine, arm, follow, hand = spine_and_arm()
    hand.animation_data.action = None
    armature["follows_chest"] = 0.0
    driver = follow.driver_add("influence").driver
    driver.type, variable = "SUM", driver.variables.new()
    variable.targets[0].id, variable.targets[0].data_path = armature, '["follows_chest"]'
    for frame, value in ((1, 0.0), (SWITCHED - 1, 0.0), (SWITCHED, 1.0)) if is_keyed else ():
        armature["follows_chest"] = value
        armature.keyframe_insert('["follows_chest"]', frame=frame)
    bpy.context.scene.frame_set(1)
    assert switched_constraints()(follow) == is_keyed
    bake(1)
    assert off_at(armature, spine, arm) == []


def read_frame(driver: Driver, path: str) -> None:
    variable = driver.variables.new()
    variable.targets[0].id_type, variable.targets[0].id = "SCENE", bpy.context.scene
    variable.targets[0].data_path = path


def read_place(driver: Driver, path: str) -> None:
    carrier = make_empty("carrier")
    lead(carrier, ((0.0, 0.0, 0.0), (LAST, 0.0, 0.0)))
    variable = driver.variables.new()
    variable.targets[0].id, variable.targets[0].data_path = carrier, path


def call(driver: Driver, name: str) -> None:
    bpy.app.driver_namespace[name] = lambda: float(bpy.context.scene.frame_current >= SWITCHED)


@pytest.mark.parametrize(
    ("read", "path", "expression"),
    [
        (read_frame, "frame_current", f"var >= {SWITCHED}"),
        (read_place, "location.x", f"var > {SWITCHED - 1}"),
        (read_place, "location[0]", f"var > {SWITCHED - 1}"),
        (call, "follows_now", "follows_now()"),
    ],
)
def test_a_switch_that_a_driver_reads_from_what_may_change_counts(
    read: Callable[[Driver, str], None], path: str, expression: str
) -> None:
    """Of these only curves of the very path that a driver reads counted; the hand was baked before the spine."""
    armature, spine, arm, follow, hand = spine_and_arm()
    hand.animation_data.action = None
    driver = follow.driver_add("influence").driver
    read(driver, path)
    driver.expression = expression
    bpy.context.scene.frame_set(1)
    assert follow.influence == 0.0 and switched_constraints()(follow)
    bake(1)
    assert off_at(armature, spine, arm) == []


def own_prop() -> tuple[Object, object]:
    """A chain whose target becomes a child of its own tip."""
    armature = make_tail(3)
    prop = make_empty("prop", (0.8, 0.3, 1.6))
    chain = set_chain(armature, "bone2", 3, prop)
    follow = prop.constraints.new("CHILD_OF")
    follow.target, follow.subtarget = armature, "bone2"
    switch_on(prop, follow)
    enter_pose_mode(armature)
    return armature, chain


OWN_PROP = "Chain 'bone2': its target 'prop' depends on the chain itself: it follows bone 'bone2'"


@pytest.mark.parametrize("frame", [1, LAST])
def test_a_target_that_comes_to_follow_its_own_chain_is_refused_at_every_frame(frame: int) -> None:
    """From frame 1 it was baked as a success over frames at which Solve refuses it."""
    own_prop()
    bpy.context.scene.frame_set(frame)
    assert error_of(bpy.ops.pose.fabrik_bake, frame_start=1, frame_end=LAST) == OWN_PROP
    if frame == 1:
        assert bpy.ops.pose.fabrik_bake(frame_start=1, frame_end=SWITCHED - 1) == {"FINISHED"}, "while it is free"


@pytest.mark.parametrize("frame", [1, LAST])
def test_a_chain_that_is_off_while_it_carries_its_target_is_baked(frame: int) -> None:
    armature, chain = own_prop()
    for at, enabled in ((1, True), (SWITCHED, False)):
        chain.enabled = enabled  # type: ignore[attr-defined]
        armature.keyframe_insert("fabrik.chains[0].enabled", frame=at)
    bake(frame)
    assert [at for at in off_at(armature, chain) if at < SWITCHED] == []


def test_a_native_rig_whose_target_comes_to_follow_it_is_refused() -> None:
    """Blender's dependency graph has the relation at an influence of 0, too: a cycle."""
    own_prop()
    bpy.context.scene.frame_set(1)
    cycle = f"{OWN_PROP}, through a constraint that is off now: a native rig would be a dependency cycle"
    assert error_of(bpy.ops.pose.fabrik_rig_add) == cycle


@pytest.mark.parametrize("frame", [1, LAST])
def test_a_constraint_that_overrides_a_chain_at_some_frames_is_said(
    frame: int, capfd: pytest.CaptureFixture[str]
) -> None:
    """From frame 1 the bake said that all frames were reached."""
    armature = make_tail(5)
    chain = set_chain(armature, "bone4", 3, make_empty("target", (1.0, 0.5, 3.2)))
    turned = armature.pose.bones["bone3"].constraints.new("COPY_ROTATION")
    turned.target = make_empty("turned")
    turned.target.rotation_euler = (1.0, 0.5, 0.2)
    switch_on(armature, turned)
    enter_pose_mode(armature)
    printed(capfd)
    bake(frame)
    said = printed(capfd)
    assert off_at(armature, chain) == list(range(SWITCHED, LAST + 1))
    assert f"{LAST + 1 - SWITCHED} of {LAST} frames not reached" in said and "'Copy Rotation'" in said


@pytest.mark.parametrize("driven", [False, True])
def test_inherited_rotation_that_is_animated_is_read_at_every_frame(driven: bool) -> None:
    """It is animated in the armature's data, which wasn't asked: the tip was off by 39 % of the chain's length."""
    armature = make_tail(5)
    chain = set_chain(armature, "bone4", 3, make_empty("target"))
    lead(chain.target, ((1.0, 0.5, 3.2), (1.0, -2.0, 2.0)))
    base, tip = armature.pose.bones["bone0"], armature.data.bones["bone4"]
    for frame, angle in ((1, 0.0), (LAST, 1.2)):
        base.rotation_quaternion = Quaternion((1.0, 0.0, 0.0), angle)
        base.keyframe_insert("rotation_quaternion", frame=frame)
    armature["follow"] = 1
    for frame, follows in ((1, 1), (SWITCHED, 0)):
        armature["follow"] = tip.use_inherit_rotation = follows
        owner, path = (armature, '["follow"]') if driven else (tip, "use_inherit_rotation")
        owner.keyframe_insert(path, frame=frame)
    if driven:
        driver = tip.driver_add("use_inherit_rotation").driver
        driver.type = "SUM"
        variable = driver.variables.new()
        variable.targets[0].id, variable.targets[0].data_path = armature, '["follow"]'
    enter_pose_mode(armature)
    bake(1)
    assert off_at(armature, chain) == []
