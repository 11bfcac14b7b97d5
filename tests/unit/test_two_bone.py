# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two links in closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrik_addon.core import Options, Pose, Status, plain_chain, solve
from scripts.benchmark.limit_sets import ARM, LEG, ConstrainedBones, product, turned
from tests.unit.chains import Array, angle_between, goals, matrix, random_pose, seeds, target_at, unit
from tests.unit.constrained_chains import constrained_chain_of, feasible_targets, unit4

EXACT = 1e-14
TWO_BONE = Options(tolerance=EXACT, solver="TWO_BONE")


@given(seed=seeds, ratio=st.floats(0.05, 1.0), share=st.floats(0.0, 1.0, exclude_min=True, exclude_max=True))
def test_exact_in_the_whole_annulus(seed: int, ratio: float, share: float) -> None:
    rng = np.random.default_rng(seed)
    lengths = np.array([1.0, ratio]) / (1.0 + ratio)
    pose = random_pose(rng, lengths, 3.0)
    least = abs(lengths[0] - lengths[1])
    target = target_at(rng, Pose(np.zeros((3, 3)), pose.rotations), lengths, least + share * (1.0 - least))
    pose = Pose(pose.positions - pose.positions[0], pose.rotations)
    for pole in (None, rng.normal(size=3)):
        solution = solve(plain_chain(lengths), pose, goals(target, pole), TWO_BONE)
        assert np.linalg.norm(solution.pose.positions[-1] - target) <= EXACT
        assert solution.status[0] == Status.REACHED
        links = np.linalg.norm(np.diff(solution.pose.positions, axis=0), axis=1)
        np.testing.assert_allclose(links, lengths, rtol=0.0, atol=3e-14)


@pytest.mark.parametrize("reach", [1e-6, 1e-7, 1e-8, 1e-9, 1e-12, 1e-20, 1e-25, 0.0])
@pytest.mark.parametrize("with_pole", [False, True])
def test_equal_links_keep_their_lengths_and_stay_however_near_to_the_root_the_target_is(
    reach: float, with_pole: bool
) -> None:
    rng = np.random.default_rng(2)
    chain = plain_chain([0.5, 0.5])
    for _ in range(10):
        pose = random_pose(rng, [0.5, 0.5], 3.0)
        pose = Pose(pose.positions - pose.positions[0], pose.rotations)
        goal = goals(reach * unit(rng.normal(size=3)), rng.normal(size=3) if with_pole else None)
        solution = solve(chain, pose, goal, TWO_BONE)
        assert np.linalg.norm(solution.pose.positions[-1] - goal.targets[0]) <= EXACT
        np.testing.assert_allclose(np.linalg.norm(np.diff(solution.pose.positions, axis=0), axis=1), 0.5, rtol=1e-12)
        again = solve(chain, solution.pose, goal, TWO_BONE)
        np.testing.assert_allclose(again.pose.positions, solution.pose.positions, atol=1e-9)


@pytest.mark.parametrize("reach", [1.0 + 1e-9, 1.2, 10.0, 0.599999, 0.1])
def test_beyond_the_annulus_the_links_lie_on_a_line(reach: float) -> None:
    rng = np.random.default_rng(1)
    lengths = np.array([0.8, 0.2])
    pose = random_pose(rng, lengths, 1.0)
    target = target_at(rng, pose, lengths, reach)
    solution = solve(plain_chain(lengths), pose, goals(target), TWO_BONE)
    along = unit(target - pose.positions[0])
    nearest = pose.positions[0] + along * (1.0 if reach > 1.0 else 0.6)
    np.testing.assert_allclose(solution.pose.positions[-1], nearest, atol=1e-12)
    assert solution.status[0] == Status.OUT_OF_REACH


