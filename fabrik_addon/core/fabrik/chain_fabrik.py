# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""One chain, one effector: FABRIK and what makes it robust, put together.

Joints have the root at the origin and are in units of the chain's length.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from ..goals.pole import bend_direction, bend_plane, bends_toward_pole
from ..math.law_of_cosines import middle_joint
from ..math.operations import Component, Components, Condition, Operations, Vector
from ..math.quaternions import IDENTITY, Quaternion
from ..math.vectors import (
    NO_DIRECTION,
    Joints,
    choose_parts,
    cross,
    distance_between,
    dot,
    first_direction,
    joints_of,
    norm,
    perpendicular,
    points_of,
    scale,
)
from .circular_arc import circular_arc
from .exact_finish import close_exactly
from .passes import reach_test, straight_to_target, sweep_to_target
from .planar_pose import bend_angles, planar_pose

ON_ONE_LINE = 1e-5
"""Offset from a common line below which chain and target count as one line: sweeps would take forever to bend it."""

ROUNDING = 3e-6
"""Error that Blender's single precision leaves of a pose that was solved, for chains of up to a hundred links."""


def reach_target(
    ops: Operations,
    points: Sequence[Vector],
    lengths: Sequence[float],
    target: Vector,
    pole: Vector | None,
    hint: Vector,
    tolerance: float,
    iterations: int,
) -> tuple[list[Vector], Component, Quaternion | None]:
    """Bring the tip to the target, bent toward the pole where there is one.

    Args:
        ops: the lanes' operations.
        points: joints before.
        lengths: of the links, adding up to one.
        target: where the tip should be.
        pole: point toward which the chain bends, or None.
        hint: direction in which a straight chain bends when there is no pole.
        tolerance: distance from tip to target that counts as reached.
        iterations: sweeps at most.

    Returns:
        the joints after, the sweeps used, and the bend plane's turn about the root (None without a pole).
    """
    tip = points[-1]
    error = distance_between(ops, tip, target)
    done = error <= tolerance
    if pole is not None and ops.any(done):
        done = done & bends_toward_pole(ops, joints_of(points), pole)
    if not ops.any(done):
        return _reach_lanes(ops, points, lengths, target, pole, hint, tolerance, iterations)

    # Lanes that are there already keep their pose but for the last digits.
    zero = 0.0 * error
    kept = list(points)
    # What single precision made of a solved pose is no gap: it would be closed for ever.
    there: Any = tuple(ops.choose(error <= ROUNDING, tip, target))
    close_exactly(ops, kept, lengths, there)
    result = [0.0 + part for part in (*chain.from_iterable(kept), zero, *(zero + part for part in IDENTITY))]
    rest = ops.active_indices(done)
    if rest is not None:
        going: Any = [tuple(ops.gather(rest, point)) for point in points]
        pole_kept = None if pole is None else tuple(ops.gather(rest, pole))
        target_kept, hint_kept = tuple(ops.gather(rest, target)), tuple(ops.gather(rest, hint))
        found, sweeps, turn = _reach_lanes(
            ops, going, lengths, target_kept, pole_kept, hint_kept, tolerance, iterations
        )
        ops.scatter(rest, result, [*chain.from_iterable(found), sweeps, *(turn or IDENTITY)])
    *flat, sweeps, w, qx, qy, qz = result
    return points_of((flat[::3], flat[1::3], flat[2::3])), sweeps, None if pole is None else (w, qx, qy, qz)


def _reach_lanes(
    ops: Operations,
    points: Sequence[Vector],
    lengths: Sequence[float],
    target: Vector,
    pole: Vector | None,
    hint: Vector,
    tolerance: float,
    iterations: int,
) -> tuple[list[Vector], Component, Quaternion | None]:
    """Return the joints at the target, the sweeps used and the turn of the bend plane where there is one."""
    distance = norm(ops, target)
    if ops.all(distance > NO_DIRECTION):
        along = scale(target, 1.0 / distance)
    else:
        along = first_direction(ops, [target, points[-1], points[1]])
    if pole is not None:
        return _reach_in_plane(ops, joints_of(points), lengths, target, along, pole, hint)
    side, _ = bend_plane(ops, joints_of(points), along, None, hint) if len(lengths) == 2 else (hint, None)
    reached, sweeps = _bend(ops, points, lengths, target, distance, along, side, tolerance, iterations)
    return reached, sweeps, None


def _reach_in_plane(
    ops: Operations, joints: Joints, lengths: Sequence[float], target: Vector, along: Vector, pole: Vector, hint: Vector
) -> tuple[list[Vector], Component, Quaternion]:
    """Return the joints at the target, bent toward the pole, the iterations used and the rotation of the bend plane.

    The pose is found in the plane's own coordinates, so that rounding can't take a joint out of the plane.
    """
    side, turn = bend_plane(ops, joints, along, pole, hint)
    p, q = bend_in_plane(ops, bend_angles(ops, joints), lengths, norm(ops, target))
    x, y, z = ([a * u + b * v for u, v in zip(p, q, strict=True)] for a, b in zip(along, side, strict=True))
    return points_of((x, y, z)), 0.0 * p[-1] + 1.0, turn


