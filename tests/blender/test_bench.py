# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the bench makes that needs Blender's module: pictures, and the problems that other people's solvers get."""

from __future__ import annotations

import sys
from pathlib import Path

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Quaternion

from scripts.benchmark import body_reach_rows, body_reconstruction_rows, clips, peers, plots
from scripts.benchmark.blender_chain import new_scene
from scripts.benchmark.limit_sets import SETS
from scripts.benchmark.problems import Effort


def test_every_picture_is_drawn_and_is_small(tmp_path: Path) -> None:
    drawn = plots.draw_all(tmp_path, Effort(targets=3, longest=3, timed_runs=1))
    assert {path.name for path in drawn} == {f"solvers-{name}.png" for name in ("error", "time", "reach", "planar")}
    for path in drawn:
        assert path.read_bytes().startswith(b"\x89PNG") and 5_000 < path.stat().st_size < 200_000


def test_a_chain_of_hinges_is_given_to_libraries_that_have_hinges_only() -> None:
    told = {constrained_chain.name: peers._hinges(constrained_chain) for constrained_chain in SETS}
    axes, ends = told["alternating hinges, 3"] or ([], [])
    assert len(axes) == len(ends) == 3 and all(len(axis) == 1 for axis in axes)
    assert axes[0] != axes[1]
    np.testing.assert_allclose(np.abs(ends), np.radians(60.0))
    assert told["arm"] is None and told["balls, 3"] is None


def test_a_peer_that_does_not_run_has_no_results(capfd: object) -> None:
    answers = peers._peer(Path(sys.executable), "pyfabrik", np.eye(3), np.ones((2, 3)))
    assert np.isnan(answers.errors).all() and len(answers.errors) == 2


def test_both_of_blenders_own_solvers_are_measured() -> None:
    joints = np.array([[0.0, 0.0, 0.0], [0.0, 0.1, 0.5], [0.0, 0.0, 1.0]])
    targets = np.array([[0.3, 0.2, 0.6], [0.2, -0.3, 0.5]])
    for kind in ("standard", "iTaSC"):
        answers = peers._blenders(joints, targets, kind)
        assert (answers.errors < 1e-2).all() and (answers.seconds > 0.0).all()


def test_a_captured_pose_is_found_from_rest_by_six_handles() -> None:
    """All targets can be met at once: a descent that keeps to the first level from its start ended 0.06 away."""
    motion = body_reconstruction_rows.Motion(body_reconstruction_rows.MOTION)
    handles = body_reconstruction_rows.ALL_HANDLES
    for has_rotations in (True, False):
        found = body_reconstruction_rows.errors_of(
            motion, motion.poses[:30:10], handles, has_rotations, motion.pose_body
        )
        assert found.targets.max() < 1e-3
        assert found.joints.mean() < 0.05


def test_what_the_parts_take_of_a_reach_is_all_of_it() -> None:
    motion = body_reconstruction_rows.Motion(body_reconstruction_rows.MOTION)
    reaches = body_reach_rows.reaches_of(motion, 3)
    assert len(reaches.distances) == 6
    np.testing.assert_allclose(reaches.captured.sum(axis=1), reaches.distances, atol=1e-5)
    met = reaches.missed < 1e-4
    assert met.any()
    np.testing.assert_allclose(reaches.body[met].sum(axis=1), reaches.distances[met], atol=1e-3)


@pytest.mark.parametrize(("bone", "part"), [("Hips", 1), ("Spine", 2), ("LeftShoulder", 3), ("LeftArm", 4)])
def test_what_a_turned_bone_takes_of_a_reach_is_its_parts(bone: str, part: int) -> None:
    """The reach is from where the shoulder is at rest, with the hand moved by what turned it."""
    motion = body_reconstruction_rows.Motion(body_reconstruction_rows.MOTION)
    for each in motion.rig.pose.bones:
        each.matrix_basis.identity()
    motion.rig.pose.bones[bone].rotation_quaternion = Quaternion((1.0, 0.0, 0.0), 0.4)
    bpy.context.view_layer.update()
    bones = motion.rig.pose.bones
    distance, turned = body_reach_rows._taken(motion, lambda name: bones[name].matrix, Matrix(), "Hand.L")
    moved = np.flatnonzero(np.abs(turned[:-1]) > 1e-4)
    assert moved.tolist() == ([part] if part < 4 else [])
    np.testing.assert_allclose(turned.sum(), distance, atol=1e-5)


ARM = """<robot>
<joint name="root" type="fixed"><parent link="base"/><child link="root"/><origin xyz="0 0 0"/></joint>
<joint name="elbow" type="revolute"><parent link="root"/><child link="elbow"/><origin xyz="0 -2 0"/>
<axis xyz="0 0 1"/></joint>
<joint name="wrist" type="fixed"><parent link="elbow"/><child link="wrist"/><origin xyz="0 -4 0"/></joint>
</robot>"""


def test_pybullets_motions_look_along_minus_y_with_z_up(tmp_path: Path) -> None:
    """The elbow's bend is forward: along x in the package."""
    file = tmp_path / "arm.bvh"
    file.write_text(clips.bvh_text(ARM, [[0.1, 1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0, np.pi / 2.0]]), encoding="utf-8")
    new_scene()
    bpy.ops.preferences.addon_enable(module="io_anim_bvh")
    bpy.ops.import_anim.bvh(filepath=str(file))
    bpy.context.scene.frame_set(1)
    bones = bpy.context.object.pose.bones
    np.testing.assert_allclose(bones["pelvis"].head, (-3.0, -1.0, 2.0), atol=1e-5)
    np.testing.assert_allclose(bones["elbow"].head, (-3.0, -1.0, 1.5), atol=1e-5)
    np.testing.assert_allclose(bones["wrist"].head, (-3.0, -2.0, 1.5), atol=1e-5)


def test_motions_that_cannot_be_fetched_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setattr(clips, "FOLDER", tmp_path / "clips")
    assert clips.pybullet_clips() == []
    assert "left out" in capsys.readouterr().err
