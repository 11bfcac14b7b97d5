# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Trees without pins: tasks are held, and weighed where they can't all be met, from one start or from several.

1. Newton steps (``optimise.held_descent``) lead to the pose nearest to a reference pose among those that meet the
   tasks. They start from the reference pose, or from the solution of the frame or move before. So the pose is a
   function of the targets, and small changes of the targets change it by little. Chains that bend away from their poles
   in the pose at hand are bent to these in the reference pose (``reference_pose``).
2. Where tasks can't all be met they are weighed against each other and against the posture task
   (``optimise.weighted_solution``): targets pull with bounded forces (``solution._statuses`` names the cause).
3. Where that ends in a local minimum short of the targets, or with a chain bent away from its pole, both start again
   from the reference pose, unless that was the first start, from FABRIK's pose (``fabrik.tree_passes``), and from poses
   with one number added to all coordinates of the bones. They don't after a frame that has missed a target, where a
   target is beyond reach, nor where targets are proven to exclude each other (``reach_proof``): other starts
   led to the same poses, and a press of Solve of Rigify's human whose hand is led low, with limits, took 76 ms instead
   of 38. They end where two starts have led to one pose with nearly met targets: chains that share bones and have poles
   on opposite sides can't all bend to these. Of 40 Ys with such poles the others led to no better pose in any, and the
   solves took 3.5 times as many steps.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..fabrik.passes import Stop
from ..fabrik.tree_passes import EffectorPull, sweep_tree, tree_frames
from ..math.operations import Vector
from ..math.quaternion_arrays import largest_angle
from ..math.vectors import subtract
from ..model.tree_start import coordinates_of_tree
from ..model.tree_state import State
from ..optimise.held_descent import MOST_DAMPING, TREE_STEPS, Ended, descend_held
from ..optimise.weighted_descent import NEAR, least_cost
from ..optimise.weighted_solution import met_exactly
from ..problem import Options
from ..tasks.task_loss import OF_TREES
from .pole_sides import bending_away, turned_to_poles
from .reference_pose import ReferencePose, reference_pose
from .solution import AS_GOOD, TreeSolution, state_of_previous, turned_where_known
from .tree_problem import Level, TreeProblem, row_order

NEAR_STEPS = 12
"""Steps of ``held_descent`` at most from the solution of the frame before; the next frame goes on from there. Where a
minimum ends as a target moves, the pose follows in several frames: with 80 steps a spine whose locked bones keep to the
world (``solve_and_write``) ended 0.025 of its length off its target."""

SWEEP_TOLERANCE = 0.01
"""Distance, in the tree's units, at which FABRIK's passes end."""

START_ANGLES = (0.3, -0.3, 0.6, -0.6, 0.9)
"""Changes (radians, of swings half-sines) of all bones' coordinates, within limits, from the reference pose to the last
starts."""

MUCH_NEARER = 0.25
"""Ratio of the sums of squared distances from the targets, of the pose from another start to that from the first, below
which it is taken although it doesn't meet all targets: the pose of another local minimum is a jump of the bones."""

STEPS_FROM_FAR = 10
"""Steps at most with ``Firmness.from_far``. With 20 closed paths of Rigify's human beside a fixed root (bench row
"body-path") took 9.6 steps from rest instead of 8.8, with 40 10.9, with 6 9.2, to the same poses (means of 12 paths).
"""

SAME_POSE = 1e-2
"""Largest rotation of a bone (radians) from the pose that one start has led to, to that of another, up to which they
are one pose."""

FIRST_STEPS, FIRST_DAMPING = 3, 0.05
"""Steps toward all targets alike, with lambda over |h| at most (``held_descent``), where some are beyond reach: without
them a Y took 9.5 steps instead of 7.1 to targets of which one is beyond reach, a tree of five fingers 10.8 instead of
7.7 (means of 100)."""


