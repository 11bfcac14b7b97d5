# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A solve of one chain: its goals are checked, its stages (``stages``) are put together and run.

A stage takes the stage after it as its first argument. ``move_root`` calls that with the root where it is,
``stretch_links`` at the chain's own lengths, ``reach_rotation`` first without the rotation and then without the last
link, ``reach_as_tree`` without the rotation and only where its own descent isn't enough. ``reach_position``, the last
stage, has none after it. The stage of a goal that is not given is left out. Within limits ``reach_as_tree`` takes the
place of ``reach_rotation``, or ``reach_rotation_clamped`` does for callers that solve again (``FIRST_GUESS``).
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from .math.operations import ARRAY, SCALAR, add_up, joined, quiet
from .math.quaternions import rotation_fault
from .model.chain_start import StartPose, batch_shape, start_from
from .problem import Chain, FabrikError, Goals, Options, Pose, Solution
from .solve_tree import each_pose, solve_trees
from .stages.move_root import goal_with_root_fixed, move_root
from .stages.reach_as_tree import reach_as_tree
from .stages.reach_position import reach_position
from .stages.reach_rotation import reach_rotation, reach_rotation_clamped
from .stages.stage import ChainGoal, ComponentSolution, Stage
from .stages.stretch_links import stretch_links
from .within_limits.least_rotation import FIRST_GUESS

DEFAULT_OPTIONS = Options()


def solve(chain: Chain, pose: Pose, goals: Goals, options: Options = DEFAULT_OPTIONS) -> Solution:
    """Pose a chain or a tree so that its effectors are at their targets.

    The same input gives the same bits: there is no state between calls and nothing is random.

    Args:
        chain: J joints, E effectors; a plain chain (one effector, at its end) or a tree.
        pose: positions (..., J, 3) that have the links' lengths, rotations (..., J, 4).
        goals: targets (..., E, 3), optionally rotations (..., E, 4), poles (..., E, 3) and pole angles (E,) in radians.
        options: iterations at most, error that counts as reached, and what else a chain may do.

    Returns:
        pose, error, iterations, status and stretch, with the batch axes of pose and goals.

    Raises:
        FabrikError: a number isn't finite or not in its range, a shape doesn't fit, or a desired rotation isn't a
            unit quaternion.
    """
    if not chain.is_plain or goals.meets is not None or any(chain.euler_orders):
        return solve_trees(chain, pose, goals, options)
    found = solve_components(start_from(chain, pose), goals, options)
    frames = [*found.frames, found.frames[-1]]
    solved = Pose(joined(found.points, found.batch), joined(frames, found.batch), pose.base)
    error, iterations, status, stretch = (np.array(each).reshape(*found.batch, 1) for each in found.numbers)
    return Solution(solved, error, iterations.astype(int), status.astype(int), stretch)


def solve_components(start: StartPose, goals: Goals, options: Options = DEFAULT_OPTIONS) -> ComponentSolution:
    """Solve a plain chain from a pose that ``start_from`` has prepared, and leave the result in components."""
    start, goal = check_goals(start, goals)
    stage: Stage = reach_position
    is_limited, has_rotation = start.constrained_chain is not None, goal.rotation is not None
    goes_on = start.near is not None and not start.batch and depends_on_near(start.chain, goals, options)
    if start.batch and is_limited and has_rotation:
        return _solve_each(start, goals, options)
    if has_rotation and not is_limited:
        stage = partial(reach_rotation, stage)
    elif has_rotation and options.iterations <= FIRST_GUESS:
        stage = partial(reach_rotation_clamped, stage)
    elif has_rotation or (goes_on and goal.pole is not None):
        stage = partial(reach_as_tree, stage)
    if options.stretch_max > 1.0:
        stage = partial(stretch_links, stage)
    if options.moves_root:
        stage = partial(move_root, stage)
    if not start.batch:
        return stage(SCALAR, start, goal, options)
    with quiet():
        return stage(ARRAY, start, goal, options)


def depends_on_near(chain: Chain, goals: Goals, options: Options) -> bool:
    """Tell whether the pose that is found depends on a solution near (``StartPose.near``).

    It does within limits: with a rotation, whatever the solver, and else with FABRIK, but for two bones with a pole,
    which says where the elbow is. Of 258 drags of an arm and a leg with a pole 46 had a jump with each move solved from
    the pose at the drag's start, and 48 with each solved from the move before, which takes 30 times as long.
    """
    if not chain.has_limits or goals.rotations is not None:
        return chain.has_limits
    return options.solver == "FABRIK" and (goals.poles is None or len(chain.links) > 2)


def _solve_each(start: StartPose, goals: Goals, options: Options) -> ComponentSolution:
    """Solve the poses of a batch one after another: each descent has a number of steps of its own."""
    found = [
        solve_components(start_from(start.chain, pose), desired, options)
        for pose, desired in each_pose(start.chain, start.pose, goals, start.batch)
    ]
    return batch_of(found, start)


def batch_of(found: Sequence[ComponentSolution], start: StartPose) -> ComponentSolution:
    """Return the solutions of the single poses of a batch as that of the batch, which may be empty."""
    batch, bones = start.batch, len(start.links)
    columns = (
        ([one.points for one in found], (bones + 1, 3)),
        ([one.frames for one in found], (bones, 4)),
        ([one.numbers for one in found], (1, 4)),
    )
    points, frames, (numbers,) = (
        ARRAY.split(np.array(column, float).reshape(*batch, *shape), batch) for column, shape in columns
    )
    return ComponentSolution(batch, points, frames, *numbers)


def check_goals(start: StartPose, goals: Goals) -> tuple[StartPose, ChainGoal]:
    """Return the start with the batch axes of pose and goals together, and the goals as components."""
    chain, batch = start.chain, start.batch
    goals_batch = batch_shape(
        ("targets", goals.targets, (1, 3)),
        ("poles", goals.poles, (1, 3)),
        ("rotations of the goals", goals.rotations, (1, 4)),
    )
    if goals_batch and goals_batch != batch:
        try:
            batch = np.broadcast_shapes(goals_batch, batch)
        except ValueError as misfit:
            raise FabrikError(f"the batch shapes of goals {goals_batch} and pose {batch} don't fit") from misfit
        start = start_from(chain, start.pose, batch)
    ops = ARRAY if batch else SCALAR
    (target,) = ops.split(goals.targets, batch)
    if not ops.all(ops.isfinite(add_up(target))):
        raise chain.refusal(0, "target")
    pole, angle, rotation = None, 0.0, None
    if goals.poles is not None:
        (pole,) = ops.split(goals.poles, batch)
        if not ops.all(ops.isfinite(add_up(pole))):
            raise chain.refusal(0, "pole target")
        angle = 0.0 if goals.pole_angles is None else float(goals.pole_angles[0])
        if not math.isfinite(angle):
            raise chain.refusal(0, "pole angle")
    if goals.rotations is not None:
        (rotation,) = ops.split(goals.rotations, batch)
        if fault := rotation_fault(ops, rotation):
            raise chain.refusal(0, "rotation goal", fault)
    return start, ChainGoal(target, pole, angle, rotation)


def with_root_fixed(start: StartPose, goals: Goals, options: Options) -> tuple[Goals, Options]:
    """Return the goals and options that ``move_root`` solves with before it shifts the chain.

    For callers that shift the chain themselves, after the projection of the pose onto what locks and shear allow.
    """
    start, goal = check_goals(start, goals)
    ops = ARRAY if start.batch else SCALAR
    goal, options = goal_with_root_fixed(ops, start, goal, options)
    return replace(goals, targets=joined([goal.target], start.batch)), options
