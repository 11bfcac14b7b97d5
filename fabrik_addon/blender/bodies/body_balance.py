# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: the masses of a body's bones, where the center of mass is, and where it should be."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from mathutils import Quaternion, Vector

from ...core import Array, Balance
from ...core.body.segment_masses import proximal_distance, shares_of_mass
from ...core.math.convex_region import convex_hull, nearest_in_hull
from ..bones.ancestors import with_ancestors
from ..rig.body_properties import body_of
from .planted_feet import stance_of, upward

if TYPE_CHECKING:
    from bpy.types import Object


@dataclass(frozen=True)
class CenterOverFloor:
    """The center of mass of a body, seen along the vertical; armature space."""

    on_floor: Vector
    """Below it, at the height of the feet that are planted."""
    outside: float
    """Distance from the hull of these feet; 0 over it."""


def read_balance(armature: Object, joints: Mapping[str, int], pulled: frozenset[str], priority: int) -> Balance | None:
    """Return the balance of a body whose bones are those of a tree; None without one, or with nothing planted.

    Args:
        armature: object with the body.
        joints: of the tree, at the heads of its bones, by their names.
        pulled: names of the handles that are pulled, which stay planted no more.
        priority: level of the task.
    """
    body = body_of(armature)
    if not body.use_balance:
        return None
    up = upward(armature)
    stance = stance_of(armature, up)
    support = _support(stance, pulled)
    masses = masses_of(armature)
    bones = armature.pose.bones
    sums: dict[str, tuple[float, Vector]] = {}
    for name, mass, center in masses:
        carrier = next((one.name for one in with_ancestors(bones[name]) if one.name in joints), None)
        if carrier is not None:
            before, moment = sums.get(carrier, (0.0, Vector()))
            sums[carrier] = before + mass, moment + mass * center
    if not sums or not support:
        return None
    whole = sum(mass for mass, _ in sums.values())
    frames = [bones[name].matrix for name in sums]
    centers = [
        frame.to_quaternion().inverted() @ (moment / mass - frame.to_translation())
        for frame, (mass, moment) in zip(frames, sums.values(), strict=True)
    ]
    return Balance(
        bones=np.array([joints[name] for name in sums]),
        masses=np.array([mass / whole for mass, _ in sums.values()]),
        centers=np.array([center[:] for center in centers]),
        up=np.array(up[:]),
        support=_rows(support),
        stance=_rows([point for points in stance.values() for point in points]),
        priority=priority,
    )


def read_support(armature: Object, pulled: Container[str]) -> Array:
    """Return the points (P, 3) on which a body stands in the pose that is shown, in armature space.

    Args:
        armature: object with the body, evaluated.
        pulled: names of the handles that are pulled, which stay planted no more.
    """
    return _rows(_support(stance_of(armature, upward(armature)), pulled))


def _support(stance: Mapping[str, Sequence[Vector]], pulled: Container[str]) -> list[Vector]:
    """Return the points on which a body stands, without those of handles that are pulled."""
    return [point for name, points in stance.items() if name not in pulled for point in points]


def center_over_floor(armature: Object, pulled: Container[str] = ()) -> CenterOverFloor | None:
    """Return where the center of mass of a body is over the floor; None without masses, or with nothing planted.

    Args:
        armature: object with the body, evaluated.
        pulled: names of the handles that are pulled, which stay planted no more.
    """
    up, masses = upward(armature), masses_of(armature)
    points = _support(stance_of(armature, up), pulled)
    if not points or not masses:
        return None
    center = Vector()
    for _, mass, at in masses:
        center += mass * at
    first = up.orthogonal().normalized()
    second = Quaternion(up, 0.5 * math.pi) @ first
    here, *around = [(point.dot(first), point.dot(second)) for point in (center, *points)]
    floor = min(point.dot(up) for point in points)
    outside = math.dist(here, nearest_in_hull(convex_hull(around), here))
    return CenterOverFloor(center + (floor - center.dot(up)) * up, outside)


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


def _rows(points: Sequence[Vector]) -> Array:
    return np.array([point[:] for point in points]).reshape(-1, 3)
