# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The solver FABRIK: sweeps for a chain without limits, and with a pole the reference pose of a constrained chain.

Clamping rotations to limits between the passes moves joints that the passes have placed. A constrained chain is
therefore solved by ``reach_within_limits``, with the present pose as the reference pose, or with a pole FABRIK's pose
without limits, clamped to the limits (``_solve_with_pole``).
"""

from ..fabrik.chain_fabrik import ReachProblem, reach_target
from ..fabrik.pole_shape import shaped_joints
from ..goals.pole import POSITION_NOISE
from ..math.operations import Component, Operations, Vector
from ..math.vectors import distance_between
from ..model.chain_start import StartPose
from ..model.constrained_chain import ConstrainedChain, ConstrainedPose, pose_of
from ..problem import Options
from ..within_limits.bend_toward_pole import POINTED, angle_to_pole, bend_toward_pole
from ..within_limits.constrained_reach import reach_within_limits
from ..within_limits.least_rotation import FIRST_GUESS
from .solver import Solver, SolverResult

POLE_GAIN = 0.9
"""Ratio of the angle to the pole to that of a pose at the target, below which another pose at the target is taken."""


_SOLVES_TOWARD_POLE = 4
"""Further solves, at most, of a chain within limits whose bend doesn't point at its pole."""


def _solve(ops: Operations, start: StartPose, target: Vector, pole: Vector | None, options: Options) -> SolverResult:
    chain = start.constrained_chain
    if chain is None:
        return _sweep(ops, start, target, pole, options)
    if pole is not None:
        return _solve_again_toward_pole(ops, start, chain, target, pole, options)
    present = pose_of(ops, chain, start.frames)
    initial = None if start.near is None else pose_of(ops, chain, start.near.frames)
    pose, _, starts = reach_within_limits(ops, present, target, options.tolerance, options.iterations, initial)
    return SolverResult(pose.joints, pose.frames, starts)


def _sweep(ops: Operations, start: StartPose, target: Vector, pole: Vector | None, options: Options) -> SolverResult:
    """Return FABRIK's pose without limits: the iterations are sweeps."""
    stop, shape = (options.tolerance, options.iterations), start.chain.own_pole_shape
    problem = ReachProblem(start.points, start.lengths, target, pole, start.x_axes[0], *stop, shape)
    points, sweeps, rotation = reach_target(ops, problem)
    return SolverResult(points, start.transport(ops, start, points, rotation), sweeps)


def _solve_again_toward_pole(
    ops: Operations, start: StartPose, chain: ConstrainedChain, target: Vector, pole: Vector, options: Options
) -> SolverResult:
    """Solve with a pole, and again from the pose found, while that brings the bend nearer to the pole.

    FABRIK's pose, which is clamped to the limits, has the twists of the pose from which it is found. From another one
    the descent may end in another minimum. Without the further solves a second press of Solve rotated bones by more
    than 20 degrees in 33 of 528 random chains of three to five bones with limits that reached their targets.
    """
    pose, count = _solve_with_pole(ops, start, chain, target, pole, options)
    shaped = shaped_joints(ops, start, target)
    angle = angle_to_pole(ops, pose.joints, target, pole, shaped)
    for _ in range(_SOLVES_TOWARD_POLE if options.iterations > FIRST_GUESS else 0):
        going = (distance_between(ops, pose.tip, target) <= options.tolerance) & (angle > POINTED)
        if not ops.any(going):
            break
        again, more = _solve_with_pole(ops, start.posed(pose.joints, pose.frames), chain, target, pole, options)
        less = angle_to_pole(ops, again.joints, target, pole, shaped)
        is_at_target = distance_between(ops, again.tip, target) <= options.tolerance
        better = going & is_at_target & (less < POLE_GAIN * angle)
        count = ops.where(going, count + more, count)
        if not ops.any(better):
            break
        pose, angle = again.where(ops, better, pose), ops.where(better, less, angle)
    return SolverResult(pose.joints, pose.frames, count)


def _solve_with_pole(
    ops: Operations, start: StartPose, chain: ConstrainedChain, target: Vector, pole: Vector, options: Options
) -> tuple[ConstrainedPose, Component]:
    """Bring the tip to the target within limits and the bend as near to the pole as they allow.

    1. Where the present pose has its tip at the target, its bend is brought toward the pole. If that makes all batch
       items point at the pole, this is the result: a solved pose stays as it is.
    2. Else the chain is solved with FABRIK's pose as the reference pose. Where that ends in a local minimum farther
       from the target than the present pose, or no nearer, the present pose is taken: solving again must not take the
       tip away from the target. FABRIK's pose of a chain that is straight toward a target beyond its reach is twisted
       by the angle from its bend to the pole, and the bend is what rounding leaves: a second solve twisted bones of 22
       of 100 random chains by up to 180 degrees.
    3. The bend of that pose is brought toward the pole. The pose of step 1 is kept where its tip is at the target and
       the angle to the pole has not become ``POLE_GAIN`` times smaller: a pole that limits keep the bend from is no
       reason to leave a pose at the target for another one at the target.

    The iterations are starts.
    """
    present = bent = pose_of(ops, chain, start.frames)
    from_fabrik = pose_of(ops, chain, _sweep(ops, start, target, pole, options).frames)
    shaped = shaped_joints(ops, start, target)
    tolerance = options.tolerance
    present_error = distance_between(ops, present.tip, target)
    at_target = present_error <= tolerance
    if ops.any(at_target):
        bent = bend_toward_pole(ops, present, target, pole, tolerance, shaped)
        if ops.all(at_target & (angle_to_pole(ops, bent.joints, target, pole, shaped) <= POINTED)):
            return bent, 0.0 * present_error
    pose, error, count = reach_within_limits(ops, from_fabrik, target, tolerance, options.iterations)
    was_as_near = (error > tolerance) & (present_error < error + POSITION_NOISE)
    pose = bend_toward_pole(ops, present.where(ops, was_as_near, pose), target, pole, tolerance, shaped)
    bent_angle = angle_to_pole(ops, bent.joints, target, pole, shaped)
    stays = at_target & (POLE_GAIN * bent_angle <= angle_to_pole(ops, pose.joints, target, pole, shaped))
    return bent.where(ops, stays, pose), count


FABRIK = Solver(_solve, solves_trees=True)
