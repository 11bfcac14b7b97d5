# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a chain bends: the plane of root, target and pole, and the joints' turn toward the pole.

Sweeps that start in that plane stay in it, so all there is left to do after them is to bring joints that ended on the
far side of their neighbours' line over to the pole's side.
"""

from __future__ import annotations

import numpy as np

from ..math.operations import SCALAR, TINY, Array, Component, Components, Operations, Vector
from ..math.quaternions import Quaternion, from_to, multiply, rotate, x_axis
from ..math.vectors import PARALLEL, Joints, dot, first_direction, norm, perpendicular, rejection, rotate_about, scale
from ..problem import Pose

PASSES = 200
"""Bound on the passes of ``reflect_to_pole``; equal links need at most about as many as there are."""

STRAIGHT = 1e-5
"""Offset of a chain's joints from its line, over its length, that is single precision's: it is no bend."""

FLAT = 1e-13
"""Height over the line of the neighbours below which a joint is straight, and points nowhere."""


def turn_pole(ops: Operations, pole: Vector, along: Vector, angle: float) -> Vector:
    """Return the pole turned by the pole angle (radians) about the unit vector from the root to the target."""
    return rotate_about(along, ops.cos(0.0 * pole[0] + angle), ops.sin(0.0 * pole[0] + angle), pole)


def bend_direction(ops: Operations, joints: Joints, along: Vector) -> Vector:
    """Return how far, all inner joints together, a chain lies off a line through its root; zero when it doesn't.

    Where bends to opposite sides cancel out (an S), it is the joint farthest off that counts.
    """
    zero = 0.0 * along[0]
    together, farthest, farthest_size = (zero, zero, zero), (zero, zero, zero), zero
    for x, y, z in zip(*(component[1:-1] for component in joints), strict=True):
        offset = rejection((x, y, z), along)
        size = dot(offset, offset)
        together = (together[0] + offset[0], together[1] + offset[1], together[2] + offset[2])
        farther = size > farthest_size
        *farthest, farthest_size = ops.choose(farther, [*offset, size], [*farthest, farthest_size])
    cancelled = dot(together, together) < 1e-4 * farthest_size
    bx, by, bz = ops.choose(cancelled, farthest, together)
    return bx, by, bz


def swing_to(ops: Operations, joints: Joints, along: Vector, hint: Vector) -> Quaternion:
    """Return the shortest turn about the root that points the tip along a unit vector."""
    x, y, z = joints
    chord = first_direction(ops, [(x[-1], y[-1], z[-1]), (x[1], y[1], z[1])])
    return from_to(ops, chord, along, hint)


def bend_plane(
    ops: Operations, joints: Joints, along: Vector, pole: Vector | None, hint: Vector
) -> tuple[Vector, Quaternion]:
    """Return the unit vector toward which the chain bends, and the turn about the root that brings its bend there.

    Args:
        ops: the lanes' operations.
        joints: of the chain before, root at the origin.
        along: unit vector from the root to the target.
        pole: where the bend should point, from the root; None keeps the bend there is.
        hint: where a straight chain bends when there is no pole, or one on the line root-target.
    """
    swing = swing_to(ops, joints, along, hint)
    x, y, z = joints
    swung = [rotate(swing, point) for point in zip(x, y, z, strict=True)]
    bend = bend_direction(ops, tuple([p[c] for p in swung] for c in range(3)), along)  # type: ignore[arg-type]
    hints = [bend, rotate(swing, hint)]
    if pole is not None:
        hints.insert(0, scale(pole, 1.0 / (norm(ops, pole) + TINY)))
    side = perpendicular(ops, along, hints)
    straight = norm(ops, bend) <= STRAIGHT
    if ops.any(straight):
        # It has no bend to bring to the pole, but what was turned to the pole before it was straight still is.
        before = side if pole is None else rotate(swing, side_toward(ops, joints, pole, hint))
        bx, by, bz = ops.choose(straight, before, bend)
        bend = (bx, by, bz)
    return side, multiply(from_to(ops, bend, side, along), swing)


def side_toward(ops: Operations, joints: Joints, pole: Vector, hint: Vector) -> Vector:
    """Return the unit vector on which the pole is of a chain where it is now."""
    x, y, z = joints
    chord = first_direction(ops, [(x[-1], y[-1], z[-1]), (x[1], y[1], z[1])])
    return perpendicular(ops, chord, [scale(pole, 1.0 / (norm(ops, pole) + TINY)), hint])


def _off_pole(ops: Operations, joints: Joints, j: int, pole: Vector) -> tuple[Component, Component]:
    """Return how far an inner joint is from where it would be if it pointed at the pole, and what of that is noise.

    Directions are seen along the line of the joint's neighbours.
    """
    x, y, z = joints
    ox, oy, oz = x[j - 1], y[j - 1], z[j - 1]
    line = (x[j + 1] - ox, y[j + 1] - oy, z[j + 1] - oz)
    size = norm(ops, line)
    axis = scale(line, 1.0 / (size + TINY))
    joint = (x[j] - ox, y[j] - oy, z[j] - oz)
    offset = rejection(joint, axis)
    height = norm(ops, offset)
    to_pole = (pole[0] - ox, pole[1] - oy, pole[2] - oz)
    desired = rejection(to_pole, axis)
    wish_size = norm(ops, desired)
    # Neighbours that coincide have no line, and a pole on their line has no direction: the joint stays.
    usable = (wish_size > PARALLEL) & (size > PARALLEL)
    new = scale(desired, height / (wish_size + TINY))
    new = tuple(ops.choose(usable, new, offset))
    move = norm(ops, (new[0] - offset[0], new[1] - offset[1], new[2] - offset[2]))
    # 1e-5 rad and 1e-6 of the length; a direction is the less certain the nearer what it is taken from.
    noise = 1e-6 + height * (1e-5 + 1e-6 * (1.0 + norm(ops, to_pole) / (size + TINY)) / (wish_size + TINY))
    return move, noise


def points_at_pole(ops: Operations, joints: Joints, pole: Vector) -> Component:
    """Tell whether every inner joint points at the pole, to what the floats of a pose can say."""
    pointing: Component = True
    for j in range(1, len(joints[0]) - 1):
        move, noise = _off_pole(ops, joints, j, pole)
        pointing = pointing & (move <= noise)
    return pointing


def reflect_to_pole(ops: Operations, p: Components, q: Components, pole: tuple[Component, Component]) -> None:
    """Bring every joint of a planar chain to the pole's side of its neighbours' line, in place; tip and lengths stay.

    In the plane of the pole a joint that doesn't point at it points away, and turning it there is a reflection. A
    reflection brings its joint nearer to the pole, so the sum of the distances falls and the passes end.

    Args:
        ops: the lanes' operations.
        p, q: coordinates of the joints in the plane.
        pole: its coordinates.
    """
    for _ in range(PASSES):
        reflected: Component = False
        for j in range(1, len(p) - 1):
            dp, dq = p[j + 1] - p[j - 1], q[j + 1] - q[j - 1]
            size = dp * dp + dq * dq + TINY
            offset = dp * (q[j] - q[j - 1]) - dq * (p[j] - p[j - 1])
            away = offset * (dp * (pole[1] - q[j - 1]) - dq * (pole[0] - p[j - 1])) < 0.0
            away = away & (offset * offset > FLAT * FLAT * size)
            if ops.any(away):
                share = ops.where(away, 2.0 * offset / size, 0.0)
                p[j], q[j] = p[j] + share * dq, q[j] - share * dp
                reflected = True
        if not reflected:
            return


def pole_for(pose: Pose, distance: float, pole_angle: float = 0.0) -> Array:
    """Return a pole that a chain already bends toward.

    Args:
        pose: of a plain chain, one lane.
        distance: of the pole from the line root-tip beyond the chain's farthest joint, over the chain's length.
        pole_angle: the chain's pole angle, radians.

    Returns:
        (3,) a point in the plane of the bend; a straight chain's is toward the +X of its first bone.
    """
    links = np.diff(pose.positions, axis=0)
    length = float(np.sqrt(np.square(links).sum(axis=1)).sum())
    points = ((pose.positions - pose.positions[0]) / length).tolist()
    x, y, z = (list(component) for component in zip(*points, strict=True))
    hint = x_axis(tuple(pose.rotations[0].tolist()))
    along = first_direction(SCALAR, [tuple(points[-1]), tuple(points[1])])
    bend = bend_direction(SCALAR, (x, y, z), along)
    side = perpendicular(SCALAR, along, [bend, hint])
    inner = points[1:-1] or points
    middle = sum(dot(tuple(point), along) for point in inner) / len(inner)
    height = max(dot(tuple(point), side) for point in inner) + distance
    px, py, pz = (middle * a + height * s for a, s in zip(along, side, strict=True))
    offset: Array = length * np.array(turn_pole(SCALAR, (px, py, pz), along, -pole_angle))
    return pose.positions[0] + offset  # type: ignore[no-any-return]
