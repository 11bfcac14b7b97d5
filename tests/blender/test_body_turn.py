# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The turn of a handle of a body: by its operator, its session, and the pointer that mouse and keys move."""

from __future__ import annotations

import math
from typing import Any

import bpy
import pytest
from bpy.types import Object
from mathutils import Matrix, Quaternion, Vector

from fabrik_addon.blender.drag.body_turn import BodyTurn
from fabrik_addon.blender.drag.drag_header import turn_text
from fabrik_addon.blender.drag.turn_pointer import TurnPointer
from fabrik_addon.blender.drag.view_projection import View
from tests.blender.rigs import error_of, everything, pose_of, printed, update
from tests.blender.test_mouse_to_world import make_view

ops: Any = bpy.ops.pose

X, Y, Z = (Vector(axis) for axis in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)))


def bone_of(armature: Object, handle: str) -> Any:
    return armature.pose.bones[armature.fabrik.body.handles[handle].bone]


def degrees(a: Quaternion, b: Quaternion) -> float:
    left = a.conjugated() @ b
    return math.degrees(2.0 * math.atan2(Vector(left[1:]).length, abs(left.w)))


@pytest.mark.parametrize(
    ("handle", "axis", "angle", "most"),
    [
        ("Hand.L", Y, 40.0, 0.1),
        ("Foot.R", Z, 25.0, 0.1),
        ("Head", Z, 30.0, 0.1),
        ("Hips", Z, 10.0, 0.1),
        ("Chest", Z, 20.0, 0.1),
    ],
)
def test_a_turned_handle_stays_and_its_bone_is_turned(
    human: Object, handle: str, axis: Vector, angle: float, most: float
) -> None:
    bone = bone_of(human, handle)
    place, rotation = bone.head.copy(), bone.matrix.to_quaternion()
    assert ops.fabrik_body_turn(handle=handle, axis=axis, angle=math.radians(angle)) == {"FINISHED"}
    update()
    assert degrees(bone.matrix.to_quaternion(), Quaternion(axis, math.radians(angle)) @ rotation) < most
    assert (bone.head - place).length < 2e-3
    feet = [bone_of(human, name) for name in ("Foot.L", "Foot.R") if name != handle]
    assert max((foot.head - foot.bone.head_local).length for foot in feet) < 2e-4, "the feet stay"
    assert human.fabrik.body.handles[handle].use_rotation


@pytest.mark.parametrize("angle", [30.0, 45.0])
def test_hips_turn_far_over_planted_feet(human: Object, angle: float) -> None:
    hips = bone_of(human, "Hips")
    place, rotation = hips.head.copy(), hips.matrix.to_quaternion()
    assert ops.fabrik_body_turn(handle="Hips", axis=Z, angle=math.radians(angle)) == {"FINISHED"}
    update()
    assert degrees(hips.matrix.to_quaternion(), Quaternion(Z, math.radians(angle)) @ rotation) < 0.1
    assert (hips.head - place).length < 0.01
    feet = [bone_of(human, name) for name in ("Foot.L", "Foot.R")]
    assert max((foot.head - foot.bone.head_local).length for foot in feet) < 2e-4


def test_a_balanced_body_turns_its_hips(human: Object) -> None:
    human.fabrik.body.use_balance = True
    hips = bone_of(human, "Hips")
    rotation = hips.matrix.to_quaternion()
    assert ops.fabrik_body_turn(handle="Hips", axis=Z, angle=math.radians(10.0)) == {"FINISHED"}
    update()
    assert degrees(hips.matrix.to_quaternion(), Quaternion(Z, math.radians(10.0)) @ rotation) < 0.1


def test_a_balanced_body_turns_far_at_once(human: Object) -> None:
    layer, chest = bpy.context.view_layer, bone_of(human, "Chest")
    rotation = chest.matrix.to_quaternion()
    session = BodyTurn(layer, human, "Chest")
    for angle in (2.0, 20.0):
        session.turn(layer, Quaternion(Z, math.radians(angle)))
        assert degrees(chest.matrix.to_quaternion(), Quaternion(Z, math.radians(angle)) @ rotation) < 0.1


def test_a_turn_keeps_the_rotation_alone(human: Object) -> None:
    assert ops.fabrik_body_turn(handle="Chest", axis=Z, angle=0.3) == {"FINISHED"}
    chest = human.fabrik.body.handles["Chest"]
    assert chest.use_rotation and not chest.use_position


