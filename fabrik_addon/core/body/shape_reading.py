# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The types of what the shape of a skeleton says: kind of creature, directions, and a role for each bone."""

from dataclasses import dataclass, field

import numpy as np

from ..math.operations import Array
from .part import Role, Side
from .symmetry import Plane


@dataclass(frozen=True)
class Guess:
    """What the shape says about one bone."""

    role: Role
    side: int
    """1 on the side that the plane's axis points to, -1 on the other, 0 in the middle."""
    limb: int
    confidence: float


@dataclass
class ShapeReading:
    """What the shape says."""

    creature: str
    up: Array
    forward: Array
    sureness: float
    """0 to 1: how sure ``forward`` is, and with it which side is left."""
    plane: Plane
    guesses: dict[int, Guess] = field(default_factory=dict)
    reason: str = ""
    """Why nothing is said, if so."""

    def side(self, sign: int) -> Side:
        """Return the side that a sign stands for."""
        if sign == 0:
            return Side.CENTER
        left = float(np.cross(self.up, self.forward) @ self.plane.axis)
        return Side.LEFT if sign * left > 0.0 else Side.RIGHT
