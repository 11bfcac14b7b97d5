# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tip rotation: where the last link has to be so that the tip has its position and, as nearly as possible, a rotation.

The rotation goal gives the desired direction of the last link: the position of the last joint is the target less the
desired link, and the other links have to reach that position. Position has priority: where the other links can't reach
it, the last link is rotated from its desired direction toward its direction in a pose that reaches without the
rotation, by the smallest angle with which the other links can reach. The angle is found by bisection. Where no smaller
angle is enough, as for a target out of reach, the last link has its direction in the pose without the rotation.
"""

from collections.abc import Sequence

from ..math.operations import TINY, Component, Condition, Operations, Vector
from ..math.vectors import choose_parts, distance_between, dot, norm, scale

_ROTATION_HALVINGS = 40
"""Bisections of the angle between the two directions: the angle found is exact to pi / 2^40 (3e-12 radians)."""

_REACH_SLACK = 1e-6
"""Distance out of reach, over the length of the other links, that counts as within reach: a hundredth of the default
tolerance of the tip."""

_PARALLEL_SINE = 1e-9
"""Sine of the angle between two directions up to which they are parallel or opposite."""


def last_link(ops: Operations, lengths: Sequence[float], target: Vector, desired: Vector, plain: Vector) -> Vector:
    """Return the last link, nearest to the desired one, with which links of other lengths can reach a target.

    ``plain`` is the last link of a pose that reaches without the rotation goal; the target is from the chain's root.
    """
    fits = _fits(ops, lengths, target, desired)
    low, high = 0.0 * norm(ops, target), 1.0 + 0.0 * norm(ops, target)
    if ops.all(fits):
        return desired
    for _ in range(_ROTATION_HALVINGS):
        middle = 0.5 * (low + high)
        is_enough = _fits(ops, lengths, target, _between(ops, desired, plain, middle))
        low, high = ops.choose(is_enough, (low, middle), (middle, high))
    return choose_parts(ops, fits, desired, _between(ops, desired, plain, high))


def _fits(ops: Operations, lengths: Sequence[float], target: Vector, link: Vector) -> Condition:
    """Tell whether the other links can reach from the root to the last joint: not too far and not too near."""
    rest = distance_between(ops, target, link)
    length = sum(lengths)
    shortest = 2.0 * max(lengths) - length
    # The slack matters most for a single link, which reaches one distance only.
    return (rest <= (1.0 + _REACH_SLACK) * length) & (rest >= shortest - _REACH_SLACK * length)


def _between(ops: Operations, a: Vector, b: Vector, share: Component) -> Vector:
    """Return a vector as long as a, rotated from a toward b by a share of the angle between them (spherical linear).

    ``|a| (sin((1 - s) t) a + sin(s t) b) / sin t``, normalised, for the angle t and the share s.
    """
    size = norm(ops, a)
    cosine = dot(a, b) / (size * norm(ops, b) + TINY)
    angle = ops.atan2(ops.sqrt(ops.maximum(1.0 - cosine * cosine, 0.0)), cosine)
    sine = ops.sin(angle)
    # Parallel and opposite directions have no plane to rotate in: linear interpolation instead.
    first = ops.where(sine > _PARALLEL_SINE, ops.sin((1.0 - share) * angle) / (sine + TINY), 1.0 - share)
    second = ops.where(sine > _PARALLEL_SINE, ops.sin(share * angle) / (sine + TINY), share)
    x, y, z = (first * p + second * q for p, q in zip(a, b, strict=True))
    return scale((x, y, z), size / (norm(ops, (x, y, z)) + TINY))
