# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""FABRIK: forward and backward reaching inverse kinematics of one chain (Aristidou and Lasenby 2011, Algorithm 1).

With joints ``p_1`` (root) to ``p_n`` (tip), link lengths ``d_i = |p_i+1 - p_i|`` and the target t:

1. Reach test. A target farther from the root than ``sum d_i`` is out of reach: all links point at it. Beyond the paper,
   a target nearer than ``2 max d_i - sum d_i`` is out of reach too (``reach_test``, ``straight_to_target``).
2. Stage 1, from the tip to the root: ``p_n = t``, then for i = n-1 ... 1 with ``lambda_i = d_i / |p_i+1 - p_i|``:
   ``p_i = (1 - lambda_i) p_i+1 + lambda_i p_i`` (the paper calls this stage forward reaching).
3. Stage 2, from the root to the tip: ``p_1`` is back where it was, then for i = 1 ... n-1:
   ``p_i+1 = (1 - lambda_i) p_i + lambda_i p_i+1`` (the paper calls this stage backward reaching).
4. Stop where ``|p_n - t| <= tolerance``, else go on with 2 (``sweep_to_target``).

Both stages together are a sweep (``both_passes``). After ``PLAIN_SWEEPS`` sweeps they are accelerated
(``acceleration``): near full extension FABRIK needs hundreds of sweeps without acceleration.

Joints have the root first and at the origin, in units of the chain's length.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import NamedTuple, cast

import numpy as np

from ..math.operations import TINY, Component, Components, Condition, Operations, Point, Selection, Vector
from ..math.vectors import combination, scale, vectors_of
from .acceleration import Mixing

PLAIN_SWEEPS = 6
"""Sweeps of a chain before acceleration begins: most targets are reached by then, and the first steps are too long for
a linear model of the sweep."""

COMPACT_BELOW = 0.75
"""Share of the batch items in the arrays that go on, up to which they alone are gathered: a gather costs a numpy call
for each component, however few items have ended."""


def reach_test(lengths: Sequence[float], distance: Component) -> tuple[Condition, Condition]:
    """Return whether a target is too far from the root, ``distance >= sum d_i``, and whether it is too near.

    Too near is ``distance <= 2 max d_i - sum d_i``: the longest link, with all others folded back along it.
    """
    total = sum(lengths)
    return distance >= total, distance <= 2.0 * max(lengths) - total


def within_reach(ops: Operations, lengths: Sequence[float], distance: Component) -> Component:
    """Return the distance between the shortest and the longest reach that is nearest to a given one."""
    total = sum(lengths)
    return ops.minimum(ops.maximum(distance, max(2.0 * max(lengths) - total, 0.0)), total)


def straight_to_target(ops: Operations, lengths: Sequence[float], along: Vector, too_far: Condition) -> list[Vector]:
    """Return the joints with the tip nearest to a target that is out of reach: all on the line from root to target.

    Where the target is too far all links point along the unit vector to it. Where it is too near the longest link does,
    and all others point back.
    """
    longest = max(range(len(lengths)), key=lengths.__getitem__)
    position = 0.0 * along[0]
    joints = [scale(along, position)]
    for j, length in enumerate(lengths):
        position = position + (length if j == longest else ops.where(too_far, length, -length))
        joints.append(scale(along, position))
    return joints


def middle_joint(
    ops: Operations, first: float, second: float, distance: Component, along: Vector, side: Vector
) -> Vector:
    """Return the joint between two links whose ends are given, from the root of the first one.

    In the triangle of the link lengths a, b and the distance d the joint is at ``p u + q v``, where u points from the
    root to the target and v, perpendicular to u, to the side of the bend; by the law of cosines:

        p = a cos = (d^2 + a^2 - b^2) / (2 d)
        q = a sin = sqrt(a^2 - p^2)

    ``a^2 - b^2`` is computed as ``(a - b)(a + b)``, which loses no digits where the links are nearly equal. The
    arguments are a, of the link at the root, b, d and the unit vectors u and v.
    """
    # Equal links and a target at the root: p is 0 / (0 + TINY) = 0, so that the joint is at ``a v``.
    p = (distance * distance + (first - second) * (first + second)) / (2.0 * distance + TINY)
    q = ops.sqrt(ops.maximum(first * first - p * p, 0.0))
    return combination(p, along, q, side)


class Links(NamedTuple):
    """The links of a chain in the orders of both passes."""

    lengths: Sequence[float]
    outward: list[tuple[int, float]]
    """From the root to the tip: each joint with the length of the link before it."""
    inward: list[tuple[int, float]]
    """From the joint before the tip to the joint after the root: each with the length of the link after it."""


@lru_cache(maxsize=64)
def links_of(lengths: tuple[float, ...]) -> Links:
    """Return links, given their lengths from the root to the tip: the same at every move of a drag."""
    return Links(lengths, [*enumerate(lengths, 1)], [*enumerate(lengths)][:0:-1])


