# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: the objects, node groups, constraints and drivers of a native rig."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

import bpy
from mathutils import Matrix

from ..rig.item_animation import bags_of
from ..rig.modifier_inputs import (
    InputValue,
    Modifier,
    group_inputs,
    input_path,
    rotation_outputs,
    set_input,
    set_output_name,
)
from .attribute_constraints import attribute_constraint, constraint_name
from .changed_inputs import settings_as_inputs
from .custom_properties import CHAIN, HAD_ANIMATION, HOLDER, MADE, MARK, SOLVER, VERSION
from .find_rigs import solvers_of
from .rest_chain import RestChain
from .rig_group import rig_group
from .write_bone_stretch import stretch_bones

if TYPE_CHECKING:
    from bpy.types import (
        ID,
        ActionChannelbagFCurves,
        AnimDataDrivers,
        Collection,
        Constraint,
        FCurve,
        GeometryNodeTree,
        Object,
        PoseBone,
        Scene,
    )

    from ..rig.properties import FabrikChain

COLLECTION = "FABRIK Native Rigs"
MODIFIER = "FABRIK"


def build_rig(
    scene: Scene,
    armature: Object,
    settings: FabrikChain,
    rest: RestChain,
    solver: Object | None = None,
    changed: Mapping[str, InputValue] = MappingProxyType({}),
) -> Object:
    """Make a chain follow its target without us.

    Args:
        scene: where its objects go.
        settings: the chain.
        rest: the chain as it rests.
        solver: of a rig that is made again; None makes one.
        changed: inputs that aren't taken from the chain's settings, by name.

    Returns:
        the object whose modifier solves the chain.
    """
    others = list(solvers_of(armature).values())
    had_animation = bool(others[0][HAD_ANIMATION]) if others else armature.animation_data is not None
    collection = _collection(scene)
    name = f"FABRIK {armature.name} {settings.name}"
    solver = _place_solver(collection, name, armature, rest, solver or _make_solver(name))
    solver[CHAIN], solver[HAD_ANIMATION] = settings.name, had_animation
    settings.native_rig = solver
    goals = {"Target": _goal_object(collection, f"{name} target", solver, settings.target, settings.subtarget)}
    if rest.shape.kind.has_pole:
        goals["Pole"] = _goal_object(collection, f"{name} pole", solver, settings.pole_target, settings.pole_subtarget)
    modifier: Modifier = solver.modifiers[0] if solver.modifiers else solver.modifiers.new(MODIFIER, 'NODES')
    _set_group(solver, modifier, rig_group(name, rest))
    _set_inputs(solver, {**settings_as_inputs(settings), **goals}, changed)
    paths = _input_paths(modifier)
    # The object's session_uid, which is positive too, reads as 0 in drivers.
    required: list[tuple[ID, str]] = [(solver, f"{paths['Target']}.display_type")]
    required += _properties_of_target(collection, f"{name} target", solver, settings)
    for number, (bone, socket) in enumerate(zip(rest.bones, rotation_outputs(modifier), strict=True), 1):
        # Not the bone's name: one that is called "position" would be the points' own.
        attribute = f"rotation {number}"
        set_output_name(modifier, socket.identifier, attribute)
        _constrain(bone, attribute, settings.name, solver, [(solver, paths["Influence"]), *required])
    if rest.stretched is not None:
        for constraint in stretch_bones(rest.stretched, settings.name, solver, modifier):
            _drive(constraint, "influence", -1, required)
    return solver


def _set_group(solver: Object, modifier: Modifier, group: GeometryNodeTree) -> None:
    """Set a modifier's group; keys and drivers of inputs go along by name, where another version's group has them.

    Those of an input that there is no more go where another one has its identifier, and else wait for it.
    """
    before = {path: name for name, path in _input_paths(modifier).items()}
    modifier.node_group = group
    paths = _input_paths(modifier)
    animation = solver.animation_data
    owners: list[AnimDataDrivers | ActionChannelbagFCurves] = []
    if animation is not None:
        owners = [animation.drivers, *(bag.fcurves for bag in bags_of(animation))]
    for curves in owners:
        for curve in [curve for curve in curves if curve.data_path in before]:
            name = before[curve.data_path]
            if name in paths:
                curve.data_path = paths[name]
            elif curve.data_path in paths.values():
                curves.remove(curve)


def _input_paths(modifier: Modifier) -> dict[str, str]:
    if modifier.node_group is None:
        return {}
    return {item.name: input_path(modifier, item.identifier) for item in group_inputs(modifier)}


def _set_inputs(solver: Object, made: Mapping[str, InputValue], changed: Mapping[str, InputValue]) -> None:
    """Set the inputs of a solver's modifier to changed values, or to those of the chain, which are stored."""
    modifier = solver.modifiers[0]
    inputs = {socket.name: socket.identifier for socket in group_inputs(modifier) if socket.name in made}
    for name, identifier in inputs.items():
        set_input(modifier, identifier, changed.get(name, made[name]))
    solver[MADE] = {name: made[name] for name in inputs if made[name] is not None}


