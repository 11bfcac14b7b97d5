# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Words of no convention in particular, and those of animals: read last, and trusted less."""

from __future__ import annotations

from ..convention import Convention
from ..part import Role

CONVENTION = Convention(
    name="common words",
    roles={
        Role.HIPS: "hips hip pelvis cog",
        Role.SPINE: "spine back torso waist lowerback abdomen lowerwaist upperwaist belly lumbar thorax",
        Role.CHEST: "torso chest upperchest ribcage upperbody",
        Role.NECK: "neck",
        Role.HEAD: "head",
        Role.CLAVICLE: "clavicle collar collarbone scapula shoulderblade shoulder",
        Role.UPPER_ARM: "upperarm uparm bicep humerus frontthigh foreupperleg frontupperleg frontlegupper shoulder "
        "arm foreleg frontleg wing",
        Role.FOREARM: "forearm lowerarm lowarm elbow ulna radius frontshin frontlowerleg frontleglower frontknee "
        "arm foreleg frontleg wing",
        Role.HAND: "hand wrist frontfoot forefoot frontpaw frontankle metacarpus wing foreleg frontleg",
        Role.FINGER: "finger fingers thumb index middle ring pinky little indexfinger middlefinger ringfinger "
        "pinkyfinger littlefinger fronttoe fronttoes foretoe fronthoof",
        Role.THIGH: "thigh hip upleg upperleg femur hindthigh rearthigh hindupperleg rearupperleg backupperleg "
        "backthigh leg hindleg rearleg backleg",
        Role.SHIN: "shin calf lowerleg lowleg knee tibia hindshin rearshin hindlowerleg rearlowerleg "
        "backlowerleg backshin leg hindleg rearleg backleg",
        Role.FOOT: "foot ankle hindfoot rearfoot backfoot hindpaw rearpaw backpaw metatarsus hindleg rearleg backleg",
        Role.TOE: "toe toes toebase ball bigtoe hindtoe reartoe backtoe hindhoof rearhoof hoof paw",
        Role.TAIL: "tail",
        Role.FIN: "fin pectoralfin dorsalfin pelvicfin analfin caudalfin tailfin sidefin topfin",
        Role.LIMB: "tentacle antenna",
    },
    skips="master armature motion trajectory reference jaw eye ear breast hipjoint",
)
