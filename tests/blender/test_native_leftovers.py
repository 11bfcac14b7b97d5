# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Native rigs of chains that Solve moves together, and rigs whose target or armature is deleted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Vector

from fabrik_addon.blender.native.find_rigs import native_constraints, solvers_of

from . import rigs
from .test_native_rig import count_blocks


def make_body() -> Any:
    """A spine of five bones with an arm of two, and a chain for each."""
    spine = [
        rigs.Bone(f"spine{i}", (0, 0.02 * i, i), (0, 0.02 * i + 0.02, i + 1), f"spine{i - 1}" if i else None, i > 0)
        for i in range(5)
    ]
    arm = [
        rigs.Bone("upper", (0.3, 0.1, 4.8), (1.3, 0.0, 4.8), "spine4"),
        rigs.Bone("lower", (1.3, 0.0, 4.8), (2.3, 0.1, 4.8), "upper", True),
        rigs.Bone("hand", (2.3, 0.1, 4.8), (2.6, 0.1, 4.8), "lower", True),
    ]
    armature = rigs.make_armature([*spine, *arm])
    for tip, count in (("spine4", 5), ("lower", 2)):
        rigs.add_chain(armature, tip, count).use_limits = False
    return armature


def test_what_solve_moves_together_is_named_when_native_rigs_move_it_apart(capfd: pytest.CaptureFixture[str]) -> None:
    armature = make_body()
    armature.fabrik.chains["lower"].target.location = (3.0, 1.5, 4.0)
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    (warning,) = rigs.warnings_in(capfd)
    assert "'spine4'" in warning
    assert "'lower'" in warning
    assert "one tree" in warning
    armature.fabrik.active_index = 1
    assert bpy.ops.pose.fabrik_rig_add(only_active=True) == {"FINISHED"}
    (warning,) = rigs.warnings_in(capfd)
    assert warning.startswith("Chain 'lower'")
    assert "'spine4'" in warning


def test_chains_that_are_solved_one_by_one_cause_no_warning(capfd: pytest.CaptureFixture[str]) -> None:
    armature = make_body()
    armature.fabrik.chains["spine4"].enabled = False
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    assert rigs.warnings_in(capfd) == []


@pytest.mark.parametrize("at_once", [False, True])
def test_chains_whose_targets_follow_each_other_are_refused(at_once: bool) -> None:
    sides = []
    for side in (-1.0, 1.0):
        sides += [
            rigs.Bone(f"upper{side:+.0f}", (side, 0, 2), (side, 0.1, 1), "hips"),
            rigs.Bone(f"lower{side:+.0f}", (side, 0.1, 1), (side, 0, 0), f"upper{side:+.0f}", True),
            rigs.Bone(f"hand{side:+.0f}", (side, 0, 0), (side, 0.3, 0), f"lower{side:+.0f}", True),
        ]
    armature = rigs.make_armature([rigs.Bone("hips", (0, 0, 2), (0, 0.5, 2)), *sides])
    for side in (-1, 1):
        chain = rigs.set_chain(armature, f"lower{side:+d}", 2, armature)
        chain.subtarget, chain.use_limits = f"hand{-side:+d}", False
    if not at_once:
        armature.fabrik.active_index = 0
        assert bpy.ops.pose.fabrik_rig_add(only_active=True) == {"FINISHED"}
        armature.fabrik.active_index = 1
    message = rigs.error_of(bpy.ops.pose.fabrik_rig_add, only_active=not at_once)
    assert "lower-1" in message
    assert "lower+1" in message
    assert ("depend on each other" if at_once else "depends on the chain itself") in message


def test_chains_of_two_armatures_whose_targets_follow_each_other_are_refused() -> None:
    first, second = rigs.make_tail(3, "First"), rigs.make_tail(3, "Second", at=(1.0, 0.0, 0.0))
    for armature, other in ((first, second), (second, first)):
        rigs.set_chain(armature, "bone2", 2, other).subtarget = "bone2"
    rigs.enter_pose_mode(first)
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    rigs.enter_pose_mode(second)
    message = rigs.error_of(bpy.ops.pose.fabrik_rig_add)
    assert "its target bone 'bone2' of 'First' depends on the chain itself" in message


