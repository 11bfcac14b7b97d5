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
from .joint_limits import AT_LIMIT, JointLimits, clamp, rotation_of

_COMPARED_DIGITS = 9
"""Digits of a chain's geometry that count for the tips of feasible poses: those after them are rounding, and differ
between two poses of the same chain."""

COUNT = 64
"""Sampled poses of each kind; six times as many reach no more."""

_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103)


@dataclass(frozen=True)
class FreeAxes:
    """The axes of a chain's bones that aren't locked, and their limits; N of them."""

    limits: tuple[JointLimits, ...]
    inherits: tuple[bool, ...]
    """Whether each bone rotates with its parent."""

    @cached_property
    def numbers(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(N,), (N,) bone and axis, 0 to 2, of every axis that isn't locked: swings before the twist after them."""
        free = [(bone, axis) for bone, joint in enumerate(self.limits) for axis in (0, 2, 1) if not joint.locked[axis]]
        bones, axes = np.array(free, int).reshape(-1, 2).T
        return bones, axes

    @cached_property
    def free(self) -> NDArray[np.int64]:
        """(N,) numbers of the free axes among all."""
        bones, axes = self.numbers
        return 3 * bones + axes

    @cached_property
    def ends(self) -> tuple[Array, Array]:
        """(N,), (N,) smallest and largest of every free axis; infinite of swings in quarter ellipses with a width."""
        lower, upper = self.ranges.copy()
        if not self.has_flat_quarters:
            lower[self.both], upper[self.both] = -np.inf, np.inf
        return lower, upper

    @cached_property
    def has_flat_quarters(self) -> bool:
        """Whether some quarter ellipse has no width, because one of its limits is at rest."""
        return any(limits.has_flat_quarter for limits in self.limits)

    @cached_property
    def all_ranges(self) -> Array:
        """(2, B, 3) smallest and largest of every axis."""
        return np.array([(limits.lower, limits.upper) for limits in self.limits]).swapaxes(0, 1)

    @cached_property
    def ranges(self) -> Array:
        """(2, N) smallest and largest of every free axis."""
        return self.all_ranges.reshape(2, -1)[:, self.free]

    @cached_property
    def wide(self) -> tuple[NDArray[np.int64], list[Array], list[Array]]:
        """(H,) bones whose swings are kept below ``LARGEST_HALF_SINE``; smallest and largest (H,) of their x and z."""
        numbers = [j for j, limits in enumerate(self.limits) if limits.reaches_half_turn and not limits.is_ellipse]
        lower, upper = self.all_ranges[:, numbers, ::2].swapaxes(1, 2)
        return np.array(numbers, int), [*lower], [*upper]

    @cached_property
    def both(self) -> NDArray[np.int64]:
        """(2, P) which free axes are the x and the z of a swing in quarter ellipses."""
        has_ellipse = np.array([limits.is_ellipse for limits in self.limits])
        bone, axis = self.numbers
        first = np.flatnonzero((axis == 0) & has_ellipse[bone])
        return np.stack([first, first + 1])

    @cached_property
    def _radii(self) -> Array:
        """(2, 2, P) of those ellipses, in the directions of -x and -z and of x and z."""
        return np.maximum(np.abs(self.ranges[:, self.both]), AT_LIMIT)

    def radii_of(self, swings: Array) -> Array:
        """Return the radii (S, 2, P) of the quarters that swings (S, 2, P) are in."""
        down, up = self._radii
        return np.where(swings > 0.0, up, down)

    @cached_property
    def carried(self) -> NDArray[np.int64]:
        """(B,) the last joint that each bone rotates: the tip, or the head of a bone that doesn't inherit the rotation.

        What hangs on a bone that doesn't inherit is moved by its head, and isn't rotated.
        """
        ends = [len(self.inherits)]
        for j in range(len(self.inherits) - 1, 0, -1):
            ends.insert(0, ends[0] if self.inherits[j] else j)
        return np.array(ends)

    @cached_property
    def segment(self) -> NDArray[np.int64]:
        """(B,) number of the run of bones, each inheriting the rotation of the one before, that a bone is in."""
        return np.cumsum([j > 0 and not inherits for j, inherits in enumerate(self.inherits)])

    @cached_property
    def follows(self) -> Array:
        """(N, N) 1 where the first axis rotates what the second does to the tip, 1/2 where each does a part of it."""
        bones, axes = self.numbers
        place = 2 * bones + (axes == 1)
        same_run = self.segment[bones][:, None] == self.segment[bones][None, :]
        before, beside = place[:, None] < place[None, :], place[:, None] == place[None, :]
        return same_run * (1.0 * before + 0.5 * beside)


free_axes = lru_cache(maxsize=16)(FreeAxes)
"""What depends on the limits alone is found once for all solves."""


@dataclass(frozen=True)
class Bones:
    """What poses of a constrained chain have in common; root at the origin."""

    rests: Array
    """(S or 1, B, 3, 3) rest frames, each in its parent's; in armature space for the first and for those alone."""
    links: Array
    """(S or 1, B, 3) from head to next joint, in each bone's own frame."""
    axes: FreeAxes

    def gather(self, poses: NDArray[np.int64] | NDArray[np.bool_]) -> Bones:
        """Return the bones of some poses."""
        if len(self.rests) == 1:
            return self
        return Bones(self.rests[poses], self.links[poses], self.axes)

    def feasible(self) -> tuple[Array, Array]:
        """Return two kinds of feasible poses (2, P, B, 3), and their tips (2, P, 3); of the first pose's bones."""
        rests, links = (np.round(rows[0], _COMPARED_DIGITS) + 0.0 for rows in (self.rests, self.links))
        return _feasible_tips(self.axes, rests.tobytes(), links.tobytes())


@lru_cache(maxsize=16)
def _feasible_tips(axes: FreeAxes, rests: bytes, links: bytes) -> tuple[Array, Array]:
    """Return ``Bones.feasible`` of a chain, found once for all solves of it: that is a tenth of the time of one."""
    poses = feasible_poses(axes.limits)
    bones = Bones(np.frombuffer(rests).reshape(1, -1, 3, 3), np.frombuffer(links).reshape(1, -1, 3), axes)
    return poses, frames_of(bones, poses.reshape(-1, *poses.shape[2:]))[2][:, -1].reshape(*poses.shape[:2], 3)


def frames_of(bones: Bones, coordinates: Array) -> tuple[Array, Array, Array]:
    """Return the parent frames (S, B, 3, 3) of bones, their own frames, and the joints (S, B + 1, 3)."""
    own = to_matrices(np.stack(rotation_of(ARRAY, tuple(np.moveaxis(coordinates, -1, 0))), axis=-1))
    from_parents = bones.rests @ own
    frames = np.empty_like(from_parents)
    before = np.empty_like(from_parents)
    before[:, 0] = np.eye(3)
    for j, inherits in enumerate(bones.axes.inherits):
        if j:
            before[:, j] = frames[:, j - 1] if inherits else before[:, 0]
        np.matmul(before[:, j], from_parents[:, j], out=frames[:, j])
    joints = np.zeros((len(coordinates), len(bones.axes.inherits) + 1, 3))
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
