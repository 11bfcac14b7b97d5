# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pole angles there and back again."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fabrik_addon.core import Pose
from fabrik_addon.core.poles.pole_angles import from_blender, to_blender


def limb(seed: int) -> Pose:
    rng = np.random.default_rng(seed)
    positions = np.cumsum(np.concatenate([np.zeros((1, 3)), rng.normal(size=(3, 3))]), axis=0)
    frames = rng.normal(size=(4, 4))
    return Pose(positions, frames / np.linalg.norm(frames, axis=1, keepdims=True))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("angle", [-3.0, -1.0, 0.0, 0.5, 2.9])
def test_there_and_back(seed: int, angle: float) -> None:
    pose = limb(seed)
    assert math.remainder(from_blender(pose, to_blender(pose, angle)) - angle, math.tau) == pytest.approx(0.0, abs=1e-9)
    assert math.remainder(to_blender(pose, from_blender(pose, angle)) - angle, math.tau) == pytest.approx(0.0, abs=1e-9)


def test_a_leg_that_bends_along_its_first_bones_x_needs_no_angle() -> None:
    frames = np.tile([1.0, 0.0, 0.0, 0.0], (3, 1))
    pose = Pose(np.array([[0.0, 0.0, 0.0], [0.1, 1.0, 0.0], [0.0, 2.0, 0.0]]), frames)
    assert from_blender(pose, 0.0) == pytest.approx(0.0)
    assert to_blender(pose, 0.0) == pytest.approx(0.0)
    # Bends along -Z: Blender's rigs say -90 degrees there.
    pose = Pose(np.array([[0.0, 0.0, 0.0], [0.0, 1.0, -0.1], [0.0, 2.0, 0.0]]), frames)
    assert from_blender(pose, -math.pi / 2) == pytest.approx(0.0)


def test_a_straight_chain_has_no_bend_to_turn() -> None:
    pose = Pose(np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 2.0, 0.0]]), np.tile([1.0, 0.0, 0.0, 0.0], (3, 1)))
    assert from_blender(pose, 1.0) == 0.0
    assert to_blender(pose, 1.0) == 0.0
