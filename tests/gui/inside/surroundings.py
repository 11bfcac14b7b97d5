# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The drag in all kinds of views and files, and what happens around it while it runs."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import bpy
from bpy_extras.view3d_utils import location_3d_to_region_2d
from mathutils import Vector
from stage import (
    Stage,
    Steps,
    activate,
    addon,
    area,
    begin_drag,
    check,
    click,
    click_button,
    count_near,
    drag,
    find_button,
    fresh_file,
    human,
    is_dragging,
    middle,
    moved_bones,
    open_sidebar,
    over,
    part_of,
    picture,
    pose_bits,
    press,
    region,
    rig_now,
    shot,
    tail_of,
    traces,
    undo,
    walk,
    window,
)


def bend_arms(rig: Any) -> None:
    for side in "LR":
        rig.pose.bones[f"forearm.{side}"].rotation_quaternion = (0.85, 0.5, 0.0, 0.0)
    bpy.context.view_layer.update()


def pixel_in(where: Any, view: Any, place: Any) -> Vector:
    pixel = location_3d_to_region_2d(where, view, Vector(place))
    return Vector((where.x, where.y)) + pixel


def follows(what: str, where: Any, view: Any) -> Steps:
    """Drag in a region, and see the hand go with the mouse; Escape puts it back."""
    rig = rig_now()
    before = pose_bits(rig)
    begin = middle(where)
    Stage.hands.move(*begin)
    yield 0.2
    start = pixel_in(where, view, tail_of(rig))
    with bpy.context.temp_override(window=window(), area=area(), region=where):
        bpy.ops.pose.fabrik_drag("INVOKE_DEFAULT", grab="TIP", chain_count=3)
    way = Vector((-18, 12))
    yield from walk(begin, begin + way)
    yield 0.3
    off = pixel_in(where, view, tail_of(rig)) - start - way
    check(off.length < 2.0, f"{what}: the hand goes with the mouse, off by {off.length:.2f} pixels")
    yield from press("ESC")
    yield 0.2
    check(not is_dragging() and pose_bits(rig) == before, f"{what}: Escape restores every bit")


def kinds_of_views() -> Steps:
    """Perspective, orthographic, through a camera, four views at once, the sidebar over the view, a large interface."""
    rig = human()
    bend_arms(rig)
    space = area().spaces.active
    view = space.region_3d
    yield 0.4
    yield from follows("front", region(), view)
    view.view_perspective = "PERSP"
    yield 0.3
    yield from follows("perspective", region(), view)
    camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    bpy.context.scene.collection.objects.link(camera)
    bpy.context.scene.camera = camera
    camera.matrix_world = view.view_matrix.inverted()
    for kind in ("PERSP", "ORTHO"):
        camera.data.type = kind
        camera.data.ortho_scale = 4.0
        view.view_perspective = "CAMERA"
        yield 0.4
        yield from follows(f"camera {kind}", region(), view)
    view.view_perspective = "ORTHO"
    yield from open_sidebar()
    yield from follows("with the sidebar", region(), view)
    space.show_region_ui = False  # it would lie over the middle of some of the four views
    yield 0.4
    with over():
        bpy.ops.screen.region_quadview()
    yield 0.6
    quads = [(where, seen) for where, seen in zip(quad_regions(), [*space.region_quadviews], strict=True)]
    check(len(quads) == 4, "four views")
    for number, (where, seen) in enumerate(quads):
        yield from follows(f"view {number} of four", where, seen)
    rig.fabrik.show_overlay = True
    Stage.hands.move(*middle(quads[0][0]))
    yield 0.4
    shot("quad")
    rig.fabrik.show_overlay = False
    with over():
        bpy.ops.screen.region_quadview()
    bpy.context.preferences.view.ui_scale = 2.0
    yield 0.8
    yield from follows("a large interface", region(), area().spaces.active.region_3d)
    bpy.context.preferences.view.ui_scale = 1.0
    yield 0.5


def quad_regions() -> list[Any]:
    return [one for one in area().regions if one.type == "WINDOW"]


class Interrupted:
    """A rig whose arm is dragged, and what must be as it was after each interruption."""

    def __init__(self) -> None:
        rig = human()
        bend_arms(rig)
        rig.data.collections_all["Torso"].is_visible = False
        self.left, self.start, self.begin = traces(), pose_bits(rig), middle(region())

    def drag(self) -> Steps:
        Stage.hands.move(*self.begin)
        yield 0.2
        yield from begin_drag(grab="TIP", chain_count=3)
        yield from walk(self.begin, self.begin + Vector((-40, 25)), 3)
        check(pose_bits(rig_now()) != self.start, "it has moved")

    def after(self, what: str, is_restored: bool = True) -> Steps:
        Stage.hands.move(*(self.begin + Vector((7, 7))))
        yield 0.4
        if is_dragging():
            yield from press("ESC")
            yield 0.3
        check(not is_dragging() and traces() == self.left, f"{what}: nothing is left ({traces()})")
        if is_restored:
            check(pose_bits(rig_now()) == self.start, f"{what}: every bit is as it was")


