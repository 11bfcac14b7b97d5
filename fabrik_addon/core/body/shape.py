# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the shape of a skeleton says, whatever its bones are called: kind of creature, directions, roles and sides."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..math.operations import Array
from .anatomy import GROUND, Anatomy, Guess, ShapeReading
from .creature import CREATURES, FISH, HUMAN, QUADRUPED, WITH_LIMBS, LimbKind
from .limbs import LONG, Limb, Limbs, Pair, end_point, find_limbs, take_limb
from .part import Role
from .rest_skeleton import RestSkeleton
from .segments import MOST_LIMB_BONES, segment_roles
from .symmetry import Plane, find_plane
from .trunk import NO_JOINT, put_trunk

MOST_LIMBS = 40
"""Limbs above which chains are hair, cloth or leaves rather than limbs."""

MOST_TWINS = 0.25
"""Share of bones in the place of another above which a skeleton is one of controls in layers."""


AROUND = 5
"""Limbs of alike length around one bone from which on a creature has no arms and legs."""

MANY_LEGS = 3
"""Pairs of alike limbs along a trunk from which on a creature has no arms: an insect stands on three."""

UPWARD_COSINE = 0.5
"""Cosine of the angle between an axis and that of the plane of symmetry, below which the axis may be up."""

DETAIL = 0.35
"""Length of a limb over that of one nearer to the root, below which nothing stands on it."""

UNUSUAL = 0.6
"""Factor of what limbs say about up, where that is neither +Z nor +Y."""


def read_shape(skeleton: RestSkeleton, against: Array | None = None) -> ShapeReading:
    """Return what the shape says; ``against`` is a direction to which an animal doesn't look, if that is known."""
    up = np.array([0.0, 0.0, 1.0])
    if not skeleton.size > 0.0:
        plane = Plane(np.array([1.0, 0.0, 0.0]), 0.0, 0.0)
        return ShapeReading(WITH_LIMBS, up, np.array([0.0, -1.0, 0.0]), 0.0, plane, reason="the bones have no size")
    plane = find_plane(skeleton)
    limbs = find_limbs(skeleton, plane)
    pairs = _without_copies(skeleton, limbs.pairs)
    supports = [pair for pair in pairs if not _is_detail(skeleton, pair, pairs)]
    up = _find_up(skeleton, plane, supports, _middle_of_trunk(skeleton, limbs, supports))
    anatomy = Anatomy(skeleton, plane, limbs, pairs, up)
    if _layered(skeleton):
        forward, sureness = anatomy.forward([], [])
        reason = "many bones lie in the place of others, as in a rig of controls in layers"
        return ShapeReading(WITH_LIMBS, up, forward, sureness, plane, reason=reason)
    standing = [pair for pair in supports if anatomy.stands(pair)]
    around = _limbs_around(anatomy)
    if around:
        return _with_limbs(replace(anatomy, up=_up_of_limbs_around(anatomy, around)), around)
    many = _many_legs(anatomy)
    if many is not None:
        return _with_limbs(many, [limb for pair in many.pairs for limb in (pair.first, pair.second)])
    if 1 <= len(standing) <= 2:
        reading = _creature(anatomy, standing, against)
        if reading is not None:
            return reading
    if pairs and _swims(anatomy):
        return _fish(anatomy)
    return _with_limbs(anatomy, [])


def _middle_of_trunk(skeleton: RestSkeleton, limbs: Limbs, pairs: Sequence[Pair]) -> Array:
    """Return the mean of the joints between those from which pairs of limbs hang, and of where the pairs begin.

    Where all pairs hang from one joint it is the mean of all of the trunk's.

    A tail is no part of it: the middle of a kangaroo with its tail was so far behind that its arms and legs, which lead
    forward, led down from there, and +Y was up.
    """
    parents = [pair.parent for pair in pairs if pair.parent >= 0]
    if len({*parents}) < 2:
        trunk = set(limbs.central) or set(range(len(skeleton.heads)))
        return np.asarray(skeleton.heads[sorted(trunk)].mean(axis=0))
    between = {place for parent in parents for place in skeleton.path(parents[0], parent)}
    return np.concatenate([skeleton.heads[sorted(between)], [pair.base for pair in pairs]]).mean(axis=0)


