# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the shape of a skeleton says, whatever its bones are called: kind of creature, directions, roles and sides."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..math.operations import Array
from .creature import CREATURES, FISH, HUMAN, QUADRUPED, WITH_LIMBS, Creature, LimbKind
from .limbs import LONG, Limb, Limbs, Pair, end_point, find_limbs, take_limb
from .part import Role, Side
from .rest_skeleton import RestSkeleton
from .segments import segment_roles
from .symmetry import SHORT, Plane, Subtrees, find_plane, measure_subtrees, tails_are_true

GROUND = 0.15
"""Height of the end of a limb, in units of the skeleton's height, up to which the limb stands on the ground."""

NO_JOINT = 0.004
"""Length of a link, in units of the skeleton's height, below which the bone is no joint of its own."""

MOST_TWINS = 0.25
"""Share of bones in the place of another above which a skeleton is one of controls in layers."""


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


def read_shape(skeleton: RestSkeleton) -> ShapeReading:
    """Return what the shape says."""
    up = np.array([0.0, 0.0, 1.0])
    if not skeleton.size > 0.0:
        plane = Plane(np.array([1.0, 0.0, 0.0]), 0.0, 0.0)
        return ShapeReading(WITH_LIMBS, up, np.array([0.0, -1.0, 0.0]), 0.0, plane, reason="the bones have no size")
    trees = measure_subtrees(skeleton)
    plane = find_plane(skeleton, trees)
    limbs = find_limbs(skeleton, trees, plane)
    pairs = _without_copies(skeleton, limbs.pairs)
    central = skeleton.heads[sorted(limbs.central)] if limbs.central else skeleton.heads
    up = _find_up(skeleton, plane, pairs, central.mean(axis=0))
    frame = _Frame(skeleton, trees, plane, limbs, pairs, up)
    if _layered(skeleton):
        forward, sureness = frame.forward([], [])
        reason = "many bones lie in the place of others, as in a rig of controls in layers"
        return ShapeReading(WITH_LIMBS, up, forward, sureness, plane, reason=reason)
    standing = [pair for pair in pairs if frame.stands(pair)]
    if _all_around(pairs):
        return _with_limbs(frame)
    if 1 <= len(standing) <= 2:
        reading = _creature(frame, standing)
        if reading is not None:
            return reading
    if pairs and _swims(frame):
        return _fish(frame)
    return _with_limbs(frame)


def _all_around(pairs: list[Pair]) -> bool:
    """Return whether three pairs of alike length or more hang from one bone, as a spider's legs do."""
    longest = max((pair.length for pair in pairs), default=0.0)
    long = [pair.parent for pair in pairs if pair.length > 0.65 * longest and len(pair.first.path) > 1]
    return any(long.count(parent) > 2 for parent in long)


def _swims(frame: _Frame) -> bool:
    """Return whether the trunk is long, level, and longer than three times its limbs, none of which has a foot."""
    longest = max(pair.length for pair in frame.pairs)
    legs = [pair for pair in frame.pairs if frame.stands(pair) and (pair.first.digits or len(pair.first.path) > 3)]
    long = frame.trunk_length > max(0.5 * frame.skeleton.size, longest / 0.35)
    return long and not legs and len(frame.pairs) <= 3


def _layered(skeleton: RestSkeleton) -> bool:
    """Return whether many bones lie in the place of others."""
    grid = 1e-3 * skeleton.size
    keys = np.round(np.hstack([skeleton.heads, skeleton.tails]) / grid).astype(np.int64)
    return len(np.unique(keys, axis=0)) < (1.0 - MOST_TWINS) * len(keys)


