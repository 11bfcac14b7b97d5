# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Trees whose effectors have priorities and whose joints have posture weights: what a body is solved by."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fabrik_addon.core import Goals, Options, Pose, Solution, Status, start_tree
from fabrik_addon.core.model.skeleton import LEAST_POSTURE_WEIGHT
from fabrik_addon.core.optimise.cost_model import cost_at, modelled, with_forces
from fabrik_addon.core.solve_tree import solve_tree
from fabrik_addon.core.tasks.orientation_task import OrientationTask
from fabrik_addon.core.tasks.pole_task import PoleTask
from fabrik_addon.core.tasks.position_task import PositionTask
from fabrik_addon.core.tasks.task_loss import OF_CHAINS, loss_of
from fabrik_addon.core.tasks.task_stack import TaskStack
from fabrik_addon.core.tasks.tree_coordinates import TreeCoordinates
from fabrik_addon.core.trees.goals_as_tasks import problem_of_goals
from tests.unit.chains import Array, matrix
from tests.unit.trees import second_derivative, y_tree

PINNED, PULLED = 1, 2


def solved(targets: Array, weights: Array | None = None, moves_root: bool = False) -> tuple[Pose, Solution]:
    """Solve a trunk with two arms, the second of them pinned; return the pose before and the solution."""
    chain, pose = y_tree()
    ones = np.ones(len(chain.lengths))
    chain = replace(chain, posture_weights=ones if weights is None else weights)
    goals = Goals(targets, pinned=np.array([False, True]), priorities=np.array([PULLED, PINNED]))
    return pose, solve_tree(start_tree(chain, pose), goals, Options(moves_root=moves_root))


def ends(pose: Pose) -> Array:
    chain, _ = y_tree()
    return pose.positions[chain.tips]


@pytest.mark.parametrize("by", [(0.3, 0.2, -0.4), (-0.5, 0.5, 0.3), (3.0, 0.0, 2.0), (0.0, 0.0, 9.0)])
def test_a_pin_holds_against_whatever_is_pulled(by: tuple[float, float, float]) -> None:
    _, pose = y_tree()
    before = ends(pose)
    _, found = solved(np.add(before, [by, (0.0, 0.0, 0.0)]))
    chain, _ = y_tree()
    assert np.linalg.norm(ends(found.pose)[1] - before[1]) < 1e-5 * chain.lengths.sum()
    away = np.linalg.norm(ends(found.pose)[0] - before[0] - by)
    assert away < np.linalg.norm(by)
    assert (found.status[0] == Status.REACHED) == (away < 1e-3)


def test_lengths_are_kept() -> None:
    chain, pose = y_tree()
    _, found = solved(np.add(ends(pose), [(0.5, 0.3, -0.6), (0.0, 0.0, 0.0)]))
    links = found.pose.positions[1:] - found.pose.positions[chain.parents[1:]]
    assert np.allclose(np.linalg.norm(links, axis=1), chain.lengths[1:], rtol=1e-9)


def test_joints_of_a_larger_posture_weight_rotate_less() -> None:
    chain, pose = y_tree()
    targets = np.add(ends(pose), [(-0.6, 0.3, -0.2), (0.0, 0.0, 0.0)])

    def trunk_moves(weight: float) -> float:
        weights = np.ones(len(chain.lengths))
        weights[:3] = weight
        _, found = solved(targets, weights)
        assert found.status.tolist() == [Status.REACHED, Status.REACHED]
        return float(np.linalg.norm(found.pose.positions[3] - pose.positions[3]))

    assert trunk_moves(1.0) > 2.0 * trunk_moves(30.0) > 2.0 * trunk_moves(300.0)


def test_a_root_of_a_larger_posture_weight_moves_less() -> None:
    chain, pose = y_tree()
    targets = np.add(ends(pose), [(-0.6, 0.3, -0.2), (0.0, 0.0, 0.0)])

    def root_moves(weight: float) -> float:
        weights = np.ones(len(chain.lengths))
        weights[0] = weight
        _, found = solved(targets, weights, moves_root=True)
        return float(np.linalg.norm(found.pose.positions[0] - pose.positions[0]))

    assert root_moves(1.0) > 3.0 * root_moves(100.0)


