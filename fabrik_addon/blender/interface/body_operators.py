# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The operators on bodies: make, find again, remove, pull a handle."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatVectorProperty, StringProperty
from bpy.types import Operator
from mathutils import Quaternion, Vector

from ...core import FabrikError
from ..bodies.body_following import FOLLOWS_ITEMS
from ..rig.body_properties import body_of
from ..rig.wording import counted, listed
from ..translation.messages import report
from .frame_range_mixin import FrameRangeMixin
from .operator_mixins import ReportErrorsMixin, holds_or_says, key_changes

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context, Event

    from ..setup.make_body import MadeBody


class HasBodyMixin(ReportErrorsMixin):
    """Can be pressed with an armature that has a body."""

    @classmethod
    def poll(cls, context: Context) -> bool:
        return super().poll(context) and holds_or_says(
            cls, bool(body_of(context.object).parts), "Press Make Body first"
        )


class _RecogniseMixin:
    """Has the option to give limits, and reports what was found."""

    use_limits: BoolProperty(
        name="Joint Limits",
        description="Give the usual limits to bones that have none: elbows and knees bend to one side",
        default=True,
    )

    def report_made(self, made: MadeBody) -> None:
        """Report what was found, what was left open, and which bones can't be posed."""
        found = f"Found {counted(made.parts, 'part')} ({made.creature})"
        doubts = []
        if made.open_roles:
            doubts.append(f"choose bones for {listed(made.open_roles)} in the panel Skeleton")
        if made.overridden:
            doubts.append(f"not among them are bones that constraints or drivers move: {listed(made.overridden)}")
        if made.controls:
            doubts.append(f"the body is made of the controls {listed(made.controls)}")
        if made.off_hinges:
            doubts.append(
                "recalculate the roll of bones that bend more than 20° off their own X and Z axes: "
                f"{listed(made.off_hinges)}"
            )
        if made.others:
            firsts = listed([f"'{name}'" for name in made.others])
            doubts.append(
                f"other bodies begin at {firsts}: for one of them press Remove Body, select its bone, press Make Body"
            )
        report(self, {'WARNING'} if doubts else {'INFO'}, "; ".join([found, *doubts]))
        if made.switches:
            # By itself and last: of a longer message the status bar leaves the middle out.
            report(
                self,
                {'WARNING'},
                f"The rig follows the body's controls with IK_FK at 1: set it on {listed(made.switches)}",
            )
        if made.fault:
            report(self, {'WARNING'}, made.fault)


class POSE_OT_fabrik_body_add(_RecogniseMixin, ReportErrorsMixin, Operator):
    """Find which bone is which part of a body, and add handles by which the whole body is posed; no bone moves"""

    bl_idname = "pose.fabrik_body_add"
    bl_label = "Make Body"

    def run(self, context: Context) -> None:
        from ..setup.make_body import make_body

        if body_of(context.object).parts:
            raise FabrikError(f"'{context.object.name}' has a body already: press Find Again, or Remove Body first")
        self.report_made(make_body(context.object, self.use_limits))


class POSE_OT_fabrik_body_find(_RecogniseMixin, HasBodyMixin, Operator):
    """Find the parts of the body anew, and keep those that were corrected"""

    bl_idname = "pose.fabrik_body_find"
    bl_label = "Find Again"

    def run(self, context: Context) -> None:
        from ..setup.make_body import make_body

        self.report_made(make_body(context.object, self.use_limits))


class POSE_OT_fabrik_body_remove(HasBodyMixin, Operator):
    """Remove the body: its parts, its handles, and the joint limits that it has given"""

    bl_idname = "pose.fabrik_body_remove"
    bl_label = "Remove Body"

    def run(self, context: Context) -> None:
        from ..setup.make_body import remove_body

        remove_body(context.object)


