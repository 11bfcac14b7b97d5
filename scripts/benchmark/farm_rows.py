# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A render farm on one machine: many shots baked by the Open Job Description runner, with one worker and with two."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import bpy

import environment

from .human import LIMBS, make_human
from .problems import Effort
from .report import Row, Table

FRAMES = 50
SHOTS_PER_TASK = 10
WORKERS = (1, 2)

_TEMPLATE = environment.ROOT / "farm/openjd/fabrik_bake.yaml"
_RUNNER = (sys.executable, "-c", "import sys; from openjd.cli import main; sys.exit(main())")


def farm_table(effort: Effort) -> Table:
    """Time of a job whose shots are split evenly among the workers, each a session of the runner."""
    rows, measured = [], []
    with tempfile.TemporaryDirectory() as name:
        shots = Path(name) / "shots"
        _make_shots(shots, effort.targets)
        for workers in WORKERS:
            output = Path(name) / f"baked by {workers}"
            start = time.perf_counter()
            _run_job(shots, output, effort.targets, workers)
            seconds = time.perf_counter() - start
            baked = len(list(output.glob("*.blend")))
            cells = (workers, f"{baked}/{effort.targets}", f"{seconds:.0f}", f"{seconds / effort.targets:.2f}")
            rows.append(Row(cells, baked == effort.targets))
            measured.append(f"{seconds / effort.targets:.2f} s a shot ({workers})")
    return Table(
        title="Render farm: a job of many shots",
        must="every shot baked",
        measured=", ".join(measured),
        columns=("workers", "baked", "seconds", "seconds a shot"),
        rows=tuple(rows),
        note=f"Each shot is Rigify's human with {len(LIMBS)} limbs and {FRAMES} frames, in a file of its own, baked by "
        "a Blender of its own (the Python module). "
        f"A task has {SHOTS_PER_TASK} shots, a worker is a session of `openjd run`.",
    )


def _make_shots(folder: Path, count: int) -> None:
    """Write the same shot under as many names."""
    folder.mkdir()
    make_human(FRAMES)
    bpy.ops.object.mode_set(mode='OBJECT')
    first = folder / "shot_001.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(first), check_existing=False)
    for number in range(2, count + 1):
        shutil.copy(first, folder / f"shot_{number:03d}.blend")


def _run_job(shots: Path, output: Path, count: int, workers: int) -> None:
    """Run one session for each worker at the same time, and wait for all."""
    sessions = []
    for worker in range(workers):
        first, last = 1 + worker * count // workers, (worker + 1) * count // workers
        values = {
            "Shots": shots,
            "ShotRange": f"{first}-{last}",
            "OutputFolder": output,
            "Blender": environment.ROOT / "scripts/fabrik.py",
            "Python": sys.executable,
            "ShotsPerTask": SHOTS_PER_TASK,
        }
        words = [word for name, value in values.items() for word in ("--job-param", f"{name}={value}")]
        command = [*_RUNNER, "run", str(_TEMPLATE), "--step", "Bake", *words]
        sessions.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL))
    for session in sessions:
        session.wait()
