# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line where there is no Blender binary: the same commands, on Blender as a Python module.

``python3 scripts/fabrik.py FILE bake --output OUT`` does what ``blender FILE --command fabrik bake --output OUT`` does.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

import environment

USAGE = (
    "usage: fabrik.py [--enable-autoexec] FILE bake|solve|list|convert [OPTIONS]    (COMMAND --help for its options)"
)


def main() -> None:
    """Open the file, run the command, and exit with its code."""
    words = sys.argv[1:]
    runs_scripts = words[:1] == ["--enable-autoexec"]
    words = words[runs_scripts:]
    if not words or words[0] in {"-h", "--help"}:
        print(USAGE, file=sys.stdout if words else sys.stderr)
        sys.exit(0 if words else 2)
    _prepare_environment()
    environment.enter()
    sys.path.insert(0, str(environment.ROOT))
    from fabrik_addon.standard_output import reserve_for_result

    print_line = reserve_for_result() if "--json" in words else None  # before Blender prints while it loads
    import bpy

    import fabrik_addon
    from fabrik_addon.blender.command_line.commands import UsageError
    from fabrik_addon.blender.command_line.run_command import run

    bpy.ops.wm.read_factory_settings(use_empty=True)
    fabrik_addon.register()

    def open_file() -> None:
        file = Path(words[0])
        if not file.is_file():
            raise UsageError(f"there is no file '{file}'")
        bpy.ops.wm.open_mainfile(filepath=str(file.absolute()), load_ui=False, use_scripts=runs_scripts)

    _exit(run(words[1:], print_line, open_file))


def _prepare_environment() -> None:
    """Make the environment, if there is none; its messages go to standard error."""
    sys.stdout.flush()
    saved = os.dup(1)
    os.dup2(2, 1)
    # What fails here fails again in environment.enter(), which prints the reason.
    with contextlib.suppress(environment.EnvironmentFailure):
        environment.prepare()
    sys.stdout.flush()
    os.dup2(saved, 1)
    os.close(saved)


def _exit(code: int) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # Blender as a module can hang in a plain exit


if __name__ == "__main__":
    main()
