# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A tip that also takes the target's rotation, as nodes: what ``core.goals.tip_rotation`` does.

The last link takes the direction that the rotation gives it, and the others reach for its root. Position has priority:
where they can't reach that root, the last link is rotated by the least angle with which they can, toward the target or
away from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mathutils import Quaternion

from .bend_plane import ease_into_extension
from .link_inputs import OPEN_END, LinkInputs
from .nodes import NUMBER, ROTATION, Nodes, Value
from .shared_groups import shared_group

if TYPE_CHECKING:
    from bpy.types import GeometryNodeTree

_HALVINGS = 24
"""Bisections of the angle from the last link's direction under the rotation to the line root-target, which the core has
in closed form: single precision has 24 binary digits."""


def last_link(nodes: Nodes, target: Value, desired: Value, link: Value, others: LinkInputs) -> Value:
    """Return the last link, nearest to its direction under a rotation, with which the others can reach the target.

    Args:
        target: position of the tip, from the chain's root.
        desired: the frame that the last bone should have.
        link: the last link in that frame.
        others: the links before it.
    """
    # With a margin: rounding would count a target at full reach as out of reach.
    spread = others.spread + 2.0 * OPEN_END * others.total
    return nodes.call(_last_link_group(), [target, desired, link, others.middle, spread], "Last link")[0]


def _last_link_group() -> GeometryNodeTree:
    def fill(nodes: Nodes) -> None:
        target = nodes.input("Target")
        desired = nodes.input("Desired rotation", ROTATION)
        link = nodes.input("Link")
        middle, spread = nodes.input("Middle reach", NUMBER), nodes.input("Half of reach", NUMBER)

        def fits(link: Value) -> Value:
            return nodes.is_near(nodes.distance(target, link), middle, spread)

        with nodes.frame("Direction under the rotation"):
            preferred = nodes.rotated(link, desired)
        with nodes.frame("Else the least angle from it"):
            is_far = nodes.distance(target, preferred) > middle
            along = nodes.switch(is_far, target, target * (-1.0, -1.0, -1.0))
            normal = nodes.cross(preferred, along)
            axis = nodes.normalized(normal)
            angle = nodes.scalar('ARCTAN2', nodes.length(normal), nodes.dot(preferred, along))

            def body(low: Value, high: Value) -> list[Value]:
                middle = (low + high) * 0.5
                is_enough = fits(nodes.rotated(preferred, nodes.axis_turn(axis, middle)))
                return [nodes.switch(is_enough, low, middle, 'FLOAT'), nodes.switch(is_enough, middle, high, 'FLOAT')]

            _, far = nodes.repeat(_HALVINGS, {"Too little": ('FLOAT', 0.0), "Enough": ('FLOAT', angle)}, body)
            turned = nodes.rotated(preferred, nodes.axis_turn(axis, far))
        with nodes.frame("Can the others reach that far?"):
            nodes.output("Link", nodes.switch(fits(preferred), preferred, turned))

    return shared_group("FABRIK last link", fill)


def frame_of_tip(nodes: Nodes, rotations: list[Value], rests: list[Value]) -> Value:
    """Return the last bone's frame, given the bones' own rotations and their frames at rest, each in the one before."""
    return nodes.call(_frame_group(len(rotations)), [*rotations, *rests])[0]


def _frame_group(count: int) -> GeometryNodeTree:
    def fill(nodes: Nodes) -> None:
        rotations = nodes.inputs("Rotation", count, ROTATION)
        rests = nodes.inputs("Rest", count - 1, ROTATION)
        frame = rotations[0]
        for j, (rest, rotation) in enumerate(zip(rests, rotations[1:], strict=True), 2):
            with nodes.frame(f"Bone {j}"):
                frame = nodes.multiplied(nodes.multiplied(frame, rest), rotation)
        nodes.output("Frame", frame, ROTATION)

    return shared_group(f"FABRIK frame of the tip, {count} links", fill)


def is_as_near(
    nodes: Nodes, target: Value, link: Value, links: LinkInputs, others: LinkInputs, softness: Value, tolerance: Value
) -> Value:
    """Return whether the tip comes as near to its target with a last link as without the rotation.

    Only softness can make a difference, because the others ease into their own full extension earlier.

    Args:
        target: from the chain's root.
        link: the last link.
        links: all of them.
        others: those before the last.
        softness: part of the reach.
        tolerance: as a length.
    """
    plain_error = _eased_error(nodes, nodes.length(target), links, softness)
    # A single link has one reach and nothing to ease.
    far = nodes.distance(target, link)
    is_single = len(others.lengths) == 1
    residual = nodes.scalar('ABSOLUTE', far - others.total) if is_single else _eased_error(nodes, far, others, softness)
    is_near = residual <= nodes.maximum(plain_error * 1.01, tolerance)
    return nodes.switch(softness > 0.0, is_near, True, 'BOOLEAN')


def is_there(nodes: Nodes, target: Value, link: Value, others: LinkInputs, softness: Value, tolerance: Value) -> Value:
    """Return whether the others bring a last link's end to the target although they ease; arguments as above."""
    far = nodes.distance(target, link)
    is_near = _eased_error(nodes, far, others, softness) <= tolerance
    return nodes.is_near(far, others.middle, others.spread) & is_near


def _eased_error(nodes: Nodes, distance: Value, links: LinkInputs, softness: Value) -> Value:
    """Return the position error that softness leaves of a target at a distance."""
    return nodes.call(_eased_error_group(), [distance, links.total, softness])[0]


def _eased_error_group() -> GeometryNodeTree:
    def fill(nodes: Nodes) -> None:
        distance, total, softness = (nodes.input(name, NUMBER) for name in ("Distance", "Chain length", "Softness"))
        eased, is_eased = ease_into_extension(nodes, distance, softness, total)
        nodes.output("Error", nodes.switch(is_eased, distance - eased, 0.0, 'FLOAT'), NUMBER)

    return shared_group("FABRIK error left by softness", fill)


def turned_along(nodes: Nodes, frame: Value, desired: Value, link: Value, back: Quaternion | None) -> Value:
    """Return a bone's own rotation that lays it along a link, by the shortest rotation from the frame desired.

    Args:
        nodes: to add to.
        frame: that it has before it rotates; None is none.
        desired: the frame that it should have, as far as its link allows.
        link: where its link points.
        back: its frame in that of its link, or None where they are the same.
    """
    # A link off its direction under the rotation: the frame nearest to the desired one is the shortest rotation away.
    along = desired if back is None else nodes.multiplied(desired, back.conjugated().to_euler())
    turned = nodes.aligned(along, link)
    turned = turned if back is None else nodes.multiplied(turned, back.to_euler())
    return turned if frame is None else nodes.multiplied(nodes.inverted(frame), turned)
