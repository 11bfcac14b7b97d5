# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A joint of a tree at its target, or where another joint is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..math.operations import TINY, Array, Vector
from ..model.placed_tree import PlacedTree
from ..model.tree_motions import TreeMotions


@dataclass(frozen=True)
class PositionTask:
    """A joint should be at a target, or where another joint is."""

    joint: int
    target: Vector | None
    meets: int = -1
    slack: float = 0.0
    """Distance from the target, in the tree's units, within which the residual is zero."""
    rows = 3

    def residual(self, placed: PlacedTree) -> Vector:
        """Return the vector from the joint to its target, or to the sphere of the slack, in the tree's units."""
        x, y, z = placed.joints[self.joint]
        tx, ty, tz = placed.joints[self.meets] if self.target is None else self.target
        x, y, z = tx - x, ty - y, tz - z
        if self.slack > 0.0:
            distance = math.sqrt(x * x + y * y + z * z)
            share = max(0.0, distance - self.slack) / (distance + TINY)
            return share * x, share * y, share * z
        return x, y, z

    @property
    def moved_joints(self) -> Sequence[int]:
        """The joints whose motions the Jacobian needs."""
        return [self.joint] if self.target is not None else [self.joint, self.meets]

    def jacobian(self, placed: PlacedTree, motions: TreeMotions) -> Array:
        """Return how the residual, but for its sign, changes with each coordinate (3, N + S)."""
        moved = motions.of_joint(self.joint)
        if self.target is None:
            moved = moved - motions.of_joint(self.meets)
        if self.slack == 0.0:
            return moved
        left = np.array(self.residual(placed))
        size = float(np.linalg.norm(left))
        if size <= TINY:
            return np.zeros(moved.shape)
        toward = left / size
        share = size / (size + self.slack)
        along: Array = np.outer(toward, toward @ moved)
        return share * moved + (1.0 - share) * along

    def partly(self, placed: PlacedTree, share: float) -> PositionTask:
        """Return the task whose target is some share of the way from a pose's joint to this one's."""
        here = placed.joints[self.joint]
        left = self.residual(placed)
        x, y, z = (part + share * change for part, change in zip(here, left, strict=True))
        return PositionTask(self.joint, (x, y, z))
