# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pole angles there and back again."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fabrik_addon.core import Pose
from fabrik_addon.core.goals.pole_angle import from_blender, is_straight, to_blender

ANYWHERE = np.array([0.3, -0.2, 7.0])


def limb(seed: int) -> Pose:
    rng = np.random.default_rng(seed)
    positions = np.cumsum(np.concatenate([np.zeros((1, 3)), rng.normal(size=(3, 3))]), axis=0)
    frames = rng.normal(size=(4, 4))
    return Pose(positions, frames / np.linalg.norm(frames, axis=1, keepdims=True))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("angle", [-3.0, -1.0, 0.0, 0.5, 2.9])
def test_there_and_back(seed: int, angle: float) -> None:
    pose = limb(seed)
    there = from_blender(pose, to_blender(pose, angle, ANYWHERE))
    assert math.remainder(there - angle, math.tau) == pytest.approx(0.0, abs=1e-9)
    back = to_blender(pose, from_blender(pose, angle), ANYWHERE)
    assert math.remainder(back - angle, math.tau) == pytest.approx(0.0, abs=1e-9)


def test_a_leg_that_bends_along_its_first_bones_x_needs_no_angle() -> None:
    frames = np.tile([1.0, 0.0, 0.0, 0.0], (3, 1))
    pose = Pose(np.array([[0.0, 0.0, 0.0], [0.1, 1.0, 0.0], [0.0, 2.0, 0.0]]), frames)
    assert from_blender(pose, 0.0) == pytest.approx(0.0)
    assert to_blender(pose, 0.0, ANYWHERE) == pytest.approx(0.0)
    # Bends along -Z: Blender's rigs say -90 degrees there.
    pose = Pose(np.array([[0.0, 0.0, 0.0], [0.0, 1.0, -0.1], [0.0, 2.0, 0.0]]), frames)
    assert from_blender(pose, -math.pi / 2) == pytest.approx(0.0)


def test_a_straight_chain_has_no_bend_to_turn() -> None:
    pose = Pose(np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 2.0, 0.0]]), np.tile([1.0, 0.0, 0.0, 0.0], (3, 1)))
    assert from_blender(pose, 1.0) == 0.0
    assert to_blender(pose, 1.0, np.array([0.0, 5.0, 0.0])) == 0.0  # a pole on its line


@pytest.mark.parametrize("angle", [-2.0, 0.0, 1.0])
@pytest.mark.parametrize("noise", [0.0, 1e-4])
def test_a_straight_chain_isnt_turned_about_its_line(angle: float, noise: float) -> None:
    # The direction of its first bone that points at the pole already is the one that has to.
    pose = Pose(np.array([[0.0, 0.0, 0.0], [0.0, 1.0, noise], [0.0, 2.0, 0.0]]), np.tile([1.0, 0.0, 0.0, 0.0], (3, 1)))
    assert is_straight(pose)
    pole = np.array([3.0 * math.cos(angle), 1.0, 3.0 * math.sin(angle)])
    assert to_blender(pose, 0.7, pole) == pytest.approx(angle, abs=1e-3)
