# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sweep loop in C, built with gcc where there is one."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .problems import Array

SOURCE = Path(__file__).with_name("sweep_loop.c")
FLAGS = ("-O3",)


class CLoop:
    """The compiled loop."""

    def __init__(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            library = Path(folder) / "sweep_loop.so"
            command = ["gcc", *FLAGS, "-shared", "-fPIC", str(SOURCE), "-o", str(library), "-lm"]
            subprocess.run(command, check=True, timeout=60)
            self._sweep = ctypes.CDLL(str(library)).sweep
        self._sweep.restype = ctypes.c_long

    def sweep(
        self, joints: Array, lengths: Array, targets: Array, most: NDArray[np.int32], tolerance: float
    ) -> NDArray[np.int32]:
        """Sweep poses (B, J, 3) in place, each at most so many times (B,), and return its sweeps (B,)."""
        sweeps = np.zeros(len(joints), np.int32)
        self._sweep(
            *(ctypes.c_void_p(array.ctypes.data) for array in (joints, lengths, targets, most)),
            ctypes.c_double(tolerance),
            ctypes.c_long(len(joints)),
            ctypes.c_int(len(lengths)),
            ctypes.c_void_p(sweeps.ctypes.data),
        )
        return sweeps
