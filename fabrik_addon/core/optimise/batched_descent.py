# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Descents by weight of F frames of an animation at once, from poses between two that are solved.

The descent is that of one frame (``weighted_descent.least_cost``) with an axis of F before the others: the components
of targets, poles and frames are arrays (F,). So is the descent without rotations and poles, of frames that need it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..math.operations import Array
from ..model.tree_state import State
from ..tasks.orientation_task import OrientationTask
from ..tasks.pole_task import PoleTask
from ..tasks.position_task import PositionTask
from ..tasks.task import Task
from ..tasks.task_loss import Firmness
from ..tasks.task_stack import TaskStack
from ..tasks.tree_coordinates import TreeCoordinates
from .exact_goals import ExactGoals, are_away, is_worth_the_way, to_meet
from .exact_steps import meet_all, within_change
from .held_descent import TREE_STEPS, Ended
from .weighted_descent import Beginning, least_cost
from .weighted_solution import met_exactly, of_targets_alone


def are_alike(stacks: Sequence[TaskStack]) -> bool:
    """Tell whether the tasks of frames differ in targets, frames, poles and weights alone, and can be batched."""
    kinds = [[[_kind(task) for task, _ in tasks] for tasks in (*stack.levels, stack.preferences)] for stack in stacks]
    return all(None not in tasks for tasks in kinds[0]) and all(own == kinds[0] for own in kinds)


def _kind(task: Task) -> tuple[object, ...] | None:
    """Return what is the same of a task at all frames; None of one that isn't batched."""
    if isinstance(task, PositionTask) and task.target is not None and task.slack == 0.0:
        return "position", task.joint
    if isinstance(task, OrientationTask) and task.axis is None and task.bound == np.inf:
        return "orientation", task.bone
    return ("pole", task.rounding, task.fade, *task.joints) if isinstance(task, PoleTask) else None


def _of_frames(tasks: Sequence[Task]) -> Task:
    """Return the task whose components are arrays (F,), of tasks of one kind."""

    def components(name: str) -> Any:  # Any: a vector, a quaternion or an angle of arrays
        return np.array([getattr(task, name) for task in tasks]).T

    first = tasks[0]
    if isinstance(first, PoleTask):
        return PoleTask(first.joints, components("pole"), components("angle"), first.rounding, first.fade)
    if isinstance(first, OrientationTask):
        return OrientationTask(first.bone, components("frame"))
    assert isinstance(first, PositionTask)
    return PositionTask(first.joint, components("target"))


def stack_of_frames(stacks: Sequence[TaskStack]) -> TaskStack:
    """Return the stack of F frames whose tasks are alike."""
    first = stacks[0]
    *levels, preferences = (
        [
            (_of_frames([task for task, _ in each]), np.array([weight for _, weight in each]))
            for each in zip(*tasks, strict=True)
        ]
        for tasks in zip(*([*stack.levels, stack.preferences] for stack in stacks), strict=True)
    )
    tree = first.tree.of_frames([stack.tree for stack in stacks])
    return TaskStack(TreeCoordinates(tree, first.coordinates.moves_root, (len(stacks),)), levels, preferences)


