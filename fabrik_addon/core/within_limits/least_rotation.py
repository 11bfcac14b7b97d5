# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Of the feasible poses whose tip is at a target, one that rotates least from a reference pose.

With q the joint coordinates, q0 those of the reference pose and W the diagonal matrix of how readily coordinates
change, the pose is a local minimum of ``(q - q0)^T W^-1 (q - q0)`` where the tip is at the target: a stiff joint
rotates less. A step of damped least squares solves the position task of the tip and adds, in the null space of the
Jacobian, the rotation back to the reference pose (Liegeois 1977). Least squares alone end at a pose that depends on
their path, and a target that moves a little can make the pose jump. The pose of the global minimum is a continuous
function of the target, except where two poses are equally near.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ..math.operations import TINY, Component, Condition, Operations, Vector
from ..math.vectors import distance_between, norm, subtract
from ..model.constrained_chain import ConstrainedPose
from ..model.joint_limits import SwingTwist
from ..optimise.bounded_least_squares import descend, shortened, step_within_limits

FIRST_ROTATION_DAMPING = 0.12
"""Damping of the first step, in units of the squared length: it falls with every step that helps."""

LEAST_ROTATION_DAMPING, TOO_DAMPED = 3e-5, 1e4
"""Bounds of the damping: with less, steps at a target just out of reach go to and fro across it (three hinges took all
of 40 steps and then jumped by 19 degrees between two frames), and with more no step reduces the error."""

LEAST_SLOPE = 1e-3
"""Bound of ``(1 - damping |y| / |r|) max(damping, 1)``: below it no free axis moves the tip along the residual r. With
``s = r^T J W J^T r / |r|^2`` and r an eigenvector of J W J^T this is ``s / (s + damping) max(damping, 1)``: the share
of r that the step removes, where the damping is large nearly s."""

PATIENCE, SLOW_FALL = 8, 0.5
"""Number of steps, and the share to which the error must fall in them: a descent whose tip is farther from the target
than ``NEAR_TARGET``, and whose error falls less, is taken to be in a local minimum. Nearer to the target the error
stays while the pose rotates back: with this rule there, too, six alternating hinges ended up to 37 degrees from where
further steps led them. From the solution for another target the rule holds there, too: the way back is short, and
moves of a spine and an arm beyond reach took 10 ms (95th percentile) without it, with it 7.5."""

FIRST_GUESS = PATIENCE - 1
"""Steps, at most, of a solve whose caller solves again: it has one start, because a descent of so few steps isn't known
to be in a local minimum."""

NEAR_TARGET = 0.02
"""Distance from the target, over the chain's length, within which a step may increase the error: the next step takes
the increase away."""

NEAR_STEP = 0.1
"""Largest change of a joint coordinate, half-sine or radians, in a step from within ``NEAR_TARGET``: longer ones follow
the null space too far for the step to be accepted. With the bound of all steps a finger took 11.1 steps instead of 10.3
(means of 200)."""

MOST_STRIDE = 6.0
"""Largest factor of the rotation back to the reference pose that a step takes in the null space: ``_secant_stride``
estimates it."""

LEAST_CHANGE, LEAST_CHANGE_FROM_SOLUTION = 3e-3, 1e-4
"""Largest change of a joint coordinate, half-sine or radians, in a step that ends the descent at the target: of a
descent from the reference pose, and of one from a solution for this target or for another one, which must end at one
pose whatever that solution is. The second also ends a descent that is near a target, but doesn't reach it. With 3e-4 a
spine and an arm that go on from the move before, dragged away and back, returned more than 0.1 degrees off in 6 of 60
moves, with 1e-4 in 1."""

LEAST_REMAINING = 3e-4
"""Largest change of a joint coordinate, half-sine or radians, that the steps after the last one would make together:
without this bound ten alternating hinges ended up to 34 degrees from where further steps led them, and a spine whose
bones swing by 18 degrees at most rotated to and fro by 2.7 degrees on a smooth path of targets, each solved from
rest."""


class Termination(NamedTuple):
    """When a descent ends."""

    tolerance: float
    """Distance from tip to target that counts as reached, in units of the chain's length."""
    steps: int
    """Steps at most."""
    least_change: float = LEAST_CHANGE
    """``LEAST_CHANGE``; ``LEAST_CHANGE_FROM_SOLUTION`` or less where the start is a solution, for any target."""


class _Stride:
    """Share of the rotation back to the reference pose that a step takes in the null space."""

    def __init__(self, ops: Operations, error: Component) -> None:
        self.share: Component = 1.0 + 0.0 * error
        self._ops, self._last, self._was_near = ops, self.share, error < 0.0
        self._change: list[Component] = []

    def fit(self, change: list[Component], taken: Component, is_near: Condition, helps: Condition) -> None:
        """Set the share for the step after one.

        Args:
            change: that step.
            taken: the share of it that was taken.
            is_near: whether the tip was within ``NEAR_TARGET`` of the target before it.
            helps: whether it was accepted.
        """
        ops, change = self._ops, [taken * part for part in change]
        share = ops.where(is_near, taken, 1.0) * self.share
        last, following = share, is_near & self._was_near
        if ops.any(following):
            share = ops.where(following, _secant_stride(ops, self._change, change, self._last, share), share)
        self._last, self._change, self._was_near = last, change, is_near & helps
        self.share = ops.where(is_near & ops.negate(helps), 0.5 * share, share)


