# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A chain's own node group: the numbers of its bones around the solvers it shares with others of its kind."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .bend_plane import planar_group, plane_group, swing_group
from .bend_table import BendTable
from .constrained_reach import tip_of, within_limits
from .joint_clamp import clamped
from .limit_joints import Joints
from .nodes import NUMBER, Nodes, Value
from .own_group import own_group
from .read_bone_stretch import StretchedBones, powers_of
from .rest_chain import RestChain
from .rest_shape import RestShape
from .shape_table import ShapeTable
from .solver_group import Goal, goal_values, solver_group
from .stretch_factor import scales, stretch_factor
from .tip_rotation import frame_of_tip, is_as_near, is_there, last_link, turned_along

if TYPE_CHECKING:
    from bpy.types import GeometryNodeTree


def rig_group(name: str, rest: RestChain) -> GeometryNodeTree:
    """Return the node group of a modifier that solves a chain.

    Its outputs are the rotations of the chain's bones and, if they stretch, the scales of those that carry it.
    """

    def fill(nodes: Nodes) -> None:
        goal, desired = _goal_inputs(nodes, rest)
        matrices: list[Value] = []
        if rest.stretched is not None:
            with nodes.frame("Stretch"):
                goal, matrices = _stretched(nodes, rest, rest.stretched, goal, desired)
        rotations = _solved(nodes, goal, rest.shape)
        if rest.has_rotation:
            rotations = _with_rotation(nodes, rest, goal, desired, rotations)
        if rest.constrained_chain is not None:
            rotations = _limited(nodes, name, rest, rest.constrained_chain, goal, rotations)
        for bone, rotation in zip(rest.bones, rotations, strict=True):
            nodes.output(bone.name, rotation, "NodeSocketRotation")
        nodes.outputs("Scale", matrices, "NodeSocketMatrix")

    # Position and motion of the root are left out: the transform of the solver's object has them.
    content = [rest.bones, rest.shape, rest.has_rotation, rest.stretched, rest.constrained_chain, rest.without_tip]
    return own_group(name, content, fill)


def _stretched(
    nodes: Nodes, rest: RestChain, stretched: StretchedBones, goal: Goal, desired: Value
) -> tuple[Goal, list[Value]]:
    """Return the goal of a chain before it is stretched, and the scales that stretch it."""
    shape, others = rest.shape, rest.without_tip
    most = nodes.input("Stretch Max", NUMBER, min_value=1.0, default_value=1.5)
    factor, share = stretch_factor(nodes, goal, shape.links, most)
    if rest.has_rotation:
        is_eased = (share < 1.0) & (factor < most) & (goal.softness > 0.0)
        if others is not None and others.kind.links > 1:
            # Where the other links bring the tip to its target although they ease, the chain needs no stretch.
            laid = nodes.rotated(shape.last_link[:], desired)
            there = is_there(nodes, goal.target, laid, others.links, goal.softness, shape.tolerance)
            is_there_as_it_is = nodes.switch(is_eased, there, False, 'BOOLEAN')
            factor = nodes.switch(is_there_as_it_is, 1.0, factor, 'FLOAT')
            is_eased = nodes.switch(is_there_as_it_is, False, is_eased, 'BOOLEAN')
        # Softness eases the whole chain once: the target is brought to its eased distance here, and the chain without
        # its last link reaches for it without softness.
        target = nodes.switch(is_eased, goal.target * share, goal.target)
        goal = replace(goal, target=target, softness=nodes.switch(is_eased, 0.0, goal.softness, 'FLOAT'))
    # By how much the bones are longer than their own channels make them.
    longer = nodes.multiply_add(goal.influence, factor * (1.0 / stretched.now) - 1.0, 1.0)
    return goal, scales(nodes, longer, powers_of(stretched))


def _limited(
    nodes: Nodes, name: str, rest: RestChain, constrained_chain: Joints, goal: Goal, rotations: list[Value]
) -> list[Value]:
    """Return the bones' own rotations within their limits, with the tip at the target or near.

    The rotations from tables are within the limits already, those of the first bone and of a rotated tip are not.
    """
    shape, limits = rest.shape, rest.limits
    table = shape.shape_table
    least, most = (table.least, table.most) if table is not None else (1.0, 1.0)
    with nodes.frame("Within joint limits"):
        _, share = stretch_factor(nodes, goal, shape.links, 1.0)
        desired = goal.target * (share * (1.0 / shape.links.total))
        distance = nodes.length(desired)
        target = desired * nodes.minimum(most / distance, 1.0)
        first = clamped(nodes, rotations[0], limits[0])
        if rest.has_rotation and len(rotations) > 1:
            rotations = [first, *rotations[1:-1], clamped(nodes, rotations[-1], limits[-1])]
            tip = tip_of(nodes, name, constrained_chain, rotations)
        else:
            tip = desired * (nodes.minimum(nodes.maximum(distance, least), most) / distance)
            if not limits[0].is_free:
                tip = nodes.rotated(tip, nodes.multiplied(first, nodes.inverted(rotations[0])))
            rotations = [first, *rotations[1:]]
        tolerance = shape.tolerance / shape.links.total
        return within_limits(nodes, name, constrained_chain, rotations, target, nodes.distance(tip, target), tolerance)


