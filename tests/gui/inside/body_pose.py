# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tool Body Pose: what its keys and its header do to handles, and what must not happen to it."""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bpy
from bl_keymap_utils import keymap_hierarchy
from bodies import HELD
from hands import window
from mathutils import Vector
from stage import (
    MODULE,
    Stage,
    Steps,
    area,
    check,
    click,
    fresh_file,
    hold,
    is_dragging,
    middle,
    moved_bones,
    over,
    picture,
    pixel_of,
    pose_bits,
    region,
    release,
    rig_now,
    shot,
    traces,
    undo,
    use_tool,
    walk,
    with_tool,
)

STRAY_TIMERS = 2
"""Events of Blender's own timers that may come in a second; that of a drag ticks 50 times."""

KEYMAP = "3D View Tool: Pose, Body Pose"


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


def click_on_handle() -> Steps:
    """It selects the bone of the handle, which covers the bone, and moves nothing."""
    pose = pose_bits(rig_now())
    yield from click(pixel_of(rig_now().pose.bones["hand.R"].head))
    yield 0.4
    rig = rig_now()
    selected = [bone.name for bone in rig.pose.bones if bone.select]
    check(selected == ["hand.R"] and rig.data.bones.active.name == "hand.R", f"a click selects the bone ({selected})")
    body = rig.fabrik.body
    check(body.handles[body.active_handle].name == "Hand.R", "and its handle in the panel")
    check(pose_bits(rig) == pose and not is_dragging(), "and moves nothing")


def drag_beside_handles() -> Steps:
    """A drag that misses every handle selects in a box, as with Blender's own tools; it moved the selected bones."""
    pose = pose_bits(rig_now())
    for bone in rig_now().pose.bones:
        bone.select = bone.name == "upper_arm.R"
    begin = pixel_of(rig_now().pose.bones["upper_arm.R"].tail) + Vector((-30, 60))
    yield from hold(begin, Vector((60, -120)), 5)
    running = [operator.bl_idname for operator in window().modal_operators]
    check(running == ["VIEW3D_OT_select_box"], f"a drag beside the handles selects in a box ({running})")
    yield from release()
    check(pose_bits(rig_now()) == pose, "and moves no bone")


def body_handles() -> Steps:
    """Pin, unpin, let go, add by a double click: with the keys of the tool, each one undo step."""
    yield from with_tool()
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
    yield from click_on_handle()
    yield from drag_beside_handles()
    shot("body-handles")
    check(pose_bits(rig_now()) == pose, "no bone has moved")


def body_turn() -> Steps:
    """R turns the handle under the mouse: cancelled to the last bit, typed; beside the handles R is Blender's own."""
    yield from with_tool()
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


def lead(bone: str, way: Vector, steps: int = 8) -> Steps:
    """Press on the handle at a bone's head, and move; the mouse doesn't rest at the end, and the button stays down."""
    at = pixel_of(rig_now().pose.bones[bone].head)
    yield from hold(at, way, steps)


def pull(bone: str, way: Vector) -> Steps:
    """Press on the handle at a bone's head, move, and rest; the button stays down."""
    yield from lead(bone, way)
    yield 0.3


class POSE_OT_count_timers(bpy.types.Operator):
    """Counts the events of timers that reach the window, until Escape or another file."""

    bl_idname = "pose.count_timers"
    bl_label = "Count Timers"

    counted = 0

    def invoke(self, context: Any, _event: Any) -> set[str]:
        context.window_manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, _context: Any, event: Any) -> set[str]:
        POSE_OT_count_timers.counted += event.type == "TIMER"
        return {"PASS_THROUGH"}


def timers_in(seconds: float) -> Steps:
    """Count the events of timers from now on."""
    POSE_OT_count_timers.counted = 0
    yield seconds


def largest_turn(before: list[Any]) -> float:
    """The largest rotation (degrees) of a bone since ``bone_frames``."""
    turns = [a.rotation_difference(b).angle for a, b in zip(before, bone_frames(), strict=True)]
    return math.degrees(max(min(turn, math.tau - turn) for turn in turns))  # q and -q are one rotation


def bone_frames() -> list[Any]:
    return [bone.matrix.to_quaternion() for bone in rig_now().pose.bones]


def hand_to_the_floor() -> Steps:
    """Lead a hand down, in moves that are too short for a jump."""
    yield from lead("hand.L", Vector((40, -400)), 24)


