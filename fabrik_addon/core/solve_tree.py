# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several effectors of one tree: FABRIK's passes say where to go, least squares on all joints at once go there exactly.

What can't all be met is shared out in three ranks. Pins come first, with their rotations. A target that can't be met
even with the pins alone gives way to the others, and is come as near to as they allow. Targets that only exclude each
other share what is left by weight. Poles and other rotations come after positions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .fabrik.chain_fabrik import ROUNDING
from .fabrik.passes import Stop
from .fabrik.tree_passes import Pull, sweep_tree
from .goals.softness import is_eased, soft_target
from .math.operations import ARRAY, SCALAR, Array, Component, Operations, Vector, add_up
from .math.quaternions import Quaternion, multiply, rotate
from .math.rigid_fit import turned_by
from .math.vectors import norm, scale
from .model.chain_start import batch_shape
from .model.joint_limits import clamp, rotation_of, swing_twist
from .model.tree_start import StartTree, coordinates_of_tree, start_tree
from .optimise.tree_least_squares import (
    OrientationTask,
    PoleTask,
    PositionTask,
    StackedRule,
    Stage,
    State,
    Task,
    choose_state,
    descend_tree,
    state_of,
)
from .problem import FabrikError, Goals, Options, Pose, Solution, Status
from .solvers.table import solver_for_tree
from .solvers.tree_branches import Branch, branches_of, close_branches, tree_frames

STEPS = 40
"""Steps of least squares from one start."""

NEAR = 0.01
"""Gap, in the tree's units, at which the sweeps hand over to what closes it exactly."""

EXACT = 1e-8
"""Gap that least squares leave where they can."""

PIN_PRIORITY, UNREACHABLE_PRIORITY = 1e5, 1e-5
"""Weight of pins, and of targets that can't be met, beside the others', where not all can be met."""

SECONDARY_PRIORITIES = (1.0, 1e-2, 1e-4)
"""Weights of poles and rotations beside positions, one after another: at first they may take each other's place."""

ROOT_SHARE = 1.0
"""Share of a step that roots take where they give way: a unit of length beside a radian of a bone."""

POINTED = 1e-3
"""Angle (radians) between bend and pole that is no more to be seen."""

WORTH = 0.9
"""Share of the angle that poles and rotations are off, above which a pose at its targets isn't left for another."""

SWUNG = 0.3
"""Angle (radians) between bend and pole from which on a chain is turned as a whole first: far off steps are caught."""

_REACHED, _OUT_OF_REACH = int(Status.REACHED), int(Status.OUT_OF_REACH)
_LIMITED, _STALLED = int(Status.LIMITED), int(Status.STALLED)


@dataclass(frozen=True)
class TreeSolution:
    """A solution as components: floats for one pose, arrays for many."""

    batch: tuple[int, ...]
    points: list[Vector]
    """Joints, in armature space."""
    frames: list[Quaternion]
    """Of the bones, by joint, in armature space."""
    shifts: list[Vector]
    """Of the roots, in armature space."""
    error: list[Component]
    """Of each effector, over the length of its own chain."""
    sweeps: Component
    status: list[Component]


def solve_tree(start: StartTree, goals: Goals, options: Options) -> Solution:
    """Solve as ``solve_tree_lanes`` does; return arrays."""
    found = solve_tree_components(start, goals, options)
    batch = found.batch
    ops = ARRAY if batch else SCALAR

    def by_effector(values: Sequence[Component], kind: type) -> Any:
        return np.concatenate([ops.join_scalars(value, batch, kind) for value in values], axis=-1)

    return Solution(
        pose=Pose(ops.join(found.points, batch), ops.join(found.frames, batch), start.pose.base),
        error=by_effector(found.error, float),
        iterations=by_effector([found.sweeps] * len(found.error), int),
        status=by_effector(found.status, int),
        stretch=ops.join_scalars(1.0 + 0.0 * found.sweeps, batch, float),
    )


