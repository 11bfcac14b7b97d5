# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A chain lies in its bend plane, bends to the pole's side at every joint, and reaches its target."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrik_addon.core import Chain, Goals, Options, Pose, Status, plain_chain, pole_for, solve
from tests.unit.chains import (
    Array,
    angle_between,
    check_on_pole_side,
    directions,
    frames_in_plane,
    generic_directions,
    goals,
    lay,
    link_lengths,
    matrix,
    nearest_reach,
    posed_chains,
    random_pose,
    reaches,
    seeds,
    target_at,
    turn,
    unit,
)


def check_bent_to_pole(chain: Chain, pose: Pose, target: Array, pole: Array, angle: float = 0.0) -> Array:
    """Solve, check every law a pole has, and return the joints."""
    solution = solve(chain, pose, goals(target, pole, angle))
    positions = solution.pose.positions
    np.testing.assert_allclose(link_lengths(positions), chain.links, rtol=1e-9)
    assert (positions[0] == pose.positions[0]).all()
    assert solution.status[0] == Status.REACHED
    turned_pole = positions[0] + turn(target - positions[0], angle) @ (pole - positions[0])
    check_on_pole_side(positions, turned_pole)
    return positions


@st.composite
def problems(draw: st.DrawFn) -> tuple[Chain, Pose, Array]:
    """A chain, a pose and a target that the chain can reach."""
    chain, pose = draw(posed_chains(largest=20))
    distance = draw(reaches(chain, 0.02, 0.999)) * chain.total_length
    return chain, pose, pose.positions[0] + distance * unit(draw(directions))


@given(problems(), generic_directions, st.sampled_from([0.1, 0.5, 1.0, 3.0, 100.0]), st.floats(-3.1, 3.1))
def test_every_joint_bends_to_the_pole(
    problem: tuple[Chain, Pose, Array], direction: tuple[float, float, float], distance: float, angle: float
) -> None:
    chain, pose, target = problem
    pole = pose.positions[0] + distance * chain.total_length * unit(direction)
    check_bent_to_pole(chain, pose, target, pole, angle)


@pytest.mark.parametrize("count", [2, 3, 5, 10, 20, 50])
@pytest.mark.parametrize("pole_distance", [0.2, 1.0, 10.0])
def test_every_joint_bends_to_the_pole_in_chains_of_every_length(count: int, pole_distance: float) -> None:
    rng = np.random.default_rng([count, int(10 * pole_distance)])
    for ratio in (1.0, 3.0, 20.0):
        for _ in range(10):
            chain = plain_chain(ratio ** rng.uniform(0.0, 1.0, count))
            pose = random_pose(rng, chain.links, rng.choice([0.0, 0.8, np.pi]))
            nearest = nearest_reach(chain.links) / chain.total_length
            target = target_at(rng, pose, chain.links, rng.uniform(max(nearest, 0.01), 0.999))
            check_bent_to_pole(chain, pose, target, target_at(rng, pose, chain.links, pole_distance))


@pytest.mark.parametrize("count", [2, 3, 10])
def test_a_straight_chain_bends_to_the_pole(count: int) -> None:
    rng = np.random.default_rng(count)
    chain = plain_chain([1.0] * count)
    for along in (-0.9, -0.3, 0.3, 0.9):
        pose = random_pose(rng, chain.links, 0.0)
        target = pose.positions[0] + along * (pose.positions[-1] - pose.positions[0])
        pole = target_at(rng, pose, chain.links, 1.0)
        positions = check_bent_to_pole(chain, pose, target, pole)
        line = unit(target - pose.positions[0])
        side = pole - pose.positions[0] - line * ((pole - pose.positions[0]) @ line)
        assert ((positions[1:-1] - pose.positions[0]) @ side > 0.0).all()


@pytest.mark.parametrize("distance", [-2.0, -0.5, 0.3, 2.0])
def test_a_pole_on_the_line_to_the_target_leaves_the_bend_as_it_is(distance: float) -> None:
    rng = np.random.default_rng(4)
    chain = plain_chain([1.0, 0.8, 0.9])
    plane = turn(rng.normal(size=3), 1.0)
    start = lay(chain.links, [plane @ v for v in ((1.0, 1.0, 0.0), (1.0, 0.1, 0.0), (1.0, -0.8, 0.0))])
    target = 0.7 * start[-1]
    solution = solve(chain, frames_in_plane(start, plane[:, 2]), goals(target, distance * target))
    assert solution.status[0] == Status.REACHED
    np.testing.assert_allclose(solution.pose.positions @ plane[:, 2], 0.0, atol=1e-9)
    before, after = (np.cross(positions[1], target) @ plane[:, 2] for positions in (start, solution.pose.positions))
    assert before * after > 0.0


