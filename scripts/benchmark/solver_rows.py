# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""All solvers on the same sets: targets reached, iterations and time."""

from __future__ import annotations

import time

import numpy as np

from fabrik_addon.core import SOLVERS, Goals, Options, plain_chain, solve, solve_components, start_from
from fabrik_addon.core.solvers.names import SOLVER_NAMES

from .limit_rows import FEASIBLE, blenders_own_hits
from .limit_sets import ARM, LEG, SETS, ConstrainedBones, feasible_swings, posed, worst_violation
from .problems import RESTS, Array, Effort, generator, link_lengths, pose_along, rest_joints, targets_within
from .report import Row, Table, counts, microseconds
from .solving import Solved, reached_count, solve_each

TOLERANCE = 1e-3
"""Of this page's comparisons: what Blender's own IK is content with."""

RANGES = ((0.2, 0.95), (0.97, 0.999), (0.01, 0.1))
LINKS = (2, 3, 10)

ENOUGH_ITERATIONS = 10000
"""Iterations that are given where a row says that there are enough."""

EXACT = 1e-14
QUICK_SECONDS = 20e-6
COMPARED = ("CCD", "JACOBIAN_TRANSPOSE", "JACOBIAN_PINV", "JACOBIAN_DLS")


def problems_of(count: int, rest: str, least: float, most: float, targets: int) -> tuple[Array, Array]:
    """Return joints (J, 3) and targets (T, 3) of a set."""
    joints = rest_joints(count, rest)
    return joints, targets_within(generator("solvers", count, rest, least), least, most, targets)


def solve_set(solver: str, joints: Array, targets: Array, options: Options) -> Solved:
    """Solve a set with one of the solvers, target after target, each from the same pose."""
    chain, pose = plain_chain(link_lengths(joints)), pose_along(joints)
    chosen = Options(options.iterations, options.tolerance, solver=solver)
    return solve_each([(chain, pose, target, None) for target in targets], chosen)


def two_bone_table(effort: Effort) -> Table:
    """Two links in closed form: exact, and how long it takes."""
    rows, worst, slowest = [], 0.0, 0.0
    options = Options(tolerance=EXACT, solver="TWO_BONE")
    for lengths in ((0.5, 0.5), (0.6, 0.4), (0.9, 0.1)):
        joints = rest_joints(2, "bent")
        headings = np.diff(joints, axis=0) / link_lengths(joints)[:, None]
        joints = np.vstack([np.zeros(3), np.cumsum(np.array(lengths)[:, None] * headings, axis=0)])
        least = abs(lengths[0] - lengths[1])
        targets = targets_within(generator("two bone", *lengths), least + 1e-3, 1.0 - 1e-3, 10 * effort.targets)
        chain, pose = plain_chain(list(lengths)), pose_along(joints)
        start, errors, seconds = start_from(chain, pose), [], []
        for target in targets:
            goals = Goals(target[None])
            before = time.perf_counter()
            found = solve_components(start, goals, options)
            seconds.append(time.perf_counter() - before)
            errors.append(float(np.linalg.norm(np.array(found.points[-1]) - target)))
        whole = solve_each([(chain, pose, target, None) for target in targets[: effort.targets]], options)
        median = float(np.median(seconds))
        ok = max(errors) <= EXACT and whole.stretch <= EXACT / min(lengths) and median <= QUICK_SECONDS
        ratio = f"{lengths[0]:g} and {lengths[1]:g}"
        rows.append(Row((ratio, max(errors), whole.stretch, microseconds(seconds), microseconds(whole.seconds)), ok))
        worst, slowest = max(worst, *errors), max(slowest, median)
    return Table(
        title="Two bones in closed form",
        must=f"error at most {EXACT:g} in the core, median at most {1e6 * QUICK_SECONDS:.0f} µs",
        measured=f"{worst:.1g}, {1e6 * slowest:.0f} µs",
        columns=("links", "worst error", "largest change of a length", "µs median / p95", "with checks and arrays, µs"),
        rows=tuple(rows),
        note="Targets fill the spherical shell from |l1 - l2| to l1 + l2. Timed is a solve as in a drag, from a "
        "prepared start pose; the last column includes the checks of the input arrays and the making of the output "
        "arrays.",
    )


def reach_table(effort: Effort) -> Table:
    """What each solver reaches of the sets with which FABRIK is measured."""
    rows, missed = [], []
    for count in LINKS:
        for rest in RESTS:
            for least, most in RANGES:
                joints, targets = problems_of(count, rest, least, most, effort.targets)
                for solver, method in SOLVERS.items():
                    if method.refusal(plain_chain([1.0] * count)):
                        continue
                    row, ok = _reach_row(solver, joints, targets, must=(least, most) == RANGES[0])
                    rows.append(Row((count, rest, f"{least:g} to {most:g}", SOLVER_NAMES[solver].label, *row), ok))
                    if ok is False:
                        missed.append(SOLVER_NAMES[solver].label)
    return Table(
        title="Every solver on the same sets",
        must=f"at reach 0.2 to 0.95 every target reached within {TOLERANCE:g}: the transpose in at most "
        f"{ENOUGH_ITERATIONS} iterations, all others in 64",
        measured=f"missed by {', '.join(missed)}" if missed else "all reached",
        columns=(
            "links",
            "rest pose",
            "reach",
            "solver",
            "reached",
            "iterations median / p95 / max",
            "µs median / p95",
        ),
        rows=tuple(rows),
        note="The other ranges are for comparison, with 64 iterations (the transpose 2000). A step that doesn't bring "
        "the tip nearer is taken back, so no solver diverges; targets not reached are those that take more iterations.",
    )


