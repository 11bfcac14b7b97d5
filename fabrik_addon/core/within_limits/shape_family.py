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

import math
from bisect import bisect_left
from dataclasses import dataclass, replace

from ..math.false_position import false_position
from ..math.operations import SCALAR, Component, ScalarVector
from ..math.quaternions import ScalarQuaternion, conjugate, rotate
from ..math.vectors import cross, dot, first_direction, norm
from ..model.constrained_chain import ConstrainedChain, ConstrainedPose, place
from ..model.joint_limits import JointLimits, SwingTwist, clamp, rotation_of
from ..optimise.bounded_least_squares import jacobian_columns

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

Path = list[tuple[float, ConstrainedPose]]
"""Distances from root to tip, with the poses."""


@dataclass(frozen=True)
class ShapeFamily:
    """Poses in the order of their distances from root to tip, in units of the chain's length."""

    distances: list[float]
    poses: list[ConstrainedPose]

    def at(self, distance: float) -> list[ScalarQuaternion]:
        """Return the own rotations of all bones but the first at a distance, or at the nearest one of the family.

        Between two poses of the path joint coordinates are mixed, with the share at which the distance is met, found
        by false position. Linear interpolation alone is off by up to 2e-4 of the chain's length.
        """
        distance = min(max(distance, self.distances[0]), self.distances[-1])
        number = bisect_left(self.distances, distance)
        before = max(number - 1, 0)
        near, far = self.poses[before], self.poses[number]
        change = [near.coordinates[j][axis] - far.coordinates[j][axis] for j, axis in far.chain.free]

        def error_at(share: Component) -> Component:
            return _distance(far.moved(SCALAR, change, share)) - distance

        errors = self.distances[number] - distance, self.distances[before] - distance
        share = false_position(SCALAR, error_at, (0.0, 1.0), errors)
        return [_rotation(own) for own in far.moved(SCALAR, change, share).coordinates[1:]]


def _distance(pose: ConstrainedPose) -> float:
    """Return the distance from root to tip."""
    return float(norm(SCALAR, pose.tip))


def _rotation(own: SwingTwist) -> ScalarQuaternion:
    w, x, y, z = rotation_of(SCALAR, own)
    return float(w), float(x), float(y), float(z)


def shape_family(chain: ConstrainedChain) -> ShapeFamily:
    """Return the family of a chain of two bones or more, whose length is one.

    A straight chain bends to one side of its first bone: of +x, -x, +z and -z, in this order, a later one is taken only
    if it comes nearer to the root by ``NEARER``, as it does where limits stop the earlier one.
    """
    chain = replace(chain, limits=[_LOCKED, *map(_without_twist, chain.limits[1:])])
    rest = place(SCALAR, chain, [clamp(SCALAR, limits, (0.0, 0.0, 0.0)) for limits in chain.limits])
    rising = _path(rest, 1.0)
    falling = _descent(rest)
    from_top = _descent(rising[-1][1])
    through_rest = [*reversed(falling), *rising[1:]]
    path = through_rest if falling[-1][0] < from_top[-1][0] + NEARER else from_top[::-1]
    return ShapeFamily([distance for distance, _ in path], [pose for _, pose in path])


_LOCKED = JointLimits((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), is_ellipse=False)


def _without_twist(limits: JointLimits) -> JointLimits:
    """Return limits with the twist locked as at rest."""
    twist = float(clamp(SCALAR, limits, (0.0, 0.0, 0.0))[1])
    (lx, _, lz), (ux, _, uz) = limits.lower, limits.upper
    return replace(limits, lower=(lx, twist, lz), upper=(ux, twist, uz))


def _descent(pose: ConstrainedPose) -> Path:
    """Return the path of descent from a pose; from a straight one the path that comes nearest to the root."""
    if math.hypot(*_gradient(pose)) > LEAST_GRADIENT:
        return _path(pose, -1.0)
    best = [(_distance(pose), pose)]
    for side in ((1.0, 0.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.0, -1.0)):
        path = _path(_bent(pose, side), -1.0)
        if path[-1][0] < best[-1][0] - NEARER:
            best = [(_distance(pose), pose), *path] if path[0][0] < _distance(pose) else path
    return best


def _bent(pose: ConstrainedPose, side: ScalarVector) -> ConstrainedPose:
    """Return a straight pose with every joint bent by ``PUSH`` about one axis: an arc to a side."""
    axis = cross(side, pose.tip)
    return pose.moved(SCALAR, [PUSH * rotate(conjugate(pose.parents[j]), axis)[k] for j, k in pose.chain.free])


def _path(pose: ConstrainedPose, sign: float) -> Path:
    """Return distances and poses along the steepest ascent (sign 1) or descent (-1) of the distance."""
    distance, gradient = _distance(pose), _gradient(pose)
    path = [(distance, pose)]
    for _ in range(MOST_PATH_STEPS):
        probed = pose.moved(SCALAR, gradient, sign * PROBE / (math.hypot(*gradient) + 1e-30))
        free = pose.chain.free
        way = [float(probed.coordinates[j][k] - pose.coordinates[j][k]) / PROBE for j, k in free]
        length = math.hypot(*way)
        if length < LEAST_WAY:
            break
        # Half-sines change by half the cosine of half a swing for every radian of the swing.
        per_radian = 0.5 * min(math.sqrt(max(1.0 - x * x - z * z, 0.0)) for x, _, z in pose.coordinates[1:])
        step = STEP
        while step > LEAST_STEP:
            moved = pose.moved(SCALAR, way, step * per_radian / length)
            farther = _distance(moved)
            if sign * (farther - distance) > 1e-9:
                break
            step *= 0.5
        else:
            break
        distance, pose, gradient = farther, moved, _gradient(moved)
        path.append((distance, pose))
    return path


def _gradient(pose: ConstrainedPose) -> list[float]:
    """Return the derivatives of D by the free half-sines: ``column . h``, with h the direction from root to tip."""
    along = first_direction(SCALAR, [pose.tip, pose.joints[1]])
    return [float(dot(column, along)) for column in jacobian_columns(SCALAR, pose)]
