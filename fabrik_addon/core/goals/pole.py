# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Poles: the plane in which a chain bends, of root, target and pole, and the side of it to which the joints bend."""

from collections.abc import Sequence

import numpy as np

from ..math.operations import TINY, Array, Component, Condition, Operations, ScalarVector, Vector
from ..math.quaternions import Quaternion, from_to, multiply, rotate
from ..math.vectors import (
    NO_DIRECTION,
    choose_parts,
    combination,
    cross,
    distance_between,
    dot,
    first_direction,
    norm,
    normalised,
    perpendicular,
    rejection,
    rotate_about,
    scale,
    subtract,
)

NO_BEND = 1e-5
"""Length of ``bend_direction``, over the chain's length, up to which a chain is straight: rounding of Blender's single
precision leaves as much."""

CANCELLED = 1e-4
"""Ratio of squares, of the sum of the joints' offsets over the largest offset, below which the sum is cancelled."""

POSITION_NOISE = 1e-6
"""Uncertainty of a joint's position in a pose read from Blender, over the chain's length."""

DIRECTION_NOISE = 1e-5
"""Uncertainty of a joint's direction from its neighbours' line in a pose read from Blender, radians."""


def rotate_pole(ops: Operations, pole: Vector, along: Vector, angle: Component) -> Vector:
    """Return the pole rotated by the pole angle about the line from the root to the target."""
    return rotate_about(along, ops.cos(0.0 * pole[0] + angle), ops.sin(0.0 * pole[0] + angle), pole)


def bend_direction(ops: Operations, joints: Sequence[Vector], along: Vector) -> Vector:
    """Return the sum of the inner joints' offsets from a line through the root: ``sum p_j - (p_j . u) u``.

    Where offsets to opposite sides cancel out (an S-shaped chain, ``CANCELLED``) it is the largest offset instead. Zero
    for a straight chain.

    Args:
        joints: p_j, the root at the origin.
        along: u, unit vector of the line.
    """
    zero = 0.0 * along[0]
    total: Vector = (zero, zero, zero)
    largest, largest_square = total, zero
    for joint in joints[1:-1]:
        offset = rejection(joint, along)
        square = dot(offset, offset)
        total = (total[0] + offset[0], total[1] + offset[1], total[2] + offset[2])
        lx, ly, lz, largest_square = ops.choose(square > largest_square, [*offset, square], [*largest, largest_square])
        largest = (lx, ly, lz)
    return choose_parts(ops, dot(total, total) < CANCELLED * largest_square, largest, total)


def pole_axes(ops: Operations, chord: Vector, pole: Vector) -> tuple[Vector, Vector, Vector]:
    """Return the orthonormal axes in which the angle from pole to bend is measured, given chord and pole from the root.

    These are u, the direction of the chord; v, perpendicular to u on the pole's side; and u x v.
    """
    along = normalised(ops, chord)
    side = perpendicular(ops, along, [normalised(ops, pole)])
    return along, side, cross(along, side)


def bend_vector(joints: Sequence[Vector], along: Vector) -> Vector:
    """Return b - (b . u) u, with b the sum of the inner joints, each from the root, and u the unit vector ``along``.

    With the axes u, v and w of ``pole_axes`` the angle from pole to bend about u is ``atan2(bend . w, bend . v)``. The
    vector is linear in the joints, so that its Jacobian has one term per joint; ``bend_direction`` jumps where offsets
    cancel out.
    """
    (rx, ry, rz), *inner, _ = joints
    x = y = z = 0.0 * along[0]
    for px, py, pz in inner:
        x, y, z = x + px - rx, y + py - ry, z + pz - rz
    return rejection((x, y, z), along)


