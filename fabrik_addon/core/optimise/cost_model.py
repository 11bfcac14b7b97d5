# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A quadratic model of the cost of tasks that are weighed against each other and against the posture task.

    C(q) = sum_k rho_k(|r_k(q)|) + (q - q0)^T P (q - q0)

Here r_k is the residual of task k, the way from its value to its target times the root of its weight, and rho_k its
loss (``task_loss``); q0 is the reference pose, and P the diagonal matrix of the posture task's weights. With r the
residuals of all tasks, ``J = -dr/dq``, and Omega the diagonal matrix of ``rho_k'(|r_k|) / (2 |r_k|)``, the forces of
the tasks are ``f = Omega r``. Half the cost's gradient is ``-(J^T f + P (q0 - q))``, and half its second derivatives
are ``J^T Omega J + K + P``.

K is what Gauss-Newton steps leave out, as far as it is computed here. It is the sum of four parts:

1. ``sum f . d^2r/dq^2`` over the tasks (``TaskStack.curvature``), but for looks, swivels, positions with slack or of
   joints that meet, and orientations of one axis: their residuals count as linear in the coordinates.
2. The rotation of a swing's own axes by changes of its half-sines (``_of_swings``).
3. ``-G^T G``, with G ``Loss.softening``: a bounded force grows by less than Omega times the change of its residual.
4. Where a coordinate of any pose is far from the reference pose (``LONG_WAY``), minus what P exceeds the second
   derivatives of the posture task by (``_of_posture``).

Without K in any step a target beyond reach took 25 to 44 steps instead of 3 to 19 (medians of seeded paths of Rigify's
human, bench row "body-paths").

Which forces K is computed with depends on the first level, that of pins, or without pins of targets that are nearly
met; an empty one counts as met. Its w is up to 1e9: where pins are met but for what the curvature of the tasks has left
of a step, that remainder times w is no force. So where the first level is met (``HELD``), f is ``Omega(l) l`` with the
residual ``l = r - J dq`` that the model of the step before leaves: where forces have no bounds, the Lagrange
multipliers of that step's subproblem (Nocedal and Wright, section 18.1). With ``Omega r`` of the pose itself a step of
2e-3 to 4e-3 was followed by one of at most 3.3e-3, with these by one of at most 5e-4 (bench row "body-path"). Where the
first level isn't met, f is ``Omega r``.

The first step of a descent is with the forces in the solution of the frame before, where that is known. Else it is
without K, in a batch the steps until one pose has taken one: no step before it tells the forces, and ``Omega r``
doesn't, as at w = 3e4 a target that has moved by 0.01 pulls with all of its force.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..math.operations import Array, Component
from ..model.joint_limits import AT_LIMIT, LEAST_RADIUS
from ..model.tree_motions import TreeMotions
from ..model.tree_state import State
from ..tasks.task_loss import Loss
from ..tasks.task_stack import TaskStack

NEAR_ELLIPSE = 0.5
"""Share of a swing's ellipse (``ellipse_share``) from which on the tangent at the ellipse bounds a step."""

HELD = 1e-6
"""Length of the first level's residual, in the tree's units, up to which it is met and the forces are those of the
model. Of 20 feasible poses of a body with straight limbs, turned far, two weren't found with these in all steps."""

LONG_WAY = 0.5
"""Largest coordinate of the way to the reference pose, in radians or the tree's units, up to which the posture task's
second derivatives count as P: those of a rotation vector with such coordinates are less by 2 to 6 percent
(``_of_posture``)."""


