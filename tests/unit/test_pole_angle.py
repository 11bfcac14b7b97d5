# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conversion of pole angles to Blender's and back."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fabrik_addon.core import Pose
from fabrik_addon.core.goals.pole_angle import from_blender, is_straight, to_blender

ANYWHERE = np.array([0.3, -0.2, 7.0])


def random_pose(seed: int) -> Pose:
    rng = np.random.default_rng(seed)
    positions = np.cumsum(np.concatenate([np.zeros((1, 3)), rng.normal(size=(3, 3))]), axis=0)
    frames = rng.normal(size=(4, 4))
    return Pose(positions, frames / np.linalg.norm(frames, axis=1, keepdims=True))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("angle", [-3.0, -1.0, 0.0, 0.5, 2.9])
def test_the_conversions_are_inverse(seed: int, angle: float) -> None:
    pose = random_pose(seed)
    there = from_blender(pose, to_blender(pose, angle, ANYWHERE))
    assert math.remainder(there - angle, math.tau) == pytest.approx(0.0, abs=1e-9)
    back = to_blender(pose, from_blender(pose, angle), ANYWHERE)
    assert math.remainder(back - angle, math.tau) == pytest.approx(0.0, abs=1e-9)


def test_a_leg_that_bends_along_its_first_bones_x_needs_no_angle() -> None:
    frames = np.tile([1.0, 0.0, 0.0, 0.0], (3, 1))
    pose = Pose(np.array([[0.0, 0.0, 0.0], [0.1, 1.0, 0.0], [0.0, 2.0, 0.0]]), frames)
    assert from_blender(pose, 0.0) == pytest.approx(0.0)
    assert to_blender(pose, 0.0, ANYWHERE) == pytest.approx(0.0)
    # Bends along -Z: the pole angle of Blender's rigs is -90 degrees there.
    pose = Pose(np.array([[0.0, 0.0, 0.0], [0.0, 1.0, -0.1], [0.0, 2.0, 0.0]]), frames)
    assert from_blender(pose, -math.pi / 2) == pytest.approx(0.0)


def test_a_straight_chain_has_pole_angle_0() -> None:
    pose = Pose(np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 2.0, 0.0]]), np.tile([1.0, 0.0, 0.0, 0.0], (3, 1)))
    assert from_blender(pose, 1.0) == 0.0
    assert to_blender(pose, 1.0, np.array([0.0, 5.0, 0.0])) == 0.0  # a pole on its line


@pytest.mark.parametrize("angle", [-2.0, 0.0, 1.0])
@pytest.mark.parametrize("noise", [0.0, 1e-4])
def test_a_straight_chain_is_not_rotated_about_its_line(angle: float, noise: float) -> None:
    # The direction of the first bone that points at the pole in the pose has to point there afterwards too.
    pose = Pose(np.array([[0.0, 0.0, 0.0], [0.0, 1.0, noise], [0.0, 2.0, 0.0]]), np.tile([1.0, 0.0, 0.0, 0.0], (3, 1)))
    assert is_straight(pose)
    pole = np.array([3.0 * math.cos(angle), 1.0, 3.0 * math.sin(angle)])
    assert to_blender(pose, 0.7, pole) == pytest.approx(angle, abs=1e-3)
