# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the mouse to the world: under the mouse it is, back is back, locks hold, numbers are taken as Blender does."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Euler, Matrix, Vector

from fabrik_addon.blender.drag.mouse_to_world import DragPointer
from fabrik_addon.blender.drag.snapping import snapped
from fabrik_addon.blender.drag.view_projection import View, mouse_at_press
from tests.blender.rigs import leave_mode, make_empty, make_tail, update

WIDTH, HEIGHT = 800, 500


def make_view(eye: Vector, at: Vector, is_perspective: bool = True) -> View:
    """A camera's projection is a view's."""
    camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    bpy.context.scene.collection.objects.link(camera)
    camera.data.type = "PERSP" if is_perspective else "ORTHO"
    camera.data.ortho_scale = 6.0
    camera.matrix_world = Matrix.LocRotScale(eye, (at - eye).to_track_quat("-Z", "Y"), None)
    update()
    depsgraph = bpy.context.evaluated_depsgraph_get()
    window = camera.calc_matrix_camera(depsgraph, x=WIDTH, y=HEIGHT)
    world = camera.matrix_world.copy()
    return View(window @ world.inverted(), world, is_perspective, WIDTH, HEIGHT)


START = Vector((0.4, -0.3, 1.2))


@pytest.fixture(params=(True, False), ids=("perspective", "orthographic"))
def view(request: pytest.FixtureRequest) -> View:
    return make_view(Vector((4.0, -7.0, 3.0)), Vector((0.0, 0.0, 1.0)), request.param)


def pointer_in(view: View, pixel: Vector | None = None, axes: Matrix | None = None) -> DragPointer:
    return DragPointer(view, pixel or view.pixel_of(START), START, axes or Matrix.Identity(3))


def test_it_stays_under_the_mouse(view: View) -> None:
    pointer = pointer_in(view)
    for pixel in (Vector((100.0, 50.0)), Vector((700.0, 400.0)), Vector((401.0, 3.0))):
        pointer.set_mouse(pixel, False)
        place = pointer.position()
        assert (view.pixel_of(place) - pixel).length < 0.05
        forward = view.world.to_3x3().col[2]
        assert abs((place - START).dot(forward)) < 1e-4  # in the view plane


def test_the_mouse_need_not_start_at_it(view: View) -> None:
    pointer = pointer_in(view, Vector((20.0, 30.0)))
    pointer.set_mouse(Vector((50.0, 10.0)), False)
    moved = view.pixel_of(pointer.position()) - view.pixel_of(START)
    assert (moved - Vector((30.0, -20.0))).length < 0.05


def test_out_and_back_is_back_to_the_bit_and_a_pixel_is_one_place(view: View) -> None:
    rng = np.random.default_rng(5)
    pointer = pointer_in(view, Vector((400.0, 250.0)))
    for lock in (None, (0, False), (2, True)):
        if lock:
            pointer.press_axis(*lock)
        pointer.set_mouse(Vector((431.0, 222.0)), False)
        once = tuple(pointer.position())
        for x, y in rng.integers(0, 500, size=(50, 2)):
            pointer.set_mouse(Vector((float(x), float(y))), False)
        pointer.set_mouse(Vector((431.0, 222.0)), False)
        assert tuple(pointer.position()) == once
        pointer.set_mouse(Vector((400.0, 250.0)), False)
        assert tuple(pointer.position()) == tuple(START)


def test_shift_is_a_tenth_from_there_on(view: View) -> None:
    pointer = pointer_in(view)
    begin = view.pixel_of(START)
    pointer.set_mouse(begin + Vector((50.0, 0.0)), False)
    pointer.set_mouse(begin + Vector((150.0, 20.0)), True)
    assert (view.pixel_of(pointer.position()) - begin - Vector((60.0, 2.0))).length < 0.05
    pointer.set_mouse(begin + Vector((160.0, 20.0)), False)
    assert (view.pixel_of(pointer.position()) - begin - Vector((70.0, 2.0))).length < 0.05


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("is_plane", (False, True))
def test_locks_hold_and_the_mouse_is_followed(view: View, axis: int, is_plane: bool) -> None:
    axes = Euler((0.3, -0.4, 0.9)).to_matrix()
    pointer = pointer_in(view, axes=axes)
    pixel = view.pixel_of(START) + Vector((80.0, -45.0))
    pointer.set_mouse(pixel, False)
    for columns in (Matrix.Identity(3), axes):
        pointer.press_axis(axis, is_plane)
        offset = pointer.position() - START
        if is_plane:
            assert abs(offset.dot(columns.col[axis])) < 1e-5
            assert (view.pixel_of(pointer.position()) - pixel).length < 0.1
        else:
            along = offset.dot(columns.col[axis])
            assert (offset - along * columns.col[axis]).length < 1e-5
            # Of all points of the axis none is nearer to the line under the mouse.
            eye, direction = view.ray_at(pixel, START)

            def distance(way: float, axis_: Vector = columns.col[axis], eye=eye, direction=direction) -> float:
                return (START + axis_ * way - eye).cross(direction).length

            assert distance(along) <= min(distance(along + 0.02), distance(along - 0.02)) + 1e-6
    pointer.press_axis(axis, is_plane)
    assert pointer.lock is None
    assert (view.pixel_of(pointer.position()) - pixel).length < 0.05


