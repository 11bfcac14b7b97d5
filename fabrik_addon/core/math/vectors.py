# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Directions and unit quaternions (w, x, y, z) over components: floats for one lane, arrays (B,) for many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from .operations import TINY, Component, Components, Vector

Quaternion: TypeAlias = tuple[Any, Any, Any, Any]
"""w, x, y, z of one unit quaternion."""

Joints: TypeAlias = tuple[Components, Components, Components]
"""x, y and z of the joints of a chain, root first."""

IDENTITY: Quaternion = (1.0, 0.0, 0.0, 0.0)

PARALLEL = 1e-6
"""Length below which a direction is noise, where lengths are near one: it then gives way to the next best."""


def points_of(joints: Joints) -> list[Vector]:
    """Return joints as a list of points."""
    return list(zip(*joints, strict=True))


def joints_of(points: Sequence[Vector]) -> Joints:
    """Return points as joints, component by component."""
    x, y, z = zip(*points, strict=True)
    return list(x), list(y), list(z)


def dot(a: Vector, b: Vector) -> Component:
    """Return the scalar product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector, b: Vector) -> Vector:
    """Return the vector product."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def scale(a: Vector, factor: Component) -> Vector:
    """Return the vector times a factor."""
    return a[0] * factor, a[1] * factor, a[2] * factor


def norm(ops: Any, a: Vector) -> Component:
    """Return the length of a vector."""
    return ops.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])


def distance_between(ops: Any, a: Vector, b: Vector) -> Component:
    """Return the distance between two points."""
    x, y, z = a[0] - b[0], a[1] - b[1], a[2] - b[2]
    return ops.sqrt(x * x + y * y + z * z)


def choose_parts(ops: Any, where: Component, yes: tuple[Any, ...], no: tuple[Any, ...]) -> Any:
    """Choose, lane by lane, between the components of two vectors, quaternions or turns."""
    return tuple(ops.choose(where, yes, no))


def first_direction(ops: Any, candidates: list[Vector]) -> Vector:
    """Return the first candidate that isn't zero, lane by lane, as a unit vector. One of them must not be zero."""
    x, y, z = candidates[-1]
    size = norm(ops, (x, y, z))
    for candidate in reversed(candidates[:-1]):
        candidate_size = norm(ops, candidate)
        usable = candidate_size > PARALLEL
        x, y, z, size = ops.choose(usable, [*candidate, candidate_size], [x, y, z, size])
    return x / size, y / size, z / size


def rejection(a: Vector, axis: Vector) -> Vector:
    """Return the part of a vector that is perpendicular to a unit axis."""
    along = dot(a, axis)
    return a[0] - axis[0] * along, a[1] - axis[1] * along, a[2] - axis[2] * along


def perpendicular(ops: Any, axis: Vector, hints: list[Vector]) -> Vector:
    """Return the unit vector perpendicular to a unit axis nearest to the first hint that isn't parallel to it.

    The world's axes are the last hints, so there is always one.
    """
    zero = 0.0 * axis[0]
    hints = [*hints, (zero + 1.0, zero, zero), (zero, zero + 1.0, zero)]
    return first_direction(ops, [rejection(hint, axis) for hint in hints])


def multiply(a: Quaternion, b: Quaternion) -> Quaternion:
    """Return the turn b followed by the turn a."""
    aw, ax, ay, az = a
    bw, bx, by, bz = b
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


def rotate(q: Quaternion, a: Vector) -> Vector:
    """Return the vector turned by a unit quaternion."""
    w, x, y, z = q
    ax, ay, az = a
    tx, ty, tz = 2.0 * (y * az - z * ay), 2.0 * (z * ax - x * az), 2.0 * (x * ay - y * ax)
    return ax + w * tx + y * tz - z * ty, ay + w * ty + z * tx - x * tz, az + w * tz + x * ty - y * tx


def from_to(ops: Any, a: Vector, b: Vector, hint: Vector) -> Quaternion:
    """Return the shortest turn that takes direction a to direction b; neither needs to be a unit vector.

    Args:
        ops: the lanes' operations.
        a: direction before.
        b: direction after.
        hint: where b is opposite to a every axis perpendicular to it is as short: the one nearest to this is taken.
    """
    ax, ay, az = a
    bx, by, bz = b
    x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    size = ops.sqrt((ax * ax + ay * ay + az * az) * (bx * bx + by * by + bz * bz))
    w = size + ax * bx + ay * by + az * bz
    length = ops.sqrt(w * w + x * x + y * y + z * z)
    # Rounding leaves w near 1e-16 for opposite vectors: the axis would be noise.
    opposite = length <= 1e-7 * size
    if ops.any(opposite):
        axis = perpendicular(ops, scale(a, 1.0 / (norm(ops, a) + TINY)), [hint])
        w, x, y, z, length = ops.choose(opposite, [0.0 * w, *axis, 0.0 * w + 1.0], [w, x, y, z, length])
    return w / length, x / length, y / length, z / length


def x_axis(q: Quaternion) -> Vector:
    """Return the x axis of a frame."""
    w, x, y, z = q
    return 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)


def turn_about(axis: Vector, cosine: Component, sine: Component, a: Vector) -> Vector:
    """Return the vector turned about a unit axis, the angle given by its cosine and sine (Rodrigues)."""
    c = cross(axis, a)
    along = dot(axis, a) * (1.0 - cosine)
    return (
        a[0] * cosine + c[0] * sine + axis[0] * along,
        a[1] * cosine + c[1] * sine + axis[1] * along,
        a[2] * cosine + c[2] * sine + axis[2] * along,
    )
