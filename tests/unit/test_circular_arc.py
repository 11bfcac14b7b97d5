# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The circular-arc pose: joints on one circle, bent to one side, tip exactly at the distance asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrik_addon.core.fabrik.circular_arc import circular_arc
from fabrik_addon.core.math.operations import ARRAY, SCALAR
from tests.unit.chains import Array, even_or_uneven_lengths, lengths_with_a_hole, link_lengths, nearest_reach

ALONG, SIDE = (0.6, 0.0, 0.8), (0.0, 1.0, 0.0)


def arc_joints(lengths: list[float], distance: float) -> Array:
    """Joints (J, 3) as along, side and off the plane."""
    joints = np.array(circular_arc(SCALAR, lengths, distance, ALONG, SIDE))
    normal = np.cross(ALONG, SIDE)
    return joints @ np.stack([ALONG, SIDE, normal], axis=-1)


def check_arc(lengths: list[float], distance: float) -> Array:
    joints = arc_joints(lengths, distance)
    total = sum(lengths)
    np.testing.assert_allclose(link_lengths(joints), lengths, rtol=1e-12)
    np.testing.assert_allclose(joints[-1], (distance, 0.0, 0.0), atol=1e-7 * total)
    np.testing.assert_allclose(joints[:, 2], 0.0, atol=1e-12 * total)
    # To one side, and round the circle at most once: every joint turns the same way, in all less than a full turn.
    headings = np.unwrap(np.arctan2(*np.diff(joints, axis=0)[:, 1::-1].T))
    bends = -np.diff(headings)
    assert (bends > -1e-6).all()
    assert bends.sum() < 2.0 * np.pi + 1e-6
    assert (joints[1:-1, 1] > -1e-7 * total).all()
    return joints


def check_on_circle(joints: Array, size: float) -> None:
    flat = joints[:, :2]
    solution, *_ = np.linalg.lstsq(np.column_stack([2.0 * flat, np.ones(len(flat))]), (flat**2).sum(axis=1), rcond=None)
    radii = np.linalg.norm(flat - solution[:2], axis=1)
    np.testing.assert_allclose(radii, radii[0], atol=1e-6 * size)


@given(st.one_of(even_or_uneven_lengths(2, 20), lengths_with_a_hole()), st.floats(0.0, 1.0))
def test_the_circular_arc_reaches_every_distance_there_is(lengths: list[float], share: float) -> None:
    nearest, total = nearest_reach(lengths), sum(lengths)
    check_arc(lengths, nearest + share * (total - nearest))


@pytest.mark.parametrize("lengths", [[1.0] * 3, [1.0] * 10, [1.0, 20.0, 1.0], [3.0, 1.0, 2.0], [1.0, 20.0] * 4])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.7, 0.95])
def test_all_joints_lie_on_one_circle(lengths: list[float], share: float) -> None:
    nearest = nearest_reach(lengths)
    check_on_circle(check_arc(lengths, nearest + share * (sum(lengths) - nearest)), sum(lengths))


@pytest.mark.parametrize("longest", [0, 1, 2])
def test_a_longest_link_of_more_than_half_the_circle(longest: int) -> None:
    lengths = [1.0, 1.0, 1.0]
    lengths[longest] = 20.0
    for distance in (18.000001, 18.1, 19.0, 21.9, 21.999999):
        check_arc(lengths, distance)


def test_equal_links_with_a_near_target_are_a_polygon_and_no_star() -> None:
    for count in (3, 5, 8, 50, 100):
        joints = check_arc([1.0] * count, 1e-3 * count)
        # Root and tip are nearly one corner of a regular polygon, and the highest corner is opposite to it.
        radius = 0.5 / np.sin(np.pi / count)
        assert joints[:, 1].max() == pytest.approx(radius * (1.0 + np.cos(np.pi / count * (count % 2))), rel=0.02)


def test_many_items_are_single_circular_arcs() -> None:
    lengths, distances = [1.0, 0.4, 2.0, 0.7], np.linspace(0.0, 4.1, 30)
    whole = circular_arc(
        ARRAY, lengths, distances, tuple(np.full(30, a) for a in ALONG), tuple(np.full(30, s) for s in SIDE)
    )
    for item, distance in enumerate(distances.tolist()):
        single = circular_arc(SCALAR, lengths, distance, ALONG, SIDE)
        np.testing.assert_allclose([[part[item] for part in joint] for joint in whole], single, atol=1e-7)