def bend_plane(
    ops: Operations,
    joints: Sequence[Vector],
    along: Vector,
    pole: Vector | None,
    hint: Vector,
    shaped: Sequence[Vector] = (),
) -> tuple[Vector, Quaternion]:
    """Return the side v to which the chain bends, and the rotation that brings the chain's bend to that side.

    v is a unit vector perpendicular to the line root-target, on the pole's side. The rotation about the root is the
    shortest one that brings the tip onto that line, then one about the line that brings the bend (``bend_direction``)
    to v. For a straight chain it brings the direction from the line root-tip of the chain before to the pole
    (``side_toward``) to v instead: bones that were rotated to the pole stay rotated to it.

    Args:
        joints: of the chain before, root at the origin.
        along: unit vector from the root to the target.
        pole: from the root; None keeps the side of the chain's own bend.
        hint: direction that decides for a straight chain without a pole, or with a pole on the line root-target.
        shaped: joints of the pose of a family whose tip is as far from the root, in the axes u, v and u x v. The
            rotation then brings the joints of the chain before nearest to these (``rotation_to_shape``) instead of the
            bend to v: a chain with bends to both sides may have a sum of bends of zero.
    """
    swing = from_to(ops, first_direction(ops, [joints[-1], joints[1]]), along, hint)
    swung = [rotate(swing, joint) for joint in joints]
    bend = bend_direction(ops, swung, along)
    hints = [bend, rotate(swing, hint)]
    if pole is not None:
        hints.insert(0, normalised(ops, pole))
    side = perpendicular(ops, along, hints)
    desired = side
    is_straight = norm(ops, bend) <= NO_BEND
    if shaped:
        across = cross(along, side)
        cosine, sine = rotation_to_shape(swung, side, across, shaped)
        bend, desired = side, combination(cosine, side, sine, across)
        is_straight = cosine * cosine + sine * sine <= NO_BEND**4
    if ops.any(is_straight):
        before = side if pole is None else rotate(swing, side_toward(ops, joints, pole, hint))
        bend = choose_parts(ops, is_straight, before, bend)
        desired = choose_parts(ops, is_straight, side, desired)
    return side, multiply(from_to(ops, bend, desired, along), swing)


def rotation_to_shape(
    joints: Sequence[Vector], side: Vector, across: Vector, shaped: Sequence[Vector]
) -> tuple[Component, Component]:
    """Return cosine and sine, with a common factor, of the rotation about u of a chain's joints to those of a pose.

    Of the rotations about u the one by ``atan2(sum u . (o_j x f_j), sum o_j . f_j)`` is best by least squares, with the
    offsets o and f of the joints of chain and pose from the line root-tip. The root of the chain is at the origin, its
    tip in the direction u, and the joints of the pose (``shaped``) are in the axes u, v (``side``) and u x v
    (``across``).
    """
    cosine = sine = 0.0 * side[0]
    for offset, (_, toward, over) in zip(joints[1:-1], shaped[1:-1], strict=True):
        y, z = dot(offset, side), dot(offset, across)
        cosine, sine = cosine + y * toward + z * over, sine + y * over - z * toward
    return cosine, sine


def side_toward(ops: Operations, joints: Sequence[Vector], pole: Vector, hint: Vector) -> Vector:
    """Return the unit vector, perpendicular to the line root-tip of a chain, on whose side the pole is."""
    chord = first_direction(ops, [joints[-1], joints[1]])
    return perpendicular(ops, chord, [normalised(ops, pole), hint])


def bends_toward_pole(ops: Operations, joints: Sequence[Vector], pole: Vector) -> Condition:
    """Tell whether a chain lies in the plane of root, tip and pole, with every inner joint bent to the pole's side.

    With n the normal of that plane and a_j the unit vector from the joint before joint j to the joint after it, joint j
    bends to the pole's side where its offset from their line has the direction n x a_j. With the offset's length h, the
    distance l between the neighbours, the line root-tip of length d, the pole's distances r from the root and g from
    that line, and the noises e_p of positions and e_d of directions, a difference of up to
    ``e_p + h (e_d + e_p (1 + r / d) / g + e_p / l)`` counts as none: else a solved pose would be solved again from the
    rounding of single precision. Without a line root-tip, or with the pole on it, there is no side to bend to.
    """
    chord = norm(ops, joints[-1])
    line = scale(joints[-1], 1.0 / (chord + TINY))
    to_side = rejection(pole, line)
    pole_height = norm(ops, to_side)
    has_side = (pole_height > NO_DIRECTION) & (chord > NO_DIRECTION)
    normal = cross(line, scale(to_side, 1.0 / (pole_height + TINY)))
    plane_noise = DIRECTION_NOISE + POSITION_NOISE * (1.0 + norm(ops, pole) / (chord + TINY)) / (pole_height + TINY)
    bends: Condition = True
    for before, joint, after in zip(joints, joints[1:], joints[2:], strict=False):
        between = subtract(after, before)
        size = norm(ops, between)
        axis = scale(between, 1.0 / (size + TINY))
        offset = rejection(subtract(joint, before), axis)
        height = norm(ops, offset)
        move = distance_between(ops, scale(cross(normal, axis), height), offset)
        noise = POSITION_NOISE + height * (plane_noise + POSITION_NOISE / (size + TINY))
        # Neighbours that coincide have no line.
        bends = bends & ((move <= noise) | (size <= NO_DIRECTION))
    return bends | ops.negate(has_side)


def joints_from_root(positions: Array) -> tuple[list[ScalarVector], float]:
    """Return the joints (J, 3) of a chain from its root, over the chain's length, and that length."""
    length = float(np.linalg.norm(np.diff(positions, axis=0), axis=1).sum())
    return [(x, y, z) for x, y, z in ((positions - positions[0]) / length).tolist()], length
