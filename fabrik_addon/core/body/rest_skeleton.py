# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A skeleton at rest: bones, their parents among those that may take part, and what can be asked of the tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, log

import numpy as np
from numpy.typing import ArrayLike

from ..math.operations import Array
from ..problem import FabrikError

SAME_PLACE = 1e-3
"""Distance, in units of the skeleton's size, up to which two joints are in the same place."""

MOST = 30
"""Children of one bone that are compared with each other: among hundreds, those of a face, are no limbs."""


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

    def likeness(self, a: int, b: int) -> float:
        """Return how alike two subtrees are in length and number of bones, 0 to 1."""
        if not (self.lengths[a] > 0.0 and self.lengths[b] > 0.0):
            return 0.0
        lengths = abs(log(self.lengths[a] / self.lengths[b]))
        counts = abs(log(self.counts[a] / self.counts[b]))
        return exp(-3.0 * lengths - 0.7 * counts)


@dataclass(frozen=True)
class RestSkeleton:
    """The bones that may take part, parents before children; lists are by place in this order."""

    names: tuple[str, ...]
    bones: tuple[int, ...]
    """Index of each bone in the skeleton that was given."""
    parents: tuple[int, ...]
    """Place of each bone's nearest ancestor that takes part; -1 at a root."""
    heads: Array
    """(N, 3)"""
    tails: Array
    """(N, 3)"""

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Places of each bone's children."""
        children: list[list[int]] = [[] for _ in self.parents]
        for place, parent in enumerate(self.parents):
            if parent >= 0:
                children[parent].append(place)
        return tuple(tuple(line) for line in children)

    @cached_property
    def size(self) -> float:
        """Largest extent of the heads along an axis."""
        return float(np.ptp(self.heads, axis=0).max())

    @cached_property
    def subtrees(self) -> Subtrees:
        """What is measured of the subtree that starts at each bone.

        A bone at an end counts with its own length, but at most with that of the link to it, or 0.4 of it without
        ``tails_are_true``. A limb goes on along the longest subtree; one that starts at the tail counts 1.5 times, and
        one of several bones 1.2 times, so that the toes go on from a foot, not a marker at its heel. A single bone that
        starts before three fifths of its parent's length is beside it: a feather.
        """
        count = len(self.parents)
        heads, tails = self.heads, self.tails
        parents = np.array(self.parents)
        links = np.linalg.norm(heads - heads[np.maximum(parents, 0)], axis=1).tolist()
        own = np.linalg.norm(tails - heads, axis=1).tolist()
        at_tail = np.linalg.norm(heads - tails[np.maximum(parents, 0)], axis=1) < 0.01 * self.size
        lengths, counts, main = [0.0] * count, [1] * count, [-1] * count
        best = [0.0] * count
        for place in range(count - 1, -1, -1):
            parent, is_end = self.parents[place], not self.children[place]
            if parent < 0:
                lengths[place] = own[place] if is_end else lengths[place]
                continue
            if is_end:
                lengths[place] = min(own[place], (1.0 if self.tails_are_true else 0.4) * links[place])
            reach = links[place] + lengths[place]
            lengths[parent] = max(lengths[parent], reach)
            counts[parent] += counts[place]
            bone, toward = tails[parent] - heads[parent], heads[place] - heads[parent]
            if is_end and self.tails_are_true and float(toward @ bone) < 0.6 * float(bone @ bone):
                continue
            sure = (1.5 if at_tail[place] else 1.0) * (1.0 if is_end else 1.2)
            if (score := reach * sure) >= best[parent]:
                best[parent], main[parent] = score, place
        return Subtrees(lengths, counts, main)

    @cached_property
    def tails_are_true(self) -> bool:
        """Whether most bones with a child end where a child starts; importers that know no tails make them up."""
        parents = np.array(self.parents)
        inner = np.unique(parents[parents >= 0])
        at = np.abs(self.heads - self.tails[np.maximum(parents, 0)]).max(axis=1) < 0.01 * self.size
        return len(np.unique(parents[at & (parents >= 0)])) > 0.5 * len(inner)

    def distance(self, a: int, b: int) -> float:
        """Return the distance between the heads of two bones."""
        return float(np.linalg.norm(self.heads[a] - self.heads[b]))

    def beside(self, place: int, child: int, point: Array) -> tuple[float, float]:
        """Return how far along the link from a bone to its child a point is, and how far off it, over its length."""
        link, toward = self.heads[child] - self.heads[place], point - self.heads[place]
        square = float(link @ link)
        if not square > 0.0:
            return 0.0, np.inf
        share = float(toward @ link) / square
        return share, float(np.linalg.norm(toward - share * link)) / square**0.5

    def ancestors(self, place: int) -> list[int]:
        """Return the bone and its ancestors, root last."""
        line = []
        while place >= 0:
            line.append(place)
            place = self.parents[place]
        return line

    def common_ancestor(self, places: Sequence[int]) -> int:
        """Return the last bone that all these hang from, itself not one of them; -1 if there is none."""
        lines = [self.ancestors(place)[:0:-1] for place in places]
        common = -1
        for level in zip(*lines, strict=False):
            if len(set(level)) > 1:
                break
            common = level[0]
        return common

    def path(self, start: int, end: int) -> list[int]:
        """Return the bones from one to another through the tree, both included; empty if they are not connected."""
        up, down = self.ancestors(start), self.ancestors(end)
        meeting = next((place for place in up if place in down), None)
        if meeting is None:
            return []
        return up[: up.index(meeting) + 1] + down[: down.index(meeting)][::-1]


