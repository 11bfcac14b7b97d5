# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Problems solved by the core one after another, timed, with errors and lengths measured on the result."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabrik_addon.core import Chain, Goals, Options, Pose, Solution, Status, solve

from .problems import Array, link_lengths

TOLERANCE = Options().tolerance


@dataclass(frozen=True)
class Solved:
    """The results of a set of problems."""

    solutions: list[Solution]
    seconds: Array
    errors: Array
    sweeps: NDArray[np.int64]
    status: NDArray[np.int64]
    stretch: float
    """Largest relative change of a link's length."""


def times_in_turn(actions: Sequence[Callable[[Any], object]], arguments: Sequence[Any], runs: int) -> list[list[float]]:
    """Return the seconds that each of some actions takes with each argument, in so many runs; they take turns.

    The first five arguments come once before, untimed: imports and caches are not what a person waits for. ``Any``: an
    argument is whatever the actions take.
    """
    times: list[list[float]] = [[] for _ in actions]
    for run in range(runs + 1):
        for argument in arguments if run else arguments[:5]:
            for action, kept in zip(actions, times, strict=True):
                start = time.perf_counter()
                action(argument)
                if run:
                    kept.append(time.perf_counter() - start)
    return times


def solve_each(
    problems: Sequence[tuple[Chain, Pose, Array, Array | None]],
    options: Options = Options(),  # noqa: B008 (frozen)
) -> Solved:
    """Solve problems one by one: chain, pose, target (3,) and pole (3,) or None."""
    goals = [Goals(targets=target[None], poles=None if pole is None else pole[None]) for _, _, target, pole in problems]
    solve(problems[0][0], problems[0][1], goals[0], options)  # the first call pays for imports and caches
    solutions, seconds = [], []
    for (chain, pose, _, _), goal in zip(problems, goals, strict=True):
        start = time.perf_counter()
        solution = solve(chain, pose, goal, options)
        seconds.append(time.perf_counter() - start)
        solutions.append(solution)
    # Measured on the pose, not taken from the solution.
    errors = [
        np.linalg.norm(solution.pose.positions[-1] - target) / chain.total_length
        for solution, (chain, _, target, _) in zip(solutions, problems, strict=True)
    ]
    stretch = [
        np.abs(link_lengths(solution.pose.positions) / chain.lengths[1:] - 1.0).max()
        for solution, (chain, _, _, _) in zip(solutions, problems, strict=True)
    ]
    return Solved(
        solutions=solutions,
        seconds=np.array(seconds),
        errors=np.array(errors),
        sweeps=np.array([solution.iterations[0] for solution in solutions]),
        status=np.array([solution.status[0] for solution in solutions]),
        stretch=float(max(stretch)),
    )


def reached_count(solved: Solved, tolerance: float) -> int:
    """Return the number of targets that are reached and have the status REACHED."""
    return int(np.sum((solved.errors <= tolerance) & (solved.status == Status.REACHED)))
