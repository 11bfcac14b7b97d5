# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Joints of trees whose coordinates are Euler angles, and the coordinates of any joint.

With the order 'XYZ' a bone's own rotation is ``q = q_Z q_Y q_X``: it rotates about its x axis first, all about the axes
of its rest frame, as in Blender's rotation modes. The joint coordinates are the angles about x, y and z (radians), and
limits are a range for each: a locked angle, or the range of a Limit Rotation constraint, bounds one coordinate. The
range of one Euler angle is no range of a swing or of a twist.

A rotation has two sets of angles. With the order ijk they are (a, b, c) and (a + pi, pi - b, c + pi); the one that
needs less change to be within the limits counts.
"""

import math

import numpy as np

from ..math.operations import SCALAR, Array, ScalarVector
from ..math.quaternion_arrays import from_values, to_matrices
from ..math.quaternions import Quaternion
from .joint_limits import JointLimits, SwingTwist, clamp, rotation_of, swing_twist

_NO_COSINE = 1e-6
"""Cosine of the second angle below which the first and the third rotate about one line (gimbal lock)."""


def coordinates_within(limits: JointLimits, q: Quaternion) -> SwingTwist:
    """Return the joint coordinates, within limits, of a bone's own rotation (floats)."""
    if limits.order:
        axis = "XYZ".index(limits.order[2])
        third = min(max(0.0, limits.lower[axis]), limits.upper[axis])
        sets = (_clamped(limits, angles) for angles in euler_angles(limits.order, q, third))
        return min(sets, key=lambda each: each[1])[0]
    return clamp(SCALAR, limits, swing_twist(SCALAR, q))


def own_rotation(limits: JointLimits, coordinates: SwingTwist) -> Quaternion:
    """Return the rotation of joint coordinates (floats): the inverse of ``coordinates_within``, within limits."""
    if limits.order:
        w, x, y, z = from_values(limits.order, np.array(coordinates)).tolist()
        return w, x, y, z
    return rotation_of(SCALAR, coordinates)


def euler_angles(order: str, q: Quaternion, third: float = 0.0) -> tuple[ScalarVector, ScalarVector]:
    """Return the two sets of angles about x, y and z of a rotation.

    Args:
        order: of the axes.
        q: the rotation.
        third: the third angle of the first set in gimbal lock, where the second one is 90 or -90 degrees.
    """
    matrix = to_matrices(np.array(q, float)).tolist()
    i, j, k = ("XYZ".index(axis) for axis in order)
    sign = 1.0 if (j - i) % 3 == 1 else -1.0
    second = math.atan2(-sign * matrix[k][i], math.hypot(matrix[i][i], matrix[j][i]))
    if math.cos(second) > _NO_COSINE:
        first = math.atan2(sign * matrix[k][j], matrix[k][k])
        third = math.atan2(sign * matrix[j][i], matrix[i][i])
    else:
        first = math.atan2(-sign * matrix[j][k], matrix[j][j]) + sign * math.copysign(third, third * second)
    places = [(i, j, k).index(axis) for axis in range(3)]
    one, other = (first, second, third), (first + math.pi, math.pi - second, third + math.pi)
    (ax, ay, az), (bx, by, bz) = ([angles[place] for place in places] for angles in (one, other))
    return (ax, ay, az), (bx, by, bz)


def euler_axes(order: str, angles: Array) -> Array:
    """Return the axes (..., 3, 3), columns, about which the angles (..., 3) rotate a bone, in its rest frame.

    With ``q = q_k q_j q_i`` that of the angle about k is the rest frame's k axis, that of j the j axis of ``q_k`` and
    that of i the i axis of ``q_k q_j``: each angle rotates the axes of those before it in the order.
    """
    first, second, third = ("XYZ".index(axis) for axis in order)
    found, outer = np.zeros((*angles.shape, 3)), np.zeros(angles.shape)
    found[..., third, third] = 1.0
    for axis, after in ((second, third), (first, second)):
        outer[..., after] = angles[..., after]
        found[..., axis] = to_matrices(from_values(order, outer))[..., axis]
    return found


def _clamped(limits: JointLimits, angles: ScalarVector) -> tuple[SwingTwist, float]:
    """Return angles within limits, each with the full turns that bring it nearest, and how far they have changed."""
    found, changed = [], 0.0
    for angle, lower, upper in zip(angles, limits.lower, limits.upper, strict=True):
        middle = 0.5 * (lower + upper) if math.isfinite(upper - lower) else 0.0
        near = middle + math.remainder(angle - middle, math.tau)
        found.append(min(max(near, lower), upper))
        changed += abs(found[-1] - near)
    x, y, z = found
    return (x, y, z), changed
