# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Poses as one family in the distance from root to tip: monotonic, continuous, within limits, through the rest pose."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from fabrik_addon.core.math.operations import SCALAR
from fabrik_addon.core.model.constrained_chain import ConstrainedChain, place
from fabrik_addon.core.model.joint_limits import JointLimits, joint_limits, outside_by, swing_twist
from fabrik_addon.core.within_limits.shape_family import ShapeFamily, shape_family

FREE = joint_limits((-math.inf,) * 3, (math.inf,) * 3)
KNEE = joint_limits((0.0, 0.0, 0.0), (2.6, 0.0, 0.0))
ANKLE = joint_limits((-0.6, -0.4, -0.6), (0.6, 0.4, 0.6))


def about(axis: np.ndarray, angle: float) -> tuple[float, ...]:
    x, y, z = math.sin(0.5 * angle) * axis / np.linalg.norm(axis)
    return math.cos(0.5 * angle), float(x), float(y), float(z)


def make_chain(count: int, bend: float, limits: JointLimits = FREE, seed: int = 0) -> ConstrainedChain:
    """Equal links; at rest each is rotated by an angle against the one before, about axes in all directions."""
    rng = np.random.default_rng(seed + count)
    rests = [(1.0, 0.0, 0.0, 0.0), *(about(rng.normal(size=3), bend) for _ in range(count - 1))]
    links = [(0.0, 1.0 / count, 0.0)] * count
    return ConstrainedChain(rests, links, [True] * count, [limits] * count, [(1.0, 1.0, 1.0)] * count)


def distance_at(chain: ConstrainedChain, family: ShapeFamily, distance: float) -> float:
    turns = [swing_twist(SCALAR, q) for q in family.at(distance)]
    return float(np.linalg.norm(place(SCALAR, chain, [(0.0, 0.0, 0.0), *turns]).joints[-1]))


@pytest.mark.parametrize("limits", [FREE, ANKLE, KNEE])
@pytest.mark.parametrize("bend", [0.0, 0.3, 1.2])
@pytest.mark.parametrize("count", [2, 3, 6, 15])
def test_every_distance_of_its_range_has_a_pose_within_limits(count: int, bend: float, limits: JointLimits) -> None:
    chain = make_chain(count, bend, limits)
    family = shape_family(chain)
    assert all(a < b for a, b in pairwise(family.distances))
    for distance in np.linspace(family.distances[0], family.distances[-1], 40):
        assert distance_at(chain, family, distance) == pytest.approx(distance, abs=1e-6)
        assert max(outside_by(limits, q) for q in family.at(distance)) < 1e-9


@pytest.mark.parametrize("bend", [0.0, 0.3, 1.2])
@pytest.mark.parametrize("count", [2, 3, 6, 15])
def test_a_free_chain_opens_and_closes(count: int, bend: float) -> None:
    family = shape_family(make_chain(count, bend))
    assert family.distances[-1] == pytest.approx(1.0, abs=1e-6)
    assert family.distances[0] < 0.05


@pytest.mark.parametrize("count", [2, 3, 6])
def test_the_rest_pose_is_one_of_them(count: int) -> None:
    chain = make_chain(count, 0.4)
    rest = float(np.linalg.norm(place(SCALAR, chain, [(0.0, 0.0, 0.0)] * count).joints[-1]))
    assert np.abs(np.array(shape_family(chain).at(rest)) - (1.0, 0.0, 0.0, 0.0)).max() < 1e-3


@pytest.mark.parametrize("limits", [FREE, ANKLE])
@pytest.mark.parametrize("count", [3, 6])
def test_poses_are_continuous_in_the_distance(count: int, limits: JointLimits) -> None:
    """In steps of the angle whose cosine is the distance: at both ends joints rotate with its square root."""
    family = shape_family(make_chain(count, 0.4, limits))
    low, high = family.distances[0], family.distances[-1]
    angles = np.linspace(0.0, math.pi, 500)
    poses = np.array([family.at(0.5 * (low + high) + 0.5 * (high - low) * math.cos(angle)) for angle in angles])
    assert np.abs(np.diff(poses, axis=0)).max() < 0.03


def test_a_leg_with_its_foot_bends_the_knee() -> None:
    """From rest the distance falls by the ankle's rotation alone, which ends at the ankle's limit."""
    rests = [(1.0, 0.0, 0.0, 0.0), about(np.array([1.0, 0.0, 0.0]), 0.15), about(np.array([-1.0, 0.0, 0.0]), 1.1)]
    links = [(0.0, length, 0.0) for length in (0.45, 0.42, 0.13)]
    ankle = joint_limits((-0.6, 0.0, 0.0), (0.9, 0.0, 0.0))
    chain = ConstrainedChain(rests, links, [True] * 3, [FREE, KNEE, ankle], [(1.0, 1.0, 1.0)] * 3)
    family = shape_family(chain)
    assert family.distances[0] < 0.4
    knee = [2.0 * math.asin(family.at(distance)[0][1]) for distance in (0.9, 0.7, 0.5)]
    assert knee == sorted(knee)
    assert knee[-1] > 1.0
