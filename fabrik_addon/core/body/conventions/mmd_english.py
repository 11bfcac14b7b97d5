# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""MikuMikuDance in English, as mmd_tools translates it: named after joints, ``leg`` is the thigh."""

from __future__ import annotations

from ..convention import Convention
from ..part import Role

CONVENTION = Convention(
    name="MMD in English",
    roles={
        Role.HIPS: "lowerbody",
        Role.SPINE: "upperbody",
        Role.NECK: "neck",
        Role.HEAD: "head",
        Role.CLAVICLE: "shoulder",
        Role.UPPER_ARM: "arm",
        Role.FOREARM: "elbow",
        Role.HAND: "wrist",
        Role.FINGER: "thumb index fore middle third ring little",
        Role.THIGH: "leg",
        Role.SHIN: "knee",
        Role.FOOT: "ankle",
        Role.TOE: "toe",
    },
    skips="motherbone mother center groove waist armtwist wristtwist handtwist shoulderp shoulderc dummy "
    "legik toeik legikparent eye eyes legd kneed ankled toeex legtipex",
)
