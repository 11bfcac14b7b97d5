# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""FABRIK: forward and backward reaching inverse kinematics of one chain (Aristidou & Lasenby 2011, Algorithm 1).

Joints are lists of components (see :mod:`.lanes`), root first and at the origin, in units of the chain's length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..lanes import Component, Components, Vector
from ..vectors import Joints
from .acceleration import Mixing

Sqrt = Callable[[Component], Component]

PLAIN_SWEEPS = 6
"""Sweeps before mixing begins: most targets are reached by then, and the first steps are too long to mix."""


def reach_test(lengths: Sequence[float], distance: Component) -> tuple[Component, Component]:
    """Tell whether a target is too far and whether it is too near for the links, whatever the joints do.

    Too near means inside the longest link's reach when all others together fold back along it.
    """
    shortest = 2.0 * max(lengths) - sum(lengths)
    return distance >= sum(lengths), distance <= shortest


def straight_to_target(ops: Any, lengths: Sequence[float], along: Vector, too_far: Component) -> Joints:
    """Return the joints nearest to a target that is out of reach: one straight line, with the longest link folded out.

    Too far, all links point at the target. Too near, the longest does and all others point back.
    """
    longest = max(range(len(lengths)), key=lengths.__getitem__)
    position = 0.0 * along[0]
    positions = [position]
    for j, length in enumerate(lengths):
        position = position + (length if j == longest else ops.where(too_far, length, -length))
        positions.append(position)
    x, y, z = ([p * a for p in positions] for a in along)
    return x, y, z


def backward_pass(
    x: Components, y: Components, z: Components, lengths: Sequence[float], target: Vector, sqrt: Sqrt
) -> None:
    """Put the tip on the target and pull every joint after it, up to the one next to the root (stage 1).

    The root itself isn't moved: the forward pass would put it back without having looked at it.
    """
    bx, by, bz = x[-1], y[-1], z[-1] = target
    for j in range(len(lengths) - 1, 0, -1):
        dx, dy, dz = x[j] - bx, y[j] - by, z[j] - bz
        share = lengths[j] / sqrt(dx * dx + dy * dy + dz * dz)
        x[j] = bx = bx + dx * share
        y[j] = by = by + dy * share
        z[j] = bz = bz + dz * share


def forward_pass(x: Components, y: Components, z: Components, lengths: Sequence[float], sqrt: Sqrt) -> None:
    """Start from the fixed root and pull every joint after it, the tip last (stage 2)."""
    ax, ay, az = x[0], y[0], z[0]
    for j, length in enumerate(lengths, 1):
        dx, dy, dz = x[j] - ax, y[j] - ay, z[j] - az
        share = length / sqrt(dx * dx + dy * dy + dz * dz)
        x[j] = ax = ax + dx * share
        y[j] = ay = ay + dy * share
        z[j] = az = az + dz * share


@dataclass(frozen=True)
class Sweeping:
    """A way to sweep over the joints of a chain again and again."""

    sweep: Callable[[Any, Components, Components, Components, Sequence[float], Vector], None]
    """(ops, x, y, z, lengths, target): bring the tip nearer to the target, in place."""
    moved: slice
    """The joints on which a sweep's result depends."""
    restore: Callable[[Any, Components, Components, Components, Sequence[float]], None]
    """(ops, x, y, z, lengths): make links as long as they should be, in place, where sweeps need that."""


def _both_passes(
    ops: Any, x: Components, y: Components, z: Components, lengths: Sequence[float], target: Vector
) -> None:
    backward_pass(x, y, z, lengths, target, ops.sqrt)
    forward_pass(x, y, z, lengths, ops.sqrt)


BACK_AND_FORTH = Sweeping(_both_passes, slice(1, -1), lambda ops, x, y, z, lengths: None)
"""FABRIK's sweep: it puts the tip on the target itself, and restores lengths as it goes."""


def sweep_to_target(
    ops: Any,
    joints: Joints,
    lengths: Sequence[float],
    target: Vector,
    done: Component,
    tolerance: float,
    iterations: int,
    sweeping: Sweeping = BACK_AND_FORTH,
) -> tuple[Joints, Component]:
    """Sweep until the tip is at the target, mixing the sweeps that take longer.

    Args:
        ops: the lanes' operations.
        joints: x, y, z of the joints before.
        lengths: of the links, adding up to one.
        target: a point within reach.
        done: the lanes to leave alone.
        tolerance: distance from tip to target at which a lane stops.
        iterations: sweeps at most.
        sweeping: what a sweep does.

    Returns:
        joints after and sweeps used. A lane where two joints meet has no direction to pull in and ends as it began.
    """
    moved, sweep = sweeping.moved, sweeping.sweep
    count, inner = len(joints[0]), len(joints[0][moved])
    sweeps = 0.0 * target[0]
    result = [0.0 + component for component in (*joints[0], *joints[1], *joints[2], sweeps)]
    rest = ops.unfinished(done)
    if rest is None:
        return joints, sweeps
    x, y, z = (ops.keep(rest, component) for component in joints)
    lanes, *target = ops.keep(rest, [ops.numbers(sweeps), *target])
    mixing = Mixing(ops)
    enough = tolerance * tolerance
    before: Components = []
    try:
        for number in range(1, iterations + 1):
            if number > PLAIN_SWEEPS:
                before = [*x[moved], *y[moved], *z[moved]]
            sweep(ops, x, y, z, lengths, target)
            tx, ty, tz = target
            dx, dy, dz = x[-1] - tx, y[-1] - ty, z[-1] - tz
            error = dx * dx + dy * dy + dz * dz  # squared: it is only compared
            going = error > enough
            if number == iterations:
                going = going & False
            if not ops.all(going):
                # NaN is where two joints met; alone that is a ZeroDivisionError.
                done, found = ops.negate(going), ops.negate(going) & (error == error)
                at, *values = ops.keep(found, [lanes, *x, *y, *z, 0.0 * error + number])
                ops.put(at, result, values)
                rest = ops.unfinished(done)
                if rest is None:
                    break
                x, y, z, before = (ops.keep(rest, component) for component in (x, y, z, before))
                lanes, error, *target = ops.keep(rest, [lanes, error, *target])
                mixing.keep(rest)
            if number > PLAIN_SWEEPS:
                mixed = mixing.next_input(before, [*x[moved], *y[moved], *z[moved]], error)
                x[moved], y[moved], z[moved] = mixed[:inner], mixed[inner : 2 * inner], mixed[2 * inner :]
                sweeping.restore(ops, x, y, z, lengths)
    except ZeroDivisionError:
        pass  # the caller has a way out of it
    return (result[:count], result[count : 2 * count], result[2 * count : 3 * count]), result[-1]
