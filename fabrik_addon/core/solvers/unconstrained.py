# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""CCD and the Jacobian methods: what is done before and after their iterations on a chain without limits.

1. A target out of reach is solved in closed form (``straight_to_target``).
2. A chain on one line with its target is bent into an arc: no step of CCD or of the Jacobian leaves the line.
3. With a pole the chain is rotated about its root, so that tip and bend lie in the plane of root, target and pole.
   After the iterations it is rotated about its chord, the line from root to tip, until the bend points at the pole:
   that rotation moves neither root nor tip.
"""

from collections.abc import Callable, Sequence
from itertools import chain as joined
from typing import TypeAlias

from ..fabrik.chain_fabrik import ReachProblem, arc_where, on_one_line
from ..fabrik.passes import reach_test, straight_to_target
from ..fabrik.pole_shape import shaped_joints
from ..goals.pole import bend_direction, bend_plane
from ..math.operations import Component, Condition, Operations, Vector
from ..math.quaternions import Quaternion, from_to, identity_of, multiply, rotate
from ..math.vectors import (
    NO_DIRECTION,
    choose_each,
    choose_parts,
    distance_between,
    dot,
    first_direction,
    norm,
    normalised,
    perpendicular,
    rejection,
    vectors_of,
)
from ..model.chain_start import StartPose
from ..model.constrained_chain import pose_of
from ..optimise.bounded_least_squares import Descent
from ..problem import Options
from ..within_limits.bend_toward_pole import bend_toward_pole
from .solver import SolverResult

Iterate: TypeAlias = Callable[[Operations, ReachProblem], tuple[list[Vector], Component]]
"""(ops, problem): bring the tip to a target within reach; joints after and iterations used."""

PERTURBED_CHORD = 0.999
"""Distance from root to tip of the arc into which a chain on one line is bent, over the distance before."""

PERTURBATIONS = 2
"""Further runs, each from an arc, of a chain whose iterations end short of the target."""

POLE_NOISE = 1e-5
"""Distance by which the rotation to the pole must move a joint, over the chain's length, to be made: a solved pose in
single precision stays as it is."""


def solve_iteratively(
    iterate: Iterate,
    descend: Descent,
    ops: Operations,
    start: StartPose,
    target: Vector,
    pole: Vector | None,
    options: Options,
) -> SolverResult:
    """Solve a chain without limits by iterations, and a chain with limits by a descent, then toward its pole."""
    chain, tolerance = start.constrained_chain, options.tolerance
    if chain is None:
        return _reach_freely(ops, start, target, pole, options, iterate)
    pose, _, used = descend(ops, pose_of(ops, chain, start.frames), target, tolerance, options.iterations)
    if pole is not None:
        pose = bend_toward_pole(ops, pose, target, pole, tolerance, shaped_joints(ops, start, target))
    return SolverResult(pose.joints, pose.frames, used)


def _reach_freely(
    ops: Operations, start: StartPose, target: Vector, pole: Vector | None, options: Options, iterate: Iterate
) -> SolverResult:
    """Bring the tip to the target and the bend toward the pole, where there is one."""
    points, lengths, hint = start.points, start.lengths, start.x_axes[0]
    tolerance = options.tolerance
    error = distance_between(ops, points[-1], target)
    done: Condition = error <= tolerance
    along = first_direction(ops, [target, points[-1], points[1]])
    rotation: Quaternion | None = None
    if pole is not None:
        done = done & _points_at_pole(ops, points, pole)
        rotation = choose_parts(ops, done, identity_of(error), bend_plane(ops, points, along, pole, hint)[1])
        points = [rotate(rotation, point) for point in points]
    distance = norm(ops, target)
    too_far, too_near = reach_test(lengths, distance)
    blocked = (too_far | too_near) & ops.negate(done)
    if ops.any(blocked):
        points = choose_each(ops, blocked, straight_to_target(ops, lengths, along, too_far), points)
    problem = ReachProblem(points, lengths, target, pole, hint, tolerance, options.iterations)
    if len(lengths) > 1:
        deadlocked = ops.negate(done | blocked) & on_one_line(ops, problem.points, target)
        if ops.any(deadlocked):
            problem = problem._replace(points=_perturbed(ops, deadlocked, problem))

    result = [0.0 + part for part in (*joined.from_iterable(problem.points), ops.where(done, 0.0, 1.0 + 0.0 * error))]
    rest = ops.active_indices(done | blocked)
    if rest is not None:
        found, used = _iterated(ops, iterate, problem.gather(ops, rest))
        result = ops.scattered(rest, result, [*joined.from_iterable(found), used])
    *flat, sweeps = result
    points = vectors_of(flat)
    if pole is not None and rotation is not None:
        swivel = _swivel(ops, points, pole, done)
        points, rotation = [rotate(swivel, point) for point in points], multiply(swivel, rotation)
    return SolverResult(points, start.transport(ops, start, points, rotation), sweeps)


def _iterated(ops: Operations, iterate: Iterate, problem: ReachProblem) -> tuple[list[Vector], Component]:
    """Iterate; where that ends short of the target, on one line with it perhaps, iterate from an arc again."""
    points, used = iterate(ops, problem)
    for _ in range(PERTURBATIONS):
        reached = distance_between(ops, points[-1], problem.target) <= problem.tolerance
        rest = ops.active_indices(reached | (used >= problem.iterations))
        if rest is None or len(problem.lengths) == 1:
            break
        again = problem._replace(points=points).gather(ops, rest)
        everywhere = again.target[0] == again.target[0]
        found, more = iterate(ops, again._replace(points=_perturbed(ops, everywhere, again)))
        more = ops.gather(rest, [used])[0] + more
        *flat, used = ops.scattered(rest, (*joined.from_iterable(points), used), [*joined.from_iterable(found), more])
        points = vectors_of(flat)
    return points, used


def _perturbed(ops: Operations, where: Condition, problem: ReachProblem) -> list[Vector]:
    """Return chains bent into arcs (``arc_where``), toward the pole or else toward the hint, the first bone's x axis.

    The chord is ``PERTURBED_CHORD`` times the distance from root to tip, but not less than halfway between the shortest
    chord that the links allow and that share of the chain's length: folded links need room to bend.
    """
    points, lengths, pole = problem.points, problem.lengths, problem.pole
    along = first_direction(ops, [points[-1], points[1]])
    hints = [problem.hint] if pole is None else [normalised(ops, pole), problem.hint]
    shortest = max(2.0 * max(lengths) - sum(lengths), 0.0)
    chord = ops.maximum(PERTURBED_CHORD * norm(ops, points[-1]), 0.5 * (shortest + PERTURBED_CHORD))
    side = perpendicular(ops, along, hints)
    return arc_where(ops, where, points, lengths, chord, along, side)


def _bends(ops: Operations, points: Sequence[Vector], pole: Vector) -> tuple[Vector, Vector, Condition]:
    """Return a chain's bend and its pole, both perpendicular to its chord, and whether both have a direction."""
    axis = first_direction(ops, [points[-1], points[1]])
    bend, desired = bend_direction(ops, points, axis), rejection(pole, axis)
    return bend, desired, (norm(ops, bend) > NO_DIRECTION) & (norm(ops, desired) > NO_DIRECTION)


def _points_at_pole(ops: Operations, points: Sequence[Vector], pole: Vector) -> Condition:
    """Tell whether a chain's bend points at the pole within ``POLE_NOISE``, or has no direction to compare."""
    bend, desired, usable = _bends(ops, points, pole)
    size = norm(ops, bend)
    off = norm(ops, rejection(bend, normalised(ops, desired)))
    return ops.negate(usable) | ((off <= POLE_NOISE * (1.0 + size)) & (dot(bend, desired) > 0.0))


def _swivel(ops: Operations, points: Sequence[Vector], pole: Vector, done: Condition) -> Quaternion:
    """Return the rotation about a chain's chord that points its bend at the pole; none where the chain is done."""
    bend, desired, usable = _bends(ops, points, pole)
    zero = 0.0 * bend[0]
    axis = (zero, zero, zero + 1.0)
    stays = done | ops.negate(usable)
    bend = choose_parts(ops, stays, axis, bend)
    desired = choose_parts(ops, stays, axis, desired)
    return from_to(ops, bend, desired, points[-1])
