# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Jacobian method's own steps toward several targets at once.

A step changes the joint coordinates by W J^T y, with J stacked over the targets, so that what one target moves is
undone for the others, and W the weights of the coordinates (Buss 2004). Coordinates at their limits are left out. A
step is taken only if the sum of the squared residuals falls; else the damping grows, by which the next step is shorter
(Levenberg and Marquardt).
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from ..math.operations import TINY, Array
from ..model.tree_state import State
from ..tasks.task_stack import TaskStack
from .bounded_step import bounded_step
from .damped_steps import LONGEST_DAMPED_STEP

FIRST_DAMPING = 1e-3
"""Damping of the first step. A rule without damping takes the share FIRST_DAMPING / damping of its step."""

LARGEST_DAMPING = 1e7
"""Damping at which a descent ends."""

MOST_SLOW, LEAST_GAIN = 3, 2e-4
"""Accepted steps in a row, at most, that take away less than this share of the sum of the squared residuals."""


StackedRule: TypeAlias = Callable[[Array, Array, float], Array]
"""How a step is found for several targets at once: (J W J^T (M, M), residuals (M,), damping) to y (M,)."""


def step_by_rule(
    stack: TaskStack, state: State, tolerances: Sequence[float], rule: StackedRule, steps: int
) -> tuple[State, int]:
    """Take a method's steps until all residuals are within tolerances or their squared sum falls no more.

    The levels of the tasks don't count.

    Returns:
        the last state accepted, and how many were.
    """
    residual = stack.residual(state)
    rows = np.cumsum([0, *(task.rows for task in stack.tasks)])
    damping, taken, slow = FIRST_DAMPING, 0, 0
    jacobian: Array | None = None
    for _ in range(steps):
        squares = np.add.reduceat(residual * residual, rows[:-1])
        if (squares <= np.square(tolerances)).all() or damping > LARGEST_DAMPING or slow > MOST_SLOW:
            break
        if jacobian is None:
            jacobian = stack.jacobian(state)
        change, *_ = bounded_step(stack, state, jacobian, residual, partial(_solved, rule, damping))
        change *= min(LONGEST_DAMPED_STEP / (np.abs(change).max(initial=0.0) + TINY), 1.0)
        trial = stack.coordinates.applied(state, change)
        trial_residual = stack.residual(trial)
        cost, tried = (float(each @ each) for each in (residual, trial_residual))
        if tried < cost:
            slow = slow + 1 if tried > (1.0 - LEAST_GAIN) * cost else 0
            state, residual, jacobian = trial, trial_residual, None
            taken += 1
            damping = max(0.15 * damping, 1e-9)
        else:
            damping *= 8.0
    return state, taken


def _solved(
    rule: StackedRule, damping: float, jacobian: Array, residual: Array, weights: Array, toward: Array
) -> tuple[Array, Array, None]:
    """Return the step W J^T y (N + S,) by a rule, and no posture task's part."""
    weighted = jacobian * weights
    return weighted.T @ rule(weighted @ jacobian.T, residual, damping), np.zeros(len(weights)), None
