# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The coordinates of a tree in a descent: their weights and limits, and the poses that changes of them lead to.

They are those of the bones (N: three of a free bone, those that its limits leave open of another), then those of the
roots' shifts (S).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..math.operations import TINY, Array
from ..model.skeleton import Tree
from ..model.tree_state import State


@dataclass(frozen=True)
class TreeCoordinates:
    """The coordinates of the poses of a tree; they are the same for all tasks."""

    tree: Tree
    moves_root: bool
    batch: tuple[int, ...] = ()
    """The batch axes of poses, which all arrays have before the others: none of one pose."""
    bone_weights: Sequence[float] | None = None
    """Divisors of W by bone, with which P is W^-1: descents with held tasks and by weight end in one pose nearest to
    the reference pose."""

    @cached_property
    def shift_count(self) -> int:
        """Columns of the roots' shifts."""
        return 3 * len(self.tree.structure.roots) if self.moves_root else 0

    @cached_property
    def weights(self) -> Array:
        """(N + S,) W: how readily each coordinate changes, its bone's share of a step (``Tree.shares``).

        A half-sine, the coordinate of a swing, is half its angle: the structure has a factor of 1/4 for it.
        """
        structure = self.tree.structure
        own = np.array(self.tree.shares).reshape(-1).take(structure.flat_columns) * structure.weights
        if self.bone_weights is not None:
            own /= np.array(self.bone_weights)[structure.column_bones]
        return np.concatenate([own, np.ones(self.shift_count)])

    @cached_property
    def posture_weights(self) -> Array:
        """(N + S,) P, weights of the squared coordinates in the posture task: p / W with p = ``Tree.posture_weights``.

        Where there are none, p = ``Tree.carried_lengths``. With ``bone_weights`` P is W^-1.
        """
        if self.bone_weights is not None:
            return self.metric
        own = self.tree.posture_weights or self.tree.carried_lengths
        structure = self.tree.structure
        shifted = np.repeat(structure.root_rows, 3) if self.shift_count else structure.root_rows[:0]
        return 1.0 / (self.weights / np.array(own)[np.concatenate([structure.column_bones, shifted])])

    @cached_property
    def metric(self) -> Array:
        """(N + S,) W^-1, weights of the squared coordinates of the way to the reference pose where tasks are held."""
        return 1.0 / self.weights

    def to_reference(self, state: State, reference: State | None) -> Array:
        """Return q0 - q (N + S,): rotation vectors of free bones, coordinates of the others; 0 without one."""
        if reference is None:
            return np.zeros((*self.batch, len(self.weights)))
        way = self.tree.way(
            state.rotations, state.limited_coordinates, (reference.rotations, reference.limited_coordinates)
        )
        found: Array = way.reshape(*self.batch, -1).take(self.tree.structure.flat_columns, -1)
        if self.shift_count:
            found = np.concatenate([found, (reference.shifts - state.shifts).reshape(*self.batch, -1)], axis=-1)
        return found

    def applied(self, state: State, change: Array) -> State:
        """Return the state after a change (N + S,) of the coordinates, within limits."""
        columns = self.tree.structure.flat_columns
        by_joint = np.zeros((*state.rotations.shape[:-1], 3))
        by_joint.reshape(*self.batch, -1)[..., columns] = change[..., : len(columns)]
        rotations, limited_coordinates = self.tree.rotated(state.rotations, state.limited_coordinates, by_joint)
        shifts = state.shifts
        if self.shift_count:
            shifts = shifts + change[..., len(columns) :].reshape(shifts.shape)
        return State(self.tree, rotations, limited_coordinates, shifts)

    def bounds(self, state: State) -> tuple[Array, Array]:
        """Return how far each coordinate may go down and up (N + S,); on an ellipse's axes only as far as its box."""
        structure = self.tree.structure
        lower, upper = self.ends
        numbers, places = structure.limited_columns
        values = np.zeros((*self.batch, len(lower)))
        values[..., numbers] = state.limited_coordinates.reshape(*self.batch, -1).take(places, -1)
        return lower - values, upper - values

    @cached_property
    def ends(self) -> tuple[Array, Array]:
        """(N + S,), (N + S,) smallest and largest value of each coordinate."""
        lower, upper = self.tree.structure.ends
        more = np.full(self.shift_count, np.inf)
        return np.concatenate([lower, -more]), np.concatenate([upper, more])

    def ellipses(self, state: State) -> tuple[Array, Array]:
        """Return the share of each swing of its ellipse (E,), 1 on it, and the outward normals there (E, 2)."""
        swings, radii = self.tree.structure.swings(state.limited_coordinates)
        across = swings / radii
        share = np.hypot(across[..., 0], across[..., 1])
        across /= radii
        return share, across / (np.hypot(across[..., 0], across[..., 1]) + TINY)[..., None]