class Swings(NamedTuple):
    """Columns of swings near their ellipses, in one of the poses at least, and the axes along which their steps are.

    Those are normal and tangent near the ellipse, x and z elsewhere.
    """

    first: NDArray[np.intp]
    """(E,) columns of x."""
    second: NDArray[np.intp]
    """(E,) columns of z."""
    nx: Array
    """(..., E) x of the normal; 1 of a swing that isn't near its ellipse."""
    nz: Array
    """(..., E) z of the normal."""

    def _rotated(self, array: Array, sign: float) -> Array:
        """Return columns (..., N + S) with each swing's x and z rotated by the normal's angle, or back."""
        if not self.first.size:
            return array
        nx, nz = self.nx, sign * self.nz
        if array.ndim > self.nx.ndim > 1:
            nx, nz = nx[:, None], nz[:, None]
        x, z = array[..., self.first], array[..., self.second]
        array = array.copy()
        array[..., self.first] = nx * x + nz * z
        array[..., self.second] = nx * z - nz * x
        return array

    def from_axes(self, array: Array) -> Array:
        """Return columns (..., N + S) along normal and tangent of each swing, from columns along its x and z."""
        return self._rotated(array, 1.0)

    def both_ways(self, matrix: Array) -> Array:
        """Return a symmetric matrix (..., N + S, N + S) with rows and columns along normal and tangent."""
        return self.from_axes(self.from_axes(matrix).swapaxes(-1, -2))

    def to_axes(self, array: Array) -> Array:
        """Return columns (..., N + S) along x and z of each swing, from columns along its normal and tangent."""
        return self._rotated(array, -1.0)


class PoseCost(NamedTuple):
    """A pose, and what its cost is made of; the arrays of many poses have the batch axes before the others."""

    state: State
    residual: Array
    """(M,)."""
    toward: Array
    """q0 - q (N + S,)."""
    weights: Array
    """Omega (M,)."""
    of_tasks: Component
    """The loss of the tasks."""
    cost: Component
    """Loss of the tasks and cost of the posture task."""


def cost_at(stack: TaskStack, loss: Loss, state: State, reference: State, residual: Array | None = None) -> PoseCost:
    """Return what the cost of a pose is made of."""
    residual = stack.residual(state) if residual is None else residual
    tasks, weights = loss.of(residual)
    toward = stack.coordinates.to_reference(state, reference)
    cost = tasks + np.square(toward) @ stack.coordinates.posture_weights
    return PoseCost(state, residual, toward, weights, tasks, cost)


class CostModel(NamedTuple):
    """The quadratic model of the cost at a pose, and how far the pose's coordinates may change."""

    here: PoseCost
    jacobian: Array
    """J (M, N + S)."""
    down: Array
    up: Array
    swings: Swings
    by_swings: Array
    """J with the columns of ``swings`` along normal and tangent."""
    by_tasks: Array
    """J^T Omega J (N + S, N + S), with the columns of ``swings`` along normal and tangent."""
    motions: TreeMotions
    """Of the pose."""
    curvature: Array | None = None
    """K (N + S, N + S); None in a model without it."""
    softening: Array | None = None
    """``Loss.softening`` (T', N + S); None where K is."""

    def hessian(self, metric: Array) -> Array:
        """Return J^T Omega J + K + P (N + S, N + S) for P (N + S,), along normal and tangent of ``swings``."""
        by_axes = np.zeros(self.by_tasks.shape) if self.curvature is None else self.curvature.copy()
        np.einsum("...ii->...i", by_axes)[...] += metric
        return self.by_tasks + self.swings.both_ways(by_axes)

    def stiffened(self, loss: Loss, change: Array) -> CostModel | None:
        """Return the model without the softening of the tasks whose residuals change sides with a change (N + S,).

        Far from the target a bounded force hardly grows with the distance, beside the target in proportion to it: a
        step with the second derivatives of far away leads beyond the target. None where no residual changes sides.

        In drags of a hand of Rigify's human (bench row "body-path", near) moves took 9.6 evaluations of the cost
        without the forces of the move before, 23.4 with them, and 7.5 with them and this. From rest, beside a fixed
        root, the same human took 11.8 steps without this and 9.6 with it, with pinned feet 28.1 and 25.7.
        """
        if self.curvature is None or self.softening is None:
            return None
        crossed = loss.are_crossed(self.here.residual, self.left(change)) & self.softening.any(-1)
        if not crossed.any():
            return None
        rows = np.where(crossed[..., None], self.softening, 0.0)
        return self._replace(curvature=self.curvature + rows.swapaxes(-1, -2) @ rows, softening=self.softening - rows)

    def left(self, change: Array) -> Array:
        """Return the residual ``r - J dq`` (M,) that the model has after a change (N + S,) of the coordinates."""
        return self.here.residual - product(self.jacobian, change)

    def gain(self, stack: TaskStack, change: Array, left: Array) -> Component:
        """Return by how much the modelled cost falls with a change that leaves a residual."""
        here = self.here
        by_tasks = dot(here.weights, np.square(here.residual) - np.square(left))
        by_posture = dot(np.square(here.toward) - np.square(here.toward - change), stack.coordinates.posture_weights)
        by_curvature = 0.0 if self.curvature is None else dot(change, product(self.curvature, change))
        return by_tasks + by_posture - by_curvature


