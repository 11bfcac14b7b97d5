# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stretch: all links lengthened by the smallest factor with which the tip reaches its target."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrik_addon.core import Chain, FabrikError, Goals, Options, Pose, Solution, Status, plain_chain, solve
from fabrik_addon.core.goals.link_stretch import stretch_factor
from fabrik_addon.core.math.operations import SCALAR
from tests.unit.chains import (
    Array,
    check_on_pole_side,
    goals,
    link_lengths,
    matrix,
    posed_chains,
    random_pose,
    seeds,
    target_at,
    turn_angle,
    unit,
)
from tests.unit.constrained_chains import (
    ConstrainedChain,
    feasible_coordinates,
    feasible_pose,
    random_constrained_chain,
)

MOST = 1.5
ELASTIC = Options(stretch_max=MOST)


def check_stretched(chain: Chain, pose: Pose, solution: Solution) -> None:
    """The root is fixed, every link is longer by the factor, and the factor is within its range."""
    factor = solution.stretch[..., 0]
    assert (factor >= 1.0).all() and (factor <= MOST).all()
    np.testing.assert_allclose(
        link_lengths(solution.pose.positions), factor[..., None] * chain.lengths[1:], rtol=1e-9, atol=0.0
    )
    np.testing.assert_array_equal(solution.pose.positions[..., 0, :], pose.positions[..., 0, :])


@given(posed_chains(1), seeds, st.sampled_from([0.0, 0.2]), st.booleans())
def test_a_target_within_reach_is_solved_without_stretch(
    posed: tuple[Chain, Pose], seed: int, softness: float, with_pole: bool
) -> None:
    chain, pose = posed
    rng = np.random.default_rng(seed)
    reach = rng.uniform(0.0, 1.0 - softness)
    goal = goals(target_at(rng, pose, chain.links, reach), rng.normal(size=3) if with_pole else None)
    rigid = solve(chain, pose, goal, Options(softness=softness))
    elastic = solve(chain, pose, goal, replace(ELASTIC, softness=softness))
    if rigid.status[0] == Status.REACHED:
        assert elastic.stretch[0] == 1.0
    assert elastic.pose.positions.tobytes() == rigid.pose.positions.tobytes()
    assert elastic.pose.rotations.tobytes() == rigid.pose.rotations.tobytes()


@given(posed_chains(1), seeds, st.floats(1.001, MOST), st.sampled_from([0.0, 0.05, 0.3]))
def test_a_target_beyond_reach_is_reached_with_stretch(
    posed: tuple[Chain, Pose], seed: int, reach: float, softness: float
) -> None:
    chain, pose = posed
    target = target_at(np.random.default_rng(seed), pose, chain.links, reach)
    solution = solve(chain, pose, goals(target), replace(ELASTIC, softness=softness))
    check_stretched(chain, pose, solution)
    if softness == 0.0:
        assert solution.stretch[0] == pytest.approx(reach, rel=1e-9)
        straight = unit(np.diff(solution.pose.positions, axis=0))
        np.testing.assert_allclose(straight, np.tile(unit(target - pose.positions[0]), (len(straight), 1)), atol=1e-6)
    if solution.stretch[0] < MOST:
        assert solution.status[0] == Status.REACHED
        np.testing.assert_allclose(solution.pose.positions[-1], target, atol=2e-4 * chain.total_length)


@given(posed_chains(1), seeds, st.floats(1.501, 4.0))
def test_beyond_the_largest_factor_the_status_is_out_of_reach(
    posed: tuple[Chain, Pose], seed: int, reach: float
) -> None:
    chain, pose = posed
    target = target_at(np.random.default_rng(seed), pose, chain.links, reach)
    solution = solve(chain, pose, goals(target), ELASTIC)
    check_stretched(chain, pose, solution)
    assert solution.stretch[0] == MOST
    assert solution.status[0] == Status.OUT_OF_REACH
    assert solution.error[0] == pytest.approx(reach - MOST, abs=1e-9)
    assert np.linalg.norm(solution.pose.positions[-1] - target) == pytest.approx(
        (reach - MOST) * chain.total_length, rel=1e-6, abs=1e-9
    )


def test_a_target_too_near_is_not_stretched_for() -> None:
    chain = plain_chain([1.0, 0.3])
    pose = random_pose(np.random.default_rng(0), chain.links, 0.5)
    solution = solve(chain, pose, goals(pose.positions[0] + 0.1), ELASTIC)
    assert solution.status[0] == Status.OUT_OF_REACH and solution.stretch[0] == 1.0


