# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tasks of a body or a tree by weight, with a posture task: Newton steps with a Levenberg-Marquardt damping.

The cost is ``sum_k rho_k(|r_k|) + (q - q0)^T P (q - q0)``, with ``r_k`` the residual of task k, ``q0`` the reference
pose and P the diagonal matrix of the posture task's weights. Of tasks of the first level (pins and planted feet) and of
preferences ``rho(r) = w r^2``; of the others, whose force is bounded, it is the pseudo-Huber loss

    rho(r) = 2 F delta (sqrt(1 + (r / delta)^2) - 1),   delta = F / w

which is ``w r^2`` near the target and whose slope far away is 2 F. With r the residuals
of all tasks, the way from the value to the target, ``J = -dr/dq`` and W the diagonal matrix of
``rho'(|r_k|) / (2 |r_k|)``, one step is

    (J^T W J + K + (1 + lambda) P) dq = J^T W r + P (q0 - q)

which leads to the minimum of a quadratic model of the cost, plus ``lambda dq^T P dq`` (after Marquardt 1963, with P for
the diagonal of J^T J; lambda by the ratio of the reduction of the cost to that of the model, after Nielsen 1999). K is
the second derivative of the targets' joints times the forces f on them (``TaskStack.curvature``), less what the
derivatives of bounded forces are less than W (``_Loss.softening``); where the matrix isn't positive definite, K
projected to its eigenvalues that aren't negative, in coordinates of which P is the identity. Without K, which leaves a
Gauss-Newton step, a target beyond reach took 25 to 44 steps instead of 3 to 19 (medians of seeded paths of Rigify's
human, bench row "body-paths"). Bounds are a primal-dual active set that starts from that of the step before: a
coordinate is held at a limit where limit + multiplier / P is beyond the limit (Hintermueller, Ito and Kunisch 2002).

The forces f are W r, but on the first level, where that is met, so that W r says nothing. There they are the Lagrange
multipliers by least squares in the metric P (Nocedal and Wright, section 18.3), with J_1 the first level's rows of J
and J_2 and f_2 the other rows and their forces:

    f_1 = -(J_1 P^-1 J_1^T)^-1 J_1 P^-1 (J_2^T f_2 + P (q0 - q))

With W r instead two paths of a foot of Rigify's human without limits took 30 and 37 steps (medians), not 14 and 10.

Without the bound F a target beyond reach pulls in proportion to its distance, a hundred times harder than the posture
task: the pose becomes the nearest one of a set that isn't convex, and jumps. In a drag of a body's hips below where the
legs allow them a bone rotated by 17.6 times the median move's largest rotation in one move; with F by 4.1 times.

By strict priority (``prioritised_descent``) no level changes the residuals of those above it, by weight a little. But
where a target is out of reach, steps by strict priority alternate between the target and the posture, and end far from
both. After the last step by weight, positions and rotations that are nearly met are met exactly, by steps of strict
priority; poles, swivels, balance and looks stay as they are.

Every trial is brought back to the first level before its cost is compared: off the curved set of poses that keep the
pins a straight step increases the first level's cost by more than it reduces the others'.
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
from .prioritised_descent import EXACT, LONGEST, descend_by_priority
from .swivel_task import SwivelTask
from .task_stack import TaskStack
from .tasks import PoleTask, PositionTask, State, Task


class Firmness(NamedTuple):
    """How firmly tasks are held against the posture task, whose weights are P."""

    weights: Sequence[float]
    """w of the levels, cost for each squared unit of the tree; the last one of all levels after it."""
    most_forces: Sequence[float]
    """F of the levels."""
    nearly_met: float
    """Length of a task's residual, in the tree's units, up to which the task is met exactly at the end."""
    most_exact: float
    """Largest change of a coordinate (radians) by which tasks are met exactly at the end."""


OF_BODY = Firmness((1e8, 1e5, 1e3, 1e2), (math.inf, 500.0, 100.0, 30.0), 3e-3, 0.05)
"""Of a body. Targets of the second level that are within reach need forces of less than 250 in the drags of the bench,
most of them less than 100. A drag out of reach made a thigh jump by 8.6 degrees in one of 80 moves where a hand's last
8 mm took 0.12."""

