# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The goals of a tree as tasks in the tree's units, by priority, and how far a pose is from them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..goals.softness import is_eased, soft_target
from ..math.operations import SCALAR, Array, Mask, Vector, add_up
from ..math.quaternions import IDENTITY, conjugate, from_to, multiply, rotate, rotation_fault
from ..math.rigid_fit import turned_by
from ..math.vectors import relative_to, scale
from ..model.joint_limits import clamp, rotation_of, swing_twist
from ..model.skeleton import LEAST_POSTURE_WEIGHT, JointCoordinates, Tree
from ..model.tree_start import StartTree, coordinates_of_tree
from ..problem import Chain, Goals, Options
from .balance_task import BalanceTask, balance_task
from .floor_task import FloorTask, floor_task
from .look_at_task import LookAtTask, look_at_task
from .reach_proof import are_beyond_reach
from .swivel_task import SWIVEL_WEIGHT, SwivelTask, swivel_task
from .task_stack import TaskStack
from .tasks import (
    POLE_FADE,
    POLE_FADE_BESIDE_PINS,
    POLE_ROUNDING,
    OrientationTask,
    PoleTask,
    PositionTask,
    State,
    Task,
)
from .tree_coordinates import TreeCoordinates

FAR_BEYOND, LEAST_WEIGHT = 0.1, 0.04
"""Distance by which a target is beyond reach, in the tree's units, from which on it has the least weight, and the share
of its weight that it has there. The force of a target is bounded (``task_loss``), by a bound that falls with the root
of this share."""

UNSEEN_ANGLE = 1e-3
"""Angle (radians) between bend and pole, or between rotations, that can't be seen."""

WRONG_SIDE = 0.5 * math.pi
"""Angle (radians) between bend and pole beyond which a chain bends to the wrong side."""

ZIGZAG = 0.3
"""Distance of the inner joints' sum from the chord, over the sum of their distances, below which a chain bends to both
sides alternately, and its bend has no direction."""

LEAST_BENT, WELL_BENT = 0.003, 0.03
"""``f h`` of a chain (``PoleTask.arc``), in the tree's units, from which the chain is rotated to its pole as a whole:
where all targets may be met, and where some can't be. A chain stretched straight to a target beyond reach has no side:
a straight arm rotated by 107 degrees in one step of its target without the second."""

BALANCE_WEIGHT, FLOOR_WEIGHT = 10.0, 100.0
"""Weight of the balance task and of the floor task beside the position tasks of their level, that of the handle that is
pulled: a hand that is pulled far away is left behind before the center of mass leaves the feet."""

ROUNDING = 1e-12
"""Distance, in the tree's units, that is rounding."""


