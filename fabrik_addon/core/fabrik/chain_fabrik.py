# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""FABRIK for one chain with one effector: passes, and the closed forms where passes alone fail.

A target is reached by the first of these cases that holds; joints have the root at the origin and are in units of the
chain's length.

1. The tip is within the tolerance of the target, and with a pole every joint is bent to its side: the pose stays, but
   for its last digits (``exact_finish``).
2. With a pole the solution is a pose in the bend plane of root, target and pole, found without passes
   (``bend_in_plane``), or that of the family through a pole shape (``pole_shape``). The other cases are without a pole.
3. The target is out of reach: all links lie on the line to the target (``passes.straight_to_target``).
4. Two links: the law of cosines.
5. Chain and target are on one line, off which passes never move a joint: the solution is an arc (``arc_where``).
6. Else passes are repeated (``passes.sweep_to_target``), and the exact finish closes the rest of the error. Where more
   than the tolerance is left the solution is the arc.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain as joined
from typing import NamedTuple

from ..goals.pole import bend_direction, bend_plane, bends_toward_pole
from ..math.operations import (
    Component,
    Components,
    Condition,
    Operations,
    Selection,
    Vector,
)
from ..math.quaternions import IDENTITY, Quaternion, identity_of
from ..math.vectors import (
    NO_DIRECTION,
    choose_each,
    choose_parts,
    combination,
    cross,
    distance_between,
    dot,
    first_direction,
    gather_parts,
    norm,
    onward,
    perpendicular,
    scale,
    scatter_vectors,
    vectors_of,
)
from ..problem import PoleShape
from .exact_finish import close_exactly
from .passes import Stop, middle_joint, reach_test, straight_to_target, sweep_to_target, within_reach
from .planar_pose import bend_angles, planar_pose
from .pole_shape import reach_in_shape

ON_ONE_LINE = 1e-5
"""Distance of a joint or a target from the line of the first link, over the chain's length, up to which it is on that
line: passes would take hundreds of sweeps to bend such a chain."""

SINGLE_PRECISION_ERROR = 3e-6
"""Error that Blender's single precision leaves of a pose that was solved, for chains of up to a hundred links."""

SAME_JOINT = 5e-6
"""Distance of a joint from that of the family through a pole shape, over the chain's length, up to which a pose
stays."""


class ReachProblem(NamedTuple):
    """One chain, one target, and when to stop: in units of the chain's length, the root at the origin."""

    points: Sequence[Vector]
    """Joints before."""
    lengths: Sequence[float]
    """Of the links, adding up to one."""
    target: Vector
    """Position of the tip."""
    pole: Vector | None
    """Point to whose side the chain bends, or None."""
    hint: Vector
    """Direction to which a straight chain bends when there is no pole."""
    tolerance: float
    """Distance from tip to target that counts as reached."""
    iterations: int
    """Sweeps at most."""
    pole_shape: PoleShape = ()
    """Pose through which the poses with the pole pass (``pole_shape``); empty where they are planar."""

    def gather(self, ops: Operations, items: Selection) -> ReachProblem:
        """Return the problem of the selected batch items only."""
        target, hint, *points = (gather_parts(ops, items, each) for each in (self.target, self.hint, *self.points))
        pole = None if self.pole is None else gather_parts(ops, items, self.pole)
        return self._replace(points=points, target=target, pole=pole, hint=hint)


