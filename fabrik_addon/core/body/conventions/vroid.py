# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""VRoid Studio, VRM."""

from __future__ import annotations

from ..convention import Convention
from ..part import Role

CONVENTION = Convention(
    name="VRoid",
    prefix=r"J_(Bip|Adj|Opt)_",
    roles={
        Role.HIPS: "hips",
        Role.SPINE: "spine",
        Role.CHEST: "chest upperchest",
        Role.NECK: "neck",
        Role.HEAD: "head",
        Role.CLAVICLE: "shoulder",
        Role.UPPER_ARM: "upperarm",
        Role.FOREARM: "lowerarm",
        Role.HAND: "hand",
        Role.FINGER: "thumb index middle ring little",
        Role.THIGH: "upperleg",
        Role.SHIN: "lowerleg",
        Role.FOOT: "foot",
        Role.TOE: "toebase",
    },
    skips="faceeye bust",
)
