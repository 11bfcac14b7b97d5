# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The core runs where there is no Blender."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

SCRIPT = """
import sys
from pathlib import Path
for blenders in ("bpy", "mathutils", "bpy_extras", "idprop", "gpu"):
    sys.modules[blenders] = None
import importlib
names = sorted(".".join(path.with_suffix("").parts) for path in Path("fabrik_addon/core").rglob("*.py"))
for name in names:
    importlib.import_module(name.removesuffix(".__init__"))
import fabrik_addon
foreign = {name.partition(".")[0] for name in sys.modules if sys.modules[name] is not None}
foreign -= {*sys.stdlib_module_names, "numpy", "fabrik_addon", "__main__"}
print(len(names), *sorted(name for name in foreign if name in ("scipy", "numba", "pytest")))
"""


def test_every_core_module_imports_without_blender() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    count = len(list((ROOT / "fabrik_addon/core").rglob("*.py")))
    assert done.stdout.split() == [str(count)]
