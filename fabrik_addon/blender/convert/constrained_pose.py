# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: the channels with which bones have given matrices once their IK constraints are muted.

Other constraints of the bones come before their channels are seen. Those of location and scale keep the rotation. A
constraint of scale with an influence e mixes the channel's scale s with its own t, ``r = (1 - e) s + e t``, axis by
axis: the s for a given r is found by the secant method, whatever e and t are. Without it the hind legs of Rigify's
posed cat moved by 37 mm, because stretched shins copy their scale with an influence of 0.75.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING

from mathutils import Matrix, Quaternion, Vector

from ..bones.bone_kinematics import basis_of, basis_with, pose_matrices, rotates_rigidly
from ..bones.overrides import is_active
from ..bones.rotation_channel import Channel, channel_for
from ..solving.write_channels import write_channels

if TYPE_CHECKING:
    from bpy.types import PoseBone, ViewLayer

_MOVED = 1e-6
"""Distance over a bone's length above which its location is written: less is single precision's rounding."""

_SCALED = 1e-5
"""Length of the difference of two scales above which a scale is written: less is single precision's rounding."""

_SAME_SCALE = 1e-6
"""Length of the difference of two scales at which the secant method ends."""

_SECANTS = 6
"""Bound on the steps of the secant method; r is linear in s, so that 2 are usual for each bone of a line."""

_LEAST_SECANT = 1e-3
"""Change of r over that of s below which a constraint leaves nothing of the channel: its influence is 1."""

_OF_LOCATION = {'COPY_LOCATION', 'LIMIT_LOCATION', 'LIMIT_DISTANCE'}

_OF_SCALE = {'COPY_SCALE', 'LIMIT_SCALE', 'MAINTAIN_VOLUME'}


def write_pose(
    view_layer: ViewLayer, bones: Sequence[PoseBone], stretched: Container[str], desired: Mapping[str, Matrix]
) -> list[tuple[PoseBone, Channel]]:
    """Write the channels with which bones have desired matrices, update the view layer, and return the old values.

    Args:
        bones: to be posed.
        stretched: names of bones of chains that Blender's IK may stretch: it changes location and scale of these alone.
        desired: matrices of all bones in armature space, by name.
    """
    channels: list[tuple[PoseBone, Channel]] = []
    scaled = []
    sheared: dict[str, Matrix] = {}
    for bone in sorted(bones, key=lambda bone: len(bone.parent_recursive)):
        others = {by.type for by in bone.constraints if is_active(by)} - {'IK', 'LIMIT_ROTATION'}
        if not others <= _OF_LOCATION | _OF_SCALE:
            continue  # the matrix has their rotation already: it would be applied twice
        above = bone.parent.name if bone.parent else ""
        parent = sheared.get(above, desired.get(above))
        basis = basis_of(bone, desired[bone.name], parent)
        location, rotation, scale = basis.decompose()
        keeps_shape = above not in sheared and rotates_rigidly(bone, parent)
        if not (others or bone.name in stretched or keeps_shape):
            rotation = _rotation_to_tail(bone, basis)
            (sheared[bone.name],) = pose_matrices([bone], [basis_with(bone, rotation, bone.scale)], above=parent)
        channels.append((bone, channel_for(bone, rotation)))
        if others and others <= _OF_SCALE:
            scaled.append(bone)
        if others or bone.name not in stretched:
            continue
        if (location - bone.matrix_basis.translation).length > _MOVED * bone.length and not bone.bone.use_connect:
            channels.append((bone, ("location", location[:])))
        # A bone without IK Stretch keeps its size below one that is stretched.
        if (scale - bone.scale).length > _SCALED:
            channels.append((bone, ("scale", scale[:])))
    old = write_channels(channels)
    view_layer.update()
    return old + _match_scales(view_layer, scaled, desired)


def _rotation_to_tail(bone: PoseBone, basis: Matrix) -> Quaternion:
    """Return the rotation with which a bone points to where its tail is with a basis ``B`` that no channels give.

    Blender's IK rotates a bone in armature space, also where its parent frame ``S`` is sheared or uneven. Then
    ``B = S^-1 M`` is no rotation times the bone's scale, and the parent's own end may be elsewhere: Y leads from where
    the head will be to the tail, and X is kept as far as it is perpendicular to that.
    """
    across = basis.to_3x3().col[0] * math.copysign(1.0, bone.scale.x)
    to_tail = basis @ Vector((0.0, bone.bone.length, 0.0)) - bone.matrix_basis.translation
    y = (to_tail * math.copysign(1.0, bone.scale.y)).normalized()
    x = (across - across.dot(y) * y).normalized()
    return Matrix((x[:], y[:], x.cross(y)[:])).transposed().to_quaternion()


def _match_scales(
    view_layer: ViewLayer, bones: Sequence[PoseBone], desired: Mapping[str, Matrix]
) -> list[tuple[PoseBone, Channel]]:
    """WRITE: the scales with which bones are scaled as in desired matrices after their constraints.

    Returns:
        the old values of the scales that were written. A scale that a constraint replaces altogether stays.
    """
    old = {bone.name: bone.scale.copy() for bone in bones}
    before: dict[str, tuple[Vector, Vector]] = {}
    pending = list(bones)
    for _ in range(_SECANTS):
        pending = [bone for bone in pending if _scale_left(bone, desired).length > _SAME_SCALE]
        if not pending:
            break
        for bone in pending:
            now, found = bone.scale.copy(), bone.matrix.to_scale()
            bone.scale = _next_scale(now, found, found + _scale_left(bone, desired), before.get(bone.name))
            before[bone.name] = now, found
        view_layer.update()
    for bone in pending:
        if _scale_left(bone, desired).length > _SCALED:
            bone.scale = old[bone.name]
    view_layer.update()
    return [(bone, ("scale", old[bone.name][:])) for bone in bones if bone.scale != old[bone.name]]


def _scale_left(bone: PoseBone, desired: Mapping[str, Matrix]) -> Vector:
    return desired[bone.name].to_scale() - bone.matrix.to_scale()


def _next_scale(now: Vector, found: Vector, wanted: Vector, before: tuple[Vector, Vector] | None) -> Vector:
    """Return the scale of the next step: of the secant through two steps, and first in proportion."""
    scale = now.copy()
    for axis in range(3):
        secant = found[axis] / now[axis] if now[axis] else 1.0
        if before is not None and abs(now[axis] - before[0][axis]) > 1e-9:
            secant = (found[axis] - before[1][axis]) / (now[axis] - before[0][axis])
        if abs(secant) > _LEAST_SECANT:
            scale[axis] = now[axis] + (wanted[axis] - found[axis]) / secant
    return scale
