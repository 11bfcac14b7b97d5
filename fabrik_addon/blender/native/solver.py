# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A chain's whole solver as one node group: target in, the bones' own rotations out.

Everything is relative to the chain's root as it rests: the root is at the origin, its bone's axes are the axes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .bow import bow_group
from .groups import shared_group
from .links import Links, links_inputs
from .nodes import Nodes, Value
from .plane import curl_group, pointed_at_pole
from .reach import reach_group
from .turns import turns_group

_GUESS_STEPS = 5
"""Newton steps of a bow that sweeps mend afterwards."""


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
    """As a length."""
    pole: Value = None
    pole_angle: Value = None
    influence: Value = None
    """Not the solver's business."""


_VECTOR, _NUMBER, _ROTATION = "NodeSocketVector", "NodeSocketFloat", "NodeSocketRotation"


def solver_group(kind: Kind) -> Any:
    """Return the group that solves chains of a kind; its inputs are those of ``goal_values`` and ``rest_names``."""

    def fill(nodes: Nodes) -> None:
        goal = _goal_inputs(nodes, kind)
        links = links_inputs(nodes, kind.links)
        plane = nodes.input("Plane at rest", _ROTATION)
        start = nodes.input("Start", _ROTATION)
        rests = nodes.inputs("Rest", kind.links - 1, _ROTATION)
        bones = nodes.inputs("Bone", kind.links, _ROTATION) if kind.is_offset else []
        with nodes.frame("Softness"):
            target, distance = _eased(nodes, goal, links)
        if kind.has_pole:
            joints, frame, start = _in_plane(nodes, kind, goal, links, target, distance, plane, start)
        elif kind.links == 1:
            joints, frame = [target], None
        elif kind.links == 2:
            joints, frame = _two_links(nodes, links, target, distance, plane), None
        else:
            inner = nodes.inputs("Joint", kind.links - 1)
            joints, frame = _reach(nodes, kind, goal, links, target, inner), None
        with nodes.frame("Bone rotations"):
            rotations = nodes.call(turns_group(kind.links, kind.is_offset), [*joints, start, *rests, *bones])
            if frame is not None:
                rotations[0] = nodes.multiplied(frame, rotations[0])
        nodes.outputs("Rotation", rotations, _ROTATION)

    return shared_group(kind.name, fill)


def _goal_inputs(nodes: Nodes, kind: Kind) -> Goal:
    target = nodes.input("Target")
    pole = nodes.input("Pole") if kind.has_pole else None
    angle = nodes.input("Pole Angle", _NUMBER) if kind.has_pole else None
    softness = nodes.input("Softness", _NUMBER)
    is_closed_form = kind.links < 3
    sweeps = None if is_closed_form else nodes.input("Sweeps", "NodeSocketInt")
    tolerance = None if is_closed_form else nodes.input("Tolerance", _NUMBER)
    return Goal(target, softness, sweeps, tolerance, pole, angle)


def goal_values(goal: Goal) -> list[Value]:
    """Return what those inputs take, in their order."""
    values = (goal.target, goal.pole, goal.pole_angle, goal.softness, goal.sweeps, goal.tolerance)
    return [value for value in values if value is not None]


def _eased(nodes: Nodes, goal: Goal, links: Links) -> tuple[Value, Value]:
    """Return the target to reach for and its distance, eased into full extension (``core.soft_reach``)."""
    far = nodes.length(goal.target)
    ease = goal.softness * links.total
    begin = links.total - ease
    is_eased = far > begin
    distance = links.total - ease * nodes.scalar('EXPONENT', (begin - far) / ease)
    return (
        nodes.switch(is_eased, goal.target * (distance / far), goal.target),
        nodes.switch(is_eased, distance, far, 'FLOAT'),
    )


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
    side = (1.0, 0.0, 0.0)
    is_on_line: Value = False
    if kind.is_straight:
        with nodes.frame("Are chain and target on one line?"):
            off = nodes.cross(inner[0], target)
            limit = nodes.dot(inner[0], inner[0]) * links.total
            is_on_line = nodes.length(off) < 1e-5 * limit
    with nodes.frame("Reach"):
        values = [target, *inner, *links.values, goal.tolerance, goal.sweeps, is_on_line, side]
        return [*nodes.call(reach_group(kind.links), values), target]


def _in_plane(
    nodes: Nodes,
    kind: Kind,
    goal: Goal,
    links: Links,
    target: Value,
    distance: Value,
    plane: Value,
    start: Value,
) -> tuple[list[Value], Value, Value]:
    """Return the joints in the bend plane, the plane, and the first link's frame at rest turned into it."""
    with nodes.frame("Bend plane: root, target, pole"):
        swung = nodes.aligned(plane, target)
        frame = nodes.aligned(swung, goal.pole, 'X', 'Y')
        turn = nodes.axis_turn((0.0, 1.0, 0.0), goal.pole_angle)
        frame = nodes.multiplied(frame, turn)
        if kind.is_straight:
            # A straight chain has no bend to bring to the pole: it only swings.
            start = nodes.multiplied(nodes.multiplied(nodes.inverted(frame), swung), start)
    if kind.links == 1:
        return [(0.0, 1.0, 0.0)], frame, start
    if kind.links == 2:
        with nodes.frame("Two links: law of cosines"):
            along, across = _foot(nodes, links, distance)
            return [nodes.combine(across, along, 0.0), nodes.combine(0.0, distance, 0.0)], frame, start
    with nodes.frame("Bent to one side"):
        if kind.is_straight:
            inner = nodes.call(bow_group(kind.links), [distance, links.total, *links.lengths, _GUESS_STEPS])
        else:
            arc = nodes.input("Arc at rest", _NUMBER)
            bends = nodes.inputs("Bend", kind.links - 1, _NUMBER)
            inner = nodes.call(curl_group(kind.links), [distance, links.total, arc, *bends, *links.lengths])
    with nodes.frame("Reach"):
        planar = nodes.combine(0.0, distance, 0.0)
        values = [planar, *inner, *links.values, goal.tolerance, goal.sweeps, False, (1.0, 0.0, 0.0)]
        inner = nodes.call(reach_group(kind.links), values)
    with nodes.frame("Every joint to the pole's side"):
        along = nodes.normalized(target)
        across = nodes.length(goal.pole - nodes.project(goal.pole, target))
        pole = nodes.combine(across, nodes.dot(goal.pole, along), 0.0)
        return [*pointed_at_pole(nodes, pole, inner, planar), planar], frame, start
