# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a chain bends: the plane of root, target and pole, and the joints' turn toward the pole.

A chain swept inside that plane stays inside it, so all there is left to do after the sweeps is to bring joints that
ended on the far side of their neighbours' line over to the pole's side.
"""

from __future__ import annotations

from typing import Any

from .lanes import Component, Vector
from .vectors import (
    PARALLEL,
    Joints,
    Quaternion,
    dot,
    first_direction,
    from_to,
    multiply,
    norm,
    perpendicular,
    rejection,
    rotate,
    scale,
    turn_about,
)

PASSES = 200
"""Bound on the passes of ``turn_joints_to_pole``: one joint can pass another once a pass, so links are enough."""


def turn_pole(ops: Any, pole: Vector, along: Vector, angle: float) -> Vector:
    """Return the pole turned by the pole angle (radians) about the line from the root to the target."""
    if angle == 0.0:
        return pole
    return turn_about(along, ops.cos(0.0 * pole[0] + angle), ops.sin(0.0 * pole[0] + angle), pole)


def bend_direction(ops: Any, joints: Joints, along: Vector) -> Vector:
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


def swing_to(ops: Any, joints: Joints, along: Vector, hint: Vector) -> Quaternion:
    """Return the shortest turn about the root that points the tip along a unit vector."""
    x, y, z = joints
    chord = first_direction(ops, [(x[-1], y[-1], z[-1]), (x[1], y[1], z[1])])
    return from_to(ops, chord, along, hint)


def bend_plane(
    ops: Any, joints: Joints, along: Vector, pole: Vector | None, hint: Vector
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
        hints.insert(0, scale(pole, 1.0 / (norm(ops, pole) + 1e-300)))
    side = perpendicular(ops, along, hints)
    size = norm(ops, bend)
    bent = size > PARALLEL
    # A straight chain has no bend to bring to the pole: from its side to its side is no turn.
    bx, by, bz = ops.choose(bent, bend, side)
    return side, multiply(from_to(ops, (bx, by, bz), side, along), swing)


def flatten(joints: Joints, turn: Quaternion, along: Vector, side: Vector) -> Joints:
    """Turn a chain about its root and press it into the plane of two unit vectors; sweeps restore its lengths."""
    flat = []
    for point in zip(*joints, strict=True):
        turned = rotate(turn, point)
        p, q = dot(turned, along), dot(turned, side)
        flat.append((p * along[0] + q * side[0], p * along[1] + q * side[1], p * along[2] + q * side[2]))
    x, y, z = (list(component) for component in zip(*flat, strict=True))
    return x, y, z


def turned_to_pole(ops: Any, joints: Joints, j: int, pole: Vector) -> tuple[Vector, Component, Component]:
    """Return where an inner joint would be if it pointed at the pole, seen along the line of its neighbours.

    Also returns how far that is from where it is, and how far the joint lies off that line.
    """
    x, y, z = joints
    ox, oy, oz = x[j - 1], y[j - 1], z[j - 1]
    line = (x[j + 1] - ox, y[j + 1] - oy, z[j + 1] - oz)
    size = norm(ops, line)
    axis = scale(line, 1.0 / (size + 1e-300))
    joint = (x[j] - ox, y[j] - oy, z[j] - oz)
    along = dot(joint, axis)
    offset = rejection(joint, axis)
    height = norm(ops, offset)
    wish = rejection((pole[0] - ox, pole[1] - oy, pole[2] - oz), axis)
    wish_size = norm(ops, wish)
    # Neighbours that coincide have no line, and a pole on their line has no direction: the joint stays.
    usable = (wish_size > PARALLEL) & (size > PARALLEL)
    new = scale(wish, height / (wish_size + 1e-300))
    new = tuple(ops.choose(usable, new, offset))
    move = norm(ops, (new[0] - offset[0], new[1] - offset[1], new[2] - offset[2]))
    position = (ox + axis[0] * along + new[0], oy + axis[1] * along + new[1], oz + axis[2] * along + new[2])
    return position, move, height


def points_at_pole(ops: Any, joints: Joints, pole: Vector) -> Component:
    """Tell whether every inner joint points at the pole, to what the floats of a pose can say (1e-5 rad, 1e-6)."""
    pointing: Component = True
    for j in range(1, len(joints[0]) - 1):
        _, move, height = turned_to_pole(ops, joints, j, pole)
        pointing = pointing & (move <= 1e-6 + 1e-5 * height)
    return pointing


def turn_joints_to_pole(ops: Any, joints: Joints, pole: Vector) -> None:
    """Turn every inner joint about the line of its neighbours toward the pole, in place; tip and lengths stay.

    Each turn is the one that brings its joint nearest to the pole, so the sum of the distances to the pole falls with
    every turn and repeated passes end. In the plane of the pole a turn is a reflection, and the passes are few.
    """
    x, y, z = joints
    for _ in range(PASSES):
        moved: Component = False
        for j in range(1, len(x) - 1):
            (x[j], y[j], z[j]), move, _ = turned_to_pole(ops, joints, j, pole)
            moved = moved | (move > 1e-12)
        if not ops.any(moved):
            return
