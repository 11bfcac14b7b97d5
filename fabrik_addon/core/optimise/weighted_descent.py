# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tasks of a body by weight, the posture task among them: Gauss-Newton steps with a Levenberg-Marquardt damping.

The cost is ``sum_k rho_k(|r_k|) + (q - q0)^T P (q - q0)``, with ``r_k`` the residual of task k, ``q0`` the reference
pose and P the diagonal matrix of the posture task's weights. Of tasks of the first level (pins and planted feet)
``rho(r) = w r^2``; of the others, whose force is bounded, it is the pseudo-Huber loss

    rho(r) = 2 F delta (sqrt(1 + (r / delta)^2) - 1),   delta = F / w

which is ``w r^2`` near the target and whose slope far away is 2 F. With J the Jacobian of all tasks, r their residuals
and W the diagonal matrix of ``rho'(|r_k|) / (2 |r_k|)``, one step is

    dq = d + P^-1 J^T (J P^-1 J^T + (1 + lambda) W^-1)^-1 (r - J d),   d = (q0 - q) / (1 + lambda)

which is the minimum of the linearised cost plus ``lambda dq^T P dq`` (Marquardt 1963; lambda by the ratio of the
reduction of the cost to that of the linearised cost, Nielsen 1999), as a system of one equation for each row of the
tasks, of which there are half as many as coordinates. Bounds are an active set, found anew in each step: a coordinate
is at its limit where the step's own formula takes it beyond (Hintermueller, Ito and Kunisch 2002).

Without the bound F a target beyond reach pulls in proportion to its distance, a hundred times harder than the posture
task: the pose becomes the nearest one of a set that isn't convex, and jumps. In a drag of a body's hips below where the
legs allow them a bone rotated by 17.6 times the median move's largest rotation in one move; with F by 4.1 times.

By strict priority (``prioritised_descent``) no level takes anything from those above it, by weight a small share. But
where a target is out of reach, steps by strict priority alternate between the target and the posture, and end far from
both. After the last step by weight, tasks that are nearly met are met exactly, by steps of strict priority.

Every trial is brought back to the first level before its cost is compared: along the curved set of poses that keep the
pins a straight step costs more than it gains.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..math.factorisation import positive_inverse
from ..math.operations import SCALAR, TINY, Array
from .balance_task import BalanceTask
from .look_at_task import LOOK_AT_FORCE, LOOK_AT_WEIGHT, LookAtTask
from .prioritised_descent import EXACT, LONGEST, Descent, descend_by_priority
from .swivel_task import SwivelTask
from .tasks import PoleTask, State, Task

LEVEL_WEIGHTS = (1e8, 1e5, 1e3, 1e2)
"""w of the levels, over the weight 1 of the posture task; the last one of all levels after it."""

MOST_FORCES = (math.inf, 500.0, 100.0, 30.0)
"""F of the levels. Targets within reach need less than 250 in the drags of the bench, most of them less than 100."""

FIRST_LAMBDA, LEAST_LAMBDA, MOST_LAMBDA = 1e-3, 1e-7, 1e8
"""lambda of the first step, and its bounds: with more no step reduces the cost."""

RAISED_LAMBDA = 1e-4
"""lambda that the first step which doesn't reduce the cost raises at least."""

CONVERGED = 3e-4
"""Largest change of a coordinate in a step that counts as none: 0.02 degrees. With 1e-6 a move of a drag took 8 steps
(median) instead of 3."""

NEAR_ELLIPSE = 0.5
"""Share of a swing's ellipse (``ellipse_share``) from which on the tangent at the ellipse bounds a step."""

CORRECTIONS = 2
"""Steps at most that bring a trial back to the first level."""

CORRECTED = 1e-6
"""Length of the first level's residual, in the tree's units, from which on a trial is brought back."""

ACTIVE_SET_ROUNDS = 5
"""Solutions of one step at most, each with the active set that the one before led to."""

NEARLY_MET, NEAR, BESIDE = 3e-3, 4e-3, 3e-2
"""Lengths of a task's residual, in the tree's units, that say how much of it is met exactly (``_share_met``)."""

