# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tool Body Pose in the toolbar of Pose mode: a body's handles in the viewport, pulled with the mouse."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy
from bpy.types import WorkSpaceTool

from ..rig.body_properties import body_of
from .handle_gizmos import Handle, HandleGroup

if TYPE_CHECKING:
    from bpy.types import Context, Object, UILayout


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
        tool = context.workspace.tools.from_space_view3d_mode('POSE', create=False)
        armature = context.object
        return (
            tool is not None
            and tool.widget == cls.bl_idname
            and context.mode == 'POSE'
            and armature is not None
            and armature.library is None
            and armature.data.pose_position == 'POSE'
            and bool(body_of(armature).handles)
        )

    @classmethod
    def handles(cls, context: Context) -> list[Handle]:
        return body_handles(context.object)


def body_handles(armature: Object) -> list[Handle]:
    """READ: the handles of an armature's body; one whose bone is gone has none, the panel says so."""
    handles = []
    for one in body_of(armature).handles:
        bone = armature.pose.bones.get(one.bone)
        if bone is not None:
            place = armature.matrix_world @ (bone.tail if one.use_tail else bone.head)
            color = 'gizmo_primary' if one.use_pin or one.use_position else 'gizmo_secondary'
            shape = 'SQUARE' if one.use_pin else 'CIRCLE'
            is_pale = not (one.use_pin or one.use_position or one.use_rotation)
            options = {"bone": one.bone, "grab": 'BONE', "follows": 'BODY'}
            handles.append(Handle(place, shape, color, "pose.fabrik_drag", options, is_pale))
    return handles


class FabrikBodyPose(WorkSpaceTool):
    bl_space_type = 'VIEW_3D'
    bl_context_mode = 'POSE'
    bl_idname = "fabrik_ik.body_pose"
    bl_label = "Body Pose"
    bl_description = "Pull the handles of a body: the rest of the body follows, planted feet and pins stay"
    bl_icon = "ops.transform.bone_envelope"
    bl_widget = VIEW3D_GGT_fabrik_body.bl_idname
    bl_keymap = (
        ("view3d.select", {"type": 'LEFTMOUSE', "value": 'CLICK'}, {"properties": [("deselect_all", True)]}),
        ("view3d.select", {"type": 'LEFTMOUSE', "value": 'CLICK', "shift": True}, {"properties": [("toggle", True)]}),
    )

    # Blender calls it without an instance.
    def draw_settings(context: Context, layout: UILayout, _tool: object) -> None:  # type: ignore[misc]
        armature = context.object
        if armature is not None and not body_of(armature).parts:
            layout.operator("pose.fabrik_body_add")


_register_classes, _unregister_classes = bpy.utils.register_classes_factory((VIEW3D_GGT_fabrik_body,))  # type: ignore[misc]


def register() -> None:
    _register_classes()  # type: ignore[has-type]
    bpy.utils.register_tool(FabrikBodyPose, after={"builtin.transform"}, separator=True)


def unregister() -> None:
    bpy.utils.unregister_tool(FabrikBodyPose)
    _unregister_classes()  # type: ignore[has-type]
