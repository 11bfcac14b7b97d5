# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the solver's frames in armature space to the bones' own rotations and their channels.

Reads what the channels say now; writes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mathutils import Quaternion

from ..core import LaneSolution, StartPose
from .channels import Channel, channel_for, locked_channel_for
from .snapshot import ChainBones

if TYPE_CHECKING:
    from bpy.types import PoseBone


def own_rotations(bones: ChainBones, start: StartPose, solution: LaneSolution) -> list[Quaternion]:
    """Return every bone's rotation in its parent's space after its link has turned in armature space.

    A bone's own rotation takes what its turn has more than its parent's. Bones that are locked altogether take none.
    """
    own = list(bones.rotations)
    parent_turn: Quaternion | None = None
    before_and_after = zip(bones.free, start.chain.inherits_list, start.frames, solution.frames, strict=False)
    for i, inherits, before, after in before_and_after:
        old, new = Quaternion(before), Quaternion(after)
        back = old.conjugated()
        extra = parent_turn.conjugated() @ new if inherits and parent_turn is not None else new
        own[i] = own[i] @ (back @ extra)
        parent_turn = new @ back
    return own


def channels_for(bones: ChainBones, rotations: Sequence[Quaternion]) -> tuple[tuple[PoseBone, Channel], ...]:
    """Return the new rotation channels of the bones that can turn."""
    channel = locked_channel_for if bones.has_locks else channel_for
    return tuple([(bones.bones[i], channel(bones.bones[i], rotations[i])) for i in bones.free])