def bend_in_plane(
    ops: Operations, bends: Components, lengths: Sequence[float], distance: Component
) -> tuple[Components, Components]:
    """Return a chain bent to one side in a plane, its tip on the first axis: in closed form for up to two links.

    Args:
        ops: the operations of the components.
        bends: angles (radians) between the links before, at every inner joint.
        lengths: of the links, adding up to one.
        distance: from the root to the target; out of reach the chain lies along the first axis.

    Returns:
        the joints' coordinates along the axis and across it.
    """
    zero = 0.0 * distance
    p_axis, q_axis = (zero + 1.0, zero, zero), (zero, zero + 1.0, zero)
    too_far, too_near = reach_test(lengths, distance)
    blocked = too_far | too_near
    straight, _, _ = straight_to_target(ops, lengths, p_axis, too_far)
    if ops.all(blocked):
        return straight, [zero for _ in straight]
    if len(lengths) == 2:
        middle = middle_joint(ops, lengths[0], lengths[1], distance, p_axis, q_axis)
        p, q = [zero, middle[0], distance], [zero, middle[1], zero]
    else:
        nearest = max(2.0 * max(lengths) - sum(lengths), 0.0)
        p, q = planar_pose(ops, bends, lengths, ops.minimum(ops.maximum(distance, nearest), sum(lengths)))
    if ops.any(blocked):
        p, q = ops.choose(blocked, straight, p), ops.choose(blocked, [zero for _ in q], q)
    return p, q


def _bend(
    ops: Operations,
    points: Sequence[Vector],
    lengths: Sequence[float],
    target: Vector,
    distance: Component,
    along: Vector,
    side: Vector,
    tolerance: float,
    iterations: int,
) -> tuple[list[Vector], Component]:
    """Return the joints at the target and the sweeps used: a closed form where there is one, else sweeps.

    Args:
        ops: the lanes' operations.
        points: joints before; lengths needn't be right.
        lengths: of the links.
        target: where the tip should be.
        distance: from the root to it.
        along: unit vector from the root to the target.
        side: where a chain bends that has no bend of its own.
        tolerance: distance from tip to target that counts as reached.
        iterations: sweeps at most.
    """
    too_far, too_near = reach_test(lengths, distance)
    closed = blocked = too_far | too_near
    if ops.any(blocked):
        straight = straight_to_target(ops, lengths, along, too_far)
        points = points_of(choose_joints(ops, blocked, straight, joints_of(points)))
    if len(lengths) == 2:
        bent = (points[0], middle_joint(ops, lengths[0], lengths[1], distance, along, side), scale(along, distance))
        return [choose_parts(ops, blocked, a, b) for a, b in zip(points, bent, strict=True)], 0.0 * distance + 1.0
    deadlocked = ops.negate(blocked) & on_one_line(ops, points, target)
    if ops.any(deadlocked):
        side = perpendicular(ops, along, [side])
        points = points_of(circular_arc_where(ops, deadlocked, joints_of(points), lengths, distance, along, side))
        closed = blocked | deadlocked
    points, sweeps = sweep_to_target(ops, points, lengths, target, closed, tolerance, iterations)

    error = close_exactly(ops, points, lengths, target)
    stalled = (error > tolerance) & ops.negate(blocked)
    if ops.any(stalled):
        joints = joints_of(points)
        side = perpendicular(ops, along, [bend_direction(ops, joints, along), side])
        points = points_of(circular_arc_where(ops, stalled, joints, lengths, distance, along, side))
    return points, ops.maximum(sweeps, 0.0 * distance + 1.0)


def on_one_line(ops: Operations, points: Sequence[Vector], target: Vector) -> Condition:
    """Tell whether all joints and the target lie on one line: no sweep ever leaves it."""
    first = points[1]
    limit = ON_ONE_LINE * ON_ONE_LINE * dot(first, first)
    off = cross(first, target)
    straight = dot(off, off) <= limit
    for point in points[2:]:
        if not ops.any(straight):
            break
        off = cross(first, point)
        straight = straight & (dot(off, off) <= limit)
    return straight


def circular_arc_where(
    ops: Operations,
    where: Component,
    joints: Joints,
    lengths: Sequence[float],
    distance: Component,
    along: Vector,
    side: Vector,
) -> Joints:
    """Return the joints with a bow in the lanes where the condition holds."""
    distance, *directions = ops.gather(where, [distance, *along, *side])
    bowed = circular_arc(ops, lengths, distance, tuple(directions[:3]), tuple(directions[3:]))
    x, y, z = ([0.0 + part for part in component] for component in joints)
    for into, values in zip((x, y, z), bowed, strict=True):
        ops.scatter(where, into, values)
    return x, y, z


def choose_joints(ops: Operations, where: Component, yes: Joints, no: Joints) -> Joints:
    """Choose, lane by lane, between two poses of a chain."""
    x, y, z = (ops.choose(where, a, b) for a, b in zip(yes, no, strict=True))
    return x, y, z