OF_CHAINS = Firmness((1e8, 3e4, 1e5), (math.inf, 250.0, 100.0), 2e-3, 0.03)
"""Of chains with pins whose root moves: rotations and poles are met to 0.1 degrees where they can be; with a weight of
1e3 chains bent up to 9 degrees beside their poles.

On seeded paths of Rigify's human with w = 1e5 and F = 500 of the targets a thigh rotated by up to 4.1 times the median
step's largest rotation where the legs straighten, the head led beyond reach, with 3e4 and 250 by 1.8. ``nearly_met``
makes up for the smaller w: with 1e-3 feet at the end of their reach stay 1e-3 off their targets, with 2e-3 1e-4. With
``most_exact`` = 0.05 a spine rotated by 19 degrees in the step in which a hand's target comes within reach, with 0.03
by 13."""

POLE_FORCE = 20.0
"""F of poles. With 100, that of rotations, a leg that was led past its pole twisted up to its limits to bend toward the
pole, and slipped back by 17 degrees in one step: 3 of 50 seeded paths of Rigify's human, none with 20. Poles within
reach of the limits are met with 10, too."""

FIRST_LAMBDA, LEAST_LAMBDA, MOST_LAMBDA = 1e-3, 1e-7, 1e8
"""lambda of the first step, its least value, and the one above which a descent ends."""

RAISED_LAMBDA = 1e-4
"""Least lambda that is multiplied where a step doesn't reduce the cost."""

CONVERGED = 3e-4
"""Largest change of a coordinate, times 1 + lambda, that counts as none: 0.02 degrees. With 1e-6 a move of a drag took
8 steps (median) instead of 3."""

NEAR_ELLIPSE = 0.5
"""Share of a swing's ellipse (``ellipse_share``) from which on the tangent at the ellipse bounds a step."""

CORRECTIONS = 2
"""Steps at most that bring a trial back to the first level."""

CORRECTED = 1e-8
"""Length of the first level's residual, in the tree's units, from which on a trial is brought back."""

HELD = 1e-6
"""Length of the first level's residual, in the tree's units, up to which it is met and its forces are multipliers.
Of 20 feasible poses of a body with straight limbs, turned far, two weren't found with multipliers in all steps."""

ACTIVE_SET_ROUNDS = 5
"""Solutions of one step at most, each with the active set that the one before led to."""

NEAR, BESIDE, FAR_FROM_MET = 4.0 / 3.0, 10.0, 50.0
"""Lengths of a residual, over ``Firmness.nearly_met``, that say how much of it is met exactly (``_share_met``)."""

LEAST_CURVATURE = 1e-2
"""Four times the least eigenvalue of J^T W J + K + (1 + lambda) P with which K is taken as it is
(``positive_inverse``). The posture task's weights are 0.25 and more."""

LEAST_INVERSE = 1e-12
"""A lower bound of the eigenvalues of the inverse of J^T W J + K + (1 + lambda) P: the first level's w is 1e8."""

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
    are_stiff: Sequence[bool]
    """Which of them are looks or poles: the derivative of their force counts as W (``softening``)."""

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

    def softening(self, jacobian: Array, residual: Array, weights: Array) -> Array:
        """Return by how much half the second derivatives of the loss are less than ``J^T W J`` (N + S, N + S).

        The force of a task is ``W r`` with ``W = w / sqrt(1 + (r / delta)^2)``, and its derivative by r is
        ``W - W^3 / F^2 r r^T``: far from the target the force hardly grows with the distance. With the derivative W a
        hand's path beyond reach (bench row "bake-body", "low") took 10 steps from frame to frame instead of 2.7, and
        descents ended up to 0.45 degrees short of their minima instead of 0.06. The derivative of a look is W: its
        small bound leaves nearly nothing of the difference, and *Bake Body* used up its steps 18 degrees off. So is
        that of a pole, whose arc has second derivatives that K lacks: a knee that was led past its pole rotated by 14
        degrees in one step instead of 6.
        """
        pulls = [
            math.sqrt(weights[span.start] ** 3) / force * (residual[span] @ jacobian[span])
            for span, force, is_stiff in zip(self.spans, self.most_forces, self.are_stiff, strict=True)
            if not is_stiff and force < math.inf
        ]
        stacked = np.array(pulls).reshape(-1, jacobian.shape[1])
        found: Array = stacked.T @ stacked
        return found


