# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers and lengths in the words of panels and messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import bpy

if TYPE_CHECKING:
    from bpy.types import UnitSettings

_LEAST_PERCENTAGE = 1e-3
"""Smallest percentage that is written as a number: the tolerance of a new chain is ten times as large."""

_LEAST_LENGTH = 1e-6
"""Length, metres, below which Blender writes no digits: 0 m, or -0 m."""

_SMALL_UNITS = {'METRIC': (1e-9, "nm"), 'IMPERIAL': (2.54e-5, "thou")}
"""By system, the size (metres) and the symbol of the unit of smaller lengths."""


def counted(count: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless the number is 1: "1 chain", "2 chains"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def plain(number: float) -> str:
    """Return a number that isn't negative, with three digits, and without an exponent, which ``.3g`` has for some."""
    if 0.0 < number < 1e-4:
        return f"{number:.6f}"
    return f"{number:.3g}" if number < 999.5 else f"{number:.0f}"


def percentage(share: float) -> str:
    """Return a share in percent, with three digits and without an exponent."""
    percent = 100.0 * share
    return f"under {_LEAST_PERCENTAGE} %" if 0.0 < percent < _LEAST_PERCENTAGE else f"{plain(percent)} %"


def listed(names: Sequence[str], most: int = 4) -> str:
    """Return the first names of a list, and how many more there are: "a, b and 3 more"."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def length_text(units: UnitSettings, value: float) -> str:
    """Return a length, Blender units, as people read it in a scene with these units: "24 cm"."""
    value += 0.0  # -0.0 is written as -0
    metres = value * units.scale_length
    if units.system == 'NONE':
        return f"{value:.4g}"
    if 0.0 < abs(metres) < _LEAST_LENGTH:
        size, symbol = _SMALL_UNITS[units.system]
        return f"{metres / size:.4g} {symbol}"
    return bpy.utils.units.to_string(units.system, 'LENGTH', metres, precision=4, split_unit=units.use_separate)
