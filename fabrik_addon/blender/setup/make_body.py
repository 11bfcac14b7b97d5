# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: a body from an armature's bones: its parts, its handles, and usual limits. No bone moves."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mathutils import Vector

from ...core import FabrikError
from ...core.body.part import Recognition, Role
from ...core.body.posture import HELD, PINNED
from ..bodies.body_directions import keep_directions
from ..bodies.body_look_at import LOOK_SETTINGS
from ..bodies.body_snapshots import fault_of_handles
from ..bodies.part_ends import ends_at_rest, tail_at_rest
from ..bones.overrides import bones_with_overrides
from ..bones.rotation_channel import is_locked
from ..rig.body_properties import ROLE_ITEMS, FabrikHandle, FabrikPart, body_of
from ..rig.item_animation import animation_goes_along
from ..rig.library_items import is_from_library
from ..rig.wording import listed
from .body_limits import give_limits, take_limits_back
from .recognise_rig import recognise_rig

if TYPE_CHECKING:
    from bpy.types import Object

_LABELS = {identifier: label for identifier, label, _ in ROLE_ITEMS}

_SUFFIXES = {'LEFT': ".L", 'RIGHT': ".R", 'CENTER': ""}

_SERIAL = {'FINGER', 'LIMB', 'FIN'}
"""Roles of which a body usually has several limbs: the first one has its number too."""

_LEG_ROLES = {'THIGH', 'SHIN', 'FOOT'}

_HUB = "Body"
"""Name of the handle at the bone on which all limbs of a body without hips hang: a spider's."""

_SWITCH = "IK_FK"
"""Rigify's property of a limb: 0 follows the IK controls, 1 the FK controls."""

_ON_THE_GROUND = 0.12
"""Height of a joint above the lowest one, over that of the whole skeleton, up to which it stands on the ground."""


@dataclass(frozen=True)
class MadeBody:
    """What Make Body has found."""

    creature: str
    parts: int
    open_roles: tuple[str, ...]
    """Names of the parts for which no bone was chosen."""
    overridden: tuple[str, ...]
    """Bones that deform but can't be posed, in words."""
    controls: tuple[str, ...]
    """Bones of the parts, where none of them deforms: the rig's controls."""
    switches: tuple[str, ...]
    """Bones with a switch between IK and FK that isn't at FK, so that the rig doesn't follow the controls."""
    others: tuple[str, ...]
    """The first bone of each other body of the armature."""
    off_hinges: tuple[str, ...]
    """Shins that were made hinges about an axis that isn't that of their bend, or none."""
    fault: str
    """Why no handle can be pulled; empty where they can."""


@dataclass(frozen=True)
class _Named:
    """A part with the name under which it is stored."""

    name: str
    role: str
    side: str
    limb: int
    bone: str
    confidence: float
    reason: str = ""


def make_body(armature: Object, with_limits: bool) -> MadeBody:
    """Fill the parts and handles of an armature's body; where it has one already, find the parts anew.

    Parts that were corrected stay as they are, and so do the settings of handles, and the handles that were added.

    Args:
        armature: object without a body, or with one that is found again.
        with_limits: whether bones without limits are given the usual ones.

    Raises:
        FabrikError: no part is recognised, or no bone of one can be posed, or the body comes from a library, or the
            animation of its handles does or is another object's too; then nothing has changed.
    """
    _require_own_body(armature)
    bones = armature.pose.bones
    overridden = bones_with_overrides(armature)
    recognition, others = recognise_rig(armature, overridden) or (None, ())
    are_deforming = recognition is not None or any(bone.bone.use_deform for bone in bones)
    held_back = tuple(
        f"'{bone.name}' ({overridden[bone.name]})"
        for bone in bones
        if bone.name in overridden and (bone.bone.use_deform or not are_deforming)
    )
    found = [] if recognition is None else _named(recognition, [bone.name for bone in bones])
    if recognition is None or not any(part.bone for part in found):
        reason = ""
        if held_back:
            reason = f": constraints or drivers move {listed(held_back)}"
        elif bones and recognition is None:
            reason = ": all of them have locked rotations"
        elif recognition is not None and recognition.open_roles:
            reason = f": {recognition.open_roles[0].reason}"
        raise FabrikError(
            f"No part of a body was recognised in '{armature.name}' among the bones that can be posed{reason}"
        )
    up, forward = Vector(recognition.up.tolist()), Vector(recognition.forward.tolist())
    with animation_goes_along(armature, "fabrik.body.handles") as renamed:
        take_limits_back(armature)
        before = _read_handles(armature)  # parts that are stored take handles of their names along
        _store_parts(armature, found)
        renamed |= _store_handles(armature, up, recognition.creature == "quadruped", before)
    off_hinges = give_limits(armature, recognition.creature, forward, up) if with_limits else []
    body = body_of(armature)
    keep_directions(armature, forward, up)
    chosen = [part.bone for part in body.parts if part.bone]
    are_controls = not any(bones[name].bone.use_deform for name in chosen)
    return MadeBody(
        recognition.creature,
        len(chosen),
        tuple(part.name for part in body.parts if not part.bone),
        held_back,
        tuple(chosen) if are_controls else (),
        tuple(bone.name for bone in bones if bone.get(_SWITCH, 1.0) < 1.0) if are_controls else (),
        others,
        tuple(off_hinges),
        fault_of_handles(armature),
    )


