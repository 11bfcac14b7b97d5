# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run in a process of its own: open a file in a Blender without the extension, render it, print the tips' errors.

Usage: bare_blender.py FILE ARMATURE BONE TARGET; prints "error DISTANCE" for every rendered frame.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import bpy


def main() -> None:
    file, armature_name, bone_name, target_name = sys.argv[1:]
    bpy.ops.wm.read_factory_settings(use_empty=True)
    assert not hasattr(bpy.types.Object, "fabrik")
    bpy.ops.wm.open_mainfile(filepath=file)
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, 24
    scene.render.engine = "CYCLES"
    scene.cycles.device, scene.cycles.samples = "CPU", 1
    scene.render.resolution_x = scene.render.resolution_y = 16
    camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    scene.collection.objects.link(camera)
    scene.camera = camera

    def measure(_scene: object, depsgraph: bpy.types.Depsgraph) -> None:
        armature = bpy.data.objects[armature_name].evaluated_get(depsgraph)
        target = bpy.data.objects[target_name].evaluated_get(depsgraph)
        tip = armature.matrix_world @ armature.pose.bones[bone_name].tail
        sys.stdout.write(f"error {(tip - target.matrix_world.translation).length}\n")

    bpy.app.handlers.frame_change_post.append(measure)
    with tempfile.TemporaryDirectory() as folder:
        scene.render.filepath = str(Path(folder) / "frame")
        bpy.ops.render.render(animation=True)
        print("rendered", len(list(Path(folder).iterdir())))
    sys.stdout.flush()
    os._exit(0)


main()
