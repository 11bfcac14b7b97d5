# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: the data paths of curves and drivers to chains and handles of libraries, with names of these in files.

Blender writes ``fabrik.chains[1].influence`` when a key is inserted, and shows keys in panels by that path. It also
evaluates ``fabrik.chains["arm"].influence``. With indices the keys in a file that overrides a rig animated a neighbour,
or nothing, once the rig's own file had a chain less, or in another place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import bpy
from bpy_extras.anim_utils import action_get_channelbag_for_slot

from .body_properties import body_of
from .item_animation import WithPath, drivers_in_file, users_of
from .library_items import loses_drivers

if TYPE_CHECKING:
    from bpy.types import ActionChannelbagFCurves, AnimDataDrivers, Object

_ITEM = re.compile(r'(fabrik\.chains|fabrik\.body\.handles)\[(?:(\d+)|"((?:[^"\\]|\\.)*)")\](.*)')
"""Data path of a setting of a chain or handle: their collection, the index of the item or its name, and the rest."""


class _Holder(NamedTuple):
    """What has the path to an item."""

    holder: Any
    """A curve, a driver, or what a driver reads."""
    path: re.Match[str]
    objects: list[Object]
    """The armatures with chains or handles whose item it may be."""
    siblings: ActionChannelbagFCurves | AnimDataDrivers | None
    """The curves or drivers among which it has its path alone."""


def write_names() -> None:
    """Replace indices by names in the paths to items of linked objects and of library overrides.

    Where several objects have a curve it stays as it is unless all of them have the same name at the index.
    """
    for found in _item_paths():
        collection, index, _, rest = found.path.groups()
        if index is not None and any(obj.library or obj.override_library for obj in found.objects):
            names = {_name_at(obj, collection, int(index)) for obj in found.objects}
            if len(names) == 1 and "" not in names:
                _set_path(found, f'{collection}["{bpy.utils.escape_identifier(names.pop())}"]{rest}')


def write_indices(renamed: Mapping[tuple[Object, str], str]) -> None:
    """Replace names by indices in the paths to items.

    The path to an item that is gone keeps its name: it leads nowhere until there is an item of the name again.

    Args:
        renamed: names of items that were renamed since ``write_names``, by their objects and the names before.
    """
    for found in _item_paths():
        collection, index, key, rest = found.path.groups()
        if index is None:
            name = bpy.utils.unescape_identifier(key)
            indices = {obj.path_resolve(collection).find(renamed.get((obj, name), name)) for obj in found.objects}
            if len(indices) == 1 and -1 not in indices:
                _set_path(found, f"{collection}[{indices.pop()}]{rest}")


def _name_at(armature: Object, collection: str, index: int) -> str:
    """READ: the name by which Blender finds the item at an index; empty where it finds another one by it, or none."""
    items = armature.path_resolve(collection)
    name = str(items[index].name) if index < len(items) else ""
    return name if items.find(name) == index else ""


def _set_path(found: _Holder, data_path: str) -> None:
    """Set a path, unless another curve has it: of an item that was gone, keyed anew after it has come back."""
    if found.siblings is None or found.siblings.find(data_path, index=found.holder.array_index) is None:
        found.holder.data_path = data_path


def _item_paths() -> Iterator[_Holder]:
    """Yield what has the path to an item.

    An action that nothing uses at present may be any object's. Actions that are linked count: what changes in them is
    not saved. The drivers that a library override has from its library don't: Blender keeps them as they are there.
    """
    armatures = [obj for obj in bpy.data.objects if obj.type == 'ARMATURE']
    owners = [obj for obj in armatures if obj.path_resolve("fabrik.chains") or body_of(obj).handles]
    if not owners:
        return
    for action in bpy.data.actions:
        for slot in action.slots:
            bag = action_get_channelbag_for_slot(action, slot)
            if bag is not None and (curves := _with_item_paths(bag.fcurves)):
                users = users_of(bag, slot)
                objects = [owner for owner in owners if owner in users] if users else owners
                yield from (_Holder(curve, path, objects, bag.fcurves) for curve, path in curves)
    for block, curve in drivers_in_file():
        if not loses_drivers(block):
            drivers = block.animation_data.drivers if block in owners else None
            for driver, path in _with_item_paths([curve]):
                yield _Holder(driver, path, [owner for owner in owners if owner == block], drivers)
            for variable in curve.driver.variables:
                for source, path in _with_item_paths(variable.targets):
                    yield _Holder(source, path, [owner for owner in owners if owner == source.id], None)


def _with_item_paths(holders: Iterable[WithPath]) -> list[tuple[WithPath, re.Match[str]]]:
    found = ((holder, _ITEM.fullmatch(holder.data_path)) for holder in holders)
    return [(holder, path) for holder, path in found if path is not None]
