# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The positive semidefinite part of symmetric matrices, on one thread.

With ``S = sign(A)`` and the projection ``P = (I + S) / 2`` to the eigenvectors whose eigenvalues are positive, the part
is ``A+ = P A P``. S is where steps from ``X = A / |A|`` end, each of which maps the eigenvalues of X from [l, 1] to
[l', 1], and those from [-1, -l] to [-1, -l']: a step of Halley's method with dynamic weights (Nakatsukasa, Bai and
Gygi 2010), whose matrix ``I + c X^2`` is positive definite, and scaled steps of Newton and Schulz (Chen and Chow 2014):

    X (b / c + (a - b / c) (I + c X^2)^-1)
    alpha X (3 I - alpha^2 X^2) / 2,   alpha^2 = 3 / (1 + l + l^2)

An eigenvalue d < 0 of A whose sign is found as -1 + e leaves ``d e^2 / 4`` in P A P, in ``(A + A S) / 2`` it would
leave ``d e / 2``. Eigenvalues nearer to 0 than ``LEAST_RESOLVED |A|`` may end anywhere between 0 and a quarter of them.

LAPACK's eigh starts threads from 40 rows on: where other processes keep all cores busy it takes up to 378 ms for 85
rows, the steps here at most 1.
"""

from __future__ import annotations

import math

import numpy as np

from .factorisation import positive_inverse
from .operations import TINY, Array

LEAST_RESOLVED = 1e-5
"""Least size of an eigenvalue over |A| whose sign is found, to 1.7e-3. The largest ones in drags of a horse are 9e3, in
coordinates in which the posture task's weights, which are added to them, are 1 (``without_negative``)."""

NEWTON_SCHULZ_STEPS = 5
"""With 4 signs are found to 6.4e-2, with 6, for two more products, to 1.0e-6."""

MOST_MULTIPLICATIONS = 2**18
"""Multiplications in a product up to which OpenBLAS takes one thread, whatever the processor. On some it takes one up
to 2^19; on others a product of 73 rows in one piece used as much processor time of a second thread."""


def positive_part(matrix: Array) -> Array:
    """Return symmetric matrices (..., N, N) with their negative eigenvalues set to 0."""
    norms = np.sqrt(np.square(matrix).sum((-2, -1), keepdims=True)) + TINY
    signs = matrix / norms
    shift, factor, weight = _HALLEY
    inverse = positive_inverse(_scaled(_product(signs, signs), weight, 1.0), 1.0)
    signs = _product(signs, _scaled(inverse, 0.5 * factor, 0.5 * shift))
    signs = signs + signs.swapaxes(-1, -2)  # rounding would grow: A+ and its transpose differed by 1e-8 |A|
    for linear, cubic in _NEWTON_SCHULZ:
        signs = _product(signs, _scaled(_product(signs, signs), cubic, linear))
    projection = _scaled(signs, 0.5, 0.5)
    return _product(_product(projection, matrix), projection)


def _weights() -> tuple[tuple[float, float, float], list[tuple[float, float]]]:
    """Return b / c, a - b / c and c of Halley's step, and 3/2 alpha and -1/2 alpha^3 of those after it."""
    least = LEAST_RESOLVED
    root = math.sqrt(1.0 + (4.0 * (1.0 - least**2) / least**4) ** (1.0 / 3.0))
    a = root + 0.5 * math.sqrt(12.0 - 4.0 * root**2 + 8.0 * (2.0 - least**2) / (least**2 * root))
    b = 0.25 * (a - 1.0) ** 2
    c = a + b - 1.0
    least *= (a + b * least**2) / (1.0 + c * least**2)
    steps = []
    for _ in range(NEWTON_SCHULZ_STEPS):
        alpha = math.sqrt(3.0 / (1.0 + least + least**2))
        steps.append((1.5 * alpha, -0.5 * alpha**3))
        least *= 1.5 * alpha - 0.5 * alpha**3 * least**2
    return (b / c, a - b / c, c), steps


_HALLEY, _NEWTON_SCHULZ = _weights()


def _scaled(matrix: Array, factor: float, shift: float) -> Array:
    """Return matrices (..., N, N) after they were multiplied, and a multiple of I was added to them, in place."""
    matrix *= factor
    matrix.reshape(*matrix.shape[:-2], -1)[..., :: matrix.shape[-1] + 1] += shift
    return matrix


def _product(a: Array, b: Array) -> Array:
    """Return the product of matrices (..., N, N), by as many rows at a time as ``MOST_MULTIPLICATIONS`` allows."""
    count = a.shape[-1]
    most_rows = max(1, MOST_MULTIPLICATIONS // max(1, count**2))
    if count <= most_rows:
        whole: Array = a @ b
        return whole
    found = np.empty(a.shape)
    for first in range(0, count, most_rows):
        rows = slice(first, first + most_rows)
        np.matmul(a[..., rows, :], b, out=found[..., rows, :])
    return found
