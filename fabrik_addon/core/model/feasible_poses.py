# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Poses that fill what limits allow, the same for every solve: where to start from when the pose at hand is no start.

Half of what a limb of many joints can reach it reaches only with all of them together, as a tentacle curls: poses whose
bends change evenly from root to tip find that, and among joints that are each for themselves are next to none of them.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..math.operations import ARRAY, Array
from ..model.joint_limits import JointLimits, clamp

COUNT = 384
"""Poses of each kind."""

_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103)


@lru_cache(maxsize=16)
def feasible_poses(limits: tuple[JointLimits, ...]) -> tuple[Array, Array, Array, Array]:
    """Return four kinds of legal turns (COUNT, B, 3): half-sine about x, twist, half-sine about z of every bone.

    Joints whose places in their ranges change evenly from root to tip; the same nearly straight, as limbs mostly are;
    those with the first joint, which moves all others, by itself; and each joint by itself.
    """
    bones = len(limits)
    ends = np.clip(np.array([(joint.lower, joint.upper) for joint in limits]), -math.pi, math.pi)
    lower, upper = ends.swapaxes(0, 1)
    along = np.linspace(0.0, 1.0, bones)[None, :, None]
    spread = _halton(3 * COUNT, 10)
    first, last, alone = np.split(spread[:, :9, None].swapaxes(1, 2), 3, axis=-1)
    even = lower + (first * (1.0 - along) + last * along) * (upper - lower)
    even[COUNT:, :, ::2] *= spread[COUNT:, None, 9:]
    even[2 * COUNT :, 0] = (lower[0] + alone * (upper[0] - lower[0]))[2 * COUNT :, 0]
    single = lower + _halton(COUNT, 3 * bones).reshape(COUNT, bones, 3) * (upper - lower)
    coordinates = np.concatenate([even, single])
    with ARRAY.quiet():
        for j, joint in enumerate(limits):
            coordinates[:, j] = np.stack(
                clamp(ARRAY, joint, (coordinates[:, j, 0], coordinates[:, j, 1], coordinates[:, j, 2])), axis=-1
            )
    one, two, three, four = np.split(coordinates, 4)
    return one, two, three, four


def _halton(count: int, axes: int) -> Array:
    """Return points (count, axes) that fill a unit cube evenly (Halton 1960)."""
    columns = []
    for axis in range(axes):
        base = _PRIMES[axis % len(_PRIMES)]
        # The first few points of a large base lie on a line.
        number: NDArray[np.int64] = np.arange(count) + 11 + 409 * (axis // len(_PRIMES))
        share, unit = np.zeros(count), 1.0
        while number.any():
            unit /= base
            share += unit * (number % base)
            number //= base
        columns.append(share)
    return np.stack(columns, axis=-1)
