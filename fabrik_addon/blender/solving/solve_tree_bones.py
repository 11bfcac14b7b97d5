# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a tree that was read to channels: solve, turn frames into the bones' own rotations. Computes, writes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from mathutils import Quaternion, Vector

from ...core import (
    Array,
    FabrikError,
    Goals,
    Options,
    StartTree,
    Status,
    TreeSolution,
    solve_tree_components,
    start_tree,
)
from ..rig.bone_kinematics import location_at
from ..rig.bone_tree import TreeBones, read_tree, tree_bones, tree_matrices
from ..rig.rotation_channel import Channel, present_channel, rotation_of
from ..rig.snapshot import Snapshot
from .feasible_channels import feasible_channel
from .solve_chain_bones import SolvedChain

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone

ROUNDS = 8
"""Solves at most, where bones don't turn as the solver thinks."""

_SAME = 1e-6
"""Difference of a quaternion's parts that counts as rounding."""


@dataclass(frozen=True)
class ReadTree:
    """Chains as one tree, ready to be solved."""

    tree: TreeBones
    start: StartTree
    options: Options
    weights: tuple[float, ...]
    shifting: tuple[tuple[int, PoseBone], ...]
    """The roots that give way, each with the bone whose location is written."""


def take_tree(armature: Object, snapshots: Sequence[Snapshot], shifting: Sequence[PoseBone]) -> ReadTree:
    """Read the tree that chains make.

    Args:
        armature: object with the chains, evaluated.
        snapshots: of the chains, in the order of their bones.
        shifting: the bones whose location is written where a root gives way.

    Raises:
        FabrikError: a number isn't finite, a bone has no length, or a target moves along with a root that gives way.
    """
    tree = tree_bones(armature, snapshots)
    above = {number: {bone, *bone.parent_recursive} for number in tree.roots for bone in [tree.bones[number]]}
    shifted = tuple((root, bone) for bone in shifting for root in tree.roots if bone in above[root])
    for snapshot, met in zip(snapshots, tree.meets, strict=True):
        _check_target_stays(armature, snapshot, met, shifting)
    weights = tuple(snapshot.weight for snapshot in snapshots)
    rotations = tree.rotations
    chain, pose = read_tree(tree, tree_matrices(tree), rotations, weights, [root for root, _ in shifted])
    options = Options(
        iterations=max(snapshot.options.iterations for snapshot in snapshots),
        tolerance=min(snapshot.options.tolerance for snapshot in snapshots),
        moves_root=bool(shifted),
        solver=snapshots[0].options.solver,
    )
    return ReadTree(tree, start_tree(chain, pose), options, weights, shifted)


def _check_target_stays(armature: Any, snapshot: Snapshot, met: int, shifting: Sequence[PoseBone]) -> None:
    """Refuse a target that no bone of the tree turns but that the root takes along where it gives way.

    Raises:
        FabrikError: that is so.
    """
    target = armature.pose.bones.get(snapshot.target_bone)
    if met < 0 and target is not None and not {target, *target.parent_recursive}.isdisjoint(shifting):
        raise FabrikError(
            f"Chain '{snapshot.name}': its target bone '{target.name}' moves along with its root, which is to follow"
        )


def tree_goals(read: ReadTree, snapshots: Sequence[Snapshot], goals: Sequence[Goals]) -> Goals:
    """Return the goals of several chains as those of their tree."""
    first = 1 if read.tree.has_anchor else 0
    meets = [
        -1 if met < 0 or not np.array_equal(goal.targets, snapshot.goals.targets) else met + first
        for met, snapshot, goal in zip(read.tree.meets, snapshots, goals, strict=True)
    ]
    with_poles = np.array([goal.poles is not None for goal in goals])
    with_rotations = np.array([goal.rotations is not None for goal in goals])
    return Goals(
        targets=np.concatenate([goal.targets for goal in goals]),
        rotations=_stacked([goal.rotations for goal in goals], 4) if with_rotations.any() else None,
        poles=_stacked([goal.poles for goal in goals], 3) if with_poles.any() else None,
        pole_angles=np.array([0.0 if goal.pole_angles is None else goal.pole_angles[0] for goal in goals]),
        with_rotations=with_rotations,
        with_poles=with_poles,
        softness=np.array([snapshot.options.softness for snapshot in snapshots]),
        pinned=np.array([snapshot.is_pinned for snapshot in snapshots]),
        meets=np.array(meets) if max(meets) >= 0 else None,
    )


def _stacked(rows: Sequence[Array | None], columns: int) -> Array:
    return np.concatenate([np.zeros((1, columns)) if row is None else row for row in rows])


def solve_tree_bones(read: ReadTree, snapshots: Sequence[Snapshot], goals: Sequence[Goals]) -> tuple[SolvedChain, ...]:
    """Solve chains as the tree they make, from the pose in which they were read.

    Args:
        read: the tree.
        snapshots: of the chains.
        goals: of the chains, in the same order.

    Raises:
        FabrikError: the goals aren't finite.
    """
    together = tree_goals(read, snapshots, goals)
    found = solve_tree_components(read.start, together, read.options)
    rotations = _own_rotations(read.tree, read.start, found)
    channels, possible = _possible(read.tree, rotations)
    if not read.tree.is_rigid or any(map(_differ, rotations, possible)):
        found, channels, possible = _settle(read, together, found, channels, possible)
    whole = {bone.name: rotation_of(bone) for snapshot in snapshots for bone in snapshot.bones.bones}
    whole |= {bone.name: rotation for bone, rotation in zip(read.tree.bones, possible, strict=True)}
    influences = _influences(read.tree, snapshots)
    if min(influences) < 1.0:
        blended = [
            old.slerp(new, influence)
            for old, new, influence in zip(read.tree.rotations, possible, influences, strict=True)
        ]
        channels, _ = _possible(read.tree, blended)
    locations = _locations(read, found, max(snapshot.influence for snapshot in snapshots))
    # A bone that is one piece with another of the tree stays as it is.
    by_name = {bone.name: (bone, present_channel(bone)) for snapshot in snapshots for bone in snapshot.bones.bones}
    by_name |= {bone.name: (bone, channel) for bone, channel in zip(read.tree.bones, channels, strict=True)}
    return tuple(
        SolvedChain(
            snapshot=snapshot,
            channels=tuple(by_name[snapshot.bones.bones[i].name] for i in snapshot.bones.free),
            status=Status(int(found.status[number])),
            error=float(found.error[number]),
            iterations=int(found.sweeps),
            location=locations.get(snapshot.bones.bones[0].name),
            whole=tuple(whole[snapshot.bones.bones[i].name] for i in snapshot.bones.free),
            together_with=tuple(other.name for other in snapshots if other is not snapshot),
        )
        for number, snapshot in enumerate(snapshots)
    )


