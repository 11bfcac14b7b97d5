# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The position of the tip and the bend toward the pole, by a solver."""

from dataclasses import replace

from ..fabrik.passes import reach_test
from ..goals.pole import NO_BEND, bend_direction, rotate_pole, side_toward
from ..goals.softness import is_eased, soft_target
from ..math.operations import Component, Condition, Operations, Vector
from ..math.quaternions import from_to, identity_of, multiply
from ..math.vectors import choose_parts, distance_between, first_direction, norm, onward, relative_to
from ..model.chain_start import StartPose
from ..problem import Options, Status
from ..solvers.fabrik_solver import FABRIK
from ..solvers.table import solver_for
from .stage import ChainGoal, ComponentSolution


def reach_position(ops: Operations, start: StartPose, goal: ChainGoal, options: Options) -> ComponentSolution:
    """Bring the tip to the target and the bend toward the pole by the solver that the options name.

    A chain without limits that has a pole and a pole shape is solved by FABRIK, whatever they name. The solver gets
    positions relative to the root, in units of the chain's length: its thresholds don't depend on scale.
    """
    unit, root = start.chain.total_length, start.root
    target = relative_to(goal.target, root, unit)
    pole = None
    if goal.pole is not None:
        pole = relative_to(goal.pole, root, unit)
        if goal.pole_angle != 0.0:
            start, pole = _rotate_pole_by_angle(ops, start, pole, target, goal.pole_angle)
    desired = soft_target(ops, target, options.softness)
    solver = solver_for(start.chain, options)
    if pole is not None and start.constrained_chain is None and start.chain.own_pole_shape:
        solver = FABRIK  # one pose of the family is at the target, and it is found without iterations
    points, frames, iterations = solver.solve(ops, start, desired, pole, options)
    error = distance_between(ops, points[-1], target)
    joints = [onward(root, unit, point) for point in points]
    status = status_of(ops, start, target, options.softness, error <= options.tolerance)
    return ComponentSolution(start.batch, joints, frames, error, iterations, status, 1.0 + 0.0 * error)


def status_of(ops: Operations, start: StartPose, target: Vector, softness: float, reached: Condition) -> Component:
    """Return how a solve ended: reached, else out of reach by the reach test, else limited or stalled.

    A target at a distance (``target``, from the root, in units of the chain's length) at which softness keeps the tip
    from it counts as out of reach.
    """
    if ops.all(reached):
        return ops.where(reached, Status.REACHED, Status.STALLED)
    too_far, too_near = reach_test(start.lengths, norm(ops, target))
    beyond = too_far | too_near | is_eased(ops, target, softness)
    failed = Status.STALLED if start.constrained_chain is None else Status.LIMITED
    return ops.where(reached, Status.REACHED, ops.where(beyond, Status.OUT_OF_REACH, failed))


def _rotate_pole_by_angle(
    ops: Operations, start: StartPose, pole: Vector, target: Vector, angle: float
) -> tuple[StartPose, Vector]:
    """Return the pole rotated by its angle about the line to the target, and the start with which to solve for it.

    A straight chain has no bend from which its frames could be transported: ``bend_plane`` takes the side of the pole
    from the chain's own line (``side_toward``). That side differs between the pole rotated by the angle about the
    chain's own line, from which the present frames come, and the pole rotated about the line to the target. The start
    returned therefore applies the rotation from the first side to the second before the rotation of the bend plane.
    """
    rotated = rotate_pole(ops, pole, first_direction(ops, [target, start.points[-1], start.points[1]]), angle)
    chord = first_direction(ops, [start.points[-1], start.points[1]])
    straight = norm(ops, bend_direction(ops, start.points, chord)) <= NO_BEND
    if start.constrained_chain is not None or not ops.any(straight):
        return start, rotated
    hint = start.x_axes[0]
    side_before = side_toward(ops, start.points, rotate_pole(ops, pole, chord, angle), hint)
    rotation = from_to(ops, side_before, side_toward(ops, start.points, rotated, hint), chord)
    twist, transport = choose_parts(ops, straight, rotation, identity_of(chord[0])), start.transport
    start = replace(
        start, transport=lambda ops, pose, points, q: transport(ops, pose, points, q and multiply(q, twist))
    )
    return start, rotated
