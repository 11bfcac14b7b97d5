# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which bone is which part of a body: right roles over all roles, on skeletons that packages ship."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from fabrik_addon.core.body.part import Recognition
from fabrik_addon.core.body.recognise import recognise

from .problems import FULL, Effort
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
