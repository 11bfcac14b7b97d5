# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A chain with a pole shape: the shape stays as it is, and its poses are one continuous family in the reach."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fabrik_addon.core import Chain, FabrikError, Goals, Options, Pose, Status, plain_chain, pole_for, solve
from fabrik_addon.core.fabrik.pole_shape import has_family, shape_of
from tests.unit.chains import Array, goals, lay, link_lengths, nearest_reach, seeds, turn, unit

LEG = [(0.0, -0.03, -0.45), (0.0, 0.08, -0.42), (0.0, -0.13, -0.06), (0.0, -0.07, 0.0)]
"""Thigh, shin, foot and toe: the knee and the ankle bend to opposite sides."""
ARM = [(0.15, 0.03, 0.03), (0.2, 0.05, -0.2), (0.17, -0.1, -0.18)]
"""Clavicle, upper arm and forearm: bends in two planes."""


def posed(links: Array) -> tuple[Chain, Pose]:
    """A chain of links (n, 3) with frames that are twisted about their links."""
    joints = np.vstack([np.zeros(3), np.cumsum(links, axis=0)])
    rotations = np.random.default_rng(len(links)).normal(size=(len(joints), 4))
    return plain_chain(np.linalg.norm(links, axis=1)), Pose(joints, unit(rotations))


def with_shape(chain: Chain, pose: Pose, pole: Array, angle: float) -> Chain:
    shape = shape_of(pose, tuple(pole.tolist()), angle)
    assert has_family(shape)
    return replace(chain, pole_shape=shape)


def random_links(seed: int) -> tuple[np.random.Generator, Array]:
    rng = np.random.default_rng(seed)
    count = rng.integers(3, 9)
    links = lay(rng.uniform(0.3, 1.0, count), [(0.0, 0.0, 2.0) + 0.5 * rng.normal(size=3) for _ in range(count)])
    return rng, np.diff(links, axis=0)


@given(seeds, st.floats(-3.1, 3.1))
def test_the_shape_stays_as_it_is(seed: int, angle: float) -> None:
    rng, links = random_links(seed)
    chain, pose = posed(links)
    pole = pole_for(pose, rng.uniform(0.3, 2.0), angle)
    shape = shape_of(pose, tuple(pole.tolist()), angle)
    assume(has_family(shape))
    chain = replace(chain, pole_shape=shape)
    # Turned and moved with its target and its pole, too.
    for rotation, shift in ((np.eye(3), 0.0), (turn(rng.normal(size=3), 2.0), 3.0)):
        moved = Pose(pose.positions @ rotation.T + shift, pose.rotations)
        solution = solve(chain, moved, goals(moved.positions[-1], rotation @ pole + shift, angle))
        assert solution.status[0] == Status.REACHED
        np.testing.assert_allclose(solution.pose.positions, moved.positions, atol=1e-9 * chain.total_length)
        np.testing.assert_allclose(
            np.abs((solution.pose.rotations * moved.rotations).sum(axis=1))[:-1], 1.0, atol=1e-12
        )


def solved_path(chain: Chain, pose: Pose, path: Array, pole: Array, is_from_before: bool) -> tuple[Array, Array]:
    positions, rotations = [], []
    at_hand = pose
    for target in path:
        solution = solve(chain, at_hand, goals(target, pole))
        assert solution.status[0] == Status.REACHED
        positions.append(solution.pose.positions)
        rotations.append(solution.pose.rotations)
        at_hand = solution.pose if is_from_before else pose
    return np.array(positions), np.array(rotations)


def rotation_angles(a: Array, b: Array) -> Array:
    return np.degrees(2.0 * np.arccos(np.clip(np.abs((a * b).sum(axis=-1)), 0.0, 1.0)))


@pytest.mark.parametrize("links", [LEG, LEG[:3], ARM])
def test_a_limb_follows_a_closed_path_without_a_jump(links: list[tuple[float, float, float]]) -> None:
    chain, pose = posed(np.array(links))
    length, tip = chain.total_length, pose.positions[-1]
    knee = pose.positions[1]
    pole = knee + length * unit(knee - tip * (knee @ tip) / (tip @ tip))
    chain = with_shape(chain, pose, pole, 0.0)
    angles = np.linspace(0.0, 2.0 * np.pi, 241)[:, None]
    start, nearest = np.linalg.norm(tip), max(nearest_reach(chain.links), 0.05 * length)
    reach = nearest + (0.99 * length - nearest) * (0.5 + 0.5 * np.cos(angles))
    swing = [turn((1.0, 0.2, 0.3), 0.6 * angle) for angle in np.sin(angles[:, 0])]
    path = np.array([r * (rotation @ tip) / start for r, rotation in zip(reach, swing, strict=True)])
    from_rest, frames = solved_path(chain, pose, path, pole, is_from_before=False)
    from_before, frames_before = solved_path(chain, pose, path, pole, is_from_before=True)
    for positions in (from_rest, from_before):
        lengths = np.array([link_lengths(joints) for joints in positions])
        np.testing.assert_allclose(lengths, np.tile(chain.links, (len(path), 1)), rtol=1e-9)
        np.testing.assert_allclose(positions[:, -1], path, atol=1e-6 * length)
    # One pose for one target, whatever the pose before.
    np.testing.assert_allclose(from_before, from_rest, atol=1e-5 * length)
    turns = np.concatenate([rotation_angles(each[1:], each[:-1]) for each in (frames, frames_before)])
    assert turns.max() < 3.0 * 3.5, turns.max()
    assert rotation_angles(frames_before[0], frames_before[-1]).max() < 0.5


