# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Unreal's mannequins, MakeHuman's ``game_engine``."""

from __future__ import annotations

from ..convention import Convention
from ..part import Role

CONVENTION = Convention(
    name="Unreal",
    roles={
        Role.HIPS: "pelvis",
        Role.SPINE: "spine",
        Role.NECK: "neck",
        Role.HEAD: "head",
        Role.CLAVICLE: "clavicle",
        Role.UPPER_ARM: "upperarm",
        Role.FOREARM: "lowerarm",
        Role.HAND: "hand",
        Role.FINGER: "thumb index middle ring pinky",
        Role.THIGH: "thigh",
        Role.SHIN: "calf",
        Role.FOOT: "foot",
        Role.TOE: "ball bigtoe indextoe middletoe ringtoe littletoe",
    },
    skips="indexmetacarpal middlemetacarpal ringmetacarpal pinkymetacarpal centerofmass interaction",
)
