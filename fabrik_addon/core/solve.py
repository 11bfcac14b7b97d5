# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The seam between arrays and kernels: check the input, solve one pose or many, say how it ended."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .fabrik.passes import reach_test
from .goals.link_stretch import STRETCH_GAIN, STRETCH_ROUNDING, STRETCH_SOLVES, stretch_factor
from .goals.pole import NO_BEND, bend_direction, side_toward, turn_pole
from .goals.softness import is_eased, soft_share, soft_target
from .goals.tip_rotation import last_link
from .math.operations import ARRAY, SCALAR, Array, Component, Operations, Vector, add_up
from .math.quaternions import IDENTITY, Quaternion, from_to, multiply, rotate
from .math.vectors import distance_between, first_direction, norm, scale
from .model.chain_start import StartPose, batch_shape, from_root, start_from
from .model.tree_start import start_tree
from .optimise.constrained_reach import STEPS, coordinates_of, reach_within_limits
from .problem import Chain, FabrikError, Goals, Options, Pose, Solution, Status
from .solve_tree import solve_tree
from .solvers.table import method_for

DEFAULT_OPTIONS = Options()

_REACHED, _OUT_OF_REACH = int(Status.REACHED), int(Status.OUT_OF_REACH)
_LIMITED, _STALLED = int(Status.LIMITED), int(Status.STALLED)


def solve(chain: Chain, pose: Pose, goals: Goals, options: Options = DEFAULT_OPTIONS) -> Solution:
    """Pose a chain so that its effector is at its target.

    Same input, same bits: there is no state between calls and nothing is random.

    Args:
        chain: a plain chain (one effector, at its end).
        pose: positions (..., J, 3) that have the links' lengths, rotations (..., J, 4).
        goals: targets (..., 1, 3), optionally poles (..., 1, 3) and pole angles (1,) in radians.
        options: sweeps at most, error that counts as reached.

    Returns:
        pose, error, iterations and status, with the batch axes of pose and goals.

    Raises:
        FabrikError: a number isn't finite, or a shape doesn't fit.
    """
    if chain.is_plain and goals.meets is None:
        return solve_from(start_from(chain, pose), goals, options)
    return solve_tree(start_tree(chain, pose), goals, options)


def solve_from(start: StartPose, goals: Goals, options: Options = DEFAULT_OPTIONS) -> Solution:
    """Solve as ``solve`` does, from a pose that was made ready before."""
    found = solve_components(start, goals, options)
    batch = found.batch
    ops = ARRAY if batch else SCALAR
    return Solution(
        pose=Pose(ops.join(found.points, batch), ops.join([*found.frames, found.frames[-1]], batch), start.pose.base),
        error=ops.join_scalars(found.error, batch, float),
        iterations=ops.join_scalars(found.sweeps, batch, int),
        status=ops.join_scalars(found.status, batch, int),
        stretch=ops.join_scalars(found.stretch, batch, float),
    )


class ComponentSolution(NamedTuple):
    """A solution as components: floats for one pose, where arrays would cost as much as the solve."""

    batch: tuple[int, ...]
    points: list[Vector]
    """Joints, in armature space."""
    frames: list[Quaternion]
    """Of the bones, in armature space."""
    error: Component
    sweeps: Component
    status: Component
    """Values of ``Status``."""
    stretch: Component
    """Factor by which the links are longer than the chain's."""


def solve_components(start: StartPose, goals: Goals, options: Options = DEFAULT_OPTIONS) -> ComponentSolution:
    """Solve as ``solve_from`` does, and leave the result in components."""
    if options.moves_root:
        found = solve_components(start, *with_root_fixed(start, goals, options))
        return _move_root(found, goals, start.chain.total_length, options)
    if options.stretch_max > 1.0:
        return _stretch(start, goals, options)
    if goals.rotations is not None:
        return _solve_with_rotation(start, goals, options)
    chain, batch = start.chain, start.batch
    goals_batch = batch_shape(("targets", goals.targets, (1, 3)), ("poles", goals.poles, (1, 3)))
    if goals_batch and goals_batch != batch:
        try:
            batch = np.broadcast_shapes(goals_batch, batch)
        except ValueError as misfit:
            raise FabrikError(f"the batch shapes of goals {goals_batch} and pose {batch} don't fit") from misfit
        start = start_from(chain, start.pose, batch)
    ops = ARRAY if batch else SCALAR
    unit, root = chain.total_length, start.root
    target = from_root(_split_goal(ops, goals.targets, batch, "target", chain), root, unit)
    pole = None
    with ops.quiet():
        if goals.poles is not None:
            pole = from_root(_split_goal(ops, goals.poles, batch, "pole target", chain), root, unit)
            start, pole = _turn_by_angle(ops, start, pole, target, goals)
        desired = soft_target(ops, target, options.softness)
        points, frames, sweeps = method_for(chain, options).reach(ops, start, desired, pole, options)
        error = distance_between(ops, points[-1], target)
    rx, ry, rz = root
    joints = [(rx + unit * px, ry + unit * py, rz + unit * pz) for px, py, pz in points]
    status = _status(ops, start, target, options.softness, error <= options.tolerance)
    return ComponentSolution(batch, joints, frames, error, sweeps, status, 1.0 + 0.0 * error)


