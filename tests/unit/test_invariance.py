# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The solution of a rotated, translated and scaled problem is the rotated, translated and scaled solution."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fabrik_addon.core import Goals, Pose, plain_chain, solve
from tests.unit.chains import Array, generic_directions, goals, matrix, quaternion, random_pose, seeds, target_at, turn


def transformed(pose: Pose, rotation: Array, offset: Array, factor: float) -> Pose:
    frames = [quaternion(rotation @ frame) for frame in matrix(pose.rotations)]
    return Pose(factor * pose.positions @ rotation.T + offset, np.array(frames))


def transformed_goals(goal: Goals, rotation: Array, offset: Array, factor: float) -> Goals:
    targets = factor * goal.targets @ rotation.T + offset
    poles = None if goal.poles is None else factor * goal.poles @ rotation.T + offset
    return Goals(targets, poles=poles, pole_angles=goal.pole_angles)


@given(
    seed=seeds,
    count=st.sampled_from([1, 2, 3, 5, 10, 30]),
    bend=st.sampled_from([0.0, 0.8]),
    reach=st.one_of(st.floats(0.05, 0.999), st.floats(1.05, 1.5)),
    on_the_line=st.booleans(),
    with_pole=st.booleans(),
    move=st.tuples(generic_directions, st.floats(-3.0, 3.0), st.floats(-3.0, 3.0), st.sampled_from([0.0, 1.0, 100.0])),
)
def test_the_solution_rotates_translates_and_scales_with_the_problem(
    seed: int,
    count: int,
    bend: float,
    reach: float,
    on_the_line: bool,
    with_pole: bool,
    move: tuple[tuple[float, float, float], float, float, float],
) -> None:
    rng = np.random.default_rng(seed)
    lengths = rng.uniform(0.3, 1.0, count)
    pose = random_pose(rng, lengths, bend)
    target = target_at(rng, pose, lengths, reach)
    if on_the_line:
        target = pose.positions[0] + rng.choice([-reach, reach]) * (pose.positions[-1] - pose.positions[0])
    pole = target_at(rng, pose, lengths, rng.uniform(0.2, 2.0)) if with_pole else None
    goal = goals(target, pole, rng.uniform(-3.0, 3.0) if with_pole else None)
    axis, angle, exponent, far = move
    rotation, factor = turn(axis, angle), 10.0**exponent
    offset = far * factor * rng.normal(size=3)

    here = solve(plain_chain(lengths), pose, goal)
    moved_pose, moved_goal = (
        transformed(pose, rotation, offset, factor),
        transformed_goals(goal, rotation, offset, factor),
    )
    there = solve(plain_chain(factor * lengths), moved_pose, moved_goal)

    expected = transformed(here.pose, rotation, offset, factor)
    np.testing.assert_allclose(there.pose.positions, expected.positions, rtol=0.0, atol=1e-6 * factor * lengths.sum())
    np.testing.assert_allclose(matrix(there.pose.rotations), matrix(expected.rotations), atol=1e-5)
    np.testing.assert_allclose(there.error, here.error, atol=1e-6)
    np.testing.assert_array_equal(there.status, here.status)
    np.testing.assert_array_equal(there.iterations, here.iterations)


def test_the_smallest_and_the_largest_rig_have_the_same_solution() -> None:
    rng = np.random.default_rng(8)
    lengths = rng.uniform(0.3, 1.0, 10)
    pose = random_pose(rng, lengths, 0.8)
    goal = goals(target_at(rng, pose, lengths, 0.98))
    here = solve(plain_chain(lengths), pose, goal)
    for factor in (1e-3, 1e3):
        scaled = Goals(factor * goal.targets)
        there = solve(plain_chain(factor * lengths), Pose(factor * pose.positions, pose.rotations), scaled)
        np.testing.assert_allclose(there.pose.positions / factor, here.pose.positions, rtol=0.0, atol=1e-9)
