# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The positive semidefinite part of symmetric matrices, beside that of their eigenvalues and eigenvectors."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrik_addon.core.math.positive_part import positive_part
from tests.unit.chains import Array


def _symmetric(seed: int, count: int, values: Array) -> Array:
    """Return matrices with the eigenvalues (..., N) and seeded eigenvectors."""
    vectors, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(*values.shape[:-1], count, count)))
    found: Array = (vectors * values[..., None, :]) @ vectors.swapaxes(-1, -2)
    return 0.5 * (found + found.swapaxes(-1, -2))


def _by_eigenvalues(matrix: Array) -> Array:
    values, vectors = np.linalg.eigh(matrix)
    found: Array = (vectors * np.maximum(values, 0.0)[..., None, :]) @ vectors.swapaxes(-1, -2)
    return found


@given(st.integers(0, 2**32 - 1), st.integers(1, 90), st.floats(-6.0, 6.0), st.floats(0.0, 12.0))
def test_the_part_is_that_of_the_eigenvalues_that_are_positive(
    seed: int, count: int, size: float, decades: float
) -> None:
    rng = np.random.default_rng(seed)
    values = rng.choice([-1.0, 0.0, 1.0], count) * 10.0 ** (size - rng.uniform(0.0, decades, count))
    matrix = _symmetric(seed, count, values)
    found, norm = positive_part(matrix), float(np.linalg.norm(matrix))
    np.testing.assert_allclose(found, _by_eigenvalues(matrix), rtol=0.0, atol=3e-3 * norm)
    np.testing.assert_allclose(found, found.T, rtol=0.0, atol=1e-11 * norm)
    # Of an eigenvalue nearer to 0 than LEAST_RESOLVED up to a quarter is left, of a larger one 7e-7.
    assert np.linalg.eigvalsh(found).min() >= -3e-6 * norm


@given(st.integers(0, 2**32 - 1), st.integers(1, 70))
def test_a_definite_matrix_stays_or_vanishes(seed: int, count: int) -> None:
    values = 10.0 ** np.random.default_rng(seed).uniform(-2.0, 2.0, count)
    matrix = _symmetric(seed, count, values)
    np.testing.assert_allclose(positive_part(matrix), matrix, rtol=0.0, atol=2e-3 * float(values.max()))
    np.testing.assert_allclose(positive_part(-matrix), 0.0, atol=1e-6 * float(np.linalg.norm(matrix)))


def test_the_parts_of_many_are_those_of_each() -> None:
    values = np.random.default_rng(2).normal(size=(3, 2, 70)) * [[[1e3], [1.0]]]
    values[1, 1] = 0.0
    matrices = _symmetric(2, 70, values)
    found = positive_part(matrices)
    for place in np.ndindex(3, 2):
        np.testing.assert_allclose(found[place], positive_part(matrices[place]), rtol=0.0, atol=1e-9)
    assert not found[1, 1].any()


def _wait_for_threads() -> None:
    """Return when OpenBLAS's threads sleep: after a product that they had a part in they spin for .1 s."""
    for _ in range(100):
        before = time.process_time()
        time.sleep(0.1)
        if time.process_time() - before < 0.01:
            return
    pytest.fail("other threads of the process kept working for 10 seconds")


@pytest.mark.parametrize("count", [38, 73, 120])
def test_no_other_thread_takes_part(count: int) -> None:
    """In one piece products of 120 rows use processor time of other threads, too; so does LAPACK's eigh of 73."""
    matrix = _symmetric(count, count, np.linspace(-1.0, 1.0, count))
    _wait_for_threads()
    shares = []
    for _ in range(10):
        of_all, own = time.process_time(), time.thread_time()
        for _ in range(50):
            positive_part(matrix)
        own = time.thread_time() - own
        shares.append((time.process_time() - of_all) / own - 1.0)
    assert min(shares) < 0.01