FAR_FROM_MET = 0.15
"""Length of a task's residual, in the tree's units, from which on the task is left where it is."""

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


@dataclass(frozen=True)
class _Loss:
    """The loss of the tasks."""

    spans: Sequence[slice]
    """Rows of each task, or one of them where each has a loss of its own (``LookAtTask``)."""
    weights: Sequence[float]
    most_forces: Sequence[float]

    def of(self, residual: Array) -> tuple[float, Array]:
        """Return the loss of all tasks, and W (M,)."""
        found, weights = 0.0, np.empty(len(residual))
        for span, weight, force in zip(self.spans, self.weights, self.most_forces, strict=True):
            rows = residual[span]
            square = float(rows @ rows)
            if force == math.inf:
                found += weight * square
                weights[span] = weight
            else:
                distance = force / weight
                root = math.sqrt(1.0 + square / (distance * distance))
                found += 2.0 * force * distance * (root - 1.0)
                weights[span] = weight / root
        return found, weights


def _loss_of(descent: Descent, most_weight: float) -> _Loss:
    """Return the loss of a descent's tasks, of which none has a weight above ``most_weight``."""
    spans, weights, most_forces = [], [], []
    row = 0
    for number, level in enumerate(descent.levels):
        own = min(number, len(LEVEL_WEIGHTS) - 1)
        for task, _ in level:
            weight, force, size = LEVEL_WEIGHTS[own], MOST_FORCES[own] if number else math.inf, task.rows
            if isinstance(task, LookAtTask):
                weight, force, size = LOOK_AT_WEIGHT, LOOK_AT_FORCE, 1
            for first in range(row, row + task.rows, size):
                spans.append(slice(first, first + size))
                weights.append(min(most_weight, weight))
                most_forces.append(force)
            row += task.rows
    for task, _ in descent.preferences:
        spans.append(slice(row, row + task.rows))
        weights.append(1.0)
        most_forces.append(math.inf)
        row += task.rows
    return _Loss(spans, weights, most_forces)


class _Swings(NamedTuple):
    """Columns of swings near their ellipses, and the normals there: their steps are taken along normal and tangent."""

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    nx: Array
    nz: Array

    def from_axes(self, array: Array) -> Array:
        """Return columns (..., N + S), those of each swing's x and z along its normal and tangent."""
        x, z = array[..., self.first], array[..., self.second]
        array = array.copy()
        array[..., self.first] = self.nx * x + self.nz * z
        array[..., self.second] = self.nx * z - self.nz * x
        return array

    def to_axes(self, array: Array) -> Array:
        """Return columns (..., N + S), those of each swing's normal and tangent along its x and z."""
        across, along = array[..., self.first], array[..., self.second]
        array = array.copy()
        array[..., self.first] = self.nx * across - self.nz * along
        array[..., self.second] = self.nz * across + self.nx * along
        return array


class _Linearised(NamedTuple):
    """The tasks and the way to the reference pose, linearised at a pose, and how far its coordinates may change."""

    residual: Array
    """(M,)."""
    jacobian: Array
    """J (M, N + S)."""
    toward: Array
    """q0 - q (N + S,)."""
    down: Array
    up: Array
    swings: _Swings
    by_swings: Array
    """J with the columns of ``swings`` along normal and tangent."""


def _linearised(descent: Descent, state: State, residual: Array, toward: Array) -> _Linearised:
    jacobian, (down, up, swings) = descent.jacobian(state), _bounds(descent, state)
    return _Linearised(residual, jacobian, toward, down, up, swings, swings.from_axes(jacobian))