def reach_target(ops: Operations, problem: ReachProblem) -> tuple[list[Vector], Component, Quaternion | None]:
    """Bring the tip to the target, bent toward the pole where there is one.

    Returns:
        joints after; iterations used (0 for a pose that stays, 1 for a pose found without passes); rotation of the bend
        plane about the root, None without a pole.
    """
    if problem.pole is not None and problem.pole_shape:
        return _reach_with_pole_shape(ops, problem, problem.pole)
    tip = problem.points[-1]
    error = distance_between(ops, tip, problem.target)
    done = error <= problem.tolerance
    if problem.pole is not None and ops.any(done):
        done = done & bends_toward_pole(ops, problem.points, problem.pole)
    if not ops.any(done):
        return _reach_anew(ops, problem)

    zero = 0.0 * error
    finished = list(problem.points)
    # The exact finish closes no error that is the rounding of a solved pose: every solve would move the chain again.
    close_exactly(
        ops, finished, problem.lengths, choose_parts(ops, error <= SINGLE_PRECISION_ERROR, tip, problem.target)
    )
    result = [0.0 + part for part in (*joined.from_iterable(finished), zero, *identity_of(zero))]
    rest = ops.active_indices(done)
    if rest is not None:
        found, sweeps, rotation = _reach_anew(ops, problem.gather(ops, rest))
        result = ops.scattered(rest, result, [*joined.from_iterable(found), sweeps, *(rotation or IDENTITY)])
    *flat, sweeps, w, qx, qy, qz = result
    return vectors_of(flat), sweeps, None if problem.pole is None else (w, qx, qy, qz)


def _reach_anew(ops: Operations, problem: ReachProblem) -> tuple[list[Vector], Component, Quaternion | None]:
    """Return the result of ``reach_target`` for poses none of which stays.

    With a pole the pose is found in the plane's own coordinates, so that rounding can't take a joint out of the plane.
    """
    if problem.pole is None:
        return *_reach_by_passes(ops, problem), None
    along = _line(ops, problem)
    side, rotation = bend_plane(ops, problem.points, along, problem.pole, problem.hint)
    p, q = bend_in_plane(ops, bend_angles(ops, problem.points), problem.lengths, norm(ops, problem.target))
    points = [combination(u, along, v, side) for u, v in zip(p, q, strict=True)]
    return points, 0.0 * p[-1] + 1.0, rotation


def _line(ops: Operations, problem: ReachProblem) -> Vector:
    """Return the unit vector from the root to the target; of a target at the root, of the chain before."""
    points, target = problem.points, problem.target
    distance = norm(ops, target)
    if ops.all(distance > NO_DIRECTION):
        return scale(target, 1.0 / distance)
    return first_direction(ops, [target, points[-1], points[1]])


def _reach_with_pole_shape(
    ops: Operations, problem: ReachProblem, pole: Vector
) -> tuple[list[Vector], Component, Quaternion]:
    """Return the result of ``reach_target`` for a chain with a pole shape; a pose that is found again stays.

    The rotation of the bend plane brings the joints of the chain before to those of the pose of the family whose tip is
    as far from the root: so the frames keep their rotation about the line root-tip, from whatever pose of the family a
    chain starts.
    """
    points, along = problem.points, _line(ops, problem)
    before = reach_in_shape(ops, problem.pole_shape, problem.lengths, norm(ops, points[-1]))
    side, rotation = bend_plane(ops, points, along, pole, problem.hint, before)
    across = cross(along, side)
    found = [
        onward(combination(p, along, q, side), r, across)
        for p, q, r in reach_in_shape(ops, problem.pole_shape, problem.lengths, norm(ops, problem.target))
    ]
    zero = 0.0 * along[0]
    stays = zero <= 0.0
    for point, new in zip(points, found, strict=True):
        stays = stays & (distance_between(ops, point, new) <= SAME_JOINT)
    rotation = choose_parts(ops, stays, identity_of(zero), rotation)
    return choose_each(ops, stays, points, found), ops.where(stays, zero, zero + 1.0), rotation


