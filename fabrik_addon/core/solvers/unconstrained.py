# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""CCD and the Jacobian methods: what is done before and after their iterations on a chain without limits.

1. A target out of reach is solved in closed form (``straight_to_target``).
2. A chain on one line with its target is bent into a circular arc: no step of CCD or of the Jacobian leaves the line.
3. With a pole the chain is rotated about its root, so that tip and bend lie in the plane of root, target and pole.
   After the iterations it is rotated about its chord, the line from root to tip, until the bend points at the pole:
   that rotation moves neither root nor tip.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ..fabrik.chain_fabrik import ReachProblem, choose_joints, circular_arc_where, on_one_line, shape_at
from ..fabrik.passes import reach_test, straight_to_target
from ..goals.pole import bend_direction, bend_plane
from ..math.operations import TINY, Component, Condition, Operations, Vector
from ..math.quaternions import Quaternion, from_to, multiply, rotate
from ..math.vectors import (
    NO_DIRECTION,
    Joints,
    choose_parts,
    distance_between,
    dot,
    first_direction,
    joints_of,
    norm,
    perpendicular,
    points_of,
    rejection,
    scale,
)
from ..model.chain_start import StartPose
from ..optimise.bounded_least_squares import Descent
from ..optimise.constrained_reach import coordinates_of
from ..optimise.pole_task import bend_toward_pole
from ..problem import Options
from .solver import SolverResult

Iterate: TypeAlias = Callable[[Operations, Joints, Sequence[float], Vector, float, int], tuple[Joints, Component]]
"""(ops, joints, lengths, target, tolerance, iterations): bring the tip to a target within reach; joints after and
iterations used."""

PERTURBED_CHORD = 0.999
"""Distance from root to tip of the circular arc into which a chain on one line is bent, over the distance before."""

PERTURBATIONS = 2
"""Further runs, each from a circular arc, of a chain whose iterations end short of the target."""

POLE_NOISE = 1e-5
"""Distance by which the rotation to the pole must move a joint, over the chain's length, to be made. A solved pose that
comes back from Blender's single precision is off its pole by less, and stays as it is."""


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
    present = coordinates_of(ops, chain, start.frames)
    coordinates, placed, _, used = descend(ops, chain, present, target, tolerance, options.iterations)
    if pole is not None:
        shaped = shape_at(ops, start, target)
        _, placed = bend_toward_pole(ops, chain, coordinates, target, pole, tolerance, shaped)
    return SolverResult(placed.joints, placed.frames, used)


def _reach_freely(
    ops: Operations, start: StartPose, target: Vector, pole: Vector | None, options: Options, iterate: Iterate
) -> SolverResult:
    """Bring the tip to the target and the bend toward the pole, where there is one."""
    joints, lengths, hint = start.joints, start.lengths, start.x_axes[0]
    tolerance = options.tolerance
    error = distance_between(ops, start.points[-1], target)
    done: Condition = error <= tolerance
    rotation: Quaternion | None = None
    if pole is not None:
        done = done & _points_at_pole(ops, joints, pole)
        rotation = _rotation_to_pole(ops, joints, target, pole, hint, done)
        joints = _rotated(joints, rotation)
    distance = norm(ops, target)
    too_far, too_near = reach_test(lengths, distance)
    blocked = (too_far | too_near) & ops.negate(done)
    along = first_direction(ops, [target, start.points[-1], start.points[1]])
    if ops.any(blocked):
        joints = choose_joints(ops, blocked, straight_to_target(ops, lengths, along, too_far), joints)
    problem = ReachProblem(points_of(joints), lengths, target, pole, hint, tolerance, options.iterations)
    if len(lengths) > 1:
        deadlocked = ops.negate(done | blocked) & on_one_line(ops, problem.points, target)
        if ops.any(deadlocked):
            joints = _perturbed(ops, deadlocked, problem)
            problem = problem._replace(points=points_of(joints))

    count = len(joints[0])
    result = [0.0 + part for part in (*joints[0], *joints[1], *joints[2], ops.where(done, 0.0, 1.0 + 0.0 * error))]
    rest = ops.active_indices(done | blocked)
    if rest is not None:
        (x, y, z), used = _iterated(ops, iterate, problem.gather(ops, rest))
        ops.scatter(rest, result, [*x, *y, *z, used])
    joints = (result[:count], result[count : 2 * count], result[2 * count : 3 * count])
    if pole is not None and rotation is not None:
        swivel = _swivel(ops, joints, pole, done)
        joints, rotation = _rotated(joints, swivel), multiply(swivel, rotation)
    points = points_of(joints)
    frames = start.transport(ops, start, points, rotation)
    return SolverResult(points, frames, result[-1])


