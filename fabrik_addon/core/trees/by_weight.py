# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tasks of a body, of chains with pins, and of one chain: weighed against each other.

A drag has one start; a press of Solve of a body whose tasks cost more than ``UNMET_COST`` is solved from others, too
(``body_starts``).
"""

import math

from ..model.tree_state import State
from ..optimise.cost_model import cost_at
from ..optimise.held_descent import TREE_STEPS, Ended
from ..optimise.weighted_descent import Beginning
from ..optimise.weighted_solution import descend_by_weight
from ..problem import Options
from ..tasks.task_loss import OF_BODY, OF_CHAINS, OF_FIXED_CHAINS, OF_ONE_CHAIN, Firmness, loss_of
from ..tasks.task_stack import TaskStack
from .body_starts import other_starts
from .pole_sides import bent_to_poles
from .solution import AS_GOOD, TreeSolution, state_before, state_of_previous, turned_where_known
from .tree_problem import TreeProblem

MOVE_STEPS = 12
"""Trials at most of a move of a body after the first one, whose next move goes on from there. With as few a chest that
was turned by 18 degrees at once, with balance, ended 8 degrees off.

Chains, of which ``Options.is_move`` is never said, take up to ``TREE_STEPS``: with 12 a closed path of a hand opened by
41 degrees instead of 1.7."""

BALANCED_STEPS = 6
"""``MOVE_STEPS`` of a body with balance. With 8 a move of a foot that is pressed into the floor took 17 ms (median)
instead of 14; a hand that is led low came behind by 0.016 of the height instead of 0.057."""

UNMET_COST = 10.0
"""Cost of a body's tasks, without the posture task, from which on another start is tried. It is exceeded in 37 of 180
captured poses whose six handles have rotations; with 1 in 45, to the same poses, with 100 three of these poses ended in
a worse minimum (bench row "body-reconstruction")."""


def solved_by_weight(problem: TreeProblem, begin: State, options: Options, previous: TreeSolution | None) -> Ended:
    """Return the pose of least cost of the tasks and the posture task, weighed against each other."""
    stack, reference = problem.stack(), bent_to_poles(problem, begin)
    is_body = problem.goals.priorities is not None
    if previous is None and is_body:
        return _from_starts(problem, stack, reference, options)
    most = TREE_STEPS if not options.is_move else MOVE_STEPS if problem.balance is None else BALANCED_STEPS
    start, of_targets, forces = reference, None, None
    if previous is not None:
        # In drags of bodies moves take as long with the forces, and a head beside a pinned hand came behind by 0.084 of
        # the height instead of 0.018 (bench row "body-pulling").
        forces = None if is_body else previous.forces
        of_targets = turned_where_known(problem, previous.of_targets)
        start = (state_before if options.continues or not is_body else state_of_previous)(problem, previous)
    firmness = firmness_of(problem)
    # A pose of one chain without forces isn't the solution of a frame before.
    is_near = previous is not None and (firmness is not OF_ONE_CHAIN or forces is not None)
    begins = Beginning(options.is_move or is_near, options.is_move, forces)
    return descend_by_weight(stack, start, reference, most, firmness, begins, of_targets)


def firmness_of(problem: TreeProblem) -> Firmness:
    """Return how firmly the tasks of a body, of one chain, or of chains with pins are held against the posture task."""
    if problem.goals.priorities is not None:
        return OF_BODY
    if problem.start.chain.is_plain and not any(problem.pinned):
        return OF_ONE_CHAIN
    return OF_CHAINS if problem.moves_root else OF_FIXED_CHAINS


def _from_starts(problem: TreeProblem, stack: TaskStack, reference: State, options: Options) -> Ended:
    """Return what ``solved_by_weight`` does for a body: from the reference pose, and from others while it is unmet.

    A drag has one start, and a bound on the largest rotation: its first move is short, and leads to no other minimum.
    """
    found = descend_by_weight(stack, reference, reference, TREE_STEPS)
    if math.isfinite(options.most_turn):
        return found
    tasks, cost = _costs_of(stack, found.state, reference)
    used = found.steps
    for start in other_starts(problem, reference):
        if tasks <= UNMET_COST:
            break
        another = descend_by_weight(stack, start, reference, TREE_STEPS)
        used += another.steps
        unmet, costs = _costs_of(stack, another.state, reference)
        if costs < AS_GOOD * cost:
            found, tasks, cost = another, unmet, costs
    return found._replace(steps=used)


def _costs_of(stack: TaskStack, state: State, reference: State) -> tuple[float, float]:
    """Return the loss of a body's tasks in a state, and the whole cost, that of the posture task among it."""
    there = cost_at(stack, loss_of(stack, OF_BODY), state, reference)
    return float(there.of_tasks), float(there.cost)
