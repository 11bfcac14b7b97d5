# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the overlay would draw is where the chains are, and what they may do; drawing itself needs a window."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Euler, Quaternion, Vector

from fabrik_addon.blender.drag import DragSession, Grab
from fabrik_addon.blender.overlay.handler import is_drawn, sync_overlay
from fabrik_addon.blender.overlay.read import Places, read_armature, read_places
from fabrik_addon.blender.overlay.shapes import Palette, Shapes, directions_of, rim_of, shapes_of
from fabrik_addon.core.lanes import ONE
from fabrik_addon.core.limits.joint_limits import clamp, joint_limits, rotation_of
from tests.blender.rigs import add_chain, end_of, make_empty, make_tail, update

NAMES = ("link", "joint", "pole", "limit", "at_limit", "pin", "NONE", "REACHED", "OUT_OF_REACH", "LIMITED", "STALLED")
COLORS = {name: (number / 16.0, 0.25, 0.5, 1.0) for number, name in enumerate(NAMES)}


def drawn(armature: Any, session: DragSession | None = None) -> tuple[Places, Shapes]:
    view = read_armature(armature, session)
    places = read_places(view, session)
    return places, shapes_of(Palette(view, COLORS), places)


def names_in(parts: list[tuple[np.ndarray, np.ndarray]]) -> set[str]:
    """The names of the colours of some points."""
    found = {tuple(row[:3]) for _, colors in parts for row in colors.tolist()}
    return {name for name, color in COLORS.items() if color[:3] in found}


def test_links_run_from_joint_to_joint_in_the_world() -> None:
    armature = make_tail(4)
    armature.rotation_euler, armature.location, armature.scale = (0.3, 0.5, -1.0), (1.0, 2.0, 3.0), (2.0,) * 3
    update()
    add_chain(armature, "bone3", 3)
    add_chain(armature, "bone0", 1)
    places, shapes = drawn(armature)
    world, bones = armature.matrix_world, armature.pose.bones
    first = [*(world @ bones[f"bone{i}"].head for i in (1, 2, 3)), world @ bones["bone3"].tail]
    second = [world @ bones["bone0"].head, world @ bones["bone0"].tail]
    assert np.allclose(places.joints, [*map(tuple, first), *map(tuple, second)], atol=1e-5)
    points = shapes.lines[0][0]
    wanted = [end for chain in (first, second) for pair in pairwise(chain) for end in pair]
    assert np.allclose(points, list(map(tuple, wanted)), atol=1e-5)


def test_a_chain_that_ends_at_a_head_is_drawn_to_there() -> None:
    armature = make_tail(4)
    chain = add_chain(armature, "bone3", 3)
    chain.use_tail = False
    places, _ = drawn(armature)
    assert np.allclose(places.joints[-1], armature.pose.bones["bone3"].head, atol=1e-5)
    assert len(places.joints) == 4


def test_the_gap_is_there_when_the_target_is_not_reached_in_the_colour_of_the_status() -> None:
    armature = make_tail(3)
    chain = add_chain(armature, "bone2", 3)
    _, shapes = drawn(armature)
    assert len(shapes.lines) == 1 and names_in(shapes.marks) == {"REACHED"}
    chain.target.location = (0.0, 0.0, 9.0)
    update()
    _, shapes = drawn(armature)
    assert names_in(shapes.marks) == {"NONE"}  # nothing has been solved
    bpy.ops.pose.fabrik_solve()
    _, shapes = drawn(armature)
    assert names_in(shapes.marks) == names_in(shapes.lines[1:]) == {"OUT_OF_REACH"}
    way = shapes.lines[1][0]
    assert np.allclose(way[0], end_of(armature, chain), atol=1e-5) and np.allclose(way[-1], (0.0, 0.0, 9.0), atol=1e-5)


def test_reach_and_softness_are_the_chains() -> None:
    armature = make_tail(3)
    chain = add_chain(armature, "bone2", 3)
    chain.softness = 0.25
    ((center, least, greatest, begin),) = drawn(armature)[1].reaches
    length = sum(armature.pose.bones[f"bone{i}"].length for i in range(3))
    assert np.allclose(center, armature.pose.bones["bone0"].head, atol=1e-6)
    assert least == 0.0 and math.isclose(greatest, length, rel_tol=1e-5)
    assert math.isclose(begin, 0.75 * length, rel_tol=1e-5)


def test_the_pole_has_a_line_and_a_plane() -> None:
    armature = make_tail(2)
    chain = add_chain(armature, "bone1", 2, create_pole=True)
    places, shapes = drawn(armature)
    pole = chain.pole_target.matrix_world.translation
    assert names_in(shapes.faces) == {"pole"}
    assert np.allclose(shapes.faces[0][0], [places.joints[0], places.joints[-1], pole], atol=1e-6)
    line = shapes.thin_lines[0][0]
    assert np.allclose(line[0], places.joints[1], atol=1e-6) and np.allclose(line[-1], pole, atol=1e-6)


