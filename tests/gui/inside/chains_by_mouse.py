# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Chains set up and posed with the mouse: the list, and targets and poles in Pose mode."""

from __future__ import annotations

from typing import Any

import bpy
from mathutils import Vector
from stage import (
    Stage,
    Steps,
    activate,
    check,
    click,
    find_button,
    human,
    middle,
    open_sidebar,
    over,
    region,
    rig_now,
    shot,
)


def selected(rig: Any) -> list[str]:
    return [bone.name for bone in rig.pose.bones if bone.select]


def chain_list() -> Steps:
    """+ with two selected bones, and a click on a row of the list."""
    rig = human("foot.R")
    activate(rig, "hand.L")
    with over():
        bpy.ops.ed.undo_push(message="two bones")
    yield 0.4
    yield from open_sidebar()
    at = yield from find_button("pose.fabrik_chain_add", across=0.83)
    check(at, f"there is a button to add a chain, at {at}")
    if not at:
        return
    yield from click(at)
    yield 0.4
    rig = rig_now()
    check([chain.tip for chain in rig.fabrik.chains] == ["hand.L", "foot.R"], "+ adds a chain for each selected bone")
    check(rig.fabrik.active_index == 0, "the active bone's chain is the active one")
    at = yield from find_button("fabrik.list_index", across=0.4)
    check(at, f"there are the rows of two chains, around {at}")
    if not at:
        return
    yield from click(at - Vector((0.0, 10.0)))
    yield 0.4
    shot("chain-list")
    rig = rig_now()
    check(rig.fabrik.active_index == 1, "a click on a row makes its chain active")
    check(selected(rig) == ["foot.R"] and rig.data.bones.active.name == "foot.R", f"and its bone ({selected(rig)})")
    Stage.hands.move(*middle(region()))
    yield 0.3
    Stage.hands.key("Z", "ctrl")
    yield 0.6
    rig = rig_now()
    check(len(rig.fabrik.chains) == 2 and set(selected(rig)) == {"hand.L", "foot.R"}, "undo takes the click back")
    check(rig.fabrik.active_index == 0, "with the active chain")
