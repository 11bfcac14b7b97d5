# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: the parts of a rig's body among the bones that can be posed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ...core.body.part import OpenRole, Part, Recognition, Role, Side
from ...core.body.recognise import recognise
from ..rig.overrides import chain_constraints
from ..rig.rotation_channel import is_locked

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone

_LIMBS = (
    {Role.CLAVICLE, Role.UPPER_ARM, Role.FOREARM, Role.HAND},
    {Role.THIGH, Role.SHIN, Role.FOOT, Role.TOE},
)
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
    found = _recognise(armature, usable)
    if not all(usable):
        whole = _recognise(armature, None)
        if sum(usable[part.bone] for part in whole.parts) >= len(found.parts):
            found = _without(whole, _reasons(whole, armature, usable, moved))
    return replace(found, parts=_numbered(found.parts, armature))


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


def _numbered(parts: Sequence[Part], armature: Object) -> tuple[Part, ...]:
    """Return parts with the numbers of arms and legs, which tell apart those that names alone have told, too.

    Bones of one side are of the same limb where they hang on the same first bone of a limb.
    """
    bones = armature.pose.bones
    by_name = {bones[part.bone].name: part for part in parts}
    starts = {part.bone: _start_of(part, bones[part.bone], by_name) for part in parts if part.role is not Role.TOE}
    limbs: defaultdict[tuple[Role, Side], list[str]] = defaultdict(list)
    for part in sorted(parts, key=lambda part: part.limb):
        start = starts.get(part.bone)
        if start and start not in limbs[part.role, part.side]:
            limbs[part.role, part.side].append(start)
    return tuple(
        replace(part, limb=limbs[part.role, part.side].index(start)) if (start := starts.get(part.bone)) else part
        for part in parts
    )


def _start_of(part: Part, bone: PoseBone, by_name: Mapping[str, Part]) -> str:
    """Return the name of the first bone of the arm or leg of a part; empty of one of neither."""
    limb = _limb_of(part.role)
    start = ""
    for one in [bone, *bone.parent_recursive] if limb else []:
        above = by_name.get(one.name)
        if above is not None and not (above.side == part.side and above.role in limb):
            break
        start = start if above is None else one.name
    return start


def _limb_of(role: Role) -> set[Role]:
    """Return the roles of the arm or leg that a role is of; none of one of neither."""
    return next((limb for limb in _LIMBS if role in limb), set())


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
        limb = _limb_of(part.role)
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
