# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The operators on chains and bones: add and remove a chain, solve, snap targets, set joint limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy
from bpy.props import BoolProperty, EnumProperty, IntProperty
from bpy.types import Operator

from ..bake.key_targets import snap_frames
from ..rig.last_results import forget_result
from ..rig.properties import chosen_chains, settings_of
from ..setup.add_chain import add_chain
from ..setup.snap_targets import snap_targets
from ..setup.usual_limits import free_joint, limit_joint
from ..solving.solve_chains import solve_chains
from ..solving.write_channels import auto_key
from .frame_range_mixin import FrameRangeMixin
from .operator_mixins import HasChainsMixin, OnlyActiveMixin, PoseModeMixin, ReportErrorsMixin

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context


class POSE_OT_fabrik_chain_add(ReportErrorsMixin, Operator):
    """Make a chain that ends at the active bone"""

    bl_idname = "pose.fabrik_chain_add"
    bl_label = "Add Chain"
    bl_options = {'REGISTER', 'UNDO'}

    chain_count: IntProperty(
        name="Chain Length",
        description="How many bones turn, counted from the active bone up; 0 is all of them",
        default=2,
        min=0,
        soft_max=50,
    )
    create_target: BoolProperty(
        name="Create Target", description="Make an empty for the chain to reach, where it ends now", default=True
    )
    create_pole: BoolProperty(
        name="Create Pole", description="Make an empty for the chain to bend toward, where it bends now", default=False
    )

    @classmethod
    def poll(cls, context: Context) -> bool:
        if not super().poll(context):
            return False
        if context.active_pose_bone is None:
            cls.poll_message_set("Select the bone at the end of the chain")
            return False
        return True

    def run(self, context: Context) -> None:
        chain = add_chain(
            context.scene,
            context.view_layer,
            context.object,
            context.active_pose_bone,
            self.chain_count,
            create_target=self.create_target,
            create_pole=self.create_pole,
        )
        self.report({'INFO'}, f"Added chain '{chain.name}'")


class POSE_OT_fabrik_chain_remove(HasChainsMixin, Operator):
    """Remove the active chain; its target and pole stay"""

    bl_idname = "pose.fabrik_chain_remove"
    bl_label = "Remove Chain"
    bl_options = {'REGISTER', 'UNDO'}

    def run(self, context: Context) -> None:
        settings = settings_of(context.object)
        (chain,) = chosen_chains(context.object, only_active=True)
        forget_result(context.object, chain.name)
        settings.chains.remove(settings.active_index)
        settings.active_index = max(0, min(settings.active_index, len(settings.chains) - 1))


class POSE_OT_fabrik_solve(OnlyActiveMixin, Operator):
    """Pose the bones so that the chains reach their targets"""

    bl_idname = "pose.fabrik_solve"
    bl_label = "Solve"
    bl_options = {'REGISTER', 'UNDO'}

    def run(self, context: Context) -> None:
        armature = context.object
        results, changed = solve_chains(context.view_layer, armature, chosen_chains(armature, self.only_active))
        auto_key(context, changed)
        for name, result in results:
            if result.message:
                self.report({'WARNING'}, f"Chain '{name}': {result.message}")
            elif result.overridden:
                self.report({'WARNING'}, f"Chain '{name}': overridden on {', '.join(result.overridden)}")


class POSE_OT_fabrik_snap_target(FrameRangeMixin, OnlyActiveMixin, Operator):
    """Move targets and poles to where the chains are, so that solving changes nothing"""

    bl_idname = "pose.fabrik_snap_target"
    bl_label = "Snap Target to Pose"
    bl_options = {'REGISTER', 'UNDO'}

    use_range: BoolProperty(
        name="Frame Range", description="Key targets and poles over a range of frames instead of here", default=False
    )

    def draw(self, _context: Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.prop(self, "only_active")
        layout.prop(self, "use_range")
        if self.use_range:
            self.draw_range(layout)

    def run(self, context: Context) -> None:
        armature = context.object
        chains = chosen_chains(armature, self.only_active)
        if self.use_range:
            self.take_scene_range(context)
            (start, end), frames = self.span(), self.frames()
            for _ in snap_frames(context.scene, context.view_layer, armature, chains, frames, (start, end)):
                pass
            self.report({'INFO'}, f"Keyed targets and poles of {len(chains)} chains over {len(frames)} frames")
            return
        auto_key(context, snap_targets(context.view_layer, armature, chains))


class POSE_OT_fabrik_limits_set(PoseModeMixin, Operator):
    """Give the selected bones the limits of a usual joint; they are the ones of Blender's own IK"""

    bl_idname = "pose.fabrik_limits_set"
    bl_label = "Set Joint Limits"
    bl_options = {'REGISTER', 'UNDO'}

    joint: EnumProperty(
        name="Joint",
        description="Kind of joint at the head of each selected bone",
        items=(
            ('ELBOW', "Elbow", "Hinge, 150 degrees to the side to which it bends at rest"),
            ('KNEE', "Knee", "Hinge, 150 degrees to the side to which it bends at rest"),
            ('FINGER', "Finger", "Hinge, 110 degrees to the side to which it bends at rest"),
            ('SHOULDER', "Shoulder", "Ball, 90 degrees of swing and 70 of twist"),
            ('HIP', "Hip", "Ball, 75 degrees of swing and 40 of twist"),
            ('NECK', "Neck", "Cone, 40 degrees of swing and 60 of twist"),
            ('FREE', "Free", "No limits"),
        ),
        default='ELBOW',
    )

    @classmethod
    def poll(cls, context: Context) -> bool:
        if not super().poll(context):
            return False
        if not context.selected_pose_bones:
            cls.poll_message_set("Select the bones to limit")
            return False
        return True

    def execute(self, context: Context) -> set[OperatorReturnItems]:
        for bone in context.selected_pose_bones:
            if self.joint == 'FREE':
                free_joint(bone)
            else:
                limit_joint(bone, self.joint)
        return {'FINISHED'}


register, unregister = bpy.utils.register_classes_factory(  # type: ignore[misc]
    (
        POSE_OT_fabrik_chain_add,
        POSE_OT_fabrik_chain_remove,
        POSE_OT_fabrik_solve,
        POSE_OT_fabrik_snap_target,
        POSE_OT_fabrik_limits_set,
    )
)
