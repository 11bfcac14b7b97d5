# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""An evenly bent chain as nodes: all joints on one circle, the tip on the target, as ``core.bow``.

Instead of bisecting, Newton's method starts from the arc of a chain of many links and keeps to the bracket.
"""

from __future__ import annotations

import math
from typing import Any

from .groups import shared_group
from .nodes import Nodes, Value
from .passes import Joints

_ROUNDING = 1e-5
"""Of a half angle in single precision, generously."""


def bow_group(count: int) -> Any:
    """Return the group of the bow: distance, chain length, lengths, steps → joints.

    The joints lie in a plane, from the origin along +Y, bent toward +X.
    """

    def fill(nodes: Nodes) -> None:
        distance = nodes.input("Distance", "NodeSocketFloat")
        total = nodes.input("Chain length", "NodeSocketFloat")
        lengths = nodes.inputs("Length", count, "NodeSocketFloat")
        steps = nodes.input("Steps", "NodeSocketInt")
        with nodes.frame("First guess: an arc of the same chord"):
            longest = lengths[0]
            for length in lengths[1:]:
                longest = nodes.maximum(longest, length)
            is_longest = _first_of([length >= longest for length in lengths], nodes)
            gap = nodes.maximum(1.0 - distance / total, 0.0)
            guess = nodes.sqrt(6.0 * gap) * nodes.multiply_add(gap, math.pi / math.sqrt(6.0) - 1.0, 1.0)
            half_angle = guess * (longest / total)
        with nodes.frame("Newton's method for half the angle of the longest link"):
            found, *_ = nodes.repeat(
                steps,
                {"Half angle": ('FLOAT', half_angle), "Low": ('FLOAT', 0.0), "High": ('FLOAT', math.pi)},
                lambda half_angle, low, high: _newton(
                    nodes, distance, lengths, longest, is_longest, (half_angle, low, high)
                ),
            )
        with nodes.frame("Links on the circle"):
            angles, _ = _half_angles(nodes, lengths, longest, is_longest, found)
            joints = _lay(nodes, lengths, angles)
        nodes.outputs("Joint", joints)

    return shared_group(f"FABRIK bow, {count} links", fill)


def _first_of(conditions: list[Value], nodes: Nodes) -> list[Value]:
    """Return conditions of which only the first that holds is left."""
    number = nodes.first_true(conditions)
    return [nodes.compare_int('EQUAL', number, i) for i in range(len(conditions))]


def _half_angles(
    nodes: Nodes, lengths: list[Value], longest: Value, is_longest: list[Value], half_angle: Value
) -> tuple[list[Value], Value]:
    """Return every link's half angle and 1 / diameter, given the longest link's half angle."""
    curvature = nodes.scalar('SINE', half_angle) / longest
    angles = [
        nodes.switch(is_it, half_angle, nodes.scalar('ARCSINE', nodes.minimum(length * curvature, 1.0)), 'FLOAT')
        for length, is_it in zip(lengths, is_longest, strict=True)
    ]
    return angles, curvature


def _newton(
    nodes: Nodes,
    distance: Value,
    lengths: list[Value],
    longest: Value,
    is_longest: list[Value],
    guess: tuple[Value, Value, Value],
) -> list[Value]:
    """Return a better half angle of the longest link and its bracket."""
    half_angle, low, high = guess
    angles, curvature = _half_angles(nodes, lengths, longest, is_longest, half_angle)
    growth = nodes.scalar('COSINE', half_angle) / longest
    total: Value = 0.0
    slope: Value = 0.0
    for length, angle, is_it in zip(lengths, angles, is_longest, strict=True):
        total = total + angle
        # The derivative of asin(l c) is l c' / cos(asin(l c)); the longest link's is 1.
        own = nodes.switch(is_it, 1.0, length * growth / nodes.maximum(nodes.scalar('COSINE', angle), 1e-4), 'FLOAT')
        slope = slope + own
    short_of = nodes.scalar('SINE', total) - distance * curvature
    is_too_long = (total < math.pi) & (short_of > 0.0)
    low = nodes.switch(is_too_long, half_angle, low, 'FLOAT')
    high = nodes.switch(is_too_long, high, half_angle, 'FLOAT')
    better = half_angle - short_of / (nodes.scalar('COSINE', total) * slope - distance * growth)
    # Where it has converged rounding may put it just outside.
    is_inside = (better > low - _ROUNDING) & (better < high + _ROUNDING) & (total < math.pi)
    return [nodes.switch(is_inside, better, (low + high) * 0.5, 'FLOAT'), low, high]


def _lay(nodes: Nodes, lengths: list[Value], half_angles: list[Value]) -> Joints:
    """Lay links on the circle, from the origin."""
    heading: Value = 0.0
    for angle in half_angles[1:]:
        heading = heading + angle
    joints: Joints = []
    for j, length in enumerate(lengths[:-1]):
        link = nodes.combine(nodes.scalar('SINE', heading), nodes.scalar('COSINE', heading), 0.0) * length
        joints.append(joints[-1] + link if joints else link)
        heading = heading - (half_angles[j] + half_angles[j + 1])
    return joints
