# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A tree at many frames of an animation.

Each frame starts from solutions of frames near it, so that the bones stay with one of the ways to meet the targets, and
its own pose is its reference pose, so that they don't drift.

Of a tree whose tasks are weighed against each other (``is_weighed``):

1. Every ``STRIDE``-th frame is solved from the solution of the frame ``STRIDE`` before.
2. Where the pose hasn't changed much between two of those, the frames in between start from the way between the two,
   and are solved as one batch (``optimise.batched_descent``).
3. The frames that are left are solved one after another, each from the solution of the frame before.

The frames of other trees, and all frames with a Jacobian method, are solved one after another, each from the solution
of the frame before, which takes a twentieth of the time that solving from the frame's own pose takes (bench row
"bake-body"). The goals of the first frame say for all of them whether tasks are weighed.
"""

from collections.abc import Sequence
from typing import TypeAlias

from .math.quaternion_arrays import angle_between
from .model.tree_start import StartTree
from .optimise.batched_descent import are_alike, descend_between
from .problem import Goals, Options
from .solve_tree import present_if_as_good, solve_tree_components
from .solvers.table import solver_for_tree
from .trees.by_weight import firmness_of
from .trees.goals_as_tasks import is_weighed, problem_of_goals
from .trees.pole_sides import bending_away, bent_to_poles
from .trees.solution import TreeSolution, solution_of, state_before

STRIDE = 16
"""Frames from one that is solved alone to the next; 12 to 32 take nearly the same time."""

SMOOTH = 1.2
"""Rotation (radians) of a bone in the frame that it inherits, from one of the frames that are solved alone to the next,
up to which the frames in between are a batch."""

Frame: TypeAlias = tuple[StartTree, Goals]
"""The pose of a frame, which is its reference pose, and its goals."""


def solve_tree_frames(
    frames: Sequence[Frame], options: Options, first_solution: TreeSolution | None = None
) -> list[TreeSolution]:
    """Pose a tree at many frames so that its effectors are at their targets.

    Args:
        frames: poses and goals.
        options: the same for all frames.
        first_solution: of the first frame, if that is solved already; the list returned begins with it.
    """
    found: list[TreeSolution] = [] if first_solution is None else [first_solution]
    weighed = [is_weighed(start.chain, goals) for start, goals in frames[:1]]
    is_batched = any(weighed) and solver_for_tree(options).stacked is None
    while len(found) < len(frames):
        first = len(found) - 1
        last = min(first + STRIDE, len(frames) - 1)
        if is_batched and first > 0 and last > first + 2:
            after = solve_tree_components(*frames[last], options, found[-1])
            between = _solved_between(frames[first : last + 1], options, found, after)
            if between:
                for frame, solution in zip(frames[first + 1 : last], between, strict=True):
                    found.append(solution or solve_tree_components(*frame, options, found[-1]))
                found.append(after)
                continue
        for frame in frames[first + 1 : last + 1 if first > 0 else 2]:
            found.append(solve_tree_components(*frame, options, found[-1] if found else None))
    return found


def _solved_between(
    frames: Sequence[Frame], options: Options, found: Sequence[TreeSolution], last: TreeSolution
) -> list[TreeSolution | None]:
    """Solve the frames between the first and the last as one batch.

    Returns:
        the solutions, None of frames that have to be solved alone; an empty list where all have to be.
    """
    problems = [problem_of_goals(start, goals, options) for start, goals in frames]
    before, first = (state_before(problems[0], solution) for solution in found[-2:])
    after = state_before(problems[-1], last)
    inner = problems[1:-1]
    stacks = [problem.stack() for problem in inner]
    if angle_between(first.rotations, after.rotations).max() > SMOOTH or not are_alike(stacks):
        return []
    references = [bent_to_poles(problem, problem.present) for problem in inner]
    forces = found[-1].forces, last.forces
    descended = descend_between(stacks, references, (before, first, after), forces, firmness_of(inner[0]))
    return [
        solution_of(problem, present_if_as_good(problem, one.state), one)
        if one.is_converged and not bending_away(problem, one.state)
        else None
        for problem, one in zip(inner, descended, strict=True)
    ]
