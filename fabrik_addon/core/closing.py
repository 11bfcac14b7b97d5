# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last digits: close the gap between tip and target exactly by bending one joint and turning the root."""

from __future__ import annotations

from typing import Any

from .lanes import Component, Components, Vector
from .vectors import cross, dot, from_to, gap, multiply, rotate, scale

EXACT = 1e-13
"""Gap that isn't worth closing."""

TINY = 1e-300
"""Keeps lanes that aren't chosen from dividing by zero."""


def close_gap(ops: Any, x: Components, y: Components, z: Components, target: Vector) -> Component:
    """Move the tip onto the target in closed form, links kept, and return the error that is left.

    The joint farthest from the line root-tip is bent in its own plane until the tip is as far from the root as the
    target is, then the whole chain turns about the root. The farthest joint needs the least bend, because the
    tip's distance changes by that offset times the angle. Where one bend can't close the gap nothing changes.

    Args:
        ops: the lanes' operations.
        x, y, z: joints with the root at the origin; changed in place.
        target: where the tip should be, not at the root.
    """
    tip = (x[-1], y[-1], z[-1])
    error = gap(ops, tip, target)
    if not ops.any(error > EXACT):
        return error
    tx, ty, tz = tip
    bx, by, bz = x[1], y[1], z[1]
    farthest: Component = 0.0
    chosen: Component = 1
    for j in range(1, len(x) - 1):
        px, py, pz = x[j], y[j], z[j]
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
    possible = (sine > 1e-6 * spread) & (cosine * cosine <= 1.0) & (reach_square > 1e-24)
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
    for j in range(1, len(x)):
        point = (x[j], y[j], z[j])
        w, qx, qy, qz, cx, cy, cz = ops.choose(chosen < j, (*both, *shift), (*swing, *still))
        px, py, pz = rotate((w, qx, qy, qz), point)
        x[j], y[j], z[j] = ops.choose(possible, (px + cx, py + cy, pz + cz), point)
    return gap(ops, (x[-1], y[-1], z[-1]), target)
