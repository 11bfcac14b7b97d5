# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""FABRIK as a method of solving: sweeps, or what stands in :mod:`.within_limits` where joints have limits."""

from __future__ import annotations

from typing import Any

from ..frames import turn_frames
from ..lanes import Vector
from ..limits.joint_limits import SwingTwist
from ..limits.least_squares import Limb, place
from ..limits.pole_wish import lean_to_pole
from ..limits.within_limits import STEPS, reach_within_limits, turns_of
from ..method import Found, Method
from ..problem import Options
from ..start import StartPose
from ..vectors import choose_parts, gap
from .reach import reach_target


def _reach(ops: Any, start: StartPose, target: Vector, pole: Vector | None, options: Options) -> Found:
    if start.limb is None:
        return _sweep(ops, start, target, pole, options)
    return _reach_within_limits(ops, start, start.limb, target, pole, options)


def _sweep(ops: Any, start: StartPose, target: Vector, pole: Vector | None, options: Options) -> Found:
    joints, sweeps, turn = reach_target(
        ops, start.joints, start.lengths, target, pole, start.x_axes[0], options.tolerance, options.iterations
    )
    points = list(zip(*joints, strict=True))
    frames = turn_frames(ops, start.links, points, start.frames, start.x_axes, start.chain.inherits_list, turn)
    return Found(points, frames, sweeps)


def _reach_within_limits(
    ops: Any, start: StartPose, limb: Limb, target: Vector, pole: Vector | None, options: Options
) -> Found:
    """Reach within the joints' limits; the iterations are starts."""

    def present() -> list[SwingTwist]:
        return turns_of(ops, limb, start.frames)

    def advice() -> list[SwingTwist]:
        return turns_of(ops, limb, _sweep(ops, start, target, pole, options).frames)

    # FABRIK's answer is in the pole's plane: what limits leave of it is the better start.
    first, second = (present, advice) if pole is None else (advice, present)
    steps = min(options.iterations, STEPS)
    turns, placed, error, starts = reach_within_limits(ops, limb, first(), second, target, options.tolerance, steps)
    if pole is not None:
        # Started elsewhere it may be caught where the present pose isn't: solving again mustn't take the tip away.
        here = present()
        was_nearer = (error > options.tolerance) & (gap(ops, place(ops, limb, here).joints[-1], target) < error)
        if ops.any(was_nearer):
            turns = [choose_parts(ops, was_nearer, a, b) for a, b in zip(here, turns, strict=True)]
        turns, placed = lean_to_pole(ops, limb, turns, target, pole, options.tolerance)
    return Found(placed.joints, placed.frames, starts)


FABRIK = Method(
    "FABRIK",
    "Chains of any length: fewest sweeps, whatever the pose and wherever the target",
    _reach,
    solves_trees=True,
)
