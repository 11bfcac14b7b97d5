# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The header during a drag: short, about the dragged chain, in the scene's units."""

from __future__ import annotations

from typing import Any

import bpy
from mathutils import Matrix, Vector

from fabrik_addon.blender.drag import ChainDrag, Grab
from fabrik_addon.blender.drag.drag_header import header_text
from fabrik_addon.blender.drag.mouse_to_world import DragPointer
from tests.blender.rigs import make_tail, update
from tests.blender.test_mouse_to_world import make_view
from tests.blender.test_trees import add, make_y


def said(session: ChainDrag, offset: Any, lock: int | None = None, typed: str = "") -> str:
    session.move(bpy.context.view_layer, session.start_position + Vector(offset))
    view = make_view(Vector((4.0, -7.0, 3.0)), session.start_position)
    start = session.start_position
    pointer = DragPointer(view, view.pixel_of(start) or Vector((0.0, 0.0)), start, Matrix.Identity(3))
    if lock is not None:
        pointer.press_axis(lock, False)
    for character in typed:
        pointer.numbers.type(character)
    return header_text(session, pointer, bpy.context.scene.unit_settings)


def drag(armature: Any, bone: str, count: int, pins: str = "PINNED") -> ChainDrag:
    return ChainDrag(bpy.context.view_layer, armature, Grab(bone), count, pins)


def test_lengths_are_in_the_scenes_units() -> None:
    session = drag(make_tail(3), "bone2", 3)
    units = bpy.context.scene.unit_settings
    units.system, units.scale_length = "METRIC", 1.0
    assert said(session, (0.0, 0.0, 0.0)) == "'bone2', 3 bones    D: 0 m (0 m, 0 m, 0 m)    Not Moved"
    text = said(session, (0.3, 0.0, -0.4))
    assert "D: 50 cm (30 cm, 0 m, -40 cm)" in text and text.endswith("    Reached")
    length = (session.tip_position - session.armature.matrix_world @ session.snapshot.bones.bones[0].head).length
    away = said(session, (0.0, 0.0, 30.0))
    assert length < 4.0 and "Out of Reach, " in away and away.endswith(" m off")
    shown = float(away.rpartition("Reach, ")[2].removesuffix(" m off"))
    assert abs(shown - (session.tip_position - session.position).length) < 1e-2
    units.scale_length = 0.01
    assert "D: 5 mm (3 mm, 0 m, -4 mm)" in said(session, (0.3, 0.0, -0.4))
    units.system = "NONE"
    assert "D: 0.5 (0.3, 0, -0.4)" in said(session, (0.3, 0.0, -0.4))


def test_locks_and_typed_numbers_are_there() -> None:
    session = drag(make_tail(3), "bone2", 1)
    text = said(session, (0.2, 0.0, 0.0), 0, ".2")
    assert "'bone2', 1 bone " in text and "[.2|] along global X" in text


def test_others_that_are_off_are_counted_and_no_reason_is_spelt_out() -> None:
    armature = make_y()
    add(armature, "arm2.L", 3, solver="CCD")  # solved after the trunk has moved
    add(armature, "arm2.R", 3, solver="CCD")
    update()
    session = drag(armature, "trunk2", 3, "PINNED")
    hands = [armature.pose.bones[f"arm2.{side}"] for side in "LR"]
    ends = [hand.tail.copy() for hand in hands]
    for offset, tail in (((0.05, 0.0, -0.05), "1 other chain off"), ((3.0, 0.0, -1.0), "2 other chains off")):
        text = said(session, offset)
        off = [hand for hand, end in zip(hands, ends, strict=True) if (hand.tail - end).length > 1e-3]
        assert text.endswith(tail) and int(tail[0]) == len(off), text
        assert len(text) < 120 and "reach at most" not in text and ":" not in text.partition("D:")[2]
