# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that needs Blender."""

from __future__ import annotations

from .command_line import registration
from .interface import (
    animation_panels,
    bake_operators,
    body_operators,
    body_panel,
    body_tool,
    body_turn_operator,
    chain_handles,
    chain_operators,
    chain_panel,
    compare_panel,
    convert_operators,
    drag_operator,
    handle_gizmos,
    handle_operators,
    look_operators,
    menu,
    native_operators,
    online_manual,
    presets,
)
from .overlay import draw_handler
from .rig import body_properties, bone_keys, item_animation, override_names, properties
from .translation import catalogue

_MODULES = (
    catalogue,
    body_properties,
    bone_keys,
    properties,
    item_animation,
    override_names,
    body_operators,
    chain_operators,
    bake_operators,
    convert_operators,
    drag_operator,
    body_turn_operator,
    handle_gizmos,
    handle_operators,
    look_operators,
    chain_handles,
    body_tool,
    draw_handler,
    presets,
    chain_panel,
    body_panel,
    animation_panels,
    compare_panel,
    native_operators,
    menu,
    online_manual,
    registration,
)
"""In the order in which Blender needs them; the panels appear in the order in which they are registered."""


def register() -> None:
    for module in _MODULES:
        module.register()


def unregister() -> None:
    for module in reversed(_MODULES):
        module.unregister()
