# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The manual's site is built strictly: what is broken is an error that names it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.manual_hooks import with_links_of_the_manual

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("[chains](docs/chains.md)", "[chains](chains.md)"),
        ("[limits](docs/joint-limits.md#presets)", "[limits](joint-limits.md#presets)"),
        ("[how](../CONTRIBUTING.md)", "[how](contributing.md)"),
        ("![a picture](docs/images/drag.png)", "![a picture](images/drag.png)"),
        ("[LICENSE](LICENSE)", "[LICENSE](license.md)"),
        ("[baking](baking.md)", "[baking](baking.md)"),
        ("[there](https://example.org/docs/a.md)", "[there](https://example.org/docs/a.md)"),
        ("[here](#install)", "[here](#install)"),
    ],
)
def test_links_of_the_repository_lead_to_pages_of_the_manual(link: str, expected: str) -> None:
    assert with_links_of_the_manual(f"See {link}.") == f"See {expected}."


def test_a_broken_link_heading_or_picture_is_an_error(tmp_path: Path) -> None:
    for name in ("mkdocs.yml", "blender_manifest.toml", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts/manual_hooks.py", tmp_path / "scripts")
    faults = "[a](no-page.md) [b](baking.md#no-heading) ![c](images/no-picture.png)"
    (tmp_path / "docs/chains.md").write_text(f"# Chains\n\n{faults}\n", encoding="utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    variables = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=120)
    assert done.returncode != 0
    for fault in ("no-page.md", "no-heading", "no-picture.png"):
        assert fault in done.stderr
