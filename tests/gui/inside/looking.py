# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A body that looks at an object: chosen with the mouse, pressed in the sidebar, held while a hand is pulled."""

from __future__ import annotations

import math
from typing import Any

import bpy
from body_pose import pull
from mathutils import Vector
from stage import (
    Steps,
    area,
    check,
    click_button,
    open_sidebar,
    over,
    pose_bits,
    release,
    rig_now,
    shot,
    traces,
    undo,
    with_tool,
)

LAMP = Vector((0.75, -0.9, 2.0))


def degrees_off(side: str) -> float:
    """Angle between an eye and the way to the lamp."""
    eye = rig_now().pose.bones[f"eye.{side}"]
    return math.degrees((eye.tail - eye.head).angle(LAMP - eye.head))


def add_lamp() -> Any:
    lamp = bpy.data.objects.new("Lamp", None)
    lamp.empty_display_type, lamp.empty_display_size, lamp.location = "SPHERE", 0.12, LAMP
    bpy.context.scene.collection.objects.link(lamp)
    lamp.select_set(True)
    return lamp


def press_look_at(what: str) -> Steps:
    yield from open_sidebar()
    with over("UI"):
        for _ in range(12):  # the wheel would scroll the list of handles
            bpy.ops.view2d.scroll_down()
    yield 0.5
    yield from click_button(f"a button to look at {what}", "pose.fabrik_body_look(")
    yield 0.6


def body_look() -> Steps:
    """Look At by its button, with another object selected; held while a hand is pulled; one undo step each."""
    yield from with_tool()
    add_lamp()
    rig = rig_now()
    rig.fabrik.show_overlay = True
    with over():
        bpy.ops.view3d.view_orbit(angle=0.5, type="ORBITLEFT")
        bpy.ops.view3d.view_orbit(angle=0.2, type="ORBITUP")
        bpy.ops.ed.undo_push(message="lamp")
    pose, left = pose_bits(rig), traces()
    yield from press_look_at("something")
    body = rig_now().fabrik.body
    check(body.use_look_at and body.look_target.name == "Lamp", "it takes the other selected object")
    check(max(map(degrees_off, "LR")) < 0.1, f"both eyes are on it ({degrees_off('L'):.2f}, {degrees_off('R'):.2f})")
    shot("body-look")
    area().spaces.active.show_region_ui = False
    yield 0.5
    held = pose_bits(rig_now())
    yield from pull("hand.R", Vector((60, -130)))
    shot("body-look-drag")
    check(max(map(degrees_off, "LR")) < 0.1, f"the eyes stay on it while a hand is pulled ({degrees_off('L'):.2f})")
    check(pose_bits(rig_now()) != held, "and the body moves")
    yield from release()
    yield from undo()
    check(pose_bits(rig_now()) == held, "one undo takes the pull back, with the eyes")
    yield from undo()
    check(pose_bits(rig_now()) == pose and not rig_now().fabrik.body.use_look_at, "another one the look")
    check(traces() == left, "nothing is left behind")
    yield from look_at_typed_location(pose)


def look_at_typed_location(pose: Any) -> Steps:
    """The button of the panel looks at the location above it once that was typed, not at the 3D cursor."""
    bpy.data.objects["Lamp"].select_set(False)
    rig_now().fabrik.body.look_location = LAMP
    yield from press_look_at("a location")
    body = rig_now().fabrik.body
    check(body.use_look_at and (body.look_location - LAMP).length < 1e-6, f"it is kept ({tuple(body.look_location)})")
    check(pose_bits(rig_now()) != pose and max(map(degrees_off, "LR")) < 0.1, f"looked at ({degrees_off('L'):.2f})")
