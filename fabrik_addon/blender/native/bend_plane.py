# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A chain of three links or more that bends toward a pole, as nodes: where it bends, and every joint to that side.

In the bend plane's own coordinates the target is on +Y, the chain bends to +X and is one long. There its joints depend
on nothing but how far away the target is: a table has them (``bend_table``). What is left to nodes is the plane, and
the joints that are on the other side of their neighbours' line than the pole (``core.goals.pole.reflect_to_pole``).
"""

from __future__ import annotations

import math
from typing import Any

from ...core.goals.pole import MOST_PASSES
from .chain_fabrik import MOST_SWEEPS, reached
from .frame_transport import own_rotations
from .link_inputs import links_inputs
from .nodes import Nodes, Value
from .passes import Joints
from .shared_groups import shared_group

_NUMBER, _ROTATION = "NodeSocketFloat", "NodeSocketRotation"

_FINE = 1e-5
"""Tolerance of sweeps that mend what the table leaves, over the chain's length."""

_FLAT = 1e-14
"""Below this the product by which a joint and the pole are on different sides is rounding."""


def eased_distance(nodes: Nodes, target: Value, softness: Value, total: Value) -> tuple[Value, Value, Value]:
    """Return a target's distance eased into full extension, whether it is, and as it is (``core.goals.softness``)."""
    far = nodes.length(target)
    ease = softness * total
    begin = total - ease
    is_eased = far > begin
    eased = total - ease * nodes.scalar('EXPONENT', (begin - far) / ease)
    return nodes.switch(is_eased, eased, far, 'FLOAT'), is_eased, far


def bend_plane(
    nodes: Nodes, target: Value, pole: Value, pole_angle: Value, plane: Value, start: Value, is_straight: bool
) -> tuple[Value, Value]:
    """Return the frame of the bend plane, and the first link's frame at rest turned into it.

    Args:
        nodes: to add to.
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
        # A straight chain has no bend to bring to the pole: what is turned to the pole at rest is turned there.
        at_rest = nodes.multiplied(nodes.aligned(plane, pole, 'X', 'Y'), turn)
        start = nodes.multiplied(nodes.multiplied(nodes.inverted(at_rest), plane), start)
    return frame, start


def plane_group(is_straight: bool) -> Any:
    """Return the group: target, pole, pole angle, softness, reach, frames at rest → what is to be done in the plane.

    That is the place in the table, from 0 at full extension to 1 at the shortest reach, tip and pole in the plane, the
    plane, and the first link's frame at rest in it.
    """

    def fill(nodes: Nodes) -> None:
        target, pole = nodes.input("Target"), nodes.input("Pole")
        angle, softness, total, middle, half = (
            nodes.input(name, _NUMBER)
            for name in ("Pole Angle", "Softness", "Chain length", "Middle reach", "Half of reach")
        )
        plane, start = nodes.input("Plane at rest", _ROTATION), nodes.input("Start", _ROTATION)
        with nodes.frame("Softness"):
            distance, _, _ = eased_distance(nodes, target, softness, total)
        with nodes.frame("How far away the target is"):
            angle_of_reach = nodes.scalar('ARCCOSINE', (distance - middle) / half)
            nodes.output("Place", angle_of_reach * (1.0 / math.pi))
            nodes.output("Tip", nodes.combine(0.0, distance / total, 0.0))
        with nodes.frame("The pole in the plane"):
            across = nodes.length(pole - nodes.project(pole, target))
            along = nodes.dot(pole, nodes.normalized(target))
            nodes.output("Pole in plane", nodes.combine(across, along, 0.0) * (1.0 / total))
        with nodes.frame("Bend plane: root, target, pole"):
            frame, start = bend_plane(nodes, target, pole, angle, plane, start, is_straight)
            nodes.output("Plane", frame, _ROTATION)
            nodes.output("Start", start, _ROTATION)

    return shared_group(f"FABRIK bend plane{', straight' if is_straight else ''}", fill)


def planar_sweeps_group(count: int) -> Any:
    """Return the group of joints in the plane swept until the tip is at its target: tip, joints, links → joints."""

    def fill(nodes: Nodes) -> None:
        tip = nodes.input("Tip")
        inner = nodes.inputs("Joint", count - 1)
        links = links_inputs(nodes, count)
        nodes.outputs("Joint", reached(nodes, tip, inner, links, _FINE, MOST_SWEEPS, None))

    return shared_group(f"FABRIK sweeps in a plane, {count} links", fill)


def planar_group(count: int, is_offset: bool) -> Any:
    """Return the group: pole and tip in the plane, plane, frames, joints → the bones' own rotations."""

    def fill(nodes: Nodes) -> None:
        tip, pole = nodes.input("Tip"), nodes.input("Pole in plane")
        plane, start = nodes.input("Plane", _ROTATION), nodes.input("Start", _ROTATION)
        inner = nodes.inputs("Joint", count - 1)
        rests = nodes.inputs("Rest", count - 1, _ROTATION)
        bones = nodes.inputs("Bone", count, _ROTATION) if is_offset else []
        with nodes.frame("Every joint to the pole's side"):
            joints = _pointed_at_pole(nodes, pole, inner, tip)
        with nodes.frame("Bone rotations"):
            rotations = own_rotations(nodes, [*joints, tip], start, rests, bones)
            rotations[0] = nodes.multiplied(plane, rotations[0])
        nodes.outputs("Rotation", rotations, _ROTATION)

    return shared_group(f"FABRIK {count} links in a plane{', offset' if is_offset else ''}", fill)