def _without_copies(skeleton: RestSkeleton, pairs: tuple[Pair, ...]) -> list[Pair]:
    """Return the pairs without those in the place of one with more bones, as the legs that MMD deforms with."""
    kept: list[Pair] = []
    for pair in sorted(pairs, key=lambda pair: (-len(pair.first.path) - len(pair.first.digits), pair.first.path)):
        near = 0.02 * skeleton.size
        if not any(
            np.abs(pair.start - other.start).max() < near
            and np.abs(pair.first.points[0] - other.first.points[0]).max() < near
            and np.abs(pair.first.points[-1] - other.first.points[-1]).max() < 3.0 * near
            for other in kept
        ):
            kept.append(pair)
    return kept


def _find_up(skeleton: RestSkeleton, plane: Plane, pairs: list[Pair], trunk: Array) -> Array:
    """Return the axis, across the plane's, along which limbs lead down to the lowest points: legs stand.

    The middle of the trunk is not below the legs: legs of a sitting figure lead farther forward than down.

    Without legs, +Z and then +Y, as in Blender and in most files from elsewhere.
    """
    best, most = np.array([0.0, 0.0, 1.0]), -1.0
    candidates = [sign * axis for axis in np.eye(3) for sign in (1.0, -1.0) if abs(axis @ plane.axis) < 0.5]
    for axis in candidates:
        up = axis - (axis @ plane.axis) * plane.axis
        up /= np.linalg.norm(up)
        heights = skeleton.heads @ up
        extent = float(np.ptp(heights))
        ground = min([float(heights.min()), *(pair.end(up) for pair in pairs)])
        score = {2: 0.1, 1: 0.08}.get(int(np.abs(axis).argmax()), 0.0) if axis.sum() > 0.0 else 0.0
        for pair in pairs:
            start = float(pair.start @ up)
            drop = start - pair.end(up)
            if drop > 0.0 and pair.end(up) - ground < GROUND * extent:
                share, fall = pair.length / skeleton.size, min(1.0, drop / pair.length)
                rise = max(0.0, float(trunk @ up) - start) / skeleton.size
                score += share * fall * (fall + 2.0 * rise)
        if score > most:
            best, most = up, score
    return best


@dataclass(frozen=True)
class _Frame:
    """What all kinds of creatures need."""

    skeleton: RestSkeleton
    trees: Subtrees
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

        Votes along ``axis x up``, over the lengths of the limbs: how far the toes are before the ankles, to which side
        the knees are bent, how far the hands are before the shoulders, and to which side the elbows are bent.
        """
        along = np.cross(self.plane.axis, self.up)
        along /= np.linalg.norm(along)
        vote, sum_of_weights = 0.0, 0.5
        for limb in [limb for pair in legs for limb in (pair.first, pair.second)]:
            toes = self._farthest_toe(limb) - limb.points[self._ankle(limb.points)]
            knee = _bend(limb.points[: self._ankle(limb.points) + 1])
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
        reach = [
            self.trees.lengths[child] for child in self.skeleton.children[legs.parent] if child in self.limbs.central
        ]
        return max(reach, default=0.0) > 0.2 * legs.length

    def _ankle(self, points: Array) -> int:
        """Return the joint after which a leg leads forward more than down."""
        heights = points @ self.up
        low = heights.min() + 0.2 * np.ptp(heights)
        return max(1, min(int(np.flatnonzero(heights <= low)[0]), len(points) - 2))

    def _farthest_toe(self, limb: Limb) -> Array:
        """Return the mean of the ends of the digits, or the end of the limb."""
        ends = [end_point(self.skeleton, digit[-1]) for digit in limb.digits] or [limb.points[-1]]
        end: Array = np.mean(ends, axis=0)
        return end

    def offsets(self, limb: Limb) -> Array:
        """Return the distances of a limb's points from the plane, over its length."""
        distances: Array = np.abs(limb.points @ self.plane.axis - self.plane.offset) / max(limb.length, 1e-12)
        return distances


def _bend(points: Array) -> Array:
    """Return from the line between a limb's ends to its joint that is farthest from it."""
    chord = points[-1] - points[0]
    length = float(chord @ chord)
    if not length > 0.0:
        return np.zeros(3)
    aside = points - points[0] - ((points - points[0]) @ chord / length)[:, None] * chord
    farthest: Array = aside[int((aside**2).sum(axis=1).argmax())]
    return farthest


