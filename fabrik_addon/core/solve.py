# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The seam between arrays and kernels: check the input, solve one pose or many, say how it ended."""

from __future__ import annotations

from typing import Any

import numpy as np

from .frames import turn_frames
from .lanes import MANY, ONE
from .pole import turn_pole
from .problem import Chain, FabrikError, Floats, Goals, Options, Pose, Solution, Status
from .reach import reach_target
from .vectors import gap, x_axis

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
    batch = _check(chain, pose, goals, options)
    ops: Any = MANY if batch else ONE
    unit = chain.total_length
    root = pose.positions[..., :1, :]
    # Root at the origin, chain of length one: thresholds are scale free, and far from the origin nothing is lost.
    points = _split((pose.positions - root) / unit, batch)
    frames = _split(pose.rotations, batch)
    (target,) = _split((goals.targets - root) / unit, batch)
    pole = None
    with np.errstate(all="ignore"):  # lanes in which two joints meet are told by their NaN
        if goals.poles is not None:
            (pole,) = _split((goals.poles - root) / unit, batch)
            if goals.pole_angles is not None:
                pole = turn_pole(ops, pole, target, float(goals.pole_angles[0]))
        lengths = [link / unit for link in chain.links]
        x, y, z = (list(component) for component in zip(*points, strict=True))
        reach = reach_target(
            ops, (x, y, z), lengths, target, pole, x_axis(frames[0]), options.tolerance, options.iterations
        )
        reached = list(zip(*reach.joints, strict=True))
        turned = turn_frames(ops, points, reached, frames, chain.inherits.tolist()[:-1], reach.turn)
        error = gap(ops, reached[-1], target)

    found = np.where(reach.blocked, Status.OUT_OF_REACH, Status.STALLED)
    return Solution(
        pose=Pose(root + unit * _join(reached, batch), _join([*turned, turned[-1]], batch)),
        error=np.reshape(error, (*batch, 1)),
        iterations=np.reshape(reach.sweeps, (*batch, 1)).astype(int),
        status=np.reshape(np.where(error <= options.tolerance, Status.REACHED, found), (*batch, 1)),
    )


def _check(chain: Chain, pose: Pose, goals: Goals, options: Options) -> tuple[int, ...]:
    """Refuse what can't be solved; return the shape of the batch."""
    joints = len(chain.parents)
    if len(chain.tips) != 1 or chain.tips[0] != joints - 1 or chain.parents.tolist() != list(range(-1, joints - 1)):
        raise FabrikError("only a plain chain can be solved: one effector, at the end of its last link")
    for j, length in enumerate(chain.links, 1):
        if not 0.0 < length < np.inf:
            raise FabrikError(f"{chain.name(j - 1)} has a link of length {length:g}: it must be more than 0")
    if options.iterations < 1:
        raise FabrikError(f"iterations is {options.iterations}: it must be at least 1")
    if not options.tolerance > 0.0:
        raise FabrikError(f"tolerance is {options.tolerance:g}: it must be more than 0")
    expected = [(pose.positions, "positions", (joints, 3)), (pose.rotations, "rotations", (joints, 4))]
    expected.append((goals.targets, "targets", (1, 3)))
    if goals.poles is not None:
        expected.append((goals.poles, "poles", (1, 3)))
    batches = []
    for values, name, core in expected:
        if values.shape[-2:] != core:
            raise FabrikError(f"{name} have shape {values.shape}: it must end in {core}")
        batches.append(values.shape[:-2])
        if not np.isfinite(values.sum()) and not np.isfinite(values).all():
            row = int(np.argwhere(~np.isfinite(values))[0][-2])
            place = chain.name(row) if core[0] == joints else f"the chain that ends at {chain.name(joints - 1)}"
            raise FabrikError(f"{name} of {place} are not finite numbers")
    try:
        return np.broadcast_shapes(*batches)
    except ValueError as error:
        raise FabrikError(f"the batch shapes of pose and goals don't fit: {batches}") from error


def _split(values: Floats, batch: tuple[int, ...]) -> list[Any]:
    """Turn an array (..., R, C) into R tuples of C components."""
    if not batch:
        return [tuple(row) for row in values.tolist()]
    values = np.broadcast_to(values, (*batch, *values.shape[-2:]))
    rows, columns = values.shape[-2:]
    split = np.ascontiguousarray(np.moveaxis(values.reshape(-1, rows, columns), 0, -1))
    return [tuple(row) for row in split]


def _join(rows: list[Any], batch: tuple[int, ...]) -> Floats:
    """Turn R tuples of C components into an array (..., R, C)."""
    joined = np.array(rows, float)
    if not batch:
        return joined
    return np.ascontiguousarray(np.moveaxis(joined, -1, 0)).reshape(*batch, *joined.shape[:2])
