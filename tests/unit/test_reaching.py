# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reached or reported: whatever can be reached is, links keep their lengths, the root stays, the error is the error."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrik_addon.core import Chain, Options, Pose, Solution, Status, plain_chain, solve
from tests.unit.chains import (
    Array,
    directions,
    goals,
    lay,
    link_lengths,
    nearest_reach,
    pose_of,
    posed_chains,
    random_pose,
    reaches,
    target_at,
    unit,
)

COUNTS = (1, 2, 3, 5, 10, 20, 30, 50, 100)


def check_laws(chain: Chain, pose: Pose, target: Array, solution: Solution, options: Options) -> None:
    """What holds for every solve, reached or not."""
    positions = solution.pose.positions
    assert np.isfinite(positions).all()
    assert np.isfinite(solution.pose.rotations).all()
    np.testing.assert_allclose(link_lengths(positions), chain.links, rtol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(solution.pose.rotations, axis=-1), 1.0, atol=1e-12)
    assert (positions[0] == pose.positions[0]).all()
    error = np.linalg.norm(positions[-1] - target) / chain.total_length
    assert solution.error[0] == pytest.approx(error, rel=1e-6, abs=1e-12)
    assert (solution.status[0] == Status.REACHED) == (solution.error[0] <= options.tolerance)
    assert 0 <= solution.iterations[0] <= options.iterations


@st.composite
def any_problems(draw: st.DrawFn) -> tuple[Chain, Pose, Array]:
    """A chain, a pose and a target anywhere: within reach or not, on the chain's own line or not."""
    chain, pose = draw(posed_chains(smallest=1))
    distance = draw(st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0.0, 2.0))) * chain.total_length
    return chain, pose, pose.positions[0] + distance * unit(draw(directions))


@st.composite
def reachable_problems(draw: st.DrawFn) -> tuple[Chain, Pose, Array]:
    """A chain, a pose and a target that the chain can reach."""
    chain, pose = draw(posed_chains())
    distance = draw(reaches(chain)) * chain.total_length
    return chain, pose, pose.positions[0] + distance * unit(draw(directions))


@given(any_problems(), st.sampled_from([1, 3, 64]), st.sampled_from([1e-2, 1e-4, 1e-7]))
def test_lengths_root_and_error_hold_whatever_happens(
    problem: tuple[Chain, Pose, Array], iterations: int, tolerance: float
) -> None:
    chain, pose, target = problem
    options = Options(iterations, tolerance)
    check_laws(chain, pose, target, solve(chain, pose, goals(target), options), options)


@given(reachable_problems())
def test_what_can_be_reached_is_reached(problem: tuple[Chain, Pose, Array]) -> None:
    chain, pose, target = problem
    options = Options(tolerance=1e-6)
    solution = solve(chain, pose, goals(target), options)
    check_laws(chain, pose, target, solution, options)
    assert solution.status[0] == Status.REACHED


@given(reachable_problems())
def test_one_sweep_is_enough_to_end_at_the_target(problem: tuple[Chain, Pose, Array]) -> None:
    # The cap bounds the sweeps, not the result: the exact finish, or an arc, closes the position error.
    chain, pose, target = problem
    solution = solve(chain, pose, goals(target), Options(iterations=1))
    assert solution.status[0] == Status.REACHED
    assert solution.iterations[0] <= 1


@pytest.mark.parametrize("count", COUNTS[1:])
@pytest.mark.parametrize("bend", [0.0, 0.8])
@pytest.mark.parametrize("reach", [(0.01, 0.1), (0.2, 0.95), (0.97, 0.999)])
def test_chains_of_every_length_reach(count: int, bend: float, reach: tuple[float, float]) -> None:
    rng = np.random.default_rng([count, int(10 * bend), int(100 * reach[0])])
    chain, options = plain_chain([1.0] * count), Options()
    for _ in range(5):
        pose = random_pose(rng, chain.links, bend)
        target = target_at(rng, pose, chain.links, rng.uniform(*reach))
        solution = solve(chain, pose, goals(target))
        check_laws(chain, pose, target, solution, options)
        assert solution.status[0] == Status.REACHED


@pytest.mark.parametrize("ratio", [2.0, 5.0, 20.0])
@pytest.mark.parametrize("count", [2, 3, 5, 10, 20])
def test_unequal_links_reach(count: int, ratio: float) -> None:
    rng = np.random.default_rng([count, int(ratio)])
    options = Options()
    for _ in range(10):
        chain = plain_chain(ratio ** rng.uniform(0.0, 1.0, count))
        pose = random_pose(rng, chain.links, 0.8)
        nearest = nearest_reach(chain.links) / chain.total_length
        target = target_at(rng, pose, chain.links, rng.uniform(nearest, 1.0))
        solution = solve(chain, pose, goals(target))
        check_laws(chain, pose, target, solution, options)
        assert solution.status[0] == Status.REACHED


