# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A solve, stage by stage: check, root that follows, stretch, rotation, position, status.

Each stage but the last is a function that takes the stage after it as its first argument and calls it once or several
times: ``reach_rotation`` first without the rotation and then without the last link, ``stretch_links`` at the chain's
own lengths, ``move_root`` with the root where it is. ``reach_position`` is the last one. The stage of a goal that is
not given is left out.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from .fabrik.chain_fabrik import shape_at
from .fabrik.passes import reach_test
from .goals.link_stretch import STRETCH_GAIN, STRETCH_ROUNDING, STRETCH_SOLVES, stretch_factor
from .goals.pole import NO_BEND, bend_direction, rotate_pole, side_toward
from .goals.softness import is_eased, soft_share, soft_target
from .goals.tip_rotation import last_link
from .math.operations import ARRAY, SCALAR, Array, Component, Condition, Operations, Vector, add_up, quiet
from .math.quaternions import Quaternion, conjugate, from_to, identity_of, multiply, rotate, rotation_fault
from .math.vectors import (
    add,
    choose_each,
    choose_parts,
    distance_between,
    first_direction,
    norm,
    onward,
    relative_to,
    scale,
    subtract,
)
from .model.chain_start import StartPose, batch_shape, start_from
from .model.constrained_chain import place
from .optimise.constrained_reach import REACH_STEPS, coordinates_of
from .optimise.least_rotation import Termination, rotate_least
from .optimise.pole_task import pole_angle
from .problem import Chain, FabrikError, Goals, Options, Pose, Solution, Status
from .solve_tree import solve_trees
from .solvers.fabrik_solver import FABRIK
from .solvers.table import solver_for
from .trees.solution import AS_GOOD

DEFAULT_OPTIONS = Options()

_REACHED, _OUT_OF_REACH = int(Status.REACHED), int(Status.OUT_OF_REACH)
_LIMITED, _STALLED = int(Status.LIMITED), int(Status.STALLED)

_MOST_ERROR_RATIO = 1.01
"""Error of a pose with the rotation, over the error of the pose without, up to which the rotation is taken: position
comes before rotation."""


def solve(chain: Chain, pose: Pose, goals: Goals, options: Options = DEFAULT_OPTIONS) -> Solution:
    """Pose a chain or a tree so that its effectors are at their targets.

    The same input gives the same bits: there is no state between calls and nothing is random.

    Args:
        chain: J joints, E effectors; a plain chain (one effector, at its end) or a tree.
        pose: positions (..., J, 3) that have the links' lengths, rotations (..., J, 4).
        goals: targets (..., E, 3), optionally rotations (..., E, 4), poles (..., E, 3) and pole angles (E,) in radians.
        options: iterations at most, error that counts as reached, and what else a chain may do.

    Returns:
        pose, error, iterations and status, with the batch axes of pose and goals.

    Raises:
        FabrikError: a number isn't finite or not in its range, a shape doesn't fit, or a desired rotation isn't a
            unit quaternion.
    """
    if not chain.is_plain or goals.meets is not None:
        return solve_trees(chain, pose, goals, options)
    found = solve_components(start_from(chain, pose), goals, options)
    frames = [*found.frames, found.frames[-1]]
    solved = Pose(_joined(found.points, found.batch), _joined(frames, found.batch), pose.base)
    error, sweeps, status, stretch = (np.reshape(each, (*found.batch, 1)) for each in found[3:])
    return Solution(solved, error, sweeps.astype(int), status.astype(int), stretch)


def _joined(rows: Sequence[Sequence[Component]], batch: tuple[int, ...]) -> Array:
    """Return an array (..., R, C) of R tuples of C components: the inverse of ``Operations.split``."""
    array = np.array(rows, float)
    return np.moveaxis(array.reshape(*array.shape[:2], -1), -1, 0).reshape(*batch, *array.shape[:2])


