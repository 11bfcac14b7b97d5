# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure how good and how fast the solver is, beside plain FABRIK, Blender's own IK and C.

Prints markdown tables. With --write they replace docs/benchmarks.md, which is never edited by hand.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import environment

if __name__ == "__main__":
    environment.enter()

sys.path.insert(0, str(environment.ROOT))
from benchmark import (
    batch_rows,
    blender_rows,
    core_rows,
    drag_rows,
    goal_rows,
    law_rows,
    limit_rows,
    machine,
    path_rows,
)
from benchmark.problems import FULL, QUICK, Effort
from benchmark.report import Report, Table

DOCUMENT = environment.ROOT / "docs/benchmarks.md"

HEADING = """\
# Benchmarks

<!-- Printed by `python3 scripts/bench.py --write`: change the bench, not this page. -->

Targets are seeded, 100 to a row unless it says otherwise. Reach is the distance from root to target, error the distance
from tip to target, both over the chain's length. Times are in microseconds, median and 95th percentile (p95); where two
things are compared they ran in the same process, taking turns."""

Measurement = Callable[[Effort], list[Table]]

MEASUREMENTS: dict[str, Measurement] = {
    "reach": core_rows.reach_tables,
    "extension": lambda effort: [core_rows.extension_table(effort)],
    "straight": lambda effort: [core_rows.straight_table(effort)],
    "unreachable": lambda effort: [core_rows.unreachable_table(effort)],
    "unequal": lambda effort: [core_rows.unequal_table(effort)],
    "lengths": lambda effort: [law_rows.length_table(effort)],
    "pole": lambda effort: [law_rows.pole_table(effort)],
    "invariance": lambda effort: [law_rows.invariance_table(effort)],
    "again": lambda effort: [law_rows.again_table(effort)],
    "limits": lambda effort: [limit_rows.reach_table(effort)],
    "limits-pole": lambda effort: [limit_rows.pole_table(effort)],
    "limits-kept": lambda effort: [limit_rows.violation_table(effort)],
    "limits-nearest": lambda effort: [limit_rows.nearest_table(effort)],
    "limits-time": lambda effort: [limit_rows.time_table(effort)],
    "limits-path": lambda effort: [limit_rows.path_table(effort)],
    "rotation": lambda effort: [goal_rows.rotation_table(effort)],
    "soft": lambda effort: [goal_rows.soft_table(effort)],
    "stretch": lambda effort: [goal_rows.stretch_table(effort)],
    "blender": lambda effort: [blender_rows.pose_table(effort)],
    "time": lambda effort: [blender_rows.time_table(effort)],
    "drag": lambda effort: [drag_rows.drag_table(effort)],
    "steps": lambda effort: [path_rows.step_table(effort)],
    "batch": lambda effort: [batch_rows.batch_table(effort)],
}


def main() -> None:
    """Measure what the command line asks for; exit with 1 if something missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer targets and no long chains")
    parser.add_argument("--only", choices=sorted(MEASUREMENTS), nargs="+", help="measure only these")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the numbers to a file")
    parser.add_argument("--write", action="store_true", help=f"also write {DOCUMENT.relative_to(environment.ROOT)}")
    arguments = parser.parse_args()
    if arguments.write and (arguments.quick or arguments.only):
        parser.error("--write takes all measurements: leave out --quick and --only")

    effort = QUICK if arguments.quick else FULL
    tables = []
    for name in arguments.only or MEASUREMENTS:
        start = time.perf_counter()
        tables += MEASUREMENTS[name](effort)
        print(f"[bench] {name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    report = Report(HEADING, machine.facts(), tables)
    print(report.markdown())
    if arguments.json:
        arguments.json.write_text(json.dumps(report.data(), indent=2), encoding="utf-8")
    if arguments.write:
        DOCUMENT.write_text(report.markdown(), encoding="utf-8")
    sys.stdout.flush()
    missed = any(table.ok is False for table in tables)
    os._exit(1 if missed else 0)  # Blender as a module can hang while Python shuts down


if __name__ == "__main__":
    main()
