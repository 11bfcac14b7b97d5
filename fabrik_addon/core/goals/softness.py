# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Softness: the tip stays behind a distant target, so that the chain eases into full extension.

For a chain of length 1, a target at the distance d and the softness s, with ``a = 1 - s`` (Nicholson 2007, "soft IK"):

    d' = d                                   for d <= a
    d' = a + s (1 - exp(-(d - a) / s))       for d > a

d' has the same value and slope as d at a, and stays below 1. Without softness a joint's angle changes infinitely fast
with d at full extension: ``d(angle) / d(d)`` of two equal links is ``-2 / sqrt(1 - d^2)``.
"""

import math

from ..math.operations import TINY, Component, Condition, Operations, Vector
from ..math.vectors import norm, scale

_LEAST_SOFTNESS = 1e-6
"""Softness below which there is none: the formula divides by it."""


def soft_target(ops: Operations, target: Vector, softness: float) -> Vector:
    """Return a target (from the root, in units of the chain's length) eased to the distance d'."""
    return target if softness < _LEAST_SOFTNESS else scale(target, soft_share(ops, target, softness))


def soft_share(ops: Operations, target: Vector, softness: float) -> Component:
    """Return ``d' / d``, 0 to 1."""
    distance = norm(ops, target)
    if softness < _LEAST_SOFTNESS:
        return 1.0 + 0.0 * distance
    begin = 1.0 - softness
    beyond = ops.maximum(distance - begin, 0.0)
    eased = begin + softness * (1.0 - ops.exp(-beyond / softness))
    return ops.where(distance > begin, eased, distance) / (distance + TINY)


def farthest_reached(softness: float, stretch_max: float) -> float:
    """Return the largest distance d of a target that an eased chain reaches by stretch up to m: ``m d' = d``.

    Without stretch, m = 1, that is a. Newton's method comes down to it from d = m: ``m d' - d`` is concave.

    Args:
        softness: s, more than 0.
        stretch_max: m, at least 1.
    """
    begin = 1.0 - softness
    if stretch_max == 1.0:
        return begin
    distance, before = stretch_max, math.inf
    while distance < before:
        left = softness * math.exp((begin - distance) / softness)
        before = distance
        distance -= (stretch_max * (1.0 - left) - distance) / (stretch_max * left / softness - 1.0)
    return max(before, begin)


def is_eased(ops: Operations, target: Vector, softness: float) -> Condition:
    """Tell where ``d > a``: softness keeps the tip from the target."""
    return norm(ops, target) > 1.0 - softness if softness >= _LEAST_SOFTNESS else norm(ops, target) < 0.0
