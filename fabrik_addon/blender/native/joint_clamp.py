# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Swing, twist and the nearest rotation that limits allow, as nodes (``core.model.joint_limits``)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...core.model.joint_limits import JointLimits
from .nodes import NUMBER, ROTATION, Nodes, Value
from .shared_groups import shared_group

if TYPE_CHECKING:
    from bpy.types import GeometryNodeTree

NATIVE_AT_LIMIT = 1e-4
"""Distance from a limit, radians or half-sines, that counts as at it."""

_FLAT = 1e-6
"""Half-sine that counts as no width in single precision."""


def swing_twist(nodes: Nodes, rotation: Value) -> list[Value]:
    """Return x and z of a rotation's swing, half-sines, with the twist angle between."""
    return list(nodes.call(_swing_twist_group(), [rotation]))


def _swing_twist_group() -> GeometryNodeTree:
    def fill(nodes: Nodes) -> None:
        w, x, y, z = nodes.quaternion(nodes.input("Rotation", ROTATION))
        with nodes.frame("Half of the twist"):
            size = nodes.sqrt(nodes.multiply_add(w, w, y * y))
            cosine, sine = w / size, y / size
        with nodes.frame("Swing without it"):
            nodes.output("X", nodes.multiply_add(z, sine, x * cosine), NUMBER)
            twist = nodes.scalar('ARCTAN2', sine, cosine) * 2.0
            nodes.output("Twist", nodes.scalar('WRAP', twist, math.pi, -math.pi), NUMBER)
            nodes.output("Z", z * cosine - x * sine, NUMBER)

    return shared_group("FABRIK swing and twist", fill)


def clamped(nodes: Nodes, rotation: Value, limits: JointLimits) -> Value:
    """Return a rotation within limits: the swing in its ranges or on its quarter ellipse, the twist in its range.

    A swing outside of the ellipse comes onto it along the line to rest, not to the nearest point (``core.model``).
    """
    if limits.is_free:
        return rotation
    return nodes.call(_clamp_group(limits.is_ellipse, _has_twist(limits)), [rotation, *_finite(limits)])[0]


def _has_twist(limits: JointLimits) -> bool:
    """Tell whether the twist is limited."""
    return math.isfinite(limits.lower[1]) or math.isfinite(limits.upper[1])


