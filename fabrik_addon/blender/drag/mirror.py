# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the pose's X-axis mirror makes of a turned bone for the one on the other side, as Blender's transform does.

The bone's own loc-rot-scale matrix is reflected across its yz plane. Relative mirror reflects its change since the
start instead, and adds it to what the other bone had (measured against Blender 5.0's own rotate).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpy.utils import flip_name
from mathutils import Matrix

from ..rig.rotation_channel import Channel, locked_channel_for, rotation_of

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone

_FLIP = Matrix.Diagonal((-1.0, 1.0, 1.0, 1.0))


def own_matrix(bone: PoseBone) -> Matrix:
    """Return what a bone's channels say, without its rest and its parent."""
    return Matrix.LocRotScale(bone.location, rotation_of(bone), bone.scale)


def opposite_of(armature: Object, bone: PoseBone) -> PoseBone | None:
    """Return the bone of the same name on the other side, or None."""
    other = armature.pose.bones.get(flip_name(bone.name))
    return None if other == bone else other


def mirrored_channels(bone: PoseBone, start: Matrix, other: PoseBone, is_relative: bool) -> list[Channel]:
    """Return the channels of a bone on the other side.

    Args:
        bone: that was turned.
        start: its own matrix before.
        other: the bone on the other side, as it was at the start.
        is_relative: whether it keeps its difference.
    """
    before = own_matrix(other) @ _FLIP @ start.inverted_safe() if is_relative else _FLIP
    location, rotation, scale = (before @ own_matrix(bone) @ _FLIP).decompose()
    found = [locked_channel_for(other, rotation)]
    for name, values in (("location", location), ("scale", scale)):
        old = getattr(other, name)
        if (values - old).length > 1e-6 * (1.0 + old.length):
            locks = getattr(other, f"lock_{name}")
            found.append((name, tuple(old[i] if locks[i] else values[i] for i in range(3))))
    return found
