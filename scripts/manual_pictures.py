# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Put the manual's pictures into docs/images: those of the window from out/gui, cut and small, rendered ones from out.

Run before: ``python3 scripts/test.py --only gui``; ``python3 scripts/demo.py``, with ``horse``, ``spider``, ``chains``;
``python3 scripts/retarget.py``; and ``python3 scripts/moving_picture.py``. The plots are drawn by
``python3 scripts/bench.py --plot``.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import environment

if __name__ == "__main__":
    environment.enter()

from PIL import Image, ImageDraw, ImageFont

# Width, height, left, top of what is kept of the window.
WINDOWS = {"panel": (300, 372, 750, 315), "drag": (1050, 745, 0, 55), "overlay": (700, 580, 130, 82)}
WINDOWS |= {"body": (460, 540, 310, 100)}
WINDOWS |= {"joint-limits": (254, 470, 767, 170), "bake-dialog": (328, 228, 239, 324)}
WINDOWS |= {"solvers-panel": (194, 608, 836, 72), "native-rig": (440, 540, 310, 100)}
WINDOWS |= {"native-rig-nodes": (1180, 385, 50, 220)}

WINDOWS |= {"body-tool": (1050, 640, 0, 55)}

SHEETS = {"body-look": ("look", (500, 560, 275, 90)), "body-poses": ("pose", (460, 560, 295, 86))}
"""Pictures of the window that stand five in a row with their names below; what is kept of each."""

_WIDTH, _NAME = 320, 40
"""Width of each on its sheet, and height of the line with its name, in pixels."""

RENDERED = {
    "human": "human.png",
    "horse": "horse.png",
    "spider": "spider.png",
    "chains": "chains.png",
}
RENDERED |= {"retarget": "cmu_01_01_jump.png", "dragged": "dragged.webp"}
"""Name in the manual, and file in out."""


def make_sheet(name: str) -> None:
    """Write a sheet of several pictures."""
    kind, (width, height, left, top) = SHEETS[name]
    taken = sorted((environment.ROOT / "out/gui").glob(f"simulated-manual-{kind}-*.png"))
    if not taken:
        sys.exit(f"there are no pictures of {name} in out/gui: run what makes them first\n\n{__doc__}")
    size = _WIDTH, _WIDTH * height // width
    images = [Image.open(one).convert("RGB").crop((left, top, left + width, top + height)) for one in taken]
    sheet = Image.new("RGB", (5 * _WIDTH, -(-len(taken) // 5) * (size[1] + _NAME)), images[0].getpixel((0, 0)))
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(24)
    for number, image in enumerate(images):
        x, y = number % 5 * _WIDTH, number // 5 * (size[1] + _NAME)
        sheet.paste(image.resize(size, Image.Resampling.LANCZOS), (x, y))
        words = " ".join(taken[number].stem.split("-")[4:])
        pen.text((x + _WIDTH // 2, y + size[1] + _NAME // 2), words, fill="#E6E6E6", font=font, anchor="mm")
    made = environment.ROOT / f"docs/images/{name}.png"
    _save(sheet, made)
    print(f"{made} {made.stat().st_size:,} bytes")


def _save(image: Image.Image, path: Path) -> None:
    """Write a PNG file of 256 colours.

    No pixel is off by more than 16 of 255 in the window's pictures; after the median cut, which drops the colours of
    small marks, some are by 99.
    """
    image.quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE).save(path, optimize=True)


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
            _save(part, made)
        else:
            shutil.copy(taken, made)
        print(f"{made} {made.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
