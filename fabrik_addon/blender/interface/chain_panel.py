# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The panel in the 3D viewport's sidebar: the list of chains, the status of the last solve, the settings of a chain."""

from __future__ import annotations

import textwrap
import unicodedata
from typing import TYPE_CHECKING, Any

import bpy
from bpy.types import Panel, UIList

from ...core import FabrikError
from ...core.solvers.names import SOLVER_NAMES
from ..rig.properties import STATUS_NAMES, active_chain, is_gone, settings_of, shown_armature
from ..rig.property_updates import OWN_CONTEXT
from ..rig.wording import counted
from ..translation.catalogue import follow_language
from ..translation.messages import in_interface
from . import presets
from .limits_panel import draw_limits

if TYPE_CHECKING:
    from bpy.types import Context, Object, UILayout

    from ..rig.last_results import Result
    from ..rig.properties import FabrikChain

STATUS_ICONS = {
    'NONE': 'RADIOBUT_OFF',
    'REACHED': 'CHECKMARK',
    'OUT_OF_REACH': 'DRIVER_DISTANCE',
    'LIMITED': 'LOCKED',
    'STALLED': 'ERROR',
}
STATUS_LINES = 4
"""Lines of the status box: those of the usual messages in the default sidebar. A narrower one has more, see
``status_lines``.
"""

WRAP_WIDTH = 32
"""Characters of a line, with an icon before it, in the sidebar's default width."""

_CHARACTER_WIDTH, _MARGIN = 5.7, 88.0
"""Pixels at scale 1, measured in Blender 5.2: a character of the interface's font (5.4 in "Reached after 1 iteration",
and 5 % more for wider letters); the sidebar's tabs, margins and the icon.
"""

_ICON_CHARACTERS = 3
"""Characters that a line without an icon has more."""

_LEAST_WIDTH = 12
"""Characters of a line in the narrowest sidebar: shorter ones would break words."""


class FABRIK_UL_chains(UIList):
    """Chains with their status, pin and check box"""

    # Eight parameters, and Any: Blender calls draw_item with these, of types that depend on the list's properties.
    def draw_item(  # type: ignore[override]
        self,
        _context: Context,
        layout: UILayout,
        _settings: Any,
        chain: Any,
        _icon: Any,
        _active_data: Any,
        _active_property: Any,
    ) -> None:
        row = layout.row(align=True)
        row.active = chain.enabled
        row.prop(chain, "name", text="", emboss=False, icon=STATUS_ICONS[chain.status])
        pin = row.row()
        pin.active = chain.use_pin
        pin.prop(chain, "use_pin", text="", emboss=False, icon='PINNED' if chain.use_pin else 'UNPINNED')
        row.prop(chain, "enabled", text="")


class _FabrikPanel(Panel):
    bl_space_type = 'VIEW_3D'
    bl_region_type = 'UI'
    bl_category = "Animation"


class SubPanel(_FabrikPanel):
    """A panel within that of the chains"""

    bl_parent_id = "VIEW3D_PT_fabrik"


class VIEW3D_PT_fabrik(_FabrikPanel):
    bl_label = "FABRIK IK"

    @classmethod
    def poll(cls, context: Context) -> bool:
        return shown_armature(context) is not None

    def draw(self, context: Context) -> None:
        follow_language()
        layout = self.layout
        armature = shown_armature(context)
        settings = settings_of(armature)
        if armature != context.object:
            layout.label(text=f"Chains of {armature.name}", icon='ARMATURE_DATA', translate=False)
        elif armature.library is not None:
            for line in wrapped("The armature is linked: make a library override first", characters_across(context)):
                layout.label(text=line)
        elif context.mode != 'POSE':
            layout.label(text="Switch to Pose Mode", icon='INFO')
        if not settings.chains and not settings.body.parts:
            row = layout.row()
            row.scale_y = 1.2
            row.operator("pose.fabrik_body_add", icon='ARMATURE_DATA')

        row = layout.row()
        row.template_list("FABRIK_UL_chains", "", settings, "chains", settings, "list_index", rows=3)
        column = row.column(align=True)
        add = column.operator("pose.fabrik_chain_add", text="", icon='ADD')
        add.use_selected, add.as_bones = True, settings.use_target_bones
        column.operator("pose.fabrik_chain_remove", text="", icon='REMOVE')

        column.separator()
        column.prop(settings, "show_overlay", text="", icon='OVERLAY')
        column.prop(settings, "show_handles", text="", icon='GIZMO')

        layout.prop(settings, "use_target_bones")
        row = layout.row(align=True)
        row.operator("pose.fabrik_drag", icon='VIEW_PAN').grab = 'BONE'
        if settings.chains:
            row.operator("pose.fabrik_drag_target")
        if not settings.chains:
            if not settings.body.parts:
                layout.label(text="Select the last bone, then press +", icon='INFO')
            return
        column = layout.column(align=True)
        column.scale_y = 1.2
        column.operator("pose.fabrik_solve", icon='CON_KINEMATIC').only_active = False
        row = column.row(align=True)
        row.operator("pose.fabrik_solve", text="Solve Active").only_active = True
        row.operator("pose.fabrik_snap_target").only_active = False

        chain = active_chain(armature)
        if chain is not None:
            _draw_result(layout, chain, characters_across(context))


