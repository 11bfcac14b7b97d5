# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a snapshot to rotation channels: solve, turn frames into the bones' own rotations. Computes, writes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mathutils import Quaternion, Vector

from ..core import Goals, Status, solve_lanes
from .channels import Channel
from .kinematics import location_at
from .own_rotations import channels_for, own_rotations
from .settle import settle
from .snapshot import Snapshot

if TYPE_CHECKING:
    from bpy.types import PoseBone


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
    location: tuple[PoseBone, Channel] | None = None
    """The root bone and its new location, where it gives way."""


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
    rotations = own_rotations(bones, snapshot.start, solution)
    if bones.is_rigid and not bones.has_locks:
        channels = channels_for(bones, _blended(bones.rotations, rotations, snapshot.influence))
        location = None
        if snapshot.options.moves_root:
            location = _shifted_root(snapshot, Vector(solution.points[0]) - Vector(snapshot.start.root))
        return SolvedChain(snapshot, channels, Status(solution.status), solution.error, int(solution.sweeps), location)
    options = replace(snapshot.options, moves_root=False)
    if snapshot.options.moves_root:
        solution = solve_lanes(snapshot.start, goals, options)
    settled = settle(bones, goals, options, solution, rotations)
    channels = settled.channels
    if snapshot.influence < 1.0:
        channels = channels_for(bones, _blended(bones.rotations, settled.rotations, snapshot.influence))
    status = Status(settled.status)
    if settled.error <= snapshot.options.tolerance:
        status = Status.REACHED
    elif status is not Status.OUT_OF_REACH:
        status = Status.LIMITED if bones.has_locks else Status.STALLED
    shift = settled.gap if snapshot.options.moves_root and status is not Status.REACHED else Vector()
    if shift.length > 0.0:
        status = Status.REACHED
    return SolvedChain(snapshot, channels, status, settled.error, settled.sweeps, _shifted_root(snapshot, shift))


def _shifted_root(snapshot: Snapshot, shift: Vector) -> tuple[PoseBone, Channel] | None:
    """Return the location that shifts a chain, or None where it stays."""
    if not snapshot.options.moves_root or shift.length == 0.0:
        return None
    root = snapshot.bones.bones[0]
    head = Vector(snapshot.start.root) + snapshot.influence * shift
    return root, ("location", location_at(root, head)[:])


def _blended(before: Sequence[Quaternion], after: Sequence[Quaternion], influence: float) -> Sequence[Quaternion]:
    if influence >= 1.0:
        return after
    return [old.slerp(new, influence) for old, new in zip(before, after, strict=True)]
