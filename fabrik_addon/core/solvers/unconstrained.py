# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the iterative relatives of FABRIK have in common on a chain without limits, before and after they iterate.

What no iteration helps with is done in closed form: a target out of reach, a chain on one line with its target, which
no turn brings nearer, and the pole, toward which the chain turns as one about the line from its root to its tip.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ..fabrik.chain_fabrik import choose_joints, circular_arc_where, on_one_line
from ..fabrik.passes import reach_test, straight_to_target
from ..goals.pole import bend_direction, bend_plane
from ..math.operations import TINY, Component, Operations, Vector
from ..math.quaternions import IDENTITY, Quaternion, from_to, multiply, rotate
from ..math.vectors import (
    NO_DIRECTION,
    Joints,
    distance_between,
    dot,
    first_direction,
    norm,
    perpendicular,
    points_of,
    rejection,
    scale,
)
from ..model.chain_start import StartPose
from ..problem import Options
from .solver import SolverResult

Iterate: TypeAlias = Callable[[Any, Joints, Sequence[float], Vector, float, int], tuple[Joints, Component]]
"""(ops, joints, lengths, target, tolerance, iterations): bring the tip to a target within reach; joints after and
iterations used."""

PERTURBATION = 0.999
"""Chord of the bow into which a chain on one line with its target is bent, over its own chord."""

AGAIN = 2
"""Further goes of a chain that no step brings nearer, each from a bow."""

POINTING = 1e-5
"""Distance by which turning to the pole must move a joint to be worth it: less is the rounding of a solved pose."""


def reach_freely(
    ops: Operations, start: StartPose, target: Vector, pole: Vector | None, options: Options, iterate: Iterate
) -> SolverResult:
    """Bring the tip to the target and the bend toward the pole, where there is one.

    Args:
        ops: the lanes' operations.
        start: the chain.
        target: from the root, in units of the chain's length.
        pole: the same, or None.
        options: tolerance and iterations.
        iterate: the solver itself.
    """
    joints, lengths, hint = start.joints, start.lengths, start.x_axes[0]
    tolerance = options.tolerance
    error = distance_between(ops, start.points[-1], target)
    done = error <= tolerance
    turn: Quaternion | None = None
    if pole is not None:
        done = done & _points_at_pole(ops, joints, pole)
        turn = _turn_to_pole(ops, joints, target, pole, hint, done)
        joints = _turned(joints, turn)
    distance = norm(ops, target)
    too_far, too_near = reach_test(lengths, distance)
    blocked = (too_far | too_near) & ops.negate(done)
    along = first_direction(ops, [target, start.points[-1], start.points[1]])
    if ops.any(blocked):
        joints = choose_joints(ops, blocked, straight_to_target(ops, lengths, along, too_far), joints)
    stuck = (
        ops.negate(done | blocked) & on_one_line(ops, points_of(joints), target) if len(lengths) > 1 else done & False
    )
    if ops.any(stuck):
        joints = _perturbed(ops, stuck, joints, lengths, pole, hint)

    count = len(joints[0])
    result = [0.0 + part for part in (*joints[0], *joints[1], *joints[2], ops.where(done, 0.0, 1.0 + 0.0 * error))]
    rest = ops.active_indices(done | blocked)
    if rest is not None:
        kept: Any = tuple(ops.gather(rest, component) for component in joints)
        goal, kept_hint = tuple(ops.gather(rest, target)), tuple(ops.gather(rest, hint))
        kept_pole = None if pole is None else tuple(ops.gather(rest, pole))
        (x, y, z), used = _iterated(ops, iterate, kept, lengths, goal, kept_pole, kept_hint, options)
        ops.scatter(rest, result, [*x, *y, *z, used])
    joints = (result[:count], result[count : 2 * count], result[2 * count : 3 * count])
    if pole is not None and turn is not None:
        last = _swivel(ops, joints, pole, done)
        joints, turn = _turned(joints, last), multiply(last, turn)
    points = list(zip(*joints, strict=True))
    frames = start.transport(ops, start, points, turn)
    return SolverResult(points, frames, result[-1])


