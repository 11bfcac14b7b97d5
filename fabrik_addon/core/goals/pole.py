# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Poles: the plane in which a chain bends, and the side of it to which the joints bend.

The bend plane holds the root, the target and the pole. ``bend_plane`` gives its side, the unit vector v perpendicular
to the line root-target on the pole's side, and the rotation about the root that brings the chain's own bend to v. A
chain that is solved in that plane stays in it. What remains is the side: a joint of a planar chain that isn't on the
pole's side of the line through its neighbours is on the other one, and ``reflect_to_pole`` reflects it at that line,
which changes neither a link's length nor the tip.
"""

from __future__ import annotations

import numpy as np

from ..math.operations import SCALAR, TINY, Array, Component, Components, Condition, Operations, Vector
from ..math.quaternions import Quaternion, from_to, multiply, rotate, x_axis
from ..math.vectors import (
    NO_DIRECTION,
    Joints,
    choose_parts,
    distance_between,
    dot,
    first_direction,
    joints_of,
    norm,
    perpendicular,
    points_of,
    rejection,
    rotate_about,
    scale,
)
from ..problem import Pose

MOST_PASSES = 200
"""Bound on the passes of ``reflect_to_pole``; a chain of equal links needs at most about as many as it has links."""

NO_BEND = 1e-5
"""Length of ``bend_direction``, over the chain's length, up to which a chain is straight: rounding of Blender's single
precision leaves as much."""

CANCELLED = 1e-4
"""Ratio of squares, of the sum of the joints' offsets over the largest offset, below which the sum is cancelled."""

ON_LINE = 1e-13
"""Distance of a joint from the line through its neighbours, over the chain's length, up to which the joint is on it: it
has no side, and rounding alone would reflect it."""

POSITION_NOISE = 1e-6
"""Uncertainty of a joint's position in a pose read from Blender, over the chain's length."""

DIRECTION_NOISE = 1e-5
"""Uncertainty of a joint's direction from its neighbours' line in a pose read from Blender, radians."""


def turn_pole(ops: Operations, pole: Vector, along: Vector, angle: float) -> Vector:
    """Return the pole rotated by the pole angle about the line from the root to the target.

    Args:
        ops: operations of the components.
        pole: from the root.
        along: unit vector from the root to the target.
        angle: radians.
    """
    return rotate_about(along, ops.cos(0.0 * pole[0] + angle), ops.sin(0.0 * pole[0] + angle), pole)


def bend_direction(ops: Operations, joints: Joints, along: Vector) -> Vector:
    """Return the sum of the inner joints' offsets from a line through the root: ``sum p_j - (p_j . u) u``.

    Where offsets to opposite sides cancel out (an S-shaped chain, ``CANCELLED``) it is the largest offset instead. Zero
    for a straight chain.

    Args:
        ops: operations of the components.
        joints: p_j, the root at the origin.
        along: u, unit vector of the line.
    """
    zero = 0.0 * along[0]
    total: Vector = (zero, zero, zero)
    largest, largest_square = total, zero
    for x, y, z in zip(*(component[1:-1] for component in joints), strict=True):
        offset = rejection((x, y, z), along)
        square = dot(offset, offset)
        total = (total[0] + offset[0], total[1] + offset[1], total[2] + offset[2])
        lx, ly, lz, largest_square = ops.choose(square > largest_square, [*offset, square], [*largest, largest_square])
        largest = (lx, ly, lz)
    return choose_parts(ops, dot(total, total) < CANCELLED * largest_square, largest, total)


def swing_to(ops: Operations, joints: Joints, along: Vector, hint: Vector) -> Quaternion:
    """Return the shortest rotation about the root that brings the tip onto the direction of a unit vector.

    The hint is the axis of a rotation by 180 degrees (``from_to``).
    """
    x, y, z = joints
    chord = first_direction(ops, [(x[-1], y[-1], z[-1]), (x[1], y[1], z[1])])
    return from_to(ops, chord, along, hint)


def bend_plane(
    ops: Operations, joints: Joints, along: Vector, pole: Vector | None, hint: Vector
) -> tuple[Vector, Quaternion]:
    """Return the side v to which the chain bends, and the rotation that brings the chain's bend to that side.

    v is a unit vector perpendicular to the line root-target. The rotation about the root is the shortest one that
    brings the tip onto that line, then one about the line that brings the bend (``bend_direction``) to v. For a
    straight chain, which has no bend, the second rotation brings the direction from the line root-tip of the chain
    before to the pole (``side_toward``) to v instead: bones that were rotated to the pole stay rotated to it.

    Args:
        ops: operations of the components.
        joints: of the chain before, root at the origin.
        along: unit vector from the root to the target.
        pole: from the root; None keeps the side of the chain's own bend.
        hint: direction that decides for a straight chain without a pole, or with a pole on the line root-target.
    """
    swing = swing_to(ops, joints, along, hint)
    bend = bend_direction(ops, joints_of([rotate(swing, point) for point in points_of(joints)]), along)
    hints = [bend, rotate(swing, hint)]
    if pole is not None:
        hints.insert(0, scale(pole, 1.0 / (norm(ops, pole) + TINY)))
    side = perpendicular(ops, along, hints)
    is_straight = norm(ops, bend) <= NO_BEND
    if ops.any(is_straight):
        before = side if pole is None else rotate(swing, side_toward(ops, joints, pole, hint))
        bend = choose_parts(ops, is_straight, before, bend)
    return side, multiply(from_to(ops, bend, side, along), swing)


