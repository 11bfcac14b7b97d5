# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Table 1 of the FABRIK paper (Aristidou & Lasenby 2011), measured anew beside the numbers printed there.

A chain of ten links, 900 mm long, joints that rotate any way, a target 600 mm from the tip, tolerance 0.001 mm;
iterations until the tip is there, or for a target out of reach until it moves by less than the tolerance.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from fabrik_addon.core import SOLVERS, Options, plain_chain
from fabrik_addon.core.fabrik.passes import both_passes, links_of
from fabrik_addon.core.math.operations import SCALAR, Component, Point, Vector
from fabrik_addon.core.optimise.damped_steps import DAMPED, FreeChain, Rule, damped_solution
from fabrik_addon.core.solvers.ccd import ccd_sweep
from fabrik_addon.core.solvers.jacobian import PINV, TRANSPOSE
from fabrik_addon.core.solvers.names import SOLVER_NAMES

from .problems import Array, Effort, directions, generator, link_lengths, pose_along, random_joints
from .report import Row, Table
from .solving import reached_count, solve_each

COUNT = 10
AWAY = 600.0 / 900.0
"""Distance of the target from the tip, over the chain's length."""
BEYOND = (1.2, 1.4)
"""Distance of a target out of reach from the root, over the chain's length."""
TOLERANCE = 1e-3 / 900.0
CAP = 20000

LAMBDA = 1.1
"""Damping of the paper's damped least squares; its unit of length isn't told."""


def _fixed(damping: float) -> Rule:
    """Return damped least squares with a lambda that doesn't adapt, in units of the chain's length."""
    return Rule(
        solution=lambda ops, normal, desired, _memory: damped_solution(ops, normal, desired, damping * damping),
        first=1.0,
        least_gain=0.0,
        after_success=lambda ops, memory: memory,
        after_failure=0.5,
        is_spent=lambda memory: memory < 1e-4,
    )


@dataclass(frozen=True)
class Published:
    """A line of the paper's table; where it has none there is nothing to compare with."""

    iterations: float
    milliseconds: float
    iterations_beyond: float
    milliseconds_beyond: float


PUBLISHED = {
    "FABRIK": Published(15.461, 13.28, 67.564, 62.07),
    "CCD": Published(26.308, 123.56, 390.135, 3928.69),
    "JACOBIAN_TRANSPOSE": Published(1311.190, 12989.47, 6549.000, 33904.73),
    "JACOBIAN_DLS": Published(998.648, 10480.51, 2881.667, 14874.18),
    "JACOBIAN_PINV": Published(808.797, 9296.52, 2808.452, 15975.91),
}

Run: TypeAlias = Callable[[Array, Array], tuple[int, float]]
"""(joints, target): iterations and seconds until the tip is there or moves no more."""


def paper_table(effort: Effort) -> Table:
    """The paper's table as the methods are in the literature, and as they are shipped here."""
    within, beyond = _problems(effort)
    methods: list[tuple[str, str, Run]] = [
        ("FABRIK", "FABRIK", _run_fabrik),
        ("CCD", "CCD", _run_ccd),
        ("Jacobian transpose", "JACOBIAN_TRANSPOSE", partial(_run_rule, TRANSPOSE)),
        (f"DLS, lambda {LAMBDA:g} lengths", "JACOBIAN_DLS", partial(_run_rule, _fixed(LAMBDA))),
        (f"DLS, lambda {3.0 * LAMBDA:g} lengths", "", partial(_run_rule, _fixed(3.0 * LAMBDA))),
        ("SVD pseudo-inverse", "JACOBIAN_PINV", partial(_run_rule, PINV)),
        ("DLS, adaptive lambda", "", partial(_run_rule, DAMPED)),
    ]
    measured = {}
    for name, solver, run in methods:
        near, far = ([run(*problem) for problem in problems] for problems in (within, beyond))
        measured[name] = (solver, np.mean(near, axis=0), np.mean(far, axis=0))
    sweeps = {name: float(near[0]) for name, (_, near, _) in measured.items()}
    rows = []
    for name, (solver, near, far) in measured.items():
        printed = PUBLISHED.get(solver)
        follows = sweeps["FABRIK"] < sweeps["CCD"] if name == "FABRIK" else sweeps["CCD"] < sweeps[name]
        in_order = "" if name == "CCD" else "yes" if follows else "no"
        cells = (
            name,
            f"{printed.iterations:.0f}, {printed.milliseconds:.0f}" if printed else "",
            f"{near[0]:.1f}, {1e3 * near[1]:.2f}",
            f"{printed.iterations_beyond:.0f}, {printed.milliseconds_beyond:.0f}" if printed else "",
            f"{far[0]:.0f}, {1e3 * far[1]:.1f}",
            in_order,
        )
        must_hold = name in ("FABRIK", "Jacobian transpose")
        rows.append(Row(cells, follows if must_hold else None))
    rows += [_shipped_row(solver, within) for solver in SOLVERS if solver != "TWO_BONE"]
    return Table(
        title="Table 1 of the FABRIK paper",
        must="FABRIK needs fewer iterations than CCD, CCD fewer than the Jacobian transpose",
        measured=", ".join(f"{name} {count:.0f}" for name, count in sweeps.items()),
        columns=(
            "method",
            "published: iterations, ms",
            "here: iterations, ms",
            "published, out of reach",
            "here, out of reach",
            "in the paper's order",
        ),
        rows=tuple(rows),
        note=f"""\
Published are means of 20 runs in MATLAB on a Pentium 2 Duo at 2.2 GHz (Graphical Models 73, table 1; the set-up is that
of its figure 11), here the means of as many runs in Python from random poses. The first rows are the methods of the
literature without what makes them robust here: plain sweeps, no test of reach. The paper's targets aren't published, so
its iteration counts can't be reproduced exactly. *Where the order doesn't hold:* without damping, or with one that
adapts, a step is Newton's, as long as allowed (here half a radian a joint), and is kept where it reduces the error.
Five such steps suffice, though each takes longer than a sweep of FABRIK. The paper's damping is fixed, and how much a
fixed lambda slows convergence depends on the unit of length, which the paper doesn't give: with {LAMBDA:g} and the
whole chain as the unit the order is the paper's, with three times that the iterations are about the paper's too. Its
SVD-DLS, printed beside the pseudo-inverse, is damped as well. The last rows are the solvers as they are shipped, with
mixing and an exact finish; CCD and FABRIK have at most 500 iterations there, the transpose {CAP}.""",
    )


