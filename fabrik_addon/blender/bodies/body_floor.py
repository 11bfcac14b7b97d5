# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: the floor of a body, and the points of its soles that stay above it, or above the toes that are planted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from mathutils import Vector

from ...core import FabrikError, Floor
from ...core.body.part import Role
from ...core.body.posture import PULLED
from ..bones.ancestors import with_ancestors
from ..bones.armature_bones import with_bones_below
from ..rig.body_properties import body_of, roles_of
from ..rig.targets_and_poles import armature_to_world
from .part_ends import as_posed, ends_at_rest

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone


def read_floor(armature: Object, joints: Mapping[str, int], toes: Mapping[str, PoseBone]) -> Floor | None:
    """Return the floor of a body whose bones are those of a tree; None without one and without planted heels.

    Args:
        armature: object with the body.
        joints: of the tree, at the heads of its bones, by their names.
        toes: about which planted feet lift their heels, by the names of the feet's bones.

    Raises:
        FabrikError: its height is not a finite number.
    """
    body = body_of(armature)
    if not math.isfinite(body.floor_height):
        raise FabrikError("the height of the floor is not a finite number")
    # A point p of armature space is at the height m . p + t in the world, with (m, t) the third row of the matrix.
    row = armature_to_world(armature)[2]
    normal = Vector(row[:3])
    up = normal.normalized()
    plane = (body.floor_height - row[3]) / normal.length
    points = [(bone, point, plane) for bone, point in sole_points_of(armature, up)] if body.use_floor else []
    found = []
    for bone, point, height in [*points, *_planted_heels(armature, toes, up)]:
        carrier = next((one for one in with_ancestors(bone) if one.name in joints), None)
        if carrier is not None:
            in_frame = carrier.matrix.to_quaternion().inverted() @ (point - carrier.matrix.to_translation())
            found.append((joints[carrier.name], in_frame, height))
    if not found:
        return None
    return Floor(
        bones=np.array([joint for joint, _, _ in found]),
        points=np.array([point[:] for _, point, _ in found]),
        up=np.array(up[:]),
        heights=np.array([height for _, _, height in found]),
        priority=PULLED,
    )


def _planted_heels(armature: Object, toes: Mapping[str, PoseBone], up: Vector) -> list[tuple[PoseBone, Vector, float]]:
    """Return of each planted foot its bone, the point below its ankle, and the height above which that point stays.

    With the toes' head t and the ankle a, both at rest, the point is ``a - ((a - t) . up) up``, as high as t there: as
    long as it is not below the toes' head the foot is flat or its heel is lifted. Without that balance turned the feet
    of Rigify's human by 35 degrees about their toes, and the heels 0.08 m below these, where a chest was pulled
    forward. A foot that rises by more than 45 degrees stands on its toes, and lowers its heel as its leg bends.
    """
    found = []
    for name, toe in toes.items():
        foot = armature.pose.bones[name]
        along = toe.bone.head_local - foot.bone.head_local
        rise = along.dot(up)
        if abs(rise) <= (along - rise * up).length:
            point = as_posed(foot, foot.bone.head_local + rise * up)
            found.append((foot, point, toe.head.dot(up)))
    return found


def sole_points_of(armature: Object, up: Vector) -> list[tuple[PoseBone, Vector]]:
    """Return the points of a body's soles, each with the bone that it moves with, in armature space.

    They are below the ends of the bones of feet and toes, on the ground on which the body stands at rest, and the ends
    of the deforming bones that hang on these, such as markers of heels. The ground is at the lowest of all ends.
    """
    bones, roles = armature.pose.bones, roles_of(armature)
    parts = [part for part in body_of(armature).parts if part.role in {Role.FOOT, Role.TOE} and part.bone in bones]
    feet = [bones[part.bone] for part in parts]
    below = {name for foot in feet for name in (one.name for one in with_bones_below(foot.bone)[1:] if one.use_deform)}
    others = [bones[name] for name in sorted(below - {foot.name for foot in feet})]
    at_rest = [(bone, end, bone in feet) for bone in (*feet, *others) for end in ends_at_rest(bone.bone, roles)]
    ground = min((end.dot(up) for _, end, _ in at_rest), default=0.0)
    found = []
    for bone, end, is_foot in at_rest:
        point = end - (end.dot(up) - ground) * up if is_foot else end
        found.append((bone, as_posed(bone, point)))
    return found
