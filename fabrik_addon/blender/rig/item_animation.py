# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: the curves and drivers of chains and handles, which Blender finds by the places of these in their lists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar, cast

import bpy
from bpy_extras.anim_utils import action_get_channelbag_for_slot

from ...core import FabrikError
from .library_items import loses_drivers
from .properties import forget_places

if TYPE_CHECKING:
    from bpy.types import (
        ID,
        Action,
        ActionChannelbag,
        ActionChannelbagFCurves,
        ActionSlot,
        AnimData,
        AnimDataDrivers,
        DriverTarget,
        FCurve,
        NlaStrip,
        Object,
    )

_WithPath = TypeVar("_WithPath", "FCurve", "DriverTarget")
"""What has a data path."""


class _ItemPath(NamedTuple, Generic[_WithPath]):
    """What has a data path to an item of a collection."""

    holder: _WithPath
    place: int | None
    """Index of the item; None where the path has its name instead, which Blender evaluates too."""
    name: str | None
    """Of the item; None where the index is beyond the items."""
    setting: str
    """The rest of the path."""


@contextmanager
def animation_goes_along(armature: Object, collection: str, first: int = 0) -> Iterator[dict[str, str]]:
    """Let curves and drivers go with the items that are moved in a collection inside, and remove those of removed ones.

    Items are known by their names, those that are renamed inside by the names that the dictionary has for the former
    ones. The curves are those of the action and of NLA strips, in the object's slots, and of actions that nothing uses
    at present. What drivers of other properties read goes along too.

    Args:
        armature: object.
        collection: its path from the object, "fabrik.chains".
        first: index of the first item that is removed or moved.

    Raises:
        FabrikError: an action with curves of these items is linked, or animates another object too; then nothing has
            changed.
    """
    animation, renamed = armature.animation_data, dict[str, str]()
    before = [item.name for item in armature.path_resolve(collection)]
    owners: list[AnimDataDrivers | ActionChannelbagFCurves] = [] if animation is None else [animation.drivers]
    for bag, slot in bags_of(animation).items() if animation is not None else ():
        paths = _item_paths(bag.fcurves, collection, before)
        if any(path.place is not None and path.place >= first for path in paths):
            check_own(bag, slot, armature)
            owners.append(bag.fcurves)
    owners += [bag.fcurves for bag in _unused_bags(armature, collection)]
    yield renamed
    items = armature.path_resolve(collection)
    for curves in owners:
        for path in _item_paths(curves, collection, before):
            if path.place is None or path.name is None:
                continue
            if items.find(renamed.get(path.name, path.name)) == -1:
                curves.remove(path.holder)
    _lead_to_items(armature, collection, before, renamed, owners)
    forget_places(armature)


def follow_library(armature: Object, collection: str, before: Sequence[str], renamed: Mapping[str, str]) -> None:
    """WRITE: curves and drivers of a library override's items, which its library has put into other places.

    The path to an item that is gone has its name: it leads nowhere until there is an item of the name again. Actions
    that are linked or animate other objects too stay as they are, and so do the drivers that come from the library.

    Args:
        armature: the override.
        collection: its path from the object, "fabrik.chains".
        before: names of the items in the places that the paths mean.
        renamed: the names of items that were renamed since, by those before.
    """
    animation = armature.animation_data
    owners: list[AnimDataDrivers | ActionChannelbagFCurves] = []
    if animation is not None:
        owners += [] if loses_drivers(armature) else [animation.drivers]
        for bag, slot in bags_of(animation).items():
            with suppress(FabrikError):
                check_own(bag, slot, armature)
                owners.append(bag.fcurves)
    owners += [bag.fcurves for bag in _unused_bags(armature, collection)]
    _lead_to_items(armature, collection, before, renamed, owners)


def _lead_to_items(
    armature: Object,
    collection: str,
    before: Sequence[str],
    renamed: Mapping[str, str],
    owners: Iterable[AnimDataDrivers | ActionChannelbagFCurves],
) -> None:
    """WRITE: the paths to items, with the indices that these have now, or the names of those that are gone.

    The path to an item that is back keeps its name where another one, that was keyed anew, has its index.

    Args:
        before: names of the items in the places that the paths mean.
        renamed: the names of items that were renamed since, by those before.
        owners: of curves; what drivers in the file read goes along too.
    """
    items = armature.path_resolve(collection)

    def paths_now(holders: Iterable[_WithPath]) -> Iterator[tuple[_ItemPath[_WithPath], str]]:
        for path in _item_paths(holders, collection, before):
            if path.name is None:
                continue
            key: int | str = items.find(path.name if path.place is None else renamed.get(path.name, path.name))
            if key == -1:  # as of a constraint that is removed, the path leads nowhere, and not to the next item
                key = f'"{bpy.utils.escape_identifier(path.name)}"'
            yield path, f"{collection}[{key}]{path.setting}"

    for source, now in paths_now(_driver_sources(armature)):
        if source.holder.data_path != now:
            source.holder.data_path = now
    for curves in owners:
        found = list(paths_now(curves))
        by_index = {now for path, now in found if path.place is not None}
        for path, now in found:
            if path.holder.data_path != now and (path.place is not None or now not in by_index):
                path.holder.data_path = now


