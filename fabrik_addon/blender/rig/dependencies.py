# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: what an object or a bone depends on, as in Blender's dependency graph: parents, constraints, drivers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

import bpy

from ...core import FabrikError
from ..bones.overrides import Acts, chain_constraints, constraint_goals, is_active
from .chain_bones import ChainSettings, bones_of_chain
from .modifier_inputs import group_inputs, input_value

if TYPE_CHECKING:
    from bpy.types import ID, Constraint, Depsgraph, FCurve, Object

Node: TypeAlias = tuple["ID", str]
"""An object: (object, ""), one of its bones: (armature, bone), or by any name the geometry of one without bones.

Of other data-blocks a property: (data-block, data path), or all of them where the path is empty.
"""

_GEOMETRY = "geometry"

_OF_ANYTHING, _OF_TRANSFORM = re.compile(""), re.compile(r"(delta_)?(location|rotation|scale)|constraints\[|matrix_")
"""Data paths of all drivers, and of those on which an object's place, rotation and scale depend."""

_READS_GEOMETRY = {'SHRINKWRAP', 'GEOMETRY_ATTRIBUTE', 'FOLLOW_PATH', 'CLAMP_TO', 'SPLINE_IK'}
"""Constraints that read their target's geometry and not only its transform."""


def in_words(owner: ID, name: str) -> str:
    """Name an object, one of its bones, or another data-block in a message."""
    return f"bone '{name}' of '{owner.name}'" if name and _is_armature(owner) else f"'{owner.name}'"


def _is_armature(owner: ID | None) -> bool:
    return isinstance(owner, bpy.types.Object) and owner.type == 'ARMATURE'


def followed_bones(target: Object, bone_name: str, armature: Object, acts: Acts = is_active) -> dict[str, str]:
    """Return the names of an armature's bones on which a target depends, each with the path to it in words.

    Args:
        target: object that is the target or pole.
        bone_name: its bone, or empty.
        acts: which constraints count.
    """
    start: Node = (target, bone_name)
    seen: set[Node] = {start}
    walk = _Walk(acts)
    waiting: list[tuple[Node, str]] = [(start, "")]
    followed: dict[str, str] = {}
    while waiting:
        (obj, bone), through = waiting.pop()
        if bone and obj == armature:
            followed[bone] = f"{through}bone '{bone}'"
        for node in _dependencies(obj, bone, walk):
            if node not in seen:
                seen.add(node)
                waiting.append((node, f"{in_words(obj, bone)}, which follows " if (obj, bone) != start else through))
    return followed


def followed_by_chains(armature: Object, chains: Iterable[ChainSettings], acts: Acts = is_active) -> set[Node]:
    """Return all objects and bones on which targets, poles and bones of chains depend, and these themselves.

    Args:
        armature: object with the chains.
        acts: which constraints count.

    Raises:
        FabrikError: a chain has no such bones; the message names the chain.
    """
    seen: set[Node] = set()
    for chain in chains:
        goals = ((chain.target, chain.subtarget), (chain.pole_target, chain.pole_subtarget))
        seen |= {(obj, bone_name) for obj, bone_name in goals if obj is not None}
        try:
            bones = bones_of_chain(armature, chain)
        except FabrikError as error:
            raise FabrikError(f"Chain '{chain.name}': {error}") from error
        seen |= {(armature, name) for name in (chain.tip, *(bone.name for bone in bones))}
    return followed_by(seen, acts)


def followed_by(nodes: Iterable[Node], acts: Acts = is_active) -> set[Node]:
    """Return objects and bones, and all on which they depend through the constraints that count."""
    seen, walk = set(nodes), _Walk(acts)
    waiting = list(seen)
    while waiting:
        found = set(_dependencies(*waiting.pop(), walk)) - seen
        seen |= found
        waiting += found
    return seen


def moved_by(obj: Object) -> set[Node]:
    """Return an object, and the objects and bones on which its place, rotation and scale depend."""
    return {(obj, "")} | followed_by(_dependencies(obj, "", _Walk(is_active), _OF_TRANSFORM))


class _Walk:
    """Which constraints count in a walk over dependencies, and those by which each bone rotates, read once in it."""

    def __init__(self, acts: Acts) -> None:
        self.acts = acts
        self._rotating: dict[Object, dict[str, list[Constraint]]] = {}

    def rotating(self, armature: Object, bone_name: str) -> list[Constraint]:
        """Return the IK and Spline IK constraints that rotate a bone (``overrides.chain_constraints``)."""
        if armature not in self._rotating:
            found = self._rotating[armature] = {}
            for _, constraint, rotated in chain_constraints(armature, self.acts):
                for bone in rotated:
                    found.setdefault(bone.name, []).append(constraint)
        return self._rotating[armature].get(bone_name, [])


