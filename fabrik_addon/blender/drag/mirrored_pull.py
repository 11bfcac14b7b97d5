# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pose's X-axis mirror for a body: the handle on the other side is pulled alike, in armature space.

With `F = diag(-1, 1, 1)`, `p` and `R` place and rotation of the pulled handle, and `p0, R0` and `o0, O0` those of both
handles in a reference pose, the handle on the other side is pulled to `o0 + F (p - p0)` with the rotation
`F (R R0⁻¹) F O0`. The reference pose is the rest pose; with relative mirror, which keeps the difference of the two
sides, the pose at the start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mathutils import Quaternion, Vector

from ..bodies.handles import Pull
from ..bodies.turning_bones import turning_bones
from ..rig.body_properties import body_of
from .pose_mirror import opposite_of

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone


@dataclass(frozen=True)
class _Reference:
    """Place and rotation of a handle in the reference pose."""

    place: Vector
    rotation: Quaternion


@dataclass(frozen=True)
class OtherSide:
    """The handle on the other side of one that is pulled."""

    handle: Pull
    """Without a place."""
    own: _Reference
    other: _Reference

    def pull(self, pull: Pull) -> Pull:
        """Return the pull of the handle on the other side."""
        position = rotation = None
        if pull.position is not None:
            offset = pull.position - self.own.place
            position = self.other.place + Vector((-offset.x, offset.y, offset.z))
        if pull.rotation is not None:
            turn = pull.rotation @ self.own.rotation.conjugated()
            rotation = Quaternion((turn.w, turn.x, -turn.y, -turn.z)) @ self.other.rotation
        return Pull(self.handle.handle, position, rotation, self.handle.bone, self.handle.use_tail)


def other_side(armature: Object, bone: str, use_tail: bool) -> OtherSide | None:
    """READ: the handle on the other side; None without X-axis mirror, where there is none that turns, or a pinned one.

    Args:
        armature: evaluated, with a body.
        bone: of the handle that is pulled.
        use_tail: whether that handle is at the bone's tail.
    """
    own = armature.pose.bones[bone]
    if not armature.pose.use_mirror_x:
        return None
    other = opposite_of(armature, own) or _opposite_part(armature, own)
    if other is None or other.name not in turning_bones(armature):
        return None
    there = next((one for one in body_of(armature).handles if (one.bone, one.use_tail) == (other.name, use_tail)), None)
    if there is not None and there.use_pin:
        return None
    handle = Pull(f"{other.name} (mirrored)", bone=other.name, use_tail=use_tail) if there is None else Pull(there.name)
    is_relative = armature.pose.use_mirror_relative
    return OtherSide(handle, _reference(own, use_tail, is_relative), _reference(other, use_tail, is_relative))


def _opposite_part(armature: Object, bone: PoseBone) -> PoseBone | None:
    """Return the bone of the same part on the other side: Blender doesn't know the sides of many names.

    Those of Mixamo, Biped, VRoid and MMD and names with a number at the end are among them.
    """
    parts = body_of(armature).parts
    own = next((part for part in parts if part.bone == bone.name and part.side != 'CENTER'), None)
    if own is None:
        return None
    alike = [part for part in parts if (part.role, part.limb) == (own.role, own.limb) and part.side != 'CENTER']
    here = [part.bone for part in alike if part.side == own.side]
    there = [part.bone for part in alike if part.side != own.side]
    # One above the other, where a part has several bones.
    return armature.pose.bones.get(dict(zip(here, there, strict=False)).get(bone.name, ""))


def _reference(bone: PoseBone, use_tail: bool, is_relative: bool) -> _Reference:
    if is_relative:
        return _Reference((bone.tail if use_tail else bone.head).copy(), bone.matrix.to_quaternion())
    rest = bone.bone
    return _Reference((rest.tail_local if use_tail else rest.head_local).copy(), rest.matrix_local.to_quaternion())