def _loss_of(stack: TaskStack, firmness: Firmness, most_weight: float) -> _Loss:
    """Return the loss of a descent's tasks, of which none has a weight above ``most_weight``."""
    spans, weights, most_forces, are_stiff = [], [], [], []
    row = 0
    for number, level in enumerate(stack.levels):
        own = min(number, len(firmness.weights) - 1)
        for task, _ in level:
            weight, force, size = firmness.weights[own], firmness.most_forces[own], task.rows
            if isinstance(task, LookAtTask):
                weight, force, size = LOOK_AT_WEIGHT, LOOK_AT_FORCE, 1
            elif isinstance(task, PoleTask):
                force = POLE_FORCE
            for first in range(row, row + task.rows, size):
                spans.append(slice(first, first + size))
                weights.append(min(most_weight, weight))
                most_forces.append(force)
                are_stiff.append(isinstance(task, (LookAtTask, PoleTask)))
            row += task.rows
    for task, _ in stack.preferences:
        spans.append(slice(row, row + task.rows))
        weights.append(1.0)
        most_forces.append(math.inf)
        are_stiff.append(False)
        row += task.rows
    return _Loss(spans, weights, most_forces, are_stiff)


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
    hessian: Array
    """J^T W J + K (N + S, N + S), with the columns of ``swings`` along normal and tangent."""
    curvature: Array
    """K (N + S, N + S)."""

    def with_curvature(self, curvature: Array) -> _Linearised:
        """Return the same with another K."""
        by_swings = self.swings.from_axes(self.swings.from_axes(curvature - self.curvature).T)
        return self._replace(hessian=self.hessian + by_swings, curvature=curvature)


def _linearised(
    stack: TaskStack,
    loss: _Loss,
    state: State,
    residual: Array,
    weights: Array,
    toward: Array,
    back: Array | None = None,
) -> _Linearised:
    """Return the tasks linearised at a pose, and how far its coordinates may change.

    Args:
        stack: the tasks.
        loss: of the tasks.
        state: the pose.
        residual: (M,) there.
        weights: W (M,) there.
        toward: q0 - q (N + S,).
        back: (N + S, M1) pseudo-inverse of the first level's rows a step before; None before the first step.
    """
    motions = stack.motions(state)
    jacobian, (down, up, swings) = stack.jacobian(state, motions), _bounds(stack, state)
    by_swings = swings.from_axes(jacobian)
    by_tasks = (by_swings.T * weights) @ by_swings
    flat = np.zeros(by_tasks.shape)
    found = _Linearised(residual, jacobian, toward, down, up, swings, by_swings, by_tasks, flat)
    forces = weights * residual
    first = stack.spans[0]
    if back is not None and np.linalg.norm(residual[first]) <= HELD:
        forces[first] = 0.0
        forces[first] = -(jacobian.T @ forces + toward / stack.inverse_posture_weights) @ back
    curvature = stack.curvature(motions, forces)
    if curvature.any():
        # Without the forces' torques the softening alone makes most of the matrices indefinite: a hand that is led
        # across a body with balance took 21 ms a move instead of 11.
        curvature -= loss.softening(jacobian, residual, weights)
    return found.with_curvature(curvature)


def _without_negative(curvature: Array, metric: Array) -> Array:
    """Return K (N + S, N + S) without its negative curvatures, in coordinates of which P is the identity."""
    scale = np.sqrt(metric)
    scales = scale[:, None] * scale
    values, vectors = np.linalg.eigh(curvature / scales)
    found: Array = (vectors * np.maximum(values, 0.0)) @ vectors.T * scales
    return found


