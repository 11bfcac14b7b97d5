# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several tasks on all joints of a tree at once, by strict priority: Newton's method in null spaces.

Level k of the tasks has residuals r_k and the Jacobian J_k; W are the weights of the joint coordinates, M = W^-1 the
metric of the posture task. One step of the tasks is

    J~_k = J_k N_{k-1}          dq_k = W J~_k^T (J~_k W J~_k^T + lambda_k I)^-1 (r_k - J_k (dq_1 + ... + dq_{k-1}))
    N_k = N_{k-1} - W J~_k^T (J~_k W J~_k^T)^-1 J~_k,  N_0 = I

after Siciliano and Slotine (1991): a lower level moves in the null space of those above, so that to first order no
level is worse for what comes below it. lambda_k grows with the level's residual (Fan and Yuan 2005).

The posture task holds all that the tasks leave open near a reference pose: it minimises (q - q_reference)^T M
(q - q_reference) / 2 in the null space N of all levels. The Hessian of its Lagrangian is H = M + sum_i mu_i d2c_i/dq2
over the rows c of the tasks, with the multipliers mu from J^T mu = M (q_reference - q) in the sense of least squares;
its step solves N^T H N d = N^T M (q_reference - q) by conjugate gradients, which end at negative curvature (Steihaug
1983). So the pose is a function of the targets: without the posture task it wanders within the set of poses that meet
them, and with H = M a body without poles took 60 steps instead of 5 from one pose of a path to the next.

A level that no step brings nearer, for it can't be met, has no null space that its curvature leaves alone. From it on
the levels are weighted, sum_k w_k |r_k|^2 / 2 (``UNMET_WEIGHTS``), and minimised with the posture task by Newton's
method in the null space of the levels above: what the lower levels cost it is 1e-4 of the tree's unit at most.

Bounds are an active set: a coordinate that a step would take out of its limits stops at the limit, and the step is
solved again for the others. A step is taken where the augmented Lagrangian, the sum of |q - q_reference|_M^2, of
w_k |r_k|^2 and of -2 mu.r, falls (Nocedal and Wright, section 17.3), if need be after a second-order correction
(section 18.3); else it is made shorter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

from ..math.factorisation import positive_inverse
from ..math.operations import Array
from .descent import POLE_DAMPING, Descent, Linearised
from .tasks import State

DAMPING, DAMPED = 0.3, 0.003
"""lambda over the length of a level's residual, about half a lever arm in units of the tree's longest way; below the
second length, over which it falls with the square, the steps are Newton's."""

PROJECTOR = 1e-9
"""Added to J~ W J~^T of a projector over its trace: singular directions count as open."""

UNMET_WEIGHTS, MET_WEIGHTS, POLE_WEIGHT = (1e6, 1e9, 1e12), (1e6, 1e8, 1e10), 1e4
"""w_k of the levels from the last one up, over the weight 1 of the posture task: of those that can't be met, and of the
others in the cost; that of a last level with poles."""

LONGEST = 1.0
"""Length of a step at most: root of the sum of the squared changes (radians, or units for a root)."""

SHORTEST = 1e-7
"""Largest change in a step below which a descent ends."""

CONVERGED_TASKS = 3e-7
"""Length of J dq of the tasks' part of a step that counts as none, in the tree's units."""

CONVERGED_POSTURE = 1e-4
"""Length (radians) of the posture task's part of a step that counts as none."""

RESTORING_STEPS = 12
"""Steps at most that bring met levels back to where they are met exactly, at the end of a descent."""

RESTORING_DAMPINGS = (1e-3, 0.03, 1.0)
"""``DAMPING`` of those steps, one after another until one of them brings the levels nearer."""

MET, EXACT = 1e-2, 1e-7
"""Length of a level's residual, in the tree's units: below which it is met but for curvature, and met exactly."""

STALE = 6
"""Steps in a row, of which none halves the smallest cost or the smallest step of the posture task, that end a descent
where all but poles is met: a chain that is stretched straight has no bend to turn to its pole, and went on for 50."""

NEAR_FIRST = 1e-4
"""Length of the first level's residual, in the tree's units, that no step may leave behind where it was less."""

