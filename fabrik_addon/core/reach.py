# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""One chain, one effector: FABRIK and what makes it robust, put together.

Joints have the root at the origin and are in units of the chain's length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .bow import bow
from .closing import close_gap
from .fabrik import reach_test, straight_to_target, sweep_to_target
from .lanes import Component, Vector
from .pole import bend_direction, bend_plane, flatten, points_at_pole, turn_joints_to_pole
from .two_link import middle_joint
from .vectors import IDENTITY, Joints, Quaternion, cross, dot, first_direction, gap, norm, perpendicular

STRAIGHT = 1e-5
"""Offset from a common line below which chain and target count as one line: sweeps would take forever to bend it."""

EXACT = 1e-13
"""Gap between tip and target that isn't worth closing."""


@dataclass(frozen=True)
class Reach:
    """Where a chain ended up, lane by lane."""

    joints: Joints
    turn: Quaternion | None
    """Turn of the bend plane about the root; None without a pole."""
    sweeps: Component
    blocked: Component
    """Whether the target is too far or too near for the links."""


def reach_target(
    ops: Any,
    joints: Joints,
    lengths: Sequence[float],
    target: Vector,
    pole: Vector | None,
    hint: Vector,
    tolerance: float,
    iterations: int,
) -> Reach:
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
    """
    along = first_direction(ops, [target, joint(joints, -1), joint(joints, 1)])
    distance = norm(ops, target)
    too_far, too_near = reach_test(lengths, distance)
    blocked = too_far | too_near
    done = gap(ops, joint(joints, -1), target) <= tolerance
    if pole is not None and ops.any(done):
        done = done & points_at_pole(ops, joints, pole)

    side, turn, sweeps = hint, None, 0.0 * distance
    if ops.unfinished(done) is not None:
        start = joints
        if pole is not None or len(lengths) == 2:
            side, plane_turn = bend_plane(ops, joints, along, pole, hint)
            if pole is not None:
                start = _choose(ops, done, joints, flatten(joints, plane_turn, along, side))
                turn = tuple(ops.choose(done, [0.0 * distance + part for part in IDENTITY], plane_turn))
        start, closed = _close_directly(ops, start, lengths, target, distance, along, side, too_far, too_near, done)
        joints, sweeps = sweep_to_target(ops, start, lengths, target, closed, tolerance, iterations)
        sweeps = ops.where(done, 0, ops.maximum(sweeps, 1))

    x, y, z = joints = tuple(list(component) for component in joints)
    error = gap(ops, joint(joints, -1), target)
    if ops.any(ops.negate(error <= EXACT)):
        error = close_gap(ops, x, y, z, target)
        # NaN, where two joints met, is not within the tolerance either.
        stalled = ops.negate(error <= tolerance) & ops.negate(blocked)
        if ops.any(stalled):
            if pole is None:
                bend = bend_direction(ops, joints, along)
                side = perpendicular(ops, along, [tuple(ops.choose(bend[0] == bend[0], bend, hint)), hint])
            joints = _bow_where(ops, stalled, joints, lengths, distance, along, side)
    if pole is not None:
        turn_joints_to_pole(ops, joints, pole)
    return Reach(joints, turn, sweeps, blocked)


def joint(joints: Joints, j: int) -> Vector:
    """Return the position of one joint."""
    x, y, z = joints
    return x[j], y[j], z[j]


def _close_directly(
    ops: Any,
    joints: Joints,
    lengths: Sequence[float],
    target: Vector,
    distance: Component,
    along: Vector,
    side: Vector,
    too_far: Component,
    too_near: Component,
    done: Component,
) -> tuple[Joints, Component]:
    """Solve the lanes that need no sweeps, and return which need none: out of reach, two links, or on one line."""
    closed = done | too_far | too_near
    if ops.any(closed):
        straight = straight_to_target(ops, lengths, along, too_far)
        joints = _choose(ops, done | ops.negate(closed), joints, straight)
    if len(lengths) == 2:
        bx, by, bz = middle_joint(ops, *lengths, distance, along, side)
        (x, y, z), (tx, ty, tz) = joints, target
        bent = ([x[0], bx, tx], [y[0], by, ty], [z[0], bz, tz])
        return _choose(ops, closed, joints, bent), closed | True
    deadlocked = ops.negate(closed) & _on_one_line(ops, joints, target)
    if ops.any(deadlocked):
        side = perpendicular(ops, along, [side])
        joints = _bow_where(ops, deadlocked, joints, lengths, distance, along, side)
    return joints, closed | deadlocked


def _on_one_line(ops: Any, joints: Joints, target: Vector) -> Component:
    """Tell whether all joints and the target lie on one line: no sweep ever leaves it."""
    first = joint(joints, 1)
    limit = STRAIGHT * STRAIGHT * dot(first, first)
    off = cross(first, target)
    straight = dot(off, off) <= limit
    for j in range(2, len(joints[0])):
        if not ops.any(straight):
            break
        off = cross(first, joint(joints, j))
        straight = straight & (dot(off, off) <= limit)
    return straight


def _bow_where(
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
    result = tuple([0.0 + part for part in component] for component in joints)
    for into, values in zip(result, bowed, strict=True):
        ops.put(where, into, values)
    return result  # type: ignore[return-value]


def _choose(ops: Any, where: Component, yes: Joints, no: Joints) -> Joints:
    x, y, z = (ops.choose(where, a, b) for a, b in zip(yes, no, strict=True))
    return x, y, z
