# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Balance: the center of mass of a body stays over the feet that are planted."""

from __future__ import annotations

import math
from collections.abc import Sequence

import bpy
import pytest
from bpy.types import Object
from mathutils import Matrix, Vector

from fabrik_addon.blender.bodies.body_balance import masses_of, stance_of, upward
from fabrik_addon.blender.bodies.handles import Pull
from fabrik_addon.blender.drag.body_drag import BodyDrag
from fabrik_addon.blender.interface.body_tool import balance_mark
from fabrik_addon.blender.solving.solve_body import pull_body
from fabrik_addon.core.math.convex_region import convex_hull, nearest_in_hull
from scripts.benchmark import body_drag_rows
from scripts.benchmark.body_path_rows import frames_of, largest_angle
from tests.blender.rigs import clear_scene, make_empty, update
from tests.blender.test_body import PIN_DISTANCE, heads, height, make_body, metarig, place, pull


@pytest.fixture(autouse=True)
def _rigify() -> None:
    bpy.ops.preferences.addon_enable(module="rigify")


def outside(armature: Object, without: Sequence[str] = ()) -> float:
    """Distance of the center of mass from the hull of the planted feet, seen from above, over the body's height."""
    to_world = armature.matrix_world
    mass = sum((share * (to_world @ center) for _, share, center in masses_of(armature)), Vector())
    stance = stance_of(armature, upward(armature))
    points = [to_world @ point for name, sole in stance.items() if name not in without for point in sole.points]
    there = nearest_in_hull(convex_hull([(point.x, point.y) for point in points]), (mass.x, mass.y))
    return math.dist(there, mass.xy) / height(armature)


def human(use_balance: bool = True) -> Object:
    clear_scene()
    armature = metarig("human_metarig")
    make_body(armature).use_balance = use_balance
    return armature


def test_a_human_at_rest_is_balanced_and_its_masses_are_shares() -> None:
    armature = human()
    assert sum(share for _, share, _ in masses_of(armature)) == pytest.approx(1.0)
    assert outside(armature) == 0.0
    center = sum((share * at for _, share, at in masses_of(armature)), Vector())
    assert 0.5 < center.z / height(armature) < 0.62, "Winter: 0.553 of the height"


def test_a_human_stands_on_heels_and_toes() -> None:
    armature = human()
    bones = armature.pose.bones
    points = stance_of(armature, upward(armature))["Foot.L"].points
    assert max(point.y for point in points) == pytest.approx(bones["heel.02.L"].head.y, abs=0.02)
    assert min(point.y for point in points) == pytest.approx(bones["toe.L"].tail.y)


@pytest.mark.parametrize("animal", ["wolf", "cat", "horse"])
def test_an_animal_stands_on_the_toes_of_four_feet(animal: str) -> None:
    armature = metarig(f"{animal}_metarig")
    make_body(armature)
    stance = stance_of(armature, upward(armature))
    assert sorted(stance) == ["Foot.L", "Foot.R", "Hand.L", "Hand.R"]
    for name in ("Foot.L", "Foot.R"):
        bone = armature.pose.bones[armature.fabrik.body.handles[name].bone]
        assert max(point.y for point in stance[name].points) <= max(bone.head.y, bone.tail.y) + 1e-6, (
            "no heel behind it"
        )
    assert outside(armature) == 0.0


def test_the_mark_is_below_the_center_of_mass_and_tells_whether_the_body_falls() -> None:
    armature = human(use_balance=False)
    assert balance_mark(armature) == [], "without balance there is none"
    for is_falling in (False, True):
        if is_falling:
            pull(armature, "Chest", (0.0, -0.5, -0.2))
        armature.fabrik.body.use_balance = True
        (mark,) = balance_mark(armature)
        center = sum((share * (armature.matrix_world @ at) for _, share, at in masses_of(armature)), Vector())
        assert (mark.position.xy - center.xy).length < 1e-6 and abs(mark.position.z) < 0.05 * height(armature)
        assert mark.color == ('axis_x' if is_falling else 'axis_y') and not mark.operator
        assert (outside(armature) > 0.0) == is_falling
        armature.fabrik.body.use_balance = False
    for handle in armature.fabrik.body.handles:
        handle.use_position = False
    armature.fabrik.body.use_balance = True
    assert balance_mark(armature) == [], "nothing is planted"


