# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the joints and bones of a tree move with each of its coordinates, at a pose."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..math.operations import Array
from ..math.quaternion_arrays import cross
from .placed_tree import PlacedTree
from .tree_structure import TreeStructure


@dataclass(frozen=True, eq=False)
class TreeMotions:
    """First derivatives of joints and frames by the N coordinates of the bones and the S of the roots' shifts.

    The arrays of many poses have the batch axes before the others.
    """

    placed: PlacedTree
    """The pose."""
    bone_axes: Array
    """(B, 3, 3) axes, columns, about which the bones rotate (``Tree.axes``)."""
    by_joint: Array
    """(K, 3, N + S) how joints move with each coordinate."""
    rows: Mapping[int, int]
    """Place of each of those joints in ``by_joint``."""

    @property
    def structure(self) -> TreeStructure:
        """The tree."""
        return self.placed.structure

    @cached_property
    def axes(self) -> Array:
        """(N, 3) axes of the coordinates."""
        rows = self.bone_axes.swapaxes(-1, -2).reshape(*self.by_joint.shape[:-3], -1, 3)
        return rows.take(self.structure.chosen, -2)

    def of_joint(self, joint: int) -> Array:
        """Return how a joint moves with each coordinate (3, N + S)."""
        return self.by_joint[..., self.rows[joint], :, :]

    def of_joints(self, joints: Sequence[int]) -> Array:
        """Return how joints move with each coordinate (K, 3, N + S)."""
        return self.by_joint.take([self.rows[joint] for joint in joints], -3)

    def of_points(self, bones: Sequence[int], offsets: Array, weights: Array) -> Array:
        """Return how ``sum_k w_k (p_k + R_k o_k)`` moves with each coordinate (3, N + S), of one pose.

        ``dp_k/dq + a x (R_k o_k)`` is the motion of a point, with the axis a of a coordinate that rotates its bone.

        The points are at offsets o_k (K, 3) from the joints p_k of bones (K,), in the bones' frames.
        """
        found = weights @ self.of_joints(bones).swapaxes(0, 1)
        arms = self.structure.turned[bones].T @ (weights[:, None] * self.placed.arms(bones, offsets))
        found[:, : len(self.axes)] += cross(self.axes, arms).T
        return found

    def axes_of(self, bone: int) -> Array:
        """Return the axes about which a bone rotates with each coordinate of the bones (N, 3); 0 where it doesn't."""
        return self.structure.turned[bone][:, None] * self.axes
