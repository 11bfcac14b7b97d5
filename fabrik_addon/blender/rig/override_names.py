# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: items of library overrides whose libraries have changed since, and what animates these items.

Blender finds items of an override by their names. With the next saving it stored the settings of the override's own
chain for the library's chain of the same name, which was lost; and of a body that was made in the override and in its
library too every part was there twice, and none could be removed.

It finds animated settings by the places of the items. Where the library had a chain less, keys of the override animated
the next one. So the names are saved in the order of the places, and what animates an item goes to where it is now.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any  # the stubs don't know our collections

import bpy
from bpy.app.handlers import persistent

from .body_properties import body_of
from .item_animation import follow_library, revive_drivers
from .properties import number_name, settings_of

if TYPE_CHECKING:
    from bpy.types import Object

_BEFORE = ("save_pre", "blend_import_pre")
"""Lists of functions that Blender calls before it compares overrides with libraries, and before it reads libraries."""

_AFTER = ("load_post", "blend_import_post")
"""Lists of functions that Blender calls after overrides were made anew."""

_ANIMATED = ("fabrik.chains", "fabrik.body.handles")
"""Collections with settings that can be animated, by their paths from the object."""


@persistent  # type: ignore[untyped-decorator]
def _store_names(*_args: object) -> None:
    for armature, reference in _overrides():
        _make_unique(armature, reference)
        _set_named(armature, reference, _names_in(armature))


@persistent  # type: ignore[untyped-decorator]
def _follow_libraries(*_args: object) -> None:
    have_changed = False
    for armature, reference in _overrides():
        named, renamed = settings_of(armature).named, _make_unique(armature, reference)
        now = _names_in(armature)
        is_own = named not in ("", settings_of(reference).named)
        for collection, before in (json.loads(named) if is_own else {}).items():
            if before != now[collection]:
                follow_library(armature, collection, before, renamed if collection == "fabrik.chains" else {})
                have_changed = True
        _set_named(armature, reference, now)
    if have_changed:
        revive_drivers()  # of an item that is back


def _overrides() -> list[tuple[Object, Object]]:
    """Return the armatures that are library overrides, with what they override."""
    armatures = [(obj, obj.override_library) for obj in bpy.data.objects if obj.type == 'ARMATURE']
    return [(obj, by.reference) for obj, by in armatures if by is not None and by.reference is not None]  # type: ignore[misc]  # the stub has the base class


def _names_in(armature: Object) -> dict[str, list[str]]:
    return {collection: [item.name for item in armature.path_resolve(collection)] for collection in _ANIMATED}


def _set_named(armature: Object, reference: Object, names: dict[str, list[str]]) -> None:
    """Store the names of items in their order, if they are others: what is set is evaluated again."""
    settings, text = settings_of(armature), json.dumps(names)
    if text == settings_of(reference).named:
        text += " "  # Blender saves nothing that is as in the overridden object, which may be an override itself
    if settings.named != text:
        settings.named = text


def _make_unique(armature: Object, reference: Object) -> dict[str, str]:
    """Give each name to one item of an override, and return the names of chains that were renamed, by former names."""
    for items in (body_of(armature).parts, body_of(armature).handles):
        for name in _repeated(items):
            _unite(items, name)
    return _number_chains(armature, reference)


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
    for names, handler in ((_BEFORE, _store_names), (_AFTER, _follow_libraries)):
        for name in names:
            getattr(bpy.app.handlers, name).append(handler)


def unregister() -> None:
    for names, handler in ((_BEFORE, _store_names), (_AFTER, _follow_libraries)):
        for name in names:
            getattr(bpy.app.handlers, name).remove(handler)
