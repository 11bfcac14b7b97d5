# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Forward kinematics of pose bones as Blender computes it, without an update of the view layer. Computes.

A bone's matrix in armature space is ``M = (S B) D``, with ``B = LocRotScale(location, rotation, scale)`` of its
channels (``PoseBone.matrix_basis``), ``S`` the parent frame, and ``D`` a diagonal scale, 1 except for *Aligned*. With
``P`` and ``R_p`` the parent's matrix in the pose and at rest and ``O = R_p^-1 R`` the bone's offset, ``S`` is

====================  ==================================================================================
Inherit Scale         parent frame ``S``
====================  ==================================================================================
*Full*                ``P O``: a bent child of an unevenly scaled parent is sheared
*Fix Shear*           ``P O`` with its axes made orthogonal again, Y kept
*Average*             ``orthonormal(P) O`` times the cube root of ``det P``
*Aligned*             ``orthonormal(P) O``, and ``D`` is the lengths of ``P``'s axes: along the child's own axes
*None*                ``orthonormal(P) O``
====================  ==================================================================================

and ``R_p`` takes the place of ``P``'s rotation where the bone doesn't inherit rotation (Blender's
``BKE_bone_parent_transform_calc_from_pchan`` and ``BKE_bone_parent_transform_apply`` in ``armature.cc``).
``Bone.convert_local_to_pose`` is the same functions for matrices that are handed in. It is called here so that a pose
that is only being tried costs no view-layer update: one for each bone takes 9 ms on 60 bones, all bones at once 0.2 ms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mathutils import Matrix, Quaternion, Vector

if TYPE_CHECKING:
    from bpy.types import PoseBone

_SHEAR = 1e-4
"""Cosine between two axes, or difference of their squared lengths, that counts as rounding: Rigify's horse has 5e-5."""


def pose_matrices(
    bones: Sequence[PoseBone],
    bases: Sequence[Matrix],
    parents: Sequence[int] | None = None,
    above: Matrix | None = None,
) -> list[Matrix]:
    """Return the matrices of bones in armature space for given channels: forward kinematics from parent to child.

    Args:
        bones: parents before children.
        bases: of the bones, as ``PoseBone.matrix_basis``: location, rotation and scale together.
        parents: index among the bones of each one's parent, or -1 where the parent is none of them and has the matrix
            that was evaluated last. Left out, each bone is the child of the one before.
        above: matrix of the first bone's parent; left out, the one that was evaluated last.
    """
    matrices: list[Matrix] = []
    for i, (pose_bone, basis) in enumerate(zip(bones, bases, strict=True)):
        parent = i - 1 if parents is None else parents[i]
        if parent >= 0:
            matrices.append(_to_pose(pose_bone, basis, matrices[parent]))
        elif above is not None:
            matrices.append(_to_pose(pose_bone, basis, above))
        else:
            matrices.append(_to_pose(pose_bone, basis, pose_bone.parent.matrix if pose_bone.parent else None))
    return matrices


def parent_frame(bone: PoseBone, parent_matrix: Matrix | None) -> Matrix:
    """Return the 3 x 3 matrix ``S`` by which a bone's own rotation and scale are multiplied from the left."""
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
    """Return the location channel that puts a bone's head at a point in armature space."""
    matrix = bone.matrix.copy()
    matrix.translation = head
    return _to_pose(bone, matrix, bone.parent.matrix if bone.parent else None, invert=True).translation


def head_at(bone: PoseBone, parent_matrix: Matrix) -> Vector:
    """Return a bone's head in armature space for a matrix of its parent."""
    return _to_pose(bone, bone.matrix_basis, parent_matrix).translation


def basis_with(bone: PoseBone, rotation: Quaternion, scale: Vector) -> Matrix:
    """Return a bone's ``matrix_basis`` with another rotation and scale."""
    # Not the location channel: that of a connected bone may hold numbers, and Blender ignores them.
    return Matrix.LocRotScale(bone.matrix_basis.translation, rotation, scale)


def basis_of(bone: PoseBone, matrix: Matrix, parent_matrix: Matrix | None) -> Matrix:
    """Return the ``matrix_basis`` that gives a bone a matrix in armature space, for a matrix of its parent."""
    return _to_pose(bone, matrix, parent_matrix, invert=True)


def shown_basis(bone: PoseBone) -> Matrix:
    """Return the ``matrix_basis`` with which a bone would be, without its constraints, where they have it now."""
    return basis_of(bone, bone.matrix, bone.parent.matrix if bone.parent else None)


def rotates_rigidly(bone: PoseBone, parent_matrix: Matrix | None) -> bool:
    """Tell whether a bone keeps its shape as it rotates, so that ``M``'s rotation is ``S``'s times the bone's own.

    That takes ``S`` to be a rotation times one factor: no shear, no mirroring, no uneven scale. Otherwise a rotation of
    the bone changes the lengths of the links, and a solver that takes them for rigid misses the target.

    Args:
        bone: the bone.
        parent_matrix: of its parent in armature space, None where it has none.
    """
    if min(bone.scale[:]) <= 0.0:
        return False
    if parent_matrix is None:
        return True
    frame = parent_frame(bone, parent_matrix)
    if frame.is_negative:
        return False
    first, second, third = frame.col
    size = first.length_squared
    # Looser than Matrix.is_orthogonal, which takes the rounding of long hierarchies for shear.
    uneven = max(abs(second.length_squared - size), abs(third.length_squared - size))
    if bone.bone.inherit_scale == 'ALIGNED':
        uneven = 0.0  # Aligned scales along the bone's own axes (D), whichever way the bone rotates
    skewed = max(abs(first.dot(second)), abs(first.dot(third)), abs(second.dot(third)))
    return max(uneven, skewed) < _SHEAR * size
