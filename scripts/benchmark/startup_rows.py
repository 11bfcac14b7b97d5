# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the extension costs when Blender starts: the time of registering it, in Blenders of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from .problems import Effort
from .report import Row, Table

MOST_MILLISECONDS = 25.0

_ROOT = Path(__file__).resolve().parents[2]

REGISTER = f"""
import json, os, sys, time
import bpy
bpy.ops.wm.read_factory_settings(use_empty=True)
sys.path.insert(0, {str(_ROOT)!r})
before = set(sys.modules)
wall, processor = time.perf_counter(), time.process_time()
import fabrik_addon
fabrik_addon.register()
times = time.perf_counter() - wall, time.process_time() - processor
new = [sys.modules[name] for name in sorted(set(sys.modules) - before)]
heavy = [module.__name__ for module in new if sys.modules.get("numpy", module) in [*vars(module).values(), module]]
print(json.dumps([*times, len(new), heavy]), flush=True)
os._exit(0)
"""
"""Prints wall and processor seconds, the number of modules that were imported, and those of them that use numpy."""


def register_once(folder: str) -> tuple[float, float, int, list[str]]:
    """Register the extension in a Blender of its own, with compiled modules in a folder."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    variables["PYTHONPYCACHEPREFIX"] = folder
    command = [sys.executable, "-c", REGISTER]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=120, check=True)
    wall, processor, count, heavy = json.loads(done.stdout.splitlines()[-1])
    return wall, processor, count, heavy


def startup_table(effort: Effort) -> Table:
    """Time of registering the extension in a fresh Blender."""
    with tempfile.TemporaryDirectory() as folder:
        register_once(folder)  # compiles the modules, as Blender does once after an installation
        runs = [register_once(folder) for _ in range(effort.timed_runs)]
    wall, processor = (1e3 * np.median([run[place] for run in runs]) for place in (0, 1))
    heavy = {name for run in runs for name in run[3]}
    row = Row(
        (f"{processor:.1f}", f"{wall:.1f}", runs[0][2], ", ".join(sorted(heavy)) or "none"),
        bool(processor <= MOST_MILLISECONDS) and not heavy,
    )
    return Table(
        title="Start of Blender: registering the extension",
        must=f"at most {MOST_MILLISECONDS:.0f} ms of processor time, median, and no module that uses numpy",
        measured=f"{processor:.1f} ms",
        columns=("processor time, ms", "wall time, ms", "modules imported", "of them with numpy"),
        rows=(row,),
        note=f"{effort.timed_runs} Blenders (the Python module), one after another, with compiled modules.",
    )
