# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Poses of a chain with a pole, by a pole shape of unit directions of its links, without their lengths.

Pole shapes of files saved by earlier versions are of this kind, whose chains keep the poses that they had, and those of
poses through which ``pole_shape`` has no family. With b
the bends of the pole shape and c the bends of the chain closed on one circle toward the pole
(``circular_arc.closed_bends``), the bends are

    s b                                     s from 0 to 1, from the straight chain to the pole shape,
    (1 - s) b + s c + f s (1 - s)^2 g       s from 0 to 1, from the pole shape to the closed chain,

with g the direction of steepest descent of the distance from root to tip at the pole shape, its largest component one
radian, and f the first of ``DESCENTS`` with which the distance falls all along both pieces, or 0.

All joints bend toward the pole together, and g bends a knee that lies behind the line from hip to toe backward: such a
shape was stored with a pole angle of half a turn. ``pole_shape`` has the poses of pole shapes with lengths.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from ..math.operations import ARRAY, SCALAR, TINY, Component, Condition, Operations, ScalarVector, Vector, quiet
from ..math.quaternions import Quaternion, conjugate, from_to, multiply, rotate
from ..math.vectors import cross, first_direction, norm
from ..problem import PoleShape
from .bends import FIRST_AXIS, THIRD_AXIS, ScalarBends, bends_of, lay_bends, rotation_of_bend, rotation_to_line
from .circular_arc import closed_bends
from .false_position import false_position

LEAST_DISTANCE = 1e-6
"""Smallest distance from root to tip, over the chain's length: a tip at the root is in no direction from it."""

SAMPLES = 200
"""Poses of each piece whose distances ``_descent_factor`` compares."""

DESCENTS = (3.0, 2.0, 1.0)
"""Factors f of the direction of steepest descent. At 3 joints of Rigify's leg rotate by up to 8 radians for a change of
the distance by one length of the chain, at 2 by 11 and at 1 by 18. Of 1348 chains of three to nine bones on Rigify's
metarigs the distance rises somewhere in 102 at 3, and in 8 with each of them."""

LENGTH_DIGITS = 4
"""Digits to which lengths are rounded to find f, which takes 3 ms."""


def directions_have_family(shape: PoleShape, lengths: Sequence[float]) -> bool:
    """Tell whether the distance from root to tip falls along both pieces of the family through a pole shape."""
    return _descent_factor(shape, tuple(round(length, LENGTH_DIGITS) for length in lengths)) is not None


@lru_cache(maxsize=256)
def _descent_factor(shape: PoleShape, lengths: tuple[float, ...]) -> float | None:
    """Return the first of ``DESCENTS`` with which the distance falls along both pieces; None with none."""
    share = np.linspace(0.0, 1.0, SAMPLES + 1)
    for factor in DESCENTS:
        path = _path_with(shape, lengths, factor)
        with quiet():
            distances = [_distance(ARRAY, path, share, share > first) for first in (1.0, -1.0)]
        if all(bool((np.diff(each) < 0.0).all()) for each in distances):
            return factor
    return None


def pose_in_directions(
    ops: Operations, shape: PoleShape, lengths: Sequence[float], distance: Component
) -> list[Vector]:
    """Return the joints of the pose of a family whose tip is at a distance from the root.

    Args:
        ops: operations of the components.
        shape: pole shape of a chain of three links or more.
        lengths: of the links, adding up to one.
        distance: from the root to the target, between the shortest and the longest reach.

    Returns:
        the joints in the axes of the pole: along the line root-target, toward the pole, across both; root first.
    """
    distance = ops.maximum(distance, LEAST_DISTANCE)
    zero = 0.0 * distance
    factor = _descent_factor(shape, tuple(round(length, LENGTH_DIGITS) for length in lengths))
    path = _path_with(shape, tuple(lengths), factor or 0.0)
    at_shape = _distance(ops, path, zero + 1.0, zero > 1.0)
    is_beyond = at_shape > distance
    errors = ops.where(is_beyond, at_shape, 1.0) - distance, ops.where(is_beyond, 0.0, at_shape) - distance
    share = false_position(ops, lambda x: _distance(ops, path, x, is_beyond) - distance, (zero, zero + 1.0), errors)
    joints = _joints(ops, path, share, is_beyond)
    rotation = rotation_to_line(ops, joints[-1])
    return [rotate(rotation, joint) for joint in joints]


class _Path(NamedTuple):
    """The two pieces of a family: at every inner joint b, f g and c, in radians."""

    lengths: tuple[float, ...]
    bends: ScalarBends
    descent: ScalarBends
    closed: tuple[float, ...]


@lru_cache(maxsize=256)
def _path_with(shape: PoleShape, lengths: tuple[float, ...], factor: float) -> _Path:
    """Return the pieces of the family through a pole shape, with a factor f."""
    bends, descent = _bends_and_descent(shape, lengths)
    return _Path(lengths, bends, [(factor * y, factor * z) for y, z in descent], closed_bends(lengths))


def _distance(ops: Operations, path: _Path, share: Component, is_beyond: Condition) -> Component:
    """Return the distance from root to tip at a share, 0 to 1, of the piece beyond the pole shape or before it."""
    return norm(ops, _joints(ops, path, share, is_beyond)[-1])


def _joints(ops: Operations, path: _Path, share: Component, is_beyond: Condition) -> list[Vector]:
    """Return the joints at a share of a piece, in axes of which the first one is along the first link."""
    rest = 1.0 - share
    of_shape, of_closed = ops.where(is_beyond, rest, share), ops.where(is_beyond, share, 0.0 * share)
    of_descent = of_closed * rest * rest
    bends = [
        (of_shape * y - of_closed * arc + of_descent * down_y, of_shape * z + of_descent * down_z)
        for (y, z), (down_y, down_z), arc in zip(path.bends, path.descent, path.closed, strict=True)
    ]
    return lay_bends(ops, path.lengths, bends)[0]


def _bends_and_descent(shape: PoleShape, lengths: tuple[float, ...]) -> tuple[ScalarBends, ScalarBends]:
    """Return the bends of a pole shape at every inner joint, and the direction of steepest descent of the distance.

    A rotation w of all that follows a joint changes the distance by ``w . (r x u)``, with r from the joint to the tip
    and u the direction of the tip from the root. That of a bend (y, z) is ``y c - z b`` to first order, with b and c
    the second and third axis of the frame before the joint.
    """
    joints = [*accumulate(zip(shape, lengths, strict=True), _next_joint, initial=(0.0, 0.0, 0.0))]
    tip = joints[-1]
    along = first_direction(SCALAR, [tip, shape[0]])
    frame: Quaternion = from_to(SCALAR, FIRST_AXIS, shape[0], THIRD_AXIS)
    bends, descent = bends_of(shape), []
    for bend, joint in zip(bends, joints[1:], strict=False):
        moment = cross((tip[0] - joint[0], tip[1] - joint[1], tip[2] - joint[2]), along)
        _, to_side, to_across = rotate(conjugate(frame), moment)
        descent.append((-float(to_across), float(to_side)))
        frame = multiply(frame, rotation_of_bend(SCALAR, bend))
    most = max(abs(part) for each in descent for part in each) + TINY
    return bends, [(y / most, z / most) for y, z in descent]


def _next_joint(joint: ScalarVector, link: tuple[ScalarVector, float]) -> ScalarVector:
    """Return the joint at the end of a link, given its direction and its length."""
    (px, py, pz), ((x, y, z), length) = joint, link
    return px + length * x, py + length * y, pz + length * z
