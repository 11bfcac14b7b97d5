# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Skeletons with random proportions, poses, axes and extra bones, and which part each of their bones is.

Each seed makes another skeleton of a kind. +Z is up, -Y forward, +X left, and a human about one high, before the
skeleton is turned and scaled at random.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from .problems import Array
from .skeletons import CONVENTIONS, Skeleton, SkeletonMaker, renamed, scrambled

UP, FORWARD, LEFT = np.array([0.0, 0.0, 1.0]), np.array([0.0, -1.0, 0.0]), np.array([1.0, 0.0, 0.0])
_Half = tuple[float, str, str]
"""One side of a skeleton: 1 for left or -1 for right, name of the side, its letter in the names of bones."""

SIDES: tuple[_Half, ...] = ((1.0, "LEFT", "L"), (-1.0, "RIGHT", "R"))

Part = tuple[str, str]


@dataclass
class _Maker(SkeletonMaker):
    """Bones added one after another, and the random numbers of a seed."""

    rng: np.random.Generator = field(kw_only=True)
    factors: dict[str, float] = field(default_factory=dict)

    def chance(self, probability: float) -> bool:
        """Return whether something is so, with a probability."""
        return bool(self.rng.random() < probability)

    def length(self, name: str, usual: float) -> float:
        """Return a length between 0.7 and 1.4 of the usual one, the same for both sides."""
        if name not in self.factors:
            self.factors[name] = float(np.exp(self.rng.uniform(np.log(0.7), np.log(1.4))))
        return usual * self.factors[name]

    def chain(self, words: Sequence[str], parent: int, points: Sequence[Array], parts: Sequence[Part | None]) -> int:
        """Add connected bones through points; return the last."""
        for word, part, head, tail in zip(words, parts, points, points[1:], strict=False):
            parent = self.add(word, parent, head, tail, part)
        return parent

    def loose(self, start: int, roles: Sequence[str], sides: Sequence[str] = ("CENTER",)) -> None:
        """Let the bones from a number on be any of these parts, or none."""
        for bone in range(start, len(self.names)):
            self.parts.pop(bone, None)
            self.either[bone] = frozenset((role, side) for role in roles for side in sides)


def make_random(kind: str, seed: int, naming: str) -> Skeleton:
    """Return the skeleton of a seed.

    Args:
        kind: of ``KINDS``.
        seed: of all that is random.
        naming: ``own``, names in words; ``scrambled``, names that say nothing; ``other``, those of a convention.
    """
    maker = _Maker(rng=np.random.default_rng([seed, sorted(KINDS).index(kind)]))
    root = _add_roots(maker)
    KINDS[kind](maker, root)
    skeleton = _with_tails(maker, maker.skeleton(f"{kind} {seed}", kind in HUMANS))
    skeleton = _with_axes(maker, skeleton)
    if naming == "other":
        return renamed(skeleton, list(CONVENTIONS)[seed // 2 % len(CONVENTIONS)])
    if naming == "scrambled":
        roots = {bone: frozenset({("LIMB", "CENTER")}) for bone in range(root + 1)}  # one line with a snake or an arm
        return replace(scrambled(skeleton), either=roots | skeleton.either)
    return skeleton


def _add_roots(maker: _Maker) -> int:
    """Add up to three bones that everything hangs from."""
    parent = -1
    for name in ["Armature", "root", "Motion"][: int(maker.rng.choice([0, 0, 1, 2, 3]))]:
        parent = maker.add(name, parent, np.zeros(3), 0.1 * (UP if maker.chance(0.5) else FORWARD))
    return parent


def _with_tails(maker: _Maker, skeleton: Skeleton) -> Skeleton:
    """Return the skeleton with its tails as they are, half as far, all up, or aside as Maya's bones are imported."""
    style = maker.rng.choice(["true", "true", "half", "up", "aside"])
    size = float(np.ptp(skeleton.heads, axis=0).max())
    own = skeleton.tails - skeleton.heads
    if style == "half":
        own = 0.5 * own
    elif style == "up":
        own = np.broadcast_to(0.05 * size * UP, own.shape)
    elif style == "aside":
        own = np.stack([own[:, 1], own[:, 2], own[:, 0]], axis=1)
    return replace(skeleton, tails=skeleton.heads + own)


def _with_axes(maker: _Maker, skeleton: Skeleton) -> Skeleton:
    """Return the skeleton turned about up, with Z or Y up, moved and scaled."""
    quarters = int(maker.rng.choice([0, 0, 1, 2, 3]))
    turn = np.linalg.matrix_power(np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), quarters)
    if maker.chance(0.4):
        turn = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]) @ turn
    scale = float(maker.rng.choice([1.0, 1.8, 100.0, 0.01]))
    place = scale * maker.rng.uniform(-1.0, 1.0, 3) * maker.chance(0.3)
    noise = maker.rng.normal(0.0, 0.002, skeleton.heads.shape) * maker.chance(0.5)

    def moved(points: Array) -> Array:
        return scale * (points + noise) @ turn.T + place

    return replace(skeleton, heads=moved(skeleton.heads), tails=moved(skeleton.tails))


