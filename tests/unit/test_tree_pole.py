# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pole task of trees: its Jacobian is the change of its residual, which is rounded where the chain is straight."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fabrik_addon.core import Goals, Options, start_tree
from fabrik_addon.core.math.operations import ARRAY, SCALAR
from fabrik_addon.core.tasks.pole_arc import PoleArc, pole_arc
from fabrik_addon.core.tasks.pole_task import POLE_FADE_BESIDE_PINS, POLE_ROUNDING, PoleTask
from fabrik_addon.core.tasks.task_stack import TaskStack
from fabrik_addon.core.tasks.tree_coordinates import TreeCoordinates
from fabrik_addon.core.trees.goals_as_tasks import problem_of_goals
from fabrik_addon.core.trees.pole_sides import bending_away
from tests.unit.chains import Array
from tests.unit.trees import tree_chain, y_tree

ROOT, TIP = 3, 6


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("bend", "ahead", "aside"), [(0.002, 1.0, 3.0), (0.5, 1.0, 3.0), (0.5, 1.0, 0.5), (0.5, -1.0, 0.5)]
)
def test_the_jacobian_is_the_change_of_the_residual(seed: int, bend: float, ahead: float, aside: float) -> None:
    """The root moves, too. The pole is far from the chord, where the task doesn't fade, near it, or behind the root."""
    rng = np.random.default_rng(seed)
    chain, pose = y_tree()
    start = start_tree(chain, pose)
    stack = TaskStack(TreeCoordinates(start.tree, True), [])
    state = problem_of_goals(start, Goals(pose.positions[chain.tips]), Options()).present
    state = stack.coordinates.applied(state, bend * rng.normal(size=len(stack.coordinates.weights)))
    joints = state.placed.points
    along = joints[TIP] - joints[ROOT]
    across = np.cross(along, rng.normal(size=3))
    across *= np.linalg.norm(along) / np.linalg.norm(across)
    x, y, z = (joints[ROOT] + ahead * along + aside * across).tolist()
    task = PoleTask(range(ROOT, TIP + 1), (x, y, z), 0.3, POLE_ROUNDING, POLE_FADE_BESIDE_PINS)
    stack = TaskStack(TreeCoordinates(start.tree, True), [[(task, 1.0)]])
    assert 0.02 < task.off(state.placed) < 3.1
    none, whole = POLE_FADE_BESIDE_PINS
    assert aside / np.hypot(1.0, aside) > whole if aside > 1.0 else none < aside / np.hypot(1.0, aside) < whole
    jacobian = stack.jacobian(state)
    assert np.abs(jacobian).max() > 1e-3
    for _ in range(3):
        change = 1e-7 * rng.normal(size=jacobian.shape[1])
        there, back = (stack.residual(stack.coordinates.applied(state, way)) for way in (change, -change))
        np.testing.assert_allclose(0.5 * (back - there) / 1e-7, jacobian @ change / 1e-7, atol=2e-5)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("batch", [(), (2,)])
def test_the_curvature_of_an_arc_is_the_change_of_its_gradient(seed: int, batch: tuple[int, ...]) -> None:
    """Every second pole is near the chord, where the task fades."""
    rng = np.random.default_rng(seed)
    bcg = rng.normal(size=9)
    if seed % 2:
        bcg[6:] = 1.5 * bcg[3:6] + 0.9 * rng.normal(size=3)

    def arc_at(bcg: Array) -> PoleArc:
        shape = *batch, 1
        x, y, z, *others = (np.tile(part, shape)[..., 0] if batch else float(part) for part in bcg)
        chord, pole = (others[0], others[1], others[2]), (others[3], others[4], others[5])
        return pole_arc(ARRAY if batch else SCALAR, ((x, y, z), chord, pole), 0.3, 0.1, POLE_FADE_BESIDE_PINS)

    def each(rows: object) -> Array:
        """The first pose's of arrays with the batch axis at the end, as rows (..., 9)."""
        found = np.array(rows)
        found = found[..., 0] if batch else found
        return found.reshape(*found.shape[:-2], 9)

    def value_at(bcg: Array) -> float:
        arc = arc_at(bcg)
        return float(np.ravel(arc.angle * arc.height)[0])

    step, steps = 1e-6, 1e-6 * np.eye(9)
    slopes = [(value_at(bcg + by) - value_at(bcg - by)) / (2.0 * step) for by in steps]
    np.testing.assert_allclose(each(arc_at(bcg).gradient(is_height_constant=False)), slopes, atol=1e-8)
    gradients = [[each(arc_at(bcg + way * by).gradient(is_height_constant=False)) for way in (1, -1)] for by in steps]
    expected = np.array([(up - down) / (2.0 * step) for up, down in gradients])
    left, right = np.moveaxis(each(arc_at(bcg).curvature()), 1, 0)
    np.testing.assert_allclose(left.T @ right + right.T @ left, expected, atol=1e-7 * np.abs(expected).max())


def test_the_residual_is_smooth_at_a_straight_chain() -> None:
    """The nearer the chain is to its chord, the less the residual changes: on both sides of the chord it is 0."""
    chain, pose = y_tree()
    positions = pose.positions.copy()
    positions[ROOT : TIP + 1] = positions[ROOT] + np.arange(TIP + 1 - ROOT)[:, None] * (0.6, 0.0, 0.8)
    start = start_tree(chain, replace(pose, positions=positions))
    straight = problem_of_goals(start, Goals(positions[chain.tips]), Options()).present
    pole = positions[ROOT] + np.array([-2.0, 0.3, 5.0])
    task = PoleTask(range(ROOT, TIP + 1), (float(pole[0]), float(pole[1]), float(pole[2])), 0.0, POLE_ROUNDING)
    stack = TaskStack(TreeCoordinates(start.tree, False), [[(task, 1.0)]])
    way = np.random.default_rng(0).normal(size=len(stack.coordinates.weights))
    slopes = [
        np.linalg.norm(stack.jacobian(stack.coordinates.applied(straight, size * way))) for size in (1e-2, 1e-3, 1e-4)
    ]
    assert slopes[0] > 0.1
    assert slopes[1] < 0.3 * slopes[0]
    assert slopes[2] < 0.2 * slopes[1]


@pytest.mark.parametrize(("aside", "bends_away"), [(0.02, False), (0.1, False), (1.0, True)])
def test_beside_a_pin_no_chain_bends_away_from_a_pole_near_its_chord(aside: float, bends_away: bool) -> None:
    """There no side is the pole's."""
    chain, pose = y_tree()
    positions = pose.positions.copy()
    positions[ROOT + 1 : TIP, 1] += 0.6
    root, along = positions[ROOT], positions[TIP] - positions[ROOT]
    poles = np.zeros((2, 3))
    poles[0] = root + along - np.array([0.0, aside * np.linalg.norm(along), 0.0])
    bent = tree_chain(chain.parents.tolist(), chain.tips.tolist(), positions)
    start = start_tree(bent, replace(pose, positions=positions))
    goals = Goals(
        positions[chain.tips], poles=poles, with_poles=np.array([True, False]), pinned=np.array([False, True])
    )
    problem = problem_of_goals(start, goals, Options())
    assert bool(bending_away(problem, problem.present)) is bends_away
    stack = TaskStack(TreeCoordinates(start.tree, False), [[(problem.poles[0], 1.0)]])
    assert stack.residual(problem.present).any() == bends_away
    assert stack.jacobian(problem.present).any() == bends_away
