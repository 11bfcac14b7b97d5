# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: the roles of a body's bones, and which of these bones turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...core import FabrikError
from ..rig.body_properties import body_of

if TYPE_CHECKING:
    from bpy.types import Object

_SINGLE = {'HIPS', 'CHEST', 'HEAD', 'CLAVICLE', 'UPPER_ARM', 'FOREARM', 'HAND', 'THIGH', 'SHIN', 'FOOT'}
"""Roles of which only the first bone of several in a line turns: the others divide it for its twist."""


def turning_bones(armature: Object) -> set[str]:
    """Return the names of the bones that turn: those with a role, without those that divide another one.

    Raises:
        FabrikError: a part's bone isn't there any more.
    """
    return turning_among(armature, checked_roles(armature))


def checked_roles(armature: Object) -> dict[str, str]:
    """Return the role of each bone that has one.

    Raises:
        FabrikError: a part's bone isn't there any more.
    """
    found = {}
    for part in body_of(armature).parts:
        if not part.bone:
            continue
        if part.bone not in armature.pose.bones:
            raise FabrikError(
                f"Part '{part.name}': there is no bone '{part.bone}' in '{armature.name}' any more: "
                "choose another bone, or press Find Again"
            )
        found[part.bone] = part.role
    return found


def turning_among(armature: Object, roles: Mapping[str, str]) -> set[str]:
    """Return the names of the bones that turn, given the roles of all bones that have one."""
    bones = armature.pose.bones
    return {
        name
        for name, role in roles.items()
        if not (role in _SINGLE and bones[name].parent is not None and roles.get(bones[name].parent.name) == role)
    }
