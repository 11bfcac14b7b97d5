# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Descents by weight of F frames of an animation at once, from poses between two that are solved.

The descent is that of one frame (``weighted_descent.least_cost``) with an axis of F before the others: the components
of targets, poles and frames are arrays (F,). What is nearly met is met exactly frame by frame.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..math.operations import TINY, Array
from ..math.quaternion_arrays import conjugate, cross, multiply
from ..model.placed_tree import PlacedTree
from ..model.tree_motions import TreeMotions
from .task_loss import Firmness
from .task_stack import TaskStack
from .tasks import LEAST_BEND, POLE_NEAR, OrientationTask, PoleTask, PositionTask, State, Task
from .weighted_descent import Descended, least_cost, meet_all, met_exactly, nearly_met


class OrientationsTask(OrientationTask):
    """An orientation task of F frames: the components of its frame are arrays (F,)."""

    def residual(self, placed: PlacedTree) -> Array:  # type: ignore[override]
        """Return the rotation vectors (3, F) from the bone's frames to the task's, times ``scale``."""
        off = multiply(np.array(self.frame).T, conjugate(placed.quaternions[:, self.bone]))
        cosine, axis = off[:, 0], off[:, 1:].T
        sine = np.sqrt(np.square(axis).sum(axis=0))
        found: Array = 2.0 * self.scale * np.copysign(np.arctan2(sine, np.abs(cosine)), cosine) / (sine + TINY) * axis
        return found


class PolesTask(PoleTask):
    """A pole task of F frames: the components of its pole, and its angle, are arrays (F,)."""

    def jacobian(self, placed: PlacedTree, motions: TreeMotions) -> Array:
        """Return how the arc changes with each coordinate (F, 1, N + S)."""
        gradient, moved = self.gradient(placed)[2], motions.of_joints(self.joints)
        found: Array = np.einsum("fki,fkin->fn", gradient, moved)[:, None]
        return found

    def gradient(self, placed: PlacedTree) -> tuple[Array, Array, Array]:  # type: ignore[override]
        """Return phi (F,), |b'| (F,) and how the arc changes with each of the joints (F, K, 3)."""
        points = placed.points.take(self.joints, 1)
        root, inner = points[:, 0], points[:, 1:-1]
        along, to_pole = points[:, -1] - root, np.array(self.pole).T - root
        bend = (inner - root[:, None]).sum(axis=1)
        chord = np.linalg.norm(along, axis=1, keepdims=True) + TINY
        along = along / chord
        b, g = (bend * along).sum(axis=1, keepdims=True), (to_pole * along).sum(axis=1, keepdims=True)
        bend, to_pole = bend - b * along, to_pole - g * along
        size, aside = (np.linalg.norm(one, axis=1, keepdims=True) for one in (bend, to_pole))
        is_off_chord = np.minimum(np.minimum(size, aside), chord) > LEAST_BEND
        wide, far = np.maximum(size, LEAST_BEND), np.maximum(aside, LEAST_BEND)
        n, m = cross(along, bend) / wide, cross(along, to_pole) / far
        phi = np.arctan2((bend * m).sum(axis=1), (bend * to_pole).sum(axis=1) / far[:, 0]) - self.angle
        phi -= math.tau * np.round(phi / math.tau)
        fade = np.minimum(1.0, far / (POLE_NEAR * np.hypot(far, g)))
        fade *= is_off_chord * fade * (3.0 - 2.0 * fade)
        at_tip = -b / chord * n + size * g / (far * chord) * m
        gradient = np.repeat(n[:, None], points.shape[1], axis=1)
        gradient[:, 0] = size / far * m - inner.shape[1] * n - at_tip
        gradient[:, -1] = at_tip
        bent = np.where(is_off_chord, fade * size, size)[:, 0]
        return np.where(is_off_chord[:, 0], phi, 0.0), bent, fade[:, :, None] * gradient


def are_alike(stacks: Sequence[TaskStack]) -> bool:
    """Tell whether the tasks of frames differ in targets, frames, poles and weights alone, and can be batched."""
    kinds = [[[_kind(task) for task, _ in level] for level in stack.levels] for stack in stacks]
    is_batched = not stacks[0].preferences and all(None not in level for level in kinds[0])
    return is_batched and all(own == kinds[0] for own in kinds)


def _kind(task: Task) -> tuple[object, ...] | None:
    """Return what is the same of a task at all frames; None of one that isn't batched."""
    if isinstance(task, PositionTask) and task.target is not None and task.slack == 0.0:
        return "position", task.joint
    if isinstance(task, OrientationTask) and task.axis is None and task.bound == np.inf:
        return "orientation", task.bone
    return ("pole", *task.joints) if isinstance(task, PoleTask) else None


