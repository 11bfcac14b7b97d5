# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigify's human whose left hand is led along closed paths: each pose solved from the one before, or dragged."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any  # armatures and chains: no stub knows Object.fabrik

import numpy as np
from bpy.types import Object
from mathutils import Quaternion, Vector

from fabrik_addon.blender.drag import ChainDrag, Grab
from fabrik_addon.blender.solving.chain_groups import take_groups
from fabrik_addon.blender.solving.solve_chains import solve_group
from fabrik_addon.blender.solving.solve_tree_bones import tree_goals
from fabrik_addon.blender.solving.write_channels import write_channels
from fabrik_addon.core import solve_tree_components
from fabrik_addon.core.math import quaternion_arrays

from .blender_chain import make_empty, scene, view_layer
from .problems import Array, Effort
from .report import Row, Table, spread
from .tree_rows import posable_human

CHAINS = (
    ("left hand", "hand.L", 3),
    ("right hand", "hand.R", 3),
    ("left foot", "foot.L", 3),
    ("right foot", "foot.R", 3),
    ("head", "spine.006", 0),
)
"""Name, tip bone and count of bones."""

POLES = {"left hand": 0.6, "right hand": 0.6, "left foot": -0.6, "right foot": -0.6}
"""How far along Y each pole is from the joint between the chain's first two bones: elbows behind, knees in front."""

PATHS: dict[str, tuple[tuple[float, float, float], tuple[float, float, float]]] = {
    "near": ((-0.15, -0.2, 0.02), (0.08, 0.08, 0.08)),
    "across": ((-0.45, -0.35, 0.0), (0.2, 0.12, 0.15)),
    "low": ((-0.1, -0.35, -0.6), (0.25, 0.2, 0.2)),
}
"""Center of the left hand's path, seen from where the hand is at rest, and its half-axes."""

STEPS = 120
"""Steps of a path, which closes."""

MOST_CORE = {False: (3.0, 8.0), True: (4.0, 10.0)}
"""Milliseconds (median, p95) of a solve without and with poles."""

MOST_PRESS, MOST_MOVE = (8.0, 16.0), (6.0, 12.0)
"""Milliseconds (median, p95) of a press of Solve, and of one move of a drag without poles."""

MOST_OPEN, MOST_OFF = 0.5, 0.1
"""Largest rotation (degrees) between the poses before and after one round of a drag, and between the poses at one
position that was reached from both sides."""

KINDS = ((True, False), (True, True), (False, False), (False, True))
"""With limits or without, with poles or without."""

LARGEST_RATIO = 3.0
"""Largest rotation of a bone in one step, over the median step's largest."""


@dataclass(frozen=True)
class BodyPath:
    """What was measured along one path."""

    turns: Array
    """(N,) largest rotation of a bone in each step, degrees."""
    core_seconds: Array
    """(N,) of the solve alone."""
    press_seconds: Array
    """(N,) of reading, solving, writing and updating."""
    target_error: float
    """Largest distance of an effector that isn't pinned from its target, over the body's height."""
    pin_error: float
    """Largest distance of a pinned effector from where it should be, over the body's height."""


def body_path_table(effort: Effort) -> Table:
    """Return how far bones rotate in one step of a smooth path, what a step costs, and how well targets are met."""
    steps = _steps(effort)
    rows, worst, slowest, slowest_press = [], 0.0, (0.0, 0.0), (0.0, 0.0)
    for path in PATHS:
        for with_limits, with_poles in KINDS:
            found = follow(path, with_limits, with_poles, steps)
            median, largest = float(np.median(found.turns)), float(found.turns.max())
            ratio = largest / median
            core, press = _milliseconds(found.core_seconds), _milliseconds(found.press_seconds)
            worst, slowest, slowest_press = max(worst, ratio), max(slowest, core), max(slowest_press, press)
            cells = (
                f"{path}, {_yes(with_limits)}, {_yes(with_poles)}",
                f"{median:.2g} / {largest:.3g} ({ratio:.1f})",
                _median_p95(core),
                _median_p95(press),
                found.target_error,
                found.pin_error,
            )
            is_quick = _is_within(core, MOST_CORE[with_poles]) and _is_within(press, MOST_PRESS)
            rows.append(Row(cells, ratio <= LARGEST_RATIO and found.pin_error <= 1e-4 and is_quick))
    return Table(
        title="Rigify's human, the left hand led along closed paths",
        must="largest rotation of a bone in one step at most 3 times the median step's, pins within 1e-4 of the "
        "height; a solve at most 3 / 8 ms (median / p95), with poles 4 / 10, a press of Solve 8 / 16",
        measured=f"largest rotation {worst:.1f} times the median step's, a solve {_median_p95(slowest)} ms, a press "
        f"{_median_p95(slowest_press)}",
        columns=(
            "path, limits, poles",
            "largest rotation of a bone in a step, degrees: median / max (ratio)",
            "core, ms median / p95",
            "a press of Solve, ms median / p95",
            "worst target error",
            "worst pin error",
        ),
        rows=tuple(rows),
        note=f"Chains to the hands (3 bones), pinned feet (3 bones, with rotation) and head; the root follows. {steps} "
        "steps, each from the pose before; errors over the body's height. 'low' is partly out of reach.",
    )


