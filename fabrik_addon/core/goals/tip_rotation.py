# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tip rotation: where the last link has to be so that the tip has its position and, as nearly as possible, a rotation.

The rotation goal gives the desired direction of the last link: the position of the last joint is the target less the
desired link, and the other links have to reach that position. Position has priority: where the other links can't reach
it, the last link is rotated from its desired direction by the smallest angle with which they can.

With the target t from the root, at the distance d, and the last link ``l u``, u a unit vector, the other links have to
reach the distance r with ``r^2 = |t - l u|^2 = d^2 + l^2 - 2 l d cos(a)``, a the angle from the line root-target to u.
So u is rotated in the plane of that line and of its desired direction, and ``cos(a)`` is clamped to the range that
leaves r between the shortest and the longest reach of the other links. Beyond reach it is 1, toward the target, and
nearer than the other links can fold it is -1, away from it.
"""

from collections.abc import Sequence

from ..math.operations import TINY, Operations, Vector
from ..math.vectors import choose_parts, dot, first_direction, norm, scale, subtract

_REACH_SLACK = 1e-6
"""Distance out of reach, over the length of the other links, that counts as within reach: a hundredth of the default
tolerance of the tip."""

_PARALLEL_SINE = 1e-6
"""Sine of the angle between two directions up to which they are parallel or opposite, and have no plane."""


def last_link(ops: Operations, lengths: Sequence[float], target: Vector, desired: Vector, plain: Vector) -> Vector:
    """Return the last link, nearest to the desired one, with which links of other lengths can reach a target.

    A single other link reaches one distance only: if the desired link doesn't bring its head to that distance from the
    root, the result is ``plain``.

    Args:
        lengths: of the other links.
        target: from the chain's root.
        desired: the last link with the direction that the rotation gives it.
        plain: the last link of a pose that reaches without the rotation goal. Where the desired link is parallel to the
            line root-target, the last link is rotated in the plane of that line and this one.
    """
    length, distance = sum(lengths), norm(ops, target)
    most = (1.0 + _REACH_SLACK) * length
    least = max(2.0 * max(lengths) - length - _REACH_SLACK * length, 0.0)
    size = norm(ops, desired)
    along = first_direction(ops, [target, plain])
    direction, other = scale(desired, 1.0 / (size + TINY)), scale(plain, 1.0 / (norm(ops, plain) + TINY))
    cosine = dot(direction, along)
    squares, twice = distance * distance + size * size, 2.0 * size * distance + TINY
    clamped = ops.minimum(ops.maximum(cosine, (squares - most * most) / twice), (squares - least * least) / twice)
    clamped = ops.minimum(ops.maximum(clamped, -1.0), 1.0)
    fits = clamped == cosine
    if ops.all(fits):
        return desired
    if len(lengths) == 1:
        return choose_parts(ops, fits, desired, plain)
    across, beside = (subtract(each, scale(along, dot(each, along))) for each in (direction, other))
    across = choose_parts(ops, norm(ops, across) > _PARALLEL_SINE, across, beside)
    sine = ops.sqrt(1.0 - clamped * clamped) / (norm(ops, across) + TINY)
    x, y, z = (clamped * p + sine * q for p, q in zip(along, across, strict=True))
    return choose_parts(ops, fits, desired, scale((x, y, z), size / (norm(ops, (x, y, z)) + TINY)))
