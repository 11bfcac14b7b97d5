# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: the bones of one chain, their matrices and their pose. How limits are read is in ``bone_limits``.

The chain is the tip and its parents, ``chain_count`` bones at most. The solver rotates its *free* bones: a bone whose
rotation is locked altogether, and all but one of the bones that start at one joint, form one rigid link with the bone
above. A link runs from the head of a free bone to the head of the next one, or to the chain's end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from mathutils import Matrix, Quaternion, Vector

from ...core import Chain, FabrikError, Pose
from ...core.problem import PoleShape
from ..bones.bone_kinematics import basis_with, pose_matrices, rotates_rigidly, shown_basis
from ..bones.bone_limits import Limits, euler_limits_of, is_hinge_by_locks, limits_of, resting_locks
from ..bones.bone_stretch import Link, Stretch, read_links, read_stretch
from ..bones.bone_tree import BoneTree, End, read_tree
from ..bones.overrides import is_active, overrides_of
from ..bones.rotation_channel import LockableChannel, is_locked, read_lockable_channel
from ..bones.shared_joints import one_bone_per_joint

if TYPE_CHECKING:
    from bpy.types import Bone, Object, PoseBone

    from ..bones.armature_bones import ArmatureBones


ChainSettings: TypeAlias = Any
"""A ``properties.FabrikChain``; ``Any``, because ``properties`` imports the modules that read the settings."""


def armature_of(bone: PoseBone) -> Object:
    """Return the armature object of a pose bone."""
    return bone.id_data  # type: ignore[return-value]  # the stub has the base class of all data-blocks


@dataclass(frozen=True)
class ChainSpec:
    """Which bones a chain has and what of them counts: the settings of the same names of ``FabrikChain``."""

    name: str
    tip: str
    chain_count: int
    use_tail: bool = True
    use_limits: bool = False
    use_stretch: bool = False
    pole_shape: PoleShape = ()
    still: frozenset[str] = frozenset()
    """Names of bones that don't rotate, though they aren't locked, unless there are no others."""


def spec_of(chain: ChainSettings) -> ChainSpec:
    """Return which bones a chain has by its settings, without stretch and pole shape."""
    return ChainSpec(chain.name, chain.tip, chain.chain_count, chain.use_tail, chain.use_limits)


@dataclass(frozen=True)
class ChainBones:
    """The bones of a chain and how they hang together: what doesn't change while targets move."""

    chain_name: str
    bones: tuple[PoseBone, ...]
    """From the root to the tip, each the child of the one before; of a body each ancestor before its descendant."""
    end: PoseBone
    """The bone at whose head or tail the chain ends."""
    use_tail: bool
    free: tuple[int, ...]
    """Indices of the bones that rotate: not those that are locked altogether, and one only of those at one joint."""
    is_rigid: bool
    """Whether the bones keep their shape as they rotate (``rotates_rigidly``)."""
    has_locks: bool
    """Whether some bone can rotate about some of its axes only."""
    locks_are_limits: bool
    """Whether ``limits`` say all that locks and Limit Rotation constraints leave: each bone with locks is a hinge."""
    own_channels: tuple[LockableChannel, ...]
    """The bones' rotation channels and their locks."""
    rotations: tuple[Quaternion, ...]
    """The bones' own rotations, from their channels."""
    limits: tuple[Limits, ...] | None
    """The bones' smallest and largest angles; None where limits don't count."""
    is_constrained: bool
    """Whether constraints or drivers change the bones after their channels."""
    stretch: Stretch | None = None
    """How the bones are stretched; None where they keep their lengths."""
    links: tuple[Link, ...] = ()
    """From each bone to the next, if they stretch."""
    pole_shape: PoleShape = ()
    """Of the bones that rotate (``Chain.pole_shape``)."""
    still: frozenset[str] = frozenset()
    """Names of the bones that don't rotate, though they aren't locked."""

    @property
    def line(self) -> tuple[PoseBone, ...]:
        """The bones and, where the chain ends at a head, the bone of that head."""
        return self.bones if self.use_tail else (*self.bones, self.end)

    @property
    def end_position(self) -> Vector:
        """Where the chain ends, armature space."""
        return self.end.tail if self.use_tail else self.end.head

    @property
    def scales(self) -> tuple[Vector, ...]:
        """The bones' scale channels; without stretch if they stretch."""
        return self.stretch.scales if self.stretch else tuple(bone.scale for bone in self.bones)

    @property
    def free_rotations(self) -> list[Quaternion]:
        """The own rotations of the bones that rotate."""
        return [self.rotations[i] for i in self.free]

    @cached_property
    def tree(self) -> BoneTree:
        """The chain as a tree with one end."""
        count, line = len(self.free), self.line
        limits = (None,) * count if self.limits is None else tuple(self.limits[i] for i in self.free)
        return BoneTree(
            bones=tuple(self.bones[i] for i in self.free),
            parents=tuple(range(-1, count - 1)),
            inherits=tuple(i == 0 or self.bones[i].bone.use_inherit_rotation for i in self.free),
            limits=limits,
            line=line,
            rows=self.free,
            ends=(End(self.end, self.use_tail, len(line) - 1, count - 1),),
            tips=(count,),
            starts=(0,),
            own_channels=tuple(self.own_channels[i] for i in self.free),
            is_chain=True,
        )

    @cached_property
    def first_carried_whole(self) -> int:
        """Index in ``line`` of the first bone from which on each takes over all of its parent's matrix.

        ``M' = P' P^-1 M`` where the parent moves.
        """
        takes_part = [not _takes_over_parent(bone.bone) for bone in self.line]
        return max((i + 1 for i, is_part in enumerate(takes_part) if is_part), default=0)

    def is_still(self, bone: PoseBone) -> bool:
        """Tell whether a bone of ``line`` doesn't rotate by itself, but for one at the joint of another one."""
        return is_locked(bone) or bone.name in self.still

    def with_free(self, rotations: list[Quaternion]) -> list[Quaternion]:
        """Return the own rotations of all bones, those of the bones that rotate replaced."""
        if len(rotations) == len(self.rotations):
            return rotations
        found = list(self.rotations)
        for i, rotation in zip(self.free, rotations, strict=True):
            found[i] = rotation
        return found