def test_by_no_angle_there_is_nothing_to_undo(human: Object) -> None:
    before = everything()
    assert ops.fabrik_body_turn(handle="Head", angle=0.0) == {"CANCELLED"}
    assert everything() == before


def test_what_can_not_be_turned_is_named(human: Object) -> None:
    assert "'Elbow.L' is at an elbow" in error_of(ops.fabrik_body_turn, handle="Elbow.L", angle=0.5)
    assert "'Knee.R' is at a knee" in error_of(ops.fabrik_body_turn, handle="Knee.R", angle=0.5)
    assert "The axis has no length" in error_of(ops.fabrik_body_turn, handle="Head", axis=(0.0, 0.0, 0.0), angle=0.5)
    for options in ({"axis": (math.nan, 0.0, 0.0), "angle": 0.5}, {"angle": math.nan}):
        message = error_of(ops.fabrik_body_turn, handle="Head", **options)
        assert message == "The rotation is not a finite number"
    bone_of(human, "Head").lock_rotation = (True,) * 3
    bone_of(human, "Head").lock_rotation_w = bone_of(human, "Head").lock_rotations_4d = True
    assert "locked" in error_of(ops.fabrik_body_turn, handle="Head", angle=0.5)


def test_a_session_turns_from_its_start_and_cancels_to_the_last_bit(human: Object) -> None:
    before = pose_of(human)
    layer = bpy.context.view_layer
    session = BodyTurn(layer, human, "Hand.L")
    poses = []
    for angle in (0.2, 0.4, 0.2):
        session.turn(layer, Quaternion(Y, angle))
        poses.append(bone_of(human, "Hand.L").matrix.to_quaternion())
    assert degrees(poses[0], poses[2]) < 0.2
    session.finish(layer)
    assert bone_of(human, "Hand.L").matrix.to_quaternion() == poses[2], "the end of the turn changes nothing"
    session.turn(layer, Quaternion())
    assert pose_of(human) == before, "without a rotation the pose is that of the start"
    session.turn(layer, Quaternion(X, 0.3))
    session.cancel(layer)
    assert pose_of(human) == before


def test_hips_that_come_behind_their_turn_come_back_to_the_start(human: Object) -> None:
    """The angle that was left stayed that of the step before: a turn by 0 ended 1 degree off."""
    before, layer = pose_of(human), bpy.context.view_layer
    session = BodyTurn(layer, human, "Hips")
    for angle in (60.0, 2.0, 0.1, 0.0):
        session.turn(layer, Quaternion(Y, math.radians(angle)))
    assert session.angle_left > 0.0 and pose_of(human) != before, "it is still on its way"
    while not session.is_settled:
        session.settle(layer)
    assert session.angle_left == 0.0 and pose_of(human) == before


