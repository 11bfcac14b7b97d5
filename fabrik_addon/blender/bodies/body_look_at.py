# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: what the head of a body looks at, from where, and the bones of its eyes."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from mathutils import Matrix, Quaternion, Vector

from ...core import FabrikError, LookAt
from ...core.body.bone_names import eye_side
from ...core.body.part import Role, Side
from ...core.body.posture import LOOKING
from ..bones.ancestors import with_ancestors
from ..bones.armature_bones import with_bones_below
from ..bones.overrides import bones_with_overrides
from ..bones.rotation_channel import Channel, is_locked, locked_channel_for, rotation_of
from ..rig.body_properties import body_of, roles_of
from ..rig.dependencies import followed_bones
from ..rig.targets_and_poles import armature_to_world, check_evaluated
from .body_directions import directions_at_rest

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone, ViewLayer

LOOK_SETTINGS = (
    "use_look_at",
    "look_target",
    "look_location",
    "use_eyes",
    "turned_by_look",
    "forward",
    "upward",
    "rest_frames",
)
"""Names of the properties of a body that a look has."""

NECK_ROLES = {Role.NECK, Role.HEAD}
"""Roles of the bones that turn toward a point at which the head doesn't look yet, while a handle is pulled.

The pose before a pull is the reference pose of the posture task. With chest and spine among these bones each pull, even
by no distance, bowed the torso again toward a point beyond the neck's reach: Rigify's human by up to 27 degrees. With
neck and head alone a drag of the chest took the head up to 2.3 degrees off its point, with all of them 0.5.
"""

LOOKS_AT_WITHIN = math.radians(3.0)
"""Angle from the head's direction to the point up to which the head looks at it."""

TURNING_ROLES = NECK_ROLES | {Role.SPINE, Role.CHEST}
"""Roles of the bones that turn for a look."""

EYE_CONE = math.radians(35.0)
"""Largest angle between an eye and its direction at rest. Chosen: human eyes reach about 55 degrees (Guitton and Volle
1987), where a face looks strained."""

_FORWARD_COSINE = 0.5
"""Cosine of the angle between the own y axis of an eye's bone and the body's direction forward at rest, from which on
the eye looks along that axis. The bone of an eye at the side of a head may point to that side."""

_INSIDE = 0.5
"""Distance from the eyes, over the length of the head's bone, below which a point is inside the head."""


@dataclass(frozen=True)
class Look:
    """The head of a body that looks at a point."""

    head: PoseBone
    name: str
    """Of what is looked at, for messages."""
    point: Vector
    """In armature space."""
    start: Vector
    """From where the head looks, in the frame of its bone, from its head."""
    forward: Vector
    """Where the head looks, in the frame of its bone, a unit vector."""
    eyes: tuple[tuple[PoseBone, Vector], ...]
    """Bones of the eyes, each with the axis in its own frame along which it looks."""

    def angle_left(self) -> float:
        """Return the angle (radians) between the head's direction and that to the point, or that of the farther eye."""
        return max((self._angle(bone, bone.head, axis) for bone, axis in self.eyes), default=self._head_angle())

    def turning_roles(self, is_pulled: bool) -> Container[str]:
        """Return the roles of the bones that turn for the look.

        In a pull those are neck and head alone, where the head doesn't look at the point.
        """
        return NECK_ROLES if is_pulled and self._head_angle() > LOOKS_AT_WITHIN else TURNING_ROLES

    def _head_angle(self) -> float:
        head = self.head
        return self._angle(head, head.head + head.matrix.to_quaternion() @ self.start, self.forward)

    def _angle(self, bone: PoseBone, place: Vector, axis: Vector) -> float:
        return float((bone.matrix.to_quaternion() @ axis).angle(self.point - place, 0.0))


def look_of(view_layer: ViewLayer, armature: Object) -> Look | None:
    """Return what the head of a body looks at; None of a body that looks nowhere.

    Raises:
        FabrikError: there is no head, or it can't look there.
    """
    body = body_of(armature)
    if not body.use_look_at:
        return None
    parts = [part for part in body.parts if part.role == Role.HEAD and part.bone in armature.pose.bones]
    if not any(part.role == Role.HEAD for part in body.parts):
        raise FabrikError(f"The body of '{armature.name}' has no head that could look")
    if not parts:
        raise FabrikError(f"The body of '{armature.name}' has no head that could look: choose its bone in Skeleton")
    head = armature.pose.bones[parts[0].bone]
    if is_locked(head):
        raise FabrikError(f"The rotation of bone '{head.name}' is locked: unlock it, or switch Look At off")
    rest = head.bone.matrix_local.to_quaternion()
    forward, _ = directions_at_rest(armature)
    if forward.length == 0.0:
        raise FabrikError(f"It isn't known where '{armature.name}' looks at rest: press Find Again")
    eyes = _eyes_of(armature, head)
    places = [bone.bone.head_local for bone in eyes] or [head.bone.head_local.lerp(head.bone.tail_local, 0.5)]
    start = sum(places, Vector()) / len(places) - head.bone.head_local
    look = Look(
        head,
        *_looked_at(view_layer, armature),
        start=rest.inverted() @ start,
        forward=rest.inverted() @ forward,
        eyes=tuple((bone, _axis_of(bone, forward)) for bone in eyes) if body.use_eyes else (),
    )
    if not all(map(math.isfinite, look.point[:])):
        raise FabrikError(f"{look.name} has a position that is not a finite number")
    if (look.point - head.head - head.matrix.to_quaternion() @ look.start).length < _INSIDE * head.length:
        raise FabrikError(f"{look.name} is inside the head, bone '{head.name}': move it away, or switch Look At off")
    return look