def _item_paths(holders: Iterable[_WithPath], collection: str, names: Sequence[str]) -> list[_ItemPath[_WithPath]]:
    """Return those of some curves or driver sources that have a path to an item.

    Args:
        collection: its path from the object.
        names: of its items in the places that the paths mean.
    """
    of_items = re.compile(rf'{re.escape(collection)}\[(?:(\d+)|"((?:[^"\\]|\\.)*)")\](.*)')
    found = []
    for holder in holders:
        if path := of_items.fullmatch(holder.data_path):
            digits, quoted, setting = path.groups()
            place = None if digits is None else int(digits)
            if place is None:
                found.append(_ItemPath(holder, None, bpy.utils.unescape_identifier(quoted), setting))
            else:
                found.append(_ItemPath(holder, place, names[place] if place < len(names) else None, setting))
    return found


def _driver_sources(armature: Object) -> Iterator[DriverTarget]:
    """Yield what the drivers in the file read from an armature object; Blender finds the drivers of items alone.

    The drivers that a library override has from its library aren't among them: they are right there.
    """
    for block, curve in _drivers():
        for variable in () if loses_drivers(block) else curve.driver.variables:
            yield from (source for source in variable.targets if source.id == armature)


def _drivers() -> Iterator[tuple[ID, FCurve]]:
    """Yield the drivers in the file that can be changed, with their data-blocks."""
    kinds = [one.identifier for one in bpy.data.bl_rna.properties if one.type == 'COLLECTION']
    for block in (block for kind in kinds for block in getattr(bpy.data, kind) if block.is_editable):
        for owner in (block, getattr(block, "node_tree", None)):
            animation = getattr(owner, "animation_data", None)
            yield from ((block, curve) for curve in (animation.drivers if animation is not None else ()))


def bags_of(animation: AnimData) -> dict[ActionChannelbag, ActionSlot]:
    """Return the channelbags of a data-block's action and NLA strips, each once, with its slot.

    While a strip is tweaked its action is the one at hand, and the data-block's own is stored beside it.
    """
    strips = [strip for track in animation.nla_tracks for strip in with_inner_strips(track.strips)]
    users: list[AnimData | NlaStrip] = [animation, *strips]
    assigned = [(user.action, user.action_slot) for user in users]
    own, handle = animation.action_tweak_storage, animation.action_slot_handle_tweak_storage
    assigned += [(own, slot) for slot in (own.slots if own is not None else ()) if slot.handle == handle]
    found: dict[ActionChannelbag, ActionSlot] = {}
    for action, slot in assigned:
        bag = action_get_channelbag_for_slot(action, slot)
        if bag is not None:
            found[bag] = slot
    return found


def _unused_bags(armature: Object, collection: str) -> Iterator[ActionChannelbag]:
    """Yield the channelbags with curves of items that nothing uses, where only one object has items in a collection.

    An action that isn't assigned at present animates these items when it is used again. Where several objects have such
    items nothing tells whose its curves are: slots keep the names of objects that were renamed.
    """
    override = armature.override_library
    own = {armature, None if override is None else override.reference}
    if any(other not in own and other.path_resolve(collection) for other in bpy.data.objects):
        return
    for action in (action for action in bpy.data.actions if action.is_editable):
        for slot in action.slots:
            bag = action_get_channelbag_for_slot(action, slot)
            if bag is not None and _item_paths(bag.fcurves, collection, ()) and not _users_of(bag, slot):
                yield bag


def _users_of(bag: ActionChannelbag, slot: ActionSlot) -> list[ID]:
    """Return what a slot with a channelbag animates, and what it animates once no strip is tweaked any more.

    Blender doesn't count the latter as users.
    """
    tweaked = [(obj, obj.animation_data) for obj in bpy.data.objects if obj.animation_data is not None]
    return [*slot.users(), *(obj for obj, data in tweaked if data.use_tweak_mode and bag in bags_of(data))]


def with_inner_strips(strips: Iterable[NlaStrip]) -> Iterator[NlaStrip]:
    """Yield NLA strips, and those in meta strips."""
    for strip in strips:
        yield strip
        yield from with_inner_strips(strip.strips)


def check_not_linked(action: Action, obj: Object) -> None:
    """Refuse to change an object's action that is linked.

    Raises:
        FabrikError: it is.
    """
    if action.library is not None:
        raise FabrikError(f"Action '{action.name}' of '{obj.name}' is linked: give the object one of its own")


def check_own(bag: ActionChannelbag, slot: ActionSlot, obj: Object) -> None:
    """Refuse to change the curves that an object has in a slot of an action, where others have them too.

    Raises:
        FabrikError: the action is linked, or its slot animates another object.
    """
    action = cast("Action", bag.id_data)
    check_not_linked(action, obj)
    other = next((user for user in _users_of(bag, slot) if user != obj), None)
    if other is not None:
        raise FabrikError(
            f"Action '{action.name}' of '{obj.name}' animates '{other.name}' too: give the object one of its own"
        )


def revive_drivers() -> None:
    """Let drivers be evaluated again that failed because settings of chains and handles weren't there.

    Blender passes over a driver that has failed once until the file is loaded again. Where the extension was disabled
    and enabled again, as it is to be updated, objects that were driven by chains stayed at 0.
    """
    for block, curve in _drivers():
        read = [source.data_path for variable in curve.driver.variables for source in variable.targets]
        if not curve.driver.is_valid and any(path.startswith("fabrik.") for path in (curve.data_path, *read)):
            curve.driver.is_valid = True
            block.update_tag()


def register() -> None:
    # The extension may be enabled while a file is open: bpy.data can be read only after registering.
    bpy.app.timers.register(revive_drivers, first_interval=0.0)


def unregister() -> None:
    if bpy.app.timers.is_registered(revive_drivers):
        bpy.app.timers.unregister(revive_drivers)
