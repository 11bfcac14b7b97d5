# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The seam between arrays and kernels: check the input, solve one pose or many, say how it ended."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from .fabrik import reach_test
from .frames import turn_frames
from .lanes import MANY, ONE, Component, Vector, add_up
from .least_squares import Limb
from .pole import turn_pole
from .pole_wish import lean_to_pole
from .problem import Chain, FabrikError, Floats, Goals, Options, Pose, Solution, Status
from .reach import reach_target
from .rotation_goal import last_link
from .soft_reach import is_eased, soft_target
from .vectors import Joints, Quaternion, first_direction, from_to, gap, multiply, norm, rotate, scale, x_axis
from .within_limits import STEPS, reach_within_limits, turns_of

DEFAULT_OPTIONS = Options()

MISFIT = 1e-3
"""Difference of a link in the pose from its length that counts as rounding, over its length."""

_REACHED, _OUT_OF_REACH = int(Status.REACHED), int(Status.OUT_OF_REACH)
_LIMITED, _STALLED = int(Status.LIMITED), int(Status.STALLED)


@dataclass(frozen=True)
class StartPose:
    """A chain and the pose it is solved from, checked and split into components: what many goals have in common."""

    chain: Chain
    pose: Pose
    batch: tuple[int, ...]
    root: Vector
    """In armature space."""
    points: list[Vector]
    """Joints from the root, in units of the chain's length: thresholds are then scale free, and nothing is lost far
    from the origin."""
    joints: Joints
    """The same, component by component."""
    lengths: list[float]
    """Of the links, in units of the chain's length."""
    frames: list[Quaternion]
    """Of the bones, in armature space."""
    links: list[Vector]
    """From each joint to the next."""
    x_axes: list[Vector]
    """Of the frames."""
    limb: Limb | None
    """The bones with their limits, if they have any."""

    @cached_property
    def without_tip(self) -> StartPose:
        """The start of the chain without its last bone, which has another one before it."""
        pose = Pose(self.pose.positions[..., :-1, :], self.pose.rotations[..., :-1, :], self.pose.base)
        return start_from(self.chain.without_tip, pose, self.batch)


def start_from(chain: Chain, pose: Pose, batch: tuple[int, ...] | None = None) -> StartPose:
    """Make a pose ready to be solved, once for all goals.

    Args:
        chain: a plain chain (one effector, at its end).
        pose: positions (..., J, 3) that have the links' lengths, rotations (..., J, 4).
        batch: shape of the batch, if the goals have more axes than the pose.

    Raises:
        FabrikError: a number isn't finite, or a shape doesn't fit.
    """
    if not chain.is_plain:
        raise FabrikError("only a plain chain can be solved: one effector, at the end of its last link")
    joints = len(chain.lengths)
    shape = _batch_shape(("positions", pose.positions, (joints, 3)), ("rotations", pose.rotations, (joints, 4)))
    if batch is None:
        batch = shape
    ops: Any = MANY if batch else ONE
    positions, frames = ops.split(pose.positions, batch), ops.split(pose.rotations, batch)
    for kind, rows in (("position", positions), ("rotation", frames)):
        for j, row in enumerate(rows):
            # A sum is finite where all its terms are; no pose is so large that it overflows.
            if not ops.all(ops.isfinite(sum(row))):
                raise FabrikError(f"the {kind} of {chain.name(j)} is not a finite number")
    unit = chain.total_length
    points = [_from_root(position, positions[0], unit) for position in positions]
    x, y, z = (list(component) for component in zip(*points, strict=True))
    lengths = [link / unit for link in chain.links]
    _check_links(ops, chain, points, lengths)
    links = [(bx - ax, by - ay, bz - az) for (ax, ay, az), (bx, by, bz) in pairwise(points)]
    axes = [x_axis(frame) for frame in frames]
    limb = _limb(ops, chain, pose, batch, links, frames) if chain.has_limits else None
    return StartPose(chain, pose, batch, positions[0], points, (x, y, z), lengths, frames, links, axes, limb)