CLOSELY_MET = 1e-5
"""Length of a level's residual, in the tree's units, at which poles alone are left."""

LEFT, FAR = 0.25, 0.25
"""Square of the share of a level's residual that a step leaves, and of the length of the step that would leave none,
from which on the level counts as one that can't be met."""

LEAST_UNMET = 1e-6
"""Length of a level's residual, in the tree's units, below which it is met whatever a step leaves of it."""

SLOW = 2e-3
"""Share of the cost that a step must take away; two in a row with less end a descent whose levels can all be met."""

ROUNDS = 3
"""Solutions of one step at most, each with the coordinates at their limits that the one before took there."""

GRADIENTS, ENOUGH, FLAT = 10, 1e-2, 0.1
"""Steps of conjugate gradients at most; square of the share of the residual at which they end; curvature over that of M
below which they end."""

SHIFTS, SHIFT, MORE = 10, 1.0, 8.0
"""Times at most that a multiple of M is added to a Hessian that isn't positive definite; the first, and their ratio."""

Normals: TypeAlias = tuple[tuple[int, int, float, float], ...]
"""Swings at their ellipses: columns of x and z, and the outward normals there."""

Solve: TypeAlias = Callable[[Array, Array, Normals], tuple[Array, Array]]
"""(residual, weights of the coordinates with 0 for those at their limits, ellipses that bound the step): the tasks'
part of a step and that of the posture task, both (N + S,)."""


def along(normals: Normals, array: Array) -> Array:
    """Return columns (..., N + S) without their parts along the normals of ellipses."""
    if not normals:
        return array
    array = array.copy()
    for i, k, nx, nz in normals:
        across = nx * array[..., i] + nz * array[..., k]
        array[..., i] -= nx * across
        array[..., k] -= nz * across
    return array


class _Projection(NamedTuple):
    """What a level takes out of the null space: W J~^T (J~ W J~^T)^-1 (N + S, M_k), and J~ (M_k, N + S)."""

    pseudo_inverse: Array
    rows: Array


class _Levels(NamedTuple):
    """A step of the tasks."""

    change: Array
    """(N + S,)"""
    projections: list[_Projection]
    unmet: int | None
    """The first level that can't be met."""
    before_unmet: Array
    """(N + S,) the part of the step of the levels above it."""
    above: int
    """How many of the projections are theirs."""


class _Step(NamedTuple):
    """A step of the tasks and the posture task, and what its cost is measured with."""

    tasks: Array
    posture: Array
    unmet: int
    """The first level that is weighted."""
    multipliers: Array
    """mu (M,), 0 from that level on."""
    correct: Callable[[Array], Array]
    """What a step's own curvature left of the residuals (M,), from that level on: the correction (N + S,)."""


