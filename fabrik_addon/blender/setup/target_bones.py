# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: bones of the armature as targets and poles of chains, in a bone collection and with shapes of their own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import bpy
from mathutils import Matrix

from ...core import FabrikError
from ..solving.stored_values import store_values
from .target_objects import TARGETS_COLLECTION

if TYPE_CHECKING:
    from bpy.types import Object, ViewLayer

_SHAPE_SEGMENTS = 24


@dataclass(frozen=True)
class NewBone:
    """A bone that is to be a target or pole."""

    name: str
    matrix: Matrix
    """Of its rest pose, armature space; the bone points along y."""
    length: float
    """In armature space."""
    is_pole: bool


def check_bones_can_be_added(armature: Object) -> None:
    """Refuse an armature whose bones can't be edited.

    Raises:
        FabrikError: its data is linked.
    """
    if armature.data.library is not None or armature.data.override_library is not None:
        raise FabrikError(f"The bones of '{armature.name}' are linked: make targets and poles as empties")


def add_target_bones(view_layer: ViewLayer, armature: Object, bones: Sequence[NewBone]) -> list[str]:
    """Add bones to an armature in Pose mode; return the names that Blender gives them.

    They have no parents and deform nothing. Every other bone keeps its selection, and whatever was edited without a key
    stays: Blender evaluates the animation of all armatures in Pose mode anew when Edit mode ends. Meanwhile the
    armature is the active object.
    """
    view_layer.update()
    stored = store_values(view_layer, [armature])
    selected = {bone.name for bone in armature.pose.bones if bone.select}
    active = armature.data.bones.active.name if armature.data.bones.active else ""
    active_object, view_layer.objects.active = view_layer.objects.active, armature
    names = []
    try:
        bpy.ops.object.mode_set(mode='EDIT')
        for new in bones:
            made = armature.data.edit_bones.new(new.name)
            made.head, made.tail = (0.0, 0.0, 0.0), (0.0, new.length, 0.0)
            made.matrix = new.matrix
            made.use_deform = False
            names.append(made.name)
    finally:
        bpy.ops.object.mode_set(mode='POSE')
        view_layer.objects.active = active_object
    collection = armature.data.collections_all.get(TARGETS_COLLECTION) or armature.data.collections.new(
        TARGETS_COLLECTION
    )
    for name, new in zip(names, bones, strict=True):
        bone = armature.pose.bones[name]
        collection.assign(bone)
        bone.custom_shape = _shape(new.is_pole)
        bone.bone.show_wire = True
    for bone in armature.pose.bones:
        bone.select = bone.name in selected
    view_layer.update()
    stored.restore()
    armature.data.bones.active = armature.data.bones.get(active)
    return names


def _shape(is_pole: bool) -> Object:
    """Return the object whose edges are drawn for a bone: a box around its head, or three circles."""
    name = "FABRIK Pole Shape" if is_pole else "FABRIK Target Shape"
    found = bpy.data.objects.get((name, None))  # not that of a linked file
    if found is not None:
        return found
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(*(_circles() if is_pole else _box()), [])
    return bpy.data.objects.new(name, mesh)


def _box() -> tuple[list[tuple[float, float, float]], list[tuple[int, int]]]:
    corners = [(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]
    edges = [(a, b) for a in range(8) for b in range(a + 1, 8) if (a ^ b) in (1, 2, 4)]
    return corners, edges


def _circles() -> tuple[list[tuple[float, float, float]], list[tuple[int, int]]]:
    count = _SHAPE_SEGMENTS
    angles = [math.tau * number / count for number in range(count)]
    ring = [(0.5 * math.cos(angle), 0.5 * math.sin(angle)) for angle in angles]
    points = [(x, y, 0.0) for x, y in ring] + [(0.0, x, y) for x, y in ring] + [(y, 0.0, x) for x, y in ring]
    edges = [(circle * count + i, circle * count + (i + 1) % count) for circle in range(3) for i in range(count)]
    return points, edges
