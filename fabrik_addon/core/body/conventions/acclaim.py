# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Acclaim's ASF, as CMU's motion library is recorded: bones in Latin, the last part of the forearm is ``wrist``."""

from __future__ import annotations

from ..convention import Convention
from ..part import Role

CONVENTION = Convention(
    name="Acclaim",
    roles={
        Role.HIPS: "root",
        Role.SPINE: "lowerback upperback",
        Role.CHEST: "thorax",
        Role.NECK: "lowerneck upperneck neck",
        Role.HEAD: "head",
        Role.CLAVICLE: "clavicle",
        Role.UPPER_ARM: "humerus",
        Role.FOREARM: "radius wrist",
        Role.HAND: "hand",
        Role.FINGER: "fingers thumb",
        Role.THIGH: "femur",
        Role.SHIN: "tibia",
        Role.FOOT: "foot",
        Role.TOE: "toes",
    },
    skips="hipjoint",
)
