# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: the limb of a bone, by the roles of a body, or the names and lengths of bones and where the skeleton branches.

A limb is an upper and a lower part, thigh and shin or upper arm and forearm, with a hand or foot at the end. The lower
part begins at the knee or elbow: at a bone with the name of a shin or forearm, else at the second of two long bones
that a short one follows. A part may have several bones in a line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..bones.rotation_channel import is_locked
from .body_properties import roles_of

if TYPE_CHECKING:
    from bpy.types import Bone, Object

KNEE_OR_ELBOW = re.compile("forearm|lowerarm|shin|calf|lowerleg|(left|right)leg$")
"""Words in the names, letters alone, of bones that begin at a knee or elbow: Rigify, MakeHuman, Unreal, VRM, Mixamo."""

SHORT_LINK = 0.5
"""Length of a link, over that of the links at a knee or elbow, below which it is a hand, a foot or a clavicle."""


_ROTATING_TOGETHER = (
    {'UPPER_ARM', 'FOREARM', 'HAND'},
    {'THIGH', 'SHIN', 'FOOT'},
    {'SPINE', 'CHEST'},
    {'NECK', 'HEAD'},
)
"""Roles of a body that rotate together; bones of any other role rotate with those of their own."""


@dataclass(frozen=True)
class Limb:
    """The bones that rotate when a bone is dragged."""

    chain_count: int
    """How many: from the dragged bone up, or, if that is a hand or foot, from its parent up."""
    is_hand_or_foot: bool
    """Whether the dragged bone is a hand or foot: then its head, the wrist or ankle, is what is dragged."""
    still: frozenset[str] = frozenset()
    """Names of those among them that stay rigid with their parents: bones of a body without a role, for twist."""


def letters_of(name: str) -> str:
    """Return the letters of a bone's name, in lower case."""
    return re.sub("[^a-z]", "", name.lower())


def limb_of(armature: Object, bone_name: str) -> Limb:
    """Return the bones that rotate when a bone is dragged.

    Of a bone that is a part of a body: this bone and those above it whose roles rotate together with its own
    (``_ROTATING_TOGETHER``), without a hand or foot itself. Of any other bone:

    - A hand or foot: the lower and the upper part of its limb.
    - A bone of the lower part: from this bone to the first one of the upper part.
    - A bone of the upper part: from this bone to the first one of that part.
    - Any other bone: from this bone up to where the skeleton branches, or to a hand or foot. So a finger has its own
      bones, a chest the spine, a head the neck.
    """
    bone = armature.data.bones[bone_name]
    roles = roles_of(armature)
    if bone_name in roles:
        return _limb_by_roles(bone, roles)
    is_named = any(_is_named_lower(other) for other in armature.data.bones)
    line = [bone, *bone.parent_recursive]
    fork = next((number for number, link in enumerate(line) if number and _is_fork(link)), len(line))
    found = _lower_part(line, is_named)
    # A lower part that can't rotate is a mechanism bone of a control rig: what hangs on it is no hand of that limb.
    if found is not None and not is_locked(armature.pose.bones[line[found[0]].name]):
        first, knee = found
        top = knee + (_size_of_part(line[knee + 1 :]) if is_named else 1)
        if first == 0:
            return Limb(top + 1, False)
        # Mechanism bones between the lower part and a hand rotate with the lower part.
        is_next = all(is_locked(armature.pose.bones[link.name]) for link in line[1:first])
        return Limb(top if is_next else min(fork, first - 1), is_next)
    part = [bone]
    if is_named:
        part += [link for link in bone.children_recursive if letters_of(link.name) == letters_of(bone.name)]
    if any(_lower_part([child, *child.parent_recursive], is_named) for link in part for child in link.children):
        return Limb(_size_of_part(line) if is_named else 1, False)
    return Limb(fork, False)


def _limb_by_roles(bone: Bone, roles: Mapping[str, str]) -> Limb:
    """Return the limb of a bone that is a part of a body."""
    role = roles[bone.name]
    together = next((limb for limb in _ROTATING_TOGETHER if role in limb), {role})
    line = [bone, *bone.parent_recursive]
    # A bone without a role doesn't end a limb: it may be a twist bone.
    end = next((i for i, link in enumerate(line) if roles.get(link.name, role) not in together), len(line))
    count = max(i for i, link in enumerate(line[:end], 1) if link.name in roles)
    is_hand_or_foot = role in {'HAND', 'FOOT'} and count > 1
    still = frozenset(link.name for link in line[:count] if link.name not in roles)
    return Limb(count - is_hand_or_foot, is_hand_or_foot, still)


def _lower_part(line: Sequence[Bone], is_named: bool) -> tuple[int, int] | None:
    """Return the first and the last number, in a bone and its parents, of the bones of a lower part; None without.

    Args:
        line: the bone and its parents.
        is_named: whether lower parts are known by their names; else by lengths.
    """
    if not is_named:
        lower = (i for i in range(len(line) - 1) if _is_lower(line[i], line[i - 1] if i else None, line[i + 1]))
        found = next(lower, None)
        return None if found is None else (found, found)
    numbers = [number for number, link in enumerate(line) if _is_named_lower(link)]
    first = numbers[0] if numbers else len(line)
    if first + 1 >= len(line):
        return None
    return first, max(number for number in numbers if number - first == numbers.index(number))


def _is_named_lower(bone: Bone) -> bool:
    return bone.parent is not None and KNEE_OR_ELBOW.search(letters_of(bone.name)) is not None


def _size_of_part(line: Sequence[Bone]) -> int:
    """Return how many bones of a line, from its first on, have the first one's name but for numbers; 1 of one."""
    names = [letters_of(bone.name) for bone in line]
    return next((number for number, name in enumerate(names) if name != names[0]), len(names))


def _is_lower(bone: Bone, hand: Bone | None, upper: Bone) -> bool:
    """Tell whether a bone is the second of two long ones, between which and after which the skeleton doesn't branch."""
    hand = hand or max(bone.children, key=lambda child: len(child.children_recursive), default=None)
    if hand is None or _is_fork(bone) or _is_fork(upper):
        return False
    above, below = ((b.head_local - a.head_local).length for a, b in ((upper, bone), (bone, hand)))
    return hand.length < SHORT_LINK * min(above, below) and SHORT_LINK < above / (below + 1e-300) < 1.0 / SHORT_LINK


def _is_fork(bone: Bone) -> bool:
    """Tell whether the skeleton branches at a bone: at least two of its children have children themselves.

    Bones without children, for twist or muscles, are at the side of a limb and don't end it.
    """
    return sum(bool(child.children) for child in bone.children) > 1
