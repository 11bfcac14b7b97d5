# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several tasks on all joints of a tree at once, by strict priority: damped least squares in null spaces.

Level k of the tasks has residuals r_k and the Jacobian J_k; W are the weights of the joint coordinates. One step is

    J~_k = J_k N_{k-1}          dq_k = W J~_k^T (J~_k W J~_k^T + lambda_k I)^-1 (r_k - J_k (dq_1 + ... + dq_{k-1}))
    N_k = N_{k-1} - W J~_k^T (J~_k W J~_k^T)^-1 J~_k,  N_0 = I
    dq = dq_1 + ... + dq_K + N_K (q_reference - q)

after Siciliano and Slotine (1991). A level moves the joints in the null space of the levels above it, so that to first
order their residuals don't change. The posture task is the last level. Its residual is the way to a reference pose,
q_reference - q, and it determines the coordinates that the tasks leave open: so the pose is, locally, a function of the
targets. Without the posture task the pose wanders within the set of poses that meet the targets. Of tasks of one level
the posture part of a step knows their curvature (``posture_step``); of several levels the posture part
N_K (q_reference - q) is extrapolated from that of the step before (``_extrapolated``): with the curvature, but without
that of poles, frames and unmet tasks, steps were refused.

lambda_k is proportional to the length of the level's residual (Fan and Yuan 2005). It stands for the second derivatives
that a Gauss-Newton step leaves out, which are proportional to the residual, too.

Bounds are an active set: a coordinate that a step would take out of its limits stops at the limit, and the step is
solved again for the others. The cost of a pose is the sum of the lengths of the levels' residuals, each weighted
PENALTY times more than the next (an exact penalty: Nocedal and Wright, section 15.4). A step is accepted if it lowers
the cost, or if it brings the pose nearer to the reference pose and raises the cost by ``SLACK`` at most; and if the
residual of the first level stays below ``NEAR_FIRST``, or doesn't grow. A step that isn't accepted is corrected once
for the curvature of the tasks (second-order correction: Nocedal and Wright, section 15.6), and then shortened. At the
end of a descent with a task that can't be met, the levels above that task are met exactly again (``_restored``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..math.factorisation import damped_inverse
from ..math.operations import Array
from ..model.tree_motions import TreeMotions
from .bounded_step import bounded_step
from .posture_step import curved_posture
from .task_stack import TaskStack
from .tasks import State

TREE_STEPS = 80
"""Steps of least squares at most from one start; those of a target that moves a little need about five."""

DAMPING = 0.3
"""lambda over the length of a level's residual: about half a lever arm, in the tree's units."""

CURVED_DAMPING = 0.2
"""``DAMPING`` at most of a step with the curvature of the tasks, and the length of the residual below which lambda is
the length's square. With ``DAMPING`` a Y of 10 bones took 6.0 steps instead of 5.9, a hand of 26 bones
6.4 instead of 6.2 (means of 200 targets)."""

LEAST_DAMPING = 1e-8
"""lambda of a level that is met."""

POLE_DAMPING = 1e-5
"""lambda of a level with poles that is met. A chain with joints less than sqrt(lambda), 3e-3 of the tree's unit, off
its chord hardly rotates about the chord to bend to its pole. With ``LEAST_DAMPING`` a straight arm rotated by 117
degrees in one step of its target."""

PROJECTOR = 1e-9
"""lambda of the projectors N_k, over the trace of J~_k W J~_k^T: singular directions are left to the levels below."""

PENALTY = 30.0
"""Weight of a level's residual over that of the next level's in the cost. With 100 more steps were too long for the
curvature of the first level: a Y of 10 bones with one target out of reach took 17 trials instead of 12 (mean of 60).
With 10 the bones of a tree with limits and rotations, solved alone and in a batch of frames, differed by up to 0.31
degrees."""

UNMET_SHARE = 0.05
"""Share of the posture part with which a step is taken while a level below the first isn't met (``MET``). Gauss-Newton
leaves out the curvature of that level, and the posture part bends the chain that the level stretches: with all of it
the same trees took 26 and 20 trials, and ended farther from the target out of reach."""