def _creature(frame: _Frame, standing: list[Pair]) -> ShapeReading | None:
    """Return the reading of a creature with a trunk that stands on one pair of limbs or two."""
    legs, arms = standing[:1], list[Pair]()
    if len(standing) == 2:
        forward, sureness = frame.forward(standing, [])
        if sureness < 0.5:
            forward, sureness = frame.toward_head(standing, forward)
        legs, arms = [min(standing, key=lambda pair: float(pair.start @ forward))], []
        arms = [pair for pair in standing if pair is not legs[0]]
        apart = float((arms[0].start - legs[0].start) @ forward)
        if apart < 0.3 * legs[0].length or (arms[0].parent == legs[0].parent and not frame.has_head(legs[0])):
            return None
        arms += [pair for pair in _arms(frame, legs[0]) if pair is not arms[0]]
    else:
        arms = _arms(frame, legs[0])
        forward, sureness = frame.forward(legs, arms)
        others = [
            pair
            for pair in frame.pairs
            if all(pair is not each for each in (legs[0], *arms)) and pair.parent == legs[0].parent
        ]
        if any(pair.length > 0.65 * legs[0].length and len(pair.first.path) > 1 for pair in others):
            return None
        if not arms and not _carries_trunk(frame, legs[0]):
            return None
    upright = bool(arms) or frame.rise(legs[0]) > 0.5 * frame.trunk_length
    if arms and arms[0].parent != legs[0].parent and min(arms[0].parent, legs[0].parent) >= 0:
        trunk = frame.skeleton.heads[arms[0].parent] - frame.skeleton.heads[legs[0].parent]
        upright = float(trunk @ frame.up) > abs(float(trunk @ forward))
    share = legs[0].length / frame.height
    creature = next(
        (
            each
            for each in CREATURES
            if each.standing == len(standing)
            and each.upright == upright
            and each.leg_share[0] <= share <= each.leg_share[1]
        ),
        None,
    )
    confidence = creature.confidence if creature else 0.65
    if len(standing) == 2:
        confidence *= 0.5 + 0.5 * min(1.0, 1.5 * sureness)
    description = creature or (HUMAN if len(standing) == 1 else QUADRUPED)
    reading = ShapeReading(creature.name if creature else WITH_LIMBS, frame.up, forward, sureness, frame.plane)
    singles = [] if arms else _single_arms(frame, legs[0])
    for limb, sign in ((legs[0].first, 1), (legs[0].second, -1)):
        _put_limb(frame, reading, description.leg, limb, sign, 0, confidence)
    for number, pair in enumerate(sorted(arms, key=lambda pair: -float(pair.start @ forward))):
        sure = confidence if len(arms) == 1 else 0.8 * confidence
        for limb, sign in ((pair.first, 1), (pair.second, -1)):
            _put_limb(frame, reading, description.arm, limb, sign, number, sure)
    for limb in singles:
        sign = 1 if frame.plane.distance(limb.points[-1]) > 0.0 else -1
        _put_limb(frame, reading, description.arm, limb, sign, 0, 0.9 * confidence)
    _put_trunk(frame, reading, legs[0], arms, singles, description, confidence)
    return reading


def _carries_trunk(frame: _Frame, legs: Pair) -> bool:
    """Return whether legs without arms above them carry a trunk: longer than fins, and lower than a central bone."""
    jointed = bool(legs.first.digits) or len(legs.first.path) > 3
    return (jointed or legs.length > 0.35 * frame.trunk_length) and frame.rise(legs) > 0.1 * frame.height


