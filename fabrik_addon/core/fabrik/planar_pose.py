# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pose of a chain that bends toward a pole: one continuous family in the distance from the root to the target.

In the bend plane a chain is its bend angles b = (b_1 ... b_n-1), from each link to the next, all to the same side. With
B their sum, c the bends of the chain closed on one circle (``closed_bends``), C the sum of c, and k the
bends of the family's knee, the pose at which its two pieces meet and whose bends add up to K = ``KNEE``, the family is

    B <= K:  b = (B / K) k                                                        from straight to the knee,
    B >= K:  b = (B / C) c + ((C - B) / (C - K))^1.5 (k - (K / C) c)              from the knee to the closed chain.

The distance F from root to tip falls with B along both pieces: along the first by Cauchy's arm lemma, along the second
in all of 1500 random chains of 3 to 30 links. So there is one B for every distance between the shortest and the longest
reach, found by Newton's method in a bracket, and joints are continuous in the distance. Sides chosen joint by joint
rotated bones by up to 180 degrees between targets that are next to each other.

All poses of a family lead to the same family: k follows from the bends b of a start pose by solving the second line for
k (``_knee``).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise

from ..math.false_position import CLOSED_ERROR
from ..math.operations import TINY, Component, Components, Operations, Vector, add_up
from ..math.vectors import cross, dot, norm, subtract

HALVINGS = 54
"""Bisections of the longest link's half angle: pi / 2^54 is 2e-16, the rounding of a double."""

KNEE = 0.5 * math.pi
"""Sum of the bend angles (radians) up to which they keep their proportions; at 0.6 of half a turn F rises somewhere."""

POWER = 1.5
"""Exponent with which the proportions of the knee fade; powers are computed as ``r sqrt(r)``. At 1 more joints of
targets near the root lie beyond the line root-tip (9 % of random chains, not 3), at 2 F rises somewhere."""

LEAST_BEND_SUM = 1e-4
"""Sum of bend angles (radians) up to which it is filled by bends in the proportions of the closed chain: 30 joints in
single precision differ from straight by as much, and their own proportions are noise."""

LEAST_KNEE_BEND = -1e-5
"""Bend of a knee (radians) down to which it counts as zero: the rounding of a pose in single precision."""

STEEPNESS = 1e-2
"""Least fall of the distance F along both pieces, in chain lengths for each radian of all bends together, for which a
start pose that is in no family is taken as the knee of its own: F then falls all along in 5129 of 5130 start poses."""

MOST_NEWTON_STEPS = 80
"""Bound on the steps of Newton's method; 4 to 6 are usual."""

TIP_AT_ROOT = 1e-9
"""Distance from root to tip, over the chain's length, below which its direction is noise."""


@lru_cache(maxsize=256)
def closed_bends(lengths: tuple[float, ...]) -> tuple[float, ...]:
    """Return the bend angles (radians, at every inner joint) of the chain closed on one circle.

    With s = 1 / diameter a link of length l subtends half the angle ``h = asin(l s)`` at the circle's center, the
    longest link L perhaps ``pi - asin(L s)``, and a chain bends by ``h_j + h_j+1`` at the joint between links j and j +
    1. The half angles of a closed chain add up to pi; L's is found by bisection. A chain whose longest link is longer
    than all others together can't close: the others are folded back along it.
    """
    longest = max(range(len(lengths)), key=lengths.__getitem__)

    def half_angles(half_angle: float) -> list[float]:
        share = math.sin(half_angle) / lengths[longest]
        return [half_angle if j == longest else math.asin(min(length * share, 1.0)) for j, length in enumerate(lengths)]

    low, high = 0.0, math.pi
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if sum(half_angles(middle)) < math.pi else (low, middle)
    return tuple(a + b for a, b in pairwise(half_angles(0.5 * (low + high))))


def bend_angles(ops: Operations, joints: Sequence[Vector]) -> Components:
    """Return the angle, 0 to pi, between the links at every inner joint."""
    links = [subtract(after, before) for before, after in pairwise(joints)]
    return [ops.atan2(norm(ops, cross(a, b)), dot(a, b)) for a, b in pairwise(links)]


