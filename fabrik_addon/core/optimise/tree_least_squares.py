# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tasks of a tree, and the steps of the Jacobian methods toward several targets.

A step solves (J S J^T + damping / weights) y = r, or what else a method's rule makes of it, and turns every bone by
S J^T y, with J stacked over the tasks: what one task turns is undone for the others (Buss 2004). Axes at their limits
are left out. A step is taken only if the weighted sum of the squared residuals falls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from ..goals.pole import bend_vector, pole_axes
from ..math.operations import TINY, Component, Condition, Operations, ScalarVector, Vector
from ..math.quaternions import Quaternion, multiply, rotate
from ..math.rigid_fit import turned_by
from ..math.vectors import choose_parts, cross, dot, norm, rejection, scale
from ..model.joint_limits import clamp
from ..model.skeleton import PlacedTree, Tree, place_tree
from .bounded_least_squares import block, turning_axes
from .damped_steps import shortened

WORN_OUT = 1e7
"""Damping at which steps are too small to matter."""

TRUSTED = 0.5
"""Share of the gain that was predicted, from which on a step's linear model is trusted further."""

LEAST_BEND = 1e-6
"""Distance of a bend or a pole from the chord, in the tree's units, below which there is no angle between them."""

_TURN_SCALE = 0.3
"""Position error, in the tree's units, that an angle of one radian counts as."""


@dataclass(frozen=True)
class PositionTask:
    """A joint should be at a target, or where another joint is."""

    joint: int
    target: Vector | None
    meets: int = -1
    rows = 3

    def residual(self, ops: Operations, placed: PlacedTree) -> tuple[Component, ...]:
        """Return what is left, by component."""
        x, y, z = placed.joints[self.joint]
        tx, ty, tz = placed.joints[self.meets] if self.target is None else self.target
        return tx - x, ty - y, tz - z

    def respond(self, ops: Operations, tree: Tree, placed: PlacedTree, columns: TaskJacobian) -> None:
        """Add how the joint moves with every bone's turns, and with shifts."""
        columns.add_moves(self.joint, 1.0)
        if self.target is None:
            columns.add_moves(self.meets, -1.0)


@dataclass(frozen=True)
class OrientationTask:
    """A bone should have a frame."""

    bone: int
    frame: Quaternion
    rows = 3
    scale = _TURN_SCALE

    def residual(self, ops: Operations, placed: PlacedTree) -> tuple[Component, ...]:
        """Return the turn that is left, as a rotation vector."""
        x, y, z = self._turn(ops, placed)
        return _TURN_SCALE * x, _TURN_SCALE * y, _TURN_SCALE * z

    def off(self, ops: Operations, placed: PlacedTree) -> Component:
        """Return the angle (radians) of the turn that is left."""
        return norm(ops, self._turn(ops, placed))

    def _turn(self, ops: Operations, placed: PlacedTree) -> Vector:
        w, x, y, z = placed.frames[self.bone]
        w, x, y, z = multiply(self.frame, (w, -x, -y, -z))
        size = ops.sqrt(x * x + y * y + z * z)
        sign = ops.where(w < 0.0, -1.0, 1.0)
        share = 2.0 * sign * ops.atan2(size, sign * w) / (size + TINY)
        return share * x, share * y, share * z

    def respond(self, ops: Operations, tree: Tree, placed: PlacedTree, columns: TaskJacobian) -> None:
        """Add how the bone turns with every bone's turns."""
        columns.add_turns(self.bone, _TURN_SCALE)


