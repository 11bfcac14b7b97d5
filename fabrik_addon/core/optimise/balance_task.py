# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The balance task of a body: its center of mass over the hull of what is planted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..math.convex_region import PlanePoint, convex_hull, nearest_in_hull
from ..math.operations import SCALAR, TINY, Array, Component, Operations
from ..math.vectors import cross, perpendicular
from ..model.tree_arrays import PlacedTree
from ..model.tree_start import StartTree
from ..problem import Balance

AT_CORNER = 1e-9
"""Distance from a corner of a region, in the tree's units, that is rounding."""

SHIFTED = 0.1
"""Distance by which a handle is pulled, in the tree's units, from which on the center of mass has to be over what stays
planted."""

STANDING = 0.02
"""Distance of the center of mass from the hull of the stance, in the tree's units, up to which a pose is standing."""


@dataclass(frozen=True, eq=False)
class BalanceTask:
    """The center of mass ``c = sum_b m_b (p_b + R_b o_b)`` should be over a region of the floor."""

    bones: Sequence[int]
    masses: Array
    """(B,) m_b, shares of the whole."""
    centers: Array
    """(B, 3) o_b, in the bones' frames, from the bones' joints p_b."""
    axes: Array
    """(2, 3) two horizontal directions, in which the floor is seen."""
    region: Sequence[PlanePoint]
    """Corners of the convex region, counterclockwise."""
    rows = 2

    def center(self, placed: PlacedTree) -> PlanePoint:
        """Return the center of mass, seen along the vertical."""
        u, v = (self.axes @ (self.masses @ (placed.points[self.bones] + self.arms(placed)))).tolist()
        return u, v

    def arms(self, placed: PlacedTree) -> Array:
        """Return from each bone's joint to the center of its mass, ``R_b o_b`` (B, 3)."""
        arms: Array = (placed.matrices[self.bones] @ self.centers[:, :, None])[:, :, 0]
        return arms

    def residual(self, ops: Operations, placed: PlacedTree) -> tuple[Component, ...]:
        """Return from the center of mass to the nearest point of the region; 0 over the region."""
        here = self.center(placed)
        there = nearest_in_hull(self.region, here)
        return there[0] - here[0], there[1] - here[1]

    def across(self, placed: PlacedTree) -> tuple[PlanePoint, PlanePoint]:
        """Return the matrix with which the residual changes as the center of mass moves, but for the sign.

        It is 0 over the region, ``n n^T`` beyond an edge with the normal n, and the identity beyond a corner.
        """
        du, dv = (float(part) for part in self.residual(SCALAR, placed))
        size = math.hypot(du, dv)
        if size <= TINY:
            return (0.0, 0.0), (0.0, 0.0)
        here = self.center(placed)
        there = here[0] + du, here[1] + dv
        if any(math.dist(there, corner) <= AT_CORNER for corner in self.region):
            return (1.0, 0.0), (0.0, 1.0)
        nu, nv = du / size, dv / size
        return (nu * nu, nu * nv), (nv * nu, nv * nv)

    def partly(self, placed: PlacedTree, share: float) -> BalanceTask:
        """Return the task whose region reaches some share of the way nearer to a pose's center of mass."""
        du, dv = (float(part) for part in self.residual(SCALAR, placed))
        u, v = self.center(placed)
        return replace(self, region=convex_hull([*self.region, (u + share * du, v + share * dv)]))


def balance_task(start: StartTree, placed: PlacedTree, balance: Balance, pulled: float) -> BalanceTask | None:
    """Return the balance task of a body; None for a pose that isn't standing, or where nothing stays planted.

    The region is the hull of the support and of a point on the way from the center of mass of the start to that hull:
    at the start of a pull the center of mass may stay where it is, and it has to be over the support once a handle is
    pulled by ``SHIFTED``. Without that point a foot that is lifted by a millimetre would move the hips by half a step.

    Args:
        start: the body.
        placed: its pose before the pull.
        balance: masses, and points of the floor, in armature space.
        pulled: largest distance of a handle from its target, in the tree's units.
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
    task = BalanceTask(balance.bones.tolist(), balance.masses, centers, axes, support)
    here = task.center(placed)
    if math.dist(here, nearest_in_hull(stance, here)) > STANDING:
        return None
    share = min(1.0, pulled / SHIFTED)
    there = nearest_in_hull(support, here)
    between = (here[0] + share * (there[0] - here[0]), here[1] + share * (there[1] - here[1]))
    return replace(task, region=convex_hull([*support, between]))