@pytest.mark.parametrize("softness", [0.1, 0.2, 0.3])
def test_a_soft_chain_that_stretches_does_not_jump(softness: float) -> None:
    chain = plain_chain([0.5, 0.5])
    pose = Pose(np.array([[0.0, 0.0, 0.0], [0.3, 0.4, 0.0], [0.0, 0.8, 0.0]]), np.tile([1.0, 0.0, 0.0, 0.0], (3, 1)))
    step = 0.0005
    targets = np.zeros((round((1.7 - 0.6) / step), 1, 3))
    targets[:, 0, 1] = 0.6 + step * np.arange(len(targets))
    solution = solve(chain, pose, Goals(targets), replace(ELASTIC, softness=softness))
    links = np.diff(solution.pose.positions, axis=1)
    knee = np.degrees(np.arccos(np.clip(np.sum(unit(links[:, 0]) * unit(links[:, 1]), axis=1), -1.0, 1.0)))
    assert np.abs(np.diff(knee)).max() < 0.5
    factor = solution.stretch[:, 0]
    # Within the tolerance of a reached target no link stretches: that is the largest step there is.
    assert (np.diff(factor) >= -1e-12).all() and np.diff(factor).max() < 1.1 * step + 1e-4
    reached = solution.status[:, 0] == Status.REACHED
    assert reached[factor < MOST].all() and not reached[-1]
    assert (factor[targets[:, 0, 1] < 1.0 - softness] == 1.0).all()


def test_with_a_pole_the_stretched_pose_bends_to_its_side() -> None:
    rng = np.random.default_rng(4)
    for count in (2, 3, 6):
        chain = plain_chain(rng.uniform(0.5, 1.0, count))
        pose = random_pose(rng, chain.links, 0.8)
        target, pole = target_at(rng, pose, chain.links, 1.1), pose.positions[0] + 2.0 * rng.normal(size=3)
        solution = solve(chain, pose, goals(target, pole), replace(ELASTIC, softness=0.3))
        check_stretched(chain, pose, solution)
        assert solution.status[0] == Status.REACHED and solution.stretch[0] > 1.1
        check_on_pole_side(solution.pose.positions, pole)


def test_the_root_moves_by_the_error_that_stretch_leaves() -> None:
    chain = plain_chain([0.5, 0.5])
    pose = random_pose(np.random.default_rng(2), chain.links, 0.5)
    for reach, moved in ((0.7, 0.0), (1.4, 0.0), (1.9, 0.4)):
        target = pose.positions[0] + [0.0, 0.0, reach]
        solution = solve(chain, pose, goals(target), replace(ELASTIC, moves_root=True))
        assert solution.status[0] == Status.REACHED
        np.testing.assert_allclose(solution.pose.positions[-1], target, atol=1e-9)
        np.testing.assert_allclose(solution.pose.positions[0] - pose.positions[0], [0.0, 0.0, moved], atol=1e-9)
        assert solution.stretch[0] == pytest.approx(np.clip(reach, 1.0, MOST))


def test_a_tip_takes_its_rotation_where_stretch_leaves_room() -> None:
    rng = np.random.default_rng(3)
    chain = plain_chain([0.4, 0.4, 0.2])
    pose = random_pose(rng, chain.links, 0.5)
    desired = rng.normal(size=(1, 4))
    goal = Goals(target_at(rng, pose, chain.links, 1.05)[None], rotations=desired / np.linalg.norm(desired))
    stiff = solve(chain, pose, goal, replace(ELASTIC, softness=0.0))
    soft = solve(chain, pose, goal, replace(ELASTIC, softness=0.5))
    for solution in (stiff, soft):
        check_stretched(chain, pose, solution)
        assert solution.status[0] == Status.REACHED
    off = [turn_angle(matrix(s.pose.rotations[-2]).T @ matrix(goal.rotations[0])) for s in (stiff, soft)]
    assert off[1] < off[0]


# Within limits


def knee_that_is_never_straight(least: float) -> tuple[Chain, Pose]:
    """Two hinges, of which the second one is always bent by an angle at least."""
    lower = np.array([[-2.0, 0.0, 0.0], [least, 0.0, 0.0], [least, 0.0, 0.0]])
    upper = np.array([[2.0, 0.0, 0.0], [2.5, 0.0, 0.0], [2.5, 0.0, 0.0]])
    chain = plain_chain([0.5, 0.5], limits=(lower, upper))
    positions = np.array([[0.0, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 1.0, 0.0]])
    bent = ConstrainedChain(chain, np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(3), np.diff(positions, axis=0))
    half = 0.5 * (least + 0.2)
    return chain, bent.posed(np.array([[1.0, 0.0, 0.0, 0.0], [math.cos(half), math.sin(half), 0.0, 0.0]]))