def solved_without_pins(
    problem: TreeProblem, begin: State, options: Options, previous: TreeSolution | None
) -> tuple[Ended, ReferencePose]:
    """Return the pose of least cost of the tasks, with all starts' steps, and its reference pose.

    Args:
        begin: the pose at hand, or where a Jacobian method's own steps have led from it.
        options: iterations of FABRIK at most.
        previous: of the frame before.
    """
    before = None if previous is None else state_of_previous(problem, previous)
    reference = reference_pose(problem, begin, before, None if previous is None else previous.reference)
    near = reference.pose
    best: Ended | None = None
    used = 0
    for number, start in enumerate(_starts(problem, near, before, previous, options)):
        found = _from_start(problem, start, near, None if number else previous)
        used += found.steps
        frames = found.state.placed.quaternions
        is_same = best is not None and largest_angle(best.state.placed.quaternions, frames) <= SAME_POSE
        if best is None or _is_better(problem, found.state, best.state):
            best = found
        is_enough = _is_nearly_met(problem, best.state) and (is_same or not bending_away(problem, best.state))
        if problem.has_far_target or is_enough or problem.is_proven_unmet(best.state):
            break
    assert best is not None  # there is always a start: the pose before, or the reference pose
    return best._replace(steps=used), reference


def _from_start(problem: TreeProblem, start: State, reference: State, previous: TreeSolution | None) -> Ended:
    """Return the pose of least cost of the tasks of chains without pins that is found from one start.

    1. Where targets are beyond reach, and the start isn't the solution of the frame before: ``FIRST_STEPS`` toward all
       targets alike.
    2. Targets within reach, poles and rotations are held, and targets beyond reach pull (``held_descent``). The pose is
       found where all tasks are met; it is found but for exact steps where all that should be held is held, by forces
       that aren't too large, and targets beyond reach pull. This stage is left out where there are both targets beyond
       reach and poles or rotations, and where the solution of the frame before isn't where its descent has ended
       (``TreeSolution.by_weight``); but with targets beyond reach and neither poles nor rotations it always comes.
    3. Where there are poles or rotations, and the start isn't the solution of the frame before: targets within reach
       are held and those beyond pull, from the same start, and chains are rotated to their poles.
    4. All tasks are weighed against each other and against the posture task (``weighted_descent``), from where the last
       of the stages before has ended, but for stage 2 with poles or rotations. From a start that isn't the solution of
       the frame before they weigh less at first (``Firmness.from_far``).
    5. Where kept bends (``kept_bends``) leave a target unmet that could be met by itself, targets, poles and rotations
       are held from there, without kept bends, near that pose; that pose is taken if all are met.

    Args:
        previous: the solution of the frame before, where it is the start.
    """
    within, beyond, others = problem.by_reach()
    stack, steps = problem.stack(), 0
    was_weighed = previous is not None and previous.by_weight is not None and (bool(others) or not beyond)
    # A pose that bends away from a pole is no reference: the way back to it leads through straight chains.
    held_near = None if bending_away(problem, reference) else reference

    def held(first: Level, pulls: Level, most: int = TREE_STEPS, most_damping: float = MOST_DAMPING) -> Ended:
        nonlocal steps
        found = descend_held(replace(stack, levels=[first, pulls]), start, held_near, most, most_damping)
        steps += found.steps
        return found

    if beyond and previous is None:
        start = held([*within, *beyond], [], FIRST_STEPS, FIRST_DAMPING).state
    if not was_weighed and not (beyond and others):
        found = held([*within, *others], beyond, TREE_STEPS if previous is None else NEAR_STEPS)
        if problem.is_done(found.state):
            return found._replace(steps=steps, by_weight=found.state)
        if beyond and found.are_held:
            together = stack.with_levels([[], [*within, *beyond]])
            return met_exactly(together, found._replace(steps=steps), OF_TREES, reference, None)
        start = start if others else found.state
    if others and previous is None:
        start = turned_to_poles(problem, held(within, beyond).state)
    first_met, together = problem.stacks_by_weight(start, OF_TREES.nearly_met)
    # Which targets are nearly met, and so the order of the rows, differs from frame to frame.
    order, forces = row_order(first_met), None
    if previous is None:
        assert OF_TREES.from_far is not None
        far = least_cost(first_met, start, reference, STEPS_FROM_FAR, OF_TREES.from_far, NEAR)
        start, forces, steps = far.state, far.forces, steps + far.steps
    elif previous.forces is not None and len(previous.forces) == len(order):
        forces = previous.forces[np.argsort(order)]
    weighed = least_cost(first_met, start, reference, TREE_STEPS, OF_TREES, NEAR._replace(forces=forces))
    assert weighed.forces is not None  # descents by weight have them
    weighed = weighed._replace(forces=weighed.forces[order])
    ended = met_exactly(together, weighed, OF_TREES, reference, None)
    by_weight = ended.state if problem.is_done(ended.state) else ended.by_weight
    ended = ended._replace(steps=steps + ended.steps, by_weight=by_weight)
    if problem.preferences and not beyond and not problem.is_met(ended.state):
        alone = descend_held(stack.with_levels([[*within, *others]]), ended.state, ended.state, NEAR_STEPS)
        if problem.is_done(alone.state):
            return ended._replace(state=alone.state, steps=ended.steps + alone.steps)
    return ended


