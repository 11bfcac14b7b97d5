# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The operators on chains and bones: add and remove a chain, solve, snap and key targets, set joint limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy
from bpy.props import BoolProperty, EnumProperty, IntProperty
from bpy.types import Operator

from ...core import FabrikError
from ..rig.library_items import require_own_item
from ..rig.properties import chosen_chains, settings_of, shown_armature
from ..rig.wording import counted
from ..translation.messages import in_interface, report
from .frame_range_mixin import FrameRangeMixin
from .operator_mixins import (
    AsBonesMixin,
    GoalOrPoseModeMixin,
    HasChainsMixin,
    OnlyActiveMixin,
    PoseModeMixin,
    ReportErrorsMixin,
    holds_or_says,
    key_changes,
    warn_of_first_solve,
    warn_of_library_limits,
)

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context, Event, Object, OperatorProperties


class POSE_OT_fabrik_chain_add(AsBonesMixin, ReportErrorsMixin, Operator):
    """Add a chain that ends at the active bone, or one for each selected bone; with X-Axis Mirror on, on both sides"""

    bl_idname = "pose.fabrik_chain_add"
    bl_label = "Add Chain"

    chain_count: IntProperty(
        name="Chain Length",
        description="How many bones the chain has, counted from the active bone up; 0 uses all bones",
        default=2,
        min=0,
        soft_max=50,
    )
    use_selected: BoolProperty(
        name="Selected Bones",
        description="Add a chain for each selected bone without a selected child, instead of the active bone alone",
        default=False,
    )
    create_target: BoolProperty(name="Create Target", description="Add a target at the end of the chain", default=True)
    create_pole: BoolProperty(
        name="Create Pole", description="Add a pole on the side to which the chain bends", default=False
    )

    @classmethod
    def poll(cls, context: Context) -> bool:
        return super().poll(context) and holds_or_says(
            cls, context.active_pose_bone is not None, "Select the last bone of the chain"
        )

    def run(self, context: Context) -> None:
        from ..rig.connected_chains import chains_of_tree
        from ..setup.add_chain import NewGoals, add_chains

        goals = NewGoals(self.create_target, self.create_pole, self.as_bones)
        chains = add_chains(context.scene, context.view_layer, self._tips(context), self.chain_count, goals)
        for chain in chains:
            tree = chains_of_tree(chain, list(settings_of(chain.id_data).chains))
            if any(other.root_motion == 'TRANSLATE' for other in tree):
                chain.root_motion = 'TRANSLATE'
        added = f"chain '{chains[0].name}'" if len(chains) == 1 else counted(len(chains), "chain")
        report(self, {'INFO'}, f"Added {added}")
        if self.create_pole:
            warn_of_first_solve(self, context, chains)

    def _tips(self, context: Context) -> dict[Object, list[str]]:
        """Return the names of the bones at which chains should end, by their armatures, the active one first.

        Raises:
            FabrikError: an armature with selected bones is in Rest Position.
        """
        from ..bones.bone_selection import selected_tips, with_opposites

        active = context.object
        assert active is not None  # the poll asks for an armature
        armatures = [active, *(obj for obj in context.objects_in_mode if obj != active)] if self.use_selected else []
        tips = {armature: selected_tips(armature) for armature in armatures}
        if not any(tips.values()):
            tips = {active: [context.active_pose_bone.name]}
        for armature, names in tips.items():
            if names and armature.data.pose_position == 'REST':
                raise FabrikError(f"'{armature.name}' is in Rest Position: switch to Pose Position")
            if armature.pose.use_mirror_x:
                tips[armature] = with_opposites(armature, names)
        return tips


class POSE_OT_fabrik_target_add(AsBonesMixin, HasChainsMixin, Operator):
    """Give the active chain a target at its end; no bone moves"""

    bl_idname = "pose.fabrik_target_add"
    bl_label = "Create Target"

    def run(self, context: Context) -> None:
        self.add_goal(context, is_pole=False)


class POSE_OT_fabrik_pole_add(AsBonesMixin, HasChainsMixin, Operator):
    """Give the active chain a pole on the side to which it bends; no bone moves"""

    bl_idname = "pose.fabrik_pole_add"
    bl_label = "Create Pole"

    def run(self, context: Context) -> None:
        self.add_goal(context, is_pole=True)
        warn_of_first_solve(self, context, chosen_chains(context.object, only_active=True))


class POSE_OT_fabrik_chain_remove(HasChainsMixin, Operator):
    """Remove the active chain, and keep its target and pole"""

    bl_idname = "pose.fabrik_chain_remove"
    bl_label = "Remove Chain"

    def run(self, context: Context) -> None:
        from ..rig.item_animation import animation_goes_along
        from ..rig.last_results import forget_result

        settings = settings_of(context.object)
        (chain,) = chosen_chains(context.object, only_active=True)
        require_own_item(context.object, "fabrik.chains", chain.name)
        with animation_goes_along(context.object, "fabrik.chains", settings.active_index):
            forget_result(context.object, chain.name)
            settings.chains.remove(settings.active_index)
        settings.active_index = max(0, min(settings.active_index, len(settings.chains) - 1))


