# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies: what is kept on the armature object."""

from __future__ import annotations

from pathlib import Path

import bpy

from tests.blender.rigs import make_tail


def test_a_body_is_empty_until_it_is_made() -> None:
    body = make_tail().fabrik.body
    assert not body.parts and not body.handles
    assert (body.use_floor, body.floor_height, body.use_balance) == (False, 0.0, False)


def test_a_part_whose_bone_is_set_is_corrected() -> None:
    part = make_tail().fabrik.body.parts.add()
    part.bone = "bone1"
    assert part.is_corrected and part.confidence == 1.0
    part.bone = ""
    assert part.confidence == 0.0


def test_a_body_is_kept_in_a_library_override(tmp_path: Path) -> None:
    """Parts and handles that are added to an override are there after the file is loaded again."""
    make_tail(name="Rig")
    library, shot = str(tmp_path / "library.blend"), str(tmp_path / "shot.blend")
    bpy.ops.wm.save_as_mainfile(filepath=library)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    with bpy.data.libraries.load(library, link=True) as (_, found):
        found.objects = ["Rig"]
    bpy.context.scene.collection.objects.link(bpy.data.objects["Rig"])
    rig = bpy.data.objects["Rig"].override_create(remap_local_usages=True)
    for number in range(2):
        part = rig.fabrik.body.parts.add()
        part.name, part.role, part.bone = f"Limb {number + 1}", 'LIMB', f"bone{number}"
        handle = rig.fabrik.body.handles.add()
        handle.name, handle.bone, handle.use_pin, handle.slack = f"Limb {number + 1}", f"bone{number}", True, 0.5
    rig.fabrik.body.use_floor = True
    for _ in range(3):
        bpy.ops.wm.save_as_mainfile(filepath=shot)
        bpy.ops.wm.open_mainfile(filepath=shot)
    body = next(one for one in bpy.data.objects if one.override_library).fabrik.body
    assert [(part.name, part.role, part.bone) for part in body.parts] == [
        ("Limb 1", 'LIMB', "bone0"),
        ("Limb 2", 'LIMB', "bone1"),
    ]
    assert [(one.name, one.bone, one.use_pin, one.slack) for one in body.handles] == [
        ("Limb 1", "bone0", True, 0.5),
        ("Limb 2", "bone1", True, 0.5),
    ]
    assert body.use_floor
