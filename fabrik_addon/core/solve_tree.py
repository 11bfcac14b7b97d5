# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several effectors of one tree: least squares with tasks that are held, or by weight, from one start or from several.

1. Newton steps (``optimise.held_descent``) lead to the pose nearest to a reference pose among those that meet the
   tasks. They start from the reference pose, or in a drag from the solution of the move before. So the pose is a
   function of the targets, and small changes of the targets change it by little. Chains that bend away from their poles
   in the pose at hand are bent to these in the reference pose (``optimise.reference_pose``).
2. Where tasks can't all be met they are weighed against each other and against the posture task
   (``optimise.weighted_solution``): targets pull with bounded forces (``_statuses`` names the cause).
3. Where that ends in a local minimum short of the targets, or with a chain bent away from its pole, both start again
   from FABRIK's pose (``fabrik.tree_passes``), then from poses with all coordinates changed by one number, unless a
   target is beyond reach, or targets are proven to exclude each other (``optimise.reach_proof``): other starts led to
   the same poses, and a press of Solve of Rigify's human whose hand is led low, with limits, took 76 ms instead of 38.

A chain by itself could be solved as a tree with one effector, but has a path of its own (``solve_chain``): for ten
bones without limits at reach 0.3 to 0.9 that takes 0.15 ms (median of 60 targets), and this module 2.6 ms.

