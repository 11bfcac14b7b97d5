# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several tasks on all joints of a tree at once, by strict priority: damped least squares in null spaces.

Level k of the tasks has residuals r_k and the Jacobian J_k; W are the weights of the joint coordinates. One step is

    J~_k = J_k N_{k-1}          dq_k = W J~_k^T (J~_k W J~_k^T + lambda_k I)^-1 (r_k - J_k (dq_1 + ... + dq_{k-1}))
    N_k = N_{k-1} - W J~_k^T (J~_k W J~_k^T)^-1 J~_k,  N_0 = I
    dq = dq_1 + ... + dq_K + N_K (q_reference - q)

after Siciliano and Slotine (1991). A lower level moves in the null space of those above, so that to first order no
level is worse for what comes below it; the posture task, which is the last level and has no other rows than the
coordinates themselves, holds all that the tasks leave open near a reference pose. So the pose is, locally, a function
of the targets: without the posture task it wanders within the set of poses that meet them. The posture task's part
N_K (q_reference - q) of a step is extrapolated from that of the step before (``_extrapolated``).

lambda_k grows with the level's residual (Fan and Yuan 2005): it stands for the second derivative that Gauss-Newton
leaves out, which is in proportion to the residual, and vanishes where the level is met.

Bounds are an active set: a coordinate that a step would take out of its limits stops at the limit, and the step is
solved again for the others. A step is taken where the sum of the levels' residuals, each weighted PENALTY times more
than the next (an exact penalty: Nocedal and Wright, section 15.4), falls, or where that sum stays and the residual of
the posture task falls, and where no step leaves the first level worse than ``NEAR_FIRST``. A step that is not taken is
corrected once for its own curvature (second-order correction: Nocedal and Wright, section 15.6), then made shorter.
Where a descent ends with a task that can't be met, the levels above that task are met exactly again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from ..math.factorisation import positive_inverse
from ..math.operations import SCALAR, TINY, Array
from ..model.joint_limits import AT_LIMIT
from ..model.skeleton import Tree
from ..model.tree_arrays import PlacedTree
from .balance_task import BalanceTask
from .floor_task import FloorTask
from .look_at_task import LookAtTask
from .swivel_task import SwivelTask
from .tasks import OrientationTask, PoleTask, PositionTask, State, Task

DAMPING = 0.3
"""lambda over the length of a level's residual: about half a lever arm, in units of the tree's longest way."""

LEAST_DAMPING = 1e-8
"""lambda of a level that is met."""

POLE_DAMPING = 1e-5
"""lambda of a level with poles that is met: a chain whose joints are less than its root, 3e-3 of the tree's unit, off
the chord doesn't turn about the chord to bend to its pole. Without it a straight arm turned by 117 degrees in one step
of its target."""

PROJECTOR = 1e-9
"""Added to J~ W J~^T of a projector over its trace: singular directions count as open."""

PENALTY = 100.0
"""Weight of a level's residual over that of the next level's in the cost."""

LONGEST = 1.0
"""Length of a step at most: root of the sum of the squared changes (radians, or units for a root)."""

LEAST_GAMMA = -3.0
"""Least gamma with which the posture part of a step is extrapolated (``_extrapolated``): it grows fourfold at most."""

LARGEST_GROWTH = 2.0
"""Ratio of a posture part's length to that of the step before, above which it isn't extrapolated."""

SHORTEST = 1e-7
"""Largest change in a step below which a descent ends."""

CONVERGED_TASKS = 3e-7
"""Length of J dq of the tasks' part of a step that counts as none, in the tree's units."""

CONVERGED_POSTURE = 1e-4
"""Length (radians) of the posture task's part of a step that counts as none."""

RESTORING_STEPS = 12
"""Steps at most that bring met levels back to where they are met exactly, at the end of a descent."""

RESTORING_DAMPING = 1e-3
"""``DAMPING`` of those steps: chains at full extension come back slowly with more."""

MET, EXACT = 1e-2, 1e-7
"""Length of a level's residual, in the tree's units: below which it is met but for curvature, and met exactly."""

SLACK = 3e-5
"""By how much the cost may grow in a step that brings the pose nearer to the reference pose: its own curvature."""

STALE = 6
"""Steps in which neither the cost nor the posture task's step is halved that end a descent where all but poles is met,
or all is nearly met. A chain that is stretched straight has no bend to turn to its pole, and went on for 50 steps; near
singular poses of trees with up to 11 effectors the damping kept residuals of 1e-4 until all 80 steps were used up."""

NEAR_FIRST = 3e-4
"""Length of the first level's residual, in the tree's units, that no step may leave behind where it was less."""

CLOSELY_MET = 1e-5
"""Length of a level's residual, in the tree's units, up to which the level is closely met. A descent without progress
ends where all levels but that of the poles are, and steps that restore met levels end where all levels are."""

UNMET = 1e-3
"""Cost above which some task isn't met."""

