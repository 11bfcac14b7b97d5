# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: the limb of a bone, by the roles of bones and by where the skeleton branches.

A limb is an upper and a lower part, thigh and shin or upper arm and forearm, with a hand or foot at the end. A part may
have several bones in a line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .body_properties import roles_of
from .limb_roles import limb_roles, recognise_all

if TYPE_CHECKING:
    from bpy.types import Bone, Object

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
    """Names of those among them that stay rigid with their parents: bones without a role, for twist."""


def limb_of(armature: Object, bone_name: str) -> Limb:
    """Return the bones that rotate when a bone is dragged.

    Of a bone with a role, by a body or, without one, in an arm or a leg (``limb_roles``): this bone and those above it
    whose roles rotate together with its own (``_ROTATING_TOGETHER``), without a hand or foot itself. Of any other bone:
    from this bone up to where the skeleton branches, or to an arm or a leg. So a finger has its own bones, a chest the
    spine, a head the neck.
    """
    bone = armature.data.bones[bone_name]
    roles = roles_of(armature)
    if bone_name not in roles:
        roles = limb_roles(armature, recognise_all(armature))
    if bone_name in roles:
        return _limb_by_roles(bone, roles)
    above = enumerate(bone.parent_recursive, 1)
    ends = (number for number, link in above if link.name in roles or _is_fork(link))
    return Limb(next(ends, len(bone.parent_recursive) + 1), False)


def _limb_by_roles(bone: Bone, roles: Mapping[str, str]) -> Limb:
    """Return the limb of a bone with a role."""
    role = roles[bone.name]
    together = next((limb for limb in _ROTATING_TOGETHER if role in limb), {role})
    line = [bone, *bone.parent_recursive]
    # A bone without a role doesn't end a limb: it may be a twist bone.
    end = next((i for i, link in enumerate(line) if roles.get(link.name, role) not in together), len(line))
    count = max(i for i, link in enumerate(line[:end], 1) if link.name in roles)
    is_hand_or_foot = role in {'HAND', 'FOOT'} and count > 1
    still = frozenset(link.name for link in line[:count] if link.name not in roles)
    return Limb(count - is_hand_or_foot, is_hand_or_foot, still)


def _is_fork(bone: Bone) -> bool:
    """Tell whether the skeleton branches at a bone: at least two of its children have children themselves.

    Bones without children, for twist or muscles, are at the side of a limb and don't end it.
    """
    return sum(bool(child.children) for child in bone.children) > 1
