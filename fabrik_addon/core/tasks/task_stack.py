# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stack of tasks of a tree: tasks by level, their residuals and Jacobian over the tree's coordinates.

A residual is the way from a value to where it should be, and ``J = -dr/dq`` over the N coordinates of the bones and the
S of the roots' shifts (``tree_coordinates``), but for poles without rounding (``PoleTask``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from ..math.operations import ARRAY, SCALAR, Array, Component, Operations
from ..math.quaternion_arrays import crossing
from ..model.skeleton import Tree
from ..model.tree_motions import TreeMotions
from ..model.tree_state import State
from .balance_task import BalanceTask
from .floor_task import FloorTask
from .orientation_task import OrientationTask
from .pole_task import PoleTask
from .position_task import PositionTask
from .task import Task
from .tree_coordinates import TreeCoordinates


@dataclass(frozen=True)
class TaskStack:
    """Tasks by level, over the coordinates of a tree."""

    coordinates: TreeCoordinates
    levels: Sequence[Sequence[tuple[Task, Component]]]
    """Tasks with their weights within their level; the first level comes before all others. Of many poses tasks and
    weights have arrays (F,) where those of one pose have floats (``batched_descent``)."""
    preferences: Sequence[tuple[Task, Component]] = ()
    """Tasks with their weights beside the posture task, below all levels."""

    @property
    def tree(self) -> Tree:
        """The tree."""
        return self.coordinates.tree

    @property
    def batch(self) -> tuple[int, ...]:
        """The batch axes of poses, tasks and weights."""
        return self.coordinates.batch

    @property
    def ops(self) -> Operations:
        """Operations on the components of poses and tasks."""
        return ARRAY if self.batch else SCALAR

    @cached_property
    def weighted_tasks(self) -> list[tuple[Task, Component]]:
        """All tasks with their weights, level by level, then the preferences."""
        return [*(task for level in self.levels for task in level), *self.preferences]

    @cached_property
    def tasks(self) -> list[Task]:
        """All tasks, in that order."""
        return [task for task, _ in self.weighted_tasks]

    @cached_property
    def task_rows(self) -> list[tuple[Task, int]]:
        """All tasks, and the first row of each."""
        return [*zip(self.tasks, accumulate((task.rows for task in self.tasks), initial=0), strict=False)]

    @cached_property
    def first_rows(self) -> slice:
        """Rows of the first level."""
        return slice(0, sum(task.rows for task, _ in self.levels[0]))

    @cached_property
    def row_weights(self) -> Array:
        """(M,) square roots of the tasks' weights."""
        return np.array([weight**0.5 for task, weight in self.weighted_tasks for _ in range(task.rows)]).T

    @cached_property
    def joints(self) -> list[int]:
        """The joints whose motion the tasks' Jacobians need."""
        return list(dict.fromkeys(joint for task in self.tasks for joint in task.moved_joints))

    @cached_property
    def carried(self) -> tuple[NDArray[np.intp], Array]:
        """(K, B) the joint whose motion with bone b is that of joint k, and (K, B, 1) 1 where k moves with b."""
        which, moves = self.tree.structure.carried
        return which[self.joints], moves[self.joints]

    def with_levels(self, levels: Sequence[Sequence[tuple[Task, Component]]]) -> TaskStack:
        """Return the stack of other tasks, without preferences, over the same coordinates."""
        return TaskStack(self.coordinates, levels)

    @cached_property
    def first_level(self) -> TaskStack:
        """The stack of the first level's tasks alone."""
        return self.with_levels(self.levels[:1])

    def residual(self, state: State) -> Array:
        """Return the residuals (M,), weighted."""
        placed = state.placed
        joints, targets, rows = self.at_points
        at_points = targets - placed.points.take(joints, -2)
        if not self.other_tasks:
            return at_points.reshape(*self.batch, -1) * self.row_weights
        found = np.empty(self.row_weights.shape)
        found[..., rows] = at_points
        for task, row in self.other_tasks:
            found.T[row : row + task.rows] = task.residual(placed)
        found *= self.row_weights
        return found

    @cached_property
    def at_points(self) -> tuple[NDArray[np.intp], Array, NDArray[np.intp]]:
        """Joints (P,) that should be at points (P, 3) without slack, and the rows (P, 3) of those tasks."""
        found = [(task.joint, task.target, row) for task, row in self.task_rows if _is_at_point(task)]
        joints = np.array([joint for joint, _, _ in found], np.intp)
        targets = np.array([target for _, target, _ in found], float).reshape(len(found), 3, *self.batch)
        rows = np.array([row for _, _, row in found], np.intp)[:, None] + np.arange(3)
        return joints, targets.T.swapaxes(-1, -2), rows

    @cached_property
    def other_tasks(self) -> list[tuple[Task, int]]:
        """The other tasks, and the first row of each."""
        return [(task, row) for task, row in self.task_rows if not _is_at_point(task)]

    @cached_property
    def _oriented(self) -> tuple[list[OrientationTask], Array, NDArray[np.intp]]:
        """The tasks of whole frames, (T, 1, N) 1 where a column rotates the bone of each, and their rows (T, 3)."""
        found = [(task, row) for task, row in self.other_tasks if _is_of_whole_frame(task)]
        tasks = [task for task, _ in found]
        rows = np.array([row for _, row in found], np.intp)[:, None] + np.arange(3)
        return tasks, self.tree.structure.turned[[task.bone for task in tasks], None], rows

    @cached_property
    def _curved_rows(self) -> tuple[NDArray[np.intp], Array]:
        """Rows (P + T, 3) of the tasks at points and of whole frames, and the factors (P + T, 1) of their part of K."""
        at_points, of_frames = self.at_points[2], self._oriented[2]
        return np.concatenate([at_points, of_frames]), np.repeat([1.0, 0.5], [len(at_points), len(of_frames)])[:, None]

    @cached_property
    def _joint_rows(self) -> dict[int, int]:
        """Place of each joint in ``joints``."""
        return {joint: row for row, joint in enumerate(self.joints)}

    @cached_property
    def _point_rows(self) -> NDArray[np.intp]:
        """(P,) places of the joints of ``at_points`` in ``joints``."""
        return np.array([self._joint_rows[joint] for joint in self.at_points[0].tolist()], np.intp)

    @cached_property
    def are_own_rows(self) -> bool:
        """Whether the rows of J are those of the joints' motions, one after another."""
        return not self.other_tasks and self.at_points[0].tolist() == self.joints

    def motions(self, state: State) -> TreeMotions:
        """Return how the joints of ``joints`` move with each coordinate, and about which axes the bones rotate."""
        bone_axes = self.tree.axes(state.placed, state.limited_coordinates)
        by_joint = self.tree.moved(state.placed, self.carried, bone_axes)
        if self.coordinates.shift_count:
            shifted = self.tree.structure.shifted[self.joints] + np.zeros((*self.batch, 1, 1, 1))
            by_joint = np.concatenate([by_joint, shifted], axis=-1)
        return TreeMotions(state.placed, bone_axes, by_joint, self._joint_rows)

    def jacobian(self, state: State, motions: TreeMotions | None = None) -> Array:
        """Return J (M, N + S), weighted; from the state's ``motions`` where the caller has them."""
        motions = motions or self.motions(state)
        columns = motions.by_joint.shape[-1]
        if self.are_own_rows:
            return motions.by_joint.reshape(*self.batch, -1, columns) * self.row_weights[..., None]
        jacobian = np.zeros((*self.row_weights.shape, columns))
        jacobian[..., self.at_points[2], :] = motions.by_joint.take(self._point_rows, -3)
        oriented, turned_axes, rows = self._oriented
        if oriented:
            factors = np.array([task.factor(state.placed) for task in oriented])[:, None, None]
            axes = motions.axes.swapaxes(-1, -2)[..., None, :, :]
            jacobian[..., rows, : axes.shape[-1]] = factors * (turned_axes * axes)
        for task, row in self.other_tasks:
            if not _is_of_whole_frame(task):
                found = task.jacobian(state.placed, motions)
                jacobian[..., row : row + task.rows, : found.shape[-1]] = found
        jacobian *= self.row_weights[..., None]
        return jacobian

    def curvature(self, motions: TreeMotions, jacobian: Array, forces: Array, with_poles: bool = True) -> Array:
        """Return K (N + S, N + S), the part of half the cost's second derivatives that is from forces and torques.

        With f the force on a joint at p, toward its target, a_c and a_d the axes of two columns of which c rotates the
        frame of d, and p_d the head of d's bone, ``K_cd = -f . (a_c x (a_d x (p - p_d))) = a_c . (f x dp/dq_d)``, added
        up over the joints; of two columns of one bone it is the mean of both orders, but for swing and twist, of which
        a swing rotates the axis of its bone's twist, and for Euler angles, of which each rotates the axes of those
        before it in the order. That is exact, but for what half-sines change of the axes of their own
        bone's swing (``cost_model._of_swings``). For a straight chain of length L under the force F, ``K_cc`` of its
        root is F L, a pendulum's stiffness.

        With t the torque on a bone, toward its goal's frame, ``K_cd = a_c . (t x a_d) / 2`` where c and d both rotate
        the bone. The half is that of rotation vectors: that of the rotation by ``a_c dq_c`` after that by ``a_d dq_d``
        is ``a_c dq_c + a_d dq_d + (a_c x a_d) dq_c dq_d / 2`` to second order. It is exact where the frame is at its
        goal. Without the torques a wing of Rigify's bird, led beyond reach while the feet are pinned and the root is
        fixed, took more than 80 steps from rest instead of 25.

        The forces on points at the floor, and on the center of mass, are forces on joints with these points for p, and
        so are those on the sum of the joints of a bend, on a chord and on a pole. The fading of the balance task and
        the arc from bend to pole add the second derivatives by these points (``own_curvature``). With all of a pole's
        moves of a hand of Rigify's human took 10 evaluations of the cost instead of 14 (bench row "body-path", across,
        with poles), and beside a fixed root, low, with poles and without pins and limits, 20 instead of 79.

        Args:
            motions: at the pose.
            jacobian: at the pose.
            forces: (M,) ``Omega r`` of the rows (``cost_model``): f of points, t / ``ROTATION_SCALE`` of frames.
            with_poles: whether poles with rounding have a part in K.
        """
        structure = self.tree.structure
        count, columns = len(structure.chosen), jacobian.shape[-1]
        found = np.zeros((*self.batch, columns, columns))
        if not forces.any():
            return found
        rows, shares = self._curved_rows
        moments = (crossing(shares * forces[..., rows]) @ jacobian[..., rows, :count]).sum(-3)
        pulls = forces * self.row_weights
        for task, row in self.other_tasks:
            # Batches have poles alone of these tasks.
            if not isinstance(task, (BalanceTask, FloorTask, PoleTask)):
                continue
            # Poles without rounding are held: f and h count as constants.
            if isinstance(task, PoleTask) and not (with_poles and task.rounding):
                continue
            pushes = pulls[..., row : row + task.rows]
            if pushes.any():
                moments += task.moments(motions, pushes)[..., :count]
                if not isinstance(task, FloorTask):
                    found += task.own_curvature(motions, pushes)
        half = structure.turns_axes * (motions.axes @ moments)
        found[..., :count, :count] += half + half.swapaxes(-1, -2)
        return found

    def gradient_norm(self, state: State) -> float:
        """Return |W J^T r|, the length of half the cost's gradient by weighted coordinates."""
        residual = self.residual(state)
        return float(np.linalg.norm(self.coordinates.weights * (self.jacobian(state).T @ residual)))


def _is_at_point(task: Task) -> TypeGuard[PositionTask]:
    return isinstance(task, PositionTask) and task.target is not None and task.slack == 0.0


def _is_of_whole_frame(task: Task) -> TypeGuard[OrientationTask]:
    return isinstance(task, OrientationTask) and task.axis is None
