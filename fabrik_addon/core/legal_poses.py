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

from .lanes import MANY
from .limits import JointLimits, clamp
from .nearest_pose import Array

EVEN = 512
"""Poses whose joints' places in their ranges change evenly from root to tip."""

SINGLE = 256
"""Poses whose joints are each for themselves."""

_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103)


@lru_cache(maxsize=16)
def legal_poses(limits: tuple[JointLimits, ...]) -> tuple[Array, Array]:
    """Return even (EVEN, B, 3) and single (SINGLE, B, 3) legal turns: half-sine about x, twist, half-sine about z."""
    bones = len(limits)
    ends = np.array([(joint.lower, joint.upper) for joint in limits])
    lower, upper = np.clip(ends, -math.pi, math.pi).swapaxes(0, 1)
    first, last, alone = np.split(_halton(EVEN, 9), 3, axis=-1)
    along = np.linspace(0.0, 1.0, bones)[None, :, None]
    even = first[:, None, :] * (1.0 - along) + last[:, None, :] * along
    # What the first joint does is done to all others: in every other pose it is for itself.
    even[::2, 0] = alone[::2]
    single = _halton(SINGLE, 3 * bones).reshape(SINGLE, bones, 3)
    made = []
    for shares in (even, single):
        turns = lower + shares * (upper - lower)
        with MANY.quiet():
            for j, joint in enumerate(limits):
                turns[:, j] = np.stack(clamp(MANY, joint, (turns[:, j, 0], turns[:, j, 1], turns[:, j, 2])), axis=-1)
        made.append(turns)
    return made[0], made[1]


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