SLOW = 2e-3
"""Share of the cost that a step must take away where some task isn't met; two in a row with less end a descent."""

ROUNDS = 3
"""Solutions of one step at most, each with the coordinates at their limits that the one before took there."""


@dataclass(frozen=True)
class Descent:
    """Tasks by level, over the coordinates of a tree."""

    tree: Tree
    levels: Sequence[Sequence[tuple[Task, float]]]
    """Tasks with their weights within their level; the first level comes before all others."""
    moves_roots: bool
    preferences: Sequence[tuple[Task, float]] = ()
    """Tasks with their weights beside the posture task, for a descent by weight."""

    @cached_property
    def weighted_tasks(self) -> list[tuple[Task, float]]:
        """All tasks with their weights, level by level, then the preferences."""
        return [*(task for level in self.levels for task in level), *self.preferences]

    @cached_property
    def tasks(self) -> list[Task]:
        """All tasks, in that order."""
        return [task for task, _ in self.weighted_tasks]

    @cached_property
    def _rows(self) -> list[tuple[Task, int]]:
        """All tasks, and the first row of each."""
        ends = np.cumsum([0, *(task.rows for task in self.tasks)]).tolist()
        return [*zip(self.tasks, ends, strict=False)]

    @cached_property
    def spans(self) -> list[slice]:
        """Rows of each level."""
        found, row = [], 0
        for level in self.levels:
            count = sum(task.rows for task, _ in level)
            found.append(slice(row, row + count))
            row += count
        return found

    @cached_property
    def row_weights(self) -> Array:
        """(M,) square roots of the tasks' weights."""
        return np.array([weight**0.5 for task, weight in self.weighted_tasks for _ in range(task.rows)])

    @cached_property
    def least_dampings(self) -> list[float]:
        """Damping, lambda, of each level where it is met."""
        return [
            POLE_DAMPING if any(isinstance(task, PoleTask) for task, _ in level) else LEAST_DAMPING
            for level in self.levels
        ]

    @property
    def has_poles(self) -> bool:
        """Whether the last level has poles."""
        return self.least_dampings[-1] == POLE_DAMPING

    @cached_property
    def shift_count(self) -> int:
        """Columns of the roots' shifts."""
        return 3 * len(self.tree.roots) if self.moves_roots else 0

    @cached_property
    def weights(self) -> Array:
        """(N + S,) W: how readily each coordinate changes, its bone's share of a step (``Tree.shares``)."""
        structure = self.tree.structure
        own = np.array(self.tree.shares).reshape(-1).take(structure.flat_columns) * structure.weights
        return np.concatenate([own, np.ones(self.shift_count)])

    @cached_property
    def inverse_posture_weights(self) -> Array:
        """(N + S,) P^-1, inverse weights in the posture task: W over ``Tree.posture_weights``.

        Without those over ``Tree.carried_lengths``.
        """
        own = self.tree.posture_weights or self.tree.carried_lengths
        structure = self.tree.structure
        shifted = np.repeat(structure.root_rows, 3) if self.shift_count else structure.root_rows[:0]
        found: Array = self.weights / np.array(own)[np.concatenate([structure.column_bones, shifted])]
        return found

    @cached_property
    def joints(self) -> list[int]:
        """The joints whose motion the tasks' Jacobians need."""
        found: dict[int, None] = {}
        for task in self.tasks:
            if isinstance(task, PositionTask):
                found[task.joint] = None
                if task.target is None:
                    found[task.meets] = None
            elif isinstance(task, (PoleTask, SwivelTask)):
                found.update(dict.fromkeys(task.joints))
            elif isinstance(task, (BalanceTask, FloorTask)):
                found.update(dict.fromkeys(task.bones))
            elif isinstance(task, LookAtTask):
                found[task.bone] = None
        return list(found)

    @cached_property
    def carried(self) -> tuple[NDArray[np.intp], Array]:
        """(K, B) the joint that moves as each of those does with a bone, and (K, B, 1) 1 where it moves at all."""
        which, moves = self.tree.structure.carried
        return which[self.joints], moves[self.joints]

    @cached_property
    def shifted(self) -> Array:
        """(3 K, S) how the joints move with the roots' shifts, x, y and z after one another."""
        found = np.zeros((len(self.joints), 3, self.shift_count))
        if self.shift_count:
            for row, joint in enumerate(self.joints):
                root = self.tree.structure.root_of[joint]
                if root >= 0:
                    first = 3 * self.tree.roots.index(root)
                    found[row, :, first : first + 3] = np.eye(3)
        return found.reshape(-1, self.shift_count)

    def with_levels(
        self, levels: Sequence[Sequence[tuple[Task, float]]], preferences: Sequence[tuple[Task, float]] = ()
    ) -> Descent:
        """Return the descent of other tasks of the same tree; what depends on the tree alone isn't computed again."""
        made = Descent(self.tree, levels, self.moves_roots, preferences)
        made.__dict__.update({name: self.__dict__[name] for name in _OF_TREE if name in self.__dict__})
        return made

    @cached_property
    def first_level(self) -> Descent:
        """The descent of the first level's tasks alone."""
        return self.with_levels(self.levels[:1])

    @cached_property
    def below_first_level(self) -> Descent:
        """The descent of all other tasks."""
        return self.with_levels(self.levels[1:], self.preferences)

    def residual(self, state: State, bends: Sequence[float] | None = None) -> tuple[Array, list[float]]:
        """Return the residuals (M,), weighted, and how far each pole task's chain is bent.

        Args:
            state: the pose.
            bends: to take instead of the state's own, so that the residuals of two poses can be compared: the residual
                of a pole task is the angle to the pole times the bend, which falls as a chain straightens.
        """
        placed = state.placed
        joints, targets, rows = self.at_points
        at_points = targets - placed.points.take(joints, 0)
        if not self.other_tasks:
            return at_points.reshape(-1) * self.row_weights, []
        found = np.empty(len(self.row_weights))
        found[rows] = at_points
        sizes: list[float] = []
        for task, row in self.other_tasks:
            if isinstance(task, PoleTask):
                angle, size, _ = task.gradient(placed)
                sizes.append(size)
                found[row] = -angle * (size if bends is None else bends[len(sizes) - 1])
            else:
                found[row : row + task.rows] = task.residual(SCALAR, placed)
        found *= self.row_weights
        return found, sizes

    @cached_property
    def metric(self) -> Array:
        """(N + S,) weights 1 / W of the squared coordinates in the length of the way to the reference pose."""
        return 1.0 / np.maximum(self.weights, 1e-2)

    def errors(self, residual: Array) -> list[float]:
        """Return the length of each level's residual."""
        return [math.sqrt(float(residual[span] @ residual[span])) for span in self.spans]

    @cached_property
    def at_points(self) -> tuple[NDArray[np.intp], Array, NDArray[np.intp]]:
        """Joints (P,) that should be at points (P, 3) without slack, and the rows (P, 3) of those tasks."""
        found = [(task.joint, task.target, row) for task, row in self._rows if _is_at_point(task)]
        joints = np.array([joint for joint, _, _ in found], np.intp)
        targets = np.array([target for _, target, _ in found], float).reshape(-1, 3)
        rows = np.array([row for _, _, row in found], np.intp)[:, None] + np.arange(3)
        return joints, targets, rows

    @cached_property
    def other_tasks(self) -> list[tuple[Task, int]]:
        """The other tasks, and the first row of each."""
        return [(task, row) for task, row in self._rows if not _is_at_point(task)]

    @cached_property
    def _oriented(self) -> tuple[list[OrientationTask], Array, NDArray[np.intp]]:
        """The tasks of whole frames, (T, 1, N) 1 where a column rotates the bone of each, and their rows (T, 3)."""
        found = [(task, row) for task, row in self.other_tasks if _is_of_whole_frame(task)]
        tasks = [task for task, _ in found]
        rows = np.array([row for _, row in found], np.intp)[:, None] + np.arange(3)
        return tasks, self.tree.structure.turned[[task.bone for task in tasks], None], rows

    @cached_property
    def _single_tasks(self) -> list[tuple[Task, int]]:
        """The tasks whose rows of J are computed one task after another, and the first row of each."""
        return [(task, row) for task, row in self.other_tasks if not _is_of_whole_frame(task)]

    @cached_property
    def _joint_rows(self) -> dict[int, int]:
        """Place of each joint in ``joints``."""
        return {joint: row for row, joint in enumerate(self.joints)}

    @cached_property
    def _point_rows(self) -> NDArray[np.intp]:
        """(P,) those of the joints of ``at_points``."""
        return np.array([self._joint_rows[joint] for joint in self.at_points[0].tolist()], np.intp)

    @cached_property
    def are_own_rows(self) -> bool:
        """Whether the rows of J are those of the joints' motions, one after another."""
        return not self.other_tasks and self.at_points[0].tolist() == self.joints

    def motions(self, state: State) -> tuple[Array, Array]:
        """Return the axes (B, 3, 3), columns, of the bones, and how the joints of ``joints`` move (3 K, N + S)."""
        bone_axes = self.tree.arrays.axes(state.placed, state.swing_twists)
        moved = self.tree.arrays.moved(state.placed, self.carried, bone_axes)
        if self.shift_count:
            moved = np.concatenate([moved, self.shifted], axis=1)
        return bone_axes, moved

    def jacobian(self, state: State, motions: tuple[Array, Array] | None = None) -> Array:
        """Return J (M, N + S), weighted; from the state's ``motions`` where the caller has them."""
        structure, placed = self.tree.structure, state.placed
        bone_axes, moved = motions or self.motions(state)
        if self.are_own_rows:
            return moved * self.row_weights[:, None]
        jacobian = np.zeros((len(self.row_weights), moved.shape[1]))
        by_joint = moved.reshape(len(self.joints), 3, -1)
        number = self._joint_rows
        jacobian[self.at_points[2]] = by_joint.take(self._point_rows, 0)
        axes = bone_axes.transpose(0, 2, 1).reshape(-1, 3).take(structure.chosen, 0)
        oriented, turned_axes, rows = self._oriented
        if oriented:
            factors = np.array([task.factor(placed) for task in oriented])
            jacobian[rows, : len(axes)] = factors[:, None, None] * (turned_axes * axes.T)
        for task, row in self._single_tasks:
            own = jacobian[row : row + task.rows]
            if isinstance(task, PositionTask):
                own[:] = by_joint[number[task.joint]]
                if task.target is None:
                    own -= by_joint[number[task.meets]]
                own[:] = task.moving(placed, own)
            elif isinstance(task, OrientationTask):
                own[:, : len(axes)] = task.turning(placed, structure.turned[task.bone][:, None] * axes).T
            elif isinstance(task, LookAtTask):
                turned = structure.turned[task.bone][:, None] * axes
                found = task.rows_of(placed, by_joint[number[task.bone], :, : len(axes)].T, turned)
                own[:, : len(axes)] = np.where(np.isin(structure.column_bones, task.turning), found, 0.0)
            elif isinstance(task, SwivelTask):
                of_joints = by_joint[[number[joint] for joint in task.joints]].transpose(0, 2, 1)
                own[0] = task.row(placed, of_joints, structure.turned[task.bone][:, None] * axes)
            elif isinstance(task, PoleTask):
                gradient = np.array(task.gradient(placed)[2])
                own[0] = gradient.reshape(-1) @ by_joint[[number[joint] for joint in task.joints]].reshape(
                    gradient.size, -1
                )
            else:
                of_bones = by_joint[[number[bone] for bone in task.bones]].transpose(0, 2, 1)
                own[:] = (
                    self._balance_rows(task, placed, of_bones, axes)
                    if isinstance(task, BalanceTask)
                    else self._floor_rows(task, placed, of_bones, axes)
                )
        jacobian *= self.row_weights[:, None]
        return jacobian

    def curvature(self, motions: tuple[Array, Array], forces: Array) -> Array:
        """Return K (N + S, N + S), the part of half the cost's second derivatives that is from tasks at points.

        With f the force on a joint at p, toward its target, a_c and a_d the axes of two columns of which c rotates the
        frame of d, and p_d the head of d's bone, ``K_cd = -f . (a_c x (a_d x (p - p_d))) = (a_c x f) . dp/dq_d``, added
        up over the joints; of two columns of one bone it is the mean of both orders. For a straight chain of length L
        under the force F, ``K_cc`` of its root is F L, a pendulum's stiffness.

        K is 0 where a floor or a balance task has a residual: the second derivatives of those aren't computed, and K of
        the other forces alone is wrong.

        Args:
            motions: of the state.
            forces: (M,) W r.
        """
        structure = self.tree.structure
        bone_axes, moved = motions
        _, _, rows = self.at_points
        count = len(structure.chosen)
        found = np.zeros((moved.shape[1], moved.shape[1]))
        if any(forces[span].any() for span in self._pushing):
            return found
        axes = bone_axes.transpose(0, 2, 1).reshape(-1, 3).take(structure.chosen, 0)
        by_joint = moved.reshape(len(self.joints), 3, -1).take(self._point_rows, 0)[:, :, :count]
        on_joints = (forces * self.row_weights)[rows]
        across = np.cross(axes[:, None], on_joints) * self._point_moves.T[:, :, None]
        half = structure.turns_columns * (across.reshape(count, -1) @ by_joint.reshape(-1, count))
        found[:count, :count] = half + half.T
        return found

    @cached_property
    def _pushing(self) -> list[slice]:
        """Rows of the balance and floor tasks."""
        return [
            slice(row, row + task.rows) for task, row in self.other_tasks if isinstance(task, (BalanceTask, FloorTask))
        ]

    @cached_property
    def _point_moves(self) -> Array:
        """(P, N) 1 where a column's bone moves a joint of ``at_points``."""
        structure = self.tree.structure
        row = {bone: number for number, bone in enumerate(structure.turning)}
        return self.carried[1][self._point_rows][:, [row[bone] for bone in structure.column_bones.tolist()], 0]

    def _balance_rows(self, task: BalanceTask, placed: PlacedTree, moved: Array, axes: Array) -> Array:
        """Return how the center of mass moves back over the edges with each coordinate (E, N + S).

        Args:
            task: the balance task.
            placed: the pose.
            moved: (B, N + S, 3) how the joints of the bones with masses move with each coordinate.
            axes: (N, 3) axes of the columns.
        """
        center = np.tensordot(task.masses, moved, axes=1)
        turned = self.tree.structure.turned[task.bones]
        center[: len(axes)] += np.cross(axes, turned.T @ (task.masses[:, None] * task.arms(placed)))
        found: Array = task.across(placed) @ task.axes @ center.T
        return found

    def _floor_rows(self, task: FloorTask, placed: PlacedTree, moved: Array, axes: Array) -> Array:
        """Return how points below the floor rise with each coordinate (P, N + S), 0 for those above it.

        Args:
            task: the floor task.
            placed: the pose.
            moved: (P, N + S, 3) how the joints of the points' bones move with each coordinate.
            axes: (N, 3) axes of the columns.
        """
        rises: Array = moved @ task.up
        if not (task.below(placed) > 0.0).any():
            return np.zeros(rises.shape)
        turned = self.tree.structure.turned[task.bones]
        # up . (axis x arm) = axis . (arm x up)
        rises[:, : len(axes)] += turned * (np.cross(task.arms(placed), task.up) @ axes.T)
        return rises * (task.below(placed) > 0.0)[:, None]

    def gradient_norm(self, state: State) -> float:
        """Return |W J^T r|, the length of half the cost's gradient by weighted coordinates."""
        residual, _ = self.residual(state)
        return float(np.linalg.norm(self.weights * (self.jacobian(state).T @ residual)))

    def to_reference(self, state: State, reference: State | None) -> Array:
        """Return q_reference - q (N + S,): rotation vectors of free bones, coordinates of the others; 0 without one."""
        if reference is None:
            return np.zeros(len(self.weights))
        arrays = self.tree.arrays
        way = arrays.way(state.rotations, state.swing_twists, (reference.rotations, reference.swing_twists))
        found: Array = way.reshape(-1).take(self.tree.structure.flat_columns)
        if self.shift_count:
            found = np.concatenate([found, (reference.shifts - state.shifts).reshape(-1)])
        return found

    def applied(self, state: State, change: Array) -> State:
        """Return the state after a change (N + S,) of the coordinates, within limits."""
        arrays = self.tree.arrays
        columns = self.tree.structure.flat_columns
        by_joint = np.zeros((len(state.rotations), 3))
        by_joint.reshape(-1)[columns] = change[: len(columns)]
        rotations, swing_twists = arrays.rotated(state.rotations, state.swing_twists, by_joint)
        shifts = state.shifts + change[len(columns) :].reshape(-1, 3) if self.shift_count else state.shifts
        return State(self.tree, rotations, swing_twists, shifts)

    def bounds(self, state: State) -> tuple[Array, Array]:
        """Return how far each coordinate may go down and up (N + S,); on an ellipse's axes only as far as its box."""
        structure = self.tree.structure
        lower, upper = self.ends
        numbers, places = structure.limited_columns
        values = np.zeros(len(lower))
        values[numbers] = state.swing_twists.reshape(-1).take(places)
        return lower - values, upper - values

    @cached_property
    def ends(self) -> tuple[Array, Array]:
        """(N + S,), (N + S,) smallest and largest value of each coordinate."""
        lower, upper = self.tree.structure.ends
        more = np.full(self.shift_count, np.inf)
        return np.concatenate([lower, -more]), np.concatenate([upper, more])

    def ellipses(self, state: State) -> tuple[Array, Array]:
        """Return the share of each swing of its ellipse (E,), 1 on it, and the outward normals there (E, 2)."""
        swings, radii = self.tree.structure.swings(state.swing_twists)
        across = swings / radii
        share = np.hypot(across[:, 0], across[:, 1])
        across /= radii
        return share, across / (np.hypot(across[:, 0], across[:, 1]) + TINY)[:, None]


