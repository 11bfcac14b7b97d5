# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pose's X-axis mirror: the channels of the bone on the other side, as Blender's own transform sets them.

With `B` the local matrix of the rotated bone (location, rotation and scale from its channels) and `F = diag(-1, 1, 1)`,
the bone on the other side gets `F B F`. Relative mirror keeps its difference: with `B0` and `O0` the local matrices of
both bones at the start it gets `O0 F B0⁻¹ B F`, which is `O0` where nothing was rotated. Both agree with the rotate
operator of Blender 5.0 (tests/blender/test_chain_drag.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpy.utils import flip_name
from mathutils import Matrix

from ..bones.rotation_channel import Channel, locked_channel_for, rotation_of

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone

FLIP = Matrix.Diagonal((-1.0, 1.0, 1.0, 1.0))
"""The mirror image in armature space: ``F``."""


def own_matrix(bone: PoseBone) -> Matrix:
    """Return the matrix of a bone's own channels, without its rest pose and its parent."""
    return Matrix.LocRotScale(bone.location, rotation_of(bone), bone.scale)


def opposite_of(armature: Object, bone: PoseBone) -> PoseBone | None:
    """Return the bone of the same name on the other side, or None."""
    other = armature.pose.bones.get(flip_name(bone.name))
    return None if other == bone else other


def mirrored_channels(bone: PoseBone, start: Matrix, other: PoseBone, is_relative: bool) -> list[Channel]:
    """Return the channels of a bone on the other side.

    Args:
        bone: the rotated bone.
        start: local matrix of that bone at the start.
        other: the bone on the other side, with the channels it had at the start.
        is_relative: whether the bone on the other side keeps its difference.
    """
    before = own_matrix(other) @ FLIP @ start.inverted_safe() if is_relative else FLIP
    location, rotation, scale = (before @ own_matrix(bone) @ FLIP).decompose()
    found = [locked_channel_for(other, rotation)]
    for name, values in (("location", location), ("scale", scale)):
        old = getattr(other, name)
        if (values - old).length > 1e-6 * (1.0 + old.length):
            locks = getattr(other, f"lock_{name}")
            found.append((name, tuple(old[i] if locks[i] else values[i] for i in range(3))))
    return found
