# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the core makes of a chain that bends toward a pole, for all distances of its target. Computes.

In the bend plane the answer depends on that distance alone. So it is computed beforehand and looked up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...core import Array, FabrikError
from ...core.fabrik.chain_fabrik import bend_in_plane
from ...core.math.operations import ARRAY

STEPS = 256
"""Of a table: as many as Blender's curve nodes have, which go straight from one value to the next."""

_PARTS = 8
"""Of a step, to see what going straight across it leaves of the tip's place."""


@dataclass(frozen=True)
class BendTable:
    """Values from the longest to the shortest reach, in equal steps of the angle whose cosine is the distance.

    The angle resolves what happens next to both ends of the reach, where joints move with the distance's square root.
    Lengths are in units of the chain's.
    """

    joints: list[tuple[list[float], list[float]]]
    """Of every inner joint, across the line root-target and along it."""
    is_coarse: list[float]
    """1 on both sides of a step that leaves the tip farther from its target than the tolerance, else 0. That is where
    the joints jump, which they may next to the root."""


def bend_table(angles: Sequence[float], lengths: Sequence[float], tolerance: float, iterations: int) -> BendTable:
    """Return the table of a chain.

    Args:
        angles: between the links at rest, at every inner joint.
        lengths: of the links, in any unit.
        tolerance: error that counts as reached, over the chain's length.
        iterations: sweeps at most.
    """
    total = sum(lengths)
    shares = [length / total for length in lengths]
    places = np.linspace(0.0, 1.0, STEPS + 1)
    distance = _distances(shares, places)
    distance[0] = 2.0  # straight, whatever rounding makes of full extension
    with ARRAY.quiet():
        along, across, _ = bend_in_plane(
            ARRAY, [angle + 0.0 * distance for angle in angles], shares, distance, tolerance, iterations
        )
    joints = np.array([[np.broadcast_to(c, distance.shape) for c in row] for row in zip(across, along, strict=True)])
    if not np.isfinite(joints).all():
        raise FabrikError("its bends at rest can't be followed toward a pole: bend it less")
    errors = _errors(joints, shares, places).reshape(STEPS, _PARTS).max(axis=1) > tolerance
    is_coarse = np.append(errors, False) | np.append(False, errors)
    return BendTable([(q.tolist(), p.tolist()) for q, p in joints[1:-1]], is_coarse.astype(float).tolist())


def _distances(shares: Sequence[float], places: Array) -> Array:
    """Return the distances at places in the table, from 0 to 1."""
    shortest = max(2.0 * max(shares) - 1.0, 0.0)
    distances = 0.5 * (1.0 + shortest) + 0.5 * (1.0 - shortest) * np.cos(np.pi * places)
    nearest: Array = np.maximum(distances, 1e-6)  # a target at the root is in no direction
    return nearest


def _errors(joints: Array, shares: Sequence[float], places: Array) -> Array:
    """Return how far tips are from their targets in the middle of parts of every step, with links of their lengths.

    Args:
        joints: (J, 2, S), across and along at all places.
        shares: lengths of the links.
        places: (S,).
    """
    between = (np.arange(STEPS * _PARTS) + 0.5) / (STEPS * _PARTS)
    distance = _distances(shares, between)
    laid = np.array([[np.interp(between, places, c) for c in joint] for joint in joints])
    laid[-1] = 0.0 * distance, distance
    links = np.diff(laid, axis=0)
    links *= (np.array(shares)[:, None] / np.linalg.norm(links, axis=1))[:, None]
    errors: Array = np.linalg.norm(links.sum(axis=0) - laid[-1], axis=0)
    return errors
