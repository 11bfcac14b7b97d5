# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: what a native rig needs of a chain at rest. Nothing here writes to Blender."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mathutils import Matrix, Quaternion

from ...core import FabrikError
from ...core.model.chain_start import limits_of_bones
from ...core.model.joint_limits import JointLimits
from ..bones.rotation_channel import is_locked
from ..rig.chain_bones import ChainBones, bone_matrices, read_pose
from .limit_joints import Joints, constrained_joints_of
from .read_bone_stretch import StretchedBones, read_stretched_bones
from .rest_shape import RestShape, rest_shape

if TYPE_CHECKING:
    from bpy.types import PoseBone


@dataclass(frozen=True)
class RestChain:
    """A chain with its bones' own rotations at rest, in the space of its first bone."""

    bones: tuple[PoseBone, ...]
    """The bones that rotate."""
    root: Matrix
    """The space of the first bone, in that of its parent or of the armature."""
    root_moves: bool
    """Whether the first bone's own location is added to ``root``."""
    shape: RestShape
    has_rotation: bool
    """Whether the tip bone takes the target's rotation."""
    stretched: StretchedBones | None
    """The bones that are scaled for the chain's stretch; None where the chain doesn't stretch."""
    limits: tuple[JointLimits, ...]
    """Of the bones."""
    constrained_chain: Joints | None
    """The chain with the limits of its bones; None where no bone has limits."""
    without_tip: RestShape | None
    """The chain without its last bone, where the last bone takes the target's rotation and isn't the only one."""


def read_rest_chain(
    bones: ChainBones, has_pole: bool, has_rotation: bool, tolerance: float, paths: Container[str]
) -> RestChain:
    """Return a chain as it rests.

    Locked bones, locations and scales stay as they are now.

    Args:
        bones: of the chain.
        has_pole: whether it bends toward a pole.
        has_rotation: whether the tip bone takes the target's rotation.
        tolerance: error that counts as reached, over the chain's length.
        paths: of the armature's animated properties.

    Raises:
        FabrikError: the chain is of a kind that a native rig can't solve.
    """
    _check(bones)
    stretched = read_stretched_bones(bones)
    at_rest = [
        rotation if is_locked(bone) else Quaternion()
        for bone, rotation in zip(bones.bones, bones.rotations, strict=True)
    ]
    matrices = bone_matrices(bones, at_rest)
    free = [bones.bones[i] for i in bones.free]
    root = Matrix.LocRotScale(matrices[bones.free[0]].translation, matrices[bones.free[0]].to_quaternion(), None)
    back = root.inverted()
    chain, pose = read_pose(bones, [back @ matrix for matrix in matrices], [Quaternion()] * len(bones.bones))
    if not all(chain.inherits_list):
        name = next(name for name, inherits in zip(chain.names, chain.inherits_list, strict=False) if not inherits)
        raise FabrikError(f"bone '{name}' doesn't turn with its parent: a native rig can't carry that")
    parent = free[0].parent
    root_moves = _can_move(free[0], paths)
    if root_moves:
        root = root @ Matrix.Translation(-free[0].matrix_basis.translation)
    positions, rotations = pose.positions, pose.rotations
    turns_for_tip = has_rotation and len(free) > 1
    limits = limits_of_bones(chain)[: len(free)]
    shape = rest_shape(positions, rotations, has_pole, tolerance, limits, chain.own_pole_shape)
    names = [bone.name for bone in free]
    return RestChain(
        bones=tuple(free),
        root=_relative_to(parent, root),
        root_moves=root_moves,
        shape=shape,
        has_rotation=has_rotation,
        stretched=stretched,
        limits=tuple(limits),
        constrained_chain=constrained_joints_of(limits, [Quaternion(), *shape.bone_rests], shape.bone_links, names),
        without_tip=rest_shape(
            positions[:-1], rotations[:-1], has_pole, tolerance, limits[:-1], chain.without_tip.own_pole_shape
        )
        if turns_for_tip
        else None,
    )


def _can_move(root: PoseBone, paths: Container[str]) -> bool:
    """Tell whether a bone's own location must be looked at all the time, which takes time.

    That is where it has no parent to move it, or isn't at rest.
    """
    if root.bone.use_connect or not root.bone.use_local_location:
        return False
    is_moved = root.location.length > 0.0 or root.path_from_id("location") in paths
    return is_moved or (root.parent is None and not all(root.lock_location))


def _relative_to(parent: PoseBone | None, matrix: Matrix) -> Matrix:
    return parent.matrix.inverted() @ matrix if parent is not None else matrix


def _check(bones: ChainBones) -> None:
    if not bones.is_rigid:
        raise FabrikError("its bones are sheared, mirrored or unevenly scaled: a native rig can't carry that")
    root = bones.bones[bones.free[0]]
    if root.parent is not None and not root.bone.use_inherit_rotation:
        raise FabrikError(f"bone '{root.name}' doesn't turn with its parent: a native rig can't carry that")
