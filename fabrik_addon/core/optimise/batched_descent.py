# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Descents of F frames of an animation at once, each from a pose near its solution.

The step is that of ``prioritised_descent``, with an axis of F before the others. Every step is taken, whether or not it
lowers the cost of its frame: a shorter step of one frame would take another evaluation of all frames. So the descent of
a frame may fail, and the caller solves that frame alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..math.factorisation import damped_inverse
from ..math.operations import TINY, Array
from ..math.quaternion_arrays import conjugate, cross, multiply
from ..model.joint_limits import AT_LIMIT
from ..model.tree_arrays import PlacedTree, TreeArrays
from .bounded_step import ROUNDS
from .prioritised_descent import (
    CLOSELY_MET,
    CONVERGED_POSTURE,
    CONVERGED_TASKS,
    DAMPING,
    LONGEST,
    MET,
    PROJECTOR,
    least_dampings,
)
from .task_stack import TaskStack
from .tasks import LEAST_BEND, POLE_NEAR, OrientationTask, PoleTask, PositionTask, State, Task

STEPS = 24
"""Steps at most: a frame that hasn't converged by then is solved alone."""

MIXED_STEPS = 4
"""Steps before this one whose posture parts are mixed with that of this one (``_mixed``). With 1, 14 to 30 percent of
the frames of a body converged within ``STEPS``, with 4 and ``SHARE`` all of 90."""

MIXED_FROM = 3
"""First step that is mixed: the posture parts of steps while the tasks are far from met say nothing of the later ones.
Of 90 frames of a body 15 needed more than ``STEPS`` steps with 0 and 4 with 2, none with 3."""

SHARE = 0.5
"""beta of ``_mixed``, and the share of its posture part with which a step before ``MIXED_FROM`` is taken."""

REGULAR = 1e-10
"""Added to the diagonal of the normal equations of ``_mixed``, over its largest element."""


def are_alike(stacks: Sequence[TaskStack]) -> bool:
    """Tell whether descents can be batched: with the same tasks but for where their targets, frames and poles are."""
    first, *others = ([[(_kind(task), weight) for task, weight in level] for level in stack.levels] for stack in stacks)
    if any(stack.preferences for stack in stacks):
        return False
    return all(None not in (kind for kind, _ in level) for level in first) and all(other == first for other in others)


def _kind(task: Task) -> tuple[object, ...] | None:
    """Return what is the same of a task at all frames; None of one that isn't batched."""
    if isinstance(task, PositionTask) and task.target is not None and task.slack == 0.0:
        return "position", task.joint
    if isinstance(task, OrientationTask) and task.axis is None and task.bound == np.inf:
        return "orientation", task.bone
    if isinstance(task, PoleTask):
        return "pole", *task.joints, task.angle
    return None


@dataclass(frozen=True, eq=False)
class DescentBatch:
    """Descents of F frames, with the targets, frames and poles of their tasks as arrays."""

    stacks: Sequence[TaskStack]
    weights: Array
    """(N + S,) W of the steps, and of the distance from the references that the poses are nearest to."""

    @property
    def first(self) -> TaskStack:
        """The stack that says what is the same of all."""
        return self.stacks[0]

    @cached_property
    def arrays(self) -> TreeArrays:
        """The trees of all frames."""
        return self.first.tree.arrays.of_frames([stack.tree.arrays for stack in self.stacks])

    @cached_property
    def targets(self) -> Array:
        """(F, P, 3) of the position tasks."""
        return np.array([stack.at_points[1] for stack in self.stacks])

    @cached_property
    def turned_or_bent(self) -> list[tuple[OrientationTask | PoleTask, int, Array]]:
        """The other tasks, their first rows, and their frames (F, 4) or poles (F, 3)."""
        found = []
        for number, (task, row) in enumerate(self.first.other_tasks):
            own = [stack.other_tasks[number][0] for stack in self.stacks]
            places = [one.frame if isinstance(one, OrientationTask) else one.pole for one in own]  # type: ignore[union-attr]
            found.append((task, row, np.array(places)))
        return found  # type: ignore[return-value]  # ``are_alike`` lets no other tasks through

    def linearised(self, placed: PlacedTree, swing_twists: Array) -> tuple[Array, Array]:
        """Return the residuals (F, M) and J (F, M, N + S), both weighted."""
        first, arrays = self.first, self.arrays
        bone_axes = arrays.axes(placed, swing_twists)
        moved = arrays.moved(placed, first.carried, bone_axes)
        count = moved.shape[2]
        if first.shift_count:
            moved = np.concatenate([moved, np.broadcast_to(first.shifted, (len(moved), *first.shifted.shape))], axis=2)
        by_joint = moved.reshape(len(moved), len(first.joints), 3, -1)
        number = {joint: k for k, joint in enumerate(first.joints)}
        residual = np.zeros((len(moved), len(first.row_weights)))
        jacobian = np.zeros((*residual.shape, by_joint.shape[-1]))
        joints, _, rows = first.at_points
        residual[:, rows] = self.targets - placed.points.take(joints, 1)
        jacobian[:, rows] = by_joint[:, [number[joint] for joint in joints.tolist()]]
        axes = bone_axes.swapaxes(2, 3).reshape(len(moved), -1, 3).take(arrays.structure.chosen, 1)
        for task, row, place in self.turned_or_bent:
            if isinstance(task, OrientationTask):
                residual[:, row : row + 3] = task.scale * _rotation_off(place, placed.quaternions[:, task.bone])
                turned = arrays.structure.turned[task.bone][:, None] * axes
                jacobian[:, row : row + 3, :count] = task.scale * turned.swapaxes(1, 2)
                continue
            arc, gradient = _arc_to_pole(placed.points[:, task.joints], place, task.angle)
            residual[:, row] = -arc
            of_joints = by_joint[:, [number[joint] for joint in task.joints]]
            jacobian[:, row] = np.einsum("fki,fkin->fn", gradient, of_joints)
        return residual * first.row_weights, jacobian * first.row_weights[:, None]


