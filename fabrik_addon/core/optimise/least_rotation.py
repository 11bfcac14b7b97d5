# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Of all feasible poses whose tip is at a target, the one that rotates least from a reference pose.

A step of damped least squares solves the position task of the tip and adds, in the null space of the Jacobian, the
rotation back to the reference pose (Liegeois 1977). Least squares alone end at a pose that depends on their path, and a
target that moves a little can make the pose jump. The pose that rotates least is a continuous function of the target,
except where two such poses are equally near. Rotations are weighted by the joints' weights: a stiff joint rotates less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from ..math.operations import TINY, Component, Condition, Operations, Vector
from ..math.vectors import choose_each, distance_between, dot
from ..model.constrained_chain import ConstrainedChain, Placed, place
from ..model.joint_limits import SwingTwist, clamp
from .bounded_least_squares import Columns, block_all, descend, jacobian_columns, normal_solution
from .damped_steps import shortened

FIRST_ROTATION_DAMPING = 0.15
"""Damping of the first step, in units of the squared length: it falls with every step that helps."""

LEAST_ROTATION_DAMPING, TOO_DAMPED = 1e-7, 1e4
"""Bounds of the damping: less is rounding, and with more no step reduces the error."""

LEAST_SLOPE = 1e-4
"""Bound of ``(1 - damping |y| / |r|) max(damping, 1)``, about the square of the Jacobian along the residual r: below it
no free axis moves the tip toward the target."""

PATIENCE, WORTH_IT = 8, 0.5
"""Steps in which the error must fall to this share: a descent that is slower is taken to be in a local minimum."""

NEARLY = 0.02
"""Distance from the target within which a step may increase the error: the next step takes the increase away."""

LEAST_STRIDE, MOST_STRIDE = 0.1, 6.0
"""Share of the rotation back to the reference pose that a step takes in the null space: ``_fitting`` estimates it."""

GROWTH = 6.0
"""A stride is at most so many times the one before."""

LEAST_CHANGE = 3e-3
"""Largest change of a joint coordinate, half-sine or radians, in a step that ends the descent at the target."""


@dataclass(frozen=True)
class _Pose:
    """Joint coordinates, and the joints and frames that follow from them."""

    coordinates: list[SwingTwist]
    placed: Placed

    @property
    def tip(self) -> Vector:
        return self.placed.joints[-1]

    def stepped(
        self, ops: Operations, constrained_chain: ConstrainedChain, change: Sequence[Sequence[Component]]
    ) -> _Pose:
        """Return the pose after a change of the joint coordinates, clamped to the limits."""
        coordinates = [
            clamp(ops, limits, (x + dx, twist + dt, z + dz))
            for limits, (x, twist, z), (dx, dt, dz) in zip(
                constrained_chain.limits, self.coordinates, change, strict=True
            )
        ]
        return _Pose(coordinates, place(ops, constrained_chain, coordinates))

    def where(self, ops: Operations, condition: Condition, other: _Pose) -> _Pose:
        """Return this pose in the batch items where a condition holds, the other one elsewhere."""
        if ops.all(condition):
            return self
        if not ops.any(condition):
            return other
        coordinates = choose_each(ops, condition, self.coordinates, other.coordinates)
        return _Pose(coordinates, self.placed.where(ops, condition, other.placed))


@dataclass(frozen=True)
class _StepControl:
    """Damping and stride of the next step, and the last step, from which the stride is estimated."""

    damping: Component
    stride: Component
    """Share of the rotation back to the reference pose that the next step takes in the null space."""
    last_change: list[list[Component]] | None
    last_stride: Component
    was_near: Condition
    """Whether the last step began within ``NEARLY`` of the target and was accepted."""

    def after(self, ops: Operations, change: list[list[Component]], was_near: Condition, helps: Condition) -> Self:
        """Return the control of the step that comes after one.

        Args:
            ops: scalar or array operations.
            change: the step, of the joint coordinates.
            was_near: whether the tip was within ``NEARLY`` of the target before the step.
            helps: whether the step was accepted and is no sign of too little damping.
        """
        stride = self.stride
        if self.last_change is not None and ops.any(was_near & self.was_near):
            fitting = _fitting(ops, self.last_change, change, self.last_stride, self.stride)
            stride = ops.where(was_near & self.was_near, fitting, stride)
        # A step that fails near the target has too long a null-space term; farther off it has too little damping.
        stride = ops.where(was_near & ops.negate(helps), 0.5 * self.stride, stride)
        damping = ops.where(
            helps,
            ops.maximum(0.2 * self.damping, LEAST_ROTATION_DAMPING),
            ops.where(was_near, self.damping, 6.0 * self.damping),
        )
        return replace(
            self,
            damping=damping,
            stride=stride,
            last_change=change,
            last_stride=self.stride,
            was_near=was_near & helps,
        )


