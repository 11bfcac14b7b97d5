# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: items of library overrides whose names their libraries have given to items of their own since.

Blender finds items of an override by their names. With the next saving it stored the settings of the override's own
chain for the library's chain of the same name, which was lost; and of a body that was made in the override and in its
library too every part was there twice, and none could be removed.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any  # the stubs don't know our collections

import bpy
from bpy.app.handlers import persistent

from .body_properties import body_of
from .named_item_paths import write_indices, write_names
from .properties import number_name, settings_of

if TYPE_CHECKING:
    from bpy.types import Object

_BEFORE = ("save_pre", "blend_import_pre")
"""Lists of functions that Blender calls before it compares overrides with libraries, and before it reads libraries."""
_AFTER = ("save_post", "save_post_fail", "load_post", "blend_import_post")
"""Lists of functions that Blender calls after that, when overrides were made anew."""


@persistent  # type: ignore[untyped-decorator]
def _find_by_name(*_args: object) -> None:
    _make_unique()
    write_names()


@persistent  # type: ignore[untyped-decorator]
def _find_by_index(*_args: object) -> None:
    write_indices(_make_unique())


def _make_unique() -> dict[tuple[Object, str], str]:
    """Give each name to one item, and return the names of chains that were renamed, by armatures and former names."""
    renamed: dict[tuple[Object, str], str] = {}
    for obj in bpy.data.objects:
        override = obj.override_library
        if obj.type == 'ARMATURE' and override is not None and override.reference is not None:
            chains = _number_chains(obj, override.reference)  # type: ignore[arg-type]  # the stub has the base class
            renamed |= {(obj, before): now for before, now in chains.items()}
            for items in (body_of(obj).parts, body_of(obj).handles):
                for name in _repeated(items):
                    _unite(items, name)
    return renamed


def _repeated(items: Any) -> list[str]:
    return [name for name, times in Counter(item.name for item in items).items() if times > 1]


def _number_chains(armature: Object, reference: Object) -> dict[str, str]:
    """Number the names of an override's own chains, as Blender does with constraints; return them by former ones."""
    chains, theirs, numbered = settings_of(armature).chains, settings_of(reference).chains, {}
    for name in _repeated(chains):
        same = [chain for chain in chains if chain.name == name]
        own = next((one for one in same if name in theirs and one.tip != theirs[name].tip), same[0])
        number_name(own)
        numbered[name] = own.name
    return numbered


def _unite(items: Any, name: str) -> None:
    """Remove the override's own part or handle of a name, and give its settings to the library's."""
    indices = [index for index, item in enumerate(items) if item.name == name]
    for index in indices:
        settings = _settings_of(items[index])
        try:
            items.remove(index)
        except TypeError:
            continue  # it is the library's
        for setting, value in settings.items():
            if _settings_of(items[name])[setting] != value:
                setattr(items[name], setting, value)
        return


def _settings_of(item: Any) -> dict[str, object]:
    """READ: the settings of an item, in the order in which they are set: an object to follow changes others."""
    names = [one.identifier for one in sorted(item.bl_rna.properties, key=lambda one: one.type != 'POINTER')]
    values = {name: getattr(item, name) for name in names if not item.is_property_readonly(name)}
    return {name: value[:] if hasattr(value, "foreach_get") else value for name, value in values.items()}


def register() -> None:
    for names, handler in ((_BEFORE, _find_by_name), (_AFTER, _find_by_index)):
        for name in names:
            getattr(bpy.app.handlers, name).append(handler)


def unregister() -> None:
    for names, handler in ((_BEFORE, _find_by_name), (_AFTER, _find_by_index)):
        for name in names:
            getattr(bpy.app.handlers, name).remove(handler)
