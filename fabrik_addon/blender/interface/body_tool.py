# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tool Body Pose in the toolbar of Pose mode: a body's handles in the viewport, pulled with the mouse."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import bpy
from bpy.types import Menu, WorkSpaceTool

from ..rig.body_properties import body_of
from .handle_gizmos import Handle, HandleColor, HandleGroup, can_show_handles
from .handle_operators import TOOL, follows_in_tool, is_tool_active

if TYPE_CHECKING:
    from bpy.types import Context, KeyConfig, KeyMap, Object, UILayout


_BEND_ROLES = {'FOREARM', 'SHIN'}
"""Roles whose handles, at their heads, are those of elbows and knees."""

_AT_MOUSE = {"properties": [("at_mouse", True)]}

_ICON = str(Path(__file__).resolve().parents[2] / "icons/body_pose")
"""Blender adds the ending .dat."""


class VIEW3D_GGT_fabrik_body(HandleGroup):
    """Handles of the active armature's body"""

    bl_idname = "VIEW3D_GGT_fabrik_body"
    bl_label = "FABRIK IK Body"
    # Not PERSISTENT: Blender links the group to the viewports when the tool becomes active.
    bl_options = {'3D', 'SHOW_MODAL_ALL'}

    @classmethod
    def poll(cls, context: Context) -> bool:
        # Blender unlinks the group when another tool is chosen, but not when a file with another active tool is opened:
        # there the handles would be shown, and take the mouse, beside that tool.
        return is_tool_active(context) and can_show_handles(context) and bool(body_of(context.object).handles)

    # Blender's own keymap for gizmos would also begin a drag with Ctrl. A click is the tool's: it selects.
    @classmethod
    def setup_keymap(cls, keyconfig: KeyConfig) -> KeyMap:
        keymap = keyconfig.keymaps.new(cls.bl_idname, space_type='EMPTY')
        keymap.keymap_items.new("gizmogroup.gizmo_tweak", 'LEFTMOUSE', 'CLICK_DRAG')
        return keymap

    @classmethod
    def handles(cls, context: Context) -> list[Handle]:
        return [*balance_mark(context.object), *body_handles(context.object, follows_in_tool(context))]


def body_handles(armature: Object, follows: str = 'BODY') -> list[Handle]:
    """READ: the handles of an armature's body; one whose bone is gone has none, the panel says so.

    A pinned handle is a square; one that keeps its place has a larger dot; one at an elbow or a knee is pale until it
    is used.
    """
    body = body_of(armature)
    bends = {part.name for part in body.parts if part.role in _BEND_ROLES}
    handles = []
    for one in body.handles:
        bone = armature.pose.bones.get(one.bone)
        if bone is None:
            continue
        is_held = one.use_pin or one.use_position
        handles.append(
            Handle(
                armature.matrix_world @ (bone.tail if one.use_tail else bone.head),
                'SQUARE' if one.use_pin else 'CIRCLE',
                'gizmo_primary' if one.use_pin else 'gizmo_secondary',
                "pose.fabrik_drag",
                {"handle": one.name, "follows": follows},
                is_held,
                is_pale=one.part in bends and not (one.use_tail or is_held or one.use_rotation),
            )
        )
    return handles


def balance_mark(armature: Object) -> list[Handle]:
    """READ: the mark below the center of mass of a body with balance, in another colour beside the planted feet."""
    from ..bodies.body_balance import center_over_floor

    center = center_over_floor(armature) if body_of(armature).use_balance else None
    if center is None:
        return []
    color: HandleColor = 'axis_x' if center.outside > 0.0 else 'axis_y'
    return [Handle(armature.matrix_world @ center.on_floor, 'MARK', color)]


