# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The posture part of a step that knows the curvature of the tasks: Newton's method in their null space.

Near the end of a descent the tasks are met, and the pose moves along those that meet them toward the one nearest to the
reference pose. That is the minimum of ``(q_reference - q)^T P (q_reference - q) / 2`` where the residuals stay 0, with
``P = W^-1``. With the Lagrange multipliers mu and the change dq_t of the tasks' part of the step

    mu = (J W J^T)^-1 J (q_reference - q),    K = sum of mu d^2p / dq^2
    (P + K) z = P (q_reference - q) - K dq_t    in the null space of J

(sequential quadratic programming: Nocedal and Wright, section 18.1). Conjugate gradients with the projector of the null
space solve that (Gould, Hribar and Nocedal 2001, algorithm 6.1), and end where P + K isn't positive definite
(Steihaug 1983).
"""

from __future__ import annotations

from ..math.operations import Array
from ..model.tree_motions import TreeMotions
from .task_stack import TaskStack

ROUNDS, ENOUGH = 3, 0.05
"""Iterations of conjugate gradients at most, and the share of the first gradient's length at which they end. With one
iteration a Y of 10 bones took 8.4 steps instead of 5.9, a hand of 26 bones 13.3 instead of 6.2 (means of 200)."""

LEAST_CURVATURE = 1e-2
"""Second derivative along a direction, over that without K, down to which P + K counts as positive definite."""


def curved_posture(
    stack: TaskStack,
    motions: TreeMotions,
    task: tuple[Array, Array, Array],
    weights: Array,
    toward: Array,
    posture: Array,
) -> Array:
    """Return z (N + S,).

    Args:
        stack: of one level.
        motions: of the state.
        task: J (M, N + S), its pseudo-inverse W J^T (J W J^T)^-1 (N + S, M), and dq_t (N + S,).
        weights: (N + S,) W; 0 of coordinates at their limits.
        toward: q_reference - q.
        posture: z without K, the part of ``toward`` in the null space.
    """
    jacobian, pseudo_inverse, by_tasks = task
    metric = stack.metric
    second = stack.curvature(motions, (metric * toward) @ -pseudo_inverse)
    pulled = weights * (second @ by_tasks)
    gradient = posture - pulled + pseudo_inverse @ (jacobian @ pulled)
    second.reshape(-1)[:: len(weights) + 1] += metric
    found, direction = 0.0 * gradient, gradient
    square = first = float(gradient @ (metric * gradient))
    for _ in range(ROUNDS):
        bent = second @ direction
        bend = float(direction @ bent)
        if bend <= LEAST_CURVATURE * square:
            return found if found.any() else gradient
        share = square / bend
        found += share * direction
        gradient = gradient - share * (weights * bent)
        gradient -= pseudo_inverse @ (jacobian @ gradient)
        before, square = square, float(gradient @ (metric * gradient))
        if square <= ENOUGH**2 * first:
            break
        direction = gradient + (square / before) * direction
    return found
