# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""SMPL, SMPL-H and SMPL-X: named after joints, so ``hip`` is the thigh, ``ankle`` the foot and ``foot`` the toes."""

from __future__ import annotations

from ..convention import Convention
from ..part import Role

CONVENTION = Convention(
    name="SMPL",
    prefix=r"[mf]_avg_",
    roles={
        Role.HIPS: "pelvis",
        Role.SPINE: "spine",
        Role.NECK: "neck",
        Role.HEAD: "head",
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
)
