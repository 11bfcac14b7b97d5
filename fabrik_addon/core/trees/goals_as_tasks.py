# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The goals of one pose of a tree as tasks in the tree's units; goals outside their ranges are refused."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..fabrik.pole_shape import pole_joint_and_angle
from ..goals.softness import is_eased, soft_target
from ..math.operations import SCALAR, Array, Mask, Vector, add_up
from ..math.quaternions import rotation_fault
from ..math.vectors import relative_to, scale, subtract
from ..model.tree_start import StartTree
from ..problem import Chain, Goals, Options
from ..tasks.balance_task import balance_task
from ..tasks.floor_task import floor_task
from ..tasks.look_at_task import look_at_task
from ..tasks.orientation_task import OrientationTask
from ..tasks.pole_task import POLE_FADE, POLE_FADE_BESIDE_PINS, POLE_ROUNDING, PoleTask
from ..tasks.position_task import PositionTask
from ..tasks.swivel_task import SWIVEL_WEIGHT, swivel_task
from .kept_bends import before_last_link, kept_bends
from .reach import excess_over_reach, lengths_between
from .tree_problem import UNSEEN_ANGLE, TreeProblem

_Value = TypeVar("_Value")


def is_weighed(chain: Chain, goals: Goals) -> bool:
    """Tell whether tasks are weighed against each other: with pins, with priorities, and those of a plain chain.

    The target of a plain chain comes before its rotation and its pole, as pins do before other targets.
    """
    return (
        (chain.is_plain and goals.meets is None)
        or goals.priorities is not None
        or (goals.pinned is not None and any(goals.pinned))
    )


def problem_of_goals(start: StartTree, goals: Goals, options: Options) -> TreeProblem:
    """Return the goals of one pose as tasks."""
    goals = _with_shape_angles(start, goals)
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
    targets_beyond_reach = excess_over_reach(start, uneased, [False] * len(tips), not options.moves_root)
    is_away = [
        excess > tolerance or soft
        for excess, tolerance, soft in zip(targets_beyond_reach, tolerances, eased, strict=True)
    ]
    kept: list[tuple[PoleTask, float]] = []
    if not chain.is_plain and goals.priorities is None:
        kept = kept_bends(start, positions, rotations.values(), poles, pinned, options.moves_root)
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
        beyond_reach=excess_over_reach(start, positions, pinned, not options.moves_root),
        tolerances=tolerances,
        moves_root=options.moves_root,
        is_weighed=is_weighed(chain, goals),
        goals=goals,
        preferences=kept,
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
        preferences=[
            *problem.preferences,
            *((swivel_task(start, placed, one), SWIVEL_WEIGHT) for one in goals.swivels),
        ],
        look_at=None if goals.look_at is None else look_at_task(start, placed, goals.look_at),
        floor=None if goals.floor is None else floor_task(start, placed, goals.floor),
        balance=balance,
    )


def _with_shape_angles(start: StartTree, goals: Goals) -> Goals:
    """Return the goals, without batch axes, with the angles from pole to knee or elbow that pole shapes give.

    The pole task of a chain with a pole shape is for the joint of the bend and its neighbours alone, at its angle in
    the pose of the family at the target. The sum of all bends is at 180 degrees from the pole for Rigify's leg down to
    its toe, and on its way to the pole's side while the target is lifted: bones rotated by 44 degrees in one of 30
    steps there.
    """
    if goals.pole_shapes is None or goals.poles is None:
        return goals
    tree, tips = start.tree, start.chain.tips.tolist()
    angles = np.zeros(len(tips)) if goals.pole_angles is None else np.array(goals.pole_angles, float)
    bent = np.zeros(len(tips), np.int64)
    for number, shape in enumerate(goals.pole_shapes):
        way = start.way(start.chain.start_joints[number], tips[number])
        end = (goals.targets[number] - np.array(start.root)) / start.unit
        if goals.meets is not None and goals.meets[number] >= 0:
            end = np.array(start.points[way[-1]])
        is_rotated = goals.with_rotations is None or bool(goals.with_rotations[number])
        if goals.rotations is not None and is_rotated and len(way) > 3:
            way, before = before_last_link(start, way, tuple(end.tolist()), tuple(goals.rotations[number].tolist()))
            end = np.array(before)
        first, second = start.points[way[0]], start.points[way[1]]
        seen = tuple((end - first).tolist()), subtract(second, first)
        pole = tuple(((goals.poles[number] - np.array(start.root)) / start.unit - first).tolist())
        links = tuple(tree.lengths[joint] for joint in way[1:])
        angle = float(angles[number])
        if 3 <= len(shape) == len(links) and all(map(math.isfinite, (*seen[0], *pole, angle))):
            bent[number], angles[number] = pole_joint_and_angle(shape, links, seen, pole, angle)
    return replace(goals, pole_angles=angles, pole_joints=bent)


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
        base, lengths = lengths_between(start.tree, 0, task.joint)
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
