# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A chain within joint limits bends toward its pole as far as limits allow, and its tip stays.

Changes of the joint coordinates that don't move the tip to first order are the null space of the Jacobian. A step is
the gradient of the angle from the pole to the bend, projected into the null space (Liegeois 1977); least squares then
bring the tip back to the target. Where the bend doesn't point at the pole after these steps, the whole chain is rotated
once about the line root-target, and least squares bring the tip back.
"""

from collections.abc import Sequence

from ..goals.pole import bend_vector, pole_axes, rotation_to_shape
from ..math.operations import TINY, Component, Operations, Vector, add_up
from ..math.quaternions import conjugate, multiply
from ..math.vectors import choose_parts, combination, cross, distance_between, dot, norm
from ..model.constrained_chain import ConstrainedPose, place
from ..model.joint_limits import clamp, swing_twist
from ..optimise.bounded_least_squares import descend, shortened, step_within_limits, turning_axes

POLE_ROUNDS = 16
"""Null-space steps toward the pole at most; each is taken if it lessens the angle to the pole by 2 percent or more."""

POINTED = 1e-4
"""Angle (radians) between bend and pole below which the bend counts as pointing at the pole."""

ANGLE_RATIO = 0.5
"""Ratio of the angles to the pole after and before a rotation about the line root-tip, below which it is taken."""


def bend_toward_pole(
    ops: Operations,
    pose: ConstrainedPose,
    target: Vector,
    pole: Vector,
    tolerance: float,
    shaped: Sequence[Vector] = (),
) -> ConstrainedPose:
    """Rotate the bend of a chain toward a pole without taking its tip off the target.

    Args:
        pose: before. Batch items whose tip isn't at the target, within the tolerance, stay.
        shaped: joints of the pose of a pole shape at the target, in the axes of the pole (``fabrik.pole_shape``). The
            bend is then brought to its direction after the rotation about the line root-target that brings the chain's
            joints nearest to these (``goals.pole.rotation_to_shape``).
    """
    distance = norm(ops, target)
    if shaped:
        pole = _pole_in_shape(ops, pose.joints, target, pole, shaped)
    along, side, across = pole_axes(ops, target, pole)
    angle, size = _bend_angle(ops, pose.joints, along, side, across)
    going = (distance_between(ops, pose.tip, target) <= tolerance) & (size > 1e-6) & (distance > 1e-6)
    stride: Component = 1.0 + 0.0 * distance
    for _ in range(POLE_ROUNDS):
        turning = going & (ops.abs(angle) > POINTED) & (stride > 0.05)
        if not ops.any(turning):
            break
        change, share = _pole_step(ops, pose, (angle, size), (side, across))
        trial, error, _ = descend(ops, pose.moved(ops, change, stride * share), target, tolerance, 8)
        trial_angle, trial_size = _bend_angle(ops, trial.joints, along, side, across)
        better = turning & (error <= tolerance) & (ops.abs(trial_angle) < 0.98 * ops.abs(angle)) & (trial_size > 1e-6)
        pose = trial.where(ops, better, pose)
        angle, size = ops.choose(better, (trial_angle, trial_size), (angle, size))
        stride = ops.where(better, ops.minimum(2.0 * stride, 1.0), 0.4 * stride)
    going = going & (ops.abs(angle) > POINTED)
    if ops.any(going):
        trial, error, _ = descend(ops, _rotated_about_chord(ops, pose, along, angle), target, tolerance, 8)
        trial_angle, trial_size = _bend_angle(ops, trial.joints, along, side, across)
        is_nearer = ops.abs(trial_angle) < ANGLE_RATIO * ops.abs(angle)
        better = going & (error <= tolerance) & is_nearer & (trial_size > 1e-6)
        pose = trial.where(ops, better, pose)
    return pose


def _rotated_about_chord(ops: Operations, pose: ConstrainedPose, along: Vector, angle: Component) -> ConstrainedPose:
    """Return the pose after a rotation of the first bone about the line root-tip by minus an angle.

    That leaves the tip where it is, but for limits. The gradient of the angle to the pole of a nearly straight chain is
    mostly that of bends across, with which its tip comes off the target after little of the way: a leg that was bent by
    0.042 of its length stayed 14 degrees from its pole until Solve was pressed again.
    """
    half, (x, y, z) = -0.5 * angle, along
    sine = ops.sin(half)
    rotation = (ops.cos(half), sine * x, sine * y, sine * z)
    own = multiply(conjugate(pose.parents[0]), multiply(rotation, pose.frames[0]))
    first = clamp(ops, pose.chain.limits[0], swing_twist(ops, own))
    return place(ops, pose.chain, [first, *pose.coordinates[1:]])


def angle_to_pole(
    ops: Operations, joints: Sequence[Vector], target: Vector, pole: Vector, shaped: Sequence[Vector] = ()
) -> Component:
    """Return the angle (radians, not negative) from the pole to the bend of a chain whose tip is at a target.

    With the joints of a pole shape's pose (``bend_toward_pole``) it is the angle of the rotation to these.
    """
    if shaped:
        _, side, across = pole_axes(ops, target, pole)
        cosine, sine = rotation_to_shape(joints, side, across, shaped)
        return ops.abs(ops.atan2(sine, cosine))
    angle, size = _bend_angle(ops, joints, *pole_axes(ops, target, pole))
    return ops.where(size > 1e-6, ops.abs(angle), 0.0)


def _pole_in_shape(
    ops: Operations, joints: Sequence[Vector], target: Vector, pole: Vector, shaped: Sequence[Vector]
) -> Vector:
    """Return where the bend of a chain points after the rotation to a pole shape's pose; the pole of a straight chain.

    The sum of all bends, at its angle in the shape's pose, is no goal: of a leg down to its toe it is small and changes
    sides as the target is lifted, at another distance in the pose within limits. Bones rotated by 16 degrees there.
    """
    along, side, across = pole_axes(ops, target, pole)
    cosine, sine = rotation_to_shape(joints, side, across, shaped)
    bend = bend_vector(joints, along)
    y, z = dot(bend, side), dot(bend, across)
    p, q = cosine * y - sine * z, sine * y + cosine * z
    return choose_parts(ops, p * p + q * q > TINY, combination(p, side, q, across), pole)


def _bend_angle(
    ops: Operations, joints: Sequence[Vector], along: Vector, side: Vector, across: Vector
) -> tuple[Component, Component]:
    """Return the angle from the pole to the bend vector, about the line root-target, and the vector's length."""
    bend = bend_vector(joints, along)
    return ops.atan2(dot(bend, across), dot(bend, side)), norm(ops, bend)


