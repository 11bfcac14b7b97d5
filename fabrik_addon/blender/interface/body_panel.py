# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sub-panels of a body: which bone is which part, how sure that is and how to correct it; what handles keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import bpy
from bpy.types import UIList

from ..rig.body_properties import body_of
from .chain_panel import SubPanel, characters_across, draw_switched, settings_column, wrapped
from .handle_operators import TOOL, is_tool_active

if TYPE_CHECKING:
    from bpy.types import Context, UILayout

    from ..rig.body_properties import FabrikPart


def _icon(part: FabrikPart) -> str:
    """Return the icon of a part: corrected, without a bone or with one that is gone, or found."""
    if not part.bone or part.bone not in part.id_data.pose.bones:
        return 'ERROR'
    return 'PINNED' if part.is_corrected else 'BONE_DATA'


class FABRIK_UL_parts(UIList):
    """Parts of a body with their bones and the confidence"""

    # Eight parameters, and Any: Blender calls draw_item with these, of types that depend on the list's properties.
    def draw_item(  # type: ignore[override]
        self,
        _context: Context,
        layout: UILayout,
        _body: Any,
        part: Any,
        _icon_value: Any,
        _active_data: Any,
        _active_property: Any,
    ) -> None:
        split = layout.split(factor=0.42)
        split.label(text=part.name, icon=_icon(part))
        split = split.split(factor=0.7)
        split.label(text=part.bone or "None")
        if part.bone:
            split.label(text=f"{100.0 * part.confidence:.0f} %")


class FABRIK_UL_handles(UIList):
    """Handles of a body with what they keep"""

    # Eight parameters, and Any: see FABRIK_UL_parts.
    def draw_item(  # type: ignore[override]
        self,
        _context: Context,
        layout: UILayout,
        _body: Any,
        handle: Any,
        _icon_value: Any,
        _active_data: Any,
        _active_property: Any,
    ) -> None:
        row = layout.row(align=True)
        row.label(text=handle.name, icon='NONE' if handle.bone in handle.id_data.pose.bones else 'ERROR')
        pin = 'PINNED' if handle.use_pin else 'UNPINNED'
        for name, icon in (("use_position", 'CON_LOCLIKE'), ("use_rotation", 'CON_ROTLIKE'), ("use_pin", pin)):
            switch = row.row(align=True)
            switch.active = getattr(handle, name)  # an icon without a button looks the same on and off
            switch.prop(handle, name, text="", emboss=False, icon=icon)


class VIEW3D_PT_fabrik_handles(SubPanel):
    bl_label = "Handles"

    @classmethod
    def poll(cls, context: Context) -> bool:
        return bool(body_of(context.object).handles)

    def draw(self, context: Context) -> None:
        layout = self.layout
        body = body_of(context.object)
        if context.mode == 'POSE' and not is_tool_active(context):
            row = layout.row()
            row.scale_y = 1.2
            # Blender gives this operator's button the tooltip of the tool.
            row.operator("wm.tool_set_by_id", text="Body Pose", icon='ARMATURE_DATA').name = TOOL
        layout.template_list("FABRIK_UL_handles", "", body, "handles", body, "active_handle", rows=4)
        column = settings_column(layout)
        column.prop(body, "use_balance")
        draw_switched(column, body, "use_floor", "floor_height", heading="Floor")
        if 0 <= body.active_handle < len(body.handles):
            handle = body.handles[body.active_handle]
            column.separator()
            column.prop_search(handle, "bone", context.object.pose, "bones", icon='BONE_DATA')
            column.prop(handle, "use_tail")
            column.prop(handle, "priority")
            column.prop(handle, "target")
            if handle.target is not None:
                row = layout.row(align=True)
                row.operator("pose.fabrik_body_follow")
                row.operator("pose.fabrik_body_bake", text="Bake Body...", icon='ACTION')


class VIEW3D_PT_fabrik_look_at(SubPanel):
    bl_label = "Look At"

    @classmethod
    def poll(cls, context: Context) -> bool:
        return bool(body_of(context.object).handles)

    def draw_header(self, context: Context) -> None:
        body = body_of(context.object)
        if body.use_look_at:  # switched on here it would look at the world's origin
            self.layout.prop(body, "use_look_at", text="")

    def draw(self, context: Context) -> None:
        layout = self.layout
        body = body_of(context.object)
        column = settings_column(layout)
        column.prop(body, "look_target", text="Object")
        if body.look_target is None:
            column.prop(body, "look_location", text="Location")
        column.prop(body, "use_eyes")
        row = layout.row(align=True)
        look = row.operator("pose.fabrik_body_look", icon='HIDE_OFF')
        if body.look_target is None and not body.use_look_at and body.is_property_set("look_location"):
            look.location = body.look_location  # else the button would look at the 3D cursor, not at the place above it
        row.operator("pose.fabrik_body_look_clear", text="", icon='X')
        if body.use_look_at:
            layout.operator("pose.fabrik_body_bake", text="Bake Body...", icon='ACTION')


class VIEW3D_PT_fabrik_skeleton(SubPanel):
    bl_label = "Skeleton"
    bl_options = {'DEFAULT_CLOSED'}

    @classmethod
    def poll(cls, context: Context) -> bool:
        return bool(body_of(context.object).parts)

    def draw(self, context: Context) -> None:
        layout = self.layout
        armature = context.object
        body = body_of(armature)
        layout.template_list("FABRIK_UL_parts", "", body, "parts", body, "active_part", rows=6)
        if 0 <= body.active_part < len(body.parts):
            part = body.parts[body.active_part]
            column = settings_column(layout)
            column.prop_search(part, "bone", armature.pose, "bones", icon='BONE_DATA')
            for line in wrapped(_doubt(part), characters_across(context)):
                column.label(text=line)
        row = layout.row(align=True)
        row.operator("pose.fabrik_body_find", icon='FILE_REFRESH')
        row.operator("pose.fabrik_body_remove", icon='X')


def _doubt(part: FabrikPart) -> str:
    """Return what is wrong with a part, with the way out; empty if nothing is."""
    if not part.bone:
        return f"{part.reason}: choose a bone" if part.reason else "Choose a bone"
    if part.bone not in part.id_data.pose.bones:
        return f"There is no bone '{part.bone}' any more: choose another one, or press Find Again"
    return ""


register, unregister = bpy.utils.register_classes_factory(
    (FABRIK_UL_parts, FABRIK_UL_handles, VIEW3D_PT_fabrik_handles, VIEW3D_PT_fabrik_look_at, VIEW3D_PT_fabrik_skeleton)
)  # type: ignore[misc]
