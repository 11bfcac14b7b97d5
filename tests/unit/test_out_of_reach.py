# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A target too far or too near for the lengths: the nearest pose there is, at once, and it is said."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrik_addon.core import Chain, Pose, Status, plain_chain, solve
from tests.unit.chains import (
    directions,
    goals,
    lengths_with_a_hole,
    link_lengths,
    nearest_reach,
    posed_chains,
    random_pose,
    target_at,
    unit,
)

TOLERANCE = 1e-4


@given(posed_chains(smallest=1), st.floats(1.0 + 2 * TOLERANCE, 10.0), directions, st.booleans())
def test_too_far_is_straight_toward_the_target(
    posed: tuple[Chain, Pose], reach: float, direction: tuple[float, float, float], with_pole: bool
) -> None:
    chain, pose = posed
    root = pose.positions[0]
    target = root + reach * chain.total_length * unit(direction)
    pole = root + np.array([0.3, -0.2, 0.7]) if with_pole else None
    solution = solve(chain, pose, goals(target, pole))
    straight = root + np.concatenate([[0.0], np.cumsum(chain.links)])[:, None] * unit(target - root)
    np.testing.assert_allclose(solution.pose.positions, straight, atol=1e-6 * chain.total_length)
    assert solution.status[0] == Status.OUT_OF_REACH
    assert solution.iterations[0] == 1
    assert solution.error[0] == pytest.approx(reach - 1.0, rel=1e-6)


@given(posed_chains(lengths=lengths_with_a_hole()), st.floats(1e-4, 0.99), directions, st.booleans())
def test_too_near_is_as_near_as_the_lengths_allow(
    posed: tuple[Chain, Pose], share: float, direction: tuple[float, float, float], with_pole: bool
) -> None:
    chain, pose = posed
    root, nearest = pose.positions[0], nearest_reach(chain.links)
    distance = share * nearest
    target = root + distance * unit(direction)
    pole = root + np.array([0.3, -0.2, 0.7]) if with_pole else None
    solution = solve(chain, pose, goals(target, pole))
    np.testing.assert_allclose(link_lengths(solution.pose.positions), chain.links, rtol=1e-9)
    assert solution.status[0] == Status.OUT_OF_REACH
    assert solution.iterations[0] == 1
    assert solution.error[0] == pytest.approx((nearest - distance) / chain.total_length, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_target_at_the_root_of_a_chain_that_cannot_fold_so_far(count: int) -> None:
    rng = np.random.default_rng(count)
    chain = plain_chain([1.0] + [0.1] * (count - 1))
    pose = random_pose(rng, chain.links, 0.5)
    solution = solve(chain, pose, goals(pose.positions[0]))
    np.testing.assert_allclose(link_lengths(solution.pose.positions), chain.links, rtol=1e-9)
    assert solution.status[0] == Status.OUT_OF_REACH
    assert solution.error[0] == pytest.approx(nearest_reach(chain.links) / chain.total_length)


def test_too_far_by_less_than_the_tolerance_counts_as_reached() -> None:
    rng = np.random.default_rng(0)
    chain = plain_chain([1.0, 2.0, 0.5])
    pose = random_pose(rng, chain.links, 0.5)
    solution = solve(chain, pose, goals(target_at(rng, pose, chain.links, 1.0 + 0.5 * TOLERANCE)))
    assert solution.status[0] == Status.REACHED
    assert solution.error[0] == pytest.approx(0.5 * TOLERANCE, abs=1e-9)


def test_a_bone_with_one_link_looks_at_its_target() -> None:
    rng = np.random.default_rng(0)
    chain = plain_chain([2.0])
    pose = random_pose(rng, chain.links, 0.0)
    for reach in (0.3, 3.0):
        target = target_at(rng, pose, chain.links, reach)
        solution = solve(chain, pose, goals(target))
        direction = unit(solution.pose.positions[1] - pose.positions[0])
        np.testing.assert_allclose(direction, unit(target - pose.positions[0]), atol=1e-12)
        assert solution.status[0] == Status.OUT_OF_REACH
