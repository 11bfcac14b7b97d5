# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: usual joint limits for the bones of a body that have none, with a record by which they are taken back."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from mathutils import Vector

from ..rig.body_properties import FabrikPart, body_of
from ..rig.body_snapshots import turning_bones
from ..rig.bone_limits import limits_of
from ..rig.overrides import BODY_LIMITS
from .override_limits import kept_in_override, limit_settings_of
from .usual_limits import limit_joint

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone

_JOINTS = {
    'SPINE': 'SPINE',
    'CHEST': 'SPINE',
    'NECK': 'NECK',
    'HEAD': 'NECK',
    'CLAVICLE': 'CLAVICLE',
    'UPPER_ARM': 'SHOULDER',
    'FOREARM': 'ELBOW',
    'THIGH': 'HIP',
    'SHIN': 'KNEE',
    'TAIL': 'TAIL',
}
"""Joint at the head of a bone, by role (``usual_limits``)."""

_JOINTS_OF_HUMANS = {'HAND': 'WRIST', 'FOOT': 'ANKLE', 'FINGER': 'FINGER'}
"""Those of people alone: the hock of a horse, a foot by homology, bends much further than an ankle."""

_ALIGNED_COSINE = math.cos(math.radians(20.0))
"""Cosine of the angle between a bone's own y axis and the line to the next joint, from which on its swing is that of
the limb. Bones that other programs have exported often point across the limb; limits of their swing would be wrong."""


def give_limits(armature: Object, creature: str, forward: Vector) -> None:
    """Give the usual limits to the bones of a body that have none, and note them in the body.

    Args:
        armature: object with the body.
        creature: kind of creature, "human" has limits of hands and feet too.
        forward: direction in armature space to which it looks: straight elbows bend there, straight knees away from it.
    """
    body = body_of(armature)
    given = json.loads(body.given_limits or "{}")
    joints = _JOINTS | (_JOINTS_OF_HUMANS if creature == "human" else {})
    turning = turning_bones(armature)
    necks = sum(part.bone in turning and joints.get(part.role) == 'NECK' for part in body.parts)
    for part in body.parts:
        if part.bone not in turning:
            continue
        bone = armature.pose.bones[part.bone]
        if part.role not in joints or _has_limits(bone) or not _points_along(armature, part, bone):
            continue
        before = limit_settings_of(bone)
        # A person's neck is a whole, however many bones it has: with the range of a neck for each of three bones the
        # head of Rigify's human looked straight behind. Of animals each bone of a long neck has a range of its own.
        shared_by = necks if creature == "human" and joints[part.role] == 'NECK' else 1
        with kept_in_override(bone):
            limit_joint(bone, joints[part.role], -forward if part.role == 'SHIN' else forward, shared_by)
        if armature.override_library is None:
            given[bone.name] = [before, limit_settings_of(bone), _rest_place(bone)]
    body.given_limits = json.dumps(given) if given else ""


def take_limits_back(armature: Object) -> None:
    """Restore the limits of before the body was made, of the bones whose limits weren't changed since."""
    body = body_of(armature)
    limited = json.loads(body.given_limits or "{}")
    renamed = {str(_rest_place(bone)): bone for bone in armature.pose.bones if bone.name not in limited}
    for name, (before, given, *place) in limited.items():
        # Bodies of files that were saved without the bone's rest place have no third item.
        bone = armature.pose.bones.get(name) or (renamed.get(str(place[0])) if place else None)
        if bone is not None and limit_settings_of(bone) == given:
            for setting, value in before.items():
                setattr(bone, setting, value)
    for bone in armature.pose.bones:
        kept = bone.constraints.get(BODY_LIMITS)
        if kept is not None:
            bone.constraints.remove(kept)
    body.given_limits = ""


def _rest_place(bone: PoseBone) -> list[float]:
    """Return what tells a bone that was renamed: head and tail at rest."""
    return [*bone.bone.head_local[:], *bone.bone.tail_local[:]]


def _has_limits(bone: PoseBone) -> bool:
    lower, upper = limits_of(bone)
    return any(math.isfinite(angle) for angle in (*lower, *upper))


def _points_along(armature: Object, part: FabrikPart, bone: PoseBone) -> bool:
    """Tell whether a bone's y axis points to the next joint of its limb, if there is one, at rest."""
    following = [
        armature.pose.bones[other.bone].bone
        for other in body_of(armature).parts
        if other.side == part.side
        and other.bone in armature.pose.bones
        and armature.pose.bones[other.bone].parent == bone
    ]
    if len(following) != 1:
        return True
    link = following[0].head_local - bone.bone.head_local
    return (
        link.length == 0.0
        or (bone.bone.tail_local - bone.bone.head_local).dot(link) >= _ALIGNED_COSINE * bone.bone.length * link.length
    )