def _limbs_around(anatomy: Anatomy) -> list[Limb]:
    """Return the limbs that hang around one bone, five at least and alike in length, as a spider's legs do.

    Empty where a pair as long hangs from another bone: the panels of a skirt hang from the hips as legs do, but arms
    hang from the chest. The plane of symmetry isn't used, since limbs all around have several.
    """
    skeleton = anatomy.skeleton
    for base, children in enumerate(skeleton.children):
        jointed = [child for child in children if skeleton.subtrees.main[child] >= 0]
        if len(jointed) < AROUND:
            continue
        limbs = sorted((take_limb(skeleton, child, base) for child in jointed), key=lambda each: -each.length)
        usual = limbs[AROUND - 1].length
        if usual < 0.25 * skeleton.size or usual < 0.5 * limbs[1].length:
            continue
        others = [pair for pair in anatomy.pairs if pair.parent != base and len(pair.first.path) > 1]
        if any(pair.length > 0.5 * usual for pair in others) or any(_forks(anatomy, limb) for limb in limbs):
            continue
        return [limb for limb in limbs if limb.length > LONG * skeleton.size]
    return []


def _up_of_limbs_around(anatomy: Anatomy, limbs: list[Limb]) -> Array:
    """Return the axis (``_axes_upward``) along which most of the limbs around a bone end on the ground.

    ``_find_up`` measures how far limbs lead down. The legs of a spider lead farther out than down, and its front pair
    leads as far along -Y as all pairs along -Z: with +Y up a spider stood on two of eight legs.
    """
    skeleton, axis = anatomy.skeleton, anatomy.plane.axis
    tails = skeleton.tails[[limb.path[-1] for limb in limbs]]
    starts = np.array([limb.points[0] for limb in limbs])
    best, most = anatomy.up, 0
    for up in _axes_upward(anatomy):
        heights = tails @ up
        on_ground = heights - heights.min() <= GROUND * float(np.ptp([*heights, *(skeleton.heads @ up)]))
        standing = int((on_ground & (heights < starts @ up)).sum())
        if standing > most:
            best, most = up - (up @ axis) * axis, standing
    return best / np.linalg.norm(best)


def _axes_upward(anatomy: Anatomy) -> list[Array]:
    """Return the axes that may lead upward, the one found so far, +Z and +Y, without what lies across the plane."""
    axes = (anatomy.up, np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0]))
    return [axis for axis in axes if abs(float(axis @ anatomy.plane.axis)) < UPWARD_COSINE]


def _many_legs(anatomy: Anatomy) -> Anatomy | None:
    """Return the anatomy with its jointed pairs alone and up, of a creature on three pairs or more; None of another.

    Alike pairs that hang on several bones, start at about the same height and end on the ground, as those of an ant, a
    crab or a centipede do. All of ``_axes_upward`` are tried: an ant's feelers lead farther along -Y than its legs
    along -Z, and were the legs of a human.
    """
    best, most = None, MANY_LEGS - 1
    jointed = [pair for pair in anatomy.pairs if min(len(pair.first.path), len(pair.second.path)) > 1]
    for axis in _axes_upward(anatomy):
        up = axis - (axis @ anatomy.plane.axis) * anatomy.plane.axis
        turned = replace(anatomy, pairs=jointed, up=up / np.linalg.norm(up))
        legs = [pair for pair in jointed if turned.stands(pair)]
        lengths, starts = [pair.length for pair in legs], [float(pair.start @ turned.up) for pair in legs]
        if len(legs) <= most or len({pair.parent for pair in legs}) < 2:
            continue
        if min(lengths) >= 0.5 * max(lengths) and np.ptp(starts) <= 0.5 * max(lengths):
            best, most = turned, len(legs)
    return best


