# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: bones scaled by a native rig, and how they inherit scale meanwhile."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import bpy

from ..bones.bone_stretch import ALIGNED, SKEWING
from ..rig.modifier_inputs import Modifier, scale_outputs, set_output_name
from .attribute_constraints import attribute_constraint, stretch_name
from .custom_properties import INHERITED
from .find_rigs import is_stretching, native_constraints
from .read_bone_stretch import StretchedBones, powers_of

if TYPE_CHECKING:
    from bpy.types import Constraint, Object, PoseBone


def stretch_bones(stretched: StretchedBones, chain_name: str, solver: Object, modifier: Modifier) -> list[Constraint]:
    """Let bones take their scale from a solver, on top of their own, and return the constraints for it."""
    attributes = {}
    made: list[Constraint] = []
    for number, (powers, socket) in enumerate(zip(powers_of(stretched), scale_outputs(modifier), strict=True), 1):
        attributes[powers] = f"scale {number}"
        set_output_name(modifier, socket.identifier, attributes[powers])
    for bone in stretched.hanging:
        data = bone.bone
        if data.inherit_scale in SKEWING:
            data[INHERITED] = data.inherit_scale
            data.inherit_scale = ALIGNED
    for bone, powers in stretched.scaled:
        constraint = attribute_constraint(bone, stretch_name(chain_name), solver, attributes[powers])
        constraint.data_type, constraint.mix_mode = 'FLOAT4X4', 'AFTER_SPLIT'
        constraint.mix_loc, constraint.mix_rot, constraint.mix_scl = False, False, True
        # Before others: some take a whole transform over, and that is to stay.
        bone.constraints.move(len(bone.constraints) - 1, 0)
        made.append(constraint)
    return made


def forget_inherited(armature: Object, stay_aligned: bool) -> None:
    """Give bones that no native rig of an object stretches the way of inheriting scale that they had before.

    Args:
        armature: object with the bones.
        stay_aligned: they stay stretched, and so must what keeps them from being skewed.
    """
    for bone in armature.pose.bones:
        data = bone.bone
        mode = data.get(INHERITED)
        if mode is None or not data.id_data.is_editable:
            continue  # what is linked stays as the file that it comes from has it
        if _is_stretched(bone, [armature]):
            continue
        if not stay_aligned:
            if _is_stretched(bone, [obj for obj in bpy.data.objects if obj.data == armature.data]):
                continue  # with the native rig that is removed last the bone gets it back
            if data.inherit_scale == ALIGNED:
                data.inherit_scale = mode
        del data[INHERITED]


def _is_stretched(bone: PoseBone, armatures: Iterable[Object]) -> bool:
    """Tell whether a native rig of some objects with the same armature stretches a bone, or what it hangs on."""
    names = {bone.name, bone.parent.name if bone.parent else ""}
    return any(
        each.name in names and is_stretching(obj, constraint.target)  # type: ignore[attr-defined]
        for obj in armatures
        for each, constraint in native_constraints(obj)
    )
