# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Floor and slack: no foot of a body goes through the floor, and a held handle stays within its slack."""

from __future__ import annotations

import math
from pathlib import Path

import bpy
import numpy as np
import pytest
from bpy.types import Object
from mathutils import Quaternion, Vector

from fabrik_addon.blender.bodies.body_floor import sole_points_of
from fabrik_addon.blender.bodies.planted_feet import upward
from fabrik_addon.blender.drag.body_drag import BodyDrag
from fabrik_addon.core.body.posture import PINNED
from tests.blender.rigs import metarig, through_bvh, update
from tests.blender.test_body import PIN_DISTANCE, angle, frame, height, make_body, own_rotations, place, pull


@pytest.fixture(autouse=True)
def _rigify() -> None:
    bpy.ops.preferences.addon_enable(module="rigify")


def human(use_floor: bool = True) -> Object:
    armature = metarig("human_metarig")
    body = make_body(armature)
    body.use_floor, body.floor_height, body.use_balance = use_floor, lowest(armature), False
    return armature


def lowest(armature: Object) -> float:
    """Height of the lowest point of the soles in the world."""
    return min((armature.matrix_world @ point).z for _, point in sole_points_of(armature, upward(armature)))


@pytest.mark.parametrize("by", [(0.1, -0.2, -0.3), (0.0, 0.1, -0.1), (0.2, 0.0, 0.3)])
def test_a_foot_that_is_pulled_down_stays_on_the_floor(by: tuple[float, float, float]) -> None:
    armature = human()
    floor = armature.fabrik.body.floor_height
    at = place(armature, "Foot.L")
    target = pull(armature, "Foot.L", by)
    assert lowest(armature) > floor - PIN_DISTANCE * height(armature)
    if by[2] > 0.0:
        assert (place(armature, "Foot.L") - target).length < 1e-4
    else:
        assert abs(place(armature, "Foot.L").z - at.z) < 0.02
        assert (place(armature, "Foot.L") - target).xy.length < 0.02, "beside the floor it goes where it is pulled"


def test_the_heel_of_a_human_stays_on_the_floor_on_which_it_stands() -> None:
    """The soles were taken to be as high as the toes' tips, and the heels sank by 1.7 cm."""
    armature = human()
    armature.fabrik.body.floor_height = 0.0
    heel = armature.pose.bones["heel.02.L"]
    assert abs((armature.matrix_world @ heel.head).z) < 1e-4
    pull(armature, "Foot.L", (0.0, -0.05, -0.1))
    assert (armature.matrix_world @ heel.head).z > -PIN_DISTANCE * height(armature)
    turn = Quaternion((1.0, 0.0, 0.0), -0.3)
    assert bpy.ops.pose.fabrik_body_turn(handle="Foot.L", axis=turn.axis, angle=turn.angle) == {"FINISHED"}
    ends = [armature.matrix_world @ end for end in (heel.head, heel.tail)]
    assert min(end.z for end in ends) > -PIN_DISTANCE * height(armature)


def test_without_a_floor_it_goes_where_it_is_pulled() -> None:
    armature = human(use_floor=False)
    before = lowest(armature)
    pull(armature, "Foot.L", (0.0, -0.1, -0.05))
    assert lowest(armature) < before - 0.03


def test_a_foot_that_is_turned_down_does_not_put_its_toes_through_the_floor() -> None:
    armature = human()
    floor = armature.fabrik.body.floor_height
    before = frame(armature, "foot.L")
    desired = Quaternion((1.0, 0.0, 0.0), math.radians(25.0)) @ before
    assert bpy.ops.pose.fabrik_body_pull(handle="Foot.L", position=place(armature, "Foot.L"), rotation=desired) == {
        "FINISHED"
    }
    update()
    assert lowest(armature) > floor - PIN_DISTANCE * height(armature)


def test_a_foot_comes_down_to_the_floor_without_a_jump() -> None:
    armature = human()
    session = BodyDrag(bpy.context.view_layer, armature, "foot.L")
    steps, last = [], None
    for share in np.linspace(0.05, 1.0, 40):
        by = Vector((0.05, -0.2, 0.2)).lerp(Vector((0.08, -0.26, -0.04)), float(share))
        session.move(bpy.context.view_layer, session.start_position + by)
        now = own_rotations(armature)
        if last is not None:
            steps.append(max(angle(last[name], now[name]) for name in now))
        last = now
    assert max(steps) <= 3.0 * float(np.median(steps)), (max(steps), float(np.median(steps)))


