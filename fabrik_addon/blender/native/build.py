# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: the objects, node groups, constraints and drivers of a native rig."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import bpy
from mathutils import Matrix

from .groups import MARK, VERSION
from .modifier import set_input, set_output_name
from .nodes import Nodes, Socket, Value
from .rest_chain import RestChain
from .solver import Goal, goal_values, solver_group

if TYPE_CHECKING:
    from bpy.types import Collection, Object, PoseBone, Scene

    from ..properties import FabrikChain

COLLECTION = "FABRIK Native Rigs"
MODIFIER = "FABRIK"

_NUMBER = "NodeSocketFloat"


def build_rig(scene: Scene, armature: Object, settings: FabrikChain, rest: RestChain) -> Object:
    """Make a chain follow its target without us.

    Args:
        scene: where its objects go.
        armature: object of the chain.
        settings: the chain.
        rest: the chain as it rests.

    Returns:
        the object whose modifier solves the chain.
    """
    collection = _collection(scene)
    name = f"FABRIK {armature.name} {settings.name}"
    solver = _make_solver(collection, name, armature, rest)
    target = _goal_object(collection, f"{name} target", settings.target, settings.subtarget)
    pole = None
    if rest.kind.has_pole:
        pole = _goal_object(collection, f"{name} pole", settings.pole_target, settings.pole_subtarget)
    modifier: Any = solver.modifiers.new(MODIFIER, 'NODES')
    modifier.node_group = _rig_group(name, rest)
    values = {
        "Target": target,
        "Pole": pole,
        "Pole Angle": settings.pole_angle,
        "Influence": settings.influence,
        "Softness": settings.softness,
        "Sweeps": min(settings.iterations, 64),
        "Tolerance": settings.tolerance,
    }
    for item in modifier.node_group.interface.items_tree:
        if item.in_out == 'INPUT' and item.name in values:
            set_input(modifier, item.identifier, values[item.name])
    outputs = [
        item
        for item in modifier.node_group.interface.items_tree
        if item.in_out == 'OUTPUT' and item.socket_type == "NodeSocketRotation"
    ]
    for bone, item in zip(rest.bones, outputs, strict=True):
        set_output_name(modifier, item.identifier, bone.name)
        _constrain(bone, settings.name, solver)
    return solver


def _collection(scene: Scene) -> Collection:
    for collection in scene.collection.children:
        if collection.get(MARK) and collection.library is None:
            return collection
    collection = bpy.data.collections.new(COLLECTION)
    collection[MARK] = VERSION
    collection.hide_viewport = collection.hide_render = True  # Blender evaluates what others depend on all the same
    scene.collection.children.link(collection)
    return collection


def _make_solver(collection: Collection, name: str, armature: Object, rest: RestChain) -> Object:
    """Make the object that solves: curves with a single point, because Blender passes them on in the least time."""
    curves: Any = bpy.data.hair_curves.new(name)
    curves.add_curves([1])
    solver = bpy.data.objects.new(name, curves)
    solver[MARK] = VERSION
    parent = rest.bones[0].parent
    _hang(solver, armature, parent.name if parent else "")
    solver.matrix_basis = rest.root
    collection.objects.link(solver)
    return solver


def _hang(obj: Object, armature: Object, bone_name: str) -> None:
    """Parent an object to an armature, or to the head of one of its bones."""
    obj.parent = armature
    if bone_name:
        obj.parent_type = 'BONE'
        obj.parent_bone = bone_name
        # Blender's bone parents are at the tail.
        length = armature.data.bones[bone_name].length
        obj.matrix_parent_inverse = Matrix.Translation((0.0, -length, 0.0))


def _goal_object(collection: Collection, name: str, target: Object | None, bone_name: str) -> Object | None:
    """Return the object at a target: itself, or an empty at its bone, because nodes don't see bones."""
    if target is None or target.type != 'ARMATURE' or not bone_name:
        return target
    empty = bpy.data.objects.new(name, None)
    empty[MARK] = VERSION
    _hang(empty, target, bone_name)
    collection.objects.link(empty)
    return empty