def interrupted_by_areas() -> Steps:
    """Another workspace comes, the area of the drag changes, closes or fills the window: nothing is left."""
    one = Interrupted()
    yield 0.4
    yield from one.drag()
    there = window().workspace
    window().workspace = bpy.data.workspaces["Animation"]
    yield 0.8
    yield from one.after("another workspace")
    window().workspace = there
    yield 0.8
    bpy.context.view_layer.objects.active = rig_now()
    with over():
        bpy.ops.object.mode_set(mode="POSE")  # each workspace has a mode
    yield 0.2
    yield from one.after("back again")

    yield from one.drag()
    area().type = "IMAGE_EDITOR"
    yield 0.5
    yield from one.after("the area becomes another editor")
    area("IMAGE_EDITOR").type = "VIEW_3D"
    yield 0.5

    with over():
        bpy.ops.screen.area_split(direction="VERTICAL", factor=0.5)
    yield 0.6
    views = [view for view in window().screen.areas if view.type == "VIEW_3D"]
    check(len(views) == 2, "two viewports")
    one.begin = middle(region(of=views[0]))
    yield from one.drag()
    with bpy.context.temp_override(window=window(), area=views[0], region=region(of=views[0])):
        bpy.ops.screen.area_close()
    yield 0.6
    yield from one.after("the area closes")
    one.begin = middle(region())

    yield from one.drag()
    with over():
        bpy.ops.screen.screen_full_area()
    yield 0.8
    yield from one.after("the area fills the window")
    with over():
        bpy.ops.screen.back_to_previous()
    yield 0.8


def interrupted_by_data() -> Steps:
    """The mode changes, the bone gets another name, a timer deletes the rig: nothing is left."""
    one = Interrupted()
    yield 0.4
    yield from one.drag()
    with over():
        bpy.ops.object.mode_set(mode="OBJECT")
    yield 0.3
    yield from one.after("Object mode")
    with over():
        bpy.ops.object.mode_set(mode="POSE")
    yield 0.3

    yield from one.drag()
    bone = rig_now().data.bones["hand.L"]
    bone.name = "renamed"
    yield from one.after("the bone gets another name", is_restored=False)
    rig_now().data.bones["renamed"].name = "hand.L"
    for name, bits in one.start.items():
        rig_now().pose.bones[name].rotation_quaternion = bits[1]
    yield 0.2

    yield from one.drag()
    bpy.data.objects.remove(rig_now())
    yield from one.after("the rig is deleted", is_restored=False)


def kinds_of_rigs() -> Steps:
    """Two rigs in Pose mode at once, local view, a linked and overridden rig, hidden bones, X-axis mirror."""
    rig = human()
    bend_arms(rig)
    yield 0.4
    other = rig.copy()
    other.data = rig.data.copy()
    other.name, other.location.x = "other", 1.0
    bpy.context.scene.collection.objects.link(other)
    with over():
        bpy.ops.object.mode_set(mode="OBJECT")
        other.select_set(True)
        rig.select_set(True)
        bpy.context.view_layer.objects.active = other
        bpy.ops.object.mode_set(mode="POSE")
    check(rig.mode == other.mode == "POSE", "two rigs are in Pose mode")
    activate(other, "hand.L")
    for one in (rig, other):
        one.fabrik.show_overlay = True
    yield from drag_of_two_rigs(rig, other)
    other = bpy.data.objects["other"]
    rig = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE" and obj != other)
    with over():
        bpy.ops.object.mode_set(mode="OBJECT")
        rig.select_set(False)
        bpy.ops.object.mode_set(mode="POSE")
        bpy.ops.view3d.localview(frame_selected=False)
    yield 0.6
    drawn = [one.view.armature.name for one in addon("overlay.draw_handler")._overlay.drawn_armatures]
    space = area().spaces.active
    seen = [name for name in drawn if bpy.data.objects[name].visible_in_viewport_get(space)]
    check(seen == ["other"], f"in local view only what is in it is drawn: {seen} of {drawn}")
    shot("local-view")
    for bone in ("forearm.L", "upper_arm.L"):
        other.pose.bones[bone].hide = True
    other.pose.use_mirror_x = True
    yield from follows_there("hidden bones, local view, X-axis mirror", other, "LR")
    with over():
        bpy.ops.view3d.localview()
    bpy.data.objects.remove(bpy.data.objects["other"])
    rig = rig_now()

    rig.fabrik.show_overlay = False
    rig = yield from overridden(rig)
    check(rig.override_library is not None and rig.mode == "POSE", "an overridden rig is in Pose mode")
    rig.data.bones.active = rig.data.bones["hand.L"]
    yield 0.4
    yield from follows_there("an overridden rig", rig)


