# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""One step of the descent by weight: the minimum of the linearised cost within bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from fabrik_addon.core import Pose, plain_chain
from fabrik_addon.core.model.tree_start import start_tree
from fabrik_addon.core.model.tree_state import State
from fabrik_addon.core.optimise.cost_model import CostModel, PoseCost, Swings, cost_at, modelled, with_forces
from fabrik_addon.core.optimise.newton_step import newton_step
from fabrik_addon.core.optimise.weighted_descent import NEAR, Beginning, least_cost
from fabrik_addon.core.tasks.position_task import PositionTask
from fabrik_addon.core.tasks.task_loss import OF_BODY, Loss, loss_of
from fabrik_addon.core.tasks.task_stack import TaskStack
from fabrik_addon.core.tasks.tree_coordinates import TreeCoordinates
from tests.unit.chains import Array
from tests.unit.trees import y_tree

PROBLEMS, ROWS = 200, 6


def test_the_rounds_of_a_step_end_with_the_active_set_of_the_minimum() -> None:
    """A coordinate that isn't held at its limit any more is free: taken to the other limit it was so in 6 of 200."""
    start = start_tree(*y_tree())
    stack = TaskStack(TreeCoordinates(start.tree, False), [[(PositionTask(9, (0.0, 0.0, 1.0)), 1.0)]])
    state = State(start.tree, *start.arrays, start.unshifted)
    count = len(stack.coordinates.weights)
    none = np.zeros(0, np.intp)
    swings = Swings(none, none, np.zeros(0), np.zeros(0))
    unfinished = 0
    for seed in range(PROBLEMS):
        rng = np.random.default_rng(seed)
        jacobian, residual = rng.normal(size=(ROWS, count)), rng.normal(size=ROWS)
        near, far, is_bounded = rng.uniform(0.0, 0.05, count), rng.uniform(0.5, 1.5, count), rng.random(count) < 0.8
        is_near_below = rng.random(count) < 0.5
        down = np.where(is_bounded, -np.where(is_near_below, near, far), -np.inf)
        up = np.where(is_bounded, np.where(is_near_below, far, near), np.inf)
        hessian = 1e5 * jacobian.T @ jacobian
        here = PoseCost(state, residual, np.zeros(count), np.full(ROWS, 1e5), 0.0, 0.0)
        model = CostModel(here, jacobian, down, up, swings, jacobian, hessian, stack.motions(state))
        step = newton_step(stack, model, 1e-3, np.zeros((2, count), bool))
        assert step is not None
        assert (step.change >= down).all() and (step.change <= up).all()
        unfinished += not step.is_optimal
        # What residuals are off by is taken back along the coordinates that aren't at their limits.
        off, is_open = rng.normal(size=ROWS), ~step.active.any(0)
        if step.is_optimal:
            correction = step.to_second_order(model, off)
            of_open = (hessian + 1.001 * np.diag(stack.coordinates.posture_weights))[np.ix_(is_open, is_open)]
            np.testing.assert_allclose(correction[~is_open], 0.0, atol=1e-9)
            slope = 1e5 * jacobian[:, is_open].T @ off
            np.testing.assert_allclose(of_open @ correction[is_open], slope, atol=1e-5 * np.abs(slope).max())
    assert unfinished <= 4


