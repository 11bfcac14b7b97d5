# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the solver's frames in armature space to the bones' own rotations and their channels. Writes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from mathutils import Quaternion

from ...core import ComponentSolution, StartPose
from .rotation_channel import Channel, locked_channel_for, nearest_values

if TYPE_CHECKING:
    from bpy.types import PoseBone

    from .chain_bones import ChainBones


class ParentFrame(NamedTuple):
    """What a bone's own rotation turns in, which no turn of the chain's bones changes."""

    bone: int
    """Its place among the chain's bones."""
    in_parent: bool
    """Whether it turns with the bone before; else it keeps to armature space."""
    back: Quaternion
    """From its frame there to its own rotation."""


def parent_frames_of(bones: ChainBones, start: StartPose) -> list[ParentFrame]:
    """Return what the free bones turn in, given a pose and the bones' own rotations in it."""
    spaces = []
    parent: Quaternion | None = None
    for i, inherits, frame in zip(bones.free, start.chain.inherits_list, start.frames, strict=False):
        now = Quaternion(frame)
        back = bones.rotations[i] @ now.conjugated()
        if inherits and parent is not None:
            spaces.append(ParentFrame(i, True, back @ parent))
        else:
            spaces.append(ParentFrame(i, False, back))
        parent = now
    return spaces


def own_rotations(bones: ChainBones, spaces: Sequence[ParentFrame], solution: ComponentSolution) -> list[Quaternion]:
    """Return every bone's own rotation in a solution; bones that are locked altogether keep theirs."""
    own = list(bones.rotations)
    parent = Quaternion()
    for (i, in_parent, back), frame in zip(spaces, solution.frames, strict=False):
        new = Quaternion(frame)
        own[i] = back @ (parent.conjugated() @ new) if in_parent else back @ new
        parent = new
    return own


def channels_for(bones: ChainBones, rotations: Sequence[Quaternion]) -> tuple[tuple[PoseBone, Channel], ...]:
    """Return the new rotation channels of the bones that can turn, nearest to those they were read with."""
    if bones.has_locks:
        return tuple([(bones.bones[i], locked_channel_for(bones.bones[i], rotations[i])) for i in bones.free])
    channels = []
    for i in bones.free:
        name, old = bones.channels[i]
        channels.append((bones.bones[i], (name, nearest_values(bones.modes[i], rotations[i], old))))
    return tuple(channels)
