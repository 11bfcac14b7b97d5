# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure how good and how fast the solver is, beside plain FABRIK, Blender's own IK and C.

Prints markdown tables. With --write they replace docs/benchmarks.md, or with --only their own places in it: it is never
edited by hand. --peers measures other people's solvers instead, --plot draws pictures, and --beside compares times with
those of another checkout.
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
    bake_rows,
    batch_rows,
    beside,
    blender_rows,
    body_bake_rows,
    body_drag_rows,
    body_path_rows,
    body_reach_rows,
    body_reconstruction_rows,
    convert_rows,
    core_rows,
    drag_rows,
    farm_rows,
    goal_rows,
    hostile_rows,
    law_rows,
    limit_rows,
    machine,
    native_goal_rows,
    native_limit_rows,
    native_metarig_rows,
    native_rows,
    other_blender,
    paper_rows,
    path_rows,
    planar_rows,
    recognition_rows,
    solver_rows,
    startup_rows,
    tree_rows,
)
from benchmark.problems import FULL, QUICK, Effort
from benchmark.report import Report, Table

DOCUMENT = environment.ROOT / "docs/benchmarks.md"
PEERS_DOCUMENT = environment.ROOT / "docs/peers.md"
IMAGES = environment.ROOT / "docs/images"
PEERS_ENVIRONMENT = environment.ROOT / ".venv-peers"

HEADING = """\
# Benchmarks

<!-- Printed by `python3 scripts/bench.py --write`: change the bench, not this page. -->

Targets are seeded, 100 to a row unless it says otherwise. Reach is the distance from root to target, error the distance
from tip to target, both over the chain's length. Times are in microseconds, median and 95th percentile (p95); where two
things are compared they ran in the same process, taking turns."""

ENDING = """\
## Pictures

Drawn by `python3 scripts/bench.py --plot`. Other people's solvers on the same sets are in [peers.md](peers.md),
measured by `python3 scripts/bench.py --peers --write`.

![Error against iteration, without FABRIK's exact finish](images/solvers-error.png)

![Time against number of links](images/solvers-time.png)

![Reach rate against reach](images/solvers-reach.png)

![A planar arm on its way out of reach, damped and undamped](images/solvers-planar.png)"""

PEERS_HEADING = """\
# Other people's solvers

<!-- Printed by `python3 scripts/bench.py --peers --write`: change the bench, not this page. -->

The same sets as in [benchmarks.md](benchmarks.md), 20 targets of each, in one run on one machine."""

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
    "limits-rotation": lambda effort: [limit_rows.rotation_table(effort)],
    "limits-time": lambda effort: [limit_rows.time_table(effort)],
    "hostile": lambda effort: [hostile_rows.hostile_table(effort)],
    "limits-path": lambda effort: [limit_rows.path_table(effort)],
    "rotation": lambda effort: [goal_rows.rotation_table(effort)],
    "soft": lambda effort: [goal_rows.soft_table(effort)],
    "stretch": lambda effort: [goal_rows.stretch_table(effort)],
    "recognising": lambda effort: [recognition_rows.recognition_table(effort)],
    "recognising-random": lambda effort: [recognition_rows.random_table(effort)],
    "blender": lambda effort: [blender_rows.pose_table(effort)],
    "time": lambda effort: [blender_rows.time_table(effort)],
    "drag": lambda effort: [drag_rows.drag_table(effort)],
    "bake": lambda effort: [bake_rows.time_table(effort)],
    "bake-body": lambda effort: [bake_rows.body_table(effort)],
    "bake-following": lambda effort: [body_bake_rows.follow_table(effort)],
    "bake-growth": lambda effort: [bake_rows.growth_table(effort)],
    "bake-same": lambda effort: [bake_rows.same_table(effort)],
    "round-trip": lambda effort: [bake_rows.round_trip_table(effort)],
    "convert": lambda effort: [convert_rows.convert_table(effort)],
    "steps": lambda effort: [path_rows.step_table(effort)],
    "pole-paths": lambda effort: [path_rows.pole_path_table(effort)],
    "two-bone": lambda effort: [solver_rows.two_bone_table(effort)],
    "solvers": lambda effort: [solver_rows.reach_table(effort)],
    "solvers-ranking": lambda effort: [solver_rows.ranking_table(effort)],
    "solvers-limits": lambda effort: [solver_rows.limits_table(effort)],
    "planar": lambda effort: [planar_rows.planar_table(effort)],
    "paper": lambda effort: [paper_rows.paper_table(effort)],
    "trees": tree_rows.tree_tables,
    "body-path": lambda effort: [
        body_path_rows.body_path_table(effort),
        body_path_rows.body_move_table(effort),
        body_path_rows.fixed_path_table(effort),
    ],
    "body-reconstruction": lambda effort: [body_reconstruction_rows.reconstruction_table(effort)],
    "body-reach": lambda effort: [body_reach_rows.reach_table(effort)],
    "body-paths": lambda effort: [
        body_drag_rows.path_table(effort),
        body_drag_rows.path_table(effort, goes_on=False),
        body_drag_rows.past_pole_table(effort),
    ],
    "body-pulling": lambda effort: [body_drag_rows.pulling_table(effort)],
    "native": lambda effort: [native_rows.same_table(effort)],
    "native-rotation": lambda effort: [native_goal_rows.rotation_table(effort)],
    "native-stretch": lambda effort: [native_goal_rows.stretch_table(effort)],
    "native-limits": lambda effort: [native_limit_rows.limits_table(effort)],
    "native-metarigs": lambda effort: [native_metarig_rows.metarig_table(effort)],
    "native-time": lambda effort: [native_rows.time_table(effort)],
    "native-playback": lambda effort: [native_rows.playback_table(effort)],
    "native-bare": lambda effort: [native_rows.bare_table(effort)],
    "batch": lambda effort: [batch_rows.batch_table(effort)],
    "startup": lambda effort: [startup_rows.startup_table(effort)],
    "farm": lambda effort: [farm_rows.farm_table(effort)],
    "other-blender": lambda effort: [other_blender.other_blender_table(effort)],
}


