# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the manual's pictures of the window, small, from those that the window tests left in out/gui.

Run ``python3 scripts/test.py --only gui`` before. The files are cut and given 128 colours by the ImageMagick in the
Debian of those tests.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import environment

if __name__ == "__main__":
    environment.enter()

import blender_window

# Width, height, left, top of what is kept of the window.
PICTURES = {"panel": (300, 372, 750, 315), "drag": (1050, 745, 0, 55), "overlay": (700, 560, 90, 50)}
PICTURES |= {name: (460, 540, 310, 100) for name in ("body", "body-pulled")} | {"body-horse": (520, 380, 270, 180)}
PICTURES |= {"joint-limits": (254, 470, 767, 170), "bake-dialog": (328, 228, 239, 324)}
PICTURES |= {"solvers-panel": (194, 608, 836, 72)}


def main() -> None:
    """Write the pictures into docs/images."""
    try:
        root = blender_window.prepare()
    except blender_window.Unavailable as reason:
        sys.exit(f"can't make pictures: {reason}")
    with tempfile.TemporaryDirectory() as folder:
        share = Path(folder)
        for name, (width, height, left, top) in PICTURES.items():
            taken = environment.ROOT / f"out/gui/simulated-manual-{name}.png"
            if not taken.exists():
                sys.exit(f"there is no {taken}: run python3 scripts/test.py --only gui first")
            shutil.copy(taken, share / "taken.png")
            cut = ["-crop", f"{width}x{height}+{left}+{top}", "+repage"]
            small = ["-strip", "-dither", "None", "-colors", "128", "-define", "png:compression-level=9"]
            command = ["convert", "/share/taken.png", *cut, *small, f"PNG8:/share/{name}.png"]
            if blender_window.run(root, share, command, 60.0):
                sys.exit(f"ImageMagick could not make {name}.png")
            made = environment.ROOT / f"docs/images/{name}.png"
            shutil.copy(share / f"{name}.png", made)
            print(f"{made} {made.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