def _bounds(stack: TaskStack, state: State) -> tuple[Array, Array, _Swings]:
    """Return how far each coordinate may go down and up (N + S,), a swing near its ellipse by normal and tangent."""
    down, up = stack.bounds(state)
    share, normals = stack.ellipses(state)
    (near,) = np.nonzero(share > NEAR_ELLIPSE)
    first, second = (columns[near] for columns in stack.tree.structure.swing_columns)
    x, z = state.swing_twists[stack.tree.structure.ellipses[near], ::2].T
    nx, nz = normals[near].T
    down[first] = down[second] = -np.inf
    up[first], up[second] = np.maximum((1.0 / share[near] - 1.0) * (nx * x + nz * z), 0.0), np.inf
    return down, up, _Swings(first, second, nx, nz)


class Descended(NamedTuple):
    """Where a descent by weight has ended."""

    state: State
    steps: int
    """How many were taken."""
    is_converged: bool
    """Whether the descent ended before its steps were used up."""
    by_weight: State
    """The state before what was nearly met was met exactly."""


def descend_gradually(
    stack: TaskStack, start: State, reference: State, steps: int, firmness: Firmness = OF_BODY
) -> Descended:
    """Descend as ``descend_by_weight`` does, from where a descent with small weights of all levels has ended."""
    near, taken, _ = _descend(stack, start, reference, steps, firmness, GRADUAL_WEIGHT)
    found = descend_by_weight(stack, near, reference, steps, firmness)
    return found._replace(steps=taken + found.steps)


def descend_by_weight(
    stack: TaskStack, start: State, reference: State, steps: int, firmness: Firmness = OF_BODY
) -> Descended:
    """Bring a pose to the least cost of the tasks and the distance from a reference pose.

    Args:
        stack: tasks by level, and a tree with posture weights.
        start: coordinates and shifts to start from, within limits.
        reference: coordinates and shifts that the posture task stays near to.
        steps: at most.
        firmness: weights and forces of the levels.
    """
    state, taken, is_converged = _descend(stack, start, reference, steps, firmness)
    exact, more, _ = descend_by_priority(_nearly_met(stack, state, 1.0, firmness.nearly_met), state, None, EXACT_STEPS)
    largest = float(np.abs(stack.to_reference(exact, state)).max(initial=0.0))
    if largest > firmness.most_exact:
        nearly = _nearly_met(stack, state, firmness.most_exact / largest, firmness.nearly_met)
        exact, _, _ = descend_by_priority(nearly, state, None, EXACT_STEPS)
    if np.linalg.norm(stack.first_level.residual(exact)[0]) > EXACT:
        exact, _, _ = descend_by_priority(stack.first_level, exact, None, EXACT_STEPS)
    return Descended(exact, taken + more, is_converged, state)


def costs_of(stack: TaskStack, state: State, reference: State, firmness: Firmness = OF_BODY) -> tuple[float, float]:
    """Return the loss of the tasks in a state, and the whole cost, that of the posture task among it."""
    residual, _ = stack.residual(state)
    tasks, _ = _loss_of(stack, firmness, math.inf).of(residual)
    toward = stack.to_reference(state, reference)
    return tasks, tasks + float(toward @ (toward / stack.inverse_posture_weights))


def nearest_on_first_level(stack: TaskStack, state: State, steps: int) -> State:
    """Return the state within limits that meets the tasks of the first level and is nearest to a state, or comes near.

    Args:
        stack: tasks by level.
        state: where the descent starts, and its reference pose.
        steps: at most.
    """
    return _descend(stack.first_level, state, state, steps)[0]


