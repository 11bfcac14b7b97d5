# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Damped least squares within joint limits, as nodes (Buss 2004).

With r the residual of the tip, J the Jacobian and L the damping, a step rotates the joints by

    dq = J^T y    with    (J J^T + L I) y = r,

three equations however many joints there are. Axes at a limit that dq would exceed are left out of J (active set), and
joints are clamped after the step.

The first start is the pose of the chain's tables with the first bone clamped: the pose is continuous in the target as
long as the steps from there reach it. Where they end in a local minimum there are two more starts: the same pose after
half a turn about the line root-target, and all joints in the middle of their ranges. Without these two starts a finger
of three hinges reaches 89 of 100 targets of feasible poses, with them all 100. Where no start reaches the target the
pose is that of the first one, so that it is continuous out of reach too. The core does more (``core.within_limits``):
of all poses that reach it takes the one with the least rotation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from mathutils import Quaternion

from ...core.math.operations import SCALAR
from ...core.model.joint_limits import rotation_of
from .joint_clamp import NATIVE_AT_LIMIT, blocked_axes, clamped, swing_twist
from .limit_joints import Ball, Hinge, Joints
from .nodes import NUMBER, ROTATION, Nodes, Value
from .shared_groups import new_group, shared_group

if TYPE_CHECKING:
    from bpy.types import GeometryNodeTree

NATIVE_STEPS = 12
"""Bound on the steps; three to five are usual."""

_UNREACHED = 1e-3
"""Position error, over the chain's length, above which steps count as ended in a local minimum."""

_LEAST_PROGRESS = 0.98
"""Share of the error above which a step from the second or third start counts as none, which ends these steps.

Without it targets that no pose reaches take three times the steps, with it 1.6 times."""

_LONGEST_STEP = 0.3
"""Largest residual of a step, over the chain's length: joints move on arcs, not straight along the Jacobian."""

_ROTATION_BOUND = 0.5
"""Largest rotation of a joint in one step, radians."""

_DAMPING_SHARE, _LEAST_DAMPING_SHARE = 1e-3, 0.05
"""Damping L over the mean of the diagonal of J J^T, and the share of it that is left where the error is small."""

_AXES = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def within_limits(
    nodes: Nodes,
    name: str,
    joints: Joints,
    rotations: Sequence[Value],
    target: Value,
    error: Value,
    tolerance: float,
) -> list[Value]:
    """Return the bones' own rotations, with the tip at its target or near.

    Args:
        name: of the chain's rig.
        joints: of the chain.
        rotations: the bones' own, within their limits.
        target: from the chain's root, over its length.
        error: distance of the tip from the target with those rotations, over the chain's length.
        tolerance: error up to which they are the result.
    """
    group = new_group(f"{name} limits", lambda nodes: _fill(nodes, name, joints, len(rotations), tolerance))
    return list(nodes.call(group, [target, error, *rotations], "Joint limits"))


def tip_of(nodes: Nodes, name: str, joints: Joints, rotations: Sequence[Value]) -> Value:
    """Return where the tip is with some own rotations of the bones."""
    group = new_group(f"{name} limits, rotated tip", lambda nodes: _fill_tip(nodes, joints, len(rotations)))
    return nodes.call(group, rotations, "Tip")[0]


def _fill_tip(nodes: Nodes, joints: Joints, count: int) -> None:
    """Fill the group: the bones' own rotations → tip."""
    rotations = nodes.inputs("Rotation", count, ROTATION)
    _, tip = _placed(nodes, joints, _joint_values(nodes, joints, rotations))
    nodes.output("Tip", tip)


