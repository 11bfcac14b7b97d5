# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The drag of a control bone that is free to move: its location changes, and what follows it is the rig's own matter.

It has the attributes of ``drag_session.DragSession`` that events, header and overlay use. No bone rotates, no other end
is held, and there is no result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..setup.move_target import movable
from .body_drag import BodyDrag
from .drag_session import DragSession, Grab
from .pose_mirror import mirrored_channels, opposite_of, own_matrix
from .start_channels import StartChannels

if TYPE_CHECKING:
    from bpy.types import Bone, Object, PoseBone, Scene, ViewLayer
    from mathutils import Matrix, Vector


class BoneMove:
    """A bone whose head is dragged by its location, with the channels it had at the start."""

    snapshot = None
    result = None
    chain_count = 0
    distance_left = 0.0
    others_off = 0
    left_behind = ""
    held: frozenset[str] = frozenset()

    def __init__(self, view_layer: ViewLayer, armature: Object, bone: str, pins: str = 'PINNED') -> None:
        """Begin a drag; nothing changes yet.

        Args:
            view_layer: with the armature.
            armature: object in Pose mode.
            bone: name of a bone with a free location.
            pins: kept for the redo panel; nothing is held.

        Raises:
            FabrikError: the bone can't move.
        """
        self.armature = armature
        self.grab = Grab(bone, use_tail=False)
        self.pins = pins
        self._begin(view_layer)
        self.position = self.start_position.copy()

    def _begin(self, view_layer: ViewLayer) -> None:
        view_layer.update()
        self._channels = StartChannels()
        self._movable = movable("Bone", self.armature, self.grab.bone)
        self._channels.record(self._bone, "location")
        self._start = own_matrix(self._bone)
        self.start_position: Vector = self.armature.matrix_world @ self._bone.head

    @property
    def _bone(self) -> PoseBone:
        return self.armature.pose.bones[self.grab.bone]

    @property
    def axes(self) -> Matrix:
        """Local axes of the bone, as columns of a rotation matrix in world space."""
        return (self.armature.matrix_world @ self._bone.matrix).to_3x3().normalized()

    def is_intact(self) -> bool:
        """Return whether the armature and its bones are still those of the start."""
        try:
            return self.armature.mode != 'EDIT' and self._channels.are_intact()
        except ReferenceError:
            return False

    def move(self, view_layer: ViewLayer, position: Vector) -> None:
        """Bring the bone's head to a position, world space; with X-axis mirror the bone on the other side alike.

        Raises:
            FabrikError: there is no such location.
        """
        self.position = position.copy()
        self._channels.restore()
        view_layer.update()
        if position[:] == self.start_position[:]:
            return
        bone, pose = self._bone, self.armature.pose
        self._channels.write(bone, ("location", self._movable.location_at(position)[:]))
        other = opposite_of(self.armature, bone) if pose.use_mirror_x else None
        if other is not None:
            for channel in mirrored_channels(bone, self._start, other, pose.use_mirror_relative):
                self._channels.write(other, channel)
        view_layer.update()

    def confirm(self) -> list[tuple[Object | PoseBone | Bone, str]]:
        """End the drag here; return the changed channels: bones with the channels' names."""
        return self._channels.changed()

    def cancel(self, view_layer: ViewLayer) -> None:
        """End the drag with every channel as it was at the start, bit for bit."""
        self.restore()
        view_layer.update()

    def restore(self) -> None:
        """Restore every channel without an update: for a window that closes or a file that loads."""
        self._channels.restore()

    def restart(self, scene: Scene, view_layer: ViewLayer) -> None:
        """Begin anew at the scene's present frame; the bone keeps its position.

        Raises:
            FabrikError: at this frame the bone can't move.
        """
        self.restore()
        scene.frame_set(scene.frame_current, subframe=scene.frame_subframe)
        self._begin(view_layer)
        self.move(view_layer, self.position)


Session = DragSession | BoneMove | BodyDrag
"""A drag of any kind."""