def _descend(
    stack: TaskStack,
    start: State,
    reference: State,
    steps: int,
    firmness: Firmness = OF_BODY,
    most_weight: float = math.inf,
) -> tuple[State, int, bool]:
    """Descend as ``descend_by_weight`` does, with no task's weight above one, and without the steps of priority."""
    state = start
    loss = _loss_of(stack, firmness, most_weight)
    metric = 1.0 / stack.inverse_posture_weights
    damping, growth, taken = FIRST_LAMBDA, 2.0, 0
    toward = stack.to_reference(state, reference)
    residual, bends = stack.residual(state)
    tasks, weights = loss.of(residual)
    cost = tasks + float(metric @ np.square(toward))
    here = _linearised(stack, loss, state, residual, weights, toward)
    active = np.zeros((2, len(metric)), bool)
    for _ in range(steps):
        step = _step(stack, here, weights, damping, active)
        if step is None:
            here = here.with_curvature(_without_negative(here.curvature, metric))
            step = _step(stack, here, weights, damping, active)
        if step is None:
            damping, growth = max(damping, RAISED_LAMBDA) * growth, 2.0 * growth
            if damping > MOST_LAMBDA:
                return state, taken, True
            continue
        change, back, active, is_optimal = step
        if is_optimal and (1.0 + damping) * np.abs(change).max(initial=0.0) <= CONVERGED:
            return state, taken, True
        change *= min(1.0, LONGEST / (math.sqrt(float(change @ change)) + TINY))
        left = residual - here.jacobian @ change
        linearised = float(weights @ (np.square(residual) - np.square(left)))
        linearised += float(metric @ (np.square(toward) - np.square(toward - change)))
        linearised -= float(change @ here.curvature @ change)
        trial, residual_there = _on_first_level(stack, stack.applied(state, change), back, bends)
        toward_there = stack.to_reference(trial, reference)
        tasks, weights_there = loss.of(residual_there)
        cost_there = tasks + float(metric @ np.square(toward_there))
        if cost_there < cost:
            gain = min((cost - cost_there) / max(linearised, 1e-300), 1.5)
            state, residual, toward, cost, weights = trial, residual_there, toward_there, cost_there, weights_there
            if bends:
                residual, bends = stack.residual(state)
                tasks, weights = loss.of(residual)
                cost = tasks + float(metric @ np.square(toward))
            here = _linearised(stack, loss, state, residual, weights, toward, back)
            damping, growth = max(damping * max(0.1, 1.0 - (2.0 * gain - 1.0) ** 3), LEAST_LAMBDA), 2.0
            taken += 1
        else:
            active[:] = False
            damping, growth = max(damping, RAISED_LAMBDA) * growth, 2.0 * growth
            if damping > MOST_LAMBDA:
                return state, taken, True
    return state, taken, False


def _nearly_met(stack: TaskStack, state: State, most: float, nearly_met: float) -> TaskStack:
    """Return a descent to targets that are brought some share of the way to where they should be (``_share_met``)."""
    levels: list[list[tuple[Task, float]]] = [list(stack.levels[0])]
    for level in stack.levels[1:]:
        shares = [
            (
                task,
                weight,
                _share_met(math.sqrt(sum(part * part for part in task.residual(SCALAR, state.placed))), nearly_met),
            )
            for task, weight in level
            if not isinstance(task, (PoleTask, SwivelTask, BalanceTask))
        ]
        of_all = min((share for task, _, share in shares if isinstance(task, PositionTask)), default=1.0)
        # Exact steps weigh all coordinates alike: with the rest of a look at a point beyond the limits of neck and
        # chest they turned the hips by 7 degrees of 10.
        levels.append(
            [
                (task.partly(state.placed, 0.0 if isinstance(task, LookAtTask) else most * min(share, of_all)), weight)
                for task, weight, share in shares
            ]
        )
    return stack.with_levels(levels)


def _share_met(error: float, nearly_met: float) -> float:
    """Return the share of a residual that is met exactly at the end, by its length r, in the tree's units.

    All of it up to a = ``nearly_met``, and beyond ``a / (1 + (e / c)^2) + e / (1 + (e / b)^2)`` of e = r - a with
    b = ``NEAR`` a and c = ``BESIDE`` a: at the end of its reach a body gains the last millimetres by large rotations,
    and would jump to them where a target comes into reach. Where that length falls, it falls by less than a fifth of
    the target's motion: with a share that fell to 0 within 0.02 units the hand went back while its target went on.
    """
    if error <= nearly_met:
        return 1.0
    if error >= FAR_FROM_MET * nearly_met:
        return 0.0
    beyond = error / nearly_met - 1.0
    return nearly_met * (1.0 / (1.0 + (beyond / BESIDE) ** 2) + beyond / (1.0 + (beyond / NEAR) ** 2)) / error


