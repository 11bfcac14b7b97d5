# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lanes of a batch that end one after another: what each ended with, and which are worth going on with.

Taking lanes out costs a numpy call for every component, however few they are. So lanes that have ended stay, and what
is computed for them is ignored, until so many have that going on without them pays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .operations import ARRAY, Component, Components

STAYING = 0.75
"""Share of the lanes still going from which up all of them stay."""

WHOLE = 0.125
"""Share of the lanes ending at once from which up the whole state is held, as it is: fewer are copied out of it."""


class ActiveItems:
    """The lanes that go on, and the states of those that have ended."""

    def __init__(self, began: Components) -> None:
        """Begin with all lanes going on.

        Args:
            began: the components of all lanes before; what a lane ends with that never ends otherwise.
        """
        count = began[0].shape[-1]
        self.ended_at: Any = np.zeros(count)
        """The number with which each lane ended; 0 where it hasn't."""
        self._lanes: NDArray[np.intp] = np.arange(count)
        self._going = np.ones(count, bool)
        self._states = [began]
        self._held = count
        # A lane's place is that of its components in all states that are held, laid end to end.
        self._places: NDArray[np.intp] = np.arange(count)

    def give_up(self, failed: Component) -> None:
        """Let lanes end as they began, from the next ``end`` on.

        Args:
            lost: condition of the lanes there are.
        """
        self._going &= ~failed

    def end(self, ended: Component, number: int, state: Components) -> NDArray[np.intp] | None:
        """Let lanes end in a state, which must not change any more.

        Args:
            ended: condition of the lanes there are; it may hold again for those that ended before.
            number: to remember them by.
            state: the components of the lanes there are.

        Returns:
            which of the lanes to keep, for ``MANY.keep``, or None where all stay. None left are an empty array.
        """
        columns = np.flatnonzero(ended & self._going)
        items = self._lanes[columns]
        self.ended_at[items] = number
        self._going[columns] = False
        if columns.size < WHOLE * self._lanes.size:
            state, columns = ARRAY.gather(columns, state), np.arange(columns.size)
        self._places[items] = self._held + columns
        self._states.append(state)
        self._held += state[0].shape[-1]
        rest = np.flatnonzero(self._going)
        if rest.size > STAYING * self._lanes.size:
            return None
        self._lanes = self._lanes[rest]
        self._going = np.ones(rest.size, bool)
        return rest

    def result(self) -> Components:
        """Return the components of all lanes as they ended."""
        return [
            np.concatenate(parts, axis=-1).take(self._places, axis=-1, mode="clip")
            for parts in zip(*self._states, strict=True)
        ]