# Humans


def _human(maker: _Maker, root: int) -> None:
    """Add a human in some pose, with some bones missing and some that are no parts."""
    pose = str(maker.rng.choice(["T", "T", "A", "A", "hanging", "sitting", "running"]))
    thigh, shin = maker.length("thigh", 0.245), maker.length("shin", 0.246)
    hips = (0.06 + shin + (0.0 if pose == "sitting" else thigh)) * UP
    trunk, necks = maker.length("trunk", 0.29), int(maker.rng.choice([0, 1, 1, 1, 2]))
    spines = int(maker.rng.integers(1, 6))
    levels = [hips + UP * trunk * share for share in np.linspace(0.0, 1.0, spines + 2)]
    words = ["Hips", *(f"Spine{number + 1}" for number in range(spines))]
    words[-1] = "Chest" if spines > 1 else "Spine"
    roles = ["HIPS", *["SPINE"] * (spines - 1), "CHEST"]
    chest = maker.chain(words, root, levels, [(role, "CENTER") for role in roles])
    pelvis = chest - spines
    skull = levels[-1] + (maker.length("neck", 0.06) if necks else 0.02) * UP - 0.01 * FORWARD
    line = [levels[-1] + (skull - levels[-1]) * share for share in np.linspace(0.0, 1.0, necks + 1)]
    names = ["Neck"] if necks == 1 else [f"Neck{number + 1}" for number in range(necks)]
    neck = maker.chain(names, chest, line, [("NECK", "CENTER")] * necks)
    head = maker.add("Head", neck, skull, skull + maker.length("head", 0.12) * UP, ("HEAD", "CENTER"))
    missing = maker.rng.choice(["", "", "", "", "arm"])
    for half in SIDES[: 1 if missing == "arm" else 2]:
        _add_arm(maker, chest, levels[-1], half, pose)
    for half in SIDES:
        _add_leg(maker, pelvis, hips, half, pose, (thigh, shin))
    _add_extras(maker, pelvis, chest, head, hips, levels[-1], skull)


