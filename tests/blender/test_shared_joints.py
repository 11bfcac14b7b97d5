# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bones that start at the same place, as hips, tail and thighs do in many rigs: one of them rotates, of a body all."""

from __future__ import annotations

import itertools
from typing import Any

import bpy
import numpy as np
import pytest
from bpy.types import Object
from mathutils import Vector

from tests.blender.rigs import (
    Bone,
    channels_of,
    distance_left,
    end_of,
    links_of,
    make_armature,
    make_empty,
    metarig,
    set_chain,
    update,
)
from tests.blender.test_body import make_body
from tests.blender.test_trees import add


def make_arm() -> tuple[Object, Any]:
    """The arm starts where the shoulder does, and not at its tail."""
    armature = make_armature(
        [
            Bone("shoulder", (0, 0, 0), (0, 0.1, 1)),
            Bone("arm", (0, 0, 0), (0, 1, 0), "shoulder"),
            Bone("hand", (0, 1, 0), (0, 1.2, 1), "arm"),
        ]
    )
    chain = set_chain(armature, "hand", 3, make_empty("target", (0.5, 0.9, 1.1)))
    update()
    return armature, chain


@pytest.mark.parametrize("what", ["nothing", "inherit", "limits"])
def test_the_upper_bone_turns_unless_it_can_not_or_takes_nothing_along(what: str) -> None:
    armature, chain = make_arm()
    shoulder, arm, _ = armature.pose.bones
    if what == "inherit":
        arm.bone.use_inherit_rotation = False
    if what == "limits":
        shoulder.lock_ik_x = shoulder.lock_ik_y = shoulder.lock_ik_z = True
    update()
    still = arm if what == "nothing" else shoulder
    before, lengths = channels_of(still), links_of(armature, chain)
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    assert chain.status == "REACHED" and distance_left(armature, chain) < 1e-4
    assert channels_of(still) == before
    np.testing.assert_allclose(links_of(armature, chain), lengths, atol=1e-6)
    if what == "limits":
        chain.use_limits = False  # then it can turn
        chain.target.location = (-0.5, 0.9, 1.0)
        update()
        bpy.ops.pose.fabrik_solve()
        assert channels_of(shoulder) != before and distance_left(armature, chain) < 1e-4


def make_animal() -> Object:
    """Hips from whose head a tail and two legs start, the one directly, the others through a pelvis."""
    bones = [Bone("hips", (0, 0, 0), (0, 1, 0)), Bone("chest", (0, 1, 0), (0, 2, 0.2), "hips", connected=True)]
    for name, side in (("tail", (0, -1, 0.3)), ("leg.L", (0.5, 0.1, -1)), ("leg.R", (-0.5, 0.1, -1))):
        above, place = "hips", np.zeros(3)
        for i in range(3):
            end = place + np.array(side) * (1.0 if i != 1 else np.array([1.0, -1.0, 1.0]))
            bones.append(Bone(f"{name}{i}", place, end, above, connected=i > 0))
            above, place = f"{name}{i}", end
    return make_armature(bones)


@pytest.mark.parametrize("tail", [0, 3, 2])
@pytest.mark.parametrize("root", ["FIXED", "TRANSLATE"])
def test_chains_that_meet_there_are_one_tree(tail: int, root: str) -> None:
    """Also where one of them starts with the lower bone, of which the others know that it is a piece of the hips."""
    armature = make_animal()
    add(armature, "chest", 0, (0.1, -0.1, 0.2))
    add(armature, "tail2", tail, (0.4, 0.3, 0.2))
    add(armature, "leg.L2", 0, (0.1, 0.3, 0.5))
    add(armature, "leg.R2", 0)
    for chain in armature.fabrik.chains:
        chain.root_motion = root
    update()
    pinned = end_of(armature, armature.fabrik.chains[3])
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    update()
    chains = armature.fabrik.chains
    assert [chain.status for chain in chains] == ["REACHED"] * 4
    assert all(distance_left(armature, chain) < 1e-4 for chain in list(chains)[:3])
    assert (end_of(armature, chains[3]) - pinned).length < 1e-4
    before = [bone.matrix.copy() for bone in armature.pose.bones]
    bpy.ops.pose.fabrik_solve()
    update()
    moved = [
        (bone.matrix - there).to_translation().length for bone, there in zip(armature.pose.bones, before, strict=True)
    ]
    assert max(moved) < 1e-5


