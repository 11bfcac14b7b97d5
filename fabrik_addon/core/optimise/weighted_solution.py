# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pose of least cost of tasks by weight, in which what is nearly met is met exactly.

1. A descent by weight (``weighted_descent``) leaves of each task's residual what the task's force needs: f / w near the
   target, more as f comes near its bound F.
2. Residuals of positions, rotations and points at the floor that are short by then (``Firmness.nearly_met``) are
   brought to 0 by short steps, longer ones are shortened by a share that falls with their length (``_share_met``), so
   that the pose stays a continuous function of the targets (``exact_steps``). Looks keep the residuals that they have;
   poles, swivels and balance are left out of these steps.
3. Chains with pins and a root that moves: where targets are within reach, and rotations and poles keep them away by
   more than ``Firmness.most_away``, a second descent is without rotations and poles, and the steps of 2 bring the
   targets to where that descent has brought them (``to_meet``).
4. The first level, pins and planted feet, is met to ``EXACT_ENOUGH`` (``with_first_level_met``).
"""

import math
from typing import NamedTuple

import numpy as np

from ..math.operations import Array, Component
from .balance_task import BalanceTask
from .cost_model import cost_at
from .exact_steps import NEARLY_EXACT, meet_all, meet_slowly, with_first_level_met, within_change
from .held_descent import LONGEST, TREE_STEPS, Ended
from .look_at_task import LookAtTask
from .pole_task import PoleTask
from .swivel_task import SwivelTask
from .task_loss import OF_BODY, Firmness, loss_of
from .task_stack import TaskStack
from .tasks import PositionTask, State, Task
from .weighted_descent import FAR, NEAR, Beginning, least_cost

SHORT_STEP = 0.2
"""Largest change of a coordinate, in radians or the tree's units, that counts as short: what a model lacks is quadratic
in the change."""

FEW_STEPS = 8
"""Trials in which a descent that is said to begin far from a solution may converge near its beginning: in a press of
Solve where a target has moved a little. Without them the core took 3.2 ms instead of 2.2 (bench row "body-path"). They
end with the first one that leads farther than ``SHORT_STEP``: with all of them seeded paths of Rigify's human took 17.1
steps from rest instead of 13.5."""

SHARE_WIDTH, LENGTH_WIDTH = 4.0 / 3.0, 10.0
"""Lengths of a residual, over ``Firmness.nearly_met``, that say how much of it is met exactly (``_share_met``)."""

AWAY, FAR_AWAY = 0.035, 0.06
"""Lengths of a target's residual by weight, in the tree's units: up to the first rotations and poles keep no target
away, from the second on they do as by weight (``to_meet``). Rotations that hands of Rigify's human can't take
keep targets within reach away by up to 0.02 of its height, which is 0.03 units. Beyond reach chains are taut, and jump
where all are held: with the targets firm everywhere a foot rotated by 7.6 times the median step's rotation in one step
(bench row "body-paths"), with these by 2.7."""

SLOWLY_MET = 0.3
"""Share of the residual that ``meet_all`` may leave, up to which more steps are tried (``_met``). On paths of Rigify's
human (bench rows "body-path" and "body-paths") 137 of 583 tries met the goals, after a share of at most 0.23, the
others after 0.26 and more; with all of them a hand led low took 16 ms (95th percentile) instead of 9."""

NEARER = 0.9
"""Ratio of the residuals without rotations and poles to those with them, up to which ``to_meet`` takes all of
the difference away, and none where they are the same: rotations may also bring targets nearer, and the joints at equal
distances may be at different points."""


class Descended(NamedTuple):
    """Where a descent by weight has ended, or the pose at hand where nothing was solved."""

    state: State
    steps: int
    """How many were taken after a comparison of costs."""
    is_converged: bool
    """Whether the descent has ended by itself."""
    by_weight: State | None
    """Where the descent of the next frame starts: the state before what was nearly met was met exactly, which may be
    ``state``; None of the pose at hand."""
    of_targets: State | None = None
    """Where the descent without rotations and poles has ended (``to_meet``), of this frame or one before."""
    forces: Array | None = None
    """(M,) of the tasks where the descent has ended (``weighted_descent.Ended``)."""


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
    begins: Beginning = FAR,
    of_targets: State | None = None,
) -> Descended:
    """Bring a pose to the least cost of the tasks and the distance from a reference pose.

    Args:
        steps: trials at most of the descents with all tasks.
        begins: what is known of the pose to start from. Where that is near no solution, a descent with
            ``Firmness.from_far`` comes first, unless ``FEW_STEPS`` lead from the reference pose to a solution up to
            ``SHORT_STEP`` away. From another start few steps lead to the minimum beside it, which may be a worse one.
        of_targets: ``Descended.of_targets`` of the frame or move before.
    """
    before = 0
    if not begins.is_near and firmness.from_far is not None:
        if start is reference:
            ended = least_cost(stack, start, reference, FEW_STEPS, firmness, NEAR, SHORT_STEP)
            if ended.is_converged:
                return met_exactly(stack, ended, firmness, reference, of_targets)
            before = ended.steps
        start, more, *_ = least_cost(stack, start, reference, steps, firmness.from_far)
        before, begins = before + more, NEAR
    ended = least_cost(stack, start, reference, steps, firmness, begins)
    return met_exactly(stack, ended._replace(steps=before + ended.steps), firmness, reference, of_targets)


def met_exactly(
    stack: TaskStack,
    ended: Ended,
    firmness: Firmness,
    reference: State,
    of_targets: State | None,
    known: tuple[ExactGoals, State | None] | None = None,
) -> Descended:
    """Meet exactly what is nearly met where ``least_cost`` has ended.

    Where a target is away (``are_away``) before or after that, descend once more without rotations and poles, and meet
    the targets alone.

    Args:
        of_targets: ``Descended.of_targets`` of the frame or move before, from which the second descent starts.
        known: what is met exactly, and the state in which it is, or None where that isn't known.
    """
    state, taken, is_converged, forces, _ = ended
    goals, found = known or (None, None)
    if goals is None and not are_away(stack, state, firmness):
        goals = to_meet(stack, state, firmness, None)
    if goals is not None and found is None:
        found = _met(stack, state, firmness, goals)
    if goals is None or found is None or (goals.of_targets is None and are_away(stack, state, firmness, found)):
        nearer, more, *_ = of_targets_alone(stack, of_targets or state, reference, firmness)
        goals = to_meet(stack, state, firmness, nearer)
        found = _met(stack, state, firmness, goals)
        taken += more
    of_targets = goals.of_targets or of_targets
    return Descended(with_first_level_met(stack, found), taken, is_converged, state, of_targets, forces)


def _met(stack: TaskStack, state: State, firmness: Firmness, goals: ExactGoals) -> State:
    """Return the state near another one in which goals are met.

    Near the end of its reach a chain is brought to its target slowly: what ``meet_all`` doesn't meet may be met by
    more steps, unless it leaves more than ``SLOWLY_MET`` of the residual, and there has been no second descent. Beside
    bounded forces of the first level that isn't tried: poses of trees without pins would jump where it fails. If both
    fail, the state is that of ``meet_all``; after a second descent, without rotations and poles, it is that of
    ``meet_slowly``. With strict firmness it is the one before where ``meet_all`` doesn't meet the goals: poses would
    jump where more steps do.

    Where the way there is longer than ``ExactGoals.most``, and a share of it is taken, the targets of a body are met
    from there without the last level, with the balance task in its place, if all of them can be
    (``Firmness.brings_targets``).
    """
    exact, are_met = meet_all(goals.stack, state, firmness.is_strict, firmness.ends_early)
    if not are_met and firmness.is_strict:
        return state
    if not are_met and math.isinf(firmness.most_forces[0]):
        before, left = (np.linalg.norm(goals.stack.residual(one)) for one in (state, exact))
        if goals.of_targets is not None or left <= SLOWLY_MET * before:
            slowly = meet_slowly(goals.stack, state)
            if goals.of_targets is not None or np.linalg.norm(goals.stack.residual(slowly)) <= NEARLY_EXACT:
                exact = slowly
    found = within_change(stack, state, exact, goals.most)
    if found is exact or not firmness.brings_targets:
        return found
    balance = [each for level in stack.levels for each in level if isinstance(each[0], BalanceTask)]
    nearer, are_met = meet_all(goals.stack.with_levels([*goals.stack.levels[:-1], balance]), found)
    return within_change(stack, found, nearer, goals.most) if are_met else found


def are_away(stack: TaskStack, state: State, firmness: Firmness, met: State | None = None) -> bool:
    """Tell whether targets are farther than ``most_away``, but nearer than ``FAR_AWAY``: rotations may keep them away.

    Args:
        stack: of chains: pins, targets, rotations and poles.
        met: the state after the exact steps; where it isn't known, the lengths are those that ``_share_met`` leaves.
    """
    if firmness.most_away == math.inf:
        return False
    longest = max(_target_lengths(stack, state), default=0.0)
    if longest >= FAR_AWAY:
        return False
    if met is None:
        return (1.0 - _share_met(longest, firmness)) * longest > firmness.most_away
    return max(_target_lengths(stack, met), default=0.0) > firmness.most_away


def of_targets_alone(stack: TaskStack, start: State, reference: State, firmness: Firmness) -> Ended:
    """Descend as ``least_cost`` does, without rotations and poles: where the targets can be (``to_meet``)."""
    alone = stack.with_levels(stack.levels[:-1])
    return least_cost(alone, start, reference, TREE_STEPS, firmness, NEAR)


def to_meet(stack: TaskStack, state: State, firmness: Firmness, nearer: State | None) -> ExactGoals:
    """Return what is met exactly after a descent by weight: what is nearly met, or the targets alone.

    Where a hand can't take its rotation within reach of its target, the minimum by weight is off the target by the
    force of the rotation over the w of the target: by up to 0.015 of the height of Rigify's human. Where the second
    descent, without rotations and poles, has ended nearer to the targets, the effectors are brought to the places that
    they have there, by the smallest change of the coordinates from the first minimum; rotations and poles aren't among
    the goals then. The pose is as continuous as both minima are. The effectors are brought by all of the way where the
    first minimum is up to ``AWAY`` from the targets and the second one at ``NEARER`` of its distance or less, by none
    where the first is ``FAR_AWAY`` or the second as far, by a smooth share in between. On 56 paths of a hand (bench row
    "body-path") targets are at most 4e-4 of the height farther away than without rotations and poles.

    Args:
        stack: of chains: pins, targets, rotations and poles.
        state: where the descent with all tasks has ended.
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
            np.array(task.partly(one.placed, _share_met(max(lengths), firmness)).target)
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


