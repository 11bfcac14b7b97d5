# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The least error of any feasible pose, estimated by least squares from many random starts."""

from __future__ import annotations

from typing import Any

import numpy as np

from fabrik_addon.core import start_from
from fabrik_addon.core.math.operations import ARRAY, quiet
from fabrik_addon.core.model.constrained_chain import place
from fabrik_addon.core.optimise.bounded_least_squares import descend

from .limit_sets import ConstrainedBones, feasible_swings
from .problems import Array

RESTARTS = 200
"""Random feasible poses that least squares start from."""


def best_errors(
    constrained: ConstrainedBones, targets: Array, rng: np.random.Generator, restarts: int = RESTARTS
) -> Array:
    """Return the least distance (T,) from tip to target that least squares find from random feasible poses."""
    swings = feasible_swings(rng, constrained, restarts)
    start = start_from(constrained.chain(), constrained.rest(), (len(targets) * restarts,))
    assert start.constrained_chain is not None  # all sets have limits
    coordinates: list[Any] = [  # Any: no type says that a tuple made by a loop has three components
        tuple(np.tile(swings[:, j, axis], len(targets)) for axis in range(3)) for j in range(constrained.count)
    ]
    x, y, z = (np.repeat(targets[:, axis], restarts) for axis in range(3))
    with quiet():
        _, errors, _ = descend(ARRAY, place(ARRAY, start.constrained_chain, coordinates), (x, y, z), 1e-5, 100)
    best: Array = np.reshape(errors, (len(targets), restarts)).min(axis=1)
    return best
