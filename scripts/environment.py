# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the development environment and run a script in it.

A script that needs Blender or a development tool starts with ``environment.enter()``. That makes (or reuses) a virtual
environment beside ``pyproject.toml``, installs uv into it, lets uv install the versions of ``uv.lock`` and runs the
script again inside.
There is one environment for each Python, so that both Blenders can be tested from one checkout: ``.venv`` for
Python 3.11 (Blender 5.0) and ``.venv-3.13`` for Python 3.13 (Blender 5.2). Delete the folder to start afresh.

``python3 scripts/environment.py`` only makes the environment and prints its Python.

This module runs on a bare Python, also on one that is too old: standard library only, and nothing newer than the
annotations import before the version is checked.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Blender has a wheel for exactly one Python per release; pyproject.toml says which release goes with which Python.
PYTHONS = {(3, 11): ".venv", (3, 13): ".venv-3.13"}

_STAMP = "fabrik-versions"  # inside the environment: what was installed there
_IMPORT_SECONDS = 180.0

# Debian's package for each system library that the bpy wheel needs.
_SYSTEM_LIBRARIES = {
    "libX11.so.6": "libx11-6",
    "libXi.so.6": "libxi6",
    "libXfixes.so.3": "libxfixes3",
    "libXrender.so.1": "libxrender1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libSM.so.6": "libsm6",
    "libICE.so.6": "libsm6",
    "libGL.so.1": "libgl1",
}


class EnvironmentFailure(Exception):
    """The environment cannot be made; the message tells what to do."""


def enter() -> None:
    """Go on inside the environment: return if this is it, else run the same command line there and exit."""
    try:
        python = prepare()
    except EnvironmentFailure as failure:
        sys.exit(f"\n{failure}")
    if Path(sys.prefix).resolve() == python.parent.parent.resolve():
        return
    command = [str(python), *sys.argv]
    sys.stdout.flush()
    if os.name == "posix":
        os.execv(command[0], command)
    sys.exit(subprocess.call(command))  # execv on Windows returns to the shell before the script is done


