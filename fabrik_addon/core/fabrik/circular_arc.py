# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""An evenly bent chain: all joints on one circle, the tip on the target.

A polygon with given sides fits on a circle whenever its longest side is shorter than the others together, which is
when the target can be reached. So there is always a bow, whatever the chain looked like before: it gets a straight
chain out of the line with its target (the deadlock of the 2011 paper, section 5.4, and the 2016 paper, section 3.3)
and ends every other stall.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..math.operations import Component, Components, Operations, Vector, add_up
from ..math.vectors import Joints

HALVINGS = 54
"""Bisection steps: the angle is then exact to the last bit of a double."""


def circular_arc(ops: Operations, lengths: Sequence[float], distance: Component, along: Vector, side: Vector) -> Joints:
    """Return the joints of a chain bent evenly from the origin to a target.

    With s = 1 / diameter, a link of length l subtends half the angle h = asin(l s) at the circle's centre, and the
    chord over all links is sin(sum h) / s. The longest link may subtend more than half the circle, so its half angle,
    from 0 (straight) to pi (folded back), is what the bisection varies.

    Args:
        ops: the lanes' operations.
        lengths: of the links; the same for all lanes.
        distance: from the origin to the target, between the shortest and the longest reach.
        along: unit vector from the origin to the target.
        side: unit vector perpendicular to it, to which the chain bends.
    """
    longest = max(range(len(lengths)), key=lengths.__getitem__)
    low: Component = 0.0 * distance
    high: Component = 0.0 * distance + math.pi
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        half_angles, curvature = _half_angles(ops, lengths, longest, middle)
        # Beyond half a turn in all the links go round the circle more than once: a star, not a bow.
        total = add_up(half_angles)
        too_long = (total < math.pi) & (ops.sin(total) > distance * curvature)
        low, high = ops.choose(too_long, [middle, high], [low, middle])
    half_angles, _ = _half_angles(ops, lengths, longest, 0.5 * (low + high))
    # The angle between a chord of the circle and its first link is half of what the other links subtend.
    heading = add_up(half_angles[1:])
    p, q = 0.0 * distance, 0.0 * distance
    ps, qs = [p], [q]
    for j, length in enumerate(lengths):
        p, q = p + length * ops.cos(heading), q + length * ops.sin(heading)
        ps.append(p)
        qs.append(q)
        if j + 1 < len(lengths):
            heading = heading - half_angles[j] - half_angles[j + 1]
    x, y, z = ([p * a + q * s for p, q in zip(ps, qs, strict=True)] for a, s in zip(along, side, strict=True))
    return x, y, z


def _half_angles(
    ops: Operations, lengths: Sequence[float], longest: int, half_angle: Component
) -> tuple[Components, Component]:
    """Return every link's half angle and 1 / diameter, given the longest link's half angle."""
    curvature = ops.sin(half_angle) / lengths[longest]
    angles = [
        half_angle if j == longest else ops.asin(ops.minimum(length * curvature, 1.0))
        for j, length in enumerate(lengths)
    ]
    return angles, curvature