def _is_at_point(task: Task) -> TypeGuard[PositionTask]:
    return isinstance(task, PositionTask) and task.target is not None and task.slack == 0.0


def _is_of_whole_frame(task: Task) -> TypeGuard[OrientationTask]:
    return isinstance(task, OrientationTask) and task.axis is None


_OF_TREE = ("weights", "inverse_posture_weights", "metric", "ends")
"""The cached properties of a descent that don't depend on its tasks."""

Solve: TypeAlias = Callable[[Array, Array, Array, Array], tuple[Array, Array]]
"""(Jacobian, residual, weights of the coordinates with 0 for those at their limits, way to the reference): the tasks'
part of a step and that of the posture task, both (N + S,)."""


@dataclass
class _Levels:
    """A step by strict priority: solves the levels one after another, and keeps the first pseudo-inverses."""

    descent: Descent
    dampings: Sequence[float]
    """lambda of each level."""
    solved: list[tuple[slice, Array, Array, Array]] = field(default_factory=list)
    """Rows of each level, J (R, N + S), J~ (R, N + S) and the pseudo-inverse of J~ (N + S, R), without limits."""

    def __call__(self, jacobian: Array, residual: Array, weights: Array, toward: Array) -> tuple[Array, Array]:
        """Return the tasks' part of a step and that of the posture task, both (N + S,)."""
        solved: list[tuple[slice, Array, Array, Array]] = []
        change = np.zeros(len(weights))
        for span, damping in zip(self.descent.spans, self.dampings, strict=True):
            rows = jacobian[span]
            if not len(rows):
                continue
            open_rows, left = rows, residual[span]
            if solved:
                left = left - rows @ change
                for _, _, others, pseudo_inverse in solved:
                    open_rows = open_rows - (rows @ pseudo_inverse) @ others
            weighted = open_rows * weights
            normal = weighted @ open_rows.T
            trace = float(normal.trace())
            if trace <= 1e-14:
                continue
            least = PROJECTOR * trace
            both = np.array([normal, normal])
            both.reshape(2, -1)[:, :: len(rows) + 1] += [[least], [least + damping]]
            inverse, damped = positive_inverse(both, least)
            change += (damped @ left) @ weighted
            solved.append((span, rows, open_rows, weighted.T @ inverse))
        posture = toward * (weights > 0.0)
        if posture.any():
            for _, _, rows, pseudo_inverse in solved:
                posture -= pseudo_inverse @ (rows @ posture)
        self.solved = self.solved or solved
        return change, posture

    def correction(self, left: Array) -> Array:
        """Return the second-order correction of the step (N + S,): for what its own curvature left of the residuals.

        Nocedal and Wright, section 15.6. The pseudo-inverses are those of the step without limits: with coordinates at
        their limits left out the hand of a human that is led beyond reach stayed farther from its target by 0.006 of
        the height, and a bone rotated by 2.3 times the median step's rotation in one step instead of 1.2.
        """
        found = np.zeros(len(self.descent.weights))
        for span, rows, _, pseudo_inverse in self.solved:
            found += pseudo_inverse @ (left[span] - rows @ found)
        return found


