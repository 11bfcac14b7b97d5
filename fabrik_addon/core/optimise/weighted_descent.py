# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tasks of a body or a tree by weight, with a posture task: Newton steps with a Levenberg-Marquardt damping.

The step and the cost that it reduces are those of ``newton_step``; its damping lambda changes by the ratio of the
reduction of the cost to that of the model (Nielsen 1999).

After the last step by weight, positions, rotations and points at the floor that are nearly met are met exactly
(``meet_all``). Looks keep their residuals in these steps; poles, swivels and balance are left out of them. Of chains
with pins, whose root moves, rotations and poles keep no target within reach away (``to_meet``). At the very end the
first level, pins and planted feet, is met to ``EXACT`` (``with_first_level_met``).

Every trial is brought back to the first level before its cost is compared: off the curved set of poses that keep the
pins a straight step increases the first level's cost by more than it reduces the others'.
"""

from __future__ import annotations

import math
from enum import Enum, auto
from typing import Any, NamedTuple

import numpy as np

from ..math.operations import TINY, Array, Component, Condition, Operations
from .balance_task import BalanceTask
from .bounded_step import ROUNDS
from .held_descent import EXACT, LONGEST, TREE_STEPS, descend_held
from .look_at_task import LookAtTask
from .newton_step import (
    SHORT_STEP,
    bounds_of,
    cost_at,
    damped_step,
    forces_at,
    modelled,
    newton_step,
    pseudo_inverse,
    with_forces,
)
from .swivel_task import SwivelTask
from .task_loss import OF_BODY, Firmness, loss_of
from .task_stack import TaskStack
from .tasks import PoleTask, PositionTask, State, Task

FIRST_LAMBDA, LEAST_LAMBDA, MOST_LAMBDA = 1e-3, 1e-7, 1e8
"""lambda of the first step, its least value, and the one above which a descent ends."""

RAISED_LAMBDA = 1e-4
"""Least lambda that is multiplied where a step doesn't reduce the cost, far from the solution."""

RAISED_IN_MOVE = 1.0
"""The same from the solution of a move or frame before. Below 1 a step hardly changes with lambda: the tasks' part of
its matrix is larger than P. With 1e-4 a move of a body with balance took 7.4 trials (mean of 24 drags) instead of 5.6,
and half of the moves used up their steps; a move of a hand of Rigify's human across the body 6.6 instead of 4.7. Far
from the targets the growth from 1e-4 leads to better minima: of 20 poses of a body with straight limbs, turned far, one
more isn't found with 1."""

CONVERGED = 2e-4
"""Largest change of a coordinate, times 1 + lambda, that counts as none: 0.01 degrees. With 1e-6 a move of a drag took
8 steps (median) instead of 3. With 3e-4 bones of Rigify's human, baked along a hand's path across the body with knees
that bend away from their poles, were 0.10 degrees off after one round, with this 0.03."""

SETTLED, SETTLED_AFTER = 8.5e-4, 3e-5
"""Largest change of a coordinate, times 1 + lambda, after which a step with second derivatives may be the last, and
that times the share e by which its gain is not the model's. The step after it would change no coordinate by more than
2.3e-4 (97 steps of bench row "body-path")."""

FEW_STEPS = 6
"""Steps in which a descent that is said to begin far from a solution may converge near its beginning: in a press of
Solve where a target has moved a little. Without that the core took 3.2 ms instead of 2.2 (bench row "body-path")."""

MOST_SHARE = 0.6
"""Share of a step above which all of it is taken (``share_of_step``): steps that alternate, but fall to two thirds or
less each, are few. Without this bound frames of bakes with poles took 10 to 20 percent more steps."""

CORRECTIONS = 2
"""Steps at most that bring a trial's residual of the first level to that of the model."""

CORRECTED = 1e-7
"""Length of the difference of both, in the tree's units, from which on a trial is corrected."""

NEAR, BESIDE, FAR_FROM_MET = 4.0 / 3.0, 10.0, 50.0
"""Lengths of a residual, over ``Firmness.nearly_met``, that say how much of it is met exactly (``_share_met``)."""

MEETING_STEPS = 6
"""Steps of ``meet_all`` at most. All of 630 frames of Rigify's human (bench row "bake-body"), with residuals of up to
3.3e-3, were met; with one J for five steps 383 weren't."""

