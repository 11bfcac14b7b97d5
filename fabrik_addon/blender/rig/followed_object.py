# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: the place and the rotation of a handle in the space of the object that it follows.

The place is in the object's own space, and so goes along with its scale. The rotation is beside the object's rotation
alone: with the whole matrix an object that is squashed after it was chosen would rotate the handle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mathutils import Matrix

from ..bones.rotation_channel import rotation_of

if TYPE_CHECKING:
    from bpy.types import Object


def offset_from(obj: Object, frame: Matrix) -> Matrix:
    """Return a frame in the world as the offset from an object at which it is now."""
    space, rotation = _space_of(obj)
    found = (rotation.inverted() @ frame.to_3x3()).to_4x4()
    found.translation = space.inverted_safe() @ frame.translation
    return found


def frame_at(obj: Object, offset: Matrix) -> Matrix:
    """Return the frame in the world that is at an offset from an object."""
    space, rotation = _space_of(obj)
    found = (rotation @ offset.to_3x3()).to_4x4()
    found.translation = space @ offset.translation
    return found


def _space_of(obj: Object) -> tuple[Matrix, Matrix]:
    """Return an object's matrix in the world and its rotation; of one with a scale of 0 that with scales of 1.

    The matrix has lost its rotation about axes of scale 0: it is that of the object's channels, beside its parent's.
    """
    world = obj.matrix_world
    if all(world.to_scale()[:]):
        return world, world.to_quaternion().to_matrix()
    rotation = rotation_of(obj)
    if obj.parent is not None:
        rotation = (obj.parent.matrix_world @ obj.matrix_parent_inverse).to_quaternion() @ rotation
    return Matrix.LocRotScale(world.to_translation(), rotation, None), rotation.to_matrix()
