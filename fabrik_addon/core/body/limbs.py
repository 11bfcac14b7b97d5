# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The limbs that hang from a skeleton's trunk, in pairs where the plane of symmetry mirrors them."""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from ..math.operations import Array
from .rest_skeleton import RestSkeleton
from .symmetry import SHORT, Plane, first_distinct

LONG = 0.1
"""Length of a limb, in units of the skeleton's size, below which it is a detail: an ear, a breast, a jaw."""


@dataclass(frozen=True)
class Limb:
    """A chain of bones from the trunk to an end or to where digits start, and the digits."""

    parent: int
    """The bone of the trunk that it hangs from; -1 for none."""
    path: tuple[int, ...]
    digits: tuple[tuple[int, ...], ...]
    """Chains that start where the path ends: fingers, toes."""
    points: Array
    """(len(path) + 1, 3) heads of the path's bones, and its end: the middle of the digits' starts, or a tail."""

    @cached_property
    def length(self) -> float:
        """Along the path, without the digits."""
        return float(np.linalg.norm(np.diff(self.points, axis=0), axis=1).sum())


@dataclass(frozen=True)
class Pair:
    """Two limbs that mirror each other."""

    first: Limb
    """The limb on the side that the plane's axis points to."""
    second: Limb
    start: Array
    """(3,) middle between the first joints of the two that are apart."""

    @property
    def parent(self) -> int:
        """The bone of the trunk that both hang from."""
        return self.first.parent

    @property
    def base(self) -> Array:
        """Middle between the heads of the first bones."""
        return 0.5 * (self.first.points[0] + self.second.points[0])

    @property
    def length(self) -> float:
        """Mean of the two lengths."""
        return 0.5 * (self.first.length + self.second.length)

    def end(self, up: Array) -> float:
        """Return the height of the lowest joints, the mean of both limbs."""
        return 0.5 * float((self.first.points @ up).min() + (self.second.points @ up).min())


@dataclass(frozen=True)
class Limbs:
    """All limbs of a skeleton."""

    pairs: tuple[Pair, ...]
    singles: tuple[Limb, ...]
    """Limbs off the plane without a twin."""
    central: frozenset[int]
    """The bones that belong to no limb: trunk, head, tail."""


def find_limbs(skeleton: RestSkeleton, plane: Plane) -> Limbs:
    """Return the limbs: what hangs from the trunk in mirrored pairs, or leads away from the plane."""
    pairs, singles, central = [], [], set[int]()
    lengths = skeleton.subtrees.lengths
    roots = tuple(place for place, parent in enumerate(skeleton.parents) if parent < 0)
    stack: list[tuple[int, tuple[int, ...]]] = [(-1, roots)]
    while stack:
        parent, children = stack.pop()
        twins = _twins(skeleton, plane, children)
        for a, b in twins:
            first, second = first_distinct(skeleton, a, b)
            start = 0.5 * (skeleton.heads[first] + skeleton.heads[second])
            if min(lengths[a], lengths[b]) >= LONG * skeleton.size:
                if plane.distance(skeleton.heads[first]) < 0.0:
                    a, b = b, a
                pairs.append(Pair(take_limb(skeleton, a, parent), take_limb(skeleton, b, parent), start))
        paired = {place for twin in twins for place in twin}
        for child in children:
            if child in paired:
                continue
            if plane.confidence > 0.0 and _leads_away(skeleton, plane, child):
                if lengths[child] >= LONG * skeleton.size:
                    singles.append(take_limb(skeleton, child, parent))
            else:
                central.add(child)
                stack.append((child, skeleton.children[child]))
    return Limbs(tuple(pairs), tuple(singles), frozenset(central))


def take_limb(skeleton: RestSkeleton, first: int, parent: int) -> Limb:
    """Return the limb that starts with a bone: along the main bones to the digits or the end."""
    path, digits = [first], list[tuple[int, ...]]()
    along, main = 0.0, skeleton.subtrees.main
    while main[path[-1]] >= 0:
        last = path[-1]
        digits = _digits(skeleton, last, along)
        if digits:
            break
        path.append(main[last])
        along += skeleton.distance(last, path[-1])
    heads = skeleton.heads[path]
    starts = [digit[0] for digit in digits]
    end = skeleton.heads[starts].mean(axis=0) if starts else end_point(skeleton, path[-1])
    return Limb(parent, tuple(path), tuple(digits), np.vstack([heads, end]))