def _of_frames(tasks: Sequence[Task]) -> Task:
    """Return the task whose components are arrays (F,), of tasks of one kind."""

    def components(name: str) -> Any:  # Any: a vector, a quaternion or an angle of arrays
        return np.array([getattr(task, name) for task in tasks]).T

    first = tasks[0]
    if isinstance(first, PoleTask):
        return PolesTask(first.joints, components("pole"), components("angle"))
    if isinstance(first, OrientationTask):
        return OrientationsTask(first.bone, components("frame"))
    assert isinstance(first, PositionTask)
    return PositionTask(first.joint, components("target"))


def stack_of_frames(stacks: Sequence[TaskStack]) -> TaskStack:
    """Return the stack of F frames whose tasks are alike."""
    first = stacks[0]
    levels = [
        [
            (_of_frames([task for task, _ in each]), np.array([weight for _, weight in each]))
            for each in zip(*level, strict=True)
        ]
        for level in zip(*(stack.levels for stack in stacks), strict=True)
    ]
    return TaskStack(
        first.tree.of_frames([stack.tree for stack in stacks]), levels, first.moves_roots, (), (len(stacks),)
    )


def descend_between(
    stacks: Sequence[TaskStack],
    references: Sequence[State],
    solved: tuple[State, State, State],
    steps: int,
    firmness: Firmness,
) -> list[Descended]:
    """Bring the poses of F frames between two solved ones to the least cost, as ``descend_by_weight`` does one pose.

    Args:
        stacks: of the frames, alike (``are_alike``).
        references: of the frames.
        solved: solutions of the two frames before them, and of the one after them.
        steps: at most.
        firmness: weights and forces of the levels.
    """
    stack = stack_of_frames(stacks)
    names = "rotations", "swing_twists", "shifts"
    reference = State(stack.tree, *(np.array([getattr(one, name) for one in references]) for name in names))
    # Between poses that keep the pins lie some that don't. From those the first step is without second derivatives.
    start, _ = meet_all(stack.first_level, _between(stack, *solved))
    state, taken, is_converged = least_cost(stack, start, reference, steps, firmness)
    by_weight = _of_each(stacks, state)
    nearly = [nearly_met(*each, 1.0, firmness.nearly_met) for each in zip(stacks, by_weight, strict=True)]
    exact, are_met = meet_all(stack_of_frames(nearly), state)
    ended = zip(stacks, by_weight, taken.tolist(), is_converged.tolist(), strict=True)
    at_targets = zip(_of_each(stacks, exact), np.array(are_met).tolist(), strict=True)
    return [
        met_exactly(*each, firmness, found if is_met else None)
        for each, (found, is_met) in zip(ended, at_targets, strict=True)
    ]


def _of_each(stacks: Sequence[TaskStack], state: State) -> list[State]:
    """Return the states of F frames."""
    arrays = zip(state.rotations, state.swing_twists, state.shifts, strict=True)
    return [State(stack.tree, *each) for stack, each in zip(stacks, arrays, strict=True)]


def _between(stack: TaskStack, before: State, first: State, last: State) -> State:
    """Return poses at equal parts of the way from one pose to another, beginning with the velocity of the frame before.

    With the first pose a, the last one b, v the way from the frame before a to a times the number of frames from a to
    b, and s the share of the way: ``a + s (b - a) + s (1 - s) (v - (b - a))``. Started from ``a + s (b - a)`` frames of
    Rigify's human took 3.7 steps (mean of bench row "bake-body"), from there 3.3.
    """
    count = stack.batch[0] + 1
    share = np.arange(1.0, count)[:, None, None] / count

    def between(v: Array, a: Array, b: Array) -> Array:
        way = b - a
        found: Array = a + share * (way + (1.0 - share) * (count * (a - v) - way))
        return found

    def signed(rotations: Array) -> Array:
        return np.where((rotations * first.rotations).sum(axis=1, keepdims=True) < 0.0, -rotations, rotations)

    rotations = between(signed(before.rotations), first.rotations, signed(last.rotations))
    rotations /= np.linalg.norm(rotations, axis=2, keepdims=True)
    swing_twists = between(before.swing_twists, first.swing_twists, last.swing_twists)
    state = State(stack.tree, rotations, swing_twists, between(before.shifts, first.shifts, last.shifts))
    return stack.applied(state, np.zeros((len(share), len(stack.weights))))
