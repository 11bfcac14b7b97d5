# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Poses of a chain within its limits as one continuous family in the distance from root to tip.

With q the swings (half-sines x and z, ``model.joint_limits``) of all bones but the first, whose twists stay as they are
at rest, and D(q) the distance from root to tip, the family is the path of steepest ascent and descent of D from rest:

    dq/ds = P grad D(q)  up to the largest D,    dq/ds = -P grad D(q)  down to the smallest D,

where P leaves out what would exceed a limit. D is monotonic along the path, so one pose belongs to every distance
between, and joints are continuous in it. The pose at rest belongs to the family, with bends to both sides and out of
any plane. The rotation of the first bone doesn't change D: it turns the tip toward the target.

Descent from rest can end early: the toes of a leg first move away from the hip as the knee bends, so that the steepest
descent bends the ankle alone and ends at the ankle's limit, at 0.88 of the leg's length. Descent from the pose of the
largest D ends at 0.23. Then the path is that descent alone.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from ..math.operations import SCALAR, Component, ScalarVector
from ..math.quaternions import ScalarQuaternion, conjugate, multiply, rotate
from ..math.vectors import cross, dot, norm
from ..model.constrained_chain import ConstrainedChain, Placed, place
from ..model.joint_limits import LARGEST_HALF_SINE, JointLimits, clamp, rotation_of
from .false_position import false_position

STEP, LEAST_STEP = 0.04, 1e-5
"""Angle (radians) of a step along the path, of all joints together: the largest, and the one at which it ends."""

MOST_PATH_STEPS = 2000
"""Bound on the steps of one path; 50 to 700 are usual."""

PROBE = 1e-4
"""Length of the trial step by whose projection onto the limits the direction of a step is known."""

PUSH = 1e-3
"""Half-sine by which the joints of a straight chain are bent to begin its descent: there grad D = 0."""

LEAST_WAY = 1e-4
"""Share of a trial step that the limits leave, below which a path ends."""

LEAST_GRADIENT = 1e-4
"""Length of grad D, over the chain's length, below which a chain counts as straight."""

NEARER = 0.02
"""Distance by which a path must come nearer to the root than an earlier candidate to be chosen instead of it."""

Coordinates = tuple[float, float, float]
"""A ``SwingTwist`` of one pose."""

Shape = list[Coordinates]
"""Joint coordinates of all bones but the first."""

Path = list[tuple[float, Shape]]
"""Distances from root to tip, with the shapes."""


@dataclass(frozen=True)
class ShapeFamily:
    """Poses in the order of their distances from root to tip, in units of the chain's length."""

    chain: ConstrainedChain
    distances: list[float]
    shapes: list[Shape]

    def at(self, distance: float) -> list[ScalarQuaternion]:
        """Return the own rotations of all bones but the first at a distance, or at the nearest one of the family.

        Between two shapes of the path joint coordinates are mixed, with the share at which the distance is met, found
        by false position. Linear interpolation alone is off by up to 2e-4 of the chain's length.
        """
        distance = min(max(distance, self.distances[0]), self.distances[-1])
        number = bisect_left(self.distances, distance)
        before = max(number - 1, 0)
        near, far = self.shapes[before], self.shapes[number]

        def shape_at(share: Component) -> Shape:
            return [_mixed(a, b, float(share)) for a, b in zip(far, near, strict=True)]

        def error_at(share: Component) -> Component:
            return _distance(_placed(self.chain, shape_at(share))) - distance

        errors = self.distances[number] - distance, self.distances[before] - distance
        return [_rotation(s) for s in shape_at(false_position(SCALAR, error_at, (0.0, 1.0), errors))]


def _placed(chain: ConstrainedChain, shape: Shape) -> Placed:
    """Return the joints and frames of a shape, the first bone at rest."""
    return place(SCALAR, chain, [(0.0, 0.0, 0.0), *shape])


def _distance(placed: Placed) -> float:
    """Return the distance from root to tip."""
    return float(norm(SCALAR, placed.joints[-1]))


def _rotation(s: Coordinates) -> ScalarQuaternion:
    w, x, y, z = rotation_of(SCALAR, s)
    return float(w), float(x), float(y), float(z)


def _mixed(a: Coordinates, b: Coordinates, share: float) -> Coordinates:
    x, y, z = (p + share * (q - p) for p, q in zip(a, b, strict=True))
    return x, y, z


def shape_family(chain: ConstrainedChain) -> ShapeFamily:
    """Return the family of a chain of two bones or more, whose length is one.

    A straight chain bends to one side of its first bone: of +x, -x, +z and -z, in this order, a later one is taken only
    if it comes nearer to the root by ``NEARER``, as it does where limits stop the earlier one.
    """
    rest = [_within(limits, (0.0, 0.0, 0.0)) for limits in chain.limits[1:]]
    rising = _path(chain, rest, 1.0)
    falling = _descent(chain, rest)
    from_top = _descent(chain, rising[-1][1])
    through_rest = [*reversed(falling), *rising[1:]]
    path = through_rest if falling[-1][0] < from_top[-1][0] + NEARER else from_top[::-1]
    return ShapeFamily(chain, [distance for distance, _ in path], [shape for _, shape in path])


