# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one path: snapshot, solve, apply. For several chains of an armature, those nearer the root first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ..core import FabrikError, Status
from ..core.limits import axes_at_limit, joint_limits
from .apply import write_channels
from .channels import Channel, has_locks, rotation_from
from .results import Result, keep_result
from .snapshot import chain_matrices, read_pose, take_snapshot
from .solve_snapshot import SolvedChain, solve_snapshot

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone, ViewLayer

    from .properties import FabrikChain
    from .snapshot import Snapshot

    _Read: TypeAlias = tuple[FabrikChain, Snapshot]


def solve_chains(
    view_layer: ViewLayer, armature: Object, chains: Sequence[FabrikChain]
) -> tuple[list[SolvedChain], list[PoseBone]]:
    """Pose an armature so that its chains reach their targets.

    Returns:
        what came of each chain, in the order given, and the bones that changed.

    Raises:
        FabrikError: a chain or its target can't be used; then nothing has changed.
    """
    view_layer.update()
    order = {chain.name: position for position, chain in enumerate(chains)}
    # All are checked before the first is written, so that an error leaves the pose alone.
    waiting = _in_order([(chain, take_snapshot(view_layer, armature, chain)) for chain in chains])
    solved: list[SolvedChain] = []
    changed: dict[str, tuple[PoseBone, Channel]] = {}
    updated = True
    try:
        for chain, snapshot in waiting:
            names = {bone.name for bone in snapshot.bones.bones}
            names.update(bone.name for bone in snapshot.bones.bones[0].parent_recursive)
            if not changed.keys().isdisjoint(names | snapshot.followed):
                # It hangs on a chain that has moved meanwhile, or reaches for what hangs there.
                if not updated:
                    view_layer.update()
                    updated = True
                snapshot = take_snapshot(view_layer, armature, chain)
            result = solve_snapshot(snapshot)
            for bone, old in write_channels(result.channels):
                updated = False
                changed.setdefault(bone.name, (bone, old))
            solved.append(result)
    except FabrikError:
        write_channels(changed.values())
        view_layer.update()
        raise
    view_layer.update()
    solved = [_after_all(result, solved[place + 1 :]) for place, result in enumerate(solved)]
    for result in solved:
        keep_result(armature, result.snapshot.bones.chain_name, _result(armature, result))
    solved.sort(key=lambda result: order[result.snapshot.bones.chain_name])
    return solved, [bone for bone, _ in changed.values()]


def _after_all(result: SolvedChain, later: Sequence[SolvedChain]) -> SolvedChain:
    """Measure a chain again where chains that were solved later have moved it."""
    bones = result.snapshot.bones
    moved_by = [
        other.snapshot.bones.chain_name
        for other in later
        if not other.snapshot.moving.isdisjoint(bone.name for bone in bones.bones)
    ]
    if not moved_by:
        return result
    chain, pose = read_pose(bones, chain_matrices(bones), bones.rotations)
    error = float(np.linalg.norm(pose.positions[-1] - result.snapshot.goals.targets[0])) / chain.total_length
    if error <= result.snapshot.options.tolerance:
        return result
    return replace(result, error=error, status=Status.LIMITED, moved_by=moved_by[-1])


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


def _result(armature: Object, solved: SolvedChain) -> Result:
    return Result(solved.status.name, solved.error, solved.iterations, explain(armature, solved))


def explain(armature: Object, solved: SolvedChain) -> str:
    """Say in a sentence why a chain isn't at its target and how far it is; empty where it is."""
    if solved.status is Status.REACHED:
        return ""
    chain = solved.snapshot.chain
    goals = solved.snapshot.goals
    distance = float(((goals.targets[0] - solved.snapshot.pose.positions[0]) ** 2).sum() ** 0.5)
    # Lengths as people measure them; where an object is scaled unevenly they are means.
    scale = abs(armature.matrix_world.determinant()) ** (1.0 / 3.0)
    length = scale * chain.total_length
    off = f"the tip is {solved.error * length:.4g} from its target"
    if solved.status is Status.OUT_OF_REACH:
        if distance > chain.total_length:
            bound = f"at most {length:.4g}"
        else:
            bound = f"at least {scale * (2.0 * max(chain.links) - chain.total_length):.4g}"
        return f"out of reach, {off}: that is {scale * distance:.4g} from the root, and these bones reach {bound}"
    if solved.moved_by:
        return f"limited, {off}: chain '{solved.moved_by}' turns the same bones"
    if solved.status is Status.LIMITED:
        reasons = []
        if at_limit := _at_limit(solved):
            reasons.append("at their limit are " + ", ".join(at_limit))
        if locked := [f"'{bone.name}'" for bone, _ in solved.channels if has_locks(bone)]:
            reasons.append("rotation is locked on " + ", ".join(locked))
        return f"limited, {off}: " + (" and ".join(reasons) or "no pose within the limits was found that is nearer")
    return f"stalled, {off} after {solved.iterations} sweeps; please report this"


def _at_limit(solved: SolvedChain) -> list[str]:
    """Name the bones that would have to turn further than they may, with the axes."""
    bones = solved.snapshot.bones
    if bones.limits is None:
        return []
    named = []
    for i, (bone, channel) in zip(bones.free, solved.channels, strict=True):
        q = rotation_from(bone, channel)
        axes = axes_at_limit(joint_limits(*bones.limits[i]), (q.w, q.x, q.y, q.z))
        if axes:
            named.append(f"'{bone.name}' ({' '.join(axes)})")
    return named
