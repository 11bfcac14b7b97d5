# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: the parts of a rig's body among the bones that can be posed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ...core.body.part import OpenRole, Part, Recognition, Role, Side
from ..bones.armature_bones import with_bones_below
from ..bones.overrides import chain_constraints
from ..bones.rotation_channel import is_locked
from ..rig.body_properties import body_of
from ..rig.limb_roles import recognise_bones

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone

_LIMBS = (
    {Role.CLAVICLE, Role.UPPER_ARM, Role.FOREARM, Role.HAND},
    {Role.THIGH, Role.SHIN, Role.FOOT, Role.TOE},
)
"""Roles of the bones of an arm, fingers apart, and of a leg."""

_ONCE = {Role.HIPS, Role.CHEST, Role.HEAD}
"""Roles of a trunk: of two bodies in one armature both have one of them."""

_PERSON = {Role.HIPS, Role.HEAD, Role.THIGH}
"""Roles that each of several persons or animals on one bone has: a trunk with two heads has hips once."""

_LEAST_BONES = 4
"""Bones of the smallest tree that may be a body of its own."""


_Recognised: TypeAlias = Callable[[frozenset[str]], Recognition]
"""Returns the parts of a body among the bones of these names alone."""


class FoundBody(NamedTuple):
    """The parts of one body of an armature."""

    recognition: Recognition
    others: tuple[str, ...]
    """The first bone of each other body."""


def recognise_rig(armature: Object, moved: Mapping[str, str]) -> FoundBody | None:
    """Return the parts of a body among the bones that can be posed; None where no bone can.

    The whole skeleton is recognised too, and its parts are taken if as many of them can be posed: without thighs and
    shins, which IK constraints move, a person had no legs and no hips, and a wolf was taken for a bird. In a rig of
    several layers, as Rigify generates it, the controls have more parts than the bones that deform.

    Args:
        moved: what moves bones that can't be posed, in words, by the bones' names.
    """
    usable = [bone.name not in moved and not is_locked(bone) for bone in armature.pose.bones]
    if not any(usable):
        return None
    recognised = cache(partial(recognise_bones, armature))  # several questions are about the same bones
    usable_names = frozenset(bone.name for bone, can in zip(armature.pose.bones, usable, strict=True) if can)
    first_bones = _first_bones(armature, usable_names, recognised)
    others = _other_bodies(armature, usable_names, first_bones, recognised)
    own = frozenset(name for name, first in first_bones.items() if first not in others)
    found = recognised(own & usable_names)
    if not own <= usable_names:
        whole = recognised(own)
        if sum(usable[part.bone] for part in whole.parts) >= len(found.parts):
            found = whole
        found = _without(found, _reasons(whole, armature, usable, moved))
    return FoundBody(replace(found, parts=_numbered(found.parts, armature)), others)


def _first_bones(armature: Object, usable: frozenset[str], recognised: _Recognised) -> dict[str, str]:
    """Return the first bone of the tree that a bone is of, by names.

    Trees start at bones without a parent, and where several persons hang on one bone at each of these persons.
    """
    firsts: dict[str, str] = {}
    starts = [bone for bone in armature.pose.bones if bone.parent is None]
    for start in starts:
        firsts |= {bone.name: start.name for bone in with_bones_below(start)}
        starts += _persons_below(start, usable, recognised)
    return firsts


def _persons_below(start: PoseBone, usable: frozenset[str], recognised: _Recognised) -> list[PoseBone]:
    """Return the first bones of the persons that hang on a bone, or on the one that leads on from it; none of one."""
    trees = {start: usable}
    while len(trees) == 1:
        trees = {
            child: usable & {bone.name for bone in with_bones_below(child)} for child in next(iter(trees)).children
        }
        trees = {child: names for child, names in trees.items() if len(names) >= _LEAST_BONES}
    persons = [child for child, names in trees.items() if {part.role for part in recognised(names).parts} >= _PERSON]
    return persons if len(persons) > 1 else []


def _other_bodies(
    armature: Object, usable: frozenset[str], first_bones: Mapping[str, str], recognised: _Recognised
) -> tuple[str, ...]:
    """Return the first bones of other bodies than the one to be made: of several persons in one armature.

    Trees of bones are different bodies where both have hips, a chest or a head, or both have several limbs. That of the
    body that is found again is made, else that of the active bone, else the one with the most parts. Together two
    persons had 35 parts, two arms on each side, and could not be pulled.
    """
    trees: defaultdict[str, set[str]] = defaultdict(set)
    for bone in armature.pose.bones:
        if bone.name in usable:
            trees[first_bones[bone.name]].add(bone.name)
    bodies: dict[str, tuple[Part, ...]] = {}
    for first, own in trees.items():
        if len(trees) > 1 and len(own) >= _LEAST_BONES:
            bodies[first] = recognised(frozenset(own)).parts
    kinds = {first: _kinds(parts) for first, parts in bodies.items()}
    active = armature.data.bones.active
    names = [part.bone for part in body_of(armature).parts] + ([active.name] if active is not None else [])
    chosen = next((first for name in names if kinds.get(first := first_bones.get(name, ""))), None)
    chosen = chosen or max(bodies, key=lambda first: len(bodies[first]), default="")
    return tuple(first for first in kinds if first != chosen and kinds[first] & kinds[chosen])


def _kinds(parts: Sequence[Part]) -> set[Role]:
    """Return the roles that a body has once, and that of limbs, if there are several."""
    limbs = {(part.side, part.limb) for part in parts if part.role is Role.LIMB}
    return ({part.role for part in parts} & _ONCE) | ({Role.LIMB} if len(limbs) > 1 else set())


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
