# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""FABRIK as a method of solving: sweeps, or what stands in ``optimise.constrained_reach`` where joints have limits."""

from __future__ import annotations

from typing import Any

from ..fabrik.chain_fabrik import reach_target
from ..math.operations import Vector
from ..math.vectors import choose_parts, gap
from ..model.chain_start import StartPose
from ..model.joint_limits import SwingTwist
from ..optimise.bounded_least_squares import Limb, place
from ..optimise.constrained_reach import STEPS, reach_within_limits, turns_of
from ..optimise.pole_task import POINTED, lean_to_pole, pole_angle
from ..problem import Options
from .method import Found, Method

WORTH = 0.9
"""Share of its angle to a pole, above which a pose at its target isn't left for another."""


def _reach(ops: Any, start: StartPose, target: Vector, pole: Vector | None, options: Options) -> Found:
    if start.limb is None:
        return _sweep(ops, start, target, pole, options)
    return _reach_within_limits(ops, start, start.limb, target, pole, options)


def _sweep(ops: Any, start: StartPose, target: Vector, pole: Vector | None, options: Options) -> Found:
    points, sweeps, turn = reach_target(
        ops, start.points, start.lengths, target, pole, start.x_axes[0], options.tolerance, options.iterations
    )
    frames = start.follow(ops, start, points, turn)
    return Found(points, frames, sweeps)


def _reach_within_limits(
    ops: Any, start: StartPose, limb: Limb, target: Vector, pole: Vector | None, options: Options
) -> Found:
    """Reach within the joints' limits; the iterations are starts."""

    def present() -> list[SwingTwist]:
        return turns_of(ops, limb, start.frames)

    def advice() -> list[SwingTwist]:
        return turns_of(ops, limb, _sweep(ops, start, target, pole, options).frames)

    steps, tolerance = min(options.iterations, STEPS), options.tolerance
    if pole is not None:
        return _lean_within_limits(ops, limb, present(), advice(), target, pole, tolerance, steps)
    _, placed, _, starts = reach_within_limits(ops, limb, present(), advice, target, tolerance, steps)
    return Found(placed.joints, placed.frames, starts)


def _lean_within_limits(
    ops: Any,
    limb: Limb,
    here: list[SwingTwist],
    advice: list[SwingTwist],
    target: Vector,
    pole: Vector,
    tolerance: float,
    steps: int,
) -> Found:
    """Reach within limits and bend toward a pole as far as they allow, from the present turns or from FABRIK's."""
    leaned, leaned_placed = here, place(ops, limb, here)
    here_error = gap(ops, leaned_placed.joints[-1], target)
    there = here_error <= tolerance
    if ops.any(there):
        leaned, leaned_placed = lean_to_pole(ops, limb, here, target, pole, tolerance)
        if ops.all(there & (pole_angle(ops, leaned_placed.joints, target, pole) <= POINTED)):
            return Found(leaned_placed.joints, leaned_placed.frames, 0.0 * here_error)
    # FABRIK's answer is in the pole's plane: what limits leave of it is the better start.
    turns, _, error, starts = reach_within_limits(ops, limb, advice, lambda: here, target, tolerance, steps)
    # Started elsewhere it may be caught where the present pose isn't: solving again mustn't take the tip away.
    was_nearer = (error > tolerance) & (here_error < error)
    if ops.any(was_nearer):
        turns = [choose_parts(ops, was_nearer, a, b) for a, b in zip(here, turns, strict=True)]
    turns, placed = lean_to_pole(ops, limb, turns, target, pole, tolerance)
    # Nor is a pole that limits keep the bend from a reason to leave the target for a pose that is as good.
    as_good = WORTH * pole_angle(ops, leaned_placed.joints, target, pole) <= pole_angle(
        ops, placed.joints, target, pole
    )
    stays = there & as_good
    if ops.any(stays):
        turns = [choose_parts(ops, stays, a, b) for a, b in zip(leaned, turns, strict=True)]
        placed = place(ops, limb, turns)
    return Found(placed.joints, placed.frames, starts)


FABRIK = Method(
    "FABRIK",
    "Chains of any length: fewest sweeps, whatever the pose and wherever the target",
    _reach,
    solves_trees=True,
)
