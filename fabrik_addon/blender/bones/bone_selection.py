# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which bones are selected; no pose changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpy.utils import flip_name

if TYPE_CHECKING:
    from bpy.types import BoneCollection, Object, PoseBone


def selected_tips(armature: Object) -> list[str]:
    """READ: the selected bones at which chains can end: those without a selected child; the active bone comes first."""
    bones = [bone for bone in armature.pose.bones if bone.select and not bone.hide]
    active = armature.data.bones.active
    tips = [bone.name for bone in bones if not any(child in bones for child in bone.children)]
    return sorted(tips, key=lambda name: active is None or name != active.name)


def with_opposites(armature: Object, names: list[str]) -> list[str]:
    """READ: bones, and those of the same names on the other side, each once."""
    others = [flip_name(name) for name in names]
    return list(dict.fromkeys([*names, *(name for name in others if name in armature.pose.bones)]))


def select_and_show(armature: Object, bone: PoseBone) -> None:
    """WRITE: select a bone and no other one, make it active, and make it visible.

    A bone that is in hidden bone collections alone makes the first of these visible, solo too where others are, unless
    the armature's data is linked, where that can't be stored.
    """
    for other in armature.pose.bones:
        other.select = other == bone
    bone.hide = False
    data = armature.data
    data.bones.active = bone.bone
    collections = bone.bone.collections
    if collections and data.library is None and not any(one.is_visible_effectively for one in collections):
        collections[0].is_solo = data.collections.is_solo_active
        shown: BoneCollection | None = collections[0]
        while shown is not None:
            shown.is_visible = True
            shown = shown.parent
