# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: the file that is open to another place, whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import bpy

_COMPRESSED = (b"\x28\xb5\x2f\xfd", b"\x1f\x8b")
"""How a compressed file starts: Zstandard, and gzip of Blenders before 3.0."""


def save_to(path: Path) -> None:
    """Save under another name and rename: whatever happens meanwhile, the file there is the old one or the new one.

    Raises:
        OSError: the file can't be written or renamed.
        RuntimeError: Blender can't save.
    """
    path = path.resolve()  # a link stays one, and what it leads to is written
    # In the same folder, so that renaming is one step and relative paths stay right.
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.saving.blend")
    try:
        bpy.ops.wm.save_as_mainfile(
            filepath=str(temporary), check_existing=False, copy=True, relative_remap=True, compress=_is_compressed()
        )
        if path.exists():
            os.chmod(temporary, path.stat().st_mode & 0o7777)
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _is_compressed() -> bool:
    """Tell whether the file that was opened is compressed: what is saved is so too."""
    if not bpy.data.filepath or not os.path.exists(bpy.data.filepath):
        return False
    with open(bpy.data.filepath, "rb") as file:
        return file.read(4).startswith(_COMPRESSED)
