# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which bones of the trunk are hips, spine, chest, neck, head and tail."""

import numpy as np

from ..math.operations import Array
from .anatomy import Anatomy, Guess, ShapeReading
from .creature import Creature
from .limbs import LONG, Limb, Pair, take_limb
from .part import Role
from .symmetry import SHORT

NO_JOINT = 0.004
"""Length of a link, in units of the skeleton's height, below which the bone is no joint of its own."""


def put_trunk(
    anatomy: Anatomy,
    reading: ShapeReading,
    legs: Pair,
    arms: list[Pair],
    singles: list[Limb],
    creature: Creature,
    confidence: float,
) -> None:
    """Give the bones of the trunk their roles: hips where the legs hang, chest where the arms do, and what leads on."""
    skeleton, guesses = anatomy.skeleton, reading.guesses
    hips = legs.parent
    if hips < 0:
        return
    front = arms[0] if arms else None
    chest = front.parent if front else (singles[0].parent if singles else -1)
    start = front.base if front else (singles[0].points[0] if singles else None)
    tail = _tail(anatomy, reading.forward, hips, chest) or _loose_tail(anatomy, reading.forward, hips)
    if tail and skeleton.parents[tail[0]] not in (hips, -1):
        hips = skeleton.parents[tail[0]]
    elif not creature.upright and _starts_trunk(anatomy, skeleton.parents[hips], hips, chest):
        hips = skeleton.parents[hips]
    for place in tail:
        guesses[place] = Guess(Role.TAIL, 0, 0, (0.9 if len(tail) > 1 else 0.6) * confidence)
    guesses[hips] = Guess(Role.HIPS, 0, 0, confidence)
    if chest < 0 or chest == hips or start is None:
        return
    line = skeleton.path(hips, chest)
    for place in line[1:-1]:
        at_hips = skeleton.parents[hips] == place and skeleton.distance(hips, place) < 0.15 * skeleton.distance(
            hips, chest
        )
        guesses[place] = Guess(Role.HIPS if at_hips else Role.SPINE, 0, 0, 0.95 * confidence)
    guesses[chest] = Guess(Role.CHEST, 0, 0, 0.95 * confidence)
    above, sure = _head_chain(anatomy, chest, set(line))
    before = _along(anatomy, chest, above[0], start) if above else None
    if creature.upright and len(line) > 2 and before is not None and before < 0.1:
        guesses[line[-2]] = Guess(Role.CHEST, 0, 0, 0.7 * confidence)
        above = [chest, *above]
    while len(above) > 1 and _spans(anatomy, above[0], above[1], start):
        guesses[above.pop(0)] = Guess(Role.CHEST, 0, 0, 0.6 * confidence)
    for place in above[:-1]:
        guesses[place] = Guess(Role.NECK, 0, 0, 0.9 * confidence)
    for place in above[-1:]:
        guesses[place] = Guess(Role.HEAD, 0, 0, (0.9 if len(above) > 1 else 0.7) * sure * confidence)


def _loose_tail(anatomy: Anatomy, forward: Array, hips: int) -> tuple[int, ...]:
    """Return a chain that ends at the hips and starts behind them: Rigify generates tails from their tips."""
    skeleton = anatomy.skeleton
    for root, parent in enumerate(skeleton.parents):
        if parent < 0 and root in anatomy.limbs.central and root not in skeleton.ancestors(hips):
            path = take_limb(skeleton, root, -1).path
            end = skeleton.tails[path[-1]]
            near = np.abs(end - skeleton.heads[[hips, *skeleton.ancestors(hips)[1:2]]]).max(axis=1).min()
            back = float((end - skeleton.heads[root]) @ forward)
            if len(path) > 1 and near < 0.05 * skeleton.size and back > 0.5 * LONG * skeleton.size:
                return path
    return ()


def _starts_trunk(anatomy: Anatomy, parent: int, hips: int, chest: int) -> bool:
    """Return whether the trunk of an animal starts one bone before the one that its legs hang from."""
    skeleton = anatomy.skeleton
    if parent < 0 or chest < 0 or hips not in skeleton.ancestors(chest):
        return False
    step = skeleton.distance(parent, hips)
    touching = float(np.linalg.norm(skeleton.tails[parent] - skeleton.heads[hips])) < 0.1 * step
    return touching and SHORT * skeleton.size < step < 0.5 * skeleton.distance(parent, chest)


