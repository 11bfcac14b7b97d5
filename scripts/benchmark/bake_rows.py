# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Baking beside Blender's own ``nla.bake``: time, memory, and the difference from solving frame by frame."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any  # armatures and chains: no stub knows Object.fabrik

import bpy
import numpy as np
from bpy.types import Action, Object

from fabrik_addon.blender.animation.frame_range import FrameRange
from fabrik_addon.blender.bake.bake_chains import bake_chains
from fabrik_addon.blender.rig.properties import settings_of
from fabrik_addon.blender.solving.chain_groups import take_groups
from fabrik_addon.blender.solving.solve_chains import solve_group

from .blender_chain import make_empty, new_scene, register, scene, view_layer
from .body_path_rows import LARGEST_RATIO, PATHS, STEPS, largest_angle, offset_on_path, poses_at
from .body_path_rows import make_human as make_body
from .human import Human, add_skin, make_human
from .problems import Array, Effort
from .report import Row, Table

ROOT = Path(__file__).resolve().parents[2]
MOTION = ROOT / "tests/data/cmu_01_01_jump.bvh"

FRAMES = 1000
BODY_FRAMES = 2 * STEPS
"""Of a body's bake: two rounds of the path."""
BODY_MILLISECONDS = 3.0
"""Of one frame of a body's bake."""
FASTER, FASTER_WITH_SKIN = 3.0, 20.0
FACES = 500_000

_TIME_NOTE = """\
The metarig as Rigify makes it, 159 bones; arms and legs have targets and poles that are keyed, and keys of their own
below. `nla.bake` has the same limbs as Blender's IK constraints, the same eight bones selected, visual
keying, and nothing else to do. They take turns in one scene; the shortest time of each is compared. The skin is a
subdivided mesh that the rig deforms."""

_MEMORY_SCRIPT = """
import os, resource, sys
sys.path[:0] = [{root!r}, {scripts!r}]
from benchmark import bake_rows
bake_rows.print_memory({frames})
os._exit(0)
"""


def time_table(effort: Effort) -> Table:
    """Time a bake beside Blender's own."""
    rows, said = [], []
    frames = FRAMES if effort.timed_runs > 5 else FRAMES // 10
    for skin, least in ((0, FASTER), (FACES, FASTER_WITH_SKIN)):
        human = make_human(frames)
        faces = add_skin(human, skin) if skin else 0
        runs = 1 if skin else 5
        ours, own = [], []
        for _ in range(runs):
            ours.append(_time_ours(human, frames))
            own.append(_time_own(human, frames))
        ratio = min(own) / min(ours)
        label = f"a skin of {faces:,} faces" if skin else "the rig alone"
        rows.append(Row((label, frames, min(ours), min(own), f"{ratio:.1f}", least), ratio >= least))
        said.append(f"{ratio:.1f} times ({label})")
    return Table(
        title="Bake: four limbs of Rigify's human",
        must=f"at least {FASTER:g} times faster than `nla.bake`, {FASTER_WITH_SKIN:g} times with a skin in the scene",
        measured=", ".join(said),
        columns=("in the scene", "frames", "ours, s", "`nla.bake`, s", "times faster", "must be at least"),
        rows=tuple(rows),
        note=_TIME_NOTE,
    )


def body_table(effort: Effort) -> Table:
    """Time the bake of a body's five chains beside solving its frames one by one."""
    frames = BODY_FRAMES if effort.timed_runs > 5 else BODY_FRAMES // 4
    rows, worst = [], 0.0
    for path, with_poles in ((path, with_poles) for path in PATHS for with_poles in (False, True)):
        body = make_body(with_limits=True, with_poles=with_poles)
        _key_path(body, path, frames)
        alone = _time_frame_by_frame(body, frames)
        ours = _time_bake(body, frames)
        turns = _turns(body, frames)
        ratio = float(turns.max() / np.median(turns))
        cells = (
            f"{path}, {'with' if with_poles else 'without'} poles",
            1e3 * ours / frames,
            1e3 * alone / frames,
            f"{np.median(turns):.2g} / {turns.max():.3g} ({ratio:.1f})",
        )
        worst = max(worst, 1e3 * ours / frames)
        rows.append(Row(cells, 1e3 * ours / frames <= BODY_MILLISECONDS and ratio <= LARGEST_RATIO))
    return Table(
        title="Bake: five chains of Rigify's human",
        must=f"at most {BODY_MILLISECONDS:g} ms a frame, largest rotation of a bone from frame to frame at most "
        f"{LARGEST_RATIO:g} times the median frame's",
        measured=f"{worst:.1f} ms a frame at most",
        columns=(
            "path of the left hand",
            "a frame of the bake, ms of processor time",
            "the same frame read and solved alone",
            "largest rotation of a bone from frame to frame, degrees: median / max (ratio)",
        ),
        rows=tuple(rows),
        note="Chains to the hands (3 bones), pinned feet (3 bones, with rotation) and head, within limits; the root "
        f"follows. The left hand is led around its path in {STEPS} frames, {frames} in all; 'low' is partly out of "
        "reach.",
    )


