# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""CMU's motion library as BVH, MakeHuman's ``cmu_mb``, MotionBuilder: Mixamo's words with a bone before each thigh."""

from __future__ import annotations

from ..convention import Convention
from ..part import Role

CONVENTION = Convention(
    name="CMU",
    roles={
        Role.HIPS: "hips hip",
        Role.SPINE: "lowerback spine",
        Role.CHEST: "chest",
        Role.NECK: "neck",
        Role.HEAD: "head",
        Role.CLAVICLE: "shoulder collar",
        Role.UPPER_ARM: "arm",
        Role.FOREARM: "forearm",
        Role.HAND: "hand wrist fingerbase",
        Role.FINGER: "fingerbase fingers handfinger handindex thumb handthumb handmiddle handring handpinky",
        Role.THIGH: "upleg",
        Role.SHIN: "leg",
        Role.FOOT: "foot",
        Role.TOE: "toebase toe",
    },
    skips="hipjoint headend toeend",
)