@pytest.mark.parametrize(
    ("handle", "by"),
    [
        ("Hand.R", (0.2, -0.9, -0.9)),
        ("Hand.L", (2.0, 0.0, 0.0)),
        ("Hips", (0.0, 0.25, -0.4)),
        ("Chest", (0.0, -0.3, -0.1)),
    ],
)
def test_the_center_of_mass_stays_over_the_feet(handle: str, by: tuple[float, float, float]) -> None:
    found = []
    for use_balance in (False, True):
        armature = human(use_balance)
        toes = {name: armature.pose.bones[name].head.copy() for name in ("toe.L", "toe.R")}
        pull(armature, handle, by)
        found.append(outside(armature))
        for name, at in toes.items():
            assert (armature.pose.bones[name].head - at).length < PIN_DISTANCE * height(armature)
    without, with_balance = found
    assert without > 0.02
    assert with_balance < 0.01


def test_hips_that_are_led_aside_come_along_and_the_center_of_mass_stays_over_the_feet() -> None:
    """With a task that begins at the edge of the hull steps ended beyond it and weren't taken: 0.045 behind."""
    armature = body_drag_rows.make_scaled_body(*body_drag_rows.BODIES["human"])
    armature.fabrik.body.use_balance = True
    drag = body_drag_rows.drag_far(armature, 66, "hips aside")
    assert drag.behind < 0.02 and drag.fallen < 1e-4
    assert drag.ratio <= body_drag_rows.LARGEST_RATIO
    assert drag.pin_distance <= body_drag_rows.MOST_PIN_DISTANCE


def on_floor(body: str) -> Object:
    armature = body_drag_rows.make_scaled_body(*body_drag_rows.BODIES[body])
    settings = armature.fabrik.body
    settings.use_floor, settings.floor_height = True, body_drag_rows.lowest_sole(armature)
    return armature


def test_a_heel_that_has_lifted_in_a_drag_carries_nothing_any_more() -> None:
    """With the feet as they were before the drag the center of mass was over a lifted heel, 0.0046 outside the rest."""
    armature = on_floor("long limbs")
    armature.fabrik.body.handles[body_drag_rows.PINNED_HAND].use_pin = True
    drag = body_drag_rows.drag_far(armature, 47, "hips low")
    assert drag.fallen <= body_drag_rows.MOST_FALLEN
    assert drag.ratio <= body_drag_rows.LARGEST_RATIO


@pytest.mark.parametrize("body", ["human", "short legs", "long limbs"])
def test_a_heel_that_a_pull_lifts_carries_nothing_any_more(body: str) -> None:
    """With the feet as they were before the pull the center of mass was 0.022, 0.0026 and 0.0135 outside."""
    armature = on_floor(body)
    by = height(armature) * Vector((-0.097, 0.041, -0.285))
    pull_body(bpy.context.view_layer, armature, [Pull("Hips", place(armature, "Hips") + by)])
    assert outside(armature, without=["Hips"]) <= body_drag_rows.MOST_FALLEN


def heel_turns(armature: Object) -> float:
    """The angle of the left foot from rest, in degrees: it is planted, and only its heel may lift."""
    foot = armature.pose.bones["foot.L"]
    return math.degrees((foot.matrix @ foot.bone.matrix_local.inverted()).to_quaternion().angle)


