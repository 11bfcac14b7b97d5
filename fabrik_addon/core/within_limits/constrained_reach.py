# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reaching a target within joint limits: they bound rotations, and FABRIK moves positions, so least squares are used.

1. Least squares from the reference pose find a feasible pose that reaches and, of those around it, rotates least from
   the reference pose (``least_rotation``). A straight chain's joints are first moved off their limits; if that doesn't
   reach, least squares start again with the first bone twisted toward a target behind the chain.
2. Where least squares end in a local minimum, or the target is unreachable, Gauss-Newton (``nearest_pose``) starts from
   that minimum, from the reference pose, and from feasible poses whose tips are near the target (``feasible_poses``),
   and Newton's method from the best of the poses that Gauss-Newton finds.
3. Where that reaches, the pose is rotated back toward the reference pose; else the one whose tip is nearest to the
   target is returned.

In a drag the solution of the move before is the initial pose, and the reference pose stays that of the drag's start.
Step 1 then starts from the initial pose. Step 2 starts from fewer feasible poses, and of equally good poses the one
that rotates least from the initial pose goes on. With Newton's method from the minimum of step 1 alone some moves of an
arm missed targets within reach.

The number of steps is bounded, and the same input gives the same bits.

Shapes: L batch items, K poses of each, B bones.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..math.operations import Array, Component, Condition, Operations, Vector
from ..math.quaternions import rotate
from ..math.vectors import angle_about, cross, distance_between, dot, gather_parts, scatter_vectors
from ..model.constrained_chain import ConstrainedChain, ConstrainedPose, array_of, place
from ..model.constrained_chain_arrays import Bones
from ..model.joint_limits import SwingTwist, clamp
from ..optimise.bounded_least_squares import descend
from .least_rotation import FIRST_GUESS, LEAST_CHANGE, LEAST_CHANGE_FROM_SOLUTION, Termination, rotate_least
from .nearest_pose import NewtonSteps, nearest_poses

REACH_STEPS = 40
"""Steps of least squares from one start, at most; those that reach need about ten."""

NEAREST, NEAREST_FROM_INITIAL = 8, 2
"""How many of each of the two kinds of ``feasible_poses`` to start from, those whose tips are nearest to the target:
without and with an initial pose."""

GAUSS_NEWTON_STEPS, RESIDUAL_DAMPING = 5, 0.3
"""Steps of Gauss-Newton at most from every start, and ``NewtonSteps.residual_damping``."""

NEWTON_STEPS = 16
"""Steps of Newton's method at most, from the best of the poses that Gauss-Newton finds. From the best two poses a spine
and an arm beyond reach took a tenth of the time more."""

STEPS_BACK = 20
"""Steps of least squares, at most, from a pose at the target back toward the reference pose: with 40 a second press of
Solve rotated a chain of five bones with a pole and a rotation by 52 degrees."""

POSES_AT_ONCE = 512
"""Number of poses that are computed side by side: all starts of all frames of a bake would fill the memory."""

OFF_LIMIT = 0.3
"""Share of its range by which a swing of a straight chain that is at a limit is moved off it before the descent: the
Jacobian of a straight chain doesn't tell on which side the tip comes nearer. With 0.2 a solve of a finger takes 13
steps, with 0.3 12.3, with 0.4 12.8 (mean); of a tentacle 11.6, 13.8 and 16.9."""

SHARE_OF_TOLERANCE = 0.95
"""Share of the tolerance within which the tip is brought: single precision in Blender makes the error a little larger.
"""

EQUAL_ERRORS = 1e-2
"""Share of the least error by which the error of a pose may be larger and count as equal: of poses with equal errors
the one that rotates least is taken. After five steps of Gauss-Newton the pose from the initial one was .3 % farther
from a target beyond an elbow's limit than another start's: with 1e-3 a wolf's foreleg twisted by 160 degrees in a move
of a drag, with 1e-2 by 11."""

LEAST_EQUAL = 2e-3
"""Difference of two errors, in units of the chain's length, up to which they count as equal: just out of reach the
errors after five steps of Gauss-Newton differ by more than ``EQUAL_ERRORS`` of the least one. With 0 the spine of a
human whose head is led out of reach rotated about its own line by 158 to 177 degrees for 5 of 60 targets, with 5e-4 for
one, with 2e-3 for none."""

ON_LIMIT = 1e-6
"""Distance of a joint coordinate from its limit, half-sine, up to which the coordinate counts as at its limit. A joint
with a smaller range isn't moved off its limit."""

COLLINEAR = 1e-6
"""Square of the sine of the angle between two points, seen from the root, up to which they are on one line with it."""


