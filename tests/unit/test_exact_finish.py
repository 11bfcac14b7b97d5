# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The exact finish: one bend and one turn put the tip on the target, or nothing changes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrik_addon.core.fabrik.exact_finish import close_exactly
from fabrik_addon.core.math.operations import ARRAY, SCALAR, quiet
from tests.unit.chains import Array, lay, link_lengths, random_pose, seeds, unit


def relative(joints: Array) -> Array:
    """Root at the origin, chain of length one: what the kernels work in."""
    return (joints - joints[0]) / link_lengths(joints).sum()


def closed(joints: Array, target: Array) -> tuple[Array, float]:
    points = [tuple(joint) for joint in joints.tolist()]
    error = close_exactly(SCALAR, points, link_lengths(joints).tolist(), tuple(target.tolist()))
    return np.array(points), error


@given(seeds, st.integers(2, 30), st.sampled_from([1e-9, 1e-6, 1e-4, 1e-2]))
def test_a_small_residual_is_closed_exactly(seed: int, count: int, residual: float) -> None:
    rng = np.random.default_rng(seed)
    joints = relative(random_pose(rng, rng.uniform(0.2, 1.0, count), 1.0).positions)
    target = joints[-1] + residual * unit(rng.normal(size=3))
    moved, error = closed(joints, target)
    np.testing.assert_allclose(link_lengths(moved), link_lengths(joints), rtol=1e-12)
    np.testing.assert_array_equal(moved[0], joints[0])
    assert error == pytest.approx(np.linalg.norm(moved[-1] - target), abs=1e-15)
    assert error < 1e-12 or (error == pytest.approx(residual) and (moved == joints).all())


@given(seeds, st.integers(3, 30))
def test_a_bent_chain_can_always_close_a_small_residual(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    bends = np.linspace(0.4, -0.4, count)
    joints = relative(lay(rng.uniform(0.5, 1.0, count), np.stack([np.cos(bends), np.sin(bends), 0 * bends], axis=-1)))
    target = joints[-1] + 1e-4 * unit(rng.normal(size=3))
    moved, error = closed(joints, target)
    assert error < 1e-13
    # The move is of the size of the residual, not a new pose.
    assert np.abs(moved - joints).max() < 100 * 1e-4


@pytest.mark.parametrize("offset", [(1e-4, 0.0, 0.0), (-1e-4, 0.0, 0.0), (0.5, 0.0, 0.0)])
def test_a_straight_chain_stays_as_it_is(offset: tuple[float, float, float]) -> None:
    joints = relative(lay([1.0] * 5, [(1.0, 0.0, 0.0)] * 5))
    target = joints[-1] + np.array(offset)
    moved, error = closed(joints, target)
    np.testing.assert_array_equal(moved, joints)
    assert error == pytest.approx(np.linalg.norm(offset))


def test_a_bend_that_is_rounding_has_no_plane() -> None:
    rng = np.random.default_rng(1)
    joints = relative(lay([1.0] * 5, [(1.0, 0.0, 0.0)] * 5)) + 1e-9 * rng.normal(size=(6, 3))
    joints = joints - joints[0]
    target = joints[-1] * (1.0 - 1e-4)
    moved, error = closed(joints, target)
    np.testing.assert_array_equal(moved, joints)
    assert error == pytest.approx(1e-4)


def test_a_residual_that_no_bend_can_close_stays() -> None:
    joints = relative(lay([1.0, 1.0, 1.0], [(1.0, 0.0, 0.0), (1.0, 0.2, 0.0), (1.0, 0.0, 0.0)]))
    target = np.array([1.5, 0.0, 0.0])
    moved, error = closed(joints, target)
    np.testing.assert_array_equal(moved, joints)
    assert error == pytest.approx(np.linalg.norm(joints[-1] - target))


def test_items_are_closed_one_by_one() -> None:
    rng = np.random.default_rng(3)
    items = [relative(random_pose(rng, [1.0] * 6, bend).positions) for bend in (0.0, 0.5, 1.0, 2.0, 0.8)]
    targets = np.array([joints[-1] + 1e-3 * unit(rng.normal(size=3)) for joints in items])
    targets[3] = (9.0, 9.0, 9.0)
    points = [tuple(joint) for joint in np.array(items).transpose(1, 2, 0).copy()]
    with quiet():
        errors = close_exactly(ARRAY, points, [1.0 / 6.0] * 6, tuple(targets.T))
    for item, joints in enumerate(items):
        moved, error = closed(joints, targets[item])
        np.testing.assert_allclose([[axis[item] for axis in joint] for joint in points], moved, atol=1e-14)
        assert errors[item] == pytest.approx(error, abs=1e-15)
