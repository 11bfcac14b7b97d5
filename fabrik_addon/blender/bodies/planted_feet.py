# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: the planted feet of a body: what they stand on, and about which joint their heels lift."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from mathutils import Vector

from ...core.body.part import Role
from ...core.body.posture import LETS_GO, LIFTED, PINNED
from ...core.body.segment_masses import HALF_FOOT_BREADTH, HEEL
from ..bones.armature_bones import with_bones_below
from ..bones.rotation_channel import is_locked
from ..rig.body_properties import body_of, roles_of
from ..rig.targets_and_poles import armature_to_world
from .part_ends import as_posed, ends_at_rest

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone

    from ..rig.body_properties import FabrikHandle

_ON_THE_FLOOR = 0.06
"""Height of a foot above the lowest one, over that of the skeleton at rest, up to which it stands on the floor.

Rigify's cat, whose toes are no parts, has its hind feet 0.052 above the front ones."""

_KNEE_HEIGHT = 0.285
"""Height of the knee over that of the body (Drillis and Contini 1966, in Winter, figure 4.1), up to which a level foot
stands on something."""

_LEVEL = math.radians(30.0)
"""Tilt of a sole against rest up to which it is level.

A foot of Rigify's human that is pulled 0.3 m forward and as high, onto a step, tilts by 16 degrees; where the other
foot is 0.2 m back by 21, by 26 while the head looks at a point. Lifted as high in place it tilts by 42, 0.2 m backward
by 53, and in a kick by 37."""


class Sole(NamedTuple):
    """Points around what a planted handle stands on, in armature space."""

    before_heel: list[Vector]
    heel: list[Vector]
    """Behind the ankle; empty where no heel is on the floor."""

    @property
    def points(self) -> list[Vector]:
        """All of them."""
        return [*self.before_heel, *self.heel]


def stance_of(armature: Object, up: Vector) -> dict[str, Sole]:
    """Return what each planted handle stands on, of those that carry weight, in armature space.

    These are on the floor, or pinned, or level and not above the knee: a foot that was put onto a step. A foot that was
    lifted otherwise keeps its place as a planted one does, and carries no weight.
    """
    bones = armature.pose.bones
    planted = [handle for handle in body_of(armature).handles if is_planted(handle) and handle.bone in bones]
    roles = roles_of(armature)
    soles = {handle.name: _sole_bones(armature, handle, roles) for handle in planted}
    stance = {handle.name: _sole(handle, soles[handle.name], roles, up) for handle in planted}
    lowest = {name: min(point.dot(up) for point in sole.points) for name, sole in stance.items()}
    floor, height = min(lowest.values(), default=0.0), height_at_rest(armature, up)

    def carries(handle: FabrikHandle) -> bool:
        lifted = (lowest[handle.name] - floor) / height
        on_step = lifted <= _KNEE_HEIGHT and _tilt(soles[handle.name][-1], up) <= _LEVEL
        return handle.use_pin or lifted <= _ON_THE_FLOOR or on_step

    return {handle.name: stance[handle.name] for handle in planted if carries(handle)}


def _tilt(bone: PoseBone, up: Vector) -> float:
    """Return the angle (radians) by which a direction has turned with a bone since rest."""
    return (bone.matrix.to_quaternion() @ bone.bone.matrix_local.to_quaternion().inverted() @ up).angle(up)


def _sole_bones(armature: Object, handle: FabrikHandle, roles: Container[str]) -> list[PoseBone]:
    """Return the bone of a handle and, below its head, the parts that hang on it."""
    bone = armature.pose.bones[handle.bone]
    if handle.use_tail:
        return [bone]
    below = with_bones_below(bone)[1:]
    return [bone, *(child for child in below if child.name in roles)]


def height_at_rest(armature: Object, up: Vector) -> float:
    """Return the height of a skeleton at rest, along a direction; its length where all of it lies flat, as a snake."""
    bones = armature.data.bones
    ends = np.empty((2, 3 * len(bones)), np.float32)
    bones.foreach_get("head_local", ends[0])
    bones.foreach_get("tail_local", ends[1])
    places = ends.reshape(-1, 3).astype(float)
    return float(np.ptp(places @ np.array(up[:]))) or float(np.ptp(places, axis=0).max())


def upward_over_height(armature: Object) -> Vector:
    """Return the direction against gravity in armature space, over the height of the skeleton at rest."""
    up = upward(armature)
    return up / height_at_rest(armature, up)


def lifted_weight(handle: FabrikHandle, height: float) -> float:
    """Return the share of its weight that the rotation of a handle that is pulled has: less than 1 of a lifted foot.

    Args:
        handle: of the body, that is pulled.
        height: by which it is lifted, over that of the skeleton at rest.
    """
    if handle.use_pin or not is_planted(handle):
        return 1.0
    return 1.0 if height <= LIFTED else float((LIFTED / height) ** LETS_GO)


def upward(armature: Object) -> Vector:
    """Return the direction against gravity in armature space, a unit vector."""
    return (armature_to_world(armature).to_3x3().inverted() @ Vector((0.0, 0.0, 1.0))).normalized()


def is_planted(handle: FabrikHandle) -> bool:
    """Tell whether a handle is one that stands on the ground and keeps its place."""
    return bool(handle.priority == PINNED and handle.use_position)


def toes_of(armature: Object, handle: FabrikHandle, turning: Container[str]) -> PoseBone | None:
    """Return the bone of the toes about whose head a planted foot lifts its heel; None if it doesn't.

    That is a foot that is planted by place and rotation at its ankle, with one bone of toes that turns: toes whose
    rotation is locked are rigid with the foot.

    Args:
        handle: of the body, that isn't pulled.
        turning: names of the bones that turn.
    """
    if not is_planted(handle) or handle.use_pin or handle.use_tail or not handle.use_rotation:
        return None
    roles = roles_of(armature)
    if roles.get(handle.bone) != Role.FOOT:
        return None
    foot = armature.pose.bones[handle.bone]
    toes = [
        bone
        for bone in with_bones_below(foot)[1:]
        # Bones without a role may lie between foot and toes, as in the rigs that Rigify generates.
        if roles.get(bone.name) == Role.TOE
        and bone.name in turning
        and not is_locked(bone)
        and next(above for above in bone.parent_recursive if above.name in roles) == foot
    ]
    return toes[0] if len(toes) == 1 else None


def _sole(handle: FabrikHandle, sole: Sequence[PoseBone], roles: Mapping[str, str], up: Vector) -> Sole:
    """Return what a planted handle stands on.

    The points are the ends of the handle's bone and of the parts that hang on it, at a foot with its heel and with half
    its breadth to each side; of a handle at a tail that tail alone. A foot whose bone rises by more than 45 degrees
    stands on its toes, as a wolf's does, and has no heel there.
    """
    bone = sole[0]
    if handle.use_tail:
        return Sole([bone.tail.copy()], [])
    ends = [as_posed(one, end) for one in sole for end in ends_at_rest(one.bone, roles)]
    is_foot = roles.get(bone.name) == Role.FOOT
    farthest = max((end - bone.head for end in ends), key=lambda way: way.cross(up).length)
    aside = HALF_FOOT_BREADTH * cast("Vector", up.cross(farthest)) if is_foot else Vector()
    along = bone.vector
    rise = along.dot(up)
    over_floor = along - rise * up
    heels = [bone.head - HEEL * over_floor] if is_foot and abs(rise) <= over_floor.length else []
    before, behind = ([end + sign * aside for end in points for sign in (-1.0, 1.0)] for points in (ends, heels))
    return Sole(before, behind)