def remove_body(armature: Object) -> None:
    """Remove a body with its handles and the limits that it has given.

    Raises:
        FabrikError: the body comes from a library, or the animation of its handles does or is another object's too;
            then nothing has changed.
    """
    _require_own_body(armature)
    body = body_of(armature)
    with animation_goes_along(armature, "fabrik.body.handles"):
        take_limits_back(armature)
        body.parts.clear()
        body.handles.clear()
    for name in ("active_part", "active_handle", "use_floor", "floor_height", "use_balance", *LOOK_SETTINGS):
        body.property_unset(name)


def _require_own_body(armature: Object) -> None:
    if is_from_library(armature, "fabrik.body.parts"):
        raise FabrikError(
            f"The body of '{armature.name}' comes from its library: it can be found again or removed there only"
        )


def _named(recognition: Recognition, names: Sequence[str]) -> list[_Named]:
    """Return the parts with names: role, which limb and segment where there are several, and side."""
    segments = Counter((part.role, part.side, part.limb) for part in recognition.parts)
    limbs: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    for part in recognition.parts:
        limbs[part.role, part.side].add(part.limb)
    seen: Counter[tuple[str, str, int]] = Counter()
    found = []
    for part in recognition.parts:
        key = part.role, part.side, part.limb
        seen[key] += 1
        numbers = []
        if len(limbs[part.role, part.side]) > 1 or part.role in _SERIAL:
            numbers.append(str(part.limb + 1))
        if segments[key] > 1:
            numbers.append(str(seen[key]))
        name = " ".join([_LABELS[part.role], *(["-".join(numbers)] if numbers else [])]) + _SUFFIXES[part.side]
        found.append(_Named(name, part.role, part.side, part.limb, names[part.bone], part.confidence))
    for role in recognition.open_roles:
        name = _LABELS[role.role] + _SUFFIXES[role.side]
        if not any(part.name == name for part in found):
            found.append(_Named(name, role.role, role.side, 0, "", 0.0, role.reason))
    return found


def _store_parts(armature: Object, found: Sequence[_Named]) -> None:
    """WRITE: the parts of a body, those that were corrected as they are."""
    body = body_of(armature)
    corrected = {
        part.name: _Named(part.name, part.role, part.side, part.limb, part.bone, part.confidence)
        for part in body.parts
        if part.is_corrected and (not part.bone or part.bone in armature.pose.bones)
    }
    taken = {part.bone for part in corrected.values() if part.bone}
    body.parts.clear()
    unknown = [part for name, part in corrected.items() if not any(other.name == name for other in found)]
    for named in (*found, *unknown):
        kept = corrected.get(named.name)
        if kept is None and named.bone in taken:
            continue  # its bone was chosen to be another part
        one = kept or named
        part = body.parts.add()
        part.name, part.role, part.side, part.limb, part.reason = one.name, one.role, one.side, one.limb, one.reason
        part.bone = one.bone
        part.confidence, part.is_corrected = one.confidence, kept is not None
    body.active_part = min(body.active_part, max(0, len(body.parts) - 1))