def test_a_chain_that_moves_its_own_target_is_refused() -> None:
    armature = rigs.make_tail(4)
    chain = rigs.set_chain(armature, "bone3", 3, armature)
    chain.subtarget, chain.use_limits = "bone twig", False
    armature.fabrik.chains[0].chain_count = 4
    message = rigs.error_of(bpy.ops.pose.fabrik_rig_add)
    assert "'bone3'" in message
    assert "'bone twig'" in message


@pytest.mark.parametrize("limits", [False, True])
@pytest.mark.parametrize("pole", [False, True])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_limb_whose_target_is_deleted_returns_to_its_own_channels(count: int, pole: bool, limits: bool) -> None:
    armature = rigs.make_tail(count)
    for bone in armature.pose.bones:
        bone.use_ik_limit_x, bone.ik_min_x, bone.ik_max_x = True, -2.0, 2.0
    armature.pose.bones["bone0"].rotation_quaternion = (0.9, 0.1, 0.2, 0.3)
    rigs.update()
    own = [bone.matrix.copy() for bone in armature.pose.bones]
    chain = rigs.add_chain(armature, f"bone{count - 1}", count, target=(0.4, 0.3, 0.5 * count), create_pole=pole)
    chain.use_limits = limits
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    if count > 1:
        assert rigs.distance_left(armature, chain) < 1e-3
    bpy.data.objects.remove(chain.target)
    rigs.update()
    for bone, matrix in zip(armature.pose.bones, own, strict=True):
        assert np.array(bone.matrix) == pytest.approx(np.array(matrix), abs=1e-6)


@pytest.mark.parametrize("pole", [False, True])
def test_a_limb_whose_targets_armature_is_deleted_returns_to_its_own_channels(pole: bool) -> None:
    armature = rigs.make_tail(3)
    own = [bone.matrix.copy() for bone in armature.pose.bones]
    chain = rigs.add_chain(armature, "bone2", 3, create_pole=pole)
    goal = rigs.make_armature([rigs.Bone("goal", (0.5, 0.5, 2), (0.5, 0.5, 3))], "Goal")
    rigs.enter_pose_mode(armature)
    chain.target, chain.subtarget, chain.use_limits = goal, "goal", False
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    assert rigs.distance_left(armature, chain) < 1e-3
    bpy.data.objects.remove(goal)
    rigs.update()
    for bone, matrix in zip(armature.pose.bones, own, strict=True):
        assert np.array(bone.matrix) == pytest.approx(np.array(matrix), abs=1e-6)


def delete_in_viewport(obj: Any) -> None:
    rigs.leave_mode()
    bpy.ops.object.select_all(action="DESELECT")
    obj.select_set(True)
    assert bpy.ops.object.delete() == {"FINISHED"}


def delete_bone(armature: Any, name: str) -> None:
    rigs.enter_pose_mode(armature)
    bpy.ops.object.mode_set(mode="EDIT")
    armature.data.edit_bones.remove(armature.data.edit_bones[name])
    bpy.ops.object.mode_set(mode="POSE")


def with_target(kind: str) -> tuple[Any, Any]:
    """A native rig that stretches to a target of its own, to a bone of another armature, or to a bone of its own."""
    bones = rigs.tail_bones(3)
    goals = [rigs.Bone(name, (2.5, 2.5, 2), (2.5, 2.5, 3)) for name in ("goal", "other")]
    armature = rigs.make_armature([*bones, *goals] if kind == "own bone" else bones)
    if kind == "object":
        chain = rigs.add_chain(armature, "bone2", 3, target=(2.5, 2.5, 2))
    else:
        goal = armature if kind == "own bone" else rigs.make_armature(goals, "Goal")
        rigs.enter_pose_mode(armature)
        chain = rigs.set_chain(armature, "bone2", 3, goal)
        chain.subtarget = "goal"
    chain.use_limits, chain.use_stretch = False, True
    return armature, chain


