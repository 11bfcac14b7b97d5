# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The place in a family of poses, one for each distance from root to tip, at which this distance is the desired one."""

from __future__ import annotations

from collections.abc import Callable

from ..math.operations import TINY, Component, Operations
from .exact_finish import CLOSED_ERROR

FALSE_POSITIONS = 60
"""Bound on the steps of false position, every third of which is a bisection: 8 to 14 are usual."""

Ends = tuple[Component, Component]


def false_position(ops: Operations, error_at: Callable[[Component], Component], ends: Ends, errors: Ends) -> Component:
    """Return the place where an error is zero, within ``CLOSED_ERROR``: ``low + (high - low) far / (far - near)``.

    Args:
        ops: operations of the components.
        error_at: distance from root to tip at a place, less the desired one.
        ends: a place low where the error is not negative, and a place high where it is not positive. The place low is
            returned to the last bit where its error is zero.
        errors: far and near, those of the ends.
    """
    (low, high), (far, near) = ends, errors
    place, error = low, far
    for step in range(FALSE_POSITIONS):
        is_far = error > CLOSED_ERROR
        is_open = is_far | (error < -CLOSED_ERROR)
        if not ops.any(is_open):
            break
        low, far = ops.choose(is_far, [place, error], [low, far])
        high, near = ops.choose(is_far, [high, near], [place, error])
        share = 0.5 + 0.0 * far if step % 3 == 2 else ops.minimum(far / (far - near + TINY), 1.0)
        place = ops.where(is_open, low + (high - low) * share, place)
        error = error_at(place)
    return place
