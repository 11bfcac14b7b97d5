# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Vectors of components: x, y, z are floats (one pose) or arrays (B,) (B poses)."""

from collections.abc import Sequence
from itertools import chain
from typing import TypeVar, cast

from .operations import TINY, Component, Condition, Operations, Selection, Vector

Parts = TypeVar("Parts", bound=tuple[Component, ...])
"""A tuple of components: a ``Vector``, a ``Quaternion`` or another of fixed length."""


NO_DIRECTION = 1e-6
"""Length of a vector, in units of the chain's length, up to which its direction is taken for rounding noise.

In single precision the direction of a vector of this length is uncertain by 0.1 radians.
"""


def vectors_of(flat: Sequence[Component]) -> list[Vector]:
    """Return components x, y, z, x, y, z ... as vectors."""
    return list(zip(flat[::3], flat[1::3], flat[2::3], strict=True))


def dot(a: Vector, b: Vector) -> Component:
    """Return the scalar product ``a . b``."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector, b: Vector) -> Vector:
    """Return the vector product ``a x b``."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def scale(a: Vector, factor: Component) -> Vector:
    """Return the vector times a factor."""
    return a[0] * factor, a[1] * factor, a[2] * factor


def add(a: Vector, b: Vector) -> Vector:
    """Return ``a + b``."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def subtract(a: Vector, b: Vector) -> Vector:
    """Return ``a - b``."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def onward(a: Vector, factor: Component, b: Vector) -> Vector:
    """Return ``a + factor b``."""
    return a[0] + factor * b[0], a[1] + factor * b[1], a[2] + factor * b[2]


def combination(p: Component, a: Vector, q: Component, b: Vector) -> Vector:
    """Return ``p a + q b``."""
    return p * a[0] + q * b[0], p * a[1] + q * b[1], p * a[2] + q * b[2]


def norm(ops: Operations, a: Vector) -> Component:
    """Return the length of a vector."""
    return ops.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])


def normalised(ops: Operations, a: Vector) -> Vector:
    """Return the unit vector in the direction of a vector; 0 of a zero vector."""
    return scale(a, 1.0 / (norm(ops, a) + TINY))


def distance_between(ops: Operations, a: Vector, b: Vector) -> Component:
    """Return the distance between two points."""
    x, y, z = a[0] - b[0], a[1] - b[1], a[2] - b[2]
    return ops.sqrt(x * x + y * y + z * z)


def relative_to(point: Vector, origin: Vector, unit: float) -> Vector:
    """Return a point's coordinates relative to an origin, in a unit of length: ``(p - o) / unit``."""
    return (point[0] - origin[0]) / unit, (point[1] - origin[1]) / unit, (point[2] - origin[2]) / unit


def choose_parts(ops: Operations, condition: Condition, yes: Parts, no: Parts) -> Parts:
    """Return one of two vectors, or of two quaternions: ``yes`` in the batch items where the condition holds."""
    return cast("Parts", tuple(ops.choose(condition, yes, no)))


def choose_each(ops: Operations, condition: Condition, yes: Sequence[Parts], no: Sequence[Parts]) -> list[Parts]:
    """Return one of two vectors, or quaternions, for each pair of two rows of them, by one condition for all pairs."""
    return [choose_parts(ops, condition, a, b) for a, b in zip(yes, no, strict=True)]


def gather_parts(ops: Operations, items: Selection, parts: Parts) -> Parts:
    """Return a vector, a quaternion or a tuple of components in the selected batch items only; one pose stays."""
    return cast("Parts", tuple(ops.gather(items, parts)))


def scatter_vectors(
    ops: Operations, items: Selection, into: Sequence[Vector], values: Sequence[Vector]
) -> list[Vector]:
    """Return vectors with gathered ones in the batch items that these were gathered from (``Operations.scattered``)."""
    return vectors_of(ops.scattered(items, chain.from_iterable(into), [*chain.from_iterable(values)]))


def first_direction(ops: Operations, candidates: Sequence[Vector]) -> Vector:
    """Return, as a unit vector, the first candidate that is longer than ``NO_DIRECTION``, in each batch item.

    Where none of the others is that long the last candidate is taken, however short: it must not be zero.
    """
    x, y, z = candidates[-1]
    size = norm(ops, (x, y, z))
    for candidate in reversed(candidates[:-1]):
        candidate_size = norm(ops, candidate)
        usable = candidate_size > NO_DIRECTION
        x, y, z, size = ops.choose(usable, [*candidate, candidate_size], [x, y, z, size])
    return x / size, y / size, z / size


def rejection(a: Vector, axis: Vector) -> Vector:
    """Return the part of a vector perpendicular to a unit axis u: ``a - (a . u) u``."""
    along = dot(a, axis)
    return a[0] - axis[0] * along, a[1] - axis[1] * along, a[2] - axis[2] * along


def angle_about(ops: Operations, axis: Vector, arm: Vector, aim: Vector) -> Component:
    """Return the angle about a unit axis that brings an arm nearest to an aim, from -pi to pi."""
    return ops.atan2(dot(axis, cross(arm, aim)), dot(rejection(arm, axis), rejection(aim, axis)))


def perpendicular(ops: Operations, axis: Vector, hints: list[Vector]) -> Vector:
    """Return the unit vector perpendicular to a unit axis that is nearest to the first hint not parallel to the axis.

    Two axes of the space are added to the hints: one of them at least is not parallel to the axis.
    """
    zero = 0.0 * axis[0]
    hints = [*hints, (zero + 1.0, zero, zero), (zero, zero + 1.0, zero)]
    return first_direction(ops, [rejection(hint, axis) for hint in hints])


def rotate_about(axis: Vector, cosine: Component, sine: Component, a: Vector) -> Vector:
    """Return a vector rotated about a unit axis u (Rodrigues): ``a cos + (u x a) sin + u (u . a)(1 - cos)``."""
    return onward(combination(cosine, a, sine, cross(axis, a)), dot(axis, a) * (1.0 - cosine), axis)
