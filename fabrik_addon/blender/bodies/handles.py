# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: the handles of a body: their bones, where they are, and where they should be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mathutils import Matrix, Quaternion, Vector

from ...core import FabrikError
from ...core.body.posture import PULLED
from ..bones.rotation_channel import is_finite
from ..rig.body_properties import body_of
from ..rig.dependencies import followed_bones
from ..rig.followed_object import frame_at
from ..rig.targets_and_poles import armature_to_world, check_evaluated

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone, ViewLayer

    from ..rig.body_properties import FabrikHandle


@dataclass(frozen=True)
class Pull:
    """Where a handle of a body is pulled."""

    handle: str
    """Name of the handle."""
    position: Vector | None = None
    """In armature space; None leaves it where the rest of the body takes it."""
    rotation: Quaternion | None = None
    """Of the handle's bone, in armature space; None leaves it free."""
    bone: str = ""
    """Of a handle that isn't one of the body's; empty of one that is."""
    use_tail: bool = True
    """Whether such a handle is at its bone's tail."""


@dataclass(frozen=True)
class AddedHandle:
    """A handle that isn't one of the body's, for one pull; the attributes are those of ``FabrikHandle``."""

    name: str
    bone: str
    use_tail: bool
    slack: float = 0.0
    use_pin = use_position = use_rotation = False
    target = None
    priority = PULLED


def handle_of_bone(armature: Object, bone: str) -> FabrikHandle | None:
    """Return the first handle of a body at a bone; None if there is none."""
    return next((one for one in body_of(armature).handles if one.bone == bone), None)


def find_handle(armature: Object, name: str) -> FabrikHandle:
    """Return a handle of an armature's body by its own name or that of its bone.

    Raises:
        FabrikError: there is no such handle.
    """
    handles = body_of(armature).handles
    handle = handles.get(name) or (handle_of_bone(armature, name) if name else None)
    if handle is None:
        if not handles:
            raise FabrikError(f"'{armature.name}' has no body: press Make Body first")
        if not name:
            raise FabrikError("Select a bone with a handle")
        if name in armature.pose.bones:
            raise FabrikError(f"Bone '{name}' has no handle: select one that has, or press Add Handle")
        raise FabrikError(f"The body of '{armature.name}' has no handle '{name}'")
    return handle


def handle_bone(armature: Object, handle: FabrikHandle | AddedHandle) -> PoseBone:
    """Return the bone of a handle.

    Raises:
        FabrikError: there is none any more.
    """
    bone = armature.pose.bones.get(handle.bone)
    if bone is None:
        raise FabrikError(
            f"Handle '{handle.name}': there is no bone '{handle.bone}' in '{armature.name}' any more: "
            "choose another bone, or press Find Again"
        )
    return bone


def handle_place(armature: Object, handle: FabrikHandle | AddedHandle) -> Vector:
    """Return where a handle is, in armature space.

    Raises:
        FabrikError: its bone isn't there any more.
    """
    bone = handle_bone(armature, handle)
    return (bone.tail if handle.use_tail else bone.head).copy()


def rotated_in_world(frame: Quaternion, rotation: Quaternion, to_armature: Matrix) -> Quaternion:
    """Return a frame of armature space after a rotation of world space: ``A r A^-1 f``, with A from world to armature.

    An armature object with an uneven scale carries no frame of a bone to world space, only the change of one.
    """
    to_rotation = to_armature.to_quaternion()
    return to_rotation @ rotation @ to_rotation.conjugated() @ frame


def following_objects(armature: Object) -> set[str]:
    """Return the names of the pinned handles of a body that follow an object."""
    return {one.name for one in body_of(armature).handles if one.use_pin and one.target is not None}


def is_held(handle: FabrikHandle) -> bool:
    """Tell whether a handle keeps something; one whose part was set to no bone has nothing to keep."""
    return bool(handle.bone) and (handle.use_pin or handle.use_position or handle.use_rotation)


def desired_place(
    view_layer: ViewLayer, armature: Object, handle: FabrikHandle | AddedHandle, pull: Pull | None, is_looking: bool
) -> Pull:
    """Return where a handle should be: where it is pulled, at the object that it follows, or where it is.

    Args:
        view_layer: with the armature and what is followed.
        armature: with the body.
        handle: of the body, or added to it.
        pull: of the handle; None of one that isn't pulled.
        is_looking: whether the handle's bone is the head that looks at a point: the look decides its rotation.
    """
    position, rotation = (None, None) if pull is None else (pull.position, pull.rotation)
    if handle.use_pin and pull is None and (frame := followed_frame(view_layer, armature, handle)) is not None:
        position, rotation = frame.to_translation(), frame.to_quaternion()
    if position is None and (handle.use_pin or handle.use_position):
        position = handle_place(armature, handle)
    if rotation is None and (handle.use_pin or (handle.use_rotation and not is_looking)):
        rotation = handle_bone(armature, handle).matrix.to_quaternion()
    return Pull(handle.name, position, rotation)


def followed_frame(view_layer: ViewLayer, armature: Object, handle: FabrikHandle | AddedHandle) -> Matrix | None:
    """Return place and rotation of a handle that follows an object, in armature space; None of one that doesn't.

    Raises:
        FabrikError: the object follows a bone of the armature, Blender doesn't evaluate it, or it is nowhere.
    """
    if handle.target is None:
        return None
    check_evaluated(view_layer, handle.target, f"Handle '{handle.name}': its object '{handle.target.name}'")
    followed = followed_bones(handle.target, "", armature)
    if followed:
        way = next(iter(followed.values()))
        raise FabrikError(
            f"Handle '{handle.name}' follows '{handle.target.name}', which follows {way}: choose another object"
        )
    offset = Matrix([handle.target_offset[row : row + 4] for row in range(0, 16, 4)])
    frame = armature_to_world(armature).inverted() @ frame_at(handle.target, offset)
    if not (is_finite(handle.target.matrix_world) and is_finite(frame)):
        name = f"Handle '{handle.name}': its object '{handle.target.name}'"
        raise FabrikError(f"{name} has a position that is not a finite number")
    return frame