def heels_above_toes(armature: Object) -> float:
    """By how much the lower one of the two ankles is above its height over its toes with flat feet."""
    bones = armature.pose.bones
    above = [bones[f"foot.{side}"].head.z - bones[f"toe.{side}"].head.z for side in "LR"]
    rest = armature.data.bones
    return min(above) - (rest["foot.L"].head_local.z - rest["toe.L"].head_local.z)


@pytest.mark.parametrize("use_floor", [False, True])
@pytest.mark.parametrize("use_balance", [False, True])
def test_a_planted_heel_does_not_sink(use_floor: bool, use_balance: bool) -> None:
    """With balance the ankles sank by 76 mm as the chest was pulled, with a floor, too, by 14 mm."""
    armature = human(use_floor)
    armature.fabrik.body.use_balance = use_balance
    for handle, position in (("Hips", (0.0, 0.16, 0.96)), ("Chest", (0.0, -0.28, 1.24))):
        assert bpy.ops.pose.fabrik_body_pull(handle=handle, position=position) == {"FINISHED"}
        update()
        assert heels_above_toes(armature) > -2.0 * PIN_DISTANCE * height(armature), handle


def test_balance_holds_a_chest_over_flat_feet_without_a_jump() -> None:
    """The chest is free in the first moves and held in most of the others: none of these rotates a bone by more."""
    armature = human(use_floor=False)
    armature.fabrik.body.use_balance = True
    pull(armature, "Hips", (0.0, 0.105, -0.035))
    session = BodyDrag(bpy.context.view_layer, armature, "Chest")
    steps, above, last = [], [], own_rotations(armature)
    for share in np.linspace(0.025, 1.0, 40):
        session.move(bpy.context.view_layer, session.start_position.lerp(Vector((0.0, -0.28, 1.24)), float(share)))
        now = own_rotations(armature)
        steps.append(max(angle(last[name], now[name]) for name in now))
        above.append(heels_above_toes(armature))
        last = now
    assert min(above) > -2.0 * PIN_DISTANCE * height(armature)
    assert max(steps[5:]) <= max(steps[:5]), steps


def test_the_floor_is_in_the_world() -> None:
    armature = human()
    armature.location, armature.scale = (1.0, 0.0, 3.0), (2.0, 2.0, 2.0)
    armature.rotation_euler = (0.0, 0.0, 1.0)
    update()
    armature.fabrik.body.floor_height = floor = lowest(armature)
    pull(armature, "Foot.R", (0.0, 0.3, -0.4))
    assert lowest(armature) > floor - 2.0 * PIN_DISTANCE * height(armature)


def test_a_pinned_hand_with_slack_stays_within_it() -> None:
    armature = human()
    armature.scale = (2.0, 2.0, 2.0)
    update()
    hand = armature.fabrik.body.handles["Hand.R"]
    hand.use_pin, hand.slack = True, 0.1
    at = place(armature, "Hand.R")
    pull(armature, "Chest", (-0.2, -0.2, -0.1))
    away = (place(armature, "Hand.R") - at).length
    assert 0.05 < away < 0.1 + 1e-3, "in lengths of the world"


def test_feet_whose_tails_an_importer_made_up_stand_on_their_soles(tmp_path: Path) -> None:
    """The importer's tails of feet are a quarter of the height under the soles: no foot was planted, hips took them."""
    human = metarig("human_metarig")
    armature = through_bvh(human, tmp_path, global_scale=0.01, axis_forward="Y", axis_up="Z")
    body, size = make_body(armature), height(armature)
    assert [handle.name for handle in body.handles if handle.priority == PINNED] == ["Foot.L", "Foot.R"]
    assert lowest(armature) > armature.pose.bones["heel.02.L"].head.z - 0.05 * size
    feet = {name: place(armature, name) for name in ("Foot.L", "Foot.R")}
    hips = pull(armature, "Hips", (0.0, 0.0, -0.05 * size))
    assert (place(armature, "Hips") - hips).length < PIN_DISTANCE * size
    for name, foot in feet.items():
        assert (place(armature, name) - foot).length < PIN_DISTANCE * size, name