def side_toward(ops: Operations, joints: Joints, pole: Vector, hint: Vector) -> Vector:
    """Return the unit vector, perpendicular to the line root-tip of a chain, on whose side the pole is."""
    x, y, z = joints
    chord = first_direction(ops, [(x[-1], y[-1], z[-1]), (x[1], y[1], z[1])])
    return perpendicular(ops, chord, [scale(pole, 1.0 / (norm(ops, pole) + TINY)), hint])


def _off_pole(ops: Operations, joints: Joints, j: int, pole: Vector) -> tuple[Component, Component]:
    """Return the distance of inner joint j from where it would point at the pole, and the uncertainty of that distance.

    A joint points at the pole where its offset from the line through its neighbours has the direction of the pole's
    offset from that line. Neighbours that coincide have no line, and a pole on the line has no direction: the distance
    is zero there. With the joint's and the pole's distances h and g from the line, the neighbours' distance l from each
    other, the pole's distance r from the first of them, and the noises e_p of positions and e_d of directions, the
    uncertainty is ``e_p + h (e_d + e_p (1 + r / l) / g)``.
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
    pole_height = norm(ops, desired)
    has_direction = (pole_height > NO_DIRECTION) & (size > NO_DIRECTION)
    new = choose_parts(ops, has_direction, scale(desired, height / (pole_height + TINY)), offset)
    move = distance_between(ops, new, offset)
    pole_noise = POSITION_NOISE * (1.0 + norm(ops, to_pole) / (size + TINY)) / (pole_height + TINY)
    return move, POSITION_NOISE + height * (DIRECTION_NOISE + pole_noise)


def points_at_pole(ops: Operations, joints: Joints, pole: Vector) -> Condition:
    """Tell whether every inner joint points at the pole, to within the uncertainty of a pose read from Blender."""
    pointing: Condition = True
    for j in range(1, len(joints[0]) - 1):
        move, noise = _off_pole(ops, joints, j, pole)
        pointing = pointing & (move <= noise)
    return pointing


def reflect_to_pole(ops: Operations, p: Components, q: Components, pole: tuple[Component, Component]) -> None:
    """Reflect joints of a planar chain, in place, until each is on the pole's side of its neighbours' line.

    ``p_j' = p_j + 2 c (d_y, -d_x) / d . d`` with the chord ``d = p_(j+1) - p_(j-1)`` between the neighbours and the
    vector product ``c = d x (p_j - p_(j-1))``. It keeps the lengths of the joint's links and all other joints. A joint
    that is not on the pole's side comes nearer to the pole by it, so that the sum of the joints' distances from the
    pole falls with every reflection and no arrangement of the joints recurs. Two links of equal length swap their
    directions: a chain of equal links has finitely many arrangements, and its passes end. For other chains
    ``MOST_PASSES`` ends them.

    Args:
        ops: operations of the components.
        p, q: coordinates of the joints in the plane.
        pole: its coordinates.
    """
    for _ in range(MOST_PASSES):
        reflected = False
        for j in range(1, len(p) - 1):
            dp, dq = p[j + 1] - p[j - 1], q[j + 1] - q[j - 1]
            size = dp * dp + dq * dq + TINY
            offset = dp * (q[j] - q[j - 1]) - dq * (p[j] - p[j - 1])
            is_away = offset * (dp * (pole[1] - q[j - 1]) - dq * (pole[0] - p[j - 1])) < 0.0
            is_away = is_away & (offset * offset > ON_LINE * ON_LINE * size)
            if ops.any(is_away):
                share = ops.where(is_away, 2.0 * offset / size, 0.0)
                p[j], q[j] = p[j] + share * dq, q[j] - share * dp
                reflected = True
        if not reflected:
            return


def pole_for(pose: Pose, distance: float, pole_angle: float = 0.0) -> Array:
    """Return a pole that leaves a chain's pose as it is: in the plane of its bend, on the side to which it bends.

    Args:
        pose: of a plain chain, without batch axes.
        distance: of the pole from the line root-tip, less that of the joint farthest from the line, over the chain's
            length.
        pole_angle: of the chain, radians; the pole is rotated back by it about the line root-tip.

    Returns:
        (3,) point in the space of the pose. A straight chain's pole is on the side of the +X axis of its first bone.
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
