# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Skeletons with chosen peculiarities, and which part each of their bones is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fabrik_addon.core.math.operations import Array
from scripts.benchmark.skeletons import Skeleton, SkeletonMaker

UP, FORWARD, LEFT = np.array([0.0, 0.0, 1.0]), np.array([0.0, -1.0, 0.0]), np.array([1.0, 0.0, 0.0])


@dataclass
class Maker(SkeletonMaker):
    """Bones added one after another; +Z is up, -Y forward, +X left, the height about one."""

    def chain(self, words: Sequence[tuple[str, str | None]], parent: int, points: list[Array], side: str) -> list[int]:
        """Add connected bones through points, one for each name and role."""
        made = []
        for (name, role), head, tail in zip(words, points, points[1:], strict=False):
            parent = self.add(name, parent, head, tail, (role, side) if role else None)
            made.append(parent)
        return made


@dataclass(frozen=True)
class Figure:
    """What a human's skeleton is like."""

    spines: int = 3
    necks: int = 1
    clavicles: bool = True
    fingers: int = 5
    toes: bool = True
    arm_drop: float = 0.0
    """Degrees that the arms hang below level."""
    sitting: bool = False
    arms: tuple[int, ...] = (1, -1)
    """Sides that have an arm."""
    legs: tuple[int, ...] = (1, -1)
    twists: str = ""
    """``leaf``: twist bones beside the next segment; ``line``: segments in two bones."""
    root: bool = False
    ends: bool = False
    """Bones after heads, toes and fingers that only keep their lengths."""
    extras: bool = False
    """Eyes, jaw, hair, breasts, a skirt."""
    made_up_tails: bool = False
    """Tails as an importer makes them up that knows none."""
    build: int = 0
    """Seed of the proportions; 0 is the usual ones."""


def make_human(figure: Figure) -> Skeleton:
    """Make a human's skeleton."""
    rng = np.random.default_rng(figure.build)

    def about(length: float) -> float:
        return length * (1.0 if figure.build == 0 else rng.uniform(0.88, 1.12))

    maker = Maker()
    thigh, shin, foot, toe = about(0.245), about(0.246), about(0.12), about(0.04)
    upper, fore, hand = about(0.165), about(0.145), about(0.05)
    hip_width, shoulder_width = about(0.05), about(0.1)
    ankle = 0.04
    hips_height = ankle + (shin if figure.sitting else thigh + shin) + 0.02
    hips = np.array([0.0, 0.0, hips_height])
    parent = -1
    if figure.root:
        parent = maker.add("Root", -1, np.zeros(3), 0.1 * FORWARD)
    trunk = about(0.29)
    levels = hips + np.linspace(0.0, trunk, figure.spines + 2)[:, None] * UP
    levels[1:-1] += 0.01 * np.sin(np.arange(figure.spines))[:, None] * FORWARD
    words = [("Hips", "HIPS"), *((f"Spine{i}", "SPINE") for i in range(figure.spines - 1)), ("Chest", "CHEST")]
    if figure.spines == 0:
        words = [("Hips", "HIPS")]
    line = maker.chain(words, parent, list(levels), "CENTER")
    chest, top = line[-1], levels[-1]
    skull = top + about(0.06) * UP - 0.005 * FORWARD
    if figure.necks:
        points = np.linspace(top, skull, figure.necks + 1)
        line = maker.chain([(f"Neck{i}", "NECK") for i in range(figure.necks)], chest, list(points), "CENTER")
    else:
        skull = top + 0.02 * UP
    crown = skull + about(0.12) * UP
    head = maker.add("Head", line[-1], skull, crown, ("HEAD", "CENTER"))
    if figure.ends:
        maker.add("HeadTop", head, crown, crown + 0.05 * UP)
    for sign in figure.arms:
        _add_arm(maker, figure, chest, top, sign, shoulder_width, (upper, fore, hand))
    for sign in figure.legs:
        _add_leg(maker, figure, 0 if not figure.root else 1, hips, sign, hip_width, (thigh, shin, foot, toe))
    if figure.extras:
        _add_extras(maker, 0 if not figure.root else 1, chest, head, levels[0], top, skull)
    if figure.made_up_tails:
        maker.tails = [point + 0.05 * UP for point in maker.heads]
    return maker.skeleton("human")


