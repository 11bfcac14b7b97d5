# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Usual joints at a press, written into the properties that Blender's own IK has on bones."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from bpy.types import PoseBone
from mathutils import Matrix, Quaternion, Vector

from fabrik_addon.blender.bones.bone_limits import limits_of
from fabrik_addon.blender.setup.usual_limits import BALLS, HINGES, RANGES, limit_ball, limit_hinge_between
from fabrik_addon.core.model.joint_limits import joint_limits, outside_by
from tests.blender.rigs import (
    Bone,
    clear_scene,
    distance_left,
    enter_pose_mode,
    leave_mode,
    make_armature,
    make_empty,
    metarig,
    overridden,
    pose_of,
    printed,
    set_chain,
    update,
)

HUMAN_PRESET = Path(__file__).resolve().parents[2] / "fabrik_addon/presets/fabrik_ik/joint_limits/Human.py"
HUMAN_HINGES = [f"{name}.{side}" for name in ("forearm", "shin", "f_index.02", "f_ring.03") for side in "LR"]


def press(bones: list[PoseBone], joint: str) -> None:
    for bone in bones[0].id_data.pose.bones:
        bone.select = bone.name in {other.name for other in bones}
    assert bpy.ops.pose.fabrik_limits_set(joint=joint) == {"FINISHED"}


def settings_of(bone: PoseBone) -> dict[str, Any]:
    names = [f"{name}_{axis}" for name in ("lock_ik", "use_ik_limit", "ik_min", "ik_max") for axis in "xyz"]
    return {name: getattr(bone, name) for name in names}


def arm(bend: tuple[float, float], roll: float) -> tuple[PoseBone, PoseBone]:
    """Two bones of which the second one is bent, or not, to a side; rolled."""
    armature = make_armature(
        [
            Bone("upper", (0, 0, 0), (0, 0, 1), roll=0.4),
            Bone("lower", (0, 0, 1), (bend[0], bend[1], 2), "upper", True, roll),
        ]
    )
    return armature.pose.bones["upper"], armature.pose.bones["lower"]


@pytest.mark.parametrize("joint", sorted(HINGES))
@pytest.mark.parametrize("bend", [(0.2, 0.0), (-0.2, 0.0), (0.0, 0.2), (0.0, -0.2)])
@pytest.mark.parametrize("quarters", [0, 1, 2, 3])
def test_a_hinge_bends_on_to_the_side_to_which_it_is_bent(joint: str, bend: tuple[float, float], quarters: int) -> None:
    upper, lower = arm(bend, quarters * math.pi / 2.0)
    press([lower], joint)
    free = [axis for axis in "xyz" if not getattr(lower, f"lock_ik_{axis}")]
    assert len(free) == 1 and free != ["y"]
    ends = getattr(lower, f"ik_min_{free[0]}"), getattr(lower, f"ik_max_{free[0]}")
    assert getattr(lower, f"use_ik_limit_{free[0]}")
    assert max(abs(end) for end in ends) == pytest.approx(math.radians(HINGES[joint])) and 0.0 in ends

    # Turned on it is bent more, in the plane in which it was, as well as an axis of the bone is across that.
    def bent() -> Vector:
        update()
        return (upper.tail - upper.head).cross(lower.tail - lower.head)

    before = bent()
    lower.rotation_mode = "XYZ"
    setattr(lower.rotation_euler, free[0], 0.3 * max(ends, key=abs))
    assert bent().dot(before) > 0.0 and bent().angle(before) < 0.25 and bent().length > before.length


@pytest.mark.parametrize("joint", sorted(HINGES))
@pytest.mark.parametrize("degrees", [10.0, 40.0, 90.0])
@pytest.mark.parametrize("quarters", [0, 1, 2, 3])
@pytest.mark.parametrize("across", [None, (0.3, 0.0, 1.0)])
def test_an_elbow_or_knee_that_is_bent_at_rest_straightens_to_25_degrees(
    joint: str, degrees: float, quarters: int, across: tuple[float, float, float] | None
) -> None:
    """Knees of sitting figures and of animals could only be bent more, by another 150 degrees.

    Fingers keep their bend: the thumb of a hand is spread from it, and could be turned to its side by 40 degrees.
    """
    bend = math.radians(degrees)
    end = Vector((0.0, math.sin(bend), 1.0 + math.cos(bend)))
    armature = make_armature(
        [
            Bone("upper", (0, 0, 0), (0, 0, 1), roll=0.4),
            Bone("lower", (0, 0, 1), end if across is None else across, "upper", False, 0.5 * math.pi * quarters),
            Bone("end", end, end + Vector((0.1, 0, 0.1)), "lower"),
        ]
    )
    upper, lower, tip = (armature.pose.bones[name] for name in ("upper", "lower", "end"))
    press([lower], joint)
    (free,) = [axis for axis in "xyz" if not getattr(lower, f"lock_ik_{axis}")]
    ends = getattr(lower, f"ik_min_{free}"), getattr(lower, f"ik_max_{free}")
    assert ends[1] - ends[0] == pytest.approx(math.radians(HINGES[joint]))
    lower.rotation_mode, bends = "XYZ", []
    for end in ends:
        setattr(lower.rotation_euler, free, end)
        update()
        bends.append((upper.tail - upper.head).angle(tip.head - lower.head))
    least = degrees if joint == "FINGER" else min(degrees, 25.0)
    assert min(bends) == pytest.approx(math.radians(least), abs=1e-3)


