# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inverses of small symmetric positive definite matrices, on one thread."""

import numpy as np

from .operations import Array, Component

MOST_ROWS = 31
"""Rows of a matrix up to which its inverse is one factorisation: of twice as many rows and columns. From 64 on LAPACK's
potrf starts threads, which take ten times the processor time."""


def damped_inverse(matrix: Array, damping: Component) -> Array:
    """Return ``(A + lambda I)^-1`` of positive semidefinite matrices A (..., M, M) for dampings lambda > 0 (...,)."""
    dampings = np.asarray(damping)
    least = min(dampings.reshape(-1).tolist())
    damped = matrix + dampings[..., None, None] * np.eye(matrix.shape[-1])
    try:
        return positive_inverse(damped, least)
    except np.linalg.LinAlgError:
        # Rounding of S, by halves, exceeds lambda: 36 rows of which 12 depend on the others, with 1e-9 of the trace.
        return np.linalg.inv(damped)


def positive_inverse(matrix: Array, least: float) -> Array:
    """Return the inverses (..., M, M) of symmetric positive definite matrices.

    The Cholesky factor of ((A, I), (I, c I)) holds L^-T below the factor L of A, and A^-1 = L^-T L^-1: one call of
    LAPACK's potrf, which runs on one thread. LAPACK's gesv and getri start threads from 4 rows on, and now and then
    wait for them for milliseconds.

    A matrix of more than ``MOST_ROWS`` is inverted by halves: with A = ((B, C), (C^T, D)) and the Schur complement
    S = D - C^T B^-1 C, whose eigenvalues aren't less than the least one of A, T = B^-1 C,

        A^-1 = ((B^-1 + T S^-1 T^T, -T S^-1), (-S^-1 T^T, S^-1))

    Args:
        matrix: (..., M, M) A.
        least: a lower bound of their eigenvalues, more than 0; c = 4 / least keeps the whole matrix positive definite.
    """
    count = matrix.shape[-1]
    if count > MOST_ROWS:
        half = count // 2
        first = positive_inverse(matrix[..., :half, :half], least)
        across = first @ matrix[..., :half, half:]
        second = positive_inverse(matrix[..., half:, half:] - matrix[..., half:, :half] @ across, least)
        back = across @ second
        found = np.empty(matrix.shape)
        found[..., :half, :half] = first + back @ across.swapaxes(-1, -2)
        found[..., :half, half:] = -back
        found[..., half:, :half] = -back.swapaxes(-1, -2)
        found[..., half:, half:] = second
        return found
    whole = np.zeros((*matrix.shape[:-2], 2 * count, 2 * count))
    whole[..., :count, :count] = matrix
    flat = whole.reshape(*matrix.shape[:-2], -1)
    flat[..., 2 * count * count :: 2 * count + 1] = 1.0  # the upper triangle isn't read
    flat[..., 2 * count * count + count :: 2 * count + 1] = 4.0 / least
    factor = np.linalg.cholesky(whole)[..., count:, :count]
    return factor @ factor.swapaxes(-1, -2)
