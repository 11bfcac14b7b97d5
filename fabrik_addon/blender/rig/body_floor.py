# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: the floor of a body, and the points of its soles that stay above it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from mathutils import Vector

from ...core import Floor
from ...core.body.part import Role
from ...core.body.posture import PULLED
from .body_properties import body_of
from .targets_and_poles import armature_to_world

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone


def read_floor(armature: Object, bones: Sequence[PoseBone], first_joint: int) -> Floor | None:
    """Return the floor of a body whose bones are those of a tree; None without one, or without feet.

    Args:
        armature: object with the body.
        bones: of the tree, in the order of its joints.
        first_joint: the joint at which the first of the bones starts.
    """
    body = body_of(armature)
    if not body.use_floor:
        return None
    # A point p of armature space is at the height m . p + t in the world, with (m, t) the third row of the matrix.
    row = armature_to_world(armature)[2]
    normal = Vector(row[:3])
    up = normal.normalized()
    numbers = {bone.name: number for number, bone in enumerate(bones)}
    found = []
    for bone, point in sole_points_of(armature, up):
        number = next((numbers[one.name] for one in (bone, *bone.parent_recursive) if one.name in numbers), None)
        if number is not None:
            frame = bones[number].matrix
            found.append((number, frame.to_quaternion().inverted() @ (point - frame.to_translation())))
    if not found:
        return None
    return Floor(
        bones=np.array([number + first_joint for number, _ in found]),
        points=np.array([point[:] for _, point in found]),
        up=np.array(up[:]),
        height=(body.floor_height - row[3]) / normal.length,
        priority=PULLED,
    )


def sole_points_of(armature: Object, up: Vector) -> list[tuple[PoseBone, Vector]]:
    """Return the points of a body's soles, each with the bone that it moves with, in armature space.

    They are below the ends of the bones of feet and toes, on the ground on which the body stands at rest.
    """
    bones = armature.pose.bones
    parts = [part for part in body_of(armature).parts if part.role in {Role.FOOT, Role.TOE} and part.bone in bones]
    ends = [(bones[part.bone], end) for part in parts for end in ("head_local", "tail_local")]
    ground = min((getattr(bone.bone, end).dot(up) for bone, end in ends), default=0.0)
    found = []
    for bone, end in ends:
        at_rest = getattr(bone.bone, end)
        below = at_rest - (at_rest.dot(up) - ground) * up
        found.append((bone, bone.matrix @ (bone.bone.matrix_local.inverted() @ below)))
    return found
