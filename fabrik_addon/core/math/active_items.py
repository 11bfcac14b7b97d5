# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compaction of a batch whose items end after different numbers of iterations: the active items and all final states.

Gathering the active items costs a numpy call for each component, however few items have ended. Ended items therefore
stay in the arrays, and what is computed for them is ignored, until at most the share ``COMPACT_BELOW`` of the items in
the arrays is active; then the active items alone are gathered.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from .operations import ARRAY, Array, Component, Condition, Indices, Mask, Point

COMPACT_BELOW = 0.75
"""Share of active items, over the items in the arrays, up to which the active items are gathered."""


class ActiveItems:
    """The active items of a batch, and the states in which the others ended."""

    def __init__(self, initial: Sequence[Component | Point]) -> None:
        """Begin with all items active.

        Args:
            initial: components (B,) or points (3, B) before the first iteration; the final state of items that never
                end and of those that are given up.
        """
        arrays = _arrays(initial)
        count = arrays[0].shape[-1]
        self.ended_at: Array = np.zeros(count)
        """(B,) iteration in which each item ended; 0 where it ended before the first one, or has not ended."""
        self._items: Indices = np.arange(count)
        """Indices in the batch of the items in the arrays."""
        self._is_active: Mask = np.ones(count, bool)
        """Which items in the arrays are active."""
        self._states = [arrays]
        self._state_count = count
        self._columns: Indices = np.arange(count)
        """(B,) column of each item's final state in all states, concatenated."""

    def give_up(self, failed: Condition) -> None:
        """End items in their initial state.

        Args:
            failed: condition of the items in the arrays.
        """
        self._is_active &= ~cast(Mask, failed)

    def end(self, ended: Condition, iteration: int, state: Sequence[Component | Point]) -> Indices | None:
        """End items in a state.

        Args:
            ended: condition of the items in the arrays; for items that ended before it may hold or not.
            iteration: number for ``ended_at``; 0 is before the first.
            state: components or points of the items in the arrays.

        Returns:
            the items to gather for the next iteration, as indices (K,) into the arrays; None where the arrays stay as
            they are. K is 0 where no item is active.
        """
        columns = np.flatnonzero(cast(Mask, ended) & self._is_active)
        items = self._items[columns]
        self.ended_at[items] = iteration
        self._is_active[columns] = False
        self._columns[items] = self._state_count + np.arange(columns.size)
        self._states.append(_arrays(ARRAY.gather(columns, state)))
        self._state_count += columns.size
        active = np.flatnonzero(self._is_active)
        if active.size > COMPACT_BELOW * self._items.size:
            return None
        self._items = self._items[active]
        self._is_active = np.ones(active.size, bool)
        return active

    def result(self) -> list[Array]:
        """Return the final states of all B items."""
        return [
            np.concatenate(parts, axis=-1).take(self._columns, axis=-1, mode="clip")
            for parts in zip(*self._states, strict=True)
        ]


def _arrays(values: Sequence[Component | Point]) -> Sequence[Array]:
    """Return components or points of several poses with the type that they have."""
    return cast("Sequence[Array]", values)
