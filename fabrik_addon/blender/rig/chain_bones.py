# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: the bones of a chain, how they hang together, and their pose. Nothing here writes to Blender."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from mathutils import Matrix, Quaternion, Vector

from ...core import Array, Chain, FabrikError, Pose, plain_chain
from .bone_kinematics import basis_with, pose_matrices, turns_rigidly
from .bone_limits import Angles, euler_limits_of, limits_of, stiffness_of
from .bone_stretch import Link, Stretch, read_links, read_stretch
from .overrides import overrides_of
from .rotation_channel import Channel, has_locks, is_locked, present_channel, rotation_from

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone

    from .bone_limits import Angles
    from .rotation_channel import Channel


SAME_JOINT = 1e-6
"""Distance of two heads, beside the bones and their distance from the origin, that is rounding."""


@dataclass(frozen=True)
class ChainBones:
    """The bones of a chain and how they hang together: what doesn't change while targets move."""

    chain_name: str
    bones: tuple[PoseBone, ...]
    """From the root to the tip, each the child of the one before."""
    end: PoseBone
    """The bone at whose head or tail the chain ends."""
    use_tail: bool
    free: tuple[int, ...]
    """Which of the bones turn: one that is locked altogether, or starts where another does, is one piece with it."""
    is_rigid: bool
    """Whether turning a bone moves what hangs on it without changing its shape."""
    has_locks: bool
    """Whether some bone can turn about some of its axes only."""
    modes: tuple[str, ...]
    """The bones' rotation modes."""
    channels: tuple[Channel, ...]
    """The bones' rotation channels."""
    rotations: tuple[Quaternion, ...]
    """The bones' own rotations, from their channels."""
    limits: tuple[tuple[Angles, Angles], ...] | None
    """The bones' smallest and largest angles; None where limits are to be ignored."""
    is_constrained: bool
    """Whether constraints stand between the bones' channels and where they are."""
    stretch: Stretch | None = None
    """What it takes to stretch the bones; None where they keep their lengths."""
    links: tuple[Link, ...] = ()
    """From each bone to the next, if they stretch."""

    @property
    def line(self) -> tuple[PoseBone, ...]:
        """The bones and, where the chain ends at its head, the one after them."""
        return self.bones if self.use_tail else (*self.bones, self.end)

    @property
    def scales(self) -> tuple[Vector, ...]:
        """The bones' scale channels; as they are without stretch if they stretch."""
        return self.stretch.scales if self.stretch else tuple(bone.scale for bone in self.bones)


def bones_of_chain(armature: Object, tip: str, chain_count: int, use_tail: bool) -> tuple[PoseBone, ...]:
    """Walk bone parents up from a tip; return the bones that turn, root first.

    Without ``use_tail`` the chain ends at the tip's head, the tip doesn't turn and isn't counted, as in Blender's IK.

    Raises:
        FabrikError: there is no such bone, or not as many parents.
    """
    bone = armature.pose.bones.get(tip)
    if bone is None:
        raise FabrikError(f"there is no bone '{tip}' in '{armature.name}'" if tip else "no tip bone is set")
    walked: list[PoseBone] = []
    link = bone if use_tail else bone.parent
    while link is not None and (chain_count == 0 or len(walked) < chain_count):
        walked.insert(0, link)
        link = link.parent
    if not walked:
        raise FabrikError(f"bone '{tip}' has no parent, so no chain ends at its head: switch Use Tail on")
    if len(walked) < chain_count:
        raise FabrikError(
            f"it should have {chain_count} bones, but from '{walked[-1].name}' up to the root '{walked[0].name}' "
            f"there are only {len(walked)}"
        )
    return tuple(walked)