def body_settles() -> Steps:
    """While the mouse rests the body settles, until its timer ends; what is shown at the release is kept."""
    bpy.utils.register_class(POSE_OT_count_timers)
    yield from with_tool()
    pose = pose_bits(rig_now())
    with over():
        bpy.ops.pose.count_timers("INVOKE_DEFAULT")
    left = traces()
    yield from hand_to_the_floor()
    shown = bone_frames()
    for _ in range(10):  # on a busy machine without a graphics card the window is redrawn two or three times a second
        bits = pose_bits(rig_now())
        yield 1.0
        if pose_bits(rig_now()) == bits:
            break
    # How far depends on how much it has settled between the moves: 0.6 degrees were left where those took longer.
    check(largest_turn(shown) > 0.2, f"the body goes on ({largest_turn(shown):.1f} degrees)")
    shown, bits = bone_frames(), pose_bits(rig_now())
    yield from timers_in(1.0)
    check(POSE_OT_count_timers.counted <= STRAY_TIMERS, f"until the timer ends ({POSE_OT_count_timers.counted})")
    check(pose_bits(rig_now()) == bits, "and the pose rests")
    yield from release()
    check(not is_dragging() and pose_bits(rig_now()) == bits, "letting go keeps every bit of it")
    yield from undo()
    check(pose_bits(rig_now()) == pose, "one undo restores every bit")
    yield from hand_to_the_floor()
    shown = bone_frames()
    yield from release()
    turned = largest_turn(shown)
    check(not is_dragging() and turned < 8.0, f"without a rest it stays as well ({turned:.1f} degrees)")
    yield from timers_in(0.5)
    check(POSE_OT_count_timers.counted <= STRAY_TIMERS, f"a release removes the timer ({POSE_OT_count_timers.counted})")
    yield from undo()
    yield from hand_to_the_floor()
    Stage.hands.key("ESC")
    yield from timers_in(0.7)
    check(pose_bits(rig_now()) == pose, "Escape restores every bit")
    check(POSE_OT_count_timers.counted <= STRAY_TIMERS, f"and removes the timer ({POSE_OT_count_timers.counted})")
    yield from release()
    check(traces() == left, f"nothing is left behind ({left}, {traces()})")
    yield from hand_to_the_floor()
    check(is_dragging(), "a drag runs")
    yield from fresh_file()
    with over():
        bpy.ops.pose.count_timers("INVOKE_DEFAULT")
    yield from timers_in(0.7)
    check(not is_dragging(), "a new file ends it")
    check(POSE_OT_count_timers.counted <= STRAY_TIMERS, f"with its timer ({POSE_OT_count_timers.counted})")
    yield from release()
    bpy.utils.unregister_class(POSE_OT_count_timers)


def body_pins_and_hips() -> Steps:
    """A person squats by the hips, a pinned hand stays; the redo panel changes what follows; one undo step each."""
    yield from with_tool()
    yield from click_with("ctrl", pixel_of(rig_now().pose.bones["hand.R"].head))
    before = {name: rig_now().pose.bones[name].head.copy() for name in ("hand.R", "toe.L", "toe.R")}
    pose = pose_bits(rig_now())
    yield from pull("spine", Vector((0, -60)))
    check(is_dragging(), "the hips are pulled")
    shot("body-squat")
    yield from release()
    off = max((rig_now().pose.bones[name].head - place).length for name, place in before.items())
    check(off < HELD, f"toes and pinned hand stay, and heels may lift ({off:.6f})")
    down = rig_now().pose.bones["spine"].head.z - rig_now().data.bones["spine"].head_local.z
    check(down < -0.1, f"the hips go down ({down:.3f})")
    yield from undo()
    check(pose_bits(rig_now()) == pose, "one undo restores every bit")
    yield from pull("hand.L", Vector((-30, -150)))
    yield from release()
    spine = rig_now().pose.bones["spine.001"].matrix_basis.to_quaternion().angle
    check(spine > 0.01, f"the spine follows a far hand ({spine:.3f})")
    last = bpy.context.window_manager.operators[-1]
    check(last.bl_idname == "POSE_OT_fabrik_drag", f"the redo panel shows the drag ({last.bl_idname})")
    last.properties.follows = "LIMB"
    with over():
        bpy.ops.ed.undo_redo()
    yield 0.5
    spine = rig_now().pose.bones["spine.001"].matrix_basis.to_quaternion().angle
    check(spine == 0.0, f"with the limb alone it stays ({spine:.3f})")
    shot("body-redo")


def is_drawn(name: str) -> bool:
    """Whether a handle is seen on the screen, and hit by the mouse."""
    return has_color(drawn_at(pixel_of(rig_now().pose.bones[name].head)), "gizmo_secondary")


