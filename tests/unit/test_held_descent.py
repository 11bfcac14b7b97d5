# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Targets beyond reach pull, all others are met: the pose is that by weight, in fewer steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fabrik_addon.core import Chain, Goals, Options, Pose, Status, solve_tree_components, start_tree
from fabrik_addon.core.math.quaternion_arrays import angle_between
from fabrik_addon.core.model.tree_start import StartTree
from fabrik_addon.core.optimise.held_descent import TREE_STEPS
from fabrik_addon.core.optimise.weighted_descent import least_cost
from fabrik_addon.core.tasks.task_loss import OF_TREES
from fabrik_addon.core.trees.goals_as_tasks import problem_of_goals
from fabrik_addon.core.trees.solution import TreeSolution
from tests.unit.chains import Array, unit
from tests.unit.trees import posed, position_errors, y_tree


def led_beyond(chain: Chain, pose: Pose, seed: int) -> Array:
    """Targets of an arm's end beyond the reach of its chain from the root, and of the other arm's end within."""
    targets: Array = posed(np.random.default_rng(seed), chain, pose, 0.5)[chain.tips]
    targets[seed % 2] = 7.5 * unit(targets[seed % 2])
    return targets


def degrees_from_least_cost(start: StartTree, goals: Goals, found: TreeSolution) -> float:
    """Rotation of a bone, at most, on the way from where a solve has ended to the least cost by weight."""
    assert found.by_weight is not None
    problem = problem_of_goals(start, goals, Options())
    stack, _ = problem.stacks_by_weight(found.by_weight, OF_TREES.nearly_met)
    least, *_ = least_cost(stack, found.by_weight, problem.present, TREE_STEPS, OF_TREES)
    return float(np.degrees(angle_between(least.placed.quaternions, found.by_weight.placed.quaternions).max()))


@pytest.mark.parametrize("is_limited", (False, True))
def test_the_pose_is_that_of_least_cost_by_weight(is_limited: bool) -> None:
    chain, pose = y_tree()
    if is_limited:
        most = np.full((len(chain.lengths), 3), 0.9)
        chain = replace(chain, lower=-most, upper=most)
    start = start_tree(chain, pose)
    for seed in range(20):
        goals = Goals(led_beyond(chain, pose, seed))
        found = solve_tree_components(start, goals, Options())
        assert position_errors(chain, np.array(found.points), goals.targets)[1 - seed % 2] < 1e-6
        assert degrees_from_least_cost(start, goals, found) <= 0.15


def test_all_targets_beyond_reach() -> None:
    chain, pose = y_tree()
    start, goals = start_tree(chain, pose), Goals(9.0 * unit(pose.positions[chain.tips]))
    found = solve_tree_components(start, goals, Options())
    assert found.status == [Status.OUT_OF_REACH, Status.OUT_OF_REACH]
    assert degrees_from_least_cost(start, goals, found) <= 0.15


def test_a_target_beyond_reach_takes_few_steps() -> None:
    chain, pose = y_tree()
    start = start_tree(chain, pose)
    steps = [
        solve_tree_components(start, Goals(led_beyond(chain, pose, seed)), Options()).iterations for seed in range(40)
    ]
    assert np.median(steps) <= 6