@dataclass(frozen=True)
class _TreeProblem:
    """Goals in the tree's units."""

    aims: list[PositionTask]
    """What each effector is meant for."""
    places: list[PositionTask]
    """What it is pulled to: softness keeps it back."""
    is_away: list[Component]
    """Which aims are out of reach, or so far that softness holds back."""
    after: list[PoleTask | OrientationTask]
    """Poles and rotations."""
    weights: list[float]
    """Of the effectors."""
    pinned: list[bool]
    held: list[OrientationTask]
    """Rotations of pinned effectors."""
    beyond: list[Component]
    """Which targets are too far from the root, or too near to it, for the links on the way."""
    prioritised: list[Component]
    """Weights with which the others are met where a target is beyond reach, as near as that lets one come."""
    enough: list[float]
    """Gap of each effector that counts as reached."""
    branches: list[Branch]


def solve_tree_components(
    start: StartTree, goals: Goals, options: Options, track: list[list[Component]] | None = None
) -> TreeSolution:
    """Pose a tree so that its effectors are at their targets.

    Args:
        start: the tree and its pose.
        goals: targets (..., E, 3) and the rest of it.
        options: sweeps at most, error that counts as reached.
        track: gets the errors, in the tree's units, of the sequence of poses that were accepted at the end, where not
            all targets could be met: no effector's error grows in it.

    Raises:
        FabrikError: a number isn't finite, or a shape doesn't fit.
    """
    solver_for_tree(options)
    batch = _goals_batch(start, goals)
    if batch != start.batch:
        start = start_tree(start.chain, start.pose, batch)
    ops = ARRAY if batch else SCALAR
    with ops.quiet():
        problem = _problem_of(ops, start, goals, options)
        state = _state(ops, start, problem)
        done = _is_done(ops, problem, state)
        sweeps = start.zero
        if not ops.all(done):
            found, is_met = state, _are_met(ops, problem, state)
            if not ops.all(is_met):
                reach = _reach_with_root if options.moves_root else _reach
                found, sweeps = reach(ops, start, problem, state, options)
                found = _compromise(ops, start, problem, found, options, track)
                found = choose_state(ops, is_met, state, found)
            found = _afterwards(ops, start, problem, found, options)
            # Poles and rotations that can't be met are no reason to wander: solving again would change sides for ever.
            no_worse = is_met & (_off(ops, problem, found) > WORTH * _off(ops, problem, state))
            state = choose_state(ops, ops.negate(done | no_worse), found, state)
    rx, ry, rz = start.root
    unit = start.unit
    errors = [norm(ops, aim.residual(ops, state.placed)) for aim in problem.aims]
    return TreeSolution(
        batch=batch,
        points=[(rx + unit * x, ry + unit * y, rz + unit * z) for x, y, z in state.placed.joints],
        frames=state.placed.frames,
        shifts=[(unit * x, unit * y, unit * z) for x, y, z in state.shifts],
        error=[error / length for error, length in zip(errors, start.own_lengths, strict=True)],
        sweeps=sweeps,
        status=_statuses(ops, start, problem, errors, options),
    )


# Goals


def _goals_batch(start: StartTree, goals: Goals) -> tuple[int, ...]:
    count = len(start.chain.tips)
    shape = batch_shape(
        ("targets", goals.targets, (count, 3)),
        ("poles", goals.poles, (count, 3)),
        ("rotations of the goals", goals.rotations, (count, 4)),
    )
    try:
        return np.broadcast_shapes(shape, start.batch)
    except ValueError as misfit:
        raise FabrikError(f"the batch shapes of goals {shape} and pose {start.batch} don't fit") from misfit


