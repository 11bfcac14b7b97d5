# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""FABRIK as a method of solving: sweeps, or what stands in ``optimise.constrained_reach`` where joints have limits."""

from __future__ import annotations

from ..fabrik.chain_fabrik import reach_target
from ..math.operations import Operations, Vector
from ..math.vectors import choose_parts, distance_between
from ..model.chain_start import StartPose
from ..model.constrained_chain import ConstrainedChain, place
from ..model.joint_limits import SwingTwist
from ..optimise.constrained_reach import coordinates_of, reach_within_limits
from ..optimise.pole_task import POINTED, bend_toward_pole, pole_angle
from ..problem import Options
from .method import Found, Method

WORTH = 0.9
"""Share of its angle to a pole, above which a pose at its target isn't left for another."""


def _reach(ops: Operations, start: StartPose, target: Vector, pole: Vector | None, options: Options) -> Found:
    if start.constrained_chain is None:
        return _sweep(ops, start, target, pole, options)
    return _reach_within_limits(ops, start, start.constrained_chain, target, pole, options)


def _sweep(ops: Operations, start: StartPose, target: Vector, pole: Vector | None, options: Options) -> Found:
    points, sweeps, turn = reach_target(
        ops, start.points, start.lengths, target, pole, start.x_axes[0], options.tolerance, options.iterations
    )
    frames = start.transport(ops, start, points, turn)
    return Found(points, frames, sweeps)


def _reach_within_limits(
    ops: Operations,
    start: StartPose,
    constrained_chain: ConstrainedChain,
    target: Vector,
    pole: Vector | None,
    options: Options,
) -> Found:
    """Reach within the joints' limits; the iterations are starts."""

    def present() -> list[SwingTwist]:
        return coordinates_of(ops, constrained_chain, start.frames)

    def warm_start() -> list[SwingTwist]:
        return coordinates_of(ops, constrained_chain, _sweep(ops, start, target, pole, options).frames)

    tolerance, iterations = options.tolerance, options.iterations
    if pole is not None:
        return _bend_within_limits(ops, constrained_chain, present(), warm_start(), target, pole, tolerance, iterations)
    _, placed, _, starts = reach_within_limits(
        ops, constrained_chain, present(), warm_start, target, tolerance, iterations
    )
    return Found(placed.joints, placed.frames, starts)


def _bend_within_limits(
    ops: Operations,
    constrained_chain: ConstrainedChain,
    here: list[SwingTwist],
    warm_start: list[SwingTwist],
    target: Vector,
    pole: Vector,
    tolerance: float,
    iterations: int,
) -> Found:
    """Reach within limits and bend toward a pole as far as they allow, from the present turns or from FABRIK's."""
    bent, bent_placed = here, place(ops, constrained_chain, here)
    here_error = distance_between(ops, bent_placed.joints[-1], target)
    there = here_error <= tolerance
    if ops.any(there):
        bent, bent_placed = bend_toward_pole(ops, constrained_chain, here, target, pole, tolerance)
        if ops.all(there & (pole_angle(ops, bent_placed.joints, target, pole) <= POINTED)):
            return Found(bent_placed.joints, bent_placed.frames, 0.0 * here_error)
    # FABRIK's answer is in the pole's plane: what limits leave of it is the better start.
    coordinates, _, error, starts = reach_within_limits(
        ops, constrained_chain, warm_start, lambda: here, target, tolerance, iterations
    )
    # Started elsewhere it may be caught where the present pose isn't: solving again mustn't take the tip away.
    was_nearer = (error > tolerance) & (here_error < error)
    if ops.any(was_nearer):
        coordinates = [choose_parts(ops, was_nearer, a, b) for a, b in zip(here, coordinates, strict=True)]
    coordinates, placed = bend_toward_pole(ops, constrained_chain, coordinates, target, pole, tolerance)
    # Nor is a pole that limits keep the bend from a reason to leave the target for a pose that is as good.
    as_good = WORTH * pole_angle(ops, bent_placed.joints, target, pole) <= pole_angle(ops, placed.joints, target, pole)
    stays = there & as_good
    if ops.any(stays):
        coordinates = [choose_parts(ops, stays, a, b) for a, b in zip(bent, coordinates, strict=True)]
        placed = place(ops, constrained_chain, coordinates)
    return Found(placed.joints, placed.frames, starts)


FABRIK = Method(
    "FABRIK",
    "Chains of any length: fewest sweeps, whatever the pose and wherever the target",
    _reach,
    solves_trees=True,
)
