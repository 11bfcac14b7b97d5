# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Feasible poses whose tips are as near to their targets as many descents at once bring them.

A descent is by Gauss-Newton or by Newton's method, within limits.

Least squares converge slowly where no feasible pose reaches: the second derivative of half the squared residual r is
``J^T J + sum_k r_k d2 r_k``, and least squares leave out the sum (Nocedal & Wright, section 10.3). For a chain the
terms of the sum are products of vectors that the Jacobian has too: d2 tip / da db is spin a x column b where axis a
rotates axis b. The starts are computed side by side in arrays (S, ...): the time of a numpy call on small arrays hardly
depends on their size.

Shapes: S poses of B bones with N free axes, P swings whose limit is a quarter ellipse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..math.factorisation import positive_inverse
from ..math.operations import ARRAY, TINY, Array
from ..math.quaternion_arrays import crossing
from ..model.constrained_chain_arrays import Bones, ChainStructure, frames_of
from ..model.joint_limits import AT_LIMIT, LEAST_RADIUS, swing_axes

LONGEST_NEWTON_STEP = 0.7
"""Largest change of one axis in one step, half-sine or radians."""

GOOD_RATIO, POOR_RATIO = 0.7, 0.2
"""Ratios of the fall of the squared error to the fall that the model predicts: above the first one the damping is
multiplied by ``LESS_DAMPING``, below the second one by ``MORE_DAMPING``."""

LESS_DAMPING, MORE_DAMPING = 0.2, 6.0
"""Factors of the damping after a step."""

NEWTON_BOUND_ROUNDS = 2
"""Largest number of linear systems that are solved for one step: the second one is without the axes that the solution
of the first one takes beyond their limits."""

FIRST_DAMPING, FIRST_NEWTON_DAMPING, MOST_DAMPING = 0.5, 1e-3, 1e4
"""Damping, which is added to the diagonal of the second derivative of half the squared error: in the first step of
Gauss-Newton and of Newton's method, and at most."""

CORRECTION_DAMPING = 1e-4
"""Damping of the second-order correction, in units of the squared length."""

LEAST_CORRECTION = 0.01
"""Square of the movement that a second-order correction takes away, as a share of the gain that the model predicts: a
smaller one isn't worth the time."""

LEAST_PIVOT = 1e-4
"""Least pivot of the second derivative of half the squared error: a smaller one makes the step long and gains
nothing."""

LEAST_NEWTON_GAIN = 1e-6
"""Share of the error by which the error must fall in a step, or the descent ends."""

NO_GAIN = 1e-9
"""Share of the squared error: a smaller gain that a model predicts is rounding."""

LEAST_EIGENVALUE = 4e-8
"""Four times the least eigenvalue of a second derivative that counts as positive (``positive_inverse``)."""


class _Placed(NamedTuple):
    """Poses with the Jacobians of their tips."""

    coordinates: Array
    """(S, B, 3)"""
    tips: Array
    """(S, 3)"""
    residual: Array
    """(S, 3) from the tips to their targets."""
    errors: Array
    """(S,) lengths of the residuals."""
    spins: Array
    """(S, N, 3) angular velocity of every free axis."""
    columns: Array
    """(S, N, 3) columns of the Jacobian: velocity of the tip by every free axis."""

    def gather(self, items: NDArray[np.bool_]) -> _Placed:
        """Return some of the poses."""
        return _Placed(*(part[items] for part in self))

    def choose(self, where: NDArray[np.bool_], yes: _Placed) -> _Placed:
        """Return other poses where a condition (S,) holds."""
        pairs = zip(self, yes, strict=True)
        return _Placed(*(np.where(where.reshape(-1, *[1] * (a.ndim - 1)), b, a) for a, b in pairs))


@dataclass(frozen=True)
class NewtonSteps:
    """How the steps of a descent are taken, and when it ends."""

    tolerance: float
    """Distance from tip to target at which to stop."""
    count: int
    """Steps at most."""
    residual_damping: float = 0.0
    """0 for Newton's method. Any other factor stands for Gauss-Newton, with the factor times the length of the residual
    added to the damping, in place of the second derivatives that Gauss-Newton leaves out (Fan & Yuan 2005): a step
    takes half the time, because its model is always positive definite."""