@dataclass(frozen=True)
class PoleTask:
    """A chain of joints should bend toward a pole."""

    joints: Sequence[int]
    """From the chain's root to its tip."""
    pole: Vector
    angle: float
    """Turn of the pole about the line from root to tip."""
    rows = 1

    def _plane(self, ops: Operations, placed: PlacedTree) -> tuple[Component, Component, Vector]:
        """Return the angle from pole to bend, how far the chain lies off its line, and where the angle grows."""
        joints = [placed.joints[joint] for joint in self.joints]
        root, tip = joints[0], joints[-1]
        chord = (tip[0] - root[0], tip[1] - root[1], tip[2] - root[2])
        to_pole = (self.pole[0] - root[0], self.pole[1] - root[1], self.pole[2] - root[2])
        along, side, across = pole_axes(ops, chord, to_pole)
        if self.angle != 0.0:
            cosine, sine = math.cos(self.angle), math.sin(self.angle)
            side, across = (
                _mixed(side, cosine, across, sine),
                _mixed(across, cosine, side, -sine),
            )
        bend = bend_vector(joints, along)
        p, q = dot(bend, side), dot(bend, across)
        size = ops.sqrt(p * p + q * q)
        p, q = p / (size + TINY), q / (size + TINY)
        return ops.atan2(q, p), size, _mixed(across, p, side, -q)

    def residual(self, ops: Operations, placed: PlacedTree) -> tuple[Component, ...]:
        """Return the arc from bend to pole."""
        angle, size, _ = self._plane(ops, placed)
        return (-angle * ops.where(size > 1e-6, size, 0.0),)

    def off(self, ops: Operations, placed: PlacedTree) -> Component:
        """Return the angle (radians) between bend and pole; 0 where the chain is straight."""
        angle, size, _ = self._plane(ops, placed)
        return ops.where(size > 1e-6, ops.maximum(angle, -angle), 0.0)

    def gradient(self, placed: PlacedTree) -> tuple[float, float, list[list[float]]]:
        """Return phi, |b'| and how the arc phi |b'| changes with each of the joints (K, 3); one pose.

        With the chord c from root to tip, e = c / |c|, the sum b of the inner joints and the pole g, both from the
        root, and n_v = e x v / |e x v|, the angle phi from pole to bend changes by

            n_b.db / |b'| - (b.e) n_b.dc / (|b'| |c|) - n_g.dg / |g'| + (g.e) n_g.dc / (|g'| |c|)

        where v' is the part of v across the chord. |b'| counts as a constant: a chain that straightens bends no nearer
        to its pole. Without the motion of root and tip in the gradient a body with four poles and a free root took 26
        steps (median) and didn't converge.
        """
        # Any: these are floats, of one pose, but PlacedTree and PoleTask have one type for one pose and for a batch.
        positions: Any = [*(placed.joints[joint] for joint in self.joints), self.pole]
        points: list[ScalarVector] = positions
        root, *inner, tip, pole = points
        rx, ry, rz = root
        cx, cy, cz = tip[0] - rx, tip[1] - ry, tip[2] - rz
        chord = math.sqrt(cx * cx + cy * cy + cz * cz) + TINY
        ex, ey, ez = cx / chord, cy / chord, cz / chord
        gx, gy, gz = pole[0] - rx, pole[1] - ry, pole[2] - rz
        bx = by = bz = 0.0
        for px, py, pz in inner:
            bx, by, bz = bx + px - rx, by + py - ry, bz + pz - rz
        along_b, along_g = bx * ex + by * ey + bz * ez, gx * ex + gy * ey + gz * ez
        bx, by, bz = bx - along_b * ex, by - along_b * ey, bz - along_b * ez
        gx, gy, gz = gx - along_g * ex, gy - along_g * ey, gz - along_g * ez
        size, aside = math.sqrt(bx * bx + by * by + bz * bz), math.sqrt(gx * gx + gy * gy + gz * gz)
        if size <= LEAST_BEND or aside <= LEAST_BEND or chord <= LEAST_BEND:
            return 0.0, size, [[0.0, 0.0, 0.0]] * len(self.joints)
        nx, ny, nz = (ey * bz - ez * by) / size, (ez * bx - ex * bz) / size, (ex * by - ey * bx) / size
        mx, my, mz = (ey * gz - ez * gy) / aside, (ez * gx - ex * gz) / aside, (ex * gy - ey * gx) / aside
        angle = math.atan2(bx * mx + by * my + bz * mz, (bx * gx + by * gy + bz * gz) / aside) - self.angle
        angle = math.remainder(angle, math.tau)
        p, q, share = -along_b / chord, size * along_g / (aside * chord), size / aside
        tx, ty, tz = p * nx + q * mx, p * ny + q * my, p * nz + q * mz
        count = len(inner)
        return (
            angle,
            size,
            [
                [share * mx - count * nx - tx, share * my - count * ny - ty, share * mz - count * nz - tz],
                *[[nx, ny, nz]] * count,
                [tx, ty, tz],
            ],
        )

    def deviation(self, placed: PlacedTree) -> float:
        """Return the sum of the inner joints' distances from the chord; one pose."""
        (rx, ry, rz), *inner, (tx, ty, tz) = (placed.joints[joint] for joint in self.joints)
        chord = (tx - rx, ty - ry, tz - rz)
        along = scale(chord, 1.0 / (math.hypot(*chord) + TINY))
        return sum(math.hypot(*rejection((px - rx, py - ry, pz - rz), along)) for px, py, pz in inner)

    def turn(self, ops: Operations, placed: PlacedTree) -> Vector:
        """Return the rotation vector about the line from root to tip that takes the bend to the pole."""
        angle, size, _ = self._plane(ops, placed)
        (ax, ay, az), (bx, by, bz) = placed.joints[self.joints[0]], placed.joints[self.joints[-1]]
        chord = (bx - ax, by - ay, bz - az)
        return scale(chord, ops.where(size > 1e-6, -angle, 0.0) / (norm(ops, chord) + TINY))

    def respond(self, ops: Operations, tree: Tree, placed: PlacedTree, columns: TaskJacobian) -> None:
        """Add how the bend goes round with every bone's turns."""
        _, _, onward = self._plane(ops, placed)
        root, *inner, _ = self.joints
        for joint in inner:
            columns.add_moves_along(joint, root, onward)


