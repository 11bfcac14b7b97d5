# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rotation with which a hand or foot keeps its direction in space while its wrist or ankle is dragged.

With `f` the frame of the hand at the start, `f'` its frame after the limb was solved, and `q` its own rotation, the own
rotation `q f'⁻¹ f` restores the frame `f`. Without it the hand turns with the forearm: on Rigify's human a hand whose
wrist is lifted by 0.3 is turned by 40 degrees.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..bones.bone_limits import limits_of
from ..bones.feasible_channels import constraints_of
from ..bones.rotation_channel import Channel, read_lockable_channel, rotation_of

if TYPE_CHECKING:
    from bpy.types import PoseBone
    from mathutils import Quaternion


def direction_keeping_channel(bone: PoseBone, frame: Quaternion) -> Channel:
    """Return the rotation channel that brings a bone into a frame, or as near to it as limits and locks allow.

    Args:
        bone: evaluated since its parents were posed.
        frame: the desired rotation, in armature space.
    """
    present = rotation_of(bone)
    desired = present @ bone.matrix.to_quaternion().conjugated() @ frame
    return constraints_of(bone, limits_of(bone), read_lockable_channel(bone)).channel(desired, present)[0]
