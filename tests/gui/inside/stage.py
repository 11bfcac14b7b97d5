# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What scenarios share: where things are on the screen, pictures, rigs, and what must not be left behind."""

from __future__ import annotations

import importlib
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from bpy_extras.view3d_utils import location_3d_to_region_2d
from hands import window
from mathutils import Vector

MODULE = "bl_ext.user_default.fabrik_ik"
Steps = Iterator[float]
"""A scenario: it acts, then yields the seconds that Blender gets for events and drawing."""

RESULTS: list[tuple[bool, str]] = []


class Stage:
    """The running scenario's hands and folder."""

    hands: Any
    out: Path
    mode: str


def check(is_right: object, what: str) -> None:
    """Note that something is as it should be, or not."""
    RESULTS.append((bool(is_right), what))
    print(("    ok    " if is_right else "    WRONG ") + what, flush=True)


def addon(name: str) -> Any:
    """Return a module of the installed extension."""
    return importlib.import_module(f"{MODULE}.fabrik_addon.blender.{name}")


def area(kind: str = "VIEW_3D") -> Any:
    return next(area for area in window().screen.areas if area.type == kind)


def region(kind: str = "WINDOW", of: Any = None) -> Any:
    return next(region for region in (of or area()).regions if region.type == kind)


def over(kind: str = "WINDOW") -> Any:
    """A timer has no area: operators need this context."""
    return bpy.context.temp_override(window=window(), area=area(), region=region(kind))


def pixel_of(place: Any) -> Vector:
    """Return where in the window a point of the world is."""
    where = region()
    pixel = location_3d_to_region_2d(where, area().spaces.active.region_3d, Vector(place))
    return Vector((where.x, where.y)) + pixel


