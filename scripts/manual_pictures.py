# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Put the manual's pictures into docs/images: those of the window from out/gui, cut and small, rendered ones from out.

Run before: ``python3 scripts/test.py --only gui``; ``python3 scripts/demo.py``, with ``poses``, ``horse``, ``spider``,
``chains``; ``python3 scripts/retarget.py``; and ``python3 scripts/moving_picture.py``. The plots are drawn by
``python3 scripts/bench.py --plot``.
"""

from __future__ import annotations

import shutil
import sys

import environment

if __name__ == "__main__":
    environment.enter()

from PIL import Image

# Width, height, left, top of what is kept of the window.
WINDOWS = {"panel": (300, 372, 750, 315), "drag": (1050, 745, 0, 55), "overlay": (700, 560, 90, 50)}
WINDOWS |= {"body": (460, 540, 310, 100)}
WINDOWS |= {"joint-limits": (254, 470, 767, 170), "bake-dialog": (328, 228, 239, 324)}
WINDOWS |= {"solvers-panel": (194, 608, 836, 72), "native-rig": (440, 540, 310, 100)}
WINDOWS |= {"native-rig-nodes": (1180, 385, 50, 220)}

WINDOWS |= {"body-tool": (1050, 640, 0, 55)}

SHEETS = {
    "body-look": ("look-*", (640, 620, 285, 84)),
}
"""Pictures of the window that stand five in a row, half as large; what is kept of each."""

RENDERED = {
    "human": "human.png",
    "body-poses": "poses.png",
    "horse": "horse.png",
    "spider": "spider.png",
    "chains": "chains.png",
}
RENDERED |= {"retarget": "cmu_01_01_jump.png", "dragged": "dragged.webp"}
"""Name in the manual, and file in out."""


def make_sheet(name: str) -> None:
    """Write a sheet of several pictures."""
    pattern, (width, height, left, top) = SHEETS[name]
    taken = sorted((environment.ROOT / "out/gui").glob(f"simulated-manual-{pattern}.png"))
    if not taken:
        sys.exit(f"there are no pictures {pattern} in out/gui: run what makes them first\n\n{__doc__}")
    sheet = Image.new("RGB", (5 * width // 2, -(-len(taken) // 5) * height // 2))
    for number, picture in enumerate(taken):
        part = Image.open(picture).convert("RGB").crop((left, top, left + width, top + height))
        place = (number % 5 * width // 2, number // 5 * height // 2)
        sheet.paste(part.resize((width // 2, height // 2), Image.Resampling.LANCZOS), place)
    made = environment.ROOT / f"docs/images/{name}.png"
    sheet.quantize(128, dither=Image.Dither.NONE).save(made, optimize=True)
    print(f"{made} {made.stat().st_size:,} bytes")


def main() -> None:
    """Write the pictures whose names are given, or all of them."""
    wanted = sys.argv[1:] or [*WINDOWS, *SHEETS, *RENDERED]
    if unknown := set(wanted) - {*WINDOWS, *SHEETS, *RENDERED}:
        sys.exit(
            f"no such picture: {', '.join(sorted(unknown))}; there are {', '.join([*WINDOWS, *SHEETS, *RENDERED])}"
        )
    for name in wanted:
        if name in SHEETS:
            make_sheet(name)
            continue
        taken = environment.ROOT / "out" / RENDERED.get(name, f"gui/simulated-manual-{name}.png")
        if not taken.exists():
            sys.exit(f"there is no {taken}: run what makes it first\n\n{__doc__}")
        made = environment.ROOT / "docs/images" / f"{name}{taken.suffix}"
        if name in WINDOWS:
            width, height, left, top = WINDOWS[name]
            part = Image.open(taken).convert("RGB").crop((left, top, left + width, top + height))
            part.quantize(128, dither=Image.Dither.NONE).save(made, optimize=True)
        else:
            shutil.copy(taken, made)
        print(f"{made} {made.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