@pytest.mark.parametrize("seed", range(10))
def test_a_coordinate_that_is_held_at_its_limit_may_bend_the_cost_down(seed: int) -> None:
    start = start_tree(*y_tree())
    stack = TaskStack(TreeCoordinates(start.tree, False), [[(PositionTask(9, (0.0, 0.0, 1.0)), 1.0)]])
    state = State(start.tree, *start.arrays, start.unshifted)
    count = len(stack.coordinates.weights)
    rng = np.random.default_rng(seed)
    jacobian, residual = rng.normal(size=(ROWS, count)), rng.normal(size=ROWS)
    hessian, toward = jacobian.T @ jacobian, np.zeros(count)
    toward[0], hessian[0, 0] = 50.0, -100.0
    down, up = np.full(count, -np.inf), np.full(count, np.inf)
    up[0] = 0.0
    none = np.zeros(0, np.intp)
    swings = Swings(none, none, np.zeros(0), np.zeros(0))
    here = PoseCost(state, residual, toward, np.ones(ROWS), 0.0, 0.0)
    model = CostModel(here, jacobian, down, up, swings, jacobian, hessian, stack.motions(state))
    active = np.zeros((2, count), bool)
    assert newton_step(stack, model, 0.0, active) is None
    active[0, 0] = True
    step = newton_step(stack, model, 0.0, active)
    assert step is not None
    change = step.change
    others = hessian[1:, 1:] + np.diag(stack.coordinates.posture_weights[1:])
    assert step.is_optimal and step.active.sum() == 1 and change[0] == 0.0
    np.testing.assert_allclose(change[1:], np.linalg.solve(others, jacobian[:, 1:].T @ residual), atol=1e-9)
    toward[0] = -50.0
    released = newton_step(stack, model, 0.0, active)
    assert released is not None and not released.is_optimal
    toward[0], up[0] = 50.0, 0.01
    at_limit = newton_step(stack, model, 0.0, active)
    assert at_limit is not None and at_limit.is_optimal and at_limit.change[0] == 0.01


@pytest.mark.parametrize("stiff", [(0.0, 0.0, 0.0), (0.9, 0.0, 0.0), (0.5, 0.0, 0.2)])
def test_a_descent_of_bones_that_are_stiff_about_one_axis_ends_at_a_minimum(stiff: tuple[float, float, float]) -> None:
    """Within their ellipses the weights of their swings were taken along normal and tangent, as if alike about x and
    z."""
    limits = np.full((4, 3), -1.6), np.full((4, 3), 1.6)
    chain = plain_chain([1.0, 1.0, 1.0], limits=limits, stiffness=np.tile(stiff, (4, 1)))
    joints = np.zeros((4, 3))
    joints[:, 1] = range(4)
    start = start_tree(chain, Pose(joints, np.tile([1.0, 0.0, 0.0, 0.0], (4, 1))))
    target = (1.6 / start.unit, 1.0 / start.unit, 1.2 / start.unit)
    stack = TaskStack(TreeCoordinates(start.tree, False), [[], [(PositionTask(3, target), 1.0)]])
    rest = State(start.tree, *start.arrays, start.unshifted)
    found, _, is_done, *_ = least_cost(stack, rest, rest, 80, OF_BODY, NEAR)
    assert is_done
    loss, step = loss_of(stack, OF_BODY), 1e-6
    coordinates = stack.coordinates
    for weight, direction in zip(coordinates.posture_weights, np.eye(len(coordinates.weights)), strict=True):
        states = [coordinates.applied(found, sign * step * direction) for sign in (1.0, -1.0)]
        costs = [cost_at(stack, loss, there, rest).cost for there in states]
        assert abs(costs[0] - costs[1]) / (4.0 * step * weight) <= 2e-3


def test_second_derivatives_of_the_loss_are_those_of_its_gradient() -> None:
    rng = np.random.default_rng(0)
    loss = Loss([3, 1, 2], np.array([1e3, 1e3, 1e5]), np.array([np.inf, 100.0, 500.0]), [False] * 3)
    jacobian, at, step = rng.normal(size=(ROWS, 5)), rng.normal(size=ROWS), 1e-6

    def gradient(change: Array) -> Array:
        residual = at - jacobian @ change
        return jacobian.T @ (loss.of(residual)[1] * residual)

    _, weights = loss.of(at)
    softening = loss.softening(jacobian, at, weights)
    expected = (jacobian.T * weights) @ jacobian - softening.T @ softening
    found = np.array([gradient(-step * axis) - gradient(step * axis) for axis in np.eye(5)]) / (2.0 * step)
    assert np.allclose(found, expected, atol=1e-3)


