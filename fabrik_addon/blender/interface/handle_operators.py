# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The operators on the handles of a body: select, pin, release, add, remove.

A key of the tool Body Pose means the handle under the mouse; a menu or a script means the handle with a name, or that
of the active bone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import bpy
from bpy.props import BoolProperty, EnumProperty, StringProperty
from bpy.types import Operator

from ...core import FabrikError
from ..rig.body_properties import body_of
from ..rig.library_items import require_own_item
from ..rig.property_updates import OWN_CONTEXT
from .body_operators import HasBodyMixin
from .handle_gizmos import can_show_handles, reach_in_pixels

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context, Event, SpaceView3D

    from ..rig.body_properties import FabrikHandle


TOOL = "fabrik_ik.body_pose"
"""``bl_idname`` of the tool Body Pose."""


def follows_in_tool(context: Context) -> str:
    """READ: what follows a handle according to the header of the tool Body Pose."""
    tool = context.workspace.tools.from_space_view3d_mode('POSE', create=False)
    return tool.operator_properties("pose.fabrik_drag").follows


def is_tool_active(context: Context) -> bool:
    """READ: whether Body Pose is the tool of Pose mode in this workspace."""
    tool = context.workspace.tools.from_space_view3d_mode('POSE', create=False)
    return tool is not None and tool.idname == TOOL


def handle_at(context: Context, event: Event) -> FabrikHandle | None:
    """READ: the handle of the active armature's body under the mouse, the nearest of several; None if none is shown."""
    from ..bodies.handles import handle_place
    from ..drag.view_projection import mouse_in, view_of

    if context.region is None or context.region_data is None or not can_show_handles(context):
        return None
    space = cast("SpaceView3D", context.space_data)
    if not (space.show_gizmo and space.show_gizmo_tool):
        return None
    armature = context.object
    view = view_of(context.region, context.region_data)
    mouse = mouse_in(context.region, event)
    distances = []
    for handle in body_of(armature).handles:
        if handle.bone in armature.pose.bones:
            pixel = view.pixel_of(armature.matrix_world @ handle_place(armature, handle))
            if pixel is not None:
                distances.append(((pixel - mouse).length, handle.name))
    distance, name = min(distances, default=(0.0, ""))
    return body_of(armature).handles[name] if name and distance <= reach_in_pixels(context) else None


class OfHandleMixin(HasBodyMixin):
    """Has the option to name a handle; a key means the handle under the mouse, and passes where there is none."""

    handle: StringProperty(
        name="Handle",
        description="Name of the handle, or of its bone; empty for the handle of the active bone",
        options={'SKIP_SAVE'},
    )
    at_mouse: BoolProperty(
        name="At Mouse", description="Use what is under the mouse", default=False, options={'HIDDEN', 'SKIP_SAVE'}
    )

    def invoke(self, context: Context, event: Event) -> set[OperatorReturnItems]:
        return {'PASS_THROUGH'} if self.at_mouse and not self.takes_handle_at(context, event) else self.execute(context)

    def takes_handle_at(self, context: Context, event: Event) -> bool:
        """Take the handle under the mouse; return whether there is one."""
        handle = handle_at(context, event)
        if handle is not None:
            self.handle = handle.name
        return handle is not None

    def chosen_handle(self, context: Context) -> FabrikHandle:
        """Return the handle that is meant.

        Raises:
            FabrikError: there is none.
        """
        from ..bodies.handles import find_handle

        active = context.active_pose_bone
        handle = find_handle(context.object, self.handle or ("" if active is None else active.name))
        self.handle = handle.name
        return handle


class POSE_OT_fabrik_handle_select(OfHandleMixin, Operator):
    """Select the bone of a handle of the body, and show the handle in the panel"""

    bl_idname = "pose.fabrik_handle_select"
    bl_label = "Select Handle"

    def run(self, context: Context) -> None:
        from ..bodies.handles import handle_bone
        from ..bones.bone_selection import select_and_show

        body, handle = body_of(context.object), self.chosen_handle(context)
        select_and_show(context.object, handle_bone(context.object, handle))
        body.active_handle = body.handles.find(handle.name)


