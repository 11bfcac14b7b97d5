# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo poses the rigs it promises to pose, and says what is wrong with a command line."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import bpy
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SECONDS = 300.0


def _demo(output: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts/demo.py"), "--no-render", "--output", str(output), *arguments]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS)


def _errors(table: str) -> dict[str, float]:
    """Return each chain's measured error."""
    rows = re.findall(r"(?m)^(\S.*?) +\d+ +\d+\.\d+ +(\d\.\de[+-]\d+) +\d+ +\d+  reached$", table)
    return {name: float(error) for name, error in rows}


def _save_tail(folder: Path) -> None:
    """Make a tail of ten bones with an action, as a .blend and as a .bvh file."""
    armature = bpy.data.objects.new("Tail", bpy.data.armatures.new("Tail"))
    bpy.context.scene.collection.objects.link(armature)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode='EDIT')
    parent = None
    for number in range(10):
        bone = armature.data.edit_bones.new(f"tail.{number:03}")
        bone.head, bone.tail = (number, 0, 0), (number + 1, 0, 0.1 * (number % 2))
        bone.parent, bone.use_connect = parent, parent is not None
        parent = bone
    bpy.ops.object.mode_set(mode='POSE')
    for frame in (1, 5):
        armature.pose.bones["tail.004"].rotation_quaternion = (1.0, 0.0, 0.1 * frame, 0.0)
        armature.pose.bones["tail.004"].keyframe_insert("rotation_quaternion", frame=frame)
    bpy.context.scene.frame_set(1)
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "tail.blend"))
    bpy.ops.preferences.addon_enable(module="io_anim_bvh")
    bpy.ops.export_anim.bvh(filepath=str(folder / "tail.bvh"), frame_start=1, frame_end=5)


@pytest.mark.parametrize(
    ("example", "planted", "pose_count"),
    [
        ("human", ("toe.L", "toe.R"), 4),  # heels may lift
        ("poses", (), 11),
        ("horse", ("r_toe.L", "r_toe.R", "f_hoof.R"), 3),
        ("floor", ("toe.L", "toe.R"), 2),
    ],
)
def test_bodies_are_pulled_into_poses_that_are_keyed(
    example: str, planted: tuple[str, ...], pose_count: int, tmp_path: Path
) -> None:
    done = _demo(tmp_path, example)
    assert done.returncode == 0, done.stdout + done.stderr
    errors = re.findall(r"(?m)^\S.*?  +[\w.]+ +(\d\.\de[+-]\d+) +\d+$", done.stdout)
    assert len(errors) >= pose_count and max(map(float, errors)) < 1e-3
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / f"{example}.blend"))
    armature, rest = bpy.data.objects["metarig"], bpy.data.armatures["metarig"].bones
    shapes = set()
    for number in range(pose_count):
        bpy.context.scene.frame_set(1 + 10 * number)
        shapes.add(tuple(round(value, 2) for bone in armature.pose.bones for value in bone.head))
        for name in planted:
            assert (armature.pose.bones[name].head - rest[name].head_local).length < 1e-4, (name, number)
    assert len(shapes) == pose_count


def test_a_spider_lifts_a_leg_and_the_others_stay(tmp_path: Path) -> None:
    done = _demo(tmp_path, "spider")
    assert done.returncode == 0, done.stdout + done.stderr
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "spider.blend"))
    armature, moved = bpy.data.objects["Spider"], []
    for number in range(3):
        bpy.context.scene.frame_set(1 + 10 * number)
        ends = [bone for bone in armature.pose.bones if not bone.children and bone.name != "Bone.001"]
        moved.append([bone.name for bone in ends if (bone.tail - bone.bone.tail_local).length > 1e-4])
    assert [len(names) for names in moved] == [0, 1, 0], moved


def test_the_human_reaches_with_all_five_chains(tmp_path: Path) -> None:
    done = _demo(tmp_path, "chains")
    assert done.returncode == 0, done.stdout + done.stderr
    errors = _errors(done.stdout)
    assert set(errors) == {"head", "left hand", "right hand", "left foot", "right foot"}
    assert max(errors.values()) < 1e-4
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "chains.blend"))
    chains = bpy.data.objects["metarig"].fabrik.chains
    assert [chain.name for chain in chains] == list(errors)
    assert [chain.name for chain in chains if chain.use_pin] == ["left foot", "right foot"]
    assert all(chain.target or chain.use_pin for chain in chains)
    rig, rest = bpy.data.objects["metarig"], bpy.data.armatures["metarig"].bones
    for foot in ("foot.L", "foot.R"):
        assert (rig.pose.bones[foot].tail - rest[foot].tail_local).length < 1e-4
    assert (rig.pose.bones["spine"].head - rest["spine"].head_local).length > 0.02


@pytest.mark.parametrize("rig", ["basic_quadruped", "basic_human"])
def test_a_metarig_by_name(rig: str, tmp_path: Path) -> None:
    tip = {"basic_quadruped": "front_shin.L", "basic_human": "shin.R"}[rig]
    done = _demo(tmp_path, "--rig", rig, "--tip", tip)
    assert done.returncode == 0, done.stdout + done.stderr
    assert _errors(done.stdout)[tip] < 1e-4
    assert (tmp_path / f"{rig}.blend").exists()


@pytest.mark.parametrize("kind", ["blend", "bvh"])
def test_a_rig_from_a_file_keeps_its_pose_when_the_frame_is_set_again(kind: str, tmp_path: Path) -> None:
    _save_tail(tmp_path)
    arguments = ["--tip", "tail.008", "--chain-count", "0"]
    done = _demo(tmp_path / "posed", "--rig", str(tmp_path / f"tail.{kind}"), *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    assert _errors(done.stdout)["tail.008"] < 1e-4
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "posed/tail.blend"))
    (armature,) = (obj for obj in bpy.context.scene.objects if obj.type == 'ARMATURE')
    bpy.context.scene.frame_set(bpy.context.scene.frame_current)
    (chain,) = armature.fabrik.chains
    tip = armature.matrix_world @ armature.pose.bones["tail.008"].tail
    assert (tip - chain.target.matrix_world.translation).length < 1e-3


def test_a_target_too_far_away_is_an_answer(tmp_path: Path) -> None:
    done = _demo(tmp_path, "--rig", "basic_human", "--tip", "forearm.L", "--target", "9", "0", "0")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "out of reach" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rig", "basic_human", "--tip", "forarm.L"], "has no bone forarm.L; near to it: forearm.L"),
        (["--rig", "basic_human"], "--tip is needed"),
        (["--rig", "nothing", "--tip", "x"], "the metarigs are basic_human, basic_quadruped"),
        (["--rig", "nothing.bvh", "--tip", "x"], "there is no file nothing.bvh"),
        (["--rig", "basic_human", "--tip", "spine", "--chain-count", "9"], "spine"),
        (["--tip", "forearm.L"], "--rig"),
    ],
)
def test_a_wrong_command_line_is_answered_in_words(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = _demo(tmp_path, *arguments)
    assert done.returncode != 0
    assert message in done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    assert not list(tmp_path.iterdir())
