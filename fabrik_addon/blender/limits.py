# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: joint limits from what riggers set on bones: IK limits, locks and stiffness, rotation locks, Limit Rotation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .channels import rotation_locks
from .overrides import is_limit

if TYPE_CHECKING:
    from bpy.types import PoseBone

Angles = tuple[float, float, float]

_STILL = 1e-6
"""Angle below which a locked channel is at rest, so that its lock is a limit about the same axis."""


def limits_of(bone: PoseBone, with_locks: bool = True) -> tuple[Angles, Angles]:
    """Return the smallest and largest angles (radians) of a bone's own rotation about x, y, z; infinite where free.

    Args:
        bone: the bone.
        with_locks: whether rotation locks at rest are limits about the same axes, or left to who keeps to locks anyway.
    """
    lower, upper = [-math.inf] * 3, [math.inf] * 3

    def narrow(axis: int, low: float, high: float) -> None:
        lower[axis], upper[axis] = max(lower[axis], low), min(upper[axis], high)

    for axis, name in enumerate("xyz"):
        if getattr(bone, f"lock_ik_{name}"):
            narrow(axis, 0.0, 0.0)
        elif getattr(bone, f"use_ik_limit_{name}"):
            narrow(axis, getattr(bone, f"ik_min_{name}"), getattr(bone, f"ik_max_{name}"))
    for axis in _resting_locks(bone) if with_locks else ():
        narrow(axis, 0.0, 0.0)
    for constraint in bone.constraints:
        if is_limit(constraint):
            for axis, name in enumerate("xyz"):
                if getattr(constraint, f"use_limit_{name}"):
                    narrow(axis, getattr(constraint, f"min_{name}"), getattr(constraint, f"max_{name}"))
    for axis in range(3):
        # Ranges that don't meet: the one that was narrowed last counts, as it would in Blender's stack.
        lower[axis] = min(lower[axis], upper[axis])
    return (lower[0], lower[1], lower[2]), (upper[0], upper[1], upper[2])


def stiffness_of(bone: PoseBone) -> Angles:
    """Return how stiff a bone is about its x, y and z, 0 to 0.99."""
    return bone.ik_stiffness_x, bone.ik_stiffness_y, bone.ik_stiffness_z


def _resting_locks(bone: PoseBone) -> list[int]:
    """Return the axes whose rotation is locked at rest; a lock elsewhere is no limit about one axis."""
    if any(abs(angle) > _STILL for angle in bone.matrix_basis.to_euler()[:]):
        return []
    return [axis for axis, is_locked in enumerate(rotation_locks(bone)) if is_locked]
