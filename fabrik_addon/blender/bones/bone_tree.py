# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: bones that rotate, as the core's chain and pose. One chain is a tree with one end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from mathutils import Matrix, Quaternion, Vector
from numpy.typing import NDArray

from ...core import Array, Chain, FabrikError, Pose
from ...core.math.quaternions import IDENTITY
from .bone_limits import UNLIMITED, Limits, check_limits, stiffness_of
from .euler_joints import EulerJoint, euler_joint_of
from .feasible_channels import BoneConstraints, constraints_of
from .rotation_channel import LockableChannel

if TYPE_CHECKING:
    from bpy.types import PoseBone

NO_LENGTH = 1e-6
"""Length of a link, over that of all links, below which it has no direction in single precision."""


class End(NamedTuple):
    """A joint at which no bone of the tree starts: a chain's end, or a target bone's head."""

    bone: PoseBone
    is_tail: bool
    """Whether the joint is at the bone's tail; else at its head."""
    row: int
    """Index of the bone in the tree's ``line``."""
    supporting_bone: int
    """Index of the tree's bone with which it moves."""


@dataclass(frozen=True)
class BoneTree:
    """Bones that rotate and how they hang together: what doesn't change while targets move."""

    bones: tuple[PoseBone, ...]
    """That rotate, parents first. Joint j of the tree is the head of bone j; the ends are the joints after these."""
    parents: tuple[int, ...]
    """Index of the bone with which each of them moves, or -1."""
    inherits: tuple[bool, ...]
    """Whether each of them rotates with that bone."""
    limits: tuple[Limits | None, ...]
    """The bones' smallest and largest angles; None where a bone's limits don't count."""
    line: tuple[PoseBone, ...]
    """All bones of which matrices are needed, parents first: those that rotate, those between them, the ends'."""
    rows: tuple[int, ...]
    """Index in ``line`` of each bone that rotates."""
    ends: tuple[End, ...]
    tips: tuple[int, ...]
    """Joint at which each chain ends."""
    starts: tuple[int, ...]
    """Joint at which each chain starts."""
    own_channels: tuple[LockableChannel, ...]
    """The rotation channels of the bones and their locks."""
    posture_weights: tuple[float, ...] | None = None
    """Weight of each bone that rotates in the posture task of a body; None of chains."""
    is_chain: bool = False
    """Whether these are the bones of one chain that is solved as a chain: the core then reads rest frames where there
    are limits only, and without limits none are computed (8 µs for 10 bones)."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The bones' names."""
        return tuple(bone.name for bone in self.bones)

    @property
    def roots(self) -> tuple[int, ...]:
        """Indices of the bones that move with no other one of the tree."""
        return tuple(number for number, parent in enumerate(self.parents) if parent < 0)

    @cached_property
    def has_anchor(self) -> bool:
        """Whether the core's first joint is an anchor, no bone's: the core takes one root, and here are several."""
        return len(self.roots) > 1

    @property
    def first_joint(self) -> int:
        """The core's joint at the head of the first bone: the joint after the anchor's, if there is one."""
        return 1 if self.has_anchor else 0

    @cached_property
    def core_joints(self) -> dict[str, int]:
        """The core's joint at the head of each bone, by the bones' names."""
        return {name: number for number, name in enumerate(self.names, self.first_joint)}

    @cached_property
    def rotation_parents(self) -> list[int]:
        """Index of the bone with which each bone rotates, or -1."""
        return [parent if inherits else -1 for parent, inherits in zip(self.parents, self.inherits, strict=True)]

    @cached_property
    def euler_joints(self) -> tuple[EulerJoint | None, ...]:
        """The Euler angles that each bone may have, where these are what limits it; of a chain None."""
        if self.is_chain:
            return (None,) * len(self.bones)
        pairs = zip(self.bones, self.limits, strict=True)
        return tuple(euler_joint_of(bone, use_limits=limits is not None) for bone, limits in pairs)

    @cached_property
    def constraints(self) -> tuple[BoneConstraints, ...]:
        """What constrains the bones that rotate."""
        return tuple(constraints_of(*each) for each in zip(self.bones, self.limits, self.own_channels, strict=True))

    def joints(self, matrices: Sequence[Matrix]) -> Array:
        """Return the joints (J, 3), bones' heads before ends, for matrices (armature space) of ``line``."""
        points = [matrices[row].to_translation()[:] for row in self.rows]
        for end in self.ends:
            matrix = matrices[end.row]
            tail = matrix @ Vector((0.0, end.bone.bone.length, 0.0)) if end.is_tail else matrix.to_translation()
            points.append(tail[:])
        return np.array(points)


