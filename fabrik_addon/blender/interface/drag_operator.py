# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modal drag operators: they begin a session, pass events to ``drag.drag_events``, confirm or cancel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import EnumProperty, FloatVectorProperty, IntProperty, StringProperty
from bpy.types import KeyMap, KeyMapItem, Operator
from mathutils import Vector

from ...core import FabrikError
from ..bodies.body_following import FOLLOWS_ITEMS
from ..rig.body_properties import body_of
from ..rig.properties import active_chain, chosen_chains, settings_of
from ..translation.messages import in_interface, report
from .operator_mixins import ReportErrorsMixin, holds_or_says, key_changes

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context, Event, Object, OperatorProperties

    from ..drag.base_drag import BaseDrag, Grab
    from ..drag.modal_events import ModalEvents


class ModalDragOperator(ReportErrorsMixin, Operator):
    """Runs a session by mouse and keys: invoke, modal, cancel."""

    # GRAB_CURSOR as in Blender's own transform: at a viewport's edge the pointer continues at the opposite edge.
    bl_options = {'REGISTER', 'UNDO', 'BLOCKING', 'GRAB_CURSOR'}

    def invoke(self, context: Context, event: Event) -> set[OperatorReturnItems]:
        from ..drag.drag_display import DragDisplay

        if context.region_data is None or context.region is None:
            report(self, {'ERROR'}, "Drag in a 3D viewport")
            return {'CANCELLED'}
        try:
            session = self._begin(context)
        except FabrikError as error:
            report(self, {'ERROR'}, str(error))
            return {'CANCELLED'}
        self._events = self._events_of(context, event, session)
        self._display = DragDisplay(context, self._events)
        context.window_manager.modal_handler_add(self)
        return {'RUNNING_MODAL'}

    def modal(self, context: Context, event: Event) -> set[OperatorReturnItems]:
        session = self._events.session
        if self._display.is_undone or not session.is_intact():
            report(self, {'WARNING'}, "The drag ended: its bones were undone or changed")
            self._display.end()
            return {'CANCELLED'}
        if context.region_data is None or session.armature.mode != 'POSE':
            return self._cancelled(context)
        try:
            result = self._events.handle(context, event)
        except FabrikError as error:
            report(self, {'ERROR'}, str(error))
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

    def _begin(self, context: Context) -> BaseDrag:
        """Begin a session.

        Raises:
            FabrikError: the bone or the target can't be dragged.
        """
        raise NotImplementedError

    def _events_of(self, context: Context, event: Event, session: Any) -> ModalEvents:
        """Return the handler of events for a session; ``Any``, because it is of the type that ``_begin`` returns."""
        raise NotImplementedError

    def _confirm(self, context: Context, session: Any) -> set[OperatorReturnItems]:
        """End the session: keep its values for the redo panel, key what changed, report."""
        raise NotImplementedError

    def _cancelled(self, context: Context) -> set[OperatorReturnItems]:
        self._display.end()
        self._events.session.cancel(context.view_layer)
        return {'CANCELLED'}