def _takes_over_parent(bone: Bone) -> bool:
    return bone.use_inherit_rotation and bone.use_local_location and bone.inherit_scale == 'FULL'


def bones_of_chain(armature: Object, chain: ChainSpec | ChainSettings) -> tuple[PoseBone, ...]:
    """Walk bone parents up from a chain's tip; return the bones that rotate, root first.

    Without ``use_tail`` the chain ends at the tip's head, the tip doesn't rotate and isn't counted, as in Blender's IK.

    Raises:
        FabrikError: there is no such bone, or not as many parents.
    """
    tip, chain_count = chain.tip, chain.chain_count
    bone = armature.pose.bones.get(tip)
    if bone is None:
        raise FabrikError(f"there is no bone '{tip}' in '{armature.name}'" if tip else "no tip bone is set")
    walked: list[PoseBone] = []
    link = bone if chain.use_tail else bone.parent
    while link is not None and (chain_count == 0 or len(walked) < chain_count):
        walked.insert(0, link)
        link = link.parent
    if not walked:
        raise FabrikError(f"bone '{tip}' has no parent, so no chain ends at its head: enable Use Tail")
    if len(walked) < chain_count:
        raise FabrikError(
            f"it should have {chain_count} bones, but from '{walked[-1].name}' up to the root '{walked[0].name}' "
            f"there are only {len(walked)}"
        )
    return tuple(walked)


def bones_of_chains(armature: Object, chains: Iterable[ChainSettings]) -> set[str]:
    """Return the names of the bones of chains; a chain without its bones has none."""
    names: set[str] = set()
    for chain in chains:
        with suppress(FabrikError):
            names |= {bone.name for bone in bones_of_chain(armature, chain)}
    return names


def read_bones(
    armature: Object,
    spec: ChainSpec,
    all_bones: ArmatureBones | None = None,
    bones: tuple[PoseBone, ...] | None = None,
) -> ChainBones:
    """Return the bones of a chain.

    Args:
        armature: evaluated, with nothing changed since.
        spec: which bones.
        all_bones: of the armature, where other chains are read too.
        bones: of the chain, root first; None takes those of ``bones_of_chain``.

    Raises:
        FabrikError: there is no such bone, or not as many parents, or no bone can rotate, or stretch if it should.
    """
    if bones is None:
        bones = bones_of_chain(armature, spec)
    end = bones[-1] if spec.use_tail else armature.pose.bones[spec.tip]
    line = bones if spec.use_tail else (*bones, end)
    own_channels = tuple(read_lockable_channel(bone) for bone in bones)
    rotating, acts = (None, is_active) if all_bones is None else (all_bones.chain_constraints, all_bones.acts)
    free = _free_bones(bones, spec)
    limits = tuple(limits_of(bone) for bone in bones) if spec.use_limits else None
    locked = [i for i in free if own_channels[i].has_locks]
    has_euler_limits = spec.use_limits and any(euler_limits_of(bones[i]) for i in free)
    # Stretched bones are uneven: it is without their stretch that they have to be rigid.
    is_rigid = spec.use_stretch or _rigidity(bones, free, [bone.matrix for bone in bones])[0]
    found = ChainBones(
        chain_name=spec.name,
        bones=bones,
        end=end,
        use_tail=spec.use_tail,
        free=free,
        is_rigid=is_rigid,
        has_locks=bool(locked) or has_euler_limits,
        locks_are_limits=not has_euler_limits and all(limits and _is_hinge(bones[i], limits[i]) for i in locked),
        own_channels=own_channels,
        rotations=tuple(own.rotation(own.channel) for own in own_channels),
        limits=limits,
        is_constrained=bool(overrides_of(armature, line, use_limits=False, rotating=rotating, acts=acts)),
        stretch=read_stretch(bones) if spec.use_stretch else None,
        pole_shape=spec.pole_shape,
        still=spec.still.difference(bones[i].name for i in free),
    )
    if not spec.use_stretch:
        return found
    matrices = chain_matrices(found)
    is_rigid, first_uneven = _rigidity(bones, free, matrices)
    if not is_rigid:
        raise FabrikError(f"it can't stretch: bone '{first_uneven}' is mirrored, sheared or unevenly scaled")
    return replace(found, links=read_links(line, matrices, spec.use_tail))