def _problem_of(ops: Operations, start: StartTree, goals: Goals, options: Options) -> _TreeProblem:
    chain, tree = start.chain, start.tree
    tips = chain.tips.tolist()
    meets = [-1] * len(tips) if goals.meets is None else goals.meets.tolist()
    targets = _split(ops, start, goals.targets, "target")
    for number, met in enumerate(meets):
        if met >= 0 and not tree.supporting_bones[met] and not options.moves_root:
            targets[number], meets[number] = start.points[met], -1  # it can't come: it is a place like any other
    aims: list[PositionTask] = []
    places = []
    eased = []
    softness = [options.softness] * len(tips) if goals.softness is None else goals.softness.tolist()
    for tip, target, met, soft in zip(tips, targets, meets, softness, strict=True):
        aims.append(PositionTask(tip, None if met >= 0 else target, met))
        if met < 0 and not options.moves_root:
            reach = start.length(0, tip)
            x, y, z = soft_target(ops, scale(target, 1.0 / reach), soft)
            eased.append(is_eased(ops, scale(target, 1.0 / reach), soft))
            places.append(PositionTask(tip, scale((x, y, z), reach)))
        else:
            eased.append(start.zero > 1.0)
            places.append(aims[-1])
    after: list[PoleTask | OrientationTask] = []
    pinned = [False] * len(tips) if goals.pinned is None else [bool(pin) for pin in goals.pinned]
    held: list[OrientationTask] = []
    if goals.rotations is not None:
        rows = ops.split(goals.rotations, start.batch)
        for number in _chosen(goals.with_rotations, len(tips)):
            if not ops.all(ops.isfinite(add_up(rows[number]))):
                name = chain.name(tips[number])
                raise FabrikError(f"the rotation goal of the chain that ends at {name} is not a finite number")
            facing = OrientationTask(tree.parents[tips[number]], rows[number])
            after.append(facing)
            held += [facing] if pinned[number] else []
    poled: dict[int, PoleTask] = {}
    if goals.poles is not None:
        rows = _split(ops, start, goals.poles, "pole target", goals.with_poles)
        starts = [0] * len(tips) if chain.starts is None else chain.starts.tolist()
        for number in _chosen(goals.with_poles, len(tips)):
            angle = 0.0 if goals.pole_angles is None else float(goals.pole_angles[number])
            if not math.isfinite(angle):
                name = chain.name(tips[number])
                raise FabrikError(f"the pole angle of the chain that ends at {name} is not a finite number")
            way = start.way(starts[number], tips[number])
            if len(way) > 2:
                poled[number] = PoleTask(way, rows[number], angle)
    after += poled.values()
    enough = [options.tolerance * length for length in start.own_lengths]
    beyond = _beyond(ops, start, places, enough)
    is_away = [far | soft for far, soft in zip(_beyond(ops, start, aims, enough), eased, strict=True)]
    weights = chain.weights.tolist()
    prioritised = [
        ops.where(is_beyond, UNREACHABLE_PRIORITY**0.5, 1.0) * weight
        for weight, is_beyond in zip(weights, beyond, strict=True)
    ]
    return _TreeProblem(
        aims,
        places,
        is_away,
        after,
        weights,
        pinned,
        held,
        beyond,
        prioritised,
        enough,
        branches_of(start, meets, poled),
    )


def _chosen(mask: Any, count: int) -> list[int]:
    return [number for number in range(count) if mask is None or mask[number]]


def _split(ops: Operations, start: StartTree, rows: Array, kind: str, mask: Any = None) -> list[Vector]:
    """Return points as seen from the root, in units; refuse those that aren't finite."""
    found: list[Vector] = []
    wanted = _chosen(mask, rows.shape[-2])
    for number, row in enumerate(ops.split(rows, start.batch)):
        if number in wanted and not ops.all(ops.isfinite(add_up(row))):
            name = start.chain.name(int(start.chain.tips[number]))
            raise FabrikError(f"the {kind} of the chain that ends at {name} is not a finite number")
        x, y, z = ((part - base) / start.unit for part, base in zip(row, start.root, strict=True))
        found.append((x, y, z))
    return found


