# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""FABRIK as a method of solving: sweeps, then least squares where joints have limits."""

from __future__ import annotations

from typing import Any

from .frames import turn_frames
from .lanes import Component, Vector
from .method import Found, Method
from .pole_wish import lean_to_pole
from .problem import Options
from .reach import reach_target
from .start import StartPose
from .vectors import Quaternion
from .within_limits import STEPS, reach_within_limits, turns_of


def _reach(ops: Any, start: StartPose, target: Vector, pole: Vector | None, options: Options) -> Found:
    joints, sweeps, turn = reach_target(
        ops, start.joints, start.lengths, target, pole, start.x_axes[0], options.tolerance, options.iterations
    )
    points = list(zip(*joints, strict=True))
    frames = turn_frames(ops, start.links, points, start.frames, start.x_axes, start.chain.inherits_list, turn)
    if start.limb is not None:
        points, frames, sweeps = _limit(ops, start, frames, target, pole, options)
    return Found(points, frames, sweeps)


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


FABRIK = Method("FABRIK", "Chains of any length: fewest sweeps, whatever the pose and wherever the target", _reach)