LEAST_MEETING_DAMPING, MEETING_DAMPING = 1e-9, 0.1
"""lambda of those steps over the trace of ``J W J^T``: where all is met, and for each unit of the tree by which the
tasks are off, over the number of their rows. So what can be met is met exactly, and what can't stays where few damped
steps lead, continuous in the targets.

With the first alone, and steps of strict priority where not all was met, these ended unconverged, and poses that are
smooth by weight jumped: on a hand's path beyond reach (bench row "body-path", without pins, low, limits and poles) a
bone rotated in a step by up to 4.4 times the median step's largest rotation, with both by 2.0. With 0.06 an arm of a Y
that is led in and out of reach with its rotation by up to 5.3 times, where it is 3 with this."""

NEARLY_EXACT = 3e-5
"""Length of the residual, in the tree's units, up to which ``meet_all`` has met the tasks."""

AWAY, FAR_AWAY = 0.035, 0.06
"""Lengths of a target's residual by weight, in the tree's units: up to the first rotations and poles keep no target
away, from the second on they do as by weight (``to_meet``). Rotations that hands of Rigify's human can't take
keep targets within reach away by up to 0.02 of its height, which is 0.03 units. Beyond reach chains are taut, and jump
where all are held: with the targets firm everywhere a foot rotated by 7.6 times the median step's rotation in one step
(bench row "body-paths"), with these by 2.7."""

NEARER = 0.9
"""Ratio of the residuals without rotations and poles to those with them, up to which ``to_meet`` takes all of
the difference away, and none where they are the same: rotations may also bring targets nearer, and the joints at equal
distances may be at different points."""

EXACT_STEPS = 20
"""Steps at most that meet the first level and the floor task at the end. With 10 a foot that was dragged into the floor
came 5e-4 of the height below it, with 20 4e-5."""


class Beginning(Enum):
    """Where a descent by weight begins."""

    FAR = auto()
    """At any pose."""
    NEAR = auto()
    """Near a solution: that of the frame before, or of a descent with other tasks or weights."""
    MOVE = auto()
    """In a drag: near the solution of the move before, but for the first move. The descent ends earlier
    (``least_cost``)."""


class Descended(NamedTuple):
    """Where a descent by weight has ended."""

    state: State
    steps: int
    """How many were taken."""
    is_converged: bool
    """Whether the descent ended before its steps were used up."""
    by_weight: State
    """The state before what was nearly met was met exactly."""
    of_targets: State | None = None
    """Where the descent without rotations and poles has ended (``to_meet``), of this frame or one before."""


class ExactGoals(NamedTuple):
    """What is met exactly after a descent by weight."""

    stack: TaskStack
    """The first level, and below it the tasks that are met, or a share of their residuals."""
    most: float
    """Largest change of a coordinate on the way there."""
    of_targets: State | None
    """Where the descent without rotations and poles has ended; None where there was none."""


def descend_by_weight(
    stack: TaskStack,
    start: State,
    reference: State,
    steps: int,
    firmness: Firmness = OF_BODY,
    begins: Beginning = Beginning.FAR,
    of_targets: State | None = None,
) -> Descended:
    """Bring a pose to the least cost of the tasks and the distance from a reference pose.

    Args:
        stack: tasks by level, and a tree with posture weights.
        start: coordinates and shifts to start from, within limits.
        reference: coordinates and shifts that the posture task stays near to.
        steps: at most, in each descent.
        firmness: weights and forces of the levels.
        begins: how far from the solution the pose to start from is. Where it is ``FAR``, a descent with
            ``Firmness.from_far`` comes first, unless ``FEW_STEPS`` lead from the reference pose to a solution up to
            ``SHORT_STEP`` away. From another start few steps lead to the minimum beside it, which may be a worse one.
        of_targets: ``Descended.of_targets`` of the frame or move before.
    """
    before = 0
    if begins is Beginning.FAR and firmness.from_far is not None:
        if start is reference:
            ended = least_cost(stack, start, reference, FEW_STEPS, firmness, Beginning.NEAR)
            if ended[2] and np.abs(stack.to_reference(start, ended[0])).max(initial=0.0) <= SHORT_STEP:
                return met_exactly(stack, ended, firmness, reference, of_targets)
            before = ended[1]
        start, more, _ = least_cost(stack, start, reference, steps, firmness.from_far)
        before, begins = before + more, Beginning.NEAR
    state, taken, is_converged = least_cost(stack, start, reference, steps, firmness, begins)
    return met_exactly(stack, (state, before + taken, is_converged), firmness, reference, of_targets)


