# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Least squares on the joint coordinates (swing and twist), never outside their limits.

A step changes every coordinate by W J^T y (see ``damped_steps``). A coordinate at its limit that the step would take
beyond it is left out, and a swing on its ellipse moves only along the tangent of the ellipse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..math.operations import Component, Condition, Operations, Vector
from ..math.quaternions import Quaternion, rotate
from ..math.vectors import choose_each, cross
from ..model.constrained_chain import ConstrainedChain, Placed, place
from ..model.joint_limits import AT_LIMIT, JointLimits, SwingTwist, clamp, ellipse_normal, ellipse_share
from .damped_steps import DAMPED, Rule, Symmetric, damped_solution, descend_to, shortened

Columns: TypeAlias = list[tuple[Component, ...] | None]
"""Jacobian columns of a bone's x, twist and z: how the tip's x, y and z change with each; None for a locked axis.

A column may have more components after these three, such as the gradient of a pole task.
"""


@dataclass(frozen=True)
class _Body:
    """A constrained chain and its pose, for :func:`.damped_steps.descend_to`."""

    constrained_chain: ConstrainedChain
    coordinates: Sequence[SwingTwist]
    placed: Placed

    @property
    def tip(self) -> Vector:
        return self.placed.joints[-1]

    def stepped(self, ops: Operations, residual: Vector, rule: Rule, memory: Component) -> _Body:
        change = _step(ops, self.constrained_chain, self.coordinates, self.placed, residual, rule, memory)
        coordinates = [
            clamp(ops, limits, (x + dx, twist + dt, z + dz))
            for limits, (x, twist, z), (dx, dt, dz) in zip(
                self.constrained_chain.limits, self.coordinates, change, strict=True
            )
        ]
        return _Body(self.constrained_chain, coordinates, place(ops, self.constrained_chain, coordinates))

    def where(self, ops: Operations, condition: Condition, other: _Body) -> _Body:
        coordinates = choose_each(ops, condition, self.coordinates, other.coordinates)
        return _Body(self.constrained_chain, coordinates, self.placed.where(ops, condition, other.placed))


def descend(
    ops: Operations,
    constrained_chain: ConstrainedChain,
    coordinates: Sequence[SwingTwist],
    target: Vector,
    tolerance: float,
    steps: int,
    rule: Rule = DAMPED,
) -> tuple[list[SwingTwist], Placed, Component, Component]:
    """Rotate bones until the tip is at the target or gets no nearer.

    Args:
        ops: scalar or array operations.
        constrained_chain: the bones and their limits.
        coordinates: joint coordinates to start from, within limits.
        target: where the tip should be.
        tolerance: distance from tip to target at which to stop.
        steps: at most.
        rule: how a step is found.

    Returns:
        joint coordinates after, joints and frames, distance from tip to target, steps used.
    """
    body = _Body(constrained_chain, coordinates, place(ops, constrained_chain, coordinates))
    found, error, used = descend_to(ops, body, target, tolerance, steps, rule)
    return list(found.coordinates), found.placed, error, used


def _step(
    ops: Operations,
    constrained_chain: ConstrainedChain,
    coordinates: Sequence[SwingTwist],
    placed: Placed,
    residual: Vector,
    rule: Rule,
    memory: Component,
) -> list[list[Component]]:
    """Return the change of each bone's x, twist and z; those at their limits are not taken beyond them."""
    zero = 0.0 * memory
    columns = jacobian_columns(ops, constrained_chain, coordinates, placed)
    change: list[list[Component]] = []
    for _ in range(3):
        y = rule.solution(ops, _normal(columns, constrained_chain.weights, zero), residual, memory)
        change = [
            [
                zero if column is None else weight * (column[0] * y[0] + column[1] * y[1] + column[2] * y[2])
                for column, weight in zip(joint, weights, strict=True)
            ]
            for joint, weights in zip(columns, constrained_chain.weights, strict=True)
        ]
        if not block_all(ops, constrained_chain, coordinates, columns, change):
            break
    share, _ = shortened(ops, change, zero)
    return [[share * part for part in joint_change] for joint_change in change]


def turning_axes(
    ops: Operations, limits: JointLimits, turn: SwingTwist, parent: Quaternion, frame: Quaternion
) -> list[Vector | None]:
    """Return the angular velocity for a bone's x, twist and z, in armature space; None for an axis that is locked."""
    x, _, z = turn
    no_x, no_twist, no_z = limits.locked
    axes: list[Vector | None] = [None, None, None]
    if not (no_x and no_z):
        w = ops.sqrt(ops.maximum(1.0 - x * x - z * z, 1e-6))
        if not no_x:
            axes[0] = rotate(parent, (2.0 * (x * x / w + w), 2.0 * z, 2.0 * x * z / w))
        if not no_z:
            axes[2] = rotate(parent, (2.0 * x * z / w, -2.0 * x, 2.0 * (z * z / w + w)))
    if not no_twist:
        qw, qx, qy, qz = frame
        axes[1] = 2.0 * (qx * qy - qw * qz), 1.0 - 2.0 * (qx * qx + qz * qz), 2.0 * (qy * qz + qw * qx)
    return axes


