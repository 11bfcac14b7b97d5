# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigify's human with four limbs in motion, as our chains and as Blender's own IK constraints."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np
from bpy.types import Constraint, Object
from mathutils import Euler, Vector

from fabrik_addon.blender.rig.properties import FabrikChain, settings_of

from .blender_chain import add_metarig, make_empty, new_scene, register, view_layer
from .problems import generator

LIMBS = {"forearm.L": 0.6, "forearm.R": 0.6, "shin.L": -0.6, "shin.R": -0.6}
"""Last bones of the limbs, and how far along Y their poles are from the joint in between."""


@dataclass(frozen=True)
class Human:
    """The rig, and what moves it."""

    rig: Object
    chains: list[FabrikChain]
    constraints: list[Constraint]
    """The same chains as Blender's own IK constraints, muted."""
    bones: list[str]
    """Names of the bones that rotate."""


def make_human(frames: int) -> Human:
    """Make the metarig, with keys every tenth frame or farther apart, in a scene of its own."""
    register()
    new_scene()
    rig = add_metarig("human")
    rng = generator("human")
    times = np.unique(np.linspace(1, frames + 10, min(frames // 10 + 2, 200)).astype(int))
    chains, constraints, bones = [], [], []
    for name, aside in LIMBS.items():
        bone = rig.pose.bones[name]
        reach = 0.25 * (bone.length + bone.parent.length)
        middle = rig.matrix_world @ (bone.parent.head + 0.8 * (bone.tail - bone.parent.head))
        target, pole = make_empty(f"{name} target"), make_empty(f"{name} pole")
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
        chain = settings_of(rig).chains.add()
        chain.name, chain.tip, chain.chain_count = name, name, 2
        chain.target, chain.pole_target = target, pole
        chains.append(chain)
        constraints.append(constraint)
        bones += [name, bone.parent.name]
    scene = bpy.context.scene
    scene.frame_end = frames
    scene.frame_set(1)
    bpy.ops.object.mode_set(mode='POSE')
    for bone in rig.pose.bones:
        bone.select = bone.name in bones
    return Human(rig, chains, constraints, bones)


def add_skin(human: Human, faces: int) -> int:
    """Add a mesh that the rig deforms, subdivided down to so many faces; return how many it is."""
    side = round(faces**0.5)
    points = np.zeros(((side + 1) ** 2, 3))
    rows, columns = np.divmod(np.arange(len(points)), side + 1)
    points[:, 0], points[:, 2] = columns / side - 0.5, 1.8 * rows / side
    corners = (rows * (side + 1) + columns)[(rows < side) & (columns < side)]
    quads = np.stack([corners, corners + 1, corners + side + 2, corners + side + 1], axis=1)
    mesh = bpy.data.meshes.new("skin")
    mesh.from_pydata(points.tolist(), [], quads.tolist())
    skin = bpy.data.objects.new("skin", mesh)
    bpy.context.scene.collection.objects.link(skin)
    heads = np.array([(human.rig.matrix_world @ human.rig.data.bones[name].head_local)[:] for name in human.bones])
    nearest = np.linalg.norm(points[:, None] - heads, axis=2).argmin(axis=1)
    for number, name in enumerate(human.bones):
        skin.vertex_groups.new(name=name).add(np.flatnonzero(nearest == number).tolist(), 1.0, 'REPLACE')
    skin.modifiers.new("Armature", 'ARMATURE').object = human.rig  # type: ignore[attr-defined]
    view_layer().update()
    return len(skin.evaluated_get(bpy.context.evaluated_depsgraph_get()).data.polygons)
