# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The start pose of a tree's solve: a checked pose as a tree of rigid bodies and its joint coordinates.

The root is at the origin and the unit is the length of the longest path from the root to a tip, so that all thresholds
are independent of scale. With joint positions p, bone frames F, rest frames S and the parent p(j) of joint j:

- offset of a joint in its parent's frame ``o_j = F_p(j)^-1 (p_j - p_p(j))``, scaled to the joint's length, which the
  pose has in single precision only;
- own rotation ``q_j = (R_p(j) S_j)^-1 F_j``, clamped to the bone's limits, where ``R`` are the frames that the own
  rotations of the bones before give.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..math.operations import SCALAR, Array, Vector
from ..math.quaternions import IDENTITY, Quaternion, conjugate, multiply, rotate
from ..math.vectors import distance_between, relative_to, scale, subtract
from ..problem import Chain, FabrikError, Pose
from .chain_start import check_length, rest_frames, split_pose
from .euler_joint import coordinates_within, own_rotation
from .joint_limits import joint_limits
from .placed_tree import PlacedTree
from .skeleton import JointCoordinates, Tree
from .tree_structure import tree_structure


@dataclass(frozen=True)
class StartTree:
    """A tree and the pose from which it is solved, in components: made once for a pose and used for all its goals."""

    chain: Chain
    pose: Pose
    root: Vector
    """First joint, in armature space."""
    unit: float
    """Length of the longest path from the root to a tip."""
    tree: Tree
    points: list[Vector]
    """Joints from the first one, in units."""
    frames: list[Quaternion]
    """Of the bones, by joint."""
    coordinates: list[JointCoordinates]
    """Of the bones, by joint, clamped to their limits; the identity at a joint without a bone."""

    @cached_property
    def arrays(self) -> tuple[Array, Array]:
        """The coordinates as arrays (``Tree.split``)."""
        return self.tree.split(self.coordinates)

    @cached_property
    def placed(self) -> PlacedTree:
        """Joints and frames of the coordinates, with the roots where they are."""
        return self.tree.placed(self.arrays[0], self.unshifted)

    @cached_property
    def unshifted(self) -> Array:
        """(R, 3) the roots' shifts where they are."""
        return np.zeros((len(self.tree.structure.roots), 3))

    @cached_property
    def own_lengths(self) -> list[float]:
        """Length of each effector's own chain, in units; 1 of an effector at its chain's start, which has no links."""
        ends = zip(self.chain.start_joints, self.chain.tips.tolist(), strict=True)
        return [self.length(start, tip) or 1.0 for start, tip in ends]

    def length(self, start: int, tip: int) -> float:
        """Return the length of the links from a joint out to another, in units; those of an anchor don't count."""
        way = self.way(start, tip)
        anchor = 0 if self.tree.structure.is_anchor else -1
        return sum(self.tree.lengths[j] for j in way[1:] if self.tree.structure.parents[j] != anchor)

    def way(self, start: int, tip: int) -> list[int]:
        """Return the joints from one out to another, both included."""
        above = [tip, *self.tree.structure.above[tip]]
        return above[: above.index(start) + 1][::-1]


def start_tree(chain: Chain, pose: Pose) -> StartTree:
    """Return the start pose of a tree: positions (J, 3) and rotations (J, 4) say where on a bone the next ones are."""
    _, batch, positions, frames = split_pose(chain, pose, None)
    if batch:
        raise FabrikError("the start of a tree is one pose")
    parents, count = chain.parents.tolist(), len(chain.lengths)
    ways = [0.0] * count
    for j in range(1, count):
        ways[j] = ways[parents[j]] + float(chain.lengths[j])
    unit = max(ways[tip] for tip in chain.tips.tolist())
    root = positions[0]
    points = [relative_to(position, root, unit) for position in positions]
    lengths = [float(length) / unit for length in chain.lengths]
    offsets = [points[0]]
    for j in range(1, count):
        parent = parents[j]
        if lengths[j] == 0.0:
            offsets.append((0.0, 0.0, 0.0))
            continue
        found = distance_between(SCALAR, points[j], points[parent])
        check_length(SCALAR, chain, parent, found, lengths[j])
        own = rotate(conjugate(frames[parent]), subtract(points[j], points[parent]))
        offsets.append(scale(own, lengths[j] / found))
    orders = chain.euler_orders or ("",) * count
    limits = tuple(joint_limits(*each) for each in zip(chain.lower.tolist(), chain.upper.tolist(), orders, strict=True))
    is_stiff = chain.stiffness.any(axis=1).tolist()
    is_free = tuple(limit.is_free and not stiff for limit, stiff in zip(limits, is_stiff, strict=True))
    rests = rest_frames(SCALAR, chain, pose, batch, 0.0)
    if pose.base is None and all(limits[0].locked):
        rests[0] = frames[0]
    inherits = chain.inherits.tolist()
    for j, parent in enumerate(parents):
        # F_p q with any q is any frame: where a bone may rotate any way its coordinates are counted from its parent,
        # with the rest frame F_p^-1 S_j, also if the bone doesn't inherit. Counted in armature space they would lead to
        # the posture task's half turn, where a forearm jumps.
        if is_free[j] and parent >= 0 and not inherits[j]:
            inherits[j], rests[j] = True, multiply(conjugate(frames[parent]), rests[j])
    structure = tree_structure(tuple(parents), tuple(inherits), limits, is_free, tuple(chain.roots), chain.has_anchor)
    shares = [tuple(row) for row in (1.0 - chain.stiffness).tolist()]
    posture_weights = None if chain.posture_weights is None else chain.posture_weights.tolist()
    tree = Tree(structure, lengths, offsets, rests, shares, posture_weights)
    return StartTree(chain, pose, root, unit, tree, points, frames, coordinates_of_tree(tree, frames))


def coordinates_of_tree(tree: Tree, frames: Sequence[Quaternion]) -> list[JointCoordinates]:
    """Return the joint coordinates within limits nearest to frames, in order from the roots outward.

    The parent frame of each bone is computed from its parent's joint coordinates, so that a clamped bone rotates the
    bones after it.
    """
    structure = tree.structure
    coordinates: list[JointCoordinates] = [IDENTITY] * len(structure.parents)
    made: list[Quaternion] = [IDENTITY] * len(structure.parents)
    for j in structure.bones:
        parent = structure.parents[j]
        rest = tree.rests[j]
        parent_frame = multiply(made[parent], rest) if parent >= 0 and structure.inherits[j] else rest
        own = multiply(conjugate(parent_frame), frames[j])
        if structure.is_free[j]:
            coordinates[j], made[j] = own, frames[j]
        else:
            coordinates[j] = within = coordinates_within(structure.limits[j], own)
            made[j] = multiply(parent_frame, own_rotation(structure.limits[j], within))
    return coordinates
