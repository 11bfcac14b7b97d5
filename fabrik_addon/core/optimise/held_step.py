# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""One step of a descent with held tasks: the part that meets them, and Newton's method in their null space.

Near the end of a descent the tasks are met, and the pose moves along those that meet them toward the one nearest to the
reference pose. This nearest pose is the minimum of ``(q0 - q)^T P (q0 - q) / 2`` where the residuals stay 0, with ``P =
W^-1``. With the Lagrange multipliers mu and the change dq_t of the tasks' part of the step

    mu = (J W J^T)^-1 J (q0 - q),    K = sum of mu d^2p / dq^2
    (P + K) z = P (q0 - q) - K dq_t    in the null space of J

(sequential quadratic programming: Nocedal and Wright, section 18.1). Where tasks pull, their forces are part of the way
``q0 - q``, and K has the second derivatives of their losses, too. Conjugate gradients with the projector of the null
space solve that (Gould, Hribar and Nocedal 2001, algorithm 6.1), and end where P + K isn't positive definite, or where
z is as long as it may be (``HeldStep.radius``; Steihaug 1983).
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..math.factorisation import damped_inverse
from ..math.operations import Array
from ..model.tree_motions import TreeMotions
from ..tasks.task_stack import TaskStack

ROUNDS, ENOUGH = 40, (3e-3, 3e-2)
"""Iterations of conjugate gradients at most, and the bounds of the share of the first gradient's length g at which they
end, 0.01 g within these bounds. Pulls stiffen a chain 50 times. With 3e-3 everywhere a Y with one target beyond reach
took 1.75 ms instead of 1.59 (medians of 100)."""

NOTHING = 1e-30
"""Square of the gradient's length that is rounding."""

PRECISE = 3e-4
"""Length of the gradient that is left, up to which z is precise: no coordinate is off by more. Along a chain that a
target pulls straight the gradient is 50 times longer than across: without this a hand was 8 degrees from the minimum
where its finger's target leaves reach."""

LEAST_CURVATURE = 1e-2
"""Second derivative along a direction, over that without K, down to which P + K counts as positive definite."""

PROJECTOR = 1e-9
"""lambda of the projector on the poses that meet h, over the trace of J W J^T."""

MOST_HOLDING = 60.0
"""Largest force mu on a target within reach up to which both descents end in one pose: by weight its bound is F = 250.
With 200 a Y within limits was 0.64 degrees off after one round of its target, with this 0.01."""


class Known(NamedTuple):
    """What is known of a step."""

    back: Array
    """(N + S, M1) pseudo-inverse of the rows of h."""
    are_held: bool
    """Whether no force that holds h exceeds ``MOST_HOLDING``."""
    is_precise: bool
    """Whether z is precise: not where P + K isn't positive definite, nor at a bound of z, nor where more than
    ``PRECISE`` of the gradient is left."""


@dataclass(frozen=True)
class HeldStep:
    """A step without limits (``bounded_step.Solve``): the first level is met, the tasks below it pull."""

    stack: TaskStack
    motions: TreeMotions
    """Of the state."""
    jacobian: Array
    """J of all tasks (M + M2, N + S), of the state."""
    damping: float
    forces: Array
    """(M2,) f of the tasks that pull."""
    stiffness: Array
    """(N + S, N + S) half the second derivatives of their losses, without K; (1,) of 0 where there are no pulls."""
    radius: float
    """Largest length of a step."""

    def __call__(self, jacobian: Array, residual: Array, weights: Array, toward: Array) -> tuple[Array, Array, Known]:
        """Return dq_t, z (N + S,), and what is known of them."""
        first, metric = self.stack.first_rows, self.stack.coordinates.metric
        rows = jacobian[first]
        weighted = rows * weights
        normal = weighted @ rows.T
        least = PROJECTOR * float(normal.trace()) + 1e-12
        inverse, damped = damped_inverse(normal, np.array([least, least + self.damping]))
        by_tasks, back = (damped @ residual[first]) @ weighted, weighted.T @ inverse
        toward = toward * (weights > 0.0) + weights * (self.forces @ jacobian[first.stop :])
        forces = (metric * toward) @ -back
        are_held = bool(np.abs(forces).max(initial=0.0) <= MOST_HOLDING)
        second = self.stack.curvature(self.motions, self.jacobian, np.concatenate([forces, self.forces]))
        second += self.stiffness
        left = toward - weights * (second @ by_tasks)
        gradient = left - back @ (rows @ left)
        second.reshape(-1)[:: len(weights) + 1] += metric
        along, is_precise = self._in_null_space(second, gradient, (weights, rows, back))
        return by_tasks, along, Known(back, are_held, is_precise)

    def _in_null_space(
        self, second: Array, gradient: Array, projection: tuple[Array, Array, Array]
    ) -> tuple[Array, bool]:
        """Return z (N + S,), by conjugate gradients, and whether it is precise.

        Args:
            second: P + K (N + S, N + S).
            gradient: W times the right side (N + S,), projected.
            projection: W (N + S,), J (M, N + S) and its pseudo-inverse (N + S, M).
        """
        weights, rows, back = projection
        metric = self.stack.coordinates.metric
        found, direction = 0.0 * gradient, gradient
        square = first = float(gradient @ (metric * gradient))
        if first <= NOTHING:
            return gradient, True
        enough = min(ENOUGH[1], max(ENOUGH[0], 0.01 * math.sqrt(first)))
        for _ in range(ROUNDS):
            bent = second @ direction
            bend = float(direction @ bent)
            is_within = bend > LEAST_CURVATURE * square
            if is_within:
                share = square / bend
                longer = found + share * direction
                is_within = float(longer @ longer) <= self.radius**2
            if not is_within:
                return found + _way_to_bound(found, direction, self.radius) * direction, False
            found = longer
            gradient = gradient - share * (weights * bent)
            gradient -= back @ (rows @ gradient)
            before, square = square, float(gradient @ (metric * gradient))
            if square <= enough**2 * first:
                break
            direction = gradient + (square / before) * direction
        return found, square <= PRECISE**2


def _way_to_bound(found: Array, direction: Array, radius: float) -> float:
    """Return the factor of a direction that leads from a step to the bound of its length."""
    along, square = float(found @ direction), float(direction @ direction)
    return (math.sqrt(along * along + square * (radius * radius - float(found @ found))) - along) / square