def _forks(anatomy: Anatomy, limb: Limb) -> bool:
    """Return whether a chain of several bones leads off a limb before its digits: then it is a trunk, with a neck."""
    trees, ends = anatomy.skeleton.subtrees, {*limb.path, *(digit[0] for digit in limb.digits)}
    beside = [child for place in limb.path for child in anatomy.skeleton.children[place] if child not in ends]
    return any(trees.main[child] >= 0 and trees.lengths[child] > 0.5 * LONG * anatomy.skeleton.size for child in beside)


def _swims(anatomy: Anatomy) -> bool:
    """Return whether the trunk is long, level, and longer than three times its limbs, none of which has a foot."""
    longest = max(pair.length for pair in anatomy.pairs)
    legs = [pair for pair in anatomy.pairs if anatomy.stands(pair) and _is_jointed(pair)]
    long = anatomy.trunk_length > max(0.5 * anatomy.skeleton.size, longest / 0.35)
    return long and not legs and len(anatomy.pairs) <= 3


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


def _is_detail(skeleton: RestSkeleton, pair: Pair, pairs: list[Pair]) -> bool:
    """Return whether a pair of limbs is a detail of what is beyond a far longer pair, seen from the root: of a face.

    Of Rigify's human without legs the cheeks lead to the nose, along +Y most of all, and were legs.
    """
    above = skeleton.ancestors(pair.parent)[1:] if pair.parent >= 0 else []
    return any(other.parent in above and pair.length < DETAIL * other.length for other in pairs)


def _find_up(skeleton: RestSkeleton, plane: Plane, pairs: list[Pair], trunk: Array) -> Array:
    """Return the axis, across the plane's, along which limbs lead down to the lowest points: legs stand.

    Of the axes in both directions the one is taken with the largest sum of ``l f (f + 2 r)`` over the pairs of limbs
    that end near the lowest point: l is the limb's length in units of the skeleton's size, f its descent over its
    length, r how far the middle of the trunk is above its start, in the same units. Without r a sitting figure would
    stand along its thighs, which lead farther forward than down. +Z and then +Y, up in Blender and in most files from
    elsewhere, have a small addition to the sum, which decides where there are no legs.
    """
    best, most = np.array([0.0, 0.0, 1.0]), -1.0
    candidates = [sign * axis for axis in np.eye(3) for sign in (1.0, -1.0) if abs(axis @ plane.axis) < UPWARD_COSINE]
    for axis in candidates:
        up = axis - (axis @ plane.axis) * plane.axis
        up /= np.linalg.norm(up)
        heights = skeleton.heads @ up
        extent = float(np.ptp(heights))
        ground = min([float(heights.min()), *(pair.end(up) for pair in pairs)])
        usual = {2: 0.1, 1: 0.08}.get(int(np.abs(axis).argmax()), 0.0) if axis.sum() > 0.0 else 0.0
        score = 0.0
        for pair in pairs:
            start = float(pair.start @ up)
            drop = start - pair.end(up)
            if drop > 0.0 and pair.end(up) - ground < GROUND * extent:
                share, fall = pair.length / skeleton.size, min(1.0, drop / pair.length)
                rise = max(0.0, float(trunk @ up) - start) / skeleton.size
                score += share * fall * (fall + 2.0 * rise)
        score = usual + (1.0 if usual else UNUSUAL) * score
        if score > most:
            best, most = up, score
    return best


class _Stance(NamedTuple):
    """The legs on which a creature with a trunk stands, its other pairs of limbs, and where it looks."""

    legs: Pair
    arms: list[Pair]
    forward: Array
    sureness: float


def _on_two_pairs(anatomy: Anatomy, standing: list[Pair], against: Array | None) -> _Stance | None:
    """Return the stance of a creature on two pairs of limbs, the legs behind; None where that is no such creature."""
    if not any(map(_is_jointed, standing)) and standing[0].length < 0.35 * anatomy.trunk_length:
        return None
    forward, sureness = anatomy.forward(standing, [])
    if sureness < 0.5:
        other, other_sureness = anatomy.toward_head(standing, forward)
        agreement = 1.0 if float(other @ forward) > 0.0 else -1.0
        if other_sureness > sureness:
            forward = other
        sureness = abs(sureness + agreement * other_sureness)
    if against is not None and float(forward @ against) > 0.0:
        forward = -forward
    legs = min(standing, key=lambda pair: float(pair.start @ forward))
    arms = [pair for pair in standing if pair is not legs]
    apart = float((arms[0].start - legs.start) @ forward)
    if apart < 0.3 * legs.length or (arms[0].parent == legs.parent and not anatomy.has_head(legs)):
        return None
    return _Stance(legs, [*arms, *(pair for pair in _arms(anatomy, legs) if pair is not arms[0])], forward, sureness)


