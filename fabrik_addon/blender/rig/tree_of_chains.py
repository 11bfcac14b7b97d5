# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: the bones of several chains as one tree, and the joints at which the chains start, end and meet.

1. Bones: those that rotate in any of the chains, parents first, of those that start at the same place one only where
   it is no body's. Joint j is the head of bone j. A bone's parent in the tree is the nearest of its parents in the
   armature that rotates; in that of a body the nearest of its ancestors (``ancestors``).
2. Ends: the joints after the bones' heads. Each chain's tip is one, if no bone of the tree starts there, and the head
   of each target bone that a bone of the tree moves: there both ends of the distance to the target are joints.
3. Line: the bones of the tree and all bones between them and its roots, whose matrices give the joints' positions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from typing import TYPE_CHECKING, TypeAlias

from mathutils import Matrix, Quaternion

from ..bones.ancestors import with_ancestors
from ..bones.bone_kinematics import basis_with, pose_matrices, shown_basis
from ..bones.bone_limits import Limits, euler_limits_of, limits_with_pose
from ..bones.bone_tree import BoneTree, End
from ..bones.rotation_channel import LockableChannel
from ..bones.shared_joints import one_bone_per_joint, share_joint
from .snapshot import Snapshot

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone

_LineOf: TypeAlias = "Callable[[PoseBone], Sequence[PoseBone]]"
"""Returns a bone and the bones that carry it, nearer ones first."""


@dataclass(frozen=True)
class TreeBones:
    """The bones of several chains as a tree: what doesn't change while targets move."""

    tree: BoneTree
    line_parents: tuple[int, ...]
    """Index in ``tree.line`` of each bone's parent, or -1."""
    meets: tuple[int, ...]
    """Joint that each chain's end should meet, or -1."""
    rotations: tuple[Quaternion, ...]
    """The own rotations of the bones that rotate, from their channels."""
    has_locks: bool
    """Whether some bone can rotate about some of its axes only."""
    is_rigid: bool
    """Whether the bones keep their shape as they rotate (``rotates_rigidly``)."""
    is_constrained: bool
    """Whether constraints or drivers change the bones after their channels."""


def tree_bones(
    armature: Object, snapshots: Sequence[Snapshot], posture_weights: Mapping[str, float] | None
) -> TreeBones:
    """Return the tree that chains make together.

    Args:
        armature: object with the chains.
        snapshots: of the chains, in the order of their bones.
        posture_weights: of a body's bones, by their names; None of chains.
    """
    order = {name: number for number, name in enumerate(armature.pose.bones.keys())}
    line_of = cache(_with_parents if posture_weights is None else with_ancestors)
    rotating: dict[str, PoseBone] = {}
    own_channels: dict[str, LockableChannel] = {}
    limits: dict[str, Limits] = {}
    for snapshot in snapshots:
        chain = snapshot.bones.tree
        for bone, own, of_bone in zip(chain.bones, chain.own_channels, chain.limits, strict=True):
            rotating[bone.name], own_channels[bone.name] = bone, own
            if of_bone is not None:
                limits[bone.name] = of_bone
    bones = _parents_first(rotating.values(), order, line_of)
    if posture_weights is None:
        bones = one_bone_per_joint(bones, limits.keys())
    else:
        limits = {bone.name: limits_with_pose(bone, limits[bone.name]) for bone in bones if bone.name in limits}
    numbers = {bone.name: number for number, bone in enumerate(bones)}
    moving = frozenset().union(*(snapshot.moving for snapshot in snapshots))
    joints = _JointNumbers(numbers)
    tips, meets = [], []
    for snapshot in snapshots:
        tips.append(joints.at(snapshot.bones.end, snapshot.bones.use_tail))
        met = armature.pose.bones.get(snapshot.target_bone)
        # A target bone that no bone of the tree carries is a target like any other.
        is_carried = met is not None and met.name in moving and _nearest(line_of(met), numbers) >= 0
        meets.append(joints.at(met, is_tail=False) if met is not None and is_carried else -1)
    owns = tuple(own_channels[bone.name] for bone in bones)
    line = _between([*bones, *(bone for bone, _ in joints.ends)], order, numbers, line_of)
    rows = {bone.name: row for row, bone in enumerate(line)}
    return TreeBones(
        tree=BoneTree(
            bones=tuple(bones),
            parents=tuple(_nearest(line_of(bone)[1:], numbers) for bone in bones),
            inherits=tuple(_inherits(line_of(bone), numbers) for bone in bones),
            limits=tuple(limits.get(bone.name) for bone in bones),
            line=line,
            rows=tuple(rows[bone.name] for bone in bones),
            ends=tuple(
                End(bone, is_tail, rows[bone.name], _nearest(line_of(bone)[0 if is_tail else 1 :], numbers))
                for bone, is_tail in joints.ends
            ),
            tips=tuple(tips),
            starts=tuple(_first_joint(snapshot, numbers, bones, line_of) for snapshot in snapshots),
            own_channels=owns,
            posture_weights=None if posture_weights is None else tuple(posture_weights[bone.name] for bone in bones),
        ),
        line_parents=tuple(_nearest(line_of(bone)[1:2], rows) for bone in line),
        meets=tuple(meets),
        rotations=tuple(own.rotation(own.channel) for own in owns),
        has_locks=any(
            own.has_locks or (bone.name in limits and bool(euler_limits_of(bone)))
            for bone, own in zip(bones, owns, strict=True)
        ),
        is_rigid=all(snapshot.bones.is_rigid for snapshot in snapshots),
        is_constrained=any(snapshot.bones.is_constrained for snapshot in snapshots),
    )


