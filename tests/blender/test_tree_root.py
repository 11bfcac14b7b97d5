# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Root: Follows belongs to a tree: shown and set once for all its chains, whichever of them is the active one."""

from __future__ import annotations

from typing import Any

import bpy
import pytest
from mathutils import Vector

from fabrik_addon.blender.drag import ChainDrag, Grab
from fabrik_addon.blender.rig.connected_chains import chains_of_tree
from fabrik_addon.blender.rig.snapshot import take_snapshot
from fabrik_addon.blender.solving.chain_groups import unite_chains
from tests.blender.rigs import Bone, activate, add_chain, make_armature, set_chain, update
from tests.blender.test_panel import draw, labels
from tests.blender.test_trees import add, make_y

TIPS = ("trunk2", "arm2.L", "arm2.R")


def tree() -> tuple[Any, list[Any]]:
    armature = make_y()
    for tip, count in zip(TIPS, (0, 3, 3), strict=True):
        add(armature, tip, count, (0.1, 0.2, 0.3))
    update()
    return armature, list(armature.fabrik.chains)


@pytest.mark.parametrize("number", range(3))
def test_set_on_any_it_is_set_on_all(number: int) -> None:
    _armature, chains = tree()
    chains[number].root_motion = "TRANSLATE"
    assert [chain.root_motion for chain in chains] == ["TRANSLATE"] * 3
    chains[number - 1].root_motion = "FIXED"
    assert [chain.root_motion for chain in chains] == ["FIXED"] * 3


def test_it_does_the_same_on_whichever_chain_it_is_set() -> None:
    moved = set()
    for number in range(3):
        armature, chains = tree()
        for chain in chains:
            chain.target.location.z += 2.0
        chains[number].root_motion = "TRANSLATE"
        update()
        bpy.ops.pose.fabrik_solve()
        moved.add(tuple(armature.pose.bones["trunk0"].location))
    assert len(moved) == 1 and max(map(abs, *moved)) > 0.1


@pytest.mark.parametrize(
    "settings", [{"enabled": False}, {"use_stretch": True}, {"influence": 0.0}, {"solver": "CCD"}, {"tip": "elbow"}]
)
def test_a_chain_that_is_solved_alone_keeps_its_own(settings: dict[str, Any]) -> None:
    _armature, chains = tree()
    for name, value in settings.items():
        setattr(chains[1], name, value)
    chains[0].root_motion = "TRANSLATE"
    assert [chain.root_motion for chain in chains] == ["TRANSLATE", "FIXED", "TRANSLATE"]
    chains[1].root_motion = "TRANSLATE"
    chains[1].root_motion = "FIXED"
    assert [chain.root_motion for chain in chains] == ["TRANSLATE", "FIXED", "TRANSLATE"]


@pytest.mark.parametrize("kind", ["tree", "apart", "loop", "solvers"])
def test_the_tree_is_the_one_that_is_solved(kind: str) -> None:
    armature, chains = tree()
    if kind != "tree":
        chains[0].enabled = False  # the arms have nothing in common then
    if kind == "loop":
        for chain, other in ((chains[1], "arm1.R"), (chains[2], "arm1.L")):
            chain.target, chain.subtarget = armature, other
    if kind == "solvers":
        chains[0].enabled, chains[0].solver, chains[1].solver = True, "JACOBIAN_DLS", "JACOBIAN_DLS"
    update()
    enabled = [chain for chain in chains if chain.enabled]
    groups = unite_chains([take_snapshot(bpy.context.view_layer, armature, chain) for chain in enabled])
    wanted = {frozenset(group.names) for group in groups}
    found = {frozenset(one.name for one in chains_of_tree(chain, chains)) for chain in enabled}
    assert found == wanted and (len(found) == 1) == (kind in {"tree", "loop"})


def test_a_chain_that_is_added_takes_that_of_its_tree() -> None:
    armature = make_y()
    set_chain(armature, "trunk2", 3, None).use_pin = True
    armature.fabrik.chains[0].root_motion = "TRANSLATE"
    activate(armature, "arm2.L")
    bpy.ops.pose.fabrik_chain_add(chain_count=3)
    assert armature.fabrik.chains[1].root_motion == "TRANSLATE"


def test_the_panel_says_that_it_is_shared() -> None:
    armature, chains = tree()
    assert "Shared by 3 chains" in labels(draw()["Solver"])
    chains[0].enabled = False
    armature.fabrik.active_index = 1
    assert "Shared" not in labels(draw()["Solver"])


def test_a_root_that_follows_a_drag_doesnt_keep_the_way_of_the_move_before() -> None:
    """A move writes the root's location from the start, and not from where Blender shows the move before."""
    bones = [Bone("hips", (0, 0, 0), (0, 0, 1))]
    for side, x in (("L", 1.0), ("R", -1.0)):
        bones += [
            Bone(f"upper.{side}", (0, 0, 1), (x, 0, 1.3), "hips"),
            Bone(f"lower.{side}", (x, 0, 1.3), (2 * x, 0, 1.2), f"upper.{side}", True),
        ]
    armature = make_armature(bones)
    for side in "LR":
        add_chain(armature, f"lower.{side}", 3).root_motion = "TRANSLATE"
    armature.fabrik.chains[1].use_pin = True
    update()
    for moves in ([(0.3, 0.4, 0.3)], [(0.5, 0.0, 1.0), (0.3, 0.4, 0.3)]):
        session = ChainDrag(bpy.context.view_layer, armature, Grab("lower.L", "lower.L"))
        for move in moves:
            session.move(bpy.context.view_layer, session.start_position + Vector(move))
        pinned = armature.pose.bones["lower.R"].tail.copy()
        assert (pinned - Vector((-2.0, 0.0, 1.2))).length < 1e-4
        assert session.distance_left < 0.3, moves
        session.cancel(bpy.context.view_layer)
