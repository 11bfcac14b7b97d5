# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several effectors of one tree: tasks are held where they can all be met, or weighed against each other (``trees``).

A chain by itself has a path of its own (``solve_chain``): 0.15 ms for ten bones, and as a tree 2.6 ms. Within limits
it is solved as a tree for its rotation, and in drags and bakes for its pole (``stages.reach_as_tree``).
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from .math.operations import Array
from .model.chain_start import batch_shape
from .model.tree_start import StartTree, start_tree
from .model.tree_state import State
from .optimise.held_descent import Ended
from .optimise.jacobian_steps import StackedRule, step_by_rule
from .problem import Chain, Goals, Options, Pose, Solution
from .solvers.table import solver_for_tree
from .tasks.task_stack import TaskStack
from .trees.by_weight import solved_by_weight
from .trees.goals_as_tasks import problem_of_goals
from .trees.rotation_bound import within_turn
from .trees.solution import AS_GOOD, TreeSolution, solution_of
from .trees.tree_problem import TreeProblem
from .trees.without_pins import solved_without_pins


def solve_trees(chain: Chain, pose: Pose, goals: Goals, options: Options) -> Solution:
    """Solve the poses of a batch one after another: each has an active set and a number of steps of its own."""
    joints, count = len(chain.lengths), len(chain.tips)
    batch = batch_shape(
        ("positions", pose.positions, (joints, 3)),
        ("rotations", pose.rotations, (joints, 4)),
        ("targets", goals.targets, (count, 3)),
        ("poles", goals.poles, (count, 3)),
        ("rotations of the goals", goals.rotations, (count, 4)),
    )
    found = [
        solve_tree(start_tree(chain, one), desired, options) for one, desired in each_pose(chain, pose, goals, batch)
    ]
    rows = [
        (one.pose.positions, one.pose.rotations, one.error, one.iterations, one.status, one.stretch) for one in found
    ]
    columns = (np.array([row[number] for row in rows]) for number in range(6))
    positions, rotations, *others = (column.reshape(*batch, *column.shape[1:]) for column in columns)
    return Solution(Pose(positions, rotations, pose.base), *others)


def each_pose(chain: Chain, pose: Pose, goals: Goals, batch: tuple[int, ...]) -> Iterator[tuple[Pose, Goals]]:
    """Yield the poses of a batch with their goals; pose and goals are broadcast to the axes of the batch."""
    joints, count = len(chain.lengths), len(chain.tips)

    # Any: a row is an array or None, and no overload of rows() could tell which before the array is known.
    def rows(array: Array | None, *shape: int) -> Any:
        if array is None:
            return [None] * math.prod(batch)
        return np.broadcast_to(array, (*batch, *shape)).reshape(-1, *shape)

    for *posed, targets, rotations, poles in zip(
        rows(pose.positions, joints, 3),
        rows(pose.rotations, joints, 4),
        rows(pose.base, 4),
        rows(goals.targets, count, 3),
        rows(goals.rotations, count, 4),
        rows(goals.poles, count, 3),
        strict=True,
    ):
        yield Pose(*posed), replace(goals, targets=targets, rotations=rotations, poles=poles)


def solve_tree(start: StartTree, goals: Goals, options: Options) -> Solution:
    """Solve as ``solve_tree_components`` does; return arrays."""
    found = solve_tree_components(start, goals, options)
    return Solution(
        pose=Pose(np.array(found.points), np.array(found.frames), start.pose.base),
        error=np.array(found.error),
        iterations=np.full(len(found.error), found.iterations),
        status=np.array(found.status),
        stretch=np.ones(1),
    )


def solve_tree_components(
    start: StartTree, goals: Goals, options: Options, previous: TreeSolution | None = None
) -> TreeSolution:
    """Pose a tree so that its effectors are at their targets.

    Args:
        start: the tree and the pose at hand. Bent to its poles it is the reference pose, near which the posture task
            holds what the targets leave open.
        goals: targets (E, 3) and the rest of it, without batch axes.
        options: tolerance; iterations of FABRIK and of Jacobian methods at most.
        previous: of the frame before, where the descent starts; without one it starts from the reference pose.

    Raises:
        FabrikError: a number isn't finite, or a shape doesn't fit.
    """
    solver = solver_for_tree(options)
    problem = problem_of_goals(start, goals, options)
    present = problem.present
    found, reference = Ended(present, 0, True), None
    if not options.is_back and not problem.is_done(present):
        begin, steps = present, 0
        if solver.stacked is not None and not problem.is_met(present):
            begin, steps = _stepped(problem, present, options, solver.stacked)
        if problem.is_weighed:
            found = solved_by_weight(problem, begin, options, previous)
        else:
            found, reference = solved_without_pins(problem, begin, options, previous)
        found = found._replace(steps=steps + found.steps)
    state = present_if_as_good(problem, found.state)
    nearer = within_turn(problem, previous, state, found.by_weight or state, options)
    if nearer is state and found.by_weight is found.state:
        found = found._replace(by_weight=None)
    return solution_of(problem, nearer, found, reference)


def present_if_as_good(problem: TreeProblem, found: State) -> State:
    """Return the pose at hand where it meets the targets and the pose found is hardly nearer to poles and rotations.

    Else return the pose found. Without this the next solve would go back to the pose at hand. With a point to look at
    it is always the pose found.
    """
    present = problem.present
    if problem.look_at is not None or not problem.is_met(present):
        return found
    return present if problem.angle_off(found) > AS_GOOD * problem.angle_off(present) else found


def _stepped(problem: TreeProblem, present: State, options: Options, rule: StackedRule) -> tuple[State, int]:
    """Return the state after a Jacobian method's own steps, and the number of steps taken."""
    stack = TaskStack(problem.coordinates, [[(position, 1.0) for position in problem.positions]])
    found, taken = step_by_rule(stack, present, problem.tolerances, rule, options.iterations)
    return found, max(taken, 1)
