# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rows of limits, drags, trees and bodies on the other Blender, each table in one row.

Blenders have their own Python and numpy, and the time of a solve is that of both.
"""

from __future__ import annotations

import sys
from typing import Any

import environment

from .beside import run_bench
from .problems import FULL, Effort
from .report import Row, Table

GROUPS = ("limits-nearest", "limits-time", "limits-path", "drag", "bake-body", "trees", "body-path", "body-paths")

_SECONDS = 1800.0


def other_blender_table(effort: Effort) -> Table:
    """Return what the bench measures with the other Blender, in a process of its own; one row where there is none."""
    version = next(known for known in environment.PYTHONS if known != sys.version_info[:2])
    python = environment.environment_python(version)
    rows = [
        Row(
            (f"{python} isn't made: run `python3 scripts/environment.py` with Python {version[0]}.{version[1]}", "", "")
        )
    ]
    name = "none"
    if python.exists():
        options = () if effort == FULL else ("--quick",)
        found = run_bench(python, environment.ROOT, [*options, "--only", *GROUPS], _SECONDS)
        facts: dict[str, str] = found["facts"]
        name = f"Blender {facts['Blender'].partition(' ')[0]}, Python {facts['Python']}, numpy {facts['numpy']}"
        rows = [_row(table) for table in found["tables"]]
    return Table(
        title="The other Blender",
        must="as the tables of the same names say",
        measured=name,
        columns=("what", "must", "measured"),
        rows=tuple(rows),
        note=f"Measured by the same rows in a process of its own: {name}.",
    )


def _row(table: dict[str, Any]) -> Row:  # Any: what JSON holds
    return Row((table["title"], table["must"], table["measured"]), table["ok"])
