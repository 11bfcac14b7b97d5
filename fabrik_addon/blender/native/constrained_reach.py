# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reaching within joint limits, as nodes.

FABRIK's answer, each bone clamped to its limits, is what it stays at where that reaches. Else damped least squares
(Buss 2004) go on from there, every step clamped, with joints left out that are at a limit and would go beyond. Where
that doesn't reach they start again from poses within the ranges, and what reaches first, or comes nearest, is taken.
The core does more (``core.optimise``): of all poses that reach it looks for the one that turns least.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .joint_clamp import NATIVE_AT_LIMIT, blocked_axes, clamped, swing_twist
from .limit_joints import Ball, ConstrainedChain, Hinge
from .nodes import NUMBER, ROTATION, Nodes, Value
from .shared_groups import new_group, shared_group

if TYPE_CHECKING:
    from bpy.types import GeometryNodeTree

NATIVE_STEPS = 12
"""From each start; those that get there need about eight."""

_LONGEST = 0.3
"""Way of the tip that a step aims at, over the chain's length: beyond it isn't straight any more."""

_LARGEST = 0.5
"""Turn of a joint in one step, radians."""

_DAMPING, _LEAST_DAMPING = 1e-3, 0.05
"""Of a step, over the mean of what joints can do; and the share of it that is left near the target."""

_AXES = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def within_limits(
    nodes: Nodes,
    name: str,
    constrained_chain: ConstrainedChain,
    rotations: Sequence[Value],
    target: Value,
    error: Value,
    tolerance: float,
) -> list[Value]:
    """Return the bones' own rotations, with the tip at its target or near.

    Args:
        nodes: to add to.
        name: of the chain's rig.
        constrained_chain: the chain.
        rotations: the bones' own, within their limits.
        target: from the chain's root, over its length.
        error: distance of the tip from the target with those rotations, over the chain's length.
        tolerance: error up to which they are the result.
    """
    group = new_group(f"{name} limits", lambda nodes: _fill(nodes, name, constrained_chain, len(rotations), tolerance))
    return list(nodes.call(group, [target, error, *rotations], "Joint limits"))


def tip_of(nodes: Nodes, name: str, constrained_chain: ConstrainedChain, rotations: Sequence[Value]) -> Value:
    """Return where the tip is with some own rotations of the bones."""
    group = new_group(f"{name} limits, rotated tip", lambda nodes: _fill_tip(nodes, constrained_chain, len(rotations)))
    return nodes.call(group, rotations, "Tip")[0]


def _fill_tip(nodes: Nodes, constrained_chain: ConstrainedChain, count: int) -> None:
    """Fill the group: the bones' own rotations → tip."""
    rotations = nodes.inputs("Rotation", count, ROTATION)
    _, tip = _placed(nodes, constrained_chain, _joint_values(nodes, constrained_chain, rotations))
    nodes.output("Tip", tip)


def _fill(nodes: Nodes, name: str, constrained_chain: ConstrainedChain, count: int, tolerance: float) -> None:
    target, error = nodes.input("Target"), nodes.input("Error", NUMBER)
    rotations = nodes.inputs("Rotation", count, ROTATION)
    step = new_group(f"{name} limits, step", lambda nodes: _fill_step(nodes, constrained_chain))
    with nodes.frame("Joints"):
        start = _joint_values(nodes, constrained_chain, rotations)
    with nodes.frame("Damped least squares"):
        values = _descended(nodes, constrained_chain, step, start, (target, error, tolerance))
    with nodes.frame("Own rotations of the bones"):
        found = _own_rotations(nodes, constrained_chain, values)
        is_open = error > tolerance
        chosen = [nodes.switch(is_open, a, b, 'ROTATION') for a, b in zip(found, rotations, strict=True)]
        nodes.outputs("Rotation", chosen, ROTATION)