@pytest.mark.parametrize("is_dragged", [False, True])
def test_heels_that_carry_the_body_stay_on_the_floor(is_dragged: bool) -> None:
    """From rest they lifted by up to 12 degrees while a head was pulled back, from 0.079 to 0.08 of the height by 47
    more, and the head stopped 0.03 of the height before its target; in a drag by 30 degrees bit by bit."""
    armature = human()
    rest = {bone.name: bone.matrix_basis.copy() for bone in armature.pose.bones}
    start = place(armature, "Head")
    drag = BodyDrag(bpy.context.view_layer, armature, "Head") if is_dragged else None
    turns, before = [], frames_of(armature)
    for step in range(1, 29):
        at = start + 0.005 * step * height(armature) * Vector((0.0, 1.0, 0.0))
        if drag is not None:
            drag.move(bpy.context.view_layer, at)
        else:
            for name, basis in rest.items():
                armature.pose.bones[name].matrix_basis = basis
            pull_body(bpy.context.view_layer, armature, [Pull("Head", at)])
        after = frames_of(armature)
        turns.append(largest_angle(before, after))
        before = after
        assert heel_turns(armature) < 1.0, step
        assert outside(armature) < 1e-3, step
    assert max(turns) <= body_drag_rows.LARGEST_RATIO * sorted(turns)[len(turns) // 2]
    assert (place(armature, "Head") - at).length < (0.045 if is_dragged else 0.04) * height(armature)


@pytest.mark.parametrize(("body", "number"), [("long limbs", 26), ("human", 48)])
def test_knees_and_hips_follow_a_hand_that_leaves_reach_over_many_moves(body: str, number: int) -> None:
    """The last 0.03 of the height take 60 degrees of knees and hips: within six moves 10.5 times the median move's."""
    armature = body_drag_rows.make_scaled_body(*body_drag_rows.BODIES[body])
    armature.fabrik.body.use_balance = True
    drag = body_drag_rows.drag_far(armature, number, "hand far")
    assert drag.ratio <= body_drag_rows.LARGEST_RATIO
    assert drag.fallen < 1e-3


@pytest.mark.parametrize(("handle", "by"), [("Chest", (0.0, -0.5, -0.1)), ("Hips", (0.0, 0.3, -0.4))])
def test_a_handle_that_balance_holds_back_says_so(handle: str, by: tuple[float, float, float]) -> None:
    for use_balance in (True, False):
        armature = human(use_balance)
        target = place(armature, handle) + Vector(by)
        result, *_ = pull_body(bpy.context.view_layer, armature, [Pull(handle, target, None)])
        assert result is not None
        remedy = "Balance keeps the center of mass over the feet: switch it off to go farther"
        assert result.message.endswith(remedy) == (remedy in result.message) == use_balance, result.message


def test_pins_that_exclude_each_other_are_not_said_to_be_held_by_balance() -> None:
    """Balance comes after them: without it they are as far from their places."""
    armature = human()
    pull(armature, "Hips", (0.3, -0.2, -0.1))
    armature.fabrik.body.handles["Hips"].use_position = False
    armature.fabrik.body.handles["Knee.L"].use_pin = True
    rope = make_empty("Rope")
    armature.fabrik.body.handles["Hips"].target = rope
    rope.location = (0.1, -0.1, 0.1)
    result, _, slipped = pull_body(bpy.context.view_layer, armature, [])
    assert result is not None and result.error > 0.01 and slipped
    assert "Balance" not in result.message + slipped


def test_a_foot_is_lifted_off_after_the_weight_is_on_the_other() -> None:
    armature = human()
    target = pull(armature, "Foot.L", (0.05, -0.3, 0.3))
    assert (place(armature, "Foot.L") - target).length < 1e-4
    assert armature.pose.bones["spine"].head.x < -0.03, "the right foot is at x < 0"
    assert outside(armature, without=["Foot.L"]) < 1e-3


def test_a_foot_that_was_put_onto_a_step_carries_weight() -> None:
    """Without it the hips stayed 0.09 m behind, and the chest 0.27 m."""
    armature = human()
    pulls = {"Foot.R": (-0.11, 0.20, 0.085), "Foot.L": (0.11, -0.32, 0.385), "Hips": (0.04, -0.10, 1.0)}
    for handle, position in {**pulls, "Chest": (0.02, -0.20, 1.40)}.items():
        assert bpy.ops.pose.fabrik_body_pull(handle=handle, position=position) == {"FINISHED"}
        update()
        assert (place(armature, handle) - Vector(position)).length < 1e-3, handle
    assert outside(armature) < 1e-3
    assert outside(armature, without=["Foot.L"]) > 0.05, "the weight is on the step"


def test_a_foot_in_the_air_carries_weight_only_where_it_is_pinned() -> None:
    armature = human()
    pull(armature, "Foot.R", (-0.042, -0.74, 0.535))
    assert list(stance_of(armature, upward(armature))) == ["Foot.L"]
    armature.fabrik.body.handles["Foot.R"].use_pin = True
    assert sorted(stance_of(armature, upward(armature))) == ["Foot.L", "Foot.R"]


def test_a_small_pull_of_a_foot_moves_the_hips_by_little() -> None:
    armature = human()
    hips = armature.pose.bones["spine"].head.copy()
    pull(armature, "Foot.L", (0.0, 0.0, 0.002))
    assert (armature.pose.bones["spine"].head - hips).length < 0.004


def test_a_body_that_lies_is_left_alone() -> None:
    poses = []
    for use_balance in (False, True):
        armature = human(use_balance)
        hips = armature.pose.bones["spine"]
        hips.matrix = Matrix.Translation((0.0, 0.5, 0.1)) @ Matrix.Rotation(math.radians(-80.0), 4, 'X') @ hips.matrix
        update()
        pull(armature, "Hand.L", (0.1, 0.1, 0.2))
        poses.append(heads(armature))
    assert poses[0] == poses[1]


def test_balance_is_against_gravity_of_the_world() -> None:
    armature = human()
    armature.rotation_euler, armature.scale = (0.0, 0.0, 2.0), (2.0, 2.0, 2.0)
    update()
    pull(armature, "Hips", (0.2, 0.0, -0.3))
    assert outside(armature) < 0.01
