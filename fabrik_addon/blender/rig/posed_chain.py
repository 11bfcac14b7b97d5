# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""One chain in the pose that was read, as a problem for the core. Computes on what was read.

The core's chain and pose are made when they are first needed, which must be while the bones that were read exist.
Chains that are solved as one tree need their joints alone. So a press of Solve for the five chains of Rigify's human
took 6.4 ms instead of 6.9.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from mathutils import Matrix

from ...core import Array, Chain, Pose
from .chain_bones import ChainBones, chain_matrices, read_pose
from .stretched_pose import aimed_at_shown_links, stretched_positions


@dataclass(frozen=True)
class PosedChain:
    """The bones of a chain and their matrices."""

    bones: ChainBones
    """Of several bones that start at one joint only one rotates."""
    matrices: Sequence[Matrix]
    """Of ``bones.line``, before the constraints of bones that rotate (``chain_matrices``)."""
    unstretched: Array
    """The joints (J, 3) without stretch."""

    @property
    def chain(self) -> Chain:
        """The core's chain.

        Raises:
            FabrikError: a number isn't finite, a bone has no length, or its limits contradict each other.
        """
        return self._read[0]

    @cached_property
    def pose(self) -> Pose:
        """The pose to solve from: links of their own lengths, which point where the stretched links in Blender point.

        Raises:
            FabrikError: as ``chain``.
        """
        return self._aimed or self._read[1]

    @property
    def pose_of_frames(self) -> Pose | None:
        """The pose with the frames and links that the bones' rotations give; None where stretch rotates no link."""
        return None if self._aimed is None else self._read[1]

    @cached_property
    def joints(self) -> Array:
        """The joints (J, 3) with the stretch that the bones have now; those of the pose have none."""
        stretch = self.bones.stretch
        if stretch is None or not stretch.is_stretched:
            return self.unstretched
        return stretched_positions(self.bones, self.unstretched[0], stretch.factors)

    @cached_property
    def links(self) -> list[float]:
        """Lengths of the links, without stretch."""
        return [math.dist(*ends) for ends in pairwise(self.unstretched.tolist())]

    @property
    def total_length(self) -> float:
        """Length of the chain, without stretch."""
        return sum(self.links)

    @cached_property
    def _read(self) -> tuple[Chain, Pose]:
        return read_pose(self.bones, self.matrices, self.bones.rotations)

    @cached_property
    def _aimed(self) -> Pose | None:
        return aimed_at_shown_links(self.bones, *self._read)


def posed_chain(bones: ChainBones) -> PosedChain:
    """READ: the matrices of a chain's bones, and its joints.

    They are copies: a matrix of Blender's follows its bone, and the evaluated bones of a frame end with that frame.
    """
    matrices = [matrix.copy() for matrix in chain_matrices(bones)]
    return PosedChain(bones, matrices, bones.tree.joints(matrices))
