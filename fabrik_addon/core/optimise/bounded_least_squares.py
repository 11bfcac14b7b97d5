# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Least squares on the joint coordinates (swing and twist), never outside their limits.

With J the Jacobian of the tip's position, r the residual ``target - tip``, W the diagonal matrix of the joints' weights
and z a change of the joint coordinates by other tasks, a step is (Liegeois 1977)

    dq = z + W J^T (y - p),   (J W J^T + damping) y = r,   (J W J^T + PROJECTION_DAMPING) p = J z

so that y moves the tip by r, but for the damping, and p undoes the part of z that moves the tip. A coordinate at its
limit that the step would take beyond it is left out, and a swing on its ellipse moves only along the tangent of the
ellipse where the weights of its two coordinates are equal. What a step takes beyond limits all the same is clamped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ..math.operations import Component, Operations, Vector
from ..math.quaternions import Quaternion, rotate
from ..math.vectors import cross
from ..model.constrained_chain import ConstrainedPose
from ..model.joint_limits import AT_LIMIT, JointLimits, SwingTwist, ellipse_normal, ellipse_share, swing_axes
from .damped_steps import DAMPED, LONGEST_DAMPED_STEP, Rule, Solve, Symmetric, damped_solution, descend_to

Descent: TypeAlias = Callable[
    [Operations, ConstrainedPose, Vector, float, int], tuple[ConstrainedPose, Component, Component]
]
"""(ops, pose, target, tolerance, steps): pose after, distance from tip to target, steps used."""

PROJECTION_DAMPING = 1e-6
"""Damping of p, in units of the squared length. With the damping of y, which is large in the first steps and where
steps fail, p undid only a part of J z: a leg took 6.6 steps, an arm 6.9; they take 5.8 and 6.2 (means of 60)."""

BOUND_ROUNDS = 3
"""Solutions of one step at most, each without the coordinates at their limits that the one before took beyond them."""


def descend(
    ops: Operations, pose: ConstrainedPose, target: Vector, tolerance: float, steps: int, rule: Rule = DAMPED
) -> tuple[ConstrainedPose, Component, Component]:
    """Rotate bones until the tip is at the target or gets no nearer (``Descent``)."""

    def stepped(pose: ConstrainedPose, residual: Vector, control: Component) -> ConstrainedPose:
        change, _ = step_within_limits(ops, pose, None, residual, control, rule.solution)
        return pose.moved(ops, change, shortened(ops, change)[0])

    return descend_to(ops, pose, stepped, target, tolerance, steps, rule)


def step_within_limits(
    ops: Operations,
    pose: ConstrainedPose,
    secondary: Sequence[Component] | None,
    residual: Vector,
    control: Component,
    solution: Solve = damped_solution,
) -> tuple[list[Component], Vector]:
    """Return the change dq of the free coordinates in one step, and y.

    Args:
        secondary: z, of another task; None is no other task.
        control: the damping, or what else ``solution`` takes (``Solve``).
    """
    columns = jacobian_columns(ops, pose)
    weights = pose.chain.free_weights
    z = [0.0 * control] * len(columns) if secondary is None else list(secondary)
    change: list[Component] = []
    y = residual
    for _ in range(BOUND_ROUNDS):
        normal, moved = _normal_equations(columns, weights, z)
        y = a, b, c = solution(ops, normal, residual, control)
        if secondary is not None:
            back = damped_solution(ops, normal, moved, PROJECTION_DAMPING)
            a, b, c = a - back[0], b - back[1], c - back[2]
        change = [
            part + weight * (rx * a + ry * b + rz * c)
            for (rx, ry, rz), weight, part in zip(columns, weights, z, strict=True)
        ]
        if not _block(ops, pose, columns, z, change):
            break
    return change, y


def shortened(ops: Operations, change: Sequence[Component]) -> tuple[Component, Component]:
    """Return the share of a step up to which no axis changes by more than ``LONGEST_DAMPED_STEP``.

    Also the largest change of an axis.
    """
    longest: Component = 1e-300
    for part in change:
        longest = ops.maximum(longest, ops.abs(part))
    return ops.minimum(LONGEST_DAMPED_STEP / longest, 1.0), longest


