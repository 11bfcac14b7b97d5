# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which bone is which part of a body."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrik_addon.core.body.creature import ARM, LEG
from fabrik_addon.core.body.part import Recognition, Role, Side
from fabrik_addon.core.body.recognise import recognise
from fabrik_addon.core.problem import FabrikError
from scripts.benchmark.random_skeletons import make_random
from scripts.benchmark.skeletons import (
    CONVENTIONS,
    DATA,
    Score,
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
from tests.unit.made_skeletons import (
    Beast,
    Figure,
    make_beast,
    make_chain,
    make_fish,
    make_human,
    make_kangaroo,
    make_many_legged,
    make_octopus,
    make_penguin,
    make_spider,
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
    assert result.wrong == () and result.right >= 0.8 * result.count, result.missing


@pytest.mark.parametrize(("human", "least"), [(True, 0.97), (False, 0.9)])
def test_most_parts_are_told_without_names(human: bool, least: float) -> None:
    scores = [scored(scrambled(each)) for each in SKELETONS.values() if each.human is human]
    assert sum(each.right for each in scores) >= least * sum(each.count for each in scores)


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_each_convention(convention: str) -> None:
    for name in ("mixamo", "default"):
        skeleton = renamed(SKELETONS[name], convention)
        result = score(skeleton, found(skeleton))
        assert result.wrong == () and result.right == result.count, result.missing


FIGURES = {
    "usual": Figure(),
    "one spine bone": Figure(spines=1),
    "six spine bones": Figure(spines=6),
    "no neck": Figure(necks=0),
    "three neck bones": Figure(necks=3),
    "no collar bones": Figure(clavicles=False),
    "no fingers": Figure(fingers=0),
    "no fingers, no collar bones": Figure(fingers=0, clavicles=False),
    "three fingers": Figure(fingers=3),
    "two fingers": Figure(fingers=2),
    "no toes": Figure(toes=False),
    "A-pose": Figure(arm_drop=45.0),
    "arms hang": Figure(arm_drop=80.0),
    "arms raised": Figure(arm_drop=-40.0),
    "sitting": Figure(sitting=True, arm_drop=60.0),
    "one arm": Figure(arms=(-1,)),
    "twist bones beside": Figure(twists="leaf"),
    "twist bones in line": Figure(twists="line"),
    "root on the floor": Figure(root=True),
    "end bones": Figure(ends=True),
    "eyes, jaw, hair, breasts, skirt": Figure(extras=True),
    "made-up tails": Figure(made_up_tails=True),
    "everything": Figure(made_up_tails=True, ends=True, root=True, extras=True, twists="leaf", arm_drop=45.0, build=5),
} | {f"build {build}": Figure(build=build, arm_drop=45.0 * (build % 2)) for build in range(1, 9)}
"""Humans whose parts can be told without names."""

UNSURE = {
    "no arms": Figure(arms=()),
    "one leg": Figure(legs=(1,)),
    "no legs": Figure(legs=()),
    "feet without toes, tails made up": Figure(toes=False, made_up_tails=True),
}
"""Humans some of whose parts are left open without names."""


def scored(skeleton: Skeleton) -> Score:
    return score(skeleton, found(skeleton))


@pytest.mark.parametrize("name", FIGURES)
def test_peculiar_humans(name: str) -> None:
    skeleton = make_human(FIGURES[name])
    for each in (skeleton, renamed(skeleton, "Mixamo"), scrambled(skeleton)):
        result = scored(each)
        assert result.wrong == () and result.missing == ()


def extruded(skeleton: Skeleton, spine: str, arm: str, leg: str) -> Skeleton:
    """Return the skeleton with the names that Blender gives: those of a limb's bones are that of the first, counted."""
    words = dict.fromkeys(ARM[:-1], arm) | dict.fromkeys(LEG, leg)
    names, counts = list(skeleton.names), Counter[str]()
    for bone, (role, side) in skeleton.parts.items():
        if role != Role.FINGER:
            name = f"{words[Role(role)]}.{side[0]}" if Role(role) in words else spine
            names[bone] = f"{name}.{counts[name]:03}" if counts[name] else name
            counts[name] += 1
    return replace(skeleton, names=names)


@pytest.mark.parametrize(
    "words",
    [
        ("Spine", "Arm", "Leg"),
        ("spine", "upper_arm", "thigh"),
        ("body", "forearm", "shin"),
        ("Wirbel", "Arm", "Bein"),  # too few words for a convention: an arm is an upper arm or a forearm
        ("Wirbel", "Vorderbein", "Leg"),
    ],
    ids="/".join,
)
@pytest.mark.parametrize("name", ["usual", "no fingers", "no fingers, no collar bones", "no toes", "one spine bone"])
def test_a_word_that_names_all_bones_of_a_limb_is_that_of_the_limb(name: str, words: tuple[str, str, str]) -> None:
    skeleton = make_human(FIGURES[name])
    for each in (skeleton, mirrored(skeleton)):
        result = scored(extruded(each, *words))
        assert result.wrong == () and result.missing == ()


@pytest.mark.parametrize("name", UNSURE)
def test_what_cannot_be_told_without_names_is_left_open_and_said(name: str) -> None:
    skeleton = make_human(UNSURE[name])
    assert scored(skeleton).wrong == () and scored(skeleton).missing == ()
    nameless = scrambled(skeleton)
    assert scored(nameless).wrong == ()
    result = found(nameless)
    told = {(part.role, part.side) for part in result.parts} | {(each.role, each.side) for each in result.open_roles}
    assert all(each.reason for each in result.open_roles) and result.open_roles
    assert not result.parts or told >= set(skeleton.parts.values())


@pytest.mark.parametrize(
    "skeleton",
    [
        make_spider(),
        make_spider(3),
        make_spider(5, 3),
        make_many_legged(),
        make_many_legged(feelers=True),
        make_many_legged(9, 2),
        make_chain(20),
        make_chain(30, 1.0, True),
        make_octopus(),
    ],
    ids=["spider", "insect", "crab", "beetle", "ant", "centipede", "tentacle", "snake", "octopus"],
)
def test_whatever_else_bends_is_limbs(skeleton: Skeleton) -> None:
    for each in (skeleton, scrambled(skeleton)):
        result = scored(each)
        assert result.wrong == () and result.missing == ()
    limbs = {(part.side, part.limb) for part in found(skeleton).parts if part.role == "LIMB"}
    ends = set(range(len(skeleton.names))) - set(skeleton.parents)
    assert len(limbs) >= len(ends & skeleton.parts.keys())


@pytest.mark.parametrize(
    ("skeleton", "swims"),
    [
        (make_fish(), True),
        (make_fish(pairs=3), True),
        (make_fish(fin_bones=4, drop=-0.5), True),  # of four bones as legs are, and above the ground
        (make_fish(pairs=4), False),
        (make_fish(fin_bones=4), False),
    ],
    ids=["two pairs", "three pairs", "long fins", "four pairs", "legs"],
)
def test_a_long_level_trunk_with_short_limbs_is_a_fish(skeleton: Skeleton, swims: bool) -> None:
    result = found(scrambled(skeleton))
    assert (result.creature == "fish") == swims
    fins = {bone for bone, (role, _) in skeleton.parts.items() if role == "FIN"}
    assert {part.bone for part in result.parts if part.role == "FIN"} == (fins if swims else set())


def test_legs_in_the_place_of_others_are_left_out() -> None:
    """Bones that deform beside those that are posed, as MMD's legs have."""
    skeleton = make_human(Figure())
    legs = sorted(bone for bone, (role, _) in skeleton.parts.items() if role in ("THIGH", "SHIN", "FOOT"))
    count = len(skeleton.names)
    copies = {bone: count + number for number, bone in enumerate(legs)}
    doubled = replace(
        skeleton,
        names=skeleton.names + [f"copy {bone}" for bone in legs],
        parents=skeleton.parents + [copies.get(skeleton.parents[bone], skeleton.parents[bone]) for bone in legs],
        heads=np.vstack([skeleton.heads, skeleton.heads[legs]]),
        tails=np.vstack([skeleton.tails, skeleton.tails[legs]]),
    )
    result = scored(scrambled(doubled))
    assert result.wrong == () and result.missing == ()


BEASTS = {
    "usual": Beast(),
    "no tail": Beast(tails=0),
    "no neck": Beast(necks=0),
    "long neck": Beast(necks=8),
    "no toes": Beast(toes=False),
    "no shoulder blades": Beast(scapulas=False),
    "short legs": Beast(legs=0.25),
    "long legs": Beast(legs=1.1),
    "four legs and wings": Beast(wings=True),
    "two legs and wings": Beast(forelegs=False, wings=True),
    "two legs and small arms": Beast(forelegs=False, small_arms=True, tails=8),
    "two legs": Beast(forelegs=False),
    "made-up tails": Beast(made_up_tails=True),
}


@pytest.mark.parametrize("turned", [lambda skeleton: skeleton, y_up], ids=["Z up", "Y up"])
@pytest.mark.parametrize("name", BEASTS)
def test_beasts(name: str, turned: Callable[[Skeleton], Skeleton]) -> None:
    skeleton = turned(make_beast(BEASTS[name]))
    result = scored(skeleton)
    assert result.wrong == () and result.missing == ()
    result = scored(scrambled(skeleton))
    assert result.wrong == () and result.right >= 0.4 * result.count
    if BEASTS[name].forelegs:
        assert result.right >= 0.8 * result.count


@pytest.mark.parametrize("name", ["usual", "no toes", "no shoulder blades", "no neck"])
def test_all_four_legs_of_an_animal_may_be_called_legs(name: str) -> None:
    """Forelegs are arms by homology: their names contradicted their places, and they were left open."""
    skeleton = make_beast(BEASTS[name])
    result = scored(extruded(skeleton, "Spine", "Leg", "Leg"))
    assert result.wrong == () and result.missing == ()
    roles = {"UPPER_ARM": "Thigh", "FOREARM": "Shin", "HAND": "Foot", "THIGH": "Thigh", "SHIN": "Shin", "FOOT": "Foot"}
    names = list(skeleton.names)
    for bone, (role, side) in skeleton.parts.items():
        if role in roles:
            names[bone] = f"{roles[role]}{1 + (role in LEG)}.{side[0]}"
    result = scored(replace(skeleton, names=names))
    assert result.wrong == () and result.missing == ()


@pytest.mark.parametrize("kind", ["human", "quadruped", "bird"])
def test_random_creatures_with_names_have_no_wrong_part(kind: str) -> None:
    """Hair, skirts, weapons, odd tails, roots above the hips, and segments of 0.7 to 1.4 times the usual length."""
    for seed in range(0, 20, 2):
        result = scored(make_random(kind, seed, "own"))
        assert result.wrong == () and result.right >= 0.8 * result.count, (seed, result)


@pytest.mark.parametrize("kind", ["insect", "spider", "octopus", "snake", "robot arm"])
def test_random_creatures_of_limbs(kind: str) -> None:
    for seed in range(0, 20, 2):
        for naming in ("own", "scrambled"):
            result = scored(make_random(kind, seed, naming))
            assert result.wrong == () and result.right >= 0.5 * result.count, (seed, result)


@pytest.mark.parametrize(("kind", "seed"), [("human", 2013), ("human", 2021), ("two heads", 2118)])
def test_the_middle_of_the_trunk_is_where_pairs_begin(kind: str, seed: int) -> None:
    """Without that a sitting figure with raised arms had no part; with all of the trunk another one had wrong parts."""
    assert len(found(make_random(kind, seed, "scrambled")).parts) >= 12


def test_limbs_all_around_have_the_side_that_the_name_tells() -> None:
    """Nothing else tells which way a spider looks: without names its limbs are in the middle."""
    parts = found(make_random("spider", 2, "own")).parts
    assert {part.side for part in parts if part.role == "LIMB"} == {"LEFT", "RIGHT"}
    limbs = {side: {part.limb for part in parts if part.side == side} for side in ("LEFT", "RIGHT")}
    assert limbs["LEFT"] == limbs["RIGHT"] == {0, 1, 2, 3}
    parts = found(make_random("spider", 2, "scrambled")).parts
    assert {part.side for part in parts} == {"CENTER"}


def test_arms_and_legs_without_a_side_are_left_open() -> None:
    skeleton = make_human(Figure())
    names = [name.removesuffix("LEFT").removesuffix("RIGHT") for name in skeleton.names]
    heads = skeleton.heads * [0.0, 1.0, 1.0]
    result = recognise(names, skeleton.parents, heads, skeleton.tails * [0.0, 1.0, 1.0])
    assert not any(part.role in ("THIGH", "SHIN", "UPPER_ARM", "FOREARM") for part in result.parts)


@pytest.mark.parametrize("convention", ["Unreal", "Mixamo", "MMD"])
@pytest.mark.parametrize("limb", [ARM[1:], LEG], ids=["arms", "legs"])
def test_limbs_without_a_trunk_are_told_by_their_names(limb: tuple[Role, ...], convention: str) -> None:
    skeleton = renamed(make_human(Figure()), convention)
    (root,), bones = bones_of(skeleton, "HIPS"), bones_of(skeleton, *limb)
    names = ["root" if bone == root else name for bone, name in enumerate(skeleton.names)]
    usable = [bone == root or bone in bones for bone in range(len(names))]
    result = recognise(names, skeleton.parents, skeleton.heads, skeleton.tails, usable)
    assert {part.bone: (part.role, part.side) for part in result.parts} == {b: skeleton.parts[b] for b in bones}


def named_skeletons() -> dict[str, Skeleton]:
    """Return figures whose bones are named and hung as in other programs; tails are at the first child."""
    skeletons = {}
    for name, rows in json.loads((DATA / "named_skeletons.json").read_text(encoding="utf-8")).items():
        heads = np.array([row[2:5] for row in rows])
        first = {row[1]: bone for bone, row in reversed(list(enumerate(rows)))}
        tails = np.array(
            [heads[first[bone]] if bone in first else heads[bone] + [0.0, 0.0, 0.05] for bone in range(len(rows))]
        )
        anything = frozenset((role, side) for role in Role for side in Side)
        skeletons[name] = Skeleton(
            name,
            [row[0] for row in rows],
            [row[1] for row in rows],
            heads,
            tails,
            {bone: (row[5], row[6]) for bone, row in enumerate(rows) if row[6]},
            {bone: anything for bone, row in enumerate(rows) if row[5] == "?"},
            True,
            None,
        )
    return skeletons


NAMED = named_skeletons()


@pytest.mark.parametrize("pose", POSES)
@pytest.mark.parametrize("name", NAMED)
def test_bones_as_other_programs_name_and_hang_them(name: str, pose: str) -> None:
    for tails in (NAMED[name].tails, NAMED[name].heads + np.array([0.0, 0.0, 0.08])):
        skeleton = POSES[pose](replace(NAMED[name], tails=tails))
        result = scored(skeleton)
        assert result.wrong == () and result.missing == ()
        nameless = scrambled(with_sides_swapped(skeleton) if pose == "mirrored" else skeleton)
        allowed = {"Biped, legs on the spine": 1}  # the hips are where the legs hang
        assert len(scored(nameless).wrong) <= allowed.get(name, 0)
        assert scored(nameless).right >= 0.85 * scored(nameless).count


def with_bones(skeleton: Skeleton, bones: list[int], names: list[str], parents: list[int]) -> Skeleton:
    """Return a skeleton with further bones in the places of some of its own."""
    heads, tails = (np.vstack([ends, ends[bones]]) for ends in (skeleton.heads, skeleton.tails))
    return replace(
        skeleton, names=[*skeleton.names, *names], parents=[*skeleton.parents, *parents], heads=heads, tails=tails
    )


def bones_of(skeleton: Skeleton, *roles: str) -> list[int]:
    return [bone for bone, (role, _) in skeleton.parts.items() if role in roles]


JOINTS = {"HIPS": "Pelvis", "SPINE": "Spine", "CHEST": "Chest", "NECK": "Neck", "HEAD": "Head"}
JOINTS |= {"CLAVICLE": "Collar", "UPPER_ARM": "Shoulder", "FOREARM": "Elbow", "HAND": "Wrist"}
JOINTS |= {"THIGH": "Hip", "SHIN": "Knee", "FOOT": "Ankle", "TOE": "Foot"}
"""Words of skeletons whose bones have the names of joints: Second Life, SMPL."""


@pytest.mark.parametrize("fingers", ["Hand{0}{1}{side}", "{0}{1}{side}", "{0}Finger{1}_{side}", "{0}_{2}_{side}"])
def test_names_of_fingers_do_not_change_what_other_names_mean(fingers: str) -> None:
    skeleton = SKELETONS["mixamo"]
    names = list(skeleton.names)
    for bone, (role, part_side) in skeleton.parts.items():
        side = part_side.capitalize() if part_side in ("LEFT", "RIGHT") else ""
        finger, number = names[bone].rpartition("Hand")[2][:-1], names[bone][-1]
        phalanx = dict(zip("123", ("Proximal", "Intermediate", "Distal"), strict=True)).get(number)
        names[bone] = (
            fingers.format(finger, number, phalanx, side=side)
            if role == "FINGER"
            else f"{JOINTS[role]}{side or number * (role == 'SPINE')}"
        )
    result = scored(replace(skeleton, names=names))
    assert result.wrong == () and result.missing == ()


def test_a_bone_before_the_thigh_that_is_called_hip_is_no_thigh() -> None:
    skeleton = renamed(make_human(Figure()), "Unreal")
    thighs, count = bones_of(skeleton, "THIGH"), len(skeleton.names)
    names = [f"Hip.{skeleton.parts[bone][1][0]}" for bone in thighs]
    before = with_bones(skeleton, thighs, names, [skeleton.parents[bone] for bone in thighs])
    middles = 0.5 * (skeleton.heads[thighs] + skeleton.heads[[skeleton.parents[bone] for bone in thighs]])
    parents = [count + thighs.index(bone) if bone in thighs else parent for bone, parent in enumerate(before.parents)]
    heads = np.vstack([skeleton.heads, middles])
    result = scored(replace(before, parents=parents, heads=heads))
    assert result.wrong == () and result.missing == ()


def test_the_first_half_of_a_segment_that_is_called_its_twist_is_a_part_of_it() -> None:
    skeleton = make_human(Figure(twists="line"))
    names = [
        name.replace("Twist", "") if "Twist" in name else name.replace("UpperArm", "UpperArmTwist")
        for name in skeleton.names
    ]
    result = scored(replace(skeleton, names=names))
    assert result.wrong == () and result.missing == ()


def test_a_helper_beside_the_hand_that_is_called_wrist_is_no_part() -> None:
    skeleton = renamed(make_human(Figure()), "Biped")
    hands = bones_of(skeleton, "HAND")
    names = [f"Bip01 {skeleton.parts[bone][1][0]} Wrist" for bone in hands]
    result = scored(with_bones(skeleton, hands, names, [skeleton.parents[bone] for bone in hands]))
    assert result.wrong == () and result.missing == ()


@pytest.mark.parametrize("change", [lambda skeleton: skeleton, scrambled], ids=["names", "no names"])
def test_legs_that_hang_on_nothing_and_copies_of_legs_change_nothing(change: Callable[[Skeleton], Skeleton]) -> None:
    skeleton = make_human(Figure())
    thighs = bones_of(skeleton, "THIGH")
    loose = replace(skeleton, parents=[-1 if bone in thighs else each for bone, each in enumerate(skeleton.parents)])
    legs, count = bones_of(skeleton, "THIGH", "SHIN", "FOOT"), len(skeleton.names)
    parents = [count + legs.index(p) if p in legs else p for p in (skeleton.parents[bone] for bone in legs)]
    copied = with_bones(skeleton, legs, [f"{skeleton.names[bone]}D" for bone in legs], parents)
    for each in (loose, copied):
        result = scored(change(each))
        assert result.wrong == () and result.missing == ()


def test_a_head_that_is_called_neck_and_a_jaw_leave_one_head() -> None:
    skeleton = SKELETONS["default"]
    (head,), neck = bones_of(skeleton, "HEAD"), bones_of(skeleton, "NECK")[-1]
    names = list(skeleton.names)
    names[neck], names[head] = names[head], "jaw_end"
    assert [part.bone for part in found(replace(skeleton, names=names)).parts if part.role is Role.HEAD] == [neck]


def test_names_that_lie_are_not_believed() -> None:
    skeleton = make_human(Figure())
    swapped = {"UPPER_ARM": "Thigh", "FOREARM": "Shin", "HAND": "Foot", "THIGH": "UpperArm", "SHIN": "Forearm"}
    swapped |= {"FOOT": "Hand", "CLAVICLE": "Toe"}
    shifted = {"CLAVICLE": "UpperArm", "UPPER_ARM": "Forearm", "FOREARM": "Hand", "THIGH": "Shin", "SHIN": "Foot"}
    for words in (swapped, shifted):
        names = list(skeleton.names)
        for bone, (role, side) in skeleton.parts.items():
            if role in words:
                names[bone] = f"{words[role]}.{side[0]}"
        result = scored(replace(skeleton, names=names))
        assert result.wrong == () and result.missing != ()


@pytest.mark.parametrize("named", [True, False])
def test_an_upright_animal_with_a_long_tail_stands_on_its_legs(named: bool) -> None:
    """The middle of its trunk was taken with the tail: +Y was up, and hips and chest, legs and arms changed places."""
    kangaroo = make_kangaroo()
    names = kangaroo.names if named else [f"Bone.{number:03d}" for number in range(len(kangaroo.names))]
    found = recognise(names, kangaroo.parents, kangaroo.heads, kangaroo.tails)
    result = score(kangaroo, found)
    assert result.wrong == result.missing == () and np.allclose(found.up, (0.0, 0.0, 1.0))


@pytest.mark.parametrize(
    "wing",
    [
        ["Wing1", "Wing2", "Wing3"],
        ["Wing", "Wing.001", "Wing.002"],
        ["Arm1", "Arm2", "Hand"],
        ["WingArm", "WingForearm", "WingHand"],
        ["wing_upper", "wing_elbow", "wing_wrist"],
    ],
)
def test_a_word_that_names_the_bones_of_a_limb_in_turn_has_its_meanings_in_order(wing: list[str]) -> None:
    """A word with as many meanings as bones told none: a penguin had no wings, and a dragon two upper arms in line."""
    penguin = make_penguin(wing)
    result = score(penguin, recognise(penguin.names, penguin.parents, penguin.heads, penguin.tails))
    assert result.wrong == result.missing == ()


def test_controls_in_layers_without_names_are_left_open() -> None:
    skeleton = scrambled(make_human(Figure()))
    count = len(skeleton.names)
    doubled = replace(
        skeleton,
        names=[f"bone_{bone:03}" for bone in range(2 * count)],
        parents=skeleton.parents + [parent + count if parent >= 0 else -1 for parent in skeleton.parents],
        heads=np.vstack([skeleton.heads, skeleton.heads]),
        tails=np.vstack([skeleton.tails, skeleton.tails]),
    )
    result = found(doubled)
    assert result.parts == () and "in layers" in result.open_roles[0].reason


def test_bones_that_may_not_take_part_are_left_out() -> None:
    skeleton = SKELETONS["game_engine"]
    usable = [not name.endswith("_r") and name != "pelvis" for name in skeleton.names]
    result = recognise(skeleton.names, skeleton.parents, skeleton.heads, skeleton.tails, usable)
    assert result.parts and all(usable[part.bone] for part in result.parts)
    opened = {(each.role, each.side) for each in result.open_roles}
    assert {("HIPS", "CENTER"), ("THIGH", "RIGHT"), ("UPPER_ARM", "RIGHT")} <= opened


def test_parts_are_in_order_and_say_which_limb() -> None:
    skeleton = SKELETONS["mixamo"]
    parts = found(skeleton).parts
    words = [skeleton.names[part.bone].removeprefix("mixamorig:") for part in parts]
    assert words[:6] == ["Hips", "Spine", "Spine1", "Spine2", "Neck", "Head"]
    assert words[6:10] == ["LeftShoulder", "LeftArm", "LeftForeArm", "LeftHand"]
    fingers = {part.limb: word for part, word in zip(parts, words, strict=True) if word.endswith(("Index1", "Thumb3"))}
    assert len({part.limb for part in parts if part.role == "FINGER"}) == 5
    assert sorted(fingers) == [0, 1] and all(0.5 <= part.confidence <= 1.0 for part in parts)


@pytest.mark.parametrize("prefix", ["c_", "x_", "X-", "c01_", "hero_"])
def test_a_prefix_of_all_names_changes_nothing(prefix: str) -> None:
    """A word that marks the middle elsewhere is none where sides have marks of their own."""
    skeleton = SKELETONS["rigify_human"]
    prefixed = replace(skeleton, names=[prefix + name for name in skeleton.names])
    assert found(prefixed).parts == found(skeleton).parts


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


@st.composite
def any_skeleton(draw: st.DrawFn) -> tuple[list[int], np.ndarray, np.ndarray]:
    """Draw bones in any tree, on a coarse grid so that many lie in one place or mirror each other."""
    count = draw(st.integers(1, 24))
    parents = [draw(st.integers(-1, bone - 1)) for bone in range(count)]
    places = st.tuples(*[st.integers(-3, 3)] * 3)
    heads = np.array([draw(places) for _ in range(count)], float)
    tails = np.array([draw(places) for _ in range(count)], float)
    return parents, heads * draw(st.sampled_from([1e-3, 1.0, 1e4])), tails


@given(any_skeleton(), st.sampled_from(["bone_{}", "thigh_{}.L", "Spine{}", "LeftArm{}", "tail{}", "foot_ik_{}"]))
def test_any_tree_of_bones_has_a_lawful_result(drawn: tuple[list[int], np.ndarray, np.ndarray], pattern: str) -> None:
    parents, heads, tails = drawn
    names = [pattern.format(bone) for bone in range(len(parents))]
    result = recognise(names, parents, heads, tails)
    bones = [part.bone for part in result.parts]
    assert len(bones) == len(set(bones)) and all(0 <= bone < len(parents) for bone in bones)
    assert all(0.5 <= part.confidence <= 1.0 and part.limb >= 0 for part in result.parts)
    assert result.parts or result.open_roles
    directions = np.stack([result.up, result.forward])
    assert np.allclose(directions @ directions.T, np.eye(2), atol=1e-9)


@given(st.sampled_from(sorted(FIGURES)), st.permutations(range(6)), st.floats(0.01, 100.0), st.integers(0, 3))
def test_size_place_order_and_heading_make_no_difference(
    name: str, order: list[int], factor: float, quarters: int
) -> None:
    skeleton = make_human(FIGURES[name])
    turn = np.linalg.matrix_power(np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), quarters)
    count = len(skeleton.names)
    shuffled = sorted(range(count), key=lambda bone: (order[bone % 6], bone))
    place = {bone: number for number, bone in enumerate(shuffled)}
    moved = Skeleton(
        name,
        [skeleton.names[bone] for bone in shuffled],
        [place.get(skeleton.parents[bone], -1) for bone in shuffled],
        factor * (skeleton.heads[shuffled] @ turn.T + 3.0),
        factor * (skeleton.tails[shuffled] @ turn.T + 3.0),
        {place[bone]: part for bone, part in skeleton.parts.items()},
        {},
        True,
        None,
    )
    result = scored(scrambled(moved))
    assert result.wrong == () and result.missing == ()
