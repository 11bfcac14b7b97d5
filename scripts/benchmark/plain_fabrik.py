# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plain FABRIK, as in the paper, made of the core's passes: the baseline of the bench."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fabrik_addon.core.fabrik.passes import both_passes, links_of
from fabrik_addon.core.math.operations import ARRAY, Point, quiet

from .problems import Array, link_lengths

CAP = 1000
"""Sweeps after which it counts as stuck."""


def plain_sweeps(joints: Array, targets: Array, tolerance: float) -> NDArray[np.int64]:
    """Return the sweeps (T,) that each target needs, ``CAP`` where it isn't reached.

    Args:
        joints: (J, 3) before, root at the origin, a chain one long.
        targets: (T, 3)
        tolerance: distance that counts as reached.
    """
    links = links_of(tuple(link_lengths(joints).tolist()))
    points: list[Point] = [np.repeat(joint[:, None], len(targets), axis=1) for joint in joints]
    target = targets.T
    sweeps = np.full(len(targets), CAP)
    with quiet():
        for sweep in range(1, CAP):
            both_passes(ARRAY, points, links, target)
            error = np.linalg.norm([at - goal for at, goal in zip(points[-1], target, strict=True)], axis=0)
            sweeps[(error <= tolerance) & (sweeps == CAP)] = sweep
            if (sweeps < CAP).all():
                break
    return sweeps
