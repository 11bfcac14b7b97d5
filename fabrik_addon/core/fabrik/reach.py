# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""One chain, one effector: FABRIK and what makes it robust, put together.

Joints have the root at the origin and are in units of the chain's length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..lanes import Component, Vector, add_up
from ..poles.pole import bend_direction, bend_plane, points_at_pole, reflect_to_pole
from ..vectors import (
    IDENTITY,
    PARALLEL,
    Joints,
    Quaternion,
    cross,
    dot,
    first_direction,
    gap,
    norm,
    perpendicular,
    scale,
)
from .bow import bow
from .closing import close_gap
from .curl import bends, curl
from .sweeps import reach_test, straight_to_target, sweep_to_target
from .two_link import middle_joint

ON_ONE_LINE = 1e-5
"""Offset from a common line below which chain and target count as one line: sweeps would take forever to bend it."""

ROUNDING = 3e-6
"""Error that Blender's single precision leaves of a pose that was solved, for chains of up to a hundred links."""


def reach_target(
    ops: Any,
    joints: Joints,
    lengths: Sequence[float],
    target: Vector,
    pole: Vector | None,
    hint: Vector,
    tolerance: float,
    iterations: int,
) -> tuple[Joints, Component, Quaternion | None]:
    """Bring the tip to the target, bent toward the pole where there is one.

    Args:
        ops: the lanes' operations.
        joints: x, y, z of the joints before.
        lengths: of the links, adding up to one.
        target: where the tip should be.
        pole: point toward which the chain bends, or None.
        hint: direction in which a straight chain bends when there is no pole.
        tolerance: distance from tip to target that counts as reached.
        iterations: sweeps at most.

    Returns:
        the joints after, the sweeps used, and the bend plane's turn about the root (None without a pole).
    """
    tip = _joint(joints, -1)
    error = gap(ops, tip, target)
    done = error <= tolerance
    if pole is not None and ops.any(done):
        done = done & points_at_pole(ops, joints, pole)
    if not ops.any(done):
        return _reach_lanes(ops, joints, lengths, target, pole, hint, tolerance, iterations)

    # Lanes that are there already keep their pose but for the last digits.
    count, zero = len(joints[0]), 0.0 * error
    x, y, z = (list(component) for component in joints)
    # What single precision made of a solved pose is no gap: it would be closed for ever.
    there: Any = tuple(ops.choose(error <= ROUNDING, tip, target))
    close_gap(ops, x, y, z, lengths, there)
    result = [0.0 + part for part in (*x, *y, *z, zero, *(zero + part for part in IDENTITY))]
    rest = ops.unfinished(done)
    if rest is not None:
        kept = tuple(ops.keep(rest, component) for component in joints)
        pole_kept = None if pole is None else tuple(ops.keep(rest, pole))
        target_kept, hint_kept = tuple(ops.keep(rest, target)), tuple(ops.keep(rest, hint))
        (x, y, z), sweeps, turn = _reach_lanes(
            ops, kept, lengths, target_kept, pole_kept, hint_kept, tolerance, iterations
        )
        ops.put(rest, result, [*x, *y, *z, sweeps, *(turn or IDENTITY)])
    joints = (result[:count], result[count : 2 * count], result[2 * count : 3 * count])
    w, qx, qy, qz = result[-4:]
    return joints, result[-5], None if pole is None else (w, qx, qy, qz)


def _joint(joints: Joints, j: int) -> Vector:
    """Return the position of one joint."""
    x, y, z = joints
    return x[j], y[j], z[j]


def _reach_lanes(
    ops: Any,
    joints: Joints,
    lengths: Sequence[float],
    target: Vector,
    pole: Vector | None,
    hint: Vector,
    tolerance: float,
    iterations: int,
) -> tuple[Joints, Component, Quaternion | None]:
    """Return the joints at the target, the sweeps used and the turn of the bend plane where there is one."""
    distance = norm(ops, target)
    if ops.all(distance > PARALLEL):
        along = scale(target, 1.0 / distance)
    else:
        along = first_direction(ops, [target, _joint(joints, -1), _joint(joints, 1)])
    if pole is not None:
        return _reach_in_plane(ops, joints, lengths, target, along, pole, hint, tolerance, iterations)
    side, _ = bend_plane(ops, joints, along, None, hint) if len(lengths) == 2 else (hint, None)
    joints, sweeps = _bend(ops, joints, lengths, target, distance, along, side, tolerance, iterations)
    return joints, sweeps, None