def _arms(frame: _Frame, legs: Pair) -> list[Pair]:
    """Return the pairs of arms: limbs of several bones above the legs, the first along the trunk and those beside."""
    up = frame.up
    found = [
        pair
        for pair in frame.pairs
        if pair is not legs
        and len(pair.first.path) + len(pair.first.digits) >= 3
        and min(len(pair.first.path), len(pair.second.path)) >= 2
        and (float((pair.start - legs.start) @ up) > 0.1 * frame.height or pair.parent != legs.parent)
        and float((pair.start - legs.start) @ up) > 0.0
        and pair.parent >= 0
    ]
    if not found:
        return []
    longest = max(pair.length for pair in found)
    found = [pair for pair in found if pair.length >= 0.5 * longest]
    depth = {id(pair): len(frame.skeleton.path(legs.parent, pair.parent)) for pair in found}
    first = min(found, key=lambda pair: (depth[id(pair)], -pair.length))
    near = [pair for pair in found if depth[id(pair)] == depth[id(first)]]
    jointed = [pair for pair in near if pair.first.digits] or near
    return sorted(jointed, key=lambda pair: -pair.length)[:2]


def _single_arms(frame: _Frame, legs: Pair) -> list[Limb]:
    """Return a limb of several bones above the legs that has no twin."""
    found = [
        limb
        for limb in frame.limbs.singles
        if len(limb.path) >= 3 and limb.parent >= 0 and float((limb.points[0] - legs.start) @ frame.up) > 0.0
    ]
    return sorted(found, key=lambda limb: -limb.length)[:1]


def _put_limb(
    frame: _Frame, reading: ShapeReading, kind: LimbKind, limb: Limb, sign: int, number: int, confidence: float
) -> None:
    """Give the bones of an arm or a leg their roles."""
    roles = segment_roles(kind, limb.points, frame.offsets(limb), bool(limb.digits))
    if any(role is not None for role, _ in roles):
        ended = False
        for index, (place, (role, sure)) in enumerate(zip(limb.path, roles, strict=True)):
            if role is not None:
                at_end = ended and not limb.digits and reading.creature == HUMAN.name and kind is HUMAN.leg
                link = float(np.linalg.norm(limb.points[index + 1] - limb.points[index]))
                doubt = 0.5 if at_end or link < NO_JOINT * frame.height else 1.0
                reading.guesses[place] = Guess(role, sign, number, doubt * confidence * sure)
            ended = ended or role is kind.roles[-1]
    elif len(limb.path) > 3:
        for place in limb.path:
            reading.guesses[place] = Guess(Role.LIMB, sign, number, 0.7 * confidence)
        return
    last = kind.roles[-1]
    ahead = [(-float(frame.skeleton.heads[digit[0]] @ reading.forward), digit) for digit in limb.digits]
    for which, (_, digit) in enumerate(sorted(ahead)):
        for place in _phalanges(frame, limb, digit):
            reading.guesses[place] = Guess(last, sign, which, 0.9 * confidence)


def _phalanges(frame: _Frame, limb: Limb, digit: tuple[int, ...]) -> tuple[int, ...]:
    """Return a digit without its bone in the palm, or without an end bone: at most three bones move by themselves."""
    if len(digit) < 4:
        return digit
    heads = frame.skeleton.heads
    wrist = heads[limb.path[-1]]
    first = float(np.linalg.norm(heads[digit[1]] - heads[digit[0]]))
    return digit[1:4] if float(np.linalg.norm(heads[digit[0]] - wrist)) < first else digit[:3]