def _add_arm(maker: _Maker, chest: int, top: Array, half: _Half, pose: str) -> None:
    sign, side, mark = half
    drop = {"T": 0.0, "A": 45.0, "hanging": 80.0, "sitting": 70.0, "running": 75.0}[pose]
    swing = {"running": 35.0 * sign, "sitting": 15.0}.get(pose, 0.0)
    bend = {"running": 80.0, "sitting": 60.0, "A": 10.0}.get(pose, 3.0)
    along = _turned(_turned(sign * LEFT, FORWARD, sign * drop), LEFT, -swing)
    forearm = _turned(along, np.cross(along, FORWARD + 0.2 * UP), bend)
    shoulder = top - 0.03 * UP + sign * maker.length("shoulders", 0.1) * LEFT
    elbow = shoulder + maker.length("upper arm", 0.165) * along
    wrist = elbow + maker.length("forearm", 0.145) * forearm
    knuckles = wrist + maker.length("hand", 0.055) * forearm
    parent = chest
    if "clavicles" not in maker.factors:
        maker.factors["clavicles"] = float(maker.chance(0.85))
        maker.factors["twists"] = float(maker.rng.choice([0, 0, 1, 2]))
        maker.factors["fingers"] = float(maker.rng.choice([0, 0, 2, 3, 5, 5, 5]))
        maker.factors["toes"] = float(maker.chance(0.8))
    if maker.factors["clavicles"]:
        parent = maker.add(
            f"Clavicle.{mark}", chest, top - 0.03 * UP + 0.02 * sign * LEFT, shoulder, ("CLAVICLE", side)
        )
    parent = _segment(maker, f"UpperArm.{mark}", parent, shoulder, elbow, ("UPPER_ARM", side))
    parent = _segment(maker, f"Forearm.{mark}", parent, elbow, wrist, ("FOREARM", side))
    hand = maker.add(f"Hand.{mark}", parent, wrist, knuckles, ("HAND", side))
    across = np.cross(forearm, UP if abs(forearm @ UP) < 0.8 else LEFT)
    across /= np.linalg.norm(across)
    fingers = int(maker.factors["fingers"])
    for number, word in enumerate(["Index", "Thumb", "Middle", "Ring", "Pinky"][:fingers]):
        start = (
            knuckles + (0.02 - 0.012 * number) * across if word != "Thumb" else wrist + 0.015 * forearm + 0.02 * across
        )
        toward = forearm if word != "Thumb" else (forearm + across) / np.sqrt(2.0)
        points = [start + maker.length(f"finger {number}", 1.0) * step * toward for step in (0.0, 0.024, 0.04, 0.052)]
        maker.chain([f"{word}{joint}.{mark}" for joint in (1, 2, 3)], hand, points, [("FINGER", side)] * 3)
    if maker.chance(0.1):
        maker.add(f"Weapon.{mark}", hand, knuckles, knuckles + maker.length("weapon", 0.4) * UP)


def _segment(maker: _Maker, name: str, parent: int, head: Array, tail: Array, part: Part) -> int:
    """Add a bone, two in line, or one with twist bones beside; return the one that the next hangs from."""
    twists = int(maker.factors["twists"])
    if twists == 2:
        parent = maker.add(name, parent, head, 0.5 * (head + tail), part)
        word, _, mark = name.rpartition(".")
        return maker.add(f"{word}Twist.{mark}", parent, 0.5 * (head + tail), tail, part)
    bone = maker.add(name, parent, head, tail, part)
    if twists == 1:
        word, _, mark = name.rpartition(".")
        maker.add(f"{word}Twist.{mark}", bone, 0.5 * (head + tail), tail)
    return bone


def _add_leg(maker: _Maker, pelvis: int, hips: Array, half: _Half, pose: str, lengths: tuple[float, float]) -> None:
    sign, side, mark = half
    hip = hips - 0.02 * UP + sign * maker.length("hips", 0.05) * LEFT
    thigh, shin = -UP + 0.03 * FORWARD, -UP - 0.04 * FORWARD
    if pose == "sitting":
        thigh, shin = FORWARD - 0.15 * UP, -UP
    elif pose == "running":
        thigh, shin = (
            (-UP + 0.6 * FORWARD, -UP - 0.3 * FORWARD) if sign > 0 else (-UP - 0.3 * FORWARD, -UP - 0.9 * FORWARD)
        )
    knee = hip + lengths[0] * thigh / np.linalg.norm(thigh)
    ankle = knee + lengths[1] * shin / np.linalg.norm(shin)
    down = 0.03 * UP if pose != "running" or sign > 0 else 0.07 * UP
    ball = ankle + maker.length("foot", 0.11) * FORWARD - down
    parent = (
        _segment(maker, f"Thigh.{mark}", pelvis, hip, knee, ("THIGH", side)) if "twists" in maker.factors else pelvis
    )
    parent = _segment(maker, f"Shin.{mark}", parent, knee, ankle, ("SHIN", side))
    foot = maker.add(f"Foot.{mark}", parent, ankle, ball, ("FOOT", side))
    if maker.factors["toes"]:
        maker.add(f"Toe.{mark}", foot, ball, ball + maker.length("toe", 0.04) * FORWARD, ("TOE", side))


