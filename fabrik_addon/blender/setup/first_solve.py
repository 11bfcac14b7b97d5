# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: how far the first Solve of a chain with a new pole would rotate its bones; nothing is written.

A chain with a new pole keeps its pose by its pole angle and its pole shape (``rig.keep_bend``). A pose that is bent so
much that no family passes through it has no pole shape: of 4167 chains of three to nine bones on Rigify's metarigs
112, one of them the pelvis of its wolf with two bones of the spine.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...core import FabrikError
from ..rig.wording import plain
from ..solving.chain_groups import take_group
from ..solving.solve_chains import solve_group

if TYPE_CHECKING:
    from bpy.types import Object, ViewLayer

    from ..rig.properties import FabrikChain

_UNWARNED_ANGLE = math.radians(5.0)
"""Angle (radians) by which the first Solve may rotate a bone relative to its parent without a warning."""


def warning_of_first_solve(view_layer: ViewLayer, armature: Object, chain: FabrikChain) -> str:
    """Return a warning that names the bone which the first Solve of a chain would rotate most; "" where it is little.

    A chain that can't be solved yet, because it has no target for example, has none.
    """
    view_layer.update()
    try:
        (solved,) = solve_group(take_group(view_layer, armature, [chain]))
    except FabrikError:
        return ""
    angles = solved.rotated_by
    name = max(angles, key=angles.__getitem__)
    if angles[name] <= _UNWARNED_ANGLE:
        return ""
    return (
        f"Chain '{chain.name}': its joints don't all bend toward the pole: Solve will rotate bone '{name}' "
        f"by {plain(math.degrees(angles[name]))} degrees"
    )
