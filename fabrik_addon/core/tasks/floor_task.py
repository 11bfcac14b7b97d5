# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The floor task of a body: points of its feet not below heights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..math.operations import Array
from ..math.quaternion_arrays import cross, crossing
from ..model.placed_tree import PlacedTree
from ..model.tree_motions import TreeMotions
from ..model.tree_start import StartTree
from ..problem import Floor

CONTACT = 5e-5
"""Depth, in the tree's units, up to which points are left below their heights where the pose that was found is brought
back over the floor. So a point that presses on the floor keeps its row of the Jacobian; without it drags jump."""


@dataclass(frozen=True, eq=False)
class FloorTask:
    """Points ``x_k = p_b + R_b o_k`` of bones should not be below heights: ``n . x_k >= h_k``."""

    bones: Sequence[int]
    """b of each point."""
    points: Array
    """(P, 3) o_k, in the bones' frames, from the bones' joints p_b."""
    up: Array
    """(3,) n, a unit vector."""
    heights: Array
    """(P,) h_k, in the tree's units."""

    @property
    def rows(self) -> int:
        """Number of residuals: one for each point."""
        return len(self.bones)

    @property
    def moved_joints(self) -> Sequence[int]:
        """The joints whose motions the Jacobian needs."""
        return self.bones

    def below(self, placed: PlacedTree) -> Array:
        """Return by how much each point is below its height (P,); negative above it."""
        points = placed.points[self.bones] + placed.arms(self.bones, self.points)
        return self.heights - points @ self.up

    def residual(self, placed: PlacedTree) -> tuple[float, ...]:
        """Return by how much each point has to rise; 0 above its height."""
        return tuple(np.maximum(self.below(placed), 0.0).tolist())

    def jacobian(self, placed: PlacedTree, motions: TreeMotions) -> Array:
        """Return how each point below its height rises with each coordinate (P, N + S); 0 for those above."""
        rises: Array = self.up @ motions.of_joints(self.bones)
        is_below = self.below(placed) > 0.0
        if not is_below.any():
            return np.zeros(rises.shape)
        turned = motions.structure.turned[self.bones]
        # up . (axis x arm) = axis . (arm x up)
        rises[:, : len(motions.axes)] += turned * (
            cross(placed.arms(self.bones, self.points), self.up) @ motions.axes.T
        )
        return rises * is_below[:, None]

    def moments(self, motions: TreeMotions, forces: Array) -> Array:
        """Return the sum of ``F_k x dx_k/dq`` (3, N + S) of the forces (P,), which are along n."""
        pushes = forces * (self.below(motions.placed) > 0.0)
        return crossing(self.up) @ motions.of_points(self.bones, self.points, pushes)

    def partly(self, placed: PlacedTree, share: float) -> FloorTask:
        """Return the task whose residual at a pose is a share of this task's."""
        return replace(self, heights=self.heights - (1.0 - share) * np.maximum(self.below(placed), 0.0))


def floor_task(start: StartTree, placed: PlacedTree, floor: Floor) -> FloorTask:
    """Return the floor task of a body. A point that is below the floor before may stay as low as it is."""
    heights = (floor.heights - float(floor.up @ np.array(start.root))) / start.unit
    task = FloorTask(floor.bones.tolist(), floor.points / start.unit, floor.up, heights)
    return replace(task, heights=heights - np.maximum(task.below(placed), 0.0))