def _draw_result(layout: UILayout, chain: FabrikChain, width: int) -> None:
    """Draw the status of the last solve of a chain in a box of as many lines, however long the text is.

    A box that grew with its text would move the buttons below it under the pointer.
    """
    from ..rig.last_results import result_of

    result = result_of(chain.id_data, chain.name)
    text, status = STATUS_NAMES['NONE'], 'NONE'
    if result is not None:
        text, status = _sentence(result), result.status
    box = layout.box().column(align=True)
    icon = STATUS_ICONS[status]
    count = status_lines(width)
    lines = wrapped(text, width, count)
    for line in [*lines, *[""] * (count - len(lines))]:
        box.label(text=line, icon=icon)
        icon = 'BLANK1'


def _sentence(result: Result) -> str:
    """Return the status of a solve in words."""
    if result.message:
        return result.message
    text = f"{STATUS_NAMES[result.status]} after {counted(result.iterations, 'iteration')}"
    if result.stretch > 1.0:
        text += f", stretched to {100.0 * result.stretch:.4g} %"
    if result.overridden:
        text += "; overridden on " + ", ".join(result.overridden)
    return text


def status_lines(width: int) -> int:
    """Return the number of lines of the status box, in which as many characters fit as in the default sidebar.

    Args:
        width: characters of a line.
    """
    return max(STATUS_LINES, -(-STATUS_LINES * WRAP_WIDTH // width))


def characters_across(context: Context) -> int:
    """Return about how many characters a line of the sidebar holds with an icon before it."""
    if context.region is None or context.region.type != 'UI':
        return WRAP_WIDTH
    width = context.region.width / context.preferences.system.ui_scale
    return max(_LEAST_WIDTH, int((width - _MARGIN) / _CHARACTER_WIDTH))


def wrapped(text: str, width: int = WRAP_WIDTH, most_lines: int | None = None) -> list[str]:
    """Translate a sentence and break it into lines that fit the sidebar: labels don't wrap.

    Args:
        text: English.
        width: characters that a line holds; characters of East Asian scripts count twice.
        most_lines: a longer text ends in an ellipsis.
    """
    text = in_interface(text)
    if not text:
        return []
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    width = width * len(text) // (len(text) + wide)
    return textwrap.wrap(text[0].upper() + text[1:], width, max_lines=most_lines, placeholder="\N{HORIZONTAL ELLIPSIS}")


def settings_column(layout: UILayout) -> UILayout:
    """Return a column of settings with their names beside them, and without buttons for keys."""
    column = layout.column()
    column.use_property_split = True
    column.use_property_decorate = False
    return column


def draw_switched(layout: UILayout, owner: Any, switch: str, name: str, heading: str) -> None:
    """Draw a switch and, in the same row, the setting that counts where it is on."""
    row = layout.row(heading=heading)
    row.prop(owner, switch, text="")
    setting = row.row()
    setting.active = getattr(owner, switch)
    setting.prop(owner, name, text="")


class ActiveChainPanel(SubPanel):
    """A sub-panel with settings of the active chain"""

    @classmethod
    def poll(cls, context: Context) -> bool:
        return active_chain(shown_armature(context)) is not None

    def draw(self, context: Context) -> None:
        self.layout.use_property_split = True
        self.layout.use_property_decorate = False
        armature = shown_armature(context)
        chain = active_chain(armature)
        if chain is not None:
            self.draw_chain(context, self.layout, armature, chain)

    def draw_chain(self, context: Context, layout: UILayout, armature: Object, chain: FabrikChain) -> None:
        raise NotImplementedError


class VIEW3D_PT_fabrik_chain(ActiveChainPanel):
    bl_label = "Chain"
    bl_translation_context = OWN_CONTEXT  # some of Blender's translations are those of the verb

    def draw_chain(self, context: Context, layout: UILayout, armature: Object, chain: FabrikChain) -> None:
        layout.prop_search(chain, "tip", armature.pose, "bones", icon='BONE_DATA')
        layout.prop(chain, "chain_count")
        layout.prop(chain, "use_tail")


class VIEW3D_PT_fabrik_target(ActiveChainPanel):
    bl_label = "Target"

    def draw_chain(self, context: Context, layout: UILayout, armature: Object, chain: FabrikChain) -> None:
        layout.prop(chain, "use_pin")
        column = layout.column()
        column.active = not chain.use_pin
        _draw_goal(column, chain, "target", "subtarget")
        if is_gone(chain.target):
            add = column.operator("pose.fabrik_target_add", icon='ADD')
            add.as_bones = settings_of(armature).use_target_bones
        layout.prop(chain, "use_rotation")
        layout.prop(chain, "weight")


class VIEW3D_PT_fabrik_pole(ActiveChainPanel):
    bl_label = "Pole"
    bl_options = {'DEFAULT_CLOSED'}

    def draw_chain(self, context: Context, layout: UILayout, armature: Object, chain: FabrikChain) -> None:
        _draw_goal(layout, chain, "pole_target", "pole_subtarget")
        if is_gone(chain.pole_target):
            add = layout.operator("pose.fabrik_pole_add", icon='ADD')
            add.as_bones = settings_of(armature).use_target_bones
        column = layout.column()
        column.active = chain.pole_target is not None
        column.prop(chain, "pole_angle", text="Angle")


def _draw_goal(layout: UILayout, chain: FabrikChain, object_name: str, bone_name: str) -> None:
    layout.prop(chain, object_name, text="Object")
    target = getattr(chain, object_name)
    if target is not None and target.type == 'ARMATURE':
        layout.prop_search(chain, bone_name, target.pose, "bones", text="Bone", icon='BONE_DATA')


class VIEW3D_PT_fabrik_limits(ActiveChainPanel):
    bl_label = "Joint Limits"
    bl_options = {'DEFAULT_CLOSED'}

    def draw_header(self, context: Context) -> None:
        self.layout.prop(active_chain(shown_armature(context)), "use_limits", text="")

    def draw_header_preset(self, _context: Context) -> None:
        presets.VIEW3D_PT_fabrik_limit_presets.draw_panel_header(self.layout)

    def draw_chain(self, context: Context, layout: UILayout, armature: Object, chain: FabrikChain) -> None:
        from ..rig.chain_bones import bones_of_chain

        layout.use_property_split = False
        layout.active = chain.use_limits
        try:
            bones = bones_of_chain(armature, chain)
        except FabrikError as error:
            for line in wrapped(str(error), characters_across(context)):
                layout.label(text=line)
            return
        draw_limits(layout, bones)
        layout.operator_menu_enum("pose.fabrik_limits_set", "joint")


class VIEW3D_PT_fabrik_solver(ActiveChainPanel):
    bl_label = "Solver"
    bl_options = {'DEFAULT_CLOSED'}

    def draw_header_preset(self, _context: Context) -> None:
        presets.VIEW3D_PT_fabrik_solver_presets.draw_panel_header(self.layout)

    def draw_chain(self, context: Context, layout: UILayout, armature: Object, chain: FabrikChain) -> None:
        from ..rig.connected_chains import chains_of_tree

        layout.prop(chain, "solver", text="Method")
        column = layout.column(align=True)
        column.active = False
        for line in wrapped(SOLVER_NAMES[chain.solver].good_for, characters_across(context) + _ICON_CHARACTERS):
            column.label(text=line)
        layout.prop(chain, "influence")
        layout.prop(chain, "softness")
        draw_switched(layout, chain, "use_stretch", "stretch_max", heading="Stretch")
        layout.prop(chain, "root_motion")
        tree = chains_of_tree(chain, list(settings_of(armature).chains))
        if len(tree) > 1:
            row = layout.row()
            row.active = False
            row.alignment = 'RIGHT'
            is_mixed = any(other.root_motion != chain.root_motion for other in tree)
            shared = in_interface(f"Shared by {counted(len(tree), 'chain')}")
            row.label(text="Follows: set by another chain" if is_mixed else shared)
        layout.prop(chain, "iterations")
        layout.prop(chain, "tolerance")


register, unregister = bpy.utils.register_classes_factory(  # type: ignore[misc]
    (
        FABRIK_UL_chains,
        VIEW3D_PT_fabrik,
        VIEW3D_PT_fabrik_chain,
        VIEW3D_PT_fabrik_target,
        VIEW3D_PT_fabrik_pole,
        VIEW3D_PT_fabrik_limits,
        VIEW3D_PT_fabrik_solver,
    )
)
