# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps of the Jacobian: what they are, and that none of them takes the tip away from its target."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabrik_addon.core import Goals, Options, Pose, Status, plain_chain, solve, start_from
from fabrik_addon.core.math.operations import SCALAR
from fabrik_addon.core.model.constrained_chain import pose_of
from fabrik_addon.core.optimise.bounded_least_squares import descend
from fabrik_addon.core.optimise.damped_steps import DAMPED, FreeChain, Rule, descend_freely
from fabrik_addon.core.solvers.jacobian import JACOBIAN_TRANSPOSE, PINV, TRANSPOSE
from fabrik_addon.core.within_limits import constrained_reach
from tests.unit.chains import Array, random_pose, seeds, unit
from tests.unit.constrained_chains import feasible_pose, random_constrained_chain

rules = pytest.mark.parametrize("rule", [TRANSPOSE, PINV, DAMPED], ids=["transpose", "pinv", "damped"])


def chain_of(joints: Array) -> FreeChain:
    points = [tuple(point) for point in joints.tolist()]
    links = [tuple(link) for link in np.diff(joints, axis=0).tolist()]
    return FreeChain(points, links)  # type: ignore[arg-type]


def random_joints(rng: np.random.Generator, count: int) -> Array:
    lengths = np.full(count, 1.0 / count)
    pose = random_pose(rng, lengths, 0.9)
    return pose.positions - pose.positions[0]


def jacobian(joints: Array) -> Array:
    """(3, 3 N) by the textbook: columns w x r for turns about x, y and z of every joint."""
    columns = [np.cross(axis, joints[-1] - joint) for joint in joints[:-1] for axis in np.eye(3)]
    return np.array(columns).T


def turned(joints: Array, coordinates: Array) -> Array:
    """Joints after each turns by a rotation vector (N, 3), the chain after it with it; by matrices."""
    moved = joints.copy()
    for j in range(len(coordinates) - 1, -1, -1):
        angle = np.linalg.norm(coordinates[j])
        if angle == 0.0:
            continue
        k = coordinates[j] / angle
        cross = np.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]])
        rotation = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
        moved[j:] = moved[j] + (moved[j:] - moved[j]) @ rotation.T
    return moved


@given(seed=seeds, count=st.integers(1, 8))
def test_the_jacobian_is_what_finite_differences_say(seed: int, count: int) -> None:
    joints = random_joints(np.random.default_rng(seed), count)
    step = 1e-6
    for j in range(count):
        for axis in range(3):
            coordinates = np.zeros((count, 3))
            coordinates[j, axis] = step
            ahead, behind = turned(joints, coordinates)[-1], turned(joints, -coordinates)[-1]
            np.testing.assert_allclose((ahead - behind) / (2 * step), jacobian(joints)[:, 3 * j + axis], atol=1e-8)


@rules
@given(seed=seeds, count=st.integers(1, 8))
@settings(max_examples=40)
def test_a_small_step_is_the_one_of_the_textbook(rule: Rule, seed: int, count: int) -> None:
    """The joints move as J^T y says, y from numpy's own solvers and singular values."""
    rng = np.random.default_rng(seed)
    joints = random_joints(rng, count)
    residual = 1e-5 * rng.normal(size=3)
    j = jacobian(joints)
    if rule is TRANSPOSE:
        moved = j @ j.T @ residual
        coordinates = j.T @ residual * (residual @ moved) / (moved @ moved)
    elif rule is PINV:
        coordinates = np.linalg.pinv(j, rcond=1e-3) @ residual
    else:
        coordinates = j.T @ np.linalg.solve(j @ j.T + rule.first * np.eye(3), residual)
    found = chain_of(joints).stepped(SCALAR, tuple(residual.tolist()), rule.first, rule.solution)
    np.testing.assert_allclose(np.array(found.points), turned(joints, coordinates.reshape(-1, 3)), atol=1e-8)


@rules
@given(seed=seeds, count=st.integers(1, 8), reach=st.floats(0.0, 1.5))
@settings(max_examples=30)
def test_no_step_takes_the_tip_away(rule: Rule, seed: int, count: int, reach: float) -> None:
    rng = np.random.default_rng(seed)
    joints = random_joints(rng, count)
    target = tuple((reach * unit(rng.normal(size=3))).tolist())
    errors = []
    for steps in range(12):
        body, error, used = descend_freely(SCALAR, chain_of(joints), target, 1e-9, steps, rule)
        assert error == pytest.approx(float(np.linalg.norm(np.subtract(body.tip, target))), abs=1e-12)
        assert used <= steps
        errors.append(error)
    assert all(after <= before for before, after in pairwise(errors))


