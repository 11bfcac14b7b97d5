# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A solved pose is a fixed point: solving it again moves nothing, also not after Blender has rounded it to floats."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrik_addon.core import Chain, Goals, Pose, Solution, Status, plain_chain, solve
from fabrik_addon.core.math.quaternion_arrays import angle_between
from tests.unit.chains import Array, directions, goals, matrix, posed_chains, random_pose, reaches, target_at, unit
from tests.unit.constrained_chains import feasible_pose, random_constrained_chain


def rounded(pose: Pose) -> Pose:
    positions, rotations = (each.astype(np.float32).astype(float) for each in (pose.positions, pose.rotations))
    return replace(pose, positions=positions, rotations=rotations)


def check_same(a: Pose, b: Pose, length: float, tolerance: float = 1e-6) -> None:
    np.testing.assert_allclose(b.positions, a.positions, rtol=0.0, atol=tolerance * length)
    np.testing.assert_allclose(matrix(b.rotations), matrix(a.rotations), rtol=0.0, atol=20 * tolerance)


@st.composite
def problems(draw: st.DrawFn, least: float, most: float) -> tuple[Chain, Pose, Array]:
    chain, pose = draw(posed_chains())
    distance = draw(reaches(chain, least, most)) * chain.total_length
    return chain, pose, pose.positions[0] + distance * unit(draw(directions))


@given(problems(1e-5, 1.0), st.one_of(st.none(), directions))
def test_solving_again_moves_nothing(
    problem: tuple[Chain, Pose, Array], pole: tuple[float, float, float] | None
) -> None:
    chain, pose, target = problem
    goal = goals(target, None if pole is None else target + chain.total_length * unit(pole))
    solved = solve(chain, pose, goal)
    again = solve(chain, solved.pose, goal)
    check_same(solved.pose, again.pose, chain.total_length)
    assert again.status[0] == solved.status[0]


@pytest.mark.parametrize("count", [2, 3, 5, 10, 30])
@pytest.mark.parametrize("with_pole", [False, True])
def test_solving_again_after_rounding_moves_nothing(count: int, with_pole: bool) -> None:
    rng = np.random.default_rng([count, with_pole])
    chain = plain_chain(rng.uniform(0.5, 1.0, count))
    for _ in range(40):
        pose = random_pose(rng, chain.links, 0.8)
        target = target_at(rng, pose, chain.links, rng.uniform(0.2, 0.95))
        goal = goals(target, target_at(rng, pose, chain.links, 1.0) if with_pole else None)
        solved = solve(chain, pose, goal)
        start = rounded(solved.pose)
        again = solve(chain, start, goal)
        check_same(solved.pose, again.pose, chain.total_length)
        check_same(start, again.pose, chain.total_length, 1e-13)  # nothing at all: rounding is no residual to close
        assert again.status[0] == Status.REACHED


@pytest.mark.parametrize("reach", [0.3, 1.2])
def test_the_pose_a_chain_already_has_stays_bit_for_bit(reach: float) -> None:
    rng = np.random.default_rng(5)
    chain = plain_chain([1.0, 0.5, 0.8, 1.2])
    pose = random_pose(rng, chain.links, 0.8)
    if reach > 1.0:
        pose = solve(chain, pose, goals(target_at(rng, pose, chain.links, reach))).pose
    solution = solve(chain, pose, goals(pose.positions[-1]))
    check_same(pose, solution.pose, chain.total_length, 1e-13)
    assert solution.iterations[0] == 0


def solved_and_moved(count: int, with_pole: bool, step: float) -> Iterator[tuple[Chain, Solution, Goals]]:
    """Solutions of random chains, each with goals whose target is moved by a step, over the chain's length."""
    rng = np.random.default_rng([count, with_pole])
    chain = plain_chain(rng.uniform(0.5, 1.0, count))
    for _ in range(20):
        pose = random_pose(rng, chain.links, 0.8)
        target = target_at(rng, pose, chain.links, rng.uniform(0.3, 0.9))
        pole = target_at(rng, pose, chain.links, 1.0) if with_pole else None
        moved = target + step * chain.total_length * unit(rng.normal(size=3))
        yield chain, solve(chain, pose, goals(target, pole)), goals(moved, pole)


