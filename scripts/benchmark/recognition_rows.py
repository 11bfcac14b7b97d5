# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which bone is which part of a body: right roles over all roles, on skeletons that packages ship."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import product

import numpy as np

from fabrik_addon.core.body.part import Recognition
from fabrik_addon.core.body.recognise import recognise

from .problems import FULL, Effort
from .random_skeletons import KINDS, make_random
from .report import Row, Table
from .skeletons import (
    CONVENTIONS,
    Skeleton,
    data_skeletons,
    in_centimetres,
    mirrored,
    renamed,
    rigify_skeletons,
    score,
    scrambled,
    with_arms_turned,
    with_sides_swapped,
    y_up,
)

LEAST = {
    ("humans", "their names"): 0.99,
    ("humans", "scrambled"): 0.97,
    ("humans", "other names"): 0.99,
    ("animals", "their names"): 0.95,
    ("animals", "scrambled"): 0.9,
    ("animals", "other names"): 0.95,
}
"""Share of the roles that must be right."""

LONGEST = 0.1
"""Seconds that recognition may take for 700 bones."""


def recognition_table(effort: Effort) -> Table:
    """Measure the share of right roles for each rig, name and pose, what was given a wrong one, and the time."""
    totals = {key: np.zeros(3, int) for key in LEAST}
    rows = []
    slowest = 0.0
    for skeleton in data_skeletons() + rigify_skeletons():
        kind = "humans" if skeleton.human else "animals"
        cells: list[str] = []
        wrong = 0
        for naming in ("their names", "scrambled", "other names"):
            scores = [score(each, _recognised(each)) for each in _variants(skeleton, naming, effort)]
            sums = (
                np.array([(each.right, each.count, len(each.wrong)) for each in scores], int).reshape(-1, 3).sum(axis=0)
            )
            totals[kind, naming] += sums
            wrong += int(sums[2])
            cells.append(f"{sums[0] / sums[1]:.1%}" if sums[1] else "")
        seconds = _seconds(skeleton)
        slowest = max(slowest, seconds)
        rows.append(Row((skeleton.name, len(skeleton.names), *cells, wrong, f"{1e3 * seconds:.0f} ms"), wrong == 0))
    for kind in ("humans", "animals"):
        of_kind = {naming: total for (each, naming), total in totals.items() if each == kind}
        shares = [f"{right / count:.1%}" for right, count, _ in of_kind.values()]
        good = all(right >= LEAST[kind, naming] * count for naming, (right, count, _) in of_kind.items())
        wrong = sum(int(each[2]) for each in of_kind.values())
        rows.append(Row((f"all {kind}", "", *shares, wrong, ""), good and not wrong))
    rows.append(Row(("slowest", "", "", "", "", "", f"{1e3 * slowest:.0f} ms"), slowest <= LONGEST))
    least = min(right / count for right, count, _ in totals.values())
    return Table(
        "recognising: which bone is which part of a body",
        "humans 99 % with names, 97 % scrambled; animals 95 % and 90 %; none wrong; 100 ms for 700 bones",
        f"{least:.1%} at least, {sum(int(each[2]) for each in totals.values())} wrong, {1e3 * slowest:.0f} ms",
        ("rig", "bones", "their names", "scrambled", "other names", "wrong", "time"),
        tuple(rows),
        "Share of the bones with a role that were given it, and their side. Wrong are bones that were given a role "
        "that they have not, with a confidence of one half or more; the others were left open. Each rig as it is, with "
        "Y up, in centimetres, mirrored, and humans with the arms 40 degrees lower and 35 higher; under its own names, "
        "under bone_017 and the like, and under the names of eight other conventions. Of generated rigs the deform "
        "bones are handed in where the names don't tell them. Which bone is which was written down by hand.",
    )


RANDOM_SEEDS = 60
"""Seeds of each kind of random skeleton: the even ones were seen while the recogniser was made, the odd ones not."""

MOST_WRONG = 0.002
"""Share of the roles of the unseen skeletons with names, in their own words, that may be given wrong."""


def random_table(effort: Effort) -> Table:
    """Measure the same on random skeletons, on the seeds that were seen while developing and on those that were not."""
    totals = np.zeros((2, 2, 3), int)
    rows = []
    for kind in KINDS:
        cells: list[str | int] = []
        for held_out, naming in product((0, 1), ("own", "scrambled")):
            seeds = range(held_out, RANDOM_SEEDS if effort is FULL else 12, 2)
            skeletons = [make_random(kind, seed, naming) for seed in seeds]
            scores = [score(each, _recognised(each)) for each in skeletons]
            sums = np.array([(each.right, each.count, len(each.wrong)) for each in scores], int).sum(axis=0)
            totals[held_out, ("own", "scrambled").index(naming)] += sums
            cells += [f"{sums[0] / sums[1]:.1%}", int(sums[2])]
        rows.append(Row((kind, *cells)))
    last = [cell for sums in totals.reshape(-1, 3) for cell in (f"{sums[0] / sums[1]:.1%}", int(sums[2]))]
    right, count, wrong = totals[1, 0].tolist()
    rows.append(Row(("all", *last), wrong <= MOST_WRONG * count))
    return Table(
        "recognising: random skeletons, seen and unseen",
        f"at most {MOST_WRONG:.1%} of the roles of unseen skeletons with names wrong",
        f"{right / count:.1%} right, {wrong / count:.2%} wrong",
        ("kind", "seen", "wrong", "seen, scrambled", "wrong", "unseen", "wrong", "unseen, scrambled", "wrong"),
        tuple(rows),
        "Segments of 0.7 to 1.4 times the usual length; T-pose, A-pose, arms hanging, sitting, running; bones that "
        "don't touch, made-up tails; roots, twist bones, faces, hair, skirts, tails, weapons, targets; missing "
        "fingers, toes, necks, an arm; any heading, Z or Y up, metres, centimetres. Wrong are bones with a wrong "
        "role at a confidence of one half or more. The recogniser was mended on the even seeds; nobody looked at "
        "the odd ones.",
    )


def _variants(skeleton: Skeleton, naming: str, effort: Effort) -> Iterator[Skeleton]:
    """Yield the skeleton under other names, in all poses."""
    named = {
        "their names": lambda: [skeleton],
        "scrambled": lambda: [scrambled(skeleton)],
        "other names": lambda: [renamed(skeleton, name) for name in list(CONVENTIONS)[: None if effort is FULL else 2]],
    }[naming]()
    if naming == "other names" and "shark" in skeleton.name:
        return
    for each in named:
        yield from (each, y_up(each), in_centimetres(each))
        yield with_sides_swapped(mirrored(each)) if naming == "scrambled" else mirrored(each)
        if skeleton.human:
            yield from (with_arms_turned(each, 40.0), with_arms_turned(each, -35.0))


def _recognised(skeleton: Skeleton) -> Recognition:
    """Recognise a skeleton; of a generated rig without its names the bones that deform may take part."""
    usable = None if any(name.startswith("DEF-") for name in skeleton.names) else skeleton.deform
    return recognise(skeleton.names, skeleton.parents, skeleton.heads, skeleton.tails, usable)


def _seconds(skeleton: Skeleton) -> float:
    """Return the processor time of one recognition, the best of three."""
    times = []
    for _ in range(3):
        start = time.process_time()
        _recognised(skeleton)
        times.append(time.process_time() - start)
    return min(times)