class POSE_OT_fabrik_solve(GoalOrPoseModeMixin, Operator):
    """Pose the bones so that the chains reach their targets"""

    bl_idname = "pose.fabrik_solve"
    bl_label = "Solve"

    @classmethod
    def description(cls, _context: Context, properties: OperatorProperties) -> str:
        """Return the tooltip of a button for the active chain alone; of another one, the class's."""
        return in_interface("Pose the bones of the active chain alone") if properties.only_active else ""

    def run(self, context: Context) -> None:
        from ..solving.solve_chains import solve_chains

        armature = shown_armature(context)
        results, changed = solve_chains(context.view_layer, armature, chosen_chains(armature, self.only_active))
        key_changes(self, context, changed)
        for name, result in results:
            if result.message:
                report(self, {'WARNING'}, f"Chain '{name}': {result.message}")
            elif result.overridden:
                report(self, {'WARNING'}, f"Chain '{name}': overridden on {', '.join(result.overridden)}")


class POSE_OT_fabrik_snap_target(GoalOrPoseModeMixin, Operator):
    """Move targets and poles to the present pose of their chains, so that solving changes nothing"""

    bl_idname = "pose.fabrik_snap_target"
    bl_label = "Snap Targets"

    def run(self, context: Context) -> None:
        from ..setup.snap_targets import snap_targets

        armature = shown_armature(context)
        chains = chosen_chains(armature, self.only_active)
        key_changes(self, context, snap_targets(context.view_layer, armature, chains))


class POSE_OT_fabrik_key_targets(FrameRangeMixin, OnlyActiveMixin, Operator):
    """Insert keyframes on targets and poles so that they follow the animation of their chains' bones"""

    bl_idname = "pose.fabrik_key_targets"
    bl_label = "Key Targets from Pose"

    def invoke(self, context: Context, _event: Event) -> set[OperatorReturnItems]:
        return self.ask(context, confirm_text="Key Targets")

    def draw(self, _context: Context) -> None:
        self.draw_range()
        self.layout.prop(self, "only_active")

    def run(self, context: Context) -> None:
        from ..bake.key_targets import snap_frames

        chains, work = chosen_chains(context.object, self.only_active), self.frame_range(context)
        for _ in snap_frames(work, chains):
            pass
        over = counted(len(work.frames), "frame")
        report(self, {'INFO'}, f"Keyed targets and poles of {counted(len(chains), 'chain')} over {over}")


class POSE_OT_fabrik_limits_set(PoseModeMixin, Operator):
    """Set the IK limits of the selected bones to those of an elbow, a knee or another kind of joint"""

    bl_idname = "pose.fabrik_limits_set"
    bl_label = "Set Joint Limits"

    joint: EnumProperty(
        name="Joint",
        description="Kind of joint at the head of each selected bone",
        items=(
            ('ELBOW', "Elbow", "Hinge, 150 degrees to the side to which the bone is bent at rest"),
            ('KNEE', "Knee", "Hinge, 150 degrees to the side to which the bone is bent at rest"),
            ('FINGER', "Finger", "Hinge, 110 degrees to the side to which the bone is bent at rest"),
            ('SHOULDER', "Shoulder", "Ball joint, 90 degrees of swing and 70 degrees of twist"),
            ('CLAVICLE', "Clavicle", "Ball joint, 30 degrees of swing and 35 degrees of twist"),
            ('WRIST', "Wrist", "Ball joint, 75 degrees of swing and 80 degrees of twist"),
            ('SPINE', "Spine", "Ball joint, 18 degrees of swing and 15 degrees of twist; for each of three bones"),
            ('NECK', "Neck", "Ball joint, 40 degrees of swing and 60 degrees of twist"),
            ('HIP', "Hip", "Ball joint, 75 degrees of swing and 40 degrees of twist"),
            ('ANKLE', "Ankle", "Ball joint, 35 degrees of swing and 25 degrees of twist"),
            ('TAIL', "Tail", "Ball joint, 30 degrees of swing and 15 degrees of twist"),
            ('FREE', "Free", "No limits"),
        ),
        default='ELBOW',
    )

    @classmethod
    def poll(cls, context: Context) -> bool:
        return super().poll(context) and holds_or_says(
            cls, bool(context.selected_pose_bones), "Select the bones to limit"
        )

    def execute(self, context: Context) -> set[OperatorReturnItems]:
        from ..setup.override_limits import kept_in_override
        from ..setup.usual_limits import free_joint, limit_joint

        for bone in context.selected_pose_bones:
            with kept_in_override(bone):
                if self.joint == 'FREE':
                    free_joint(bone)
                else:
                    limit_joint(bone, self.joint)
        warn_of_library_limits(self, context.selected_pose_bones)
        return {'FINISHED'}


register, unregister = bpy.utils.register_classes_factory(  # type: ignore[misc]
    (
        POSE_OT_fabrik_chain_add,
        POSE_OT_fabrik_target_add,
        POSE_OT_fabrik_pole_add,
        POSE_OT_fabrik_chain_remove,
        POSE_OT_fabrik_solve,
        POSE_OT_fabrik_snap_target,
        POSE_OT_fabrik_key_targets,
        POSE_OT_fabrik_limits_set,
    )
)