def _finite(limits: JointLimits) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the limits with ten radians for those that are infinite: twists are half a turn at most."""
    lower = tuple(max(value, -10.0) for value in limits.lower)
    return lower, tuple(min(value, 10.0) for value in limits.upper)


def blocked_axes(
    nodes: Nodes, limits: JointLimits, rotation: Value, frames: tuple[Value, Value], arm: Value, desired: Value
) -> list[Value]:
    """Return the axes about which a joint at its limits would exceed them: unit vectors, zero where none is.

    Without them as an active set a step is spent on rotations that are clamped away: 15 steps instead of 4 for spines.

    Args:
        limits: of the joint.
        rotation: its bone's own, within the limits.
        frames: of the bone, before and after its own rotation; None is none.
        arm: from the joint to the tip.
        desired: step of the tip that is desired.
    """
    if limits.is_free:
        return []
    has_ranges = limits.has_flat_quarter or not limits.is_ellipse
    group = _blocked_group(limits.is_ellipse, has_ranges, _has_twist(limits))
    found: list[Value] = list(nodes.call(group, [rotation, *frames, arm, desired, *_finite(limits)]))
    for axis, is_locked in zip(((1.0, 0.0, 0.0), (0.0, 0.0, 1.0)), limits.locked[::2], strict=True):
        if is_locked:
            found.append(axis if frames[0] is None else nodes.rotated(axis, frames[0]))
    return found


def _blocked_group(is_ellipse: bool, has_ranges: bool, has_twist: bool) -> GeometryNodeTree:
    """Return the group: own rotation, frames, arm, desired step, limits → axis of the swing, and of the twist."""

    def fill(nodes: Nodes) -> None:
        rotation, before, after = (nodes.input(name, ROTATION) for name in ("Rotation", "Before", "After"))
        arm, desired, least, most = (nodes.input(name) for name in ("Arm", "Desired", "Lower", "Upper"))
        x, twist, z = swing_twist(nodes, rotation)
        least_x, least_twist, least_z = nodes.separate(least)
        most_x, most_twist, most_z = nodes.separate(most)
        with nodes.frame("Out of the limits"):
            normal: Value = None
            is_at: Value = None
            if is_ellipse:
                radius_x, radius_z = _radii(nodes, (x, z), (least_x, least_z), (most_x, most_z))
                p, q = x / radius_x, z / radius_z
                normal = nodes.combine(p / radius_x, 0.0, q / radius_z)
                is_at = nodes.multiply_add(p, p, q * q) > 1.0 - 2.0 * NATIVE_AT_LIMIT
            if has_ranges:
                ends = nodes.combine(_end(nodes, x, least_x, most_x), 0.0, _end(nodes, z, least_z, most_z))
                is_at_end = nodes.length(ends) > 0.0
                normal = ends if normal is None else nodes.switch(is_at_end, ends, normal)
                is_at = is_at_end if is_at is None else is_at_end | is_at
            outward = nodes.rotated(nodes.normalized(normal), before)
            is_beyond = nodes.dot(nodes.cross(outward, arm), desired) > 0.0
            swing = nodes.switch(is_at & is_beyond, outward, (0.0, 0.0, 0.0))
            nodes.output("Swing", swing)
        if has_twist:
            with nodes.frame("Beyond the twist"):
                along = nodes.rotated((0.0, 1.0, 0.0), after)
                along = nodes.normalized(along - nodes.project(along, swing))
                is_up = nodes.dot(nodes.cross(along, arm), desired) > 0.0
                room = nodes.switch(is_up, most_twist - twist, twist - least_twist, 'FLOAT')
                nodes.output("Twist", nodes.switch(room > NATIVE_AT_LIMIT, (0.0, 0.0, 0.0), along))

    return shared_group("FABRIK blocked axes", fill, ellipse=is_ellipse, ranges=has_ranges, twist=has_twist)


def _radii(
    nodes: Nodes, values: tuple[Value, Value], least: tuple[Value, Value], most: tuple[Value, Value]
) -> list[Value]:
    """Return the radii along x and z of the quarter ellipse in which a swing is."""
    return [
        nodes.maximum(nodes.switch(value > 0.0, high, low * -1.0, 'FLOAT'), _FLAT)
        for value, low, high in zip(values, least, most, strict=True)
    ]


def _end(nodes: Nodes, value: Value, least: Value, most: Value) -> Value:
    """Return 1 for a value at the upper end of its range, -1 at the lower end, else 0; 0 where there is no range."""
    return nodes.scalar('GREATER_THAN', value, most - NATIVE_AT_LIMIT) - nodes.scalar(
        'LESS_THAN', value, least + NATIVE_AT_LIMIT
    )


def _clamp_group(is_ellipse: bool, has_twist: bool) -> GeometryNodeTree:
    def fill(nodes: Nodes) -> None:
        x, twist, z = swing_twist(nodes, nodes.input("Rotation", ROTATION))
        least, most = nodes.input("Lower"), nodes.input("Upper")
        with nodes.frame("In their ranges"):
            turn = nodes.combine(x, twist, z)
            within = nodes.vector('MINIMUM', nodes.vector('MAXIMUM', turn, least), most)
            kept_x, kept_twist, kept_z = nodes.separate(within)
        if is_ellipse:
            with nodes.frame("On the quarter ellipse"):
                least_x, _, least_z = nodes.separate(least)
                most_x, _, most_z = nodes.separate(most)
                radius_x, radius_z = _radii(nodes, (x, z), (least_x, least_z), (most_x, most_z))
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
            nodes.output("Rotation", nodes.multiplied(swing, turned), ROTATION)

    return shared_group("FABRIK joint limits", fill, ellipse=is_ellipse, twist=has_twist)
