# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The archive people install: what is in it, and that it works where nothing of the checkout is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SECONDS = 300.0

# Runs in a Blender of its own, outside the checkout, with empty user folders. Fails by raising.
INSTALL_AND_USE = """
import os, sys
import bpy
import addon_utils  # bpy makes it importable
from mathutils import Vector

MODULE = "bl_ext.user_default.fabrik_ik"
archive, rig = sys.argv[1:]

def install():
    result = bpy.ops.extensions.package_install_files(
        filepath=archive, repo="user_default", enable_on_install=True, overwrite=True
    )
    assert result == {'FINISHED'}, result
    assert MODULE in bpy.context.preferences.addons
    assert hasattr(bpy.types.Object, "fabrik")

def use():
    if bpy.context.object and bpy.context.object.mode != 'OBJECT':
        bpy.ops.object.mode_set(mode='OBJECT')
    getattr(bpy.ops.object, "armature_" + rig + "_metarig_add")()
    armature = bpy.context.object
    bpy.ops.object.mode_set(mode='POSE')
    armature.data.bones.active = armature.data.bones["forearm.L"]
    assert bpy.ops.pose.fabrik_chain_add(chain_count=2, create_target=True, create_pole=True) == {'FINISHED'}
    chain = armature.fabrik.chains[armature.fabrik.active_index]
    tip = armature.pose.bones["forearm.L"]
    chain.target.matrix_world.translation = armature.matrix_world @ tip.tail + Vector((-0.15, -0.2, 0.1))
    bpy.context.view_layer.update()
    assert bpy.ops.pose.fabrik_solve() == {'FINISHED'}
    bpy.context.view_layer.update()
    distance = (armature.matrix_world @ tip.tail - chain.target.matrix_world.translation).length
    assert chain.status == 'REACHED', chain.status
    assert distance < 1e-4, distance

bpy.ops.wm.read_factory_settings(use_empty=True)
bpy.ops.preferences.addon_enable(module="rigify")
install()
use()
modules = {cls.__module__ for cls in bpy.types.Operator.__subclasses__() if "fabrik" in getattr(cls, "bl_idname", "")}
assert modules and all(name.startswith(MODULE + ".") for name in modules), modules
assert "fabrik_addon" not in sys.modules

assert bpy.ops.preferences.addon_disable(module=MODULE) == {'FINISHED'}
assert not hasattr(bpy.types.Object, "fabrik")
assert bpy.ops.preferences.addon_enable(module=MODULE) == {'FINISHED'}
use()
install()
use()
warnings = addon_utils._extensions_warnings_get()
assert not warnings, warnings
print("installed and used", flush=True)
os._exit(0)
"""


def _run(command: list[str], **environment: str) -> str:
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        env={**os.environ, **environment},
        cwd=environment.get("BLENDER_USER_RESOURCES", ROOT),
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def _build(folder: Path) -> Path:
    _run([sys.executable, str(ROOT / "scripts/build.py"), "--output", str(folder)])
    (archive,) = folder.iterdir()
    return archive


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _build(tmp_path_factory.mktemp("dist"))


def test_the_archive_is_named_after_the_manifest(archive: Path) -> None:
    manifest = tomllib.loads((ROOT / "blender_manifest.toml").read_text(encoding="utf-8"))
    assert archive.name == f"{manifest['id']}-{manifest['version']}.zip"


def test_the_archive_holds_the_extension_and_nothing_else(archive: Path) -> None:
    names = set(zipfile.ZipFile(archive).namelist())
    assert {"blender_manifest.toml", "__init__.py", "LICENSE", "README.md"} <= names
    sources = {path.relative_to(ROOT).as_posix() for path in (ROOT / "fabrik_addon").rglob("*.py")}
    assert sources and sources <= names
    others = names - sources - {"blender_manifest.toml", "__init__.py", "LICENSE", "README.md"}
    assert all(name.startswith("fabrik_addon/") and "__pycache__" not in name for name in others), others


def test_the_readme_in_the_archive_points_to_nothing_that_is_not_there(archive: Path) -> None:
    with zipfile.ZipFile(archive) as packed:
        names, page = set(packed.namelist()), packed.read("README.md").decode()
    source = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "](docs/" in source  # else there is nothing to see to
    for path in re.findall(r"]\(([^)]*)\)", page):
        assert "://" in path or path in names
    assert "![" not in page and "docs/joint-limits.md in the source" in page
    assert "\n## First use\n" in page and "bpy.ops.pose.fabrik_solve()" in page


def test_the_same_files_give_the_same_archive(archive: Path, tmp_path: Path) -> None:
    (ROOT / "blender_manifest.toml").touch()  # times are not content
    assert _build(tmp_path).read_bytes() == archive.read_bytes()


def test_it_installs_into_a_clean_blender_and_works_there(archive: Path, tmp_path: Path) -> None:
    script = tmp_path / "install_and_use.py"
    script.write_text(INSTALL_AND_USE, encoding="utf-8")
    resources = tmp_path / "resources"
    resources.mkdir()
    output = _run(
        [sys.executable, str(script), str(archive), "basic_human"],
        BLENDER_USER_RESOURCES=str(resources),
        PYTHONPATH="",
    )
    assert "installed and used" in output
    assert "Traceback" not in output, output
    assert (resources / "extensions/user_default/fabrik_ik/fabrik_addon").is_dir()