def _fill(nodes: Nodes, name: str, joints: Joints, count: int, tolerance: float) -> None:
    target, error = nodes.input("Target"), nodes.input("Error", NUMBER)
    rotations = nodes.inputs("Rotation", count, ROTATION)
    step = new_group(f"{name} limits, step", lambda nodes: _fill_step(nodes, joints))
    with nodes.frame("Joints"):
        start = _joint_values(nodes, joints, rotations)
    with nodes.frame("Damped least squares"):
        values, left = _descended(nodes, joints, step, start, (target, error, tolerance))
    with nodes.frame("From other starts"):
        starts = _other_starts(nodes, joints, target, rotations)
        # The error of another start isn't known before its first step: 1 is more than any tolerance.
        goal = target, 1.0, tolerance
        others = [_descended(nodes, joints, step, each, goal, _LEAST_PROGRESS) for each in starts]
        reached = values
        for found, error_left in reversed(others):
            is_there = nodes.scalar('ABSOLUTE', error_left) <= _UNREACHED
            reached = _switched(nodes, joints, is_there, found, reached)
        values = _switched(nodes, joints, left > _UNREACHED, reached, values)
    with nodes.frame("Own rotations of the bones"):
        found = _own_rotations(nodes, joints, values)
        is_open = error > tolerance
        chosen = [nodes.switch(is_open, a, b, 'ROTATION') for a, b in zip(found, rotations, strict=True)]
        nodes.outputs("Rotation", chosen, ROTATION)


def _joint_values(nodes: Nodes, joints: Joints, rotations: Sequence[Value]) -> list[Value]:
    """Return the values of joints, given the bones' own rotations within their limits."""
    bones = _by_bone(joints)
    return [value for own, of_bone in zip(rotations, bones, strict=True) for value in _values(nodes, of_bone, own)]


def _by_bone(joints: Joints) -> list[Joints]:
    """Return the joints of each bone: a ball, or hinges."""
    return [tuple(of_bone) for _, of_bone in groupby(joints, key=lambda joint: joint.bone)]


def _other_starts(nodes: Nodes, joints: Joints, target: Value, rotations: Sequence[Value]) -> list[list[Value]]:
    """Return the joints' values of the second and the third start, given the bones' own rotations of the first one."""
    first = nodes.multiplied(nodes.axis_turn(target, math.pi), rotations[0])
    if isinstance(joints[0], Ball):
        first = clamped(nodes, first, joints[0].limits)
    turned = _joint_values(nodes, joints, [first, *rotations[1:]])
    return [turned, [_middle(joint) for joint in joints]]


def _middle(joint: Hinge | Ball) -> Value:
    """Return the middle of a joint's ranges, where it is free that at rest: an angle, or Euler angles."""
    if isinstance(joint, Hinge):
        return _mean(joint.lower, joint.upper)
    x, twist, z = map(_mean, joint.limits.lower, joint.limits.upper)
    return Quaternion([float(part) for part in rotation_of(SCALAR, (x, twist, z))]).to_euler()[:]


def _mean(lower: float, upper: float) -> float:
    return 0.5 * (lower + upper) if math.isfinite(upper - lower) else 0.0


def _switched(nodes: Nodes, joints: Joints, condition: Value, yes: Sequence[Value], no: Sequence[Value]) -> list[Value]:
    """Return the joints' values of one of two poses."""
    return [nodes.switch(condition, a, b, kind) for a, b, kind in zip(yes, no, _kinds(joints), strict=True)]


def _kinds(joints: Joints) -> list[str]:
    """Return the types of the joints' values in a switch."""
    return ['FLOAT' if isinstance(joint, Hinge) else 'ROTATION' for joint in joints]


def _descended(
    nodes: Nodes,
    joints: Joints,
    step: GeometryNodeTree,
    start: Sequence[Value],
    goal: tuple[Value, Value, float],
    least_progress: float | None = None,
) -> tuple[list[Value], Value]:
    """Return where joints are after as many steps as are needed, and the error there.

    Args:
        step: group of one step.
        start: values of the joints.
        goal: target, error at the start, and tolerance.
        least_progress: share of the error above which a step is the last one, and the error returned negative; None is
            all steps.
    """
    target, error, tolerance = goal
    names = [f"Joint {i + 1}" for i in range(len(joints))]

    def body(error: Value, *before: Value) -> list[Value]:
        is_open = error > tolerance
        *after, left = nodes.call(step, [target, *before])
        if least_progress is not None:
            left = nodes.switch(left > error * least_progress, left * -1.0, left, 'FLOAT')
        kept = _switched(nodes, joints, is_open, after, before)
        return [nodes.switch(is_open, left, error, 'FLOAT'), *kept]

    begin = {name: (kind, value) for name, kind, value in zip(names, _kinds(joints), start, strict=True)}
    left, *values = nodes.repeat(NATIVE_STEPS, {"Error": ('FLOAT', error), **begin}, body)
    return values, left