def _mixed(a: Vector, p: Component, b: Vector, q: Component) -> Vector:
    return a[0] * p + b[0] * q, a[1] * p + b[1] * q, a[2] * p + b[2] * q


Task: TypeAlias = PositionTask | OrientationTask | PoleTask


class TaskJacobian:
    """The Jacobian being filled: how the tasks' rows change with each bone's turns and each root's shift."""

    def __init__(
        self, ops: Operations, tree: Tree, placed: PlacedTree, coordinates: Sequence[Any], tasks: Sequence[Task]
    ) -> None:
        self._tree, self._placed = tree, placed
        rows = sum(each.rows for each in tasks)
        nothing: Component = 0.0 * placed.joints[0][0]
        one = nothing + 1.0
        world: list[Vector | None] = [(one, nothing, nothing), (nothing, one, nothing), (nothing, nothing, one)]
        self.axes: dict[int, list[Vector | None]] = {}
        # Any: a column is a list where its axis isn't None; no type ties an entry of one list to that of the other.
        self.columns: dict[int, list[Any]] = {}
        for j in tree.bones:
            if tree.is_free[j]:
                self.axes[j] = world
            else:
                self.axes[j] = turning_axes(ops, tree.limits[j], coordinates[j], placed.parents[j], placed.frames[j])
            self.columns[j] = [None if axis is None else [nothing] * rows for axis in self.axes[j]]
        self.shifts: list[list[list[Component]]] = [[[nothing] * rows for _ in range(3)] for _ in tree.roots]
        self._row = 0
        for each in tasks:
            each.respond(ops, tree, placed, self)
            self._row += each.rows

    def add_moves(self, joint: int, sign: float) -> None:
        """Add how a joint moves, to three rows."""
        row, places = self._row, self._placed.joints
        for bone, carried in self._tree.supporting_bones[joint]:
            (ax, ay, az), (bx, by, bz) = places[bone], places[carried]
            lx, ly, lz = sign * (bx - ax), sign * (by - ay), sign * (bz - az)
            if self._tree.is_free[bone]:
                first, second, third = self.columns[bone]
                first[row + 1], first[row + 2] = first[row + 1] - lz, first[row + 2] + ly
                second[row], second[row + 2] = second[row] + lz, second[row + 2] - lx
                third[row], third[row + 1] = third[row] - ly, third[row + 1] + lx
                continue
            for axis, column in zip(self.axes[bone], self.columns[bone], strict=True):
                if axis is not None:
                    x, y, z = cross(axis, (lx, ly, lz))
                    column[row], column[row + 1], column[row + 2] = (
                        column[row] + x,
                        column[row + 1] + y,
                        column[row + 2] + z,
                    )
        root = self._tree.root_of[joint]
        if root >= 0:
            for axis_number, shift in enumerate(self.shifts[self._tree.roots.index(root)]):
                shift[row + axis_number] = shift[row + axis_number] + sign

    def add_turns(self, bone: int, factor: float) -> None:
        """Add how a bone's frame turns, to three rows."""
        row = self._row
        for turner in self._tree.bone_supports[bone]:
            for axis, column in zip(self.axes[turner], self.columns[turner], strict=True):
                if axis is not None:
                    for k in range(3):
                        column[row + k] = column[row + k] + factor * axis[k]

    def add_moves_along(self, joint: int, base: int, direction: Vector) -> None:
        """Add how a joint moves along a direction as seen from another, to one row."""
        row, places = self._row, self._placed.joints
        for moved, sign in ((joint, 1.0), (base, -1.0)):
            for bone, carried in self._tree.supporting_bones[moved]:
                (ax, ay, az), (bx, by, bz) = places[bone], places[carried]
                lever = (bx - ax, by - ay, bz - az)
                for axis, column in zip(self.axes[bone], self.columns[bone], strict=True):
                    if axis is not None:
                        column[row] = column[row] + sign * dot(cross(axis, lever), direction)