def _rotation_off(desired: Array, here: Array) -> Array:
    """Return the rotation vectors (F, 3) from the frames ``here`` to the desired ones."""
    off = multiply(desired, conjugate(here))
    cosine, axis = off[:, :1], off[:, 1:]
    sine = np.linalg.norm(axis, axis=1, keepdims=True)
    found: Array = 2.0 * np.copysign(np.arctan2(sine, np.abs(cosine)), cosine) / (sine + TINY) * axis
    return found


def _arc_to_pole(points: Array, pole: Array, angle: float) -> tuple[Array, Array]:
    """Return the arc phi |b'| (F,) of ``PoleTask.gradient``, and how it changes with each of the joints (F, K, 3).

    Both are NaN where the chain or the pole is on the chord.
    """
    root, inner = points[:, 0], points[:, 1:-1]
    along, to_pole = points[:, -1] - root, pole - root
    bend = (inner - root[:, None]).sum(axis=1)
    chord = np.linalg.norm(along, axis=1, keepdims=True)
    along = along / chord
    b, g = (bend * along).sum(axis=1, keepdims=True), (to_pole * along).sum(axis=1, keepdims=True)
    bend, to_pole = bend - b * along, to_pole - g * along
    size, aside = (np.linalg.norm(one, axis=1, keepdims=True) for one in (bend, to_pole))
    n, m = cross(along, bend) / size, cross(along, to_pole) / aside
    phi = np.arctan2((bend * m).sum(axis=1), (bend * to_pole).sum(axis=1) / aside[:, 0]) - angle
    phi -= 2.0 * np.pi * np.round(phi / (2.0 * np.pi))
    at_tip = -b / chord * n + size * g / (aside * chord) * m
    gradient = np.repeat(n[:, None], points.shape[1], axis=1)
    gradient[:, 0] = size / aside * m - inner.shape[1] * n - at_tip
    gradient[:, -1] = at_tip
    fade = np.minimum(1.0, aside / (POLE_NEAR * np.hypot(aside, g)))
    fade *= fade * (3.0 - 2.0 * fade)
    gradient *= fade[:, :, None]
    is_on_chord = np.minimum(np.minimum(size, aside), chord)[:, 0] <= LEAST_BEND
    return np.where(is_on_chord, np.nan, phi * (fade * size)[:, 0]), gradient


