# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where Create Pole puts a pole: where the knee or elbow points, whatever else of the limb bends."""

from __future__ import annotations

import math
from typing import Any

import bpy
import numpy as np
import pytest
from bpy.types import Object
from mathutils import Vector

from fabrik_addon.blender.rig.pole_shape_text import pole_shape_text, read_pole_shape
from scripts.benchmark.skeletons import Skeleton, data_skeletons
from tests.blender.rigs import Bone, add_chain, clear_scene, leave_mode, make_armature, metarig, update, warnings_in

LEGS = [("foot.L", 3, "shin.L"), ("foot.R", 3, "shin.R"), ("shin.L", 2, "shin.L")]
ARMS = [("forearm.L", 3, "forearm.L"), ("hand.R", 4, "forearm.R"), ("hand.L", 3, "forearm.L")]
FORELEGS = [("front_shin.L", 3, "front_shin.L"), ("front_foot.L", 3, "front_shin.L")]
FORELEGS += [("front_foot.R", 4, "front_shin.R")]
LEG_AND_TOE = ("toe.L", 4, "shin.L")
FORELEG_OF_CAT = ("forearm.L", 3, "forearm.L")
HORSE = [("hind_foot.L", 3, "lower_leg.L"), ("forearm.R", 3, "forearm.R"), ("forefoot.L", 4, "forearm.L")]
LIMBS = {
    "basic_human": [*LEGS, *ARMS],
    "human": [*LEGS, *ARMS, ("toe.L", 4, "shin.L")],
    "basic_quadruped": [*LEGS, *FORELEGS],
    "wolf": [*LEGS, *FORELEGS],
    "cat": [*LEGS, *ARMS],
    "horse": HORSE,
    "bird": LEGS,
}
"""Tips, chain lengths, and the bones whose heads are knees and elbows, of Rigify's metarigs."""

LONG_LIMBS = {
    "basic_human": [],
    "human": [("toe.L", 5, "shin.L"), ("toe.R", 4, "shin.R")],
    "basic_quadruped": [("toe.L", 4, "shin.L"), ("front_toe.L", 5, "front_shin.L")],
    "wolf": [("toe.L", 4, "shin.L"), ("front_toe.L", 4, "front_shin.L"), ("front_toe.R", 5, "front_shin.R")],
    "cat": [("r_toe.L", 4, "shin.L"), ("hand.L", 4, "forearm.L")],
    "horse": [("r_toe.L", 4, "lower_leg.L"), ("r_hoof.L", 5, "lower_leg.L"), ("forefoot.R", 4, "forearm.R")],
    "bird": [("toe.L", 4, "shin.L"), ("Wing.002.L", 3, "Wing.001.L")],
}
"""Limbs with a toe, a hoof, a spine's bone or a clavicle beside those of ``LIMBS``."""


def joints_of_bend(armature: Object, bone_name: str, is_rest: bool = False) -> np.ndarray:
    """The heads of a bone's parent and of the bone, and the bone's tail."""
    bone = armature.pose.bones[bone_name]
    if is_rest:
        return np.array([bone.bone.parent.head_local, bone.bone.head_local, bone.bone.tail_local])
    return np.array([bone.parent.head, bone.head, bone.tail])


def bend(joints: np.ndarray) -> np.ndarray:
    """How far the middle of three joints is off the line through the others."""
    along = (joints[2] - joints[0]) / np.linalg.norm(joints[2] - joints[0])
    offset = joints[1] - joints[0]
    return offset - along * (offset @ along)


def angle(a: np.ndarray, b: np.ndarray) -> float:
    return math.degrees(math.acos(np.clip(a @ b / np.linalg.norm(a) / np.linalg.norm(b), -1.0, 1.0)))


