# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Newton's method between limits: its derivatives against finite differences, and the laws of what comes out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabrik_addon.core import start_from
from fabrik_addon.core.math.operations import SCALAR
from fabrik_addon.core.math.quaternion_arrays import to_matrices
from fabrik_addon.core.model.constrained_chain import place
from fabrik_addon.core.model.constrained_chain_arrays import COUNT, Bones, chain_structure, feasible_poses, frames_of
from fabrik_addon.core.model.joint_limits import clamp, joint_limits, swing_twist
from fabrik_addon.core.optimise.bounded_least_squares import descend
from fabrik_addon.core.within_limits.nearest_pose import (
    NewtonSteps,
    _place,
    _second_derivative,
    nearest_poses,
)
from tests.unit.chains import Array, matrix, seeds
from tests.unit.constrained_chains import ConstrainedChain, feasible_coordinates, random_constrained_chain, unit4

counts = st.integers(1, 6)


def made(rng: np.random.Generator, count: int, poses: int) -> tuple[ConstrainedChain, Bones, Array]:
    """A chain as the tests have it and as Newton's method has it, and feasible turns (S, B, 3) of its bones."""
    constrained_chain = random_constrained_chain(rng, count)
    start = start_from(constrained_chain.chain, constrained_chain.posed(feasible_coordinates(rng, constrained_chain)))
    if start.constrained_chain is None:  # every joint came out free
        return made(rng, count, poses)
    bones = Bones(
        to_matrices(np.array(start.constrained_chain.rests)[None]),
        np.array(start.constrained_chain.links)[None],
        chain_structure(tuple(start.constrained_chain.limits), tuple(start.constrained_chain.inherits)),
    )
    coordinates = [
        [swing_twist(SCALAR, tuple(q)) for q in feasible_coordinates(rng, constrained_chain).tolist()]
        for _ in range(poses)
    ]
    return constrained_chain, bones, np.array(coordinates)


def is_feasible(bones: Bones, coordinates: Array) -> bool:
    """Whether limits leave turns (S, B, 3) as they are."""
    for pose in coordinates.tolist():
        for limits, turn in zip(bones.structure.limits[:-1], pose, strict=True):
            if np.abs(np.array(clamp(SCALAR, limits, tuple(turn))) - turn).max() > 1e-9:
                return False
    return True


@given(seeds)
def test_matrices_are_those_of_the_quaternions(seed: int) -> None:
    q = unit4(np.random.default_rng(seed).normal(size=(3, 4)))
    np.testing.assert_allclose(to_matrices(q), matrix(q), atol=1e-12)


