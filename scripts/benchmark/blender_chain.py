# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Armatures of one chain in Blender: with Blender's own IK constraint, or with ours."""

from __future__ import annotations

import itertools

import bpy
import numpy as np
from bpy.types import Object, Scene, ViewLayer

import fabrik_addon
from fabrik_addon.blender.rig.properties import FabrikChain, settings_of

from .problems import Array

LAST = "tip"


def register() -> None:
    """Add the extension's properties and operators, once."""
    if not hasattr(bpy.types.Object, "fabrik"):
        fabrik_addon.register()


def new_scene() -> None:
    """Start from an empty scene."""
    bpy.ops.wm.read_factory_settings(use_empty=True)


def add_metarig(name: str) -> Object:
    """Add a metarig of Rigify to the scene; it is active."""
    bpy.ops.preferences.addon_enable(module="rigify")
    getattr(bpy.ops.object, f"armature_{name}_metarig_add")()
    assert bpy.context.object is not None
    return bpy.context.object


def view_layer() -> ViewLayer:
    """Return the view layer there is."""
    assert bpy.context.view_layer is not None
    return bpy.context.view_layer


def scene() -> Scene:
    """Return the scene there is."""
    assert bpy.context.scene is not None
    return bpy.context.scene


def make_armature(joints: Array) -> Object:
    """Return an armature object at the origin with one bone for each link of joints (J, 3)."""
    armature = bpy.data.armatures.new("chain")
    obj = bpy.data.objects.new("chain", armature)
    scene().collection.objects.link(obj)
    view_layer().objects.active = obj
    bpy.ops.object.mode_set(mode='EDIT')
    parent = None
    for j, (head, tail) in enumerate(itertools.pairwise(joints)):
        bone = armature.edit_bones.new(LAST if j == len(joints) - 2 else f"bone{j}")
        bone.head, bone.tail = head, tail
        bone.parent, bone.use_connect = parent, parent is not None
        parent = bone
    bpy.ops.object.mode_set(mode='OBJECT')
    for pose_bone in obj.pose.bones:
        pose_bone.rotation_mode = 'QUATERNION'
    return obj


def make_target() -> Object:
    """Return an empty."""
    return make_empty("target")


def make_empty(name: str) -> Object:
    """Return an empty with that name."""
    empty = bpy.data.objects.new(name, None)
    scene().collection.objects.link(empty)
    return empty


def constrain(obj: Object, target: Object) -> None:
    """Give a chain Blender's own IK, with Blender's own settings."""
    constraint = obj.pose.bones[LAST].constraints.new('IK')
    constraint.target = target
    constraint.chain_count = 0


def add_chain(obj: Object, target: Object) -> FabrikChain:
    """Give a chain ours, with our own default settings, and return its settings."""
    chain = settings_of(obj).chains.add()
    chain.name, chain.tip, chain.chain_count, chain.target = "chain", LAST, 0, target
    return chain


def rest(obj: Object) -> None:
    """Put every bone back where it was made."""
    for pose_bone in obj.pose.bones:
        pose_bone.rotation_quaternion = (1.0, 0.0, 0.0, 0.0)


def joints_of(obj: Object) -> Array:
    """Return where the joints (J, 3) are, after an update."""
    bones = obj.pose.bones
    return np.array([*(bone.head[:] for bone in bones), bones[-1].tail[:]], float)


def own_errors(joints: Array, targets: Array) -> Array:
    """Return how far Blender's own IK ends from each target, over the chain's length of one.

    It starts from the rest pose every time: that is how the constraint works.
    """
    new_scene()
    obj, target = make_armature(joints), make_target()
    constrain(obj, target)
    errors = []
    for position in targets:
        target.location = position
        view_layer().update()
        errors.append(float(np.linalg.norm(np.array(obj.pose.bones[LAST].tail) - position)))
    return np.array(errors)