def _pole_step(
    ops: Operations, pose: ConstrainedPose, bend: tuple[Component, Component], axes: tuple[Vector, Vector]
) -> tuple[list[Component], Component]:
    """Return the rotations that bring the bend to the pole, to first order, and leave the tip where it is.

    z is W times the gradient g of the angle to the pole, toward the pole; the angle falls by ``g . dq``.

    Returns:
        the change of the free coordinates, and the share of it to take.
    """
    angle, size = bend
    side, across = axes
    cosine, sine = ops.cos(angle), ops.sin(angle)
    toward = ops.where(angle > 0.0, -1.0, 1.0) / (size + TINY)
    gradient = inner_joints_gradient(ops, pose, combination(toward * cosine, across, -toward * sine, side))
    secondary = [weight * part for weight, part in zip(pose.chain.free_weights, gradient, strict=True)]
    zero = 0.0 * angle
    change, _ = step_within_limits(ops, pose, secondary, (zero, zero, zero), 1e-9 + zero)
    gain = add_up(part * derivative for part, derivative in zip(change, gradient, strict=True))
    whole = ops.abs(angle) / (gain + 1e-12)
    share, _ = shortened(ops, [whole * part for part in change])
    return change, whole * share


def inner_joints_gradient(ops: Operations, pose: ConstrainedPose, direction: Vector) -> list[Component]:
    """Return how far along a vector the sum of all inner joints moves with every free coordinate."""
    chain = pose.chain
    gradient: list[Component] = []
    sx = sy = sz = 0.0 * direction[0]
    count = 0.0
    for j in range(len(chain.limits) - 1, -1, -1):
        x, y, z = pose.joints[j]
        # All inner joints after this one rotate about it together.
        lever = (sx - count * x, sy - count * y, sz - count * z)
        axes = turning_axes(ops, chain.limits[j], pose.coordinates[j], pose.parents[j], pose.frames[j])
        gradient = [*(dot(cross(axis, lever), direction) for axis in axes), *gradient]
        if not chain.inherits[j]:
            sx, sy, sz = count * x, count * y, count * z  # what hangs on it moves with its head alone
        sx, sy, sz, count = sx + x, sy + y, sz + z, count + 1.0
    return gradient