@given(seeds, counts)
def test_tips_are_where_forward_kinematics_has_them(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    constrained_chain, bones, coordinates = made(rng, count, 3)
    core = start_from(
        constrained_chain.chain, constrained_chain.posed(feasible_coordinates(rng, constrained_chain))
    ).constrained_chain
    assert core is not None
    for tip, pose in zip(frames_of(bones, coordinates)[2][:, -1], coordinates.tolist(), strict=True):
        np.testing.assert_allclose(tip, place(SCALAR, core, [tuple(turn) for turn in pose]).joints[-1], atol=1e-9)


@given(seeds, counts)
@settings(max_examples=50)
def test_first_and_second_derivatives_of_the_tip(seed: int, count: int) -> None:
    """Jacobian columns, and their change by every axis that rotates them, against finite differences."""
    rng = np.random.default_rng(seed)
    _, bones, coordinates = made(rng, count, 1)
    target, step = np.zeros((1, 3)), 1e-6
    placed = _place(bones, coordinates, target)
    bone, axis = np.array(bones.structure.columns, int).reshape(-1, 2).T
    for a in range(len(bone)):
        if coordinates[0, bone[a], 0] ** 2 + coordinates[0, bone[a], 2] ** 2 > 0.8:
            continue  # near half a turn a swing runs out of half-sine
        ends = []
        for sign in (1.0, -1.0):
            moved = coordinates.copy()
            moved[0, bone[a], axis[a]] += sign * step
            ends.append(_place(bones, moved, target))
        np.testing.assert_allclose(placed.columns[0, a], (ends[0].tips - ends[1].tips)[0] / (2.0 * step), atol=1e-5)
        for b in range(len(bone)):
            is_whole = bones.structure.turns_axes[a, b] == 1.0
            if is_whole or bones.structure.turns_axes[[a, b], [b, a]].tolist() == [0.0, 0.0]:
                change = (ends[0].columns[0, b] - ends[1].columns[0, b]) / (2.0 * step)
                expected = np.cross(placed.spins[0, a], placed.columns[0, b]) if is_whole else 0.0 * change
                np.testing.assert_allclose(change, expected, atol=1e-4)


@given(seeds, counts)
@settings(max_examples=50)
def test_second_derivative_of_the_error(seed: int, count: int) -> None:
    """Against finite differences of the first; two half-sines of one bone have a part more, which steps leave out."""
    rng = np.random.default_rng(seed)
    _, bones, coordinates = made(rng, count, 1)
    coordinates *= 0.7  # near half a turn a swing runs out of half-sine
    if any(limits.locked[axis] and limits.lower[axis] for limits in bones.structure.limits[:-1] for axis in (0, 2)):
        return  # a swing that is locked off rest bends the other as well: that is left out
    target, step = rng.normal(size=(1, 3)), 1e-6

    def gradient(moved: Array) -> Array:
        placed = _place(bones, moved, target)
        first: Array = -(placed.columns @ placed.residual[:, :, None])[..., 0]
        return first

    placed, (bone, kind) = _place(bones, coordinates, target), np.array(bones.structure.columns, int).reshape(-1, 2).T
    damping = np.full((1, len(bone)), 0.1)
    second = _second_derivative(bones.structure, placed.spins, placed.columns, placed.residual, damping)
    second[0] -= np.diag(damping[0])
    for a, axis in enumerate(bones.structure.flat_columns):
        ends = []
        for sign in (1.0, -1.0):
            moved = coordinates.copy()
            moved.reshape(-1)[axis] += sign * step
            ends.append(gradient(moved))
        is_whole = (bone != bone[a]) | (kind == 1) | (kind[a] == 1)
        expected = ((ends[0] - ends[1]) / (2.0 * step))[0]
        np.testing.assert_allclose(second[0, a, is_whole], expected[is_whole], atol=1e-4)


@given(seeds, counts)
@settings(max_examples=50)
def test_no_pose_ends_farther_off_or_out_of_its_limits(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    _, bones, coordinates = made(rng, count, 4)
    targets = 0.8 * rng.normal(size=(4, 3))
    before = np.linalg.norm(targets - frames_of(bones, coordinates)[2][:, -1], axis=-1)
    for steps in (0, 1, 5, 30):
        after, errors = nearest_poses(bones, coordinates, targets, NewtonSteps(1e-6, steps))
        assert np.all(errors <= before + 1e-12)
        tips = frames_of(bones, after)[2][:, -1]
        np.testing.assert_allclose(errors, np.linalg.norm(targets - tips, axis=-1), atol=1e-12)
        assert is_feasible(bones, after)
        before = errors


@given(seeds, st.integers(1, 5))
@settings(max_examples=50)
def test_least_squares_find_nothing_nearer_near_by(seed: int, count: int) -> None:
    """But for swings by half a turn: half-sines end there, and whoever calls goes on with least squares."""
    rng = np.random.default_rng(seed)
    constrained_chain, bones, coordinates = made(rng, count, 1)
    if any(limits.reaches_half_turn for limits in bones.structure.limits[:-1]):
        return
    targets = 1.5 * rng.normal(size=(1, 3))
    after, errors = nearest_poses(bones, coordinates, targets, NewtonSteps(1e-6, 100))
    core = start_from(
        constrained_chain.chain, constrained_chain.posed(feasible_coordinates(rng, constrained_chain))
    ).constrained_chain
    assert core is not None
    pose = [tuple(turn) for turn in after[0].tolist()]
    _, error, _ = descend(SCALAR, place(SCALAR, core, pose), tuple(targets[0].tolist()), 1e-6, 30)
    assert error >= 0.99 * errors[0] - 1e-3


@given(seeds, counts)
@settings(max_examples=30)
def test_each_pose_is_by_itself(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    _, bones, coordinates = made(rng, count, 4)
    targets = 0.8 * rng.normal(size=(4, 3))
    together = nearest_poses(bones, coordinates, targets, NewtonSteps(1e-6, 5))[0]
    for n in range(4):
        alone = nearest_poses(bones, coordinates[n : n + 1], targets[n : n + 1], NewtonSteps(1e-6, 5))[0]
        np.testing.assert_allclose(together[n], alone[0], atol=1e-5)


def test_swings_that_meet_their_ellipses_leave_no_valley_to_creep_along() -> None:
    """A spine and an arm, the target near their full reach: Gauss-Newton ended at 0.047 after six steps."""
    cone, shoulder = (joint_limits((-a, -b, -a), (a, b, a)) for a, b in ((0.698, 1.047), (1.571, 1.222)))
    elbow = joint_limits((0.0,) * 3, (2.618, 0.0, 0.0))
    limits = (*[cone] * 5, shoulder, elbow, cone)
    rests = [(0.613, 0.79, 0.0, 0.0), (0.998, -0.064, 0.0, 0.0), (0.997, -0.077, 0.0, 0.0), (1.0, 0.002, 0.0, 0.0)]
    rests += [(0.622, -0.605, -0.346, -0.356), (0.612, -0.055, 0.741, -0.271), (0.982, 0.182, 0.001, -0.041)]
    links = [(0.0, 0.105, 0.0), (0.0, 0.094, 0.0), (0.0, 0.119, 0.0), (0.013, 0.094, 0.054), (0.005, 0.138, -0.014)]
    links += [(0.0, 0.198, 0.0), (0.0, 0.181, 0.0), (0.0, 0.055, 0.0)]
    quaternions = np.array([*rests, (0.999, -0.025, -0.004, -0.028)])
    quaternions /= np.linalg.norm(quaternions, axis=1, keepdims=True)
    bones = Bones(to_matrices(quaternions[None]), np.array([links]), chain_structure(limits, (True,) * 8))
    targets = np.array([[0.893, -0.074, -0.121]])
    _, errors = nearest_poses(bones, np.zeros((1, 8, 3)), targets, NewtonSteps(1e-4, 6, 0.3))
    assert errors[0] < 0.01


def test_what_is_locked_stays() -> None:
    locked = joint_limits((0.0,) * 3, (0.0,) * 3)
    structure = chain_structure((locked, locked), (True, True))
    bones = Bones(np.eye(3)[None, None].repeat(2, 1), np.array([[[0.0, 0.5, 0.0]] * 2]), structure)
    coordinates, errors = nearest_poses(bones, np.zeros((1, 2, 3)), np.array([[0.3, 0.4, 0.0]]), NewtonSteps(1e-4, 10))
    np.testing.assert_array_equal(coordinates, 0.0)
    assert errors[0] == pytest.approx(np.hypot(0.3, 0.6))


# Where to start from


@given(seeds, counts)
@settings(max_examples=20)
def test_poses_to_start_from_are_feasible_and_always_the_same(seed: int, count: int) -> None:
    _, bones, _ = made(np.random.default_rng(seed), count, 1)
    kinds = feasible_poses(bones.structure.limits[:-1])
    for poses in kinds:
        assert poses.shape == (COUNT, count, 3)
        assert is_feasible(bones, poses[::16])
    feasible_poses.cache_clear()
    for before, after in zip(kinds, feasible_poses(bones.structure.limits[:-1]), strict=True):
        np.testing.assert_array_equal(after, before)


def test_poses_to_start_from_fill_the_ranges() -> None:
    """Of any range, cut into eighths, every part."""
    hinge = joint_limits((-0.5, 0.0, 0.0), (1.5, 0.0, 0.0))
    even, single = feasible_poses((hinge,) * 4)
    for coordinates in (even[:, 0, 0], *single[..., 0].T):
        share = (coordinates - hinge.lower[0]) / (hinge.upper[0] - hinge.lower[0])
        assert len(set((share * 7.999).astype(int).tolist())) == 8
