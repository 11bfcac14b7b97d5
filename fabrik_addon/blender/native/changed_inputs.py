# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: the inputs of a native rig that were changed on its modifier since it was made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mathutils import Quaternion

from ..rig.modifier_inputs import InputValue, group_inputs, input_value
from .custom_properties import MADE, SOLVER

if TYPE_CHECKING:
    from bpy.types import Object

    from ..rig.properties import FabrikChain

_SAME = 1e-5
"""Difference of two numbers that counts as none: inputs are in single precision, and rotations are rounded."""


def settings_as_inputs(settings: FabrikChain) -> dict[str, InputValue]:
    """Return the settings of a chain as inputs of its native rig, but for target and pole."""
    rotation = Quaternion(settings.rotation_offset[:]).normalized().to_euler()
    return {
        "Pole Angle": settings.pole_angle,
        # Without the last digits, which a person sees and which are rounding.
        "Rotation Offset": tuple(round(angle, 6) for angle in rotation[:]),
        "Stretch Max": settings.stretch_max,
        "Influence": settings.influence,
        "Softness": settings.softness,
    }


def changed_inputs(solver: Object | None, settings: FabrikChain) -> dict[str, InputValue]:
    """Return the inputs that were changed on a modifier by name, but for those whose setting was changed too.

    Args:
        solver: of the chain's native rig; None if it has none.
    """
    if solver is None or solver.get(MADE) is None or not solver.modifiers:
        return {}
    modifier, made = solver.modifiers[0], solver[MADE].to_dict()
    now = {item.name: input_value(modifier, item.identifier) for item in group_inputs(modifier) if item.name in made}
    wanted = settings_as_inputs(settings)
    for name, target, bone_name in (
        ("Target", settings.target, settings.subtarget),
        ("Pole", settings.pole_target, settings.pole_subtarget),
    ):
        wanted[name] = made[name] if name in made and _is_at(made[name], target, bone_name) else None
    return {
        name: value
        for name, value in now.items()
        if not _is_same(value, made[name]) and _is_same(wanted[name], made[name])
    }


def _is_at(goal: Object | None, target: Object | None, bone_name: str) -> bool:
    """Tell whether the object of an input is the one for a target."""
    if goal is not None and goal.get(SOLVER) is not None:
        return goal.parent == target and goal.parent_bone == bone_name
    return goal == target


def _is_same(one: InputValue, other: InputValue) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) < _SAME
    if isinstance(one, (tuple, list)) and isinstance(other, (tuple, list)):
        return all(map(_is_same, one, other))
    return one == other
