# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rotations as animation curves hold them, many at once, as quaternions (w, x, y, z)."""

from __future__ import annotations

import numpy as np

from . import quaternions
from .operations import Array


def from_values(mode: str, values: Array) -> Array:
    """Return unit quaternions (..., 4).

    Args:
        mode: 'QUATERNION', 'AXIS_ANGLE' or an order of Euler angles, of which the first axis turns first.
        values: (..., 4) quaternions of any length, or angle (radians) and axis, or (..., 3) angles (radians).
    """
    if mode == 'QUATERNION':
        return values / np.linalg.norm(values, axis=-1, keepdims=True)  # type: ignore[no-any-return]
    if mode == 'AXIS_ANGLE':
        size = np.linalg.norm(values[..., 1:], axis=-1, keepdims=True)
        half = 0.5 * values[..., :1]
        axis = values[..., 1:] / np.where(size > 0.0, size, 1.0)
        return np.concatenate([np.cos(half), np.sin(half) * axis], axis=-1)
    first, second, third = (_about(axis, values[..., "XYZ".index(axis)]) for axis in mode)
    return multiply(third, multiply(second, first))


def multiply(p: Array, q: Array) -> Array:
    """Return the product (..., 4) of quaternions: q first, then p."""
    first, second = np.moveaxis(p, -1, 0), np.moveaxis(q, -1, 0)
    return np.stack(quaternions.multiply(tuple(first), tuple(second)), axis=-1)


def conjugate(q: Array) -> Array:
    """Return the opposite rotations (..., 4) of unit quaternions."""
    return q * np.array([1.0, -1.0, -1.0, -1.0])  # type: ignore[no-any-return]


def angle_between(p: Array, q: Array) -> Array:
    """Return the angle (...,), 0 to pi radians, of the turn from one unit quaternion to another."""
    # Not the arc cosine of the product: it knows no small angles.
    near, far = np.linalg.norm(p - q, axis=-1), np.linalg.norm(p + q, axis=-1)
    return 4.0 * np.arctan2(np.minimum(near, far), np.maximum(near, far))  # type: ignore[no-any-return]


def signed_alike(q: Array, before: Array) -> Array:
    """Return quaternions (F, 4) with the signs that make each one near to the one before it.

    Args:
        q: in order of time.
        before: (4,) the one before the first.
    """
    previous = np.concatenate([before[None], q[:-1]])
    signs = np.where((q * previous).sum(axis=1) < 0.0, -1.0, 1.0)
    return q * np.cumprod(signs)[:, None]  # type: ignore[no-any-return]


def blend(p: Array, q: Array, share: Array) -> Array:
    """Return rotations (..., 4) on the shortest way from p to q, that share (...,) of it away from p."""
    dots = (p * q).sum(axis=-1, keepdims=True)
    q = np.where(dots < 0.0, -q, q)
    angle = 0.5 * angle_between(p, q)[..., None]
    sine = np.sin(angle)
    is_small = sine < 1e-9
    share = share[..., None]
    first = np.where(is_small, 1.0 - share, np.sin((1.0 - share) * angle) / np.where(is_small, 1.0, sine))
    second = np.where(is_small, share, np.sin(share * angle) / np.where(is_small, 1.0, sine))
    mixed = first * p + second * q
    return mixed / np.linalg.norm(mixed, axis=-1, keepdims=True)  # type: ignore[no-any-return]


def _about(axis: str, angles: Array) -> Array:
    turns = np.zeros((*angles.shape, 4))
    turns[..., 0] = np.cos(0.5 * angles)
    turns[..., 1 + "XYZ".index(axis)] = np.sin(0.5 * angles)
    return turns
