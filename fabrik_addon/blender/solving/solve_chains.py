# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one path for one pose: read, solve, write, report. Group by group, those nearer the root first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...core import Array, FabrikError, Goals, depends_on_near
from ..bones.rotation_channel import Setting
from ..rig.last_results import Result, keep_result
from .chain_groups import Group, take_group, take_groups
from .outcome import outcome_of
from .solve_chain_bones import SolvedChain, rotates_freely, solve_snapshot
from .solve_tree_bones import solve_tree_bones
from .write_channels import restore_channels, write_channels

if TYPE_CHECKING:
    from bpy.types import Bone, Object, PoseBone, ViewLayer

    from ..rig.properties import FabrikChain
    from ..rig.snapshot import Snapshot

_MOST_SOLVES, _SOLVES_WITHOUT_GAIN, _GAIN = 16, 3, 0.9
"""Further solves of a carried group, how many in turn may gain nothing, and the ratio of errors that is no gain."""

_REACHED = 0.1
"""Error of a carried group, over its tolerance, that ends the solves."""

_SINGULAR, _LONGEST = 1e-3, 3.0
"""Share of the step's length below which Broyden's method takes nothing from it, and longest step over the residual."""


def solve_chains(
    view_layer: ViewLayer, armature: Object, chains: Sequence[FabrikChain]
) -> tuple[list[tuple[str, Result]], list[tuple[PoseBone | Bone, str]]]:
    """Pose an armature so that its chains reach their targets.

    Returns:
        each chain's name and result, in the order given, and the bones that changed with their channels.

    Raises:
        FabrikError: a chain or its target can't be used; then nothing has changed.
    """
    view_layer.update()
    changed: dict[tuple[str, str], Setting] = {}
    try:
        solved = _solve_groups(view_layer, armature, chains, changed)
    except FabrikError:
        restore_channels(changed.values())
        view_layer.update()
        raise
    view_layer.update()
    results = {}
    for number, chains_together in enumerate(solved):
        later = [chain for others in solved[number + 1 :] for chain in others]
        for found in chains_together:
            snapshot = found.snapshot
            results[snapshot.name] = outcome_of(view_layer, armature, found, later)
            keep_result(armature, snapshot.name, results[snapshot.name], snapshot.bones.bones)
    return [(chain.name, results[chain.name]) for chain in chains], [
        (bone, name) for bone, (name, _) in changed.values()
    ]


def _solve_groups(
    view_layer: ViewLayer,
    armature: Object,
    chains: Sequence[FabrikChain],
    changed: dict[tuple[str, str], Setting],
) -> list[tuple[SolvedChain, ...]]:
    """Solve groups and write them, in their order; note in ``changed`` what the channels were before, by bone and name.

    All groups are read before the first is written: an error in any of them changes nothing.
    """
    settings = {chain.name: chain for chain in chains}
    solved: list[tuple[SolvedChain, ...]] = []
    is_updated = True

    def write(results: Sequence[SolvedChain]) -> None:
        nonlocal is_updated
        for bone, old in write_channels([setting for result in results for setting in result.visible_settings]):
            is_updated = False
            changed.setdefault((bone.name, old[0]), (bone, old))
        if any(result.snapshot.carried for result in results):
            view_layer.update()
            is_updated = True

    for group in take_groups(view_layer, armature, chains):
        if changed and not {name for name, _ in changed}.isdisjoint(group.depends_on | group.bones):
            # What was read of it is the pose before other groups were written.
            if not is_updated:
                view_layer.update()
                is_updated = True
            group = take_group(view_layer, armature, [settings[name] for name in group.names])
        solved.append(solve_and_write(group, write, {one.name: one.goals for one in group.snapshots}))
    return solved


def solve_group(
    group: Group, goals: Mapping[str, Goals] | None = None, previous: Sequence[SolvedChain] = ()
) -> tuple[SolvedChain, ...]:
    """Solve a group, with the pose in which it was read as the reference pose. Computes, writes nothing.

    Args:
        group: read from Blender.
        goals: by the names of the chains that have other goals than those that were read.
        previous: of the same group, what this function returned for the frame or move before: where the solve starts.

    Returns:
        what to write for each chain, in the group's order. Bones in several chains have the same channels in each.

    Raises:
        FabrikError: the goals aren't finite.
    """
    goals = goals or {}
    found = [goals.get(snapshot.name, snapshot.goals) for snapshot in group.snapshots]
    if group.tree is None:
        before: Sequence[SolvedChain | None] = previous or [None] * len(found)
        return tuple(solve_snapshot(*chain) for chain in zip(group.snapshots, found, before, strict=True))
    return solve_tree_bones(group.tree, group.snapshots, found, previous[0].solution if previous else None)


