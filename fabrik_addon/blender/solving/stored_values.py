# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Blender resets as it evaluates an animation, stored with its present values and restored bit for bit.

An animation that is evaluated, at another frame or anew at the same one, overwrites whatever was edited without a key:
channels of bones, custom properties, influences of constraints, the energy of a light.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias  # Any: objects of every type have animated properties

import bpy

from ..rig.dependencies import evaluated_data
from ..rig.item_animation import bags_of

if TYPE_CHECKING:
    from bpy.types import ID, FCurve, Object, ViewLayer

TRANSFORM_CHANNELS = ("location", "rotation_quaternion", "rotation_axis_angle", "rotation_euler", "scale")

Property: TypeAlias = tuple["ID", str]
"""A property, by the data-block that has it and its data path: what a path leads to survives Edit mode."""

_Value: TypeAlias = bool | int | float | str | set[str] | tuple[float, ...]

_LAST_NAME = re.compile(r'(\w+)$|\["((?:[^"\\]|\\.)*)"\]$')
"""At the end of a data path: the name of a property, or of a custom property in brackets."""


@dataclass(frozen=True)
class StoredValues:
    """The values of properties at one moment."""

    values: dict[Property, _Value]

    def restore(self, but: Container[Property] = ()) -> None:
        """WRITE: set every property that has changed to its stored value.

        Args:
            but: properties to leave as they are now.
        """
        changed = {
            (owner, path): old
            for (owner, path), old in self.values.items()
            if (owner, path) not in but and _read(owner, path) != old
        }
        for (owner, path), old in changed.items():
            _write(owner, path, old)
        for owner in {owner for owner, _ in changed}:
            owner.update_tag()  # custom properties don't tag what depends on them


def store_values(view_layer: ViewLayer, objects: Iterable[Object]) -> StoredValues:
    """READ: store whatever is animated in an evaluated view layer, and the channels of objects and of their bones.

    Args:
        view_layer: updated.
        objects: whose channels are stored whether or not they are animated.
    """
    return _store(_evaluated(view_layer), objects)


@contextmanager
def kept_values(view_layer: ViewLayer) -> Iterator[None]:
    """WRITE: keep what is keyed, and channels, where constraints, drivers and curves are made or removed.

    After such a change Blender evaluates the animation of the present frame at the next update, also that of other
    objects with the same action, over all that was edited and not keyed. So this update is done at the end, and what it
    overwrites is restored: what was edited before, and what was written here. Nothing inside may update the view layer,
    and whoever writes channels then updates it again.
    """
    view_layer.update()  # until then it has data-blocks that were removed
    owners = _evaluated(view_layer)
    try:
        yield
    finally:
        stored = _store(owners, [obj for obj in view_layer.objects if obj.animation_data is not None])
        view_layer.update()
        stored.restore()


def _evaluated(view_layer: ViewLayer) -> set[ID]:
    depsgraph = view_layer.depsgraph
    assert depsgraph is not None  # the view layer was updated
    return evaluated_data(depsgraph)


def _store(owners: Iterable[ID], objects: Iterable[Object]) -> StoredValues:
    """Store what is animated of data-blocks, and the channels of objects and of their bones."""
    animated = [(owner, curve.data_path) for owner in owners for curve in curves_of(owner)]
    prefixes = (
        (obj, prefix)
        for obj in objects
        for prefix in ("", *(f"{bone.path_from_id()}." for bone in (obj.pose.bones if obj.pose else ())))
    )
    channels = ((obj, prefix + name) for obj, prefix in prefixes for name in TRANSFORM_CHANNELS)
    return StoredValues(_stored([*animated, *channels]))


def _stored(properties: Iterable[Property]) -> dict[Property, _Value]:
    found = {(owner, path): _read(owner, path) for owner, path in set(properties)}
    return {key: value for key, value in found.items() if value is not None}


def curves_of(owner: ID) -> Iterator[FCurve]:
    """Yield the curves of a data-block in its action and its NLA strips, but not those that are muted."""
    animation = getattr(owner, "animation_data", None)
    for bag in bags_of(animation) if animation else ():
        yield from (curve for curve in bag.fcurves if not curve.mute)


def _read(owner: ID, path: str) -> _Value | None:
    """Return the value of a property; None where there is none by this path, or none that curves can animate.

    A curve may be left of a custom property that is a text or an object now.
    """
    try:
        holder, name, is_custom = _holder(owner, path)
        # Not path_resolve: it returns custom properties, which are in double precision, in single precision.
        value = holder[name] if is_custom else getattr(holder, name)
        found = value if isinstance(value, (bool, int, float, str, set)) else tuple(value)
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    is_value = not isinstance(found, tuple) or all(isinstance(one, (bool, int, float)) for one in found)
    return found if is_value else None


def _write(owner: ID, path: str, value: _Value) -> None:
    holder, name, is_custom = _holder(owner, path)
    if not is_custom:
        setattr(holder, name, value)
    elif isinstance(value, tuple):
        holder[name][:] = value
    else:
        holder[name] = value


def _holder(owner: ID, path: str) -> tuple[Any, str, bool]:
    """Return what has a property, its name there, and whether it is a custom property.

    Raises:
        ValueError: there is no property by this path.
    """
    found = _LAST_NAME.search(path)
    if found is None:
        raise ValueError(path)
    holder = owner.path_resolve(path, False).data
    return (holder, found[1], False) if found[1] else (holder, bpy.utils.unescape_identifier(found[2]), True)
