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

from fabrik_addon.blender.drag import ChainDrag, Grab
from fabrik_addon.blender.overlay.draw_handler import is_drawn, sync_overlay
from fabrik_addon.blender.overlay.overlay_shapes import JOINT_SIZE, Layout, Shapes, StrokeKind, directions_of, rim_of
from fabrik_addon.blender.overlay.read_overlay import (
    WorldPositions,
    read_armature,
    read_limits,
    read_positions,
    read_settings,
    read_states,
    with_drag_state,
)
from fabrik_addon.core.math.operations import SCALAR
from fabrik_addon.core.model.joint_limits import clamp, joint_limits, rotation_of
from tests.blender.rigs import add_chain, end_of, make_empty, make_tail, update

NAMES = ("link", "joint", "pole", "limit", "at_limit", "pin", "NONE", "REACHED", "OUT_OF_REACH", "LIMITED", "STALLED")
COLORS = {name: (number / 16.0, 0.25, 0.5, 1.0) for number, name in enumerate(NAMES)}


class Drawn:
    """What would be drawn, by its colours' names."""

    def __init__(self, layout: Layout, shapes: Shapes) -> None:
        self.layout, self.shapes = layout, shapes
        self.ends = shapes.points[layout.rows]
        self.widths, self.kinds = layout.styles.T

    def _of(self, colors: np.ndarray, name: str) -> np.ndarray:
        return np.all(colors[:, :3] == COLORS[name][:3], axis=1) & (colors[:, 3] > 0.0)

    def lines(self, name: str) -> np.ndarray:
        """The ends (N, 2, 3) of the lines of a colour."""
        return self.ends[self._of(self.shapes.stroke_colors, name) & (self.kinds != StrokeKind.POINT)]

    def dots(self, name: str) -> np.ndarray:
        """The points (N, 3) of a colour."""
        return self.ends[self._of(self.shapes.stroke_colors, name) & (self.kinds == StrokeKind.POINT)][:, 0]

    def faces(self, name: str) -> np.ndarray:
        """The corners (N, 3, 3) of the triangles of a colour."""
        return self.shapes.points[self.layout.faces[self._of(self.shapes.face_colors, name)]]

    def target_colors(self) -> set[str]:
        """The names of the colours of targets and pins."""
        is_mark = (self.kinds == StrokeKind.POINT) & (self.widths > JOINT_SIZE)
        return {name for name in NAMES if (self._of(self.shapes.stroke_colors, name) & is_mark).any()}

    def offset_colors(self) -> set[str]:
        """The names of the colours of the offsets to targets."""
        names = NAMES[NAMES.index("NONE") :]
        return {name for name in names if len(self.lines(name))}


def drawn(armature: Any, session: ChainDrag | None = None) -> tuple[WorldPositions, Drawn]:
    view = read_armature(armature, session)
    states, limits = read_states(view), read_limits(view)
    places = read_positions(view, limits, session)
    layout = Layout(view, COLORS, len(limits))
    if session is not None:
        states = with_drag_state(view, states, session)
    return places, Drawn(layout, layout.shapes(places, states))


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
    wanted = [[tuple(end) for end in pair] for chain in (first, second) for pair in pairwise(chain)]
    assert np.allclose(shapes.lines("link"), wanted, atol=1e-5)
    assert np.allclose(shapes.dots("joint"), [first[-1][:], second[-1][:]], atol=1e-5)  # others are the links' own


def test_a_chain_that_ends_at_a_head_is_drawn_to_there() -> None:
    armature = make_tail(4)
    chain = add_chain(armature, "bone3", 3)
    chain.use_tail = False
    places, _ = drawn(armature)
    assert np.allclose(places.joints[-1], armature.pose.bones["bone3"].head, atol=1e-5)
    assert len(places.joints) == 4


def test_the_error_line_is_there_when_the_target_is_not_reached_in_the_colour_of_the_status() -> None:
    armature = make_tail(3)
    chain = add_chain(armature, "bone2", 3)
    _, shapes = drawn(armature)
    assert not shapes.offset_colors() and shapes.target_colors() == {"REACHED"}
    chain.target.location = (0.0, 0.0, 9.0)
    update()
    _, shapes = drawn(armature)
    assert shapes.target_colors() == {"NONE"}  # nothing has been solved
    bpy.ops.pose.fabrik_solve()
    _, shapes = drawn(armature)
    assert shapes.target_colors() == shapes.offset_colors() == {"OUT_OF_REACH"}
    ((start, end),) = shapes.lines("OUT_OF_REACH")
    assert np.allclose(start, end_of(armature, chain), atol=1e-5) and np.allclose(end, (0.0, 0.0, 9.0), atol=1e-5)


def test_reach_and_softness_are_the_chains() -> None:
    armature = make_tail(3)
    chain = add_chain(armature, "bone2", 3)
    chain.softness = 0.25
    ((center, least, greatest, begin),) = drawn(armature)[1].shapes.reaches
    length = sum(armature.pose.bones[f"bone{i}"].length for i in range(3))
    assert np.allclose(center, armature.pose.bones["bone0"].head, atol=1e-6)
    assert least == 0.0 and math.isclose(greatest, length, rel_tol=1e-5)
    assert math.isclose(begin, 0.75 * length, rel_tol=1e-5)