def _step(
    descent: Descent, state: State, residual: Array, jacobian: Array, toward: Array, damping: float = DAMPING
) -> tuple[Array, Array, _Levels]:
    """Return the tasks' and the posture task's part of a step that ends within limits, and how it was solved."""
    errors = descent.errors(residual)
    dampings = [damping * error + least for error, least in zip(errors, descent.least_dampings, strict=True)]
    levels = _Levels(descent, dampings)
    return *bounded_step(descent, state, jacobian, residual, levels, toward), levels


def bounded_step(
    descent: Descent, state: State, jacobian: Array, residual: Array, solve: Solve, toward: Array | None = None
) -> tuple[Array, Array]:
    """Return the tasks' and the posture task's part of a step that ends within limits.

    Args:
        descent: the tree and its coordinates.
        state: before the step.
        jacobian: J (M, N + S), weighted.
        residual: (M,), weighted.
        solve: returns both parts without limits.
        toward: q_reference - q (N + S,); None without a posture task.
    """
    toward = np.zeros(len(descent.weights)) if toward is None else toward
    if not state.swing_twists.size:
        return solve(jacobian, residual, descent.weights, toward)
    down, up = descent.bounds(state)
    ellipses = _ellipses_reached(descent, state)
    weights = descent.weights.copy()
    fixed = np.zeros(len(weights))
    tasks = posture = fixed
    for _ in range(ROUNDS):
        tasks, posture = solve(jacobian, residual - jacobian @ fixed, weights, toward)
        change = tasks + posture
        is_free = weights > 0.0
        above, below = is_free & (change > up), is_free & (change < down)
        is_out = above | below
        leaves = [
            (i, k, nx, nz) for i, k, nx, nz in ellipses if weights[i] > 0.0 and nx * change[i] + nz * change[k] > 1e-12
        ]
        if not leaves and not is_out.any():
            break
        fixed = fixed + np.where(above, up, 0.0) + np.where(below, down, 0.0)
        weights[is_out] = 0.0
        if leaves:
            jacobian, toward = along_ellipses(jacobian, toward, leaves)
            ellipses = [each for each in ellipses if each not in leaves]
    return tasks + fixed, posture


