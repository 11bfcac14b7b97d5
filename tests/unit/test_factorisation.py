# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inverse of a positive definite matrix, in one factorisation and by halves, and of a singular one with damping."""

from __future__ import annotations

import numpy as np
import pytest

from fabrik_addon.core.math.factorisation import MOST_ROWS, damped_inverse, positive_inverse


@pytest.mark.parametrize("count", [1, 5, MOST_ROWS, MOST_ROWS + 1, 2 * MOST_ROWS + 1, 4 * MOST_ROWS + 1])
def test_a_matrix_times_its_inverse_is_the_identity(count: int) -> None:
    rng = np.random.default_rng(count)
    rows = rng.normal(size=(count, count + 20))
    # Damped normal equations: the damping of the rows differs by orders of magnitude.
    matrix = rows @ rows.T + np.diag(10.0 ** rng.uniform(-6.0, -1.0, count))
    inverse = positive_inverse(matrix, 1e-6)
    np.testing.assert_allclose(inverse @ matrix, np.eye(count), atol=1e-9)
    np.testing.assert_allclose(inverse, inverse.T, atol=1e-12)


def test_each_damping_is_added_to_each_singular_matrix() -> None:
    rows = np.random.default_rng(1).normal(size=(5, 4, 3))
    singular, dampings = rows @ rows.swapaxes(1, 2), np.array([[1e-3], [0.1]]) * np.arange(1.0, 6.0)
    inverse = damped_inverse(singular, dampings)
    expected = np.linalg.inv(singular + dampings[:, :, None, None] * np.eye(4))
    np.testing.assert_allclose(inverse, expected, rtol=1e-9, atol=1e-9)
