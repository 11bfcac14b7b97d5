# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Targets that the core reaches, its sweeps and times, beside plain FABRIK and Blender's own IK."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fabrik_addon.core import Options, Status, plain_chain

from .blender_chain import own_errors
from .plain_fabrik import CAP, plain_sweeps
from .problems import (
    RESTS,
    Array,
    Effort,
    generator,
    link_lengths,
    pose_along,
    random_joints,
    rest_joints,
    targets_within,
    unit,
)
from .report import Row, Table, counts, microseconds, spread
from .solving import TOLERANCE, Solved, reached_count, solve_each

RANGES = ((0.2, 0.95), (0.97, 0.999), (0.01, 0.1))


def reach_tables(effort: Effort) -> list[Table]:
    """Reached targets at three ranges of reach, beside plain FABRIK and Blender's own IK."""
    return [_reach_table(effort, least, most) for least, most in RANGES]


def _reach_table(effort: Effort, least: float, most: float) -> Table:
    rows = []
    total = reached = own_missed = 0
    for count in effort.counts:
        for rest in RESTS:
            joints = rest_joints(count, rest)
            targets = targets_within(generator("reach", count, rest, least), least, most, effort.targets)
            solved = _solve_from(joints, targets)
            plain = plain_sweeps(joints, targets, TOLERANCE)
            own = own_errors(joints, targets)
            hits = reached_count(solved, TOLERANCE)
            cells = (
                count,
                rest,
                f"{hits}/{len(targets)}",
                float(solved.errors.max()),
                counts(solved.sweeps),
                microseconds(solved.seconds),
                _plain_counts(plain),
                f"{np.sum(own > TOLERANCE)}, {np.sum(own > 1e-3)}",
            )
            rows.append(Row(cells, hits == len(targets)))
            total, reached = total + len(targets), reached + hits
            own_missed += int(np.sum(own > 1e-3))
    return Table(
        title=f"Reach {least:g} to {most:g}",
        must=f"every target reached within {TOLERANCE:g} of the chain's length",
        measured=f"{reached}/{total} (Blender's own IK misses {own_missed} of them by more than 0.001)",
        columns=(
            "links",
            "rest pose",
            "reached",
            "worst error",
            "sweeps median / p95 / max",
            "µs median / p95",
            "plain FABRIK's sweeps",
            "Blender's own misses at 1e-4, at 1e-3",
        ),
        rows=tuple(rows),
        note=f"Plain FABRIK is stopped after {CAP} sweeps; times are of one solve, without Blender.",
    )


def extension_table(effort: Effort) -> Table:
    """Sweeps near full extension at a fine tolerance."""
    rows, worst = [], 0.0
    options = Options(tolerance=1e-5)
    for rest in RESTS:
        joints = rest_joints(10, rest)
        targets = targets_within(generator("extension", rest), 0.97, 0.999, effort.targets)
        solved = _solve_from(joints, targets, options)
        plain = plain_sweeps(joints, targets, options.tolerance)
        _, high, _ = spread(solved.sweeps)
        worst = max(worst, high)
        cells = (
            rest,
            f"{reached_count(solved, options.tolerance)}/{len(targets)}",
            counts(solved.sweeps),
            microseconds(solved.seconds),
            _plain_counts(plain),
        )
        rows.append(Row(cells, high <= 25 and reached_count(solved, options.tolerance) == len(targets)))
    return Table(
        title="Near full extension: 10 links, reach 0.97 to 0.999, tolerance 1e-5",
        must="at most 25 sweeps at the 95th percentile, all reached",
        measured=f"{worst:.0f} sweeps at the 95th percentile",
        columns=("rest pose", "reached", "sweeps median / p95 / max", "µs median / p95", "plain FABRIK's sweeps"),
        rows=tuple(rows),
    )


def straight_table(effort: Effort) -> Table:
    """Straight chains whose target is on their own line, before them and behind."""
    rows = []
    total = reached = own_reached = 0
    for count in effort.counts:
        joints = rest_joints(count, "straight")
        for name, sign in (("forward", 1.0), ("backward", -1.0)):
            reaches = generator("straight", count, name).uniform(0.05, 0.999, effort.targets)
            targets = sign * reaches[:, None] * joints[-1]
            solved = _solve_from(joints, targets)
            own_hits = int(np.sum(own_errors(joints, targets) <= 1e-3))
            hits = reached_count(solved, TOLERANCE)
            cells = (
                count,
                name,
                f"{hits}/{len(targets)}",
                counts(solved.sweeps),
                microseconds(solved.seconds),
                f"{own_hits}/{len(targets)}",
            )
            rows.append(Row(cells, hits == len(targets)))
            total, reached, own_reached = total + len(targets), reached + hits, own_reached + own_hits
    return Table(
        title="Straight chain, target on the line of the chain",
        must=f"every target reached within {TOLERANCE:g}, in both directions",
        measured=f"{reached}/{total} (Blender's own IK: {own_reached})",
        columns=(
            "links",
            "direction",
            "reached",
            "sweeps median / p95 / max",
            "µs median / p95",
            "Blender's own at 1e-3",
        ),
        rows=tuple(rows),
    )


