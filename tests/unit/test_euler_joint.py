# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Joints of trees whose limits are ranges of Euler angles."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from fabrik_addon.core import Chain, FabrikError, Goals, Options, Pose, Status, solve, start_tree
from fabrik_addon.core.math.quaternions import conjugate, multiply
from fabrik_addon.core.model.euler_joint import coordinates_within, euler_angles, euler_axes, own_rotation
from fabrik_addon.core.model.joint_limits import joint_limits
from fabrik_addon.core.tasks.orientation_task import OrientationTask
from fabrik_addon.core.tasks.position_task import PositionTask
from fabrik_addon.core.tasks.task_stack import TaskStack
from fabrik_addon.core.tasks.tree_coordinates import TreeCoordinates
from fabrik_addon.core.trees.goals_as_tasks import problem_of_goals
from tests.unit.chains import Array
from tests.unit.trees import second_derivative, y_tree

ORDERS = ["".join(axes) for axes in itertools.permutations("XYZ")]
FREE = (-math.inf,) * 3, (math.inf,) * 3


def limited_y(order: str, rng: np.random.Generator) -> tuple[Chain, Pose]:
    """A Y with a range for each Euler angle of each bone, one of them locked."""
    chain, pose = y_tree()
    lower, upper = (np.sign(end) * rng.uniform(0.3, 0.9, chain.lower.shape) for end in (chain.lower, chain.upper))
    locked = np.arange(len(lower)), rng.integers(0, 3, len(lower))
    lower[locked] = upper[locked] = rng.uniform(-0.2, 0.2, len(lower))
    return replace(chain, lower=lower, upper=upper, euler_orders=(order,) * len(lower)), pose


def outside(chain: Chain, solution_pose: Pose) -> float:
    """By how much an Euler angle of a bone is outside its range, at most."""
    worst = 0.0
    for joint, parent in enumerate(chain.parents.tolist()):
        if joint in chain.tips:
            continue
        above = (1.0, 0.0, 0.0, 0.0) if parent < 0 else tuple(solution_pose.rotations[parent].tolist())
        q = multiply(conjugate(above), tuple(solution_pose.rotations[joint].tolist()))
        sets = np.array(euler_angles(chain.euler_orders[joint], q))
        sets = np.remainder(sets + math.pi, math.tau) - math.pi
        over = np.maximum(np.maximum(chain.lower[joint] - sets, sets - chain.upper[joint]), 0.0)
        worst = max(worst, float(over.max(axis=1).min()))
    return worst


@pytest.mark.parametrize("order", ORDERS)
def test_both_sets_of_angles_give_the_rotation(order: str) -> None:
    limits = joint_limits(*FREE, order)
    rng = np.random.default_rng(1)
    for angles in [*rng.uniform(-3.0, 3.0, (20, 3)).tolist(), [0.5 * math.pi] * 3]:
        q = own_rotation(limits, tuple(angles))
        for found in euler_angles(order, q):
            assert abs(np.dot(own_rotation(limits, found), q)) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("order", ORDERS)
def test_the_angles_of_the_set_that_is_within_the_limits_are_kept(order: str) -> None:
    angles = (0.3, 2.0, -2.5)
    limits = joint_limits((0.2, 1.9, -2.6), (0.4, 2.1, -2.4), order)
    np.testing.assert_allclose(coordinates_within(limits, own_rotation(limits, angles)), angles, atol=1e-9)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("second", [-0.5 * math.pi, 0.5 * math.pi])
def test_a_locked_angle_keeps_its_value_in_gimbal_lock(order: str, second: float) -> None:
    first, third = 0.3, 0.4
    angles = [(first, second, third)[order.index(axis)] for axis in "XYZ"]
    lower, upper = ([-math.inf if value < 0 else math.inf] * 3 for value in (-1.0, 1.0))
    lower["XYZ".index(order[2])] = upper["XYZ".index(order[2])] = third
    limits = joint_limits(lower, upper, order)
    np.testing.assert_allclose(coordinates_within(limits, own_rotation(limits, tuple(angles))), angles, atol=1e-6)


