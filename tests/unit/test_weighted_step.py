# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""One step of the descent by weight: the minimum of the linearised cost within bounds."""

from __future__ import annotations

import numpy as np

from fabrik_addon.core.math.operations import SCALAR, Component
from fabrik_addon.core.model.tree_start import start_tree
from fabrik_addon.core.optimise.newton_step import CostModel, PoseCost, Swings, newton_step
from fabrik_addon.core.optimise.task_loss import Loss
from fabrik_addon.core.optimise.task_stack import TaskStack
from fabrik_addon.core.optimise.tasks import PositionTask, state_of
from fabrik_addon.core.optimise.weighted_descent import CONVERGED, share_of_step
from tests.unit.chains import Array
from tests.unit.trees import y_tree

PROBLEMS, ROWS = 200, 6


def test_the_rounds_of_a_step_end_with_the_active_set_of_the_minimum() -> None:
    """A coordinate that isn't held at its limit any more is free: taken to the other limit it was so in 6 of 200."""
    start = start_tree(*y_tree())
    stack = TaskStack(start.tree, [[(PositionTask(9, (0.0, 0.0, 1.0)), 1.0)]], False)
    state = state_of(start.tree, start.coordinates, [(0.0, 0.0, 0.0)])
    count = len(stack.weights)
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
        hessian, flat = 1e5 * jacobian.T @ jacobian, np.zeros((count, count))
        here = PoseCost(state, residual, (), np.zeros(count), np.full(ROWS, 1e5), 0.0, 0.0)
        model = CostModel(here, jacobian, down, up, swings, jacobian, hessian, flat, stack.motions(state))
        step = newton_step(stack, model, 1e-3, np.zeros((2, count), bool))
        assert step is not None
        change, _, _, is_optimal = step
        assert (change >= down).all() and (change <= up).all()
        unfinished += not is_optimal
    assert unfinished <= 4


def test_second_derivatives_of_the_loss_are_those_of_its_gradient() -> None:
    rng = np.random.default_rng(0)
    loss = Loss([3, 1, 2], np.array([1e3, 1e3, 1e5]), np.array([np.inf, 100.0, 500.0]), [False] * 3)
    jacobian, at, step = rng.normal(size=(ROWS, 5)), rng.normal(size=ROWS), 1e-6

    def gradient(change: Array) -> Array:
        residual = at - jacobian @ change
        return jacobian.T @ (loss.of(residual)[1] * residual)

    _, weights = loss.of(at)
    expected = (jacobian.T * weights) @ jacobian - loss.softening(jacobian, at, weights)
    found = np.array([gradient(-step * axis) - gradient(step * axis) for axis in np.eye(5)]) / (2.0 * step)
    assert np.allclose(found, expected, atol=1e-3)


def test_steps_that_alternate_are_shortened_until_they_end() -> None:
    """Whole steps, each 0.9 of the one before it the other way, need more than 60 to fall to the same length."""
    across, response = np.array([0.0, 1.0]), np.diag([1.9, 0.8])
    at, before, share = np.array([0.1, 0.02]), np.zeros(2), 1.0
    lengths: list[float] = []
    shares: list[Component] = []
    while not lengths or lengths[-1] > CONVERGED:
        step = -response @ at
        share, before = share_of_step(SCALAR, step, before, share), step
        at = at + share * step
        lengths.append(float(np.linalg.norm(step)))
        shares.append(share)
    assert shares[0] == 1.0
    assert min(shares) < 0.6
    assert len(lengths) <= 6
    assert share_of_step(SCALAR, across, 0.5 * across, 1.0) == 1.0  # one way: no share