@dataclass(frozen=True)
class _FormerHandle:
    """A handle of a body that is found again."""

    part: str
    place: tuple[str, bool]
    """Its bone, and whether it is at the bone's tail."""
    settings: Mapping[str, object]


def _read_handles(armature: Object) -> dict[str, _FormerHandle]:
    """READ: the handles of a body, by their names."""
    return {
        one.name: _FormerHandle(one.part, (one.bone, one.use_tail), _handle_settings(one))
        for one in body_of(armature).handles
    }


def _store_handles(
    armature: Object, up: Vector, has_forelegs: bool, before: Mapping[str, _FormerHandle]
) -> dict[str, str]:
    """WRITE: a handle for each part that is pulled or held, with the settings of the one that was there before.

    Args:
        armature: object with the parts of the body.
        up: direction in armature space.
        has_forelegs: whether hands are feet, also where the hind legs are no parts.
        before: the handles that were there, by their names.

    Returns:
        the names of the handles by the names that they had; empty of those that are gone.
    """
    body = body_of(armature)
    found = _handles(armature, up, has_forelegs)
    former = _former_names(found, {name: one.place for name, one in before.items() if one.part})
    body.handles.clear()
    for name, part, use_tail, is_planted in found:
        handle = body.handles.add()
        handle.name, handle.part, handle.bone, handle.use_tail = name, part.name, part.bone, use_tail
        handle.priority = PINNED if is_planted else HELD
        handle.use_position = is_planted
        handle.use_rotation = part.role == Role.HEAD or (is_planted and part.role != Role.LIMB)
        if name in former:
            _give_settings(handle, before[former[name]].settings)
    for name, one in before.items():
        if not one.part:
            handle = body.handles.add()
            handle.name, (handle.bone, handle.use_tail) = name, one.place
            _give_settings(handle, one.settings)
            former[name] = name
    hub = _hub(armature)
    if hub is not None and not any(handle.bone == hub for handle in body.handles):
        handle = body.handles.add()
        handle.name, handle.bone, handle.use_tail = _HUB, hub, False
    return dict.fromkeys(before, "") | {old: new for new, old in former.items()}


def _former_names(
    found: Sequence[tuple[str, FabrikPart, bool, bool]], before: Mapping[str, tuple[str, bool]]
) -> dict[str, str]:
    """Return the former names of handles, by their names: at the same place, or else by the same name.

    The numbers of limbs change with their number: of a spider that lost a leg, the handle of another leg has the name.

    Args:
        found: handles, as ``_handles`` returns them.
        before: places of former handles, bone and whether at its tail, by their names.
    """
    at_place = {place: name for name, place in before.items()}
    places = {name: (part.bone, use_tail) for name, part, use_tail, _ in found}
    former = {name: at_place[place] for name, place in places.items() if place in at_place}
    left = set(before) - set(former.values())
    return former | {name: name for name in places if name not in former and name in left}


def _hub(armature: Object) -> str | None:
    """Return the bone on which the limbs of a body without hips hang; None of one with hips or with less than two."""
    parts = [part for part in body_of(armature).parts if part.bone in armature.pose.bones]
    bones = [armature.pose.bones[part.bone] for part in parts]
    names = {bone.name for bone in bones}
    firsts = [bone for bone in bones if bone.parent is not None and bone.parent.name not in names]
    if len(firsts) < 2 or any(part.role == 'HIPS' for part in parts):
        return None
    above = [[bone.name for bone in first.parent_recursive] for first in firsts]
    hub = next((name for name in above[0] if all(name in line for line in above)), None)
    can_turn = hub is not None and hub not in bones_with_overrides(armature) and not is_locked(armature.pose.bones[hub])
    return hub if can_turn else None


def _handle_settings(handle: FabrikHandle) -> dict[str, object]:
    """READ: the settings of a handle, in the order in which they are set: a target changes offset and pin."""
    plain = ("use_position", "use_rotation", "use_pin", "priority", "slack")
    first = {"target": handle.target, "target_offset": handle.target_offset[:]}
    return first | {name: getattr(handle, name) for name in plain}


