# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""MikuMikuDance in Japanese: ``足`` is the thigh; bones that end in ``D`` copy those without it."""

from __future__ import annotations

from ..convention import Convention
from ..part import Role

CONVENTION = Convention(
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
)
