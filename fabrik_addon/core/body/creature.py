# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What kinds of creatures look like: one description each."""

from dataclasses import dataclass

from .part import Role


@dataclass(frozen=True)
class LimbKind:
    """The segments of an arm or a leg."""

    roles: tuple[Role | None, Role, Role, Role, Role]
    """Of girdle, both long segments, last segment, digits; None is a girdle that is no part of its own."""
    share: float
    """Length of the first long segment over that of both."""
    girdle: float
    """Length of the girdle over that of both long segments that is still usual."""
    last: float
    """Length of the last segment over that of both long segments."""
    has_girdle: bool
    """Whether most skeletons have a bone for the girdle."""
    near: float
    """1 if the girdle starts at the plane of symmetry and the first long segment does not, else 0."""


@dataclass(frozen=True)
class Creature:
    """A kind of creature with a trunk, arms or legs."""

    name: str
    arm: LimbKind
    leg: LimbKind
    standing: int
    """How many pairs of limbs reach the ground."""
    upright: bool
    """Whether the trunk rises more than it leads forward."""
    leg_share: tuple[float, float]
    """Least and greatest length of a leg over the height."""
    confidence: float
    """How sure the shape alone is of a creature that fits."""

    def fits(self, standing: int, upright: bool, share: float) -> bool:
        """Return whether such legs, of such a share of the height, are those of this creature."""
        least, greatest = self.leg_share
        return self.standing == standing and self.upright == upright and least <= share <= greatest


ARM = (Role.CLAVICLE, Role.UPPER_ARM, Role.FOREARM, Role.HAND, Role.FINGER)
LEG = (Role.THIGH, Role.SHIN, Role.FOOT, Role.TOE)

HUMAN = Creature(
    "human",
    arm=LimbKind(ARM, share=0.52, girdle=0.45, last=0.28, has_girdle=True, near=1.0),
    leg=LimbKind((None, *LEG), share=0.51, girdle=0.3, last=0.2, has_girdle=False, near=0.3),
    standing=1,
    upright=True,
    leg_share=(0.35, 0.95),
    confidence=0.93,
)
QUADRUPED = Creature(
    "quadruped",
    arm=LimbKind(ARM, share=0.5, girdle=0.8, last=0.3, has_girdle=True, near=0.0),
    leg=LimbKind((None, *LEG), share=0.47, girdle=0.5, last=0.4, has_girdle=False, near=0.0),
    standing=2,
    upright=False,
    leg_share=(0.2, 2.5),
    confidence=0.9,
)
BIRD = Creature(
    "bird",
    arm=LimbKind(ARM, share=0.49, girdle=0.6, last=0.6, has_girdle=True, near=0.3),
    leg=LimbKind((None, *LEG), share=0.5, girdle=0.4, last=0.3, has_girdle=False, near=0.0),
    standing=1,
    upright=False,
    leg_share=(0.2, 1.2),
    confidence=0.85,
)
CREATURES = (HUMAN, QUADRUPED, BIRD)
"""The first that fits is taken."""

FISH = "fish"
"""A trunk with fins, which no limb carries."""

WITH_LIMBS = "anything with limbs"
"""What no description fits: limbs are chains from a branching to an end."""
