# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Softness: easing into full extension."""

from __future__ import annotations

import numpy as np
import pytest

from fabrik_addon.core import FabrikError, Goals, Options, Pose, Status, plain_chain, solve
from fabrik_addon.core.goals.softness import farthest_reached, soft_target
from fabrik_addon.core.math.operations import SCALAR

CHAIN = plain_chain([0.5, 0.5])
BENT = Pose(np.array([[0.0, 0.0, 0.0], [0.3, 0.4, 0.0], [0.0, 0.8, 0.0]]), np.tile([1.0, 0.0, 0.0, 0.0], (3, 1)))


def knee_angles(softness: float, step: float) -> np.ndarray:
    """Angles at the knee, degrees, while the target moves out through full extension."""
    distances = np.arange(0.85, 1.15, step)
    targets = np.zeros((len(distances), 1, 3))
    targets[:, 0, 1] = distances
    positions = solve(CHAIN, BENT, Goals(targets), Options(softness=softness)).pose.positions
    links = np.diff(positions, axis=1)
    cosine = np.sum(links[:, 0] * links[:, 1], axis=1) / 0.25
    return np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))


@pytest.mark.parametrize("softness", [0.1, 0.2, 0.3])
def test_the_angle_of_a_soft_knee_does_not_jump(softness: float) -> None:
    assert np.abs(np.diff(knee_angles(softness, 0.0005))).max() < 0.5
    assert np.abs(np.diff(knee_angles(0.0, 0.0005))).max() > 2.0


@pytest.mark.parametrize("softness", [0.05, 0.2])
def test_the_soft_distance_is_smooth_increasing_and_below_the_length(softness: float) -> None:
    distances = np.linspace(0.01, 3.0, 3000)
    soft = np.array([soft_target(SCALAR, (0.0, distance, 0.0), softness)[1] for distance in distances])
    slope = np.diff(soft) / np.diff(distances)
    np.testing.assert_array_equal(soft[distances < 1.0 - softness], distances[distances < 1.0 - softness])
    assert (slope >= -1e-12).all() and soft.max() <= 1.0
    assert np.abs(np.diff(slope)).max() < 1.5 * (distances[1] - distances[0]) / softness


def test_a_tip_behind_its_target_has_status_and_error() -> None:
    target = np.array([[0.0, 0.97, 0.0]])
    solution = solve(CHAIN, BENT, Goals(target), Options(softness=0.2))
    assert solution.status[0] == Status.OUT_OF_REACH
    assert solution.error[0] == pytest.approx(np.linalg.norm(solution.pose.positions[-1] - target[0]), abs=1e-12)
    assert 0.01 < solution.error[0] < 0.2


def test_a_target_nearer_than_softness_begins_is_solved_as_without() -> None:
    goals = Goals(np.array([[0.1, 0.6, 0.2]]))
    soft, plain = solve(CHAIN, BENT, goals, Options(softness=0.3)), solve(CHAIN, BENT, goals)
    assert soft.status[0] == Status.REACHED
    np.testing.assert_array_equal(soft.pose.positions, plain.pose.positions)


@pytest.mark.parametrize("softness", [-0.1, 1.1, float("nan")])
def test_softness_out_of_range_is_refused(softness: float) -> None:
    with pytest.raises(FabrikError, match="softness"):
        Options(softness=softness)


@pytest.mark.parametrize("distance", [0.6, 0.85, 1.0, 2.5])
def test_a_moving_root_takes_the_whole_distance_beyond_which_softness_begins(distance: float) -> None:
    """Easing over part of the distance would move the root again each time the chain is solved again."""
    options = Options(softness=0.3, moves_root=True)
    target = np.array([0.0, distance * 0.6, distance * 0.8])
    solution = solve(CHAIN, BENT, Goals(target[None]), options)
    positions = solution.pose.positions
    assert solution.status[0] == Status.REACHED
    np.testing.assert_allclose(positions[-1], target, atol=1e-9)
    assert np.linalg.norm(positions[-1] - positions[0]) == pytest.approx(min(distance, 0.7))
    assert np.linalg.norm(positions[0]) == pytest.approx(max(0.0, distance - 0.7), abs=1e-9)
    again = solve(CHAIN, solution.pose, Goals(target[None]), options).pose.positions
    np.testing.assert_allclose(again, positions, atol=1e-6)


@pytest.mark.parametrize("softness", [1e-3, 0.05, 0.5, 1.0])
@pytest.mark.parametrize("stretch", [1.0, 1.0 + 1e-9, 1.01, 1.5, 10.0])
def test_stretch_brings_an_eased_tip_to_the_farthest_target_that_it_reaches(softness: float, stretch: float) -> None:
    farthest = farthest_reached(softness, stretch)
    assert stretch * soft_target(SCALAR, (0.0, farthest, 0.0), softness)[1] == pytest.approx(farthest, abs=1e-12)
    beyond = farthest + 0.01
    assert stretch * soft_target(SCALAR, (0.0, beyond, 0.0), softness)[1] < beyond