def _measure(names: list[str], effort: Effort) -> list[Table]:
    tables = []
    for name in names:
        start = time.perf_counter()
        tables += MEASUREMENTS[name](effort)
        print(f"[bench] {name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    return tables


def _peers(effort: Effort) -> list[Table]:
    from benchmark import peers

    return peers.peer_tables(peers.install(PEERS_ENVIRONMENT), effort)


def _plot(effort: Effort) -> None:
    from benchmark import plots  # matplotlib takes a second to load

    for path in plots.draw_all(IMAGES, effort):
        print(f"[bench] drew {_relative(path)}", file=sys.stderr, flush=True)


def _relative(path: Path) -> Path:
    return path.relative_to(environment.ROOT)


def main() -> None:
    """Measure what the command line asks for; exit with 1 if something missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer targets and no long chains")
    parser.add_argument("--only", choices=sorted(MEASUREMENTS), nargs="+", help="measure only these")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the numbers to a file")
    parser.add_argument(
        "--write",
        action="store_true",
        help="also write what was measured to its page in docs: with --only these tables alone are renewed",
    )
    parser.add_argument("--peers", action="store_true", help="measure other people's solvers instead; installs them")
    parser.add_argument("--plot", action="store_true", help=f"only draw the pictures in {_relative(IMAGES)}")
    parser.add_argument(
        "--beside",
        type=Path,
        metavar="FOLDER",
        help=f"compare times with those of another checkout; without --only: {', '.join(beside.GROUPS)}",
    )
    arguments = parser.parse_args()
    if arguments.write and arguments.quick:
        parser.error("--write takes all targets: leave out --quick")
    if arguments.only and (arguments.peers or arguments.plot):
        parser.error("--only chooses among our own measurements: leave out --peers and --plot")
    if arguments.beside and (arguments.write or arguments.peers or arguments.plot):
        parser.error("--beside only compares times: leave out --write, --peers and --plot")

    effort = QUICK if arguments.quick else FULL
    if arguments.plot:
        _plot(effort)
    if arguments.plot and not arguments.peers:
        os._exit(0)
    if arguments.beside:
        table = beside.beside_table(environment.ROOT, arguments.beside.resolve(), arguments.only or beside.GROUPS)
        report = Report("# Two checkouts", machine.facts(), [table])
    elif arguments.peers:
        report = Report(PEERS_HEADING, machine.facts(), _peers(effort))
    else:
        report = Report(HEADING, machine.facts(), _measure(arguments.only or list(MEASUREMENTS), effort), ENDING)
    print(report.markdown())
    if arguments.json:
        arguments.json.write_text(json.dumps(report.data(), indent=2), encoding="utf-8")
    if arguments.write:
        page = PEERS_DOCUMENT if arguments.peers else DOCUMENT
        text = report.renewed(page.read_text(encoding="utf-8")) if arguments.only else report.markdown()
        page.write_text(text, encoding="utf-8")
    sys.stdout.flush()
    missed = any(table.ok is False for table in report.tables)
    os._exit(1 if missed else 0)  # Blender as a module can hang while Python shuts down


if __name__ == "__main__":
    main()