def _check_links(ops: Any, chain: Chain, points: list[Vector], lengths: list[float]) -> None:
    """Refuse a pose that isn't one of the chain's: sweeps would mend it silently, and closed forms wouldn't."""
    for j, ((start, end), length) in enumerate(zip(pairwise(points), lengths, strict=True)):
        found = gap(ops, start, end)
        if ops.any(ops.maximum(found - length, length - found) > MISFIT * length + 1e-9):
            raise FabrikError(f"the pose puts {chain.name(j)} at a distance from the next joint that isn't its length")


def _limb(
    ops: Any, chain: Chain, pose: Pose, batch: tuple[int, ...], links: list[Vector], frames: list[Quaternion]
) -> Limb:
    zero = 0.0 * links[0][0]
    rests: list[Any] = [tuple(part + zero for part in rest) for rest in chain.rest[:-1].tolist()]
    if pose.base is not None:
        (base,) = ops.split(pose.base[..., None, :], batch)
        if not ops.all(ops.isfinite(add_up(base))):
            raise FabrikError(f"the frame that {chain.name(0)} turns in is not finite numbers")
        rests[0] = base
    return Limb(
        rests=rests,
        links=[rotate((w, -x, -y, -z), link) for (w, x, y, z), link in zip(frames, links, strict=False)],
        inherits=chain.inherits_list,
        limits=chain.joint_limits,
        weights=[tuple(row) for row in (1.0 - chain.stiffness[:-1]).tolist()],
    )


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
    return solve_from(start_from(chain, pose), goals, options)


def solve_from(start: StartPose, goals: Goals, options: Options = DEFAULT_OPTIONS) -> Solution:
    """Solve as ``solve`` does, from a pose that was made ready before."""
    found = solve_lanes(start, goals, options)
    batch = found.batch
    ops: Any = MANY if batch else ONE
    return Solution(
        pose=Pose(ops.join(found.points, batch), ops.join([*found.frames, found.frames[-1]], batch), start.pose.base),
        error=ops.join_scalars(found.error, batch, float),
        iterations=ops.join_scalars(found.sweeps, batch, int),
        status=ops.join_scalars(found.status, batch, int),
    )


@dataclass(frozen=True)
class LaneSolution:
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


def solve_lanes(start: StartPose, goals: Goals, options: Options = DEFAULT_OPTIONS) -> LaneSolution:
    """Solve as ``solve_from`` does, and leave the result in components."""
    if options.moves_root:
        return _move_root(solve_lanes(start, goals, replace(options, moves_root=False)), goals, options)
    if goals.rotations is not None:
        return _solve_with_rotation(start, goals, options)
    chain, batch = start.chain, start.batch
    goals_batch = _batch_shape(("targets", goals.targets, (1, 3)), ("poles", goals.poles, (1, 3)))
    if goals_batch and goals_batch != batch:
        try:
            batch = np.broadcast_shapes(goals_batch, batch)
        except ValueError as misfit:
            raise FabrikError(f"the batch shapes of goals {goals_batch} and pose {batch} don't fit") from misfit
        start = start_from(chain, start.pose, batch)
    ops: Any = MANY if batch else ONE
    unit, root = chain.total_length, start.root
    target = _from_root(_split_goal(ops, goals.targets, batch, "target", chain), root, unit)
    pole = None
    with ops.quiet():
        if goals.poles is not None:
            pole = _from_root(_split_goal(ops, goals.poles, batch, "pole target", chain), root, unit)
            pole = _turn_by_angle(ops, pole, target, start, goals)
        hint = start.x_axes[0]
        wish = soft_target(ops, target, options.softness)
        joints, sweeps, turn = reach_target(
            ops, start.joints, start.lengths, wish, pole, hint, options.tolerance, options.iterations
        )
        points = list(zip(*joints, strict=True))
        frames = turn_frames(ops, start.links, points, start.frames, start.x_axes, chain.inherits_list, turn)
        if start.limb is not None:
            points, frames, sweeps = _limit(ops, start, frames, wish, pole, options)
        error = gap(ops, points[-1], target)
    rx, ry, rz = root
    return LaneSolution(
        batch=batch,
        points=[(rx + unit * px, ry + unit * py, rz + unit * pz) for px, py, pz in points],
        frames=frames,
        error=error,
        sweeps=sweeps,
        status=_status(ops, start, target, options.softness, error <= options.tolerance),
    )