@given(seeds, st.integers(2, 10), st.floats(-3.1, 3.1))
def test_the_pole_angle_rotates_the_chain_about_the_line_to_the_target(seed: int, count: int, angle: float) -> None:
    rng = np.random.default_rng(seed)
    chain = plain_chain(rng.uniform(0.5, 1.0, count))
    pose = random_pose(rng, chain.links, 0.8)
    root = pose.positions[0]
    target = target_at(rng, pose, chain.links, rng.uniform(0.3, 0.95))
    pole = target_at(rng, pose, chain.links, 1.0)
    straight_at_pole = solve(chain, pose, goals(target, pole)).pose.positions
    turned = solve(chain, pose, goals(target, pole, angle)).pose.positions
    expected = root + (straight_at_pole - root) @ turn(target - root, angle).T
    np.testing.assert_allclose(turned, expected, rtol=0.0, atol=1e-6 * chain.total_length)


@given(seeds, st.integers(2, 12), st.floats(-3.1, 3.1), st.booleans(), st.sampled_from([0.1, 1.0]))
def test_the_joints_of_a_planar_chain_rotate_about_its_normal_alone(
    seed: int, count: int, angle: float, one_sided: bool, pole_distance: float
) -> None:
    rng = np.random.default_rng(seed)
    chain = plain_chain(rng.uniform(0.5, 1.0, count))
    bends = rng.uniform(0.05, 2.5 / count, count) * (1.0 if one_sided else rng.choice([-1.0, 1.0], count))
    headings = np.cumsum(bends)
    plane = turn(rng.normal(size=3), rng.uniform(0.0, 3.0))
    start = lay(chain.links, np.stack([np.cos(headings), np.sin(headings), 0 * headings], axis=-1) @ plane.T)
    pose = frames_in_plane(start, plane[:, 2])
    target = target_at(rng, pose, chain.links, rng.uniform(0.1, 0.99))
    pole = target_at(rng, pose, chain.links, pole_distance)
    solution = solve(chain, pose, goals(target, pole, angle))
    frames = matrix(solution.pose.rotations)
    # Every bone's x axis is still the plane's normal, so every joint still rotates about its own x alone.
    np.testing.assert_allclose(frames[:, :, 0], np.broadcast_to(frames[0, :, 0], (count + 1, 3)), atol=1e-6)
    for link, frame in zip(unit(np.diff(solution.pose.positions, axis=0)), frames[:-1], strict=True):
        np.testing.assert_allclose(frame[:, 1], link, atol=1e-6)


@pytest.mark.parametrize("angle", [-2.0, 0.4, 3.0])
def test_a_chain_whose_bends_cancel_out_still_has_a_bend_plane(angle: float) -> None:
    # The joints of a Z are as far on one side of the line root-tip as on the other.
    chain = plain_chain([1.0, 2.0, 1.0])
    start = lay(chain.links, [(1.0, 1.0, 0.0), (1.0, -1.0, 0.0), (1.0, 1.0, 0.0)])
    pose = frames_in_plane(start, (0.0, 0.0, 1.0))
    pole = turn((1.0, 0.0, 0.0), angle) @ np.array([0.5, 5.0, 0.0])
    solution = solve(chain, pose, goals((2.0, 0.0, 0.0), pole))
    normal = turn((1.0, 0.0, 0.0), angle) @ np.array([0.0, 0.0, 1.0])
    frames = matrix(solution.pose.rotations)
    np.testing.assert_allclose(np.abs(frames[:, :, 0] @ normal), 1.0, atol=1e-6)
    np.testing.assert_allclose(frames[:, :, 0], np.broadcast_to(frames[0, :, 0], (4, 3)), atol=1e-6)


