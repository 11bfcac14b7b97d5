# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A tree of rigid bodies: every bone carries the joints that hang on it at fixed places in its own frame.

So a sub-base body (a pelvis with two legs and a spine, a palm with five fingers) keeps its shape whatever target is
moved, and bones that don't touch their parent's tail keep their offset: both are joints at some offset in a bone's
frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ..math.operations import Vector
from ..math.quaternions import Quaternion
from .joint_limits import JointLimits
from .tree_arrays import TreeArrays
from .tree_structure import TreeStructure, tree_structure

LEAST_POSTURE_WEIGHT = 2.65
"""Least of ``Tree.carried_lengths``. A hand that carries nothing rotated by 11.5 degrees in a step with 2, by 10.1 with
2.65, where the forearm took 3.7: 2 of 50 seeded paths of Rigify's human had a step of more than 3 times the median
step's largest rotation. With a constant of 2 or more instead of the 1 that the lengths are added to, knees of feet led
past their poles jumped by up to 26 degrees."""


@dataclass(frozen=True)
class Tree:
    """J joints, parents before children, in units of the tree's size. A bone starts at each that has children."""

    parents: Sequence[int]
    """-1 at the root."""
    lengths: Sequence[float]
    """Distance of each joint from its parent, which never changes."""
    offsets: Sequence[Vector]
    """Of each joint in the frame of its parent's bone."""
    rests: Sequence[Quaternion]
    """Rest frame of each bone in its parent's; one that doesn't inherit, and the root's, is in armature space."""
    inherits: Sequence[bool]
    """Whether each bone rotates with its parent."""
    limits: Sequence[JointLimits]
    is_free: Sequence[bool]
    """Whether each bone may rotate any way, and as readily as any other."""
    shares: Sequence[Vector]
    """Share of a step that each bone takes about its x, y, z: less than 1 is stiff."""
    roots: Sequence[int]
    """Joints that root motion shifts."""
    is_anchor: bool = False
    """Whether the root is no bone but what several roots hang on."""
    posture_weights: Sequence[float] | None = None
    """``Chain.posture_weights``."""

    @cached_property
    def structure(self) -> TreeStructure:
        """What doesn't depend on lengths and pose."""
        return tree_structure(
            tuple(self.parents),
            tuple(self.inherits),
            tuple(self.limits),
            tuple(self.is_free),
            tuple(self.roots),
            self.is_anchor,
        )

    @cached_property
    def arrays(self) -> TreeArrays:
        """The bones as arrays."""
        return TreeArrays(self.structure, self.offsets, self.rests)

    def of_frames(self, trees: Sequence[Tree]) -> Tree:
        """Return the tree of F frames, which have this one's structure: its arrays have an axis of F before the others.

        Lengths, and the posture weights that follow from them, are this one's.
        """
        made = replace(self)
        made.__dict__["arrays"] = self.arrays.of_frames([tree.arrays for tree in trees])
        return made

    @property
    def children(self) -> list[list[int]]:
        """The joints that hang on each joint's bone."""
        return self.structure.children

    @cached_property
    def carried_lengths(self) -> list[float]:
        """1 and the length of all links that hang on each joint, over the least of a bone; not below a least weight.

        Weights of a posture task for which nobody has chosen others: of two bones that bring an effector to the same
        place the one that carries less rotates. With equal weights a spine between a head and feet that are held
        buckled from one bend to the other: paths of Rigify's human jumped by up to 18 degrees where all targets were
        met. Without the 1 the neck, a twentieth as stiff as the hips, buckled on 3 of 50 paths, by up to 15 degrees.
        """
        found = [0.0] * len(self.parents)
        for joint in range(len(self.parents) - 1, 0, -1):
            parent = self.parents[joint]
            if parent >= 0:
                found[parent] += found[joint] + self.lengths[joint]
        least = min((found[bone] for bone in self.bones if found[bone] > 0.0), default=1.0)
        return [max(1.0 + length / least, LEAST_POSTURE_WEIGHT) for length in found]

    @property
    def bones(self) -> list[int]:
        """The joints at which bones start, parents first."""
        return self.structure.bones

    @property
    def above(self) -> list[list[int]]:
        """The joints from each joint's parent up to the root."""
        return self.structure.above

    @property
    def supporting_bones(self) -> list[list[tuple[int, int]]]:
        """The bones that move each joint as they rotate, each with the joint of it that moves along."""
        return self.structure.supporting_bones