def test_an_effector_without_a_position_holds_its_rotation_alone() -> None:
    chain, pose = y_tree()
    chain = replace(chain, posture_weights=np.ones(len(chain.lengths)))
    goals = Goals(
        np.add(ends(pose), [(0.2, 0.3, -0.5), (9.0, 9.0, 9.0)]),
        rotations=pose.rotations[chain.tips],
        with_positions=np.array([True, False]),
        with_rotations=np.array([False, True]),
        priorities=np.array([PULLED, 3]),
    )
    found = solve_tree(start_tree(chain, pose), goals, Options())
    assert found.status.tolist() == [Status.REACHED, Status.REACHED]
    assert abs(found.pose.rotations[chain.tips[1]] @ pose.rotations[chain.tips[1]]) > 1.0 - 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_a_level_takes_nothing_from_those_above_it(seed: int) -> None:
    """The pulled effector of a body against the one that is held, and the pin against both."""
    rng = np.random.default_rng(seed)
    chain, pose = y_tree()
    chain = replace(chain, posture_weights=np.ones(len(chain.lengths)))
    size = float(chain.lengths.sum())
    near = rng.uniform(-0.15, 0.15, 3)
    away = rng.uniform(-1.0, 1.0, 3)
    start = start_tree(chain, pose)
    for first, second in ((PINNED, PULLED), (PULLED, 3)):
        goals = Goals(
            np.add(ends(pose), [near, size * away]),
            pinned=np.array([first == PINNED, False]),
            priorities=np.array([first, second]),
        )
        alone = replace(goals, with_positions=np.array([True, False]))
        worse = solve_tree(start, goals, Options()).error[0] - solve_tree(start, alone, Options()).error[0]
        assert worse <= 1e-4, (first, second)


def test_an_axis_alone_is_turned_to_where_a_rotation_would_bring_it() -> None:
    chain, pose = y_tree()
    chain = replace(chain, posture_weights=np.ones(len(chain.lengths)))
    tip = int(chain.tips[1])
    half = 0.3
    desired = np.array([np.cos(half), 0.0, np.sin(half), 0.0])
    goals = Goals(
        ends(pose),
        rotations=np.stack([pose.rotations[chain.tips[0]], desired]),
        rotation_axes=np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]),
        with_positions=np.array([True, False]),
        with_rotations=np.array([False, True]),
        priorities=np.array([PULLED, 3]),
    )
    found = solve_tree(start_tree(chain, pose), goals, Options())
    assert found.status.tolist() == [Status.REACHED, Status.REACHED]
    there = matrix(found.pose.rotations[tip]) @ (1.0, 0.0, 0.0)
    assert np.allclose(there, matrix(desired) @ (1.0, 0.0, 0.0), atol=1e-3)


def test_an_effector_with_slack_is_held_at_the_edge_of_its_slack() -> None:
    chain, pose = y_tree()
    chain = replace(chain, posture_weights=np.ones(len(chain.lengths)))
    goals = Goals(
        np.add(ends(pose), [(1.5, 0.5, -0.5), (0.0, 0.0, 0.0)]),
        pinned=np.array([False, True]),
        priorities=np.array([PULLED, PINNED]),
        slack=np.array([0.0, 0.2]),
    )
    start = start_tree(chain, pose)
    found = solve_tree(start, goals, Options())
    away = np.linalg.norm(ends(found.pose)[1] - ends(pose)[1])
    assert 0.1 < away <= 0.2 + 1e-4
    tight = solve_tree(start, replace(goals, slack=None), Options())
    assert np.linalg.norm(ends(tight.pose)[1] - ends(pose)[1]) < 1e-3