def _reach_row(solver: str, joints: Array, targets: Array, must: bool) -> tuple[tuple[str, str, str], bool | None]:
    iterations = (ENOUGH_ITERATIONS if must else 2000) if solver == "JACOBIAN_TRANSPOSE" else 64
    solved = solve_set(solver, joints, targets, Options(iterations, TOLERANCE))
    hits = reached_count(solved, TOLERANCE)
    cells = f"{hits}/{len(targets)}", counts(solved.sweeps), microseconds(solved.seconds)
    return cells, hits == len(targets) if must else None


def ranking_table(effort: Effort) -> Table:
    """FABRIK against the iterative ones, set by set."""
    rows, slower = [], 0
    for count in (3, 10):
        for rest in RESTS:
            for least, most in RANGES:
                joints, targets = problems_of(count, rest, least, most, effort.targets)
                found = {
                    solver: solve_set(
                        solver, joints, targets, Options(2000 if solver == "JACOBIAN_TRANSPOSE" else 500, TOLERANCE)
                    )
                    for solver in ("FABRIK", *COMPARED)
                }
                medians = {name: (np.median(one.sweeps), np.median(one.seconds)) for name, one in found.items()}
                ours = medians["FABRIK"]
                ok = all(ours[0] <= medians[name][0] and ours[1] < medians[name][1] for name in COMPARED)
                slower += not ok
                cells = [f"{sweeps:.0f}, {1e6 * seconds:.0f}" for sweeps, seconds in medians.values()]
                rows.append(Row((count, rest, f"{least:g} to {most:g}", *cells), ok))
    labels = [SOLVER_NAMES[name].label for name in ("FABRIK", *COMPARED)]
    return Table(
        title="FABRIK and the other iterative solvers: median iterations, median µs",
        must="FABRIK needs no more iterations and less time than any other, on every set",
        measured=f"true on {len(rows) - slower} of {len(rows)} sets",
        columns=("links", "rest pose", "reach", *labels),
        rows=tuple(rows),
        note="""\
Near full extension FABRIK converges slowly: a sweep reduces the error by a few per cent, and mixing needs the results
of some sweeps. A Newton-like step with little damping converges quickly there, because joint angles change little.
Tried for FABRIK: mixing from the second sweep on (10 links, bent: 9 sweeps at the median instead of 15 in the same
time, but for 3 links 41 at the 95th percentile instead of 17), from the third to the fifth (11 to 13 sweeps, in no
less time), and a longer history (no fewer sweeps, twice the time).""",
    )


def limits_table(effort: Effort) -> Table:
    """Every solver within joint limits, on targets of feasible poses, beside Blender's own IK."""
    rows, behind = [], []
    for constrained in SETS:
        targets = posed(
            constrained, feasible_swings(generator("limits", constrained.name), constrained, effort.targets)
        ).positions[:, -1]
        own = blenders_own_hits(constrained, targets)
        for solver, method in SOLVERS.items():
            if method.refusal(constrained.chain()):
                continue
            hits, worst, seconds = _within_limits(solver, constrained, targets)
            ok = None
            if solver == "JACOBIAN_DLS":
                ok = hits >= own and worst <= FEASIBLE
            elif solver == "TWO_BONE" and constrained in (ARM, LEG):
                ok = hits == len(targets) and worst <= FEASIBLE
            if ok is False:
                behind.append(f"{SOLVER_NAMES[solver].label} on {constrained.name}")
            cells = constrained.name, SOLVER_NAMES[solver].label, f"{hits}/{len(targets)}", f"{own}/{len(targets)}"
            rows.append(Row((*cells, float(np.degrees(worst)), microseconds(seconds)), ok))
    return Table(
        title="Every solver within joint limits",
        must="damped least squares reach at least as many targets of feasible poses as Blender's own IK, two bones in "
        "closed form all, none outside its limits",
        measured="behind: " + ", ".join(behind) if behind else "true on every set",
        columns=("chain", "solver", "reached", "Blender's own", "worst violation, degrees", "µs median / p95"),
        rows=tuple(rows),
        note="""\
From the rest pose, 64 iterations (the transpose 2000), tolerance 0.001. The damped least squares are those that FABRIK
uses within limits; CCD, transpose and pseudo-inverse have one start only and can end in a
local minimum. FABRIK has no verdict here: within limits it is these least squares.""",
    )


def _within_limits(solver: str, constrained: ConstrainedBones, targets: Array) -> tuple[int, float, Array]:
    chain, pose = constrained.chain(), constrained.rest()
    options = Options(2000 if solver == "JACOBIAN_TRANSPOSE" else 64, TOLERANCE, solver=solver)
    hits, worst, seconds = 0, 0.0, []
    for target in targets:
        before = time.perf_counter()
        solution = solve(chain, pose, Goals(target[None]), options)
        seconds.append(time.perf_counter() - before)
        hits += bool(np.linalg.norm(solution.pose.positions[-1] - target) <= TOLERANCE)
        worst = max(worst, worst_violation(constrained, solution.pose.rotations[:-1]))
    return hits, worst, np.array(seconds)