def drag_of_two_rigs(rig: Any, other: Any) -> Steps:
    """Drag the left hand of the second of two rigs in Pose mode, and undo."""
    still, before, hand = pose_bits(rig), pose_bits(other), tail_of(other)
    with over():
        bpy.ops.ed.undo_push(message="two")
    yield 0.3
    yield from drag(Vector((-15, 20)), 3, grab="TIP", chain_count=3)
    yield 0.2
    shot("two-rigs")
    check((tail_of(other) - hand).length > 0.02 and pose_bits(rig) == still, "the active one is dragged, no other")
    yield from press("RET")
    yield 0.3
    yield from undo()
    other = bpy.data.objects["other"]
    rig = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE" and obj != other)
    check(pose_bits(other) == before and pose_bits(rig) == still, "one undo takes it back")


def overridden(rig: Any) -> Generator[float, None, Any]:
    """Save a rig as a library, link it into a new file, and return its override, in Pose mode."""
    folder = Path(tempfile.mkdtemp())
    rig.name = "linked"
    holder = bpy.data.collections.new("holder")
    for obj in [rig, *(chain.target for chain in rig.fabrik.chains)]:
        holder.objects.link(obj)
    bpy.data.libraries.write(str(folder / "rig.blend"), {holder})
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    yield 0.8
    with bpy.data.libraries.load(str(folder / "rig.blend"), link=True) as (_, data):
        data.collections = ["holder"]
    linked = bpy.data.collections["holder"]
    local = linked.override_hierarchy_create(bpy.context.scene, bpy.context.view_layer, do_fully_editable=True)
    rig = next(obj for obj in local.objects if obj.type == "ARMATURE")
    with over():
        bpy.ops.object.select_all(action="DESELECT")
        rig.select_set(True)
        bpy.context.view_layer.objects.active = rig
        bpy.ops.view3d.view_axis(type="FRONT")
        bpy.ops.view3d.view_selected()  # in Object mode: in Pose mode the selected bones only are framed
        bpy.ops.object.mode_set(mode="POSE")
        bpy.ops.ed.undo_push(message="override")
    return rig


def overlay_on_an_override() -> Steps:
    """The overlay of a library override is drawn at once: enabled in the library, or on the override."""
    for is_on_in_library in (True, False):
        yield from fresh_file()
        rig = human("hand.L")
        bend_arms(rig)
        with over():
            bpy.ops.pose.fabrik_chain_add(chain_count=2)
        rig.fabrik.show_overlay = is_on_in_library
        yield 0.4
        rig = yield from overridden(rig)
        yield 0.5
        name = "in the library" if is_on_in_library else "on the override"
        if not is_on_in_library:
            clean = part_of(picture(), region())
            yield from open_sidebar()
            yield from click_button("a button for the overlay", "show_overlay", across=0.83)
            rig = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE" and obj.override_library)
            check(rig.fabrik.show_overlay, "the button enables the overlay of the override")
            area().spaces.active.show_region_ui = False
            yield 0.4
        drawn = [one.view.armature for one in addon("overlay.draw_handler")._overlay.drawn_armatures]
        check(rig in drawn, f"enabled {name} it is drawn at once ({drawn})")
        color = addon("overlay.draw_shapes").colors_of(bpy.context)["joint"]
        seen = count_near(part_of(picture(), region()), color)
        if not is_on_in_library:
            seen -= count_near(clean, color)
        check(seen > 20, f"and seen, {seen} pixels")
        shot(f"override-{is_on_in_library}")


def follows_there(what: str, rig: Any, sides: str = "L") -> Steps:
    """Drag the left hand in the viewport, confirm, undo."""
    before, hand = pose_bits(rig), tail_of(rig)
    name = rig.name
    with over():
        bpy.ops.ed.undo_push(message=what)
    yield from drag(Vector((-15, 20)), 3, grab="TIP", chain_count=3)
    yield 0.2
    check((tail_of(rig) - hand).length > 0.02, f"{what}: the hand is dragged")
    changed = moved_bones(before, rig)
    turned = {f"{bone}.{side}" for bone in ("hand", "forearm", "upper_arm") for side in sides}
    check(changed <= turned, f"{what}: nothing else turns ({sorted(changed)})")
    check({bone[-1] for bone in changed} == {*sides}, f"{what}: on the sides {sides}")
    yield from press("RET")
    yield 0.3
    check(pose_bits(rig) != before and not is_dragging(), f"{what}: it stays")
    yield from undo()
    check(pose_bits(bpy.data.objects[name]) == before, f"{what}: one undo takes it back")


