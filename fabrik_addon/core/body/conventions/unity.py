# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Unity's humanoid, which VRM follows."""

from __future__ import annotations

from ..convention import Convention
from ..part import Role

CONVENTION = Convention(
    name="Unity",
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
        Role.FINGER: "thumbmetacarpal thumbproximal thumbintermediate thumbdistal indexproximal indexintermediate "
        "indexdistal middleproximal middleintermediate middledistal ringproximal ringintermediate ringdistal "
        "littleproximal littleintermediate littledistal",
        Role.THIGH: "upperleg",
        Role.SHIN: "lowerleg",
        Role.FOOT: "foot",
        Role.TOE: "toes toe toebase",
    },
    skips="eye jaw",
)
