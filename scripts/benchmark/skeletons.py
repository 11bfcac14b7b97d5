# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Skeletons that packages ship, which bone of each is which part, and the same skeletons under other names and axes."""

from __future__ import annotations

import json
import re
import tomllib
from collections import defaultdict
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any  # what TOML holds; the data of an object, whose type the stub leaves open

import numpy as np

from fabrik_addon.core.body.part import Recognition

from .problems import Array

DATA = Path(__file__).resolve().parents[2] / "tests/data"

Parts = dict[str, frozenset[tuple[str, str]]]
"""Role and side by bone; several where any of them is right."""


@dataclass(frozen=True)
class Skeleton:
    """Bones at rest, and which parts they are."""

    name: str
    names: list[str]
    parents: list[int]
    heads: Array
    tails: Array
    parts: dict[int, tuple[str, str]]
    """Role and side by bone."""
    either: dict[int, frozenset[tuple[str, str]]]
    """Roles that a bone may be given, or none."""
    human: bool
    deform: list[bool] | None
    """Which bones deform a mesh, in a rig that Rigify generated; else None."""


@dataclass
class SkeletonMaker:
    """Bones added one after another."""

    names: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    heads: list[Array] = field(default_factory=list)
    tails: list[Array] = field(default_factory=list)
    parts: dict[int, tuple[str, str]] = field(default_factory=dict)
    either: dict[int, frozenset[tuple[str, str]]] = field(default_factory=dict)

    def add(self, name: str, parent: int, head: Array, tail: Array, part: tuple[str, str] | None = None) -> int:
        """Add a bone and return its number."""
        self.names.append(name)
        self.parents.append(parent)
        self.heads.append(np.asarray(head, float))
        self.tails.append(np.asarray(tail, float))
        if part:
            self.parts[len(self.names) - 1] = part
        return len(self.names) - 1

    def skeleton(self, name: str = "made", human: bool = True) -> Skeleton:
        """Return what was made."""
        heads, tails = np.array(self.heads), np.array(self.tails)
        return Skeleton(name, self.names, self.parents, heads, tails, self.parts, self.either, human, None)


@dataclass(frozen=True)
class Score:
    """How a skeleton was recognised."""

    right: int
    count: int
    wrong: tuple[str, ...]
    """Bones that were given a role that they have not, with that role."""
    missing: tuple[str, ...]
    """Bones whose role was left open."""


SOURCES = {
    "mixamo": ("mixamo", True),
    "cmu_mb": ("cmu_mb", True),
    "game_engine": ("game_engine", True),
    "game_engine_with_breast": ("game_engine", True),
    "default": ("default", True),
    "default_no_toes": ("default", True),
    "rigify_human": ("mpfb_human", True),
    "rigify_human_toes": ("mpfb_human", True),
    "humanoid": ("humanoid", True),
    "dog": ("dog", False),
    "humanoid_CMU": ("acclaim", True),
    "rodent": ("rodent", False),
    "fruitfly": ("fruitfly", False),
}
"""Table of parts of each skeleton in the data, and whether it is a human's."""

METARIGS = {
    "human": ("human", True),
    "basic_human": ("human", True),
    "basic_quadruped": ("quadruped", False),
    "wolf": ("quadruped", False),
    "horse": ("horse", False),
    "cat": ("cat", False),
    "bird": ("bird", False),
    "shark": ("shark", False),
}
"""The same for Rigify's metarigs, and what it generates from them."""


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads((DATA / "body_parts.toml").read_text(encoding="utf-8"))


def label(name: str, table: str, names: list[str], parents: list[int], heads: Array, tails: Array) -> Skeleton:
    """Return a skeleton with its parts, after a table of patterns; names of deform bones are read without ``DEF-``."""
    rows = dict(_tables()[table])
    sides, either_rows = rows.pop("sides"), rows.pop("either", {})
    parts: dict[int, tuple[str, str]] = {}
    either: defaultdict[int, frozenset[tuple[str, str]]] = defaultdict(frozenset)
    deform = any(each.startswith("ORG-") for each in names)
    for bone, full in enumerate(names):
        if deform and not full.startswith("DEF-"):
            continue
        for role, side in _matches(full.removeprefix("DEF-"), rows, sides):
            parts[bone] = role, side
        for role, side in _matches(full.removeprefix("DEF-"), either_rows, sides):
            either[bone] |= {(role, side)}
    human = {**SOURCES, **METARIGS}.get(name.rpartition(" ")[2], (table, table == "cmu_bvh"))[1]
    marks = [each.startswith("DEF-") for each in names] if deform else None
    return Skeleton(name, names, parents, heads, tails, parts, dict(either), human, marks)


