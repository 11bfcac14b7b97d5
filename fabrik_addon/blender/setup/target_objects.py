# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: empties as targets and poles of chains, and the collection that they are put into."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import bpy
from mathutils import Matrix, Vector

from ..rig.chain_bones import ChainBones

if TYPE_CHECKING:
    from bpy.types import Collection, Object, Scene, ViewLayer

TARGETS_COLLECTION = "FABRIK Targets"
"""Name of the collection of new targets and poles."""


def make_target(collection: Collection, armature: Object, bones: ChainBones, end: Vector, size: float) -> Object:
    """Make a box-shaped empty at a chain's end, rotated as the chain's last bone.

    Args:
        collection: that the empty is linked to.
        end: position in armature space.
        size: of the box, in world units.
    """
    rotation = (armature.matrix_world @ bones.end.matrix).to_quaternion()
    matrix = Matrix.LocRotScale(armature.matrix_world @ end, rotation, None)
    return _make_empty(collection, f"{bones.end.name} target", matrix, 'CUBE', size)


def make_pole(collection: Collection, armature: Object, bones: ChainBones, pole: Vector, size: float) -> Object:
    """Make a ball-shaped empty at a pole; the arguments are those of ``make_target``."""
    matrix = Matrix.Translation(armature.matrix_world @ pole)
    return _make_empty(collection, f"{bones.end.name} pole", matrix, 'SPHERE', size)


def _make_empty(collection: Collection, name: str, matrix_world: Matrix, display: str, size: float) -> Object:
    empty = bpy.data.objects.new(name, None)
    empty.empty_display_type = display  # type: ignore[assignment]
    empty.empty_display_size = size
    empty.show_in_front = True
    empty.matrix_world = matrix_world
    collection.objects.link(empty)
    return empty


def targets_collection(scene: Scene, view_layer: ViewLayer) -> Collection:
    """Return the scene's collection of targets; make it where none is editable and visible in a view layer.

    Args:
        scene: of the view layer.
        view_layer: in which the targets must be visible.
    """
    for layer in view_layer.layer_collection.children:
        collection = layer.collection
        is_visible = not (layer.exclude or layer.hide_viewport or collection.hide_viewport)
        is_own = collection.library is None and collection.override_library is None
        if is_visible and is_own and re.fullmatch(rf"{TARGETS_COLLECTION}(\.\d{{3,}})?", collection.name):
            return collection
    collection = bpy.data.collections.new(TARGETS_COLLECTION)
    scene.collection.children.link(collection)
    return collection
