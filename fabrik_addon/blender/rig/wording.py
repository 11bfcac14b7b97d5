# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers in the words of panels and messages."""

from __future__ import annotations

from collections.abc import Sequence

_LEAST_PERCENTAGE = 1e-3
"""Smallest percentage that is written as a number: the tolerance of a new chain is ten times as large."""


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
