# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: the curves and drivers of chains and handles, which Blender finds by the places of these in their lists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar, cast

import bpy
from bpy_extras.anim_utils import action_get_channelbag_for_slot

from ...core import FabrikError

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
    of_items = re.compile(rf"{re.escape(collection)}\[(\d+)\](.*)")
    owners: list[AnimDataDrivers | ActionChannelbagFCurves] = [] if animation is None else [animation.drivers]
    for bag, slot in bags_of(animation).items() if animation is not None else ():
        if any(index >= first for _, index, _ in _animated(bag.fcurves, of_items)):
            check_own(bag, slot, armature)
            owners.append(bag.fcurves)
    owners += [bag.fcurves for bag in _unused_bags(armature, collection, of_items)]
    before = [item.name for item in armature.path_resolve(collection)]
    yield renamed
    items = armature.path_resolve(collection)
    after = [renamed.get(name, name) for name in before]
    for source, index, setting in _animated(_driver_sources(armature), of_items):
        if index < len(before):
            place: int | str = items.find(after[index])
            if place == -1:  # as of a constraint that is removed, the path leads nowhere, and not to the next item
                place = f'"{bpy.utils.escape_identifier(before[index])}"'
            source.data_path = f"{collection}[{place}]{setting}"
    for curves in owners:
        for curve, index, setting in _animated(curves, of_items):
            place = items.find(after[index]) if index < len(after) else index
            if place == -1:
                curves.remove(curve)
            elif place != index:
                curve.data_path = f"{collection}[{place}]{setting}"


def _animated(owners: Iterable[_WithPath], of_items: re.Pattern[str]) -> list[tuple[_WithPath, int, str]]:
    """Return the curves or driver sources of items, with the items' indices and the rest of the data paths."""
    found = ((owner, of_items.fullmatch(owner.data_path)) for owner in owners)
    return [(owner, int(path[1]), path[2]) for owner, path in found if path]


def _driver_sources(armature: Object) -> Iterator[DriverTarget]:
    """Yield what the drivers in the file read from an armature object; Blender finds the drivers of items alone."""
    for _, curve in _drivers():
        for variable in curve.driver.variables:
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


def _unused_bags(armature: Object, collection: str, of_items: re.Pattern[str]) -> Iterator[ActionChannelbag]:
    """Yield the channelbags with curves of items that nothing uses, where only one object has items in a collection.

    An action that isn't assigned at present animates these items when it is used again. Where several objects have such
    items nothing tells whose its curves are: slots keep the names of objects that were renamed.
    """
    if any(other != armature and other.path_resolve(collection) for other in bpy.data.objects):
        return
    for action in (action for action in bpy.data.actions if action.is_editable):
        for slot in action.slots:
            bag = action_get_channelbag_for_slot(action, slot)
            if bag is not None and _animated(bag.fcurves, of_items) and not _users_of(bag, slot):
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
