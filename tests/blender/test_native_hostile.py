# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Native rigs of armatures that are copied, renamed, undone, linked to a second scene, or robbed of their objects."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from fabrik_addon.blender.native.find_rigs import native_constraints, solver_of, solvers_of
from fabrik_addon.blender.rig.library_items import LOST_DRIVERS

from . import rigs
from .test_native_limits import set_limits
from .test_native_rig import BARE_BLENDER, make_arm

ROOT = Path(__file__).resolve().parents[2]
NEWER_BLENDER = ROOT / ".venv-3.13/bin/python"


def make_arm_rig() -> tuple[Any, Any]:
    armature = make_arm()
    chain = rigs.add_chain(armature, "lower", 2, target=(0.2, 1.3, 1.2), create_pole=True)
    chain.use_limits, chain.use_stretch = False, True
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    return armature, chain


def inherited(armature: Any) -> list[str]:
    return [bone.inherit_scale for bone in armature.data.bones]


def copy_of(armature: Any) -> Any:
    rigs.leave_mode()
    bpy.ops.object.select_all(action="DESELECT")
    armature.select_set(True)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.duplicate()
    copy = bpy.context.object
    rigs.enter_pose_mode(copy)
    return copy


def constraints(armature: Any) -> int:
    return sum(len(bone.constraints) for bone in armature.pose.bones)


def is_untouched(armature: Any, modes: list[str]) -> bool:
    keys = any(bone.keys() for bone in armature.data.bones)
    return constraints(armature) == 0 and inherited(armature) == modes and not keys


MODES = ["FULL", "FULL", "FULL", "FULL", "NONE", "AVERAGE"]


def test_a_copied_armature_gets_a_rig_of_its_own() -> None:
    armature, chain = make_arm_rig()
    copy = copy_of(armature)
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    copy.location.x = 0.4
    for each in (armature, copy):
        assert rigs.distance_left(each, each.fabrik.chains[0]) < 1e-4
        assert {constraint.target.parent for _, constraint in native_constraints(each)} == {each}
    assert bpy.ops.pose.fabrik_rig_remove(keep_pose=False) == {"FINISHED"}
    assert is_untouched(copy, MODES)
    assert rigs.distance_left(armature, chain) < 1e-4
    rigs.enter_pose_mode(armature)
    assert bpy.ops.pose.fabrik_rig_remove(keep_pose=False) == {"FINISHED"}
    assert is_untouched(armature, MODES)


def test_a_copy_whose_original_was_deleted_gets_its_rig_with_the_keys() -> None:
    armature, _ = make_arm_rig()
    (solver,) = solvers_of(armature).values()
    solver.keyframe_insert("hide_render", frame=1)
    copy = copy_of(armature)
    rigs.leave_mode()
    bpy.data.objects.remove(armature)
    rigs.enter_pose_mode(copy)
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    assert list(solvers_of(copy).values()) == [solver]
    assert solver.parent == copy and solver.animation_data.action
    assert rigs.distance_left(copy, copy.fabrik.chains[0]) < 1e-4


@pytest.mark.parametrize("keep_pose", [False, True])
def test_a_copy_follows_on_where_the_original_has_no_rig_any_more(keep_pose: bool) -> None:
    armature, _ = make_arm_rig()
    copy = copy_of(armature)
    posed = rigs.matrices_of(copy)
    rigs.enter_pose_mode(armature)
    for made_again in (False, True):
        if made_again:
            assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
            assert rigs.distance_left(armature, armature.fabrik.chains[0]) < 1e-4
        assert bpy.ops.pose.fabrik_rig_remove(keep_pose=keep_pose) == {"FINISHED"}
        assert constraints(armature) == 0
        assert np.abs(rigs.matrices_of(copy) - posed).max() < 1e-5
    rigs.enter_pose_mode(copy)
    assert bpy.ops.pose.fabrik_rig_remove(keep_pose=False) == {"FINISHED"}
    assert is_untouched(copy, MODES)
    assert not any(obj.name.startswith("FABRIK") for obj in bpy.data.objects)
    assert not bpy.data.node_groups


@pytest.mark.parametrize("how", ["remove", "add"])
@pytest.mark.parametrize("what", ["copy", "deleted solver"])
def test_what_is_left_of_a_rig_without_its_solver_is_taken_away(what: str, how: str) -> None:
    armature, _ = make_arm_rig()
    if what == "copy":
        left = copy_of(armature)
        rigs.enter_pose_mode(armature)
        assert bpy.ops.pose.fabrik_rig_remove(keep_pose=False) == {"FINISHED"}
        rigs.enter_pose_mode(left)
    else:
        left = armature
        bpy.data.objects.remove(solvers_of(armature)["lower"])
    rigs.update()
    if how == "add":
        count = constraints(left)
        assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
        assert constraints(left) == count
        assert rigs.distance_left(left, left.fabrik.chains[0]) < 1e-4
    assert bpy.ops.pose.fabrik_rig_remove(keep_pose=False) == {"FINISHED"}
    assert is_untouched(left, MODES)