def _add_extras(maker: _Maker, pelvis: int, chest: int, head: int, hips: Array, top: Array, skull: Array) -> None:
    """Add some of: a face, hair, a skirt, a tail, breasts, targets for hands and feet."""
    if maker.chance(0.3):
        maker.add("Jaw", head, skull + 0.03 * FORWARD, skull + 0.06 * FORWARD - 0.02 * UP)
        for sign, _, mark in SIDES:
            for number in range(int(maker.rng.integers(1, 8))):
                start = skull + 0.06 * FORWARD + 0.01 * (number + 1) * UP + sign * 0.02 * LEFT
                maker.add(f"Face{number}.{mark}", head, start, start + 0.01 * FORWARD)
    if maker.chance(0.25):
        for strand in range(int(maker.rng.integers(1, 6))):
            start = skull + 0.1 * UP - 0.05 * FORWARD + 0.02 * (strand - 2) * LEFT
            points = [
                start - step * (0.95 * UP + 0.3 * FORWARD) for step in maker.length("hair", 1.0) * np.arange(5) * 0.06
            ]
            maker.chain([f"Hair{strand}_{joint}" for joint in range(4)], head, points, [None] * 4)
    if maker.chance(0.2):
        for panel in range(8):
            angle = 2.0 * np.pi * panel / 8.0
            out = 0.08 * (np.cos(angle) * FORWARD + np.sin(angle) * LEFT)
            points = [hips + out * (1.0 + step) - 0.15 * step * UP for step in range(4)]
            maker.chain([f"Skirt{panel}_{joint}" for joint in range(3)], pelvis, points, [None] * 3)
    if maker.chance(0.15):
        points = [hips - 0.05 * FORWARD - step * (0.06 * FORWARD + 0.04 * UP) for step in range(6)]
        maker.chain([f"Tail{joint + 1}" for joint in range(5)], pelvis, points, [("TAIL", "CENTER")] * 5)
    if maker.chance(0.2):
        for sign, _, mark in SIDES:
            start = top - 0.09 * UP + 0.04 * FORWARD + 0.05 * sign * LEFT
            maker.add(f"Breast.{mark}", chest, start, start + 0.04 * FORWARD)
    if maker.chance(0.15):
        for bone in [bone for bone, part in maker.parts.items() if part[0] in ("HAND", "FOOT")]:
            word, _, mark = maker.names[bone].rpartition(".")
            maker.add(f"{word}_IK.{mark}", -1, maker.heads[bone], maker.tails[bone])


def _turned(vector: Array, axis: Array, degrees: float) -> Array:
    """Return a vector turned about an axis."""
    axis = axis / np.linalg.norm(axis)
    cosine, sine = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    turned: Array = cosine * vector + sine * np.cross(axis, vector) + (1.0 - cosine) * float(axis @ vector) * axis
    return turned


def _two_heads(maker: _Maker, root: int) -> None:
    """Add a human with a second head beside the first."""
    _human(maker, root)
    first = next(bone for bone, part in maker.parts.items() if part[0] == "HEAD")
    chest = next(bone for bone, part in maker.parts.items() if part[0] == "CHEST")
    below = {bone for bone in range(len(maker.names)) if maker.parts.get(bone, ("", ""))[0] in ("NECK", "HEAD")}
    for bone in below:
        maker.either[bone] = frozenset(
            (role, side) for role in ("NECK", "HEAD") for side in ("CENTER", "LEFT", "RIGHT")
        )
        del maker.parts[bone]
        maker.heads[bone] = maker.heads[bone] + 0.06 * LEFT
        maker.tails[bone] = maker.tails[bone] + 0.08 * LEFT
    start, skull, crown = maker.tails[chest], maker.heads[first] - 0.12 * LEFT, maker.tails[first] - 0.16 * LEFT
    number = len(maker.names)
    neck = maker.add("NeckB", chest, start - 0.06 * LEFT, skull)
    maker.add("HeadB", neck, skull, crown)
    maker.loose(number, ("NECK", "HEAD"), ("CENTER", "LEFT", "RIGHT"))