def nearest_poses(bones: Bones, coordinates: Array, targets: Array, steps: NewtonSteps) -> tuple[Array, Array]:
    """Bring tips to the nearest positions to their targets that descents from given poses find.

    Args:
        coordinates: (S, B, 3) where to start: half-sine about x, twist, half-sine about z; allowed by limits.
        targets: (S, 3).

    Returns:
        joint coordinates after, and distances (S,) from tip to target.
    """
    placed = _place(bones, coordinates, targets)
    found_coordinates, found_errors = coordinates.copy(), placed.errors.copy()
    is_newton = steps.residual_damping == 0.0
    damping = np.full(len(coordinates), FIRST_NEWTON_DAMPING if is_newton else FIRST_DAMPING)
    items = np.arange(len(coordinates))
    is_going = (placed.errors > steps.tolerance) & (len(bones.structure.columns) > 0)
    for _ in range(steps.count):
        if not is_going.all():
            found_coordinates[items], found_errors[items] = placed.coordinates, placed.errors
            items, bones, placed = items[is_going], bones.gather(is_going), placed.gather(is_going)
            targets, damping = targets[is_going], damping[is_going]
            if not items.size:
                break
        step = _step(bones.structure, placed, damping, steps.residual_damping)
        trial = _place(bones, step.coordinates, targets)
        if is_newton:
            off = _off_across(placed, step, trial)
            is_off = np.einsum("si,si->s", off, off) > LEAST_CORRECTION * np.abs(step.gain)
            if is_off.any():
                corrected = _place(bones, _corrected(bones.structure, step, trial, off), targets)
                trial = trial.choose(is_off & (corrected.errors < trial.errors), corrected)
        errors = placed.errors
        gain = errors - trial.errors
        better = gain > 0.0
        ratio = (errors + trial.errors) * gain / np.maximum(step.gain, TINY)
        damping = damping * np.where(ratio > GOOD_RATIO, LESS_DAMPING, np.where(ratio > POOR_RATIO, 1.0, MORE_DAMPING))
        # At a minimum rounding makes every step fail: without this condition the damping would grow to its bound.
        has_gain = np.abs(step.gain) > NO_GAIN * errors * errors
        goes_on = (gain >= LEAST_NEWTON_GAIN * trial.errors) & (trial.errors > steps.tolerance)
        is_going = np.where(better, goes_on, has_gain) & (damping <= MOST_DAMPING)
        placed = placed.choose(better, trial)
    found_coordinates[items], found_errors[items] = placed.coordinates, placed.errors
    return found_coordinates, found_errors


def _place(bones: Bones, coordinates: Array, targets: Array) -> _Placed:
    """Return poses (S, B, 3) with the Jacobians of their tips; the axes are ``swing_axes`` and the bones' own."""
    parents, frames, joints = frames_of(bones, coordinates)
    local = np.zeros((*coordinates.shape, 3))  # bone by bone, axis by axis, in the bone's parent frame
    for row, axis in zip((0, 2), swing_axes(ARRAY, coordinates[..., 0], coordinates[..., 2]), strict=True):
        local[..., row, :] = np.array(axis).transpose(1, 2, 0)
    spins = local @ parents.swapaxes(-1, -2)
    spins[..., 1, :] = frames[..., 1]
    turning, carried = bones.structure.turning, bones.structure.carried[0][-1]
    spins = spins.take(turning, axis=1)
    columns = spins @ crossing(joints.take(carried, axis=1) - joints.take(turning, axis=1))
    free_spins, free_columns = (
        each.reshape(len(coordinates), -1, 3).take(bones.structure.chosen, axis=1) for each in (spins, columns)
    )
    residual = targets - joints[:, -1]
    errors = np.sqrt(np.einsum("si,si->s", residual, residual))  # in half the time of ``np.linalg.norm``
    return _Placed(coordinates, joints[:, -1], residual, errors, free_spins, free_columns)


