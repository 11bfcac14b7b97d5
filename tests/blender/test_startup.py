# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Blender imports when it starts with the extension."""

from __future__ import annotations

from pathlib import Path

from scripts.benchmark.startup_rows import register_once


def test_registering_imports_no_module_that_uses_numpy(tmp_path: Path) -> None:
    _, _, count, heavy = register_once(str(tmp_path))
    assert count > 10
    assert heavy == []