def _add_arm(
    maker: Maker, figure: Figure, chest: int, top: Array, sign: int, width: float, lengths: tuple[float, float, float]
) -> None:
    side = "LEFT" if sign > 0 else "RIGHT"
    drop = np.radians(figure.arm_drop)
    along = sign * np.cos(drop) * LEFT - np.sin(drop) * UP
    shoulder = top - 0.025 * UP + sign * width * LEFT
    elbow = shoulder + lengths[0] * along - 0.004 * FORWARD
    wrist = elbow + lengths[1] * along + 0.008 * FORWARD
    knuckles = wrist + lengths[2] * along
    parent = chest
    if figure.clavicles:
        start = top - 0.03 * UP + 0.015 * sign * LEFT
        parent = maker.add(f"Clavicle{side}", parent, start, shoulder, ("CLAVICLE", side))
    for name, role, head, tail in (
        ("UpperArm", "UPPER_ARM", shoulder, elbow),
        ("Forearm", "FOREARM", elbow, wrist),
    ):
        if figure.twists == "line":
            middle = 0.5 * (head + tail)
            parent = maker.add(f"{name}{side}", parent, head, middle, (role, side))
            parent = maker.add(f"{name}Twist{side}", parent, middle, tail, (role, side))
        else:
            parent = maker.add(f"{name}{side}", parent, head, tail, (role, side))
            if figure.twists == "leaf":
                for share in (0.33, 0.67):
                    start = head + share * (tail - head)
                    maker.add(f"{name}Twist{share}{side}", parent, start, start + 0.2 * (tail - head))
    hand = maker.add(f"Hand{side}", parent, wrist, knuckles, ("HAND", side))
    for finger in range(figure.fingers):
        spread = (0.02 - 0.012 * finger) * FORWARD
        start = knuckles + spread if finger else wrist + 0.02 * along + 0.02 * FORWARD
        toward = along if finger else (along + FORWARD) / np.sqrt(2.0)
        points = [start + step * toward for step in (0.0, 0.022, 0.037, 0.049, 0.06)]
        words: list[tuple[str, str | None]] = [(f"Finger{finger}{joint}{side}", "FINGER") for joint in range(3)]
        if figure.ends:
            words.append((f"FingerEnd{finger}{side}", None))
        maker.chain(words, hand, points, side)


def _add_leg(
    maker: Maker,
    figure: Figure,
    pelvis: int,
    hips: Array,
    sign: int,
    width: float,
    lengths: tuple[float, float, float, float],
) -> None:
    side = "LEFT" if sign > 0 else "RIGHT"
    hip = hips + sign * width * LEFT - 0.02 * UP
    knee = hip + (lengths[0] * (0.97 * FORWARD - 0.24 * UP) if figure.sitting else -lengths[0] * UP + 0.01 * FORWARD)
    ankle = knee - lengths[1] * UP - 0.012 * FORWARD
    ball = ankle + lengths[2] * FORWARD * 0.95 - 0.03 * UP
    tip = ball + lengths[3] * FORWARD
    words: list[tuple[str, str | None]] = [(f"Thigh{side}", "THIGH"), (f"Shin{side}", "SHIN"), (f"Foot{side}", "FOOT")]
    if figure.toes:
        words.append((f"Toe{side}", "TOE"))
        if figure.ends:
            words.append((f"ToeEnd{side}", None))
    made = maker.chain(words, pelvis, [hip, knee, ankle, ball, tip, tip + 0.02 * FORWARD], side)
    if figure.twists == "leaf":
        middle = 0.5 * (hip + knee)
        maker.add(f"ThighTwist{side}", made[0], middle, knee)


def _add_extras(maker: Maker, hips: int, chest: int, head: int, low: Array, top: Array, skull: Array) -> None:
    for sign in (1, -1):
        across = sign * LEFT
        maker.add(
            f"Eye{sign}", head, skull + 0.05 * UP + 0.03 * FORWARD + 0.015 * across, skull + 0.05 * (UP + FORWARD)
        )
        start = top - 0.08 * UP + 0.04 * across + 0.02 * FORWARD
        maker.add(f"Bust{sign}", chest, start, start + 0.04 * FORWARD)
        start = skull + 0.08 * UP + 0.04 * across - 0.03 * FORWARD
        points = [start - step * (0.9 * UP + 0.3 * FORWARD) for step in (0.0, 0.06, 0.12, 0.18)]
        maker.chain([(f"Hair{sign}{joint}", None) for joint in range(3)], head, points, "CENTER")
        for part in range(3):
            start = low - 0.01 * UP + (0.03 + 0.03 * part) * across + 0.05 * (1 - part) * FORWARD
            points = [start - step * UP + 0.2 * step * across for step in (0.0, 0.07, 0.14, 0.2)]
            maker.chain([(f"Skirt{sign}{part}{joint}", None) for joint in range(3)], hips, points, "CENTER")
    jaw = skull + 0.02 * UP + 0.02 * FORWARD
    maker.add("Jaw", head, jaw, jaw + 0.04 * FORWARD)