def prepare() -> Path:
    """Make the environment of the running Python, or reuse it when it is up to date.

    Returns:
        The Python executable inside the environment.

    Raises:
        EnvironmentFailure: another Python version, a missing module or system library, or a failed download.
    """
    version = sys.version_info[:2]
    reason = python_version_reason(version)
    if reason:
        raise EnvironmentFailure(reason)
    folder = ROOT / PYTHONS[version]
    python = environment_python(version)
    stamp = folder / _STAMP
    if python.exists() and stamp.exists() and stamp.read_text(encoding="utf-8") == _versions():
        return python

    start = time.perf_counter()
    _make_virtual_environment(folder, python, version)
    _say("installing the pinned tools and Blender as a Python module (a few hundred megabytes the first time)")
    uv = next(pin for pin in pinned_requirements() if pin.startswith("uv=="))
    _install([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", uv])
    # --locked: a dev group that uv.lock doesn't fit is an error. --inexact: pip stays, as does what was added by hand.
    sync = ["sync", "--locked", "--inexact", "--no-python-downloads", "--python", str(python)]
    _install([str(python.with_name("uv")), *sync], folder)
    _check_bpy(python)
    stamp.write_text(_versions(), encoding="utf-8")
    _say(f"{folder.name} is ready after {time.perf_counter() - start:.0f} s")
    return python


def environment_python(version: tuple[int, int]) -> Path:
    """Return the Python inside the environment of a Python version, whether it has been made or not."""
    return ROOT / PYTHONS[version] / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def python_version_reason(version: tuple[int, ...]) -> str:
    """Return why a Python version can't be used; empty if it can."""
    if version in PYTHONS:
        return ""
    needed = " or ".join(f"{major}.{minor}" for major, minor in PYTHONS)
    return (
        f"Python {needed} is needed, this is Python {version[0]}.{version[1]}.\n"
        "Each Blender is built for one Python: 5.0 for 3.11 and 5.2 for 3.13.\n"
        "Run the same command with that Python (python3.11 or python3.13) in place of python3.\n"
        "On Debian 12: sudo apt-get install python3.11 python3.11-venv"
    )


def missing_library_reason(error: str) -> str:
    """Return the missing system packages named by the dynamic linker's message; empty if it names no library."""
    found = re.search(r"(lib[\w.+-]+\.so[.\d]*): cannot open shared object file", error)
    if not found:
        return ""
    library = found.group(1)
    package = _SYSTEM_LIBRARIES.get(library)
    packages = sorted(set(_SYSTEM_LIBRARIES.values()))
    hint = f" (package {package})" if package else ""
    return (
        f"Blender needs the system library {library}{hint}, which is not installed.\n"
        f"On Debian and Ubuntu: sudo apt-get install {' '.join(packages)}\n"
        "Then run the same command again."
    )


def pinned_requirements() -> list[str]:
    """Return the pinned ``dev`` group of ``pyproject.toml``; pip itself picks what is meant for its Python."""
    import tomllib  # not there in the old Pythons that only get as far as the version message

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    group: list[str] = project["dependency-groups"]["dev"]
    return group


def _versions() -> str:
    """Return what decides which versions are installed: the ``dev`` group, and a digest of the lock file."""
    digest = hashlib.sha256((ROOT / "uv.lock").read_bytes()).hexdigest()
    return "\n".join([*pinned_requirements(), digest])


def _install(command: list[str], folder: Path | None = None) -> None:
    """Run pip, or uv for the environment in a folder."""
    # 180 s without a byte instead of uv's 30: bpy is 350 MB, and a package index may fetch it from elsewhere first.
    variables = {"UV_HTTP_TIMEOUT": "180", **os.environ}
    if folder is not None:
        variables["UV_PROJECT_ENVIRONMENT"] = str(folder)
    if subprocess.call(command, cwd=ROOT, env=variables):
        raise EnvironmentFailure(
            "The development environment could not be installed; the reason is above.\nIt was run as: "
            f"{shlex.join(command)}\nThe bpy wheel exists for Linux (x86-64, glibc), Windows and macOS."
        )


def _make_virtual_environment(folder: Path, python: Path, version: tuple[int, ...]) -> None:
    name = f"{version[0]}.{version[1]}"
    # Debian splits these two off the standard library.
    if not (importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip")):
        raise EnvironmentFailure(
            "This Python cannot make virtual environments.\n"
            f"On Debian and Ubuntu: sudo apt-get install python{name}-venv"
        )
    settings = folder / "pyvenv.cfg"
    ours = rf"(?m)^version *= *{re.escape(name)}\."
    if python.exists() and settings.exists() and re.search(ours, settings.read_text(encoding="utf-8")):
        return
    _say(f"making the virtual environment {folder.name} with Python {name}")
    if subprocess.call([sys.executable, "-m", "venv", "--clear", str(folder)]):
        raise EnvironmentFailure(f"Python could not make the virtual environment {folder}; its reason is above.")


def _check_bpy(python: Path) -> None:
    # os._exit: Blender as a module can hang while Python shuts down.
    code = "import bpy, os; print('Blender', bpy.app.version_string, 'loads', flush=True); os._exit(0)"
    try:
        done = subprocess.run([str(python), "-c", code], capture_output=True, text=True, timeout=_IMPORT_SECONDS)
    except subprocess.TimeoutExpired:
        raise EnvironmentFailure(f"Importing bpy took more than {_IMPORT_SECONDS:.0f} s and was stopped.") from None
    if done.returncode:
        reason = missing_library_reason(done.stderr)
        raise EnvironmentFailure(reason or f"Blender's Python module does not load:\n{done.stderr.strip()}")
    _say(done.stdout.strip())


def _say(text: str) -> None:
    print(f"[environment] {text}", flush=True)


if __name__ == "__main__":
    try:
        print(prepare())
    except EnvironmentFailure as _failure:
        sys.exit(f"\n{_failure}")
