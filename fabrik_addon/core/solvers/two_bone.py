# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two links in closed form: the law of cosines in the bend plane (``fabrik.passes.middle_joint``).

The pole, the present bend or the range of a hinge decides the side to which they bend. Out of reach both links lie on
the line to the target. Within limits the closed form is kept where the limits allow it. Else the nearest pose that the
limits allow is the reference pose of ``reach_within_limits``.
"""

from ..fabrik.passes import middle_joint, reach_test, straight_to_target
from ..goals.pole import bend_plane
from ..math.operations import TINY, Component, Condition, Operations, Vector
from ..math.quaternions import Quaternion, conjugate, from_to, multiply, rotate
from ..math.vectors import (
    NO_DIRECTION,
    add,
    choose_each,
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
from ..model.constrained_chain import ConstrainedChain, coordinates_of, place
from ..model.joint_limits import SwingTwist, angle_within, hinge_axis, swing_twist
from ..problem import Chain, Options
from ..within_limits.bend_toward_pole import bend_toward_pole
from ..within_limits.constrained_reach import reach_within_limits
from .solver import Solver, SolverResult

_CLAMP_ROUNDING = 1e-12
"""Half-sine or radians by which limits may change the coordinates of a pose that they allow: rounding."""

_NO_TARGET_DIRECTION = 1e-30
"""Distance from the root, over the chain's length, up to which a target has no direction: farther away the links must
lie across it, or leave the tip beside the target."""

_SAME_BEND = -0.999
"""Cosine of the angle between the old and the new chord, above which the bend is transported from one to the other:
near the opposite direction the shortest rotation between them is not defined."""


def hinge_angles(
    ops: Operations, first: Vector, second: Vector, axis: int, distance: Component
) -> tuple[Component, Component]:
    """Return the two angles of the second bone's hinge at which the tip is at a distance from the root.

    With m the first link and w the second, both in the parent frame of the hinge, and the unit axis a, the law of
    cosines is ``m . R(a, angle) w = (d^2 - |m|^2 - |w|^2) / 2``, which is ``A cos(angle) + B sin(angle) = C`` with ``A
    = m . (w - (w . a) a)``, ``B = m . (a x w)`` and ``C = (d^2 - |m|^2 - |w|^2) / 2 - (m . a)(w . a)``. Its solutions
    are ``atan2(B, A) +- acos(C / sqrt(A^2 + B^2))``; the cosine is clamped for the tip nearest to the distance.
    """
    unit = _unit(axis, 0.0 * distance)
    a, b = dot(first, rejection(second, unit)), dot(first, cross(unit, second))
    along = first[axis] * second[axis]
    c = 0.5 * (distance * distance - dot(first, first) - dot(second, second)) - along
    size = ops.sqrt(a * a + b * b) + TINY
    cosine = ops.minimum(ops.maximum(c / size, -1.0), 1.0)
    middle, spread = ops.atan2(b, a), ops.atan2(ops.sqrt(1.0 - cosine * cosine), cosine)
    return middle + spread, middle - spread


def _unit(axis: int, zero: Component) -> Vector:
    return zero + (axis == 0), zero + (axis == 1), zero + (axis == 2)


def _about(ops: Operations, axis: int, angle: Component) -> Quaternion:
    """Return the rotation by an angle about the x, y or z axis."""
    x, y, z = scale(_unit(axis, 0.0 * angle), ops.sin(0.5 * angle))
    return ops.cos(0.5 * angle), x, y, z


def _bend_hinge(
    ops: Operations, chain: ConstrainedChain, axis: int, hinge: SwingTwist, distance: Component
) -> tuple[Quaternion, Vector]:
    """Return the hinge's own rotation that puts the tip at a distance from the root, and the tip in the first frame.

    Of the two mirror images the one within the hinge's range is taken, or if both are the one nearer to the present
    angle.
    """
    twist = _about(ops, 1, hinge[1])
    first = rotate(conjugate(chain.rests[1]), chain.links[0])
    second, present = rotate(twist, chain.links[1]), 2.0 * ops.asin(hinge[axis])
    best: list[Component] = []
    for desired in hinge_angles(ops, first, second, axis, distance):
        angle = angle_within(ops, chain.limits[1], axis, desired)
        bend = _about(ops, axis, angle)
        tip = add(first, rotate(bend, second))
        off, change = norm(ops, tip) - distance, angle - present
        # |off| + 1e-9 |change|: the second term is less than 1e-8 and decides between angles that are as near only.
        cost = ops.maximum(off, -off) + 1e-9 * ops.maximum(change, -change)
        found = [cost, *bend, *tip]
        best = ops.choose(cost < best[0], found, best) if best else found
    w, x, y, z = best[1:5]
    return multiply((w, x, y, z), twist), rotate(chain.rests[1], (best[5], best[6], best[7]))


def _solve_with_hinge(
    ops: Operations,
    start: StartPose,
    chain: ConstrainedChain,
    axis: int,
    hinge: SwingTwist,
    target: Vector,
    pole: Vector | None,
) -> list[Quaternion]:
    """Return the bones' frames with the second bone bent about its hinge, and the first one free of its limits.

    The first bone is rotated by the shortest rotation from the tip to the target, and with a pole about the line to the
    target until the middle joint is on the pole's side.
    """
    own, tip = _bend_hinge(ops, chain, axis, hinge, norm(ops, target))
    first = start.frames[0]
    along = first_direction(ops, [target, start.points[-1], start.points[1]])
    first = multiply(from_to(ops, rotate(first, tip), along, start.x_axes[0]), first)
    if pole is not None:
        bend, desired = rejection(rotate(first, chain.links[0]), along), rejection(pole, along)
        usable = (norm(ops, bend) > NO_DIRECTION) & (norm(ops, desired) > NO_DIRECTION)
        bend = choose_parts(ops, usable, bend, start.x_axes[0])
        desired = choose_parts(ops, usable, desired, start.x_axes[0])
        first = multiply(from_to(ops, bend, desired, along), first)
    return [first, multiply(multiply(first, chain.rests[1]), own)]


def _bend(ops: Operations, start: StartPose, along: Vector, pole: Vector | None) -> tuple[Vector, Quaternion | None]:
    """Return the unit vector toward which the links bend, and with a pole the rotation that brings their bend there.

    Without a pole the present bend b, perpendicular to the old chord c, is transported to the new chord a by the
    shortest rotation from c to a: ``b - (b . a) / (1 + c . a) (c + a)``.
    """
    hint = start.x_axes[0]
    if pole is None:
        middle, tip = start.points[1:]
        chord = norm(ops, tip)
        if ops.all(chord > NO_DIRECTION):
            before = scale(tip, 1.0 / chord)
            cosine = dot(before, along)
            bend = rejection(middle, before)
            share = dot(bend, along) / (1.0 + cosine + TINY)
            bx, by, bz = (b - share * (c + a) for b, c, a in zip(bend, before, along, strict=True))
            size = norm(ops, (bx, by, bz))
            if ops.all((size > NO_DIRECTION) & (cosine > _SAME_BEND)):
                return (bx / size, by / size, bz / size), None
    side, rotation = bend_plane(ops, start.points, along, pole, hint)
    if pole is not None:
        return side, rotation
    # A chain folded onto its root has no chord: its middle joint stays on its side of the line to the target.
    bend = rejection(middle, along)
    size = norm(ops, bend)
    folded = (chord <= NO_DIRECTION) & (size > NO_DIRECTION)
    return choose_parts(ops, folded, scale(bend, 1.0 / (size + TINY)), side), None


def _solve_unconstrained(
    ops: Operations, start: StartPose, target: Vector, pole: Vector | None
) -> tuple[list[Vector], list[Quaternion]]:
    """Return joints and frames at the target without limits, bent toward the pole or else to the present side."""
    first, second = start.lengths
    distance = norm(ops, target)
    at_root = distance <= _NO_TARGET_DIRECTION
    along = scale(target, 1.0 / (distance + TINY))
    if ops.any(at_root):
        along = choose_parts(ops, at_root, first_direction(ops, [start.points[-1], start.points[1]]), along)
        distance = ops.where(at_root, 0.0, distance)
    side, rotation = _bend(ops, start, along, pole)
    too_far, too_near = reach_test(start.lengths, distance)
    blocked = too_far | too_near
    middle = middle_joint(ops, first, second, distance, along, side)
    tip = target
    if ops.any(blocked):
        _, straight_middle, straight_tip = straight_to_target(ops, start.lengths, along, too_far)
        middle, tip = choose_parts(ops, blocked, straight_middle, middle), choose_parts(ops, blocked, straight_tip, tip)
    points = [start.points[0], middle, tip]
    return points, start.transport(ops, start, points, rotation)


def _solve(ops: Operations, start: StartPose, target: Vector, pole: Vector | None, options: Options) -> SolverResult:
    once = 0.0 * target[0] + 1.0
    chain = start.constrained_chain
    if chain is None:
        return SolverResult(*_solve_unconstrained(ops, start, target, pole), once)
    present = coordinates_of(ops, chain, start.frames)
    axis = hinge_axis(chain.limits[1]) if chain.inherits[1] else None
    if axis is None or axis == 1:
        _, frames = _solve_unconstrained(ops, start, target, pole)
    else:
        frames = _solve_with_hinge(ops, start, chain, axis, present[1], target, pole)
        if chain.limits[0].is_free:
            return SolverResult(_joints_of_frames(chain, frames), frames, once)
    return _within_limits(ops, chain, frames, target, pole, options)


def _joints_of_frames(chain: ConstrainedChain, frames: list[Quaternion]) -> list[Vector]:
    """Return the joints of bones with given frames."""
    first, second = (rotate(frame, link) for frame, link in zip(frames, chain.links, strict=True))
    return [scale(first, 0.0), first, add(first, second)]


def _within_limits(
    ops: Operations,
    chain: ConstrainedChain,
    frames: list[Quaternion],
    target: Vector,
    pole: Vector | None,
    options: Options,
) -> SolverResult:
    """Keep the frames of the closed form where limits allow them, else solve within limits from the nearest pose."""
    points = _joints_of_frames(chain, frames)
    unclamped, coordinates = [], coordinates_of(ops, chain, frames)
    for parent, rest, frame, inherits in zip([None, frames[0]], chain.rests, frames, chain.inherits, strict=True):
        parent_frame = multiply(parent, rest) if inherits and parent is not None else rest
        unclamped.append(swing_twist(ops, multiply(conjugate(parent_frame), frame)))
    feasible: Condition = distance_between(ops, points[-1], target) <= options.tolerance
    for within, before in zip(coordinates, unclamped, strict=True):
        feasible = feasible & (distance_between(ops, within, before) <= _CLAMP_ROUNDING)
    if ops.all(feasible):
        return SolverResult(points, frames, 0.0 * target[0] + 1.0)
    nearest = place(ops, chain, coordinates)
    pose, _, used = reach_within_limits(ops, nearest, target, options.tolerance, options.iterations)
    if pole is not None:
        pose = bend_toward_pole(ops, pose, target, pole, options.tolerance)
    return SolverResult(
        choose_each(ops, feasible, points, pose.joints),
        choose_each(ops, feasible, frames, pose.frames),
        ops.where(feasible, 1.0, used),
    )


def _refusal(chain: Chain) -> str:
    count = len(chain.links)
    if count == 2:
        return ""
    return f"Two Bone is for two links, the chain that ends at {chain.name(-1)} has {count}: choose another solver"


TWO_BONE = Solver(_solve, _refusal)