def make_spider(pairs: int = 4, segments: int = 4, abdomen: bool = True) -> Skeleton:
    """Make a body with legs all around; each leg is a limb."""
    maker = Maker()
    centre = 0.3 * UP
    body = maker.add("Body", -1, centre - 0.1 * FORWARD, centre + 0.1 * FORWARD)
    if abdomen:
        maker.add("Abdomen", body, centre - 0.1 * FORWARD, centre - 0.4 * FORWARD)
    for pair in range(pairs):
        angle = np.radians(40.0 + 100.0 * pair / max(pairs - 1, 1))
        for sign, side in ((1, "LEFT"), (-1, "RIGHT")):
            out = sign * np.sin(angle) * LEFT + np.cos(angle) * FORWARD
            rises = np.linspace(0.25, -0.7, segments)
            points = [centre + 0.08 * out]
            for rise in rises:
                points.append(points[-1] + 0.2 * (out + rise * UP))
            lift = 0.3 - (0.3 + 0.2 * float(rises.sum()))
            points = [point + 0.0 * lift * UP for point in points]
            maker.chain([(f"Leg{pair}{sign}{joint}", "LIMB") for joint in range(segments)], body, points, side)
    for bone in range(len(maker.names)):
        if bone not in maker.parts:
            maker.either[bone] = frozenset({("LIMB", "CENTER"), ("TAIL", "CENTER"), ("HIPS", "CENTER")})
    return maker.skeleton("spider")


def make_many_legged(pairs: int = 3, segments: int = 3, feelers: bool = False) -> Skeleton:
    """Make a trunk of segments with a pair of legs on each: an ant, a centipede; feelers are limbs too."""
    maker = Maker()
    trunk = [0.4 * UP - (0.2 * step - 0.5) * FORWARD for step in range(pairs + 2)]
    line = [maker.add("Segment0", -1, trunk[-1], trunk[-2])]
    for number, (head, tail) in enumerate(zip(trunk[-2:0:-1], trunk[-3::-1], strict=True)):
        line.append(maker.add(f"Segment{number + 1}", line[-1], head, tail))
    for sign, side in ((1, "LEFT"), (-1, "RIGHT")):
        for pair, hung_on in enumerate(line[:-1]):
            start = 0.5 * (maker.heads[hung_on] + maker.tails[hung_on]) + 0.08 * sign * LEFT
            steps = [(0.2 * sign * LEFT + 0.1 * UP), *[0.25 * sign * LEFT - 0.5 / (segments - 1) * UP] * (segments - 1)]
            points = [start, *(start + sum(steps[: count + 1]) for count in range(segments))]
            maker.chain([(f"Limb{pair}{sign}{joint}", "LIMB") for joint in range(segments)], hung_on, points, side)
        if feelers:
            start = trunk[0] + 0.05 * sign * LEFT
            points = [start, start + 0.25 * FORWARD + 0.1 * UP, start + 0.5 * FORWARD + 0.02 * UP]
            maker.chain([(f"Feeler{sign}{joint}", "LIMB") for joint in range(2)], line[-1], points, side)
    return maker.skeleton("many legs")


Point = tuple[float, float, float]
Words = list[tuple[str, str]]


def _make_animal(trunk: list[Point], tail: list[Point], limbs: list[tuple[int, Words, list[Point]]]) -> Skeleton:
    """Make hips, spine, chest, neck and head, a tail, and limbs: the trunk's bone, words and roles, the left points."""
    maker = Maker()
    parts = [(role.title(), role) for role in ("HIPS", "SPINE", "CHEST", "NECK", "HEAD")]
    line = maker.chain(parts, -1, [np.array(point) for point in trunk], "CENTER")
    maker.chain([(f"Tail{i}", "TAIL") for i in range(1, len(tail))], line[0], [np.array(at) for at in tail], "CENTER")
    for hung_on, words, points in limbs:
        for sign, side, mark in ((1.0, "LEFT", "L"), (-1.0, "RIGHT", "R")):
            named = [(f"{word}.{mark}", role) for word, role in words]
            maker.chain(named, line[hung_on], [np.array(point) * (sign, 1.0, 1.0) for point in points], side)
    return maker.skeleton("animal", human=False)


