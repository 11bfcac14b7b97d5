# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The operator that compares the solvers on the active chain, and the sub-panel that shows the comparison."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import bpy
from bpy.types import Operator

from ..rig.properties import chosen_chains
from ..rig.wording import counted, percentage, plain
from ..translation.messages import in_interface, report
from .chain_panel import STATUS_ICONS, ActiveChainPanel, characters_across, wrapped
from .operator_mixins import HasChainsMixin

if TYPE_CHECKING:
    from bpy.types import Context, Object, UILayout

    from ..rig.properties import FabrikChain
    from ..solving.compare_solvers import Compared

TEXT_NAME = "FABRIK IK solvers"
"""Name of the text data-block that holds the last comparison."""

_LIMIT_TOLERANCE = 1e-4
"""Radians beyond a limit that count as within it: the error of angles in single precision."""


class POSE_OT_fabrik_compare(HasChainsMixin, Operator):
    """Solve the active chain with every solver and compare the results; the pose doesn't change"""

    bl_idname = "pose.fabrik_compare"
    bl_label = "Compare Solvers"

    def run(self, context: Context) -> None:
        from ..rig.snapshot import take_unchecked
        from ..solving.compare_solvers import compare_solvers, in_text, keep_comparison

        armature = context.object
        (chain,) = chosen_chains(armature, only_active=True)
        context.view_layer.update()
        compared = compare_solvers(take_unchecked(context.view_layer, armature, chain))
        keep_comparison(armature, chain.name, compared)
        text = bpy.data.texts.get(TEXT_NAME) or bpy.data.texts.new(TEXT_NAME)
        text.clear()
        text.write(in_text(chain.name, compared))
        report(self, {'INFO'}, f"Compared {counted(len(compared), 'solver')}: see the panel and the text '{text.name}'")


class VIEW3D_PT_fabrik_compare(ActiveChainPanel):
    bl_parent_id = "VIEW3D_PT_fabrik_solver"
    bl_label = "Compare"
    bl_options = {'DEFAULT_CLOSED'}

    def draw_chain(self, context: Context, layout: UILayout, _armature: Object, chain: FabrikChain) -> None:
        from ..solving.compare_solvers import comparison_of

        layout.use_property_split = False
        layout.operator("pose.fabrik_compare")
        compared = comparison_of(chain)
        if not compared:
            return
        box = layout.box().column(align=True)
        for one in compared:
            _draw_solver(box, one, characters_across(context))
            box.separator()
        over = [one.violation for one in compared if one.violation is not None]
        if over:
            is_within = max(over) < _LIMIT_TOLERANCE
            box.label(text="All within the limits" if is_within else "Not all within the limits", icon='LOCKED')
        box.label(text=TEXT_NAME, icon='TEXT')


def _draw_solver(column: UILayout, compared: Compared, width: int) -> None:
    row = column.row()
    if compared.refusal:
        row.label(text=compared.label, icon='CANCEL')
        for words in wrapped(compared.refusal.partition(":")[0], width):
            column.label(text=words, icon='BLANK1')
        return
    row.label(text=compared.label, icon=STATUS_ICONS[compared.status])
    time = row.row()
    time.alignment = 'RIGHT'
    time.label(text=f"{1e3 * compared.seconds:.2f} ms")
    after = counted(compared.iterations, "iteration")
    column.label(text=in_interface(f"Error {percentage(compared.error)} after {after}"), icon='BLANK1')
    rotated = f"Rotations add up to {math.degrees(compared.rotated):.0f}\N{DEGREE SIGN}"
    column.label(text=in_interface(rotated), icon='BLANK1')
    if compared.violation is not None and compared.violation > _LIMIT_TOLERANCE:
        beyond = f"{plain(math.degrees(compared.violation))}\N{DEGREE SIGN} beyond its limits"
        column.label(text=in_interface(beyond), icon='ERROR')


register, unregister = bpy.utils.register_classes_factory(  # type: ignore[misc]
    (POSE_OT_fabrik_compare, VIEW3D_PT_fabrik_compare)
)