LONGEST = 1.0
"""Largest length of a step: root of the sum of the squared changes (radians, or the tree's units of a root's shift)."""

LEAST_GAMMA = -3.0
"""Least gamma with which the posture part of a step is extrapolated (``_extrapolated``): it grows fourfold at most."""

LARGEST_GROWTH = 2.0
"""Ratio of a posture part's length to that of the step before, above which it isn't extrapolated."""

SHORTEST = 1e-7
"""Bound of a step's length below which a descent ends."""

CONVERGED_TASKS = 3e-7
"""Length of J dq, dq the tasks' part of a step, in the tree's units, up to which the tasks have converged."""

CONVERGED_POSTURE = 1e-4
"""Length (radians) of the posture part of a step up to which the posture task has converged."""

RESTORING_STEPS = 12
"""Steps at most that bring met levels back to where they are met exactly, at the end of a descent."""

RESTORING_DAMPING = 1e-3
"""``DAMPING`` of those steps: with more, chains at full extension converge slowly."""

MET, EXACT = 1e-2, 1e-7
"""Lengths of a level's residual, in the tree's units: up to the first the level can be met, and steps that restore met
levels bring it to the second."""

SLACK = 3e-5
"""Largest growth of the cost in a step toward the reference pose: to second order such a step changes the residuals."""

STALE = 6
"""Steps that halve neither the cost nor the length of the posture part, after which a descent may end (``_may_end``).
The bend of a chain that is stretched straight can't be turned to its pole, and the descent went on for 50 steps; near
singular poses of trees with up to 11 effectors the damping kept residuals of 1e-4 until all 80 steps were used up."""

NEAR_FIRST = 3e-4
"""Length of the first level's residual, in the tree's units, up to which a step may increase it."""

CLOSELY_MET = 1e-5
"""Length of a level's residual, in the tree's units, up to which the level is closely met. A descent without progress
ends where all levels but that of the poles are closely met, and steps that restore met levels end where all are."""

UNMET = 1e-3
"""Cost above which some task isn't met."""

SLOW, SLOW_FIRST = 7e-3, 2e-3
"""Shares of the cost that a step must take away where some task isn't met: with the first level up to ``NEAR_FIRST``
off, and farther off. Two steps in a row with less end a descent. With 2e-3 alone a hand with one of five targets out of
reach took 21 trials instead of 14 (means of 60). With 7e-3 alone effectors with targets within reach stayed 1e-4 off in
8 instead of 5 of 60 random trees with poles."""


@dataclass
class _Levels:
    """A step by strict priority: solves the levels one after another; keeps the pseudo-inverses of the first call."""

    stack: TaskStack
    dampings: Sequence[float]
    """lambda of each level."""
    at_state: tuple[TreeMotions, Array] | None = None
    """Motions and J of the state, with which the posture part knows the curvature of the tasks; None: it doesn't."""
    solved: list[tuple[slice, Array, Array, Array]] = field(default_factory=list)
    """Rows of each level, J (R, N + S), J~ (R, N + S) and the pseudo-inverse of J~ (N + S, R), without limits."""

    def __call__(self, jacobian: Array, residual: Array, weights: Array, toward: Array) -> tuple[Array, Array]:
        """Return the tasks' part of a step and that of the posture task, both (N + S,)."""
        solved: list[tuple[slice, Array, Array, Array]] = []
        change = np.zeros(len(weights))
        for span, damping in zip(self.stack.spans, self.dampings, strict=True):
            rows = jacobian[span]
            if not len(rows):
                continue
            open_rows, left = rows, residual[span]
            if solved:
                left = left - rows @ change
                for _, _, others, pseudo_inverse in solved:
                    open_rows = open_rows - (rows @ pseudo_inverse) @ others
            weighted = open_rows * weights
            normal = weighted @ open_rows.T
            trace = float(normal.trace())
            if trace <= 1e-14:
                continue
            least = PROJECTOR * trace
            inverse, damped = damped_inverse(normal, np.array([least, least + damping]))
            change += (damped @ left) @ weighted
            solved.append((span, rows, open_rows, weighted.T @ inverse))
        posture = toward * (weights > 0.0)
        for _, _, rows, pseudo_inverse in solved:
            posture -= pseudo_inverse @ (rows @ posture)
        if self.at_state is not None and solved and toward.any():
            task = jacobian, solved[0][3], change
            posture, _ = curved_posture(self.stack, self.at_state, task, weights, toward, posture)
        self.solved = self.solved or solved
        return change, posture

    def correction(self, left: Array) -> Array:
        """Return the second-order correction (N + S,) of a step, for the residuals that the tasks' curvature has left.

        Nocedal and Wright, section 15.6. The pseudo-inverses are those of the step without limits: with coordinates at
        their limits left out the hand of a human that is led beyond reach stayed farther from its target by 0.006 of
        the height, and a bone rotated by 2.3 times the median step's rotation in one step instead of 1.2.
        """
        found = np.zeros(len(self.stack.weights))
        for span, rows, _, pseudo_inverse in self.solved:
            found += pseudo_inverse @ (left[span] - rows @ found)
        return found