def snapping() -> Steps:
    """To the surface, or the corner, that is under the mouse, and with Ctrl the other way round."""
    rig = human()
    bend_arms(rig)
    before = pose_bits(rig)
    corners = [(x, -0.4, z) for x, z in ((-3.0, -3.0), (3.0, -3.0), (3.0, 1.6), (-3.0, 1.6))]
    mesh = bpy.data.meshes.new("wall")
    mesh.from_pydata(corners, [], [(0, 1, 2, 3)])
    wall = bpy.data.objects.new("wall", mesh)
    wall.display_type = "WIRE"
    bpy.context.scene.collection.objects.link(wall)
    settings = bpy.context.scene.tool_settings
    settings.snap_elements_base = {"FACE"}
    yield 0.4
    where, view = region(), area().spaces.active.region_3d
    yield from begin_drag(grab="TIP", chain_count=4)
    session = addon("overlay.draw_handler")._overlay.session
    start, begin = pixel_in(where, view, session.position), middle(where)
    yield from press("G")
    yield from walk(begin, begin + Vector((-30, -20)))
    yield 0.3
    off = pixel_in(where, view, session.position) - start - Vector((-30, -20))
    check(abs(session.position.y + 0.4) < 1e-4, f"G snaps to the surface ({tuple(session.position)})")
    check(off.length < 1.5, f"under the mouse, off by {off.length:.2f} pixels")
    shot("snapping")
    Stage.hands.hold("ctrl")
    yield 0.3
    check(abs(session.position.y - session.start_position.y) < 1e-4, "with Ctrl it doesn't")
    Stage.hands.let_go("ctrl")
    yield 0.3
    check(abs(session.position.y + 0.4) < 1e-4, "without it does")
    yield from press("Y")
    check((session.position - session.start_position).xz.length < 1e-4, "along a locked axis only")
    check(abs(session.position.y + 0.4) < 1e-4, "as far as the surface")
    yield from press("Y", "Y")
    settings.snap_elements_base = {"VERTEX"}
    yield from walk(begin + Vector((-30, -20)), begin + Vector((-29, -20)), 1)
    yield 0.3
    nearest = min((session.position - Vector(corner)).length for corner in corners)
    check(nearest < 1e-4, f"to a corner if the scene says so, off by {nearest:.5f}")
    yield from press("ESC")
    yield 0.3
    check(not is_dragging() and pose_bits(rig) == before, "Escape restores every bit")


def snapping_steps() -> Steps:
    """In the steps of Blender's own move: those of the grid that is seen, whatever the zoom, the units and the view."""
    rig = human("hand.L")
    bend_arms(rig)
    scene, view = bpy.context.scene, area().spaces.active.region_3d
    scene.tool_settings.snap_elements_base, scene.tool_settings.use_snap = {"INCREMENT"}, True
    for system, scale, farther in (
        ("METRIC", 1.0, 1.0),
        ("METRIC", 0.5, 4.0),
        ("IMPERIAL", 1.0, 1.0),
        ("NONE", 1.0, 1.0),
    ):
        scene.unit_settings.system, scene.unit_settings.scale_length = system, scale
        view.view_distance *= farther
        yield 0.5
        own = yield from step_of("Blender", lambda: bpy.ops.transform.translate("INVOKE_DEFAULT"))
        step = yield from step_of("ours", lambda: bpy.ops.pose.fabrik_drag("INVOKE_DEFAULT", grab="MOVE"))
        check(
            abs(step - own) < 1e-4 < own,
            f"steps of {step:.5f}, Blender's of {own:.5f} ({system}, {scale:g}, {farther:g})",
        )
        view.view_distance /= farther
    scene.tool_settings.use_snap = False


def step_of(what: str, begin: Callable[[], object]) -> Generator[float, None, float]:
    """Move the free bone to the right until it jumps; return by how much."""
    bone = rig_now().pose.bones["spine"]
    activate(rig_now(), "spine")
    start, place = middle(region()), bone.head.copy()
    Stage.hands.move(*start)
    yield 0.3
    with over():
        begin()
    yield 0.2
    for pixels in range(4, 400, 4):
        Stage.hands.move(*(start + Vector((pixels, 0))))
        yield 0.04
        if (bone.head - place).length > 1e-5:
            break
    yield 0.1
    step = (bone.head - place).length
    yield from press("ESC")
    yield 0.3
    check((bone.head - place).length < 1e-6, f"{what}: Escape restores it")
    return step