def _solve_levels(
    first: TaskStack, jacobian: Array, residual: Array, weights: Array, toward: Array
) -> tuple[Array, Array]:
    """Return both parts (F, N + S) of a step, as ``prioritised_descent`` does for one pose."""
    change, posture = np.zeros(weights.shape), toward * (weights > 0.0)
    projected: list[tuple[Array, Array]] = []
    for span, least_damping in zip(first.spans, least_dampings(first), strict=True):
        rows, left = jacobian[:, span], residual[:, span]
        open_rows = rows
        for pseudo_inverse, others in projected:
            open_rows = open_rows - (rows @ pseudo_inverse) @ others
        weighted = open_rows * weights[:, None]
        normal = weighted @ open_rows.swapaxes(1, 2)
        least = PROJECTOR * np.trace(normal, axis1=1, axis2=2) + 1e-20
        damping = DAMPING * np.sqrt(np.square(left).sum(axis=1)) + least_damping
        inverse, damped = damped_inverse(normal, np.array([least, least + damping]))
        left = left - np.einsum("fmn,fn->fm", rows, change)
        change = change + np.einsum("fmn,fm->fn", weighted, np.einsum("fij,fj->fi", damped, left))
        projected.append((weighted.swapaxes(1, 2) @ inverse, open_rows))
    for pseudo_inverse, rows in projected:
        posture = posture - (pseudo_inverse @ (rows @ posture[:, :, None]))[:, :, 0]
    return change, posture


def _bounded_step(
    batch: DescentBatch, swing_twists: Array, jacobian: Array, residual: Array, toward: Array
) -> tuple[Array, Array]:
    """Return both parts (F, N + S) of a step that ends within limits, as ``bounded_step`` does."""
    first, structure = batch.first, batch.first.tree.structure
    weights = np.tile(batch.weights, (len(jacobian), 1))
    down, up = np.full(weights.shape, -np.inf), np.full(weights.shape, np.inf)
    numbers, places = structure.limited_columns
    down[:, numbers] = (structure.lower - swing_twists).reshape(len(down), -1)[:, places]
    up[:, numbers] = (structure.upper - swing_twists).reshape(len(up), -1)[:, places]
    i, k = structure.swing_columns
    swings, radii = structure.swings(swing_twists)
    on_ellipse = np.sqrt(np.square(swings / radii).sum(axis=2)) >= 1.0 - AT_LIMIT
    normals = swings / np.square(radii)
    normals /= np.linalg.norm(normals, axis=2, keepdims=True) + TINY
    fixed = np.zeros(weights.shape)
    for _ in range(ROUNDS):
        left = residual - np.einsum("fmn,fn->fm", jacobian, fixed)
        tasks, posture = _solve_levels(first, jacobian, left, weights, toward)
        change = tasks + posture
        above, below = (weights > 0.0) & (change > up), (weights > 0.0) & (change < down)
        outward = normals[:, :, 0] * change[:, i] + normals[:, :, 1] * change[:, k]
        leaves = on_ellipse & (weights[:, i] > 0.0) & (outward > 1e-12)
        if not (above.any() or below.any() or leaves.any()):
            break
        fixed = fixed + np.where(above, up, 0.0) + np.where(below, down, 0.0)
        weights[above | below] = 0.0
        nx, nz = np.where(leaves, normals[:, :, 0], 0.0), np.where(leaves, normals[:, :, 1], 0.0)
        jacobian, toward = _along(jacobian, i, k, nx[:, None], nz[:, None]), _along(toward, i, k, nx, nz)
        on_ellipse &= ~leaves
    return tasks + fixed, posture


def _along(rows: Array, i: NDArray[np.intp], k: NDArray[np.intp], nx: Array, nz: Array) -> Array:
    """Return rows (..., N + S) without their parts along normals, of x and z in the columns i and k."""
    found = rows.copy()
    across = nx * rows[..., i] + nz * rows[..., k]
    found[..., i] -= nx * across
    found[..., k] -= nz * across
    return found


def _mixed(metric: Array, parts: Sequence[Array], taken: Sequence[Array]) -> Array:
    """Return the posture parts (F, N + S) with which a step is taken: Anderson mixing of ``MIXED_STEPS``.

    f_k are the posture parts of the steps so far, s_k those with which they were taken; with ``F`` and ``S`` the
    columns of the last differences ``f_k+1 - f_k`` and of ``s_k``, and products in the metric,

        beta f - (S + beta F) gamma,    gamma = argmin |f - F gamma|

    after Walker and Ni (2011). The posture parts of Gauss-Newton steps leave out the curvature of the tasks:
    extrapolated from one step before, those of three in four frames of a body in motion didn't converge.

    Args:
        metric: (N + S,) of the products.
        parts: f_k, the last one that of this step.
        taken: s_k, one fewer.
    """
    here = parts[-1]
    if not taken:
        return SHARE * here
    changes = np.stack([after - before for before, after in pairwise(parts)], axis=1)
    normal = (changes * metric) @ changes.swapaxes(1, 2)
    diagonal = np.einsum("fii->fi", normal)
    diagonal += REGULAR * diagonal.max(axis=1, keepdims=True) + 1e-30
    gamma = np.linalg.solve(normal, (changes * metric) @ here[:, :, None])
    found: Array = SHARE * here - ((np.stack(taken, axis=1) + SHARE * changes) * gamma).sum(axis=1)
    return found