# Animals


def _quadruped(maker: _Maker, root: int) -> None:
    """Add an animal on four legs."""
    legs, length = maker.length("legs", 0.6), maker.length("trunk", 0.8)
    level = legs * UP
    spines = int(maker.rng.integers(2, 6))
    points = [level + (share - 0.5) * length * FORWARD for share in np.linspace(0.0, 1.0, spines + 2)]
    words = ["Hips", *(f"Spine{number + 1}" for number in range(spines - 1)), "Chest"]
    roles = ["HIPS", *["SPINE"] * (spines - 1), "CHEST"]
    chest = maker.chain(words, root, points, [(role, "CENTER") for role in roles])
    pelvis = chest - spines
    necks = int(maker.rng.integers(1, 5))
    rise = maker.length("neck", 0.3) * (FORWARD + maker.rng.uniform(0.2, 1.5) * UP)
    line = [points[-1] + rise * share for share in np.linspace(0.0, 1.0, necks + 1)]
    neck = maker.chain([f"Neck{number + 1}" for number in range(necks)], chest, line, [("NECK", "CENTER")] * necks)
    skull = line[-1]
    head = maker.add("Head", neck, skull, skull + maker.length("head", 0.2) * (FORWARD - 0.3 * UP), ("HEAD", "CENTER"))
    if maker.chance(0.5):
        maker.add("Jaw", head, skull + 0.03 * FORWARD - 0.03 * UP, skull + 0.15 * FORWARD - 0.09 * UP)
        for sign, _, mark in SIDES:
            maker.add(f"Ear.{mark}", head, skull + 0.04 * (UP + sign * LEFT), skull + 0.12 * UP + 0.05 * sign * LEFT)
    tails = int(maker.rng.choice([0, 3, 5, 8]))
    points = [points[0] - maker.length("tail", 0.1) * step * (FORWARD + 0.4 * UP) for step in range(tails + 1)]
    maker.chain([f"Tail{joint + 1}" for joint in range(tails)], pelvis, points, [("TAIL", "CENTER")] * tails)
    blades, toes = maker.chance(0.7), maker.chance(0.7)
    for half in SIDES:
        _add_hind_leg(maker, pelvis, maker.heads[pelvis] + 0.05 * length * FORWARD, legs, half, toes)
        _add_foreleg(maker, chest, line[0] - 0.04 * length * FORWARD, legs, half, (blades, toes))


def _add_hind_leg(maker: _Maker, pelvis: int, start: Array, legs: float, half: _Half, toes: bool) -> None:
    sign, side, mark = half
    across = sign * maker.length("width", 0.12) * LEFT
    knee, hock = maker.length("thigh", 0.58), maker.length("shin", 0.28)
    places = ((0.0, 0.95), (0.03, min(knee, 0.7)), (-0.09, min(hock, 0.36)), (-0.04, 0.06), (0.06, 0.0), (0.1, 0.0))
    points = [start + across + legs * (along * FORWARD + (height - 1.0) * UP) for along, height in places]
    words, roles = ["Thigh", "Shin", "Foot", "Toe"][: 3 + toes], ["THIGH", "SHIN", "FOOT", "TOE"]
    maker.chain([f"{word}.{mark}" for word in words], pelvis, points, [(role, side) for role in roles])


