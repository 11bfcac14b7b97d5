# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""One Newton step on a quadratic model of a cost (``cost_model``), within limits.

    (J^T Omega J + K + (1 + lambda) P) dq = J^T Omega r + P (q0 - q)

leads to the minimum of the model plus ``lambda dq^T P dq`` (after Marquardt 1963, with P for the diagonal of J^T J).
Where the matrix isn't positive definite, stiffness is added to the coordinates that the step before took to their
limits (``HOLDING``), and where that isn't enough, the step is taken without K, or lambda is raised (``damped_step``).
Bounds are a primal-dual active set that starts from that of the step before: a coordinate is held at a limit where
limit + multiplier / ((1 + lambda) P) is beyond the limit (Hintermueller, Ito and Kunisch 2002).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..math.factorisation import positive_inverse
from ..math.operations import Array, Component, Condition
from ..tasks.task_stack import TaskStack
from .cost_model import CostModel, product

ACTIVE_SET_ROUNDS = 5
"""Solutions of one step at most, each with the active set that the one before led to."""

LEAST_CURVATURE = 1e-2
"""Four times the least eigenvalue of J^T Omega J + K + (1 + lambda) P that counts as positive (``positive_inverse``):
with a smaller one ``damped_step`` changes the matrix. The posture task's weights are 0.25 and more."""

LEAST_RAISED, MORE_DAMPING, DAMPING_ROUNDS = 4.0, 2.0, 12
"""The least value that lambda is raised to, the factor by which it is raised, and trials at most, until the second
derivatives are positive definite (``damped_step``). With a factor of 4, from 1 on, paths of Rigify's human with a fixed
root took 31.6 steps from rest instead of 30.4."""

GAUSS_NEWTON_STEP = 1.0
"""Largest change of a coordinate in the step without K, in radians or the tree's units, up to which it is taken where
the second derivatives aren't positive definite: what the model lacks without K is quadratic in the change. Without such
steps seeded paths of Rigify's human with a fixed root took 30 steps from rest instead of 23.6 (mean of 14 paths), with
those up to 0.5 alone 26.4, and a hand led low beyond reach (bench row "body-path") rotated a bone by 16 times the
median step's rotation instead of 2.4."""

HOLDING = 1e4
"""Stiffness, over P, that keeps coordinates at limits that the step before took them to, where the matrix isn't
positive definite: that of the other coordinates may be. In a batch it is that of all poses where it is that of one.
Without it lambda rose to 2 near minima with coordinates at limits, and a foot that is led up and past its knee's pole
(bench row "body-paths") took 10.6 steps from pose to pose instead of 9.2."""

LEAST_INVERSE = 1e-12
"""A lower bound of the eigenvalues of the inverse of J^T Omega J + K + (1 + lambda) P: the first level's w is up to
1e9."""


class Step(NamedTuple):
    """A step within limits, and how it was found."""

    change: Array
    """dq (..., N + S)."""
    active: NDArray[np.bool_]
    """(..., 2, N + S) which coordinates the last round put at their upper, and at their lower limits."""
    is_optimal: Condition
    """Whether the last round left the active set as it was."""
    is_whole: bool
    """Whether the step is with second derivatives, ``CostModel.curvature``."""
    inverse: Array
    """(..., N + S, N + S) of the step's matrix over the coordinates that ``change`` doesn't hold at limits, 0 of the
    others; along normal and tangent of the model's swings."""

    def to_second_order(self, model: CostModel, off: Array) -> Array:
        """Return the change (..., N + S) that takes back what residuals are off by (..., M) after the step.

        ``H^-1 J^T Omega off`` with the step's own second derivatives H: the second-order correction of a Newton step
        (Nocedal and Wright, section 18.3), with tasks weighed by Omega instead of imposed. For least squares it is
        geodesic acceleration (Transtrum and Sethna 2012).
        """
        slope = product(model.by_swings.swapaxes(-1, -2), model.here.weights * off)
        return model.swings.to_axes(product(self.inverse, slope))


def damped_step(
    stack: TaskStack, model: CostModel, damping: Component, active: NDArray[np.bool_], leaves_out_curvature: bool
) -> tuple[Component, Step | None]:
    """Return lambda and the step of ``newton_step``, with second derivatives that are positive definite.

    Where they aren't, that is the Gauss-Newton step, without K, if it is at most ``GAUSS_NEWTON_STEP`` long; else
    lambda is raised until they are, of a batch for all poses where they aren't for one. The step is None where
    ``DAMPING_ROUNDS`` trials don't suffice.

    Args:
        leaves_out_curvature: whether the step may be without K.
    """
    step = newton_step(stack, model, damping, active)
    if step is None and model.curvature is not None and leaves_out_curvature:
        step = newton_step(stack, model._replace(curvature=None), damping, active)
        if step is not None and np.abs(step.change).max(initial=0.0) > GAUSS_NEWTON_STEP:
            step = None
    for _ in range(DAMPING_ROUNDS):
        if step is not None:
            break
        damping = stack.ops.maximum(MORE_DAMPING * damping, LEAST_RAISED)
        step = newton_step(stack, model, damping, active)
    return damping, step


