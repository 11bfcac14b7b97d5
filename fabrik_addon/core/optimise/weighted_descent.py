# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tasks of a body by weight, the posture task among them: Gauss-Newton steps with a Levenberg-Marquardt damping.

The cost is ``sum_k w_k |r_k|^2 + (q - q0)^T P (q - q0)``, with ``r_k`` the residuals of level k, ``w_k`` the level's
weight, ``q0`` the reference pose and P the diagonal matrix of the posture task's weights. With J and r the Jacobian and
the residuals of all levels, and W the diagonal matrix of their weights, one step is

    dq = d + P^-1 J^T (J P^-1 J^T + (1 + lambda) W^-1)^-1 (r - J d),   d = (q0 - q) / (1 + lambda)

which is the minimum of the linearised cost plus ``lambda dq^T P dq`` (Marquardt 1963), as a system of one equation for
each row of the tasks, of which there are half as many as coordinates.

By strict priority (``prioritised_descent``) no level takes anything from those above it, by weight a small share. But
where a target is out of reach, steps by strict priority alternate between the target and the posture, and end far from
both. After the last step by weight, tasks that are nearly met are met exactly, by steps of strict priority.

Every trial is brought back to the first level (pins and planted feet) before its cost is compared: along the curved
set of poses that keep the pins a straight step costs more than it gains.
"""

from __future__ import annotations

import math

import numpy as np

from ..math.factorisation import positive_inverse
from ..math.operations import SCALAR, Array
from .prioritised_descent import EXACT, LONGEST, ROUNDS, Descent, along_ellipses, descend_by_priority
from .tasks import PoleTask, State, Task

LEVEL_WEIGHTS = (1e8, 1e5, 1e3, 1e2)
"""w_k of the levels, over the weight 1 of the posture task; the last one of all levels after it."""

FIRST_LAMBDA, LEAST_LAMBDA, MOST_LAMBDA = 1e-2, 1e-6, 1e8
"""lambda of the first step, and its bounds: with more no step reduces the cost."""

CONVERGED = 1e-5
"""Largest change of a coordinate in a step that counts as none."""

CORRECTIONS = 2
"""Steps at most that bring a trial back to the first level."""

NEARLY_MET, FAR_FROM_MET = 4e-3, 2e-2
"""Length of a task's residual, in the tree's units, up to which it is met exactly, and from which on it is left."""

MOST_EXACT = 0.05
"""Largest change of a coordinate (radians) by which targets are met exactly: a drag out of reach made a thigh jump by
8.6 degrees in one of 80 moves where a hand's last 8 mm took 0.12."""

GRADUAL_WEIGHT = 1e2
"""Largest weight of a level in the first of two descents from a pose that is far from the targets.

With 1e8 each step keeps to the curved set of poses that meet the first level, and ends where a limit crosses that set:
of 24 captured poses (bench row "body-reconstruction") 9 ended with a handle more than 0.02 of the height off its
target, 0 after a first descent by 1e2."""

EXACT_STEPS = 10
"""Steps of strict priority at the end."""


def descend_gradually(descent: Descent, start: State, reference: State, steps: int) -> tuple[State, int, bool]:
    """Descend as ``descend_by_weight`` does, from where a descent with small weights of all levels has ended."""
    near, taken, _ = _descend(descent, start, reference, steps, GRADUAL_WEIGHT)
    found, more, is_converged = descend_by_weight(descent, near, reference, steps)
    return found, taken + more, is_converged


def descend_by_weight(descent: Descent, start: State, reference: State, steps: int) -> tuple[State, int, bool]:
    """Bring a pose to the least cost of the tasks and the distance from a reference pose.

    Args:
        descent: tasks by level, and a tree with posture weights.
        start: coordinates and shifts to start from, within limits.
        reference: coordinates and shifts that the posture task stays near to.
        steps: at most.

    Returns:
        the state, how many steps were taken, and whether the descent ended before its steps were used up.
    """
    state, taken, is_converged = _descend(descent, start, reference, steps)
    exact, more, _ = descend_by_priority(_nearly_met(descent, state, 1.0), state, None, EXACT_STEPS)
    largest = float(np.abs(descent.to_reference(exact, state)).max(initial=0.0))
    if largest > MOST_EXACT:
        exact, _, _ = descend_by_priority(_nearly_met(descent, state, MOST_EXACT / largest), state, None, EXACT_STEPS)
    return exact, taken + more, is_converged