class ComponentSolution(NamedTuple):
    """A solution as components: floats for one pose, where building arrays would cost as much as the solve."""

    batch: tuple[int, ...]
    points: list[Vector]
    """Joints, in armature space."""
    frames: list[Quaternion]
    """Of the bones, in armature space."""
    error: Component
    """Distance from tip to target over the chain's length."""
    sweeps: Component
    """Iterations used."""
    status: Component
    """Values of ``Status``."""
    stretch: Component
    """Factor by which the links are longer than the chain's."""


class ChainGoal(NamedTuple):
    """The goals of one plain chain as components, in armature space."""

    target: Vector
    pole: Vector | None
    pole_angle: float
    """Radians by which the pole is rotated about the line from the root to the target."""
    rotation: Quaternion | None
    """Frame that the last bone should take."""


Stage: TypeAlias = Callable[[Operations, StartPose, ChainGoal, Options], ComponentSolution]
"""(ops, start, goal, options): solve for the part of the goal that this stage and the stages after it are about."""


def solve_components(start: StartPose, goals: Goals, options: Options = DEFAULT_OPTIONS) -> ComponentSolution:
    """Solve a plain chain from a pose that ``start_from`` has prepared, and leave the result in components."""
    start, goal = check_goals(start, goals)
    stage: Stage = reach_position
    if goal.rotation is not None:
        stage = partial(reach_rotation, stage)
    if options.stretch_max > 1.0:
        stage = partial(stretch_links, stage)
    if options.moves_root:
        stage = partial(move_root, stage)
    if not start.batch:
        return stage(SCALAR, start, goal, options)
    with quiet():
        return stage(ARRAY, start, goal, options)


def check_goals(start: StartPose, goals: Goals) -> tuple[StartPose, ChainGoal]:
    """Return the start with the batch axes of pose and goals together, and the goals as components."""
    chain, batch = start.chain, start.batch
    goals_batch = batch_shape(
        ("targets", goals.targets, (1, 3)),
        ("poles", goals.poles, (1, 3)),
        ("rotations of the goals", goals.rotations, (1, 4)),
    )
    if goals_batch and goals_batch != batch:
        try:
            batch = np.broadcast_shapes(goals_batch, batch)
        except ValueError as misfit:
            raise FabrikError(f"the batch shapes of goals {goals_batch} and pose {batch} don't fit") from misfit
        start = start_from(chain, start.pose, batch)
    ops = ARRAY if batch else SCALAR
    (target,) = ops.split(goals.targets, batch)
    if not ops.all(ops.isfinite(target[0] + target[1] + target[2])):
        raise chain.refusal(0, "target")
    pole, angle, rotation = None, 0.0, None
    if goals.poles is not None:
        (pole,) = ops.split(goals.poles, batch)
        if not ops.all(ops.isfinite(add_up(pole))):
            raise chain.refusal(0, "pole target")
        angle = 0.0 if goals.pole_angles is None else float(goals.pole_angles[0])
        if not math.isfinite(angle):
            raise chain.refusal(0, "pole angle")
    if goals.rotations is not None:
        (rotation,) = ops.split(goals.rotations, batch)
        if fault := rotation_fault(ops, rotation):
            raise chain.refusal(0, "rotation goal", fault)
    return start, ChainGoal(target, pole, angle, rotation)


def move_root(after: Stage, ops: Operations, start: StartPose, goal: ChainGoal, options: Options) -> ComponentSolution:
    """Solve with the root fixed, then shift the whole chain by the vector from its tip to its target.

    A chain whose error is within the tolerance isn't shifted. The chain of every batch item ends at its target, so its
    status is ``REACHED``.
    """
    found = after(ops, start, *_with_root_fixed(ops, start, goal, options))
    tip = found.points[-1]
    error = distance_between(ops, tip, goal.target) / start.chain.total_length
    is_off = error > options.tolerance
    shift = choose_parts(ops, is_off, subtract(goal.target, tip), scale(tip, 0.0))
    error = ops.where(is_off, 0.0 * error, error)
    points = [add(point, shift) for point in found.points]
    return found._replace(points=points, error=error, status=0 * found.status + _REACHED)


