# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: native rigs removed, with all that was made for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy
from mathutils import Vector

from ...core import FabrikError
from ..bones.rotation_channel import Channel, channel_for
from ..rig.library_items import is_from_library
from ..rig.properties import settings_of
from ..solving.stored_values import kept_values
from ..solving.write_channels import write_channels
from .custom_properties import CHAIN, CONSTRAINT, HAD_ANIMATION, MARK, SOLVER
from .find_rigs import broken_constraints, native_constraints, unused_solvers
from .shared_groups import remove_unused_groups
from .write_bone_stretch import forget_inherited

if TYPE_CHECKING:
    from bpy.types import Bone, Collection, Constraint, NodesModifier, Object, PoseBone, ViewLayer

_SCALE_ROUNDING = 1e-5
"""Part of a scale that counts as none."""

Changed = list[tuple["PoseBone | Bone", str]]
"""Bones and the names of their channels."""


def remove_rigs(view_layer: ViewLayer, armature: Object, solvers: list[Object], keep_pose: bool) -> Changed:
    """Remove native rigs of an armature, and what is left of any whose solver is gone.

    Args:
        view_layer: evaluated.
        solvers: of the rigs.
        keep_pose: write what the bones look like into their channels.

    Returns:
        the bones whose channels changed, with the channels' names.

    Raises:
        FabrikError: as in ``release_bones``.
    """
    looks: list[tuple[PoseBone, Channel]] = []
    if keep_pose:
        view_layer.update()
        looks = [(bone, _look(armature, bone, constraint)) for bone, constraint in _following(armature, solvers)]
    stay_stretched = any(name == "scale" and _differs(bone.scale, Vector(values)) for bone, (name, values) in looks)
    release_bones(view_layer, armature, solvers, stay_stretched)
    purge()  # but for solvers at which a copy of the armature, or its original, looks
    changed = write_channels(looks)
    view_layer.update()
    return [(bone, name) for bone, (name, _) in changed]


def release_bones(view_layer: ViewLayer, armature: Object, solvers: list[Object], stay_stretched: bool) -> None:
    """Remove the constraints by which bones of an armature follow solvers, and those of solvers that are gone.

    Args:
        solvers: of the rigs.
        stay_stretched: the bones' channels will be those of the stretched pose.

    Raises:
        FabrikError: a constraint comes from the library of the armature's override, which has it again when the file is
            loaded; then nothing has changed.
    """
    constraints = _following(armature, solvers)
    for message in (reason_to_stay(armature, solver) for solver in solvers):
        if message:
            raise FabrikError(message)
    constraints += [
        (bone, constraint)
        for bone, constraint in broken_constraints(armature)
        if not is_from_library(armature, bone.path_from_id("constraints"), constraint.name)
    ]
    with kept_values(view_layer):
        for bone, constraint in constraints:
            constraint.driver_remove("influence")
            bone.constraints.remove(constraint)
        forget_inherited(armature, stay_stretched)
        _remove_left_drivers(armature, solvers)
        for chain in settings_of(armature).chains:
            if chain.native_rig in solvers:
                chain.native_rig = None
        _remove_empty_animation(armature, any(solver[HAD_ANIMATION] for solver in solvers))


def reason_to_stay(armature: Object, solver: Object) -> str:
    """Return why a native rig of an armature can't be removed or made again; empty where it can."""
    for bone, constraint in _following(armature, [solver]):
        if is_from_library(armature, bone.path_from_id("constraints"), constraint.name):
            return (
                f"The native rig of chain '{solver[CHAIN]}' comes from the library of '{armature.name}': it can be "
                "made again or removed there only"
            )
    return ""


def _following(armature: Object, solvers: list[Object]) -> list[tuple[PoseBone, Constraint]]:
    found = native_constraints(armature)
    return [(bone, constraint) for bone, constraint in found if constraint.target in solvers]  # type: ignore[attr-defined]


def purge() -> None:
    """Remove the solvers of deleted armatures, the empties of deleted solvers, and the groups that nothing uses."""
    for solver in unused_solvers():
        _remove_solver(solver)
    remove_made_for(None)
    remove_unused_groups()
    _remove_empty_collections()


def _look(armature: Object, bone: PoseBone, constraint: Constraint) -> Channel:
    """Return the channel that a constraint has a say in as it looks."""
    local = armature.convert_space(pose_bone=bone, matrix=bone.matrix, from_space='POSE', to_space='LOCAL')
    if constraint.mix_scl:  # type: ignore[attr-defined]
        scale = local.to_scale()
        return "scale", scale[:] if _differs(bone.scale, scale) else bone.scale[:]
    return channel_for(bone, local.to_quaternion())


def _differs(scale: Vector, other: Vector) -> bool:
    return any(abs(a - b) > _SCALE_ROUNDING * abs(a) for a, b in zip(scale[:], other[:], strict=True))


def _remove_solver(solver: Object) -> None:
    modifier: NodesModifier = solver.modifiers[0]  # type: ignore[assignment]  # the stub has the base class
    data, group = solver.data, modifier.node_group
    remove_made_for(solver)
    bpy.data.objects.remove(solver)
    bpy.data.hair_curves.remove(data)  # type: ignore[arg-type]
    if group is not None and group.users == 0:
        bpy.data.node_groups.remove(group)


def remove_made_for(solver: Object | None) -> None:
    """Remove the empties at bones and the collections of targets of a solver, or of those that are deleted."""
    made: list[Object | Collection] = [*bpy.data.objects, *bpy.data.collections]
    bpy.data.batch_remove([each for each in made if each.get(SOLVER, "none") == solver and each.library is None])


def _remove_left_drivers(armature: Object, solvers: list[Object]) -> None:
    """Remove the drivers of constraints of solvers that were removed by hand: Blender leaves them."""
    for curve in list(armature.animation_data.drivers) if armature.animation_data else ():
        read = (variable.targets[0].id for variable in curve.driver.variables)
        if f'.constraints["{CONSTRAINT}' in curve.data_path and any(source in solvers for source in read):
            armature.animation_data.drivers.remove(curve)


def _remove_empty_animation(armature: Object, had_animation: bool) -> None:
    data = armature.animation_data
    if data is not None and not had_animation and not (data.drivers or data.action or data.nla_tracks):
        armature.animation_data_clear()


def _remove_empty_collections() -> None:
    for collection in list(bpy.data.collections):
        if collection.get(MARK) and not collection.objects and not collection.children and collection.library is None:
            bpy.data.collections.remove(collection)