def _ellipses_reached(descent: Descent, state: State) -> list[tuple[int, int, float, float]]:
    """Return the columns of the swings that are on their ellipses, with the normals there."""
    share, normals = descent.ellipses(state)
    reached = np.flatnonzero(share >= 1.0 - AT_LIMIT).tolist()
    if not reached:
        return []
    first, second = descent.tree.structure.swing_columns
    return [(int(first[n]), int(second[n]), float(normals[n, 0]), float(normals[n, 1])) for n in reached]


def along_ellipses(
    jacobian: Array, toward: Array, leaves: Sequence[tuple[int, int, float, float]]
) -> tuple[Array, Array]:
    """Return J (M, N + S) and the way to the reference pose (N + S,) without their parts across ellipses.

    Args:
        jacobian: J.
        toward: q_reference - q.
        leaves: of each swing that a step would take out of its ellipse, both columns and the normal there.
    """
    jacobian, toward = jacobian.copy(), toward.copy()
    for i, k, nx, nz in leaves:
        across = nx * jacobian[:, i] + nz * jacobian[:, k]
        jacobian[:, i] -= nx * across
        jacobian[:, k] -= nz * across
        part = nx * toward[i] + nz * toward[k]
        toward[i] -= nx * part
        toward[k] -= nz * part
    return jacobian, toward