def _bounds(descent: Descent, state: State) -> tuple[Array, Array, _Swings]:
    """Return how far each coordinate may go down and up (N + S,), a swing near its ellipse by normal and tangent."""
    down, up = descent.bounds(state)
    share, normals = descent.ellipses(state)
    (near,) = np.nonzero(share > NEAR_ELLIPSE)
    first, second = (columns[near] for columns in descent.tree.structure.swing_columns)
    x, z = state.swing_twists[descent.tree.structure.ellipses[near], ::2].T
    nx, nz = normals[near].T
    down[first] = down[second] = -np.inf
    up[first], up[second] = np.maximum((1.0 / share[near] - 1.0) * (nx * x + nz * z), 0.0), np.inf
    return down, up, _Swings(first, second, nx, nz)


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
    if np.linalg.norm(descent.first_level.residual(exact)[0]) > EXACT:
        exact, _, _ = descend_by_priority(descent.first_level, exact, None, EXACT_STEPS)
    return exact, taken + more, is_converged


def nearest_on_first_level(descent: Descent, state: State, steps: int) -> State:
    """Return the state within limits that meets the tasks of the first level and is nearest to a state, or comes near.

    Args:
        descent: tasks by level.
        state: where the descent starts, and its reference pose.
        steps: at most.
    """
    return _descend(descent.first_level, state, state, steps)[0]


def _descend(
    descent: Descent, start: State, reference: State, steps: int, most_weight: float = math.inf
) -> tuple[State, int, bool]:
    """Descend as ``descend_by_weight`` does, with no task's weight above one, and without the steps of priority."""
    state = start
    loss = _loss_of(descent, most_weight)
    metric = 1.0 / descent.inverse_posture_weights
    damping, growth, taken = FIRST_LAMBDA, 2.0, 0
    toward = descent.to_reference(state, reference)
    residual, _ = descent.residual(state)
    tasks, weights = loss.of(residual)
    cost = tasks + float(metric @ np.square(toward))
    here = _linearised(descent, state, residual, toward)
    active = np.zeros((2, len(metric)), bool)
    for _ in range(steps):
        change, free, active, is_optimal = _step(descent, here, weights, damping, active)
        if is_optimal and np.abs(change).max(initial=0.0) <= CONVERGED:
            return state, taken, True
        change *= min(1.0, LONGEST / (math.sqrt(float(change @ change)) + TINY))
        left = residual - here.jacobian @ change
        linearised = float(weights @ (np.square(residual) - np.square(left)))
        linearised += float(metric @ (np.square(toward) - np.square(toward - change)))
        trial, residual_there = _on_first_level(descent, descent.applied(state, change), free)
        toward_there = descent.to_reference(trial, reference)
        tasks, weights_there = loss.of(residual_there)
        cost_there = tasks + float(metric @ np.square(toward_there))
        if cost_there < cost:
            gain = min((cost - cost_there) / max(linearised, 1e-300), 1.5)
            state, residual, toward, cost, weights = trial, residual_there, toward_there, cost_there, weights_there
            here = _linearised(descent, state, residual, toward)
            damping, growth = max(damping * max(0.1, 1.0 - (2.0 * gain - 1.0) ** 3), LEAST_LAMBDA), 2.0
            taken += 1
        else:
            active[:] = False
            damping, growth = max(damping, RAISED_LAMBDA) * growth, 2.0 * growth
            if damping > MOST_LAMBDA:
                return state, taken, True
    return state, taken, False


def _nearly_met(descent: Descent, state: State, most: float) -> Descent:
    """Return a descent to targets that are brought some share of the way to where they should be (``_share_met``)."""
    levels: list[list[tuple[Task, float]]] = [list(descent.levels[0])]
    for level in descent.levels[1:]:
        levels.append([])
        for task, weight in level:
            if isinstance(task, (PoleTask, SwivelTask, BalanceTask)):
                continue
            error = math.sqrt(sum(part * part for part in task.residual(SCALAR, state.placed)))
            # Exact steps weigh all coordinates alike: with the rest of a look at a point beyond the limits of neck and
            # chest they turned the hips by 7 degrees of 10.
            share = 0.0 if isinstance(task, LookAtTask) else most * _share_met(error)
            levels[-1].append((task.partly(state.placed, share), weight))
    return descent.with_levels(levels)