def _smooth_step(value: float, none: float, all_of_it: float) -> float:
    """Return 0 at ``none`` and before, 1 at ``all_of_it`` and after, ``t^2 (3 - 2 t)`` at a share t of the way."""
    t = min(1.0, max(0.0, (value - none) / (all_of_it - none)))
    return t * t * (3.0 - 2.0 * t)


def nearly_met(stack: TaskStack, state: State, firmness: Firmness) -> TaskStack:
    """Return the first level, and below it the tasks with targets at which a share of each residual is met."""
    levels: list[list[tuple[Task, Component]]] = [list(stack.levels[0])]
    for level in stack.levels[1:]:
        shares = [
            (task, weight, _share_met(math.hypot(*task.residual(state.placed)), firmness))
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


def _share_met(error: float, firmness: Firmness) -> float:
    """Return the share of a residual that is met exactly at the end, by its length r, in the tree's units.

    A residual up to a = ``nearly_met`` is met whole; of a longer one the length ``a / (1 + (e / c)^2) + e / (1 + (e /
    b)^2)`` with e = r - a, b = ``SHARE_WIDTH`` a and c = ``LENGTH_WIDTH`` a, times a smooth step to none at
    ``Firmness.far_from_met`` a: at the end of its reach a body gains the last millimetres by large rotations, and would
    jump to them where a target comes into reach. Where that length falls, it falls by less than a fifth of the target's
    motion: with a share that fell to 0 within 0.02 units the hand went back while its target went on. Without the
    smooth step the bones of a human rotated by ten times the median step's rotation at 50 a.
    """
    nearly_met, far = firmness.nearly_met, firmness.far_from_met * firmness.nearly_met
    if error <= nearly_met:
        return 1.0
    if error >= far:
        return 0.0
    beyond = error / nearly_met - 1.0
    fading = _smooth_step(error, far, nearly_met)
    length = 1.0 / (1.0 + (beyond / LENGTH_WIDTH) ** 2) + beyond / (1.0 + (beyond / SHARE_WIDTH) ** 2)
    return fading * length * nearly_met / error


def costs_of(stack: TaskStack, state: State, reference: State) -> tuple[float, float]:
    """Return the loss of a body's tasks in a state, and the whole cost, that of the posture task among it."""
    there = cost_at(stack, loss_of(stack, OF_BODY), state, reference)
    return float(there.of_tasks), float(there.cost)
