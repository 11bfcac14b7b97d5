# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Native rigs: beside the core from the rest pose, beside Blender's own IK in time, and where the extension isn't."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import bpy
import numpy as np
from bpy.types import Object

import environment
from fabrik_addon.blender.native.find_rigs import solvers_of
from fabrik_addon.blender.native.remove_rig import remove_rigs
from fabrik_addon.blender.rig.properties import settings_of
from fabrik_addon.core import Goals, solve

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
from .native_chain import POLE, farthest, make_native, pole_target, rest_problem
from .problems import RESTS, Array, Effort, generator, rest_joints, targets_within
from .report import Row, Table, microseconds, spread

COUNTS = (2, 3, 5, 10, 20, 30)
MOST_RATIOS = {2: 1.2, 3: 1.5, 10: 2.0, 30: 2.0}
"""Time of a native rig over Blender's own, by number of links."""

CHARACTERS, FRAMES = 20, 24
SOFTNESS, STEP = 0.05, 0.0005

_BLOCKS = ("objects", "node_groups", "collections", "hair_curves", "armatures", "actions", "meshes")

_BARE = environment.ROOT / "tests/blender/bare_blender.py"


def same_table(effort: Effort) -> Table:
    """Joints of native rigs beside the core's from the rest pose."""
    register()
    rows = []
    worst, reached, near, total = 0.0, 0, 0, 0
    for count in (count for count in COUNTS if count <= effort.longest):
        for shape in RESTS:
            for pole in ("", "pole"):
                moved, errors = _answers(count, shape, pole, (0.2, 0.95), effort.targets)
                _, far = _answers(count, shape, pole, (0.97, 0.999), effort.targets)
                hits, far_hits = int(np.sum(errors <= 1e-4)), int(np.sum(far <= 1e-3))
                same = int(np.sum(moved <= 1e-4)) if pole or count == 2 else len(moved)
                ok = same == hits == far_hits == len(moved)
                joints = (f"{same}/{len(moved)}", float(moved.max())) if pole or count == 2 else ("", "")
                cells = (count, shape, pole, *joints)
                rows.append(Row((*cells, f"{hits}/{len(moved)}", f"{far_hits}/{len(moved)}", float(far.max())), ok))
                worst, total = max(worst, float(moved.max()) if joints[0] else 0.0), total + len(moved)
                reached, near = reached + hits, near + far_hits
    return Table(
        title="Native rig beside the core, from the rest pose",
        must="tips within 1e-4 of the length at reach 0.2 to 0.95, with a pole joints too; 1e-3 at 0.97 to 0.999",
        measured=f"farthest joint {worst:.1g}, {reached}/{total} and {near}/{total} reached",
        columns=(
            "links",
            "rest pose",
            "",
            "same",
            "farthest joint",
            "reached",
            "reached at 0.97 to 0.999",
            "worst error there",
        ),
        rows=tuple(rows),
        note="Without a pole chains of three links or more bend otherwise than the core's.",
    )


def _native_chain(joints: Array, has_pole: bool = False, softness: float = 0.0) -> tuple[Object, Object]:
    """Return an armature with a native rig, and its target."""
    obj, target = make_armature(joints), make_target()
    chain = add_chain(obj, target)
    chain.use_limits, chain.softness = False, softness
    if has_pole:
        chain.pole_target = pole_target()
    make_native(obj, chain)
    return obj, target


def _answers(count: int, shape: str, pole: str, reach: tuple[float, float], number: int) -> tuple[Array, Array]:
    """Return by how much joints differ from the core's, and the tips' errors, one for each target."""
    new_scene()
    obj, target = _native_chain(rest_joints(count, shape), bool(pole))
    chain, pose = rest_problem(obj)
    moved, errors = [], []
    for position in targets_within(generator("native", count, shape, pole), *reach, number):
        target.location = position
        view_layer().update()
        found = joints_of(obj)
        goals = Goals(position[None], poles=POLE[None] if pole else None)
        moved.append(farthest(found, solve(chain, pose, goals).pose.positions))
        errors.append(np.linalg.norm(found[-1] - position))
    return np.array(moved), np.array(errors)


def time_table(effort: Effort) -> Table:
    """Time of one update beside Blender's own IK."""
    register()
    rows, measured = [], []
    for count, most in MOST_RATIOS.items():
        for pole in (False, True):
            ours, own, ratio = _ratio(count, pole, effort)
            judged = None if pole else ratio <= most
            rows.append(Row((count, "pole" if pole else "", ours, own, f"{ratio:.2f}", "" if pole else most), judged))
            measured += [] if pole else [f"{ratio:.2f} ({count} links)"]
    return Table(
        title="Native rig: time of an update",
        must="at most 1.2, 1.5, 2 and 2 times Blender's own IK constraint at 2, 3, 10 and 30 links",
        measured=", ".join(measured),
        columns=("links", "", "native, µs median / p95", "Blender's own, µs median / p95", "ratio", "must be at most"),
        rows=tuple(rows),
        note=_TIME_NOTE,
    )


