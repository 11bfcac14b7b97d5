# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: joint limits of bones, in a library override as a constraint, because Blender saves no IK limits there."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..bones.bone_limits import limits_of
from ..bones.overrides import BODY_LIMITS

if TYPE_CHECKING:
    from bpy.types import PoseBone

LIMIT_SETTINGS = tuple(f"{name}_{axis}" for name in ("lock_ik", "use_ik_limit", "ik_min", "ik_max") for axis in "xyz")
"""Properties of a pose bone."""

_KEPT_SETTINGS = tuple(f"{name}_{axis}" for name in ("use_limit", "min", "max") for axis in "xyz")
"""Properties of the constraint that keeps a bone's limits in an override."""


def limit_settings_of(bone: PoseBone) -> dict[str, bool | float]:
    """Return a bone's IK limits and IK locks by the names of its properties."""
    return {setting: getattr(bone, setting) for setting in LIMIT_SETTINGS}


def limits_as_settings(bone: PoseBone) -> dict[str, bool | float]:
    """Return IK limits and IK locks by which another bone is limited as this one is, also where a constraint keeps it.

    Where the library of an override has limits too, the narrower ones count.
    """
    limits, kept = limit_settings_of(bone), bone.constraints.get(BODY_LIMITS)
    for axis in "xyz" if kept is not None else "":
        if getattr(kept, f"use_limit_{axis}") and not limits[f"lock_ik_{axis}"]:
            low, high = getattr(kept, f"min_{axis}"), getattr(kept, f"max_{axis}")
            if limits[f"use_ik_limit_{axis}"]:
                low, high = max(low, limits[f"ik_min_{axis}"]), min(high, limits[f"ik_max_{axis}"])
            limits[f"lock_ik_{axis}"], limits[f"use_ik_limit_{axis}"] = low == high == 0.0, True
            limits[f"ik_min_{axis}"], limits[f"ik_max_{axis}"] = low, high
    return limits


def all_limits_of(bone: PoseBone) -> dict[str, bool | float]:
    """Return a bone's IK limits and IK locks, and the limits that a constraint keeps, where there is one."""
    kept = bone.constraints.get(BODY_LIMITS)
    return limit_settings_of(bone) | ({} if kept is None else {name: getattr(kept, name) for name in _KEPT_SETTINGS})


def restore_limits(bone: PoseBone, limits: Mapping[str, bool | float]) -> None:
    """Give a bone limits that ``all_limits_of`` has returned."""
    for setting in LIMIT_SETTINGS:
        setattr(bone, setting, limits[setting])
    former = bone.constraints.get(BODY_LIMITS)
    if former is not None:
        bone.constraints.remove(former)
    kept = {setting: limits[setting] for setting in _KEPT_SETTINGS if setting in limits}
    if kept:
        constraint = bone.constraints.new('LIMIT_ROTATION')
        constraint.name, constraint.owner_space, constraint.mute = BODY_LIMITS, 'LOCAL', True
        for setting, value in kept.items():
            setattr(constraint, setting, value)


def is_narrower_in_library(bone: PoseBone) -> bool:
    """Tell whether the limits that an override has from its library, which stay, are narrower than the bone's own."""
    if bone.id_data.override_library is None:
        return False
    limits = all_limits_of(bone)
    lower, upper = limits_of(bone, with_locks=False, with_constraints=False)
    return any(
        math.isfinite(low)
        and (not limits.get(f"use_limit_{axis}") or low > limits[f"min_{axis}"] or high < limits[f"max_{axis}"])
        for axis, low, high in zip("xyz", lower, upper, strict=True)
    )


@contextmanager
def kept_in_override(bone: PoseBone) -> Iterator[None]:
    """Move the IK limits that a bone gets inside to a constraint if its armature is a library override.

    If it was one, and was made local, the bone's limits are its IK limits again, and the constraint is removed.
    """
    before = limit_settings_of(bone)
    yield
    if bone.id_data.override_library is None:
        restore_limits(bone, limit_settings_of(bone))
        return
    lower, upper = limits_of(bone, with_locks=False, with_constraints=False)
    limits: dict[str, bool | float] = {}
    for axis, low, high in zip("xyz", lower, upper, strict=True):
        if math.isfinite(low):
            limits |= {f"use_limit_{axis}": True, f"min_{axis}": low, f"max_{axis}": high}
    restore_limits(bone, before | limits)
