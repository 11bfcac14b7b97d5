# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The seam between arrays and kernels: check the input, solve one pose or many, say how it ended."""

from __future__ import annotations

from typing import Any

import numpy as np

from .frames import turn_frames
from .lanes import MANY, ONE, Vector
from .pole import turn_pole
from .problem import Chain, FabrikError, Goals, Options, Pose, Solution, Status
from .reach import reach_target
from .vectors import first_direction, gap, x_axis

DEFAULT_OPTIONS = Options()


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
        FabrikError: a number isn't finite, a link has no length, or a shape doesn't fit.
    """
    batch = _batch_shape(chain, pose, goals)
    ops: Any = MANY if batch else ONE
    unit = chain.total_length
    points = ops.split(pose.positions, batch)
    frames = ops.split(pose.rotations, batch)
    (target,) = ops.split(goals.targets, batch)
    (pole,) = ops.split(goals.poles, batch) if goals.poles is not None else (None,)
    pole_angle = 0.0 if goals.pole_angles is None else float(goals.pole_angles[0])
    # A sum is finite where all its terms are; no pose is so large that it overflows.
    total = sum(map(sum, points)) + sum(map(sum, frames)) + sum(target) + sum(pole or ()) + pole_angle
    if not ops.all(ops.isfinite(total)):
        _refuse_not_finite(ops, chain, points, frames, target, pole)

    # Root at the origin, chain of length one: thresholds are scale free, and far from the origin nothing is lost.
    root = points[0]
    points = [_to_chain(point, root, unit) for point in points]
    target = _to_chain(target, root, unit)
    lengths = [link / unit for link in chain.links]
    x, y, z = (list(component) for component in zip(*points, strict=True))
    with ops.quiet():
        if pole is not None:
            pole = _to_chain(pole, root, unit)
            if pole_angle:
                along = first_direction(ops, [target, points[-1], points[1]])
                pole = turn_pole(ops, pole, along, pole_angle)
        reach = reach_target(
            ops, (x, y, z), lengths, target, pole, x_axis(frames[0]), options.tolerance, options.iterations
        )
        reached = list(zip(*reach.joints, strict=True))
        turned = turn_frames(ops, points, reached, frames, chain.inherits_list, reach.turn)
        error = gap(ops, reached[-1], target)

    rx, ry, rz = root
    positions = ops.join([(rx + unit * px, ry + unit * py, rz + unit * pz) for px, py, pz in reached], batch)
    failed = ops.where(reach.blocked, Status.OUT_OF_REACH, Status.STALLED)
    status = ops.where(error <= options.tolerance, Status.REACHED, failed)
    return Solution(
        pose=Pose(positions, ops.join([*turned, turned[-1]], batch)),
        error=ops.join_scalars(error, batch, float),
        iterations=ops.join_scalars(reach.sweeps, batch, int),
        status=ops.join_scalars(status, batch, int),
    )


def _to_chain(point: Vector, root: Vector, unit: float) -> Vector:
    return (point[0] - root[0]) / unit, (point[1] - root[1]) / unit, (point[2] - root[2]) / unit


def _batch_shape(chain: Chain, pose: Pose, goals: Goals) -> tuple[int, ...]:
    """Return the batch axes of pose and goals together; refuse shapes that don't fit."""
    if not chain.is_plain:
        raise FabrikError("only a plain chain can be solved: one effector, at the end of its last link")
    joints = len(chain.lengths)
    arrays = [("positions", pose.positions, (joints, 3)), ("rotations", pose.rotations, (joints, 4))]
    arrays.append(("targets", goals.targets, (1, 3)))
    if goals.poles is not None:
        arrays.append(("poles", goals.poles, (1, 3)))
    for name, values, core in arrays:
        if values.shape[-2:] != core:
            raise FabrikError(f"{name} have shape {values.shape}: it must end in {core}")
    batches = {values.shape[:-2] for _, values, _ in arrays}
    try:
        return np.broadcast_shapes(*batches) if len(batches) > 1 else batches.pop()
    except ValueError as error:
        raise FabrikError(f"the batch shapes of pose and goals don't fit: {sorted(batches)}") from error


def _refuse_not_finite(
    ops: Any, chain: Chain, points: list[Vector], frames: list[Any], target: Vector, pole: Vector | None
) -> None:
    """Say whose numbers aren't finite."""
    for kind, rows in (("position", points), ("rotation", frames)):
        for j, row in enumerate(rows):
            if not ops.all(ops.isfinite(sum(row))):
                raise FabrikError(f"the {kind} of {chain.name(j)} is not a finite number")
    for kind, goal in (("target", target), ("pole target", pole)):
        if goal is not None and not ops.all(ops.isfinite(sum(goal))):
            raise FabrikError(f"the {kind} of the chain that ends at {chain.name(-1)} is not a finite number")
    raise FabrikError(f"the pole angle of the chain that ends at {chain.name(-1)} is not a finite number")