class _Cost(NamedTuple):
    """The costs that a step has to reduce."""

    tasks: float
    """Sum of the levels' residuals, each weighted PENALTY times more than the next."""
    posture: float
    """Squared way to the reference pose, each coordinate over its weight."""
    first: float
    """Length of the first level's residual; 0 where no other level is below it."""


class _Trial(NamedTuple):
    """A state that a step leads to."""

    state: State
    residual: Array
    toward: Array
    """Way to the reference pose (N + S,)."""
    cost: _Cost


def descend_by_priority(descent: Descent, start: State, reference: State | None, steps: int) -> tuple[State, int, bool]:
    """Bring a pose to where the tasks are met by priority, and nearest to a reference pose among those.

    Args:
        descent: tasks by level.
        start: coordinates and shifts to start from, within limits.
        reference: coordinates and shifts that the posture task stays near to; None leaves the posture task out.
        steps: at most.

    Returns:
        the last state that was accepted, how many were, and whether the descent ended before its steps were used up.
    """
    state = start
    if not len(descent.weights):
        return start, 0, True
    toward = descent.to_reference(state, reference)
    radius, taken, slow, is_converged = LONGEST, 0, 0, True
    jacobian: Array | None = None
    progress = _Progress()
    before: tuple[Array, Array] | None = None
    for _ in range(steps):
        if jacobian is None:
            if taken == 0 or descent.has_poles:
                residual, bends = descent.residual(state)
                cost = _cost(descent, residual, toward)
            jacobian = descent.jacobian(state)
            by_tasks, by_posture, levels = _step(descent, state, residual, jacobian, toward)
            extrapolated = by_posture if before is None else _extrapolated(descent, by_posture, *before)
        change = by_tasks + extrapolated
        longest = math.sqrt(float(change @ change))
        gained, size = jacobian @ by_tasks, float(by_posture @ by_posture)
        if gained @ gained <= CONVERGED_TASKS**2 and size <= CONVERGED_POSTURE**2:
            break
        if progress.is_stale(cost.tasks, size) and _may_end(descent, residual):
            is_converged = descent.has_poles
            break
        share = min(1.0, radius / longest)
        trial = _tried(descent, state, share * change, bends, reference)
        if not _is_gain(cost, trial.cost):
            left = trial.residual - (residual - share * (jacobian @ change))
            correction = levels.correction(left)
            if correction @ correction < (share * longest) ** 2:
                trial = _tried(descent, trial.state, correction, bends, reference)
        if _is_gain(cost, trial.cost):
            # Tasks that can't be met end in flat valleys, in which the pose would go on to move for nothing.
            slow = slow + 1 if UNMET < cost.tasks < (1.0 + SLOW) * trial.cost.tasks else 0
            state, residual, toward, cost, jacobian = trial.state, trial.residual, trial.toward, trial.cost, None
            is_last = share == 1.0 and _leaves_nothing(descent, residual, size, before)
            before = by_posture, share * extrapolated
            taken += 1
            radius = min(LONGEST, max(radius, 2.0 * share * longest))
            if slow >= 2 or is_last:
                break
        else:
            radius, before, extrapolated = 0.3 * share * longest, None, by_posture
            if radius < SHORTEST:
                break
    else:
        is_converged = False
    return _restored(descent, state), taken, is_converged