def _add_foreleg(maker: _Maker, chest: int, start: Array, legs: float, half: _Half, has: tuple[bool, bool]) -> None:
    sign, side, mark = half
    across = sign * maker.length("chest width", 0.11) * LEFT
    elbow, wrist = maker.length("upper arm", 0.6), maker.length("forearm", 0.25)
    parent = chest
    places = ((0.02, 0.9), (-0.08, min(elbow, 0.75)), (-0.04, min(wrist, 0.35)), (-0.03, 0.06), (0.06, 0.0), (0.1, 0.0))
    points = [start + across + legs * (along * FORWARD + (height - 1.0) * UP) for along, height in places]
    if has[0]:
        blade = start + 0.5 * across - 0.04 * FORWARD + 0.1 * legs * UP
        parent = maker.add(f"Scapula.{mark}", chest, blade, points[0], ("CLAVICLE", side))
    words, roles = ["UpperArm", "Forearm", "Hand", "Finger"][: 3 + has[1]], ["UPPER_ARM", "FOREARM", "HAND", "FINGER"]
    maker.chain([f"{word}.{mark}" for word in words], parent, points, [(role, side) for role in roles])


def _bird(maker: _Maker, root: int) -> None:
    """Add a bird that stands, with its wings spread or folded."""
    legs, length = maker.length("legs", 0.3), maker.length("trunk", 0.35)
    points = [legs * UP + share * length * (FORWARD + 0.3 * UP) for share in (-0.5, -0.1, 0.3, 0.5)]
    chest = maker.chain(["Hips", "Spine", "Chest"], root, points, [(r, "CENTER") for r in ("HIPS", "SPINE", "CHEST")])
    pelvis = chest - 2
    necks = int(maker.rng.integers(1, 4))
    line = [points[-1] + step * maker.length("neck", 0.05) * (UP + 0.3 * FORWARD) for step in range(necks + 1)]
    neck = maker.chain([f"Neck{number + 1}" for number in range(necks)], chest, line, [("NECK", "CENTER")] * necks)
    maker.add("Head", neck, line[-1], line[-1] + 0.09 * FORWARD, ("HEAD", "CENTER"))
    if maker.chance(0.7):
        back = [points[0] - step * maker.length("tail", 0.07) * FORWARD for step in range(3)]
        maker.chain(["Tail1", "Tail2"], pelvis, back, [("TAIL", "CENTER")] * 2)
    folded = maker.chance(0.4)
    for sign, side, mark in SIDES:
        along = sign * LEFT if not folded else -0.9 * FORWARD + 0.25 * sign * LEFT
        hand = sign * LEFT - 0.3 * FORWARD if not folded else -FORWARD + 0.1 * sign * LEFT
        shoulder = points[2] + 0.05 * sign * LEFT
        elbow = shoulder + maker.length("upper arm", 0.14) * along
        wrist = elbow + maker.length("forearm", 0.16) * (along if not folded else 0.8 * FORWARD + 0.3 * sign * LEFT)
        tip = wrist + maker.length("hand", 0.15) * hand
        wing = [(role, side) for role in ("UPPER_ARM", "FOREARM", "HAND")]
        maker.chain(
            [f"{word}.{mark}" for word in ("UpperArm", "Forearm", "Hand")], chest, [shoulder, elbow, wrist, tip], wing
        )
        start = legs * UP + 0.05 * sign * LEFT - 0.05 * length * FORWARD
        places = ((0.0, 0.9), (0.12, 0.6), (-0.1, 0.25), (0.0, 0.0), (0.12, 0.0))
        leg = [start + legs * (ahead * FORWARD + (height - 1.0) * UP) for ahead, height in places]
        maker.chain(
            [f"{word}.{mark}" for word in ("Thigh", "Shin", "Foot", "Toe")],
            pelvis,
            leg,
            [(role, side) for role in ("THIGH", "SHIN", "FOOT", "TOE")],
        )


