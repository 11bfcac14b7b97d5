# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigify's human whose left hand is led along closed paths, each step solved from the pose before it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any  # armatures and chains: no stub knows Object.fabrik

import numpy as np
from bpy.types import Object
from mathutils import Quaternion, Vector

from fabrik_addon.blender.solving.chain_groups import take_groups
from fabrik_addon.blender.solving.solve_chains import solve_group
from fabrik_addon.blender.solving.solve_tree_bones import tree_goals
from fabrik_addon.blender.solving.write_channels import write_channels
from fabrik_addon.core import solve_tree_components

from .blender_chain import make_empty, view_layer
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
    steps = STEPS if effort.targets >= 100 else STEPS // 4
    rows, worst = [], 0.0
    for path in PATHS:
        for with_limits, with_poles in ((True, False), (True, True), (False, False), (False, True)):
            found = follow(path, with_limits, with_poles, steps)
            median, largest = float(np.median(found.turns)), float(found.turns.max())
            ratio = largest / median
            worst = max(worst, ratio)
            cells = (
                f"{path}, {_yes(with_limits)}, {_yes(with_poles)}",
                f"{median:.2g} / {largest:.3g} ({ratio:.1f})",
                _milliseconds(found.core_seconds),
                _milliseconds(found.press_seconds),
                found.target_error,
                found.pin_error,
            )
            rows.append(Row(cells, ratio <= LARGEST_RATIO and found.pin_error <= 1e-4))
    return Table(
        title="Rigify's human, the left hand led along closed paths",
        must="largest rotation of a bone in one step at most 3 times the median step's, pins within 1e-4 of the height",
        measured=f"largest rotation {worst:.1f} times the median step's",
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


def follow(path: str, with_limits: bool, with_poles: bool, steps: int) -> BodyPath:
    """Lead the left hand of a new human once around a path."""
    obj = make_human(with_limits, with_poles)
    chains = list(obj.fabrik.chains)
    hand = chains[0]
    pinned = {chain.name: obj.pose.bones[chain.tip].tail.copy() for chain in chains}
    rest = np.array(hand.target.location)
    height = float(max(bone.tail_local.z for bone in obj.data.bones))
    center, axes = (np.array(part) for part in PATHS[path])
    turns, cores, presses = [], [], []
    target_error = pin_error = 0.0
    for step in range(-steps // 8, steps + 1):
        # At first from rest to the path, in steps as long as the path's own.
        t = 2.0 * np.pi * max(step, 0) / steps
        on_path = center + axes * np.array([np.cos(t), np.sin(t), np.sin(2.0 * t) if path != "low" else np.sin(t)])
        share = min(1.0, (step + steps // 8 + 1) / (steps // 8 + 1))
        hand.target.location = Vector((rest + share * on_path).tolist())
        view_layer().update()
        before = frames_of(obj)
        core, press = press_solve(obj, chains)
        after = frames_of(obj)
        if step <= 0:
            continue
        turns.append(max(angle_between(a, b) for a, b in zip(before, after, strict=True)))
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


def angle_between(a: Quaternion, b: Quaternion) -> float:
    """Return the angle (degrees) of the rotation between two quaternions."""
    q = np.array((a.conjugated() @ b)[:])
    return float(np.degrees(2.0 * np.arctan2(np.linalg.norm(q[1:]), abs(q[0]))))


def make_empty_at(name: str, location: Vector) -> Object:
    """Return a new empty at a location."""
    empty = make_empty(name)
    empty.location = location
    return empty


def _yes(flag: bool) -> str:
    return "yes" if flag else "no"


def _milliseconds(seconds: Array) -> str:
    median, high, _ = spread(seconds * 1e3)
    return f"{median:.1f} / {high:.1f}"
