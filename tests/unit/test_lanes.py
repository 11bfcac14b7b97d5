# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""One lane and many lanes have the same operations, and lanes taken out come back where they were."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrik_addon.core.lanes import MANY, ONE, ManyLanes, OneLane


def test_both_have_the_same_operations() -> None:
    one, many = ({name for name in vars(kind) if not name.startswith("_")} for kind in (OneLane, ManyLanes))
    assert one == many


@given(st.lists(st.lists(st.booleans(), min_size=6, max_size=6), min_size=1, max_size=4))
def test_what_was_kept_comes_back_to_its_own_lane(rounds: list[list[bool]]) -> None:
    # As the sweeps do it: lanes leave one after another, and each is put back by its number.
    into = [np.zeros(6), np.zeros(6)]
    numbers, values = MANY.numbers(into[0]), [10.0 * np.arange(6) + 1.0, -np.arange(6) - 1.0]
    left = np.ones(6, bool)
    for wish in rounds:
        done = np.array(wish)[numbers]
        MANY.put(MANY.keep(done, [numbers])[0], into, MANY.keep(done, values))
        left[numbers[done]] = False
        rest = MANY.unfinished(done)
        if rest is None:
            numbers = numbers[:0]
            break
        numbers, *values = MANY.keep(rest, [numbers, *values])
    np.testing.assert_array_equal(into[0], np.where(left, 0.0, 10.0 * np.arange(6) + 1.0))
    np.testing.assert_array_equal(into[1], np.where(left, 0.0, -np.arange(6) - 1.0))
    np.testing.assert_array_equal(np.sort(numbers), np.flatnonzero(left))


def test_one_lane_is_kept_or_done() -> None:
    assert ONE.unfinished(True) is None
    assert ONE.unfinished(False) is not None
    into = [0.0, 0.0]
    ONE.put(ONE.numbers(1.0), into, ONE.keep(ONE.unfinished(False), [1.0, 2.0]))
    assert into == [1.0, 2.0]


@pytest.mark.parametrize("batch", [(1,), (5,), (2, 3), (0,)])
def test_split_and_join_are_inverse(batch: tuple[int, ...]) -> None:
    values = np.random.default_rng(0).normal(size=(*batch, 4, 3))
    rows = MANY.split(values, batch)
    assert len(rows) == 4
    assert all(component.shape == (int(np.prod(batch)),) for row in rows for component in row)
    np.testing.assert_array_equal(MANY.join(rows, batch), values)


def test_split_and_join_of_one_are_inverse() -> None:
    values = np.random.default_rng(0).normal(size=(4, 3))
    rows = ONE.split(values, ())
    assert all(type(component) is float for row in rows for component in row)
    np.testing.assert_array_equal(ONE.join(rows, ()), values)


def test_split_repeats_one_pose_for_all_lanes() -> None:
    rows = MANY.split(np.arange(6.0).reshape(2, 3), (4,))
    np.testing.assert_array_equal(rows[1][2], [5.0] * 4)
    rows[1][2][0] = 9.0
    np.testing.assert_array_equal(rows[1][2], [9.0, 5.0, 5.0, 5.0])


@given(st.lists(st.tuples(st.booleans(), st.floats(-5, 5), st.floats(-5, 5)), min_size=1, max_size=8))
def test_choosing_lane_by_lane_is_choosing_one_by_one(rows: list[tuple[bool, float, float]]) -> None:
    condition, yes, no = (np.array(column) for column in zip(*rows, strict=True))
    (chosen,) = MANY.choose(condition, [yes], [no])
    assert chosen.tolist() == [ONE.choose(c, [a], [b])[0] for c, a, b in rows]
    assert MANY.where(condition, yes, no).tolist() == [ONE.where(c, a, b) for c, a, b in rows]
    assert MANY.maximum(yes, no).tolist() == [ONE.maximum(a, b) for _, a, b in rows]
    assert MANY.minimum(yes, no).tolist() == [ONE.minimum(a, b) for _, a, b in rows]
    assert MANY.negate(condition).tolist() == [ONE.negate(c) for c, _, _ in rows]
