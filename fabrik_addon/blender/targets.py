# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where targets and poles are, and whether they hang on the chain that should reach for them. Reads Blender."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import bpy
from mathutils import Vector

from ..core import FabrikError

if TYPE_CHECKING:
    from bpy.types import Constraint, Object, ViewLayer

Node = tuple["Object", str]
"""An object, or one of its bones: (object, "") or (armature, bone)."""


def target_position(view_layer: ViewLayer, target: Object, bone_name: str, role: str) -> Vector:
    """Return where an object, or the head of one of its bones, is in the world.

    Args:
        view_layer: the one that was evaluated last.
        target: an object.
        bone_name: of a bone, if the object is an armature; empty for the object itself.
        role: "target" or "pole", for messages.

    Raises:
        FabrikError: the object is deleted or not evaluated, or it has no such bone.
    """
    if view_layer.objects.get(target.name) != target:
        if not target.users_scene:
            raise FabrikError(f"its {role} '{target.name}' was deleted from the scene")
        raise FabrikError(f"its {role} '{target.name}' is not in the view layer '{view_layer.name}'")
    if not bone_name:
        return target.matrix_world.translation.copy()
    if target.type != 'ARMATURE':
        raise FabrikError(f"its {role} '{target.name}' is not an armature, so it has no bone '{bone_name}'")
    bone = target.pose.bones.get(bone_name)
    if bone is None:
        raise FabrikError(f"its {role} '{target.name}' has no bone '{bone_name}'")
    return target.matrix_world @ bone.matrix.translation


def hangs_on(target: Object, bone_name: str, armature: Object, bones: set[str]) -> str | None:
    """Say through what a target follows one of an armature's bones; None where it doesn't.

    Follows parents, constraints and drivers, as Blender's dependency graph does.

    Args:
        target: object that is the target or pole.
        bone_name: its bone, or empty.
        armature: object whose bones are to be posed.
        bones: names of the bones that would move, children of the chain included.
    """
    start: Node = (target, bone_name)
    seen: set[Node] = {start}
    waiting: list[tuple[Node, str]] = [(start, "")]
    while waiting:
        (obj, bone), through = waiting.pop()
        if obj == armature and bone in bones:
            return f"{through}bone '{bone}'"
        for node in _dependencies(obj, bone):
            if node not in seen:
                seen.add(node)
                name = f"bone '{bone}' of '{obj.name}'" if bone else f"'{obj.name}'"
                waiting.append((node, f"{name}, which follows " if (obj, bone) != start else through))
    return None


def _dependencies(obj: Object, bone_name: str) -> Iterator[Node]:
    """Yield what an object's or a bone's transform is computed from."""
    if bone_name:
        bone = obj.pose.bones.get(bone_name) if obj.type == 'ARMATURE' else None
        if bone is None:
            return
        yield obj, ""
        if bone.parent:
            yield obj, bone.parent.name
        constraints = bone.constraints
        prefix = bone.path_from_id()
    else:
        if obj.parent:
            yield obj.parent, obj.parent_bone if obj.parent_type == 'BONE' else ""
            if obj.parent_type == 'ARMATURE' or (obj.parent_type == 'OBJECT' and obj.parent.type == 'LATTICE'):
                yield from ((obj.parent, name) for name in _bone_names(obj.parent))
        constraints = obj.constraints
        prefix = ""
    for constraint in constraints:
        if not constraint.mute and constraint.influence > 0.0:
            yield from _constraint_targets(constraint)
    if obj.animation_data:
        for curve in obj.animation_data.drivers:
            if curve.data_path.startswith(prefix) if bone_name else not curve.data_path.startswith("pose."):
                for variable in curve.driver.variables:
                    for source in variable.targets:
                        if isinstance(source.id, bpy.types.Object):
                            yield source.id, source.bone_target if variable.type != 'SINGLE_PROP' else ""


def _constraint_targets(constraint: Constraint) -> Iterator[Node]:
    if constraint.type == 'ARMATURE':
        targets = constraint.targets  # type: ignore[attr-defined]
        yield from ((entry.target, entry.subtarget) for entry in targets if entry.target)
        return
    for object_name, bone_name in (("target", "subtarget"), ("pole_target", "pole_subtarget")):
        target = getattr(constraint, object_name, None)
        if target is not None:
            yield target, getattr(constraint, bone_name, "")


def _bone_names(obj: Object) -> list[str]:
    return [bone.name for bone in obj.pose.bones] if obj.type == 'ARMATURE' else []