def make_kangaroo() -> Skeleton:
    """Make an upright animal with a long tail, and arms and legs that lead forward."""
    arms = [("Shoulder", "CLAVICLE"), ("UpperArm", "UPPER_ARM"), ("ForeArm", "FOREARM"), ("Hand", "HAND")]
    legs = [("Thigh", "THIGH"), ("Shin", "SHIN"), ("Foot", "FOOT"), ("Toe", "TOE")]
    arm = [(0.03, -0.12, 1.28), (0.1, -0.14, 1.25), (0.13, -0.1, 1.05), (0.12, -0.25, 0.92), (0.12, -0.3, 0.85)]
    leg = [(0.12, 0.15, 0.7), (0.15, -0.15, 0.5), (0.15, 0.3, 0.1), (0.15, -0.1, 0.02), (0.15, -0.25, 0.0)]
    return _make_animal(
        [(0, 0.15, 0.75), (0, 0.1, 0.9), (0, 0, 1.1), (0, -0.1, 1.3), (0, -0.2, 1.5), (0, -0.4, 1.5)],
        [(0, 0.2 + 0.22 * step, max(0.7 - 0.13 * step, 0.05)) for step in range(8)],
        [(2, arms, arm), (0, legs, leg)],
    )


def make_penguin(wing: list[str]) -> Skeleton:
    """Make an upright animal with very short legs, and wings of three bones with these words."""
    wings = list(zip(wing, ("UPPER_ARM", "FOREARM", "HAND"), strict=True))
    legs = [("Thigh", "THIGH"), ("Shin", "SHIN"), ("Foot", "FOOT")]
    return _make_animal(
        [(0, 0.02, 0.2), (0, 0.02, 0.3), (0, 0.02, 0.5), (0, 0, 0.7), (0, -0.01, 0.8), (0, -0.1, 0.88)],
        [(0, 0.1, 0.15), (0, 0.2, 0.05)],
        [
            (2, wings, [(0.12, 0, 0.65), (0.19, 0.02, 0.5), (0.22, 0.02, 0.36), (0.24, 0, 0.24)]),
            (0, legs, [(0.06, 0.02, 0.18), (0.07, -0.02, 0.12), (0.07, 0.02, 0.04), (0.07, -0.08, 0)]),
        ],
    )


def make_chain(bones: int, bend: float = 0.0, level: bool = False) -> Skeleton:
    """Make one chain: a tentacle, a snake, a robot's arm."""
    maker = Maker()
    along = FORWARD if level else UP
    aside = LEFT if level else FORWARD
    points = [step * along + bend * np.sin(step) * aside for step in np.linspace(0.0, 6.0, bones + 1)]
    maker.chain([(f"Segment{joint}", "LIMB") for joint in range(bones)], -1, points, "CENTER")
    return maker.skeleton("chain")


def make_octopus(arms: int = 8, bones: int = 10) -> Skeleton:
    """Make arms all around a head."""
    maker = Maker()
    head = maker.add("Mantle", -1, 0.3 * UP, UP)
    for arm in range(arms):
        angle = 2.0 * np.pi * (arm + 0.5) / arms
        out = np.sin(angle) * LEFT + np.cos(angle) * FORWARD
        points = [0.3 * UP + (0.1 + 0.15 * step) * out - 0.03 * step * UP for step in range(bones + 1)]
        side = "LEFT" if out @ LEFT > 0.0 else "RIGHT"
        maker.chain([(f"Arm{arm}{joint}", "LIMB") for joint in range(bones)], head, points, side)
    maker.either[head] = frozenset({("LIMB", "CENTER"), ("HEAD", "CENTER"), ("HIPS", "CENTER")})
    return maker.skeleton("octopus")


@dataclass(frozen=True)
class Beast:
    """What the skeleton of an animal with a level trunk is like."""

    legs: float = 0.6
    """Height of the trunk above the ground."""
    necks: int = 3
    tails: int = 5
    scapulas: bool = True
    toes: bool = True
    forelegs: bool = True
    wings: bool = False
    small_arms: bool = False
    """Arms that hang from the chest instead of forelegs."""
    made_up_tails: bool = False