def with_root_fixed(start: StartPose, goals: Goals, options: Options) -> tuple[Goals, Options]:
    """Return what is to be solved before a root that gives way makes up for what is left.

    Where softness begins to hold the tip back the root takes all of it: a chain that is eased into its extension would
    be eased out of it again when it is solved again, by a root that goes on and on.
    """
    fixed = replace(options, moves_root=False)
    if options.softness == 0.0 or options.stretch_max > 1.0:
        return goals, fixed
    away = goals.targets - start.pose.positions[..., :1, :]
    most = (1.0 - options.softness) * start.chain.total_length
    beyond = np.maximum(1.0 - most / np.maximum(np.linalg.norm(away, axis=-1, keepdims=True), 1e-300), 0.0)
    return replace(goals, targets=goals.targets - beyond * away), replace(fixed, softness=0.0)


def _move_root(found: ComponentSolution, goals: Goals, unit: float, options: Options) -> ComponentSolution:
    """Shift a chain by what its tip is off its target, where that is more than the tolerance."""
    ops = ARRAY if found.batch else SCALAR
    target, tip = ops.split(goals.targets, found.batch)[0], found.points[-1]
    off = distance_between(ops, tip, target) / unit
    away = off > options.tolerance
    dx, dy, dz = (ops.where(away, t - p, 0.0 * p) for t, p in zip(target, tip, strict=True))
    points = [(px + dx, py + dy, pz + dz) for px, py, pz in found.points]
    error = ops.where(away, 0.0 * off, off)
    return found._replace(points=points, error=error, status=0 * found.status + _REACHED)


def _stretch(start: StartPose, goals: Goals, options: Options) -> ComponentSolution:
    """Lengthen all links by one factor where the tip can't reach its target without."""
    rigid = replace(options, stretch_max=1.0)
    found = solve_components(start, goals, rigid)
    batch, unit, most = found.batch, start.chain.total_length, options.stretch_max
    ops = ARRAY if batch else SCALAR
    with ops.quiet():
        short = (found.status == _OUT_OF_REACH) | (found.status == _LIMITED)
        if not ops.any(short):
            return found
        (target,) = ops.split(goals.targets, batch)
        stretched = _scaled(ops, found, target, unit, most)
        going = short & (stretched.stretch > 1.0)
        best = _choose_solution(ops, going, stretched, found)
        # Once scaled a pole is elsewhere, a rotation has room, and limits may let the tip come nearer.
        bends = options.softness > 0.0 and not (goals.poles is None and goals.rotations is None)
        nearby = replace(rigid, softness=0.0, tolerance=options.tolerance / most)
        for _ in range(STRETCH_SOLVES):
            going = going & ((best.error > options.tolerance) | bends)
            if not ops.any(going):
                break
            again = solve_components(start, _shrunk(ops, goals, best, unit, options.softness), nearby)
            again = again._replace(sweeps=best.sweeps + again.sweeps)
            stretched = _scaled(ops, again, target, unit, most)
            is_better = going & (
                stretched.error < (1.0 - STRETCH_ROUNDING) * ops.maximum(best.error, options.tolerance)
            )
            going = is_better & (stretched.error < STRETCH_GAIN * best.error)
            best = _choose_solution(ops, is_better, stretched, best)
            bends = False
        reached = best.error <= options.tolerance
        # What limits keep from a target that is near enough for stretched links isn't out of reach.
        distance = distance_between(ops, best.points[0], target)
        near_enough = (distance > unit) & (distance <= most * unit) & (start.constrained_chain is not None)
        is_limited = (best.status == _OUT_OF_REACH) & near_enough
        # A tip that is where softness lets it be is no nearer for that.
        is_eased_away = best.status == _REACHED
        status = ops.where(is_limited, _LIMITED, ops.where(is_eased_away, _OUT_OF_REACH, best.status))
    return best._replace(status=ops.where(reached, _REACHED, status))


