# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The bones of a constrained chain as arrays (S, B, ...), their forward kinematics, and sampled poses within limits.

The samples are starts of a solve for which the present pose is no good start, the same for every solve: points of a
Halton sequence, scaled to the ranges of the joint coordinates and clamped to the limits. In half of them the
coordinates change linearly from root to tip: some targets are reached only with all joints bent alike, as a tentacle
coils.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from ..math.operations import ARRAY, Array, quiet
from ..math.quaternion_arrays import to_matrices
from .joint_limits import JointLimits, clamp, rotation_of
from .tree_structure import TreeStructure

_COMPARED_DIGITS = 9
"""Digits of a chain's geometry that count for the tips of feasible poses: those after them are rounding, and differ
between two poses of the same chain."""

COUNT = 64
"""Sampled poses of each kind; six times as many reach no more."""

_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103)


class ChainStructure(TreeStructure):
    """The structure of a chain whose bones all have swing and twist as coordinates; the last joint is the tip."""

    @cached_property
    def columns(self) -> list[tuple[int, int]]:
        """(N) bone and axis of each coordinate that can change: of a bone the swings, and the twist after them."""
        return sorted(super().columns, key=lambda column: (column[0], column[1] == 1))


@lru_cache(maxsize=16)
def chain_structure(limits: tuple[JointLimits, ...], inherits: tuple[bool, ...]) -> ChainStructure:
    """Return the structure of a chain: what depends on the limits alone is found once for all solves."""
    count = len(limits) + 1
    parents = tuple(range(-1, count - 1))
    return ChainStructure(parents, (*inherits, True), (*limits, limits[-1]), (False,) * count, (0,), is_anchor=False)


@dataclass(frozen=True)
class Bones:
    """What poses of a constrained chain have in common; root at the origin."""

    rests: Array
    """(S or 1, B, 3, 3) rest frames, each in its parent's; in armature space for the first and for those alone."""
    links: Array
    """(S or 1, B, 3) from head to next joint, in each bone's own frame."""
    structure: ChainStructure

    def gather(self, poses: NDArray[np.int64] | NDArray[np.bool_]) -> Bones:
        """Return the bones of some poses."""
        if len(self.rests) == 1:
            return self
        return Bones(self.rests[poses], self.links[poses], self.structure)

    def feasible(self) -> tuple[Array, Array]:
        """Return two kinds of feasible poses (2, P, B, 3), and their tips (2, P, 3); of the first pose's bones."""
        rests, links = (np.round(rows[0], _COMPARED_DIGITS) + 0.0 for rows in (self.rests, self.links))
        return _feasible_tips(self.structure, rests.tobytes(), links.tobytes())


@lru_cache(maxsize=16)
def _feasible_tips(structure: ChainStructure, rests: bytes, links: bytes) -> tuple[Array, Array]:
    """Return ``Bones.feasible`` of a chain, found once for all solves of it: that is a tenth of the time of one."""
    poses = feasible_poses(structure.limits[:-1])
    bones = Bones(np.frombuffer(rests).reshape(1, -1, 3, 3), np.frombuffer(links).reshape(1, -1, 3), structure)
    return poses, frames_of(bones, poses.reshape(-1, *poses.shape[2:]))[2][:, -1].reshape(*poses.shape[:2], 3)


def frames_of(bones: Bones, coordinates: Array) -> tuple[Array, Array, Array]:
    """Return the parent frames (S, B, 3, 3) of bones, their own frames, and the joints (S, B + 1, 3)."""
    own = to_matrices(np.array(rotation_of(ARRAY, tuple(coordinates.transpose(2, 0, 1)))).transpose(1, 2, 0))
    from_parents = bones.rests @ own
    frames = np.empty_like(from_parents)
    before = np.empty_like(from_parents)
    before[:, 0] = np.eye(3)
    for j, inherits in enumerate(bones.structure.inherits[:-1]):
        if j:
            before[:, j] = frames[:, j - 1] if inherits else before[:, 0]
        np.matmul(before[:, j], from_parents[:, j], out=frames[:, j])
    joints = np.zeros((len(coordinates), len(bones.structure.inherits), 3))
    np.cumsum((frames @ bones.links[..., None])[..., 0], axis=1, out=joints[:, 1:])
    return before @ bones.rests, frames, joints


@lru_cache(maxsize=16)
def feasible_poses(limits: tuple[JointLimits, ...]) -> Array:
    """Return two kinds of joint coordinates (2, COUNT, bones, 3) within limits.

    1. At the share t of the way from the first to the last bone each coordinate is at the share ``(1 - t) u + t v`` of
       its range, with u and v sampled, and all half-sines are multiplied by one sampled share: nearer to straight. The
       coordinates of the first bone, which moves all others, are sampled by themselves.
    2. All coordinates of all bones sampled by themselves.

    A twist without limits is sampled from -pi to pi. The half-sines are in the first and the last column, the twist is
    between them.
    """
    bones = len(limits)
    lower, upper = np.clip(np.array([(joint.lower, joint.upper) for joint in limits]), -math.pi, math.pi).swapaxes(0, 1)
    along = np.linspace(0.0, 1.0, bones)[None, :, None]
    spread = _halton(10)
    first, last, alone = np.split(spread[:, :9, None].swapaxes(1, 2), 3, axis=-1)
    even = lower + (first * (1.0 - along) + last * along) * (upper - lower)
    even[:, :, ::2] *= spread[:, None, 9:]
    even[:, 0] = (lower[0] + alone * (upper[0] - lower[0]))[:, 0]
    single = lower + _halton(3 * bones).reshape(COUNT, bones, 3) * (upper - lower)
    coordinates: Array = np.stack([even, single])
    with quiet():
        for j, joint in enumerate(limits):
            x, twist, z = np.moveaxis(coordinates[:, :, j], -1, 0)
            coordinates[:, :, j] = np.stack(clamp(ARRAY, joint, (x, twist, z)), axis=-1)
    return coordinates


def _halton(axes: int) -> Array:
    """Return points (COUNT, axes) of a Halton sequence (1960), which fills the unit cube evenly.

    Coordinate i of point k is k in the base of a prime with its digits mirrored at the point; axes beyond the number of
    primes take the same primes at other k.
    """
    columns = []
    for axis in range(axes):
        base = _PRIMES[axis % len(_PRIMES)]
        # Points with numbers below the base lie on a line: the first 11 are left out.
        number: NDArray[np.int64] = np.arange(COUNT) + 11 + 409 * (axis // len(_PRIMES))
        share, unit = np.zeros(COUNT), 1.0
        while number.any():
            unit /= base
            share += unit * (number % base)
            number //= base
        columns.append(share)
    return np.stack(columns, axis=-1)
