# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: which chains are solved as one problem, and in which order the groups of them are solved.

Chains belong together, as one tree, where they share bones, where the root of one moves with a bone of the other, or
where the target of one is a bone that the other moves. A chain whose target follows the tree with which its root moves
is solved after that tree. A chain is alone where its solver solves no trees, where it stretches, and where it has no
influence; chains with other solvers are other trees.

Groups are solved one after another: the root and the goals of a group depend on bones of earlier groups only, and the
group is read anew once those are written.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from ...core import SOLVERS, FabrikError, solver_for_tree
from ..bones.armature_bones import ArmatureBones
from ..rig.chain_bones import armature_of, check_root_moves
from ..rig.snapshot import Snapshot, check_alone, take_unchecked
from .solve_tree_bones import ReadTree, take_tree

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone, ViewLayer

    from ..bones.overrides import Acts
    from ..rig.properties import FabrikChain


@dataclass(frozen=True)
class Group:
    """Chains of an armature that are solved as one problem."""

    snapshots: tuple[Snapshot, ...]
    """One for each chain, in the order of their ends in the hierarchy (``order_of_tip``)."""
    tree: ReadTree | None = None
    """Of several chains, or of one that reaches for a bone of its own; None for one chain otherwise."""
    moving_roots: tuple[PoseBone, ...] = ()
    """The bones whose location is written where a root moves."""

    @property
    def body_tree(self) -> ReadTree:
        """The tree of a body: a body always is one."""
        assert self.tree is not None
        return self.tree

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the chains."""
        return tuple(snapshot.name for snapshot in self.snapshots)

    @cached_property
    def bones(self) -> frozenset[str]:
        """Names of the chains' bones."""
        return frozenset(bone.name for snapshot in self.snapshots for bone in snapshot.bones.bones)

    @cached_property
    def moving(self) -> frozenset[str]:
        """Names of the bones that move when the group does: its own and all bones below them."""
        return frozenset().union(*(snapshot.moving for snapshot in self.snapshots))

    @cached_property
    def depends_on(self) -> frozenset[str]:
        """Names of the bones on which the group's roots and goals depend."""
        parents = (snapshot.bones.bones[0].parent_recursive for snapshot in self.snapshots)
        hangs_on = {bone.name for above in parents for bone in above}
        return frozenset(hangs_on | self.followed) - self.moving

    @cached_property
    def followed(self) -> frozenset[str]:
        """Names of the bones that targets and poles follow."""
        return frozenset().union(*(snapshot.followed for snapshot in self.snapshots))

    @cached_property
    def followed_otherwise(self) -> frozenset[str]:
        """The bones of ``followed`` without those that are followed for carrying a target bone only."""
        return frozenset().union(*(snapshot.followed_otherwise for snapshot in self.snapshots))

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
        FabrikError: a chain or its target can't be used, or chains depend on each other.
    """
    return group_chains(take_snapshots(view_layer, armature, chains))


def take_snapshots(
    view_layer: ViewLayer, armature: Object, chains: Sequence[FabrikChain], acting: Mapping[str, Acts] | None = None
) -> list[Snapshot]:
    """Read chains, in the order given; the arguments are those of ``take_groups``.

    Whether each of them can be solved by itself isn't checked yet: ``with_tree`` does that.

    Args:
        acting: which constraints count, by the chains' names; else those that act now.

    Raises:
        FabrikError: a chain or its target can't be used, or two chains have the same name.
    """
    names = [chain.name for chain in chains]
    for name in names:
        if (count := names.count(name)) > 1:
            raise FabrikError(f"{count} chains of '{armature.name}' are named '{name}': give each a name of its own")
    now = ArmatureBones(armature)
    bones = {name: ArmatureBones(armature, acts) for name, acts in (acting or {}).items()}
    return [take_unchecked(view_layer, armature, chain, bones.get(chain.name, now)) for chain in chains]


def group_chains(snapshots: Sequence[Snapshot]) -> list[Group]:
    """Return chains, each with a name of its own, as groups in the order in which they can be solved.

    Raises:
        FabrikError: groups depend on each other, or a chain's target depends on its own group.
    """
    if len(snapshots) == 1:
        return [with_tree(Group((snapshots[0],)))]
    return solving_order([with_tree(group) for group in unite_chains(snapshots)])


def unite_chains(snapshots: Sequence[Snapshot]) -> list[Group]:
    """Return groups of the chains that belong together, in no order and without their trees."""
    ordered = sorted(snapshots, key=order_of_tip)
    groups = [Group((snapshot,)) for snapshot in ordered]
    number = 0
    while number < len(groups):
        group = groups[number]
        other = next((other for other in groups[number + 1 :] if _belong_together(group, other)), None)
        if other is None:
            number += 1
            continue
        groups.remove(other)
        names = {*group.names, *other.names}
        groups[number] = Group(tuple(snapshot for snapshot in ordered if snapshot.name in names))
        number = 0  # the larger group may belong together with one that its parts didn't
    return groups


def take_group(
    view_layer: ViewLayer, armature: Object, chains: Sequence[FabrikChain], held: Container[str] = ()
) -> Group:
    """Read the chains of a group that ``take_groups`` returned again, after other groups have moved it.

    Args:
        view_layer: evaluated, with nothing changed since.
        chains: of the group.
        held: names of chains that are held as pinned ones are.

    Raises:
        FabrikError: a chain or its target can't be used.
    """
    snapshots = [
        replace(snapshot, is_pinned=True) if snapshot.name in held else snapshot
        for snapshot in sorted(take_snapshots(view_layer, armature, chains), key=order_of_tip)
    ]
    return with_tree(Group(tuple(snapshots)))


def order_of_tip(snapshot: Snapshot) -> tuple[int, int, bool, str]:
    """Return what chains are sorted by: their tips in the hierarchy. The order of the list changes no result."""
    end = snapshot.bones.end
    place = armature_of(end).pose.bones.find(end.name)
    return len(end.parent_recursive), place, snapshot.bones.use_tail, snapshot.name


def _belong_together(group: Group, other: Group) -> bool:
    """Tell whether two groups are to be solved as one."""
    if any(map(_is_alone, (*group.snapshots, *other.snapshots))):
        return False
    if group.snapshots[0].options.solver != other.snapshots[0].options.solver:
        return False
    if not group.bones.isdisjoint(other.bones):
        return True
    if not (group.followed_otherwise.isdisjoint(other.moving) and other.followed_otherwise.isdisjoint(group.moving)):
        return False
    if not (group.target_bones.isdisjoint(other.moving) or other.target_bones.isdisjoint(group.moving)):
        return True  # the target bone of one moves with the other
    return _hangs_on(group, other) or _hangs_on(other, group)


def _is_alone(snapshot: Snapshot) -> bool:
    options = snapshot.options
    return snapshot.influence == 0.0 or not SOLVERS[options.solver].solves_trees or options.stretch_max > 1.0


def _hangs_on(group: Group, other: Group) -> bool:
    """Tell whether a root of a group moves with the bones of another group."""
    return not other.moving.isdisjoint(snapshot.bones.bones[0].name for snapshot in group.snapshots)


def with_tree(group: Group) -> Group:
    """Return a group with its tree and its moving roots.

    Raises:
        FabrikError: a target or pole depends on the group, or its root can't move as it should.
    """
    snapshots = group.snapshots
    for snapshot in snapshots:
        hit = sorted(snapshot.followed_otherwise & group.moving)
        if hit:
            names = " and ".join(f"'{name}'" for name in group.names if name != snapshot.name)
            raise FabrikError(
                f"Chain '{snapshot.name}': its target or pole depends on chains {names}, which are solved together "
                f"with it: it follows bone '{hit[0]}'"
            )
    moving_roots = _moving_roots(snapshots)
    if len(snapshots) == 1 and snapshots[0].target_bone not in group.moving:
        check_alone(snapshots[0])
        return Group(snapshots, None, moving_roots)
    try:
        solver_for_tree(snapshots[0].options)
    except FabrikError as error:
        raise FabrikError(f"Chain '{snapshots[0].name}': {error}") from error
    try:
        tree = take_tree(armature_of(snapshots[0].bones.end), snapshots, moving_roots)
    except FabrikError:
        for snapshot in snapshots:
            check_alone(snapshot)  # its error names the chain
        raise
    return Group(snapshots, tree, moving_roots)


def _moving_roots(snapshots: Sequence[Snapshot]) -> tuple[PoseBone, ...]:
    """Return the bones whose location is written where a root moves.

    Raises:
        FabrikError: one is connected, or locked.
    """
    moved = {snapshot.bones.bones[0].name for snapshot in snapshots if snapshot.options.moves_root}
    if not moved:
        return ()
    roots = {snapshot.bones.bones[0].name: snapshot.bones.bones[0] for snapshot in snapshots}
    top = [bone for bone in roots.values() if roots.keys().isdisjoint(above.name for above in bone.parent_recursive)]
    # Chains that hang together have one root: it moves if it does for any of the chains.
    found = [bone for bone in top if bone.name in moved or len(top) == 1]
    for bone in found:
        try:
            check_root_moves(bone)
        except FabrikError as error:
            name = next(snapshot.name for snapshot in snapshots if snapshot.options.moves_root)
            raise FabrikError(f"Chain '{name}': {error}") from error
    return tuple(found)


def solving_order(groups: list[Group]) -> list[Group]:
    """Return groups nearer the root first, and each after those that move a bone on which it depends.

    Raises:
        FabrikError: groups depend on each other.
    """
    unsolved = sorted(groups, key=lambda group: group.depth)
    ordered: list[Group] = []
    while unsolved:
        for group in unsolved:
            if not any(_comes_after(group, other) for other in unsolved if other is not group):
                break
        else:
            names = " and ".join(f"'{name}'" for group in unsolved for name in group.names)
            raise FabrikError(f"Chains {names} depend on each other: their targets follow each other's bones")
        unsolved.remove(group)
        ordered.append(group)
    return ordered


def _comes_after(group: Group, other: Group) -> bool:
    """Tell whether a group can be solved only after another one has moved."""
    roots = {snapshot.bones.bones[0].name for snapshot in group.snapshots}
    hangs = not roots.isdisjoint(other.moving) and group.depth > other.depth
    return hangs or not group.followed.isdisjoint(other.moving)