def _joint_values(nodes: Nodes, constrained_chain: ConstrainedChain, rotations: Sequence[Value]) -> list[Value]:
    """Return the values of joints, given the bones' own rotations within their limits."""
    values: list[Value] = []
    while len(values) < len(constrained_chain.joints):
        number = len(values)
        values += _joints_of_bone(nodes, constrained_chain, number, rotations[constrained_chain.joints[number].bone])
    return values


def _descended(
    nodes: Nodes,
    constrained_chain: ConstrainedChain,
    step: GeometryNodeTree,
    start: Sequence[Value],
    goal: tuple[Value, Value, float],
) -> list[Value]:
    """Return where joints are after as many steps as are needed, for a target, the error and the tolerance."""
    target, error, tolerance = goal
    names = [f"Joint {i + 1}" for i in range(len(constrained_chain.joints))]
    kinds = ['FLOAT' if isinstance(joint, Hinge) else 'ROTATION' for joint in constrained_chain.joints]

    def body(error: Value, *joints: Value) -> list[Value]:
        is_open = error > tolerance
        *after, left = nodes.call(step, [target, *joints])
        kept = [nodes.switch(is_open, a, b, k) for a, b, k in zip(after, joints, kinds, strict=True)]
        return [nodes.switch(is_open, left, error, 'FLOAT'), *kept]

    begin = {name: (kind, value) for name, kind, value in zip(names, kinds, start, strict=True)}
    return list(nodes.repeat(NATIVE_STEPS, {"Error": ('FLOAT', error), **begin}, body))[1:]


def _joints_of_bone(nodes: Nodes, constrained_chain: ConstrainedChain, number: int, own: Value) -> list[Value]:
    """Return the values of a bone's joints, of which one has a number, given the bone's own rotation."""
    joint = constrained_chain.joints[number]
    if isinstance(joint, Ball):
        return [own]
    turn = swing_twist(nodes, own)
    values = []
    for hinge in _hinges_of(constrained_chain, number):
        value = turn[hinge.axis]
        angle = value if hinge.axis == 1 else nodes.scalar('ARCSINE', value) * 2.0
        values.append(_in_range(nodes, hinge, angle))
    return values


def _hinges_of(constrained_chain: ConstrainedChain, number: int) -> list[Hinge]:
    """Return the hinges of the bone that a joint is the first of."""
    bone = constrained_chain.joints[number].bone
    return [joint for joint in constrained_chain.joints[number:] if isinstance(joint, Hinge) and joint.bone == bone]


def _in_range(nodes: Nodes, hinge: Hinge, angle: Value) -> Value:
    if math.isfinite(hinge.lower):
        angle = nodes.maximum(angle, hinge.lower)
    return nodes.minimum(angle, hinge.upper) if math.isfinite(hinge.upper) else angle


def _turn(nodes: Nodes, constrained_chain: ConstrainedChain, number: int, values: Sequence[Value]) -> Value:
    """Return a bone's own rotation, given those of its joints."""
    joint = constrained_chain.joints[number]
    if isinstance(joint, Ball):
        return values[0]
    turned: Value = None
    for hinge, angle in zip(_hinges_of(constrained_chain, number), values, strict=True):
        turn = nodes.axis_turn(_AXES[hinge.axis], angle)
        turned = turn if turned is None else nodes.multiplied(turned, turn)
    return turned


def _own_rotations(nodes: Nodes, constrained_chain: ConstrainedChain, values: Sequence[Value]) -> list[Value]:
    own, number = [], 0
    while number < len(constrained_chain.joints):
        count = 1 if isinstance(constrained_chain.joints[number], Ball) else len(_hinges_of(constrained_chain, number))
        own.append(_turn(nodes, constrained_chain, number, values[number : number + count]))
        number += count
    return own


# Where joints are


@dataclass(frozen=True)
class _Placed:
    """A joint's place and its frame, before and after it turns."""

    point: Value
    before: Value
    after: Value


