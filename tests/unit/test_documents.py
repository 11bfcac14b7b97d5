# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page about the architecture names what there is."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")


def test_every_path_that_the_architecture_names_exists() -> None:
    paths = re.findall(r"`([\w./-]+/[\w./-]+)`", PAGE)
    assert len(paths) > 50
    missing = [path for path in paths if not any((ROOT / base / path).exists() for base in ("", "fabrik_addon"))]
    assert missing == []


def test_every_stage_of_a_solve_that_the_architecture_names_exists() -> None:
    named = re.findall(r"`(\w+)`", PAGE.partition("A solve of one chain")[2].partition("`core/solve_tree.py`")[0])
    core = ROOT / "fabrik_addon/core"
    modules = [core / "solve_chain.py", *(core / "stages").glob("*.py")]
    code = "".join(module.read_text(encoding="utf-8") for module in modules)
    assert len(named) == 6 and [name for name in named if f"\ndef {name}(" not in code] == []


def test_the_drawing_has_every_folder_and_no_other() -> None:
    drawing = PAGE.partition("```mermaid")[2].partition("```")[0]
    drawn = set(re.findall(r"(\w+)\[", drawing)) - {"core", "blender", "solve_chain", "solve_tree", "problem"}
    folders = {init.parent.name for init in ROOT.glob("fabrik_addon/*/*/__init__.py")}
    assert drawn == folders