def _constrain(bone: PoseBone, chain_name: str, solver: Object) -> None:
    """Let a bone take its rotation from the solver, in its own space: what it inherits stays Blender's business."""
    constraint: Any = bone.constraints.new('GEOMETRY_ATTRIBUTE')
    constraint.name = f"FABRIK {chain_name}"
    constraint.target = solver
    constraint.attribute_name = bone.name
    constraint.data_type, constraint.domain, constraint.sample_index = 'QUATERNION', 'POINT', 0
    constraint.apply_target_transform = False
    constraint.mix_mode = 'REPLACE'
    constraint.mix_loc, constraint.mix_rot, constraint.mix_scl = False, True, False
    constraint.owner_space = 'LOCAL'
    curve = constraint.driver_add("influence")
    curve.driver.type = 'SUM'
    variable = curve.driver.variables.new()
    variable.name = "influence"
    variable.targets[0].id = solver
    from .modifier import input_path

    modifier = solver.modifiers[MODIFIER]
    identifier = next(
        item.identifier for item in modifier.node_group.interface.items_tree if item.name == "Influence"
    )
    variable.targets[0].data_path = input_path(modifier, identifier)
    for extra in list(curve.modifiers):
        curve.modifiers.remove(extra)


def _rig_group(name: str, rest: RestChain) -> Any:
    """Return a chain's own group: the numbers of its bones around the solver it shares with others of its kind."""
    tree = bpy.data.node_groups.new(name, 'GeometryNodeTree')
    tree.is_modifier = True
    tree[MARK] = VERSION
    nodes = Nodes(tree)
    kind = rest.kind
    geometry = nodes.input("Geometry", "NodeSocketGeometry")
    goal = _goal_inputs(nodes, rest)
    rotations = nodes.call(
        solver_group(kind),
        [
            *goal_values(goal),
            *rest.links.values,
            rest.plane.to_euler(),
            (rest.plane.conjugated() @ rest.frames[0] if kind.has_pole else rest.frames[0]).to_euler(),
            *(frame.to_euler() for frame in rest.frames[1:]),
            *((back.to_euler() for back in rest.backs) if kind.is_offset else ()),
            *_bend_values(rest),
        ],
    )
    nodes.output("Geometry", geometry, "NodeSocketGeometry")
    for bone, rotation in zip(rest.bones, rotations, strict=True):
        nodes.output(bone.name, rotation, "NodeSocketRotation")
    nodes.arrange()
    return tree


def _bend_values(rest: RestChain) -> list[Value]:
    """Return what a solver starts from, in the order of its inputs."""
    if rest.kind.links < 3 or (rest.kind.has_pole and rest.kind.is_straight):
        return []
    return [rest.arc, *rest.bends] if rest.kind.has_pole else [tuple(joint) for joint in rest.joints]


def _goal_inputs(nodes: Nodes, rest: RestChain) -> Goal:
    target_object = nodes.input("Target", "NodeSocketObject")
    pole = angle = None
    if rest.kind.has_pole:
        pole = nodes.object_location(nodes.input("Pole", "NodeSocketObject"))
        angle = nodes.input("Pole Angle", _NUMBER, subtype='ANGLE')
    influence = nodes.input("Influence", _NUMBER, subtype='FACTOR', min_value=0.0, max_value=1.0, default_value=1.0)
    softness = nodes.input("Softness", _NUMBER, subtype='FACTOR', min_value=0.0, max_value=0.5)
    sweeps: Value = None
    tolerance: Value = None
    if rest.kind.links > 2:
        sweeps = nodes.input("Sweeps", "NodeSocketInt", min_value=1, max_value=64, default_value=64)
        share = nodes.input("Tolerance", _NUMBER, min_value=1e-6, max_value=1.0, default_value=1e-4)
        tolerance = share * rest.links.total
    target: Socket = nodes.object_location(target_object)
    # Without influence nothing needs to be solved.
    target = nodes.switch(influence > 0.0, target, tuple(rest.tip))
    return Goal(target, softness, sweeps, tolerance, pole, angle)
