# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Directions and rotations, against matrices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fabrik_addon.core.math.operations import ARRAY, SCALAR
from fabrik_addon.core.math.quaternions import from_to, multiply, rotate, x_axis
from fabrik_addon.core.math.vectors import first_direction, perpendicular, rejection, rotate_about
from tests.unit.chains import angle_between, directions, generic_directions, matrix, seeds, turn, turn_angle, unit

Direction = tuple[float, float, float]


def unit_quaternion(seed: int) -> tuple[float, ...]:
    q = np.random.default_rng(seed).normal(size=4)
    return tuple((q / np.linalg.norm(q)).tolist())


@given(directions, directions, st.sampled_from([1e-3, 1.0, 1e3]), directions)
def test_from_to_is_the_shortest_rotation_between_two_directions(
    a: Direction, b: Direction, size: float, hint: Direction
) -> None:
    q = from_to(SCALAR, a, tuple(size * c for c in b), hint)
    assert np.linalg.norm(q) == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(matrix(q) @ unit(a), unit(b), atol=1e-7)
    assert turn_angle(matrix(q)) == pytest.approx(angle_between(unit(a), unit(b)), abs=1e-7)


@given(directions, generic_directions)
def test_from_to_of_opposites_rotates_by_180_degrees_about_the_hint(a: Direction, hint: Direction) -> None:
    assume(np.linalg.norm(np.cross(unit(a), unit(hint))) > 1e-3)
    q = from_to(SCALAR, a, tuple(-3.0 * c for c in a), hint)
    np.testing.assert_allclose(matrix(q) @ unit(a), -unit(a), atol=1e-7)
    axis = unit(np.array(hint) - unit(a) * (unit(a) @ np.array(hint)))
    np.testing.assert_allclose(matrix(q) @ axis, axis, atol=1e-7)


def test_from_to_of_opposites_works_with_a_parallel_hint() -> None:
    q = from_to(SCALAR, (0.0, 2.0, 0.0), (0.0, -1.0, 0.0), (0.0, 5.0, 0.0))
    np.testing.assert_allclose(matrix(q) @ (0.0, 1.0, 0.0), (0.0, -1.0, 0.0), atol=1e-12)


@given(generic_directions, st.floats(1e-9, 1e-3), seeds)
def test_from_to_of_nearly_opposite_directions_is_exact(a: Direction, angle: float, seed: int) -> None:
    aside = np.cross(unit(a), np.random.default_rng([seed, 1]).normal(size=3))
    b = -(turn(aside, angle) @ unit(a))
    q = from_to(SCALAR, a, tuple(b.tolist()), (1.0, 0.0, 0.0))
    np.testing.assert_allclose(matrix(q) @ unit(a), b, atol=3e-7)


def test_from_to_of_a_batch_is_a_loop_of_singles() -> None:
    rng = np.random.default_rng(0)
    a, b, hint = rng.normal(size=(3, 6, 3))
    b[0], b[1], b[2] = -a[0], a[1], -2.0 * a[2]
    whole = from_to(ARRAY, tuple(a.T), tuple(b.T), tuple(hint.T))
    for item in range(6):
        single = from_to(SCALAR, *(tuple(v[item].tolist()) for v in (a, b, hint)))
        np.testing.assert_allclose([q[item] for q in whole], single, atol=1e-15)


@given(seeds, seeds, generic_directions)
def test_quaternions_rotate_as_their_matrices_do(p: int, q: int, a: Direction) -> None:
    first, second = unit_quaternion(p), unit_quaternion(q)
    np.testing.assert_allclose(rotate(first, a), matrix(first) @ a, atol=1e-12)
    np.testing.assert_allclose(matrix(multiply(first, second)), matrix(first) @ matrix(second), atol=1e-12)
    np.testing.assert_allclose(x_axis(first), matrix(first)[:, 0], atol=1e-12)


@given(generic_directions, generic_directions, st.floats(-3.1, 3.1))
def test_a_rotation_about_an_axis(axis: Direction, a: Direction, angle: float) -> None:
    turned = rotate_about(tuple(unit(axis).tolist()), np.cos(angle), np.sin(angle), a)
    np.testing.assert_allclose(turned, turn(axis, angle) @ a, atol=1e-12)


@given(directions, st.lists(directions, max_size=3))
def test_a_perpendicular_is_nearest_to_the_first_hint_that_is_not_parallel(
    axis: Direction, hints: list[Direction]
) -> None:
    unit_axis = unit(axis)
    found = np.array(perpendicular(SCALAR, tuple(unit_axis.tolist()), hints))
    assert np.linalg.norm(found) == pytest.approx(1.0)
    assert found @ unit_axis == pytest.approx(0.0, abs=1e-7)
    for hint in hints:
        aside = np.array(hint) - unit_axis * (unit_axis @ np.array(hint))
        if np.linalg.norm(aside) > 1e-5:
            np.testing.assert_allclose(found, unit(aside), atol=1e-7)
            break
        assert np.linalg.norm(aside) < 1e-7


def test_the_first_direction_that_is_not_zero_is_taken_in_each_item() -> None:
    zero, a, b = np.zeros(3), np.array([0.0, 2.0, 0.0]), np.array([0.0, 0.0, 3.0])
    items = first_direction(
        ARRAY, [tuple(np.array([zero, a, zero]).T), tuple(np.array([b, b, zero]).T), (1.0, 0.0, 0.0)]
    )
    np.testing.assert_allclose(np.array(items).T, [(0, 0, 1), (0, 1, 0), (1, 0, 0)])


@given(generic_directions, generic_directions)
def test_a_rejection_is_perpendicular_and_the_rest_parallel(a: Direction, axis: Direction) -> None:
    unit_axis = unit(axis)
    rest = np.array(rejection(a, tuple(unit_axis.tolist())))
    assert rest @ unit_axis == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(np.cross(np.array(a) - rest, unit_axis), 0.0, atol=1e-12)
