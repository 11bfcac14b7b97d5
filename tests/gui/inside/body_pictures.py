# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The manual's pictures of the tool Body Pose over a mannequin: its handles, ten poses made with it, and Look At."""

from __future__ import annotations

import importlib
import math
import sys
from typing import Any

import bmesh
import bpy
from mathutils import Euler, Matrix, Vector
from stage import MODULE, Stage, Steps, activate, area, check, middle, over, pixel_of, region, shot, walk

from body_poses import TEN, add_body, pose_in_turn

FRONT = math.radians(35)
"""Of the view, to the left of the body's front; it looks down by 8 degrees."""

REACHED = 1e-3
"""Distance of a handle from its target, over the body's height."""

LOOKS = {
    "a-ahead": (0.25, -0.75, 1.72),
    "b-up": (0.0, -0.45, 2.15),
    "c-down": (0.35, -0.5, 1.25),
    "d-aside": (0.65, 0.15, 1.75),
    "e-behind": (0.45, 0.65, 1.85),
}
"""Places at which Rigify's human looks, in metres."""


def dressed_human() -> Any:
    """Make a body with the solids of a mannequin, and the tool Body Pose."""
    with over():
        rig = add_body("human")
        bpy.ops.pose.select_all(action="DESELECT")
        activate(rig, "hand.L")
        bpy.ops.wm.tool_set_by_id(name="fabrik_ik.body_pose")
    dress(rig)
    area().spaces.active.overlay.show_bones = False
    Stage.hands.move(*(middle(region()) - Vector((0.0, 300.0))))  # so that no handle is under the mouse
    return rig


def dress(rig: Any) -> None:
    """Give an armature the solids of a mannequin, and hide the floor, the cursor and the like."""
    for name in ("", ".core", ".blender", ".blender.setup", ".blender.setup.make_body"):
        sys.modules[f"fabrik_addon{name}"] = importlib.import_module(f"{MODULE}.fabrik_addon{name}")
    for solid in importlib.import_module("mannequin").make_mannequin(rig):
        drawn = draw(solid.mesh, solid.substance)
        bone = rig.data.bones[solid.bone]
        drawn.parent, drawn.parent_type, drawn.parent_bone = rig, "BONE", solid.bone
        drawn.matrix_parent_inverse = (bone.matrix_local @ Matrix.Translation((0.0, bone.length, 0.0))).inverted()
    space = area().spaces.active
    space.show_region_ui = False
    space.overlay.show_relationship_lines = space.overlay.show_cursor = False
    space.overlay.show_object_origins = False
    space.overlay.show_floor = space.overlay.show_axis_x = space.overlay.show_axis_y = False
    space.shading.color_type = "OBJECT"
    space.shading.show_cavity = True
    space.shading.studio_light = "outdoor.sl"


def draw(mesh: Any, substance: str) -> Any:
    """Put a mesh into the scene, in the colour of what it is made of."""
    mannequin = importlib.import_module("mannequin")
    drawn = bpy.data.objects.new(mesh.name, mesh)
    drawn.color = mannequin.linear(mannequin.COLOURS[substance])
    bpy.context.scene.collection.objects.link(drawn)
    return drawn


def box(matrix: Matrix) -> Any:
    mesh, made = bpy.data.meshes.new("Box"), bmesh.new()
    bmesh.ops.create_cube(made, size=1.0, matrix=matrix)
    made.to_mesh(mesh)
    made.free()
    return draw(mesh, "prop")


def look_from(azimuth: float, at: Any, scale: float) -> None:
    """Turn the view to a place, and show a metre with so many pixels."""
    view = area().spaces.active.region_3d
    view.view_perspective = "ORTHO"
    view.view_rotation = Euler((math.pi / 2 - math.radians(8), 0.0, azimuth)).to_quaternion()
    view.view_location, view.view_distance = at, 800.0 / scale


def manual_tool() -> Steps:
    """A mannequin at rest with the tool: a hand pinned, another one under the mouse."""
    rig = dressed_human()
    with over():
        bpy.ops.pose.fabrik_handle_pin(handle="Hand.R")
    look_from(FRONT, (0.28, 0.19, 0.97), 295.0)
    yield 1.0
    at = pixel_of(rig.pose.bones["hand.L"].head)
    yield from walk(at + Vector((40.0, -40.0)), at)
    yield 2.0  # for the tooltip
    shot("manual-body-tool")
    check(rig.fabrik.body.handles["Hand.R"].use_pin, "a hand is pinned")


def manual_poses() -> Steps:
    """Ten poses, each of a few pulls and pins, from a standing body."""
    rig = dressed_human()
    posed = pose_in_turn(rig, TEN)
    with over():
        next(posed)  # it stands
    for number in range(len(TEN.poses)):
        with over():
            pose, _before, pulls = next(posed)
        boxes = [box(prop) for prop in pose.props]
        azimuth = FRONT - pose.turn
        right = Vector((math.cos(azimuth), math.sin(azimuth), 0.0))
        points = [corner for one in boxes for corner in map(Vector, one.bound_box)]
        along = [right.dot(point) for point in [*points, *(bone.head for bone in rig.pose.bones)]]
        look_from(azimuth, right * (min(along) + max(along)) / 2 + Vector((0.0, 0.0, 1.0)), 255.0)
        yield 0.6
        shot(f"manual-pose-{number}-{pose.label.replace(' ', '-')}")
        off = max(pull.error for pull in pulls)
        check(off < REACHED, f"{pose.label}: the handles are where they were pulled ({off:.1e})")
        for one in boxes:
            bpy.data.objects.remove(one)


def manual_look() -> Steps:
    """A mannequin that looks at a lamp in five places, each from the pose at rest."""
    rig = dressed_human()
    with over():
        bpy.ops.wm.tool_set_by_id(name="builtin.select_box")
        next(pose_in_turn(rig, TEN))
    mesh, made = bpy.data.meshes.new("Lamp"), bmesh.new()
    bmesh.ops.create_icosphere(made, subdivisions=4, radius=0.06)
    made.to_mesh(mesh)
    made.free()
    mesh.shade_smooth()
    lamp = draw(mesh, "prop")
    lamp.color = (1.0, 0.5, 0.05, 1.0)
    look_from(FRONT, (0.2, 0.08, 1.58), 400.0)
    for name, place in LOOKS.items():
        lamp.location = place
        with over():
            check(bpy.ops.pose.fabrik_body_look(target="Lamp") == {"FINISHED"}, f"it looks {name}")
        yield 0.6
        shot(f"manual-look-{name}")