@pytest.mark.parametrize("joint", [*sorted(HINGES), "preset"])
@pytest.mark.parametrize("across", [(0.0, 0.3, 0.0), (0.3, 0.0, 0.0)])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_hinge_of_a_bone_that_points_across_bends_on_to_its_side(
    joint: str, across: tuple[float, float, float], side: float
) -> None:
    """Its y axis says nothing of the bend: about +x, along which the limb may lie, an elbow was locked."""
    joints = [Vector((0, 0, 0)), Vector((0, 0.1 * side, -1)), Vector((0, 0, -2)), Vector((0, 0, -2.3))]
    bones = [
        Bone(name, head, head + Vector(across), parent)
        for name, head, parent in zip(
            ("upper", "lower", "end", "tip"), joints, (None, "upper", "lower", "end"), strict=True
        )
    ]
    armature = make_armature([*bones, Bone("twist", (0, 0.05 * side, -1.5), (0.1, 0, -1.5), "lower")])
    upper, lower, end = (armature.pose.bones[name] for name in ("upper", "lower", "end"))
    if joint == "preset":
        limit_hinge_between(lower, 30.0, 180.0)
    else:
        press([lower], joint)
    (free,) = [axis for axis in "xyz" if not getattr(lower, f"lock_ik_{axis}")]
    ends = getattr(lower, f"ik_min_{free}"), getattr(lower, f"ik_max_{free}")
    update()
    before = (lower.head - upper.head).cross(end.head - lower.head)
    lower.rotation_mode = "XYZ"
    setattr(lower.rotation_euler, free, 0.5 * max(ends, key=abs))
    update()
    bent = (lower.head - upper.head).cross(end.head - lower.head)
    assert bent.angle(before) < 0.1 and bent.length > 2.0 * before.length


@pytest.mark.parametrize("joint", sorted(BALLS))
def test_a_ball_swings_to_all_sides_and_twists_to_both(joint: str) -> None:
    upper, _ = arm((0.0, 0.0), 0.0)
    upper.lock_ik_x = True
    press([upper], joint)
    swing, twist = map(math.radians, BALLS[joint])
    for axis, angle in zip("xyz", (swing, twist, swing), strict=True):
        assert not getattr(upper, f"lock_ik_{axis}") and getattr(upper, f"use_ik_limit_{axis}")
        assert getattr(upper, f"ik_max_{axis}") == pytest.approx(angle)
        assert getattr(upper, f"ik_min_{axis}") == pytest.approx(-angle)


def test_every_usual_joint_is_offered() -> None:
    items = bpy.ops.pose.fabrik_limits_set.get_rna_type().properties["joint"].enum_items
    assert {item.identifier for item in items} == {*HINGES, *BALLS, "FREE"}
    assert {"SPINE", "WRIST", "ANKLE", "CLAVICLE", "TAIL"} <= BALLS.keys()
    for item in items:
        for degrees in BALLS.get(item.identifier, ()):
            assert f"{degrees:.0f}" in item.description


@pytest.mark.parametrize("joint", ["SPINE", "WRIST", "ANKLE", "CLAVICLE", "TAIL"])
def test_a_joint_bends_to_its_limit_and_no_further(joint: str) -> None:
    for axis in (Vector((1.0, 0.0, 0.0)), Vector((0.6, 0.0, -0.8))):
        clear_scene()
        _, lower = arm((0.0, 0.0), 0.3)
        press([lower], joint)
        target = make_empty("target")
        chain = set_chain(lower.id_data, "lower", 1, target)
        swing = math.radians(BALLS[joint][0])
        rest = lower.bone.matrix_local.copy()
        for share, is_reached in ((0.95, True), (1.3, False)):
            turned = Quaternion(axis, share * swing) @ Vector((0.0, 1.0, 0.0))
            target.location = rest @ (lower.bone.length * turned)
            update()
            bpy.ops.pose.fabrik_solve()
            update()
            assert (chain.status == "REACHED") == is_reached, (joint, share)
            angle = lower.matrix.to_3x3().col[1].angle(rest.to_3x3().col[1])
            assert angle == pytest.approx(min(share, 1.0) * swing, abs=2e-2)