@dataclass(frozen=True)
class State:
    """A pose of the tree in a descent, and the residuals of the tasks."""

    coordinates: list[Any]
    """Quaternion or swing and twist, ``Any`` because the bone decides which (``Tree.is_free``)."""
    shifts: list[Vector]
    placed: PlacedTree
    residuals: list[tuple[Component, ...]]

    def errors(self, ops: Operations) -> list[Component]:
        """Return how far each task is from being met."""
        return [ops.sqrt(_square(residual)) for residual in self.residuals]


@dataclass(frozen=True)
class StackedRule:
    """How a step is found for several tasks at once: what ``damped_steps.Rule`` is for one."""

    solution: Callable[[list[list[Component]], Sequence[Component], Sequence[Component], Component], list[Component]]
    """(J S J^T, residuals, their weights, memory): y. The memory begins at ``FIRST`` and grows where a step fails."""
    is_careful: bool
    """Whether the memory also grows where a step gains little."""


FIRST = 1e-3
"""Damping of the first step, and what the memory of a rule that doesn't damp comes back to."""


def _damped(
    normal: list[list[Component]], residual: Sequence[Component], weights: Sequence[Component], damping: Component
) -> list[Component]:
    return positive_solution(normal, residual, [damping / weight for weight in weights])


DAMPED_TOGETHER = StackedRule(_damped, is_careful=True)
"""Damped least squares."""


@dataclass(frozen=True)
class Stage:
    """Tasks, weights and rule of a descent."""

    tasks: Sequence[Task]
    weights: Sequence[Component]
    """One for each task: how much the task counts while not all can be met."""
    enough: Sequence[float]
    """Length of the residual at which each task is met well enough to stop."""
    rule: StackedRule = DAMPED_TOGETHER


def state_of(
    ops: Operations,
    tree: Tree,
    coordinates: Sequence[Any],
    root: Vector,
    shifts: Sequence[Vector],
    tasks: Sequence[Task],
) -> State:
    """Return the state that turns and shifts make."""
    placed = place_tree(ops, tree, coordinates, root, shifts)
    return State([*coordinates], [*shifts], placed, [each.residual(ops, placed) for each in tasks])