# Ways there


def _state(ops: Operations, start: StartTree, problem: _TreeProblem) -> State:
    """Return the state of the pose there is."""
    zero = start.zero
    nowhere: Vector = (zero, zero, zero)
    tasks = [*problem.places, *problem.after]
    return state_of(ops, start.tree, start.coordinates, nowhere, [nowhere] * len(start.tree.roots), tasks)


def _is_done(ops: Operations, problem: _TreeProblem, state: State) -> Component:
    """Tell where a pose needs no solving: all is where it should be."""
    done = _are_met(ops, problem, state)
    for task in problem.after:
        done = done & (task.off(ops, state.placed) <= POINTED)
    return done


def _are_met(ops: Operations, problem: _TreeProblem, state: State) -> Component:
    met: Component = True
    for error, enough in zip(state.errors(ops), problem.enough, strict=False):
        met = met & (error <= enough)
    return met


def _stage(problem: _TreeProblem, weights: Sequence[Component] | None = None, root_share: float = 0.0) -> Stage:
    return Stage(
        problem.places, problem.weights if weights is None else weights, [EXACT] * len(problem.places), root_share
    )


def _reach(
    ops: Operations, start: StartTree, problem: _TreeProblem, present: State, options: Options
) -> tuple[State, Component]:
    """Return the best of what sweeps and least squares find with the root fixed, and the sweeps used."""
    stacked = solver_for_tree(options).stacked
    if stacked is not None:
        return _step(ops, start, problem, present, options, stacked)
    warm_start, sweeps = _warm_start(ops, start, problem, options)
    is_met = _are_met(ops, problem, warm_start)
    if ops.all(is_met):
        return _mended(ops, start, problem, warm_start), sweeps
    best = warm_start
    has_poles = any(isinstance(task, PoleTask) for task in problem.after)
    if start.is_limited and not has_poles:
        # Within limits the nearest pose is what one wants, and least squares go there from the one there is.
        halfway = _met_halfway(ops, start, problem, present)
        near, _ = _descended(ops, start, problem, halfway, _stage(problem, problem.prioritised))
        best = choose_state(ops, ops.negate(is_met) | _are_met(ops, problem, near), near, warm_start)
    hopeless = start.zero > 1.0
    best, sweeps = _try(ops, start, problem, best, warm_start, sweeps, hopeless)
    for beyond in problem.beyond:
        hopeless = hopeless | beyond
    for other in _other_starts(ops, start, best):
        if ops.all(_are_met(ops, problem, best) | hopeless):
            break
        best, sweeps = _try(ops, start, problem, best, other, sweeps, hopeless)
    return best, sweeps


def _reach_with_root(
    ops: Operations, start: StartTree, problem: _TreeProblem, present: State, options: Options
) -> tuple[State, Component]:
    """Return the best of what is found with a root that takes its share of the way: the pose there is changes least.

    Where least squares are caught FABRIK's passes begin anew, outward from where the passes inward bring the root.
    """
    stage = _stage(problem, None, ROOT_SHARE)
    halfway = _met_halfway(ops, start, problem, present)
    # At first with what is pinned turned as it is: a root can mostly make room for that as well.
    best, sweeps = _descended(ops, start, problem, halfway, _with_held(problem, stage, 0.0))
    if problem.held and not ops.all(_are_met(ops, problem, best)):
        found, steps = _descended(ops, start, problem, halfway, stage)
        best = choose_state(ops, ops.negate(_are_met(ops, problem, best)), found, best)
        sweeps = sweeps + steps

    def others() -> Iterator[State]:
        yield _warm_start(ops, start, problem, options, start.tree.roots)[0]
        yield from _other_starts(ops, start, present)

    for other in others():
        is_met = _are_met(ops, problem, best)
        if ops.all(is_met):
            break
        found, steps = _descended(ops, start, problem, other, stage)
        better = ops.negate(is_met) & (_spread(problem, found) < _spread(problem, best))
        best = choose_state(ops, better, found, best)
        sweeps = sweeps + ops.where(is_met, 0.0 * steps, steps)
    return best, sweeps


