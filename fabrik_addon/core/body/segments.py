# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which bones of a limb are which of its segments, from the lengths and bends between them."""

from itertools import combinations_with_replacement
from math import exp

import numpy as np

from ..math.operations import Array
from .creature import LimbKind
from .part import Role

MOST_LIMB_BONES = 11
"""Bones of a limb above which it is no arm or leg: a tentacle."""

USUAL_BENDS = (60.0, 45.0, 15.0, 15.0, 15.0, 60.0)
"""Bends in degrees between the bones of one segment that are still usual, for each segment from the part without a role
to the digits: those of a collar bone are larger than those of a forearm."""

FURTHER_BONES = (0.5, 0.5, 1.5, 1.5, 2.0, 0.3)
"""Cost of each bone after the first of a segment, segments as above; a fifth of it where twist bones divide the segment
into equal parts. A bone without length belongs to the one after it."""


def segment_roles(kind: LimbKind, points: Array, offsets: Array, has_digits: bool) -> list[tuple[Role | None, float]]:
    """Return the role of each bone of a limb with its probability.

    Args:
        kind: what the segments are and how long.
        points: (N + 1, 3) heads of the limb's bones and the end of the last.
        offsets: (N + 1,) distances of the points from the plane of symmetry, over the length of the limb.
        has_digits: whether digits start at the end, so that the last segment before them is there.

    The bones are divided into a first part without a role, the girdle (collar bone), two long segments, the last
    segment, and the first bones of the digits. A division is as likely as ``exp(-cost / 2)``, with the sum of squares
    of what is unusual (``_cost``). A bone's probability is the sum of those of all divisions that give it the role.
    """
    count = len(points) - 1
    if not 2 <= count <= MOST_LIMB_BONES:
        return [(None, 0.0)] * count
    steps = np.diff(points, axis=0)
    lengths = np.linalg.norm(steps, axis=1)
    along = [0.0, *np.cumsum(lengths).tolist()]
    unit = steps / np.maximum(lengths, 1e-12)[:, None]
    bends = [0.0, *np.degrees(np.arccos(np.clip((unit[1:] * unit[:-1]).sum(axis=1), -1.0, 1.0))).tolist()]
    merges = [1.0] * count
    for index in range(1, count):
        before, after = lengths[index - 1 : index + 1] < 1e-3 * along[-1]
        if before or after:
            bends[index] = 0.0
            merges[index] = 0.0 if before else 4.0
        elif abs(lengths[index] - lengths[index - 1]) < 0.02 * lengths[index] and bends[index] < 1.0:
            merges[index] = 0.2
    total = 0.0
    sums: list[dict[Role | None, float]] = [{} for _ in range(count)]
    roles = (None, *kind.roles)
    for bounds in combinations_with_replacement(range(count + 1), 5):
        cost = _cost(kind, bounds, along, bends, merges, offsets, has_digits)
        if cost > 40.0:
            continue
        weight = exp(-0.5 * cost)
        total += weight
        edges = (0, *bounds, count)
        for role, start, end in zip(roles, edges, edges[1:], strict=False):
            for index in range(start, end):
                sums[index][role] = sums[index].get(role, 0.0) + weight
    if total <= 0.0:
        return [(None, 0.0)] * count
    best = [max(line.items(), key=lambda item: item[1]) for line in sums]
    return [(role, weight / total) for role, weight in best]


def _cost(
    kind: LimbKind,
    bounds: tuple[int, ...],
    along: list[float],
    bends: list[float],
    merges: list[float],
    offsets: Array,
    has_digits: bool,
) -> float:
    """Return how unusual a division is. The bounds are the first bones of girdle, two long segments, last, digits."""
    count = len(along) - 1
    girdle, upper, lower, last, digit = bounds
    if upper == lower or lower == last:
        return np.inf
    if has_digits and (last == digit or digit < count - 1):
        return np.inf
    first, second = along[lower] - along[upper], along[last] - along[lower]
    both = first + second
    if not both > 0.0 or min(first, second) < 0.15 * both:
        return np.inf
    cost = ((first / both - kind.share) / 0.075) ** 2
    cost += sum(1.5 for index in {*bounds} if 0 < index < count and 0.0 < merges[index] < 1.0)
    cost += sum(
        4.0 for index in {*bounds[1:]} if 0 < index < count and along[index] - along[index - 1] < 1e-3 * along[-1]
    )
    edges = (0, *bounds, count)
    for start, end, usual_bend, further_bone in zip(edges, edges[1:], USUAL_BENDS, FURTHER_BONES, strict=False):
        cost += sum(merges[index] * further_bone + (bends[index] / usual_bend) ** 2 for index in range(start + 1, end))
    before = along[girdle] / both
    cost += 0.0 if girdle == 0 else 1.0 + (before / 0.3) ** 2 + (offsets[0] / 0.03) ** 2
    if upper > girdle:
        cost += ((along[upper] - along[girdle]) / both / kind.girdle) ** 2 + (0.0 if kind.has_girdle else 8.0)
        cost += kind.near * (offsets[girdle] / 0.12) ** 2
    elif kind.has_girdle:
        cost += 1.0
    if girdle == upper == 0:
        cost += kind.near * max(0.0, (0.06 - offsets[0]) / 0.03) ** 2
    if digit > last:
        cost += ((along[digit] - along[last]) / both / kind.last - 1.0) ** 2 / 0.8**2
    else:
        cost += 5.0
    if count > digit:
        cost += (1.5 if has_digits else 0.5) + ((along[count] - along[digit]) / both / 0.3) ** 2
    return cost