class POSE_OT_fabrik_handle_pin(OfHandleMixin, Operator):
    """Pin a handle of the body, or unpin it: a pinned handle keeps place and rotation whatever is pulled"""

    bl_idname = "pose.fabrik_handle_pin"
    bl_label = "Pin Handle"

    action: EnumProperty(
        name="Action",
        description="What is done",
        items=(
            ('TOGGLE', "Toggle", "Pin the handle, or unpin it where it is pinned"),
            ('PIN', "Pin", "Pin the handle"),
            ('UNPIN', "Unpin", "Unpin the handle"),
        ),
        default='TOGGLE',
        options={'SKIP_SAVE'},
    )

    def run(self, context: Context) -> None:
        handle = self.chosen_handle(context)
        handle.use_pin = self.action == 'PIN' or (self.action == 'TOGGLE' and not handle.use_pin)
        self.action = 'PIN' if handle.use_pin else 'UNPIN'


class POSE_OT_fabrik_handle_release(OfHandleMixin, Operator):
    """Release a handle of the body: it keeps neither place nor rotation, and follows what is pulled"""

    bl_idname = "pose.fabrik_handle_release"
    bl_label = "Release Handle"

    def run(self, context: Context) -> None:
        handle = self.chosen_handle(context)
        handle.use_pin = handle.use_position = handle.use_rotation = False


class POSE_OT_fabrik_handle_remove(OfHandleMixin, Operator):
    """Remove a handle of the body; Find Again brings back those of the body's parts"""

    bl_idname = "pose.fabrik_handle_remove"
    bl_label = "Remove Handle"

    def run(self, context: Context) -> None:
        from ..rig.item_animation import animation_goes_along

        handles, name = body_of(context.object).handles, self.chosen_handle(context).name
        require_own_item(context.object, "fabrik.body.handles", name)
        index = handles.find(name)
        with animation_goes_along(context.object, "fabrik.body.handles", index):
            handles.remove(index)


class POSE_OT_fabrik_handle_add(HasBodyMixin, Operator):
    """Add a handle to the body at a bone"""

    bl_idname = "pose.fabrik_handle_add"
    bl_label = "Add Handle"

    bone: StringProperty(
        name="Bone", description="Bone that the handle moves; empty for the active bone", options={'SKIP_SAVE'}
    )
    use_tail: BoolProperty(
        name="Use Tail",
        translation_context=OWN_CONTEXT,
        description="The handle is at the bone's tail; otherwise at its head",
        default=True,
    )
    at_mouse: BoolProperty(
        name="At Mouse", description="Use what is under the mouse", default=False, options={'HIDDEN', 'SKIP_SAVE'}
    )

    def invoke(self, context: Context, event: Event) -> set[OperatorReturnItems]:
        """With a double click: at the end of the bone that is nearer to the mouse, unless there is a handle."""
        bone = context.active_pose_bone
        if self.at_mouse:
            # The first of the two clicks has selected the bone under the mouse, or deselected all.
            if bone is None or not bone.select or handle_at(context, event) is not None:
                return {'PASS_THROUGH'}
            self.bone = bone.name
            self.use_tail = _is_nearer_tail(context, event, bone.name)
        return self.execute(context)

    def run(self, context: Context) -> None:
        from ..setup.body_handles import add_handle

        active = context.active_pose_bone
        if not self.bone and active is None:
            raise FabrikError("Select the bone that gets a handle")
        self.bone = self.bone or active.name
        add_handle(context.object, self.bone, self.use_tail)


def _is_nearer_tail(context: Context, event: Event, name: str) -> bool:
    """READ: whether the mouse is nearer to a bone's tail than to its head, on the screen."""
    from ..drag.view_projection import mouse_in, view_of

    armature = context.object
    view = view_of(context.region, context.region_data)
    mouse = mouse_in(context.region, event)
    bone = armature.pose.bones[name]
    head, tail = (view.pixel_of(armature.matrix_world @ end) for end in (bone.head, bone.tail))
    return head is None or (tail is not None and (tail - mouse).length <= (head - mouse).length)


register, unregister = bpy.utils.register_classes_factory(  # type: ignore[misc]
    (
        POSE_OT_fabrik_handle_select,
        POSE_OT_fabrik_handle_pin,
        POSE_OT_fabrik_handle_release,
        POSE_OT_fabrik_handle_remove,
        POSE_OT_fabrik_handle_add,
    )
)