class _DragOperator(ModalDragOperator):
    """Drags a point and solves its chain: by mouse and keys, or by a script and the redo panel to ``position``."""

    pins: EnumProperty(
        name="Held Ends",
        description="Which other chains' ends are held in place",
        items=(
            ('PINNED', "Pinned", "The ends of pinned chains are held in place"),
            ('ALL', "All", "The ends of all other enabled chains are held in place"),
            ('NONE', "None", "The ends of other chains move with their bones"),
        ),
        default='PINNED',
    )
    position: FloatVectorProperty(
        name="Position",
        description="Position of the dragged tail, head or target, in world space",
        subtype='TRANSLATION',
        options={'SKIP_SAVE'},
    )
    chain: StringProperty(
        name="Chain",
        description="Name of the chain whose target or pole is dragged; empty for the active chain",
        options={'SKIP_SAVE'},
    )

    def run(self, context: Context) -> set[OperatorReturnItems]:
        session = self._begin(context)
        if self.properties.is_property_set("position"):
            session.move(context.view_layer, Vector(self.position))
            session.finish(context.view_layer)
        return self._confirm(context, session)

    def _events_of(self, context: Context, event: Event, session: BaseDrag) -> ModalEvents:
        from ..drag.drag_events import DragEvents

        return DragEvents(context, event, session)

    def _grab_of_chain(self, armature: Object, is_pole: bool = False) -> Grab:
        """Return the target or pole of the chain that is meant.

        Raises:
            FabrikError: there is no such chain.
        """
        from ..drag.base_drag import Grab

        if not self.chain:
            (chain,) = chosen_chains(armature, only_active=True)
        elif self.chain in settings_of(armature).chains:
            chain = settings_of(armature).chains[self.chain]
        else:
            raise FabrikError(f"'{armature.name}' has no chain '{self.chain}'")
        return Grab(chain.tip, chain.name, is_pole=is_pole)

    def _confirm(self, context: Context, session: BaseDrag) -> set[OperatorReturnItems]:
        self.position, self.pins = session.position, session.pins
        changed = session.confirm()
        key_changes(self, context, changed)
        if session.result is not None and session.result.message:
            report(self, {'WARNING'}, f"'{session.grab.chain or session.grab.bone}': {session.result.message}")
        if session.left_behind:
            report(self, {'WARNING'}, f"The target stays behind: {session.left_behind}")
        if slipped := session.slipped(context.view_layer):
            report(self, {'WARNING'}, slipped)
        # CANCELLED makes no undo step: without a change there is nothing to undo.
        return {'FINISHED'} if changed else {'CANCELLED'}


class POSE_OT_fabrik_drag(_DragOperator):
    """Drag the active bone and rotate its limb; a hand or foot, dragged by wrist or ankle, keeps its direction"""

    bl_idname = "pose.fabrik_drag"
    bl_label = "Drag Bone"

    grab: EnumProperty(
        name="Grab",
        description="Point that is dragged",
        items=(
            ('AUTO', "Automatic", "The target of a chain that ends at the active bone, otherwise the bone"),
            ('BONE', "Bone", "A free control by its location, a hand or foot by its head, any other bone by its tail"),
            ('TIP', "Tail", "The tail of the active bone"),
            ('HEAD', "Head", "The head of the active bone, which keeps its direction in space"),
            ('MOVE', "Location", "The location of the active bone; no bone rotates"),
            ('TARGET', "Target", "The target of the active chain"),
        ),
        default='AUTO',
        # What was dragged is noted here for the redo panel: remembered, the next drag would be of its kind.
        options={'SKIP_SAVE'},
    )
    chain_count: IntProperty(
        name="Chain Length",
        description="How many bones rotate when a bone is dragged, counted from the active bone up, or from its parent "
        "up if its head is dragged; 0 uses all bones. Unless it is given, those of the bone's limb rotate",
        default=2,
        min=0,
        soft_max=50,
        options={'SKIP_SAVE'},
    )

    bone: StringProperty(
        name="Bone",
        description="Name of the bone that is dragged; empty for the active bone",
        options={'SKIP_SAVE'},
    )
    handle: StringProperty(
        name="Handle",
        description="Name of the handle of a body that is dragged; empty for the bone",
        options={'SKIP_SAVE'},
    )
    follows: EnumProperty(
        name="Follows",
        description="What follows the bone where the armature has a body",
        items=FOLLOWS_ITEMS,
        default='BODY',
    )

    @classmethod
    def poll(cls, context: Context) -> bool:
        if not super().poll(context):
            return False
        has_point = context.active_pose_bone is not None or active_chain(context.object) is not None
        return holds_or_says(cls, has_point or bool(body_of(context.object).parts), "Select the bone to drag")

    @classmethod
    def description(cls, _context: Context, properties: OperatorProperties) -> str:
        """Return the tooltip of a handle; without a handle, the class's."""
        name = properties.handle
        return in_interface(_tooltip(name)) if name else ""

    def draw(self, context: Context) -> None:
        """Draw the redo panel: what has an effect on what was dragged."""
        layout = self.layout
        layout.use_property_split = True
        layout.prop(self, "position")
        if self.handle:
            layout.prop(self, "follows")
            return
        layout.prop(self, "grab")
        if self.grab == 'BONE' and body_of(context.object).parts:
            layout.prop(self, "follows")
            return
        if self.grab != 'MOVE':
            if self.grab != 'TARGET':
                layout.prop(self, "chain_count")
            layout.prop(self, "pins")

    def _begin(self, context: Context) -> BaseDrag:
        from ..bodies.handles import find_handle
        from ..drag.begin_drag import begin_drag
        from ..drag.body_drag import BodyDrag
        from ..drag.chain_drag import ChainDrag

        armature, active = context.object, context.active_pose_bone
        if self.handle:
            handle = find_handle(armature, self.handle)
            return BodyDrag(context.view_layer, armature, handle.name, self.pins, self.follows)
        name = self.bone or (active.name if active is not None else "")
        if not name and self.grab != 'TARGET' and active_chain(armature) is None:
            raise FabrikError("Select the bone to drag")
        if self.grab == 'TARGET' or not name:
            return ChainDrag(context.view_layer, armature, self._grab_of_chain(armature), pins=self.pins)
        if name not in armature.pose.bones:
            raise FabrikError(f"There is no bone '{name}' in '{armature.name}'")
        count = self.chain_count if self.properties.is_property_set("chain_count") else None
        return begin_drag(context.view_layer, armature, name, self.grab, count, self.pins, self.follows)

    def _confirm(self, context: Context, session: BaseDrag) -> set[OperatorReturnItems]:
        from ..drag.body_drag import BodyDrag

        bone, grab = context.active_pose_bone, session.grab
        if grab.chain:
            self.grab, self.chain = 'TARGET', grab.chain
        elif isinstance(session, BodyDrag):
            self.grab, self.follows = 'BONE', session.follows
        elif session.snapshot is None:
            self.grab = 'MOVE'
        else:
            self.grab = 'TIP' if grab.use_tail else 'HEAD'
            self.chain_count = session.chain_count
        if bone is not None and not (grab.chain or self.bone or self.handle) and grab.bone != bone.name:
            report(self, {'INFO'}, f"Dragged '{grab.bone}', which '{bone.name}' follows")
        return super()._confirm(context, session)


