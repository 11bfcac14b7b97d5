# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pole task within joint limits: the bend rotates toward the pole as far as limits allow, and the tip stays.

Changes of the joint coordinates that don't move the tip to first order are the null space of the Jacobian. A step is
the gradient of the pole angle, projected into the null space (Liegeois 1977); least squares then bring the tip back to
the target.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..goals.pole import bend_vector, pole_axes
from ..math.operations import TINY, Component, Operations, Vector
from ..math.vectors import choose_each, cross, dot, norm
from ..model.constrained_chain import ConstrainedChain, Placed, place
from ..model.joint_limits import SwingTwist, clamp
from .bounded_least_squares import block_all, descend, jacobian_columns, normal_solution, turning_axes
from .damped_steps import shortened

POLE_ROUNDS = 16
"""Turns toward the pole at most; each halves what is left or better, unless limits are in the way."""

POINTED = 1e-4
"""Angle (radians) between bend and pole that is no more to be seen."""


def bend_toward_pole(
    ops: Operations,
    constrained_chain: ConstrainedChain,
    coordinates: list[SwingTwist],
    target: Vector,
    pole: Vector,
    tolerance: float,
) -> tuple[list[SwingTwist], Placed]:
    """Turn the bend of a chain toward a pole without taking its tip off the target.

    Args:
        ops: scalar or array operations.
        constrained_chain: the bones and their limits.
        coordinates: joint coordinates before. Batch items whose tip isn't at the target stay.
        target: where the tip is.
        pole: point toward which the chain should bend.
        tolerance: distance from tip to target that counts as reached.
    """
    placed = place(ops, constrained_chain, coordinates)
    distance = norm(ops, target)
    along, side, across = pole_axes(ops, target, pole)
    angle, size = _bend_angle(ops, placed.joints, along, side, across)
    tip = placed.joints[-1]
    off = norm(ops, (tip[0] - target[0], tip[1] - target[1], tip[2] - target[2]))
    going = (off <= tolerance) & (size > 1e-6) & (distance > 1e-6)
    stride: Component = 1.0 + 0.0 * distance
    for _ in range(POLE_ROUNDS):
        going = going & (ops.maximum(angle, -angle) > POINTED) & (stride > 0.05)
        if not ops.any(going):
            break
        change = _pole_step(ops, constrained_chain, coordinates, placed, (angle, size), (along, side, across))
        trial = [
            clamp(ops, limits, (x + stride * dx, twist + stride * dt, z + stride * dz))
            for limits, (x, twist, z), (dx, dt, dz) in zip(constrained_chain.limits, coordinates, change, strict=True)
        ]
        trial, trial_placed, error, _ = descend(ops, constrained_chain, trial, target, tolerance, 8)
        trial_angle, trial_size = _bend_angle(ops, trial_placed.joints, along, side, across)
        nearer = ops.maximum(trial_angle, -trial_angle) < 0.98 * ops.maximum(angle, -angle)
        better = going & (error <= tolerance) & nearer & (trial_size > 1e-6)
        coordinates = choose_each(ops, better, trial, coordinates)
        placed = place(ops, constrained_chain, coordinates) if ops.any(better) else placed
        angle, size = ops.choose(better, (trial_angle, trial_size), (angle, size))
        stride = ops.where(better, ops.minimum(2.0 * stride, 1.0), 0.4 * stride)
    return coordinates, placed


def pole_angle(ops: Operations, joints: Sequence[Vector], target: Vector, pole: Vector) -> Component:
    """Return the angle (radians, not negative) from the pole to the bend of a chain whose tip is at a target."""
    angle, size = _bend_angle(ops, joints, *pole_axes(ops, target, pole))
    return ops.where(size > 1e-6, ops.maximum(angle, -angle), 0.0)


def _bend_angle(
    ops: Operations, joints: Sequence[Vector], along: Vector, side: Vector, across: Vector
) -> tuple[Component, Component]:
    """Return the angle from the pole to the bend, about the line root-target, and how far the chain lies off that."""
    bend = bend_vector(joints, along)
    return ops.atan2(dot(bend, across), dot(bend, side)), norm(ops, bend)


def _pole_step(
    ops: Operations,
    constrained_chain: ConstrainedChain,
    coordinates: Sequence[SwingTwist],
    placed: Placed,
    bend: tuple[Component, Component],
    axes: tuple[Vector, Vector, Vector],
) -> list[list[Component]]:
    """Return the rotations that bring the bend to the pole, to first order, and leave the tip where it is."""
    angle, size = bend
    _, side, across = axes
    zero = 0.0 * angle
    cosine, sine = ops.cos(angle), ops.sin(angle)
    onward = [(cosine * a - sine * s) / (size + TINY) for s, a in zip(side, across, strict=True)]
    gradient = pole_gradient(ops, constrained_chain, coordinates, placed, (onward[0], onward[1], onward[2]))
    # The pole's gradient is the fourth component of each Jacobian column, so that a limit takes both out of the step.
    columns = [
        [
            None if column is None else (*column, derivative)
            for column, derivative in zip(joint, joint_gradient, strict=True)
        ]
        for joint, joint_gradient in zip(
            jacobian_columns(ops, constrained_chain, coordinates, placed), gradient, strict=True
        )
    ]
    change: list[list[Component]] = []
    for _ in range(3):
        moved = [zero, zero, zero]
        for joint, weights in zip(columns, constrained_chain.weights, strict=True):
            for column, weight in zip(joint, weights, strict=True):
                if column is not None:
                    moved = [m + weight * column[3] * r for m, r in zip(moved, column, strict=False)]
        y = normal_solution(ops, columns, constrained_chain.weights, (moved[0], moved[1], moved[2]), 1e-9 + zero)
        change, gain = [], zero
        for joint, weights in zip(columns, constrained_chain.weights, strict=True):
            parts = []
            for column, weight in zip(joint, weights, strict=True):
                if column is None:
                    parts.append(zero)
                    continue
                rx, ry, rz, derivative = column
                free = weight * (derivative - (rx * y[0] + ry * y[1] + rz * y[2]))
                gain = gain + free * derivative
                parts.append(free)
            change.append(parts)
        share = -angle / (gain + 1e-12)
        change = [[share * part for part in parts] for parts in change]
        if not block_all(ops, constrained_chain, coordinates, columns, change):
            break
    share, _ = shortened(ops, change, zero)
    return [[share * part for part in parts] for parts in change]


def pole_gradient(
    ops: Operations,
    constrained_chain: ConstrainedChain,
    coordinates: Sequence[SwingTwist],
    placed: Placed,
    onward: Vector,
) -> list[list[Component]]:
    """Return how far along a vector the sum of all inner joints moves with every bone's x, twist and z."""
    zero = 0.0 * onward[0]
    gradient: list[list[Component]] = [[zero, zero, zero] for _ in coordinates]
    sx = sy = sz = zero
    count = 0.0
    for j in range(len(coordinates) - 1, -1, -1):
        x, y, z = placed.joints[j]
        # All inner joints after this one rotate about it together.
        lever = (sx - count * x, sy - count * y, sz - count * z)
        axes = turning_axes(ops, constrained_chain.limits[j], coordinates[j], placed.parents[j], placed.frames[j])
        gradient[j] = [zero if axis is None else dot(cross(axis, lever), onward) for axis in axes]
        if not constrained_chain.inherits[j]:
            sx, sy, sz = count * x, count * y, count * z  # what hangs on it moves with its head alone
        sx, sy, sz, count = sx + x, sy + y, sz + z, count + 1.0
    return gradient
