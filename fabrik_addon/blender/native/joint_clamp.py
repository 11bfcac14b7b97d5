# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Swing, twist and the nearest rotation that limits allow, as nodes (``core.model.joint_limits``)."""

from __future__ import annotations

import math
from typing import Any

from ...core.model.joint_limits import JointLimits
from .nodes import Nodes, Value
from .shared_groups import shared_group

_NUMBER, _ROTATION = "NodeSocketFloat", "NodeSocketRotation"

_FLAT = 1e-6
"""Half-sine that counts as no width in single precision."""


def swing_twist(nodes: Nodes, rotation: Value) -> list[Value]:
    """Return x and z of a rotation's swing, half-sines, with the twist angle between."""
    return list(nodes.call(_swing_twist_group(), [rotation]))


def _swing_twist_group() -> Any:
    def fill(nodes: Nodes) -> None:
        w, x, y, z = nodes.quaternion(nodes.input("Rotation", _ROTATION))
        with nodes.frame("Half of the twist"):
            size = nodes.sqrt(nodes.multiply_add(w, w, y * y))
            cosine, sine = w / size, y / size
        with nodes.frame("Swing without it"):
            nodes.output("X", nodes.multiply_add(z, sine, x * cosine), _NUMBER)
            twist = nodes.scalar('ARCTAN2', sine, cosine) * 2.0
            nodes.output("Twist", nodes.scalar('WRAP', twist, math.pi, -math.pi), _NUMBER)
            nodes.output("Z", z * cosine - x * sine, _NUMBER)

    return shared_group("FABRIK swing and twist", fill)


def clamped(nodes: Nodes, rotation: Value, limits: JointLimits) -> Value:
    """Return the nearest rotation that limits allow: on its own ellipse's ray, and in its own ranges."""
    if limits.is_free:
        return rotation
    has_twist = math.isfinite(limits.lower[1]) or math.isfinite(limits.upper[1])
    # A single half turn is as good as none.
    lower = tuple(max(value, -10.0) for value in limits.lower)
    upper = tuple(min(value, 10.0) for value in limits.upper)
    return nodes.call(_clamp_group(limits.is_ellipse, has_twist), [rotation, lower, upper])[0]


def _clamp_group(is_ellipse: bool, has_twist: bool) -> Any:
    def fill(nodes: Nodes) -> None:
        x, twist, z = swing_twist(nodes, nodes.input("Rotation", _ROTATION))
        least, most = nodes.input("Lower"), nodes.input("Upper")
        with nodes.frame("In their ranges"):
            turn = nodes.combine(x, twist, z)
            within = nodes.vector('MINIMUM', nodes.vector('MAXIMUM', turn, least), most)
            kept_x, kept_twist, kept_z = nodes.separate(within)
        if is_ellipse:
            with nodes.frame("On the quarter ellipse"):
                least_x, _, least_z = nodes.separate(least)
                most_x, _, most_z = nodes.separate(most)
                radius_x, radius_z = (
                    nodes.maximum(nodes.switch(value > 0.0, high, low * -1.0, 'FLOAT'), _FLAT)
                    for value, low, high in ((x, least_x, most_x), (z, least_z, most_z))
                )
                p, q = x / radius_x, z / radius_z
                share = nodes.maximum(nodes.sqrt(nodes.multiply_add(p, p, q * q)), 1.0)
                # On a quarter without width its ray ends at rest: there the nearest is in the ranges.
                is_flat = nodes.minimum(radius_x, radius_z) <= _FLAT
                kept_x = nodes.switch(is_flat, kept_x, x / share, 'FLOAT')
                kept_z = nodes.switch(is_flat, kept_z, z / share, 'FLOAT')
        with nodes.frame("Put together again"):
            rest = 1.0 - nodes.multiply_add(kept_x, kept_x, kept_z * kept_z)
            swing = nodes.from_quaternion(nodes.sqrt(nodes.maximum(rest, 0.0)), kept_x, 0.0, kept_z)
            turned = nodes.axis_turn((0.0, 1.0, 0.0), kept_twist if has_twist else twist)
            nodes.output("Rotation", nodes.multiplied(swing, turned), _ROTATION)

    words = ["FABRIK joint limits", *(["ellipse"] if is_ellipse else []), *(["twist"] if has_twist else [])]
    return shared_group(", ".join(words), fill)
