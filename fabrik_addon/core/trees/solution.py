# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A solution of one pose of a tree, and where the descents of the frame after it start."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..math.operations import Array, Vector
from ..math.quaternions import Quaternion
from ..math.vectors import scale
from ..model.tree_start import StartTree, coordinates_of_tree
from ..model.tree_state import State
from ..optimise.held_descent import Ended
from ..problem import Status
from ..tasks.task_stack import TaskStack
from .pole_sides import turned_to_poles
from .reference_pose import ReferencePose
from .tree_problem import TreeProblem

AS_GOOD = 0.9
"""Ratio of the angles to poles and rotations in another pose to those in this one, above which it is no better, and of
the costs of two poses of a body."""

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
    iterations: int
    """Steps taken from all starts."""
    status: list[int]
    is_balance_active: bool = False
    """Whether the balance task pulls: the center of mass of a body is at an edge of its region."""
    by_weight: State | None = None
    """Where the descent has ended, if the pose differs from that by exact steps or by a bound of its rotation."""
    of_targets: State | None = None
    """``Ended.of_targets``."""
    forces: Array | None = None
    """``Ended.forces``."""
    reference: ReferencePose | None = None
    """Of a tree without pins."""

    @property
    def is_reached(self) -> bool:
        """Whether all effectors are at their targets."""
        return all(status == Status.REACHED for status in self.status)


def solution_of(
    problem: TreeProblem, state: State, found: Ended, reference: ReferencePose | None = None
) -> TreeSolution:
    """Return the solution of a state: where the descent ``found`` has ended, or another one that was taken instead."""
    start = problem.start
    rx, ry, rz = start.root
    unit = start.unit
    distances = [math.hypot(*task.residual(state.placed)) for task in problem.uneased]
    return TreeSolution(
        points=[(rx + unit * x, ry + unit * y, rz + unit * z) for x, y, z in state.placed.joints],
        frames=state.placed.frames,
        shifts=[(unit * x, unit * y, unit * z) for x, y, z in state.shifts.tolist()],
        error=[distance / length for distance, length in zip(distances, start.own_lengths, strict=True)],
        iterations=found.steps,
        status=_statuses(problem, state, distances, found.is_converged),
        is_balance_active=problem.balance is not None and any(problem.balance.residual(state.placed)),
        by_weight=found.by_weight,
        of_targets=found.of_targets,
        forces=found.forces,
        reference=reference,
    )


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
            alone = TaskStack(problem.coordinates, [[(problem.positions[number], 1.0)]])
            is_stuck = alone.gradient_norm(state) <= STUCK * distance
            steps_used_up = not is_converged and not any(problem.pinned) and not problem.is_proven_unmet(state)
            status = Status.STALLED if is_stuck or steps_used_up else Status.OUT_OF_REACH
        found.append(int(status))
    return found


def at_frames(start: StartTree, frames: list[Quaternion], forces: Array | None) -> TreeSolution:
    """Return frames of the bones, by joint, as a solution from which the descent of a near target starts."""
    count, roots = len(start.chain.tips), len(start.tree.structure.roots)
    still: list[Vector] = [(0.0, 0.0, 0.0)] * roots
    unknown = [math.inf] * count, 0, [int(Status.STALLED)] * count
    return TreeSolution([], frames, still, *unknown, forces=forces)


def state_of_previous(problem: TreeProblem, previous: TreeSolution) -> State:
    """Return the state of a solution of the frame before, rotated to the poles of this one."""
    start = problem.start
    shifts = [scale(shift, 1.0 / start.unit) for shift in previous.shifts]
    if not problem.moves_root:
        shifts = [(0.0, 0.0, 0.0)] * len(start.tree.structure.roots)
    return turned_to_poles(problem, problem.state(coordinates_of_tree(start.tree, previous.frames), shifts))


def state_before(problem: TreeProblem, previous: TreeSolution) -> State:
    """Return where the descent of the frame before has ended, or where that isn't known, its solution."""
    return turned_where_known(problem, previous.by_weight) or state_of_previous(problem, previous)


def turned_where_known(problem: TreeProblem, ended: State | None) -> State | None:
    """Return the state that a descent of the frame before ended in, rotated to the poles; None of another skeleton.

    What is nearly met is met exactly after the descent: the state after that isn't where the next one ends up. From it
    a hand that is dragged beyond reach took up to 23 ms (95th percentile), from this one 12. Frames between others on a
    path across the body, with poles (bench row "bake-body"), took 5.8 steps instead of 3.7.
    """
    tree = problem.start.tree
    if ended is None or ended.tree.structure is not tree.structure:
        return None
    return turned_to_poles(problem, ended if ended.tree is tree else problem.state(ended.coordinates, ended.shifts))
