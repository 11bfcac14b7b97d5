# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last digits: close the gap between tip and target exactly by bending one joint and turning the root."""

from __future__ import annotations

from typing import Any

from .lanes import Component, Components, Vector
from .vectors import cross, dot, from_to, gap, norm, rotate, scale, turn_about

EXACT = 1e-13
"""Gap that isn't worth closing."""


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
    bx, by, bz = x[1], y[1], z[1]
    farthest = 0.0
    chosen: Component = 1
    for j in range(1, len(x) - 1):
        nx, ny, nz = cross((x[j], y[j], z[j]), tip)
        offset = nx * nx + ny * ny + nz * nz
        if ops.any(offset > farthest):
            farthest, chosen, bx, by, bz = ops.choose(
                offset > farthest, [offset, j, x[j], y[j], z[j]], [farthest, chosen, bx, by, bz]
            )
    bend = (bx, by, bz)
    arm = (tip[0] - bx, tip[1] - by, tip[2] - bz)
    bend_length, arm_length, reach = norm(ops, bend), norm(ops, arm), norm(ops, target)
    spread = bend_length * arm_length
    tiny = 1e-300
    old_cosine = dot(bend, arm) / (spread + tiny)
    old_sine = ops.sqrt(farthest) / (spread + tiny)
    new_cosine = (reach * reach - bend_length * bend_length - arm_length * arm_length) / (2.0 * spread + tiny)
    # The sign is that of a bend the chain already has: below 1e-6 its plane is noise.
    possible = (old_sine > 1e-6) & (new_cosine <= 1.0) & (new_cosine >= -1.0) & (reach > 1e-12)
    if not ops.any(possible):
        return error
    new_cosine = ops.minimum(ops.maximum(new_cosine, -1.0), 1.0)
    new_sine = ops.sqrt(1.0 - new_cosine * new_cosine)
    cosine, sine = new_cosine * old_cosine + new_sine * old_sine, new_sine * old_cosine - new_cosine * old_sine
    axis = scale(cross(bend, tip), 1.0 / (ops.sqrt(farthest) + tiny))
    turned = turn_about(axis, cosine, sine, arm)
    new_tip = (bx + turned[0], by + turned[1], bz + turned[2])
    new_reach = norm(ops, new_tip) + tiny
    swing = from_to(ops, scale(new_tip, 1.0 / new_reach), scale(target, 1.0 / (reach + tiny)), axis)
    for j in range(1, len(x)):
        point = (x[j], y[j], z[j])
        beyond = possible & (chosen < j)
        if ops.any(beyond):
            px, py, pz = turn_about(axis, cosine, sine, (x[j] - bx, y[j] - by, z[j] - bz))
            point = tuple(ops.choose(beyond, [bx + px, by + py, bz + pz], point))
        x[j], y[j], z[j] = ops.choose(possible, rotate(swing, point), [x[j], y[j], z[j]])
    return gap(ops, (x[-1], y[-1], z[-1]), target)
