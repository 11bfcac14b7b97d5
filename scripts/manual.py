# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the manual as a site in out/manual, or show it with ``--serve``; a broken link or picture is an error."""

from __future__ import annotations

import os
import subprocess
import sys

import environment


def main() -> None:
    """Build or serve the manual."""
    words = sys.argv[1:]
    if words not in ([], ["--serve"]):
        sys.exit(f"{__doc__}\nusage: manual.py [--serve]")
    environment.enter()
    command = ["serve"] if words else ["build", "--strict", "--quiet"]
    variables = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    sys.exit(subprocess.call([sys.executable, "-m", "mkdocs", *command], cwd=environment.ROOT, env=variables))


if __name__ == "__main__":
    main()
