# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A solve, stage by stage: check, root that follows, stretch, rotation, position, status.

Each stage but the last is a function that takes the stage after it as its first argument and calls it once or several
times: ``reach_rotation`` first without the rotation and then without the last link, ``reach_as_tree`` without the
rotation, ``stretch_links`` at the chain's own lengths, ``move_root`` with the root where it is.
``reach_position`` is the last one. The stage of a goal that is not given is left out.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

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
from .model.chain_start import NearSolution, StartPose, batch_shape, start_from
from .model.constrained_chain import place
from .model.tree_start import start_tree
from .problem import Chain, FabrikError, Goals, Options, Pose, Solution, Status
from .solve_tree import each_pose, solve_tree_components, solve_trees
from .solvers.fabrik_solver import FABRIK
from .solvers.table import solver_for
from .trees.solution import TreeSolution, at_frames
from .within_limits.constrained_reach import coordinates_of
from .within_limits.least_rotation import PATIENCE

DEFAULT_OPTIONS = Options()

_REACHED, _OUT_OF_REACH = int(Status.REACHED), int(Status.OUT_OF_REACH)
_LIMITED, _STALLED = int(Status.LIMITED), int(Status.STALLED)

_MOST_ERROR_RATIO = 1.01
"""Error of a pose with the rotation, over the error of the pose without, up to which the rotation is taken: position
comes before rotation."""

_MUCH_NEARER = 0.25
"""Ratio of the errors of the pose without the rotation and of the pose that a descent has ended in, up to which the
descent starts again from the first although it doesn't reach the target: that may be a jump of the bones."""


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
    solved = Pose(joined(found.points, found.batch), joined(frames, found.batch), pose.base)
    error, iterations, status, stretch = (np.reshape(each, (*found.batch, 1)) for each in found[3:7])
    return Solution(solved, error, iterations.astype(int), status.astype(int), stretch)


def joined(rows: Sequence[Sequence[Component]], batch: tuple[int, ...]) -> Array:
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
    iterations: Component
    """Iterations used."""
    status: Component
    """Values of ``Status``."""
    stretch: Component
    """Factor by which the links are longer than the chain's."""
    near: NearSolution | None = None
    """Where the search for a target near this one starts, if that isn't from ``frames``."""

    @property
    def next_start(self) -> NearSolution:
        """Where the search for a target near this one starts (``StartPose.near``)."""
        return self.near or NearSolution(self.frames)


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
    is_limited, has_rotation = start.constrained_chain is not None, goal.rotation is not None
    goes_on = start.near is not None and not start.batch and depends_on_near(start.chain, goals, options)
    if start.batch and is_limited and has_rotation:
        return _solve_each(start, goals, options)
    if has_rotation and not is_limited:
        stage = partial(reach_rotation, stage)
    elif has_rotation and options.iterations < PATIENCE:
        stage = partial(reach_rotation_clamped, stage)
    elif has_rotation or (goes_on and goal.pole is not None):
        stage = partial(reach_as_tree, stage)
    if options.stretch_max > 1.0:
        stage = partial(stretch_links, stage)
    if options.moves_root:
        stage = partial(move_root, stage)
    if not start.batch:
        return stage(SCALAR, start, goal, options)
    with quiet():
        return stage(ARRAY, start, goal, options)


def depends_on_near(chain: Chain, goals: Goals, options: Options) -> bool:
    """Tell whether the pose that is found depends on a solution near (``StartPose.near``).

    It does within limits: with a rotation, whatever the solver, and else with FABRIK, but for two bones with a pole,
    which says where the elbow is. With each move of 258 drags of an arm and a leg from the pose at the drag's start as
    many had a jump (46) as with each from the move before (48), in a thirtieth of the time.
    """
    if not chain.has_limits or goals.rotations is not None:
        return chain.has_limits
    return options.solver == "FABRIK" and (goals.poles is None or len(chain.links) > 2)


def _solve_each(start: StartPose, goals: Goals, options: Options) -> ComponentSolution:
    """Solve the poses of a batch one after another: each descent has a number of steps of its own."""
    found = [
        solve_components(start_from(start.chain, pose), desired, options)
        for pose, desired in each_pose(start.chain, start.pose, goals, start.batch)
    ]
    return batch_of(found, start)


def batch_of(found: Sequence[ComponentSolution], start: StartPose) -> ComponentSolution:
    """Return the solutions of the single poses of a batch as that of the batch, which may be empty."""
    batch, bones = start.batch, len(start.links)
    columns = (
        ([one.points for one in found], (bones + 1, 3)),
        ([one.frames for one in found], (bones, 4)),
        ([one[3:7] for one in found], (1, 4)),
    )
    points, frames, (numbers,) = (
        ARRAY.split(np.array(column, float).reshape(*batch, *shape), batch) for column, shape in columns
    )
    return ComponentSolution(batch, points, frames, *numbers)


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
    return replace(goals, targets=joined([goal.target], start.batch)), options


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
        again = again._replace(iterations=best.iterations + again.iterations)
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
    error, iterations, status, stretch = ops.choose(where, yes[3:7], no[3:7])
    near = None if no.batch else (yes if where else no).near
    return ComponentSolution(no.batch, points, frames, error, iterations, status, stretch, near)


