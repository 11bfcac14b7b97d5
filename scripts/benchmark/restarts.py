# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""How near to a target any legal pose comes, as far as many random restarts can tell."""

from __future__ import annotations

from typing import Any

import numpy as np

from fabrik_addon.core import start_from
from fabrik_addon.core.math.operations import ARRAY
from fabrik_addon.core.optimise.bounded_least_squares import descend

from .limit_sets import LimbSet, legal_swings
from .problems import Array

RESTARTS = 200
"""Random legal poses that least squares start from."""


def best_errors(limb: LimbSet, targets: Array, rng: np.random.Generator, restarts: int = RESTARTS) -> Array:
    """Return the least distance (T,) from tip to target that least squares find from random feasible poses."""
    swings = legal_swings(rng, limb, restarts)
    start = start_from(limb.chain(), limb.rest(), (len(targets) * restarts,))
    assert start.constrained_chain is not None  # all sets have limits
    turns: list[Any] = [
        tuple(np.tile(swings[:, j, axis], len(targets)) for axis in range(3)) for j in range(limb.count)
    ]
    x, y, z = (np.repeat(targets[:, axis], restarts) for axis in range(3))
    with ARRAY.quiet():
        errors = descend(ARRAY, start.constrained_chain, turns, (x, y, z), 1e-5, 100)[2]
    best: Array = errors.reshape(len(targets), restarts).min(axis=1)
    return best
