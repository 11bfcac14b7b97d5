# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real Blender with its window: the archive is installed as people do it, then mouse and keys do the rest.

What happens stands in ``inside/scenarios.py``; it runs twice, by Blender's event simulation and by real X events.
Pictures and logs are left in ``out/gui``. Where such a Blender can't be had the tests are skipped, with the reason.
"""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scripts import blender_window

pytestmark = pytest.mark.gui

ROOT = Path(__file__).resolve().parent.parent.parent
INSIDE = Path(__file__).parent / "inside"
OUT = ROOT / "out/gui"
SECONDS = 1500.0
MODES = ("simulated", "real")


def scenarios() -> list[str]:
    """The names in scenarios.SCENARIOS: they can be imported in Blender only."""
    tree = ast.parse((INSIDE / "scenarios.py").read_text(encoding="utf-8"))
    (table,) = (
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "SCENARIOS"
    )
    assert isinstance(table, ast.DictComp) and isinstance(table.generators[0].iter, ast.Tuple)
    return [name.id for name in table.generators[0].iter.elts if isinstance(name, ast.Name)]


@pytest.fixture(scope="session")
def chroot() -> Path:
    try:
        root = blender_window.prepare()
        blender_window.add_languages(root)
        return root
    except blender_window.Unavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def stage(chroot: Path) -> Path:
    """A folder with the archive and the scenarios, which Blender sees as /share."""
    shutil.rmtree(OUT, ignore_errors=True)
    shutil.copytree(INSIDE, OUT / "inside", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("mannequin", "body_poses"):
        shutil.copy(ROOT / f"scripts/{name}.py", OUT / "inside")
    build = [sys.executable, str(ROOT / "scripts/build.py"), "--output", str(OUT)]
    subprocess.run(build, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=300.0)
    return OUT


@pytest.fixture(scope="session", params=MODES)
def played(request: pytest.FixtureRequest, chroot: Path, stage: Path) -> tuple[str, dict[str, Any], str]:
    """Play all scenarios once; return the mode, the result of each, and all that Blender printed."""
    mode = request.param
    (archive,) = stage.glob("*.zip")
    width, height = blender_window.SIZE
    command = ["blender", "--factory-startup", "--gpu-backend", "opengl", "-p", "0", "0", str(width), str(height)]
    command += ["--enable-event-simulate"] if mode == "simulated" else []
    command += ["-P", "/share/inside/main.py", "--", mode, "/share", f"/share/{archive.name}"]
    log = stage / f"{mode}.log"
    status = blender_window.run(chroot, stage, command, SECONDS, log)
    printed = log.read_text(encoding="utf-8", errors="replace")
    results = stage / f"{mode}.json"
    report = json.loads(results.read_text(encoding="utf-8")) if results.exists() else {}
    report["exit status"] = {"checks": [[status == 0, f"Blender ends with status {status}:\n{printed[-2000:]}"]]}
    return mode, report, printed


@pytest.mark.parametrize("name", ["exit status", "install", *scenarios()])
def test_in_a_window(played: tuple[str, dict[str, Any], str], name: str) -> None:
    mode, report, _printed = played
    assert name in report, f"{mode}: it was not played"
    checks = report[name]["checks"]
    wrong = [what for is_right, what in checks if not is_right]
    assert checks and not wrong, f"{mode}: " + "\n".join(wrong)


def test_the_console_shows_no_exception(played: tuple[str, dict[str, Any], str]) -> None:
    _mode, _report, printed = played
    lines = printed.splitlines()
    found = [number for number, line in enumerate(lines) if "Traceback" in line or line.startswith("Error:")]
    assert not found, "\n".join(lines[found[0] : found[0] + 15])