def with_root_fixed(start: StartPose, goals: Goals, options: Options) -> tuple[Goals, Options]:
    """Return the goals and options that ``move_root`` solves with before it shifts the chain.

    For callers that shift the chain themselves, after the projection of the pose onto what locks and shear allow.
    """
    start, goal = check_goals(start, goals)
    ops = ARRAY if start.batch else SCALAR
    goal, options = _with_root_fixed(ops, start, goal, options)
    return replace(goals, targets=_joined([goal.target], start.batch)), options


def _with_root_fixed(ops: Operations, start: StartPose, goal: ChainGoal, options: Options) -> tuple[ChainGoal, Options]:
    """Return a goal at most ``(1 - softness) L`` from the root, with L the chain's length, and options to solve for it.

    Softness keeps the tip from targets beyond this distance: up to it the chain extends, and beyond it the root is
    translated by all of the rest. If the chain eased beyond this distance, every further solve, from the translated
    root, would translate the root again. With stretch the links are lengthened by the rest instead.
    """
    fixed = replace(options, moves_root=False)
    if options.softness == 0.0 or options.stretch_max > 1.0:
        return goal, fixed
    away = subtract(goal.target, start.root)
    farthest = (1.0 - options.softness) * start.chain.total_length
    beyond = ops.maximum(1.0 - farthest / ops.maximum(norm(ops, away), 1e-300), 0.0)
    return goal._replace(target=onward(goal.target, -beyond, away)), replace(fixed, softness=0.0)


def stretch_links(
    after: Stage, ops: Operations, start: StartPose, goal: ChainGoal, options: Options
) -> ComponentSolution:
    """Lengthen all links by one factor, at most ``stretch_max``, where the tip can't reach its target without.

    The next stage solves at the chain's own lengths, and its pose is scaled (``goals.link_stretch``). With a pole, a
    rotation or limits another pose may bring the tip nearer: the next stage solves again for the goal scaled by 1/s,
    with s the factor found, and its pose is taken where its error is smaller. This is repeated, ``STRETCH_SOLVES``
    times at most, while the error exceeds the tolerance and falls below ``STRETCH_GAIN`` of the error before.
    """
    target, unit, most = goal.target, start.chain.total_length, options.stretch_max
    found = after(ops, start, goal, options)
    unreached = (found.status == _OUT_OF_REACH) | (found.status == _LIMITED)
    if not ops.any(unreached):
        return found
    stretched = _scaled(ops, found, target, unit, most)
    going = unreached & (stretched.stretch > 1.0)
    best = _choose_solution(ops, going, stretched, found)
    # The pole and the rotation are goals at the new lengths too: where the tip is eased they are solved for once more.
    solves_once_more = options.softness > 0.0 and not (goal.pole is None and goal.rotation is None)
    # An error e of the chain at its own lengths is an error s e of the scaled one.
    nearby = replace(options, softness=0.0, tolerance=options.tolerance / most)
    for _ in range(STRETCH_SOLVES):
        going = going & ((best.error > options.tolerance) | solves_once_more)
        if not ops.any(going):
            break
        again = after(ops, start, _shrunk(ops, goal, best, unit, options.softness), nearby)
        again = again._replace(sweeps=best.sweeps + again.sweeps)
        stretched = _scaled(ops, again, target, unit, most)
        is_better = going & (stretched.error < (1.0 - STRETCH_ROUNDING) * ops.maximum(best.error, options.tolerance))
        going = is_better & (stretched.error < STRETCH_GAIN * best.error)
        best = _choose_solution(ops, is_better, stretched, best)
        solves_once_more = False
    return best._replace(status=_stretched_status(ops, start, best, target, options))


def _stretched_status(
    ops: Operations, start: StartPose, found: ComponentSolution, target: Vector, options: Options
) -> Component:
    """Return the status of a stretched pose: of the target's distance d against the length L and ``stretch_max`` L."""
    unit, distance = start.chain.total_length, distance_between(ops, found.points[0], target)
    # L < d <= stretch_max L: the stretched links are long enough, so joint limits are the cause of the error.
    long_enough = (distance > unit) & (distance <= options.stretch_max * unit) & (start.constrained_chain is not None)
    is_limited = (found.status == _OUT_OF_REACH) & long_enough
    # The next stage compares with the eased target: a tip at the eased target that isn't at the target is out of reach.
    status = ops.where(is_limited, _LIMITED, ops.where(found.status == _REACHED, _OUT_OF_REACH, found.status))
    return ops.where(found.error <= options.tolerance, _REACHED, status)


