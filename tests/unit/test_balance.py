# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The balance and the floor task: hulls, the center of mass over them, and the tasks' Jacobians."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fabrik_addon.core import Balance, Floor, Goals, Options, Pose, start_tree
from fabrik_addon.core.body.segment_masses import shares_of_mass
from fabrik_addon.core.math.convex_region import convex_hull, nearest_in_hull
from fabrik_addon.core.model.tree_state import State
from fabrik_addon.core.solve_tree import solve_tree
from fabrik_addon.core.tasks.balance_task import MARGIN, BalanceTask
from fabrik_addon.core.tasks.floor_task import floor_task
from fabrik_addon.core.tasks.task_stack import TaskStack
from fabrik_addon.core.tasks.tree_coordinates import TreeCoordinates
from fabrik_addon.core.trees.goals_as_tasks import problem_of_goals
from tests.unit.chains import Array
from tests.unit.trees import random_tree, second_derivative, y_tree

PULLED = 2


def second_derivatives_agree(stack: TaskStack, state: State, seed: int) -> bool:
    """Tell whether K is the second derivative of ``f . r`` along random pairs of changes, f a constant."""
    rng = np.random.default_rng(seed)
    forces = rng.uniform(0.5, 2.0, len(stack.row_weights))
    curvature = stack.curvature(stack.motions(state), stack.jacobian(state), forces)
    pairs = rng.normal(size=(10, 2, len(stack.coordinates.weights)))
    found = [float(one @ curvature @ other) for one, other in pairs]
    expected = [second_derivative(stack, state, forces, one, other) for one, other in pairs]
    assert np.abs(found).max() > 0.1
    return np.allclose(found, expected, rtol=1e-4, atol=1e-4)


SQUARE = [(0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0)]


def test_the_hull_has_the_corners_alone_counterclockwise() -> None:
    assert convex_hull([(1.0, 1.0), *SQUARE[::-1], (1.0, 0.0)]) == SQUARE
    assert convex_hull([(0.0, 0.0), (1.0, 1.0), (2.0, 2.0)]) == [(0.0, 0.0), (2.0, 2.0)]
    assert convex_hull([(3.0, 1.0), (3.0, 1.0)]) == [(3.0, 1.0)]


@pytest.mark.parametrize(
    ("point", "nearest"),
    [((1.0, 0.5), (1.0, 0.5)), ((1.0, -1.0), (1.0, 0.0)), ((3.0, 4.0), (2.0, 2.0)), ((-1.0, 1.5), (0.0, 1.5))],
)
def test_the_nearest_point_of_a_hull(point: tuple[float, float], nearest: tuple[float, float]) -> None:
    assert nearest_in_hull(SQUARE, point) == pytest.approx(nearest)


def test_the_nearest_point_of_a_line_and_of_a_point() -> None:
    assert nearest_in_hull([(0.0, 0.0), (2.0, 0.0)], (1.0, 3.0)) == pytest.approx((1.0, 0.0))
    assert nearest_in_hull([(4.0, 5.0)], (1.0, 3.0)) == (4.0, 5.0)


def test_masses_of_a_whole_body_are_shares_and_bones_of_one_segment_share_its_mass() -> None:
    limbs = [(role, side, 0) for role in ("UPPER_ARM", "THIGH", "SHIN") for side in ("LEFT", "RIGHT")]
    shares = shares_of_mass([("HIPS", "CENTER", 0), *[("SPINE", "CENTER", 0)] * 2, *limbs, ("FINGER", "LEFT", 0)])
    assert sum(shares) == pytest.approx(1.0)
    assert shares[1] == shares[2] and shares[1] + shares[2] == pytest.approx(shares[0] * 0.139 / 0.142)
    assert shares[-1] == 0.0


def balance_of(pose: Pose, support: Array, **others: object) -> Balance:
    bones = [0, 1, 3, 6]
    balance = Balance(
        bones=np.array(bones),
        masses=np.array([0.4, 0.3, 0.2, 0.1]),
        centers=np.array([[0.0, 0.1, 0.5], [0.1, 0.0, 0.4], [0.3, 0.0, 0.2], [-0.2, 0.1, 0.1]]),
        up=np.array([0.0, 0.0, 1.0]),
        support=support,
        stance=np.array([[x, y, 0.0] for x in (-9.0, 9.0) for y in (-9.0, 9.0)]),
        priority=3,
    )
    return replace(balance, **others)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(5))
