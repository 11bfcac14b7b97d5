# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one path for one pose: read, solve, write, report. Group by group, those nearer the root first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...core import FabrikError, Goals
from ..rig.last_results import Result, keep_result
from ..rig.rotation_channel import Setting
from .chain_groups import Group, take_group, take_groups
from .outcome import outcome_of
from .solve_chain_bones import SolvedChain, solve_snapshot
from .solve_tree_bones import solve_tree_bones
from .write_channels import restore_channels, write_channels

if TYPE_CHECKING:
    from bpy.types import Bone, Object, PoseBone, ViewLayer

    from ..rig.properties import FabrikChain


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
    for group in take_groups(view_layer, armature, chains):
        if changed and not {name for name, _ in changed}.isdisjoint(group.depends_on | group.bones):
            # What was read of it is the pose before other groups were written.
            if not is_updated:
                view_layer.update()
                is_updated = True
            group = take_group(view_layer, armature, [settings[name] for name in group.names])
        solved.append(solve_group(group))
        for result in solved[-1]:
            for bone, old in write_channels(result.settings):
                is_updated = False
                changed.setdefault((bone.name, old[0]), (bone, old))
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