def _step(
    ops: Operations, start: StartTree, problem: _TreeProblem, present: State, options: Options, rule: StackedRule
) -> tuple[State, Component]:
    """Return the best of what a Jacobian's steps find with the root fixed, and the steps used."""
    stage = Stage(problem.places, problem.prioritised, problem.enough, rule=rule)
    hopeless = start.zero > 1.0
    for beyond in problem.beyond:
        hopeless = hopeless | beyond
    best, used = _descended(ops, start, problem, present, stage, steps=options.iterations)
    for other in _other_starts(ops, start, best):
        # One that has used all its steps isn't caught: it is on its way.
        missed = ops.negate(_are_met(ops, problem, best) | hopeless) & (used < options.iterations)
        if not ops.any(missed):
            break
        found, more = _descended(ops, start, problem, other, stage, steps=options.iterations)
        better = missed & (_spread(problem, found) < _spread(problem, best))
        best, used = choose_state(ops, better, found, best), used + ops.where(missed, more, 0.0 * more)
    return best, ops.maximum(used, start.zero + 1.0)


def _mended(ops: Operations, start: StartTree, problem: _TreeProblem, state: State) -> State:
    """Close what is left of gaps that count as reached, so that solving again has nothing left to do."""
    if all(ops.all(error <= ROUNDING) for error in state.errors(ops)[: len(problem.places)]):
        return state
    return _descended(ops, start, problem, state, _stage(problem))[0]


def _try(
    ops: Operations,
    start: StartTree,
    problem: _TreeProblem,
    best: State,
    begin: State,
    sweeps: Component,
    left_out: Component,
) -> tuple[State, Component]:
    """Return the better of a state and of what least squares make of another; and the sweeps used."""
    settled = _are_met(ops, problem, best) | left_out
    if ops.all(settled):
        return best, sweeps
    found, steps = _descended(ops, start, problem, begin, _stage(problem, problem.prioritised))
    better = ops.negate(settled) & (_spread(problem, found) < _spread(problem, best))
    return choose_state(ops, better, found, best), sweeps + ops.where(settled, 0.0 * steps, steps)


def _spread(problem: _TreeProblem, state: State) -> Component:
    """Return the weighted sum of the effectors' squared gaps."""
    total: Component = 0.0
    for (x, y, z), weight in zip(state.residuals, problem.prioritised, strict=False):
        total = total + weight * (x * x + y * y + z * z)
    return total


def _pulls(ops: Operations, start: StartTree, problem: _TreeProblem, moves_root: bool) -> list[Pull]:
    """Return what the sweeps go by: targets beyond reach hardly pull, so that they don't take the others off theirs."""
    pulls = []
    for place, weight, pinned, unreachable in zip(
        problem.places, problem.weights, problem.pinned, problem.beyond, strict=True
    ):
        share = ops.where(unreachable & (not moves_root), 1e-3, 10.0 if pinned else 1.0) * weight
        pulls.append(
            Pull(place.joint, place.target, place.meets, share, _weight_at(start, problem, place.meets, weight))
        )
    return pulls


def _weight_at(start: StartTree, problem: _TreeProblem, joint: int, weight: float) -> float:
    """Return the weight with which a joint stays where it is when another comes to meet it."""
    if joint < 0:
        return 0.0
    if not start.tree.supporting_bones[joint]:
        return 1e6 * weight  # it can't come
    of_others = [
        other
        for place, other in zip(problem.places, problem.weights, strict=True)
        if joint in (place.joint, *start.tree.above[place.joint]) and place.meets != joint
    ]
    return max(of_others, default=weight)