@pytest.mark.parametrize("order", ORDERS)
def test_the_axes_are_those_about_which_the_angles_rotate(order: str) -> None:
    angles, limits = np.array([0.4, -0.7, 1.1]), joint_limits(*FREE, order)
    before = own_rotation(limits, tuple(angles))
    for axis in range(3):
        after = own_rotation(limits, tuple(angles + 1e-6 * np.eye(3)[axis]))
        rotation = 2e6 * np.array(multiply(after, conjugate(before))[1:])
        np.testing.assert_allclose(euler_axes(order, angles)[:, axis], rotation, atol=1e-5)


@pytest.mark.parametrize("order", ORDERS)
def test_jacobian_and_curvature_are_the_derivatives_in_euler_angles(order: str) -> None:
    rng = np.random.default_rng(3)
    chain, pose = limited_y(order, rng)
    start = start_tree(chain, pose)
    ends = pose.positions[chain.tips]
    present = problem_of_goals(start, Goals(ends), Options()).present
    coordinates = TreeCoordinates(start.tree, False)
    state = coordinates.applied(present, rng.uniform(-0.1, 0.1, len(coordinates.weights)))
    rotations = [(OrientationTask(bone, state.placed.frame(bone)), 1.0) for bone in (2, 5)]
    tips = [(PositionTask(int(tip), (0.4, 0.2, 0.3)), 1.0) for tip in chain.tips]
    stack = TaskStack(coordinates, [tips, rotations])
    jacobian, before = stack.jacobian(state), stack.residual(state)
    change = 1e-6 * rng.normal(size=jacobian.shape[1])
    after = stack.residual(coordinates.applied(state, change))
    np.testing.assert_allclose(before - after, jacobian @ change, atol=1e-10)
    forces = np.linspace(-2.0, 3.0, len(stack.row_weights))
    curvature = stack.curvature(stack.motions(state), jacobian, forces)
    for _ in range(5):
        one, other = rng.normal(size=(2, jacobian.shape[1]))
        expected = second_derivative(stack, state, forces, one, other)
        assert one @ curvature @ other == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", range(4))
def test_a_tree_reaches_what_its_euler_ranges_allow_and_keeps_to_them(order: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    chain, pose = limited_y(order, rng)
    start = start_tree(chain, pose)
    problem = problem_of_goals(start, Goals(pose.positions[chain.tips]), Options())
    way = rng.uniform(-0.5, 0.5, len(problem.coordinates.weights))
    feasible = problem.coordinates.applied(problem.present, way)
    targets: Array = start.unit * feasible.placed.points[chain.tips] + pose.positions[0]
    found = solve(chain, pose, Goals(targets))
    assert found.status.tolist() == [Status.REACHED] * 2
    assert outside(chain, found.pose) < 1e-7


def test_a_plain_chain_with_euler_limits_is_solved_within_them() -> None:
    chain, pose = y_tree(trunk=2, arm=0)
    chain = replace(chain, tips=np.array([2]), weights=np.ones(1))
    lower, upper = np.full(chain.lower.shape, -0.6), np.full(chain.upper.shape, 0.6)
    lower[:, 1] = upper[:, 1] = 0.0
    chain = replace(chain, lower=lower, upper=upper, euler_orders=("XYZ",) * 3)
    found = solve(chain, pose, Goals(pose.positions[2:] + np.array([0.3, 0.2, -0.1])))
    assert outside(chain, found.pose) < 1e-7


def test_an_order_that_is_none_is_named() -> None:
    chain, _ = y_tree()
    with pytest.raises(FabrikError, match="the order of the Euler angles of joint 2 is 'XXZ', not X, Y and Z"):
        replace(chain, euler_orders=("", "XYZ", "XXZ"))