@given(seed=seeds)
def test_poles_on_both_sides_choose_mirror_images(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lengths = np.array([0.5, 0.5])
    pose = random_pose(rng, lengths, 2.0)
    root = pose.positions[0]
    target = target_at(rng, pose, lengths, rng.uniform(0.2, 0.9))
    along = unit(target - root)
    side = unit(np.cross(along, rng.normal(size=3)))
    middles = [
        solve(plain_chain(lengths), pose, goals(target, root + sign * side), TWO_BONE).pose.positions[1] - root
        for sign in (1.0, -1.0)
    ]
    assert np.dot(middles[0], side) > 0.0
    np.testing.assert_allclose(middles[0] - 2.0 * np.dot(middles[0], side) * side, middles[1], atol=1e-12)


@given(seed=seeds)
def test_without_a_pole_the_bend_stays_on_its_side(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lengths = np.array([0.5, 0.5])
    pose = random_pose(rng, lengths, 2.0)
    root, joint, tip = pose.positions
    target = root + rng.uniform(0.6, 1.2) * (tip - root)
    if np.linalg.norm(target - root) > 0.99:
        return
    found = solve(plain_chain(lengths), pose, goals(target), TWO_BONE).pose.positions
    along = unit(tip - root)
    before, after = (p - root - np.dot(p - root, along) * along for p in (joint, found[1]))
    if np.linalg.norm(before) > 1e-3 and np.linalg.norm(after) > 1e-3:
        assert angle_between(before, after) < 1e-6


@pytest.mark.parametrize("kind", [ARM, LEG], ids=lambda kind: kind.name)
def test_feasible_targets_are_reached_within_limits(kind: ConstrainedBones) -> None:
    constrained_chain = constrained_chain_of(kind)
    for target in feasible_targets(np.random.default_rng(2), kind, 60):
        solution = solve(
            constrained_chain.chain, constrained_chain.rest(), goals(target), Options(tolerance=1e-3, solver="TWO_BONE")
        )
        assert solution.status[0] == Status.REACHED
        assert constrained_chain.violation(solution.pose) < 1e-9


@given(seed=seeds, axis=st.sampled_from([0, 2]), positive=st.booleans())
def test_a_hinge_bends_only_to_the_side_it_may(seed: int, axis: int, positive: bool) -> None:
    """A free upper bone and a hinge at any rest angle: exact wherever the hinge's range lets the links reach."""
    rng = np.random.default_rng(seed)
    lengths = rng.uniform(0.5, 1.5, 2)
    rest = np.array([[1.0, 0.0, 0.0, 0.0], unit4(np.array([1.0, *(0.15 * rng.normal(size=3))])), [1.0, 0.0, 0.0, 0.0]])
    lower, upper = np.full((3, 3), -np.inf), np.full((3, 3), np.inf)
    lower[1:], upper[1:] = 0.0, 0.0
    ends = (0.0, 2.5) if positive else (-2.5, 0.0)
    lower[1:, axis], upper[1:, axis] = ends
    chain = plain_chain(lengths, rest=rest, limits=(lower, upper))

    def posed(angle: float) -> Pose:
        own = np.zeros(4)
        own[0], own[1 + axis] = math.cos(0.5 * angle), math.sin(0.5 * angle)
        frames = np.array([rest[0], product(rest[1], own)])
        links = [turned(frame, np.array([0.0, length, 0.0])) for frame, length in zip(frames, lengths, strict=True)]
        return Pose(np.cumsum([np.zeros(3), *links], axis=0), np.vstack([frames, frames[-1]]))

    angle = rng.uniform(*ends)
    distance = np.linalg.norm(posed(angle).positions[-1])
    start = posed(rng.uniform(*ends))
    for pole in (None, rng.normal(size=3)):
        target = distance * unit(rng.normal(size=3))
        solution = solve(chain, start, goals(target, pole), Options(tolerance=1e-9, solver="TWO_BONE"))
        assert np.linalg.norm(solution.pose.positions[-1] - target) <= 1e-12
        own = knee(solution.pose.rotations, rest[1])
        np.testing.assert_allclose(np.delete(own[1:], axis), 0.0, atol=1e-12)
        found = 2.0 * math.atan2(own[1 + axis], own[0])
        assert ends[0] - 1e-9 <= found <= ends[1] + 1e-9


def knee(rotations: Array, rest: Array) -> Array:
    """The second bone's own rotation, w not negative."""
    parent = matrix(rotations[0]) @ matrix(rest)
    own = parent.T @ matrix(rotations[1])
    w = 0.5 * math.sqrt(max(0.0, 1.0 + np.trace(own)))
    vector = np.array([own[2, 1] - own[1, 2], own[0, 2] - own[2, 0], own[1, 0] - own[0, 1]]) / (4.0 * w)
    return np.array([w, *vector])