@pytest.mark.parametrize(
    ("kind", "how"), [("object", "viewport"), ("bone", "viewport"), ("bone", "bone"), ("own bone", "bone")]
)
def test_a_target_that_chains_still_use_is_deleted_and_the_limb_returns(kind: str, how: str) -> None:
    armature, chain = with_target(kind)
    own = [bone.matrix.copy() for bone in armature.pose.bones if bone.name.startswith("bone")]
    before = count_blocks()
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    assert rigs.distance_left(armature, chain) < 1e-3
    bpy.ops.ed.undo_push(message="before")
    if how == "viewport":
        delete_in_viewport(chain.target)
    else:
        delete_bone(chain.target, "goal")
    bpy.ops.ed.undo_push(message="after")
    armature = bpy.data.objects["Rig"]
    assert armature.fabrik.chains[0].target is not None
    rigs.update()
    for name, matrix in zip(("bone0", "bone1", "bone2"), own, strict=False):
        assert np.array(armature.pose.bones[name].matrix) == pytest.approx(np.array(matrix), abs=1e-6)
    bpy.ops.ed.undo()
    armature = bpy.data.objects["Rig"]
    chain = armature.fabrik.chains[0]
    assert rigs.distance_left(armature, chain) < 1e-3
    rigs.enter_pose_mode(armature)
    assert bpy.ops.pose.fabrik_rig_remove() == {"FINISHED"}
    assert count_blocks() == before


def append_rig(library: Path) -> Any:
    """A native rig whose armature was appended to another file: its other objects are in no collection there."""
    armature = rigs.make_tail(3)
    rigs.add_chain(armature, "bone2", 3, target=(0.8, 0.3, 1.5)).use_limits = False
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    rigs.leave_mode()
    bpy.ops.wm.save_as_mainfile(filepath=str(library))
    bpy.ops.wm.read_factory_settings(use_empty=True)
    with bpy.data.libraries.load(str(library), link=False) as (_, found):
        found.objects = ["Rig"]
    bpy.context.scene.collection.objects.link(bpy.data.objects["Rig"])
    return bpy.data.objects["Rig"]


def test_purging_unused_data_leaves_an_appended_rig(tmp_path: Path) -> None:
    armature = append_rig(tmp_path / "library.blend")
    bpy.ops.outliner.orphans_purge(do_recursive=True)
    chain = armature.fabrik.chains[0]
    assert rigs.distance_left(armature, chain) < 1e-4
    chain.target.location = (1.1, 0.2, 1.7)
    assert rigs.distance_left(armature, chain) < 1e-4


def clear_constraints(armature: Any) -> None:
    bpy.ops.pose.select_all(action="SELECT")
    assert bpy.ops.pose.constraints_clear() == {"FINISHED"}


def delete_chain(armature: Any) -> None:
    for name in ("bone2", "bone1"):
        delete_bone(armature, name)


@pytest.mark.parametrize("clear", [clear_constraints, delete_chain])
def test_a_rig_whose_constraints_are_gone_is_removed_without_a_trace(clear: Callable[[Any], None]) -> None:
    armature = rigs.make_tail(3)
    chain = rigs.add_chain(armature, "bone2", 2, target=(0.8, 0.3, 1.5))
    chain.use_limits, chain.use_stretch = False, True
    before = count_blocks()
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    assert armature.data.bones["bone2"].inherit_scale == "ALIGNED"
    clear(armature)
    assert bpy.ops.pose.fabrik_rig_remove() == {"FINISHED"}
    assert count_blocks() == before
    assert not (armature.animation_data and armature.animation_data.drivers)
    assert all(bone.inherit_scale == "FULL" for bone in armature.data.bones)


def test_a_rig_is_made_again_after_its_constraints_were_cleared() -> None:
    armature = rigs.make_tail(3)
    chain = rigs.add_chain(armature, "bone2", 3, target=(0.8, 0.3, 1.5))
    chain.use_limits = False
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    before = count_blocks()
    (solver,) = solvers_of(armature).values()
    clear_constraints(armature)
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    assert count_blocks() == before
    assert list(solvers_of(armature).values()) == [solver], "with its keys"
    assert {len(curve.driver.variables) for curve in armature.animation_data.drivers} == {3}
    assert rigs.distance_left(armature, chain) < 1e-4


