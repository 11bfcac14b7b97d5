# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which bone is which part of Rigify's metarigs, and of a rig that it generates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import bpy
import pytest

from fabrik_addon.core.body.recognise import recognise
from scripts.benchmark.skeletons import (
    Skeleton,
    mirrored,
    rigify_skeletons,
    score,
    scrambled,
    with_arms_turned,
    y_up,
)
from tests.blender.rigs import metarig, through_bvh

rigs = cache(rigify_skeletons)
"""Rigify's metarigs and what it generates from them, which takes half a minute."""


def test_metarigs_and_generated_rigs() -> None:
    for skeleton in rigs():
        found = recognise(skeleton.names, skeleton.parents, skeleton.heads, skeleton.tails)
        result = score(skeleton, found)
        assert result.wrong == () and result.right >= 0.84 * result.count, (skeleton.name, result)
        nameless = scrambled(skeleton)
        result = score(
            nameless, recognise(nameless.names, nameless.parents, nameless.heads, nameless.tails, skeleton.deform)
        )
        assert result.wrong == (), (skeleton.name, result)
        if skeleton.deform is not None:
            found = recognise(nameless.names, nameless.parents, nameless.heads, nameless.tails)
            assert found.parts == () and "in layers" in found.open_roles[0].reason


def without(skeleton: Skeleton, first: str) -> Skeleton:
    """Return a skeleton without a bone and all bones below it."""
    gone = {skeleton.names.index(first)}
    for bone, parent in enumerate(skeleton.parents):
        if parent in gone:
            gone.add(bone)
    kept = [bone for bone in range(len(skeleton.names)) if bone not in gone]
    place = {bone: number for number, bone in enumerate(kept)} | {-1: -1}
    return replace(
        skeleton,
        names=[skeleton.names[bone] for bone in kept],
        parents=[place[skeleton.parents[bone]] for bone in kept],
        heads=skeleton.heads[kept],
        tails=skeleton.tails[kept],
        parts={place[bone]: part for bone, part in skeleton.parts.items() if bone in place},
        either={place[bone]: parts for bone, parts in skeleton.either.items() if bone in place},
    )


@pytest.mark.parametrize("missing", ["shoulder.R", "thigh.R"])
def test_a_human_with_a_face_and_one_arm_or_one_leg(missing: str) -> None:
    """A pair of the face was taken for the arms, and without a second thigh the hips were taken for a spine."""
    humans = [one for one in rigs() if one.name in ("metarig human", "metarig basic_human")]
    assert len(humans) == 2
    for human in humans:
        skeleton = without(human, missing)
        result = score(skeleton, recognise(skeleton.names, skeleton.parents, skeleton.heads, skeleton.tails))
        assert result.wrong == () and result.right >= 0.84 * result.count, (skeleton.name, result)


@pytest.mark.parametrize(
    "change",
    [
        lambda skeleton: skeleton,
        y_up,
        mirrored,
        lambda skeleton: with_arms_turned(skeleton, 35.0),
        lambda skeleton: with_arms_turned(skeleton, -40.0),
    ],
    ids=["as it is", "Y up", "mirrored", "arms lower", "arms higher"],
)
def test_a_human_without_legs_stands_neither_on_its_cheeks_nor_on_its_arms(
    change: Callable[[Skeleton], Skeleton],
) -> None:
    """The cheeks of its face, which lead to the nose, or its lowered arms were taken for legs."""
    humans = [one for one in rigs() if one.name in ("metarig human", "metarig basic_human")]
    assert len(humans) == 2
    for human in humans:
        skeleton = change(without(without(human, "thigh.L"), "thigh.R"))
        hips = skeleton.names.index("spine")
        skeleton = replace(skeleton, parts=skeleton.parts | {hips: ("SPINE", "CENTER")})  # nothing tells otherwise
        found = recognise(skeleton.names, skeleton.parents, skeleton.heads, skeleton.tails)
        result = score(skeleton, found)
        assert result.wrong == () and result.missing == (), (skeleton.name, result)
        assert change is y_up or found.creature == "human"


@pytest.mark.parametrize("name", ["wolf", "basic_quadruped", "bird"])
def test_an_animal_without_hind_legs_has_forelegs_hips_and_a_tail(name: str) -> None:
    """The bones of the tail have names of the spine, as those of the trunk have; those of a wing one name, numbered."""
    animal = next(one for one in rigs() if one.name == f"metarig {name}")
    skeleton = without(without(animal, "thigh.L"), "thigh.R")
    result = score(skeleton, recognise(skeleton.names, skeleton.parents, skeleton.heads, skeleton.tails))
    assert result.wrong == () and result.missing == ()


@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_a_neck_whose_tails_an_importer_made_up_ends_at_the_head(scale: float, tmp_path: Path) -> None:
    """At a hundredth of the size the importer makes up the tails of short bones: the neck began with a second head."""
    armature = through_bvh(metarig("basic_human_metarig"), tmp_path, global_scale=scale)
    bpy.ops.pose.fabrik_body_add()
    roles = [(part.bone, part.role) for part in armature.fabrik.body.parts if part.role in {"NECK", "HEAD"}]
    assert roles == [("spine.004", "NECK"), ("spine.005", "NECK"), ("spine.006", "HEAD")]
