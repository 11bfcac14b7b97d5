# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""MakeHuman's and MPFB's default rigs: segments in two bones each, a hand is its ``wrist``."""

from __future__ import annotations

from ..convention import Convention
from ..part import Role

CONVENTION = Convention(
    name="MakeHuman",
    roles={
        Role.HIPS: "root",
        Role.SPINE: "spine",
        Role.NECK: "neck",
        Role.HEAD: "head",
        Role.CLAVICLE: "clavicle shoulder",
        Role.UPPER_ARM: "upperarm",
        Role.FOREARM: "lowerarm",
        Role.HAND: "wrist",
        Role.FINGER: "finger",
        Role.THIGH: "upperleg",
        Role.SHIN: "lowerleg",
        Role.FOOT: "foot",
        Role.TOE: "toe",
    },
    skips="pelvis metacarpal breast",
)
