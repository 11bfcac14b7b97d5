# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: channels of pose bones, and keys for them. Nothing here reads a target or computes a pose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from bpy.types import Bone, PoseBone
from bpy_extras.anim_utils import AutoKeying as _AutoKeying
from bpy_extras.anim_utils import action_get_channelbag_for_slot

from ..rig.rotation_channel import Values

AutoKeying: Any = _AutoKeying
"""``Any``, because the stub lacks its class methods."""

if TYPE_CHECKING:
    from bpy.types import Context, KeyingSet, Object

    _Keyable = tuple[Object | PoseBone, str]

_Owner = TypeVar("_Owner", bound="PoseBone | Bone")
_Values = TypeVar("_Values", bound=Values)

_SAME_VALUE = 1e-7
"""Difference of two values that single precision can't resolve. Written, it would only make keys and undo steps."""

_SAME_FRAME = 0.01
"""Distance of a key from a frame at which it counts as there, as Blender has it."""

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


def auto_key(context: Context, changed: Iterable[tuple[Object | PoseBone | Bone, str]]) -> list[str]:
    """Key channels, given with their bones or objects, if Blender's auto-keying is on, by its own rules.

    Returns:
        the names of those that can't be keyed, each once.
    """
    tools, keying_set = context.scene.tool_settings, context.scene.keying_sets_all.active
    if not tools.use_keyframe_insert_auto:
        return []
    channels = [(target, name) for target, name in changed if not isinstance(target, Bone)]  # of Inherit Scale no keys
    if tools.auto_keying_mode == 'REPLACE_KEYS':
        frame = context.scene.frame_current_final
        owners = {owner for owner in {target.id_data for target, _ in channels} if _has_keys_at(owner, frame)}
        channels = [(target, name) for target, name in channels if target.id_data in owners]
    if tools.use_keyframe_insert_keyingset and keying_set is not None:
        channels = _key_by_set(context, keying_set, channels)
    else:
        for target, name in channels:
            use = _KEYED.get(name, "use_rot")
            options = {option: option == use for option in ("use_loc", "use_rot", "use_scale")}
            with AutoKeying.options(keytype=tools.keyframe_type, **options):
                AutoKeying.key_transformation(target, _options(context, None))
    return list(dict.fromkeys(target.name for target, name in channels if _keeps_keys_out(target, name)))


def _options(context: Context, keying_set: KeyingSet | None) -> set[str]:
    """Return what Blender's own auto-keying makes of the preferences, with or without a keying set.

    AutoKeying's functions for it take those for keys that are inserted by hand, and none with a keying set.
    """
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
    """Tell whether an object has a key at a frame of the scene: without one Blender replaces none, and makes no action.

    AutoKeying makes one, and heeds the mode without a keying set alone.
    """
    animation = owner.animation_data
    bag = action_get_channelbag_for_slot(animation.action, animation.action_slot) if animation is not None else None
    if bag is None:
        return False
    at = animation.nla_tweak_strip_time_to_scene(frame, invert=True)
    curves = (curve for curve in bag.fcurves if not curve.mute)
    return any(abs(key.co.x - at) <= _SAME_FRAME for curve in curves for key in curve.keyframe_points)


def _key_by_set(context: Context, keying_set: KeyingSet, channels: Sequence[_Keyable]) -> list[_Keyable]:
    """Key the channels that are in a keying set; return these."""
    options = _options(context, keying_set)
    keyed = []
    for owner in dict.fromkeys(target.id_data for target, _ in channels):
        own = [(target, name) for target, name in channels if target.id_data == owner]
        paths = _paths_in_set(context, keying_set, owner, [target for target, _ in own])
        for target, name in own:
            found = paths.get(target.path_from_id(name), [])
            for index, group in found:
                keytype = context.scene.tool_settings.keyframe_type
                target.keyframe_insert(name, index=index, group=group, options=options, keytype=keytype)
            keyed += [(target, name)] if found else []
    return keyed


def _paths_in_set(
    context: Context, keying_set: KeyingSet, owner: Any, targets: Sequence[Object | PoseBone]
) -> dict[str, list[tuple[int, str]]]:
    """Return the data paths of an object in a keying set, with the array indices (-1 is all) and groups of their keys.

    A keying set without paths of its own has those of what is selected, and raises where that is nothing of its kind.
    Blender's own transforms give it what they changed.
    """
    if not keying_set.is_path_absolute:
        bones = [target for target in targets if isinstance(target, PoseBone)]
        selected: dict[str, Any] = {"selected_pose_bones": bones, "selected_pose_bones_from_active_object": bones}
        try:
            with context.temp_override(active_object=owner, selected_objects=[owner], **selected):
                keying_set.refresh()
        except RuntimeError:
            return {}
    found: dict[str, list[tuple[int, str]]] = {}
    for path in keying_set.paths:
        if path.id == owner:
            group = {'NAMED': path.group, 'KEYINGSET': keying_set.bl_label}.get(path.group_method, "")
            found.setdefault(path.data_path, []).append((-1 if path.use_entire_array else path.array_index, group))
    return found


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
