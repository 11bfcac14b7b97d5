# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Daz Genesis 3 to 9: ``Bend`` and ``Twist`` bones in line."""

from __future__ import annotations

from ..convention import Convention
from ..part import Role

CONVENTION = Convention(
    name="Daz",
    roles={
        Role.HIPS: "hip pelvis",
        Role.SPINE: "abdomen abdomenlower abdomenupper spine",
        Role.CHEST: "chest chestlower chestupper",
        Role.NECK: "neck necklower neckupper",
        Role.HEAD: "head",
        Role.CLAVICLE: "collar shoulder",
        Role.UPPER_ARM: "shldr shldrbend upperarm",
        Role.FOREARM: "forearm forearmbend",
        Role.HAND: "hand",
        Role.FINGER: "thumb index mid middle ring pinky",
        Role.THIGH: "thigh thighbend",
        Role.SHIN: "shin",
        Role.FOOT: "foot",
        Role.TOE: "toe toes bigtoe smalltoe indextoe midtoe ringtoe pinkytoe",
    },
    skips="carpal metacarpal metatarsals heel pectoral",
)