def jacobian_columns(
    ops: Operations, constrained_chain: ConstrainedChain, coordinates: Sequence[SwingTwist], placed: Placed
) -> list[Columns]:
    """Return how the tip moves with every bone's x, twist and z: the columns of the Jacobian."""
    columns: list[Columns] = []
    ex, ey, ez = placed.joints[-1]
    for j in reversed(range(len(constrained_chain.limits))):
        x, y, z = placed.joints[j]
        axes = turning_axes(ops, constrained_chain.limits[j], coordinates[j], placed.parents[j], placed.frames[j])
        columns.append([None if axis is None else cross(axis, (ex - x, ey - y, ez - z)) for axis in axes])
        if not constrained_chain.inherits[j]:
            ex, ey, ez = x, y, z  # what hangs on a bone that doesn't rotate with its parent moves with its head alone
    columns.reverse()
    return columns


def normal_solution(
    ops: Operations, columns: Sequence[Columns], weights: Sequence[Vector], residual: Vector, damping: Component
) -> Vector:
    """Solve ``(J W J^T + damping) y = residual`` for y."""
    return damped_solution(ops, _normal(columns, weights, 0.0 * damping), residual, damping)


def _normal(columns: Sequence[Columns], weights: Sequence[Vector], zero: Component) -> Symmetric:
    """Return J W J^T."""
    xx = yy = zz = xy = xz = yz = zero
    for joint, joint_weights in zip(columns, weights, strict=True):
        for column, weight in zip(joint, joint_weights, strict=True):
            if column is not None:
                x, y, z, *_ = column
                wx, wy = weight * x, weight * y
                xx, yy, zz = xx + wx * x, yy + wy * y, zz + weight * z * z
                xy, xz, yz = xy + wx * y, xz + wx * z, yz + wy * z
    return xx, yy, zz, xy, xz, yz


def block_all(
    ops: Operations,
    constrained_chain: ConstrainedChain,
    coordinates: Sequence[SwingTwist],
    columns: Sequence[Columns],
    change: Sequence[list[Component]],
) -> bool:
    """Take out of all Jacobian columns what would take bones beyond their limits, in place; tell if there was any."""
    blocked: Condition = False
    for limits, turn, joint, joint_change in zip(constrained_chain.limits, coordinates, columns, change, strict=True):
        blocked = blocked | block(ops, limits, turn, joint, joint_change)
    return bool(ops.any(blocked))


def block(
    ops: Operations, limits: JointLimits, turn: SwingTwist, columns: Columns, change: list[Component]
) -> Condition:
    """Take out of a bone's Jacobian columns what would take it beyond its limits, in place; tell whether there was any.

    The column of an axis at its limit becomes 0. The columns p and q of a swing on its ellipse, with the normal n of
    the ellipse, become ``p - n_x (n_x p + n_z q)`` and ``q - n_z (n_x p + n_z q)``. Components beyond the tip's x, y
    and z are treated in the same way.
    """
    blocked: Condition = False
    axes = (1,) if limits.is_ellipse and not limits.has_flat_quarter else (0, 1, 2)
    for axis in axes:
        column = columns[axis]
        if column is None:
            continue
        out = ((turn[axis] >= limits.upper[axis] - AT_LIMIT) & (change[axis] > 0.0)) | (
            (turn[axis] <= limits.lower[axis] + AT_LIMIT) & (change[axis] < 0.0)
        )
        if ops.any(out):
            free = ops.where(out, 0.0, 1.0)
            columns[axis] = tuple(part * free for part in column)
            blocked = blocked | out
    along_x, along_z = columns[0], columns[2]
    if limits.is_ellipse and along_x is not None and along_z is not None:
        x, _, z = turn
        out = ellipse_share(ops, limits, x, z) >= 1.0 - AT_LIMIT
        if not ops.any(out):
            return blocked
        nx, nz = ellipse_normal(ops, limits, x, z)
        out = out & (nx * change[0] + nz * change[2] > 1e-12)
        if ops.any(out):
            nx, nz = ops.choose(out, (nx, nz), (0.0 * nx, 0.0 * nz))
            across = [nx * p + nz * q for p, q in zip(along_x, along_z, strict=True)]
            columns[0] = tuple(p - nx * a for p, a in zip(along_x, across, strict=True))
            columns[2] = tuple(q - nz * a for q, a in zip(along_z, across, strict=True))
            blocked = blocked | out
    return blocked
