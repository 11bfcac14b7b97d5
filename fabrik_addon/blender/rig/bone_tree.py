# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: the bones of several chains as one tree for the core, and where its joints are. Writes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from mathutils import Matrix, Quaternion, Vector

from ...core import Chain, FabrikError, Pose
from .bone_kinematics import basis_with, matrix_under
from .bone_limits import Angles, euler_limits_of, limits_of, stiffness_of
from .chain_bones import can_turn, is_carried_along, share_joint
from .rotation_channel import has_locks, is_locked, rotation_of
from .snapshot import Snapshot

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone

_FREE: tuple[Angles, Angles] = ((-np.inf,) * 3, (np.inf,) * 3)
_STILL: tuple[Angles, Angles] = ((0.0,) * 3, (0.0,) * 3)


@dataclass(frozen=True)
class End:
    """A joint at which no bone of the tree starts: a chain's end, or a place that a chain should meet."""

    bone: PoseBone
    is_tail: bool
    carrier: int
    """Number of the tree's bone that carries it."""


@dataclass(frozen=True)
class TreeBones:
    """The bones of a tree and how they hang together: what doesn't change while targets move."""

    bones: tuple[PoseBone, ...]
    """That turn, parents first."""
    parents: tuple[int, ...]
    """Number of the bone that carries each of them, or -1."""
    inherits: tuple[bool, ...]
    """Whether each of them turns with the one that carries it."""
    between: tuple[PoseBone, ...]
    """All bones that say where these and the ends are, parents first."""
    ends: tuple[End, ...]
    tips: tuple[int, ...]
    """Joint at which each chain ends: bones come first, then ends."""
    starts: tuple[int, ...]
    """Joint at which each chain starts."""
    meets: tuple[int, ...]
    """Joint that each chain should meet, or -1."""
    limits: tuple[tuple[Angles, Angles] | None, ...]
    """The bones' smallest and largest angles; None where a bone is free."""
    rotations: tuple[Quaternion, ...]
    """The bones' own rotations, from their channels."""
    has_locks: bool
    """Whether some bone can turn about some of its axes only."""
    is_rigid: bool
    """Whether turning a bone moves what hangs on it without changing its shape."""
    is_constrained: bool
    """Whether constraints stand between the bones' channels and where they are."""

    @property
    def roots(self) -> tuple[int, ...]:
        """Numbers of the bones that no other one carries."""
        return tuple(number for number, parent in enumerate(self.parents) if parent < 0)

    @property
    def has_anchor(self) -> bool:
        """Whether there are several roots, so that the core's first joint is none of the bones'."""
        return len(self.roots) > 1


def tree_bones(armature: Object, snapshots: Sequence[Snapshot]) -> TreeBones:
    """Return the tree that chains make together.

    Args:
        armature: object with the chains.
        snapshots: of the chains, in the order of their bones.

    Raises:
        FabrikError: a chain reaches for what its own end carries.
    """
    turning: dict[str, PoseBone] = {}
    limited: set[str] = set()
    for snapshot in snapshots:
        for number in snapshot.bones.free:
            bone = snapshot.bones.bones[number]
            turning[bone.name] = bone
            if snapshot.bones.limits is not None:
                limited.add(bone.name)
    place = {bone.name: number for number, bone in enumerate(armature.pose.bones)}
    bones = _with_links_between(
        sorted(turning.values(), key=lambda bone: (len(bone.parent_recursive), place[bone.name])), limited
    )
    numbers = {bone.name: number for number, bone in enumerate(bones)}
    ends: list[End] = []
    tips, meets = [], []

    def joint_at(bone: PoseBone, is_tail: bool) -> int:
        if not is_tail and bone.name in numbers:
            return numbers[bone.name]
        carrier = _carrier(bone if is_tail else bone.parent, numbers)
        ends.append(End(bone, is_tail, carrier))
        return len(bones) + len(ends) - 1

    moving = frozenset().union(*(snapshot.moving for snapshot in snapshots))
    for snapshot in snapshots:
        tips.append(joint_at(snapshot.bones.end, snapshot.bones.use_tail))
        met = armature.pose.bones.get(snapshot.target_bone)
        # Above the first bone that turns there is nothing to come and meet: it is a place like any other.
        is_carried = met is not None and met.name in moving and _carrier(met, numbers) >= 0
        meets.append(joint_at(met, is_tail=False) if met is not None and is_carried else -1)
    line = [*bones, *(end.bone for end in ends)]
    return TreeBones(
        bones=tuple(bones),
        parents=tuple(_carrier(bone.parent, numbers) for bone in bones),
        inherits=tuple(_inherits(bone, numbers) for bone in bones),
        between=_between(line, place, numbers),
        ends=tuple(ends),
        tips=tuple(tips),
        starts=tuple(_first(snapshot, numbers, bones) for snapshot in snapshots),
        meets=tuple(meets),
        limits=tuple(limits_of(bone) if bone.name in limited else None for bone in bones),
        rotations=tuple(rotation_of(bone) for bone in bones),
        has_locks=any(
            (has_locks(bone) and not is_locked(bone)) or (bone.name in limited and bool(euler_limits_of(bone)))
            for bone in bones
        ),
        is_rigid=all(snapshot.bones.is_rigid for snapshot in snapshots),
        is_constrained=any(snapshot.bones.is_constrained for snapshot in snapshots),
    )