def _matches(name: str, rows: dict[str, list[str]], sides: list[str]) -> list[tuple[str, str]]:
    found = []
    for role, patterns in rows.items():
        for pattern in patterns:
            if "{side}" in pattern:
                marks = zip(("LEFT", "RIGHT"), sides, strict=True)
                found += [(role, side) for side, mark in marks if fnmatchcase(name, pattern.replace("{side}", mark))]
            elif fnmatchcase(name, pattern):
                found.append((role, "CENTER"))
    return found


def data_skeletons() -> list[Skeleton]:
    """Return the skeletons in ``tests/data``: MPFB's rigs, two models of dm-control, and CMU's BVH."""
    found = []
    for file in ("mpfb_rigs.json", "dm_control_rigs.json"):
        for name, rows in json.loads((DATA / file).read_text(encoding="utf-8")).items():
            points = np.array([row[2:] for row in rows], float)
            names, parents = [row[0] for row in rows], [row[1] for row in rows]
            found.append(label(name, SOURCES[name][0], names, parents, points[:, :3], points[:, 3:]))
    return [*found, _bvh("cmu_bvh", DATA / "cmu_01_01_jump.bvh")]


def _bvh(name: str, file: Path) -> Skeleton:
    """Return the skeleton of a BVH file; a bone's tail is its first child or its end."""
    names, parents, offsets, open_joints = list[str](), list[int](), list[Array](), list[int]()
    tails: dict[int, Array] = {}
    ends = 0
    for line in file.read_text(encoding="utf-8").splitlines():
        word, *rest = line.split() or [""]
        if word in ("ROOT", "JOINT"):
            parents.append(open_joints[-1] if open_joints else -1)
            open_joints.append(len(names))
            names.append(rest[0])
        elif word == "End":
            ends += 1
        elif word == "OFFSET":
            offset = np.array([float(value) for value in rest])
            if ends:
                tails[open_joints[-1]] = offset
            else:
                offsets.append(offset)
        elif word == "}":
            if ends:
                ends = 0
            else:
                open_joints.pop()
        elif word == "MOTION":
            break
    heads = np.zeros((len(names), 3))
    for bone, parent in enumerate(parents):
        heads[bone] = offsets[bone] + (heads[parent] if parent >= 0 else 0.0)
    first = {parent: bone for bone, parent in reversed(list(enumerate(parents)))}
    ends_at = [heads[bone] + tails[bone] if bone in tails else heads[first[bone]] for bone in range(len(names))]
    return label(name, "cmu_bvh", names, parents, heads, np.array(ends_at))


def rigify_skeletons() -> list[Skeleton]:
    """Return Rigify's metarigs, and the rigs that it generates from them; only deform bones of these are parts."""
    import bpy

    found = []
    for name, (table, _) in METARIGS.items():
        bpy.ops.wm.read_factory_settings(use_empty=True)
        bpy.ops.preferences.addon_enable(module="rigify")
        getattr(bpy.ops.object, f"armature_{name}_metarig_add")()
        metarig = bpy.context.object
        found.append(label(f"metarig {name}", table, *_bones(metarig)))
        with redirect_stdout(StringIO()):  # Rigify prints the time of each step
            bpy.ops.pose.rigify_generate()  # type: ignore[attr-defined]
        rig = next(each for each in bpy.data.objects if each.type == 'ARMATURE' and each != metarig)
        found.append(label(f"generated {name}", table, *_bones(rig)))
    return found


def _bones(armature: Any) -> tuple[list[str], list[int], Array, Array]:
    bones = armature.data.bones
    number = {bone.name: index for index, bone in enumerate(bones)}
    heads = np.array([bone.head_local[:] for bone in bones])
    tails = np.array([bone.tail_local[:] for bone in bones])
    return list(number), [number[bone.parent.name] if bone.parent else -1 for bone in bones], heads, tails


# The same skeleton under other names


NO_JOINT = 0.004
"""Distance from a bone to its children, over the size of the skeleton, up to which it is no joint of its own."""