@rules
@given(seed=seeds, count=st.integers(1, 5))
@settings(max_examples=20)
def test_no_step_takes_the_tip_away_within_limits_either(rule: Rule, seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    constrained_chain = random_constrained_chain(rng, count)
    core = start_from(constrained_chain.chain, feasible_pose(rng, constrained_chain))
    if core.constrained_chain is None:
        return
    pose = pose_of(SCALAR, core.constrained_chain, core.frames)
    target = tuple(rng.normal(size=3).tolist())
    errors = [descend(SCALAR, pose, target, 1e-6, steps, rule)[1] for steps in range(8)]
    assert all(after <= before for before, after in pairwise(errors))


@rules
@given(seed=seeds, count=st.integers(2, 8))
@settings(max_examples=20)
def test_no_joint_turns_far_in_a_step(rule: Rule, seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    joints = random_joints(rng, count)
    residual = tuple((10.0 * rng.normal(size=3)).tolist())
    body = chain_of(joints).stepped(SCALAR, residual, rule.first, rule.solution)
    before, after = unit(np.diff(joints, axis=0)), unit(np.array(body.links))
    bends = [np.arccos(np.clip(np.sum(d[1:] * d[:-1], axis=1), -1.0, 1.0)) for d in (before, after)]
    assert np.abs(bends[1] - bends[0]).max(initial=0.0) <= 0.5 + 1e-6


def test_the_pseudo_inverse_leaves_out_what_it_can_hardly_do() -> None:
    """A chain that is all but straight can't be pulled along its line: there the step is none, not a wild one."""
    bend = 1e-5
    joints = np.array([[0.0, 0.0, 0.0], [0.0, np.cos(bend), np.sin(bend)], [0.0, 2.0 * np.cos(bend), 0.0]]) / 2.0
    pulled = chain_of(joints).stepped(SCALAR, (0.0, -0.1, 0.0), 1.0, PINV.solution)
    np.testing.assert_allclose(np.array(pulled.points), joints, atol=1e-6)
    damped = chain_of(joints).stepped(SCALAR, (0.0, -0.1, 0.0), 1e-7, DAMPED.solution)
    assert np.abs(np.array(damped.points) - joints).max() > 1e-3


@given(seed=seeds)
@settings(max_examples=10)
def test_stiff_and_locked_axes_leave_the_turn_to_others(seed: int) -> None:
    """The first of three hinges is locked, the second stiff: the third does most."""
    rng = np.random.default_rng(seed)
    free, locked = np.array([np.inf, 0.0, 0.0]), np.zeros(3)
    upper = np.array([locked, free, free, free])
    stiffness = np.zeros((4, 3))
    stiffness[1] = 0.9
    joints = np.array([[0.0, y, 0.0] for y in range(4)])
    pose = Pose(joints, np.tile((1.0, 0.0, 0.0, 0.0), (4, 1)))
    chain = plain_chain([1.0, 1.0, 1.0], limits=(-upper, upper), stiffness=stiffness)
    target = joints[-1] + 0.02 * np.array([0.0, 0.0, rng.choice([-1.0, 1.0])])
    for solver in ("JACOBIAN_TRANSPOSE", "JACOBIAN_PINV", "JACOBIAN_DLS"):
        coordinates = 2.0 * np.abs(
            np.arcsin(solve(chain, pose, Goals(target[None]), Options(1, 1e-9, solver=solver)).pose.rotations[:3, 1])
        )
        assert coordinates[0] == pytest.approx(0.0, abs=1e-12)
        assert abs(coordinates[2] - coordinates[1]) > 2.0 * coordinates[1] > 0.0


@given(seed=seeds, rows=st.integers(2, 9))
@settings(max_examples=40)
def test_with_several_targets_the_transposed_step_has_the_length_that_leaves_the_least_residual(
    seed: int, rows: int
) -> None:
    """No other length leaves less of the squares |e - J J^T e alpha|^2 (Buss 2004)."""
    rng = np.random.default_rng(seed)
    jacobian_rows = rng.normal(size=(rows, 12))
    normal = jacobian_rows @ jacobian_rows.T
    residual = 1e-3 * rng.normal(size=rows)
    assert JACOBIAN_TRANSPOSE.stacked is not None
    moved = normal @ JACOBIAN_TRANSPOSE.stacked(normal, residual, 1e-12)
    assert moved @ (residual - moved) == pytest.approx(0.0, abs=1e-9 * moved @ moved)


@pytest.mark.parametrize("solver", ["JACOBIAN_PINV", "JACOBIAN_DLS"])
@pytest.mark.parametrize("reach", [0.3, 0.6])
def test_a_folded_chain_that_comes_onto_one_line_with_its_target_is_bent_off_it(solver: str, reach: float) -> None:
    """The target is a little beside the line, so that the chain isn't on one line with it before the first step."""
    joints = np.cumsum([0.0, 0.25, -0.25, 0.25, 0.25])[:, None] * (0.0, 0.0, 1.0)
    pose = Pose(joints, np.tile((1.0, 0.0, 0.0, 0.0), (5, 1)))
    solution = solve(
        plain_chain(np.full(4, 0.25)), pose, Goals(reach * np.array([[1e-4, 0.0, 1.0]])), Options(solver=solver)
    )
    assert solution.status[0] == Status.REACHED


def test_damped_least_squares_start_from_no_pose_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bent chain that its limits keep from its target: every start is another one."""
    rng = np.random.default_rng(4)
    constrained = random_constrained_chain(rng, 4)
    pose = feasible_pose(rng, constrained)
    goal = Goals(pose.positions[:1] + 0.97 * constrained.chain.total_length * unit(rng.normal(size=3)))
    starts: list[object] = []
    rotate_least = constrained_reach.rotate_least

    def recorded(*arguments: Any) -> Any:
        starts.append([tuple(turn) for turn in arguments[1].coordinates])
        return rotate_least(*arguments)

    monkeypatch.setattr(constrained_reach, "rotate_least", recorded)
    solution = solve(constrained.chain, pose, goal, Options(solver="JACOBIAN_DLS"))
    assert solution.status[0] == Status.LIMITED
    assert all(starts.count(start) == 1 for start in starts)