Level: TypeAlias = list[tuple[Task, float]]
"""Tasks with their weights."""

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class TreeProblem:
    """Goals of one pose in the tree's units, seen from the first joint."""

    start: StartTree
    uneased: list[PositionTask]
    """Position task of each effector, at its own target."""
    positions: list[PositionTask]
    """Position task of each effector, at the target that softness keeps short of full extension."""
    is_away: list[bool]
    """Which targets are out of reach, or so far that softness keeps the effector from them."""
    secondary: list[PoleTask | OrientationTask]
    """Poles and rotations."""
    poles: dict[int, PoleTask]
    """The pole tasks among them, by effector."""
    rotations: dict[int, OrientationTask]
    """The orientation tasks among them, by effector."""
    weights: list[float]
    """Of the effectors."""
    pinned: list[bool]
    beyond_reach: list[float]
    """By how much each target is too far from the root, where the root is fixed, and from each pin, or too near."""
    tolerances: list[float]
    """Distance of each effector from its target that counts as reached; infinite without a target."""
    moves_root: bool
    is_weighed: bool
    """Whether tasks are weighed against each other (``is_weighed``)."""
    goals: Goals
    """The goals themselves: those of a body have priorities."""
    balance: BalanceTask | None = None
    """Of a body that stands."""
    floor: FloorTask | None = None
    """Of a body over a floor."""
    look_at: LookAtTask | None = None
    """Of a body whose head looks at a point."""
    swivels: tuple[SwivelTask, ...] = ()
    """Of a body's arms."""

    @property
    def has_far_target(self) -> bool:
        """Whether a target is beyond reach."""
        return any(excess > 0.0 for excess in self.beyond_reach)

    def is_proven_unmet(self, state: State) -> bool:
        """Tell whether it is proven that not all targets can be met, from a state that is as near to them as found."""
        at_points = [task for task in self.positions if task.target is not None and task.slack == 0.0]
        return not self.moves_root and bool(at_points) and are_beyond_reach(self.start.tree, at_points, state)

    @cached_property
    def reach_weights(self) -> list[float]:
        """Of the effectors, less of targets beyond reach.

        A target beyond reach by d weighs ``LEAST_WEIGHT^(d / FAR_BEYOND)`` of its weight, d up to FAR_BEYOND, which
        bounds its force: so the pose stays a continuous function of the target as the target leaves reach.
        """
        pairs = zip(self.weights, self.beyond_reach, strict=True)
        return [weight * LEAST_WEIGHT ** min(excess / FAR_BEYOND, 1.0) for weight, excess in pairs]

    def levels(self) -> list[Level]:
        """Return the tasks with weights, by priority: pins, targets, poles and rotations; a body's by its own."""
        if self.goals.priorities is not None:
            return self._levels_of(self.goals.priorities.tolist())
        held = [task for number, task in self.rotations.items() if self.pinned[number]]
        pins: Level = [(task, 1.0) for task in held]
        targets: Level = []
        for task, weight, reduced, pinned in zip(
            self.positions, self.weights, self.reach_weights, self.pinned, strict=True
        ):
            (pins if pinned else targets).append((task, weight if pinned else reduced))
        last: Level = [(task, 1.0) for task in self.secondary if not any(task is each for each in held)]
        return [level for level in (pins, targets, last) if level]

    def _levels_of(self, priorities: Sequence[int]) -> list[Level]:
        """Return the tasks with weights, by the effectors' own priorities (``Goals.priorities``); poles don't count."""
        levels: dict[int, Level] = {}
        goals = self.goals
        for number, (position, weight, priority) in enumerate(
            zip(self.positions, self.weights, priorities, strict=True)
        ):
            if math.isfinite(self.tolerances[number]):
                levels.setdefault(priority, []).append((position, weight))
            if number in self.rotations:
                level = priority if self.pinned[number] else priority + 1
                levels.setdefault(level, []).append((self.rotations[number], weight))
        if self.balance is not None and goals.balance is not None:
            levels.setdefault(goals.balance.priority, []).append((self.balance, BALANCE_WEIGHT))
        if self.floor is not None and goals.floor is not None:
            # On a level of its own it would take the place, and the firmness, of the level after it.
            least = goals.floor.priority
            level = min((level for level in levels if level >= least), default=least)
            levels.setdefault(level, []).append((self.floor, FLOOR_WEIGHT))
        if self.look_at is not None and goals.look_at is not None:
            if not levels:
                levels[0] = []  # the first level is met before anything else, which a look is never
            levels.setdefault(goals.look_at.priority, []).append((self.look_at, 1.0))
        return [levels[level] for level in sorted(levels)]

    def stack(self) -> TaskStack:
        """Return the tasks by level, and the swivels beside the posture task."""
        return self._stack_of(self.levels())

    def weighed(self, state: State, most: float) -> tuple[TaskStack, TaskStack]:
        """Return the tasks of chains without pins for a descent by weight: for its steps, and for exact steps after.

        In its steps targets that are nearly met are the first level, to which each trial is corrected: with all targets
        on one level a Y with one target beyond reach took 5.4 ms instead of 3.4, a hand 11.2 instead of 5.8.

        A target is nearly met whose effector is within the distance ``most`` in the state where the descent starts.
        """
        nearly: Level = []
        others: Level = []
        for position, weight, distance in zip(self.positions, self.reach_weights, self.distances(state), strict=True):
            (nearly if distance <= most else others).append((position, weight))
        rounded: Level = [
            (replace(task, rounding=POLE_ROUNDING) if isinstance(task, PoleTask) else task, 1.0)
            for task in self.secondary
        ]
        return self._stack_of([nearly, others, rounded]), self._stack_of([[], [*nearly, *others], rounded])

    def by_reach(self) -> list[Level]:
        """Return the targets within reach, those beyond reach, and poles and rotations."""
        levels: list[Level] = [[], [], [(task, 1.0) for task in self.secondary]]
        for position, weight, excess in zip(self.positions, self.reach_weights, self.beyond_reach, strict=True):
            levels[excess > 0.0].append((position, weight))
        return [sorted(each, key=_order) for each in levels]

    def _stack_of(self, levels: list[Level]) -> TaskStack:
        levels = [sorted(level, key=_order) for level in levels]
        swivels = [(task, SWIVEL_WEIGHT) for task in self.swivels]
        return TaskStack(self.coordinates, levels, swivels)

    @cached_property
    def coordinates(self) -> TreeCoordinates:
        """The coordinates of all tasks.

        Chains without pins have bone weights: the roots of ``Tree.carried_lengths``, 1 of the bone that carries least.
        With equal weights bones of Rigify's human whose hand was led across the body, with its rotation, jumped by up
        to 52 degrees within reach; with the carried lengths themselves a hand of 26 bones took 8.3 steps instead of
        6.2.
        """
        tree = self.start.tree
        weights = None if self.is_weighed else [math.sqrt(c / LEAST_POSTURE_WEIGHT) for c in tree.carried_lengths]
        return TreeCoordinates(tree, self.moves_root, (), weights)

    def state(self, coordinates: Sequence[JointCoordinates], shifts: Sequence[Vector] | Array) -> State:
        """Return the state of coordinates and roots' shifts."""
        tree = self.start.tree
        return State(tree, *tree.split(coordinates), np.array(shifts, float).reshape(-1, 3))

    @cached_property
    def present(self) -> State:
        """The state of the pose at hand; its joints and frames are computed once for all goals."""
        state = State(self.start.tree, *self.start.arrays, self.start.unshifted)
        state.__dict__["placed"] = self.start.placed
        return state

    def effectors_beyond(self, joint: int) -> list[int]:
        """Return the joints of the effectors at a joint, or on bones that hang on it."""
        above = self.start.tree.structure.above
        return [task.joint for task in self.positions if joint in (task.joint, *above[task.joint])]

    def distances(self, state: State) -> list[float]:
        """Return the distance of each effector from where it is brought."""
        return [math.hypot(*position.residual(state.placed)) for position in self.positions]

    def farthest(self, state: State) -> float:
        """Return the largest distance of an effector that has a target from where it is brought."""
        distances = zip(self.distances(state), self.tolerances, strict=True)
        return max((distance for distance, tolerance in distances if math.isfinite(tolerance)), default=0.0)

    def is_met(self, state: State) -> bool:
        """Tell whether every effector is at its target."""
        return all(found <= tolerance for found, tolerance in zip(self.distances(state), self.tolerances, strict=True))

    def is_done(self, state: State) -> bool:
        """Tell whether targets, poles and rotations are all met."""
        looks = self.look_at is None or self.look_at.off(state.placed) <= UNSEEN_ANGLE
        return looks and self.is_met(state) and all(task.off(state.placed) <= UNSEEN_ANGLE for task in self.secondary)

    def spread(self, state: State) -> float:
        """Return the weighted sum of the effectors' squared distances (``reach_weights``)."""
        pairs = zip(self.reach_weights, self.distances(state), strict=True)
        return sum(weight * distance * distance for weight, distance in pairs)

    def angle_off(self, state: State) -> float:
        """Return the root of the sum of the squared angles (radians) that poles and rotations are off."""
        return math.hypot(*(task.off(state.placed) for task in self.secondary))

    def bending_away(self, state: State) -> list[int]:
        """Return the effectors whose chains aren't straight, and don't bend to the sides of their poles.

        Of a pole that has no residual only chains that bend to both sides alternately count as bending away.
        """
        found = []
        for number, task in self.poles.items():
            angle = task.arc(state.placed).angle
            bend, deviation = task.deviations(state.placed)
            if deviation > LEAST_BENT and (SCALAR.abs(angle) > WRONG_SIDE or bend < ZIGZAG * deviation):
                found.append(number)
        return found

    def turned_to_poles(self, state: State, is_reference: bool = False) -> State:
        """Turn chains that bend to the wrong side about the lines from their roots to their tips, as limits allow.

        That leaves a tip where it is. A chain whose first bone carries other effectors is left alone.

        Without pins the chains of the pose at hand (``is_reference``), which a target that leaves reach doesn't change,
        are turned alike within reach and beyond. Arms of a Y that are bent by 0.02 at rest rotated by 149 degrees, 298
        times the median step's rotation, where a target left reach; so by 1.5 times.
        """
        is_firm = self.is_weighed or (self.has_far_target and not is_reference)
        structure, least = self.start.tree.structure, WELL_BENT if is_firm else LEAST_BENT
        for task in self.poles.values():
            bone, tip = task.joints[0], task.joints[-1]
            if any(joint != tip for joint in self.effectors_beyond(bone)):
                continue
            angle, size, *_ = task.arc(state.placed)
            if SCALAR.abs(angle) <= WRONG_SIDE or size <= least:
                continue
            value = state.coordinates[bone]
            own = value if len(value) == 4 else rotation_of(SCALAR, value)
            rotation = task.rotation_to_pole(state.placed)
            # With the own rotation q = P^-1 F the parent frame P is F q^-1.
            own = turned_by(own, rotate(multiply(own, conjugate(state.placed.frame(bone))), rotation))
            coordinates = [*state.coordinates]
            limits = structure.limits[bone]
            coordinates[bone] = own if structure.is_free[bone] else clamp(SCALAR, limits, swing_twist(SCALAR, own))
            state = self.state(coordinates, state.shifts)
        return state

    def bent_to_poles(self, state: State) -> State:
        """Return a reference pose turned to its poles, also the chains whose last bones keep a rotation.

        Of these the joints are rotated by R, about the line from root to tip, and the frames are ``FromTo(l_j, R l_j)
        F_j`` of the links l_j, clamped to limits; what hangs on them stays. R itself would rotate the foot of a leg
        that bends away from its pole by half a turn. With the leg as it is the descents of Rigify's human, with pinned
        feet and knees that bend backward by 0.08 m, converged in no frame of a bake, in 84 ms instead of 8 each, and a
        round of a hand's path left the knees off by 2.6 degrees instead of 0.01.
        """
        state = self.turned_to_poles(state)
        for number, task in self.poles.items():
            tip, end = task.joints[-1], self.positions[number].joint
            angle, size, *_ = task.arc(state.placed)
            is_away = SCALAR.abs(angle) > WRONG_SIDE and size > LEAST_BENT
            carried = self.effectors_beyond(task.joints[0])
            if is_away and end != tip and all(joint in (tip, end) for joint in carried):
                state = self._bent_through(state, task)
        return state

    def _bent_through(self, state: State, task: PoleTask) -> State:
        """Bend one chain to its pole by the shortest rotations of its links (``bent_to_poles``)."""
        rotation = task.rotation_to_pole(state.placed)
        frames, joints = list(state.placed.frames), state.placed.joints
        for joint, following in pairwise(task.joints):
            link = relative_to(joints[following], joints[joint], 1.0)
            bent = from_to(SCALAR, link, rotate(turned_by(IDENTITY, rotation), link), rotation)
            frames[joint] = multiply(bent, frames[joint])
        found = coordinates_of_tree(self.start.tree, frames)
        rotated, parents = set(task.joints[:-1]), self.start.tree.structure.parents
        coordinates = [*state.coordinates]
        for joint, parent in enumerate(parents):
            if joint in rotated or parent in rotated:
                coordinates[joint] = found[joint]
        return self.state(coordinates, state.shifts)

    def is_limited(self, number: int) -> bool:
        """Tell whether an effector hangs on a bone that isn't free."""
        structure = self.start.tree.structure
        return any(not structure.is_free[bone] for bone, _ in structure.supporting_bones[self.positions[number].joint])