def _first_control(error: Component) -> _StepControl:
    stride = 1.0 + 0.0 * error
    return _StepControl(FIRST_ROTATION_DAMPING + 0.0 * error, stride, None, stride, error < 0.0)


def rotate_least(
    ops: Operations,
    constrained_chain: ConstrainedChain,
    start: Sequence[SwingTwist],
    reference: Sequence[SwingTwist],
    target: Vector,
    tolerance: float,
    steps: int,
) -> tuple[list[SwingTwist], Placed, Component]:
    """Bring the tip to the target with the least rotation from the reference pose that there is near the start.

    A batch item whose target is farther from the root than the chain is long stays at its start.

    Args:
        ops: scalar or array operations.
        constrained_chain: the bones and their limits.
        start: joint coordinates to start from, within limits.
        reference: joint coordinates to stay near to. They are returned to the last bit if start and target are there.
        target: of the tip, from the root, in units of the chain's length.
        tolerance: distance from tip to target that counts as reached, in the same units.
        steps: at most.

    Returns:
        joint coordinates after, joints and frames, distance from tip to target.
    """
    pose = _Pose(list(start), place(ops, constrained_chain, start))
    error = distance_between(ops, pose.tip, target)
    control = _first_control(error)
    at_reference = _are_equal(pose.coordinates, reference, error)
    done = at_reference & (error <= tolerance)
    if steps >= PATIENCE:
        # The target is beyond the chain's length, and the caller has other starts; with fewer steps it has none.
        done = done | (dot(target, target) > (1.0 + tolerance) * (1.0 + tolerance))
    is_stuck: Condition = False
    before = nearest = error
    for step in range(1, steps + 1):
        if ops.all(done):
            break
        residual = _residual(ops, pose.tip, target, error <= tolerance)
        # A pose that had to rotate away from the reference to find its way rotates back only near the target.
        share = ops.where(at_reference | (error <= NEARLY), control.stride, 0.0)
        change, longest, is_still = _step(ops, constrained_chain, pose, reference, residual, control.damping, share)
        trial = pose.stepped(ops, constrained_chain, change)
        trial_error = distance_between(ops, trial.tip, target)
        is_near = trial_error <= NEARLY
        better = ((trial_error < error) | is_near) & ops.negate(done)
        pose = trial.where(ops, better, pose)
        helps = better & (is_near | (trial_error < 0.999 * error))
        control = control.after(ops, change, error <= NEARLY, helps)
        error = ops.where(better, trial_error, error)
        is_stuck = is_stuck | (is_still & (error > NEARLY))
        nearest = ops.minimum(nearest, error)
        if step % PATIENCE == 0:
            is_stuck = is_stuck | (nearest > ops.maximum(WORTH_IT * before, tolerance))
            before = nearest
        done = done | ((error <= tolerance) & (longest <= LEAST_CHANGE)) | is_stuck | (control.damping > TOO_DAMPED)
    if ops.any((error > tolerance) & (error <= NEARLY)):
        # The steps were used up while the tip was off the target by a null-space step.
        return descend(ops, constrained_chain, pose.coordinates, target, tolerance, steps // 4)[:3]
    return pose.coordinates, pose.placed, error


def _are_equal(coordinates: Sequence[SwingTwist], reference: Sequence[SwingTwist], error: Component) -> Condition:
    """Tell in which batch items two poses have the same joint coordinates; never where the error isn't a number."""
    equal: Condition = error >= 0.0
    for here, there in zip(coordinates, reference, strict=True):
        for a, b in zip(here, there, strict=True):
            equal = equal & (a == b)
    return equal


def _residual(ops: Operations, tip: Vector, target: Vector, is_reached: Condition) -> Vector:
    """Return the residual of the position task, ``target - tip``; 0 where the target is reached.

    Within the tolerance only the null-space term counts: near full reach the rest of the residual hides the side to
    which the chain bends.
    """
    (gx, gy, gz), (x, y, z) = target, tip
    factor = ops.where(is_reached, 0.0, 1.0)
    return factor * (gx - x), factor * (gy - y), factor * (gz - z)


def _fitting(
    ops: Operations,
    before: Sequence[Sequence[Component]],
    step: Sequence[Sequence[Component]],
    stride_before: Component,
    stride: Component,
) -> Component:
    """Return the stride with which the last step would have ended where this step's null-space term is 0.

    With s the last step, y this one, and their strides a and b, the secant equation (Barzilai & Borwein 1988) gives
    ``a / (1 - (s.y a) / (s.s b))``. A stride short enough for the sharpest bend of the set of feasible poses that
    reach takes three times as many steps.
    """
    size = product = 0.0 * stride
    for joint, next_joint in zip(before, step, strict=True):
        for a, b in zip(joint, next_joint, strict=True):
            size, product = size + a * a, product + a * b
    left = product * stride_before / (size * stride + TINY)
    fits = stride_before / ops.maximum(1.0 - left, 1.0 / GROWTH)
    return ops.maximum(ops.minimum(fits, MOST_STRIDE), LEAST_STRIDE)


def _step(
    ops: Operations,
    constrained_chain: ConstrainedChain,
    pose: _Pose,
    reference: Sequence[SwingTwist],
    residual: Vector,
    damping: Component,
    share_back: Component,
) -> tuple[list[list[Component]], Component, Condition]:
    """Return a step of damped least squares with the rotation back to the reference pose as its null-space term.

    With ``z = share_back (reference - q)`` the step is ``dq = z + W J^T y``, where
    ``(J W J^T + damping) y = residual - J z`` (Liegeois 1977): the part of z that moves the tip is undone by y.

    Returns:
        the change of each bone's joint coordinates, none longer than ``damped_steps.LONGEST_STEP``; the largest change
        before it was shortened; and whether the step leaves nearly all of the residual.
    """
    zero = 0.0 * damping
    coordinates = pose.coordinates
    # z is the fourth component of each Jacobian column, so that a limit takes both out of the step.
    columns: list[Columns] = [
        [
            None if r is None else (*r, share_back * (there - here))
            for r, here, there in zip(joint, own, desired, strict=True)
        ]
        for joint, own, desired in zip(
            jacobian_columns(ops, constrained_chain, coordinates, pose.placed), coordinates, reference, strict=True
        )
    ]
    change: list[list[Component]] = []
    y: Vector = residual
    for _ in range(3):
        mx = my = mz = zero
        for joint in columns:
            for column in joint:
                if column is not None:
                    rx, ry, rz, back = column
                    mx, my, mz = mx + back * rx, my + back * ry, mz + back * rz
        rest = (residual[0] - mx, residual[1] - my, residual[2] - mz)
        y = normal_solution(ops, columns, constrained_chain.weights, rest, damping)
        a, b, c = y
        change = [
            [
                zero if r is None else r[3] + weight * (r[0] * a + r[1] * b + r[2] * c)
                for r, weight in zip(joint, weights, strict=True)
            ]
            for joint, weights in zip(columns, constrained_chain.weights, strict=True)
        ]
        if not block_all(ops, constrained_chain, coordinates, columns, change):
            break
    share, longest = shortened(ops, change, zero)
    # damping * y is the residual that the step leaves: all of it where no free axis moves the tip that way.
    left = damping * ops.sqrt(dot(y, y)) / (ops.sqrt(dot(residual, residual)) + TINY)
    is_still = (1.0 - left) * ops.maximum(damping, 1.0) < LEAST_SLOPE
    return [[share * part for part in joint_change] for joint_change in change], longest, is_still
