# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Jacobian methods: transpose, pseudo-inverse and damped least squares (Buss 2004).

With the Jacobian J of the tip and the position error e from tip to target, a step of the joint coordinates is:

- transpose: ``alpha J^T e`` with ``alpha = (e . J J^T e) / |J J^T e|^2``, which minimises the error to first order;
- pseudo-inverse: ``J^+ e``, without singular values below ``SINGULAR_CUT`` of the largest;
- damped least squares: ``J^T (J J^T + lambda^2 I)^-1 e``, with a damping lambda that adapts (``damped_steps``).

All are J^T y with a y of three components: a ``Rule`` gives y from ``J J^T`` and e. A step that doesn't bring the tip
nearer is not taken; the transpose and the pseudo-inverse then halve the share of the step that they take, and double it
up to the whole step after a step that is taken, down to ``_SMALLEST_SHARE``.

Joint limits bound the steps (``bounded_least_squares.descend``; damped least squares: ``reach_within_limits``). A chain
on one line with its target begins bent off that line (``descend_off_the_line``): there no step bends it.
"""

from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from ..fabrik.chain_fabrik import ReachProblem
from ..math.factorisation import damped_inverse
from ..math.operations import TINY, Array, Component, Operations, Vector
from ..math.vectors import dot, scale, subtract
from ..optimise.bounded_least_squares import descend
from ..optimise.damped_steps import DAMPED, FreeChain, Rule, Symmetric, descend_freely
from ..optimise.jacobian_steps import FIRST_DAMPING
from ..within_limits.constrained_reach import reach_within_limits
from ..within_limits.off_the_line import descend_off_the_line
from .solver import SolveFunction, Solver
from .unconstrained import solve_iteratively

SINGULAR_CUT = 1e-3
"""Ratio to the largest singular value of J below which singular values are left out of the pseudo-inverse."""

_SMALLEST_SHARE = 1e-4
"""Share of a step below which no smaller share is tried."""


def _transpose(_ops: Operations, normal: Symmetric, residual: Vector, share: Component) -> Vector:
    """Return ``y = share alpha e``."""
    xx, yy, zz, xy, xz, yz = normal
    gx, gy, gz = residual
    moved = (xx * gx + xy * gy + xz * gz, xy * gx + yy * gy + yz * gz, xz * gx + yz * gy + zz * gz)
    return scale(residual, share * dot(residual, moved) / (dot(moved, moved) + TINY))


def _pseudo_inverse(_ops: Operations, normal: Symmetric, residual: Vector, share: Component) -> Vector:
    """Return ``y = share sum_i v_i (v_i . e) / s_i^2``, with eigenvectors v_i and eigenvalues s_i^2 of J J^T."""
    xx, yy, zz, xy, xz, yz = normal
    matrix = np.moveaxis(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), (0, 1), (-2, -1))
    found = _by_pseudo_inverse(matrix, np.array(residual).T).T
    x, y, z = found.tolist() if found.ndim == 1 else found
    return share * x, share * y, share * z


def _by_pseudo_inverse(normal: Array, residual: Array) -> Array:
    """Return ``(J J^T)^+ e`` (..., M) of matrices J J^T (..., M, M) and residuals e (..., M)."""
    values, vectors = np.linalg.eigh(normal)
    kept = values > SINGULAR_CUT * SINGULAR_CUT * values[..., -1:]
    along = (residual[..., None, :] @ vectors)[..., 0, :]
    return (vectors @ np.where(kept, along / np.where(kept, values, 1.0), 0.0)[..., None])[..., 0]


TRANSPOSE = Rule(
    solution=_transpose,
    first=1.0,
    least_gain=0.0,
    after_success=lambda ops, share: ops.minimum(2.0 * share, 1.0),
    after_failure=0.5,
    is_spent=lambda share: share < _SMALLEST_SHARE,
)
"""Jacobian transpose. The rule's control is the share of a step that is taken."""

PINV = replace(TRANSPOSE, solution=_pseudo_inverse)
"""Pseudo-inverse, with the same control."""


def _transpose_together(normal: Array, residual: Array, damping: float) -> Array:
    """Return ``y = share alpha e`` for stacked tasks, with ``share = min(FIRST_DAMPING / damping, 1)``.

    ``alpha = (m . e) / (m . m)`` with ``m = J J^T e`` minimises ``|e - alpha m|^2``.
    """
    moved = normal @ residual
    return residual * float(moved @ residual / (moved @ moved + TINY)) * min(FIRST_DAMPING / damping, 1.0)


def _pseudo_inverse_together(normal: Array, residual: Array, damping: float) -> Array:
    """Return ``y = (J J^T)^+ e``, times ``min(FIRST_DAMPING / damping, 1)``."""
    return _by_pseudo_inverse(normal, residual) * min(FIRST_DAMPING / damping, 1.0)


def _damped_together(normal: Array, residual: Array, damping: float) -> Array:
    """Return ``y = (J J^T + damping)^-1 e``."""
    return damped_inverse(normal, damping) @ residual


def step_to_target(rule: Rule, ops: Operations, problem: ReachProblem) -> tuple[list[Vector], Component]:
    """Step by a rule until the tip of a chain without limits is at the target; return joints and steps."""
    start = FreeChain([*problem.points], [subtract(after, before) for before, after in pairwise(problem.points)])
    chain, _, used = descend_freely(ops, start, problem.target, problem.tolerance, problem.iterations, rule)
    return chain.points, used


def _solve_by(rule: Rule) -> SolveFunction:
    within_limits = partial(descend_off_the_line, partial(descend, rule=rule))
    return partial(solve_iteratively, partial(step_to_target, rule), within_limits)


JACOBIAN_TRANSPOSE = Solver(_solve_by(TRANSPOSE), solves_trees=True, stacked=_transpose_together)
JACOBIAN_PINV = Solver(_solve_by(PINV), solves_trees=True, stacked=_pseudo_inverse_together)
JACOBIAN_DLS = Solver(
    partial(solve_iteratively, partial(step_to_target, DAMPED), reach_within_limits),
    solves_trees=True,
    stacked=_damped_together,
)