def _centaur(maker: _Maker, root: int) -> None:
    """Add an animal on four legs with a human's upper body for a neck: which pair are the arms is not said."""
    _quadruped(maker, root)
    neck = [bone for bone, part in maker.parts.items() if part[0] in ("NECK", "HEAD")]
    for bone in neck:
        del maker.parts[bone]
        maker.names[bone] = f"Torso{bone}"
        maker.either[bone] = frozenset((role, "CENTER") for role in ("SPINE", "CHEST", "NECK", "HEAD"))
    forelegs = [
        bone for bone, part in maker.parts.items() if part[0] in ("CLAVICLE", "UPPER_ARM", "FOREARM", "HAND", "FINGER")
    ]
    for bone in forelegs:
        role, side = maker.parts.pop(bone)
        leg = {"UPPER_ARM": "THIGH", "FOREARM": "SHIN", "HAND": "FOOT", "FINGER": "TOE"}.get(role, role)
        maker.either[bone] = frozenset({(role, side), (leg, side)})
        maker.names[bone] = "Front" + maker.names[bone]
    for bone, (role, _) in list(maker.parts.items()):
        if role in ("CHEST", "SPINE", "HIPS"):
            maker.either[bone] = frozenset((each, "CENTER") for each in ("CHEST", "SPINE", "HIPS"))
            del maker.parts[bone]
    top = maker.heads[neck[0]] + 0.35 * UP
    torso = maker.add("UpperBody", maker.parents[neck[0]], maker.heads[neck[0]], top)
    upper = len(maker.names)
    chest = maker.add("UpperChest", torso, top, top + 0.15 * UP)
    maker.chain(["HumanNeck", "HumanHead"], chest, [top + 0.15 * UP, top + 0.22 * UP, top + 0.36 * UP], [None] * 2)
    maker.loose(torso, ("SPINE", "CHEST", "NECK", "HEAD"))
    maker.parts[upper + 2] = ("HEAD", "CENTER")
    maker.factors |= {"clavicles": 1.0, "twists": 0.0, "fingers": 0.0, "toes": 0.0}
    for half in SIDES:
        _add_arm(maker, chest, top + 0.15 * UP, half, "A")


# Whatever else bends

ANY_TRUNK = ("HIPS", "SPINE", "CHEST", "NECK", "HEAD", "TAIL", "LIMB")


def _legs_around(maker: _Maker, root: int, pairs: int) -> None:
    body = maker.add("Body", root, 0.35 * UP - 0.12 * FORWARD, 0.35 * UP + 0.12 * FORWARD)
    if maker.chance(0.6):
        maker.add("Head", body, 0.35 * UP + 0.12 * FORWARD, 0.35 * UP + 0.25 * FORWARD)
    if maker.chance(0.6):
        maker.add("Abdomen", body, 0.35 * UP - 0.12 * FORWARD, 0.35 * UP - 0.45 * FORWARD)
    maker.loose(body, ANY_TRUNK)
    segments = int(maker.rng.integers(3, 6))
    for pair in range(pairs):
        angle = np.radians(np.interp(pair, [0, pairs - 1], [40.0, 140.0]))
        for sign, side, mark in SIDES:
            out = sign * np.sin(angle) * LEFT + np.cos(angle) * FORWARD
            points = [0.35 * UP + 0.1 * np.cos(angle) * FORWARD + 0.06 * out]
            for rise in np.linspace(0.5, -1.6, segments):
                points.append(points[-1] + maker.length(f"leg {pair}", 0.6 / segments) * (out + rise * UP))
            words = [f"Leg{pair + 1}_{joint + 1}.{mark}" for joint in range(segments)]
            maker.chain(words, body, points, [("LIMB", side)] * segments)


