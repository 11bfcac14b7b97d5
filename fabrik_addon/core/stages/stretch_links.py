# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Links that are lengthened where the tip can't reach its target at the chain's own lengths."""

from dataclasses import replace

from ..goals.link_stretch import STRETCH_GAIN, STRETCH_ROUNDING, STRETCH_SOLVES, stretch_factor
from ..goals.softness import soft_share
from ..math.operations import Component, Operations, Vector
from ..math.vectors import distance_between, onward, relative_to, subtract
from ..model.chain_start import StartPose
from ..problem import Options, Status
from .stage import ChainGoal, ComponentSolution, Stage, choose_solution


def stretch_links(
    after: Stage, ops: Operations, start: StartPose, goal: ChainGoal, options: Options
) -> ComponentSolution:
    """Lengthen all links by one factor, at most ``stretch_max``, where the tip can't reach its target otherwise.

    The next stage solves at the chain's own lengths; where the target is out of reach or limits keep the tip from it,
    the pose is scaled (``goals.link_stretch``). With a pole, a rotation or limits another pose may bring the tip
    nearer: the next stage solves again for the goal scaled by 1/s, with s the factor found, and its pose is taken where
    its error is smaller than the error before, or than the tolerance if that is larger. This is repeated,
    ``STRETCH_SOLVES`` times at most, while the error exceeds the tolerance and falls below ``STRETCH_GAIN`` of the
    error before; with softness and a pole or a rotation it is done once whatever the error.
    """
    target, unit, most = goal.target, start.chain.total_length, options.stretch_max
    found = after(ops, start, goal, options)
    unreached = (found.status == Status.OUT_OF_REACH) | (found.status == Status.LIMITED)
    if not ops.any(unreached):
        return found
    stretched = _scaled(ops, found, target, unit, most)
    going = unreached & (stretched.stretch > 1.0)
    best = choose_solution(ops, going, stretched, found)
    # The pole and the rotation are goals at the new lengths too: where the tip is eased they are solved for once more.
    solves_once_more = options.softness > 0.0 and not (goal.pole is None and goal.rotation is None)
    # An error e of the chain at its own lengths is an error s e of the scaled one.
    nearby = replace(options, softness=0.0, tolerance=options.tolerance / most)
    for _ in range(STRETCH_SOLVES):
        going = going & ((best.error > options.tolerance) | solves_once_more)
        if not ops.any(going):
            break
        again = after(ops, start, _shrunk(ops, goal, best, unit, options.softness), nearby)
        again = again._replace(iterations=best.iterations + again.iterations)
        stretched = _scaled(ops, again, target, unit, most)
        is_better = going & (stretched.error < (1.0 - STRETCH_ROUNDING) * ops.maximum(best.error, options.tolerance))
        going = is_better & (stretched.error < STRETCH_GAIN * best.error)
        best = choose_solution(ops, is_better, stretched, best)
        solves_once_more = False
    return best._replace(status=_stretched_status(ops, start, best, target, options))


def _stretched_status(
    ops: Operations, start: StartPose, found: ComponentSolution, target: Vector, options: Options
) -> Component:
    """Return the status of a stretched pose, by the distance d of the target and the chain's length L."""
    unit, distance = start.chain.total_length, distance_between(ops, found.points[0], target)
    # L < d <= stretch_max L: the stretched links are long enough, so joint limits are the cause of the error.
    long_enough = (distance > unit) & (distance <= options.stretch_max * unit) & (start.constrained_chain is not None)
    is_limited = (found.status == Status.OUT_OF_REACH) & long_enough
    # The next stage compares with the eased target: a tip at the eased target that isn't at the target is out of reach.
    status = ops.where(
        is_limited, Status.LIMITED, ops.where(found.status == Status.REACHED, Status.OUT_OF_REACH, found.status)
    )
    return ops.where(found.error <= options.tolerance, Status.REACHED, status)


def _scaled(ops: Operations, found: ComponentSolution, target: Vector, unit: float, most: float) -> ComponentSolution:
    """Scale a pose about its root by the factor, 1 to ``most``, at which its tip is nearest to the target."""
    root = found.points[0]
    arms = [subtract(point, root) for point in found.points]
    factor = stretch_factor(ops, arms[-1], subtract(target, root), most)
    points = [onward(root, factor, arm) for arm in arms]
    return found._replace(points=points, error=distance_between(ops, points[-1], target) / unit, stretch=factor)


def _shrunk(ops: Operations, goal: ChainGoal, found: ComponentSolution, unit: float, softness: float) -> ChainGoal:
    """Return the goal scaled about the root: the pole by 1/s, with s the stretch found, the target by 1/s or less.

    Links that are as long as they may be leave the tip short of a target that softness alone would ease: the target is
    scaled by the smaller of 1/s and the share of its distance that softness leaves (``goals.softness``).
    """
    root, share = found.points[0], 1.0 / found.stretch
    eased = ops.minimum(share, soft_share(ops, relative_to(goal.target, root, unit), softness))
    pole = None if goal.pole is None else onward(root, share, subtract(goal.pole, root))
    return goal._replace(target=onward(root, eased, subtract(goal.target, root)), pole=pole)