@dataclass
class _Progress:
    """Steps of a descent since one of them halved the tasks' cost or the length of the posture part."""

    cost: float = math.inf
    """Least cost of the tasks up to that step."""
    size: float = math.inf
    """Least squared length of a posture part up to that step."""
    steps: int = 0

    def is_stale(self, cost: float, size: float) -> bool:
        """Count a step with its cost and squared length; tell whether ``STALE`` steps have halved neither."""
        self.steps += 1
        if cost < 0.5 * self.cost or size < 0.25 * self.size:
            self.cost, self.size, self.steps = min(cost, self.cost), min(size, self.size), 0
        return self.steps >= STALE


def _leaves_nothing(descent: Descent, residual: Array, size: float, before: tuple[Array, Array] | None) -> bool:
    """Tell whether the step after one that was taken would be the last evaluation, of a step that counts as none.

    Successive posture parts f_k shrink by about one ratio: that of the next step is ``|f_k|^2 / |f_{k-1}|`` long.
    Without it a step of a path of Rigify's human takes 6.0 evaluations of J instead of 5.1 (mean).

    Args:
        descent: the tasks.
        residual: (M,) after the step.
        size: squared length of the posture part of the step.
        before: the posture part of the step before, and with what that step was taken.
    """
    square_before = 0.0 if before is None else float(before[0] @ before[0])
    ratio = min(size / square_before, 1.0) if square_before > 0.0 else 1.0
    return ratio * size <= CONVERGED_POSTURE**2 and max(descent.errors(residual)) <= CONVERGED_TASKS