def _is_hinge(bone: PoseBone, limits: Limits) -> bool:
    """Tell whether a bone's locks leave a hinge within its limits: not where its locked angles aren't 0."""
    return len(resting_locks(bone)) == 2 and is_hinge_by_locks(bone, limits)


def all_locked(bones: Sequence[PoseBone]) -> FabrikError:
    """Return the error of a chain none of whose bones can rotate."""
    if len(bones) == 1:
        return FabrikError(f"the rotation of bone '{bones[0].name}' is locked: unlock it")
    return FabrikError("the rotation of all its bones is locked: unlock one of them")


def _free_bones(bones: Sequence[PoseBone], spec: ChainSpec) -> tuple[int, ...]:
    """Return the indices of a chain's bones that rotate.

    Raises:
        FabrikError: none can.
    """
    unlocked = [bone for bone in bones if not is_locked(bone)]
    if not unlocked:
        raise all_locked(bones)
    unlocked = [bone for bone in unlocked if bone.name not in spec.still] or unlocked
    limited = {bone.name for bone in unlocked} if spec.use_limits else set()
    free = {bone.name for bone in one_bone_per_joint(unlocked, limited)}
    return tuple(i for i, bone in enumerate(bones) if bone.name in free)


def _rigidity(bones: Sequence[PoseBone], free: Sequence[int], matrices: Sequence[Matrix]) -> tuple[bool, str]:
    """Return whether all bones rotate rigidly, and the name of the first one that doesn't."""
    parents = [bones[0].parent.matrix if bones[0].parent else None, *matrices]
    rigid = [rotates_rigidly(bone, parent) for bone, parent in zip(bones, parents, strict=False)]
    # A bone that doesn't rotate by itself is rigid with the one above if it takes over its rotation.
    comes_along = all(bones[i].bone.use_inherit_rotation for i in range(1, len(bones)) if i not in free)
    return all(rigid) and comes_along, bones[0].name if all(rigid) else bones[rigid.index(False)].name


def chain_matrices(bones: ChainBones) -> list[Matrix]:
    """Return the matrices of ``bones.line`` before the constraints of bones that rotate: what channels can change.

    A bone that isn't rotated is rigid with its parent where constraints have it now: the channels of a spine's bones
    that Rigify locks say nothing. Matrices of bones that stretch are without stretch.
    """
    line = bones.line
    if bones.stretch is not None and bones.stretch.is_stretched:
        return bone_matrices(bones, bones.rotations)
    if bones.is_constrained:
        return pose_matrices(line, [_held_basis(bones, i, bone.matrix_basis) for i, bone in enumerate(line)])
    return [bone.matrix for bone in line]


def bone_matrices(bones: ChainBones, rotations: Sequence[Quaternion]) -> list[Matrix]:
    """Return the matrices of ``bones.line`` for other rotations of all bones, without stretch."""
    return pose_matrices(bones.line, chain_bases(bones, rotations))


def chain_bases(bones: ChainBones, rotations: Sequence[Quaternion]) -> list[Matrix]:
    """Return the channels of ``bones.line``, as ``PoseBone.matrix_basis``, with other rotations, without stretch."""
    parts = zip(bones.bones, rotations, bones.scales, strict=True)
    bases = [basis_with(bone, rotation, scale) for bone, rotation, scale in parts]
    if bones.is_constrained and bones.stretch is None:
        bases = [_held_basis(bones, i, basis) for i, basis in enumerate(bases)]
    return bases if bones.use_tail else [*bases, bones.end.matrix_basis]


def _held_basis(bones: ChainBones, i: int, basis: Matrix) -> Matrix:
    """Return the basis of bone i of ``bones.line``: of one that isn't rotated that with which it is shown."""
    is_held = i not in bones.free and i < len(bones.bones)
    return shown_basis(bones.bones[i]) if is_held else basis


def read_pose(bones: ChainBones, matrices: Sequence[Matrix], rotations: Sequence[Quaternion]) -> tuple[Chain, Pose]:
    """Return a chain and its pose, from matrices of ``bones.line`` and the own rotations of all its bones.

    Raises:
        FabrikError: a number isn't finite, a bone has no length, or its limits contradict each other.
    """
    chain, pose = read_tree(bones.tree, matrices, [rotations[i] for i in bones.free])
    return replace(chain, pole_shape=bones.pole_shape) if bones.pole_shape else chain, pose


def check_root_moves(root: PoseBone) -> None:
    """Refuse a root whose location Blender or the rig holds.

    Blender ignores the location of a connected bone, also of one that has no parent, as importers leave it.

    Raises:
        FabrikError: it is connected, or locked.
    """
    if root.bone.use_connect:
        raise FabrikError(f"its root can't follow: bone '{root.name}' is connected")
    if any(root.lock_location):
        raise FabrikError(f"its root can't follow: the location of bone '{root.name}' is locked")
