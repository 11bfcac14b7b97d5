# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two links in closed form, by the law of cosines."""

from __future__ import annotations

from .operations import TINY, Component, Operations, Vector


def middle_joint(
    ops: Operations, first: float, second: float, distance: Component, along: Vector, side: Vector
) -> Vector:
    """Return the joint between two links whose ends are the origin and the target.

    Args:
        ops: the lanes' operations.
        first: length of the link at the origin.
        second: length of the other.
        distance: from the origin to the target, from ``|first - second|`` to ``first + second``.
        along: unit vector to the target.
        side: unit vector perpendicular to it, to which the joint bends.
    """
    # Equal links folded onto each other leave 0 / 0: the joint then lies straight to the side.
    p = (distance * distance + (first - second) * (first + second)) / (2.0 * distance + TINY)
    q = ops.sqrt(ops.maximum(first * first - p * p, 0.0))
    return p * along[0] + q * side[0], p * along[1] + q * side[1], p * along[2] + q * side[2]