def _share_met(error: float) -> float:
    """Return the share of a residual that is met exactly at the end, by its length r, in the tree's units.

    All of it up to a = ``NEARLY_MET``, and beyond ``a / (1 + (e / c)^2) + e / (1 + (e / b)^2)`` of e = r - a with
    b = ``NEAR`` and c = ``BESIDE``: at the end of its reach a body gains the last millimetres by large rotations, and
    would jump to them where a target comes into reach. Where that length falls, it falls by less than a fifth of the
    target's motion: with a share that fell to 0 within 0.02 units the hand went back while its target went on.
    """
    if error <= NEARLY_MET:
        return 1.0
    if error >= FAR_FROM_MET:
        return 0.0
    beyond = error - NEARLY_MET
    return (NEARLY_MET / (1.0 + (beyond / BESIDE) ** 2) + beyond / (1.0 + (beyond / NEAR) ** 2)) / error


def _step(
    descent: Descent,
    here: _Linearised,
    weights: Array,
    damping: float,
    active: NDArray[np.bool_],
) -> tuple[Array, Array, NDArray[np.bool_], bool]:
    """Return a step (N + S,) that ends within limits, and the step that brings the first level's residual to 0.

    Args:
        descent: the tree and its coordinates.
        here: before the step.
        weights: W (M,).
        damping: lambda.
        active: (2, N + S) which coordinates the step before took to their upper, and to their lower limits.

    Returns:
        the step, the pseudo-inverse (N + S, M1) of the first level's rows over the coordinates that aren't at their
        limits, which coordinates are there, and whether the rounds ended with the active set that they began with.
    """
    down, up, swings, jacobian = here.down, here.up, here.swings, here.by_swings
    inverse_metric = open_metric = descent.inverse_posture_weights
    to_posture = swings.from_axes(here.toward) / (1.0 + damping)
    above, below = active & np.isfinite([up, down])
    diagonal = (1.0 + damping) / weights
    least = float(diagonal.min())
    desired, is_optimal = to_posture, False
    for _ in range(ACTIVE_SET_ROUNDS):
        open_metric = np.where(above | below, 0.0, inverse_metric)
        from_here = np.where(above, up, np.where(below, down, to_posture))
        normal = (jacobian * open_metric) @ jacobian.T
        normal.reshape(-1)[:: len(normal) + 1] += diagonal
        force = positive_inverse(normal, least) @ (here.residual - jacobian @ from_here)
        desired = to_posture + inverse_metric * (force @ jacobian)
        # At a limit the desired change is a multiplier, of which the sign alone counts: it frees the coordinate.
        over, under = (desired > up) & ~below, (desired < down) & ~above
        is_optimal = not (over ^ above | under ^ below).any()
        if is_optimal:
            break
        above, below = over, under
    change = np.minimum(np.maximum(desired, down), up)
    rows = jacobian[descent.spans[0]]
    weighted = rows * open_metric
    normal = weighted @ rows.T
    least = 1e-6 * float(normal.trace()) + 1e-12
    normal.reshape(-1)[:: len(normal) + 1] += least
    back = positive_inverse(normal, least) @ weighted
    return swings.to_axes(change), swings.to_axes(back).T, np.stack([above, below]), is_optimal


def _on_first_level(descent: Descent, state: State, back: Array) -> tuple[State, Array]:
    """Return a state with the first level's residual below ``CORRECTED``, or as near as ``CORRECTIONS`` steps bring it.

    A step after which the residual is not less is not taken.

    Args:
        descent: the tasks.
        state: near the first level.
        back: (N + S, M1) pseudo-inverse of the first level's rows.

    Returns:
        the state, and the residuals of all levels.
    """
    first = descent.first_level
    residual, _ = first.residual(state)
    for _ in range(CORRECTIONS):
        error = float(residual @ residual)
        if error <= CORRECTED**2:
            break
        corrected = descent.applied(state, back @ residual)
        left, _ = first.residual(corrected)
        if float(left @ left) >= error:
            break
        state, residual = corrected, left
    return state, np.concatenate([residual, descent.below_first_level.residual(state)[0]])