@pytest.mark.parametrize("links", [LEG, ARM])
def test_many_poses_at_once_are_those_of_one_after_another(links: list[tuple[float, float, float]]) -> None:
    chain, pose = posed(np.array(links))
    pole = pole_for(pose, 0.5, 0.7)
    chain = with_shape(chain, pose, pole, 0.7)
    rng = np.random.default_rng(1)
    reach = np.array([0.0, 0.02, 0.3, 0.7, 0.9, 0.999, 1.0, 1.3, *rng.uniform(0.1, 1.0, 20)])
    targets = chain.total_length * reach[:, None] * unit(rng.normal(size=(len(reach), 3)))
    many = len(targets)
    batch = Pose(*(np.repeat(each[None], many, axis=0) for each in (pose.positions, pose.rotations)))
    wanted = Goals(targets[:, None], poles=np.tile(pole, (many, 1, 1)), pole_angles=np.array([0.7]))
    both = solve(chain, batch, wanted)
    for number, target in enumerate(targets):
        one = solve(chain, pose, goals(target, pole, 0.7))
        assert one.status[0] == both.status[number, 0]
        np.testing.assert_allclose(both.pose.positions[number], one.pose.positions, atol=1e-9)
        dots = np.abs((both.pose.rotations[number] * one.pose.rotations).sum(axis=1))
        np.testing.assert_allclose(dots, 1.0, atol=1e-9)


def test_the_other_links_of_a_chain_with_a_rotation_have_the_shape() -> None:
    chain, pose = posed(np.array(LEG))
    others = Pose(pose.positions[:-1], pose.rotations[:-1])
    pole = pole_for(others, 0.5, 0.3)
    shape = shape_of(others, tuple(pole.tolist()), 0.3)
    chain = replace(chain, pole_shape=shape)
    wanted = replace(goals(pose.positions[-1], pole, 0.3), rotations=pose.rotations[-2:-1])
    solution = solve(chain, pose, wanted, Options())
    np.testing.assert_allclose(solution.pose.positions, pose.positions, atol=1e-6)
    dots = np.abs((solution.pose.rotations * pose.rotations).sum(axis=1))[:-1]
    np.testing.assert_allclose(dots, 1.0, atol=1e-9)


@given(seeds)
def test_a_chain_whose_links_have_other_lengths_now_reaches_as_well(seed: int) -> None:
    rng, links = random_links(seed)
    _, pose = posed(links)
    shape = shape_of(pose, tuple(pole_for(pose, 0.5).tolist()), 0.0)
    assume(has_family(shape))
    changed, edited = posed(links * rng.uniform(0.7, 1.4, (len(links), 1)))
    changed = replace(changed, pole_shape=shape)
    nearest = nearest_reach(changed.links)
    for share in (0.01, 0.3, 0.7, 0.99):
        reach = nearest + share * (changed.total_length - nearest)
        solution = solve(changed, edited, goals(reach * unit(rng.normal(size=3)), pole_for(pose, 0.5)))
        assert solution.status[0] == Status.REACHED


@pytest.mark.parametrize("links", [LEG, ARM])
def test_every_solver_takes_the_pose_of_the_family(links: list[tuple[float, float, float]]) -> None:
    chain, pose = posed(np.array(links))
    pole = pole_for(pose, 0.5, 0.7)
    chain = with_shape(chain, pose, pole, 0.7)
    wanted = goals(0.8 * pose.positions[-1], pole, 0.7)
    first, *others = (
        solve(chain, pose, wanted, Options(solver=name)).pose.positions for name in ("FABRIK", "CCD", "JACOBIAN_DLS")
    )
    for other in others:
        np.testing.assert_array_equal(other, first)
    with pytest.raises(FabrikError, match="two"):
        solve(chain, pose, wanted, Options(solver="TWO_BONE"))
