# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reaching within joint limits: FABRIK says where to go, damped least squares go there without leaving the limits.

Least squares find the nearest pose that reaches, and can be caught between limits. Then they start again: from what
limits leave of FABRIK's own answer, from the middle of the joints' ranges, and from a fixed sequence of poses that
fills the ranges evenly (Halton 1960). So the cost is bounded, and the same input gives the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from .lanes import Component, Vector
from .least_squares import Limb, Placed, descend, place
from .limits import JointLimits, SwingTwist, clamp, rotation_of, swing_twist
from .vectors import Quaternion, multiply

STEPS = 40
"""Steps of least squares from one start; those that get there need about ten."""

SHARES = (0.5, 0.25, 0.75)
"""Where in their ranges all joints start together: bends of one side, less and more."""

CURLS = (0.1, 0.04, 0.17, 0.35)
"""The same for long chains of hinges, which curl up at a tenth of what each of them may do; the last to be tried."""

SPREAD = 8
"""Further starts, spread over the ranges."""

_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103)


def turns_of(ops: Any, limb: Limb, frames: Sequence[Quaternion]) -> list[SwingTwist]:
    """Return the turns that come nearest to frames, each bone in the frame that its parent has by then."""
    turns = []
    frame: Quaternion | None = None
    for rest, inherits, limits, wish in zip(limb.rests, limb.inherits, limb.limits, frames, strict=False):
        w, x, y, z = multiply(frame, rest) if inherits and frame is not None else rest
        turn = clamp(ops, limits, swing_twist(ops, multiply((w, -x, -y, -z), wish)))
        turns.append(turn)
        frame = multiply((w, x, y, z), rotation_of(ops, turn))
    return turns


def reach_within_limits(
    ops: Any,
    limb: Limb,
    present: Sequence[SwingTwist],
    advice: Sequence[SwingTwist],
    target: Vector,
    tolerance: float,
    steps: int,
) -> tuple[list[SwingTwist], Placed, Component, Component]:
    """Turn bones, within their limits, until the tip is at the target or as near as any start gets it.

    Args:
        ops: the lanes' operations.
        limb: the bones.
        present: turns of the bones before.
        advice: turns that come nearest to FABRIK's answer.
        target: where the tip should be.
        tolerance: distance from tip to target that counts as reached.
        steps: from each start, at most.

    Returns:
        turns after, where the bones then are, distance from tip to target, starts used.
    """
    best, _, error, _ = descend(ops, limb, present, target, tolerance, steps)
    starts = 0.0 * error + 1.0
    for start in (advice, *_starts(ops, limb.limits, error)):
        rest = ops.unfinished(error <= tolerance)
        if rest is None:
            break
        part = limb.keep(ops, rest)
        (kept_error, *kept_target) = ops.keep(rest, [error, *target])
        kept = [tuple(ops.keep(rest, turn)) for turn in start]
        found, _, found_error, _ = descend(ops, part, kept, tuple(kept_target), tolerance, steps)
        nearer = found_error < kept_error
        values = []
        for turn, found_turn in zip(best, found, strict=True):
            values += ops.choose(nearer, found_turn, ops.keep(rest, turn))
        into = [0.0 + part for turn in best for part in turn] + [0.0 + error, 0.0 + starts]
        kept_starts = ops.keep(rest, [starts])[0] + 1.0
        ops.put(rest, into, [*values, ops.where(nearer, found_error, kept_error), kept_starts])
        best = [(into[i], into[i + 1], into[i + 2]) for i in range(0, 3 * len(best), 3)]
        error, starts = into[-2:]
    return best, place(ops, limb, best), error, starts


def _starts(ops: Any, limits: Sequence[JointLimits], like: Component) -> Iterator[list[SwingTwist]]:
    """Yield poses to start from, the same whatever the pose was."""
    yield from (_all_at(ops, limits, like, share) for share in SHARES)
    for number in range(1, SPREAD + 1):
        turns = []
        axis = 0
        for joint in limits:
            parts = []
            for lower, upper in _ends(joint):
                share = _halton(number + 10, _PRIMES[axis % len(_PRIMES)])
                axis += lower < upper
                wide = lower if math.isfinite(lower) else -math.pi, upper if math.isfinite(upper) else math.pi
                parts.append(_between(*wide, share) + 0.0 * like)
            turns.append(clamp(ops, joint, (parts[0], parts[1], parts[2])))
        yield turns
    yield from (_all_at(ops, limits, like, share) for share in CURLS)


def _all_at(ops: Any, limits: Sequence[JointLimits], like: Component, share: float) -> list[SwingTwist]:
    return [clamp(ops, joint, tuple(_between(*ends, share) + 0.0 * like for ends in _ends(joint))) for joint in limits]


def _ends(joint: JointLimits) -> Iterator[tuple[float, float]]:
    yield from zip(joint.lower, joint.upper, strict=True)


def _between(lower: float, upper: float, share: float) -> float:
    # A free axis has no middle: it starts at rest.
    if not (math.isfinite(lower) and math.isfinite(upper)):
        return 0.0
    return lower + share * (upper - lower)


def _halton(number: int, base: int) -> float:
    share, unit = 0.0, 1.0
    while number > 0:
        unit /= base
        share += unit * (number % base)
        number //= base
    return share