def descend_between(
    stacks: Sequence[TaskStack], weights: Array, references: Sequence[State], first: State, last: State
) -> list[State | None]:
    """Bring the poses of F frames between two solved ones to where their tasks are met nearest to their references.

    They start from the way between the solved poses, in equal parts.

    Args:
        stacks: of the frames (``are_alike``).
        weights: (N + S,) how readily each coordinate changes.
        references: of the frames.
        first: solution of the frame before them.
        last: solution of the frame after them.

    Returns:
        the poses; None where a descent didn't converge.
    """
    batch = DescentBatch(stacks, weights)
    one, arrays = batch.first, batch.arrays
    there = np.array([state.rotations for state in references]), np.array([state.swing_twists for state in references])
    shifts_there = np.array([state.shifts for state in references])
    rotations, swing_twists, shifts = _between(first, last, len(stacks))
    rotations, swing_twists = arrays.rotated(rotations, swing_twists, np.zeros((*rotations.shape[:2], 3)))
    columns = arrays.structure.flat_columns
    metric = 1.0 / np.maximum(weights, 1e-2)
    parts: list[Array] = []
    taken: list[Array] = []
    for number in range(STEPS):
        placed = arrays.placed(rotations, shifts)
        residual, jacobian = batch.linearised(placed, swing_twists)
        way = arrays.way(rotations, swing_twists, there).reshape(len(stacks), -1)[:, columns]
        if one.shift_count:
            way = np.concatenate([way, (shifts_there - shifts).reshape(len(way), -1)], axis=1)
        by_tasks, by_posture = _bounded_step(batch, swing_twists, jacobian, residual, way)
        gained = np.linalg.norm(np.einsum("fmn,fn->fm", jacobian, by_tasks), axis=1)
        is_converged = (gained <= CONVERGED_TASKS) & (np.linalg.norm(by_posture, axis=1) <= CONVERGED_POSTURE)
        if is_converged.all():
            break
        if number == MIXED_FROM:
            parts, taken = [], []
        parts = [*parts[-MIXED_STEPS:], by_posture]
        mixed = _mixed(metric, parts, taken) if number >= MIXED_FROM else SHARE * by_posture
        change = np.where(is_converged[:, None], 0.0, by_tasks + mixed)
        share = np.minimum(1.0, LONGEST / (np.linalg.norm(change, axis=1, keepdims=True) + TINY))
        change *= share
        taken = [*taken[-MIXED_STEPS:], share * mixed][-MIXED_STEPS:]
        by_joint = np.zeros((*rotations.shape[:2], 3))
        by_joint.reshape(len(change), -1)[:, columns] = change[:, : len(columns)]
        rotations, swing_twists = arrays.rotated(rotations, swing_twists, by_joint)
        if one.shift_count:
            shifts = shifts + change[:, len(columns) :].reshape(shifts.shape)
    errors = np.stack([np.linalg.norm(residual[:, span], axis=1) for span in one.spans], axis=1)
    is_converged &= ((errors <= CLOSELY_MET) | (errors > MET)).all(axis=1)
    states = [State(*parts) for parts in zip((d.tree for d in stacks), rotations, swing_twists, shifts, strict=True)]
    return [state if found else None for state, found in zip(states, is_converged.tolist(), strict=True)]


def _between(first: State, last: State, count: int) -> tuple[Array, Array, Array]:
    """Return rotations, swings and twists, and shifts of poses at equal parts of the way from one pose to another."""
    share = (np.arange(count) + 1.0)[:, None, None] / (count + 1.0)
    signs = np.where((first.rotations * last.rotations).sum(axis=1, keepdims=True) < 0.0, -1.0, 1.0)
    rotations = first.rotations + share * (signs * last.rotations - first.rotations)
    rotations /= np.linalg.norm(rotations, axis=2, keepdims=True)
    swing_twists = first.swing_twists + share * (last.swing_twists - first.swing_twists)
    return rotations, swing_twists, first.shifts + share * (last.shifts - first.shifts)