def _along(anatomy: Anatomy, place: int, child: int, point: Array) -> float | None:
    """Return how far along the link from a bone to its child a point is, 0 to 1; None if both are in one place."""
    skeleton = anatomy.skeleton
    is_one = skeleton.distance(place, child) < 0.02 * skeleton.size
    return None if is_one else skeleton.beside(place, child, point)[0]


def _spans(anatomy: Anatomy, place: int, child: int, point: Array) -> bool:
    """Return whether a point is beside the link from a bone to its child, beyond its first quarter.

    The collar bones of Rigify's horse hang one bone before the one that they are beside, which is still the chest.
    """
    along = _along(anatomy, place, child, point)
    return along is not None and along >= 0.25 and anatomy.skeleton.beside(place, child, point)[1] < 0.75


def _tail(anatomy: Anatomy, forward: Array, hips: int, chest: int) -> tuple[int, ...]:
    """Return the chain of central bones that leads backward from the hips or from a bone of the trunk before them."""
    skeleton = anatomy.skeleton
    toward = set(skeleton.path(hips, chest)) if chest >= 0 else {hips}
    near, best, longest = skeleton.ancestors(hips)[:3], tuple[int, ...](), 0.0
    for parent in near:
        if chest >= 0 and parent != hips and parent not in anatomy.limbs.central:
            continue
        for child in skeleton.children[parent]:
            if child not in anatomy.limbs.central or child in toward or child in near:
                continue
            limb = take_limb(skeleton, child, parent)
            back = float((limb.points[0] - limb.points[-1]) @ forward)
            path = tuple(place for place in limb.path if place in anatomy.limbs.central)
            if len(path) > 1 and back > max(0.35 * limb.length, longest) and limb.length > 0.5 * LONG * skeleton.size:
                best, longest = path, back
    return best


def _head_chain(anatomy: Anatomy, chest: int, trunk: set[int]) -> tuple[list[int], float]:
    """Return the bones from the chest to the head, up to where the bones of the face branch, and how sure the last is.

    A bone without children after the head's may be a jaw, which leads aside, or an end bone, which is farther from the
    head's joint than that from the neck's. About one and a half times as far, it may be the head as well.
    """
    skeleton, lengths = anatomy.skeleton, anatomy.skeleton.subtrees.lengths
    touching = skeleton.tails_are_true
    chain: list[int] = []
    place, sure = chest, 1.0
    while True:
        children = [
            child
            for child in skeleton.children[place]
            if child in anatomy.limbs.central and child not in trunk and child not in skeleton.ancestors(chest)
        ]
        children = [child for child in children if lengths[child] > 0.0 and not _hangs(anatomy, place, child)]
        if not children or (chain and not touching and len(skeleton.children[place]) > 2):
            break
        child = max(children, key=lambda each: lengths[each] + skeleton.distance(place, each))
        if chain:
            distance = float(np.linalg.norm(skeleton.heads[child] - skeleton.tails[place]))
            own = float(np.linalg.norm(skeleton.tails[place] - skeleton.heads[place]))
            if skeleton.distance(place, child) < NO_JOINT * skeleton.size or (touching and distance > 0.5 * own):
                break
            if not skeleton.children[child]:
                turn, ratio = _after_neck(anatomy, skeleton.parents[place], place, child)
                if turn < 0.3:
                    break
                if skeleton.distance(place, child) > (0.06 if len(chain) > 1 else 0.085) * anatomy.height:
                    sure = 0.55 if 1.25 < ratio < 1.75 else 1.0
                    if ratio > 1.5:
                        break
        chain.append(child)
        place = child
    return chain, sure


def _hangs(anatomy: Anatomy, place: int, child: int) -> bool:
    """Return whether what starts at a child turns back at once: hair, which starts above the head's joint."""
    after = anatomy.skeleton.subtrees.main[child]
    return after >= 0 and _after_neck(anatomy, place, child, after)[0] < -0.3


def _after_neck(anatomy: Anatomy, before: int, place: int, child: int) -> tuple[float, float]:
    """Return the cosine of the turn from the link to a bone to that to its child, and how much longer the second is."""
    heads, distance = anatomy.skeleton.heads, anatomy.skeleton.distance
    neck, head = distance(before, place), distance(place, child)
    if not min(neck, head) > 0.0:
        return 1.0, 1.0
    return float((heads[place] - heads[before]) @ (heads[child] - heads[place])) / (neck * head), head / neck
