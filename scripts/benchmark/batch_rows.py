# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Many poses at once, beside the same loop in C."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fabrik_addon.core import Goals, Pose, plain_chain, solve
from fabrik_addon.core.fabrik.passes import PLAIN_SWEEPS, Stop, sweep_to_target
from fabrik_addon.core.math.operations import ARRAY, quiet

from .c_loop import FLAGS, CLoop
from .machine import c_compiler_version
from .problems import Array, Effort, generator, pose_along, random_joints, targets_within
from .report import Row, Table

POSES, LINKS, TOLERANCE, ITERATIONS = 1000, 10, 1e-4, 64
VISITS = 2 * LINKS - 1
"""Joints a sweep pulls: all but the tip, which is put on the target, and the root, there and back."""

_SETS = {"reach 0.2 to 0.95": (0.2, 0.95), "reach 0.97 to 0.999": (0.97, 0.999)}

_NOTE = f"""\
Best of several runs, numpy and C taking turns, on the same targets. A joint visit is one joint pulled to its link's
length. The core's own loop is timed, with its stop test and with finished poses taken out of the batch: once stopped
after {PLAIN_SWEEPS} sweeps, where mixing begins and C does exactly the same work; once to the end, where C gives each
pose as many sweeps as the core did but doesn't mix. The last row is a whole solve: checks, exact finish and bone frames
included. Near full extension all poses go on sweeping and the arrays stay long; at shorter reach most poses end after
a sweep or two, and the fixed cost of a numpy call (about 0.4 µs, 180 calls a sweep) is shared by the few poses left."""


def batch_table(effort: Effort) -> Table:
    """Nanoseconds for each joint visit of a batch."""
    columns = ("targets", "what is timed", "sweeps of all poses", "numpy ns", "C ns", "ratio")
    must = f"per joint visit at most 1.3 times the same loop in C (gcc {' '.join(FLAGS)})"
    title = f"Batch of {POSES} poses, {LINKS} links"
    if not c_compiler_version():
        return Table(title, must, "not measured: gcc is not installed", columns, ())
    loop = CLoop()
    rows = []
    ratios = []
    for name, (least, most) in _SETS.items():
        joints, targets = _poses(name, least, most)
        for what, cap in ((f"sweeps, no mixing: at most {PLAIN_SWEEPS}", PLAIN_SWEEPS), ("with mixing", ITERATIONS)):
            row, ratio = _compare(loop, name, what, joints, targets, cap, effort.timed_runs)
            rows.append(row)
            ratios += [ratio] if row.ok is not None else []
        rows.append(_whole(name, joints, targets, effort.timed_runs))
    return Table(
        title,
        must,
        f"{min(ratios):.2f} to {max(ratios):.2f} times",
        columns,
        tuple(rows),
        note=_NOTE,
    )


def _poses(name: str, least: float, most: float) -> tuple[Array, Array]:
    rng = generator("batch", name)
    lengths = np.full(LINKS, 1.0 / LINKS)
    joints = np.array([random_joints(rng, lengths, 1.0) for _ in range(POSES)])
    return joints, targets_within(rng, least, most, POSES)


def _compare(
    loop: CLoop, name: str, what: str, joints: Array, targets: Array, cap: int, runs: int
) -> tuple[Row, float]:
    lengths = np.full(LINKS, 1.0 / LINKS)
    points = [tuple(joint) for joint in joints.transpose(1, 2, 0).copy()]
    tx, ty, tz = (np.ascontiguousarray(targets[:, axis]) for axis in range(3))
    links = lengths.tolist()

    def numpy_sweeps() -> NDArray[np.float64]:
        with quiet():
            _, sweeps = sweep_to_target(ARRAY, points, links, (tx, ty, tz), np.zeros(POSES, bool), Stop(TOLERANCE, cap))
        return np.asarray(sweeps, float)

    expected = numpy_sweeps()
    most = expected.astype(np.int32)
    moved = joints.copy()
    # Mixed sweeps reach the target earlier: C then may not stop before it has had as many.
    tolerance = TOLERANCE if cap == PLAIN_SWEEPS else -1.0

    def c_sweeps() -> NDArray[np.int32]:
        np.copyto(moved, joints)
        return loop.sweep(moved, lengths, targets, most, tolerance)

    assert (c_sweeps() == most).all()
    numpy_time, c_time = _best([numpy_sweeps, c_sweeps], runs)
    visits = float(expected.sum()) * VISITS
    ratio = numpy_time / c_time
    cells = (
        name,
        what,
        int(expected.sum()),
        f"{1e9 * numpy_time / visits:.1f}",
        f"{1e9 * c_time / visits:.1f}",
        f"{ratio:.2f}",
    )
    return Row(cells, ratio <= 1.3 if cap == PLAIN_SWEEPS else None), ratio


def _whole(name: str, joints: Array, targets: Array, runs: int) -> Row:
    chain = plain_chain(np.full(LINKS, 1.0 / LINKS))
    pose = Pose(joints, np.array([pose_along(one).rotations for one in joints]))
    goals = Goals(targets[:, None, :])
    sweeps = int(solve(chain, pose, goals).iterations.sum())
    (seconds,) = _best([lambda: solve(chain, pose, goals)], max(3, runs // 3))
    return Row((name, f"whole solve: {1e6 * seconds / POSES:.1f} µs a pose", sweeps, "", "", ""))


def _best(actions: list[Callable[[], object]], runs: int) -> list[float]:
    """Return each action's shortest time; they take turns."""
    best = [float("inf")] * len(actions)
    for _ in range(10 * runs):
        for which, action in enumerate(actions):
            start = time.perf_counter()
            action()
            best[which] = min(best[which], time.perf_counter() - start)
    return best