def scrambled(skeleton: Skeleton) -> Skeleton:
    """Return the skeleton with names that say nothing; a bone in its children's place may then be a part or none."""
    near = NO_JOINT * float(np.ptp(skeleton.heads, axis=0).max())
    steps: defaultdict[int, list[float]] = defaultdict(list)
    for bone, parent in enumerate(skeleton.parents):
        steps[parent].append(float(np.linalg.norm(skeleton.heads[bone] - skeleton.heads[parent])))
    limbs = {bone for bone, (_, side) in skeleton.parts.items() if side != "CENTER" and bone in steps}
    doubtful = {bone for bone in limbs if max(steps[bone]) < near}
    return replace(
        skeleton,
        names=[f"bone_{bone:03}" for bone in range(len(skeleton.names))],
        parts={bone: part for bone, part in skeleton.parts.items() if bone not in doubtful},
        either=skeleton.either | {bone: frozenset({skeleton.parts[bone]}) for bone in doubtful},
    )


CONVENTIONS: dict[str, dict[str, list[str]]] = {
    "Mixamo": {
        "sides": ["Left", "Right"],
        "HIPS": ["mixamorig:Hips"],
        "SPINE": ["mixamorig:Spine", "mixamorig:Spine{n}"],
        "CHEST": ["mixamorig:Spine{n}"],
        "NECK": ["mixamorig:Neck", "mixamorig:Neck{n}"],
        "HEAD": ["mixamorig:Head"],
        "CLAVICLE": ["mixamorig:{side}Shoulder"],
        "UPPER_ARM": ["mixamorig:{side}Arm"],
        "FOREARM": ["mixamorig:{side}ForeArm"],
        "HAND": ["mixamorig:{side}Hand"],
        "FINGER": ["mixamorig:{side}HandIndex{n}"],
        "THIGH": ["mixamorig:{side}UpLeg"],
        "SHIN": ["mixamorig:{side}Leg"],
        "FOOT": ["mixamorig:{side}Foot"],
        "TOE": ["mixamorig:{side}ToeBase"],
    },
    "Unreal": {
        "sides": ["l", "r"],
        "HIPS": ["pelvis"],
        "SPINE": ["spine_0{n}"],
        "CHEST": ["spine_0{n}"],
        "NECK": ["neck_0{n}"],
        "HEAD": ["head"],
        "CLAVICLE": ["clavicle_{side}"],
        "UPPER_ARM": ["upperarm_{side}"],
        "FOREARM": ["lowerarm_{side}"],
        "HAND": ["hand_{side}"],
        "FINGER": ["index_0{n}_{side}"],
        "THIGH": ["thigh_{side}"],
        "SHIN": ["calf_{side}"],
        "FOOT": ["foot_{side}"],
        "TOE": ["ball_{side}"],
    },
    "VRoid": {
        "sides": ["L", "R"],
        "HIPS": ["J_Bip_C_Hips"],
        "SPINE": ["J_Bip_C_Spine"],
        "CHEST": ["J_Bip_C_UpperChest"],
        "NECK": ["J_Bip_C_Neck"],
        "HEAD": ["J_Bip_C_Head"],
        "CLAVICLE": ["J_Bip_{side}_Shoulder"],
        "UPPER_ARM": ["J_Bip_{side}_UpperArm"],
        "FOREARM": ["J_Bip_{side}_LowerArm"],
        "HAND": ["J_Bip_{side}_Hand"],
        "FINGER": ["J_Bip_{side}_Index{n}"],
        "THIGH": ["J_Bip_{side}_UpperLeg"],
        "SHIN": ["J_Bip_{side}_LowerLeg"],
        "FOOT": ["J_Bip_{side}_Foot"],
        "TOE": ["J_Bip_{side}_ToeBase"],
    },
    "Biped": {
        "sides": ["L", "R"],
        "HIPS": ["Bip01 Pelvis"],
        "SPINE": ["Bip01 Spine", "Bip01 Spine{n}"],
        "CHEST": ["Bip01 Spine{n}"],
        "NECK": ["Bip01 Neck", "Bip01 Neck{n}"],
        "HEAD": ["Bip01 Head"],
        "CLAVICLE": ["Bip01 {side} Clavicle"],
        "UPPER_ARM": ["Bip01 {side} UpperArm"],
        "FOREARM": ["Bip01 {side} Forearm"],
        "HAND": ["Bip01 {side} Hand"],
        "FINGER": ["Bip01 {side} Finger{n}"],
        "THIGH": ["Bip01 {side} Thigh"],
        "SHIN": ["Bip01 {side} Calf"],
        "FOOT": ["Bip01 {side} Foot"],
        "TOE": ["Bip01 {side} Toe{n}"],
        "TAIL": ["Bip01 Tail", "Bip01 Tail{n}"],
    },
    "MMD": {
        "sides": ["左", "右"],
        "HIPS": ["下半身"],
        "SPINE": ["上半身", "上半身{n}"],
        "CHEST": ["上半身{n}"],
        "NECK": ["首", "首{n}"],
        "HEAD": ["頭"],
        "CLAVICLE": ["{side}肩"],
        "UPPER_ARM": ["{side}腕"],
        "FOREARM": ["{side}ひじ"],
        "HAND": ["{side}手首"],
        "FINGER": ["{side}人指{n}"],
        "THIGH": ["{side}足"],
        "SHIN": ["{side}ひざ"],
        "FOOT": ["{side}足首"],
        "TOE": ["{side}つま先"],
    },
    "Daz": {
        "sides": ["l", "r"],
        "HIPS": ["pelvis"],
        "SPINE": ["abdomenLower", "abdomenUpper"],
        "CHEST": ["chestLower", "chestUpper"],
        "NECK": ["neckLower", "neckUpper"],
        "HEAD": ["head"],
        "CLAVICLE": ["{side}Collar"],
        "UPPER_ARM": ["{side}ShldrBend", "{side}ShldrTwist"],
        "FOREARM": ["{side}ForearmBend", "{side}ForearmTwist"],
        "HAND": ["{side}Hand"],
        "FINGER": ["{side}Index{n}"],
        "THIGH": ["{side}ThighBend", "{side}ThighTwist"],
        "SHIN": ["{side}Shin"],
        "FOOT": ["{side}Foot"],
        "TOE": ["{side}Toe"],
    },
    "Character Creator": {
        "sides": ["L", "R"],
        "HIPS": ["CC_Base_Hip"],
        "SPINE": ["CC_Base_Waist", "CC_Base_Spine0{n}"],
        "CHEST": ["CC_Base_Spine0{n}"],
        "NECK": ["CC_Base_NeckTwist0{n}"],
        "HEAD": ["CC_Base_Head"],
        "CLAVICLE": ["CC_Base_{side}_Clavicle"],
        "UPPER_ARM": ["CC_Base_{side}_Upperarm"],
        "FOREARM": ["CC_Base_{side}_Forearm"],
        "HAND": ["CC_Base_{side}_Hand"],
        "FINGER": ["CC_Base_{side}_Index{n}"],
        "THIGH": ["CC_Base_{side}_Thigh"],
        "SHIN": ["CC_Base_{side}_Calf"],
        "FOOT": ["CC_Base_{side}_Foot"],
        "TOE": ["CC_Base_{side}_ToeBase"],
    },
    "SMPL": {
        "sides": ["L", "R"],
        "HIPS": ["Pelvis"],
        "SPINE": ["Spine{n}"],
        "CHEST": ["Spine{n}"],
        "NECK": ["Neck"],
        "HEAD": ["Head"],
        "CLAVICLE": ["{side}_Collar"],
        "UPPER_ARM": ["{side}_Shoulder"],
        "FOREARM": ["{side}_Elbow"],
        "HAND": ["{side}_Wrist"],
        "FINGER": ["{side}_Index{n}"],
        "THIGH": ["{side}_Hip"],
        "SHIN": ["{side}_Knee"],
        "FOOT": ["{side}_Ankle"],
        "TOE": ["{side}_Foot"],
    },
}
"""Names for each role: of the first bone with it, and of those after it, ``{n}`` their number."""