def test_another_axis_is_the_worlds_first() -> None:
    pointer = pointer_in(make_view(Vector((4.0, -7.0, 3.0)), START))
    pointer.press_axis(0, False)
    pointer.press_axis(0, False)
    assert pointer.lock.space == "LOCAL"
    pointer.press_axis(1, False)
    assert pointer.lock.space == "GLOBAL" and pointer.lock.axis == 1
    pointer.press_axis(1, True)
    assert pointer.lock.space == "GLOBAL" and pointer.lock.is_plane


@pytest.mark.parametrize("is_plane", (False, True))
def test_an_axis_seen_from_its_end_goes_nowhere_wild(is_plane: bool) -> None:
    for is_perspective in (True, False):
        view = make_view(START + Vector((0.0, -8.0, 0.0)), START, is_perspective)
        pointer = pointer_in(view)
        pointer.press_axis(2 if is_plane else 1, is_plane)
        for pixel in (Vector((430.0, 300.0)), Vector((2.0, 498.0)), Vector((799.0, 0.0))):
            pointer.set_mouse(pixel, False)
            assert (pointer.position() - START).length < 10.0


def test_it_goes_on_from_where_it_is_when_the_view_turns() -> None:
    first = make_view(Vector((4.0, -7.0, 3.0)), START)
    second = make_view(Vector((-6.0, -2.0, 5.0)), START, False)
    pointer = pointer_in(first)
    pointer.set_mouse(first.pixel_of(START) + Vector((50.0, 30.0)), False)
    there = pointer.position()
    mouse = Vector((13.0, 444.0))
    pointer.set_view(second, mouse)
    assert (pointer.position() - there).length < 1e-6
    pointer.set_mouse(mouse + Vector((10.0, 5.0)), False)
    moved = second.pixel_of(pointer.position()) - second.pixel_of(there)
    assert (moved - Vector((10.0, 5.0))).length < 0.05


def test_numbers_count_along_what_is_free(view: View) -> None:
    axes = Euler((0.3, -0.4, 0.9)).to_matrix()
    pointer = pointer_in(view, axes=axes)
    pointer.set_mouse(Vector((1.0, 2.0)), False)
    by_mouse = pointer.position()
    for character in "1.5":
        assert pointer.numbers.type(character)
    assert (pointer.position() - START - Vector((1.5, 0.0, 0.0))).length < 1e-6
    pointer.numbers.next(pointer.number_count)
    pointer.numbers.type("2")
    pointer.numbers.type("-")
    assert (pointer.position() - START - Vector((1.5, -2.0, 0.0))).length < 1e-6
    pointer.press_axis(2, False)
    assert (pointer.position() - START - Vector((0.0, 0.0, 1.5))).length < 1e-6
    pointer.press_axis(2, False)
    assert (pointer.position() - START - 1.5 * axes.col[2]).length < 1e-6
    pointer.press_axis(2, True)
    assert (pointer.position() - START - Vector((1.5, -2.0, 0.0))).length < 1e-6
    pointer.press_axis(2, False), pointer.press_axis(2, False), pointer.press_axis(2, False)
    assert not pointer.numbers.type("k")
    for _ in range(8):
        pointer.numbers.erase()
    assert not pointer.numbers.is_on
    assert (pointer.position() - by_mouse).length < 1e-9
    for half in ("-", "."):
        pointer.numbers.type(half)
        assert (pointer.position() - START).length < 1e-6
        pointer.numbers.erase()


@pytest.mark.parametrize(("value", "pixel"), [("CLICK_DRAG", (90, 180)), ("PRESS", (97, 176)), ("NOTHING", (97, 176))])
def test_a_dragged_button_counts_from_where_it_was_pressed(value: str, pixel: tuple[int, int]) -> None:
    """Blender tells a drag from a click some pixels later; without them the handle would stay behind the mouse."""
    region: Any = SimpleNamespace(x=10, y=20)
    event: Any = SimpleNamespace(value=value, mouse_x=107, mouse_y=196, mouse_prev_press_x=100, mouse_prev_press_y=200)
    assert mouse_at_press(region, event)[:] == pixel


def test_steps_count_from_the_start_or_from_the_origin(view: View) -> None:
    pointer = pointer_in(view)
    place = START + Vector((0.23, 0.61, -0.4))
    relative = pointer.stepped(place, 0.25, from_start=True)
    assert (relative - START - Vector((0.25, 0.5, -0.5))).length < 1e-5
    absolute = pointer.stepped(place, 0.25, from_start=False)
    assert all(math.isclose(4.0 * part, round(4.0 * part), abs_tol=1e-4) for part in absolute)
    pointer.press_axis(0, False)
    assert (pointer.stepped(pointer.confined(place), 0.25, True) - START - Vector((0.25, 0.0, 0.0))).length < 1e-5


