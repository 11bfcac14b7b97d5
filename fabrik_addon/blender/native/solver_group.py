# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""One link, or two with a pole, in closed form as a node group: target in, the bones' own rotations out.

All coordinates are those of the first bone at rest: the root is the origin, the bone's axes are the axes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .bend_plane import bend_plane, eased_distance
from .frame_transport import own_rotations
from .link_inputs import LinkInputs, links_inputs
from .nodes import NUMBER, ROTATION, Nodes, Value
from .shared_groups import shared_group

if TYPE_CHECKING:
    from bpy.types import GeometryNodeTree


@dataclass(frozen=True)
class SolverKind:
    """The properties of a chain on which the nodes of its solver depend."""

    links: int
    has_pole: bool
    is_straight: bool
    """Whether the chain is straight at rest."""
    is_offset: bool
    """Whether links don't lie along their bones."""


@dataclass(frozen=True)
class Goal:
    """The inputs of a native rig that may change from frame to frame, as sockets."""

    target: Value
    softness: Value
    pole: Value = None
    pole_angle: Value = None
    influence: Value = None
    """Share of the solved pose, which the bones' constraints mix; nodes that solve the chain don't use it."""


def solver_group(kind: SolverKind) -> GeometryNodeTree:
    """Return the group that solves a single link, or two with a pole; all others are looked up in tables.

    Its inputs are ``goal_values``, the links' values and the frames at rest.
    """

    def fill(nodes: Nodes) -> None:
        goal = _goal_inputs(nodes, kind)
        links = links_inputs(nodes, kind.links)
        plane = nodes.input("Plane at rest", ROTATION)
        start = nodes.input("Start", ROTATION)
        rests = nodes.inputs("Rest", kind.links - 1, ROTATION)
        bones = nodes.inputs("Bone", kind.links, ROTATION) if kind.is_offset else []
        frame: Value = None
        with nodes.frame("Softness"):
            target, distance = _eased(nodes, goal, links)
        if kind.has_pole:
            with nodes.frame("Bend plane: root, target, pole"):
                frame, start = bend_plane(nodes, target, goal.pole, goal.pole_angle, plane, start, kind.is_straight)
            joints = _in_plane(nodes, links, distance)
        else:
            joints = [target]
        with nodes.frame("Bone rotations"):
            rotations = own_rotations(nodes, joints, start, rests, bones)
            if frame is not None:
                rotations[0] = nodes.multiplied(frame, rotations[0])
        nodes.outputs("Rotation", rotations, ROTATION)

    name = f"FABRIK {kind.links} link{'s' if kind.links > 1 else ''}"
    return shared_group(name, fill, pole=kind.has_pole, straight=kind.is_straight, offset=kind.is_offset)


def _goal_inputs(nodes: Nodes, kind: SolverKind) -> Goal:
    target = nodes.input("Target")
    pole = nodes.input("Pole") if kind.has_pole else None
    angle = nodes.input("Pole Angle", NUMBER) if kind.has_pole else None
    softness = nodes.input("Softness", NUMBER)
    return Goal(target, softness, pole, angle)


def goal_values(goal: Goal) -> list[Value]:
    """Return what those inputs take, in their order."""
    values = (goal.target, goal.pole, goal.pole_angle, goal.softness)
    return [value for value in values if value is not None]


def _eased(nodes: Nodes, goal: Goal, links: LinkInputs) -> tuple[Value, Value]:
    """Return the target to reach for and its distance."""
    distance, is_eased, far = eased_distance(nodes, goal.target, goal.softness, links.total)
    return nodes.switch(is_eased, goal.target * (distance / far), goal.target), distance


def _foot(nodes: Nodes, links: LinkInputs, distance: Value) -> tuple[Value, Value]:
    """Return where the joint between two links is, along the line root-target and across it (law of cosines).

    A target out of reach is taken as one at the end of the reach.
    """
    nearest = nodes.maximum(links.middle - links.spread, 1e-6 * links.total)
    within = nodes.minimum(nodes.maximum(distance, nearest), links.total)
    along = (links.difference / within + within) * 0.5
    return along, nodes.sqrt(links.square - along * along)


def _in_plane(nodes: Nodes, links: LinkInputs, distance: Value) -> list[Value]:
    """Return the joints of one or two links in the coordinates of the bend plane."""
    if len(links.lengths) == 1:
        return [(0.0, 1.0, 0.0)]
    with nodes.frame("Two links: law of cosines"):
        along, across = _foot(nodes, links, distance)
        return [nodes.combine(across, along, 0.0), nodes.combine(0.0, distance, 0.0)]
