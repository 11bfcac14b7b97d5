# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rotation and pole of a chain within limits, as tasks of a tree."""

import math
from dataclasses import replace

import numpy as np

from ..math.operations import Operations
from ..math.quaternion_arrays import largest_angle
from ..model.chain_start import NearSolution, StartPose
from ..model.tree_start import start_tree
from ..problem import Goals, Options, Pose, Status
from ..solve_tree import solve_tree_components
from ..solvers.table import solver_for
from ..trees.solution import TreeSolution, at_frames
from .stage import ChainGoal, ComponentSolution, Stage

_FURTHER_SOLVES = 4
"""Further solves, at most, each with the solution before as the reference pose. Without them a second press of Solve
rotated bones of Rigify's limbs, with a pole and a rotation, by more than 2 degrees for 71 of 353 targets, with them for
12; and of 60 rotations that limits allow one stayed 2.6 degrees off, with them none does."""

_SAME_POSE = 1e-3
"""Largest rotation of a bone (radians) by a further solve after which there is no other."""

_ERROR_RATIO = 0.25
"""Largest ratio of the error of the pose without the rotation to the error in which the first descent ended, at which a
second one starts from the former although its tip isn't at the target: for less the bones shouldn't jump."""


def reach_as_tree(
    after: Stage, ops: Operations, start: StartPose, goal: ChainGoal, options: Options
) -> ComponentSolution:
    """Bring a chain within limits to its target, and to rotation and pole as far as the tip stays as near to it.

    For one pose, not for a batch. They are tasks of a tree of this one chain (``solve_tree``), with the target before
    the others. Its descent starts

    1. from ``StartPose.near`` where it is known: the solution of the move or frame before;
    2. else from the pose at hand, if its tip is at the target;
    3. else from the pose that the next stage finds without the rotation. Where a descent from 1 or 2 ends off a target
       within reach, a second one starts from that pose, if that is at the target or much nearer (``_ERROR_RATIO``).
       Where it also ends off the target, and that pose is at it, that pose is the result: a rotation takes no tip from
       a target that limits let it reach.

    Where no solution near is known, the chain is solved again with the pose found as the reference pose, until that
    stays (``_FURTHER_SOLVES``): the forces of rotation and pole are bounded, and the posture task keeps a pose that is
    far from the reference pose from meeting them.

    A pole without a rotation comes here only where a solution near is known: from the pose at hand a second solve would
    rotate a chain beyond reach again, by up to 48 degrees, and each would take 5 to 20 times as long.

    The options' iterations bound the next stage alone.
    """
    chain = start.chain
    solver_for(chain, options)  # which refuses chains that it can't solve, also where the next stage isn't needed
    tree = start_tree(chain, start.pose)
    goals = Goals(
        np.array([goal.target]),
        rotations=None if goal.rotation is None else np.array([goal.rotation]),
        poles=None if goal.pole is None else np.array([goal.pole]),
        pole_angles=np.array([goal.pole_angle]),
        pole_shapes=(chain.pole_shape,),
    )
    tree_options = replace(options, moves_root=False, stretch_max=1.0, solver="FABRIK")

    def descended(near: NearSolution) -> TreeSolution:
        previous = at_frames(tree, [*near.frames, near.frames[-1]], near.forces)
        return solve_tree_components(tree, goals, tree_options, previous)

    begin, found, iterations = start.near, None, 0.0
    if (
        begin is None
        and math.dist(goals.targets[0], start.pose.positions[-1]) <= options.tolerance * chain.total_length
    ):
        begin = NearSolution(start.frames[:-1])
    if begin is not None:
        found = descended(begin)
        iterations += found.iterations
    if found is None or found.status[0] not in (Status.REACHED, Status.OUT_OF_REACH):
        plain = after(ops, start, goal._replace(rotation=None), options)
        iterations += float(plain.iterations)
        if found is None or plain.error <= max(options.tolerance, _ERROR_RATIO * found.error[0]):
            found = descended(NearSolution(plain.frames))
            iterations += found.iterations
        if plain.error <= options.tolerance and found.status[0] != Status.REACHED:
            return plain._replace(iterations=iterations)
    for _ in range(_FURTHER_SOLVES if start.near is None and found.status[0] == Status.REACHED else 0):
        solved = start_tree(chain, Pose(np.array(found.points), np.array(found.frames), start.pose.base))
        again = solve_tree_components(solved, goals, tree_options, at_frames(solved, found.frames, None))
        iterations += again.iterations
        if again.status[0] != Status.REACHED or largest_angle(again.frames, found.frames) <= _SAME_POSE:
            break
        found = again
    frames = found.frames[:-1]
    ended = frames if found.by_weight is None else found.by_weight.placed.frames[:-1]
    near = NearSolution(ended, found.forces)
    return ComponentSolution((), found.points, frames, found.error[0], iterations, found.status[0], 1.0, near)