class POSE_OT_fabrik_body_pull(HasBodyMixin, Operator):
    """Pose the body so that one of its handles is at a place"""

    bl_idname = "pose.fabrik_body_pull"
    bl_label = "Pull Body"

    handle: StringProperty(name="Handle", description="Name of the handle, or of its bone", options={'SKIP_SAVE'})
    position: FloatVectorProperty(
        name="Position",
        description="Where the handle is pulled, in the world; without it only the rotation is changed",
        subtype='TRANSLATION',
        options={'SKIP_SAVE'},
    )
    rotation: FloatVectorProperty(
        name="Rotation",
        description="Rotation of the handle's bone in the world, as a quaternion; without it the bone turns freely",
        size=4,
        subtype='QUATERNION',
        default=(1.0, 0.0, 0.0, 0.0),
        options={'SKIP_SAVE'},
    )

    follows: EnumProperty(name="Follows", description="What follows the handle", items=FOLLOWS_ITEMS, default='BODY')

    def invoke(self, context: Context, _event: Event) -> set[OperatorReturnItems]:
        """Begin at the place of the active bone's handle: the redo panel moves it from there."""
        from ..bodies.handles import find_handle, handle_place

        armature = context.object
        try:
            bone = context.active_pose_bone
            handle = find_handle(armature, self.handle or ("" if bone is None else bone.name))
            self.handle = handle.name
            self.position = armature.matrix_world @ handle_place(armature, handle)
        except FabrikError as error:
            report(self, {'ERROR'}, str(error))
            return {'CANCELLED'}
        return self.execute(context)

    def run(self, context: Context) -> None:
        from ..bodies.handles import Pull, find_handle, handle_bone, rotated_in_world
        from ..drag.mirrored_pull import other_side
        from ..rig.targets_and_poles import armature_to_world
        from ..setup.body_handles import keep_pulls
        from ..solving.solve_body import pull_body

        armature = context.object
        handle = find_handle(armature, self.handle)
        to_armature = armature_to_world(armature).inverted()
        position = rotation = None
        if self.properties.is_property_set("position"):
            if not math.isfinite(sum(self.position)):
                raise FabrikError("The position is not a finite number")
            position = to_armature @ Vector(self.position)
        if self.properties.is_property_set("rotation"):
            if not any(self.rotation):
                raise FabrikError("The rotation has no length")
            if not math.isfinite(sum(self.rotation)):
                raise FabrikError("The rotation is not a finite number")
            now = handle_bone(armature, handle).matrix
            since = Quaternion(self.rotation).normalized() @ (armature.matrix_world @ now).to_quaternion().conjugated()
            rotation = rotated_in_world(now.to_quaternion(), since, to_armature)
        if position is None and rotation is None:
            raise FabrikError(f"Handle '{handle.name}' is pulled nowhere: give a position or a rotation")
        own = Pull(handle.name, position, rotation)
        other = other_side(armature, handle_bone(armature, handle).name, handle.use_tail)
        pulls = (own,) if other is None else (own, other.pull(own))
        result, changed, slipped = pull_body(context.view_layer, armature, pulls, self.follows)
        keep_pulls(armature, pulls)
        key_changes(self, context, changed)
        if result is not None and result.message:
            report(self, {'WARNING'}, f"Handle '{handle.name}': {result.message}")
        if slipped:
            report(self, {'WARNING'}, slipped)


class POSE_OT_fabrik_body_follow(HasBodyMixin, Operator):
    """Bring the pinned handles of the body to the objects that they follow, and its gaze to what is looked at"""

    bl_idname = "pose.fabrik_body_follow"
    bl_label = "Follow Objects"

    def run(self, context: Context) -> None:
        from ..bodies.handles import following_objects
        from ..setup.body_look import look_at
        from ..solving.solve_body import pull_body

        armature = context.object
        if body_of(armature).use_look_at:
            _, result, changed, slipped = look_at(context.view_layer, armature)
        elif following_objects(armature):
            result, changed, slipped = pull_body(context.view_layer, armature, ())
        else:
            raise FabrikError("No pinned handle follows an object: choose one in the panel Handles")
        key_changes(self, context, changed)
        if result is not None and result.message:
            report(self, {'WARNING'}, f"A handle doesn't reach its object: {result.message}")
        if slipped:
            report(self, {'WARNING'}, slipped)


class POSE_OT_fabrik_body_bake(FrameRangeMixin, HasBodyMixin, Operator):
    """Bring the pinned handles of the body to the objects that they follow at every frame, and insert keyframes"""

    bl_idname = "pose.fabrik_body_bake"
    bl_label = "Bake Body"

    def run(self, context: Context) -> None:
        from ..bake.bake_body import bake_body
        from ..bake.bake_report import sentence_of_body

        work = self.frame_range(context)
        if sentence := sentence_of_body(bake_body(work), len(work.frames)):
            report(self, {'WARNING'}, sentence)
        else:
            report(self, {'INFO'}, f"Baked the body over {counted(len(work.frames), 'frame')}")


register, unregister = bpy.utils.register_classes_factory(  # type: ignore[misc]
    (
        POSE_OT_fabrik_body_add,
        POSE_OT_fabrik_body_find,
        POSE_OT_fabrik_body_remove,
        POSE_OT_fabrik_body_pull,
        POSE_OT_fabrik_body_follow,
        POSE_OT_fabrik_body_bake,
    )
)
