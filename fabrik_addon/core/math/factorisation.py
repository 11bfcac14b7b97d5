# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inverse of a small symmetric positive definite matrix, on one thread."""

from __future__ import annotations

import numpy as np

from .operations import Array


def positive_inverse(matrix: Array, least: float) -> Array:
    """Return the inverse (M, M) of a symmetric positive definite matrix.

    The Cholesky factor of ((A, I), (I, c I)) holds L^-T below the factor L of A, and A^-1 = L^-T L^-1: one call of
    LAPACK's potrf, which runs on one thread. LAPACK's gesv and getri start threads from 4 rows on: on a busy machine of
    two cores an inverse of 12 rows took 15 microseconds by the clock for 5 of its own, now and then milliseconds.

    Args:
        matrix: (M, M) A.
        least: a lower bound of its eigenvalues, more than 0; c = 4 / least keeps the whole matrix positive definite.
    """
    count = len(matrix)
    whole = np.zeros((2 * count, 2 * count))
    whole[:count, :count] = matrix
    diagonal = np.einsum("ii->i", whole)
    diagonal[count:] = 4.0 / least
    whole[count:, :count].flat[:: count + 1] = 1.0  # the upper triangle isn't read
    factor = np.linalg.cholesky(whole)[count:, :count]
    made: Array = factor @ factor.T
    return made