def reach_within_limits(
    ops: Operations,
    reference: ConstrainedPose,
    target: Vector,
    tolerance: float,
    iterations: int,
    initial: ConstrainedPose | None = None,
) -> tuple[ConstrainedPose, Component, Component]:
    """Rotate bones, within their limits, until the tip is at the target or as near as any start brings it.

    Of the poses around the first one found that bring the tip to the target it is the one that rotates least from the
    reference pose.

    Args:
        reference: callers take the present pose, or the solver's pose without limits, clamped to the limits.
        target: from the root, in units of the chain's length.
        tolerance: distance from tip to target that counts as reached, in the same units.
        iterations: steps of least squares from a start, at most, and no more than ``REACH_STEPS``. A first
            guess (``FIRST_GUESS``) has the first start only.
        initial: the solution for a target near this one: the first start. None where there is no such solution: then
            the reference pose is the first start.

    Returns:
        pose after, distance from tip to target, starts used.
    """
    steps, tolerance = min(iterations, REACH_STEPS), SHARE_OF_TOLERANCE * tolerance
    first = reference if initial is None else initial
    pose, error = _least_rotation(ops, first, reference, target, tolerance, steps)
    starts = 1.0 + 0.0 * error
    rest = ops.active_indices(error <= tolerance)
    if rest is None or steps <= FIRST_GUESS:
        return pose, error, starts
    chain = pose.chain.gather(ops, rest)
    poses = [[gather_parts(ops, rest, joint) for joint in each.coordinates] for each in (pose, first, reference)]
    near = NEAREST if initial is None else NEAREST_FROM_INITIAL
    found = _reach_from_several_starts(ops, chain, poses, gather_parts(ops, rest, target), tolerance, steps, near)
    (starts,) = ops.scattered(rest, [starts], [3.0 + 2.0 * near + 0.0 * found[0][0]])
    pose = place(ops, pose.chain, scatter_vectors(ops, rest, pose.coordinates, found))
    return pose, distance_between(ops, pose.tip, target), starts


def _least_rotation(
    ops: Operations, first: ConstrainedPose, reference: ConstrainedPose, target: Vector, tolerance: float, steps: int
) -> tuple[ConstrainedPose, Component]:
    """Return the pose that least squares from the first start find, and its distance from the target."""
    start = _off_limits(ops, first, target, tolerance)
    least_change = LEAST_CHANGE if first is reference else LEAST_CHANGE_FROM_SOLUTION
    termination = Termination(tolerance, steps, least_change)
    found, error = rotate_least(ops, start, reference.coordinates, target, termination)
    if start is first or not ops.any(error > tolerance):
        return found, error
    twisted = _twisted(ops, start, target)
    if twisted is None:
        return found, error
    again, less = rotate_least(ops, twisted, reference.coordinates, target, termination)
    better = (error > tolerance) & (less < error)
    return again.where(ops, better, found), ops.where(better, less, error)


def _off_limits(ops: Operations, pose: ConstrainedPose, target: Vector, tolerance: float) -> ConstrainedPose:
    """Return the pose; of a straight chain, the pose with joints that are at their limits moved off them."""
    is_straight = is_on_one_line(ops, pose, target, tolerance)
    if not ops.any(is_straight):
        return pose
    bent: list[SwingTwist] = []
    for limits, joint in zip(pose.chain.limits, pose.coordinates, strict=True):
        parts = list(joint)
        for axis in (0, 2):
            lower, upper = limits.lower[axis], limits.upper[axis]
            inside = OFF_LIMIT * (upper - lower)
            if inside > 0.0:
                parts[axis] = ops.where(joint[axis] >= upper - ON_LIMIT, upper - inside, parts[axis])
                parts[axis] = ops.where(joint[axis] <= lower + ON_LIMIT, lower + inside, parts[axis])
        bent.append(clamp(ops, limits, (parts[0], parts[1], parts[2])))
    return place(ops, pose.chain, bent).where(ops, is_straight, pose)


def _twisted(ops: Operations, start: ConstrainedPose, target: Vector) -> ConstrainedPose | None:
    """Return a start with the first bone twisted toward a target behind the chain.

    None where no target is behind the chain, or the first bone can't twist by half a turn. The bones of a finger bend
    to one side only: they reach a target on the other side after half a twist of the first bone. Without this start 27
    of 400 solves of a finger needed several others, with it none: 7.9 ms (95th percentile) instead of 2.1.
    """
    first = start.chain.limits[0]
    if first.upper[1] - first.lower[1] <= math.pi:
        return None
    x, twist, z = start.coordinates[0]
    zero = 0.0 * twist
    angle = angle_about(ops, rotate(start.frames[0], (zero, zero + 1.0, zero)), start.tip, target)
    is_behind = ops.abs(angle) > 0.5 * math.pi
    if not ops.any(is_behind):
        return None
    twisted = clamp(ops, first, (x, twist + ops.where(is_behind, angle, 0.0), z))
    return place(ops, start.chain, [twisted, *start.coordinates[1:]])


def is_on_one_line(
    ops: Operations, pose: ConstrainedPose, target: Vector, tolerance: float, *others: Vector
) -> Condition:
    """Tell whether the joints of a chain and other points are on one line while its tip isn't at the target."""
    is_straight = distance_between(ops, pose.tip, target) > tolerance
    first = pose.joints[1]
    for point in (*pose.joints[2:], *others):
        off = cross(first, point)
        is_straight = is_straight & (dot(off, off) <= COLLINEAR * dot(first, first) * dot(point, point))
    return is_straight