def snap(pointer: DragPointer, armature: object, step: float = 0.5) -> Vector:
    depsgraph = bpy.context.evaluated_depsgraph_get()
    return snapped(bpy.context.scene, depsgraph, pointer, pointer.position(), armature, step)


def test_surfaces_are_snapped_to_but_not_the_armatures_own() -> None:
    armature = make_tail(3)
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.ops.mesh.primitive_plane_add(size=40.0, location=(0.0, 3.0, 0.0), rotation=(math.radians(90.0), 0.0, 0.0))
    bpy.ops.mesh.primitive_cube_add(size=3.0, location=START)
    own = bpy.context.object
    own.modifiers.new("skin", "ARMATURE").object = armature
    update()
    view = make_view(START + Vector((0.0, -8.0, 0.0)), START)
    pointer = pointer_in(view)
    pixel = view.pixel_of(START) + Vector((40.0, 20.0))
    pointer.set_mouse(pixel, False)
    settings = bpy.context.scene.tool_settings
    settings.snap_elements_base = {"FACE"}
    found = snap(pointer, armature)
    assert abs(found.y - 3.0) < 1e-4 and (view.pixel_of(found) - pixel).length < 0.1
    settings.snap_elements_base = {"VERTEX"}
    found = snap(pointer, armature)
    assert (found - Vector((20.0, 3.0, 20.0))).length < 1e-3
    own.modifiers.clear()
    update()
    settings.snap_elements_base = {"FACE"}
    found = snap(pointer, armature)
    assert abs(found.y - START.y + 1.5) < 1e-4
    own.parent = armature
    update()
    found = snap(pointer, armature)
    assert abs(found.y - 3.0) < 1e-4
    settings.snap_elements_base = {"INCREMENT"}
    found = snap(pointer, armature)
    assert all(math.isclose(2.0 * part, round(2.0 * part), abs_tol=1e-4) for part in found - START)


def instance_of_cube(how: str) -> None:
    """Make a cube without an object of its own in the scene, 2 long, its middle at 5 on X."""
    if how == "a collection":
        bpy.ops.mesh.primitive_cube_add(size=2.0)
        cube, hidden = bpy.context.object, bpy.data.collections.new("hidden")
        bpy.context.collection.objects.unlink(cube)
        hidden.objects.link(cube)
        made = make_empty("instance", (5.0, 0.0, 0.0))
        made.instance_type, made.instance_collection = "COLLECTION", hidden
        return
    tree: Any = bpy.data.node_groups.new("nodes", "GeometryNodeTree")
    for direction in ("INPUT", "OUTPUT"):
        tree.interface.new_socket("Geometry", in_out=direction, socket_type="NodeSocketGeometry")
    kinds = ("MeshCube", "Points", "InstanceOnPoints", "JoinGeometry")
    cube, points, instances, join = (tree.nodes.new(f"GeometryNode{kind}") for kind in kinds)
    given, out = tree.nodes.new("NodeGroupInput"), tree.nodes.new("NodeGroupOutput")
    cube.inputs["Size"].default_value, points.inputs["Position"].default_value = (2.0, 2.0, 2.0), (5.0, 0.0, 0.0)
    for before, name, after in (
        (points, "Points", instances),
        (cube, "Instance", instances),
        (instances, 0, join),
        (given, 0, join),
        (join, 0, out),
    ):
        tree.links.new(before.outputs[0], after.inputs[name])
    mesh = bpy.data.meshes.new("mesh")
    triangle = [(0.0, 0.0, 0.0), (0.1, 0.0, 0.0), (0.0, 0.1, 0.0)]
    mesh.from_pydata(triangle * 6, [], [(3 * i, 3 * i + 1, 3 * i + 2) for i in range(6)])
    obj = bpy.data.objects.new("scattered", mesh)
    bpy.context.scene.collection.objects.link(obj)
    obj.modifiers.new("nodes", "NODES").node_group = tree


@pytest.mark.parametrize("how", ["a collection", "nodes"])
@pytest.mark.parametrize("element", ["FACE", "VERTEX", "EDGE"])
def test_an_instance_is_snapped_to_where_it_is(how: str, element: str) -> None:
    """What nodes instance says nothing of its corners: it is snapped to as a face."""
    armature = make_tail(2)
    leave_mode()
    instance_of_cube(how)
    update()
    place = Vector((5.2, -1.0, 0.4))
    view = make_view(Vector((5.2, -8.0, 0.4)), place)
    pointer = DragPointer(view, view.pixel_of(place) or Vector((0.0, 0.0)), place, Matrix.Identity(3))
    bpy.context.scene.tool_settings.snap_elements_base = {element}
    wanted = {"VERTEX": Vector((6.0, -1.0, 1.0)), "EDGE": Vector((5.2, -1.0, 1.0))} if how == "a collection" else {}
    assert (snap(pointer, armature) - wanted.get(element, place)).length < 0.01
