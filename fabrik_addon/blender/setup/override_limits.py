# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: joint limits of bones, in a library override as a constraint, because Blender saves no IK limits there."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..rig.bone_limits import limits_of
from ..rig.overrides import BODY_LIMITS

if TYPE_CHECKING:
    from bpy.types import PoseBone

LIMIT_SETTINGS = tuple(f"{name}_{axis}" for name in ("lock_ik", "use_ik_limit", "ik_min", "ik_max") for axis in "xyz")
"""Properties of a pose bone."""


def limit_settings_of(bone: PoseBone) -> dict[str, bool | float]:
    """Return a bone's IK limits and IK locks by the names of its properties."""
    return {setting: getattr(bone, setting) for setting in LIMIT_SETTINGS}


@contextmanager
def kept_in_override(bone: PoseBone) -> Iterator[None]:
    """Move the IK limits that a bone gets inside to a constraint if its armature is a library override."""
    before = limit_settings_of(bone)
    yield
    if bone.id_data.override_library is None:
        return
    lower, upper = limits_of(bone, with_locks=False, with_constraints=False)
    for setting, value in before.items():
        setattr(bone, setting, value)
    former = bone.constraints.get(BODY_LIMITS)
    if former is not None:
        bone.constraints.remove(former)
    if not any(math.isfinite(angle) for angle in (*lower, *upper)):
        return
    constraint = bone.constraints.new('LIMIT_ROTATION')
    constraint.name, constraint.owner_space, constraint.mute = BODY_LIMITS, 'LOCAL', True
    for axis, low, high in zip("xyz", lower, upper, strict=True):
        if math.isfinite(low):
            setattr(constraint, f"use_limit_{axis}", True)
            setattr(constraint, f"min_{axis}", low)
            setattr(constraint, f"max_{axis}", high)
