# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Targets that exclude each other are proven to do so, others never are, and no other start is tried for them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrik_addon.core import Goals, Options, Status, solve_tree_components, start_tree
from fabrik_addon.core.trees import without_pins
from fabrik_addon.core.trees.goals_as_tasks import problem_of_goals
from fabrik_addon.core.trees.tree_problem import TreeProblem
from tests.unit.chains import Array, seeds
from tests.unit.trees import posed, random_tree, y_tree


def apart(distance: float) -> tuple[TreeProblem, Array]:
    """Return a Y whose arms of two links end so far apart, at half the trunk's height, and the targets."""
    chain, pose = y_tree(3, 2)
    targets = np.array([[0.5 * distance, 0.0, 1.5], [-0.5 * distance, 0.0, 1.5]])
    return problem_of_goals(start_tree(chain, pose), Goals(targets), Options()), targets


@given(seed=seeds, joints=st.integers(4, 20), turn=st.floats(0.1, 2.0))
def test_targets_that_can_be_met_are_never_proven_unmet(seed: int, joints: int, turn: float) -> None:
    rng = np.random.default_rng(seed)
    chain, pose = random_tree(rng, joints)
    targets = posed(rng, chain, pose, turn)[chain.tips]
    problem = problem_of_goals(start_tree(chain, pose), Goals(targets), Options())
    assert not problem.is_proven_unmet(problem.present)


def test_targets_farther_apart_than_the_links_between_them_are_proven_unmet() -> None:
    """The first links of both arms are places on one bone, 1.857 apart: their ends are at most 3.857 apart."""
    near, _ = apart(3.85)
    assert not near.is_proven_unmet(near.present)
    for distance in (3.9, 4.2, 5.0):
        problem, targets = apart(distance)
        found = solve_tree_components(problem.start, Goals(targets), Options())
        assert not problem.has_far_target
        assert found.by_weight is not None
        assert problem.is_proven_unmet(found.by_weight)


def test_targets_that_exclude_each_other_have_one_start() -> None:
    problem, targets = apart(4.6)
    assert solve_tree_components(problem.start, Goals(targets), Options()).iterations <= 40


def test_targets_that_exclude_each_other_are_out_of_reach_however_few_the_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(without_pins, "TREE_STEPS", 3)
    problem, targets = apart(5.5)
    found = solve_tree_components(problem.start, Goals(targets), Options())
    assert found.status == [Status.OUT_OF_REACH, Status.OUT_OF_REACH]
