# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tip rotation: position has priority, then the rotation is as near as the other links allow."""

from __future__ import annotations

import numpy as np
import pytest

from fabrik_addon.core import Chain, FabrikError, Goals, Options, Pose, Status, plain_chain, solve
from fabrik_addon.core.math.operations import SCALAR
from fabrik_addon.core.math.quaternions import from_to, multiply, rotate

COUNTS = [1, 2, 3, 6, 10]


def straight(count: int) -> tuple[Chain, Pose]:
    """A chain up the y axis, its bones at rest."""
    positions = np.zeros((count + 1, 3))
    positions[:, 1] = np.arange(count + 1) / count
    return plain_chain(np.full(count, 1.0 / count)), Pose(positions, np.tile([1.0, 0.0, 0.0, 0.0], (count + 1, 1)))


def random_goals(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Tip position and last bone's rotation, with a twist, of a random pose."""
    links = rng.normal(size=(count, 3))
    links /= np.linalg.norm(links, axis=1)[:, None]
    half = rng.uniform(-1.5, 1.5)
    aim = from_to(SCALAR, (0.0, 1.0, 0.0), tuple(links[-1].tolist()), (1.0, 0.0, 0.0))
    return links.sum(axis=0)[None] / count, np.array([multiply(aim, (np.cos(half), 0.0, np.sin(half), 0.0))])


def angle_between(a: np.ndarray, b: np.ndarray) -> float:
    """Angle (radians) from one rotation to another."""
    return float(2.0 * np.arccos(min(1.0, abs(float(np.dot(a, b))))))


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("with_pole", [False, True])
def test_position_and_rotation_of_a_pose_are_both_reached(count: int, with_pole: bool) -> None:
    rng = np.random.default_rng([count, with_pole])
    chain, pose = straight(count)
    for _ in range(100):
        target, rotation = random_goals(rng, count)
        poles = 3.0 * rng.normal(size=(1, 3)) if with_pole else None
        solution = solve(chain, pose, Goals(target, rotations=rotation, poles=poles))
        assert solution.status[0] == Status.REACHED
        assert angle_between(solution.pose.rotations[-2], rotation[0]) < np.radians(0.5)
        links = np.diff(solution.pose.positions, axis=0)
        np.testing.assert_allclose(np.linalg.norm(links, axis=1), 1.0 / count, rtol=1e-9)
        for frame, link in zip(solution.pose.rotations[:-1], links, strict=True):
            np.testing.assert_allclose(rotate(tuple(frame), (0.0, 1.0 / count, 0.0)), link, atol=1e-6)


def test_position_has_priority_over_rotation() -> None:
    chain, pose = straight(3)
    # The straight chain reaches; with its last bone reversed the tip would be a third of the length short.
    target = np.array([[0.0, 0.95, 0.0]])
    backward = np.array([[0.0, 1.0, 0.0, 0.0]])
    solution = solve(chain, pose, Goals(target, rotations=backward))
    assert solution.status[0] == Status.REACHED
    plain = solve(chain, pose, Goals(target))
    assert angle_between(solution.pose.rotations[-2], backward[0]) < angle_between(
        plain.pose.rotations[-2], backward[0]
    )


def test_a_chain_out_of_reach_is_straight_and_has_that_status() -> None:
    chain, pose = straight(4)
    solution = solve(chain, pose, Goals(np.array([[0.0, 0.0, 1.3]]), rotations=np.array([[0.0, 1.0, 0.0, 0.0]])))
    assert solution.status[0] == Status.OUT_OF_REACH
    np.testing.assert_allclose(solution.pose.positions[-1], [0.0, 0.0, 1.0], atol=1e-9)


@pytest.mark.parametrize("count", COUNTS)
def test_a_batch_is_a_loop_of_singles(count: int) -> None:
    rng = np.random.default_rng(count)
    chain, pose = straight(count)
    goals = [random_goals(rng, count) for _ in range(20)]
    targets, rotations = (np.array(values) for values in zip(*goals, strict=True))
    batch = solve(chain, pose, Goals(targets, rotations=rotations))
    for item, (target, rotation) in enumerate(goals):
        single = solve(chain, pose, Goals(target, rotations=rotation))
        np.testing.assert_allclose(batch.pose.positions[item], single.pose.positions, atol=1e-9)
        np.testing.assert_allclose(batch.pose.rotations[item], single.pose.rotations, atol=1e-9)


def test_limits_hold_and_position_is_reached_within_them() -> None:
    angles = np.radians(60.0) * np.ones((5, 3))
    free, pose = straight(4)
    chain = plain_chain(free.links, limits=(-angles, angles))
    rng = np.random.default_rng(0)
    reached = 0
    for _ in range(30):
        feasible = solve(chain, pose, Goals(0.6 * np.array([[0.0, 1.0, 0.0]]) + 0.2 * rng.normal(size=(1, 3))))
        goals = Goals(feasible.pose.positions[-1:], rotations=feasible.pose.rotations[-2:-1])
        solution = solve(chain, pose, goals, Options(tolerance=1e-3))
        reached += solution.error[0] <= 1e-3
        before = np.array([1.0, 0.0, 0.0, 0.0])
        for frame in solution.pose.rotations[:-1]:
            w, _, y, _ = multiply((before[0], *(-before[1:])), tuple(frame))
            twist = 2.0 * np.arctan2(y, w)
            assert abs((twist + np.pi) % (2.0 * np.pi) - np.pi) <= np.radians(60.0) + 1e-4
            swing = 2.0 * np.arccos(min(1.0, float(np.hypot(w, y))))
            assert swing <= np.radians(60.0) + 1e-4
            before = frame
    assert reached == 30


def test_a_rotation_that_is_not_finite_is_refused() -> None:
    chain, pose = straight(3)
    with pytest.raises(FabrikError, match="rotation goal"):
        solve(chain, pose, Goals(np.array([[0.0, 0.5, 0.0]]), rotations=np.array([[np.nan, 0.0, 0.0, 1.0]])))
