# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What of the tasks is met exactly after a descent by weight: all that is nearly met, or the targets alone."""

import math
from typing import NamedTuple

import numpy as np

from ..math.operations import Component
from ..math.smooth_step import smooth_step
from ..model.tree_state import State
from ..tasks.balance_task import BalanceTask
from ..tasks.look_at_task import LookAtTask
from ..tasks.orientation_task import OrientationTask
from ..tasks.pole_task import PoleTask
from ..tasks.position_task import PositionTask
from ..tasks.swivel_task import SwivelTask
from ..tasks.task import Task
from ..tasks.task_loss import Firmness
from ..tasks.task_stack import TaskStack
from .exact_steps import largest_change
from .held_descent import LONGEST

SHARE_WIDTH, LENGTH_WIDTH = 4.0 / 3.0, 10.0
"""Lengths of a residual, over ``Firmness.nearly_met``, that say how much of it is met exactly (``_share_met``)."""

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

CHANGE_OVER_ROOT, CHANGE_OVER_ANGLE = 2.0, 20.0
"""Largest change of a coordinate that rotations are worth in the exact steps, over the root of the residual r of the
positions, in the tree's units, plus over that of the rotations: a chain near full extension gains r by bending by about
``sqrt(2 r)``. With 10 over the rotations' residual rotations that limits allow were left 0.105 degrees off in bakes.

Where limits hold the coordinates that a rotation needs, the others gain little by large changes: in a drag of a foot of
Rigify's human, which its limits keep from its rotation, thigh and shin rotated about the line from hip to ankle by 9
degrees and back in moves of 1.5 mm, for a residual of 4e-5. Of 48 drags of a foot and a hand within limits, with
rotation, 20 had a step with more than 3 times the median step's rotation, with this 14, most of these where the chain
is stretched straight."""


class ExactGoals(NamedTuple):
    """What is met exactly after a descent by weight."""

    stack: TaskStack
    """The first level, and below it the tasks that are met, or a share of their residuals."""
    most: float
    """Largest change of a coordinate on the way there."""
    of_targets: State | None
    """Where the descent without rotations and poles has ended; None where there was none."""


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
        share = smooth_step(max(here), FAR_AWAY, AWAY) * smooth_step(
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


def without_rotations(goals: ExactGoals) -> ExactGoals:
    """Return the goals without the rotations below the first level."""
    first, *lower = goals.stack.levels
    others = [[each for each in level if not isinstance(each[0], OrientationTask)] for level in lower]
    return goals._replace(stack=goals.stack.with_levels([first, *others]))


def is_worth_the_way(goals: ExactGoals, state: State, exact: State) -> bool:
    """Tell whether the way to an exact state is no longer than the rotations below the first level are worth, if any.

    Without such rotations every way is.
    """
    has_rotations = any(isinstance(task, OrientationTask) for level in goals.stack.levels[1:] for task, _ in level)
    return not has_rotations or largest_change(goals.stack, state, exact) <= rotations_worth(goals, state)


def rotations_worth(goals: ExactGoals, state: State) -> float:
    """Return the largest change of a coordinate from a state that its rotations are worth (``CHANGE_OVER_ROOT``)."""
    of_positions = of_rotations = 0.0
    for task in (task for level in goals.stack.levels for task, _ in level):
        squares = math.hypot(*task.residual(state.placed)) ** 2
        if isinstance(task, OrientationTask):
            of_rotations += squares
        else:
            of_positions += squares
    return CHANGE_OVER_ROOT * of_positions**0.25 + CHANGE_OVER_ANGLE * math.sqrt(of_rotations)


def _target_tasks(stack: TaskStack) -> list[tuple[PositionTask, Component]]:
    """Return the tasks, with their weights, of targets that a lower level of rotations and poles may keep away."""
    if len(stack.levels) < 3:
        return []
    return [(task, weight) for task, weight in stack.levels[1] if isinstance(task, PositionTask)]


def _target_lengths(stack: TaskStack, state: State) -> list[float]:
    """Return how far those targets are."""
    return [math.hypot(*task.residual(state.placed)) for task, _ in _target_tasks(stack)]


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
    fading = smooth_step(error, far, nearly_met)
    length = 1.0 / (1.0 + (beyond / LENGTH_WIDTH) ** 2) + beyond / (1.0 + (beyond / SHARE_WIDTH) ** 2)
    return fading * length * nearly_met / error
