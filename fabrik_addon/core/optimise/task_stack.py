# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stack of tasks of a tree: tasks by level, their residuals, Jacobian and bounds over the tree's coordinates.

The coordinates are those of the bones (N: three of a free bone, those that its limits leave open of another), then
those of the roots' shifts (S). A residual is the way from a value to where it should be, and ``J = -dr/dq``, but for
poles without rounding (``PoleTask``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from ..math.operations import ARRAY, SCALAR, TINY, Array, Component, Operations
from ..math.quaternion_arrays import crossing
from ..model.skeleton import Tree
from ..model.tree_motions import TreeMotions
from .balance_task import BalanceTask
from .floor_task import CONTACT, FloorTask
from .tasks import OrientationTask, PoleTask, PositionTask, State, Task


@dataclass(frozen=True)
class TaskStack:
    """Tasks by level, over the coordinates of a tree."""

    tree: Tree
    levels: Sequence[Sequence[tuple[Task, Component]]]
    """Tasks with their weights within their level; the first level comes before all others. Of many poses tasks and
    weights have arrays (F,) where those of one pose have floats (``batched_descent``)."""
    moves_root: bool
    preferences: Sequence[tuple[Task, Component]] = ()
    """Tasks with their weights beside the posture task, for a descent by weight."""
    batch: tuple[int, ...] = ()
    """The batch axes of poses, tasks and weights, which all arrays have before the others: none of one pose."""
    bone_weights: Sequence[float] | None = None
    """Divisors of W by bone, with which P is W^-1: descents with held tasks and by weight end in one pose nearest to
    the reference pose."""

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
    def _rows(self) -> list[tuple[Task, int]]:
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
    def poles(self) -> list[tuple[PoleTask, int]]:
        """The pole tasks, and the row of each."""
        return [(task, row) for task, row in self.other_tasks if isinstance(task, PoleTask)]

    @cached_property
    def shift_count(self) -> int:
        """Columns of the roots' shifts."""
        return 3 * len(self.tree.structure.roots) if self.moves_root else 0

    @cached_property
    def weights(self) -> Array:
        """(N + S,) W: how readily each coordinate changes, its bone's share of a step (``Tree.shares``).

        A half-sine, the coordinate of a swing, is half its angle: the structure has a factor of 1/4 for it.
        """
        structure = self.tree.structure
        own = np.array(self.tree.shares).reshape(-1).take(structure.flat_columns) * structure.weights
        if self.bone_weights is not None:
            own /= np.array(self.bone_weights)[structure.column_bones]
        return np.concatenate([own, np.ones(self.shift_count)])

    @cached_property
    def posture_weights(self) -> Array:
        """(N + S,) P, weights of the squared coordinates in the posture task: p / W with p = ``Tree.posture_weights``.

        Where there are none, p = ``Tree.carried_lengths``. With ``bone_weights`` P is W^-1.
        """
        if self.bone_weights is not None:
            return 1.0 / self.weights
        own = self.tree.posture_weights or self.tree.carried_lengths
        structure = self.tree.structure
        shifted = np.repeat(structure.root_rows, 3) if self.shift_count else structure.root_rows[:0]
        return 1.0 / (self.weights / np.array(own)[np.concatenate([structure.column_bones, shifted])])

    @cached_property
    def joints(self) -> list[int]:
        """The joints whose motion the tasks' Jacobians need."""
        return list(dict.fromkeys(joint for task in self.tasks for joint in task.moved_joints))

    @cached_property
    def carried(self) -> tuple[NDArray[np.intp], Array]:
        """(K, B) the joint whose motion with bone b is that of joint k, and (K, B, 1) 1 where k moves with b."""
        which, moves = self.tree.structure.carried
        return which[self.joints], moves[self.joints]

    @cached_property
    def shifted(self) -> Array:
        """(3 K, S) how the joints move with the roots' shifts, x, y and z after one another."""
        found = np.zeros((*self.batch, len(self.joints), 3, self.shift_count))
        if self.shift_count:
            for row, joint in enumerate(self.joints):
                for number, root in enumerate(self.tree.structure.roots):
                    if root in (joint, *self.tree.structure.above[joint]):
                        found[..., row, :, 3 * number : 3 * number + 3] = np.eye(3)
        return found.reshape(*self.batch, 3 * len(self.joints), self.shift_count)

    def with_levels(
        self, levels: Sequence[Sequence[tuple[Task, Component]]], preferences: Sequence[tuple[Task, Component]] = ()
    ) -> TaskStack:
        """Return the stack of other tasks of the same tree; what depends on the tree alone isn't computed again."""
        made = TaskStack(self.tree, levels, self.moves_root, preferences, self.batch, self.bone_weights)
        made.__dict__.update({name: self.__dict__[name] for name in _OF_TREE if name in self.__dict__})
        return made

    @cached_property
    def first_level(self) -> TaskStack:
        """The stack of the first level's tasks alone."""
        return self.with_levels(self.levels[:1])

    @cached_property
    def first_level_and_floor(self) -> TaskStack:
        """The stack of the first level's tasks and, below them, the floor task, with the depth of ``CONTACT``.

        ``exact_steps.with_first_level_met`` meets both alike, and then, if they aren't, the first level alone.

        A share of the way between two poses over the floor may go through it: without the floor task a foot that was
        dragged into the floor came 1.3e-3 of the height below it (bench row "body-pulling"), with it 4e-5.
        """
        floor = [
            (replace(task, heights=task.heights - CONTACT), weight)
            for level in self.levels[1:]
            for task, weight in level
            if isinstance(task, FloorTask)
        ]
        return self.with_levels([self.levels[0], floor]) if floor else self.first_level

    @cached_property
    def below_first_level(self) -> TaskStack:
        """The stack of all other tasks."""
        return self.with_levels(self.levels[1:], self.preferences)

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
    def metric(self) -> Array:
        """(N + S,) weights 1 / max(W, 0.01) of the squared coordinates of the way to the reference pose."""
        return 1.0 / np.maximum(self.weights, 1e-2)

    @cached_property
    def at_points(self) -> tuple[NDArray[np.intp], Array, NDArray[np.intp]]:
        """Joints (P,) that should be at points (P, 3) without slack, and the rows (P, 3) of those tasks."""
        found = [(task.joint, task.target, row) for task, row in self._rows if _is_at_point(task)]
        joints = np.array([joint for joint, _, _ in found], np.intp)
        targets = np.array([target for _, target, _ in found], float).reshape(len(found), 3, *self.batch)
        rows = np.array([row for _, _, row in found], np.intp)[:, None] + np.arange(3)
        return joints, targets.T.swapaxes(-1, -2), rows

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
        bone_axes = self.tree.axes(state.placed, state.swing_twists)
        moved = self.tree.moved(state.placed, self.carried, bone_axes)
        if self.shift_count:
            moved = np.concatenate([moved, self.shifted], axis=-1)
        by_joint = moved.reshape(*self.batch, len(self.joints), 3, moved.shape[-1])
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
        up over the joints; of two columns of one bone it is the mean of both orders, but for swing and twist: a swing
        rotates the axis of its bone's twist. That is exact, but for what half-sines change of the axes of their own
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
            forces: (M,) ``Omega r`` of the rows (``cost_model``): f of points, t / ``ROTATION_SCALE`` of frames.
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
        return float(np.linalg.norm(self.weights * (self.jacobian(state).T @ residual)))

    def to_reference(self, state: State, reference: State | None) -> Array:
        """Return q0 - q (N + S,): rotation vectors of free bones, coordinates of the others; 0 without one."""
        if reference is None:
            return np.zeros((*self.batch, len(self.weights)))
        way = self.tree.way(state.rotations, state.swing_twists, (reference.rotations, reference.swing_twists))
        found: Array = way.reshape(*self.batch, -1).take(self.tree.structure.flat_columns, -1)
        if self.shift_count:
            found = np.concatenate([found, (reference.shifts - state.shifts).reshape(*self.batch, -1)], axis=-1)
        return found

    def applied(self, state: State, change: Array) -> State:
        """Return the state after a change (N + S,) of the coordinates, within limits."""
        columns = self.tree.structure.flat_columns
        by_joint = np.zeros((*state.rotations.shape[:-1], 3))
        by_joint.reshape(*self.batch, -1)[..., columns] = change[..., : len(columns)]
        rotations, swing_twists = self.tree.rotated(state.rotations, state.swing_twists, by_joint)
        shifts = state.shifts
        if self.shift_count:
            shifts = shifts + change[..., len(columns) :].reshape(shifts.shape)
        return State(self.tree, rotations, swing_twists, shifts)

    def bounds(self, state: State) -> tuple[Array, Array]:
        """Return how far each coordinate may go down and up (N + S,); on an ellipse's axes only as far as its box."""
        structure = self.tree.structure
        lower, upper = self.ends
        numbers, places = structure.limited_columns
        values = np.zeros((*self.batch, len(lower)))
        values[..., numbers] = state.swing_twists.reshape(*self.batch, -1).take(places, -1)
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
        share = np.hypot(across[..., 0], across[..., 1])
        across /= radii
        return share, across / (np.hypot(across[..., 0], across[..., 1]) + TINY)[..., None]


def _is_at_point(task: Task) -> TypeGuard[PositionTask]:
    return isinstance(task, PositionTask) and task.target is not None and task.slack == 0.0


def _is_of_whole_frame(task: Task) -> TypeGuard[OrientationTask]:
    return isinstance(task, OrientationTask) and task.axis is None


_OF_TREE = ("weights", "posture_weights", "metric", "ends")
"""The cached properties of a stack that don't depend on its tasks."""
