# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Standard output reserved for the lines of a result: Blender writes messages of its own there."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TypeAlias

PrintLine: TypeAlias = Callable[[str], None]
"""Prints a line to standard output."""


def reserve_for_result() -> PrintLine:
    """Reserve standard output for the returned function; everything else goes to standard error from now on.

    This can't be undone: Blender's messages are in a buffer of the C library that Python can't flush, and are written
    to descriptor 1 when the process ends.
    """
    sys.stdout.flush()
    reserved = os.dup(1)
    os.dup2(2, 1)

    def print_result(line: str) -> None:
        data = f"{line}\n".encode()
        while data:
            data = data[os.write(reserved, data) :]

    return print_result


def print_plainly(line: str) -> None:
    """Print a line to standard output; what its encoding doesn't have is printed as an escape, as Python's errors are.

    A name that a Windows pipe or a terminal can't show is no reason to fail after the file was saved.
    """
    encoding = sys.stdout.encoding or "utf-8"
    print(line.encode(encoding, "backslashreplace").decode(encoding), flush=True)
