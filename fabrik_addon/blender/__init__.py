# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that needs Blender."""

from __future__ import annotations

from . import (
    bake_operators,
    bake_panel,
    command_line,
    compare_interface,
    convert_operators,
    drag_operator,
    operators,
    overlay,
    panel,
    properties,
)
from .native import operators as native_operators

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
