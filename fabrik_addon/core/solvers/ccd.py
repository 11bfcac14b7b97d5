# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cyclic coordinate descent (Wang and Chen 1991): joint by joint, from the last to the first.

Joint ``p_j`` gets the rotation that brings the tip nearest to the target t while no other joint is rotated: the
shortest one from the arm ``p_n - p_j`` to the aim ``t - p_j``, and for a hinge that about its axis
(``vectors.angle_about``). No joint is rotated by more than ``LARGEST_CCD_ROTATION`` in one sweep: otherwise the last
joints bend most and the first ones stay.

Without limits sweeps are repeated and accelerated as FABRIK's are (``fabrik.passes.sweep_to_target``). Within limits
the rotation of each bone is clamped to its limits, and left out where it would bring the tip farther from the target.
"""

import math
from functools import partial
from itertools import pairwise

from ..fabrik.chain_fabrik import ReachProblem
from ..fabrik.passes import Links, Stop, Sweep, sweep_to_target
from ..math.operations import TINY, Component, Condition, Operations, Point, Vector
from ..math.quaternions import Quaternion, conjugate, from_to, identity_of, multiply, rotate
from ..math.vectors import angle_about, choose_parts, distance_between, dot, norm, onward
from ..model.constrained_chain import ConstrainedPose, place
from ..model.joint_limits import SwingTwist, angle_within, clamp, hinge_axis, rotation_of, swing_twist
from ..within_limits.off_the_line import descend_off_the_line
from .solver import Solver
from .unconstrained import solve_iteratively

LARGEST_CCD_ROTATION = 1.0
"""Rotation (radians) of one joint in one sweep at most: without it a straight chain takes twice as many sweeps."""

_COSINE, _SINE = math.cos(0.5 * LARGEST_CCD_ROTATION), math.sin(0.5 * LARGEST_CCD_ROTATION)

_AT_JOINT = 1e-12
"""Distance from a joint, over the chain's length, up to which a tip or a target has no direction."""

_LEAST_CCD_GAIN = 1e-6
"""Share of the error by which a sweep within limits has to reduce it for another sweep to follow."""


def ccd_sweep(ops: Operations, points: list[Point], _links: Links, target: Point) -> None:
    """Rotate every joint of a chain without limits once, the last first, in place.

    While the rotations are found only the tip is moved, and the joints are placed once.
    """
    tx, ty, tz = target
    links = [(bx - ax, by - ay, bz - az) for (ax, ay, az), (bx, by, bz) in pairwise(points)]
    ex, ey, ez = points[-1]
    rotations: list[Quaternion] = []
    for j in range(len(links) - 1, -1, -1):
        px, py, pz = points[j]
        arm = (ex - px, ey - py, ez - pz)
        q = _rotation_toward(ops, arm, (tx - px, ty - py, tz - pz), links[j - 1])
        rotations.append(q)
        dx, dy, dz = rotate(q, arm)
        ex, ey, ez = px + dx, py + dy, pz + dz
    rotations.reverse()
    px = py = pz = 0.0 * ex
    q = rotations[0]
    placed: list[Vector] = []
    for j, link in enumerate(links):
        if j:
            q = multiply(q, rotations[j])
        dx, dy, dz = rotate(q, link)
        px, py, pz = px + dx, py + dy, pz + dz
        placed.append((px, py, pz))
    points[1:] = ops.points(placed)


def _restore_links(ops: Operations, points: list[Point], links: Links) -> None:
    """Give every link its length, along its direction: combinations of poses don't have the links' lengths."""
    px, py, pz = points[0]
    placed: list[Vector] = [(px, py, pz)]
    for length, ((ax, ay, az), (bx, by, bz)) in zip(links.lengths, pairwise(points), strict=True):
        link = (bx - ax, by - ay, bz - az)
        placed.append(onward(placed[-1], length / norm(ops, link), link))
    points[1:] = ops.points(placed[1:])


CCD_SWEEP = Sweep(ccd_sweep, slice(1, None), _restore_links)
"""Near full extension CCD, too, needs hundreds of sweeps without acceleration."""


def _rotation_toward(ops: Operations, arm: Vector, aim: Vector, hint: Vector) -> Quaternion:
    """Return the shortest rotation from a joint's arm to its aim, by no more than ``LARGEST_CCD_ROTATION``.

    The identity where arm or aim has no direction.
    """
    q = from_to(ops, arm, aim, hint)
    w, x, y, z = q
    is_far = w < _COSINE
    if ops.any(is_far):
        factor = _SINE / (ops.sqrt(x * x + y * y + z * z) + TINY)
        w, x, y, z = ops.choose(is_far, (_COSINE + 0.0 * w, factor * x, factor * y, factor * z), q)
    at_joint = dot(arm, arm) * dot(aim, aim) < _AT_JOINT * _AT_JOINT
    if ops.any(at_joint):
        w, x, y, z = ops.choose(at_joint, identity_of(w), (w, x, y, z))
    return w, x, y, z


