# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Presets of a chain's solver settings and of the joint limits of selected bones, in Blender's own preset menu."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import bpy
from bl_operators.presets import AddPresetBase
from bl_ui.utils import PresetPanel
from bpy.props import StringProperty
from bpy.types import Operator, Panel

from ...core import FabrikError
from ..rig.properties import chosen_chains
from ..rig.wording import counted
from ..translation.messages import report
from .operator_mixins import HasChainsMixin, PoseModeMixin, ReportErrorsMixin, holds_or_says, warn_of_library_limits

if TYPE_CHECKING:
    from bpy.types import Context

_FOLDER = Path(__file__).resolve().parents[2]
"""Has the folder ``presets`` with those that ship."""

_CHAIN = "chain = bpy.context.object.fabrik.chains[bpy.context.object.fabrik.active_index]"

_SOLVER_SETTINGS = (
    "solver",
    "influence",
    "softness",
    "use_stretch",
    "stretch_max",
    "root_motion",
    "iterations",
    "tolerance",
)


class VIEW3D_PT_fabrik_solver_presets(PresetPanel, Panel):
    bl_label = "Solver Presets"
    preset_subdir = "fabrik_ik/solver"
    preset_operator = "pose.fabrik_solver_preset"
    preset_add_operator = "pose.fabrik_solver_preset_add"


class VIEW3D_PT_fabrik_limit_presets(PresetPanel, Panel):
    bl_label = "Joint Limit Presets"
    preset_subdir = "fabrik_ik/joint_limits"
    preset_operator = "pose.fabrik_limits_preset"
    preset_add_operator = "pose.fabrik_limits_preset_add"


class _LoadPreset(ReportErrorsMixin, Operator):
    """Loads a file; in one undo step, which Blender's own operator doesn't make."""

    bl_options = {'REGISTER', 'UNDO', 'INTERNAL'}

    filepath: StringProperty(
        name="File", description="Preset to load", subtype='FILE_PATH', options={'HIDDEN', 'SKIP_SAVE'}
    )


class POSE_OT_fabrik_solver_preset(HasChainsMixin, _LoadPreset):
    """Give the active chain the solver settings of a preset"""

    bl_idname = "pose.fabrik_solver_preset"
    bl_label = "Load Solver Preset"

    def run(self, context: Context) -> None:
        chosen_chains(context.object, only_active=True)
        try:
            bpy.utils.execfile(self.filepath)
        except Exception as error:  # whatever a person's file may raise
            raise FabrikError(f"'{Path(self.filepath).name}' is no preset of solver settings: {error}") from error


class POSE_OT_fabrik_solver_preset_add(AddPresetBase, HasChainsMixin, Operator):  # type: ignore[misc]
    """Add a preset with the solver settings of the active chain, or remove one"""

    bl_idname = "pose.fabrik_solver_preset_add"
    bl_label = "Add Solver Preset"
    preset_menu = "VIEW3D_PT_fabrik_solver_presets"
    preset_subdir = VIEW3D_PT_fabrik_solver_presets.preset_subdir
    preset_defines = [_CHAIN]
    preset_values = [f"chain.{name}" for name in _SOLVER_SETTINGS]


class POSE_OT_fabrik_limits_preset(_LoadPreset):
    """Give the selected bones the joint limits of a preset: by their names, or by the part of a body that they are"""

    bl_idname = "pose.fabrik_limits_preset"
    bl_label = "Load Joint Limit Preset"

    @classmethod
    def poll(cls, context: Context) -> bool:
        return super().poll(context) and _has_selected_bones(cls, context)

    def run(self, context: Context) -> None:
        from ..setup.limit_presets import load_limits

        limited = load_limits(context.object, _selected_bones(context), Path(self.filepath))
        if not limited:
            raise FabrikError("The preset has no limits for the selected bones")
        report(self, {'INFO'}, f"Limited {counted(len(limited), 'bone')}")
        warn_of_library_limits(self, [context.object.pose.bones[name] for name in limited])


class POSE_OT_fabrik_limits_preset_add(AddPresetBase, PoseModeMixin, Operator):  # type: ignore[misc]
    """Add a preset with the joint limits of the selected bones, by their names, or remove one"""

    bl_idname = "pose.fabrik_limits_preset_add"
    bl_label = "Add Joint Limit Preset"
    preset_menu = "VIEW3D_PT_fabrik_limit_presets"
    preset_subdir = VIEW3D_PT_fabrik_limit_presets.preset_subdir

    @classmethod
    def poll(cls, context: Context) -> bool:
        return super().poll(context) and _has_selected_bones(cls, context)

    def add(self, context: Context, filepath: str) -> None:
        """Write the preset; Blender calls this."""
        from ..setup.limit_presets import save_limits

        save_limits(_selected_bones(context), Path(filepath))


def _selected_bones(context: Context) -> list[bpy.types.PoseBone]:
    return context.selected_pose_bones_from_active_object


def _has_selected_bones(operator: type[Operator], context: Context) -> bool:
    return holds_or_says(operator, bool(_selected_bones(context)), "Select the bones to limit")


_register_classes, _unregister_classes = bpy.utils.register_classes_factory(  # type: ignore[misc]
    (
        VIEW3D_PT_fabrik_solver_presets,
        VIEW3D_PT_fabrik_limit_presets,
        POSE_OT_fabrik_solver_preset,
        POSE_OT_fabrik_solver_preset_add,
        POSE_OT_fabrik_limits_preset,
        POSE_OT_fabrik_limits_preset_add,
    )
)


def register() -> None:
    bpy.utils.register_preset_path(str(_FOLDER))
    _register_classes()  # type: ignore[has-type]


def unregister() -> None:
    _unregister_classes()  # type: ignore[has-type]
    bpy.utils.unregister_preset_path(str(_FOLDER))
