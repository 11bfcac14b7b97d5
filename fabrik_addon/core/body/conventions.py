# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conventions for naming bones: one table each. A new one is a table at the end of ``CONVENTIONS``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .part import Role

_USUAL: Mapping[Role, str] = {
    Role.SPINE: "spine",
    Role.NECK: "neck",
    Role.HEAD: "head",
    Role.UPPER_ARM: "upperarm",
    Role.HAND: "hand",
    Role.FOOT: "foot",
}
"""Words of most conventions."""


@dataclass(frozen=True)
class Convention:
    """What the bones of a body are called.

    A word is a bone's name in lower case without prefix, side, digits and separators: ``mixamorig:LeftUpLeg`` and
    ``upLeg.L`` are both ``upleg``.
    """

    name: str
    roles: Mapping[Role, str]
    """Words for each role that differ from ``_USUAL``, with blanks between them."""
    skips: str = ""
    """Words for bones that are no part of a body, with blanks between them."""
    prefix: str = ""
    """Regular expression of what names start with; case doesn't count."""
    words: Mapping[str, frozenset[Role]] = field(init=False)
    """Roles by word: several where a word is in several lines, none where it names a bone that is no part of a body."""

    def __post_init__(self) -> None:
        """Invert the table."""
        words: dict[str, frozenset[Role]] = dict.fromkeys(self.skips.split(), frozenset())
        for role, line in {**_USUAL, **self.roles}.items():
            for word in line.split():
                words[word] = words.get(word, frozenset()) | {role}
        object.__setattr__(self, "words", words)