@given(seeds, st.integers(2, 10), st.floats(-3.1, 3.1), st.floats(0.2, 2.0), st.booleans())
def test_a_pole_made_for_a_planar_chain_moves_nothing(
    seed: int, count: int, angle: float, distance: float, straight: bool
) -> None:
    rng = np.random.default_rng(seed)
    lengths = rng.uniform(0.5, 1.0, count)
    headings = np.cumsum(rng.uniform(0.05, 1.5 / count, count)) * (0.0 if straight else 1.0)
    plane = turn(rng.normal(size=3), rng.uniform(0.0, 3.0))
    start = lay(lengths, np.stack([np.cos(headings), np.sin(headings), 0 * headings], axis=-1) @ plane.T, (1, 2, 3))
    pose = frames_in_plane(start, plane[:, 2])
    pole = pole_for(pose, distance, angle)
    solution = solve(plain_chain(lengths), pose, goals(start[-1], pole, angle))
    np.testing.assert_allclose(solution.pose.positions, start, rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(matrix(solution.pose.rotations), matrix(pose.rotations), atol=1e-5)


@pytest.mark.parametrize("count", [3, 5, 10])
def test_a_pole_rotates_the_chain_by_the_shortest_rotations(count: int) -> None:
    # The shortest rotations that bring root-tip to root-target and the bend to the pole: for a target at the tip, a
    # rotation about that line.
    chain = plain_chain([1.0] * count)
    angles = np.linspace(0.6, -0.6, count)
    start = lay(chain.links, np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=-1))
    pose = frames_in_plane(start, (0.0, 0.0, 1.0))
    for angle in (-2.0, -0.3, 0.2, 1.5):
        pole = turn(start[-1], angle) @ np.array([0.1, 50.0, 0.0])
        solution = solve(chain, pose, goals(start[-1], pole))
        expected = [turn(start[-1], angle) @ frame for frame in matrix(pose.rotations)]
        np.testing.assert_allclose(solution.pose.positions, start @ turn(start[-1], angle).T, atol=1e-6)
        np.testing.assert_allclose(matrix(solution.pose.rotations), expected, atol=1e-5)


def test_the_pole_decides_which_way_an_elbow_bends() -> None:
    chain = plain_chain([1.0, 1.0])
    start = lay(chain.links, [(1.0, 0.1, 0.0), (1.0, -0.1, 0.0)])
    pose = frames_in_plane(start, (0.0, 0.0, 1.0))
    for pole in ((1.0, 5.0, 0.0), (1.0, -5.0, 0.0), (1.0, 0.0, 5.0), (1.0, -3.0, 4.0)):
        positions = solve(chain, pose, goals((1.5, 0.0, 0.0), pole)).pose.positions
        elbow = positions[1] * np.array([0.0, 1.0, 1.0])
        assert angle_between(elbow, np.array([0.0, *pole[1:]])) < 1e-9


@pytest.mark.parametrize("solver", ["FABRIK", "TWO_BONE", "CCD", "JACOBIAN_DLS"])
@pytest.mark.parametrize("pole_angle", [0.0, 1.0, -2.5])
@pytest.mark.parametrize("far", [(0.3, -4.0, 0.8), (2.0, 2.0, 2.0), (-3.0, 0.0, 1.0)])
def test_bones_of_a_straight_chain_bend_about_the_same_axes_as_before(
    solver: str, pole_angle: float, far: tuple[float, float, float]
) -> None:
    chain, options = plain_chain([1.0, 0.8]), Options(solver=solver, iterations=500, tolerance=1e-7)
    positions = np.array([[0.0, 0.0, 0.0], [0.6, 0.0, 0.8], [0.6, 0.8, 0.8]])
    rotations = np.tile([0.5, 0.5, -0.5, 0.5], (3, 1))
    poles, angles = np.array([[0.7, -3.0, 1.0]]), np.array([pole_angle])

    def solved(pose: Pose, target: tuple[float, float, float]) -> Pose:
        return solve(chain, pose, Goals(np.array([target]), poles=poles, pole_angles=angles), options).pose

    first = solved(Pose(positions, rotations), (0.3, -0.5, 1.0))
    again = solved(solved(first, far), (0.3, -0.5, 1.0))
    assert np.abs(again.positions - first.positions).max() <= 1e-6
    assert np.abs(np.sum(again.rotations * first.rotations, axis=1)).min() >= 1.0 - 1e-9
    # Many poses at once, of which some are straight.
    poses = [first, solved(first, far)]
    batch = Pose(np.stack([pose.positions for pose in poses]), np.stack([pose.rotations for pose in poses]))
    both = solved(batch, (0.4, -0.5, 0.9))
    for number, pose in enumerate(poses):
        one = solved(pose, (0.4, -0.5, 0.9))
        assert np.abs(both.positions[number] - one.positions).max() <= 1e-9
        assert np.abs(np.sum(both.rotations[number] * one.rotations, axis=1)).min() >= 1.0 - 1e-12
