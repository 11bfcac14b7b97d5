# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Convex hulls in the plane, and the point of one that is nearest to another point."""

import math
from collections.abc import Sequence
from typing import TypeAlias

PlanePoint: TypeAlias = tuple[float, float]


def convex_hull(points: Sequence[PlanePoint]) -> list[PlanePoint]:
    """Return the corners of the convex hull, counterclockwise; two for points on a line, one for a single point.

    Andrew's monotone chain (Andrew 1979).
    """
    ordered = sorted(set(points))
    if len(ordered) < 3:
        return ordered

    def half(line: Sequence[PlanePoint]) -> list[PlanePoint]:
        corners: list[PlanePoint] = []
        for point in line:
            while len(corners) > 1 and _turn(corners[-2], corners[-1], point) <= 0.0:
                corners.pop()
            corners.append(point)
        return corners[:-1]

    return half(ordered) + half(ordered[::-1])


def nearest_in_hull(hull: Sequence[PlanePoint], point: PlanePoint) -> PlanePoint:
    """Return the point of a convex region, with its corners counterclockwise, that is nearest to a point."""
    if len(hull) > 2 and all(_turn(a, b, point) >= 0.0 for a, b in zip(hull, (*hull[1:], hull[0]), strict=True)):
        return point
    edges = zip(hull, (*hull[1:], hull[0]), strict=True)
    return min((_nearest_on_edge(a, b, point) for a, b in edges), key=lambda found: math.dist(found, point))


def _nearest_on_edge(a: PlanePoint, b: PlanePoint, point: PlanePoint) -> PlanePoint:
    dx, dy = b[0] - a[0], b[1] - a[1]
    size = dx * dx + dy * dy
    share = ((point[0] - a[0]) * dx + (point[1] - a[1]) * dy) / size if size > 0.0 else 0.0
    share = min(1.0, max(0.0, share))
    return a[0] + share * dx, a[1] + share * dy


def _turn(a: PlanePoint, b: PlanePoint, c: PlanePoint) -> float:
    """Return twice the area of a triangle, positive where a, b, c are counterclockwise."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
