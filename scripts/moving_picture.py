# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the moving picture of a hand that is dragged and of the body that follows: out/dragged.webp.

Every frame is one move of the drag of the tool Body Pose.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import environment

if __name__ == "__main__":
    environment.enter()

import bpy
from bpy.types import Object
from mathutils import Vector
from mathutils.geometry import interpolate_bezier

sys.path.insert(0, str(environment.ROOT))
import fabrik_addon
import picture
from body_poses import HUMAN, Point, add_body, pull_handle
from fabrik_addon.blender.drag.body_drag import BodyDrag
from mannequin import make_mannequin

HANDLE = "Hand.L"
PLACES: tuple[Point, ...] = ((0.72, -0.25, 1.60), (0.40, -0.28, 2.12), (0.62, -0.50, 1.20), (0.40, -0.42, 0.35))
"""Through which the hand is dragged, from where it hangs and back there; metres."""

STEPS = 9
"""Moves from one place to the next."""

VIEW = picture.View(400, 480, azimuth=0.6, samples=8, band=0.0)
MILLISECONDS = 80


def main() -> None:
    """Drag, render, and write the file."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    fabrik_addon.register()
    armature = add_body(HUMAN.metarig)
    for pull in HUMAN.stand.pulls:
        pull_handle(armature, HUMAN.stand.label, pull)
    armature.fabrik.body.handles["Hand.R"].use_position = False  # it hangs from the body
    figures = drag(armature, PLACES, STEPS)
    stage = picture.Stage(figures[:1], VIEW, figures)
    images = [stage.shoot([figure]) for figure in figures]
    path = environment.ROOT / "out/dragged.webp"
    path.parent.mkdir(exist_ok=True)
    images[0].save(path, save_all=True, append_images=images[1:], duration=MILLISECONDS, loop=0, quality=92, method=6)
    print(f"{path} {path.stat().st_size:,} bytes, {len(images)} frames", flush=True)
    os._exit(0)  # Blender as a module can hang in a plain exit


def drag(armature: Object, places: Sequence[Point], steps: int) -> list[picture.Figure]:
    """Drag the hand through places and back; return the figure of each move."""
    solids = make_mannequin(armature)
    layer = bpy.context.view_layer
    assert layer is not None
    session = BodyDrag(layer, armature, HANDLE)
    start = session.start_position.copy()
    figures = []
    for place in smooth_path([start, *map(Vector, places), start], steps):
        session.move(layer, place)
        figures.append(picture.look_at(armature, "", solids, picture.body_marks(armature, {HANDLE: start})))
    session.confirm()
    return figures


def smooth_path(points: Sequence[Vector], steps: int) -> list[Vector]:
    """Return a closed Catmull-Rom spline through points of which the last is the first, without the last."""
    path: list[Vector] = []
    count = len(points) - 1
    for number in range(count):
        before, first, last, after = (points[(number + step) % count] for step in (-1, 0, 1, 2))
        path += interpolate_bezier(first, first + (last - before) / 6, last - (after - first) / 6, last, steps + 1)[:-1]
    return path


if __name__ == "__main__":
    main()
