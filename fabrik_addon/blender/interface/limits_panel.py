# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The joint limits of a chain's bones in the sidebar: a line for each bone that opens to the settings of its axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..translation.messages import in_interface

if TYPE_CHECKING:
    from bpy.types import PoseBone, UILayout

MOST_OPEN_BONES = 6
"""Number of bones up to which all lines are open at first: more would push the panels below out of sight."""


_LOCK_SHARE = 0.2
"""Share of the lock in the row of an axis."""


def draw_limits(layout: UILayout, bones: Sequence[PoseBone]) -> None:
    """Draw the limits of each bone, root first."""
    for bone in bones:
        header, body = layout.panel(f"fabrik_limits_{bone.name}", default_closed=len(bones) > MOST_OPEN_BONES)
        row = header.row()
        row.label(text=bone.name)
        kind = row.row()
        kind.alignment = 'RIGHT'
        kind.label(text=in_interface(kind_of_joint(bone)))
        if body is not None:
            _draw_axes(body, bone)


def kind_of_joint(bone: PoseBone) -> str:
    """Return the kind of a bone's joint in words, from its IK settings and its Limit Rotation constraints."""
    from ..bones.bone_limits import limits_of

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
    """Draw lock and limits of a bone's axes, as in Blender's own Inverse Kinematics panel."""
    from ..bones.overrides import is_limit

    column = layout.column(align=True)
    for name in "xyz":
        # A third of the row, which the lock has without a split, leaves a narrow sidebar no room for the numbers.
        split = column.split(factor=_LOCK_SHARE, align=True)
        is_locked = getattr(bone, f"lock_ik_{name}")
        split.prop(bone, f"lock_ik_{name}", text=name.upper())
        limits = split.row(align=True)
        limits.active = not is_locked
        limits.prop(bone, f"use_ik_limit_{name}", text="", icon='CON_ROTLIMIT')
        ends = limits.row(align=True)
        ends.active = getattr(bone, f"use_ik_limit_{name}")
        ends.prop(bone, f"ik_min_{name}", text="")
        ends.prop(bone, f"ik_max_{name}", text="")
    for constraint in bone.constraints:
        if is_limit(constraint):
            column.label(text=in_interface(f"Limited by '{constraint.name}'"), icon='CON_ROTLIMIT')