def _pointed_at_pole(nodes: Nodes, pole: Value, inner: Joints, tip: Value) -> Joints:
    """Return the inner joints on the pole's side; what one pass can't do others do, where that is needed."""
    once, mirrored = _one_pass(nodes, pole, inner, tip)
    more = nodes.call(_further_passes_group(len(inner) + 1), [pole, *once, tip])
    return nodes.switch_joints(mirrored, more, once)


def _one_pass(nodes: Nodes, pole: Value, inner: Joints, tip: Value) -> tuple[Joints, Value]:
    """Return the joints after one pass of reflections from the root to the tip, and whether any was mirrored."""
    joints = [(0.0, 0.0, 0.0), *inner, tip]
    mirrored: Value = None
    for j in range(1, len(joints) - 1):
        before, joint, following = joints[j - 1 : j + 2]
        # The first joint's neighbour is the origin.
        line, offset, to_pole = (p if j == 1 else p - before for p in (following, joint, pole))
        is_away = nodes.dot(nodes.cross(line, offset), nodes.cross(line, to_pole)) < -_FLAT
        image = nodes.reflected(offset, line)
        image = nodes.scaled(image, -1.0) if j == 1 else before - image
        joints[j] = nodes.switch(is_away, image, joint)
        mirrored = is_away if mirrored is None else mirrored | is_away
    return joints[1:-1], mirrored


def _further_passes_group(count: int) -> Any:
    """Return the group that brings every joint to the pole's side of its neighbours: pole, joints, tip → joints."""

    def fill(nodes: Nodes) -> None:
        pole = nodes.input("Pole")
        inner = nodes.inputs("Joint", count - 1)
        tip = nodes.input("Tip")
        fixed = nodes.bundled([pole, tip])
        group = _pass_group(count)

        def body(is_open: Value, joints: Value) -> list[Value]:
            after, mirrored = nodes.call(group, [fixed, joints])
            return [
                nodes.switch(is_open, mirrored, False, 'BOOLEAN'),
                nodes.switch(is_open, after, joints, 'BUNDLE'),
            ]

        # A loop's passes that aren't needed cost time too, and equal links need at most about as many as there are.
        is_open: Value = True
        joints = nodes.bundled(inner)
        for label, most in (("first", count), ("more", MOST_PASSES - count)):
            with nodes.frame(f"Passes, {label}"):
                passes = most if is_open is True else nodes.switch(is_open, most, 0, 'INT')
                start = {"Not done": ('BOOLEAN', is_open), "Joints": ('BUNDLE', joints)}
                is_open, joints = nodes.repeat(passes, start, body)
        nodes.outputs("Joint", nodes.unbundled_vectors(joints, count - 1))

    return shared_group(f"FABRIK further reflections, {count} links", fill)


def _pass_group(count: int) -> Any:
    """Return the group of one pass: pole and tip, joints → joints, whether any was mirrored."""

    def fill(nodes: Nodes) -> None:
        fixed, joints = nodes.input("Pole and tip", "NodeSocketBundle"), nodes.input("Joints", "NodeSocketBundle")
        pole, tip = nodes.unbundled_vectors(fixed, 2)
        after, mirrored = _one_pass(nodes, pole, nodes.unbundled_vectors(joints, count - 1), tip)
        nodes.output("Joints", nodes.bundled(after), "NodeSocketBundle")
        nodes.output("Mirrored", mirrored, "NodeSocketBool")

    return shared_group(f"FABRIK reflections, {count} links", fill)
