# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Seeded chains, poses and targets. Chains are one long, roots are at the origin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fabrik_addon.core import Pose

Array = NDArray[np.float64]

COUNTS = (2, 3, 5, 10, 20, 30, 50, 100)
RESTS = ("straight", "bent")

BEND = (0.2, 0.5)
"""Angle between neighbouring links of a bent chain, radians."""


@dataclass(frozen=True)
class Effort:
    """How much to measure."""

    targets: int
    longest: int
    """Links of the longest chain."""
    timed_runs: int

    @property
    def counts(self) -> tuple[int, ...]:
        """The numbers of links to measure."""
        return tuple(count for count in COUNTS if count <= self.longest)


FULL = Effort(targets=100, longest=100, timed_runs=15)
QUICK = Effort(targets=20, longest=20, timed_runs=3)


def generator(*names: str | int | float) -> np.random.Generator:
    """Return random numbers of a set's own: no set changes when another one does."""
    return np.random.default_rng(list("/".join(map(str, names)).encode()))


def directions(rng: np.random.Generator, count: int) -> Array:
    """Return unit vectors (count, 3)."""
    return unit(rng.normal(size=(count, 3)))


def unit(vectors: ArrayLike) -> Array:
    """Return vectors (..., 3) divided by their lengths."""
    array = np.asarray(vectors, float)
    made: Array = array / np.linalg.norm(array, axis=-1, keepdims=True)
    return made


def rest_joints(count: int, rest: str) -> Array:
    """Return the joints (J, 3) of a chain of equal links: straight up, or bent in random directions."""
    lengths = np.full(count, 1.0 / count)
    if rest == "straight":
        return lay(lengths, np.tile((0.0, 0.0, 1.0), (count, 1)))
    least, most = BEND
    return random_joints(generator("rest", count), lengths, most, least)


def random_joints(rng: np.random.Generator, lengths: Array, most: float, least: float = 0.0) -> Array:
    """Return joints (J, 3) of links, the angle between neighbours uniform between two bounds, radians."""
    heading = directions(rng, 1)[0]
    headings = []
    for _ in lengths:
        headings.append(heading)
        aside = unit(np.cross(heading, rng.normal(size=3)))
        angle = rng.uniform(least, most)
        heading = np.cos(angle) * heading + np.sin(angle) * aside
    return lay(lengths, np.array(headings))


def lay(lengths: Array, headings: Array) -> Array:
    """Return joints (J, 3) of links laid end to end from the origin."""
    return np.vstack([np.zeros(3), np.cumsum(lengths[:, None] * headings, axis=0)])


def targets_within(rng: np.random.Generator, least: float, most: float, count: int) -> Array:
    """Return targets (count, 3) in all directions, their reaches between two bounds."""
    targets: Array = rng.uniform(least, most, (count, 1)) * directions(rng, count)
    return targets


def pose_along(joints: Array) -> Pose:
    """Return the pose whose bones lie along their links, each by the shortest rotation from +Y."""
    links = unit(np.diff(joints, axis=0))
    quaternions = np.column_stack([1.0 + links[:, 1], links[:, 2], np.zeros(len(links)), -links[:, 0]])
    quaternions[1.0 + links[:, 1] < 1e-9] = (0.0, 1.0, 0.0, 0.0)
    quaternions /= np.linalg.norm(quaternions, axis=1, keepdims=True)
    return Pose(joints, np.vstack([quaternions, quaternions[-1:]]))


def link_lengths(joints: Array) -> Array:
    """Return the lengths (..., J - 1) of links."""
    lengths: Array = np.linalg.norm(np.diff(joints, axis=-2), axis=-1)
    return lengths