@pytest.mark.parametrize("degrees", [5.0, 30.0, 60.0])
def test_a_knee_whose_limits_keep_it_bent_stretches_without_a_jump(degrees: float) -> None:
    chain, pose = knee_that_is_never_straight(math.radians(degrees))
    longest = math.cos(math.radians(0.5 * degrees))
    before = None
    for reach in np.arange(longest - 0.05, 1.3 * longest, 0.005):
        solution = solve(chain, pose, goals([0.0, reach, 0.0]), ELASTIC)
        check_stretched(chain, pose, solution)
        assert solution.status[0] == Status.REACHED
        assert solution.stretch[0] == pytest.approx(max(1.0, reach / longest), abs=3e-4)
        if before is not None:
            assert turn_angle(np.swapaxes(matrix(before), -1, -2) @ matrix(solution.pose.rotations)).max() < 0.15
        before = solution.pose.rotations


@given(seeds, st.sampled_from([2, 3, 4]), st.floats(0.7, 1.4))
def test_limits_hold_and_stretch_never_increases_the_error(seed: int, count: int, reach: float) -> None:
    rng = np.random.default_rng(seed)
    constrained_chain = random_constrained_chain(rng, count)
    pose = feasible_pose(rng, constrained_chain)
    target = target_at(rng, pose, constrained_chain.chain.links, reach)
    options = Options(iterations=20)
    rigid = solve(constrained_chain.chain, pose, goals(target), options)
    elastic = solve(constrained_chain.chain, pose, goals(target), replace(options, stretch_max=MOST))
    check_stretched(constrained_chain.chain, pose, elastic)
    assert constrained_chain.violation(elastic.pose) < 1e-9
    assert elastic.error[0] <= rigid.error[0] + 1e-12
    if rigid.status[0] == Status.REACHED:
        assert elastic.stretch[0] == 1.0
        assert elastic.pose.positions.tobytes() == rigid.pose.positions.tobytes()
    if (
        elastic.status[0] == Status.OUT_OF_REACH
        and np.linalg.norm(target - constrained_chain.root) > constrained_chain.chain.total_length
    ):
        assert np.linalg.norm(target - constrained_chain.root) > MOST * constrained_chain.chain.total_length


def test_the_target_of_a_stretched_feasible_pose_is_reached() -> None:
    rng = np.random.default_rng(8)
    reached = total = 0
    while total < 40:
        constrained_chain = random_constrained_chain(rng, 3)
        goal = constrained_chain.posed(feasible_coordinates(rng, constrained_chain))
        factor = rng.uniform(1.05, 1.4)
        target = constrained_chain.root + factor * (goal.positions[-1] - constrained_chain.root)
        if np.linalg.norm(target - constrained_chain.root) < constrained_chain.chain.total_length:
            continue
        total += 1
        solution = solve(constrained_chain.chain, feasible_pose(rng, constrained_chain), goals(target), ELASTIC)
        assert constrained_chain.violation(solution.pose) < 1e-9
        reached += solution.status[0] == Status.REACHED
    assert reached >= 38


# Alone and in a batch


def test_a_batch_is_a_loop_of_singles() -> None:
    rng = np.random.default_rng(5)
    for softness in (0.0, 0.2):
        for count in (1, 2, 4):
            chain = plain_chain(rng.uniform(0.3, 1.0, count))
            poses = [random_pose(rng, chain.links, 0.8) for _ in range(24)]
            targets = np.array([target_at(rng, pose, chain.links, rng.uniform(0.3, 1.8)) for pose in poses])
            poles = targets + rng.normal(size=targets.shape)
            options = replace(ELASTIC, softness=softness)
            stacked = Pose(np.array([p.positions for p in poses]), np.array([p.rotations for p in poses]))
            batch = solve(chain, stacked, goals(targets, poles), options)
            check_stretched(chain, stacked, batch)
            assert batch.stretch.shape == (24, 1)
            for item, pose in enumerate(poses):
                single = solve(chain, pose, goals(targets[item], poles[item]), options)
                np.testing.assert_allclose(batch.pose.positions[item], single.pose.positions, atol=1e-7)
                np.testing.assert_allclose(batch.stretch[item], single.stretch, atol=1e-9)
                np.testing.assert_array_equal(batch.status[item], single.status)
                np.testing.assert_array_equal(batch.iterations[item], single.iterations)


@given(seeds)
def test_the_factor_is_the_one_that_brings_the_tip_nearest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tip, target = rng.normal(size=(2, 3))
    factor = stretch_factor(SCALAR, tuple(tip), tuple(target), MOST)
    others: Array = np.linspace(1.0, MOST, 200)
    assert np.linalg.norm(factor * tip - target) <= np.linalg.norm(others[:, None] * tip - target, axis=1).min() + 1e-12


@pytest.mark.parametrize("most", [0.9, 0.0, -1.0, float("nan"), float("inf")])
def test_a_largest_factor_that_is_not_one_is_refused(most: float) -> None:
    with pytest.raises(FabrikError, match="stretch_max"):
        Options(stretch_max=most)