def head_holder(armature: Object) -> str:
    """Return in words what keeps the head of a body from turning farther to what it looks at."""
    heads = [part.bone for part in body_of(armature).parts if part.role == Role.HEAD]
    if any(handle.use_pin and handle.bone in heads for handle in body_of(armature).handles):
        return "the head is pinned"
    movers = bones_with_overrides(armature)
    mover = next((movers[name] for name in heads if name in movers), None)
    return "the neck is at its limits" if mover is None else f"{mover} moves the head"


def _looked_at(view_layer: ViewLayer, armature: Object) -> tuple[str, Vector]:
    """Return the name and the place, in armature space, of what the head of a body looks at.

    Raises:
        FabrikError: the object follows a bone of the armature, or Blender doesn't evaluate it.
    """
    body = body_of(armature)
    target = body.look_target
    to_armature = armature_to_world(armature).inverted()
    if target is None:
        return "The place", to_armature @ Vector(body.look_location)
    check_evaluated(view_layer, target, f"'{target.name}'")
    followed = followed_bones(target, "", armature)
    if target.original == armature.original or followed:
        way = next(iter(followed.values()), "the armature itself")
        raise FabrikError(f"The head looks at '{target.name}', which follows {way}: choose another object")
    return f"'{target.name}'", to_armature @ target.matrix_world.to_translation()


def _eyes_of(armature: Object, head: PoseBone) -> list[PoseBone]:
    """Return the bones of the eyes that can turn: below the head, on both sides, none of them below another one.

    Controls at which eyes are aimed, far in front of the face, are none.
    """
    overridden = bones_with_overrides(armature)
    found: list[PoseBone] = []
    for bone in with_bones_below(head)[1:]:
        is_eye = eye_side(bone.name) in (Side.LEFT, Side.RIGHT)
        is_near = (bone.bone.head_local - head.bone.head_local).length <= 1.5 * head.bone.length
        is_first = not any(eye in bone.parent_recursive for eye in found)
        if is_eye and is_near and is_first and bone.name not in overridden and not is_locked(bone):
            found.append(bone)
    return found if {eye_side(bone.name) for bone in found} == {Side.LEFT, Side.RIGHT} else []


def _axis_of(eye: PoseBone, forward: Vector) -> Vector:
    """Return the axis in its own frame along which an eye looks: its y axis, if that points forward at rest."""
    rest = eye.bone.matrix_local.to_quaternion()
    along = Vector((0.0, 1.0, 0.0))
    return along if (rest @ along).dot(forward) >= _FORWARD_COSINE else rest.inverted() @ forward


def eye_channels(look: Look | None, moved: Matrix | None = None) -> list[tuple[PoseBone, Channel]]:
    """Return the channels of the eyes that look at the point, or as near to it as ``EYE_CONE`` lets them.

    Each turns from its rest by the shortest rotation, after Listing's law.

    Args:
        look: of the head; None has no eyes.
        moved: by which the head is moved from the pose of the evaluated bones, in armature space; None is not at all.
    """
    moved = Matrix() if moved is None else moved
    found = []
    for bone, axis in look.eyes if look is not None else ():
        assert look is not None
        frame = moved.to_quaternion() @ bone.matrix.to_quaternion()
        to_parent: Quaternion = rotation_of(bone) @ frame.inverted()
        toward = to_parent @ (look.point - moved @ bone.head)
        turn = axis.rotation_difference(toward)
        angle = axis.angle(toward, 0.0)
        if angle > EYE_CONE:
            turn = Quaternion().slerp(turn, EYE_CONE / angle)
        found.append((bone, locked_channel_for(bone, turn)))
    return found


def read_look_at(armature: Object, look: Look, joints: Mapping[str, int], is_pulled: bool) -> LookAt:
    """Return the look of a body whose bones are those of a tree.

    Args:
        armature: object with the body.
        look: of its head.
        joints: of the tree, at the heads of its bones, the head's among them, by their names.
        is_pulled: whether a handle of the body is pulled (``Look.turning_roles``).
    """
    roles, turning = roles_of(armature), look.turning_roles(is_pulled)
    line = [bone for bone in with_ancestors(look.head) if bone.name in joints]
    trunk = next((bone for bone in line if roles.get(bone.name) not in NECK_ROLES), line[-1])
    forward, up = directions_at_rest(armature)
    left: Vector = up.cross(forward)  # type: ignore[assignment]
    since_rest = trunk.matrix.to_quaternion() @ trunk.bone.matrix_local.to_quaternion().inverted()
    of_head = look.head.bone.matrix_local.to_quaternion().inverted()
    return LookAt(
        bone=joints[look.head.name],
        eyes=np.array(look.start[:]),
        forward=np.array(look.forward[:]),
        left=np.array((of_head @ left)[:]),
        point=np.array(look.point[:]),
        axes=np.array([(since_rest @ axis)[:] for axis in (forward, left, up)]),
        turning=np.array([joints[bone.name] for bone in line if roles.get(bone.name) in turning]),
        priority=LOOKING,
    )
