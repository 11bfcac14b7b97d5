# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a snapshot to channels: solve, turn frames into the bones' own rotations. Computes, writes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from mathutils import Quaternion, Vector

from ...core import ComponentSolution, Goals, Status, solve_components, start_from, with_root_fixed
from ...core.goals.link_stretch import stretch_factor
from ...core.math.operations import SCALAR
from ...core.model.frame_transport import aim_frame
from ..rig.bone_kinematics import location_at
from ..rig.bone_stretch import stretched_settings
from ..rig.chain_bones import stretched_positions
from ..rig.local_rotations import channels_for, own_rotations
from ..rig.rotation_channel import Channel, Setting
from ..rig.snapshot import Snapshot
from .constraint_projection import ProjectedPose, feasible_channels, lean_or_stay, project_onto_constraints

if TYPE_CHECKING:
    from bpy.types import PoseBone

_ROUNDS = 4
"""Times that bones with locks are settled, each time stretched by what the last one fell short."""


class SolvedChain(NamedTuple):
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
    stretch: float = 1.0
    """Factor by which the links are longer than they would be without stretch."""
    stretched: tuple[Setting, ...] = ()
    """What must be written beside that so that the bones are as long and nothing else is."""
    whole: tuple[Quaternion, ...] = ()
    """The free bones' own rotations if the solve were taken whole; none where it is."""
    together_with: tuple[str, ...] = ()
    """Names of the other chains of its tree."""

    @property
    def settings(self) -> list[Setting]:
        """All that is to be written."""
        return [*self.stretched, *self.channels, *([self.location] if self.location else [])]


def solve_snapshot(snapshot: Snapshot, goals: Goals | None = None) -> SolvedChain:
    """Solve one chain from the pose of its snapshot.

    Args:
        snapshot: the chain, read from Blender.
        goals: other goals than the snapshot's.

    Raises:
        FabrikError: the goals aren't finite.
    """
    goals = goals or snapshot.goals
    bones, options = snapshot.bones, snapshot.options
    solution = solve_components(snapshot.start, goals, options)
    if bones.is_rigid and not bones.has_locks:
        stretch = float(solution.stretch)
        shift = Vector(solution.points[0]) - Vector(snapshot.start.root) if options.moves_root else Vector()
        rotations = own_rotations(bones, snapshot.spaces, _on_their_links(snapshot, goals, solution))
        status, error, sweeps = Status(solution.status), float(solution.error), int(solution.sweeps)
        channels = channels_for(bones, rotations)
    else:
        held, nearer = snapshot, goals
        if options.moves_root:
            nearer, fixed = with_root_fixed(snapshot.start, goals, options)
            held = replace(snapshot, options=fixed)
            solution = solve_components(snapshot.start, nearer, fixed)
        rotations = own_rotations(bones, snapshot.spaces, solution)
        settled, stretch = _settled(held, nearer, solution, rotations)
        channels, status, error, sweeps = settled.channels, Status(settled.status), settled.error, settled.sweeps
        rotations = settled.rotations
        if error <= options.tolerance:
            status = Status.REACHED
        elif status is not Status.OUT_OF_REACH:
            status = Status.LIMITED if bones.has_locks else Status.STALLED
        shift = Vector()
        if options.moves_root:
            left = settled.gap + Vector((goals.targets[0] - nearer.targets[0]).tolist())
            if left.length > options.tolerance * snapshot.chain.total_length:
                shift, status = left, Status.REACHED
    whole: tuple[Quaternion, ...] = ()
    if snapshot.influence < 1.0:
        whole = tuple(rotations[i] for i in bones.free)
        channels = _shared_channels(snapshot, rotations)
    location = _shifted_root(snapshot, shift)
    stretched = _stretched(snapshot, stretch)
    return SolvedChain(snapshot, channels, status, error, sweeps, location, stretch, stretched, whole)


def _stretched(snapshot: Snapshot, factor: float) -> tuple[Setting, ...]:
    """Return what makes the links longer by a factor, or by the share of it that is taken."""
    stretch, links = snapshot.bones.stretch, snapshot.bones.links
    if stretch is None:
        return ()
    desired = [link.factor(factor) for link in links]
    if snapshot.influence < 1.0:
        share = snapshot.influence
        desired = [now + share * (factor - now) for now, factor in zip(stretch.factors, desired, strict=True)]
    return tuple(stretched_settings(stretch, desired))