def _order(task_and_weight: tuple[Task, float]) -> tuple[str, Sequence[int]]:
    """Return what the tasks of a level are sorted by: so the order of the effectors changes not even the rounding."""
    task, _ = task_and_weight
    if isinstance(task, PositionTask):
        return "position", [task.joint, task.meets]
    if isinstance(task, OrientationTask):
        return "orientation", [task.bone]
    if isinstance(task, (PoleTask, SwivelTask)):
        return "pole", task.joints
    if isinstance(task, LookAtTask):
        return "look at", [task.bone]
    return "balance" if isinstance(task, BalanceTask) else "floor", task.bones


def is_weighed(chain: Chain, goals: Goals) -> bool:
    """Tell whether tasks are weighed against each other: with pins, with priorities, and those of a plain chain.

    The target of a plain chain comes before its rotation and its pole, as pins do before other targets.
    """
    return (
        (chain.is_plain and goals.meets is None)
        or goals.priorities is not None
        or (goals.pinned is not None and any(goals.pinned))
    )


def tree_problem(start: StartTree, goals: Goals, options: Options) -> TreeProblem:
    """Return the goals of one pose as tasks."""
    chain, tree = start.chain, start.tree
    tips = chain.tips.tolist()
    meets = _each(goals.meets, len(tips), -1)
    targets = _points(start, goals.targets, "target")
    for number, met in enumerate(meets):
        if met >= 0 and not tree.structure.supporting_bones[met] and not options.moves_root:
            targets[number], meets[number] = start.points[met], -1  # a joint that can't move is a fixed target
    uneased = [
        PositionTask(tip, None if met >= 0 else target, met)
        for tip, target, met in zip(tips, targets, meets, strict=True)
    ]
    softness = _each(goals.softness, len(tips), options.softness)
    slack = _each(goals.slack, len(tips), 0.0)
    for number in range(len(tips)):
        if not 0.0 <= softness[number] <= 1.0:
            raise chain.refusal(number, "softness", f"is {softness[number]:g}: it must be from 0 to 1")
        if not 0.0 <= slack[number] < math.inf:
            raise chain.refusal(number, "slack", f"is {slack[number]:g}: it must be at least 0, and finite")
    positions, eased = (uneased, [False] * len(tips)) if options.moves_root else _eased(start, uneased, softness)
    if goals.slack is not None:
        positions = [replace(task, slack=most / start.unit) for task, most in zip(positions, slack, strict=True)]
    pinned = _each(goals.pinned, len(tips), False)
    rotations = _rotation_tasks(start, goals)
    has_position = _chosen(goals.with_positions, len(tips))
    tolerances = [
        options.tolerance * length if number in has_position else math.inf
        for number, length in enumerate(start.own_lengths)
    ]
    poles = _pole_tasks(start, goals, [task.bone for task in rotations.values()])
    targets_beyond_reach = _beyond_reach(start, uneased, [False] * len(tips), not options.moves_root)
    is_away = [
        excess > tolerance or soft
        for excess, tolerance, soft in zip(targets_beyond_reach, tolerances, eased, strict=True)
    ]
    problem = TreeProblem(
        start=start,
        uneased=uneased,
        positions=positions,
        is_away=is_away,
        secondary=[*rotations.values(), *poles.values()],
        poles=poles,
        rotations=rotations,
        weights=chain.weights.tolist(),
        pinned=pinned,
        beyond_reach=_beyond_reach(start, positions, pinned, not options.moves_root),
        tolerances=tolerances,
        moves_root=options.moves_root,
        is_weighed=is_weighed(chain, goals),
        goals=goals,
    )
    return _with_body_tasks(problem)