def middle(where: Any) -> Vector:
    return Vector((where.x + where.width // 2, where.y + where.height // 2))


def picture() -> np.ndarray:
    """Return what is on the screen, (height, width, 3) bytes, from the top."""
    raw = subprocess.run(["import", "-window", "root", "-depth", "8", "ppm:-"], check=True, capture_output=True).stdout
    found = re.match(rb"P6\s+(\d+)\s+(\d+)\s+255\s", raw)
    assert found
    width, height = int(found[1]), int(found[2])
    return np.frombuffer(raw, np.uint8, 3 * width * height, found.end()).reshape(height, width, 3).copy()


def part_of(pixels: np.ndarray, where: Any) -> np.ndarray:
    """Return what of a picture shows a region."""
    height = len(pixels)
    return pixels[height - where.y - where.height : height - where.y, where.x : where.x + where.width]


def count_near(pixels: np.ndarray, color: Any, most: int = 40) -> int:
    """Count the pixels of about a colour, 0 to 1 each."""
    wanted = np.array([round(255 * part) for part in color[:3]])
    return int((np.abs(pixels.astype(int) - wanted).max(axis=2) <= most).sum())


def shot(name: str) -> None:
    """Keep a picture of the screen."""
    subprocess.run(["import", "-window", "root", str(Stage.out / f"{Stage.mode}-{name}.png")], check=True)


def fresh_file() -> Steps:
    """Blender's factory scene without its objects, in its usual window; what is enabled stays."""
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    yield 0.8
    for obj in list(bpy.data.objects):
        bpy.data.objects.remove(obj)
    yield 0.2


def human(bone: str = "hand.L") -> Any:
    """Make Rigify's human, in Pose mode, with a bone active, seen from the front."""
    with over():
        bpy.ops.object.armature_human_metarig_add()
        rig = bpy.context.object
        bpy.ops.object.mode_set(mode="POSE")
        bpy.ops.pose.select_all(action="DESELECT")
        activate(rig, bone)
        bpy.ops.view3d.view_axis(type="FRONT")
        bpy.ops.view3d.view_all(center=False)
        bpy.ops.ed.undo_push(message="scene")
    return rig


def with_tool() -> Steps:
    """Make Rigify's human as sticks, with a body and the tool Body Pose."""
    rig = human("foot.R")
    rig.data.display_type = "STICK"
    with over():
        bpy.ops.pose.fabrik_body_add()
        bpy.ops.wm.tool_set_by_id(name="fabrik_ik.body_pose")
        bpy.ops.ed.undo_push(message="body")
    yield 0.8


def activate(rig: Any, bone: str) -> None:
    rig.data.bones.active = rig.data.bones[bone]
    rig.pose.bones[bone].select = True


def rig_now() -> Any:
    """Undo replaces data: never keep a rig over it."""
    return next(obj for obj in bpy.data.objects if obj.type == "ARMATURE")


def pose_bits(rig: Any) -> dict[str, tuple[Any, ...]]:
    """Every channel of every bone, to the last bit."""
    names = ("location", "rotation_quaternion", "rotation_euler", "rotation_axis_angle", "scale")
    return {bone.name: tuple(tuple(getattr(bone, name)) for name in names) for bone in rig.pose.bones}


def moved_bones(before: dict[str, tuple[Any, ...]], rig: Any = None) -> set[str]:
    """Return the bones whose channels differ from ``pose_bits`` before."""
    return {name for name, bits in pose_bits(rig or rig_now()).items() if bits != before[name]}


def tail_of(rig: Any, bone: str = "hand.L") -> Vector:
    return rig.matrix_world @ rig.pose.bones[bone].tail


def is_dragging() -> bool:
    return any(operator.bl_idname.startswith("POSE_OT_fabrik_drag") for operator in window().modal_operators)


def traces() -> dict[str, object]:
    """What a drag must not leave behind."""
    from bl_ui.space_statusbar import STATUSBAR_HT_header

    handlers = bpy.app.handlers
    names = ("undo_post", "redo_post", "load_pre", "load_post", "depsgraph_update_post", "frame_change_post")
    original = getattr(STATUSBAR_HT_header, "_draw_orig", STATUSBAR_HT_header.draw)
    return {
        **{name: len(getattr(handlers, name)) for name in names},
        "drawing": addon("overlay.draw_handler").is_drawn(),
        "status bar": STATUSBAR_HT_header.draw is not original,
        "operators": sorted(operator.bl_idname for operator in window().modal_operators),
    }


def click(place: Any, button: str = "LEFTMOUSE") -> Steps:
    """Buttons take a press only once the mouse has hovered over them."""
    Stage.hands.move(*place)
    yield 0.25
    Stage.hands.down(button)
    yield 0.15
    Stage.hands.up(button)
    yield 0.35


def walk(start: Any, end: Any, steps: int = 6) -> Steps:
    """Move the mouse: without a rest between them moves merge into one."""
    for step in range(1, steps + 1):
        Stage.hands.move(*(Vector(start).lerp(Vector(end), step / steps)))
        yield 0.06


def press(*names: str) -> Steps:
    for name in names:
        Stage.hands.key(name)
        yield 0.15


def undo() -> Steps:
    Stage.hands.move(*middle(region()))
    yield 0.3
    Stage.hands.key("Z", "ctrl")
    yield 0.6


def hold(at: Vector, way: Vector, steps: int = 6) -> Steps:
    """Press the button at a place and move; it stays down, and the mouse doesn't rest at the end."""
    Stage.hands.move(*at)
    yield 0.5
    Stage.hands.down()
    yield 0.2
    yield from walk(at, at + way, steps)


def release() -> Steps:
    Stage.hands.up()
    yield 0.5


def use_tool(name: str) -> Steps:
    with over():
        bpy.ops.wm.tool_set_by_id(name=name)
    yield 0.6


def begin_drag(**options: Any) -> Steps:
    """Begin a drag with the mouse in the middle of the viewport."""
    Stage.hands.move(*middle(region()))
    yield 0.2
    with over():
        answer = bpy.ops.pose.fabrik_drag("INVOKE_DEFAULT", **options)
    check(answer == {"RUNNING_MODAL"}, f"the drag runs ({answer})")
    yield 0.2


def drag(way: Vector, steps: int = 6, **options: Any) -> Steps:
    """Begin a drag with the mouse in the middle of the viewport, and move; it goes on."""
    yield from begin_drag(**options)
    begin = middle(region())
    yield from walk(begin, begin + way, steps)


def open_sidebar(tab: str = "Animation") -> Steps:
    """With N, as a user does."""
    area().spaces.active.show_region_ui = False
    yield 0.3
    Stage.hands.move(*middle(region()))
    yield 0.3
    Stage.hands.key("N")
    yield 0.9
    check(area().spaces.active.show_region_ui, "N opens the sidebar")
    for _ in range(5):
        if region("UI").is_property_readonly("active_panel_category"):  # it has not been drawn yet
            area().tag_redraw()
            yield 0.5
    region("UI").active_panel_category = tab
    area().tag_redraw()
    yield 0.8


def find_button(wanted: str, across: float = 0.5, step: int = 7) -> Iterator[float]:
    """Walk the mouse down the sidebar until Blender says that it is over an operator or property; return the place.

    Args:
        wanted: what the button's Python command or data path must hold.
        across: how far to the right in the sidebar, 0 to 1.
        step: pixels between looks.
    """
    where, manager, found = region("UI"), bpy.context.window_manager, []
    x = where.x + int(where.width * across)
    for y in range(where.y + where.height - 4, where.y + 4, -step):
        Stage.hands.move(x, y)
        yield 0.05
        manager.clipboard = ""
        with over("UI"):
            for copy in (bpy.ops.ui.copy_python_command_button, bpy.ops.ui.copy_data_path_button):
                if copy.poll() and not manager.clipboard:
                    try:
                        copy()
                    except RuntimeError:
                        continue
        if wanted in manager.clipboard:
            found.append(y)
        elif found:
            break
    return Vector((x, (found[0] + found[-1]) // 2)) if found else None  # type: ignore[return-value]


def click_button(what: str, wanted: str, across: float = 0.5) -> Iterator[float]:
    """Click a button of the sidebar that ``find_button`` finds; return its place, None where there is none."""
    at = yield from find_button(wanted, across)
    check(at, f"there is {what}, at {at}")
    if at:
        yield from click(at)
    return at  # type: ignore[return-value]