def read_skeleton(
    names: Sequence[str],
    parents: Sequence[int],
    heads: ArrayLike,
    tails: ArrayLike,
    usable: Sequence[bool] | None = None,
) -> RestSkeleton:
    """Check the input (arguments as of ``recognise``), and leave out the bones that may not take part.

    The parent of a bone whose own parent doesn't take part is the nearest ancestor that does, or a bone in the same
    place as an ancestor that doesn't.

    Raises:
        FabrikError: lengths differ, a parent doesn't exist, parents go round in a circle, a position is not finite, or
            there are no bones. The message names the bone.
    """
    count = len(names)
    start, end = np.asarray(heads, float), np.asarray(tails, float)
    if count == 0:
        raise FabrikError("the skeleton has no bones")
    if len(parents) != count:
        raise FabrikError(f"{count} bones, but {len(parents)} parents")
    if usable is not None and len(usable) != count:
        raise FabrikError(f"{count} bones, but {len(usable)} marks of which may take part")
    for what, points in (("heads", start), ("tails", end)):
        if points.shape != (count, 3):
            raise FabrikError(f"{what} of {count} bones have shape {points.shape}, not ({count}, 3)")
        wrong = np.flatnonzero(~np.isfinite(points).all(axis=1))
        if len(wrong):
            raise FabrikError(f"the rest position of {names[wrong[0]]} is not finite: {points[wrong[0]].tolist()}")
    order = _parents_first(names, parents)
    chosen = [bone for bone in order if usable is None or usable[bone]]
    if not chosen:
        raise FabrikError("none of the skeleton's bones may take part")
    places = {bone: place for place, bone in enumerate(chosen)}
    found = _nearest_taken(parents, start, end, places)
    return RestSkeleton(tuple(names[bone] for bone in chosen), tuple(chosen), tuple(found), start[chosen], end[chosen])


def taken(skeleton: RestSkeleton, usable: Sequence[bool] | None = None) -> RestSkeleton:
    """Return the skeleton of some of the bones, or of all, each after its parent."""
    inner = read_skeleton(skeleton.names, skeleton.parents, skeleton.heads, skeleton.tails, usable)
    return replace(inner, bones=tuple(skeleton.bones[place] for place in inner.bones))


def join_trees(skeleton: RestSkeleton, loose: Sequence[bool]) -> RestSkeleton:
    """Hang the roots besides the largest tree's on the bones that they start at.

    Legs that nothing connects to the hips are legs all the same. A tree hangs on the bone that is nearest to its root's
    head if that is near for the size of the tree; single bones and controls without a place in the body stay roots, and
    so does a bone that is ``loose``: what a rig hangs from ends no limb.
    """
    roots = [place for place, parent in enumerate(skeleton.parents) if parent < 0]
    if len(roots) < 2 or not skeleton.size > 0.0:
        return skeleton
    trees: dict[int, list[int]] = {root: [] for root in roots}
    root_of: list[int] = []
    for place, parent in enumerate(skeleton.parents):
        root_of.append(root_of[parent] if parent >= 0 else place)
        trees[root_of[-1]].append(place)
    order = sorted(roots, key=lambda root: -len(trees[root]))
    joined, parents = list(trees[order[0]]), list(skeleton.parents)
    for root in order[1:]:
        start, along = skeleton.heads[joined], skeleton.tails[joined] - skeleton.heads[joined]
        toward = skeleton.heads[root] - start
        share = np.clip((toward * along).sum(axis=1) / np.maximum((along**2).sum(axis=1), 1e-30), 0.0, 1.0)
        apart = np.linalg.norm(toward - share[:, None] * along, axis=1)
        nearest = int(apart.argmin())
        extent = float(np.ptp(np.vstack([skeleton.heads[trees[root]], skeleton.tails[trees[root]]]), axis=0).max())
        if len(trees[root]) > 1 and not loose[root] and apart[nearest] < min(0.4 * extent, 0.15 * skeleton.size):
            parents[root] = joined[nearest]
            joined += trees[root]
    return taken(replace(skeleton, parents=tuple(parents)))


def _parents_first(names: Sequence[str], parents: Sequence[int]) -> list[int]:
    """Return the bones so that each comes after its parent, children in their order."""
    count = len(names)
    children: list[list[int]] = [[] for _ in range(count)]
    order = []
    for bone, parent in enumerate(parents):
        if not -1 <= parent < count:
            raise FabrikError(f"the parent of {names[bone]} is bone {parent} of {count}")
        if parent < 0:
            order.append(bone)
        else:
            children[parent].append(bone)
    for bone in order:
        order.extend(children[bone])
    if len(order) < count:
        left = next(iter(sorted(set(range(count)) - set(order))))
        raise FabrikError(f"the parents of {names[left]} go round in a circle")
    return order


def _nearest_taken(parents: Sequence[int], heads: Array, tails: Array, places: dict[int, int]) -> list[int]:
    """Return the place of each taken bone's nearest ancestor that is taken, or has a taken bone in its place.

    The deform bones of a Rigify rig hang from mechanism bones: ``DEF-thigh.L`` from ``ORG-spine``, where
    ``DEF-spine`` is. Without this step each limb would be a tree of its own.
    """
    ends = np.stack([heads, tails], axis=1)
    extent = float(np.ptp(ends.reshape(-1, 3), axis=0).max())
    grid = SAME_PLACE * extent if extent > 0.0 else 1.0
    cells = np.round((ends - ends.min(axis=(0, 1))) / grid).astype(np.int64)
    keys = [tuple(line) for line in cells.reshape(-1, 6).tolist()]
    twins = {keys[bone]: bone for bone in reversed(places)}
    found = []
    for bone in places:
        ancestor = parents[bone]
        while ancestor >= 0 and ancestor not in places:
            twin = twins.get(keys[ancestor], bone)
            ancestor = twin if twin != bone and places[twin] < places[bone] else parents[ancestor]
        found.append(places[ancestor] if ancestor >= 0 else -1)
    return found