def test_a_rig_that_is_made_again_has_a_group_of_the_same_name() -> None:
    """A library override finds the group of its library by its name: Blender 5.2 resets its inputs else."""
    armature, chain = make_arm_rig()
    name = chain.native_rig.modifiers[0].node_group.name
    for number in range(2):
        bpy.ops.object.mode_set(mode="EDIT")
        armature.data.edit_bones["lower"].tail.z += 0.05
        bpy.ops.object.mode_set(mode="POSE")
        assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
        assert chain.native_rig.modifiers[0].node_group.name == name, number


def test_a_renamed_chain_keeps_its_rig() -> None:
    armature, chain = make_arm_rig()
    chain.name = "hand ik"
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    assert list(solvers_of(armature)) == ["hand ik"]
    chain.name = "arm"
    assert bpy.ops.pose.fabrik_rig_remove(only_active=True, keep_pose=False) == {"FINISHED"}
    assert is_untouched(armature, MODES)


def test_the_rig_of_a_chain_without_a_name_is_removed() -> None:
    armature, chain = make_arm_rig()
    assert bpy.ops.pose.fabrik_rig_remove(keep_pose=False) == {"FINISHED"}
    chain.name = ""
    before = len(bpy.data.objects)
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    assert bpy.ops.pose.fabrik_rig_remove(keep_pose=False) == {"FINISHED"}
    assert is_untouched(armature, MODES)
    assert len(bpy.data.objects) == before
    assert not bpy.data.node_groups


def test_chains_that_exchange_their_names_keep_their_rigs() -> None:
    armature = rigs.make_armature([*rigs.tail_bones(2, "a"), *rigs.tail_bones(2, "b", at=(3, 0, 0))])
    for tip, x in (("a1", 0.8), ("b1", 3.8)):
        rigs.add_chain(armature, tip, 2, target=(x, 0.2, 1.4)).use_limits = False
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    chains = list(armature.fabrik.chains)
    solvers = [solver_of(armature, chain) for chain in chains]
    for chain, name in ((chains[0], "c"), (chains[1], "a1"), (chains[0], "b1")):
        chain.name = name
    assert [solver_of(armature, chain) for chain in chains] == solvers
    armature.fabrik.active_index = 0
    assert bpy.ops.pose.fabrik_rig_remove(only_active=True) == {"FINISHED"}
    assert {bone.name for bone, _ in native_constraints(armature)} == {"b0", "b1"}


def test_rigs_of_armatures_that_were_joined_are_removed_at_once() -> None:
    armatures = []
    for name in ("Rig", "Other"):
        armature = rigs.make_tail(2, name)
        rigs.add_chain(armature, "bone1", 2, target=(0.8, 0.2, 1.4)).use_limits = False
        assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
        armatures.append(armature)
    rigs.leave_mode()
    for armature in armatures:
        armature.select_set(True)
    bpy.context.view_layer.objects.active = armatures[0]
    assert bpy.ops.object.join() == {"FINISHED"}
    rigs.enter_pose_mode(armatures[0])
    assert constraints(armatures[0]) == 4
    assert bpy.ops.pose.fabrik_rig_remove() == {"FINISHED"}
    assert constraints(armatures[0]) == 0
    assert not bpy.data.node_groups


def test_renamed_bones_still_follow_and_are_left_as_they_were() -> None:
    armature, chain = make_arm_rig()
    for old in ("shoulder", "upper", "lower", "hand"):
        armature.pose.bones[old].name = f"{old}.L"
    chain.target.location = (0.1, 1.0, 0.8)
    rigs.update()
    assert (armature.pose.bones["lower.L"].tail - chain.target.location).length < 1e-4
    assert bpy.ops.pose.fabrik_rig_remove(keep_pose=False) == {"FINISHED"}
    assert is_untouched(armature, MODES)


def test_a_deleted_target_can_be_replaced() -> None:
    armature, chain = make_arm_rig()
    bpy.data.objects.remove(chain.target)
    rigs.update()
    message = rigs.error_of(bpy.ops.pose.fabrik_rig_add)
    assert "no target" in message
    chain.target = rigs.make_empty("goal", (0.1, 0.9, 0.9))
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    assert rigs.distance_left(armature, chain) < 1e-4