def turning_axes(
    ops: Operations, limits: JointLimits, coordinates: SwingTwist, parent: Quaternion, frame: Quaternion
) -> list[Vector]:
    """Return the angular velocity for those of a bone's x, twist and z that aren't locked, in armature space."""
    no_x, no_twist, no_z = limits.locked
    axes: list[Vector] = []
    about_x, about_z = swing_axes(ops, coordinates[0], coordinates[2])
    if not no_x:
        axes.append(rotate(parent, about_x))
    if not no_twist:
        qw, qx, qy, qz = frame
        axes.append((2.0 * (qx * qy - qw * qz), 1.0 - 2.0 * (qx * qx + qz * qz), 2.0 * (qy * qz + qw * qx)))
    if not no_z:
        axes.append(rotate(parent, about_z))
    return axes


def jacobian_columns(ops: Operations, pose: ConstrainedPose) -> list[Vector]:
    """Return how the tip moves with every free coordinate, in the order of ``ConstrainedChain.free``."""
    chain = pose.chain
    columns: list[Vector] = []
    ends = [*pose.joints[1:]]
    ex, ey, ez = pose.tip
    for j in reversed(range(len(chain.limits))):
        ends[j] = ex, ey, ez
        if not chain.inherits[j]:
            # What hangs on a bone that doesn't rotate with its parent moves as that bone's head does.
            ex, ey, ez = pose.joints[j]
    for limits, own, parent, frame, (x, y, z), (ex, ey, ez) in zip(
        chain.limits, pose.coordinates, pose.parents, pose.frames, pose.joints, ends, strict=False
    ):
        arm = ex - x, ey - y, ez - z
        columns += [cross(axis, arm) for axis in turning_axes(ops, limits, own, parent, frame)]
    return columns


def _normal_equations(
    columns: Sequence[Vector], weights: Sequence[Component], secondary: Sequence[Component]
) -> tuple[Symmetric, Vector]:
    """Return J W J^T and J z."""
    xx: Component = 0.0
    yy = zz = xy = xz = yz = px = py = pz = xx
    for (x, y, z), weight, part in zip(columns, weights, secondary, strict=True):
        wx, wy = weight * x, weight * y
        xx, yy, zz = xx + wx * x, yy + wy * y, zz + weight * z * z
        xy, xz, yz = xy + wx * y, xz + wx * z, yz + wy * z
        px, py, pz = px + part * x, py + part * y, pz + part * z
    return (xx, yy, zz, xy, xz, yz), (px, py, pz)


def _block(
    ops: Operations,
    pose: ConstrainedPose,
    columns: list[Vector],
    secondary: list[Component],
    change: Sequence[Component],
) -> bool:
    """Take out of columns and z, in place, what takes coordinates beyond their limits; tell if there was any.

    Of a coordinate at its limit the column and the component of z become 0. Of a swing on its ellipse, with p and q the
    columns (and the components of z) of its x and z, and the normal n of the ellipse, they become
    ``p - n_x (n_x p + n_z q)`` and ``q - n_z (n_x p + n_z q)``.
    """
    blocked = False
    for i, bone, axis, least, most in pose.chain.bounded:
        value, part = pose.coordinates[bone][axis], change[i]
        out = ((value >= most) & (part > 0.0)) | ((value <= least) & (part < 0.0))
        if ops.any(out):
            free = ops.where(out, 0.0, 1.0)
            x, y, z = columns[i]
            columns[i], secondary[i] = (free * x, free * y, free * z), free * secondary[i]
            blocked = True
    for i, k, bone, limits in pose.chain.ellipses:
        x, _, z = pose.coordinates[bone]
        out = ellipse_share(ops, limits, x, z) >= 1.0 - AT_LIMIT
        if not ops.any(out):
            continue
        nx, nz = ellipse_normal(ops, limits, x, z)
        out = out & (nx * change[i] + nz * change[k] > 1e-12)
        if ops.any(out):
            nx, nz = ops.choose(out, (nx, nz), (0.0 * nx, 0.0 * nz))
            along, other = (*columns[i], secondary[i]), (*columns[k], secondary[k])
            across = [nx * p + nz * q for p, q in zip(along, other, strict=True)]
            px, py, pz, secondary[i] = (p - nx * a for p, a in zip(along, across, strict=True))
            qx, qy, qz, secondary[k] = (q - nz * a for q, a in zip(other, across, strict=True))
            columns[i], columns[k] = (px, py, pz), (qx, qy, qz)
            blocked = True
    return blocked
