# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pole task of trees: its Jacobian is the change of its residual, which is rounded where the chain is straight."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fabrik_addon.core import Goals, Options, start_tree
from fabrik_addon.core.optimise.task_stack import TaskStack
from fabrik_addon.core.optimise.tasks import POLE_LOST, POLE_NEAR, POLE_ROUNDING, PoleTask
from fabrik_addon.core.optimise.tree_problem import tree_problem
from tests.unit.trees import y_tree

ROOT, TIP = 3, 6


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("bend", "aside"), [(0.002, 3.0), (0.5, 3.0), (0.5, 0.5)])
def test_the_jacobian_is_the_change_of_the_residual(seed: int, bend: float, aside: float) -> None:
    """The root moves, too; the pole is far from the chord, where the task doesn't fade, and near it."""
    rng = np.random.default_rng(seed)
    chain, pose = y_tree()
    start = start_tree(chain, pose)
    stack = TaskStack(start.tree, [], True)
    state = tree_problem(start, Goals(pose.positions[chain.tips]), Options()).present
    state = stack.applied(state, bend * rng.normal(size=len(stack.weights)))
    joints = state.placed.points
    along = joints[TIP] - joints[ROOT]
    across = np.cross(along, rng.normal(size=3))
    across *= np.linalg.norm(along) / np.linalg.norm(across)
    x, y, z = (joints[ROOT] + along + aside * across).tolist()
    task = PoleTask(range(ROOT, TIP + 1), (x, y, z), 0.3, POLE_ROUNDING)
    stack = TaskStack(start.tree, [[(task, 1.0)]], True)
    assert 0.02 < task.off(state.placed) < 3.1
    assert aside / np.hypot(1.0, aside) > POLE_NEAR if aside > 1.0 else POLE_LOST < aside < POLE_NEAR
    jacobian = stack.jacobian(state)
    assert np.abs(jacobian).max() > 1e-3
    for _ in range(3):
        change = 1e-7 * rng.normal(size=jacobian.shape[1])
        there, back = (stack.residual(stack.applied(state, way)) for way in (change, -change))
        np.testing.assert_allclose(0.5 * (back - there) / 1e-7, jacobian @ change / 1e-7, atol=2e-5)


def test_the_residual_is_smooth_at_a_straight_chain() -> None:
    """The nearer the chain is to its chord, the less the residual changes: on both sides of the chord it is 0."""
    chain, pose = y_tree()
    positions = pose.positions.copy()
    positions[ROOT : TIP + 1] = positions[ROOT] + np.arange(TIP + 1 - ROOT)[:, None] * (0.6, 0.0, 0.8)
    start = start_tree(chain, replace(pose, positions=positions))
    straight = tree_problem(start, Goals(positions[chain.tips]), Options()).present
    pole = positions[ROOT] + np.array([-2.0, 0.3, 5.0])
    task = PoleTask(range(ROOT, TIP + 1), (float(pole[0]), float(pole[1]), float(pole[2])), 0.0, POLE_ROUNDING)
    stack = TaskStack(start.tree, [[(task, 1.0)]], False)
    way = np.random.default_rng(0).normal(size=len(stack.weights))
    slopes = [np.linalg.norm(stack.jacobian(stack.applied(straight, size * way))) for size in (1e-2, 1e-3, 1e-4)]
    assert slopes[0] > 0.1
    assert slopes[1] < 0.3 * slopes[0]
    assert slopes[2] < 0.2 * slopes[1]