def descend_between(
    stacks: Sequence[TaskStack],
    references: Sequence[State],
    solved: tuple[State, State, State],
    forces: tuple[Array | None, Array | None],
    firmness: Firmness,
) -> list[Ended]:
    """Bring the poses of F frames between two solved ones to the least cost, as ``descend_by_weight`` does one pose.

    Args:
        stacks: of the frames, alike (``are_alike``).
        solved: solutions of the two frames before them, and of the one after them.
        forces: of the tasks in the solutions of the frame before them and of the one after them (``Ended.forces``).
    """
    stack = stack_of_frames(stacks)
    # Between poses that keep the pins lie some that don't.
    start, _ = meet_all(stack.first_level, _between(stack, *solved))
    reference = _together(stack, references)
    between = None
    if forces[0] is not None and forces[1] is not None and forces[0].shape == forces[1].shape:
        share = np.arange(1.0, len(stacks) + 1.0)[:, None] / (len(stacks) + 1)
        between = forces[0] + share * (forces[1] - forces[0])
    ended = least_cost(stack, start, reference, TREE_STEPS, firmness, Beginning(is_near=True, forces=between))
    state, taken = ended.state, ended.steps
    by_weight = _of_each(stacks, state)
    goals = [to_meet(*each, firmness, None) for each in zip(stacks, by_weight, strict=True)]
    met = _met_together(goals, by_weight, firmness)
    each = zip(stacks, by_weight, met, strict=True)
    if away := [number for number, (own, one, exact) in enumerate(each) if are_away(own, one, firmness, exact)]:

        def of_away(of_frames: Sequence[Any]) -> list[Any]:
            return [of_frames[number] for number in away]

        alone = stack_of_frames(of_away(stacks))
        there, more, *_ = of_targets_alone(
            alone, _together(alone, of_away(by_weight)), _together(alone, of_away(references)), firmness
        )
        taken[away] += more
        for number, nearer in zip(away, _of_each(of_away(stacks), there), strict=True):
            goals[number] = to_meet(stacks[number], by_weight[number], firmness, nearer)
        for number, exact in zip(away, _met_together(of_away(goals), of_away(by_weight), firmness), strict=True):
            met[number] = exact
    assert ended.forces is not None  # descents by weight have them
    each_ended = map(Ended, by_weight, taken.tolist(), ended.is_converged.tolist(), ended.forces)
    return [
        met_exactly(own, one, firmness, reference, None, known)
        for own, one, reference, known in zip(stacks, each_ended, references, zip(goals, met, strict=True), strict=True)
    ]


def _met_together(goals: Sequence[ExactGoals], states: Sequence[State], firmness: Firmness) -> list[State | None]:
    """Return the states near others in which ``meet_all`` has met the goals of frames; None where it hasn't."""
    found: list[State | None] = [None] * len(goals)
    for levels in {len(each.stack.levels) for each in goals}:
        alike = [number for number, each in enumerate(goals) if len(each.stack.levels) == levels]
        own = [goals[number].stack for number in alike]
        stack = stack_of_frames(own)
        met, are_met = meet_all(
            stack, _together(stack, [states[number] for number in alike]), firmness.is_strict, firmness.ends_early
        )
        for number, one, is_met in zip(alike, _of_each(own, met), np.array(are_met).tolist(), strict=True):
            # What rotations aren't worth is left to ``met_exactly``.
            if is_met and is_worth_the_way(goals[number], states[number], one):
                found[number] = within_change(goals[number].stack, states[number], one, goals[number].most)
    return found


def _together(stack: TaskStack, states: Sequence[State]) -> State:
    """Return the states of F frames as one."""
    names = "rotations", "limited_coordinates", "shifts"
    return State(stack.tree, *(np.array([getattr(one, name) for one in states]) for name in names))


def _of_each(stacks: Sequence[TaskStack], state: State) -> list[State]:
    """Return the states of F frames."""
    arrays = zip(state.rotations, state.limited_coordinates, state.shifts, strict=True)
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
        return a + share * (way + (1.0 - share) * (count * (a - v) - way))

    def signed(rotations: Array) -> Array:
        return np.where((rotations * first.rotations).sum(axis=1, keepdims=True) < 0.0, -rotations, rotations)

    rotations = between(signed(before.rotations), first.rotations, signed(last.rotations))
    rotations /= np.linalg.norm(rotations, axis=2, keepdims=True)
    limited_coordinates = between(before.limited_coordinates, first.limited_coordinates, last.limited_coordinates)
    state = State(stack.tree, rotations, limited_coordinates, between(before.shifts, first.shifts, last.shifts))
    return stack.coordinates.applied(state, np.zeros((len(share), len(stack.coordinates.weights))))
