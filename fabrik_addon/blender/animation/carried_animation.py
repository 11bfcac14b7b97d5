# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: what animates or drives one property of an object, made to do the same to another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bpy_extras.anim_utils import animdata_get_channelbag_for_assigned_slot

from .fcurves import read_keys, write_keys

if TYPE_CHECKING:
    from bpy.types import FCurve, Object


def driver_of(obj: Object, data_path: str) -> FCurve | None:
    """Return the driver of a property, or None."""
    return obj.animation_data.drivers.find(data_path) if obj.animation_data else None


def curve_of(obj: Object, data_path: str) -> FCurve | None:
    """Return the curve that animates a property in the object's action, or None."""
    bag = animdata_get_channelbag_for_assigned_slot(obj.animation_data)
    return bag.fcurves.find(data_path) if bag else None


def carry_driver(obj: Object, from_path: str, to_path: str) -> bool:
    """Let what drives a property drive another one to the same value; tell whether there was anything."""
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
    """Let what switches a property switch another one the other way; tell whether that could be done."""
    if not carry_driver(obj, from_path, to_path):
        return False
    copy = driver_of(obj, to_path)
    assert copy is not None  # just made
    modifiers: list[Any] = [modifier for modifier in copy.modifiers if not modifier.mute]
    if not modifiers and len(copy.keyframe_points):
        _invert_keys(copy)
        return True
    if not modifiers:
        polynomial: Any = copy.modifiers.new('GENERATOR')
        polynomial.poly_order = 1
        polynomial.coefficients = (1.0, -1.0)
        return True
    # A polynomial replaces what keys make of the driver's value.
    (polynomial, *others) = modifiers
    if others or polynomial.type != 'GENERATOR' or polynomial.mode != 'POLYNOMIAL' or polynomial.use_additive:
        obj.animation_data.drivers.remove(copy)
        return False
    constant, *higher = polynomial.coefficients
    polynomial.coefficients = (1.0 - constant, *(-factor for factor in higher))
    return True


def carry_curve(obj: Object, from_path: str, to_path: str, is_inverted: bool = False) -> bool:
    """Copy the keys of a property to another one; tell whether there were any.

    Args:
        obj: with both properties.
        from_path, to_path: their data paths.
        is_inverted: whether one switches off what the other switches on.
    """
    bag = animdata_get_channelbag_for_assigned_slot(obj.animation_data)
    curve = bag.fcurves.find(from_path) if bag else None
    if bag is None or curve is None:
        return False
    copy = bag.fcurves.find(to_path) or bag.fcurves.new(to_path)
    write_keys(copy, read_keys(curve))
    if is_inverted:
        _invert_keys(copy)
    copy.extrapolation, copy.mute = curve.extrapolation, False
    return True


def _invert_keys(curve: FCurve) -> None:
    keys = read_keys(curve)
    for name in ("co", "handle_left", "handle_right"):
        keys[name][:, 1] = 1.0 - keys[name][:, 1]
    write_keys(curve, keys)


def mute_curve(obj: Object, data_path: str) -> None:
    """Switch the curve that animates a property off, if it has one: or the next frame would undo what is set."""
    curve = curve_of(obj, data_path)
    if curve is not None:
        curve.mute = True


def mute_driver(obj: Object, data_path: str, mute: bool) -> None:
    """Switch the driver of a property off or on, if it has one."""
    driver = driver_of(obj, data_path)
    if driver is not None:
        driver.mute = mute