def body_move_table(effort: Effort) -> Table:
    """Return what a move of a drag of the same human's left hand costs, how far bones rotate, and what returns."""
    steps = _steps(effort)
    rows, worst, slowest = [], 0.0, (0.0, 0.0)
    for path in PATHS:
        for with_limits, with_poles in KINDS:
            turns, seconds, is_open, off = drag_around(path, with_limits, with_poles, steps)
            median, largest = float(np.median(turns)), float(turns.max())
            ratio, move = largest / median, _milliseconds(seconds)
            worst = max(worst, ratio)
            slowest = slowest if with_poles else max(slowest, move)
            cells = (
                f"{path}, {_yes(with_limits)}, {_yes(with_poles)}",
                f"{median:.2g} / {largest:.3g} ({ratio:.1f})",
                _median_p95(move),
                f"{is_open:.3f}",
                f"{off:.3f}",
            )
            returns = is_open <= MOST_OPEN and off <= MOST_OFF
            rows.append(Row(cells, ratio <= LARGEST_RATIO and returns and (with_poles or _is_within(move, MOST_MOVE))))
    return Table(
        title="Rigify's human, the left hand's target dragged along closed paths",
        must="largest rotation of a bone in one move at most 3 times the median move's; after one round the pose as "
        "before to 0.5 degrees, once around the other way to 0.1 at each position; a move, from the mouse to the "
        "updated pose, at most 6 / 12 ms (median / p95) without poles",
        measured=f"largest rotation {worst:.1f} times the median move's, a move without poles "
        f"{_median_p95(slowest)} ms",
        columns=(
            "path, limits, poles",
            "largest rotation of a bone in a move, degrees: median / max (ratio)",
            "a move, ms median / p95",
            "after one round, degrees",
            "the other way around, degrees",
        ),
        rows=tuple(rows),
        note=f"The human and the paths of the table before, {steps} moves each way; all other ends are held.",
    )


def fixed_path_table(effort: Effort) -> Table:
    """Return how continuous the poses of the human are, its root fixed, the hand with its rotation."""
    steps = _steps(effort)
    rows, worst, most_open = [], 0.0, 0.0
    for has_pins, path, (with_limits, with_poles) in itertools.product((False, True), PATHS, KINDS):
        cells = [f"{path}, {_yes(has_pins)}, {_yes(with_limits)}, {_yes(with_poles)}"]
        ratios = []
        for goes_on in (False, True):
            turns, seconds, is_open = solved_around(path, with_limits, with_poles, steps, goes_on, has_pins)
            median, largest = float(np.median(turns)), float(turns.max())
            ratios.append(largest / median)
            most_open = max(most_open, is_open)
            cells += [f"{median:.2g} / {largest:.3g} ({ratios[-1]:.1f})", _median_p95(_milliseconds(seconds))]
        cells.append(f"{is_open:.3f}")
        worst = max(worst, *ratios)
        rows.append(Row(tuple(cells), max(ratios) <= LARGEST_RATIO and is_open <= MOST_OPEN))
    return Table(
        title="Rigify's human, its root fixed, the left hand led along closed paths with its rotation",
        must="largest rotation of a bone in one step at most 3 times the median step's; after one round, each pose "
        "from the one before, the pose as before to 0.5 degrees",
        measured=f"largest rotation {worst:.1f} times the median step's, open by {most_open:.2g} degrees",
        columns=(
            "path, pins, limits, poles",
            "from rest: largest rotation of a bone in a step, degrees: median / max (ratio)",
            "core, ms median / p95",
            "from the pose before: the same",
            "core, ms median / p95",
            "after one round, degrees",
        ),
        rows=tuple(rows),
        note=f"The paths of the tables before, {steps} steps, in the core: the other hand, both feet and the head have "
        "targets where they are at rest. 'low' excludes those. With pins the feet are pinned, with their rotations.",
    )


