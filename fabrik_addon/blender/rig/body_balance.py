# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: the masses of a body's bones, and the points of its planted feet that are on the floor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from mathutils import Vector

from ...core import Array, Balance
from ...core.body.part import Role
from ...core.body.posture import PINNED, PULLED
from ...core.body.segment_masses import HALF_FOOT_BREADTH, proximal_distance, shares_of_mass
from .body_properties import body_of
from .targets_and_poles import armature_to_world

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone

    from .body_properties import FabrikHandle

_ON_THE_FLOOR = 0.05
"""Height of a foot above the lowest one, over that of the skeleton at rest, up to which it stands on the floor."""


def read_balance(
    armature: Object, bones: Sequence[PoseBone], pulled: frozenset[str], first_joint: int
) -> Balance | None:
    """Return the balance of a body whose bones are those of a tree; None without one, or with nothing planted.

    Args:
        armature: object with the body.
        bones: of the tree, in the order of its joints.
        pulled: names of the handles that are pulled, which stay planted no more.
        first_joint: the joint at which the first of the bones starts.
    """
    body = body_of(armature)
    if not body.use_balance:
        return None
    up = upward(armature)
    stance = stance_of(armature, up)
    support = [point for name, points in stance.items() if name not in pulled for point in points]
    masses = masses_of(armature)
    numbers = {bone.name: number for number, bone in enumerate(bones)}
    sums: dict[int, tuple[float, Vector]] = {}
    for name, mass, center in masses:
        bone = armature.pose.bones[name]
        number = next((numbers[one.name] for one in (bone, *bone.parent_recursive) if one.name in numbers), None)
        if number is not None:
            before, moment = sums.get(number, (0.0, Vector()))
            sums[number] = before + mass, moment + mass * center
    if not sums or not support:
        return None
    whole = sum(mass for mass, _ in sums.values())
    frames = [bones[number].matrix for number in sums]
    centers = [
        frame.to_quaternion().inverted() @ (moment / mass - frame.to_translation())
        for frame, (mass, moment) in zip(frames, sums.values(), strict=True)
    ]
    return Balance(
        bones=np.array([number + first_joint for number in sums]),
        masses=np.array([mass / whole for mass, _ in sums.values()]),
        centers=np.array([center[:] for center in centers]),
        up=np.array(up[:]),
        support=_rows(support),
        stance=_rows([point for points in stance.values() for point in points]),
        priority=PULLED,
    )


def stance_of(armature: Object, up: Vector) -> dict[str, list[Vector]]:
    """Return the points around what each planted handle stands on, of those on the floor, in armature space.

    A foot that was lifted keeps its place as a planted one does, and carries no weight.
    """
    bones = armature.pose.bones
    planted = [handle for handle in body_of(armature).handles if is_planted(handle) and handle.bone in bones]
    points = {handle.name: sole_points(armature, handle, up) for handle in planted}
    lowest = {name: min(point.dot(up) for point in its) for name, its in points.items()}
    heights = [end.dot(up) for bone in bones for end in (bone.bone.head_local, bone.bone.tail_local)]
    floor = min(lowest.values(), default=0.0) + _ON_THE_FLOOR * (max(heights) - min(heights))
    return {name: its for name, its in points.items() if lowest[name] <= floor}


def upward(armature: Object) -> Vector:
    """Return the direction against gravity in armature space, a unit vector."""
    return (armature_to_world(armature).to_3x3().inverted() @ Vector((0.0, 0.0, 1.0))).normalized()


def is_planted(handle: FabrikHandle) -> bool:
    """Tell whether a handle is one that stands on the ground and keeps its place."""
    return bool(handle.priority == PINNED and handle.use_position)


def masses_of(armature: Object) -> list[tuple[str, float, Vector]]:
    """Return the bones of a body that have a mass: name, share of the whole mass, center of mass in armature space."""
    parts = [part for part in body_of(armature).parts if part.bone in armature.pose.bones]
    shares = shares_of_mass([(part.role, part.side, part.limb) for part in parts])
    found = []
    for part, share in zip(parts, shares, strict=True):
        bone = armature.pose.bones[part.bone]
        if share > 0.0:
            found.append((part.bone, share, bone.head.lerp(bone.tail, proximal_distance(part.role))))
    return found


def sole_points(armature: Object, handle: FabrikHandle, up: Vector) -> list[Vector]:
    """Return points around what a planted handle stands on, in armature space.

    They are the ends of the handle's bone and of the parts that hang on it, at a foot with half its breadth to each
    side; of a handle at a tail that tail alone.
    """
    bone = armature.pose.bones[handle.bone]
    if handle.use_tail:
        return [bone.tail.copy()]
    names = {part.bone for part in body_of(armature).parts}
    line = [bone, *(child for child in bone.children_recursive if child.name in names)]
    ends = [end.copy() for one in line for end in (one.head, one.tail)]
    is_foot = any(part.role == Role.FOOT and part.bone == bone.name for part in body_of(armature).parts)
    farthest = max((end - bone.head for end in ends), key=lambda way: way.cross(up).length)
    aside = HALF_FOOT_BREADTH * up.cross(farthest) if is_foot else Vector()
    return [end + sign * aside for end in ends for sign in (-1.0, 1.0)]


def _rows(points: Sequence[Vector]) -> Array:
    return np.array([point[:] for point in points]).reshape(-1, 3)
