# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Chains that belong together: read once, solved as one problem, as often as their goals change.

Chains that share bones belong together, and so do chains of which one hangs on another: they are one tree. A chain
whose target follows the tree it hangs on waits for it instead, and so does one that no tree is solved for: with a
solver that takes one chain only or isn't the others', with stretch, or without influence.

Whoever poses chains does it group by group, in the order given: a group hangs on, or reaches for, bones of groups
before it only, and is read anew once those were written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...core import SOLVERS, FabrikError, Goals, solver_for_tree
from ..rig.chain_bones import check_root_moves
from ..rig.snapshot import Snapshot, take_snapshot
from .solve_chain_bones import SolvedChain, solve_snapshot
from .solve_tree_bones import ReadTree, solve_tree_bones, take_tree

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone, ViewLayer

    from ..rig.properties import FabrikChain


@dataclass(frozen=True)
class Group:
    """Chains of an armature that are solved as one, ready to be solved."""

    snapshots: tuple[Snapshot, ...]
    """One for each chain, in the order of their bones in the armature."""
    tree: ReadTree | None = None
    """What several chains make together, or one that reaches for a bone of its own; None is one plain chain."""
    shifting: tuple[PoseBone, ...] = ()
    """The bones whose location is written where a root gives way."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the chains."""
        return tuple(snapshot.name for snapshot in self.snapshots)

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
        return frozenset(hangs_on | self.followed) - self.moving

    @cached_property
    def followed(self) -> frozenset[str]:
        """Names of the bones that targets and poles follow."""
        return frozenset().union(*(snapshot.followed for snapshot in self.snapshots))

    @cached_property
    def indirectly(self) -> frozenset[str]:
        """Those of them that aren't followed only because a target bone hangs on them."""
        return frozenset().union(*(snapshot.indirectly for snapshot in self.snapshots))

    @cached_property
    def target_bones(self) -> frozenset[str]:
        """Names of the bones of the same armature that are targets."""
        return frozenset(snapshot.target_bone for snapshot in self.snapshots if snapshot.target_bone)

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
    return group_snapshots(take_snapshots(view_layer, armature, chains))


def take_snapshots(view_layer: ViewLayer, armature: Object, chains: Sequence[FabrikChain]) -> list[Snapshot]:
    """Read chains, in the order given; the arguments are those of ``take_groups``.

    Raises:
        FabrikError: a chain or its target can't be used, or two chains have the same name.
    """
    for name, count in Counter(chain.name for chain in chains).items():
        if count > 1:
            raise FabrikError(f"{count} chains of '{armature.name}' are named '{name}': give each a name of its own")
    return [take_snapshot(view_layer, armature, chain) for chain in chains]


def group_snapshots(snapshots: Sequence[Snapshot]) -> list[Group]:
    """Return chains that were read, each with a name of its own, as groups in the order in which they can be solved.

    Raises:
        FabrikError: groups wait for each other, or a chain's target depends on its own group.
    """
    return in_order([prepared(group.snapshots) for group in clusters_of(snapshots)])


def clusters_of(snapshots: Sequence[Snapshot]) -> list[Group]:
    """Return chains that were read as groups, in no order and not ready to be solved: only what belongs together."""
    clusters = [Group((snapshot,)) for snapshot in sorted(snapshots, key=_place)]
    number = 0
    while number < len(clusters):
        group = clusters[number]
        near = next((other for other in clusters[number + 1 :] if _belong(group, other)), None)
        if near is None:
            number += 1
            continue
        clusters.remove(near)
        clusters[number] = Group(tuple(sorted((*group.snapshots, *near.snapshots), key=_place)))
        number = 0
    return clusters


def take_group(view_layer: ViewLayer, armature: Object, chains: Sequence[FabrikChain]) -> Group:
    """Read chains that are known to be one group, as one that ``take_groups`` returned: after others have moved it.

    Raises:
        FabrikError: a chain or its target can't be used.
    """
    return prepared(sorted((take_snapshot(view_layer, armature, chain) for chain in chains), key=_place))


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
    wished = [goals.get(snapshot.bones.chain_name) for snapshot in group.snapshots]
    if group.tree is None:
        return tuple(solve_snapshot(*pair) for pair in zip(group.snapshots, wished, strict=True))
    filled = [snapshot.goals if goal is None else goal for snapshot, goal in zip(group.snapshots, wished, strict=True)]
    return solve_tree_bones(group.tree, group.snapshots, filled)