def _give_settings(handle: FabrikHandle, settings: Mapping[str, object]) -> None:
    """WRITE: settings that ``_handle_settings`` has returned."""
    for setting, value in settings.items():
        setattr(handle, setting, value)


def _handles(armature: Object, up: Vector, has_forelegs: bool) -> list[tuple[str, FabrikPart, bool, bool]]:
    """Return the handles of a body: name, part, whether at its bone's tail, whether planted on the ground.

    The hands of arms without legs are the lowest bones of their rig, and stand on nothing.
    """
    limbs: defaultdict[tuple[str, str, int], list[FabrikPart]] = defaultdict(list)
    for part in body_of(armature).parts:
        if part.bone in armature.pose.bones:
            limbs[part.role, part.side, part.limb].append(part)
    can_stand = {Role.FOOT, Role.HAND} if has_forelegs or any(key[0] in _LEG_ROLES for key in limbs) else {Role.FOOT}
    heights = _Heights(armature, up, [part for parts in limbs.values() for part in parts])
    found: list[tuple[str, FabrikPart, bool, bool]] = []

    def add(name: str, part: FabrikPart, use_tail: bool = False, is_planted: bool = False) -> None:
        number = f" {limb + 1}" if limb or role in _SERIAL else ""
        found.append((f"{name}{number}{_SUFFIXES[side]}", part, use_tail, is_planted))

    for (role, side, limb), parts in limbs.items():
        first, last = parts[0], parts[-1]
        if role in {Role.HIPS, Role.CHEST, Role.HEAD}:
            add(_LABELS[role], first)
        elif role == Role.FOREARM:
            add("Elbow", first)
            if (Role.HAND, side, limb) not in limbs:
                add("Hand", last, use_tail=True)
        elif role == Role.SHIN:
            add("Knee", first)
            if (Role.FOOT, side, limb) not in limbs:
                add("Foot", last, use_tail=True, is_planted=heights.is_low(last, at_tail=True))
        elif role in {Role.HAND, Role.FOOT}:
            inner = Role.FINGER if role == Role.HAND else Role.TOE
            has_several = (inner, side, limb + 1) in limbs
            line = parts if has_several else [*parts, *limbs.get((inner, side, limb), [])]
            standing = next((part for part in line if role in can_stand and heights.is_low(part)), None)
            # A foot that stands on its end, on several toes or on none: the toes stay where they are if the foot does.
            has_no = (inner, side, limb) not in limbs
            digits = [digit for key, its in limbs.items() if key[:2] == (inner, side) for digit in its]
            is_low = any(heights.is_low(end, at_tail=True) for end in (last, *digits))
            is_on_toes = role in can_stand and standing is None and (has_several or has_no) and is_low
            part = last if is_on_toes else standing or first
            add(_LABELS[role], part, is_on_toes, is_planted=is_on_toes or standing is not None)
        elif role in {Role.LIMB, Role.TAIL, Role.FIN}:
            is_leg = role == Role.LIMB and heights.is_low(last, at_tail=True)
            add(_LABELS[role], last, use_tail=True, is_planted=is_leg)
    return found


class _Heights:
    """Heights of joints at rest, over that of the whole body."""

    def __init__(self, armature: Object, up: Vector, parts: Sequence[FabrikPart]) -> None:
        self._bones = {part.name: armature.pose.bones[part.bone].bone for part in parts}
        self._names = {bone.name for bone in self._bones.values()}
        self._up = up
        ends = [end.dot(up) for bone in self._bones.values() for end in ends_at_rest(bone, self._names)]
        self._lowest, self._height = min(ends, default=0.0), max(ends, default=0.0) - min(ends, default=0.0)

    def is_low(self, part: FabrikPart, at_tail: bool = False) -> bool:
        """Tell whether the head or tail of a part's bone stands on the ground."""
        bone = self._bones[part.name]
        end = tail_at_rest(bone, self._names) if at_tail else bone.head_local
        return bool(end.dot(self._up) - self._lowest <= _ON_THE_GROUND * self._height)