def _own_rotations(tree: TreeBones, start: StartTree, found: TreeSolution) -> list[Quaternion]:
    """Return every bone's rotation in its parent's space after the tree has turned: what it turns by itself."""
    first = 1 if tree.has_anchor else 0
    own: list[Quaternion] = []
    turns: list[Quaternion] = []
    for number, (parent, inherits) in enumerate(zip(tree.parents, tree.inherits, strict=True)):
        old, new = Quaternion(start.frames[number + first]), Quaternion(found.frames[number + first])
        back = old.conjugated()
        extra = turns[parent].conjugated() @ new if inherits and parent >= 0 else new
        own.append(tree.rotations[number] @ (back @ extra))
        turns.append(new @ back)
    return own


def _possible(tree: TreeBones, rotations: Sequence[Quaternion]) -> tuple[list[Channel], list[Quaternion]]:
    """Return the channels for rotations, within limits and with what is locked as it is, and what they really give."""
    channels, possible = [], []
    for bone, rotation, limits, present in zip(tree.bones, rotations, tree.limits, tree.rotations, strict=True):
        channel, given = feasible_channel(bone, rotation, limits, present)
        channels.append(channel)
        possible.append(given)
    return channels, possible


def _differ(desired: Quaternion, given: Quaternion) -> bool:
    sign = -1.0 if desired.dot(given) < 0.0 else 1.0
    return any(abs(a - sign * b) > 100.0 * _SAME for a, b in zip(desired[:], given[:], strict=True))


def _settle(
    read: ReadTree, goals: Goals, found: TreeSolution, channels: list[Channel], possible: list[Quaternion]
) -> tuple[TreeSolution, list[Channel], list[Quaternion]]:
    """Solve again from where the bones really end up, as long as that brings the effectors nearer."""
    tree = read.tree
    first_found, shift = found, np.zeros(3)
    if found.shifts:
        shift = np.array(found.shifts[0])
    best: tuple[float, TreeSolution, list[Channel], list[Quaternion]] | None = None
    options = replace(read.options, moves_root=False)
    for _ in range(ROUNDS):
        chain, pose = read_tree(tree, tree_matrices(tree, possible), possible, read.weights, ())
        pose = replace(pose, positions=pose.positions + shift)
        start = start_tree(chain, pose)
        ends = np.array([pose.positions[tip] for tip in chain.tips])
        errors = np.linalg.norm(ends - _aims(goals, pose.positions), axis=1) / (
            start.unit * np.array(start.own_lengths)
        )
        worst = float(np.square(errors * np.sqrt(chain.weights)).sum())
        if best is not None and worst >= 0.9 * best[0]:
            break
        if best is None or worst < best[0]:
            reached = errors <= read.options.tolerance
            status = [
                int(Status.REACHED) if ok else max(int(told), int(Status.LIMITED) if tree.has_locks else int(told))
                for ok, told in zip(reached, first_found.status, strict=True)
            ]
            measured = replace(first_found, error=errors.tolist(), status=status)
            best = (worst, measured, channels, possible)
        if errors.max() <= 0.01 * read.options.tolerance:
            break
        found = solve_tree_components(start, goals, options)
        rotations = _own_rotations(replace(tree, rotations=tuple(possible)), start, found)
        channels, possible = _possible(tree, rotations)
    assert best is not None  # ROUNDS is more than 0
    return best[1:]


def _aims(goals: Goals, positions: Array) -> Array:
    """Return where the effectors should be."""
    aims = goals.targets.copy()
    if goals.meets is not None:
        for number, met in enumerate(goals.meets.tolist()):
            if met >= 0:
                aims[number] = positions[met]
    return aims


def _influences(tree: TreeBones, snapshots: Sequence[Snapshot]) -> list[float]:
    """Return how much of the solve each bone takes: as much as the chain does that takes most of it."""
    influences = dict.fromkeys((bone.name for bone in tree.bones), 0.0)
    for snapshot in snapshots:
        for bone in snapshot.bones.bones:
            influences[bone.name] = max(influences.get(bone.name, 0.0), snapshot.influence)
    return [influences[bone.name] for bone in tree.bones]


def _locations(read: ReadTree, found: TreeSolution, influence: float) -> dict[str, tuple[PoseBone, Channel]]:
    """Return the new locations of the bones at the roots that gave way, by name."""
    locations: dict[str, tuple[PoseBone, Channel]] = {}
    for (_, bone), shift in zip(read.shifting, found.shifts, strict=False):
        moved = influence * Vector(shift)
        if moved.length > 0.0:
            locations[bone.name] = (bone, ("location", location_at(bone, bone.head + moved)[:]))
    return locations
