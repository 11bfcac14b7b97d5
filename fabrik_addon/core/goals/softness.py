# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Easing into full extension: the farther the target, the more the tip stays behind it, so that nothing pops.

At full extension the angle of a joint changes infinitely fast with the distance of the tip. An exponential keeps that
distance below the length of the chain, and joins the plain one without a kink (Nicholson 2007, "soft IK").
"""

from __future__ import annotations

from ..math.operations import TINY, Component, Operations, Vector
from ..math.vectors import norm, scale

_GENTLEST = 1e-6


def soft_target(ops: Operations, target: Vector, softness: float) -> Vector:
    """Return the point on the way to the target that a chain of length one should reach for.

    Args:
        ops: the lanes' operations.
        target: from the chain's root, in units of its length.
        softness: part of the reach over which the chain eases, 0 to 1.
    """
    return target if softness < _GENTLEST else scale(target, soft_share(ops, target, softness))


def soft_share(ops: Operations, target: Vector, softness: float) -> Component:
    """Return how far along the way to the target the soft one is, 0 to 1; arguments as above."""
    distance = norm(ops, target)
    if softness < _GENTLEST:
        return 1.0 + 0.0 * distance
    begin = 1.0 - softness
    beyond = ops.maximum(distance - begin, 0.0)
    eased = begin + softness * (1.0 - ops.exp(-beyond / softness))
    return ops.where(distance > begin, eased, distance) / (distance + TINY)


def is_eased(ops: Operations, target: Vector, softness: float) -> Component:
    """Tell where a target is so far that softness holds the tip back."""
    return norm(ops, target) > 1.0 - softness if softness >= _GENTLEST else norm(ops, target) < 0.0