def product(matrix: Array, vector: Array) -> Array:
    """Return the product (..., M) of a matrix (..., M, N) and a vector (..., N)."""
    return (matrix @ vector[..., None])[..., 0]


def dot(a: Array, b: Array) -> Component:
    """Return the sum of the products of components (..., N)."""
    return (a * b).sum(-1)


def modelled(stack: TaskStack, here: PoseCost) -> CostModel:
    """Return the model of the cost at a pose, without K."""
    motions = stack.motions(here.state)
    jacobian, (down, up, swings) = stack.jacobian(here.state, motions), bounds_of(stack, here.state)
    by_swings = swings.from_axes(jacobian)
    by_tasks = (by_swings * here.weights[..., None]).swapaxes(-1, -2) @ by_swings
    return CostModel(here, jacobian, down, up, swings, by_swings, by_tasks, motions)


def with_forces(stack: TaskStack, loss: Loss, model: CostModel, forces: Array) -> CostModel:
    """Return the model with the K of forces f (M,)."""
    curvature = stack.curvature(model.motions, model.jacobian, forces, with_poles=not loss.are_poles_stiff)
    if len(stack.tree.structure.half_sines[0]):
        curvature += _of_swings(stack, model, forces)
    if np.abs(model.here.toward).max(initial=0.0) > LONG_WAY:
        curvature -= _of_posture(stack, model.here.toward)
    softening = loss.softening(model.jacobian, model.here.residual, model.here.weights)
    return model._replace(curvature=curvature - softening.swapaxes(-1, -2) @ softening, softening=softening)


def _of_posture(stack: TaskStack, toward: Array) -> Array:
    """Return by how much half the second derivatives of the posture task are less than P (N + S, N + S).

    Of a free bone whose way to the reference pose is the rotation vector ``a u``, a from 0 to pi, they are
    ``P (s I + (1 - s) u u^T)`` with ``s = (a / 2) cot(a / 2)``: half the second derivatives by d of
    ``P |log(exp(a u) exp(-d))|^2``.
    """
    columns = stack.tree.structure.free_columns
    ways = toward.take(columns, -1)
    squares = np.square(ways).sum(-1)
    halves = 0.5 * np.sqrt(np.maximum(squares, 1e-6))
    weights = stack.coordinates.posture_weights.take(columns[:, 0], -1)
    shares = weights * (1.0 - halves / np.tan(halves)) / (4.0 * halves * halves)
    across = squares[..., None, None] * np.eye(3) - ways[..., None] * ways[..., None, :]
    found = np.zeros((*toward.shape, toward.shape[-1]))
    found[..., columns[:, :, None], columns[:, None]] = shares[..., None, None] * across
    return found


