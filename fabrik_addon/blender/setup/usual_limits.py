# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: usual joint limits into the properties that Blender's own IK has on bones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mathutils import Vector

if TYPE_CHECKING:
    from bpy.types import PoseBone

HINGES = {'ELBOW': 150.0, 'KNEE': 150.0, 'FINGER': 110.0}
"""Degrees by which a hinge bends, to one side."""

BALLS = {'SHOULDER': (90.0, 70.0), 'HIP': (75.0, 40.0), 'NECK': (40.0, 60.0)}
"""Degrees of swing to all sides, and of twist to both."""

_NAMES = "xyz"


def limit_joint(bone: PoseBone, joint: str) -> None:
    """Give a bone the limits of a usual joint, one of ``HINGES`` or ``BALLS``."""
    if joint in HINGES:
        axis, side = hinge_of(bone)
        bend = math.radians(HINGES[joint])
        for other in range(3):
            setattr(bone, f"lock_ik_{_NAMES[other]}", other != axis)
        _set_range(bone, axis, min(0.0, side * bend), max(0.0, side * bend))
        return
    swing, twist = (math.radians(angle) for angle in BALLS[joint])
    for axis, angle in enumerate((swing, twist, swing)):
        setattr(bone, f"lock_ik_{_NAMES[axis]}", False)
        _set_range(bone, axis, -angle, angle)


def free_joint(bone: PoseBone) -> None:
    """Take a bone's limits away."""
    for name in _NAMES:
        setattr(bone, f"lock_ik_{name}", False)
        setattr(bone, f"use_ik_limit_{name}", False)


def hinge_of(bone: PoseBone) -> tuple[int, float]:
    """Return the axis, x or z, about which a bone is bent against its parent, and to which side; x and + if straight.

    At rest first: that is how riggers say which way an elbow bends. Where it is straight there, as posed now.
    """
    parent = bone.parent
    if parent is not None:
        for own, before in ((bone.bone.matrix_local, parent.bone.matrix_local), (bone.matrix, parent.matrix)):
            frame = own.to_3x3().normalized()
            bend = (before.to_3x3().normalized() @ Vector((0.0, 1.0, 0.0))).cross(frame.col[1])
            about_x, about_z = bend.dot(frame.col[0]), bend.dot(frame.col[2])
            if max(abs(about_x), abs(about_z)) > 1e-3:
                return (
                    (0, math.copysign(1.0, about_x))
                    if abs(about_x) >= abs(about_z)
                    else (
                        2,
                        math.copysign(1.0, about_z),
                    )
                )
    return 0, 1.0


def _set_range(bone: PoseBone, axis: int, low: float, high: float) -> None:
    name = _NAMES[axis]
    setattr(bone, f"use_ik_limit_{name}", True)
    setattr(bone, f"ik_min_{name}", low)
    setattr(bone, f"ik_max_{name}", high)