@dataclass(frozen=True)
class _Model:
    """The quadratic model of tasks and posture task at a pose, over the coordinates that aren't held at a limit."""

    descent: Descent
    state: State
    linearised: Linearised
    residual: Array
    toward: Array
    """q_reference - q (N + S,)."""
    weights: Array
    """W, 0 for coordinates that are held."""
    normals: Normals

    @cached_property
    def jacobian(self) -> Array:
        """J (M, N + S) along the ellipses."""
        return along(self.normals, self.linearised.jacobian)

    @cached_property
    def metric(self) -> Array:
        """M, 0 for coordinates that are held."""
        return np.where(self.weights > 0.0, 1.0 / np.maximum(self.weights, 1e-12), 0.0)

    @cached_property
    def posture(self) -> Array:
        """q_reference - q along the ellipses, 0 for coordinates that are held."""
        return along(self.normals, self.toward) * (self.weights > 0.0)

    def levels(self, dampings: Sequence[float]) -> _Levels:
        """Return the tasks' step by priority."""
        change = before_unmet = np.zeros(len(self.weights))
        projections: list[_Projection] = []
        unmet, above = None, 0
        for number, (span, damping) in enumerate(zip(self.descent.spans, dampings, strict=True)):
            rows = open_rows = self.jacobian[span]
            if not len(rows):
                continue
            for pseudo_inverse, others in projections:
                open_rows = open_rows - (rows @ pseudo_inverse) @ others
            weighted = open_rows * self.weights
            normal = weighted @ open_rows.T
            diagonal = np.einsum("ii->i", normal)
            trace = float(diagonal.sum())
            if trace <= 1e-14:
                continue
            least = PROJECTOR * trace
            diagonal += least
            pseudo_inverse = weighted.T @ positive_inverse(normal, least)
            left = self.residual[span] - rows @ change
            step = full = pseudo_inverse @ left
            if damping > least:
                diagonal += damping
                step = weighted.T @ (positive_inverse(normal, damping) @ left)
            if unmet is None and _is_out(left, left - rows @ step, left - rows @ full, full):
                unmet, before_unmet, above = number, change, len(projections)
            change = change + step
            projections.append(_Projection(pseudo_inverse, open_rows))
        return _Levels(change, projections, unmet, before_unmet, above)

    def step(self, dampings: Sequence[float]) -> _Step:
        """Return the step of tasks and posture task, without limits but those that are in the model."""
        levels = self.levels(dampings)
        step = None
        if levels.unmet is not None and self.posture.any():
            step = self._weighted_step(levels, levels.unmet)
        return step or self._posture_step(levels)

    def _posture_step(self, levels: _Levels) -> _Step:
        """Return the step where all levels can be met, the posture task's by conjugate gradients in null space."""
        count = len(self.descent.levels)
        multipliers = np.zeros(len(self.residual))
        wanted = self.posture
        if wanted.any() and levels.projections:
            across = np.concatenate([each.pseudo_inverse for each in levels.projections], axis=1)
            rows = np.concatenate([each.rows for each in levels.projections])
            wanted = self.posture - across @ (rows @ self.posture)
            multipliers = self._multipliers(self.jacobian, self.metric * (self.posture - wanted))
            hessian = self._curvature(multipliers, self.metric * self.toward, multipliers)

            def bend(direction: Array) -> Array:
                bent = self.weights * (hessian @ direction)
                return direction + bent - across @ (rows @ bent)

            wanted = _conjugate_gradients(bend, wanted, self.metric)
        return _Step(levels.change, wanted, count, multipliers, np.zeros_like)

    def _weighted_step(self, levels: _Levels, unmet: int) -> _Step | None:
        """Return the step of Newton's method for the weighted levels, or None where the Hessian can't be used."""
        span = self.descent.spans[unmet]
        first, count = span.start, len(self.weights)
        rows, left = self.jacobian[first:], self.residual[first:]
        shares = np.repeat(
            _weights(self.descent, UNMET_WEIGHTS)[unmet:], [s.stop - s.start for s in self.descent.spans[unmet:]]
        )
        # Levels below hold what they can: their forces are those that are left after the tasks' step.
        after = np.where(np.arange(len(left)) < span.stop - first, left, left - rows @ levels.change)
        force = self.metric * self.posture + rows.T @ (shares * left)
        held = self._multipliers(self.jacobian[:first], force) if first else np.zeros(0)
        outward = self.metric * self.toward + self.linearised.jacobian[first:].T @ (shares * left)
        multipliers = np.concatenate([held, np.zeros(len(left))])
        curved = self._curvature(np.concatenate([held, -shares * after]), outward, multipliers)
        hessian = curved + (rows.T * shares) @ rows
        np.einsum("ii->i", hessian)[:] += self.metric
        begin = levels.before_unmet
        gradient = self.metric * (self.posture - begin) + rows.T @ (shares * (left - rows @ begin)) - curved @ begin
        projector = np.diag((self.weights > 0.0).astype(float))
        for projection in levels.projections[: levels.above]:
            projector -= projection.pseudo_inverse @ projection.rows
        rest = np.eye(count) - projector
        metric = np.where(self.weights > 0.0, self.metric, 1.0)
        inverse = _shifted_inverse(projector.T @ hessian @ projector + rest.T @ (metric[:, None] * rest), metric)
        if inverse is None:
            return None

        def correct(excess: Array) -> Array:
            total: Array = np.zeros(count)
            for rows_of, share in zip(
                self.descent.spans[unmet:], _weights(self.descent, UNMET_WEIGHTS)[unmet:], strict=True
            ):
                residual, part = self.residual[rows_of], excess[rows_of]
                # Along the residual the curvature is in the Hessian already.
                part = part - residual * (residual @ part) / (residual @ residual + 1e-30)
                total += self.jacobian[rows_of].T @ (share * part)
            return np.asarray(projector @ (inverse @ (projector.T @ total)), float)

        return _Step(begin, projector @ (inverse @ (projector.T @ gradient)), unmet, multipliers, correct)

    def _multipliers(self, jacobian: Array, force: Array) -> Array:
        """Return mu of J^T mu = force (N + S,), in the sense of least squares."""
        weighted = jacobian * self.weights
        normal = weighted @ jacobian.T
        least = 1e-7 * float(normal.trace()) + 1e-30
        np.einsum("ii->i", normal)[:] += least
        found: Array = positive_inverse(normal, least) @ (weighted @ force)
        return found

    def _curvature(self, multipliers: Array, outward: Array, held: Array) -> Array:
        """Return the curvature of the tasks along the ellipses, and of the ellipses that bound the step.

        An ellipse that a force presses a swing against with n.f adds n.f kappa along itself: on the way along the
        tangent, clamping takes the swing back by half of kappa times the square of the way. Without it the steps of
        swings at their limits did not converge where a target is beyond reach.

        Args:
            multipliers: (M,) of the tasks' rows.
            outward: force on the coordinates (N + S,) without that of the multipliers that hold levels.
            held: those multipliers (M,).
        """
        found = self.descent.curvature(self.state, self.linearised, multipliers)
        found = along(self.normals, along(self.normals, found).T)
        force = outward - self.linearised.jacobian.T @ held
        for i, k, nx, nz in self.normals:
            pressed = max(nx * force[i] + nz * force[k], 0.0) * self.descent.ellipse_curvature(self.state, i)
            found[i, i] += pressed * nz * nz
            found[k, k] += pressed * nx * nx
            found[i, k] -= pressed * nx * nz
            found[k, i] -= pressed * nx * nz
        return found


