# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cubic key reduction: which samples of a motion to keep as keys, so that the curve stays within a tolerance.

Between two keys the curve is the cubic Hermite interpolant of the values and slopes of the samples at the keys. Keys
are inserted as Ramer (1972) inserts the vertices of a polygon: begin with the first and the last sample; in every
interval between two keys insert the sample that is farthest from the curve, if it is farther than the tolerance; repeat
until no sample is.
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from .operations import Array, IntegerArray


def slopes_of(times: Array, values: Array) -> Array:
    """Return the slopes (K, C) of samples (K, C) at ascending times (K,).

    The slope of an inner sample is that of the parabola through the sample and its two neighbours: with the intervals h
    and k before and after it, and the slopes m and n of the chords to its neighbours, it is ``(m k + n h) / (h + k)``.
    The slope of the first and of the last sample is that of the chord, and 0 where there is only one sample.
    """
    return np.gradient(values, times, axis=0) if len(times) > 1 else np.zeros_like(values)


def interpolate(times: Array, values: Array, slopes: Array, kept: IntegerArray) -> Array:
    """Return the values (K, C) at all times of the Hermite curve through the kept samples.

    With t from 0 to 1 in the interval of length h from a to b:

        (1 + 2t)(1 - t)^2 p_a + t (1 - t)^2 h m_a + t^2 (3 - 2t) p_b - t^2 (1 - t) h m_b

    Values p and slopes m of the samples are (K, C); the first and the last sample are among those kept, ascending.
    """
    intervals = np.clip(np.searchsorted(kept, np.arange(len(times)), side="right") - 1, 0, len(kept) - 2)
    start, end = kept[intervals], kept[intervals + 1]
    step = (times[end] - times[start])[:, None]
    t = (times - times[start])[:, None] / step
    rest = 1.0 - t
    return (
        (1.0 + 2.0 * t) * rest**2 * values[start]
        + t * rest**2 * step * slopes[start]
        + t**2 * (3.0 - 2.0 * t) * values[end]
        - t**2 * rest * step * slopes[end]
    )


def needed_keys(
    times: Array, values: Array, slopes: Array, distance: Callable[[Array, Array], Array], tolerance: float
) -> IntegerArray:
    """Return the indices of the samples to keep so that the curve through them is within a tolerance of all samples.

    Args:
        times: (K,) ascending.
        values: (K, C) of the samples; the C components of a sample are kept or left out together.
        slopes: (K, C) at the samples.
        distance: function of values (K, C) of the curve and of the samples, to distances (K,) in the tolerance's unit.
        tolerance: largest distance of the curve from a sample.
    """
    count = len(times)
    kept = np.unique([0, count - 1])
    while 1 < len(kept) < count:
        off = distance(interpolate(times, values, slopes, kept), values)
        off[kept] = 0.0
        if off.max() <= tolerance:
            break
        worst = [start + int(off[start:end].argmax()) for start, end in pairwise(kept)]
        kept = np.union1d(kept, [index for index in worst if off[index] > tolerance])
    return kept
