# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The operators by which the head of a body looks at something."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import bpy
from bpy.props import BoolProperty, FloatVectorProperty, StringProperty
from bpy.types import Operator

from ...core import FabrikError
from ..rig.body_properties import body_of
from ..translation.messages import report
from .body_operators import HasBodyMixin
from .operator_mixins import holds_or_says, key_changes

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context, Event

    from ..rig.body_properties import FabrikBody

_UNREPORTED = math.radians(1.0)
"""Angle between gaze and point up to which no message names it."""


class POSE_OT_fabrik_body_look(HasBodyMixin, Operator):
    """Turn head and eyes of the body to an object or a place, and chest and spine along with them"""

    bl_idname = "pose.fabrik_body_look"
    bl_label = "Look At"

    target: StringProperty(
        name="Object",
        description="Name of the object at whose origin the head looks; empty for the location, or for what it looks "
        "at already",
        options={'SKIP_SAVE'},
    )
    location: FloatVectorProperty(
        name="Location",
        description="Place in the world at which the head looks where there is no object",
        subtype='TRANSLATION',
        options={'SKIP_SAVE'},
    )
    use_eyes: BoolProperty(
        name="Eyes",
        description="Turn the bones of the eyes to what is looked at too",
        default=True,
        options={'SKIP_SAVE'},
    )

    def invoke(self, context: Context, _event: Event) -> set[OperatorReturnItems]:
        """Look at the other selected object, or at what is looked at already, or else at the 3D cursor."""
        armature = context.object
        body = body_of(armature)
        others = [obj for obj in context.selected_objects if obj != armature]
        is_given = self.properties.is_property_set
        if not (is_given("target") or is_given("location")):
            if len(others) == 1:
                self.target = others[0].name
            elif not (body.use_look_at or body.look_target):
                self.location = context.scene.cursor.location
        if not is_given("use_eyes"):
            self.use_eyes = body.use_eyes
        return self.execute(context)

    def draw(self, context: Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.prop_search(self, "target", context.scene, "objects")
        column = layout.column()
        column.active = not self.target
        column.prop(self, "location")
        layout.prop(self, "use_eyes")

    def run(self, context: Context) -> None:
        from ..bodies.body_look_at import head_holder
        from ..setup.body_look import look_at

        armature = context.object
        target = context.scene.objects.get(self.target)
        if self.target and target is None:
            raise FabrikError(f"There is no object '{self.target}' in the scene")
        has_location = self.properties.is_property_set("location")
        body = body_of(armature)
        if target is None and not (has_location or body.use_look_at or body.look_target):
            raise FabrikError("There is nothing to look at: choose an object, or give a location")

        def choose(body: FabrikBody) -> None:
            if target is not None or has_location:
                body.look_target = target
            if target is None and has_location:
                body.look_location = self.location
            body.use_look_at, body.use_eyes = True, self.use_eyes

        left, _, changed, _ = look_at(context.view_layer, armature, choose)
        key_changes(self, context, changed)
        if left > _UNREPORTED:
            away = f"{math.degrees(left):.0f}"
            report(self, {'WARNING'}, f"The gaze stays {away} degrees away: {head_holder(armature)}")


class POSE_OT_fabrik_body_look_clear(HasBodyMixin, Operator):
    """Let the head of the body look at nothing; no bone moves"""

    bl_idname = "pose.fabrik_body_look_clear"
    bl_label = "Clear Look At"

    @classmethod
    def poll(cls, context: Context) -> bool:
        return super().poll(context) and holds_or_says(
            cls, body_of(context.object).use_look_at, "The head looks at nothing"
        )

    def run(self, context: Context) -> None:
        from ..setup.body_look import look_nowhere

        look_nowhere(context.object)


register, unregister = bpy.utils.register_classes_factory(  # type: ignore[misc]
    (POSE_OT_fabrik_body_look, POSE_OT_fabrik_body_look_clear)
)
