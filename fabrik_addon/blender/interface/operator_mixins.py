# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What several operators have in common: poll messages, errors as reports, the option Only Active."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from bpy.props import BoolProperty

from ...core import FabrikError
from ..rig.properties import chosen_chains, settings_of, shown_armature
from ..rig.wording import listed
from ..translation.messages import report

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems, OperatorTypeFlagItems
    from bpy.types import Bone, Context, Object, Operator, PoseBone

    from ..rig.properties import FabrikChain

# Annotated here, not in the class: Blender evaluates the annotations of an operator's class as it registers it.
_UNDOABLE: set[OperatorTypeFlagItems] = {'REGISTER', 'UNDO'}


def holds_or_says(operator: Any, condition: bool, message: str) -> bool:
    """Return whether a condition of an operator's poll holds; where it doesn't its message says what to do.

    Args:
        operator: its class; ``Any``, because a mixin is none by itself.
        condition: without which the operator can't be pressed.
        message: what to do.
    """
    if not condition:
        operator.poll_message_set(message)
    return condition


class PoseModeMixin:
    """Can be pressed with an armature in Pose mode that can be edited and shows its pose; else says what to do."""

    bl_options = _UNDOABLE

    @classmethod
    def poll(cls, context: Context) -> bool:
        armature = context.object
        if not holds_or_says(cls, armature is not None and armature.type == 'ARMATURE', "Select an armature"):
            return False
        # Blender lets no linked armature into Pose mode: _can_be_posed says what to do with it.
        is_in_mode = armature.library is not None or context.mode == 'POSE'
        return holds_or_says(cls, is_in_mode, "Switch to Pose Mode") and cls._can_be_posed(armature)

    @classmethod
    def _can_be_posed(cls, armature: Object) -> bool:
        is_shown = armature.data.pose_position != 'REST'
        return holds_or_says(
            cls, armature.library is None, "The armature is linked: make a library override first"
        ) and holds_or_says(cls, is_shown, "The armature is in Rest Position: switch to Pose Position")


class ReportErrorsMixin(PoseModeMixin):
    """Executes ``run`` and reports its FabrikError; ``run`` changes nothing before it raises."""

    def execute(self, context: Context) -> set[OperatorReturnItems]:
        try:
            return self.run(context) or {'FINISHED'}
        except FabrikError as error:
            report(self, {'ERROR'}, str(error))
            return {'CANCELLED'}

    def run(self, context: Context) -> set[OperatorReturnItems] | None:
        """Do what the operator is for, and return its result; None where it has finished."""
        raise NotImplementedError


class HasChainsMixin(ReportErrorsMixin):
    """Can be pressed with an armature that has a chain."""

    @classmethod
    def poll(cls, context: Context) -> bool:
        return super().poll(context) and holds_or_says(
            cls, bool(settings_of(context.object).chains), "Add a chain first"
        )


class OnlyActiveMixin(HasChainsMixin):
    """Has the option to use the active chain alone instead of all enabled ones."""

    only_active: BoolProperty(
        name="Only Active", description="Use only the active chain instead of all enabled chains", default=False
    )


class GoalOrPoseModeMixin(OnlyActiveMixin):
    """Can be pressed also with an active object that is a target or pole: then the chains are those of its armature."""

    @classmethod
    def poll(cls, context: Context) -> bool:
        armature = shown_armature(context)
        if armature is None or armature == context.object:
            return super().poll(context)
        return cls._can_be_posed(armature)


class AsBonesMixin:
    """Has the option to make targets and poles as bones."""

    as_bones: BoolProperty(
        name="As Bones",
        description="Make targets and poles as bones of the armature, in a bone collection of their own, "
        "instead of empties",
        default=False,
    )

    def add_goal(self, context: Context, is_pole: bool) -> None:
        """Give the active chain a target or a pole.

        Raises:
            FabrikError: it has one already, or can't get one; then nothing has changed.
        """
        from ..setup.add_chain import NewGoals, add_goals

        armature = context.object
        (chain,) = chosen_chains(armature, only_active=True)
        goals = NewGoals(create_target=not is_pole, create_pole=is_pole, as_bones=self.as_bones)
        add_goals(context.scene, context.view_layer, armature, chain, goals)


def key_changes(operator: Operator, context: Context, changed: Iterable[tuple[Object | PoseBone | Bone, str]]) -> None:
    """Key what an operator has changed, if auto-keying is on, and report what can't be keyed, as Blender's own do."""
    from ..solving.auto_key import auto_key

    report_not_keyed(operator, auto_key(context, changed))


def report_not_keyed(operator: Operator, names: Iterable[str]) -> None:
    """Report the bones and objects that can't be keyed, if there are any."""
    if quoted := [f"'{name}'" for name in names]:
        report(operator, {'WARNING'}, f"Not keyed: {listed(quoted)}: an action is linked, or its curves are locked")


def warn_of_library_limits(operator: Operator, bones: Iterable[PoseBone]) -> None:
    """Report the bones that have narrower limits than they were given, because those of the library stay."""
    from ..setup.override_limits import is_narrower_in_library

    names = [f"'{bone.name}'" for bone in bones if is_narrower_in_library(bone)]
    if names:
        limits = f"Limits of {listed(names)} come from the library and stay: they can be changed there only"
        report(operator, {'WARNING'}, limits)


def warn_of_first_solve(operator: Operator, context: Context, chains: Sequence[FabrikChain]) -> None:
    """Report the chains with new poles that the first Solve would rotate: they bend to both sides or in two planes."""
    from ..setup.first_solve import warning_of_first_solve

    for chain in chains:
        if warning := warning_of_first_solve(context.view_layer, chain.id_data, chain):
            report(operator, {'WARNING'}, warning)