def _may_end(descent: Descent, residual: Array) -> bool:
    """Tell whether a descent without progress ends: at poles alone, or where ``_restored`` is nearer to the targets."""
    errors = descent.errors(residual)
    if descent.has_poles:
        return max(errors[:-1], default=0.0) <= CLOSELY_MET
    return CLOSELY_MET < max(errors) <= MET


def _extrapolated(descent: Descent, by_posture: Array, before: Array, taken: Array) -> Array:
    """Return the posture part of a step (N + S,), extrapolated from the step before.

    f is the posture part here (``by_posture``), g that of the step before (``before``) and s the posture part with
    which that step was taken (``taken``); with d = f - g, and products in the descent's metric

        f - gamma (s + d),    gamma = <f, d> / <d, d>

    Anderson (1965), depth one. f is a Gauss-Newton step, which leaves out the curvature of the tasks. Near the end
    successive f along that curvature have a ratio rho: their sum converges slowly where rho is near 1, and not at all
    where rho < -1 (some targets of a hand, rho = -1.75, used up all their steps). With s = g the extrapolated part is
    f / (1 - rho), its limit. The 95th percentile of the steps was 66 for a hand and 17 for a Y, and became 20 and 13.

    f is left as it is where rho > 1, which is gamma > 1, leads away from a saddle: the descent would end there. It is
    left too where it has grown by more than ``LARGEST_GROWTH``: a first g of rounding errors alone has
    gamma = 1 +- 1e-16, and rounding chose between f and 0.
    """
    d = by_posture - before
    weighted = descent.metric * d
    square, square_before = float(weighted @ d), float(before @ (descent.metric * before))
    square_here = float(by_posture @ (descent.metric * by_posture))
    if square <= 1e-16 or square_here > LARGEST_GROWTH**2 * square_before:
        return by_posture
    gamma = float(weighted @ by_posture) / square
    return by_posture - max(gamma, LEAST_GAMMA) * (taken + d) if gamma < 1.0 else by_posture


def _cost(descent: Descent, residual: Array, toward: Array) -> _Cost:
    errors = descent.errors(residual)
    tasks = sum(PENALTY ** (len(errors) - 1 - k) * error for k, error in enumerate(errors))
    return _Cost(tasks, float(toward @ (descent.metric * toward)), errors[0] if len(errors) > 1 else 0.0)


def _is_gain(cost: _Cost, tried: _Cost) -> bool:
    """Return whether a step is taken: the tasks' cost falls, or stays while the pose comes nearer to the reference."""
    is_less = tried.tasks < cost.tasks * (1.0 - 1e-6) - 1e-12
    is_nearer = tried.tasks <= cost.tasks + SLACK and tried.posture < cost.posture
    return (is_less or is_nearer) and tried.first <= max(NEAR_FIRST, cost.first)


def _tried(descent: Descent, state: State, change: Array, bends: Sequence[float], reference: State | None) -> _Trial:
    """Return what a change of the coordinates leads to, with the residuals of chains that are bent as before it."""
    trial = descent.applied(state, change)
    residual, toward = descent.residual(trial, bends)[0], descent.to_reference(trial, reference)
    return _Trial(trial, residual, toward, _cost(descent, residual, toward))


def _restored(descent: Descent, state: State) -> State:
    """Return the state with the levels above the first that isn't met brought back to where they are met exactly.

    A descent that ends in the flat valley of a task that can't be met leaves the levels above it with the curvature of
    the last step: pins were off by 1.5e-4 of a body's height. Where all levels are met, but not closely, steps with
    less damping and no posture task end nearer to the targets: 4 of 600 random trees had effectors off by more than
    1e-4 instead of 11.
    """
    residual, bends = descent.residual(state)
    for _ in range(RESTORING_STEPS):
        errors = descent.errors(residual)
        unmet = next((k for k, error in enumerate(errors) if error > MET), len(errors))
        above = descent.spans[unmet - 1].stop if unmet else 0
        if not above or max(errors[:unmet]) <= (EXACT if unmet < len(errors) else CLOSELY_MET):
            break
        left = residual.copy()
        left[above:] = 0.0
        nothing = np.zeros(len(descent.weights))
        change, _, _ = _step(descent, state, left, descent.jacobian(state), nothing, RESTORING_DAMPING)
        for share in (1.0, 0.3, 0.1):
            trial = descent.applied(state, share * change)
            trial_residual, _ = descent.residual(trial, bends)
            if max(descent.errors(trial_residual)[:unmet]) < max(errors[:unmet]):
                break
        else:
            break
        state, residual = trial, trial_residual
    return state
