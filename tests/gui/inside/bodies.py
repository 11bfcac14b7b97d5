# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies made by their button and dragged with the mouse, and the manual's pictures of them."""

from __future__ import annotations

from typing import Any

import bpy
from mathutils import Vector
from stage import (
    Stage,
    Steps,
    area,
    check,
    click,
    click_button,
    drag,
    find_button,
    fresh_file,
    hold,
    human,
    is_dragging,
    middle,
    open_sidebar,
    over,
    pixel_of,
    pose_bits,
    region,
    release,
    rig_now,
    shot,
    traces,
    undo,
    use_tool,
    with_tool,
)

HELD = 2e-4
"""Distance that a planted foot may move, in metres: 1e-4 of the body's height."""


def feet(rig: Any) -> list[Vector]:
    return [rig.pose.bones[f"foot.{side}"].head.copy() for side in "LR"]


def body() -> Steps:
    """Make Body by its button, a hand dragged down, both taken back."""
    human("hand.L")
    before = traces()
    yield from open_sidebar()
    if not (yield from click_button("a button to make a body", "pose.fabrik_body_add")):
        return
    yield 0.6
    check(len(rig_now().fabrik.body.parts) > 40, "the button makes a body")
    yield from tool_by_its_button()
    yield from undo()
    check(not rig_now().fabrik.body.parts, "undo takes it back in one step")
    with over():
        bpy.ops.pose.fabrik_body_add()
        bpy.ops.ed.undo_push(message="body")
    rig = rig_now()
    pose, places = pose_bits(rig), feet(rig)
    area().spaces.active.show_region_ui = False
    yield 0.5
    yield from drag(Vector((-90, -150)), 10)
    yield 0.4
    check(is_dragging(), "the drag of a body runs")
    moved = rig_now()
    hips = (moved.pose.bones["spine"].head - moved.data.bones["spine"].head_local).length
    check(hips > 0.01, f"the hips follow ({hips:.3f})")
    yield from click(middle(region()) + Vector((-90, -150)))
    check(not is_dragging(), "a click ends it")
    off = max((a - b).length for a, b in zip(places, feet(rig_now()), strict=True))
    check(off < HELD, f"the feet stay ({off:.6f})")
    yield from undo()
    check(pose_bits(rig_now()) == pose, "one undo restores every bit")
    after = traces()
    check(after == before, f"nothing is left behind ({before}, {after})")


def tool_by_its_button() -> Steps:
    """The panel of a body's handles has a button for the tool that shows them, while another tool is active."""
    if not (yield from click_button("a button for the tool Body Pose", "wm.tool_set_by_id")):
        return
    yield 0.4
    shot("body-tool-by-button")
    tool = bpy.context.workspace.tools.from_space_view3d_mode("POSE", create=False)
    check(tool.idname == "fabrik_ik.body_pose", f"it makes this tool active ({tool.idname})")
    remains = yield from find_button("wm.tool_set_by_id")
    check(not remains, f"and isn't there any more ({remains})")
    yield from use_tool("builtin.select_box")


def body_tool() -> Steps:
    """Handles while the tool is active: hovered, pulled in one press, one undo step; none with another tool."""
    yield from with_tool()
    shot("body-tool")
    rig = rig_now()
    pose, left = pose_bits(rig), traces()
    at, way = pixel_of(rig.pose.bones["hand.L"].head), Vector((-60, 110))
    Stage.hands.move(*at)
    yield 0.5
    shot("body-tool-hover")
    yield from hold(at, way, 8)
    yield 0.3
    check(is_dragging(), "pressed and moved a handle is dragged")
    shot("body-tool-drag")
    off = (pixel_of(rig_now().pose.bones["hand.L"].head) - at - way).length
    check(off < 2.0, f"the hand is under the mouse ({off:.1f} pixels off)")
    yield from release()
    check(not is_dragging(), "letting go ends it")
    check(pose_bits(rig_now()) != pose, "and keeps the pose")
    yield from undo()
    check(pose_bits(rig_now()) == pose, "one undo restores every bit")
    yield from no_handles_without_the_tool()
    after = traces()
    check(after == left, f"nothing is left behind ({left}, {after})")
    yield from use_tool("fabrik_ik.body_pose")
    yield from no_handles_in_a_new_file()


def no_handles_without_the_tool() -> Steps:
    yield from use_tool("builtin.select_box")
    at = pixel_of(rig_now().pose.bones["hand.L"].head)
    yield from hold(at, Vector((30, 30)))
    check(not is_dragging(), "with another tool there are no handles")
    yield from release()


def no_handles_in_a_new_file() -> Steps:
    yield from fresh_file()
    human("hand.L")
    with over():
        bpy.ops.pose.fabrik_body_add()
    yield 0.6
    at = pixel_of(rig_now().pose.bones["hand.L"].head)
    yield from hold(at, Vector((-60, 110)), 8)
    check(not is_dragging(), "a new file has Blender's first tool, and no handles")
    yield from release()


def horse() -> Any:
    """Rigify's horse from the side, with its bones as sticks."""
    with over():
        bpy.ops.object.armature_horse_metarig_add()
        rig = bpy.context.object
        rig.data.display_type = "STICK"
        bpy.ops.object.mode_set(mode="POSE")
        bpy.ops.pose.select_all(action="DESELECT")
        bpy.ops.view3d.view_axis(type="RIGHT")
        bpy.ops.view3d.view_all(center=False)
        bpy.ops.view3d.view_orbit(angle=0.45, type="ORBITRIGHT")
    return rig


def manual_bodies() -> Steps:
    """The picture of a body in the manual; a human that picks something up, a horse that lifts a hoof."""
    rig = human("hand.L")
    rig.data.display_type = "STICK"
    area().spaces.active.show_region_ui = False
    Stage.hands.move(*(middle(region()) + Vector((0.0, 250.0))))
    with over():
        bpy.ops.wm.tool_set_by_id(name="fabrik_ik.body_pose")
        bpy.ops.view3d.view_orbit(angle=0.6, type="ORBITRIGHT")
        bpy.ops.pose.fabrik_body_add()
        rig.fabrik.show_overlay = True
        bpy.ops.pose.select_all(action="DESELECT")
    yield 0.6
    shot("manual-body")
    place = rig.matrix_world @ rig.pose.bones["hand.L"].head
    with over():
        bpy.ops.pose.fabrik_body_pull(handle="Hand.L", position=place + Vector((-0.2, -0.45, -0.65)))
    yield 0.6
    shot("body-pulled")
    check(rig.fabrik.body.handles["Hand.L"].use_position, "a hand is pulled")
    bpy.data.objects.remove(rig)
    rig = horse()
    with over():
        bpy.ops.pose.fabrik_body_add()
    rig.fabrik.show_overlay = True
    handle = rig.fabrik.body.handles["Hand.L"]
    bone = rig.pose.bones[handle.bone]
    place = rig.matrix_world @ (bone.tail if handle.use_tail else bone.head)
    with over():
        bpy.ops.pose.fabrik_body_pull(handle="Hand.L", position=place + Vector((0.0, -0.35, 0.45)))
        bpy.ops.pose.select_all(action="DESELECT")
    yield 0.6
    shot("body-horse")
    check(len(rig.fabrik.body.parts) > 20, "a horse has a body")