def _collection(scene: Scene) -> Collection:
    for collection in scene.collection.children:
        if collection.get(MARK) and collection.library is None:
            return collection
    collection = bpy.data.collections.new(COLLECTION)
    collection[MARK] = VERSION
    collection.hide_viewport = collection.hide_render = True  # Blender evaluates what others depend on all the same
    scene.collection.children.link(collection)
    return collection


def _make_solver(name: str) -> Object:
    """Make the object that solves: curves with a single point, because Blender passes them on in the least time."""
    curves = bpy.data.hair_curves.new(name)
    curves.add_curves([1])
    return bpy.data.objects.new(name, curves)


def _place_solver(collection: Collection, name: str, armature: Object, rest: RestChain, solver: Object) -> Object:
    """Hang the object that solves at the root of its chain; return it."""
    solver[MARK], solver.name, solver.data.name = VERSION, name, name
    solver.driver_remove("location")
    root = rest.bones[0]
    hang(solver, armature, root.parent.name if root.parent else "", rest.root)
    if rest.root_moves:
        for axis in range(3):
            _drive(solver, "location", axis, [(armature, f"{root.path_from_id('location')}[{axis}]")])
    if solver not in collection.objects.values():
        collection.objects.link(solver)
    return solver


def hang(obj: Object, armature: Object, bone_name: str, place: Matrix) -> None:
    """Parent an object to an armature, or to one of its bones, at a place in its space; its own transform is none.

    That of a solver that is there already may be another one: Rigify, which generates bones anew, parents it otherwise.
    """
    obj.matrix_basis = Matrix()
    obj.parent, obj.parent_type = armature, 'OBJECT'
    obj.matrix_parent_inverse = place
    if bone_name:
        obj.parent_type = 'BONE'
        obj.parent_bone = bone_name
        # Blender's bone parents are at the tail.
        length = armature.data.bones[bone_name].length
        obj.matrix_parent_inverse = Matrix.Translation((0.0, -length, 0.0)) @ place


def _properties_of_target(
    collection: Collection, name: str, solver: Object, settings: FabrikChain
) -> list[tuple[ID, str]]:
    """Return properties from 1 up that exist only while a chain's target does, with the data-blocks that have them.

    Delete in the viewport takes an object out of the scene's collections, and the object stays in the file because
    chains and modifiers use it. So a collection of its own holds a target that is another object: from this collection
    the target disappears too. An index leads to the target, because Blender corrects no names of objects in paths. A
    bone's path starts at its pose bone: after a renaming Blender corrects such paths, and not those from the armature.
    """
    found: list[tuple[ID, str]] = []
    target, bone_name = settings.target, settings.subtarget
    if target is not None and target != settings.id_data:
        holder = bpy.data.collections.new(name)
        holder[SOLVER], solver[HOLDER] = solver, holder
        collection.children.link(holder)
        holder.objects.link(target)
        found.append((holder, "objects[0].display_type"))
    if target is not None and target.type == 'ARMATURE' and bone_name:
        found.append((target, f"{target.pose.bones[bone_name].path_from_id()}.bone.bbone_segments"))
    return found


def _drive(driven: Object | Constraint, name: str, index: int, sources: Iterable[tuple[ID, str]]) -> None:
    """Drive a property by the least of some properties, of which one that doesn't exist counts as 0."""
    # Clear Pose Constraints leaves the drivers of constraints, and these belong to new ones of the same names.
    driven.driver_remove(name, index)
    curve = cast("FCurve", driven.driver_add(name, index))
    for generator in list(curve.modifiers):
        curve.modifiers.remove(generator)
    assert curve.driver is not None  # driver_add has made it
    curve.driver.type = 'MIN'
    for source, data_path in sources:
        target = curve.driver.variables.new().targets[0]
        target.id_type = source.id_type
        target.id, target.data_path = source, data_path
        target.use_fallback_value, target.fallback_value = True, 0.0


def _goal_object(
    collection: Collection, name: str, solver: Object, target: Object | None, bone_name: str
) -> Object | None:
    """Return the object at a target: itself, or an empty at its bone, because nodes don't see bones."""
    if target is None or target.type != 'ARMATURE' or not bone_name:
        return target
    empty = bpy.data.objects.new(name, None)
    empty[MARK] = VERSION
    empty[SOLVER] = solver
    hang(empty, target, bone_name, Matrix())
    collection.objects.link(empty)
    return empty


def _constrain(bone: PoseBone, attribute: str, chain_name: str, solver: Object, shares: list[tuple[ID, str]]) -> None:
    """Let a bone take its rotation from the solver, in its own space: what it inherits is added by Blender."""
    constraint = attribute_constraint(bone, constraint_name(chain_name), solver, attribute)
    constraint.data_type, constraint.mix_mode = 'QUATERNION', 'REPLACE'
    constraint.mix_loc, constraint.mix_rot, constraint.mix_scl = False, True, False
    # Drivers are evaluated when the influence or the target object changes, not when the target moves.
    _drive(constraint, "influence", -1, shares)
