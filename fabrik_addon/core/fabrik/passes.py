# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""FABRIK: forward and backward reaching inverse kinematics of one chain (Aristidou & Lasenby 2011, Algorithm 1).

Joints are lists of components (see ``math.operations``), root first and at the origin, in units of the chain's length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

from ..math.active_items import ActiveItems
from ..math.operations import Component, Components, Operations, Point, Vector
from ..math.vectors import Joints
from .acceleration import Mixing

PLAIN_SWEEPS = 6
"""Sweeps before mixing begins: most targets are reached by then, and the first steps are too long to mix."""


def reach_test(lengths: Sequence[float], distance: Component) -> tuple[Component, Component]:
    """Tell whether a target is too far and whether it is too near for the links, whatever the joints do.

    Too near means inside the longest link's reach when all others together fold back along it.
    """
    total = sum(lengths)
    return distance >= total, distance <= 2.0 * max(lengths) - total


def straight_to_target(ops: Operations, lengths: Sequence[float], along: Vector, too_far: Component) -> Joints:
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


class Links(NamedTuple):
    """The links of a chain in the orders in which sweeps go over them."""

    lengths: Sequence[float]
    outward: list[tuple[int, float]]
    """From the root to the tip: each joint with the length of the link before it."""
    inward: list[tuple[int, float]]
    """From the joint before the tip to the one next to the root: each with the length of the link after it."""


def links_of(lengths: Sequence[float]) -> Links:
    """Return links, given their lengths from the root on."""
    return Links(lengths, [*enumerate(lengths, 1)], [*enumerate(lengths)][:0:-1])


def backward_pass(ops: Operations, points: list[Point], links: Links, target: Point) -> None:
    """Put the tip on the target and pull every joint after it, up to the one next to the root (stage 1).

    The root itself isn't moved: the forward pass would put it back without having looked at it.
    """
    points[-1] = target
    ops.pull(points, target, links.inward)


def forward_pass(ops: Operations, points: list[Point], links: Links) -> None:
    """Start from the fixed root and pull every joint after it, the tip last (stage 2)."""
    ops.pull(points, points[0], links.outward)


@dataclass(frozen=True)
class Sweeping:
    """A way to sweep over the joints of a chain again and again."""

    sweep: Callable[[Any, list[Point], Links, Point], None]
    """(ops, points, links, target): bring the tip nearer to the target, in place."""
    moved: slice
    """The joints on which a sweep's result depends."""
    restore: Callable[[Any, list[Point], Links], None]
    """(ops, points, links): make links as long as they should be, in place, where sweeps need that."""


def _both_passes(ops: Operations, points: list[Point], links: Links, target: Point) -> None:
    backward_pass(ops, points, links, target)
    forward_pass(ops, points, links)


BACK_AND_FORTH = Sweeping(_both_passes, slice(1, -1), lambda ops, points, links: None)
"""FABRIK's sweep: it puts the tip on the target itself, and restores lengths as it goes."""


def sweep_to_target(
    ops: Operations,
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
    began, links = [*points], links_of(lengths)
    leaving: ActiveItems | None = None
    if ops.any(done):
        leaving = ActiveItems(began)
        rest = leaving.end(done, 0, began)
        if rest is not None:
            goal, *points = ops.gather(rest, [goal, *points])
    mixing: Mixing | None = None
    enough = tolerance * tolerance
    before: Components = []
    try:
        for number in range(1, iterations + 1):
            if number > PLAIN_SWEEPS:
                mixing = mixing or Mixing(ops)
                before = [*chain.from_iterable(points[moved])]
            sweep(ops, points, links, goal)
            (tx, ty, tz), (ex, ey, ez) = goal, points[-1]
            dx, dy, dz = ex - tx, ey - ty, ez - tz
            error = dx * dx + dy * dy + dz * dz  # squared: it is only compared
            ended = error <= enough if number < iterations else error == error
            if ops.any(ended):
                if leaving is None and ops.all(ended):
                    return points, number + 0.0 * error
                leaving = leaving or ActiveItems(began)
                # NaN is where two joints met; alone that is a ZeroDivisionError.
                leaving.give_up(error != error)
                rest = leaving.end(ended, number, [*points])
                if rest is not None:
                    if not rest.size:
                        break
                    error, goal, *points = ops.gather(rest, [error, goal, *points])
                    if mixing is not None:
                        before = ops.gather(rest, before)
                        mixing.gather(rest)
            if mixing is not None:
                mixed = mixing.next_input(before, [*chain.from_iterable(points[moved])], error)
                points[moved] = ops.points([*zip(mixed[::3], mixed[1::3], mixed[2::3], strict=True)])
                sweeping.restore(ops, points, links)
    except ZeroDivisionError:
        pass  # the caller has a way out of it
    if leaving is None:
        return began, 0.0 * target[0]
    return leaving.result(), leaving.ended_at
