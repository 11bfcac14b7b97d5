# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machine and the versions that the numbers were measured with."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import bpy
import numpy as np


def facts() -> dict[str, str]:
    """Return processor, system and versions."""
    return {
        "processor": f"{_processor()}, {os.cpu_count()} logical",
        "system": f"{platform.system()} {platform.machine()}",
        "Blender": f"{bpy.app.version_string} as a Python module",
        "Python": platform.python_version(),
        "numpy": np.__version__,
        "C compiler": c_compiler_version() or "none",
    }


def c_compiler_version() -> str:
    """Return gcc's name and version; empty where there is none."""
    if shutil.which("gcc") is None:
        return ""
    answer = subprocess.run(["gcc", "--version"], capture_output=True, text=True, timeout=30)
    return answer.stdout.partition("\n")[0].strip()


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        text = cpuinfo.read_text(encoding="utf-8")
        named = re.search(r"(?m)^model name\s*:\s*(.+)$", text)
        speed = re.search(r"(?m)^cpu MHz\s*:\s*([\d.]+)$", text)
        if named:
            return named[1].strip() + (f" at {float(speed[1]) / 1000:.1f} GHz" if speed else "")
    return platform.processor() or "unknown"
