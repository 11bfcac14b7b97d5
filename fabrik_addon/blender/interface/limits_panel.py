# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The limits of a chain's bones in the sidebar: one line for each bone, with what it says of its axes to unfold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..rig.bone_limits import limits_of
from ..rig.overrides import is_limit

if TYPE_CHECKING:
    from bpy.types import PoseBone, UILayout

MOST_UNFOLDED = 6
"""Bones of a chain up to which all are unfolded at first: more would push all else out of sight."""


def draw_limits(layout: UILayout, bones: Sequence[PoseBone]) -> None:
    """Draw what each bone may do, root first."""
    for bone in bones:
        header, body = layout.panel(f"fabrik_limits_{bone.name}", default_closed=len(bones) > MOST_UNFOLDED)
        row = header.row()
        row.label(text=bone.name)
        kind = row.row()
        kind.alignment = 'RIGHT'
        kind.label(text=kind_of_joint(bone))
        if body is not None:
            _draw_axes(body, bone)


def kind_of_joint(bone: PoseBone) -> str:
    """Say in two words what a bone may do, constraints that limit it included."""
    lower, upper = limits_of(bone)
    free = [name for name, low, high in zip("XYZ", lower, upper, strict=True) if low < high]
    limited = [
        name for name, low, high in zip("XYZ", lower, upper, strict=True) if (low, high) != (-math.inf, math.inf)
    ]
    if not limited:
        return "Free"
    if not free:
        return "Fixed"
    return f"Hinge {free[0]}" if len(free) == 1 else "Limited " + "".join(limited)


def _draw_axes(layout: UILayout, bone: PoseBone) -> None:
    """Show what a bone may do about its axes, as in Blender's own Inverse Kinematics panel."""
    column = layout.column(align=True)
    for name in "xyz":
        row = column.row(align=True)
        is_locked = getattr(bone, f"lock_ik_{name}")
        row.prop(bone, f"lock_ik_{name}", text=name.upper())
        limits = row.row(align=True)
        limits.active = not is_locked
        limits.prop(bone, f"use_ik_limit_{name}", text="", icon='CON_ROTLIMIT')
        ends = limits.row(align=True)
        ends.active = getattr(bone, f"use_ik_limit_{name}")
        ends.prop(bone, f"ik_min_{name}", text="")
        ends.prop(bone, f"ik_max_{name}", text="")
    for constraint in bone.constraints:
        if is_limit(constraint):
            column.label(text=f"and by '{constraint.name}'", icon='CON_ROTLIMIT')