def test_a_residual_that_changes_sides_counts_as_stiff() -> None:
    """With the second derivatives of far away a step toward a target that has moved leads far beyond it."""
    loss = Loss([3, 1, 2], np.array([1e3, 1e3, 1e5]), np.array([np.inf, 100.0, 500.0]), [False] * 3)
    rng = np.random.default_rng(1)
    start = start_tree(*y_tree())
    stack = TaskStack(TreeCoordinates(start.tree, False), [[(PositionTask(9, (0.0, 0.0, 1.0)), 1.0)]])
    state = State(start.tree, *start.arrays, start.unshifted)
    jacobian, residual = rng.normal(size=(ROWS, 5)), rng.normal(size=ROWS)
    _, weights = loss.of(residual)
    here = PoseCost(state, residual, np.zeros(5), weights, 0.0, 0.0)
    none, free = np.zeros(0, np.intp), np.full(5, np.inf)
    swings = Swings(none, none, np.zeros(0), np.zeros(0))
    by_tasks, softening = (jacobian.T * weights) @ jacobian, loss.softening(jacobian, residual, weights)
    model = CostModel(here, jacobian, -free, free, swings, jacobian, by_tasks, stack.motions(state))
    assert model.stiffened(loss, free) is None  # without second derivatives all count as stiff
    model = model._replace(curvature=-softening.T @ softening, softening=softening)
    assert model.stiffened(loss, np.zeros(5)) is None
    # The last task alone is led to twice as far on its target's other side.
    beyond = np.linalg.pinv(jacobian) @ (residual * [0.0, 0.0, 0.0, 0.0, 3.0, 3.0])
    left = model.left(beyond)
    crossed = residual[3] * left[3] < 0.0, residual[4:] @ left[4:] < 0.0
    stiffer = model.stiffened(loss, beyond)
    assert stiffer is not None and stiffer.softening is not None and crossed[1]
    np.testing.assert_allclose(stiffer.softening, softening * ~np.array(crossed)[:, None])
    np.testing.assert_allclose(stiffer.curvature, -stiffer.softening.T @ stiffer.softening, atol=1e-6)
    assert stiffer.stiffened(loss, beyond) is None


def test_forces_of_the_solution_before_lead_to_the_same_pose_in_fewer_steps() -> None:
    """A target beyond reach goes on by a little, and pulls with nearly the force that it had."""
    start = start_tree(*y_tree())
    rest = State(start.tree, *start.arrays, start.unshifted)
    steps = [0, 0]
    for seed in range(20):
        far = np.random.default_rng(seed).normal(size=3)
        far *= 4.0 / np.linalg.norm(far)

        def stack_to(share: float, far: Array = far) -> TaskStack:
            x, y, z = (far + share * np.array([0.3, -0.2, 0.1])).tolist()
            return TaskStack(TreeCoordinates(start.tree, False), [[], [(PositionTask(9, (x, y, z)), 1.0)]])

        before = least_cost(stack_to(0.0), rest, rest, 80, OF_BODY, NEAR)
        unknown, known = (
            least_cost(stack_to(1.0), before.state, rest, 80, OF_BODY, Beginning(is_near=True, forces=forces))
            for forces in (None, before.forces)
        )
        assert unknown.is_converged and known.is_converged
        assert np.abs(stack_to(1.0).coordinates.to_reference(known.state, unknown.state)).max() <= 1e-3
        steps[0], steps[1] = steps[0] + unknown.steps, steps[1] + known.steps
        of_others = Beginning(is_near=True, forces=np.ones(7))
        again = least_cost(stack_to(1.0), before.state, rest, 80, OF_BODY, of_others)
        assert again.steps == unknown.steps and (again.state.rotations == unknown.state.rotations).all()
    assert steps[1] <= 0.8 * steps[0], steps


def limited(lower: Sequence[float], upper: Sequence[float]) -> tuple[TaskStack, State]:
    """A Y whose bones have limits, one effector pulled far, and the pose at rest."""
    chain, pose = y_tree()
    count = len(chain.lengths)
    start = start_tree(replace(chain, lower=np.tile(lower, (count, 1)), upper=np.tile(upper, (count, 1))), pose)
    stack = TaskStack(TreeCoordinates(start.tree, False), [[(PositionTask(9, (9.0, 4.0, -3.0)), 1.0)]])
    return stack, State(start.tree, *start.arrays, start.unshifted)


