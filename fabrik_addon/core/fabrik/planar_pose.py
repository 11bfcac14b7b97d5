# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A chain laid into a plane with every joint bent to the same side: where sweeps toward a pole start.

The joints keep the proportions of their bends. A planar chain that already bends that way stays as it is when its
target is where its tip is, and follows smoothly when the target moves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from ..math.operations import TINY, Component, Components, Operations, add_up
from ..math.vectors import Joints, cross, dot, norm

SHARPEST = 0.9 * math.pi
"""Bends are kept below this: a folded link has no direction for the next sweep."""


def bend_angles(ops: Operations, joints: Joints) -> Components:
    """Return the angle, 0 to pi, between the links at every inner joint."""
    points = list(zip(*joints, strict=True))
    links = [(bx - ax, by - ay, bz - az) for (ax, ay, az), (bx, by, bz) in pairwise(points)]
    return [ops.atan2(norm(ops, cross(a, b)), dot(a, b)) for a, b in pairwise(links)]


def planar_pose(ops: Operations, angles: Components, lengths: Sequence[float], distance: Component) -> Joints:
    """Return a planar chain bent to one side, about as far across as a target is away.

    Args:
        ops: the lanes' operations.
        angles: between the links at every inner joint.
        lengths: of the links, adding up to one.
        distance: from the root to the target.

    Returns:
        joints from the origin toward +x, bent toward +y, in the plane z = 0.
    """
    angles, arc = bend_angles_and_arc(ops, angles, lengths)
    growth = _arc_angle(ops, distance) / (arc + TINY)
    points = _lay(ops, [ops.minimum(angle * growth, SHARPEST) for angle in angles], lengths)
    *_, (p, q) = points
    # A closed chain has no chord; its bends' bisector is as good.
    size = ops.sqrt(p * p + q * q) + TINY
    cosine, sine = p / size, q / size
    return (
        [px * cosine + py * sine for px, py in points],
        [py * cosine - px * sine for px, py in points],
        [0.0 * distance for _ in points],
    )


def bend_angles_and_arc(ops: Operations, angles: Components, lengths: Sequence[float]) -> tuple[Components, Component]:
    """Return what ``curl`` makes bigger or smaller: bends of less than a full turn, and the arc of their chord."""
    # More than a full turn would be a spiral, that crosses itself and bends to both sides of its chord.
    most = ops.maximum(add_up(angles) / (1.6 * math.pi), 1.0)
    angles = [angle / most for angle in angles]
    *_, (p, q) = _lay(ops, angles, lengths)
    return angles, _arc_angle(ops, ops.sqrt(p * p + q * q))


def _lay(ops: Operations, angles: Components, lengths: Sequence[float]) -> list[tuple[Component, Component]]:
    """Lay links end to end from the origin, each turned clockwise from the one before."""
    heading = 0.5 * add_up(angles)
    p = q = 0.0 * heading
    laid = [(p, q)]
    for length, angle in zip(lengths, [*angles, 0.0], strict=True):
        p, q = p + length * ops.cos(heading), q + length * ops.sin(heading)
        laid.append((p, q))
        heading = heading - angle
    return laid


def _arc_angle(ops: Operations, chord: Component) -> Component:
    """Return nearly half the angle of an arc of length one with a chord: exact at 0 and 1, within 5 % between."""
    residual = ops.maximum(1.0 - chord, 0.0)
    return ops.sqrt(6.0 * residual) * (1.0 + (math.pi / math.sqrt(6.0) - 1.0) * residual)