def solved_around(
    path: str, with_limits: bool, with_poles: bool, steps: int, goes_on: bool, has_pins: bool = False
) -> tuple[Array, Array, float]:
    """Solve a new human with a fixed root once around a path, from the pose at rest or from the solution before.

    Returns:
        the largest rotation of a bone in each step (degrees), the seconds of each solve, and the largest rotation
        (degrees) between the poses before and after one round.
    """
    obj = make_human(with_limits, with_poles)
    chains = list(obj.fabrik.chains)
    chains[0].root_motion = 'FIXED'
    for chain in chains:
        chain.use_pin = chain.use_pin and has_pins
        chain.use_rotation = chain.use_pin or chain == chains[0]
    view_layer().update()
    (group,) = take_groups(view_layer(), obj, chains)
    assert group.tree is not None
    goals = tree_goals(group.tree, group.snapshots, [snapshot.goals for snapshot in group.snapshots])
    hand = [snapshot.name for snapshot in group.snapshots].index(CHAINS[0][0])
    seconds, poses, previous = [], [], None
    for step in range(steps + 1):
        targets = goals.targets.copy()
        targets[hand] += offset_on_path(path, step / steps)
        begin = time.perf_counter()
        found = solve_tree_components(group.tree.start, replace(goals, targets=targets), group.tree.options, previous)
        seconds.append(time.perf_counter() - begin)
        poses.append([Quaternion(frame) for frame in np.array(found.frames).tolist()])
        previous = found if goes_on else None
    turns = np.array([largest_angle(*pair) for pair in itertools.pairwise(poses)])
    return turns, np.array(seconds), largest_angle(poses[0], poses[-1])