def _scaled(ops: Operations, found: ComponentSolution, target: Vector, unit: float, most: float) -> ComponentSolution:
    """Scale a pose about its root by the factor, 1 to ``most``, at which its tip is nearest to the target."""
    root = found.points[0]
    arms = [subtract(point, root) for point in found.points]
    factor = stretch_factor(ops, arms[-1], subtract(target, root), most)
    points = [onward(root, factor, arm) for arm in arms]
    return found._replace(points=points, error=distance_between(ops, points[-1], target) / unit, stretch=factor)


def _shrunk(ops: Operations, goal: ChainGoal, found: ComponentSolution, unit: float, softness: float) -> ChainGoal:
    """Return the goal scaled about the root by 1/s, with s the stretch found; the target eased as softness eases it.

    Links that are as long as they may be leave the tip short of a target that softness alone would ease: the target is
    scaled by the smaller of 1/s and the share of its distance that softness leaves.
    """
    root, share = found.points[0], 1.0 / found.stretch
    eased = ops.minimum(share, soft_share(ops, relative_to(goal.target, root, unit), softness))
    pole = None if goal.pole is None else onward(root, share, subtract(goal.pole, root))
    return goal._replace(target=onward(root, eased, subtract(goal.target, root)), pole=pole)


def _choose_solution(
    ops: Operations, where: Condition, yes: ComponentSolution, no: ComponentSolution
) -> ComponentSolution:
    """Choose between two solutions, batch item by batch item."""
    points, frames = choose_each(ops, where, yes.points, no.points), choose_each(ops, where, yes.frames, no.frames)
    return ComponentSolution(no.batch, points, frames, *ops.choose(where, yes[3:], no[3:]))


def reach_rotation(
    after: Stage, ops: Operations, start: StartPose, goal: ChainGoal, options: Options
) -> ComponentSolution:
    """Give the last bone the goal's rotation, as far as its tip stays as near to the target as without it.

    1. The next stage solves for the whole chain without the rotation.
    2. ``last_link`` rotates the last link from the direction that the rotation gives it toward its direction in that
       pose, by just as much as the other links need to reach its head; the next stage solves for these. Where the tip
       is farther from the target then (``_MOST_ERROR_RATIO``), the pose without the rotation is taken instead.
    3. The last bone's frame is the rotation, followed by the shortest rotation from the link that the rotation gives to
       the link found.
    4. With limits ``rotate_least`` starts from the feasible pose nearest to those frames. Step 2 is then only for poses
       whose tips are at their targets without the rotation; any other pose keeps the tip that it has without the
       rotation. The present pose stays where that is hardly better (``_present_or``).
    """
    rotation, target = goal.rotation, goal.target
    assert rotation is not None  # this stage is for goals with a rotation only
    chain, unit = start.chain, start.chain.total_length
    with_rotation, goal = goal, goal._replace(rotation=None)
    plain = after(ops, start, goal, options)
    desired_link = rotate(rotation, rotate(conjugate(start.frames[-2]), scale(start.links[-1], unit)))
    points, frames, sweeps = plain.points, plain.frames, plain.sweeps
    link, allowed = subtract(points[-1], points[-2]), 0.0 * plain.error + options.tolerance
    if start.constrained_chain is None:
        allowed = ops.maximum(allowed, _MOST_ERROR_RATIO * plain.error)
    may_rotate = plain.error <= allowed
    if len(chain.links) > 1 and ops.any(may_rotate):
        last = last_link(ops, chain.links[:-1], subtract(target, start.root), desired_link, link)
        # One link has one solution for every solver, and TWO_BONE refuses one link.
        other_options = options if len(chain.links) > 2 else replace(options, solver="FABRIK")
        others = after(ops, start.without_tip, goal._replace(target=subtract(target, last)), other_options)
        tip = add(others.points[-1], last)
        better = may_rotate & (distance_between(ops, tip, target) <= allowed * unit)
        points = choose_each(ops, better, [*others.points, tip], points)
        link = choose_parts(ops, better, last, link)
        frames = [choose_parts(ops, better, a, b) for a, b in zip(others.frames, frames, strict=False)]
        sweeps = plain.sweeps + others.sweeps
    last_frame = multiply(from_to(ops, desired_link, link, start.x_axes[-2]), rotation)
    frames = [*frames[: len(chain.links) - 1], last_frame]
    if start.constrained_chain is not None:
        points, frames = _rotation_within_limits(ops, start, frames, plain, target, options)
    error = distance_between(ops, points[-1], target) / unit
    status = ops.where(error <= options.tolerance, _REACHED, plain.status)
    found = ComponentSolution(start.batch, points, frames, error, sweeps, status, stretch=1.0 + 0.0 * error)
    return found if start.constrained_chain is None else _present_or(ops, start, with_rotation, found, options)


