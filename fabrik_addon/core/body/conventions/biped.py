# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""3ds Max Biped: the collar bones may hang from the neck, and ``Bip01`` alone is the centre of mass."""

from __future__ import annotations

from ..convention import Convention
from ..part import Role

CONVENTION = Convention(
    name="Biped",
    prefix=r"(ValveBiped\.)?Bip(ed)?\d*[ _.]?",
    roles={
        Role.HIPS: "pelvis",
        Role.SPINE: "spine",
        Role.NECK: "neck",
        Role.HEAD: "head",
        Role.CLAVICLE: "clavicle",
        Role.UPPER_ARM: "upperarm",
        Role.FOREARM: "forearm",
        Role.HAND: "hand",
        Role.FINGER: "finger",
        Role.THIGH: "thigh",
        Role.SHIN: "calf",
        Role.FOOT: "foot horselink",
        Role.TOE: "toe",
        Role.TAIL: "tail",
    },
    skips="footsteps ponytail prop",
)