@dataclass(frozen=True)
class _Piece:
    """One piece of a family: headings of the links after the first, h(x) = start + x step + (1 - x)^1.5 fading."""

    start: Components
    step: Components
    fading: Components

    def headings(self, ops: Operations, x: Component) -> tuple[Components, Components]:
        """Return the headings and their derivatives at a share x, 0 to 1, of the piece."""
        root = ops.sqrt(1.0 - x)
        weight, slope = root * (1.0 - x), POWER * root
        headings = [a + x * b + weight * c for a, b, c in zip(self.start, self.step, self.fading, strict=True)]
        return headings, [b - slope * c for b, c in zip(self.step, self.fading, strict=True)]


def planar_pose(
    ops: Operations, bends: Components, lengths: Sequence[float], distance: Component
) -> tuple[Components, Components]:
    """Return the pose of the family through given bends whose tip is at a distance from the root.

    Args:
        bends: angles (radians, 0 to pi) between the links of the start pose, at each of two or more inner joints.
        lengths: of the links, adding up to one.
        distance: from the root to the target, between the shortest and the longest reach.

    Returns:
        the joints' coordinates along the line root-target and across it, on the side of the bend; root first.
    """
    closed = closed_bends(tuple(lengths))
    knee = [*accumulate(_knee(ops, bends, lengths, closed))]
    zero = 0.0 * distance
    nothing = [zero for _ in knee]
    start, step, fading = nothing, knee, nothing
    is_beyond = _chord(ops, knee, knee, lengths)[0] > distance
    if ops.any(is_beyond):
        # The last heading is the sum of the bends.
        share = knee[-1] / sum(closed)
        arc = [*accumulate(closed)]
        start = ops.choose(is_beyond, [share * c for c in arc], start)
        step = ops.choose(is_beyond, [(1.0 - share) * c for c in arc], step)
        fading = ops.choose(is_beyond, [k - share * c for c, k in zip(arc, knee, strict=True)], fading)
    lacking = ops.maximum(1.0 - distance, 0.0)
    # Half the angle of an arc of length one with this chord: exact at 0 and 1, within 5 % between.
    half_arc = ops.sqrt(6.0 * lacking) * (1.0 + (math.pi / math.sqrt(6.0) - 1.0) * lacking)
    guess = ops.where(is_beyond, 0.5 + zero, ops.minimum(2.0 * half_arc / knee[-1], 1.0))
    return _lay(ops, *_root(ops, _Piece(start, step, fading), guess, lengths, distance), lengths)


def _knee(ops: Operations, bends: Components, lengths: Sequence[float], closed: Sequence[float]) -> Components:
    """Return the bends at the knee of the family that a pose is in, or of a family that begins at the pose.

    A pose whose bends add up to at most ``KNEE`` is on the first piece. Any other pose is on the second piece of

        k = (KNEE / C) c + ((C - KNEE) / (C - B))^1.5 (b - (B / C) c)

    where no bend of this k is negative. If one is, the pose is in no family with this sum of bends at the knee. It is
    then taken as the knee itself, if the distance falls along both pieces there; else its bends, scaled to add up to
    KNEE, are.
    """
    most = sum(closed)
    total = add_up(bends)
    lacking = ops.maximum(LEAST_BEND_SUM - total, 0.0) / most
    if ops.any(lacking > 0.0):
        bends = [b + lacking * c for b, c in zip(bends, closed, strict=True)]
        total = add_up(bends)
    factor = KNEE / total
    scaled = [b * factor for b in bends]
    is_beyond_knee = total > KNEE
    if not ops.any(is_beyond_knee):
        return scaled
    is_open = total < most
    back = (most - KNEE) / ops.where(is_open, most - total, most)
    back = back * ops.sqrt(back)
    share = total / most
    retraced = [(KNEE / most) * c + back * (b - share * c) for b, c in zip(bends, closed, strict=True)]
    least = retraced[0]
    for bend in retraced[1:]:
        least = ops.minimum(least, bend)
    is_in_family = is_open & (least >= LEAST_KNEE_BEND)
    knee = ops.choose(is_beyond_knee & is_in_family, [ops.maximum(k, 0.0) for k in retraced], scaled)
    is_alone = is_beyond_knee & is_open & ops.negate(is_in_family)
    if ops.any(is_alone):
        headings = [*accumulate(bends)]
        _, outward = _chord(ops, headings, headings, lengths)
        fading = POWER / ops.where(is_open, most - total, most)
        inward = [c / most - fading * (h - share * c) for c, h in zip(accumulate(closed), headings, strict=True)]
        _, inward_slope = _chord(ops, headings, inward, lengths)
        is_steep = (outward < -STEEPNESS * total) & (inward_slope < -STEEPNESS)
        knee = ops.choose(is_alone & is_steep, bends, knee)
    return knee