def growth_table(effort: Effort) -> Table:
    """Time and memory of longer and longer bakes."""
    counts = (1, 1000, 10_000) if effort.timed_runs > 5 else (1, 100, 1000)
    seconds = {}
    for count in counts:
        human = make_human(count)
        seconds[count] = _time_ours(human, count)
    middle, most = counts[1:]
    each = {count: 1e3 * (seconds[count] - seconds[1]) / (count - 1) for count in counts[1:]}
    is_linear = each[most] <= 1.3 * each[middle]
    rows = [Row((f"{count:,}", seconds[count], each.get(count, ""), ""), None) for count in counts]
    rows[-1] = Row((f"{most:,}", seconds[most], each[most], ""), is_linear)
    few, many = (1000, 100_000) if effort.timed_runs > 5 else (100, 10_000)
    megabytes = {count: _memory(count) for count in (few, many)}
    grown = megabytes[many] - megabytes[few]
    rows.append(Row((f"{few:,}", "", "", megabytes[few])))
    rows.append(Row((f"{many:,}", "", "", megabytes[many]), grown < 1024.0))
    return Table(
        title="Bake: time and memory by number of frames",
        must="linear in frames, and at 100,000 frames less than 1 GB more than at 1,000",
        measured=f"{each[most] / each[middle]:.2f} times per frame at {most:,}, {grown:.0f} MB more at {many:,}",
        columns=("frames", "s", "ms for one more frame", "largest resident memory, MB"),
        rows=tuple(rows),
        note="The same rig and limbs. Memory is that of a process that bakes and does nothing else, keys included.",
    )


def same_table(_effort: Effort) -> Table:
    """Compare baked frames with the same frames solved alone."""
    human = make_human(100)
    numbers = [*range(1, 101, 7)]
    alone = {}
    for number in numbers:
        scene().frame_set(number)
        bpy.ops.pose.fabrik_solve()  # type: ignore[attr-defined]
        alone[number] = _matrices(human.rig)
    scene().frame_set(1)
    _bake(human, 100)
    rows = []
    for number in numbers:
        scene().frame_set(number)
        rows.append(float(np.abs(_matrices(human.rig) - alone[number]).max()))
    worst = max(rows)
    return Table(
        title="Bake: the same as solving frame by frame",
        must="no component of any bone's matrix differs by more than 1e-6",
        measured=f"{worst:.1g} at most",
        columns=("frames compared", "bones", "largest difference"),
        rows=(Row((len(numbers), len(human.rig.pose.bones), worst), worst <= 1e-6),),
    )


def round_trip_table(_effort: Effort) -> Table:
    """Key targets from captured motion, bake, and compare with the motion."""
    register()
    new_scene()
    bpy.ops.preferences.addon_enable(module="io_anim_bvh")
    bpy.ops.import_anim.bvh(filepath=str(MOTION), rotate_mode='QUATERNION')
    assert bpy.context.object is not None
    rig = bpy.context.object
    bpy.ops.object.mode_set(mode='POSE')
    tips = {"LeftForeArm": 2, "RightForeArm": 2, "LeftLeg": 2, "RightLeg": 2}
    for name, count in tips.items():
        chain = settings_of(rig).chains.add()
        chain.name, chain.tip, chain.chain_count = name, name, count
        for role in ("target", "pole_target"):
            setattr(chain, role, make_empty(f"{name} {role}"))
    last = round(rig.animation_data.action.frame_range[1])
    before = _path(rig, last)
    bpy.ops.pose.fabrik_key_targets(frame_start=1, frame_end=last)  # type: ignore[attr-defined]
    bpy.ops.pose.fabrik_bake(frame_start=1, frame_end=last)  # type: ignore[attr-defined]
    after = _path(rig, last)
    names = [bone.name for bone in rig.pose.bones]
    rows = []
    for name in tips:
        tip = rig.pose.bones[name]
        length = tip.bone.length + tip.parent.bone.length
        child = names.index(next(bone.name for bone in tip.children))
        off = float(np.linalg.norm(after[:, child, :3, 3] - before[:, child, :3, 3], axis=1).max()) / length
        turned = max(_turn(after[:, names.index(n)], before[:, names.index(n)]) for n in (name, tip.parent.name))
        rows.append(Row((name, last, off, turned), off <= 1e-4 and turned <= 1.0))
    worst = max(float(row.cells[2]) for row in rows)
    flip = max(float(row.cells[3]) for row in rows)
    return Table(
        title="Round trip: FK to keyed targets, baked back to FK",
        must="on captured motion every tip within 1e-4 of its chain's length, and no bone's rotation off by more than "
        "a degree",
        measured=f"{worst:.1g} of the length and {flip:.2g} degrees at most",
        columns=("chain", "frames", "tip off, over the chain's length", "bones' rotations off, degrees"),
        rows=tuple(rows),
        note="A jump from the CMU database. Targets and poles are keyed from it, and the chains are baked to reach "
        "them.",
    )


