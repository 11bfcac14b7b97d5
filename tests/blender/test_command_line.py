# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line: what it prints, how it exits, what it writes and what it never does."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import bpy
import pytest
from bpy.types import Object
from mathutils import Vector

from fabrik_addon.blender.command_line.run_command import run
from tests.blender.rigs import collect, distance_left, leave_mode, make_empty, make_tail, metarig, set_chain, update

ROOT = Path(__file__).resolve().parents[2]
RUNNER = [sys.executable, str(ROOT / "scripts/fabrik.py")]
NEAR = [(1.0, 1.0, 1.5), (-1.0, 0.5, 1.8)]


def make_file(path: Path, places: list[tuple[float, float, float]], name: str = "Rig") -> None:
    """A file with a rig whose target goes from place to place, ten frames each."""
    armature = make_tail(3, name)
    target = make_empty(f"{name} target")
    for number, place in enumerate(places):
        target.location = place
        target.keyframe_insert("location", frame=1 + 10 * number)
    set_chain(armature, "bone2", 3, target)
    leave_mode()
    bpy.context.scene.frame_end = 11
    bpy.context.scene.frame_set(1)
    bpy.ops.wm.save_as_mainfile(filepath=str(path), check_existing=False)


@pytest.fixture
def rig(tmp_path: Path) -> Path:
    make_file(tmp_path / "rig.blend", NEAR)
    return tmp_path / "rig.blend"


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def call(capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    """Run a command with --json; return its exit code and the line it prints."""
    ctypes.CDLL(None).fflush(None)
    capfd.readouterr()
    kept = os.dup(1)
    code = run([*words, "--json"])
    ctypes.CDLL(None).fflush(None)
    # Pytest's own sys.stdout isn't redirected: Blender's reports are there.
    lines = [line for line in capfd.readouterr().out.splitlines() if line.startswith("{")]
    *progress, result = map(json.loads, lines)
    assert all(set(each) == {"command", "armature", "progress"} for each in progress)
    os.dup2(kept, 1)  # the command leaves it to Blender, which exits
    os.close(kept)
    return code, result


def keys_in(path: Path) -> int:
    bpy.ops.wm.open_mainfile(filepath=str(path))
    return keys_of_bone(bpy.data.objects["Rig"])


def keys_of_bone(armature: Object) -> int:
    animation = armature.animation_data
    if animation is None or animation.action is None:
        return 0
    bag = animation.action.layers[0].strips[0].channelbag(animation.action_slot)
    return len(bag.fcurves.find('pose.bones["bone1"].rotation_quaternion', index=0).keyframe_points)


def test_bake_writes_the_output_and_leaves_the_input(rig: Path, capfd: pytest.CaptureFixture[str]) -> None:
    before, output = digest(rig), rig.with_name("out.blend")
    code, found = call(capfd, "bake", "--output", str(output))
    assert code == 0
    (entry,) = found["armatures"]
    assert entry["armature"] == "Rig" and entry["frames"] == [*map(float, range(1, 12))]
    assert entry["chains"] == [{"chain": "bone2", "not_reached": [], "overridden": []}]
    assert found["output"] == str(output) and found["warnings"] == []
    assert digest(rig) == before
    assert sorted(path.name for path in rig.parent.iterdir()) == ["out.blend", "rig.blend"]
    assert keys_in(output) == 11
    assert keys_in(rig) == 0


def test_two_slashes_are_the_folder_of_the_file(rig: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, found = call(capfd, "bake", "--output", "//out.blend")
    assert code == 0 and found["output"] == str(rig.with_name("out.blend"))
    assert keys_in(rig.with_name("out.blend")) == 11


def test_range_step_and_fewer_keys(rig: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, found = call(capfd, "bake", "--in-place", "--start", "3", "--end", "9", "--step", "2")
    assert code == 0 and found["armatures"][0]["frames"] == [3.0, 5.0, 7.0, 9.0]
    assert keys_in(rig) == 4
    code, found = call(capfd, "bake", "--in-place", "--smart", "--tolerance", "20")
    assert code == 0 and keys_in(rig) < 11


def test_frames_out_of_reach_are_listed_with_exit_code_3(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    make_file(tmp_path / "far.blend", [(1.0, 1.0, 1.5), (6.0, 0.0, 0.0)])
    code, found = call(capfd, "bake", "--output", str(tmp_path / "out.blend"))
    assert code == 3
    unreached = found["armatures"][0]["chains"][0]["not_reached"]
    assert unreached[-1]["frame"] == 11.0 and unreached[-1]["status"] == "OUT_OF_REACH"
    assert unreached[-1]["error"] == pytest.approx((6.0 - 3.03) / 3.03, abs=0.02)
    assert "worst at frame 11" in found["warnings"][0]
    assert (tmp_path / "out.blend").is_file()


def test_a_failure_is_exit_code_1_and_writes_nothing(rig: Path, capfd: pytest.CaptureFixture[str]) -> None:
    bpy.data.objects["Rig"].fabrik.chains[0].target = None
    output = rig.with_name("out.blend")
    code, found = call(capfd, "bake", "--output", str(output))
    assert code == 1 and "has no target" in found["error"] and "Rig" in found["error"]
    assert not output.exists()


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["fly"],
        ["bake"],
        ["bake", "--output", "x.blend", "--in-place"],
        ["bake", "--output", "x.txt"],
        ["bake", "--output", "nowhere/x.blend"],
        ["bake", "--output", "rig.blend"],
        ["bake", "--in-place", "--step", "0"],
        ["bake", "--in-place", "--start", "one"],
        ["bake", "--in-place", "--start", "9", "--end", "3"],
        ["bake", "--in-place", "--end", "99999999999999"],
        ["bake", "--in-place", "--step", "1.5"],
        ["bake", "--in-place", "--smart", "--tolerance", "much"],
        ["bake", "--in-place", "--smart", "--tolerance", "nan"],
        ["bake", "--in-place", "--chain", "bone9"],
        ["solve", "--in-place", "--chain", "bone2", "--chain", "bone9"],
        ["bake", "--in-place", "--armature", "Rag"],
        ["solve"],
        ["convert"],
        ["list", "--output", "x.blend"],
    ],
    ids=" ".join,
)
def test_wrong_usage_is_exit_code_2_and_changes_nothing(
    rig: Path, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(rig.parent)
    before = digest(rig)
    assert run(words) == 2
    assert digest(rig) == before and [path.name for path in rig.parent.iterdir()] == ["rig.blend"]


@pytest.mark.parametrize("words", [["--help"], ["bake", "--help"], ["solve", "-h"], ["list", "-h"], ["convert", "-h"]])
def test_help(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 0
    assert "usage: blender FILE --command fabrik" in capfd.readouterr().out


def test_a_number_that_cant_be_read_is_named(rig: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["bake", "--in-place", "--step", "1.5"]) == 2
    assert "argument --step: '1.5' is no whole number" in capfd.readouterr().err


def test_what_is_write_protected_is_refused_before_the_work(rig: Path, capfd: pytest.CaptureFixture[str]) -> None:
    before, output = digest(rig), rig.with_name("out.blend")
    rig.chmod(0o444)
    assert run(["bake", "--in-place"]) == 2
    assert f"'{rig}' is write-protected" in capfd.readouterr().err
    output.mkdir()
    assert run(["bake", "--output", str(output)]) == 2
    assert "is a folder" in capfd.readouterr().err
    assert digest(rig) == before and sorted(path.name for path in rig.parent.iterdir()) == ["out.blend", "rig.blend"]


def test_a_name_that_is_too_long_to_be_saved_is_refused_before_the_work(
    rig: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, result = call(capfd, "bake", "--output", str(rig.with_name("n" * 236 + ".blend")))
    assert code == 1 and "its name is too long" in result["error"]
    assert keys_of_bone(bpy.data.objects["Rig"]) == 0
    assert [path.name for path in rig.parent.iterdir()] == ["rig.blend"]


def test_a_chain_is_looked_for_in_all_armatures(rig: Path, capfd: pytest.CaptureFixture[str]) -> None:
    other = make_tail(2, "Other")
    leave_mode()
    other.fabrik.chains.add().name = "its own"
    bpy.ops.wm.save_as_mainfile(filepath=str(rig), check_existing=False)
    code, found = call(capfd, "bake", "--in-place", "--chain", "bone2", "--chain", "bone2")
    assert code == 0
    assert [(entry["armature"], len(entry["chains"])) for entry in found["armatures"]] == [("Rig", 1)]


def test_a_chain_that_is_switched_on_later_is_baked(rig: Path, capfd: pytest.CaptureFixture[str]) -> None:
    armature = bpy.data.objects["Rig"]
    for frame, switch in ((1, False), (6, True)):
        armature.fabrik.chains[0].enabled = switch
        armature.keyframe_insert("fabrik.chains[0].enabled", frame=frame)
    bpy.context.scene.frame_set(1)
    bpy.ops.wm.save_as_mainfile(filepath=str(rig), check_existing=False)
    code, _found = call(capfd, "bake", "--in-place")
    assert code == 0 and keys_in(rig) == 11


@pytest.mark.parametrize(("exists", "expected"), [(False, 2), (True, 1)])
def test_a_file_that_blender_couldnt_open_isnt_mixed_up_with_its_startup_file(
    tmp_path: Path, exists: bool, expected: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "typo.blend"
    if exists:
        file.write_bytes(b"no blend file")
    animated = make_tail(2)
    set_chain(animated, "bone1", 2, make_empty("target", (0.5, 0.5, 1.0)))
    monkeypatch.setattr(sys, "argv", ["blender", "-b", str(file), "--command", "fabrik", "list"])
    for words in (["list"], ["bake", "--output", str(tmp_path / "out.blend")]):
        assert run(words) == expected
        assert str(file) in capfd.readouterr().err
    assert not (tmp_path / "out.blend").exists()


def test_a_scene_without_armatures_is_said_to_have_none(capfd: pytest.CaptureFixture[str]) -> None:
    messages: list[str] = []
    assert run(["list"], messages.append) == 0
    assert messages == ["there is no armature in the scene 'Scene'"]


def test_in_place_without_a_file_is_refused() -> None:
    assert run(["bake", "--in-place"]) == 2


def test_one_armature_of_two(rig: Path, capfd: pytest.CaptureFixture[str]) -> None:
    make_file(rig, NEAR, "Other")
    code, found = call(capfd, "bake", "--in-place", "--armature", "Other")
    assert code == 0 and [entry["armature"] for entry in found["armatures"]] == ["Other"]
    assert keys_in(rig) == 0
    code, found = call(capfd, "bake", "--in-place")
    assert {entry["armature"] for entry in found["armatures"]} == {"Rig", "Other"}


def test_solve_poses_and_keys_what_is_keyed(rig: Path, capfd: pytest.CaptureFixture[str]) -> None:
    bone = bpy.data.objects["Rig"].pose.bones["bone1"]
    bone.keyframe_insert("rotation_quaternion", frame=1)
    code, found = call(capfd, "solve", "--in-place", "--frame", "11")
    assert code == 0
    (entry,) = found["armatures"][0]["chains"]
    assert entry["status"] == "REACHED" and entry["error"] <= 1e-4
    bpy.ops.wm.open_mainfile(filepath=str(rig))
    armature = bpy.data.objects["Rig"]
    bpy.context.scene.frame_set(11)
    end = armature.pose.bones["bone2"].tail
    assert (armature.matrix_world @ end - bpy.data.objects["Rig target"].matrix_world.translation).length < 1e-3
    assert keys_in(rig) == 2


@pytest.mark.parametrize("has_chain", [False, True])
def test_a_body_that_follows_an_object_is_baked_before_the_chains(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], has_chain: bool
) -> None:
    """The command said that there is nothing to bake."""
    bpy.ops.preferences.addon_enable(module="rigify")
    human: Any = metarig("human_metarig")
    assert bpy.ops.pose.fabrik_body_add() == {"FINISHED"}
    hand = human.pose.bones["hand.L"]
    cup = make_empty("Cup", human.matrix_world @ hand.head)
    update()
    human.fabrik.body.handles["Hand.L"].target = cup
    for frame, z in ((1, 0.0), (4, 0.15)):
        cup.location = human.matrix_world @ hand.head + Vector((0.0, -0.2, z))
        cup.keyframe_insert("location", frame=frame)
    if has_chain:
        set_chain(human, "f_index.03.L", 3, make_empty("Ring", human.pose.bones["f_index.03.L"].tail))
    leave_mode()
    bpy.context.scene.frame_end = 4
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "human.blend"))
    code, found = call(capfd, "bake", "--in-place")
    assert code in (0, 3)
    first, *others = found["armatures"]
    assert first["body"] == {"not_reached": [], "overridden": []} and first["frames"] == [1.0, 2.0, 3.0, 4.0]
    assert [each["chains"][0]["chain"] for each in others] == (["f_index.03.L"] if has_chain else [])
    human, cup = bpy.data.objects[human.name], bpy.data.objects["Cup"]
    for frame in (1, 3, 4):
        bpy.context.scene.frame_set(frame)
        off = human.matrix_world @ human.pose.bones["hand.L"].head - cup.matrix_world.translation
        assert off.length < 1e-3
    human.fabrik.body.handles["Hand.L"].use_pin = False
    bpy.ops.wm.save_mainfile()
    code, found = call(capfd, "bake", "--in-place")
    assert (code == 1) == (not has_chain), found


def test_a_solved_pose_that_the_next_frame_overwrites_is_named(rig: Path, capfd: pytest.CaptureFixture[str]) -> None:
    armature = bpy.data.objects["Rig"]
    armature.pose.bones["bone0"].keyframe_insert("rotation_quaternion", frame=1)
    animation = armature.animation_data
    animation.nla_tracks.new().strips.new("Strip", 1, animation.action)
    animation.action = None
    bpy.ops.wm.save_mainfile()
    code, found = call(capfd, "solve", "--frame", "4", "--in-place")
    assert code == 3 and found["warnings"] == [
        "Rig: 'bone0' can't be keyed: NLA strips, drivers or a linked action may overwrite the pose at the next frame"
    ]


def test_solve_leaves_armatures_that_it_has_posed_before(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Strips of the NLA would overwrite their poses, were the frame set again for the next one."""
    armatures = [make_tail(3, name) for name in ("One", "Other")]
    for armature in armatures:
        set_chain(armature, "bone2", 3, make_empty(f"{armature.name} target", NEAR[0]))
        for frame, angle in ((1, 0.0), (20, 0.8)):
            bone = armature.pose.bones["bone1"]
            bone.rotation_mode, bone.rotation_euler.x = "XYZ", angle
            bone.keyframe_insert("rotation_euler", frame=frame)
        animation = armature.animation_data
        animation.nla_tracks.new().strips.new("Strip", 1, animation.action)
        animation.action = None
    leave_mode()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "rig.blend"))
    code, found = call(capfd, "solve", "--frame", "10", "--in-place")
    assert code == 3 and [each["frame"] for each in found["armatures"]] == [10, 10]
    for armature in armatures:
        assert distance_left(armature, armature.fabrik.chains[0]) < 1e-3


def test_solve_without_animation_prints_no_warning(tmp_path: Path) -> None:
    """Blender warned of each channel that it had no curve for."""
    armature = make_tail(3)
    set_chain(armature, "bone2", 3, make_empty("target", NEAR[0]))
    leave_mode()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "rig.blend"))
    result = run_process(str(tmp_path / "rig.blend"), "solve", "--in-place")
    assert result.returncode == 0
    assert "Warning" not in result.stdout + result.stderr


@pytest.mark.parametrize("command", ["bake", "solve"])
def test_armatures_with_one_action_are_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str], command: str) -> None:
    """The second one overwrote what the first had got: 0.35 of its length from its target, with exit code 0."""
    armature = make_tail(3)
    set_chain(armature, "bone2", 3, make_empty("target", NEAR[0]))
    armature.pose.bones["bone1"].keyframe_insert("rotation_quaternion", frame=1)
    leave_mode()
    twin = armature.copy()
    bpy.context.scene.collection.objects.link(twin)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "rig.blend"))
    code, found = call(capfd, command, "--in-place")
    assert code == 1
    assert found["error"].endswith("too: give the object one of its own")


@pytest.mark.parametrize("words", [["bake"], ["solve"]])
def test_a_file_that_was_saved_in_edit_mode_is_posed_all_the_same(
    rig: Path, capfd: pytest.CaptureFixture[str], words: list[str]
) -> None:
    armature = bpy.data.objects["Rig"]
    armature.fabrik.chains[0].chain_count = 2
    armature.pose.bones["bone0"].rotation_quaternion = (0.9, -0.3, 0.0, 0.0)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.wm.save_mainfile()
    code, _ = call(capfd, *words, "--in-place")
    assert code == 0
    bpy.ops.wm.open_mainfile(filepath=str(rig))
    armature = bpy.data.objects["Rig"]
    assert armature.mode == "OBJECT" and distance_left(armature, armature.fabrik.chains[0]) < 1e-5


@pytest.mark.parametrize("words", [["bake"], ["solve"]])
def test_a_driver_of_a_target_that_fails_is_named(
    rig: Path, capfd: pytest.CaptureFixture[str], words: list[str]
) -> None:
    armature, other = bpy.data.objects["Rig"], make_empty("unused")
    for obj, path in ((armature.fabrik.chains[0].target, "scale"), (armature, '["size"]'), (other, "scale")):
        obj["size"] = 1.0
        obj.driver_add(path, *((0,) if path == "scale" else ())).driver.expression = "nonsense(frame)"
    armature.driver_add('pose.bones["bone finger"].location', 0).driver.expression = "nonsense(frame)"
    bpy.ops.wm.save_mainfile()
    code, found = call(capfd, *words, "--in-place")
    assert code == 3 and found["warnings"] == [
        f"Rig: the driver of '{name}' ({path}) fails, and its value may be wrong: Python in drivers needs "
        "--enable-autoexec"
        for name, path in (("Rig", '["size"]'), ("Rig target", "scale"))
    ]


def test_an_armature_without_keys_doesnt_keep_others_from_their_bake(
    rig: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    set_chain(make_tail(2, "Still"), "bone1", 2, make_empty("unmoved", (0.5, 0.5, 1.0)))
    leave_mode()
    bpy.ops.wm.save_mainfile()
    code, found = call(capfd, "bake", "--only-keyed", "--in-place")
    assert code == 3 and [one["armature"] for one in found["armatures"]] == ["Rig"]
    assert found["warnings"] == ["Still: nothing is keyed from frame 1 to 11"]
    code, found = call(capfd, "bake", "--only-keyed", "--armature", "Still", "--in-place")
    assert code == 1 and found["error"] == "Still: nothing is keyed from frame 1 to 11"


def test_list_names_chains_and_their_problems(rig: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, found = call(capfd, "list")
    assert code == 0
    (entry,) = found["armatures"]
    assert entry["chains"][0]["bones"] == ["bone0", "bone1", "bone2"]
    assert entry["chains"][0]["target"] == "Rig target" and entry["ik_constraints"] == []
    bpy.data.objects["Rig"].fabrik.chains[0].tip = "bone9"
    code, found = call(capfd, "list")
    assert code == 3 and "no bone 'bone9'" in found["armatures"][0]["chains"][0]["problem"]
    assert run(["list"]) == 3
    assert "Rig: 1 chain, 0 IK constraints" in capfd.readouterr().out


def test_convert_there_and_back(rig: Path, capfd: pytest.CaptureFixture[str]) -> None:
    armature = bpy.data.objects["Rig"]
    armature.fabrik.chains.clear()
    constraint = armature.pose.bones["bone2"].constraints.new("IK")
    constraint.target, constraint.chain_count = bpy.data.objects["Rig target"], 3
    code, found = call(capfd, "convert", "--in-place")
    assert code == 0 and found["armatures"][0]["converted"] == ["bone2"]
    bpy.ops.wm.open_mainfile(filepath=str(rig))
    armature = bpy.data.objects["Rig"]
    assert armature.pose.bones["bone2"].constraints[0].mute and len(armature.fabrik.chains) == 1
    code, found = call(capfd, "convert", "--back", "--in-place")
    assert code == 0
    bpy.ops.wm.open_mainfile(filepath=str(rig))
    assert not bpy.data.objects["Rig"].pose.bones["bone2"].constraints[0].mute


def test_a_rig_that_is_converted_already_is_no_reason_to_fail(rig: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for name in ("first", "second"):
        constraint = make_tail(3, name).pose.bones["bone2"].constraints.new("IK")
        constraint.target, constraint.chain_count = bpy.data.objects["Rig target"], 3
    leave_mode()
    assert call(capfd, "convert", "--armature", "first", "--in-place")[0] == 0
    code, found = call(capfd, "convert", "--in-place")
    assert code == 0 and [entry["armature"] for entry in found["armatures"]] == ["second"]
    code, found = call(capfd, "convert", "--in-place")
    assert code == 1 and "nothing to convert" in found["error"]
    assert call(capfd, "convert", "--back", "--in-place")[0] == 3  # the first rig's chain hadn't been solved
    code, found = call(capfd, "convert", "--back", "--in-place")
    assert code == 1 and "nothing to convert" in found["error"]


def test_a_rig_that_cant_be_converted_doesnt_keep_others_from_it(rig: Path, capfd: pytest.CaptureFixture[str]) -> None:
    good, bad = (make_tail(3, name).pose.bones["bone2"].constraints.new("IK") for name in ("good", "bad"))
    good.target, good.chain_count = bpy.data.objects["Rig target"], 3
    leave_mode()
    output = rig.with_name("out.blend")
    code, found = call(capfd, "convert", "--output", str(output))
    assert code == 3 and [entry["armature"] for entry in found["armatures"]] == ["good"]
    assert found["warnings"] == ["bad: Constraint 'IK' of bone 'bone2' stays as it is: it has no target"]
    assert output.exists() and good.mute and not bad.mute
    for words in ([], ["--armature", "bad"]):
        code, found = call(capfd, "convert", *words, "--in-place")
        assert code == 1 and "bad: Constraint 'IK' of bone 'bone2' stays" in found["error"]


def test_what_is_saved_is_converted_whole_or_not_at_all(rig: Path, capfd: pytest.CaptureFixture[str]) -> None:
    armature, pole = make_tail(6, "half"), make_empty("pole", (0.0, -5.0, 2.0))
    for tip in ("bone2", "bone5"):
        constraint = armature.pose.bones[tip].constraints.new("IK")
        constraint.target, constraint.chain_count = bpy.data.objects["Rig target"], 3
    constraint.pole_target, pole.use_fake_user = pole, True
    bpy.context.scene.collection.objects.unlink(pole)
    leave_mode()
    output = rig.with_name("out.blend")
    code, found = call(capfd, "convert", "--output", str(output))
    assert code == 3 and any("its pole 'pole' is in no scene" in warning for warning in found["warnings"])
    bpy.ops.wm.open_mainfile(filepath=str(output))
    armature = bpy.data.objects["half"]
    assert [(chain.tip, bool(chain.conversion)) for chain in armature.fabrik.chains] == [("bone2", True)]
    assert [by.mute for bone in armature.pose.bones for by in bone.constraints] == [True, False]


@pytest.mark.parametrize("words", [[], ["--armature", "Rig"]])
def test_a_linked_rig_beside_its_override_is_left_alone(
    rig: Path, words: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    with bpy.data.libraries.load(str(rig), link=True) as (_found, wanted):
        wanted.objects = ["Rig"]
    linked = bpy.data.objects["Rig"]
    bpy.context.scene.collection.objects.link(linked)
    code, found = call(capfd, "bake", *words, "--output", str(rig.with_name("out.blend")))
    assert code == 1 and "it is linked" in found["error"]
    bpy.context.scene.collection.objects.link(linked.fabrik.chains[0].target)
    own = linked.override_create()
    bpy.context.scene.collection.objects.link(own)
    assert own.name == "Rig" and own.library is None
    code, found = call(capfd, "bake", *words, "--end", "3", "--output", str(rig.with_name("out.blend")))
    assert code == 0 and len(found["armatures"]) == 1
    assert own.animation_data.action.library is None


@pytest.mark.parametrize("words", [["bake"], ["solve"], ["convert"]])
@pytest.mark.parametrize("how", ["disabled", "excluded", "hidden by the eye"])
def test_an_armature_that_blender_doesnt_evaluate_is_named_and_left(
    rig: Path, capfd: pytest.CaptureFixture[str], how: str, words: list[str]
) -> None:
    armature, scene = bpy.data.objects["Rig"], bpy.context.scene
    constraint = armature.pose.bones["bone2"].constraints.new("IK")
    constraint.target = armature.fabrik.chains[0].target
    constraint.mute = "convert" not in words
    if how == "disabled":
        armature.hide_viewport = True
    elif how == "excluded":
        collect("rigs", armature)
        scene.collection.objects.unlink(armature)
        bpy.context.view_layer.layer_collection.children["rigs"].exclude = True
    else:
        armature.hide_set(True)
    bpy.ops.wm.save_mainfile()
    before = digest(rig)
    code, found = call(capfd, *words, "--in-place")
    if how == "hidden by the eye":
        assert code == 0 and digest(rig) != before
        return
    assert code == 1 and digest(rig) == before
    reason = "disabled in viewports" if how == "disabled" else "not in the view layer"
    assert found["error"].startswith(f"Rig: it is {reason}")


@pytest.mark.parametrize("words", [["bake"], ["solve", "--frame", "5"]])
def test_an_armature_that_reaches_for_a_bone_of_another_is_posed_after_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], words: list[str]
) -> None:
    first = make_tail(3, "Catcher")
    leave_mode()
    make_file(tmp_path / "rig.blend", [(1.0, 1.0, 1.5), (-1.0, 0.5, 1.8)])
    chain = set_chain(first, "bone2", 3, make_empty("on the finger"))
    chain.target.parent, chain.target.parent_type, chain.target.parent_bone = bpy.data.objects["Rig"], "BONE", "bone1"
    bpy.ops.wm.save_mainfile()
    assert [obj.name for obj in bpy.context.scene.objects if obj.type == "ARMATURE"] == ["Catcher", "Rig"]
    code, found = call(capfd, *words, "--in-place")
    assert code == 0 and [one["armature"] for one in found["armatures"]] == ["Rig", "Catcher"]
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "rig.blend"))
    for frame in (5,) if "solve" in words else (1, 5, 11):
        bpy.context.scene.frame_set(frame)
        for name in ("Rig", "Catcher"):
            armature = bpy.data.objects[name]
            assert distance_left(armature, armature.fabrik.chains[0]) < 1e-5


def test_armatures_that_reach_for_each_other_are_posed_with_a_warning(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    names = ("Watcher", "One", "Other")
    watcher, one, other = (make_tail(2, name, at=(0.5 * at, 0.0, 0.0)) for at, name in enumerate(names))
    for armature, target in ((watcher, one), (one, other), (other, one)):
        set_chain(armature, "bone1", 2, target).subtarget = "bone1"
    leave_mode()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "rig.blend"))
    code, found = call(capfd, "solve", "--in-place")
    assert code == 3 and [each["armature"] for each in found["armatures"]] == ["One", "Watcher", "Other"]
    circles = [warning for warning in found["warnings"] if "may be off" in warning]
    assert circles == [
        "One: its chains depend on bones of 'Other', and these on its own bones: it is posed before them and may be "
        "off afterwards"
    ]


def test_in_place_through_a_link_writes_what_it_leads_to(rig: Path, capfd: pytest.CaptureFixture[str]) -> None:
    link = rig.with_name("link.blend")
    link.symlink_to(rig.name)
    bpy.ops.wm.open_mainfile(filepath=str(link))
    assert call(capfd, "bake", "--in-place")[0] == 0
    assert link.is_symlink() and keys_in(rig) == 11


def test_relative_paths_and_compression_stay_right(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    image = bpy.data.images.new("picture", 2, 2)
    image.filepath_raw, image.file_format = str(tmp_path / "picture.png"), "PNG"
    image.save()
    bpy.data.images.load(str(tmp_path / "picture.png")).name = "loaded"
    bpy.data.images["loaded"].use_fake_user = True
    make_file(tmp_path / "rig.blend", NEAR)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "rig.blend"), compress=True, relative_remap=True)
    bpy.ops.file.make_paths_relative()
    bpy.ops.wm.save_mainfile(compress=True)
    output = tmp_path / "deep" / "out.blend"
    assert run(["bake", "--output", str(output)]) == 0
    assert output.read_bytes()[:4] == b"\x28\xb5\x2f\xfd"
    bpy.ops.wm.open_mainfile(filepath=str(output))
    assert Path(bpy.path.abspath(bpy.data.images["loaded"].filepath)).resolve() == tmp_path / "picture.png"


# As a process of its own


def run_process(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*RUNNER, *words], capture_output=True, text=True, timeout=120, cwd=ROOT, **options)


def test_names_that_the_output_cant_encode_are_printed_as_escapes(tmp_path: Path) -> None:
    make_file(tmp_path / "rig.blend", NEAR, "Größe")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    result = subprocess.run([*RUNNER, str(tmp_path / "rig.blend"), "list"], capture_output=True, env=environment)
    assert result.returncode == 0 and b"Gr\\xf6\\xdfe: 1 chain" in result.stdout


def test_the_runner_prints_json_and_exits_with_the_code(rig: Path) -> None:
    done = run_process(str(rig), "bake", "--output", str(rig.with_name("out.blend")), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["armatures"][0]["armature"] == "Rig"
    assert run_process(str(rig), "bake").returncode == 2


@pytest.mark.parametrize(("exists", "expected"), [(False, 2), (True, 1)])
def test_the_runner_reports_in_json_that_a_file_is_missing_or_cant_be_read(
    tmp_path: Path, exists: bool, expected: int
) -> None:
    file, output = tmp_path / "typo.blend", tmp_path / "out.blend"
    if exists:
        file.write_bytes(b"no blend file")
    done = run_process(str(file), "bake", "--output", str(output), "--json")
    assert done.returncode == expected
    (line,) = done.stdout.splitlines()
    found = json.loads(line)
    assert found["command"] == "bake" and str(file) in found["error"] and found["error"] in done.stderr
    assert not output.exists()


def test_killed_at_any_time_it_leaves_the_input_and_an_earlier_output_whole(tmp_path: Path) -> None:
    rig, output = tmp_path / "rig.blend", tmp_path / "out.blend"
    bpy.context.scene.frame_end = 11
    make_file(rig, NEAR)
    assert run(["bake", "--output", str(output)]) == 0
    before, earlier = digest(rig), digest(output)
    command = [*RUNNER, str(rig), "bake", "--output", str(output), "--start", "1", "--end", "20000"]
    # How long it takes, and that it would have written another file.
    start = time.monotonic()
    assert subprocess.run(command, timeout=300, cwd=ROOT).returncode == 0
    whole = time.monotonic() - start
    later = digest(output)
    assert later != earlier
    output.unlink()
    bpy.ops.wm.open_mainfile(filepath=str(rig))
    assert run(["bake", "--output", str(output)]) == 0
    earlier = digest(output)
    killed = 0
    for share in (0.1, 0.2, 0.3, 0.5, 0.7, 0.85, 0.9, 0.95):
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(timeout=share * whole)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            killed += 1
        process.wait()
        assert digest(rig) == before
        if digest(output) != earlier:
            break  # it was done
    assert killed >= 2


def test_killed_while_it_saves_it_leaves_an_earlier_output_whole(rig: Path) -> None:
    output = rig.with_name("out.blend")
    assert run(["bake", "--output", str(output)]) == 0
    before, earlier = digest(rig), digest(output)
    # Dies when the new file is all there and not yet in its place.
    script = rig.with_name("die.py")
    script.write_text(
        "import os, signal, sys\n"
        f"sys.path[:0] = [{str(ROOT / 'scripts')!r}]\n"
        "os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"sys.argv = ['fabrik.py', {str(rig)!r}, 'bake', '--output', {str(output)!r}, '--end', '50']\n"
        "import fabrik\nfabrik.main()\n",
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, str(script)], timeout=120, cwd=ROOT, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert digest(rig) == before and digest(output) == earlier
    bpy.ops.wm.open_mainfile(filepath=str(output))
    assert "Rig" in bpy.data.objects


# For farms


def test_an_output_that_is_done_is_left_alone(rig: Path, capfd: pytest.CaptureFixture[str]) -> None:
    output = rig.with_name("out.blend")
    words = ("bake", "--output", str(output), "--skip-done")
    bpy.ops.wm.open_mainfile(filepath=str(rig))
    code, result = call(capfd, *words)
    assert code == 0 and "skipped" not in result
    before, stamp = digest(output), output.stat().st_mtime_ns
    bpy.ops.wm.open_mainfile(filepath=str(rig))
    code, result = call(capfd, *words)
    assert (code, result) == (0, {"command": "bake", "output": str(output), "skipped": True})
    assert (digest(output), output.stat().st_mtime_ns) == (before, stamp)


@pytest.mark.parametrize("spoil", ["older", "cut"])
def test_an_output_that_is_old_or_not_whole_is_baked_again(
    rig: Path, capfd: pytest.CaptureFixture[str], spoil: str
) -> None:
    output = rig.with_name("out.blend")
    bpy.ops.wm.open_mainfile(filepath=str(rig))
    call(capfd, "bake", "--output", str(output))
    if spoil == "older":
        os.utime(output, (rig.stat().st_mtime - 10.0,) * 2)
    else:
        output.write_bytes(output.read_bytes()[:-100])
    bpy.ops.wm.open_mainfile(filepath=str(rig))
    code, result = call(capfd, "bake", "--output", str(output), "--skip-done")
    assert code == 0 and "skipped" not in result
    assert keys_in(output) == 11


def test_skip_done_needs_another_output(rig: Path, capfd: pytest.CaptureFixture[str]) -> None:
    bpy.ops.wm.open_mainfile(filepath=str(rig))
    code, result = call(capfd, "bake", "--in-place", "--skip-done")
    assert code == 2 and "--skip-done needs --output" in result["error"]


def test_warnings_can_count_as_done(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    make_file(tmp_path / "far.blend", [(9.0, 0.0, 0.0), (8.0, 0.0, 0.0)])
    for words, code in (((), 3), (("--warnings-ok",), 0)):
        bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "far.blend"))
        found, result = call(capfd, "bake", "--output", str(tmp_path / "out.blend"), *words)
        assert found == code and result["warnings"]


def test_progress_is_printed_as_json(rig: Path) -> None:
    done = run_process(str(rig), "bake", "--output", str(rig.with_name("out.blend")), "--json")
    *progress, result = map(json.loads, done.stdout.splitlines())
    shares = [each["progress"] for each in progress]
    assert result["command"] == "bake" and shares == sorted(shares) and shares[0] >= 0.0 and shares[-1] == 1.0
