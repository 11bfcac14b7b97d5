# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs scenarios in a Blender with its window, one after another, and writes down what came of each.

blender [--enable-event-simulate] ... -P main.py -- simulated|real OUT ARCHIVE [SCENARIO...]
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import bpy
import stage
from hands import Real, Simulated
from scenarios import SCENARIOS
from stage import RESULTS, Stage, Steps, check, fresh_file, shot

STUCK = 240.0
"""Seconds after which a scenario is given up."""

mode, out, archive, *wanted = sys.argv[sys.argv.index("--") + 1 :]
Stage.mode, Stage.out = mode, Path(out)
Stage.hands = Simulated() if mode == "simulated" else Real()

preferences = bpy.context.preferences
preferences.view.show_splash = False
preferences.view.use_save_prompt = False
preferences.use_preferences_save = False
preferences.inputs.use_mouse_continuous = False  # else the pointer jumps while Blender's own operators drag
preferences.view.smooth_view = 0
preferences.system.viewport_aa = "OFF"  # each sample is drawn by the processor


def install() -> Steps:
    """As Install from Disk in the preferences does."""
    with stage.over():
        bpy.ops.preferences.addon_enable(module="rigify")
        answer = bpy.ops.extensions.package_install_files(
            filepath=archive, repo="user_default", enable_on_install=True, overwrite=True
        )
    yield 1.0
    check(answer == {"FINISHED"} and stage.MODULE in preferences.addons, f"the archive installs ({answer})")


def run_all() -> Steps:
    yield 1.5  # the first redraw compiles shaders
    report: dict[str, object] = {}
    for name, scenario in {"install": install, **SCENARIOS}.items():
        if wanted and name not in wanted and name != "install":
            continue
        print(f"{name} ({mode})", flush=True)
        RESULTS.clear()
        start = time.perf_counter()
        try:
            if name != "install":
                yield from fresh_file()
            for rest in scenario():
                if time.perf_counter() - start > STUCK:
                    raise TimeoutError(f"{name} is stuck")
                yield rest
            check(RESULTS, "something was checked")
        except Exception:
            check(False, traceback.format_exc())
            shot(f"wrong-{name}")
            Stage.hands.key("ESC")
            yield 0.5
        seconds = time.perf_counter() - start
        report[name] = {"checks": list(RESULTS), "seconds": round(seconds, 1)}
        print(f"    {seconds:.1f} s", flush=True)
        (Stage.out / f"{mode}.json").write_text(json.dumps(report, indent=1), encoding="utf-8")


steps = run_all()


def tick() -> float:
    try:
        return next(steps)
    except StopIteration:
        pass
    except Exception:
        traceback.print_exc()
        os._exit(3)
    print("done", flush=True)
    os._exit(0)  # quit_blender always exits with 0


bpy.app.timers.register(tick, first_interval=0.5, persistent=True)
