# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A drag on Rigify's human: time from a mouse move to the updated pose, beside Blender's own IK."""

from __future__ import annotations

import math
import time

import bpy
import numpy as np
from bpy.types import Object
from mathutils import Euler, Quaternion, Vector

from fabrik_addon.blender.bones.bone_limits import limits_of
from fabrik_addon.blender.drag import ChainDrag, Grab
from fabrik_addon.blender.setup.usual_limits import limit_joint
from fabrik_addon.core.model.joint_limits import clamp_rotation, joint_limits

from .blender_chain import add_metarig, make_target, new_scene, register, view_layer
from .problems import Array, Effort, generator
from .report import Row, Table, microseconds, spread

CHAINS = (("arm", 3), ("spine and arm", 8))
TIP = "hand.L"
JOINTS = {"forearm.L": "ELBOW", "upper_arm.L": "SHOULDER"}
"""Kinds of the joints that aren't cones; the others have a neck's limits."""

MOST = {("spine and arm", "beyond"): (1500.0, 6000.0)}
"""Median and 95th percentile of chains and paths, microseconds."""

MOST_OTHERS = 4000.0, 8000.0
"""Of the others."""

STEP, WIDE = 0.01, 0.6
"""Meters between two mouse moves, and from where the hand was."""

_NOTE = f"""\
The metarig as Rigify makes it, 159 bones; elbow, shoulder and the cones of the other joints limited. On the path
*feasible* the target takes the hand's positions in a smooth sequence of poses within the limits; *beyond* is a loop of
{WIDE:g} m in steps of {STEP * 100:g} cm, most of it out of reach or beyond the limits. Every move of ours is solved
from the move before, written, evaluated and measured; Blender's own is an IK constraint on a copy in the same scene,
evaluated. They take turns."""


def drag_table(effort: Effort) -> Table:
    """Time from a mouse move to the updated pose."""
    register()
    rows, said = [], []
    for name, count in CHAINS:
        for path in ("feasible", "beyond"):
            ours, own, reached = _compare(count, path, 10 * effort.targets)
            median, p95 = spread(ours)[:2]
            most = MOST.get((name, path), MOST_OTHERS)
            ok = 1e6 * median <= most[0] and 1e6 * p95 <= most[1]
            share = f"{100.0 * reached:.0f} %"
            cells = (name, count, path, microseconds(ours), f"{most[0]:.0f} / {most[1]:.0f}", microseconds(own), share)
            rows.append(Row(cells, ok))
            said.append(f"{1e3 * median:.1f} / {1e3 * p95:.1f} ms ({name}, {path})")
    return Table(
        title="Drag: from a mouse move to the updated pose",
        must="with limits: median at most 4 ms, 95th percentile at most 8 ms; spine and arm, beyond 1.5 / 6 ms",
        measured=", ".join(said),
        columns=(
            "chain",
            "bones",
            "path",
            "ours, µs median / p95",
            "must be at most, µs",
            "Blender's own, µs median / p95",
            "reached",
        ),
        rows=tuple(rows),
        note=_NOTE,
    )


def loop(moves: int) -> Array:
    """Return offsets (moves, 3) from the start: loops, no two of them the same."""
    angles = STEP / WIDE * np.arange(moves)
    loops = [np.sin(angles), -0.5 - 0.5 * np.cos(1.3 * angles + 0.4), np.sin(0.7 * angles + 0.2)]
    offsets: Array = WIDE * np.stack(loops, axis=1)
    return offsets


def _feasible_offsets(rig: Object, count: int, moves: int) -> Array:
    """Return offsets (moves, 3) of the hand in a smooth sequence of feasible poses; the pose is put back."""
    tip = rig.pose.bones[TIP]
    bones = [tip, *tip.parent_recursive][:count]
    phases = generator("drag", count).uniform(0.0, 2.0 * math.pi, (count, 3))
    before = [bone.matrix_basis.copy() for bone in bones]
    start = tip.tail.copy()
    offsets = []
    for move in range(moves):
        for bone, phase in zip(bones, phases, strict=True):
            lower, upper = (np.clip(ends, -math.pi, math.pi) for ends in limits_of(bone))
            swing = 0.5 * (lower + upper) + 0.45 * (upper - lower) * np.sin(0.02 * move + phase)
            q = Euler(swing).to_quaternion()
            feasible = clamp_rotation(joint_limits(*limits_of(bone)), (q.w, q.x, q.y, q.z))
            bone.matrix_basis = Quaternion([float(part) for part in feasible]).to_matrix().to_4x4()
        view_layer().update()
        offsets.append((tip.tail - start)[:])
    for bone, basis in zip(bones, before, strict=True):
        bone.matrix_basis = basis
    view_layer().update()
    return np.array(offsets)


def make_limited_human(count: int) -> Object:
    """Return Rigify's human with limits on so many bones up from the hand."""
    rig = add_metarig("human")
    bone = rig.pose.bones[TIP]
    for link in [bone, *bone.parent_recursive][:count]:
        limit_joint(link, JOINTS.get(link.name, "NECK"))
    return rig


def _compare(count: int, path: str, moves: int) -> tuple[list[float], list[float], float]:
    """Return our times and Blender's own, in seconds, and the share of moves that reached."""
    new_scene()
    rig, other, target = make_limited_human(count), make_limited_human(count), make_target()
    constraint = other.pose.bones[TIP].constraints.new('IK')
    constraint.chain_count = count
    other.location.x += 5.0
    layer = view_layer()
    layer.objects.active = rig
    bpy.ops.object.mode_set(mode='POSE')
    layer.update()
    offsets = _feasible_offsets(rig, count, moves) if path == "feasible" else loop(moves)
    target.location = other.matrix_world @ other.pose.bones[TIP].tail
    constraint.target = target
    session = ChainDrag(layer, rig, Grab(TIP), count)
    start, own_start = session.start_position, target.location.copy()
    times: tuple[list[float], list[float]] = ([], [])
    reached = 0
    for number, offset in enumerate(offsets.tolist()):
        begin = time.perf_counter()
        session.move(layer, start + Vector(offset))
        middle = time.perf_counter()
        target.location = own_start + Vector(offset)
        layer.update()
        end = time.perf_counter()
        reached += session.result is not None and session.result.status == "REACHED"
        if number >= 5:  # the first moves fill caches
            times[0].append(middle - begin)
            times[1].append(end - middle)
    return times[0], times[1], reached / len(offsets)