CONVENTIONS = (
    # Mixamo: ``Leg`` is the shin and ``Arm`` the upper arm.
    Convention(
        name="Mixamo",
        prefix=r"mixamorig\d*[:_]?",
        roles={
            Role.HIPS: "hips",
            Role.CLAVICLE: "shoulder",
            Role.UPPER_ARM: "arm",
            Role.FOREARM: "forearm",
            Role.FINGER: "handthumb handindex handmiddle handring handpinky",
            Role.THIGH: "upleg",
            Role.SHIN: "leg",
            Role.TOE: "toebase toe",
        },
        skips="headtop headtopend toeend eye",
    ),
    # Rigify's metarigs and the deform bones that it generates: the whole back is ``spine``.
    Convention(
        name="Rigify",
        prefix=r"(DEF|ORG)-",
        roles={
            Role.HIPS: "torso",
            Role.SPINE: "spine torso",
            Role.CHEST: "torso",
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
    ),
    # Unreal's mannequins, MakeHuman's ``game_engine``.
    Convention(
        name="Unreal",
        roles={
            Role.HIPS: "pelvis",
            Role.CLAVICLE: "clavicle",
            Role.FOREARM: "lowerarm",
            Role.FINGER: "thumb index middle ring pinky",
            Role.THIGH: "thigh",
            Role.SHIN: "calf",
            Role.TOE: "ball bigtoe indextoe middletoe ringtoe littletoe",
        },
        skips="indexmetacarpal middlemetacarpal ringmetacarpal pinkymetacarpal centerofmass interaction",
    ),
    # Unity's humanoid, which VRM follows.
    Convention(
        name="Unity",
        roles={
            Role.HIPS: "hips",
            Role.CHEST: "chest upperchest",
            Role.CLAVICLE: "shoulder",
            Role.FOREARM: "lowerarm",
            Role.FINGER: "thumbmetacarpal thumbproximal thumbintermediate thumbdistal indexproximal indexintermediate "
            "indexdistal middleproximal middleintermediate middledistal ringproximal ringintermediate ringdistal "
            "littleproximal littleintermediate littledistal",
            Role.THIGH: "upperleg",
            Role.SHIN: "lowerleg",
            Role.TOE: "toes toe toebase",
        },
        skips="eye jaw",
    ),
    # VRoid Studio, VRM.
    Convention(
        name="VRoid",
        prefix=r"J_(Bip|Adj|Opt)_",
        roles={
            Role.HIPS: "hips",
            Role.CHEST: "chest upperchest",
            Role.CLAVICLE: "shoulder",
            Role.FOREARM: "lowerarm",
            Role.FINGER: "thumb index middle ring little",
            Role.THIGH: "upperleg",
            Role.SHIN: "lowerleg",
            Role.TOE: "toebase",
        },
        skips="faceeye bust",
    ),
    # 3ds Max Biped: the collar bones may hang from the neck, and ``Bip01`` alone is the centre of mass.
    Convention(
        name="Biped",
        prefix=r"(ValveBiped\.)?Bip(ed)?\d*[ _.]?",
        roles={
            Role.HIPS: "pelvis",
            Role.CLAVICLE: "clavicle",
            Role.FOREARM: "forearm",
            Role.FINGER: "finger",
            Role.THIGH: "thigh",
            Role.SHIN: "calf",
            Role.FOOT: "foot horselink",
            Role.TOE: "toe",
            Role.TAIL: "tail",
        },
        skips="footsteps ponytail prop",
    ),
    # MikuMikuDance in Japanese: ``足`` is the thigh; bones that end in ``D`` copy those without it.
    Convention(
        name="MMD",
        roles={
            Role.HIPS: "下半身",
            Role.SPINE: "上半身",
            Role.NECK: "首",
            Role.HEAD: "頭",
            Role.CLAVICLE: "肩",
            Role.UPPER_ARM: "腕",
            Role.FOREARM: "ひじ 肘",
            Role.HAND: "手首",
            Role.FINGER: "親指 人指 人差指 中指 薬指 小指",
            Role.THIGH: "足",
            Role.SHIN: "ひざ 膝",
            Role.FOOT: "足首",
            Role.TOE: "つま先",
            Role.TAIL: "尻尾 しっぽ",
        },
        skips="全ての親 センター グルーブ 腰 操作中心 腕捩 手捩 肩p 肩c ダミー 目 両目 足ik つま先ik 足ik親 "
        "腰キャンセル 髪 スカート 胸 足d ひざd 足首d 足先ex",
    ),
    # MikuMikuDance in English, as mmd_tools translates it: named after joints, ``leg`` is the thigh.
    Convention(
        name="MMD in English",
        roles={
            Role.HIPS: "lowerbody",
            Role.SPINE: "upperbody",
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
    ),
    # Daz Genesis 3 to 9: ``Bend`` and ``Twist`` bones in line.
    Convention(
        name="Daz",
        roles={
            Role.HIPS: "hip pelvis",
            Role.SPINE: "abdomen abdomenlower abdomenupper spine",
            Role.CHEST: "chest chestlower chestupper",
            Role.NECK: "neck necklower neckupper",
            Role.CLAVICLE: "collar shoulder",
            Role.UPPER_ARM: "shldr shldrbend upperarm",
            Role.FOREARM: "forearm forearmbend",
            Role.FINGER: "thumb index mid middle ring pinky",
            Role.THIGH: "thigh thighbend",
            Role.SHIN: "shin",
            Role.TOE: "toe toes bigtoe smalltoe indextoe midtoe ringtoe pinkytoe",
        },
        skips="carpal metacarpal metatarsals heel pectoral",
    ),
    # Reallusion Character Creator and AccuRIG.
    Convention(
        name="Character Creator",
        prefix=r"CC_Base_|RL_",
        roles={
            Role.HIPS: "hip pelvis",
            Role.SPINE: "waist spine",
            Role.NECK: "necktwist neck",
            Role.CLAVICLE: "clavicle",
            Role.FOREARM: "forearm",
            Role.FINGER: "thumb index mid ring pinky",
            Role.THIGH: "thigh",
            Role.SHIN: "calf",
            Role.TOE: "toebase bigtoe indextoe midtoe ringtoe pinkytoe",
        },
        skips="boneroot toebasesharebone kneesharebone elbowsharebone breast ribstwist facialbone jawroot",
    ),
    # MakeHuman's and MPFB's default rigs: segments in two bones each, a hand is its ``wrist``.
    Convention(
        name="MakeHuman",
        roles={
            Role.HIPS: "root",
            Role.CLAVICLE: "clavicle shoulder",
            Role.FOREARM: "lowerarm",
            Role.HAND: "wrist",
            Role.FINGER: "finger",
            Role.THIGH: "upperleg",
            Role.SHIN: "lowerleg",
            Role.TOE: "toe",
        },
        skips="pelvis metacarpal breast",
    ),
    # SMPL, SMPL-H and SMPL-X: named after joints, so ``hip`` is the thigh, ``ankle`` the foot and ``foot`` the toes.
    Convention(
        name="SMPL",
        prefix=r"[mf]_avg_",
        roles={
            Role.HIPS: "pelvis",
            Role.CLAVICLE: "collar",
            Role.UPPER_ARM: "shoulder",
            Role.FOREARM: "elbow",
            Role.HAND: "wrist",
            Role.FINGER: "thumb index middle ring pinky hand",
            Role.THIGH: "hip",
            Role.SHIN: "knee",
            Role.FOOT: "ankle",
            Role.TOE: "foot",
        },
        skips="jaw eye eyesmplhf",
    ),
    # CMU's motion library as BVH, MakeHuman's ``cmu_mb``, MotionBuilder: Mixamo's words with a bone before each thigh.
    Convention(
        name="CMU",
        roles={
            Role.HIPS: "hips hip",
            Role.SPINE: "lowerback spine",
            Role.CHEST: "chest",
            Role.CLAVICLE: "shoulder collar",
            Role.UPPER_ARM: "arm",
            Role.FOREARM: "forearm",
            Role.HAND: "hand wrist fingerbase",
            Role.FINGER: "fingerbase fingers handfinger handindex thumb handthumb handmiddle handring handpinky",
            Role.THIGH: "upleg",
            Role.SHIN: "leg",
            Role.TOE: "toebase toe",
        },
        skips="hipjoint headend toeend",
    ),
    # Acclaim's ASF, as CMU's motion library is recorded: bones in Latin, the last part of the forearm is ``wrist``.
    Convention(
        name="Acclaim",
        roles={
            Role.HIPS: "root",
            Role.SPINE: "lowerback upperback",
            Role.CHEST: "thorax",
            Role.NECK: "lowerneck upperneck neck",
            Role.CLAVICLE: "clavicle",
            Role.UPPER_ARM: "humerus",
            Role.FOREARM: "radius wrist",
            Role.FINGER: "fingers thumb",
            Role.THIGH: "femur",
            Role.SHIN: "tibia",
            Role.TOE: "toes",
        },
        skips="hipjoint",
    ),
)
"""Where two conventions fit a skeleton equally well, the earlier one is taken."""

COMMON = Convention(
    name="common words",
    roles={
        Role.HIPS: "hips hip pelvis cog",
        Role.SPINE: "spine back torso waist lowerback abdomen lowerwaist upperwaist belly lumbar thorax",
        Role.CHEST: "torso chest upperchest ribcage upperbody",
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
"""Words of no convention in particular, and those of animals: read where the skeleton's own convention has none."""
