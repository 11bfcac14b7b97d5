# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is measured of a skeleton once its limbs are known, and what its shape says then: a role for each bone."""

from dataclasses import dataclass, field

import numpy as np

from ..math.operations import Array
from .limbs import Limb, Limbs, Pair, end_point
from .part import Role, Side
from .rest_skeleton import RestSkeleton
from .symmetry import Plane

GROUND = 0.15
"""Height of the end of a limb, in units of the skeleton's height, up to which the limb stands on the ground."""


@dataclass(frozen=True)
class Guess:
    """What the shape says about one bone."""

    role: Role
    side: int
    """1 on the side that the plane's axis points to, -1 on the other, 0 in the middle."""
    limb: int
    confidence: float


@dataclass
class ShapeReading:
    """What the shape says."""

    creature: str
    up: Array
    forward: Array
    sureness: float
    """0 to 1: how sure ``forward`` is, and with it which side is left."""
    plane: Plane
    guesses: dict[int, Guess] = field(default_factory=dict)
    reason: str = ""
    """Why nothing is said, if so."""

    def side(self, sign: int) -> Side:
        """Return the side that a sign stands for."""
        if sign == 0:
            return Side.CENTER
        left = float(np.cross(self.up, self.forward) @ self.plane.axis)
        return Side.LEFT if sign * left > 0.0 else Side.RIGHT


@dataclass(frozen=True)
class Anatomy:
    """A skeleton with its plane of symmetry, its limbs and up."""

    skeleton: RestSkeleton
    plane: Plane
    limbs: Limbs
    pairs: list[Pair]
    up: Array

    @property
    def height(self) -> float:
        """Extent of the joints along up."""
        return float(np.ptp(self.skeleton.heads @ self.up))

    @property
    def trunk_length(self) -> float:
        """Extent of the central bones across up."""
        heads = self.skeleton.heads[sorted(self.limbs.central)]
        flat = heads - (heads @ self.up)[:, None] * self.up
        return float(np.linalg.norm(np.ptp(flat, axis=0))) if len(heads) else 0.0

    def stands(self, pair: Pair) -> bool:
        """Return whether a pair of limbs leads down to the ground."""
        ground = min(float((self.skeleton.heads @ self.up).min()), *(each.end(self.up) for each in self.pairs), np.inf)
        drop = float(pair.start @ self.up) - pair.end(self.up)
        return drop > 0.12 * pair.length and pair.end(self.up) - ground < GROUND * self.height

    def forward(self, legs: list[Pair], arms: list[Pair]) -> tuple[Array, float]:
        """Return forward, and how sure its sign is.

        Votes are distances along ``axis x up``, over the lengths of the limbs, each bounded and weighted: of the toes
        from the ankles (weight 6), of the knees' bends (2), and, where these add up to less than 0.5, of the hands from
        the shoulders (1) and of the elbows' bends, which are backward (-2). The sign is that of their sum, and its
        sureness the size of the sum over ``0.5 + the sum of the votes' sizes``.
        """
        along = np.cross(self.plane.axis, self.up)
        along /= np.linalg.norm(along)
        vote, sum_of_weights = 0.0, 0.5
        for limb in [limb for pair in legs for limb in (pair.first, pair.second)]:
            ankle = self._ankle(limb.points)
            toes, knee = self._farthest_toe(limb) - limb.points[ankle], _bend(limb.points[: ankle + 1])
            for weight, ahead in ((6.0, toes @ along), (2.0, knee @ along)):
                ballot = weight * float(np.clip(ahead / max(limb.length, 1e-12), -0.2, 0.2))
                vote, sum_of_weights = vote + ballot, sum_of_weights + abs(ballot)
        for limb in [limb for pair in arms for limb in (pair.first, pair.second) if abs(vote) < 0.5]:
            hand = limb.points[-1] - limb.points[0]
            for weight, ahead in ((1.0, hand @ along), (-2.0, _bend(limb.points[len(limb.points) > 4 :]) @ along)):
                ballot = weight * float(np.clip(ahead / max(limb.length, 1e-12), -0.3, 0.3))
                vote, sum_of_weights = vote + ballot, sum_of_weights + abs(ballot)
        sign = 1.0 if vote >= 0.0 else -1.0
        return sign * along, min(1.0, abs(vote) / sum_of_weights)

    def toward_head(self, legs: list[Pair], forward: Array) -> tuple[Array, float]:
        """Return forward by the height of what the trunk has before and behind the legs, head and tail."""
        heads = self.skeleton.heads[sorted(self.limbs.central)]
        along, heights = heads @ forward, heads @ self.up
        starts = [float(pair.start @ forward) for pair in legs]
        before, behind = heights[along > max(starts)], heights[along < min(starts)]
        level = float(np.mean([pair.start @ self.up for pair in legs]))
        rise = max(before, default=level) - max(behind, default=level)
        sureness = min(1.0, abs(rise) / legs[0].length)
        return (forward if rise >= 0.0 else -forward), sureness

    def rise(self, legs: Pair) -> float:
        """Return how far the highest central bone is above where legs start."""
        highest = max((float(self.skeleton.heads[place] @ self.up) for place in self.limbs.central), default=-np.inf)
        return highest - float(legs.start @ self.up)

    def has_head(self, legs: Pair) -> bool:
        """Return whether central bones lead on from the bone that the legs hang from."""
        lengths, children = self.skeleton.subtrees.lengths, self.skeleton.children[legs.parent]
        return (
            max((lengths[child] for child in children if child in self.limbs.central), default=0.0) > 0.2 * legs.length
        )

    def _ankle(self, points: Array) -> int:
        """Return the joint after which a leg leads forward more than down."""
        heights = points @ self.up
        low = heights.min() + 0.2 * np.ptp(heights)
        return max(1, min(int(np.flatnonzero(heights <= low)[0]), len(points) - 2))

    def _farthest_toe(self, limb: Limb) -> Array:
        """Return the mean of the ends of the digits, or the end of the limb."""
        ends = [end_point(self.skeleton, digit[-1]) for digit in limb.digits] or [limb.points[-1]]
        return np.mean(ends, axis=0)

    def offsets(self, limb: Limb) -> Array:
        """Return the distances of a limb's points from the plane, over its length."""
        return np.abs(limb.points @ self.plane.axis - self.plane.offset) / max(limb.length, 1e-12)


def _bend(points: Array) -> Array:
    """Return from the line between a limb's ends to its joint that is farthest from it."""
    chord = points[-1] - points[0]
    length = float(chord @ chord)
    if not length > 0.0:
        return np.zeros(3)
    aside = points - points[0] - ((points - points[0]) @ chord / length)[:, None] * chord
    return aside[int((aside**2).sum(axis=1).argmax())]