def _iterated(ops: Operations, iterate: Iterate, problem: ReachProblem) -> tuple[Joints, Component]:
    """Iterate; where the iterations end short of the target, iterate from a circular arc up to ``PERTURBATIONS`` times.

    On the way to the target a chain may come onto one line with it, where its Jacobian loses rank and no step brings
    the tip nearer.
    """
    lengths, tolerance, iterations = problem.lengths, problem.tolerance, problem.iterations
    (x, y, z), used = iterate(ops, joints_of(problem.points), lengths, problem.target, tolerance, iterations)
    for _ in range(PERTURBATIONS):
        reached = distance_between(ops, (x[-1], y[-1], z[-1]), problem.target) <= tolerance
        rest = ops.active_indices(reached | (used >= iterations))
        if rest is None or len(lengths) == 1:
            break
        again = problem._replace(points=points_of((x, y, z))).gather(ops, rest)
        everywhere = again.target[0] == again.target[0]
        found, more = iterate(ops, _perturbed(ops, everywhere, again), lengths, again.target, tolerance, iterations)
        result = [0.0 + part for part in (*x, *y, *z, used)]
        ops.scatter(rest, result, [*found[0], *found[1], *found[2], ops.gather(rest, [used])[0] + more])
        count = len(x)
        x, y, z, used = result[:count], result[count : 2 * count], result[2 * count : 3 * count], result[-1]
    return (x, y, z), used


def _perturbed(ops: Operations, where: Condition, problem: ReachProblem) -> Joints:
    """Return chains bent into circular arcs, toward the pole or else toward the hint, the first bone's own x axis.

    The chord is ``PERTURBED_CHORD`` times the distance from root to tip, but not less than halfway between the shortest
    chord that the links allow and that share of the chain's length: folded links need room to bend.
    """
    points, lengths, pole = problem.points, problem.lengths, problem.pole
    along = first_direction(ops, [points[-1], points[1]])
    hints = [problem.hint] if pole is None else [scale(pole, 1.0 / (norm(ops, pole) + TINY)), problem.hint]
    shortest = max(2.0 * max(lengths) - sum(lengths), 0.0)
    chord = ops.maximum(PERTURBED_CHORD * norm(ops, points[-1]), 0.5 * (shortest + PERTURBED_CHORD))
    side = perpendicular(ops, along, hints)
    return circular_arc_where(ops, where, joints_of(points), lengths, chord, along, side)


def _rotated(joints: Joints, q: Quaternion) -> Joints:
    """Rotate a whole chain about its root."""
    return joints_of([rotate(q, point) for point in points_of(joints)])


def _rotation_to_pole(
    ops: Operations, joints: Joints, target: Vector, pole: Vector, hint: Vector, done: Condition
) -> Quaternion:
    """Return the rotation about the root that brings tip and bend into the plane of root, target and pole."""
    x, y, z = joints
    along = first_direction(ops, [target, (x[-1], y[-1], z[-1]), (x[1], y[1], z[1])])
    _, rotation = bend_plane(ops, joints, along, pole, hint)
    zero = 0.0 * x[0]
    return choose_parts(ops, done, (zero + 1.0, zero, zero, zero), rotation)


def _bends(ops: Operations, joints: Joints, pole: Vector) -> tuple[Vector, Vector, Condition]:
    """Return a chain's bend and its pole, both perpendicular to its chord, and whether both have a direction."""
    x, y, z = joints
    axis = first_direction(ops, [(x[-1], y[-1], z[-1]), (x[1], y[1], z[1])])
    bend, desired = bend_direction(ops, joints, axis), rejection(pole, axis)
    return bend, desired, (norm(ops, bend) > NO_DIRECTION) & (norm(ops, desired) > NO_DIRECTION)


def _points_at_pole(ops: Operations, joints: Joints, pole: Vector) -> Condition:
    """Tell whether a chain's bend points at the pole within ``POLE_NOISE``, or has no direction to compare."""
    bend, desired, usable = _bends(ops, joints, pole)
    size = norm(ops, bend)
    off = norm(ops, rejection(bend, scale(desired, 1.0 / (norm(ops, desired) + TINY))))
    return ops.negate(usable) | ((off <= POLE_NOISE * (1.0 + size)) & (dot(bend, desired) > 0.0))


def _swivel(ops: Operations, joints: Joints, pole: Vector, done: Condition) -> Quaternion:
    """Return the rotation about a chain's chord that points its bend at the pole; none where the chain is done."""
    bend, desired, usable = _bends(ops, joints, pole)
    zero = 0.0 * bend[0]
    axis = (zero, zero, zero + 1.0)
    stays = done | ops.negate(usable)
    bend = choose_parts(ops, stays, axis, bend)
    desired = choose_parts(ops, stays, axis, desired)
    x, y, z = joints
    return from_to(ops, bend, desired, (x[-1], y[-1], z[-1]))