def end_point(skeleton: RestSkeleton, place: int) -> Array:
    """Return a bone's tail, but no farther away than its parent is long: importers that know no tails make them up."""
    own = skeleton.tails[place] - skeleton.heads[place]
    length = float(np.linalg.norm(own))
    parent = skeleton.parents[place]
    most = skeleton.distance(parent, place) if parent >= 0 else length
    return skeleton.heads[place] + own * (min(1.0, most / length) if length > 0.0 else 0.0)


def _digits(skeleton: RestSkeleton, place: int, along: float) -> list[tuple[int, ...]]:
    """Return the chains of digits that start at a bone; empty if it doesn't end a limb.

    Three branches of at least 0.35 of the longest one's length, or two of two bones each, none longer than 0.8 of the
    limb before them. A branch of a digit is a digit too: Rigify's thumb hangs from the palm bone of the index finger.
    """
    trees = skeleton.subtrees
    reaches = {
        child: skeleton.distance(place, child) + trees.lengths[child]
        for child in skeleton.children[place]
        if trees.main[child] >= 0 or not _is_inside(skeleton, place, child)
    }
    longest = max(reaches.values(), default=0.0)
    branches = [child for child, reach in reaches.items() if reach >= 0.35 * longest]
    jointed = [child for child in branches if trees.main[child] >= 0]
    if not (len(jointed) >= 2 or len(branches) >= 3) or longest > max(0.8 * along, SHORT * skeleton.size):
        return []
    digits = []
    starts = branches if len(branches) >= 3 else jointed
    while starts:
        chain = [starts.pop(0)]
        while trees.main[chain[-1]] >= 0:
            starts += [
                child
                for child in skeleton.children[chain[-1]]
                if child != trees.main[chain[-1]] and trees.lengths[child] > 0.3 * longest
            ]
            chain.append(trees.main[chain[-1]])
        digits.append(tuple(chain))
    return digits


def _is_inside(skeleton: RestSkeleton, place: int, child: int) -> bool:
    """Return whether a child's head lies on the line to the bone along which a limb goes on: a twist bone's does."""
    main = skeleton.subtrees.main[place]
    if main in (-1, child):
        return False
    share, aside = skeleton.beside(place, main, skeleton.heads[child])
    return share < 0.95 and aside < 0.05


def _twins(skeleton: RestSkeleton, plane: Plane, children: tuple[int, ...]) -> list[tuple[int, int]]:
    """Return the pairs of siblings that the plane mirrors, the most alike first."""
    least, trees = SHORT * skeleton.size, skeleton.subtrees
    long = trees.longest(children, least)
    found = []
    for a, b in combinations(long, 2):
        like = trees.likeness(a, b)
        if like < 0.3:
            continue
        first, second = first_distinct(skeleton, a, b)
        between = skeleton.heads[first] - skeleton.heads[second]
        apart = float(np.linalg.norm(between))
        aside = 0.5 * (plane.distance(skeleton.heads[first]) + plane.distance(skeleton.heads[second]))
        sides = plane.distance(skeleton.heads[first]) * plane.distance(skeleton.heads[second])
        if sides >= 0.0 or apart < 0.25 * least or abs(float(between @ plane.axis)) < 0.75 * apart:
            continue
        if abs(aside) > 0.03 * skeleton.size + 0.15 * apart:
            continue
        error = 1.0 - abs(float(between @ plane.axis)) / apart + abs(aside) / skeleton.size
        found.append((like - 2.0 * error, a, b))
    taken: set[int] = set()
    twins = []
    for _score, a, b in sorted(found, reverse=True):
        if a not in taken and b not in taken:
            taken |= {a, b}
            twins.append((a, b))
    return twins


def _leads_away(skeleton: RestSkeleton, plane: Plane, place: int) -> bool:
    """Return whether a bone without a twin starts a limb: one that is off the plane along its whole length."""
    near, trees = 0.02 * skeleton.size, skeleton.subtrees
    long = [child for child in skeleton.children[place] if trees.lengths[child] > near]
    if abs(plane.distance(skeleton.heads[place])) < near and len(long) != 1:
        return False
    points = [skeleton.heads[place]]
    while trees.main[place] >= 0:
        place = trees.main[place]
        points.append(skeleton.heads[place])
    points.append(end_point(skeleton, place))
    distances = [plane.distance(point) for point in points]
    far = max(distances, key=abs)
    away = [abs(distance) > near and distance * far > 0.0 for distance in distances]
    return abs(far) > 3.0 * near and (away[0] or away[1]) and sum(away) >= 0.6 * len(away)
