# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tip rotation: position has priority, then the rotation is as near as the other links allow."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fabrik_addon.core import (
    Chain,
    FabrikError,
    Goals,
    Options,
    Pose,
    Status,
    plain_chain,
    solve,
    solve_components,
    start_from,
)
from fabrik_addon.core.goals.tip_rotation import last_link
from fabrik_addon.core.math.operations import SCALAR
from fabrik_addon.core.math.quaternions import from_to, multiply, rotate
from scripts.benchmark.limit_sets import (
    CLAVICLE_ARM,
    TAIL,
    ConstrainedBones,
    angle_of,
    feasible_swings,
    inverse,
    own_turns,
    posed,
    product,
    worst_violation,
)

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


@pytest.mark.parametrize("lengths", [(0.5, 0.5), (0.7, 0.1), (0.3, 0.4, 0.2)])
def test_the_last_link_is_the_nearest_to_its_rotation_with_which_the_others_reach(lengths: tuple[float, ...]) -> None:
    rng = np.random.default_rng(len(lengths))
    most, least = sum(lengths), max(2.0 * max(lengths) - sum(lengths), 0.0)
    for _ in range(40):
        desired, target, plain, *others = rng.normal(size=(2003, 3))
        desired *= 0.4 / np.linalg.norm(desired)
        target *= rng.uniform(max(least - 0.4, 0.01), most + 0.4) / np.linalg.norm(target)
        found = np.array(last_link(SCALAR, lengths, tuple(target), tuple(desired), tuple(plain)))
        assert np.linalg.norm(found) == pytest.approx(0.4)
        assert least - 1e-5 < np.linalg.norm(target - found) < most + 1e-5
        links = 0.4 * np.array(others) / np.linalg.norm(others, axis=1)[:, None]
        distances = np.linalg.norm(target - links, axis=1)
        fitting = links[(distances >= least) & (distances <= most)]
        assert (fitting @ desired).max(initial=-1.0) <= found @ desired + 1e-6


@pytest.mark.parametrize("count", [3, 4])
def test_solving_again_keeps_a_rotation_that_is_only_nearly_met_beside_a_pole(count: int) -> None:
    """The second solve led the last bone farther from its rotation, by up to 98 degrees."""
    rng = np.random.default_rng(count)
    chain, pose = straight(count)
    for _ in range(40):
        (target, _), (_, other) = random_goals(rng, count), random_goals(rng, count)
        goals = Goals(target, rotations=other, poles=np.array([[0.0, 0.5, -2.0]]))
        first = solve(chain, pose, goals)
        again = solve(chain, first.pose, goals)
        for before, after in zip(first.pose.rotations, again.pose.rotations, strict=True):
            assert angle_between(before, after) < np.radians(0.5)


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


@pytest.mark.parametrize("bones", [CLAVICLE_ARM, TAIL], ids=lambda bones: bones.name)
def test_a_rotation_that_limits_allow_is_taken_at_the_target(bones: ConstrainedBones) -> None:
    poses = posed(bones, feasible_swings(np.random.default_rng(3), bones, 30))
    chain, met = bones.chain(), 0
    for joints, frames in zip(poses.positions, poses.rotations, strict=True):
        solution = solve(chain, bones.rest(), Goals(joints[-1:], rotations=frames[-1:]))
        assert solution.status[0] == Status.REACHED
        met += angle_between(frames[-1], solution.pose.rotations[-1]) <= np.radians(0.1)
        assert worst_violation(bones, solution.pose.rotations[:-1]) <= 1e-9
    assert met >= 28, "rotated toward it after a solve without it, 0 of 30 are met by the arm and 7 by the tail"


@pytest.mark.parametrize("bones", [CLAVICLE_ARM, TAIL], ids=lambda bones: bones.name)
@pytest.mark.parametrize("with_pole", [False, True])
def test_a_rotation_within_limits_is_smooth_along_a_path(bones: ConstrainedBones, with_pole: bool) -> None:
    middle, onward, aside = 0.4 * feasible_swings(np.random.default_rng(6), bones, 3)
    angles = np.linspace(0.0, 2.0 * np.pi, 81)[:, None, None]
    path = posed(bones, middle + np.cos(angles) * onward + np.sin(angles) * aside)
    poles = path.positions[:, 1:2] + 0.2
    start, found, frames = start_from(bones.chain(), posed(bones, middle + onward)), None, []
    for joints, desired, pole in zip(path.positions, path.rotations, poles, strict=True):
        nearby = None if found is None else found.next_start
        goals = Goals(joints[-1:], rotations=desired[-1:], poles=pole if with_pole else None)
        found = solve_components(replace(start, near=nearby), goals)
        frames.append(found.frames)
        assert found.status == Status.REACHED
    turns = own_turns(np.array(frames))
    steps = np.degrees(angle_of(product(inverse(turns[:-1]), turns[1:])).max(axis=-1))
    assert steps.max() <= 3.0 * np.median(steps)
    assert np.degrees(angle_of(product(inverse(turns[0]), turns[-1]))).max() <= 0.5, "the path is closed"


def test_a_batch_within_limits_is_a_loop_of_singles() -> None:
    poses = posed(CLAVICLE_ARM, feasible_swings(np.random.default_rng(4), CLAVICLE_ARM, 4))
    chain, rest = CLAVICLE_ARM.chain(), CLAVICLE_ARM.rest()
    goals = Goals(poses.positions[:, -1:].reshape(2, 2, 1, 3), rotations=poses.rotations[:, -1:].reshape(2, 2, 1, 4))
    batch = solve(chain, rest, goals)
    for item in np.ndindex(2, 2):
        single = solve(chain, rest, Goals(goals.targets[item], rotations=goals.rotations[item]))
        np.testing.assert_array_equal(batch.pose.positions[item], single.pose.positions)
        np.testing.assert_array_equal(batch.status[item], single.status)
    none = solve(chain, rest, Goals(np.zeros((0, 1, 3)), rotations=np.zeros((0, 1, 4))))
    assert none.pose.positions.shape == (0, 4, 3) and none.status.shape == (0, 1)


def test_a_solver_for_two_bones_refuses_three_also_where_the_tip_is_at_the_target() -> None:
    rest = CLAVICLE_ARM.rest()
    goals = Goals(rest.positions[-1:], rotations=rest.rotations[-1:])
    with pytest.raises(FabrikError, match="two"):
        solve(CLAVICLE_ARM.chain(), rest, goals, Options(solver="TWO_BONE"))


def test_a_rotation_that_is_not_finite_is_refused() -> None:
    chain, pose = straight(3)
    with pytest.raises(FabrikError, match="rotation goal"):
        solve(chain, pose, Goals(np.array([[0.0, 0.5, 0.0]]), rotations=np.array([[np.nan, 0.0, 0.0, 1.0]])))