def _on_one_pair(anatomy: Anatomy, legs: Pair) -> _Stance | None:
    """Return the stance of a creature on one pair of limbs; None where that is no such creature."""
    arms = _arms(anatomy, legs)
    others = [
        pair for pair in anatomy.pairs if all(pair is not each for each in (legs, *arms)) and pair.parent == legs.parent
    ]
    if not arms and any(pair.length > 0.65 * legs.length and len(pair.first.path) > 1 for pair in others):
        return None
    if not arms and not _carries_trunk(anatomy, legs):
        return None
    if arms and arms[0].parent == legs.parent and not anatomy.has_head(legs):
        return None
    return _Stance(legs, arms, *anatomy.forward([legs], arms))


def _creature(anatomy: Anatomy, standing: list[Pair], against: Array | None) -> ShapeReading | None:
    """Return the reading of a creature with a trunk that stands on one pair of limbs or two."""
    is_on_two = len(standing) == 2
    stance = _on_two_pairs(anatomy, standing, against) if is_on_two else _on_one_pair(anatomy, standing[0])
    if stance is None:
        return None
    legs, arms, forward, sureness = stance
    upright = bool(arms) or anatomy.rise(legs) > 0.5 * anatomy.trunk_length
    if arms and arms[0].parent != legs.parent and min(arms[0].parent, legs.parent) >= 0:
        trunk = anatomy.skeleton.heads[arms[0].parent] - anatomy.skeleton.heads[legs.parent]
        upright = float(trunk @ anatomy.up) > abs(float(trunk @ forward))
    share = legs.length / anatomy.height
    creature = next((each for each in CREATURES if each.fits(len(standing), upright, share)), None)
    confidence = creature.confidence if creature else 0.65
    if len(standing) == 2:
        confidence *= min(1.0, 0.1 + 2.0 * sureness)
    description = creature or (HUMAN if len(standing) == 1 else QUADRUPED)
    reading = ShapeReading(creature.name if creature else WITH_LIMBS, anatomy.up, forward, sureness, anatomy.plane)
    singles = [] if arms else _single_arms(anatomy, legs)
    for limb, sign in ((legs.first, 1), (legs.second, -1)):
        _put_limb(anatomy, reading, description.leg, limb, sign, 0, confidence)
    for number, pair in enumerate(sorted(arms, key=lambda pair: -float(pair.start @ forward))):
        sure = confidence if len(arms) == 1 else 0.8 * confidence
        for limb, sign in ((pair.first, 1), (pair.second, -1)):
            _put_limb(anatomy, reading, description.arm, limb, sign, number, sure)
    for limb in singles:
        sign = 1 if anatomy.plane.distance(limb.points[-1]) > 0.0 else -1
        _put_limb(anatomy, reading, description.arm, limb, sign, 0, 0.9 * confidence)
    put_trunk(anatomy, reading, legs, arms, singles, description, confidence)
    return reading


def _is_jointed(pair: Pair) -> bool:
    """Return whether limbs have digits or more than three bones: a fin has neither."""
    return bool(pair.first.digits) or len(pair.first.path) > 3


def _carries_trunk(anatomy: Anatomy, legs: Pair) -> bool:
    """Return whether legs without arms above them carry a trunk: longer than fins, and lower than a central bone."""
    is_long = _is_jointed(legs) or legs.length > 0.35 * anatomy.trunk_length
    return is_long and anatomy.rise(legs) > 0.1 * anatomy.height


