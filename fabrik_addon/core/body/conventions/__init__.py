# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The conventions, one table each. A new one is a module here and a line in ``CONVENTIONS``."""

from __future__ import annotations

from . import (
    acclaim,
    biped,
    character_creator,
    cmu,
    common,
    daz,
    makehuman,
    mixamo,
    mmd,
    mmd_english,
    rigify,
    smpl,
    unity,
    unreal,
    vroid,
)

CONVENTIONS = tuple(
    module.CONVENTION
    for module in (
        mixamo,
        rigify,
        unreal,
        unity,
        vroid,
        biped,
        mmd,
        mmd_english,
        daz,
        character_creator,
        makehuman,
        smpl,
        cmu,
        acclaim,
    )
)
"""Where two conventions fit a skeleton equally well, the earlier one is taken."""

COMMON = common.CONVENTION
"""Words that are read where the skeleton's own convention has none."""
