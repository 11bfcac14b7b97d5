# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: the objects that chains reach for, made where the pose already is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy
from mathutils import Matrix, Vector

from .snapshot import ChainBones

if TYPE_CHECKING:
    from bpy.types import Collection, Object, Scene

COLLECTION = "FABRIK Targets"


def make_target(scene: Scene, armature: Object, bones: ChainBones, end: Vector, size: float) -> Object:
    """Make a box at a chain's end, turned like its last bone.

    Args:
        scene: where it goes.
        armature: object of the chain.
        bones: of the chain.
        end: in armature space.
        size: of the box, in world units.
    """
    rotation = (armature.matrix_world @ bones.end.matrix).to_quaternion()
    matrix = Matrix.LocRotScale(armature.matrix_world @ end, rotation, None)
    return _make_empty(scene, f"{bones.end.name} target", matrix, 'CUBE', size)


def make_pole(scene: Scene, armature: Object, bones: ChainBones, pole: Vector, size: float) -> Object:
    """Make a ball at a pole; the arguments are those of ``make_target``."""
    matrix = Matrix.Translation(armature.matrix_world @ pole)
    return _make_empty(scene, f"{bones.end.name} pole", matrix, 'SPHERE', size)


def _make_empty(scene: Scene, name: str, matrix_world: Matrix, display: str, size: float) -> Object:
    empty = bpy.data.objects.new(name, None)
    empty.empty_display_type = display  # type: ignore[assignment]
    empty.empty_display_size = size
    empty.show_in_front = True
    empty.matrix_world = matrix_world
    _targets_collection(scene).objects.link(empty)
    return empty


def _targets_collection(scene: Scene) -> Collection:
    """Return the scene's own collection of targets, made when it isn't there or belongs to another scene or file."""
    for collection in scene.collection.children:
        if collection.name.split(".")[0] == COLLECTION and collection.library is None:
            return collection
    collection = bpy.data.collections.new(COLLECTION)
    scene.collection.children.link(collection)
    return collection
