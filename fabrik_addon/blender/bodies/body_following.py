# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: which bones of a body follow a bone that is pulled: all of them, those above the hips, or those of its limb."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from ..bones.ancestors import with_ancestors

if TYPE_CHECKING:
    from bpy.types import PoseBone

Follows = Literal['BODY', 'UPPER', 'LIMB']

FOLLOWS_ITEMS = (
    ('BODY', "Whole Body", "The whole body, as far as the bone is pulled; feet and pins stay"),
    ('UPPER', "Upper Body", "Spine, arms and head; hips and legs stay. Below the hips the limb alone"),
    ('LIMB', "Limb", "The bone's limb alone; the hips take the legs along"),
)

_TRUNK_ROLES = {'SPINE', 'CHEST'}
_NECK_ROLES = {'NECK', 'HEAD'}
_ARM_ROLES = {'UPPER_ARM', 'FOREARM', 'HAND', 'FINGER'}
_LEG_ROLES = {'THIGH', 'SHIN', 'FOOT', 'TOE'}
_UPPER = _TRUNK_ROLES | _NECK_ROLES | _ARM_ROLES | {'CLAVICLE'}
_LOWER = {'HIPS'} | _LEG_ROLES

_FOLLOWING_ROLES: Mapping[str, set[str]] = {
    **{role: limb for limb in (_TRUNK_ROLES, _NECK_ROLES, _ARM_ROLES, _LEG_ROLES) for role in limb},
    'HIPS': _LOWER,
}
"""The roles of a limb, by that of one of its bones; every other role is a limb by itself."""


def following_bones(bone: PoseBone, roles: Mapping[str, str], follows: Follows) -> set[str]:
    """Return the names of the bones that follow a bone; they don't all turn, and bones without a role are none of them.

    Args:
        bone: that is pulled.
        roles: of the bones of its body, by their names.
        follows: which of them follow.
    """
    role = roles.get(bone.name)
    if follows == 'BODY' or role is None:
        return set(roles)
    if follows == 'UPPER' and role in _UPPER:
        return {name for name, other in roles.items() if other in _UPPER} - _carrying_legs(bone, roles)
    limb = _FOLLOWING_ROLES.get(role, {role})
    top = bone
    for parent in with_ancestors(bone)[1:]:
        # A bone without a role doesn't end a limb: it may be a twist bone.
        if roles.get(parent.name, role) not in limb:
            break
        if parent.name in roles:
            top = parent
    bones = bone.id_data.pose.bones
    found = {name for name, other in roles.items() if other in limb and top in with_ancestors(bones[name])}
    return found - _carrying_legs(bone, roles) if role in _TRUNK_ROLES else found


def _carrying_legs(bone: PoseBone, roles: Mapping[str, str]) -> set[str]:
    """Return the bones that hips or legs hang on, which would move along.

    The first bone of a spine is one in rigs that Rigify generates, where the hips hang on it too, and in skeletons of
    many animals, where the hips carry it and the tail.
    """
    bones = bone.id_data.pose.bones
    lower = [bones[name] for name, role in roles.items() if role in _LOWER]
    return {above.name for one in lower for above in with_ancestors(one)[1:]}