@pytest.mark.parametrize("count", COUNTS[1:])
@pytest.mark.parametrize("along", [-0.999, -0.5, -0.03, 0.03, 0.5, 0.9, 0.999])
def test_a_straight_chain_leaves_the_line_its_target_is_on(count: int, along: float) -> None:
    rng = np.random.default_rng([count, int(1000 * (1 + along))])
    chain = plain_chain([1.0] * count)
    pose = random_pose(rng, chain.links, 0.0)
    line = unit(pose.positions[-1] - pose.positions[0])
    target = pose.positions[0] + along * count * line
    solution = solve(chain, pose, goals(target))
    check_laws(chain, pose, target, solution, Options())
    assert solution.status[0] == Status.REACHED
    # It bends to the side of the root bone's own +X, in the plane of that axis and the line.
    w, x, y, z = pose.rotations[0]
    side = np.array([1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)])
    offset = solution.pose.positions[1:-1] - pose.positions[0]
    offset -= np.outer(offset @ line, line)
    assert (offset @ side > 0.0).all()
    np.testing.assert_allclose(offset - np.outer(offset @ side, side), 0.0, atol=1e-9 * count)


@pytest.mark.parametrize("count", [2, 3, 4, 7, 10])
@pytest.mark.parametrize("reach", [0.0, 0.05, 0.5, 0.98])
def test_a_folded_chain_unfolds(count: int, reach: float) -> None:
    chain = plain_chain([1.0] * count)
    back_and_forth = [(0.0, 0.0, (-1.0) ** j) for j in range(count)]
    pose = pose_of(lay(chain.links, back_and_forth))
    for direction in ((0.0, 0.0, 1.0), (0.0, 0.0, -1.0), (1.0, 0.0, 0.0), (1.0, 2.0, 3.0)):
        target = reach * count * unit(direction)
        solution = solve(chain, pose, goals(target))
        check_laws(chain, pose, target, solution, Options())
        assert solution.status[0] == Status.REACHED


@given(posed_chains(smallest=3), st.integers(0, 12))
def test_a_target_on_one_of_the_chains_own_joints_is_reached(posed: tuple[Chain, Pose], j: int) -> None:
    chain, pose = posed
    target = pose.positions[j % len(pose.positions)]
    distance = np.linalg.norm(target - pose.positions[0])
    solution = solve(chain, pose, goals(target))
    check_laws(chain, pose, target, solution, Options())
    if nearest_reach(chain.links) < distance < chain.total_length:
        assert solution.status[0] == Status.REACHED


@pytest.mark.parametrize("count", COUNTS[1:])
@pytest.mark.parametrize("bend", [0.0, 0.8])
@pytest.mark.parametrize("reach", [0.0, 1e-12, 1e-7, 1e-5])
def test_a_target_at_the_root_is_reached(count: int, bend: float, reach: float) -> None:
    rng = np.random.default_rng(count)
    chain = plain_chain([1.0] * count)
    pose = random_pose(rng, chain.links, bend)
    target = target_at(rng, pose, chain.links, reach)
    for goal in (goals(target), goals(target, target_at(rng, pose, chain.links, 1.0))):
        solution = solve(chain, pose, goal)
        check_laws(chain, pose, target, solution, Options())
        assert solution.status[0] == Status.REACHED


def test_a_closer_target_needs_a_smaller_tolerance_only_where_one_is_asked_for() -> None:
    # The finish is exact: even a coarse tolerance ends at the target where there is a bend to close the residual with.
    rng = np.random.default_rng(1)
    chain = plain_chain([1.0] * 10)
    for _ in range(20):
        pose = random_pose(rng, chain.links, 0.8)
        target = target_at(rng, pose, chain.links, rng.uniform(0.2, 0.95))
        solution = solve(chain, pose, goals(target), Options(tolerance=1e-2))
        assert solution.error[0] < 1e-9


def test_same_input_same_bits() -> None:
    rng = np.random.default_rng(2)
    chain = plain_chain([1.0, 0.5, 2.0, 1.0, 0.7])
    problems = []
    for _ in range(10):
        pose = random_pose(rng, chain.links, 1.0)
        target = target_at(rng, pose, chain.links, rng.uniform(0.3, 0.999))
        problems.append((pose, goals(target, pole=rng.normal(size=3) if rng.random() < 0.5 else None)))
    first = [solve(chain, *problem) for problem in problems]
    second = [solve(chain, *problem) for problem in reversed(problems)][::-1]
    for a, b in zip(first, second, strict=True):
        assert a.pose.positions.tobytes() == b.pose.positions.tobytes()
        assert a.pose.rotations.tobytes() == b.pose.rotations.tobytes()
        assert a.error.tobytes() == b.error.tobytes()
        assert (a.iterations == b.iterations).all()
        assert (a.status == b.status).all()


def test_nothing_that_is_handed_over_changes() -> None:
    rng = np.random.default_rng(3)
    chain = plain_chain([1.0] * 5)
    pose = random_pose(rng, chain.links, 1.0)
    goal = goals(target_at(rng, pose, chain.links, 0.6), pole=rng.normal(size=3))
    before = [a.copy() for a in (pose.positions, pose.rotations, goal.targets, goal.poles)]
    solve(chain, pose, goal)
    solve(chain, Pose(pose.positions[None], pose.rotations[None]), goal)
    for a, b in zip((pose.positions, pose.rotations, goal.targets, goal.poles), before, strict=True):
        np.testing.assert_array_equal(a, b)
