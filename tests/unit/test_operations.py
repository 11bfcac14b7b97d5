# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Scalar and array operations agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrik_addon.core.math.operations import ARRAY, SCALAR, ArrayOps, ScalarOps
from tests.unit.chains import unit


def test_scalar_and_array_operations_have_the_same_names() -> None:
    one, many = ({name for name in vars(kind) if not name.startswith("_")} for kind in (ScalarOps, ArrayOps))
    assert one == many


@pytest.mark.parametrize("steps", [[(1, 0.3), (2, 0.4), (3, 0.1)], [(2, 0.2), (0, 0.7)], []])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_pulling_the_points_of_a_batch_is_pulling_those_of_each_item(
    count: int, steps: list[tuple[int, float]]
) -> None:
    rng = np.random.default_rng(count)
    points, anchor = rng.normal(size=(4, 3, count)), rng.normal(size=(3, count))
    many = list(points)
    ARRAY.pull(many, anchor, steps)
    for item in range(count):
        one = [tuple(point) for point in points[..., item].tolist()]
        SCALAR.pull(one, tuple(anchor[:, item].tolist()), steps)
        np.testing.assert_array_equal(np.array(many)[..., item], one)  # to the last bit
        expected, before = points[..., item].copy(), anchor[:, item]
        for j, length in steps:
            before = expected[j] = before + length * unit(expected[j] - before)
        np.testing.assert_allclose(one, expected, atol=1e-14)


def test_points_have_the_components_of_vectors() -> None:
    vectors = np.random.default_rng(0).normal(size=(4, 3, 5))
    for point, vector in zip(ARRAY.points([tuple(rows) for rows in vectors]), vectors, strict=True):
        np.testing.assert_array_equal(point, vector)
        np.testing.assert_array_equal(ARRAY.points([tuple(vector)])[0], vector)
    assert SCALAR.points([(1.0, 2.0, 3.0)]) == [(1.0, 2.0, 3.0)]


def test_one_pose_is_active_or_done() -> None:
    assert SCALAR.active_indices(True) is None
    assert SCALAR.active_indices(False) is not None
    values = SCALAR.gather(SCALAR.active_indices(False), [1.0, 2.0])
    assert SCALAR.scattered(True, [0.0, 0.0], values) == [1.0, 2.0]


def test_parts_are_in_the_places_of_the_items_that_they_were_gathered_from() -> None:
    values = [np.arange(5.0), np.arange(15.0).reshape(3, 5)]
    items = [np.array([4, 1]), np.array([2])]
    parts = [[10.0 + one for one in ARRAY.gather(each, values)] for each in items]
    added = np.array([0.0, 10.0, 10.0, 0.0, 10.0])
    for found, value in zip(ARRAY.replaced(values, items, parts), values, strict=True):
        np.testing.assert_array_equal(found, value + added)
    assert SCALAR.replaced([1.0], [], []) == [1.0]
    assert SCALAR.replaced([1.0], [True], [[2.0]]) == [2.0]


@pytest.mark.parametrize("batch", [(1,), (5,), (2, 3), (0,)])
def test_split_gives_the_rows_components(batch: tuple[int, ...]) -> None:
    values = np.random.default_rng(0).normal(size=(*batch, 4, 3))
    rows = ARRAY.split(values, batch)
    assert len(rows) == 4
    for number, row in enumerate(rows):
        np.testing.assert_array_equal(row, values[..., number, :].reshape(-1, 3).T)


def test_split_gives_the_floats_of_one_pose() -> None:
    values = np.random.default_rng(0).normal(size=(4, 3))
    rows = SCALAR.split(values, ())
    assert all(type(component) is float for row in rows for component in row)
    np.testing.assert_array_equal(rows, values)


def test_split_repeats_one_pose_for_all_items() -> None:
    rows = ARRAY.split(np.arange(6.0).reshape(2, 3), (4,))
    np.testing.assert_array_equal(rows[1][2], [5.0] * 4)
    rows[1][2][0] = 9.0
    np.testing.assert_array_equal(rows[1][2], [9.0, 5.0, 5.0, 5.0])


@given(st.lists(st.tuples(st.booleans(), st.floats(-5, 5), st.floats(-5, 5)), min_size=1, max_size=8))
def test_choosing_in_a_batch_is_choosing_in_each_item(rows: list[tuple[bool, float, float]]) -> None:
    condition, yes, no = (np.array(column) for column in zip(*rows, strict=True))
    (chosen,) = ARRAY.choose(condition, [yes], [no])
    assert chosen.tolist() == [SCALAR.choose(c, [a], [b])[0] for c, a, b in rows]
    assert ARRAY.where(condition, yes, no).tolist() == [SCALAR.where(c, a, b) for c, a, b in rows]
    assert ARRAY.maximum(yes, no).tolist() == [SCALAR.maximum(a, b) for _, a, b in rows]
    assert ARRAY.minimum(yes, no).tolist() == [SCALAR.minimum(a, b) for _, a, b in rows]
    assert ARRAY.negate(condition).tolist() == [SCALAR.negate(c) for c, _, _ in rows]