@pytest.mark.parametrize("count", [2, 3, 10])
@pytest.mark.parametrize("with_pole", [False, True])
def test_a_target_that_moves_by_less_than_the_tolerance_is_followed(count: int, with_pole: bool) -> None:
    for chain, solved, moved in solved_and_moved(count, with_pole, 5e-5):
        assert solve(chain, solved.pose, moved).error[0] < 1e-9


@pytest.mark.parametrize("count", [2, 3, 5, 10])
@pytest.mark.parametrize("bend", [0.0, 0.5])
@pytest.mark.parametrize("with_pole", [False, True])
def test_a_bake_from_one_pose_does_not_jump(count: int, bend: float, with_pole: bool) -> None:
    # Every frame starts from the same pose, as a bake's do. A frame may need a sweep more than the one before it: that
    # must not show. The target moves by 1e-4 of the length and no joint by ten times as much.
    rng = np.random.default_rng([count, int(10 * bend), with_pole])
    chain = plain_chain([1.0 / count] * count)
    pose = random_pose(rng, chain.links, bend)
    around, across = unit(rng.normal(size=3)), unit(rng.normal(size=3))
    across = unit(np.cross(np.cross(around, across), around))
    step, frames = 1e-4, 8000
    angles = step / 0.97 * np.arange(frames)[:, None]
    path = 0.6 * np.cos(angles) * around + 0.97 * np.sin(angles) * across
    pole = 3.0 * np.cross(around, across) + 0.3 * around
    targets = pose.positions[0] + path
    poles = np.broadcast_to(pose.positions[0] + pole, targets.shape) if with_pole else None
    positions = solve(chain, pose, goals(targets, poles)).pose.positions
    moved = np.linalg.norm(np.diff(positions, axis=0), axis=-1).max(axis=1)
    assert moved.max() < 10 * step


@pytest.mark.parametrize("count", [2, 3, 5, 10])
@pytest.mark.parametrize("with_pole", [False, True])
def test_a_small_move_of_the_target_is_a_small_move_of_the_chain(count: int, with_pole: bool) -> None:
    step = 1e-5
    for chain, solved, moved in solved_and_moved(count, with_pole, step):
        again = solve(chain, solved.pose, moved)
        assert np.abs(again.pose.positions - solved.pose.positions).max() < 100 * step * chain.total_length


@pytest.mark.parametrize("seed", [0, 2, 4, 5, 7, 8, 10, 12])
def test_solving_again_where_limits_keep_rotation_and_bend_off_moves_nothing(seed: int) -> None:
    """A second solve took another way to the same distance: bones rotated by 1.6 to 159 degrees."""
    rng = np.random.default_rng(seed)
    kind = random_constrained_chain(rng, int(rng.integers(3, 6)))
    pose, aim = feasible_pose(rng, kind), feasible_pose(rng, kind)
    rotation = unit(aim.rotations[-1] + 0.3 * rng.normal(size=4))
    pole = aim.positions[0] + rng.normal(size=3) * kind.chain.total_length
    goal = Goals(aim.positions[-1:], rotations=rotation[None], poles=pole[None])
    solved = solve(kind.chain, pose, goal)
    again = solve(kind.chain, solved.pose, goal)
    assert solved.status[0] == again.status[0] == Status.REACHED
    assert np.degrees(angle_between(solved.pose.rotations, again.pose.rotations).max()) < 0.1


@pytest.mark.parametrize("seed", [3, 4, 6, 10, 12, 14, 33])
def test_solving_again_beyond_the_reach_of_limits_with_a_pole_twists_nothing(seed: int) -> None:
    """Bones of a chain that is straight toward its target twisted by 24 to 148 degrees."""
    rng = np.random.default_rng(seed)
    kind = random_constrained_chain(rng, int(rng.integers(3, 6)))
    pose, length = feasible_pose(rng, kind), kind.chain.total_length
    pole = pose.positions[0] + rng.normal(size=3) * length
    goal = goals(pose.positions[0] + 1.2 * length * unit(rng.normal(size=3)), pole)
    solved = solve(kind.chain, pose, goal)
    again = solve(kind.chain, rounded(solved.pose), goal)
    assert solved.error[0] == pytest.approx(again.error[0], abs=1e-6) and solved.error[0] > 0.1
    assert np.degrees(angle_between(solved.pose.rotations, again.pose.rotations).max()) < 0.1