def met_exactly(
    stack: TaskStack,
    ended: tuple[State, int, bool],
    firmness: Firmness,
    reference: State,
    of_targets: State | None,
    known: tuple[ExactGoals, State | None] | None = None,
) -> Descended:
    """Meet exactly what is nearly met where ``least_cost`` has ended.

    Where a target is away (``are_away``) before or after that, descend once more without rotations and poles, and meet
    the targets alone.

    Args:
        ended: state, steps and whether the descent has converged, of ``least_cost`` or ``descend_held``.
        firmness: weights and forces of the levels.
        reference: of the posture task.
        of_targets: ``Descended.of_targets`` of the frame or move before, from which the second descent starts.
        known: what is met exactly, and the state in which it is, or None where that isn't known.
    """
    state, taken, is_converged = ended
    goals, found = known or (None, None)
    if goals is None and not are_away(stack, state, firmness):
        goals = to_meet(stack, state, firmness, None)
    if goals is not None and found is None:
        found = _met(stack, state, firmness, goals)
    if goals is None or found is None or (goals.of_targets is None and are_away(stack, state, firmness, found)):
        nearer, more, _ = of_targets_alone(stack, of_targets or state, reference, firmness)
        goals = to_meet(stack, state, firmness, nearer)
        found = _met(stack, state, firmness, goals)
        taken += more
    of_targets = goals.of_targets or of_targets
    return Descended(with_first_level_met(stack, found), taken, is_converged, state, of_targets)


def _met(stack: TaskStack, state: State, firmness: Firmness, goals: ExactGoals) -> State:
    """Return the state near another one in which goals are met.

    Near the end of its reach a chain is brought to its target slowly: what ``meet_all`` doesn't meet may be met by
    more steps. Beside bounded forces of the first level that isn't tried: poses of trees without pins would jump where
    it fails. Where that fails, too, the state is that after the damped steps of ``meet_all``; where targets are brought
    to where they are without rotations and poles, that after the further steps. With strict firmness it is the one
    before where ``meet_all`` doesn't meet the goals: poses would jump where more steps do.
    """
    exact, are_met = meet_all(goals.stack, state, firmness.is_strict)
    if not are_met and firmness.is_strict:
        return state
    if not are_met and not math.isfinite(firmness.most_forces[0]):
        held = _held(goals.stack, state)
        if goals.of_targets is not None or np.linalg.norm(goals.stack.residual(held)) <= NEARLY_EXACT:
            exact = held
    return within_change(stack, state, exact, goals.most)


def _held(stack: TaskStack, state: State) -> State:
    """Return the state to which ``EXACT_STEPS`` at most, toward all tasks alike, lead: they may not all be met."""
    together = stack.with_levels([[task for level in stack.levels for task in level]])
    return descend_held(together, state, None, EXACT_STEPS).state


def within_change(stack: TaskStack, state: State, other: State, most: float) -> State:
    """Return another state, or where a coordinate changes by more than ``most`` to there, a share of the way to it.

    A share of the coordinates' way, not of the residual: near full extension the way grows as the root of the residual,
    and with a share of the residual a spine rotated by 11.5 degrees where 1.7 were allowed.
    """
    way = stack.to_reference(state, other)
    largest = float(np.abs(way).max(initial=0.0))
    return stack.applied(state, most / largest * way) if largest > most else other


def are_away(stack: TaskStack, state: State, firmness: Firmness, met: State | None = None) -> bool:
    """Tell whether targets are farther than ``most_away``, but nearer than ``FAR_AWAY``: rotations may keep them away.

    Args:
        stack: of chains: pins, targets, rotations and poles.
        state: where the descent has ended.
        firmness: says how far targets may be away.
        met: the state with what is nearly met met exactly, where it is known.
    """
    longest = max(_target_lengths(stack, state), default=0.0)
    if firmness.most_away == math.inf or longest >= FAR_AWAY:
        return False
    if met is None:
        return (1.0 - _share_met(longest, firmness.nearly_met)) * longest > firmness.most_away
    return max(_target_lengths(stack, met), default=0.0) > firmness.most_away


