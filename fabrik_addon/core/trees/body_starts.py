# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Other starts for the descent of a body that ends with tasks unmet: rotated as a whole to its targets, limbs bent.

A descent from the pose at hand ends in a local minimum where the hips have to turn far, and where an elbow or knee is
straight: at the limit of a straight hinge the distance from shoulder to hand has no derivative by the hinge's angle.
The targets decide how far the body as a whole turns (Wahba's problem, ``math.rigid_fit``), and the limits to which side
a hinge bends.
"""

import math
from collections.abc import Iterator

import numpy as np

from ..math.quaternions import IDENTITY, Quaternion, multiply, rotate
from ..math.rigid_fit import axes_of, fit_frame
from ..model.joint_limits import hinge_axis
from ..model.tree_start import coordinates_of_tree
from ..model.tree_state import State
from ..tasks.orientation_task import OrientationTask
from .tree_problem import TreeProblem

BEND = 0.6
"""Least angle (radians) by which hinges are bent in another start: with 0.3 a few more of 180 captured poses (bench row
"body-reconstruction") end in a worse minimum."""

FITS = 5
"""Fits of the whole body's rotation, of at most four iterations each: half a turn takes more than one."""


def other_starts(problem: TreeProblem, pose: State) -> Iterator[State]:
    """Yield other poses of a body to start from: at its targets as a whole, and where it is, each with bent hinges."""
    if problem.moves_root:
        yield _bent(problem, _fitted(problem, pose))
    yield _bent(problem, pose)


def _fitted(problem: TreeProblem, pose: State) -> State:
    """Return a pose rotated and moved as a whole so that its effectors and rotations are nearest to their targets."""
    placed, tree = pose.placed, problem.start.tree
    ends = [
        (placed.joints[position.joint], position.target)
        for position, tolerance in zip(problem.positions, problem.tolerances, strict=True)
        if position.target is not None and math.isfinite(tolerance)
    ]
    if not ends:
        return pose
    pairs = np.array(ends, float)
    here, there = pairs.mean(axis=0)
    offsets, desired = (pairs - (here, there)).transpose(1, 0, 2).tolist()
    weights = [1.0] * len(pairs)
    for task in problem.rotations.values():
        if task.axis is None:
            offsets += axes_of(placed.frame(task.bone))
            desired += axes_of(task.frame)
            weights += [OrientationTask.scale**2] * 3
    turn: Quaternion = IDENTITY
    for _ in range(FITS):
        turn = fit_frame(turn, offsets, desired, weights)
    rotated = coordinates_of_tree(tree, [multiply(turn, frame) for frame in placed.frames])
    roots = [np.array(rotate(turn, tuple(placed.points[root] - here))) + there for root in tree.structure.roots]
    shifts = [tuple(at - problem.start.points[root]) for at, root in zip(roots, tree.structure.roots, strict=True)]
    return problem.state(rotated, shifts)


def _bent(problem: TreeProblem, pose: State) -> State:
    """Return a pose whose hinges are bent by ``BEND`` or more, or to a limit, to the side that allows more."""
    structure, coordinates = problem.start.tree.structure, [*pose.coordinates]
    for bone in structure.bones:
        limits = structure.limits[bone]
        axis = None if structure.is_free[bone] else hinge_axis(limits)
        if axis is None:
            continue
        lower, upper = limits.lower[axis], limits.upper[axis]
        bend = BEND if axis == 1 else math.sin(0.5 * BEND)  # the coordinate of a swing is a half-sine
        own = [*coordinates[bone]]
        own[axis] = max(own[axis], min(bend, upper)) if upper > -lower else min(own[axis], max(-bend, lower))
        coordinates[bone] = tuple(own)
    return problem.state(coordinates, pose.shifts)
