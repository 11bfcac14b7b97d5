# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: bones scaled by a native rig, and how they inherit scale meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..stretch import ALIGNED, SKEWING
from .constraints import attribute_constraint, stretch_name
from .marks import INHERITED
from .modifier import scale_outputs, set_output_name
from .stretched_bones import StretchedBones, powers_of

if TYPE_CHECKING:
    from bpy.types import Object


def stretch_bones(stretched: StretchedBones, chain_name: str, solver: Object, modifier: Any) -> None:
    """Let bones take their scale from a solver, on top of their own."""
    attributes = {}
    for number, (powers, socket) in enumerate(zip(powers_of(stretched), scale_outputs(modifier), strict=True), 1):
        attributes[powers] = f"scale {number}"
        set_output_name(modifier, socket.identifier, attributes[powers])
    skewed = [bone for bone in stretched.hanging if bone.bone.inherit_scale in SKEWING]
    solver[INHERITED] = {bone.name: bone.bone.inherit_scale for bone in skewed}
    for bone in skewed:
        data: Any = bone.bone
        data.inherit_scale = ALIGNED
    for bone, powers in stretched.scaled:
        constraint = attribute_constraint(bone, stretch_name(chain_name), solver, attributes[powers])
        constraint.data_type, constraint.mix_mode = 'FLOAT4X4', 'AFTER_SPLIT'
        constraint.mix_loc, constraint.mix_rot, constraint.mix_scl = False, False, True
        # Before others: some take a whole transform over, and that is to stay.
        bone.constraints.move(len(bone.constraints) - 1, 0)


def inherit_as_before(armature: Object, solver: Object) -> None:
    """Give bones the way of inheriting scale that they had before they were stretched."""
    modes = solver.get(INHERITED)
    for name, mode in modes.items() if modes is not None else ():
        bone: Any = armature.data.bones.get(name)
        if bone is not None and bone.inherit_scale == ALIGNED:
            bone.inherit_scale = mode
