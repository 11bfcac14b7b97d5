# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""An evenly bent chain as nodes: all joints on one circle, the tip on the target, as ``core.fabrik.circular_arc``.

Instead of bisecting, Newton's method starts from the arc of a chain of many links and keeps to the bracket.
"""

from __future__ import annotations

import math
from typing import Any

from .nodes import Nodes, Value
from .passes import Joints
from .shared_groups import shared_group

_ROUNDING = 1e-5
"""Of a half angle in single precision, generously."""


def circular_arc_group(count: int) -> Any:
    """Return the group of the circular arc: distance, chain length, lengths, steps → joints.

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
            residual = nodes.maximum(1.0 - distance / total, 0.0)
            guess = nodes.sqrt(6.0 * residual) * nodes.multiply_add(residual, math.pi / math.sqrt(6.0) - 1.0, 1.0)
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
            angles, *_ = _half_angles(nodes, lengths, longest, is_longest, found)
            joints = _lay(nodes, lengths, angles)
        nodes.outputs("Joint", joints)

    return shared_group(f"FABRIK arc, {count} links", fill)


def _first_of(conditions: list[Value], nodes: Nodes) -> list[Value]:
    """Return conditions of which only the first that holds is left."""
    number = nodes.first_true(conditions)
    return [nodes.compare_int('EQUAL', number, i) for i in range(len(conditions))]


def _link_group() -> Any:
    """Return the group of one link on the circle: length, is longest, half angle of the longest, ... → angle, slope.

    The slope is the derivative of its own half angle by that of the longest link.
    """

    def fill(nodes: Nodes) -> None:
        length, curvature, growth, half_angle = (
            nodes.input(name, "NodeSocketFloat") for name in ("Length", "Curvature", "Growth", "Half angle")
        )
        is_longest = nodes.input("Is longest", "NodeSocketBool")
        own = nodes.scalar('ARCSINE', nodes.minimum(length * curvature, 1.0))
        angle = nodes.switch(is_longest, half_angle, own, 'FLOAT')
        # The derivative of asin(l c) is l c' / cos(asin(l c)); the longest link's is 1.
        slope = length * growth / nodes.maximum(nodes.scalar('COSINE', angle), 1e-4)
        nodes.output("Angle", angle, "NodeSocketFloat")
        nodes.output("Slope", nodes.switch(is_longest, 1.0, slope, 'FLOAT'), "NodeSocketFloat")

    return shared_group("FABRIK link on a circle", fill)


def _half_angles(
    nodes: Nodes, lengths: list[Value], longest: Value, is_longest: list[Value], half_angle: Value
) -> tuple[list[Value], list[Value], Value, Value]:
    """Return every link's half angle and its slope, 1 / diameter and its slope, given the longest link's half angle."""
    curvature = nodes.scalar('SINE', half_angle) / longest
    growth = nodes.scalar('COSINE', half_angle) / longest
    angles, slopes = [], []
    for length, is_it in zip(lengths, is_longest, strict=True):
        angle, slope = nodes.call(_link_group(), [length, curvature, growth, half_angle, is_it])
        angles.append(angle)
        slopes.append(slope)
    return angles, slopes, curvature, growth


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
    angles, slopes, curvature, growth = _half_angles(nodes, lengths, longest, is_longest, half_angle)
    total, slope = angles[0], slopes[0]
    for angle, own in zip(angles[1:], slopes[1:], strict=True):
        total, slope = total + angle, slope + own
    short_of = nodes.scalar('SINE', total) - distance * curvature
    is_too_long = (total < math.pi) & (short_of > 0.0)
    low = nodes.switch(is_too_long, half_angle, low, 'FLOAT')
    high = nodes.switch(is_too_long, high, half_angle, 'FLOAT')
    better = half_angle - short_of / (nodes.scalar('COSINE', total) * slope - distance * growth)
    # Where it has converged rounding may put it just outside.
    is_inside = (better > low - _ROUNDING) & (better < high + _ROUNDING) & (total < math.pi)
    return [nodes.switch(is_inside, better, (low + high) * 0.5, 'FLOAT'), low, high]


def _step_group() -> Any:
    """Return the group of one link laid: before, heading, length → joint."""

    def fill(nodes: Nodes) -> None:
        before = nodes.input("Before")
        heading = nodes.input("Heading", "NodeSocketFloat")
        length = nodes.input("Length", "NodeSocketFloat")
        link = nodes.combine(nodes.scalar('SINE', heading), nodes.scalar('COSINE', heading), 0.0)
        nodes.output("Joint", before + link * length)

    return shared_group("FABRIK step", fill)


def _lay(nodes: Nodes, lengths: list[Value], half_angles: list[Value]) -> Joints:
    """Lay links on the circle, from the origin."""
    heading = half_angles[1]
    for angle in half_angles[2:]:
        heading = heading + angle
    joints: Joints = []
    for j, length in enumerate(lengths[:-1]):
        before = joints[-1] if joints else (0.0, 0.0, 0.0)
        joints += nodes.call(_step_group(), [before, heading, length])
        heading = heading - (half_angles[j] + half_angles[j + 1])
    return joints
