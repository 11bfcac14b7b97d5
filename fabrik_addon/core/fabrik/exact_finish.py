# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last digits: close the gap between tip and target exactly, links kept, by bending one joint.

Where a joint near the tip is bent enough, it alone takes up the gap and the chain before it stays. Near full extension
no joint has that much play, and the whole chain is the lever: one joint is bent and the chain turned about its root.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..math.operations import TINY, Component, Operations, Vector
from ..math.quaternions import from_to, multiply, rotate
from ..math.vectors import choose_parts, cross, distance_between, dot, scale

EXACT = 1e-13
"""Gap that isn't worth closing."""

LEAST_BEND = 1e-2
"""Squared sine of a bend below which a joint isn't bent further: its plane and its leverage are poor."""


def close_exactly(ops: Operations, points: list[Vector], lengths: Sequence[float], target: Vector) -> Component:
    """Move the tip onto the target in closed form and return the distance that is left: none, or all of it.

    Args:
        ops: the lanes' operations.
        points: joints with the root at the origin; changed in place.
        lengths: of the links.
        target: where the tip should be.
    """
    left = _shift_and_bend(ops, points, lengths, target)
    if ops.any(left > EXACT):
        left = _bend_and_turn(ops, points, target)
    return left


def _shift_and_bend(ops: Operations, points: list[Vector], lengths: Sequence[float], target: Vector) -> Component:
    """Shift all that follows a joint by the gap, and the joint to where both its links meet again.

    The joint stays in its own plane and on its own side. It is the one nearest to the tip that is bent enough.
    """
    (tx, ty, tz), (ex, ey, ez) = target, points[-1]
    gx, gy, gz = tx - ex, ty - ey, tz - ez
    left = ops.sqrt(gx * gx + gy * gy + gz * gz)
    for j in range(len(points) - 2, 0, -1):
        is_open = left > EXACT
        if not ops.any(is_open):
            break
        first, second = lengths[j - 1], lengths[j]
        (ax, ay, az), (px, py, pz), (bx, by, bz) = points[j - 1 : j + 2]
        lx, ly, lz = bx + gx - ax, by + gy - ay, bz + gz - az
        square = lx * lx + ly * ly + lz * lz + TINY
        ox, oy, oz = px - ax, py - ay, pz - az
        old = (ox * lx + oy * ly + oz * lz) / square
        ox, oy, oz = ox - old * lx, oy - old * ly, oz - old * lz
        height_square = ox * ox + oy * oy + oz * oz
        is_bent = is_open & (height_square > LEAST_BEND * min(first, second) ** 2)
        if not ops.any(is_bent):
            continue  # most joints of a long chain
        # Law of cosines: where the joint's foot is on the line of its neighbours, as a share of it.
        foot = 0.5 * (1.0 + (first - second) * (first + second) / square)
        new_square = first * first - foot * foot * square
        closes = is_bent & (new_square > 0.25 * height_square)
        if not ops.any(closes):
            continue
        share = ops.sqrt(ops.maximum(new_square, 0.0) / (height_square + TINY))
        moved = (ax + foot * lx + share * ox, ay + foot * ly + share * oy, az + foot * lz + share * oz)
        after = [(x + gx, y + gy, z + gz) for x, y, z in points[j + 1 :]]
        if ops.all(closes):
            points[j:] = [moved, *after]
            return 0.0 * left
        points[j:] = [choose_parts(ops, closes, *pair) for pair in zip([moved, *after], points[j:], strict=True)]
        left = ops.where(closes, 0.0, left)
    return left


def _bend_and_turn(ops: Operations, points: list[Vector], target: Vector) -> Component:
    """Bend a joint until the tip is as far from the root as the target is, then turn the chain about the root.

    The joint farthest from the line root-tip needs the least bend: the tip's distance changes by that offset times
    the angle.
    """
    tx, ty, tz = tip = points[-1]
    error = distance_between(ops, tip, target)
    is_open = error > EXACT
    bx, by, bz = points[1]
    farthest: Component = 0.0
    chosen: Component = 1
    for j in range(1, len(points) - 1):
        px, py, pz = points[j]
        nx, ny, nz = py * tz - pz * ty, pz * tx - px * tz, px * ty - py * tx
        offset = nx * nx + ny * ny + nz * nz
        farther = offset > farthest
        if ops.any(farther):
            farthest, chosen, bx, by, bz = ops.choose(farther, (offset, j, px, py, pz), (farthest, chosen, bx, by, bz))

    bend, arm = (bx, by, bz), (tx - bx, ty - by, tz - bz)
    bend_square, arm_square, reach_square = dot(bend, bend), dot(arm, arm), dot(target, target)
    spread = ops.sqrt(bend_square * arm_square) + TINY
    sine = ops.sqrt(farthest)
    cosine = (reach_square - bend_square - arm_square) / (2.0 * spread)
    # The side is that of a bend the chain already has: below 1e-6 its plane is noise.
    possible = is_open & (sine > 1e-6 * spread) & (cosine * cosine <= 1.0) & (reach_square > 1e-24)
    if not ops.any(possible):
        return error
    axis = scale(cross(bend, tip), 1.0 / (sine + TINY))
    ex, ey, ez = cross(axis, bend)
    share = ops.sqrt(arm_square / (bend_square + TINY))
    across = share * ops.sqrt(ops.maximum(1.0 - cosine * cosine, 0.0))
    along = share * cosine
    turned = (along * bx + across * ex, along * by + across * ey, along * bz + across * ez)
    swing = from_to(ops, (bx + turned[0], by + turned[1], bz + turned[2]), target, axis)
    both = multiply(swing, from_to(ops, arm, turned, axis))
    (sx, sy, sz), (rx, ry, rz) = rotate(swing, bend), rotate(both, bend)
    shift = (sx - rx, sy - ry, sz - rz)
    still = (0.0, 0.0, 0.0)
    for j in range(1, len(points)):
        w, qx, qy, qz, cx, cy, cz = ops.choose(chosen < j, (*both, *shift), (*swing, *still))
        px, py, pz = rotate((w, qx, qy, qz), points[j])
        points[j] = choose_parts(ops, possible, (px + cx, py + cy, pz + cz), points[j])
    return distance_between(ops, points[-1], target)
