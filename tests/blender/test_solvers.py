# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every solver through Blender: chosen on a chain, keeping limits and locks, and compared with the others."""

from __future__ import annotations

import math

import bpy
import numpy as np
import pytest
from mathutils import Vector

from fabrik_addon.blender.solving.compare_solvers import comparison_of
from fabrik_addon.core import SOLVERS
from fabrik_addon.core.solvers.names import SOLVER_NAMES
from tests.blender.rigs import (
    bones_of,
    clear_scene,
    distance_left,
    error_of,
    joints_of,
    links_of,
    make_empty,
    make_tail,
    other_channels_of,
    pose_of,
    random_rotation,
    rotation_of,
    set_chain,
    set_rotation,
    update,
    warnings_in,
)
from tests.blender.test_trees import add, make_y

every_solver = pytest.mark.parametrize("solver", SOLVERS)


def bones_for(solver: str) -> int:
    return 2 if solver == "TWO_BONE" else 4


def posed_chain(solver: str, target: tuple[float, float, float] = (0.9, 0.6, 0.8), pole: bool = False) -> tuple:
    count = bones_for(solver)
    armature = make_tail(4)
    goal = make_empty("target", armature.pose.bones["bone0"].head + Vector(target) * count / 3.0)
    chain = set_chain(armature, f"bone{count - 1}", count, goal, make_empty("pole", (0.3, -3.0, 1.0)) if pole else None)
    chain.solver = solver
    chain.iterations = 500
    update()
    return armature, chain


def test_the_property_offers_every_solver() -> None:
    _armature, chain = posed_chain("FABRIK")
    items = type(chain).bl_rna.properties["solver"].enum_items
    assert [item.identifier for item in items] == list(SOLVERS)
    assert all(item.name and item.description for item in items)
    assert items["FABRIK"].value == 0
    chain.property_unset("solver")
    assert chain.solver == 'FABRIK'


@every_solver
@pytest.mark.parametrize("pole", [False, True])
def test_the_tip_is_where_it_should_be_in_blender(solver: str, pole: bool) -> None:
    armature, chain = posed_chain(solver, pole=pole)
    links = links_of(armature, chain)
    others = {bone.name: other_channels_of(bone) for bone in armature.pose.bones}
    bpy.ops.pose.fabrik_solve()
    update()
    assert chain.status == 'REACHED'
    assert distance_left(armature, chain) <= chain.tolerance
    np.testing.assert_allclose(links_of(armature, chain), links, rtol=1e-5)
    assert {bone.name: other_channels_of(bone) for bone in armature.pose.bones} == others
    before = joints_of(armature, chain)
    bpy.ops.pose.fabrik_solve()
    update()
    np.testing.assert_allclose(joints_of(armature, chain), before, atol=1e-5)


@every_solver
def test_limits_hold_in_blender(solver: str) -> None:
    armature, _chain = posed_chain(solver, (0.2, 1.6, 1.2))
    for bone in armature.pose.bones[1:]:
        bone.lock_ik_y = bone.lock_ik_z = True
        bone.use_ik_limit_x = True
        bone.ik_min_x, bone.ik_max_x = 0.0, math.radians(100.0)
    update()
    bpy.ops.pose.fabrik_solve()
    update()
    for bone in armature.pose.bones[1:]:
        q = rotation_of(bone)
        assert max(abs(q.y), abs(q.z)) < 1e-5
        assert -1e-4 < 2.0 * math.atan2(q.x, q.w) < math.radians(100.0) + 1e-4


@every_solver
def test_locked_channels_stay_and_the_tip_gets_near(solver: str) -> None:
    armature, chain = posed_chain(solver)
    root = armature.pose.bones["bone0"]
    root.rotation_mode = 'XYZ'
    root.lock_rotation[1] = True
    update()
    bpy.ops.pose.fabrik_solve()
    update()
    assert root.rotation_euler[1] == 0.0
    assert distance_left(armature, chain) <= 0.01
    assert chain.status in {'REACHED', 'LIMITED'}


