# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Descents by weight of F frames of an animation at once, from poses between two that are solved.

The descent is that of one frame (``weighted_descent.least_cost``) with an axis of F before the others: the components
of targets, poles and frames are arrays (F,). What is nearly met is met exactly frame by frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..math.operations import Array
from .task_loss import Firmness
from .task_stack import TaskStack
from .tasks import OrientationTask, PoleTask, PositionTask, State, Task
from .weighted_descent import Beginning, Descended, least_cost, meet_all, met_exactly, nearly_met


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
        return PoleTask(first.joints, components("pole"), components("angle"))
    if isinstance(first, OrientationTask):
        return OrientationTask(first.bone, components("frame"))
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
    state, taken, is_converged = least_cost(stack, start, reference, steps, firmness, begins=Beginning.NEAR)
    by_weight = _of_each(stacks, state)
    nearly = [nearly_met(*each, firmness) for each in zip(stacks, by_weight, strict=True)]
    exact, are_met = meet_all(stack_of_frames(nearly), state)
    ended = zip(by_weight, taken.tolist(), is_converged.tolist(), strict=True)
    at_targets = zip(_of_each(stacks, exact), np.array(are_met).tolist(), strict=True)
    found: list[Descended] = []
    for own, one, reference, (at_target, is_met) in zip(stacks, ended, references, at_targets, strict=True):
        of_targets = found[-1].of_targets if found else None
        found.append(met_exactly(own, one, firmness, reference, of_targets, at_target if is_met else None))
    return found


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
