# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rotation of the last bone, by the direction of the last link."""

from dataclasses import replace

from ..goals.tip_rotation import last_link
from ..math.operations import Operations
from ..math.quaternions import conjugate, from_to, multiply, rotate
from ..math.vectors import add, choose_each, choose_parts, distance_between, onward, scale, subtract
from ..model.chain_start import StartPose
from ..model.constrained_chain import coordinates_of, place
from ..problem import Options, Status
from .stage import ChainGoal, ComponentSolution, Stage

_MOST_ERROR_RATIO = 1.01
"""Largest ratio of the error with the rotation to the error without it at which the rotation is taken, because position
comes before rotation; within the tolerance it is always taken."""


def reach_rotation(
    after: Stage, ops: Operations, start: StartPose, goal: ChainGoal, options: Options
) -> ComponentSolution:
    """Give the last bone the goal's rotation, as far as its tip stays as near to the target as without it.

    The next stage solves for the whole chain without the rotation, and ``_with_rotation`` changes that pose.
    """
    plain = after(ops, start, goal._replace(rotation=None), options)
    return _with_rotation(after, ops, start, goal, options, plain)


def reach_rotation_clamped(
    after: Stage, ops: Operations, start: StartPose, goal: ChainGoal, options: Options
) -> ComponentSolution:
    """Return the pose of ``reach_rotation`` clamped to the limits, or the pose without the rotation.

    For one pose, not for a batch, and for solves whose callers solve again (``FIRST_GUESS``).
    Clamping the last bone may take the tip from where ``reach_rotation`` has it: then the rotation is left out.
    """
    chain, unit = start.constrained_chain, start.chain.total_length
    assert chain is not None  # this function is for chains with limits only
    plain = after(ops, start, goal._replace(rotation=None), options)
    found = _with_rotation(after, ops, start, goal, options, plain)
    placed = place(ops, chain, coordinates_of(ops, chain, found.frames))
    points = [onward(start.root, unit, joint) for joint in placed.joints]
    error = distance_between(ops, points[-1], goal.target) / unit
    if error > max(options.tolerance, _MOST_ERROR_RATIO * found.error):
        return plain
    missed = Status.LIMITED if found.status == Status.REACHED else found.status
    status = Status.REACHED if error <= options.tolerance else missed
    return found._replace(points=points, frames=placed.frames, error=error, status=status)


def _with_rotation(
    after: Stage, ops: Operations, start: StartPose, goal: ChainGoal, options: Options, plain: ComponentSolution
) -> ComponentSolution:
    """Return the pose whose last bone has the goal's rotation, as far as its tip stays as near to the target.

    1. ``last_link`` rotates the last link from the direction that the rotation gives it by just as much as the other
       links need to reach its head; the next stage solves for these. Where the tip is farther from the target then
       (``_MOST_ERROR_RATIO``), joints and other bones' frames are those of the pose without the rotation. A single
       other link has no bend that a pole could rotate: its frame is the one in the pose without the rotation, followed
       by the shortest rotation to the link found. If its frame were rotated toward the pole, it would roll by 180
       degrees where its direction passes the pole.
    2. The last bone's frame is the rotation, followed by the shortest rotation from the link that the rotation gives to
       the link found.

    Args:
        plain: the pose without the rotation.
    """
    rotation, target = goal.rotation, goal.target
    assert rotation is not None  # this stage is for goals with a rotation only
    chain, unit = start.chain, start.chain.total_length
    desired_link = rotate(rotation, rotate(conjugate(start.frames[-2]), scale(start.links[-1], unit)))
    points, frames, iterations = plain.points, plain.frames, plain.iterations
    link = subtract(points[-1], points[-2])
    allowed = ops.maximum(0.0 * plain.error + options.tolerance, _MOST_ERROR_RATIO * plain.error)
    if len(chain.links) > 1:
        last = last_link(ops, chain.links[:-1], subtract(target, start.root), desired_link, link)
        is_single = len(chain.links) == 2
        # One link has one solution for every solver, and TWO_BONE refuses one link.
        other_options = replace(options, solver="FABRIK") if is_single else options
        other_goal = goal._replace(target=subtract(target, last), rotation=None, pole=None if is_single else goal.pole)
        others = after(ops, start.without_tip, other_goal, other_options)
        tip = add(others.points[-1], last)
        other_frames = others.frames
        if is_single and goal.pole is not None:
            before, found = (subtract(each.points[1], start.root) for each in (plain, others))
            other_frames = [multiply(from_to(ops, before, found, start.x_axes[0]), plain.frames[0])]
        better = distance_between(ops, tip, target) <= allowed * unit
        points = choose_each(ops, better, [*others.points, tip], points)
        link = choose_parts(ops, better, last, link)
        frames = [choose_parts(ops, better, a, b) for a, b in zip(other_frames, frames, strict=False)]
        iterations = plain.iterations + others.iterations
    last_frame = multiply(from_to(ops, desired_link, link, start.x_axes[-2]), rotation)
    frames = [*frames[: len(chain.links) - 1], last_frame]
    error = distance_between(ops, points[-1], target) / unit
    status = ops.where(error <= options.tolerance, Status.REACHED, plain.status)
    return ComponentSolution(start.batch, points, frames, error, iterations, status, stretch=1.0 + 0.0 * error)
