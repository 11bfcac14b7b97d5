# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The circular-arc pose: all joints on one circle, the tip on the target.

With s = 1 / diameter, a link of length l subtends half the angle h = asin(l s) at the circle's centre, the chord over
all links is sin(sum h) / s, and a chain bends by h_j + h_j+1 at the joint between links j and j + 1. The links and the
line root-target are the sides of a polygon. A polygon with given sides fits on a circle whenever its longest side is
shorter than the others together, which is when the target can be reached. So every target in reach has a circular-arc
pose, whatever the pose before: it takes a straight chain out of the line with its target, where the passes of FABRIK
never move a joint off it (the deadlock of the 2011 paper, section 5.4, and the 2016 paper, section 3.3), and reaches
where they stall.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from ..math.operations import SCALAR, Component, Components, Operations, Vector, add_up
from ..math.vectors import combination

ARC_HALVINGS = 54
"""Bisections of the longest link's half angle: pi / 2^54 is 2e-16, the rounding of a double."""


def circular_arc(
    ops: Operations, lengths: Sequence[float], distance: Component, along: Vector, side: Vector
) -> list[Vector]:
    """Return the joints of the circular-arc pose from the origin to a target.

    Args:
        lengths: of the links; the same for all batch items.
        distance: from the origin to the target, between the shortest and the longest reach.
        along: unit vector from the origin to the target.
        side: unit vector perpendicular to it, to which the chain bends.
    """
    half_angles = _half_angles_at(ops, lengths, distance)
    # The angle between a chord of the circle and its first link is half of what the other links subtend.
    heading = add_up(half_angles[1:])
    p, q = 0.0 * distance, 0.0 * distance
    joints = [combination(p, along, q, side)]
    for j, length in enumerate(lengths):
        p, q = p + length * ops.cos(heading), q + length * ops.sin(heading)
        joints.append(combination(p, along, q, side))
        if j + 1 < len(lengths):
            heading = heading - half_angles[j] - half_angles[j + 1]
    return joints


@lru_cache(maxsize=256)
def closed_bends(lengths: tuple[float, ...]) -> tuple[float, ...]:
    """Return the bend angles (radians, at every inner joint) of the circular-arc pose at the shortest reach.

    The tip is at the root, or as near to it as the longest link allows. The angles depend on the lengths alone; they
    are cached because the bisection takes longer than all the rest of a pose in a plane.
    """
    shortest = max(2.0 * max(lengths) - sum(lengths), 0.0)
    half_angles = _half_angles_at(SCALAR, lengths, shortest)
    return tuple(float(a + b) for a, b in pairwise(half_angles))


def _half_angles_at(ops: Operations, lengths: Sequence[float], distance: Component) -> Components:
    """Return every link's half angle h_j with the tip at a distance, by bisection of the longest link's half angle.

    The chord ``sin(sum h) / s`` falls as the longest link's half angle grows from 0 (straight) to pi (folded back). The
    diameter can't take its place: the longest link may subtend more than half the circle, and there are two arcs of one
    diameter.
    """
    longest = max(range(len(lengths)), key=lengths.__getitem__)
    low: Component = 0.0 * distance
    high: Component = 0.0 * distance + math.pi
    for _ in range(ARC_HALVINGS):
        middle = 0.5 * (low + high)
        half_angles, inverse_diameter = _half_angles(ops, lengths, longest, middle)
        # Half angles that add up to more than pi lead round the circle more than once: a star, not an arc.
        total = add_up(half_angles)
        too_long = (total < math.pi) & (ops.sin(total) > distance * inverse_diameter)
        low, high = ops.choose(too_long, [middle, high], [low, middle])
    half_angles, _ = _half_angles(ops, lengths, longest, 0.5 * (low + high))
    return half_angles


def _half_angles(
    ops: Operations, lengths: Sequence[float], longest: int, half_angle: Component
) -> tuple[Components, Component]:
    """Return every link's half angle and s = 1 / diameter, given the longest link's half angle."""
    inverse_diameter = ops.sin(half_angle) / lengths[longest]
    angles = [
        half_angle if j == longest else ops.asin(ops.minimum(length * inverse_diameter, 1.0))
        for j, length in enumerate(lengths)
    ]
    return angles, inverse_diameter
