# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Chains that belong together: read once, solved as one problem, as often as their goals change.

Whoever poses chains does it group by group, in the order given: a group hangs on, or reaches for, bones of groups
before it only, and is read anew once those were written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ..core import FabrikError, Goals
from .snapshot import Snapshot, take_snapshot
from .solve_snapshot import SolvedChain, solve_snapshot

if TYPE_CHECKING:
    from bpy.types import Object, ViewLayer

    from .properties import FabrikChain


@dataclass(frozen=True)
class Group:
    """Chains of an armature that are solved as one, ready to be solved."""

    snapshots: tuple[Snapshot, ...]
    """One for each chain, in the order of their bones in the armature."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the chains."""
        return tuple(snapshot.bones.chain_name for snapshot in self.snapshots)

    @cached_property
    def bones(self) -> frozenset[str]:
        """Names of the bones that may turn."""
        return frozenset(bone.name for snapshot in self.snapshots for bone in snapshot.bones.bones)

    @cached_property
    def moving(self) -> frozenset[str]:
        """Names of the bones that move when the group does: its own and their children."""
        return frozenset().union(*(snapshot.moving for snapshot in self.snapshots))

    @cached_property
    def rests_on(self) -> frozenset[str]:
        """Names of the bones that say where the group's roots and goals are."""
        parents = (snapshot.bones.bones[0].parent_recursive for snapshot in self.snapshots)
        hangs_on = {bone.name for above in parents for bone in above}
        return frozenset(hangs_on.union(*(snapshot.followed for snapshot in self.snapshots))) - self.moving

    @cached_property
    def depth(self) -> int:
        """Number of bones above the root."""
        return min(len(snapshot.bones.bones[0].parent_recursive) for snapshot in self.snapshots)


def take_groups(view_layer: ViewLayer, armature: Object, chains: Sequence[FabrikChain]) -> list[Group]:
    """Read chains; return them as groups, in the order in which they can be solved.

    All chains are read and checked, so that an error comes before anything is written.

    Args:
        view_layer: evaluated, with nothing changed since.
        armature: object with the chains.
        chains: its chains to be solved, in any order.

    Raises:
        FabrikError: a chain or its target can't be used, or chains wait for each other.
    """
    for name, count in Counter(chain.name for chain in chains).items():
        if count > 1:
            raise FabrikError(f"{count} chains of '{armature.name}' are named '{name}': give each a name of its own")
    return gather([take_snapshot(view_layer, armature, chain) for chain in chains])


def gather(snapshots: Sequence[Snapshot]) -> list[Group]:
    """Return chains that were read, each with a name of its own, as groups in the order in which they can be solved.

    Raises:
        FabrikError: groups wait for each other.
    """
    return _in_order([Group((snapshot,)) for snapshot in snapshots])


def take_group(view_layer: ViewLayer, armature: Object, chains: Sequence[FabrikChain]) -> Group:
    """Read chains that are known to be one group, as one that ``take_groups`` returned: after others have moved it.

    Raises:
        FabrikError: a chain or its target can't be used.
    """
    return Group(tuple(take_snapshot(view_layer, armature, chain) for chain in chains))


def solve_group(group: Group, goals: Mapping[str, Goals] | None = None) -> tuple[SolvedChain, ...]:
    """Solve a group from the pose in which it was read. Writes nothing.

    Args:
        group: read from Blender.
        goals: by the names of the chains that have other goals than those that were read.

    Returns:
        what to write for each chain, in the group's order. Bones in several chains have the same channels in each.

    Raises:
        FabrikError: the goals aren't finite.
    """
    goals = goals or {}
    return tuple(solve_snapshot(snapshot, goals.get(snapshot.bones.chain_name)) for snapshot in group.snapshots)


def solve_frames(frames: Sequence[Group]) -> list[tuple[SolvedChain, ...]]:
    """Solve one group that was read at several frames; return what ``solve_group`` does for each of them."""
    return [solve_group(group) for group in frames]


def _in_order(groups: list[Group]) -> list[Group]:
    """Sort groups: nearer the root first, and after those that move what they rest on.

    Raises:
        FabrikError: groups reach for each other's bones.
    """
    waiting = sorted(groups, key=lambda group: group.depth)
    ordered: list[Group] = []
    while waiting:
        for group in waiting:
            if not any(_waits_for(group, other) for other in waiting if other is not group):
                break
        else:
            names = " and ".join(f"'{name}'" for group in waiting for name in group.names)
            raise FabrikError(f"Chains {names} wait for each other: their targets follow each other's bones")
        waiting.remove(group)
        ordered.append(group)
    return ordered


def _waits_for(group: Group, other: Group) -> bool:
    """Tell whether a group can be solved only after another one has moved."""
    roots = {snapshot.bones.bones[0].name for snapshot in group.snapshots}
    hangs = not roots.isdisjoint(other.moving) and group.depth > other.depth
    followed = frozenset().union(*(snapshot.followed for snapshot in group.snapshots))
    return hangs or not followed.isdisjoint(other.moving)
