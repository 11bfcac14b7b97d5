# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: the ancestors of a bone of a body: the bones with which that bone moves, from its parent up to a root.

They are the parents, except that a parent which copies all of another bone's matrix (constraint *Copy Transforms*)
stands for that other bone: both have the same matrix, and what moves the other bone moves its copy. In rigs that Rigify
generates an arm hangs on a copy of the clavicle's control, and fingers hang on one of the hand's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .overrides import is_active, replaces_pose

if TYPE_CHECKING:
    from bpy.types import PoseBone


def with_ancestors(bone: PoseBone) -> list[PoseBone]:
    """Return a bone and its ancestors, nearer ones first."""
    found = [bone]
    passed = {bone.name}  # ends a cycle of bones that copy each other
    link = bone.parent
    while link is not None and link.name not in passed:
        passed.add(link.name)
        copied = _copied_bone(link)
        if copied is None:
            found.append(link)
        link = copied or link.parent
    return found


def _copied_bone(bone: PoseBone) -> PoseBone | None:
    """Return the bone of the same skeleton whose matrix the last of a bone's constraints copies whole, or None.

    A control beside the skeleton, such as that of a hand in IK, carries nothing of a body.
    """
    last = next((one for one in reversed(bone.constraints) if is_active(one)), None)
    is_copy = (
        last is not None
        and replaces_pose(last)
        and last.head_tail == 0.0  # type: ignore[attr-defined]
        and last.owner_space == last.target_space
        and last.owner_space in {'WORLD', 'POSE'}
        and last.target == bone.id_data  # type: ignore[attr-defined]
    )
    copied = bone.id_data.pose.bones.get(last.subtarget) if is_copy else None
    return copied if copied is not None and _root_of(copied) == _root_of(bone) else None


def _root_of(bone: PoseBone) -> PoseBone:
    return [bone, *bone.parent_recursive][-1]
