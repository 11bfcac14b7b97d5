# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a snapshot to rotation channels: solve, turn frames into the bones' own rotations. Computes, writes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from mathutils import Matrix, Quaternion, Vector

from ..core import Goals, LaneSolution, StartPose, Status, solve_lanes, start_from
from .channels import Channel, channel_for, locked_channel_for, rotation_from
from .kinematics import basis_with, parent_space, pose_matrices
from .snapshot import ChainBones, Snapshot, read_pose

if TYPE_CHECKING:
    from bpy.types import PoseBone

ROUNDS = 24
"""Solves at most where locks or sheared bones change what the solver asked for."""


@dataclass(frozen=True)
class SolvedChain:
    """What to write for one chain, and what to say about it."""

    snapshot: Snapshot
    channels: tuple[tuple[PoseBone, Channel], ...]
    """The bones that can turn and their new rotation channels."""
    status: Status
    error: float
    """Distance from tip to target over chain length."""
    iterations: int


def solve_snapshot(snapshot: Snapshot, goals: Goals | None = None) -> SolvedChain:
    """Solve one chain from the pose of its snapshot.

    Args:
        snapshot: the chain, read from Blender.
        goals: other goals than the snapshot's.

    Raises:
        FabrikError: the goals aren't finite.
    """
    goals = goals or snapshot.goals
    bones = snapshot.bones
    solution = solve_lanes(snapshot.start, goals, snapshot.options)
    rotations = _own_rotations(bones, snapshot.start, solution)
    channels = _channels(bones, rotations)
    if bones.is_rigid and not bones.has_locks:
        return _solved(snapshot, channels, solution, solution.error, int(solution.sweeps))
    return _settle(snapshot, goals, solution, rotations)


def _solved(
    snapshot: Snapshot,
    channels: tuple[tuple[PoseBone, Channel], ...],
    solution: LaneSolution,
    error: float,
    iterations: int,
) -> SolvedChain:
    status = Status(solution.status)
    if error <= snapshot.options.tolerance:
        status = Status.REACHED
    elif status is not Status.OUT_OF_REACH:
        status = Status.LIMITED if snapshot.bones.has_locks else Status.STALLED
    return SolvedChain(snapshot, channels, status, error, iterations)


def _settle(snapshot: Snapshot, goals: Goals, solution: LaneSolution, rotations: list[Quaternion]) -> SolvedChain:
    """Solve again from where the bones really end up, until that is at the target or gets no nearer.

    Locks take part of a turn away, and bones in a sheared space change their length as they turn.
    """
    bones, options = snapshot.bones, snapshot.options
    best: SolvedChain | None = None
    iterations = 0
    for _ in range(ROUNDS):
        iterations += int(solution.sweeps)
        if not bones.is_rigid:
            rotations = _aimed_rotations(bones, solution, rotations)
        channels = _channels(bones, rotations)
        for i, (bone, channel) in zip(bones.free, channels, strict=True):
            rotations[i] = rotation_from(bone, channel)
        start = start_from(*read_pose(bones, _matrices(bones, rotations)))
        gap = float(np.linalg.norm(start.pose.positions[-1] - goals.targets[0]))
        error = gap / start.chain.total_length
        if best is None or error < best.error:
            best = _solved(snapshot, channels, solution, error, iterations)
        if error <= options.tolerance:
            break
        solution = solve_lanes(start, goals, options)
        rotations = _own_rotations(replace(bones, rotations=tuple(rotations)), start, solution)
    assert best is not None  # ROUNDS is more than 0
    return replace(best, iterations=iterations)


def _own_rotations(bones: ChainBones, start: StartPose, solution: LaneSolution) -> list[Quaternion]:
    """Return every bone's rotation in its parent's space after its link has turned in armature space.

    A bone's own rotation takes what its turn has more than its parent's. Bones that are locked altogether take none.
    """
    own = list(bones.rotations)
    parent_turn: Quaternion | None = None
    before_and_after = zip(bones.free, start.chain.inherits_list, start.frames, solution.frames, strict=False)
    for i, inherits, before, after in before_and_after:
        old, new = Quaternion(before), Quaternion(after)
        back = old.conjugated()
        extra = parent_turn.conjugated() @ new if inherits and parent_turn is not None else new
        own[i] = own[i] @ (back @ extra)
        parent_turn = new @ back
    return own


def _aimed_rotations(bones: ChainBones, solution: LaneSolution, rotations: list[Quaternion]) -> list[Quaternion]:
    """Turn rotations on until each link points exactly where it should, in whatever space its parent gives it."""
    points = [Vector(point) for point in solution.points]
    aimed = list(rotations)
    for row, i in enumerate(bones.free):
        matrices = _matrices(bones, aimed)
        joints = [Vector(point) for point in read_pose(bones, matrices)[1].positions.tolist()]
        parent = matrices[i - 1] if i else (bones.bones[0].parent.matrix if bones.bones[0].parent else None)
        to_parent_space = parent_space(bones.bones[i], parent).inverted_safe()
        link = to_parent_space @ (joints[row + 1] - joints[row])
        wish = to_parent_space @ (points[row + 1] - points[row])
        if link.length > 0.0 and wish.length > 0.0:
            aimed[i] = link.rotation_difference(wish) @ aimed[i]
    return aimed


def _matrices(bones: ChainBones, rotations: Sequence[Quaternion]) -> list[Matrix]:
    """Return where the bones of a chain and its end would be with other rotations."""
    bases = [basis_with(bone, rotation) for bone, rotation in zip(bones.bones, rotations, strict=True)]
    if bones.use_tail:
        return pose_matrices(bones.bones, bases)
    return pose_matrices((*bones.bones, bones.end), [*bases, bones.end.matrix_basis])


def _channels(bones: ChainBones, rotations: Sequence[Quaternion]) -> tuple[tuple[PoseBone, Channel], ...]:
    channel = locked_channel_for if bones.has_locks else channel_for
    return tuple((bones.bones[i], channel(bones.bones[i], rotations[i])) for i in bones.free)
