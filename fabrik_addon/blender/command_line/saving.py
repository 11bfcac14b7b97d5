# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: the opened file to a path, as a whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import re
import shutil
import time
from pathlib import Path

import bpy

from .file_structure import ZSTANDARD, check_structure

_COMPRESSED = (ZSTANDARD, b"\x1f\x8b")
"""First bytes of compressed files: Zstandard, and gzip of Blender before 3.0."""

_SUFFIX = ".saving.blend"
"""End of the temporary files' names."""

_LEFTOVER_AGE = 24 * 3600.0
"""Age in seconds above which a temporary file is a leftover, whichever computer has made it."""


def make_room(path: Path) -> None:
    """Remove the temporary files of killed commands beside the file, and check that the disk has space for the file.

    It needs about as many bytes as the opened file, beside an earlier file of the same name, which stays until the new
    one is complete. The keys of a bake come in addition; ``save_to`` checks whether everything was written.

    Raises:
        OSError: there is too little space, or the name is too long for that of the temporary file.
    """
    path = path.resolve()
    try:
        os.lstat(f"{_temporary(path)}@")
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:  # found after the work otherwise
            raise OSError(f"'{path}' can't be saved: its name is too long: a longer one is written first") from error
    with contextlib.suppress(OSError):  # the folder can be written and not listed, or the file is somebody else's
        for leftover in _leftovers(path):
            leftover.unlink(missing_ok=True)
    disk = shutil.disk_usage(path.parent)
    # Network file systems without this information report 0 of 0 bytes.
    if disk.total and disk.free < _opened_size():
        raise OSError(f"'{path}' can't be saved: {_space(path.parent)}")


def save_to(path: Path) -> None:
    """Save under another name, read it back and rename: at every moment the path has the old file or the new one.

    Blender reports no error where the disk is full while it writes a compressed file: on a disk with 8,192 bytes free
    8,192 of 727,427 bytes were written, and no Blender opens them. So only a file that was read back is renamed.

    Raises:
        OSError: the file can't be written, read back or renamed; the message says which folder's disk it is.
    """
    path = path.resolve()  # through a link its target is written
    temporary = _temporary(path)
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
    """Compare the scenes that Blender finds in the file with those that are open.

    For the list of scenes Blender reads the block headers up to the DNA block at the end, through the compressed
    frames. Where a frame is missing in the file and in the table of frames, everything after it is shifted, and Blender
    finds no DNA block. One fault isn't detected: a missing frame that holds whole blocks, which takes a disk that
    refuses every byte of one frame and accepts the frames after it.

    Raises:
        OSError: Blender can't read it, or it lacks a scene.
    """
    # The stubs say that it returns nothing.
    with bpy.data.libraries.load(str(path)) as (found, _wanted):  # type: ignore[attr-defined]
        saved = set(found.scenes)
    missing = {scene.name for scene in bpy.data.scenes if scene.library is None} - saved
    if missing:
        raise OSError(f"the scenes {sorted(missing)} aren't in the saved file")


def _temporary(path: Path) -> Path:
    """Return the file that is written before it is renamed to the path.

    It is in the same folder: renaming is atomic only within a file system, and relative paths are relative to it.
    """
    return path.with_name(f".{path.stem}.{_host()}.{os.getpid()}{_SUFFIX}")


def _leftovers(path: Path) -> list[Path]:
    """Return the temporary files of commands that saved to this path and run no longer.

    Whether a process runs can be found out on this computer, except on Windows, where the signal 0 ends a process.
    Temporary files of other computers count as leftovers when they are a day old.
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
    """Tell whether another process has this number; the present one has no temporary file at this moment."""
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
    return time.time() - file.stat().st_mtime > _LEFTOVER_AGE


def _host() -> str:
    """Return the computer's name for file names: process numbers of several computers of a farm may be equal."""
    return re.sub(r"[^\w-]", "-", platform.node()) or "localhost"


def _space(folder: Path) -> str:
    """Return a message with the free and the needed bytes: Blender's own messages don't name a full disk."""
    free = shutil.disk_usage(folder).free
    return f"the disk of the folder '{folder}' has {free} bytes free, and the file takes about {_opened_size()}"


def _opened_size() -> int:
    """Return the size of the opened file in bytes; 0 where none was opened."""
    opened = bpy.data.filepath
    return os.path.getsize(opened) if opened and os.path.exists(opened) else 0


def _is_compressed() -> bool:
    """Tell whether the opened file is compressed; the saved one is compressed then, too."""
    if not bpy.data.filepath or not os.path.exists(bpy.data.filepath):
        return False
    with open(bpy.data.filepath, "rb") as file:
        return file.read(4).startswith(_COMPRESSED)
