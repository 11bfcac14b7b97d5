# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The goals of one chain as components, and what they are checked for."""

import math
from typing import NamedTuple

import numpy as np

from ..math.operations import ARRAY, SCALAR, Vector, add_up
from ..math.quaternions import Quaternion, rotation_fault
from ..model.chain_start import StartPose, batch_shape, start_from
from ..problem import FabrikError, Goals


class ChainGoal(NamedTuple):
    """The goals of one plain chain as components, in armature space."""

    target: Vector
    pole: Vector | None
    pole_angle: float
    """Radians by which the pole is rotated about the line from the root to the target."""
    rotation: Quaternion | None
    """Frame that the last bone should take."""


def check_goals(start: StartPose, goals: Goals) -> tuple[StartPose, ChainGoal]:
    """Return the start with the batch axes of pose and goals together, and the goals as components."""
    chain, batch = start.chain, start.batch
    goals_batch = batch_shape(
        ("targets", goals.targets, (1, 3)),
        ("poles", goals.poles, (1, 3)),
        ("rotations of the goals", goals.rotations, (1, 4)),
    )
    if goals_batch and goals_batch != batch:
        try:
            batch = np.broadcast_shapes(goals_batch, batch)
        except ValueError as misfit:
            raise FabrikError(f"the batch shapes of goals {goals_batch} and pose {batch} don't fit") from misfit
        start = start_from(chain, start.pose, batch)
    ops = ARRAY if batch else SCALAR
    (target,) = ops.split(goals.targets, batch)
    if not ops.all(ops.isfinite(target[0] + target[1] + target[2])):
        raise chain.refusal(0, "target")
    pole, angle, rotation = None, 0.0, None
    if goals.poles is not None:
        (pole,) = ops.split(goals.poles, batch)
        if not ops.all(ops.isfinite(add_up(pole))):
            raise chain.refusal(0, "pole target")
        angle = 0.0 if goals.pole_angles is None else float(goals.pole_angles[0])
        if not math.isfinite(angle):
            raise chain.refusal(0, "pole angle")
    if goals.rotations is not None:
        (rotation,) = ops.split(goals.rotations, batch)
        if fault := rotation_fault(ops, rotation):
            raise chain.refusal(0, "rotation goal", fault)
    return start, ChainGoal(target, pole, angle, rotation)
