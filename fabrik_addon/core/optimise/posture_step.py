# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The posture part of a step that knows the curvature of the tasks: Newton's method in their null space.

Near the end of a descent the tasks are met, and the pose moves along those that meet them toward the one nearest to the
reference pose. This nearest pose is the minimum of ``(q0 - q)^T P (q0 - q) / 2`` where the residuals stay 0, with ``P =
W^-1``. With the Lagrange multipliers mu and the change dq_t of the tasks' part of the step

    mu = (J W J^T)^-1 J (q0 - q),    K = sum of mu d^2p / dq^2
    (P + K) z = P (q0 - q) - K dq_t    in the null space of J

(sequential quadratic programming: Nocedal and Wright, section 18.1). Where tasks pull, their forces are part of the way
``q0 - q``, and K has the second derivatives of their losses, too. Conjugate gradients with the projector of the null
space solve that (Gould, Hribar and Nocedal 2001, algorithm 6.1), and end where P + K isn't positive definite, or where
z is as long as it may be (``Pull.radius``; Steihaug 1983).
"""

import math
from typing import NamedTuple

import numpy as np

from ..math.operations import Array
from ..model.tree_motions import TreeMotions
from .task_stack import TaskStack

ROUNDS, ENOUGH = 40, (3e-3, 3e-2)
"""Iterations of conjugate gradients at most, and the bounds of the share of the first gradient's length at which they
end, which is 0.01 of that length. Pulls stiffen a chain 50 times. With 3e-3 everywhere a Y with one target beyond reach
took 1.75 ms instead of 1.59 (medians of 100)."""

NOTHING = 1e-30
"""Square of the gradient's length that is rounding."""

PRECISE = 3e-4
"""Length of the gradient that is left, up to which z is precise: no coordinate is off by more. Along a chain that a
target pulls straight the gradient is 50 times longer than across: without this a hand was 8 degrees from the minimum
where its finger's target leaves reach."""

LEAST_CURVATURE = 1e-2
"""Second derivative along a direction, over that without K, down to which P + K counts as positive definite."""


class Pull(NamedTuple):
    """Tasks that pull with bounded forces, beside the posture task."""

    forces: Array
    """(M2,) f."""
    radius: float
    """Largest length of a step."""
    stiffness: Array
    """(N + S, N + S) half the second derivatives of their losses, without K."""


def curved_posture(
    stack: TaskStack,
    at_state: tuple[TreeMotions, Array],
    task: tuple[Array, Array, Array],
    weights: Array,
    toward: Array,
    posture: Array,
    pull: Pull,
) -> tuple[Array, bool]:
    """Return z (N + S,), and whether it is precise: not where P + K isn't positive definite, nor at a bound of z.

    Args:
        stack: its first level is met, the tasks below it pull.
        at_state: motions, and J of all tasks (M + M2, N + S), of the state.
        task: J (M, N + S), its pseudo-inverse W J^T (J W J^T)^-1 (N + S, M), and dq_t (N + S,).
        weights: (N + S,) W; 0 of coordinates at their limits.
        toward: q0 - q.
        posture: z without K, the part of ``toward`` in the null space.
        pull: of the tasks below the first level (``held_descent``), whose forces are part of ``toward``.
    """
    jacobian, pseudo_inverse, by_tasks = task
    metric = stack.coordinates.metric
    forces = np.concatenate([(metric * toward) @ -pseudo_inverse, pull.forces])
    second = stack.curvature(*at_state, forces) + pull.stiffness
    pulled = weights * (second @ by_tasks)
    gradient = posture - pulled + pseudo_inverse @ (jacobian @ pulled)
    second.reshape(-1)[:: len(weights) + 1] += metric
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
            is_within = float(longer @ longer) <= pull.radius**2
        if not is_within:
            return found + _way_to_bound(found, direction, pull.radius) * direction, False
        found = longer
        gradient = gradient - share * (weights * bent)
        gradient -= pseudo_inverse @ (jacobian @ gradient)
        before, square = square, float(gradient @ (metric * gradient))
        if square <= enough**2 * first:
            break
        direction = gradient + (square / before) * direction
    return found, square <= PRECISE**2


def _way_to_bound(found: Array, direction: Array, radius: float) -> float:
    """Return the factor of a direction that leads from a step to the bound of its length."""
    along, square = float(found @ direction), float(direction @ direction)
    return (math.sqrt(along * along + square * (radius * radius - float(found @ found))) - along) / square