def test_a_rig_is_made_again_after_rigify_has_generated_the_bones_anew() -> None:
    """Constraints and drivers are gone then, and the solver is parented otherwise."""
    armature = rigs.generated_rig("human_metarig")
    metarig = bpy.data.objects["metarig"]
    chain = rigs.add_chain(armature, "forearm_fk.L", 2)
    chain.target.location += Vector((0.0, -0.2, 0.1))
    chain.use_limits = False
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    (solver,) = solvers_of(armature).values()
    rigs.leave_mode()
    metarig.hide_set(False)
    rigs.enter_pose_mode(metarig)
    assert bpy.ops.pose.rigify_generate() == {"FINISHED"}
    assert not list(native_constraints(armature))
    rigs.enter_pose_mode(armature)
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    assert list(solvers_of(armature).values()) == [solver]
    assert rigs.distance_left(armature, armature.fabrik.chains[0]) < 1e-4


def test_an_appended_rig_follows_its_target_after_the_file_is_loaded_again(tmp_path: Path) -> None:
    append_rig(tmp_path / "library.blend")
    for _ in range(2):
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
        bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shot.blend"))
        armature = bpy.data.objects["Rig"]
        assert rigs.distance_left(armature, armature.fabrik.chains[0]) < 1e-4


@pytest.mark.parametrize("kind", ["object", "bone", "own bone"])
def test_a_renamed_target_stays_the_target(kind: str) -> None:
    armature, chain = with_target(kind)
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    chain.target.name = "Somewhere"
    if chain.subtarget:
        chain.target.data.bones["goal"].name = "elsewhere"
    else:
        chain.target.location.x += 0.1
    rigs.update()
    assert rigs.distance_left(armature, chain) < 1e-3


def test_a_target_without_a_size_is_a_target() -> None:
    armature = rigs.make_tail(2)
    chain = rigs.add_chain(armature, "bone1", 2, target=(0.4, 0.3, 1.2))
    chain.use_limits = False
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    chain.target.scale = (0.0, 0.0, 0.0)
    assert rigs.distance_left(armature, chain) < 1e-4


def make_orphan(name: str = "Rig") -> None:
    """A native rig with a target bone and a pole, whose armature is deleted."""
    armature = rigs.make_tail(3, name)
    chain = rigs.add_chain(armature, "bone2", 3, create_pole=True)
    goal = rigs.make_armature([rigs.Bone("goal", (0.5, 0.5, 2), (0.5, 0.5, 3))], "Goal")
    rigs.enter_pose_mode(armature)
    chain.target, chain.subtarget, chain.use_limits = goal, "goal", False
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    rigs.leave_mode()
    bpy.data.objects.remove(armature)
    rigs.update()


def native_blocks() -> list[str]:
    blocks = (*bpy.data.objects, *bpy.data.node_groups, *bpy.data.collections, *bpy.data.hair_curves)
    return [block.name for block in blocks if "FABRIK" in block.name and block.name != "FABRIK Targets"]


@pytest.mark.parametrize("how", ["add", "remove", "purge"])
def test_what_is_left_of_a_deleted_armature_is_taken_away(how: str) -> None:
    make_orphan()
    assert native_blocks()
    if how == "purge":
        assert bpy.ops.object.fabrik_rigs_purge() == {"FINISHED"}
        assert native_blocks() == []
        return
    armature = rigs.make_tail(3, "Other")
    rigs.add_chain(armature, "bone2", 3).use_limits = False
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    (solver,) = solvers_of(armature).values()
    if how == "remove":
        rigs.leave_mode()
        make_orphan()
        rigs.enter_pose_mode(armature)
    assert rigs.distance_left(armature, armature.fabrik.chains[0]) < 1e-4
    if how == "remove":
        assert bpy.ops.pose.fabrik_rig_remove() == {"FINISHED"}
        assert native_blocks() == []
    else:
        assert [obj for obj in bpy.data.objects if "FABRIK" in obj.name] == [solver]


