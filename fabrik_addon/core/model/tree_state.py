# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""One pose of a tree in a descent, or many."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..math.operations import Array, Condition
from .placed_tree import PlacedTree
from .skeleton import JointCoordinates, Tree


@dataclass(frozen=True, eq=False)
class State:
    """A pose of the tree in a descent; many poses have the batch axes before the others."""

    tree: Tree
    rotations: Array
    """(J + 1, 4) frames of the bones in the frames that they inherit (``Tree.placed``)."""
    limited_coordinates: Array
    """(L, 3) of the bones with limits."""
    shifts: Array
    """(R, 3) of the roots."""

    @cached_property
    def placed(self) -> PlacedTree:
        """Joints and frames."""
        return self.tree.placed(self.rotations, self.shifts)

    def where(self, condition: Condition, other: State) -> State:
        """Return this state in the batch items where a condition holds, the other one elsewhere."""
        if not self.rotations.shape[:-2]:
            return self if condition else other
        of_each = np.asarray(condition)[:, None, None]
        pairs = ((getattr(self, name), getattr(other, name)) for name in ("rotations", "limited_coordinates", "shifts"))
        return State(self.tree, *(np.where(of_each, a, b) for a, b in pairs))

    @cached_property
    def coordinates(self) -> list[JointCoordinates]:
        """Coordinates of the bones, by joint, as floats."""
        return self.tree.joined(self.rotations, self.limited_coordinates)