def _scaled(ops: Operations, found: ComponentSolution, target: Vector, unit: float, most: float) -> ComponentSolution:
    """Scale a pose about its root until its tip is as near to the target as it gets."""
    rx, ry, rz = found.points[0]
    links = [(x - rx, y - ry, z - rz) for x, y, z in found.points]
    factor = stretch_factor(ops, links[-1], (target[0] - rx, target[1] - ry, target[2] - rz), most)
    points = [(rx + factor * x, ry + factor * y, rz + factor * z) for x, y, z in links]
    return found._replace(points=points, error=distance_between(ops, points[-1], target) / unit, stretch=factor)


def _shrunk(ops: Operations, goals: Goals, found: ComponentSolution, unit: float, softness: float) -> Goals:
    """Return where a chain that isn't stretched would have to reach, with the softness taken off."""
    root, batch, share = found.points[0], found.batch, 1.0 / found.stretch

    def shrunk(points: Array, share: Component) -> Array:
        (point,) = ops.split(points, batch)
        near = tuple(r + share * (p - r) for r, p in zip(root, point, strict=True))
        return ops.join([near], batch)  # type: ignore[no-any-return]

    # Where links can't be any longer it is softness that holds the tip back, as it does without stretch.
    eased = soft_share(ops, from_root(ops.split(goals.targets, batch)[0], root, unit), softness)
    poles = None if goals.poles is None else shrunk(goals.poles, share)
    return replace(goals, targets=shrunk(goals.targets, ops.minimum(share, eased)), poles=poles)


def _choose_solution(
    ops: Operations, where: Component, yes: ComponentSolution, no: ComponentSolution
) -> ComponentSolution:
    """Choose, lane by lane, between two solutions."""
    error, sweeps, status, stretch = ops.choose(
        where, (yes.error, yes.sweeps, yes.status, yes.stretch), (no.error, no.sweeps, no.status, no.stretch)
    )
    return ComponentSolution(
        batch=no.batch,
        points=[_choose(ops, where, a, b) for a, b in zip(yes.points, no.points, strict=True)],
        frames=[_choose(ops, where, a, b) for a, b in zip(yes.frames, no.frames, strict=True)],
        error=error,
        sweeps=sweeps,
        status=status,
        stretch=stretch,
    )


def _solve_with_rotation(start: StartPose, goals: Goals, options: Options) -> ComponentSolution:
    """Solve for a tip that also takes a rotation, as far as its position allows."""
    assert goals.rotations is not None  # asked for goals with a rotation only
    batch_shape(("rotations of the goals", goals.rotations, (1, 4)))
    plain = solve_components(start, replace(goals, rotations=None), options)
    batch = np.broadcast_shapes(plain.batch, goals.rotations.shape[:-2])
    if batch != start.batch:
        start = start_from(start.chain, start.pose, batch)
        plain = solve_components(start, replace(goals, rotations=None), options)
    chain = start.chain
    ops = ARRAY if batch else SCALAR
    unit, (rx, ry, rz) = chain.total_length, start.root
    (desired,) = ops.split(goals.rotations, batch)
    if not ops.all(ops.isfinite(add_up(desired))):
        raise FabrikError(f"the rotation goal of the chain that ends at {chain.name(-1)} is not a finite number")
    (goal,) = ops.split(goals.targets, batch)
    (ax, ay, az), (bx, by, bz) = plain.points[-2:]
    w, x, y, z = start.frames[-2]
    wished = rotate(desired, rotate((w, -x, -y, -z), scale(start.links[-1], unit)))
    link, points, frames, sweeps = (bx - ax, by - ay, bz - az), plain.points, plain.frames, plain.sweeps
    with ops.quiet():
        if len(chain.links) > 1:
            target = (goal[0] - rx, goal[1] - ry, goal[2] - rz)
            last = last_link(ops, chain.links[:-1], target, wished, link)
            root_of_last = ops.join([(goal[0] - last[0], goal[1] - last[1], goal[2] - last[2])], batch)
            # One link alone turns the same way whatever the method.
            rest = options if len(chain.links) > 2 else replace(options, solver="FABRIK")
            others = solve_components(start.without_tip, replace(goals, targets=root_of_last, rotations=None), rest)
            ex, ey, ez = others.points[-1]
            tip = (ex + last[0], ey + last[1], ez + last[2])
            better = distance_between(ops, tip, goal) <= ops.maximum(options.tolerance, 1.01 * plain.error) * unit
            laid = [*others.points, tip]
            points = [_choose(ops, better, a, b) for a, b in zip(laid, points, strict=True)]
            link = _choose(ops, better, last, link)
            frames = [_choose(ops, better, a, b) for a, b in zip(others.frames, frames, strict=False)]
            sweeps = plain.sweeps + others.sweeps
        # Where the link can't lie as the rotation wants it, the shortest turn from there is what is nearest to it.
        turned = multiply(from_to(ops, wished, link, start.x_axes[-2]), desired)
        frames = [*frames[: len(chain.links) - 1], turned]
        if start.constrained_chain is not None:
            points, frames = _limit_rotation(ops, start, frames, plain.frames, goal, options)
            # With few steps the way from the rotation may end short of a target that is reached without.
            short = (plain.error <= options.tolerance) & (
                distance_between(ops, points[-1], goal) > options.tolerance * unit
            )
            points = [_choose(ops, short, a, b) for a, b in zip(plain.points, points, strict=True)]
            frames = [_choose(ops, short, a, b) for a, b in zip(plain.frames, frames, strict=True)]
        error = distance_between(ops, points[-1], goal) / unit
    status = ops.where(error <= options.tolerance, _REACHED, plain.status)
    return ComponentSolution(batch, points, frames, error, sweeps, status, stretch=1.0 + 0.0 * error)