@pytest.mark.parametrize("name", LIMBS)
def test_a_pole_is_where_the_knee_or_elbow_points(name: str) -> None:
    armature = metarig(f"{name}_metarig")
    for tip, count, middle in LIMBS[name]:
        at_rest = joints_of_bend(armature, middle, is_rest=True)
        chain = add_chain(armature, tip, count, create_target=True, create_pole=True)
        to_pole = np.array(chain.pole_target.matrix_world.translation) - at_rest[1]
        assert angle(to_pole, bend(at_rest)) < 45.0, (tip, count)
        bpy.ops.pose.fabrik_solve(only_active=True)
        assert chain.status == "REACHED", tip
        # Toward the same side as at rest.
        assert angle(bend(joints_of_bend(armature, middle)), bend(at_rest)) < 60.0, (tip, count)
        bpy.ops.pose.fabrik_chain_remove()
        bpy.ops.pose.select_all(action="SELECT")
        bpy.ops.pose.rot_clear()


@pytest.mark.parametrize("is_new", [False, True])
@pytest.mark.parametrize("name", LIMBS)
def test_the_first_solve_with_a_new_pole_rotates_nothing(
    name: str, is_new: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    armature = metarig(f"{name}_metarig")
    for tip, count, _ in LIMBS[name]:
        before = np.array([bone.matrix for bone in armature.pose.bones])
        warnings_in(capfd)
        chain = add_chain(armature, tip, count, create_target=True, create_pole=is_new)
        if not is_new:
            bpy.ops.pose.fabrik_pole_add()
        assert not warnings_in(capfd), tip
        for solver in ("FABRIK", "CCD", "JACOBIAN_DLS"):
            chain.solver = solver
            bpy.ops.pose.fabrik_solve(only_active=True)
            assert chain.status == "REACHED", (tip, solver)
            after = np.array([bone.matrix for bone in armature.pose.bones])
            np.testing.assert_allclose(after, before, atol=1e-3, err_msg=f"{tip} {solver}")
        bpy.ops.pose.fabrik_chain_remove()


@pytest.mark.parametrize("name", LIMBS)
def test_switching_the_rotation_off_and_on_rotates_nothing(name: str) -> None:
    """One bone more bends toward the pole: the leg of Rigify's human down to its foot rotated by 180 degrees."""
    armature = metarig(f"{name}_metarig")
    for tip, count, _ in LIMBS[name]:
        before = np.array([bone.matrix for bone in armature.pose.bones])
        chain = add_chain(armature, tip, count, create_target=True, create_pole=True)
        for _ in range(2):
            chain.use_rotation = not chain.use_rotation
            bpy.ops.pose.fabrik_solve(only_active=True)
            after = np.array([bone.matrix for bone in armature.pose.bones])
            np.testing.assert_allclose(after, before, atol=1e-3, err_msg=tip)
        bpy.ops.pose.fabrik_chain_remove()


STEPS = 45
MOST_HINGE, MOST_STEP = 20.0, 3.0
"""Rotation of a knee's or elbow's axis (degrees); that of a bone in one step, over the median of the largest ones."""


def swing_of_hinge(armature: Object, chain: Any, bone_name: str, aside: float) -> tuple[float, float]:
    """Lift a chain's target toward the root by 45 percent, or move it aside as well by a part of its distance.

    Returns:
        the largest angle (degrees) of the axis of a knee or elbow from where it was, apart from the rotation of the
        line root-target; the largest rotation of a bone in a step, over the median of the steps' largest rotations.
    """
    bone = armature.pose.bones[chain.tip]
    line = [bone, *bone.parent_recursive][: chain.chain_count]
    root, start = line[-1].head.copy(), chain.target.location.copy()
    first = axis_of(joints_of_bend(armature, bone_name))
    way = 0.45 * (root - start) if not aside else 0.2 * (root - start)
    way = way + aside * (root - start).length * Vector(first.tolist())
    hinges, poses = [], []
    for step in range(STEPS + 1):
        # Near full extension joints move with the square root of the distance.
        chain.target.location = start + (step / STEPS) ** 2 * way
        bpy.ops.pose.fabrik_solve()
        assert chain.status == "REACHED", (chain.tip, step)
        back = (chain.target.location - root).rotation_difference(start - root)
        hinges.append(angle(np.array(back @ Vector(axis_of(joints_of_bend(armature, bone_name)).tolist())), first))
        poses.append([each.matrix.to_quaternion()[:] for each in line])
    turns = angles_between(np.array(poses)).max(axis=1)
    return max(hinges), float(turns.max() / np.median(turns))


def axis_of(joints: np.ndarray) -> np.ndarray:
    """The unit vector about which the middle of three joints is bent."""
    axis = np.cross(joints[1] - joints[0], joints[2] - joints[1])
    return axis / np.linalg.norm(axis)


def angles_between(poses: np.ndarray) -> np.ndarray:
    """The rotations from pose to pose (P - 1, B) of quaternions (P, B, 4), degrees."""
    return np.degrees(2.0 * np.arccos(np.clip(np.abs((poses[1:] * poses[:-1]).sum(axis=-1)), 0.0, 1.0)))


@pytest.mark.parametrize("aside", [0.0, 0.2, -0.2])
@pytest.mark.parametrize("name", LIMBS)
def test_a_knee_or_elbow_stays_a_hinge_while_its_target_moves(name: str, aside: float) -> None:
    armature = metarig(f"{name}_metarig")
    for tip, count, middle in dict.fromkeys([*LIMBS[name], *LONG_LIMBS[name]]):
        chain = add_chain(armature, tip, count, create_target=True, create_pole=True)
        hinge, step = swing_of_hinge(armature, chain, middle, aside)
        assert hinge < MOST_HINGE and step < MOST_STEP, (tip, count, hinge, step)
        bpy.ops.pose.fabrik_chain_remove()
        bpy.ops.pose.select_all(action="SELECT")
        bpy.ops.pose.rot_clear()


@pytest.mark.parametrize("solver", ["CCD", "JACOBIAN_DLS"])
@pytest.mark.parametrize(("name", "tip", "count", "middle"), [("human", *LEG_AND_TOE), ("cat", *FORELEG_OF_CAT)])
def test_the_knee_stays_a_hinge_with_every_solver(name: str, tip: str, count: int, middle: str, solver: str) -> None:
    armature = metarig(f"{name}_metarig")
    chain = add_chain(armature, tip, count, create_target=True, create_pole=True)
    chain.solver = solver
    hinge, step = swing_of_hinge(armature, chain, middle, 0.0)
    assert hinge < MOST_HINGE and step < MOST_STEP, (hinge, step)


TREES = {
    "human": (
        [("hand.L", 4), ("hand.R", 4), ("toe.L", 4), ("toe.R", 4)],
        [("toe.L", "shin.L"), ("hand.R", "forearm.R")],
    ),
    "wolf": ([("front_shin.L", 3), ("front_shin.R", 3), ("toe.L", 4)], [("front_shin.L", "front_shin.L")]),
    "cat": ([("forearm.L", 3), ("forearm.R", 3)], [("forearm.L", "forearm.L")]),
}
"""Chains with poles that are solved together with one of the spine, and the moved ones with their knees and elbows."""


@pytest.mark.parametrize("name", TREES)
def test_a_knee_or_elbow_of_a_tree_stays_a_hinge(name: str) -> None:
    chains, moved = TREES[name]
    for tip, middle in moved:
        clear_scene()
        armature = metarig(f"{name}_metarig")
        add_chain(armature, "spine.006", 3, create_target=True)
        for each, count in chains:
            add_chain(armature, each, count, create_target=True, create_pole=True)
        hinge, step = swing_of_hinge(armature, armature.fabrik.chains[tip], middle, 0.0)
        assert hinge < MOST_HINGE and step < MOST_STEP, (tip, hinge, step)


def test_a_pole_shape_is_read_as_it_was_written() -> None:
    armature = metarig("human_metarig")
    chain = add_chain(armature, *LEG_AND_TOE[:2], create_target=True, create_pole=True)
    shape = read_pole_shape(chain.pole_shape)
    assert sum(math.hypot(*link) for link in shape) == pytest.approx(1.0)
    np.testing.assert_allclose(read_pole_shape(pole_shape_text(shape)), shape, atol=1e-8)


def test_a_chain_that_no_family_passes_through_is_reported(capfd: pytest.CaptureFixture[str]) -> None:
    armature = metarig("wolf_metarig")
    warnings_in(capfd)
    chain = add_chain(armature, "pelvis.L", 3, create_target=True, create_pole=True)
    assert not chain.pole_shape
    (said,) = warnings_in(capfd)
    before = {bone.name: bone.matrix_basis.to_quaternion() for bone in armature.pose.bones}
    bpy.ops.pose.fabrik_solve()
    angles = {
        bone: math.degrees(
            2.0 * math.acos(min(1.0, abs(q.dot(armature.pose.bones[bone].matrix_basis.to_quaternion()))))
        )
        for bone, q in before.items()
    }
    most = max(angles, key=angles.__getitem__)
    assert said.startswith("Chain 'pelvis.L'") and said.endswith(f"rotate bone '{most}' by {angles[most]:.3g} degrees")


@pytest.mark.parametrize("has_limits", [False, True])
def test_the_first_solve_of_several_chains_with_new_poles_rotates_nothing(has_limits: bool) -> None:
    armature = metarig("human_metarig")
    if has_limits:
        bpy.ops.pose.select_all(action="SELECT")
        bpy.ops.pose.fabrik_limits_set()
    before = np.array([bone.matrix for bone in armature.pose.bones])
    for tip, count in (("hand.L", 4), ("hand.R", 4), ("toe.L", 4), ("toe.R", 4), ("spine.006", 7)):
        add_chain(armature, tip, count, create_target=True, create_pole=tip != "spine.006")
    bpy.ops.pose.fabrik_solve()
    assert {chain.status for chain in armature.fabrik.chains} == {"REACHED"}
    np.testing.assert_allclose(np.array([bone.matrix for bone in armature.pose.bones]), before, atol=5e-3)


def test_a_leg_with_its_toe_follows_its_target_without_a_jump() -> None:
    armature = metarig("human_metarig")
    chain = add_chain(armature, "toe.L", 4, create_target=True, create_pole=True)
    start = chain.target.location.copy()
    # With half the step of the target every rotation is half as large, from the shape on and back to the leg stretched.
    coarse, fine = (largest_turn(armature, chain, start, steps) for steps in (120, 240))
    assert coarse < 10.0 and fine < 0.55 * coarse, (coarse, fine)


@pytest.mark.parametrize(("tip", "count"), [("hand.L", 4), ("toe.L", 4), ("forearm.R", 3)])
def test_targets_that_are_snapped_or_keyed_leave_the_pose_as_it_is(tip: str, count: int) -> None:
    armature = metarig("human_metarig")
    chain = add_chain(armature, tip, count, create_target=True, create_pole=True)
    root = armature.pose.bones[tip].parent_recursive[count - 2].head
    chain.target.location += 0.35 * (root - chain.target.location) + Vector((0.02, 0.03, 0.01))
    bpy.ops.pose.fabrik_solve()
    assert chain.status == "REACHED"
    solved = np.array([bone.matrix for bone in armature.pose.bones])
    for place in (bpy.ops.pose.fabrik_snap_target, lambda: bpy.ops.pose.fabrik_key_targets(frame_start=1, frame_end=1)):
        chain.target.location += Vector((0.1, 0.2, 0.3))
        chain.pole_target.location += Vector((0.1, 0.2, -0.1))
        update()
        assert place() == {"FINISHED"}
        update()
        bpy.ops.pose.fabrik_solve()
        np.testing.assert_allclose(np.array([bone.matrix for bone in armature.pose.bones]), solved, atol=1e-3)


def test_a_bake_gives_the_poses_of_solve() -> None:
    armature = metarig("human_metarig")
    chain = add_chain(armature, "hand.L", 4, create_target=True, create_pole=True)
    start, frames, solved = chain.target.location.copy(), range(1, 6), []
    for frame in frames:
        chain.target.location = start + 0.05 * frame * (armature.pose.bones["shoulder.L"].head - start)
        chain.target.keyframe_insert("location", frame=frame)
        bpy.ops.pose.fabrik_solve()
        solved.append([bone.matrix.copy() for bone in armature.pose.bones])
        bpy.ops.pose.select_all(action="SELECT")
        bpy.ops.pose.rot_clear()
    assert bpy.ops.pose.fabrik_bake(frame_start=1, frame_end=5) == {"FINISHED"}
    for frame, wanted in zip(frames, solved, strict=True):
        bpy.context.scene.frame_set(frame)
        found = np.array([bone.matrix for bone in armature.pose.bones])
        np.testing.assert_allclose(found, np.array(wanted), atol=1e-4)


def largest_turn(armature: Object, chain: Any, start: Vector, steps: int) -> float:
    """The largest rotation of a bone in one step, in degrees, of a target from 1.05 to 0.4 of its first distance."""
    root, poses = armature.pose.bones["thigh.L"].head, []
    for lift in np.linspace(-0.05, 0.6, steps + 1).tolist():
        chain.target.location = start + lift * (root - start)
        bpy.ops.pose.fabrik_solve()
        assert chain.status == "REACHED"
        poses.append([bone.rotation_quaternion[:] for bone in armature.pose.bones])
    return float(angles_between(np.array(poses)).max())


STRAIGHT = {"humanoid", "humanoid_CMU", "cmu_bvh"}
MPFB = {each.name: each for each in data_skeletons() if each.human and each.name not in STRAIGHT}
"""Rest skeletons of MPFB. Those of other sources have straight limbs, which point nowhere."""
KNEES = [("SHIN", "THIGH", "SHIN"), ("FOOT", "THIGH", "SHIN"), ("TOE", "THIGH", "SHIN")]
ELBOWS = [(tip, root, "FOREARM") for tip in ("FOREARM", "HAND") for root in ("UPPER_ARM", "CLAVICLE")]


def make_skeleton(skeleton: Skeleton) -> Object:
    def depth(bone: int) -> int:
        return 0 if bone < 0 else 1 + depth(skeleton.parents[bone])

    def rest(bone: int) -> Bone:
        parent = skeleton.parents[bone]
        head, tail = (points[bone].tolist() for points in (skeleton.heads, skeleton.tails))
        return Bone(skeleton.names[bone], head, tail, skeleton.names[parent] if parent >= 0 else None)

    return make_armature([rest(bone) for bone in sorted(range(len(skeleton.names)), key=depth)])


def limb_line(skeleton: Skeleton, tip: str, root: str, side: str) -> list[int]:
    """The bones of a limb from the last one of a role up to the first one of another role; none without these."""
    parts = skeleton.parts
    last = [
        b
        for b in parts
        if parts[b] == (tip, side) and not any(skeleton.parents[c] == b for c in parts if parts[c] == parts[b])
    ]
    line = last[:1]
    while line and skeleton.parents[line[-1]] >= 0:
        line.append(skeleton.parents[line[-1]])
    tops = [number for number, bone in enumerate(line) if parts.get(bone) == (root, side)]
    return line[: tops[-1] + 1] if tops else []


@pytest.mark.parametrize("name", MPFB)
def test_a_pole_is_where_the_knee_or_elbow_of_a_rest_skeleton_points(name: str) -> None:
    skeleton = MPFB[name]
    armature = make_skeleton(skeleton)
    tried = 0
    for tip, root, middle in [*KNEES, *ELBOWS]:
        line = limb_line(skeleton, tip, root, "LEFT")
        roles = [skeleton.parts.get(bone, ("", ""))[0] for bone in line]
        if not line:
            continue
        lower = [line[number] for number, role in enumerate(roles) if role == middle]
        upper = [bone for bone, role in zip(line, roles, strict=True) if role in {"THIGH", "UPPER_ARM"}]
        first, knee, last = (armature.pose.bones[skeleton.names[bone]] for bone in (upper[-1], lower[-1], lower[0]))
        at_rest = np.array([first.head, knee.head, last.tail])
        chain = add_chain(armature, skeleton.names[line[0]], len(line), create_target=True, create_pole=True)
        assert angle(np.array(chain.pole_target.location) - at_rest[1], bend(at_rest)) < 45.0, (tip, root)
        bpy.ops.pose.fabrik_solve(only_active=True)
        assert chain.status == "REACHED", (tip, root)
        assert angle(bend(np.array([first.head, knee.head, last.tail])), bend(at_rest)) < 45.0, (tip, root)
        bpy.ops.pose.fabrik_chain_remove()
        bpy.ops.pose.select_all(action="SELECT")
        bpy.ops.pose.transforms_clear()
        tried += 1
    assert tried >= 6


@pytest.mark.parametrize("name", MPFB)
def test_a_knee_or_elbow_of_a_rest_skeleton_stays_a_hinge_while_its_target_is_lifted(name: str) -> None:
    skeleton = MPFB[name]
    armature = make_skeleton(skeleton)
    for tip, root, middle in [*KNEES, *ELBOWS]:
        line = limb_line(skeleton, tip, root, "LEFT")
        lower = [bone for bone in line if skeleton.parts.get(bone, ("", ""))[0] == middle]
        if len(line) < 3:
            continue
        chain = add_chain(armature, skeleton.names[line[0]], len(line), create_target=True, create_pole=True)
        hinge, step = swing_of_hinge(armature, chain, skeleton.names[lower[-1]], 0.0)
        assert hinge < MOST_HINGE and step < MOST_STEP, (tip, root, hinge, step)
        bpy.ops.pose.fabrik_chain_remove()
        bpy.ops.pose.select_all(action="SELECT")
        bpy.ops.pose.transforms_clear()


@pytest.mark.parametrize("name", ["human", "wolf", "cat"])
def test_a_leg_with_its_foot_stays_as_it_is(name: str) -> None:
    armature = metarig(f"{name}_metarig")
    before = np.array([bone.matrix for bone in armature.pose.bones])
    chain = add_chain(armature, "foot.L", 3, create_target=True, create_pole=True)
    assert chain.use_rotation
    bpy.ops.pose.fabrik_solve()
    assert chain.status == "REACHED"
    assert np.abs(np.array([bone.matrix for bone in armature.pose.bones]) - before).max() <= 1e-5
    chain.target.location.z += 0.2 * armature.pose.bones["shin.L"].length
    bpy.ops.pose.fabrik_solve()
    rest, now = (joints_of_bend(armature, "shin.L", is_rest) for is_rest in (True, False))
    assert angle(bend(rest), bend(now)) < 30.0 and np.linalg.norm(bend(now)) > np.linalg.norm(bend(rest))


def straight_leg(roll: float = 0.0) -> Object:
    return make_armature(
        [
            Bone("upper", (0, 0, 2), (0, 0, 1), roll=roll),
            Bone("lower", (0, 0, 1), (0, 0, 0), "upper", connected=True, roll=roll),
            Bone("end", (0, 0, 0), (0, -0.3, 0), "lower", connected=True, roll=roll),
        ]
    )


@pytest.mark.parametrize("axis", [0, 2])
@pytest.mark.parametrize("side", [-1.0, 1.0])
@pytest.mark.parametrize("count", [2, 3])
def test_a_straight_joint_with_a_hinge_bends_as_the_hinge_allows(axis: int, side: float, count: int) -> None:
    armature = straight_leg(0.4)
    bone = armature.pose.bones["lower"]
    for index, name in enumerate("xyz"):
        setattr(bone, f"lock_ik_{name}", index != axis)
    name = "xyz"[axis]
    setattr(bone, f"use_ik_limit_{name}", True)
    setattr(bone, f"ik_min_{name}", min(0.0, 2.0 * side))
    setattr(bone, f"ik_max_{name}", max(0.0, 2.0 * side))
    bone.rotation_mode = "XYZ"
    bone.rotation_euler[axis] = 0.5 * side
    update()
    bent = bend(joints_of_bend(armature, "lower"))
    bone.rotation_euler[axis] = 0.0
    update()
    chain = add_chain(armature, ("lower", "end")[count - 2], count, create_target=True, create_pole=True)
    to_pole = np.array(chain.pole_target.location) - np.array(bone.head)
    assert angle(to_pole, bent) < 15.0


def straight_human() -> Object:
    """Rigify's human with knees and elbows that are straight at rest."""
    armature = metarig("basic_human_metarig")
    bpy.ops.object.mode_set(mode="EDIT")
    bones = armature.data.edit_bones
    for upper, lower in (("thigh", "shin"), ("upper_arm", "forearm")):
        for side in "LR":
            before, after = bones[f"{upper}.{side}"], bones[f"{lower}.{side}"]
            middle = before.head.lerp(after.tail, before.length / (before.length + after.length))
            before.tail = after.head = middle
    bpy.ops.object.mode_set(mode="POSE")
    return armature


@pytest.mark.parametrize(("tip", "count", "middle"), [*LEGS, *ARMS, LEG_AND_TOE])
def test_straight_knees_point_forward_and_straight_elbows_backward(tip: str, count: int, middle: str) -> None:
    """Knees bent aside, and backward where a foot was in the chain."""
    armature = straight_human()
    chain = add_chain(armature, tip, count, create_target=True, create_pole=True)
    joints = joints_of_bend(armature, middle)
    along = (joints[2] - joints[0]) / np.linalg.norm(joints[2] - joints[0])
    forward = np.array((0.0, -1.0 if "shin" in middle else 1.0, 0.0))
    to_pole = np.array(chain.pole_target.location) - joints[1]
    assert angle(to_pole - along * (to_pole @ along), forward - along * (forward @ along)) < 15.0
    before = np.array([bone.matrix for bone in armature.pose.bones])
    bpy.ops.pose.fabrik_solve()
    update()
    assert np.allclose(before, [bone.matrix for bone in armature.pose.bones], atol=1e-3)
    chain.target.location += 0.2 * (Vector(joints[0]) - chain.target.location)
    bpy.ops.pose.fabrik_solve()
    update()
    assert chain.status == "REACHED"
    assert bend(joints_of_bend(armature, middle)) @ forward > 0.0


def test_a_straight_arm_that_points_forward_gets_the_pole_of_any_straight_chain() -> None:
    """Backward is along the arm: no side for a pole."""
    armature = straight_human()
    bpy.ops.object.mode_set(mode="EDIT")
    bones = armature.data.edit_bones
    for name in ("upper_arm.L", "forearm.L", "hand.L"):
        bone = bones[name]
        bone.tail = bone.head + Vector((0.0, -bone.length, 0.0))
    bpy.ops.object.mode_set(mode="POSE")
    chain = add_chain(armature, "forearm.L", 2, create_target=True, create_pole=True)
    joints = joints_of_bend(armature, "forearm.L")
    to_pole = np.array(chain.pole_target.location) - joints[1]
    assert abs(angle(to_pole, joints[2] - joints[0]) - 90.0) < 1.0


def test_a_joint_that_is_posed_straight_bends_as_it_does_at_rest() -> None:
    armature = make_armature(
        [
            Bone("upper", (0, 0, 2), (0, -0.1, 1)),
            Bone("lower", (0, -0.1, 1), (0, 0, 0), "upper", connected=True),
        ]
    )
    lower, upper = armature.pose.bones["lower"], armature.pose.bones["upper"]
    rest = bend(joints_of_bend(armature, "lower", is_rest=True))
    lower.rotation_mode = upper.rotation_mode = "XYZ"
    lower.rotation_euler.x = math.copysign(2.0 * math.atan(0.1), -(lower.x_axis.cross(upper.y_axis)).dot(lower.y_axis))
    upper.rotation_euler.y = math.radians(90.0)  # about its own axis: its bend at rest turns along
    update()
    joints = joints_of_bend(armature, "lower")
    if np.linalg.norm(bend(joints)) > 1e-3:
        lower.rotation_euler.x *= -1.0
        update()
        joints = joints_of_bend(armature, "lower")
    assert np.linalg.norm(bend(joints)) < 1e-3
    chain = add_chain(armature, "lower", 2, create_target=True, create_pole=True)
    to_pole = np.array(chain.pole_target.location) - joints[1]
    turned = np.array((armature.pose.bones["upper"].matrix @ upper.bone.matrix_local.inverted()).to_3x3()) @ rest
    assert angle(to_pole, turned) < 15.0
    leave_mode()