def _put_trunk(
    frame: _Frame,
    reading: ShapeReading,
    legs: Pair,
    arms: list[Pair],
    singles: list[Limb],
    creature: Creature,
    confidence: float,
) -> None:
    """Give the bones of the trunk their roles: hips where the legs hang, chest where the arms do, and what leads on."""
    skeleton, guesses = frame.skeleton, reading.guesses
    hips = legs.parent
    if hips < 0:
        return
    front = arms[0] if arms else None
    chest = front.parent if front else (singles[0].parent if singles else -1)
    start = front.base if front else (singles[0].points[0] if singles else None)
    tail = _tail(frame, reading.forward, hips, chest) or _loose_tail(frame, reading.forward, hips)
    if tail and skeleton.parents[tail[0]] not in (hips, -1):
        hips = skeleton.parents[tail[0]]
    elif not creature.upright and _starts_trunk(frame, skeleton.parents[hips], hips, chest):
        hips = skeleton.parents[hips]
    for place in tail:
        guesses[place] = Guess(Role.TAIL, 0, 0, (0.9 if len(tail) > 1 else 0.6) * confidence)
    guesses[hips] = Guess(Role.HIPS, 0, 0, confidence)
    if chest < 0 or chest == hips or start is None:
        return
    line = skeleton.path(hips, chest)
    for place in line[1:-1]:
        at_hips = skeleton.parents[hips] == place and _step(skeleton, hips, place) < 0.15 * _step(skeleton, hips, chest)
        guesses[place] = Guess(Role.HIPS if at_hips else Role.SPINE, 0, 0, 0.95 * confidence)
    guesses[chest] = Guess(Role.CHEST, 0, 0, 0.95 * confidence)
    above, sure = _head_chain(frame, chest, set(line))
    before = _along(frame, chest, above[0], start) if above else None
    if creature.upright and len(line) > 2 and before is not None and before < 0.1:
        guesses[line[-2]] = Guess(Role.CHEST, 0, 0, 0.7 * confidence)
        above = [chest, *above]
    while len(above) > 1 and (_along(frame, above[0], above[1], start) or 0.0) > 0.25:
        guesses[above.pop(0)] = Guess(Role.CHEST, 0, 0, 0.6 * confidence)
    for place in above[:-1]:
        guesses[place] = Guess(Role.NECK, 0, 0, 0.9 * confidence)
    for place in above[-1:]:
        guesses[place] = Guess(Role.HEAD, 0, 0, (0.9 if len(above) > 1 else 0.7) * sure * confidence)


def _loose_tail(frame: _Frame, forward: Array, hips: int) -> tuple[int, ...]:
    """Return a chain that ends at the hips and starts behind them: Rigify generates tails from their tips."""
    skeleton = frame.skeleton
    for root, parent in enumerate(skeleton.parents):
        if parent < 0 and root in frame.limbs.central and root not in skeleton.ancestors(hips):
            path = take_limb(skeleton, frame.trees, root, -1).path
            end = skeleton.tails[path[-1]]
            near = np.abs(end - skeleton.heads[[hips, *skeleton.ancestors(hips)[1:2]]]).max(axis=1).min()
            back = float((end - skeleton.heads[root]) @ forward)
            if len(path) > 1 and near < 0.05 * skeleton.size and back > 0.5 * LONG * skeleton.size:
                return path
    return ()


def _starts_trunk(frame: _Frame, parent: int, hips: int, chest: int) -> bool:
    """Return whether the trunk of an animal starts one bone before the one that its legs hang from."""
    skeleton = frame.skeleton
    if parent < 0 or chest < 0 or hips not in skeleton.ancestors(chest):
        return False
    step = _step(skeleton, parent, hips)
    touching = float(np.linalg.norm(skeleton.tails[parent] - skeleton.heads[hips])) < 0.1 * step
    return touching and SHORT * skeleton.size < step < 0.5 * _step(skeleton, parent, chest)


def _along(frame: _Frame, place: int, child: int, point: Array) -> float | None:
    """Return how far along the link from a bone to its child a point is, 0 to 1; None if both are in one place."""
    start = frame.skeleton.heads[place]
    link = frame.skeleton.heads[child] - start
    length = float(link @ link)
    if length < (0.02 * frame.skeleton.size) ** 2:
        return None
    return float((point - start) @ link) / length