def _with_body_tasks(problem: TreeProblem) -> TreeProblem:
    """Return a problem with the tasks of swivels, look, floor and balance that the goals have."""
    goals = problem.goals
    if not goals.swivels and goals.floor is None and goals.balance is None and goals.look_at is None:
        return problem
    start, present = problem.start, problem.present
    balance, placed = None, present.placed
    # Where all handles are in place a head that turns moves the center of mass by millimetres: the legs stay.
    is_look_alone = problem.is_met(present) and problem.angle_off(present) <= UNSEEN_ANGLE
    if goals.balance is not None and not is_look_alone:
        balance = balance_task(start, placed, goals.balance, problem.farthest(present))
    return replace(
        problem,
        swivels=tuple(swivel_task(start, placed, one) for one in goals.swivels),
        look_at=None if goals.look_at is None else look_at_task(start, placed, goals.look_at),
        floor=None if goals.floor is None else floor_task(start, placed, goals.floor),
        balance=balance,
    )


def _eased(
    start: StartTree, uneased: Sequence[PositionTask], softness: Sequence[float]
) -> tuple[list[PositionTask], list[bool]]:
    """Return where effectors of a tree with a fixed root are brought, and whether softness keeps each from its target.

    Of several roots that hang on an anchor the one counts from which the way to the effector starts.
    """
    positions: list[PositionTask] = []
    eased: list[bool] = []
    for task, soft in zip(uneased, softness, strict=True):
        if task.target is None:
            positions.append(task)
            eased.append(False)
            continue
        base, lengths = _lengths_between(start.tree, 0, task.joint)
        (rx, ry, rz), reach = start.points[base], sum(lengths) or 1.0
        seen = relative_to(task.target, start.points[base], reach)
        eased.append(bool(is_eased(SCALAR, seen, soft)))
        x, y, z = scale(soft_target(SCALAR, seen, soft), reach)
        positions.append(PositionTask(task.joint, (rx + x, ry + y, rz + z)))
    return positions, eased


