# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modal drag operator: it begins a session, passes events to ``drag.drag_events``, confirms or cancels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy
from bpy.props import EnumProperty, FloatVectorProperty, IntProperty
from bpy.types import KeyMap, KeyMapItem, Operator
from mathutils import Vector

from ...core import FabrikError
from ..drag.drag_display import DragDisplay
from ..drag.drag_events import DragEvents
from ..drag.drag_session import DragSession, Grab, chain_to_grab
from ..rig.properties import active_chain
from ..solving.write_channels import auto_key
from .operator_mixins import PoseModeMixin

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context, Event, Menu


class POSE_OT_fabrik_drag(PoseModeMixin, Operator):
    """Drag the end of a chain of bones, or the target of one that is set up, and the chain follows"""

    bl_idname = "pose.fabrik_drag"
    bl_label = "FABRIK Drag"
    # GRAB_CURSOR as in Blender's own transform: at a viewport's edge the pointer continues at the opposite edge.
    bl_options = {'REGISTER', 'UNDO', 'BLOCKING', 'GRAB_CURSOR'}

    grab: EnumProperty(
        name="Grab",
        description="What is dragged",
        items=(
            ('AUTO', "Automatic", "The target of a chain that ends at the active bone, else the bone's tail"),
            ('TIP', "Bone", "The tail of the active bone; the chain needs no set-up"),
            ('TARGET', "Target", "The target of the chain that is active in the list"),
        ),
        default='AUTO',
    )
    chain_count: IntProperty(
        name="Chain Length",
        description="How many bones follow when a bone is dragged, counted from the active one up; 0 is all of them",
        default=2,
        min=0,
        soft_max=50,
    )
    pins: EnumProperty(
        name="Other Ends",
        description="What the ends of the other chains do",
        items=(
            ('PINNED', "Pinned Hold", "The ends of chains that are pinned stay where they are"),
            ('ALL', "All Hold", "The ends of all other chains that are switched on stay where they are"),
            ('NONE', "Free", "They go where their bones take them"),
        ),
        default='PINNED',
    )
    position: FloatVectorProperty(
        name="Position",
        description="Where in the world the bone's tail, or the target, goes",
        subtype='TRANSLATION',
        options={'SKIP_SAVE'},
    )

    @classmethod
    def poll(cls, context: Context) -> bool:
        if not super().poll(context):
            return False
        if context.active_pose_bone is None and active_chain(context.object) is None:
            cls.poll_message_set("Select the bone to drag")
            return False
        return True

    def execute(self, context: Context) -> set[OperatorReturnItems]:
        try:
            session = self._begin(context)
            if self.properties.is_property_set("position"):
                session.move(context.view_layer, Vector(self.position))
        except FabrikError as error:
            self.report({'ERROR'}, str(error))
            return {'CANCELLED'}
        return self._confirm(context, session)

    def invoke(self, context: Context, event: Event) -> set[OperatorReturnItems]:
        if context.region_data is None or context.region is None:
            self.report({'ERROR'}, "Drag in a 3D viewport")
            return {'CANCELLED'}
        try:
            session = self._begin(context)
        except FabrikError as error:
            self.report({'ERROR'}, str(error))
            return {'CANCELLED'}
        self._events = DragEvents(context, event, session)
        self._display = DragDisplay(context, self._events)
        context.window_manager.modal_handler_add(self)
        return {'RUNNING_MODAL'}

    def modal(self, context: Context, event: Event) -> set[OperatorReturnItems]:
        session = self._events.session
        if self._display.is_undone or not session.is_intact():
            self.report({'WARNING'}, "The drag ended: what it dragged was undone or changed")
            self._display.end()
            return {'CANCELLED'}
        if context.region_data is None or session.armature.mode != 'POSE':
            return self._cancelled(context)
        try:
            result = self._events.handle(context, event)
        except FabrikError as error:
            self.report({'ERROR'}, str(error))
            return self._cancelled(context)
        except Exception:
            # After a defect Blender removes the operator: without this the display would stay for ever.
            self._cancelled(context)
            raise
        if result == 'CANCELLED':
            return self._cancelled(context)
        if result == 'FINISHED':
            self._display.end()
            return self._confirm(context, session)
        self._display.refresh(context)
        return {result}

    def cancel(self, _context: Context) -> None:
        """Restore everything; Blender calls this when a file is loaded or the window closes."""
        self._display.end()
        if self._events.session.is_intact():
            self._events.session.restore()

    def _begin(self, context: Context) -> DragSession:
        bone = context.active_pose_bone
        chain = chain_to_grab(context.object, bone.name) if self.grab == 'AUTO' and bone is not None else None
        if self.grab == 'TARGET' or bone is None:
            chain = active_chain(context.object)
            if chain is None:
                raise FabrikError(f"No chain of '{context.object.name}' is active: choose one in the list")
        if chain is not None:
            grab = Grab(chain.tip, chain.name)
        elif bone is not None:
            grab = Grab(bone.name)
        return DragSession(context.view_layer, context.object, grab, self.chain_count, self.pins)

    def _confirm(self, context: Context, session: DragSession) -> set[OperatorReturnItems]:
        self.grab = 'TARGET' if session.grab.chain else 'TIP'
        self.position, self.pins = session.position, session.pins
        if not session.grab.chain:
            self.chain_count = session.chain_count
        changed = session.confirm()
        auto_key(context, changed)
        if session.result is not None and session.result.message:
            self.report({'WARNING'}, f"'{session.grab.chain or session.grab.bone}': {session.result.message}")
        # CANCELLED makes no undo step: without a change there is nothing to undo.
        return {'FINISHED'} if changed else {'CANCELLED'}

    def _cancelled(self, context: Context) -> set[OperatorReturnItems]:
        self._display.end()
        self._events.session.cancel(context.view_layer)
        return {'CANCELLED'}


def _draw_in_menu(menu: Menu, _context: Context) -> None:
    menu.layout.separator()
    menu.layout.operator("pose.fabrik_drag", text="FABRIK Drag")


_keymap_items: list[tuple[KeyMap, KeyMapItem]] = []


def _list_in_preferences() -> None:
    """List the operator without a key in the preferences' keymap, where people can give it one."""
    configs = bpy.context.window_manager.keyconfigs.addon if bpy.context.window_manager is not None else None
    if configs is not None:  # background mode has none
        keymap = configs.keymaps.new("Pose", space_type='EMPTY')
        _keymap_items.append((keymap, keymap.keymap_items.new("pose.fabrik_drag", 'NONE', 'PRESS')))


def register() -> None:
    bpy.utils.register_class(POSE_OT_fabrik_drag)
    # The menu search finds entries of menus alone.
    bpy.types.VIEW3D_MT_pose_ik.append(_draw_in_menu)
    _list_in_preferences()


def unregister() -> None:
    for keymap, item in _keymap_items:
        keymap.keymap_items.remove(item)
    _keymap_items.clear()
    bpy.types.VIEW3D_MT_pose_ik.remove(_draw_in_menu)
    bpy.utils.unregister_class(POSE_OT_fabrik_drag)
