# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Points and directions over components: floats for one pose, arrays (B,) for B poses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, TypeVar

from .operations import Component, Components, Condition, Operations, Selection, Vector

Joints: TypeAlias = tuple[Components, Components, Components]
"""x, y and z of the joints of a chain, root first."""

Parts = TypeVar("Parts", bound=tuple[Component, ...])
"""A tuple of components: a ``Vector``, a ``Quaternion`` or another of fixed length."""


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


def norm(ops: Operations, a: Vector) -> Component:
    """Return the length of a vector."""
    return ops.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])


def distance_between(ops: Operations, a: Vector, b: Vector) -> Component:
    """Return the distance between two points."""
    x, y, z = a[0] - b[0], a[1] - b[1], a[2] - b[2]
    return ops.sqrt(x * x + y * y + z * z)


def choose_parts(ops: Operations, condition: Condition, yes: Parts, no: Parts) -> Parts:
    """Return one of two vectors, or of two quaternions: ``yes`` in the batch items where the condition holds."""
    chosen: Any = tuple(ops.choose(condition, yes, no))
    return chosen  # type: ignore[no-any-return]  # as many components as both have, which tuple() doesn't say


def gather_parts(ops: Operations, items: Selection, parts: Parts) -> Parts:
    """Return a vector, a quaternion or a tuple of components in the selected batch items only; one pose stays."""
    gathered: Any = tuple(ops.gather(items, parts))
    return gathered  # type: ignore[no-any-return]  # as many components as there are, which tuple() doesn't say


def first_direction(ops: Operations, candidates: list[Vector]) -> Vector:
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


def perpendicular(ops: Operations, axis: Vector, hints: list[Vector]) -> Vector:
    """Return the unit vector perpendicular to a unit axis nearest to the first hint that isn't parallel to it.

    The world's axes are the last hints, so there is always one.
    """
    zero = 0.0 * axis[0]
    hints = [*hints, (zero + 1.0, zero, zero), (zero, zero + 1.0, zero)]
    return first_direction(ops, [rejection(hint, axis) for hint in hints])


def turn_about(axis: Vector, cosine: Component, sine: Component, a: Vector) -> Vector:
    """Return the vector turned about a unit axis, the angle given by its cosine and sine (Rodrigues)."""
    c = cross(axis, a)
    along = dot(axis, a) * (1.0 - cosine)
    return (
        a[0] * cosine + c[0] * sine + axis[0] * along,
        a[1] * cosine + c[1] * sine + axis[1] * along,
        a[2] * cosine + c[2] * sine + axis[2] * along,
    )
