# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: keys for changed channels: where Blender's auto-keying is on, by the rules of its own transforms, or asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from bpy.types import Bone, PoseBone
from bpy_extras.anim_utils import action_get_channelbag_for_slot

if TYPE_CHECKING:
    from bpy.types import Context, KeyingSet, Object

    _Keyable = tuple[Object | PoseBone, str]
    """An object or a bone and one of its channels."""
    _Place = tuple[int, str]
    """Of a channel the array index that is keyed, -1 for all, and the group of its curves."""

_SAME_FRAME = 0.01
"""Distance of a key from a frame at which it counts as there, as Blender has it."""

_LOCKS = {"location": "lock_location", "scale": "lock_scale", "rotation_euler": "lock_rotation"}
"""Channels of three values, with their locks."""


def auto_key(context: Context, changed: Iterable[tuple[Object | PoseBone | Bone, str]]) -> list[str]:
    """Key channels, given with their bones or objects, if Blender's auto-keying is on, by its own rules.

    ``bpy_extras.anim_utils.AutoKeying`` isn't used: it takes the preferences for keys that are inserted by hand, and of
    a keying set what is selected; it keys whole frames alone, and makes actions where no key is to be inserted.

    Returns:
        the names of those that can't be keyed, each once.
    """
    scene, tools = context.scene, context.scene.tool_settings
    if not tools.use_keyframe_insert_auto:
        return []
    frame = scene.frame_current + scene.frame_subframe
    channels = [(target, name) for target, name in changed if not isinstance(target, Bone)]  # of Inherit Scale no keys
    if tools.auto_keying_mode == 'REPLACE_KEYS':
        owners = {owner for owner in {target.id_data for target, _ in channels} if _has_keys_at(owner, frame)}
        channels = [(target, name) for target, name in channels if target.id_data in owners]
    keying_set = scene.keying_sets_all.active if tools.use_keyframe_insert_keyingset else None
    if keying_set is None:
        places = [_unlocked_places(target, name) for target, name in channels]
    else:
        places = _places_in_set(context, keying_set, channels)
    options = _options(context, keying_set)
    for (target, name), found in zip(channels, places, strict=True):
        for index, group in found:
            target.keyframe_insert(
                name, index=index, frame=frame, group=group, options=options, keytype=tools.keyframe_type
            )
    return _kept_out(channel for channel, found in zip(channels, places, strict=True) if found)


def insert_keys(context: Context, channels: Sequence[tuple[PoseBone, str]]) -> list[str]:
    """Key all of some channels at the current frame.

    Returns:
        as ``auto_key``.
    """
    frame = context.scene.frame_current + context.scene.frame_subframe
    for bone, name in channels:
        bone.keyframe_insert(name, frame=frame)
    return _kept_out(channels)


def _unlocked_places(target: Object | PoseBone, name: str) -> list[_Place]:
    """Return where a channel is keyed without a keying set: all of it, or each of its values that isn't locked."""
    if name in _LOCKS:
        locks = [*getattr(target, _LOCKS[name])]
    elif target.lock_rotations_4d:
        locks = [target.lock_rotation_w, *target.lock_rotation]
    else:
        locks = [all(target.lock_rotation)] * 4
    group = target.name if isinstance(target, PoseBone) else "Object Transforms"
    return [(i, group) for i, lock in enumerate(locks) if not lock] if any(locks) else [(-1, group)]


def _options(context: Context, keying_set: KeyingSet | None) -> set[str]:
    """Return what Blender's own auto-keying makes of the preferences, with or without a keying set."""
    tools, edit = context.scene.tool_settings, context.preferences.edit
    visual, needed = edit.use_visual_keying, edit.use_auto_keyframe_insert_needed
    available, replace = edit.use_keyframe_insert_available, tools.auto_keying_mode == 'REPLACE_KEYS'
    if keying_set is not None:
        needed, available, replace = edit.use_keyframe_insert_needed, False, False
        if keying_set.use_insertkey_override_visual:
            visual = keying_set.use_insertkey_visual
        if keying_set.use_insertkey_override_needed:
            needed = keying_set.use_insertkey_needed
    wanted = {
        'INSERTKEY_VISUAL': visual,
        'INSERTKEY_NEEDED': needed,
        'INSERTKEY_AVAILABLE': available,
        'INSERTKEY_REPLACE': replace,
        'INSERTKEY_CYCLE_AWARE': tools.use_keyframe_cycle_aware,
    }
    return {option for option, is_wanted in wanted.items() if is_wanted}


