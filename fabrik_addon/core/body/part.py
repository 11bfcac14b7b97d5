# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts of a body: what recognition returns."""

from dataclasses import dataclass
from enum import StrEnum

from ..math.operations import Array

LEAST_CONFIDENCE = 0.5
"""Confidence below which a part is left open, or marked as doubtful where it has a bone."""


class Role(StrEnum):
    """What a bone is in a body. Animals by homology: a foreleg or a wing is an arm."""

    HIPS = "HIPS"
    SPINE = "SPINE"
    CHEST = "CHEST"
    NECK = "NECK"
    HEAD = "HEAD"
    CLAVICLE = "CLAVICLE"
    """Collar bone or shoulder blade."""
    UPPER_ARM = "UPPER_ARM"
    FOREARM = "FOREARM"
    HAND = "HAND"
    FINGER = "FINGER"
    THIGH = "THIGH"
    SHIN = "SHIN"
    FOOT = "FOOT"
    TOE = "TOE"
    TAIL = "TAIL"
    FIN = "FIN"
    LIMB = "LIMB"
    """A segment of whatever else bends: a spider's leg, a tentacle, a robot's arm."""


class Side(StrEnum):
    """Side of the body, as the creature itself would call it."""

    LEFT = "LEFT"
    RIGHT = "RIGHT"
    CENTER = "CENTER"


@dataclass(frozen=True)
class Part:
    """A bone with its role."""

    role: Role
    side: Side
    limb: int
    """Which of several of a kind on this side, from front to back and top to bottom, from 0: which finger, which of
    two pairs of arms."""
    bone: int
    """Index of the bone."""
    confidence: float
    """0.5 to 1: how sure names and shape together are of role and side."""


@dataclass(frozen=True)
class OpenRole:
    """A role that was not given to any bone, and why."""

    role: Role
    side: Side
    reason: str
    """In words for a person, with the bone's name where there is one."""


@dataclass(frozen=True)
class Recognition:
    """The parts of a body, and what was left open."""

    parts: tuple[Part, ...]
    """In order along each limb, the trunk first. Several neighbouring bones have the same role where a part has
    several bones: those of the spine, a finger's, a forearm's that is divided for its twist."""
    open_roles: tuple[OpenRole, ...]
    creature: str
    """Name of the kind of creature whose description fits."""
    up: Array
    """(3,) unit vector."""
    forward: Array
    """(3,) unit vector, perpendicular to ``up``; the left side is at ``up x forward``."""
