# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pose of least cost of tasks by weight, in which what is nearly met is met exactly.

1. A descent by weight (``weighted_descent``) leaves of each task's residual what the task's force needs: f / w near the
   target, more as f comes near its bound F.
2. Residuals of positions, rotations and points at the floor that are short by then (``Firmness.nearly_met``) are
   brought to 0 by short steps, longer ones are shortened by a share that falls with their length (``exact_goals``), so
   that the pose stays a continuous function of the targets (``exact_steps``). Looks keep the residuals that they have;
   poles, preferences and balance are left out of these steps.
3. Chains with pins and a root that moves: where targets are within reach, and rotations and poles keep them away by
   more than ``Firmness.most_away``, a second descent is without rotations, poles and preferences, and the steps of 2
   bring the targets to where that descent has brought them (``exact_goals.to_meet``).
4. The first level, pins and planted feet, is met to ``EXACT_ENOUGH`` (``with_first_level_met``).
"""

import math

import numpy as np

from ..model.tree_state import State
from ..tasks.balance_task import BalanceTask
from ..tasks.task_loss import OF_BODY, Firmness
from ..tasks.task_stack import TaskStack
from .exact_goals import ExactGoals, are_away, is_worth_the_way, rotations_worth, to_meet, without_rotations
from .exact_steps import NEARLY_EXACT, meet_all, meet_slowly, with_first_level_met, within_change
from .held_descent import TREE_STEPS, Ended
from .weighted_descent import FAR, NEAR, Beginning, least_cost

SHORT_STEP = 0.2
"""Largest difference of a coordinate from the reference pose, in radians or the tree's units, that ``FEW_STEPS`` may
lead to: what their models lack is quadratic in it."""

FEW_STEPS = 8
"""Trials in which a descent that is said to begin far from a solution may converge near its beginning: in a press of
Solve where a target has moved a little. Without them the core took 3.2 ms instead of 2.2 (bench row "body-path"). They
end with the first one that leads farther than ``SHORT_STEP``: with all of them seeded paths of Rigify's human took 17.1
steps from rest instead of 13.5."""

SLOWLY_MET = 0.3
"""Share of the residual that ``meet_all`` may leave, up to which more steps are tried (``_met``). On paths of Rigify's
human (bench rows "body-path" and "body-paths") 137 of 583 tries met the goals, after a share of at most 0.23, the
others after 0.26 and more; with all of them a hand led low took 16 ms (95th percentile) instead of 9."""


def descend_by_weight(
    stack: TaskStack,
    start: State,
    reference: State,
    steps: int,
    firmness: Firmness = OF_BODY,
    begins: Beginning = FAR,
    of_targets: State | None = None,
) -> Ended:
    """Bring a pose to the least cost of the tasks and the distance from a reference pose.

    Args:
        steps: trials at most of the descents with all tasks.
        begins: what is known of the pose to start from. Where that is near no solution, a descent with
            ``Firmness.from_far`` comes first, unless ``FEW_STEPS`` lead from the reference pose to a solution up to
            ``SHORT_STEP`` away. From another start few steps lead to the minimum beside it, which may be a worse one.
        of_targets: ``Ended.of_targets`` of the frame or move before.
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
) -> Ended:
    """Meet exactly what is nearly met where ``least_cost`` has ended.

    Where a target is away (``are_away``) before or after that, descend once more without rotations and poles, and meet
    the targets alone.

    Args:
        of_targets: ``Ended.of_targets`` of the frame or move before, from which the second descent starts.
        known: what is met exactly, and the state in which it is, or None where that isn't known.
    """
    state, taken, *_ = ended
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
    exact = with_first_level_met(stack, found)
    return ended._replace(state=exact, steps=taken, by_weight=state, of_targets=goals.of_targets or of_targets)


def _met(stack: TaskStack, state: State, firmness: Firmness, goals: ExactGoals) -> State:
    """Return the state near another one in which goals are met.

    Near the end of its reach a chain is brought to its target slowly: what ``meet_all`` doesn't meet may be met by
    more steps, unless it leaves more than ``SLOWLY_MET`` of the residual, and there has been no second descent. Beside
    bounded forces of the first level that isn't tried: poses of trees without pins would jump where it fails. If both
    fail, the state is that of ``meet_all``; after a second descent, without rotations and poles, it is that of
    ``meet_slowly``. With strict firmness it is the state before where ``meet_all`` doesn't meet the goals: poses would
    jump where more steps do.

    Where the way is longer than the rotations are worth, it is that of the other goals alone, and from there as much as
    the rotations are worth.

    Where the way there is longer than ``ExactGoals.most``, and a share of it is taken, the targets of a body are met
    from there without the last level, with the balance task in its place, if all of them can be
    (``Firmness.brings_targets``).
    """
    exact, are_met = meet_all(goals.stack, state, firmness.is_strict, firmness.ends_early)
    if not is_worth_the_way(goals, state, exact):
        fewer = without_rotations(goals)
        without, are_others_met = meet_all(fewer.stack, state, firmness.is_strict, firmness.ends_early)
        if are_met or not firmness.is_strict:
            exact = within_change(stack, without, exact, rotations_worth(goals, state))
        else:
            exact, are_met, goals = without, are_others_met, fewer
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


def of_targets_alone(stack: TaskStack, start: State, reference: State, firmness: Firmness) -> Ended:
    """Descend as ``least_cost`` does, without rotations, poles and preferences: where targets can be (``to_meet``)."""
    alone = stack.with_levels(stack.levels[:-1])
    return least_cost(alone, start, reference, TREE_STEPS, firmness, NEAR)
