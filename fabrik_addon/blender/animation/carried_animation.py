# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: the curve or the driver of one property of an object, copied to another property of the same object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bpy_extras.anim_utils import animdata_get_channelbag_for_assigned_slot

from ..rig.item_animation import bags_of, check_own
from .fcurves import read_keys, write_keys

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bpy.types import FCurve, Object

_OF_TIME = {'CYCLES', 'STEPPED'}
"""Types of modifiers that change the time at which a curve is evaluated, and at most add its own steps."""


def driver_of(obj: Object, data_path: str) -> FCurve | None:
    """Return the driver of a property, or None."""
    return obj.animation_data.drivers.find(data_path) if obj.animation_data else None


def curve_of(obj: Object, data_path: str) -> FCurve | None:
    """Return the curve that animates a property in the object's action, or None."""
    bag = animdata_get_channelbag_for_assigned_slot(obj.animation_data)
    return bag.fcurves.find(data_path) if bag else None


def carry_driver(obj: Object, from_path: str, to_path: str) -> bool:
    """Copy the driver of a property to another property; tell whether there was one.

    Args:
        obj: with both properties.
        from_path, to_path: their data paths. A driver that the second one has already is replaced.
    """
    driver = driver_of(obj, from_path)
    if driver is None:
        return False
    drivers = obj.animation_data.drivers
    old = drivers.find(to_path)
    if old is not None:
        drivers.remove(old)
    copy = drivers.from_existing(src_driver=driver)
    copy.data_path = to_path
    copy.mute = False
    return True


def carry_inverted_driver(obj: Object, from_path: str, to_path: str) -> bool:
    """Copy the driver of a property to another property, with the inverted value ``1 - v``; tell whether that is done.

    A driver's value ``v`` comes from its expression, then from the keys of its curve (where it has any), then from the
    curve's modifiers. So the inversion belongs to the last of these stages that is there: the coefficients of a
    generator ``c0 + c1 v + ...`` become ``1 - c0, -c1, ...``, keys are mirrored at 0.5, and where there are neither
    keys nor modifiers a generator ``1 - v`` is added. Other modifiers have no inverse: then no driver is copied.

    Args:
        obj: with both properties.
        from_path, to_path: their data paths.
    """
    if not carry_driver(obj, from_path, to_path):
        return False
    copy = driver_of(obj, to_path)
    assert copy is not None  # carry_driver has made it
    # Any: the stubs give modifiers of F-curves no attributes of their subtypes.
    modifiers: list[Any] = [modifier for modifier in copy.modifiers if not modifier.mute]
    if not modifiers and len(copy.keyframe_points):
        _invert_keys(copy)
        return True
    if not modifiers:
        polynomial: Any = copy.modifiers.new('GENERATOR')
        polynomial.poly_order = 1
        polynomial.coefficients = (1.0, -1.0)
        return True
    polynomial, *others = modifiers
    if others or polynomial.type != 'GENERATOR' or polynomial.mode != 'POLYNOMIAL' or polynomial.use_additive:
        obj.animation_data.drivers.remove(copy)
        return False
    constant, *higher = polynomial.coefficients
    polynomial.coefficients = (1.0 - constant, *(-factor for factor in higher))
    return True


def carry_curve(obj: Object, from_path: str, to_path: str, is_inverted: bool = False) -> bool:
    """Copy the curve of a property to another property; tell whether there was one.

    Args:
        obj: with both properties.
        from_path, to_path: their data paths. A curve that the second one has already is replaced.
        is_inverted: whether the copy's values are ``1 - v``; then ``can_carry_switch`` has to be true.
    """
    bag = animdata_get_channelbag_for_assigned_slot(obj.animation_data)
    curve = bag.fcurves.find(from_path) if bag else None
    if bag is None or curve is None:
        return False
    remove_curve(obj, to_path)
    copy = bag.fcurves.new_from_fcurve(curve, data_path=to_path)
    if is_inverted:
        _invert_keys(copy)
    copy.mute = False
    return True


def remove_curve(obj: Object, data_path: str) -> None:
    """Remove the curve that animates a property in the object's action, if there is one."""
    bag = animdata_get_channelbag_for_assigned_slot(obj.animation_data)
    curve = bag.fcurves.find(data_path) if bag else None
    if bag is not None and curve is not None:
        bag.fcurves.remove(curve)


def check_own_curves(obj: Object, data_paths: Iterable[str]) -> None:
    """Refuse to change the curves that properties have in the object's action, where others have them too.

    Raises:
        FabrikError: one of the properties has a curve there, and the action is linked or animates another object.
    """
    bag = animdata_get_channelbag_for_assigned_slot(obj.animation_data)
    if bag is not None and any(bag.fcurves.find(path) for path in data_paths):
        check_own(bag, obj.animation_data.action_slot, obj)


def can_carry_switch(obj: Object, data_path: str) -> bool:
    """Tell whether the curve of a property can be carried with inverted values, and NLA strips have none.

    Keys are mirrored at 0.5. Modifiers that repeat or hold the curve's values give the mirrored ones then.
    """
    curve = curve_of(obj, data_path)
    is_mirrored = curve is None or not (
        curve.sampled_points or any(not by.mute and by.type not in _OF_TIME for by in curve.modifiers)
    )
    return is_mirrored and not is_in_nla(obj, data_path)


def is_in_nla(obj: Object, data_path: str) -> bool:
    """Tell whether another action than the one at hand animates a property: that isn't carried.

    Those are the actions of NLA strips, also muted ones, as those that *Stash* makes, which are used again later; and
    while a strip is tweaked that of the object itself. Strips of the action at hand have its curves.
    """
    animation = obj.animation_data
    here = animdata_get_channelbag_for_assigned_slot(animation)
    bags = bags_of(animation) if animation is not None else ()
    return any(bag != here and bag.fcurves.find(data_path) is not None for bag in bags)


def _invert_keys(curve: FCurve) -> None:
    keys = read_keys(curve)
    for name in ("co", "handle_left", "handle_right"):
        keys[name][:, 1] = 1.0 - keys[name][:, 1]
    write_keys(curve, keys)


def mute_curve(obj: Object, data_path: str) -> None:
    """Mute the curve of a property, if there is one; unmuted it would overwrite the property at the next frame."""
    curve = curve_of(obj, data_path)
    if curve is not None:
        curve.mute = True


def mute_driver(obj: Object, data_path: str, mute: bool) -> None:
    """Mute or unmute the driver of a property, if there is one."""
    driver = driver_of(obj, data_path)
    if driver is not None:
        driver.mute = mute