def _with_rotation(nodes: Nodes, rest: RestChain, goal: Goal, desired: Value, plain: list[Value]) -> list[Value]:
    """Return the bones' own rotations with that of the target, given those without."""
    shape, others = rest.shape, rest.without_tip
    rests = [frame.to_euler() for frame in shape.bone_rests]
    with nodes.frame("Where the tip bone points without the target's rotation"):
        plain_link = nodes.rotated(shape.last_link[:], frame_of_tip(nodes, plain, rests))
    rotations, link = plain, plain_link
    if others is not None:
        with nodes.frame("The other bones reach for the tip bone's head"):
            laid = (
                plain_link  # a single link reaches one distance only, and from no other direction is the target at that
            )
            if others.kind.links > 1:
                laid = last_link(nodes, goal.target, desired, shape.last_link[:], others.links)
            head = goal.target - laid
            if others.kind.links == 1 and goal.pole is not None:
                # One link has no bend: rotated to the pole it would roll by 180 degrees where it passes the pole.
                found = [turned_along(nodes, None, plain[0], head, shape.back(0))]
            else:
                found = _solved(nodes, replace(goal, target=head), others)
        with nodes.frame("Position comes first"):
            is_near = is_as_near(nodes, goal.target, laid, shape.links, others.links, goal.softness, shape.tolerance)
            rotations = [nodes.switch(is_near, a, b, 'ROTATION') for a, b in zip(found, plain, strict=False)]
            link = nodes.switch(is_near, laid, plain_link)
    with nodes.frame("The tip bone's own rotation"):
        before = rotations[: len(rests)]
        frame = nodes.multiplied(frame_of_tip(nodes, before, rests[:-1]), rests[-1]) if rests else None
        return [*before, turned_along(nodes, frame, desired, link, shape.back(-1))]


def _solved(nodes: Nodes, goal: Goal, shape: RestShape) -> list[Value]:
    """Return the bones' own rotations in which a chain reaches a goal."""
    kind = shape.kind
    if shape.shape_table is not None:
        return _looked_up_rotations(nodes, goal, shape, shape.shape_table)
    if shape.bend_table is not None:
        return _looked_up_joints(nodes, goal, shape, shape.bend_table)
    values = [
        *goal_values(goal),
        *shape.links.values,
        shape.plane.to_euler(),
        shape.start.to_euler(),
        *(frame.to_euler() for frame in shape.frames[1:]),
        *((back.to_euler() for back in shape.backs) if kind.is_offset else ()),
    ]
    return list(nodes.call(solver_group(kind), values))


def _looked_up_rotations(nodes: Nodes, goal: Goal, shape: RestShape, table: ShapeTable) -> list[Value]:
    """Return the bones' own rotations of a chain, looked up in its table."""
    total, pole = shape.links.total, [] if goal.pole is None else [goal.pole, goal.pole_angle]
    with nodes.frame("Target and bend plane"):
        middle, half = (0.5 * total * (table.most + sign * table.least) for sign in (1.0, -1.0))
        values = [goal.target, *pole, goal.softness, total, middle, half, table.plane.to_euler()]
        place, frame = nodes.call(swing_group(bool(pole)), values)
    with nodes.frame("Rotations at this distance"):
        first = nodes.multiplied(frame, nodes.looked_up(place, table.first, "Bone 1"))
        first = nodes.multiplied(first, table.plane.conjugated().to_euler())
        others = [nodes.looked_up(place, each, f"Bone {number}") for number, each in enumerate(table.others, 2)]
    return [first, *others]


def _looked_up_joints(nodes: Nodes, goal: Goal, shape: RestShape, table: BendTable) -> list[Value]:
    """Return the bones' own rotations of a chain that bends toward a pole, its joints looked up in its table."""
    kind, total = shape.kind, shape.links.total
    with nodes.frame("Bend plane"):
        half = total - shape.links.middle
        reach = [goal.softness, total, shape.links.middle, half]
        frames = [shape.plane.to_euler(), shape.start.to_euler()]
        place, tip, *plane = nodes.call(
            plane_group(kind.is_straight), [goal.target, goal.pole, goal.pole_angle, *reach, *frames]
        )
    with nodes.frame("Joints at this distance"):
        joints = [
            nodes.looked_up(place, [x, y, z if any(z) else (0.0, 0.0)], f"Joint {number}")
            for number, (x, y, z) in enumerate(table.joints, 1)
        ]
    rests = [frame.to_euler() for frame in shape.frames[1:]]
    backs = [back.to_euler() for back in shape.backs] if kind.is_offset else []
    return list(nodes.call(planar_group(kind.links, kind.is_offset), [tip, *plane, *joints, *rests, *backs]))


def _goal_inputs(nodes: Nodes, rest: RestChain) -> tuple[Goal, Value]:
    """Add what a rigger may change; return it as a goal, and the rotation that the tip bone should have.

    Each input has the same identifier in every chain's group, so that keys and drivers of a chain that gets a pole or a
    rotation stay those of the same input.
    """
    shape = rest.shape
    target_object = nodes.input("Target", "NodeSocketObject")
    pole = angle = None
    if shape.kind.has_pole:
        pole = nodes.object_location(nodes.input("Pole", "NodeSocketObject"))
        angle = nodes.input("Pole Angle", NUMBER, subtype='ANGLE')
    else:
        nodes.skip_input()
        nodes.skip_input()
    influence = nodes.input("Influence", NUMBER, subtype='FACTOR', min_value=0.0, max_value=1.0, default_value=1.0)
    softness = nodes.input("Softness", NUMBER, subtype='FACTOR', min_value=0.0, max_value=0.5)
    # At influence 0 the tip at rest is the target: the pose at rest reaches it without a step.
    place, rotation = nodes.object_place(target_object)
    target = nodes.switch(influence > 0.0, place, shape.tip[:])
    desired: Value = None
    if rest.has_rotation:
        desired = nodes.multiplied(rotation, nodes.input("Rotation Offset", "NodeSocketRotation"))
        desired = nodes.switch(influence > 0.0, desired, shape.tip_frame.to_euler(), 'ROTATION')
    else:
        nodes.skip_input()
    return Goal(target, softness, pole, angle, influence), desired
