# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tasks by priority over the joint coordinates of a tree: residuals, first and second derivatives, bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..math.operations import SCALAR, Array
from ..math.quaternions import conjugate, multiply, rotate
from ..math.rigid_fit import turned_by
from ..model.joint_limits import AT_LIMIT, clamp, ellipse_normal, ellipse_share
from ..model.skeleton import Tree, place_tree
from .bounded_least_squares import turning_axes
from .tasks import OrientationTask, PoleTask, PositionTask, State, Task

LEAST_DAMPING = 1e-8
"""lambda of a level that is met."""

POLE_DAMPING = 1e-5
"""lambda of a level with poles that is met: a chain whose joints are less than its root, 3e-3 of the tree's unit, off
the chord doesn't turn about the chord to bend to its pole. Without it a straight arm turned by 117 degrees in one step
of its target."""

_IDENTITY = np.eye(3)


class Linearised(NamedTuple):
    """The tasks' first derivatives at a pose."""

    jacobian: Array
    """J (M, N + S), weighted."""
    axes: Array
    """(N, 3) about which the coordinates turn."""
    moved: Array
    """(K, N + S, 3) how the joints of the tasks move with each coordinate."""
    gradients: list[Array]
    """Of each pole task, by its joints, (J, 3)."""
    lever: Array
    """(K, N, 3) from each coordinate's bone to the joint that moves with it; 0 where none does."""


