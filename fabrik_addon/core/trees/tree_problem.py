# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The goals of a tree as tasks in the tree's units, by priority, and how far a pose is from them."""

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..math.operations import Array, Component, Vector
from ..model.skeleton import LEAST_POSTURE_WEIGHT, JointCoordinates
from ..model.tree_start import StartTree
from ..model.tree_state import State
from ..problem import Goals
from ..tasks.balance_task import BalanceTask
from ..tasks.floor_task import FloorTask
from ..tasks.look_at_task import LookAtTask
from ..tasks.orientation_task import OrientationTask
from ..tasks.pole_task import POLE_ROUNDING, PoleTask
from ..tasks.position_task import PositionTask
from ..tasks.swivel_task import SwivelTask
from ..tasks.task import Task
from ..tasks.task_stack import TaskStack
from ..tasks.tree_coordinates import TreeCoordinates
from .reach_proof import are_beyond_reach

FAR_BEYOND, LEAST_WEIGHT = 0.1, 0.04
"""Distance by which a target is beyond reach, in the tree's units, from which on it has the least weight, and the share
of its weight that it has there. The force of a target is bounded (``task_loss``), by a bound that falls with the root
of this share."""

UNSEEN_ANGLE = 1e-3
"""Angle (radians) between bend and pole, or between rotations, that can't be seen."""

BALANCE_WEIGHT, FLOOR_WEIGHT = 10.0, 100.0
"""Weight of the balance task and of the floor task beside the position tasks of their level, that of the handle that is
pulled: a hand that is pulled far away is left behind before the center of mass leaves the feet."""

Level: TypeAlias = list[tuple[Task, float]]
"""Tasks with their weights."""


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
    preferences: Sequence[tuple[PoleTask | SwivelTask, float]] = ()
    """Tasks with their weights beside the posture task: bends that chains keep, or swivels of arms."""

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
        """Return the tasks with weights, by priority; a body's by its own.

        Those of chains are pins with their rotations, targets, then poles and other rotations.
        """
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
        """Return the tasks by level, and the preferences beside the posture task."""
        return self._stack_of(self.levels())

    def stacks_by_weight(self, state: State, most: float) -> tuple[TaskStack, TaskStack]:
        """Return the tasks of chains without pins for a descent by weight: for its steps, and for exact steps after.

        In its steps targets that are nearly met are the first level, to which each trial is corrected: with all targets
        on one level a Y with one target beyond reach took 5.4 ms instead of 3.4, a tree of five fingers 11.2 instead of
        5.8.

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
        return TaskStack(self.coordinates, levels, sorted(self.preferences, key=_order))

    @cached_property
    def coordinates(self) -> TreeCoordinates:
        """The coordinates of all tasks.

        Chains without pins have bone weights: the roots of ``Tree.carried_lengths``, 1 of the bone that carries least.
        With equal weights bones of Rigify's human whose hand was led across the body, with its rotation, jumped by up
        to 52 degrees within reach; with the carried lengths themselves a tree of five fingers took 8.3 steps instead of
        6.2.
        """
        tree = self.start.tree
        weights = None if self.is_weighed else [math.sqrt(c / LEAST_POSTURE_WEIGHT) for c in tree.carried_lengths]
        return TreeCoordinates(tree, self.moves_root, (), weights)

    def state(self, coordinates: Sequence[JointCoordinates], shifts: Sequence[Vector] | Array) -> State:
        """Return the state of coordinates and roots' shifts."""
        tree = self.start.tree
        return State(tree, *tree.split(coordinates), np.array(shifts, float).reshape(-1, 3))

    def with_bones_at(self, state: State, bones: Container[int], coordinates: Sequence[JointCoordinates]) -> State:
        """Return a state in which some bones have other coordinates, given by joint for all bones."""
        pairs = enumerate(zip(state.coordinates, coordinates, strict=True))
        return self.state([other if bone in bones else own for bone, (own, other) in pairs], state.shifts)

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

    def is_limited(self, number: int) -> bool:
        """Tell whether a bone that moves an effector has limits or is stiff."""
        structure = self.start.tree.structure
        return any(not structure.is_free[bone] for bone, _ in structure.supporting_bones[self.positions[number].joint])


def row_order(stack: TaskStack) -> NDArray[np.intp]:
    """Return the rows (M,) of a stack sorted by their tasks, which doesn't depend on the levels that these are in."""
    in_order = sorted(stack.task_rows, key=_order)
    return np.array([row + number for task, row in in_order for number in range(task.rows)], np.intp)


def _order(task_and_another: tuple[Task, Component]) -> tuple[str, Sequence[int]]:
    """Return what the tasks of a level are sorted by: so the order of the effectors changes not even the rounding."""
    task, _ = task_and_another
    if isinstance(task, PositionTask):
        return "position", [task.joint, task.meets]
    if isinstance(task, OrientationTask):
        return "orientation", [task.bone]
    if isinstance(task, (PoleTask, SwivelTask)):
        return "pole", task.joints
    if isinstance(task, LookAtTask):
        return "look at", [task.bone]
    return "balance" if isinstance(task, BalanceTask) else "floor", task.bones