def body_hidden() -> Steps:
    """No handles of a body that isn't seen; keys of the tool are Blender's own where no handles are shown."""
    yield from with_tool()
    space = area().spaces.active
    with over():
        bpy.ops.object.mode_set(mode="OBJECT")
        bpy.ops.mesh.primitive_cube_add(size=0.1, location=(3.0, 0.0, 0.0))
        bpy.context.view_layer.objects.active = rig_now()
        bpy.ops.object.mode_set(mode="POSE")
    Stage.hands.move(*(middle(region()) + Vector((300.0, -250.0))))
    yield 0.6
    check(is_drawn("foot.L"), "a body has handles")
    view = space.region_3d.view_matrix.copy(), space.region_3d.view_distance
    for name, hide in (
        ("hidden", lambda is_on: rig_now().hide_set(is_on)),
        ("of a type that isn't shown", lambda is_on: setattr(space, "show_object_viewport_armature", not is_on)),
        ("outside the local view", local_view_without_the_body),
    ):
        hide(True)
        space.region_3d.view_matrix, space.region_3d.view_distance = view
        yield 0.6
        check(not is_drawn("foot.L"), f"one that is {name} has none")
        yield from click_with("ctrl", pixel_of(rig_now().pose.bones["foot.L"].head))
        check(not handle_of("Foot.L").use_pin, "and none is pinned")
        hide(False)
        space.region_3d.view_matrix, space.region_3d.view_distance = view
        Stage.hands.move(*(middle(region()) + Vector((300.0, -250.0))))
        yield 0.6
        check(is_drawn("foot.L"), "and has them again")
    space.show_gizmo = False
    at = pixel_of(rig_now().pose.bones["foot.L"].head)
    yield from click_with("ctrl", at)
    check(not handle_of("Foot.L").use_pin, "without gizmos nothing is pinned")
    Stage.hands.key("R")
    yield 0.4
    check(not is_turning(), "and R is Blender's own")
    Stage.hands.key("ESC")
    yield 0.4
    space.show_gizmo = True


def local_view_without_the_body(is_on: bool) -> None:
    """Enter the local view of the other objects, or leave it."""
    for obj in bpy.context.view_layer.objects:
        obj.select_set(obj.type != "ARMATURE")
    with over():
        bpy.ops.view3d.localview(frame_selected=False)


def balance_mark() -> tuple[Any, float]:
    """Where the mark of the balance is on the screen, and how far the center of mass is outside the feet."""
    rig = rig_now()
    found = importlib.import_module(f"{MODULE}.fabrik_addon.blender.bodies.body_balance").center_over_floor(rig)
    return pixel_of(found.on_floor), found.outside


def has_color(colors: Sequence[tuple[int, int, int]], name: str) -> bool:
    """Whether one of some pixels has nearly a colour of the theme."""
    theme = getattr(bpy.context.preferences.themes[0].user_interface, name)
    return any(max(abs(255.0 * a - b) for a, b in zip(theme[:3], color, strict=True)) < 40.0 for color in colors)


def body_balance() -> Steps:
    """A mark on the floor below the center of mass: green over the planted feet, red beside them."""
    yield from with_tool()
    for axis in ("show_axis_x", "show_axis_y"):
        setattr(area().spaces.active.overlay, axis, False)
    with over():
        bpy.ops.view3d.view_orbit(angle=0.4, type="ORBITUP")
    Stage.hands.move(*(middle(region()) + Vector((300.0, 300.0))))
    yield 0.6
    shot("body-balance")
    at, outside = balance_mark()
    check(outside == 0.0 and has_color(drawn_at(at), "axis_y"), "a body at rest is balanced, and has a green mark")
    rig = rig_now()
    rig.fabrik.body.use_balance = False
    yield 0.6
    check(not has_color(drawn_at(at), "axis_y"), "without Balance there is no mark")
    chest = rig.pose.bones["spine.003"].head + Vector((0.0, -0.5, -0.2))
    with over():
        bpy.ops.pose.fabrik_body_pull(handle="Chest", position=chest)
    rig_now().fabrik.body.use_balance = True
    yield 0.6
    shot("body-balance-lost")
    at, outside = balance_mark()
    check(outside > 0.0 and has_color(drawn_at(at), "axis_x"), f"one that falls has a red mark ({outside:.3f})")
    yield from use_tool("builtin.select_box")
    check(not has_color(drawn_at(at), "axis_x"), "with another tool there is none")


