# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A chain by itself at many frames of an animation.

They are solved as one batch, each frame from its own pose. Within limits a chain has several ways to bend, and one of
them may end at a frame. So

1. with the tip's rotation each frame starts from the solution of the frame before;
2. else it does where the bones jump in the batch, if they then jump by less and as many targets are reached.

From frame to frame alone isn't enough: where a bone's own pose turns about, the way to bend that the frame before had
may end where the batch goes on, and bones rotated by 98, 71 and 90 degrees in a step instead of 7, 9 and 4. Of 222
closed paths of six chains 76 have a jump in the batch without a pole, of up to 173 degrees, and 66 with one, of up to
78; so 71 and 61 have one, of up to 61 and 64. Within reach 12 and 5 of 111 have one in the batch, so 11 and 2.
"""

from dataclasses import replace

import numpy as np

from .math.operations import Array
from .math.quaternion_arrays import angle_between
from .model.chain_start import NearSolution, StartPose, start_from
from .problem import Goals, Options
from .solve_chain import ComponentSolution, batch_of, follows_pole, solve_components
from .solve_tree import each_pose

JUMP = 3.0
"""Largest rotation of a bone from frame to frame, over the median one, up to which the bones don't jump."""


def solve_chain_frames(
    start: StartPose, goals: Goals, options: Options, near: NearSolution | None = None
) -> tuple[ComponentSolution, NearSolution | None]:
    """Solve the frames of a plain chain.

    Args:
        start: batch (F,) of the frames' own poses, in order.
        goals: targets (F, 1, 3) and the rest of it.
        options: as of ``solve``.
        near: where the first frame starts: what this function returned for the frames before.

    Returns:
        the solutions as one batch, and where the frames after these start; None: from a solution by itself.
    """
    if not start.chain.has_limits:
        return solve_components(start, goals, options), None
    if goals.rotations is not None:
        return _solved_in_order(start, goals, options, near)
    alone = solve_components(start, goals, options)
    turns = _turns(alone)
    jumps = turns.size > 0 and turns.max() > JUMP * np.median(turns)
    if jumps and (goals.poles is None or follows_pole(start.chain, goals)):
        followed, last = _solved_in_order(start, goals, options, near)
        reached, reached_alone = (np.sum(one.error <= options.tolerance) for one in (followed, alone))
        if reached >= reached_alone and _turns(followed).max() < turns.max():
            return followed, last
    return alone, None


def _solved_in_order(
    start: StartPose, goals: Goals, options: Options, near: NearSolution | None
) -> tuple[ComponentSolution, NearSolution | None]:
    """Solve each frame from the solution of the frame before, the first one from its solution by itself."""
    found: list[ComponentSolution] = []
    for pose, desired in each_pose(start.chain, start.pose, goals, start.batch):
        frame = start_from(start.chain, pose)
        near = near or solve_components(frame, desired, options).next_start
        found.append(solve_components(replace(frame, near=near), desired, options))
        near = found[-1].next_start
    return batch_of(found, start.batch), near


def _turns(found: ComponentSolution) -> Array:
    """Return the largest rotation of a bone from each frame to the next (F - 1,), radians."""
    frames = np.array([np.broadcast_arrays(*frame) for frame in found.frames]).swapaxes(1, 2)
    return angle_between(frames[:, 1:], frames[:, :-1]).max(axis=0)
