# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: the file that is open to another place, whole or not at all."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import time
from pathlib import Path

import bpy

from .file_structure import ZSTANDARD, check_structure

_COMPRESSED = (ZSTANDARD, b"\x1f\x8b")
"""How a compressed file starts: Zstandard, and gzip of Blenders before 3.0."""

_SUFFIX = ".saving.blend"
_OLD = 24 * 3600.0
"""Age in seconds from which on a temporary file is a leftover, whoever made it."""


def make_room(path: Path) -> None:
    """Remove what killed commands left beside the file, and ask for the space that the file will take.

    It will take about what the opened file takes, beside an earlier file of the same name, which stays until the new
    one is whole. Keys of a bake come on top: whether all of it went onto the disk is checked after saving.

    Raises:
        OSError: there is too little space.
    """
    path = path.resolve()
    with contextlib.suppress(OSError):  # the folder can be written and not listed, or the file is somebody else's
        for leftover in _leftovers(path):
            leftover.unlink(missing_ok=True)
    disk = shutil.disk_usage(path.parent)
    # Some network file systems say 0 of 0 bytes where they don't know.
    if disk.total and disk.free < _opened_size():
        raise OSError(f"'{path}' can't be saved: {_space(path.parent)}")


def save_to(path: Path) -> None:
    """Save under another name, read it back and rename: the file there is the old one or the new one, and whole.

    Blender reports no error where the disk is full while it writes a compressed file: of 727,427 bytes 8,192 were left
    on a disk with room for so many, and no Blender opens them. So only a file that was read back is renamed.

    Raises:
        OSError: the file can't be written, read back or renamed; the message says which folder's disk it is.
    """
    path = path.resolve()  # a link stays one, and what it leads to is written
    # In the same folder, so that renaming is one step and relative paths stay right.
    temporary = path.with_name(f".{path.stem}.{_host()}.{os.getpid()}{_SUFFIX}")
    try:
        bpy.ops.wm.save_as_mainfile(
            filepath=str(temporary), check_existing=False, copy=True, relative_remap=True, compress=_is_compressed()
        )
        if path.exists():
            os.chmod(temporary, path.stat().st_mode & 0o7777)
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        check_structure(temporary)
        check_readable(temporary)
        os.replace(temporary, path)
    except (OSError, RuntimeError) as error:
        reason = str(error).removeprefix("Error: ").strip()
        raise OSError(
            f"'{path}' wasn't saved, and an earlier file there is as it was: {reason}; {_space(path.parent)}"
        ) from error
    finally:
        for name in (temporary, temporary.with_name(f"{temporary.name}@")):  # Blender writes the second, and renames it
            with contextlib.suppress(OSError):  # gone, or the disk can't be written any more
                name.unlink()


def check_readable(path: Path) -> None:
    """Let Blender find the scenes in the file; what is open isn't touched.

    For the list of scenes Blender goes from block to block up to the DNA block at the end, through the compressed
    frames. Where a frame is missing that the table of frames doesn't have either, everything after it is out of its
    place and Blender finds no DNA block. Not found is a missing frame of whole blocks: for that a disk must refuse
    every byte of one frame, and take the frames after it.

    Raises:
        OSError: Blender can't read it, or it lacks a scene.
    """
    # The stubs say that it returns nothing.
    with bpy.data.libraries.load(str(path)) as (found, _wanted):  # type: ignore[attr-defined]
        saved = set(found.scenes)
    missing = {scene.name for scene in bpy.data.scenes if scene.library is None} - saved
    if missing:
        raise OSError(f"the scenes {sorted(missing)} aren't in the saved file")


def _leftovers(path: Path) -> list[Path]:
    """Find the temporary files of commands that saved to this path and run no longer.

    Processes can be asked for on this computer, and not on Windows, where the signal 0 is no question; what others made
    is a leftover when it is a day old.
    """
    pattern = re.compile(rf"\.{re.escape(path.stem)}\.([^.]+)\.(\d+){re.escape(_SUFFIX)}@?")
    found = []
    for file in path.parent.iterdir():
        match = pattern.fullmatch(file.name)
        if match is None:
            continue
        host, process = match[1], int(match[2])
        with contextlib.suppress(OSError):  # gone meanwhile
            if (host == _host() and os.name == "posix" and not _runs(process)) or _is_old(file):
                found.append(file)
    return found


def _runs(process: int) -> bool:
    """Tell whether another process has this number; this one saves nothing while it looks for leftovers."""
    if process == os.getpid():
        return False
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # somebody else's
        pass
    return True


def _is_old(file: Path) -> bool:
    return time.time() - file.stat().st_mtime > _OLD


def _host() -> str:
    """Name the computer in file names: a process's number says nothing on another computer of the same farm."""
    return re.sub(r"[^\w-]", "-", platform.node()) or "localhost"


def _space(folder: Path) -> str:
    """Say what is free on a folder's disk, and what is needed: Blender's own reasons don't name a full disk."""
    free = shutil.disk_usage(folder).free
    return f"the disk of the folder '{folder}' has {free} bytes free, and the file takes about {_opened_size()}"


def _opened_size() -> int:
    """Return what the opened file takes on its disk, in bytes; 0 where none was opened."""
    opened = bpy.data.filepath
    return os.path.getsize(opened) if opened and os.path.exists(opened) else 0


def _is_compressed() -> bool:
    """Tell whether the file that was opened is compressed: what is saved is so too."""
    if not bpy.data.filepath or not os.path.exists(bpy.data.filepath):
        return False
    with open(bpy.data.filepath, "rb") as file:
        return file.read(4).startswith(_COMPRESSED)