def test_free_takes_all_away_and_only_selected_bones_change() -> None:
    upper, lower = arm((0.2, 0.0), 0.0)
    press([upper, lower], "KNEE")
    before = settings_of(upper)
    press([lower], "FREE")
    assert settings_of(upper) == before
    assert not any(getattr(lower, f"{name}_{axis}") for name in ("lock_ik", "use_ik_limit") for axis in "xyz")


def test_without_a_selection_the_message_names_what_to_do() -> None:
    upper, _ = arm((0.2, 0.0), 0.0)
    for bone in upper.id_data.pose.bones:
        bone.select = False
    with pytest.raises(RuntimeError, match="Select the bones to limit"):
        bpy.ops.pose.fabrik_limits_set(joint="ELBOW")


def test_it_is_undone_in_one_step_and_moves_nothing() -> None:
    _, lower = arm((0.2, 0.0), 0.0)
    before, settings = pose_of(lower.id_data), settings_of(lower)
    bpy.ops.ed.undo_push(message="before")
    press([lower], "ELBOW")
    assert settings_of(lower) != settings and pose_of(lower.id_data) == before
    bpy.ops.ed.undo_push(message="after")
    bpy.ops.ed.undo()
    assert settings_of(bpy.data.objects["Rig"].pose.bones["lower"]) == settings


def test_rigifys_human_bends_its_elbows_knees_and_fingers_the_way_people_do() -> None:
    armature = metarig("human_metarig")
    hinges = [armature.pose.bones[name] for name in HUMAN_HINGES]
    press(hinges, "ELBOW")
    rest = {bone.name: bone.matrix.copy() for bone in hinges}
    for bone in hinges:
        (axis,) = (axis for axis in "xyz" if not getattr(bone, f"lock_ik_{axis}"))
        end = max(getattr(bone, f"ik_min_{axis}"), getattr(bone, f"ik_max_{axis}"), key=abs)
        bone.rotation_mode = "XYZ"
        setattr(bone.rotation_euler, axis, 0.5 * end)
    update()
    for bone in hinges:
        if bone.name.startswith(("forearm", "shin")):
            moved = armature.pose.bones[bone.name].tail - rest[bone.name] @ Vector((0.0, bone.length, 0.0))
            forward = -moved.y  # the human looks along -Y
            assert forward > 0.05 if bone.name.startswith("forearm") else forward < -0.05


def test_an_arm_with_usual_limits_reaches_what_an_arm_reaches() -> None:
    upper, lower = arm((0.0, 0.15), 0.7)
    press([upper], "SHOULDER")
    press([lower], "ELBOW")
    armature = upper.id_data
    chain = set_chain(armature, "lower", 2, make_empty("target"))
    rng = np.random.default_rng(1)
    (axis,) = (axis for axis in "xyz" if not getattr(lower, f"lock_ik_{axis}"))
    index = "xyz".index(axis)
    for _ in range(20):
        bend = rng.uniform(getattr(lower, f"ik_min_{axis}"), getattr(lower, f"ik_max_{axis}"))
        lower.rotation_mode = upper.rotation_mode = "XYZ"
        lower.rotation_euler = [bend if i == index else 0.0 for i in range(3)]
        swing = Vector((rng.normal(), 0.0, rng.normal())).normalized()
        upper.rotation_euler = Matrix.Rotation(rng.uniform(0.0, 1.4), 3, swing).to_euler()
        update()
        chain.target.location = lower.tail
        upper.rotation_euler = lower.rotation_euler = (0.0, 0.0, 0.0)
        update()
        assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
        assert distance_left(armature, chain) < 1e-3


@pytest.mark.parametrize("how", ["joint", "preset"])
def test_limits_of_a_library_override_are_saved(tmp_path: Path, how: str) -> None:
    """Blender saves no IK limits of bones there."""
    rig = metarig("basic_human_metarig")
    rig.name = "Rig"
    rig = overridden(tmp_path)
    before = pose_of(rig)
    for bone in rig.pose.bones:
        bone.select = bone.name == "forearm.L"
    for _ in range(2):
        if how == "joint":
            assert bpy.ops.pose.fabrik_limits_set(joint="ELBOW") == {"FINISHED"}
        else:
            assert bpy.ops.pose.fabrik_limits_preset(filepath=str(HUMAN_PRESET)) == {"FINISHED"}
    limits = limits_of(rig.pose.bones["forearm.L"])
    assert sum(map(math.isfinite, limits[0])) == 3
    leave_mode()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shot.blend"))
    rig = next(one for one in bpy.data.objects if one.override_library)
    assert pose_of(rig) == before
    assert limits_of(rig.pose.bones["forearm.L"]) == limits
    enter_pose_mode(rig)
    bpy.ops.pose.fabrik_limits_set(joint="FREE")
    assert not any(map(math.isfinite, limits_of(rig.pose.bones["forearm.L"])[0]))
    assert not rig.pose.bones["forearm.L"].constraints