def _within(limits: JointLimits, s: Coordinates) -> Coordinates:
    """Return joint coordinates clamped to limits, with a swing of less than half a turn."""
    x, twist, z = (float(part) for part in (s if limits.is_free else clamp(SCALAR, limits, s)))
    share = min(LARGEST_HALF_SINE / (math.hypot(x, z) + 1e-30), 1.0)
    return x * share, twist, z * share


def _descent(chain: ConstrainedChain, shape: Shape) -> Path:
    """Return the path of descent from a shape; from a straight one the path that comes nearest to the root."""
    distance, gradient = _gradient(chain, shape)
    if math.hypot(*(part for pair in gradient for part in pair)) > LEAST_GRADIENT:
        return _path(chain, shape, -1.0)
    best = [(distance, shape)]
    for side in ((1.0, 0.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.0, -1.0)):
        path = _path(chain, _bent(chain, shape, side), -1.0)
        if path[-1][0] < best[-1][0] - NEARER:
            best = [(distance, shape), *path] if path[0][0] < distance else path
    return best


def _bent(chain: ConstrainedChain, shape: Shape, side: ScalarVector) -> Shape:
    """Return a straight shape with every joint bent by ``PUSH`` about one axis: an arc to a side."""
    placed = _placed(chain, shape)
    axis = cross(side, placed.joints[-1])
    bent = []
    for limits, parent, (x, twist, z) in zip(chain.limits[1:], placed.parents[1:], shape, strict=True):
        about_x, _, about_z = rotate(conjugate(parent), axis)
        bent.append(_within(limits, (x + PUSH * float(about_x), twist, z + PUSH * float(about_z))))
    return bent


def _path(chain: ConstrainedChain, shape: Shape, sign: float) -> Path:
    """Return distances and shapes along the steepest ascent (sign 1) or descent (-1) of the distance."""
    distance, gradient = _gradient(chain, shape)
    path = [(distance, shape)]
    for _ in range(MOST_PATH_STEPS):
        size = math.hypot(*(part for pair in gradient for part in pair)) + 1e-30
        probed = _moved(chain, shape, gradient, sign * PROBE / size)
        way = [((x - p) / PROBE, (z - q) / PROBE) for (x, _, z), (p, _, q) in zip(probed, shape, strict=True)]
        length = math.hypot(*(part for pair in way for part in pair))
        if length < LEAST_WAY:
            break
        # Half-sines change by half the cosine of half a swing for every radian of the swing.
        per_radian = 0.5 * min(math.sqrt(max(1.0 - x * x - z * z, 0.0)) for x, _, z in shape)
        step = STEP
        while step > LEAST_STEP:
            moved = _moved(chain, shape, way, step * per_radian / length)
            farther, gradient = _gradient(chain, moved)
            if sign * (farther - distance) > 1e-9:
                break
            step *= 0.5
        else:
            break
        distance, shape = farther, moved
        path.append((distance, shape))
    return path


def _moved(chain: ConstrainedChain, shape: Shape, way: Sequence[tuple[float, float]], step: float) -> Shape:
    """Return a shape with the half-sines changed by a multiple of a direction, within limits."""
    return [
        _within(limits, (x + step * a, twist, z + step * b))
        for limits, (x, twist, z), (a, b) in zip(chain.limits[1:], shape, way, strict=True)
    ]


def _gradient(chain: ConstrainedChain, shape: Shape) -> tuple[float, list[tuple[float, float]]]:
    """Return D and its derivatives by the half-sines x and z of every bone but the first.

    A change dq of a bone's own rotation q turns what follows about ``w = 2 vec(dq q^-1)`` in the parent's frame, and
    ``dD = w . (arm x h)`` with the arm from the bone's head to the tip, and h the direction from the root to the tip.
    """
    placed = _placed(chain, shape)
    tip, distance = placed.joints[-1], _distance(placed)
    x, y, z = (part / (distance + 1e-30) for part in tip)
    gradient = []
    for parent, joint, s in zip(placed.parents[1:], placed.joints[1:-1], shape, strict=True):
        arm = (tip[0] - joint[0], tip[1] - joint[1], tip[2] - joint[2])
        moment = rotate(conjugate(parent), cross(arm, (x, y, z)))
        back = conjugate(_rotation(s))
        by_x, by_z = (2.0 * float(dot(multiply(dq, back)[1:], moment)) for dq in _derivatives(s))
        gradient.append((by_x, by_z))
    return distance, gradient


def _derivatives(s: Coordinates) -> tuple[ScalarQuaternion, ScalarQuaternion]:
    """Return the derivatives of ``rotation_of`` by the half-sines x and z."""
    x, twist, z = s
    cosine, sine = math.cos(0.5 * twist), math.sin(0.5 * twist)
    w = math.sqrt(max(1.0 - x * x - z * z, 1e-12))
    return (
        (-x / w * cosine, cosine, -x / w * sine, sine),
        (-z / w * cosine, -sine, -z / w * sine, cosine),
    )