def of_targets_alone(stack: TaskStack, start: State, reference: State, firmness: Firmness) -> tuple[State, Any, Any]:
    """Descend as ``least_cost`` does, without rotations and poles: where the targets can be (``to_meet``)."""
    alone = stack.with_levels(stack.levels[:-1])
    return least_cost(alone, start, reference, TREE_STEPS, firmness, Beginning.NEAR)


def to_meet(stack: TaskStack, state: State, firmness: Firmness, nearer: State | None) -> ExactGoals:
    """Return what is met exactly after a descent by weight: what is nearly met, or the targets alone.

    At a minimum by weight a rotation that a hand can't take as well keeps the hand from its target by the rotation's
    force over the target's w: by up to 0.015 of the height of Rigify's human, within reach. A second descent is without
    rotations and poles. Where it ends nearer to the targets, their joints are brought to where it has brought them, by
    the smallest change of the coordinates from the first minimum: so the pose is a continuous function of the targets
    as the two minima are, but for the change of ``most_exact`` or less that meets rotations where none is brought. From
    ``FAR_AWAY`` to ``AWAY``, and from ``NEARER`` to as near, they are brought by a part of that way. On 56 paths of a
    hand (those of bench row "body-path" that are within reach, with poles and with rotations that hands can't take)
    targets are at most 1e-4 of the height farther away than without these, on two 4e-4.

    Descended again by weight, with the targets firm, the rotations ended nearer, in 15 to 45 ms instead of 1.

    Args:
        stack: of chains: pins, targets, rotations and poles.
        state: where the descent with all tasks has ended.
        firmness: weights and forces of the levels.
        nearer: where the second descent has ended; None without one.
    """
    share = 0.0
    if nearer is not None:
        here, there = (_target_lengths(stack, one) for one in (state, nearer))
        share = _smooth_step(max(here), FAR_AWAY, AWAY) * _smooth_step(
            math.hypot(*there) / math.hypot(*here), 1.0, NEARER
        )
    if nearer is None or share == 0.0:
        return ExactGoals(nearly_met(stack, state, firmness), firmness.most_exact, nearer)
    goals: list[tuple[Task, Component]] = []
    for task, weight in _target_tasks(stack):
        first, second = (
            np.array(task.partly(one.placed, _share_met(max(lengths), firmness.nearly_met)).target)
            for one, lengths in ((state, here), (nearer, there))
        )
        x, y, z = (first + share * (second - first)).tolist()
        goals.append((PositionTask(task.joint, (x, y, z)), weight))
    most = firmness.most_exact + share * (LONGEST - firmness.most_exact)
    return ExactGoals(stack.with_levels([stack.levels[0], goals]), most, nearer)


def _target_tasks(stack: TaskStack) -> list[tuple[PositionTask, Component]]:
    """Return the tasks, with their weights, of targets that a lower level of rotations and poles may keep away."""
    if len(stack.levels) < 3:
        return []
    return [(task, weight) for task, weight in stack.levels[1] if isinstance(task, PositionTask)]


def _target_lengths(stack: TaskStack, state: State) -> list[float]:
    """Return how far those targets are."""
    return [math.hypot(*task.residual(state.placed)) for task, _ in _target_tasks(stack)]


def _smooth_step(value: float, low: float, high: float) -> float:
    """Return 0 at ``low``, 1 at ``high``, and ``t^2 (3 - 2 t)`` in between, t the share of the way."""
    t = min(1.0, max(0.0, (value - low) / (high - low)))
    return t * t * (3.0 - 2.0 * t)


def with_first_level_met(stack: TaskStack, state: State) -> State:
    """Return a state near another one in which the first level is met to ``EXACT``, and the floor task if it can be."""
    for held in (stack.first_level_and_floor, stack.first_level):
        if np.linalg.norm(held.residual(state)) <= EXACT:
            break
        state = _held(held, state)
    return state


