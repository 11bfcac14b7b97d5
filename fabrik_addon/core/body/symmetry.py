# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plane that mirrors a skeleton's left onto its right, and the pairs of limbs that it mirrors."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ..math.operations import Array
from .rest_skeleton import RestSkeleton

SHORT = 0.02
"""Length of a subtree or a link, in units of the skeleton's size, below which it says nothing about the symmetry."""

NEARLY = 0.99
"""Component along an axis of the armature above which the direction of most votes is that axis: poses tilt it."""

LEAST_LIKENESS = 0.45
"""Likeness of two subtrees from which they can be left and right of each other."""


@dataclass(frozen=True)
class Plane:
    """The plane ``x . axis = offset``."""

    axis: Array
    """(3,) unit vector."""
    offset: float
    confidence: float
    """0 to 1: the larger of the shares of mirrored joints and of votes (``find_plane``); 0 without votes."""

    def distance(self, point: Array) -> float:
        """Return the signed distance of a point."""
        return float(point @ self.axis) - self.offset


def first_distinct(skeleton: RestSkeleton, a: int, b: int) -> tuple[int, int]:
    """Return the first bones along two limbs whose heads are apart: hip joints, where the pelvis bones start as one."""
    least, main = SHORT * skeleton.size, skeleton.subtrees.main
    while skeleton.distance(a, b) < least and min(main[a], main[b]) >= 0:
        a, b = main[a], main[b]
    return a, b


def find_plane(skeleton: RestSkeleton) -> Plane:
    """Return the plane that mirrors the skeleton best.

    Every pair of alike siblings is a vote: the unit vector v between their first joints, with the weight w, their
    likeness times the square of the shorter length. Limbs may be posed, their first joints are mirrored all the same.
    Candidates for the plane's axis a are the armature's axes and the direction of most votes, the first eigenvector of
    ``sum w v v^T``. The candidate is taken with the largest ``sum w (v.a)^2 / sum w``, the share of the votes, plus the
    share of mirrored joints; between nearly equal ones +X comes before +Y. The plane goes through the weighted median
    of the points halfway between the siblings that vote along a.
    """
    votes, middles, weights = _votes(skeleton)
    if not len(votes):
        extents = np.ptp(skeleton.heads, axis=0)
        side = 1 if extents[0] > extents[1] else 0
        return Plane(np.eye(3)[side], float(np.median(skeleton.heads[:, side])), 0.0)
    candidates = [np.eye(3)[0], np.eye(3)[1], np.eye(3)[2]]
    _values, vectors = np.linalg.eigh((votes * weights[:, None]).T @ votes)
    if np.abs(vectors[:, -1]).max() < NEARLY:
        candidates.append(vectors[:, -1] * np.sign(vectors[np.abs(vectors[:, -1]).argmax(), -1]))
    best, most = Plane(candidates[0], float(np.median(skeleton.heads[:, 0])), 0.0), -1.0
    for number, axis in enumerate(candidates):
        along = np.abs(votes @ axis)
        share = float((weights * along**2).sum() / weights.sum())
        chosen = along > 0.9
        source, weight = (middles[chosen] @ axis, weights[chosen]) if chosen.any() else (skeleton.heads @ axis, None)
        offset = _weighted_median(source, weight)
        mirrored = _mirrored_share(skeleton, axis, offset)
        score = share + 1.5 * mirrored + (0.1, 0.05, 0.0, 0.02)[number]
        if score > most:
            best, most = Plane(axis, offset, max(mirrored, share)), score
    return best


def _votes(skeleton: RestSkeleton) -> tuple[Array, Array, Array]:
    """Return directions between the first joints of alike siblings, the points halfway, and the weights."""
    votes, middles, weights = [], [], []
    least, trees = SHORT * skeleton.size, skeleton.subtrees
    for children in skeleton.children:
        long = trees.longest(children, 2.0 * least)
        for a, b in combinations(long, 2):
            like = trees.likeness(a, b)
            if like < LEAST_LIKENESS:
                continue
            first, second = first_distinct(skeleton, a, b)
            between = skeleton.heads[first] - skeleton.heads[second]
            distance = float(np.linalg.norm(between))
            if distance > least:
                votes.append(between / distance)
                middles.append(0.5 * (skeleton.heads[first] + skeleton.heads[second]))
                weights.append(like * min(trees.lengths[a], trees.lengths[b]) ** 2)
    return np.array(votes).reshape(-1, 3), np.array(middles).reshape(-1, 3), np.array(weights)


def _weighted_median(values: Array, weights: Array | None) -> float:
    """Return the value that half of the weight is below."""
    if weights is None:
        return float(np.median(values))
    order = np.argsort(values)
    sums = np.cumsum(weights[order])
    return float(values[order[np.searchsorted(sums, 0.5 * sums[-1])]])


def _mirrored_share(skeleton: RestSkeleton, axis: Array, offset: float) -> float:
    """Return the number of joints off the plane with a joint in their mirror image, over the number of all joints.

    Joints in the plane don't count as mirrored: a figure that stands in one plane would be mirrored by that plane.
    """
    near = SHORT * skeleton.size
    points = np.unique(np.round(skeleton.heads / near).astype(np.int64), axis=0) * near
    if len(points) > 250:
        points = points[:: len(points) // 250 + 1]
    distance = points @ axis - offset
    off = np.abs(distance) > 2.0 * near
    if not off.any():
        return 0.0
    images = points[off] - 2.0 * distance[off, None] * axis
    apart = np.abs(images[:, None] - points[None]).max(axis=2).min(axis=1)
    return float((apart <= 1.6 * near).sum() / len(points))
