# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The operators between Blender's own IK constraints and chains."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy
from bpy.props import BoolProperty
from bpy.types import Operator

from ..rig.wording import counted
from ..translation.messages import report
from .operator_mixins import HasChainsMixin, ReportErrorsMixin, key_changes

if TYPE_CHECKING:
    from bpy.types import Context

    from ..convert.to_chains import Conversion


class POSE_OT_fabrik_constraints_to_chains(ReportErrorsMixin, Operator):
    """Add a chain for every IK constraint and mute the constraint; no bone moves"""

    bl_idname = "pose.fabrik_constraints_to_chains"
    bl_label = "IK Constraints to Chains"

    only_selected: BoolProperty(
        name="Only Selected", description="Convert only the constraints of the selected bones", default=False
    )

    def run(self, context: Context) -> None:
        from ..convert.to_chains import constraints_to_chains

        bones = context.selected_pose_bones_from_active_object if self.only_selected else None
        result = constraints_to_chains(context.view_layer, context.object, bones)
        key_changes(self, context, result.changed)
        _report(self, result, "constraint")


class POSE_OT_fabrik_chains_to_constraints(HasChainsMixin, Operator):
    """Add an IK constraint to the tip bone of every chain and disable the chain"""

    bl_idname = "pose.fabrik_chains_to_constraints"
    bl_label = "Chains to IK Constraints"

    only_active: BoolProperty(name="Only Active", description="Convert only the active chain", default=False)

    def run(self, context: Context) -> None:
        from ..convert.to_constraints import chains_to_constraints, chains_to_convert

        armature = context.object
        chains = chains_to_convert(armature, self.only_active)
        _report(self, chains_to_constraints(context.view_layer, armature, chains), "chain")


def _report(operator: Operator, result: Conversion, noun: str) -> None:
    for loss in result.not_carried:
        report(operator, {'WARNING'}, loss)
    report(operator, {'INFO'}, f"Converted {counted(len(result.converted), noun)}")


register, unregister = bpy.utils.register_classes_factory(  # type: ignore[misc]
    (POSE_OT_fabrik_constraints_to_chains, POSE_OT_fabrik_chains_to_constraints)
)
