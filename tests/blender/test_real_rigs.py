# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigs that people have: Rigify's metarigs and what it generates from them, and what importers make."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from bpy.types import Object
from mathutils import Vector

from tests.blender.rigs import (
    add_chain,
    bones_of,
    distance_left,
    end_of,
    enter_pose_mode,
    generated_rig,
    joints_of,
    leave_mode,
    links_of,
    make_armature,
    metarig,
    pose_of,
    tail_bones,
    update,
)


def check_reaches(armature: Object, reaches: dict[str, tuple[int, bool]], reach: float = 0.7) -> None:
    """Add chains, by tip: how many bones, and whether with a pole; pull their ends nearer and aside; all get there."""
    chains = []
    for tip, (count, create_pole) in reaches.items():
        before = np.array([bone.matrix for bone in armature.pose.bones])
        chain = add_chain(armature, tip, count, create_pole=create_pole)
        update()
        assert abs(np.array([bone.matrix for bone in armature.pose.bones]) - before).max() <= 1e-6
        chains.append(chain.name)
    goals: dict[str, Any] = {}
    for name in chains:
        chain = armature.fabrik.chains[name]
        joints = joints_of(armature, chain)
        root, chord = joints[0], joints[-1] - joints[0]
        aside = np.cross(chord, (0.3, 0.5, 0.8))
        direction = chord / np.linalg.norm(chord) + 0.3 * aside / np.linalg.norm(aside)
        links = links_of(armature, chain)
        nearest = max(0.0, 2.0 * links.max() - links.sum())
        distance = nearest + reach * (links.sum() - nearest)
        goals[name] = root + distance * direction / np.linalg.norm(direction)
    for name, goal in goals.items():
        chain = armature.fabrik.chains[name]
        chain.target.matrix_world.translation = armature.matrix_world @ Vector(goal)
    update()
    lengths = {name: links_of(armature, armature.fabrik.chains[name]) for name in chains}
    outside = pose_of(armature)

    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}

    update()
    chained = set()
    for name in chains:
        chain = armature.fabrik.chains[name]
        assert chain.status == "REACHED", name
        assert distance_left(armature, chain) < 1e-4
        assert (end_of(armature, chain) - chain.target.matrix_world.translation).length < 1e-3
        np.testing.assert_allclose(links_of(armature, chain), lengths[name], rtol=1e-5)
        chained |= {bone.name for bone in bones_of(armature, chain)}
    after = pose_of(armature)
    assert all(after[name] == outside[name] for name in after if name not in chained)
    assert any(after[name] != outside[name] for name in chained)


def test_the_human_metarig() -> None:
    armature = metarig("human_metarig")
    limbs = {tip: (2, True) for tip in ("forearm.L", "forearm.R", "shin.L", "shin.R")}
    check_reaches(armature, {"spine.003": (3, False), **limbs})
    armature.fabrik.chains.clear()
    check_reaches(armature, {"spine.006": (2, False), "hand.L": (3, False), "f_index.03.R": (3, True)})


def test_the_human_metarig_moved_turned_and_scaled() -> None:
    armature = metarig("human_metarig")
    armature.location, armature.rotation_euler, armature.scale = (3.0, -2.0, 1.0), (0.4, 0.2, 2.0), (1.0, 1.5, 0.8)
    check_reaches(armature, {"hand.L": (3, False), "shin.R": (2, True), "f_index.03.R": (3, True)})


def test_the_quadruped_metarig() -> None:
    armature = metarig("basic_quadruped_metarig")
    check_reaches(armature, {"front_shin.L": (2, True), "front_foot.R": (3, True), "shin.R": (2, True)})
    armature.fabrik.chains.clear()
    check_reaches(armature, {"spine.004": (0, False)})


@pytest.mark.parametrize("name", ["horse", "cat", "wolf"])
def test_the_longest_line_of_an_animal(name: str) -> None:
    armature = metarig(f"{name}_metarig")
    starts = [bone for bone in armature.pose.bones if bone.parent and bone.head != bone.parent.head]
    deepest = max(starts, key=lambda bone: (len(bone.parent_recursive), bone.name))
    check_reaches(armature, {deepest.name: (min(6, len(deepest.parent_recursive)), False)})


def test_the_controls_of_a_generated_rig() -> None:
    """Chains of FK controls: not connected, with mechanism bones between them and constraints on what follows them."""
    armature = generated_rig("basic_human_metarig")
    reaches = {
        "forearm_fk.L": (2, True),
        "forearm_fk.R": (2, False),
        "shin_fk.L": (2, True),
        "shin_fk.R": (2, False),
    }
    check_reaches(armature, reaches)
    for side in "LR":
        # What deforms the mesh follows the controls.
        control, deform = (armature.pose.bones[name] for name in (f"forearm_fk.{side}", f"DEF-forearm.{side}"))
        assert (control.head - deform.head).length < 1e-4


def test_an_imported_bvh_keeps_its_animation_and_takes_keys(tmp_path: Path) -> None:
    path = tmp_path / "motion.bvh"
    path.write_text(BVH, encoding="utf-8")
    bpy.ops.preferences.addon_enable(module="io_anim_bvh")
    bpy.ops.import_anim.bvh(filepath=str(path))
    armature = bpy.context.object
    enter_pose_mode(armature)
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    bpy.context.scene.frame_set(2)
    check_reaches(armature, {"Hand": (3, True)})
    chain = armature.fabrik.chains["Hand"]
    bpy.context.scene.frame_set(1)
    assert distance_left(armature, chain) > 1e-2
    bpy.context.scene.frame_set(2)
    assert distance_left(armature, chain) < 1e-4


BVH = """HIERARCHY
ROOT Hips
{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT Arm
  {
    OFFSET 2 10 0.5
    CHANNELS 3 Zrotation Xrotation Yrotation
    JOINT Elbow
    {
      OFFSET 8 1 0
      CHANNELS 3 Zrotation Xrotation Yrotation
      JOINT Hand
      {
        OFFSET 7 -1 0.5
        CHANNELS 3 Zrotation Xrotation Yrotation
        End Site
        {
          OFFSET 2 0 0
        }
      }
    }
  }
}
MOTION
Frames: 3
Frame Time: 0.0333333
0 90 0 0 0 0 10 5 0 20 -30 10 0 0 0
1 90 0 5 0 0 20 10 10 30 -40 10 10 0 0
2 90 0 10 5 0 30 15 20 40 -50 10 20 0 5
"""


@pytest.mark.parametrize("kind", ["glb", "fbx"])
def test_bones_that_do_not_touch_after_a_trip_through_another_format(kind: str, tmp_path: Path) -> None:
    """Importers place bones as the format's joints say: heads are right, tails are guesses."""
    make_armature(tail_bones(5))
    leave_mode()
    path = str(tmp_path / f"tail.{kind}")
    if kind == "glb":
        bpy.ops.preferences.addon_enable(module="io_scene_gltf2")
        bpy.ops.export_scene.gltf(filepath=path)
    else:
        bpy.ops.preferences.addon_enable(module="io_scene_fbx")
        bpy.ops.export_scene.fbx(filepath=path)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    if kind == "glb":
        bpy.ops.preferences.addon_enable(module="io_scene_gltf2")
        bpy.ops.import_scene.gltf(filepath=path)
    else:
        bpy.ops.wm.fbx_import(filepath=path)
    (armature,) = (obj for obj in bpy.data.objects if obj.type == "ARMATURE")
    enter_pose_mode(armature)
    check_reaches(armature, {"bone4": (3, False)})
    armature.fabrik.chains.clear()
    check_reaches(armature, {"bone3": (0, True)})