def _warm_start(
    ops: Operations, start: StartTree, problem: _TreeProblem, options: Options, roots: Sequence[int] = ()
) -> tuple[State, Component]:
    """Return FABRIK's answer, or what limits leave of it."""
    tree = start.tree
    pulls = _pulls(ops, start, problem, bool(roots))
    swept = sweep_tree(ops, tree, start.points, start.frames, pulls, Stop(NEAR, options.iterations), roots)
    targets = {number: place.target for number, place in enumerate(problem.places) if place.target is not None}
    joints, coordinates = close_branches(ops, start, problem.branches, targets, swept.joints, options)
    frames = tree_frames(ops, start, joints, swept.sub_base_frames, coordinates)
    zero = start.zero
    shifts: list[Vector] = [(zero, zero, zero)] * len(tree.roots)
    for number, root in enumerate(tree.roots):
        if root in roots:
            (x, y, z), (bx, by, bz) = joints[root], start.points[root]
            shifts[number] = (x - bx, y - by, z - bz)
    tasks = [*problem.places, *problem.after]
    state = state_of(ops, tree, coordinates_of_tree(ops, tree, frames), (zero, zero, zero), shifts, tasks)
    return state, swept.sweeps + 1.0


def _met_halfway(ops: Operations, start: StartTree, problem: _TreeProblem, state: State) -> State:
    """Bring joints that are to meet to the point between them, by weight, as far as they go."""
    if all(place.target is not None for place in problem.places):
        return state
    zero = start.zero
    tasks: list[Task] = []
    weights = []
    for place, weight in zip(problem.places, problem.weights, strict=True):
        if place.target is not None:
            tasks.append(place)
            weights.append(weight)
            continue
        (ax, ay, az), (bx, by, bz) = state.placed.joints[place.joint], state.placed.joints[place.meets]
        other = _weight_at(start, problem, place.meets, weight)
        share = other / (weight + other)
        middle = (ax + share * (bx - ax), ay + share * (by - ay), az + share * (bz - az))
        tasks += [PositionTask(place.joint, middle), PositionTask(place.meets, middle)]
        weights += [weight, other]
    found, _ = descend_tree(ops, start.tree, state, Stage(tasks, weights, [EXACT] * len(tasks)), STEPS)
    return state_of(
        ops, start.tree, found.coordinates, (zero, zero, zero), found.shifts, [*problem.places, *problem.after]
    )


def _other_starts(ops: Operations, start: StartTree, state: State) -> Iterator[State]:
    """Yield states to start from where the ones before were caught: bent all the same way, less and more."""
    tree = start.tree
    zero = start.zero
    for angle, share in ((0.15, 0.5), (-0.15, 0.25), (0.6, 0.75), (-0.6, 0.1)):
        coordinates = [*start.coordinates]
        for j in tree.bones:
            if tree.is_free[j]:
                # About its own x axis: that is how a straight chain bends where nothing else says how.
                half = 0.5 * angle
                coordinates[j] = multiply(start.coordinates[j], (math.cos(half), math.sin(half), 0.0, 0.0))
            else:
                limits = tree.limits[j]
                ends = zip(limits.lower, limits.upper, strict=True)
                parts = [
                    zero + (low + share * (high - low) if math.isfinite(low) and math.isfinite(high) else 0.0)
                    for low, high in ends
                ]
                coordinates[j] = clamp(ops, limits, (parts[0], parts[1], parts[2]))
        yield state_of(ops, tree, coordinates, (zero, zero, zero), state.shifts, [])


# What can't all be met