def print_memory(frames: int) -> None:
    """Bake in this process and print its largest resident memory in kilobytes."""
    human = make_human(frames)
    _bake(human, frames)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, flush=True)


def _memory(frames: int) -> float:
    script = _MEMORY_SCRIPT.format(root=str(ROOT), scripts=str(ROOT / "scripts"), frames=frames)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=1200, check=True)
    return float(done.stdout.split()[-1]) / 1024.0


def _bake(human: Human, frames: int) -> None:
    times = [float(frame) for frame in range(1, frames + 1)]
    for _ in bake_chains(FrameRange(scene(), view_layer(), human.rig, times, (1, frames)), human.chains):
        pass


def _time_ours(human: Human, frames: int) -> float:
    action = human.rig.animation_data.action
    kept = action.copy()
    start = time.perf_counter()
    _bake(human, frames)
    taken = time.perf_counter() - start
    _put_back(human, kept)
    return taken


def _time_own(human: Human, frames: int) -> float:
    kept = human.rig.animation_data.action.copy()
    for constraint in human.constraints:
        constraint.mute = False
    start = time.perf_counter()
    bpy.ops.nla.bake(
        frame_start=1,
        frame_end=frames,
        only_selected=True,
        visual_keying=True,
        use_current_action=True,
        bake_types={'POSE'},
        channel_types={'ROTATION'},
    )
    taken = time.perf_counter() - start
    for constraint in human.constraints:
        constraint.mute = True
    _put_back(human, kept)
    return taken


def _put_back(human: Human, action: Action) -> None:
    animation = human.rig.animation_data
    used = animation.action
    animation.action = action
    animation.action_slot = action.slots[0]
    if used is not None:
        bpy.data.actions.remove(used)
    scene().frame_set(1)


def _key_path(body: Any, path: str, frames: int) -> None:
    """Key the left hand's target on a path at every frame."""
    target = body.fabrik.chains[0].target
    rest = target.location.copy()
    for frame in range(1, frames + 1):
        target.location = rest + offset_on_path(path, frame / STEPS)
        target.keyframe_insert("location", frame=frame)
    scene().frame_set(1)


def _time_bake(body: Any, frames: int) -> float:
    chains = list(body.fabrik.chains)
    start = time.process_time()
    times = [*map(float, range(1, frames + 1))]
    for _ in bake_chains(FrameRange(scene(), view_layer(), body, times, (1, frames)), chains):
        pass
    return time.process_time() - start


def _time_frame_by_frame(body: Any, frames: int) -> float:
    """Return the seconds of processor time in which all frames are evaluated, read and solved alone."""
    start = time.process_time()
    for frame in range(1, frames + 1):
        scene().frame_set(frame)
        (group,) = take_groups(view_layer(), body, list(body.fabrik.chains))
        solve_group(group)
    taken = time.process_time() - start
    scene().frame_set(1)
    return taken


def _turns(body: Any, frames: int) -> Array:
    """Return the largest rotation (F - 1,) of a bone from each frame to the next, degrees."""
    return np.array([largest_angle(*pair) for pair in pairwise(poses_at(body, range(1, frames + 1)))])


def _matrices(rig: Object) -> Array:
    return np.array([[row[:] for row in bone.matrix] for bone in rig.pose.bones])


def _path(rig: Object, last: int) -> Array:
    found = []
    for frame in range(1, last + 1):
        scene().frame_set(frame)
        found.append(_matrices(rig))
    return np.array(found)


def _turn(after: Array, before: Array) -> float:
    """Return the largest angle, in degrees, between rotations (F, 4, 4)."""
    cosines = (np.einsum("fij,fij->f", after[:, :3, :3], before[:, :3, :3]) - 1.0) / 2.0
    return float(np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0))).max())
