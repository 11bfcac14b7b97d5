# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Poses of a chain with a pole that bends to both sides or in several planes: one continuous family in the reach.

The planar family (``planar_pose``) has no pose near a leg down to its toe, whose knee and ankle bend to opposite sides,
nor near a clavicle with an arm. The family here passes through one given pose, the pole shape. With b the bends of the
pole shape, a vector across the link for every inner joint, and c the bends of the chain closed on one circle toward the
pole (``circular_arc.closed_bends``), its bends are

    s b                                     s from 0 to 1, from the straight chain to the pole shape,
    (1 - s) b + s c + f s (1 - s)^2 g       s from 0 to 1, from the pole shape to the closed chain,

with g the direction of steepest descent of the distance from root to tip at the pole shape, its largest component one
radian, and f the first of ``DESCENTS`` with which the distance falls all along the piece. A bend is the rotation
vector, in radians, of the shortest rotation from a link to the next one, in axes that these rotations transport along
the chain. Where the distance falls along both pieces (``has_family``), one pose belongs to every distance, and joints
are continuous in it. The pose depends on the distance alone, not on the pose before.

Without g the distance rises at first in 3 of 17 shapes (Rigify's limbs and random ones), and falls so slowly in others
that a joint of Rigify's leg rotates by 55 radians for a change of the distance by one length of the chain; with it by
8.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from math import atan2, hypot, pi
from typing import NamedTuple

import numpy as np

from ..goals.pole import pole_axes, rotate_pole
from ..math.operations import ARRAY, SCALAR, TINY, Component, Condition, Operations, ScalarVector, Vector, quiet
from ..math.quaternions import Quaternion, conjugate, from_to, multiply, rotate
from ..math.vectors import cross, dot, first_direction, norm
from ..problem import PoleShape, Pose
from .circular_arc import closed_bends
from .exact_finish import CLOSED_ERROR

Bend = tuple[Component, Component]
"""Components of a bend toward the second and the third one of the axes in which it is."""

ScalarBends = list[tuple[float, float]]
"""Bends of one pose, at every inner joint."""

POLE_FALSE_POSITIONS = 60
"""Bound on the steps of false position, every third of which is a bisection: 8 to 14 are usual."""

LEAST_DISTANCE = 1e-6
"""Smallest distance from root to tip, over the chain's length: a tip at the root is in no direction from it."""

SAMPLES = 200
"""Poses of each piece whose distances ``has_family`` compares."""

DESCENTS = (3.0, 2.0, 1.0)
"""Factors f of the direction of steepest descent. At 3 joints of Rigify's leg rotate by up to 8 radians for a change of
the distance by one length of the chain, at 2 by 11 and at 1 by 18. Of 1348 chains of three to nine bones on Rigify's
metarigs the distance rises somewhere in 102 at 3, and in 8 with each of them."""

LENGTH_DIGITS = 4
"""Digits to which lengths are rounded to find f, which takes 3 ms for each set of lengths."""

_ALONG: ScalarVector = (1.0, 0.0, 0.0)
_ACROSS: ScalarVector = (0.0, 0.0, 1.0)


def shape_of(pose: Pose, pole: ScalarVector, pole_angle: float) -> PoleShape:
    """Return the pole shape of a pose: the directions of its links in the axes of its pole.

    Args:
        pose: of a plain chain, without batch axes.
        pole: in the space of the pose.
        pole_angle: radians.
    """
    points = [tuple(point) for point in (pose.positions - pose.positions[0]).tolist()]
    rx, ry, rz = pose.positions[0].tolist()
    chord = first_direction(SCALAR, [points[-1], points[1]])
    turned = rotate_pole(SCALAR, (pole[0] - rx, pole[1] - ry, pole[2] - rz), chord, pole_angle)
    along, side, across = pole_axes(SCALAR, chord, turned)
    shape = []
    for (ax, ay, az), (bx, by, bz) in pairwise(points):
        link = (bx - ax, by - ay, bz - az)
        length = norm(SCALAR, link)
        x, y, z = (float(dot(link, axis) / length) for axis in (along, side, across))
        shape.append((x, y, z))
    return tuple(shape)


def has_family(shape: PoleShape, lengths: Sequence[float]) -> bool:
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


def shaped_pose(ops: Operations, shape: PoleShape, lengths: Sequence[float], distance: Component) -> list[Vector]:
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
    low, high = zero, zero + 1.0
    far, near = ops.where(is_beyond, at_shape, 1.0) - distance, ops.where(is_beyond, 0.0, at_shape) - distance
    # The share at which a piece begins or ends is exact: a pose that is the pole shape stays as it is.
    share = ops.where(is_beyond | (far <= CLOSED_ERROR), low, high)
    for step in range(POLE_FALSE_POSITIONS):
        error = _distance(ops, path, share, is_beyond) - distance
        is_far = error > CLOSED_ERROR
        is_open = is_far | (error < -CLOSED_ERROR)
        if not ops.any(is_open):
            break
        low, far = ops.choose(is_far, [share, error], [low, far])
        high, near = ops.choose(is_far, [high, near], [share, error])
        part = 0.5 + zero if step % 3 == 2 else far / (far - near + TINY)
        share = ops.where(is_open, low + (high - low) * part, share)
    joints = _joints(ops, path, share, is_beyond)
    along, across = ((x + zero, y + zero, z + zero) for x, y, z in (_ALONG, _ACROSS))
    turn = from_to(ops, joints[-1], along, across)
    return [rotate(turn, joint) for joint in joints]


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
    px, py, pz = path.lengths[0] + 0.0 * share, 0.0 * share, 0.0 * share
    joints: list[Vector] = [(py, py, pz), (px, py, pz)]
    frame: Quaternion | None = None
    rows = zip(path.lengths[1:], path.bends, path.descent, path.closed, strict=True)
    for length, (toward, across), (down_toward, down_across), arc in rows:
        y = of_shape * toward - of_closed * arc + of_descent * down_toward
        bend = _rotation(ops, (y, of_shape * across + of_descent * down_across))
        frame = bend if frame is None else multiply(frame, bend)
        dx, dy, dz = rotate(frame, _ALONG)
        px, py, pz = px + length * dx, py + length * dy, pz + length * dz
        joints.append((px, py, pz))
    return joints


def _bends_and_descent(shape: PoleShape, lengths: tuple[float, ...]) -> tuple[ScalarBends, ScalarBends]:
    """Return the bends of a pole shape at every inner joint, and the direction of steepest descent of the distance.

    A rotation w of all that follows a joint changes the distance by ``w . (r x u)``, with r from the joint to the tip
    and u the direction of the tip from the root. That of a bend (y, z) is ``y c - z b`` to first order, with b and c
    the second and third axis of the frame before the joint.
    """
    joints = [*accumulate(zip(shape, lengths, strict=True), _next_joint, initial=(0.0, 0.0, 0.0))]
    tip = joints[-1]
    along = first_direction(SCALAR, [tip, shape[0]])
    frame: Quaternion = from_to(SCALAR, _ALONG, shape[0], _ACROSS)
    bends, descent = [], []
    for link, joint in zip(shape[1:], joints[1:], strict=False):
        moment = cross((tip[0] - joint[0], tip[1] - joint[1], tip[2] - joint[2]), along)
        _, to_side, to_across = rotate(conjugate(frame), moment)
        descent.append((-float(to_across), float(to_side)))
        x, y, z = rotate(conjugate(frame), link)
        across = hypot(y, z)
        share = atan2(across, x) / (across + TINY)
        bend = (float(share * y), float(share * z)) if across > 0.0 else (pi if x < 0.0 else 0.0, 0.0)
        frame = multiply(frame, _rotation(SCALAR, bend))
        bends.append(bend)
    most = max(abs(part) for each in descent for part in each) + TINY
    return bends, [(y / most, z / most) for y, z in descent]


def _next_joint(joint: ScalarVector, link: tuple[ScalarVector, float]) -> ScalarVector:
    """Return the joint at the end of a link, given its direction and its length."""
    (px, py, pz), ((x, y, z), length) = joint, link
    return px + length * x, py + length * y, pz + length * z


def _rotation(ops: Operations, bend: Bend) -> Quaternion:
    """Return the rotation of a bend: ``(cos(a / 2), sin(a / 2) (0, -z, y) / a)`` for ``(y, z)`` of length a."""
    y, z = bend
    angle = ops.sqrt(y * y + z * z)
    sine = ops.sin(0.5 * angle) / (angle + TINY)
    return ops.cos(0.5 * angle), 0.0 * angle, -sine * z, sine * y
