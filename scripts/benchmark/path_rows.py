# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""How smoothly a chain follows a target that moves in small steps, when every frame starts from the same pose."""

from __future__ import annotations

import numpy as np

from fabrik_addon.core import Goals, Pose, plain_chain, solve

from .blender_chain import constrain, joints_of, make_armature, make_target, new_scene, view_layer
from .problems import RESTS, Array, Effort, directions, generator, link_lengths, pose_along, rest_joints
from .report import Row, Table

STEP = 1e-4
"""How far the target moves from frame to frame, over the chain's length."""


def ellipse(rng: np.random.Generator, step: float, frames: int) -> tuple[Array, Array]:
    """Return a path (frames, 3) from reach 0.6 to 0.97 and back, in steps of at most ``step``, and its normal (3,)."""
    around, across = directions(rng, 2)
    across = np.cross(np.cross(around, across), around)
    across /= np.linalg.norm(across)
    angles = step / 0.97 * np.arange(frames)[:, None]
    return 0.6 * np.cos(angles) * around + 0.97 * np.sin(angles) * across, np.cross(around, across)


def step_table(effort: Effort) -> Table:
    """The farthest that any joint moves from one frame to the next."""
    rows, worst, worst_own = [], 0.0, 0.0
    frames = 80 * effort.targets
    for count in (2, 3, 5, 10, 20):
        for rest in RESTS:
            joints = rest_joints(count, rest)
            path, normal = ellipse(generator("steps", count, rest), STEP, frames)
            free = _farthest(_solved(joints, path, None))
            with_pole = _farthest(_solved(joints, path, 3.0 * normal))
            own = _farthest(_own(joints, path))
            rows.append(Row((count, rest, free, with_pole, own)))
            worst, worst_own = max(worst, free, with_pole), max(worst_own, own)
    return Table(
        title="Continuity: a target that moves in small steps",
        must=f"for comparison: how far a joint jumps when the target moves by {STEP:g} of the chain's length",
        measured=f"{worst:.1g} at most (Blender's own IK: {worst_own:.1g})",
        columns=("links", "rest pose", "farthest move of a joint", "with a pole", "Blender's own, no pole"),
        rows=tuple(rows),
        note=f"{frames} frames along an ellipse of reach 0.6 to 0.97. Every frame starts from the rest pose, as "
        "Blender's own IK does.",
    )


def _solved(joints: Array, path: Array, pole: Array | None) -> Array:
    chain, pose = plain_chain(link_lengths(joints)), pose_along(joints)
    poses = Pose(*(np.repeat(array[None], len(path), axis=0) for array in (pose.positions, pose.rotations)))
    poles = None if pole is None else np.tile(pole, (len(path), 1, 1))
    return solve(chain, poses, Goals(path[:, None, :], poles=poles)).pose.positions


def _own(joints: Array, path: Array) -> Array:
    new_scene()
    obj, target = make_armature(joints), make_target()
    constrain(obj, target)
    poses = []
    for position in path:
        target.location = position
        view_layer().update()
        poses.append(joints_of(obj))
    return np.array(poses)


def _farthest(poses: Array) -> float:
    return float(np.linalg.norm(np.diff(poses, axis=0), axis=-1).max())
