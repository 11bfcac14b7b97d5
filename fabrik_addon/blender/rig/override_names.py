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
from .properties import number_name, settings_of

if TYPE_CHECKING:
    from bpy.types import Object

_HANDLERS = ("load_post", "save_pre")
"""Lists of functions that Blender calls after overrides were made anew, and before it compares them with libraries."""


@persistent  # type: ignore[untyped-decorator]
def _make_unique(*_args: object) -> None:
    for obj in bpy.data.objects:
        override = obj.override_library
        if obj.type == 'ARMATURE' and override is not None and override.reference is not None:
            _number_chains(obj, override.reference)  # type: ignore[arg-type]  # the stub has the base class
            for items in (body_of(obj).parts, body_of(obj).handles):
                for name in _repeated(items):
                    _unite(items, name)


def _repeated(items: Any) -> list[str]:
    return [name for name, times in Counter(item.name for item in items).items() if times > 1]


def _number_chains(armature: Object, reference: Object) -> None:
    """Number the names of an override's own chains, as Blender does with constraints."""
    chains, theirs = settings_of(armature).chains, settings_of(reference).chains
    for name in _repeated(chains):
        same = [chain for chain in chains if chain.name == name]
        number_name(next((one for one in same if name in theirs and one.tip != theirs[name].tip), same[0]))


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
    for name in _HANDLERS:
        getattr(bpy.app.handlers, name).append(_make_unique)


def unregister() -> None:
    for name in _HANDLERS:
        getattr(bpy.app.handlers, name).remove(_make_unique)
