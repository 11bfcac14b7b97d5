# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: handles that people add to a body by hand, and what handles keep once they were pulled."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ...core import FabrikError
from ..bodies.handles import Pull, find_handle
from ..bodies.turning_bones import turning_bones
from ..rig.body_properties import body_of, note_offset

if TYPE_CHECKING:
    from bpy.types import Object

    from ..rig.body_properties import FabrikHandle


def add_handle(armature: Object, bone: str, use_tail: bool) -> FabrikHandle:
    """Add a handle at the head or tail of a bone of an armature's body; it keeps no place until it is pulled.

    Raises:
        FabrikError: there is no such bone, it is no part of the body, or a handle is there already.
    """
    if bone not in armature.pose.bones:
        raise FabrikError(f"There is no bone '{bone}' in '{armature.name}'")
    if bone not in turning_bones(armature):
        raise FabrikError(f"Bone '{bone}' is no part of the body that turns: choose a bone of the list Skeleton")
    handles = body_of(armature).handles
    there = next((one for one in handles if one.bone == bone and one.use_tail == use_tail), None)
    if there is not None:
        raise FabrikError(f"Handle '{there.name}' is there already")
    handle = handles.add()
    handle.name, handle.bone, handle.use_tail = f"{bone} ({'tail' if use_tail else 'head'})", bone, use_tail
    return handle


def keep_pulls(armature: Object, pulls: Iterable[Pull]) -> None:
    """Let the handles that were pulled keep their places and rotations from now on, and those beside what they follow.

    Args:
        armature: evaluated after the pull.
        pulls: of its handles.
    """
    for pull in pulls:
        if pull.bone:
            continue  # it is none of the body's handles
        handle = find_handle(armature, pull.handle)
        handle.use_position = handle.use_position or pull.position is not None
        handle.use_rotation = handle.use_rotation or pull.rotation is not None
        if handle.target is not None and handle.use_pin:
            note_offset(handle)
