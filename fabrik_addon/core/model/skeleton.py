# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A tree of rigid bodies: every bone carries the joints that hang on it at fixed places in its own frame.

So a sub-base body (a pelvis with two legs and a spine, a palm with five fingers) keeps its shape whatever target is
moved, and bones that don't touch their parent's tail keep their offset: both are joints at some offset in a bone's
frame.

With the frame F_p(j) that the bone j inherits, its rest frame S_j in that frame and its own rotation q_j, the bone's
rotation in the inherited frame is ``L_j = S_j q_j``, and the forward kinematics of all bones are

    F_j = F_p(j) L_j,    p_j = sum over the joints i from the root to j of (F_parent(i) o_i + s_i)

with the offset o_i of a joint in its parent's frame and the shift s_i of a root. The products along the ways from the
root are found for all bones at once, in as many rounds as the depth has binary digits: after the round k ``F_j`` holds
the product of the last 2^k rotations on the way to j (pointer doubling, Wyllie 1979).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..math.operations import ARRAY, TINY, Array, Vector
from ..math.quaternion_arrays import conjugate, crossing, from_values, multiply, to_matrices
from ..math.quaternions import Quaternion
from .euler_joint import euler_axes, own_rotation
from .joint_limits import SwingTwist, rotation_of, swing_axes
from .placed_tree import PlacedTree
from .tree_structure import TreeStructure

JointCoordinates = Quaternion | SwingTwist
"""Rotation of one bone in its parent frame: a quaternion where the bone is free, swing and twist where it has limits,
Euler angles where these have limits (``JointLimits.order``)."""

LEAST_POSTURE_WEIGHT = 2.65
"""Least of ``Tree.carried_lengths``: with 2 a hand that carries nothing rotated by 11.5 degrees in a step."""


