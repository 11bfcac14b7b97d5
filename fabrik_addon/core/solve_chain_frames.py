# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A chain by itself at many frames of an animation.

Frames are solved in one of two ways: *alone*, all as one batch, each from its own pose; or *followed*, each from the
solution of the frame before. A chain within limits with a rotation of the tip is always followed. Another one that
``depends_on_near`` is followed where its bones jump if the frames are solved alone, the largest jump is clearly smaller
if they are followed, and at least as many targets are reached. Closed paths of 81 frames, of six chains, and on how
many bones jump (largest step over three times the median one):

| paths | number | alone | followed where they jump | largest step alone | largest step followed |
|---|---|---|---|---|---|
| without a pole | 111 within reach | 17 | 16 | 53 degrees | 52 degrees |
| without a pole | 111 partly beyond | 70 | 67 | 72 degrees | 61 degrees |
| with a pole | 111 within reach | 8 | 5 | 76 degrees | 35 degrees |
| with a pole | 111 partly beyond | 63 | 63 | 78 degrees | 78 degrees |

Not all frames are followed: where a bone's own pose turns about, the way to bend that is followed may end, while the
batch goes on smoothly. On three such animations steps were 98, 71 and 90 degrees followed, and 7, 9 and 4 alone.
"""

from dataclasses import replace

import numpy as np

from .math.operations import Array, joined
from .math.quaternion_arrays import angle_between, conjugate, multiply
from .model.chain_start import NearSolution, StartPose, start_from
from .problem import Goals, Options
from .solve_chain import batch_of, depends_on_near, solve_components
from .solve_tree import each_pose
from .stages.stage import ComponentSolution

JUMP = 3.0
"""Largest rotation of a bone from one frame to the next, over the median one of the frames that move, from which on the
bones jump."""

LEAST_JUMP = np.radians(5.0)
"""Rotation of a bone from one frame to the next up to which it doesn't jump, whatever the others do: animations begin,
end and hold."""

CLEARLY_LESS = 0.8
"""Ratio of the largest rotations followed and alone, up to which frames are followed; else poses are those of Solve."""

_MOVES = 1e-6
"""Rotation (radians) from which on a frame moves."""


def solve_chain_frames(
    start: StartPose, goals: Goals, options: Options, near: NearSolution | None = None
) -> tuple[ComponentSolution, NearSolution]:
    """Solve the frames of a plain chain.

    Args:
        start: batch (F,) of the frames' own poses, in order.
        goals: targets (F, 1, 3) and the rest of it.
        near: the solution of the frame before the first one, as this function has returned it; None where there is no
            such frame.

    Returns:
        the solutions as one batch, and that of the last frame.
    """
    can_follow = depends_on_near(start.chain, goals, options)
    if can_follow and goals.rotations is not None:
        return _followed(start, goals, options, near)
    alone = solve_components(start, goals, options)
    last_alone = NearSolution([tuple(frame) for frame in joined(alone.frames, alone.batch)[-1].tolist()])
    if not can_follow:
        return alone, last_alone
    rotations = _rotations(alone, start, near)
    if (near is not None and rotations[0] > LEAST_JUMP) or _have_jump(rotations):
        followed, last = _followed(start, goals, options, near)
        reached, reached_alone = (np.sum(one.error <= options.tolerance) for one in (followed, alone))
        if reached >= reached_alone and _rotations(followed, start, near).max() < CLEARLY_LESS * rotations.max():
            return followed, last
    return alone, last_alone


def _followed(
    start: StartPose, goals: Goals, options: Options, near: NearSolution | None
) -> tuple[ComponentSolution, NearSolution]:
    """Solve each frame from the solution of the frame before; the first of all from what is found alone."""
    found: list[ComponentSolution] = []
    for pose, desired in each_pose(start.chain, start.pose, goals, start.batch):
        frame = start_from(start.chain, pose)
        near = near or solve_components(frame, desired, options).next_start
        found.append(solve_components(replace(frame, near=near), desired, options))
        near = found[-1].next_start
    return batch_of(found, start), found[-1].next_start


def _rotations(found: ComponentSolution, start: StartPose, near: NearSolution | None) -> Array:
    """Return the largest rotation of a bone in its parent from each frame to the next, radians.

    Args:
        found: solutions of F frames.
        start: their own poses.
        near: the solution of the frame before the first one; with it there are F steps, else F - 1.
    """
    frames = joined(found.frames, found.batch)
    base = np.array([1.0, 0.0, 0.0, 0.0]) if start.pose.base is None else start.pose.base
    bases = np.broadcast_to(base, (len(frames), 4))
    if near is not None:
        frames, bases = np.concatenate([[near.frames], frames]), np.concatenate([bases[:1], bases])
    own = multiply(conjugate(np.concatenate([bases[:, None], frames[:, :-1]], axis=1)), frames)
    return angle_between(own[1:], own[:-1]).max(axis=1)


def _have_jump(rotations: Array) -> bool:
    """Tell whether bones jump, from their largest rotations (F - 1,) from each frame to the next."""
    moving = rotations[rotations > _MOVES]
    return moving.size > 0 and bool(moving.max() > max(LEAST_JUMP, JUMP * float(np.median(moving))))