def renamed(skeleton: Skeleton, convention: str) -> Skeleton:
    """Return the skeleton with the names of a convention; bones that are no parts get names that say nothing."""
    table = CONVENTIONS[convention]
    names = [f"other_{bone:03}" for bone in range(len(skeleton.names))]
    counts: defaultdict[tuple[str, str], int] = defaultdict(int)
    for bone, (role, side) in skeleton.parts.items():
        if role not in table:
            continue
        patterns = table[role]
        word = re.sub(r"\W|\{n\}|\d", "", patterns[-1])
        number = counts[word, side]
        counts[word, side] += 1
        mark = {"LEFT": table["sides"][0], "RIGHT": table["sides"][1]}.get(side, "")
        pattern = patterns[0] if counts[role, side] == 0 else patterns[-1]
        counts[role, side] += 1
        name = pattern.format(side=mark, n=number + ("0{n}" in pattern))
        names[bone] = name if name not in names else f"{name}.{bone:03}"
    return replace(skeleton, names=names)


# The same skeleton in other places


def _turn(skeleton: Skeleton, change: Callable[[Array], Array]) -> Skeleton:
    return replace(skeleton, heads=change(skeleton.heads), tails=change(skeleton.tails))


def y_up(skeleton: Skeleton) -> Skeleton:
    """Return the skeleton with Y up, or Z if Y was."""
    return _turn(skeleton, lambda points: np.stack([points[:, 0], points[:, 2], -points[:, 1]], axis=1))


