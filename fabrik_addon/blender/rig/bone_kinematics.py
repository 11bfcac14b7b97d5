# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Forward kinematics of pose bones as Blender does it: from channels to matrices, without an update. Computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mathutils import Matrix, Quaternion, Vector

if TYPE_CHECKING:
    from bpy.types import PoseBone

_SHEAR = 1e-4
"""Cosine between two axes, or difference of their squared lengths, that counts as rounding: Rigify's horse has 5e-5."""


def pose_matrices(bones: Sequence[PoseBone], bases: Sequence[Matrix]) -> list[Matrix]:
    """Return where bones are, in armature space, when their channels say what the given matrices say.

    Args:
        bones: each the child of the one before; the first one's parent is where it was evaluated last.
        bases: what the bones' location, rotation and scale channels make together, ``PoseBone.matrix_basis``.
    """
    matrices: list[Matrix] = []
    parent = bones[0].parent.matrix if bones[0].parent else None
    for pose_bone, basis in zip(bones, bases, strict=True):
        parent = _to_pose(pose_bone, basis, parent)
        matrices.append(parent)
    return matrices


def matrix_under(bone: PoseBone, basis: Matrix, parent_matrix: Matrix | None) -> Matrix:
    """Return where a bone is, in armature space, when its channels make a matrix and its parent is somewhere."""
    return _to_pose(bone, basis, parent_matrix)


def parent_space(bone: PoseBone, parent_matrix: Matrix | None) -> Matrix:
    """Return the matrix that a bone's own rotation and scale are multiplied with, given where its parent is."""
    return _to_pose(bone, Matrix(), parent_matrix).to_3x3()


def _to_pose(pose_bone: PoseBone, basis: Matrix, parent_matrix: Matrix | None, invert: bool = False) -> Matrix:
    bone = pose_bone.bone
    if parent_matrix is None:
        return bone.convert_local_to_pose(basis, bone.matrix_local, invert=invert)
    return bone.convert_local_to_pose(
        basis,
        bone.matrix_local,
        parent_matrix=parent_matrix,
        parent_matrix_local=bone.parent.matrix_local,
        invert=invert,
    )


def location_at(bone: PoseBone, head: Vector) -> Vector:
    """Return the location channel that puts a bone's head at a place in armature space."""
    matrix = bone.matrix.copy()
    matrix.translation = head
    return _to_pose(bone, matrix, bone.parent.matrix if bone.parent else None, invert=True).translation


def head_at(bone: PoseBone, parent_matrix: Matrix) -> Vector:
    """Return where a bone's head is in armature space, given where its parent is."""
    return _to_pose(bone, bone.matrix_basis, parent_matrix).translation


def basis_with(bone: PoseBone, rotation: Quaternion, scale: Vector) -> Matrix:
    """Return what a bone's channels make together with another rotation and scale."""
    # Connected bones have a location channel too, and Blender ignores it.
    return Matrix.LocRotScale(bone.matrix_basis.translation, rotation, scale)


def turns_rigidly(bone: PoseBone, parent_matrix: Matrix | None) -> bool:
    """Tell whether a bone keeps its shape as it turns, and what its matrix says of its rotation is so.

    Not where its parent is sheared, mirrored or unevenly scaled, or where it is mirrored or flattened itself.

    Args:
        bone: the bone.
        parent_matrix: where its parent is, None where it has none.
    """
    if min(bone.scale[:]) <= 0.0:
        return False
    if parent_matrix is None:
        return True
    space = parent_space(bone, parent_matrix)
    if space.is_negative:
        return False
    first, second, third = space.col
    size = first.length_squared
    # Looser than Matrix.is_orthogonal, which takes the rounding of long hierarchies for shear.
    uneven = max(abs(second.length_squared - size), abs(third.length_squared - size))
    if bone.bone.inherit_scale == 'ALIGNED':
        uneven = 0.0  # what it takes over of its parent's scale is along its own axes, however it turns
    skewed = max(abs(first.dot(second)), abs(first.dot(third)), abs(second.dot(third)))
    return max(uneven, skewed) < _SHEAR * size


def basis_of(bone: PoseBone, matrix: Matrix, parent_matrix: Matrix | None) -> Matrix:
    """Return what a bone's channels must make together for it to be at a place, given where its parent is."""
    return _to_pose(bone, matrix, parent_matrix, invert=True)
