# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The drag of a bone of a body: the whole body follows, as by ``pose.fabrik_body_pull``.

It has the attributes of ``drag_session.DragSession`` that events, header and overlay use. Every move restores the
channels of the start, and that pose is the reference pose; the solve starts from the solution of the move before.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from mathutils import Vector

from ..rig.body_properties import body_of
from ..rig.body_snapshots import Pull, find_handle, handle_of_bone, take_body, turning_bones
from ..rig.rotation_channel import channel_name
from ..rig.targets_and_poles import armature_to_world
from ..solving.outcome import outcome_of
from ..solving.solve_body import body_group
from ..solving.solve_chains import solve_group
from .drag_session import Grab
from .start_channels import StartChannels

if TYPE_CHECKING:
    from bpy.types import Bone, Object, PoseBone, Scene, ViewLayer
    from mathutils import Matrix

    from ..rig.last_results import Result
    from ..solving.solve_chain_bones import SolvedChain


def is_of_body(armature: Object, bone: str) -> bool:
    """Tell whether a bone is a part of the armature's body that can rotate."""
    return bool(body_of(armature).parts) and bone in turning_bones(armature)


class BodyDrag:
    """A bone of a body that is dragged by its handle, or else by its tail, with the channels of the start."""

    snapshot = None
    """The overlay draws the body instead of a dragged chain."""
    chain_count = 0
    left_behind = ""
    held: frozenset[str] = frozenset()

    def __init__(self, view_layer: ViewLayer, armature: Object, bone: str, pins: str = 'PINNED') -> None:
        """Begin a drag; nothing changes yet.

        Args:
            view_layer: with the armature.
            armature: object in Pose mode, with a body.
            bone: name of one of the body's bones.
            pins: kept for the redo panel; the body's own handles say what is held.

        Raises:
            FabrikError: a bone of the body is missing or locked.
        """
        self.armature = armature
        self.pins = pins
        handle = handle_of_bone(armature, bone)
        self.grab = Grab(bone, use_tail=handle is None or handle.use_tail)
        self._is_added = handle is None
        self._name = f"{bone} (dragged)" if handle is None else handle.name
        self.result: Result | None = None
        self.distance_left, self.others_off = 0.0, 0
        self._begin(view_layer)
        self.position = self.start_position.copy()

    def _begin(self, view_layer: ViewLayer) -> None:
        view_layer.update()
        self._channels = StartChannels()
        self._previous: tuple[SolvedChain, ...] = ()
        self._to_armature: Matrix = armature_to_world(self.armature).inverted()
        bone = self.armature.pose.bones[self.grab.bone]
        start = (bone.tail if self.grab.use_tail else bone.head).copy()
        added = self.grab.bone if self._is_added else ""
        pull = Pull(self._name, start, bone=added, use_tail=self.grab.use_tail)
        self._group = body_group(self.armature, take_body(self.armature, pull))
        self._own = next(one for one in self._group.snapshots if one.name == self._name)
        for snapshot in self._group.snapshots:
            for i in snapshot.bones.free:
                turned = snapshot.bones.bones[i]
                self._channels.record(turned, channel_name(turned))
        for root in self._group.moving_roots:
            self._channels.record(root, "location")
        self.start_position: Vector = self.armature.matrix_world @ start

    @property
    def axes(self) -> Matrix:
        """Local axes of the bone, as columns of a rotation matrix in world space."""
        return (self.armature.matrix_world @ self._own.bones.end.matrix).to_3x3().normalized()

    def is_intact(self) -> bool:
        """Return whether the armature and its bones are still those of the start."""
        try:
            return self.armature.mode != 'EDIT' and self._channels.are_intact()
        except ReferenceError:
            return False

    def move(self, view_layer: ViewLayer, position: Vector) -> None:
        """Pose the body so that the handle is at a position, world space, or at the nearest feasible one.

        Raises:
            FabrikError: the position isn't finite.
        """
        self.position = position.copy()
        self.result, self.distance_left, self.others_off = None, 0.0, 0
        self._channels.restore()
        if position[:] == self.start_position[:]:
            self._previous = ()
            view_layer.update()
            return
        goals = replace(self._own.goals, targets=np.array([(self._to_armature @ position)[:]]))
        found = solve_group(self._group, {self._name: goals}, self._previous)
        self._previous = found
        for chain in found:
            for bone, channel in chain.settings:
                self._channels.write(bone, channel)
        view_layer.update()
        own = next(chain for chain in found if chain.snapshot.name == self._name)
        own = own._replace(snapshot=replace(own.snapshot, goals=goals))
        self.result = outcome_of(view_layer, self.armature, own, ())
        self.distance_left = (self._place() - position).length

    def _place(self) -> Vector:
        """Return where the dragged point is, world space."""
        bone = self.armature.pose.bones[self.grab.bone]
        return self.armature.matrix_world @ (bone.tail if self.grab.use_tail else bone.head)

    def confirm(self) -> list[tuple[Object | PoseBone | Bone, str]]:
        """End the drag here; the handle keeps its place from now on. Return the changed channels with their bones."""
        changed = self._channels.changed()
        if changed and not self._is_added:
            find_handle(self.armature, self._name).use_position = True
        return changed

    def cancel(self, view_layer: ViewLayer) -> None:
        """End the drag with every channel as it was at the start, bit for bit."""
        self.restore()
        view_layer.update()

    def restore(self) -> None:
        """Restore every channel without an update: for a window that closes or a file that loads."""
        self._channels.restore()

    def restart(self, scene: Scene, view_layer: ViewLayer) -> None:
        """Begin anew at the scene's present frame; the dragged point keeps its position.

        Raises:
            FabrikError: at this frame the body can't be used.
        """
        self.restore()
        scene.frame_set(scene.frame_current, subframe=scene.frame_subframe)
        self._begin(view_layer)
        self.move(view_layer, self.position)