@dataclass(frozen=True)
class _Step:
    """Poses after one step within limits, and what its model says of it."""

    coordinates: Array
    """(S, B, 3)"""
    gain: Array
    """(S,) decrease of the squared distance from tip to target that the model predicts."""
    moved: Array
    """(S, 3) movement of the tip, to first order."""
    fixed: NDArray[np.bool_]
    """(S, N) axes that end at a bound, and swings that end on their ellipse."""


def _step(structure: ChainStructure, placed: _Placed, damping: Array, residual_damping: float) -> _Step:
    """Return joint coordinates after one step within limits."""
    residual = placed.residual
    gradient = -(placed.columns @ residual[:, :, None])[..., 0]
    value = _free(structure, placed.coordinates)
    lower, upper = structure.ends
    least, most = lower - value, upper - value
    fixed = ((most <= AT_LIMIT) & (gradient < 0.0)) | ((least >= -AT_LIMIT) & (gradient > 0.0))
    has_ellipses = structure.swing_columns.size > 0
    along = _along_ellipses(structure, value, gradient, (least, most), fixed) if has_ellipses else None
    columns = placed.columns if along is None else along.projected(placed.columns)
    slope = -(columns @ residual[:, :, None])[..., 0]
    if residual_damping > 0.0:
        model: _Newton | _GaussNewton = _GaussNewton(columns, residual, damping + residual_damping * placed.errors)
    else:
        spins = placed.spins
        diagonal = np.repeat(damping[:, None], value.shape[1], axis=1)
        if along is not None:
            spins = along.projected(spins)
            diagonal[:, along.first] += along.curvature
        model = _Newton(columns, residual, _second_derivative(structure, spins, columns, residual, diagonal))
    change = _bounded_change(model, fixed, structure, value, (least, most), along)
    predicted = -np.einsum("sn,sn->s", change, 2.0 * slope + model.times(change))
    moved = (change[:, None] @ columns)[:, 0]
    if along is not None:
        change[:, along.second] += along.z * change[:, along.first]
        change[:, along.first] *= along.x
        fixed[:, along.first] |= along.is_held
    return _Step(_moved(structure, placed.coordinates, value + change), predicted, moved, fixed)


def _off_across(placed: _Placed, step: _Step, trial: _Placed) -> Array:
    """Return what takes back (S, 3) the tips' movement beyond the first order, across the residuals before the step."""
    residual, off = placed.residual, placed.tips + step.moved - trial.tips
    along = np.einsum("si,si->s", off, residual) / (np.einsum("si,si->s", residual, residual) + TINY)
    return off - along[:, None] * residual


def _corrected(structure: ChainStructure, step: _Step, trial: _Placed, off: Array) -> Array:
    """Return joint coordinates (S, B, 3) with the second-order correction of a step.

    A step d moves the tip by ``J d + (d . d2 tip . d) / 2`` and more, of which the model of Newton's method has the
    part along the residual r only. What of the second order is across r takes the tip off its way: where J^T J and the
    second derivative leave most axes free, as in a chain near its full reach, only short steps lowered the error. The
    correction adds ``J^T (J J^T + damping)^-1 c``, with c minus this part and J after the step (second-order
    correction, Nocedal & Wright, section 18.3; geodesic acceleration, Transtrum & Sethna 2012). Without it 7 of 800
    moves of a spine and an arm missed their targets.
    """
    model = _GaussNewton(trial.columns, off, np.full(len(off), CORRECTION_DAMPING))
    change = model.minimum(np.zeros(step.fixed.shape), step.fixed)
    return _moved(structure, step.coordinates, _free(structure, step.coordinates) + change)


def _free(structure: ChainStructure, coordinates: Array) -> Array:
    """Return the values (S, N) of the free axes."""
    return coordinates.reshape(len(coordinates), -1).take(structure.flat_columns, axis=1)


def _moved(structure: ChainStructure, coordinates: Array, moved: Array) -> Array:
    """Return joint coordinates (S, B, 3) with other values (S, N) of the free axes, within limits."""
    made = coordinates.copy()
    made.reshape(len(made), -1)[:, structure.flat_columns] = moved
    return structure.clamped(made)