def reach_rotation(
    after: Stage, ops: Operations, start: StartPose, goal: ChainGoal, options: Options
) -> ComponentSolution:
    """Give the last bone the goal's rotation, as far as its tip stays as near to the target as without it.

    1. The next stage solves for the whole chain without the rotation.
    2. ``last_link`` rotates the last link from the direction that the rotation gives it toward its direction in that
       pose, by just as much as the other links need to reach its head; the next stage solves for these. Where the tip
       is farther from the target then (``_MOST_ERROR_RATIO``), the pose without the rotation is taken instead. A single
       other link has no bend that a pole could rotate: its frame is the one in the pose without the rotation, followed
       by the shortest rotation to the link found. Rotated to the pole it would roll by 180 degrees as it passes it.
    3. The last bone's frame is the rotation, followed by the shortest rotation from the link that the rotation gives to
       the link found.
    """
    rotation, target = goal.rotation, goal.target
    assert rotation is not None  # this stage is for goals with a rotation only
    chain, unit = start.chain, start.chain.total_length
    goal = goal._replace(rotation=None)
    plain = after(ops, start, goal, options)
    desired_link = rotate(rotation, rotate(conjugate(start.frames[-2]), scale(start.links[-1], unit)))
    points, frames, iterations = plain.points, plain.frames, plain.iterations
    link = subtract(points[-1], points[-2])
    allowed = ops.maximum(0.0 * plain.error + options.tolerance, _MOST_ERROR_RATIO * plain.error)
    if len(chain.links) > 1:
        last = last_link(ops, chain.links[:-1], subtract(target, start.root), desired_link, link)
        # One link has one solution for every solver, and TWO_BONE refuses one link.
        other_options = options if len(chain.links) > 2 else replace(options, solver="FABRIK")
        others = after(ops, start.without_tip, goal._replace(target=subtract(target, last)), other_options)
        tip = add(others.points[-1], last)
        other_frames = others.frames
        if len(chain.links) == 2 and goal.pole is not None:
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
    status = ops.where(error <= options.tolerance, _REACHED, plain.status)
    return ComponentSolution(start.batch, points, frames, error, iterations, status, stretch=1.0 + 0.0 * error)


def reach_as_tree(
    after: Stage, ops: Operations, start: StartPose, goal: ChainGoal, options: Options
) -> ComponentSolution:
    """Bring a chain within limits to its target, and to rotation and pole as far as the tip stays as near to it.

    They are tasks of a tree of this one chain (``solve_tree``), with the target before the others. Its descent starts

    1. from ``StartPose.near`` where it is known: the solution of the move or frame before;
    2. else from the pose at hand, if its tip is at the target;
    3. else from the pose that the next stage finds without the rotation, and also where a descent from 1 or 2 ends off
       a target within reach, and that pose is at the target or much nearer (``_MUCH_NEARER``).

    A pole without a rotation comes here only where a solution near is known: from the pose at hand a second solve would
    rotate a chain beyond reach again, by up to 48 degrees, and each would take 5 to 20 times as long.

    The options' iterations bound the next stage alone.
    """
    chain = start.chain
    solver_for(chain, options)  # which refuses chains that it can't solve, also where the next stage isn't needed
    tree = start_tree(chain, start.pose)
    goals = Goals(
        np.array([goal.target]),
        rotations=None if goal.rotation is None else np.array([goal.rotation]),
        poles=None if goal.pole is None else np.array([goal.pole]),
        pole_angles=np.array([goal.pole_angle]),
        pole_shapes=(chain.pole_shape,),
    )
    alone = replace(options, moves_root=False, stretch_max=1.0, solver="FABRIK")

    def descended(near: NearSolution) -> TreeSolution:
        previous = at_frames(tree, [*near.frames, near.frames[-1]], near.forces)
        return solve_tree_components(tree, goals, alone, previous)

    begin, found, iterations = start.near, None, 0.0
    if (
        begin is None
        and math.dist(goals.targets[0], start.pose.positions[-1]) <= options.tolerance * chain.total_length
    ):
        begin = NearSolution(start.frames[:-1])
    if begin is not None:
        found = descended(begin)
        iterations += found.iterations
    if found is None or found.status[0] not in (_REACHED, _OUT_OF_REACH):
        plain = after(ops, start, goal._replace(rotation=None), options)
        iterations += float(plain.iterations)
        if found is None or plain.error <= max(options.tolerance, _MUCH_NEARER * found.error[0]):
            found = descended(NearSolution(plain.frames))
            iterations += found.iterations
    frames = found.frames[:-1]
    ended = frames if found.by_weight is None else found.by_weight.placed.frames[:-1]
    near = NearSolution(ended, found.forces)
    return ComponentSolution((), found.points, frames, found.error[0], iterations, found.status[0], 1.0, near)


def reach_rotation_clamped(
    after: Stage, ops: Operations, start: StartPose, goal: ChainGoal, options: Options
) -> ComponentSolution:
    """Return the pose of ``reach_rotation`` clamped to the limits, or the pose without the rotation.

    For solves with fewer iterations than ``PATIENCE``, whose callers solve again. Clamping the last bone may take the
    tip from where ``reach_rotation`` has it: then the rotation is left out.
    """
    chain, unit = start.constrained_chain, start.chain.total_length
    assert chain is not None  # this function is for chains with limits only
    found = reach_rotation(after, ops, start, goal, options)
    placed = place(ops, chain, coordinates_of(ops, chain, found.frames))
    points = [onward(start.root, unit, joint) for joint in placed.joints]
    error = distance_between(ops, points[-1], goal.target) / unit
    if error > max(options.tolerance, _MOST_ERROR_RATIO * found.error):
        return after(ops, start, goal._replace(rotation=None), options)
    is_off = _LIMITED if found.status == _REACHED else found.status
    status = _REACHED if error <= options.tolerance else is_off
    return found._replace(points=points, frames=placed.frames, error=error, status=status)


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
    points, frames, iterations = solver.solve(ops, start, desired, pole, options)
    error = distance_between(ops, points[-1], target)
    joints = [onward(root, unit, point) for point in points]
    status = status_of(ops, start, target, options.softness, error <= options.tolerance)
    return ComponentSolution(start.batch, joints, frames, error, iterations, status, 1.0 + 0.0 * error)


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