def _rotation_within_limits(
    ops: Operations,
    start: StartPose,
    desired: list[Quaternion],
    plain: ComponentSolution,
    target: Vector,
    options: Options,
) -> tuple[list[Vector], list[Quaternion]]:
    """Return the joints and frames within limits that are nearest to the desired frames, with the tip as near.

    The tip is brought to the target, or to the tip of the pose without the rotation where that pose is short of the
    target: from the desired frames, and where this fails, from the pose without the rotation.
    """
    chain = start.constrained_chain
    assert chain is not None  # this function is for chains with limits only
    unit, root = start.chain.total_length, start.root
    tip = choose_parts(ops, plain.error <= options.tolerance, target, plain.points[-1])
    goal, tolerance, steps = relative_to(tip, root, unit), options.tolerance, min(options.iterations, REACH_STEPS)
    reference = coordinates_of(ops, chain, desired)
    _, placed, error = rotate_least(ops, chain, reference, reference, goal, Termination(tolerance, steps))
    is_off = error > tolerance
    if ops.any(is_off):
        at_tip = coordinates_of(ops, chain, plain.frames)
        _, again, error = rotate_least(ops, chain, at_tip, reference, goal, Termination(tolerance, steps))
        placed = again.where(ops, is_off, placed)
    points = [onward(root, unit, joint) for joint in placed.joints]
    allowed = ops.maximum(tolerance, _MOST_ERROR_RATIO * plain.error) * unit
    falls_back = distance_between(ops, points[-1], target) > allowed
    frames = choose_each(ops, falls_back, plain.frames, placed.frames)
    return choose_each(ops, falls_back, plain.points, points), frames


def _present_or(
    ops: Operations, start: StartPose, goal: ChainGoal, found: ComponentSolution, options: Options
) -> ComponentSolution:
    """Return a solution, or the present pose where its tip is at the target and the solution is hardly better.

    Limits may keep rotation and bend off, and each solve, from the pose of the one before, would take another way to
    them: an arm with its clavicle rotated by more than 1 degree at a second press of Solve in 35 of 60 poses.
    """
    chain, unit = start.constrained_chain, start.chain.total_length
    assert chain is not None  # this function is for chains with limits only
    placed = place(ops, chain, coordinates_of(ops, chain, start.frames))
    points = [onward(start.root, unit, joint) for joint in placed.joints]
    error = distance_between(ops, points[-1], goal.target) / unit
    stays = error <= options.tolerance
    if not ops.any(stays):
        return found
    reached = ops.where(stays, _REACHED, found.status)
    present = ComponentSolution(start.batch, points, placed.frames, error, found.sweeps, reached, found.stretch)
    angle, angle_before = (_angle_off(ops, start, goal, one) for one in (found, present))
    stays = stays & ((found.error > options.tolerance) | (AS_GOOD * angle_before <= angle))
    return _choose_solution(ops, stays, present, found)