def bend_in_plane(
    ops: Operations, bends: Components, lengths: Sequence[float], distance: Component
) -> tuple[Components, Components]:
    """Return a chain in a plane, bent to the side of the second axis, its tip on the first axis at a distance.

    Out of reach all joints are on the first axis (``straight_to_target``). Two links take the law of cosines, three and
    more the planar pose of the family through the bends (``planar_pose``).

    Args:
        bends: angles (radians) between the links before, at every inner joint.
        lengths: of the links, adding up to one.
        distance: from the root to the target.

    Returns:
        the joints' coordinates along the first axis and along the second one, root first.
    """
    zero = 0.0 * distance
    p_axis, q_axis = (zero + 1.0, zero, zero), (zero, zero + 1.0, zero)
    too_far, too_near = reach_test(lengths, distance)
    blocked = too_far | too_near
    straight = [x for x, _, _ in straight_to_target(ops, lengths, p_axis, too_far)]
    if ops.all(blocked):
        return straight, [zero for _ in straight]
    if len(lengths) == 2:
        middle = middle_joint(ops, lengths[0], lengths[1], distance, p_axis, q_axis)
        p, q = [zero, middle[0], distance], [zero, middle[1], zero]
    else:
        p, q = planar_pose(ops, bends, lengths, within_reach(ops, lengths, distance))
    if ops.any(blocked):
        p, q = ops.choose(blocked, straight, p), ops.choose(blocked, [zero for _ in q], q)
    return p, q


def _reach_by_passes(ops: Operations, problem: ReachProblem) -> tuple[list[Vector], Component]:
    """Return the joints at the target and the sweeps used, without a pole: a closed form where there is one."""
    lengths, target, points = problem.lengths, problem.target, [*problem.points]
    distance = norm(ops, target)
    too_far, too_near = reach_test(lengths, distance)
    closed = blocked = too_far | too_near
    if ops.any(blocked):
        straight = straight_to_target(ops, lengths, _line(ops, problem), too_far)
        points = choose_each(ops, blocked, straight, points)
    if len(lengths) == 2:
        along = _line(ops, problem)
        side, _ = bend_plane(ops, problem.points, along, None, problem.hint)
        bent = (points[0], middle_joint(ops, lengths[0], lengths[1], distance, along, side), scale(along, distance))
        return choose_each(ops, blocked, points, bent), 0.0 * distance + 1.0
    side = problem.hint
    deadlocked = ops.negate(blocked) & on_one_line(ops, points, target)
    if ops.any(deadlocked):
        along = _line(ops, problem)
        side = perpendicular(ops, along, [side])
        points = arc_where(ops, deadlocked, points, lengths, distance, along, side)
        closed = blocked | deadlocked
    stop = Stop(problem.tolerance, problem.iterations)
    points, sweeps = sweep_to_target(ops, points, lengths, target, closed, stop)

    error = close_exactly(ops, points, lengths, target)
    stalled = (error > problem.tolerance) & ops.negate(blocked)
    if ops.any(stalled):
        along = _line(ops, problem)
        side = perpendicular(ops, along, [bend_direction(ops, points, along), side])
        points = arc_where(ops, stalled, points, lengths, distance, along, side)
    return points, ops.maximum(sweeps, 0.0 * distance + 1.0)


def on_one_line(ops: Operations, points: Sequence[Vector], target: Vector) -> Condition:
    """Tell whether all joints p and the target are on the line of the first link, |p_1 x p| / |p_1| <= ON_ONE_LINE."""
    first = points[1]
    limit = ON_ONE_LINE * ON_ONE_LINE * dot(first, first)
    off = cross(first, target)
    straight = dot(off, off) <= limit
    for point in points[2:]:
        if not ops.any(straight):
            break
        off = cross(first, point)
        straight = straight & (dot(off, off) <= limit)
    return straight


def arc_where(
    ops: Operations,
    condition: Condition,
    joints: Sequence[Vector],
    lengths: Sequence[float],
    distance: Component,
    along: Vector,
    side: Vector,
) -> list[Vector]:
    """Return joints, in the batch items where a condition holds those of the arc from the root to a distance.

    The arc is the planar pose, in the plane of two perpendicular unit vectors, of the family of the straight chain: it
    leads where passes never move a joint off the line (the deadlock of Aristidou and Lasenby 2011, section 5.4), and
    where they stall.
    """
    (chord,) = ops.gather(condition, [distance])
    along, side = gather_parts(ops, condition, along), gather_parts(ops, condition, side)
    p, q = bend_in_plane(ops, [0.0 * chord for _ in lengths[1:]], lengths, chord)
    arc = [combination(u, along, v, side) for u, v in zip(p, q, strict=True)]
    return scatter_vectors(ops, condition, joints, arc)
