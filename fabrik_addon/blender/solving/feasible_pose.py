# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Poses of a chain that the bones' channels can have, and how their tips move as the bones rotate.

Read from Blender: the matrix of the bone above the chain. Nothing is written.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from mathutils import Matrix, Quaternion, Vector

from ...core import Array
from ..bones.bone_kinematics import basis_with, pose_matrices
from ..bones.feasible_channels import feasible_channels
from ..bones.rotation_channel import Channel
from ..rig.chain_bones import ChainBones, bone_matrices, chain_bases

if TYPE_CHECKING:
    from bpy.types import PoseBone

AXIS_VECTORS = (Vector((1.0, 0.0, 0.0)), Vector((0.0, 1.0, 0.0)), Vector((0.0, 0.0, 1.0)))

DIFFERENCE = 1e-3
"""Rotation (radians) of the finite differences: small beside a bend, large beside single precision."""


class FeasiblePose(NamedTuple):
    """A feasible pose of a chain, and where its tip is."""

    channels: tuple[tuple[PoseBone, Channel], ...]
    rotations: list[Quaternion]
    """Own rotations of all bones."""
    matrices: list[Matrix]
    """Of ``ChainBones.line``, in armature space."""
    residual: Array
    """From the tip to the target (3,), over the chain's length."""
    error: float
    """Length of the residual."""
    length: float
    """Of the chain, in armature space: sheared bones change it as they rotate."""
    tip: Array
    """(3,)"""


def feasible_pose(
    bones: ChainBones, rotations: Sequence[Quaternion]
) -> tuple[tuple[tuple[PoseBone, Channel], ...], list[Quaternion]]:
    """Return the feasible channels of the bones that rotate, and the own rotations of all bones with them."""
    desired = [rotations[i] for i in bones.free]
    channels, given = feasible_channels(bones.tree.constraints, desired, bones.free_rotations)
    return tuple(zip(bones.tree.bones, channels, strict=True)), bones.with_free(given)


def feasible_pose_at(bones: ChainBones, target: Array, rotations: Sequence[Quaternion]) -> FeasiblePose:
    """Return the feasible pose for some rotations, measured from a target (3,)."""
    channels, feasible = feasible_pose(bones, rotations)
    matrices = bone_matrices(bones, feasible)
    positions = bones.tree.joints(matrices)
    length, tip = _length_of(positions), positions[-1]
    residual = (target - tip) / length
    error = math.sqrt(float(residual @ residual))
    return FeasiblePose(channels, feasible, matrices, residual, error, length, tip)


def joints_of(bones: ChainBones, rotations: Sequence[Quaternion]) -> tuple[Array, float]:
    """Return the joints (J, 3) and the length of the chain for other rotations of its bones."""
    positions = bones.tree.joints(bone_matrices(bones, rotations))
    return positions, _length_of(positions)


def _length_of(positions: Array) -> float:
    links = np.diff(positions, axis=0)
    return float(np.sqrt((links * links).sum(axis=1)).sum())


def rotated(bones: ChainBones, rotations: Sequence[Quaternion], vectors: Array) -> list[Quaternion]:
    """Return the own rotations of all bones with those that rotate multiplied by rotation vectors (F, 3)."""
    found = list(rotations)
    for i, row in zip(bones.free, vectors.tolist(), strict=True):
        vector = Vector(row)
        if vector.length > 0.0:
            found[i] = found[i] @ Quaternion(vector.normalized(), vector.length)
    return found


def jacobians(bones: ChainBones, pose: FeasiblePose) -> tuple[Array, Array]:
    """Return the Jacobian (3, 3 F) of the tip, over chain length, by rotations of each bone about its own x, y and z.

    Where limits or locks change a rotation the column is that of the rotation they leave. The rotation is in the
    direction that brings the tip nearer to the target: a bone at its limit can rotate back. Locks and limits together
    allow a share of it, counted from the pose itself: counted from the pose before the solve, the column was of another
    direction, and two of 300 random chains ended up to a fifth farther from their targets.

    Returns:
        the Jacobian, and the Jacobian (3 F, 3 F) of the rotations that limits and locks leave.
    """
    columns, left = [], np.eye(3 * len(bones.free))
    for number, (i, constraints) in enumerate(zip(bones.free, bones.tree.constraints, strict=True)):
        own, tip_jacobian = pose.rotations[i], _tip_jacobian(bones, pose, i)
        columns.append(tip_jacobian)
        if constraints.allows_all:
            continue
        probes = np.where(pose.residual @ tip_jacobian < 0.0, -DIFFERENCE, DIFFERENCE).tolist()
        for axis, (direction, probe) in enumerate(zip(AXIS_VECTORS, probes, strict=True)):
            given = constraints.rotation(own @ Quaternion(direction, probe), own)
            # Twice the vector part is the rotation (radians); to_exponential_map() makes 0 of it in single precision.
            w, *vector = (own.inverted() @ given)[:]
            left[3 * number : 3 * number + 3, 3 * number + axis] = [math.copysign(2.0, w) / probe * v for v in vector]
    return np.hstack(columns) @ left, left


def _tip_jacobian(bones: ChainBones, pose: FeasiblePose, i: int) -> Array:
    """Return the Jacobian (3, 3) of the tip, over chain length, by rotations of bone i about its own x, y and z.

    With the bone's matrix ``M = S R(q) D(s)``, s its scale, and the tip at p in its frame, the column of the axis e is
    ``M D(s)^-1 (e x D(s) p)`` where all that hangs on the bone moves with it. Elsewhere it is a finite difference.
    """
    tip, matrix, scales = pose.tip, pose.matrices[i], np.array(bones.scales[i][:])
    if scales.all() and i >= bones.first_carried_whole:
        x, y, z = (scales * np.array((matrix.inverted_safe() @ Vector(tip.tolist()))[:])).tolist()
        across = np.array([[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]])
        made: Array = np.array(matrix.to_3x3()) @ (across / scales[:, None]) / pose.length
        return made
    bases = chain_bases(bones, pose.rotations)[i:]
    parent = parent_matrix(bones, pose.matrices, i)
    columns = []
    for axis in AXIS_VECTORS:
        bases[0] = basis_with(bones.bones[i], pose.rotations[i] @ Quaternion(axis, DIFFERENCE), bones.scales[i])
        matrices = [*pose.matrices[:i], *pose_matrices(bones.line[i:], bases, above=parent)]
        columns.append((bones.tree.joints(matrices)[-1] - tip) / (DIFFERENCE * pose.length))
    return np.array(columns).T


def parent_matrix(bones: ChainBones, matrices: Sequence[Matrix], i: int) -> Matrix | None:
    if i > 0:
        return matrices[i - 1]
    above = bones.bones[0].parent
    return above.matrix if above else None
