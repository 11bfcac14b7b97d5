# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bends: a chain's pose without its root's position and without its rotation as a whole, two components a joint.

A bend (y, z) is the angle a (radians) from a link to the next one times the unit direction across the link to which the
next link deviates: the shortest rotation between them has the rotation vector ``(1, 0, 0) x (0, y, z) = (0, -z, y)``.
Its axes are those of the first link, which is along the first axis, transported by these rotations from link to link.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from math import asin, atan2, hypot, pi, sin

from ..math.operations import SCALAR, TINY, Component, Operations, ScalarVector, Vector
from ..math.quaternions import Quaternion, conjugate, from_to, identity_of, multiply, rotate
from ..problem import PoleShape

Bend = tuple[Component, Component]
"""(y, z) of a bend, radians: toward the second and toward the third axis."""

ScalarBends = list[tuple[float, float]]
"""Bends of one pose, at every inner joint."""

HALVINGS = 54
"""Bisections of the longest link's half angle: pi / 2^54 is 2e-16, the rounding of a double."""

FIRST_AXIS: ScalarVector = (1.0, 0.0, 0.0)
THIRD_AXIS: ScalarVector = (0.0, 0.0, 1.0)


def bends_of(links: PoleShape) -> ScalarBends:
    """Return the bends of a chain with given links, of any lengths."""
    frame: Quaternion = from_to(SCALAR, FIRST_AXIS, links[0], THIRD_AXIS)
    bends = []
    for link in links[1:]:
        x, y, z = rotate(conjugate(frame), link)
        across = hypot(y, z)
        share = atan2(across, x) / (across + TINY)
        bend = (float(share * y), float(share * z)) if across > 0.0 else (pi if x < 0.0 else 0.0, 0.0)
        frame = multiply(frame, rotation_of_bend(SCALAR, bend))
        bends.append(bend)
    return bends


def lay_bends(
    ops: Operations, lengths: Sequence[float], bends: Sequence[Bend]
) -> tuple[list[Vector], list[Quaternion]]:
    """Return the joints of a chain with given bends, the root at the origin, and the axes before every bend."""
    zero = 0.0 * bends[0][0]
    px, py, pz = lengths[0] + zero, zero, zero
    joints: list[Vector] = [(zero, zero, zero), (px, py, pz)]
    frames: list[Quaternion] = [identity_of(zero)]
    for length, bend in zip(lengths[1:], bends, strict=True):
        frame = multiply(frames[-1], rotation_of_bend(ops, bend))
        dx, dy, dz = rotate(frame, FIRST_AXIS)
        px, py, pz = px + length * dx, py + length * dy, pz + length * dz
        joints.append((px, py, pz))
        frames.append(frame)
    return joints, frames


def rotation_to_line(ops: Operations, tip: Vector) -> Quaternion:
    """Return the shortest rotation that takes the tip onto the first axis, about the third one where it is opposite."""
    zero = 0.0 * tip[0]
    along, across = ((x + zero, y + zero, z + zero) for x, y, z in (FIRST_AXIS, THIRD_AXIS))
    return from_to(ops, tip, along, across)


def rotation_of_bend(ops: Operations, bend: Bend) -> Quaternion:
    """Return the rotation of a bend: ``(cos(a / 2), sin(a / 2) (0, -z, y) / a)`` for ``(y, z)`` of length a."""
    y, z = bend
    angle = ops.sqrt(y * y + z * z)
    sine = ops.sin(0.5 * angle) / (angle + TINY)
    return ops.cos(0.5 * angle), 0.0 * angle, -sine * z, sine * y


@lru_cache(maxsize=256)
def closed_bends(lengths: tuple[float, ...]) -> tuple[float, ...]:
    """Return the bend angles (radians, at every inner joint) of the chain closed on one circle.

    With s = 1 / diameter a link of length l subtends half the angle ``h = asin(l s)`` at the circle's center, the
    longest link L perhaps ``pi - asin(L s)``, and a chain bends by ``h_j + h_j+1`` at the joint between links j and
    j + 1. The half angles of a closed chain add up to pi; L's is found by bisection. A chain whose longest link is
    longer than all others together can't close: the others are folded back along it.
    """
    longest = max(range(len(lengths)), key=lengths.__getitem__)

    def half_angles(half_angle: float) -> list[float]:
        share = sin(half_angle) / lengths[longest]
        return [half_angle if j == longest else asin(min(length * share, 1.0)) for j, length in enumerate(lengths)]

    low, high = 0.0, pi
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if sum(half_angles(middle)) < pi else (low, middle)
    return tuple(a + b for a, b in pairwise(half_angles(0.5 * (low + high))))
