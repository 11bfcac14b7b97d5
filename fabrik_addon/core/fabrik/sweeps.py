# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""FABRIK: forward and backward reaching inverse kinematics of one chain (Aristidou & Lasenby 2011, Algorithm 1).

Joints are lists of components (see :mod:`.lanes`), root first and at the origin, in units of the chain's length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from ..lanes import Component, Components, Point, Vector
from ..leaving import Leaving
from ..vectors import Joints
from .acceleration import Mixing

Pull = Callable[[Point, Point, float], Point]
"""(anchor, point, length): the point at that distance from the anchor, on the way to the other point."""

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


def backward_pass(points: list[Point], lengths: Sequence[float], target: Point, pull: Pull) -> None:
    """Put the tip on the target and pull every joint after it, up to the one next to the root (stage 1).

    The root itself isn't moved: the forward pass would put it back without having looked at it.
    """
    points[-1] = pulled = target
    for j in range(len(lengths) - 1, 0, -1):
        points[j] = pulled = pull(pulled, points[j], lengths[j])


def forward_pass(points: list[Point], lengths: Sequence[float], pull: Pull) -> None:
    """Start from the fixed root and pull every joint after it, the tip last (stage 2)."""
    pulled = points[0]
    for j, length in enumerate(lengths, 1):
        points[j] = pulled = pull(pulled, points[j], length)


@dataclass(frozen=True)
class Sweeping:
    """A way to sweep over the joints of a chain again and again."""

    sweep: Callable[[Any, list[Point], Sequence[float], Point], None]
    """(ops, points, lengths, target): bring the tip nearer to the target, in place."""
    moved: slice
    """The joints on which a sweep's result depends."""
    restore: Callable[[Any, list[Point], Sequence[float]], None]
    """(ops, points, lengths): make links as long as they should be, in place, where sweeps need that."""


def _both_passes(ops: Any, points: list[Point], lengths: Sequence[float], target: Point) -> None:
    pull = ops.pull
    backward_pass(points, lengths, target, pull)
    forward_pass(points, lengths, pull)


BACK_AND_FORTH = Sweeping(_both_passes, slice(1, -1), lambda ops, points, lengths: None)
"""FABRIK's sweep: it puts the tip on the target itself, and restores lengths as it goes."""


def sweep_to_target(
    ops: Any,
    joints: Sequence[Vector],
    lengths: Sequence[float],
    target: Vector,
    done: Component,
    tolerance: float,
    iterations: int,
    sweeping: Sweeping = BACK_AND_FORTH,
) -> tuple[list[Vector], Component]:
    """Sweep until the tip is at the target, mixing the sweeps that take longer.

    Args:
        ops: the lanes' operations.
        joints: before; lengths needn't be right.
        lengths: of the links, adding up to one.
        target: a point within reach.
        done: the lanes to leave alone.
        tolerance: distance from tip to target at which a lane stops.
        iterations: sweeps at most.
        sweeping: what a sweep does.

    Returns:
        joints after and sweeps used. A lane where two joints meet has no direction to pull in and ends as it began.
    """
    if ops.all(done):
        return list(joints), 0.0 * target[0]
    moved, sweep = sweeping.moved, sweeping.sweep
    points, goal = ops.points(joints), ops.point(target)
    began = [*points]
    leaving: Leaving | None = None
    if ops.any(done):
        leaving = Leaving(began)
        rest = leaving.end(done, 0, began)
        if rest is not None:
            goal, *points = ops.keep(rest, [goal, *points])
    mixing: Mixing | None = None
    enough = tolerance * tolerance
    before: Components = []
    try:
        for number in range(1, iterations + 1):
            if number > PLAIN_SWEEPS:
                mixing = mixing or Mixing(ops)
                before = [*chain.from_iterable(points[moved])]
            sweep(ops, points, lengths, goal)
            (tx, ty, tz), (ex, ey, ez) = goal, points[-1]
            dx, dy, dz = ex - tx, ey - ty, ez - tz
            error = dx * dx + dy * dy + dz * dz  # squared: it is only compared
            ended = error <= enough if number < iterations else error == error
            if ops.any(ended):
                if leaving is None and ops.all(ended):
                    return points, number + 0.0 * error
                leaving = leaving or Leaving(began)
                # NaN is where two joints met; alone that is a ZeroDivisionError.
                leaving.give_up(error != error)
                rest = leaving.end(ended, number, [*points])
                if rest is not None:
                    if not rest.size:
                        break
                    error, goal, *points = ops.keep(rest, [error, goal, *points])
                    if mixing is not None:
                        before = ops.keep(rest, before)
                        mixing.keep(rest)
            if mixing is not None:
                mixed = mixing.next_input(before, [*chain.from_iterable(points[moved])], error)
                points[moved] = ops.points([*zip(mixed[::3], mixed[1::3], mixed[2::3], strict=True)])
                sweeping.restore(ops, points, lengths)
    except ZeroDivisionError:
        pass  # the caller has a way out of it
    if leaving is None:
        return began, 0.0 * target[0]
    return leaving.result(), leaving.ended_at
