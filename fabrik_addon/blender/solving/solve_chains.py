# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one path: read, solve, write. Group by group, those nearer the root first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...core import FabrikError
from ..rig.last_results import Result, keep_result
from ..rig.rotation_channel import Setting
from .chain_groups import solve_group, take_group, take_groups
from .outcome import outcome_of
from .solve_chain_bones import SolvedChain
from .write_channels import restore_channels, write_channels

if TYPE_CHECKING:
    from bpy.types import Bone, Object, PoseBone, ViewLayer

    from ..rig.properties import FabrikChain


def solve_chains(
    view_layer: ViewLayer, armature: Object, chains: Sequence[FabrikChain]
) -> tuple[list[tuple[str, Result]], list[tuple[PoseBone | Bone, str]]]:
    """Pose an armature so that its chains reach their targets.

    Returns:
        each chain's name and what came of it, in the order given, and the bones that changed with their channels.

    Raises:
        FabrikError: a chain or its target can't be used; then nothing has changed.
    """
    view_layer.update()
    settings = {chain.name: chain for chain in chains}
    # All are checked before the first is written, so that an error leaves the pose alone.
    waiting = take_groups(view_layer, armature, chains)
    solved: list[tuple[SolvedChain, ...]] = []
    changed: dict[tuple[str, str], Setting] = {}
    updated = True
    try:
        for group in waiting:
            if not {name for name, _ in changed}.isdisjoint(group.rests_on | group.bones):
                # It hangs on a group that has moved meanwhile, or reaches for what hangs there.
                if not updated:
                    view_layer.update()
                    updated = True
                group = take_group(view_layer, armature, [settings[name] for name in group.names])
            solved.append(solve_group(group))
            for result in solved[-1]:
                for bone, old in write_channels(result.settings):
                    updated = False
                    changed.setdefault((bone.name, old[0]), (bone, old))
    except FabrikError:
        restore_channels(changed.values())
        view_layer.update()
        raise
    view_layer.update()
    results = {}
    for place, chains_together in enumerate(solved):
        later = [chain for others in solved[place + 1 :] for chain in others]
        for found in chains_together:
            results[found.snapshot.name] = outcome_of(armature, found, later)
            keep_result(armature, found.snapshot.name, results[found.snapshot.name])
    return [(chain.name, results[chain.name]) for chain in chains], [
        (bone, name) for bone, (name, _) in changed.values()
    ]
