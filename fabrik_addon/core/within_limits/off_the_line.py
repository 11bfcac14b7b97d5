# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Descents from a chain that is on one line with its target, where no step of the first order leads to the target."""

from ..math.operations import Component, Operations, Vector
from ..math.vectors import distance_between
from ..model.constrained_chain import ConstrainedPose, place
from ..model.joint_limits import SwingTwist, clamp
from ..optimise.bounded_least_squares import Descent
from .constrained_reach import ON_LIMIT, is_on_one_line

BEND_OFF_LINE = 0.1
"""Half-sine by which bones are rotated off a line. With any small one the Jacobian has full rank."""


def descend_off_the_line(
    descend: Descent, ops: Operations, pose: ConstrainedPose, target: Vector, tolerance: float, steps: int
) -> tuple[ConstrainedPose, Component, Component]:
    """Descend from a pose; where chain and target lie on one line, from a bent pose (``Descent``).

    On the line J^T r = 0 for the residual r. Where the descent from a bent pose ends farther from the target than the
    pose before, the pose before is the result.
    """
    start = _off_the_line(ops, pose, target, tolerance)
    found, error, used = descend(ops, start, target, tolerance, steps)
    if start is not pose:
        before = distance_between(ops, pose.tip, target)
        found, error = pose.where(ops, error > before, found), ops.minimum(error, before)
    return found, error, used


def _off_the_line(ops: Operations, pose: ConstrainedPose, target: Vector, tolerance: float) -> ConstrainedPose:
    """Return the pose, bent where chain and target lie on one line."""
    is_straight = is_on_one_line(ops, pose, target, tolerance, target)
    if not ops.any(is_straight):
        return pose
    bent: list[SwingTwist] = []
    # About z, so toward the bone's own +X, where limits let it; the first bone the other way, to keep the tip in line.
    sign: Component = 1.0
    for j in reversed(range(len(pose.coordinates))):
        limits, parts = pose.chain.limits[j], list(pose.coordinates[j])
        for axis in (2, 0):
            lower, upper = limits.lower[axis], limits.upper[axis]
            step = min(BEND_OFF_LINE, 0.25 * (upper - lower))
            if step > ON_LIMIT:
                desired = sign if j == 0 else -1.0
                fits = (parts[axis] + desired * step >= lower) & (parts[axis] + desired * step <= upper)
                bend = ops.where(fits, desired * step, -desired * step)
                parts[axis], sign = parts[axis] + bend, ops.where(bend < 0.0, 1.0, -1.0)
                break
        bent.insert(0, clamp(ops, limits, (parts[0], parts[1], parts[2])))
    return place(ops, pose.chain, bent).where(ops, is_straight, pose)