@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        ((-0.5, -1.0, -0.8), (0.9, 1.0, 0.3)),
        ((0.2, 0.0, 0.0), (2.0, 0.0, 0.0)),
        ((-0.4, -math.inf, -math.inf), (0.4, math.inf, math.inf)),
        ((0.1, 0.0, 0.1), (0.6, 0.0, 0.9)),
        ((-3.0, 0.0, -3.0), (3.0, 0.0, 3.0)),
    ],
)
def test_a_rim_is_as_far_as_a_bone_may_swing(lower: Any, upper: Any) -> None:
    limits = joint_limits(lower, upper)
    rim = rim_of(limits)
    has_width = limits.lower[0] < limits.upper[0] and limits.lower[2] < limits.upper[2]
    if not limits.reaches_half_turn:
        assert np.allclose(rim.min(axis=0), (limits.lower[0], limits.lower[2]))
        assert np.allclose(rim.max(axis=0), (limits.upper[0], limits.upper[2]))
    middle = 0.5 * (rim.min(axis=0) + rim.max(axis=0))
    for x, z in rim.tolist():
        kept = clamp(ONE, limits, (x, 0.0, z))
        assert math.dist((x, z), (kept[0], kept[2])) < 1e-9  # allowed
        farther = 1.02 * np.array((x, z)) if limits.is_ellipse else middle + 1.02 * (np.array((x, z)) - middle)
        if has_width and np.hypot(*farther) <= 1.0 and math.dist(farther, (x, z)) > 1e-6:
            kept = clamp(ONE, limits, (farther[0], 0.0, farther[1]))
            assert math.dist(farther, (kept[0], kept[2])) > 1e-7  # and no farther
    turned = [Quaternion(rotation_of(ONE, (x, 0.0, z))) @ Vector((0.0, 1.0, 0.0)) for x, z in rim.tolist()]
    assert np.allclose(directions_of(rim), [v[:] for v in turned], atol=1e-6)


def test_a_cone_stands_where_the_bone_turns() -> None:
    armature = make_tail(3)
    for name in ("bone0", "bone1"):
        armature.pose.bones[name].rotation_mode = "QUATERNION"
        armature.pose.bones[name].rotation_quaternion = Euler((0.3, 0.2, 0.4)).to_quaternion()
    bone = armature.pose.bones["bone1"]
    bone.use_ik_limit_x = bone.use_ik_limit_z = True
    bone.ik_min_x, bone.ik_max_x, bone.ik_min_z, bone.ik_max_z = -0.6, 0.6, -0.6, 0.6
    update()
    add_chain(armature, "bone2", 3)
    places, shapes = drawn(armature)
    ((head, axes, length, _limits, is_at_limit),) = places.cones
    assert np.allclose(head, bone.head, atol=1e-5) and math.isclose(length, bone.length, rel_tol=1e-5)
    own = np.array(bone.rotation_quaternion.to_matrix())
    assert np.allclose(axes @ own, np.array(bone.matrix)[:3, :3], atol=1e-5)
    assert not is_at_limit and "limit" in names_in(shapes.faces)
    bone.rotation_quaternion = Euler((0.6, 0.0, 0.0)).to_quaternion()
    update()
    assert "at_limit" in names_in(drawn(armature)[1].faces)


def test_broken_and_switched_off_chains_are_left_out() -> None:
    armature = make_tail(3)
    add_chain(armature, "bone2", 3)
    broken = armature.fabrik.chains.add()
    broken.name, broken.tip = "broken", "nowhere"
    off = add_chain(armature, "bone1", 1)
    off.enabled = False
    assert len(read_armature(armature, None).chains) == 1
    armature.fabrik.chains[0].enabled = False
    _, shapes = drawn(armature)
    assert shapes == Shapes()


def test_a_drag_is_drawn_as_it_stands() -> None:
    armature = make_tail(5)
    armature.fabrik.show_overlay = True
    add_chain(armature, "bone1", 2)
    session = DragSession(bpy.context.view_layer, armature, Grab("bone4"), 3, "ALL")
    session.move(bpy.context.view_layer, Vector((0.0, 0.0, 30.0)))
    view = read_armature(armature, session)
    places = read_places(view, session)
    assert [chain.is_active for chain in view.chains] == [False, True]
    assert np.allclose(places.targets[1], (0.0, 0.0, 30.0)) and places.statuses[1] == "OUT_OF_REACH"
    _, shapes = drawn(armature, session)
    assert "pin" in names_in(shapes.marks) or not view.chains[0].is_pinned
    assert len(shapes.reaches) == 1


def test_without_a_window_nothing_is_registered() -> None:
    armature = make_tail(2)
    handlers = len(bpy.app.handlers.depsgraph_update_post)
    armature.fabrik.show_overlay = True
    sync_overlay()
    assert not is_drawn() and len(bpy.app.handlers.depsgraph_update_post) == handlers


def test_targets_that_are_bones_are_found() -> None:
    armature = make_tail(2)
    chain = add_chain(armature, "bone1", 2)
    other = make_tail(2, name="Other", at=(3.0, 0.0, 0.0))
    chain.target, chain.subtarget = other, "bone1"
    chain.pole_target = make_empty("pole", (0.0, -3.0, 1.0))
    update()
    places, _ = drawn(armature)
    assert np.allclose(places.targets[0], other.matrix_world @ other.pose.bones["bone1"].head, atol=1e-5)
    assert np.allclose(places.poles[0], (0.0, -3.0, 1.0), atol=1e-6)
