# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What settings have in common: they can be overridden in linked files, the overlay shows their changes, and names that
Blender translates otherwise have a context of their own.
"""

from __future__ import annotations

from collections.abc import Callable

from bpy.types import Context, PropertyGroup

OVERRIDABLE = {'LIBRARY_OVERRIDABLE'}

OWN_CONTEXT = "FABRIK IK"
"""Context of texts whose translations by Blender itself don't fit. A constant, because Blender keeps a pointer to the
string and no copy: of a literal in an annotation, which is evaluated and then freed, other text was left.
"""

SETTINGS_HANDLERS: list[Callable[[], None]] = []
"""Functions that Blender's property updates call after a setting has changed that the overlay draws."""


def show_change(_settings: PropertyGroup, _context: Context) -> None:
    """Tell the overlay that a setting has changed; the ``update`` of a property."""
    for handler in SETTINGS_HANDLERS:
        handler()
