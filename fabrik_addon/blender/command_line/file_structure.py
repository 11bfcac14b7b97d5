# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: whether a .blend file is complete from its first byte to its last, by what Blender writes at its end.

An uncompressed file is a header, then blocks ``(code, length, data)`` one after another, up to the block ``ENDB``; the
block ``DNA1``, without which nothing of the file can be read, comes shortly before. A compressed file is Zstandard
frames one after another, then a table of their sizes (Zstandard's "seekable format": a skippable frame with the magic
number 0x184D2A5E, whose last four bytes are 0x8F92EAB1). Blender's Python has no Zstandard: the frames are compared
with the table, and not decompressed.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import BinaryIO

ZSTANDARD = b"\x28\xb5\x2f\xfd"
"""How a Zstandard frame starts."""

_TABLE_START, _TABLE_END = 0x184D2A5E, 0x8F92EAB1
_FOOTER = struct.Struct("<IBI")  # number of frames, flags, magic number
_HEADER = struct.Struct("<7s2s1s2s1s4s")  # BLENDER, 17 bytes long, -, format 01, v, version 0500
_BLOCK = struct.Struct("<4siQqq")  # code, struct, address, length, count
_LEGACY_HEADER_SIZE = 12  # BLENDER-v405; Blender 5 writes it where a preference asks for the format of Blender 4.5
_LEGACY_BLOCK = struct.Struct("<4siQii")  # code, length, address, struct, count


def check_structure(path: Path) -> None:
    """Check the structure of a file from its start to its end.

    Raises:
        OSError: the file can't be read, or is damaged; the message names the damage.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        start = file.read(_HEADER.size)
        if start.startswith(ZSTANDARD):
            _check_frames(file, size)
        elif start.startswith(b"BLENDER"):
            _check_blocks(file, size, start)
        else:
            raise OSError(f"the saved file's {size} bytes don't start as a .blend file does")


def _check_frames(file: BinaryIO, size: int) -> None:
    """Compare the starts of the frames and the sum of their sizes with the table at the end of the file."""
    file.seek(max(size - _FOOTER.size, 0))
    count, _flags, end = _FOOTER.unpack(file.read(_FOOTER.size).rjust(_FOOTER.size))
    table_size = 8 * count + _FOOTER.size
    table_start = size - table_size - 8
    if end != _TABLE_END or table_start < 0:
        raise OSError(f"the saved file's {size} bytes end without the table of the compressed frames")
    file.seek(table_start)
    if struct.unpack("<II", file.read(8)) != (_TABLE_START, table_size):
        raise OSError(f"the table of the saved file's {count} compressed frames is damaged")
    frame_start = 0
    for frame_size, _uncompressed_size in list(struct.iter_unpack("<II", file.read(8 * count))):
        file.seek(frame_start)
        if file.read(4) != ZSTANDARD:
            raise OSError(f"the saved file has no compressed frame at byte {frame_start} of {size}")
        frame_start += frame_size
    if frame_start != table_start:
        raise OSError(
            f"the saved file's compressed frames take {table_start} bytes where their table says {frame_start}"
        )


def _check_blocks(file: BinaryIO, size: int, start: bytes) -> None:
    """Read the headers of all blocks up to the end block, which must be the last of the file."""
    legacy = start[7:8] == b"-"
    header = _LEGACY_BLOCK if legacy else _BLOCK
    position, has_types = (_LEGACY_HEADER_SIZE if legacy else _HEADER.size), False
    while True:
        file.seek(position)
        block = file.read(header.size)
        if len(block) < header.size:
            raise OSError(f"the saved file's {size} bytes end without the end block")
        fields = header.unpack(block)
        code, length = fields[0], fields[1 if legacy else 3]
        if length < 0:
            raise OSError(f"the saved file's block at byte {position} of {size} is damaged")
        position += header.size
        if code == b"ENDB":
            break
        has_types |= code == b"DNA1"
        position += length
    if not has_types:
        raise OSError("the saved file has no DNA block")
    if position != size:
        raise OSError(f"the saved file's end block is at byte {position} of {size}")
