# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The operator that turns a handle of a body: by mouse and keys, or by a script and the redo panel."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import bpy
from bpy.props import EnumProperty, FloatProperty, FloatVectorProperty
from mathutils import Quaternion, Vector

from ...core import FabrikError
from ..bodies.body_following import FOLLOWS_ITEMS
from ..translation.messages import report
from .drag_operator import ModalDragOperator
from .handle_operators import OfHandleMixin, follows_in_tool
from .operator_mixins import key_changes

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context, Event

    from ..drag.body_turn import BodyTurn
    from ..drag.modal_events import ModalEvents

_REPORTED_ANGLE = 0.5
"""Angle from the desired rotation, in degrees, from which a warning says so."""


class POSE_OT_fabrik_body_turn(OfHandleMixin, ModalDragOperator):
    """Turn a handle of the body where it is, and the body follows"""

    bl_idname = "pose.fabrik_body_turn"
    bl_label = "Turn Handle"

    angle: FloatProperty(
        name="Angle", description="Angle by which the handle is turned", subtype='ANGLE', options={'SKIP_SAVE'}
    )
    axis: FloatVectorProperty(
        name="Axis",
        description="Axis about which the handle is turned, in the world",
        subtype='XYZ',
        default=(0.0, 0.0, 1.0),
        options={'SKIP_SAVE'},
    )
    follows: EnumProperty(name="Follows", description="What follows the handle", items=FOLLOWS_ITEMS, default='BODY')

    def invoke(self, context: Context, event: Event) -> set[OperatorReturnItems]:
        if self.at_mouse:
            if not self.takes_handle_at(context, event):
                return {'PASS_THROUGH'}
            self.follows = follows_in_tool(context)
        return ModalDragOperator.invoke(self, context, event)

    def run(self, context: Context) -> set[OperatorReturnItems]:
        axis = Vector(self.axis)
        if not math.isfinite(self.angle + sum(self.axis)):
            raise FabrikError("The rotation is not a finite number")
        if not axis.length > 0.0:
            raise FabrikError("The axis has no length")
        session = self._begin(context)
        session.turn(context.view_layer, Quaternion(axis.normalized(), self.angle))
        session.finish(context.view_layer)
        return self._confirm(context, session)

    def _begin(self, context: Context) -> BodyTurn:
        from ..drag.body_turn import BodyTurn

        return BodyTurn(context.view_layer, context.object, self.chosen_handle(context).name, self.follows)

    def _events_of(self, context: Context, event: Event, session: BodyTurn) -> ModalEvents:
        from ..drag.turn_events import TurnEvents

        return TurnEvents(context, event, session)

    def _confirm(self, context: Context, session: BodyTurn) -> set[OperatorReturnItems]:
        axis, self.angle = session.turned.to_axis_angle()
        self.axis = axis
        changed = session.confirm()
        key_changes(self, context, changed)
        left = math.degrees(session.angle_left)
        if left > _REPORTED_ANGLE:
            message = f"Handle '{self.handle}': limits, locks or held handles keep it {left:.1f}° from there"
            report(self, {'WARNING'}, message)
        if slipped := session.slipped(context.view_layer):
            report(self, {'WARNING'}, slipped)
        return {'FINISHED'} if changed else {'CANCELLED'}


register, unregister = bpy.utils.register_classes_factory((POSE_OT_fabrik_body_turn,))  # type: ignore[misc]
