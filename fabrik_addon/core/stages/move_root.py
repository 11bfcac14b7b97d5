# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A root that follows: the whole chain is shifted to its target."""

from dataclasses import replace

from ..goals.softness import farthest_reached
from ..math.operations import Operations
from ..math.vectors import add, choose_parts, distance_between, norm, onward, scale, subtract
from ..model.chain_start import StartPose
from ..problem import Options, Status
from .stage import ChainGoal, ComponentSolution, Stage


def move_root(after: Stage, ops: Operations, start: StartPose, goal: ChainGoal, options: Options) -> ComponentSolution:
    """Solve with the root fixed, then shift the whole chain by the vector from its tip to its target.

    A chain whose error is within the tolerance isn't shifted. The chain of every batch item ends within the tolerance
    of its target, so its status is ``REACHED``.
    """
    found = after(ops, start, *goal_with_root_fixed(ops, start, goal, options))
    tip = found.points[-1]
    error = distance_between(ops, tip, goal.target) / start.chain.total_length
    is_off = error > options.tolerance
    shift = choose_parts(ops, is_off, subtract(goal.target, tip), scale(tip, 0.0))
    error = ops.where(is_off, 0.0 * error, error)
    points = [add(point, shift) for point in found.points]
    return found._replace(points=points, error=error, status=0 * found.status + Status.REACHED)


def goal_with_root_fixed(
    ops: Operations, start: StartPose, goal: ChainGoal, options: Options
) -> tuple[ChainGoal, Options]:
    """Return the goal and the options with which the next stage solves before the chain is shifted.

    With softness the target is moved toward the root, to ``farthest_reached`` from it at most. Beyond this distance
    softness keeps the tip from the target even with the largest stretch, and the root is translated by all of the rest.
    If the chain eased beyond this distance, every further solve, from the translated root, would translate the root
    again. Without stretch softness has no effect up to this distance, and is left out.
    """
    fixed = replace(options, moves_root=False)
    if options.softness == 0.0:
        return goal, fixed
    away = subtract(goal.target, start.root)
    farthest = farthest_reached(options.softness, options.stretch_max) * start.chain.total_length
    beyond = ops.maximum(1.0 - farthest / ops.maximum(norm(ops, away), 1e-300), 0.0)
    softness = options.softness if options.stretch_max > 1.0 else 0.0
    return goal._replace(target=onward(goal.target, -beyond, away)), replace(fixed, softness=softness)