def read_bones(
    armature: Object,
    chain_name: str,
    tip: str,
    chain_count: int,
    use_tail: bool,
    use_limits: bool = False,
    use_stretch: bool = False,
) -> ChainBones:
    """Return the bones of a chain, as the settings of the same names describe it.

    Raises:
        FabrikError: there is no such bone, or not as many parents, or none of them can turn, or stretch if they should.
    """
    bones = bones_of_chain(armature, tip, chain_count, use_tail)
    line = bones if use_tail else (*bones, armature.pose.bones[tip])
    free = tuple(i for i, bone in enumerate(bones) if not is_locked(bone))
    if not free:
        raise FabrikError("the rotation of all its bones is locked")
    free = _with_links_between(line, free, use_limits)
    channels = tuple(present_channel(bone) for bone in bones)
    found = ChainBones(
        chain_name=chain_name,
        bones=bones,
        end=armature.pose.bones[tip],
        use_tail=use_tail,
        free=free,
        is_rigid=False,
        has_locks=any(has_locks(bones[i]) or (use_limits and bool(euler_limits_of(bones[i]))) for i in free),
        modes=tuple(bone.rotation_mode for bone in bones),
        channels=channels,
        rotations=tuple(rotation_from(*pair) for pair in zip(bones, channels, strict=True)),
        limits=tuple(limits_of(bone) for bone in bones) if use_limits else None,
        is_constrained=bool(overrides_of(armature, line, use_limits=False)),
        stretch=read_stretch(bones) if use_stretch else None,
    )
    # Where bones are stretched it is without that they must be rigid.
    matrices = chain_matrices(found) if use_stretch else [bone.matrix for bone in bones]
    parents = [bones[0].parent.matrix if bones[0].parent else None, *matrices]
    rigid = [turns_rigidly(bone, parent) for bone, parent in zip(bones, parents, strict=False)]
    is_rigid = all(rigid) and all(bones[i].bone.use_inherit_rotation for i in range(1, len(bones)) if i not in free)
    if not use_stretch:
        return replace(found, is_rigid=is_rigid)
    if not is_rigid:
        name = bones[rigid.index(False)].name if not all(rigid) else bones[0].name
        raise FabrikError(f"it can't stretch: bone '{name}' is mirrored, sheared or unevenly scaled")
    return replace(found, is_rigid=True, links=read_links(line, matrices, use_tail))


def _with_links_between(line: Sequence[PoseBone], free: tuple[int, ...], use_limits: bool) -> tuple[int, ...]:
    """Leave out bones that turn about the same joint as another one: the two are one piece.

    It is the upper one that turns, for what else hangs on it to come along, unless it can't or the lower one wouldn't.
    """
    kept: list[int] = []
    for i in free:
        if kept and share_joint(line[kept[-1]], line[i]):
            if not (is_carried_along(line[i], line[kept[-1]]) and can_turn(line[kept[-1]], use_limits)):
                kept[-1] = i
            continue
        kept.append(i)
    return tuple(kept)


def share_joint(bone: PoseBone, other: PoseBone) -> bool:
    """Tell whether two bones start at the same place, as they were made and as they are: not by a scale of nothing."""
    lengths = bone.bone.length + other.bone.length
    scale = max(lengths, bone.bone.head_local.length)
    if (bone.bone.head_local - other.bone.head_local).length > SAME_JOINT * scale:
        return False
    return (bone.head - other.head).length <= SAME_JOINT * max(scale, bone.head.length)


def is_carried_along(bone: PoseBone, above: PoseBone) -> bool:
    """Tell whether a bone turns with one of its parents."""
    link: PoseBone | None = bone
    while link is not None and link != above:
        if not link.bone.use_inherit_rotation:
            return False
        link = link.parent
    return link is not None


def can_turn(bone: PoseBone, use_limits: bool) -> bool:
    """Tell whether a bone's limits leave it any axis to turn about."""
    return not use_limits or any(low < high for low, high in zip(*limits_of(bone), strict=True))


def chain_matrices(bones: ChainBones) -> list[Matrix]:
    """Return where the bones of a chain and its end are before constraints: that is what their channels can change.

    Bones that stretch are where they would be without stretch.
    """
    line = bones.line
    if bones.stretch is not None and bones.stretch.is_stretched:
        return bone_matrices(bones, bones.rotations)
    if bones.is_constrained:
        return pose_matrices(line, [bone.matrix_basis for bone in line])
    return [bone.matrix for bone in line]


