# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigify's metarigs and the deform bones that it generates: the whole back is ``spine``."""

from __future__ import annotations

from ..convention import Convention
from ..part import Role

CONVENTION = Convention(
    name="Rigify",
    prefix=r"(DEF|ORG)-",
    roles={
        Role.HIPS: "torso",
        Role.SPINE: "spine torso",
        Role.CHEST: "torso",
        Role.NECK: "neck",
        Role.HEAD: "head",
        Role.CLAVICLE: "shoulder",
        Role.UPPER_ARM: "upperarm frontthigh",
        Role.FOREARM: "forearm frontshin",
        Role.HAND: "hand frontfoot forefoot",
        Role.FINGER: "findex fmiddle fring fpinky thumb ftoe fhoof fronttoe",
        Role.THIGH: "thigh",
        Role.SHIN: "shin lowerleg",
        Role.FOOT: "foot hindfoot",
        Role.TOE: "toe toes rtoe rhoof rindex rmiddle rring rpinky tthumb tindex tmiddle tring",
        Role.TAIL: "tail",
        Role.FIN: "sidefin topfin midfin midfintop midfinbot chestfin chestfinbot backfin backfintbk backfinbbk",
    },
    skips="pelvis pelvisc hips heel palm fpalm rpalm breast face hip chest abdomen belly bellyc breastc skull "
    "toesparent wfeather tfeather nfeather",
)