def test_adding_and_removing_are_undone() -> None:
    armature = make_arm()
    chain = rigs.add_chain(armature, "lower", 2, target=(0.2, 1.3, 1.2))
    chain.use_limits, chain.use_stretch = False, True
    bpy.ops.ed.undo_push(message="before")
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    bpy.ops.ed.undo_push(message="added")
    bpy.ops.ed.undo()
    armature = bpy.data.objects["Rig"]
    assert is_untouched(armature, MODES)
    assert not bpy.data.node_groups
    bpy.ops.ed.redo()
    armature = bpy.data.objects["Rig"]
    assert rigs.distance_left(armature, armature.fabrik.chains[0]) < 1e-4
    assert bpy.ops.pose.fabrik_rig_remove() == {"FINISHED"}
    bpy.ops.ed.undo_push(message="removed")
    bpy.ops.ed.undo()
    armature = bpy.data.objects["Rig"]
    assert rigs.distance_left(armature, armature.fabrik.chains[0]) < 1e-4


def overridden_character(library: Path) -> Any:
    """An override of a character with a native rig, its target, its pole and its solver, in Object mode."""
    armature, chain = make_arm_rig()
    rigs.collect("Character", armature, chain.target, chain.pole_target)
    rigs.leave_mode()
    bpy.ops.wm.save_as_mainfile(filepath=str(library))
    bpy.ops.wm.read_factory_settings(use_empty=True)
    with bpy.data.libraries.load(str(library), link=True) as (_, wanted):
        wanted.collections = ["Character"]
    instance = bpy.data.objects.new("instance", None)
    instance.instance_type, instance.instance_collection = "COLLECTION", wanted.collections[0]
    bpy.context.scene.collection.objects.link(instance)
    wanted.collections[0].override_hierarchy_create(
        bpy.context.scene, bpy.context.view_layer, reference=instance, do_fully_editable=True
    )
    return next(obj for obj in bpy.data.objects if obj.type == "ARMATURE" and obj.override_library)


OPEN = """
import os, sys
sys.path.insert(0, sys.argv[1])
import bpy
import fabrik_addon
fabrik_addon.register()
bpy.ops.wm.open_mainfile(filepath=sys.argv[2])
armature = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE" and obj.override_library)
print("active", armature.fabrik.active_index, armature.fabrik.list_index)
sys.stdout.flush()
os._exit(0)
"""


def test_an_override_with_another_active_chain_opens_after_its_library_has_other_bones(tmp_path: Path) -> None:
    """Blender ended while it opened such a file."""
    mine = overridden_character(tmp_path / "library.blend")
    rigs.enter_pose_mode(mine)
    rigs.add_chain(mine, "hand", 1)
    assert mine.fabrik.active_index == 1
    rigs.leave_mode()
    shot = str(tmp_path / "shot.blend")
    bpy.ops.wm.save_as_mainfile(filepath=shot)
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "library.blend"))
    bpy.data.objects["Rig"].data.bones["lower"].name = "forearm"
    bpy.ops.wm.save_mainfile()
    command = [sys.executable, "-c", OPEN, str(ROOT), shot]
    environment = {**os.environ, "BLENDER_USER_RESOURCES": str(tmp_path / "user")}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=180, check=False)
    assert "active 1 1" in done.stdout, (done.returncode, done.stdout, done.stderr)


def test_a_character_with_a_native_rig_is_linked_and_overridden(tmp_path: Path) -> None:
    mine = overridden_character(tmp_path / "library.blend")
    chain = mine.fabrik.chains[0]
    chain.target.location = (0.3, 0.9, 0.8)
    assert rigs.distance_left(mine, chain) < 1e-4
    rigs.enter_pose_mode(mine)
    before = rigs.everything()
    for operator in (bpy.ops.pose.fabrik_rig_remove, bpy.ops.pose.fabrik_rig_add):
        assert rigs.error_of(operator) == (
            f"The native rig of chain '{chain.name}' comes from the library of 'Rig': "
            "it can be made again or removed there only"
        )
    assert rigs.everything() == before
    chain.target.location = (0.4, 1.9, 1.1)
    assert rigs.distance_left(mine, chain) < 1e-4


