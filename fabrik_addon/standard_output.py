# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Standard output that programs can read: Blender writes there what it likes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TypeAlias

Say: TypeAlias = Callable[[str], None]
"""Prints a line to standard output."""


def keep_for_result() -> Say:
    """Keep standard output for what the returned function prints; all else goes to standard error from now on.

    There is no way back: what Blender has printed waits in a buffer that Python can't reach, to come out at the end.
    """
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)

    def say(line: str) -> None:
        data = f"{line}\n".encode()
        while data:
            data = data[os.write(kept, data) :]

    return say


def say_plainly(line: str) -> None:
    """Print a line for people."""
    print(line, flush=True)
