# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one path: snapshot, solve, apply. For several chains of an armature, those nearer the root first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from ..core import FabrikError
from .apply import restore_channels, write_channels
from .channels import Channel
from .outcome import outcome_of
from .results import Result, keep_result
from .snapshot import take_snapshot
from .solve_snapshot import SolvedChain, solve_snapshot

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone, ViewLayer

    from .properties import FabrikChain
    from .snapshot import Snapshot

    _Read: TypeAlias = tuple[FabrikChain, Snapshot]


def solve_chains(
    view_layer: ViewLayer, armature: Object, chains: Sequence[FabrikChain]
) -> tuple[list[tuple[str, Result]], list[tuple[PoseBone, str]]]:
    """Pose an armature so that its chains reach their targets.

    Returns:
        each chain's name and what came of it, in the order given, and the bones that changed with their channels.

    Raises:
        FabrikError: a chain or its target can't be used; then nothing has changed.
    """
    view_layer.update()
    for name, count in Counter(chain.name for chain in chains).items():
        if count > 1:
            raise FabrikError(f"{count} chains of '{armature.name}' are named '{name}': give each a name of its own")
    # All are checked before the first is written, so that an error leaves the pose alone.
    waiting = _in_order([(chain, take_snapshot(view_layer, armature, chain)) for chain in chains])
    solved: list[SolvedChain] = []
    changed: dict[tuple[str, str], tuple[PoseBone, Channel]] = {}
    updated = True
    try:
        for chain, snapshot in waiting:
            names = {bone.name for bone in snapshot.bones.bones}
            names.update(bone.name for bone in snapshot.bones.bones[0].parent_recursive)
            if not {name for name, _ in changed}.isdisjoint(names | snapshot.followed):
                # It hangs on a chain that has moved meanwhile, or reaches for what hangs there.
                if not updated:
                    view_layer.update()
                    updated = True
                snapshot = take_snapshot(view_layer, armature, chain)
            result = solve_snapshot(snapshot)
            moved = [result.location] if result.location else []
            for bone, old in write_channels([*result.channels, *moved]):
                updated = False
                changed.setdefault((bone.name, old[0]), (bone, old))
            solved.append(result)
    except FabrikError:
        restore_channels(changed.values())
        view_layer.update()
        raise
    view_layer.update()
    results = {}
    for place, found in enumerate(solved):
        name = found.snapshot.bones.chain_name
        results[name] = outcome_of(armature, found, solved[place + 1 :])
        keep_result(armature, name, results[name])
    return [(chain.name, results[chain.name]) for chain in chains], [
        (bone, name) for bone, (name, _) in changed.values()
    ]


def _in_order(chains: list[_Read]) -> list[_Read]:
    """Sort chains: nearer the root first, and after those that move what they reach for.

    Raises:
        FabrikError: chains reach for each other's bones.
    """
    waiting = sorted(chains, key=lambda pair: _depth(pair[1]))
    ordered: list[_Read] = []
    while waiting:
        for pair in waiting:
            if not any(_waits_for(pair[1], other[1]) for other in waiting if other is not pair):
                break
        else:
            names = " and ".join(f"'{chain.name}'" for chain, _ in waiting)
            raise FabrikError(f"Chains {names} wait for each other: their targets follow each other's bones")
        waiting.remove(pair)
        ordered.append(pair)
    return ordered


def _depth(snapshot: Snapshot) -> int:
    return len(snapshot.bones.bones[0].parent_recursive)


def _waits_for(snapshot: Snapshot, other: Snapshot) -> bool:
    """Tell whether a chain can be solved only after another one has moved."""
    hangs = snapshot.bones.bones[0].name in other.moving and _depth(snapshot) > _depth(other)
    return hangs or not snapshot.followed.isdisjoint(other.moving)