def _limit_rotation(
    ops: Operations, start: StartPose, wished: list[Quaternion], plain: list[Quaternion], goal: Vector, options: Options
) -> tuple[list[Vector], list[Quaternion]]:
    """Reach from what limits leave of frames with the rotation; return joints and frames."""
    assert start.constrained_chain is not None  # asked for chains with limits only
    unit, root = start.chain.total_length, start.root
    constrained_chain, target, steps = (
        start.constrained_chain,
        from_root(goal, root, unit),
        min(options.iterations, STEPS),
    )
    first = coordinates_of(ops, constrained_chain, wished)
    _, placed, _, _ = reach_within_limits(
        ops,
        constrained_chain,
        first,
        lambda: coordinates_of(ops, constrained_chain, plain),
        target,
        options.tolerance,
        steps,
    )
    points = [(root[0] + unit * x, root[1] + unit * y, root[2] + unit * z) for x, y, z in placed.joints]
    return points, placed.frames


def _choose(ops: Operations, where: Component, yes: tuple[Any, ...], no: tuple[Any, ...]) -> Any:
    return tuple(ops.choose(where, yes, no))


def _status(ops: Operations, start: StartPose, target: Vector, softness: float, reached: Component) -> Component:
    if ops.all(reached):
        return ops.where(reached, _REACHED, _STALLED)
    too_far, too_near = reach_test(start.lengths, norm(ops, target))
    beyond = too_far | too_near | is_eased(ops, target, softness)
    failed = _STALLED if start.constrained_chain is None else _LIMITED
    return ops.where(reached, _REACHED, ops.where(beyond, _OUT_OF_REACH, failed))


def _split_goal(ops: Operations, goal: Array, batch: tuple[int, ...], kind: str, chain: Chain) -> Vector:
    (point,) = ops.split(goal, batch)
    if not ops.all(ops.isfinite(point[0] + point[1] + point[2])):
        raise FabrikError(f"the {kind} of the chain that ends at {chain.name(-1)} is not a finite number")
    return point  # type: ignore[no-any-return]


def _turn_by_angle(
    ops: Operations, start: StartPose, pole: Vector, target: Vector, goals: Goals
) -> tuple[StartPose, Vector]:
    """Return the pole turned by its angle, and the start as it is seen with that."""
    angle = 0.0 if goals.pole_angles is None else float(goals.pole_angles[0])
    if not math.isfinite(angle):
        name = start.chain.name(-1)
        raise FabrikError(f"the pole angle of the chain that ends at {name} is not a finite number")
    if angle == 0.0:
        return start, pole
    turned = turn_pole(ops, pole, first_direction(ops, [target, start.points[-1], start.points[1]]), angle)
    chord = first_direction(ops, [start.points[-1], start.points[1]])
    straight = norm(ops, bend_direction(ops, start.joints, chord)) <= NO_BEND
    if start.constrained_chain is not None or not ops.any(straight):
        return start, turned
    # A straight chain was turned to the pole about its own line, and not about that to the target.
    hint = start.x_axes[0]
    was = side_toward(ops, start.joints, turn_pole(ops, pole, chord, angle), hint)
    seen = from_to(ops, was, side_toward(ops, start.joints, turned, hint), chord)
    zero = 0.0 * angle * chord[0]
    twist = _choose(ops, straight, seen, tuple(zero + part for part in IDENTITY))

    def transport(
        ops: Operations, start: StartPose, points: Sequence[Vector], turn: Quaternion | None
    ) -> list[Quaternion]:
        return plain_follow(ops, start, points, None if turn is None else multiply(turn, twist))

    plain_follow = start.transport
    return replace(start, transport=transport), turned