def in_centimetres(skeleton: Skeleton) -> Skeleton:
    """Return the skeleton a hundred times as large."""
    return _turn(skeleton, lambda points: 100.0 * points)


def mirrored(skeleton: Skeleton) -> Skeleton:
    """Return the skeleton's mirror image, under its names."""
    return _turn(skeleton, lambda points: points * np.array([-1.0, 1.0, 1.0]))


def with_sides_swapped(skeleton: Skeleton) -> Skeleton:
    """Return the skeleton with left parts right: what a mirror image is where no name says otherwise."""
    other = {"LEFT": "RIGHT", "RIGHT": "LEFT", "CENTER": "CENTER"}
    parts = {bone: (role, other[side]) for bone, (role, side) in skeleton.parts.items()}
    either = {
        bone: frozenset((role, other[side]) for role, side in several) for bone, several in skeleton.either.items()
    }
    return replace(skeleton, parts=parts, either=either)


def with_arms_turned(skeleton: Skeleton, degrees: float) -> Skeleton:
    """Return a human's skeleton with the arms turned down by an angle, those of a T-pose into an A-pose."""
    heads, tails = skeleton.heads.copy(), skeleton.tails.copy()
    parts = {part: bone for bone, part in skeleton.parts.items() if skeleton.parts.get(skeleton.parents[bone]) != part}
    chest = skeleton.heads[parts["CHEST", "CENTER"]]
    up = skeleton.heads[parts["HEAD", "CENTER"]] - chest
    up = np.eye(3)[np.abs(up).argmax()]
    for side in ("LEFT", "RIGHT"):
        shoulder = parts["UPPER_ARM", side]
        aside = skeleton.heads[shoulder] - chest
        aside = aside - (aside @ up) * up
        aside = np.eye(3)[np.abs(aside).argmax()] * np.sign(aside[np.abs(aside).argmax()])
        axis = np.cross(aside, -up)
        cosine, sine = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
        below: set[int] = set()
        more = {shoulder}
        while more:
            below |= more
            more = {bone for bone, parent in enumerate(skeleton.parents) if parent in more}
        for points in (heads, tails):
            moved = points[sorted(below)] - skeleton.heads[shoulder]
            along = (moved @ axis)[:, None] * axis
            points[sorted(below)] = (
                skeleton.heads[shoulder] + along + cosine * (moved - along) + sine * np.cross(axis, moved)
            )
    return replace(skeleton, heads=heads, tails=tails)


# How it is recognised


def score(skeleton: Skeleton, found: Recognition) -> Score:
    """Return how many bones were given their role and side, which were given another, and which none.

    A limb of a creature with limbs all around may be given without a side: often nothing tells which way is forward.
    """
    given = {part.bone: (part.role.value, part.side.value) for part in found.parts}
    for bone, is_ in given.items():
        limbs = {
            part for part in (skeleton.parts.get(bone), *skeleton.either.get(bone, ())) if part and part[0] == "LIMB"
        }
        if is_ == ("LIMB", "CENTER") and limbs:
            given[bone] = min(limbs)
    wrong = [
        f"{skeleton.names[bone]}: {' '.join(is_)}"
        for bone, is_ in given.items()
        if skeleton.parts.get(bone) != is_ and is_ not in skeleton.either.get(bone, frozenset())
    ]
    right = sum(given.get(bone) == part for bone, part in skeleton.parts.items())
    missing = [skeleton.names[bone] for bone in skeleton.parts if bone not in given]
    return Score(right, len(skeleton.parts), tuple(wrong), tuple(missing))