def descend_tree(ops: Operations, tree: Tree, state: State, stage: Stage, steps: int) -> tuple[State, Component]:
    """Turn bones until all tasks are met or the weighted sum of their squared residuals falls no more.

    Args:
        ops: operations of one pose or of a batch.
        tree: the bones.
        state: to start from, within limits.
        stage: tasks, weights and the rule of a step.
        steps: at most.

    Returns:
        the last state accepted, and how many steps were.
    """
    root = state.placed.joints[0]
    if tree.roots and tree.roots[0] == 0:
        sx, sy, sz = state.shifts[0]
        root = (root[0] - sx, root[1] - sy, root[2] - sz)
    state = state_of(ops, tree, state.coordinates, root, state.shifts, stage.tasks)
    cost = _cost(state, stage)
    damping: Component = FIRST + 0.0 * cost
    taken = 0.0 * cost
    slow = 0.0 * cost
    jacobian: TaskJacobian | None = None
    for _ in range(steps):
        done = _is_met(ops, state, stage) | (damping > WORN_OUT) | (slow > 3.0)
        if ops.all(done):
            break
        if jacobian is None:
            jacobian = TaskJacobian(ops, tree, state.placed, state.coordinates, stage.tasks)
        change, shift, predicted = _step(ops, tree, state, stage, jacobian, damping)
        trial = state_of(ops, tree, *_applied(ops, tree, state, change, shift, root), stage.tasks)
        trial_cost = _cost(trial, stage)
        better = (trial_cost < cost) & ops.negate(done)
        slow = ops.where(better, ops.where(trial_cost > 0.9998 * cost, slow + 1.0, 0.0 * slow), slow)
        if ops.any(better):
            state = choose_state(ops, better, trial, state)
            jacobian = None
        # Where a step does what its linear model says the next may be longer, however little there was to gain.
        good = cost - trial_cost > TRUSTED * (cost - predicted)
        good = good | (not stage.rule.is_careful)
        less = ops.maximum(0.15 * damping, 1e-9)
        damping = ops.where(better, ops.where(good, less, 2.0 * damping), 8.0 * damping)
        cost = ops.where(better, trial_cost, cost)
        taken = taken + ops.where(better, 1.0, 0.0)
    return state, taken


def _is_met(ops: Operations, state: State, stage: Stage) -> Condition:
    met: Condition = True
    for residual, enough in zip(state.residuals, stage.enough, strict=True):
        met = met & (_square(residual) <= enough * enough)
    return met


def _square(residual: Sequence[Component]) -> Component:
    total: Component = 0.0
    for part in residual:
        total = total + part * part
    return total


def _cost(state: State, stage: Stage) -> Component:
    total: Component = 0.0
    for residual, weight in zip(state.residuals, stage.weights, strict=True):
        total = total + weight * _square(residual)
    return total


def _step(
    ops: Operations, tree: Tree, state: State, stage: Stage, jacobian: TaskJacobian, damping: Component
) -> tuple[dict[int, list[Component]], list[list[Component]], Component]:
    """Return how far bones should turn and roots shift, within limits, and the cost of a linear model after it."""
    residual = [part for parts in state.residuals for part in parts]
    weights: list[Component] = []
    for each, weight in zip(stage.tasks, stage.weights, strict=True):
        weights += [weight] * each.rows
    columns = {bone: [*axes] for bone, axes in jacobian.columns.items()}
    change: dict[int, list[Component]] = {}
    shift: list[list[Component]] = []
    zero = 0.0 * damping
    left: Sequence[Component] = residual
    for _ in range(3):
        used: list[tuple[int, int]] = []
        stacked: list[Sequence[Component]] = []
        shares: list[Component] = []
        for bone, axes in columns.items():
            for axis, column in enumerate(axes):
                if column is not None:
                    used.append((bone, axis))
                    stacked.append(column)
                    shares.append(tree.shares[bone][axis])
        if not used:
            break
        found, left = _solved(stacked, shares, residual, weights, damping, stage.rule)
        change = {bone: [zero, zero, zero] for bone in columns}
        shift = [[zero, zero, zero] for _ in tree.roots]
        for (bone, axis), value in zip(used, found, strict=True):
            (change[bone] if bone >= 0 else shift[-1 - bone])[axis] = value
        blocked: Condition = False
        for bone, axes in columns.items():
            if not tree.is_free[bone]:
                blocked = blocked | block(ops, tree.limits[bone], state.coordinates[bone], axes, change[bone])
        if not ops.any(blocked):
            break
    share, _ = shortened(ops, (*change.values(), *shift), zero)
    predicted: Component = 0.0
    row = 0
    for each, weight in zip(stage.tasks, stage.weights, strict=True):
        for part, rest in zip(residual[row : row + each.rows], left[row : row + each.rows], strict=True):
            then = part + share * (rest - part)
            predicted = predicted + weight * then * then
        row += each.rows
    return (
        {bone: [share * part for part in parts] for bone, parts in change.items()},
        [[share * part for part in parts] for parts in shift],
        predicted,
    )


