# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sampled poses within a chain's joint limits: starts of a solve for which the present pose is no good start.

They are the same for every solve: points of a Halton sequence, scaled to the ranges of the joint coordinates and
clamped to the limits. In half of them the coordinates change linearly from root to tip: some targets are reached only
with all joints bent alike, as a tentacle coils.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..math.operations import ARRAY, Array, quiet
from ..model.joint_limits import JointLimits, clamp

COUNT = 64
"""Poses of each kind; six times as many reach no more."""

_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103)


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
    ends = np.clip(np.array([(joint.lower, joint.upper) for joint in limits]), -math.pi, math.pi)
    lower, upper = ends.swapaxes(0, 1)
    along = np.linspace(0.0, 1.0, bones)[None, :, None]
    spread = _halton(COUNT, 10)
    first, last, alone = np.split(spread[:, :9, None].swapaxes(1, 2), 3, axis=-1)
    even = lower + (first * (1.0 - along) + last * along) * (upper - lower)
    even[:, :, ::2] *= spread[:, None, 9:]
    even[:, 0] = (lower[0] + alone * (upper[0] - lower[0]))[:, 0]
    single = lower + _halton(COUNT, 3 * bones).reshape(COUNT, bones, 3) * (upper - lower)
    coordinates: Array = np.stack([even, single])
    with quiet():
        for j, joint in enumerate(limits):
            x, twist, z = np.moveaxis(coordinates[:, :, j], -1, 0)
            coordinates[:, :, j] = np.stack(clamp(ARRAY, joint, (x, twist, z)), axis=-1)
    return coordinates


def _halton(count: int, axes: int) -> Array:
    """Return points (count, axes) of a Halton sequence (1960), which fills the unit cube evenly.

    Coordinate i of point k is k in the base of a prime with its digits mirrored at the point; axes beyond the number of
    primes take the same primes at other k.
    """
    columns = []
    for axis in range(axes):
        base = _PRIMES[axis % len(_PRIMES)]
        # Points with numbers below the base lie on a line: the first 11 are left out.
        number: NDArray[np.int64] = np.arange(count) + 11 + 409 * (axis // len(_PRIMES))
        share, unit = np.zeros(count), 1.0
        while number.any():
            unit /= base
            share += unit * (number % base)
            number //= base
        columns.append(share)
    return np.stack(columns, axis=-1)