def test_the_pole_has_a_line_and_a_plane() -> None:
    armature = make_tail(2)
    chain = add_chain(armature, "bone1", 2, create_pole=True)
    places, shapes = drawn(armature)
    pole = chain.pole_target.matrix_world.translation
    assert np.allclose(shapes.faces("pole"), [[places.joints[0], places.joints[-1], pole]], atol=1e-6)
    to_pole, across = shapes.lines("pole")
    assert np.allclose(to_pole, [places.joints[1], pole], atol=1e-6)
    assert np.allclose(across, [places.joints[0], places.joints[-1]], atol=1e-6)
    assert np.allclose(shapes.dots("pole"), [pole], atol=1e-6)


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
        kept = clamp(SCALAR, limits, (x, 0.0, z))
        assert math.dist((x, z), (kept[0], kept[2])) < 1e-9  # allowed
        farther = 1.02 * np.array((x, z)) if limits.is_ellipse else middle + 1.02 * (np.array((x, z)) - middle)
        if has_width and np.hypot(*farther) <= 1.0 and math.dist(farther, (x, z)) > 1e-6:
            kept = clamp(SCALAR, limits, (farther[0], 0.0, farther[1]))
            assert math.dist(farther, (kept[0], kept[2])) > 1e-7  # and no farther
    turned = [Quaternion(rotation_of(SCALAR, (x, 0.0, z))) @ Vector((0.0, 1.0, 0.0)) for x, z in rim.tolist()]
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
    (cone,) = places.cones
    assert np.allclose(cone.head, bone.head, atol=1e-5) and math.isclose(cone.length, bone.length, rel_tol=1e-5)
    own = np.array(bone.rotation_quaternion.to_matrix())
    assert np.allclose(cone.axes @ own, np.array(bone.matrix)[:3, :3], atol=1e-5)
    assert not cone.is_at_limit and len(shapes.faces("limit")) and not len(shapes.faces("at_limit"))
    bone.rotation_quaternion = Euler((0.6, 0.0, 0.0)).to_quaternion()
    update()
    shapes = drawn(armature)[1]
    assert len(shapes.faces("at_limit")) and len(shapes.lines("at_limit")) and not len(shapes.lines("limit"))


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
    assert len(shapes.layout.rows) == len(shapes.layout.faces) == 0 and not shapes.shapes.reaches


def test_a_drag_is_drawn_as_it_stands() -> None:
    armature = make_tail(5)
    armature.fabrik.show_overlay = True
    add_chain(armature, "bone1", 2)
    session = ChainDrag(bpy.context.view_layer, armature, Grab("bone4"), 3, "ALL")
    session.move(bpy.context.view_layer, Vector((0.0, 0.0, 30.0)))
    places, shapes = drawn(armature, session)
    assert [chain.is_active for chain in shapes.layout.view.chains] == [False, True]
    assert np.allclose(places.targets[1], (0.0, 0.0, 30.0))
    assert np.allclose(shapes.dots("OUT_OF_REACH"), [(0.0, 0.0, 30.0)]) and len(shapes.lines("OUT_OF_REACH")) == 1
    assert np.allclose(shapes.dots("pin"), [end_of(armature, armature.fabrik.chains[0])], atol=1e-5)
    assert len(shapes.shapes.reaches) == 1


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


def test_a_targets_bone_of_its_own_armature_is_found_among_its_bones() -> None:
    armature = make_tail(4)
    chain = add_chain(armature, "bone1", 2)
    chain.target, chain.subtarget = armature, "bone3"
    armature.location = (1.0, 2.0, 3.0)
    update()
    places, _ = drawn(armature)
    assert np.allclose(places.targets[0], armature.matrix_world @ armature.pose.bones["bone3"].head, atol=1e-5)


def test_a_view_knows_where_a_target_goes_without_being_read_again() -> None:
    armature = make_tail(2)
    chain = add_chain(armature, "bone1", 2)
    view = read_armature(armature, None)
    chain.target.location = (0.25, -0.5, 1.5)
    update()
    assert np.allclose(read_positions(view, (), None).targets, [(0.25, -0.5, 1.5)])
    bpy.data.objects.remove(chain.target)
    with pytest.raises(ReferenceError):
        read_positions(view, (), None)


def test_settings_that_say_what_is_drawn_are_noticed() -> None:
    armature = make_tail(4)
    chain = add_chain(armature, "bone3", 3)
    before = read_settings(armature)
    assert read_settings(armature) == before
    other = make_empty("other", (0.0, 0.0, 0.0))
    changes = {"tip": "bone2", "chain_count": 2, "use_tail": False, "use_pin": True, "use_limits": False}
    for name, value in {**changes, "target": other, "pole_target": other, "enabled": False}.items():
        old = getattr(chain, name)
        setattr(chain, name, value)
        assert read_settings(armature) != before, name
        setattr(chain, name, old)
        assert read_settings(armature) == before
    armature.fabrik.chains.add().name = "another"
    assert read_settings(armature) != before