def _step(
    stack: TaskStack,
    here: _Linearised,
    weights: Array,
    damping: float,
    active: NDArray[np.bool_],
) -> tuple[Array, Array, NDArray[np.bool_], bool] | None:
    """Return a step (N + S,) that ends within limits, and the damped pseudo-inverse of the first level's rows.

    Args:
        stack: the tree and its coordinates.
        here: before the step.
        weights: W (M,).
        damping: lambda.
        active: (2, N + S) which coordinates the step before took to their upper, and to their lower limits.

    Returns:
        the step, the pseudo-inverse (N + S, M1) of the first level's rows over the coordinates that aren't at their
        limits, which coordinates are there, and whether the last round left the active set as it was. None
        where the second derivatives aren't positive definite.
    """
    down, up, swings, jacobian = here.down, here.up, here.swings, here.by_swings
    inverse_metric = stack.inverse_posture_weights
    metric = (1.0 + damping) / inverse_metric
    hessian = here.hessian + np.diag(metric)
    slope = jacobian.T @ (weights * here.residual) + swings.from_axes(here.toward) / inverse_metric
    above, below = active & np.isfinite([up, down])
    try:
        inverse = positive_inverse(hessian, LEAST_CURVATURE)
    except np.linalg.LinAlgError:
        return None
    without_bounds = inverse @ slope
    desired, is_optimal = without_bounds, False
    for _ in range(ACTIVE_SET_ROUNDS):
        (held,) = np.nonzero(above | below)
        if held.size:
            # Multipliers f: H dq = b - f and dq = limit where held, so f = (H^-1)_hh^-1 ((H^-1 b)_h - limit).
            at_limit = np.where(above, up, down)[held]
            forces = positive_inverse(inverse[np.ix_(held, held)], LEAST_INVERSE) @ (without_bounds[held] - at_limit)
            desired = without_bounds - inverse[:, held] @ forces
            desired[held] = at_limit + forces / metric[held]
        else:
            desired = without_bounds
        # At a limit the desired change is a multiplier, of which the sign alone counts: it frees the coordinate.
        over, under = (desired > up) & ~below, (desired < down) & ~above
        is_optimal = not (over ^ above | under ^ below).any()
        if is_optimal:
            break
        above, below = over, under
    change = np.minimum(np.maximum(desired, down), up)
    open_metric = np.where(above | below, 0.0, inverse_metric)
    rows = jacobian[stack.spans[0]]
    weighted = rows * open_metric
    normal = weighted @ rows.T
    least = 1e-6 * float(normal.trace()) + 1e-12
    normal.reshape(-1)[:: len(normal) + 1] += least
    back = positive_inverse(normal, least) @ weighted
    return swings.to_axes(change), swings.to_axes(back).T, np.stack([above, below]), is_optimal


def _on_first_level(stack: TaskStack, state: State, back: Array, bends: Sequence[float]) -> tuple[State, Array]:
    """Return a state with the first level's residual below ``CORRECTED``, or as near as ``CORRECTIONS`` steps bring it.

    A step after which the residual is not less is not taken.

    Args:
        stack: the tasks.
        state: near the first level.
        back: (N + S, M1) pseudo-inverse of the first level's rows.

    Returns:
        the state, and the residuals of all levels.
    """
    first = stack.first_level
    residual, _ = first.residual(state)
    for _ in range(CORRECTIONS):
        error = float(residual @ residual)
        if error <= CORRECTED**2:
            break
        corrected = stack.applied(state, back @ residual)
        left, _ = first.residual(corrected)
        if float(left @ left) >= error:
            break
        state, residual = corrected, left
    return state, np.concatenate([residual, stack.below_first_level.residual(state, bends)[0]])