def _beyond(
    ops: Operations, start: StartTree, places: Sequence[PositionTask], allowed: Sequence[float]
) -> list[Component]:
    """Tell which places are too far from the root, or too near to it, for the links on the way."""
    found = []
    for place, enough in zip(places, allowed, strict=True):
        if place.target is None:
            found.append(start.zero > 1.0)
            continue
        way = start.way(0, place.joint)
        if start.tree.is_anchor:
            way = way[1:]
        base = start.points[way[0]]
        lengths = [start.tree.lengths[j] for j in way[1:]]
        x, y, z = (a - b for a, b in zip(place.target, base, strict=True))
        distance = norm(ops, (x, y, z))
        nearest = 2.0 * max(lengths) - sum(lengths)
        # What is just within reach may be just beyond by rounding.
        found.append((distance > sum(lengths) + enough) | (distance < nearest - enough))
    return found


def _compromise(
    ops: Operations,
    start: StartTree,
    problem: _TreeProblem,
    best: State,
    options: Options,
    track: list[list[Component]] | None,
) -> State:
    """Share out by rank and weight what can't all be met."""
    tree = start.tree
    share = ROOT_SHARE if options.moves_root else 0.0
    is_met = _are_met(ops, problem, best)
    if ops.all(is_met):
        return best
    errors = best.errors(ops)
    unreachable = []
    for number, (place, pinned, enough) in enumerate(zip(problem.places, problem.pinned, problem.enough, strict=True)):
        known = problem.beyond[number] & (share == 0.0) | (errors[number] <= enough)
        if pinned or ops.all(known):
            unreachable.append(problem.beyond[number] & (share == 0.0) & (not pinned))
            continue
        tasks: list[Task] = [*(problem.places[i] for i, pin in enumerate(problem.pinned) if pin), *problem.held, place]
        weights = [PIN_PRIORITY**0.5] * (len(tasks) - 1) + [1.0]
        alone, _ = descend_tree(ops, tree, best, Stage(tasks, weights, [EXACT] * len(tasks), share), STEPS)
        unreachable.append((alone.errors(ops)[-1] > enough) & (errors[number] > enough))
    found, prioritised = best, problem.prioritised
    # By half at first: what is nearly rigid leaves only short steps. Half is how it was when nothing new came to light.
    is_half_done = not share and not any(problem.pinned) and bool(ops.all(_same(ops, unreachable, problem.beyond)))
    for power in (1.0,) if is_half_done else (0.5, 1.0):
        prioritised = [
            ops.where(is_lost, UNREACHABLE_PRIORITY**power, PIN_PRIORITY**power if pinned else 1.0) * weight
            for weight, pinned, is_lost in zip(problem.weights, problem.pinned, unreachable, strict=True)
        ]
        found, _ = _descended(
            ops, start, problem, found, _with_held(problem, _stage(problem, prioritised, share), power)
        )
    strict = replace(
        _stage(problem, prioritised, share), is_strict=True, enough=[0.01 * each for each in problem.enough]
    )
    found, _ = _descended(ops, start, problem, found, _with_held(problem, strict, 1.0), track)
    return choose_state(ops, is_met, best, found)


def _with_held(problem: _TreeProblem, stage: Stage, power: float) -> Stage:
    """Return a stage in which what is pinned keeps its rotation too, with some power of the pins' weight."""
    held = len(problem.held)
    return replace(
        stage,
        tasks=[*stage.tasks, *problem.held],
        weights=[*stage.weights, *[PIN_PRIORITY**power] * held],
        enough=[*stage.enough, *[EXACT] * held],
    )


def _descended(
    ops: Operations,
    start: StartTree,
    problem: _TreeProblem,
    state: State,
    stage: Stage,
    track: list[list[Component]] | None = None,
    steps: int = STEPS,
) -> tuple[State, Component]:
    """Return what least squares make of a state, with what is then left of all that is wished; and the steps taken."""
    found, taken = descend_tree(ops, start.tree, state, stage, steps, track)
    return replace(
        found, residuals=[task.residual(ops, found.placed) for task in (*problem.places, *problem.after)]
    ), taken


def _same(ops: Operations, one: Sequence[Component], other: Sequence[Component]) -> Component:
    same: Component = True
    for a, b in zip(one, other, strict=True):
        same = same & (ops.where(a, 1, 0) == ops.where(b, 1, 0))
    return same


