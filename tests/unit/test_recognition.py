# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which bone is which part of a body."""

from __future__ import annotations

import numpy as np
import pytest

from fabrik_addon.core.body.part import Recognition
from fabrik_addon.core.body.recognise import recognise
from fabrik_addon.core.problem import FabrikError
from scripts.benchmark.skeletons import (
    CONVENTIONS,
    Skeleton,
    data_skeletons,
    in_centimetres,
    mirrored,
    renamed,
    score,
    scrambled,
    with_arms_turned,
    with_sides_swapped,
    y_up,
)

SKELETONS = {skeleton.name: skeleton for skeleton in data_skeletons()}
POSES = {
    "as it is": lambda skeleton: skeleton,
    "Y up": y_up,
    "centimetres": in_centimetres,
    "arms lower": lambda skeleton: with_arms_turned(skeleton, 40.0) if skeleton.human else skeleton,
    "mirrored": mirrored,
}

NAMES = ["root", "middle", "end"]
PARENTS = [-1, 0, 1]
HEADS = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 2.0]])
TAILS = HEADS + np.array([0.0, 0.0, 1.0])


def found(skeleton: Skeleton) -> Recognition:
    return recognise(skeleton.names, skeleton.parents, skeleton.heads, skeleton.tails)


@pytest.mark.parametrize("pose", POSES)
@pytest.mark.parametrize("name", SKELETONS)
def test_skeletons_that_packages_ship(name: str, pose: str) -> None:
    skeleton = POSES[pose](SKELETONS[name])
    for each in (skeleton, renamed(skeleton, "Unreal"), renamed(skeleton, "MMD")):
        result = score(each, found(each))
        assert result.wrong == () and result.right >= (0.99 if each.human else 0.95) * result.count
    nameless = scrambled(with_sides_swapped(skeleton) if pose == "mirrored" else skeleton)
    result = score(nameless, found(nameless))
    assert result.wrong == () and result.right >= 0.85 * result.count, result.missing


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_each_convention(convention: str) -> None:
    for name in ("mixamo", "default"):
        skeleton = renamed(SKELETONS[name], convention)
        result = score(skeleton, found(skeleton))
        assert result.wrong == () and result.right == result.count, result.missing


def test_parts_are_in_order_and_say_which_limb() -> None:
    skeleton = SKELETONS["mixamo"]
    parts = found(skeleton).parts
    words = [skeleton.names[part.bone].removeprefix("mixamorig:") for part in parts]
    assert words[:6] == ["Hips", "Spine", "Spine1", "Spine2", "Neck", "Head"]
    assert words[6:10] == ["LeftShoulder", "LeftArm", "LeftForeArm", "LeftHand"]
    fingers = {part.limb: word for part, word in zip(parts, words, strict=True) if word.endswith(("Index1", "Thumb3"))}
    assert len({part.limb for part in parts if part.role == "FINGER"}) == 5
    assert sorted(fingers) == [0, 1] and all(0.5 <= part.confidence <= 1.0 for part in parts)


def test_bad_input_is_refused_with_the_name_of_the_bone() -> None:
    with pytest.raises(FabrikError, match="no bones"):
        recognise([], [], np.zeros((0, 3)), np.zeros((0, 3)))
    with pytest.raises(FabrikError, match="3 bones, but 2 parents"):
        recognise(NAMES, PARENTS[:2], HEADS, TAILS)
    with pytest.raises(FabrikError, match=r"heads of 3 bones have shape \(2, 3\)"):
        recognise(NAMES, PARENTS, HEADS[:2], TAILS)
    with pytest.raises(FabrikError, match="parent of middle is bone 3 of 3"):
        recognise(NAMES, [-1, 3, 1], HEADS, TAILS)
    with pytest.raises(FabrikError, match="parents of middle go round in a circle"):
        recognise(NAMES, [-1, 2, 1], HEADS, TAILS)
    with pytest.raises(FabrikError, match="rest position of end is not finite"):
        recognise(NAMES, PARENTS, HEADS, np.where(TAILS == 3.0, np.nan, TAILS))
    with pytest.raises(FabrikError, match="none of the skeleton's bones may take part"):
        recognise(NAMES, PARENTS, HEADS, TAILS, [False] * 3)
