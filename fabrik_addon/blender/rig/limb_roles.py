# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: the roles of the bones of arms and legs, as Make Body recognises them, on an armature that has no body."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core import Array
from ...core.body.bone_names import read_names
from ...core.body.creature import BIRD
from ...core.body.part import Recognition, Role
from ...core.body.recognise import recognise
from ..bones.rotation_channel import is_locked

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from bpy.types import Object

_ARM = {Role.UPPER_ARM, Role.FOREARM, Role.HAND}
_LEG = {Role.THIGH, Role.SHIN, Role.FOOT}


def recognise_bones(armature: Object, names: AbstractSet[str]) -> Recognition:
    """Return the parts of a body among some bones alone."""
    bones = [bone.bone for bone in armature.pose.bones]
    numbers = {bone.name: number for number, bone in enumerate(bones)}
    return recognise(
        [bone.name for bone in bones],
        [-1 if bone.parent is None else numbers[bone.parent.name] for bone in bones],
        [bone.head_local[:] for bone in bones],
        [bone.tail_local[:] for bone in bones],
        [bone.name in names for bone in bones],
    )


def recognise_all(armature: Object) -> Recognition:
    """Return the parts of a body among all bones: in 6 to 32 ms of Rigify's metarigs, in 44 of its generated human."""
    return recognise_bones(armature, set(armature.pose.bones.keys()))


def limb_roles(armature: Object, recognition: Recognition) -> dict[str, str]:
    """Return the roles of bones from upper arm to hand and from thigh to foot, by their names.

    They are those that are recognised; of other bones, the controls of a rig or an arm without a body, the names tell
    them. A bird's wing has none, for it isn't dragged by its wrist, and neither has a bone that can't rotate, a
    mechanism bone of a rig.

    Args:
        armature: object with the bones.
        recognition: of all its bones (``recognise_all``).
    """
    bones = armature.pose.bones
    names = bones.keys()
    readings = zip(names, read_names(names), strict=True)
    found = {name: each.role for name, each in readings if not (each.skipped or each.twist or each.control)}
    found |= {names[part.bone]: part.role for part in recognition.parts if part.role is not Role.LIMB}
    roles = _LEG if recognition.creature == BIRD.name else _ARM | _LEG
    return {name: role for name, role in found.items() if role in roles and not is_locked(bones[name])}


def points_when_straight(recognition: Recognition, bone: int) -> Array | None:
    """Return the direction (3,) at rest to which the knee or elbow at a bone's head points if it bends.

    Knees point forward and elbows backward, of the body that is recognised, as with the limits that Make Body gives.
    None of a bone that isn't recognised as a shin or forearm.

    Args:
        recognition: of all bones of an armature (``recognise_all``).
        bone: its number among these.
    """
    role = next((part.role for part in recognition.parts if part.bone == bone), None)
    sign = {Role.SHIN: 1.0, Role.FOREARM: -1.0}.get(role) if role is not None else None
    return None if sign is None else sign * recognition.forward