class _Rows(NamedTuple):
    """One row for each joint, as the core has them."""

    parents: list[int]
    names: tuple[str, ...]
    positions: Array
    rotations: Array
    rest: Array
    lower: Array
    upper: Array
    stiffness: Array
    euler_orders: tuple[str, ...]
    inherits: NDArray[np.bool_]
    base: Array | None
    """Rest frame (4,) of the first bone; None where no rest frames are computed."""


def read_tree(
    tree: BoneTree,
    matrices: Sequence[Matrix],
    rotations: Sequence[Quaternion],
    weights: Sequence[float] = (1.0,),
    moving_roots: Sequence[int] = (0,),
) -> tuple[Chain, Pose]:
    """Return a tree and its pose, from matrices of its bones and their own rotations in the same pose.

    A bone's rest frame is that in which its own rotation is counted, ``F_p^-1 F_j q_j^-1``, or ``F_j q_j^-1`` in
    armature space where it doesn't rotate with a parent of the tree: limits are angles of ``q_j``.

    Args:
        matrices: of ``tree.line`` in armature space.
        rotations: ``q_j`` of ``tree.bones``.
        moving_roots: indices of the roots that may move.

    Raises:
        FabrikError: a number isn't finite, a bone has no length, or its limits contradict each other.
    """
    rows = _rows(tree, matrices, rotations)
    tips, starts, roots = np.array(tree.tips), np.array(tree.starts), tuple(moving_roots)
    lengths = link_lengths(rows.positions, rows.parents)
    _check_lengths(tree, rows, lengths)
    if tree.has_anchor:
        rows = _with_anchor(rows)
        tips, starts, roots = tips + 1, starts + 1, tuple(root + 1 for root in roots)
        lengths = link_lengths(rows.positions, rows.parents)
    if tree.posture_weights is not None:
        lengths[lengths <= NO_LENGTH * lengths.sum()] = 0.0
    chain = Chain(
        parents=np.array(rows.parents),
        lengths=lengths,
        tips=tips,
        weights=np.array(weights, float),
        lower=rows.lower,
        upper=rows.upper,
        rest=rows.rest,
        inherits=rows.inherits,
        stiffness=rows.stiffness,
        names=rows.names,
        euler_orders=rows.euler_orders,
        starts=starts,
        roots=roots,
        posture_weights=_posture_weights(tree),
        has_anchor=tree.has_anchor,
    )
    return chain, Pose(rows.positions, rows.rotations, rows.base)


def _rows(tree: BoneTree, matrices: Sequence[Matrix], rotations: Sequence[Quaternion]) -> _Rows:
    frames = [matrices[row].to_quaternion() for row in tree.rows]
    components = [frame[:] for frame in frames]
    components += [components[end.supporting_bone] for end in tree.ends]
    lower, upper, stiffness, euler_orders, is_limited = _limit_rows(tree)
    rest = np.array([IDENTITY] * len(components))
    has_rests = is_limited or not tree.is_chain
    if has_rests:
        rest[: len(frames)] = rest_frames_of(tree, frames, rotations)
    names = (*tree.names, *(tree.names[end.supporting_bone] for end in tree.ends))
    positions = tree.joints(matrices)
    if not np.isfinite(positions).all():
        row = int(np.argwhere(~np.isfinite(positions))[0, 0])
        raise FabrikError(f"the position of bone '{names[row]}' is not a finite number")
    return _Rows(
        parents=[*tree.parents, *(end.supporting_bone for end in tree.ends)],
        names=names,
        positions=positions,
        rotations=np.array(components),
        rest=rest,
        lower=lower,
        upper=upper,
        stiffness=stiffness,
        euler_orders=euler_orders,
        inherits=np.array([*tree.inherits, *[True] * len(tree.ends)]),
        base=rest[0] if has_rests else None,
    )