def _inputs(nodes: Nodes, constrained_chain: ConstrainedChain) -> list[Value]:
    kinds = [NUMBER if isinstance(joint, Hinge) else ROTATION for joint in constrained_chain.joints]
    return [nodes.input(f"Joint {i}", kind) for i, kind in enumerate(kinds, 1)]


def _placed(nodes: Nodes, constrained_chain: ConstrainedChain, values: Sequence[Value]) -> tuple[list[_Placed], Value]:
    """Return where joints are, and the tip."""
    placed: list[_Placed] = []
    frame: Value = None
    point: Value = None
    for number, (joint, value) in enumerate(zip(constrained_chain.joints, values, strict=True), 1):
        with nodes.frame(f"Joint {number}"):
            before = frame
            if frame is not None and joint.rest.angle > 1e-7:
                before = nodes.multiplied(frame, joint.rest.to_euler()[:])
            turn = nodes.axis_turn(_AXES[joint.axis], value) if isinstance(joint, Hinge) else value
            frame = turn if before is None else nodes.multiplied(before, turn)
            placed.append(_Placed(point, before, frame))
            if joint.link.length > 0.0:
                link = nodes.rotated(joint.link[:], frame)
                point = link if point is None else point + link
    return placed, point


# One step


def _fill_step(nodes: Nodes, constrained_chain: ConstrainedChain) -> None:
    """Fill the group: target, joints → joints after a step of damped least squares, distance of the tip then."""
    target = nodes.input("Target")
    values = _inputs(nodes, constrained_chain)
    with nodes.frame("Where the joints are"):
        placed, tip = _placed(nodes, constrained_chain, values)
    with nodes.frame("What the tip lacks"):
        residual = target - tip
        error = nodes.length(residual)
        desired = residual * nodes.minimum(_LONGEST / error, 1.0)
    diagonal: Value = (0.0, 0.0, 0.0)
    off_diagonal: Value = (0.0, 0.0, 0.0)
    ways: list[Value] = []
    for number, (joint, place, value) in enumerate(zip(constrained_chain.joints, placed, values, strict=True), 1):
        with nodes.frame(f"What joint {number} can do for it"):
            arm = tip if place.point is None else tip - place.point
            if isinstance(joint, Hinge):
                way, squares, products = _hinge_way(nodes, joint, place, value, arm, desired)
            else:
                way, squares, products = _ball_way(nodes, joint, place, value, arm, desired)
            diagonal, off_diagonal = squares + diagonal, products + off_diagonal
            ways.append(way)
    with nodes.frame("Damped least squares"):
        (pull,) = nodes.call(_pull_group(), [diagonal, off_diagonal, desired, error])
    after = []
    for number, (joint, place, value, way) in enumerate(
        zip(constrained_chain.joints, placed, values, ways, strict=True), 1
    ):
        with nodes.frame(f"Joint {number} turned, within its limits"):
            if isinstance(joint, Hinge):
                after.append(_turned_hinge(nodes, joint, value, way, pull))
            else:
                after.append(_turned_ball(nodes, joint, place, way, pull))
    kinds = [NUMBER if isinstance(joint, Hinge) else ROTATION for joint in constrained_chain.joints]
    for number, (value, kind) in enumerate(zip(after, kinds, strict=True), 1):
        nodes.output(f"Joint {number}", value, kind)
    with nodes.frame("Where the tip is then"):
        _, end = _placed(nodes, constrained_chain, after)
        nodes.output("Error", nodes.distance(target, end), NUMBER)


def _shifted(nodes: Nodes, vector: Value) -> Value:
    """Return y, z, x of a vector."""
    x, y, z = nodes.separate(vector)
    return nodes.combine(y, z, x)


