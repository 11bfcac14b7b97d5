# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The swivel task of arms: its Jacobian, the pose before a pull, and the directions of the model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fabrik_addon.core import Goals, Options, StartTree, Swivel, start_tree
from fabrik_addon.core.body.arm_swivel import SWIVEL_MODEL, swivel_model
from fabrik_addon.core.model.tree_state import State
from fabrik_addon.core.solve_tree import solve_tree
from fabrik_addon.core.tasks.swivel_task import SwivelTask, swivel_task
from fabrik_addon.core.tasks.task_stack import TaskStack
from fabrik_addon.core.tasks.tree_coordinates import TreeCoordinates
from fabrik_addon.core.trees.goals_as_tasks import problem_of_goals
from tests.unit.chains import Array, unit
from tests.unit.trees import y_tree

SHOULDER, ELBOW, WRIST = 4, 5, 6


def arm_of(model: Array) -> tuple[StartTree, SwivelTask, State]:
    """The left one of the arms of a trunk, with its last bone but one as the chest."""
    chain, pose = y_tree()
    start = start_tree(replace(chain, posture_weights=np.ones(len(chain.lengths))), pose)
    state = problem_of_goals(start, Goals(pose.positions[chain.tips]), Options()).present
    return start, swivel_task(start, state.placed, Swivel((SHOULDER, ELBOW, WRIST), 2, model)), state


@pytest.mark.parametrize("seed", range(6))
def test_the_jacobian_is_the_change_of_the_residual(seed: int) -> None:
    rng = np.random.default_rng(seed)
    start, task, state = arm_of(rng.normal(size=(4, 3)))
    task = replace(task, angle=2.0 * task.angle + 1.0)
    stack = TaskStack(TreeCoordinates(start.tree, True), [], [(task, 3.0)])
    state = stack.coordinates.applied(state, 0.5 * rng.normal(size=stack.jacobian(state).shape[1]))
    before = stack.residual(state)
    assert abs(before[0]) > 1e-3
    jacobian = stack.jacobian(state)
    for _ in range(3):
        change = 1e-5 * rng.normal(size=jacobian.shape[1])
        there = stack.residual(stack.coordinates.applied(state, change))
        back = stack.residual(stack.coordinates.applied(state, -change))
        np.testing.assert_allclose(0.5 * (back - there), jacobian @ change, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_pose_before_has_no_residual(seed: int) -> None:
    _, task, state = arm_of(np.random.default_rng(seed).normal(size=(4, 3)))
    assert abs(task.angle) > 0.01
    assert task.residual(state.placed) == pytest.approx((0.0,), abs=1e-12)


def test_a_straight_arm_has_the_angle_of_the_model() -> None:
    _, task, _ = arm_of(SWIVEL_MODEL)
    straight = replace(task, length=1e6).in_the_pose(arm_of(SWIVEL_MODEL)[2].placed)
    assert straight.angle == 0.0


FORWARD, BACK, DOWN, OUT = (0.0, -1.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, -1.0), (1.0, 0.0, 0.0)


@pytest.mark.parametrize(("hand", "elbow"), [(FORWARD, DOWN), (FORWARD, OUT), (DOWN, BACK), (OUT, BACK)])
def test_where_elbows_of_captured_arms_point(
    hand: tuple[float, float, float], elbow: tuple[float, float, float]
) -> None:
    direction = SWIVEL_MODEL[0] + np.array(hand) @ SWIVEL_MODEL[1:]
    across = direction - (direction @ hand) * np.array(hand)
    assert unit(across) @ elbow > 0.5


def test_the_model_of_a_right_arm_is_the_mirrored_one() -> None:
    n = unit([0.3, -0.8, 0.4])
    mirror = np.diag([-1.0, 1.0, 1.0])
    model, mirrored = swivel_model(np.eye(3)), swivel_model(mirror)
    np.testing.assert_allclose(mirrored[0] + (mirror @ n) @ mirrored[1:], mirror @ (model[0] + n @ model[1:]))


def test_an_elbow_goes_where_the_model_says() -> None:
    """A hand that is led half around the shoulder: the elbow points more to the model's side with the task."""
    chain, pose = y_tree()
    chain = replace(chain, posture_weights=np.where(np.arange(len(chain.lengths)) < 4, 1e4, 1.0))
    start = start_tree(chain, pose)
    model = np.array([[0.0, 0.0, -1.0], *np.zeros((3, 3))])
    swivel = Swivel((SHOULDER, ELBOW, WRIST), 2, model)
    shoulder = pose.positions[SHOULDER]
    targets = np.array([shoulder + np.array([-0.3, -1.4, 0.0]), pose.positions[9]])
    below = []
    for swivels in ((), (swivel,)):
        goals = Goals(targets, priorities=np.array([2, 3]), swivels=swivels)
        found = solve_tree(start, goals, Options()).pose.positions
        np.testing.assert_allclose(found[WRIST], targets[0], atol=1e-4)
        below.append(float(found[SHOULDER][2] - found[ELBOW][2]))
    assert below[1] > below[0] + 0.2
