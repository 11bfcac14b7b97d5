# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: the parts of a rig's body among the bones that can be posed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ...core.body.part import OpenRole, Recognition, Role
from ...core.body.recognise import recognise
from ..rig.overrides import chain_constraints
from ..rig.rotation_channel import is_locked

if TYPE_CHECKING:
    from bpy.types import Object

_LIMBS = ({Role.UPPER_ARM, Role.FOREARM, Role.HAND}, {Role.THIGH, Role.SHIN, Role.FOOT, Role.TOE})
"""Roles of the bones of an arm, fingers apart, and of a leg."""


def recognise_rig(armature: Object, moved: Mapping[str, str]) -> Recognition | None:
    """Return the parts of a body among the bones that can be posed; None where no bone can.

    The whole skeleton is recognised too, and its parts are taken if as many of them can be posed: without thighs and
    shins, which IK constraints move, a person had no legs and no hips, and a wolf was taken for a bird. In a rig of
    several layers, as Rigify generates it, the controls have more parts than the bones that deform.

    Args:
        armature: object.
        moved: what moves bones that can't be posed, in words, by the bones' names.
    """
    usable = [bone.name not in moved and not is_locked(bone) for bone in armature.pose.bones]
    if not any(usable):
        return None
    among = _recognise(armature, usable)
    if all(usable):
        return among
    whole = _recognise(armature, None)
    if sum(usable[part.bone] for part in whole.parts) < len(among.parts):
        return among
    return _without(whole, _reasons(whole, armature, usable, moved))


def _recognise(armature: Object, usable: Sequence[bool] | None) -> Recognition:
    bones = [bone.bone for bone in armature.pose.bones]
    numbers = {bone.name: number for number, bone in enumerate(bones)}
    return recognise(
        [bone.name for bone in bones],
        [-1 if bone.parent is None else numbers[bone.parent.name] for bone in bones],
        [bone.head_local[:] for bone in bones],
        [bone.tail_local[:] for bone in bones],
        usable,
    )


def _reasons(whole: Recognition, armature: Object, usable: Sequence[bool], moved: Mapping[str, str]) -> dict[int, str]:
    """Return why bones with a role can't be posed, by their indices.

    Among them are those beyond a limb's bones that an IK constraint moves: they are where its target is.
    """
    bones = armature.pose.bones
    roles = {bones[part.bone].name: part.role for part in whole.parts}
    by_ik = {bone.name for _, _, rotated in chain_constraints(armature) for bone in rotated}
    found = {}
    for part in whole.parts:
        bone = bones[part.bone]
        limb = next((limb for limb in _LIMBS if part.role in limb), set[Role]())
        above = (one.name for one in bone.parent_recursive if one.name in by_ik and roles.get(one.name) in limb)
        mover = moved.get(bone.name) or moved.get(next(above, ""))
        if mover is not None:
            found[part.bone] = f"{bone.name}: {mover} moves it"
        elif not usable[part.bone]:
            found[part.bone] = f"{bone.name}: its rotation is locked"
    return found


def _without(whole: Recognition, reasons: Mapping[int, str]) -> Recognition:
    """Return a recognition without the parts that can't be posed; roles that no other bone has are left open."""
    parts = tuple(part for part in whole.parts if part.bone not in reasons)
    opened = {(role.role, role.side): role for role in whole.open_roles}
    given = {(part.role, part.side) for part in parts}
    for part in whole.parts:
        if part.bone in reasons and (part.role, part.side) not in given:
            opened.setdefault((part.role, part.side), OpenRole(part.role, part.side, reasons[part.bone]))
    return replace(whole, parts=parts, open_roles=tuple(opened.values()))