def _hinge_way(
    nodes: Nodes, joint: Hinge, place: _Placed, angle: Value, arm: Value, desired: Value
) -> tuple[Value, Value, Value]:
    """Return where the tip goes as a hinge turns; none where it is at a limit and would go beyond."""
    axis: Value = _AXES[joint.axis]
    way = nodes.cross(axis if place.before is None else nodes.rotated(axis, place.before), arm)
    if math.isfinite(joint.lower) or math.isfinite(joint.upper):
        up = nodes.dot(way, desired) > 0.0
        above: Value = joint.upper - angle if math.isfinite(joint.upper) else math.pi
        below: Value = angle - joint.lower if math.isfinite(joint.lower) else math.pi
        room = nodes.switch(up, above, below, 'FLOAT')
        way = nodes.switch(room > NATIVE_AT_LIMIT, way, (0.0, 0.0, 0.0))
    return way, way * way, way * _shifted(nodes, way)


def _ball_way(
    nodes: Nodes, joint: Ball, place: _Placed, value: Value, arm: Value, desired: Value
) -> tuple[tuple[Value, list[Value]], Value, Value]:
    """Return a ball's arm with the axes that its limits block, and what turning about the other axes can do."""
    square = nodes.dot(arm, arm)
    squares = nodes.combine(square, square, square) - arm * arm
    products = arm * _shifted(nodes, arm) * (-1.0, -1.0, -1.0)
    blocked = blocked_axes(nodes, joint.limits, value, (place.before, place.after), arm, desired)
    for axis in blocked:
        way = nodes.cross(axis, arm)
        squares, products = squares - way * way, products - way * _shifted(nodes, way)
    return (arm, blocked), squares, products


def _turned_hinge(nodes: Nodes, joint: Hinge, angle: Value, way: Value, pull: Value) -> Value:
    turn = nodes.maximum(nodes.minimum(nodes.dot(way, pull), _LARGEST), -_LARGEST)
    return _in_range(nodes, joint, angle + turn)


def _turned_ball(nodes: Nodes, joint: Ball, place: _Placed, way: tuple[Value, list[Value]], pull: Value) -> Value:
    arm, blocked = way
    axis = nodes.cross(arm, pull)
    for each in blocked:
        axis = axis - nodes.project(axis, each)
    turn = nodes.axis_turn(axis, nodes.minimum(nodes.length(axis), _LARGEST))
    frame = nodes.multiplied(turn, place.after)
    own = frame if place.before is None else nodes.multiplied(nodes.inverted(place.before), frame)
    return clamped(nodes, own, joint.limits)


def _pull_group() -> GeometryNodeTree:
    """Return the group that solves for the tip's pull: diagonal, off diagonal (xy, yz, zx), residual, error → pull.

    A Cholesky decomposition without square roots.
    """

    def fill(nodes: Nodes) -> None:
        diagonal, off_diagonal, desired = (
            nodes.input("Diagonal"),
            nodes.input("Off diagonal"),
            nodes.input("Right side"),
        )
        error = nodes.input("Error", NUMBER)
        with nodes.frame("Damping"):
            mean = nodes.dot(diagonal, (_DAMPING / 3.0,) * 3)
            near = nodes.minimum(nodes.maximum(error * 10.0, _LEAST_DAMPING), 1.0)
            damping = nodes.multiply_add(mean, near, 1e-9)
            xx, yy, zz = nodes.separate(diagonal + nodes.combine(damping, damping, damping))
            xy, yz, zx = nodes.separate(off_diagonal)
            x, y, z = nodes.separate(desired)
        with nodes.frame("Cholesky decomposition"):
            a, b = xy / xx, zx / xx
            second = yy - a * xy
            mixed = yz - b * xy
            c = mixed / second
            third = nodes.multiply_add(b * -1.0, zx, zz) - c * mixed
        with nodes.frame("Solve"):
            y = y - a * x
            z = nodes.multiply_add(b * -1.0, x, z) - c * y
            z = z / third
            y = y / second - c * z
            x = nodes.multiply_add(b * -1.0, z, x / xx) - a * y
        nodes.output("Pull", nodes.combine(x, y, z))

    return shared_group("FABRIK pull at the tip", fill)
