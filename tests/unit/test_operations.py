# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""One lane and many lanes have the same operations, and lanes taken out come back where they were."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrik_addon.core.math.active_items import ActiveItems
from fabrik_addon.core.math.operations import ARRAY, SCALAR, ArrayOps, ScalarOps
from tests.unit.chains import unit


def test_both_have_the_same_operations() -> None:
    one, many = ({name for name in vars(kind) if not name.startswith("_")} for kind in (ScalarOps, ArrayOps))
    assert one == many


six = st.lists(st.booleans(), min_size=6, max_size=6)


@given(st.lists(st.tuples(st.integers(1, 12), six, six), max_size=6))
def test_each_lane_ends_with_the_state_it_ended_in(rounds: list[tuple[int, list[bool], list[bool]]]) -> None:
    # Lanes leave one after another; some that have ended stay, and may be said to end again. Some are given up.
    began = np.zeros((2, 6))
    leaving = ActiveItems([*began])
    items, expected, ended_at = np.arange(6), began.copy(), np.zeros(6)
    going = np.ones(6, bool)
    for number, desired, lost in rounds:
        leaving.give_up(np.array(lost)[items])
        going &= ~np.array(lost)
        state = 10.0 * number + np.array([items, -items])
        ends = np.array(desired)[items]
        newly = items[ends & going[items]]
        expected[:, newly] = 10.0 * number + np.array([newly, -newly])
        ended_at[newly] = number
        going[newly] = False
        rest = leaving.end(ends, number, [*state])
        if rest is not None:
            items = items[rest]
            assert going[items].all()
        assert set(np.flatnonzero(going)) <= set(items.tolist())
        if not items.size:
            break
    np.testing.assert_array_equal(leaving.result(), expected)
    np.testing.assert_array_equal(leaving.ended_at, ended_at)


@pytest.mark.parametrize("steps", [[(1, 0.3), (2, 0.4), (3, 0.1)], [(2, 0.2), (0, 0.7)], []])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_pulling_points_of_many_lanes_is_pulling_those_of_each(count: int, steps: list[tuple[int, float]]) -> None:
    rng = np.random.default_rng(count)
    points, anchor = rng.normal(size=(4, 3, count)), rng.normal(size=(3, count))
    many = list(points)
    ARRAY.pull(many, anchor, steps)
    for lane in range(count):
        one = [tuple(point) for point in points[..., lane].tolist()]
        SCALAR.pull(one, tuple(anchor[:, lane].tolist()), steps)
        np.testing.assert_array_equal(np.array(many)[..., lane], one)  # to the last bit
        expected, before = points[..., lane].copy(), anchor[:, lane]
        for j, length in steps:
            before = expected[j] = before + length * unit(expected[j] - before)
        np.testing.assert_allclose(one, expected, atol=1e-14)


def test_points_have_the_components_of_vectors() -> None:
    vectors = np.random.default_rng(0).normal(size=(4, 3, 5))
    for point, vector in zip(ARRAY.points([tuple(rows) for rows in vectors]), vectors, strict=True):
        np.testing.assert_array_equal(point, vector)
        np.testing.assert_array_equal(ARRAY.point(tuple(vector)), vector)
    assert SCALAR.points([(1.0, 2.0, 3.0)]) == [SCALAR.point((1.0, 2.0, 3.0))]


def test_one_lane_is_kept_or_done() -> None:
    assert SCALAR.active_indices(True) is None
    assert SCALAR.active_indices(False) is not None
    into = [0.0, 0.0]
    SCALAR.scatter(True, into, SCALAR.gather(SCALAR.active_indices(False), [1.0, 2.0]))
    assert into == [1.0, 2.0]


@pytest.mark.parametrize("batch", [(1,), (5,), (2, 3), (0,)])
def test_split_and_join_are_inverse(batch: tuple[int, ...]) -> None:
    values = np.random.default_rng(0).normal(size=(*batch, 4, 3))
    rows = ARRAY.split(values, batch)
    assert len(rows) == 4
    assert all(component.shape == (int(np.prod(batch)),) for row in rows for component in row)
    np.testing.assert_array_equal(ARRAY.join(rows, batch), values)


def test_split_and_join_of_one_are_inverse() -> None:
    values = np.random.default_rng(0).normal(size=(4, 3))
    rows = SCALAR.split(values, ())
    assert all(type(component) is float for row in rows for component in row)
    np.testing.assert_array_equal(SCALAR.join(rows, ()), values)


def test_split_repeats_one_pose_for_all_lanes() -> None:
    rows = ARRAY.split(np.arange(6.0).reshape(2, 3), (4,))
    np.testing.assert_array_equal(rows[1][2], [5.0] * 4)
    rows[1][2][0] = 9.0
    np.testing.assert_array_equal(rows[1][2], [9.0, 5.0, 5.0, 5.0])


@given(st.lists(st.tuples(st.booleans(), st.floats(-5, 5), st.floats(-5, 5)), min_size=1, max_size=8))
def test_choosing_lane_by_lane_is_choosing_one_by_one(rows: list[tuple[bool, float, float]]) -> None:
    condition, yes, no = (np.array(column) for column in zip(*rows, strict=True))
    (chosen,) = ARRAY.choose(condition, [yes], [no])
    assert chosen.tolist() == [SCALAR.choose(c, [a], [b])[0] for c, a, b in rows]
    assert ARRAY.where(condition, yes, no).tolist() == [SCALAR.where(c, a, b) for c, a, b in rows]
    assert ARRAY.maximum(yes, no).tolist() == [SCALAR.maximum(a, b) for _, a, b in rows]
    assert ARRAY.minimum(yes, no).tolist() == [SCALAR.minimum(a, b) for _, a, b in rows]
    assert ARRAY.negate(condition).tolist() == [SCALAR.negate(c) for c, _, _ in rows]
