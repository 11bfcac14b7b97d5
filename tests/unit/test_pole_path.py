# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Poles of an animated chain: on the side of its bend, at a constant distance, without a jump where it is straight."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fabrik_addon.core import Goals, Pose, plain_chain, solve
from fabrik_addon.core.goals.pole_path import steady_poles


def arm(bends: np.ndarray, turn: float) -> Pose:
    """An arm that bends about X while it rotates about its own length, frame after frame."""
    positions, rotations = [], []
    for number, bend in enumerate(bends):
        angle = turn * number
        side = np.array([-math.sin(angle), math.cos(angle), 0.0])
        elbow = np.array([0.0, 0.0, 1.0])
        wrist = elbow + math.cos(bend) * elbow + math.sin(bend) * side
        positions.append([np.zeros(3), elbow, wrist])
        # Bones point along their +Y: upward, rotated about it.
        half = math.sqrt(0.5)
        c, s = math.cos(angle / 2), math.sin(angle / 2)
        frame = [half * c, half * c, half * s, half * s]
        rotations.append([frame] * 3)
    return Pose(np.array(positions), np.array(rotations))


def test_poles_rotate_with_the_first_bone_while_the_arm_is_straight() -> None:
    bends = np.maximum(0.0, np.sin(np.linspace(0.0, 12.0, 120)))
    poles = steady_poles(arm(bends, 0.02), np.array([0.0, -2.0, 0.5]), 0.75, [0.0] * len(bends))
    assert np.linalg.norm(np.diff(poles, axis=0), axis=1).max() < 0.2


@pytest.mark.parametrize("pole_angle", [0.0, 0.8])
def test_solving_with_the_poles_changes_nothing(pole_angle: float) -> None:
    bends = 0.05 + 0.9 * np.abs(np.sin(np.linspace(0.0, 6.0, 60)))
    poses = arm(bends, 0.05)
    poles = steady_poles(poses, np.array([0.0, -2.0, 0.5]), 0.75, [pole_angle] * len(poses.positions))
    goals = Goals(poses.positions[:, -1:], poles=poles[:, None], pole_angles=np.array([pole_angle]))
    solution = solve(plain_chain([1.0, 1.0]), poses, goals)
    assert np.abs(solution.pose.positions - poses.positions).max() < 1e-9
    assert np.abs(solution.pose.rotations - poses.rotations).max() < 1e-6


def test_the_distance_of_a_pole_is_constant_and_that_of_one_at_the_chain_is_replaced() -> None:
    bends = 0.3 + 0.2 * np.sin(np.linspace(0.0, 6.0, 60))
    poses = arm(bends, 0.0)
    for pole, expected in ((np.array([0.0, -3.0, 1.0]), None), (np.array([0.0, -0.1, 1.0]), 0.75)):
        poles = steady_poles(poses, pole, 0.75, [0.0] * len(poses.positions))
        chord = poses.positions[:, -1] / np.linalg.norm(poses.positions[:, -1], axis=1, keepdims=True)

        def off(points: np.ndarray, chord: np.ndarray = chord) -> np.ndarray:
            return np.linalg.norm(points - chord * (points * chord).sum(axis=1, keepdims=True), axis=1)

        share = (off(poles) - off(poses.positions[:, 1])) / 2.0
        assert np.ptp(share) < 1e-9
        assert expected is None or share[0] == pytest.approx(expected)