def least_dampings(stack: TaskStack) -> list[float]:
    """Return the damping, lambda, of each level where it is met."""
    return [POLE_DAMPING if has_poles else LEAST_DAMPING for has_poles in stack.levels_with_poles]


def _step(
    stack: TaskStack,
    state: State,
    residual: Array,
    jacobian: Array,
    toward: Array,
    damping: float = DAMPING,
    motions: TreeMotions | None = None,
) -> tuple[Array, Array, _Levels]:
    """Return the tasks' and the posture task's part of a step that ends within limits, and how it was solved.

    Args:
        state: before the step.
        residual: (M,).
        jacobian: J (M, N + S).
        toward: q_reference - q (N + S,).
        damping: lambda over the length of a level's residual.
        motions: of the state, with which the step takes the curvature of the tasks into account; None leaves it out.
    """
    dampings = []
    for error, least in zip(stack.errors(residual), least_dampings(stack), strict=True):
        factor = damping if motions is None else min(CURVED_DAMPING, error)
        dampings.append(factor * error + least)
    levels = _Levels(stack, dampings, None if motions is None else (motions, jacobian))
    return *bounded_step(stack, state, jacobian, residual, levels, toward), levels


class _Cost(NamedTuple):
    """What decides whether a step is accepted (``_is_gain``)."""

    tasks: float
    """Sum of the levels' residuals, each weighted PENALTY times more than the next."""
    posture: float
    """Squared way to the reference pose, each coordinate over its weight."""
    first: float
    """Length of the first level's residual; 0 where no other level is below it."""
    below: float
    """Length of the longest residual of the levels below the first."""


class _Trial(NamedTuple):
    """A state that a step leads to."""

    state: State
    residual: Array
    toward: Array
    """Way to the reference pose (N + S,)."""
    cost: _Cost


