# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Presets of solver settings and of joint limits: those that ship, saving, loading, and files that are none."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace

import bpy
import numpy as np
import pytest
from bpy.types import Object, Panel

from fabrik_addon.blender.bones import bone_limits
from fabrik_addon.blender.interface.chain_panel import VIEW3D_PT_fabrik_limits, VIEW3D_PT_fabrik_solver
from fabrik_addon.blender.interface.presets import (
    _SOLVER_SETTINGS,
    VIEW3D_PT_fabrik_limit_presets,
    VIEW3D_PT_fabrik_solver_presets,
)
from fabrik_addon.blender.setup.override_limits import LIMIT_SETTINGS
from tests.blender.rigs import make_empty, make_tail, metarig, overridden, set_chain

SHIPPED = Path(__file__).resolve().parents[2] / "fabrik_addon/presets/fabrik_ik"


@pytest.fixture(autouse=True)
def labels_of_the_menus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blender's own operators give a menu the label "Presets" where one is removed: other tests see the menus' own."""
    for menu in (VIEW3D_PT_fabrik_limit_presets, VIEW3D_PT_fabrik_solver_presets):
        monkeypatch.setattr(menu, "bl_label", menu.bl_label)


@pytest.fixture
def user_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a person's own presets, elsewhere."""

    def user_resource(_kind: str, *, path: str = "", create: bool = False) -> str:
        folder = tmp_path / path
        folder.mkdir(parents=True, exist_ok=True)
        return str(folder)

    monkeypatch.setattr(bpy.utils, "user_resource", user_resource)
    bpy.utils.register_preset_path(str(tmp_path))
    yield tmp_path
    bpy.utils.unregister_preset_path(str(tmp_path))


@pytest.fixture
def tail() -> Object:
    armature = make_tail(3, "Rig")
    set_chain(armature, "bone2", 3, make_empty("target"))
    return armature


def make_human() -> Object:
    armature = metarig("human_metarig")
    bpy.ops.pose.select_all(action='SELECT')
    return armature


def settings_of_solver(armature: Object) -> dict[str, object]:
    chain = armature.fabrik.chains[0]
    return {name: getattr(chain, name) for name in _SOLVER_SETTINGS}


def rna_of(operator: str) -> bpy.types.Struct:
    return getattr(bpy.ops.pose, operator.partition(".")[2]).get_rna_type()


def limits_of(armature: Object) -> dict[str, list[object]]:
    return {bone.name: [getattr(bone, name) for name in LIMIT_SETTINGS] for bone in armature.pose.bones}


def test_the_menu_lists_what_ships() -> None:
    for kind, least in (("solver", 5), ("joint_limits", 2)):
        (folder,) = bpy.utils.preset_paths(f"fabrik_ik/{kind}")
        assert Path(folder) == SHIPPED / kind and len(list(Path(folder).glob("*.py"))) >= least


@pytest.mark.parametrize("panel", [VIEW3D_PT_fabrik_solver, VIEW3D_PT_fabrik_limits])
def test_the_header_of_the_panel_opens_the_menu(panel: type[Panel]) -> None:
    opened: list[str] = []

    class Header:
        layout = SimpleNamespace(emboss="", popover=lambda panel, **_options: opened.append(panel))

    panel.draw_header_preset(Header(), bpy.context)
    (menu,) = opened
    kind = getattr(bpy.types, menu)
    assert bpy.utils.preset_paths(kind.preset_subdir)
    for operator in (kind.preset_operator, kind.preset_add_operator):
        assert "filepath" in rna_of(operator).properties or "remove_name" in rna_of(operator).properties


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("solver/*.py")), ids=lambda path: path.stem)
def test_every_solver_preset_sets_every_setting(tail: Object, path: Path) -> None:
    chain = tail.fabrik.chains[0]
    results = []
    # From two states that differ in all settings: what a preset leaves alone shows.
    for values in (
        ("TWO_BONE", 0.5, 0.3, True, 2.0, "FIXED", 7, 0.01),
        ("CCD", 0.7, 0.2, False, 2.5, "TRANSLATE", 9, 0.1),
    ):
        for name, value in zip(_SOLVER_SETTINGS, values, strict=True):
            setattr(chain, name, value)
        assert bpy.ops.pose.fabrik_solver_preset(filepath=str(path)) == {'FINISHED'}
        results.append(settings_of_solver(tail))
    assert results[0] == results[1]


