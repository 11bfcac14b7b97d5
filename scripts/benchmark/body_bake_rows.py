# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigify's human whose handles follow objects on seeded closed paths, baked."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from mathutils import Vector

from fabrik_addon.blender.animation.frame_range import FrameRange
from fabrik_addon.blender.bake.bake_body import bake_body

from .blender_chain import scene, view_layer
from .body_drag_rows import make_scaled_body
from .body_path_rows import LARGEST_RATIO, MOST_OPEN, largest_angle, make_empty_at, poses_at
from .problems import Array, Effort, generator
from .report import Row, Table

FRAMES = 60
"""Frames of a bake, one round of the paths."""

FOLLOWING = ("Hand.L", "Hand.R", "Foot.L", "Head")
"""Handles of which one to three follow objects."""

HALF_AXES = (0.25, 0.5, 0.8)
"""Meters; a head is led 0.4 times as far."""


@dataclass(frozen=True)
class _Bake:
    """What was measured in one bake."""

    rotations: Array
    """(F - 1,) largest rotation of a bone from each frame to the next, degrees."""
    open: float
    """Largest rotation of a bone between the first frame and the last, degrees."""
    is_reached: bool
    """Whether all handles are at their objects at every frame."""
    milliseconds: float
    """Of a frame."""


def follow_table(effort: Effort) -> Table:
    """Measure how smooth a body's bake is."""
    bakes = [_bake(number) for number in range(20 if effort.timed_runs > 5 else 6)]
    rows, worst = [], 0.0
    for is_reached, label in ((True, "reached at every frame"), (False, "out of reach at some")):
        those = [bake for bake in bakes if bake.is_reached is is_reached]
        if not those:
            continue
        ratios = [float(bake.rotations.max() / np.median(bake.rotations)) for bake in those]
        over, largest = sum(ratio > LARGEST_RATIO for ratio in ratios), max(bake.rotations.max() for bake in those)
        opened = max(bake.open for bake in those)
        worst = max(worst, *ratios)
        cells = (label, len(those), over, f"{max(ratios):.1f}", f"{largest:.1f}", f"{opened:.2f}")
        milliseconds = float(np.median([bake.milliseconds for bake in those]))
        rows.append(Row((*cells, f"{milliseconds:.0f}"), not over and opened <= MOST_OPEN))
    return Table(
        title="Bake Body: handles that follow objects on closed paths",
        must=f"no frame with more than {LARGEST_RATIO:g} times the median frame's largest rotation of a bone; first "
        f"and last pose within {MOST_OPEN:g} degrees",
        measured=f"up to {worst:.1f} times",
        columns=(
            "objects",
            "paths",
            f"with a frame over {LARGEST_RATIO:g} times",
            "largest ratio",
            "largest rotation, degrees",
            "first and last pose differ by, degrees",
            "a frame, ms (median)",
        ),
        rows=tuple(rows),
        note=f"One to three of {', '.join(FOLLOWING)} follow objects around ellipses in {FRAMES} frames, with the feet "
        "planted, balance, and the usual limits.",
    )


def _bake(number: int) -> _Bake:
    rng = generator("body bake", number)
    armature = make_scaled_body(1.0, 1.0, 1.0)
    size = float(rng.choice(HALF_AXES))
    for name in rng.choice(FOLLOWING, rng.integers(1, 4), replace=False):
        handle = armature.fabrik.body.handles[name]
        bone = armature.pose.bones[handle.bone]
        start = (bone.tail if handle.use_tail else bone.head).copy()
        led = make_empty_at(str(name), start)
        view_layer().update()  # the handle keeps its place beside the object
        handle.target, handle.use_pin = led, True
        half_axes = size * (0.4 if name == "Head" else 1.0) * rng.uniform(-0.5, 0.5, (2, 3))
        for frame in range(FRAMES):
            angle = math.tau * frame / (FRAMES - 1)
            way = (1.0 - math.cos(angle)) * half_axes[0] + math.sin(angle) * half_axes[1]
            led.location = start + Vector(way.tolist())
            led.keyframe_insert("location", frame=frame)
    scene().frame_set(0)
    work = FrameRange(scene(), view_layer(), armature, range(FRAMES), (0, FRAMES - 1))
    begin = time.perf_counter()
    unreached = bake_body(work).unreached
    milliseconds = 1e3 * (time.perf_counter() - begin) / FRAMES
    poses = poses_at(armature, range(FRAMES))
    rotations = np.array([largest_angle(*pair) for pair in pairwise(poses)])
    return _Bake(rotations, largest_angle(poses[0], poses[-1]), not unreached, milliseconds)