def _tail(frame: _Frame, forward: Array, hips: int, chest: int) -> tuple[int, ...]:
    """Return the chain of central bones that leads backward from the hips or from a bone of the trunk before them."""
    skeleton, trees = frame.skeleton, frame.trees
    toward = set(skeleton.path(hips, chest)) if chest >= 0 else {hips}
    near, best, longest = skeleton.ancestors(hips)[:3], tuple[int, ...](), 0.0
    for parent in near:
        if chest >= 0 and parent != hips and parent not in frame.limbs.central:
            continue
        for child in skeleton.children[parent]:
            if child not in frame.limbs.central or child in toward or child in near:
                continue
            limb = take_limb(skeleton, trees, child, parent)
            back = float((limb.points[0] - limb.points[-1]) @ forward)
            path = tuple(place for place in limb.path if place in frame.limbs.central)
            if len(path) > 1 and back > max(0.35 * limb.length, longest) and limb.length > 0.5 * LONG * skeleton.size:
                best, longest = path, back
    return best


def _head_chain(frame: _Frame, chest: int, trunk: set[int]) -> tuple[list[int], float]:
    """Return the bones from the chest to the head, up to where the bones of the face branch, and how sure the last is.

    A bone without children after the head's may be a jaw, which leads aside, or an end bone, which is farther from the
    head's joint than that from the neck's. About one and a half times as far, it may be the head as well.
    """
    skeleton, trees = frame.skeleton, frame.trees
    touching = tails_are_true(skeleton)
    chain: list[int] = []
    place, sure = chest, 1.0
    while True:
        children = [
            child
            for child in skeleton.children[place]
            if child in frame.limbs.central and child not in trunk and child not in skeleton.ancestors(chest)
        ]
        children = [child for child in children if trees.lengths[child] > 0.0]
        if not children or (chain and not touching and len(skeleton.children[place]) > 2):
            break
        child = max(children, key=lambda each: trees.lengths[each] + _step(skeleton, place, each))
        if chain:
            gap = float(np.linalg.norm(skeleton.heads[child] - skeleton.tails[place]))
            own = float(np.linalg.norm(skeleton.tails[place] - skeleton.heads[place]))
            if _step(skeleton, place, child) < NO_JOINT * skeleton.size or (touching and gap > 0.5 * own):
                break
            if not skeleton.children[child]:
                turn, ratio = _after_neck(frame, skeleton.parents[place], place, child)
                if turn < 0.3:
                    break
                if _step(skeleton, place, child) > (0.06 if len(chain) > 1 else 0.085) * frame.height:
                    sure = 0.55 if 1.25 < ratio < 1.75 else 1.0
                    if ratio > 1.5:
                        break
        chain.append(child)
        place = child
    return chain, sure


def _after_neck(frame: _Frame, before: int, place: int, child: int) -> tuple[float, float]:
    """Return the cosine of the turn from the link to a bone to that to its child, and how much longer the second is."""
    heads = frame.skeleton.heads
    neck, head = heads[place] - heads[before], heads[child] - heads[place]
    lengths = float(np.linalg.norm(neck)), float(np.linalg.norm(head))
    if not min(lengths) > 0.0:
        return 1.0, 1.0
    return float(neck @ head) / (lengths[0] * lengths[1]), lengths[1] / lengths[0]


def _step(skeleton: RestSkeleton, a: int, b: int) -> float:
    return float(np.linalg.norm(skeleton.heads[b] - skeleton.heads[a]))


