# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of a body on an armature object: which bone is which part, and the handles that pose it."""

from __future__ import annotations

import bpy
from bpy.app.handlers import persistent
from bpy.types import Context, Object, PropertyGroup

from .bone_keys import named_by_key
from .followed_object import offset_from
from .property_updates import (
    OWN_CONTEXT,
    OverridableBoolProperty,
    OverridableCollectionProperty,
    OverridableEnumProperty,
    OverridableFloatProperty,
    OverridableFloatVectorProperty,
    OverridableIntProperty,
    OverridablePointerProperty,
    OverridableStringProperty,
    show_change,
)

ROLE_ITEMS = (
    ('HIPS', "Hips", "The bone that carries the legs and the spine"),
    ('SPINE', "Spine", "Between hips and chest"),
    ('CHEST', "Chest", "The bone that carries the arms and the neck"),
    ('NECK', "Neck", "Between chest and head"),
    ('HEAD', "Head", "The head"),
    ('CLAVICLE', "Clavicle", "Between chest and upper arm; the shoulder blade of an animal"),
    ('UPPER_ARM', "Upper Arm", "From shoulder to elbow, also of a foreleg or a wing"),
    ('FOREARM', "Forearm", "From elbow to wrist, also of a foreleg or a wing"),
    ('HAND', "Hand", "The hand; the end of a foreleg or a wing"),
    ('FINGER', "Finger", "A segment of a finger"),
    ('THIGH', "Thigh", "From hip to knee"),
    ('SHIN', "Shin", "From knee to ankle"),
    ('FOOT', "Foot", "The foot"),
    ('TOE', "Toe", "The toes"),
    ('TAIL', "Tail", "A segment of a tail"),
    ('FIN', "Fin", "A segment of a fin"),
    ('LIMB', "Limb", "A segment of any other limb"),
)

SIDE_ITEMS = (
    ('LEFT', "Left", "On the left side"),
    ('RIGHT', "Right", "On the right side"),
    ('CENTER', "Center", "In the middle"),
)


_get_bone, _keep_bone_key = named_by_key("id_data", "bone")


def _note_correction(part: FabrikPart, context: Context) -> None:
    """Mark a part whose bone was set as corrected, and move its handle; what makes a body takes the mark off again."""
    _keep_bone_key(part, context)
    part.is_corrected = True
    part.confidence = 1.0 if part.bone else 0.0
    for handle in part.id_data.fabrik.body.handles:
        if handle.part == part.name:
            handle.bone = part.bone


class _BoneKeyMixin:
    """Stores the key of its bone."""

    bone_key: OverridableIntProperty(
        name="Bone Key",
        description="Key of the bone, by which it is found when it was renamed; 0 is none",
        options={'HIDDEN'},
    )


class FabrikPart(_BoneKeyMixin, PropertyGroup):
    """A bone and what it is in a body"""

    name: OverridableStringProperty(name="Name", description="Role, number and side of the part")
    role: OverridableEnumProperty(name="Role", description="What the bone is", items=ROLE_ITEMS, default='LIMB')
    side: OverridableEnumProperty(name="Side", description="Side of the body", items=SIDE_ITEMS, default='CENTER')
    limb: OverridableIntProperty(
        name="Limb",
        description="Which of several limbs of this kind on this side, from front to back and top to bottom, from 0",
        default=0,
        min=0,
    )
    bone: OverridableStringProperty(
        name="Bone",
        description="Bone of the part; none where no bone was found",
        get_transform=_get_bone,
        update=_note_correction,
    )
    confidence: OverridableFloatProperty(
        name="Confidence",
        description="How sure it is that the bone is this part: below 0.5 no bone is chosen; 1 once it was corrected",
        default=0.0,
        min=0.0,
        max=1.0,
        subtype='FACTOR',
    )
    reason: OverridableStringProperty(name="Reason", description="Why no bone was chosen for the part")
    is_corrected: OverridableBoolProperty(
        name="Corrected",
        description="The bone was chosen by hand, and Find Again keeps it",
        default=False,
    )


def _note_target(handle: FabrikHandle, context: Context) -> None:
    """Pin a handle to the object that was chosen, in whose space it keeps place and rotation from then on."""
    if handle.target is not None and handle.bone in handle.id_data.pose.bones:
        note_offset(handle)
        handle.use_pin = True
    show_change(handle, context)


def note_offset(handle: FabrikHandle) -> None:
    """Let a handle keep its present place and rotation beside the object that it follows."""
    armature = handle.id_data
    bone = armature.pose.bones[handle.bone]
    frame = bone.matrix.copy()
    frame.translation = bone.tail if handle.use_tail else bone.head
    offset = offset_from(handle.target, armature.matrix_world @ frame)
    handle.target_offset = [value for row in offset.row for value in row]