def _is_out(left: Array, after: Array, after_full: Array, full: Array) -> bool:
    """Tell whether a level can't be met: neither the damped step nor a full one of some length leaves little of it."""
    size = float(left @ left)
    if size <= LEAST_UNMET**2 or after @ after <= LEFT * size:
        return False
    return bool(after_full @ after_full > LEFT * size or full @ full > FAR)


def _weights(descent: Descent, found: tuple[float, ...]) -> list[float]:
    """Return w_k of the levels, given those without poles from the last one up."""
    if descent.least_dampings[-1] == POLE_DAMPING:
        found = (POLE_WEIGHT, *found)
    return [found[min(k, len(found) - 1)] for k in reversed(range(len(descent.levels)))]


def _conjugate_gradients(bend: Callable[[Array], Array], wanted: Array, metric: Array) -> Array:
    """Return d of bend(d) = wanted (N + S,), for a bend that is symmetric in the metric; ended where it is flat."""
    found = np.zeros_like(wanted)
    left = direction = wanted
    size = first = float(left @ (metric * left))
    for _ in range(GRADIENTS):
        if size <= ENOUGH * first:
            break
        bent = bend(direction)
        curved = float(direction @ (metric * bent))
        if curved <= FLAT * float(direction @ (metric * direction)):
            return found if found.any() else wanted
        share = size / curved
        found = found + share * direction
        left = left - share * bent
        size, before = float(left @ (metric * left)), size
        direction = left + (size / before) * direction
    return found


def _shifted_inverse(hessian: Array, metric: Array) -> Array | None:
    """Return the inverse of a matrix plus the least of some multiples of the metric that makes it positive definite."""
    diagonal = np.einsum("ii->i", hessian)
    shift = SHIFT
    for _ in range(SHIFTS):
        try:
            np.linalg.cholesky(hessian)
        except np.linalg.LinAlgError:
            diagonal += shift * metric
            shift *= MORE
            continue
        return np.linalg.inv(hessian)
    return None