def descend_by_priority(
    stack: TaskStack, start: State, reference: State | None, steps: int, near: float = 0.0
) -> tuple[State, int, bool]:
    """Bring a pose to where the tasks are met by priority, and nearest to a reference pose among those.

    Args:
        start: coordinates and shifts to start from, within limits.
        reference: coordinates and shifts that the posture task stays near to; None leaves the posture task out.
        steps: at most.
        near: length of the first level's residual, in the tree's units, at which the descent ends although other levels
            aren't met.

    Returns:
        the last state that was accepted, how many were, and whether the descent ended before its steps were used up.
    """
    state = start
    if not len(stack.weights):
        return start, 0, True
    residual, toward = stack.residual(state), stack.to_reference(state, reference)
    cost = _cost(stack, residual, toward)
    radius, taken, slow, is_converged = LONGEST, 0, 0, True
    jacobian: Array | None = None
    progress, has_poles = _Progress(), stack.levels_with_poles[-1]
    is_curved = reference is not None and len(stack.levels) == 1 and not has_poles
    before: tuple[Array, Array] | None = None
    for _ in range(steps):
        if jacobian is None:
            motions = stack.motions(state)
            jacobian = stack.jacobian(state, motions)
            curvature = motions if is_curved else None
            by_tasks, by_posture, levels = _step(stack, state, residual, jacobian, toward, DAMPING, curvature)
            posture_share = UNMET_SHARE if cost.below > MET else 1.0
            extrapolated = by_posture
            if before is not None and not is_curved:
                extrapolated = _extrapolated(stack, by_posture, *before)
            extrapolated = posture_share * extrapolated
        change = by_tasks + extrapolated
        length = math.sqrt(float(change @ change))
        gained, size = jacobian @ by_tasks, float(by_posture @ by_posture)
        if gained @ gained <= CONVERGED_TASKS**2 and size <= CONVERGED_POSTURE**2:
            break
        if progress.is_stale(cost.tasks, size) and _may_end(stack, residual):
            is_converged = has_poles
            break
        share = min(1.0, radius / length)
        trial = _tried(stack, state, share * change, reference)
        if not _is_gain(cost, trial.cost):
            left = trial.residual - (residual - share * (jacobian @ change))
            correction = levels.correction(left)
            if correction @ correction < (share * length) ** 2:
                trial = _tried(stack, trial.state, correction, reference)
        if _is_gain(cost, trial.cost):
            slow = slow + 1 if _is_slow(cost, trial.cost) else 0
            state, residual, toward, cost, jacobian = trial.state, trial.residual, trial.toward, trial.cost, None
            # With J evaluated once more, to find that the descent has converged, a Y took a tenth of the time more.
            is_last = share == 1.0 and size <= CONVERGED_POSTURE**2 and max(stack.errors(residual)) <= CONVERGED_TASKS
            before = by_posture, share * extrapolated
            taken += 1
            radius = min(LONGEST, max(radius, 2.0 * share * length))
            if slow >= 2 or is_last:
                break
            if near and cost.first <= near:
                return state, taken, True
        else:
            radius, before, extrapolated = 0.3 * share * length, None, posture_share * by_posture
            if radius < SHORTEST:
                break
    else:
        is_converged = False
    return _restored(stack, state), taken, is_converged


@dataclass
class _Progress:
    """Steps of a descent since one of them halved the tasks' cost or the length of the posture part."""

    cost: float = math.inf
    """Least cost of the tasks up to that step."""
    size: float = math.inf
    """Least squared length of a posture part up to that step."""
    steps: int = 0

    def is_stale(self, cost: float, size: float) -> bool:
        """Count a step with its cost and squared length; tell whether ``STALE`` steps have halved neither."""
        self.steps += 1
        if cost < 0.5 * self.cost or size < 0.25 * self.size:
            self.cost, self.size, self.steps = min(cost, self.cost), min(size, self.size), 0
        return self.steps >= STALE


def _may_end(stack: TaskStack, residual: Array) -> bool:
    """Tell whether a descent without progress ends: where all but poles is met, or ``_restored`` can meet the rest."""
    errors = stack.errors(residual)
    if stack.levels_with_poles[-1]:
        return max(errors[:-1], default=0.0) <= CLOSELY_MET
    return CLOSELY_MET < max(errors) <= MET