def test_colours_are_the_same_arrays_where_nothing_has_changed_but_places() -> None:
    armature = make_tail(3)
    chain = add_chain(armature, "bone2", 3)
    chain.target.location = (0.0, 0.0, 9.0)
    update()
    view = read_armature(armature, None)
    layout, states = Layout(view, COLORS, 0), read_states(view)
    first = layout.shapes(read_positions(view, (), None), states)
    armature.pose.bones["bone0"].rotation_mode = "XYZ"
    armature.pose.bones["bone0"].rotation_euler.x = 0.5
    update()
    second = layout.shapes(read_positions(view, (), None), states)
    assert second.stroke_colors is first.stroke_colors and not np.allclose(second.points, first.points)
    bpy.ops.pose.fabrik_solve()
    third = layout.shapes(read_positions(view, (), None), read_states(view))
    assert third.stroke_colors is not first.stroke_colors


@pytest.mark.parametrize("kind", ["moved", "stretched"])
def test_a_bone_made_last_has_its_own_cone(kind: str) -> None:
    """Pose bones come in the order in which they were made, others in that of the hierarchy."""
    armature = make_tail(3)
    bpy.ops.object.mode_set(mode="EDIT")
    bones = armature.data.edit_bones
    bone = bones.new("between")
    bone.head, bone.tail = bones["bone0"].tail, bones["bone0"].tail + Vector((0.3, 0.1, 0.0))
    bone.parent = bones["bone0"]
    bpy.ops.object.mode_set(mode="POSE")
    made = armature.pose.bones["between"]
    made.use_ik_limit_x = made.use_ik_limit_z = True
    armature.pose.bones["bone0"].rotation_mode = made.rotation_mode = "QUATERNION"
    armature.pose.bones["bone0"].rotation_quaternion = Euler((0.3, 0.2, 0.4)).to_quaternion()
    if kind == "stretched":
        made.scale.y = 1.7
    update()
    chain = armature.fabrik.chains.add()
    chain.name = chain.tip = "between"
    chain.chain_count = 2
    ((cone),) = drawn(armature)[0].cones
    assert np.allclose(cone.axes, np.array(made.matrix.to_3x3().normalized()), atol=1e-5)
    assert math.isclose(cone.length, (made.tail - made.head).length, rel_tol=1e-5)


def test_objects_that_have_not_moved_need_not_be_asked() -> None:
    armature = make_tail(4)
    add_chain(armature, "bone1", 2, create_pole=True)
    chain = add_chain(armature, "bone3", 2)
    chain.target, chain.subtarget = armature, "bone0"
    view = read_armature(armature, None)
    known = read_positions(view, (), None)
    armature.pose.bones["bone0"].rotation_mode = "XYZ"
    armature.pose.bones["bone0"].rotation_euler.x = 0.5
    armature.location = (1.0, 2.0, 3.0)
    update()
    fresh, quick = read_positions(view, (), None), read_positions(view, (), None, known)
    for name in ("joints", "targets", "poles"):
        assert np.array_equal(getattr(fresh, name), getattr(quick, name), equal_nan=True), name
    armature.fabrik.chains[0].target.location.x += 1.0
    update()
    assert np.array_equal(read_positions(view, (), None, known).targets, quick.targets)


def test_what_hangs_on_bones_says_that_it_moves() -> None:
    """What the overlay relies on: after an update and at another frame Blender lists the objects that have moved."""
    armature = make_tail(2)
    child, held, free = (make_empty(name, (0.0, 0.0, 0.0)) for name in ("child", "held", "free"))
    child.parent, child.parent_type, child.parent_bone = armature, "BONE", "bone1"
    constraint = held.constraints.new("COPY_LOCATION")
    constraint.target, constraint.subtarget = armature, "bone1"
    bone = armature.pose.bones["bone0"]
    bone.rotation_mode = "XYZ"
    update()
    moved: list[set[str]] = []

    def note(_scene: Any, depsgraph: Any) -> None:
        moved.append(
            {each.id.name for each in depsgraph.updates if each.is_updated_transform} & {"child", "held", "free"}
        )

    handlers = bpy.app.handlers
    handlers.depsgraph_update_post.append(note)
    handlers.frame_change_post.append(note)
    try:
        bone.rotation_euler.x = 0.5
        update()
        free.location.x = 1.0
        update()
        bone.keyframe_insert("rotation_euler", frame=1)
        bone.rotation_euler.x = 1.0
        bone.keyframe_insert("rotation_euler", frame=9)
        update()
        bpy.context.scene.frame_set(5)
    finally:
        handlers.depsgraph_update_post.remove(note)
        handlers.frame_change_post.remove(note)
    assert moved[0] == moved[-1] == {"child", "held"} and {"free"} in moved