def rotate_to_target(ops: Operations, problem: ReachProblem) -> tuple[list[Vector], Component]:
    """Sweep until the tip of a chain without limits is at the target; return joints and sweeps."""
    none_done: Condition = 0.0 * problem.target[0] > 1.0
    stop = Stop(problem.tolerance, problem.iterations)
    return sweep_to_target(ops, problem.points, problem.lengths, problem.target, none_done, stop, CCD_SWEEP)


def rotate_within_limits(
    ops: Operations, pose: ConstrainedPose, target: Vector, tolerance: float, sweeps: int
) -> tuple[ConstrainedPose, Component, Component]:
    """Rotate bones, the last first, until the tip is at the target or a sweep brings it no nearer (``Descent``)."""
    error = distance_between(ops, pose.tip, target)
    going: Condition = error > tolerance
    used = 0.0 * error
    for _ in range(sweeps):
        if not ops.any(going):
            break
        used = used + going
        pose = place(ops, pose.chain, _limited_sweep(ops, pose, target)).where(ops, going, pose)
        before, error = error, distance_between(ops, pose.tip, target)
        going = going & (error > tolerance) & (error < (1.0 - _LEAST_CCD_GAIN) * before)
    return pose, error, used


def _limited_sweep(ops: Operations, pose: ConstrainedPose, target: Vector) -> list[SwingTwist]:
    """Return the joint coordinates after one sweep; a rotation that would bring the tip farther away is left out."""
    new = list(pose.coordinates)
    (ex, ey, ez), (tx, ty, tz) = pose.tip, target
    for j in range(len(new) - 1, -1, -1):
        own, (x, y, z) = pose.coordinates[j], pose.joints[j]
        if not all(pose.chain.limits[j].locked):
            arm, aim = (ex - x, ey - y, ez - z), (tx - x, ty - y, tz - z)
            best = _best_rotation(ops, pose, j, arm, aim)
            frame = multiply(pose.parents[j], rotation_of(ops, best))
            moved = rotate(multiply(frame, conjugate(pose.frames[j])), arm)
            nearer = distance_between(ops, moved, aim) <= distance_between(ops, arm, aim)
            new[j] = choose_parts(ops, nearer, best, own)
            dx, dy, dz = choose_parts(ops, nearer, moved, arm)
            ex, ey, ez = x + dx, y + dy, z + dz
        if not pose.chain.inherits[j]:
            # The bones from here on don't rotate with those before, they only move with this joint: for these it takes
            # the tip's place, and the vector from it to the tip is left out of the aim.
            tx, ty, tz = tx + x - ex, ty + y - ey, tz + z - ez
            ex, ey, ez = x, y, z
    return new


def _best_rotation(ops: Operations, pose: ConstrainedPose, bone: int, arm: Vector, aim: Vector) -> SwingTwist:
    """Return the joint coordinates with which a bone points its arm at the target, clamped to its limits."""
    limits, coordinates = pose.chain.limits[bone], pose.coordinates[bone]
    parent, frame = pose.parents[bone], pose.frames[bone]
    axis = hinge_axis(limits)
    if axis is not None:
        zero = 0.0 * coordinates[0]
        unit = (zero + (axis == 0), zero + (axis == 1), zero + (axis == 2))
        angle = angle_about(ops, rotate(parent, unit), arm, aim)
        angle = ops.minimum(ops.maximum(angle, -LARGEST_CCD_ROTATION), LARGEST_CCD_ROTATION)
        old = coordinates[axis] if axis == 1 else 2.0 * ops.asin(coordinates[axis])
        new = list(coordinates)
        new[axis] = angle_within(ops, limits, axis, old + angle)
        if axis != 1:
            new[axis] = ops.sin(0.5 * new[axis])
        return clamp(ops, limits, (new[0], new[1], new[2]))
    delta = _rotation_toward(ops, arm, aim, rotate(frame, pose.chain.links[bone]))
    return clamp(ops, limits, swing_twist(ops, multiply(conjugate(parent), multiply(delta, frame))))


CCD = Solver(partial(solve_iteratively, rotate_to_target, partial(descend_off_the_line, rotate_within_limits)))