def _dependencies(obj: ID, bone_name: str, walk: _Walk, driven: re.Pattern[str] = _OF_ANYTHING) -> Iterator[Node]:
    """Yield what an object's or a bone's transform, an object's geometry, or another property is computed from.

    Args:
        obj: the object, that of a bone or of a geometry, or another data-block.
        bone_name: name of the bone, ``_GEOMETRY``, or data path of the property; empty for the object itself.
        walk: with the constraints that count.
        driven: data paths of the drivers that count, of an object itself or a bone.
    """
    if not isinstance(obj, bpy.types.Object):
        yield from _driver_sources(obj, bone_name)
        return
    if bone_name and obj.type != 'ARMATURE':
        yield obj, ""
        yield from _deformers(obj)
        if obj.data is not None:
            yield obj.data, ""
        keys = getattr(obj.data, "shape_keys", None)
        if keys is not None:
            yield keys, ""
        return
    if bone_name:
        bone = obj.pose.bones.get(bone_name)
        if bone is None:
            return
        yield obj, ""
        if bone.parent:
            yield obj, bone.parent.name
        constraints = [*bone.constraints, *walk.rotating(obj, bone_name)]
    else:
        if obj.parent:
            yield obj.parent, obj.parent_bone if obj.parent_type == 'BONE' else ""
            if obj.parent_type in {'VERTEX', 'VERTEX_3'}:
                yield obj.parent, _GEOMETRY
        constraints = list(obj.constraints)
    for constraint in constraints:
        if walk.acts(constraint):
            yield from _constraint_targets(constraint)
    yield from _driver_sources(obj, bone_name, driven)


def _driver_sources(owner: ID, name: str, driven: re.Pattern[str] = _OF_ANYTHING) -> Iterator[Node]:
    """Yield what the drivers of an object, a bone, or another data-block's property read."""
    for curve in (curve for curve in drivers_of(owner, name) if driven.match(curve.data_path)):
        for variable in curve.driver.variables:
            for source in variable.targets:
                if isinstance(source.id, bpy.types.Object):
                    is_path = variable.type == 'SINGLE_PROP'
                    bone_name = _bone_in(source.data_path) if is_path else source.bone_target
                    yield source.id, bone_name if source.id.type == 'ARMATURE' else ""
                elif source.id is not None:
                    yield source.id, re.sub(r"\[\d+]$", "", source.data_path)


def drivers_of(owner: ID, name: str) -> list[FCurve]:
    """Return the drivers of a bone, of an object but those of its bones, or of another data-block's property."""
    animation = getattr(owner, "animation_data", None)
    return curves_of_node(animation.drivers, owner, name) if animation else []


def curves_of_node(curves: Iterable[FCurve], owner: ID, name: str) -> list[FCurve]:
    """Return those of some curves of a data-block that animate or drive a node."""
    prefix = name
    if isinstance(owner, bpy.types.Object):
        bone = owner.pose.bones.get(name) if owner.pose else None
        prefix = bone.path_from_id() if bone else ""
    return [
        curve
        for curve in curves
        if (curve.data_path.startswith(prefix) if prefix else not curve.data_path.startswith("pose."))
    ]


def _deformers(obj: Object) -> Iterator[Node]:
    """Yield the bones and objects that bend an object's geometry, and those that its geometry nodes read."""
    if obj.parent_type == 'ARMATURE':
        yield from _bones_of(obj.parent)
    for modifier in obj.modifiers:
        if modifier.type == 'ARMATURE' and modifier.show_viewport:
            yield from _bones_of(modifier.object)  # type: ignore[attr-defined]
        elif modifier.type == 'HOOK' and modifier.show_viewport and modifier.object:  # type: ignore[attr-defined]
            yield modifier.object, modifier.subtarget  # type: ignore[attr-defined]
        elif modifier.type == 'NODES' and modifier.show_viewport and modifier.node_group:  # type: ignore[attr-defined]
            for item in group_inputs(modifier):
                is_object = item.socket_type == 'NodeSocketObject'
                if is_object and isinstance(read := input_value(modifier, item.identifier), bpy.types.Object):
                    yield from ((read, ""), (read, _GEOMETRY))


def _bones_of(obj: Object | None) -> Iterator[Node]:
    if obj is not None and obj.type == 'ARMATURE':
        yield from ((obj, bone.name) for bone in obj.pose.bones)


def _bone_in(data_path: str) -> str:
    """Return the pose bone with the property of a data path, by name; empty if it is of no bone or of one at rest."""
    found = re.match(r'pose\.bones\["((?:[^"\\]|\\.)*)"\](?!\.bone\.)', data_path)
    return bpy.utils.unescape_identifier(found[1]) if found else ""


def _constraint_targets(constraint: Constraint) -> Iterator[Node]:
    if constraint.type == 'ARMATURE':
        targets = constraint.targets  # type: ignore[attr-defined]
        yield from ((entry.target, entry.subtarget) for entry in targets if entry.target)
        return
    yield from constraint_goals(constraint)
    if constraint.type in _READS_GEOMETRY and constraint.target:  # type: ignore[attr-defined]
        yield constraint.target, _GEOMETRY  # type: ignore[attr-defined]


def evaluated_data(depsgraph: Depsgraph) -> set[ID]:
    """Return all data-blocks that a depsgraph evaluates, as they are in the file.

    ``Depsgraph.ids`` lists what is shown, and node trees of materials. It leaves out what is hidden, or isn't in the
    scene, and is evaluated because something else depends on it, such as the target of a constraint.
    """
    kinds = [one.identifier for one in bpy.data.bl_rna.properties if one.type == 'COLLECTION']
    found = {one for kind in kinds for one in getattr(bpy.data, kind) if one.evaluated_get(depsgraph).is_evaluated}
    return found | {used.original for used in depsgraph.ids if used.original}
