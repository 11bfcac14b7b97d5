# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A batch is a loop of single poses, whatever its items are."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrik_addon.core import Chain, Goals, Options, Pose, Solution, plain_chain, solve
from tests.unit.chains import directions, goals, lay, pose_of, posed_chains, random_pose, seeds, target_at, unit


def stack(poses: list[Pose]) -> Pose:
    return Pose(np.array([pose.positions for pose in poses]), np.array([pose.rotations for pose in poses]))


# Numpy's sines and sums may differ from Python's in the last bit, and a chain that is nearly folded makes more of it.
CLOSE = 1e-7
# From 3.12 on Python adds floats with compensation, which numpy doesn't.
SAME_SUMS = sys.version_info < (3, 12)


def check_same(batch: Solution, item: int | tuple[int, ...], single: Solution) -> None:
    np.testing.assert_allclose(batch.pose.positions[item], single.pose.positions, rtol=0.0, atol=CLOSE)
    np.testing.assert_allclose(batch.pose.rotations[item], single.pose.rotations, rtol=0.0, atol=10 * CLOSE)
    np.testing.assert_allclose(batch.error[item], single.error, rtol=0.0, atol=CLOSE)
    np.testing.assert_array_equal(batch.iterations[item], single.iterations)
    np.testing.assert_array_equal(batch.status[item], single.status)


@given(
    seed=seeds,
    count=st.sampled_from([1, 2, 3, 5, 10]),
    with_pole=st.booleans(),
    options=st.sampled_from([Options(), Options(iterations=1), Options(iterations=9, tolerance=1e-9)]),
)
def test_a_batch_of_every_kind_of_problem_is_a_loop_of_singles(
    seed: int, count: int, with_pole: bool, options: Options
) -> None:
    rng = np.random.default_rng(seed)
    chain = plain_chain(rng.uniform(0.2, 1.0, count))
    poses, targets = [], []
    for reach in (0.02, 0.2, 0.5, 0.8, 0.97, 0.999, 1.0, 1.2):
        for bend in (0.0, 0.8):
            pose = random_pose(rng, chain.links, bend)
            poses += [pose] * 3
            targets.append(target_at(rng, pose, chain.links, reach))
            targets.append(pose.positions[0] + reach * (pose.positions[-1] - pose.positions[0]))
            targets.append(pose.positions[0] - reach * (pose.positions[-1] - pose.positions[0]))
    poles = np.array(targets) + rng.normal(size=(len(targets), 3))
    angle = float(rng.uniform(-3.0, 3.0))
    every = goals(np.array(targets), poles if with_pole else None, angle if with_pole else None)
    batch = solve(chain, stack(poses), every, options)
    for item, pose in enumerate(poses):
        goal = goals(targets[item], poles[item] if with_pole else None, angle if with_pole else None)
        check_same(batch, item, solve(chain, pose, goal, options))


@given(posed_chains(), st.lists(directions, min_size=2, max_size=6), st.sampled_from([0.0, 0.25, 0.5, 1.0, 1.5]))
def test_a_batch_of_degenerate_problems_is_a_loop_of_singles(
    posed: tuple[Chain, Pose], headings: list[tuple[float, float, float]], reach: float
) -> None:
    chain, pose = posed
    targets = [pose.positions[0] + reach * chain.total_length * unit(heading) for heading in headings]
    targets += list(pose.positions)
    batch = solve(chain, stack([pose] * len(targets)), goals(np.array(targets)))
    for item, target in enumerate(targets):
        check_same(batch, item, solve(chain, pose, goals(target)))


@pytest.mark.parametrize("count", [3, 10, 30])
def test_iterations_of_a_batch_are_those_of_singles_to_the_last_digits(count: int) -> None:
    rng = np.random.default_rng(count)
    chain = plain_chain(rng.uniform(0.2, 1.0, count))
    poses = [random_pose(rng, chain.links, 0.8) for _ in range(60)]
    targets = np.array([target_at(rng, pose, chain.links, rng.uniform(0.3, 0.999)) for pose in poses])
    batch = solve(chain, stack(poses), goals(targets))
    assert batch.iterations.max() > 5  # mixing took part
    for item, pose in enumerate(poses):
        single = solve(chain, pose, goals(targets[item]))
        for one, many in (
            (single.pose.positions, batch.pose.positions[item]),
            (single.pose.rotations, batch.pose.rotations[item]),
        ):
            np.testing.assert_allclose(one, many, rtol=0.0, atol=1e-10)
            assert one.tobytes() == many.tobytes() or not SAME_SUMS


def test_a_target_on_a_joint_ends_the_same_alone_and_in_a_batch() -> None:
    # The first pass then puts two joints on one point: a float division by zero, or NaN in one item of the batch.
    chain = plain_chain([1.0, 1.0, 1.0])
    pose = pose_of(lay(chain.links, [(0, 0, 1), (1, 0, 1), (1, 0, 0)]))
    for j in range(4):
        single = solve(chain, pose, goals(pose.positions[j]))
        batch = solve(chain, stack([pose, pose]), goals(np.array([pose.positions[j], pose.positions[-1] * 0.9])))
        check_same(batch, 0, single)


@pytest.mark.parametrize("pose_batch", [(), (4,), (3, 1), (3, 4)])
@pytest.mark.parametrize("target_batch", [(), (4,), (3, 4)])
def test_batch_axes_of_pose_and_goals_are_broadcast(pose_batch: tuple[int, ...], target_batch: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    chain = plain_chain([1.0, 0.7, 0.5])
    poses = stack([random_pose(rng, chain.links, 0.8) for _ in range(int(np.prod(pose_batch)))])
    pose = Pose(poses.positions.reshape(*pose_batch, 4, 3), poses.rotations.reshape(*pose_batch, 4, 4))
    targets = rng.normal(size=(*target_batch, 1, 3))
    solution = solve(chain, pose, Goals(targets))
    batch = np.broadcast_shapes(pose_batch, target_batch)
    assert solution.pose.positions.shape == (*batch, 4, 3)
    assert solution.pose.rotations.shape == (*batch, 4, 4)
    assert solution.error.shape == solution.iterations.shape == solution.status.shape == (*batch, 1)
    positions = np.broadcast_to(pose.positions, (*batch, 4, 3))
    rotations = np.broadcast_to(pose.rotations, (*batch, 4, 4))
    targets = np.broadcast_to(targets, (*batch, 1, 3))
    for item in np.ndindex(*batch):
        check_same(solution, item, solve(chain, Pose(positions[item], rotations[item]), Goals(targets[item])))


def test_an_empty_batch_has_an_empty_solution() -> None:
    chain = plain_chain([1.0, 0.7, 0.5])
    solution = solve(chain, Pose(np.zeros((0, 4, 3)), np.zeros((0, 4, 4))), Goals(np.zeros((0, 1, 3))))
    assert solution.pose.positions.shape == (0, 4, 3)
    assert solution.error.shape == (0, 1)


def test_batch_items_are_independent() -> None:
    rng = np.random.default_rng(6)
    chain = plain_chain([1.0] * 10)
    poses = [random_pose(rng, chain.links, 0.8) for _ in range(50)]
    targets = np.array([target_at(rng, pose, chain.links, rng.uniform(0.2, 1.1)) for pose in poses])
    whole = solve(chain, stack(poses), goals(targets))
    order = rng.permutation(50)[:20]
    part = solve(chain, stack([poses[item] for item in order]), goals(targets[order]))
    assert part.pose.positions.tobytes() == whole.pose.positions[order].tobytes()
    assert part.pose.rotations.tobytes() == whole.pose.rotations[order].tobytes()
