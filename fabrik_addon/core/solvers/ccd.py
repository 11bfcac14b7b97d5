# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cyclic coordinate descent: from the last joint to the first, each turns its line to the tip toward the target.

A turn brings the tip as near as that joint alone can (Wang & Chen 1991; Welman 1993). No joint turns farther than
``MOST`` at once: the last ones would curl up while the first ones stay.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ..fabrik.passes import Links, Stop, Sweep, repeat_sweeps
from ..math.operations import TINY, Component, Operations, Point, Vector
from ..math.quaternions import Quaternion, from_to, multiply, rotate
from ..math.vectors import Joints, choose_parts, cross, distance_between, dot, joints_of, points_of, rejection
from ..model.chain_start import StartPose
from ..model.constrained_chain import ConstrainedChain, Placed, place
from ..model.joint_limits import JointLimits, SwingTwist, angle_within, clamp, hinge_axis, rotation_of, swing_twist
from ..optimise.constrained_reach import coordinates_of, nearer_reference, off_the_line
from ..optimise.pole_task import bend_toward_pole
from ..problem import Options
from .solver import Solver, SolverResult
from .unconstrained import reach_freely

MOST = 1.0
"""Turn (radians) of one joint in one sweep at most; measured: without, a straight chain takes twice as many sweeps."""

_COSINE, _SINE = math.cos(0.5 * MOST), math.sin(0.5 * MOST)

_NOWHERE = 1e-12
"""Distance from a joint at which a tip or a target has no direction."""


def ccd_sweep(ops: Operations, points: list[Point], _links: Links, target: Point) -> None:
    """Turn every joint once, the last first, in place; joints that turn any way."""
    tx, ty, tz = target
    links = [(bx - ax, by - ay, bz - az) for (ax, ay, az), (bx, by, bz) in pairwise(points)]
    ex, ey, ez = points[-1]
    # What hangs on a joint doesn't move those before it: the tip is all there is to keep track of.
    coordinates: list[Quaternion] = []
    for j in range(len(links) - 1, -1, -1):
        px, py, pz = points[j]
        arm = (ex - px, ey - py, ez - pz)
        q = _turn_toward(ops, arm, (tx - px, ty - py, tz - pz), links[j - 1])
        coordinates.append(q)
        dx, dy, dz = rotate(q, arm)
        ex, ey, ez = px + dx, py + dy, pz + dz
    coordinates.reverse()
    px = py = pz = 0.0 * ex
    q = coordinates[0]
    laid = []
    for j, link in enumerate(links):
        if j:
            q = multiply(q, coordinates[j])
        dx, dy, dz = rotate(q, link)
        px, py, pz = px + dx, py + dy, pz + dz
        laid.append((px, py, pz))
    points[1:] = ops.points(laid)


def _restore_links(ops: Operations, points: list[Point], links: Links) -> None:
    """Make links as long as they should be, each in its direction."""
    px, py, pz = points[0]
    laid = []
    for length, ((ax, ay, az), (bx, by, bz)) in zip(links.lengths, pairwise(points), strict=True):
        dx, dy, dz = bx - ax, by - ay, bz - az
        share = length / ops.sqrt(dx * dx + dy * dy + dz * dz)
        px, py, pz = px + dx * share, py + dy * share, pz + dz * share
        laid.append((px, py, pz))
    points[1:] = ops.points(laid)


TIP_TO_ROOT = Sweep(ccd_sweep, slice(1, None), _restore_links)
"""Its sweeps are mixed as FABRIK's are: near full extension it needs hundreds without."""


def _turn_toward(ops: Operations, arm: Vector, aim: Vector, hint: Vector) -> Quaternion:
    """Return the shortest turn from a joint's arm to where the target is, by no more than ``MOST``."""
    q = from_to(ops, arm, aim, hint)
    w, x, y, z = q
    is_far = w < _COSINE
    if ops.any(is_far):
        factor = _SINE / (ops.sqrt(x * x + y * y + z * z) + TINY)
        w, x, y, z = ops.choose(is_far, (_COSINE + 0.0 * w, factor * x, factor * y, factor * z), q)
    nowhere = dot(arm, arm) * dot(aim, aim) < _NOWHERE * _NOWHERE
    if ops.any(nowhere):
        zero = 0.0 * w
        w, x, y, z = ops.choose(nowhere, (zero + 1.0, zero, zero, zero), (w, x, y, z))
    return w, x, y, z


def turn_to_target(
    ops: Operations, joints: Joints, lengths: Sequence[float], target: Vector, tolerance: float, iterations: int
) -> tuple[Joints, Component]:
    """Sweep until the tip is at the target; return joints and sweeps."""
    nowhere = 0.0 * target[0] > 1.0
    points, sweeps = repeat_sweeps(
        ops, TIP_TO_ROOT, points_of(joints), lengths, target, nowhere, Stop(tolerance, iterations)
    )
    return joints_of(points), sweeps