def bounded_step(descent: Descent, state: State, jacobian: Array, residual: Array, solve: Solve) -> tuple[Array, Array]:
    """Return the tasks' and the posture task's part of a step that ends within limits.

    Args:
        descent: the tree and its coordinates.
        state: before the step.
        jacobian: J (M, N + S), weighted.
        residual: (M,), weighted.
        solve: returns both parts without limits.
    """
    down, up = descent.bounds(state)
    ellipses = descent.ellipses(state)
    for i, k, _, _ in ellipses:
        # A swing on its ellipse is far from the ellipse's box: at the box it would be taken back to the ellipse.
        down[i] = down[k] = -np.inf
        up[i] = up[k] = np.inf
    weights = descent.weights.copy()
    fixed = np.zeros(len(weights))
    tasks = posture = fixed
    normals: Normals = ()
    for _ in range(ROUNDS):
        tasks, posture = solve(residual - jacobian @ fixed, weights, normals)
        change = tasks + posture
        is_free = weights > 0.0
        above, below = is_free & (change > up), is_free & (change < down)
        is_out = above | below
        leaves = tuple(
            each
            for each in ellipses
            if is_free[each[0]] and each[2] * change[each[0]] + each[3] * change[each[1]] > 1e-12
        )
        if not leaves and not is_out.any():
            break
        fixed = fixed + np.where(above, up, 0.0) + np.where(below, down, 0.0)
        weights[is_out] = 0.0
        normals += leaves
        ellipses = [each for each in ellipses if each not in leaves]
    return tasks + fixed, posture


def _step(
    descent: Descent, state: State, linearised: Linearised, residual: Array, toward: Array, damping: float | None = None
) -> _Step:
    """Return a step that ends within limits."""
    errors = descent.errors(residual)
    if damping is None:
        damping = DAMPING * min(1.0, max(errors) / DAMPED)
    dampings = [damping * error + least for error, least in zip(errors, descent.least_dampings, strict=True)]
    steps: list[_Step] = []

    def solve(left: Array, weights: Array, normals: Normals) -> tuple[Array, Array]:
        model = _Model(descent, state, linearised, left, toward, weights.copy(), normals)
        steps.append(model.step(dampings))
        return steps[-1].tasks, steps[-1].posture

    tasks, posture = bounded_step(descent, state, linearised.jacobian, residual, solve)
    return steps[-1]._replace(tasks=tasks, posture=posture)


@dataclass(frozen=True)
class _Trial:
    """A state in a descent and what its cost is made of."""

    state: State
    residual: Array
    toward: Array
    bends: list[float]

    def cost(self, descent: Descent, step: _Step, most_first: float) -> float:
        """Return the augmented Lagrangian of a step's model; infinite where the first level is left behind."""
        errors = descent.errors(self.residual)
        if errors[0] > most_first:
            return math.inf
        metric = 1.0 / np.maximum(descent.weights, 1e-2)
        cost = float(self.toward @ (metric * self.toward)) - 2.0 * float(step.multipliers @ self.residual)
        met = _weights(descent, MET_WEIGHTS)
        shares = [*met[: step.unmet], *_weights(descent, UNMET_WEIGHTS)[step.unmet :]]
        return cost + sum(share * error * error for share, error in zip(shares, errors, strict=True))


