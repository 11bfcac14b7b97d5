# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigify's human with four limbs in motion, as our chains and as Blender's own IK constraints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np
from mathutils import Euler, Vector

import fabrik_addon

from .blender_chain import new_scene
from .problems import generator

LIMBS = {"forearm.L": 0.6, "forearm.R": 0.6, "shin.L": -0.6, "shin.R": -0.6}
"""Last bones of the limbs, and how far along Y their poles are from the joint in between."""


@dataclass(frozen=True)
class Human:
    """The rig, and what moves it."""

    rig: Any
    chains: list[Any]
    constraints: list[Any]
    """The same chains as Blender's own IK constraints, muted."""
    bones: list[str]
    """Names of the bones that turn."""


def make_human(frames: int) -> Human:
    """Make the metarig, with keys every tenth frame, in a scene of its own."""
    if not hasattr(bpy.types.Object, "fabrik"):
        fabrik_addon.register()
    new_scene()
    bpy.ops.preferences.addon_enable(module="rigify")
    bpy.ops.object.armature_human_metarig_add()  # type: ignore[attr-defined]
    rig: Any = bpy.context.object
    rng = generator("human")
    times = np.arange(1, frames + 10, 10)
    chains, constraints, bones = [], [], []
    for name, aside in LIMBS.items():
        bone = rig.pose.bones[name]
        reach = 0.25 * (bone.length + bone.parent.length)
        middle = rig.matrix_world @ (bone.parent.head + 0.8 * (bone.tail - bone.parent.head))
        target, pole = _empty(f"{name} target"), _empty(f"{name} pole")
        pole.location = rig.matrix_world @ bone.head + Vector((0.0, aside, 0.0))
        for time in times:
            target.location = middle + Vector(rng.uniform(-reach, reach, 3).tolist())
            target.keyframe_insert("location", frame=int(time))
            for link in (bone, bone.parent):
                link.rotation_quaternion = Euler(rng.uniform(-0.1, 0.1, 3).tolist()).to_quaternion()
                link.keyframe_insert("rotation_quaternion", frame=int(time))
        constraint = bone.constraints.new('IK')
        constraint.target, constraint.pole_target, constraint.chain_count = target, pole, 2
        constraint.mute = True
        chain = rig.fabrik.chains.add()
        chain.name, chain.tip, chain.chain_count = name, name, 2
        chain.target, chain.pole_target = target, pole
        chains.append(chain)
        constraints.append(constraint)
        bones += [name, bone.parent.name]
    scene: Any = bpy.context.scene
    scene.frame_end = frames
    scene.frame_set(1)
    bpy.ops.object.mode_set(mode='POSE')
    for bone in rig.pose.bones:
        bone.select = bone.name in bones
    return Human(rig, chains, constraints, bones)


def add_skin(human: Human, faces: int) -> int:
    """Add a subdivided mesh that the rig deforms; return how many faces it has when it is evaluated."""
    side = round((faces / 256) ** 0.5)
    mesh = bpy.data.meshes.new("skin")
    points = [(x / side - 0.5, 0.0, 1.8 * y / side) for y in range(side + 1) for x in range(side + 1)]
    quads = []
    for y in range(side):
        for x in range(side):
            corner = y * (side + 1) + x
            quads.append((corner, corner + 1, corner + side + 2, corner + side + 1))
    mesh.from_pydata(points, [], quads)
    skin: Any = bpy.data.objects.new("skin", mesh)
    scene: Any = bpy.context.scene
    scene.collection.objects.link(skin)
    heads = {bone.name: human.rig.matrix_world @ bone.bone.head_local for bone in human.rig.pose.bones}
    groups = {name: skin.vertex_groups.new(name=name) for name in human.bones}
    for number, point in enumerate(points):
        nearest = min(human.bones, key=lambda name: (heads[name] - Vector(point)).length)
        groups[nearest].add([number], 1.0, 'REPLACE')
    skin.modifiers.new("Armature", 'ARMATURE').object = human.rig
    subdivision = skin.modifiers.new("Subdivision", 'SUBSURF')
    subdivision.levels = 4
    layer: Any = bpy.context.view_layer
    layer.update()
    evaluated = skin.evaluated_get(layer.depsgraph)
    return len(evaluated.data.polygons)


def _empty(name: str) -> Any:
    empty = bpy.data.objects.new(name, None)
    scene: Any = bpy.context.scene
    scene.collection.objects.link(empty)
    return empty