def _has_keys_at(owner: Any, frame: float) -> bool:
    """Tell whether an object has a key at a frame of the scene: without one Blender replaces none."""
    animation = owner.animation_data
    bag = action_get_channelbag_for_slot(animation.action, animation.action_slot) if animation is not None else None
    if bag is None:
        return False
    at = animation.nla_tweak_strip_time_to_scene(frame, invert=True)
    for curve in bag.fcurves:
        places = np.empty(2 * len(curve.keyframe_points), np.float32)
        curve.keyframe_points.foreach_get("co", places)
        if not curve.mute and (abs(places[::2] - at) <= _SAME_FRAME).any():
            return True
    return False


def _places_in_set(context: Context, keying_set: KeyingSet, channels: Sequence[_Keyable]) -> list[list[_Place]]:
    """Return where each channel is keyed by a keying set."""
    paths = {
        owner: _paths_in_set(context, keying_set, owner, [target for target, _ in channels if target.id_data == owner])
        for owner in dict.fromkeys(target.id_data for target, _ in channels)
    }
    return [paths[target.id_data].get(target.path_from_id(name), []) for target, name in channels]


def _paths_in_set(
    context: Context, keying_set: KeyingSet, owner: Any, targets: Sequence[Object | PoseBone]
) -> dict[str, list[_Place]]:
    """Return the data paths of an object in a keying set, and where each is keyed.

    A keying set without paths of its own has those of what is selected, and raises where that is nothing of its kind.
    Blender's own transforms give it what they changed. It takes bones in Pose mode alone: in another mode, from which
    Solve can be pressed beside an active target, its paths are made for each bone.
    """
    if not keying_set.is_path_absolute:
        bones = [target for target in targets if isinstance(target, PoseBone)]
        selected: dict[str, Any] = {"selected_pose_bones": bones, "selected_pose_bones_from_active_object": bones}
        try:
            if bones and owner.mode != 'POSE':
                keying_set.paths.clear()
                for bone in bones:
                    keying_set.type_info.generate(context, keying_set, bone)
            else:
                with context.temp_override(active_object=owner, selected_objects=[owner], **selected):
                    keying_set.refresh()
        except Exception:  # whatever the script of a keying set raises: one for objects may not take bones
            return {}
    found: dict[str, list[_Place]] = {}
    for path in keying_set.paths:
        if path.id == owner:
            group = {'NAMED': path.group, 'KEYINGSET': keying_set.bl_label}.get(path.group_method, "")
            found.setdefault(path.data_path, []).append((-1 if path.use_entire_array else path.array_index, group))
    return found


def _kept_out(channels: Iterable[_Keyable]) -> list[str]:
    return list(dict.fromkeys(target.name for target, name in channels if _keeps_keys_out(target, name)))


def _keeps_keys_out(target: Object | PoseBone, channel: str) -> bool:
    """Tell whether a channel's action is linked, or has curves for it that can't be keyed.

    Blender says so in a report of its own function, which nobody sees where Python calls that.
    """
    animation = target.id_data.animation_data
    if animation is None or animation.action is None:
        return False
    if not animation.action.is_editable:
        return True
    bag, path = action_get_channelbag_for_slot(animation.action, animation.action_slot), target.path_from_id(channel)
    if bag is None:
        return False
    curves = (bag.fcurves.find(path, index=index) for index in range(len(getattr(target, channel))))
    return any(curve is not None and (curve.lock or (curve.group and curve.group.lock)) for curve in curves)