def both_passes(ops: Operations, points: list[Point], links: Links, target: Point) -> None:
    """Move the joints by both stages, in place.

    Stage 1 puts the tip on the target and moves every joint toward the joint after it, to the link's length. The root
    is left out: stage 2 would put it back without having used its position. Stage 2 moves every joint toward the joint
    before it, to the link's length, from the fixed root to the tip.
    """
    points[-1] = target
    ops.pull(points, target, links.inward)
    ops.pull(points, points[0], links.outward)


@dataclass(frozen=True)
class Sweep:
    """A fixed-point map of a chain's joints: FABRIK's two passes, or a sweep of another solver."""

    run: Callable[[Operations, list[Point], Links, Point], None]
    """(ops, points, links, target): bring the tip nearer to the target, in place."""
    moved: slice
    """The joints on which the result of a sweep depends: those that acceleration mixes."""
    restore: Callable[[Operations, list[Point], Links], None]
    """(ops, points, links): give the links their lengths after mixing, in place, if the sweep needs that."""


class Stop(NamedTuple):
    """When to stop sweeping."""

    tolerance: float
    """Distance from tip to target, or error of a tree, at which a batch item stops."""
    iterations: int
    """Sweeps at most."""


FABRIK_SWEEP = Sweep(both_passes, slice(1, -1), lambda ops, points, links: None)
"""Both passes. Stage 1 sets the tip and does not use the root, and both stages set the lengths: only the inner joints
are mixed, and nothing is restored."""


def sweep_to_target(
    ops: Operations,
    joints: Sequence[Vector],
    lengths: Sequence[float],
    target: Vector,
    done: Condition,
    stop: Stop,
    sweep: Sweep = FABRIK_SWEEP,
) -> tuple[list[Vector], Component]:
    """Sweep until the tip is at the target (Algorithm 1's loop), accelerated after ``PLAIN_SWEEPS`` sweeps.

    The target is within reach. The links of the initial pose need not have their lengths, which add up to one. Batch
    items that are done stay as they are, and so do those where two joints coincide, with no direction between them.

    Returns:
        joints, and sweeps used.
    """
    initial, counts = ops.points(joints), [0.0 * target[0]]
    items = ops.active_indices(done)
    if items is None:
        return _vectors(initial), counts[0]
    (goal,), points = ops.points([target]), [*initial]
    ended_items: list[Selection] = []
    ended_points: list[list[Point]] = []
    is_whole = not ops.any(done)
    if not is_whole:
        goal, *points = ops.gather(items, [goal, *points])
    links, iterations, run = links_of(tuple(lengths)), stop.iterations, sweep.run
    # Squares, because distances are only compared; negative for the batch items that have ended and are still there.
    limit: Component = stop.tolerance * stop.tolerance + 0.0 * goal[0]
    mixing: Mixing | None = None
    before: Components = []
    try:
        for number in range(1, iterations + 1):
            if number > PLAIN_SWEEPS:
                mixing = mixing or Mixing(ops)
                before = [*chain.from_iterable(points[sweep.moved])]
            run(ops, points, links, goal)
            (tx, ty, tz), (ex, ey, ez) = goal, points[-1]
            dx, dy, dz = ex - tx, ey - ty, ez - tz
            error: Component = dx * dx + dy * dy + dz * dz  # |p_n - t|^2
            ended: Condition = (error <= limit) if number < iterations else (error == error) & (limit >= 0.0)
            if is_whole and ops.all(ended):
                return _vectors(points), number + 0.0 * error
            if ops.any(ended):
                is_whole = False
                ended_items += ops.gather(ended, [items])
                ended_points.append(ops.gather(ended, points))
                counts = ops.scattered(ended_items[-1], counts, [float(number)])
                limit = ops.where(ended, -1.0, limit)
                rest = ops.active_indices(limit < 0.0)
                if rest is None:
                    break
                if np.size(rest) <= COMPACT_BELOW * np.size(limit):
                    (items,) = ops.gather(rest, [items])
                    error, limit, *before = ops.gather(rest, [error, limit, *before])
                    goal, *points = ops.gather(rest, [goal, *points])
                    if mixing is not None:
                        mixing.gather(rest)
            if mixing is not None:
                mixed = mixing.next_input(before, [*chain.from_iterable(points[sweep.moved])], error)
                points[sweep.moved] = ops.points(vectors_of(mixed))
                sweep.restore(ops, points, links)
    except ZeroDivisionError:
        pass  # one pose with coinciding joints, which are NaN in a batch: its result is its initial pose
    return _vectors(ops.replaced(initial, ended_items, ended_points)), counts[0]


def _vectors(points: Sequence[Point]) -> list[Vector]:
    """Return points with the type of vectors: three components are unpacked from an array (3, B) as from a tuple."""
    return cast("list[Vector]", points)