def _starts(
    problem: TreeProblem, near: State, before: State | None, previous: TreeSolution | None, options: Options
) -> Iterator[State]:
    """Yield the starts: the pose before, the reference pose, FABRIK's, and poses with all coordinates changed alike.

    The reference pose comes before FABRIK's, which meets the targets far from the reference pose: the way back along
    the poses that meet them took 34 steps for a tree of five fingers, the way from the reference pose 12. Of 600
    poses of random trees (plain, within limits, with rotations, with a moving root) whose bones were rotated by up to 2
    or 3.1 radians each, 536 are reached from the reference pose alone, 565 with the other starts.
    """
    if before is not None and previous is not None:
        yield turned_where_known(problem, previous.by_weight) or before
        if not previous.is_reached:
            return  # a target was missed in the frame before: another start might lead to a jump
    yield near
    yield _warm_start(problem, near, options)
    coordinates = problem.coordinates
    count = len(coordinates.weights)
    is_of_bone = np.arange(count) < count - coordinates.shift_count
    for angle in START_ANGLES:
        yield coordinates.applied(near, angle * is_of_bone)


def _warm_start(problem: TreeProblem, near: State, options: Options) -> State:
    """Return FABRIK's pose, with joint coordinates clamped to their limits; joints that are to meet do so as before."""
    start = problem.start
    tree = start.tree
    pulls = [
        EffectorPull(
            position.joint,
            near.placed.joints[position.joint] if position.target is None else position.target,
            (1e-3 if excess else 1.0) * weight,
        )
        for position, weight, excess in zip(problem.positions, problem.weights, problem.beyond_reach, strict=True)
    ]
    roots = tree.structure.roots if options.moves_root else ()
    swept = sweep_tree(tree, start.points, start.frames, pulls, Stop(SWEEP_TOLERANCE, options.iterations), roots)
    shifts: list[Vector] = [(0.0, 0.0, 0.0)] * len(tree.structure.roots)
    for number, root in enumerate(tree.structure.roots):
        if root in roots:
            shifts[number] = subtract(swept.joints[root], start.points[root])
    return problem.state(coordinates_of_tree(tree, tree_frames(start, swept)), shifts)


def _is_nearly_met(problem: TreeProblem, state: State) -> bool:
    """Tell whether all targets are met, or where there are poles or rotations, nearly met.

    What poles that can't be met leave of the targets is no reason for other starts, nor for a pose from one of them:
    two chains with one pole, to which they can't both bend, rotated by 159 degrees in a step of a target by 0.02 links.
    """
    return problem.farthest(state) <= OF_TREES.nearly_met if problem.secondary else problem.is_met(state)


def _is_better(problem: TreeProblem, found: State, best: State) -> bool:
    """Tell whether a pose from another start is taken in place of the best one of the starts before."""
    if not _is_nearly_met(problem, found):
        return problem.spread(found) < MUCH_NEARER * problem.spread(best)
    return not _is_nearly_met(problem, best) or problem.angle_off(found) < AS_GOOD * problem.angle_off(best)