def _arms(anatomy: Anatomy, legs: Pair) -> list[Pair]:
    """Return the pairs of arms: limbs of several bones above the legs, the first along the trunk and those beside."""
    up = anatomy.up
    found = [
        pair
        for pair in anatomy.pairs
        if pair is not legs
        and len(pair.first.path) + len(pair.first.digits) >= 3
        and min(len(pair.first.path), len(pair.second.path)) >= 2
        and len(pair.first.path) <= MOST_LIMB_BONES
        and (float((pair.start - legs.start) @ up) > 0.1 * anatomy.height or pair.parent != legs.parent)
        and float((pair.start - legs.start) @ up) > 0.0
        and pair.parent >= 0
    ]
    if not found:
        return []
    longest = max(pair.length for pair in found)
    found = [pair for pair in found if pair.length >= 0.5 * longest]
    depth = {id(pair): len(anatomy.skeleton.path(legs.parent, pair.parent)) for pair in found}
    first = min(found, key=lambda pair: (depth[id(pair)], -pair.length))
    for single in _single_arms(anatomy, legs):
        if single.length > first.length and len(anatomy.skeleton.path(legs.parent, single.parent)) < depth[id(first)]:
            return []  # the other arm is missing: the pair is in the face
    near = [pair for pair in found if depth[id(pair)] == depth[id(first)]]
    jointed = [pair for pair in near if pair.first.digits] or near
    return sorted(jointed, key=lambda pair: -pair.length)[:2]


def _single_arms(anatomy: Anatomy, legs: Pair) -> list[Limb]:
    """Return a limb of several bones above the legs that has no twin."""
    found = [
        limb
        for limb in anatomy.limbs.singles
        if len(limb.path) >= 3 and limb.parent >= 0 and float((limb.points[0] - legs.start) @ anatomy.up) > 0.0
    ]
    return sorted(found, key=lambda limb: -limb.length)[:1]


def _put_limb(
    anatomy: Anatomy, reading: ShapeReading, kind: LimbKind, limb: Limb, sign: int, number: int, confidence: float
) -> None:
    """Give the bones of an arm or a leg their roles."""
    roles = segment_roles(kind, limb.points, anatomy.offsets(limb), bool(limb.digits))
    if any(role is not None for role, _ in roles):
        ended = False
        for index, (place, (role, sure)) in enumerate(zip(limb.path, roles, strict=True)):
            if role is not None:
                at_end = ended and not limb.digits and reading.creature == HUMAN.name and kind is HUMAN.leg
                link = float(np.linalg.norm(limb.points[index + 1] - limb.points[index]))
                doubt = 0.5 if at_end or link < NO_JOINT * anatomy.height else 1.0
                doubt *= sure if kind in (QUADRUPED.arm, QUADRUPED.leg) else 1.0  # their proportions differ most
                reading.guesses[place] = Guess(role, sign, number, doubt * confidence * sure)
            ended = ended or role is kind.roles[-1]
    elif len(limb.path) > 3:
        for place in limb.path:
            reading.guesses[place] = Guess(Role.LIMB, sign, number, 0.7 * confidence)
        return
    last = kind.roles[-1]
    ahead = [(-float(anatomy.skeleton.heads[digit[0]] @ reading.forward), digit) for digit in limb.digits]
    for which, (_, digit) in enumerate(sorted(ahead)):
        for place in _phalanges(anatomy, limb, digit):
            reading.guesses[place] = Guess(last, sign, which, 0.9 * confidence)


def _phalanges(anatomy: Anatomy, limb: Limb, digit: tuple[int, ...]) -> tuple[int, ...]:
    """Return a digit without its bone in the palm, or without an end bone: at most three bones move by themselves."""
    if len(digit) < 4:
        return digit
    distance = anatomy.skeleton.distance
    return digit[1:4] if distance(digit[0], limb.path[-1]) < distance(digit[1], digit[0]) else digit[:3]