def _solved(
    stacked: Sequence[Sequence[Component]],
    shares: Sequence[Component],
    residual: Sequence[Component],
    weights: Sequence[Component],
    damping: Component,
    rule: StackedRule,
) -> tuple[list[Component], list[Component]]:
    """Return S J^T y, with the y that a rule finds, and the residual after it if the rule damps: damping y."""
    columns = np.array(stacked, float)
    weighted = columns * np.array(shares).reshape(-1, *[1] * (columns.ndim - 1))
    if columns.ndim == 2:
        y = rule.solution((columns.T @ weighted).tolist(), residual, weights, damping)
        turned = (weighted @ np.array(y)).tolist()
    else:
        columns, weighted = np.moveaxis(columns, -1, 0), np.moveaxis(weighted, -1, 0)
        normal = np.moveaxis(columns.swapaxes(-1, -2) @ weighted, 0, -1)
        y = rule.solution([[*row] for row in normal], residual, weights, damping)
        turned = [*(weighted @ np.array(y).T[..., None])[..., 0].T]
    return turned, [damping / weight * part for weight, part in zip(weights, y, strict=True)]


def positive_solution(
    normal: list[list[Component]], right_side: Sequence[Component], dampings: Sequence[Component]
) -> list[Component]:
    """Solve (normal + diagonal of dampings) y = right_side, for a symmetric positive matrix, by L D L^T.

    Not by numpy's own: that hands even small matrices to several threads, which wait for each other on a busy machine.
    """
    count = len(right_side)
    rows = [row[: i + 1] for i, row in enumerate(normal)]
    found = [*right_side]
    for k in range(count):
        pivot = rows[k][k] + dampings[k]
        column = [rows[i][k] for i in range(k + 1, count)]
        rows[k][k] = pivot
        for number, value in enumerate(column):
            i = k + 1 + number
            factor = value / pivot
            row = rows[i]
            row[k] = factor
            row[k + 1 :] = [a - factor * b for a, b in zip(row[k + 1 :], column, strict=False)]
            found[i] = found[i] - factor * found[k]
    for k in range(count - 1, -1, -1):
        value = found[k] / rows[k][k]
        for i in range(k + 1, count):
            value = value - rows[i][k] * found[i]
        found[k] = value
    return found


def _applied(
    ops: Operations,
    tree: Tree,
    state: State,
    change: dict[int, list[Component]],
    shift: Sequence[Sequence[Component]],
    root: Vector,
) -> tuple[list[Any], Vector, list[Vector]]:
    coordinates = [*state.coordinates]
    for bone, (dx, dy, dz) in change.items():
        if tree.is_free[bone]:
            w, x, y, z = state.placed.parents[bone]
            coordinates[bone] = turned_by(ops, coordinates[bone], rotate((w, -x, -y, -z), (dx, dy, dz)))
        else:
            x, twist, z = coordinates[bone]
            coordinates[bone] = clamp(ops, tree.limits[bone], (x + dx, twist + dy, z + dz))
    shifts: list[Vector] = [*state.shifts]
    for number, (dx, dy, dz) in enumerate(shift):
        x, y, z = shifts[number]
        shifts[number] = (x + dx, y + dy, z + dz)
    return coordinates, root, shifts


def choose_state(ops: Operations, where: Condition, yes: State, no: State) -> State:
    """Choose between states, batch item by batch item."""
    if where is True:
        return yes

    # Any: vectors, quaternions, or None for a joint without a bone.
    def parts(a: Any, b: Any) -> Any:
        return a if a is None else choose_parts(ops, where, a, b)

    placed = PlacedTree(
        [parts(a, b) for a, b in zip(yes.placed.parents, no.placed.parents, strict=True)],
        [parts(a, b) for a, b in zip(yes.placed.frames, no.placed.frames, strict=True)],
        [parts(a, b) for a, b in zip(yes.placed.joints, no.placed.joints, strict=True)],
    )
    return replace(
        yes,
        coordinates=[parts(a, b) for a, b in zip(yes.coordinates, no.coordinates, strict=True)],
        shifts=[parts(a, b) for a, b in zip(yes.shifts, no.shifts, strict=True)],
        placed=placed,
        residuals=[parts(a, b) for a, b in zip(yes.residuals, no.residuals, strict=True)],
    )
