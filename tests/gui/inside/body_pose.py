# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tool Body Pose: what its keys and its header do to handles, and what must not happen to it."""

from __future__ import annotations

from typing import Any

import bpy
from bodies import undo
from hands import window
from mathutils import Vector
from stage import (
    Stage,
    Steps,
    check,
    click,
    human,
    is_dragging,
    over,
    picture,
    pixel_of,
    pose_bits,
    rig_now,
    shot,
    traces,
    walk,
)


def drawn_at(place: Any) -> list[tuple[int, int, int]]:
    """The colours of the pixels in a disc about a place on the screen."""
    pixels, reach = picture(), 14
    x, y = int(place.x), len(pixels) - 1 - int(place.y)
    square = pixels[y - reach : y + reach + 1, x - reach : x + reach + 1].reshape(-1, 3)
    return [tuple(map(int, color)) for color in square]


def is_turning() -> bool:
    return any(operator.bl_idname == "POSE_OT_fabrik_body_turn" for operator in window().modal_operators)


def handle_of(name: str) -> Any:
    return rig_now().fabrik.body.handles[name]


def click_with(modifier: str, at: Any) -> Steps:
    Stage.hands.move(*at)
    yield 0.4
    Stage.hands.hold(modifier)
    yield 0.1
    yield from click(at)
    Stage.hands.let_go(modifier)
    yield 0.4


def double_click() -> Steps:
    """Two clicks on a forearm; Blender's event simulation knows no double clicks."""
    if Stage.mode == "simulated":
        return
    bone = rig_now().pose.bones["forearm.L"]
    at = pixel_of(bone.head.lerp(bone.tail, 0.55))
    count = len(rig_now().fabrik.body.handles)
    bpy.context.preferences.inputs.mouse_double_click_time = 1000  # a redraw between the clicks is slow here
    Stage.hands.move(*at)
    yield 0.4
    for _ in range(2):
        Stage.hands.down()
        Stage.hands.up()
        yield 0.05
    yield 0.5
    handles = rig_now().fabrik.body.handles
    check(len(handles) == count + 1, f"a double click on a bone adds a handle ({len(handles) - count})")
    check(handles[-1].bone == "forearm.L" and handles[-1].use_tail, f"at its nearer end ({handles[-1].name})")
    yield from undo()
    check(len(rig_now().fabrik.body.handles) == count, "undo removes it")


def body_handles() -> Steps:
    """Pin, unpin, let go, add by a double click: with the keys of the tool, each one undo step."""
    rig = human("foot.R")
    with over():
        bpy.ops.pose.fabrik_body_add()
        bpy.ops.wm.tool_set_by_id(name="fabrik_ik.body_pose")
        bpy.ops.ed.undo_push(message="body")
    rig.data.display_type = "STICK"
    yield 0.8
    pose = pose_bits(rig_now())
    at = pixel_of(rig_now().pose.bones["hand.L"].head)
    before = drawn_at(at)
    yield from click_with("ctrl", at)
    check(handle_of("Hand.L").use_pin, "Ctrl click pins a handle")
    Stage.hands.move(*(at + Vector((0, 200))))
    yield 0.5
    check(drawn_at(at) != before, "a pinned handle looks different")
    shot("body-handle-pinned")
    yield from click_with("ctrl", at)
    check(not handle_of("Hand.L").use_pin, "another one unpins it")
    yield from undo()
    check(handle_of("Hand.L").use_pin, "which one undo takes back")
    yield from click_with("alt", at)
    hand = handle_of("Hand.L")
    check(not (hand.use_pin or hand.use_position or hand.use_rotation), "Alt click lets it go")
    yield from click_with("alt", pixel_of(rig_now().pose.bones["foot.L"].head))
    check(not handle_of("Foot.L").use_position, "a planted foot, too")
    yield from click_with("ctrl", at + Vector((0, 200)))
    check(pose_bits(rig_now()) == pose and not is_dragging(), "beside a handle Ctrl click does nothing to the body")
    yield from double_click()
    shot("body-handles")
    check(pose_bits(rig_now()) == pose, "no bone has moved")


def body_turn() -> Steps:
    """R turns the handle under the mouse: cancelled to the last bit, typed; beside the handles R is Blender's own."""
    rig = human("foot.R")
    with over():
        bpy.ops.pose.fabrik_body_add()
        bpy.ops.wm.tool_set_by_id(name="fabrik_ik.body_pose")
        bpy.ops.ed.undo_push(message="body")
    rig.data.display_type = "STICK"
    yield 0.8
    rig = rig_now()
    pose, left = pose_bits(rig), traces()
    chest = rig.pose.bones["spine.003"]
    at = pixel_of(chest.head)
    Stage.hands.move(*at)
    yield 0.4
    Stage.hands.key("R")
    yield 0.4
    check(is_turning(), "R on a handle turns it")
    yield from walk(at + Vector((60, 0)), at + Vector((30, 60)), 6)
    yield 0.3
    check(pose_bits(rig_now()) != pose, "the body follows the mouse")
    shot("body-turn")
    Stage.hands.key("ESC")
    yield 0.4
    check(pose_bits(rig_now()) == pose and not is_turning(), "Escape restores every bit")
    Stage.hands.move(*at)
    yield 0.4
    rotation = rig_now().pose.bones["spine.003"].matrix.to_quaternion()
    for key in ("R", "Z", "2", "0", "RET"):
        Stage.hands.key(key)
        yield 0.4
    turned = rig_now().pose.bones["spine.003"].matrix.to_quaternion().rotation_difference(rotation).angle
    check(abs(turned - 0.349) < 0.01, f"R Z 20 turns by 20 degrees ({turned:.3f})")
    shot("body-turned")
    yield from undo()
    check(pose_bits(rig_now()) == pose, "one undo restores every bit")
    Stage.hands.move(*(at + Vector((150, 100))))
    yield 0.4
    Stage.hands.key("R")
    yield 0.4
    running = [operator.bl_idname for operator in window().modal_operators]
    check("TRANSFORM_OT_rotate" in running, f"beside the handles R is Blender's own ({running})")
    Stage.hands.key("ESC")
    yield 0.4
    after = traces()
    check(after == left, f"nothing is left behind ({left}, {after})")
