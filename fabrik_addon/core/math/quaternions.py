# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Unit quaternions (w, x, y, z) of components: floats (one pose) or arrays (B,) (B poses)."""

from typing import TypeAlias

from .operations import Component, Operations, Scalar, Vector
from .vectors import normalised, perpendicular

Quaternion: TypeAlias = tuple[Component, Component, Component, Component]
"""w, x, y, z of one unit quaternion: ``(cos(angle / 2), sin(angle / 2) * axis)``."""

ScalarQuaternion: TypeAlias = tuple[Scalar, Scalar, Scalar, Scalar]
"""A ``Quaternion`` of one pose."""

OPPOSITE = 1e-7
"""Difference of an angle between directions from 180 degrees (radians) up to which the directions count as opposite:
the axis of their rotation is uncertain by 1e-9 radians at this threshold."""

UNIT_MISFIT = 1e-2
"""Largest difference of a unit quaternion's squared norm from 1 that is taken for rounding: Blender's quaternions of
matrices differ by up to 6e-4, and a rest frame is a product of three."""

IDENTITY: ScalarQuaternion = (1.0, 0.0, 0.0, 0.0)


def identity_of(component: Component) -> Quaternion:
    """Return the identity for the batch items of a component."""
    zero = 0.0 * component
    return zero + 1.0, zero, zero, zero


def multiply(a: Quaternion, b: Quaternion) -> Quaternion:
    """Return the Hamilton product ``a b``: the rotation b, then the rotation a, both about fixed axes."""
    aw, ax, ay, az = a
    bw, bx, by, bz = b
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


def conjugate(q: Quaternion) -> Quaternion:
    """Return the conjugate ``(w, -x, -y, -z)``: of a unit quaternion it is the inverse rotation."""
    w, x, y, z = q
    return w, -x, -y, -z


def rotation_fault(ops: Operations, q: Quaternion) -> str:
    """Return why a quaternion is no rotation, for messages: what isn't of unit length scales what it rotates."""
    w, x, y, z = q
    if ops.all(ops.abs(w * w + x * x + y * y + z * z - 1.0) <= UNIT_MISFIT):
        return ""
    return "is not a unit quaternion" if ops.all(ops.isfinite(w + x + y + z)) else "is not a finite number"


def rotate(q: Quaternion, a: Vector) -> Vector:
    """Return a vector rotated by a unit quaternion: ``a + w t + v x t`` with ``v = (x, y, z)``, ``t = 2 v x a``."""
    w, x, y, z = q
    ax, ay, az = a
    tx, ty, tz = 2.0 * (y * az - z * ay), 2.0 * (z * ax - x * az), 2.0 * (x * ay - y * ax)
    return ax + w * tx + y * tz - z * ty, ay + w * ty + z * tx - x * tz, az + w * tz + x * ty - y * tx


def from_to(ops: Operations, a: Vector, b: Vector, hint: Vector) -> Quaternion:
    """Return the shortest rotation that takes direction a to direction b; neither needs to be a unit vector.

    The half-angle construction: ``q = (|a||b| + a . b, a x b)``, normalised. Its scalar and vector parts are
    ``|a||b| (1 + cos t)`` and ``|a||b| sin t`` along the axis, in the ratio of ``cos(t / 2)`` to ``sin(t / 2)``.

    For opposite a and b each axis perpendicular to a gives a rotation by 180 degrees: that nearest to the hint is
    taken.
    """
    ax, ay, az = a
    bx, by, bz = b
    x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    size = ops.sqrt((ax * ax + ay * ay + az * az) * (bx * bx + by * by + bz * bz))
    w = size + ax * bx + ay * by + az * bz
    length = ops.sqrt(w * w + x * x + y * y + z * z)
    opposite = length <= OPPOSITE * size  # length / size is 2 cos(t / 2), close to 180 degrees less t
    if ops.any(opposite):
        axis = perpendicular(ops, normalised(ops, a), [hint])
        w, x, y, z, length = ops.choose(opposite, [0.0 * w, *axis, 0.0 * w + 1.0], [w, x, y, z, length])
    return w / length, x / length, y / length, z / length


def x_axis(q: Quaternion) -> Vector:
    """Return the x axis of a frame: the first column of its rotation matrix."""
    w, x, y, z = q
    return 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)
