# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A chain's whole solver as one node group: target in, the bones' own rotations out.

Everything is relative to the chain's root as it rests: the root is at the origin, its bone's axes are the axes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .bend_plane import bend_plane, eased_distance
from .chain_fabrik import reached
from .frame_transport import own_rotations
from .link_inputs import Links, links_inputs
from .nodes import Nodes, Value
from .shared_groups import shared_group


@dataclass(frozen=True)
class Kind:
    """What makes one solver's nodes different from another's."""

    links: int
    has_pole: bool
    is_straight: bool
    """Whether the chain is straight at rest."""
    is_offset: bool
    """Whether links don't lie along their bones."""

    @property
    def is_tabulated(self) -> bool:
        """Whether its shape is looked up in a table, since it depends on nothing but how far away its target is."""
        return self.has_pole and self.links > 2

    @property
    def is_swept(self) -> bool:
        """Whether it is solved by sweeps."""
        return not self.has_pole and self.links > 2

    @property
    def name(self) -> str:
        """Of the node group."""
        words = [f"FABRIK {self.links} link{'s' if self.links > 1 else ''}"]
        words += ["pole"] if self.has_pole else []
        words += ["straight"] if self.is_straight else []
        words += ["offset"] if self.is_offset else []
        return ", ".join(words)


@dataclass(frozen=True)
class Goal:
    """What a rigger may change while it runs, as sockets."""

    target: Value
    softness: Value
    sweeps: Value
    tolerance: Value
    """As a length; a socket only where there are sweeps."""
    pole: Value = None
    pole_angle: Value = None
    influence: Value = None
    """Not the solver's business."""


_NUMBER, _ROTATION = "NodeSocketFloat", "NodeSocketRotation"


def solver_group(kind: Kind) -> Any:
    """Return the group that solves chains of a kind, but for those that are tabulated.

    Its inputs are ``goal_values``, the links' values, the frames at rest and, for sweeps, the joints at rest.
    """

    def fill(nodes: Nodes) -> None:
        goal = _goal_inputs(nodes, kind)
        links = links_inputs(nodes, kind.links)
        plane = nodes.input("Plane at rest", _ROTATION)
        start = nodes.input("Start", _ROTATION)
        rests = nodes.inputs("Rest", kind.links - 1, _ROTATION)
        bones = nodes.inputs("Bone", kind.links, _ROTATION) if kind.is_offset else []
        frame: Value = None
        with nodes.frame("Softness"):
            target, distance = _eased(nodes, goal, links)
        if kind.is_swept:
            inner = nodes.inputs("Joint", kind.links - 1)
            joints = _reach(nodes, kind, goal, links, target, inner)
        elif kind.has_pole:
            with nodes.frame("Bend plane: root, target, pole"):
                frame, start = bend_plane(nodes, target, goal.pole, goal.pole_angle, plane, start, kind.is_straight)
            joints = _in_plane(nodes, links, distance)
        elif kind.links == 1:
            joints = [target]
        else:
            joints = _two_links(nodes, links, target, distance, plane)
        with nodes.frame("Bone rotations"):
            rotations = own_rotations(nodes, joints, start, rests, bones)
            if frame is not None:
                rotations[0] = nodes.multiplied(frame, rotations[0])
        nodes.outputs("Rotation", rotations, _ROTATION)

    return shared_group(kind.name, fill)


def _goal_inputs(nodes: Nodes, kind: Kind) -> Goal:
    target = nodes.input("Target")
    pole = nodes.input("Pole") if kind.has_pole else None
    angle = nodes.input("Pole Angle", _NUMBER) if kind.has_pole else None
    softness = nodes.input("Softness", _NUMBER)
    sweeps = nodes.input("Sweeps", "NodeSocketInt") if kind.is_swept else None
    tolerance = nodes.input("Tolerance", _NUMBER) if kind.is_swept else None
    return Goal(target, softness, sweeps, tolerance, pole, angle)


def goal_values(goal: Goal) -> list[Value]:
    """Return what those inputs take, in their order."""
    tolerance = None if goal.sweeps is None else goal.tolerance
    values = (goal.target, goal.pole, goal.pole_angle, goal.softness, goal.sweeps, tolerance)
    return [value for value in values if value is not None]


def _eased(nodes: Nodes, goal: Goal, links: Links) -> tuple[Value, Value]:
    """Return the target to reach for and its distance."""
    distance, is_eased, far = eased_distance(nodes, goal.target, goal.softness, links.total)
    return nodes.switch(is_eased, goal.target * (distance / far), goal.target), distance


def _foot(nodes: Nodes, links: Links, distance: Value) -> tuple[Value, Value]:
    """Return where the joint between two links is, along the line root-target and across it (law of cosines).

    A target out of reach is taken as one at the end of the reach.
    """
    nearest = nodes.maximum(links.middle - links.spread, 1e-6 * links.total)
    within = nodes.minimum(nodes.maximum(distance, nearest), links.total)
    along = (links.difference / within + within) * 0.5
    return along, nodes.sqrt(links.square - along * along)


def _two_links(nodes: Nodes, links: Links, target: Value, distance: Value, plane: Value) -> list[Value]:
    """Return middle joint and tip of a chain that keeps the bend it has at rest."""
    with nodes.frame("Two links: law of cosines"):
        along, across = _foot(nodes, links, distance)
        frame = nodes.aligned(plane, target)
        middle = nodes.rotated(nodes.combine(across, along, 0.0), frame)
        return [middle, target]


def _reach(nodes: Nodes, kind: Kind, goal: Goal, links: Links, target: Value, inner: list[Value]) -> list[Value]:
    """Return the joints that sweeps lead to."""
    is_on_line: Value = None
    if kind.is_straight:
        with nodes.frame("Are chain and target on one line?"):
            off = nodes.cross(inner[0], target)
            limit = nodes.dot(inner[0], inner[0]) * links.total
            is_on_line = nodes.length(off) < 1e-5 * limit
    return [*reached(nodes, target, inner, links, goal.tolerance, goal.sweeps, is_on_line), target]


def _in_plane(nodes: Nodes, links: Links, distance: Value) -> list[Value]:
    """Return the joints of one or two links in the coordinates of the bend plane."""
    if len(links.lengths) == 1:
        return [(0.0, 1.0, 0.0)]
    with nodes.frame("Two links: law of cosines"):
        along, across = _foot(nodes, links, distance)
        return [nodes.combine(across, along, 0.0), nodes.combine(0.0, distance, 0.0)]
