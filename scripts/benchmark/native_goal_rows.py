# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Native rigs whose tip takes the target's rotation: beside the core from the rest pose, and Blender's own in time."""

from __future__ import annotations

import math
import time
from typing import Any

import bpy
import numpy as np
from mathutils import Quaternion

from fabrik_addon.blender.native.build import build_rig
from fabrik_addon.blender.native.plan import plan_rigs
from fabrik_addon.core import Goals, Pose, plain_chain, solve

from .blender_chain import (
    LAST,
    add_chain,
    constrain,
    joints_of,
    make_armature,
    make_target,
    new_scene,
    register,
    view_layer,
)
from .problems import Effort, Floats, generator, link_lengths, rest_joints, targets_within
from .report import Row, Table, microseconds, spread

COUNTS = (2, 3, 5, 10)
POLE = np.array([0.8, -0.9, 0.3])
MOST_TURNED = math.radians(0.25)
"""What a tip's rotation may be farther from the wished one than the core's: what two links leave, see below."""


def rotation_table(effort: Effort) -> Table:
    """Joints, tip rotations and time of native rigs that take the target's rotation."""
    register()
    rows, hits, total = [], 0, 0
    for count in COUNTS:
        for has_pole in (False, True):
            apart, farther, turned = _differences(count, has_pole, effort.targets)
            good = int(np.sum((farther <= 1e-4) & (turned <= MOST_TURNED)))
            same = int(np.sum(apart <= 1e-4))
            ours, own, ratio = _times(count, has_pole, effort)
            cells = (count, "pole" if has_pole else "", f"{good}/{len(apart)}", f"{same}/{len(apart)}")
            ok = good == len(apart)
            rows.append(Row((*cells, float(apart.max()), ours, own, f"{ratio:.2f}"), ok))
            hits, total = hits + good, total + len(apart)
    return Table(
        title="Native rig whose tip takes the target's rotation, beside the core from the rest pose",
        must="the tip as near as the core's to its target, to 1e-4 of the length, and to its rotation, to 0.25 degrees",
        measured=f"{hits}/{total} as near",
        columns=(
            "links",
            "",
            "as near",
            "same joints",
            "farthest joint",
            "native, µs median / p95",
            "Blender's own, µs median / p95",
            "ratio",
        ),
        rows=tuple(rows),
        note=_NOTE,
    )


_NOTE = """\
Bent chains, reach 0.2 to 0.95. Rotations are up to 1.5 radians from how the tip lies at rest. Joints are the same where
they are within 1e-4 of the length. Of two links the core lets the first be a millionth off its length, which at a
grazing angle brings the second one up to 0.2 degrees nearer to the rotation."""


def _goals(count: int, effort_targets: int) -> list[tuple[Floats, Any]]:
    """Return targets, each with a rotation to be made on top of the tip's at rest."""
    rng = generator("native rotation", count)
    made = []
    for position in targets_within(rng, 0.2, 0.95, effort_targets):
        axis, angle = rng.normal(size=3), rng.uniform(0.0, 1.5)
        half = axis / np.linalg.norm(axis) * math.sin(0.5 * angle)
        made.append((position, np.array([math.cos(0.5 * angle), *half])))
    return made


def _chain(count: int, has_pole: bool) -> tuple[Any, Any]:
    """Return an armature with a native rig, and its target."""
    obj, target = make_armature(rest_joints(count, "bent")), make_target()
    target.rotation_mode = 'QUATERNION'
    chain = add_chain(obj, target)
    chain.use_limits, chain.use_rotation = False, True
    chain.rotation_offset = obj.data.bones[-1].matrix_local.to_quaternion()
    if has_pole:
        chain.pole_target = make_target()
        chain.pole_target.location = POLE
    assert bpy.context.scene is not None
    for plan in plan_rigs(view_layer(), obj, [chain]):
        build_rig(bpy.context.scene, obj, plan.settings, plan.rest)
    view_layer().update()
    return obj, target


def _differences(count: int, has_pole: bool, number: int) -> tuple[Floats, Floats, Floats]:
    """Return by how much joints differ from the core's, and by how much the tip is farther from what it should be.

    That is from its target and, in radians, from its rotation; for each target.
    """
    new_scene()
    obj, target = _chain(count, has_pole)
    bones = obj.data.bones
    joints = np.array([*(bone.head_local[:] for bone in bones), bones[-1].tail_local[:]], float)
    frames = [bone.matrix_local.to_quaternion() for bone in bones]
    chain, pose = plain_chain(link_lengths(joints)), Pose(joints, np.array([f[:] for f in (*frames, frames[-1])]))
    apart, farther, turned = [], [], []
    for position, rotation in _goals(count, number):
        target.location, target.rotation_quaternion = position, rotation
        view_layer().update()
        wish = target.matrix_world.to_quaternion() @ frames[-1]
        goals = Goals(position[None], np.array([wish[:]]), POLE[None] if has_pole else None)
        found = solve(chain, pose, goals).pose
        ours = joints_of(obj)
        apart.append(np.abs(ours - found.positions).max())
        away, core_away = (float(np.linalg.norm(joints[-1] - position)) for joints in (ours, found.positions))
        farther.append(away - core_away)
        left = _turn(obj.pose.bones[-1].matrix.to_quaternion(), wish)
        turned.append(left - _turn(Quaternion(found.rotations[-1].tolist()), wish))
    return np.array(apart), np.array(farther), np.array(turned)


def _turn(a: Quaternion, b: Quaternion) -> float:
    """Return the angle from one rotation to another, radians."""
    w, x, y, z = a.rotation_difference(b)[:]
    return 2.0 * math.atan2(math.hypot(x, y, z), abs(w))


def _times(count: int, has_pole: bool, effort: Effort) -> tuple[str, str, float]:
    times: dict[str, list[float]] = {"native": [], "own": []}
    for _ in range(max(1, effort.timed_runs // 5)):
        for kind, kept in times.items():
            new_scene()
            _, target = _chain(count, has_pole) if kind == "native" else _own_chain(count, has_pole)
            for position, rotation in _goals(count, effort.targets):
                target.location, target.rotation_quaternion = position, rotation
                start = time.perf_counter()
                view_layer().update()
                kept.append(time.perf_counter() - start)
    ratio = spread(times["native"])[0] / spread(times["own"])[0]
    return microseconds(times["native"]), microseconds(times["own"]), ratio


def _own_chain(count: int, has_pole: bool) -> tuple[Any, Any]:
    obj, target = make_armature(rest_joints(count, "bent")), make_target()
    target.rotation_mode = 'QUATERNION'
    constrain(obj, target)
    constraint = obj.pose.bones[LAST].constraints[0]
    constraint.use_rotation = True
    if has_pole:
        constraint.pole_target = make_target()
        constraint.pole_target.location = POLE
    return obj, target