The tasks of a body (``Goals.priorities``), and those of chains with pins (``TreeProblem.is_held``), are weighed from
the start. A drag has one start; a press of Solve of a body whose tasks cost more than ``UNMET_COST`` is solved from
others, too (``optimise.body_starts``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .fabrik.chain_fabrik import bend_of_shape
from .fabrik.passes import Stop
from .fabrik.tree_passes import EffectorPull, sweep_tree, tree_frames
from .math.operations import Array, Vector
from .math.quaternion_arrays import angle_between
from .math.quaternions import Quaternion, conjugate, multiply, rotate
from .math.vectors import relative_to, scale
from .model.chain_start import batch_shape
from .model.tree_start import StartTree, coordinates_of_tree, start_tree
from .optimise.body_starts import other_starts
from .optimise.exact_steps import with_first_level_met
from .optimise.held_descent import MOST_DAMPING, TREE_STEPS, Held, descend_held
from .optimise.jacobian_steps import StackedRule, step_by_rule
from .optimise.reference_pose import ReferencePose, reference_pose
from .optimise.task_loss import OF_BODY, OF_CHAINS, OF_FIXED_CHAINS, OF_TREES, Firmness
from .optimise.task_stack import TaskStack
from .optimise.tasks import State
from .optimise.tree_problem import Level, TreeProblem, tree_problem
from .optimise.weighted_descent import Beginning, least_cost
from .optimise.weighted_solution import Descended, costs_of, descend_by_weight, met_exactly
from .problem import Chain, Goals, Options, Pose, Solution, Status
from .solvers.table import solver_for_tree

NEAR_STEPS = 12
"""Steps of ``held_descent`` at most from the solution of the frame before; the next frame goes on from there. Where a
minimum ends as a target moves, the pose follows in several frames: with 80 steps a spine whose locked bones keep to the
world (``solve_and_write``) ended 0.025 of its length off its target."""

MOVE_STEPS = 12
"""Steps at most of a move of a body, within a largest rotation, whose next move goes on from there, and of the way back
to pins that don't hold. With as few a chest that was turned by 18 degrees at once, with balance, ended 8 degrees off.

Chains take up to ``TREE_STEPS``: with 12 a closed path of a hand opened by 41 degrees instead of 1.7."""

BALANCED_STEPS = 6
"""``MOVE_STEPS`` of a body with balance, whose descent has no second derivatives (``TaskStack.curvature``) while the
center of mass is near the edge of its region, and converges slowly. With 8 two of 200 drags had a move with more than 3
times the median move's largest rotation, with 6 none; hips that were led low (nine drags) came behind by up to 0.065 of
the height instead of 0.018."""

SWEEP_TOLERANCE = 0.01
"""Distance, in the tree's units, at which FABRIK's passes end."""

START_ANGLES = (0.3, -0.3, 0.6, -0.6, 0.9)
"""Changes (radians, of swings half-sines) of all bones' coordinates, within limits, from the reference pose to the last
starts."""

UNMET_COST = 10.0
"""Cost of a body's tasks, without the posture task, from which on another start is tried. It is exceeded in 37 of 180
captured poses whose six handles have rotations; with 1 in 45, to the same poses, with 100 three of these poses ended in
a worse minimum (bench row "body-reconstruction")."""

AS_GOOD = 0.9
"""Ratio of the angles to poles and rotations in another pose to those in this one, above which it is no better, and of
the costs of two poses of a body."""

MUCH_NEARER = 0.25
"""Ratio of the sums of squared distances from the targets, of the pose from another start to that from the first, below
which it is taken although it doesn't meet all targets: the pose of another local minimum is a jump of the bones."""

NEARLY_BEYOND, BEYOND = 2.5e-3, 8e-3
"""Distances of a solution by weight from a target, in the tree's units: up to the first ``Options.most_turn``
holds, from the second on ``Options.most_turn_beyond``, and a bound in between them otherwise. At those distances the
target pulls with 0.45 and 0.85 of its largest force (``task_loss.OF_BODY``).

With the distance that is left after what is nearly met was met exactly, and 0 and 0.01, the bound began only where a
hand was out of reach: 5 of 27 drags had a move with more than 3 times the median move's largest rotation, with these
none."""

FIRST_STEPS, FIRST_DAMPING = 3, 0.05
"""Steps toward all targets alike, with lambda over |h| at most (``held_descent``), where some are beyond reach: without
them a Y took 9.5 steps instead of 7.1 to targets of which one is beyond reach, a hand 10.8 instead of 7.7 (means of
100)."""

STUCK = 1e-3
"""|W J^T r| over the distance of an effector from its target, below which no joint brings it nearer."""


@dataclass(frozen=True)
class TreeSolution:
    """A solution of one pose as floats."""

    points: list[Vector]
    """Joints, in armature space."""
    frames: list[Quaternion]
    """Of the bones, by joint, in armature space."""
    shifts: list[Vector]
    """Of the roots, in armature space."""
    error: list[float]
    """Of each effector, over the length of its own chain."""
    sweeps: int
    status: list[int]
    is_balance_active: bool = False
    """Whether the balance task pulls: the center of mass of a body is at an edge of its region."""
    by_weight: State | None = None
    """Where a descent by weight has ended, from which the pose differs by exact steps and bounds of a rotation."""
    of_targets: State | None = None
    """``Descended.of_targets``."""
    reference: ReferencePose | None = None
    """Of a tree without pins."""

    @property
    def is_reached(self) -> bool:
        """Whether all effectors are at their targets."""
        return all(status == Status.REACHED for status in self.status)


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
    if not batch:
        return solve_tree(start_tree(chain, pose), goals, options)

    # Any: a row is an array or None, and no overload of rows() could tell which before the array is known.
    def rows(array: Array | None, *shape: int) -> Any:
        if array is None:
            return [None] * math.prod(batch)
        return np.broadcast_to(array, (*batch, *shape)).reshape(-1, *shape)

    found = []
    for *posed, targets, rotations, poles in zip(
        rows(pose.positions, joints, 3),
        rows(pose.rotations, joints, 4),
        rows(pose.base, 4),
        rows(goals.targets, count, 3),
        rows(goals.rotations, count, 4),
        rows(goals.poles, count, 3),
        strict=True,
    ):
        desired = replace(goals, targets=targets, rotations=rotations, poles=poles)
        found.append(solve_tree(start_tree(chain, Pose(*posed)), desired, options))

    def stacked(arrays: Iterable[NDArray[Any]]) -> NDArray[Any]:  # Any: of floats or of integers
        array = np.array([*arrays])
        return array.reshape(*batch, *array.shape[1:])

    return Solution(
        pose=Pose(
            stacked(each.pose.positions for each in found), stacked(each.pose.rotations for each in found), pose.base
        ),
        error=stacked(each.error for each in found),
        iterations=stacked(each.iterations for each in found),
        status=stacked(each.status for each in found),
        stretch=stacked(each.stretch for each in found),
    )


def solve_tree(start: StartTree, goals: Goals, options: Options) -> Solution:
    """Solve as ``solve_tree_components`` does; return arrays."""
    found = solve_tree_components(start, goals, options)
    return Solution(
        pose=Pose(np.array(found.points), np.array(found.frames), start.pose.base),
        error=np.array(found.error),
        iterations=np.full(len(found.error), found.sweeps),
        status=np.array(found.status),
        stretch=np.ones(1),
    )


def solve_tree_components(
    start: StartTree, goals: Goals, options: Options, previous: TreeSolution | None = None
) -> TreeSolution:
    """Pose a tree so that its effectors are at their targets.

    Args:
        start: the tree and its pose: the reference pose, near which the posture task holds what the targets leave open.
        goals: targets (E, 3) and the rest of it, without batch axes.
        options: sweeps at most, error that counts as reached.
        previous: of the frame before, where least squares start; None is the reference pose.

    Raises:
        FabrikError: a number isn't finite, or a shape doesn't fit.
    """
    solver = solver_for_tree(options)
    problem = tree_problem(start, with_shape_angles(start, goals), options)
    present = problem.present
    state, steps, is_converged, reference = present, 0, True, None
    by_weight = of_targets = None
    if not problem.is_done(present):
        begin = present
        if solver.stacked is not None and not problem.is_met(present):
            begin, steps = _stepped(problem, present, options, solver.stacked)
        if problem.is_held:
            found = _solved_by_weight(problem, begin, options, previous)
        else:
            before = None if previous is None else state_of_previous(problem, previous)
            reference = reference_pose(problem, begin, before, None if previous is None else previous.reference)
            found = _solved_without_pins(problem, reference.pose, options, previous)
        steps, is_converged = steps + found.steps, found.is_converged
        by_weight = None if found.by_weight is found.state else found.by_weight
        of_targets = found.of_targets
        state = present_or(problem, found.state)
    solution = solution_of(problem, state, steps, is_converged)
    return replace(solution, by_weight=by_weight, of_targets=of_targets, reference=reference)


def present_or(problem: TreeProblem, found: State) -> State:
    """Return the pose at hand where it meets the targets, and another has poles and rotations hardly better.

    Poles and rotations that can't be met are no reason for another pose: the next solve would change it back.
    """
    present = problem.present
    if problem.look_at is not None or not problem.is_met(present):
        return found
    return present if problem.angle_off(found) > AS_GOOD * problem.angle_off(present) else found


def with_shape_angles(start: StartTree, goals: Goals) -> Goals:
    """Return the goals, without batch axes, with the angles from pole to knee or elbow that pole shapes give.

    The pole task of a chain with a pole shape is for the joint of the bend and its neighbours alone, at its angle in
    the pose of the family at the target. The sum of all bends is at 180 degrees from the pole for Rigify's leg down to
    its toe, and on its way to the pole's side while the target is lifted: bones rotated by 44 degrees in one of 30
    steps there.
    """
    if goals.pole_shapes is None or goals.poles is None:
        return goals
    tree, tips = start.tree, start.chain.tips.tolist()
    starts = [0] * len(tips) if start.chain.starts is None else start.chain.starts.tolist()
    angles = np.zeros(len(tips)) if goals.pole_angles is None else np.array(goals.pole_angles, float)
    bent = np.zeros(len(tips), np.int64)
    for number, shape in enumerate(goals.pole_shapes):
        way = start.way(starts[number], tips[number])
        end = (goals.targets[number] - np.array(start.root)) / start.unit
        if goals.meets is not None and goals.meets[number] >= 0:
            end = np.array(start.points[way[-1]])
        is_rotated = goals.with_rotations is None or bool(goals.with_rotations[number])
        if goals.rotations is not None and is_rotated and len(way) > 3:
            # The target's rotation holds the last link, so it is the links before it that bend toward the pole.
            bone = way[-2]
            link = relative_to(start.points[way[-1]], start.points[bone], 1.0)
            desired = tuple(goals.rotations[number].tolist())
            end = end - np.array(rotate(multiply(desired, conjugate(start.frames[bone])), link))
            way = way[:-1]
        seen = [(np.array(point) - start.points[way[0]]).tolist() for point in (end, start.points[way[1]])]
        pole = (goals.poles[number] - np.array(start.root)) / start.unit - start.points[way[0]]
        links = [tree.lengths[joint] for joint in way[1:]]
        if 3 <= len(shape) == len(links) and np.isfinite([*end, *pole, angles[number]]).all():
            bent[number], angles[number] = bend_of_shape(shape, links, seen, pole.tolist(), angles[number])
    return replace(goals, pole_angles=angles, pole_joints=bent)


def solution_of(problem: TreeProblem, state: State, steps: int, is_converged: bool) -> TreeSolution:
    """Return the solution that a state is.

    Args:
        problem: of one pose.
        state: where the solve ended.
        steps: taken from all starts.
        is_converged: whether least squares ended before their steps were used up.
    """
    start = problem.start
    rx, ry, rz = start.root
    unit = start.unit
    distances = [math.hypot(*aim.residual(state.placed)) for aim in problem.aims]
    return TreeSolution(
        points=[(rx + unit * x, ry + unit * y, rz + unit * z) for x, y, z in state.placed.joints],
        frames=state.placed.frames,
        shifts=[(unit * x, unit * y, unit * z) for x, y, z in state.shifts.tolist()],
        error=[distance / length for distance, length in zip(distances, start.own_lengths, strict=True)],
        sweeps=steps,
        status=_statuses(problem, state, distances, is_converged),
        is_balance_active=problem.balance is not None and any(problem.balance.residual(state.placed)),
    )


# Starts


def _solved_without_pins(
    problem: TreeProblem, near: State, options: Options, previous: TreeSolution | None
) -> Descended:
    """Return the pose of least cost of the tasks of chains without pins, with all starts' steps.

    Args:
        problem: of one pose.
        near: the reference pose.
        options: iterations of FABRIK at most.
        previous: of the frame before.
    """
    best: Descended | None = None
    used = 0
    for number, start in enumerate(_starts(problem, near, previous, options)):
        found = _from_start(problem, start, near, None if number else previous)
        used += found.steps
        if best is None or _is_better(problem, found.state, best.state):
            best = found
        is_enough = _is_nearly_met(problem, best.state) and problem.bends_to_poles(best.state)
        if problem.may_stay_unmet or is_enough or problem.is_proven_unmet(best.state):
            break
    assert best is not None  # there is always a start: the pose before, or the reference pose
    return best._replace(steps=used)


def _from_start(problem: TreeProblem, start: State, reference: State, previous: TreeSolution | None) -> Descended:
    """Return the pose of least cost of the tasks of chains without pins that is found from one start.

    1. Targets within reach, poles and rotations are met, and targets beyond reach pull. With both targets beyond reach
       and poles or rotations this is left out.
    2. Where that isn't all met, or held by too large forces, the tasks are weighed against each other and against the
       posture task: from where 1 has ended, or with poles or rotations from where the targets alone are met, and from
       the solution of the frame before from there.

    From a start far from the solution ``FIRST_STEPS`` toward all targets alike come first where some are beyond reach.
    Where the solution of the frame before is by weight, and there are poles or rotations or no target is beyond reach,
    2 alone is done.

    Args:
        problem: of one pose.
        start: within limits.
        reference: of the posture task.
        previous: the solution of the frame before, where it is the start.
    """
    within, beyond, others = problem.by_reach()
    stack, steps = problem.stack(), 0
    is_weighed = previous is not None and previous.by_weight is not None and (bool(others) or not beyond)
    # A pose that bends away from a pole is no reference: the way back to it leads through straight chains.
    held_near = reference if problem.bends_to_poles(reference) else None

    def held(first: Level, pulls: Level, most: int = TREE_STEPS, most_damping: float = MOST_DAMPING) -> Held:
        nonlocal steps
        found = descend_held(stack.with_levels([first, pulls]), start, held_near, most, most_damping)
        steps += found.steps
        return found

    if beyond and previous is None:
        start = held([*within, *beyond], [], FIRST_STEPS, FIRST_DAMPING).state
    if not is_weighed and not (beyond and others):
        found = held([*within, *others], beyond, TREE_STEPS if previous is None else NEAR_STEPS)
        if problem.is_done(found.state):
            return Descended(found.state, steps, found.is_converged, found.state)
        if beyond and found.are_held:
            together = stack.with_levels([[], [*within, *beyond]])
            return met_exactly(together, (found.state, steps, True), OF_TREES, reference, None)
        start = start if others else found.state
    if others and previous is None:
        start = problem.turned_to_poles(held(within, beyond).state)
    first_met, together = problem.weighed(start, OF_TREES.nearly_met)
    weighed = least_cost(first_met, start, reference, TREE_STEPS, OF_TREES, Beginning.NEAR)
    ended = met_exactly(together, weighed, OF_TREES, reference, None)
    by_weight = ended.state if problem.is_done(ended.state) else ended.by_weight
    return ended._replace(steps=steps + ended.steps, by_weight=by_weight)


def _has_missed(previous: TreeSolution | None) -> bool:
    """Tell whether a target was missed in the frame before: then no other start is tried, which might be a jump."""
    return previous is not None and not previous.is_reached


def _solved_by_weight(problem: TreeProblem, begin: State, options: Options, previous: TreeSolution | None) -> Descended:
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
            start = _turned_where_known(problem, previous.by_weight) or first
        of_targets = None if previous is None else _turned_where_known(problem, previous.of_targets)
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
    """Return what ``_solved_by_weight`` does for a body: from the reference pose, and from others while it is unmet.

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


def _starts(problem: TreeProblem, near: State, previous: TreeSolution | None, options: Options) -> Iterator[State]:
    """Yield the starts: the pose before, the reference pose, FABRIK's, and poses with all coordinates changed alike.

    The reference pose comes before FABRIK's, which meets the targets far from the reference pose: the way back along
    the poses that meet them took 34 steps for a hand of five effectors, the way from the reference pose 12. Of 600
    poses of random trees (plain, within limits, with rotations, with a moving root) whose bones were rotated by up to 2
    or 3.1 radians each, 536 are reached from the reference pose alone, 565 with the other starts.
    """
    if previous is not None:
        yield state_before(problem, previous)
        if _has_missed(previous):
            return
    yield near
    yield _warm_start(problem, near, options)
    stack = problem.stack()
    is_of_bone = np.arange(len(stack.weights)) < len(stack.weights) - stack.shift_count
    for angle in START_ANGLES:
        yield stack.applied(near, angle * is_of_bone)


def state_of_previous(problem: TreeProblem, previous: TreeSolution) -> State:
    """Return the state of a solution of the frame before, rotated to the poles of this one."""
    start = problem.start
    shifts = [scale(shift, 1.0 / start.unit) for shift in previous.shifts]
    if not problem.moves_root:
        shifts = [(0.0, 0.0, 0.0)] * len(start.tree.structure.roots)
    return problem.turned_to_poles(problem.state(coordinates_of_tree(start.tree, previous.frames), shifts))


def state_before(problem: TreeProblem, previous: TreeSolution) -> State:
    """Return where the descent of the frame before has ended, or where that isn't known, its solution."""
    return _turned_where_known(problem, previous.by_weight) or state_of_previous(problem, previous)


def _turned_where_known(problem: TreeProblem, ended: State | None) -> State | None:
    """Return the state that a descent of the frame before ended in, rotated to the poles; None of another skeleton.

    What is nearly met is met exactly after the descent: the state after that isn't where the next one ends up. From it
    a hand that is dragged beyond reach took up to 23 ms (95th percentile), from this one 12. Frames between others on a
    path across the body, with poles (bench row "bake-body"), took 5.8 steps instead of 3.7.
    """
    tree = problem.start.tree
    if ended is None or ended.tree.structure is not tree.structure:
        return None
    return problem.turned_to_poles(ended if ended.tree is tree else problem.state(ended.coordinates, ended.shifts))


def _stepped(problem: TreeProblem, present: State, options: Options, rule: StackedRule) -> tuple[State, int]:
    """Return the state after a Jacobian method's own steps, and the number of steps taken."""
    stack = TaskStack(problem.start.tree, [[(place, 1.0) for place in problem.places]], problem.moves_root)
    found, taken = step_by_rule(stack, present, problem.tolerances, rule, options.iterations)
    return found, max(taken, 1)


def _warm_start(problem: TreeProblem, near: State, options: Options) -> State:
    """Return FABRIK's pose, with joint coordinates clamped to their limits; joints that are to meet do so as before."""
    start = problem.start
    tree = start.tree
    pulls = [
        EffectorPull(
            place.joint,
            near.placed.joints[place.joint] if place.target is None else place.target,
            (1e-3 if excess else 10.0 if pinned else 1.0) * weight,
        )
        for place, weight, pinned, excess in zip(
            problem.places, problem.weights, problem.pinned, problem.beyond_reach, strict=True
        )
    ]
    roots = tree.structure.roots if options.moves_root else ()
    swept = sweep_tree(tree, start.points, start.frames, pulls, Stop(SWEEP_TOLERANCE, options.iterations), roots)
    shifts: list[Vector] = [(0.0, 0.0, 0.0)] * len(tree.structure.roots)
    for number, root in enumerate(tree.structure.roots):
        if root in roots:
            shifts[number] = relative_to(swept.joints[root], start.points[root], 1.0)
    return problem.state(coordinates_of_tree(tree, tree_frames(start, swept)), shifts)


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


def _statuses(problem: TreeProblem, state: State, distances: Sequence[float], is_converged: bool) -> list[int]:
    """Return how each effector ended.

    Without limits an effector within reach of the root has stalled where no joint brings it nearer, J^T r = 0, or where
    there are no pins, least squares used up their steps, and nothing proves that targets exclude each other; else other
    tasks keep it away.
    """
    found: list[int] = []
    for number, (distance, tolerance, is_away) in enumerate(
        zip(distances, problem.tolerances, problem.is_away, strict=True)
    ):
        if distance <= tolerance:
            status = Status.REACHED
        elif is_away or problem.beyond_reach[number] > tolerance:
            status = Status.OUT_OF_REACH
        elif problem.is_limited(number):
            status = Status.LIMITED
        else:
            alone = TaskStack(problem.start.tree, [[(problem.places[number], 1.0)]], problem.moves_root)
            is_stuck = alone.gradient_norm(state) <= STUCK * distance
            gave_up = not is_converged and not any(problem.pinned) and not problem.is_proven_unmet(state)
            status = Status.STALLED if is_stuck or gave_up else Status.OUT_OF_REACH
        found.append(int(status))
    return found
