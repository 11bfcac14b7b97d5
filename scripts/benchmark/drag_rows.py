# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A drag on Rigify's human: from one mouse move to the updated pose, beside Blender's own IK doing the same."""

from __future__ import annotations

import time
from typing import Any

import bpy
import numpy as np
from mathutils import Vector

import fabrik_addon
from fabrik_addon.blender.common_limits import limit_joint
from fabrik_addon.blender.drag import DragSession, Grab

from .blender_chain import make_target, new_scene, view_layer
from .problems import Effort, Floats
from .report import Row, Table, microseconds, spread

LIMBS = (("arm", 3), ("spine and arm", 8))
TIP = "hand.L"
JOINTS = {"forearm.L": "ELBOW", "upper_arm.L": "SHOULDER"}
"""Kinds of the joints that aren't cones: the others are as limited as a neck."""

MOST_MEDIAN, MOST_P95 = 4000.0, 8000.0
"""Microseconds."""

STEP = 0.01
"""Meters between two mouse moves."""

_NOTE = f"""\
The metarig as Rigify makes it, 159 bones; elbow, shoulder and the cones of the other joints limited. The hand goes in
steps of {STEP * 100:g} cm along three loops: *near*, within 0.15 m of where it was, and *wide*, within 0.6 m, which is
out of reach or beyond the limits for half of the way. Every move of ours is solved from the pose at the start, written,
evaluated and measured; Blender's own is an IK constraint on a copy in the same scene, evaluated. They take turns."""


def drag_table(effort: Effort) -> Table:
    """Time from a mouse move to the updated pose."""
    if not hasattr(bpy.types.Object, "fabrik"):
        fabrik_addon.register()
    rows, said = [], []
    for name, count in LIMBS:
        for path, radius in (("near", 0.15), ("wide", 0.6)):
            ours, own, reached = _compare(count, _loop(radius, 10 * effort.targets))
            median, p95 = spread(ours)[:2]
            ok = 1e6 * median <= MOST_MEDIAN and 1e6 * p95 <= MOST_P95
            share = f"{100.0 * reached:.0f} %"
            rows.append(Row((name, count, path, microseconds(ours), microseconds(own), share), ok))
            said.append(f"{1e3 * median:.1f} / {1e3 * p95:.1f} ms ({name}, {path})")
    return Table(
        title="Drag: from a mouse move to the updated pose",
        must="with limits: median at most 4 ms, 95th percentile at most 8 ms",
        measured=", ".join(said),
        columns=("limb", "bones", "loop", "ours, µs median / p95", "Blender's own, µs median / p95", "reached"),
        rows=tuple(rows),
        note=_NOTE,
    )


def _loop(radius: float, count: int) -> Floats:
    """Return offsets (count, 3) from the start: loops that no two of which are the same."""
    turns = STEP / radius * np.arange(count)
    loops = [np.sin(turns), -0.5 - 0.5 * np.cos(1.3 * turns + 0.4), np.sin(0.7 * turns + 0.2)]
    offsets: Floats = radius * np.stack(loops, axis=1)
    return offsets


def _make_human(count: int) -> Any:
    bpy.ops.object.armature_human_metarig_add()  # type: ignore[attr-defined]
    rig: Any = bpy.context.object
    bone = rig.pose.bones[TIP]
    for link in [bone, *bone.parent_recursive][:count]:
        limit_joint(link, JOINTS.get(link.name, "NECK"))
    return rig


def _compare(count: int, offsets: Floats) -> tuple[list[float], list[float], float]:
    """Return our times and Blender's own, in seconds, and the share of moves that reached."""
    new_scene()
    bpy.ops.preferences.addon_enable(module="rigify")
    rig, other, target = _make_human(count), _make_human(count), make_target()
    constraint: Any = other.pose.bones[TIP].constraints.new('IK')
    constraint.chain_count = count
    other.location.x += 5.0
    layer = view_layer()
    layer.objects.active = rig
    bpy.ops.object.mode_set(mode='POSE')
    layer.update()
    target.location = other.matrix_world @ other.pose.bones[TIP].tail
    constraint.target = target
    session = DragSession(layer, rig, Grab(TIP), count)
    start, own_start = session.start_position, Vector(target.location)
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
        if number >= 5:  # what is done once is not what a user waits for
            times[0].append(middle - begin)
            times[1].append(end - middle)
    return times[0], times[1], reached / len(offsets)