def turn_within_limits(
    ops: Operations,
    constrained_chain: ConstrainedChain,
    coordinates: Sequence[SwingTwist],
    target: Vector,
    tolerance: float,
    sweeps: int,
) -> tuple[list[SwingTwist], Placed, Component, Component]:
    """Turn bones within their limits, the last first, until the tip is at the target or a sweep brings it no nearer.

    Args:
        ops: the lanes' operations.
        limb: the bones.
        turns: of the bones before; allowed by their limits.
        target: where the tip should be.
        tolerance: distance from tip to target at which to stop.
        sweeps: at most.

    Returns:
        turns after, where the bones then are, distance from tip to target, sweeps used.
    """
    coordinates = list(coordinates)
    placed = place(ops, constrained_chain, coordinates)
    error = distance_between(ops, placed.joints[-1], target)
    going, used = error > tolerance, 0.0 * error
    for _ in range(sweeps):
        if not ops.any(going):
            break
        used = used + going
        new = _limited_sweep(ops, constrained_chain, coordinates, placed, target)
        coordinates = [choose_parts(ops, going, a, b) for a, b in zip(new, coordinates, strict=True)]
        placed = place(ops, constrained_chain, coordinates)
        before, error = error, distance_between(ops, placed.joints[-1], target)
        going = going & (error > tolerance) & (error < (1.0 - 1e-6) * before)
    return coordinates, placed, error, used


def _limited_sweep(
    ops: Operations,
    constrained_chain: ConstrainedChain,
    coordinates: Sequence[SwingTwist],
    placed: Placed,
    target: Vector,
) -> list[SwingTwist]:
    """Return the turns after one sweep; none is taken that would bring the tip farther away."""
    new = list(coordinates)
    (ex, ey, ez), (tx, ty, tz) = placed.joints[-1], target
    for j in range(len(coordinates) - 1, -1, -1):
        limits, frame, parent, (x, y, z) = (
            constrained_chain.limits[j],
            placed.frames[j],
            placed.parents[j],
            placed.joints[j],
        )
        if not all(limits.locked):
            arm, aim = (ex - x, ey - y, ez - z), (tx - x, ty - y, tz - z)
            turn = _best_turn(ops, limits, coordinates[j], (parent, frame), (arm, aim), constrained_chain.links[j])
            w, qx, qy, qz = frame
            moved = rotate(multiply(multiply(parent, rotation_of(ops, turn)), (w, -qx, -qy, -qz)), arm)
            nearer = distance_between(ops, moved, aim) <= distance_between(ops, arm, aim)
            new[j] = choose_parts(ops, nearer, turn, coordinates[j])
            dx, dy, dz = choose_parts(ops, nearer, moved, arm)
            ex, ey, ez = x + dx, y + dy, z + dz
        if not constrained_chain.inherits[j]:
            # What hangs on a bone that doesn't turn with its parent moves with its head alone.
            tx, ty, tz = tx + x - ex, ty + y - ey, tz + z - ez
            ex, ey, ez = x, y, z
    return new


def _best_turn(
    ops: Operations,
    limits: JointLimits,
    turn: SwingTwist,
    frames: tuple[Quaternion, Quaternion],
    arm_and_aim: tuple[Vector, Vector],
    link: Vector,
) -> SwingTwist:
    """Return how a bone should be turned to point its arm at the target, as far as its limits allow.

    Args:
        ops: the lanes' operations.
        limits: of the bone.
        turn: of the bone before.
        frames: the one it turns in, and its own.
        arm_and_aim: from the joint to the tip, and to the target.
        link: of the bone, in its own frame.
    """
    parent, frame = frames
    arm, aim = arm_and_aim
    axis = hinge_axis(limits)
    if axis is not None:
        unit: Any = (0.0 * turn[0] + (axis == 0), 0.0 * turn[0] + (axis == 1), 0.0 * turn[0] + (axis == 2))
        angle = _angle_about(ops, rotate(parent, unit), arm, aim)
        angle = ops.minimum(ops.maximum(angle, -MOST), MOST)
        old = turn[axis] if axis == 1 else 2.0 * ops.asin(turn[axis])
        new = list(turn)
        new[axis] = angle_within(ops, limits, axis, old + angle)
        if axis != 1:
            new[axis] = ops.sin(0.5 * new[axis])
        return clamp(ops, limits, (new[0], new[1], new[2]))
    w, x, y, z = parent
    delta = _turn_toward(ops, arm, aim, rotate(frame, link))
    return clamp(ops, limits, swing_twist(ops, multiply((w, -x, -y, -z), multiply(delta, frame))))


def _angle_about(ops: Operations, axis: Vector, arm: Vector, aim: Vector) -> Component:
    """Return the turn about a unit axis that brings an arm nearest to an aim."""
    return ops.atan2(dot(axis, cross(arm, aim)), dot(rejection(arm, axis), rejection(aim, axis)))


def _reach(ops: Operations, start: StartPose, target: Vector, pole: Vector | None, options: Options) -> SolverResult:
    if start.constrained_chain is None:
        return reach_freely(ops, start, target, pole, options, turn_to_target)
    coordinates = coordinates_of(ops, start.constrained_chain, start.frames)
    reference, begin = coordinates, off_the_line(ops, start.constrained_chain, coordinates, target, options.tolerance)
    coordinates, placed, error, sweeps = turn_within_limits(
        ops, start.constrained_chain, begin, target, options.tolerance, options.iterations
    )
    if begin is not reference:
        coordinates, placed = nearer_reference(ops, start.constrained_chain, reference, coordinates, error, target)
    if pole is not None:
        coordinates, placed = bend_toward_pole(
            ops, start.constrained_chain, coordinates, target, pole, options.tolerance
        )
    return SolverResult(placed.joints, placed.frames, sweeps)


CCD = Solver("CCD", "Tentacles, tails and hair: the tip end curls first and the root hardly turns", _reach)
