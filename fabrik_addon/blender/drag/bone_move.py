# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The drag of a control bone that is free to move: its location changes, and the rig's constraints do the rest.

No bone rotates, no other end is held, and there is no result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..setup.move_target import movable
from .base_drag import BaseDrag, Grab
from .pose_mirror import mirrored_channels, opposite_of, own_matrix

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone, ViewLayer
    from mathutils import Vector


class BoneMove(BaseDrag):
    """A bone whose head is dragged by its location, with the channels it had at the start."""

    def __init__(self, view_layer: ViewLayer, armature: Object, bone: str, pins: str = 'PINNED') -> None:
        """Begin a drag; nothing changes yet.

        Args:
            armature: object in Pose mode.
            bone: name of a bone with a free location.
            pins: kept for the redo panel; nothing is held.

        Raises:
            FabrikError: the bone can't move.
        """
        super().__init__(view_layer, armature, Grab(bone, use_tail=False), pins)

    def _begin(self, view_layer: ViewLayer) -> None:
        self._movable = movable("Bone", self.armature, self.grab.bone)
        self._channels.record(self._bone, "location")
        self._start_matrix = own_matrix(self._bone)
        self.start_position = self.armature.matrix_world @ self._bone.head

    @property
    def _bone(self) -> PoseBone:
        return self.armature.pose.bones[self.grab.bone]

    def _pose(self, view_layer: ViewLayer, position: Vector) -> None:
        """Bring the bone's head to a position, world space; with X-axis mirror the bone on the other side alike."""
        view_layer.update()
        bone, pose = self._bone, self.armature.pose
        self._channels.write(bone, ("location", self._movable.location_at(position)[:]))
        other = opposite_of(self.armature, bone) if pose.use_mirror_x else None
        if other is not None:
            for channel in mirrored_channels(bone, self._start_matrix, other, pose.use_mirror_relative):
                self._channels.write(other, channel)
        view_layer.update()
