# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A step of least squares that ends within limits, by an active set.

A coordinate that the step would take out of its limits stops at the limit, and the step is solved again for the others;
a swing that would leave its ellipse goes on along the tangent there. What is still beyond limits after ``BOUND_ROUNDS``
solutions is clamped by ``TreeCoordinates.applied``.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

import numpy as np

from ..math.operations import Array
from ..model.joint_limits import AT_LIMIT
from ..model.tree_state import State
from ..tasks.task_stack import TaskStack
from .bounded_least_squares import BOUND_ROUNDS

_Found = TypeVar("_Found")

Solve: TypeAlias = Callable[[Array, Array, Array, Array], tuple[Array, Array, _Found]]
"""(Jacobian, residual, weights of the coordinates with 0 for those at their limits, way to the reference): the tasks'
part of a step and that of the posture task, both (N + S,), without limits, and what else is known of it."""


def bounded_step(
    stack: TaskStack, state: State, jacobian: Array, residual: Array, solve: Solve[_Found], toward: Array | None = None
) -> tuple[Array, Array, _Found]:
    """Return the tasks' and the posture task's part of a step that ends within limits, and what else is known of it.

    Args:
        jacobian: J (M, N + S), weighted.
        residual: (M,), weighted.
        toward: q0 - q (N + S,); None without a posture task.
    """
    toward = np.zeros(len(stack.coordinates.weights)) if toward is None else toward
    if not state.limited_coordinates.size:
        return solve(jacobian, residual, stack.coordinates.weights, toward)
    down, up = stack.coordinates.bounds(state)
    ellipses = _ellipses_reached(stack, state)
    weights = stack.coordinates.weights.copy()
    fixed = np.zeros(len(weights))
    for _ in range(BOUND_ROUNDS):
        tasks, posture, found = solve(jacobian, residual - jacobian @ fixed, weights, toward)
        change = tasks + posture
        is_free = weights > 0.0
        above, below = is_free & (change > up), is_free & (change < down)
        is_out = above | below
        leaves = [
            (i, k, nx, nz) for i, k, nx, nz in ellipses if weights[i] > 0.0 and nx * change[i] + nz * change[k] > 1e-12
        ]
        if not leaves and not is_out.any():
            break
        fixed = fixed + np.where(above, up, 0.0) + np.where(below, down, 0.0)
        weights[is_out] = 0.0
        if leaves:
            jacobian, toward = along_ellipses(jacobian, toward, leaves)
            ellipses = [each for each in ellipses if each not in leaves]
    return tasks + fixed, posture, found


def _ellipses_reached(stack: TaskStack, state: State) -> list[tuple[int, int, float, float]]:
    """Return the columns of the swings that are on their ellipses, with the normals there."""
    share, normals = stack.coordinates.ellipses(state)
    reached = np.flatnonzero(share >= 1.0 - AT_LIMIT).tolist()
    if not reached:
        return []
    columns = stack.tree.structure.swing_columns
    return [(*columns[n].tolist(), *normals[n].tolist()) for n in reached]


def along_ellipses(
    jacobian: Array, toward: Array, leaves: Sequence[tuple[int, int, float, float]]
) -> tuple[Array, Array]:
    """Return J (M, N + S) and the way to the reference pose (N + S,) without their parts across ellipses.

    These are given by both columns of each swing that a step would take out of its ellipse, and the normal there.
    """
    jacobian, toward = jacobian.copy(), toward.copy()
    for i, k, nx, nz in leaves:
        across = nx * jacobian[:, i] + nz * jacobian[:, k]
        jacobian[:, i] -= nx * across
        jacobian[:, k] -= nz * across
        part = nx * toward[i] + nz * toward[k]
        toward[i] -= nx * part
        toward[k] -= nz * part
    return jacobian, toward
