# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The bones' own rotations for all distances of the target, in tables that nodes look up. Computes.

All bones but the first have rotations that depend on the distance alone (``core.within_limits.shape_family``). That of
the first is ``F(u) R(d) P^-1``. P is a frame with +Y along the line root-tip at rest and +X where the chain bends;
F(u) is P rotated by the shortest rotation of its +Y to the target's direction u, and toward a pole if there is one;
R(d) brings the line root-tip at the distance d to that at rest, in the coordinates of P, and is continuous in d.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from mathutils import Euler, Matrix, Quaternion, Vector

from ...core.model.constrained_chain import ConstrainedChain
from ...core.model.joint_limits import JointLimits
from ...core.within_limits.shape_family import shape_family
from .bend_table import TABLE_STEPS

Table = tuple[list[float], list[float], list[float]]
"""Values of the three Euler angles (XYZ) of a rotation, from the largest distance to the smallest."""


@dataclass(frozen=True)
class ShapeTable:
    """The rotations of a chain's bones, in equal steps of the angle whose cosine is the distance.

    The angle resolves both ends of the range, where joints rotate with the square root of the distance.
    """

    least: float
    """Smallest distance, over the chain's length."""
    most: float
    """Largest one."""
    plane: Quaternion
    """The frame P, in the first bone's space."""
    first: Table
    """R(d)."""
    others: list[Table]
    """Own rotations of the other bones."""


def shape_table(links: Sequence[Vector], rests: Sequence[Quaternion], limits: Sequence[JointLimits]) -> ShapeTable:
    """Return the table of a chain of two bones or more.

    Args:
        links: in the frames of their bones, over the chain's length.
        rests: frames of the bones after the first, each in that of the bone before.
        limits: of all bones.
    """
    frames = [Quaternion(), *rests]
    family = shape_family(
        ConstrainedChain(
            rests=[_components(rest) for rest in frames],
            links=[(link.x, link.y, link.z) for link in links],
            inherits=[True] * len(links),
            limits=limits,
            weights=[(1.0, 1.0, 1.0)] * len(links),
        )
    )
    least, most = family.distances[0], family.distances[-1]
    middle, half = 0.5 * (most + least), 0.5 * (most - least)
    distances = [middle + half * math.cos(math.pi * k / TABLE_STEPS) for k in range(TABLE_STEPS + 1)]
    own = [[Quaternion(rotation) for rotation in family.at(distance)] for distance in distances]
    joints = [_joints(links, frames, each) for each in own]
    at_rest = _joints(links, frames, [Quaternion()] * len(rests))[-1]
    begin = min(range(len(distances)), key=lambda k: abs(distances[k] - at_rest.length))
    turns = _turns([points[-1] for points in joints], at_rest, begin)
    plane = _plane(at_rest, [turns[TABLE_STEPS // 2] @ joint for joint in joints[TABLE_STEPS // 2]])
    back = plane.conjugated()
    firsts = [back @ turn @ plane for turn in turns]
    return ShapeTable(least, most, plane, _table(firsts), [_table(rotations) for rotations in zip(*own, strict=True)])


def _components(q: Quaternion) -> tuple[float, float, float, float]:
    return q.w, q.x, q.y, q.z


def _joints(links: Sequence[Vector], rests: Sequence[Quaternion], own: Sequence[Quaternion]) -> list[Vector]:
    """Return the joints after the root, in the first bone's frame."""
    frame, joint = Quaternion(), Vector()
    joints = []
    for link, rest, rotation in zip(links, rests, [Quaternion(), *own], strict=True):
        frame = frame @ rest @ rotation
        joint = joint + frame @ link
        joints.append(joint)
    return joints


def _turns(tips: Sequence[Vector], line: Vector, begin: int) -> list[Quaternion]:
    """Return rotations that bring the tips of a table onto a line, continuous from one to the next.

    With ``v_k`` the tips, ``R_begin`` is the shortest rotation of its tip onto the line, and outward from there
    ``R_{k+1} = S R_k`` with S the shortest rotation of ``R_k v_{k+1}`` onto the line: the frame is transported along.
    The shortest rotation of each ``v_k`` instead flips where ``v_k`` passes the opposite of the line.
    """
    turns = [tips[begin].rotation_difference(line)] * len(tips)
    for numbers in (range(begin + 1, len(tips)), range(begin - 1, -1, -1)):
        turn = turns[begin]
        for k in numbers:
            turn = (turn @ tips[k]).rotation_difference(line) @ turn
            turns[k] = turn
    return turns


def _plane(at_rest: Vector, joints: Sequence[Vector]) -> Quaternion:
    """Return the frame with +Y along the line root-tip and +X where a pose bends whose tip is on that line."""
    along = at_rest.normalized()
    bends = [joint - along * along.dot(joint) for joint in joints[:-1]]
    side = sum(bends, Vector())
    hint = (
        side if side.length > 1e-6 else max((Vector((1, 0, 0)), Vector((0, 0, 1))), key=lambda v: v.cross(along).length)
    )
    x_axis = (hint - along * along.dot(hint)).normalized()
    return Matrix(np.array([x_axis, along, x_axis.cross(along)]).T.tolist()).to_quaternion()


def _table(rotations: Sequence[Quaternion]) -> Table:
    """Return rotations as Euler angles that are continuous from one to the next."""
    angles = [rotations[0].to_euler('XYZ', Euler())]
    for rotation in rotations[1:]:
        angles.append(rotation.to_euler('XYZ', angles[-1]))
    x, y, z = ([angle[axis] for angle in angles] for axis in range(3))
    return x, y, z