def _problems(effort: Effort) -> tuple[list[tuple[Array, Array]], list[tuple[Array, Array]]]:
    """Return joints and target, within reach and beyond."""
    rng = generator("paper")
    within: list[tuple[Array, Array]] = []
    beyond: list[tuple[Array, Array]] = []
    while len(within) < min(effort.targets, 20):
        joints = random_joints(rng, np.full(COUNT, 1.0 / COUNT), 0.6)
        (direction,) = directions(rng, 1)
        target = joints[-1] + AWAY * direction
        if 0.05 < np.linalg.norm(target) < 0.97:
            within.append((joints, target))
            beyond.append((joints, directions(rng, 1)[0] * rng.uniform(*BEYOND)))
    return within, beyond


def _shipped_row(solver: str, problems: list[tuple[Array, Array]]) -> Row:
    options = Options(CAP if solver == "JACOBIAN_TRANSPOSE" else 500, TOLERANCE, solver=solver)
    chains = [(plain_chain(link_lengths(joints)), pose_along(joints), target, None) for joints, target in problems]
    solved = solve_each(chains, options)
    hits = reached_count(solved, TOLERANCE)
    reached = "" if hits == len(problems) else f" ({hits}/{len(problems)} reached)"
    here = f"{np.mean(solved.sweeps):.1f}, {1e3 * np.mean(solved.seconds):.2f}{reached}"
    return Row((f"as shipped: {SOLVER_NAMES[solver].label}", "", here, "", "1, in closed form", ""))


def _run_fabrik(joints: Array, target: Array) -> tuple[int, float]:
    return _run_sweeps(lambda *args: both_passes(SCALAR, *args), joints, target)


def _run_ccd(joints: Array, target: Array) -> tuple[int, float]:
    return _run_sweeps(lambda *args: ccd_sweep(SCALAR, *args), joints, target)


def _run_sweeps(sweep: Callable[..., None], joints: Array, target: Array) -> tuple[int, float]:
    points: list[Point] = [tuple(joint) for joint in joints.tolist()]
    goal, links = tuple(target.tolist()), links_of(tuple(link_lengths(joints).tolist()))
    start = time.perf_counter()
    tip = points[-1]
    number = 0
    while number < CAP:
        number += 1
        sweep(points, links, goal)
        before, tip = tip, points[-1]
        if _distance(tip, goal) <= TOLERANCE or _distance(tip, before) < TOLERANCE:
            break
    return number, time.perf_counter() - start


def _run_rule(rule: Rule, joints: Array, target: Array) -> tuple[int, float]:
    goal: Vector = tuple(target.tolist())
    points: list[Vector] = [tuple(point) for point in joints.tolist()]
    links: list[Vector] = [tuple(link) for link in np.diff(joints, axis=0).tolist()]
    start = time.perf_counter()
    chain = FreeChain(points, links)
    memory: Component = rule.first
    error = _distance(chain.tip, goal)
    number = 0
    while number < CAP:
        number += 1
        (gx, gy, gz), (x, y, z) = goal, chain.tip
        trial = chain.stepped(SCALAR, (gx - x, gy - y, gz - z), memory, rule.solution)
        trial_error = _distance(trial.tip, goal)
        moved = _distance(trial.tip, chain.tip)
        worth = trial_error <= (1.0 - rule.least_gain) * error
        memory = rule.after_success(SCALAR, memory) if worth else rule.after_failure * memory
        if trial_error < error:
            chain, error = trial, trial_error
            if error <= TOLERANCE or moved < TOLERANCE:
                break
        if rule.is_spent(memory):
            break
    return number, time.perf_counter() - start


def _distance(a: Any, b: Any) -> float:  # Any: that the components of one pose are floats is not in their type
    x, y, z = a[0] - b[0], a[1] - b[1], a[2] - b[2]
    return math.sqrt(x * x + y * y + z * z)