def _rotation_tasks(start: StartTree, goals: Goals) -> dict[int, OrientationTask]:
    """Return the orientation tasks, by effector."""
    if goals.rotations is None:
        return {}
    chain = start.chain
    tips = chain.tips.tolist()
    rows, found = SCALAR.split(goals.rotations, ()), {}
    axes = _each(goals.rotation_axes, len(tips), (0.0, 0.0, 0.0))
    bounds = _each(goals.rotation_bounds, len(tips), math.inf)
    for number in _chosen(goals.with_rotations, len(tips)):
        if fault := rotation_fault(SCALAR, rows[number]):
            raise chain.refusal(number, "rotation goal", fault)
        (x, y, z), bound = axes[number], bounds[number]
        axis = (x, y, z) if x or y or z else None
        if axis is not None and rotation_fault(SCALAR, (0.0, x, y, z)):
            raise chain.refusal(number, "rotation axis", "is not a unit vector")
        if not bound > 0.0:
            raise chain.refusal(number, "rotation bound", f"is {bound:g}: it must be more than 0")
        found[number] = OrientationTask(start.tree.structure.parents[tips[number]], rows[number], axis, bound)
    return found


def _pole_tasks(start: StartTree, goals: Goals, oriented: Sequence[int]) -> dict[int, PoleTask]:
    """Return the pole tasks, by effector; bones whose rotations are goals have no part in the bend.

    Where a leg bends is said by hip, knee and ankle: with a foot whose rotation is held in the bend plane, pole and
    rotation exclude each other.
    """
    if goals.poles is None:
        return {}
    chain = start.chain
    tips = chain.tips.tolist()
    points = _points(start, goals.poles, "pole target", goals.with_poles)
    rounding, fade = (POLE_ROUNDING, POLE_FADE_BESIDE_PINS) if is_weighed(chain, goals) else (0.0, POLE_FADE)
    angles, pole_joints = _each(goals.pole_angles, len(tips), 0.0), _each(goals.pole_joints, len(tips), 0)
    found = {}
    for number in _chosen(goals.with_poles, len(tips)):
        if not math.isfinite(angles[number]):
            raise chain.refusal(number, "pole angle")
        way = start.way(chain.start_joints[number], tips[number])
        if len(way) > 1 and way[-2] in oriented:
            way = way[:-1]
        if bent := pole_joints[number]:
            way = way[bent - 1 : bent + 2]
        if len(way) > 2:
            found[number] = PoleTask(way, points[number], angles[number], rounding, fade)
    return found