def _values(nodes: Nodes, joints: Joints, own: Value) -> list[Value]:
    """Return the values of a bone's joints, given the bone's own rotation."""
    turn: list[Value] | None = None
    values = []
    for joint in joints:
        if isinstance(joint, Ball):
            return [own]
        turn = turn or swing_twist(nodes, own)
        value = turn[joint.axis]
        angle = value if joint.axis == 1 else nodes.scalar('ARCSINE', value) * 2.0
        values.append(_in_range(nodes, joint, angle))
    return values


def _in_range(nodes: Nodes, hinge: Hinge, angle: Value) -> Value:
    if math.isfinite(hinge.lower):
        angle = nodes.maximum(angle, hinge.lower)
    return nodes.minimum(angle, hinge.upper) if math.isfinite(hinge.upper) else angle


def _own_rotations(nodes: Nodes, joints: Joints, values: Sequence[Value]) -> list[Value]:
    """Return the bones' own rotations, given the values of their joints."""
    remaining, rotations = iter(values), []
    for of_bone in _by_bone(joints):
        own: Value = None
        for joint, value in zip(of_bone, remaining, strict=False):
            turn = nodes.axis_turn(_AXES[joint.axis], value) if isinstance(joint, Hinge) else value
            own = turn if own is None else nodes.multiplied(own, turn)
        rotations.append(own)
    return rotations


# Where joints are


@dataclass(frozen=True)
class _Placed:
    """A joint's position and its frame, before and after its own rotation."""

    point: Value
    before: Value
    after: Value


def _inputs(nodes: Nodes, joints: Joints) -> list[Value]:
    kinds = [NUMBER if isinstance(joint, Hinge) else ROTATION for joint in joints]
    return [nodes.input(f"Joint {i}", kind) for i, kind in enumerate(kinds, 1)]


def _placed(nodes: Nodes, joints: Joints, values: Sequence[Value]) -> tuple[list[_Placed], Value]:
    """Return where joints are, and the tip."""
    placed: list[_Placed] = []
    frame: Value = None
    point: Value = None
    for number, (joint, value) in enumerate(zip(joints, values, strict=True), 1):
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


def _fill_step(nodes: Nodes, joints: Joints) -> None:
    """Fill the group: target, joints → joints after a step of damped least squares, distance of the tip then."""
    target = nodes.input("Target")
    values = _inputs(nodes, joints)
    with nodes.frame("Positions of the joints"):
        placed, tip = _placed(nodes, joints, values)
    with nodes.frame("Residual"):
        residual = target - tip
        error = nodes.length(residual)
        desired = residual * nodes.minimum(_LONGEST_STEP / error, 1.0)
    diagonal: Value = (0.0, 0.0, 0.0)
    off_diagonal: Value = (0.0, 0.0, 0.0)
    columns: list[Value] = []
    for number, (joint, place, value) in enumerate(zip(joints, placed, values, strict=True), 1):
        with nodes.frame(f"Jacobian of joint {number}"):
            arm = tip if place.point is None else tip - place.point
            if isinstance(joint, Hinge):
                column, squares, products = _hinge_column(nodes, joint, place, value, arm, desired)
            else:
                column, squares, products = _ball_columns(nodes, joint, place, value, arm, desired)
            diagonal, off_diagonal = squares + diagonal, products + off_diagonal
            columns.append(column)
    with nodes.frame("Damped least squares"):
        (multiplier,) = nodes.call(_multiplier_group(), [diagonal, off_diagonal, desired, error])
    after = []
    for number, (joint, place, value, column) in enumerate(zip(joints, placed, values, columns, strict=True), 1):
        with nodes.frame(f"Joint {number} rotated, within its limits"):
            if isinstance(joint, Hinge):
                after.append(_rotated_hinge(nodes, joint, value, column, multiplier))
            else:
                after.append(_rotated_ball(nodes, joint, place, column, multiplier))
    kinds = [NUMBER if isinstance(joint, Hinge) else ROTATION for joint in joints]
    for number, (value, kind) in enumerate(zip(after, kinds, strict=True), 1):
        nodes.output(f"Joint {number}", value, kind)
    with nodes.frame("Position error after the step"):
        _, end = _placed(nodes, joints, after)
        nodes.output("Error", nodes.distance(target, end), NUMBER)