def solution_to_follow(group: Group, goals: Mapping[str, Goals] | None = None) -> tuple[SolvedChain, ...]:
    """Return a solution from which the first move of a drag, or frame of a bake, is solved by the method of the others.

    A chain within limits meets its pole by another method from a solution near than from the pose at hand. With the
    first move from the pose at hand and the second from the first one's solution, bones rotated by up to 76 degrees
    between the two: 172 of 183 paths of tails, legs with feet and arms with clavicles had a jump. With the first move
    from this solution 49 have one, most of them beyond reach.

    Args:
        group: as of ``solve_group``.
        goals: as of ``solve_group``.

    Returns:
        as ``solve_group``; nothing of other groups, whose first move is solved by the method of the others anyway.
    """
    one = group.snapshots[0]
    if (
        group.tree is not None
        or not rotates_freely(one, one.goals)
        or one.goals.poles is None
        or one.goals.rotations is not None
    ):
        return ()
    return solve_group(group, goals) if depends_on_near(one.chain, one.goals, one.options) else ()


def solve_and_write(
    group: Group,
    write: Callable[[tuple[SolvedChain, ...]], None],
    goals: Mapping[str, Goals],
    previous: tuple[SolvedChain, ...] = (),
) -> tuple[SolvedChain, ...]:
    """Solve a group and write it, again while constraints of locked bones keep ends from their targets.

    The solver has a locked bone rigid with its parent where constraints have it (``chain_matrices``). A constraint in
    the world's space changes that with the pose: heads of rigs that Rigify generates keep half of their direction. Of
    120 random chains with such bones, each with a target that a pose reaches, one reached it by a single solve, 105 do
    by at most 12 of these, 6 in the median.

    Args:
        group: read from Blender.
        write: writes what was solved, and updates the view layer if the group is carried (``is_carried``).
        goals: of its chains, by their names.
        previous: as of ``solve_group``.
    """
    solved = solve_group(group, goals, previous)
    write(solved)
    if not is_carried(group):
        return solved
    aims = {one.name: _Aim(one, goals[one.name]) for one in group.snapshots}
    best, least, solves_without_gain = solved, max(aim.read_error() for aim in aims.values()), 0
    enough = _REACHED * min(snapshot.options.tolerance for snapshot in group.snapshots)
    for _ in range(_MOST_SOLVES):
        if least <= enough or solves_without_gain == _SOLVES_WITHOUT_GAIN:
            break
        solved = solve_group(group, {name: aim.moved() for name, aim in aims.items()}, solved)
        write(solved)
        error = max(aim.read_error() for aim in aims.values())
        solves_without_gain = 0 if error < _GAIN * least else solves_without_gain + 1
        if error < least:
            best, least = solved, error
    if best is not solved:
        write(best)
    return best


def is_carried(group: Group) -> bool:
    """Tell whether constraints rotate locked bones of a group whose solution is taken whole."""
    return any(one.carried for one in group.snapshots) and all(one.influence == 1.0 for one in group.snapshots)


class _Aim:
    """A chain's target, moved until Blender has the chain's end at the place of the one that was given.

    ``F(g) = t``, with F(g) the end in Blender after a solve for the target g, is solved by Broyden's method (1965):
    ``g' = g + B (t - F(g))``, where B begins as the identity and follows ``B y = s`` of each step s of g and y of F.
    """

    def __init__(self, snapshot: Snapshot, goals: Goals) -> None:
        self._snapshot, self._goals = snapshot, goals
        self._target: Array = goals.targets[0].copy()
        self._inverse: Array = np.eye(3)
        self._step: Array = np.zeros(3)
        self._left: Array = np.zeros(3)
        self._left_before = self._left

    def read_error(self) -> float:
        """READ: distance from the end to its target over the chain's length; 0 where the chain moves its target."""
        self._left_before = self._left
        if self._snapshot.target_bone not in self._snapshot.moving:
            self._left = self._goals.targets[0] - np.array(self._snapshot.bones.end_position[:])
        return float(np.linalg.norm(self._left)) / self._snapshot.posed.total_length

    def moved(self) -> Goals:
        """Return the chain's goals with the next target, from where its end was read last."""
        predicted = self._inverse @ (self._left_before - self._left)
        scale = float(self._step @ predicted)
        if abs(scale) > _SINGULAR * float(self._step @ self._step):
            self._inverse += np.outer(self._step - predicted, self._step @ self._inverse) / scale
        step = self._inverse @ self._left
        longest = _LONGEST * float(np.linalg.norm(self._left))
        self._step = step * min(1.0, longest / max(float(np.linalg.norm(step)), 1e-300))
        self._target = self._target + self._step
        return replace(self._goals, targets=self._target[None])