def body_two() -> Steps:
    """Two bodies in Pose mode: the handles are those of the active one; the other one stays as it is."""
    yield from with_tool()
    first = rig_now()
    with over():
        bpy.ops.object.mode_set(mode="OBJECT")
        bpy.ops.object.armature_human_metarig_add()
        second = bpy.context.object
        second.location.x = 2.0
        first.select_set(True)
        bpy.ops.object.mode_set(mode="POSE")
        bpy.ops.pose.fabrik_body_add()
        bpy.ops.pose.select_all(action="DESELECT")
        bpy.ops.view3d.view_all(center=False)
        bpy.ops.ed.undo_push(message="two")
    yield 0.8
    shot("body-two")
    first, second = (bpy.data.objects[name] for name in ("metarig", "metarig.001"))
    one, other = pose_bits(first), pose_bits(second)
    at = pixel_of(first.matrix_world @ first.pose.bones["hand.L"].head)
    yield from hold(at, Vector((-30, 60)), 6)
    check(not is_dragging(), "the body that isn't active has no handles")
    yield from release()
    at = pixel_of(second.matrix_world @ second.pose.bones["hand.L"].head)
    yield from hold(at, Vector((-30, 60)), 6)
    check(is_dragging(), "the active one has")
    yield from release()
    check(pose_bits(bpy.data.objects["metarig"]) == one, "the other body stays")
    check(pose_bits(bpy.data.objects["metarig.001"]) != other, "the active one is posed")


def listed(entries: Any) -> set[str]:
    """The names of keymaps in the preferences' tree."""
    return {name for entry in entries for name in {entry[0]} | listed(entry[3])}


def body_interrupted() -> Steps:
    """Another tool, keymap or file, or no rig any more, in mid-drag: nothing is half done, nothing is left behind."""
    yield from with_tool()
    left, pose = traces(), pose_bits(rig_now())
    yield from pull("hand.L", Vector((-60, 110)))
    check(is_dragging(), "a drag runs")
    yield from use_tool("builtin.select_box")
    check(is_dragging(), "it goes on with another tool")
    yield from release()
    check(not is_dragging() and pose_bits(rig_now()) != pose, "and ends as it should")
    yield from undo()
    check(pose_bits(rig_now()) == pose, "one undo restores every bit")
    check(traces() == left, f"nothing is left behind ({left}, {traces()})")
    with over():
        bpy.ops.wm.tool_set_by_id(name="fabrik_ik.body_pose")
    presets = Path(bpy.utils.preset_paths("keyconfig")[0])
    for name in ("Industry_Compatible", "Blender"):
        bpy.ops.preferences.keyconfig_activate(filepath=str(presets / f"{name}.py"))
    yield 0.8
    keymap = bpy.context.window_manager.keyconfigs.user.keymaps[KEYMAP]
    keys = {item.idname for item in keymap.keymap_items}
    wanted = {"pose.fabrik_body_turn", *(f"pose.fabrik_handle_{what}" for what in ("add", "pin", "release"))}
    check(wanted <= keys, f"the tool keeps its keys ({sorted(keys)})")
    check(KEYMAP in listed(keymap_hierarchy.generate()), "and the preferences list them")
    yield from pull("hand.L", Vector((-60, 110)))
    check(is_dragging(), "after other keymaps the handles are pulled as before")
    yield from fresh_file()
    yield 0.5
    check(not is_dragging(), "a new file ends the drag")
    check(traces() == left, f"nothing is left behind ({left}, {traces()})")
    yield from release()
    yield from with_tool()
    yield from pull("hand.L", Vector((-60, 110)))
    bpy.data.objects.remove(rig_now())
    yield 0.5
    Stage.hands.move(*middle(region()))
    yield 0.4
    check(not is_dragging(), "without the rig the drag ends")
    check(traces() == left, f"nothing is left behind ({left}, {traces()})")
    yield from release()


def body_follows() -> Steps:
    """What the header says follows: a hand pulled and turned with its limb alone, both sides with mirror."""
    yield from with_tool()
    tool = bpy.context.workspace.tools.from_space_view3d_mode("POSE", create=False)
    tool.operator_properties("pose.fabrik_drag").follows = "LIMB"
    rig_now().fabrik.body.use_floor = True
    yield 0.5
    shot("body-header")
    pose = pose_bits(rig_now())
    yield from pull("hand.L", Vector((-30, -150)))
    yield from release()
    moved = moved_bones(pose)
    check(moved and moved <= {"upper_arm.L", "forearm.L", "hand.L"}, f"the arm alone follows ({sorted(moved)})")
    yield from undo()
    Stage.hands.move(*pixel_of(rig_now().pose.bones["hand.L"].head))
    yield 0.5
    for key in ("R", "3", "0", "RET"):
        Stage.hands.key(key)
        yield 0.4
    moved = moved_bones(pose)
    check(moved and moved <= {"upper_arm.L", "forearm.L", "hand.L"}, f"also when it is turned ({sorted(moved)})")
    yield from undo()
    rig_now().pose.use_mirror_x = True
    yield from pull("hand.L", Vector((-30, 100)))
    yield from release()
    left, right = (rig_now().pose.bones[f"hand.{side}"].head for side in "LR")
    off = (Vector((-left.x, left.y, left.z)) - right).length
    check(off < 1e-3, f"with mirror the other hand does the same ({off:.5f})")
