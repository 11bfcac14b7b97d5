# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A tree of rigid bodies: every bone carries the joints that hang on it at fixed places in its own frame.

So a sub-base body (a pelvis with two legs and a spine, a palm with five fingers) keeps its shape whatever target is
moved, and bones that don't touch their parent's tail keep their offset: both are joints at some offset in a bone's
frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ..math.operations import Vector
from ..math.quaternions import Quaternion
from .joint_limits import JointLimits
from .tree_arrays import TreeArrays


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
    def children(self) -> list[list[int]]:
        """The joints that hang on each joint's bone."""
        children: list[list[int]] = [[] for _ in self.parents]
        for joint, parent in enumerate(self.parents):
            if parent >= 0:
                children[parent].append(joint)
        return children

    @cached_property
    def bones(self) -> list[int]:
        """The joints at which bones start, parents first."""
        return [joint for joint, children in enumerate(self.children) if children]

    @cached_property
    def above(self) -> list[list[int]]:
        """The joints from each joint's parent up to the root."""
        above: list[list[int]] = []
        for parent in self.parents:
            above.append([parent, *above[parent]] if parent >= 0 else [])
        return above

    @cached_property
    def supporting_bones(self) -> list[list[tuple[int, int]]]:
        """The bones that move each joint as they rotate, each with the joint of it that moves along."""
        found: list[list[tuple[int, int]]] = []
        for joint, above in enumerate(self.above):
            carried = joint
            found.append([])
            for bone in above:
                if self.is_free[bone] or not all(self.limits[bone].locked):
                    found[-1].append((bone, carried))
                if not self.inherits[bone]:
                    carried = bone  # what hangs on a bone that doesn't rotate with its parent moves with its head alone
        return found

    @cached_property
    def bone_supports(self) -> list[list[int]]:
        """The bones that rotate the frame of the bone at each joint, itself first."""
        found = []
        for joint, above in enumerate(self.above):
            bone_supports = [joint]
            for bone in above:
                if not self.inherits[bone_supports[-1]]:
                    break
                bone_supports.append(bone)
            found.append(bone_supports)
        return found

    @cached_property
    def root_of(self) -> list[int]:
        """The root that each joint moves with, or -1."""
        return [
            next((bone for bone in (joint, *above) if bone in self.roots), -1) for joint, above in enumerate(self.above)
        ]

    @cached_property
    def arrays(self) -> TreeArrays:
        """The bones as arrays."""
        return TreeArrays(
            self.parents,
            self.offsets,
            self.rests,
            self.inherits,
            self.bones,
            self.limits,
            self.is_free,
            self.roots,
            self.supporting_bones,
            self.bone_supports,
            self.is_anchor,
        )