def test_they_bake() -> None:
    armature = make_animal()
    chain = add(armature, "tail2", 0, (0.0, 0.0, 0.0))
    add(armature, "leg.L2", 0, (0.1, 0.3, 0.5))
    chain = armature.fabrik.chains[0]
    chain.target.keyframe_insert("location", frame=1)
    chain.target.location.x += 0.8
    chain.target.keyframe_insert("location", frame=5)
    assert bpy.ops.pose.fabrik_bake(frame_start=1, frame_end=5) == {"FINISHED"}
    for frame in range(1, 6):
        bpy.context.scene.frame_set(frame)
        assert all(distance_left(armature, one) < 1e-3 for one in armature.fabrik.chains), frame


ANIMALS = {
    "cat": ("foot.L", "hand.L", "tail.004"),
    "wolf": ("foot.L", "front_foot.L", "spine"),
    "shark": ("side_fin.L", "jaw.001"),
}


@pytest.mark.parametrize("kind", ANIMALS)
def test_rigifys_animals_reach_from_the_root_of_their_armature(kind: str) -> None:
    armature = metarig(f"{kind}_metarig")
    for tip in ANIMALS[kind]:
        add(armature, tip, 0, (0.03, -0.1, 0.1))
    update()
    assert bpy.ops.pose.fabrik_solve() == {"FINISHED"}
    assert all(chain.status == "REACHED" for chain in armature.fabrik.chains)
    assert all(distance_left(armature, chain) < 1e-4 for chain in armature.fabrik.chains)


def test_all_of_a_body_turn_that_start_at_one_place() -> None:
    """The spine bends at the hips' own head, although the hips' rotation is held."""
    armature = make_person()
    make_body(armature)
    hips = armature.fabrik.body.handles["Hips"]
    hips.use_pin = True
    before = channels_of(armature.pose.bones["spine"])
    frame = armature.pose.bones["hips"].matrix.copy()
    target = armature.pose.bones["head"].head + Vector((0.0, -0.1, -0.012))
    assert bpy.ops.pose.fabrik_body_pull(handle="Head", position=target) == {"FINISHED"}
    update()
    assert (armature.pose.bones["head"].head - target).length < 1e-4
    assert channels_of(armature.pose.bones["spine"]) != before
    np.testing.assert_allclose(armature.pose.bones["hips"].matrix, frame, atol=1e-5)


def make_person() -> Object:
    """A body whose spine starts where its hips do, and whose clavicles start where its neck does."""
    points = [("hips", (0, 0, 1), (0, 0, 1.1), ""), ("spine", (0, 0, 1), (0, 0, 1.25), "hips")]
    points += [("chest", (0, 0, 1.25), (0, 0, 1.5), "spine"), ("neck", (0, 0, 1.5), (0, 0, 1.6), "chest")]
    points += [("head", (0, 0, 1.6), (0, 0, 1.8), "neck")]
    for name, x in (("L", 1.0), ("R", -1.0)):
        arm = [("shoulder", 0.0), ("upper_arm", 0.15), ("forearm", 0.45), ("hand", 0.7), ("", 0.8)]
        leg = [("thigh", (0, 1)), ("shin", (-0.01, 0.55)), ("foot", (0, 0.1)), ("toe", (-0.12, 0)), ("", (-0.2, 0))]
        above = "chest"
        for (part, start), (_, end) in itertools.pairwise(arm):
            points.append((f"{part}.{name}", (x * start, 0, 1.5), (x * end, 0, 1.5), above))
            above = f"{part}.{name}"
        above = "hips"
        for (part, start), (_, end) in itertools.pairwise(leg):
            points.append((f"{part}.{name}", (x * 0.1, *start), (x * 0.1, *end), above))
            above = f"{part}.{name}"
    return make_armature([Bone(*each) for each in points])