def bone_matrices(bones: ChainBones, rotations: Sequence[Quaternion]) -> list[Matrix]:
    """Return where the bones of a chain and its end would be with other rotations of their own, without stretch."""
    parts = zip(bones.bones, rotations, bones.scales, strict=True)
    bases = [basis_with(bone, rotation, scale) for bone, rotation, scale in parts]
    if bones.use_tail:
        return pose_matrices(bones.bones, bases)
    return pose_matrices((*bones.bones, bones.end), [*bases, bones.end.matrix_basis])


def stretched_positions(bones: ChainBones, root: Array, factors: Sequence[float]) -> Array:
    """Return where a chain's joints (J, 3) are in its present pose when its bones are stretched by factors."""
    point = Vector(root.tolist())
    heads = [point.copy()]
    for link, factor in zip(bones.links, factors, strict=True):
        point = point + link.aside + factor * link.along
        heads.append(point)
    return np.array([heads[i][:] for i in (*bones.free, -1)])


def read_pose(bones: ChainBones, matrices: Sequence[Matrix], rotations: Sequence[Quaternion]) -> tuple[Chain, Pose]:
    """Return the chain and its pose, given where its bones are and what their own rotations are there.

    Raises:
        FabrikError: a number isn't finite or a bone has no length.
    """
    last = matrices[-1]
    end = last @ Vector((0.0, bones.end.bone.length, 0.0)) if bones.use_tail else last.translation
    points = [matrices[i].to_translation()[:] for i in bones.free]
    points.append(end[:])
    frames = [matrices[i].to_quaternion() for i in bones.free]
    names = tuple(bones.bones[i].name for i in bones.free)
    positions = np.array(points)
    if not np.isfinite(positions).all():
        row = int(np.argwhere(~np.isfinite(positions))[0, 0])
        raise FabrikError(f"the position of bone '{(*names, names[-1])[row]}' is not a finite number")
    lengths = np.sqrt(np.square(positions[1:] - positions[:-1]).sum(axis=1))
    _check_lengths(lengths, names, bones.end.name)
    inherits = np.array([i == 0 or bones.bones[i].bone.use_inherit_rotation for i in (*bones.free, 0)])
    rows = np.array([frame[:] for frame in (*frames, frames[-1])])
    if bones.limits is None:
        return plain_chain(lengths, names, inherits=inherits), Pose(positions, rows)
    turn_in = [frame @ rotations[i].conjugated() for frame, i in zip(frames, bones.free, strict=True)]
    rests: list[tuple[float, ...]] = [(1.0, 0.0, 0.0, 0.0)]
    for parent, frame, inherit in zip(frames, turn_in[1:], inherits[1:], strict=False):
        rests.append((parent.conjugated() @ frame if inherit else frame)[:])
    limits = [bones.limits[i] for i in (*bones.free, bones.free[-1])]
    chain = plain_chain(
        lengths,
        names,
        rest=np.array([*rests, rests[-1]]),
        inherits=inherits,
        limits=(np.array([lower for lower, _ in limits]), np.array([upper for _, upper in limits])),
        stiffness=np.array([stiffness_of(bones.bones[i]) for i in (*bones.free, bones.free[-1])]),
    )
    return chain, Pose(positions, rows, np.array(turn_in[0][:]))


def check_root_moves(root: PoseBone) -> None:
    """Refuse a root whose location Blender or the rig holds.

    Raises:
        FabrikError: it is connected to its parent, or locked.
    """
    if root.bone.use_connect and root.parent is not None:
        raise FabrikError(f"its root can't follow: bone '{root.name}' is connected to its parent")
    if any(root.lock_location):
        raise FabrikError(f"its root can't follow: the location of bone '{root.name}' is locked")


def _check_lengths(lengths: Array, names: tuple[str, ...], end: str) -> None:
    shortest = int(lengths.argmin())
    # In single precision a shorter link is rounding, and has no direction.
    if lengths[shortest] <= 1e-6 * lengths.sum():
        following = (*names, end)[shortest + 1]
        reason = "its tail is at its head" if names[shortest] == end else f"the head of '{following}' is at its head"
        raise FabrikError(f"bone '{names[shortest]}' has no length: {reason}")
