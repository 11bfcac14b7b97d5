# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A chain of three links or more that bends toward a pole, as nodes: where it bends, and the bones' rotations there.

In the bend plane's own coordinates the target is on +Y, the chain bends to +X and is one long. There its joints depend
on the distance of the target alone, and ``bend_table`` has them. The nodes make the plane, and lay the joints into it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .frame_transport import own_rotations
from .nodes import NUMBER, ROTATION, Nodes, Value
from .shared_groups import shared_group

if TYPE_CHECKING:
    from bpy.types import GeometryNodeTree


def ease_into_extension(nodes: Nodes, distance: Value, softness: Value, total: Value) -> tuple[Value, Value]:
    """Return a distance eased into full extension, and whether it is eased (``core.goals.softness``)."""
    ease = softness * total
    begin = total - ease
    return total - ease * nodes.scalar('EXPONENT', (begin - distance) / ease), distance > begin


def eased_distance(nodes: Nodes, target: Value, softness: Value, total: Value) -> tuple[Value, Value, Value]:
    """Return a target's distance eased into full extension, whether it is, and as it is."""
    far = nodes.length(target)
    eased, is_eased = ease_into_extension(nodes, far, softness, total)
    return nodes.switch(is_eased, eased, far, 'FLOAT'), is_eased, far


def bend_plane(
    nodes: Nodes, target: Value, pole: Value, pole_angle: Value, plane: Value, start: Value, is_straight: bool
) -> tuple[Value, Value]:
    """Return the frame of the bend plane, and the first link's frame at rest rotated into it.

    Args:
        target: from the chain's root.
        pole: the same.
        pole_angle: radians.
        plane: frame of the bend plane at rest.
        start: the first link's frame at rest, in that.
        is_straight: whether the chain has no bend at rest.
    """
    swung = nodes.aligned(plane, target)
    frame = nodes.aligned(swung, pole, 'X', 'Y')
    turn = nodes.axis_turn((0.0, 1.0, 0.0), pole_angle)
    frame = nodes.multiplied(frame, turn)
    if is_straight:
        # A straight chain has no bend to bring to the pole: what is rotated to the pole at rest is rotated there.
        at_rest = nodes.multiplied(nodes.aligned(plane, pole, 'X', 'Y'), turn)
        start = nodes.multiplied(nodes.multiplied(nodes.inverted(at_rest), plane), start)
    return frame, start


def plane_group(is_straight: bool) -> GeometryNodeTree:
    """Return the group: target, pole, pole angle, softness, reach, frames at rest → table place, tip, plane, start.

    The place is from 0 at full extension to 1 at the shortest reach, the tip is in the plane's coordinates, and the
    start is the first link's frame at rest in the plane.
    """

    def fill(nodes: Nodes) -> None:
        target, pole = nodes.input("Target"), nodes.input("Pole")
        angle = nodes.input("Pole Angle", NUMBER)
        distance, total = _place_in_table(nodes, target)
        plane, start = nodes.input("Plane at rest", ROTATION), nodes.input("Start", ROTATION)
        with nodes.frame("Tip in the plane"):
            nodes.output("Tip", nodes.combine(0.0, distance / total, 0.0))
        with nodes.frame("Bend plane: root, target, pole"):
            frame, start = bend_plane(nodes, target, pole, angle, plane, start, is_straight)
            nodes.output("Plane", frame, ROTATION)
            nodes.output("Start", start, ROTATION)

    return shared_group("FABRIK bend plane", fill, straight=is_straight)


def _place_in_table(nodes: Nodes, target: Value) -> tuple[Value, Value]:
    """Add the inputs of the reach and the output of the table place; return the eased distance and the length."""
    softness, total, middle, half = (
        nodes.input(name, NUMBER) for name in ("Softness", "Chain length", "Middle reach", "Half of reach")
    )
    with nodes.frame("Softness"):
        distance, _, _ = eased_distance(nodes, target, softness, total)
    with nodes.frame("How far away the target is"):
        angle_of_reach = nodes.scalar('ARCCOSINE', (distance - middle) / half)
        nodes.output("Place", angle_of_reach * (1.0 / math.pi))
    return distance, total


def swing_group(has_pole: bool) -> GeometryNodeTree:
    """Return the group: target, pole and its angle, softness, reach, plane at rest → table place, bend plane.

    The place is from 0 at the largest distance of the table to 1 at the smallest. The bend plane is the plane at rest,
    rotated by the shortest rotation of its +Y to the target, and about that so that its +X points to the pole.
    """

    def fill(nodes: Nodes) -> None:
        target = nodes.input("Target")
        pole = nodes.input("Pole") if has_pole else None
        angle = nodes.input("Pole Angle", NUMBER) if has_pole else None
        _place_in_table(nodes, target)
        plane = nodes.input("Plane at rest", ROTATION)
        with nodes.frame("Bend plane at rest, carried along"):
            frame = nodes.aligned(plane, target)
            if has_pole:
                frame = nodes.aligned(frame, pole, 'X', 'Y')
                frame = nodes.multiplied(frame, nodes.axis_turn((0.0, 1.0, 0.0), angle))
            nodes.output("Plane", frame, ROTATION)

    return shared_group("FABRIK swing", fill, pole=has_pole)


def planar_group(count: int, is_offset: bool) -> GeometryNodeTree:
    """Return the group: tip and inner joints in the plane, plane, frames at rest → the bones' own rotations."""

    def fill(nodes: Nodes) -> None:
        tip = nodes.input("Tip")
        plane, start = nodes.input("Plane", ROTATION), nodes.input("Start", ROTATION)
        inner = nodes.inputs("Joint", count - 1)
        rests = nodes.inputs("Rest", count - 1, ROTATION)
        bones = nodes.inputs("Bone", count, ROTATION) if is_offset else []
        with nodes.frame("Bone rotations"):
            rotations = own_rotations(nodes, [*inner, tip], start, rests, bones)
            rotations[0] = nodes.multiplied(plane, rotations[0])
        nodes.outputs("Rotation", rotations, ROTATION)

    return shared_group(f"FABRIK {count} links in a plane", fill, offset=is_offset)
