# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""This checkout's times beside those of another one, an older commit in a git worktree for instance.

Each checkout measures with its own bench, quickly, in a process of its own, several times and by turns: what else the
machine does meets both. Rows are matched by their place in the table, so that titles may differ.
"""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from .report import Row, Table

GROUPS = ("time", "limits-time", "drag", "bake", "batch")
"""Single solves without and with joint limits, a drag's move, a bake, a batch."""

ROUNDS = 3
"""Runs of each checkout; of each row's median the least is compared, because other load only adds to it."""

_SECONDS = 600.0
_TIME = re.compile(r"^(?!must).*(µs|\bns\b|\bms\b|(^|, )s$)")
# Imported and not run: the environment is the one that runs this, whatever versions the other checkout names.
_RUN = "import sys; sys.path.insert(0, sys.argv.pop(1)); import bench; bench.main()"

Times: TypeAlias = dict[tuple[int, int, int], float]
"""By table, row and column."""


def beside_table(own: Path, other: Path, groups: Sequence[str]) -> Table:
    """Return the ratio of every time of the groups: this checkout's median over the other one's.

    Raises:
        RuntimeError: a bench can't run there, or its tables have other rows.
    """
    found: dict[Path, list[Times]] = {own: [], other: []}
    tables: list[dict[str, Any]] = []  # Any: what JSON holds
    for _ in range(ROUNDS):
        for folder, runs in found.items():
            measured = _measure(folder, groups)
            tables = measured if folder == own else tables
            runs.append(dict(_times(measured)))
    if any(run.keys() != found[own][0].keys() for runs in found.values() for run in runs):
        raise RuntimeError(f"the tables of {other} have other rows or times than those of {own}")
    rows, ratios = [], []
    for place in found[own][0]:
        ours, theirs = (min(run[place] for run in runs) for runs in found.values())
        table, row, column = place
        cells = list(tables[table]["rows"][row].items())
        label = ", ".join(str(value) for name, value in cells[:3] if not _TIME.match(name))
        ratios.append(ours / theirs)
        rows.append(
            Row((tables[table]["title"], label, cells[column][0], f"{ours:g}", f"{theirs:g}", f"{ratios[-1]:.2f}"))
        )
    return Table(
        title=f"Beside {other}",
        must="for comparison: ratios of medians, the least of several runs",
        measured=f"median of all ratios {statistics.median(ratios):.2f}, {min(ratios):.2f} to {max(ratios):.2f}",
        columns=("table", "row", "time", "here", "there", "ratio"),
        rows=tuple(rows),
        note=f"{ROUNDS} runs of each, by turns. The ratios of Blender's own times, and of C's, are the noise.",
    )


def _measure(folder: Path, groups: Sequence[str]) -> list[dict[str, Any]]:
    words = ["--quick", "--only", *groups]
    tables: list[dict[str, Any]] = run_bench(Path(sys.executable), folder, words, _SECONDS)["tables"]
    return tables


def run_bench(python: Path, folder: Path, words: Sequence[str], seconds: float) -> dict[str, Any]:
    """Return what the bench of a checkout writes as JSON (``Report.data``).

    Args:
        python: of the environment in which it runs.
        folder: of the checkout.
        words: of its command line.
        seconds: that it may take.

    Raises:
        RuntimeError: the bench can't run there.
    """
    with tempfile.TemporaryDirectory() as place:
        result = Path(place) / "result.json"
        command = [str(python), "-c", _RUN, str(folder / "scripts"), *words, "--json", str(result)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=seconds)
        if not result.exists():  # the exit status says only whether a row missed
            raise RuntimeError(f"the bench of {folder} failed:\n{done.stderr}")
        found: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
        return found


def _times(tables: list[dict[str, Any]]) -> Iterator[tuple[tuple[int, int, int], float]]:
    for number, table in enumerate(tables):
        for place, row in enumerate(table["rows"]):
            for column, (name, value) in enumerate(row.items()):
                first = re.match(r"[\d.]+", str(value))
                if _TIME.match(name) and first:
                    yield (number, place, column), float(first[0])
