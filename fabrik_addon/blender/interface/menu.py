# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The menu Pose > Inverse Kinematics > FABRIK IK: Blender's menu search finds entries of menus alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy
from bpy.types import Menu

from .body_tool import VIEW3D_MT_fabrik_handle

if TYPE_CHECKING:
    from bpy.types import Context


class VIEW3D_MT_fabrik(Menu):
    bl_label = "FABRIK IK"

    def draw(self, _context: Context) -> None:
        layout = self.layout
        layout.operator("pose.fabrik_drag")
        layout.operator("pose.fabrik_drag_target")
        layout.separator()
        layout.operator("pose.fabrik_body_add", icon='ARMATURE_DATA')
        layout.menu(VIEW3D_MT_fabrik_handle.__name__)
        layout.operator("pose.fabrik_body_look", icon='HIDE_OFF')
        layout.operator("pose.fabrik_body_look_clear")
        layout.operator("pose.fabrik_body_find")
        layout.operator("pose.fabrik_body_remove", icon='X')
        layout.separator()
        layout.operator("pose.fabrik_chain_add", icon='ADD').use_selected = True
        layout.operator("pose.fabrik_chain_remove", icon='REMOVE')
        layout.operator("pose.fabrik_target_add")
        layout.operator("pose.fabrik_pole_add")
        layout.operator("pose.fabrik_solve", icon='CON_KINEMATIC').only_active = False
        layout.operator("pose.fabrik_snap_target").only_active = False
        layout.operator_menu_enum("pose.fabrik_limits_set", "joint")
        layout.operator("pose.fabrik_compare")
        layout.separator()
        layout.operator("pose.fabrik_bake", text="Bake Chains...", icon='ACTION')
        layout.operator("pose.fabrik_key_targets", text="Key Targets from Pose...")
        layout.separator()
        layout.operator("pose.fabrik_constraints_to_chains")
        layout.operator("pose.fabrik_chains_to_constraints")
        layout.separator()
        layout.operator("pose.fabrik_rig_add", icon='GEOMETRY_NODES')
        layout.operator("pose.fabrik_rig_remove", icon='X')


def _draw_in_menu(menu: Menu, _context: Context) -> None:
    menu.layout.separator()
    menu.layout.menu(VIEW3D_MT_fabrik.__name__)


def register() -> None:
    bpy.utils.register_class(VIEW3D_MT_fabrik)
    bpy.types.VIEW3D_MT_pose_ik.append(_draw_in_menu)


def unregister() -> None:
    bpy.types.VIEW3D_MT_pose_ik.remove(_draw_in_menu)
    bpy.utils.unregister_class(VIEW3D_MT_fabrik)
