# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw a human, a horse and a spider as Make Body recognises them, every role in its colour, for the manual."""

from __future__ import annotations

import math
import os
import sys

import environment

if __name__ == "__main__":
    environment.enter()

import bpy
from bpy.types import Object
from mathutils import Matrix, Vector
from PIL import Image, ImageDraw, ImageFont

sys.path.insert(0, str(environment.ROOT))
import fabrik_addon
from body_poses import add_body
from fabrik_addon.blender.overlay.drawn_body import ROLE_COLORS
from fabrik_addon.blender.rig.body_properties import ROLE_ITEMS

_WIDTH, _HEIGHT, _LARGER = 1200, 560, 3
_BACKGROUND, _NO_PART, _TEXT = "#3A3D42", "#6B7078", "#F2F4F6"
_VIEW = Matrix.Rotation(math.radians(-50.0), 3, 'Z')
"""Turn of the creatures, which look along -Y, before they are drawn from the front."""


def main() -> None:
    """Write ``docs/images/recognised.png``."""
    fabrik_addon.register()
    image = Image.new("RGB", (_WIDTH * _LARGER, _HEIGHT * _LARGER), _BACKGROUND)
    draw = ImageDraw.Draw(image)
    for number, name in enumerate(("human", "horse", "spider")):
        bpy.ops.wm.read_factory_settings(use_empty=True)
        _draw_body(draw, add_body(name), number)
    image.resize((_WIDTH, _HEIGHT), Image.Resampling.LANCZOS).quantize(128).save(
        environment.ROOT / "docs/images/recognised.png", optimize=True
    )
    sys.stdout.flush()
    os._exit(0)  # bpy can hang in a plain exit


def _draw_body(draw: ImageDraw.ImageDraw, armature: Object, number: int) -> None:
    """Draw the bones in the column of a number, and the roles below them."""
    sets = bpy.context.preferences.themes[0].bone_color_sets
    labels = {identifier: label for identifier, label, _ in ROLE_ITEMS}
    roles = {part.bone: part.role for part in armature.fabrik.body.parts if part.bone}
    colours = {
        role: tuple(round(255.0 * part) for part in getattr(sets[place - 1], name))
        for role, (place, name) in ROLE_COLORS.items()
    }
    ends = {bone.name: (_VIEW @ bone.head_local, _VIEW @ bone.tail_local) for bone in armature.data.bones}
    points = [point for pair in ends.values() for point in pair]
    low = [min(point[axis] for point in points) for axis in (0, 2)]
    high = [max(point[axis] for point in points) for axis in (0, 2)]
    column, top = _WIDTH / 3.0, 405.0
    scale = min((column - 50.0) / (high[0] - low[0]), top / (high[1] - low[1]))
    middle = column * (number + 0.5)

    def placed(point: Vector) -> tuple[float, float]:
        across = middle + scale * (point.x - 0.5 * (low[0] + high[0]))
        return _LARGER * across, _LARGER * (20.0 + top - scale * (point.z - low[1]))

    for name in sorted(ends, key=lambda each: each in roles):
        small = roles.get(name) in (None, 'FINGER', 'TOE')
        colour = colours[roles[name]] if name in roles else _NO_PART
        head, tail = (placed(point) for point in ends[name])
        draw.line([head, tail], fill=colour, width=_LARGER * (2 if small else 6))
        if not small:
            for x, y in (head, tail):
                draw.ellipse([x - 11, y - 11, x + 11, y + 11], fill=colour)
    font = ImageFont.load_default(size=15 * _LARGER)
    shown = [role for role in ROLE_COLORS if role in roles.values()]
    for place, role in enumerate(shown):
        x = _LARGER * (column * number + 28.0 + 118.0 * (place % 3))
        y = _LARGER * (445.0 + 22.0 * (place // 3))
        draw.rectangle([x, y + 5 * _LARGER, x + 12 * _LARGER, y + 17 * _LARGER], fill=colours[role])
        draw.text((x + 18 * _LARGER, y), labels[role], fill=_TEXT, font=font)


if __name__ == "__main__":
    main()
