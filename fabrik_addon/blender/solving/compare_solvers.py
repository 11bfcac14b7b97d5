# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""All solvers on one chain, from one pose to one target. Computes, and writes nothing to the armature."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...core import SOLVERS
from ...core.model.joint_limits import joint_limits, outside_by
from ...core.solvers.names import SOLVER_NAMES
from ..bones.rotation_channel import rotation_from
from ..rig.wording import plain
from .solve_chain_bones import SolvedChain, solve_snapshot

if TYPE_CHECKING:
    from bpy.types import Object

    from ..rig.properties import FabrikChain
    from ..rig.snapshot import Snapshot

RUNS = 3
"""Of each solver; the fastest counts."""


@dataclass(frozen=True)
class Compared:
    """The result of one solver."""

    label: str
    refusal: str
    """Why it can't be used on this chain; empty where it can. Where it can't the rest has no meaning."""
    status: str = 'NONE'
    error: float = 0.0
    """Distance from tip to target over chain length."""
    iterations: int = 0
    seconds: float = 0.0
    rotated: float = 0.0
    """Radians by which all bones together rotate."""
    violation: float | None = None
    """Radians by which the worst bone is outside its limits; None where the chain has none."""


def compare_solvers(snapshot: Snapshot) -> list[Compared]:
    """Solve one chain with every solver.

    Args:
        snapshot: the chain. It is solved with its root fixed, without stretch and at influence 1, which would all
            change the error.

    Raises:
        FabrikError: the goals aren't finite.
    """
    options = replace(snapshot.options, moves_root=False, stretch_max=1.0)
    compared = []
    for name, method in SOLVERS.items():
        label = SOLVER_NAMES[name].label
        if refusal := method.refusal(snapshot.chain):
            compared.append(Compared(label, refusal))
            continue
        problem = replace(snapshot, options=replace(options, solver=name), influence=1.0)
        compared.append(_measured(label, problem))
    return compared


def _measured(label: str, problem: Snapshot) -> Compared:
    seconds = []
    for _ in range(RUNS):
        start = time.perf_counter()
        solved = solve_snapshot(problem)
        seconds.append(time.perf_counter() - start)
    return Compared(
        label,
        "",
        solved.status.name,
        float(solved.error),
        solved.iterations,
        min(seconds),
        sum(solved.rotated_by.values()),
        _violation(solved),
    )


def _violation(solved: SolvedChain) -> float | None:
    """Return by how many radians the worst bone is outside its limits."""
    bones = solved.snapshot.bones
    if bones.limits is None or not solved.snapshot.chain.has_limits:
        return None
    worst = 0.0
    for i, (bone, channel) in zip(bones.free, solved.channels, strict=True):
        q = rotation_from(bone, channel)
        worst = max(worst, outside_by(joint_limits(*bones.limits[i]), (q.w, q.x, q.y, q.z)))
    return worst


def in_text(chain_name: str, compared: list[Compared]) -> str:
    """Return the comparison as a table of text."""
    columns = ("solver", "ended", "error", "iterations", "ms", "degrees rotated", "degrees over limits")
    rows = [columns]
    for row in compared:
        if row.refusal:
            rows.append((row.label, "-", "-", "-", "-", "-", "-"))
            continue
        over = "no limits" if row.violation is None else plain(math.degrees(row.violation))
        rotated = f"{math.degrees(row.rotated):.1f}"
        cells = (row.label, row.status.lower(), f"{row.error:.2e}", str(row.iterations), f"{1e3 * row.seconds:.2f}")
        rows.append((*cells, rotated, over))
    widths = [max(len(row[column]) for row in rows) for column in range(len(columns))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    notes = [f"{row.label}: {row.refusal}" for row in compared if row.refusal]
    error = "error: distance from tip to target over the chain's length; ms: the fastest of a few runs"
    return "\n".join([f"Solvers on chain '{chain_name}'", "", *lines, "", error, *notes, ""])


# Kept while Blender runs, as results are: a comparison is of a pose that the next frame or undo replaces.
_comparisons: dict[tuple[int, str], list[Compared]] = {}


def comparison_of(chain: FabrikChain) -> list[Compared]:
    """Return the last comparison on a chain; empty where there was none."""
    return _comparisons.get((chain.id_data.session_uid, chain.name), [])


def keep_comparison(armature: Object, chain_name: str, compared: list[Compared]) -> None:
    """Keep a comparison."""
    _comparisons[armature.session_uid, chain_name] = compared
