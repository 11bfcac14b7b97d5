# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tasks of a body, and those of chains with pins: weighed against each other, within a largest rotation.

A drag has one start; a press of Solve of a body whose tasks cost more than ``UNMET_COST`` is solved from others, too
(``optimise.body_starts``).
"""

from __future__ import annotations

import math

from ..math.quaternion_arrays import angle_between
from ..optimise.body_starts import other_starts
from ..optimise.exact_steps import with_first_level_met
from ..optimise.held_descent import TREE_STEPS
from ..optimise.task_loss import OF_BODY, OF_CHAINS, OF_FIXED_CHAINS, Firmness
from ..optimise.task_stack import TaskStack
from ..optimise.tasks import State
from ..optimise.tree_problem import TreeProblem
from ..optimise.weighted_descent import Beginning
from ..optimise.weighted_solution import Descended, costs_of, descend_by_weight
from ..problem import Options
from .solution import AS_GOOD, TreeSolution, state_of_previous, turned_where_known

MOVE_STEPS = 12
"""Steps at most of a move of a body, within a largest rotation, whose next move goes on from there, and of the way back
to pins that don't hold. With as few a chest that was turned by 18 degrees at once, with balance, ended 8 degrees off.

Chains take up to ``TREE_STEPS``: with 12 a closed path of a hand opened by 41 degrees instead of 1.7."""

BALANCED_STEPS = 6
"""``MOVE_STEPS`` of a body with balance, whose descent has no second derivatives (``TaskStack.curvature``) while the
center of mass is near the edge of its region, and converges slowly. With 8 two of 200 drags had a move with more than 3
times the median move's largest rotation, with 6 none; hips that were led low (nine drags) came behind by up to 0.065 of
the height instead of 0.018."""

UNMET_COST = 10.0
"""Cost of a body's tasks, without the posture task, from which on another start is tried. It is exceeded in 37 of 180
captured poses whose six handles have rotations; with 1 in 45, to the same poses, with 100 three of these poses ended in
a worse minimum (bench row "body-reconstruction")."""

NEARLY_BEYOND, BEYOND = 2.5e-3, 8e-3
"""Distances of a solution by weight from a target, in the tree's units: up to the first ``Options.most_turn``
holds, from the second on ``Options.most_turn_beyond``, and a bound in between them otherwise. At those distances the
target pulls with 0.45 and 0.85 of its largest force (``task_loss.OF_BODY``).

With the distance that is left after what is nearly met was met exactly, and 0 and 0.01, the bound began only where a
hand was out of reach: 5 of 27 drags had a move with more than 3 times the median move's largest rotation, with these
none."""


def solved_by_weight(problem: TreeProblem, begin: State, options: Options, previous: TreeSolution | None) -> Descended:
    """Return the pose of least cost of the tasks and the posture task, weighed against each other.

    Its state is the one within the bounds of the largest rotation.
    """
    stack = problem.stack()
    reference = problem.bent_to_poles(begin)
    is_body, firmness = problem.goals.priorities is not None, firmness_of(problem)
    first = reference if previous is None else state_of_previous(problem, previous)
    if previous is None and is_body:
        found = _from_starts(problem, stack, reference, options)
    else:
        most = TREE_STEPS if not options.is_move else MOVE_STEPS if problem.balance is None else BALANCED_STEPS
        start = first
        if previous is not None and (options.continues or not is_body):
            start = turned_where_known(problem, previous.by_weight) or first
        of_targets = None if previous is None else turned_where_known(problem, previous.of_targets)
        begins = Beginning.MOVE if options.is_move else Beginning.FAR if previous is None else Beginning.NEAR
        found = descend_by_weight(stack, start, reference, most, firmness, begins, of_targets)
    most_turn = _most_turn(problem, found.by_weight, options)
    return found._replace(state=_within_turn(stack, first, found.state, most_turn))


def firmness_of(problem: TreeProblem) -> Firmness:
    """Return how firmly the tasks of a body, or of chains, are held against the posture task."""
    if problem.goals.priorities is not None:
        return OF_BODY
    return OF_CHAINS if problem.moves_root else OF_FIXED_CHAINS


def _from_starts(problem: TreeProblem, stack: TaskStack, reference: State, options: Options) -> Descended:
    """Return what ``solved_by_weight`` does for a body: from the reference pose, and from others while it is unmet.

    A drag has one start, and a bound on the largest rotation: its first move is short, and leads to no other minimum.
    """
    found = descend_by_weight(stack, reference, reference, TREE_STEPS)
    if math.isfinite(options.most_turn):
        return found
    tasks, cost = costs_of(stack, found.state, reference)
    used = found.steps
    for start in other_starts(problem, reference):
        if tasks <= UNMET_COST:
            break
        another = descend_by_weight(stack, start, reference, TREE_STEPS)
        used += another.steps
        unmet, costs = costs_of(stack, another.state, reference)
        if costs < AS_GOOD * cost:
            found, tasks, cost = another, unmet, costs
    return found._replace(steps=used)


def _most_turn(problem: TreeProblem, by_weight: State, options: Options) -> float:
    """Return the largest rotation (radians) of a bone on the way to a solution, less where a target is hardly reached.

    Args:
        problem: of a body; without balance the bound is the same everywhere.
        by_weight: the solution before what is nearly met is met exactly.
        options: both bounds.
    """
    missed = problem.farthest(by_weight)
    if problem.balance is None or options.most_turn_beyond >= options.most_turn:
        return options.most_turn
    share = min(1.0, max(0.0, (missed - NEARLY_BEYOND) / (BEYOND - NEARLY_BEYOND)))
    return options.most_turn + share * (options.most_turn_beyond - options.most_turn)


def _within_turn(stack: TaskStack, begin: State, found: State, most: float) -> State:
    """Return the state, or where a bone rotates by more than ``most`` (radians) on the way to it, one that is nearer.

    The nearer state is the same share of each coordinate's way, with the first level met again. Near full extension the
    middle joint of a limb rotates by 1 / sin(bend) times what the target moves.
    """
    if not math.isfinite(most):
        return found
    largest = float(angle_between(begin.placed.quaternions, found.placed.quaternions).max())
    if largest <= most:
        return found
    nearer = stack.applied(begin, (most / largest) * stack.to_reference(begin, found))
    return with_first_level_met(stack, nearer)
