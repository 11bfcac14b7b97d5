# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules through which a target passes from the button to the bone are those that the architecture page lists."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import FrameType

import bpy

from tests.blender.rigs import add_chain, make_tail

ROOT = Path(__file__).resolve().parents[2]
MOST_MODULES = 15


def listed() -> list[tuple[str, str]]:
    """Paths of modules and names of functions, in the page's order."""
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    return re.findall(r"^\d+\. `([\w/]+\.py)`, `(\w+)`", page, re.MULTILINE)


def test_a_target_passes_through_the_modules_that_the_architecture_lists() -> None:
    modules = [module for module, _ in listed()]
    assert 10 < len(set(modules)) == len(modules) <= MOST_MODULES
    armature = make_tail(4)
    chain = add_chain(armature, "bone3", 4, (0.9, 0.7, 1.6))
    assert bpy.ops.object.mode_set(mode="POSE") == {"FINISHED"}
    called: dict[tuple[str, str], None] = {}

    def record(frame: FrameType, event: str, _argument: object) -> None:
        module = frame.f_code.co_filename.replace("\\", "/").rpartition("/fabrik_addon/")[2]
        if event == "call":
            called.setdefault((module, frame.f_code.co_name))

    sys.setprofile(record)
    try:
        assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    finally:
        sys.setprofile(None)
    assert chain.status == "REACHED"
    assert [step for step in called if step in listed()] == listed()
