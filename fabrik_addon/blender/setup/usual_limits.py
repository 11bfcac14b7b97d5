# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: usual joint limits into the properties that Blender's own IK has on bones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mathutils import Matrix, Vector

if TYPE_CHECKING:
    from bpy.types import PoseBone

HINGES = {'ELBOW': 150.0, 'KNEE': 150.0, 'FINGER': 110.0}
"""Range of a hinge joint in degrees, from the straight joint to its full bend; the other two axes are locked."""

BALLS = {
    'SHOULDER': (90.0, 70.0),
    'CLAVICLE': (30.0, 35.0),
    'WRIST': (75.0, 80.0),
    'SPINE': (18.0, 15.0),
    'NECK': (40.0, 60.0),
    'HIP': (75.0, 40.0),
    'ANKLE': (35.0, 25.0),
    'TAIL': (30.0, 15.0),
}
"""Ranges of a ball joint in degrees: of the swing to all sides, and of the twist to both sides.

One swing for all sides is the mean of the ranges to two opposite ones: which axis of a bone is that of flexion depends
on its roll. The ranges are those of the American Academy of Orthopaedic Surgeons (Joint Motion, 1965):

- Wrist: flexion 80, extension 70; the twist is the forearm's pronation 80 and supination 80, which rigs give the hand.
- Ankle: plantar flexion 50, dorsiflexion 20; inversion 35, eversion 15.
- Hip: flexion 120, extension 30.
- Spine: thoracic and lumbar together flexion 80, extension 25, rotation 45; divided by three, the bones of a usual rig.

Clavicle: elevation 45, depression 10, protraction and retraction 30, posterior rotation 20 to 35 (Neumann, Kinesiology
of the Musculoskeletal System). Tail: chosen, not measured; six bones bend by 180 degrees in all.
"""

_IK_AXES = "xyz"

_BONE_AXIS = Vector((0.0, 1.0, 0.0))
"""Direction of a bone in its own frame."""

_NEARLY_STRAIGHT = 0.05
"""Bend at rest (radians) up to which the bend of an elbow may be an accident of modelling."""

_STRAIGHT_HINGE = 1e-3
"""Sine of the bend about the bone's x and z axes below which the joint counts as straight."""


def limit_joint(bone: PoseBone, joint: str, toward: Vector | None = None, shared_by: int = 1) -> None:
    """Set a bone's IK limits to those of a usual joint.

    Args:
        bone: whose limits are set.
        joint: a key of ``HINGES`` or ``BALLS``.
        toward: direction in armature space to which a straight hinge bends (``hinge_of``).
        shared_by: number of bones among which the range of a ball joint is divided.
    """
    if joint in HINGES:
        axis, side = hinge_of(bone, toward)
        bend = math.radians(HINGES[joint])
        for other in range(3):
            setattr(bone, f"lock_ik_{_IK_AXES[other]}", other != axis)
        _set_range(bone, axis, min(0.0, side * bend), max(0.0, side * bend))
        return
    swing, twist = (math.radians(angle) / shared_by for angle in BALLS[joint])
    for axis, angle in enumerate((swing, twist, swing)):
        setattr(bone, f"lock_ik_{_IK_AXES[axis]}", False)
        _set_range(bone, axis, -angle, angle)


def limit_hinge_between(bone: PoseBone, bent: float, straight: float) -> None:
    """Make a bone's joint a hinge between two angles, those between the parent and the bone in degrees.

    Limits are counted from the rest pose: a joint that is bent by rest can be straightened by what is left.
    """
    axis, side = hinge_of(bone)
    for other in range(3):
        setattr(bone, f"lock_ik_{_IK_AXES[other]}", other != axis)
    rest = 180.0
    if bone.parent is not None:
        lines = (each.bone.tail_local - each.bone.head_local for each in (bone.parent, bone))
        rest -= math.degrees(next(lines).angle(next(lines), 0.0))
    flexion, extension = (math.radians(max(0.0, angle)) for angle in (rest - bent, straight - rest))
    _set_range(bone, axis, -(extension if side > 0.0 else flexion), flexion if side > 0.0 else extension)


def free_joint(bone: PoseBone) -> None:
    """Disable a bone's IK limits and locks."""
    for name in _IK_AXES:
        setattr(bone, f"lock_ik_{name}", False)
        setattr(bone, f"use_ik_limit_{name}", False)


def hinge_of(bone: PoseBone, toward: Vector | None = None) -> tuple[int, float]:
    """Return the axis (0 is x, 2 is z) about which a bone is bent against its parent, and the sign of the bend.

    The axis is the own x or z axis nearest to ``p x y``, the product of the parent's direction and the bone's. The rest
    pose comes first: riggers build elbows and knees with a slight bend in the direction of their hinge. Where the joint
    is straight at rest the present pose decides; where it is straight there too the hinge is +x. With a direction
    ``t`` to bend to, a joint that is straight at rest within ``_NEARLY_STRAIGHT`` has the axis nearest to ``y x t``.
    """
    parent = bone.parent
    if toward is not None:
        frame, along_parent = _frames_at_rest(bone)
        if along_parent.angle(frame @ _BONE_AXIS) <= _NEARLY_STRAIGHT:
            about_x, about_z = _about_axes(frame, frame @ _BONE_AXIS, toward)
            return _nearest(about_x, about_z)
    if parent is not None:
        for own, before in ((bone.bone.matrix_local, parent.bone.matrix_local), (bone.matrix, parent.matrix)):
            frame = own.to_3x3().normalized()
            about_x, about_z = _about_axes(frame, before.to_3x3().normalized() @ _BONE_AXIS, frame @ _BONE_AXIS)
            if max(abs(about_x), abs(about_z)) > _STRAIGHT_HINGE:
                return _nearest(about_x, about_z)
    return 0, 1.0


def _frames_at_rest(bone: PoseBone) -> tuple[Matrix, Vector]:
    """Return a bone's frame at rest and the direction of its parent, its own if it has none, in armature space."""
    frame = bone.bone.matrix_local.to_3x3().normalized()
    above = bone.bone if bone.parent is None else bone.parent.bone
    return frame, above.matrix_local.to_3x3().normalized() @ _BONE_AXIS


def _about_axes(frame: Matrix, before: Vector, after: Vector) -> tuple[float, float]:
    """Return the components of ``before x after`` along the x and z axes of a frame."""
    bend = before.cross(after)
    return bend.dot(frame.col[0]), bend.dot(frame.col[2])


def _nearest(about_x: float, about_z: float) -> tuple[int, float]:
    """Return the axis (0 is x, 2 is z) with the larger component, and its sign."""
    is_x = abs(about_x) >= abs(about_z)
    return (0, math.copysign(1.0, about_x)) if is_x else (2, math.copysign(1.0, about_z))


def _set_range(bone: PoseBone, axis: int, low: float, high: float) -> None:
    name = _IK_AXES[axis]
    setattr(bone, f"use_ik_limit_{name}", True)
    setattr(bone, f"ik_min_{name}", low)
    setattr(bone, f"ik_max_{name}", high)