def hessian_at(stack: TaskStack, state: State) -> tuple[Loss, CostModel, Array]:
    """The loss, the model, and its second derivatives with the posture task, whose reference pose is the state."""
    loss = Loss([3], np.array([50.0]), np.array([np.inf]), [False])
    model = modelled(stack, cost_at(stack, loss, state, state))
    here = model.here
    whole = with_forces(stack, loss, model, here.weights * here.residual)
    hessian = whole.jacobian.T @ (here.weights[:, None] * whole.jacobian) + whole.curvature
    return loss, model, hessian + np.diag(stack.coordinates.posture_weights)


def test_the_second_derivatives_are_those_of_the_cost_where_swings_are_on_their_ellipses() -> None:
    """Along the tangents of swings that a target beyond reach holds there."""
    stack, rest = limited((-0.9, -0.9, -0.9), (0.9, 0.9, 0.9))
    structure = stack.tree.structure
    state = stack.coordinates.applied(rest, np.random.default_rng(3).normal(size=len(stack.coordinates.weights)))
    loss, model, hessian = hessian_at(stack, state)
    share, normals = stack.coordinates.ellipses(state)
    first, second = structure.swing_columns.T
    slope = model.jacobian.T @ (model.here.weights * model.here.residual)
    step, compared = 1e-4, 0
    for k in np.flatnonzero(share >= 1.0 - 1e-9):
        nx, nz = normals[k]
        if slope[[first[k], second[k]]] @ state.limited_coordinates[structure.ellipses[k], ::2] <= 0.0:
            continue
        tangent = np.zeros(len(slope))
        tangent[first[k]], tangent[second[k]] = nz, -nx
        values = [
            cost_at(stack, loss, stack.coordinates.applied(state, t * tangent), state).cost for t in (step, 0.0, -step)
        ]
        bent = (values[0] - 2.0 * values[1] + values[2]) / (2.0 * step**2)
        assert tangent @ hessian @ tangent == pytest.approx(bent, rel=1e-4)
        compared += 1
    assert compared


@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        ((-0.9, -0.9, -0.9), (0.9, 0.9, 0.9)),
        ((-0.9, 0.0, 0.0), (0.9, 0.0, 0.0)),
        ((-0.9, -0.9, 0.0), (0.9, 0.9, 0.0)),
        ((-0.9, -math.inf, -math.inf), (0.9, math.inf, math.inf)),
    ],
    ids=["ball", "hinge", "hinge and twist", "about x alone"],
)
def test_the_second_derivatives_are_those_of_the_cost_within_limits(
    lower: Sequence[float], upper: Sequence[float]
) -> None:
    stack, rest = limited(lower, upper)
    state = stack.coordinates.applied(
        rest, np.random.default_rng(4).uniform(-0.2, 0.2, size=len(stack.coordinates.weights))
    )
    loss, _, hessian = hessian_at(stack, state)
    step, count = 1e-4, len(hessian)
    ways = step * np.eye(count)

    def cost(change: Array) -> float:
        return float(cost_at(stack, loss, stack.coordinates.applied(state, change), state).cost)

    expected = [[cost(a + b) - cost(a - b) - cost(b - a) + cost(-a - b) for a in ways] for b in ways]
    assert np.allclose(hessian, np.array(expected) / (8.0 * step**2), atol=1e-3 * np.abs(hessian).max())


def test_a_swing_that_may_not_go_to_one_side_has_finite_second_derivatives() -> None:
    stack, rest = limited((0.0, -0.9, -0.9), (0.9, 0.9, 0.9))
    down = np.array([-1.0 if axis == 0 else 1.0 for _, axis in stack.tree.structure.columns])
    _, _, hessian = hessian_at(stack, stack.coordinates.applied(rest, down))
    assert np.abs(hessian).max() < 1e6
