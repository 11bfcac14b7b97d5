# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bounds of the rotation of a body's bones from one solution to the next, by the way of what it follows. Computes.

A body has several minima of its cost, such as bent and straight knees, and near full extension its joints rotate by
many times what they do elsewhere. Where bones would rotate by much more over the way of the goals than they did before,
they come to the new pose in several moves or frames (``core.trees.rotation_bound``).
"""

from __future__ import annotations

import math

MOST_TURN, OVER_MEAN, MOST_OVER_MEAN, GROWTH = 4.0, 1.14, 2.0, 0.15
"""Bound of the largest rotation (radians) of a bone in a move, over the move's distance d in units of the body's tree:
``max(MOST_TURN, OVER_MEAN R / D, min(r (1 + d / GROWTH), MOST_OVER_MEAN R / D))``, with the ratio r of the move before,
and the sums R of the largest rotations and D of the distances of all moves before.

Where a limb is nearly straight or reaches a limit its joints rotate by many times what they do elsewhere; there the
dragged point comes behind, and follows in the next moves. Without a bound 21 of 48 seeded drags had a move with more
than 3 times the median move's largest rotation. With the first term alone, 4.8, one of 200 had, and a hand that is led
across the body, which rotates an arm by up to 8.4, was behind by up to 0.09 of the height until its release; with all
three none has, and the hand is behind by 0.021 at most, with the other hand pinned by 0.024: where an arm would rotate
by 20 to 40 degrees in one move. Without the second term a hand was behind by 0.009 where it slowed down before.
"""

MOST_TURN_BEYOND, BEYOND_OVER_MEAN = 1.5, 0.8
"""Bound of that rotation where the solution misses the target: ``max(MOST_TURN_BEYOND, BEYOND_OVER_MEAN * R / D)``.

Of a body with balance alone. Led out of reach it gains 0.03 of its height by another 60 degrees of knees and hips, and
after them stays as it is: 14 of 18 drags of a hand far had a move with more than 3 times the median move's largest
rotation, up to 10.5 times. With this bound none of 27 has, up to 2.7 times. A target within reach is followed as
before.
Where the bound held whenever the dragged point was behind, which the bound itself brings about, a hand that was led low
within reach came behind by 0.057 of the height.
"""

FAR_MOVE = 0.1
"""Distance of a move, in units of the body's tree, from which on rotations have no bound."""


class RotationRate:
    """The largest rotations of bones over the distances of the moves so far, and the bounds of the next move."""

    def __init__(self) -> None:
        # d, r, R and D of ``MOST_TURN``.
        self._distance = self._ratio = self._turns = self._distances = 0.0

    def bounds(self, distance: float) -> tuple[float, float]:
        """Return the largest rotation (radians) of a move within reach, and beyond it; infinite for a far move.

        Args:
            distance: of the move, in units of the body's tree.
        """
        self._distance = distance if distance < FAR_MOVE else 0.0
        if distance >= FAR_MOVE:
            return math.inf, math.inf
        mean = self._turns / self._distances if self._distances else 0.0
        grown = min(self._ratio * (1.0 + distance / GROWTH), MOST_OVER_MEAN * mean)
        within, beyond = max(MOST_TURN, OVER_MEAN * mean, grown), max(MOST_TURN_BEYOND, BEYOND_OVER_MEAN * mean)
        return within * distance, beyond * distance

    def add(self, turn: float) -> None:
        """Take note of the largest rotation (radians) in the move of the last bounds, unless it was far or no way."""
        if self._distance:
            self._turns += turn
            self._distances += self._distance
            self._ratio = turn / self._distance