def rest_frames_of(
    tree: BoneTree, frames: Sequence[Quaternion], rotations: Sequence[Quaternion]
) -> list[tuple[float, ...]]:
    """Return the frame in which each bone's own rotation is counted (``read_tree``)."""
    rests = []
    for frame, rotation, parent in zip(frames, rotations, tree.rotation_parents, strict=True):
        counted_in = frame @ rotation.conjugated()
        rests.append((counted_in if parent < 0 else frames[parent].conjugated() @ counted_in)[:])
    return rests


def _limit_rows(tree: BoneTree) -> tuple[Array, Array, Array, tuple[str, ...], bool]:
    """Return the smallest and largest angles and the stiffness (J, 3), the orders of angles that are Euler angles, and
    whether a bone has any of these; an end has none."""
    shape = (len(tree.bones) + len(tree.ends), 3)
    lower, upper, stiffness = np.full(shape, -np.inf), np.full(shape, np.inf), np.zeros(shape)
    orders, is_limited = [""] * shape[0], False
    for row, (bone, limits, joint) in enumerate(zip(tree.bones, tree.limits, tree.euler_joints, strict=True)):
        stiff = (0.0, 0.0, 0.0) if limits is None else stiffness_of(bone)
        allowed, orders[row] = joint or (limits or UNLIMITED, "")
        if allowed != UNLIMITED or any(stiff):
            is_limited = True
            check_limits(bone, allowed)
            lower[row], upper[row] = allowed
            stiffness[row] = stiff
    return lower, upper, stiffness, tuple(orders), is_limited


def _posture_weights(tree: BoneTree) -> Array | None:
    """Return the weights (J,) of the joints in the posture task; those of ends, and of an anchor, count for nothing."""
    if tree.posture_weights is None:
        return None
    anchor = [1.0] if tree.has_anchor else []
    return np.array([*anchor, *tree.posture_weights, *[1.0] * len(tree.ends)])


def _with_anchor(rows: _Rows) -> _Rows:
    """Return the rows after that of an anchor: a joint below all others that can't rotate."""
    positions = rows.positions
    below = positions.min(axis=0) - np.ptp(positions, axis=0).max() * np.array([0.0, 0.0, 1.0])
    return _Rows(
        parents=[-1, *(parent + 1 for parent in rows.parents)],
        names=(rows.names[0], *rows.names),
        positions=np.vstack([below, positions]),
        rotations=np.vstack([IDENTITY, rows.rotations]),
        rest=np.vstack([IDENTITY, rows.rest]),
        lower=np.vstack([np.zeros(3), rows.lower]),
        upper=np.vstack([np.zeros(3), rows.upper]),
        stiffness=np.vstack([np.zeros(3), rows.stiffness]),
        euler_orders=("", *rows.euler_orders),
        inherits=np.concatenate([[True], rows.inherits]),
        base=np.array(IDENTITY),
    )


def link_lengths(positions: Array, parents: Sequence[int]) -> Array:
    """Return the length (J,) of the link that ends at each joint, 0 where no link does."""
    points = positions.tolist()
    ends = zip(parents, points, strict=True)
    return np.array([math.dist(points[parent], point) if parent >= 0 else 0.0 for parent, point in ends])


def _check_lengths(tree: BoneTree, rows: _Rows, lengths: Array) -> None:
    """Refuse a link without length, which has no direction; bones of a body may start at the same place.

    Raises:
        FabrikError: there is one.
    """
    least = NO_LENGTH * float(lengths.sum())
    for joint, (parent, length) in enumerate(zip(rows.parents, lengths.tolist(), strict=True)):
        if parent < 0 or length > least:
            continue
        end = tree.ends[joint - len(tree.bones)] if joint >= len(tree.bones) else None
        if end is None and tree.posture_weights is not None:
            continue
        name, following = rows.names[parent], rows.names[joint] if end is None else end.bone.name
        is_own_tail = end is not None and following == name
        reason = "its tail is at its head" if is_own_tail else f"the head of '{following}' is at its head"
        raise FabrikError(f"bone '{name}' has no length: {reason}")
