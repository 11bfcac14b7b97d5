# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parameter at which a pose of a family has the desired distance from root to tip."""

from collections.abc import Callable

from .operations import TINY, Component, Operations

CLOSED_ERROR = 1e-13
"""Position error, over the chain's length, that counts as none: it is within a few roundings of doubles."""

FALSE_POSITIONS = 60
"""Bound on the steps of false position, every third of which is a bisection: 8 to 14 are usual."""

Ends = tuple[Component, Component]


def false_position(ops: Operations, error_at: Callable[[Component], Component], ends: Ends, errors: Ends) -> Component:
    """Return the parameter where an error is zero, within ``CLOSED_ERROR``: ``low + (high - low) far / (far - near)``.

    Args:
        error_at: distance from root to tip at a parameter, less the desired one.
        ends: the parameters ``low``, whose error is not negative, and ``high``, whose error is not positive. Where the
            error of ``low`` is zero ``low`` is returned to the last bit.
        errors: ``far``, at ``low``, and ``near``, at ``high``.
    """
    (low, high), (far, near) = ends, errors
    parameter, error = low, far
    for step in range(FALSE_POSITIONS):
        is_far = error > CLOSED_ERROR
        is_open = is_far | (error < -CLOSED_ERROR)
        if not ops.any(is_open):
            break
        low, far = ops.choose(is_far, [parameter, error], [low, far])
        high, near = ops.choose(is_far, [high, near], [parameter, error])
        share = 0.5 + 0.0 * far if step % 3 == 2 else ops.minimum(far / (far - near + TINY), 1.0)
        parameter = ops.where(is_open, low + (high - low) * share, parameter)
        error = error_at(parameter)
    return parameter
