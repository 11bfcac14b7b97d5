# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The reference pose of a tree without pins: the pose at hand, with joints that are to meet halfway."""

from typing import NamedTuple

from ..math.vectors import onward, subtract
from ..model.tree_state import State
from ..optimise.held_descent import TREE_STEPS, descend_held
from ..tasks.position_task import PositionTask
from ..tasks.task import Task
from ..tasks.task_stack import TaskStack
from ..tasks.tree_coordinates import TreeCoordinates
from .pole_sides import bending_away, turned_to_poles
from .tree_problem import TreeProblem


class ReferencePose(NamedTuple):
    """A reference pose of a tree without pins, and which bones aren't there as in the pose at hand."""

    pose: State
    bent: frozenset[int]
    """Bones of chains that bend away from their poles in the pose at hand of this or an earlier frame."""


def reference_pose(
    problem: TreeProblem, begin: State, before: State | None, earlier: ReferencePose | None
) -> ReferencePose:
    """Return the reference pose: the pose at hand, with chains that bend away from their poles bent to these.

    Without the posture task a round of a hand's path left the bones of Rigify's human, whose legs bend away from their
    poles, off by 10 to 11 degrees; with chains that bend away in the reference pose bones rotated by 93 degrees in one
    step. Later frames take the coordinates of those bones over. Bent again in each frame of an animation of the legs
    they met other limits, and bones rotated by 138 degrees in one frame.
    """
    pose = _met_halfway(problem, begin)
    away = bending_away(problem, pose)
    bones = frozenset(bone for number in away for bone in problem.poles[number].joints[:-1])
    if earlier is not None and before is not None:
        before = problem.with_bones_at(before, earlier.bent, earlier.pose.coordinates)
        bones |= earlier.bent
    if bones:
        bent = before or _descended_to_poles(problem, pose)
        pose = problem.with_bones_at(pose, bones, bent.coordinates)
    return ReferencePose(pose, bones)


def _met_halfway(problem: TreeProblem, state: State) -> State:
    """Return the state in which joints that are to meet are as near to their weighted mean position as can be."""
    if all(position.target is not None for position in problem.positions):
        return state
    tasks: list[tuple[Task, float]] = []
    for position, weight in zip(problem.positions, problem.weights, strict=True):
        if position.target is not None:
            tasks.append((position, weight))
            continue
        here, there = (state.placed.joints[joint] for joint in (position.joint, position.meets))
        other = _weight_at(problem, position.meets, weight)
        middle = onward(here, other / (weight + other), subtract(there, here))
        tasks += [(PositionTask(position.joint, middle), weight), (PositionTask(position.meets, middle), other)]
    return descend_held(TaskStack(TreeCoordinates(problem.start.tree, False), [tasks]), state, state, TREE_STEPS).state


def _weight_at(problem: TreeProblem, joint: int, weight: float) -> float:
    """Return the weight of a joint's position in the mean at which it meets an effector.

    That is the largest weight of the effectors at or beyond the joint, else that of the effector that it meets.
    """
    structure = problem.start.tree.structure
    if not structure.supporting_bones[joint]:
        return 1e6 * weight  # no bone moves it: the effector meets it where it is
    of_others = [
        other
        for position, other in zip(problem.positions, problem.weights, strict=True)
        if joint in (position.joint, *structure.above[position.joint]) and position.meets != joint
    ]
    return max(of_others, default=weight)


def _descended_to_poles(problem: TreeProblem, state: State) -> State:
    """Return a state with chains turned to their poles; those that limits keep away descend."""
    bent = turned_to_poles(problem, state, is_reference=True)
    away = bending_away(problem, bent)
    if not away:
        return bent
    tips = [problem.positions[number].joint for number in away]
    places = [(PositionTask(tip, bent.placed.joints[tip]), 1.0) for tip in tips]
    poles = [(problem.poles[number], 1.0) for number in away]
    stack = TaskStack(TreeCoordinates(problem.start.tree, False), [[*places, *poles]])
    return descend_held(stack, bent, None, TREE_STEPS).state