@dataclass(frozen=True)
class Descent:
    """Tasks by level, over the coordinates of a tree."""

    tree: Tree
    levels: Sequence[Sequence[tuple[Task, float]]]
    """Tasks with their weights within their level; the first level comes before all others."""
    moves_roots: bool

    @cached_property
    def tasks(self) -> list[Task]:
        """All tasks, level by level."""
        return [task for level in self.levels for task, _ in level]

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
        return np.array([weight**0.5 for level in self.levels for task, weight in level for _ in range(task.rows)])

    @cached_property
    def least_dampings(self) -> list[float]:
        """Damping, lambda, of each level where it is met."""
        return [
            POLE_DAMPING if any(isinstance(task, PoleTask) for task, _ in level) else LEAST_DAMPING
            for level in self.levels
        ]

    @cached_property
    def bones(self) -> list[int]:
        """The bones that can turn."""
        tree = self.tree
        return [j for j in tree.bones if (tree.is_free[j] or not all(tree.limits[j].locked))]

    @cached_property
    def columns(self) -> list[tuple[int, int]]:
        """Bone and axis of every coordinate, without the roots' shifts."""
        tree = self.tree
        bones = [j for j in self.bones if j] if tree.is_anchor else self.bones
        return [(j, axis) for j in bones for axis in range(3) if tree.is_free[j] or not tree.limits[j].locked[axis]]

    @cached_property
    def first_column(self) -> dict[tuple[int, int], int]:
        """Number of the column of a bone's axis."""
        return {pair: number for number, pair in enumerate(self.columns)}

    @cached_property
    def bone_of(self) -> NDArray[np.intp]:
        """(N,) bone of each column."""
        return np.array([bone for bone, _ in self.columns], np.intp)

    @cached_property
    def shift_count(self) -> int:
        """Columns of the roots' shifts."""
        return 3 * len(self.tree.roots) if self.moves_roots else 0

    @cached_property
    def weights(self) -> Array:
        """(N + S,) squared lengths, in the metric of the posture task, that each coordinate turns for: W."""
        tree = self.tree
        # A half-sine is half an angle: W = 1/4 makes the metric that of angles.
        found = [
            tree.shares[bone][axis] * (1.0 if tree.is_free[bone] or axis == 1 else 0.25) for bone, axis in self.columns
        ]
        return np.array(found + [1.0] * self.shift_count)

    @cached_property
    def posture_weights(self) -> Array:
        """(N + S,) inverse weights of the coordinates in the posture task: W over the bones' own weights, if any."""
        own = self.tree.posture_weights
        if own is None:
            return self.weights
        shifts = [own[root] for root in self.tree.roots for _ in range(3)] if self.shift_count else []
        found: Array = self.weights / np.array([*(own[bone] for bone, _ in self.columns), *shifts])
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
            elif isinstance(task, PoleTask):
                found.update(dict.fromkeys(task.joints))
        return list(found)

    @cached_property
    def joint_numbers(self) -> dict[int, int]:
        """Row of each of those joints."""
        return {joint: number for number, joint in enumerate(self.joints)}

    @cached_property
    def carried(self) -> tuple[NDArray[np.intp], Array]:
        """(K, N) the joint that moves as each of those does with a column, and (K, N, 1) 1 where it moves at all."""
        which = np.zeros((len(self.joints), len(self.columns)), np.intp)
        moves = np.zeros((len(self.joints), len(self.columns), 1))
        for row, joint in enumerate(self.joints):
            for bone, carried in self.tree.supporting_bones[joint]:
                for axis in range(3):
                    column = self.first_column.get((bone, axis))
                    if column is not None:
                        which[row, column], moves[row, column] = carried, 1.0
        return which, moves

    @cached_property
    def shifted(self) -> Array:
        """(K, S, 3) how the joints move with the roots' shifts."""
        found = np.zeros((len(self.joints), self.shift_count, 3))
        if self.shift_count:
            for row, joint in enumerate(self.joints):
                root = self.tree.root_of[joint]
                if root >= 0:
                    first = 3 * self.tree.roots.index(root)
                    found[row, first : first + 3] = np.eye(3)
        return found

    @cached_property
    def turned(self) -> dict[int, Array]:
        """(N, 1) 1 where a column turns the frame of an orientation task's bone, by bone."""
        found = {}
        for task in self.tasks:
            if isinstance(task, OrientationTask):
                supports = self.tree.bone_supports[task.bone]
                found[task.bone] = np.isin(self.bone_of, supports).astype(float)[:, None]
        return found

    def state(self, coordinates: Sequence[Any], shifts: Sequence[Any]) -> State:
        """Return the state of coordinates and shifts, with the tasks' residuals."""
        placed = place_tree(SCALAR, self.tree, coordinates, (0.0, 0.0, 0.0), shifts)
        return State([*coordinates], [*shifts], placed)

    def residual(self, state: State, bends: Sequence[float] | None = None) -> tuple[Array, list[float]]:
        """Return the residuals (M,), weighted, and how far each pole task's chain is bent.

        Args:
            state: the pose.
            bends: to take instead of the state's own, so that two poses' residuals can be compared: a chain that
                straightens bends no nearer to its pole.
        """
        found: list[Any] = []
        sizes: list[float] = []
        for task in self.tasks:
            if isinstance(task, PoleTask):
                angle, size, _ = task.gradient(state.placed)
                sizes.append(size)
                found.append(-angle * (size if bends is None else bends[len(sizes) - 1]))
            else:
                found += task.residual(SCALAR, state.placed)
        return self.row_weights * np.array(found), sizes

    def errors(self, residual: Array) -> list[float]:
        """Return the length of each level's residual."""
        return [math.sqrt(float(residual[span] @ residual[span])) for span in self.spans]

    @cached_property
    def order(self) -> Array:
        """(N, N) 1 where the row's axis carries the column's, 1/2 where both turn one bone at once, else 0."""
        tree, count = self.tree, len(self.columns)
        found = np.zeros((count, count))
        for column, (bone, axis) in enumerate(self.columns):
            for row, (other, row_axis) in enumerate(self.columns):
                if other != bone:
                    found[row, column] = float(other in tree.above[bone])
                elif tree.is_free[bone] or (row_axis == 1) == (axis == 1):
                    found[row, column] = 0.5
                else:
                    found[row, column] = float(axis == 1)  # a swing carries the axis of the twist
        return found

    def _axes(self, state: State) -> Array:
        """Return the axes (N, 3) about which the coordinates turn, in armature space."""
        tree, placed = self.tree, state.placed
        axes = np.empty((len(self.columns), 3))
        row = 0
        for j in self.bones:
            if j == 0 and tree.is_anchor:
                continue
            if tree.is_free[j]:
                axes[row : row + 3] = _IDENTITY
                row += 3
            else:
                found = turning_axes(SCALAR, tree.limits[j], state.coordinates[j], placed.parents[j], placed.frames[j])
                for axis in found:
                    if axis is not None:
                        axes[row] = axis
                        row += 1
        return axes

    def linearised(self, state: State) -> Linearised:
        """Return the first derivatives of the tasks."""
        placed, axes = state.placed, self._axes(state)
        places = np.array(placed.joints)
        which, moves = self.carried
        lever = (places[which] - places[self.bone_of]) * moves
        count = len(self.columns)
        moved = np.empty((len(self.joints), count + self.shift_count, 3))
        moved[:, count:] = self.shifted
        moved[:, :count] = _cross(axes, lever)
        number, gradients = self.joint_numbers, []
        jacobian = np.zeros((len(self.row_weights), count + self.shift_count))
        row = 0
        for task in self.tasks:
            rows = jacobian[row : row + task.rows]
            if isinstance(task, PositionTask):
                rows[:] = moved[number[task.joint]].T
                if task.target is None:
                    rows -= moved[number[task.meets]].T
            elif isinstance(task, OrientationTask):
                rows[:, :count] = (task.scale * self.turned[task.bone] * axes).T
            else:
                gradient = np.array(task.gradient(placed)[2])
                gradients.append(gradient)
                rows[0] = (moved[[number[joint] for joint in task.joints]] * gradient[:, None]).sum(axis=(0, 2))
            row += task.rows
        jacobian *= self.row_weights[:, None]
        return Linearised(jacobian, axes, moved, gradients, lever)

    def jacobian(self, state: State) -> Array:
        """Return J (M, N + S), weighted."""
        return self.linearised(state).jacobian

    def curvature(self, state: State, linearised: Linearised, multipliers: Array) -> Array:
        """Return sum_i l_i d2c_i / dq dq (N + S, N + S), with c the values of the tasks' rows and l the multipliers.

        Where bone i carries bone j, a joint p moves by d2p / dq_i dq_j = a_i x (a_j x (p - p_j)) with the axes a, and
        the rotation vector of a frame by a_i x a_j / 2. A force f on p, the sum of l dc / dp, makes of that
        (f x a_i).(a_j x (p - p_j)). How the axes of a swing change with its half-sines is added (``_swing_curvature``);
        how the gradient of a pole task changes is left out.

        Args:
            state: the pose.
            linearised: the tasks there.
            multipliers: (M,), of weighted rows.
        """
        axes, number, row = linearised.axes, self.joint_numbers, 0
        count = len(axes)
        force = np.zeros((len(self.joints), 3))
        torque = np.zeros((count, 3))
        found = np.zeros((count, count))
        weighted = self.row_weights * multipliers
        gradients = iter(linearised.gradients)
        for task in self.tasks:
            share = weighted[row : row + task.rows]
            if isinstance(task, PositionTask):
                force[number[task.joint]] += share
                if task.target is None:
                    force[number[task.meets]] -= share
            elif isinstance(task, OrientationTask):
                turned = task.scale * self.turned[task.bone]
                found += 0.5 * _cross(share, turned * axes) @ (self.turned[task.bone] * axes).T
                torque += turned * share
            else:
                for joint, gradient in zip(task.joints, next(gradients), strict=True):
                    force[number[joint]] += share[0] * gradient
            row += task.rows
        sideways = _cross(force[:, None], axes[None])
        moved = linearised.moved[:, :count]
        found += sideways.swapaxes(0, 1).reshape(count, -1) @ moved.swapaxes(1, 2).reshape(-1, count)
        whole = np.zeros((len(self.weights), len(self.weights)))
        whole[:count, :count] = self.order * found
        whole += whole.T
        torque += _cross(linearised.lever, force[:, None]).sum(axis=0)
        self._add_swing_curvature(whole, state, torque)
        return whole

    def _add_swing_curvature(self, whole: Array, state: State, torque: Array) -> None:
        """Add torque.(da_j / dq_i) of every swing with half-sines x and z, symmetric in i and j.

        With u = x / w, v = z / w, w^2 = 1 - x^2 - z^2 the axes are a_x = 2 (x u + w, z, x v), a_z = 2 (x v, -x, z v +
        w) in the parent's frame (``turning_axes``).
        """
        for bone in self.bones:
            first, last = self.first_column.get((bone, 0)), self.first_column.get((bone, 2))
            column = last if first is None else first
            if column is None or self.tree.is_free[bone]:
                continue
            x, _, z = state.coordinates[bone]
            px, py, pz = torque[column].tolist()
            tx, _, tz = rotate(conjugate(state.placed.parents[bone]), (px, py, pz))
            w = math.sqrt(max(1.0 - x * x - z * z, 1e-6))
            u, v = x / w, z / w
            if first is not None:
                whole[first, first] += 2.0 * (tx * (u + u * u * u) + tz * (v + u * u * v))
            if last is not None:
                whole[last, last] += 2.0 * (tx * (u + u * v * v) + tz * (v + v * v * v))
            if first is not None and last is not None:
                mixed = 2.0 * u * v * (tx * u + tz * v)
                whole[first, last] += mixed
                whole[last, first] += mixed

    def ellipse_curvature(self, state: State, column: int) -> float:
        """Return 1 / (a^2 b^2 |n|^3), the curvature of a swing's ellipse, n = (x / a^2, z / b^2), at the swing."""
        bone = self.columns[column][0]
        x, _, z = state.coordinates[bone]
        radii = self.tree.limits[bone].radii
        a, b = radii[0][x > 0.0], radii[2][z > 0.0]
        return float(1.0 / (a * a * b * b * math.hypot(x / (a * a), z / (b * b)) ** 3))

    def slope(self, state: State) -> float:
        """Return |W J^T r|: how readily any coordinate brings the tasks nearer to being met."""
        residual, _ = self.residual(state)
        return float(np.linalg.norm(self.weights * (self.jacobian(state).T @ residual)))

    def to_reference(self, state: State, reference: State | None) -> Array:
        """Return q_reference - q (N + S,): rotation vectors of free bones, coordinates of the others; 0 without one."""
        if reference is None:
            return np.zeros(len(self.weights))
        found: list[Any] = []
        tree = self.tree
        for j in self.bones:
            if j == 0 and tree.is_anchor:
                continue
            if tree.is_free[j]:
                w, x, y, z = state.coordinates[j]
                w, x, y, z = multiply(reference.coordinates[j], (w, -x, -y, -z))
                sine = math.sqrt(x * x + y * y + z * z)
                if w < 0.0:
                    w, x, y, z = -w, -x, -y, -z
                share = 2.0 * math.atan2(sine, w) / sine if sine > 1e-12 else 2.0
                found += rotate(state.placed.parents[j], (share * x, share * y, share * z))
            else:
                (x, twist, z), (rx, reference_twist, rz) = state.coordinates[j], reference.coordinates[j]
                no_x, no_twist, no_z = tree.limits[j].locked
                if not no_x:
                    found.append(rx - x)
                if not no_twist:
                    change = reference_twist - twist
                    if not math.isfinite(tree.limits[j].upper[1] - tree.limits[j].lower[1]):
                        change = math.remainder(change, math.tau)
                    found.append(change)
                if not no_z:
                    found.append(rz - z)
        if self.shift_count:
            for here, there in zip(state.shifts, reference.shifts, strict=True):
                found += [b - a for a, b in zip(here, there, strict=True)]
        return np.array(found)

    def applied(self, state: State, change: Array) -> State:
        """Return the state after a change (N + S,) of the coordinates, within limits."""
        tree = self.tree
        coordinates, shifts = [*state.coordinates], [*state.shifts]
        values = iter(change.tolist())
        for j in self.bones:
            if j == 0 and tree.is_anchor:
                continue
            if tree.is_free[j]:
                turn = (next(values), next(values), next(values))
                w, x, y, z = state.placed.parents[j]
                coordinates[j] = turned_by(SCALAR, coordinates[j], rotate((w, -x, -y, -z), turn))
            else:
                no_x, no_twist, no_z = tree.limits[j].locked
                x, twist, z = coordinates[j]
                x = x if no_x else x + next(values)
                twist = twist if no_twist else twist + next(values)
                z = z if no_z else z + next(values)
                coordinates[j] = clamp(SCALAR, tree.limits[j], (x, twist, z))
        if self.shift_count:
            shifts = [(x + next(values), y + next(values), z + next(values)) for x, y, z in shifts]
        return self.state(coordinates, shifts)

    def bounds(self, state: State) -> tuple[Array, Array]:
        """Return how far each coordinate may go down and up (N + S,); on an ellipse's axes only as far as its box."""
        lower, upper = np.full((2, len(self.weights)), np.inf)
        for number, (bone, axis) in enumerate(self.columns):
            if not self.tree.is_free[bone]:
                limits, value = self.tree.limits[bone], state.coordinates[bone][axis]
                lower[number], upper[number] = value - limits.lower[axis], limits.upper[axis] - value
        return -lower, upper

    def ellipses(self, state: State) -> list[tuple[int, int, float, float]]:
        """Return the columns of the swings that are on their ellipses, with the normals there."""
        found = []
        for bone in self.bones:
            limits = self.tree.limits[bone]
            if not self.tree.is_free[bone] and limits.is_ellipse:
                x, _, z = state.coordinates[bone]
                if ellipse_share(SCALAR, limits, x, z) >= 1.0 - AT_LIMIT:
                    nx, nz = ellipse_normal(SCALAR, limits, x, z)
                    found.append((self.first_column[bone, 0], self.first_column[bone, 2], float(nx), float(nz)))
        return found


def _cross(a: Array, b: Array) -> Array:
    """Return a x b over the last axis: numpy's own takes three times as long for arrays of this size."""
    ax, ay, az = a[..., 0], a[..., 1], a[..., 2]
    bx, by, bz = b[..., 0], b[..., 1], b[..., 2]
    found: Array = np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-1)
    return found
