# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can go wrong while a file is saved: the input and an earlier output are whole every time."""

from __future__ import annotations

import os
import platform
import re
import signal
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import bpy
import numpy as np
import pytest

from fabrik_addon.blender.command_line.file_structure import check_structure
from fabrik_addon.blender.command_line.run_command import run
from fabrik_addon.blender.command_line.saving import check_readable, make_room, save_to
from tests.blender.rigs import leave_mode, make_empty, make_tail, set_chain

LEFTOVER = re.compile(r"\.out\.[\w-]+\.\d+\.saving\.blend@?")
"""Names of what a killed command leaves, as docs/command-line.md has them for an output out.blend."""

# The copies of this process save, whatever Python fears; one that hangs is killed and fails its test.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no os.fork, which makes these copies"),
]


def make_file(path: Path, compress: bool, vertices: int = 60_000) -> None:
    """Open a file with a rig, its target and a mesh of random vertices, which compression can't make much smaller."""
    armature, target = make_tail(3, "Rig"), make_empty("target", (1.0, 1.0, 1.5))
    set_chain(armature, "bone2", 3, target)
    leave_mode()
    mesh = bpy.data.meshes.new("ballast")
    mesh.vertices.add(vertices)
    mesh.vertices.foreach_set("co", np.random.default_rng(1).random(3 * vertices, dtype=np.float32))
    mesh.use_fake_user = True
    bpy.context.scene.frame_end = 11
    bpy.ops.wm.save_as_mainfile(filepath=str(path), check_existing=False, compress=compress)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """A disk of its own: called with a size in bytes, it has that size and returns its folder."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = False

    def resize(size: int) -> Path:
        nonlocal mounted
        options = f"{'remount,' if mounted else ''}size={size}"
        try:
            subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"no disk of a given size can be mounted here, that takes Linux and root: {error}")
        mounted = True
        return folder

    yield resize
    if mounted:
        subprocess.run(["umount", folder], check=True)


def fork(work: Callable[[], int]) -> int:
    """Do the work in a copy of this process, that exits with what the work returns; return the copy's number."""
    process = os.fork()
    if process == 0:
        code = 99
        try:
            signal.alarm(60)  # a copy that hangs is killed
            code = work()
        finally:
            os._exit(code)
    return process