def make_beast(beast: Beast) -> Skeleton:
    """Make an animal's skeleton."""
    maker = Maker()
    level = beast.legs * UP
    hips = maker.add("Hips", -1, level - 0.5 * FORWARD, level - 0.3 * FORWARD, ("HIPS", "CENTER"))
    points = [level + (0.2 * step - 0.3) * FORWARD for step in range(5)]
    words: list[tuple[str, str | None]] = [*((f"Spine{i}", "SPINE") for i in range(3)), ("Chest", "CHEST")]
    chest, top = maker.chain(words, hips, points, "CENTER")[-1], points[-1]
    points = [top + 0.1 * step * (FORWARD + UP) for step in range(beast.necks + 1)]
    necks = maker.chain([(f"Neck{i}", "NECK") for i in range(beast.necks)], chest, points, "CENTER")
    skull = points[-1]
    maker.add("Head", necks[-1] if necks else chest, skull, skull + 0.2 * FORWARD - 0.05 * UP, ("HEAD", "CENTER"))
    points = [level - (0.5 + 0.12 * step) * FORWARD - 0.02 * step * UP for step in range(beast.tails + 1)]
    maker.chain([(f"Tail{i}", "TAIL") for i in range(beast.tails)], hips, points, "CENTER")
    for sign, side in ((1, "LEFT"), (-1, "RIGHT")):
        _add_beast_limbs(maker, beast, hips, chest, top, sign, side)
    if beast.made_up_tails:
        maker.tails = [point + 0.06 * UP for point in maker.heads]
    return maker.skeleton("beast")


def _add_beast_limbs(maker: Maker, beast: Beast, hips: int, chest: int, top: Array, sign: int, side: str) -> None:
    across, height = 0.12 * sign * LEFT, beast.legs
    hind = [(-0.45, height - 0.03), (-0.42, 0.55 * height), (-0.52, 0.3 * height), (-0.48, 0.04), (-0.4, 0.0)]
    points = [across + along * FORWARD + up * UP for along, up in (*hind, (-0.36, 0.0))]
    words: list[tuple[str, str | None]] = [(f"Thigh{side}", "THIGH"), (f"Shin{side}", "SHIN"), (f"Foot{side}", "FOOT")]
    maker.chain([*words, (f"Toe{side}", "TOE")] if beast.toes else words, hips, points, side)
    arm: list[tuple[str, str | None]] = [
        (f"UpperArm{side}", "UPPER_ARM"),
        (f"Forearm{side}", "FOREARM"),
        (f"Hand{side}", "HAND"),
    ]
    if beast.forelegs:
        parent = chest
        if beast.scapulas:
            start = top + 0.4 * across - 0.05 * FORWARD + 0.08 * UP
            parent = maker.add(f"Scapula{side}", chest, start, top + across - 0.05 * UP, ("CLAVICLE", side))
        fore = [(0.53, height - 0.05), (0.45, 0.6 * height), (0.47, 0.25 * height), (0.48, 0.04), (0.56, 0.0)]
        points = [across + along * FORWARD + up * UP for along, up in fore]
        maker.chain([*arm, (f"Finger{side}", "FINGER")] if beast.toes else arm, parent, points, side)
    if beast.small_arms:
        drops = [(0.0, -0.1), (-0.03, -0.2), (0.06, -0.27), (0.1, -0.3)]
        points = [top + 0.7 * across + along * FORWARD + up * UP for along, up in drops]
        maker.chain(arm, chest, points, side)
    if beast.wings:
        points = [top + step * sign * LEFT + 0.2 * UP - 0.1 * FORWARD for step in (0.05, 0.4, 0.8, 1.2)]
        for bone in maker.chain([(f"Wing{joint}{side}", None) for joint in range(3)], chest, points, side):
            maker.either[bone] = frozenset((role, side) for role in ("CLAVICLE", "UPPER_ARM", "FOREARM", "HAND"))


def make_fish(pairs: int = 2, fin_bones: int = 2, drop: float = 0.1) -> Skeleton:
    """Make a level trunk of eight bones with pairs of short fins, which start by some distance below it."""
    maker = Maker()
    trunk = [np.array([0.0, 0.5 * number, 1.0]) for number in range(9)]
    line = maker.chain([(f"Body {number + 1}", "SPINE") for number in range(8)], -1, trunk, "CENTER")
    for pair in range(pairs):
        for sign, side in ((1.0, "LEFT"), (-1.0, "RIGHT")):
            start = trunk[6 - pair] + np.array([0.1 * sign, 0.0, -drop])
            bone = np.array([0.5 * sign, -0.5, -0.2]) * (1.6 - 0.16 * pair) / fin_bones
            words: list[tuple[str, str | None]] = [
                (f"Fin {pair} {number} {side}", "FIN") for number in range(fin_bones)
            ]
            maker.chain(words, line[6 - pair], [start + number * bone for number in range(fin_bones + 1)], side)
    return maker.skeleton("fish", human=False)