def _angle_off(ops: Operations, start: StartPose, goal: ChainGoal, found: ComponentSolution) -> Component:
    """Return the root of the sum of the squared angles (radians) that last bone and bend are off."""
    assert goal.rotation is not None  # this function is for goals with a rotation only
    w, *axis = multiply(goal.rotation, conjugate(found.frames[-1]))
    off = 2.0 * ops.atan2(norm(ops, (axis[0], axis[1], axis[2])), ops.abs(w))
    if goal.pole is None or len(found.frames) < 3:
        return off
    others, root = start.without_tip, start.root
    joints = [relative_to(point, root, others.chain.total_length) for point in found.points[:-1]]
    pole = relative_to(goal.pole, root, others.chain.total_length)
    pole = rotate_pole(ops, pole, first_direction(ops, joints[:0:-1]), goal.pole_angle)
    bend = pole_angle(ops, joints, joints[-1], pole, shape_at(ops, others, joints[-1]))
    return ops.sqrt(off * off + bend * bend)


def reach_position(ops: Operations, start: StartPose, goal: ChainGoal, options: Options) -> ComponentSolution:
    """Bring the tip to the target and the bend toward the pole by the solver that the options name.

    It gets positions relative to the root, in units of the chain's length: its thresholds don't depend on scale.
    """
    unit, root = start.chain.total_length, start.root
    target = relative_to(goal.target, root, unit)
    pole = None
    if goal.pole is not None:
        pole = relative_to(goal.pole, root, unit)
        if goal.pole_angle != 0.0:
            start, pole = _rotate_pole_by_angle(ops, start, pole, target, goal.pole_angle)
    desired = soft_target(ops, target, options.softness)
    solver = solver_for(start.chain, options)
    if pole is not None and start.constrained_chain is None and start.chain.own_pole_shape:
        solver = FABRIK  # one pose of the family is at the target, and it is found without iterations
    points, frames, sweeps = solver.solve(ops, start, desired, pole, options)
    error = distance_between(ops, points[-1], target)
    joints = [onward(root, unit, point) for point in points]
    status = status_of(ops, start, target, options.softness, error <= options.tolerance)
    return ComponentSolution(start.batch, joints, frames, error, sweeps, status, 1.0 + 0.0 * error)


def status_of(ops: Operations, start: StartPose, target: Vector, softness: float, reached: Condition) -> Component:
    """Return how a solve ended: reached, else out of reach by the reach test, else limited or stalled.

    A target at a distance (``target``, from the root, in units of the chain's length) at which softness keeps the tip
    from it counts as out of reach.
    """
    if ops.all(reached):
        return ops.where(reached, _REACHED, _STALLED)
    too_far, too_near = reach_test(start.lengths, norm(ops, target))
    beyond = too_far | too_near | is_eased(ops, target, softness)
    failed = _STALLED if start.constrained_chain is None else _LIMITED
    return ops.where(reached, _REACHED, ops.where(beyond, _OUT_OF_REACH, failed))


def _rotate_pole_by_angle(
    ops: Operations, start: StartPose, pole: Vector, target: Vector, angle: float
) -> tuple[StartPose, Vector]:
    """Return the pole rotated by its angle about the line to the target, and the start with which to solve for it.

    A straight chain has no bend from which its frames could be transported: ``bend_plane`` takes the side of the pole
    from the chain's own line (``side_toward``). That side differs between the pole rotated by the angle about the
    chain's own line, from which the present frames come, and the pole rotated about the line to the target. The start
    returned therefore applies the rotation from the first side to the second before the rotation of the bend plane.
    """
    rotated = rotate_pole(ops, pole, first_direction(ops, [target, start.points[-1], start.points[1]]), angle)
    chord = first_direction(ops, [start.points[-1], start.points[1]])
    straight = norm(ops, bend_direction(ops, start.points, chord)) <= NO_BEND
    if start.constrained_chain is not None or not ops.any(straight):
        return start, rotated
    hint = start.x_axes[0]
    side_before = side_toward(ops, start.points, rotate_pole(ops, pole, chord, angle), hint)
    rotation = from_to(ops, side_before, side_toward(ops, start.points, rotated, hint), chord)
    twist, transport = choose_parts(ops, straight, rotation, identity_of(chord[0])), start.transport
    start = replace(
        start, transport=lambda ops, pose, points, q: transport(ops, pose, points, q and multiply(q, twist))
    )
    return start, rotated