def _reach_from_several_starts(
    ops: Operations,
    chain: ConstrainedChain,
    poses: Sequence[Sequence[SwingTwist]],
    target: Vector,
    tolerance: float,
    steps: int,
    count: int,
) -> Sequence[SwingTwist]:
    """Return the joint coordinates to which Newton's method leads from the best of the poses Gauss-Newton finds.

    Where that brings the tip to the target the pose is rotated back toward the reference pose.

    Args:
        poses: joint coordinates of the minimum of least squares, of the first start, and of the reference pose.
        count: how many feasible poses of each kind are starts.
    """
    minimum, first, reference = (array_of(pose) for pose in poses)
    goals, bones = array_of([target])[:, 0], chain.bones
    near = _near_poses(bones, goals, count)
    starts = np.concatenate([near, np.stack([minimum, reference], 1)], axis=1)
    gauss_newton = NewtonSteps(tolerance, GAUSS_NEWTON_STEPS, RESIDUAL_DAMPING)
    found, errors = _descend_all(bones, starts, goals, gauss_newton)
    best = _best(found, errors, first, tolerance)[:, None]
    found = np.take_along_axis(found, best[:, :, None, None], 1)
    found = _descend_all(bones, found, goals, NewtonSteps(tolerance, NEWTON_STEPS))[0]
    pose = place(ops, chain, _components(ops, found[:, 0]))
    reached = distance_between(ops, pose.tip, target) <= tolerance
    if ops.any(reached):
        termination = Termination(tolerance, min(steps, STEPS_BACK), LEAST_CHANGE_FROM_SOLUTION)
        rotated, error = rotate_least(ops, pose, poses[2], target, termination)
        pose = rotated.where(ops, reached & (error <= tolerance), pose)
    if bones.structure.wide.size:
        # Half-sines end at half a turn: there Newton's method stalls, and least squares continue from its pose. Without
        # them 11 of 1,200 poses of chains with free swings ended up to 0.005 of the length farther from their targets.
        pose, _, _ = descend(ops, pose, target, tolerance, steps)
    return pose.coordinates


def _best(found: Array, errors: Array, references: Array, tolerance: float) -> NDArray[np.int64]:
    """Return, of poses (L, K, B, 3) with errors (L, K), the number (L,) of the best.

    Of the poses at the target, or where none is, of those with errors equal to the least one (``EQUAL_ERRORS``,
    ``LEAST_EQUAL``), it is the one that rotates least from the references (L, B, 3).
    """
    least = errors.min(axis=1, keepdims=True)
    equal = np.maximum(np.maximum((1.0 + EQUAL_ERRORS) * least, least + LEAST_EQUAL), tolerance)
    near = np.where(least <= tolerance, tolerance, equal)
    return np.where(errors <= near, _squared_rotations(found, references), np.inf).argmin(axis=1)


def _squared_rotations(coordinates: Array, references: Array) -> Array:
    """Return the squared rotation (L, K), in half angles, from poses (L, B, 3) to poses (L, K, B, 3), approximately."""
    change = coordinates - references[:, None]
    twist = np.remainder(change[..., 1] + math.pi, 2.0 * math.pi) - math.pi
    return np.sum(change[..., 0] ** 2 + change[..., 2] ** 2 + 0.25 * twist**2, axis=-1)


def _near_poses(bones: Bones, goals: Array, count: int) -> Array:
    """Return, of each kind, so many feasible poses (L, K, B, 3) whose tips are nearest to targets (L, 3)."""
    # All batch items have the same chain, each with a rest frame of its own at the root.
    local = (bones.rests[:1, 0] @ bones.rests[:, 0].swapaxes(-1, -2) @ goals[:, :, None])[..., 0]
    poses, tips = bones.feasible()
    # |local - tip|^2 - |local|^2, which has the same order.
    distance = np.einsum("kpi,kpi->kp", tips, tips) - 2.0 * (tips @ local[:, None, :, None])[..., 0]
    first, second = np.argsort(distance, axis=2, kind="stable")[..., :count].swapaxes(0, 1)
    return np.concatenate([poses[0, first], poses[1, second]], axis=1)


def _descend_all(bones: Bones, starts: Array, goals: Array, steps: NewtonSteps) -> tuple[Array, Array]:
    """Return the nearest poses (L, K, B, 3) from starts of that shape, and their errors (L, K)."""
    items, count = starts.shape[:2]
    each = np.repeat(np.arange(items), count)
    found, errors = starts.reshape(-1, *starts.shape[2:]).copy(), np.empty(items * count)
    for begin in range(0, len(found), POSES_AT_ONCE):
        part = slice(begin, begin + POSES_AT_ONCE)
        found[part], errors[part] = nearest_poses(bones.gather(each[part]), found[part], goals[each[part]], steps)
    return found.reshape(starts.shape), errors.reshape(items, count)


def _components(ops: Operations, coordinates: Array) -> list[SwingTwist]:
    """Return joint coordinates (L, B, 3) as components."""
    return ops.split(coordinates[0] if len(coordinates) == 1 else coordinates, coordinates.shape[:1])
