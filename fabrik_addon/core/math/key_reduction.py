# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which keys of a sampled motion are needed: the others are where a cubic through those kept has them anyway.

Between two keys the curve is Hermite's cubic by the values and slopes of the samples. Keys are added where the curve
is farthest off, in every gap that is too far off at once, until none is (Ramer 1972, for polylines).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .operations import Array


def slopes_of(times: Array, values: Array) -> Array:
    """Return the slopes (K, C) of samples (K, C) at ascending times (K,): of the parabola through the neighbours."""
    if len(times) < 2:
        return np.zeros_like(values)
    steps = np.diff(times)[:, None]
    rises = np.diff(values, axis=0) / steps
    slopes = np.empty_like(values)
    slopes[0], slopes[-1] = rises[0], rises[-1]
    before, after = steps[:-1], steps[1:]
    slopes[1:-1] = (rises[:-1] * after + rises[1:] * before) / (before + after)
    return slopes


def interpolate(times: Array, values: Array, slopes: Array, kept: NDArray[np.int64]) -> Array:
    """Return what the curve through kept samples (by number, first and last among them) is at all times (K, C)."""
    gaps = np.clip(np.searchsorted(kept, np.arange(len(times)), side="right") - 1, 0, len(kept) - 2)
    start, end = kept[gaps], kept[gaps + 1]
    step = (times[end] - times[start])[:, None]
    t = (times - times[start])[:, None] / step
    rest = 1.0 - t
    return (  # type: ignore[no-any-return]
        (1.0 + 2.0 * t) * rest**2 * values[start]
        + t * rest**2 * step * slopes[start]
        + t**2 * (3.0 - 2.0 * t) * values[end]
        - t**2 * rest * step * slopes[end]
    )


def needed_keys(
    times: Array, values: Array, slopes: Array, gap: Callable[[Array, Array], Array], tolerance: float
) -> NDArray[np.int64]:
    """Return the numbers of samples to keep so that the curve through them is within a tolerance of all others.

    Args:
        times: (K,) ascending.
        values: (K, C) of the samples; components are kept or left out together.
        slopes: (K, C) at the samples.
        gap: distances (K,) between values (K, C) and others, in the tolerance's unit.
        tolerance: how far off the curve may be at a sample.
    """
    count = len(times)
    kept = np.unique([0, count - 1])
    while 1 < len(kept) < count:
        off = gap(interpolate(times, values, slopes, kept), values)
        off[kept] = 0.0
        if off.max() <= tolerance:
            break
        edges = np.searchsorted(np.arange(count), kept)
        worst = [start + int(off[start:end].argmax()) for start, end in pairwise(edges)]
        kept = np.union1d(kept, [number for number in worst if off[number] > tolerance])
    return kept