_TIME_NOTE = """\
Bent chains, targets of reach 0.2 to 0.95, the same for both, each in a file of its own, taking turns. What is timed is
one view-layer update after the target moved. Every node costs about 0.3 µs whatever it does. Without a pole a bone's
rotation is one node that looks it up; with a pole joints are looked up, and five nodes for each bone lay the links
along them."""


def _ratio(count: int, pole: bool, effort: Effort) -> tuple[str, str, float]:
    joints = rest_joints(count, "bent")
    times: dict[str, list[float]] = {"native": [], "own": []}
    for turn in range(max(1, effort.timed_runs // 5)):
        for kind, kept in times.items():
            new_scene()
            if kind == "native":
                _, target = _native_chain(joints, pole)
            else:
                obj, target = make_armature(joints), make_target()
                constrain(obj, target)
                if pole:
                    obj.pose.bones[LAST].constraints[0].pole_target = pole_target()
                view_layer().update()
            targets = targets_within(generator("native time", count, turn), 0.2, 0.95, effort.targets)
            kept += _timed(target, targets)
    ratio = spread(times["native"])[0] / spread(times["own"])[0]
    return microseconds(times["native"]), microseconds(times["own"]), ratio


def _timed(target: Object, targets: Array) -> list[float]:
    """Return the time of the update for every target; the first few are what is done once."""
    times = []
    for position in [*targets[:5], *targets]:
        target.location = position
        start = time.perf_counter()
        view_layer().update()
        times.append(time.perf_counter() - start)
    return times[5:]


def playback_table(effort: Effort) -> Table:
    """Characters with four limbs each in playback."""
    register()
    times: dict[str, list[float]] = {"native": [], "Blender's own": []}
    for _ in range(max(1, effort.timed_runs // 5)):
        for kind, make in zip(times, (_native_limb, _own_limb), strict=True):
            times[kind] += _playback(make)
    ratio = spread(times["native"])[0] / spread(times["Blender's own"])[0]
    return Table(
        title=f"Native rigs: {CHARACTERS} characters with four limbs each, playback",
        must="at most 2 times Blender's own IK",
        measured=f"{ratio:.2f} times",
        columns=("limbs of", "a frame, µs median / p95"),
        rows=tuple(
            Row((kind, microseconds(each)), ratio <= 2.0 if kind == "native" else None) for kind, each in times.items()
        ),
        note="Each limb is two bones with a target that is keyed and a pole; the frame is set from Python.",
    )


def _playback(make: Callable[[Object, list[str]], None]) -> list[float]:
    new_scene()
    assert bpy.context.scene is not None
    scene = bpy.context.scene
    for number in range(CHARACTERS):
        make(*_character(number))
    times = []
    for frame in range(1, 3 * FRAMES):
        start = time.perf_counter()
        scene.frame_set(1 + frame % FRAMES)
        times.append(time.perf_counter() - start)
    return times[FRAMES // 2 :]


def _character(number: int) -> tuple[Object, list[str]]:
    """Return an armature with a root and four limbs of two bones, and the limbs' last bones."""
    data = bpy.data.armatures.new("character")
    obj = bpy.data.objects.new("character", data)
    assert bpy.context.scene is not None
    bpy.context.scene.collection.objects.link(obj)
    obj.location.x = 3.0 * number
    view_layer().objects.active = obj
    bpy.ops.object.mode_set(mode='EDIT')
    root = data.edit_bones.new("root")
    root.head, root.tail = (0.0, 0.0, 1.0), (0.0, 0.0, 1.6)
    tips = []
    for side in (-1.0, 1.0):
        for name, height in (("arm", 1.6), ("leg", 1.0)):
            parent = root
            for part in range(2):
                bone = data.edit_bones.new(f"{name}{side:+.0f}{part}")
                bone.head = (0.3 * side, 0.05 * part, height - 0.5 * part)
                bone.tail = (0.3 * side, 0.05 * (1 - part), height - 0.5 * (part + 1))
                bone.parent, bone.use_connect = parent, part > 0
                parent = bone
            tips.append(parent.name)
    bpy.ops.object.mode_set(mode='OBJECT')
    return obj, tips


def _goals_of(obj: Object, tip: str) -> tuple[Object, Object]:
    """Return an animated target and a pole for a limb."""
    target, pole = make_target(), make_target()
    place = obj.matrix_world @ obj.data.bones[tip].tail_local
    pole.location = place
    pole.location.y -= 2.0
    for frame in range(1, FRAMES + 1):
        angle = math.tau * frame / FRAMES
        target.location = place
        target.location.y += 0.2 * math.sin(angle)
        target.location.z += 0.25 + 0.2 * math.cos(angle)
        target.keyframe_insert("location", frame=frame)
    return target, pole


def _native_limb(obj: Object, tips: list[str]) -> None:
    for tip in tips:
        chain = settings_of(obj).chains.add()
        chain.name, chain.tip, chain.chain_count, chain.use_limits = tip, tip, 2, False
        chain.target, chain.pole_target = _goals_of(obj, tip)
    make_native(obj, *settings_of(obj).chains)


def _own_limb(obj: Object, tips: list[str]) -> None:
    for tip in tips:
        constraint = obj.pose.bones[tip].constraints.new('IK')
        constraint.chain_count = 2
        constraint.target, constraint.pole_target = _goals_of(obj, tip)


def bare_table(effort: Effort) -> Table:
    """What a Blender without the extension makes of a saved file, and what is left of a rig that was removed."""
    register()
    del effort
    errors = _rendered_errors()
    traces = _traces()
    pop = _largest_turn()
    return Table(
        title="Native rigs elsewhere: rendered without the extension, removed, and out of reach",
        must="tips at targets in 24 of 24 rendered frames; nothing left; at most 0.5 degrees a step with softness",
        measured=f"{sum(e <= 1e-4 for e in errors)}/24, {traces} left, {math.degrees(pop):.2g} degrees",
        columns=("what", "measured"),
        rows=(
            Row(
                ("worst distance from tip to target in a Cycles render in a fresh Blender", max(errors)),
                len(errors) == FRAMES and max(errors) <= 1e-4,
            ),
            Row(("data-blocks, constraints and channels left when removed", traces), traces == 0),
            Row(
                (
                    f"largest rotation of a bone per {STEP:g} of the length, out of reach and back, in degrees",
                    math.degrees(pop),
                ),
                math.degrees(pop) <= 0.5,
            ),
        ),
    )


def _rendered_errors() -> list[float]:
    """Render a rig with a moving target in a process of its own; return the tips' distances from their targets."""
    new_scene()
    obj, target = _native_chain(rest_joints(4, "bent"), has_pole=True)
    for frame in range(1, FRAMES + 1):
        angle = math.tau * frame / FRAMES
        target.location = (0.5 * math.cos(angle), 0.5 * math.sin(angle), 0.4)
        target.keyframe_insert("location", frame=frame)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "native.blend"
        bpy.ops.wm.save_as_mainfile(filepath=str(file))
        command = [sys.executable, str(_BARE), str(file), obj.name, LAST, target.name]
        surroundings = {**os.environ, "BLENDER_USER_RESOURCES": str(Path(folder) / "user")}
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=surroundings, check=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    return [float(line[1]) for line in lines if line[:1] == ["error"]][:FRAMES]


def _traces() -> int:
    """Return how many data-blocks, constraints and channels differ once a rig was made and removed."""
    new_scene()
    obj, target = make_armature(rest_joints(5, "bent")), make_target()
    chain = add_chain(obj, target)
    chain.use_limits = False
    target.location = (0.3, 0.2, 0.4)
    before = _state(obj)
    make_native(obj, chain)
    remove_rigs(view_layer(), obj, list(solvers_of(obj).values()), keep_pose=False)
    after = _state(obj)
    return sum(a != b for a, b in zip(before, after, strict=True))


def _state(obj: Object) -> list[object]:
    counts: list[object] = [len(getattr(bpy.data, name)) for name in _BLOCKS]
    counts += [len(bone.constraints) for bone in obj.pose.bones]
    counts += [bone.matrix_basis.copy() for bone in obj.pose.bones]
    return [*counts, obj.animation_data is None]


def _largest_turn() -> float:
    """Return the largest rotation of a bone while a target goes out of reach and back, radians per step."""
    new_scene()
    obj, target = _native_chain(rest_joints(2, "bent"), True, SOFTNESS)
    heading = np.array([0.3, 0.5, 0.8]) / np.linalg.norm([0.3, 0.5, 0.8])
    reaches = np.arange(0.9, 1.1, STEP)
    largest, before = 0.0, None
    for reach in [*reaches, *reaches[::-1]]:
        target.location = reach * heading
        view_layer().update()
        frames = [bone.matrix.to_quaternion() for bone in obj.pose.bones]
        if before is not None:
            largest = max(largest, *(a.rotation_difference(b).angle for a, b in zip(before, frames, strict=True)))
        before = frames
    return largest
