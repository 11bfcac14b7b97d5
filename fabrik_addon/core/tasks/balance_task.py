# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The balance task of a body: its center of mass over the hull of what is planted."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..math.convex_region import PlanePoint, convex_hull, nearest_in_hull
from ..math.operations import SCALAR, Array
from ..math.quaternion_arrays import crossing
from ..math.vectors import cross, perpendicular
from ..model.placed_tree import PlacedTree
from ..model.tree_motions import TreeMotions
from ..model.tree_start import StartTree
from ..problem import Balance

MARGIN = 0.015
"""Distance, in the tree's units, by which the region is smaller than the hull of the support; the task fades in from
as far before an edge of the region to as far beyond it (``BalanceTask.residual``). Without it a step that begins within
ends beyond an edge that its Jacobian doesn't have, and isn't taken: 4 of 40 moves of a drag left the pose as it was."""

LEAST_BREADTH = 1e-3
"""Half the breadth given to a support that is a point or a line, in the tree's units."""

SHIFTED = 0.1
"""Distance by which a handle is pulled, in the tree's units, from which on the center of mass has to be over what stays
planted."""

STANDING = 0.02
"""Distance of the center of mass from the hull of the stance, in the tree's units, up to which a pose is standing."""


@dataclass(frozen=True, eq=False)
class BalanceTask:
    """The center of mass ``c = sum_b m_b (p_b + R_b o_b)`` should be over a convex region of the floor."""

    bones: Sequence[int]
    masses: Array
    """(B,) m_b, shares of the whole."""
    centers: Array
    """(B, 3) o_b, in the bones' frames, from the bones' joints p_b."""
    axes: Array
    """(2, 3) two horizontal directions, in which the floor is seen."""
    normals: Array
    """(E, 2) n_e, outward unit normals of the edges of the convex region."""
    offsets: Array
    """(E,) b_e: the region is where n_e . c <= b_e."""

    @property
    def rows(self) -> int:
        """Number of residuals: one for each edge."""
        return len(self.offsets)

    @property
    def moved_joints(self) -> Sequence[int]:
        """The joints whose motions the Jacobian needs."""
        return self.bones

    def center(self, placed: PlacedTree) -> Array:
        """Return the center of mass (2,), seen along the vertical."""
        return self.axes @ (self.masses @ (placed.points[self.bones] + placed.arms(self.bones, self.centers)))

    def beyond(self, placed: PlacedTree) -> Array:
        """Return how far the center of mass is beyond each edge (E,), s_e = n_e . c - b_e; negative within."""
        return self.normals @ self.center(placed) - self.offsets

    def residual(self, placed: PlacedTree) -> tuple[float, ...]:
        """Return how far the center of mass should come back over each edge, 0 where s < -epsilon (``MARGIN``).

        That is ``-(s + epsilon)^2 / (4 epsilon)`` up to s = epsilon, and -s beyond.
        """
        beyond = self.beyond(placed)
        near = np.minimum(np.maximum(beyond + MARGIN, 0.0), 2.0 * MARGIN)
        return tuple((-near * near / (4.0 * MARGIN) - np.maximum(beyond - MARGIN, 0.0)).tolist())

    def jacobian(self, placed: PlacedTree, motions: TreeMotions) -> Array:
        """Return how the residual, but for its sign, changes with each coordinate (E, N + S)."""
        center = motions.of_points(self.bones, self.centers, self.masses)
        return self._slopes(placed)[:, None] * self.normals @ self.axes @ center

    def _slopes(self, placed: PlacedTree) -> Array:
        """Return how the residuals (E,), but for their signs, change with s."""
        return np.minimum(np.maximum(self.beyond(placed) + MARGIN, 0.0), 2.0 * MARGIN) / (2.0 * MARGIN)

    def moments(self, motions: TreeMotions, forces: Array) -> Array:
        """Return ``F x dc/dq`` (3, N + S), with ``F = sum_e s'_e f_e n_e`` of the forces f (E,) on the residuals."""
        center = motions.of_points(self.bones, self.centers, self.masses)
        return crossing((self._slopes(motions.placed) * forces) @ self.normals @ self.axes) @ center

    def own_curvature(self, motions: TreeMotions, forces: Array) -> Array:
        """Return the part of K (N + S, N + S) of the fading in of the residual.

        The second derivative of the residual by s is ``-1 / (2 epsilon)`` up to epsilon from an edge.
        """
        across = self.normals @ self.axes @ motions.of_points(self.bones, self.centers, self.masses)
        is_near = np.abs(self.beyond(motions.placed)) < MARGIN
        return (across.T * (-0.5 * forces * is_near / MARGIN)) @ across


def _edges(support: Sequence[PlanePoint]) -> tuple[Array, Array]:
    """Return the outward normals (E, 2) and the offsets (E,) of the edges of a convex hull."""
    if len(support) < 3:
        around = [(x, y) for x in (-LEAST_BREADTH, LEAST_BREADTH) for y in (-LEAST_BREADTH, LEAST_BREADTH)]
        support = convex_hull([(u + x, v + y) for u, v in support for x, y in around])
    corners = np.array(support)
    along = np.roll(corners, -1, axis=0) - corners
    normals = np.stack([along[:, 1], -along[:, 0]], axis=1) / np.linalg.norm(along, axis=1)[:, None]
    return normals, (normals * corners).sum(axis=1)


def balance_task(start: StartTree, placed: PlacedTree, balance: Balance, pulled: float) -> BalanceTask | None:
    """Return the balance task of a body; None for a pose that isn't standing, or where nothing stays planted.

    The region is the hull of the support, smaller by ``MARGIN``. At the start of a pull edges nearer than a margin are
    moved to a margin beyond the center of mass, which may stay there; they come to the support as a handle is pulled by
    ``SHIFTED``. Without that a foot that is lifted by a millimetre would move the hips by half a step.

    ``placed`` is the pose before the pull, ``pulled`` the largest distance of a handle from its target, in the tree's
    units.
    """
    if not len(balance.support):
        return None
    x, y, z = balance.up.tolist()
    up = (x, y, z)
    first = perpendicular(SCALAR, up, [])
    axes = np.array([first, cross(up, first)], float)

    def seen(points: Array) -> list[PlanePoint]:
        rows = ((points - np.array(start.root)) / start.unit) @ axes.T
        return [(u, v) for u, v in rows.tolist()]

    support, stance = convex_hull(seen(balance.support)), convex_hull(seen(balance.stance))
    centers = balance.centers / start.unit
    normals, offsets = _edges(support)
    task = BalanceTask(balance.bones.tolist(), balance.masses, centers, axes, normals, offsets - MARGIN)
    center = task.center(placed)
    here = (float(center[0]), float(center[1]))
    if math.dist(here, nearest_in_hull(stance, here)) > STANDING:
        return None
    share = min(1.0, pulled / SHIFTED)
    beyond = task.beyond(placed) + MARGIN
    return replace(task, offsets=task.offsets + (1.0 - share) * np.maximum(beyond, 0.0))