def _iterated(
    ops: Operations,
    iterate: Iterate,
    joints: Joints,
    lengths: Sequence[float],
    target: Vector,
    pole: Vector | None,
    hint: Vector,
    options: Options,
) -> tuple[Joints, Component]:
    """Iterate, and once more where a chain was folded or stretched onto a line on the way, which stops any Jacobian."""
    (x, y, z), used = iterate(ops, joints, lengths, target, options.tolerance, options.iterations)
    for _ in range(AGAIN):
        arrived = distance_between(ops, (x[-1], y[-1], z[-1]), target) <= options.tolerance
        rest = ops.active_indices(arrived | (used >= options.iterations))
        if rest is None or len(lengths) == 1:
            break
        kept: Any = tuple(ops.gather(rest, component) for component in (x, y, z))
        goal, kept_hint = tuple(ops.gather(rest, target)), tuple(ops.gather(rest, hint))
        kept_pole = None if pole is None else tuple(ops.gather(rest, pole))
        bulged = _perturbed(ops, goal[0] == goal[0], kept, lengths, kept_pole, kept_hint)
        found, more = iterate(ops, bulged, lengths, goal, options.tolerance, options.iterations)
        result = [0.0 + part for part in (*x, *y, *z, used)]
        ops.scatter(rest, result, [*found[0], *found[1], *found[2], ops.gather(rest, [used])[0] + more])
        count = len(x)
        x, y, z, used = result[:count], result[count : 2 * count], result[2 * count : 3 * count], result[-1]
    return (x, y, z), used


def _perturbed(
    ops: Operations, where: Component, joints: Joints, lengths: Sequence[float], pole: Vector | None, hint: Vector
) -> Joints:
    """Bend chains that lie on a line evenly to one side, by little."""
    x, y, z = joints
    tip = (x[-1], y[-1], z[-1])
    along = first_direction(ops, [tip, (x[1], y[1], z[1])])
    hints = [hint] if pole is None else [scale(pole, 1.0 / (norm(ops, pole) + TINY)), hint]
    shortest = max(2.0 * max(lengths) - sum(lengths), 0.0)
    chord = ops.maximum(PERTURBATION * norm(ops, tip), 0.5 * (shortest + PERTURBATION))
    return circular_arc_where(ops, where, joints, lengths, chord, along, perpendicular(ops, along, hints))


def _turned(joints: Joints, q: Quaternion) -> Joints:
    """Turn a whole chain about its root."""
    x, y, z = zip(*(rotate(q, point) for point in zip(*joints, strict=True)), strict=True)
    return list(x), list(y), list(z)


def _turn_to_pole(
    ops: Operations, joints: Joints, target: Vector, pole: Vector, hint: Vector, done: Component
) -> Quaternion:
    """Return the turn about the root that brings tip and bend into the plane of root, target and pole."""
    x, y, z = joints
    along = first_direction(ops, [target, (x[-1], y[-1], z[-1]), (x[1], y[1], z[1])])
    _, turn = bend_plane(ops, joints, along, pole, hint)
    zero = 0.0 * x[0]
    w, qx, qy, qz = ops.choose(done, [zero + part for part in IDENTITY], turn)
    return w, qx, qy, qz


def _bend_and_wish(ops: Operations, joints: Joints, pole: Vector) -> tuple[Vector, Vector, Component]:
    """Return where a chain bends and where it should, perpendicular to its chord, and whether both can be told."""
    x, y, z = joints
    axis = first_direction(ops, [(x[-1], y[-1], z[-1]), (x[1], y[1], z[1])])
    bend, desired = bend_direction(ops, joints, axis), rejection(pole, axis)
    return bend, desired, (norm(ops, bend) > NO_DIRECTION) & (norm(ops, desired) > NO_DIRECTION)


def _points_at_pole(ops: Operations, joints: Joints, pole: Vector) -> Component:
    """Tell whether a chain's bend points at the pole, to what the floats of a pose can say."""
    bend, desired, usable = _bend_and_wish(ops, joints, pole)
    size = norm(ops, bend)
    off = norm(ops, rejection(bend, scale(desired, 1.0 / (norm(ops, desired) + TINY))))
    return ops.negate(usable) | ((off <= POINTING * (1.0 + size)) & (dot(bend, desired) > 0.0))


def _swivel(ops: Operations, joints: Joints, pole: Vector, done: Component) -> Quaternion:
    """Return the turn about a chain's chord that points its bend at the pole."""
    bend, desired, usable = _bend_and_wish(ops, joints, pole)
    zero = 0.0 * bend[0]
    axis = (zero, zero, zero + 1.0)
    keep = done | ops.negate(usable)
    bend = tuple(ops.choose(keep, axis, bend))
    desired = tuple(ops.choose(keep, axis, desired))
    x, y, z = joints
    return from_to(ops, bend, desired, (x[-1], y[-1], z[-1]))