def _reach_in_plane(
    ops: Any,
    joints: Joints,
    lengths: Sequence[float],
    target: Vector,
    along: Vector,
    pole: Vector,
    hint: Vector,
    tolerance: float,
    iterations: int,
) -> tuple[Joints, Component, Quaternion]:
    """Return the joints at the target and pointing at the pole, the sweeps used and the turn of the bend plane.

    The problem is solved in the plane's own coordinates, so that rounding can't take a joint out of it.
    """
    side, turn = bend_plane(ops, joints, along, pole, hint)
    distance = norm(ops, target)
    zero = 0.0 * distance
    p_axis, q_axis = (zero + 1.0, zero, zero), (zero, zero + 1.0, zero)

    angles = bends(ops, joints)
    planar = curl(ops, angles, lengths, distance)
    straight = add_up(angles) < ON_ONE_LINE
    if len(lengths) > 2 and ops.any(straight):
        planar = bow_where(ops, straight, planar, lengths, distance, p_axis, q_axis)
    (p, q, _), sweeps = _bend(
        ops, planar, lengths, (distance, zero, zero), distance, p_axis, q_axis, tolerance, iterations
    )
    reflect_to_pole(ops, p, q, (dot(pole, along), dot(pole, side)))
    x, y, z = ([a * u + b * v for u, v in zip(p, q, strict=True)] for a, b in zip(along, side, strict=True))
    return (x, y, z), sweeps, turn


def _bend(
    ops: Any,
    joints: Joints,
    lengths: Sequence[float],
    target: Vector,
    distance: Component,
    along: Vector,
    side: Vector,
    tolerance: float,
    iterations: int,
) -> tuple[Joints, Component]:
    """Return the joints at the target and the sweeps used: a closed form where there is one, else sweeps.

    Args:
        ops: the lanes' operations.
        joints: of the chain before; lengths needn't be right.
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
        joints = choose_joints(ops, blocked, straight_to_target(ops, lengths, along, too_far), joints)
    if len(lengths) == 2:
        bx, by, bz = middle_joint(ops, lengths[0], lengths[1], distance, along, side)
        (x, y, z), (tx, ty, tz) = joints, scale(along, distance)
        return choose_joints(
            ops, blocked, joints, ([x[0], bx, tx], [y[0], by, ty], [z[0], bz, tz])
        ), 0.0 * distance + 1.0
    deadlocked = ops.negate(blocked) & on_one_line(ops, joints, target)
    if ops.any(deadlocked):
        side = perpendicular(ops, along, [side])
        joints = bow_where(ops, deadlocked, joints, lengths, distance, along, side)
        closed = blocked | deadlocked
    joints, sweeps = sweep_to_target(ops, joints, lengths, target, closed, tolerance, iterations)

    error = close_gap(ops, *joints, lengths, target)
    stalled = (error > tolerance) & ops.negate(blocked)
    if ops.any(stalled):
        bend = bend_direction(ops, joints, along)
        joints = bow_where(ops, stalled, joints, lengths, distance, along, perpendicular(ops, along, [bend, side]))
    return joints, ops.maximum(sweeps, 0.0 * distance + 1.0)


def on_one_line(ops: Any, joints: Joints, target: Vector) -> Component:
    """Tell whether all joints and the target lie on one line: no sweep ever leaves it."""
    first = _joint(joints, 1)
    limit = ON_ONE_LINE * ON_ONE_LINE * dot(first, first)
    off = cross(first, target)
    straight = dot(off, off) <= limit
    for j in range(2, len(joints[0])):
        if not ops.any(straight):
            break
        off = cross(first, _joint(joints, j))
        straight = straight & (dot(off, off) <= limit)
    return straight


def bow_where(
    ops: Any,
    where: Component,
    joints: Joints,
    lengths: Sequence[float],
    distance: Component,
    along: Vector,
    side: Vector,
) -> Joints:
    """Return the joints with a bow in the lanes where the condition holds."""
    distance, *directions = ops.keep(where, [distance, *along, *side])
    bowed = bow(ops, lengths, distance, tuple(directions[:3]), tuple(directions[3:]))
    x, y, z = ([0.0 + part for part in component] for component in joints)
    for into, values in zip((x, y, z), bowed, strict=True):
        ops.put(where, into, values)
    return x, y, z


def choose_joints(ops: Any, where: Component, yes: Joints, no: Joints) -> Joints:
    """Choose, lane by lane, between two poses of a chain."""
    x, y, z = (ops.choose(where, a, b) for a, b in zip(yes, no, strict=True))
    return x, y, z
