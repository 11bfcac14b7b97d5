# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all settings have in common: they can be overridden in linked files, and the overlay shows their changes."""

from __future__ import annotations

from collections.abc import Callable

from bpy.types import Context, PropertyGroup

OVERRIDABLE = {'LIBRARY_OVERRIDABLE'}

SETTINGS_HANDLERS: list[Callable[[], None]] = []
"""Functions that Blender's property updates call after a setting has changed that the overlay draws."""


def show_change(_settings: PropertyGroup, _context: Context) -> None:
    """Tell the overlay that a setting has changed; the ``update`` of a property."""
    for handler in SETTINGS_HANDLERS:
        handler()
