# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conventions for naming bones: one table each. A new one is a table before that of the common words."""

from collections.abc import Mapping
from typing import NamedTuple

from .part import Role

_USUAL = "spine spine; neck neck; head head; upper_arm upperarm; hand hand; foot foot"
"""Words of most conventions."""

_TABLES = r"""
# Mixamo: ``Leg`` is the shin and ``Arm`` the upper arm.
[Mixamo] mixamorig\d*[:_]?
hips hips; clavicle shoulder; upper_arm arm; forearm forearm; finger handthumb handindex handmiddle handring
handpinky; thigh upleg; shin leg; toe toebase toe; - headtop headtopend toeend eye
# Rigify's metarigs and the deform bones that it generates: the whole back is ``spine``.
[Rigify] (DEF|ORG)-
hips torso; spine spine torso; chest torso; clavicle shoulder; upper_arm upperarm frontthigh; forearm forearm
frontshin; hand hand frontfoot forefoot; finger findex fmiddle fring fpinky thumb ftoe fhoof fronttoe; thigh thigh;
shin shin lowerleg; foot foot hindfoot; toe toe toes rtoe rhoof rindex rmiddle rring rpinky tthumb tindex tmiddle
tring; tail tail; fin sidefin topfin midfin midfintop midfinbot chestfin chestfinbot backfin backfintbk backfinbbk;
- pelvis pelvisc hips heel palm fpalm rpalm breast face hip chest abdomen belly bellyc breastc skull toesparent
wfeather tfeather nfeather
# Unreal's mannequins, MakeHuman's ``game_engine``.
[Unreal]
hips pelvis; clavicle clavicle; forearm lowerarm; finger thumb index middle ring pinky; thigh thigh; shin calf; toe
ball bigtoe indextoe middletoe ringtoe littletoe; - indexmetacarpal middlemetacarpal ringmetacarpal pinkymetacarpal
centerofmass interaction
# Unity's humanoid, which VRM follows.
[Unity]
hips hips; chest chest upperchest; clavicle shoulder; forearm lowerarm; finger thumbmetacarpal thumbproximal
thumbintermediate thumbdistal indexproximal indexintermediate indexdistal middleproximal middleintermediate
middledistal ringproximal ringintermediate ringdistal littleproximal littleintermediate littledistal; thigh
upperleg; shin lowerleg; toe toes toe toebase; - eye jaw
# VRoid Studio, VRM.
[VRoid] J_(Bip|Adj|Opt)_
hips hips; chest chest upperchest; clavicle shoulder; forearm lowerarm; finger thumb index middle ring little; thigh
upperleg; shin lowerleg; toe toebase; - faceeye bust
# 3ds Max Biped: the collar bones may hang from the neck, and ``Bip01`` alone is the centre of mass.
[Biped] (ValveBiped\.)?Bip(ed)?\d*[ _.]?
hips pelvis; clavicle clavicle; forearm forearm; finger finger; thigh thigh; shin calf; foot foot horselink; toe
toe; tail tail; - footsteps ponytail prop
# MikuMikuDance in Japanese: ``足`` is the thigh; bones that end in ``D`` copy those without it.
[MMD]
hips 下半身; spine 上半身; neck 首; head 頭; clavicle 肩; upper_arm 腕; forearm ひじ 肘; hand 手首; finger 親指 人指
人差指 中指 薬指 小指;
thigh 足; shin ひざ 膝; foot 足首; toe つま先; tail 尻尾 しっぽ; - 全ての親 センター グルーブ 腰 操作中心 腕捩 手捩
肩p 肩c ダミー 目 両目 足ik つま先ik 足ik親
腰キャンセル 髪 スカート 胸 足d ひざd 足首d 足先ex
# MikuMikuDance in English, as mmd_tools translates it: named after joints, ``leg`` is the thigh.
[MMD in English]
hips lowerbody; spine upperbody; clavicle shoulder; upper_arm arm; forearm elbow; hand wrist; finger thumb index
fore middle third ring little; thigh leg; shin knee; foot ankle; toe toe; - motherbone mother center groove waist
armtwist wristtwist handtwist shoulderp shoulderc dummy legik toeik legikparent eye eyes legd kneed ankled toeex
legtipex
# Daz Genesis 3 to 9: ``Bend`` and ``Twist`` bones in line.
[Daz]
hips hip pelvis; spine abdomen abdomenlower abdomenupper spine; chest chest chestlower chestupper; neck neck
necklower neckupper; clavicle collar shoulder; upper_arm shldr shldrbend upperarm; forearm forearm forearmbend;
finger thumb index mid middle ring pinky; thigh thigh thighbend; shin shin; toe toe toes bigtoe smalltoe indextoe
midtoe ringtoe pinkytoe; - carpal metacarpal metatarsals heel pectoral
# Reallusion Character Creator and AccuRIG.
[Character Creator] CC_Base_|RL_
hips hip pelvis; spine waist spine; neck necktwist neck; clavicle clavicle; forearm forearm; finger thumb index mid
ring pinky; thigh thigh; shin calf; toe toebase bigtoe indextoe midtoe ringtoe pinkytoe; - boneroot toebasesharebone
kneesharebone elbowsharebone breast ribstwist facialbone jawroot
# MakeHuman's and MPFB's default rigs: segments in two bones each, a hand is its ``wrist``.
[MakeHuman]
hips root; clavicle clavicle shoulder; forearm lowerarm; hand wrist; finger finger; thigh upperleg; shin lowerleg;
toe toe; - pelvis metacarpal breast
# SMPL, SMPL-H and SMPL-X: named after joints, so ``hip`` is the thigh, ``ankle`` the foot and ``foot`` the toes.
[SMPL] [mf]_avg_
hips pelvis; clavicle collar; upper_arm shoulder; forearm elbow; hand wrist; finger thumb index middle ring pinky
hand; thigh hip; shin knee; foot ankle; toe foot; - jaw eye eyesmplhf
# CMU's motion library as BVH, MakeHuman's ``cmu_mb``, MotionBuilder: Mixamo's words with a bone before each thigh.
[CMU]
hips hips hip; spine lowerback spine; chest chest; clavicle shoulder collar; upper_arm arm; forearm forearm; hand
hand wrist fingerbase; finger fingerbase fingers handfinger handindex thumb handthumb handmiddle handring handpinky;
thigh upleg; shin leg; toe toebase toe; - hipjoint headend toeend
# Acclaim's ASF, as CMU's motion library is recorded: bones in Latin, the last part of the forearm is ``wrist``.
[Acclaim]
hips root; spine lowerback upperback; chest thorax; neck lowerneck upperneck neck; clavicle clavicle; upper_arm
humerus; forearm radius wrist; finger fingers thumb; thigh femur; shin tibia; toe toes; - hipjoint
[common words]
hips hips hip pelvis cog; spine spine back torso waist lowerback abdomen lowerwaist upperwaist belly lumbar thorax;
chest torso chest upperchest ribcage upperbody; clavicle clavicle collar collarbone scapula shoulderblade shoulder;
upper_arm upperarm uparm bicep humerus frontthigh foreupperleg frontupperleg frontlegupper shoulder arm foreleg
frontleg wing; forearm forearm lowerarm lowarm elbow ulna radius frontshin frontlowerleg frontleglower frontknee arm
foreleg frontleg wing; hand hand wrist frontfoot forefoot frontpaw frontankle metacarpus wing foreleg frontleg;
finger finger fingers thumb index middle ring pinky little indexfinger middlefinger ringfinger pinkyfinger
littlefinger fronttoe fronttoes foretoe fronthoof; thigh thigh hip upleg upperleg femur hindthigh rearthigh
hindupperleg rearupperleg backupperleg backthigh leg hindleg rearleg backleg; shin shin calf lowerleg lowleg knee
tibia hindshin rearshin hindlowerleg rearlowerleg backlowerleg backshin leg hindleg rearleg backleg; foot foot ankle
hindfoot rearfoot backfoot hindpaw rearpaw backpaw metatarsus hindleg rearleg backleg; toe toe toes toebase ball
bigtoe hindtoe reartoe backtoe hindhoof rearhoof hoof paw; tail tail; fin fin pectoralfin dorsalfin pelvicfin
analfin caudalfin tailfin sidefin topfin; limb tentacle antenna; - master armature motion trajectory reference jaw
eye ear breast hipjoint
"""
"""What the bones of a body are called, in each convention: role and words, and after - words for bones that are no
part
of a body. Behind the name stands a regular expression of what names start with; case doesn't count.

A word is a bone's name in lower case without prefix, side, digits and separators: ``mixamorig:LeftUpLeg`` and
``upLeg.L`` are both ``upleg``."""


class Convention(NamedTuple):
    """A convention; where two fit a skeleton equally well, the earlier one is taken."""

    name: str
    prefix: str
    words: Mapping[str, frozenset[Role]]


"""Roles by word: several where a word is in several lines, none where it names a bone that is no part of a body."""


def _convention(table: str) -> Convention:
    head, _, body = table.partition("\n")
    name, _, prefix = head.partition("]")
    lines = {**_rows(_USUAL), **_rows(body)}
    words: dict[str, frozenset[Role]] = dict.fromkeys(lines.pop("-", []), frozenset())
    for role, line in lines.items():
        for word in line:
            words[word] = words.get(word, frozenset()) | {Role[role.upper()]}
    return Convention(name, prefix.strip(), words)


def _rows(body: str) -> dict[str, list[str]]:
    text = " ".join(line for line in body.splitlines() if not line.startswith("#"))
    return {role: words for role, *words in map(str.split, text.split(";"))}


*CONVENTIONS, COMMON = map(_convention, _TABLES.split("\n[")[1:])
"""``COMMON`` has words of no convention in particular, and those of animals: read where the skeleton's own has
none."""
