# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What settings have in common: library overrides can change them, the overlay shows their changes, and names that
Blender translates otherwise have a context of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

from bpy import props
from bpy.types import Context, PropertyGroup

_OVERRIDABLE: set[Literal['LIBRARY_OVERRIDABLE']] = {'LIBRARY_OVERRIDABLE'}

OverridableBoolProperty = partial(props.BoolProperty, override=_OVERRIDABLE)
OverridableCollectionProperty = partial(props.CollectionProperty, override={'LIBRARY_OVERRIDABLE', 'USE_INSERTION'})
OverridableEnumProperty = partial(props.EnumProperty, override=_OVERRIDABLE)
OverridableFloatProperty = partial(props.FloatProperty, override=_OVERRIDABLE)
OverridableFloatVectorProperty = partial(props.FloatVectorProperty, override=_OVERRIDABLE)
OverridableIntProperty = partial(props.IntProperty, override=_OVERRIDABLE)
OverridablePointerProperty = partial(props.PointerProperty, override=_OVERRIDABLE)
OverridableStringProperty = partial(props.StringProperty, override=_OVERRIDABLE)

OWN_CONTEXT = "FABRIK IK"
"""Context of texts whose translations by Blender itself don't fit. A constant, because Blender keeps a pointer to the
string and no copy: of a literal in an annotation, which is evaluated and then freed, other text was left.
"""

SETTINGS_HANDLERS: list[Callable[[], None]] = []
"""Functions that Blender's property updates call after a setting has changed that the overlay draws."""


def show_change(_settings: PropertyGroup, _context: Context) -> None:
    """Tell the overlay that a setting has changed; the ``update`` of a property."""
    for handler in SETTINGS_HANDLERS:
        handler()