def _place(snapshot: Snapshot) -> tuple[int, int, bool, str]:
    """Return what chains are sorted by: their tips' place in the hierarchy, whatever the order of the list."""
    end = snapshot.bones.end
    armature: Any = end.id_data
    return len(end.parent_recursive), armature.pose.bones.find(end.name), snapshot.bones.use_tail, snapshot.name


def _belong(group: Group, other: Group) -> bool:
    """Tell whether two groups are to be solved as one."""
    if any(map(_is_alone, (*group.snapshots, *other.snapshots))):
        return False
    if group.snapshots[0].options.solver != other.snapshots[0].options.solver:
        return False
    if not group.bones.isdisjoint(other.bones):
        return True
    if not (group.indirectly.isdisjoint(other.moving) and other.indirectly.isdisjoint(group.moving)):
        return False
    if not (group.target_bones.isdisjoint(other.moving) or other.target_bones.isdisjoint(group.moving)):
        return True  # each reaches for what the other moves
    return _hangs(group, other) or _hangs(other, group)


def _is_alone(snapshot: Snapshot) -> bool:
    options = snapshot.options
    return snapshot.influence == 0.0 or not SOLVERS[options.solver].solves_trees or options.stretch_max > 1.0


def _hangs(group: Group, other: Group) -> bool:
    """Tell whether a root of a group is carried by what another group turns."""
    return not other.moving.isdisjoint(snapshot.bones.bones[0].name for snapshot in group.snapshots)


def prepared(snapshots: Sequence[Snapshot]) -> Group:
    """Return chains that belong together as a group that can be solved, with what is to be read of them together.

    Raises:
        FabrikError: a target or pole depends on the group, or its root can't give way as it should.
    """
    group = Group(tuple(snapshots))
    for snapshot in snapshots:
        hit = sorted(snapshot.indirectly & group.moving)
        if hit:
            names = " and ".join(f"'{name}'" for name in group.names if name != snapshot.name)
            raise FabrikError(
                f"Chain '{snapshot.name}': its target or pole depends on chains {names}, which are solved together "
                f"with it: it follows bone '{hit[0]}'"
            )
    shifting = _shifting(snapshots)
    is_tree = len(snapshots) > 1 or any(snapshot.target_bone in group.moving for snapshot in snapshots)
    if not is_tree:
        return Group(group.snapshots, None, shifting)
    try:
        solver_for_tree(snapshots[0].options)
    except FabrikError as error:
        raise FabrikError(f"Chain '{snapshots[0].name}': {error}") from error
    armature: Any = snapshots[0].bones.end.id_data
    return Group(group.snapshots, take_tree(armature, snapshots, shifting), shifting)


def _shifting(snapshots: Sequence[Snapshot]) -> tuple[PoseBone, ...]:
    """Return the bones whose location is written where a root gives way.

    Raises:
        FabrikError: one is connected to its parent, or locked.
    """
    roots = {snapshot.bones.bones[0].name: snapshot.bones.bones[0] for snapshot in snapshots}
    top = [bone for bone in roots.values() if roots.keys().isdisjoint(above.name for above in bone.parent_recursive)]
    willing = {snapshot.bones.bones[0].name for snapshot in snapshots if snapshot.options.moves_root}
    # What hangs together has one root: it gives way if any of the chains lets it.
    found = [bone for bone in top if bone.name in willing or (willing and len(top) == 1)]
    for bone in found:
        try:
            check_root_moves(bone)
        except FabrikError as error:
            name = next(snapshot.name for snapshot in snapshots if snapshot.options.moves_root)
            raise FabrikError(f"Chain '{name}': {error}") from error
    return tuple(found)


def in_order(groups: list[Group]) -> list[Group]:
    """Return groups sorted: nearer the root first, and after those that move what they rest on.

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
    return hangs or not group.followed.isdisjoint(other.moving)
