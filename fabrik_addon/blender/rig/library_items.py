# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: which chains, parts, handles and constraints of a library override come from its library.

Blender doesn't remove those, or has them again when the file is loaded. And it doesn't save all that is added.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core import FabrikError

if TYPE_CHECKING:
    from bpy.types import ID, Object


LOST_DRIVERS = (
    "its drivers are lost when the file is loaded again: Blender saves none that are added to a library override whose "
    "library has animation data"
)


def loses_drivers(owner: ID) -> bool:
    """Tell whether Blender saves no drivers that are added to a data-block (Blender 5.0 and 5.2)."""
    override = owner.override_library
    return override is not None and getattr(override.reference, "animation_data", None) is not None


def is_from_library(armature: Object, collection: str, name: str = "") -> bool:
    """Tell whether a collection of an armature has an item that comes from the library of the armature's override.

    In an override ``remove`` raises TypeError for such an item, and ``clear`` leaves it (Blender 5.0 and 5.2).

    Args:
        collection: path of the collection from the object, as "fabrik.chains".
        name: of the item; empty means any item.
    """
    override = armature.override_library
    if override is None or override.reference is None:
        return False
    items = override.reference.path_resolve(collection)
    return name in items if name else bool(items)


def require_own_item(armature: Object, collection: str, name: str) -> None:
    """Refuse to remove an item that comes from a library.

    Raises:
        FabrikError: it does.
    """
    if is_from_library(armature, collection, name):
        raise FabrikError(f"'{name}' comes from the library of '{armature.name}': it can be removed there only")
