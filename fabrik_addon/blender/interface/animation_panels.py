# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sub-panels for animation and for Blender's own IK."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy

from ..rig.properties import settings_of
from .chain_panel import SubPanel

if TYPE_CHECKING:
    from bpy.types import Context


class VIEW3D_PT_fabrik_bake(SubPanel):
    bl_label = "Animation"
    bl_options = {'DEFAULT_CLOSED'}

    @classmethod
    def poll(cls, context: Context) -> bool:
        return bool(settings_of(context.object).chains)

    def draw(self, _context: Context) -> None:
        column = self.layout.column(align=True)
        column.operator("pose.fabrik_bake", text="Bake Chains...", icon='ACTION').only_active = False
        column.operator("pose.fabrik_key_targets", text="Key Targets from Pose...").only_active = False


class VIEW3D_PT_fabrik_convert(SubPanel):
    bl_label = "IK Constraints"
    bl_options = {'DEFAULT_CLOSED'}

    @classmethod
    def poll(cls, context: Context) -> bool:
        return context.object.type == 'ARMATURE'

    def draw(self, _context: Context) -> None:
        column = self.layout.column(align=True)
        column.operator("pose.fabrik_constraints_to_chains", icon='CON_KINEMATIC')
        column.operator("pose.fabrik_chains_to_constraints").only_active = False


register, unregister = bpy.utils.register_classes_factory((VIEW3D_PT_fabrik_bake, VIEW3D_PT_fabrik_convert))  # type: ignore[misc]
