# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The mannequin of the demo, and the pictures in which handles are drawn over it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import bmesh
import bpy
import numpy as np
import pytest
from mathutils import Matrix, Vector

from tests.blender.rigs import make_tail, metarig

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


@pytest.fixture
def mannequin(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(SCRIPTS)
    import mannequin

    return mannequin


@pytest.fixture
def picture(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(SCRIPTS)
    import picture

    return picture


@pytest.mark.parametrize("name", ["human_metarig", "basic_human_metarig", "horse_metarig", "basic_quadruped_metarig"])
def test_every_part_has_a_closed_solid_of_its_own(mannequin: Any, name: str) -> None:
    armature = metarig(name)
    solids = mannequin.make_mannequin(armature)
    assert not armature.fabrik.body.parts, "a body that was made for the mannequin is removed"
    drawn = {solid.bone for solid in solids}
    parts = {"spine.003", "thigh.L", "thigh.R"}
    assert parts <= drawn
    for solid in solids:
        shape = bmesh.new()
        shape.from_mesh(solid.mesh)
        assert all(len(edge.link_faces) == 2 for edge in shape.edges), solid.bone
        assert shape.calc_volume() > 0, f"the faces of {solid.bone} look outward"
        shape.free()
    heights = [vertex.co.z for solid in solids for vertex in solid.mesh.vertices]
    assert abs(min(heights)) < 0.02 * max(heights), "the soles are on the floor"


def test_both_sides_are_alike(mannequin: Any) -> None:
    armature = metarig("human_metarig")
    solids = mannequin.make_mannequin(armature)
    extent = {}
    for solid in solids:
        points = np.array([vertex.co[:] for vertex in solid.mesh.vertices])
        extent.setdefault(solid.bone, []).append((points[:, 1:].min(axis=0), points[:, 1:].max(axis=0)))
    for name in ("upper_arm", "hand", "thigh", "foot"):
        np.testing.assert_allclose(extent[f"{name}.L"], extent[f"{name}.R"], atol=1e-3)


def test_what_is_no_body_is_drawn_as_capsules(mannequin: Any) -> None:
    drawn = {solid.bone for solid in mannequin.make_mannequin(make_tail(5))}
    assert drawn >= {f"bone{number}" for number in range(5)}


def test_marks_are_drawn_where_the_camera_sees_them(mannequin: Any, picture: Any, tmp_path: Path) -> None:
    armature = metarig("basic_human_metarig")
    figure = picture.look_at(armature, "", mannequin.make_mannequin(armature))
    crown = Vector((0.0, 0.0, 2.0))
    marked = replace(figure, marks=(picture.Mark("disc", crown, picture.PULLED),))
    moved = marked.moved(Matrix.Translation((3.0, 0.0, 0.0)))
    assert (moved.marks[0].place - Vector((3.0, 0.0, 2.0))).length < 1e-6
    picture.render([marked], tmp_path / "one.png", picture.View(120, 160))
    from PIL import Image

    with Image.open(tmp_path / "one.png") as image:
        assert image.mode == "P" and image.size == (120, 160)
        pixels = np.asarray(image.convert("RGB")).astype(int)
    orange = np.argwhere(np.abs(pixels - [213, 94, 0]).max(axis=2) < 40)
    assert len(orange) > 0
    row, column = orange.mean(axis=0)
    assert row < 40 and 40 < column < 80


def test_a_drag_through_places_ends_where_it_began(mannequin: Any, picture: Any) -> None:
    import moving_picture

    armature = metarig("basic_human_metarig")
    assert bpy.ops.pose.fabrik_body_add() == {"FINISHED"}
    figures = moving_picture.drag(armature, [(0.5, -0.4, 1.5), (0.3, -0.5, 0.8)], 4)
    assert len(figures) == 12
    for name in ("foot.L", "foot.R"):
        for figure in figures:
            assert (figure.matrices[name].translation - figures[0].matrices[name].translation).length < 1e-4
    hand = [figure.matrices["hand.L"].translation for figure in figures]
    assert (hand[4] - hand[0]).length > 0.2
    path = moving_picture.smooth_path([Vector((0, 0, 0)), Vector((1, 0, 0)), Vector((0, 1, 0)), Vector((0, 0, 0))], 4)
    assert [tuple(path[number]) for number in (0, 4, 8)] == [(0, 0, 0), (1, 0, 0), (0, 1, 0)]