@dataclass(frozen=True)
class _AlongEllipses:
    """Swings that are held on their ellipses move along them: the tangent replaces the axis x, and z is fixed."""

    first: NDArray[np.intp]
    """(P,) which free axes are their x."""
    second: NDArray[np.intp]
    """(P,) which are their z."""
    is_held: NDArray[np.bool_]
    """(S, P)"""
    x: Array
    """(S, P) components of the tangents; 1 and 0 of swings that aren't held."""
    z: Array
    curvature: Array
    """(S, P) second derivative of the error along the tangent that comes from the ellipse's curvature; 0 elsewhere."""

    def projected(self, vectors: Array) -> Array:
        """Return vectors (S, N, C) of the axes with those of the tangents in the places of x."""
        made = vectors.copy()
        made[:, self.first] = self.x[..., None] * vectors[:, self.first] + self.z[..., None] * vectors[:, self.second]
        return made


@dataclass(frozen=True)
class _Newton:
    """A quadratic model of half the squared error, ``g . d + d . H d / 2`` with the gradient ``g = -J^T r``.

    Newton's method: H is the second derivative, damped.
    """

    columns: Array
    residual: Array
    second: Array
    """(S, N, N)"""

    def minimum(self, change: Array, fixed: NDArray[np.bool_]) -> Array:
        """Return the change d (S, N) at the minimum, ``H d = -g``, where the changes of some axes (S, N) are fixed.

        Where H isn't positive definite it is solved as if it were.
        """
        held = np.where(fixed, change, 0.0)
        right = (self.columns @ self.residual[:, :, None])[..., 0] - self.times(held)
        rest = np.where(fixed, held, right)
        reduced = np.where(fixed[:, :, None] | fixed[:, None, :], 0.0, self.second)
        reduced.reshape(len(held), -1)[:, :: held.shape[1] + 1] += fixed
        try:
            return _solve_definite(reduced, rest)
        except np.linalg.LinAlgError:
            return _solve(reduced, rest)

    def times(self, change: Array) -> Array:
        """Return H d (S, N)."""
        return (self.second @ change[..., None])[..., 0]


@dataclass(frozen=True)
class _GaussNewton:
    """The model of Gauss-Newton: ``H = J^T J + damping``, which is always positive definite."""

    columns: Array
    residual: Array
    damping: Array
    """(S,)"""

    def minimum(self, change: Array, fixed: NDArray[np.bool_]) -> Array:
        """Return ``d = J^T (J J^T + damping)^-1 r``: a system of three rows, however many axes there are."""
        held = np.where(fixed, change, 0.0)
        free = np.where(fixed[..., None], 0.0, self.columns)
        across = free.swapaxes(-1, -2)
        normal = across @ free
        normal.reshape(len(held), 9)[:, ::4] += self.damping[:, None]
        rest = self.residual - (held[:, None] @ self.columns)[:, 0]
        return held + (_solve_definite(normal, rest)[:, None] @ across)[:, 0]

    def times(self, change: Array) -> Array:
        """Return H d (S, N)."""
        moved = change[:, None] @ self.columns
        return (moved @ self.columns.swapaxes(-1, -2))[:, 0] + self.damping[:, None] * change


def _bounded_change(
    model: _Newton | _GaussNewton,
    fixed: NDArray[np.bool_],
    structure: ChainStructure,
    value: Array,
    ends: tuple[Array, Array],
    along: _AlongEllipses | None,
) -> Array:
    """Return the change (S, N) that minimises a model between its ends, shortened to ``LONGEST_NEWTON_STEP``.

    An axis whose change would pass an end is fixed there (in place, in ``fixed``), as are both axes of a swing that
    would leave its ellipse, and the rest is solved anew. With swings only brought back into their ellipses after the
    step a spine and an arm took 40 steps to an error that they get to in 6. Swings that are held on their ellipses may
    leave them: the tangent does so to second order only.
    """
    change = np.zeros_like(value)
    for _ in range(NEWTON_BOUND_ROUNDS):
        solved = model.minimum(change, fixed)
        change = np.minimum(np.maximum(solved, ends[0]), ends[1])
        pairs = structure.swing_columns
        if pairs.size:
            before, by = value.take(pairs, axis=1), change.take(pairs, axis=1)
            inside = structure.within_ellipses(before + by)
            inside -= before
            change[:, pairs] = inside if along is None else np.where(along.is_held[..., None], by, inside)
        beyond = ~fixed & (np.abs(solved - change) > AT_LIMIT)
        if not beyond.any():
            break
        fixed |= beyond
    longest = np.abs(change).max(axis=-1, keepdims=True)
    change *= np.minimum(LONGEST_NEWTON_STEP / (longest + TINY), 1.0)
    return change


