# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A tip that also takes a rotation: the last link is laid as the rotation wants it, the others reach for its root.

Position comes first. Where the other links can't reach that far the last one turns from where the rotation wants it
toward where it points without, just as far as is needed.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..math.operations import TINY, Component, Operations, Vector
from ..math.vectors import dot, norm, scale

_HALVINGS = 40
"""Of the turn between the two directions of the last link: what is left is rounding."""


_SLACK = 1e-6
"""Distance beyond reach, over the other links' length, that the tip's tolerance takes up."""


def last_link(ops: Operations, lengths: Sequence[float], target: Vector, wished: Vector, plain: Vector) -> Vector:
    """Return the last link, nearest to a wished one, with which the others can reach.

    Args:
        ops: the lanes' operations.
        lengths: of the other links.
        target: where the tip should be, from the chain's root.
        wished: the last link as the rotation wants it.
        plain: the last link in a pose that reaches without the rotation.
    """
    fits = _fits(ops, lengths, target, wished)
    low, high = 0.0 * norm(ops, target), 1.0 + 0.0 * norm(ops, target)
    if ops.all(fits):
        return wished
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        is_enough = _fits(ops, lengths, target, _between(ops, wished, plain, middle))
        low, high = ops.choose(is_enough, (low, middle), (middle, high))
    x, y, z = ops.choose(fits, wished, _between(ops, wished, plain, high))
    return x, y, z


def _fits(ops: Operations, lengths: Sequence[float], target: Vector, link: Vector) -> Component:
    rest = norm(ops, (target[0] - link[0], target[1] - link[1], target[2] - link[2]))
    length = sum(lengths)
    shortest = 2.0 * max(lengths) - length
    # A single link reaches one distance only: rounding mustn't keep it from there.
    return (rest <= (1.0 + _SLACK) * length) & (rest >= shortest - _SLACK * length)


def _between(ops: Operations, a: Vector, b: Vector, share: Component) -> Vector:
    """Return a vector of a's length whose direction is between two others', by the angle."""
    size = norm(ops, a)
    cosine = dot(a, b) / (size * norm(ops, b) + TINY)
    angle = ops.atan2(ops.sqrt(ops.maximum(1.0 - cosine * cosine, 0.0)), cosine)
    sine = ops.sin(angle)
    # Directions that are opposite have no shortest way between them: straight across is as good.
    first = ops.where(sine > 1e-9, ops.sin((1.0 - share) * angle) / (sine + TINY), 1.0 - share)
    second = ops.where(sine > 1e-9, ops.sin(share * angle) / (sine + TINY), share)
    x, y, z = (first * p + second * q for p, q in zip(a, b, strict=True))
    return scale((x, y, z), size / (norm(ops, (x, y, z)) + TINY))
