# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the icon of the tool Body Pose from a mesh of triangles, in the format of Blender's own tool icons.

``python3 scripts/tool_icon.py`` writes ``fabrik_addon/icons/body_pose.dat``. The file holds the four bytes ``VCO`` and
0, width and height of the picture less one (255), its left and its bottom (0), then two bytes for each corner of each
triangle, then its colour in four bytes (Blender's ``BKE_icon_geom_from_memory``). Blender inverts the lightness of the
colours where the theme's toolbar is light.
"""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

FILE = Path(__file__).resolve().parent.parent / "fabrik_addon/icons/body_pose.dat"

BODY, HANDLE = bytes((0xE5, 0xE5, 0xE5, 0xFF)), bytes((0xD9, 0xAF, 0xF5, 0xFF))
"""The two colours of Blender's own icons of tools for poses."""

Point = tuple[float, float]
Triangle = tuple[Point, Point, Point]

_STEPS = 14
"""Corners of a circle."""

_HAND = (196.0, 206.0)

_LIMBS = (
    ((112.0, 158.0), (112.0, 108.0), 15.0),  # trunk
    ((112.0, 158.0), (162.0, 150.0), 10.0),  # the arm that is pulled
    ((162.0, 150.0), (184.0, 184.0), 10.0),
    ((112.0, 158.0), (76.0, 128.0), 10.0),  # the other arm
    ((76.0, 128.0), (58.0, 86.0), 10.0),
    ((112.0, 108.0), (146.0, 66.0), 11.0),  # legs
    ((146.0, 66.0), (140.0, 18.0), 11.0),
    ((112.0, 108.0), (86.0, 62.0), 11.0),
    ((86.0, 62.0), (56.0, 22.0), 11.0),
)
"""Ends and radius of each part of the figure."""

_HEAD, _HEAD_RADIUS = (112.0, 208.0), 24.0
_RING, _HOLE, _DOT = 34.0, 24.0, 9.0
"""Radii of the handle at the hand: outside, of its hole, of the dot in its middle."""


def circle(
    center: Point, radius: float, start: float = 0.0, turn: float = math.tau, steps: int = _STEPS
) -> list[Point]:
    """Return points on an arc, both of its ends among them."""
    angles = [start + turn * number / steps for number in range(steps + 1)]
    return [(center[0] + radius * math.cos(angle), center[1] + radius * math.sin(angle)) for angle in angles]


def fan(points: list[Point]) -> list[Triangle]:
    """Return the triangles of a convex outline."""
    return [(points[0], a, b) for a, b in pairwise(points[1:])]


def capsule(start: Point, end: Point, radius: float) -> list[Triangle]:
    """Return the triangles of a line with round ends."""
    along = math.atan2(end[1] - start[1], end[0] - start[0])
    half = _STEPS // 2
    front = circle(end, radius, along - math.pi / 2.0, math.pi, half)
    return fan(front + circle(start, radius, along + math.pi / 2.0, math.pi, half))


def ring(center: Point, outer: float, inner: float) -> list[Triangle]:
    """Return the triangles between two circles."""
    outside, inside = circle(center, outer, steps=2 * _STEPS), circle(center, inner, steps=2 * _STEPS)
    return [
        triangle
        for (a, b), (c, d) in zip(pairwise(outside), pairwise(inside), strict=True)
        for triangle in ((a, b, d), (a, d, c))
    ]


def icon() -> bytes:
    """Return the content of the file."""
    body = [triangle for limb in _LIMBS for triangle in capsule(*limb)] + fan(circle(_HEAD, _HEAD_RADIUS))
    handle = ring(_HAND, _RING, _HOLE) + fan(circle(_HAND, _DOT))
    corners = [point for triangle in body + handle for point in triangle]
    places = bytes(round(value) for point in corners for value in point)
    return b"VCO\0\xff\xff\0\0" + places + BODY * (3 * len(body)) + HANDLE * (3 * len(handle))


if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_bytes(icon())
    print(f"{FILE} {FILE.stat().st_size:,} bytes")