def _on_their_links(snapshot: Snapshot, goals: Goals, solution: ComponentSolution) -> ComponentSolution:
    """Return the solution, again where lengthening bones turns their links.

    A link that is beside its bone's Y axis points elsewhere in the bone's frame once the bone is longer.
    """
    start, bones = snapshot.shown_start, snapshot.bones
    if solution.stretch == 1.0 or all(link.is_straight for link in bones.links):
        return solution
    factors = [link.factor(solution.stretch) for link in bones.links]
    positions = stretched_positions(bones, start.pose.positions[0], factors)
    if start.constrained_chain is None:
        links = np.diff(positions, axis=0).tolist()
        turned = zip(start.frames, solution.frames, links, pairwise(solution.points), start.x_axes, strict=False)
        frames = [
            aim_frame(SCALAR, before, frame, tuple(link), ends, hint) for before, frame, link, ends, hint in turned
        ]
        return solution._replace(frames=[*frames, *solution.frames[len(frames) :]])
    lengths = np.linalg.norm(np.diff(positions, axis=0), axis=1)
    chain = replace(start.chain, lengths=np.array([0.0, *lengths]))
    longer = start_from(chain, replace(start.pose, positions=positions))
    shift = np.subtract(solution.points[0], start.root)
    reached = replace(goals, targets=(np.array(solution.points[-1]) - shift)[None])
    tolerance = snapshot.options.tolerance / snapshot.options.stretch_max
    rigid = replace(snapshot.options, tolerance=tolerance, softness=0.0, moves_root=False, stretch_max=1.0)
    return solve_components(longer, reached, rigid)


def _settled(
    snapshot: Snapshot, goals: Goals, solution: ComponentSolution, rotations: list[Quaternion]
) -> tuple[ProjectedPose, float]:
    """Bring the tip to the target in spite of locks and shear; stretch by what it then falls short."""
    bones, options = snapshot.bones, replace(snapshot.options, moves_root=False, stretch_max=1.0)
    if snapshot.options.stretch_max == 1.0:
        return lean_or_stay(
            bones, goals, options, project_onto_constraints(bones, goals, options, solution, rotations)
        ), 1.0
    root, target = Vector(snapshot.start.root), Vector(goals.targets[0].tolist())
    length, factor = snapshot.chain.total_length, float(solution.stretch)
    best: ProjectedPose | None = None
    for _ in range(_ROUNDS):
        aim = goals
        if factor > 1.0:
            options = replace(options, softness=0.0)
            reached = Vector(solution.points[-1]) if solution.status == Status.OUT_OF_REACH else target
            aim = _nearer(goals, root, reached, factor)
        found = project_onto_constraints(bones, aim, options, solution, rotations)
        tip = Vector(aim.targets[0].tolist()) - found.gap - root
        gap = (target - root) - tip
        factor = 1.0
        if gap.length > options.tolerance * length:
            factor = _factor(tip, target - root, snapshot.options.stretch_max)
            gap = (target - root) - factor * tip
        found = replace(found, gap=gap, error=gap.length / length)
        if best is not None and found.error > 0.98 * best.error:
            break
        best, stretch = found, factor
        if found.error <= options.tolerance or factor == 1.0:
            break
    assert best is not None  # the first one is
    return best, stretch


def _factor(tip: Vector, target: Vector, most: float) -> float:
    return float(stretch_factor(SCALAR, (tip.x, tip.y, tip.z), (target.x, target.y, target.z), most))


def _nearer(goals: Goals, root: Vector, target: Vector, factor: float) -> Goals:
    """Return goals for a chain that isn't stretched by a factor."""
    from_root = np.array(root[:])
    targets = from_root + (np.array(target[:]) - from_root)[None] / factor
    poles = None if goals.poles is None else from_root + (goals.poles - from_root) / factor
    return replace(goals, targets=targets, poles=poles)


def _shifted_root(snapshot: Snapshot, shift: Vector) -> tuple[PoseBone, Channel] | None:
    """Return the location that shifts a chain, or None where it stays."""
    if not snapshot.options.moves_root or shift.length == 0.0:
        return None
    root = snapshot.bones.bones[0]
    head = Vector(snapshot.start.root) + snapshot.influence * shift
    return root, ("location", location_at(root, head)[:])


def _shared_channels(snapshot: Snapshot, rotations: Sequence[Quaternion]) -> tuple[tuple[PoseBone, Channel], ...]:
    """Return the channels for the share of a solve that is taken."""
    bones = snapshot.bones
    blended = [old.slerp(new, snapshot.influence) for old, new in zip(bones.rotations, rotations, strict=True)]
    # On the way between two rotations that limits allow there may be some that they don't.
    return channels_for(bones, blended) if snapshot.influence == 0.0 else feasible_channels(bones, blended)[0]