class _JointNumbers:
    """The joints of a tree: first the bones' heads, then the ends, in the order in which they are found."""

    def __init__(self, numbers: Mapping[str, int]) -> None:
        self._numbers = numbers
        self.ends: list[tuple[PoseBone, bool]] = []

    def at(self, bone: PoseBone, is_tail: bool) -> int:
        """Return the joint at a bone's head or tail; a new end where no bone that rotates starts."""
        if not is_tail and bone.name in self._numbers:
            return self._numbers[bone.name]
        self.ends.append((bone, is_tail))
        return len(self._numbers) + len(self.ends) - 1


def _with_parents(bone: PoseBone) -> list[PoseBone]:
    return [bone, *bone.parent_recursive]


def _parents_first(bones: Iterable[PoseBone], order: Mapping[str, int], line_of: _LineOf) -> list[PoseBone]:
    return sorted(bones, key=lambda bone: (len(line_of(bone)), order[bone.name]))


def _first_joint(snapshot: Snapshot, numbers: Mapping[str, int], bones: Sequence[PoseBone], line_of: _LineOf) -> int:
    """Return the joint at which a chain starts; another chain's bone may be the one that rotates there."""
    own = snapshot.bones.tree.bones
    ancestor = _nearest(line_of(own[0]), numbers)
    if ancestor >= 0 and (own[0].name in numbers or share_joint(bones[ancestor], own[0])):
        return ancestor
    return next(numbers[bone.name] for bone in own if bone.name in numbers)


def _nearest(line: Iterable[PoseBone], numbers: Mapping[str, int]) -> int:
    """Return the number of the first bone of a line that has one, or -1."""
    return next((numbers[bone.name] for bone in line if bone.name in numbers), -1)


def _inherits(line: Sequence[PoseBone], numbers: Mapping[str, int]) -> bool:
    """Tell whether a line's first bone rotates with the bone of the tree that carries it: whether all between do."""
    above = takewhile(lambda bone: bone.name not in numbers, line[1:])
    return all(bone.bone.use_inherit_rotation for bone in (line[0], *above))


def _between(
    bones: Sequence[PoseBone], order: Mapping[str, int], numbers: Mapping[str, int], line_of: _LineOf
) -> tuple[PoseBone, ...]:
    """Return bones, all of the tree's among them, and those between them and the tree's roots, parents first."""
    found = {bone.name: bone for bone in bones}
    for bone in bones:
        line = line_of(bone)[1:]
        if _nearest(line, numbers) >= 0:
            found |= {link.name: link for link in takewhile(lambda link: link.name not in numbers, line)}
    return tuple(_parents_first(found.values(), order, line_of))


def tree_matrices(bones: TreeBones, rotations: Sequence[Quaternion] | None = None) -> list[Matrix]:
    """Return the matrices of ``bones.tree.line`` before constraints, or for other rotations of ``bones.tree.bones``.

    Bones between those that rotate are rigid with their parents where constraints have them now, as in a chain; those
    of a body where their channels have them, since what constraints add to its handles is corrected
    (``corrected_goals``).
    """
    tree = bones.tree
    if rotations is None and not bones.is_constrained:
        return [bone.matrix for bone in tree.line]
    bases = [bone.matrix_basis for bone in tree.line]
    if bones.is_constrained and tree.posture_weights is None:
        own = {*tree.rows, *(end.row for end in tree.ends if not end.is_tail)}
        bases = [basis if row in own else shown_basis(tree.line[row]) for row, basis in enumerate(bases)]
    for row, bone, rotation in zip(tree.rows, tree.bones, rotations or (), strict=False):
        bases[row] = basis_with(bone, rotation, bone.scale)
    return pose_matrices(tree.line, bases, bones.line_parents)
