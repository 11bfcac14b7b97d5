# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""One chain, from its snapshot to channels: solve, local rotations, stretch, root, influence. Computes, writes nothing.

The stages in their order:

1. ``solve_components`` of the core: joints and frames in armature space.
2. Local rotations from the frames (``bones.bone_rotations``).
3. Where bones can't rotate freely (locks, shear), the projection onto what they can do (``constraint_projection``).
4. Influence: ``slerp(q, q', influence)`` of each bone's own rotation, and the same share of stretch and root motion.
5. Channels, as near to the present ones as their rotation mode allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from mathutils import Quaternion, Vector

from ...core import ComponentSolution, Goals, Status, TreeSolution, solve_components, start_from, with_root_fixed
from ...core.goals.link_stretch import stretch_factor
from ...core.math.operations import SCALAR, ScalarVector
from ...core.model.chain_start import NearSolution
from ...core.model.frame_transport import aim_frame
from ...core.within_limits.least_rotation import FIRST_GUESS
from ..bones.bone_kinematics import location_at
from ..bones.bone_rotations import bone_rotations
from ..bones.bone_stretch import read_links, stretched_settings
from ..bones.rotation_channel import Channel, Setting, angle_between, rotation_from
from ..rig.chain_bones import ChainBones, bone_matrices
from ..rig.snapshot import Snapshot
from ..rig.stretched_pose import stretched_positions
from .constraint_projection import (
    ProjectedPose,
    followed,
    is_as_good,
    present_pose,
    project_onto_constraints,
    projected_further,
    refined_projection,
)
from .feasible_pose import feasible_pose

if TYPE_CHECKING:
    from bpy.types import PoseBone

_STATUSES = tuple(Status)
"""By their values: ``Status(value)`` takes 0.3 us at every move of a drag."""

_STRETCHED_PROJECTIONS = 4
"""Projections of a chain with locks, each for the stretch factor that the one before came to, at most."""

_AS_SHORT = 1.01
"""Ratio of the present stretch to the one that a solve finds, up to which the present pose is as good: each solve
starts from another pose, and its projection ends in another one. With 1.0001 a second press of Solve changed 29 of 100
random chains with locks and stretch, with 1.01 it changes 11, with 1.1 nine."""

_ONE_FACTOR = 1e-4
"""Difference of the stretch factors of bones that are stretched by one: rounding of a hierarchy of scales."""

_MUCH_NEARER = 0.5
"""Ratio of a solve's error to that of the pose that goes on from the move before, up to which a move that doesn't reach
its target takes the solve's pose: else a drag would stay in a minimum that *Solve* leaves."""

_NO_STRETCH_GAIN = 0.98
"""Ratio of a projection's error to the smallest one so far above which the projections end."""


class SolvedChain(NamedTuple):
    """The channels to write for one chain, and how its solve ended."""

    snapshot: Snapshot
    channels: tuple[tuple[PoseBone, Channel], ...]
    """The bones that rotate and their new rotation channels."""
    status: Status
    error: float
    """Distance from tip to target over chain length."""
    iterations: int
    location: tuple[PoseBone, Channel] | None = None
    """The root bone and its new location, where the root moves."""
    stretch: float = 1.0
    """Factor by which the links are longer than they would be without stretch."""
    stretched: tuple[Setting, ...] = ()
    """Scales and modes of Inherit Scale with which the bones are stretched by ``stretch`` and no others are."""
    whole: tuple[Quaternion, ...] = ()
    """The own rotations of the bones that rotate at influence 1; none where influence is 1."""
    together_with: tuple[str, ...] = ()
    """Names of the other chains of its tree."""
    solution: TreeSolution | None = None
    """Of its tree, where the next frame starts; None for a chain that is solved as a chain."""
    next_start: NearSolution | None = None
    """Of a chain that is solved as a chain, where the next move starts; None of one with projected channels, whose
    next move starts from the channels (``_rotations_before``)."""

    @property
    def settings(self) -> list[Setting]:
        """All properties to be written."""
        return [*self.stretched, *self.channels, *([self.location] if self.location else [])]

    @property
    def rotated_by(self) -> dict[str, float]:
        """Angle (radians) by which each bone rotates in its parent, by the bones' names."""
        before = (self.snapshot.bones.rotations[i] for i in self.snapshot.bones.free)
        return {
            bone.name: angle_between(old, rotation_from(bone, channel))
            for old, (bone, channel) in zip(before, self.channels, strict=True)
        }

    @property
    def visible_settings(self) -> list[Setting]:
        """The properties to be written in a pose: of a chain that a native rig poses none, of its bones no rotations.

        They would have no effect, and change and key what the bones return to at the native rig's influence 0.
        """
        native = self.snapshot.native
        if native and all(bone.name in native for bone, _ in self.channels):
            return []
        return [
            (owner, channel)
            for owner, channel in self.settings
            if not (owner.name in native and channel[0].startswith("rotation"))
        ]


class _Posed(NamedTuple):
    """A chain solved at influence 1."""

    rotations: list[Quaternion]
    """Own rotations of all bones."""
    channels: tuple[tuple[PoseBone, Channel], ...]
    status: Status
    error: float
    iterations: int
    stretch: float
    shift: Vector
    """Of the root, in armature space."""
    next_start: NearSolution | None = None
    """Where the next move or frame starts; None where the pose is projected onto locks or shear."""


def solve_snapshot(snapshot: Snapshot, goals: Goals | None = None, previous: SolvedChain | None = None) -> SolvedChain:
    """Solve one chain, with the pose of its snapshot as the reference pose.

    Args:
        snapshot: the chain, read from Blender.
        goals: other goals than the snapshot's.
        previous: the chain solved for goals near these ones, where the search within limits, or the projection onto
            locks, starts. None: it starts from the reference pose.

    Raises:
        FabrikError: the goals aren't finite.
    """
    goals = goals or snapshot.goals
    bones = snapshot.bones
    near = None if previous is None else previous.next_start
    if rotates_freely(snapshot, goals):
        posed = _posed_freely(snapshot, goals, near)
    else:
        posed = _posed_within_constraints(snapshot, goals, _rotations_before(snapshot, previous))
    channels = posed.channels
    whole: tuple[Quaternion, ...] = ()
    if snapshot.influence < 1.0:
        whole = tuple(posed.rotations[i] for i in bones.free)
        channels = _blended_channels(snapshot, posed.rotations)
    return SolvedChain(
        snapshot,
        channels,
        posed.status,
        posed.error,
        posed.iterations,
        _moved_root(snapshot, posed.shift),
        posed.stretch,
        _stretched(snapshot, posed.stretch),
        whole,
        next_start=posed.next_start,
    )


def rotates_freely(snapshot: Snapshot, goals: Goals) -> bool:
    """Tell whether the bones take the solver's pose as it is: a hinge that two locks leave is a limit to the solver.

    Not with a rotation, softness, stretch or another solver than FABRIK: there the projection onto the locks comes
    nearer. Of 61 chains with such hinges CCD alone brought 45 to targets that a pose reaches, with the projection all.
    """
    bones, options = snapshot.bones, snapshot.options
    keeps_lengths = options.stretch_max == 1.0 and options.softness == 0.0
    is_plain = options.solver == 'FABRIK' and goals.rotations is None and keeps_lengths
    return bones.is_rigid and (not bones.has_locks or (bones.locks_are_limits and is_plain))


def present_chain(snapshot: Snapshot) -> SolvedChain:
    """Return the pose at hand as if it were that of a move before; status and error are placeholders."""
    bones = snapshot.bones
    channels = tuple((bones.bones[i], bones.own_channels[i].channel) for i in bones.free)
    return SolvedChain(snapshot, channels, Status.REACHED, 0.0, 0)


def _rotations_before(snapshot: Snapshot, previous: SolvedChain | None) -> list[Quaternion]:
    """Return the own rotations of all bones in the move before; none if those of its reference pose were others."""
    bones = snapshot.bones
    if previous is None or previous.snapshot.bones.rotations != bones.rotations:
        return []
    own = previous.whole or [rotation_from(*channel) for channel in previous.channels]
    return bones.with_free([*own])


def _posed_freely(snapshot: Snapshot, goals: Goals, near: NearSolution | None) -> _Posed:
    """Solve a chain whose bones rotate as the solver takes them to: the solver's status and error hold."""
    bones, options = snapshot.bones, snapshot.options
    start = snapshot.start if near is None else replace(snapshot.start, near=near)
    solution = solve_components(start, goals, options)
    shift = Vector()
    if options.moves_root:
        shift = Vector(_point(solution.points[0])) - Vector(_point(snapshot.start.root))
    frames = _aimed_at_stretched_links(snapshot, goals, solution).frames
    rotations = bones.with_free(bone_rotations(snapshot.parent_frames, frames))
    error, iterations, status, stretch = cast("tuple[float, float, int, float]", solution[3:7])
    channels = nearest_channels(bones, rotations)
    return _Posed(
        rotations,
        channels,
        _STATUSES[status],
        error,
        int(iterations),
        stretch,
        shift,
        solution.next_start,
    )


def _posed_within_constraints(snapshot: Snapshot, goals: Goals, before: list[Quaternion]) -> _Posed:
    """Solve a chain with locks, shear or uneven scale: status and error are those of the feasible pose.

    Args:
        before: own rotations of all bones in the move before, from which the projection of a chain without stretch and
            softness starts; none: it starts from the solver's rotations.
    """
    bones, options = snapshot.bones, snapshot.options
    fixed, fixed_goals = snapshot, goals
    if options.moves_root:
        fixed_goals, fixed_options = with_root_fixed(snapshot.start, goals, options)
        fixed = replace(snapshot, options=fixed_options)
    projected, stretch = _solved_and_projected(fixed, fixed_goals, before)
    status = Status(projected.status)
    if projected.error <= options.tolerance:
        status = Status.REACHED
    elif status is not Status.OUT_OF_REACH:
        status = Status.LIMITED if bones.has_locks else Status.STALLED
    shift = Vector()
    if options.moves_root:
        residual = projected.residual + Vector((goals.targets[0] - fixed_goals.targets[0]).tolist())
        if residual.length > options.tolerance * snapshot.posed.total_length:
            shift, status = residual, Status.REACHED
    return _Posed(
        projected.rotations, projected.channels, status, projected.error, projected.iterations, stretch, shift
    )


def _solved_and_projected(snapshot: Snapshot, goals: Goals, before: list[Quaternion]) -> tuple[ProjectedPose, float]:
    """Return the feasible pose of a solve, and the factor by which it is stretched.

    The first solve has too few iterations to search within limits from other starts: the least squares of the
    projection go on from its pose. A second one has all iterations, where a target within reach isn't reached by that,
    or by stretch alone. With the second one alone four sheared bones with an unreachable target took 24 ms instead of
    8.
    """
    bones, options = snapshot.bones, snapshot.options
    next_pose: ProjectedPose | None = None
    if before and options.stretch_max == 1.0 and options.softness == 0.0:
        next_pose = followed(bones, goals, options, before)
        if next_pose.error <= options.tolerance:
            return next_pose, 1.0
    tried: list[tuple[ProjectedPose, float]] = []
    for iterations in (min(FIRST_GUESS, options.iterations), options.iterations):
        solution = solve_components(snapshot.start, goals, replace(options, iterations=iterations))
        rotations = bones.with_free(bone_rotations(snapshot.parent_frames, solution.frames))
        tried.append(_projected(snapshot, goals, solution, rotations))
        found, stretch = tried[-1]
        if found.status == Status.OUT_OF_REACH or (found.error <= options.tolerance and stretch == 1.0):
            break
    best, stretch = min(tried, key=lambda one: (max(one[0].error, options.tolerance), one[1]))
    if next_pose is not None and best.error > max(options.tolerance, _MUCH_NEARER * next_pose.error):
        return replace(next_pose, status=best.status, iterations=best.iterations), 1.0
    return best, stretch


def nearest_channels(bones: ChainBones, rotations: Sequence[Quaternion]) -> tuple[tuple[PoseBone, Channel], ...]:
    """Return the channels of the bones that rotate, nearest to those they were read with, locked values kept."""
    return tuple([(bones.bones[i], bones.own_channels[i].nearest(rotations[i])) for i in bones.free])


def _blended_channels(snapshot: Snapshot, rotations: Sequence[Quaternion]) -> tuple[tuple[PoseBone, Channel], ...]:
    """Return the channels of the rotations between the present ones and those given, at the chain's influence."""
    bones = snapshot.bones
    blended = [old.slerp(new, snapshot.influence) for old, new in zip(bones.rotations, rotations, strict=True)]
    # Limits are no convex set of rotations: between two that they allow may be some that they don't.
    return nearest_channels(bones, blended) if snapshot.influence == 0.0 else feasible_pose(bones, blended)[0]


def _moved_root(snapshot: Snapshot, shift: Vector) -> tuple[PoseBone, Channel] | None:
    """Return the location that shifts a chain, or None where it stays."""
    if not snapshot.options.moves_root or shift.length == 0.0:
        return None
    root = snapshot.bones.bones[0]
    head = Vector(_point(snapshot.start.root)) + snapshot.influence * shift
    return root, ("location", location_at(root, head)[:])


def _stretched(snapshot: Snapshot, factor: float) -> tuple[Setting, ...]:
    """Return the scales that make the links longer by a factor, or by the share of it that influence takes."""
    stretch, links = snapshot.bones.stretch, snapshot.bones.links
    if stretch is None:
        return ()
    desired = [link.factor(factor) for link in links]
    if snapshot.influence < 1.0:
        share = snapshot.influence
        desired = [now + share * (factor - now) for now, factor in zip(stretch.factors, desired, strict=True)]
    return tuple(stretched_settings(stretch, desired))


def _aimed_at_stretched_links(snapshot: Snapshot, goals: Goals, solution: ComponentSolution) -> ComponentSolution:
    """Return the solution with frames that aim the stretched links where the solution's links point.

    A link ``a + k b`` with ``a`` not 0 points elsewhere in its bone's frame once the bone's Y scale is ``k``: each bone
    is rotated further by the shortest rotation. With limits that rotation may not be feasible, and the chain of the
    stretched lengths is solved again, for the tip that the solution has.
    """
    bones = snapshot.bones
    if solution.stretch == 1.0 or all(link.is_straight for link in bones.links):
        return solution
    start = snapshot.shown_start
    factors = [link.factor(cast(float, solution.stretch)) for link in bones.links]
    positions = stretched_positions(bones, start.pose.positions[0], factors)
    if start.constrained_chain is None:
        links = np.diff(positions, axis=0).tolist()
        parts = zip(start.frames, solution.frames, links, pairwise(solution.points), start.x_axes, strict=False)
        frames = [
            aim_frame(SCALAR, before, frame, tuple(link), ends, axis) for before, frame, link, ends, axis in parts
        ]
        return solution._replace(frames=[*frames, *solution.frames[len(frames) :]])
    lengths = np.linalg.norm(np.diff(positions, axis=0), axis=1)
    chain = replace(start.chain, lengths=np.array([0.0, *lengths]))
    longer = start_from(chain, replace(start.pose, positions=positions))
    shift = np.subtract(_point(solution.points[0]), _point(start.root))
    reached = replace(goals, targets=(np.array(solution.points[-1]) - shift)[None])
    tolerance = snapshot.options.tolerance / snapshot.options.stretch_max
    rigid = replace(snapshot.options, tolerance=tolerance, softness=0.0, moves_root=False, stretch_max=1.0)
    return solve_components(longer, reached, rigid)


def _projected(
    snapshot: Snapshot, goals: Goals, solution: ComponentSolution, rotations: list[Quaternion]
) -> tuple[ProjectedPose, float]:
    """Return the feasible pose, and the factor by which it is stretched.

    A pose stretched by ``k`` is the pose scaled by ``k`` about the root: so the projection is of a chain that isn't
    stretched, for goals nearer to the root by ``k``. The factor is the one that brings the scaled tip nearest to the
    target, and the projection is repeated for it while that brings the tip nearer. Where stretch rotates links
    (``stretched_pose``) the stretched tip is elsewhere than the scaled one, and the next projection is for a target
    that is moved by what is left: without that an arm of unconnected bones, one with a locked axis, ended 1.3 % of its
    length off a target that it reaches. At the end bend and last bone are rotated to pole and rotation, at that factor:
    without that the bend was 60 degrees off in the median of 90 random chains that reach their targets, with it 7.

    This loop isn't ``stretch_links`` of the core, whose every pose is a solve of a whole batch, without stretch at
    first. Here every pose is projected from the one solution, the first at the stretch of that solution, and its target
    may be the solution's tip: one loop for both would solve again before every projection.
    """
    bones, options = snapshot.bones, replace(snapshot.options, moves_root=False, stretch_max=1.0)
    if snapshot.options.stretch_max == 1.0:
        projected = project_onto_constraints(bones, goals, options, solution, rotations)
        return refined_projection(bones, goals, options, projected), 1.0
    root, target = Vector(_point(snapshot.start.root)), Vector(goals.targets[0].tolist())
    length, factor = snapshot.posed.total_length, float(cast(float, solution.stretch))
    best: ProjectedPose | None = None
    moved = Vector()
    for _ in range(_STRETCHED_PROJECTIONS):
        nearer = goals
        if factor > 1.0:
            options = replace(options, softness=0.0)
            reached = Vector(_point(solution.points[-1])) if solution.status == Status.OUT_OF_REACH else target
            nearer = _scaled_goals(goals, root, reached + moved, factor)
        found = project_onto_constraints(bones, nearer, options, solution, rotations)
        tip = Vector(nearer.targets[0].tolist()) - found.residual - root
        residual = (target - root) - tip
        factor = 1.0
        if residual.length > options.tolerance * length:
            factor = _factor(tip, target + moved - root, snapshot.options.stretch_max)
            stretched_tip = _stretched_tip(bones, found.rotations, factor)
            residual, moved = (target - root) - stretched_tip, factor * tip - stretched_tip
        found = replace(found, residual=residual, error=residual.length / length)
        if best is not None and found.error > _NO_STRETCH_GAIN * best.error:
            break
        best, stretch = found, factor
        if found.error <= options.tolerance or factor == 1.0:
            break
    assert best is not None  # the first one is
    kept, present_stretch = _present_if_as_good(snapshot, goals, best, stretch)
    if kept is not best:
        return kept, present_stretch
    if goals.poles is not None or goals.rotations is not None:
        nearer = _scaled_goals(goals, root, target + moved, stretch)
        further = projected_further(bones, nearer, options, best)
        residual = target - root - _stretched_tip(bones, further.rotations, stretch)
        if residual.length <= options.tolerance * length:
            best = replace(further, error=residual.length / length, residual=residual)
    return best, stretch


def _present_if_as_good(
    snapshot: Snapshot, goals: Goals, found: ProjectedPose, stretch: float
) -> tuple[ProjectedPose, float]:
    """Return the present pose and its stretch if they are as good as those that were found, else those.

    As good is a pose at the target, stretched by one factor that is hardly larger, and as near to pole and rotation.
    Without that, and without the bend to the pole, a second press of Solve changed 44 of 100 random chains with locks
    and stretch, and 87 of 100 with a pole; with them 11 and 36.
    """
    bones, options, length = snapshot.bones, snapshot.options, snapshot.posed.total_length
    factor, present = _present_factor(bones), present_pose(bones, goals)
    if present is None or factor is None:
        return found, stretch
    residual = Vector((goals.targets[0] - snapshot.posed.joints[-1]).tolist())
    is_at_target = residual.length <= options.tolerance * length
    is_as_short = factor <= min(_AS_SHORT * stretch, options.stretch_max)
    # Softness stretches a chain before it is straight.
    is_as_soft = options.softness == 0.0 or stretch <= _AS_SHORT * factor
    if not (is_at_target and is_as_short and is_as_soft and is_as_good(bones, goals, present, found)):
        return found, stretch
    return replace(present, error=residual.length / length, residual=residual), factor


def _present_factor(bones: ChainBones) -> float | None:
    """Return the factor by which all links are longer at present; None where they aren't by one."""
    assert bones.stretch is not None  # called for chains that stretch only
    first, now = bones.links[0], bones.stretch.factors
    factor = now[0]
    if not first.is_straight:
        factor = (first.aside + factor * first.along).length / (first.aside + first.along).length
    is_one = all(abs(link.factor(factor) - k) <= _ONE_FACTOR for link, k in zip(bones.links, now, strict=True))
    return factor if is_one else None


def _stretched_tip(bones: ChainBones, rotations: Sequence[Quaternion], factor: float) -> Vector:
    """Return where the tip is, from the root, of a chain with other rotations whose links are longer by a factor."""
    links = read_links(bones.line, bone_matrices(bones, rotations), bones.use_tail)
    return sum((link.aside + link.factor(factor) * link.along for link in links), Vector())


def _factor(tip: Vector, target: Vector, most: float) -> float:
    factor = stretch_factor(SCALAR, (tip.x, tip.y, tip.z), (target.x, target.y, target.z), most)
    return float(cast(float, factor))


def _scaled_goals(goals: Goals, root: Vector, target: Vector, factor: float) -> Goals:
    """Return goals nearer to the root by a factor, the target in place of the goals' own."""
    from_root = np.array(root[:])
    targets = from_root + (np.array(target[:]) - from_root)[None] / factor
    poles = None if goals.poles is None else from_root + (goals.poles - from_root) / factor
    return replace(goals, targets=targets, poles=poles)


def _point(vector: object) -> ScalarVector:
    """Return a vector of one pose with the type of its components, which the core leaves open."""
    return cast(ScalarVector, vector)