def _root(
    ops: Operations, piece: _Piece, guess: Component, lengths: Sequence[float], distance: Component
) -> tuple[Components, Components]:
    """Return the headings at which the tip is at a distance, and their derivatives, by Newton's method in a bracket.

    A step that leaves the bracket is replaced by its bisection.
    """
    low, high = 0.0 * distance, 0.0 * distance + 1.0
    x = guess
    headings, step = piece.headings(ops, x)
    for _ in range(MOST_NEWTON_STEPS):
        chord, slope = _chord(ops, headings, step, lengths)
        error = chord - distance
        is_open = (error > CLOSED_ERROR) | (error < -CLOSED_ERROR)
        if not ops.any(is_open):
            break
        is_far = error > 0.0
        low, high = ops.where(is_far, x, low), ops.where(is_far, high, x)
        newton = x - error / ops.minimum(slope, -TINY)
        is_inside = (newton > low) & (newton < high)
        x = ops.where(is_open, ops.where(is_inside, newton, 0.5 * (low + high)), x)
        headings, step = piece.headings(ops, x)
    return headings, step


def _chord(
    ops: Operations, headings: Components, step: Components, lengths: Sequence[float]
) -> tuple[Component, Component]:
    """Return the distance from root to tip and its change for a step of the headings: F and dF/dx."""
    p, q, dp, dq = _tip(ops, headings, step, lengths)
    chord = ops.sqrt(p * p + q * q)
    return chord, (p * dp + q * dq) / (chord + TINY)


def _tip(
    ops: Operations, headings: Components, step: Components, lengths: Sequence[float]
) -> tuple[Component, Component, Component, Component]:
    """Return the tip, and its change for a step of the headings, where the first link lies along the first axis.

    With headings h_j, the sums of the bends before link j: tip = sum l_j (cos h_j, sin h_j).
    """
    p: Component = lengths[0]
    q = dp = dq = 0.0 * headings[0]
    for length, heading, change in zip(lengths[1:], headings, step, strict=True):
        along, across = length * ops.cos(heading), length * ops.sin(heading)
        p, q = p + along, q + across
        dp, dq = dp - across * change, dq + along * change
    return p, q, dp, dq


def _lay(
    ops: Operations, headings: Components, step: Components, lengths: Sequence[float]
) -> tuple[Components, Components]:
    """Return the joints along the line root-tip and across it."""
    p, q, dp, dq = _tip(ops, headings, step, lengths)
    # A tip at the root has no direction: that of the tip of a chain bent a little less is taken, minus the derivative.
    p, q = ops.choose(p * p + q * q > TIP_AT_ROOT * TIP_AT_ROOT, [p, q], [-dp, -dq])
    size = ops.sqrt(p * p + q * q) + TINY
    cosine, sine = p / size, q / size
    u, v = lengths[0] * cosine, lengths[0] * sine
    along, across = [0.0 * u, u], [0.0 * v, v]
    for length, heading in zip(lengths[1:], headings, strict=True):
        a, b = length * ops.cos(heading), length * ops.sin(heading)
        u, v = u + a * cosine + b * sine, v + a * sine - b * cosine
        along.append(u)
        across.append(v)
    return along, across
