# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: rotation channels of pose bones, and keys for them. Nothing here reads a target or computes a pose."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from bpy_extras.anim_utils import AutoKeying as _AutoKeying

from .channels import Channel, channel_of

# The stubs have lost its class methods.
AutoKeying: Any = _AutoKeying

if TYPE_CHECKING:
    from bpy.types import Context, Object, PoseBone

Channels = Iterable[tuple["PoseBone", Channel]]


def write_channels(channels: Channels) -> list[tuple[PoseBone, Channel]]:
    """Write rotation channels that differ; return the bones that changed with what they said before."""
    changed = []
    for bone, (name, values) in channels:
        old = channel_of(bone)
        setattr(bone, name, values)
        if channel_of(bone) != old:
            changed.append((bone, old))
    return changed


def auto_key_rotations(context: Context, bones: Iterable[PoseBone]) -> None:
    """Key the rotation of bones if Blender's auto-keying is on, by its own rules."""
    keytype = context.scene.tool_settings.keyframe_type
    with AutoKeying.options(keytype=keytype, use_loc=False, use_scale=False):
        for bone in bones:
            AutoKeying.autokey_transformation(context, bone)


def auto_key_location(context: Context, target: Object | PoseBone) -> None:
    """Key the location of a target if Blender's auto-keying is on, by its own rules."""
    keytype = context.scene.tool_settings.keyframe_type
    with AutoKeying.options(keytype=keytype, use_rot=False, use_scale=False):
        AutoKeying.autokey_transformation(context, target)