def test_the_default_preset_is_the_default(tail: Object) -> None:
    chain = tail.fabrik.chains[0]
    bpy.ops.pose.fabrik_solver_preset(filepath=str(SHIPPED / "solver/Default.py"))
    for name in _SOLVER_SETTINGS:
        value, standard = getattr(chain, name), chain.bl_rna.properties[name].default
        assert value == (pytest.approx(standard) if isinstance(standard, float) else standard), name


def test_solver_settings_are_saved_loaded_and_removed(tail: Object, user_folder: Path) -> None:
    chain = tail.fabrik.chains[0]
    chain.softness, chain.iterations = 0.25, 33
    before = settings_of_solver(tail)
    assert bpy.ops.pose.fabrik_solver_preset_add(name="My Own") == {'FINISHED'}
    path = user_folder / "presets/fabrik_ik/solver/My_Own.py"
    assert path.is_file()
    chain.softness, chain.iterations = 0.0, 64
    bpy.ops.pose.fabrik_solver_preset(filepath=str(path))
    assert settings_of_solver(tail) == before
    bpy.ops.pose.fabrik_solver_preset_add(name="My Own", remove_name=True)
    assert not path.exists()


def test_a_preset_is_one_step_of_undo(tail: Object) -> None:
    tail.fabrik.chains[0].softness = 0.25
    bpy.ops.ed.undo_push(message="before")
    bpy.ops.pose.fabrik_solver_preset('EXEC_DEFAULT', True, filepath=str(SHIPPED / "solver/Default.py"))
    assert bpy.data.objects["Rig"].fabrik.chains[0].softness == 0.0
    bpy.ops.ed.undo()
    assert bpy.data.objects["Rig"].fabrik.chains[0].softness == 0.25


def test_a_file_that_is_no_preset_is_named_and_changes_nothing(tail: Object, tmp_path: Path) -> None:
    bpy.ops.pose.select_all(action='SELECT')
    before = settings_of_solver(tail), limits_of(tail)
    path = tmp_path / "broken.py"
    for text in ("chain.nothing = 1", "1 +", ""):
        path.write_text(text, encoding="utf-8")
        if text:
            with pytest.raises(RuntimeError, match=r"'broken\.py' is no preset of solver settings"):
                bpy.ops.pose.fabrik_solver_preset(filepath=str(path))
        with pytest.raises(RuntimeError, match=r"'broken\.py' is no preset of joint limits"):
            bpy.ops.pose.fabrik_limits_preset(filepath=str(path))
    for text in ("ROLES = {'SHIN': 'NOSE'}", "ROLES = {'SHIN': [1]}", "BONES = {'bone1': {'name': 1.0}}", "ROLES = 3"):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(RuntimeError, match=r"'broken\.py' is no preset of joint limits"):
            bpy.ops.pose.fabrik_limits_preset(filepath=str(path))
    assert (settings_of_solver(tail), limits_of(tail)) == before


