# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The exact finish: the tip is moved onto the target in closed form, with all links as long as they are.

With the position error g = target - tip there are two ways, tried in this order.

1. At the joint j nearest to the tip that is bent enough: all joints after it are shifted by g, and j moves to where it
   is ``d_j-1`` from joint j - 1 and ``d_j`` from the shifted joint j + 1, in its own plane and on its own side. All
   joints before j stay. With ``l = p_j+1 + g - p_j-1`` and the offset o of p_j from that line the law of cosines gives

       f = (1 + (d_j-1^2 - d_j^2) / l^2) / 2        p_j' = p_j-1 + f l + sqrt(d_j-1^2 - f^2 l^2) o / |o|

2. Near full extension no joint is bent enough for that. One joint b is bent until the tip is as far from the root as
   the target t: with m the vector from b to the tip the angle between b and m becomes
   ``acos((t^2 - b^2 - m^2) / (2 |b| |m|))``. Then the whole chain is rotated about the root onto the target.

A pose that neither way suits stays.

Passes converge linearly: without the exact finish every further digit costs as many passes as the one before.
"""

from collections.abc import Sequence

from ..math.false_position import CLOSED_ERROR
from ..math.operations import TINY, Component, Operations, Vector
from ..math.quaternions import from_to, multiply, rotate
from ..math.vectors import choose_parts, cross, distance_between, dot, scale

LEAST_SQUARED_SINE = 1e-2
"""Square of the height of a joint over the line of its neighbours, over the square of its shorter link, up to which the
first way doesn't move the joint: a small error would change its bend by much."""

LEAST_HEIGHT_LEFT = 0.25
"""Square of a joint's height after the first way over that before, up to which another joint is taken instead: no
joint's height becomes less than half."""

LEAST_SINE = 1e-6
"""Sine of the angle between the lines root-joint and joint-tip below which the plane of the second way is noise."""

AT_ROOT_SQUARE = 1e-24
"""Square of the target's distance from the root, over the chain's length, below which it has no direction."""


def close_exactly(ops: Operations, points: list[Vector], lengths: Sequence[float], target: Vector) -> Component:
    """Move the tip onto the target in closed form, in place, and return the position error that is left.

    The root is at the origin, and the unit is the chain's length.
    """
    left = _shift_and_bend(ops, points, lengths, target)
    if ops.any(left > CLOSED_ERROR):
        left = _bend_and_rotate(ops, points, target)
    return left


def _shift_and_bend(ops: Operations, points: list[Vector], lengths: Sequence[float], target: Vector) -> Component:
    """Go the first way, in place, and return the error that is left: none, or all where no joint is bent enough."""
    (tx, ty, tz), (ex, ey, ez) = target, points[-1]
    gx, gy, gz = tx - ex, ty - ey, tz - ez
    left = ops.sqrt(gx * gx + gy * gy + gz * gz)
    for j in range(len(points) - 2, 0, -1):
        is_open = left > CLOSED_ERROR
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
        is_bent = is_open & (height_square > LEAST_SQUARED_SINE * min(first, second) ** 2)
        if not ops.any(is_bent):
            continue  # most joints of a long chain
        # Law of cosines: where the joint's foot is on the line of its neighbours, as a share of it.
        foot = 0.5 * (1.0 + (first - second) * (first + second) / square)
        new_square = first * first - foot * foot * square
        closes = is_bent & (new_square > LEAST_HEIGHT_LEFT * height_square)
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


def _bend_and_rotate(ops: Operations, points: list[Vector], target: Vector) -> Component:
    """Go the second way, in place, and return the error that is left.

    The joint is the one farthest from the line root-tip: the tip's distance from the root changes by its height over
    that line times the angle of its bend, so this joint bends least.
    """
    tx, ty, tz = tip = points[-1]
    error = distance_between(ops, tip, target)
    is_open = error > CLOSED_ERROR
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
    is_feasible = is_open & (sine > LEAST_SINE * spread) & (cosine * cosine <= 1.0) & (reach_square > AT_ROOT_SQUARE)
    if not ops.any(is_feasible):
        return error
    axis = scale(cross(bend, tip), 1.0 / (sine + TINY))
    ex, ey, ez = cross(axis, bend)
    share = ops.sqrt(arm_square / (bend_square + TINY))
    across = share * ops.sqrt(ops.maximum(1.0 - cosine * cosine, 0.0))
    along = share * cosine
    aimed = (along * bx + across * ex, along * by + across * ey, along * bz + across * ez)
    swing = from_to(ops, (bx + aimed[0], by + aimed[1], bz + aimed[2]), target, axis)
    both = multiply(swing, from_to(ops, arm, aimed, axis))
    (sx, sy, sz), (rx, ry, rz) = rotate(swing, bend), rotate(both, bend)
    shift = (sx - rx, sy - ry, sz - rz)
    still = (0.0, 0.0, 0.0)
    for j in range(1, len(points)):
        w, qx, qy, qz, cx, cy, cz = ops.choose(chosen < j, (*both, *shift), (*swing, *still))
        px, py, pz = rotate((w, qx, qy, qz), points[j])
        points[j] = choose_parts(ops, is_feasible, (px + cx, py + cy, pz + cz), points[j])
    return distance_between(ops, points[-1], target)