def _extrapolated(stack: TaskStack, by_posture: Array, before: Array, taken: Array) -> Array:
    """Return the posture part of a step (N + S,), extrapolated from the step before.

    f is the posture part here (``by_posture``), g that of the step before (``before``) and s the posture part with
    which that step was taken (``taken``); with d = f - g, and products in ``TaskStack.metric``

        f - gamma (s + d),    gamma = <f, d> / <d, d>

    Anderson (1965), depth one. f is a Gauss-Newton step, which leaves out the curvature of the tasks. Near the end
    successive f along that curvature have a ratio rho: their sum converges slowly where rho is near 1, and not at all
    where rho < -1. With s = g the extrapolated part is f / (1 - rho), its limit. Of 60 targets with rotations for all
    effectors a Y of 10 bones met 59 in 19.6 steps (mean), without the extrapolation 58 in 23.0; a hand of 26 bones took
    21.8 steps instead of 25.9.

    With gamma > 1, which is rho > 1, f isn't extrapolated: f leads away from a saddle, and f / (1 - rho) back to it.
    Nor is an f that has grown by more than ``LARGEST_GROWTH``: after a g of rounding errors alone gamma = 1 +- 1e-16,
    and rounding chose between f and 0.
    """
    d = by_posture - before
    weighted = stack.metric * d
    square, square_before = float(weighted @ d), float(before @ (stack.metric * before))
    square_here = float(by_posture @ (stack.metric * by_posture))
    if square <= 1e-16 or square_here > LARGEST_GROWTH**2 * square_before:
        return by_posture
    gamma = float(weighted @ by_posture) / square
    return by_posture - max(gamma, LEAST_GAMMA) * (taken + d) if gamma < 1.0 else by_posture


def _cost(stack: TaskStack, residual: Array, toward: Array) -> _Cost:
    errors = stack.errors(residual)
    tasks = sum(PENALTY ** (len(errors) - 1 - k) * error for k, error in enumerate(errors))
    first = errors[0] if len(errors) > 1 else 0.0
    return _Cost(tasks, float(toward @ (stack.metric * toward)), first, max(errors[1:], default=0.0))


def _is_gain(cost: _Cost, tried: _Cost) -> bool:
    """Return whether a step is accepted: the cost falls, or hardly grows on the way to the reference pose."""
    is_less = tried.tasks < cost.tasks * (1.0 - 1e-6) - 1e-12
    is_nearer = tried.tasks <= cost.tasks + SLACK and tried.posture < cost.posture
    return (is_less or is_nearer) and tried.first <= max(NEAR_FIRST, cost.first)


def _is_slow(cost: _Cost, taken: _Cost) -> bool:
    """Tell whether a step that was accepted gained hardly anything, while a task isn't met.

    Near the least residual of a task that can't be met the cost hardly falls while the pose goes on moving.
    """
    least = SLOW if taken.first <= NEAR_FIRST else SLOW_FIRST
    return UNMET < cost.tasks < (1.0 + least) * taken.tasks


def _tried(stack: TaskStack, state: State, change: Array, reference: State | None) -> _Trial:
    """Return what a change of the coordinates leads to."""
    trial = stack.applied(state, change)
    residual, toward = stack.residual(trial), stack.to_reference(trial, reference)
    return _Trial(trial, residual, toward, _cost(stack, residual, toward))


def _restored(stack: TaskStack, state: State) -> State:
    """Return the state with the levels above the first unmet level brought back to where they are met exactly.

    A descent that ends with a task that can't be met leaves residuals in the levels above that task, from the curvature
    of the last step: pins were off by 1.5e-4 of a body's height. Where all levels are met, but not closely, steps with
    less damping and no posture task end nearer to the targets: 4 of 600 random trees had effectors off by more than
    1e-4 instead of 11.
    """
    residual = stack.residual(state)
    for _ in range(RESTORING_STEPS):
        errors = stack.errors(residual)
        unmet = next((k for k, error in enumerate(errors) if error > MET), len(errors))
        above = stack.spans[unmet - 1].stop if unmet else 0
        if not above or max(errors[:unmet]) <= (EXACT if unmet < len(errors) else CLOSELY_MET):
            break
        left = residual.copy()
        left[above:] = 0.0
        nothing = np.zeros(len(stack.weights))
        change, _, _ = _step(stack, state, left, stack.jacobian(state), nothing, RESTORING_DAMPING)
        for share in (1.0, 0.3, 0.1):
            trial = stack.applied(state, share * change)
            trial_residual = stack.residual(trial)
            if max(stack.errors(trial_residual)[:unmet]) < max(errors[:unmet]):
                break
        else:
            break
        state, residual = trial, trial_residual
    return state
