# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The operators and the sub-panel of native rigs."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import bpy
from bpy.props import BoolProperty
from bpy.types import Menu, Operator

from ...core import FabrikError
from ..rig.properties import active_chain, chosen_chains
from ..translation.messages import report
from .chain_panel import SubPanel
from .operator_mixins import OnlyActiveMixin, ReportErrorsMixin, holds_or_says, key_changes, report_not_keyed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context, Object

_Rigged = TypeVar("_Rigged")
"""A chain or a solver."""


class POSE_OT_fabrik_rig_add(OnlyActiveMixin, Operator):
    """Make the chains follow their targets at all times with geometry nodes and constraints, without the extension"""

    bl_idname = "pose.fabrik_rig_add"
    bl_label = "Make Native Rig"

    def run(self, context: Context) -> None:
        from ..native.eligibility import eligible_chains
        from ..native.find_rigs import solver_of
        from ..native.make_rigs import make_rigs

        armature = context.object
        chains = [(chain, solver_of(armature, chain)) for chain in chosen_chains(armature, self.only_active)]
        eligible = eligible_chains(context.view_layer, armature, _without_library(self, armature, chains))
        make_rigs(context.scene, context.view_layer, armature, eligible)
        for each in eligible:
            for warning in each.warnings:
                report(self, {'WARNING'}, f"Chain '{each.settings.name}': {warning}")


class POSE_OT_fabrik_rig_remove(ReportErrorsMixin, Operator):
    """Remove native rigs with all objects, node groups and constraints that were made for them"""

    bl_idname = "pose.fabrik_rig_remove"
    bl_label = "Remove Native Rig"

    only_active: BoolProperty(
        name="Only Active", description="Remove only the native rig of the active chain", default=False
    )
    keep_pose: BoolProperty(
        name="Keep Pose",
        description="Keep the pose that the native rig shows; otherwise the bones return to their own channels",
        default=True,
    )
    insert_keys: BoolProperty(
        name="Insert Keyframes",
        description="Insert keyframes for the kept rotations at the current frame",
        default=False,
    )

    @classmethod
    def poll(cls, context: Context) -> bool:
        from ..native.find_rigs import broken_constraints, solvers_of

        return super().poll(context) and holds_or_says(
            cls,
            bool(solvers_of(context.object) or broken_constraints(context.object)),
            "This armature has no native rig",
        )

    def run(self, context: Context) -> None:
        from ..native.find_rigs import solver_of, solvers_of
        from ..native.remove_rig import remove_rigs
        from ..solving.auto_key import insert_keys

        armature = context.object
        solvers = list(solvers_of(armature).values())
        if self.only_active:
            chain = active_chain(armature)
            solver = solver_of(armature, chain) if chain is not None else None
            if solver is None:
                raise FabrikError("The active chain has no native rig")
            solvers = [solver]
        solvers = _without_library(self, armature, [(solver, solver) for solver in solvers])
        changed = remove_rigs(context.view_layer, armature, solvers, self.keep_pose)
        if self.insert_keys:
            report_not_keyed(self, insert_keys(context, changed))
        else:
            key_changes(self, context, changed)


def _without_library(
    operator: Operator, armature: Object, rigs: Sequence[tuple[_Rigged, Object | None]]
) -> list[_Rigged]:
    """Leave out the native rigs that come from an override's library, with a warning, where it has rigs of its own too.

    Args:
        armature: object of the chains.
        rigs: chains or solvers, each with its solver; None of a chain that has none.
    """
    from ..native.remove_rig import reason_to_stay

    reasons = [reason_to_stay(armature, solver) if solver is not None else "" for _, solver in rigs]
    if all(reasons):
        return [one for one, _ in rigs]  # an error says that
    for reason in filter(None, reasons):
        report(operator, {'WARNING'}, reason)
    return [one for (one, _), reason in zip(rigs, reasons, strict=True) if not reason]


class OBJECT_OT_fabrik_rigs_purge(Operator):
    """Remove unused native rigs, as of deleted armatures, with all objects and node groups that were made for them"""

    bl_idname = "object.fabrik_rigs_purge"
    bl_label = "Purge Native Rigs"
    bl_options = {'REGISTER', 'UNDO'}

    @classmethod
    def poll(cls, _context: Context) -> bool:
        from ..native.find_rigs import unused_solvers

        return holds_or_says(cls, bool(unused_solvers()), "There is no unused native rig")

    def execute(self, _context: Context) -> set[OperatorReturnItems]:
        from ..native.remove_rig import purge

        purge()
        return {'FINISHED'}


class VIEW3D_PT_fabrik_native(SubPanel):
    bl_label = "Native Rig"
    bl_options = {'DEFAULT_CLOSED'}

    @classmethod
    def poll(cls, context: Context) -> bool:
        return context.object.type == 'ARMATURE'

    def draw(self, context: Context) -> None:
        from ..native.find_rigs import solver_of
        from ..rig.modifier_inputs import draw_input, group_inputs

        column = self.layout.column(align=True)
        column.operator("pose.fabrik_rig_add", icon='GEOMETRY_NODES').only_active = False
        column.operator("pose.fabrik_rig_remove", icon='X').only_active = False
        chain = active_chain(context.object)
        solver = solver_of(context.object, chain) if chain is not None else None
        if solver is None or not solver.modifiers:
            return
        column = self.layout.column()
        column.use_property_split = True
        modifier = solver.modifiers[0]
        for socket in group_inputs(modifier):
            if socket.socket_type not in {"NodeSocketGeometry", "NodeSocketObject"}:
                draw_input(column, modifier, socket.identifier, socket.name)


_register_classes, _unregister_classes = bpy.utils.register_classes_factory(  # type: ignore[misc]
    (POSE_OT_fabrik_rig_add, POSE_OT_fabrik_rig_remove, OBJECT_OT_fabrik_rigs_purge, VIEW3D_PT_fabrik_native)
)


def _draw_in_menu(menu: Menu, _context: Context) -> None:
    menu.layout.operator("object.fabrik_rigs_purge")


def register() -> None:
    _register_classes()  # type: ignore[has-type]
    bpy.types.TOPBAR_MT_file_cleanup.append(_draw_in_menu)


def unregister() -> None:
    bpy.types.TOPBAR_MT_file_cleanup.remove(_draw_in_menu)
    _unregister_classes()  # type: ignore[has-type]