@dataclass(frozen=True, eq=False)
class Tree:
    """The bones of a tree in one solve, in units of the tree's size, with one row of the arrays for each joint."""

    structure: TreeStructure
    """What doesn't depend on lengths and pose: parents, limits, roots."""
    lengths: Sequence[float]
    """Distance of each joint from its parent, which never changes."""
    offsets: Sequence[Vector]
    """Of each joint in the frame of its parent's bone."""
    rests: Sequence[Quaternion]
    """Rest frame of each bone in its parent's; one that doesn't inherit, and the root's, is in armature space."""
    shares: Sequence[Vector]
    """Share of a step that each bone takes about its x, y, z: less than 1 is stiff."""
    posture_weights: Sequence[float] | None = None
    """``Chain.posture_weights``."""

    @cached_property
    def carried_lengths(self) -> list[float]:
        """1 and the length of all links that hang on each joint, over the least of a bone; not below a least weight.

        Weights of a posture task for which nobody has chosen others: of two bones that bring an effector to the same
        place the one that carries less rotates. With equal weights a spine between a head and feet that are held
        buckles from one bend to the other, and without the 1 the neck, a twentieth as stiff as the hips, does.
        """
        parents = self.structure.parents
        found = [0.0] * len(parents)
        for joint in range(len(parents) - 1, 0, -1):
            parent = parents[joint]
            if parent >= 0:
                found[parent] += found[joint] + self.lengths[joint]
        least = min((found[bone] for bone in self.structure.bones if found[bone] > 0.0), default=1.0)
        return [max(1.0 + length / least, LEAST_POSTURE_WEIGHT) for length in found]

    @cached_property
    def rest_products(self) -> Array:
        """(J, 4, 4) matrices that multiply a quaternion by the rest frame from the left."""
        rests = np.array(self.rests, float)
        rests[[not children for children in self.structure.children]] = 1.0, 0.0, 0.0, 0.0
        return multiply(rests[:, None, :], np.eye(4)).transpose(0, 2, 1)

    @cached_property
    def offset_columns(self) -> Array:
        """(J, 3, 1) o_j; 0 at the root."""
        found = np.array(self.offsets, float)[:, :, None]
        found[0] = 0.0
        return found

    def of_frames(self, trees: Sequence[Tree]) -> Tree:
        """Return the tree of F frames, which have this one's structure: its arrays have an axis of F before the others.

        Lengths, and the posture weights that follow from them, are this one's.
        """
        made = replace(self)
        for name in ("rest_products", "offset_columns", "limited_rests", "limited_rest_matrices"):
            made.__dict__[name] = np.array([getattr(tree, name) for tree in trees])
        return made

    def placed(self, rotations: Array, shifts: Array) -> PlacedTree:
        """Return joints and frames, with the first joint at the origin (forward kinematics).

        Args:
            rotations: (J + 1, 4) L of each bone; the identity of joints without a bone, and at the end.
        """
        matrices = to_matrices(rotations)
        for before in self.structure.rounds:
            matrices = matrices.take(before, -3) @ matrices
        steps = (matrices.take(self.structure.parent_rows, -3) @ self.offset_columns)[..., 0]
        if self.structure.roots:
            steps[..., self.structure.root_rows, :] += shifts
        return PlacedTree(self.structure.ancestry @ steps, matrices, rotations, self.structure)

    @cached_property
    def limited_rests(self) -> Array:
        """(L, 4, 4) their ``rest_products``."""
        return self.rest_products[self.structure.limited]

    @cached_property
    def limited_rest_matrices(self) -> Array:
        """(L, 3, 3) matrices of their rest frames."""
        return to_matrices(np.array(self.rests, float).reshape(-1, 4)[self.structure.limited])

    def split(self, coordinates: Sequence[JointCoordinates]) -> tuple[Array, Array]:
        """Return L of each bone (J + 1, 4) and the coordinates of the bones with limits (L, 3)."""
        own = np.zeros((len(self.structure.parents) + 1, 4))
        own[:, 0] = 1.0
        for j in self.structure.bones:
            value = coordinates[j]
            own[j] = value if len(value) == 4 else own_rotation(self.structure.limits[j], value)
        own /= np.sqrt((own * own).sum(axis=1))[:, None]
        own[:-1] = (self.rest_products @ own[:-1, :, None])[:, :, 0]
        limited = [coordinates[j] for j in self.structure.limited]
        return own, np.array(limited, float).reshape(-1, 3)

    def joined(self, rotations: Array, limited_coordinates: Array) -> list[JointCoordinates]:
        """Return the coordinates of each bone, by joint, as floats: the inverse of ``split``."""
        own = (rotations[:-1, None, :] @ self.rest_products)[:, 0]  # the inverse of a rotation is its transpose
        found: list[JointCoordinates] = [(w, x, y, z) for w, x, y, z in own.tolist()]
        for j, (x, y, z) in zip(self.structure.limited.tolist(), limited_coordinates.tolist(), strict=True):
            found[j] = (x, y, z)
        return found

    def rotated(self, rotations: Array, limited_coordinates: Array, change: Array) -> tuple[Array, Array]:
        """Return ``split``'s arrays after a change of the coordinates, within limits.

        Args:
            change: (J + 1, 3) rotation vectors of free bones in the frames that they inherit; changes of the
                coordinates of the others.
        """
        angle = np.sqrt((change * change) @ _ONES)
        half = 0.5 * angle
        turns = np.empty((*angle.shape, 4))
        turns[..., 0] = np.cos(half)
        np.multiply(change, (np.sin(half) / (angle + TINY))[..., None], out=turns[..., 1:])
        made = multiply(turns, rotations)
        if self.structure.limited.size:
            limited_coordinates = self.structure.clamped(limited_coordinates + change.take(self.structure.limited, -2))
            own = np.array(rotation_of(ARRAY, tuple(limited_coordinates.T))).T
            for order, rows in self.structure.euler_rows:
                own[..., rows, :] = from_values(order, limited_coordinates[..., rows, :])
            made[..., self.structure.limited, :] = (self.limited_rests @ own[..., None])[..., 0]
        return made, limited_coordinates

    def way(self, rotations: Array, limited_coordinates: Array, there: tuple[Array, Array]) -> Array:
        """Return the change (J + 1, 3) of the coordinates, as in ``rotated``, that leads to others."""
        turns = multiply(there[0], conjugate(rotations))
        cosine, axis = turns[..., 0], turns[..., 1:]
        sine = np.sqrt((axis * axis) @ _ONES)
        share = np.arctan2(sine, np.abs(cosine)) / (sine + TINY)
        found: Array = axis * np.copysign(share + share, cosine)[..., None]
        if self.structure.limited.size:
            change = there[1] - limited_coordinates
            if self.structure.unbounded_angles.size:
                flat, places = change.reshape(*change.shape[:-2], -1), self.structure.unbounded_angles
                flat[..., places] -= math.tau * np.round(flat[..., places] / math.tau)
                change = flat.reshape(change.shape)
            found[..., self.structure.limited, :] = change
        return found

    def axes(self, placed: PlacedTree, limited_coordinates: Array) -> Array:
        """Return the axes (B, 3, 3), columns, about which bones rotate with each coordinate, in armature space.

        Those of a free bone are the axes of the frame that it inherits. Those of swing and twist are ``swing_axes`` in
        the parent frame of the bone, and the bone's y axis; those of Euler angles ``euler_axes``, in the rest frame.
        """
        rows = self.structure.limited
        if not rows.size:
            return placed.matrices.take(self.structure.inherited[self.structure.turning], -3)
        axes = placed.matrices.take(self.structure.inherited, -3)
        own = np.zeros((*limited_coordinates.shape, 3))
        for column, axis in zip((0, 2), swing_axes(ARRAY, *limited_coordinates.T[::2]), strict=True):
            own[..., column] = np.array(axis).T
        for order, numbers in self.structure.euler_rows:
            own[..., numbers, :, :] = euler_axes(order, limited_coordinates[..., numbers, :])
        axes[..., rows, :, :] = axes.take(rows, -3) @ self.limited_rest_matrices @ own
        twisting = rows[self.structure.swing_twist_rows]
        axes[..., twisting, :, 1] = placed.matrices[..., twisting, :, 1]
        return axes.take(self.structure.turning, -3)

    def moved(self, placed: PlacedTree, carried: tuple[NDArray[np.intp], Array], axes: Array) -> Array:
        """Return how joints (K) move with each column (K, 3, N): ``axis x (p_k - p_b)``.

        ``carried`` are the rows (K, B) and (K, B, 1) of the joints in ``TreeStructure.carried``, ``axes`` (B, 3, 3).
        """
        which, moves = carried
        lever = placed.points.take(which, -2)
        lever -= placed.points.take(self.structure.turning, -2)[..., None, :, :]
        lever *= moves
        # A product for each bone, (K, 3) by (3, 9): of 24 joints and 19 bones in a third of the time of ``cross``.
        crossed = crossing(axes.swapaxes(-1, -2)).swapaxes(-3, -1).reshape(*axes.shape[:-2], 3, 9)
        found = (lever.swapaxes(-2, -3) @ crossed).reshape(*axes.shape[:-2], -1, 3, 3)
        rows = found.swapaxes(-4, -3).swapaxes(-3, -2).reshape(*lever.shape[:-2], 3, 3 * lever.shape[-2])
        return rows if len(self.structure.chosen) == rows.shape[-1] else rows.take(self.structure.chosen, -1)


_ONES = np.ones(3)