def test_limits_of_selected_bones_are_saved_by_name_and_loaded(tail: Object, user_folder: Path) -> None:
    for bone in tail.pose.bones:
        bone.select = bone.name != "bone0"
    tail.pose.bones["bone1"].use_ik_limit_x, tail.pose.bones["bone1"].ik_max_x = True, 0.5
    tail.pose.bones["bone2"].lock_ik_y = True
    before = limits_of(tail)
    assert bpy.ops.pose.fabrik_limits_preset_add(name="Tail") == {'FINISHED'}
    path = user_folder / "presets/fabrik_ik/joint_limits/Tail.py"
    bpy.ops.pose.fabrik_limits_set(joint='FREE')
    tail.pose.bones["bone0"].lock_ik_x = True
    bpy.ops.pose.fabrik_limits_preset(filepath=str(path))
    assert {**limits_of(tail), "bone0": before["bone0"]} == before
    assert tail.pose.bones["bone0"].lock_ik_x, "a bone that isn't in the preset keeps its limits"


def test_limits_of_a_library_override_are_saved_in_a_preset(user_folder: Path, tmp_path: Path) -> None:
    """There a constraint keeps them."""
    make_tail(name="Rig")
    rig = overridden(tmp_path)
    for bone in rig.pose.bones:
        bone.select = bone.name == "bone1"
    assert bpy.ops.pose.fabrik_limits_set(joint='ELBOW') == {"FINISHED"}
    before = bone_limits.limits_of(rig.pose.bones["bone1"])
    assert bpy.ops.pose.fabrik_limits_preset_add(name="Elbow") == {"FINISHED"}
    path = user_folder / "presets/fabrik_ik/joint_limits/Elbow.py"
    bpy.ops.pose.fabrik_limits_set(joint='FREE')
    assert bone_limits.limits_of(rig.pose.bones["bone1"]) == bone_limits.UNLIMITED
    assert bpy.ops.pose.fabrik_limits_preset(filepath=str(path)) == {"FINISHED"}
    after = bone_limits.limits_of(rig.pose.bones["bone1"])
    assert np.array(after) == pytest.approx(np.array(before), abs=1e-6)


@pytest.mark.parametrize("name", ["Human", "Four-Legged_Animal"])
def test_the_shipped_limits_know_the_bones_of_a_metarig(name: str) -> None:
    armature = make_human()
    bpy.ops.pose.fabrik_limits_preset(filepath=str(SHIPPED / f"joint_limits/{name}.py"))
    for side in "LR":
        forearm, shin = armature.pose.bones[f"forearm.{side}"], armature.pose.bones[f"shin.{side}"]
        for bone in (forearm, shin):
            axes = [axis for axis in "xyz" if not getattr(bone, f"lock_ik_{axis}")]
            assert len(axes) == 1 and getattr(bone, f"use_ik_limit_{axes[0]}"), f"{bone.name} is no hinge"
    assert armature.pose.bones["thigh.L"].use_ik_limit_x


def test_a_hinge_between_two_angles_counts_from_the_rest_pose() -> None:
    armature = make_human()
    bpy.ops.pose.fabrik_limits_preset(filepath=str(SHIPPED / "joint_limits/Four-Legged_Animal.py"))
    bone = armature.pose.bones["shin.L"]
    (axis,) = [axis for axis in "xyz" if not getattr(bone, f"lock_ik_{axis}")]
    low, high = (math.degrees(getattr(bone, f"ik_{end}_{axis}")) for end in ("min", "max"))
    lines = [each.bone.tail_local - each.bone.head_local for each in (bone.parent, bone)]
    rest = 180.0 - math.degrees(lines[0].angle(lines[1]))
    assert rest > 162.0, "a person's knee is straighter at rest than a dog's can be: it can only bend"
    assert sorted((abs(low), abs(high))) == pytest.approx([0.0, rest - 42.0], abs=1e-3)


def test_bones_that_the_preset_has_no_limits_for_are_an_error(tail: Object, tmp_path: Path) -> None:
    path = tmp_path / "other.py"
    path.write_text("BONES = {'other': {'lock_ik_x': True}}", encoding="utf-8")
    bpy.ops.pose.select_all(action='SELECT')
    before = limits_of(tail)
    with pytest.raises(RuntimeError, match="no limits for the selected bones"):
        bpy.ops.pose.fabrik_limits_preset(filepath=str(path))
    assert limits_of(tail) == before