def test_a_turn_that_balance_holds_back_has_no_jump(human: Object) -> None:
    human.fabrik.body.use_balance = True
    layer, axis, before = bpy.context.view_layer, Vector((0.62, -0.78, 0.13)).normalized(), None
    session = BodyTurn(layer, human, "Hips")
    turned = []
    for step in range(1, 41):
        session.turn(layer, Quaternion(axis, math.radians(1.5 * step)))
        pose = [bone.matrix_basis.to_quaternion() for bone in human.pose.bones]
        if before is not None:
            turned.append(max(degrees(*each) for each in zip(before, pose, strict=True)))
        before = pose
    assert max(turned) <= 3.0 * sorted(turned)[len(turned) // 2]
    left = session.angle_left
    session.finish(layer)
    assert session.angle_left <= left


def test_with_mirror_the_other_side_turns_alike(human: Object) -> None:
    human.pose.use_mirror_x = True
    left, right = bone_of(human, "Hand.L"), bone_of(human, "Hand.R")
    start = right.matrix.to_quaternion()
    assert ops.fabrik_body_turn(handle="Hand.L", axis=Z, angle=0.5) == {"FINISHED"}
    update()
    assert degrees(right.matrix.to_quaternion(), Quaternion(Z, -0.5) @ start) < 0.1
    assert (right.head - Vector((-left.head.x, left.head.y, left.head.z))).length < 1e-3


def view() -> View:
    return make_view(Vector((0.0, -8.0, 0.0)), Vector((0.0, 0.0, 0.0)))


def pointer_at(angle: float, axes: Matrix | None = None) -> tuple[TurnPointer, Vector]:
    """A pointer whose mouse is at an angle on the screen around the turned point, and the pixel of the point."""
    center = view().pixel_of(Vector((0.0, 0.0, 0.0)))
    assert center is not None
    return TurnPointer(view(), around(center, angle), Vector((0.0, 0.0, 0.0)), axes or Matrix.Identity(3)), center


def around(center: Vector, angle: float) -> Vector:
    return center + 100.0 * Vector((math.cos(angle), math.sin(angle)))


def test_the_mouse_turns_by_its_angle_on_the_screen_and_several_times() -> None:
    pointer, center = pointer_at(0.3)
    for step in range(1, 91):
        pointer.set_mouse(around(center, 0.3 + 0.1 * step), False)
    assert abs(pointer.angle() - 9.0) < 1e-5
    assert (pointer.rotation().axis - Vector((0.0, -1.0, 0.0))).length < 1e-5, "toward the viewer"
    pointer.set_mouse(around(center, 0.3 + 9.1), True)
    assert abs(pointer.angle() - 9.01) < 1e-5, "a tenth with Shift"
    assert abs(pointer.angle(math.radians(5.0)) - math.radians(515.0)) < 1e-5, "in steps"


def test_axes_are_locked_in_turn_and_seen_from_behind_the_mouse_turns_the_other_way() -> None:
    pointer, center = pointer_at(0.0, Matrix.Rotation(0.5, 3, "Z"))
    pointer.set_mouse(around(center, 0.4), False)
    pointer.press_axis(1)
    assert pointer.axis == Y and abs(pointer.angle() + 0.4) < 1e-6, "Y points away from the viewer"
    pointer.press_axis(1)
    assert (pointer.axis - Matrix.Rotation(0.5, 3, "Z").col[1]).length < 1e-6
    pointer.press_axis(1)
    assert pointer.lock is None
    for character in "-45":
        pointer.numbers.type(character)
    assert abs(pointer.angle() + math.radians(45.0)) < 1e-6


def test_near_the_turned_point_the_mouse_says_nothing() -> None:
    pointer, center = pointer_at(0.0)
    pointer.set_mouse(center, False)
    pointer.set_mouse(around(center, 0.2), False)
    assert abs(pointer.angle() - 0.2) < 1e-6


@pytest.mark.parametrize("begin", [(0.0, 0.0), (-5.0, 0.0), (-9.0, 2.0)])
def test_a_turn_that_begins_inside_a_handle_does_not_jump(begin: tuple[float, float]) -> None:
    """The same way of the mouse out of a handle turned a hand by 3 degrees or by 145, by where it began."""
    center = view().pixel_of(Vector((0.0, 0.0, 0.0)))
    assert center is not None
    pointer = TurnPointer(view(), center + Vector(begin), Vector((0.0, 0.0, 0.0)), Matrix.Identity(3))
    for way in ((6.0, 5.0), (30.0, 25.0), (60.0, 50.0)):
        pointer.set_mouse(center + Vector(begin) + Vector(way), False)
    assert abs(math.degrees(pointer.angle())) < 15.0


def test_the_header_says_angle_and_axis(human: Object) -> None:
    session = BodyTurn(bpy.context.view_layer, human, "Head")
    pointer = TurnPointer(view(), Vector((0.0, 0.0)), session.start_position, session.axes)
    pointer.press_axis(2)
    session.turn(bpy.context.view_layer, Quaternion(Z, math.radians(20.0)))
    assert turn_text(session, pointer) == "'spine.006'    Rot: 20.00° along global Z    Reached"
    pointer.numbers.type("3")
    assert "Rot: [3|]" in turn_text(session, pointer)


def test_a_locked_hand_is_said_to_be_held_by_locks_too(human: Object, capfd: pytest.CaptureFixture[str]) -> None:
    bone_of(human, "Hand.L").lock_rotation = (True, True, True)
    printed(capfd)
    assert ops.fabrik_body_turn(handle="Hand.L", angle=0.3) == {"FINISHED"}
    assert "Handle 'Hand.L': limits, locks or held handles keep it" in printed(capfd)
