# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two links in closed form: the law of cosines, turned into the plane of the bend.

A target between |l1 - l2| and l1 + l2 from the root has two solutions in any plane through root and target, mirror
images of each other; the pole, the present bend or a hinge's range says which. Beyond, the links lie on a line.
"""

from __future__ import annotations

from ..fabrik.passes import reach_test, straight_to_target
from ..goals.pole import bend_plane
from ..math.law_of_cosines import middle_joint
from ..math.operations import TINY, Component, Operations, Vector
from ..math.quaternions import Quaternion, from_to, multiply, rotate
from ..math.vectors import (
    NO_DIRECTION,
    choose_parts,
    cross,
    distance_between,
    dot,
    first_direction,
    norm,
    rejection,
    scale,
)
from ..model.chain_start import StartPose
from ..model.constrained_chain import ConstrainedChain
from ..model.joint_limits import SwingTwist, angle_within, hinge_axis, swing_twist
from ..optimise.constrained_reach import coordinates_of, reach_within_limits
from ..optimise.pole_task import bend_toward_pole
from ..problem import Chain, Options
from .solver import Solver, SolverResult

_ALLOWED = 1e-12
"""Half-sine or radians by which limits may change a turn that they allow: rounding."""

_NOWHERE = 1e-30
"""Distance from the root at which a target has no direction. However near another is, the links must lie across its
direction: any other would stretch them, or leave the tip beside it."""


def hinge_angles(
    ops: Operations, constrained_chain: ConstrainedChain, axis: int, twist: Quaternion, distance: Component
) -> tuple[Component, Component]:
    """Return the two angles of a knee's hinge at which the tip is at a distance from the root, or as near to it.

    With m the first link and w the second, both in the frame the knee turns in, and a the axis, the law of cosines says
    m . R(a, angle) w = (distance^2 - |m|^2 - |w|^2) / 2, which is A cos(angle) + B sin(angle) = C.

    Args:
        ops: the lanes' operations.
        limb: two bones, the second one a hinge.
        axis: of the hinge: 0 for x, 2 for z.
        twist: that the hinge turns.
        distance: from the root to the target.
    """
    first, second = _first_link_at_knee(constrained_chain), rotate(twist, constrained_chain.links[1])
    unit = _unit(axis, 0.0 * distance)
    a, b = dot(first, rejection(second, unit)), dot(first, cross(unit, second))
    along = first[axis] * second[axis]
    c = 0.5 * (distance * distance - dot(first, first) - dot(second, second)) - along
    size = ops.sqrt(a * a + b * b) + TINY
    cosine = ops.minimum(ops.maximum(c / size, -1.0), 1.0)
    middle, spread = ops.atan2(b, a), ops.atan2(ops.sqrt(1.0 - cosine * cosine), cosine)
    return middle + spread, middle - spread


def _first_link_at_knee(constrained_chain: ConstrainedChain) -> Vector:
    w, x, y, z = constrained_chain.rests[1]
    return rotate((w, -x, -y, -z), constrained_chain.links[0])


def _unit(axis: int, zero: Component) -> Vector:
    return zero + (axis == 0), zero + (axis == 1), zero + (axis == 2)


def _about(ops: Operations, axis: int, angle: Component) -> Quaternion:
    x, y, z = scale(_unit(axis, 0.0 * angle), ops.sin(0.5 * angle))
    return ops.cos(0.5 * angle), x, y, z


def _bend_hinge(
    ops: Operations, constrained_chain: ConstrainedChain, axis: int, knee: SwingTwist, distance: Component
) -> tuple[Quaternion, Vector]:
    """Return the knee's own rotation that puts the tip at a distance from the root, and the tip in the hip's frame.

    Of the two mirror images the one in the hinge's range is taken, or the nearer to the present one if both are.
    """
    twist = _about(ops, 1, knee[1])
    first, second, present = (
        _first_link_at_knee(constrained_chain),
        rotate(twist, constrained_chain.links[1]),
        2.0 * ops.asin(knee[axis]),
    )
    best: list[Component] = []
    for desired in hinge_angles(ops, constrained_chain, axis, twist, distance):
        angle = angle_within(ops, constrained_chain.limits[1], axis, desired)
        bend = _about(ops, axis, angle)
        x, y, z = rotate(bend, second)
        tip = (first[0] + x, first[1] + y, first[2] + z)
        off, turned = norm(ops, tip) - distance, angle - present
        # Half a turn in all is more than any other difference: it only decides between two that are as near.
        cost = ops.maximum(off, -off) + 1e-9 * ops.maximum(turned, -turned)
        found = [cost, *bend, *tip]
        best = ops.choose(cost < best[0], found, best) if best else found
    w, x, y, z = best[1:5]
    return multiply((w, x, y, z), twist), rotate(constrained_chain.rests[1], (best[5], best[6], best[7]))


def _reach_with_hinge(
    ops: Operations,
    start: StartPose,
    constrained_chain: ConstrainedChain,
    axis: int,
    knee: SwingTwist,
    target: Vector,
    pole: Vector | None,
) -> list[Quaternion]:
    """Return the bones' frames with the knee bent about its hinge and the hip turned as it must, whatever its limits.

    The hip turns the shortest way, and with a pole on about the line to the target until the knee points at it.
    """
    own, tip = _bend_hinge(ops, constrained_chain, axis, knee, norm(ops, target))
    hip = start.frames[0]
    along = first_direction(ops, [target, start.points[-1], start.points[1]])
    hip = multiply(from_to(ops, rotate(hip, tip), along, start.x_axes[0]), hip)
    if pole is not None:
        bend, desired = rejection(rotate(hip, constrained_chain.links[0]), along), rejection(pole, along)
        usable = (norm(ops, bend) > NO_DIRECTION) & (norm(ops, desired) > NO_DIRECTION)
        bend = tuple(ops.choose(usable, bend, start.x_axes[0]))
        desired = tuple(ops.choose(usable, desired, start.x_axes[0]))
        hip = multiply(from_to(ops, bend, desired, along), hip)
    return [hip, multiply(multiply(hip, constrained_chain.rests[1]), own)]


def _bend(ops: Operations, start: StartPose, along: Vector, pole: Vector | None) -> tuple[Vector, Quaternion | None]:
    """Return the unit vector toward which the links bend, and with a pole the turn that brings their bend there."""
    hint = start.x_axes[0]
    if pole is None:
        middle, tip = start.points[1:]
        chord = norm(ops, tip)
        if ops.all(chord > NO_DIRECTION):
            before = scale(tip, 1.0 / chord)
            cosine = dot(before, along)
            bend = rejection(middle, before)
            # The shortest turn from the old chord to the new, of a vector that is perpendicular to the old one.
            share = dot(bend, along) / (1.0 + cosine + TINY)
            bx, by, bz = (b - share * (c + a) for b, c, a in zip(bend, before, along, strict=True))
            size = norm(ops, (bx, by, bz))
            if ops.all((size > NO_DIRECTION) & (cosine > -0.999)):
                return (bx / size, by / size, bz / size), None
    side, turn = bend_plane(ops, start.joints, along, pole, hint)
    if pole is not None:
        return side, turn
    # Folded onto its root a chain has no line to turn from: its joint stays on the side of the target's line it is on.
    bend = rejection(middle, along)
    size = norm(ops, bend)
    folded = (chord <= NO_DIRECTION) & (size > NO_DIRECTION)
    return tuple(ops.choose(folded, scale(bend, 1.0 / (size + TINY)), side)), None


def _reach_freely(
    ops: Operations, start: StartPose, target: Vector, pole: Vector | None
) -> tuple[list[Vector], list[Quaternion]]:
    """Return joints and frames at the target, bent toward the pole or else as before."""
    first, second = start.lengths
    distance = norm(ops, target)
    nowhere = distance <= _NOWHERE
    along = scale(target, 1.0 / (distance + TINY))
    if ops.any(nowhere):
        along = tuple(ops.choose(nowhere, first_direction(ops, [start.points[-1], start.points[1]]), along))
        distance = ops.where(nowhere, 0.0, distance)
    side, turn = _bend(ops, start, along, pole)
    too_far, too_near = reach_test(start.lengths, distance)
    blocked = too_far | too_near
    middle = middle_joint(ops, first, second, distance, along, side)
    tip = target
    if ops.any(blocked):
        x, y, z = straight_to_target(ops, start.lengths, along, too_far)
        middle = tuple(ops.choose(blocked, (x[1], y[1], z[1]), middle))
        tip = tuple(ops.choose(blocked, (x[2], y[2], z[2]), tip))
    points = [start.points[0], middle, tip]
    return points, start.transport(ops, start, points, turn)


def _reach(ops: Operations, start: StartPose, target: Vector, pole: Vector | None, options: Options) -> SolverResult:
    once = 0.0 * target[0] + 1.0
    constrained_chain = start.constrained_chain
    if constrained_chain is None:
        return SolverResult(*_reach_freely(ops, start, target, pole), once)
    present = coordinates_of(ops, constrained_chain, start.frames)
    axis = hinge_axis(constrained_chain.limits[1]) if constrained_chain.inherits[1] else None
    if axis is None or axis == 1:
        _, frames = _reach_freely(ops, start, target, pole)
    else:
        frames = _reach_with_hinge(ops, start, constrained_chain, axis, present[1], target, pole)
        if constrained_chain.limits[0].is_free:
            return SolverResult(_laid(constrained_chain, frames), frames, once)
    return _within_limits(ops, constrained_chain, frames, present, target, pole, options)


def _laid(constrained_chain: ConstrainedChain, frames: list[Quaternion]) -> list[Vector]:
    """Return the joints of bones with given frames."""
    (x, y, z), (dx, dy, dz) = (rotate(frame, link) for frame, link in zip(frames, constrained_chain.links, strict=True))
    zero = 0.0 * x
    return [(zero, zero, zero), (x, y, z), (x + dx, y + dy, z + dz)]


def _within_limits(
    ops: Operations,
    constrained_chain: ConstrainedChain,
    frames: list[Quaternion],
    present: list[SwingTwist],
    target: Vector,
    pole: Vector | None,
    options: Options,
) -> SolverResult:
    """Keep closed-form frames where limits allow them, else reach by least squares from what they leave of them."""
    points = _laid(constrained_chain, frames)
    wished, coordinates = [], coordinates_of(ops, constrained_chain, frames)
    for parent, rest, frame, inherits in zip(
        [None, frames[0]], constrained_chain.rests, frames, constrained_chain.inherits, strict=True
    ):
        w, x, y, z = multiply(parent, rest) if inherits and parent is not None else rest
        wished.append(swing_twist(ops, multiply((w, -x, -y, -z), frame)))
    feasible: Component = distance_between(ops, points[-1], target) <= options.tolerance
    for turn, desired in zip(coordinates, wished, strict=True):
        feasible = feasible & (distance_between(ops, turn, desired) <= _ALLOWED)
    if ops.all(feasible):
        return SolverResult(points, frames, 0.0 * target[0] + 1.0)
    coordinates, placed, _, used = reach_within_limits(
        ops, constrained_chain, coordinates, lambda: present, target, options.tolerance, options.iterations
    )
    if pole is not None:
        coordinates, placed = bend_toward_pole(ops, constrained_chain, coordinates, target, pole, options.tolerance)
    return SolverResult(
        [choose_parts(ops, feasible, a, b) for a, b in zip(points, placed.joints, strict=True)],
        [choose_parts(ops, feasible, a, b) for a, b in zip(frames, placed.frames, strict=True)],
        ops.where(feasible, 1.0, used),
    )


def _refusal(chain: Chain) -> str:
    count = len(chain.links)
    if count == 2:
        return ""
    return f"Two Bone is for two links, the chain that ends at {chain.name(-1)} has {count}: choose another solver"


TWO_BONE = Solver(
    "Two Bone",
    "Arms and legs: exact, in no time; chains of two bones only",
    _reach,
    _refusal,
)