def _fish(anatomy: Anatomy) -> ShapeReading:
    """Return the reading of a trunk whose pairs of limbs are short and carry nothing: fins.

    The longest pair is nearest to the head, and leads backward.
    """
    skeleton = anatomy.skeleton
    first = max(anatomy.pairs, key=lambda pair: pair.length)
    along = np.cross(anatomy.plane.axis, anatomy.up)
    along /= np.linalg.norm(along)
    central = [place for place in anatomy.limbs.central if place >= 0]
    middle = float(np.mean([skeleton.heads[place] @ along for place in central]))
    ahead = float(first.start @ along) - middle
    swept = float((first.first.points[-1] - first.first.points[0]) @ along) / first.length
    vote = 4.0 * ahead / skeleton.size - 0.5 * swept
    sign = 1.0 if vote >= 0.0 else -1.0
    sureness = min(1.0, abs(vote))
    reading = ShapeReading(FISH, anatomy.up, sign * along, sureness, anatomy.plane)
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
    for pair in sorted(anatomy.pairs, key=lambda pair: -float(pair.start @ reading.forward)):
        if pair.parent in head:
            continue
        for limb, side in ((pair.first, 1), (pair.second, -1)):
            for place in limb.path:
                reading.guesses[place] = Guess(Role.FIN, side, numbers[side], 0.6)
            numbers[side] += 1
    return reading


def _with_limbs(anatomy: Anatomy, around: list[Limb]) -> ShapeReading:
    """Return the limbs around a bone, or all that there are, as chains from a branching to an end.

    One pair or two that fit no description may be arms or legs: they are left open. Without feet forward is the side
    to which characters look in Blender, -Y where Z is up.
    """
    forward, _ = anatomy.forward([], [])
    usual = np.array([0.0, -1.0, 0.0]) if abs(anatomy.up[2]) > 0.5 else np.array([0.0, 0.0, 1.0])
    if float(forward @ usual) < 0.0:
        forward = -forward
    reading = ShapeReading(WITH_LIMBS, anatomy.up, forward, 0.4, anatomy.plane)
    pairs = [pair for pair in anatomy.pairs if not around]
    limbs = [limb for pair in pairs for limb in (pair.first, pair.second)] or around
    limbs += [limb for limb in anatomy.limbs.singles if not around]
    standing = [pair for pair in pairs if anatomy.stands(pair)]
    same = len(standing) > 1 and len({pair.parent for pair in pairs if len(pair.first.path) > 1}) == 1
    if limbs and not around and not same:
        reading.reason = "its limbs fit no creature that is known"
        return reading
    chains = [(limb, 1 if anatomy.plane.distance(limb.points[-1]) > 0.0 else -1) for limb in limbs]
    chains += [(limb, 0) for limb in _branches(anatomy) if not around]
    if len(chains) > MOST_LIMBS:
        reading.reason = f"it has {len(chains)} limbs"
        return reading
    chains.sort(key=lambda each: (-float(each[0].points[-1] @ forward), -float(each[0].points[-1] @ anatomy.up)))
    for number, (limb, sign) in enumerate(chains):
        for place in limb.path:
            reading.guesses[place] = Guess(Role.LIMB, sign, number, 0.8)
    return reading


def _branches(anatomy: Anatomy) -> list[Limb]:
    """Return the chains of the central bones, each from a branching to an end."""
    skeleton, central = anatomy.skeleton, anatomy.limbs.central
    trunk = {
        above
        for limb in (*(pair.first for pair in anatomy.pairs), *anatomy.limbs.singles)
        if limb.parent >= 0
        for above in skeleton.ancestors(limb.parent)
    }
    starts = [
        place for place in sorted(central - trunk) if skeleton.parents[place] < 0 or skeleton.parents[place] in trunk
    ]
    found = []
    while starts:
        path = [starts.pop(0)]
        while True:
            children = [child for child in skeleton.children[path[-1]] if child in central]
            if not children:
                break
            children.sort(key=lambda child: -skeleton.subtrees.lengths[child])
            starts += children[1:]
            path.append(children[0])
        points = np.vstack([skeleton.heads[path], end_point(skeleton, path[-1])])
        limb = Limb(skeleton.parents[path[0]], tuple(path), (), points)
        if limb.length >= LONG * skeleton.size and len(path) > 1:
            found.append(limb)
    return found
