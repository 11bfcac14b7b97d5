# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Jacobian methods: transpose, pseudo-inverse and damped least squares (Buss 2004).

They differ in the step for the position error e from tip to target (``damped_steps``): J^T e times what makes the
tip's first-order move come nearest to e, J^+ e with small singular values cut, and J^T (J J^T + lambda^2)^-1 e with a
lambda that adapts. None is kept that brings the tip no nearer.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from ..math.operations import TINY, Component, Operations, Vector, add_up
from ..math.vectors import Joints, dot, scale
from ..model.chain_start import StartPose
from ..optimise.bounded_least_squares import descend
from ..optimise.constrained_reach import coordinates_of, nearer_reference, off_the_line, reach_within_limits
from ..optimise.damped_steps import DAMPED, FreeBody, Rule, Symmetric, descend_to
from ..optimise.pole_task import bend_toward_pole
from ..optimise.tree_least_squares import DAMPED_TOGETHER, FIRST, StackedRule
from ..problem import Options
from .solver import Solver, SolverResult
from .unconstrained import reach_freely

CUT = 1e-3
"""Singular values of J below this share of the largest are left out of the pseudo-inverse."""

_SMALLEST = 1e-4
"""Share of a step at which it is given up."""


def _transpose(_ops: Operations, normal: Symmetric, residual: Vector, share: Component) -> Vector:
    xx, yy, zz, xy, xz, yz = normal
    gx, gy, gz = residual
    moved = (xx * gx + xy * gy + xz * gz, xy * gx + yy * gy + yz * gz, xz * gx + yz * gy + zz * gz)
    return scale(residual, share * dot(residual, moved) / (dot(moved, moved) + TINY))


def _pseudo_inverse(_ops: Operations, normal: Symmetric, residual: Vector, share: Component) -> Vector:
    # The eigenvalues of J J^T are the squares of J's singular values.
    xx, yy, zz, xy, xz, yz = normal
    matrix = np.moveaxis(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), (0, 1), (-2, -1))
    values, vectors = np.linalg.eigh(matrix)
    along = np.einsum("...ij,i...->...j", vectors, np.array(residual))
    kept = values > CUT * CUT * values[..., -1:]
    y = np.einsum("...ij,...j->i...", vectors, np.where(kept, along / np.where(kept, values, 1.0), 0.0))
    if y.ndim == 1:
        y = y.tolist()
    return share * y[0], share * y[1], share * y[2]


TRANSPOSE = Rule(
    solution=_transpose,
    first=1.0,
    least_gain=0.0,
    after_success=lambda ops, share: ops.minimum(2.0 * share, 1.0),
    after_failure=0.5,
    is_spent=lambda share: share < _SMALLEST,
)
"""The memory is the share of a step that is taken."""

PINV = Rule(
    solution=_pseudo_inverse,
    first=1.0,
    least_gain=0.0,
    after_success=lambda ops, share: ops.minimum(2.0 * share, 1.0),
    after_failure=0.5,
    is_spent=lambda share: share < _SMALLEST,
)
"""The same."""


def _transpose_together(
    normal: list[list[Component]], residual: Sequence[Component], weights: Sequence[Component], memory: Component
) -> list[Component]:
    weighted = [weight * part for weight, part in zip(weights, residual, strict=True)]
    moved = [add_up(a * w for a, w in zip(row, weighted, strict=True)) for row in normal]
    along = add_up(w * m * g for w, m, g in zip(weights, moved, residual, strict=True))
    length = along / (add_up(w * m * m for w, m in zip(weights, moved, strict=True)) + TINY)
    share = length * np.minimum(FIRST / memory, 1.0)
    return [share * part for part in weighted]


def _pseudo_inverse_together(
    normal: list[list[Component]], residual: Sequence[Component], weights: Sequence[Component], memory: Component
) -> list[Component]:
    roots = np.sqrt(np.stack(np.broadcast_arrays(*weights, residual[0])[:-1]))
    matrix = np.array(normal) * roots[:, None] * roots[None, :]
    values, vectors = np.linalg.eigh(np.moveaxis(matrix, (0, 1), (-2, -1)))
    along = np.einsum("...ij,i...->...j", vectors, np.array(residual) * roots)
    kept = values > CUT * CUT * values[..., -1:]
    y = np.einsum("...ij,...j->i...", vectors, np.where(kept, along / np.where(kept, values, 1.0), 0.0)) * roots
    return [*(y * np.minimum(FIRST / memory, 1.0))]


def step_to_target(
    rule: Rule,
    ops: Operations,
    joints: Joints,
    lengths: Sequence[float],
    target: Vector,
    tolerance: float,
    iterations: int,
) -> tuple[Joints, Component]:
    """Step by a rule until the tip of a chain without limits is at the target; return joints and steps."""
    points = list(zip(*joints, strict=True))
    links = [(bx - ax, by - ay, bz - az) for (ax, ay, az), (bx, by, bz) in pairwise(points)]
    body, _, used = descend_to(ops, FreeBody(points, links), target, tolerance, iterations, rule)
    x, y, z = zip(*body.points, strict=True)
    return (list(x), list(y), list(z)), used


def _reach(
    rule: Rule, ops: Operations, start: StartPose, target: Vector, pole: Vector | None, options: Options
) -> SolverResult:
    if start.constrained_chain is None:
        return reach_freely(ops, start, target, pole, options, partial(step_to_target, rule))
    coordinates = coordinates_of(ops, start.constrained_chain, start.frames)
    tolerance, steps = options.tolerance, options.iterations
    if rule is DAMPED:
        coordinates, placed, _, used = reach_within_limits(
            ops, start.constrained_chain, coordinates, None, target, tolerance, steps
        )
    else:
        reference, begin = coordinates, off_the_line(ops, start.constrained_chain, coordinates, target, tolerance)
        coordinates, placed, error, used = descend(ops, start.constrained_chain, begin, target, tolerance, steps, rule)
        if begin is not reference:
            coordinates, placed = nearer_reference(ops, start.constrained_chain, reference, coordinates, error, target)
    if pole is not None:
        coordinates, placed = bend_toward_pole(ops, start.constrained_chain, coordinates, target, pole, tolerance)
    return SolverResult(placed.joints, placed.frames, used)


JACOBIAN_TRANSPOSE = Solver(
    "Jacobian Transpose",
    "To compare: simple and never wild, but slow; give it a thousand iterations",
    partial(_reach, TRANSPOSE),
    solves_trees=True,
    stacked=StackedRule(_transpose_together, is_careful=False),
)
JACOBIAN_PINV = Solver(
    "Jacobian Pseudo-Inverse",
    "To compare: fewest steps in the open, jumps near full extension",
    partial(_reach, PINV),
    solves_trees=True,
    stacked=StackedRule(_pseudo_inverse_together, is_careful=False),
)
JACOBIAN_DLS = Solver(
    "Damped Least Squares",
    "Smooth motion, the turn shared by all joints; what Blender's own IK does",
    partial(_reach, DAMPED),
    solves_trees=True,
    stacked=DAMPED_TOGETHER,
)
