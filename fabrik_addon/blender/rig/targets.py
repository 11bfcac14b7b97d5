# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where targets and poles are, and whether they hang on the chain that should reach for them. Reads Blender."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import bpy
from mathutils import Matrix, Quaternion, Vector

from ...core import FabrikError
from .overrides import chain_constraints, is_active

if TYPE_CHECKING:
    from bpy.types import Constraint, LayerCollection, Object, ViewLayer

Node = tuple["Object", str]
"""An object: (object, ""), one of its bones: (armature, bone), or by any name the geometry of one without bones."""

_GEOMETRY = "geometry"

_FOLLOWS_GEOMETRY = {'SHRINKWRAP', 'GEOMETRY_ATTRIBUTE', 'FOLLOW_PATH', 'CLAMP_TO', 'SPLINE_IK'}
"""Constraints that look at their target's geometry and not only at where the object is."""

_FLAT = 1e-6
"""Volume, over that of a box with the same edges, below which single precision can't tell a matrix from a flat one."""


def armature_to_world(armature: Object) -> Matrix:
    """Return the matrix that takes points from an armature's space to the world, and can take them back.

    Raises:
        FabrikError: the object is nowhere, or scaled to nothing, so that no point of the world is in its space.
    """
    matrix = armature.matrix_world
    if not math.isfinite(sum(sum(row[:]) for row in matrix.row)):
        raise FabrikError(f"the object '{armature.name}' is not at a finite place")
    edges = math.prod(column.length for column in matrix.to_3x3().col)
    # Single precision can't invert the smallest volumes either.
    if abs(matrix.determinant()) <= max(_FLAT * edges, 1e-30):
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


def in_words(obj: Object, bone_name: str) -> str:
    """Name an object, or one of its bones, in a message."""
    return f"bone '{bone_name}' of '{obj.name}'" if bone_name and obj.type == 'ARMATURE' else f"'{obj.name}'"


def rotation_in_armature(armature: Object, target: Object, bone_name: str) -> Quaternion:
    """Return the rotation of an object or one of its bones in an armature's space; of neither's scale."""
    bone = target.pose.bones.get(bone_name) if bone_name and target.type == 'ARMATURE' else None
    matrix = target.matrix_world if bone is None else target.matrix_world @ bone.matrix
    return (armature.matrix_world.inverted_safe() @ matrix).to_quaternion()


def _is_evaluated(obj: Object, layer_collection: LayerCollection) -> bool:
    """Tell whether an object is where its matrix says: so it is if hidden, but not if disabled in viewports."""
    collection = layer_collection.collection
    if layer_collection.exclude or collection.hide_viewport or obj.hide_viewport:
        return False
    return obj in collection.objects.values() or any(_is_evaluated(obj, child) for child in layer_collection.children)


def followed_bones(target: Object, bone_name: str, armature: Object) -> dict[str, str]:
    """Return the names of an armature's bones that a target follows, each with what it is in words.

    Looks at parents, constraints and drivers, as Blender's dependency graph does.

    Args:
        target: object that is the target or pole.
        bone_name: its bone, or empty.
        armature: object with the bones.
    """
    start: Node = (target, bone_name)
    seen: set[Node] = {start}
    waiting: list[tuple[Node, str]] = [(start, "")]
    followed: dict[str, str] = {}
    while waiting:
        (obj, bone), through = waiting.pop()
        if bone and obj == armature:
            followed[bone] = f"{through}bone '{bone}'"
        for node in _dependencies(obj, bone):
            if node not in seen:
                seen.add(node)
                waiting.append((node, f"{in_words(obj, bone)}, which follows " if (obj, bone) != start else through))
    return followed


def followed_by(start: Node) -> set[Node]:
    """Return all that an object or a bone is where it is by, itself among it."""
    seen, waiting = {start}, [start]
    while waiting:
        for node in _dependencies(*waiting.pop()):
            if node not in seen:
                seen.add(node)
                waiting.append(node)
    return seen


def _dependencies(obj: Object, bone_name: str) -> Iterator[Node]:
    """Yield what an object's or a bone's transform, or an object's geometry, is computed from."""
    if bone_name and obj.type != 'ARMATURE':
        yield obj, ""
        yield from _deformers(obj)
        return
    if bone_name:
        bone = obj.pose.bones.get(bone_name)
        if bone is None:
            return
        yield obj, ""
        if bone.parent:
            yield obj, bone.parent.name
        constraints = list(bone.constraints)
        constraints += [by for _, by, turned in chain_constraints(obj) if bone in turned]
        prefix = bone.path_from_id()
    else:
        if obj.parent:
            yield obj.parent, obj.parent_bone if obj.parent_type == 'BONE' else ""
            if obj.parent_type in {'VERTEX', 'VERTEX_3'}:
                yield obj.parent, _GEOMETRY
        constraints = list(obj.constraints)
        prefix = ""
    for constraint in constraints:
        if is_active(constraint):
            yield from _constraint_targets(constraint)
    if obj.animation_data:
        for curve in obj.animation_data.drivers:
            if curve.data_path.startswith(prefix) if bone_name else not curve.data_path.startswith("pose."):
                for variable in curve.driver.variables:
                    for source in variable.targets:
                        if isinstance(source.id, bpy.types.Object):
                            is_path = variable.type == 'SINGLE_PROP'
                            name = _bone_in(source.data_path) if is_path else source.bone_target
                            yield source.id, name if source.id.type == 'ARMATURE' else ""


def _deformers(obj: Object) -> Iterator[Node]:
    """Yield the bones and objects that bend an object's geometry."""
    if obj.parent_type == 'ARMATURE':
        yield from _bones_of(obj.parent)
    for modifier in obj.modifiers:
        if modifier.type == 'ARMATURE' and modifier.show_viewport:
            yield from _bones_of(modifier.object)  # type: ignore[attr-defined]
        elif modifier.type == 'HOOK' and modifier.show_viewport and modifier.object:  # type: ignore[attr-defined]
            yield modifier.object, modifier.subtarget  # type: ignore[attr-defined]


def _bones_of(obj: Object | None) -> Iterator[Node]:
    if obj is not None and obj.type == 'ARMATURE':
        yield from ((obj, bone.name) for bone in obj.pose.bones)


def _bone_in(data_path: str) -> str:
    """Return the name of the pose bone whose property a data path is; empty where it is none's."""
    found = re.match(r'pose\.bones\["((?:[^"\\]|\\.)*)"\]', data_path)
    return bpy.utils.unescape_identifier(found[1]) if found else ""


def _constraint_targets(constraint: Constraint) -> Iterator[Node]:
    if constraint.type == 'ARMATURE':
        targets = constraint.targets  # type: ignore[attr-defined]
        yield from ((entry.target, entry.subtarget) for entry in targets if entry.target)
        return
    for object_name, bone_name in (("target", "subtarget"), ("pole_target", "pole_subtarget")):
        target = getattr(constraint, object_name, None)
        if target is not None:
            yield target, getattr(constraint, bone_name, "")
    if constraint.type in _FOLLOWS_GEOMETRY and constraint.target:  # type: ignore[attr-defined]
        yield constraint.target, _GEOMETRY  # type: ignore[attr-defined]