def descend_by_priority(descent: Descent, start: State, reference: State | None, steps: int) -> tuple[State, int, bool]:
    """Bring a pose to where the tasks are met by priority, and nearest to a reference pose among those.

    Args:
        descent: tasks by level.
        start: coordinates and shifts to start from, within limits.
        reference: coordinates and shifts that the posture task stays near to; None leaves the posture task out.
        steps: at most.

    Returns:
        the last state that was accepted, how many were, and whether the descent ended before its steps were used up.
    """
    begin = descent.state(start.coordinates, start.shifts)
    if not len(descent.weights):
        return begin, 0, True

    def placed(state: State, bends: list[float] | None = None) -> _Trial:
        residual, own = descent.residual(state, bends)
        return _Trial(state, residual, descent.to_reference(state, reference), own)

    here = placed(begin)
    radius, taken, slow = LONGEST, 0, 0
    stale, least_cost, least_size = 0, math.inf, math.inf
    has_poles = descent.least_dampings[-1] == POLE_DAMPING
    linearised: Linearised | None = None
    is_converged = False
    for _ in range(steps):
        if linearised is None:
            linearised = descent.linearised(here.state)
            step = _step(descent, here.state, linearised, here.residual, here.toward)
            errors = descent.errors(here.residual)
            most_first = max(NEAR_FIRST, errors[0]) if len(errors) > 1 else math.inf
            cost = here.cost(descent, step, most_first)
            change = step.tasks + step.posture
            longest = math.sqrt(float(change @ change))
            is_converged = _is_none(linearised.jacobian @ step.tasks, step.posture)
        size = float(step.posture @ step.posture)
        stale = 0 if cost < 0.5 * least_cost or size < 0.25 * least_size else stale + 1
        least_cost, least_size = min(cost, least_cost), min(size, least_size)
        is_stale = stale >= STALE and has_poles and max(errors[:-1], default=0.0) <= CLOSELY_MET
        if is_converged or is_stale or slow >= 2 or radius < SHORTEST:
            is_converged = True
            break
        share = min(1.0, radius / longest)
        trial = placed(descent.applied(here.state, share * change), here.bends)
        tried = trial.cost(descent, step, most_first)
        if not tried < cost:
            correction = _correction(descent, here, linearised, step, trial.residual, share)
            if correction @ correction < (share * longest) ** 2:
                trial = placed(descent.applied(trial.state, correction), here.bends)
                tried = trial.cost(descent, step, most_first)
        if tried < cost:
            is_slow = step.unmet == len(errors) and cost < (1.0 + SLOW) * tried
            slow = slow + 1 if is_slow and max(errors) > MET else 0
            here, linearised = placed(trial.state), None
            taken += 1
            radius = min(LONGEST, max(radius, 2.0 * share * longest))
        else:
            radius = 0.3 * share * longest
    else:
        # Tasks that can't be met end in flat valleys, on whose floors the steps get ever shorter.
        is_converged = steps > 0 and step.unmet < len(errors)
    return _restored(descent, here.state), taken, is_converged


def _is_none(gained: Array, posture: Array) -> bool:
    """Tell whether a step changes next to nothing."""
    return bool(gained @ gained <= CONVERGED_TASKS**2 and posture @ posture <= CONVERGED_POSTURE**2)


def _correction(
    descent: Descent, here: _Trial, linearised: Linearised, step: _Step, tried: Array, share: float
) -> Array:
    """Return the second-order correction (N + S,): the step that takes away what curvature left of the residuals."""
    left = tried - (here.residual - share * (linearised.jacobian @ (step.tasks + step.posture)))
    more: Array = np.zeros(len(descent.weights))
    if step.unmet < len(descent.spans):
        more = step.correct(left)
        left = left - linearised.jacobian @ more
        left[descent.spans[step.unmet].start :] = 0.0
    model = _Model(descent, here.state, linearised, left, more, descent.weights, ())
    return model.levels(descent.least_dampings).change + more


def _restored(descent: Descent, state: State) -> State:
    """Return the state with the levels above the first that isn't met brought back to where they are met exactly.

    A descent that ends in the flat valley of a task that can't be met leaves the levels above it with the curvature of
    the last step: pins were off by 1.5e-4 of a body's height.
    """
    residual, bends = descent.residual(state)
    for _ in range(RESTORING_STEPS):
        errors = descent.errors(residual)
        unmet = next((k for k, error in enumerate(errors) if error > MET), min(1, len(errors) - 1))
        above = descent.spans[unmet - 1].stop if unmet else 0
        if not above or max(errors[:unmet]) <= EXACT:
            break
        left = residual.copy()
        left[above:] = 0.0
        linearised, nothing = descent.linearised(state), np.zeros(len(descent.weights))
        for damping in RESTORING_DAMPINGS:
            trial = descent.applied(state, _step(descent, state, linearised, left, nothing, damping).tasks)
            trial_residual, _ = descent.residual(trial, bends)
            if max(descent.errors(trial_residual)[:unmet]) < max(errors[:unmet]):
                break
        else:
            break
        state, residual = trial, trial_residual
    return state
