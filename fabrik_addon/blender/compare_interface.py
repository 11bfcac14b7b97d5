# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The operator that compares the solvers on the active chain, and the sub-panel that shows what came of it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import bpy
from bpy.types import Operator

from .compare import compare_solvers, comparison_of, in_text, keep_comparison
from .panel import STATUS_ICONS, ActiveChainPanel, wrapped
from .polls import ChainsMixin, chosen_chains
from .snapshot import take_problem

if TYPE_CHECKING:
    from bpy.types import Context, Object, UILayout

    from .compare import Compared
    from .properties import FabrikChain

TEXT_NAME = "FABRIK IK solvers"
"""Text block that holds the last comparison."""


class POSE_OT_fabrik_compare(ChainsMixin, Operator):
    """Solve the active chain with every solver and show what each of them makes of it; the pose stays"""

    bl_idname = "pose.fabrik_compare"
    bl_label = "Compare Solvers"
    bl_options = {'REGISTER', 'UNDO'}

    def run(self, context: Context) -> None:
        armature = context.object
        (chain,) = chosen_chains(armature, only_active=True)
        context.view_layer.update()
        compared = compare_solvers(take_problem(context.view_layer, armature, chain))
        keep_comparison(armature, chain.name, compared)
        text = bpy.data.texts.get(TEXT_NAME) or bpy.data.texts.new(TEXT_NAME)
        text.clear()
        text.write(in_text(chain.name, compared))
        self.report({'INFO'}, f"Compared {len(compared)} solvers: see the panel and the text '{text.name}'")


class VIEW3D_PT_fabrik_compare(ActiveChainPanel):
    bl_parent_id = "VIEW3D_PT_fabrik_solver"
    bl_label = "Compare"
    bl_options = {'DEFAULT_CLOSED'}

    def draw_chain(self, layout: UILayout, _armature: Object, chain: FabrikChain) -> None:
        layout.use_property_split = False
        layout.operator("pose.fabrik_compare")
        for row in comparison_of(chain):
            _draw_row(layout.box().column(align=True), row)


def _draw_row(column: UILayout, compared: Compared) -> None:
    if compared.refusal:
        column.label(text=compared.label, icon='CANCEL')
        for words in wrapped(compared.refusal):
            column.label(text=words, icon='BLANK1')
        return
    row = column.row()
    row.label(text=compared.label, icon=STATUS_ICONS[compared.status])
    row.label(text=f"{1e3 * compared.seconds:.2f} ms")
    row = column.row()
    row.label(text=f"error {compared.error:.0e}", icon='BLANK1')
    row.label(text=f"{compared.iterations} iterations")
    row = column.row()
    row.label(text=f"turned {math.degrees(compared.turned):.0f}\N{DEGREE SIGN}", icon='BLANK1')
    if compared.violation is not None:
        row.label(text=f"over limits {math.degrees(compared.violation):.1g}\N{DEGREE SIGN}")


register, unregister = bpy.utils.register_classes_factory(  # type: ignore[misc]
    (POSE_OT_fabrik_compare, VIEW3D_PT_fabrik_compare)
)
