# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigify's generated human with its IK constraints converted to chains: how far bones move."""

from __future__ import annotations

import bpy
import numpy as np
from bpy.types import Object

from fabrik_addon.blender.rig.properties import settings_of

from .blender_chain import add_metarig, new_scene, register, view_layer
from .problems import Array, Effort
from .report import Row, Table


def convert_table(_effort: Effort) -> Table:
    """Convert and solve, at rest and posed."""
    register()
    new_scene()
    add_metarig("basic_human")
    bpy.ops.pose.rigify_generate()  # type: ignore[attr-defined]
    assert bpy.context.object is not None
    rig = bpy.context.object
    bpy.ops.object.mode_set(mode='POSE')
    found = [by for bone in rig.pose.bones for by in bone.constraints if by.type == 'IK']
    drivers = len(rig.animation_data.drivers)
    before = _places(rig)
    bpy.ops.pose.fabrik_constraints_to_chains()  # type: ignore[attr-defined]
    converted = len(settings_of(rig).chains)
    moved = _moved(rig, before)
    bpy.ops.pose.fabrik_solve()  # type: ignore[attr-defined]
    solved = _moved(rig, before)
    ok = converted == len(found) and all(by.mute for by in found) and max(moved, solved) <= 1e-4
    return Table(
        title="IK constraints to chains: Rigify's generated human",
        must="all converted, and no bone moves by more than 1e-4 of its length at rest",
        measured=f"{converted} of {len(found)} converted, moved by {max(moved, solved):.1g} at most",
        columns=("constraints", "drivers", "converted", "moved by converting", "moved by solving then"),
        rows=(Row((len(found), drivers, converted, moved, solved), ok),),
        note="Distances are those of heads and tails, over the bone's own length.",
    )


def _places(rig: Object) -> Array:
    layer = view_layer()
    layer.update()
    return np.array([[bone.head[:], bone.tail[:]] for bone in rig.pose.bones])


def _moved(rig: Object, before: Array) -> float:
    lengths = np.array([bone.bone.length for bone in rig.pose.bones])
    return float((np.linalg.norm(_places(rig) - before, axis=2).max(axis=1) / lengths).max())
