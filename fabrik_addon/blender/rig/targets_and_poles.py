# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: where targets and poles are. How a chain's settings make goals of them is in ``chain_goals``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from mathutils import Matrix, Quaternion, Vector

from ...core import FabrikError
from .dependencies import in_words

if TYPE_CHECKING:
    from bpy.types import LayerCollection, Object, ViewLayer

_FLAT = 1e-6
"""Volume, over that of a box with the same edges, below which single precision can't tell a matrix from a flat one."""

_SMALLEST_VOLUME = 1e-30
"""Determinant below which single precision can't invert a matrix."""


def armature_to_world(armature: Object) -> Matrix:
    """Return the matrix that takes points from an armature's space to the world, and can take them back.

    Raises:
        FabrikError: the object is nowhere, or scaled to nothing, so that no point of the world is in its space.
    """
    matrix = armature.matrix_world
    if not math.isfinite(sum(sum(row[:]) for row in matrix.row)):
        raise FabrikError(f"the object '{armature.name}' is not at a finite place")
    edges = math.prod(column.length for column in matrix.to_3x3().col)
    if abs(matrix.determinant()) <= max(_FLAT * edges, _SMALLEST_VOLUME):
        raise FabrikError(f"the object '{armature.name}' is scaled to nothing")
    return matrix


def target_position(view_layer: ViewLayer, target: Object, bone_name: str, role: str) -> Vector:
    """Return where an object, or the head of one of its bones, is in the world.

    Args:
        view_layer: the one that was evaluated last.
        target: an object.
        bone_name: of a bone, if the object is an armature; empty for the object itself.
        role: "target" or "pole", for messages.

    Raises:
        FabrikError: the object is deleted or not evaluated, it has no such bone, or it is nowhere.
    """
    # Objects from different files may have the same name.
    known: Any = target.original
    if view_layer.objects.get(known.name) != known and known not in view_layer.objects.values():
        if not target.users_scene:
            raise FabrikError(f"its {role} '{target.name}' was deleted from the scene")
        raise FabrikError(f"its {role} '{target.name}' is not in the view layer '{view_layer.name}'")
    if not known.visible_get(view_layer=view_layer) and not _is_evaluated(known, view_layer.layer_collection):
        raise FabrikError(
            f"its {role} '{target.name}' is disabled in viewports, so Blender doesn't say where it is: "
            "enable it, or its collection, and hide it with the eye"
        )
    position = position_in_world(target, bone_name, role)
    if not math.isfinite(sum(position[:])):
        raise FabrikError(f"its {role} {in_words(target, bone_name)} is not at a finite place")
    return position


def position_in_world(target: Object, bone_name: str, role: str) -> Vector:
    """Return where an object, or the head of one of its bones, is; the arguments are those of ``target_position``."""
    if not bone_name:
        return target.matrix_world.translation.copy()
    if target.type != 'ARMATURE':
        raise FabrikError(f"its {role} '{target.name}' is not an armature, so it has no bone '{bone_name}'")
    bone = target.pose.bones.get(bone_name)
    if bone is None:
        raise FabrikError(f"its {role} '{target.name}' has no bone '{bone_name}'")
    return target.matrix_world @ bone.matrix.translation


def rotation_in_armature(armature: Object, target: Object, bone_name: str) -> Quaternion:
    """Return the rotation of an object or one of its bones in an armature's space; of neither's scale."""
    bone = target.pose.bones.get(bone_name) if bone_name and target.type == 'ARMATURE' else None
    matrix = target.matrix_world if bone is None else target.matrix_world @ bone.matrix
    return (armature.matrix_world.inverted_safe() @ matrix).to_quaternion()


def _is_evaluated(obj: Object, layer_collection: LayerCollection) -> bool:
    """Tell whether Blender evaluates an object: a hidden one it does, one that is disabled in viewports it doesn't."""
    collection = layer_collection.collection
    if layer_collection.exclude or collection.hide_viewport or obj.hide_viewport:
        return False
    return obj in collection.objects.values() or any(_is_evaluated(obj, child) for child in layer_collection.children)
