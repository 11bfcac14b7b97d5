# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Open Job Description template, checked and run by the real runner, with Blender as a Python module."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import bpy
import pytest

from fabrik_addon.blender.command_line.file_structure import check_structure
from tests.blender.rigs import leave_mode, make_empty, make_tail, set_chain

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "farm/openjd/fabrik_bake.yaml"
# By the module: the executable may be on no path.
RUNNER = [sys.executable, "-c", "import sys; from openjd.cli import main; sys.exit(main())"]


def make_shot(path: Path, frames: int = 5) -> None:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    armature = make_tail(3, "Rig")
    target = make_empty("target")
    for frame, place in ((1, (1.0, 1.0, 1.5)), (frames, (-1.0, 0.5, 1.8))):
        target.location = place
        target.keyframe_insert("location", frame=frame)
    set_chain(armature, "bone2", 3, target)
    leave_mode()
    bpy.context.scene.frame_end = frames
    bpy.ops.wm.save_as_mainfile(filepath=str(path), check_existing=False)


@pytest.fixture
def shots(tmp_path: Path) -> Path:
    """Three shots, of which the second is no .blend file."""
    folder = tmp_path / "shots"
    folder.mkdir()
    make_shot(folder / "a.blend")
    (folder / "b.blend").write_bytes(b"BLENDER, but not really")
    shutil.copy(folder / "a.blend", folder / "c.blend")
    return folder


def command(shots: Path, output: Path, shot_range: str = "1-3", **parameters: str) -> list[str]:
    values = {
        "Shots": str(shots),
        "ShotRange": shot_range,
        "OutputFolder": str(output),
        "Blender": str(ROOT / "scripts/fabrik.py"),
        "Python": sys.executable,
        **parameters,
    }
    words = [word for name, value in values.items() for word in ("--job-param", f"{name}={value}")]
    return [*RUNNER, "run", str(TEMPLATE), "--step", "Bake", *words]


def run_job(*words: str) -> tuple[int, str]:
    done = subprocess.run(words, capture_output=True, text=True, timeout=240, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout + done.stderr


def baked_keys(path: Path) -> int:
    check_structure(path)
    bpy.ops.wm.open_mainfile(filepath=str(path))
    animation = bpy.data.objects["Rig"].animation_data
    bag = animation.action.layers[0].strips[0].channelbag(animation.action_slot)
    return len(bag.fcurves.find('pose.bones["bone1"].rotation_quaternion', index=0).keyframe_points)


def kill_all_that_name(path: Path) -> None:
    """Kill the processes that have a path on their command line."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if os.fsencode(path) in (folder / "cmdline").read_bytes():
                os.kill(int(folder.name), signal.SIGKILL)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_template_is_valid() -> None:
    code, said = run_job(*RUNNER, "check", str(TEMPLATE))
    assert code == 0, said


def test_the_summary_counts_one_task_for_each_shot() -> None:
    values = [word for value in ("Shots=in", "ShotRange=1-7", "OutputFolder=out") for word in ("-p", value)]
    code, said = run_job(*RUNNER, "summary", str(TEMPLATE), "--output", "json", *values)
    assert code == 0, said
    summary = json.loads(said)
    assert [step["total_tasks"] for step in summary["steps"]] == [7]
    assert {each["name"] for each in summary["steps"][0]["environments"]} == {"Blender"}


def test_a_broken_shot_fails_by_name_and_the_others_are_done(shots: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    code, said = run_job(*command(shots, output))
    assert code != 0
    assert "b.blend: " in said and "a.blend: " not in said and "c.blend: " not in said
    assert sorted(path.name for path in output.iterdir()) == ["a.blend", "c.blend"]
    assert [baked_keys(output / name) for name in ("a.blend", "c.blend")] == [5, 5]
    assert "Progress: 100" in said or "openjd_progress: 100.0" in said


def test_a_list_of_shots_frames_and_chains_are_handed_on(shots: Path, tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("shots/c.blend\n\nshots/a.blend\n", encoding="utf-8")
    output = tmp_path / "out"
    code, said = run_job(
        *command(tmp_path / "list.txt", output, "1", FrameStart="2", FrameEnd="4", Chains="bone2", ShotsPerTask="1")
    )
    assert code == 0, said
    assert [path.name for path in output.iterdir()] == ["c.blend"]
    assert baked_keys(output / "c.blend") == 3
    code, said = run_job(*command(tmp_path / "list.txt", output, "3"))
    assert code != 0 and "there are 2 shots" in said


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are found in /proc")
def test_a_runner_that_is_killed_and_started_anew_ends_with_whole_files(shots: Path, tmp_path: Path) -> None:
    make_shot(shots / "b.blend", frames=40)
    output = tmp_path / "out"
    words = command(shots, output)
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
    limit = time.monotonic() + 200.0
    while not (output / "a.blend").exists() and process.poll() is None and time.monotonic() < limit:
        time.sleep(0.05)
    first = digest(output / "a.blend")
    stamp = (output / "a.blend").stat().st_mtime_ns
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    kill_all_that_name(output)  # the runner's tasks are in sessions of their own
    for path in output.glob("*.blend"):
        if not path.name.startswith("."):
            check_structure(path)
    code, said = run_job(*words)
    assert code == 0, said
    assert (digest(output / "a.blend"), (output / "a.blend").stat().st_mtime_ns) == (first, stamp)
    assert sorted(path.name for path in output.iterdir()) == ["a.blend", "b.blend", "c.blend"]
    assert [baked_keys(output / name) for name in ("a.blend", "b.blend", "c.blend")] == [5, 40, 5]


def test_blender_without_the_extension_is_found_before_any_shot(shots: Path, tmp_path: Path) -> None:
    code, said = run_job(*command(shots, tmp_path / "out", Blender="no-such-blender"))
    assert code != 0 and "'no-such-blender' can't be started" in said
    assert not (tmp_path / "out").exists()
