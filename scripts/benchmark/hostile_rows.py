# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Chains whose bones are sheared, locked and limited all at once: time of a solve, and how it ends."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from bpy.types import Object
from mathutils import Quaternion, Vector

from fabrik_addon.blender.rig.snapshot import take_snapshot
from fabrik_addon.blender.solving.solve_chain_bones import solve_snapshot
from fabrik_addon.core import Status

from .blender_chain import add_chain, make_armature, make_target, new_scene, register, view_layer
from .problems import Effort, directions, generator
from .report import Row, Table, spread

MOST_P95, MOST = 10.0, 100.0
"""Milliseconds."""

MODES = ("QUATERNION", "AXIS_ANGLE", "XYZ", "ZXY", "YZX")


def hostile_table(effort: Effort) -> Table:
    """Time of one solve of chains that the core's model of a chain doesn't fit."""
    register()
    rows, worst = [], 0.0
    for name, seeds in (("four sheared bones, unreachable", effort.targets), ("random", effort.targets)):
        times, statuses = [], []
        for seed in range(seeds):
            obj, chain = _chain(seed, is_random=name == "random")
            snapshot = take_snapshot(view_layer(), obj, chain)
            start = time.process_time()
            solved = solve_snapshot(snapshot)
            times.append(1000.0 * (time.process_time() - start))
            statuses.append(solved.status)
        median, high, most = spread(times)
        reached = sum(status is Status.REACHED for status in statuses)
        cells = (name, f"{reached}/{seeds}", f"{median:.1f} / {high:.1f} / {most:.1f}")
        rows.append(Row(cells, high <= MOST_P95 and most <= MOST))
        worst = max(worst, high)
    return Table(
        title="Sheared, locked and limited chains",
        must=f"p95 at most {MOST_P95:g} ms of processor time, none over {MOST:g} ms",
        measured=f"p95 {worst:.1f} ms",
        columns=("chains", "reached", "ms of one solve, median / p95 / max"),
        rows=tuple(rows),
        note="Four bones within limits, all sheared, with a target beyond their reach and its rotation; and two to "
        "eight bones of which two fifths each are sheared and locked about some axes and three fifths are within "
        "limits, every third with a pole, two fifths with the target's rotation, half of the targets beyond reach.",
    )


def _chain(seed: int, is_random: bool) -> tuple[Object, Any]:
    """Make a chain: Any, because the settings' properties are made as Blender registers them."""
    rng = generator("hostile", seed, is_random)
    new_scene()
    count = int(rng.integers(2, 9)) if is_random else 4
    bends = 0.15 * np.minimum(np.arange(count + 1), count - np.arange(count + 1))
    obj = make_armature(np.stack([np.zeros(count + 1), -bends, np.arange(count + 1.0)], axis=1))
    target = make_target()
    chain = add_chain(obj, target)
    for bone in obj.pose.bones:
        is_sheared, is_locked, is_limited = rng.random(3) < (0.4, 0.4, 0.6) if is_random else (True, False, True)
        bone.rotation_mode = 'QUATERNION'
        bone.rotation_quaternion = Quaternion(directions(rng, 1)[0].tolist(), float(rng.uniform(-0.3, 0.3)))
        bone.rotation_mode = str(rng.choice(MODES))
        if is_sheared:
            bone.scale = rng.uniform(0.5, 2.0, 3).tolist()
        if is_locked:
            bone.lock_rotations_4d = False
            bone.lock_rotation = [True, *(rng.random(2) < 0.4).tolist()] if rng.random() < 0.5 else (False, True, False)
        for axis in "xyz" if is_limited else "":
            setattr(bone, f"use_ik_limit_{axis}", True)
            setattr(bone, f"ik_min_{axis}", -float(rng.uniform(0.1, 1.5)))
            setattr(bone, f"ik_max_{axis}", float(rng.uniform(0.1, 1.5)))
    obj.pose.bones[0].lock_rotation = (False, False, False)
    chain.use_limits, chain.use_rotation = True, not is_random or rng.random() < 0.4
    if is_random and rng.random() < 1.0 / 3.0:
        chain.pole_target = make_target()
        chain.pole_target.location = (6.0 * directions(rng, 1)[0]).tolist()
    view_layer().update()
    is_beyond = not is_random or rng.random() < 0.5
    length = float(np.sum([bone.length for bone in obj.pose.bones]))
    away = length * float(rng.uniform(1.05, 2.0) if is_beyond else rng.uniform(0.1, 1.0))
    target.location = obj.pose.bones[0].head + away * Vector(directions(rng, 1)[0].tolist())
    target.rotation_euler = rng.uniform(-math.pi, math.pi, 3).tolist()
    view_layer().update()
    return obj, chain
