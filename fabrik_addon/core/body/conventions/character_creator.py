# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reallusion Character Creator and AccuRIG."""

from __future__ import annotations

from ..convention import Convention
from ..part import Role

CONVENTION = Convention(
    name="Character Creator",
    prefix=r"CC_Base_|RL_",
    roles={
        Role.HIPS: "hip pelvis",
        Role.SPINE: "waist spine",
        Role.NECK: "necktwist neck",
        Role.HEAD: "head",
        Role.CLAVICLE: "clavicle",
        Role.UPPER_ARM: "upperarm",
        Role.FOREARM: "forearm",
        Role.HAND: "hand",
        Role.FINGER: "thumb index mid ring pinky",
        Role.THIGH: "thigh",
        Role.SHIN: "calf",
        Role.FOOT: "foot",
        Role.TOE: "toebase bigtoe indextoe midtoe ringtoe pinkytoe",
    },
    skips="boneroot toebasesharebone kneesharebone elbowsharebone breast ribstwist facialbone jawroot",
)
