# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sweeps of cyclic coordinate descent."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabrik_addon.core import start_from
from fabrik_addon.core.fabrik.passes import links_of
from fabrik_addon.core.math.operations import SCALAR, Point
from fabrik_addon.core.model.constrained_chain import pose_of
from fabrik_addon.core.solvers.ccd import LARGEST_CCD_ROTATION, ccd_sweep, rotate_within_limits
from tests.unit.chains import Array, link_lengths, random_pose, seeds, unit
from tests.unit.constrained_chains import feasible_pose, random_constrained_chain


def swept(joints: Array, target: Array) -> Array:
    points: list[Point] = [tuple(joint) for joint in joints.tolist()]
    ccd_sweep(SCALAR, points, links_of(tuple(link_lengths(joints).tolist())), tuple(target.tolist()))
    return np.array(points)


def by_matrices(joints: Array, target: Array) -> Array:
    """The same by the textbook: every turn moves all that hangs on the joint at once."""
    joints = joints.copy()
    for j in range(len(joints) - 2, -1, -1):
        arm, aim = unit(joints[-1] - joints[j]), unit(target - joints[j])
        axis = np.cross(arm, aim)
        sine = np.linalg.norm(axis)
        if sine < 1e-12:
            continue
        angle = min(np.arctan2(sine, arm @ aim), LARGEST_CCD_ROTATION)
        k = axis / sine
        cross = np.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]])
        rotation = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
        joints[j:] = joints[j] + (joints[j:] - joints[j]) @ rotation.T
    return joints


@given(seed=seeds, count=st.integers(1, 12), reach=st.floats(0.05, 1.5))
def test_a_sweep_is_the_one_of_the_textbook(seed: int, count: int, reach: float) -> None:
    rng = np.random.default_rng(seed)
    pose = random_pose(rng, np.full(count, 1.0 / count), 0.9)
    joints, target = pose.positions - pose.positions[0], reach * unit(rng.normal(size=3))
    np.testing.assert_allclose(swept(joints, target), by_matrices(joints, target), atol=1e-9)


@given(seed=seeds, count=st.integers(1, 12), reach=st.floats(0.0, 1.5))
def test_no_sweep_takes_the_tip_away(seed: int, count: int, reach: float) -> None:
    rng = np.random.default_rng(seed)
    pose = random_pose(rng, np.full(count, 1.0 / count), 0.9)
    joints, target = pose.positions - pose.positions[0], reach * unit(rng.normal(size=3))
    for _ in range(5):
        after = swept(joints, target)
        assert np.linalg.norm(after[-1] - target) <= np.linalg.norm(joints[-1] - target) + 1e-12
        joints = after


def test_a_target_at_a_joint_or_a_tip_at_one_is_no_trouble() -> None:
    joints = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]) / 4.0
    for target in joints:
        assert np.isfinite(swept(joints, target)).all()


@given(seed=seeds, count=st.integers(1, 5))
@settings(max_examples=40)
def test_within_limits_no_sweep_takes_the_tip_away(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    constrained_chain = random_constrained_chain(rng, count)
    core = start_from(constrained_chain.chain, feasible_pose(rng, constrained_chain))
    if core.constrained_chain is None:
        return
    pose = pose_of(SCALAR, core.constrained_chain, core.frames)
    target = tuple(rng.normal(size=3).tolist())
    errors = [rotate_within_limits(SCALAR, pose, target, 1e-6, sweeps)[1] for sweeps in range(6)]
    assert all(after <= before + 1e-12 for before, after in pairwise(errors))
    if not any(core.constrained_chain.limits[0].locked) and count == 1:
        assert errors[-1] <= errors[0] or errors[0] == pytest.approx(errors[-1])