def costs_of(stack: TaskStack, state: State, reference: State) -> tuple[float, float]:
    """Return the loss of a body's tasks in a state, and the whole cost, that of the posture task among it."""
    there = cost_at(stack, loss_of(stack, OF_BODY), state, reference)
    return float(there.of_tasks), float(there.cost)


def least_cost(
    stack: TaskStack,
    start: State,
    reference: State,
    steps: int,
    firmness: Firmness = OF_BODY,
    begins: Beginning = Beginning.FAR,
) -> tuple[State, Any, Any]:
    """Descend as ``descend_by_weight`` does in its last descent.

    The poses of a batch descend side by side, each with a damping of its own, until all have converged.
    The last step, by which no coordinate changes by more than ``CONVERGED``, is taken without another evaluation: on
    closed paths of a hand, dragged once each way, bones were 0.08 degrees apart without it, 0.02 with it. So is one up
    to ``SETTLED`` of poses of a batch that have ended before others: of 100 frames one was 0.15 degrees off without it.
    A move ends after a step d whose gain is that of the model but for a share e, too, where ``e |d|`` counts as no
    change: along d the step after it would be e d. Without that it takes one more evaluation of J.

    Returns:
        the last state, how many steps were taken, and whether the descent ended before its steps were used up: a number
        and a bool of one pose, arrays (F,) of many.
    """
    ops, loss = stack.ops, loss_of(stack, firmness)
    has_poles = bool(stack.poles)
    is_move, least_raised = begins is Beginning.MOVE, RAISED_LAMBDA if begins is Beginning.FAR else RAISED_IN_MOVE
    here = cost_at(stack, loss, start, reference)
    is_done: Condition = here.cost < 0.0
    firsts = FIRST_LAMBDA, 2.0, 0, 1.0
    damping, growth, taken, share = (ops.where(is_done, first, first) for first in firsts)
    less = damping
    active = np.zeros((*stack.batch, 2, here.toward.shape[-1]), bool)
    model = modelled(stack, here)
    # Where the forces of the first level are bounded others are beyond reach: without K in the first step the chain
    # that is stretched to its target rotates too far. A Y with one target beyond reach took 5.9 ms instead of 3.4, a
    # hand 8.7 instead of 5.8 (medians of 100).
    step = None if math.isfinite(firmness.most_forces[0]) else newton_step(stack, model, damping, active)
    if step is None or np.abs(step[0]).max(initial=0.0) > SHORT_STEP:
        back = pseudo_inverse(model.jacobian[..., stack.spans[0], :], stack.inverse_posture_weights, 1e-6)
        forces = forces_at(stack, model, back, here.residual, is_done & False)
        model, step = with_forces(stack, loss, model, forces), None
    before = np.zeros(here.toward.shape)
    for _ in range(steps):
        if step is None:
            damping, step = damped_step(stack, model, damping, active)
        is_gain: Condition = is_done & False
        if step is not None:
            (change, back, active, is_optimal), step = step, None
            largest = (1.0 + damping) * np.abs(change).max(-1, initial=0.0)
            is_done = is_done | (is_optimal & (largest <= CONVERGED))
            if has_poles:
                share, before = share_of_step(ops, change, before, share), change
                change = (change.T * share).T
            if ops.all(is_done):
                last = (change.T * ops.where(largest <= SETTLED, 1.0, 0.0)).T
                here = here._replace(state=stack.applied(here.state, last))
                break
            change = (change.T * ops.minimum(1.0, LONGEST / (np.sqrt((change * change).sum(-1)) + TINY))).T
            left = model.left(change)
            trial = stack.applied(here.state, change)
            trial, residual = _on_first_level(stack, trial, back, left[..., stack.spans[0]], firmness.balancing)
            there = cost_at(stack, loss, trial, reference, residual)
            is_gain = (there.cost < here.cost) & ops.negate(is_done)
            less_cost = ops.maximum(here.cost - there.cost, 0.0)
            ratio = ops.minimum(less_cost / ops.maximum(model.gain(stack, change, left), 1e-300), 1.5)
            less = ops.maximum(damping * ops.maximum(0.1, 1.0 - (2.0 * ratio - 1.0) ** 3), LEAST_LAMBDA)
            if ops.any(is_gain):
                predicted = loss.of(left)[1] * left
                if not ops.all(is_gain):
                    residual = np.where(np.asarray(is_gain)[..., None], residual, here.residual)
                    there = cost_at(stack, loss, trial.where(is_gain, here.state), reference, residual)
                here = there
                taken = ops.where(is_gain, taken + 1, taken)
                after = ops.maximum(ratio - 1.0, 1.0 - ratio) * largest
                is_near = model.is_whole & (largest <= SETTLED) & (after <= SETTLED_AFTER)
                is_done = is_done | (is_gain & is_optimal & (is_near | (after <= CONVERGED) & is_move))
                if ops.all(is_done):
                    break
                model, is_short = modelled(stack, here), np.abs(change).max(-1, initial=0.0) <= SHORT_STEP
                forces = forces_at(stack, model, back, predicted, is_gain & is_short)
                model = with_forces(stack, loss, model, forces)
        raised = ops.where(is_done, damping, ops.maximum(damping, least_raised) * growth)
        damping, growth = ops.where(is_gain, less, raised), ops.where(is_gain, 2.0, 2.0 * growth)
        if not ops.all(is_gain):
            active = active & np.asarray(is_gain)[..., None, None]
        is_done = is_done | (damping > MOST_LAMBDA)
        if ops.all(is_done):
            break
    return here.state, taken, is_done