def _octopus(maker: _Maker, root: int) -> None:
    """Add arms all around; none of them is in the plane of symmetry."""
    body = maker.add("Mantle", root, 0.4 * UP, 0.9 * UP)
    maker.loose(body, ANY_TRUNK)
    bones = int(maker.rng.integers(5, 14))
    for arm in range(8):
        angle = 2.0 * np.pi * (arm + 0.5) / 8.0
        out = np.sin(angle) * LEFT + np.cos(angle) * FORWARD
        side, mark = ("LEFT", "L") if out @ LEFT > 0.0 else ("RIGHT", "R")
        points = [0.4 * UP + (0.1 + 1.2 * step) * out - 0.3 * step * UP for step in np.linspace(0.0, 1.0, bones + 1)]
        words = [f"Tentacle{arm + 1}_{joint + 1}.{mark}" for joint in range(bones)]
        maker.chain(words, body, points, [("LIMB", side)] * bones)


def _snake(maker: _Maker, root: int) -> None:
    """Add a level chain with a few waves."""
    bones = int(maker.rng.integers(8, 40))
    waves = maker.rng.uniform(0.0, 0.15)
    points = [share * -2.0 * FORWARD + waves * np.sin(9.0 * share) * LEFT for share in np.linspace(0.0, 1.0, bones + 1)]
    start = len(maker.names)
    maker.chain([f"Segment{joint + 1}" for joint in range(bones)], root, points, [("LIMB", "CENTER")] * bones)
    for bone in range(start, len(maker.names)):
        maker.either[bone] = frozenset((role, "CENTER") for role in ANY_TRUNK)


def _robot_arm(maker: _Maker, root: int) -> None:
    """Add an arm on a base, in a plane or not, with a gripper or without."""
    bones = int(maker.rng.integers(4, 8))
    points = [np.zeros(3)]
    for joint in range(bones):
        way = np.array([maker.chance(0.3) * maker.rng.uniform(-0.4, 0.4), -joint * 0.4, 1.5 - 0.5 * joint])
        points.append(points[-1] + maker.length(f"link {joint}", 0.25) * way / np.linalg.norm(way))
    sides = ("CENTER", "LEFT", "RIGHT")
    start = len(maker.names)
    last = maker.chain([f"Link{joint}" for joint in range(bones)], root, points, [None] * bones)
    if maker.chance(0.5):
        for sign, _, mark in SIDES:
            tip = points[-1] + 0.02 * sign * LEFT
            maker.add(f"Gripper.{mark}", last, tip, tip - 0.08 * UP)
    maker.loose(start, ("LIMB",), sides)
    for bone in range(start + 1, start + bones):
        maker.parts[bone] = ("LIMB", "CENTER")


def _fish(maker: _Maker, root: int) -> None:
    """Add a trunk from head to tail with pairs of fins."""
    bones = int(maker.rng.integers(5, 11))
    points = [share * -1.6 * FORWARD + 0.8 * FORWARD for share in np.linspace(0.0, 1.0, bones + 1)]
    start = len(maker.names)
    maker.chain(["Head", *(f"Spine{joint}" for joint in range(1, bones))], root, points, [None] * bones)
    maker.loose(start, (*ANY_TRUNK, "FIN"))
    for pair, share in enumerate((0.25, 0.5)[: int(maker.rng.integers(1, 3))]):
        parent = start + int(share * bones)
        for sign, side, mark in SIDES:
            base = maker.heads[parent] + 0.08 * sign * LEFT - 0.03 * UP
            out = maker.length(f"fin {pair}", 0.12) * (sign * LEFT - 0.5 * FORWARD - 0.2 * UP)
            maker.chain(
                [f"Fin{pair}_{j}.{mark}" for j in (1, 2)],
                parent,
                [base, base + out, base + 2 * out],
                [("FIN", side)] * 2,
            )


HUMANS = ("human", "two heads")
KINDS: dict[str, Callable[[_Maker, int], None]] = {
    "human": _human,
    "two heads": _two_heads,
    "quadruped": _quadruped,
    "bird": _bird,
    "centaur": _centaur,
    "insect": partial(_legs_around, pairs=3),
    "spider": partial(_legs_around, pairs=4),
    "octopus": _octopus,
    "snake": _snake,
    "fish": _fish,
    "robot arm": _robot_arm,
}
"""How each kind is made."""