def test_the_jacobian_of_a_task_with_slack_is_the_change_of_its_residual() -> None:
    chain, pose = y_tree()
    start = start_tree(chain, pose)
    state = problem_of_goals(start, Goals(ends(pose)), Options()).present
    tip = int(chain.tips[0])
    x, y, z = state.placed.joints[tip]
    task = PositionTask(tip, (x + 0.3, y - 0.1, z + 0.2), slack=0.15)
    stack = TaskStack(TreeCoordinates(start.tree, False), [[(task, 1.0)]])
    before = stack.residual(state)
    jacobian = stack.jacobian(state)
    change = 1e-6 * np.random.default_rng(0).normal(size=jacobian.shape[1])
    after = stack.residual(stack.coordinates.applied(state, change))
    np.testing.assert_allclose(before - after, jacobian @ change, atol=1e-10)


def test_the_curvature_is_the_change_of_the_forces_torques() -> None:
    chain, pose = y_tree()
    start = start_tree(chain, pose)
    problem = problem_of_goals(
        start, Goals(np.add(ends(pose), [(0.4, 0.2, -0.3), (-0.2, 0.5, 0.1)])), Options(moves_root=True)
    )
    stack = TaskStack(TreeCoordinates(start.tree, True), problem.levels())
    state = stack.coordinates.applied(problem.present, np.linspace(-0.3, 0.4, len(stack.coordinates.weights)))
    bones = [start.tree.structure.parents[tip] for tip in chain.tips.tolist()]
    rotations = [(OrientationTask(bone, state.placed.frame(bone)), 1.0) for bone in bones]
    poles = [(PoleTask(range(3, 7), (0.5, -1.0, 2.0), 0.3, rounding=0.1), 1.0)]
    stack = stack.with_levels([*stack.levels, rotations, poles])
    assert 0.1 < poles[0][0].off(state.placed) < 3.0
    forces = np.linspace(-2.0, 3.0, len(stack.row_weights))

    rng = np.random.default_rng(4)
    curvature = stack.curvature(stack.motions(state), stack.jacobian(state), forces)
    assert np.abs(curvature).max() > 1.0
    for _ in range(20):
        one, other = rng.normal(size=(2, len(stack.coordinates.weights)))
        assert one @ curvature @ other == pytest.approx(second_derivative(stack, state, forces, one, other), abs=1e-3)


def test_the_second_derivatives_of_the_posture_task_are_those_of_its_cost() -> None:
    chain, pose = y_tree()
    start = start_tree(chain, pose)
    problem = problem_of_goals(start, Goals(np.add(ends(pose), (0.4, 0.2, -0.3))), Options(moves_root=True))
    stack, reference = problem.stack(), problem.present
    loss = loss_of(stack, OF_CHAINS._replace(weights=[10.0]))
    state = stack.coordinates.applied(reference, np.linspace(-1.1, 1.4, len(stack.coordinates.weights)))
    model = modelled(stack, cost_at(stack, loss, state, reference))
    model = with_forces(stack, loss, model, model.here.weights * model.here.residual)
    hessian = model.hessian(stack.coordinates.posture_weights)
    rng, step = np.random.default_rng(5), 1e-3
    for _ in range(10):
        change = rng.normal(size=len(stack.coordinates.weights))
        costs = [
            cost_at(stack, loss, stack.coordinates.applied(state, by * step * change), reference).cost
            for by in (-1, 0, 1)
        ]
        second = (costs[0] - 2.0 * costs[1] + costs[2]) / (2.0 * step * step)
        assert change @ hessian @ change == pytest.approx(second, rel=1e-3)


def test_bones_that_carry_more_have_larger_posture_weights() -> None:
    chain, pose = y_tree()
    tree = start_tree(chain, pose).tree
    weights = tree.carried_lengths
    assert min(weights) == LEAST_POSTURE_WEIGHT
    assert all(
        weights[parent] >= weights[bone]
        for bone in tree.structure.bones
        if (parent := tree.structure.parents[bone]) >= 0
    )
    lengths = np.array(tree.lengths)
    assert weights[0] == pytest.approx(1.0 + lengths[1:].sum() / lengths[chain.tips].min())
