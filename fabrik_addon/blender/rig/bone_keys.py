# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys of bones, by which a setting with the name of a bone finds it when it was renamed."""

from __future__ import annotations

import re
import struct
import zlib
from collections import Counter
from collections.abc import Callable
from itertools import count
from typing import Any

import bpy
from bpy.app.handlers import persistent
from bpy.types import Context, PoseBone

from .property_updates import OverridableIntProperty, show_change

_HANDLERS = ("depsgraph_update_post", "undo_post", "redo_post", "load_post")
"""Lists of functions that Blender calls after bones may have been copied."""

# By the session ids of armatures, which are never used twice, and stay the same over undo.
_kept_names: dict[int, dict[int, str]] = {}
_last_names: dict[int, dict[int, str]] = {}
"""The names that the bones with the keys were seen to have last, before they were deleted or other bones had the keys,
too. The names that were set are those from before all renamings: by these neither the copy of a renamed bone would be
told from the bone, nor another bone that has the old name now."""


def named_by_key(owner: str, bone: str) -> tuple[Callable[[Any, str, bool], str], Callable[[Any, Context], None]]:
    """Return the ``get_transform`` and the ``update`` of a setting with the name of a bone, beside one with its key.

    Args:
        owner: name of the attribute with the bone's armature.
        bone: name of the setting; that of the key ends in "_key".
    """
    key_name = f"{bone}_key"

    def get(settings: Any, name: str, _is_set: bool) -> str:
        return name_now(getattr(settings, owner), getattr(settings, key_name), name)

    def keep_key(settings: Any, context: Context) -> None:
        """Store the key of the bone, which is found by its name while there is no key."""
        setattr(settings, key_name, 0)
        setattr(settings, key_name, key_of(getattr(settings, owner), getattr(settings, bone)))
        show_change(settings, context)

    return get, keep_key


def name_now(armature: Any, key: int, name: str) -> str:
    """Return the name that the bone with a key has now, whatever name was set; the name that was set where none has it.

    So it is for chains and bodies that were set before there were keys. Any: the stubs don't know the keys of bones.
    """
    bones = armature.pose.bones if key and armature is not None and armature.pose else ()
    if not bones:
        return name
    bone, kept = bones.get(name), _names_by_key(armature).get(key)
    if bone is not None and bone.fabrik_key == key and kept != "":
        return name
    named = bones.get(kept) if kept else None
    has_key = named is not None and named.fabrik_key == key
    last = _last_names[armature.original.session_uid].get(key, name)
    return _name_of([named] if has_key else _with_key(bones, key), bones, key, last) or last


def _names_by_key(armature: Any) -> dict[int, str]:
    """Return the names of an armature's bones by their keys; empty of a key that several bones or a copy alone have.

    They are kept until something has changed: with a search among all bones at every read of a name, ten chains in 840
    bones took 59 ms to solve instead of 12 ms, and a pull of a body in 860 renamed bones 370 ms instead of 27 ms. A key
    that is given to a bone here is no other bone's. The bone of a kept name may have been renamed since, and another
    one may have the name: its key is compared.
    """
    armature_id = armature.original.session_uid
    if armature_id not in _kept_names:
        bones = armature.pose.bones
        keys = [0] * len(bones)
        bones.foreach_get("fabrik_key", keys)
        times, last = Counter(keys), _last_names.setdefault(armature_id, {})
        names = {key: bone.name if times[key] == 1 else "" for bone, key in zip(bones, keys, strict=True) if key}
        for key, name in names.items():
            before = last.get(key, name)
            if before not in bones and name and _is_copy(bones[name], key, before):
                names[key] = ""
            elif name:
                last[key] = name
        _kept_names[armature_id] = names
    return _kept_names[armature_id]


def _with_key(bones: Any, key: int) -> list[Any]:
    return [bone for bone in bones if bone.fabrik_key == key]


def _name_of(found: list[Any], bones: Any, key: int, name: str) -> str:
    """Return the name of the bone with a key, of all that have it; empty of none, or where they can't be told apart.

    Blender copies the key with a bone, in Symmetrize and Duplicate. Of several bones the one that is where it was given
    the key is no copy; where they are elsewhere, or all there, it is the one that has the name still.
    """
    if len(found) > 1:
        found = [bone for bone in found if _key_at_rest(bone) == key] or found
    if len(found) > 1:
        found = [bone for bone in found if bone.name == name]
    if not found or (name not in bones and _is_copy(found[0], key, name)):
        return ""
    return str(found[0].name)


def _is_copy(bone: PoseBone, key: int, name: str) -> bool:
    """Tell whether a bone is the copy of a deleted one: it is elsewhere, and has the name that Blender gives it."""
    is_named_so = bone.name == bpy.utils.flip_name(name) or re.fullmatch(rf"{re.escape(name)}\.\d+", bone.name)
    return bool(is_named_so) and _key_at_rest(bone) != key


def key_of(armature: Any, name: str) -> int:
    """Return the key of a bone, which it keeps when it is renamed; 0 where there is no such bone, or no key for it.

    A bone without one, or with that of the bone of which it is a copy, is given one, unless its armature is linked.
    """
    bones = armature.pose.bones if armature is not None and armature.pose else {}
    bone = bones.get(name)
    if bone is None:
        return 0
    has_own = bone.fabrik_key and _name_of(_with_key(bones, bone.fabrik_key), bones, bone.fabrik_key, name) == name
    if not has_own and armature.is_editable:
        taken = {other.fabrik_key for other in bones}
        bone.fabrik_key = next(key for key in count(_key_at_rest(bone)) if key not in taken)
    _last_names.setdefault(armature.original.session_uid, {})[bone.fabrik_key] = name
    return int(bone.fabrik_key)


def _key_at_rest(bone: PoseBone) -> int:
    """Return the key that a bone is given where it is at rest, as another bone at the same place would be."""
    ends = (*bone.bone.head_local[:], *bone.bone.tail_local[:])
    # Half of the keys, because a property is below 2^31; adding 0 makes 0 of -0.
    return zlib.crc32(struct.pack("6f", *(round(end, 4) + 0.0 for end in ends))) // 2 or 1


@persistent  # type: ignore[untyped-decorator]
def _forget(*_args: object) -> None:
    _kept_names.clear()


def register() -> None:
    PoseBone.fabrik_key = OverridableIntProperty(  # type: ignore[attr-defined]
        name="FABRIK Key",
        description="Number by which chains and bodies find the bone; 0 is none",
        options={'HIDDEN'},
    )
    for name in _HANDLERS:
        getattr(bpy.app.handlers, name).append(_forget)


def unregister() -> None:
    for name in _HANDLERS:
        getattr(bpy.app.handlers, name).remove(_forget)
    del PoseBone.fabrik_key  # type: ignore[attr-defined]
