# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the manual's pictures, small: of the window from out/gui, and rendered ones from out.

Run before: ``python3 scripts/test.py --only gui``, ``python3 scripts/demo.py`` and ``python3 scripts/retarget.py``. The
files are cut, scaled and given few colours by the ImageMagick in the Debian of the window tests. The plots are drawn by
``python3 scripts/bench.py --plot``.
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
WINDOWS = {"panel": (300, 372, 750, 315), "drag": (1050, 745, 0, 55), "overlay": (700, 560, 90, 50)}
WINDOWS |= {name: (460, 540, 310, 100) for name in ("body", "body-pulled")} | {"body-horse": (520, 380, 270, 180)}
WINDOWS |= {"joint-limits": (254, 470, 767, 170), "bake-dialog": (328, 228, 239, 324)}
WINDOWS |= {"solvers-panel": (194, 608, 836, 72), "native-rig": (440, 540, 310, 100)}
WINDOWS |= {"native-rig-nodes": (1180, 385, 50, 220)}

RENDERED = {"human": ("human", "900x600"), "retarget": ("cmu_01_01_jump", "1320x460")}
"""Name in the manual, file in out, and size in pixels."""


def sources() -> dict[str, tuple[Path, list[str]]]:
    """Return the file from which each picture is made, and ImageMagick's options that make it."""
    out = environment.ROOT / "out"
    made = {
        name: (
            out / f"gui/simulated-manual-{name}.png",
            ["-crop", f"{width}x{height}+{left}+{top}", "+repage", "-dither", "None", "-colors", "128"],
        )
        for name, (width, height, left, top) in WINDOWS.items()
    }
    return made | {
        name: (out / f"{file}.png", ["-resize", size, "-colors", "256"]) for name, (file, size) in RENDERED.items()
    }


def main() -> None:
    """Write the pictures whose names are given, or all of them, into docs/images."""
    made_from = sources()
    wanted = sys.argv[1:] or list(made_from)
    if unknown := set(wanted) - set(made_from):
        sys.exit(f"no such picture: {', '.join(sorted(unknown))}; there are {', '.join(made_from)}")
    try:
        root = blender_window.prepare()
    except blender_window.Unavailable as reason:
        sys.exit(f"can't make pictures: {reason}")
    with tempfile.TemporaryDirectory() as folder:
        share = Path(folder)
        for name in wanted:
            taken, options = made_from[name]
            if not taken.exists():
                sys.exit(f"there is no {taken}: run what makes it first\n\n{__doc__}")
            shutil.copy(taken, share / "taken.png")
            small = ["-strip", "-define", "png:compression-level=9"]
            command = ["convert", "/share/taken.png", *options, *small, f"PNG8:/share/{name}.png"]
            if blender_window.run(root, share, command, 60.0):
                sys.exit(f"ImageMagick could not make {name}.png")
            made = environment.ROOT / f"docs/images/{name}.png"
            shutil.copy(share / f"{name}.png", made)
            print(f"{made} {made.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