class POSE_OT_fabrik_drag_target(_DragOperator):
    """Drag the target or the pole of a chain and solve the chain"""

    bl_idname = "pose.fabrik_drag_target"
    bl_label = "Drag Target"

    point: EnumProperty(
        name="Point",
        description="What of the chain is dragged",
        items=(
            ('TARGET', "Target", "The chain's target"),
            ('POLE', "Pole", "The chain's pole"),
        ),
        default='TARGET',
        options={'SKIP_SAVE'},
    )

    @classmethod
    def poll(cls, context: Context) -> bool:
        return super().poll(context) and holds_or_says(
            cls, active_chain(context.object) is not None, "Add a chain first"
        )

    def _begin(self, context: Context) -> BaseDrag:
        from ..drag.chain_drag import ChainDrag

        grab = self._grab_of_chain(context.object, is_pole=self.point == 'POLE')
        return ChainDrag(context.view_layer, context.object, grab, pins=self.pins)


def _tooltip(handle: str) -> str:
    return f"Pull '{handle}': the body follows. R turns it, Ctrl click pins it, Alt click releases it"


_keymap_items: list[tuple[KeyMap, KeyMapItem]] = []


def _list_in_preferences() -> None:
    """List the operator without a key in the preferences' keymap, where people can give it one."""
    configs = bpy.context.window_manager.keyconfigs.addon if bpy.context.window_manager is not None else None
    if configs is not None:  # background mode has none
        keymap = configs.keymaps.new("Pose", space_type='EMPTY')
        _keymap_items.append((keymap, keymap.keymap_items.new("pose.fabrik_drag", 'NONE', 'PRESS')))


_register_classes, _unregister_classes = bpy.utils.register_classes_factory(  # type: ignore[misc]
    (POSE_OT_fabrik_drag, POSE_OT_fabrik_drag_target)
)


def register() -> None:
    _register_classes()  # type: ignore[has-type]
    _list_in_preferences()


def unregister() -> None:
    for keymap, item in _keymap_items:
        keymap.keymap_items.remove(item)
    _keymap_items.clear()
    _unregister_classes()  # type: ignore[has-type]