@pytest.mark.parametrize("how", ["FREE", "SHOULDER", "preset"])
def test_limits_that_were_made_local_are_changed_as_others(tmp_path: Path, how: str) -> None:
    rig = metarig("basic_human_metarig")
    rig.name = "Rig"
    rig = overridden(tmp_path)
    press([rig.pose.bones["forearm.L"]], "ELBOW")
    leave_mode()
    rig.select_set(True)
    assert bpy.ops.object.make_local(type="ALL") == {"FINISHED"}
    enter_pose_mode(rig)
    bones = [rig.pose.bones[f"forearm.{side}"] for side in "LR"]
    assert limits_of(bones[0]) != limits_of(bones[1])
    if how == "preset":
        for bone in rig.pose.bones:
            bone.select = bone in bones
        assert bpy.ops.pose.fabrik_limits_preset(filepath=str(HUMAN_PRESET)) == {"FINISHED"}
    else:
        press(bones, how)
    finite = [[math.isfinite(angle) for angle in limits_of(bone)[0]] for bone in bones]
    assert finite[0] == finite[1] == [how != "FREE"] * 3
    assert not bones[0].constraints


@pytest.mark.parametrize("how", ["FREE", "SHOULDER", "preset"])
def test_limits_of_the_library_that_stay_are_named(tmp_path: Path, capfd: pytest.CaptureFixture[str], how: str) -> None:
    """An override can only narrow them: it is said of the bones that have narrower limits than they were given."""
    rig = metarig("basic_human_metarig")
    rig.name = "Rig"
    press([rig.pose.bones["forearm.L"]], "FINGER")
    rig = overridden(tmp_path)
    bones = [rig.pose.bones[name] for name in ("forearm.L", "forearm.R")]
    press(bones, "FINGER")
    assert "from the library" not in printed(capfd)
    hinge = limits_of(bones[1])
    if how == "preset":
        assert bpy.ops.pose.fabrik_limits_preset(filepath=str(HUMAN_PRESET)) == {"FINISHED"}
    else:
        press(bones, how)
    said = "Limits of 'forearm.L' come from the library and stay: they can be changed there only"
    assert f"Warning: {said}" in printed(capfd)
    assert limits_of(bones[0])[0][1:] == (0.0, 0.0), "a hinge"
    assert limits_of(bones[1]) != hinge


@pytest.mark.parametrize("roll", [0.0, 0.4, math.pi / 4.0, math.pi / 2.0, 2.5])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_ball_with_ranges_by_direction_swings_as_far_as_they_say(roll: float, side: float) -> None:
    """A bone that hangs down; forward is -Y, and a left bone's outward +X."""
    armature = make_armature([Bone("thigh", (0, 0, 1), (0, 0, 0), roll=roll)])
    bone = armature.pose.bones["thigh"]
    ranges = RANGES['HIP']
    assert limit_ball(bone, ranges, Vector((0.0, -1.0, 0.0)), side, 1)
    frame = bone.bone.matrix_local.to_quaternion()
    limits = joint_limits(*limits_of(bone))
    quarters = roll % (math.pi / 2.0)
    least = 0.7 if quarters > 1e-6 else 0.99
    for toward, degrees in (
        ((0.0, -1.0, 0.0), ranges.flexion),
        ((0.0, 1.0, 0.0), ranges.extension),
        ((side, 0.0, 0.0), ranges.outward),
        ((-side, 0.0, 0.0), ranges.inward),
    ):
        axis = Vector((0.0, 0.0, -1.0)).cross(Vector(toward))

        def outside(angle: float, axis: Vector = axis) -> float:
            own = frame.inverted() @ Quaternion(axis, math.radians(angle)) @ frame
            return math.degrees(outside_by(limits, (own.w, own.x, own.y, own.z)))

        assert outside(least * degrees) < 1e-3
        if quarters < 1e-6:
            assert outside(1.05 * degrees) > 0.02 * degrees


def test_a_ball_whose_bone_points_along_its_flexion_is_left() -> None:
    armature = make_armature([Bone("bone", (0, 0, 0), (0, -1, 0))])
    bone = armature.pose.bones["bone"]
    before = settings_of(bone)
    assert not limit_ball(bone, RANGES['HIP'], Vector((0.0, -1.0, 0.0)), 1.0, 1)
    assert settings_of(bone) == before