def _each(values: NDArray[Any] | None, count: int, default: _Value) -> list[_Value]:
    """Return a goal's values by effector, the default for all where none are given."""
    return [default] * count if values is None else values.tolist()


def _chosen(mask: Mask | None, count: int) -> list[int]:
    return [number for number in range(count) if mask is None or mask[number]]


def _points(start: StartTree, rows: Array, kind: str, mask: Mask | None = None) -> list[Vector]:
    """Return points as seen from the root, in units; refuse those that aren't finite."""
    found: list[Vector] = []
    used = _chosen(mask, rows.shape[-2])
    for number, row in enumerate(SCALAR.split(rows, ())):
        if number in used and not math.isfinite(add_up(row)):
            raise start.chain.refusal(number, kind)
        x, y, z = ((part - base) / start.unit for part, base in zip(row, start.root, strict=True))
        found.append((x, y, z))
    return found


def _beyond_reach(
    start: StartTree, positions: Sequence[PositionTask], pinned: Sequence[bool], is_root_fixed: bool
) -> list[float]:
    """Return by how much the links on the way are too short, or too unequal, to reach each target.

    Of a joint that is to meet another one they are the links between both, which close no ring if one of them is longer
    than all others together. Roots that move hang on no anchor: they may come as near to each other as they have to.
    """
    tree = start.tree
    fixed: list[tuple[int, Vector]] = [(0, start.points[0])] if is_root_fixed else []
    fixed += [
        (position.joint, position.target)
        for position, pin in zip(positions, pinned, strict=True)
        if pin and position.target is not None
    ]
    found = []
    for position in positions:
        most = 0.0
        if position.target is not None:
            for joint, point in fixed:
                if joint != position.joint:
                    base, lengths = _lengths_between(tree, joint, position.joint)
                    distance = math.dist(position.target, start.points[base] if joint == 0 else point)
                    most = max(most, distance - sum(lengths), 2.0 * max(lengths) - sum(lengths) - distance)
        elif is_root_fixed or not tree.structure.is_anchor:
            _, lengths = _lengths_between(tree, position.meets, position.joint)
            most = 2.0 * max(lengths) - sum(lengths)
        found.append(most if most > ROUNDING else 0.0)
    return found


def _lengths_between(tree: Tree, first: int, last: int) -> tuple[int, list[float]]:
    """Return the lengths of the links from one joint to another, and the joint where they start.

    The links of an anchor hold nothing: from an anchor the way starts at the root that hangs on the anchor.
    """
    structure = tree.structure
    one, other = [first, *structure.above[first]], [last, *structure.above[last]]
    way = [joint for joint in one if joint not in other] + [joint for joint in other if joint not in one]
    if structure.is_anchor and first == 0:
        base = next(joint for joint in way if structure.parents[joint] == 0)
        return base, [tree.lengths[joint] for joint in way if joint != base] or [0.0]
    return first, [tree.lengths[joint] for joint in way] or [0.0]