def _with_links_between(bones: Sequence[PoseBone], limited: AbstractSet[str]) -> list[PoseBone]:
    """Leave out bones that turn about the same joint as another one, parents first: chains may disagree which of them.

    As in one chain it is the upper one that turns, unless it can't or the lower one wouldn't come along.
    """
    kept: dict[str, PoseBone] = {}
    for bone in bones:
        above = next((other for other in bone.parent_recursive if other.name in kept), None)
        if above is not None and share_joint(above, bone):
            if is_carried_along(bone, above) and can_turn(above, above.name in limited):
                continue
            del kept[above.name]
        kept[bone.name] = bone
    return list(kept.values())


def _first(snapshot: Snapshot, numbers: Mapping[str, int], bones: Sequence[PoseBone]) -> int:
    """Return the number of the joint at which a chain starts; its first bone may be a piece of another one."""
    own = [snapshot.bones.bones[i] for i in snapshot.bones.free]
    carrier = _carrier(own[0], numbers)
    if carrier >= 0 and (own[0].name in numbers or share_joint(bones[carrier], own[0])):
        return carrier
    return next(numbers[bone.name] for bone in own if bone.name in numbers)


def _carrier(bone: PoseBone | None, numbers: Mapping[str, int]) -> int:
    """Return the number of the first bone of the tree from a bone up, or -1."""
    while bone is not None and bone.name not in numbers:
        bone = bone.parent
    return -1 if bone is None else numbers[bone.name]


def _inherits(bone: PoseBone, numbers: Mapping[str, int]) -> bool:
    """Tell whether a bone turns with the bone of the tree that carries it."""
    link: PoseBone | None = bone
    while link is not None and (link is bone or link.name not in numbers):
        if not link.bone.use_inherit_rotation:
            return False
        link = link.parent
    return True


def _between(line: Sequence[PoseBone], place: Mapping[str, int], numbers: Mapping[str, int]) -> tuple[PoseBone, ...]:
    """Return bones and those that stand between them and the tree's roots, parents first."""
    found: dict[str, PoseBone] = {}
    for bone in line:
        way = [bone]
        while way[-1].parent is not None and _carrier(way[-1].parent, numbers) >= 0:
            way.append(way[-1].parent)
        found.update((link.name, link) for link in way)
    return tuple(sorted(found.values(), key=lambda bone: (len(bone.parent_recursive), place[bone.name])))


def tree_matrices(tree: TreeBones, rotations: Sequence[Quaternion] | None = None) -> dict[str, Matrix]:
    """Return where a tree's bones are before constraints, or with other rotations, by name."""
    if rotations is None and not tree.is_constrained:
        return {bone.name: bone.matrix for bone in tree.between}
    bases = {bone.name: bone.matrix_basis for bone in tree.between}
    if rotations is not None:
        bases |= {
            bone.name: basis_with(bone, rotation, bone.scale)
            for bone, rotation in zip(tree.bones, rotations, strict=True)
        }
    matrices: dict[str, Matrix] = {}
    for bone in tree.between:
        parent = bone.parent
        above = None if parent is None else matrices.get(parent.name, parent.matrix)
        matrices[bone.name] = matrix_under(bone, bases[bone.name], above)
    return matrices


