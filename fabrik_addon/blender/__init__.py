# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that needs Blender."""

from __future__ import annotations

from . import compare_interface, operators, panel, properties
from .baking import operators as bake_operators
from .baking import panel as bake_panel
from .command_line import registration as command_line
from .convert import operators as convert_operators
from .drag import operator as drag_operator
from .native import operators as native_operators
from .overlay import handler as overlay

_MODULES = (
    properties,
    operators,
    bake_operators,
    convert_operators,
    drag_operator,
    overlay,
    panel,
    bake_panel,
    compare_interface,
    native_operators,
    command_line,
)


def register() -> None:
    for module in _MODULES:
        module.register()


def unregister() -> None:
    for module in reversed(_MODULES):
        module.unregister()
