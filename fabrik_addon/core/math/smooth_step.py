# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A share that changes smoothly from 0 to 1."""


def smooth_step(value: float, none: float, all_of_it: float) -> float:
    """Return 0 at ``none`` and before, 1 at ``all_of_it`` and after, ``t^2 (3 - 2 t)`` at a share t of the way."""
    t = min(1.0, max(0.0, (value - none) / (all_of_it - none)))
    return t * t * (3.0 - 2.0 * t)