class FabrikHandle(_BoneKeyMixin, PropertyGroup):
    """A place of a body that is pulled or held"""

    name: OverridableStringProperty(name="Name", description="Name of the handle")
    part: OverridableStringProperty(
        name="Part",
        description="Name of the part whose bone the handle moves; none of a handle that was added by hand",
    )
    bone: OverridableStringProperty(
        name="Bone",
        description="Bone that the handle moves",
        get_transform=_get_bone,
        update=_keep_bone_key,
    )
    use_tail: OverridableBoolProperty(
        name="Use Tail",
        translation_context=OWN_CONTEXT,
        description="The handle is at the bone's tail; otherwise at its head",
        default=False,
        update=show_change,
    )
    use_position: OverridableBoolProperty(
        name="Position",
        description="Keep the place of the handle while another one is pulled",
        default=False,
        update=show_change,
    )
    use_rotation: OverridableBoolProperty(
        name="Rotation",
        description="Keep the rotation of the bone while another handle is pulled",
        default=False,
        update=show_change,
    )
    use_pin: OverridableBoolProperty(
        name="Pin",
        description="Hold place and rotation before everything else, also against the handle that is pulled",
        default=False,
        update=show_change,
    )
    priority: OverridableIntProperty(
        name="Priority",
        description="Handles with a smaller number are held first; pins and planted feet have 1, "
        "the handle that is pulled has 2",
        default=3,
        min=1,
        max=9,
    )
    slack: OverridableFloatProperty(
        name="Slack",
        description="Distance by which the handle may be away from its place before it is held",
        default=0.0,
        min=0.0,
        subtype='DISTANCE',
    )

    target: OverridablePointerProperty(
        type=Object,
        name="Follow Object",
        description="Object that the handle follows while it is pinned, at the distance at which it is now",
        update=_note_target,
    )
    target_offset: OverridableFloatVectorProperty(
        name="Offset",
        description="Place and rotation of the handle in the space of the object that it follows; 4 rows of a matrix",
        size=16,
        options={'HIDDEN'},
    )


def _note_look_target(body: FabrikBody, context: Context) -> None:
    """Look at an object that was chosen, and at the place where it is should it be deleted."""
    body.use_look_at = body.look_target is not None
    if body.look_target is not None:
        body.look_location = body.look_target.matrix_world.to_translation()
    show_change(body, context)


class FabrikBody(PropertyGroup):
    """The parts and the handles of an armature object's body; empty until the body is made"""

    parts: OverridableCollectionProperty(
        type=FabrikPart,
        name="Parts",
        description="Bones and their roles, in order along each limb",
    )
    active_part: OverridableIntProperty(
        name="Active Part",
        description="The part that is chosen in the list",
        default=0,
        min=0,
        update=show_change,
    )
    handles: OverridableCollectionProperty(
        type=FabrikHandle,
        name="Handles",
        description="Places that are pulled or held",
    )
    active_handle: OverridableIntProperty(
        name="Active Handle",
        description="The handle that is chosen in the list",
        default=0,
        min=0,
    )
    use_floor: OverridableBoolProperty(
        name="Floor", description="Keep the feet from going below the floor", default=False
    )
    floor_height: OverridableFloatProperty(
        name="Floor Height",
        description="Height of the floor in the world",
        default=0.0,
        subtype='DISTANCE',
    )
    use_balance: OverridableBoolProperty(
        name="Balance",
        description="Keep the center of mass over the feet that are planted, also where a handle then stays behind",
        default=True,
        update=show_change,
    )
    use_look_at: OverridableBoolProperty(
        name="Look At",
        description="Turn the head to what is looked at whenever the body is posed",
        default=False,
        update=show_change,
    )
    look_target: OverridablePointerProperty(
        type=Object,
        name="Look Target",
        description="Object at whose origin the head looks; without one it looks at a place",
        update=_note_look_target,
    )
    look_location: OverridableFloatVectorProperty(
        name="Look Location",
        description="Place in the world at which the head looks where there is no object",
        subtype='TRANSLATION',
        update=show_change,
    )
    use_eyes: OverridableBoolProperty(
        name="Eyes",
        description="Turn the bones of the eyes to what is looked at too",
        default=True,
    )
    turned_by_look: OverridableStringProperty(
        name="Turned by Look",
        description="Rotations of the bones before and after the last Look At; JSON",
        options={'HIDDEN'},
    )
    forward: OverridableFloatVectorProperty(
        name="Forward",
        description="Direction to which the body looks at rest, in the armature's space",
        options={'HIDDEN'},
    )
    upward: OverridableFloatVectorProperty(
        name="Upward",
        description="Direction to the head of the body at rest, in the armature's space",
        options={'HIDDEN'},
    )
    rest_frames: OverridableStringProperty(
        name="Rest Frames",
        description="Rotations of the bones at rest when forward and upward were found, in the armature's space; JSON",
        options={'HIDDEN'},
    )
    given_limits: OverridableStringProperty(
        name="Given Limits",
        description="IK limits that bones were given when the body was made, and those of before; JSON",
        options={'HIDDEN'},
    )


def body_of(armature: Object) -> FabrikBody:
    """Return the body of an armature object; it has no parts until it is made."""
    return armature.fabrik.body  # type: ignore[attr-defined]


def roles_of(armature: Object) -> dict[str, str]:
    """Return the roles of a body's bones by their names, each of which is read through its bone's key."""
    return {part.bone: part.role for part in body_of(armature).parts}


@persistent  # type: ignore[untyped-decorator]
def make_overridable(*_args: object) -> None:
    """Read the bodies of all armatures, so that those of library overrides are saved.

    Reading a group of properties creates it. For a group that doesn't exist in the linked armature Blender stores that
    the whole group is overridden, and then can't load that ("expected ID type", Blender 5.0 and 5.2): the body of an
    override was lost with the second time the file was saved.
    """
    for obj in bpy.data.objects:
        if obj.type == 'ARMATURE':
            body_of(obj)


_register_classes, _unregister_classes = bpy.utils.register_classes_factory(  # type: ignore[misc]
    (FabrikPart, FabrikHandle, FabrikBody)
)


def register() -> None:
    _register_classes()  # type: ignore[has-type]
    bpy.app.handlers.load_post.append(make_overridable)
    bpy.app.handlers.blend_import_post.append(make_overridable)


def unregister() -> None:
    bpy.app.handlers.blend_import_post.remove(make_overridable)
    bpy.app.handlers.load_post.remove(make_overridable)
    _unregister_classes()  # type: ignore[has-type]