def unreachable_table(effort: Effort) -> Table:
    """Targets farther away than the chain is long."""
    rows, worst = [], 0.0
    for count in effort.counts:
        for rest in RESTS:
            joints = rest_joints(count, rest)
            targets = targets_within(generator("unreachable", count, rest), 1.05, 1.5, effort.targets)
            solved = _solve_from(joints, targets)
            along = np.linspace(0.0, 1.0, count + 1)[None, :, None] * unit(targets)[:, None, :]
            positions = np.array([solution.pose.positions for solution in solved.solutions])
            off = float(np.linalg.norm(positions - along, axis=-1).max())
            said = int(np.sum(solved.status == Status.OUT_OF_REACH))
            ok = off <= 1e-6 and said == len(targets) and int(solved.sweeps.max()) == 1
            cells = (count, rest, off, int(solved.sweeps.max()), f"{said}/{len(targets)}", microseconds(solved.seconds))
            rows.append(Row(cells, ok))
            worst = max(worst, off)
    return Table(
        title="Out of reach: 1.05 to 1.5",
        must="joints within 1e-6 of the line from root to target, one sweep, status OUT_OF_REACH",
        measured=f"joints off that line by {worst:.1g} at most",
        columns=("links", "rest pose", "farthest joint off the line", "sweeps max", "OUT_OF_REACH", "µs median / p95"),
        rows=tuple(rows),
    )


def unequal_table(effort: Effort) -> Table:
    """Links of very different lengths; some targets are nearer to the root than they can fold."""
    rows = []
    all_reachable = all_reached = all_blocked = all_said = 0
    for count in (2, 3, 5, 10, 20):
        for ratio in (2, 5, 20):
            rng = generator("unequal", count, ratio)
            problems, nearest = [], []
            for target in targets_within(rng, 0.0, 0.999, effort.targets):
                lengths = ratio ** rng.uniform(0.0, 1.0, count)
                lengths[rng.integers(count)] = lengths.min() * ratio
                lengths /= lengths.sum()
                pose = pose_along(random_joints(rng, lengths, np.pi / 2))
                problems.append((plain_chain(lengths), pose, target, None))
                nearest.append(max(0.0, 2.0 * lengths.max() - 1.0))
            solved = solve_each(problems)
            reaches = np.array([np.linalg.norm(target) for _, _, target, _ in problems])
            best = np.maximum(np.array(nearest) - reaches, 0.0)
            reachable = best <= 0.0
            hits = reachable & (solved.errors <= TOLERANCE) & (solved.status == Status.REACHED)
            expected = np.where(best <= TOLERANCE, Status.REACHED, Status.OUT_OF_REACH)
            said = ~reachable & (solved.errors <= best + 1e-6) & (solved.status == expected)
            cells = (
                count,
                f"1:{ratio}",
                f"{hits.sum()}/{reachable.sum()}",
                f"{said.sum()}/{(~reachable).sum()}",
                counts(solved.sweeps),
                microseconds(solved.seconds),
            )
            rows.append(Row(cells, bool((hits | said).all())))
            all_reachable, all_reached = all_reachable + int(reachable.sum()), all_reached + int(hits.sum())
            all_blocked, all_said = all_blocked + int((~reachable).sum()), all_said + int(said.sum())
    return Table(
        title="Unequal links",
        must="every target within reach is reached; at the others the error is the least possible one (to 1e-6) and "
        "the status is right",
        measured=f"{all_reached}/{all_reachable} reached, {all_said}/{all_blocked} with the least error and the right "
        "status",
        columns=(
            "links",
            "ratio of lengths to",
            "reached",
            "too near: least error, right status",
            "sweeps median / p95 / max",
            "µs median / p95",
        ),
        rows=tuple(rows),
    )


def _solve_from(joints: Array, targets: Array, options: Options = Options()) -> Solved:  # noqa: B008 (frozen)
    chain, pose = plain_chain(link_lengths(joints)), pose_along(joints)
    return solve_each([(chain, pose, target, None) for target in targets], options)


def _plain_counts(sweeps: NDArray[np.int64]) -> str:
    stuck = int(np.sum(sweeps >= CAP))
    return counts(sweeps) + (f" ({stuck} stuck)" if stuck else "")
