# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The joint between two links, by the law of cosines."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrik_addon.core.fabrik.passes import middle_joint
from fabrik_addon.core.math.operations import ARRAY, SCALAR

ALONG, SIDE = (0.0, 0.6, 0.8), (1.0, 0.0, 0.0)


@given(st.floats(0.05, 1.0), st.floats(0.05, 1.0), st.floats(0.0, 1.0))
def test_the_middle_joint_is_as_far_from_both_ends_as_the_links_are_long(
    first: float, second: float, share: float
) -> None:
    distance = abs(first - second) + share * (first + second - abs(first - second))
    joint = np.array(middle_joint(SCALAR, first, second, distance, ALONG, SIDE))
    assert np.linalg.norm(joint) == pytest.approx(first, rel=1e-9)
    assert np.linalg.norm(joint - distance * np.array(ALONG)) == pytest.approx(second, rel=1e-9, abs=1e-9)
    assert joint @ SIDE >= 0.0
    assert joint @ np.cross(ALONG, SIDE) == pytest.approx(0.0, abs=1e-12)


def test_a_right_angle() -> None:
    joint = middle_joint(SCALAR, 3.0, 4.0, 5.0, (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    assert joint == pytest.approx((9.0 / 5.0, 12.0 / 5.0, 0.0))


def test_links_folded_onto_each_other_lie_to_the_side() -> None:
    joint = np.array(middle_joint(SCALAR, 1.0, 1.0, 0.0, ALONG, SIDE))
    np.testing.assert_allclose(joint, SIDE, atol=1e-12)


def test_a_batch_is_a_loop_of_singles() -> None:
    distances = np.linspace(0.3, 1.7, 20)
    items = middle_joint(ARRAY, 1.0, 0.7, distances, ALONG, SIDE)
    for item, distance in enumerate(distances.tolist()):
        single = middle_joint(SCALAR, 1.0, 0.7, distance, ALONG, SIDE)
        assert all(math.isclose(np.broadcast_to(a, 20)[item], b) for a, b in zip(items, single, strict=True))