def read_tree(
    tree: TreeBones,
    matrices: Mapping[str, Matrix],
    rotations: Sequence[Quaternion],
    weights: Sequence[float],
    shifting: Sequence[int],
) -> tuple[Chain, Pose]:
    """Return a tree and its pose, given where its bones are and what their own rotations are there.

    Args:
        tree: the bones.
        matrices: in armature space, by name.
        rotations: the bones' own.
        weights: of the chains.
        shifting: numbers of the roots that give way.

    Raises:
        FabrikError: a number isn't finite or a bone has no length.
    """
    frames = [matrices[bone.name].to_quaternion() for bone in tree.bones]
    points = [matrices[bone.name].to_translation()[:] for bone in tree.bones]
    parents = [*tree.parents, *(end.carrier for end in tree.ends)]
    rows = [frame[:] for frame in frames]
    for end in tree.ends:
        matrix = matrices[end.bone.name]
        tail = matrix @ Vector((0.0, end.bone.bone.length, 0.0))
        points.append(tail[:] if end.is_tail else matrix.to_translation()[:])
        rows.append(rows[end.carrier])
    turn_in = [frame @ own.conjugated() for frame, own in zip(frames, rotations, strict=True)]
    rests = [
        (frames[parent].conjugated() @ space if inherits and parent >= 0 else space)[:]
        for space, parent, inherits in zip(turn_in, tree.parents, tree.inherits, strict=True)
    ]
    limits = [_FREE if limit is None else limit for limit in tree.limits]
    stiffness = [
        (0.0, 0.0, 0.0) if limit is None else stiffness_of(bone)
        for bone, limit in zip(tree.bones, tree.limits, strict=True)
    ]
    nothing = len(tree.ends)
    names = (*(bone.name for bone in tree.bones), *(end.bone.name for end in tree.ends))
    positions = np.array(points)
    if not np.isfinite(positions).all():
        raise FabrikError(
            f"the position of bone '{names[int(np.argwhere(~np.isfinite(positions))[0, 0])]}' is not finite"
        )
    rotations_of_joints = np.array(rows)
    rest = np.array([*rests, *[(1.0, 0.0, 0.0, 0.0)] * nothing])
    lower = np.array([*(low for low, _ in limits), *[_FREE[0]] * nothing])
    upper = np.array([*(high for _, high in limits), *[_FREE[1]] * nothing])
    stiff = np.array([*stiffness, *[(0.0, 0.0, 0.0)] * nothing])
    inherits = np.array([*tree.inherits, *[True] * nothing])
    tips, starts, roots, base = np.array(tree.tips), np.array(tree.starts), tuple(shifting), rest[0]
    if tree.has_anchor:
        # A joint below all of them that can't turn.
        low = positions.min(axis=0) - np.ptp(positions, axis=0).max() * np.array([0.0, 0.0, 1.0])
        identity = np.array([[1.0, 0.0, 0.0, 0.0]])
        positions = np.concatenate([low[None], positions])
        rotations_of_joints = np.concatenate([identity, rotations_of_joints])
        rest = np.concatenate([identity, rest])
        lower, upper = np.concatenate([[_STILL[0]], lower]), np.concatenate([[_STILL[1]], upper])
        stiff, inherits = np.concatenate([np.zeros((1, 3)), stiff]), np.concatenate([[True], inherits])
        parents = [-1, *(parent + 1 for parent in parents)]
        tips, starts, roots, base = tips + 1, starts + 1, tuple(root + 1 for root in roots), identity[0]
        names = (names[0], *names)
    ahead = np.maximum(np.array(parents), 0)
    lengths = np.linalg.norm(positions - positions[ahead], axis=1)
    lengths[0] = 0.0
    chain = Chain(
        parents=np.array(parents),
        lengths=lengths,
        tips=tips,
        weights=np.array(weights, float),
        lower=lower,
        upper=upper,
        rest=rest,
        inherits=inherits,
        stiffness=stiff,
        names=names,
        starts=starts,
        roots=roots,
        has_anchor=tree.has_anchor,
    )
    return chain, Pose(positions, rotations_of_joints, base)
