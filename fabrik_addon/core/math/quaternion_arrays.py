# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rotations of many frames: arrays of quaternions (..., 4), (w, x, y, z), and their conversion from F-curve values.

The cross product of many vectors, and its matrices, are here, too. The quaternions of ``math.quaternions`` are tuples.
"""

from collections.abc import Sequence

import numpy as np

from . import quaternions
from .operations import Array

SMALL_SINE = 1e-9
"""Sine of the angle between two quaternions below which ``blend`` interpolates linearly: it divides by the sine."""


def _products_to_quaternion() -> Array:
    """Return (16, 4) what makes the product of two quaternions of the first's w, x, y, z times each of the second's."""
    rows = [quaternions.multiply(tuple(p), tuple(q)) for p in np.eye(4).tolist() for q in np.eye(4).tolist()]
    return np.array(rows)


def _squares_to_matrix() -> Array:
    """Return (16, 9) what makes a rotation's matrix, row by row, of its quaternion's w, x, y, z times each of them."""
    made = np.zeros((4, 4, 3, 3))
    made[range(4), range(4)] = [np.diag(d) for d in ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1))]
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        made[i + 1, j + 1, [i, j], [j, i]] = 2.0
        made[0, k + 1, [i, j], [j, i]] = -2.0, 2.0
    return made.reshape(16, 9)


_OF_PRODUCTS, _OF_SQUARES = _products_to_quaternion(), _squares_to_matrix()
_OF_CROSSING = np.cross(np.eye(3)[:, None], np.eye(3)).swapaxes(1, 2).reshape(3, 9)
_NEXT, _LAST, _CONJUGATE = np.array([1, 2, 0]), np.array([2, 0, 1]), np.array([1.0, -1.0, -1.0, -1.0])


def from_values(mode: str, values: Array) -> Array:
    """Return unit quaternions (..., 4).

    Args:
        mode: Blender's rotation mode: 'QUATERNION', 'AXIS_ANGLE' or an order of Euler angles such as 'XYZ', whose
            first axis is the first to be rotated about, all about the parent's axes.
        values: (..., 4) quaternions of any length but 0; or (..., 4) angle (radians) and axis; or (..., 3) angles
            (radians) about x, y and z.
    """
    if mode == 'QUATERNION':
        return values / np.linalg.norm(values, axis=-1, keepdims=True)
    if mode == 'AXIS_ANGLE':
        size = np.linalg.norm(values[..., 1:], axis=-1, keepdims=True)
        half = 0.5 * values[..., :1]
        axis = values[..., 1:] / np.where(size > 0.0, size, 1.0)
        return np.concatenate([np.cos(half), np.sin(half) * axis], axis=-1)
    first, second, third = (_about(axis, values[..., "XYZ".index(axis)]) for axis in mode)
    return multiply(third, multiply(second, first))


def multiply(p: Array, q: Array) -> Array:
    """Return the product ``p q`` (..., 4): the rotation q, then the rotation p."""
    products = p[..., :, None] * q[..., None, :]
    return products.reshape(*products.shape[:-2], 16) @ _OF_PRODUCTS


def cross(a: Array, b: Array) -> Array:
    """Return the cross product (..., 3): of 15 vectors in 2 microseconds, those of ``numpy.cross`` in 20."""
    return a.take(_NEXT, -1) * b.take(_LAST, -1) - a.take(_LAST, -1) * b.take(_NEXT, -1)


def crossing(a: Array) -> Array:
    """Return the matrices M (..., 3, 3) with ``M b = a x b``, and ``b M = b x a``."""
    return (a @ _OF_CROSSING).reshape(*a.shape, 3)


def to_matrices(q: Array) -> Array:
    """Return the matrices (..., 3, 3) of unit quaternions (..., 4)."""
    squares = (q[..., :, None] * q[..., None, :]).reshape(*q.shape[:-1], 16)
    return (squares @ _OF_SQUARES).reshape(*q.shape[:-1], 3, 3)


def conjugate(q: Array) -> Array:
    """Return the inverse rotations (..., 4) of unit quaternions."""
    return q * _CONJUGATE


def angle_between(p: Array, q: Array) -> Array:
    """Return the angle (...,), 0 to pi radians, of the rotation from one unit quaternion to another.

    ``4 atan2(min(|p - q|, |p + q|), max(|p - q|, |p + q|))``: for a rotation by t from p to q the norms are
    ``|p - q| = 2 sin(t / 4)`` and ``|p + q| = 2 cos(t / 4)``, or the other way round, since q and -q are the same
    rotation. ``2 acos(|p . q|)`` would round every angle below 2e-8 to zero.
    """
    near, far = np.linalg.norm(p - q, axis=-1), np.linalg.norm(p + q, axis=-1)
    return 4.0 * np.arctan2(np.minimum(near, far), np.maximum(near, far))


def largest_angle(p: Array | Sequence[quaternions.Quaternion], q: Array | Sequence[quaternions.Quaternion]) -> float:
    """Return the largest angle, 0 to pi radians, of the rotations from unit quaternions (N, 4) to others."""
    return float(angle_between(np.array(p), np.array(q)).max())


def signed_alike(q: Array, before: Array) -> Array:
    """Return the same rotations (F, 4), signed so that each is near the one before, the first near (4,) ``before``."""
    previous = np.concatenate([before[None], q[:-1]])
    signs = np.where((q * previous).sum(axis=1) < 0.0, -1.0, 1.0)
    return q * np.cumprod(signs)[:, None]


def blend(p: Array, q: Array, share: Array) -> Array:
    """Return the spherical linear interpolation (..., 4) from p to q: ``(p sin((1 - s) a) + q sin(s a)) / sin a``.

    ``s`` is the share (...,) and ``a`` the angle between the quaternions, half that of the rotation; the shorter way
    round (Shoemake 1985). Where ``sin a`` is below ``SMALL_SINE`` the weights are their limits, ``1 - s`` and ``s``.
    """
    dots = (p * q).sum(axis=-1, keepdims=True)
    q = np.where(dots < 0.0, -q, q)
    angle = 0.5 * angle_between(p, q)[..., None]
    sine = np.sin(angle)
    is_small = sine < SMALL_SINE
    share = share[..., None]
    first = np.where(is_small, 1.0 - share, np.sin((1.0 - share) * angle) / np.where(is_small, 1.0, sine))
    second = np.where(is_small, share, np.sin(share * angle) / np.where(is_small, 1.0, sine))
    mixed = first * p + second * q
    return mixed / np.linalg.norm(mixed, axis=-1, keepdims=True)


def _about(axis: str, angles: Array) -> Array:
    """Return rotations (..., 4) by angles (...,) about one axis of a frame: "X", "Y" or "Z"."""
    rotations = np.zeros((*angles.shape, 4))
    rotations[..., 0] = np.cos(0.5 * angles)
    rotations[..., 1 + "XYZ".index(axis)] = np.sin(0.5 * angles)
    return rotations