def share_of_step(ops: Operations, step: Array, before: Array, share: Component) -> Component:
    """Return the share, at most 1, of a step that is taken where there are poles, whose second derivatives K lacks.

    ``omega / (1 - s.s_0 / s_0.s_0)`` with the step s, the one before it s_0 and that one's share omega: Aitken's
    relaxation, with the secant along s_0 (after Irons and Tuck 1969). On a path of a hand across the body, with poles
    and without limits, steps alternated: a move took 12 ms (95th percentile), with this 7.

    Args:
        ops: on the components of one pose or of many.
        step: (..., N + S).
        before: (..., N + S) 0 before the first step.
        share: of the step before.
    """
    ratio = (step * before).sum(-1) / ((before * before).sum(-1) + TINY)
    found = share / ops.maximum(1.0 - ratio, TINY)
    return ops.where(found < MOST_SHARE, found, 1.0)


def meet_all(stack: TaskStack, start: State, is_strict: bool = False) -> tuple[State, Condition]:
    """Return the state near another one in which all tasks are met, and whether they are, to ``NEARLY_EXACT``.

    Steps ``W J^T (J W J^T + lambda)^-1 r``, every second one with the J of the step before it, and lambda in proportion
    to the residual (``MEETING_DAMPING``): the nearest state in the metric W^-1 but for the curvature of the tasks.

    Args:
        stack: what is met.
        start: near which.
        is_strict: whether lambda is that of met tasks in all steps: then all is met, or the state isn't taken.
    """
    state, residual = start, stack.residual(start)
    for number in range(MEETING_STEPS):
        if number % 2 == 0:
            off = np.sqrt((residual * residual).sum(-1)) / max(1, residual.shape[-1])
            damping = LEAST_MEETING_DAMPING + (0.0 if is_strict else MEETING_DAMPING) * off
            back = _inverse_within_bounds(stack, state, residual, damping)
        state = stack.applied(state, (back @ residual[..., None])[..., 0])
        residual = stack.residual(state)
        squares = (residual * residual).sum(-1)
        if stack.ops.all(squares <= EXACT**2):
            break
    return state, squares <= NEARLY_EXACT**2


def _inverse_within_bounds(stack: TaskStack, state: State, residual: Array, damping: Component) -> Array:
    """Return the pseudo-inverse (..., N + S, M) of J over the coordinates that no step takes out of their limits.

    A swing near its ellipse has its coordinates along normal and tangent, as in ``newton_step``.
    """
    down, up, swings = bounds_of(stack, state)
    rows, weights = swings.from_axes(stack.jacobian(state)), stack.weights + np.zeros((*stack.batch, 1))
    for _ in range(ROUNDS):
        back = pseudo_inverse(rows, weights, damping)
        change = (back @ residual[..., None])[..., 0]
        is_out = (change > up) | (change < down)
        if not is_out.any():
            break
        weights = np.where(is_out, 0.0, weights)
    return swings.to_axes(back.swapaxes(-1, -2)).swapaxes(-1, -2)