class VIEW3D_MT_fabrik_handle(Menu):
    bl_label = "Handle"

    def draw(self, _context: Context) -> None:
        layout = self.layout
        layout.operator("pose.fabrik_body_pull")
        layout.operator("pose.fabrik_body_turn")
        layout.separator()
        layout.operator("pose.fabrik_handle_select", icon='RESTRICT_SELECT_OFF')
        layout.operator("pose.fabrik_handle_pin", icon='PINNED')
        layout.operator("pose.fabrik_handle_release", icon='UNPINNED')
        layout.operator("pose.fabrik_body_follow")
        layout.operator("pose.fabrik_body_bake", text="Bake Body...", icon='ACTION')
        layout.separator()
        layout.operator("pose.fabrik_body_look", icon='HIDE_OFF')
        layout.operator("pose.fabrik_body_look_clear")
        layout.separator()
        layout.operator("pose.fabrik_handle_add", icon='ADD')
        layout.operator("pose.fabrik_handle_remove", icon='REMOVE')


class FabrikBodyPose(WorkSpaceTool):
    bl_space_type = 'VIEW_3D'
    bl_context_mode = 'POSE'
    bl_idname = TOOL
    bl_label = "Body Pose"
    bl_description = (
        "Pull the handles of a body: the rest of the body follows, planted feet and pins stay. "
        "R turns a handle, Ctrl click pins it, Alt click releases it; a double click on a bone adds a handle"
    )
    bl_icon = _ICON
    bl_widget = VIEW3D_GGT_fabrik_body.bl_idname
    # Beside the handles the mouse is that of the tool chosen as Drag in the header, Select Box at first. Without it a
    # drag that misses a handle would move the selected bones, as Blender's keymap of Pose mode has it.
    bl_options = {'KEYMAP_FALLBACK'}
    bl_keymap = (
        ("pose.fabrik_handle_pin", {"type": 'LEFTMOUSE', "value": 'PRESS', "ctrl": True}, _AT_MOUSE),
        ("pose.fabrik_handle_release", {"type": 'LEFTMOUSE', "value": 'PRESS', "alt": True}, _AT_MOUSE),
        ("pose.fabrik_body_turn", {"type": 'R', "value": 'PRESS'}, _AT_MOUSE),
        ("pose.fabrik_handle_add", {"type": 'LEFTMOUSE', "value": 'DOUBLE_CLICK'}, _AT_MOUSE),
        ("view3d.select", {"type": 'LEFTMOUSE', "value": 'CLICK'}, {"properties": [("deselect_all", True)]}),
        ("view3d.select", {"type": 'LEFTMOUSE', "value": 'CLICK', "shift": True}, {"properties": [("toggle", True)]}),
        # After the selection of bones: Blender asks the items of an extension from the last to the first.
        ("pose.fabrik_handle_select", {"type": 'LEFTMOUSE', "value": 'CLICK'}, _AT_MOUSE),
    )

    # Blender calls it without an instance.
    def draw_settings(context: Context, layout: UILayout, tool: WorkSpaceTool) -> None:  # type: ignore[misc]
        armature = context.object
        if armature is None or armature.type != 'ARMATURE':
            return
        if armature.library is not None:
            layout.label(text="The armature is linked: make a library override first", icon='LIBRARY_DATA_DIRECT')
            return
        body = body_of(armature)
        if not body.parts:
            layout.operator("pose.fabrik_body_add", icon='ARMATURE_DATA')
            return
        layout.menu(VIEW3D_MT_fabrik_handle.__name__)
        layout.prop(tool.operator_properties("pose.fabrik_drag"), "follows", text="")
        layout.prop(body, "use_floor")
        if body.use_floor:
            layout.prop(body, "floor_height")
        layout.prop(body, "use_balance")
        if body.use_look_at:
            layout.prop(body, "use_look_at")
        else:
            layout.operator("pose.fabrik_body_look", icon='HIDE_OFF')


_register_classes, _unregister_classes = bpy.utils.register_classes_factory(
    (VIEW3D_GGT_fabrik_body, VIEW3D_MT_fabrik_handle)
)  # type: ignore[misc]


def register() -> None:
    _register_classes()  # type: ignore[has-type]
    bpy.utils.register_tool(FabrikBodyPose, after={"builtin.transform"}, separator=True)


def unregister() -> None:
    bpy.utils.unregister_tool(FabrikBodyPose)
    _unregister_classes()  # type: ignore[has-type]