def _second_derivative(
    structure: ChainStructure, spins: Array, columns: Array, residual: Array, diagonal: Array
) -> Array:
    """Return half the squared error's second derivative (S, N, N), plus a diagonal (S, N).

    d2 tip / da db = spin a x column b where axis a rotates axis b. The change of a half-sine's spin by half-sines of
    the same bone is left out: with it errors and times were the same.
    """
    bent = spins @ (columns @ crossing(-residual)).swapaxes(-1, -2) * structure.turns_axes
    made: Array = columns @ columns.swapaxes(-1, -2) + bent + bent.swapaxes(-1, -2)
    made.reshape(len(made), -1)[:, :: made.shape[-1] + 1] += diagonal
    return made


def _along_ellipses(
    structure: ChainStructure, value: Array, gradient: Array, ends: tuple[Array, Array], fixed: NDArray[np.bool_]
) -> _AlongEllipses | None:
    """Return the directions in which swings on their ellipses can move; None where none is held on its ellipse.

    In place: swings in ellipses get no ends (S, N), those that are held are fixed (S, N) about z. A quarter ellipse
    without width has none: x and z are clamped to their ranges instead.
    """
    pairs, (least, most) = structure.swing_columns, ends
    swings, swing_gradient = value.take(pairs, axis=1), gradient.take(pairs, axis=1)
    radii = structure.radii_of(swings)
    share = swings / radii
    is_round = radii.min(axis=-1) > LEAST_RADIUS
    is_out = ((share * share).sum(-1) >= 1.0 - 2.0 * AT_LIMIT) & ((swing_gradient * share / radii).sum(-1) < 0.0)
    held = is_round & is_out
    room = np.where(is_round, np.inf, 0.0)[..., None]  # a swing beyond its ellipse is clamped afterwards
    least[:, pairs] -= room
    most[:, pairs] += room
    fixed[:, pairs] &= ~is_round[..., None]
    if not held.any():
        return None
    first, second = pairs.T
    fixed[:, second] |= held
    x, z = np.where(held, -radii[..., 0] * share[..., 1], 1.0), np.where(held, radii[..., 1] * share[..., 0], 0.0)
    curvature = np.where(held, np.maximum(-(swing_gradient * swings).sum(-1), 0.0), 0.0)
    return _AlongEllipses(first, second, held, x, z, curvature)


def _solve_definite(matrices: Array, right: Array) -> Array:
    """Solve positive definite systems (S, N, N), (S, N); raise LinAlgError where one isn't."""
    return (positive_inverse(matrices, LEAST_EIGENVALUE) @ right[..., None])[..., 0]


def _solve(matrices: Array, right: Array) -> Array:
    """Solve symmetric systems (S, N, N), (S, N) as if they were positive definite, by L D L^T.

    Where the second derivative isn't positive definite a pivot is negative: with its absolute value in its place the
    step still descends (Gill & Murray 1974).
    """
    count = right.shape[1]
    work = np.concatenate([matrices, right[..., None]], axis=-1)
    for k in range(count):
        row = work[:, k, k + 1 :] / np.maximum(np.abs(work[:, k, k, None]), LEAST_PIVOT)
        work[:, k + 1 :, k + 1 :] -= work[:, k + 1 :, k, None] * row[:, None, :]
        work[:, k, k + 1 :] = row
    solved: Array = work[:, :, count].copy()
    for k in range(count - 1, 0, -1):
        solved[:, :k] -= work[:, :k, k] * solved[:, k, None]
    return solved
