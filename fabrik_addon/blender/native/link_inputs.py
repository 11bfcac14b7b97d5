# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A chain's lengths and what the nodes need of them, computed when the rig is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from .nodes import Nodes, Value

OPEN_END = 1e-6
"""Part of the reach next to full extension that counts as full: single precision can't tell there how much to bend."""


@dataclass(frozen=True)
class LinkInputs:
    """Values or sockets."""

    lengths: list[Value]
    """Each as a vector of three equal components."""
    total: Value
    middle: Value
    """Between the shortest and the longest reach."""
    spread: Value
    """Half of the difference between them."""
    last: Value
    """Length of the last link."""
    square: Value
    """Square of the length of the link before the last."""
    difference: Value
    """That square less the square of the last link's length."""

    @property
    def values(self) -> list[Value]:
        """In the order of the inputs."""
        return [*self.lengths, *(getattr(self, field.name) for field in fields(self)[1:])]


def links_of(lengths: Sequence[float]) -> LinkInputs:
    """Return the values for lengths, root first."""
    total = sum(lengths)
    shortest = max(2.0 * max(lengths) - total, 0.0)
    first, last = lengths[-2] if len(lengths) > 1 else 0.0, lengths[-1]
    return LinkInputs(
        lengths=[(length,) * 3 for length in lengths],
        total=total,
        middle=0.5 * (total + shortest),
        spread=0.5 * (total - shortest) - OPEN_END * total,
        last=last,
        square=first * first,
        difference=(first - last) * (first + last),
    )


def links_inputs(nodes: Nodes, count: int) -> LinkInputs:
    """Add inputs for lengths to a group."""
    names = ("Chain length", "Middle reach", "Half of reach", "Last length", "Square", "Difference")
    return LinkInputs(nodes.inputs("Length", count), *(nodes.input(name, "NodeSocketFloat") for name in names))