def rotate_least(
    ops: Operations, start: ConstrainedPose, reference: Sequence[SwingTwist], target: Vector, termination: Termination
) -> tuple[ConstrainedPose, Component]:
    """Bring the tip to the target with the least rotation from the reference pose that there is near the start.

    The same toward a target that is farther from the root than the chain is long: a chain that stayed at its start
    there kept whatever twist about its line it had, and rotated by up to 38 degrees where its target came back within
    reach.

    Args:
        reference: joint coordinates to stay near to. They are returned to the last bit if the start is the reference
        pose and its tip
            is at the target.
        target: of the tip, from the root, in units of the chain's length.

    Returns:
        pose after, distance from tip to target.
    """
    tolerance, steps, least_change = termination
    from_solution = least_change < LEAST_CHANGE
    pose, error = start, distance_between(ops, start.tip, target)
    at_reference = _are_equal(start.coordinates, reference, error)
    done = at_reference & (error <= tolerance)
    damping: Component = FIRST_ROTATION_DAMPING + 0.0 * error
    stride, before, nearest, longest_before = _Stride(ops, error), error, error, 0.0 * error
    for step in range(1, steps + 1):
        if ops.all(done):
            break
        # A start away from the reference pose takes the null-space term near the target only: farther away the term
        # would bring the pose back to the local minimum that this start is to avoid.
        is_near = error <= NEAR_TARGET
        share_back = ops.where(at_reference | is_near, stride.share, 0.0)
        residual = subtract(target, pose.tip)
        change, share, longest, is_still = _step(ops, pose, reference, residual, damping, share_back)
        share = ops.where(is_near, ops.minimum(NEAR_STEP / longest, share), share)
        trial = pose.moved(ops, change, share)
        trial_error = distance_between(ops, trial.tip, target)
        better = ((trial_error < error) | (trial_error <= NEAR_TARGET)) & ops.negate(done)
        pose = trial.where(ops, better, pose)
        stride.fit(change, share, is_near, better)
        damping = ops.where(better, ops.maximum(0.2 * damping, LEAST_ROTATION_DAMPING), 6.0 * damping)
        error = ops.where(better, trial_error, error)
        done = done | (is_still & (error > NEAR_TARGET))
        nearest = ops.minimum(nearest, error)
        if step % PATIENCE == 0:
            is_slow = nearest > ops.maximum(SLOW_FALL * before, tolerance)
            done, before = done | (is_slow & (ops.negate(is_near) | from_solution)), nearest
        is_converged = (longest <= least_change) & (_remaining_change(ops, longest, longest_before) <= LEAST_REMAINING)
        longest_before = ops.where(is_near & better, longest, 0.0)
        is_stationary = (error > tolerance) & is_near & (longest <= LEAST_CHANGE_FROM_SOLUTION)
        done = done | ((error <= tolerance) & is_converged) | is_stationary | (damping > TOO_DAMPED)
    is_beside = (error > tolerance) & (error <= NEAR_TARGET)
    if ops.any(is_beside):  # the last step has a null-space term, which takes the tip off the target
        found, less, _ = descend(ops, pose, target, tolerance, steps // 4)
        pose = found.where(ops, is_beside, pose)
        error = ops.where(is_beside, less, error)
    return pose, error


def _remaining_change(ops: Operations, last: Component, before: Component) -> Component:
    """Return an estimate of the largest change that all steps after the last one make together.

    If the largest changes of the steps keep the ratio of the last two, ``q = last / before``, those that are left are a
    geometric series: ``last (q + q^2 + ...) = last^2 / (before - last)``. Steps that get no shorter have no end, and
    after a step away from the target, or a refused one, whose change counts as 0, no end is known.
    """
    return last * last / ops.maximum(before - last, TINY)


def _are_equal(coordinates: Sequence[SwingTwist], reference: Sequence[SwingTwist], error: Component) -> Condition:
    """Tell in which batch items two poses have the same joint coordinates; never where the error isn't a number."""
    equal: Condition = error >= 0.0
    for here, there in zip(coordinates, reference, strict=True):
        for a, b in zip(here, there, strict=True):
            equal = equal & (a == b)
    return equal


def _secant_stride(
    ops: Operations, before: Sequence[Component], step: Sequence[Component], stride_before: Component, stride: Component
) -> Component:
    """Return the stride with which the last step would have ended where the null-space term is 0, by a linear estimate.

    With s the last step, y this one, and their strides a and b, the secant equation (Barzilai & Borwein 1988) gives
    ``a / (1 - (s.y a) / (s.s b))``. One stride for all steps, short enough for the sharpest bend of the set of
    feasible poses that reach, takes three times as many steps.
    """
    size = product = 0.0 * stride
    for a, b in zip(before, step, strict=True):
        size, product = size + a * a, product + a * b
    left = product * stride_before / (size * stride + TINY)
    return ops.minimum(stride_before / ops.maximum(1.0 - left, TINY), MOST_STRIDE)


def _step(
    ops: Operations,
    pose: ConstrainedPose,
    reference: Sequence[SwingTwist],
    residual: Vector,
    damping: Component,
    share_back: Component,
) -> tuple[list[Component], Component, Component, Condition]:
    """Return a step with the rotation back to the reference pose as its null-space term, ``z = share_back (q0 - q)``.

    Returns:
        the change of the free coordinates; the share of it up to which none changes by more than
        ``LONGEST_DAMPED_STEP``; the largest change; and whether the step leaves nearly all of the residual.
    """
    here = pose.coordinates
    secondary = [share_back * (reference[j][axis] - here[j][axis]) for j, axis in pose.chain.free]
    change, y = step_within_limits(ops, pose, secondary, residual, damping)
    share, longest = shortened(ops, change)
    # damping * y is the residual that the step leaves: all of it where no free axis moves the tip that way.
    left = damping * norm(ops, y) / (norm(ops, residual) + TINY)
    return change, share, longest, (1.0 - left) * ops.maximum(damping, 1.0) < LEAST_SLOPE