def drag_around(path: str, with_limits: bool, with_poles: bool, steps: int) -> tuple[Array, Array, float, float]:
    """Drag the left hand's target of a new human once around a path and back the other way.

    Returns:
        the largest rotation of a bone in each move (degrees), the seconds of each, and the largest rotations (degrees)
        between the poses before and after one round, and between those at one position of both rounds.
    """
    obj = make_human(with_limits, with_poles)
    drag = ChainDrag(view_layer(), obj, Grab(obj.fabrik.chains[0].tip, CHAINS[0][0]), pins='ALL')
    start = drag.start_position.copy()
    for part in range(1, steps // 8):
        drag.move(view_layer(), start + part / (steps // 8) * offset_on_path(path, 0.0))
    seconds, rounds = [], []
    for way in (1, -1):
        poses = []
        for step in range(steps + 1):
            begin = time.perf_counter()
            drag.move(view_layer(), start + offset_on_path(path, way * step / steps))
            seconds.append(time.perf_counter() - begin)
            poses.append(frames_of(obj))
        rounds.append(poses)
    there, back = rounds[0], rounds[1][::-1]
    turns = [largest_angle(*pair) for poses in rounds for pair in itertools.pairwise(poses)]
    off = max(largest_angle(*pair) for pair in zip(there, back, strict=True))
    return np.array(turns), np.array(seconds), largest_angle(there[0], there[-1]), off


def offset_on_path(path: str, share: float) -> Vector:
    """Return where the left hand is led after a share of a path, from where it is at rest."""
    center, axes = (np.array(part) for part in PATHS[path])
    t = 2.0 * np.pi * share
    return Vector((center + axes * [np.cos(t), np.sin(t), np.sin(t if path == "low" else 2.0 * t)]).tolist())


def follow(path: str, with_limits: bool, with_poles: bool, steps: int) -> BodyPath:
    """Lead the left hand of a new human once around a path."""
    obj = make_human(with_limits, with_poles)
    chains = list(obj.fabrik.chains)
    hand = chains[0]
    pinned = {chain.name: obj.pose.bones[chain.tip].tail.copy() for chain in chains}
    rest = hand.target.location.copy()
    height = float(max(bone.tail_local.z for bone in obj.data.bones))
    turns, cores, presses = [], [], []
    target_error = pin_error = 0.0
    for step in range(-steps // 8, steps + 1):
        # At first from rest to the path, in steps as long as the path's own.
        share = min(1.0, (step + steps // 8 + 1) / (steps // 8 + 1))
        hand.target.location = rest + share * offset_on_path(path, max(step, 0) / steps)
        view_layer().update()
        before = frames_of(obj)
        core, press = press_solve(obj, chains)
        after = frames_of(obj)
        if step <= 0:
            continue
        turns.append(largest_angle(before, after))
        cores.append(core)
        presses.append(press)
        for chain in chains:
            goal = pinned[chain.name] if chain.use_pin else chain.target.location
            error = (obj.pose.bones[chain.tip].tail - goal).length / height
            if chain.use_pin:
                pin_error = max(pin_error, error)
            else:
                target_error = max(target_error, error)
    return BodyPath(np.array(turns), np.array(cores), np.array(presses), target_error, pin_error)


def make_human(with_limits: bool, with_poles: bool) -> Any:
    """Return Rigify's human metarig in Pose mode with the chains of a whole body."""
    obj: Any = posable_human(with_limits)
    for bone in obj.pose.bones:
        bone.rotation_mode = 'QUATERNION'
    view_layer().update()
    for name, tip, count in CHAINS:
        chain = obj.fabrik.chains.add()
        chain.name, chain.tip, chain.chain_count = name, tip, count
    for chain in obj.fabrik.chains:
        tail = obj.pose.bones[chain.tip].tail.copy()
        chain.target = make_empty_at(chain.name, tail)
        chain.use_pin = chain.name.endswith("foot")
        chain.use_rotation = chain.use_pin
        if with_poles and chain.name in POLES:
            joint = obj.pose.bones[chain.tip].parent.head
            chain.pole_target = make_empty_at(f"{chain.name} pole", joint + Vector((0.0, POLES[chain.name], 0.0)))
    obj.fabrik.chains[0].root_motion = 'TRANSLATE'
    view_layer().update()
    return obj


def press_solve(obj: Any, chains: Sequence[Any]) -> tuple[float, float]:
    """Do what one press of Solve does; return the seconds of the solve alone and of everything."""
    (group,) = take_groups(view_layer(), obj, chains)
    assert group.tree is not None
    goals = tree_goals(group.tree, group.snapshots, [snapshot.goals for snapshot in group.snapshots])
    begin = time.perf_counter()
    solve_tree_components(group.tree.start, goals, group.tree.options)
    core = time.perf_counter() - begin
    begin = time.perf_counter()
    (group,) = take_groups(view_layer(), obj, chains)
    for solved in solve_group(group, {s.name: s.goals for s in group.snapshots}):
        write_channels(solved.settings)
    view_layer().update()
    return core, time.perf_counter() - begin


def frames_of(obj: Any) -> list[Quaternion]:
    """Return the bones' rotations in armature space."""
    return [bone.matrix.to_quaternion() for bone in obj.pose.bones]


def poses_at(obj: Object, frames: range) -> list[list[Quaternion]]:
    """Return the rotations of all bones at frames of the scene."""
    found = []
    for frame in frames:
        scene().frame_set(frame)
        found.append(frames_of(obj))
    return found


def largest_angle(before: Sequence[Quaternion], after: Sequence[Quaternion]) -> float:
    """Return the largest angle (degrees) of the rotations of bones between two poses."""
    return max(map(angle_between, before, after))


def angle_between(a: Quaternion, b: Quaternion) -> float:
    """Return the angle (degrees) of the rotation between two quaternions."""
    return float(np.degrees(quaternion_arrays.angle_between(np.array(a), np.array(b))))


def make_empty_at(name: str, location: Vector) -> Object:
    """Return a new empty at a location."""
    empty = make_empty(name)
    empty.location = location
    return empty


def _yes(flag: bool) -> str:
    return "yes" if flag else "no"


def _steps(effort: Effort) -> int:
    return STEPS if effort.targets >= 100 else STEPS // 4


def _milliseconds(seconds: Array) -> tuple[float, float]:
    """Return median and 95th percentile in milliseconds."""
    median, high, _ = spread(seconds * 1e3)
    return median, high


def _median_p95(milliseconds: tuple[float, float]) -> str:
    return " / ".join(f"{each:.1f}" for each in milliseconds)


def _is_within(found: tuple[float, float], most: tuple[float, float]) -> bool:
    return found[0] <= most[0] and found[1] <= most[1]