# Poles and rotations


def _afterwards(ops: Operations, start: StartTree, problem: _TreeProblem, best: State, options: Options) -> State:
    """Turn toward poles and rotations, as far as the effectors' places allow."""
    if not problem.after:
        return best
    count = len(problem.places)
    off = best.errors(ops)[count:]
    if all(ops.all(error <= EXACT) for error in off):
        return best
    # Effectors that aren't at their targets stay where they are.
    places = []
    for place, error, enough in zip(problem.places, best.errors(ops), problem.enough, strict=False):
        here = best.placed.joints[place.joint]
        if place.target is None:
            places.append(place)
        else:
            places.append(replace(place, target=tuple(ops.choose(error <= enough, place.target, here))))
    tasks: list[Task] = [*places, *problem.after]
    met_well = [EXACT] * len(tasks)
    found = _swung(ops, start, problem, best)
    for rank in SECONDARY_PRIORITIES:
        weights = [
            *problem.weights,
            *(1.0 if any(task is held for held in problem.held) else rank for task in problem.after),
        ]
        found, _ = _descended(ops, start, problem, found, Stage(tasks, weights, met_well))
    found, _ = _descended(ops, start, problem, found, Stage(places, problem.weights, [EXACT] * count))
    fits: Component = True
    for error, before, allowed in zip(found.errors(ops), best.errors(ops), problem.enough, strict=False):
        fits = fits & (error <= ops.maximum(allowed, 1.001 * before))
    return choose_state(ops, fits, found, best)


def _off(ops: Operations, problem: _TreeProblem, state: State) -> Component:
    """Return the root of the sum of the squared angles (radians) that poles and rotations are off."""
    total: Component = 0.0
    for task in problem.after:
        angle = task.off(ops, state.placed)
        total = total + angle * angle
    return ops.sqrt(total)


def _swung(ops: Operations, start: StartTree, problem: _TreeProblem, state: State) -> State:
    """Turn chains that bend far from their poles about the lines from their roots to their tips, as limits allow.

    That leaves a tip where it is. A chain whose first bone carries other effectors is left alone.
    """
    tree, zero = start.tree, start.zero
    for task in problem.after:
        if not isinstance(task, PoleTask):
            continue
        bone, tip = task.joints[0], task.joints[-1]
        if any(bone in (place.joint, *tree.above[place.joint]) and place.joint != tip for place in problem.places):
            continue
        is_far = task.off(ops, state.placed) > SWUNG
        if not ops.any(is_far):
            continue
        turn = task.turn(ops, state.placed)
        w, x, y, z = state.placed.parents[bone]
        own = state.coordinates[bone] if tree.is_free[bone] else rotation_of(ops, state.coordinates[bone])
        own = turned_by(ops, own, rotate((w, -x, -y, -z), turn))
        coordinates = [*state.coordinates]
        coordinates[bone] = own if tree.is_free[bone] else clamp(ops, tree.limits[bone], swing_twist(ops, own))
        tasks = [*problem.places, *problem.after]
        swung = state_of(ops, tree, coordinates, (zero, zero, zero), state.shifts, tasks)
        state = choose_state(ops, is_far, swung, state)
    return state


def _statuses(
    ops: Operations, start: StartTree, problem: _TreeProblem, errors: Sequence[Component], options: Options
) -> list[Component]:
    tree = start.tree
    found = []
    for place, error, enough, beyond in zip(problem.places, errors, problem.enough, problem.is_away, strict=True):
        is_limited = any(not tree.is_free[bone] for bone, _ in tree.supporting_bones[place.joint])
        failed = _LIMITED if is_limited else _OUT_OF_REACH
        status = ops.where(beyond & (not options.moves_root), _OUT_OF_REACH, failed)
        found.append(ops.where(error <= enough, _REACHED, status))
    return found