def _shifted(nodes: Nodes, vector: Value) -> Value:
    """Return y, z, x of a vector."""
    x, y, z = nodes.separate(vector)
    return nodes.combine(y, z, x)


def _hinge_column(
    nodes: Nodes, joint: Hinge, place: _Placed, angle: Value, arm: Value, desired: Value
) -> tuple[Value, Value, Value]:
    """Return a hinge's column c of the Jacobian, zero if it would exceed a limit, and the parts of c c^T."""
    axis: Value = _AXES[joint.axis]
    column = nodes.cross(axis if place.before is None else nodes.rotated(axis, place.before), arm)
    if math.isfinite(joint.lower) or math.isfinite(joint.upper):
        up = nodes.dot(column, desired) > 0.0
        above: Value = joint.upper - angle if math.isfinite(joint.upper) else math.pi
        below: Value = angle - joint.lower if math.isfinite(joint.lower) else math.pi
        room = nodes.switch(up, above, below, 'FLOAT')
        column = nodes.switch(room > NATIVE_AT_LIMIT, column, (0.0, 0.0, 0.0))
    return column, column * column, column * _shifted(nodes, column)


def _ball_columns(
    nodes: Nodes, joint: Ball, place: _Placed, value: Value, arm: Value, desired: Value
) -> tuple[tuple[Value, list[Value]], Value, Value]:
    """Return a ball's arm with the axes that its limits block, and its part of J J^T: diagonal, off diagonal."""
    square = nodes.dot(arm, arm)
    squares = nodes.combine(square, square, square) - arm * arm
    products = arm * _shifted(nodes, arm) * (-1.0, -1.0, -1.0)
    blocked = blocked_axes(nodes, joint.limits, value, (place.before, place.after), arm, desired)
    for axis in blocked:
        column = nodes.cross(axis, arm)
        squares, products = squares - column * column, products - column * _shifted(nodes, column)
    return (arm, blocked), squares, products


def _rotated_hinge(nodes: Nodes, joint: Hinge, angle: Value, column: Value, multiplier: Value) -> Value:
    turn = nodes.maximum(nodes.minimum(nodes.dot(column, multiplier), _ROTATION_BOUND), -_ROTATION_BOUND)
    return _in_range(nodes, joint, angle + turn)


def _rotated_ball(
    nodes: Nodes, joint: Ball, place: _Placed, column: tuple[Value, list[Value]], multiplier: Value
) -> Value:
    arm, blocked = column
    axis = nodes.cross(arm, multiplier)
    for each in blocked:
        axis = axis - nodes.project(axis, each)
    turn = nodes.axis_turn(axis, nodes.minimum(nodes.length(axis), _ROTATION_BOUND))
    frame = nodes.multiplied(turn, place.after)
    own = frame if place.before is None else nodes.multiplied(nodes.inverted(place.before), frame)
    return clamped(nodes, own, joint.limits)


def _multiplier_group() -> GeometryNodeTree:
    """Return the group that solves ``(J J^T + L I) y = r`` by a Cholesky decomposition without square roots.

    Its inputs are diagonal and off diagonal (xy, yz, zx) of J J^T, the residual r and the error.
    """

    def fill(nodes: Nodes) -> None:
        diagonal, off_diagonal, desired = (
            nodes.input("Diagonal"),
            nodes.input("Off diagonal"),
            nodes.input("Right side"),
        )
        error = nodes.input("Error", NUMBER)
        with nodes.frame("Damping"):
            mean = nodes.dot(diagonal, (_DAMPING_SHARE / 3.0,) * 3)
            near = nodes.minimum(nodes.maximum(error * 10.0, _LEAST_DAMPING_SHARE), 1.0)
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
        nodes.output("Multiplier", nodes.combine(x, y, z))

    return shared_group("FABRIK damped least squares", fill)
