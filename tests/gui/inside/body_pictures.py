# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The manual's pictures of the tool Body Pose: its handles over a mannequin, and ten poses made with it."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import bmesh
import bpy
from mathutils import Matrix, Vector
from stage import MODULE, Stage, Steps, area, check, human, middle, over, pixel_of, region, shot

Pulls = tuple[tuple[str, tuple[float, float, float]], ...]
"""Names of handles, and how far each is pulled from where it is, in metres."""


def both_hands(x: float, y: float, z: float) -> Pulls:
    """Both hands alike; a positive number is outward."""
    return ("Hand.L", (x, y, z)), ("Hand.R", (-x, y, z))


POSES: dict[str, Pulls] = {
    "both-up": both_hands(-0.1, -0.1, 0.85),
    "bow": (("Chest", (0.0, -0.4, -0.3)), *both_hands(-0.48, 0.1, -0.3)),
    "hip": (("Hand.L", (-0.38, -0.02, -0.2)), ("Hand.R", (0.3, 0.0, -0.3)), ("Hips", (-0.08, 0.0, -0.02))),
    "kick": (("Foot.R", (-0.1, -0.65, 0.55)), ("Hand.L", (0.0, -0.25, 0.2))),
    "lean": (("Hand.R", (-0.15, -0.1, 0.35)), ("Hips", (0.12, 0.0, -0.02))),
    "pick-up": (("Hips", (0.0, 0.15, -0.3)), *both_hands(-0.35, -0.4, -0.2)),
    "point": (("Hand.R", (0.1, -0.55, 0.35)), ("Hand.L", (-0.3, 0.0, -0.1))),
    "reach": (("Hand.L", (-0.25, -0.35, 0.95)), ("Hand.R", (0.2, 0.1, -0.1))),
    "squat": (("Hips", (0.0, 0.12, -0.38)), *both_hands(-0.25, -0.4, 0.1)),
    "step": (("Foot.L", (0.32, -0.1, 0.0)), ("Hips", (0.15, -0.05, -0.12)), ("Hand.R", (0.15, -0.3, 0.15))),
}


LOOKS = {
    "a-ahead": (0.7, -0.6, 1.8),
    "b-up": (-0.35, -0.45, 2.35),
    "c-down": (0.5, -0.6, 1.0),
    "d-aside": (0.9, 0.0, 1.75),
    "e-behind": (0.55, 0.9, 1.9),
}
"""Places at which Rigify's human looks, in metres."""


def dress(rig: Any) -> None:
    """Give a body the solids of a mannequin, and hide its bones."""
    for name in ("", ".core", ".blender", ".blender.setup", ".blender.setup.make_body"):
        sys.modules[f"fabrik_addon{name}"] = importlib.import_module(f"{MODULE}.fabrik_addon{name}")
    for solid in importlib.import_module("mannequin").make_mannequin(rig):
        obj = bpy.data.objects.new(solid.bone, solid.mesh)
        bpy.context.scene.collection.objects.link(obj)
        bone = rig.data.bones[solid.bone]
        obj.parent, obj.parent_type, obj.parent_bone = rig, "BONE", solid.bone
        obj.matrix_parent_inverse = (bone.matrix_local @ Matrix.Translation((0.0, bone.length, 0.0))).inverted()
    overlay = area().spaces.active.overlay
    overlay.show_bones = overlay.show_relationship_lines = overlay.show_cursor = False


def manual_tool() -> Steps:
    """A mannequin with the tool, pulled by a hand; and ten poses, each from the pose at rest."""
    rig = human("hand.L")
    area().spaces.active.show_region_ui = False
    with over():
        bpy.ops.wm.tool_set_by_id(name="fabrik_ik.body_pose")
        bpy.ops.pose.fabrik_body_add()
        bpy.ops.pose.fabrik_handle_pin(handle="Hand.R")
        bpy.ops.view3d.view_orbit(angle=0.5, type="ORBITRIGHT")
        bpy.ops.pose.select_all(action="DESELECT")
    area().spaces.active.region_3d.view_distance *= 1.15
    dress(rig)
    yield 1.0
    at = pixel_of(rig.pose.bones["hand.L"].head)
    Stage.hands.move(*at)
    yield 0.6
    shot("manual-body-tool")
    check(rig.fabrik.body.handles["Hand.R"].use_pin, "a hand is pinned")
    Stage.hands.move(*(middle(region()) - Vector((0.0, 300.0))))
    yield 0.5  # so that no handle is under the mouse
    start = {handle.name: (handle.use_position, handle.use_rotation) for handle in rig.fabrik.body.handles}
    rig.fabrik.body.handles["Hand.R"].use_pin = False
    for name, pulls in POSES.items():
        for bone in rig.pose.bones:
            bone.matrix_basis = Matrix()
        for handle in rig.fabrik.body.handles:
            handle.use_position, handle.use_rotation = start[handle.name]
        bpy.context.view_layer.update()
        for handle, by in pulls:
            one = rig.fabrik.body.handles[handle]
            place = rig.matrix_world @ rig.pose.bones[one.bone].head + Vector(by)
            with over():
                bpy.ops.pose.fabrik_body_pull(handle=handle, position=place)
        yield 0.6
        shot(f"manual-pose-{name}")
    check(len(POSES) == 10, "ten poses")


def manual_look() -> Steps:
    """A mannequin that looks at a lamp in five places, each from the pose at rest."""
    rig = human("hand.L")
    area().spaces.active.show_region_ui = False
    with over():
        bpy.ops.pose.fabrik_body_add()
        bpy.ops.view3d.view_orbit(angle=0.5, type="ORBITRIGHT")
        bpy.ops.view3d.view_orbit(angle=0.15, type="ORBITUP")
        bpy.ops.pose.select_all(action="DESELECT")
    dress(rig)
    mesh = bpy.data.meshes.new("Lamp")
    made = bmesh.new()
    bmesh.ops.create_icosphere(made, subdivisions=3, radius=0.07)
    made.to_mesh(mesh)
    made.free()
    lamp = bpy.data.objects.new("Lamp", mesh)
    bpy.context.scene.collection.objects.link(lamp)
    view = area().spaces.active.region_3d
    view.view_location = (0.1, 0.0, 1.6)
    view.view_distance *= 0.7
    for name, place in LOOKS.items():
        lamp.location = place
        with over():
            check(bpy.ops.pose.fabrik_body_look(target="Lamp") == {"FINISHED"}, f"it looks {name}")
        yield 0.6
        shot(f"manual-look-{name}")