@every_solver
def test_sheared_bones_are_no_trouble(solver: str) -> None:
    armature, chain = posed_chain(solver, (0.6, 0.5, 0.9))
    armature.pose.bones["bone0"].scale = (1.0, 1.3, 0.8)
    update()
    bpy.ops.pose.fabrik_solve()
    update()
    assert distance_left(armature, chain) <= 1e-3


@every_solver
def test_out_of_reach_is_said(solver: str, capfd: pytest.CaptureFixture[str]) -> None:
    _armature, chain = posed_chain(solver, (5.0, 0.0, 5.0))
    warnings_in(capfd)
    assert bpy.ops.pose.fabrik_solve() == {'FINISHED'}
    (warning,) = warnings_in(capfd)
    assert "out of reach" in warning
    assert chain.status == 'OUT_OF_REACH'


@pytest.mark.parametrize("solver", ["CCD", "JACOBIAN_TRANSPOSE"])
def test_too_few_iterations_are_said(solver: str, capfd: pytest.CaptureFixture[str]) -> None:
    _armature, chain = posed_chain(solver, (0.1, 2.9, 0.1))
    chain.iterations = 2
    warnings_in(capfd)
    bpy.ops.pose.fabrik_solve()
    (warning,) = warnings_in(capfd)
    label = SOLVER_NAMES[solver].label
    assert f"{label} has used all of its 2 iterations: increase Iterations, or choose FABRIK" in warning
    assert chain.status == 'STALLED'


@every_solver
def test_what_blender_shows_elsewhere_is_never_called_reached(solver: str, capfd: pytest.CaptureFixture[str]) -> None:
    """The solver may be content; a constraint that turns a bone on isn't."""
    armature, chain = posed_chain(solver)
    constraint = armature.pose.bones["bone0"].constraints.new("LIMIT_ROTATION")
    constraint.use_limit_x = True
    chain.iterations = 1
    warnings_in(capfd)
    bpy.ops.pose.fabrik_solve()
    (warning,) = warnings_in(capfd)
    assert distance_left(armature, chain) > 1e-3
    assert chain.status != 'REACHED'
    assert "overridden on bone 'bone0' (constraint 'Limit Rotation')" in warning
    assert warning.split(": ")[1].split(",")[0] in {"limited", "stalled", "out of reach"}


def test_two_bone_refuses_other_chains_by_name_and_count() -> None:
    armature, chain = posed_chain("CCD")
    chain.name, chain.solver = "tail", 'TWO_BONE'
    before = pose_of(armature)
    message = error_of(bpy.ops.pose.fabrik_solve)
    assert "Chain 'tail'" in message and "two links" in message and "4" in message
    assert pose_of(armature) == before


def test_two_bone_takes_three_bones_of_which_one_is_locked() -> None:
    armature = make_tail(4)
    middle = armature.pose.bones["bone1"]
    middle.lock_rotation, middle.lock_rotation_w = (True, True, True), True
    chain = set_chain(armature, "bone2", 3, make_empty("target", (0.5, 0.8, 1.5)))
    chain.solver = 'TWO_BONE'
    update()
    bpy.ops.pose.fabrik_solve()
    update()
    assert chain.status == 'REACHED' and distance_left(armature, chain) < 1e-5


def test_comparing_measures_every_solver_and_changes_no_bone() -> None:
    armature, chain = posed_chain("FABRIK")
    before = pose_of(armature)
    assert bpy.ops.pose.fabrik_compare() == {'FINISHED'}
    assert pose_of(armature) == before
    assert chain.status == 'NONE' and chain.solver == 'FABRIK'
    compared = comparison_of(chain)
    assert [row.label for row in compared] == [method.label for method in SOLVER_NAMES.values()]
    for row in compared:
        if row.label == "Two Bone":
            assert row.refusal.startswith("Two Bone is for two links, the chain that ends at bone ")
            continue
        assert row.refusal == "" and row.status == 'REACHED' and row.error <= chain.tolerance
        assert row.iterations >= 1 and row.seconds > 0.0 and row.rotated > 0.1
        assert row.violation is None
    text = bpy.data.texts["FABRIK IK solvers"].as_string()
    assert all(method.label in text for method in SOLVER_NAMES.values())
    assert f"chain '{chain.name}'" in text