def _fish(frame: _Frame) -> ShapeReading:
    """Return the reading of a trunk whose pairs of limbs are short and carry nothing: fins.

    The longest pair is nearest to the head, and leads backward.
    """
    skeleton = frame.skeleton
    first = max(frame.pairs, key=lambda pair: pair.length)
    along = np.cross(frame.plane.axis, frame.up)
    along /= np.linalg.norm(along)
    central = [place for place in frame.limbs.central if place >= 0]
    middle = float(np.mean([skeleton.heads[place] @ along for place in central]))
    ahead = float(first.start @ along) - middle
    swept = float((first.first.points[-1] - first.first.points[0]) @ along) / first.length
    vote = 4.0 * ahead / skeleton.size - 0.5 * swept
    sign = 1.0 if vote >= 0.0 else -1.0
    sureness = min(1.0, 2.0 * abs(vote))
    reading = ShapeReading(FISH, frame.up, sign * along, sureness, frame.plane)
    ends = sorted(central, key=lambda place: float(end_point(skeleton, place) @ reading.forward))
    line = skeleton.path(ends[0], ends[-1])
    if first.parent in line:
        behind = line[: line.index(first.parent)]
        forks = [number for number, place in enumerate(behind) if len(skeleton.children[place]) > 1]
        behind = behind[forks[0] if forks else 0 :]
        for place in behind:
            reading.guesses[place] = Guess(Role.SPINE, 0, 0, 0.55)
        reading.guesses[line[-1]] = Guess(Role.HEAD, 0, 0, 0.6)
    head = set(line[line.index(first.parent) + 1 :]) if first.parent in line else set()
    numbers = {1: 0, -1: 0}
    for pair in sorted(frame.pairs, key=lambda pair: -float(pair.start @ reading.forward)):
        if pair.parent in head:
            continue
        for limb, side in ((pair.first, 1), (pair.second, -1)):
            for place in limb.path:
                reading.guesses[place] = Guess(Role.FIN, side, numbers[side], 0.6)
            numbers[side] += 1
    return reading


def _with_limbs(frame: _Frame) -> ShapeReading:
    """Return the limbs there are, as chains from a branching to an end.

    One pair or two that fit no description may be arms or legs: they are left open. Without feet forward is the side
    to which characters look in Blender, -Y where Z is up.
    """
    forward, _ = frame.forward([], [])
    usual = np.array([0.0, -1.0, 0.0]) if abs(frame.up[2]) > 0.5 else np.array([0.0, 0.0, 1.0])
    if float(forward @ usual) < 0.0:
        forward = -forward
    reading = ShapeReading(WITH_LIMBS, frame.up, forward, 0.4, frame.plane)
    chains: list[tuple[Limb, int]] = []
    for pair in frame.pairs:
        chains += [(pair.first, 1), (pair.second, -1)]
    for limb in frame.limbs.singles:
        chains.append((limb, 1 if frame.plane.distance(limb.points[-1]) > 0.0 else -1))
    long = [pair for pair in frame.pairs if frame.stands(pair)]
    same = len(long) > 1 and len({pair.parent for pair in long}) == 1
    if chains and not _all_around(frame.pairs) and not same:
        reading.reason = "its limbs fit no creature that is known"
        return reading
    chains += [(limb, 0) for limb in _branches(frame)]
    chains.sort(key=lambda each: (-float(each[0].points[-1] @ forward), -float(each[0].points[-1] @ frame.up)))
    numbers = {1: 0, -1: 0, 0: 0}
    for limb, sign in chains:
        for place in limb.path:
            reading.guesses[place] = Guess(Role.LIMB, sign, numbers[sign], 0.8)
        numbers[sign] += 1
    return reading


def _branches(frame: _Frame) -> list[Limb]:
    """Return the chains of the central bones, each from a branching to an end."""
    skeleton, trees, central = frame.skeleton, frame.trees, frame.limbs.central
    starts = [place for place, parent in enumerate(skeleton.parents) if parent < 0 and place in central]
    found = []
    while starts:
        path = [starts.pop(0)]
        while True:
            children = [child for child in skeleton.children[path[-1]] if child in central]
            if not children:
                break
            children.sort(key=lambda child: -trees.lengths[child])
            starts += children[1:]
            path.append(children[0])
        points = np.vstack([skeleton.heads[path], end_point(skeleton, path[-1])])
        length = float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())
        if length >= LONG * skeleton.size and len(path) > 1:
            found.append(Limb(skeleton.parents[path[0]], tuple(path), (), points, length))
    return found
