# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The joint between two links whose ends are given, by the law of cosines."""

from .operations import TINY, Component, Operations, Vector
from .vectors import combination


def middle_joint(
    ops: Operations, first: float, second: float, distance: Component, along: Vector, side: Vector
) -> Vector:
    """Return the joint between two links, from the root of the first one.

    In the triangle of the link lengths a, b and the distance d the joint is at ``p u + q v``, where u points from the
    root to the target and v, perpendicular to u, to the side of the bend; with the law of cosines for the angle at the
    root:

        p = a cos = (d^2 + a^2 - b^2) / (2 d)
        q = a sin = sqrt(a^2 - p^2)

    ``a^2 - b^2`` is computed as ``(a - b)(a + b)``, which loses no digits where the links are nearly equal.

    Args:
        first: a, length of the link at the root.
        second: b, length of the other link.
        distance: d, from the root to the target, from ``|a - b|`` to ``a + b``.
        along: u, unit vector.
        side: v, unit vector perpendicular to u.
    """
    # Equal links and a target at the root: p is 0 / (0 + TINY) = 0, so that the joint is at ``a v``.
    p = (distance * distance + (first - second) * (first + second)) / (2.0 * distance + TINY)
    q = ops.sqrt(ops.maximum(first * first - p * p, 0.0))
    return combination(p, along, q, side)