def around_the_edge() -> Steps:
    """The mouse goes on where the viewport ends, as it does for Blender's own tools."""
    rig = human()
    bend_arms(rig)
    activate(rig, "hand.L")
    with over():
        bpy.ops.view3d.view_all(center=False)
        bpy.ops.view3d.zoom(delta=-8)
    inputs = bpy.context.preferences.inputs
    inputs.use_mouse_continuous = True
    before = pose_bits(rig)
    yield 0.5
    yield from begin_drag(grab="TIP", chain_count=3)
    session = addon("overlay.draw_handler")._overlay.session
    view, where = area().spaces.active.region_3d, region()
    start = pixel_in(where, view, session.position)
    for _ in range(14):
        Stage.hands.push(150, 0)
        yield 0.1
    off = pixel_in(where, view, session.position) - start
    check(abs(off.x - 14 * 150) < 3 and abs(off.y) < 2, f"2100 pixels to the right are {tuple(off)}")
    check(is_dragging(), "it goes on")
    yield from back(rig, before) if Stage.mode == "simulated" else turned_over_the_edge(session)
    yield from press("ESC")
    yield 0.3
    check(not is_dragging() and pose_bits(rig) == before, "Escape ends it")
    inputs.use_mouse_continuous = False


def back(rig: Any, before: object) -> Steps:
    """A real pointer loses pixels where the viewport ends at the screen's own edge."""
    for _ in range(14):
        Stage.hands.push(-150, 0)
        yield 0.1
    check(pose_bits(rig) == before, "all the way back is where it began, bit for bit")


def turned_over_the_edge(session: Any) -> Steps:
    """Real events only: simulated ones leave the pointer outside the window, where Blender turns nothing."""
    view, where = area().spaces.active.region_3d, region()
    there = session.position.copy()
    Stage.hands.down("MIDDLEMOUSE")
    yield 0.15
    for _ in range(8):
        Stage.hands.push(120, 15)
        yield 0.1
    Stage.hands.up("MIDDLEMOUSE")
    yield 0.4
    check((session.position - there).length < 1e-6, "turning the view over the edge moves nothing")
    start = pixel_in(where, view, session.position)
    Stage.hands.push(30, 0)
    yield 0.3
    off = pixel_in(where, view, session.position) - start
    check(abs(off.x - 30) < 3 and abs(off.y) < 2, f"and the drag goes on from there ({tuple(off)})")


def shortcut() -> Steps:
    """Who wants a key for it finds it in the preferences, or gives it one by the button's own menu."""
    human()
    yield 0.4
    items = keymap_items()
    check([item.type for item in items] == ["NONE"], f"the preferences list it, without a key ({len(items)})")
    items[0].type = "E"
    yield 0.3
    Stage.hands.move(*middle(region()))
    yield 0.2
    yield from press("E")
    check(is_dragging(), "given a key there, that begins a drag")
    yield from press("ESC")
    keymap_items()[0].type = "NONE"
    yield 0.3
    yield from press("E")
    check(not is_dragging(), "without it doesn't")
    yield from open_sidebar()
    at = yield from find_button("pose.fabrik_drag", across=0.25)
    yield from click(at, "RIGHTMOUSE")
    yield 0.4
    shot("shortcut-menu")
    yield from press("S")
    yield 0.4
    shot("shortcut-assign")
    Stage.hands.key("J", "shift")
    yield 0.6
    made = [item for item in keymap_items() if item.type == "J"]
    check(len(made) == 1 and made[0].shift, f"Assign Shortcut on the button makes one ({len(made)})")
    Stage.hands.move(*middle(region()))
    yield 0.3
    Stage.hands.key("J", "shift")
    yield 0.4
    check(is_dragging(), "and it begins a drag")
    yield from press("ESC")
    keymap = bpy.context.window_manager.keyconfigs.user.keymaps["Pose"]
    keymap.keymap_items.remove(next(item for item in keymap_items() if item.type == "J"))


def keymap_items() -> list[Any]:
    """What the user's keymap has of the drag; never kept, because each change makes it anew."""
    keymap = bpy.context.window_manager.keyconfigs.user.keymaps["Pose"]
    return [item for item in keymap.keymap_items if item.idname == "pose.fabrik_drag"]