def _descend(
    descent: Descent, start: State, reference: State, steps: int, most_weight: float = math.inf
) -> tuple[State, int, bool]:
    """Descend as ``descend_by_weight`` does, with no level's weight above one, and without the steps of priority."""
    state = descent.state(start.coordinates, start.shifts)
    level_weights = [
        min(most_weight, LEVEL_WEIGHTS[min(level, len(LEVEL_WEIGHTS) - 1)]) for level in range(len(descent.levels))
    ]
    weights = np.concatenate(
        [np.full(span.stop - span.start, weight) for span, weight in zip(descent.spans, level_weights, strict=True)]
    )
    metric = 1.0 / descent.inverse_posture_weights

    def cost_of(residual: Array, toward: Array) -> float:
        return float(weights @ np.square(residual) + metric @ np.square(toward))

    damping, taken, is_converged = FIRST_LAMBDA, 0, False
    toward = descent.to_reference(state, reference)
    residual, _ = descent.residual(state)
    jacobian = descent.jacobian(state)
    cost = cost_of(residual, toward)
    for _ in range(steps):
        change = _step(descent, state, residual, jacobian, toward, weights, damping)
        length = float(np.sqrt(change @ change))
        if np.abs(change).max(initial=0.0) <= CONVERGED:
            is_converged = True
            break
        trial = descent.applied(state, change * min(1.0, LONGEST / length))
        trial = _on_first_level(descent, trial, jacobian)
        trial_residual, _ = descent.residual(trial)
        trial_toward = descent.to_reference(trial, reference)
        trial_cost = cost_of(trial_residual, trial_toward)
        if trial_cost < cost:
            is_converged = cost - trial_cost <= 1e-9 * cost
            state, residual, toward, cost = trial, trial_residual, trial_toward, trial_cost
            jacobian = descent.jacobian(state)
            damping = max(0.2 * damping, LEAST_LAMBDA)
            taken += 1
            if is_converged:
                break
        else:
            damping *= 8.0
            if damping > MOST_LAMBDA:
                is_converged = True
                break
    return state, taken, is_converged


def _nearly_met(descent: Descent, state: State, most: float) -> Descent:
    """Return a descent to the targets that the state is near to; others are left where they are.

    A target at a distance d is replaced by one that is some share s of the way there, with s = ``most`` up to
    ``NEARLY_MET`` and falling to 0 at ``FAR_FROM_MET``: at the end of its reach a body gains the last millimetres by
    large rotations, and would jump to them where a target comes into reach.
    """
    levels: list[list[tuple[Task, float]]] = [list(descent.levels[0])]
    for level in descent.levels[1:]:
        levels.append([])
        for task, weight in level:
            if isinstance(task, PoleTask):
                continue
            error = math.sqrt(sum(part * part for part in task.residual(SCALAR, state.placed)))
            share = most * min(1.0, max(0.0, (FAR_FROM_MET - error) / (FAR_FROM_MET - NEARLY_MET)))
            levels[-1].append((task.partly(state.placed, share), weight))
    return Descent(descent.tree, levels, descent.moves_roots)


def _step(
    descent: Descent, state: State, residual: Array, jacobian: Array, toward: Array, weights: Array, damping: float
) -> Array:
    """Return a step (N + S,) that ends within limits: coordinates that it would take out of theirs stop there."""
    down, up = descent.bounds(state)
    ellipses = descent.ellipses(state)
    inverse_metric = descent.inverse_posture_weights.copy()
    fixed = np.zeros(len(inverse_metric))
    change = fixed
    toward = toward / (1.0 + damping)
    for _ in range(ROUNDS):
        to_posture = np.where(inverse_metric > 0.0, toward, 0.0)
        weighted = jacobian * inverse_metric
        normal = weighted @ jacobian.T
        np.einsum("ii->i", normal)[:] += (1.0 + damping) / weights
        inverse = positive_inverse(normal, (1.0 + damping) / float(weights.max()))
        change = to_posture + weighted.T @ (inverse @ (residual - jacobian @ (fixed + to_posture)))
        is_free = inverse_metric > 0.0
        leaves = [
            (i, k, nx, nz)
            for i, k, nx, nz in ellipses
            if is_free[i] and is_free[k] and nx * change[i] + nz * change[k] > 1e-12
        ]
        # A swing that leaves its ellipse is far from the ellipse's box: at the box it would stop in the wrong place.
        for i, k, _, _ in leaves:
            is_free[i] = is_free[k] = False
        above, below = is_free & (change > up), is_free & (change < down)
        if not leaves and not above.any() and not below.any():
            break
        fixed = fixed + np.where(above, up, 0.0) + np.where(below, down, 0.0)
        inverse_metric[above | below] = 0.0
        if leaves:
            jacobian, toward = along_ellipses(jacobian, toward, leaves)
            ellipses = [each for each in ellipses if each not in leaves]
    return change + fixed


def _on_first_level(descent: Descent, state: State, jacobian: Array) -> State:
    """Return a state with the first level's residual below ``EXACT``, or as near as ``CORRECTIONS`` steps bring it.

    The steps use one Jacobian; a step after which the residual is not less is not taken.
    """
    rows = jacobian[descent.spans[0]]
    weighted = rows * descent.inverse_posture_weights
    normal = weighted @ rows.T
    least = 1e-6 * float(normal.trace())
    np.einsum("ii->i", normal)[:] += least
    pseudo_inverse = weighted.T @ positive_inverse(normal, least)
    residual = descent.residual(state)[0][descent.spans[0]]
    for _ in range(CORRECTIONS):
        error = float(residual @ residual)
        if error <= EXACT**2:
            break
        corrected = descent.applied(state, pseudo_inverse @ residual)
        left = descent.residual(corrected)[0][descent.spans[0]]
        if float(left @ left) >= error:
            break
        state, residual = corrected, left
    return state