def test_a_comparison_says_what_a_solve_then_does() -> None:
    armature, chain = posed_chain("FABRIK")
    bpy.ops.pose.fabrik_compare()
    rows = {row.label: row for row in comparison_of(chain)}
    for name in ("CCD", "JACOBIAN_DLS", "FABRIK"):
        for bone in armature.pose.bones:
            bone.rotation_quaternion = (1.0, 0.0, 0.0, 0.0)
        chain.solver = name
        update()
        bpy.ops.pose.fabrik_solve()
        update()
        row = rows[SOLVER_NAMES[name].label]
        assert chain.iterations_used == row.iterations
        assert chain.error == pytest.approx(row.error, abs=1e-5)
        turned = sum(rotation_of(bone).angle for bone in armature.pose.bones)
        assert turned == pytest.approx(row.rotated, abs=1e-3)


@pytest.mark.parametrize("mode", ["QUATERNION", "AXIS_ANGLE", "XYZ"])
def test_comparing_adds_up_how_far_bones_turn_in_every_rotation_mode(mode: str) -> None:
    rng = np.random.default_rng(2)
    for _ in range(6):
        clear_scene()
        armature = make_tail(3)
        for bone in armature.pose.bones:
            bone.rotation_mode = mode
            set_rotation(bone, random_rotation(rng), turns=int(rng.integers(-1, 2)))
        chain = set_chain(armature, "bone2", 3, make_empty("target", tuple(rng.normal(size=3))))
        before = [rotation_of(bone) for bone in bones_of(armature, chain)]
        bpy.ops.pose.fabrik_compare()
        (compared,) = [row for row in comparison_of(chain) if row.label == SOLVER_NAMES["FABRIK"].label]
        bpy.ops.pose.fabrik_solve()
        update()
        after = [rotation_of(bone) for bone in bones_of(armature, chain)]
        turned = sum(2.0 * math.acos(min(1.0, abs(old.dot(new)))) for old, new in zip(before, after, strict=True))
        assert compared.rotated == pytest.approx(turned, abs=5e-3)


def test_comparing_works_whatever_solver_is_chosen_and_measures_limits() -> None:
    armature, chain = posed_chain("CCD")
    chain.solver = 'TWO_BONE'
    armature.pose.bones["bone1"].use_ik_limit_x = True
    bpy.ops.pose.fabrik_compare()
    rows = [row for row in comparison_of(chain) if not row.refusal]
    assert rows and all(row.violation is not None and row.violation < 1e-5 for row in rows)
    chain.target = None
    assert "has no target" in error_of(bpy.ops.pose.fabrik_compare)


@pytest.mark.parametrize("solver", ["JACOBIAN_TRANSPOSE", "JACOBIAN_PINV", "JACOBIAN_DLS"])
def test_chains_that_share_bones_are_solved_as_one(solver: str) -> None:
    armature = make_y()
    chains = [add(armature, f"arm2.{side}", 0, (-0.3 * sign, 0.2, 0.2)) for side, sign in (("L", 1.0), ("R", -1.0))]
    for chain in chains:
        chain.solver, chain.iterations, chain.tolerance = solver, 500, 1e-3
    update()
    bpy.ops.pose.fabrik_solve()
    update()
    for chain in chains:
        assert chain.status == 'REACHED'
        assert distance_left(armature, chain) <= chain.tolerance


@pytest.mark.parametrize("solver", ["CCD", "TWO_BONE"])
def test_what_takes_one_chain_only_refuses_a_loop_by_name(solver: str) -> None:
    armature = make_y()
    chain = add(armature, "arm2.L", 2, (0.0, 0.0, 0.0))
    chain.name, chain.solver = "loop", solver
    chain.target, chain.subtarget = armature, "arm1.L"
    before = pose_of(armature)
    message = error_of(bpy.ops.pose.fabrik_solve)
    assert "'loop'" in message and SOLVER_NAMES[solver].label in message and "loop: choose FABRIK" in message
    assert pose_of(armature) == before
