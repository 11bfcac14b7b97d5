# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The planar pose: every joint bent to one side, its bends in the proportions they had."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrik_addon.core.fabrik.planar_pose import SHARPEST, bend_angles, planar_pose
from fabrik_addon.core.math.operations import SCALAR
from tests.unit.chains import Array, angle_between, lay, link_lengths, random_pose, seeds


def components(joints: Array) -> tuple[list[float], list[float], list[float]]:
    x, y, z = (component.tolist() for component in joints.T)
    return x, y, z


def planar_joints(angles: list[float], lengths: list[float], distance: float) -> Array:
    return np.stack(planar_pose(SCALAR, angles, lengths, distance), axis=-1)


@given(seeds, st.integers(2, 20), st.sampled_from([0.0, 0.5, np.pi]))
def test_bends_are_the_angles_between_links(seed: int, count: int, bend: float) -> None:
    rng = np.random.default_rng(seed)
    joints = random_pose(rng, rng.uniform(0.2, 1.0, count), bend).positions
    links = np.diff(joints, axis=0)
    np.testing.assert_allclose(bend_angles(SCALAR, components(joints)), angle_between(links[:-1], links[1:]), atol=1e-7)


@given(seeds, st.integers(2, 20), st.floats(0.01, 0.99), st.sampled_from([0.2, 1.0, np.pi]))
def test_a_curl_is_planar_and_bent_to_one_side(seed: int, count: int, distance: float, bend: float) -> None:
    rng = np.random.default_rng(seed)
    lengths = rng.uniform(0.2, 1.0, count)
    lengths = (lengths / lengths.sum()).tolist()
    angles = rng.uniform(0.01, bend, count - 1).tolist()
    joints = planar_joints(angles, lengths, distance)
    np.testing.assert_allclose(link_lengths(joints), lengths, rtol=1e-12)
    np.testing.assert_array_equal(joints[:, 2], 0.0)
    np.testing.assert_allclose(joints[-1, 1], 0.0, atol=1e-12)
    assert joints[-1, 0] >= -1e-12
    headings = np.unwrap(np.arctan2(*np.diff(joints, axis=0)[:, 1::-1].T))
    made = -np.diff(headings)
    assert (made >= 0.0).all()
    assert made.max() <= SHARPEST + 1e-9
    # Proportions are kept wherever nothing is too sharp.
    if made.max() < SHARPEST - 1e-6:
        np.testing.assert_allclose(made / made.sum(), np.array(angles) / sum(angles), atol=1e-9)


@pytest.mark.parametrize("count", [2, 3, 10])
def test_a_planar_chain_whose_tip_is_at_the_distance_stays_as_it_is(count: int) -> None:
    headings = np.linspace(0.5, -0.5, count)
    joints = lay([1.0 / count] * count, np.stack([np.cos(headings), np.sin(headings), 0 * headings], axis=-1))
    distance = float(np.linalg.norm(joints[-1]))
    made = planar_joints(bend_angles(SCALAR, components(joints)), [1.0 / count] * count, distance)
    np.testing.assert_allclose(made, joints, atol=1e-9)


@pytest.mark.parametrize("count", [4, 10, 50])
def test_an_even_bend_is_about_as_far_across_as_the_target_is_away(count: int) -> None:
    for distance in (0.2, 0.5, 0.8, 0.95):
        joints = planar_joints([0.5] * (count - 1), [1.0 / count] * count, distance)
        assert joints[-1, 0] == pytest.approx(distance, abs=0.15)
