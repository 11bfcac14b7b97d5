# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pictures people expect of solvers: error against iteration, time against links, reach rate, a planar arm."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from fabrik_addon.core import Options
from fabrik_addon.core.fabrik.passes import Stop, sweep_to_target
from fabrik_addon.core.math.operations import ARRAY, Vector, quiet
from fabrik_addon.core.solvers.names import SOLVER_NAMES

from .planar_rows import BEYOND, FRAMES, follow, follow_undamped, path_to
from .problems import Array, Effort, link_lengths
from .solver_rows import TOLERANCE, problems_of, solve_set

mpl.use("Agg")
import itertools

from matplotlib import pyplot as plt

STOP = 1e-7
"""Error at which to stop, and at which the picture ends."""

SHOWN = ("FABRIK", "CCD", "JACOBIAN_TRANSPOSE", "JACOBIAN_PINV", "JACOBIAN_DLS")
_STYLES = {
    "FABRIK": ("tab:blue", 2.4, "-"),
    "CCD": ("tab:orange", 1.4, "-"),
    "JACOBIAN_TRANSPOSE": ("tab:gray", 1.4, "-"),
    "JACOBIAN_PINV": ("tab:red", 1.4, "--"),
    "JACOBIAN_DLS": ("tab:green", 1.4, "-"),
}


def draw_all(folder: Path, effort: Effort) -> list[Path]:
    """Draw every picture; return where they are."""
    drawn = []
    for name, draw in (
        ("solvers-error", _draw_error),
        ("solvers-time", _draw_time),
        ("solvers-reach", _draw_reach),
        ("solvers-planar", _draw_planar),
    ):
        figure, axes = plt.subplots(1, 2, figsize=(10.0, 4.0), sharey=True, layout="constrained")
        draw(figure, axes, effort)
        path = folder / f"{name}.png"
        # No date and no version: the same measurement gives the same file.
        figure.savefig(path, dpi=80, metadata={"Software": None})
        plt.close(figure)
        drawn.append(path)
    return drawn


def _draw_error(figure: Figure, axes: Sequence[Axes], effort: Effort) -> None:
    """Draw the median error after so many iterations."""
    numbers = np.unique(np.geomspace(1, 200, 16).astype(int))
    for axis, (least, most) in zip(axes, ((0.2, 0.95), (0.97, 0.999)), strict=True):
        joints, targets = problems_of(10, "bent", least, most, effort.targets)
        _plot(axis, "FABRIK", numbers, [_error_of_sweeps(joints, targets, int(n)) for n in numbers])
        for solver in SHOWN[1:]:
            found = (solve_set(solver, joints, targets, Options(int(n), STOP)) for n in numbers)
            _plot(axis, solver, numbers, [max(float(np.median(one.errors)), STOP) for one in found])
        axis.set(
            xscale="log",
            yscale="log",
            xlabel="iterations",
            title=f"reach {least:g} to {most:g}",
            ylim=(0.5 * STOP, 1.0),
        )
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("median error / chain length")
    axes[1].legend(fontsize="small", loc="lower left")
    figure.suptitle("10 links: error against iteration (FABRIK before its exact finish)")


def _error_of_sweeps(joints: Array, targets: Array, iterations: int) -> float:
    """Return the median error of FABRIK's sweeps alone: its exact finish would leave nothing to be seen."""
    goals = (targets[:, 0], targets[:, 1], targets[:, 2])
    points: list[Vector] = [
        (np.full(len(targets), x), np.full(len(targets), y), np.full(len(targets), z)) for x, y, z in joints
    ]
    waiting = np.zeros(len(targets), bool)
    with quiet():
        lengths = link_lengths(joints).tolist()
        swept, _ = sweep_to_target(ARRAY, points, lengths, goals, waiting, Stop(STOP, iterations))
    return max(float(np.median(np.linalg.norm(np.array(swept[-1]) - targets.T, axis=0))), STOP)


def _draw_time(figure: Figure, axes: Sequence[Axes], effort: Effort) -> None:
    """Draw the median time of a solve for chains of more and more links."""
    links = [count for count in (2, 3, 5, 10, 20, 30, 50, 100) if count <= effort.longest]
    for axis, (least, most) in zip(axes, ((0.2, 0.95), (0.97, 0.999)), strict=True):
        for solver in SHOWN:
            times = []
            for count in links:
                joints, targets = problems_of(count, "bent", least, most, max(effort.targets // 4, 5))
                iterations = 2000 if solver == "JACOBIAN_TRANSPOSE" and count <= 10 else 500
                times.append(
                    1e3 * float(np.median(solve_set(solver, joints, targets, Options(iterations, TOLERANCE)).seconds))
                )
            _plot(axis, solver, links, times)
        axis.set(xscale="log", yscale="log", xlabel="links", title=f"reach {least:g} to {most:g}", xticks=links)
        axis.set_xticks(links, [str(count) for count in links])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("ms a solve, median")
    axes[0].legend()
    figure.suptitle(f"Time against number of links, tolerance {TOLERANCE:g}")


def _draw_reach(figure: Figure, axes: Sequence[Axes], effort: Effort) -> None:
    """Draw how many targets are reached in 64 iterations, by their distance."""
    edges = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.999])
    for axis, count in zip(axes, (3, 10), strict=True):
        for solver in SHOWN:
            rates = []
            for least, most in itertools.pairwise(edges):
                joints, targets = problems_of(count, "bent", float(least), float(most), max(effort.targets // 2, 10))
                found = solve_set(solver, joints, targets, Options(64, TOLERANCE))
                rates.append(100.0 * float(np.mean(found.errors <= TOLERANCE)))
            _plot(axis, solver, 0.5 * (edges[:-1] + edges[1:]), rates)
        axis.set(xlabel="reach", title=f"{count} links", ylim=(-3.0, 103.0))
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("% reached in 64 iterations")
    axes[0].legend(loc="lower left")
    figure.suptitle(f"Reach rate against reach, tolerance {TOLERANCE:g}")


def _draw_planar(figure: Figure, axes: Sequence[Axes], _effort: Effort) -> None:
    """Draw the joints of a planar arm on its way to a target out of reach, damped and undamped."""
    frames = np.arange(FRAMES + 1)
    leaves = int(np.argmax(np.linalg.norm(path_to(BEYOND), axis=1) > 30.0)) + 1
    both = (
        ("Damped least squares", follow("JACOBIAN_DLS", BEYOND)),
        ("One undamped step a frame", follow_undamped(BEYOND)),
    )
    for axis, (title, followed) in zip(axes, both, strict=True):
        turned: Array = np.degrees(np.unwrap(followed.angles, axis=0))
        for joint, angles in enumerate(turned.T, 1):
            axis.plot(frames, angles, marker=".", label=f"joint {joint}")
        axis.axvline(leaves, color="black", linewidth=0.8, linestyle=":")
        axis.set(xlabel="frame", title=title, ylim=(-150.0, 300.0))
        axis.grid(alpha=0.3)
    axes[0].text(leaves, 250.0, "out of reach from here ", horizontalalignment="right")
    axes[0].set_ylabel("degrees")
    axes[0].legend(loc="lower left")
    figure.suptitle("A planar arm of 15, 10 and 5 on its way to (-35, 5)")


def _plot(axis: Axes, solver: str, x: ArrayLike, y: ArrayLike) -> None:
    color, width, line = _STYLES[solver]
    axis.plot(x, y, label=SOLVER_NAMES[solver].label, color=color, linewidth=width, linestyle=line, marker=".")