def nearly_met(stack: TaskStack, state: State, firmness: Firmness) -> TaskStack:
    """Return the first level, and below it the tasks whose targets are brought some share of the way to them.

    Args:
        state: from where the way is measured.
        firmness: says what is nearly met (``_share_met``).
    """
    levels: list[list[tuple[Task, Component]]] = [list(stack.levels[0])]
    for level in stack.levels[1:]:
        shares = [
            (task, weight, _share_met(math.hypot(*task.residual(state.placed)), firmness.nearly_met))
            for task, weight in level
            if not isinstance(task, (PoleTask, SwivelTask, BalanceTask))
        ]
        are_together = (share for task, _, share in shares if isinstance(task, PositionTask))
        of_all = 1.0 if firmness.is_met_alone else min(are_together, default=1.0)
        # Exact steps weigh all coordinates alike: with the rest of a look at a point beyond the limits of neck and
        # chest they turned the hips by 7 degrees of 10.
        levels.append(
            [
                (task.partly(state.placed, 0.0 if isinstance(task, LookAtTask) else min(share, of_all)), weight)
                for task, weight, share in shares
            ]
        )
    return stack.with_levels(levels)


def _share_met(error: float, nearly_met: float) -> float:
    """Return the share of a residual that is met exactly at the end, by its length r, in the tree's units.

    All of it up to a = ``nearly_met``, and beyond a length of ``a / (1 + (e / c)^2) + e / (1 + (e / b)^2)`` with
    e = r - a, b = ``NEAR`` a and c = ``BESIDE`` a, none from ``FAR_FROM_MET`` a on: at the end of its reach a body
    gains the last millimetres by large rotations, and would jump to them where a target comes into reach. Where that
    length falls, it falls by less than a fifth of the target's motion: with a share that fell to 0 within 0.02 units
    the hand went back while its target went on.
    """
    if error <= nearly_met:
        return 1.0
    if error >= FAR_FROM_MET * nearly_met:
        return 0.0
    beyond = error / nearly_met - 1.0
    return nearly_met * (1.0 / (1.0 + (beyond / BESIDE) ** 2) + beyond / (1.0 + (beyond / NEAR) ** 2)) / error


def _on_first_level(
    stack: TaskStack, state: State, back: Array, modelled: Array, balancing: float
) -> tuple[State, Array]:
    """Return a state whose residual of the first level differs from that of the model by at most ``CORRECTED``.

    This takes back what the model's step has missed, to second order (Nocedal and Wright 2006, section 18.3), in
    ``CORRECTIONS`` steps at most; a step after which the difference is not less is not taken. Brought to 0 instead of
    the modelled residual, which balances the forces of the other tasks, states near the minimum cost more than those
    before them: a hand led just out of reach with all other ends held took 40 ms, and ended 0.5 degrees apart on the
    way out and on the way back.

    Args:
        state: near the first level.
        back: (..., N + S, M1) pseudo-inverse of the first level's rows.
        modelled: (..., M1) the first level's residual after the step in its model.
        balancing: length of the modelled residual up to which it balances the other forces.

    Returns:
        the state, and the residuals of all levels.
    """
    first, ops = stack.first_level, stack.ops
    is_balancing = (modelled * modelled).sum(-1) <= balancing**2
    modelled = np.asarray(ops.where(is_balancing, modelled.T, 0.0 * modelled.T)).T
    residual = first.residual(state)
    off = residual - modelled
    error = (off * off).sum(-1)
    for _ in range(CORRECTIONS):
        is_off = error > CORRECTED**2
        if not ops.any(is_off):
            break
        corrected = stack.applied(state, (back @ off[..., None])[..., 0])
        left = first.residual(corrected)
        off_after = left - modelled
        error_after = (off_after * off_after).sum(-1)
        is_nearer = is_off & (error_after < error)
        if not ops.any(is_nearer):
            break
        state, error = corrected.where(is_nearer, state), ops.where(is_nearer, error_after, error)
        residual = np.asarray(ops.where(is_nearer, left.T, residual.T)).T
        off = residual - modelled
    return state, np.concatenate([residual, stack.below_first_level.residual(state)], axis=-1)
