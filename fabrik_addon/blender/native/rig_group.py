# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A chain's own node group: the numbers of its bones around the solvers it shares with others of its kind."""

from __future__ import annotations

from typing import Any

import bpy

from .marks import MARK, VERSION
from .nodes import Nodes, Value
from .reach import MOST_SWEEPS
from .rest_chain import RestChain
from .rest_shape import RestShape
from .solver import Goal, goal_values, solver_group

_NUMBER = "NodeSocketFloat"


def rig_group(name: str, rest: RestChain) -> Any:
    """Return a new node group that solves a chain; its outputs are the rotations of the chain's bones."""
    tree: Any = bpy.data.node_groups.new(name, 'GeometryNodeTree')
    tree.is_modifier = True
    tree[MARK] = VERSION
    nodes = Nodes(tree)
    geometry = nodes.input("Geometry", "NodeSocketGeometry")
    rotations = _solved(nodes, _goal_inputs(nodes, rest.shape), rest.shape)
    nodes.output("Geometry", geometry, "NodeSocketGeometry")
    for bone, rotation in zip(rest.bones, rotations, strict=True):
        nodes.output(bone.name, rotation, "NodeSocketRotation")
    nodes.arrange()
    return tree


def _solved(nodes: Nodes, goal: Goal, shape: RestShape) -> list[Value]:
    """Return the bones' own rotations in which a chain reaches a goal."""
    kind = shape.kind
    values = [
        *goal_values(goal),
        *shape.links.values,
        shape.plane.to_euler(),
        (shape.plane.conjugated() @ shape.frames[0] if kind.has_pole else shape.frames[0]).to_euler(),
        *(frame.to_euler() for frame in shape.frames[1:]),
        *((back.to_euler() for back in shape.backs) if kind.is_offset else ()),
        *_bend_values(shape),
    ]
    return list(nodes.call(solver_group(kind), values))


def _bend_values(shape: RestShape) -> list[Value]:
    """Return what a solver starts from, in the order of its inputs."""
    if shape.kind.links < 3 or (shape.kind.has_pole and shape.kind.is_straight):
        return []
    return [shape.arc, *shape.bends] if shape.kind.has_pole else [joint[:] for joint in shape.joints]


def _goal_inputs(nodes: Nodes, shape: RestShape) -> Goal:
    target_object = nodes.input("Target", "NodeSocketObject")
    pole = angle = None
    if shape.kind.has_pole:
        pole = nodes.object_location(nodes.input("Pole", "NodeSocketObject"))
        angle = nodes.input("Pole Angle", _NUMBER, subtype='ANGLE')
    influence = nodes.input("Influence", _NUMBER, subtype='FACTOR', min_value=0.0, max_value=1.0, default_value=1.0)
    softness = nodes.input("Softness", _NUMBER, subtype='FACTOR', min_value=0.0, max_value=0.5)
    sweeps: Value = None
    tolerance: Value = None
    if shape.kind.links > 2:
        sweeps = nodes.input("Sweeps", "NodeSocketInt", min_value=1, max_value=MOST_SWEEPS, default_value=MOST_SWEEPS)
        share = nodes.input("Tolerance", _NUMBER, min_value=1e-6, max_value=1.0, default_value=1e-4)
        tolerance = share * shape.links.total
    # Without influence there is nothing to look for.
    target = nodes.switch(influence > 0.0, nodes.object_location(target_object), shape.tip[:])
    return Goal(target, softness, sweeps, tolerance, pole, angle)
