# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plane that mirrors a skeleton's left onto its right, and the pairs of limbs that it mirrors."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import exp, log

import numpy as np

from ..math.operations import Array
from .rest_skeleton import RestSkeleton

SHORT = 0.02
"""Length of a subtree or a link, in units of the skeleton's size, below which it says nothing about the symmetry."""

MOST = 30
"""Children of one bone that are compared with each other: among hundreds, those of a face, are no limbs."""

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


@dataclass(frozen=True)
class Subtrees:
    """What is measured of the subtree that starts at each bone."""

    lengths: list[float]
    """Length along the bones to the farthest end."""
    counts: list[int]
    """Bones in it."""
    main: list[int]
    """The child along which a limb goes on; -1 at an end."""

    def longest(self, places: Sequence[int], least: float) -> list[int]:
        """Return the bones whose subtrees are at least so long, at most ``MOST`` of them, in their order."""
        long = [place for place in places if self.lengths[place] >= least]
        if len(long) > MOST:
            long = sorted(sorted(long, key=lambda place: -self.lengths[place])[:MOST])
        return long


def measure_subtrees(skeleton: RestSkeleton) -> Subtrees:
    """Measure the subtree of each bone.

    A bone at an end counts with its own length, but at most with that of the link to it, or 0.4 of it where tails
    aren't true (``tails_are_true``): importers that know no tails make them up. A limb goes on along the longest
    subtree; one that starts at the tail counts 1.5 times, and one of several bones 1.2 times, so that the toes go on
    from a foot, not a marker at its heel. A single bone that starts at the middle of another is beside it: a feather.
    """
    count = len(skeleton.parents)
    heads, tails = skeleton.heads, skeleton.tails
    parents = np.array(skeleton.parents)
    links = np.linalg.norm(heads - heads[np.maximum(parents, 0)], axis=1).tolist()
    own = np.linalg.norm(tails - heads, axis=1).tolist()
    at_tail = np.linalg.norm(heads - tails[np.maximum(parents, 0)], axis=1) < 0.01 * skeleton.size
    touching = tails_are_true(skeleton)
    lengths, counts, main = [0.0] * count, [1] * count, [-1] * count
    best = [0.0] * count
    for place in range(count - 1, -1, -1):
        parent = skeleton.parents[place]
        if not skeleton.children[place]:
            lengths[place] = min(own[place], (1.0 if touching else 0.4) * links[place]) if parent >= 0 else own[place]
        if parent >= 0:
            reach = links[place] + lengths[place]
            lengths[parent] = max(lengths[parent], reach)
            counts[parent] += counts[place]
            if not skeleton.children[place] and touching and _beside(skeleton, parent, place):
                continue
            sure = (1.5 if at_tail[place] else 1.0) * (1.2 if skeleton.children[place] else 1.0)
            if (score := reach * sure) >= best[parent]:
                best[parent], main[parent] = score, place
    return Subtrees(lengths, counts, main)


def tails_are_true(skeleton: RestSkeleton) -> bool:
    """Return whether most bones with a child end where a child starts; importers that know no tails make them up."""
    parents = np.array(skeleton.parents)
    inner = np.unique(parents[parents >= 0])
    at = np.abs(skeleton.heads - skeleton.tails[np.maximum(parents, 0)]).max(axis=1) < 0.01 * skeleton.size
    return len(np.unique(parents[at & (parents >= 0)])) > 0.5 * len(inner)


def _beside(skeleton: RestSkeleton, parent: int, place: int) -> bool:
    """Return whether a bone starts before three fifths of its parent's length."""
    own = skeleton.tails[parent] - skeleton.heads[parent]
    return float((skeleton.heads[place] - skeleton.heads[parent]) @ own) < 0.6 * float(own @ own)


def likeness(trees: Subtrees, a: int, b: int) -> float:
    """Return how alike two subtrees are in length and number of bones, 0 to 1."""
    if not (trees.lengths[a] > 0.0 and trees.lengths[b] > 0.0):
        return 0.0
    lengths = abs(log(trees.lengths[a] / trees.lengths[b]))
    counts = abs(log(trees.counts[a] / trees.counts[b]))
    return exp(-3.0 * lengths - 0.7 * counts)


def first_distinct(skeleton: RestSkeleton, trees: Subtrees, a: int, b: int) -> tuple[int, int]:
    """Return the first bones along two limbs whose heads are apart: hip joints, where the pelvis bones start as one."""
    least = SHORT * skeleton.size
    while skeleton.distance(a, b) < least:
        if trees.main[a] < 0 or trees.main[b] < 0:
            break
        a, b = trees.main[a], trees.main[b]
    return a, b


def find_plane(skeleton: RestSkeleton, trees: Subtrees) -> Plane:
    """Return the plane that mirrors the skeleton best.

    Every pair of alike siblings is a vote: the unit vector v between their first joints, with the weight w, their
    likeness times the square of the shorter length. Limbs may be posed, their first joints are mirrored all the same.
    Candidates for the plane's axis a are the armature's axes and the direction of most votes, the first eigenvector of
    ``sum w v v^T``. The candidate is taken with the largest ``sum w (v.a)^2 / sum w``, the share of the votes, plus the
    share of mirrored joints; between nearly equal ones +X comes before +Y. The plane goes through the weighted median
    of the points halfway between the siblings that vote along a.
    """
    votes, middles, weights = _votes(skeleton, trees)
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


def _votes(skeleton: RestSkeleton, trees: Subtrees) -> tuple[Array, Array, Array]:
    """Return directions between the first joints of alike siblings, the points halfway, and the weights."""
    votes, middles, weights = [], [], []
    least = SHORT * skeleton.size
    for children in skeleton.children:
        long = trees.longest(children, 2.0 * least)
        for a, b in combinations(long, 2):
            like = likeness(trees, a, b)
            if like < LEAST_LIKENESS:
                continue
            first, second = first_distinct(skeleton, trees, a, b)
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