def test_the_derivatives_are_those_of_the_residual(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chain, pose = random_tree(rng, 9)
    chain = replace(chain, posture_weights=np.ones(9))
    balance = balance_of(pose, pose.positions[0] + np.array([[3.0, 0.1, 0.0], [3.0, -0.3, 0.0], [4.0, 0.0, 0.0]]))
    balance = replace(balance, bones=np.array([j for j in range(9) if j in chain.parents])[:4], masses=np.full(4, 0.25))
    goals = Goals(pose.positions[chain.tips] + 1.0, priorities=np.full(len(chain.tips), 2), balance=balance)
    start = start_tree(chain, pose)
    problem = problem_of_goals(start, goals, Options(moves_root=True))
    assert problem.balance is not None
    stack = TaskStack(TreeCoordinates(start.tree, True), [[(problem.balance, 1.0)]])
    state = problem.present
    before = stack.residual(state)
    assert np.linalg.norm(before) > 0.1
    jacobian = stack.jacobian(state)
    for _ in range(3):
        change = 1e-5 * rng.normal(size=jacobian.shape[1])
        after = stack.residual(stack.coordinates.applied(state, change))
        np.testing.assert_allclose(before - after, jacobian @ change, atol=1e-9)
    assert second_derivatives_agree(stack, state, seed)
    beyond = float(problem.balance.beyond(state.placed).max())
    near = replace(problem.balance, offsets=problem.balance.offsets + beyond - 0.3 * MARGIN)
    assert second_derivatives_agree(stack.with_levels([[(near, 1.0)]]), state, seed)


@pytest.mark.parametrize("seed", range(5))
def test_the_derivatives_of_the_floor_task_are_those_of_its_residual(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chain, pose = random_tree(rng, 9)
    bones = np.array([j for j in range(9) if j in chain.parents])[:4]
    start = start_tree(replace(chain, posture_weights=np.ones(9)), pose)
    points, heights = rng.uniform(-0.4, 0.4, (len(bones), 3)), np.full(len(bones), -9.0)
    floor = Floor(bones, points, np.array([0.0, 0.6, 0.8]), heights, PULLED)
    state = problem_of_goals(start, Goals(pose.positions[chain.tips]), Options(moves_root=True)).present
    task = floor_task(start, state.placed, floor)
    task = replace(
        task, heights=task.heights - task.below(state.placed) + np.array([0.1, -0.1, 0.2, 0.3])[: len(bones)]
    )
    stack = TaskStack(TreeCoordinates(start.tree, True), [[(task, 1.0)]])
    before = stack.residual(state)
    assert np.allclose(before, np.maximum([0.1, -0.1, 0.2, 0.3], 0.0)[: len(bones)])
    jacobian = stack.jacobian(state)
    for _ in range(3):
        change = 1e-5 * rng.normal(size=jacobian.shape[1])
        after = stack.residual(stack.coordinates.applied(state, change))
        np.testing.assert_allclose(before - after, jacobian @ change, atol=1e-9)
    assert second_derivatives_agree(stack, state, seed)


def test_a_point_that_is_below_the_floor_before_may_stay_there() -> None:
    chain, pose = y_tree()
    start = start_tree(chain, pose)
    placed = problem_of_goals(start, Goals(pose.positions[chain.tips]), Options()).present.placed
    floor = Floor(np.array([0, 1]), np.zeros((2, 3)), np.array([0.0, 0.0, 1.0]), np.array([0.5, 0.5]), PULLED)
    task = floor_task(start, placed, floor)
    assert np.allclose(task.heights * start.unit, [0.0, 0.5], atol=1e-9)


def balanced(by: tuple[float, float, float], has_balance: bool = True) -> tuple[BalanceTask, float]:
    """Pull one arm of a trunk with a fixed root; return the task and the distance of the center of mass."""
    chain, pose = y_tree()
    chain = replace(chain, posture_weights=np.ones(len(chain.lengths)))
    support = np.array([[x, y, 0.0] for x in (-0.3, 0.3) for y in (-0.3, 0.3)])
    balance = balance_of(pose, support, bones=np.array([0, 1, 4, 7]))
    targets = pose.positions[chain.tips] + np.array([by, (0.0, 0.0, 0.0)])
    goals = Goals(targets, with_positions=np.array([True, False]), priorities=np.array([2, 3]), balance=balance)
    start = start_tree(chain, pose)
    task = problem_of_goals(start, goals, Options()).balance
    assert task is not None
    found = solve_tree(start, goals if has_balance else replace(goals, balance=None), Options())
    assert np.linalg.norm(found.pose.positions[chain.tips[0]] - targets[0]) < 1e-3
    placed = start_tree(chain, found.pose)
    problem = problem_of_goals(placed, replace(goals, balance=None), Options())
    beyond = task.beyond(problem.present.placed) - MARGIN
    return task, max(0.0, float(beyond.max()))


def test_the_center_of_mass_stays_over_the_support_while_a_hand_is_pulled() -> None:
    _, without = balanced((0.6, 0.1, -0.3), has_balance=False)
    _, found = balanced((0.6, 0.1, -0.3))
    assert without > 0.03
    assert found < 1e-4