def test_an_overrides_own_rig_is_made_and_removed_beside_those_of_the_library(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    mine = overridden_character(tmp_path / "library.blend")
    rigs.enter_pose_mode(mine)
    rigs.add_chain(mine, "shoulder", 1).use_limits = False
    chain = mine.fabrik.chains["lower"]
    before = constraints(mine)
    for operator, more in ((bpy.ops.pose.fabrik_rig_add, 1), (bpy.ops.pose.fabrik_rig_remove, 0)):
        rigs.printed(capfd)
        assert operator() == {"FINISHED"}
        assert constraints(mine) == before + more
        assert (
            f"Warning: The native rig of chain '{chain.name}' comes from the library of 'Rig': "
            "it can be made again or removed there only"
        ) in rigs.printed(capfd)
        chain.target.location.z += 0.1
        assert rigs.distance_left(mine, chain) < 1e-4


@pytest.mark.parametrize("is_animated", [False, True])
def test_drivers_that_are_lost_with_the_next_loading_are_named(
    is_animated: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    armature = rigs.make_tail(2)
    if is_animated:
        armature.animation_data_create()
    armature = rigs.overridden(tmp_path)
    rigs.add_chain(armature, "bone1", 2, target=(0.8, 0.2, 1.4)).use_limits = False
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    named = [f"Chain 'bone1': {LOST_DRIVERS}"] if is_animated else []
    assert rigs.warnings_in(capfd) == named
    rigs.leave_mode()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shot.blend"))
    armature = next(obj for obj in bpy.data.objects if obj.override_library)
    assert len(armature.animation_data.drivers) == (0 if is_animated else 2)
    chain = armature.fabrik.chains[0]
    chain.target.location = (0.6, 0.2, 1.5)
    assert rigs.distance_left(armature, chain) < 1e-4
    rigs.enter_pose_mode(armature)
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    assert len(armature.animation_data.drivers) == 2


def test_two_scenes() -> None:
    armature, chain = make_arm_rig()
    second = bpy.data.scenes.new("Second")
    for obj in (armature, chain.target, chain.pole_target):
        second.collection.objects.link(obj)
    chain.target.location = (0.3, 0.9, 1.1)
    layer = second.view_layers[0]
    layer.update()
    posed = armature.evaluated_get(layer.depsgraph).pose.bones["lower"]
    assert (posed.tail - chain.target.location).length < 1e-4
    assert rigs.distance_left(armature, chain) < 1e-4


def test_influence_driven_by_a_property() -> None:
    armature, chain = make_arm_rig()
    armature["follow"] = 1.0
    armature.update_tag()
    (constraint,) = (one for one in armature.pose.bones["lower"].constraints if one.mix_rot)
    solver = constraint.target
    path = next(c.driver.variables[0].targets[0].data_path for c in armature.animation_data.drivers)
    curve = solver.driver_add(path)
    variable = curve.driver.variables.new()
    variable.name = "follow"
    variable.targets[0].id, variable.targets[0].data_path = armature, '["follow"]'
    curve.driver.expression = "follow"
    assert rigs.distance_left(armature, chain) < 1e-4
    at_rest = armature.data.bones["lower"].tail_local
    armature["follow"] = 0.0
    armature.update_tag()
    rigs.update()
    assert (armature.pose.bones["lower"].tail - at_rest).length < 1e-4


REMAKE = """
import os, sys
sys.path.insert(0, sys.argv[1])
import bpy
import fabrik_addon
fabrik_addon.register()
bpy.ops.wm.open_mainfile(filepath=sys.argv[2])
armature, target = bpy.data.objects["Rig"], bpy.data.objects[sys.argv[3]]
assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
bpy.context.scene.frame_set(7)
bpy.context.view_layer.update()
print("error", (armature.matrix_world @ armature.pose.bones["lower"].tail - target.matrix_world.translation).length)
assert bpy.ops.pose.fabrik_rig_remove(keep_pose=False) == {"FINISHED"}
print("constraints", sum(len(bone.constraints) for bone in armature.pose.bones))
sys.stdout.flush()
os._exit(0)
"""


@pytest.mark.skipif(
    bpy.app.version >= (5, 2, 0) or not NEWER_BLENDER.exists(), reason="needs Blender 5.0, and 5.2 beside it"
)
@pytest.mark.parametrize("options", ["stretch", "limits", "rotation"])
def test_a_file_from_an_older_blender_animates_in_a_newer_one_and_is_made_again(options: str, tmp_path: Path) -> None:
    armature = make_arm()
    chain = rigs.add_chain(armature, "lower", 2, create_pole=True)
    chain.use_limits, chain.use_stretch, chain.use_rotation = options == "limits", options == "stretch", False
    chain.use_rotation = options == "rotation"
    chain.stretch_max = 3.0
    if options == "limits":
        wide = ((-150.0, 150.0), (-100.0, 100.0), (-150.0, 150.0))
        set_limits([armature.pose.bones[name] for name in ("upper", "lower")], (wide, wide))
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    far = 2.5 if options == "stretch" else 1.0
    for frame in range(1, 25):
        chain.target.location = (0.04 * frame * far, 0.8, 1.3 - 0.03 * frame)
        chain.target.keyframe_insert("location", frame=frame)
    file = tmp_path / "old.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(file))
    environment = {**os.environ, "BLENDER_USER_RESOURCES": str(tmp_path / "user")}
    bare = [str(NEWER_BLENDER), str(BARE_BLENDER), str(file), "Rig", "lower", chain.target.name]
    again = [str(NEWER_BLENDER), "-c", REMAKE, str(ROOT), str(file), chain.target.name]
    for command, least in ((bare, 24), (again, 1)):
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=180, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        errors = [float(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("error ")]
        assert len(errors) >= least
        assert max(errors) < 1e-3
    assert "constraints 0" in done.stdout