def exit_code(process: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def check_whole(path: Path) -> None:
    """Check the file's structure, and that Blender opens it: in a copy of this process, which keeps its own file."""
    check_structure(path)

    def work() -> int:
        bpy.ops.wm.open_mainfile(filepath=str(path))
        return 0 if "Rig" in bpy.data.objects and len(bpy.data.meshes["ballast"].vertices) >= 60_000 else 1

    assert exit_code(fork(work)) == 0


# What is read back


@pytest.mark.parametrize("legacy", [False, True], ids=["format 5.0", "format 4.5"])
@pytest.mark.parametrize("compress", [False, True], ids=["plain", "compressed"])
def test_a_file_is_whole_only_with_all_of_its_bytes(
    tmp_path: Path, compress: bool, legacy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    preferences = bpy.context.preferences
    monkeypatch.setattr(preferences.view, "show_developer_ui", True)
    monkeypatch.setattr(preferences.experimental, "write_legacy_blend_file_format", legacy)
    whole, cut = tmp_path / "whole.blend", tmp_path / "cut.blend"
    make_file(whole, compress)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    data = whole.read_bytes()
    if not compress:
        assert data[7:8] == (b"-" if legacy else b"1")
    check_whole(whole)
    for length in [*range(40), *np.linspace(40, len(data) - 40, 100, dtype=int), *range(len(data) - 40, len(data))]:
        cut.write_bytes(data[:length])
        with pytest.raises(OSError, match=r"bytes|frames"):
            check_structure(cut)
    cut.write_bytes(data + b"\0")
    with pytest.raises(OSError, match=r"byte"):
        check_structure(cut)


def test_blender_finds_what_the_table_of_compressed_frames_cant_tell(tmp_path: Path) -> None:
    whole, lacking = tmp_path / "whole.blend", tmp_path / "lacking.blend"
    make_file(whole, compress=True, vertices=600_000)
    data = whole.read_bytes()
    (count,) = struct.unpack("<I", data[-9:-5])
    frames_in_table = list(struct.iter_unpack("<II", data[-9 - 8 * count : -9]))
    sizes = [size for size, _whole_size in frames_in_table]
    parts = [number for number, (_size, whole_size) in enumerate(frames_in_table) if whole_size == 1 << 20]
    assert len(parts) >= 5  # of the mesh
    for lost in [0, *parts, count - 1]:
        # A frame is missing, and the table doesn't have it either.
        start, entry = sum(sizes[:lost]), len(data) - 9 - 8 * (count - lost)
        table_start = sum(sizes)
        table = struct.pack("<II", 0x184D2A5E, 8 * (count - 1) + 9)
        entries = data[table_start + 8 : entry] + data[entry + 8 : -9]
        frames = data[:start] + data[start + sizes[lost] : table_start]
        lacking.write_bytes(frames + table + entries + struct.pack("<I", count - 1) + data[-5:])
        check_structure(lacking)
        with pytest.raises(OSError):
            check_readable(lacking)


def test_saving_leaves_what_is_open_as_it_is(tmp_path: Path) -> None:
    make_file(tmp_path / "rig.blend", compress=True)

    def opened() -> object:
        blocks = {repr(block) for block in bpy.data.user_map()}
        return blocks, len(bpy.data.libraries), bpy.data.filepath, bpy.context.scene.name

    before = opened()
    save_to(tmp_path / "out.blend")
    assert opened() == before
    check_whole(tmp_path / "out.blend")
    assert names_in(tmp_path) == ["out.blend", "rig.blend"]


# A full disk


@pytest.mark.parametrize("target", ["rig.blend", "out.blend"], ids=["in place", "earlier output"])
@pytest.mark.parametrize("compress", [False, True], ids=["plain", "compressed"])
def test_a_disk_that_fills_up_leaves_every_file_whole(disk: Callable[[int], Path], compress: bool, target: str) -> None:
    folder = disk(1 << 24)
    rig, output = folder / "rig.blend", folder / target
    make_file(rig, compress)
    data = rig.read_bytes()
    if output != rig:
        output.write_bytes(data)
    used = sum(-(-path.stat().st_size // 4096) * 4096 for path in folder.iterdir())
    for size in np.linspace(used, used + len(data) - 4096, 20, dtype=int):
        disk(size)
        with pytest.raises(OSError, match=rf"the disk of the folder '{folder}' has \d+ bytes free, .* {len(data)}"):
            save_to(output)
        assert rig.read_bytes() == data and output.read_bytes() == data
        assert names_in(folder) == sorted({"rig.blend", target})
    disk(used + len(data) + 65536)
    save_to(output)
    check_whole(output)


def test_a_full_disk_is_refused_before_the_work(disk: Callable[[int], Path], capfd: pytest.CaptureFixture[str]) -> None:
    folder = disk(1 << 24)
    rig = folder / "rig.blend"
    make_file(rig, compress=True)
    data = rig.read_bytes()
    disk(len(data) * 3 // 2)
    free = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
    assert run(["bake", "--in-place"]) == 1
    said = capfd.readouterr()
    assert f"the disk of the folder '{folder}' has {free} bytes free, and the file takes about {len(data)}" in said.err
    assert "Saved copy" not in said.out
    assert rig.read_bytes() == data and names_in(folder) == ["rig.blend"]


@pytest.mark.parametrize("compress", [False, True], ids=["plain", "compressed"])
def test_keys_that_the_disk_has_no_room_for_are_a_failure(
    disk: Callable[[int], Path], compress: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = disk(1 << 24)
    rig = folder / "rig.blend"
    make_file(rig, compress)
    data = rig.read_bytes()
    disk(2 * (len(data) // 4096 + 1) * 4096)
    assert run(["bake", "--in-place", "--end", "2000"]) == 1
    assert f"the disk of the folder '{folder}'" in capfd.readouterr().err
    assert rig.read_bytes() == data and names_in(folder) == ["rig.blend"]


# What can't be written


def test_a_read_only_folder_is_refused_before_the_work(capfd: pytest.CaptureFixture[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders are closed to other users
        check_read_only_folder(Path(folder), capfd)


def check_read_only_folder(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rig, output = folder / "rig.blend", folder / "out.blend"
    make_file(rig, compress=True)
    data = rig.read_bytes()
    output.write_bytes(data)
    for file in (rig, output):
        file.chmod(0o666)
    folder.chmod(0o555)

    def work(words: list[str]) -> int:
        if os.getuid() == 0:  # whom nothing is read-only for
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        return run(words)

    for words in (
        ["bake", "--in-place"],
        ["bake", "--output", str(output)],
        ["bake", "--output", f"{folder}/new.blend"],
    ):
        assert exit_code(fork(lambda words=words: work(words))) == 2
        assert "is write-protected" in capfd.readouterr().err
    assert rig.read_bytes() == output.read_bytes() == data and names_in(folder) == ["out.blend", "rig.blend"]


def test_a_read_only_mount_is_refused_before_the_work(
    disk: Callable[[int], Path], capfd: pytest.CaptureFixture[str]
) -> None:
    folder = disk(1 << 24)
    rig, output = folder / "rig.blend", folder / "out.blend"
    make_file(rig, compress=True)
    data = rig.read_bytes()
    output.write_bytes(data)
    subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
    for words in (["--in-place"], ["--output", str(output)], ["--output", str(folder / "new.blend")]):
        assert run(["bake", *words]) == 2
        assert "is write-protected" in capfd.readouterr().err
    with pytest.raises(OSError, match="wasn't saved"):  # it became so meanwhile
        save_to(output)
    assert rig.read_bytes() == output.read_bytes() == data and names_in(folder) == ["out.blend", "rig.blend"]


def test_an_output_that_is_a_folder_stays_one(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rig, output = tmp_path / "rig.blend", tmp_path / "out.blend"
    make_file(rig, compress=True)
    data = rig.read_bytes()
    output.mkdir()
    (output / "inside").write_bytes(b"kept")
    assert run(["bake", "--output", str(output)]) == 2
    assert "is a folder" in capfd.readouterr().err
    with pytest.raises(OSError, match="wasn't saved"):  # it became one meanwhile
        save_to(output)
    assert names_in(tmp_path) == ["out.blend", "rig.blend"] and (output / "inside").read_bytes() == b"kept"
    assert rig.read_bytes() == data


# Killed


@pytest.mark.parametrize("compress", [False, True], ids=["plain", "compressed"])
def test_killed_at_forty_moments_of_saving_it_leaves_every_file_whole(tmp_path: Path, compress: bool) -> None:
    rig, output = tmp_path / "rig.blend", tmp_path / "out.blend"
    make_file(rig, compress, vertices=600_000)
    data = rig.read_bytes()
    save_to(output)
    earlier = output.read_bytes()
    bpy.context.scene.frame_end = 12  # what is saved from here on is another file

    def start(saves: int) -> tuple[int, float]:
        ready, say_ready = os.pipe()

        def work() -> int:
            os.write(say_ready, b".")
            for _ in range(saves):
                save_to(output)
            return 0

        process = fork(work)
        os.read(ready, 1)
        os.close(ready)
        os.close(say_ready)
        return process, time.perf_counter()

    process, started = start(5)
    assert exit_code(process) == 0
    one_save = (time.perf_counter() - started) / 5
    assert output.read_bytes() != earlier
    left = set()
    for moment in range(40):
        output.write_bytes(earlier)
        process, started = start(1000)
        time.sleep(max(0.0, started + one_save * (moment + 0.5) / 40 - time.perf_counter()))
        os.kill(process, signal.SIGKILL)
        assert exit_code(process) == -signal.SIGKILL
        assert rig.read_bytes() == data
        if output.read_bytes() != earlier:  # renamed already
            check_whole(output)
        leftovers = set(names_in(tmp_path)) - {"rig.blend", "out.blend"}
        assert all(LEFTOVER.fullmatch(name) for name in leftovers)
        left |= leftovers
        make_room(output)
        assert names_in(tmp_path) == ["out.blend", "rig.blend"]
    assert len(left) >= 10  # else few were killed while they wrote
    print(f"{len(left)} of 40 killed in saves of {1e3 * one_save:.0f} ms left a file: {sorted(left)}")


def test_leftovers_of_processes_that_are_gone_are_removed_and_no_others(tmp_path: Path) -> None:
    make_file(tmp_path / "rig.blend", compress=True)
    here = re.sub(r"[^\w-]", "-", platform.node())
    gone, living = fork(lambda: 0), fork(lambda: signal.pause() or 0)
    exit_code(gone)
    old = time.time() - 2 * 24 * 3600

    def leave(name: str, when: float) -> str:
        (tmp_path / name).write_bytes(b"left")
        os.utime(tmp_path / name, (when, when))
        return name

    now = time.time()
    for name in (f"{here}.{gone}", f"{here}.{os.getpid()}"):
        leave(f".out.{name}.saving.blend", now)
        leave(f".out.{name}.saving.blend@", now)
    leave(f".out.another-computer.{gone}.saving.blend", old)
    kept = [
        leave(f".out.{here}.{living}.saving.blend@", now),
        leave(f".out.third-computer.{gone}.saving.blend", now),
        leave(f".out.take.{here}.{gone}.saving.blend", now),
        leave(f".other.{here}.{gone}.saving.blend", now),
        leave("out.saving.blend", old),
    ]
    try:
        assert run(["bake", "--output", str(tmp_path / "out.blend")]) == 0
    finally:
        os.kill(living, signal.SIGKILL)
        exit_code(living)
    assert names_in(tmp_path) == sorted([*kept, "out.blend", "rig.blend"])


# Two at once


def test_two_commands_on_one_output_leave_the_file_of_one_of_them(tmp_path: Path) -> None:
    rig, output = tmp_path / "rig.blend", tmp_path / "out.blend"
    make_file(rig, compress=True)
    data = rig.read_bytes()
    output.write_bytes(data)

    def work(end: int) -> int:
        return max(run(["bake", "--output", str(output), "--end", str(end)]) for _ in range(10))

    running = {fork(lambda: work(5)), fork(lambda: work(9))}
    seen, copy = set(), tmp_path / "copy"
    while running:
        for process in list(running):
            done, status = os.waitpid(process, os.WNOHANG)
            if done:
                running.remove(process)
                assert os.waitstatus_to_exitcode(status) == 0
        copy.write_bytes(output.read_bytes())
        check_structure(copy)
        seen.add(copy.read_bytes())
    check_whole(output)
    assert len(seen) >= 3 and rig.read_bytes() == data
    assert names_in(tmp_path) == ["copy", "out.blend", "rig.blend"]