def test_what_is_left_of_an_override_that_was_reset_is_taken_away(tmp_path: Path) -> None:
    rigs.add_chain(rigs.make_tail(3), "bone1", 2)
    armature = rigs.overridden(tmp_path)
    rigs.add_chain(armature, "bone2", 1).use_limits = False
    assert bpy.ops.pose.fabrik_rig_add(only_active=True) == {"FINISHED"}
    armature.override_library.operations_update()
    armature.override_library.reset()
    assert [chain.name for chain in armature.fabrik.chains] == ["bone1"]
    assert bpy.ops.object.fabrik_rigs_purge() == {"FINISHED"}
    assert native_blocks() == []


def test_purging_leaves_rigs_that_are_used() -> None:
    armature = rigs.make_tail(3)
    chain = rigs.add_chain(armature, "bone2", 3)
    chain.use_limits = False
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    before = count_blocks()
    with pytest.raises(RuntimeError, match="no unused native rig"):
        bpy.ops.object.fabrik_rigs_purge()
    assert count_blocks() == before
    copy = armature.copy()
    bpy.context.scene.collection.objects.link(copy)
    rigs.leave_mode()
    bpy.data.objects.remove(armature)
    with pytest.raises(RuntimeError, match="no unused native rig"):
        bpy.ops.object.fabrik_rigs_purge()  # the copy follows the solver of the original
    assert solvers_of(copy)
    rigs.enter_pose_mode(copy)
    assert bpy.ops.pose.fabrik_rig_remove() == {"FINISHED"}
    assert native_blocks() == []


def make_limb() -> tuple[Any, Any]:
    """A limb whose first bone doesn't touch its parent, and may move."""
    armature = rigs.make_armature(
        [
            rigs.Bone("hips", (0.0, 0.0, 0.0), (0.0, 0.0, 0.5)),
            rigs.Bone("upper", (0.0, 0.0, 1.0), (0.0, 0.1, 2.0), "hips"),
            rigs.Bone("lower", (0.0, 0.1, 2.0), (0.0, 0.0, 3.0), "upper", connected=True),
        ]
    )
    chain = rigs.add_chain(armature, "lower", 2, target=(0.5, -0.5, 2.3), create_pole=True)
    return armature, chain


def key(bone: Any, channel: str, axis: int, values: tuple[float, float]) -> None:
    for frame, value in zip((1, 10), values, strict=True):
        getattr(bone, channel)[axis] = value
        bone.keyframe_insert(channel, index=axis, frame=frame)
    bpy.context.scene.frame_set(1)


@pytest.mark.parametrize("how", ["key", "driver", "strip"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_root_that_is_animated_along_one_axis_is_followed(axis: int, how: str) -> None:
    armature, chain = make_limb()
    root = armature.pose.bones["upper"]
    if how == "driver":
        root.driver_add("location", axis).driver.expression = "(frame - 1) / 20"
    else:
        key(root, "location", axis, (0.0, 0.45))
    if how == "strip":
        action = armature.animation_data.action
        armature.animation_data.action = None
        armature.animation_data.nla_tracks.new().strips.new("strip", 1, action)
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    for frame in (1, 5, 10):
        bpy.context.scene.frame_set(frame)
        assert rigs.distance_left(armature, chain) < 1e-4


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_scales_that_are_animated_along_one_axis_are_named(axis: int, capfd: pytest.CaptureFixture[str]) -> None:
    armature, _ = make_limb()
    key(armature.pose.bones["lower"], "scale", axis, (1.0, 1.3))
    rigs.warnings_in(capfd)
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    (warning,) = rigs.warnings_in(capfd)
    assert "the scale of bone 'lower' is animated" in warning


def test_keys_that_change_nothing_cause_no_warning(capfd: pytest.CaptureFixture[str]) -> None:
    """Importers put keys on all channels of all bones."""
    armature, _ = make_limb()
    for bone in armature.pose.bones:
        for axis in range(3):
            key(bone, "scale", axis, (1.0, 1.00001))
            key(bone, "location", axis, (0.0, 0.00001))
    rigs.warnings_in(capfd)
    assert bpy.ops.pose.fabrik_rig_add() == {"FINISHED"}
    assert rigs.warnings_in(capfd) == []
