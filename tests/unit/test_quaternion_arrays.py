# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Arrays of quaternions: the laws of rotations."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fabrik_addon.core.math.quaternion_arrays import (
    angle_between,
    blend,
    conjugate,
    cross,
    from_values,
    multiply,
    signed_alike,
)

MODES = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")


def quaternions(seed: int, count: int = 50) -> np.ndarray:
    q = np.random.default_rng(seed).normal(size=(count, 4))
    return q / np.linalg.norm(q, axis=1, keepdims=True)


def turned(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    return multiply(multiply(q, np.concatenate([np.zeros((*v.shape[:-1], 1)), v], axis=-1)), conjugate(q))[..., 1:]


@pytest.mark.parametrize("mode", MODES)
def test_euler_angles_rotate_about_their_axes_in_order(mode: str) -> None:
    angles = np.random.default_rng(1).uniform(-3.0, 3.0, (50, 3))
    v = np.random.default_rng(2).normal(size=(50, 3))
    desired = v.copy()
    for axis in mode:
        i = "XYZ".index(axis)
        j, k = (i + 1) % 3, (i + 2) % 3
        c, s = np.cos(angles[:, i]), np.sin(angles[:, i])
        desired[:, j], desired[:, k] = c * desired[:, j] - s * desired[:, k], s * desired[:, j] + c * desired[:, k]
    assert np.allclose(turned(from_values(mode, angles), v), desired)


def test_axis_and_angle_with_axes_of_any_length() -> None:
    values = np.array([[math.pi / 2, 0.0, 0.0, 5.0], [1.0, 0.0, 0.0, 0.0]])
    found = from_values("AXIS_ANGLE", values)
    assert np.allclose(turned(found[0], np.array([1.0, 0.0, 0.0])), [0.0, 1.0, 0.0])
    assert np.isfinite(found).all()


def test_quaternions_of_any_length() -> None:
    q = quaternions(3)
    assert np.allclose(from_values("QUATERNION", 7.0 * q), q)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-4, 1.0, math.pi])
def test_small_angles_between_rotations_are_exact(angle: float) -> None:
    q = quaternions(4)
    axis = np.array([0.0, 0.6, 0.8])
    turn = np.concatenate([[math.cos(angle / 2)], math.sin(angle / 2) * axis])
    other = -multiply(q, np.broadcast_to(turn, q.shape))  # the opposite quaternion is the same rotation
    assert np.allclose(angle_between(q, other), angle, rtol=1e-6, atol=1e-15)


def test_a_blend_is_the_share_of_the_angle() -> None:
    p, q = quaternions(5), quaternions(6)
    share = np.linspace(0.0, 1.0, len(p))
    mixed = blend(p, q, share)
    whole = angle_between(p, q)
    assert np.allclose(angle_between(p, mixed), share * whole, atol=1e-7)
    assert np.allclose(angle_between(mixed, q), (1.0 - share) * whole, atol=1e-7)
    assert np.allclose(angle_between(blend(p, p, share), p), 0.0)


def test_quaternions_signed_alike_are_nearest_to_the_one_before() -> None:
    q, before = quaternions(7), quaternions(8, 1)[0]
    found = signed_alike(q, before)
    assert np.allclose(angle_between(found, q), 0.0)
    assert ((found * np.concatenate([before[None], found[:-1]])).sum(axis=1) >= 0.0).all()


def test_cross_products_are_those_of_numpy() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(7, 1, 3)), rng.normal(size=(5, 3))
    assert np.allclose(cross(a, b), np.cross(a, b), atol=1e-15)