def _of_swings(stack: TaskStack, model: CostModel, forces: Array) -> Array:
    """Return the part of K (N + S, N + S) of half-sines s, which rotate the axes of their own bone's swing.

    With ``g = J^T f`` and ``w^2 = 1 - s.s`` that is ``-s.g (I + s s^T / w^2)``. A swing that is held on its ellipse
    goes along the tangent t alone, and back along its ray: ``s.b t^T A t`` more, with the slope ``b = g + P (q0 - q)``
    and A the diagonal matrix of 1 / radius^2. Without both a hand led beyond reach with a fixed root took 20 ms
    (median) instead of 8: steps were refused, as K was indefinite at the minimum.
    """
    structure, limited_coordinates = stack.tree.structure, model.here.state.limited_coordinates
    torques = product(model.jacobian.swapaxes(-1, -2), forces)
    columns, places = structure.half_sines
    sines = limited_coordinates.reshape(*stack.batch, -1).take(places, -1)
    inside = (sines * torques.take(columns, -1)) @ structure.share_swing
    width = np.maximum(1.0 - np.square(limited_coordinates[..., ::2]).sum(-1), 1e-6).take(places // 3, -1)
    found = np.zeros(model.by_tasks.shape)
    turning = np.eye(len(columns)) + sines[..., None] * (sines / width)[..., None, :]
    found[..., columns[:, None], columns] = -inside[..., None] * structure.share_swing * turning
    swings, radii = structure.swings(limited_coordinates)
    share, normals = stack.coordinates.ellipses(model.here.state)
    # A quarter without width has no tangent: its swings are clamped to their ranges (``TreeStructure.clamped``).
    is_held = (radii.min(axis=-1) > LEAST_RADIUS) & (share >= 1.0 - AT_LIMIT)
    if not is_held.any():
        return found
    pairs = structure.swing_columns
    slope = torques + model.here.toward * stack.coordinates.posture_weights
    outward = dot(swings, slope.take(pairs, -1))
    is_held = is_held & (outward > 0.0)
    along = normals[..., ::-1] * (1.0, -1.0)
    blocks = found[..., pairs[:, :, None], pairs[:, None]]
    of_tangent = np.asarray(outward * dot(along / radii, along / radii) + dot(along, product(blocks, along)))
    held = of_tangent[..., None, None] * along[..., None] * along[..., None, :]
    found[..., pairs[:, :, None], pairs[:, None]] = np.where(is_held[..., None, None], held, blocks)
    return found


def forces_at(stack: TaskStack, model: CostModel, known: Array) -> Array:
    """Return the forces f (M,) at a pose.

    Args:
        known: (M,) those that the step before has led to in its model.
    """
    here, first = model.here, stack.first_rows
    is_met = dot(here.residual[..., first], here.residual[..., first]) <= HELD**2
    return np.asarray(stack.ops.where(is_met, known.T, (here.weights * here.residual).T)).T


def bounds_of(stack: TaskStack, state: State) -> tuple[Array, Array, Swings]:
    """Return how far each coordinate may go down and up (N + S,), a swing near its ellipse by normal and tangent."""
    down, up = stack.coordinates.bounds(state)
    share, normals = stack.coordinates.ellipses(state)
    is_near = share > NEAR_ELLIPSE
    (near,) = np.nonzero(is_near.any(0) if stack.batch else is_near)
    first, second = stack.tree.structure.swing_columns[near].T
    share, nx, nz = share.take(near, -1), normals[..., near, 0], normals[..., near, 1]
    swings = state.limited_coordinates.take(stack.tree.structure.ellipses[near], -2)
    most = np.maximum((1.0 / np.maximum(share, NEAR_ELLIPSE) - 1.0) * (nx * swings[..., 0] + nz * swings[..., 2]), 0.0)
    if not stack.batch:
        down[first] = down[second] = -np.inf
        up[first], up[second] = most, np.inf
        return down, up, Swings(first, second, nx, nz)
    is_near = is_near.take(near, -1)
    for columns, room in ((first, most), (second, np.inf)):
        down[..., columns] = np.where(is_near, -np.inf, down[..., columns])
        up[..., columns] = np.where(is_near, room, up[..., columns])
    return down, up, Swings(first, second, np.where(is_near, nx, 1.0), np.where(is_near, nz, 0.0))
