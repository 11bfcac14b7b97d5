# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The bound of the largest rotation of a bone in a move of a drag or a frame of a bake (``Options.most_turn``)."""

import math

from ..math.quaternion_arrays import largest_angle
from ..model.tree_state import State
from ..optimise.exact_steps import with_first_level_met
from ..problem import Options
from .solution import TreeSolution, state_of_previous
from .tree_problem import TreeProblem

NEARLY_BEYOND, BEYOND = 2.5e-3, 8e-3
"""Distances of a solution by weight from a target, in the tree's units: up to the first ``Options.most_turn``
holds, from the second on ``Options.most_turn_beyond``, and a bound in between them otherwise. At those distances the
target pulls with 0.45 and 0.85 of its largest force (``task_loss.OF_BODY``).

With the distance that is left after what is nearly met was met exactly, and 0 and 0.01, the bound began only where a
hand was out of reach: 5 of 27 drags had a move with more than 3 times the median move's largest rotation, with these
none."""


def within_turn(
    problem: TreeProblem, previous: TreeSolution | None, found: State, by_weight: State, options: Options
) -> State:
    """Return the state, or where a bone rotates by more than the bound on the way to it, one that is nearer.

    The nearer state is the same share of each coordinate's way, with the first level met again. Near full extension the
    middle joint of a limb rotates by 1 / sin(bend) times what the target moves.

    Args:
        previous: the solution of the move before, from which bones rotate; None is the pose at hand.
        by_weight: the solution before what is nearly met is met exactly.
    """
    if not math.isfinite(options.most_turn):
        return found
    most = _most_turn(problem, by_weight, options)
    frames = problem.start.frames if previous is None else previous.frames
    largest = largest_angle(frames, found.placed.quaternions)
    if largest <= most:
        return found
    begin = problem.present if previous is None else state_of_previous(problem, previous)
    stack = problem.stack()
    nearer = stack.coordinates.applied(begin, (most / largest) * stack.coordinates.to_reference(begin, found))
    return with_first_level_met(stack, nearer)


def _most_turn(problem: TreeProblem, by_weight: State, options: Options) -> float:
    """Return the largest rotation (radians) of a bone on the way to a solution, less where a target is hardly reached.

    Without balance the bound is the same everywhere.
    """
    if problem.balance is None or options.most_turn_beyond >= options.most_turn:
        return options.most_turn
    share = min(1.0, max(0.0, (problem.farthest(by_weight) - NEARLY_BEYOND) / (BEYOND - NEARLY_BEYOND)))
    return options.most_turn + share * (options.most_turn_beyond - options.most_turn)
