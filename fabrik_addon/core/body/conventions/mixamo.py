# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mixamo: ``Leg`` is the shin and ``Arm`` the upper arm."""

from __future__ import annotations

from ..convention import Convention
from ..part import Role

CONVENTION = Convention(
    name="Mixamo",
    prefix=r"mixamorig\d*[:_]?",
    roles={
        Role.HIPS: "hips",
        Role.SPINE: "spine",
        Role.NECK: "neck",
        Role.HEAD: "head",
        Role.CLAVICLE: "shoulder",
        Role.UPPER_ARM: "arm",
        Role.FOREARM: "forearm",
        Role.HAND: "hand",
        Role.FINGER: "handthumb handindex handmiddle handring handpinky",
        Role.THIGH: "upleg",
        Role.SHIN: "leg",
        Role.FOOT: "foot",
        Role.TOE: "toebase toe",
    },
    skips="headtop headtopend toeend eye",
)
