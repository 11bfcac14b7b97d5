# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: channels of pose bones, and keys for them. Nothing here reads a target or computes a pose."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from bpy.types import Bone, PoseBone
from bpy_extras.anim_utils import AutoKeying as _AutoKeying

from ..rig.rotation_channel import Values

AutoKeying: Any = _AutoKeying
"""``Any``, because the stub lacks its class methods."""

if TYPE_CHECKING:
    from bpy.types import Context, Object

_Owner = TypeVar("_Owner", bound="PoseBone | Bone")
_Values = TypeVar("_Values", bound=Values)

_SAME_VALUE = 1e-7
"""Difference of two values that single precision can't resolve. Written, it would only make keys and undo steps."""

_KEYED = {"location": "use_loc", "scale": "use_scale"}
"""Channels that aren't of a rotation, with the option by which Blender keys them."""


def write_channels(settings: Iterable[tuple[_Owner, tuple[str, _Values]]]) -> list[tuple[_Owner, tuple[str, _Values]]]:
    """Write channels that differ; return the bones that changed with their channels before."""
    changed: list[tuple[_Owner, tuple[str, _Values]]] = []
    for bone, (name, values) in settings:
        old = getattr(bone, name)[:]
        if differ(old, values):
            setattr(bone, name, values)
            changed.append((bone, (name, old)))
    return changed


def restore_channels(channels: Iterable[tuple[Object | PoseBone | Bone, tuple[str, object]]]) -> None:
    """Write channels as they were, to the last bit."""
    for bone, (name, values) in channels:
        setattr(bone, name, values)


def differ(old: Values, new: Values) -> bool:
    """Tell whether values differ by more than ``_SAME_VALUE``."""
    if isinstance(old, str) or isinstance(new, str):
        return old != new
    # Called for every bone at every move of a drag: a generator takes half as long again, a strict zip a fifth.
    for before, after in zip(old, new):  # noqa: B905, SIM110
        if abs(after - before) > _SAME_VALUE:
            return True
    return False


def auto_key(context: Context, changed: Iterable[tuple[Object | PoseBone | Bone, str]]) -> None:
    """Key channels, given with their bones or objects, if Blender's auto-keying is on, by its own rules."""
    keytype = context.scene.tool_settings.keyframe_type
    for target, channel in changed:
        if isinstance(target, Bone):
            continue  # Inherit Scale can't be keyed
        use = _KEYED.get(channel, "use_rot")
        options = {option: option == use for option in ("use_loc", "use_rot", "use_scale")}
        with AutoKeying.options(keytype=keytype, **options):
            _auto_key(context, target, channel, keytype)


def _as_selected(target: Object | PoseBone) -> dict[str, Any]:
    """Return what the context of Blender's keying sets says where an object or a bone alone is selected."""
    bones = [target] if isinstance(target, PoseBone) else []
    return {
        "active_object": target.id_data,
        "selected_objects": [target.id_data],
        "selected_pose_bones": bones,
        "selected_pose_bones_from_active_object": bones,
    }


def _auto_key(context: Context, target: Object | PoseBone, channel: str, keytype: str) -> None:
    tools = context.scene.tool_settings
    # AutoKeying itself uses a keying set even while auto-keying is off, and refuses one with absolute paths.
    if not tools.use_keyframe_insert_auto:
        return
    keying_set = context.scene.keying_sets_all.active
    if not tools.use_keyframe_insert_keyingset or keying_set is None:
        AutoKeying.autokey_transformation(context, target)
        return
    if not keying_set.is_path_absolute:
        # A keying set without paths of its own has those of what is selected, and raises where that is nothing of its
        # kind. Blender's own transforms give it what they changed.
        with suppress(RuntimeError), context.temp_override(**_as_selected(target)):
            AutoKeying.autokey_transformation(context, target)
        return
    full_path = target.path_from_id(channel)
    options = AutoKeying.keying_options_from_keyingset(context, keying_set)
    for path in keying_set.paths:
        if path.id == target.id_data and path.data_path == full_path:
            index = -1 if path.use_entire_array else path.array_index
            group = {'NAMED': path.group, 'KEYINGSET': keying_set.bl_label}.get(path.group_method, "")
            target.keyframe_insert(channel, index=index, group=group, options=options, keytype=keytype)