def _move_root(found: LaneSolution, goals: Goals, options: Options) -> LaneSolution:
    """Shift a chain by what its tip is off its target, where that is more than the tolerance."""
    ops: Any = MANY if found.batch else ONE
    (tx, ty, tz), (x, y, z) = ops.split(goals.targets, found.batch)[0], found.points[-1]
    away = found.error > options.tolerance
    dx, dy, dz = (ops.where(away, part, 0.0 * part) for part in (tx - x, ty - y, tz - z))
    points = [(px + dx, py + dy, pz + dz) for px, py, pz in found.points]
    error, status = ops.choose(away, (0.0 * found.error, _REACHED), (found.error, found.status))
    return replace(found, points=points, error=error, status=status)


def _solve_with_rotation(start: StartPose, goals: Goals, options: Options) -> LaneSolution:
    """Solve for a tip that also takes a rotation, as far as its position allows."""
    assert goals.rotations is not None  # asked for goals with a rotation only
    _batch_shape(("rotations of the goals", goals.rotations, (1, 4)))
    plain = solve_lanes(start, replace(goals, rotations=None), options)
    batch = np.broadcast_shapes(plain.batch, goals.rotations.shape[:-2])
    if batch != start.batch:
        start = start_from(start.chain, start.pose, batch)
        plain = solve_lanes(start, replace(goals, rotations=None), options)
    chain = start.chain
    ops: Any = MANY if batch else ONE
    unit, (rx, ry, rz) = chain.total_length, start.root
    (wish,) = ops.split(goals.rotations, batch)
    if not ops.all(ops.isfinite(add_up(wish))):
        raise FabrikError(f"the rotation goal of the chain that ends at {chain.name(-1)} is not a finite number")
    (goal,) = ops.split(goals.targets, batch)
    (ax, ay, az), (bx, by, bz) = plain.points[-2:]
    w, x, y, z = start.frames[-2]
    wished = rotate(wish, rotate((w, -x, -y, -z), scale(start.links[-1], unit)))
    link, points, frames, sweeps = (bx - ax, by - ay, bz - az), plain.points, plain.frames, plain.sweeps
    with ops.quiet():
        if len(chain.links) > 1:
            target = (goal[0] - rx, goal[1] - ry, goal[2] - rz)
            last, _ = last_link(ops, chain.links[:-1], target, wished, link)
            root_of_last = ops.join([(goal[0] - last[0], goal[1] - last[1], goal[2] - last[2])], batch)
            others = solve_lanes(start.without_tip, replace(goals, targets=root_of_last, rotations=None), options)
            ex, ey, ez = others.points[-1]
            tip = (ex + last[0], ey + last[1], ez + last[2])
            better = gap(ops, tip, goal) <= ops.maximum(options.tolerance, 1.01 * plain.error) * unit
            laid = [*others.points, tip]
            points = [_choose(ops, better, a, b) for a, b in zip(laid, points, strict=True)]
            link = _choose(ops, better, last, link)
            frames = [_choose(ops, better, a, b) for a, b in zip(others.frames, frames, strict=False)]
            sweeps = plain.sweeps + others.sweeps
        # Where the link can't lie as the rotation wants it, the shortest turn from there is what is nearest to it.
        turned = multiply(from_to(ops, wished, link, start.x_axes[-2]), wish)
        frames = [*frames[: len(chain.links) - 1], turned]
        if start.limb is not None:
            points, frames = _limit_rotation(ops, start, frames, plain.frames, goal, options)
        error = gap(ops, points[-1], goal) / unit
    status = ops.where(error <= options.tolerance, _REACHED, plain.status)
    return LaneSolution(batch=batch, points=points, frames=frames, error=error, sweeps=sweeps, status=status)