def newton_step(stack: TaskStack, model: CostModel, damping: Component, active: NDArray[np.bool_]) -> Step | None:
    """Return a step that ends within limits; None where the second derivatives of a pose aren't positive definite.

    Args:
        active: (..., 2, N + S) which coordinates the step before took to their upper, and to their lower limits.
    """
    here, swings, jacobian = model.here, model.swings, model.by_swings
    posture_weights = stack.coordinates.posture_weights
    metric = np.asarray(1.0 + damping)[..., None] * posture_weights
    hessian = model.hessian(metric)
    diagonal = np.einsum("...ii->...i", hessian)
    slope = product(jacobian.swapaxes(-1, -2), here.weights * here.residual)
    slope += swings.from_axes(here.toward * posture_weights)
    inverse, held = _inverse_if_positive(hessian), None
    if inverse is None:
        ends = np.stack([model.up, model.down], -2)
        held = active & np.isfinite(ends)
        if not held.any():
            return None
        stiffness = HOLDING * posture_weights * held
        diagonal += stiffness.sum(-2)
        slope += (stiffness * np.where(held, ends, 0.0)).sum(-2)
        inverse = _inverse_if_positive(hessian)
    if inverse is None:
        return None
    bounded = (inverse, product(inverse, slope), metric, model.down, model.up, active)
    is_optimal: Condition
    if stack.batch:
        change, active, is_optimal, inverse = map(np.array, zip(*map(_within_bounds, *bounded), strict=True))
    else:
        change, active, is_optimal, inverse = _within_bounds(*bounded)
    if held is not None:
        # What is released although it was held may rotate farther than its stiffness has let it.
        is_optimal = is_optimal & stack.ops.negate((held & ~active).any((-2, -1)))
    return Step(swings.to_axes(change), active, is_optimal, model.curvature is not None, inverse)


def _inverse_if_positive(hessian: Array) -> Array | None:
    """Return the inverse of second derivatives; None where those of one of the poses aren't positive definite."""
    try:
        return positive_inverse(hessian, LEAST_CURVATURE)
    except np.linalg.LinAlgError:
        return None


def _within_bounds(
    inverse: Array, without_bounds: Array, metric: Array, down: Array, up: Array, active: NDArray[np.bool_]
) -> tuple[Array, NDArray[np.bool_], bool, Array]:
    """Return the step of one pose within bounds, its active set, whether the last round left that as it was, and H^-1.

    That is the inverse over the coordinates that aren't in the active set.

    Args:
        inverse: (N + S, N + S) H^-1.
        without_bounds: (N + S,) H^-1 b.
        metric: (N + S,) (1 + lambda) P.
    """
    above, below = active & np.isfinite([up, down])
    desired, is_optimal = without_bounds, False
    known: tuple[NDArray[np.intp], Array] | None = None
    for _ in range(ACTIVE_SET_ROUNDS):
        (held,) = np.nonzero(above | below)
        if held.size:
            # Multipliers m: H dq = b - m and dq = limit where held, so m = (H^-1)_hh^-1 ((H^-1 b)_h - limit).
            at_limit = np.where(above, up, down)[held]
            try:
                of_held = positive_inverse(inverse[np.ix_(held, held)], LEAST_INVERSE)
            except np.linalg.LinAlgError:
                break  # where the first level holds these coordinates H^-1 is rounding: the step of the round before
            multipliers = of_held @ (without_bounds[held] - at_limit)
            desired = without_bounds - inverse[:, held] @ multipliers
            desired[held] = at_limit + multipliers / metric[held]
            known = held, of_held
        else:
            desired, known = without_bounds, None
        # At a limit the desired change is a multiplier, of which the sign alone counts: it frees the coordinate.
        over, under = (desired > up) & ~below, (desired < down) & ~above
        is_optimal = not (over ^ above | under ^ below).any()
        if is_optimal:
            break
        above, below = over, under
    if known is not None:
        held, of_held = known
        inverse = inverse - inverse[:, held] @ of_held @ inverse[held]
    return np.minimum(np.maximum(desired, down), up), np.array([above, below]), is_optimal, inverse
