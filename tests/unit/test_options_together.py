# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits, poles, rotations, softness, stretch and a root that follows, all at once: alone and in a batch."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabrik_addon.core import Goals, Options, Pose, Solution, Status, plain_chain, solve
from tests.unit.chains import link_lengths, random_pose, seeds, target_at
from tests.unit.constrained_chains import ConstrainedChain, feasible_pose, random_constrained_chain, unit4

MOST = 1.3

EVERY_OPTION = [
    Options(iterations=20, softness=softness, moves_root=moves_root, stretch_max=stretch_max)
    for softness, moves_root, stretch_max in itertools.product((0.0, 0.2), (False, True), (1.0, MOST))
]


def unconstrained_chain(rng: np.random.Generator, count: int) -> tuple[ConstrainedChain, Pose]:
    """A chain without limits and a pose of it."""
    chain = plain_chain(rng.uniform(0.3, 1.0, count))
    pose = random_pose(rng, chain.links, 0.8)
    return ConstrainedChain(chain, np.array([1.0, 0.0, 0.0, 0.0]), pose.positions[0], np.zeros((count, 3))), pose


def random_problem(
    rng: np.random.Generator, has_limits: bool, has_pole: bool, has_rotation: bool, items: int
) -> tuple[ConstrainedChain, Pose, Goals]:
    """One pose of a chain and goals around it: near, far, too far."""
    count = int(rng.integers(1, 4))
    if has_limits:
        constrained_chain = random_constrained_chain(rng, count)
        pose = feasible_pose(rng, constrained_chain)
    else:
        constrained_chain, pose = unconstrained_chain(rng, count)
    targets = np.array(
        [target_at(rng, pose, constrained_chain.chain.links, rng.uniform(0.2, 1.5)) for _ in range(items)]
    )
    poles = targets + rng.normal(size=targets.shape) if has_pole else None
    rotations = unit4(rng.normal(size=(items, 1, 4))) if has_rotation else None
    return constrained_chain, pose, Goals(targets[:, None], rotations, None if poles is None else poles[:, None])


def item_of(goals: Goals, item: int) -> Goals:
    """One of a batch of goals."""
    parts = (goals.targets, goals.rotations, goals.poles)
    targets, rotations, poles = (None if part is None else part[item] for part in parts)
    assert targets is not None
    return Goals(targets, rotations, poles)


def check_laws(
    constrained_chain: ConstrainedChain, pose: Pose, goals: Goals, options: Options, solution: Solution
) -> None:
    """What holds whatever is asked: lengths, limits, the root, and that what is said is so."""
    chain, factor = constrained_chain.chain, solution.stretch[..., 0]
    assert np.isfinite(solution.pose.positions).all() and np.isfinite(solution.pose.rotations).all()
    np.testing.assert_allclose(
        link_lengths(solution.pose.positions), factor[..., None] * np.array(chain.links), rtol=1e-9, atol=1e-12
    )
    assert (factor >= 1.0).all() and (factor <= options.stretch_max).all()
    error = np.linalg.norm(solution.pose.positions[..., -1, :] - goals.targets[..., 0, :], axis=-1)
    np.testing.assert_allclose(solution.error[..., 0], error / chain.total_length, atol=1e-9)
    reached = solution.status[..., 0] == Status.REACHED
    np.testing.assert_array_equal(reached, solution.error[..., 0] <= options.tolerance)
    if options.moves_root:
        assert reached.all()
    else:
        root = np.broadcast_to(pose.positions[0], solution.pose.positions[..., 0, :].shape)
        np.testing.assert_array_equal(solution.pose.positions[..., 0, :], root)
    if chain.has_limits:
        assert constrained_chain.violation(solution.pose) < 1e-9


@pytest.mark.parametrize("options", EVERY_OPTION, ids=str)
@settings(max_examples=30)
@given(seed=seeds, has_pole=st.booleans(), has_rotation=st.booleans())
def test_the_laws_hold_together_and_a_batch_is_a_loop_of_singles(
    options: Options, seed: int, has_pole: bool, has_rotation: bool
) -> None:
    check_batch(options, np.random.default_rng(seed), False, has_pole, has_rotation)


@pytest.mark.parametrize("options", EVERY_OPTION, ids=str)
@pytest.mark.parametrize("has_pole", [False, True])
@pytest.mark.parametrize("has_rotation", [False, True])
def test_so_they_do_within_limits(options: Options, has_pole: bool, has_rotation: bool) -> None:
    rng = np.random.default_rng([EVERY_OPTION.index(options), has_pole, has_rotation])
    check_batch(replace(options, iterations=8), rng, True, has_pole, has_rotation)


def check_batch(
    options: Options, rng: np.random.Generator, has_limits: bool, has_pole: bool, has_rotation: bool
) -> None:
    items = 3
    constrained_chain, pose, goals = random_problem(rng, has_limits, has_pole, has_rotation, items)
    batch = solve(constrained_chain.chain, pose, goals, options)
    check_laws(constrained_chain, pose, goals, options, batch)
    for item in range(items):
        single = solve(constrained_chain.chain, pose, item_of(goals, item), options)
        # Least squares that stop where limits leave them make more of the last bit.
        close = 1e-5 if has_limits else 1e-7
        np.testing.assert_allclose(batch.pose.positions[item], single.pose.positions, rtol=0.0, atol=close)
        np.testing.assert_allclose(batch.stretch[item], single.stretch, rtol=0.0, atol=close)
        np.testing.assert_allclose(batch.error[item], single.error, rtol=0.0, atol=close)
        np.testing.assert_array_equal(batch.status[item], single.status)
        check_laws(constrained_chain, pose, item_of(goals, item), options, single)


# Limits and a pose that keeps them


@given(seeds, st.sampled_from([2, 3, 5]), st.booleans())
def test_a_limited_pose_solved_again_from_itself_gets_no_worse(seed: int, count: int, has_pole: bool) -> None:
    rng = np.random.default_rng(seed)
    constrained_chain = random_constrained_chain(rng, count)
    pose = feasible_pose(rng, constrained_chain)
    target = target_at(rng, pose, constrained_chain.chain.links, rng.uniform(0.1, 1.2))
    goals = Goals(target[None], poles=(target + rng.normal(size=3))[None] if has_pole else None)
    options = Options(iterations=20)
    errors: list[float] = []
    for _ in range(3):
        solution = solve(constrained_chain.chain, pose, goals, options)
        pose = replace(solution.pose, base=constrained_chain.base)
        errors.append(float(solution.error[0]))
    # What is reached may be anywhere within the tolerance.
    assert errors[1] <= max(errors[0] + 1e-6, options.tolerance)
    assert errors[2] <= max(errors[1] + 1e-6, options.tolerance)


@given(seeds)
def test_a_reach_that_is_eased_ends_where_it_would_have_to_bend_least(seed: int) -> None:
    """The pose of a soft chain is that of a hard one whose target is as near as the soft tip."""
    rng = np.random.default_rng(seed)
    chain = plain_chain(rng.uniform(0.3, 1.0, 3))
    pose = random_pose(rng, chain.links, 0.8)
    target = target_at(rng, pose, chain.links, rng.uniform(0.8, 1.3))
    soft = solve(chain, pose, Goals(target[None]), Options(softness=0.3))
    hard = solve(chain, pose, Goals(soft.pose.positions[-1:]), Options())
    np.testing.assert_allclose(soft.pose.positions, hard.pose.positions, atol=1e-4 * chain.total_length)
