# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: where a body's bones end at rest, also where an importer has made up their tails.

On Rigify's human, exported and imported as BVH at a hundredth of its size, the tail of a foot, on which toes and heel
hang, is a quarter of the body's height under the sole.
"""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING

from ..bones.armature_bones import with_bones_below

if TYPE_CHECKING:
    from bpy.types import Bone, PoseBone
    from mathutils import Vector


def ends_at_rest(bone: Bone, parts: Container[str]) -> list[Vector]:
    """Return the head of a bone and, if no part of the body hangs on the bone, its tail (``tail_at_rest``).

    Args:
        bone: a part of the body, or one that hangs on a part.
        parts: names of the body's bones.
    """
    is_inner = any(below.name in parts for below in with_bones_below(bone)[1:])
    return [bone.head_local.copy()] if is_inner else [bone.head_local.copy(), tail_at_rest(bone, parts)]


def tail_at_rest(bone: Bone, parts: Container[str]) -> Vector:
    """Return a bone's tail, no farther from its head than the head of the part of the body above it.

    So does recognition (``core.body.limbs.end_point``).
    """
    above = next((one for one in bone.parent_recursive if one.name in parts), None)
    most = bone.length if above is None else (bone.head_local - above.head_local).length
    return bone.head_local.lerp(bone.tail_local, min(1.0, most / bone.length) if bone.length else 0.0)


def as_posed(bone: PoseBone, point: Vector) -> Vector:
    """Return where a point that moves with a bone is in its pose, from where it is at rest, in armature space."""
    return bone.matrix @ (bone.bone.matrix_local.inverted() @ point)