def _limit_rotation(
    ops: Any, start: StartPose, wished: list[Quaternion], plain: list[Quaternion], goal: Vector, options: Options
) -> tuple[list[Vector], list[Quaternion]]:
    """Reach from what limits leave of frames with the rotation; return joints and frames."""
    assert start.limb is not None  # asked for chains with limits only
    unit, root = start.chain.total_length, start.root
    first, second = turns_of(ops, start.limb, wished), turns_of(ops, start.limb, plain)
    target = _from_root(goal, root, unit)
    steps = min(options.iterations, STEPS)
    _, placed, _, _ = reach_within_limits(ops, start.limb, first, second, target, options.tolerance, steps)
    points = [(root[0] + unit * x, root[1] + unit * y, root[2] + unit * z) for x, y, z in placed.joints]
    return points, placed.frames


def _choose(ops: Any, where: Component, yes: tuple[Any, ...], no: tuple[Any, ...]) -> Any:
    return tuple(ops.choose(where, yes, no))


def _status(ops: Any, start: StartPose, target: Vector, softness: float, reached: Component) -> Component:
    if ops.all(reached):
        return ops.where(reached, _REACHED, _STALLED)
    too_far, too_near = reach_test(start.lengths, norm(ops, target))
    beyond = too_far | too_near | is_eased(ops, target, softness)
    failed = _STALLED if start.limb is None else _LIMITED
    return ops.where(reached, _REACHED, ops.where(beyond, _OUT_OF_REACH, failed))


def _limit(
    ops: Any, start: StartPose, advice: list[Quaternion], target: Vector, pole: Vector | None, options: Options
) -> tuple[list[Vector], list[Quaternion], Component]:
    """Reach within the joints' limits; return joints, frames and the starts used, given FABRIK's frames."""
    assert start.limb is not None  # asked for chains with limits only
    first, second = turns_of(ops, start.limb, start.frames), turns_of(ops, start.limb, advice)
    if pole is not None:
        # FABRIK's answer is in the pole's plane: what limits leave of it is the better start.
        first, second = second, first
    steps = min(options.iterations, STEPS)
    turns, placed, _, starts = reach_within_limits(ops, start.limb, first, second, target, options.tolerance, steps)
    if pole is not None:
        turns, placed = lean_to_pole(ops, start.limb, turns, target, pole, options.tolerance)
    return placed.joints, placed.frames, starts


def _from_root(point: Vector, root: Vector, unit: float) -> Vector:
    return (point[0] - root[0]) / unit, (point[1] - root[1]) / unit, (point[2] - root[2]) / unit


def _split_goal(ops: Any, goal: Floats, batch: tuple[int, ...], kind: str, chain: Chain) -> Vector:
    (point,) = ops.split(goal, batch)
    if not ops.all(ops.isfinite(point[0] + point[1] + point[2])):
        raise FabrikError(f"the {kind} of the chain that ends at {chain.name(-1)} is not a finite number")
    return point  # type: ignore[no-any-return]


def _turn_by_angle(ops: Any, pole: Vector, target: Vector, start: StartPose, goals: Goals) -> Vector:
    angle = 0.0 if goals.pole_angles is None else float(goals.pole_angles[0])
    if not math.isfinite(angle):
        name = start.chain.name(-1)
        raise FabrikError(f"the pole angle of the chain that ends at {name} is not a finite number")
    if angle == 0.0:
        return pole
    return turn_pole(ops, pole, first_direction(ops, [target, start.points[-1], start.points[1]]), angle)


def _batch_shape(*arrays: tuple[str, Floats | None, tuple[int, int]]) -> tuple[int, ...]:
    """Return the batch axes of arrays together; refuse shapes that don't fit."""
    batch: tuple[int, ...] = ()
    for name, values, core in arrays:
        if values is None or values.shape == core:
            continue
        if values.shape[-2:] != core:
            raise FabrikError(f"{name} have shape {values.shape}: it must end in {core}")
        try:
            batch = np.broadcast_shapes(batch, values.shape[:-2])
        except ValueError as misfit:
            raise FabrikError(f"{name} have shape {values.shape}: it doesn't fit the batch shape {batch}") from misfit
    return batch
