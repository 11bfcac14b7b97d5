# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: the masses of a body's bones, where the center of mass is, and where it should be."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from mathutils import Vector

from ...core import Array, Balance
from ...core.body.segment_masses import proximal_distance, shares_of_mass
from ...core.math import quaternion_arrays
from ...core.math.convex_region import convex_hull, nearest_in_hull
from ...core.math.operations import SCALAR
from ...core.math.smooth_step import smooth_step
from ...core.math.vectors import perpendicular
from ..bones.ancestors import with_ancestors
from ..rig.body_properties import body_of
from .planted_feet import Sole, stance_of, upward

if TYPE_CHECKING:
    from bpy.types import Object

ON_HEELS = 0.01
"""Distance of the center of mass behind the ankles, in units of the body's tree, from which on the heels carry it."""


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
        stance=_rows(_support(stance, ())),
        priority=priority,
    )


def read_support(armature: Object, pulled: Container[str], with_heels: bool = True) -> Array:
    """Return the points (P, 3) on which a body stands in the pose that is shown, in armature space.

    Args:
        armature: object with the body, evaluated.
        pulled: names of the handles that are pulled, which stay planted no more.
        with_heels: whether the points behind the ankles are among them.
    """
    return _rows(_support(stance_of(armature, upward(armature)), pulled, with_heels))


def share_on_heels(balance: Balance, before_heels: Array, points: Array, frames: Array, unit: float) -> float:
    """Return how far a body leans back onto its heels in a solution: from 0, not at all, to 1.

    That is the distance by which the center of mass is nearer to the hull of the balance's support than to that of the
    points before the heels: 1 from ``ON_HEELS`` on. It fades to 0 where the center is outside the support by that.

    Args:
        before_heels: (P, 3) support without heels while these were on the floor: as they lift, the ankles go forward.
        points: (N, 3) joints.
        frames: (N, 4) of the bones, by joint.
        unit: length of the body's tree.
    """
    if not len(before_heels) or not len(balance.support):
        return 0.0
    offsets = quaternion_arrays.to_matrices(frames[balance.bones]) @ balance.centers[..., None]
    center = balance.masses @ (points[balance.bones] + offsets[..., 0])
    outside, behind_ankles = (
        _distance_from_hull(around, center, balance.up) / unit for around in (balance.support, before_heels)
    )
    return smooth_step(behind_ankles - outside, 0.0, ON_HEELS) * smooth_step(outside, ON_HEELS, 0.0)


def _distance_from_hull(points: Array, center: Array, up: Array) -> float:
    """Return the distance of a point from the convex hull of others (P, 3), seen along the vertical."""
    first = np.array(perpendicular(SCALAR, tuple(up.tolist()), []))
    axes = np.array([first, np.cross(up, first)])
    u, v = (axes @ center).tolist()
    around = [(x, y) for x, y in (points @ axes.T).tolist()]
    return math.dist((u, v), nearest_in_hull(convex_hull(around), (u, v)))


def _support(stance: Mapping[str, Sole], pulled: Container[str], with_heels: bool = True) -> list[Vector]:
    """Return the points on which a body stands, without those of handles that are pulled."""
    soles = [sole for name, sole in stance.items() if name not in pulled]
    return [point for sole in soles for point in (sole.points if with_heels else sole.before_heel)]


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
    floor = min(point.dot(up) for point in points)
    outside = _distance_from_hull(_rows(points), np.array(center[:]), np.array(up[:]))
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
